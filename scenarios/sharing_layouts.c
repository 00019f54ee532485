/* Layouts of MIG GPUs in a scenario; sharing_layouts.h says what they are for. */
#include "scenarios/sharing_layouts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const rest_names[RESTS] = {"on-demand", "whole"};
const char *const relayout_names[RELAYOUTS] = {"no", "listed", "one-profile"};

/* Changing a node's layout by its label until all is up again: mig_reconfig_label_to_success_s. */
#define USUAL_RELAYOUT_S 37.0

enum { INSTANCE_BYTES = 64 };

/* ---- one instance ---- */

/* "3g.40gb@4" in two; false when there is no number of one digit behind the @. */
static bool split(const char *text, char name[INSTANCE_BYTES], uint8_t *start)
{
    const char *at = strchr(text, '@');
    size_t n = at ? (size_t)(at - text) : strlen(text);
    n = n < INSTANCE_BYTES ? n : INSTANCE_BYTES - 1;
    memcpy(name, text, n);
    name[n] = '\0';
    bool number = at && at[1] >= '0' && at[1] <= '7' && at[2] == '\0';
    *start = number ? (uint8_t)(at[1] - '0') : 0;
    return number;
}

/* The legal start at or before one, else the first. */
static uint8_t near_start(const struct mig_profile *p, uint8_t start)
{
    uint8_t found = (uint8_t)__builtin_ctz(p->starts);
    for (uint8_t i = 0; i <= start; i++)
        if (p->starts >> i & 1)
            found = i;
    return found;
}

/* The right word nearest to a text: NULL where none is near. */
static const char *nearest(const struct mig_gpu *gpu, const char *name, uint8_t start,
                           char out[INSTANCE_BYTES])
{
    const char *names[MIG_PROFILES];
    for (uint8_t i = 0; i < gpu->n_profiles; i++)
        names[i] = gpu->profiles[i].name;
    const char *near = diag_nearest(name, names, gpu->n_profiles);
    if (!near)
        return NULL;
    const struct mig_profile *p = &gpu->profiles[mig_profile_find(gpu, near)];
    snprintf(out, INSTANCE_BYTES, "%.40s@%u", near, near_start(p, start));
    return out;
}

static bool read_instance(const struct mig_gpu *gpu, const char *text, struct mig_instance *out)
{
    char name[INSTANCE_BYTES];
    if (!split(text, name, &out->start))
        return false;
    out->profile = mig_profile_find(gpu, name);
    return out->profile < gpu->n_profiles && gpu->profiles[out->profile].starts >> out->start & 1;
}

/* "0, 2 or 4" */
static const char *starts_of(const struct mig_profile *p, char out[INSTANCE_BYTES])
{
    size_t n = 0;
    out[0] = '\0';
    for (unsigned left = p->starts; left; left &= left - 1)
        n += (size_t)snprintf(out + n, INSTANCE_BYTES - n, "%s%d",
                              n == 0                ? ""
                              : (left & (left - 1)) ? ", "
                                                    : " or ",
                              __builtin_ctz(left));
    return out;
}

/* ---- checks ---- */

static void say_unread(const struct check *c, const void *where, const struct mig_gpu *gpu,
                       const char *text)
{
    char name[INSTANCE_BYTES], near[INSTANCE_BYTES], starts[INSTANCE_BYTES];
    uint8_t start;
    bool whole = split(text, name, &start);
    uint8_t p = mig_profile_find(gpu, name);
    const char *right = nearest(gpu, name, start, near);
    if (!whole)
        node_say(where, c->diags, DIAG_ERROR, right,
                 "layout: '%.40s' is no PROFILE@START such as 3g.40gb@4", text);
    else if (p == gpu->n_profiles)
        node_say(where, c->diags, DIAG_ERROR, right, "layout: '%.40s' is no profile of the GPU",
                 name);
    else
        node_say(where, c->diags, DIAG_ERROR, right, "layout: %.40s begins at %s, not at %u", name,
                 starts_of(&gpu->profiles[p], starts), start);
}

/* What instances leave of a GPU. */
struct left {
    unsigned memory, compute; /* memory: a bit each */
    bool media;
};

/* Why an instance has no place beside the others [mig_legality_rule]; NULL: it has. */
static const char *place(const struct mig_profile *p, uint8_t start, struct left *left)
{
    unsigned needed = ((1u << p->memory) - 1) << start;
    if (p->media && !left->media)
        return "one of them has the media engines";
    if ((left->memory & needed) != needed)
        return "one of them has memory slices of it";
    if (p->compute > left->compute)
        return "too few compute slices are left";
    left->memory &= ~needed;
    left->compute -= p->compute;
    left->media = left->media && !p->media;
    return NULL;
}

