/* The bundled traces of supply and prices, against figures measured on them with other tools
 * (Python) and against those their collection states. */
#include "fixture.h"

#include "sim/time.h"

#include <math.h>

static void near(double a, double b, double tolerance, int line)
{
    cr_assert(fabs(a - b) <= tolerance, "line %d: %.9g, not %.9g", line, a, b);
}

#define NEAR(a, b, tolerance) near((a), (b), (tolerance), __LINE__)

static void open_data(struct fixture *f, const char *format, const char *path)
{
    fixture_init(f, format);
    f->spec.path = path;
    fixture_read(f);
    fixture_expect_ok(f);
    fixture_expect_balance(f);
}

/* Rows in time order, each node up or down in turn, counts within bounds. */
static void expect_sound(const struct supply_trace *t)
{
    int64_t up = t->up_at_start;
    uint8_t *is_up = calloc(t->nodes + 1, 1);
    cr_assert_leq(t->up_at_start, t->nodes);
    memset(is_up, 1, t->up_at_start);
    for (size_t i = 0; i < t->n; i++) {
        const struct supply_event *e = &t->rows[i];
        cr_assert(i == 0 || t->rows[i - 1].at_ns <= e->at_ns);
        cr_assert_leq(e->at_ns, t->span_ns);
        cr_assert_neq(e->change, 0);
        cr_assert_not_null(e->cause);
        up += e->change;
        cr_assert(up >= 0 && up <= t->nodes);
        if (e->node == SUPPLY_ANY_NODE)
            continue;
        cr_assert_lt(e->node, t->nodes);
        cr_assert_eq(e->change, is_up[e->node] ? -1 : +1);
        is_up[e->node] = !is_up[e->node];
    }
    free(is_up);
}

Test(supply_data, bamboo_events)
{
    struct fixture f;
    open_data(&f, "bamboo-events", DATA("bamboo/p3-trace.csv"));
    const struct trace_supply_facts *s = &f.report.supply;
    expect_sound(&f.supply);
    cr_assert_str_eq(f.report.sha256,
                     "0b7828fcd4637799590578287415d4d4bbb5e3cfef5fbaf23ca8e5b3ef6bdd68");
    cr_assert_eq(f.report.rows_kept, 344);
    cr_assert_eq(f.supply.n, 344);
    cr_assert_eq(f.supply.span_ns, S(40920)); /* 11.4 h */
    cr_assert_eq(f.supply.up_at_start, 0);
    cr_assert_eq(f.supply.nodes, 32);
    cr_assert_eq(s->named, 177);
    cr_assert_eq(s->up_max, 32);
    NEAR(s->up_mean, 24.027859237536656, 1e-9);
    NEAR(s->available_frac, 24.027859237536656 / 32, 1e-9);
    cr_assert_eq(s->n_up_runs, 167);
    NEAR(s->up_run_h.p50, 0.98333333333, 1e-9);
    cr_assert_eq(s->losses, 167);
    cr_assert_eq(s->most_lost, 6);
    fixture_fini(&f);
}

Test(supply_data, bamboo_probes)
{
    struct fixture f;
    open_data(&f, "bamboo-probes", DATA("bamboo/a100x1-east1b.txt"));
    const struct trace_supply_facts *s = &f.report.supply;
    expect_sound(&f.supply);
    cr_assert_eq(f.report.rows_kept, 268);
    cr_assert_eq(f.supply.up_at_start, 55);
    cr_assert_eq(f.supply.nodes, 64);
    cr_assert_eq(f.supply.rows[0].node, SUPPLY_ANY_NODE);
    cr_assert_eq(f.supply.rows[0].at_ns, S(260)); /* 11:15:50 against 11:11:30 */
    cr_assert_eq(f.supply.rows[0].change, -1);
    cr_assert_eq(s->up_min, 17);
    cr_assert_eq(s->up_max, 64);
    NEAR(s->up_mean, 57.30311722492957, 1e-9);
    cr_assert_eq(s->most_lost, 36);
    cr_assert_eq(f.report.longest_gap_ns, S(18060)); /* 5 h */
    cr_assert(fixture_noted(&f, "longest 5.017 h"));
    cr_assert(fixture_noted(&f, "read as UTC"));
    fixture_fini(&f);
}

