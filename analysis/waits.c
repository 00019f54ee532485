/* Sentences and tables of waits. */
#include "analysis/waits.h"

#include "analysis/text.h"
#include "models/training/queue.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 80, BAR = 30, TOP = 10, MOST_OF_AN_ID = 10 };

double waits_free_gpus(const struct waits *w, uint32_t design, double from_s, double to_s)
{
    double sum = 0, covered = 0;
    for (size_t i = 0; i < w->n_windows; i++) {
        double low = w->start_s + (double)i * w->width_s, high = low + w->width_s;
        double overlap = fmin(high, to_s) - fmax(low, from_s);
        if (overlap <= 0)
            continue;
        sum += overlap * w->free_gpus[design * w->n_windows + i];
        covered += overlap;
    }
    return covered > 0 ? sum / covered : NAN;
}

bool waits_placeable(const struct waits *w, uint32_t design, enum placeable_kind kind,
                     double from_s, double to_s, struct waits_span *out)
{
    double sum = 0, covered = 0;
    *out = (struct waits_span){.least = INFINITY, .most = 0};
    for (size_t i = 0; i < w->n_windows && w->placeable_least && w->placeable_mean; i++) {
        double low = w->start_s + (double)i * w->width_s, high = low + w->width_s;
        double overlap = fmin(high, to_s) - fmax(low, from_s);
        if (overlap <= 0)
            continue;
        size_t at = (design * w->n_windows + i) * PLACEABLES + (size_t)kind;
        sum += overlap * w->placeable_mean[at];
        covered += overlap;
        out->least = fmin(out->least, w->placeable_least[at]);
        out->most = fmax(out->most, w->placeable_mean[at]);
    }
    out->mean = sum / covered;
    return covered > 0;
}

/* What each reason means for a gang of so many GPUs. */
static const char *meaning(const char *reason)
{
    static const struct {
        const char *name, *text;
    } meanings[] = {
        {"count", "fewer GPUs were free than it needs"},
        {"shape", "enough were free, but not together in one node"},
        {"quota", "its tenant might not hold so many"},
        {"topology", "it would have fitted if it needed no whole nodes"},
        {"supply", "GPUs that failed, were in maintenance or absent would have done"},
        {"preemption", "GPUs of evicted work were on their way to it"},
        {"order", "it would have fitted: an earlier job or a reservation went first"},
    };
    for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++)
        if (strcmp(meanings[i].name, reason) == 0)
            return meanings[i].text;
    return "";
}

/* "93 s", "12.5 min", "3.2 h". */
static void time_show(char out[NUMBER_SIZE + 8], double s)
{
    char number[NUMBER_SIZE];
    double scale = s < 120 ? 1 : s < 7200 ? 60 : 3600;
    number_show(number, s / scale, scale > 1 && s / scale < 100 ? 1 : 0);
    snprintf(out, NUMBER_SIZE + 8, "%s %s", number, scale > 3000 ? "h" : scale > 1 ? "min" : "s");
}

static const char *queue_of(const struct waits *w, const struct waits_job *j)
{
    bool known = j->queue < (int64_t)w->summary.n[AXIS_QUEUE];
    return known ? w->summary.names[AXIS_QUEUE][j->queue] : "?";
}

/* ---- one job ---- */

static void add_time(struct text *t, const char *before, double s, const char *after)
{
    char time[NUMBER_SIZE + 8];
    time_show(time, s);
    text_add(t, "%s%s%s", before, time, after);
}

static void add_facts(struct text *t, const struct waits *w, const struct waits_job *j)
{
    text_add(t, "Job %s", j->id);
    if (w->summary.n_columns > 1)
        text_add(t, " in %s", w->summary.columns[j->design].label);
    text_add(t, ": %u GPU%s for ", j->gpus, j->gpus == 1 ? "" : "s");
    add_time(t, "", j->work_s, " of work");
    text_add(t, ", queue %s", queue_of(w, j));
    if (j->tenant >= 0)
        text_add(t, ", tenant %s", w->summary.names[AXIS_OWNER][j->tenant + 1]);
    text_add(t, ".");
    add_time(t, " Submitted ", j->submit_s, " after the start of the run");
    if (isnan(j->start_s))
        text_add(t, j->outcome == OUTCOME_REFUSED ? ", refused: it can never start"
                                                  : ", not started by the end");
    else
        add_time(t, ", first started at ", j->start_s, "");
    if (!isnan(j->end_s))
        add_time(t, ", done at ", j->end_s, "");
    text_add(t, ".");
    if (j->preemptions)
        text_add(t, " Preempted %u time%s.", j->preemptions, j->preemptions == 1 ? "" : "s");
}

