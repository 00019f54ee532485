/* Rows from the accounts of the summary, their rounding, and the table. */
#include "analysis/statement.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL = 18, CELL = 7, TOTAL = 9, DOLLARS = 11, NOBODY_ROWS = 5 };

#define STATEMENT_NAME(code, name) name,
static const char *const part_names[STATEMENT_PARTS] = {STATEMENT_LIST(STATEMENT_NAME)};
#undef STATEMENT_NAME

static const enum statement_part parts[GPU_STATES] = {
    [GPU_SERVING] = STATEMENT_USEFUL,      [GPU_TRAINING] = STATEMENT_USEFUL,
    [GPU_CHECKPOINTING] = STATEMENT_SAVES, [GPU_RESTORING] = STATEMENT_SAVES,
    [GPU_FREE] = STATEMENT_IDLE,           [GPU_STRANDED] = STATEMENT_IDLE,
    [GPU_HELD_IDLE] = STATEMENT_IDLE,      [GPU_FAILED] = STATEMENT_IDLE,
    [GPU_MAINTENANCE] = STATEMENT_IDLE,    [GPU_LOADING] = STATEMENT_LOAD,
    [GPU_RECONFIGURING] = STATEMENT_LOAD,  [GPU_DRAINING] = STATEMENT_DRAIN,
    [GPU_SCRUBBING] = STATEMENT_DRAIN,     [GPU_LOST] = STATEMENT_LOST,
};

/* Rows of what nobody held. */
static const char *nobody_label(enum gpu_state s)
{
    switch (s) {
    case GPU_FREE:
        return "free";
    case GPU_STRANDED:
        return "stranded";
    case GPU_HELD_IDLE:
        return "hot spares";
    case GPU_FAILED:
    case GPU_MAINTENANCE:
        return "failed, maint.";
    default:
        return "between owners";
    }
}

/* ---- rows ---- */

static double account(const struct summary *s, const char *metric, uint32_t column, uint32_t owner,
                      unsigned state)
{
    double v = summary_mean(s, metric, column, owner, state);
    return isnan(v) ? 0 : v;
}

static double row_h(const struct statement_row *r)
{
    double sum = 0;
    for (int i = 0; i < STATEMENT_PARTS; i++)
        sum += r->h[i];
    return sum;
}

static void add_claimant(struct statement *t, const struct summary *s, uint32_t column,
                         uint32_t owner)
{
    struct statement_row *r = &t->rows[t->n++];
    r->claimant = true;
    snprintf(r->label, sizeof r->label, "%s", s->names[AXIS_OWNER][owner]);
    for (unsigned k = 0; k < GPU_STATES; k++) {
        if (k == GPU_ABSENT)
            continue;
        r->h[parts[k]] += account(s, "gpu_h", column, owner, k);
        r->usd += account(s, "gpu_cost_usd", column, owner, k);
    }
}

static void add_nobody(struct statement *t, const struct summary *s, uint32_t column)
{
    size_t first = t->n;
    for (unsigned k = 0; k < GPU_STATES; k++) {
        double h = account(s, "gpu_h", column, 0, k);
        if (k == GPU_ABSENT || h == 0)
            continue;
        size_t i = first;
        while (i < t->n && strcmp(t->rows[i].label, nobody_label(k)) != 0)
            i++;
        if (i == t->n)
            snprintf(t->rows[t->n++].label, sizeof t->rows[i].label, "%s", nobody_label(k));
        t->rows[i].h[0] += h;
        t->rows[i].usd += account(s, "gpu_cost_usd", column, 0, k);
    }
}

/* By dollars, then GPU-hours, then name. */
static int by_weight(const void *a, const void *b)
{
    const struct statement_row *x = a, *y = b;
    if (x->usd != y->usd)
        return x->usd > y->usd ? -1 : 1;
    double hx = row_h(x), hy = row_h(y);
    if (hx != hy)
        return hx > hy ? -1 : 1;
    return strcmp(x->label, y->label);
}

static void fold(struct statement *t, size_t most)
{
    if (t->n <= most + 1) /* a row "others (1)" would save nothing */
        return;
    struct statement_row *others = &t->rows[most];
    size_t folded = t->n - most;
    for (size_t i = most + 1; i < t->n; i++) {
        for (int p = 0; p < STATEMENT_PARTS; p++)
            others->h[p] += t->rows[i].h[p];
        others->usd += t->rows[i].usd;
        t->rows[i] = (struct statement_row){0};
    }
    snprintf(others->label, sizeof others->label, "others (%zu)", folded);
    t->n = most + 1;
}

