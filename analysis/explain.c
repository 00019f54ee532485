/* Sentences from figures. */
#include "analysis/explain.h"

#include "sim/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define USE_NAME(code, name) name,
const char *const use_names[USES] = {USE_LIST(USE_NAME)};
#undef USE_NAME

/* How the waste of a use reads after "16.1 % in ..."; NULL: no waste. */
static const char *const waste_phrases[USES] = {
    [USE_SPARE] = "idle replicas",
    [USE_SAVES] = "saves and restarts of training",
    [USE_LOST] = "lost training work",
    [USE_MOVING] = "reclaims and cold starts",
    [USE_HELD] = "GPUs that jobs hold idle",
    [USE_HOT] = "hot spare nodes",
    [USE_STRANDED] = "stranded GPUs",
    [USE_FREE] = "free GPUs",
    [USE_OUT] = "failed GPUs and maintenance",
};

/* ---- figures ---- */

static double mean_of(const struct summary *s, const char *metric, uint32_t column)
{
    return summary_mean(s, metric, column, 0, 0);
}

static enum use use_of(const struct summary *s, uint32_t owner, enum gpu_state state)
{
    static const enum use uses[GPU_STATES] = {
        [GPU_FREE] = USE_FREE,
        [GPU_STRANDED] = USE_STRANDED,
        [GPU_LOADING] = USE_MOVING,
        [GPU_SERVING] = USE_SERVING,
        [GPU_TRAINING] = USE_TRAINING,
        [GPU_CHECKPOINTING] = USE_SAVES,
        [GPU_RESTORING] = USE_SAVES,
        [GPU_LOST] = USE_LOST,
        [GPU_DRAINING] = USE_MOVING,
        [GPU_SCRUBBING] = USE_MOVING,
        [GPU_RECONFIGURING] = USE_MOVING,
        [GPU_FAILED] = USE_OUT,
        [GPU_MAINTENANCE] = USE_OUT,
        [GPU_ABSENT] = USE_ABSENT,
    };
    if (state != GPU_HELD_IDLE)
        return uses[state];
    return owner == 0 ? USE_HOT : owner > s->n[AXIS_SERVICE] ? USE_HELD : USE_SPARE;
}

double explain_use(const struct summary *s, uint32_t column, enum use use)
{
    double sum = 0;
    for (uint32_t o = 0; o < s->n[AXIS_OWNER]; o++)
        for (unsigned k = 0; k < GPU_STATES; k++) {
            double v = use_of(s, o, k) == use ? summary_mean(s, "gpu_frac", column, o, k) : NAN;
            sum += isnan(v) ? 0 : v;
        }
    return sum;
}

/* A figure in a sentence: "1,234.5"; whole ones without a point. */
static void add_number(struct text *t, const char *before, double value, int digits,
                       const char *after)
{
    char number[NUMBER_SIZE];
    number_show(number, value, digits);
    text_add(t, "%s%s%s", before, number, after);
}

/* "1 GPU", "7.4 GPUs", "12 GPUs". */
static void add_gpus(struct text *t, const char *before, double gpus, const char *after)
{
    char number[NUMBER_SIZE];
    bool fine = fabs(gpus) < 9.95 && fabs(gpus - round(gpus)) >= 0.05;
    number_show(number, gpus, fine ? 1 : 0);
    text_add(t, "%s%s GPU%s%s", before, number, strcmp(number, "1") == 0 ? "" : "s", after);
}

/* A time as units.h prints it, three figures are enough: "172s", "4.5min". */
static void add_time(struct text *t, const char *before, double seconds, const char *after)
{
    char rounded[NUMBER_SIZE], time[NUMBER_SIZE];
    snprintf(rounded, sizeof rounded, "%.3g", seconds);
    double value = strtod(rounded, NULL);
    if (value >= 1 && value < 3600)
        snprintf(time, sizeof time, "%.4g s", value);
    else
        unit_print(time, sizeof time, value, UNIT_TIME);
    text_add(t, "%s%s%s", before, time, after);
}

static const char *label(const struct summary *s, uint32_t column)
{
    return s->columns[column].label;
}

/* ---- the answer ---- */

