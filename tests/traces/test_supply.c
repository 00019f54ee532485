/* Traces of supply and prices: quirks, the rules of each kind, and what is refused. */
#include "fixture.h"

#include "sim/time.h"

#include <math.h>

#define EXPECT_EVENT(trace, i, at, who, by)                                                        \
    do {                                                                                           \
        cr_assert_eq((trace).rows[i].at_ns, (at));                                                 \
        cr_assert_eq((trace).rows[i].node, (who));                                                 \
        cr_assert_eq((trace).rows[i].change, (by));                                                \
    } while (0)

static void read_text(struct fixture *f, const char *format, const char *text)
{
    fixture_init(f, format);
    fixture_text(f, text);
    fixture_expect_ok(f);
    fixture_expect_balance(f);
}

/* --- counts ------------------------------------------------------------------------------ */

Test(supply, skypilot_ticks)
{
    struct fixture f;
    read_text(
        &f, "skypilot",
        "\xef\xbb\xbf {\"metadata\": {\"gap_seconds\": 300},\n \"data\": [2, 2, 0, 0, 4, 4]}\n");
    cr_assert_eq(f.supply.up_at_start, 2);
    cr_assert_eq(f.supply.nodes, 4);
    cr_assert_eq(f.supply.n, 2);
    EXPECT_EVENT(f.supply, 0, S(600), SUPPLY_ANY_NODE, -2);
    EXPECT_EVENT(f.supply, 1, S(1200), SUPPLY_ANY_NODE, 4);
    cr_assert_eq(f.supply.span_ns, S(1800)); /* the last tick lasts, too */
    cr_assert_eq(f.report.rows_read, 6);
    cr_assert_eq(f.report.supply.up_mean, 2);
    cr_assert_eq(f.report.supply.available_frac, 0.5);
    cr_assert_eq(f.report.supply.n_down_runs, 2);
    cr_assert_float_eq(f.report.supply.down_run_h.p50, 600. / 3600, 1e-12);
    cr_assert_eq(f.report.supply.n_up_runs, 0); /* none has both its ends */
    fixture_fini(&f);
}

Test(supply, never_available)
{
    struct fixture f;
    read_text(&f, "skypilot", "{\"metadata\":{\"gap_seconds\":30.5},\"data\":[0,0]}");
    cr_assert_eq(f.supply.nodes, 0);
    cr_assert_eq(f.supply.n, 0);
    cr_assert_not_null(f.supply.rows);
    cr_assert_eq(f.supply.span_ns, S(61));
    cr_assert_eq(f.report.supply.available_frac, 0);
    cr_assert(fixture_noted(&f, "no node is ever up"));
    fixture_fini(&f);
}

/* What the last row of an instant says counts; numbers of time begin at 0, not at the first row. */
Test(supply, steps_and_clock)
{
    struct fixture f;
    read_text(&f, "bamboo-steps", "0.5,3\r\n1.5,3\r\n1.5,1\r\n\r\n2.5,1\r\n2.5,3\r\n");
    cr_assert_eq(f.supply.up_at_start, 3);
    cr_assert_eq(f.supply.n, 2);
    EXPECT_EVENT(f.supply, 0, 3 * SIM_HOUR / 2, SUPPLY_ANY_NODE, -2);
    EXPECT_EVENT(f.supply, 1, 5 * SIM_HOUR / 2, SUPPLY_ANY_NODE, 2);
    cr_assert_eq(f.supply.span_ns, 5 * SIM_HOUR / 2);
    fixture_fini(&f);
}

Test(supply, own_counts_with_units_in_the_header)
{
    static const char *const texts[] = {
        "count,time_min\n1,0\n4,2\n", "t_s,count,x\n0,1,\n120,4,\n",
        "time,count\n2026-01-01T00:00:00Z,1\n2026-01-01 00:02:00+00:00,4\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct fixture f;
        read_text(&f, "headroom-counts", texts[i]);
        cr_assert_eq(f.supply.n, 1);
        EXPECT_EVENT(f.supply, 0, S(120), SUPPLY_ANY_NODE, 3);
        const struct trace_format *format;
        cr_assert_eq(trace_format_by_header(f.path, &f.diags, &format), HR_OK);
        cr_assert_str_eq(format->name, "headroom-counts");
        fixture_fini(&f);
    }
}

/* --- instances --------------------------------------------------------------------------- */

