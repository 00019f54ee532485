/* A source gives one record after another in time order; what is behind it (a trace, a looped and
 * superposed trace, a generator) is its own affair. */
#ifndef HEADROOM_MODELS_SOURCE_H
#define HEADROOM_MODELS_SOURCE_H

#include "models/record.h"

/* Fills *out with the next request (arrival not before the last one) and returns true; false at the
 * end, and from then on. */
struct request_source {
    bool (*next)(void *self, struct request *out);
    void (*free)(void *self);
    void *self;
};

#endif
