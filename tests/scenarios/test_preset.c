/* Designs in numbers: the quota of every claimant, and what the autoscaler keeps. */
#include "kit.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* 32 GPUs, replicas of 4; services chat and code, queues big and small. */
static const char two[] =
    "scenario: two\n"
    "horizon: 2h\n"
    "fleet: {nodes: 4}\n"
    "services:\n"
    "  code: {model: llama-3.1-70b, precision: fp8, tensor_parallel: 4, traffic: {arrivals: even, "
    "rate: 1req/s, prompt: 100, output: 10}}\n"
    "  chat: {model: llama-3.1-70b, precision: fp8, tensor_parallel: 2, traffic: {arrivals: even, "
    "rate: 1req/s, prompt: 100, output: 10}}\n"
    "training:\n"
    "  small: {backlog: {gangs: [1GPU]}}\n"
    "  big: {backlog: {gangs: [8GPU]}}\n"
    "designs:\n"
    "  DESIGN\n";

static struct plan plan_of(const char *text, const char *design, struct scenario **s)
{
    char *whole = kit_replace(text, text == two ? "DESIGN" : "shared:", design);
    *s = kit_load(whole, NULL, 0);
    free(whole);
    return kit_plan(*s, NULL);
}

static void quota_is(const struct quota *q, uint32_t floor, uint32_t ceiling, uint32_t lend,
                     int32_t priority, enum may_reclaim may_reclaim)
{
    cr_expect_eq(q->floor_gpus, floor, "floor %u", q->floor_gpus);
    cr_expect_eq(q->ceiling_gpus, ceiling, "ceiling %u", q->ceiling_gpus);
    cr_expect_eq(q->lend_gpus, lend, "lend %u", q->lend_gpus);
    cr_expect_eq(q->priority, priority, "priority %d", q->priority);
    struct quota expected = {0};
    quota_may_reclaim(&expected, may_reclaim);
    cr_expect_eq(q->reclaim_within_cohort, expected.reclaim_within_cohort);
    cr_expect_eq(q->borrow_within_cohort, expected.borrow_within_cohort);
}

Test(preset, separate)
{
    struct scenario *s;
    struct plan p = plan_of(kit_small, "separate: {inference: 20GPU}", &s);
    quota_is(&p.services[0].pools[0].quota, 20, 20, 0, 100, RECLAIM_NEVER);
    quota_is(&p.queues[0].tenant.pools[0].quota, 12, 12, 0, 0, RECLAIM_NEVER);
    cr_assert_eq(p.services[0].autoscaler.min_replicas, 20, "the whole pool is kept warm");
    cr_assert_eq(p.services[0].autoscaler.max_replicas, 20);
    cr_assert_eq(p.services[0].autoscaler.buffer_replicas, 0);
    cr_assert_str_eq(p.design, "separate");
    scenario_free(s);
}

Test(preset, separate_with_a_training_pool_of_its_own)
{
    struct scenario *s;
    struct plan p = plan_of(kit_small, "separate: {inference: 8, training: 16}", &s);
    quota_is(&p.services[0].pools[0].quota, 8, 8, 0, 100, RECLAIM_NEVER);
    quota_is(&p.queues[0].tenant.pools[0].quota, 16, 16, 0, 0, RECLAIM_NEVER);
    scenario_free(s);
}

Test(preset, shared)
{
    struct scenario *s;
    struct plan p = plan_of(kit_small, "shared: {}", &s);
    quota_is(&p.services[0].pools[0].quota, 0, 32, 0, 100, RECLAIM_LOWER_PRIORITY);
    quota_is(&p.queues[0].tenant.pools[0].quota, 0, 32, 0, 0, RECLAIM_NEVER);
    cr_assert_eq(p.services[0].autoscaler.min_replicas, 1);
    cr_assert_eq(p.services[0].autoscaler.max_replicas, 32);
    scenario_free(s);
}

Test(preset, floor_plus_borrow)
{
    struct scenario *s;
    struct plan p = plan_of(
        kit_small, "floor-plus-borrow: {floor: 6GPU, buffer: 3GPU, training_floor: 10GPU}", &s);
    quota_is(&p.services[0].pools[0].quota, 6, 32, 0, 100, RECLAIM_LOWER_PRIORITY);
    quota_is(&p.queues[0].tenant.pools[0].quota, 10, 32, 10, 0, RECLAIM_FLOOR);
    cr_assert_eq(p.services[0].autoscaler.min_replicas, 6, "the floor is kept warm");
    cr_assert_eq(p.services[0].autoscaler.buffer_replicas, 3);
    scenario_free(s);
}

