/* The catalogue against its source table, digit by digit, and the safe rate against the replica. */
#include "models/serving/catalogue.h"
#include "models/serving/replica.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define H100_VISIBLE_GB 85.520809984 /* 81,559 MiB */

/* source,gpu,model,tp,weights,phase,points,k0_ms,k1,k2,err_median_pct,err_p95_pct,err_max_pct,
 * batch_min,batch_max,context_min,context_max,prefill_floor_ms */
enum {
    SOURCE,
    GPU,
    MODEL,
    TP,
    WEIGHTS,
    PHASE,
    POINTS,
    K0,
    K1,
    K2,
    MEDIAN,
    P95,
    MAX,
    FLOOR = 17,
    N = 18
};

struct row {
    char text[512];
    char *cell[N];
};

static size_t read_rows(struct row *rows, size_t most)
{
    FILE *f = fopen(TEST_SOURCE_ROOT "/models/serving/data/h100_step_times.csv", "r");
    cr_assert_not_null(f);
    size_t n = 0;
    char line[512];
    cr_assert_not_null(fgets(line, sizeof line, f));
    cr_assert_str_eq(line,
                     "source,gpu,model,tp,weights,phase,points,k0_ms,k1,k2,err_median_pct,"
                     "err_p95_pct,err_max_pct,batch_min,batch_max,context_min,context_max,"
                     "prefill_floor_ms\n");
    while (n < most && fgets(rows[n].text, sizeof rows[n].text, f)) {
        char *at = rows[n].text;
        at[strcspn(at, "\r\n")] = 0;
        for (int i = 0; i < N; i++) {
            rows[n].cell[i] = at;
            at += strcspn(at, ",");
            cr_assert_eq(*at == ',', i < N - 1, "%s", rows[n].text);
            *at++ = 0;
        }
        n++;
    }
    fclose(f);
    return n;
}

/* text x 10^power as an integer, rounded half up, without floating point. */
static uint64_t scaled(const char *text, int power)
{
    uint64_t digits = 0;
    bool fraction = false;
    for (; *text && *text != 'e'; text++) {
        if (*text == '.') {
            fraction = true;
            continue;
        }
        cr_assert(*text >= '0' && *text <= '9');
        digits = digits * 10 + (uint64_t)(*text - '0');
        power -= fraction;
    }
    if (*text == 'e')
        power += atoi(text + 1);
    for (; power > 0; power--)
        digits *= 10;
    uint64_t divisor = 1;
    for (; power < 0; power++)
        divisor *= 10;
    return (digits + divisor / 2) / divisor;
}

static const char *catalogue_name(const char *model)
{
    static const char *const names[][2] = {{"llama3.1-8b", "llama-3.1-8b"},
                                           {"llama3.1-70b", "llama-3.1-70b"},
                                           {"qwen3-32b", "qwen3-32b"}};
    for (size_t i = 0; i < 3; i++)
        if (strcmp(names[i][0], model) == 0)
            return names[i][1];
    cr_assert_fail("unknown model %s", model);
    return NULL;
}

static const struct perf_entry *entry_of(const struct row *row)
{
    const bool vllm = strcmp(row->cell[SOURCE], "AICV") == 0;
    cr_assert(vllm || strcmp(row->cell[SOURCE], "AICT") == 0);
    return perf_find(catalogue_name(row->cell[MODEL]), row->cell[WEIGHTS],
                     (uint32_t)atoi(row->cell[TP]), row->cell[GPU],
                     vllm ? "vllm 0.19.0" : "tensorrt-llm 1.3.0rc20");
}

static void compare_row(const struct perf_entry *e, const struct row *row)
{
    if (strcmp(row->cell[PHASE], "decode") == 0) {
        cr_expect_eq(e->step.a_ps, scaled(row->cell[K0], 9));
        cr_expect_eq(e->step.b_ps, scaled(row->cell[K1], 9));
        cr_expect_eq(e->step.c_ps, scaled(row->cell[K2], 9));
    } else {
        cr_assert_str_eq(row->cell[PHASE], "prefill");
        cr_expect_eq(e->step.d_ps, scaled(row->cell[K0], 9));
        cr_expect_eq(e->step.e_ps, scaled(row->cell[K1], 9));
        cr_expect_eq(e->step.f_fs, scaled(row->cell[K2], 12));
        cr_expect_eq(e->step.floor_ps, scaled(row->cell[FLOOR], 9));
    }
    cr_expect_geq(e->fit_median_pct, atof(row->cell[MEDIAN]));
    cr_expect_geq(e->fit_max_pct, atof(row->cell[MAX]));
}

