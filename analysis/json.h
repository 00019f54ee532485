/* A small JSON writer: nested objects and arrays, two blanks of indent a level.
 *
 * In an object every value has a key, in an array key is NULL. Numbers are the shortest that read
 * back as the same double; what JSON cannot say (NaN, infinity) is null. Text that is not UTF-8 is
 * written with U+FFFD in place of each wrong byte. */
#ifndef HEADROOM_ANALYSIS_JSON_H
#define HEADROOM_ANALYSIS_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { JSON_DEPTH = 16 };

struct json {
    FILE *out;
    int depth;
    bool filled[JSON_DEPTH]; /* the level has a value already */
    bool flat[JSON_DEPTH];   /* the level stays on one line */
    char closer[JSON_DEPTH];
};

void json_init(struct json *j, FILE *out);
void json_object(struct json *j, const char *key);
void json_array(struct json *j, const char *key, bool one_line);
void json_close(struct json *j); /* ends the last object or array; the outermost with a newline */

void json_text(struct json *j, const char *key, const char *text);
void json_number(struct json *j, const char *key, double value);
void json_whole(struct json *j, const char *key, uint64_t value);
void json_bool(struct json *j, const char *key, bool value);

#endif
