/* Random workloads (2,000; with HEADROOM_LONG 400,000): the replica says exactly what its reference
 * says, and together they reach every rule. The seed of a workload is its number. */
#include "replica_play.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define MAX_N 64

static uint64_t draw(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t between(uint64_t *state, uint64_t low, uint64_t high)
{
    return low + draw(state) % (high - low + 1);
}

static bool chance(uint64_t *state, unsigned percent)
{
    return draw(state) % 100 < percent;
}

/* Coefficients of five kinds: a, b, c, d, e in ps, f in fs, floor in ps; each low + unit * draw. */
enum kind { REAL, WHOLE_NS, SUB_NS, ZEROS, LARGE, KINDS };

struct coefficient {
    uint64_t low, unit, n;
};

#define N_COEFFICIENTS 7
static const struct coefficient coefficients[KINDS][N_COEFFICIENTS] = {
    [REAL] = {{9829170000, 1, 999},
              {34826700, 1, 999},
              {27841, 1, 99},
              {6269150000, 1, 999},
              {44327300, 1, 999},
              {266565, 1, 99},
              {12109000000, 0, 0}},
    /* Boundaries at whole nanoseconds, few apart: arrivals hit them. */
    [WHOLE_NS] = {{1000, 1000, 4},
                  {0, 1000, 2},
                  {0, 0, 0},
                  {1000, 1000, 4},
                  {0, 1000, 2},
                  {0, 0, 0},
                  {0, 1000, 20}},
    /* Several boundaries in one nanosecond. */
    [SUB_NS] =
        {{0, 1, 300}, {0, 1, 50}, {0, 1, 3}, {0, 1, 900}, {0, 1, 90}, {0, 1, 900}, {0, 1, 900}},
    [ZEROS] = {{9829170000, 0, 0},
               {34826700, 0, 0},
               {27841, 0, 0},
               {6269150000, 0, 0},
               {44327300, 0, 0},
               {266565, 0, 0},
               {12109000000, 0, 0}},
    /* Up to the largest the replica takes. */
    [LARGE] = {{0, 1000000000000, 1000},
               {0, 1000000000, 1000},
               {0, 1000000, 1000},
               {0, 1000000000000, 1000},
               {0, 1000000000, 1000},
               {0, 1000000000, 1000},
               {0, 1000000000000, 1000}},
};

static struct step_time step_of(enum kind kind, uint64_t *s)
{
    uint64_t value[N_COEFFICIENTS];
    for (size_t i = 0; i < N_COEFFICIENTS; i++) {
        const struct coefficient *c = &coefficients[kind][i];
        value[i] = c->low + c->unit * between(s, 0, c->n);
        if ((kind == ZEROS || kind == LARGE) && chance(s, 40))
            value[i] = 0;
    }
    return (struct step_time){value[0], value[1], value[2], value[3], value[4], value[5], value[6]};
}

static struct replica_config config_of(uint64_t *s, enum kind kind, uint32_t longest)
{
    struct replica_config c = {.step = step_of(kind, s)};
    c.prefill = chance(s, 50) ? PREFILL_PRIORITY : PREFILL_CHUNKED;
    c.max_num_seqs = chance(s, 50) ? (uint32_t)between(s, 1, 6) : 256;
    c.max_batched_tokens = chance(s, 60) ? (uint32_t)between(s, 1, 48) : 2048;
    if (chance(s, 70)) /* as tight as it can be, or nearly */
        c.kv_capacity_tokens = longest + (chance(s, 40) ? 0 : between(s, 1, 40));
    else
        c.kv_capacity_tokens = chance(s, 50) ? 4 * longest : 100000;
    return c;
}

/* Arrivals in bursts, together, spread, or with gaps long enough to run dry. */
static simtime_ns gap_of(uint64_t *s, simtime_ns unit)
{
    const unsigned kind = (unsigned)(draw(s) % 10);
    if (kind < 4)
        return 0;
    if (kind < 7)
        return draw(s) % (unit + 1);
    return kind < 9 ? draw(s) % (8 * unit + 1) : draw(s) % (400 * unit + 1);
}

static void make_workload(uint64_t seed, struct workload *w, struct replica_request *requests)
{
    uint64_t state = seed * 1000003 + 17, *s = &state;
    const enum kind kind = (enum kind)(seed % KINDS);
    const uint32_t max_prompt = (uint32_t)between(s, 1, 60),
                   max_output = (uint32_t)between(s, 1, 40);
    const uint32_t n = (uint32_t)between(s, 8, MAX_N);
    uint32_t longest = 2;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t prompt = (uint32_t)between(s, 1, max_prompt);
        uint32_t output = chance(s, 10) ? 1 : (uint32_t)between(s, 1, max_output);
        requests[i] =
            (struct replica_request){.id = i, .prompt_tokens = prompt, .output_tokens = output};
        longest = prompt + output > longest ? prompt + output : longest;
    }
    *w = (struct workload){.requests = requests, .n = n};
    w->config = config_of(s, kind, longest);
    const struct step_time *t = &w->config.step;
    const simtime_ns step_ns = (t->a_ps + 8 * t->b_ps + t->d_ps / 4 + 20 * t->e_ps) / 1000;
    const simtime_ns unit = kind == WHOLE_NS || kind == SUB_NS ? between(s, 1, 12) : step_ns + 2;
    const unsigned far = chance(s, 30) ? (unsigned)between(s, 2, 40) : 63; /* up to 146 years on */
    simtime_ns now = draw(s) >> far;
    for (uint32_t i = 0; i < n; i++) {
        now += gap_of(s, unit);
        requests[i].arrival_ns = now;
    }
    const simtime_ns first = requests[0].arrival_ns, span = now - first + 20 * unit;
    w->n_takes = chance(s, 40) ? between(s, 1, PLAY_MAX_TAKES) : 0;
    for (size_t i = 0; i < w->n_takes; i++)
        w->takes[i] = first + span / (w->n_takes + 1) * (i + 1) + draw(s) % (unit + 1);
    w->take_delay_ns = chance(s, 50) ? 0 : draw(s) % (3 * unit + 1);
    w->submit_first = chance(s, 50);
}

