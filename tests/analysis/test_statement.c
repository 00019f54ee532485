/* Tenants, pools and dollars, on a run small enough to add up on paper; the statement adds up as
 * it is shown.
 *
 * Pools: "base", 6 GPUs at $3, and "spot", 4 GPUs at $1; two hours measured. Claimants: service
 * chat, tenants red and blue of queue train. GPU-hours:
 *
 *                     base  spot
 *     chat serving       4
 *          held_idle     2
 *     red  training      3     2     jobs: waits of 600 s (done after 3600 s) and 1200 s
 *          lost                1
 *     blue training      1     1     a job that never starts
 *     nobody free        1     1
 *          failed        1
 *          absent              3 */
#include "analysis/explain.h"
#include "analysis/report.h"
#include "analysis/statement.h"
#include "analysis/verdict.h"
#include "models/closed/renewal.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OWNERS = 4, NOBODY = 0, CHAT, RED, BLUE, BASE = 0, SPOT };

static const struct node_group base_nodes[] = {{"b", "h100-sxm", 3, 2}};
static const struct node_group spot_nodes[] = {{"s", "h100-sxm", 2, 2}};
static const struct fleet_plan two_pools[] = {
    {.name = "base", .groups = base_nodes, .n_groups = 1, .price_usd_per_gpu_h = 3},
    {.name = "spot", .groups = spot_nodes, .n_groups = 1, .price_usd_per_gpu_h = 1}};
static const struct service_plan service[] = {
    {.name = "chat",
     .pools = {{0, {.ceiling_gpus = 6}}},
     .n_pools = 1,
     .gpus_per_replica = 2,
     .initial_replicas = 3,
     .slo = {.objectives = {{SLO_TTFT, 2 * SIM_S, 990000}},
             .n_objectives = 1,
             .window_ns = SIM_HOUR,
             .end_ns = 2 * SIM_HOUR,
             .target = 0.99},
     .safe_in_flight = 4}};
static const struct tenant_plan blue[] = {{.name = "blue"}};
static const struct queue_plan queue[] = {
    {.name = "train", .tenant = {.name = "red"}, .more = blue, .n_more = 1}};
static const struct plan plan = {.name = "two",
                                 .design = "spot-mix",
                                 .seed = 1,
                                 .horizon_ns = 2 * SIM_HOUR,
                                 .timeline_ns = SIM_HOUR,
                                 .start_date = "2026-01-01 00:00:00",
                                 .pools = two_pools,
                                 .n_pools = 2,
                                 .services = service,
                                 .n_services = 1,
                                 .queues = queue,
                                 .n_queues = 1};

static const struct {
    int pool, owner, state;
    uint64_t hours;
} bookings[] = {
    {BASE, CHAT, GPU_SERVING, 4},  {BASE, CHAT, GPU_HELD_IDLE, 2}, {BASE, RED, GPU_TRAINING, 3},
    {SPOT, RED, GPU_TRAINING, 2},  {SPOT, RED, GPU_LOST, 1},       {BASE, BLUE, GPU_TRAINING, 1},
    {SPOT, BLUE, GPU_TRAINING, 1}, {BASE, NOBODY, GPU_FREE, 1},    {SPOT, NOBODY, GPU_FREE, 1},
    {BASE, NOBODY, GPU_FAILED, 1}, {SPOT, NOBODY, GPU_ABSENT, 3},
};

static struct job_row jobs[] = {
    {.id = "a",
     .claimant = 1,
     .gpus = 2,
     .outcome = OUTCOME_DONE,
     .submit_ns = 0,
     .first_start_ns = 600 * SIM_S,
     .end_ns = SIM_HOUR},
    {.id = "b",
     .claimant = 1,
     .gpus = 2,
     .outcome = OUTCOME_CENSORED,
     .submit_ns = 0,
     .first_start_ns = 1200 * SIM_S,
     .end_ns = SIM_NEVER,
     .preemptions = 2},
    {.id = "c",
     .claimant = 2,
     .gpus = 8,
     .outcome = OUTCOME_WAITING,
     .submit_ns = 0,
     .first_start_ns = SIM_NEVER,
     .end_ns = SIM_NEVER},
};

