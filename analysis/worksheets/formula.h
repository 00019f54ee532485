/* The formula of a step as arithmetic that can be done again: with other numbers in it, or with one
 * operation taken for another.
 *
 * Understood are numbers, {keys}, + - x / ^, brackets, and ceil, floor, round, max, min, sqrt, exp,
 * ln. A formula in words is not, and none of this is known of it then. */
#ifndef HEADROOM_ANALYSIS_WORKSHEETS_FORMULA_H
#define HEADROOM_ANALYSIS_WORKSHEETS_FORMULA_H

#include "analysis/worksheets/sheet.h"

/* A number to use for a result in place of the right one. */
struct formula_other {
    uint8_t output;
    size_t element;
    double value;
};

struct formula_use {
    const struct formula_other *others;
    size_t n_others;
    uint32_t turn; /* number + 1 of the operation to take for its opposite; 0: none */
};

/* The value of an output's formula (of one element, for outputs of a list). False: it is no plain
 * arithmetic, or it does not give the output's value in this case. With use NULL: as it stands. */
bool formula_value(const struct sheet_case *c, uint8_t output, size_t element,
                   const struct formula_use *use, double *value);

/* The same without the comparison with the output's value: for a test of the formulas. */
bool formula_read(const struct sheet_case *c, uint8_t output, size_t element,
                  const struct formula_use *use, double *value, const char **turned);

/* What is done wrong with the operation .turn, "divides in place of multiplying"; NULL when the
 * formula has no such operation. *value is what comes out. */
const char *formula_turned(const struct sheet_case *c, uint8_t output, size_t element,
                           uint32_t turn, double *value);

#endif
