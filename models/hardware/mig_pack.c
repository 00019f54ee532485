/* The exact packer: patterns, rounding down the relaxation, branch and bound on what is left.
 *
 * A node of the search is a demand and a number of GPUs. Some GPU must hold an instance of the
 * largest profile still asked for, so the branches are the patterns that have one, cut to the
 * demand. A node fails when the relaxation needs more GPUs; failed nodes are remembered. */
#include "models/hardware/mig_pack.h"
#include "sim/vec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    STEPS = 2000000,    /* of one search */
    DEEPEST = 256,      /* GPUs that a search over everything may place one by one */
    MOST_PATTERNS = 512 /* real GPUs have some dozen */
};

#define LP_SLACK                                                                                   \
    1e-6 /* of the relaxation, far above its rounding and below 1 / any determinant                \
          */

/* ---- patterns ---- */

struct collecting {
    const struct mig_tables *t;
    struct {
        struct mig_pattern *items;
        size_t n, capacity;
    } patterns;
    bool no_memory;
};

static bool covers(const uint8_t a[MIG_PROFILES], const uint8_t b[MIG_PROFILES])
{
    for (int p = 0; p < MIG_PROFILES; p++)
        if (a[p] < b[p])
            return false;
    return true;
}

static void collect(void *self, const struct mig_layout *l)
{
    struct collecting *c = self;
    struct mig_pattern pattern = {.layout = *l};
    for (uint8_t i = 0; i < l->n; i++)
        pattern.n[l->items[i].profile]++;
    size_t kept = 0;
    for (size_t i = 0; i < c->patterns.n; i++)
        if (covers(c->patterns.items[i].n, pattern.n))
            return;
    for (size_t i = 0; i < c->patterns.n; i++)
        if (!covers(pattern.n, c->patterns.items[i].n))
            c->patterns.items[kept++] = c->patterns.items[i];
    c->patterns.n = kept;
    if (!vec_push(&c->patterns, pattern))
        c->no_memory = true;
}

static int by_slices(const void *a, const void *b)
{
    const struct mig_pattern *x = a, *y = b;
    const int memory = __builtin_popcount(mig_free_memory(x->layout.left)) -
                       __builtin_popcount(mig_free_memory(y->layout.left));
    return memory ? memory : memcmp(y->n, x->n, sizeof x->n);
}

enum hr_err mig_packer_init(struct mig_packer *packer, const struct mig_tables *t,
                            struct arena *arena)
{
    struct collecting c = {.t = t};
    mig_layouts(t, 0xff, true, collect, &c);
    *packer = (struct mig_packer){t, arena_array(arena, c.patterns.n, sizeof *packer->patterns),
                                  c.patterns.n};
    const bool ok = !c.no_memory && packer->patterns;
    if (ok) {
        memcpy(packer->patterns, c.patterns.items, c.patterns.n * sizeof *packer->patterns);
        qsort(packer->patterns, packer->n_patterns, sizeof *packer->patterns, by_slices);
    }
    vec_free(&c.patterns);
    if (packer->n_patterns > MOST_PATTERNS)
        return HR_LIMIT;
    return ok ? HR_OK : HR_NOMEM;
}

/* ---- bounds ---- */

uint32_t mig_pack_slice_bound(const struct mig_gpu *gpu, const uint32_t demand[MIG_PROFILES])
{
    uint64_t compute = 0, memory = 0;
    for (uint8_t p = 0; p < gpu->n_profiles; p++) {
        compute += (uint64_t)demand[p] * gpu->profiles[p].compute;
        memory += (uint64_t)demand[p] * gpu->profiles[p].memory;
    }
    const uint64_t by_compute = (compute + gpu->compute - 1) / gpu->compute;
    const uint64_t by_memory = (memory + gpu->memory - 1) / gpu->memory;
    return (uint32_t)(by_compute > by_memory ? by_compute : by_memory);
}

uint32_t mig_pack_unmixed(const struct mig_gpu *gpu, const uint32_t demand[MIG_PROFILES])
{
    uint32_t n = 0;
    for (uint8_t p = 0; p < gpu->n_profiles; p++)
        n += (demand[p] + gpu->profiles[p].max - 1) / gpu->profiles[p].max;
    return n;
}

/* ---- search ---- */

struct node {
    uint32_t demand[MIG_PROFILES], n_gpus;
};

struct cut { /* a pattern, cut to a demand */
    uint16_t pattern;
    uint8_t n[MIG_PROFILES];
};

struct search {
    const struct mig_packer *packer;
    struct node *failed; /* open hash table; n_gpus 0: empty */
    size_t n_failed, n_slots;
    uint32_t steps;
    bool given_up, no_memory;
    struct {
        struct cut *items;
        size_t n, capacity;
    } chosen; /* of the way down */
};

enum { FIRST_SLOTS = 1024 };

