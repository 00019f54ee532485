/* Typical pods, and the fragment of a node before and after a pod. */
#include "models/packing/fragment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- typical pods ---- */

struct counted {
    struct cluster_pod pod;
    int64_t n;
};

static int compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_shape(const void *left, const void *right)
{
    const struct cluster_pod *a = left, *b = right; /* first members of counted */
    int c = compare(a->cpu_milli, b->cpu_milli);
    c = c ? c : compare(a->devices, b->devices);
    c = c ? c : compare(a->milli, b->milli);
    return c ? c : (a->types > b->types) - (a->types < b->types);
}

/* Equal shapes together, that with the memory that comes most first. */
static int by_memory(const void *left, const void *right)
{
    const struct counted *a = left, *b = right;
    int c = by_shape(a, b);
    c = c ? c : compare(b->n, a->n);
    return c ? c : compare(a->pod.memory_mib, b->pod.memory_mib);
}

static int by_count(const void *left, const void *right)
{
    const struct counted *a = left, *b = right;
    int c = compare(b->n, a->n);
    return c ? c : by_shape(a, b);
}

/* Shapes that differ in memory alone merged, the most frequent first; returns how many. */
static uint32_t count_shapes(const struct cluster_pods *pods, struct counted *all)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < pods->n_shapes; i++)
        all[i] = (struct counted){.pod = pods->shapes[i]};
    for (size_t i = 0; i < pods->n; i++)
        all[pods->rows[i]].n++;
    qsort(all, pods->n_shapes, sizeof *all, by_memory);
    for (uint32_t i = 0; i < pods->n_shapes; i++)
        if (n > 0 && by_shape(&all[n - 1], &all[i]) == 0)
            all[n - 1].n += all[i].n;
        else
            all[n++] = all[i];
    qsort(all, n, sizeof *all, by_count);
    return n;
}

static enum hr_err keep_typical(struct fragment *f, const struct counted *all, uint32_t n,
                                double wanted, struct arena *arena)
{
    f->pods = arena_array(arena, n, sizeof *f->pods);
    f->counts = arena_array(arena, n, sizeof *f->counts);
    if (!f->pods || !f->counts)
        return HR_NOMEM;
    for (uint32_t i = 0; i < n && all[i].n > 0 && (double)f->total < wanted; i++) {
        f->pods[f->n_pods] = all[i].pod;
        f->counts[f->n_pods++] = all[i].n;
        f->total += all[i].n;
    }
    return HR_OK;
}

/* ---- groups ---- */

static bool in_group(const struct fragment_group *g, const struct cluster_pod *pod)
{
    return g->devices == pod->devices && g->milli == pod->milli && g->types == pod->types;
}

static int by_value(const void *a, const void *b)
{
    return compare(*(const int64_t *)a, *(const int64_t *)b);
}

static void find_groups(struct fragment *f)
{
    for (uint32_t i = 0; i < f->n_pods; i++) {
        const struct cluster_pod *pod = &f->pods[i];
        uint32_t g = 0, c = 0;
        while (g < f->n_groups && !in_group(&f->groups[g], pod))
            g++;
        if (pod->devices > 0 && g == f->n_groups)
            f->groups[f->n_groups++] =
                (struct fragment_group){pod->devices, pod->milli, pod->types};
        while (c < f->n_cpus && f->cpus[c] != pod->cpu_milli)
            c++;
        if (c == f->n_cpus)
            f->cpus[f->n_cpus++] = pod->cpu_milli;
    }
    qsort(f->cpus, f->n_cpus, sizeof *f->cpus, by_value);
}

static enum hr_err weigh_groups(struct fragment *f, struct arena *arena)
{
    f->groups = arena_array(arena, f->n_pods, sizeof *f->groups);
    f->cpus = arena_array(arena, f->n_pods, sizeof *f->cpus);
    if (!f->groups || !f->cpus)
        return HR_NOMEM;
    find_groups(f);
    f->weights = arena_array(arena, (size_t)(f->n_cpus + 1) * f->n_groups, sizeof *f->weights);
    if (!f->weights)
        return HR_NOMEM;
    for (uint32_t i = 0; i < f->n_pods; i++)
        for (uint32_t g = 0; g < f->n_groups; g++)
            if (in_group(&f->groups[g], &f->pods[i]))
                for (uint32_t c = 0; c < f->n_cpus; c++)
                    if (f->cpus[c] >= f->pods[i].cpu_milli)
                        f->weights[(size_t)(c + 1) * f->n_groups + g] += f->counts[i];
    return HR_OK;
}

/* floor(100 sigmoid(x)) >= k where x >= ln(k / (100 - k)); x = fall / (1000 W). At k = 50 exactly
 * 0: a pod that leaves the fragment as it is has score 50. */
static void find_steps(struct fragment *f)
{
    f->steps[0] = INT64_MIN;
    for (int k = 1; k < FRAGMENT_SCORES; k++)
        f->steps[k] = (int64_t)ceil(log((double)k / (FRAGMENT_SCORES - k)) * CLUSTER_MILLI *
                                    (double)f->total);
}

enum hr_err fragment_init(struct fragment *f, const struct cluster_pods *pods, double cover_frac,
                          struct arena *arena)
{
    memset(f, 0, sizeof *f);
    struct counted *all = calloc(pods->n_shapes + 1, sizeof *all);
    if (!all)
        return HR_NOMEM;
    uint32_t n = count_shapes(pods, all);
    enum hr_err err = keep_typical(f, all, n, cover_frac * (double)pods->n, arena);
    free(all);
    TRY(err);
    TRY(weigh_groups(f, arena));
    find_steps(f);
    return HR_OK;
}

