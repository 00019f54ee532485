/* Arena: memory that is freed all at once.
 *
 * Used for what lives as long as a scenario, a trace or a run: names, tables, lists. Blocks double
 * from 4 KiB to 1 MiB; a larger request gets a block of its own. Nothing is freed singly. */
#ifndef HEADROOM_SIM_ARENA_H
#define HEADROOM_SIM_ARENA_H

#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *head; /* newest block, owns the older ones through its link */
    size_t used, size;        /* bytes taken and available in head */
    size_t total;             /* bytes obtained from malloc, for limits and reports */
};

void arena_init(struct arena *a);
void arena_fini(struct arena *a); /* accepts a zeroed arena */

/* Zeroed memory aligned for any type; NULL when memory is out. size 0 gives a valid pointer. */
void *arena_alloc(struct arena *a, size_t size);

/* n elements of size bytes, zeroed; NULL when memory is out or n * size overflows. */
void *arena_array(struct arena *a, size_t n, size_t size);

/* Copies of text; the second copies n bytes and adds the NUL. NULL when memory is out. */
char *arena_strdup(struct arena *a, const char *text);
char *arena_strndup(struct arena *a, const char *text, size_t n);

#endif
