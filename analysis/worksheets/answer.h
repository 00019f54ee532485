/* Marking a person's answers to a worksheet: right or wrong, where they first part from the sheet,
 * and the mistake that leads to exactly what they wrote. */
#ifndef HEADROOM_ANALYSIS_WORKSHEETS_ANSWER_H
#define HEADROOM_ANALYSIS_WORKSHEETS_ANSWER_H

#include "analysis/json.h"
#include "analysis/worksheets/print.h"
#include "analysis/worksheets/sheet.h"

enum { ANSWERS_MAX = 64, ANSWER_WHY = 192 };

struct sheet_answer {
    const char *key; /* as typed: "bill_2"; in the case's arena */
    uint8_t output;
    size_t element;
    struct sheet_value value;
    double half_digit; /* half a unit of the last digit written, in the unit of the output */
    bool right;
    char why[ANSWER_WHY]; /* of a wrong one: what gives this number; "": nothing known does */
};

struct sheet_answers {
    struct sheet_answer items[ANSWERS_MAX]; /* in the order of the sheet's steps */
    size_t n, n_wrong;
    double tolerance; /* relative; counts, flags and words must be equal */
};

/* Reads "key=value" texts against a solved case and marks them. HR_INPUT: said in diags. */
enum hr_err sheet_answers_mark(const struct sheet_case *c, struct arena *arena,
                               const char *const *texts, size_t n, double tolerance,
                               struct sheet_answers *out);

void sheet_answers_print(const struct sheet_page *p, const struct sheet_case *c,
                         const struct sheet_answers *a);

/* "answers", into an object that is open. */
void sheet_answers_json(struct json *j, const struct sheet_case *c, const struct sheet_answers *a);

/* The mistake that gives the number of a wrong answer, in answer->why: of the sheet's own, of its
 * formula, or of the general kind (slip.c). earlier are the person's answers to steps before. */
void sheet_answer_explain(const struct sheet_case *c, struct sheet_answer *answer,
                          const struct sheet_answer *earlier, size_t n);

#endif