/* A place is given to the next instance; a name may come back and takes the lowest place. */
Test(supply, instances_take_places)
{
    struct fixture f;
    read_text(&f, "bamboo-events",
              "0,add,a\r\n0,add,b\r\n1000,remove,a\r\n2000,add,c\r\n3000,add,d\r\n3000,remove,b\r\n"
              "4000,add,a\r\n5000,remove,d");
    cr_assert_eq(f.supply.nodes, 3);
    cr_assert_eq(f.supply.up_at_start, 0);
    cr_assert_eq(f.supply.n, 8);
    EXPECT_EVENT(f.supply, 2, S(1), 0, -1);
    EXPECT_EVENT(f.supply, 3, S(2), 0, +1); /* c where a was */
    EXPECT_EVENT(f.supply, 4, S(3), 2, +1); /* d before b went */
    EXPECT_EVENT(f.supply, 5, S(3), 1, -1);
    EXPECT_EVENT(f.supply, 6, S(4), 1, +1);
    EXPECT_EVENT(f.supply, 7, S(5), 2, -1);
    cr_assert_eq(f.report.supply.named, 4);
    cr_assert_eq(f.report.supply.losses, 3);
    cr_assert_float_eq(f.report.supply.up_h_per_loss, (0 + 1 + 3 + 3 + 2 + 1) / 3. / 3600, 1e-12);
    fixture_fini(&f);
}

Test(supply, rows_out_of_order_are_sorted_stably)
{
    struct fixture f;
    read_text(&f, "bamboo-events", "0,add,a\n7000,remove,a\n5000,add,b\n7000,add,c\n");
    cr_assert_eq(f.report.inversions, 1);
    cr_assert(fixture_noted(&f, "1 of 4 rows are earlier"));
    EXPECT_EVENT(f.supply, 1, S(5), 1, +1);
    EXPECT_EVENT(f.supply, 2, S(7), 0, -1);
    EXPECT_EVENT(f.supply, 3, S(7), 0, +1);
    fixture_fini(&f);
}

/* --- faults ------------------------------------------------------------------------------ */

#define FAULTS                                                                                     \
    "time_h,node,event,cause\n"                                                                    \
    "10,n1,down,gpu\n12,n1,down,fan\n13,n1,up,gpu\n16,n1,up,fan\n"                                 \
    "20,n2,down,gpu\n20,n2,up,gpu\n20,n3,down,\n"

Test(supply, faults_overlap_last_no_time_and_do_not_end)
{
    struct fixture f;
    fixture_init(&f, "headroom-faults");
    f.spec.nodes = 5;
    fixture_text(&f, FAULTS);
    fixture_expect_ok(&f);
    fixture_expect_balance(&f);
    const struct trace_supply_facts *s = &f.report.supply;
    cr_assert_eq(f.supply.nodes, 5);
    cr_assert_eq(f.supply.up_at_start, 5);
    cr_assert_eq(f.supply.n, 5);
    EXPECT_EVENT(f.supply, 0, 10 * SIM_HOUR, 0, -1);
    EXPECT_EVENT(f.supply, 1, 16 * SIM_HOUR, 0, +1);
    EXPECT_EVENT(f.supply, 2, 20 * SIM_HOUR, 1, -1);
    EXPECT_EVENT(f.supply, 3, 20 * SIM_HOUR, 1, +1);
    EXPECT_EVENT(f.supply, 4, 20 * SIM_HOUR, 2, -1);
    cr_assert_str_eq(f.supply.rows[0].cause, "gpu");
    cr_assert_str_eq(f.supply.rows[4].cause, "");
    cr_assert_eq(s->faults, 4);
    cr_assert_eq(s->overlaps, 1);
    cr_assert_eq(s->zero_faults, 1);
    cr_assert_eq(s->unrepaired, 1);
    cr_assert_eq(s->most_faults, 2);
    cr_assert_eq(s->most_lost, 2);
    cr_assert_float_eq(s->repair_h.p50, 3, 1e-12); /* 0, 3 and 4 h, by their causes */
    cr_assert_float_eq(s->repair_h.max, 4, 1e-12);
    cr_assert_float_eq(s->available_frac, 1 - 6. / (5 * 20), 1e-12);
    cr_assert_float_eq(s->faults_per_1000_node_days, 4 / (5 * 20. / 24) * 1000, 1e-9);
    cr_assert_eq(s->n_causes, 3);
    cr_assert_str_eq(s->causes[0].name, "gpu");
    cr_assert_eq(s->causes[0].n, 2);
    fixture_fini(&f);
}

