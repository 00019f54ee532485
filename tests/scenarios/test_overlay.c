/* --set: paths through tables, lists, maps and choices; what is made on the way; every refusal with
 * the nearest right path. */
#include "kit.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct plan with(const char *set, struct scenario **s)
{
    *s = kit_load(kit_small, &set, 1);
    return kit_plan(*s, NULL);
}

static void refused(const char *set, const char *said_part)
{
    char *said = kit_refused(kit_small, &set, 1);
    cr_assert(strstr(said, said_part), "%s: said\n%s", set, said);
    free(said);
}

Test(overlay, replaces_a_value)
{
    struct scenario *s;
    cr_assert_eq(with("seed=42", &s).seed, 42);
    scenario_free(s);
    cr_assert_eq(with("horizon=3h", &s).horizon_ns, 3 * SIM_HOUR);
    scenario_free(s);
}

Test(overlay, makes_tables_that_were_not_written)
{
    struct scenario *s;
    struct plan p = with("services.chat.autoscaler.buffer=3", &s);
    cr_assert_eq(p.services[0].autoscaler.buffer_replicas, 3);
    scenario_free(s);
    p = with("reclaim.grace=2min", &s);
    cr_assert_eq(p.pools[0].reclaim.grace_ns, 2 * SIM_MIN);
    scenario_free(s);
}

Test(overlay, takes_whole_trees)
{
    struct scenario *s;
    struct plan p = with("services.chat.cold_start.engine={lognormal: {mean: 2min, cv: 0.5}}", &s);
    struct dist engine = p.services[0].cold_start[STAGE_ENGINE];
    cr_assert_eq(engine.kind, DIST_LOGNORMAL);
    cr_assert_eq(engine.mean_s, 120);
    cr_assert_eq(engine.spread, 0.5);
    scenario_free(s);
}

Test(overlay, goes_into_a_value_that_stands_for_a_table)
{
    struct scenario *s;
    struct plan p = with("services.chat.traffic.prompt.cv=0", &s);
    cr_assert_eq(p.services[0].traffic.prompt_mean, 100);
    cr_assert_eq(p.services[0].traffic.prompt_cv, 0);
    scenario_free(s);
    p = with("services.chat.traffic.arrivals.gamma.cv=3", &s);
    cr_assert_eq(p.services[0].traffic.kind, ARRIVAL_GAMMA);
    cr_assert_eq(p.services[0].traffic.cv, 3);
    scenario_free(s);
}

Test(overlay, another_choice_takes_the_place_of_the_first)
{
    static const char *const sets[] = {"services.chat.traffic.envelope={diurnal: 1.2}",
                                       "services.chat.traffic.envelope.step.start=30min",
                                       "services.chat.traffic.envelope.step.to=2"};
    struct scenario *s = kit_load(kit_small, sets, 3);
    struct plan p = kit_plan(s, NULL);
    const struct envelope *e = &p.services[0].traffic.envelope;
    cr_assert_eq(e->kind, ENVELOPE_TABLE_STEPS);
    cr_assert_eq(e->points[1].at_ns, 30 * SIM_MIN);
    cr_assert_eq(e->points[1].factor, 2);
    scenario_free(s);
}

Test(overlay, list_entries_by_number_with_either_notation)
{
    static const char *const both[] = {"training.research.backlog.gangs[0].gpus=4",
                                       "training.research.backlog.gangs.0.gpus=4",
                                       "training.research.backlog.gangs.0=4GPU"};
    for (size_t i = 0; i < 3; i++) {
        struct scenario *s;
        struct plan p = with(both[i], &s);
        cr_assert_eq(p.queues[0].backlog_classes[0].gpus, 4, "%s", both[i]);
        scenario_free(s);
    }
}

Test(overlay, list_entries_by_their_name)
{
    char *text = kit_replace(kit_small, "{nodes: 4}",
                             "{groups: [{name: a, nodes: 2}, {name: b, nodes: 2}]}");
    const char *set = "fleet.groups.b.nodes=5";
    struct scenario *s = kit_load(text, &set, 1);
    struct plan p = kit_plan(s, NULL);
    cr_assert_eq(p.pools[0].groups[0].nodes, 2);
    cr_assert_eq(p.pools[0].groups[1].nodes, 5);
    scenario_free(s);
    free(text);
}

