/* What an order of creation costs on one GPU: instances placed one after the other at the start
 * that the driver takes, and the order that places most. */
#ifndef HEADROOM_ANALYSIS_MIG_ORDER_H
#define HEADROOM_ANALYSIS_MIG_ORDER_H

#include "models/hardware/mig.h"

enum { MIG_SEQUENCE_MAX = 16 };

struct mig_sequence {
    uint8_t profiles[MIG_SEQUENCE_MAX], starts[MIG_SEQUENCE_MAX]; /* MIG_NO_START: refused */
    size_t n, n_placed;
    struct mig_layout layout;
};

void mig_order_place(const struct mig_tables *t, const uint8_t *profiles, size_t n,
                     struct mig_sequence *out);

/* Of all orders the best, by mig_order_better; the first of equals, trying large profiles first. */
void mig_order_best(const struct mig_tables *t, const uint8_t *profiles, size_t n,
                    struct mig_sequence *out);

/* Places more; then more compute slices; then strands fewer slices. */
bool mig_order_better(const struct mig_tables *t, const struct mig_sequence *a,
                      const struct mig_sequence *b);

#endif