/* Repairs without a cause end the oldest fault. */
Test(supply, repairs_without_a_cause)
{
    struct fixture f;
    read_text(&f, "headroom-faults",
              "time_h,node,event\n0,a,down\n1,a,down\n2,a,up\n3,a,down\n8,a,up\n9,a,up\n");
    cr_assert_float_eq(f.report.supply.repair_h.mean, (2 + 7 + 6) / 3., 1e-12);
    cr_assert_float_eq(f.report.supply.repair_h.max, 7, 1e-12);
    cr_assert_eq(f.supply.n, 2);
    cr_assert(fixture_noted(&f, "say how many there are"));
    fixture_fini(&f);
}

Test(supply, unit_of_a_column_called_time_is_declared)
{
    struct fixture f;
    fixture_init(&f, "headroom-faults");
    f.spec.time_unit = "d";
    fixture_text(&f, "time,node,event,cause\n1.5,a,down,x\n2,a,up,x\n");
    fixture_expect_ok(&f);
    cr_assert_eq(f.supply.rows[0].at_ns, 3 * SIM_DAY / 2);
    fixture_fini(&f);
}

Test(supply, equal_rows_can_be_dropped)
{
    struct fixture f;
    fixture_init(&f, "bamboo-events");
    f.spec.dedupe = true;
    fixture_text(&f, "0,add,a\n0,add,a\n1,remove,a\n");
    fixture_expect_ok(&f);
    fixture_expect_balance(&f);
    cr_assert_eq(f.report.dropped[TRACE_DROP_DUPLICATE], 1);
    cr_assert_eq(f.supply.n, 2);
    fixture_fini(&f);
}

Test(supply, contradicting_rows_can_be_skipped)
{
    struct fixture f;
    fixture_init(&f, "bamboo-events");
    f.spec.skip_bad_rows = true;
    fixture_text(&f, "0,add,a\n0,add,a\nx,add,b\n1,remove,c\n2,remove,a\n");
    fixture_expect_ok(&f);
    fixture_expect_balance(&f);
    cr_assert_eq(f.report.dropped[TRACE_DROP_MALFORMED], 3);
    cr_assert_eq(f.supply.n, 2);
    cr_assert_eq(f.diags.n_errors, 0);
    fixture_fini(&f);
    fixture_init(&f, "infinitehbd");
    f.spec.skip_bad_rows = true;
    fixture_text(&f,
                 "[{\"node_id\":\"a\",\"event_time\":1,\"event_type\":\"fault_start\"}, 7,\n"
                 " {\"node_id\":\"a\",\"event_time\":\"x\",\"event_type\":\"fault_end\"}]");
    fixture_expect_ok(&f);
    fixture_expect_balance(&f);
    cr_assert_eq(f.report.dropped[TRACE_DROP_MALFORMED], 2);
    cr_assert_eq(f.report.supply.unrepaired, 1);
    fixture_fini(&f);
}

/* --- prices ------------------------------------------------------------------------------ */

Test(supply, prices)
{
    struct fixture f;
    read_text(&f, "headroom-prices", "t_s,usd_per_gpu_h\n60,2\n120,3\n120,4\n360,4\n");
    cr_assert_eq(f.prices.n, 3);
    cr_assert_eq(f.prices.rows[0].at_ns, 0); /* the first price holds from the start */
    cr_assert_eq(f.prices.rows[1].at_ns, S(120));
    cr_assert_eq(f.prices.rows[1].usd_per_gpu_h, 4);
    cr_assert_eq(f.prices.span_ns, S(360));
    cr_assert_float_eq(f.report.price.mean, (2 * 120 + 4 * 240) / 360., 1e-12);
    cr_assert_eq(f.report.price.changes, 1);
    cr_assert(fixture_noted(&f, "at the instant of another: 1"));
    fixture_fini(&f);
}

