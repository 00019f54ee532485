/* Rooms: what fits a node, which devices a pod takes, taking and giving back. */
#include "models/packing/cluster.h"

#include <assert.h>
#include <string.h>

void cluster_open(const struct cluster_node *node, struct cluster_room *out)
{
    assert(node->devices <= CLUSTER_DEVICES && node->type < CLUSTER_TYPES);
    memset(out, 0, sizeof *out);
    out->cpu_milli = node->cpu_milli;
    out->memory_mib = node->memory_mib;
    out->devices = (uint8_t)node->devices;
    out->type = (uint8_t)node->type;
    out->idle_milli = node->devices * CLUSTER_MILLI;
    for (uint32_t d = 0; d < node->devices; d++)
        out->left[d] = CLUSTER_MILLI;
}

bool cluster_fits(const struct cluster_room *room, const struct cluster_pod *pod)
{
    if (pod->cpu_milli > room->cpu_milli || pod->memory_mib > room->memory_mib ||
        cluster_asks(pod) > room->idle_milli || !cluster_accepts(pod, room->type))
        return false;
    uint32_t n = 0;
    for (uint32_t d = 0; d < room->devices; d++)
        n += room->left[d] >= pod->milli;
    return n >= pod->devices;
}

uint32_t cluster_smallest(const struct cluster_room *room, const struct cluster_pod *pod)
{
    uint32_t mask = 0;
    for (uint32_t taken = 0; taken < pod->devices; taken++) {
        uint32_t best = CLUSTER_DEVICES, least = UINT32_MAX;
        for (uint32_t d = 0; d < room->devices; d++)
            if (!(mask >> d & 1) && room->left[d] >= pod->milli && room->left[d] < least) {
                best = d;
                least = room->left[d];
            }
        assert(best < CLUSTER_DEVICES);
        mask |= 1u << best;
    }
    return mask;
}

/* sign: 1 takes, -1 gives back. */
static void move(struct cluster_room *room, const struct cluster_pod *pod, uint32_t devices,
                 int sign)
{
    uint32_t n = 0;
    room->cpu_milli -= sign * pod->cpu_milli;
    room->memory_mib -= sign * pod->memory_mib;
    for (uint32_t d = 0; d < room->devices; d++)
        if (devices >> d & 1) {
            room->left[d] = (uint16_t)(room->left[d] - sign * (int)pod->milli);
            n++;
        }
    assert(n == pod->devices);
    room->idle_milli = (uint32_t)((int64_t)room->idle_milli - sign * (int64_t)cluster_asks(pod));
    if (pod->devices)
        room->kinds[cluster_kind(pod)] = (uint16_t)(room->kinds[cluster_kind(pod)] + sign);
}

void cluster_take(struct cluster_room *room, const struct cluster_pod *pod, uint32_t devices)
{
    move(room, pod, devices, 1);
}

void cluster_give(struct cluster_room *room, const struct cluster_pod *pod, uint32_t devices)
{
    move(room, pod, devices, -1);
}

uint64_t cluster_holds(const struct cluster_room *room, const struct cluster_pod *pod)
{
    uint64_t most = UINT64_MAX, n = 0;
    if (!cluster_accepts(pod, room->type))
        return 0;
    if (pod->cpu_milli > 0)
        most = (uint64_t)(room->cpu_milli / pod->cpu_milli);
    if (pod->memory_mib > 0 && (uint64_t)(room->memory_mib / pod->memory_mib) < most)
        most = (uint64_t)(room->memory_mib / pod->memory_mib);
    if (pod->devices == 0)
        return most;
    for (uint32_t d = 0; d < room->devices; d++) /* no pod uses a device twice */
        n += pod->devices == 1 ? room->left[d] / pod->milli : room->left[d] >= pod->milli;
    n /= pod->devices;
    return n < most ? n : most;
}

uint64_t cluster_capacity(const struct cluster_nodes *nodes)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < nodes->n; i++)
        sum += (uint64_t)nodes->rows[i].devices * CLUSTER_MILLI;
    return sum;
}
