/* From a tree to the structs of the field tables: the one walk that checks everything a table can
 * say: unknown keys, missing keys, types, units, ranges, choices. */
#ifndef HEADROOM_SCENARIOS_READ_H
#define HEADROOM_SCENARIOS_READ_H

#include "scenarios/node.h"
#include "sim/field.h"

/* Fills the struct at out from the tree (NULL or empty: all defaults). Mistakes go to diags and the
 * walk goes on, with the default in their place: only memory makes it fail. */
enum hr_err read_table(struct arena *a, struct diags *diags, const struct field_table *table,
                       const struct node *tree, void *out);

/* The member kinds of lists and maps of single values. */
static inline const void *field_list_item(const struct field_list *l, size_t size, size_t i)
{
    return (const char *)l->items + i * size;
}

#endif
