/* Tenants and orders of a queue: from the language to claimants, cohorts and quotas. */
#include "kit.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define HERE  TEST_SOURCE_ROOT "/scenarios/test.yaml"
#define VENUS "../traces/data/helios-venus/helios_venus_2vc_sept.csv"

/* 32 GPUs, one queue; KEYS and DESIGN are replaced. */
static const char queue[] =
    "scenario: queue\n"
    "horizon: 2h\n"
    "warmup: 0s\n"
    "fleet: {nodes: 4}\n"
    "training:\n"
    "  research:\n"
    "    KEYS\n"
    "designs:\n"
    "  DESIGN\n";

static const char drawn[] =
    "drawn: {count: 9, classes: {one: {gpus: 1, work: 1h, tenant: red}, two: {gpus: 2, work: 1h, "
    "tenant: blue}, three: {gpus: 3, work: 1h}}}\n    ";

static struct plan plan_with(const char *keys, const char *design, struct scenario **s)
{
    char both[2048];
    snprintf(both, sizeof both, "%s%s", strncmp(keys, "jobs", 4) == 0 ? "" : drawn, keys);
    char *half = kit_replace(queue, "KEYS", both), *whole = kit_replace(half, "DESIGN", design);
    *s = kit_load_at(HERE, whole);
    free(half);
    free(whole);
    return kit_plan(*s, NULL);
}

static void tenant_is(const struct queue_plan *q, size_t i, const char *name, const char *match,
                      double weight)
{
    const struct tenant_plan *t = queue_tenant(q, i);
    cr_expect_str_eq(t->name, name);
    if (match)
        cr_expect(t->match && strcmp(t->match, match) == 0, "%s matches %s", name, match);
    else
        cr_expect_null(t->match, "%s matches the rest", name);
    cr_expect_eq(t->weight, weight);
    cr_expect_eq(t->pools[0].quota.weight, weight);
    cr_expect_eq(t->n_pools, 1);
}

static void holds(const struct queue_plan *q, size_t i, uint32_t floor, uint32_t ceiling,
                  uint32_t lend, uint32_t cohort)
{
    const struct quota *t = &queue_tenant(q, i)->pools[0].quota;
    cr_expect_eq(t->floor_gpus, floor, "%zu: floor %u", i, t->floor_gpus);
    cr_expect_eq(t->ceiling_gpus, ceiling, "%zu: ceiling %u", i, t->ceiling_gpus);
    cr_expect_eq(t->lend_gpus, lend, "%zu: lend %u", i, t->lend_gpus);
    cr_expect_eq(t->cohort, cohort, "%zu: cohort %u", i, t->cohort);
}

/* ---- orders ---- */

Test(tenants, order_and_backfill)
{
    struct scenario *s;
    struct plan p = plan_with("order: fifo", "shared:", &s);
    cr_assert_eq(p.queues[0].order, ORDER_FIFO);
    cr_assert_eq(p.queues[0].backfill, BACKFILL_EASY);
    cr_assert_eq(p.queues[0].backfill_depth, 100);
    cr_assert_eq(p.queues[0].age_ns, SIM_NEVER);
    cr_assert_eq(queue_tenants(&p.queues[0]), 1);
    cr_assert_str_eq(p.queues[0].tenant.name, "research");
    scenario_free(s);
    p = plan_with("order: priority\n    age: 2h\n    backfill: best-effort\n    backfill_depth: 7",
                  "shared:", &s);
    cr_assert_eq(p.queues[0].order, ORDER_PRIORITY);
    cr_assert_eq(p.queues[0].age_ns, 2 * SIM_HOUR);
    cr_assert_eq(p.queues[0].backfill, BACKFILL_BEST_EFFORT);
    cr_assert_eq(p.queues[0].backfill_depth, 7);
    cr_assert_eq(p.queues[0].reserve_gpus, 0);
    scenario_free(s);
    p = plan_with("order: shortest\n    backfill: conservative\n    reserve: 24GPU", "shared:", &s);
    cr_assert_eq(p.queues[0].order, ORDER_SHORTEST);
    cr_assert_eq(p.queues[0].reserve_gpus, 24);
    cr_assert_eq(p.queues[0].backfill, BACKFILL_CONSERVATIVE);
    scenario_free(s);
}

