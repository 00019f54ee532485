/* See names.h. FNV-1a and linear probing, at most half full. */
#include "traces/names.h"

#include <stdlib.h>
#include <string.h>

static size_t hash_of(const char *text, size_t n)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return (size_t)(h ^ (h >> 32));
}

/* Where text stands or should stand. */
static struct name *find(const struct names *names, const char *text, size_t n)
{
    size_t i = hash_of(text, n) & (names->n_slots - 1);
    while (names->slots[i].text != NULL &&
           (strncmp(names->slots[i].text, text, n) != 0 || names->slots[i].text[n] != '\0'))
        i = (i + 1) & (names->n_slots - 1);
    return &names->slots[i];
}

static int grow(struct names *names)
{
    struct names grown = *names;
    grown.n_slots = names->n_slots == 0 ? 64 : names->n_slots * 2;
    grown.slots = calloc(grown.n_slots, sizeof *grown.slots);
    if (grown.slots == NULL)
        return 0;
    for (size_t i = 0; i < names->n_slots; i++)
        if (names->slots[i].text != NULL)
            *find(&grown, names->slots[i].text, strlen(names->slots[i].text)) = names->slots[i];
    free(names->slots);
    *names = grown;
    return 1;
}

struct name names_take(struct names *names, const char *text, size_t n)
{
    if (2 * names->n >= names->n_slots && !grow(names))
        return (struct name){0};
    struct name *slot = find(names, text, n);
    if (slot->text == NULL) {
        *slot = (struct name){arena_strndup(names->arena, text, n), (uint32_t)names->n};
        names->n += slot->text != NULL;
    }
    return *slot;
}

const char *names_add(struct names *names, const char *text, size_t n)
{
    return names_take(names, text, n).text;
}

void names_free(struct names *names)
{
    free(names->slots);
    *names = (struct names){0};
}
