/* Units of worksheets: products and quotients of named ones, "GPU/min", "$/GPU-h", "GB/s".
 *
 * `/` divides by what follows, up to the next `/`; `-` and blanks multiply. Things that are counted
 * (GPUs, jobs, tokens, requests) have no dimension. GB is 10^9 bytes, GiB 2^30; a month is 30
 * days. */
#ifndef HEADROOM_ANALYSIS_WORKSHEETS_UNIT_H
#define HEADROOM_ANALYSIS_WORKSHEETS_UNIT_H

#include "sim/err.h"

#include <stdbool.h>
#include <stddef.h>

/* A number with or without a unit, in the unit `to`. HR_INPUT: *why (static) says what is wrong.
 * inf and none-finite words are read where they stand: "inf" is infinity. NaN is refused. */
enum hr_err sheet_unit_read(const char *text, size_t n, const char *to, double *value,
                            const char **why);

/* Whether this reads as a unit. */
bool sheet_unit_known(const char *unit);

/* Whether a unit has the dimension of another in it: "GPU-h" and "jobs/s" that of "s". */
bool sheet_unit_involves(const char *unit, const char *base);

#endif
