/* A solved worksheet as a page that a person can follow with a pencil. */
#ifndef HEADROOM_ANALYSIS_WORKSHEETS_PRINT_H
#define HEADROOM_ANALYSIS_WORKSHEETS_PRINT_H

#include "analysis/worksheets/sheet.h"

#include <stdio.h>

struct sheet_page {
    FILE *out;
    bool colour;
};

/* Question, model, inputs, steps with their typical wrong turns, assumption, rules, sources; at
 * most 80 columns. */
void sheet_print(const struct sheet_page *p, const struct sheet_case *c);

/* The question and what it was answered for. */
void sheet_print_head(const struct sheet_page *p, const struct sheet_case *c);
void sheet_print_inputs(const struct sheet_page *p, const struct sheet_case *c);

/* One step: formula in symbols, in numbers, the value, the sentence. */
void sheet_print_step(const struct sheet_page *p, const struct sheet_case *c, uint8_t output,
                      bool wrong_turns);

/* A heading in bold, where there is colour. */
void sheet_print_title(const struct sheet_page *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* All worksheets in their groups, one line each; only those of hits (NULL: all). */
void sheet_print_list(const struct sheet_page *p, const struct sheet *const *hits, size_t n);

#endif