static void add_counts(struct ref_counts *sum, const struct ref_counts *more)
{
    uint64_t *to = (uint64_t *)sum; /* both are nothing but uint64_t */
    const uint64_t *from = (const uint64_t *)more;
    for (size_t i = 0; i < sizeof *sum / sizeof *to; i++)
        to[i] += from[i];
}

Test(replica_random, equals_reference)
{
    struct replica_request requests[MAX_N];
    struct ref_counts sum = {0};
    const uint64_t workloads = getenv("HEADROOM_LONG") ? 400000 : 2000;
    uint64_t n_taken = 0, n_taken_generated = 0, n_requests = 0;
    for (uint64_t seed = 0; seed < workloads; seed++) {
        struct workload w;
        make_workload(seed, &w, requests);
        struct play_result result = play_compare(&w);
        cr_assert(result.equal, "workload %zu: %s", (size_t)seed, result.difference);
        add_counts(&sum, &result.counts);
        n_taken += result.n_taken;
        n_taken_generated += result.n_taken_generated;
        n_requests += w.n;
    }
    cr_expect_gt(n_requests, 20 * workloads);
    cr_expect_gt(sum.evictions, 5000);
    cr_expect_gt(sum.partial_evicted, 50);
    cr_expect_gt(sum.several_evicted, 50);
    cr_expect_gt(sum.blocked_seqs, 1000);
    cr_expect_gt(sum.blocked_kv, 1000);
    cr_expect_gt(sum.blocked_budget, 1000);
    cr_expect_gt(sum.admitted_alone, 20);
    cr_expect_gt(sum.partial_prompts, 1000);
    cr_expect_gt(sum.mixed_steps, 1000);
    cr_expect_gt(sum.floor_steps, 1000);
    cr_expect_gt(sum.at_boundary, 200);
    cr_expect_gt(sum.idle_starts, 1000);
    cr_expect_gt(sum.one_token, 1000);
    cr_expect_gt(sum.together, 1000);
    cr_expect_gt(n_taken, 1000);
    cr_expect_gt(n_taken_generated, 200);
}
