/* Reading a text, and finding its lines again for messages. */
#include "scenarios/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LONGEST_LINE = 1 << 16 }; /* shown in messages */

/* One pass over the bytes. */
struct scan {
    const unsigned char *p, *end, *line_start;
    uint32_t line, column, bad_line, bad_column;
    uint32_t *starts;
};

/* Length of the UTF-8 character at p, its code point in *cp; 0 when the bytes are none. */
static size_t decode(const unsigned char *p, const unsigned char *end, uint32_t *cp)
{
    if (p[0] < 0x80) {
        *cp = p[0];
        return 1;
    }
    size_t n = p[0] < 0xC2 ? 0 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : p[0] < 0xF5 ? 4 : 0;
    if (n == 0 || (size_t)(end - p) < n)
        return 0;
    static const unsigned char mask[] = {0, 0, 0x1F, 0x0F, 0x07};
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    uint32_t c = p[0] & mask[n];
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xC0) != 0x80)
            return 0;
        c = c << 6 | (p[i] & 0x3F);
    }
    *cp = c;
    return c < least[n] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF) ? 0 : n;
}

/* Why a character may not stand in a text, or NULL. */
static const char *refused(uint32_t cp)
{
    if (cp == 0)
        return "a NUL byte";
    if (cp < 0x20 || (cp >= 0x7F && cp < 0xA0))
        return "a control character";
    if (cp == 0x2028 || cp == 0x2029)
        return "a Unicode line separator";
    if (cp == 0xFEFF)
        return "a byte order mark inside the text";
    return NULL;
}

static bool take_newline(struct scan *s)
{
    if (*s->p != '\n' && *s->p != '\r')
        return false;
    s->p += s->p[0] == '\r' && s->p + 1 < s->end && s->p[1] == '\n' ? 2 : 1;
    s->line++;
    s->column = 1;
    s->line_start = s->p;
    return true;
}

/* Lines of the text; with starts set it also writes where each begins. Returns what is wrong first,
 * at (bad_line, bad_column), or NULL. */
static const char *scan_text(struct scan *s)
{
    const char *first = NULL;
    const unsigned char *begin = s->p;
    s->line = s->column = 1;
    s->line_start = s->p;
    if (s->starts)
        s->starts[0] = 0;
    while (s->p < s->end) {
        if (*s->p >= 0x20 && *s->p < 0x7F && *s->p != '%') { /* nearly always */
            s->p++;
            s->column++;
            continue;
        }
        if (take_newline(s)) {
            if (s->starts)
                s->starts[s->line - 1] = (uint32_t)(s->p - begin);
            continue;
        }
        uint32_t cp;
        size_t n = decode(s->p, s->end, &cp);
        const char *why = n == 0 ? "a byte that is not UTF-8" : cp == '\t' ? NULL : refused(cp);
        if (!why && cp == '%' && s->column == 1)
            why = "a YAML directive (a line that begins with %)";
        if (why && !first) {
            first = why;
            s->bad_line = s->line;
            s->bad_column = s->column;
        }
        s->p += n ? n : 1;
        s->column++;
    }
    return first;
}

static enum hr_err index_lines(struct arena *a, struct text *t, struct diags *diags)
{
    const unsigned char *bytes = (const unsigned char *)t->bytes;
    struct scan s = {.p = bytes, .end = bytes + t->n};
    const char *why = scan_text(&s);
    uint32_t n_lines = s.line;
    uint32_t *starts = arena_array(a, n_lines, sizeof *starts);
    if (!starts)
        return HR_NOMEM;
    uint32_t line = s.bad_line, column = s.bad_column;
    s = (struct scan){.p = bytes, .end = bytes + t->n, .starts = starts};
    scan_text(&s);
    t->starts = starts;
    t->n_lines = n_lines;
    if (!why)
        return HR_OK;
    text_say(t, line, column, diags, DIAG_ERROR, NULL, "%s is not allowed here", why);
    return HR_INPUT;
}

enum hr_err text_from_memory(struct arena *a, const char *name, bool has_lines, const char *bytes,
                             size_t n, struct diags *diags, struct text **out)
{
    struct text *t = arena_alloc(a, sizeof *t);
    if (!t)
        return HR_NOMEM;
    t->name = arena_strdup(a, name);
    t->has_lines = has_lines;
    if (n >= 2 && (memcmp(bytes, "\xFF\xFE", 2) == 0 || memcmp(bytes, "\xFE\xFF", 2) == 0)) {
        diags_add(diags, DIAG_ERROR, (struct diag_place){name, 1, 1}, NULL, NULL,
                  "the file is UTF-16: save it as UTF-8");
        return HR_INPUT;
    }
    size_t mark = n >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    t->bytes = arena_strndup(a, bytes + mark, n - mark);
    t->n = n - mark;
    if (!t->name || !t->bytes)
        return HR_NOMEM;
    TRY(index_lines(a, t, diags));
    *out = t;
    return HR_OK;
}

static enum hr_err say_file(struct diags *diags, const char *path, const char *what)
{
    diags_add(diags, DIAG_ERROR, (struct diag_place){path, 0, 0}, NULL, NULL, "%s", what);
    return HR_INPUT;
}

/* Reads at most one byte more than allowed, so an endless device ends too. */
static enum hr_err read_stream(FILE *in, const char *path, char *buffer, size_t *n,
                               struct diags *diags)
{
    struct stat info;
    if (fstat(fileno(in), &info) == 0 && S_ISDIR(info.st_mode))
        return say_file(diags, path, "is a directory, not a scenario file");
    *n = fread(buffer, 1, TEXT_MAX_BYTES + 1, in);
    if (ferror(in))
        return say_file(diags, path, "cannot be read");
    if (*n > TEXT_MAX_BYTES)
        return say_file(diags, path, "is larger than 1 MiB: not a scenario");
    return HR_OK;
}

enum hr_err text_read_file(struct arena *a, const char *path, struct diags *diags,
                           struct text **out)
{
    FILE *in = fopen(path, "rb");
    if (!in) {
        diags_add(diags, DIAG_ERROR, (struct diag_place){path, 0, 0}, NULL, NULL,
                  "cannot be opened: %s", strerror(errno));
        return HR_INPUT;
    }
    char *buffer = malloc(TEXT_MAX_BYTES + 1);
    size_t n = 0;
    enum hr_err err = buffer ? read_stream(in, path, buffer, &n, diags) : HR_NOMEM;
    fclose(in);
    if (err == HR_OK)
        err = text_from_memory(a, path, true, buffer, n, diags, out);
    free(buffer);
    return err;
}

char *text_line(const struct text *t, uint32_t line)
{
    if (line == 0 || line > t->n_lines)
        return NULL;
    size_t from = t->starts[line - 1], to = line < t->n_lines ? t->starts[line] : t->n;
    while (to > from && (t->bytes[to - 1] == '\n' || t->bytes[to - 1] == '\r'))
        to--;
    return to - from > LONGEST_LINE ? NULL : strndup(t->bytes + from, to - from);
}

void text_say(const struct text *t, uint32_t line, uint32_t column, struct diags *diags,
              enum diag_level level, const char *nearest, const char *format, ...)
{
    char message[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    char *source = text_line(t, line);
    struct diag_place at = {t->name, t->has_lines ? line : 0, column};
    diags_add(diags, level, at, source, nearest, "%s", message);
    free(source);
}