Test(tenants, half_life)
{
    static const struct {
        const char *keys;
        simtime_ns expected;
    } cases[] = {{"order: fair-share", 0},
                 {"order: fair-share\n    half_life: 0s", 0},
                 {"order: fair-share\n    half_life: 7d", 7 * SIM_DAY},
                 {"order: fair-share\n    half_life: never", SIM_NEVER}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scenario *s;
        struct plan p = plan_with(cases[i].keys, "shared:", &s);
        cr_expect_eq(p.queues[0].order, ORDER_FAIR_SHARE);
        cr_expect_eq(p.queues[0].half_life_ns, cases[i].expected, "%s", cases[i].keys);
        scenario_free(s);
    }
}

/* ---- who ---- */

Test(tenants, written_ones_are_sorted_by_name)
{
    struct scenario *s;
    struct plan p =
        plan_with("tenants: {rest: \"*\", red: , azure: {match: blue, weight: 3}}", "shared:", &s);
    cr_assert_eq(queue_tenants(&p.queues[0]), 3);
    tenant_is(&p.queues[0], 0, "research/azure", "blue", 3);
    tenant_is(&p.queues[0], 1, "research/red", "red", 1);
    tenant_is(&p.queues[0], 2, "research/rest", NULL, 1);
    cr_assert_eq(plan_claimants(&p), 3);
    scenario_free(s);
}

Test(tenants, the_owner_of_the_backlog_comes_first)
{
    struct scenario *s;
    struct plan p = plan_with(
        "tenants: {rest: \"*\", red: , blue: }\n"
        "    backlog: {gangs: [8GPU], tenant: red}",
        "shared:", &s);
    tenant_is(&p.queues[0], 0, "research/red", "red", 1);
    tenant_is(&p.queues[0], 1, "research/blue", "blue", 1);
    scenario_free(s);
}

Test(tenants, from_drawn_jobs)
{
    struct scenario *s;
    struct plan p = plan_with("tenants: from-trace", "shared:", &s);
    cr_assert_eq(queue_tenants(&p.queues[0]), 3);
    tenant_is(&p.queues[0], 0, "research/blue", "blue", 1);
    tenant_is(&p.queues[0], 1, "research/red", "red", 1);
    tenant_is(&p.queues[0], 2, "research/unknown", "", 1);
    scenario_free(s);
}

Test(tenants, from_a_recorded_list)
{
    struct scenario *s;
    struct plan p =
        plan_with("jobs: {trace: {file: " VENUS "}}\n    tenants: from-trace", "shared:", &s);
    const struct queue_plan *q = &p.queues[0];
    cr_assert_eq(queue_tenants(q), 2, "%zu tenants", queue_tenants(q));
    for (size_t i = 0; i < q->jobs->n; i++) {
        const char *tenant = q->jobs->rows[i].tenant;
        cr_assert(strcmp(tenant, q->tenant.match) == 0 || strcmp(tenant, q->more[0].match) == 0);
    }
    scenario_free(s);
}

Test(tenants, recorded_jobs_that_nobody_owns)
{
    char *half = kit_replace(queue, "KEYS", "jobs: {trace: {file: " VENUS "}}\n    tenants: {a: }");
    char *whole = kit_replace(half, "DESIGN", "shared:");
    struct diags d;
    struct plan p;
    struct scenario *s = kit_load_at(HERE, whole);
    diags_init(&d);
    cr_assert_eq(scenario_plan(s, NULL, &d, &p), HR_INPUT);
    char *said = kit_printed(&d);
    cr_assert(strstr(said, "which none matches; one may match \"*\""), "%s", said);
    free(said);
    diags_fini(&d);
    scenario_free(s);
    free(half);
    free(whole);
}

/* ---- their quota ---- */