Test(supply, prices_of_a_mapped_column_are_divided)
{
    struct fixture f;
    const struct trace_map map = {.field = TRACE_PRICE, .column = "per node"};
    fixture_init(&f, "headroom-prices");
    f.spec.gpus_per_node = 8; /* does not matter: the column is of a GPU */
    fixture_text(&f, "t_s,usd_per_gpu_h\n0,3\n");
    fixture_expect_ok(&f);
    cr_assert_eq(f.prices.rows[0].usd_per_gpu_h, 3);
    fixture_fini(&f);
    fixture_init(&f, "headroom-prices");
    f.spec.maps = &map;
    f.spec.n_maps = 1;
    f.spec.gpus_per_node = 8;
    fixture_text(&f, "time_h,per node\n0,24\n1,12.4\n");
    fixture_expect_ok(&f);
    cr_assert_float_eq(f.prices.rows[0].usd_per_gpu_h, 3, 1e-12);
    cr_assert_float_eq(f.prices.rows[1].usd_per_gpu_h, 1.55, 1e-12);
    fixture_fini(&f);
}

/* --- logs -------------------------------------------------------------------------------- */

#define AT(s)               "[2020-03-01T00:00:" s ".000Z] "
#define MADE(s, name, kind) AT(s) "Created instance " name " with " kind " in zone z\n"

/* What is said again changes nothing; a name that comes back takes the lowest place; what was not
 * created counts in the span only. */
Test(supply, a_log_says_what_is_so_again_and_again)
{
    struct fixture f;
    read_text(&f, "instance-log",
              MADE("00", "a", "8 GPU(s) of type v100") MADE("01", "b", "8 GPU(s) of type v100")
                  AT("02") "Instance a running in zone z\n" AT("03") "Instance a not running in zone z\n"
                  AT("04") "Successfully deleted instance a\n" AT("05") "Instance b running in zone z\r\n"
                  AT("06") "Instance c creation failed\n" AT("07") "Instance c not running in zone z\n"
                  MADE("08", "c", "8 GPU(s) of type v100") MADE("09", "a", "8 GPU(s) of type v100")
                  AT("10") "Instance with 8 GPU(s) of type v100 creation failed");
    cr_assert_eq(f.report.rows_kept, 11);
    cr_assert_eq(f.supply.n, 5);
    cr_assert_eq(f.supply.nodes, 3);
    EXPECT_EVENT(f.supply, 0, 0, 0, +1);
    EXPECT_EVENT(f.supply, 1, S(1), 1, +1);
    EXPECT_EVENT(f.supply, 2, S(3), 0, -1);
    EXPECT_EVENT(f.supply, 3, S(8), 0, +1);
    EXPECT_EVENT(f.supply, 4, S(9), 2, +1);
    cr_assert_eq(f.supply.span_ns, S(10));
    cr_assert(fixture_noted(&f, "not created: 2"));
    fixture_fini(&f);
}

/* An instance is of the kind it was last created as. */
Test(supply, a_log_has_a_series_for_each_kind)
{
    struct fixture f;
    fixture_init(&f, "instance-log");
    f.spec.series = "1 k80";
    fixture_text(
        &f,
        MADE("00", "a", "8 GPU(s) of type v100") MADE("05", "b", "1 GPU(s) of type k80")
            AT("06") "Instance a running in zone z\n" AT("07") "Instance x creation failed\n" AT(
                "08") "Instance b not running in zone z\n" MADE("09", "a", "1 GPU(s) of type k80")
                AT("11") "Instance a running in zone z\n");
    fixture_expect_ok(&f);
    fixture_expect_balance(&f);
    cr_assert_eq(f.report.dropped[TRACE_DROP_SERIES], 3);
    cr_assert_eq(f.supply.n, 3);
    cr_assert_eq(f.supply.nodes, 1);
    EXPECT_EVENT(f.supply, 2, S(4), 0, +1);
    cr_assert_eq(f.supply.span_ns, S(6));
    fixture_fini(&f);
    fixture_init(&f, "instance-log");
    f.spec.series = "8 v10";
    fixture_text(&f, MADE("00", "a", "8 GPU(s) of type v100"));
    cr_assert(strstr(fixture_printed(&f), "no series '8 v10'"));
    fixture_fini(&f);
}

/* --- what is refused --------------------------------------------------------------------- */

struct refused {
    const char *format, *text;
    uint32_t line, column;
    const char *fragment, *nearest;
};

#define SKY "skypilot"
#define HBD "infinitehbd"
#define AWS "aws-spot-price"
#define LOG "instance-log"
#define AWS_ROW(zone, price)                                                                       \
    "{\"AvailabilityZone\":\"" zone                                                                \
    "\",\"Timestamp\":\"2020-01-01T00:00:00.000Z\","                                               \
    "\"SpotPrice\":\"" price "\",\"InstanceType\":\"p3\"}"

