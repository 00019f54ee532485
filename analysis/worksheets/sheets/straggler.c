/* Worksheet: a synchronous step waits for the slowest node. */
#include "analysis/worksheets/sheet.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_integration.h>
#include <gsl/gsl_randist.h>
#include <math.h>

enum { NODES, SLOW_FRAC, SLOW_BY, STEP_CV };
enum { ANY, IF_SLOW, EXPECTED, HALF, MAX_NORMAL, JITTER, COMBINED };

static const struct sheet_input inputs[] = {
    [NODES] = SHEET_INPUT("nodes", "n", "nodes", "nodes in the job", "256", .type = SHEET_COUNT,
                          .min = 1, .max = 1e7),
    [SLOW_FRAC] =
        SHEET_INPUT("slow_frac", "f", "fraction", "chance that a node is slow", "0.01", .max = 1),
    [SLOW_BY] = SHEET_INPUT("slow_by", "y", "fraction", "extra step time of a slow node", "0.25"),
    [STEP_CV] = SHEET_INPUT("step_cv", "v", "fraction",
                            "standard deviation of a node's step time over its mean", "0.02"),
};

static const struct sheet_output outputs[] = {
    [ANY] = SHEET_OUTPUT("p_any_slow", "p", "fraction", "1 - (1 - {slow_frac})^{nodes}",
                         "A job of this size has a slow node with probability {p_any_slow}."),
    [IF_SLOW] = SHEET_OUTPUT("throughput_if_slow", "q", "fraction", "1 / (1 + {slow_by})",
                             "One of them holds all back to {throughput_if_slow}."),
    [EXPECTED] = SHEET_OUTPUT("expected_throughput", "E", "fraction",
                              "1 - {p_any_slow} x {slow_by} / (1 + {slow_by})",
                              "On average the job runs at {expected_throughput} of plan."),
    [HALF] = SHEET_OUTPUT("nodes_for_half", "n_h", "nodes", "ln(1/2) / ln(1 - {slow_frac})",
                          "From {nodes_for_half} on a slow node is likelier than none."),
    [MAX_NORMAL] =
        SHEET_OUTPUT("max_normal", "z", "-", "integral of x {nodes} phi(x) Phi(x)^({nodes} - 1)",
                     "The slowest of {nodes} is {max_normal} standard deviations above "
                     "the mean."),
    [JITTER] =
        SHEET_OUTPUT("jitter_throughput", "J", "fraction", "1 / (1 + {step_cv} x {max_normal})",
                     "Ordinary jitter alone leaves {jitter_throughput}."),
    [COMBINED] = SHEET_OUTPUT("combined_throughput", "T", "fraction",
                              "{expected_throughput} x {jitter_throughput}",
                              "Both together leave {combined_throughput}: the plan was made with "
                              "the mean node."),
};

static double mean_node(const struct sheet_case *c)
{
    return 1 / (1 + sheet_in(c, SLOW_FRAC) * sheet_in(c, SLOW_BY));
}

static double by_count(const struct sheet_case *c)
{
    return sheet_in(c, NODES) * sheet_in(c, SLOW_FRAC);
}

static const struct sheet_mistake mistakes[] = {
    {EXPECTED, "plans with the mean node: a synchronous step waits for the slowest", mean_node},
    {ANY, "adds up the chances of the nodes", by_count},
};

/* Mean of the largest of n standard normals as the integral of 1 - Phi^n above 0 less that of Phi^n
 * below: no cancellation, and smooth. */
static double integrand(double x, void *n)
{
    const double count = *(double *)n;
    return -expm1(count * log1p(-gsl_cdf_ugaussian_Q(x))) -
           exp(count * log(gsl_cdf_ugaussian_Q(x)));
}

static double max_normal(double n)
{
    /* Gauss-Legendre on short pieces: the integrand is smooth and falls like Q(x) beyond 8. */
    enum { PIECES = 24, POINTS = 20 };
    gsl_integration_glfixed_table *t = gsl_integration_glfixed_table_alloc(POINTS);
    const gsl_function f = {integrand, &n};
    double sum = 0;
    if (!t)
        return NAN;
    for (int i = 0; i < PIECES; i++)
        sum += gsl_integration_glfixed(&f, i * 0.5, (i + 1) * 0.5, t);
    gsl_integration_glfixed_table_free(t);
    return sum;
}

static void solve(struct sheet_case *c)
{
    const double n = sheet_in(c, NODES), f = sheet_in(c, SLOW_FRAC), x = sheet_in(c, SLOW_BY);
    const double any = f == 1 ? 1 : -expm1(n * log1p(-f));
    const double expected = 1 - any * x / (1 + x), z = n == 1 ? 0 : max_normal(n);
    const double jitter = 1 / (1 + sheet_in(c, STEP_CV) * z);
    sheet_set(c, ANY, any);
    sheet_set(c, IF_SLOW, 1 / (1 + x));
    sheet_set(c, EXPECTED, expected);
    sheet_set(c, HALF, f == 0 ? INFINITY : f == 1 ? 0 : log(0.5) / log1p(-f));
    sheet_set(c, MAX_NORMAL, z);
    sheet_set(c, JITTER, jitter);
    sheet_set(c, COMBINED, expected * jitter);
}

static const char *const rules[] = {
    "Without slow nodes no size is large enough; when every node is slow the job always is.",
    "The combined figure takes the two effects as independent, an approximation; the first two are "
    "exact.",
    NULL,
};

extern const struct sheet sheet_straggler;
const struct sheet sheet_straggler = {
    .name = "straggler",
    .group = "Operating a large fleet",
    .question = "Why does a big job run 20% below plan when every node passed its test?",
    .doc =
        "A synchronous step waits for the slowest node. A small share of nodes is slow by a "
        "fixed amount; on top, every node's step time varies normally.",
    .assumption = "Every step waits for every node, and nodes are slow independently.",
    .rules = rules,
    .sources = "order statistics of the normal (L. H. C. Tippett, 1925)",
    .inputs = inputs,
    .outputs = outputs,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_mistakes = SHEET_N(mistakes),
    .answer = COMBINED,
    .solve = solve,
};
