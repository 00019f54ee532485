/* Overlays: a value laid over the tree at a dotted path, from --set or from the `set` of a design.
 *
 *     services.chat.autoscaler.buffer=16
 *     fleet.groups[0].nodes=8            services.chat.traffic.events.flash={start: 10:30, ...}
 *
 * The path follows the field tables, so a wrong step is refused where it is taken, with the nearest
 * right path. Maps and tables on the way are made when absent; an entry of a map or list may be
 * replaced, and a new name added, by the last step only. An unquoted ~ takes the key, name or entry
 * away, which must be there. Laid before anything is read: an overlaid value is checked like any
 * other. */
#ifndef HEADROOM_SCENARIOS_OVERLAY_H
#define HEADROOM_SCENARIOS_OVERLAY_H

#include "scenarios/node.h"
#include "sim/field.h"

/* "path=value" as given to --set. HR_INPUT: said in diags. */
enum hr_err overlay_set(struct arena *a, struct diags *diags, const struct field_table *table,
                        struct node *root, const char *set);

/* A path written as the value of the node `path`, and a tree. */
enum hr_err overlay_tree(struct arena *a, struct diags *diags, const struct field_table *table,
                         struct node *root, const struct node *path, const struct node *value);

#endif