Test(tenants, share_a_queue_without_bounds_as_equals)
{
    struct scenario *s;
    struct plan p = plan_with("tenants: from-trace", "shared:", &s);
    cr_assert_eq(p.pools[0].n_cohorts, 0);
    for (size_t i = 0; i < 3; i++)
        holds(&p.queues[0], i, 0, 32, 0, COHORT_ROOT);
    scenario_free(s);
}

Test(tenants, share_the_floor_of_their_queue_as_a_cohort)
{
    struct scenario *s;
    struct plan p =
        plan_with("tenants: from-trace", "floor-plus-borrow: {training_floor: 16GPU}", &s);
    cr_assert_eq(p.pools[0].n_cohorts, 1);
    const struct cohort *c = &p.pools[0].cohorts[0];
    cr_expect_str_eq(c->name, "research");
    cr_expect_eq(c->parent, COHORT_ROOT);
    cr_expect_eq(c->floor_gpus, 16);
    cr_expect_eq(c->ceiling_gpus, 32);
    cr_expect_eq(c->lend_gpus, 16);
    for (size_t i = 0; i < 3; i++) {
        holds(&p.queues[0], i, 0, 32, 0, 1);
        cr_expect_eq(queue_tenant(&p.queues[0], i)->pools[0].quota.reclaim_within_cohort,
                     COHORT_ANY);
    }
    scenario_free(s);
}

Test(tenants, separate_pools_bound_them_together)
{
    struct scenario *s;
    struct plan p = plan_with("tenants: from-trace", "separate: {training: 24GPU}", &s);
    const struct cohort *c = &p.pools[0].cohorts[0];
    cr_assert_eq(p.pools[0].n_cohorts, 1);
    cr_expect_eq(c->floor_gpus, 24);
    cr_expect_eq(c->ceiling_gpus, 24);
    cr_expect_eq(c->lend_gpus, 0);
    scenario_free(s);
}

Test(tenants, numbers_of_their_own)
{
    struct scenario *s;
    struct plan p = plan_with(
        "tenants: from-trace",
        "quota: {quotas: {research/red: {floor: 8GPU, borrow: 4GPU, lend: 2GPU, priority: 5}}}",
        &s);
    cr_assert_eq(p.pools[0].n_cohorts, 0);
    holds(&p.queues[0], 0, 0, 32, 0, COHORT_ROOT);
    holds(&p.queues[0], 1, 8, 12, 2, COHORT_ROOT);
    cr_expect_eq(queue_tenant(&p.queues[0], 1)->pools[0].quota.priority, 5);
    scenario_free(s);
}

Test(tenants, numbers_of_their_own_inside_those_of_the_queue)
{
    struct scenario *s;
    struct plan p = plan_with("tenants: from-trace",
                              "quota: {quotas: {research: {floor: 4GPU, borrow: 6GPU}, "
                              "research/red: {floor: 8GPU}}}",
                              &s);
    const struct cohort *c = &p.pools[0].cohorts[0];
    cr_assert_eq(p.pools[0].n_cohorts, 1);
    cr_expect_eq(c->floor_gpus, 4);
    cr_expect_eq(c->ceiling_gpus, 4 + 8 + 6, "of the whole");
    cr_expect_eq(c->lend_gpus, UINT32_MAX);
    holds(&p.queues[0], 0, 0, 10, 0, 1);
    holds(&p.queues[0], 1, 8, 32, 8, 1);
    scenario_free(s);
}

Test(tenants, numbers_for_a_tenant_that_no_job_names)
{
    char *half = kit_replace(queue, "KEYS", drawn);
    char *keyed = kit_replace(half, "tenant: blue}, three: {gpus: 3, work: 1h}}}\n",
                              "tenant: blue}}}\n    tenants: from-trace\n");
    char *whole = kit_replace(keyed, "DESIGN", "quota: {quotas: {research/green: {floor: 8GPU}}}");
    char *said = kit_refused(whole, NULL, 0);
    cr_assert(strstr(said, "quotas: no job of research names 'green'"), "%s", said);
    free(said);
    free(half);
    free(keyed);
    free(whole);
}