static const struct refused refused[] = {
    {SKY, "{\"metadata\":\n{\"gap_seconds\":300},\n\"data\":[1,\n 2,]}", 4, 4, "not JSON", NULL},
    {SKY, "{\"metadata\":{\"gap_seconds\":300},\n\"data\":[1,2", 2, 12, "ends too early", NULL},
    {SKY, "{\"metadata\":{\"gap_seconds\":300},\"data\":[1]}\n x", 2, 2, "not JSON", NULL},
    {SKY, "{\"data\":[1]}", 1, 1, "an object with 'gap_seconds'", NULL},
    {SKY, "{\"metadata\":\n {\"gap_second\":300},\"data\":[1]}", 2, 2, "'gap_seconds' is missing",
     "gap_second"},
    {SKY, "{\"metadata\":{\"gap_seconds\":0},\"data\":[1]}", 1, 38, "gap_seconds is 0", NULL},
    {SKY, "{\"metadata\":{\"gap_seconds\":-5},\"data\":[1]}", 1, 28, "'-5' is negative", NULL},
    {SKY, "{\"metadata\":{\"gap_seconds\":NaN},\"data\":[1]}", 1, 28, "is not a finite", NULL},
    {SKY, "{\"metadata\":{\"gap_seconds\":5},\"data\":{}}", 1, 38, "'data' is no list", NULL},
    {SKY, "{\"metadata\":{\"gap_seconds\":5},\"data\":[]}", 0, 0, "no event is left", NULL},
    {SKY, "{\"metadata\":{\"gap_seconds\":5},\n\"data\":[1,\n1.5]}", 3, 1, "not a whole", NULL},
    {SKY, "{\"metadata\":{\"gap_seconds\":5},\n\"data\":[1,\n null]}", 3, 2, "not a number", NULL},
    {SKY, "{\"metadata\":{\"gap_seconds\":5},\"data\":[70000]}", 1, 39, "out of range", NULL},
    {SKY, "[1]", 1, 1, "an object with 'gap_seconds'", NULL},
    {SKY, "null", 1, 1, "an object with", NULL},
    {SKY, "  \n ", 2, 2, "ends too early", NULL},
    {HBD, "{}", 1, 1, "a list of events", NULL},
    {HBD, "[]", 0, 0, "no event is left of 0 rows", NULL},
    {HBD, "[\n{\"node_id\":\"a\",\"event_time\":1}]", 2, 1, "'event_type' is missing",
     "event_time"},
    {HBD, "[\n{\"node_id\":\"a\",\"event_time\":1,\n \"event_type\":\"fault_stat\"}]", 3, 15,
     "event_type 'fault_stat' is none", "fault_start"},
    {HBD, "[\n{\"node_id\":[],\n\"event_time\":1,\"event_type\":\"fault_end\"}]", 2, 12,
     "neither a text nor a number", NULL},
    {HBD, "[{\"node_id\":\"a\",\"event_type\":\"fault_end\",\n \"event_time\":-1}]", 2, 15,
     "event_time '-1' is negative", NULL},
    {HBD, "[\n\n{\"node_id\":\"a\",\"event_time\":1,\"event_type\":\"fault_end\"}]", 3, 0,
     "comes up and was not down", NULL},
    {AWS, "{}", 1, 1, "no list 'SpotPriceHistory'", NULL},
    {AWS, "{\"SpotPriceHistory\":[" AWS_ROW("a", "1") ",\n" AWS_ROW("b", "1") "]}", 0, 0,
     "prices of 2 zones", NULL},
    {AWS, "{\"SpotPriceHistory\":[\n" AWS_ROW("a", "x") "]}", 2, 76, "SpotPrice 'x' is not a",
     NULL},
    {AWS, "{\"SpotPriceHistory\":[]}", 0, 0, "no price is left of 0 rows", NULL},
    {LOG, AT("00") "Created instance a with 8 GPUs of type v100 in zone z\n", 1, 27,
     "says nothing known", NULL},
    {LOG, MADE("00", "a", "8 GPU(s) of type b") AT("01") "Instance a running in zone z or not\n", 2,
     27, "says nothing known", NULL},
    {LOG, MADE("00", "a", "8 GPU(s) of type b") AT("01") "\n", 2, 27, "says nothing known", NULL},
    {LOG, MADE("00", "a", "8 GPU(s) of type b") "[2020-03-01T00:00:01.0", 2, 23, "truncated row",
     NULL},
    {LOG,
     MADE("00", "a", "8 GPU(s) of type b") "[2020-03-32T00:00:01Z] Instance a running in zone z", 2,
     2, "of the calendar", NULL},
    {LOG,
     MADE("00", "a", "8 GPU(s) of type b") "2020-03-01T00:00:01Z] Instance a running in zone z", 2,
     1, "time in brackets", NULL},
    {"bamboo-events", "0,add,a\n5,ad,b\n", 2, 3, "event 'ad' is none", "add"},
    {"bamboo-events", "0,add,a\n5,,b\n", 2, 3, "event is empty", NULL},
    {"bamboo-events", "0,add,a\n5,add,\n", 2, 7, "node is empty", NULL},
    {"bamboo-events", "0,add,a\n5,add\n", 2, 6, "truncated row: 2 of 3", NULL},
    {"bamboo-events", "0,add,a\n5,add,a\n", 2, 0, "was added already, in line 1", NULL},
    {"bamboo-events", "0,add,a\n5,remove,b\n", 2, 0, "removed and was not there", NULL},
    {"bamboo-events", "-1,add,a\n", 1, 1, "time '-1' is negative", NULL},
    {"bamboo-probes", "2021-12-11, 25:11:30, 55\n", 1, 1, "of the calendar", NULL},
    {"bamboo-probes", "2021-12-11, 11:11:30, many\n", 1, 22, "' many' is not a number", NULL},
    {"headroom-faults", "time_s,node,evnt\n0,a,down\n", 1, 1, "missing column 'event'", "evnt"},
    {"headroom-faults", "time_s,node,event\n0,a,dwn\n", 2, 5, "event 'dwn' is none", "down"},
    {"headroom-faults", "time,node,event\n0,a,down\n", 2, 1, "is not a time such as", NULL},
    {"headroom-faults", "time_s,node,event\n", 0, 0, "no event is left of 0 rows", NULL},
    {"headroom-prices", "t_s,usd_per_gpu_h\n0,-1\n", 2, 3, "price '-1' is negative", NULL},
    {"headroom-prices", "t_s,usd_per_gpu\n0,1\n", 1, 1, "missing column 'usd_per_gpu_h'",
     "usd_per_gpu"},
};