/* When the last window ends: how long a job that never started waited on the timeline. */
static double end_of(const struct waits *w)
{
    return w->start_s + (double)w->n_windows * w->width_s;
}

static void add_free(struct text *t, const struct waits *w, const struct waits_job *j)
{
    double until = isnan(j->start_s) ? end_of(w) : j->start_s;
    double gpus = waits_free_gpus(w, j->design, j->submit_s, until);
    char number[NUMBER_SIZE];
    if (isnan(gpus))
        return;
    number_show(number, gpus, gpus < 10 ? 1 : 0);
    text_add(t, " While it waited for its first start %s GPUs were free on average.", number);
}

static bool same_placeable(const struct waits *w, const struct waits_job *j, int a, int b,
                           double until)
{
    struct waits_span x = {0}, y = {0};
    waits_placeable(w, j->design, (enum placeable_kind)a, j->submit_s, until, &x);
    waits_placeable(w, j->design, (enum placeable_kind)b, j->submit_s, until, &y);
    return x.least == y.least && x.mean == y.mean && x.most == y.most;
}

/* What a gang could have started on meanwhile: GPUs may be free and of no use to it. */
static void print_placeable(FILE *out, const struct waits *w, const struct waits_job *j)
{
    static const char *const labels[PLACEABLES] = {
        [PLACEABLE_FREE] = "free in all",      [PLACEABLE_BLOCK] = "in one node",
        [PLACEABLE_WHOLE] = "whole nodes",     [PLACEABLE_LEAF] = "in one leaf",
        [PLACEABLE_SPINE] = "below one spine",
    };
    double until = isnan(j->start_s) ? end_of(w) : j->start_s;
    struct waits_span span;
    if (!waits_placeable(w, j->design, PLACEABLE_FREE, j->submit_s, until, &span))
        return;
    fprintf(out, "  GPUs a start could have  %8s %8s %8s\n", "least", "mean", "most");
    for (int k = 0; k < PLACEABLES; k++) {
        if (k == PLACEABLE_SPINE && same_placeable(w, j, k, PLACEABLE_WHOLE, until))
            continue; /* there is one spine */
        char mean[NUMBER_SIZE], most[NUMBER_SIZE];
        waits_placeable(w, j->design, (enum placeable_kind)k, j->submit_s, until, &span);
        number_show(mean, span.mean, 1);
        number_show(most, span.most, 1);
        fprintf(out, "    %-22s %8.0f %8s %8s\n", labels[k], span.least, mean, most);
    }
}

static void print_bars(FILE *out, const struct waits *w, const struct waits_job *j)
{
    for (size_t k = 0; k < w->n_reasons; k++) {
        if (!(j->blocked_s[k] > 0))
            continue;
        char bar[BAR + 1], time[NUMBER_SIZE + 8];
        double share = j->waiting_s > 0 ? j->blocked_s[k] / j->waiting_s : 0;
        size_t n = (size_t)lround(fmin(share, 1) * BAR);
        memset(bar, '#', n);
        bar[n] = 0;
        time_show(time, j->blocked_s[k]);
        fprintf(out, "  %-11s %10s %4.0f%%%s%s\n", w->reasons[k], time, 100 * share, n ? "  " : "",
                bar);
        text_wrap(out, meaning(w->reasons[k]), 14, 14, WIDTH);
    }
}

static void print_job(FILE *out, const struct waits *w, const struct waits_job *j)
{
    struct text t = {0};
    add_facts(&t, w, j);
    text_wrap(out, text_get(&t), 0, 2, WIDTH);
    text_free(&t);
    if (j->waiting_s > 0) {
        add_time(&t, "It waited ", j->waiting_s, " in all.");
        add_free(&t, w, j);
        if (w->n_reasons == 0)
            text_add(&t, " The file does not say for what.");
    } else {
        text_add(&t, "It did not wait.");
    }
    text_wrap(out, text_get(&t), 2, 2, WIDTH);
    text_free(&t);
    if (j->waiting_s > 0)
        print_placeable(out, w, j);
    print_bars(out, w, j);
}

