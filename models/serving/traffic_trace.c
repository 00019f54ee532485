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
 * The copies are merged a stretch of time at a time. The requests of a stretch are gathered copy
 * by copy, put into buckets of equal width by a counting sort, and the few that share a bucket
 * sorted by insertion; both keep the order of gathering among equal times, so these go to the lower
 * copy. A stretch is as long as makes about one request a copy (512 at least) on average: a copy
 * then costs one look at its next time a stretch, read in order. A stretch that holds more than
 * there is room for is halved; down to one nanosecond, in which the order of gathering is the order
 * of play, and it is taken in parts. So memory is fixed when the source is made, and the time of a
 * row in the run follows from the row before, by integers.
 *
 * A time of the trace becomes one of the source by one division by the speed, rounded to the
 * nearest nanosecond; at speed 1 it is untouched. */
#include "models/serving/traffic_internal.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_COPIES  (UINT32_C(1) << 31)
#define MAX_PERIOD  4e18 /* ns */
#define WHOLE       1e-9 /* a fraction of a copy smaller than this is none */
#define MIN_BUCKETS 1024
#define MAX_BUCKETS 65536 /* with more copies than that, less than a request a copy and stretch */
#define ROOM        4     /* requests there is room for, per bucket */

/* A request of a copy. */
struct candidate {
    simtime_ns at_ns;
    uint32_t copy, row;
};

/* A stretch [lo, hi) of the run and its requests. */
struct stretch {
    simtime_ns lo, hi;
    uint32_t from;              /* the first copy that has not been asked yet */
    uint32_t n, taken;          /* requests in it, and of them given out */
    uint32_t n_buckets;         /* power of two */
    unsigned bucket_bits;       /* a bucket is 2^bucket_bits ns wide */
    struct candidate *gathered; /* owned; [ROOM * n_buckets] */
    struct candidate *sorted;   /* owned; the same */
    uint32_t *ends;             /* owned; [n_buckets]: requests in a bucket, then where it ends */
};

struct trace_source {
    const struct request *rows;
    uint32_t n_rows;
    uint32_t n_copies;
    uint32_t partial_copy; /* the thinned one; UINT32_MAX: none */
    double partial;        /* share of its requests that is kept */
    double speed;
    simtime_ns period_ns; /* as played */
    simtime_ns end_ns;
    double factor_max;
    struct candidate *next; /* owned; [n_copies] */
    struct stretch stretch;
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
        return (struct candidate){s->period_ns - offset + row_time(s, 0), copy, 0};
    return (struct candidate){row_time(s, lo) - offset, copy, lo};
}

/* From a row of a copy to its next one. */
static simtime_ns gap_after(const struct trace_source *s, uint32_t row)
{
    if (row + 1 < s->n_rows)
        return row_time(s, row + 1) - row_time(s, row);
    return s->period_ns - row_time(s, row) + row_time(s, 0);
}

/* Gathers the requests of [lo, hi) from copy number from on; false when there is no room. */
static bool gather(struct trace_source *s)
{
    struct stretch *w = &s->stretch;
    struct candidate *to = w->gathered + w->n;
    const struct candidate *const end = w->gathered + (size_t)ROOM * w->n_buckets;
    uint32_t *const ends = w->ends, copy = w->from;
    const simtime_ns lo = w->lo, hi = w->hi;
    const unsigned bits = w->bucket_bits;
    for (; copy < s->n_copies && to < end; copy++) {
        struct candidate c = s->next[copy];
        for (; c.at_ns < hi && to < end; to++) {
            *to = c;
            ends[(c.at_ns - lo) >> bits]++;
            c.at_ns += gap_after(s, c.row);
            c.row = c.row + 1 < s->n_rows ? c.row + 1 : 0;
        }
        s->next[copy] = c;
        if (c.at_ns < hi)
            break;
    }
    w->n = (uint32_t)(to - w->gathered);
    w->from = copy;
    return copy == s->n_copies;
}

/* Puts what was gathered back where it came from. */
static void put_back(struct trace_source *s)
{
    struct stretch *w = &s->stretch;
    while (w->n > 0) {
        const struct candidate c = w->gathered[--w->n];
        s->next[c.copy] = c;
    }
    w->from = 0;
}

