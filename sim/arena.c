/* Blocks in a list, newest first; the header says what for. */
#include "sim/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BLOCK = 4096, LARGEST_BLOCK = 1 << 20, ALIGN = 16 };

struct arena_block {
    struct arena_block *next;
    size_t padding; /* keeps the bytes that follow aligned to 16 */
};

_Static_assert(sizeof(struct arena_block) % ALIGN == 0, "blocks begin with a whole aligned header");

void arena_init(struct arena *a)
{
    *a = (struct arena){0};
}

void arena_fini(struct arena *a)
{
    while (a->head) {
        struct arena_block *next = a->head->next;
        free(a->head);
        a->head = next;
    }
    *a = (struct arena){0};
}

static void *block_new(struct arena *a, size_t size)
{
    struct arena_block *b = calloc(1, sizeof *b + size);
    if (!b)
        return NULL;
    b->next = a->head;
    a->head = b;
    a->total += sizeof *b + size;
    return b + 1;
}

/* A block of its own goes behind the head, so that the head's free rest is not wasted. */
static void *large_alloc(struct arena *a, size_t size)
{
    struct arena_block *head = a->head;
    void *p = block_new(a, size);
    if (p && head) {
        a->head->next = head->next;
        head->next = a->head;
        a->head = head;
    } else if (p) {
        a->used = a->size = size;
    }
    return p;
}

void *arena_alloc(struct arena *a, size_t size)
{
    if (size > SIZE_MAX / 2)
        return NULL;
    size = (size + ALIGN - 1) / ALIGN * ALIGN;
    size = size ? size : ALIGN;
    if (size <= a->size - a->used) {
        void *p = (char *)(a->head + 1) + a->used;
        a->used += size;
        return p;
    }
    if (size >= LARGEST_BLOCK / 4)
        return large_alloc(a, size);
    size_t block = a->size ? a->size * 2 : FIRST_BLOCK;
    block = block > LARGEST_BLOCK ? LARGEST_BLOCK : block;
    block = block < size ? size : block;
    void *p = block_new(a, block);
    if (!p)
        return NULL;
    a->used = size;
    a->size = block;
    return p;
}

void *arena_array(struct arena *a, size_t n, size_t size)
{
    if (size && n > SIZE_MAX / size)
        return NULL;
    return arena_alloc(a, n * size);
}

char *arena_strdup(struct arena *a, const char *text)
{
    return arena_strndup(a, text, strlen(text));
}

char *arena_strndup(struct arena *a, const char *text, size_t n)
{
    char *copy = n < SIZE_MAX ? arena_alloc(a, n + 1) : NULL;
    if (copy)
        memcpy(copy, text, n); /* arena memory is zeroed: the NUL is there */
    return copy;
}
