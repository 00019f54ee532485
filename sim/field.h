/* Field tables: what a user may write, as data.
 *
 * A table describes a plain C struct: one row a key with its meaning, type, unit, range, default
 * and offset. Parsing, error messages, --set, defaults and the reference page are all made from the
 * rows, so a key is described in one place. Tables nest; lists and maps hold tables or single
 * values. Everything here is constant data: no allocation, no writable state.
 *
 * The struct of a table begins with `const void *at`: where the user wrote it (NULL: nowhere, all
 * is default). Types of the members:
 *
 *   FIELD_TEXT    const char *           FIELD_MOMENT  struct field_moment
 *   FIELD_NUMBER  double, SI base unit   FIELD_EITHER  struct field_either
 *   FIELD_WHOLE   uint64_t               FIELD_TABLE   the table's struct
 *   FIELD_FLAG    bool                   FIELD_LIST    struct field_list
 *   FIELD_WORD    int, index of the word FIELD_MAP     struct field_list
 *   FIELD_TREE    const void *
 *
 * A field without a default that is not written holds the unset value of its type: NULL, NaN,
 * FIELD_NO_WHOLE, false, FIELD_NO_WORD. */
#ifndef HEADROOM_SIM_FIELD_H
#define HEADROOM_SIM_FIELD_H

#include "sim/err.h"
#include "sim/units.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum field_kind {
    FIELD_TEXT,
    FIELD_NUMBER,
    FIELD_WHOLE, /* a count up to 2^53; unit none, GPU or tokens */
    FIELD_FLAG,  /* yes, no, true, false, on, off */
    FIELD_WORD,  /* one of words */
    FIELD_MOMENT,
    FIELD_EITHER, /* one of words, or a number in the unit */
    FIELD_TABLE,
    FIELD_LIST, /* of the table, or of single values described by item */
    FIELD_MAP,  /* likewise, by name */
    FIELD_TREE, /* anything, kept as it was written: const void * */
    FIELD_KINDS
};

#define FIELD_NO_WHOLE UINT64_MAX
#define FIELD_NO_WORD  (-1)

/* A point of the run: a time since its start (`34.5h`), or a time of day (`10:30`: the first one
 * after the start; `1d 10:30`: a day later). */
struct field_moment {
    double s; /* since the start; of a clock time since midnight, days added */
    bool clock;
};

struct field_either {
    double number; /* NaN when word is set */
    int word;      /* FIELD_NO_WORD when number is */
};

/* A list or a map. An entry of a map or list of tables begins with its struct; of single values
 * with the member of that kind at offset 0. */
struct field_list {
    const void *at;
    void *items;
    const char **names; /* of a map, in the order written; NULL: a list */
    const void **where; /* of each entry */
    size_t n;
};

struct field_table;

struct field {
    const char *key;
    const char *doc; /* one line, no final stop */
    enum field_kind kind;
    enum unit_kind unit;
    double min, max; /* inclusive; max 0: no upper bound */
    bool above;      /* the value must be above min, not at it */
    bool required;
    const char *fallback;            /* default as a user would write it; NULL: none */
    const char *const *words;        /* FIELD_WORD, FIELD_EITHER */
    size_t n_words;                  /* of them */
    size_t offset;                   /* in the table's struct; 0 for item */
    const struct field_table *table; /* FIELD_TABLE, FIELD_LIST, FIELD_MAP */
    const struct field *item;        /* FIELD_LIST, FIELD_MAP of single values: table is NULL */
    bool parted;                     /* FIELD_MAP: a name may have two parts, queue/tenant */
    const char *sole;                /* FIELD_MAP: a single value in place of the map is an entry of
                                        this name; NULL: it is an error */
};

struct field_table {
    const char *name;  /* "autoscaler": heading of the reference */
    const char *doc;   /* a sentence or two */
    const char *brief; /* key that a single value in place of the table stands for; NULL: none */
    bool one_of;       /* exactly one of the keys is written: a choice */
    size_t which;      /* one_of: offset of an int that gets the index of the key */
    size_t size;       /* of the struct */
    const struct field *fields;
    size_t n_fields;
};

/* NULL when the table has no such key. */
const struct field *field_find(const struct field_table *table, const char *key);

/* The key of the table nearest to a wrong one, or NULL. */
const char *field_nearest(const struct field_table *table, const char *key);

/* Longest reason that field_read writes, NUL included. */
#define FIELD_WHY_BYTES 400

/* Reads a single value into the member at base + offset. Not for tables, lists, maps and trees. The
 * text must outlive the struct (FIELD_TEXT keeps the pointer). HR_INPUT: the member is unchanged,
 * why says what is wrong with it ("needs a unit, such as 90s"), and *nearest is a right word or
 * NULL.
 */
enum hr_err field_read(const struct field *f, const char *text, void *base, char *why,
                       const char **nearest);

/* Sets the member to the unset value of its kind; a table, list or map to zeros. */
void field_unset(const struct field *f, void *base);

/* "a time such as 90s or 1.5h, above 0": what may stand there, for messages and the reference.
 * Returns the length as snprintf does. */
int field_expectation(const struct field *f, char *out, size_t size);

/* The reference of a table and all below it, each table once, in the order of first mention. */
void field_print_markdown(const struct field_table *root, FILE *out);
void field_print_text(const struct field_table *root, FILE *out);

#endif
