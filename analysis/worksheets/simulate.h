/* The simulation that confirms a worksheet: its scenario, run often enough, beside the closed form.
 *
 * Agreement: |mean - exact| <= 3.3 standard errors + the stated allowance, with a standard error of
 * at most 0.5 % of the exact value (or what the sheet's row says). While the error is larger, the
 * number of replications doubles, up to a limit; a mean that is still too coarse is called "too
 * short", neither right nor wrong. How often it runs depends on the error alone, never on the
 * mean. */
#ifndef HEADROOM_ANALYSIS_WORKSHEETS_SIMULATE_H
#define HEADROOM_ANALYSIS_WORKSHEETS_SIMULATE_H

#include "analysis/json.h"
#include "analysis/worksheets/sheet.h"

#include <stdatomic.h>
#include <stdio.h>

enum sheet_verdict {
    SHEET_AGREES,
    SHEET_DIFFERS,
    SHEET_TOO_SHORT,
    SHEET_NO_VALUE /* the closed form has no finite value to compare, or no run has one */
};

struct sheet_seen {
    const struct sheet_check *check;
    double exact, mean, error; /* standard error of the mean */
    uint32_t n;                /* replications with a value */
    double longer;             /* too short: by what factor the runs would have to grow */
    enum sheet_verdict verdict;
};

struct sheet_simulated {
    struct sheet_seen *seen; /* owned; one a check of the sheet */
    uint8_t n;
    uint32_t replications;
};

struct sheet_simulate_plan {
    uint32_t replications; /* 0: the sheet's; then doubled as said above */
    uint32_t most;         /* replications; 0: 32 times the first */
    uint32_t threads;      /* >= 1 */
    const char *version;
    void (*progress)(void *self, double done, uint32_t runs_done); /* may be NULL */
    void *self;
    const atomic_bool *stop; /* may be NULL */
};

/* The scenario of a solved case, ready to be edited and run. HR_INPUT, said in diags: the sheet is
 * arithmetic only, or these inputs have no scenario. text_free it in any case. */
enum hr_err sheet_scenario(const struct sheet_case *c, struct text *out, struct diags *diags);

/* sheet_simulated_fini it in any case. */
enum hr_err sheet_simulate(const struct sheet_case *c, const struct sheet_simulate_plan *plan,
                           struct sheet_simulated *out, struct diags *diags);
void sheet_simulated_fini(struct sheet_simulated *s); /* accepts a zeroed struct */

/* True: every quantity that has a value agrees. */
bool sheet_simulated_agrees(const struct sheet_simulated *s);

void sheet_simulated_json(struct json *j, const struct sheet_case *c,
                          const struct sheet_simulated *s);
void sheet_simulated_print(FILE *out, const struct sheet_case *c, const struct sheet_simulated *s);

#endif
