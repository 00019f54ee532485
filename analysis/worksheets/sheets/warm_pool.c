/* Worksheet: warm instances that hide a cold start. */
#include "analysis/worksheets/sheet.h"
#include "models/closed/erlang.h"
#include "models/closed/poisson.h"

enum { RATE, COLD, TARGET, POOL, PRICE };
enum { STARTING, MISS_WAIT, MISS_OWN, POOL_WAIT, POOL_OWN, COST, IDLE };

static const struct sheet_input inputs[] = {
    [RATE] = SHEET_INPUT("arrivals_per_s", "lambda", "1/s", "request rate", "25"),
    [COLD] = SHEET_INPUT("cold_start_s", "T", "s", "mean time to make an instance ready", "4"),
    [TARGET] = SHEET_INPUT("target_miss", "q", "fraction",
                           "largest fraction of requests that find no warm instance", "0.001",
                           .max = 1, .above = true, .below = true),
    [POOL] = SHEET_INPUT("pool_size", "n", "instances", "a pool to evaluate", "120",
                         .type = SHEET_COUNT, .max = 1e9),
    [PRICE] = SHEET_INPUT("price_per_warm_h", "c", "$/h", "price of a warm instance", "0.02"),
};

static const struct sheet_output outputs[] = {
    [STARTING] =
        SHEET_OUTPUT("mean_starting", "m", "instances", "{arrivals_per_s} x {cold_start_s}",
                     "On average {mean_starting} are starting at a time (Little): a pool "
                     "of just so many is empty half of the time."),
    [MISS_WAIT] = SHEET_OUTPUT(
        "miss_backorder", "b", "fraction", "P(X >= {pool_size}), X Poisson of mean {mean_starting}",
        "Where a request waits for the next instance in line, {miss_backorder} of requests do."),
    [MISS_OWN] =
        SHEET_OUTPUT("miss_own_start", "o", "fraction", "B({pool_size}, {mean_starting})",
                     "Where it starts an instance of its own, {miss_own_start} do: fewer, for they "
                     "take nothing from those who come after."),
    [POOL_WAIT] =
        SHEET_OUTPUT("pool_for_target_backorder", "n_b", "instances",
                     "smallest n with P(X >= n) <= {target_miss}",
                     "The target takes {pool_for_target_backorder} where requests wait in line,",
                     .type = SHEET_COUNT),
    [POOL_OWN] = SHEET_OUTPUT("pool_for_target_own_start", "n_o", "instances",
                              "smallest n with B(n, {mean_starting}) <= {target_miss}",
                              "and {pool_for_target_own_start} where they start their own.",
                              .type = SHEET_COUNT),
    [COST] =
        SHEET_OUTPUT("warm_cost_h", "C", "$/h", "{pool_for_target_own_start} x {price_per_warm_h}",
                     "The smaller pool costs {warm_cost_h}."),
    [IDLE] = SHEET_OUTPUT("idle_warm_backorder", "I", "instances",
                          "sum over k < {pool_size} of ({pool_size} - k) P(X = k)",
                          "Of the pool to evaluate {idle_warm_backorder} are warm at a time; the "
                          "others are starting."),
};

static bool nothing_starts(const struct sheet_case *c)
{
    return sheet_out(c, STARTING) == 0;
}

static const struct sheet_remark remarks[] = {
    {STARTING, nothing_starts, "Nothing is ever starting."},
};

static double mean_for_peak(const struct sheet_case *c)
{
    return sheet_ceil(sheet_out(c, STARTING));
}

static double minutes(const struct sheet_case *c)
{
    return sheet_in(c, RATE) * sheet_in(c, COLD) / 60;
}

static double other_rule(const struct sheet_case *c)
{
    return sheet_out(c, MISS_OWN);
}

static const struct sheet_mistake mistakes[] = {
    {POOL_OWN, "takes the mean number starting for the pool", mean_for_peak},
    {STARTING, "takes the rate for one a minute", minutes},
    {MISS_WAIT, "takes Erlang's loss formula, though the requests wait in line", other_rule},
};

static void solve(struct sheet_case *c)
{
    const double m = sheet_in(c, RATE) * sheet_in(c, COLD), target = sheet_in(c, TARGET);
    const double n = sheet_in(c, POOL);
    const double own = erlang_b_servers(m, target);
    sheet_set(c, STARTING, m);
    sheet_set(c, MISS_WAIT, poisson_at_least(m, n));
    sheet_set(c, MISS_OWN, erlang_b((uint32_t)n, m));
    sheet_set(c, POOL_WAIT, poisson_level(m, target));
    sheet_set(c, POOL_OWN, own);
    sheet_set(c, COST, own * sheet_in(c, PRICE));
    sheet_set(c, IDLE, poisson_shortfall(m, n));
}

static void check(struct sheet_case *c)
{
    if (sheet_in(c, RATE) * sheet_in(c, COLD) > 1e6)
        sheet_refuse(c, RATE, "times cold_start_s is above a million instances that start");
}

static const char *const rules[] = {
    "Without arrivals, or with a cold start of 0, nothing is starting: one instance is enough.",
    "With a pool of 0 every request misses.",
    "At most a million instances may be starting on average.",
    NULL,
};

extern const struct sheet sheet_warm_pool;
const struct sheet sheet_warm_pool = {
    .name = "warm-pool",
    .group = "Sandboxed sessions and cold starts",
    .question = "How many warm instances hide a cold start?",
    .doc =
        "Each request takes a warm instance, and a replacement that needs the cold-start time "
        "is begun at once. A request that finds none warm waits for the next replacement in "
        "line (back-ordered), or starts an instance of its own outside the pool.",
    .assumption =
        "Requests come independently of each other (Poisson) and a start takes as long "
        "however many there are; how cold starts spread about their mean is without "
        "influence.",
    .rules = rules,
    .sources =
        "C. Palm (1938): the number in service of M/G/infinity is Poisson. A. K. Erlang "
        "(1917): loss. A. J. Clark and H. Scarf, Management Science 6 (1960): base stock",
    .inputs = inputs,
    .outputs = outputs,
    .remarks = remarks,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_remarks = SHEET_N(remarks),
    .n_mistakes = SHEET_N(mistakes),
    .answer = POOL_OWN,
    .check = check,
    .solve = solve,
};
