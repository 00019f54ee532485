/* Growable array of any element type.
 *
 *     struct { struct job *items; size_t n, capacity; } jobs = {0};
 *     if (!vec_push(&jobs, job)) return HR_NOMEM;
 *     vec_free(&jobs);
 *
 * A vec is any struct with members items, n and capacity; zero is the empty vec. Growth doubles,
 * so a push is O(1) amortised. Indices, not pointers, survive a push. */
#ifndef HEADROOM_SIM_VEC_H
#define HEADROOM_SIM_VEC_H

#include <stdbool.h>
#include <stddef.h>

/* Room for at least need elements of size bytes in the array whose pointer stands at items (the
 * address of a pointer of any object type); false when memory is out, then nothing has changed. The
 * work behind the macros below. */
bool vec_reserve_raw(void *items, size_t *capacity, size_t need, size_t size);

#define vec_reserve(v, need)                                                                       \
    ((need) <= (v)->capacity ||                                                                    \
     vec_reserve_raw(&(v)->items, &(v)->capacity, (need), sizeof *(v)->items))

/* Appends a value; false when memory is out. */
#define vec_push(v, value)                                                                         \
    (vec_reserve((v), (v)->n + 1) ? ((v)->items[(v)->n++] = (value), true) : false)

#define vec_free(v) (free((v)->items), (v)->items = NULL, (v)->n = (v)->capacity = 0)

#endif
