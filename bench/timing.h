/* Times for benches: CPU time of the thread, medians of rounds, and the one form of a result line.
 */
#ifndef HEADROOM_BENCH_TIMING_H
#define HEADROOM_BENCH_TIMING_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline double timing_cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static inline int timing_by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts the n times. */
static inline double timing_median(double *times, size_t n)
{
    qsort(times, n, sizeof *times, timing_by_value);
    return n % 2 ? times[n / 2] : (times[n / 2 - 1] + times[n / 2]) / 2;
}

static inline void timing_print(const char *name, double value, const char *unit)
{
    printf("%s %.4g %s\n", name, value, unit);
    fflush(stdout);
}

#endif
