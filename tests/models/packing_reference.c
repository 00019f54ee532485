/* Slow obvious packing. */
#include "packing_reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool reference_fits(const struct cluster_room *room, const struct cluster_pod *pod)
{
    uint32_t n = 0;
    for (uint32_t d = 0; d < room->devices; d++)
        if (room->left[d] >= pod->milli)
            n++;
    if (pod->types && !(pod->types & (UINT64_C(1) << room->type)))
        return false;
    return room->cpu_milli >= pod->cpu_milli && room->memory_mib >= pod->memory_mib &&
           (pod->devices == 0 || n >= pod->devices);
}

static bool same(const struct cluster_pod *a, const struct cluster_pod *b)
{
    return a->cpu_milli == b->cpu_milli && a->devices == b->devices && a->milli == b->milli &&
           a->types == b->types;
}

/* Lexicographic: CPU, devices, milli, types. */
static bool before(const struct cluster_pod *a, const struct cluster_pod *b)
{
    if (a->cpu_milli != b->cpu_milli)
        return a->cpu_milli < b->cpu_milli;
    if (a->devices != b->devices)
        return a->devices < b->devices;
    return a->milli != b->milli ? a->milli < b->milli : a->types < b->types;
}

static long double idle_for(const struct cluster_room *room, const struct cluster_pod *pod)
{
    long double all = 0, small = 0;
    uint32_t n = 0;
    for (uint32_t d = 0; d < room->devices; d++) {
        all += room->left[d];
        if (room->left[d] < pod->milli)
            small += room->left[d];
        else
            n++;
    }
    bool accepted = !pod->types || (pod->types & (UINT64_C(1) << room->type));
    if (pod->devices == 0 || !accepted || n < pod->devices || room->cpu_milli < pod->cpu_milli)
        return all;
    return small;
}

long double reference_fragment(const struct cluster_pods *pods, double cover_frac,
                               const struct cluster_room *room)
{
    struct cluster_pod *seen = calloc(pods->n, sizeof *seen);
    size_t *count = calloc(pods->n, sizeof *count), n = 0, covered = 0;
    long double sum = 0;
    for (size_t i = 0; i < pods->n; i++) {
        const struct cluster_pod *pod = &pods->shapes[pods->rows[i]];
        size_t k = 0;
        while (k < n && !same(&seen[k], pod))
            k++;
        seen[k] = *pod;
        count[k]++;
        n += k == n;
    }
    while ((double)covered < cover_frac * (double)pods->n) {
        size_t best = n;
        for (size_t k = 0; k < n; k++)
            if (count[k] && (best == n || count[k] > count[best] ||
                             (count[k] == count[best] && before(&seen[k], &seen[best]))))
                best = k;
        sum += (long double)count[best] * idle_for(room, &seen[best]);
        covered += count[best];
        count[best] = 0;
    }
    free(seen);
    free(count);
    return sum / (long double)covered;
}

static long double sigmoid_score(long double fall)
{
    return 100 / (1 + expl(-fall / 1000));
}

static int32_t whole(long double score, bool *sure)
{
    *sure = *sure && fabsl(score - roundl(score)) > 1e-12L;
    return (int32_t)floorl(score);
}

int32_t reference_gradient(const struct cluster_pods *pods, double cover_frac,
                           const struct cluster_room *room, const struct cluster_pod *pod,
                           uint32_t *devices, bool *sure)
{
    long double f = reference_fragment(pods, cover_frac, room);
    int32_t best = -1;
    *sure = true;
    if (pod->devices != 1 || pod->milli == 1000) {
        struct cluster_room after = *room;
        uint32_t wanted = pod->devices;
        after.cpu_milli -= pod->cpu_milli;
        *devices = 0;
        for (uint32_t left = pod->milli; left <= 1000 && wanted; left++)
            for (uint32_t d = 0; d < room->devices && wanted; d++)
                if (room->left[d] == left) {
                    after.left[d] = (uint16_t)(left - pod->milli);
                    *devices |= 1u << d;
                    wanted--;
                }
        long double fall = f - reference_fragment(pods, cover_frac, &after);
        return fabsl(fall) < 1e-9L ? 50 : whole(sigmoid_score(fall), sure);
    }
    for (uint32_t d = 0; d < room->devices; d++) {
        if (room->left[d] < pod->milli)
            continue;
        struct cluster_room after = *room;
        after.cpu_milli -= pod->cpu_milli;
        after.left[d] = (uint16_t)(after.left[d] - pod->milli);
        long double fall = f - reference_fragment(pods, cover_frac, &after);
        int32_t score = fabsl(fall) < 1e-9L ? 50 : whole(sigmoid_score(fall), sure);
        if (score > best) {
            best = score;
            *devices = 1u << d;
        }
    }
    return best;
}

void reference_draw_room(struct rng *rng, struct cluster_room *out)
{
    static const uint16_t lefts[] = {0, 0, 100, 190, 350, 500, 530, 1000, 1000};
    memset(out, 0, sizeof *out);
    out->cpu_milli = (int64_t)rng_below(rng, 97) * 1000;
    out->memory_mib = (int64_t)rng_below(rng, 256) * 1024;
    out->devices = (uint8_t)(1 + rng_below(rng, 8));
    out->type = (uint8_t)rng_below(rng, 2);
    for (uint32_t d = 0; d < out->devices; d++) {
        out->left[d] = lefts[rng_below(rng, sizeof lefts / sizeof *lefts)];
        out->idle_milli += out->left[d];
    }
}
