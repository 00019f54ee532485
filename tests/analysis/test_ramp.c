/* The ramp condition against the fluid arithmetic and against every pair of instants. */
#include "analysis/ramp.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <stdlib.h>

/* Demand given directly: one replica of one GPU carries one request a second, windows of 60 s. */
static void ramp_of(struct ramp *r, const double *gpus, size_t n)
{
    struct slo_window *windows = calloc(n + 1, sizeof *windows);
    for (size_t i = 0; i < n; i++)
        windows[i].requests = (uint32_t)lround(60 * gpus[i]);
    const struct service_plan plan = {
        .gpus_per_replica = 1,
        .autoscaler = {.enabled = true, .metric = SCALER_REQUEST_RATE, .target = 1},
        .slo = {.window_ns = SIM_MIN}};
    const struct service_results results = {.windows = windows, .n_windows = n};
    cr_assert(ramp_init(r, &plan, (&plan)->gpus_per_replica, &results, 60.0 * (double)n) == HR_OK);
    free(windows);
}

/* 300 GPUs, then a linear ramp of 20 GPU/min for 600 s to 500: with T = 300 s the rise is 100; with
 * a buffer of 60 the longest safe reclaim is 180 s. */
Test(ramp, linear)
{
    double gpus[41];
    for (int i = 0; i < 41; i++)
        gpus[i] = i < 10 ? 300 : i <= 20 ? 300 + 20 * (i - 10) : 500;
    struct ramp r;
    ramp_of(&r, gpus, 41);
    cr_expect(epsilon_eq(dbl, ramp_peak(&r), 500, 1e-9));
    cr_expect(epsilon_eq(dbl, ramp_rise(&r, 300), 100, 1e-9));
    cr_expect(epsilon_eq(dbl, ramp_rise(&r, 30), 10, 1e-9));
    cr_expect(epsilon_eq(dbl, ramp_rise(&r, 1e6), 200, 1e-9));
    cr_expect(eq(dbl, ramp_rise(&r, 0), 0));
    cr_expect(eq(dbl, ramp_safe_reclaim_s(&r, 60), 180));
    cr_expect(ramp_safe_reclaim_s(&r, 0) < 1);
    cr_expect(epsilon_eq(dbl, ramp_safe_reclaim_s(&r, 200), 41 * 60, 1e-9)); /* any */
    ramp_fini(&r);
}

Test(ramp, falling_and_flat_never_rise)
{
    const double falling[] = {9, 8, 8, 5, 0}, flat[] = {4, 4, 4};
    struct ramp r;
    ramp_of(&r, falling, 5);
    cr_expect(eq(dbl, ramp_rise(&r, 600), 0));
    cr_expect(epsilon_eq(dbl, ramp_safe_reclaim_s(&r, 0), 300, 1e-9));
    ramp_fini(&r);
    ramp_of(&r, flat, 3);
    cr_expect(eq(dbl, ramp_rise(&r, 600), 0));
    ramp_fini(&r);
    ramp_of(&r, flat, 0);
    cr_expect(eq(dbl, ramp_rise(&r, 600), 0));
    cr_expect(eq(dbl, ramp_peak(&r), 0));
    ramp_fini(&r);
}

/* The slow way: all pairs of instants on a grid of a tenth of a window, and knots. */
static double brute_rise(const double *gpus, size_t n, double lag)
{
    double most = 0;
    for (size_t i = 0; i <= (n - 1) * 20; i++)
        for (size_t k = i; k <= (n - 1) * 20 && (double)(k - i) / 20 <= lag + 1e-12; k++) {
            double a = (double)i / 20, b = (double)k / 20;
            size_t p = (size_t)a, q = (size_t)b;
            double from = p + 1 < n ? gpus[p] + (a - (double)p) * (gpus[p + 1] - gpus[p]) : gpus[p];
            double to = q + 1 < n ? gpus[q] + (b - (double)q) * (gpus[q + 1] - gpus[q]) : gpus[q];
            most = fmax(most, to - from);
        }
    return most;
}

Test(ramp, random_demand_against_all_pairs)
{
    unsigned state = 20260101;
    for (int round = 0; round < 60; round++) {
        double gpus[24];
        size_t n = 2 + (size_t)round % 22;
        for (size_t i = 0; i < n; i++) {
            state = state * 1103515245u + 12345u;
            gpus[i] = (state >> 16) % 100;
        }
        struct ramp r;
        ramp_of(&r, gpus, n);
        double before = 0;
        for (double lag = 0.05; lag < (double)n; lag += 0.45) {
            double rise = ramp_rise(&r, lag * 60);
            cr_expect(epsilon_eq(dbl, rise, brute_rise(gpus, n, lag), 1e-9), "round %d lag %g",
                      round, lag);
            cr_expect(rise >= before - 1e-9);
            before = rise;
        }
        double safe = ramp_safe_reclaim_s(&r, 25);
        cr_expect(ramp_rise(&r, safe) <= 25 + 1e-6);
        cr_expect(safe >= 60 * (double)n - 1 || ramp_rise(&r, safe + 1) > 25);
        ramp_fini(&r);
    }
}
