/* Fillings, and what is printed of them: shares by level, and how many of each typical pod could
 * start. */
#include "analysis/packing.h"

#include "analysis/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What could start is shown where a fifth of the GPUs should be free. */
#define SPARE 0.8

enum { SHOWN = 9, SHAPES_SHOWN = 10, LABEL = PACKING_LABEL, TRIES = 300000 };

/* ---- running ---- */

static enum hr_err run_column(const struct packing_scenario *s, struct packing_figures *f,
                              uint32_t column, uint64_t *starts)
{
    const struct packing_column *c = &s->columns[column];
    uint32_t n = s->plan.n_levels, shapes = s->fragment.n_pods;
    for (uint32_t r = 0; r < s->replications; r++) {
        struct fill_level *levels = &f->fills[((size_t)column * s->replications + r) * n];
        TRY(fill_run(&s->plan, c->policy, c->ties, r, levels, starts));
        for (uint32_t k = 0; k < n; k++) {
            struct packing_cell *cell = &f->cells[(size_t)column * n + k];
            double idle = 1 - levels[k].allocated_frac;
            tally_add(&cell->allocated, levels[k].allocated_frac);
            tally_add(&cell->fragment, levels[k].fragment_frac);
            tally_add(&cell->stranded, levels[k].stranded_frac);
            tally_add(&cell->fragment_of_idle, idle > 0 ? levels[k].fragment_frac / idle : 0);
            tally_add(&cell->dropped, (double)levels[k].dropped);
        }
        for (size_t i = 0; i < (size_t)n * shapes; i++)
            f->starts[(size_t)column * n * shapes + i] += (double)starts[i] / s->replications;
    }
    return HR_OK;
}

/* The last level of at most so much; the first where there is none. */
static uint32_t last_level(const struct packing_scenario *s, double most)
{
    uint32_t at = 0;
    while (at + 1 < s->plan.n_levels && s->levels[at + 1] <= most + 1e-9)
        at++;
    return at;
}

/* Of each number of whole devices the shape that comes most, the largest first. */
static enum hr_err choose_pods(const struct packing_scenario *s, uint32_t *shapes, uint32_t *n)
{
    *n = 0;
    size_t *counts = calloc((size_t)s->pods.n_shapes + 1, sizeof *counts);
    if (!counts)
        return HR_NOMEM;
    for (size_t i = 0; i < s->pods.n; i++)
        counts[s->pods.rows[i]]++;
    for (uint32_t devices = CLUSTER_DEVICES; devices > 0 && *n < PACKING_MOVES; devices--) {
        uint32_t best = s->pods.n_shapes;
        for (uint32_t i = 0; i < s->pods.n_shapes; i++)
            if (s->pods.shapes[i].devices == devices && s->pods.shapes[i].milli == CLUSTER_MILLI &&
                counts[i] > (best < s->pods.n_shapes ? counts[best] : 0))
                best = i;
        if (best < s->pods.n_shapes)
            shapes[(*n)++] = best;
    }
    free(counts);
    return HR_OK;
}

static enum hr_err move_column(const struct packing_scenario *s, struct packing_figures *f,
                               uint32_t column, const uint32_t *shapes, struct arena *arena)
{
    const struct packing_column *c = &s->columns[column];
    const struct moves_limits limits = {MOVES_MOST, TRIES};
    struct moves_cluster cluster;
    TRY(fill_cluster(&s->plan, c->policy, c->ties, 0, s->levels[f->full_level], arena, &cluster));
    for (uint32_t i = 0; i < f->n_moves; i++) {
        struct packing_moves *m = &f->moves[(size_t)column * f->n_moves + i];
        struct moves_plan plan;
        m->pod = s->pods.shapes[shapes[i]];
        TRY(moves_find(&cluster, &m->pod, 1, &limits, arena, &plan));
        m->found = plan.found;
        m->exact = plan.exact;
        m->n_moves = plan.n_moves;
        m->gpus = (double)plan.cost / CLUSTER_MILLI;
    }
    return HR_OK;
}

