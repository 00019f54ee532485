/* Lines of a small text file: a listing that a tool has printed, or a configuration.
 *
 * Read whole. Terminal escape sequences (colours, as listings pasted from a terminal have them),
 * carriage returns and trailing blanks are gone; numbers and columns are those of what is left. */
#ifndef HEADROOM_TRACES_LINES_H
#define HEADROOM_TRACES_LINES_H

#include "sim/arena.h"
#include "sim/diag.h"
#include "sim/err.h"

enum { LINES_MAX_BYTES = 16 << 20 };

struct lines {
    const char *path; /* borrowed */
    struct diags *diags;
    const char **items; /* the arena's; each ends with a NUL */
    size_t n;
};

/* HR_INPUT with a diagnostic: missing, a directory, not text, empty, larger than LINES_MAX_BYTES.
 */
enum hr_err lines_read(struct lines *l, const char *path, struct arena *arena, struct diags *diags);

/* Says what is wrong with line i (from 0), at a place within its text or, with at NULL, in all of
 * it. */
void lines_error(const struct lines *l, size_t i, const char *at, const char *nearest,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));

/* The next word of a line: blanks are skipped, then it ends at one. False: there is none. */
struct word {
    const char *at;
    size_t n;
};
bool lines_word(const char **at, struct word *word);
bool word_is(const struct word *word, const char *text);
const char *word_text(const struct word *word, struct arena *arena); /* a copy, or NULL */

/* A whole number below limit behind a prefix ("GPU12"): true when the word is just that. */
bool word_numbered(const struct word *word, const char *prefix, uint32_t limit, uint32_t *number);

#endif