static struct node *slot_of(const struct search *s, const struct node *node)
{
    uint64_t h = node->n_gpus;
    for (int p = 0; p < MIG_PROFILES; p++)
        h = (h ^ node->demand[p]) * UINT64_C(0x9e3779b97f4a7c15) ^ h >> 29;
    size_t i = (size_t)(h >> 20) & (s->n_slots - 1);
    while (s->failed[i].n_gpus && memcmp(&s->failed[i], node, sizeof *node) != 0)
        i = (i + 1) & (s->n_slots - 1);
    return &s->failed[i];
}

static void remember(struct search *s, const struct node *node)
{
    if (2 * s->n_failed >= s->n_slots) {
        struct search larger = *s;
        larger.n_slots = s->n_slots ? 2 * s->n_slots : FIRST_SLOTS;
        larger.failed = calloc(larger.n_slots, sizeof *larger.failed);
        if (!larger.failed) {
            s->no_memory = true;
            return;
        }
        for (size_t i = 0; i < s->n_slots; i++)
            if (s->failed[i].n_gpus)
                *slot_of(&larger, &s->failed[i]) = s->failed[i];
        free(s->failed);
        s->failed = larger.failed;
        s->n_slots = larger.n_slots;
    }
    *slot_of(s, node) = *node;
    s->n_failed++;
}

/* The patterns that have the profile, cut to the demand, none part of another. */
static size_t branches(const struct search *s, const struct node *node, uint8_t profile,
                       struct cut *out)
{
    size_t n = 0;
    for (size_t i = 0; i < s->packer->n_patterns; i++) {
        const struct mig_pattern *pattern = &s->packer->patterns[i];
        struct cut cut = {.pattern = (uint16_t)i};
        if (!pattern->n[profile])
            continue;
        for (int p = 0; p < MIG_PROFILES; p++)
            cut.n[p] = pattern->n[p] < node->demand[p] ? pattern->n[p] : (uint8_t)node->demand[p];
        size_t kept = 0;
        bool part = false;
        for (size_t j = 0; j < n && !part; j++)
            part = covers(out[j].n, cut.n);
        if (part)
            continue;
        for (size_t j = 0; j < n; j++)
            if (!covers(cut.n, out[j].n))
                out[kept++] = out[j];
        n = kept;
        out[n++] = cut;
    }
    return n;
}

static uint32_t lower_bound(const struct mig_packer *packer, const uint32_t demand[MIG_PROFILES])
{
    return (uint32_t)ceil(mig_pack_relaxed(packer, demand, NULL) - LP_SLACK);
}

static bool search(struct search *s, const struct node *node)
{
    uint8_t profile = MIG_PROFILES;
    while (profile > 0 && node->demand[profile - 1] == 0)
        profile--;
    if (profile == 0)
        return true;
    if (node->n_gpus == 0 || s->given_up || s->no_memory ||
        mig_pack_slice_bound(&s->packer->t->gpu, node->demand) > node->n_gpus)
        return false;
    if (s->n_slots && slot_of(s, node)->n_gpus)
        return false;
    if (++s->steps > STEPS) {
        s->given_up = true;
        return false;
    }
    if (lower_bound(s->packer, node->demand) <= node->n_gpus) {
        struct cut cuts[MOST_PATTERNS];
        const size_t n = branches(s, node, profile - 1, cuts);
        for (size_t i = 0; i < n; i++) {
            struct node next = *node;
            next.n_gpus--;
            for (int p = 0; p < MIG_PROFILES; p++)
                next.demand[p] -= cuts[i].n[p];
            if (!vec_push(&s->chosen, cuts[i])) {
                s->no_memory = true;
                return false;
            }
            if (search(s, &next))
                return true;
            s->chosen.n--;
        }
    }
    remember(s, node);
    return false;
}

/* The fewest GPUs from at_least on, below limit; limit when there is no such number. */
static uint32_t fewest(struct search *s, const uint32_t demand[MIG_PROFILES], uint32_t at_least,
                       uint32_t limit)
{
    struct node node = {.n_gpus = at_least};
    memcpy(node.demand, demand, sizeof node.demand);
    while (node.n_gpus < limit && !s->no_memory && !s->given_up && !search(s, &node))
        node.n_gpus++;
    return node.n_gpus;
}

/* ---- plan ---- */

static void cut_layout(const struct mig_packer *packer, const struct cut *cut,
                       struct mig_layout *out)
{
    const struct mig_layout *from = &packer->patterns[cut->pattern].layout;
    uint8_t left[MIG_PROFILES];
    memcpy(left, cut->n, sizeof left);
    mig_layout_empty(packer->t, out);
    for (uint8_t i = 0; i < from->n; i++)
        if (left[from->items[i].profile]) {
            left[from->items[i].profile]--;
            mig_layout_add(packer->t, out, from->items[i].profile, from->items[i].start);
        }
}

static void plan_add(struct mig_plan *plan, const struct mig_layout *layout, uint32_t n_gpus)
{
    size_t i = 0;
    while (i < plan->n_rows &&
           (plan->rows[i].layout.n != layout->n ||
            memcmp(plan->rows[i].layout.items, layout->items, layout->n * sizeof *layout->items)))
        i++;
    if (i == plan->n_rows)
        plan->rows[plan->n_rows++] = (struct mig_plan_row){.layout = *layout};
    plan->rows[i].n_gpus += n_gpus;
    plan->n_gpus += n_gpus;
}

