/* Document: a JSON file, read whole and parsed by json-c.
 *
 * json-c keeps no places, so the text stays beside the tree and lists are walked in both at once:
 * each item comes with where it stands, and errors name file, line and column like those of the
 * reader of CSV (with the same TRACE_ERRORS_MAX and skip_bad_rows). */
#ifndef HEADROOM_TRACES_DOCUMENT_H
#define HEADROOM_TRACES_DOCUMENT_H

#include "traces/trace.h"
#include "traces/value.h"

#include <json-c/json_object.h>

enum { DOCUMENT_MAX = 64 << 20, DOCUMENT_DEPTH = 32 };

struct document {
    const char *path;
    struct diags *diags;
    struct {
        char *items; /* owned; ends with a NUL that n does not count */
        size_t n, capacity;
    } text;
    struct json_object *root; /* owned */
    char sha256[65];          /* of the file on the disk */
    uint64_t n_file_bytes;
    bool skip_bad_rows;
    bool item_bad; /* an error was found in the current item */
    bool too_many; /* errors: walking stops */
    uint64_t n_errors, n_items, n_bad_items;
};

/* A value and where it stands in the text. */
struct document_item {
    struct json_object *value;
    const char *at;
    uint32_t line; /* of an item of a list */
};

struct document_list {
    struct document *document;
    struct json_object *array;
    const char *at; /* of the next item, or before it */
    uint32_t line;
    size_t next, n;
};

/* HR_INPUT: described. document_close in any case. */
enum hr_err document_open(struct document *d, struct diags *diags, const char *path,
                          struct diag_place place, const char *source);
void document_close(struct document *d); /* accepts a zeroed struct */

struct document_item document_root(const struct document *d);

/* The member of an object; value NULL when it is none or has no such member. */
struct document_item document_member(struct document_item object, const char *key);

/* The items of an array, one by one; false when the value is none. */
bool document_list(struct document *d, struct document_item array, struct document_list *list);
bool document_next(struct document_list *list, struct document_item *item);

/* Text of a string or a number as it is written; NULL for anything else. */
const char *document_text(struct document_item item, size_t *n);

/* Line of a place, from 1. */
uint32_t document_line(const struct document *d, const char *at);

/* Describes what is wrong at a place; within a list it makes the item a bad one. */
void document_error(struct document *d, const char *at, const char *nearest, const char *format,
                    ...) __attribute__((format(printf, 4, 5)));

/* The text of an item's member, which must be there; NULL after an error was reported. */
const char *document_need(struct document *d, struct document_item item, const char *key,
                          size_t *n);

/* Reports a fault of a member's value; true when there is none. */
bool document_check(struct document *d, struct document_item item, const char *key,
                    enum value_fault fault);

/* After the last item: HR_INPUT when an error was found. */
enum hr_err document_end(struct document *d);

#endif
