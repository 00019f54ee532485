/* Reading a command line by a table of options. */
#include "cli/options.h"

#include "sim/diag.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct option *find(const struct option *table, size_t n, const char *word, size_t len)
{
    for (size_t i = 0; i < n; i++) {
        bool full = strlen(table[i].name) == len && strncmp(table[i].name, word, len) == 0;
        bool brief = table[i].brief && strlen(table[i].brief) == len &&
                     strncmp(table[i].brief, word, len) == 0;
        if (full || brief)
            return &table[i];
    }
    return NULL;
}

static bool unknown(const struct option *table, size_t n, const char *word)
{
    const char *names[64];
    size_t count = 0;
    for (size_t i = 0; i < n && count < 64; i++)
        names[count++] = table[i].name;
    const char *nearest = diag_nearest(word, names, count);
    fprintf(stderr, "headroom: unknown option '%s'", word);
    if (nearest)
        fprintf(stderr, "; did you mean '%s'?", nearest);
    fputc('\n', stderr);
    return false;
}

static bool read_count(const struct option *o, const char *value, uint32_t *out)
{
    char *end;
    errno = 0;
    unsigned long long v = strtoull(value, &end, 10);
    if (errno || end == value || *end || value[0] == '-' || v < o->min || v > o->max) {
        fprintf(stderr, "headroom: %s takes a whole number from %u to %u, not '%s'\n", o->name,
                o->min, o->max, value);
        return false;
    }
    *out = (uint32_t)v;
    return true;
}

static bool store(const struct option *o, const char *value, void *target)
{
    void *member = (char *)target + o->offset;
    switch (o->kind) {
    case OPTION_FLAG:
        *(bool *)member = true;
        return true;
    case OPTION_TEXT:
        *(const char **)member = value;
        return true;
    case OPTION_COUNT:
        return read_count(o, value, member);
    case OPTION_LIST: {
        struct option_list *list = member;
        if (list->n == OPTION_LIST_MAX) {
            fprintf(stderr, "headroom: %s is given more than %d times\n", o->name, OPTION_LIST_MAX);
            return false;
        }
        list->items[list->n++] = value;
        return true;
    }
    }
    return false;
}

/* The option of a word, and the value that is part of it (--name=value, -nVALUE) or NULL. */
static const struct option *split(const struct option *table, size_t n, const char *word,
                                  const char **value)
{
    const char *equals = strncmp(word, "--", 2) == 0 ? strchr(word, '=') : NULL;
    *value = equals ? equals + 1 : NULL;
    const struct option *o = find(table, n, word, equals ? (size_t)(equals - word) : strlen(word));
    if (!o && word[1] != '-' && word[2]) {
        o = find(table, n, word, 2);
        *value = word + 2;
        if (o && o->kind == OPTION_FLAG)
            o = NULL;
    }
    return o;
}

/* One option word and, where it takes one, its value; *i is moved to the last word used. */
static bool read_option(const struct option *table, size_t n, int argc, char **argv, int *i,
                        void *target)
{
    const char *word = argv[*i], *value;
    const struct option *o = split(table, n, word, &value);
    if (!o)
        return unknown(table, n, word);
    if (o->kind == OPTION_FLAG) {
        if (value)
            fprintf(stderr, "headroom: %s takes no value\n", o->name);
        return !value && store(o, NULL, target);
    }
    if (value)
        return store(o, value, target);
    if (*i + 1 >= argc) {
        fprintf(stderr, "headroom: %s needs a value: %s\n", o->name, o->value);
        return false;
    }
    return store(o, argv[++*i], target);
}

bool options_read(const struct option *table, size_t n, int argc, char **argv, void *target,
                  struct operands *operands)
{
    *operands = (struct operands){0};
    bool only_operands = false;
    for (int i = 1; i < argc; i++) {
        bool is_option = !only_operands && argv[i][0] == '-' && argv[i][1];
        if (is_option && strcmp(argv[i], "--") == 0) {
            only_operands = true;
        } else if (is_option) {
            if (!read_option(table, n, argc, argv, &i, target))
                return false;
        } else if (operands->n == OPERANDS_MAX) {
            fprintf(stderr, "headroom: more than %d arguments\n", OPERANDS_MAX);
            return false;
        } else {
            operands->items[operands->n++] = argv[i];
        }
    }
    return true;
}

void options_help(const struct option *table, size_t n, FILE *out)
{
    for (size_t i = 0; i < n; i++) {
        char left[48];
        snprintf(left, sizeof left, "%s%s%s%s%s", table[i].brief ? table[i].brief : "",
                 table[i].brief ? ", " : "", table[i].name, table[i].value ? " " : "",
                 table[i].value ? table[i].value : "");
        fprintf(out, "  %-24s %s\n", left, table[i].doc);
    }
}