Test(preset, buffers_round_up_to_whole_replicas)
{
    struct scenario *s;
    struct plan p = plan_of(
        two, "floor-plus-borrow: {floor: {code: 8GPU}, buffer: {code: 5GPU, chat: 4GPU}}", &s);
    cr_assert_str_eq(p.services[0].name, "chat", "sorted by name");
    cr_assert_eq(p.services[0].autoscaler.buffer_replicas, 2);
    cr_assert_eq(p.services[0].autoscaler.min_replicas, 1);
    cr_assert_eq(p.services[1].autoscaler.buffer_replicas, 2, "5 GPUs are 2 replicas of 4");
    cr_assert_eq(p.services[1].autoscaler.min_replicas, 2);
    cr_assert_eq(p.services[1].autoscaler.max_replicas, 8);
    scenario_free(s);
}

Test(preset, separate_of_several)
{
    struct scenario *s;
    struct plan p = plan_of(
        two, "separate: {inference: {chat: 4, code: 8}, training: {big: 16, small: 4}}", &s);
    quota_is(&p.services[0].pools[0].quota, 4, 4, 0, 100, RECLAIM_NEVER);
    quota_is(&p.services[1].pools[0].quota, 8, 8, 0, 100, RECLAIM_NEVER);
    cr_assert_str_eq(p.queues[0].name, "big");
    quota_is(&p.queues[0].tenant.pools[0].quota, 16, 16, 0, 0, RECLAIM_NEVER);
    quota_is(&p.queues[1].tenant.pools[0].quota, 4, 4, 0, 0, RECLAIM_NEVER);
    scenario_free(s);
}

Test(preset, explicit_quotas)
{
    struct scenario *s;
    struct plan p = plan_of(kit_small,
                            "mine: {preset: quota, buffer: 2GPU, quotas: {chat: {floor: 8GPU, "
                            "borrow: 4GPU, lend: 3GPU, priority: -5, may_reclaim: never}, "
                            "research: {floor: 16GPU, may_reclaim: lower-priority}}}",
                            &s);
    quota_is(&p.services[0].pools[0].quota, 8, 12, 3, -5, RECLAIM_NEVER);
    quota_is(&p.queues[0].tenant.pools[0].quota, 16, 32, 16, 0, RECLAIM_LOWER_PRIORITY);
    cr_assert_eq(p.services[0].autoscaler.min_replicas, 5, "what is lent is not kept warm");
    cr_assert_eq(p.services[0].autoscaler.max_replicas, 12);
    cr_assert_eq(p.services[0].autoscaler.buffer_replicas, 2);
    cr_assert_str_eq(p.design, "mine");
    scenario_free(s);
}

Test(preset, a_claimant_without_a_quota_borrows)
{
    struct scenario *s;
    struct plan p = plan_of(kit_small, "quota: {quotas: {chat: {floor: 8GPU}}}", &s);
    quota_is(&p.queues[0].tenant.pools[0].quota, 0, 32, 0, 0, RECLAIM_FLOOR);
    scenario_free(s);
}

Test(preset, the_service_has_the_last_word)
{
    char *text = kit_replace(kit_small, "    tensor_parallel: 1\n",
                             "    tensor_parallel: 1\n    autoscaler: {min_replicas: 2, "
                             "max_replicas: 9, initial_replicas: 4, buffer: 0}\n");
    char *design = kit_replace(text, "shared:", "floor-plus-borrow: {floor: 8GPU, buffer: 4GPU}");
    struct scenario *s = kit_load(design, NULL, 0);
    struct plan p = kit_plan(s, NULL);
    cr_assert_eq(p.services[0].autoscaler.min_replicas, 2);
    cr_assert_eq(p.services[0].autoscaler.max_replicas, 9);
    cr_assert_eq(p.services[0].autoscaler.buffer_replicas, 0);
    cr_assert_eq(p.services[0].initial_replicas, 4);
    scenario_free(s);
    free(design);
    free(text);
}