/* Several probers wrote into one file: times step back by up to a minute. */
Test(supply_data, bamboo_probes_that_step_back)
{
    struct fixture f;
    open_data(&f, "bamboo-probes", DATA("bamboo/v100x1-east1c.txt"));
    const struct trace_supply_facts *s = &f.report.supply;
    expect_sound(&f.supply);
    cr_assert_eq(f.report.rows_kept, 1477);
    cr_assert_eq(f.report.inversions, 15);
    cr_assert_eq(s->up_min, 30);
    cr_assert_eq(s->up_max, 80);
    cr_assert_eq(s->most_lost, 40);
    NEAR(s->up_mean, 76.32950249, 1e-7);
    cr_assert_eq(f.supply.rows[0].at_ns, S(60)); /* 13:08:45 is said twice: 80, then 70 */
    cr_assert_eq(f.supply.rows[0].change, -10);
    fixture_fini(&f);
}

Test(supply_data, bamboo_steps)
{
    struct fixture f;
    open_data(&f, "bamboo-steps",
              DATA("bamboo/aws-spot-instances-p2-xlarge-2020-11-20-to-2020-11-23.csv"));
    expect_sound(&f.supply);
    cr_assert_eq(f.report.rows_kept, 393);
    cr_assert_eq(f.supply.span_ns, S(319302)); /* 3.7 d */
    cr_assert_eq(f.supply.up_at_start, 0);
    cr_assert_eq(f.supply.rows[0].at_ns, S(108));
    cr_assert_eq(f.supply.rows[0].change, 9);
    cr_assert_eq(f.supply.nodes, 16);
    NEAR(f.report.supply.up_mean, 15.50494390890129, 1e-9);
    fixture_fini(&f);
}

Test(supply_data, infinitehbd)
{
    struct fixture f;
    fixture_init(&f, "infinitehbd");
    f.spec.path = DATA("infinitehbd/fault_trace.json.gz");
    f.spec.nodes = 400;
    fixture_read(&f);
    fixture_expect_ok(&f);
    fixture_expect_balance(&f);
    expect_sound(&f.supply);
    const struct trace_supply_facts *s = &f.report.supply;
    cr_assert_eq(f.report.rows_kept, 1168);
    cr_assert_eq(f.report.inversions, 0);
    cr_assert_eq(f.supply.nodes, 400);
    cr_assert_eq(f.supply.up_at_start, 400);
    cr_assert_eq(f.supply.n, 1164); /* two faults lie within another of their node */
    cr_assert_eq(f.supply.span_ns, UINT64_C(3489798) * (SIM_DAY / 10000));
    cr_assert_eq(f.supply.rows[0].at_ns, UINT64_C(38955) * (SIM_DAY / 10000));
    cr_assert_str_eq(f.supply.rows[0].cause, "GPU");
    cr_assert_eq(s->named, 231);
    cr_assert_eq(s->faults, 584);
    cr_assert_eq(s->zero_faults, 14);
    cr_assert_eq(s->overlaps, 2);
    cr_assert_eq(s->unrepaired, 0);
    cr_assert_eq(s->most_faults, 14);
    cr_assert_eq(s->most_lost, 8);
    NEAR(s->faults_per_1000_node_days, 4.18362323549959, 1e-9);
    NEAR(s->repair_h.p50, 20.3892, 1e-6);
    NEAR(s->repair_h.mean, 132.84015616438356, 1e-9);
    NEAR(s->repair_h.p90, 311.34192, 1e-6);
    NEAR(s->repair_h.max, 3143.1264, 1e-6);                  /* 131 days */
    NEAR(1 - s->available_frac, 0.02314834698168776, 1e-10); /* 2.3 % */
    static const struct trace_cause causes[] = {{"GPU", 158},
                                                {"Unknown Error", 144},
                                                {"Stress Test Failure", 97},
                                                {"Parameter Plane Cable", 40},
                                                {"Fan", 33},
                                                {"NIC", 30},
                                                {"Power Supply", 26}};
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
        cr_assert_str_eq(s->causes[i].name, causes[i].name);
        cr_assert_eq(s->causes[i].n, causes[i].n);
    }
    fixture_fini(&f);
}

