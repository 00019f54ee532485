/* Strings, paragraphs and numbers. */
#include "analysis/text.h"

#include "sim/vec.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void text_add(struct text *t, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int need = vsnprintf(NULL, 0, format, args);
    if (need >= 0 && vec_reserve(t, t->n + (size_t)need + 1)) {
        vsnprintf(t->items + t->n, (size_t)need + 1, format, again);
        t->n += (size_t)need;
    } else {
        t->failed = true;
    }
    va_end(again);
    va_end(args);
}

const char *text_get(const struct text *t)
{
    return t->n ? t->items : "";
}

void text_free(struct text *t)
{
    vec_free(t);
    t->failed = false;
}

static bool starts_character(char c)
{
    return ((unsigned char)c & 0xc0) != 0x80;
}

size_t text_width(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += starts_character(*text);
    return n;
}

void text_wrap(FILE *out, const char *text, size_t first, size_t rest, size_t width)
{
    size_t at = first; /* column reached on this line */
    bool fresh = true; /* nothing but indent on it */
    fprintf(out, "%*s", (int)first, "");
    while (*(text += strspn(text, " "))) {
        size_t bytes = strcspn(text, " "), wide = 0;
        for (size_t i = 0; i < bytes; i++)
            wide += starts_character(text[i]);
        if (!fresh && at + 1 + wide > width) {
            fprintf(out, "\n%*s", (int)rest, "");
            at = rest;
            fresh = true;
        }
        fprintf(out, "%s%.*s", fresh ? "" : " ", (int)bytes, text);
        at += wide + !fresh;
        fresh = false;
        text += bytes;
    }
    fputc('\n', out);
}

void number_print(char out[NUMBER_SIZE], double value)
{
    out[0] = 0;
    if (isnan(value))
        return;
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(out, NUMBER_SIZE, "%.*g", digits, value);
        if (strtod(out, NULL) == value)
            return;
    }
}

void number_show(char out[NUMBER_SIZE], double value, int digits)
{
    if (isnan(value) || fabs(value) >= 1e15) {
        snprintf(out, NUMBER_SIZE, isnan(value) ? "-" : "%.3g", value);
        return;
    }
    if (digits == NUMBER_FITTING)
        digits = fabs(value) < 99.95 ? 1 : 0;
    if (digits == NUMBER_FINE)
        for (digits = 2; value != 0 && digits < 6 && fabs(value) * pow(10, digits) < 9.5; digits++)
            ;
    char plain[NUMBER_SIZE];
    snprintf(plain, sizeof plain, "%.*f", digits, value);
    const char *from = plain;
    char *to = out;
    if (*from == '-')
        *to++ = *from++;
    if (strspn(from, "0.") == strlen(from))
        to = out; /* -0.0 is 0.0 */
    size_t whole = strcspn(from, ".");
    for (size_t i = 0; from[i]; i++) {
        if (i > 0 && i < whole && (whole - i) % 3 == 0)
            *to++ = ',';
        *to++ = from[i];
    }
    *to = 0;
}
