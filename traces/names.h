/* Names: each different text once, so that a million jobs of ten tenants hold ten strings. */
#ifndef HEADROOM_TRACES_NAMES_H
#define HEADROOM_TRACES_NAMES_H

#include "sim/arena.h"

#include <stddef.h>

struct names {
    struct arena *arena; /* holds the texts */
    const char **slots;  /* owned: an open hash table, NULL where empty */
    size_t n, n_slots;   /* n_slots is 0 or a power of two */
};

/* The one copy of text[0..n); NULL when memory is out. */
const char *names_add(struct names *names, const char *text, size_t n);
void names_free(struct names *names);

#endif