Test(supply, refused)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        const struct refused *want = &refused[i];
        struct fixture f;
        fixture_init(&f, want->format);
        if (strcmp(want->format, AWS) == 0)
            f.spec.gpus_per_node = 8;
        fixture_text(&f, want->text);
        char *printed = fixture_printed(&f);
        cr_assert_eq(f.err, HR_INPUT, "case %zu: %s", i, printed);
        const struct diag *d = &f.diags.items[0];
        cr_assert(strstr(d->text, want->fragment) != NULL, "case %zu: %s", i, printed);
        cr_assert(d->line == want->line && d->column == want->column, "case %zu: %s", i, printed);
        cr_assert((want->nearest == NULL) == (d->nearest == NULL), "case %zu: %s", i, printed);
        if (want->nearest != NULL)
            cr_assert_str_eq(d->nearest, want->nearest);
        free(printed);
        fixture_fini(&f);
    }
}

/* The spec, not the file, is wrong: said at its place. */
Test(supply, wrong_specs)
{
    static const struct {
        const char *format, *text, *series, *fragment, *nearest;
        uint32_t nodes, gpus_per_node;
    } cases[] = {
        {"bamboo-events", "0,add,a\n0,add,b\n", NULL, "1 nodes are stated", NULL, 1, 0},
        {AWS, "{}", NULL, "how many GPUs it has", NULL, 0, 0},
        {AWS, "{\"SpotPriceHistory\":[" AWS_ROW("us-west-2a", "1") "]}", "us-west-2b",
         "no series 'us-west-2b'", "us-west-2a", 0, 8},
        {"headroom-prices", "t_s,usd_per_gpu_h\n0,1\n", "a", "no series", NULL, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture f;
        fixture_init(&f, cases[i].format);
        f.spec.nodes = cases[i].nodes;
        f.spec.gpus_per_node = cases[i].gpus_per_node;
        f.spec.series = cases[i].series;
        f.spec.place = (struct diag_place){"scenario.yaml", 12, 3};
        cr_assert_eq(fixture_text(&f, cases[i].text), HR_INPUT, "case %zu", i);
        const struct diag *d = &f.diags.items[0];
        cr_assert(strstr(d->text, cases[i].fragment) != NULL, "case %zu: %s", i, d->text);
        cr_assert_eq(d->line, 12);
        if (cases[i].nearest != NULL)
            cr_assert_str_eq(d->nearest, cases[i].nearest);
        fixture_fini(&f);
    }
}

Test(supply, formats_of_other_kinds_are_refused)
{
    static const char *const formats[] = {"philly", "headroom-prices", SKY};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        struct fixture f;
        fixture_init(&f, formats[i]);
        fixture_write(&f, "x\n", 2);
        if (i < 2)
            f.err = trace_read_supply(&f.arena, &f.spec, &f.diags, &f.supply, &f.report);
        else
            f.err = trace_read_prices(&f.arena, &f.spec, &f.diags, &f.prices, &f.report);
        cr_assert_eq(f.err, HR_INPUT);
        cr_assert(strstr(f.diags.items[0].text, "holds") != NULL);
        fixture_read_jobs(&f);
        cr_assert_eq(f.err, HR_INPUT);
        fixture_fini(&f);
    }
}