static u128 ledgers[2][OWNERS * GPU_STATES], ledger[OWNERS * GPU_STATES];
static uint64_t timelines[2][2 * OWNERS * GPU_STATES], timeline[2 * OWNERS * GPU_STATES];
static struct pool_results pools[2] = {{.ledger = ledgers[0], .timeline = timelines[0], .gpus = 6},
                                       {.ledger = ledgers[1], .timeline = timelines[1], .gpus = 4}};
static struct slo_window windows[2] = {{.requests = 100}, {.requests = 100}};
static struct service_results services[1];
static struct queue_results queues[1];
static struct summary s;

static void setup_with(const struct plan *p)
{
    services[0] = (struct service_results){.windows = windows, .n_windows = 2};
    services[0].totals =
        (struct service_totals){.arrived = 200, .done = 200, .output_tokens = 500000};
    services[0].slo.requests = services[0].slo.done = 200;
    services[0].slo.windows = 2;
    for (size_t i = 0; i < sizeof bookings / sizeof bookings[0]; i++) {
        size_t a = results_account((uint32_t)bookings[i].owner, (enum gpu_state)bookings[i].state);
        ledgers[bookings[i].pool][a] += bookings[i].hours * (u128)SIM_HOUR;
        ledger[a] += bookings[i].hours * (u128)SIM_HOUR;
    }
    const struct run_results r = {.n_owners = OWNERS,
                                  .n_services = 1,
                                  .n_queues = 1,
                                  .fleet_gpus = 10,
                                  .end_ns = 2 * SIM_HOUR,
                                  .timeline_ns = SIM_HOUR,
                                  .n_timeline = 2,
                                  .pools = pools,
                                  .n_pools = 2,
                                  .ledger = ledger,
                                  .timeline = timeline,
                                  .services = services,
                                  .queues = queues,
                                  .jobs = jobs,
                                  .n_jobs = 3};
    const struct summary_source source = {"mix", p, NULL, NULL};
    cr_assert(summary_init(&s, &source, 1, 1, "v") == HR_OK);
    cr_assert(summary_fill(&s, 0, 0, p, &r) == HR_OK);
}

static void setup(void)
{
    setup_with(&plan);
}

static void teardown(void)
{
    summary_fini(&s);
}

static double value(const char *metric, uint32_t entity, uint32_t part)
{
    return summary_mean(&s, metric, 0, entity, part);
}

#define NEAR(a, b) cr_expect(epsilon_eq(dbl, a, b, 1e-9), "%s", #a)

Test(statement, axes_name_tenants_and_pools, .init = setup, .fini = teardown)
{
    cr_expect(eq(u32, s.n[AXIS_TENANT], 2));
    cr_expect(eq(u32, s.n[AXIS_POOL], 2));
    cr_assert(eq(u32, s.n[AXIS_OWNER], 4));
    cr_expect_str_eq(s.names[AXIS_OWNER][BLUE], "blue");
    cr_expect_str_eq(s.names[AXIS_POOL][SPOT], "spot");
    NEAR(value("gpu_h", BLUE, GPU_TRAINING), 2);
    NEAR(value("queue_training_gpu_h", 0, 0), 7); /* of both tenants */
    NEAR(value("queue_goodput", 0, 0), 7.0 / 8);
    NEAR(value("tenant_goodput", 0, 0), 5.0 / 6);
    NEAR(value("tenant_jobs_submitted", 0, 0), 2);
    NEAR(value("tenant_jobs_waiting", 1, 0), 1);
    NEAR(value("tenant_preemptions", 0, 0), 2);
    NEAR(value("tenant_wait_mean_s", 0, 0), 900);
    NEAR(value("tenant_completion_mean_s", 0, 0), 3600);
    cr_expect(isnan(value("tenant_wait_mean_s", 1, 0)));
}

