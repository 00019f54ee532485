/* Recorded traffic: copies of one trace, superposed and thinned.
 *
 * A copy plays the rows of the trace in a ring of one period (span + mean gap, divided by the
 * speed), from its own offset in it. Copy 0 starts at offset 0, the others at uniform offsets from
 * (entity, "copies"); replication r > 0 turns all of them by one more offset from (entity,
 * "offset"). Looped, the ring goes round for as long as the run lasts; else the source ends after
 * one period, in which each copy has played each row once, those before its offset last.
 *
 * There are scale x max g copies, g being the rate factor; the last one is a fraction f of a copy,
 * each of whose requests is kept when a uniform of (entity, "partial") is below f. A request that
 * arrives while g(t) < max g is kept when a uniform of (entity, "thin") is below g(t) / max g;
 * while g is at its maximum nothing is drawn. Both are decided in order of arrival, "partial"
 * first.
 *
 * The next request of each copy stands in a loser tree: the winner in node 0, and in node i >= 1
 * the loser of the match between the subtrees 2 i and 2 i + 1, the leaves being nodes n_leaves and
 * up. Taking the winner replays one path. Copies stand in their order from left to right, so equal
 * times go to the lower copy without comparing numbers: whoever comes from the right must be
 * strictly earlier. A node is 16 bytes and all there is per copy, 32 at most with the padding to a
 * power of two; the time of a row in the run follows from the row before, by integers.
 *
 * A time of the trace becomes one of the source by one division by the speed, rounded to the
 * nearest nanosecond; at speed 1 it is untouched. */
#include "models/serving/traffic_internal.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define MAX_COPIES (UINT32_C(1) << 31)
#define MAX_PERIOD 4e18            /* ns */
#define WHOLE      1e-9            /* a fraction of a copy smaller than this is none */
#define NO_REQUEST (SIM_NEVER - 1) /* of a leaf without a copy; one more must not wrap */

struct candidate {
    simtime_ns at_ns;
    uint64_t who; /* copy << 32 | row */
};

static uint32_t copy_of(struct candidate c)
{
    return (uint32_t)(c.who >> 32);
}

static uint32_t row_of(struct candidate c)
{
    return (uint32_t)c.who;
}

static struct candidate candidate(simtime_ns at, uint32_t copy, uint32_t row)
{
    return (struct candidate){at, (uint64_t)copy << 32 | row};
}

struct trace_source {
    const struct request *rows;
    uint32_t n_rows;
    uint32_t n_copies;
    uint32_t n_leaves;     /* power of two */
    uint32_t partial_copy; /* the thinned one; UINT32_MAX: none */
    double partial;        /* share of its requests that is kept */
    double speed;
    simtime_ns period_ns; /* as played */
    simtime_ns end_ns;
    double factor_max;
    struct candidate *tree; /* owned; [n_leaves] */
    struct traffic_factor_cursor factor;
    struct rng partial_stream, thin_stream;
};

simtime_ns traffic_trace_period(const struct request_trace *trace)
{
    uint64_t gaps = trace->n > 1 ? trace->n - 1 : 1;
    simtime_ns gap = trace->span_ns / gaps + (trace->span_ns % gaps * 2 >= gaps);
    return trace->span_ns + gap > 0 ? trace->span_ns + gap : 1;
}

/* A time of the trace as played. */
static simtime_ns played(const struct trace_source *s, simtime_ns t)
{
    return s->speed == 1 ? t : (simtime_ns)((double)t / s->speed + 0.5);
}

static simtime_ns row_time(const struct trace_source *s, uint32_t row)
{
    return played(s, s->rows[row].arrival_ns);
}

/* The first request of a copy that starts at this offset in the period. */
static struct candidate first_request(const struct trace_source *s, uint32_t copy,
                                      simtime_ns offset)
{
    uint32_t lo = 0, hi = s->n_rows;
    while (lo < hi) {
        uint32_t middle = lo + (hi - lo) / 2;
        if (row_time(s, middle) < offset)
            lo = middle + 1;
        else
            hi = middle;
    }
    if (lo == s->n_rows)
        return candidate(s->period_ns - offset + row_time(s, 0), copy, 0);
    return candidate(row_time(s, lo) - offset, copy, lo);
}

static struct candidate next_request(const struct trace_source *s, struct candidate c)
{
    uint32_t row = row_of(c);
    if (row + 1 < s->n_rows) {
        c.at_ns += row_time(s, row + 1) - row_time(s, row);
        c.who++;
    } else {
        c.at_ns += s->period_ns - row_time(s, row) + row_time(s, 0);
        c.who -= row;
    }
    return c;
}

/* Plays from a leaf up to the root without branches on times: which of two copies is earlier is a
 * coin toss in every match. */
static void replay(struct trace_source *s, struct candidate c)
{
    for (uint32_t node = s->n_leaves + copy_of(c); node > 1; node >>= 1) {
        struct candidate *other = &s->tree[node >> 1];
        uint64_t lost = -(uint64_t)(other->at_ns < c.at_ns + (node & 1));
        uint64_t at = (c.at_ns ^ other->at_ns) & lost, who = (c.who ^ other->who) & lost;
        c.at_ns ^= at;
        c.who ^= who;
        other->at_ns ^= at;
        other->who ^= who;
    }
    s->tree[0] = c;
}