enum hr_err statement_init(struct statement *t, const struct summary *s, uint32_t column,
                           size_t most)
{
    size_t room = (size_t)s->n[AXIS_OWNER] + NOBODY_ROWS;
    *t = (struct statement){.rows = calloc(room, sizeof *t->rows)};
    if (!t->rows)
        return HR_NOMEM;
    double cost = summary_mean(s, "cost_usd", column, 0, 0);
    t->priced = cost > 0 && !isnan(summary_mean(s, "gpu_cost_usd", column, 0, 0));
    for (uint32_t o = 1; o < s->n[AXIS_OWNER]; o++)
        if (!isnan(summary_mean(s, "gpu_h", column, o, 0)))
            add_claimant(t, s, column, o);
    if (t->n)
        qsort(t->rows, t->n, sizeof *t->rows, by_weight);
    fold(t, most);
    add_nobody(t, s, column);
    for (uint32_t o = 0; o < s->n[AXIS_OWNER]; o++)
        t->absent_h += account(s, "gpu_h", column, o, GPU_ABSENT);
    return HR_OK;
}

void statement_fini(struct statement *t)
{
    free(t->rows);
    *t = (struct statement){0};
}

/* ---- rounding ---- */

void statement_round(const double *values, size_t n, int64_t *out)
{
    double sum = 0;
    int64_t rounded = 0;
    for (size_t i = 0; i < n; i++) {
        sum += values[i];
        out[i] = (int64_t)floor(values[i]);
        rounded += out[i];
    }
    for (int64_t left = llround(sum) - rounded; left > 0; left--) {
        size_t best = n;
        for (size_t i = 0; i < n; i++) {
            bool open = (double)out[i] <= values[i]; /* not rounded up yet */
            if (open &&
                (best == n || values[i] - (double)out[i] > values[best] - (double)out[best]))
                best = i;
        }
        if (best == n)
            return;
        out[best]++;
    }
}

/* ---- the table ---- */

/* A unit in which the largest figure has few digits: figures are whole numbers of `unit`, shown
 * divided by `scale`. */
struct unit {
    double unit, scale;
    int digits;
};

static struct unit unit_of(double total, double widest)
{
    static const double scales[] = {1, 1e3, 1e6, 1e9};
    for (size_t i = 0;; i++) {
        double shown = total / scales[i];
        if (shown < widest || i == 3) {
            bool fine = shown < widest / 100;
            return (struct unit){scales[i] / (fine ? 10 : 1), scales[i], fine};
        }
    }
}

static void put(FILE *out, int width, int64_t value, const struct unit *u)
{
    char number[NUMBER_SIZE];
    number_show(number, (double)value * u->unit / u->scale, u->digits);
    fprintf(out, "%*s", width, number);
}

/* Figures of all rows in whole units. */
struct figures {
    struct unit hours, dollars;
    int64_t *h, *usd; /* owned; [n][STATEMENT_PARTS], [n] */
};

static enum hr_err figures_init(struct figures *f, const struct statement *t)
{
    double *h = calloc(t->n * STATEMENT_PARTS + 1, sizeof *h), *usd = calloc(t->n + 1, sizeof *usd);
    double total_h = 0, total_usd = 0;
    f->h = calloc(t->n * STATEMENT_PARTS + 1, sizeof *f->h);
    f->usd = calloc(t->n + 1, sizeof *f->usd);
    bool ok = h && usd && f->h && f->usd;
    for (size_t i = 0; i < t->n && ok; i++) {
        total_h += row_h(&t->rows[i]);
        total_usd += t->rows[i].usd;
    }
    f->hours = unit_of(total_h, 1e5);
    f->dollars = unit_of(total_usd, 1e7);
    f->dollars.digits = 0;
    f->dollars.unit = f->dollars.scale;
    for (size_t i = 0; i < t->n && ok; i++) {
        for (int p = 0; p < STATEMENT_PARTS; p++)
            h[i * STATEMENT_PARTS + (size_t)p] = t->rows[i].h[p] / f->hours.unit;
        usd[i] = t->rows[i].usd / f->dollars.unit;
    }
    if (ok) {
        statement_round(h, t->n * STATEMENT_PARTS, f->h);
        statement_round(usd, t->n, f->usd);
    }
    free(h);
    free(usd);
    return ok ? HR_OK : HR_NOMEM;
}

static const char *scale_name(double scale)
{
    return scale >= 1e9   ? "billions of "
           : scale >= 1e6 ? "millions of "
           : scale >= 1e3 ? "thousands of "
                          : "";
}

static void print_head(FILE *out, const struct statement *t, const struct figures *f)
{
    fprintf(out, "%-*s", LABEL, "");
    for (int p = 0; p < STATEMENT_PARTS; p++)
        fprintf(out, "%*s", CELL, part_names[p]);
    fprintf(out, "%*s%*s\n", TOTAL, "total", t->priced ? DOLLARS : 0, t->priced ? "$" : "");
    if (f->hours.scale > 1 || (t->priced && f->dollars.scale > 1)) {
        fprintf(out, "  in %sGPU-hours", scale_name(f->hours.scale));
        if (t->priced)
            fprintf(out, " and %sdollars", scale_name(f->dollars.scale));
        fputc('\n', out);
    }
}