/* What counts as gain or loss between two designs. */
static const struct comparison {
    const char *metric; /* NULL: minutes in breach */
    double scale;
    int digits;
    bool higher_is_gain;
    bool relative; /* say the change in percent too */
    double least;  /* smaller differences are not worth a word */
    const char *before, *gain, *loss;
} comparisons[] = {
    {"training_gpu_h", 1, NUMBER_FITTING, true, true, 0.05, "", " GPU-hours of training",
     " GPU-hours of training"},
    {NULL, 1, 1, false, false, 0.05, "", " minutes less in breach", " minutes more in breach"},
    {"spare_frac", 100, 1, false, false, 0.05, "", " points of GPU time less in idle replicas",
     " points of GPU time more in idle replicas"},
    {"lost_gpu_h", 1, NUMBER_FITTING, false, false, 0.05, "", " GPU-hours less of lost work",
     " GPU-hours more of lost work"},
    {"cost_per_useful_gpu_h", 1, 2, false, false, 0.005, "$", " less per useful GPU-hour",
     " more per useful GPU-hour"},
};
enum { COMPARISONS = sizeof comparisons / sizeof comparisons[0] };

static double compared(const struct summary *s, const struct verdict *v, const struct comparison *c,
                       uint32_t column)
{
    return c->metric ? mean_of(s, c->metric, column) : v->designs[column].breach_min;
}

/* Lists what is better (gains) or worse in the choice; the number of items. */
static int add_differences(struct text *t, const struct summary *s, const struct verdict *v,
                           bool gains)
{
    struct text items[COMPARISONS] = {0};
    int n = 0;
    for (int i = 0; i < COMPARISONS; i++) {
        const struct comparison *c = &comparisons[i];
        double from = compared(s, v, c, v->reference), to = compared(s, v, c, v->choice);
        double change = (to - from) * c->scale;
        if (!(fabs(change) >= c->least) || ((change > 0) == c->higher_is_gain) != gains)
            continue;
        add_number(&items[n], c->before, fabs(change), c->digits, gains ? c->gain : c->loss);
        if (c->relative && from > 0)
            text_add(&items[n], " (%+.1f%%)", 100 * (to - from) / from);
        n++;
    }
    for (int i = 0; i < n; i++) {
        text_add(t, "%s%s", i == 0 ? "" : i == n - 1 ? " and " : ", ", text_get(&items[i]));
        text_free(&items[i]);
    }
    return n;
}

static void add_against_reference(struct text *t, const struct summary *s, const struct verdict *v)
{
    struct text gains = {0}, costs = {0};
    int n_gains = add_differences(&gains, s, v, true);
    int n_costs = add_differences(&costs, s, v, false);
    text_add(t, " Against %s it ", label(s, v->reference));
    if (n_gains)
        text_add(t, "gains %s", text_get(&gains));
    if (n_costs)
        text_add(t, "%s%s", n_gains ? "; it costs " : "costs ", text_get(&costs));
    if (!n_gains && !n_costs)
        text_add(t, "makes no difference");
    text_add(t, ".");
    text_free(&gains);
    text_free(&costs);
}

/* Designs that would be cheaper but break. */
static void add_cheaper_but_broken(struct text *t, const struct summary *s, const struct verdict *v)
{
    for (uint32_t c = 0; c < s->n_columns; c++) {
        const struct design_verdict *d = &v->designs[c];
        if (!v->designs[v->choice].meets || d->meets || !(d->cost < v->designs[v->choice].cost))
            continue;
        double more = mean_of(s, "training_gpu_h", c) - mean_of(s, "training_gpu_h", v->choice);
        text_add(t, " %s would ", label(s, c));
        if (more >= 0.05)
            add_number(t, "train ", more, NUMBER_FITTING, " GPU-hours more");
        else
            text_add(t, "be cheaper");
        add_number(t, " but is ", d->breach_min, 1, " minutes in breach.");
    }
}

static void add_rank(struct text *t, const struct summary *s, uint32_t column)
{
    double cost = mean_of(s, "cost_per_useful_gpu_h", column);
    if (isfinite(cost))
        add_number(t, "the lowest cost per useful GPU-hour ($", cost, 2, ")");
    else
        add_number(t, "the highest utilization (", 100 * mean_of(s, "utilization", column), 1,
                   "%)");
}

static void add_single(struct text *t, const struct summary *s, const struct verdict *v)
{
    const struct design_verdict *d = &v->designs[0];
    bool serves = s->n[AXIS_SERVICE] > 0;
    if (!serves)
        text_add(t, "%s: of GPU time ", label(s, 0));
    else if (!d->tested)
        text_add(t, "%s: no request came, so no objective was tested.", label(s, 0));
    else if (d->meets)
        text_add(t, "%s meets every objective.", label(s, 0));
    else
        add_number(t, "The objectives are missed: ", d->breach_min, 1, " minutes in breach.");
    if (serves)
        add_number(t, " Of GPU time ", 100 * explain_use(s, 0, USE_SERVING), 1,
                   "% is serving and ");
    add_number(t, "", 100 * explain_use(s, 0, USE_TRAINING), 1,
               serves ? "% training that is kept" : "% is training that is kept");
    double cost = mean_of(s, "cost_per_useful_gpu_h", 0);
    if (isfinite(cost))
        add_number(t, ": $", cost, 2, " per useful GPU-hour");
    text_add(t, ".");
}