static enum hr_err run_moves(const struct packing_scenario *s, struct packing_figures *f)
{
    uint32_t shapes[PACKING_MOVES];
    if (s->nodes.n > PACKING_MOVES_NODES)
        return HR_OK;
    TRY(choose_pods(s, shapes, &f->n_moves));
    f->moves = arena_array(&f->arena, (size_t)s->n_columns * f->n_moves, sizeof *f->moves);
    enum hr_err err = f->moves ? HR_OK : HR_NOMEM;
    for (uint32_t c = 0; c < s->n_columns && err == HR_OK; c++) {
        struct arena arena;
        arena_init(&arena);
        err = move_column(s, f, c, shapes, &arena);
        arena_fini(&arena);
    }
    return err;
}

enum hr_err packing_figures_run(const struct packing_scenario *s, struct packing_figures *out)
{
    size_t cells = (size_t)s->n_columns * s->plan.n_levels, shapes = s->fragment.n_pods;
    arena_init(&out->arena);
    uint64_t *starts = arena_array(&out->arena, s->plan.n_levels * shapes, sizeof *starts);
    out->fills = arena_array(&out->arena, cells * s->replications, sizeof *out->fills);
    out->cells = arena_array(&out->arena, cells, sizeof *out->cells);
    out->starts = arena_array(&out->arena, cells * shapes, sizeof *out->starts);
    if (!out->fills || !starts || !out->cells || !out->starts)
        return HR_NOMEM;
    for (uint32_t c = 0; c < s->n_columns; c++)
        TRY(run_column(s, out, c, starts));
    out->full_level = last_level(s, 1);
    return run_moves(s, out);
}

void packing_figures_free(struct packing_figures *f)
{
    arena_fini(&f->arena);
}

const struct packing_cell *packing_cell(const struct packing_scenario *s,
                                        const struct packing_figures *f, uint32_t column,
                                        uint32_t level)
{
    return &f->cells[(size_t)column * s->plan.n_levels + level];
}

/* ---- text ---- */

/* Which levels stand in a table: all, or as many as fit, evenly, the last one too. */
static uint32_t shown(const struct packing_scenario *s, uint32_t which[SHOWN])
{
    uint32_t n = s->plan.n_levels < SHOWN ? s->plan.n_levels : SHOWN;
    for (uint32_t i = 0; i < n; i++)
        which[i] = n < 2 ? 0 : (uint32_t)((i * (s->plan.n_levels - 1) + (n - 1) / 2) / (n - 1));
    return n;
}

void packing_label(const struct packing_scenario *s, uint32_t column, char out[PACKING_LABEL + 1])
{
    const struct packing_column *c = &s->columns[column];
    bool marked = s->both_ties && !c->policy->fixed_ties;
    snprintf(out, PACKING_LABEL + 1, "%s%s%s", c->policy->name, marked ? ", " : "",
             marked ? policy_tie_names[c->ties] : "");
}

static double allocated(const struct packing_cell *c)
{
    return 100 * c->allocated.mean;
}

/* NaN of a single filling */
static double std_error(const struct tally *t)
{
    return t->n < 2 ? NAN : tally_std_error(t);
}

static double allocated_error(const struct packing_cell *c)
{
    return 100 * std_error(&c->allocated);
}

static double fragment(const struct packing_cell *c)
{
    return 100 * c->fragment.mean;
}

static double stranded(const struct packing_cell *c)
{
    return 100 * c->stranded.mean;
}

struct section {
    const char *title;
    double (*value)(const struct packing_cell *c);
};

static const struct section sections[] = {
    {"GPUs allocated, %", allocated},
    {"  its standard error", allocated_error},
    {"Fragments, % of GPUs", fragment},
    {"Stranded GPUs, %", stranded},
};

static void print_section(FILE *out, const struct packing_scenario *s,
                          const struct packing_figures *f, const struct section *section)
{
    uint32_t which[SHOWN], n = shown(s, which);
    char name[LABEL + 1];
    fprintf(out, "\n%-*s", LABEL, section->title);
    for (uint32_t i = 0; i < n; i++)
        fprintf(out, " %5.4g", 100 * s->levels[which[i]]);
    fputc('\n', out);
    for (uint32_t c = 0; c < s->n_columns; c++) {
        packing_label(s, c, name);
        fprintf(out, "%-*s", LABEL, name);
        for (uint32_t i = 0; i < n; i++)
            fprintf(out, " %5.2f", section->value(packing_cell(s, f, c, which[i])));
        fputc('\n', out);
    }
}

