/* What one request costs in the parts around a replica: superposed copies of an hour of chat
 * traffic, with and without a daily curve and an event, the choice among 10,000 replicas, and the
 * objectives. Nanoseconds of CPU time per request. */
#include "models/serving/traffic.h"
#include "models/serving/router.h"
#include "models/serving/slo.h"
#include "sim/rng.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void print(const char *name, double ns)
{
    printf("%s %.1f ns\n", name, ns);
}

static void fail(const char *what)
{
    fprintf(stderr, "%s failed\n", what);
    exit(1);
}

/* As many requests as the Azure conversation trace of 2023 has in its hour. */
enum { N_ROWS = 19366 };

static struct request_trace hour_of_chat(void)
{
    struct request_trace trace = {.rows = calloc(N_ROWS, sizeof *trace.rows), .n = N_ROWS};
    if (!trace.rows)
        fail("calloc");
    struct rng r;
    rng_init(&r, 1, 0, "bench", "trace");
    simtime_ns at = 0;
    for (size_t i = 0; i < N_ROWS; i++) {
        uint32_t prompt = 1 + (uint32_t)rng_below(&r, 4000);
        trace.rows[i] = (struct request){at, prompt, 1 + (uint32_t)rng_below(&r, 600)};
        trace.span_ns = at;
        at += sim_time_from_s(rng_exponential(&r) / 5.53);
    }
    return trace;
}

static void bench_source(const char *name, const struct traffic_plan *plan, uint64_t n_max)
{
    struct request_source source;
    if (traffic_source_new(plan, 1, 0, "bench", 365 * SIM_DAY, &source) != HR_OK)
        fail("traffic_source_new");
    struct request request;
    uint64_t n = 0, tokens = 0;
    double start = cpu_ns();
    while (n < n_max && source.next(source.self, &request)) {
        n++;
        tokens += request.prompt_tokens;
    }
    print(name, (cpu_ns() - start) / (double)n);
    if (tokens < n)
        fail("the source");
    source.free(source.self);
}

static void bench_traffic(void)
{
    struct request_trace trace = hour_of_chat();
    struct traffic_plan plan = {
        .kind = ARRIVAL_TRACE, .trace = &trace, .scale = 145, .speed = 1, .loop = true};
    bench_source("traffic_145_copies_ns", &plan, 10000000);
    plan.scale = 15000;
    bench_source("traffic_15000_copies_ns", &plan, 10000000);
    const struct traffic_event campaign = {"campaign", 19 * SIM_HOUR, 10 * SIM_S, SIM_HOUR,
                                           10 * SIM_S, 1.4,           SIM_DAY,    false};
    plan.scale = 100;
    plan.envelope =
        (struct envelope){.kind = ENVELOPE_DIURNAL, .peak_to_mean = 1.4, .peak_hour = 14};
    plan.events = &campaign;
    plan.n_events = 1;
    bench_source("traffic_diurnal_ns", &plan, 10000000);
    free(trace.rows);
}

/* A steady fleet: one request in, one out of a random replica that has one. */
static void bench_router(void)
{
    enum { REPLICAS = 10000, STEPS = 10000000, IN_FLIGHT = 30 };
    struct router *router = router_new(ROUTER_LEAST_OUTSTANDING, 0, NULL);
    uint32_t *count = calloc(REPLICAS, sizeof *count);
    if (!router || !count)
        fail("router_new");
    struct rng r;
    rng_init(&r, 1, 0, "bench", "router");
    for (uint32_t i = 0; i < REPLICAS; i++) {
        count[i] = (uint32_t)rng_below(&r, 2 * IN_FLIGHT + 1);
        if (router_add(router, i, count[i]) != HR_OK)
            fail("router_add");
    }
    uint32_t *leave = calloc(STEPS, sizeof *leave);
    if (!leave)
        fail("calloc");
    for (uint32_t i = 0; i < STEPS; i++)
        leave[i] = (uint32_t)rng_below(&r, REPLICAS);
    uint64_t sum = 0;
    double start = cpu_ns();
    for (uint32_t i = 0; i < STEPS; i++) {
        uint32_t to = router_pick(router), from = leave[i];
        router_update(router, to, ++count[to]);
        if (count[from] > 0)
            router_update(router, from, --count[from]);
        sum += to;
    }
    print("router_10000_ns", (cpu_ns() - start) / STEPS);
    if (sum == 0)
        fail("router_pick");
    free(leave);
    free(count);
    router_free(router);
}

/* 200 requests a second that last a minute or so, in one-minute windows, three objectives. */
static void bench_slo(void)
{
    enum { N = 8000000, OPEN = 12000 };
    struct slo_plan plan = {.objectives = {{SLO_TTFT, 2 * SIM_S, 990000},
                                           {SLO_TPOT, 100 * SIM_MS, 990000},
                                           {SLO_E2E, 60 * SIM_S, 950000}},
                            .n_objectives = 3,
                            .window_ns = SIM_MIN,
                            .end_ns = N * (5 * SIM_MS),
                            .target = 0.99};
    struct slo *slo = slo_new(&plan);
    uint64_t *draw = calloc(OPEN, sizeof *draw);
    if (!slo || !draw)
        fail("slo_new");
    struct rng r;
    rng_init(&r, 1, 0, "bench", "slo");
    for (int i = 0; i < OPEN; i++)
        draw[i] = (uint64_t)(1e9 * rng_gamma(&r, 2));
    double arrived = 0, ended = 0;
    for (uint64_t first = 0; first + OPEN <= N; first += OPEN) {
        double start = cpu_ns();
        for (uint64_t i = first; i < first + OPEN; i++)
            if (slo_arrived(slo, i * (5 * SIM_MS)) != HR_OK)
                fail("slo_arrived");
        double middle = cpu_ns();
        for (uint64_t i = first; i < first + OPEN; i++) {
            uint64_t x = draw[i - first];
            if (slo_ended(slo, i * (5 * SIM_MS), SLO_DONE, x / 4, true, x / 60, 8 * x) != HR_OK)
                fail("slo_ended");
        }
        arrived += middle - start;
        ended += cpu_ns() - middle;
    }
    print("slo_arrived_ns", arrived / N);
    print("slo_ended_ns", ended / N);
    if (slo_totals(slo)->done == 0)
        fail("slo_ended");
    free(draw);
    slo_free(slo);
}

int main(void)
{
    bench_traffic();
    bench_router();
    bench_slo();
    return 0;
}