Test(preset, the_design_of_a_single_run)
{
    char *text = kit_replace(kit_small, "  shared:\n", "  separate: {inference: 8}\n  shared:\n");
    struct scenario *s = kit_load(text, NULL, 0);
    cr_assert_eq(scenario_n_designs(s), 2);
    cr_assert_str_eq(kit_plan(s, NULL).design, "separate", "the first");
    scenario_free(s);
    const char *set = "design=shared";
    s = kit_load(text, &set, 1);
    cr_assert_str_eq(scenario_design(s, scenario_default_design(s)), "shared");
    cr_assert_str_eq(kit_plan(s, NULL).design, "shared");
    scenario_free(s);
    free(text);
}

Test(preset, a_preset_without_a_map_of_designs)
{
    char *text = kit_replace(kit_small, "designs:\n  shared:\n", "design: shared\n");
    struct scenario *s = kit_load(text, NULL, 0);
    cr_assert_eq(scenario_n_designs(s), 1);
    cr_assert_str_eq(kit_plan(s, NULL).design, "shared");
    scenario_free(s);
    free(text);
}

Test(preset, an_unknown_design_is_refused_by_name)
{
    struct scenario *s = kit_load(kit_small, NULL, 0);
    struct diags d;
    struct plan p;
    diags_init(&d);
    cr_assert_eq(scenario_plan(s, "sharde", &d, &p), HR_INPUT);
    char *said = kit_printed(&d);
    cr_assert_str_eq(said, "test.yaml: error: there is no design 'sharde'\n  nearest: 'shared'\n");
    free(said);
    diags_fini(&d);
    scenario_free(s);
}

static void refused(const char *text, const char *design, const char *part)
{
    char *whole = kit_replace(text, text == two ? "DESIGN" : "shared:", design);
    char *said = kit_refused(whole, NULL, 0);
    cr_assert(strstr(said, part), "%s: said\n%s", design, said);
    free(said);
    free(whole);
}

Test(preset, what_does_not_fit_is_refused)
{
    refused(two, "separate: {inference: 16GPU}", "inference: there are 2 services, so say whose");
    refused(two, "separate: {inference: {chat: 8}, training: {big: 8}}",
            "design separate: code may hold 0 GPUs, less than one replica of 4");
    refused(two, "separate: {inference: {chat: 8, code: 8}}", "training: there are 2 queues");
    refused(two, "floor-plus-borrow: {floor: {chta: 8}}", "no 'chta' among the services");
    refused(two, "floor-plus-borrow: {floor: {chat: 16, code: 20}}",
            "the floors together are 36 GPUs, the fleet has 32");
    refused(two, "separate: {inference: {chat: 8, code: 18}, training: {big: 4, small: 2}}",
            "a gang of 8 GPUs never fits the 4 that big may hold");
    refused(kit_small, "quota: {quotas: {chat: {priority: 1.5}}}", "must be a whole number");
    refused(kit_small, "quota: {}", "missing key 'quotas'");
    refused(
        kit_small, "separate: {inference: 8, buffer: 4}",
        "'buffer' has no meaning in preset separate; it takes preset, set, inference, training");
}

Test(preset, a_floor_of_no_whole_replicas_is_warned_of)
{
    char *text = kit_replace(two, "DESIGN", "floor-plus-borrow: {floor: {code: 6}}");
    struct diags d;
    struct scenario *s;
    diags_init(&d);
    cr_assert_eq(scenario_load_text("t.yaml", text, strlen(text), NULL, 0, &d, &s), HR_OK);
    cr_assert_eq(d.n_warnings, 1);
    cr_assert(strstr(d.items[0].text, "6 GPUs are no whole number of replicas of code"));
    scenario_free(s);
    diags_fini(&d);
    free(text);
}

/* ---- quotas in full ---- */

