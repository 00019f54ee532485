/* Drawn traffic: Poisson, Gamma renewal and evenly spaced arrivals, with drawn lengths.
 *
 * Poisson: exponential gaps at the largest rate, each candidate kept when a uniform is below g(t) /
 * max g (Lewis and Shedler 1979); while g is at its maximum nothing is drawn. Exact for any g.
 *
 * Gamma and even: thinning would pull the gaps' coefficient of variation towards 1, so the arrivals
 * of a process of rate 1 are laid out on the integrated rate instead (Cinlar 1975): the arrival
 * due after u expected ones is at t with rate x integral of g over [0, t] = u. g is followed in
 * straight pieces (traffic_factor_line), in each of which the integral is a quadratic: one square
 * root an arrival, no error that adds up. The Gamma process starts in equilibrium, its first gap
 * being a uniform part of a length-biased gap (of shape + 1), so the mean rate holds from t = 0
 * on. Even arrivals start at 0; replication r > 0 delays them by a uniform part of a gap.
 *
 * Lengths: a row of the trace drawn uniformly, prompt and output together, or two independent
 * lognormals (prompt first; a cv of 0 draws nothing) rounded to whole tokens, at least 1. Both are
 * cut at the largest lengths (0: no cut).
 *
 * Streams: "arrivals" (gaps), "thin" (uniforms), "lengths", "offset" (even), each of (seed,
 * replication, entity). */
#include "models/serving/traffic_internal.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

struct lognormal {
    double mu, sigma; /* of the logarithm */
    double fixed;     /* the mean, used when sigma is 0 */
    uint32_t max;     /* UINT32_MAX: no cut */
};

struct generator {
    const struct traffic_plan *plan;
    simtime_ns end_ns;
    struct rng arrivals, thin, lengths;
    struct lognormal prompt, output;
    struct traffic_factor_cursor factor;
    double gap_s;      /* mean gap; Poisson: of the candidates */
    double factor_max; /* Poisson */
    simtime_ns at_ns;  /* Poisson: last candidate */
    bool started;      /* renewal: the first arrival has been given */
    double first_due;  /* renewal: arrivals due before the first one */
    double due;        /* renewal: arrivals due from the start of the piece to the last one */
    struct traffic_piece piece;
};

static struct lognormal lognormal_of(double mean, double cv, uint32_t max)
{
    double variance = log1p(cv * cv);
    return (struct lognormal){.mu = log(mean) - variance / 2,
                              .sigma = sqrt(variance),
                              .fixed = mean,
                              .max = max > 0 ? max : UINT32_MAX};
}

static uint32_t cut(double tokens, uint32_t max)
{
    double whole = floor(tokens + 0.5);
    return whole < 1 ? 1 : whole >= max ? max : (uint32_t)whole;
}

static uint32_t draw_length(const struct lognormal *l, struct rng *r)
{
    return cut(l->sigma > 0 ? exp(l->mu + l->sigma * rng_normal(r)) : l->fixed, l->max);
}

static void draw_lengths(struct generator *g, struct request *out)
{
    const struct request_trace *trace = g->plan->trace;
    if (trace != NULL) {
        const struct request *row = &trace->rows[rng_below(&g->lengths, trace->n)];
        out->prompt_tokens =
            row->prompt_tokens < g->prompt.max ? row->prompt_tokens : g->prompt.max;
        out->output_tokens =
            row->output_tokens < g->output.max ? row->output_tokens : g->output.max;
        return;
    }
    out->prompt_tokens = draw_length(&g->prompt, &g->lengths);
    out->output_tokens = draw_length(&g->output, &g->lengths);
}

static bool poisson_next(void *self, struct request *out)
{
    struct generator *g = self;
    for (;;) {
        double gap_s = rng_exponential(&g->arrivals) * g->gap_s;
        g->at_ns = sim_time_add(g->at_ns, sim_time_from_s(gap_s));
        if (g->at_ns >= g->end_ns)
            return false;
        if (!traffic_factor_keeps(&g->factor, g->at_ns, g->factor_max, &g->thin))
            continue;
        out->arrival_ns = g->at_ns;
        draw_lengths(g, out);
        return true;
    }
}

/* Arrivals due in the rest of the day that the piece covers. */
static double piece_due(const struct generator *g, const struct traffic_piece *p)
{
    double length = (double)(p->hi - p->lo);
    return length * (p->at_lo + p->slope_per_ns * length / 2) / (g->gap_s * 1e9);
}

