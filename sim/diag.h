/* Diagnostics: what a user must be told about something they wrote.
 *
 * A reader collects all of them in one pass into a struct diags and returns HR_INPUT when there is
 * an error among them. Printed form, one block each:
 *
 *     scenarios/x.yaml:12:9: error: unknown key 'flor'
 *         flor: 64
 *         ^
 *       nearest: 'floor'
 *
 * Lines and columns count from 1 (columns in UTF-8 characters); 0 means "none". */
#ifndef HEADROOM_SIM_DIAG_H
#define HEADROOM_SIM_DIAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum diag_level { DIAG_NOTE, DIAG_WARNING, DIAG_ERROR };

struct diag_place {
    const char *file; /* path as the user wrote it, "--set", or NULL */
    uint32_t line, column;
};

struct diag {
    enum diag_level level;
    char *file; /* owned, or NULL */
    uint32_t line, column;
    char *text;     /* owned; one sentence without a final stop */
    char *source;   /* owned source line without its newline, cut around the column, or NULL */
    uint32_t caret; /* column within source; 0: none */
    char *nearest;  /* owned nearest right word, or NULL */
};

struct diags {
    struct diag *items; /* owned */
    size_t n, capacity;
    size_t n_errors, n_warnings; /* counted even past the limit of kept items (100) */
};

void diags_init(struct diags *d);
void diags_fini(struct diags *d); /* accepts a zeroed struct */

/* Adds one; source and nearest may be NULL. Over-long source lines are cut around the column. A
 * warning or note that stands there already, with the same words at the same place, counts once.
 * Never fails: without memory the text is lost but the count is right. */
void diags_add(struct diags *d, enum diag_level level, struct diag_place at, const char *source,
               const char *nearest, const char *format, ...) __attribute__((format(printf, 6, 7)));

/* Puts the kept items from number first on in the order of their places; equal places stay in the
 * order they were added. */
void diags_sort(struct diags *d, size_t first);

/* Prints all in the order they were added; colour only when asked for. Control characters in user
 * text are shown as \xNN, so a hostile file cannot drive the terminal. */
void diags_print(const struct diags *d, FILE *out, bool colour);

/* The one of n names nearest to word by edit distance with transpositions, ignoring case; NULL
 * when none is within a third of the word's length (at least 1). Ties: the first name. */
const char *diag_nearest(const char *word, const char *const *names, size_t n);

#endif