Test(overlay, adds_entries_to_maps)
{
    struct scenario *s;
    struct plan p = with("services.chat.slo.ttft.p99.9=5s", &s);
    cr_assert_eq(p.services[0].slo.n_objectives, 1, "what is written replaces the defaults");
    cr_assert_eq(p.services[0].slo.objectives[0].percentile_ppm, 999000);
    scenario_free(s);
    p = with("services.chat.traffic.events.flash={start: 1h, factor: 2, hold: 5min}", &s);
    cr_assert_eq(p.services[0].traffic.n_events, 1);
    scenario_free(s);
    with("designs.mine={preset: separate, inference: 8GPU}", &s);
    cr_assert_eq(scenario_n_designs(s), 2);
    cr_assert_str_eq(scenario_design(s, 1), "mine");
    cr_assert_eq(kit_plan(s, "mine").services[0].pools[0].quota.ceiling_gpus, 8);
    scenario_free(s);
}

Test(overlay, later_sets_win)
{
    static const char *const sets[] = {"seed=2", "seed=3", "fleet={nodes: 2}", "fleet.nodes=6"};
    struct scenario *s = kit_load(kit_small, sets, 4);
    struct plan p = kit_plan(s, NULL);
    cr_assert_eq(p.seed, 3);
    cr_assert_eq(plan_gpus(&p), 48);
    scenario_free(s);
}

Test(overlay, values_keep_their_equals_signs_and_spaces)
{
    struct scenario *s;
    with("description=a = b, \"c\"", &s);
    cr_assert_str_eq(scenario_description(s), "a = b, \"c\"");
    scenario_free(s);
}

Test(overlay, wrong_steps_name_the_nearest_path)
{
    refused("sed=3", "--set: error: unknown key 'sed'\n    sed=3\n    ^\n  nearest: 'seed'\n");
    refused("services.chat.autoscaler.buffr=3",
            "--set: error: unknown key 'buffr' in services.chat.autoscaler\n"
            "    services.chat.autoscaler.buffr=3\n"
            "                             ^\n"
            "  nearest: 'services.chat.autoscaler.buffer'\n");
    refused("services.caht.autoscaler.buffer=3",
            "--set: error: no 'caht' in services\n"
            "    services.caht.autoscaler.buffer=3\n"
            "             ^\n"
            "  nearest: 'services.chat'\n");
    refused("seed.x=3", "'seed' is a single value: nothing is below it");
    refused("training.research.backlog.gangs[3].gpus=8",
            "no '3' in training.research.backlog.gangs");
    refused("services.chat.model.x.y=3", "'model' is a single value: nothing is below it");
}

Test(overlay, what_is_no_path_or_has_no_value)
{
    refused("seed", "--set: error: must be path=value");
    refused("=3", "--set: error: must be path=value");
    refused("", "--set: error: must be path=value");
    refused("seed=", "--set: error: has no value\n    seed=\n         ^");
    refused("services..chat=3", "an empty step");
    refused("seed.=3", "nothing is below it");
    refused(".seed=3", "an empty step");
}

Test(overlay, wrong_values_point_into_the_set)
{
    refused("horizon=2",
            "--set: error: horizon: '2' needs a unit, such as 90s\n"
            "    horizon=2\n"
            "            ^\n");
    refused("fleet={nodes: 4, nodse: 3}",
            "--set: error: unknown key 'nodse' in fleet\n"
            "    fleet={nodes: 4, nodse: 3}\n"
            "                     ^\n"
            "  nearest: 'nodes'\n");
    refused("fleet=[", "--set: error: did not find expected node content");
    refused("seed=&a 3", "--set: error: anchors (&)");
    refused("seed={a: 1, a: 2}", "--set: error: duplicate key 'a'");
}

Test(overlay, takes_away_what_was_set)
{
    static const char *const sets[] = {"seed=7",
                                       "seed=~",
                                       "services.chat.autoscaler.buffer=3",
                                       "services.chat.autoscaler.buffer=~",
                                       "services.chat.traffic.events.flash={start: 1h, factor: 2, "
                                       "hold: 5min}",
                                       "services.chat.traffic.events.flash=~"};
    struct scenario *s = kit_load(kit_small, sets, sizeof sets / sizeof *sets);
    struct plan p = kit_plan(s, NULL);
    cr_assert_eq(p.seed, 1, "the default is back");
    cr_assert_eq(p.services[0].autoscaler.buffer_replicas, 0);
    cr_assert_eq(p.services[0].traffic.n_events, 0);
    scenario_free(s);
}