static bool kept(struct trace_source *s, const struct candidate *c)
{
    if (copy_of(*c) == s->partial_copy && rng_uniform(&s->partial_stream) >= s->partial)
        return false;
    return traffic_factor_keeps(&s->factor, c->at_ns, s->factor_max, &s->thin_stream);
}

static bool trace_next(void *self, struct request *out)
{
    struct trace_source *s = self;
    for (;;) {
        struct candidate c = s->tree[0];
        if (c.at_ns >= s->end_ns)
            return false;
        replay(s, next_request(s, c));
        if (!kept(s, &c))
            continue;
        *out = s->rows[row_of(c)];
        out->arrival_ns = c.at_ns;
        return true;
    }
}

static void trace_free(void *self)
{
    struct trace_source *s = self;
    if (s == NULL)
        return;
    traffic_factor_close(&s->factor);
    free(s->tree);
    free(s);
}

/* Whole copies and the fraction of one more. */
static enum hr_err count_copies(struct trace_source *s, double copies)
{
    if (!(copies < MAX_COPIES))
        return HR_LIMIT;
    double whole = floor(copies);
    s->partial = copies - whole;
    s->partial_copy = UINT32_MAX;
    if (s->partial > 1 - WHOLE)
        whole += 1;
    s->n_copies = (uint32_t)whole;
    if (s->partial >= WHOLE && s->partial <= 1 - WHOLE)
        s->partial_copy = s->n_copies++;
    s->n_leaves = 1;
    while (s->n_leaves < s->n_copies)
        s->n_leaves *= 2;
    return HR_OK;
}

/* The matches below a node, first to last; returns their winner. */
static struct candidate play(struct trace_source *s, const struct candidate *leaves, uint32_t node)
{
    if (node >= s->n_leaves) {
        uint32_t copy = node - s->n_leaves;
        return copy < s->n_copies ? leaves[copy] : candidate(NO_REQUEST, copy, 0);
    }
    struct candidate left = play(s, leaves, 2 * node), right = play(s, leaves, 2 * node + 1);
    bool right_wins = right.at_ns < left.at_ns;
    s->tree[node] = right_wins ? left : right;
    return right_wins ? right : left;
}

static enum hr_err place_copies(struct trace_source *s, uint64_t seed, uint32_t replication,
                                const char *entity)
{
    struct rng copies, turn;
    rng_init(&copies, seed, replication, entity, "copies");
    rng_init(&turn, seed, replication, entity, "offset");
    simtime_ns turned = replication > 0 ? rng_below(&turn, s->period_ns) : 0;
    struct candidate *leaves = calloc((size_t)s->n_copies + 1, sizeof *leaves);
    s->tree = calloc(s->n_leaves, sizeof *s->tree);
    if (leaves == NULL || s->tree == NULL) {
        free(leaves);
        return HR_NOMEM;
    }
    for (uint32_t i = 0; i < s->n_copies; i++) {
        simtime_ns offset = i > 0 ? rng_below(&copies, s->period_ns) : 0;
        offset += offset < s->period_ns - turned ? turned : turned - s->period_ns;
        leaves[i] = first_request(s, i, offset);
    }
    s->tree[0] = play(s, leaves, 1);
    free(leaves);
    return HR_OK;
}

static enum hr_err trace_init(struct trace_source *s, const struct traffic_plan *p, uint64_t seed,
                              uint32_t replication, const char *entity, simtime_ns horizon)
{
    const struct request_trace *trace = p->trace;
    if (trace->n > UINT32_MAX || (double)trace->span_ns / p->speed > MAX_PERIOD)
        return HR_LIMIT;
    s->rows = trace->rows;
    s->n_rows = (uint32_t)trace->n;
    s->speed = p->speed;
    s->period_ns = played(s, traffic_trace_period(trace));
    if (s->period_ns == 0)
        s->period_ns = 1;
    s->end_ns = p->loop || horizon < s->period_ns ? horizon : s->period_ns;
    s->factor_max = traffic_factor_max(p, horizon);
    TRY(count_copies(s, p->scale * s->factor_max));
    TRY(traffic_factor_open(&s->factor, p));
    rng_init(&s->partial_stream, seed, replication, entity, "partial");
    rng_init(&s->thin_stream, seed, replication, entity, "thin");
    return place_copies(s, seed, replication, entity);
}

enum hr_err traffic_trace_new(const struct traffic_plan *p, uint64_t seed, uint32_t replication,
                              const char *entity, simtime_ns horizon, struct request_source *out)
{
    struct trace_source *s = calloc(1, sizeof *s);
    if (s == NULL)
        return HR_NOMEM;
    enum hr_err err = trace_init(s, p, seed, replication, entity, horizon);
    if (err != HR_OK) {
        trace_free(s);
        return err;
    }
    *out = (struct request_source){.next = trace_next, .free = trace_free, .self = s};
    return HR_OK;
}