Test(statement, dollars_of_owners_and_pools_by_hand, .init = setup, .fini = teardown)
{
    NEAR(value("supplied_gpu_h", 0, 0), 17);
    NEAR(value("cost_usd", 0, 0), 12 * 3 + 5 * 1);
    NEAR(value("mean_price_usd", 0, 0), 41.0 / 17);
    NEAR(value("cost_per_useful_gpu_h", 0, 0), 41.0 / 11);
    NEAR(value("owner_cost_usd", CHAT, 0), 18);
    NEAR(value("owner_cost_usd", RED, 0), 9 + 3);
    NEAR(value("owner_cost_usd", BLUE, 0), 3 + 1);
    NEAR(value("owner_cost_usd", NOBODY, 0), 3 + 1 + 3); /* nothing for the absent ones */
    NEAR(value("gpu_cost_usd", RED, GPU_LOST), 1);
    NEAR(value("gpu_cost_usd", NOBODY, GPU_ABSENT), 0);
    NEAR(value("owner_mean_price_usd", RED, 0), 12.0 / 6);
    NEAR(value("owner_cost_per_useful_gpu_h", RED, 0), 12.0 / 5);
    NEAR(value("owner_frac", RED, 0), 6.0 / 17);
    NEAR(value("cost_per_mtok", 0, 0), 18 / 0.5);
    NEAR(value("pool_supplied_gpu_h", SPOT, 0), 5);
    NEAR(value("pool_absent_gpu_h", SPOT, 0), 3);
    NEAR(value("pool_failed_gpu_h", BASE, 0), 1);
    NEAR(value("pool_cost_usd", BASE, 0), 36);
    NEAR(value("pool_cost_per_useful_gpu_h", SPOT, 0), 5.0 / 3);
    NEAR(value("pool_utilization", BASE, 0), 8.0 / 12);
}

static char *printed(size_t most)
{
    struct statement t;
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    cr_assert(statement_init(&t, &s, 0, most) == HR_OK);
    cr_assert(statement_print(f, &t) == HR_OK);
    fclose(f);
    statement_fini(&t);
    return text;
}

Test(statement, table_by_hand, .init = setup, .fini = teardown)
{
    char *text = printed(10);
    cr_expect_str_eq(
        text,
        "                   useful  saves   idle   load  drain   lost    total          $\n"
        "  chat                4.0    0.0    2.0    0.0    0.0    0.0      6.0         18\n"
        "  red                 5.0    0.0    0.0    0.0    0.0    1.0      6.0         12\n"
        "  blue                2.0    0.0    0.0    0.0    0.0    0.0      2.0          4\n"
        "  all claimants      11.0    0.0    2.0    0.0    0.0    1.0     14.0         34\n"
        "  free                                                            2.0          4\n"
        "  failed, maint.                                                  1.0          3\n"
        "  supplied                                                       17.0         41\n"
        "  not supplied                                                    3.0\n");
    free(text);
    text = printed(1);
    cr_expect(strstr(text, "\n  others (2)          7.0    0.0    0.0    0.0    0.0    1.0") !=
              NULL);
    free(text);
}

Test(statement, sentence, .init = setup, .fini = teardown)
{
    struct text t = {0};
    statement_sentence(&t, &s, 0);
    cr_expect_str_eq(text_get(&t),
                     "Useful: 64.7% of what is supplied, $3.73 per useful GPU-hour at "
                     "a mean price of $2.41; chat $36.00 per million output tokens.");
    text_free(&t);
}

/* Largest remainders: the sum is the rounded sum and no value moves by one or more. */
Test(statement, rounding_adds_up)
{
    int64_t out[40];
    statement_round((double[]){1.4, 1.4, 1.4, 0}, 4, out); /* 4.2 */
    cr_expect(out[0] == 2 && out[1] == 1 && out[2] == 1 && out[3] == 0);
    uint64_t state = 1;
    for (int round = 0; round < 1000; round++) {
        double values[40], sum = 0;
        int64_t total = 0;
        size_t n = 1 + (size_t)round % 40;
        for (size_t i = 0; i < n; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            values[i] = (double)(state >> 40) / 1000;
            sum += values[i];
        }
        statement_round(values, n, out);
        for (size_t i = 0; i < n; i++) {
            total += out[i];
            cr_expect(fabs((double)out[i] - values[i]) < 1);
        }
        cr_expect(total == llround(sum));
    }
}

