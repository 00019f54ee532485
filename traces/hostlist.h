/* Slurm's lists of host names: "n[01-03,07],login" is n01 n02 n03 n07 login. */
#ifndef HEADROOM_TRACES_HOSTLIST_H
#define HEADROOM_TRACES_HOSTLIST_H

#include "sim/arena.h"
#include "sim/err.h"

#include <stddef.h>
#include <stdint.h>

struct hostlist {
    const char **items; /* owned; the names are the arena's */
    size_t n, capacity;
};

/* Appends the names of text[0..n). HR_INPUT: what (static text) is wrong at *at; HR_LIMIT: more
 * than limit names in all; HR_NOMEM. */
enum hr_err hostlist_expand(struct hostlist *list, const char *text, size_t n, size_t limit,
                            struct arena *arena, const char **at, const char **what);

#endif
