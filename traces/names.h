/* Names: each different text once, so that a million jobs of ten tenants hold ten strings. */
#ifndef HEADROOM_TRACES_NAMES_H
#define HEADROOM_TRACES_NAMES_H

#include "sim/arena.h"

#include <stddef.h>
#include <stdint.h>

struct name {
    const char *text; /* arena; NULL in an empty slot */
    uint32_t number;  /* from 0 in the order of first use */
};

struct names {
    struct arena *arena; /* holds the texts */
    struct name *slots;  /* owned: an open hash table */
    size_t n, n_slots;   /* n_slots is 0 or a power of two */
};

/* The one copy of text[0..n); NULL when memory is out. */
const char *names_add(struct names *names, const char *text, size_t n);
/* The same with its number; text is NULL when memory is out. */
struct name names_take(struct names *names, const char *text, size_t n);
void names_free(struct names *names);

#endif