/* Time after the start of the piece at which the arrivals due in it are due; due < piece_due. */
static double piece_solve(const struct generator *g, const struct traffic_piece *p, double due)
{
    double area = due * (g->gap_s * 1e9);
    if (p->slope_per_ns == 0 || area == 0)
        return area == 0 ? 0 : area / p->at_lo;
    double root = sqrt(fmax(p->at_lo * p->at_lo + 2 * p->slope_per_ns * area, 0));
    return 2 * area / (p->at_lo + root);
}

static double renewal_gap(struct generator *g)
{
    if (!g->started) {
        g->started = true;
        return g->first_due;
    }
    if (g->plan->kind == ARRIVAL_EVEN)
        return 1;
    double scv = g->plan->cv * g->plan->cv;
    return rng_gamma(&g->arrivals, 1 / scv) * scv;
}

static bool renewal_next(void *self, struct request *out)
{
    struct generator *g = self;
    if (g->piece.lo >= g->end_ns)
        return false;
    g->due += renewal_gap(g);
    for (double in_piece; g->due >= (in_piece = piece_due(g, &g->piece));) {
        g->due -= in_piece;
        if (g->piece.hi >= g->end_ns) {
            g->piece.lo = g->end_ns;
            return false;
        }
        g->piece = traffic_factor_line(&g->factor, g->piece.hi);
    }
    double past = floor(piece_solve(g, &g->piece, g->due) + 0.5);
    double length = (double)(g->piece.hi - g->piece.lo);
    simtime_ns at = past < length ? g->piece.lo + (simtime_ns)past : g->piece.hi;
    if (at >= g->end_ns) {
        g->piece.lo = g->end_ns;
        return false;
    }
    out->arrival_ns = at;
    draw_lengths(g, out);
    return true;
}

static void generator_free(void *self)
{
    struct generator *g = self;
    if (g == NULL)
        return;
    traffic_factor_close(&g->factor);
    free(g);
}

static double first_due(struct generator *g, uint64_t seed, uint32_t replication,
                        const char *entity)
{
    if (g->plan->kind == ARRIVAL_EVEN) {
        struct rng offset;
        rng_init(&offset, seed, replication, entity, "offset");
        return replication > 0 ? rng_uniform(&offset) : 0;
    }
    double scv = g->plan->cv * g->plan->cv;
    double biased = rng_gamma(&g->arrivals, 1 / scv + 1) * scv;
    return rng_uniform(&g->arrivals) * biased;
}

static enum hr_err generator_init(struct generator *g, const struct traffic_plan *p, uint64_t seed,
                                  uint32_t replication, const char *entity, simtime_ns horizon)
{
    g->plan = p;
    g->end_ns = p->rate_per_s > 0 ? horizon : 0;
    rng_init(&g->arrivals, seed, replication, entity, "arrivals");
    rng_init(&g->thin, seed, replication, entity, "thin");
    rng_init(&g->lengths, seed, replication, entity, "lengths");
    g->prompt = lognormal_of(p->prompt_mean, p->prompt_cv, p->max_prompt_tokens);
    g->output = lognormal_of(p->output_mean, p->output_cv, p->max_output_tokens);
    g->gap_s = 1 / p->rate_per_s;
    TRY(traffic_factor_open(&g->factor, p));
    if (p->kind == ARRIVAL_POISSON) {
        g->factor_max = traffic_factor_max(p, horizon);
        g->gap_s /= g->factor_max;
    } else {
        g->piece = traffic_factor_line(&g->factor, 0);
        g->first_due = first_due(g, seed, replication, entity);
    }
    return HR_OK;
}

enum hr_err traffic_generator_new(const struct traffic_plan *p, uint64_t seed, uint32_t replication,
                                  const char *entity, simtime_ns horizon,
                                  struct request_source *out)
{
    struct generator *g = calloc(1, sizeof *g);
    if (g == NULL)
        return HR_NOMEM;
    enum hr_err err = generator_init(g, p, seed, replication, entity, horizon);
    if (err != HR_OK) {
        generator_free(g);
        return err;
    }
    *out = (struct request_source){.next = p->kind == ARRIVAL_POISSON ? poisson_next : renewal_next,
                                   .free = generator_free,
                                   .self = g};
    return HR_OK;
}