/* ---- choosing ---- */

static enum hr_err find_design(const struct waits *w, const char *design, struct diags *diags,
                               uint32_t *first, uint32_t *end)
{
    *first = 0;
    *end = w->summary.n_columns;
    if (!design)
        return HR_OK;
    const char *labels[64];
    size_t n = 0;
    for (uint32_t c = 0; c < w->summary.n_columns; c++) {
        if (n < 64)
            labels[n++] = w->summary.columns[c].label;
        if (strcmp(w->summary.columns[c].label, design) == 0) {
            *first = c;
            *end = c + 1;
            return HR_OK;
        }
    }
    const char *nearest = diag_nearest(design, labels, n);
    diags_add(diags, DIAG_ERROR, (struct diag_place){0}, NULL, NULL,
              "the file has no design '%s'%s%s", design, nearest ? "; nearest: " : "",
              nearest ? nearest : "");
    return HR_INPUT;
}

static int by_text(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    return strcmp(*x, *y);
}

static enum hr_err no_such_job(const struct waits *w, const char *id, struct diags *diags)
{
    const char **ids = calloc(w->n + 1, sizeof *ids);
    if (!ids)
        return HR_NOMEM;
    size_t n = 0;
    for (size_t i = 0; i < w->n; i++)
        ids[i] = w->jobs[i].id;
    if (w->n)
        qsort(ids, w->n, sizeof *ids, by_text);
    for (size_t i = 0; i < w->n; i++)
        if (n == 0 || strcmp(ids[n - 1], ids[i]) != 0)
            ids[n++] = ids[i];
    const char *nearest = diag_nearest(id, ids, n);
    diags_add(diags, DIAG_ERROR, (struct diag_place){0}, NULL, NULL, "no job '%s'%s%s", id,
              nearest ? "; nearest: " : "", nearest ? nearest : "");
    free(ids);
    return HR_INPUT;
}

enum hr_err waits_print_job(FILE *out, const struct waits *w, const char *id, const char *design,
                            struct diags *diags)
{
    uint32_t first, end;
    size_t found = 0;
    TRY(find_design(w, design, diags, &first, &end));
    for (size_t i = 0; i < w->n; i++) {
        const struct waits_job *j = &w->jobs[i];
        if (j->design < first || j->design >= end || strcmp(j->id, id) != 0)
            continue;
        if (found++ >= MOST_OF_AN_ID)
            continue;
        if (found > 1)
            fputc('\n', out);
        print_job(out, w, j);
    }
    if (found > MOST_OF_AN_ID)
        fprintf(out, "\n%zu more jobs have this id (a trace that repeats).\n",
                found - MOST_OF_AN_ID);
    return found ? ferror(out) ? HR_IO : HR_OK : no_such_job(w, id, diags);
}

/* ---- all of them ---- */

static int by_wait(const void *a, const void *b)
{
    const struct waits_job *x = *(const struct waits_job *const *)a;
    const struct waits_job *y = *(const struct waits_job *const *)b;
    if (x->waiting_s != y->waiting_s)
        return x->waiting_s > y->waiting_s ? -1 : 1;
    return (x > y) - (x < y);
}

/* Jobs of a design and queue, and of one tenant of it or of all. */
struct waited {
    size_t jobs, waiting;
    double s, blocked_s[WAITS_REASONS_MAX];
};

enum { ALL_TENANTS = -1 };

static struct waited sum_waits(const struct waits *w, uint32_t design, uint32_t queue,
                               int64_t tenant)
{
    struct waited sum = {0};
    for (size_t i = 0; i < w->n; i++) {
        const struct waits_job *j = &w->jobs[i];
        if (j->design != design || j->queue != queue || j->backlog ||
            (tenant != ALL_TENANTS && j->tenant != tenant))
            continue;
        sum.jobs++;
        sum.waiting += j->waiting_s > 0;
        sum.s += j->waiting_s;
        for (size_t k = 0; k < w->n_reasons; k++)
            sum.blocked_s[k] += j->blocked_s[k];
    }
    return sum;
}

