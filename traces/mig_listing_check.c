/* What rows of MIG listings mean on a type of GPU, and what contradicts it. */
#include "traces/mig_listing.h"

#include <stdlib.h>
#include <string.h>

static uint8_t profile_of(const struct mig_listing_row *row, const struct mig_gpu *gpu)
{
    return row->name ? mig_profile_find(gpu, row->name) : mig_profile_by_id(gpu, row->id);
}

static bool row_matches(const struct mig_listing_row *row, const struct mig_gpu *gpu)
{
    const uint8_t p = profile_of(row, gpu);
    return p < gpu->n_profiles && gpu->profiles[p].id == row->id &&
           (row->starts == 0 || row->starts == gpu->profiles[p].starts);
}

const struct gpu_type *mig_listing_type(const struct mig_listing *l, const struct hardware *h)
{
    for (size_t g = 0; g < h->n_gpus; g++) {
        size_t i = 0;
        while (i < l->n && row_matches(&l->rows[i], &h->gpus[g].mig))
            i++;
        if (i == l->n && h->gpus[g].mig.n_profiles)
            return &h->gpus[g];
    }
    return NULL;
}

/* The profile of a row, by its name (else its id); said when the type has none, or another id. */
static bool find_profile(const struct mig_listing *l, const struct mig_listing_row *row,
                         const struct mig_gpu *gpu, uint8_t *profile)
{
    const char *names[MIG_PROFILES];
    *profile = profile_of(row, gpu);
    for (uint8_t p = 0; p < gpu->n_profiles; p++)
        names[p] = gpu->profiles[p].name;
    if (*profile == gpu->n_profiles && row->name) {
        lines_error(&l->lines, row->line, strstr(l->lines.items[row->line], row->name),
                    diag_nearest(row->name, names, gpu->n_profiles), "this GPU has no profile '%s'",
                    row->name);
        return false;
    }
    if (*profile == gpu->n_profiles || gpu->profiles[*profile].id != row->id) {
        const bool known = *profile < gpu->n_profiles;
        lines_error(&l->lines, row->line, NULL, NULL, "%u is not the id of %s%s", row->id,
                    known ? "profile " : "any profile of this GPU",
                    known ? gpu->profiles[*profile].name : "");
        return false;
    }
    return true;
}

static bool place(const struct mig_listing *l, const struct mig_listing_row *row,
                  const struct mig_tables *t, uint8_t profile, struct mig_layout *layout)
{
    const struct mig_profile *p = &t->gpu.profiles[profile];
    const char *at = strchr(l->lines.items[row->line], ':');
    if (row->size != p->memory)
        lines_error(&l->lines, row->line, at, NULL, "%s takes %u memory slices, not %u", p->name,
                    p->memory, row->size);
    else if (row->start >= MIG_SLICES || !(p->starts >> row->start & 1))
        lines_error(&l->lines, row->line, at, NULL, "%s may not begin at %u", p->name, row->start);
    else if (!mig_legal(t, layout->left, profile, (uint8_t)row->start))
        lines_error(&l->lines, row->line, at, NULL,
                    "%s at %u does not fit beside the instances above", p->name, row->start);
    else {
        mig_layout_add(t, layout, profile, (uint8_t)row->start);
        return true;
    }
    return false;
}

static int by_gpu(const void *a, const void *b)
{
    const struct mig_gpu_layout *x = a, *y = b;
    return (x->gpu > y->gpu) - (x->gpu < y->gpu);
}

enum hr_err mig_listing_layouts(const struct mig_listing *l, const struct mig_tables *t,
                                struct arena *arena, struct mig_gpu_layout **out, size_t *n)
{
    bool bad = false;
    *n = 0;
    *out = arena_array(arena, l->n, sizeof **out);
    if (!*out)
        return HR_NOMEM;
    if (l->kind != MIG_LIST_INSTANCES) {
        lines_error(&l->lines, 0, NULL, NULL,
                    "says which profiles there are, not which instances; "
                    "nvidia-smi mig -lgi lists those");
        return HR_INPUT;
    }
    for (size_t i = 0; i < l->n; i++) {
        const struct mig_listing_row *row = &l->rows[i];
        uint8_t profile;
        size_t g = 0;
        while (g < *n && (*out)[g].gpu != row->gpu)
            g++;
        if (g == *n) {
            (*out)[(*n)++].gpu = row->gpu;
            mig_layout_empty(t, &(*out)[g].layout);
        }
        if (!find_profile(l, row, &t->gpu, &profile) ||
            !place(l, row, t, profile, &(*out)[g].layout))
            bad = true;
    }
    if (*n)
        qsort(*out, *n, sizeof **out, by_gpu);
    return bad ? HR_INPUT : HR_OK;
}

enum hr_err mig_listing_compare(const struct mig_listing *l, const struct mig_gpu *gpu)
{
    bool bad = false;
    for (size_t i = 0; i < l->n; i++) {
        const struct mig_listing_row *row = &l->rows[i];
        uint8_t profile;
        if (!find_profile(l, row, gpu, &profile)) {
            bad = true;
            continue;
        }
        const struct mig_profile *p = &gpu->profiles[profile];
        const char *what = NULL;
        if (l->kind == MIG_LIST_PROFILES && row->n_total != p->max)
            what = "number of instances";
        else if (l->kind == MIG_LIST_PROFILES && p->n_sm && row->n_sm != p->n_sm)
            what = "number of SMs";
        else if (l->kind == MIG_LIST_PLACEMENTS && row->starts != p->starts)
            what = "list of starts";
        else if (l->kind == MIG_LIST_PLACEMENTS && row->size != p->memory)
            what = "size";
        if (what) {
            lines_error(&l->lines, row->line, NULL, NULL, "%s has another %s than this type of GPU",
                        p->name, what);
            bad = true;
        }
    }
    return bad ? HR_INPUT : HR_OK;
}
