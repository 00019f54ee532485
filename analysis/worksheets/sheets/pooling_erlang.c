/* Worksheet: what pooling k random streams saves. */
#include "analysis/worksheets/sheet.h"
#include "models/closed/erlang.h"

#include <math.h>

enum { TEAMS, ERLANGS, BLOCKING, P_WAIT };
enum {
    BLOCK_EACH,
    BLOCK_SEPARATE,
    BLOCK_POOLED,
    BLOCK_SAVED,
    WAIT_EACH,
    WAIT_SEPARATE,
    WAIT_POOLED,
    WAIT_SAVED,
    UTIL_SEPARATE,
    UTIL_POOLED,
    RATIO,
    SQRT_K
};

static const struct sheet_input inputs[] = {
    [TEAMS] = SHEET_INPUT("teams", "k", "teams", "number of teams", "10", .type = SHEET_COUNT,
                          .min = 1, .max = 1e6),
    [ERLANGS] = SHEET_INPUT("erlangs_per_team", "a", "erlangs", "offered load of one team", "20",
                            .above = true, .max = 1e6),
    [BLOCKING] = SHEET_INPUT("target_blocking", "q_B", "fraction", "loss target (no queue)", "0.01",
                             .above = true, .max = 1, .below = true),
    [P_WAIT] = SHEET_INPUT("target_p_wait", "q_C", "fraction",
                           "probability-of-waiting target (with a queue)", "0.05", .above = true,
                           .max = 1, .below = true),
};

static const struct sheet_output outputs[] = {
    [BLOCK_EACH] =
        SHEET_OUTPUT("block_each", "b", "servers",
                     "smallest c with B(c, {erlangs_per_team}) <= {target_blocking}",
                     "Without a queue a team alone needs {block_each}.", .type = SHEET_COUNT),
    [BLOCK_SEPARATE] = SHEET_OUTPUT("block_separate", "b_s", "servers", "{teams} x {block_each}",
                                    "Apart they need {block_separate},", .type = SHEET_COUNT),
    [BLOCK_POOLED] = SHEET_OUTPUT("block_pooled", "b_p", "servers",
                                  "smallest c with B(c, {teams} x {erlangs_per_team}) <= "
                                  "{target_blocking}",
                                  "together {block_pooled}.", .type = SHEET_COUNT),
    [BLOCK_SAVED] =
        SHEET_OUTPUT("block_saved", "b_d", "servers", "{block_separate} - {block_pooled}",
                     "Pooling saves {block_saved}.", .type = SHEET_COUNT),
    [WAIT_EACH] = SHEET_OUTPUT("wait_each", "w", "servers",
                               "smallest c with C(c, {erlangs_per_team}) <= {target_p_wait}",
                               "With a queue a team alone needs {wait_each}.", .type = SHEET_COUNT),
    [WAIT_SEPARATE] = SHEET_OUTPUT("wait_separate", "w_s", "servers", "{teams} x {wait_each}",
                                   "Apart they need {wait_separate},", .type = SHEET_COUNT),
    [WAIT_POOLED] = SHEET_OUTPUT("wait_pooled", "w_p", "servers",
                                 "smallest c with C(c, {teams} x {erlangs_per_team}) <= "
                                 "{target_p_wait}",
                                 "together {wait_pooled}.", .type = SHEET_COUNT),
    [WAIT_SAVED] = SHEET_OUTPUT("wait_saved", "w_d", "servers", "{wait_separate} - {wait_pooled}",
                                "Pooling saves {wait_saved}.", .type = SHEET_COUNT),
    [UTIL_SEPARATE] = SHEET_OUTPUT("util_separate", "u_s", "fraction",
                                   "{teams} x {erlangs_per_team} / {wait_separate}",
                                   "Apart they are busy {util_separate} of the time,"),
    [UTIL_POOLED] =
        SHEET_OUTPUT("util_pooled", "u_p", "fraction",
                     "{teams} x {erlangs_per_team} / {wait_pooled}", "together {util_pooled}."),
    [RATIO] =
        SHEET_OUTPUT("buffer_ratio", "r", "-", "({wait_separate} - k a) / ({wait_pooled} - k a)",
                     "The spare servers apart are {buffer_ratio} times the common ones;"),
    [SQRT_K] = SHEET_OUTPUT("sqrt_k", "sqrt k", "-", "sqrt({teams})",
                            "the square-root law says {sqrt_k}."),
};

static double no_pooling(const struct sheet_case *c)
{
    return sheet_out(c, BLOCK_SEPARATE);
}

static double mean_load(const struct sheet_case *c)
{
    return sheet_ceil(sheet_in(c, TEAMS) * sheet_in(c, ERLANGS));
}

static const struct sheet_mistake mistakes[] = {
    {BLOCK_POOLED, "adds up the teams' own sizes", no_pooling},
    {WAIT_POOLED, "sizes the pool for the mean load", mean_load},
};

static void check(struct sheet_case *c)
{
    if (sheet_in(c, TEAMS) * sheet_in(c, ERLANGS) > 1e6)
        sheet_refuse(c, ERLANGS, "all teams together offer more than a million erlangs");
}

static void solve(struct sheet_case *c)
{
    const double k = sheet_in(c, TEAMS), a = sheet_in(c, ERLANGS), all = k * a;
    const struct erlang_load pooled = erlang_product(k, a);
    const double block = erlang_b_servers(a, sheet_in(c, BLOCKING));
    const double block_all = erlang_b_least(pooled, sheet_in(c, BLOCKING));
    const double wait = erlang_c_servers(a, 1, 0, sheet_in(c, P_WAIT));
    const double wait_all = erlang_c_least(pooled, 1, 0, sheet_in(c, P_WAIT));
    sheet_set(c, BLOCK_EACH, block);
    sheet_set(c, BLOCK_SEPARATE, k * block);
    sheet_set(c, BLOCK_POOLED, block_all);
    sheet_set(c, BLOCK_SAVED, k * block - block_all);
    sheet_set(c, WAIT_EACH, wait);
    sheet_set(c, WAIT_SEPARATE, k * wait);
    sheet_set(c, WAIT_POOLED, wait_all);
    sheet_set(c, WAIT_SAVED, k * wait - wait_all);
    sheet_set(c, UTIL_SEPARATE, a / wait);
    sheet_set(c, UTIL_POOLED, all / wait_all);
    sheet_set(c, RATIO,
              k == 1 ? 1 : k * (wait - a) / (double)erlang_spare((uint32_t)wait_all, pooled));
    sheet_set(c, SQRT_K, sqrt(k));
}

static const char *const rules[] = {
    "A single team saves nothing.",
    "The ratio approaches the square root of k as the load grows; whole servers move it for small "
    "loads.",
    NULL,
};

extern const struct sheet sheet_pooling_erlang;
const struct sheet sheet_pooling_erlang = {
    .name = "pooling-erlang",
    .group = "Queueing and pooling",
    .question = "How many servers does pooling k random streams save?",
    .doc =
        "k teams, each a Poisson stream: private groups against one shared group, at the same "
        "loss target and at the same wait target.",
    .assumption = "The streams are independent: teams that are busy at the same hour share less.",
    .rules = rules,
    .sources = "A. K. Erlang (1917); S. Halfin and W. Whitt, Operations Research 29 (1981)",
    .inputs = inputs,
    .outputs = outputs,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_mistakes = SHEET_N(mistakes),
    .answer = WAIT_SAVED,
    .check = check,
    .solve = solve,
};