/* Any figures, as shown: lines add up down and across, and none is wider than 80. */
Test(statement, columns_add_up_as_printed, .init = setup, .fini = teardown)
{
    size_t h = metric_find("gpu_h"), usd = metric_find("gpu_cost_usd");
    uint64_t state = 7;
    for (int round = 0; round < 200; round++) {
        double scale = pow(10, round % 7);
        for (uint32_t o = 0; o < 4; o++)
            for (uint32_t k = 0; k < GPU_ABSENT; k++) {
                state = state * 6364136223846793005u + 1442695040888963407u;
                *summary_at(&s, h, 0, 0, o, k) = scale * (double)(state >> 44) / 1e5;
                *summary_at(&s, usd, 0, 0, o, k) = scale * (double)(state >> 43) / 1e5;
            }
        char *text = printed(10);
        double rows = 0, dollars = 0, total = NAN, total_usd = NAN, claimants = 0;
        for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
            cr_expect(text_width(line) <= 80, "%s", line);
            char plain[128];
            size_t n = 0;
            for (char *c = line; *c; c++)
                if (*c != ',')
                    plain[n++] = *c;
            plain[n] = 0;
            double cell[8];
            int got = sscanf(plain + 16, "%lf %lf %lf %lf %lf %lf %lf %lf", &cell[0], &cell[1],
                             &cell[2], &cell[3], &cell[4], &cell[5], &cell[6], &cell[7]);
            if (strncmp(line, "  supplied", 10) == 0) {
                total = cell[0];
                total_usd = cell[1];
            } else if (got == 8) {
                double across = 0;
                for (int i = 0; i < 6; i++)
                    across += cell[i];
                cr_expect(fabs(across - cell[6]) < 1e-6, "%s", line);
                bool sub = strncmp(line, "  all claimants", 15) == 0;
                rows += sub ? 0 : cell[6];
                dollars += sub ? 0 : cell[7];
                claimants = sub ? cell[6] : claimants;
                cr_expect(fabs(rows - cell[6]) < 1e-6 || sub == false);
            } else if (got == 2) {
                rows += cell[0];
                dollars += cell[1];
            }
        }
        cr_expect(fabs(rows - total) < 1e-6 && fabs(dollars - total_usd) < 1e-6 && claimants > 0);
        free(text);
    }
}

/* ---- what happened to nodes ---- */

static char *page_of(const struct summary *of)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    struct verdict v;
    cr_assert(verdict_init(&v, of) == HR_OK);
    cr_assert(report_print(f, of, &v, &(struct report_options){0}) == HR_OK);
    fclose(f);
    verdict_fini(&v);
    return text;
}

Test(statement, events_of_pools)
{
    pools[SPOT].supply = (struct supply_totals){.notices = 5,
                                                .losses = 4,
                                                .returns = 3,
                                                .roll_out_begin_ns = SIM_NEVER,
                                                .roll_out_end_ns = SIM_NEVER};
    pools[BASE].supply = (struct supply_totals){.failures = 7,
                                                .repairs = 6,
                                                .upgraded = 9,
                                                .upgrades_failed = 1,
                                                .roll_outs = 2,
                                                .roll_out_ns = 5 * SIM_HOUR,
                                                .roll_out_begin_ns = SIM_HOUR,
                                                .roll_out_end_ns = 8 * SIM_HOUR};
    setup();
    NEAR(value("pool_failures", BASE, 0), 7);
    NEAR(value("pool_repairs", BASE, 0), 6);
    NEAR(value("pool_spot_notices", SPOT, 0), 5);
    NEAR(value("pool_spot_losses", SPOT, 0), 4);
    NEAR(value("pool_spot_returns", SPOT, 0), 3);
    NEAR(value("pool_nodes_provisioned", SPOT, 0), 0);
    NEAR(value("pool_nodes_maintained", BASE, 0), 9);
    NEAR(value("pool_nodes_maintenance_failed", BASE, 0), 1);
    NEAR(value("pool_roll_out_mean_s", BASE, 0), 2.5 * 3600);
    NEAR(value("pool_roll_out_span_s", BASE, 0), 7 * 3600);
    cr_expect(isnan(value("pool_roll_out_mean_s", SPOT, 0)));
    cr_expect(isnan(value("pool_roll_out_span_s", SPOT, 0)));
    char *page = page_of(&s);
    cr_expect(strstr(page, "Pool spot\n  spot notices") != NULL);
    cr_expect(strstr(page, "Pool base\n  nodes failed") != NULL);
    cr_expect(strstr(page, "asked for") == NULL); /* it did not happen */
    free(page);
    teardown();
}

/* One pool has an axis where its nodes come and go: there is something to tell of it. */
Test(statement, a_single_pool_that_changes_is_an_axis)
{
    struct fleet_plan one = two_pools[BASE];
    struct plan p = plan;
    p.pools = &one;
    p.n_pools = 1;
    const struct summary_source source = {"one", &p, NULL, NULL};
    struct summary of;
    cr_assert(summary_init(&of, &source, 1, 1, "v") == HR_OK);
    cr_expect(eq(u32, of.n[AXIS_POOL], 0));
    summary_fini(&of);
    one.supply.failure.per_1000_node_days = 1;
    cr_assert(summary_init(&of, &source, 1, 1, "v") == HR_OK);
    cr_expect(eq(u32, of.n[AXIS_POOL], 1));
    summary_fini(&of);
}