/* ---- nodes ---- */

static const int64_t *weights_at(const struct fragment *f, int64_t cpu_milli)
{
    uint32_t low = 0, high = f->n_cpus; /* how many needs are met */
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (f->cpus[middle] <= cpu_milli)
            low = middle + 1;
        else
            high = middle;
    }
    return f->weights + (size_t)low * f->n_groups;
}

/* What a room offers a group; false when its type is not accepted. */
static bool offer(const struct cluster_room *room, const struct fragment_group *group,
                  uint32_t *count, uint32_t *above)
{
    *count = *above = 0;
    if (group->types != 0 && !(group->types >> room->type & 1))
        return false;
    for (uint32_t d = 0; d < room->devices; d++)
        if (room->left[d] >= group->milli) {
            ++*count;
            *above += room->left[d];
        }
    return true;
}

void fragment_look(const struct fragment *f, const struct cluster_room *room,
                   struct fragment_view *out)
{
    const int64_t *weights = weights_at(f, room->cpu_milli);
    out->usable = 0;
    for (uint32_t g = 0; g < f->n_groups; g++) {
        bool accepted = offer(room, &f->groups[g], &out->counts[g], &out->above[g]);
        if (accepted && out->counts[g] >= f->groups[g].devices)
            out->usable += weights[g] * out->above[g];
    }
}

/* The same without a view: of a room that is not kept. */
static int64_t usable_of(const struct fragment *f, const struct cluster_room *room)
{
    const int64_t *weights = weights_at(f, room->cpu_milli);
    int64_t usable = 0;
    for (uint32_t g = 0; g < f->n_groups; g++) {
        uint32_t count, above;
        if (offer(room, &f->groups[g], &count, &above) && count >= f->groups[g].devices)
            usable += weights[g] * above;
    }
    return usable;
}

double fragment_milli(const struct fragment *f, const struct cluster_room *room)
{
    return (double)room->idle_milli - (double)usable_of(f, room) / (double)f->total;
}

uint32_t fragment_stranded(const struct fragment *f, const struct cluster_room *room)
{
    const int64_t *weights = weights_at(f, room->cpu_milli);
    uint32_t most = 0, count, above;
    for (uint32_t g = 0; g < f->n_groups; g++)
        if (weights[g] > 0 && offer(room, &f->groups[g], &count, &above) &&
            count >= f->groups[g].devices && above > most)
            most = above;
    return room->idle_milli - most;
}

/* Usable after n devices went from so much left to so much; counts of groups that do not accept the
 * type mean nothing. */
static int64_t usable_after(const struct fragment *f, const struct cluster_room *room,
                            const struct fragment_view *view, const int64_t *weights, uint32_t n,
                            uint32_t before, uint32_t after)
{
    int64_t usable = 0;
    for (uint32_t g = 0; g < f->n_groups; g++) {
        const struct fragment_group *group = &f->groups[g];
        uint32_t was = before >= group->milli, is = after >= group->milli;
        uint32_t count = view->counts[g] - n * (was - is);
        uint32_t above = view->above[g] - n * (was * before - is * after);
        bool fits =
            count >= group->devices && (group->types == 0 || (group->types >> room->type & 1));
        usable += fits ? weights[g] * above : 0;
    }
    return usable;
}

static int32_t score_of(const struct fragment *f, int64_t fall)
{
    int32_t low = 0, high = FRAGMENT_SCORES - 1;
    while (low < high) {
        int32_t middle = (low + high + 1) / 2;
        if (f->steps[middle] <= fall)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* W (F before - F after) = W milli taken - (usable before - usable after). */
static int64_t fall_of(const struct fragment *f, const struct fragment_view *view,
                       const struct cluster_pod *pod, int64_t usable)
{
    return f->total * (int64_t)cluster_asks(pod) - (view->usable - usable);
}

static int32_t score_shared(const struct fragment *f, const struct cluster_room *room,
                            const struct fragment_view *view, const struct cluster_pod *pod,
                            const int64_t *weights, uint32_t *devices)
{
    int32_t best = -1;
    for (uint32_t d = 0; d < room->devices; d++) {
        uint32_t left = room->left[d], earlier = 0;
        while (earlier < d && room->left[earlier] != left)
            earlier++;
        if (left < pod->milli || earlier < d)
            continue;
        int64_t usable = usable_after(f, room, view, weights, 1, left, left - pod->milli);
        int32_t score = score_of(f, fall_of(f, view, pod, usable));
        if (score > best) {
            best = score;
            *devices = 1u << d;
        }
    }
    return best;
}

int32_t fragment_score(const struct fragment *f, const struct cluster_room *room,
                       const struct fragment_view *view, const struct cluster_pod *pod,
                       uint32_t *devices)
{
    const int64_t *weights = weights_at(f, room->cpu_milli - pod->cpu_milli);
    if (pod->devices == 1 && pod->milli < CLUSTER_MILLI)
        return score_shared(f, room, view, pod, weights, devices);
    *devices = cluster_smallest(room, pod);
    if (pod->milli == CLUSTER_MILLI || pod->devices == 0) {
        int64_t usable = usable_after(f, room, view, weights, pod->devices, CLUSTER_MILLI, 0);
        return score_of(f, fall_of(f, view, pod, usable));
    }
    struct cluster_room after = *room; /* several devices in part */
    cluster_take(&after, pod, *devices);
    return score_of(f, fall_of(f, view, pod, usable_of(f, &after)));
}