/* Hundreds of errors end after TRACE_ERRORS_MAX, in CSV and in JSON. */
Test(supply, many_errors)
{
    static const char *const formats[] = {"bamboo-events", HBD};
    for (size_t k = 0; k < 2; k++) {
        char *text = NULL;
        size_t n = 0;
        FILE *out = open_memstream(&text, &n);
        if (k == 1)
            fputs("[0", out);
        for (int i = 0; i < 500; i++)
            fputs(k == 0 ? "0,remove,a\n" : ",\n{\"node_id\":1}", out);
        fputs(k == 1 ? "]" : "", out);
        fclose(out);
        struct fixture f;
        fixture_init(&f, formats[k]);
        cr_assert_eq(fixture_text(&f, text), HR_INPUT);
        cr_assert_eq(f.diags.n_errors, TRACE_ERRORS_MAX);
        free(text);
        fixture_fini(&f);
    }
}

/* Deep nesting and cut files end in an error, not in a crash: every prefix of a file is read. */
Test(supply, every_prefix_and_deep_nesting)
{
    static const char whole[] =
        "[{\"node_id\":\"\\u00e4\\\"\",\"event_time\":1e0,"
        "\"event_type\":\"fault_start\",\"fault_type\":{\"Class\":\"x\"}}]";
    for (size_t n = 1; n < sizeof whole; n++) {
        struct fixture f;
        fixture_init(&f, HBD);
        fixture_write(&f, whole, n);
        fixture_read(&f);
        cr_assert_eq(f.err, n + 1 == sizeof whole ? HR_OK : HR_INPUT, "%zu bytes", n);
        fixture_fini(&f);
    }
    struct fixture f;
    char deep[4096];
    memset(deep, '[', sizeof deep);
    fixture_init(&f, HBD);
    fixture_write(&f, deep, sizeof deep);
    cr_assert_eq(fixture_read(&f), HR_INPUT);
    cr_assert(strstr(f.diags.items[0].text, "nesting") != NULL);
    fixture_fini(&f);
}

/* --- the report -------------------------------------------------------------------------- */

Test(supply, printed_for_people_and_listed_for_programs)
{
    struct fixture f;
    struct trace_fact facts[TRACE_FACTS_MAX];
    read_text(&f, "headroom-faults", FAULTS);
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    trace_report_print(&f.report, 0, out);
    fclose(out);
    static const char *const fragments[] = {"nodes      3, 3 names; up 2 to 3",
                                            "faults     4, 1.6e+03 per 1,000 node-days",
                                            "causes     gpu 2, unknown 1, fan 1", "repair h"};
    for (size_t i = 0; i < sizeof fragments / sizeof *fragments; i++)
        cr_assert(strstr(text, fragments[i]) != NULL, "%s\n%s", fragments[i], text);
    cr_assert(strstr(text, "jobs/h") == NULL);
    free(text);
    size_t n_facts = trace_report_facts(&f.report, facts), found = 0;
    for (size_t i = 0; i < n_facts; i++) {
        cr_assert(strcmp(facts[i].name, "gpu_hours") != 0);
        if (strcmp(facts[i].name, "faults") == 0)
            found += facts[i].count == 4;
        if (strcmp(facts[i].name, "repair_max") == 0)
            found += fabs(facts[i].real - 4) < 1e-12;
    }
    cr_assert_eq(found, 2);
    fixture_fini(&f);
}