Test(overlay, takes_away_entries_of_lists_by_number_or_name)
{
    static const char *const sets[] = {
        "fleet={groups: [{name: a, nodes: 2}, {name: b, nodes: 3}, "
        "{name: c, nodes: 4}]}",
        "fleet.groups.c=~", "fleet.groups[0]=~"};
    struct scenario *s = kit_load(kit_small, sets, 3);
    struct plan p = kit_plan(s, NULL);
    cr_assert_eq(p.pools[0].n_groups, 1);
    cr_assert_eq(p.pools[0].groups[0].nodes, 3);
    scenario_free(s);
    static const char *const again[] = {
        "fleet={groups: [{name: a, nodes: 2}, {name: b, nodes: 3}]}", "fleet.groups.b=~",
        "fleet.groups.a.nodes=~", "fleet.groups.a.nodes=9"};
    s = kit_load(kit_small, again, 4);
    p = kit_plan(s, NULL);
    cr_assert_eq(plan_gpus(&p), 72, "what was taken away can be set again");
    scenario_free(s);
}

Test(overlay, only_what_is_there_can_be_taken_away)
{
    refused("seed=~", "--set: error: ~ takes nothing away: 'seed' is not set\n    seed=~\n    ^\n");
    refused("sed=~", "--set: error: unknown key 'sed'\n    sed=~\n    ^\n  nearest: 'seed'\n");
    refused("services.chat.autoscaler.buffer=~", "'buffer' is not set in services.chat.autoscaler");
    refused("services.caht=~",
            "'caht' is not set in services\n"
            "    services.caht=~\n"
            "             ^\n"
            "  nearest: 'services.chat'\n");
    refused("training.research.backlog.gangs[3]=~", "'3' is not set");
    refused("services.chat.model=~", "missing key 'model'");
    refused("seed=\"~\"", "seed: '~' is not a number");
}

Test(overlay, a_design_takes_a_key_away_for_itself_only)
{
    char *text = kit_replace(kit_small, "  shared:\n",
                             "  shared:\n"
                             "  empty: {preset: shared, set: {training: ~}}\n");
    struct scenario *s = kit_load(text, NULL, 0);
    cr_assert_eq(kit_plan(s, "shared").n_queues, 1);
    cr_assert_eq(kit_plan(s, "empty").n_queues, 0);
    scenario_free(s);
    free(text);
}

Test(overlay, a_design_sets_keys_for_itself_only)
{
    char *text = kit_replace(kit_small, "  shared:\n",
                             "  shared:\n"
                             "  patient: {preset: shared, set: {reclaim.grace: 2min, "
                             "services.chat.autoscaler.buffer: 2}}\n");
    struct scenario *s = kit_load(text, NULL, 0);
    struct plan base = kit_plan(s, "shared"), patient = kit_plan(s, "patient");
    cr_assert_eq(base.pools[0].reclaim.grace_ns, 30 * SIM_S);
    cr_assert_eq(patient.pools[0].reclaim.grace_ns, 2 * SIM_MIN);
    cr_assert_eq(base.services[0].autoscaler.buffer_replicas, 0);
    cr_assert_eq(patient.services[0].autoscaler.buffer_replicas, 2);
    scenario_free(s);
    free(text);
}

Test(overlay, a_design_cannot_set_designs)
{
    char *text =
        kit_replace(kit_small, "  shared:\n", "  shared: {set: {designs.shared.floor: 8GPU}}\n");
    char *said = kit_refused(text, NULL, 0);
    cr_assert(strstr(said, "13:18: error: design shared cannot set designs"), "%s", said);
    free(said);
    free(text);
}

Test(overlay, the_hash_follows_values_not_layout)
{
    const char *set = "seed=1", *other = "seed=2";
    char *commented =
        kit_replace(kit_small, "horizon: 2h\n", "\n# a comment\nhorizon:   2h # here\n");
    struct scenario *a = kit_load(kit_small, NULL, 0), *b = kit_load(commented, NULL, 0);
    struct scenario *c = kit_load(kit_small, &set, 1), *d = kit_load(kit_small, &other, 1);
    cr_assert_eq(scenario_hash(a), scenario_hash(b));
    cr_assert_neq(scenario_hash(a), scenario_hash(c));
    cr_assert_neq(scenario_hash(c), scenario_hash(d));
    cr_assert_str_eq(scenario_text(b), commented);
    scenario_free(a);
    scenario_free(b);
    scenario_free(c);
    scenario_free(d);
    free(commented);
}
