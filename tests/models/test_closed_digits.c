/* Closed forms to twelve digits, where plain arithmetic would lose them: many servers, loads next
 * to 1, saves that are short or long beside the time between failures. tests/data/closed_forms.py
 * sums the same with 50 digits. */
#include "models/closed/bounded_queue.h"
#include "models/closed/checkpoint.h"
#include "models/closed/finite_source.h"
#include "models/closed/renewal.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS = 8 };

typedef void form_fn(const double *in, double *out);

static void bounded(const double *in, double *out)
{
    const struct bounded_queue q = bounded_queue_places((uint32_t)in[0], in[1], (uint32_t)in[2]);
    memcpy(out, (double[]){q.lost, q.wait_frac, q.queue_mean}, 3 * sizeof *out);
}

static void impatient(const double *in, double *out)
{
    struct bounded_queue q;
    cr_assert(bounded_queue_patience((uint32_t)in[0], in[1], in[2], in[3], &q));
    memcpy(out, (double[]){q.lost, q.wait_frac, q.queue_mean}, 3 * sizeof *out);
}

static void finite(const double *in, double *out)
{
    const struct finite_source s = {(uint32_t)in[0], (uint32_t)in[1], in[2], in[3]};
    const struct finite_queue q = finite_source_queue(&s);
    const struct finite_loss l = finite_source_loss(&s);
    memcpy(out,
           (double[]){q.all_busy_frac, q.wait_frac, q.waiting_mean, l.time_congestion,
                      l.call_congestion},
           5 * sizeof *out);
}

static void interval(const double *in, double *out)
{
    *out = checkpoint_exact_s(in[0], in[1]);
}

static void segment(const double *in, double *out)
{
    const struct renewal r = {in[0], in[1], in[2], in[3]};
    *out = renewal_segment_s(&r, in[4]);
}

static const struct form {
    const char *name;
    form_fn *value;
    int n; /* lines of the file */
} forms[] = {
    {"bounded", bounded, 10},   {"impatient", impatient, 5}, {"finite", finite, 4},
    {"interval", interval, 45}, {"segment", segment, 5},
};
enum { FORMS = sizeof forms / sizeof forms[0] };

/* The numbers from *at on, up to the end or an "=", which is stepped over. */
static size_t read_numbers(char **at, long double *out)
{
    size_t n = 0;
    for (char *end; **at && **at != '=' && n < NUMBERS; n++) {
        out[n] = strtold(*at, &end);
        cr_assert(end > *at, "%s", *at);
        *at = end + (*end == ',' || *end == '\n');
    }
    *at += **at == '=' ? 2 : 0;
    return n;
}

static size_t check_line(char *line)
{
    long double want[NUMBERS], given[NUMBERS];
    double in[NUMBERS], got[NUMBERS];
    char *at = strchr(line, ',');
    cr_assert_not_null(at);
    *at++ = '\0';
    size_t f = 0;
    while (f < FORMS && strcmp(forms[f].name, line) != 0)
        f++;
    cr_assert_lt(f, (size_t)FORMS, "no form %s", line);
    const size_t n_in = read_numbers(&at, given), n = read_numbers(&at, want);
    cr_assert(n_in > 0 && n > 0);
    for (size_t i = 0; i < n_in; i++)
        in[i] = (double)given[i];
    forms[f].value(in, got);
    for (size_t i = 0; i < n; i++)
        cr_expect_leq(fabsl(got[i] - want[i]), 1e-12L * fabsl(want[i]),
                      "%s of %g, %g: result %zu is %.17g, not %.17Lg", line, in[0], in[1], i + 1,
                      got[i], want[i]);
    return f;
}

Test(closed_digits, twelve_digits)
{
    int seen[FORMS] = {0};
    char line[512];
    FILE *in = fopen(TEST_SOURCE_ROOT "/tests/data/closed_forms.csv", "r");
    cr_assert_not_null(in);
    while (fgets(line, sizeof line, in))
        seen[check_line(line)]++;
    fclose(in);
    for (size_t f = 0; f < FORMS; f++)
        cr_expect_eq(seen[f], forms[f].n, "%s: %d lines", forms[f].name, seen[f]);
}
