/* Growth of the growable array. */
#include "sim/vec.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

bool vec_reserve_raw(void *items, size_t *capacity, size_t need, size_t size)
{
    size_t grown = *capacity < 8 ? 8 : *capacity * 2;
    if (grown < need)
        grown = need;
    if (grown > SIZE_MAX / size)
        return false;
    void *p;
    memcpy(&p, items, sizeof p); /* the pointer's type is the caller's: read it as bytes */
    p = realloc(p, grown * size);
    if (!p)
        return false;
    memcpy(items, &p, sizeof p);
    *capacity = grown;
    return true;
}
