/* Lines of a small text file; lines.h says what is cleaned away. */
#include "traces/lines.h"

#include "sim/vec.h"
#include "traces/input.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* The text of a file, with room for a NUL. */
static enum hr_err slurp(struct input *in, const struct lines *l, struct arena *arena, char **text,
                         size_t *n)
{
    struct {
        char *items;
        size_t n, capacity;
    } all = {0};
    enum hr_err err = HR_OK;
    for (;;) {
        size_t more = in->n - in->start;
        if (all.n + more > LINES_MAX_BYTES) {
            diags_add(l->diags, DIAG_ERROR, (struct diag_place){.file = l->path}, NULL, NULL,
                      "more than %d MiB: this is no listing", LINES_MAX_BYTES >> 20);
            err = HR_INPUT;
            break;
        }
        if (!vec_reserve(&all, all.n + more + 1)) {
            err = HR_NOMEM;
            break;
        }
        memcpy(all.items + all.n, in->window + in->start, more);
        all.n += more;
        in->start = in->n;
        if (in->over || (err = input_fill(in, l->path, l->diags)) != HR_OK)
            break;
    }
    if (err == HR_OK && !(*text = arena_strndup(arena, all.items ? all.items : "", all.n)))
        err = HR_NOMEM;
    *n = all.n;
    vec_free(&all);
    return err;
}

/* The end of an escape sequence: ESC [ parameters, then a letter; or ESC and one character. */
static const char *skip_escape(const char *p)
{
    p++;
    if (*p == '[')
        for (p++; *p && (*p < 0x40 || *p > 0x7e);)
            p++;
    return *p ? p + 1 : p;
}

/* Cleans text in place and ends each line with a NUL; how many lines. */
static size_t clean(char *text)
{
    size_t n = 0;
    char *to = text;
    for (const char *p = text; *p; n++) {
        char *begin = to;
        while (*p && *p != '\n') {
            if (*p == '\033')
                p = skip_escape(p);
            else if (*p == '\r')
                p++;
            else
                *to++ = *p++;
        }
        while (to > begin && (to[-1] == ' ' || to[-1] == '\t'))
            to--;
        p += *p == '\n'; /* before the NUL takes its place */
        *to++ = '\0';
    }
    return n;
}

enum hr_err lines_read(struct lines *l, const char *path, struct arena *arena, struct diags *diags)
{
    struct input in;
    char *text = NULL;
    size_t n = 0;
    *l = (struct lines){.path = path, .diags = diags};
    enum hr_err err = input_open(&in, path, (struct diag_place){.file = path}, NULL, diags);
    if (err == HR_OK)
        err = slurp(&in, l, arena, &text, &n);
    input_close(&in);
    TRY(err);
    if (strlen(text) != n) {
        diags_add(diags, DIAG_ERROR, (struct diag_place){.file = path}, NULL, NULL,
                  "byte %zu is zero: this is no text", strlen(text) + 1);
        return HR_INPUT;
    }
    l->n = clean(text);
    l->items = arena_array(arena, l->n, sizeof *l->items);
    if (!l->items)
        return HR_NOMEM;
    for (size_t i = 0; i < l->n; i++, text += strlen(text) + 1)
        l->items[i] = text;
    return HR_OK;
}

void lines_error(const struct lines *l, size_t i, const char *at, const char *nearest,
                 const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    uint32_t column = at ? (uint32_t)(at - l->items[i]) + 1 : 0;
    diags_add(l->diags, DIAG_ERROR, (struct diag_place){l->path, (uint32_t)i + 1, column},
              l->items[i], nearest, "%s", text);
}

/* ---- words ---- */

bool lines_word(const char **at, struct word *word)
{
    *at += strspn(*at, " \t");
    *word = (struct word){*at, strcspn(*at, " \t")};
    *at += word->n;
    return word->n > 0;
}

bool word_is(const struct word *word, const char *text)
{
    return strlen(text) == word->n && memcmp(word->at, text, word->n) == 0;
}

const char *word_text(const struct word *word, struct arena *arena)
{
    return arena_strndup(arena, word->at, word->n);
}

bool word_numbered(const struct word *word, const char *prefix, uint32_t limit, uint32_t *number)
{
    size_t n = strlen(prefix);
    uint64_t value = 0;
    if (word->n <= n || word->n > n + 9 || memcmp(word->at, prefix, n) != 0)
        return false;
    for (size_t i = n; i < word->n; i++) {
        if (word->at[i] < '0' || word->at[i] > '9')
            return false;
        value = 10 * value + (uint64_t)(word->at[i] - '0');
    }
    *number = (uint32_t)value;
    return value < limit;
}
