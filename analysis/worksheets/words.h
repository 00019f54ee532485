/* A worksheet's texts with its numbers in them: `{busy_gpus}` as a symbol, a number or a number
 * with its unit. Numbers for people: six significant digits, whole numbers in full, thousands
 * separated.
 */
#ifndef HEADROOM_ANALYSIS_WORKSHEETS_WORDS_H
#define HEADROOM_ANALYSIS_WORKSHEETS_WORDS_H

#include "analysis/worksheets/sheet.h"

/* Where a text is said: in the step of one element of a list, or (n = 0) of none. */
struct words_step {
    size_t n; /* elements of the step's list */
    size_t element;
};

/* The step of any element: "p_i". */
#define WORDS_ANY SIZE_MAX

enum words_mode {
    WORDS_SYMBOLS,   /* B = {a} x {b}: "L x g" */
    WORDS_NUMBERS,   /* "420 x 4"; negative ones in brackets */
    WORDS_QUANTITIES /* "420 jobs"; `{key#}`: "420" */
};

void words_add(struct text *t, const struct sheet_case *c, const char *text, enum words_mode mode,
               struct words_step at);

void words_number(struct text *t, double x);

/* "1,680 GPUs", "$2.5/GPU-h", "1 job", "infinite", "none", "linear". */
void words_quantity(struct text *t, const struct sheet_value *v, const char *unit);

/* An input's values: "0.6, 0.3, 0.1", with the unit. */
void words_input(struct text *t, const struct sheet_case *c, uint8_t input);

/* "B", of an element "b_2". */
void words_symbol(struct text *t, const struct sheet_output *out, struct words_step at);

/* The output's sentence in this case, from the remarks or its own; NULL: none. */
const char *words_sense(const struct sheet_case *c, uint8_t output);

/* Whether every {key} of a text is one of the sheet's; else the first that is not, in bad. */
bool words_resolve(const struct sheet *s, const char *text, char bad[64]);

#endif
