/* Drawing of MIG layouts. A memory slice is eight columns wide, or three in lists; a free slice is
 * a dash, one that no instance can reach any more a cross. */
#include "analysis/mig_report.h"

#include "analysis/json.h"
#include "analysis/mig_order.h"

#include <string.h>

enum { WIDE = 8, NARROW = 3, DRAWN = WIDE * MIG_SLICES + 2 };

/* "1g.10gb" where it fits, else without its memory: "1g+me", "1g". */
static void label(const char *name, size_t room, char *out, size_t size)
{
    const char *dot = strchr(name, '.'), *plus = strchr(name, '+');
    const int stem = (int)(dot ? dot - name : (long)strlen(name));
    if (strlen(name) <= room)
        snprintf(out, size, "%s", name);
    else if (plus && (size_t)stem + strlen(plus) <= room)
        snprintf(out, size, "%.*s%s", stem, name, plus);
    else
        snprintf(out, size, "%.*s", (int)room < stem ? (int)room : stem, name);
}

static void draw(const struct mig_tables *t, const struct mig_layout *l, int width, char *out)
{
    char text[32];
    memset(out, ' ', DRAWN);
    for (uint8_t s = 0; s < t->gpu.memory; s++)
        if (mig_free_memory(l->left) >> s & 1) {
            out[s * width] = '|';
            out[s * width + width / 2] = t->lost_memory[l->left] >> s & 1 ? 'x' : '-';
        }
    for (uint8_t i = 0; i < l->n; i++) {
        const struct mig_profile *p = &t->gpu.profiles[l->items[i].profile];
        label(p->name, (size_t)(p->memory * width - 1), text, sizeof text);
        out[l->items[i].start * width] = '|';
        memcpy(out + l->items[i].start * width + 1, text, strlen(text));
    }
    out[t->gpu.memory * width] = '|';
    out[t->gpu.memory * width + 1] = '\0';
}

static void print_ruler(const struct mig_report *r)
{
    fputs("  ", r->out);
    for (unsigned s = 0; s < r->t->gpu.memory; s++)
        fprintf(r->out, "%*s%u", s ? WIDE - 1 : WIDE / 2, "", s);
    fputc('\n', r->out);
}

static void print_drawing(const struct mig_report *r, const struct mig_layout *l)
{
    char drawn[DRAWN + 1];
    draw(r->t, l, WIDE, drawn);
    fprintf(r->out, "  %s\n", drawn);
}

static void print_use(const struct mig_report *r, const struct mig_layout *l)
{
    const struct mig_gpu *gpu = &r->t->gpu;
    const unsigned n_sm = mig_layout_n_sm(gpu, l), free = mig_free_compute(l->left);
    const unsigned memory = (unsigned)__builtin_popcount(mig_free_memory(l->left));
    fprintf(r->out, "  compute %u of %u slices, memory %u of %u", gpu->compute - free, gpu->compute,
            gpu->memory - memory, gpu->memory);
    if (n_sm)
        fprintf(r->out, ", %u SMs", n_sm);
    fprintf(r->out, "; stranded: compute %u, memory %u\n", mig_stranded_compute(r->t, l->left),
            mig_stranded_memory(r->t, l->left));
}

void mig_report_drawing(const struct mig_report *r, const struct mig_layout *l)
{
    print_ruler(r);
    print_drawing(r, l);
    print_use(r, l);
}

/* ---- JSON ---- */

void mig_report_json_layout(struct json *j, const struct mig_report *r, const char *key,
                            const struct mig_layout *l)
{
    json_object(j, key);
    json_array(j, "instances", false);
    for (uint8_t i = 0; i < l->n; i++) {
        json_object(j, NULL);
        json_text(j, "profile", r->t->gpu.profiles[l->items[i].profile].name);
        json_whole(j, "start", l->items[i].start);
        json_whole(j, "size", r->t->gpu.profiles[l->items[i].profile].memory);
        json_close(j);
    }
    json_close(j);
    json_whole(j, "compute_free", mig_free_compute(l->left));
    json_whole(j, "memory_free", (unsigned)__builtin_popcount(mig_free_memory(l->left)));
    json_whole(j, "compute_stranded", mig_stranded_compute(r->t, l->left));
    json_whole(j, "memory_stranded", mig_stranded_memory(r->t, l->left));
    json_whole(j, "sm", mig_layout_n_sm(&r->t->gpu, l));
    json_object(j, "fits");
    for (uint8_t p = 0; p < r->t->gpu.n_profiles; p++)
        json_whole(j, r->t->gpu.profiles[p].name, r->t->fits[l->left][p]);
    json_close(j);
    json_close(j);
}

static void json_begin(struct json *j, const struct mig_report *r)
{
    json_init(j, r->out);
    json_object(j, NULL);
    json_text(j, "gpu", r->type->name);
}

/* ---- layouts ---- */

