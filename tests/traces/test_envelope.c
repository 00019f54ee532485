/* Envelopes: a factor or a rate over time, in the forms a user may write. */
#include "fixture.h"

struct wanted {
    uint64_t at_s;
    double value;
};

static void read_envelope(struct fixture *f, const char *text, int32_t zone_s,
                          struct trace_envelope *e)
{
    fixture_init(f, "custom");
    fixture_write(f, text, strlen(text));
    f->err =
        trace_read_envelope(&f->arena, f->path, zone_s, (struct diag_place){0}, NULL, &f->diags, e);
}

static void expect_points(const char *text, bool is_rate, size_t n, const struct wanted *want)
{
    struct fixture f;
    struct trace_envelope e = {0};
    read_envelope(&f, text, 0, &e);
    fixture_expect_ok(&f);
    cr_assert_eq(e.n_points, n);
    cr_assert_eq(e.is_rate, is_rate);
    for (size_t i = 0; i < n; i++) {
        cr_assert_eq(e.points[i].at_ns, S(want[i].at_s));
        cr_assert_eq(e.points[i].factor, want[i].value);
    }
    fixture_fini(&f);
}

Test(envelope, units_in_the_name)
{
    expect_points("time_s,factor\n0,1\n600,2.5\n600,0\n", false, 3,
                  (struct wanted[]){{0, 1}, {600, 2.5}, {600, 0}});
    expect_points("# rates\r\nt_min,rps\r\n0,10\r\n1.5,2e1", true, 2,
                  (struct wanted[]){{0, 10}, {90, 20}});
    expect_points("region,rate_per_s,time_h\nx,3,12\ny,4,24\n", true, 2,
                  (struct wanted[]){{43200, 3}, {86400, 4}});
}

Test(envelope, quantities_and_timestamps)
{
    expect_points("time,factor\n0s,1\n90s,2\n1.5h,3\n", false, 3,
                  (struct wanted[]){{0, 1}, {90, 2}, {5400, 3}});
    expect_points("time,factor\n2024-05-10 00:00:00,1\n2024-05-10 06:00:00,2\n", false, 2,
                  (struct wanted[]){{0, 1}, {21600, 2}});
}

/* Numbers count from the start of the run, timestamps from the first of them. */
Test(envelope, where_time_starts)
{
    struct fixture f;
    struct trace_envelope e;
    read_envelope(&f, "time_s,factor\n100,1\n", 0, &e);
    cr_assert_eq(e.points[0].at_ns, S(100));
    cr_assert(!e.calendar);
    fixture_fini(&f);
    read_envelope(&f, "time,factor\n2024-05-10 08:00:00,1\n", 8 * 3600, &e);
    cr_assert_eq(e.points[0].at_ns, 0);
    cr_assert(e.calendar);
    cr_assert_eq(e.first_ns, INT64_C(1715299200) * 1000000000);
    fixture_fini(&f);
}

Test(envelope, timestamps_and_quantities_do_not_mix)
{
    struct fixture f;
    struct trace_envelope e;
    read_envelope(&f, "time,factor\n2024-05-10 00:00:00,1\n90s,1\n", 0, &e);
    cr_assert_eq(f.err, HR_INPUT);
    cr_assert_eq(f.diags.items[0].line, 3);
    fixture_fini(&f);
}

/* A missing file is reported where its name was written. */
Test(envelope, missing_file_at_its_place)
{
    struct fixture f;
    struct trace_envelope e;
    fixture_init(&f, "custom");
    struct diag_place at = {.file = "s.yaml", .line = 7, .column = 9};
    cr_assert_eq(trace_read_envelope(&f.arena, "nowhere.csv", 0, at, "  envelope: nowhere.csv",
                                     &f.diags, &e),
                 HR_INPUT);
    char *text = fixture_printed(&f);
    cr_assert_str_eq(text,
                     "s.yaml:7:9: error: cannot read trace 'nowhere.csv': no such file\n"
                     "      envelope: nowhere.csv\n"
                     "            ^\n");
    free(text);
    fixture_fini(&f);
}