static void sort(struct stretch *w)
{
    struct candidate *const sorted = w->sorted;
    uint32_t *const ends = w->ends, n = w->n, end = 0;
    for (uint32_t b = 0; b < w->n_buckets; b++) {
        const uint32_t in_bucket = ends[b];
        ends[b] = end;
        end += in_bucket;
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct candidate c = w->gathered[i];
        sorted[ends[(c.at_ns - w->lo) >> w->bucket_bits]++] = c;
    }
    for (uint32_t i = 1; i < n; i++) {
        const struct candidate c = sorted[i];
        uint32_t to = i;
        for (; to > 0 && sorted[to - 1].at_ns > c.at_ns; to--)
            sorted[to] = sorted[to - 1];
        sorted[to] = c;
    }
}

/* Goes on to the next stretch with a request in it; false at the end. */
static bool next_stretch(struct trace_source *s)
{
    struct stretch *w = &s->stretch;
    w->n = w->taken = 0;
    while (w->n == 0) {
        if (w->from == s->n_copies) {
            w->lo = w->hi;
            w->from = 0;
        }
        if (w->lo >= s->end_ns)
            return false;
        const simtime_ns length = (simtime_ns)w->n_buckets << w->bucket_bits;
        if (w->from == 0)
            w->hi = s->end_ns - w->lo > length ? w->lo + length : s->end_ns;
        memset(w->ends, 0, w->n_buckets * sizeof *w->ends);
        while (!gather(s) && w->hi - w->lo > 1) {
            put_back(s);
            memset(w->ends, 0, w->n_buckets * sizeof *w->ends);
            w->hi = w->lo + (w->hi - w->lo) / 2;
        }
    }
    sort(w);
    return true;
}

static bool kept(struct trace_source *s, const struct candidate *c)
{
    if (c->copy == s->partial_copy && rng_uniform(&s->partial_stream) >= s->partial)
        return false;
    return traffic_factor_keeps(&s->factor, c->at_ns, s->factor_max, &s->thin_stream);
}

static bool trace_next(void *self, struct request *out)
{
    struct trace_source *s = self;
    struct stretch *w = &s->stretch;
    for (;;) {
        if (w->taken == w->n && !next_stretch(s))
            return false;
        const struct candidate *c = &w->sorted[w->taken++];
        if (!kept(s, c))
            continue;
        *out = s->rows[c->row];
        out->arrival_ns = c->at_ns;
        return true;
    }
}

static void trace_free(void *self)
{
    struct trace_source *s = self;
    if (s == NULL)
        return;
    traffic_factor_close(&s->factor);
    free(s->next);
    free(s->stretch.gathered);
    free(s->stretch.sorted);
    free(s->stretch.ends);
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
    return HR_OK;
}

static void place_copies(struct trace_source *s, uint64_t seed, uint32_t replication,
                         const char *entity)
{
    struct rng copies, turn;
    rng_init(&copies, seed, replication, entity, "copies");
    rng_init(&turn, seed, replication, entity, "offset");
    simtime_ns turned = replication > 0 ? rng_below(&turn, s->period_ns) : 0;
    for (uint32_t i = 0; i < s->n_copies; i++) {
        simtime_ns offset = i > 0 ? rng_below(&copies, s->period_ns) : 0;
        offset += offset < s->period_ns - turned ? turned : turned - s->period_ns;
        s->next[i] = first_request(s, i, offset);
    }
}

/* Buckets as many as copies, each as wide as the mean gap or less, by a factor of two at most. */
static enum hr_err stretch_init(struct trace_source *s)
{
    struct stretch *w = &s->stretch;
    w->n_buckets = MIN_BUCKETS;
    while (w->n_buckets < s->n_copies && w->n_buckets < MAX_BUCKETS)
        w->n_buckets *= 2;
    double gap = (double)s->period_ns / ((double)s->n_rows * fmax(s->n_copies, 1));
    const simtime_ns longest = s->end_ns / w->n_buckets;
    while ((double)(UINT64_C(2) << w->bucket_bits) <= gap &&
           UINT64_C(2) << w->bucket_bits <= longest)
        w->bucket_bits++;
    w->from = s->n_copies;
    w->gathered = calloc((size_t)ROOM * w->n_buckets, sizeof *w->gathered);
    w->sorted = calloc((size_t)ROOM * w->n_buckets, sizeof *w->sorted);
    w->ends = calloc(w->n_buckets, sizeof *w->ends);
    s->next = calloc((size_t)s->n_copies + 1, sizeof *s->next);
    return w->gathered && w->sorted && w->ends && s->next ? HR_OK : HR_NOMEM;
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
    TRY(stretch_init(s));
    place_copies(s, seed, replication, entity);
    return HR_OK;
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
