/* Diagnostics: the list, its printed form, and the nearest name.
 *
 * What is kept is bounded whatever the input: 100 items, texts of 1 KiB, 96 characters of a source
 * line around the column. Text from a user's file reaches the terminal only through put_shown. */
#include "sim/diag.h"

#include "sim/vec.h"

#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEPT_ITEMS = 100,
    TEXT_BYTES = 1024,
    SOURCE_CHARS = 96,  /* longest source line shown */
    SOURCE_BEFORE = 60, /* of it before the column when the line is longer */
    WORD_BYTES = 64     /* longest word compared for nearness */
};

void diags_init(struct diags *d)
{
    *d = (struct diags){0};
}

void diags_fini(struct diags *d)
{
    for (size_t i = 0; i < d->n; i++) {
        free(d->items[i].file);
        free(d->items[i].text);
        free(d->items[i].source);
        free(d->items[i].nearest);
    }
    vec_free(d);
    *d = (struct diags){0};
}

static char *copy_text(const char *text)
{
    return text ? strdup(text) : NULL;
}

/* Bytes of the UTF-8 character at p (NUL-terminated), its code point in *cp. A byte that begins no
 * valid character counts as one and gives *cp = UINT32_MAX. */
static size_t utf8_next(const char *text, uint32_t *cp)
{
    const unsigned char *p = (const unsigned char *)text;
    static const unsigned char lead[] = {0, 0, 0xC0, 0xE0, 0xF0}, mask[] = {0, 0, 0x1F, 0x0F, 0x07};
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (p[0] < 0x80) {
        *cp = p[0];
        return 1;
    }
    *cp = UINT32_MAX;
    size_t n = p[0] < 0xC0 ? 0 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : p[0] < 0xF8 ? 4 : 0;
    if (n == 0)
        return 1;
    uint32_t c = (uint32_t)(p[0] ^ lead[n]) & mask[n];
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xC0) != 0x80)
            return 1;
        c = c << 6 | (p[i] & 0x3F);
    }
    if (c < least[n] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF))
        return 1;
    *cp = c;
    return n;
}

static size_t skip_chars(const char *text, size_t at, size_t n)
{
    uint32_t cp;
    while (n-- > 0 && text[at])
        at += utf8_next(text + at, &cp);
    return at;
}

/* A copy of the line, cut around the column; *caret is the column within the copy. Reads no further
 * than it must: a hostile line may be a megabyte long. */
static char *cut_source(const char *source, uint32_t column, uint32_t *caret)
{
    *caret = column;
    if (!source)
        return NULL;
    size_t stop = skip_chars(source, 0, SOURCE_CHARS);
    if (source[stop] == '\0')
        return strdup(source);
    size_t skip = column > SOURCE_BEFORE ? column - SOURCE_BEFORE : 0;
    size_t from = skip_chars(source, 0, skip);
    size_t to = skip_chars(source, from, SOURCE_CHARS - 6);
    const char *before = skip ? "..." : "", *after = source[to] ? "..." : "";
    size_t size = to - from + 7;
    char *cut = malloc(size);
    if (cut)
        snprintf(cut, size, "%s%.*s%s", before, (int)(to - from), source + from, after);
    if (skip)
        *caret = column - (uint32_t)skip + 3;
    return cut;
}

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* The same fact may be met once for each design and each column of a comparison. */
static bool is_said(const struct diags *d, struct diag_place at, const char *text)
{
    for (size_t i = 0; i < d->n; i++) {
        const struct diag *item = &d->items[i];
        if (item->line == at.line && item->column == at.column && is_same_text(item->text, text) &&
            is_same_text(item->file, at.file))
            return true;
    }
    return false;
}

void diags_add(struct diags *d, enum diag_level level, struct diag_place at, const char *source,
               const char *nearest, const char *format, ...)
{
    d->n_errors += level == DIAG_ERROR;
    if (level == DIAG_ERROR && d->n >= KEPT_ITEMS)
        return;
    char text[TEXT_BYTES];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n >= TEXT_BYTES)
        memcpy(text + TEXT_BYTES - 4, "...", 4);
    if (level != DIAG_ERROR && is_said(d, at, text))
        return;
    d->n_warnings += level == DIAG_WARNING;
    if (d->n >= KEPT_ITEMS)
        return;
    struct diag item = {
        .level = level,
        .file = copy_text(at.file),
        .line = at.line,
        .column = at.column,
        .text = copy_text(text),
        .nearest = copy_text(nearest),
    };
    item.source = cut_source(source, at.column, &item.caret);
    if (vec_push(d, item))
        return;
    free(item.file);
    free(item.text);
    free(item.source);
    free(item.nearest);
}

static bool is_before(const struct diag *a, const struct diag *b)
{
    return a->line != b->line ? a->line < b->line : a->column < b->column;
}

void diags_sort(struct diags *d, size_t first)
{
    for (size_t i = first + 1; i < d->n; i++) {
        struct diag item = d->items[i];
        size_t j = i;
        for (; j > first && is_before(&item, &d->items[j - 1]); j--)
            d->items[j] = d->items[j - 1];
        d->items[j] = item;
    }
}