/* Spot at $1 against $3. Queues hold 4 GPU-hours there of which 3 are useful, on base all 4. In
 * closed form gangs of one node lose it every 4 h, save for 10 s every 30 min, restart in 120 s; on
 * base nothing fails, so saves alone cost: efficiency 1800 / 1810. */
Test(statement, what_spot_is_worth)
{
    struct fleet_plan mix[] = {two_pools[BASE], two_pools[SPOT]};
    mix[SPOT].supply = (struct supply_plan){.kind = SUPPLY_SPOT, .spot = {.life_s = 4 * 3600}};
    struct queue_plan saving = queue[0];
    saving.checkpoint =
        (struct checkpoint_plan){.interval_ns = 30 * SIM_MIN, .stall_ns = 10 * SIM_S};
    saving.restart_load = saving.restart_init = (struct dist){DIST_FIXED, 60, 0};
    struct plan p = plan;
    p.pools = mix;
    p.queues = &saving;
    jobs[0].done_ns = SIM_HOUR;
    jobs[0].work_ns = 10 * SIM_HOUR;
    setup_with(&p);
    const struct renewal r = {4 * 3600, 10, 120, 0};
    double eff = renewal_efficiency(&r, 1800) * 1810 / 1800;
    cr_expect(eff > 0.8 && eff < 1);
    NEAR(value("spot_firm_price_usd", SPOT, 0), 3);
    NEAR(value("spot_discount", SPOT, 0), 2.0 / 3);
    NEAR(value("spot_saving", SPOT, 0), 1 - 4.0 / 3 / 3);
    cr_expect(epsilon_eq(dbl, value("spot_break_even_price_usd", SPOT, 0), 3 * eff, 1e-6));
    cr_expect(epsilon_eq(dbl, value("spot_break_even_discount", SPOT, 0), 1 - eff, 1e-6));
    cr_expect(epsilon_eq(dbl, value("spot_closed_saving", SPOT, 0), 1 - 1 / (3 * eff), 1e-6));
    cr_expect(isnan(value("spot_saving", BASE, 0)));
    struct text t = {0};
    explain_spot(&t, &s, 0, BASE);
    cr_expect(eq(sz, t.n, 0));
    explain_spot(&t, &s, 0, SPOT);
    cr_expect(strstr(text_get(&t), "a discount of 66.7%; it pays from ") != NULL);
    cr_expect(strstr(text_get(&t), "saves 55.6% as simulated, ") != NULL);
    text_free(&t);
    teardown();
    mix[SPOT].supply.spot.notice_ns = 2 * SIM_MIN; /* held and paid for without work */
    memset(ledgers, 0, sizeof ledgers);
    memset(ledger, 0, sizeof ledger);
    setup_with(&p);
    eff *= 4 * 3600 / (4 * 3600 + 120.0);
    cr_expect(epsilon_eq(dbl, value("spot_break_even_price_usd", SPOT, 0), 3 * eff, 1e-6));
    saving.checkpoint.interval_ns = SIM_DAY; /* more than the work: one piece, nothing saved */
    teardown();
    memset(ledgers, 0, sizeof ledgers);
    memset(ledger, 0, sizeof ledger);
    setup_with(&p);
    const struct renewal unsaved = {4 * 3600, 0, 120, 120};
    eff = renewal_efficiency(&unsaved, 36000);
    cr_expect(epsilon_eq(dbl, value("spot_break_even_price_usd", SPOT, 0), 3 * eff, 1e-6));
    teardown();
    static const char any; /* never looked into: no rate to put into the closed form */
    mix[SPOT].supply.spot.trace = (const void *)&any;
    memset(ledgers, 0, sizeof ledgers);
    memset(ledger, 0, sizeof ledger);
    setup_with(&p);
    cr_expect(isnan(value("spot_break_even_price_usd", SPOT, 0)));
    NEAR(value("spot_saving", SPOT, 0), 1 - 4.0 / 3 / 3);
    teardown();
}
