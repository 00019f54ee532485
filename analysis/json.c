/* Commas, indents and escapes. */
#include "analysis/json.h"

#include "analysis/text.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>

/* Length of the valid UTF-8 sequence at s (RFC 3629), 0 when there is none. */
static size_t utf8_length(const unsigned char *s)
{
    if (s[0] < 0x80)
        return 1;
    size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    bool wrong = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
                 (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f);
    return wrong ? 0 : n;
}

static void put_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        size_t n = utf8_length(c);
        if (*c == '"' || *c == '\\')
            fprintf(out, "\\%c", *c);
        else if (*c == '\n')
            fputs("\\n", out);
        else if (*c < 0x20 || *c == 0x7f)
            fprintf(out, "\\u%04x", *c);
        else if (n == 0)
            fputs("\\ufffd", out);
        else
            fwrite(c, 1, n, out);
        c += n ? n : 1;
    }
    fputc('"', out);
}

static void put_place(struct json *j)
{
    if (j->depth == 0)
        return;
    int level = j->depth - 1;
    if (j->filled[level])
        fputs(j->flat[level] ? ", " : ",", j->out);
    j->filled[level] = true;
    if (!j->flat[level])
        fprintf(j->out, "\n%*s", 2 * j->depth, "");
}

static void put_key(struct json *j, const char *key)
{
    put_place(j);
    if (key) {
        put_text(j->out, key);
        fputs(": ", j->out);
    }
}

void json_init(struct json *j, FILE *out)
{
    *j = (struct json){.out = out};
}

static void open_level(struct json *j, const char *key, const char *opener, char closer, bool flat)
{
    put_key(j, key);
    fputs(opener, j->out);
    assert(j->depth < JSON_DEPTH);
    j->filled[j->depth] = false;
    j->flat[j->depth] = flat;
    j->closer[j->depth] = closer;
    j->depth++;
}

void json_object(struct json *j, const char *key)
{
    open_level(j, key, "{", '}', false);
}

void json_array(struct json *j, const char *key, bool one_line)
{
    open_level(j, key, "[", ']', one_line);
}

void json_close(struct json *j)
{
    assert(j->depth > 0);
    int level = --j->depth;
    if (j->filled[level] && !j->flat[level])
        fprintf(j->out, "\n%*s", 2 * level, "");
    fputc(j->closer[level], j->out);
    if (level == 0)
        fputc('\n', j->out);
}

void json_text(struct json *j, const char *key, const char *text)
{
    put_key(j, key);
    put_text(j->out, text);
}

void json_number(struct json *j, const char *key, double value)
{
    char number[NUMBER_SIZE];
    number_print(number, value);
    put_key(j, key);
    fputs(isfinite(value) ? number : "null", j->out);
}

void json_whole(struct json *j, const char *key, uint64_t value)
{
    put_key(j, key);
    fprintf(j->out, "%" PRIu64, value);
}

void json_bool(struct json *j, const char *key, bool value)
{
    put_key(j, key);
    fputs(value ? "true" : "false", j->out);
}