/* Controls, direction overrides and broken bytes could drive a terminal or hide what is there. */
static bool is_unsafe(uint32_t cp)
{
    return cp < 0x20 || (cp >= 0x7F && cp < 0xA0) || (cp >= 0x200B && cp <= 0x200F) ||
           (cp >= 0x2028 && cp <= 0x202E) || (cp >= 0x2060 && cp <= 0x2069) || cp == 0xFEFF ||
           cp == UINT32_MAX;
}

/* Writes at most n_chars characters of user text; returns the columns it took. out may be NULL to
 * measure. A tab takes one column, so that a caret below stays in its place. */
static size_t put_shown(FILE *out, const char *text, size_t n_chars)
{
    size_t columns = 0, at = 0;
    while (n_chars-- > 0 && text[at]) {
        uint32_t cp;
        size_t n = utf8_next(text + at, &cp);
        if (cp == '\t') {
            columns++;
            if (out)
                fputc(' ', out);
        } else if (is_unsafe(cp)) {
            columns += 4 * n;
            for (size_t i = 0; out && i < n; i++)
                fprintf(out, "\\x%02X", (unsigned char)text[at + i]);
        } else {
            columns++;
            if (out)
                fwrite(text + at, 1, n, out);
        }
        at += n;
    }
    return columns;
}

struct style {
    const char *bold, *level[3], *off;
};

static void print_place(const struct diag *g, FILE *out)
{
    if (!g->file)
        return;
    put_shown(out, g->file, SIZE_MAX);
    if (g->line)
        fprintf(out, ":%u", g->line);
    if (g->line && g->column)
        fprintf(out, ":%u", g->column);
    fputs(": ", out);
}

static void print_item(const struct diag *g, FILE *out, const struct style *style)
{
    static const char *const names[] = {"note", "warning", "error"};
    fputs(style->bold, out);
    print_place(g, out);
    fprintf(out, "%s%s:%s ", style->level[g->level], names[g->level], style->off);
    put_shown(out, g->text ? g->text : "(no memory for the text)", SIZE_MAX);
    fputc('\n', out);
    if (g->source) {
        fputs("    ", out);
        put_shown(out, g->source, SIZE_MAX);
        fputc('\n', out);
        if (g->caret) {
            size_t before = put_shown(NULL, g->source, g->caret - 1);
            fprintf(out, "    %*s%s^%s\n", (int)before, "", style->level[g->level], style->off);
        }
    }
    if (g->nearest) {
        fputs("  nearest: '", out);
        put_shown(out, g->nearest, SIZE_MAX);
        fputs("'\n", out);
    }
}

void diags_print(const struct diags *d, FILE *out, bool colour)
{
    static const struct style plain = {"", {"", "", ""}, ""};
    static const struct style ansi = {"\x1b[1m", {"\x1b[36m", "\x1b[35m", "\x1b[31m"}, "\x1b[0m"};
    size_t counted = 0;
    for (size_t i = 0; i < d->n; i++) {
        print_item(&d->items[i], out, colour ? &ansi : &plain);
        counted += d->items[i].level != DIAG_NOTE;
    }
    size_t all = d->n_errors + d->n_warnings;
    if (all > counted)
        fprintf(out, "%zu more not shown\n", all - counted);
}

static unsigned char lower(char c)
{
    return (unsigned char)tolower((unsigned char)c);
}

/* Optimal string alignment distance (insert, delete, change, swap neighbours). */
static size_t edit_distance(const char *a, size_t n, const char *b, size_t m)
{
    size_t rows[3][WORD_BYTES + 1];
    size_t *before = rows[0], *last = rows[1], *row = rows[2];
    for (size_t j = 0; j <= m; j++)
        last[j] = j;
    for (size_t i = 1; i <= n; i++) {
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            bool same = lower(a[i - 1]) == lower(b[j - 1]);
            size_t best = last[j - 1] + !same;
            best = last[j] + 1 < best ? last[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                           lower(a[i - 2]) == lower(b[j - 1]);
            if (swapped && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            row[j] = best;
        }
        size_t *oldest = before;
        before = last;
        last = row;
        row = oldest;
    }
    return last[m];
}

const char *diag_nearest(const char *word, const char *const *names, size_t n)
{
    size_t length = strnlen(word, WORD_BYTES + 1);
    if (length == 0 || length > WORD_BYTES)
        return NULL;
    size_t allowed = length / 3 > 1 ? length / 3 : 1, best = allowed + 1;
    const char *nearest = NULL;
    for (size_t i = 0; i < n; i++) {
        size_t m = strlen(names[i]);
        if (m > WORD_BYTES || m > length + allowed || length > m + allowed)
            continue;
        size_t distance = edit_distance(word, length, names[i], m);
        if (distance < best) {
            best = distance;
            nearest = names[i];
        }
    }
    return nearest;
}
