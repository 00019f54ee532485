/* The pending-event set on the hold model: N entries pending; each event schedules one more at now
 * + Exp(1 s). Keys only against the 4-ary heap of the tests; with a 64-byte record touched per
 * event; and the same model through the public interface of the engine.
 *
 * The increment is drawn by table and costs 1 to 2 ns, so that the set is what is measured. All
 * competitors of a size take turns, round by round, on the same increments; times are medians. */
#include "heap_oracle.h"
#include "sim/engine.h"
#include "sim/pes.h"
#include "timing.h"

#include <math.h>
#include <string.h>

enum { N_ROUNDS = 9, N_EVENTS = 500000, CELLS = 4096 };

/* Increments: the quantiles of Exp(1 s) at multiples of 1/4096, linear between. */
struct draws {
    uint64_t state;
    uint64_t quantile_ns[CELLS + 1];
};

static void draws_init(struct draws *d)
{
    d->state = 1;
    for (int i = 0; i < CELLS; i++)
        d->quantile_ns[i] = (uint64_t)(-1e9 * log1p(-(double)i / CELLS));
    d->quantile_ns[CELLS] = 10000000000;
}

/* splitmix64 (Steele, Lea and Flood 2014). */
static inline uint64_t draw(struct draws *d)
{
    uint64_t z = (d->state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    const uint64_t *q = &d->quantile_ns[z >> 52];
    return q[0] + ((q[1] - q[0]) * (z & 0xffffff) >> 24);
}

struct record {
    _Alignas(64) uint64_t n_events;
};

struct timer_owner {
    struct engine *engine;
    struct draws draws;
    uint64_t left, checksum;
};

/* Everything one size needs; each competitor has its own draws, in the same order. */
struct hold {
    size_t n;
    struct draws draws[3];
    struct heap_oracle heap;
    struct pes pes, pes_records;
    uint64_t n_pushed; /* into the heap */
    struct record *records;
    struct timer_owner owner;
    uint64_t checksum[4];
};

static void fire(void *ctx, uint32_t id)
{
    struct timer_owner *o = ctx;
    simtime_ns now = engine_now(o->engine);
    o->checksum = o->checksum * 31 + now;
    engine_schedule(o->engine, id, now + draw(&o->draws));
    if (--o->left == 0)
        engine_stop(o->engine);
}

static struct heap_key numbered(struct hold *h, uint64_t time, uint64_t slot)
{
    return (struct heap_key){time, h->n_pushed++ << PES_SLOT_BITS | slot};
}

static bool hold_init(struct hold *h, size_t n)
{
    *h = (struct hold){.n = n};
    for (int i = 0; i < 3; i++)
        draws_init(&h->draws[i]);
    draws_init(&h->owner.draws);
    pes_init(&h->pes);
    pes_init(&h->pes_records);
    h->records = aligned_alloc(64, n * sizeof *h->records);
    h->owner.engine = engine_new();
    bool ok = h->records && h->owner.engine;
    if (!ok)
        return false;
    memset(h->records, 0, n * sizeof *h->records);
    h->pes_records.slots = (struct pes_slots){h->records, sizeof *h->records, false};
    for (uint32_t i = 0; i < n && ok; i++) {
        timer_id id;
        ok = heap_oracle_push(&h->heap, numbered(h, draw(&h->draws[0]), i)) &&
             engine_timer_new(h->owner.engine, EVENT_COMPLETE, fire, &h->owner, i, &id) == HR_OK &&
             id == i;
        pes_push(&h->pes, draw(&h->draws[1]), i);
        pes_push(&h->pes_records, draw(&h->draws[2]), i);
        if (ok)
            engine_schedule(h->owner.engine, id, draw(&h->owner.draws));
    }
    return ok && !h->pes.failed && !h->pes_records.failed;
}

static void hold_fini(struct hold *h)
{
    heap_oracle_fini(&h->heap);
    pes_fini(&h->pes);
    pes_fini(&h->pes_records);
    engine_free(h->owner.engine);
    free(h->records);
}

static void run_heap(struct hold *h)
{
    uint64_t sum = h->checksum[0];
    for (int i = 0; i < N_EVENTS; i++) {
        struct heap_key k = heap_oracle_pop(&h->heap);
        sum = sum * 31 + k.time;
        heap_oracle_push(&h->heap, numbered(h, k.time + draw(&h->draws[0]),
                                            k.tag & ((1u << PES_SLOT_BITS) - 1)));
    }
    h->checksum[0] = sum;
}

static void run_pes(struct hold *h)
{
    uint64_t sum = h->checksum[1];
    struct pes_entry e;
    for (int i = 0; i < N_EVENTS && pes_pop(&h->pes, &e); i++) {
        sum = sum * 31 + e.time;
        pes_push(&h->pes, e.time + draw(&h->draws[1]), e.tag);
    }
    h->checksum[1] = sum;
}

static void run_pes_records(struct hold *h)
{
    uint64_t sum = h->checksum[2];
    struct pes_entry e;
    for (int i = 0; i < N_EVENTS && pes_pop(&h->pes_records, &e); i++) {
        sum = sum * 31 + e.time;
        h->records[pes_slot(e.tag)].n_events++;
        pes_push(&h->pes_records, e.time + draw(&h->draws[2]), e.tag);
    }
    h->checksum[2] = sum;
}

static void run_engine(struct hold *h)
{
    h->owner.left = N_EVENTS;
    engine_run(h->owner.engine, SIM_NEVER);
    h->checksum[3] = h->owner.checksum;
}

enum { N_COMPETITORS = 4 };

static const struct competitor {
    const char *name;
    void (*run)(struct hold *h);
} competitors[N_COMPETITORS] = {
    {"heap", run_heap}, {"pes", run_pes}, {"pes_records", run_pes_records}, {"api", run_engine}};

/* Seconds of one round of each competitor; 0 when all is well. */
static int measure(size_t n, double median_s[N_COMPETITORS])
{
    static const int order[N_COMPETITORS] = {1, 3, 0, 2};
    double times[N_COMPETITORS][N_ROUNDS];
    struct hold *h = malloc(sizeof *h);
    if (!h || !hold_init(h, n))
        return 1;
    for (int round = -1; round < N_ROUNDS; round++) /* the first warms up */
        for (int i = 0; i < N_COMPETITORS; i++) {
            int c = order[i];
            double start = timing_cpu_s();
            competitors[c].run(h);
            if (round >= 0)
                times[c][round] = timing_cpu_s() - start;
        }
    int wrong = 0;
    for (int c = 0; c < N_COMPETITORS; c++) {
        median_s[c] = timing_median(times[c], N_ROUNDS);
        wrong |= h->checksum[c] != h->checksum[0];
    }
    if (wrong)
        fprintf(stderr, "hold: the sequences of events differ at %zu pending\n", n);
    hold_fini(h);
    free(h);
    return wrong;
}

int main(void)
{
    static const struct {
        const char *name;
        size_t n;
    } sizes[] = {{"1e2", 100}, {"1e4", 10000}, {"1e6", 1000000}};
    double s[3][N_COMPETITORS], overhead = 0, over_keys = 0;
    for (int i = 0; i < 3; i++) {
        char name[64];
        if (measure(sizes[i].n, s[i]))
            return 1;
        for (int c = 0; c < N_COMPETITORS; c++) {
            snprintf(name, sizeof name, "hold_%s_%s_mev_per_cpu_s", sizes[i].name,
                     competitors[c].name);
            timing_print(name, N_EVENTS / s[i][c] * 1e-6, "1e6/s");
        }
        snprintf(name, sizeof name, "hold_%s_vs_oracle", sizes[i].name);
        timing_print(name, s[i][0] / s[i][1], "1");
        overhead = fmax(overhead, s[i][3] / s[i][2]);
        over_keys = fmax(over_keys, s[i][3] / s[i][1]);
    }
    timing_print("hold_record_1e6_vs_1e2", s[2][2] / s[0][2], "1");
    timing_print("hold_api_overhead", overhead, "1");
    timing_print("hold_api_vs_keys", over_keys, "1");
    return 0;
}