void explain_answer(struct text *t, const struct summary *s, const struct verdict *v)
{
    if (s->n_columns == 1) {
        add_single(t, s, v);
        return;
    }
    if (s->n[AXIS_SERVICE] == 0) {
        text_add(t, "%s has ", label(s, v->choice));
        add_rank(t, s, v->choice);
    } else if (!v->tested) {
        text_add(t, "No request came, so no objective was tested; %s has ", label(s, v->choice));
        add_rank(t, s, v->choice);
    } else if (v->n_meeting == 0) {
        text_add(t, "No design meets every objective; %s comes nearest", label(s, v->choice));
        add_number(t, " with ", v->designs[v->choice].breach_min, 1, " minutes in breach");
    } else if (v->n_meeting == 1) {
        text_add(t, "%s, the only one of %u designs that meets every objective",
                 label(s, v->choice), s->n_columns);
    } else {
        text_add(t, "%s: it meets every objective, as do ", label(s, v->choice));
        if (v->n_meeting == s->n_columns)
            text_add(t, "all %u designs, and has ", s->n_columns);
        else
            text_add(t, "%u of %u designs, and has ", v->n_meeting, s->n_columns);
        add_rank(t, s, v->choice);
    }
    text_add(t, ".");
    add_against_reference(t, s, v);
    add_cheaper_but_broken(t, s, v);
}

/* ---- waste ---- */

static enum use worst_use(const struct summary *s, uint32_t column)
{
    enum use worst = USE_FREE;
    for (enum use u = 0; u < USES; u++)
        if (waste_phrases[u] && explain_use(s, column, u) > explain_use(s, column, worst))
            worst = u;
    return worst;
}

void explain_waste(struct text *t, const struct summary *s)
{
    enum use first = worst_use(s, 0);
    bool same = true;
    for (uint32_t c = 1; c < s->n_columns; c++)
        same = same && worst_use(s, c) == first;
    if (same)
        text_add(t, "The largest waste is in %s:", waste_phrases[first]);
    else
        text_add(t, "The largest waste:");
    for (uint32_t c = 0; c < s->n_columns; c++) {
        enum use worst = worst_use(s, c);
        add_number(t, c ? ", " : " ", 100 * explain_use(s, c, worst), 1, "% of GPU time");
        if (!same)
            text_add(t, " in %s", waste_phrases[worst]);
        if (s->n_columns > 1)
            text_add(t, " with %s", label(s, c));
    }
    text_add(t, ".");
}

/* ---- spot ---- */

void explain_spot(struct text *t, const struct summary *s, uint32_t column, uint32_t pool)
{
    double firm = summary_mean(s, "spot_firm_price_usd", column, pool, 0);
    double price = summary_mean(s, "pool_mean_price_usd", column, pool, 0);
    double discount = summary_mean(s, "spot_discount", column, pool, 0);
    double even = summary_mean(s, "spot_break_even_discount", column, pool, 0);
    double closed = summary_mean(s, "spot_closed_saving", column, pool, 0);
    double saving = summary_mean(s, "spot_saving", column, pool, 0);
    if (isnan(discount) || isnan(saving))
        return;
    if (s->n_columns > 1)
        text_add(t, "%s: ", label(s, column));
    text_add(t, "Spot pool %s", s->names[AXIS_POOL][pool]);
    add_number(t, ": $", price, 2, "");
    add_number(t, " against $", firm, 2, " a GPU-hour");
    add_number(t, ", a discount of ", 100 * discount, 1, "%");
    if (!isnan(even))
        add_number(t, "; it pays from ", 100 * even, 1, "% (closed form)");
    add_number(t, ". Per useful GPU-hour of what jobs held it saves ", 100 * saving, 1,
               "% as simulated");
    if (!isnan(closed))
        add_number(t, ", ", 100 * closed, 1, "% in closed form");
    text_add(t, ".");
}

/* ---- why ---- */

