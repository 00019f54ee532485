/* Orders of creation. A refused instance changes nothing, so an order is a walk over what is
 * placed; at most seven or eight are, and equal ones need no exchange. */
#include "analysis/mig_order.h"

#include <string.h>

void mig_order_place(const struct mig_tables *t, const uint8_t *profiles, size_t n,
                     struct mig_sequence *out)
{
    *out = (struct mig_sequence){.n = n};
    mig_layout_empty(t, &out->layout);
    for (size_t i = 0; i < n; i++) {
        const uint8_t start = t->choice[MIG_BEST][out->layout.left][profiles[i]];
        out->profiles[i] = profiles[i];
        out->starts[i] = start;
        if (start == MIG_NO_START)
            continue;
        mig_layout_add(t, &out->layout, profiles[i], start);
        out->n_placed++;
    }
}

bool mig_order_better(const struct mig_tables *t, const struct mig_sequence *a,
                      const struct mig_sequence *b)
{
    const mig_state x = a->layout.left, y = b->layout.left;
    if (a->n_placed != b->n_placed)
        return a->n_placed > b->n_placed;
    if (mig_free_compute(x) != mig_free_compute(y))
        return mig_free_compute(x) < mig_free_compute(y);
    return mig_stranded_compute(t, x) + mig_stranded_memory(t, x) <
           mig_stranded_compute(t, y) + mig_stranded_memory(t, y);
}

struct trying {
    const struct mig_tables *t;
    uint8_t left[MIG_PROFILES]; /* instances of each profile not placed yet */
    struct mig_sequence now, *best;
    bool any;
};

static void try_all(struct trying *w)
{
    const struct mig_layout before = w->now.layout;
    bool placed = false;
    for (uint8_t p = w->t->gpu.n_profiles; p-- > 0;) {
        const uint8_t start = w->t->choice[MIG_BEST][before.left][p];
        if (!w->left[p] || start == MIG_NO_START)
            continue;
        placed = true;
        w->now.profiles[w->now.n_placed] = p;
        w->now.starts[w->now.n_placed++] = start;
        w->left[p]--;
        mig_layout_add(w->t, &w->now.layout, p, start);
        try_all(w);
        w->now.layout = before;
        w->left[p]++;
        w->now.n_placed--;
    }
    if (!placed && (!w->any || mig_order_better(w->t, &w->now, w->best))) {
        *w->best = w->now;
        w->any = true;
    }
}

void mig_order_best(const struct mig_tables *t, const uint8_t *profiles, size_t n,
                    struct mig_sequence *out)
{
    struct trying w = {.t = t, .best = out};
    uint8_t left[MIG_PROFILES] = {0};
    for (size_t i = 0; i < n; i++)
        left[profiles[i]]++;
    memcpy(w.left, left, sizeof left);
    mig_layout_empty(t, &w.now.layout);
    try_all(&w);
    for (size_t i = 0; i < out->n_placed; i++)
        left[out->profiles[i]]--;
    out->n = out->n_placed;
    for (uint8_t p = t->gpu.n_profiles; p-- > 0;)
        for (; left[p]; left[p]--) {
            out->profiles[out->n] = p;
            out->starts[out->n++] = MIG_NO_START;
        }
}
