/* A worksheet's result against one of its inputs: a table, a plot of text, and the knee of the
 * curve.
 */
#ifndef HEADROOM_ANALYSIS_WORKSHEETS_VARY_H
#define HEADROOM_ANALYSIS_WORKSHEETS_VARY_H

#include "analysis/json.h"
#include "analysis/worksheets/print.h"
#include "analysis/worksheets/sheet.h"

enum { VARY_POINTS_MAX = 1000, VARY_POINTS = 11 };

struct vary_point {
    double x;
    const char *word; /* of an input of words */
    struct sheet_value y;
};

struct vary {
    uint8_t input, output;
    const char *of;           /* key of the result, with its element */
    struct vary_point *items; /* in the arena; x rises */
    size_t n;
    /* The point farthest from the chord between the first and the last one, both axes scaled to
     * 0..1; n: there is none, and why_not says why. Infinite values are left out. */
    size_t knee;
    const char *why_not;
};

/* Reads "key=lo..hi:n" (n values, ends included), "key=lo..hi/step" or "key=a,b,c", solves the
 * sheet for each and leaves the case as it was. of: a result's key, or NULL for the answer.
 * HR_INPUT: said in diags. */
enum hr_err sheet_vary(struct sheet_case *c, const char *text, const char *of, struct vary *out);

/* The index of the knee among n points; n when there is none, with the reason. */
size_t vary_knee(const struct vary_point *points, size_t n, const char **why_not);

void sheet_vary_print(const struct sheet_page *p, const struct sheet_case *c, const struct vary *v);

/* "variation", into an object that is open. */
void sheet_vary_json(struct json *j, const struct sheet_case *c, const struct vary *v);

/* The curve as lines of text with numbers at the axes. */
void vary_plot(FILE *out, const struct vary *v, const char *x_label, const char *y_label);

#endif