Test(supply_data, aws_prices)
{
    static const struct {
        const char *zone;
        size_t rows;
        double mean, min, max, first, last;
        uint64_t changes, span_s;
    } zones[] = {
        {"us-west-2a", 214, 0.968475293450147, 0.918, 1.1491875, 1.1491875, 0.964, 186, 5193216},
        {"us-west-2b", 197, 0.9596773270305116, 0.918, 1.115725, 1.115725, 0.9620125, 161, 5194023},
        {"us-west-2c", 253, 1.0043920824485881, 0.918, 1.160725, 1.159925, 0.9978, 233, 5176632},
    };
    for (size_t i = 0; i < sizeof zones / sizeof *zones; i++) {
        struct fixture f;
        fixture_init(&f, "aws-spot-price");
        f.spec.path = DATA("aws-spot-price/us-west-2_p3.16xlarge.json.gz");
        f.spec.gpus_per_node = 8;
        f.spec.series = zones[i].zone;
        fixture_read(&f);
        fixture_expect_ok(&f);
        fixture_expect_balance(&f);
        cr_assert_eq(f.report.rows_read, 664);
        cr_assert_eq(f.prices.n, zones[i].rows);
        cr_assert_eq(f.report.dropped[TRACE_DROP_SERIES], 664 - zones[i].rows);
        cr_assert_eq(f.report.inversions, 0);
        cr_assert_eq(f.prices.rows[0].at_ns, 0);
        cr_assert_eq(f.prices.span_ns, S(zones[i].span_s));
        NEAR(f.prices.rows[0].usd_per_gpu_h, zones[i].first, 1e-12);
        NEAR(f.prices.rows[f.prices.n - 1].usd_per_gpu_h, zones[i].last, 1e-12);
        NEAR(f.report.price.mean, zones[i].mean, 1e-9);
        NEAR(f.report.price.min, zones[i].min, 1e-12);
        NEAR(f.report.price.max, zones[i].max, 1e-12);
        cr_assert_eq(f.report.price.changes, zones[i].changes);
        fixture_fini(&f);
    }
}

/* Lives and means counted in Python. The collection states that Google takes an instance back after
 * a day: the longest life is little more. */
Test(supply_data, instance_logs)
{
    static const struct {
        const char *path, *series;
        uint64_t rows, kept, events, span_s, named;
        uint32_t nodes;
        double mean;
        uint64_t lives;
        double p50_h, max_h;
        const char *note;
    } logs[] = {
        {DATA("training-on-a-dime/gcp_availability_persistent_2020-03-01.out.gz"), NULL, 4521, 4521,
         840, 247704, 9, 8, 6.255425830830346, 417, 0.20416666666666666, 24.69611111111111,
         "instances of 3 kinds"},
        {DATA("training-on-a-dime/gcp_availability_persistent_2020-03-01.out.gz"),
         "1 nvidia-tesla-v100", 4521, 844, 130, 247702, 2, 2, 1.7697475191964538, 64,
         0.24236111111111108, 24.183055555555555, "not created: 10"},
        {DATA("training-on-a-dime/aws_availability_persistent_2020-03-15.out.gz"), "8 k80", 2464,
         618, 19, 192465, 10, 2, 1.1881017327825838, 9, 1.3086111111111112, 45.22555555555556,
         "not created: 240"},
    };
    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++) {
        struct fixture f;
        fixture_init(&f, "instance-log");
        f.spec.path = logs[i].path;
        f.spec.series = logs[i].series;
        fixture_read(&f);
        fixture_expect_ok(&f);
        fixture_expect_balance(&f);
        expect_sound(&f.supply);
        const struct trace_supply_facts *s = &f.report.supply;
        cr_assert_eq(f.report.rows_read, logs[i].rows);
        cr_assert_eq(f.report.rows_kept, logs[i].kept);
        cr_assert_eq(f.report.dropped[TRACE_DROP_SERIES], logs[i].rows - logs[i].kept);
        cr_assert_eq(f.supply.n, logs[i].events);
        cr_assert_eq(f.supply.nodes, logs[i].nodes);
        cr_assert_eq(f.supply.up_at_start, 0);
        cr_assert_eq(f.supply.span_ns, S(logs[i].span_s));
        cr_assert_eq(s->named, logs[i].named);
        NEAR(s->up_mean, logs[i].mean, 1e-9);
        cr_assert_eq(s->n_up_runs, logs[i].lives);
        NEAR(s->up_run_h.p50, logs[i].p50_h, 1e-9);
        NEAR(s->up_run_h.max, logs[i].max_h, 1e-9);
        cr_assert(fixture_noted(&f, logs[i].note));
        fixture_fini(&f);
    }
}

Test(supply_data, formats_are_told_by_what_files_hold)
{
    static const struct {
        const char *path, *format;
    } cases[] = {
        {DATA("infinitehbd/fault_trace.json.gz"), "infinitehbd"},
        {DATA("training-on-a-dime/gcp_availability_persistent_2020-03-01.out.gz"), "instance-log"},
        {DATA("aws-spot-price/us-west-2_p3.16xlarge.json.gz"), "aws-spot-price"}};
    struct diags diags;
    diags_init(&diags);
    const struct trace_format *format = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_assert_eq(trace_format_by_header(cases[i].path, &diags, &format), HR_OK);
        cr_assert_str_eq(format->name, cases[i].format);
    }
    cr_assert_eq(trace_format_by_header(DATA("bamboo/p3-trace.csv"), &diags, &format), HR_INPUT);
    cr_assert(strstr(diags.items[0].text, "without a header must be named") != NULL);
    diags_fini(&diags);
}