struct holding {
    const struct mig_report *r;
    struct json *j; /* NULL: text */
    const uint32_t *demand;
    size_t n, n_all;
    bool silent; /* only counts */
};

static void hold(void *self, const struct mig_layout *l)
{
    struct holding *h = self;
    uint32_t n[MIG_PROFILES] = {0};
    char drawn[DRAWN + 1];
    for (uint8_t i = 0; i < l->n; i++)
        n[l->items[i].profile]++;
    h->n_all++;
    for (int p = 0; p < MIG_PROFILES; p++)
        if (n[p] < h->demand[p])
            return;
    h->n++;
    if (h->silent)
        return;
    if (h->j) {
        mig_report_json_layout(h->j, h->r, NULL, l);
        return;
    }
    draw(h->r->t, l, NARROW, drawn);
    fprintf(h->r->out, "  %s", drawn);
    if (mig_layout_n_sm(&h->r->t->gpu, l))
        fprintf(h->r->out, "  %3u SMs", mig_layout_n_sm(&h->r->t->gpu, l));
    fprintf(h->r->out, "  stranded: compute %u, memory %u\n",
            mig_stranded_compute(h->r->t, l->left), mig_stranded_memory(h->r->t, l->left));
}

/* The profiles of the maximal layouts: the plain ones, and those demanded. */
static uint8_t shown(const struct mig_report *r, const uint32_t *demand)
{
    uint8_t profiles = mig_plain_profiles(&r->t->gpu);
    for (uint8_t p = 0; p < r->t->gpu.n_profiles; p++)
        if (demand[p])
            profiles |= (uint8_t)(1u << p);
    return profiles;
}

static void layouts_json(const struct mig_report *r, const uint32_t *demand,
                         const struct mig_plan *plan)
{
    struct json j;
    struct holding h = {.r = r, .j = &j, .demand = demand};
    json_begin(&j, r);
    json_whole(&j, "gpus", plan->n_gpus);
    json_whole(&j, "bound", plan->bound);
    json_array(&j, "plan", false);
    for (size_t i = 0; i < plan->n_rows; i++) {
        json_object(&j, NULL);
        json_whole(&j, "gpus", plan->rows[i].n_gpus);
        mig_report_json_layout(&j, r, "layout", &plan->rows[i].layout);
        json_close(&j);
    }
    json_close(&j);
    json_array(&j, "maximal_layouts", false);
    mig_layouts(r->t, shown(r, demand), true, hold, &h);
    json_close(&j);
    json_close(&j);
}

void mig_report_layouts(const struct mig_report *r, const uint32_t demand[MIG_PROFILES],
                        const struct mig_plan *plan)
{
    struct holding h = {.r = r, .demand = demand, .silent = true};
    if (r->json) {
        layouts_json(r, demand, plan);
        return;
    }
    fprintf(r->out, "%s\n", r->type->title);
    if (plan->n_gpus) {
        fprintf(r->out, "fewest GPUs: %u", plan->n_gpus);
        if (plan->bound < plan->n_gpus)
            fprintf(r->out, " (or fewer, but not below %u)", plan->bound);
        fprintf(r->out, "; by slices alone %u, one profile a GPU %u\n\n",
                mig_pack_slice_bound(&r->t->gpu, demand), mig_pack_unmixed(&r->t->gpu, demand));
    }
    for (size_t i = 0; i < plan->n_rows; i++) {
        fprintf(r->out, "  %u GPU%s\n", plan->rows[i].n_gpus, plan->rows[i].n_gpus > 1 ? "s" : "");
        mig_report_drawing(r, &plan->rows[i].layout);
    }
    mig_layouts(r->t, shown(r, demand), true, hold, &h);
    if (h.n == 0)
        return;
    fprintf(r->out, "%s%zu of %zu maximal layouts hold it on one GPU:\n", plan->n_gpus ? "\n" : "",
            h.n, h.n_all);
    h.silent = false;
    mig_layouts(r->t, shown(r, demand), true, hold, &h);
}

/* ---- what still fits ---- */

void mig_report_fits(const struct mig_report *r, const struct mig_gpu_layout *gpus, size_t n)
{
    if (r->json) {
        struct json j;
        json_begin(&j, r);
        json_array(&j, "gpus", false);
        for (size_t g = 0; g < n; g++) {
            json_object(&j, NULL);
            json_whole(&j, "number", gpus[g].gpu);
            mig_report_json_layout(&j, r, "layout", &gpus[g].layout);
            json_close(&j);
        }
        json_close(&j);
        json_close(&j);
        return;
    }
    for (size_t g = 0; g < n; g++) {
        const struct mig_layout *l = &gpus[g].layout;
        fprintf(r->out, "%sGPU %u, %s\n", g ? "\n" : "", gpus[g].gpu, r->type->title);
        mig_report_drawing(r, l);
        fputs("  still fits, each profile alone:\n", r->out);
        for (uint8_t p = 0; p < r->t->gpu.n_profiles; p++) {
            fprintf(r->out, "    %-12s %u", r->t->gpu.profiles[p].name, r->t->fits[l->left][p]);
            const char *sign = "   may begin at ";
            for (uint8_t s = 0; s < MIG_SLICES; s++)
                if (mig_legal(r->t, l->left, p, s)) {
                    fprintf(r->out, "%s%u", sign, s);
                    sign = ", ";
                }
            fputc('\n', r->out);
        }
    }
    if (n == 0)
        fputs("no instances\n", r->out);
}