Test(catalogue, equals_source_rows)
{
    static struct row rows[128];
    const size_t n = read_rows(rows, 128);
    cr_assert_eq(n, 2 * perf_catalogue_n);
    for (size_t i = 0; i < n; i++) {
        const struct perf_entry *e = entry_of(&rows[i]);
        cr_assert_not_null(e, "%s %s %s", rows[i].cell[MODEL], rows[i].cell[WEIGHTS],
                           rows[i].cell[TP]);
        compare_row(e, &rows[i]);
    }
}

Test(catalogue, fit_errors_are_the_worse_of_two)
{
    static struct row rows[128];
    const size_t n = read_rows(rows, 128);
    for (size_t i = 0; i < perf_catalogue_n; i++) {
        double median = 0, max = 0;
        for (size_t j = 0; j < n; j++)
            if (entry_of(&rows[j]) == &perf_catalogue[i]) {
                median = fmax(median, atof(rows[j].cell[MEDIAN]));
                max = fmax(max, atof(rows[j].cell[MAX]));
            }
        cr_expect_float_eq(perf_catalogue[i].fit_median_pct, median, 1e-12);
        cr_expect_float_eq(perf_catalogue[i].fit_max_pct, max, 1e-12);
    }
}

Test(catalogue, weights_and_kv_follow_from_the_model)
{
    static const struct {
        const char *name;
        double parameters_1e9;
        uint32_t layers, kv_heads;
    } models[] = {{"llama-3.1-8b", 8.03, 32, 8},
                  {"llama-3.1-70b", 70.55, 80, 8},
                  {"qwen3-32b", 32.76, 64, 8}};
    for (size_t i = 0; i < perf_catalogue_n; i++) {
        const struct perf_entry *e = &perf_catalogue[i];
        size_t m = 0;
        while (strcmp(models[m].name, e->model) != 0)
            m++;
        const double bytes = strcmp(e->precision, "fp8") == 0 ? 1 : 2;
        cr_expect_float_eq(e->weights_gb, models[m].parameters_1e9 * bytes, 1e-9);
        cr_expect_eq(e->kv_bytes_per_token, models[m].layers * models[m].kv_heads * 128 * 2 * 2);
        cr_expect_gt(perf_kv_tokens(H100_VISIBLE_GB, e->tp, e->weights_gb, e->kv_bytes_per_token),
                     0);
        cr_expect_not_null(strstr(e->source, "aiconfigurator"));
    }
}

/* The row of the first scenario, in the units in which it is quoted: ms, ns, us. */
Test(catalogue, llama_70b_fp8_tp4)
{
    const struct perf_entry *e = perf_find("llama-3.1-70b", "fp8", 4, "h100-sxm", "vllm");
    cr_assert_not_null(e);
    cr_expect_str_eq(e->engine, "vllm 0.19.0");
    cr_expect_float_eq((double)e->step.a_ps * 1e-9, 9.829, 5e-4);
    cr_expect_float_eq((double)e->step.b_ps * 1e-9, 0.0348, 5e-5);
    cr_expect_float_eq((double)e->step.c_ps * 1e-3, 27.8, 5e-2);
    cr_expect_float_eq((double)e->step.d_ps * 1e-9, 6.27, 5e-3);
    cr_expect_float_eq((double)e->step.e_ps * 1e-6, 44.3, 5e-2);
    cr_expect_float_eq((double)e->step.f_fs * 1e-6, 0.267, 5e-4);
}

Test(catalogue, find)
{
    cr_expect_null(perf_find("llama-3.1-70b", "bf16", 1, "h100-sxm", "vllm"));
    cr_expect_not_null(perf_find("llama-3.1-70b", "fp8", 1, "h100-sxm", "vllm"));
    cr_expect_null(perf_find("llama-3.1-70b", "fp8", 4, "h100-sxm", "sglang"));
    cr_expect_null(perf_find("llama-3.1-70b", "fp8", 4, "h200", "vllm"));
    cr_expect_str_eq(perf_find("qwen3-32b", "bf16", 8, "h100-sxm", "tensorrt")->engine,
                     "tensorrt-llm 1.3.0rc20");
    cr_expect_str_eq(perf_find("qwen3-32b", "bf16", 8, "h100-sxm", "")->engine, "vllm 0.19.0");
}

