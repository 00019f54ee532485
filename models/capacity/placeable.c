/* What could start over time: free GPUs, the largest block in one node, the largest gang on whole
 * free nodes.
 *
 * Looked at after each scheduling pass, which every change asks for; what is seen holds until the
 * next. Means are integrals over the windows of the timeline, minima the least value that held. */
#include "models/capacity/fleet_internal.h"

#include <stdlib.h>

#define NAME_ENTRY(code, name, doc) name,
const char *const placeable_names[PLACEABLES] = {PLACEABLE_LIST(NAME_ENTRY)};
#undef NAME_ENTRY

enum hr_err fleet_placeable_start(struct fleet *f, simtime_ns start, simtime_ns end,
                                  simtime_ns window_ns)
{
    struct placeable *p = &f->placeable;
    p->start_ns = start;
    p->end_ns = end;
    p->window_ns = window_ns;
    p->n = (size_t)((end - start + window_ns - 1) / window_ns);
    p->windows = calloc(p->n + 1, sizeof *p->windows);
    if (!p->windows)
        return HR_NOMEM;
    for (size_t w = 0; w < p->n; w++)
        for (int k = 0; k < PLACEABLES; k++)
            p->windows[w].least[k] = UINT32_MAX;
    p->now[PLACEABLE_FREE] = p->now[PLACEABLE_WHOLE] = f->nodes.n_free;
    p->now[PLACEABLE_LEAF] = nodes_largest_leaf(&f->nodes);
    p->now[PLACEABLE_SPINE] = nodes_largest_spine(&f->nodes);
    p->now[PLACEABLE_BLOCK] = f->nodes.largest;
    return HR_OK;
}

/* Books what has held since the last look, in [start, end). */
static void settle(struct placeable *p, simtime_ns now)
{
    simtime_ns at = p->at_ns > p->start_ns ? p->at_ns : p->start_ns;
    simtime_ns until = now < p->end_ns ? now : p->end_ns;
    while (at < until) {
        size_t w = (size_t)((at - p->start_ns) / p->window_ns);
        simtime_ns edge = p->start_ns + (w + 1) * p->window_ns;
        simtime_ns next = edge < until ? edge : until;
        struct placeable_window *window = &p->windows[w];
        for (int k = 0; k < PLACEABLES; k++) {
            window->gpu_ns[k] += p->now[k] * (next - at);
            if (p->now[k] < window->least[k])
                window->least[k] = p->now[k];
        }
        at = next;
    }
    p->at_ns = now;
}

void placeable_look(struct fleet *f, simtime_ns now)
{
    struct placeable *p = &f->placeable;
    if (!p->windows)
        return;
    settle(p, now);
    p->now[PLACEABLE_FREE] = f->nodes.n_free;
    p->now[PLACEABLE_BLOCK] = nodes_largest_block(&f->nodes);
    p->now[PLACEABLE_WHOLE] = f->nodes.n_whole;
    p->now[PLACEABLE_LEAF] = nodes_largest_leaf(&f->nodes);
    p->now[PLACEABLE_SPINE] = nodes_largest_spine(&f->nodes);
}

const struct placeable_window *fleet_placeable(struct fleet *f, simtime_ns now, size_t *n)
{
    settle(&f->placeable, now);
    *n = f->placeable.n;
    return f->placeable.windows;
}
