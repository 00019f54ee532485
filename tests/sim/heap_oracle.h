/* The oracle of the pending-event set: a plain 4-ary array heap of 16-byte keys in the order (time,
 * tag).
 *
 * With the push number in the high bits of the tag that order is (time, push); with the class above
 * it, (time, class, push). Slow to no one's surprise at many pending, obvious, and shares no code
 * with what it checks. The child is chosen without branches, so that as a yardstick it is a good
 * one. */
#ifndef HEADROOM_TESTS_SIM_HEAP_ORACLE_H
#define HEADROOM_TESTS_SIM_HEAP_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap_key {
    uint64_t time, tag;
};

struct heap_oracle {
    struct heap_key *items; /* owned; the children of i are 4 i + 1 .. 4 i + 4 */
    size_t n, capacity;
};

bool heap_oracle_push(struct heap_oracle *h, struct heap_key key); /* a zeroed heap is empty */
struct heap_key heap_oracle_pop(struct heap_oracle *h);            /* not empty */
void heap_oracle_fini(struct heap_oracle *h);

#endif