struct whole { /* GPUs that the relaxation has in full */
    struct cut cut;
    uint32_t n_gpus;
};

/* Takes whole GPUs of one pattern off the demand; where less is left of a profile than they hold,
 * the pattern is cut. Returns the number of rows. */
static size_t take_whole(const struct mig_packer *packer, size_t pattern, uint32_t n_gpus,
                         struct whole *rows, uint32_t left[MIG_PROFILES])
{
    size_t n = 0;
    while (n_gpus > 0) {
        struct whole *row = &rows[n];
        bool any = false;
        *row = (struct whole){{.pattern = (uint16_t)pattern}, n_gpus};
        for (int p = 0; p < MIG_PROFILES; p++) {
            const uint8_t most = packer->patterns[pattern].n[p];
            const uint8_t each = most < left[p] ? most : (uint8_t)left[p];
            row->cut.n[p] = each;
            any = any || each > 0;
            if (each && left[p] / each < row->n_gpus)
                row->n_gpus = left[p] / each;
        }
        if (!any)
            break;
        for (int p = 0; p < MIG_PROFILES; p++)
            left[p] -= row->n_gpus * row->cut.n[p];
        n_gpus -= row->n_gpus;
        n++;
    }
    return n;
}

/* The relaxation rounded down. What is left then would need less than a GPU for each profile, but
 * for what rounding to whole GPUs costs. */
struct rounded {
    struct whole *rows;
    size_t n;
    uint32_t n_gpus;
};

static enum hr_err round_down(const struct mig_packer *packer, const double *x, struct arena *arena,
                              uint32_t left[MIG_PROFILES], struct rounded *out)
{
    /* A row that ends early leaves less of a profile than a GPU holds; the next one uses it up. */
    *out = (struct rounded){
        .rows = arena_array(arena, packer->n_patterns + 2 * MIG_PROFILES, sizeof *out->rows)};
    if (!out->rows)
        return HR_NOMEM;
    for (size_t i = 0; i < packer->n_patterns; i++) {
        const size_t first = out->n;
        out->n += take_whole(packer, i, (uint32_t)(x[i] + LP_SLACK), &out->rows[first], left);
        for (size_t r = first; r < out->n; r++)
            out->n_gpus += out->rows[r].n_gpus;
    }
    return HR_OK;
}

static enum hr_err write_plan(const struct search *s, const struct rounded *rounded,
                              struct arena *arena, struct mig_plan *out)
{
    const size_t n_rounded = rounded ? rounded->n : 0;
    struct mig_layout layout;
    *out = (struct mig_plan){.n_gpus = 0};
    out->rows = arena_array(arena, n_rounded + s->chosen.n, sizeof *out->rows);
    if (!out->rows)
        return HR_NOMEM;
    for (size_t i = 0; i < n_rounded; i++) {
        cut_layout(s->packer, &rounded->rows[i].cut, &layout);
        plan_add(out, &layout, rounded->rows[i].n_gpus);
    }
    for (size_t i = 0; i < s->chosen.n; i++) {
        cut_layout(s->packer, &s->chosen.items[i], &layout);
        plan_add(out, &layout, 1);
    }
    return HR_OK;
}

static void search_free(struct search *s)
{
    free(s->failed);
    vec_free(&s->chosen);
}

enum hr_err mig_pack(const struct mig_packer *packer, const uint32_t demand[MIG_PROFILES],
                     struct arena *arena, struct mig_plan *out)
{
    double *x = arena_array(arena, packer->n_patterns, sizeof *x);
    struct search rest = {.packer = packer}, all = {.packer = packer};
    struct rounded rounded;
    uint32_t left[MIG_PROFILES];
    if (!x)
        return HR_NOMEM;
    memcpy(left, demand, sizeof left);
    const uint32_t bound = (uint32_t)ceil(mig_pack_relaxed(packer, demand, x) - LP_SLACK);
    TRY(round_down(packer, x, arena, left, &rounded));
    const uint32_t n_rest = fewest(&rest, left, lower_bound(packer, left), UINT32_MAX);
    const uint32_t with_rest = rounded.n_gpus + n_rest;
    enum hr_err err = rest.no_memory ? HR_NOMEM : rest.given_up ? HR_LIMIT : HR_OK;
    bool better = false;
    all.given_up = with_rest > bound && with_rest > DEEPEST;
    if (err == HR_OK && with_rest > bound)
        better = fewest(&all, demand, bound, with_rest) < with_rest && !all.given_up;
    if (err == HR_OK)
        err = all.no_memory
                  ? HR_NOMEM
                  : write_plan(better ? &all : &rest, better ? NULL : &rounded, arena, out);
    if (err == HR_OK)
        out->bound = all.given_up ? bound : out->n_gpus;
    search_free(&rest);
    search_free(&all);
    return err;
}
