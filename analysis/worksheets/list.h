/* All worksheets, in their groups. */
#ifndef HEADROOM_ANALYSIS_WORKSHEETS_LIST_H
#define HEADROOM_ANALYSIS_WORKSHEETS_LIST_H

#include "analysis/worksheets/sheet.h"

extern const struct sheet *const sheets[];
extern const size_t sheets_n;
extern const char *const sheet_groups[]; /* in the order of print; NULL at the end */

const struct sheet *sheet_find(const char *name); /* NULL: none */

/* Whether every one of the words occurs in the sheet's name, question, model or keys, ignoring
 * case. */
bool sheet_matches(const struct sheet *sheet, const char *const *words, size_t n);

#endif