/* Cut to the column by characters. */
static void print_label(FILE *out, const char *label)
{
    size_t n = 0, bytes = 0;
    while (label[bytes] && (n < LABEL - 3 || ((unsigned char)label[bytes] & 0xc0) == 0x80)) {
        n += ((unsigned char)label[bytes] & 0xc0) != 0x80;
        bytes++;
    }
    fprintf(out, "  %.*s%*s", (int)bytes, label, (int)(LABEL - 2 - n), "");
}

/* cells NULL: blank but the total. */
static void print_line(FILE *out, const struct statement *t, const struct figures *f,
                       const char *label, const int64_t *cells, int64_t total, int64_t usd)
{
    print_label(out, label);
    for (int p = 0; p < STATEMENT_PARTS; p++)
        if (cells)
            put(out, CELL, cells[p], &f->hours);
        else
            fprintf(out, "%*s", CELL, "");
    put(out, TOTAL, total, &f->hours);
    if (t->priced)
        put(out, DOLLARS, usd, &f->dollars);
    fputc('\n', out);
}

static void print_rows(FILE *out, const struct statement *t, const struct figures *f)
{
    int64_t held[STATEMENT_PARTS] = {0}, held_total = 0, held_usd = 0, all = 0, all_usd = 0;
    size_t claimants = 0;
    for (size_t i = 0; i < t->n; i++) {
        const int64_t *cells = &f->h[i * STATEMENT_PARTS];
        int64_t total = 0;
        for (int p = 0; p < STATEMENT_PARTS; p++) {
            total += cells[p];
            held[p] += t->rows[i].claimant ? cells[p] : 0;
        }
        claimants += t->rows[i].claimant;
        held_total += t->rows[i].claimant ? total : 0;
        held_usd += t->rows[i].claimant ? f->usd[i] : 0;
        all += total;
        all_usd += f->usd[i];
        if (!t->rows[i].claimant && total == 0 && f->usd[i] == 0)
            continue;
        print_line(out, t, f, t->rows[i].label, t->rows[i].claimant ? cells : NULL, total,
                   f->usd[i]);
        bool last = i + 1 == t->n || !t->rows[i + 1].claimant;
        if (t->rows[i].claimant && last && claimants > 1)
            print_line(out, t, f, "all claimants", held, held_total, held_usd);
    }
    print_line(out, t, f, "supplied", NULL, all, all_usd);
}

enum hr_err statement_print(FILE *out, const struct statement *t)
{
    struct figures f;
    enum hr_err err = figures_init(&f, t);
    if (err == HR_OK) {
        print_head(out, t, &f);
        print_rows(out, t, &f);
        if (t->absent_h > 0) {
            print_label(out, "not supplied");
            fprintf(out, "%*s", CELL * STATEMENT_PARTS, "");
            put(out, TOTAL, llround(t->absent_h / f.hours.unit), &f.hours);
            fputc('\n', out);
        }
    }
    free(f.h);
    free(f.usd);
    return err == HR_OK && ferror(out) ? HR_IO : err;
}

/* ---- the sentence ---- */

static void add(struct text *t, const char *before, double value, int digits, const char *after)
{
    char number[NUMBER_SIZE];
    number_show(number, value, digits);
    text_add(t, "%s%s%s", before, number, after);
}

void statement_sentence(struct text *t, const struct summary *s, uint32_t column)
{
    double cost = summary_mean(s, "cost_per_useful_gpu_h", column, 0, 0);
    double price = summary_mean(s, "mean_price_usd", column, 0, 0);
    double over = summary_mean(s, "over_reclaim_ratio", column, 0, 0);
    double used = summary_mean(s, "utilization", column, 0, 0);
    if (isnan(used))
        return;
    add(t, "Useful: ", 100 * used, 1, "% of what is supplied");
    if (isfinite(cost))
        add(t, ", $", cost, 2, " per useful GPU-hour");
    if (isfinite(price))
        add(t, " at a mean price of $", price, 2, "");
    for (uint32_t k = 0; k < s->n[AXIS_SERVICE]; k++) {
        double tokens = summary_mean(s, "cost_per_mtok", column, k, 0);
        if (!isfinite(tokens))
            continue;
        text_add(t, "; %s", s->names[AXIS_SERVICE][k]);
        add(t, " $", tokens, 2, " per million output tokens");
    }
    if (isfinite(over))
        add(t, "; ", over, 2, " GPUs evicted for each GPU that was missing");
    text_add(t, ".");
}
