/* Rows of scores that are brought up to date when their shape is asked for. */
#include "models/packing/packer.h"

#include "sim/vec.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 64, REFUSED = INT32_MIN };

/* Scores of one shape on all nodes, as of a place in the log. */
struct packer_row {
    int32_t *scores; /* NULL: not asked for yet */
    int32_t *best;   /* of each block */
    size_t seen;
};

enum hr_err packer_init(struct packer *p, const struct policy *policy, enum policy_ties ties,
                        const struct cluster_nodes *nodes, const struct cluster_pods *pods,
                        const struct fragment *fragment, const struct rng *rng, struct arena *arena)
{
    *p = (struct packer){.policy = policy,
                         .pods = pods,
                         .fragment = fragment,
                         .n_nodes = nodes->n,
                         .n_blocks = (nodes->n + BLOCK - 1) / BLOCK,
                         .ties = policy->fixed_ties ? policy->ties : ties,
                         .rng = *rng,
                         .arena = arena};
    uint32_t groups = policy->looks ? fragment->n_groups : 0;
    uint32_t *numbers = arena_array(arena, 2 * (size_t)groups * nodes->n, sizeof *numbers);
    p->rooms = arena_array(arena, nodes->n, sizeof *p->rooms);
    p->views = arena_array(arena, nodes->n, sizeof *p->views);
    p->changed = arena_array(arena, nodes->n, sizeof *p->changed);
    p->rows = arena_array(arena, pods->n_shapes, sizeof *p->rows);
    if (!numbers || !p->rooms || !p->views || !p->changed || !p->rows)
        return HR_NOMEM;
    for (uint32_t i = 0; i < nodes->n; i++) {
        cluster_open(&nodes->rows[i], &p->rooms[i]);
        p->views[i].counts = numbers + 2 * (size_t)groups * i;
        p->views[i].above = p->views[i].counts + groups;
        if (policy->looks)
            fragment_look(fragment, &p->rooms[i], &p->views[i]);
    }
    return HR_OK;
}

void packer_fini(struct packer *p)
{
    vec_free(&p->log);
}

/* ---- scores ---- */

static int32_t score_node(const struct packer *p, const struct cluster_pod *pod, uint32_t node,
                          uint32_t *devices)
{
    const struct policy_node view = {&p->rooms[node], p->fragment, &p->views[node]};
    return cluster_fits(view.room, pod) ? p->policy->score(&view, pod, devices) : REFUSED;
}

static void renew_block(const struct packer *p, struct packer_row *row, uint32_t block)
{
    uint32_t end = (block + 1) * BLOCK < p->n_nodes ? (block + 1) * BLOCK : p->n_nodes;
    int32_t best = REFUSED;
    for (uint32_t i = block * BLOCK; i < end; i++)
        best = row->scores[i] > best ? row->scores[i] : best;
    row->best[block] = best;
}

/* Neighbours in the list are often alike and stay so until something is placed there. */
static enum hr_err open_row(const struct packer *p, const struct cluster_pod *pod,
                            struct packer_row *row)
{
    uint32_t devices;
    row->scores = arena_array(p->arena, p->n_nodes, sizeof *row->scores);
    row->best = arena_array(p->arena, p->n_blocks, sizeof *row->best);
    if (!row->scores || !row->best)
        return HR_NOMEM;
    for (uint32_t i = 0; i < p->n_nodes; i++) {
        bool alike = i > 0 && memcmp(&p->rooms[i], &p->rooms[i - 1], sizeof *p->rooms) == 0;
        row->scores[i] = alike ? row->scores[i - 1] : score_node(p, pod, i, &devices);
    }
    for (uint32_t b = 0; b < p->n_blocks; b++)
        renew_block(p, row, b);
    row->seen = p->log.n;
    return HR_OK;
}