/* The ramp figures of a service in a design. */
struct why {
    double peak, limit, held, buffer, rise, response_s, safe_buffer, safe_reclaim_s, short_gpus;
    double replica_gpus;
    bool broken;
    bool reclaimed; /* response_s is that of reclaims */
    bool was_short; /* in a window of some replication */
};

static double whole_replicas(double gpus, const struct why *w)
{
    return ceil(gpus / w->replica_gpus - 1e-9) * w->replica_gpus;
}

static struct why why_of(const struct summary *s, uint32_t column, uint32_t service)
{
    struct why w = {.reclaimed = summary_mean(s, "service_reclaims", column, service, 0) > 0};
    w.replica_gpus = summary_mean(s, "replica_gpus", column, service, 0);
    w.peak = summary_mean(s, "demand_peak_gpus", column, service, 0);
    w.limit = summary_mean(s, "limit_gpus", column, service, 0);
    w.held = summary_mean(s, "held_gpus", column, service, 0);
    w.buffer = summary_mean(s, "buffer_gpus", column, service, 0);
    w.rise = summary_mean(s, "rise_gpus", column, service, 0);
    w.response_s = summary_mean(s, "response_s", column, service, 0);
    w.safe_buffer = whole_replicas(summary_mean(s, "safe_buffer_gpus", column, service, 0), &w);
    w.safe_reclaim_s = summary_mean(s, "safe_reclaim_s", column, service, 0);
    w.short_gpus = summary_mean(s, "short_gpus", column, service, 0);
    w.was_short = w.short_gpus > 0;
    for (uint32_t o = 0; o < s->n[AXIS_OBJECTIVE]; o++)
        w.broken = w.broken || verdict_objective(s, column, service, o) == FATE_MISSED;
    return w;
}

static void add_rise(struct text *t, const struct why *w)
{
    add_gpus(t, "", w->rise, "");
    add_time(t, " within ", w->response_s, "");
    text_add(t, "%s", w->reclaimed ? " (shortage to ready, p99)" : " (its cold start)");
}

static void add_binding(struct text *t, const struct summary *s, uint32_t column)
{
    double stage = mean_of(s, "binding_stage", column);
    if (!(stage >= 0))
        return;
    uint32_t k = (uint32_t)lround(stage);
    if (k >= STAGES)
        return;
    text_add(t, " The stage that binds is %s", stage_names[k]);
    add_number(t, ", ", 100 * summary_mean(s, "stage_frac", column, 0, k), 0, "% of a reclaim.");
}

/* What a buffer, or else a reclaim, would have to be. */
static void add_safe(struct text *t, const struct summary *s, const struct why *w)
{
    add_gpus(t, "a buffer of ", w->safe_buffer, "");
    if (w->safe_reclaim_s >= mean_of(s, "measured_s", 0) - 1)
        return;
    if (w->safe_reclaim_s < 1)
        text_add(t, " (%s no reclaim is fast enough)",
                 w->buffer > 0 ? "with the present one" : "without one");
    else
        add_time(t, ", or with this one a reclaim within ", w->safe_reclaim_s, "");
}

/* A design that holds the same service with less than the safe buffer shows that less may do. */
static void add_held_with_less(struct text *t, const struct summary *s, const struct verdict *v,
                               uint32_t column, uint32_t service, double safe_buffer)
{
    for (uint32_t c = 0; c < s->n_columns; c++) {
        struct why w = why_of(s, c, service);
        if (c == column || !v->designs[c].tested || w.broken || !(w.buffer < safe_buffer) ||
            !(w.buffer > 0) || !(w.rise > w.buffer))
            continue;
        text_add(t, " Less may do: %s", label(s, c));
        add_number(t, " held with ", w.buffer, 0, ", as replicas bear more than their target.");
        return;
    }
}

static void add_other_causes(struct text *t, const struct summary *s, uint32_t column,
                             uint32_t service)
{
    static const struct {
        const char *metric, *text;
    } causes[] = {{"evictions", " KV-cache evictions"},
                  {"too_long", " requests longer than the KV cache"},
                  {"timed_out", " time-outs"},
                  {"retried", " requests returned by replicas that left"}};
    for (size_t i = 0; i < sizeof causes / sizeof causes[0]; i++) {
        double n = summary_mean(s, causes[i].metric, column, service, 0);
        if (n > 0)
            add_number(t, "", n, 0, causes[i].text), text_add(t, ", ");
    }
    add_number(t, "mean batch ", 100 * summary_mean(s, "batch_fill", column, service, 0), 0,
               "% of max_num_seqs.");
}