static void print_numbers(FILE *out, const struct packing_scenario *s, const char *title)
{
    fprintf(out, "%-*s", LABEL, title);
    for (uint32_t c = 0; c < s->n_columns && c < SHOWN; c++)
        fprintf(out, "  %*s(%u)", c < 9, "", c + 1);
    fputc('\n', out);
}

static void print_pod(FILE *out, const struct cluster_pod *pod)
{
    char name[64];
    snprintf(name, sizeof name, "%u x %u, %.4g%s", pod->devices, pod->milli,
             (double)pod->cpu_milli / 1000, pod->types ? " *" : "");
    fprintf(out, "%-*s", LABEL, name);
}

static void print_legend(FILE *out, const struct packing_scenario *s)
{
    for (uint32_t c = 0; c < s->n_columns && c < SHOWN; c++) {
        char name[LABEL + 1];
        packing_label(s, c, name);
        fprintf(out, "%s(%u) %s", c % 3 ? ", " : c ? ",\n" : "", c + 1, name);
    }
    fputc('\n', out);
}

static void print_moves(FILE *out, const struct packing_scenario *s,
                        const struct packing_figures *f)
{
    if (f->n_moves == 0)
        return;
    fprintf(out,
            "\nFewest moves until one more can start at %.4g %% of the first filling\n"
            "(-: none found; <: at most so many)\n",
            100 * s->levels[f->full_level]);
    print_numbers(out, s, "GPUs x milli, CPUs");
    for (uint32_t i = 0; i < f->n_moves; i++) {
        print_pod(out, &f->moves[i].pod);
        for (uint32_t c = 0; c < s->n_columns && c < SHOWN; c++) {
            const struct packing_moves *m = &f->moves[(size_t)c * f->n_moves + i];
            char text[16] = "-";
            if (m->found)
                snprintf(text, sizeof text, "%s%u", m->exact ? "" : "<", m->n_moves);
            fprintf(out, " %5s", text);
        }
        fputc('\n', out);
    }
}

/* The shapes that come most and want GPUs, rows; the columns by number. */
static void print_starts(FILE *out, const struct packing_scenario *s,
                         const struct packing_figures *f)
{
    uint32_t level = last_level(s, SPARE), shapes = s->fragment.n_pods, rows = 0;
    fprintf(out, "\nCould start at once at %.4g %%, by typical pod\n", 100 * s->levels[level]);
    print_numbers(out, s, "GPUs x milli, CPUs");
    for (uint32_t i = 0; i < shapes && rows < SHAPES_SHOWN; i++) {
        if (s->fragment.pods[i].devices == 0)
            continue;
        rows++;
        print_pod(out, &s->fragment.pods[i]);
        for (uint32_t c = 0; c < s->n_columns && c < SHOWN; c++)
            fprintf(out, " %5.0f", f->starts[((size_t)c * s->plan.n_levels + level) * shapes + i]);
        fputc('\n', out);
    }
}

static const char *tie_rule(const struct packing_scenario *s)
{
    for (uint32_t c = 0; c < s->n_columns && !s->both_ties; c++)
        if (!s->columns[c].policy->fixed_ties)
            return s->columns[c].ties == POLICY_TIE_NAME ? "the lowest name" : "chance";
    return s->both_ties ? "the lowest name, or chance, as said" : "as the policy says";
}

void packing_print(FILE *out, const struct packing_scenario *s, const struct packing_figures *f)
{
    fprintf(out, "%s: %u nodes with %.6g GPUs; a list of %zu pods in %u kinds.\n", s->name,
            s->nodes.n, (double)cluster_capacity(&s->nodes) / CLUSTER_MILLI, s->pods.n,
            s->pods.n_shapes);
    fprintf(out, "Means of %u fillings. Ties are won by %s.\n", s->replications, tie_rule(s));
    fputs("Columns: GPUs asked for so far, % of all; what fits nowhere is dropped.\n", out);
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        if (s->replications > 1 || sections[i].value != allocated_error)
            print_section(out, s, f, &sections[i]);
    print_starts(out, s, f);
    print_moves(out, s, f);
    print_legend(out, s);
}