/* A block is read again only where its best score went down. */
static void renew_row(const struct packer *p, const struct cluster_pod *pod, struct packer_row *row)
{
    uint32_t devices;
    for (size_t i = row->seen; i < p->log.n; i++) {
        uint32_t node = p->log.items[i], block = node / BLOCK;
        if (p->changed[node] != i + 1)
            continue;
        int32_t was = row->scores[node], score = score_node(p, pod, node, &devices);
        row->scores[node] = score;
        if (score >= row->best[block])
            row->best[block] = score;
        else if (was == row->best[block])
            renew_block(p, row, block);
    }
    row->seen = p->log.n;
}

/* ---- the best ---- */

static uint32_t count_equal(const int32_t *scores, uint32_t n, int32_t score)
{
    uint32_t equal = 0;
    for (uint32_t i = 0; i < n; i++)
        equal += scores[i] == score;
    return equal;
}

/* Number k, from 0, among the nodes of this score. */
static uint32_t find_equal(const struct packer *p, const struct packer_row *row, int32_t score,
                           uint64_t k)
{
    for (uint32_t b = 0; b < p->n_blocks; b++) {
        if (row->best[b] != score)
            continue;
        uint32_t end = (b + 1) * BLOCK < p->n_nodes ? (b + 1) * BLOCK : p->n_nodes;
        for (uint32_t i = b * BLOCK; i < end; i++)
            if (row->scores[i] == score && k-- == 0)
                return i;
    }
    return CLUSTER_NOWHERE;
}

static uint32_t choose(struct packer *p, const struct packer_row *row)
{
    int32_t best = REFUSED;
    for (uint32_t b = 0; b < p->n_blocks; b++)
        best = row->best[b] > best ? row->best[b] : best;
    if (best == REFUSED)
        return CLUSTER_NOWHERE;
    if (p->ties == POLICY_TIE_NAME)
        return find_equal(p, row, best, 0);
    return find_equal(p, row, best, rng_below(&p->rng, count_equal(row->scores, p->n_nodes, best)));
}

/* A device with enough left, uniformly; whole ones are the lowest free ones. */
static uint32_t random_device(struct packer *p, const struct cluster_room *room,
                              const struct cluster_pod *pod)
{
    uint32_t n = 0;
    if (pod->devices != 1 || pod->milli == CLUSTER_MILLI)
        return cluster_smallest(room, pod);
    for (uint32_t d = 0; d < room->devices; d++)
        n += room->left[d] >= pod->milli;
    uint64_t k = rng_below(&p->rng, n);
    for (uint32_t d = 0;; d++)
        if (room->left[d] >= pod->milli && k-- == 0)
            return 1u << d;
}

static uint32_t choose_devices(struct packer *p, const struct cluster_pod *pod, uint32_t node)
{
    uint32_t devices = 0;
    if (p->policy->devices == POLICY_SMALLEST)
        return cluster_smallest(&p->rooms[node], pod);
    if (p->policy->devices == POLICY_ANY_DEVICE)
        return random_device(p, &p->rooms[node], pod);
    score_node(p, pod, node, &devices);
    return devices;
}

/* ---- changes ---- */

static enum hr_err note_change(struct packer *p, uint32_t node)
{
    if (p->policy->looks)
        fragment_look(p->fragment, &p->rooms[node], &p->views[node]);
    if (!vec_push(&p->log, node))
        return HR_NOMEM;
    p->changed[node] = p->log.n;
    return HR_OK;
}

enum hr_err packer_place(struct packer *p, uint32_t shape, uint32_t *node, uint32_t *devices)
{
    const struct cluster_pod *pod = &p->pods->shapes[shape];
    struct packer_row *row = &p->rows[shape];
    if (!row->scores)
        TRY(open_row(p, pod, row));
    else
        renew_row(p, pod, row);
    *node = choose(p, row);
    if (*node == CLUSTER_NOWHERE)
        return HR_OK;
    *devices = choose_devices(p, pod, *node);
    cluster_take(&p->rooms[*node], pod, *devices);
    return note_change(p, *node);
}

enum hr_err packer_remove(struct packer *p, uint32_t shape, uint32_t node, uint32_t devices)
{
    cluster_give(&p->rooms[node], &p->pods->shapes[shape], devices);
    return note_change(p, node);
}