Test(preset, quotas_in_full)
{
    struct scenario *s;
    struct plan p = plan_of(
        two,
        "quota: {cohorts: {zoo: {floor: 2GPU, borrow: 3GPU, lend: 1GPU, weight: 2}, ape: {parent: "
        "zoo, borrow: 0GPU}, bee: {}}, quotas: {"
        "chat: {floor: 4GPU, cohort: bee, weight: 3, reclaim_within_cohort: any, "
        "borrow_within_cohort: {policy: lower-priority, max_priority: -2}}, "
        "code: {floor: 4GPU, cohort: zoo, reclaim_within_cohort: lower-priority, "
        "borrow_within_cohort: lower-priority}, "
        "big: {floor: 8GPU, cohort: ape, within_queue: lower-or-newer-equal, "
        "reclaim_within_cohort: never}, "
        "small: {may_reclaim: never}}}",
        &s);
    const struct fleet_plan *f = &p.pools[0];
    cr_assert_eq(f->n_cohorts, 3);
    cr_assert_str_eq(f->cohorts[0].name, "bee", "by depth, then by name");
    cr_assert_str_eq(f->cohorts[1].name, "zoo");
    cr_assert_str_eq(f->cohorts[2].name, "ape");
    cr_assert(f->cohorts[2].parent == 2 && f->cohorts[1].parent == COHORT_ROOT);
    cr_assert_eq(f->cohorts[0].ceiling_gpus, UINT32_MAX);
    cr_assert_eq(f->cohorts[1].ceiling_gpus, 2 + 4 + 8 + 3, "floors of all in it, and its limit");
    cr_assert_eq(f->cohorts[2].ceiling_gpus, 8);
    cr_assert(f->cohorts[1].floor_gpus == 2 && f->cohorts[1].lend_gpus == 1);
    cr_assert(f->cohorts[1].weight == 2 && f->cohorts[2].lend_gpus == UINT32_MAX);
    const struct quota *chat = &p.services[0].pools[0].quota;
    const struct quota *code = &p.services[1].pools[0].quota;
    cr_assert(chat->cohort == 1 && chat->weight == 3 && chat->has_borrow_threshold);
    cr_assert(chat->reclaim_within_cohort == COHORT_ANY && chat->borrow_threshold == -2);
    cr_assert_eq(chat->borrow_within_cohort, COHORT_LOWER_PRIORITY);
    cr_assert(code->cohort == 2 && !code->has_borrow_threshold && code->weight == 1);
    cr_assert_eq(code->reclaim_within_cohort, COHORT_LOWER_PRIORITY);
    cr_assert_eq(code->borrow_within_cohort, COHORT_LOWER_PRIORITY);
    scenario_free(s);
}

Test(preset, reclaim_keys)
{
    char *text = kit_replace(kit_small, "designs:\n",
                             "reclaim: {victims: fair-share, consolidate: yes, concurrency: "
                             "serial}\ndesigns:\n");
    struct scenario *s = kit_load(text, NULL, 0);
    struct plan p = kit_plan(s, NULL);
    cr_assert_eq(p.pools[0].reclaim.victims, VICTIM_FAIR_SHARE);
    cr_assert(p.pools[0].reclaim.consolidate && p.pools[0].reclaim.serial);
    scenario_free(s);
    free(text);
}

Test(preset, quotas_that_contradict_are_refused)
{
    refused(kit_small, "quota: {quotas: {chat: {cohort: zoo}}}", "cohort: no cohort 'zoo'");
    refused(kit_small, "quota: {cohorts: {a: {parent: b}, b: {parent: a}}, quotas: {chat: {}}}",
            "parent: cohort 'a' would contain itself");
    refused(kit_small, "quota: {cohorts: {a: {parent: bb}}, quotas: {chat: {}}}",
            "parent: no cohort 'bb'");
    refused(kit_small, "quota: {cohorts: {a: {floor: 40GPU}}, quotas: {chat: {}}}",
            "the floors together are 40 GPUs, the fleet has 32");
    refused(kit_small, "shared: {cohorts: {a: {}}}", "'cohorts' has no meaning in preset shared");
    refused(kit_small, "quota: {quotas: {chat: {may_reclaim: floor, reclaim_within_cohort: any}}}",
            "may_reclaim: is the short form of reclaim_within_cohort; give one of them");
    refused(kit_small, "quota: {quotas: {chat: {borrow_within_cohort: lower-priority}}}",
            "borrow_within_cohort: needs a reclaim_within_cohort other than never");
    refused(kit_small,
            "quota: {quotas: {chat: {reclaim_within_cohort: any, borrow_within_cohort: {policy: "
            "never, max_priority: 3}}}}",
            "max_priority: has no meaning with policy never");
}