/* Demand peaks above what it may hold. */
static void add_peak(struct text *t, const char *before, const struct why *w)
{
    add_gpus(t, before, w->peak, " and it may hold");
    add_number(t, " at most ", w->limit, 0, "");
}

static void add_not_the_reclaim(struct text *t, const struct why *w)
{
    text_add(t, " breaks although ");
    if (w->held >= w->peak) {
        add_gpus(t, "it never has fewer than ", w->held, "");
        add_number(t, " and demand peaks at ", w->peak, 0, "");
    } else if (w->rise <= w->buffer) {
        add_gpus(t, "its buffer of ", w->buffer, " covers every rise (");
        add_rise(t, w);
        text_add(t, ")");
    } else {
        text_add(t, "in no window fewer GPUs were ready than its target asks for");
    }
    text_add(t,
             ": the reclaim is not the cause; at times a replica does not bear its target. "
             "Seen: ");
}

static void add_broken(struct text *t, const struct summary *s, const struct verdict *v,
                       const struct why *w, uint32_t column, uint32_t service)
{
    if (isnan(w->safe_buffer)) {
        add_peak(t, " breaks because demand peaks at ", w);
        add_gpus(t, ": no reclaim is fast enough, it needs ", whole_replicas(w->peak - w->limit, w),
                 " more, or less traffic.");
    } else if (w->rise > w->buffer && w->held < w->peak && w->was_short) {
        text_add(t, " breaks because demand rises by ");
        add_rise(t, w);
        add_gpus(t, " and its warm buffer is ", w->buffer, "");
        if (w->short_gpus >= 1)
            add_number(t, ": at worst ", w->short_gpus, 0, " too few were ready");
        text_add(t, ". Safe (buffer >= rise) is ");
        add_safe(t, s, w);
        text_add(t, ".");
        add_binding(t, s, column);
        add_held_with_less(t, s, v, column, service, w->safe_buffer);
    } else {
        add_not_the_reclaim(t, w);
        add_other_causes(t, s, column, service);
    }
}

static void add_holds(struct text *t, const struct summary *s, const struct why *w)
{
    if (isnan(w->safe_buffer)) {
        add_peak(t, " holds although demand peaks at ", w);
        text_add(t, ", as replicas bear more than their target.");
    } else if (w->held >= w->peak) {
        add_gpus(t, " holds: it never has fewer than ", w->held, "");
        add_number(t, " and demand peaks at ", w->peak, 0, ".");
    } else if (w->rise <= w->buffer) {
        add_gpus(t, " holds: its buffer of ", w->buffer, " covers the largest rise, ");
        add_rise(t, w);
        if (w->safe_reclaim_s < mean_of(s, "measured_s", 0) - 1)
            add_time(t, "; a reclaim of up to ", w->safe_reclaim_s, " would be safe.");
        else
            text_add(t, "; any reclaim would be safe.");
    } else {
        add_gpus(t, " holds with a buffer of ", w->buffer, " although demand rises by ");
        add_rise(t, w);
        text_add(t, ", as replicas bear more than their target; safe for certain is ");
        add_safe(t, s, w);
        text_add(t, ".");
    }
}

void explain_service(struct text *t, const struct summary *s, const struct verdict *v,
                     uint32_t column, uint32_t service)
{
    if (!(summary_mean(s, "requests", column, service, 0) > 0))
        return;
    struct why w = why_of(s, column, service);
    text_add(t, "%s", label(s, column));
    if (s->n[AXIS_SERVICE] > 1)
        text_add(t, ": %s", s->names[AXIS_SERVICE][service]);
    if (w.broken)
        add_broken(t, s, v, &w, column, service);
    else
        add_holds(t, s, &w);
}

void explain_objectives(struct text *t, const struct summary *s, uint32_t column, uint32_t service)
{
    static const char *const words[] = {"meets ", "MISSES ", "untested: "};
    bool first = true;
    for (uint32_t o = 0; o < s->n[AXIS_OBJECTIVE]; o++) {
        enum fate fate = verdict_objective(s, column, service, o);
        if (fate == FATE_ABSENT)
            continue;
        char name[64], attainment[NUMBER_SIZE];
        summary_objective(s, column, service, o, name, sizeof name);
        text_add(t, "%s%s%s", first ? "" : "; ", words[fate], name);
        first = false;
        if (fate != FATE_MISSED)
            continue;
        number_show(attainment, summary_mean(s, "objective_attainment", column, service, o), 4);
        add_number(t, " (", summary_mean(s, "objective_breach_min", column, service, o), 1,
                   " min in breach, attainment ");
        text_add(t, "%s)", attainment);
    }
}