/* ---- JSON ---- */

static void json_level(struct json *j, const struct packing_scenario *s,
                       const struct packing_figures *f, uint32_t column, uint32_t level)
{
    const struct packing_cell *cell = packing_cell(s, f, column, level);
    const struct {
        const char *name;
        const struct tally *tally;
    } values[] = {{"allocated", &cell->allocated},
                  {"fragment", &cell->fragment},
                  {"fragment_of_idle", &cell->fragment_of_idle},
                  {"stranded", &cell->stranded},
                  {"dropped_pods", &cell->dropped}};
    json_object(j, NULL);
    json_number(j, "arrived", s->levels[level]);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char error[32];
        snprintf(error, sizeof error, "%s_se", values[i].name);
        json_number(j, values[i].name, values[i].tally->mean);
        json_number(j, error, std_error(values[i].tally));
    }
    json_array(j, "could_start", true);
    for (uint32_t i = 0; i < s->fragment.n_pods; i++)
        json_number(
            j, NULL,
            f->starts[((size_t)column * s->plan.n_levels + level) * s->fragment.n_pods + i]);
    json_close(j);
    json_close(j);
}

static void json_moves(struct json *j, const struct packing_figures *f, uint32_t column)
{
    json_array(j, "moves_to_start", false);
    for (uint32_t i = 0; i < f->n_moves; i++) {
        const struct packing_moves *m = &f->moves[(size_t)column * f->n_moves + i];
        json_object(j, NULL);
        json_whole(j, "gpus", m->pod.devices);
        json_whole(j, "cpu_milli", (uint64_t)m->pod.cpu_milli);
        json_whole(j, "memory_mib", (uint64_t)m->pod.memory_mib);
        json_bool(j, "found", m->found);
        json_bool(j, "exact", m->exact);
        json_number(j, "moves", m->found ? (double)m->n_moves : NAN);
        json_number(j, "gpus_moved", m->found ? m->gpus : NAN);
        json_close(j);
    }
    json_close(j);
}

static void json_typical(struct json *j, const struct packing_scenario *s)
{
    json_array(j, "typical_pods", false);
    for (uint32_t i = 0; i < s->fragment.n_pods; i++) {
        const struct cluster_pod *pod = &s->fragment.pods[i];
        json_object(j, NULL);
        json_whole(j, "cpu_milli", (uint64_t)pod->cpu_milli);
        json_whole(j, "gpus", pod->devices);
        json_whole(j, "gpu_milli", pod->milli);
        json_array(j, "models", true);
        for (uint32_t t = 0; t < s->types.n; t++)
            if (pod->types >> t & 1)
                json_text(j, NULL, s->types.names[t]);
        json_close(j);
        json_whole(j, "pods", (uint64_t)s->fragment.counts[i]);
        json_close(j);
    }
    json_close(j);
}

void packing_print_json(FILE *out, const struct packing_scenario *s,
                        const struct packing_figures *f)
{
    struct json j;
    json_init(&j, out);
    json_object(&j, NULL);
    json_text(&j, "scenario", s->name);
    json_whole(&j, "seed", s->plan.seed);
    json_whole(&j, "replications", s->replications);
    json_whole(&j, "nodes", s->nodes.n);
    json_number(&j, "gpus", (double)cluster_capacity(&s->nodes) / CLUSTER_MILLI);
    json_whole(&j, "pods", s->pods.n);
    json_typical(&j, s);
    json_array(&j, "fillings", false);
    for (uint32_t c = 0; c < s->n_columns; c++) {
        json_object(&j, NULL);
        json_text(&j, "policy", s->columns[c].policy->name);
        json_text(&j, "rule", s->columns[c].policy->rule);
        json_text(&j, "ties", policy_tie_names[s->columns[c].ties]);
        json_array(&j, "levels", false);
        for (uint32_t k = 0; k < s->plan.n_levels; k++)
            json_level(&j, s, f, c, k);
        json_close(&j);
        json_moves(&j, f, c);
        json_close(&j);
    }
    json_close(&j);
    json_close(&j);
}