static void print_tenant(FILE *out, const struct waits *w, const char *name,
                         const struct waited *sum)
{
    char time[NUMBER_SIZE + 8];
    time_show(time, sum->s);
    fprintf(out, "    %-14.14s%10s", name, time);
    for (size_t k = 0; k < w->n_reasons; k++)
        fprintf(out, " %*.0f%%", (int)fmin(10, (double)strlen(w->reasons[k])) - 1,
                sum->s > 0 ? 100 * sum->blocked_s[k] / sum->s : 0);
    fputc('\n', out);
}

/* Where jobs of several tenants waited: a line for each of them. */
static void print_tenants(FILE *out, const struct waits *w, uint32_t design, uint32_t queue)
{
    size_t n = 0;
    uint32_t owners = w->summary.n[AXIS_OWNER];
    for (uint32_t k = 0; k + 1 < owners && n < 2; k++)
        n += sum_waits(w, design, queue, k).jobs > 0;
    if (n < 2)
        return;
    fprintf(out, "    %-14s%10s", "tenant", "waited");
    for (size_t k = 0; k < w->n_reasons; k++)
        fprintf(out, " %.10s", w->reasons[k]);
    fputc('\n', out);
    for (uint32_t k = 0; k + 1 < owners; k++) {
        struct waited sum = sum_waits(w, design, queue, k);
        if (sum.jobs > 0)
            print_tenant(out, w, w->summary.names[AXIS_OWNER][k + 1], &sum);
    }
}

static void print_queue(FILE *out, const struct waits *w, uint32_t design, uint32_t queue)
{
    struct waited sum = sum_waits(w, design, queue, ALL_TENANTS);
    char time[NUMBER_SIZE + 8];
    time_show(time, sum.s);
    fprintf(out, "  %-20.20s %zu of %zu jobs waited, %s in all\n",
            w->summary.names[AXIS_QUEUE][queue], sum.waiting, sum.jobs, time);
    for (size_t k = 0; k < w->n_reasons; k++)
        if (sum.blocked_s[k] > 0) {
            time_show(time, sum.blocked_s[k]);
            fprintf(out, "    %-11s %10s %4.0f%%  %s\n", w->reasons[k], time,
                    100 * sum.blocked_s[k] / sum.s, meaning(w->reasons[k]));
        }
    print_tenants(out, w, design, queue);
}

static enum hr_err print_longest(FILE *out, const struct waits *w, uint32_t design)
{
    const struct waits_job **sorted = calloc(w->n + 1, sizeof *sorted);
    size_t n = 0;
    if (!sorted)
        return HR_NOMEM;
    for (size_t i = 0; i < w->n; i++)
        if (w->jobs[i].design == design && !w->jobs[i].backlog && w->jobs[i].waiting_s > 0)
            sorted[n++] = &w->jobs[i];
    qsort(sorted, n, sizeof *sorted, by_wait);
    if (n)
        fprintf(out, "  longest waits:\n");
    for (size_t i = 0; i < n && i < TOP; i++) {
        char time[NUMBER_SIZE + 8];
        time_show(time, sorted[i]->waiting_s);
        fprintf(out, "    %-24.24s %6u GPUs %12s%s\n", sorted[i]->id, sorted[i]->gpus, time,
                isnan(sorted[i]->start_s) ? "  not started" : "");
    }
    free(sorted);
    return HR_OK;
}

enum hr_err waits_print_all(FILE *out, const struct waits *w, const char *design,
                            struct diags *diags)
{
    uint32_t first, end;
    TRY(find_design(w, design, diags, &first, &end));
    for (uint32_t c = first; c < end; c++) {
        fprintf(out, "%sWHY JOBS WAIT", c > first ? "\n" : "");
        if (w->summary.n_columns > 1)
            fprintf(out, " in %s", w->summary.columns[c].label);
        fputc('\n', out);
        for (uint32_t q = 0; q < w->summary.n[AXIS_QUEUE]; q++)
            print_queue(out, w, c, q);
        TRY(print_longest(out, w, c));
    }
    return ferror(out) ? HR_IO : HR_OK;
}
