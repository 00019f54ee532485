/* The report on a terminal: the answer first, then one table with the designs side by side, then
 * why, then the paired intervals. At most 80 columns; colour only when asked for.
 *
 * Reads nothing but the summary, so `show` prints from a file what the run printed. */
#ifndef HEADROOM_ANALYSIS_REPORT_H
#define HEADROOM_ANALYSIS_REPORT_H

#include "analysis/verdict.h"

#include <stdio.h>

struct report_options {
    bool colour;
    bool all; /* every claimant, and the statement of every design */
};

/* HR_NOMEM; HR_IO when out has an error. */
enum hr_err report_print(FILE *out, const struct summary *s, const struct verdict *v,
                         const struct report_options *options);

#endif