/* ---- order of creation ---- */

static void print_sequence(const struct mig_report *r, const struct mig_sequence *s)
{
    for (size_t i = 0; i < s->n; i++) {
        const char *name = r->t->gpu.profiles[s->profiles[i]].name;
        if (s->starts[i] == MIG_NO_START)
            fprintf(r->out, "    %-12s refused: no legal start is left\n", name);
        else
            fprintf(r->out, "    %-12s at %u\n", name, s->starts[i]);
    }
    mig_report_drawing(r, &s->layout);
}

static void json_sequence(struct json *j, const struct mig_report *r, const char *key,
                          const struct mig_sequence *s)
{
    json_object(j, key);
    json_whole(j, "placed", s->n_placed);
    json_array(j, "order", false);
    for (size_t i = 0; i < s->n; i++) {
        json_object(j, NULL);
        json_text(j, "profile", r->t->gpu.profiles[s->profiles[i]].name);
        if (s->starts[i] != MIG_NO_START)
            json_whole(j, "start", s->starts[i]);
        json_close(j);
    }
    json_close(j);
    mig_report_json_layout(j, r, "layout", &s->layout);
    json_close(j);
}

void mig_report_order(const struct mig_report *r, const uint8_t *profiles, size_t n)
{
    struct mig_sequence given, best;
    mig_order_place(r->t, profiles, n, &given);
    mig_order_best(r->t, profiles, n, &best);
    if (r->json) {
        struct json j;
        json_begin(&j, r);
        json_sequence(&j, r, "given", &given);
        json_sequence(&j, r, "best", &best);
        json_close(&j);
        return;
    }
    fprintf(r->out, "%s, in this order, each where the driver puts it: %zu of %zu placed\n",
            r->type->title, given.n_placed, n);
    print_sequence(r, &given);
    if (mig_order_better(r->t, &best, &given)) {
        fprintf(r->out, "\nthe best order: %zu of %zu placed\n", best.n_placed, n);
        print_sequence(r, &best);
    } else {
        fputs("no order does better\n", r->out);
    }
}

/* ---- other files ---- */

void mig_report_profiles(const struct mig_report *r, const char *path)
{
    if (r->json) {
        struct json j;
        json_begin(&j, r);
        json_text(&j, "file", path);
        json_bool(&j, "agrees", true);
        json_close(&j);
        return;
    }
    fprintf(r->out, "%s: the profiles of %s, as in the catalogue\n", path, r->type->title);
}

static void parted_json(const struct mig_report *r, const struct mig_parted *parted)
{
    struct json j;
    json_begin(&j, r);
    json_object(&j, "configs");
    for (size_t c = 0; c < parted->n; c++) {
        json_array(&j, parted->configs[c].name, false);
        for (size_t g = 0; g < parted->configs[c].n_groups; g++) {
            const struct mig_parted_group *group = &parted->configs[c].groups[g];
            json_object(&j, NULL);
            json_bool(&j, "all", group->all);
            json_array(&j, "devices", true);
            for (size_t i = 0; i < group->n_devices; i++)
                json_whole(&j, NULL, group->devices[i]);
            json_close(&j);
            json_bool(&j, "mig", group->enabled);
            if (group->enabled)
                mig_report_json_layout(&j, r, "layout", &group->layout);
            json_close(&j);
        }
        json_close(&j);
    }
    json_close(&j);
    json_close(&j);
}

void mig_report_parted(const struct mig_report *r, const struct mig_parted *parted)
{
    if (r->json) {
        parted_json(r, parted);
        return;
    }
    for (size_t c = 0; c < parted->n; c++) {
        fprintf(r->out, "%s%s\n", c ? "\n" : "", parted->configs[c].name);
        for (size_t g = 0; g < parted->configs[c].n_groups; g++) {
            const struct mig_parted_group *group = &parted->configs[c].groups[g];
            fputs(group->all ? "  all GPUs" : "  GPUs", r->out);
            for (size_t i = 0; i < group->n_devices; i++)
                fprintf(r->out, " %u", group->devices[i]);
            if (group->filter)
                fprintf(r->out, ", only %s", group->filter);
            fputs(group->enabled ? "\n" : ": whole\n", r->out);
            if (group->enabled) {
                mig_report_drawing(r, &group->layout);
            }
        }
    }
}