Test(catalogue, kv_tokens)
{
    /* (0.9 x 85.520809984 x 4 - 70.55 - 8) GB / 327,680 B and (0.9 x 85.520809984 - 18.06) /
     * 131,072 */
    cr_expect_eq(perf_kv_tokens(H100_VISIBLE_GB, 4, 70.55, 327680), 699844);
    cr_expect_eq(perf_kv_tokens(H100_VISIBLE_GB, 1, 16.06, 131072), 449437);
    cr_expect_eq(perf_kv_tokens(H100_VISIBLE_GB, 1, 141.1, 327680), 0);
}

static const struct step_time *step_of(const char *model, const char *precision, uint32_t tp)
{
    return &perf_find(model, precision, tp, "h100-sxm", "vllm")->step;
}

Test(safe_rate, grows_with_what_it_is_allowed)
{
    const struct step_time *s = step_of("llama-3.1-70b", "fp8", 4);
    double last = 0, last_flight = 0, flight;
    for (uint64_t tpot = 10 * SIM_MS; tpot <= 200 * SIM_MS; tpot += SIM_MS) {
        double rate = perf_safe_rate(s, 1155, 211, tpot, 1000000, &flight);
        cr_expect(rate > last && flight > last_flight);
        last = rate;
        last_flight = flight;
    }
    last = 0;
    for (uint32_t seqs = 1; seqs <= 1024; seqs *= 2) {
        double rate = perf_safe_rate(s, 1155, 211, 1000 * SIM_S, seqs, &flight);
        cr_expect(rate > last && flight >= seqs && flight <= seqs + 1);
        last = rate;
    }
    cr_expect_eq(perf_safe_rate(s, 1155, 211, 9 * SIM_MS, 256, &flight), 0); /* a alone is longer */
    cr_expect_eq(flight, 0);
    cr_expect_eq(perf_safe_rate(s, 1155, 211, 0, 256, &flight), 0);
}

Test(safe_rate, hand_computed)
{
    /* a 10 ms, b 1 ms, prefill 20 ms; o = 11: w = 20 + 10 x 1 = 30 ms. tpot 25 ms: x = (1 - 0.4) /
     * w = 20 a second, n = 20 x 10 x 25 ms = 5, and 20 x 20 ms = 0.4 in prefill. */
    const struct step_time s = {.a_ps = 10000000000, .b_ps = 1000000000, .d_ps = 20000000000};
    double flight;
    cr_expect_float_eq(perf_safe_rate(&s, 100, 11, 25 * SIM_MS, 256, &flight), 20, 1e-9);
    cr_expect_float_eq(flight, 5.4, 1e-9);
    /* At most 2 sequences: x = 2 / (10 x 10 ms + 2 x 30 ms) = 12.5. */
    cr_expect_float_eq(perf_safe_rate(&s, 100, 11, 25 * SIM_MS, 2, &flight), 12.5, 1e-9);
    cr_expect_float_eq(flight, 2.25, 1e-9);
    /* One token: prefill alone. */
    cr_expect_float_eq(perf_safe_rate(&s, 100, 1, 1, 2, &flight), 50, 1e-9);
    cr_expect_float_eq(flight, 1, 1e-9);
}

/* One replica under Poisson arrivals at a rate (0: all at once); outputs uniform on 1..2 o - 1. Its
 * rate and time per token are those of the middle half of the requests. */
#define SIMULATED 20000

struct watch {
    simtime_ns first[SIMULATED];
    uint32_t outputs[SIMULATED];
    double tpot_sum_s;
    size_t n_tpot, n_done;
    simtime_ns start_ns, end_ns; /* when a quarter and three quarters were done */
};

static void on_first(void *self, uint32_t id, simtime_ns at)
{
    ((struct watch *)self)->first[id] = at;
}

static void on_done(void *self, const struct replica_request *request, simtime_ns at)
{
    struct watch *w = self;
    const uint32_t id = request->id;
    w->n_done++;
    if (w->n_done == SIMULATED / 4)
        w->start_ns = at;
    if (w->n_done == 3 * SIMULATED / 4)
        w->end_ns = at;
    if (w->outputs[id] > 1 && w->n_done > SIMULATED / 4 && w->end_ns == 0) {
        w->tpot_sum_s += sim_time_to_s(at - w->first[id]) / (w->outputs[id] - 1);
        w->n_tpot++;
    }
}