/* The instances are legal one after the other. */
static void check_instances(const struct check *c, const struct field_list *layout,
                            const struct mig_gpu *gpu)
{
    const char *const *items = layout->items;
    struct left left = {(1u << gpu->memory) - 1, gpu->compute, true};
    for (size_t i = 0; i < layout->n; i++) {
        struct mig_instance one;
        if (!items[i])
            continue;
        if (!read_instance(gpu, items[i], &one)) {
            say_unread(c, layout->where[i], gpu, items[i]);
            continue;
        }
        const char *obstacle = place(&gpu->profiles[one.profile], one.start, &left);
        if (obstacle)
            node_say(layout->where[i], c->diags, DIAG_ERROR, NULL,
                     "layout: %.40s cannot stand beside those before it: %s", items[i], obstacle);
    }
}

/* GPUs of an entry of the list: by number, or a share of the pool's, rounded down. */
static uint64_t gpus_of(const struct layout_spec *l, uint64_t gpus)
{
    if (l->gpus != FIELD_NO_WHOLE)
        return l->gpus;
    return isnan(l->share) ? 0 : (uint64_t)(l->share * (double)gpus + 1e-9);
}

static void check_list(const struct check *c, const struct sharing_spec *s,
                       const struct mig_gpu *gpu, uint64_t gpus)
{
    const struct layout_spec *layouts = s->layouts.items;
    uint64_t sum = 0;
    for (size_t i = 0; i < s->layouts.n; i++) {
        const struct layout_spec *l = &layouts[i];
        check_instances(c, &l->layout, gpu);
        if ((l->gpus == FIELD_NO_WHOLE) == isnan(l->share))
            check_say(c, DIAG_ERROR, l->at, NULL, NULL,
                      "a layout needs gpus or share, one of both");
        sum += gpus_of(l, gpus);
        if (sum > gpus && sum - gpus_of(l, gpus) <= gpus)
            check_say(c, DIAG_ERROR, l->at, isnan(l->share) ? "gpus" : "share", NULL,
                      "layouts: %llu GPUs so far, and the pool has %llu", (unsigned long long)sum,
                      (unsigned long long)gpus);
    }
}

/* Layouts that stay unless GPUs are re-laid. */
static size_t n_fixed(const struct sharing_spec *s)
{
    return (s->layout.n > 0) + s->layouts.n + (s->layouts.n > 0 && s->rest == REST_WHOLE);
}

void sharing_check_layouts(const struct check *c, const struct sharing_spec *s,
                           const struct mig_gpu *gpu, uint64_t gpus)
{
    static const char *const of_fixed[] = {"larger", "relayout"};
    static const char *const of_relayout[] = {"relayout_time", "relayout_keep"};
    check_instances(c, &s->layout, gpu);
    check_list(c, s, gpu, gpus);
    if (s->layout.n > 0 && s->layouts.n > 0)
        check_say(c, DIAG_ERROR, s->at, "layouts", NULL, "layout or layouts, not both");
    if (s->layouts.n == 0 && node_get(s->at, "rest"))
        check_say(c, DIAG_ERROR, s->at, "rest", "layouts", "rest is for GPUs beside layouts");
    for (size_t i = 0; i < 2 && n_fixed(s) == 0; i++)
        if (node_get(s->at, of_fixed[i]))
            check_say(c, DIAG_ERROR, s->at, of_fixed[i], "layouts",
                      "%s is for GPUs with a layout: here all instances are made as asked for",
                      of_fixed[i]);
    for (size_t i = 0; i < 2 && s->relayout == RELAYOUT_NO; i++)
        if (node_get(s->at, of_relayout[i]))
            check_say(c, DIAG_ERROR, s->at, of_relayout[i], "relayout",
                      "%s is for relayout: listed or one-profile", of_relayout[i]);
    if (s->relayout == RELAYOUT_LISTED && n_fixed(s) == 1)
        check_say(c, DIAG_ERROR, s->at, "relayout", "one-profile",
                  "relayout: listed needs a second layout; it may be one of 0 GPUs");
}

/* ---- the plan ---- */

struct build {
    struct arena *arena;
    const struct mig_gpu *gpu;
    struct slice_layout *layouts;
    uint32_t n;
    uint64_t left; /* GPUs that have no layout yet */
    enum hr_err error;
};

