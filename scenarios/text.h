/* A text a user wrote: a scenario file, the value of a --set, or a default from a field table.
 *
 * Reading refuses what no scenario needs and what would make the rest slow or ambiguous, each with
 * its line and column: more than 1 MiB, NUL and other control characters, bytes that are not
 * UTF-8, UTF-16, line separators other than CR and LF, YAML directives. A byte order mark is
 * dropped, CRLF is accepted. */
#ifndef HEADROOM_SCENARIOS_TEXT_H
#define HEADROOM_SCENARIOS_TEXT_H

#include "sim/arena.h"
#include "sim/diag.h"
#include "sim/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEXT_MAX_BYTES ((size_t)1 << 20)

struct text {
    const char *name;  /* path as the user wrote it, or "--set" */
    const char *bytes; /* without a byte order mark; a NUL follows */
    size_t n;
    const uint32_t *starts; /* offset of each line */
    uint32_t n_lines;
    bool has_lines; /* places name a line; false for a --set */
};

/* All in the arena. HR_INPUT: said in diags; HR_IO does not occur: a file that cannot be read is
 * the user's to mend. */
enum hr_err text_read_file(struct arena *a, const char *path, struct diags *diags,
                           struct text **out);

/* The same from memory; the bytes are copied. */
enum hr_err text_from_memory(struct arena *a, const char *name, bool has_lines, const char *bytes,
                             size_t n, struct diags *diags, struct text **out);

/* Adds a diagnostic at a place of the text, with its line. */
void text_say(const struct text *t, uint32_t line, uint32_t column, struct diags *diags,
              enum diag_level level, const char *nearest, const char *format, ...)
    __attribute__((format(printf, 7, 8)));

/* A copy of a line without its end, in malloc memory; NULL when there is none or it is over-long.
 */
char *text_line(const struct text *t, uint32_t line);

#endif
