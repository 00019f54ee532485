/* Replicas alone: Llama-3.1-70B fp8 TP4, 8 requests/s each, Poisson arrivals dealt round robin,
 * lengths drawn from the quantiles of the Azure conversation trace. The loop around them is as
 * small as can be: a tree of minima over the replicas' next times and two counting callbacks.
 * Prints requests and nanoseconds of CPU time for 100 and for 10,000 replicas, the second with cold
 * caches. */
#include "models/serving/replica.h"
#include "models/serving/catalogue.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define VISIBLE_GB 85.52
#define RATE       8.0 /* requests/s of one replica */
#define DRAWS      65536
#define REQUESTS   2000000
#define ROUNDS     5

static const uint32_t prompt_quantiles[] = {2,    194,  235,  383,  396,  405,  428,  966,  1020,
                                            1052, 1083, 1120, 1189, 1335, 2309, 4079, 14050};
static const uint32_t output_quantiles[] = {7,   45,  60,  75,  85,  92,  99,  110, 129,
                                            157, 195, 377, 395, 402, 416, 440, 1000};
#define QUANTILES 16

struct draw {
    double gap; /* mean 1 */
    uint32_t prompt, output;
};

struct tree {
    uint32_t n_leaves; /* a power of two */
    simtime_ns *next;  /* by replica */
    uint32_t *winner;  /* 1 is the root; node i has children 2 i and 2 i + 1 */
};

struct tally {
    uint64_t first_tokens, done, calls; /* calls at a due time */
};

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double uniform(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return ((double)(*state >> 11) + 0.5) * 0x1p-53;
}

static uint32_t quantile(const uint32_t *table, double u)
{
    const uint32_t i = (uint32_t)(u * QUANTILES);
    return table[i] + (uint32_t)((table[i + 1] - table[i]) * (u * QUANTILES - i));
}

static void draw_all(struct draw *draws)
{
    uint64_t state = 1;
    for (size_t i = 0; i < DRAWS; i++) {
        draws[i].gap = -log(uniform(&state));
        draws[i].prompt = quantile(prompt_quantiles, uniform(&state));
        draws[i].output = quantile(output_quantiles, uniform(&state));
    }
}

static int tree_init(struct tree *t, uint32_t n)
{
    for (t->n_leaves = 1; t->n_leaves < n;)
        t->n_leaves *= 2;
    t->next = malloc(t->n_leaves * sizeof *t->next);
    t->winner = malloc(2 * t->n_leaves * sizeof *t->winner);
    if (!t->next || !t->winner)
        return 1;
    for (uint32_t i = 0; i < t->n_leaves; i++) {
        t->next[i] = SIM_NEVER;
        t->winner[t->n_leaves + i] = i;
    }
    for (uint32_t i = t->n_leaves - 1; i > 0; i--)
        t->winner[i] = t->winner[2 * i];
    return 0;
}

static void tree_set(struct tree *t, uint32_t i, simtime_ns next)
{
    t->next[i] = next;
    for (uint32_t node = (t->n_leaves + i) / 2; node > 0; node /= 2) {
        uint32_t left = t->winner[2 * node], right = t->winner[2 * node + 1];
        const uint32_t mask = 0 - (uint32_t)(t->next[right] < t->next[left]); /* no branch */
        t->winner[node] = left ^ ((left ^ right) & mask);
    }
}

static void on_first(void *self, uint32_t id, simtime_ns at)
{
    ((struct tally *)self)->first_tokens++;
    (void)id, (void)at;
}

static void on_done(void *self, const struct replica_request *request, simtime_ns at)
{
    ((struct tally *)self)->done++;
    (void)request, (void)at;
}

static void play(struct replica **replicas, uint32_t n, struct tree *tree, const struct draw *draws,
                 uint32_t requests, struct tally *tally)
{
    const double mean_gap_ns = 1e9 / (RATE * n);
    double clock = 0;
    for (uint32_t i = 0, to = 0; i < requests; i++, to = to + 1 < n ? to + 1 : 0) {
        const struct draw *d = &draws[i % DRAWS];
        clock += d->gap * mean_gap_ns;
        const simtime_ns now = (simtime_ns)clock;
        uint32_t first;
        while (tree->next[first = tree->winner[1]] <= now) {
            replica_run_to(replicas[first], tree->next[first] + 1);
            tree_set(tree, first, replica_due(replicas[first]));
            tally->calls++;
        }
        const struct replica_request request = {now, i, d->prompt, d->output, 0, SIM_NEVER};
        replica_run_to(replicas[to], now);
        (void)replica_submit(replicas[to], &request, now);
        const simtime_ns due = replica_due_submitted(replicas[to], tree->next[to]);
        if (due != tree->next[to])
            tree_set(tree, to, due);
    }
}

static void free_all(struct replica **replicas, uint32_t n, struct tree *tree)
{
    for (uint32_t i = 0; replicas && i < n; i++)
        replica_free(replicas[i]);
    free(replicas);
    free(tree->next);
    free(tree->winner);
}

static int play_once(const struct replica_config *config, uint32_t n, const struct draw *draws,
                     double *rate, double *events)
{
    struct tally tally = {0, 0, 0};
    struct tree tree = {0, NULL, NULL};
    struct replica **replicas = calloc(n, sizeof *replicas);
    int failed = !replicas || tree_init(&tree, n);
    for (uint32_t i = 0; i < n && !failed; i++) {
        const struct replica_events sink = {&tally, on_first, on_done};
        failed = !(replicas[i] = replica_new(config, &sink));
    }
    if (!failed) {
        const double start = cpu_s();
        play(replicas, n, &tree, draws, REQUESTS, &tally);
        *rate = REQUESTS / (cpu_s() - start);
        *events = (double)tally.calls / REQUESTS;
    }
    free_all(replicas, n, &tree);
    return failed;
}

static int measure(const struct replica_config *config, uint32_t n, const char *suffix,
                   const struct draw *draws)
{
    double best = 0, events = 0;
    for (int round = 0; round < ROUNDS; round++) {
        double rate = 0;
        if (play_once(config, n, draws, &rate, &events))
            return 1;
        best = rate > best ? rate : best;
    }
    printf("replica%s_requests_per_cpu_s %.0f 1/s\n", suffix, best);
    printf("replica%s_ns_per_request %.1f ns\n", suffix, 1e9 / best);
    printf("replica%s_events_per_request %.3f 1\n", suffix, events);
    return 0;
}

int main(void)
{
    static struct draw draws[DRAWS];
    const struct perf_entry *perf = perf_find("llama-3.1-70b", "fp8", 4, "h100-sxm", "vllm");
    const struct replica_config config = {
        .step = perf->step,
        .prefill = PREFILL_CHUNKED,
        .max_num_seqs = 256,
        .max_batched_tokens = 2048,
        .kv_capacity_tokens =
            perf_kv_tokens(VISIBLE_GB, perf->tp, perf->weights_gb, perf->kv_bytes_per_token)};
    draw_all(draws);
    return measure(&config, 100, "", draws) || measure(&config, 10000, "_10000", draws);
}