static double uniform(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return ((double)(*state >> 11) + 0.5) * 0x1p-53;
}

struct measured {
    double rate, tpot_s;
};

static const struct usage {
    const char *model, *precision;
    uint32_t tp, prompt, output;
} usages[] = {{"llama-3.1-70b", "fp8", 4, 1155, 211},
              {"llama-3.1-8b", "bf16", 1, 1155, 211},
              {"qwen3-32b", "fp8", 2, 2000, 60},
              {"llama-3.1-70b", "bf16", 8, 300, 400}};
#define N_USAGES (sizeof usages / sizeof usages[0])

static struct measured simulate(const struct usage *u, enum prefill_mode prefill, uint32_t seqs,
                                double rate)
{
    static struct watch w;
    w = (struct watch){.n_done = 0};
    const struct replica_config config = {*step_of(u->model, u->precision, u->tp), prefill, seqs,
                                          2048, 1000000};
    struct replica *r = replica_new(&config, &(struct replica_events){&w, on_first, on_done});
    uint64_t state = 7;
    double now_s = 0;
    for (uint32_t i = 0; i < SIMULATED; i++) {
        now_s += rate > 0 ? -log(uniform(&state)) / rate : 0;
        const simtime_ns now = sim_time_from_s(now_s);
        w.outputs[i] = 1 + (uint32_t)(uniform(&state) * (2 * u->output - 1));
        while (replica_next(r) <= now)
            replica_advance(r, replica_next(r));
        replica_submit(r, &(struct replica_request){now, i, u->prompt, w.outputs[i], 0, 0}, now);
    }
    while (replica_count(r) > 0)
        replica_advance(r, replica_next(r));
    replica_free(r);
    cr_assert_eq(w.n_done, SIMULATED);
    return (struct measured){SIMULATED / 2 / sim_time_to_s(w.end_ns - w.start_ns),
                             w.tpot_sum_s / (double)w.n_tpot};
}

/* Chunks ride on decode steps: what d and the floor cost falls away. */
static struct step_time step_as(const struct usage *u, enum prefill_mode prefill)
{
    struct step_time s = *step_of(u->model, u->precision, u->tp);
    if (prefill == PREFILL_CHUNKED)
        s.d_ps = s.floor_ps = 0;
    return s;
}

/* With a backlog and max_num_seqs binding, what comes out is the safe rate. */
Test(safe_rate, is_where_the_replica_saturates)
{
    for (size_t i = 0; i < N_USAGES; i++)
        for (int mode = PREFILL_PRIORITY; mode <= PREFILL_CHUNKED; mode++) {
            const struct usage *u = &usages[i];
            const struct step_time s = step_as(u, mode);
            double flight;
            const double safe = perf_safe_rate(&s, u->prompt, u->output, 1000 * SIM_S, 64, &flight);
            const double rate = simulate(u, mode, 64, 0).rate;
            cr_expect(fabs(rate / safe - 1) < 0.02, "usage %zu mode %d: %g, safe %g", i, mode, rate,
                      safe);
        }
}

/* The Poisson rate at which the mean time per token reaches the limit, by bisection. */
static double rate_at(const struct usage *u, enum prefill_mode prefill, double tpot_s, double safe)
{
    double low = safe / 2, high = safe * 2;
    for (int i = 0; i < 8; i++) {
        double middle = (low + high) / 2;
        if (simulate(u, prefill, 1000000, middle).tpot_s > tpot_s)
            high = middle;
        else
            low = middle;
    }
    return (low + high) / 2;
}

/* Randomness costs most where few requests are in flight (usage 2: about 20). */
Test(safe_rate, is_where_the_time_per_token_is_reached)
{
    for (size_t i = 0; i < N_USAGES; i++)
        for (int mode = PREFILL_PRIORITY; mode <= PREFILL_CHUNKED; mode++) {
            const struct usage *u = &usages[i];
            const struct step_time s = step_as(u, mode);
            const uint64_t tpot_ns = 4 * s.a_ps / 1000;
            double flight;
            const double safe = perf_safe_rate(&s, u->prompt, u->output, tpot_ns, 1000000, &flight);
            const double rate = rate_at(u, mode, sim_time_to_s(tpot_ns), safe);
            cr_expect(rate / safe > 0.85 && rate / safe < 1.05, "usage %zu mode %d: %g, safe %g", i,
                      mode, rate, safe);
        }
}
