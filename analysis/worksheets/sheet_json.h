/* A solved worksheet as JSON. Numbers are as exact as a double; infinity and `none` are the strings
 * "inf", "-inf" and "none"; results of a list are key_1, key_2, ... */
#ifndef HEADROOM_ANALYSIS_WORKSHEETS_SHEET_JSON_H
#define HEADROOM_ANALYSIS_WORKSHEETS_SHEET_JSON_H

#include "analysis/json.h"
#include "analysis/worksheets/sheet.h"

/* "worksheet", "inputs", "results" and "steps", into an object that is open. */
void sheet_json(struct json *j, const struct sheet_case *c);

void sheet_json_value(struct json *j, const char *key, const struct sheet_value *v);

/* An array of all worksheets, or of the hits. */
void sheet_json_list(struct json *j, const struct sheet *const *hits, size_t n);

#endif