static void add(struct build *b, const struct mig_instance *items, size_t n, uint64_t gpus,
                struct slice_layout layout)
{
    struct mig_tables *t = arena_alloc(b->arena, sizeof *t);
    struct mig_profile *profiles = arena_array(b->arena, MIG_PROFILES, sizeof *profiles);
    struct mig_gpu gpu = *b->gpu;
    if (!t || !profiles) {
        b->error = HR_NOMEM;
        return;
    }
    if (layout.fixed)
        mig_gpu_fix(&gpu, items, n, profiles);
    mig_tables_init(t, &gpu, NULL);
    layout.mig = t;
    layout.gpus = (uint32_t)gpus;
    b->left -= gpus;
    b->layouts[b->n++] = layout;
}

static void add_listed(struct build *b, const struct field_list *list, uint64_t gpus,
                       struct slice_layout layout)
{
    const char *const *texts = list->items;
    struct mig_instance items[MIG_SLICES];
    size_t n = 0;
    for (size_t i = 0; i < list->n && n < MIG_SLICES; i++)
        n += read_instance(b->gpu, texts[i], &items[n]);
    add(b, items, n, gpus < b->left ? gpus : b->left, layout);
}

/* As many instances of a profile as there may be, from the lowest start. */
static void add_profile(struct build *b, uint8_t profile, uint64_t gpus, struct slice_layout layout)
{
    const struct mig_profile *p = &b->gpu->profiles[profile];
    struct mig_instance items[MIG_SLICES];
    size_t n = 0, most = mig_most_instances(b->gpu, p);
    for (uint8_t start = 0, end = 0; start < MIG_SLICES && n < most; start++)
        if (p->starts >> start & 1 && start >= end) {
            items[n++] = (struct mig_instance){profile, start};
            end = (uint8_t)(start + p->memory);
        }
    add(b, items, n, gpus, layout);
}

/* The profile of most memory slices, then of most compute slices, without media engines apart. */
static uint8_t largest(const struct mig_gpu *gpu)
{
    uint8_t best = 0;
    for (uint8_t i = 1; i < gpu->n_profiles; i++) {
        const struct mig_profile *p = &gpu->profiles[i], *q = &gpu->profiles[best];
        bool more = p->memory > q->memory || (p->memory == q->memory && p->compute > q->compute);
        if (!p->media && (more || q->media))
            best = i;
    }
    return best;
}

enum hr_err sharing_build_layouts(const struct check *c, const struct sharing_spec *s,
                                  const struct mig_gpu *gpu, uint64_t gpus,
                                  struct sharing_plan *out)
{
    const struct layout_spec *layouts = s->layouts.items;
    struct build b = {.arena = c->arena, .gpu = gpu, .left = gpus};
    if (n_fixed(s) == 0)
        return HR_OK;
    b.layouts = arena_array(c->arena, s->layouts.n + 3 + MIG_PROFILES, sizeof *b.layouts);
    if (!b.layouts)
        return HR_NOMEM;
    struct slice_layout on_demand = {.reconfigure_ns = out->reconfigure_ns};
    struct slice_layout fixed = {
        .fixed = true,
        .target = s->relayout == RELAYOUT_LISTED,
        .reconfigure_ns = isnan(s->reconfigure_s) ? 0 : out->reconfigure_ns,
    };
    struct slice_layout target = fixed;
    target.target = true;
    if (s->layout.n > 0)
        add_listed(&b, &s->layout, gpus, fixed);
    for (size_t i = 0; i < s->layouts.n; i++)
        add_listed(&b, &layouts[i].layout, gpus_of(&layouts[i], gpus), fixed);
    if (s->layouts.n > 0 && s->rest == REST_WHOLE)
        add_profile(&b, largest(gpu), b.left, fixed);
    else if (b.left > 0)
        add(&b, NULL, 0, b.left, on_demand);
    for (uint8_t p = 0; p < gpu->n_profiles && s->relayout == RELAYOUT_ONE_PROFILE; p++)
        add_profile(&b, p, 0, target);
    out->layouts = b.layouts;
    out->n_layouts = b.n;
    out->larger = s->larger;
    out->relayout_ns =
        sim_time_from_s(isnan(s->relayout_time_s) ? USUAL_RELAYOUT_S : s->relayout_time_s);
    out->keep_ns = isnan(s->relayout_keep_s) ? 0 : sim_time_from_s(s->relayout_keep_s);
    return b.error;
}
