/* MIG layouts: every set of instances that can stand on one GPU together, from the placements.
 *
 * A walk over the memory slices from 0 up: at each one an instance begins, or none does. Instances
 * of a set are met in the order of their starts, so each set is met once. */
#include "models/hardware/mig.h"

void mig_layout_empty(const struct mig_tables *t, struct mig_layout *l)
{
    l->n = 0;
    l->left = t->empty;
}

void mig_layout_add(const struct mig_tables *t, struct mig_layout *l, uint8_t profile,
                    uint8_t start)
{
    uint8_t i = l->n++;
    for (; i > 0 && l->items[i - 1].start > start; i--)
        l->items[i] = l->items[i - 1];
    l->items[i] = (struct mig_instance){profile, start};
    l->left = mig_after(t, l->left, profile, start);
}

unsigned mig_layout_n_sm(const struct mig_gpu *gpu, const struct mig_layout *l)
{
    unsigned n = 0;
    for (uint8_t i = 0; i < l->n; i++)
        n += gpu->profiles[l->items[i].profile].n_sm;
    return n;
}

struct walk {
    const struct mig_tables *t;
    uint8_t profiles;
    bool maximal;
    mig_layout_fn *fn;
    void *self;
    struct mig_layout layout;
};

static bool full(const struct walk *w)
{
    for (uint8_t p = 0; p < w->t->gpu.n_profiles; p++)
        if (w->profiles >> p & 1 && w->t->starts[w->layout.left][p])
            return false;
    return true;
}

static void walk_from(struct walk *w, uint8_t start)
{
    if (start == MIG_SLICES) {
        if (!w->maximal || full(w))
            w->fn(w->self, &w->layout);
        return;
    }
    const struct mig_layout before = w->layout;
    for (uint8_t p = w->t->gpu.n_profiles; p-- > 0;) {
        if (!(w->profiles >> p & 1) || !mig_legal(w->t, before.left, p, start))
            continue;
        mig_layout_add(w->t, &w->layout, p, start);
        walk_from(w, start + 1);
        w->layout = before;
    }
    walk_from(w, start + 1);
}

void mig_layouts(const struct mig_tables *t, uint8_t profiles, bool maximal, mig_layout_fn *fn,
                 void *self)
{
    struct walk w = {.t = t, .profiles = profiles, .maximal = maximal, .fn = fn, .self = self};
    mig_layout_empty(t, &w.layout);
    walk_from(&w, 0);
}
