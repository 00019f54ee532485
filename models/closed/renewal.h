/* Work that is interrupted at random and saved at intervals: how much of the time is useful.
 *
 * Interruptions are a Poisson process of mean gap M, also during saves and restarts; after one, D
 * failure-free seconds pass, then a restart of R seconds that can be interrupted itself; then the
 * segment of tau useful seconds and a save of C seconds starts again from its beginning.
 *
 *   segment      e^(R/M) (M + D) (e^((tau + C)/M) - 1)             expected length
 *   efficiency   tau / segment; with C = 0 and tau = 0 its limit e^(-R/M) M / (M + D)
 *   on notice    M / (M + notice + D + R)       saving only on notice, nothing fails meanwhile
 *   series       a run on n nodes fails with any of them: M = M_node / n
 *
 * M. Bougeret, H. Casanova, M. Rabie, Y. Robert and F. Vivien, SC 2011; J. Daly, FGCS 22, 2006;
 * renewal-reward theorem, W. L. Smith 1955. All in seconds; outside the domain (negative, NaN,
 * M = 0) NaN. */
#ifndef HEADROOM_MODELS_CLOSED_RENEWAL_H
#define HEADROOM_MODELS_CLOSED_RENEWAL_H

#include <stdint.h>

struct renewal {
    double mtbf_s, save_s, restart_s, down_s;
};

double renewal_segment_s(const struct renewal *r, double tau_s);
double renewal_efficiency(const struct renewal *r, double tau_s);
/* The interval itself, 0 meaning the exact optimum. */
double renewal_interval_s(const struct renewal *r, double tau_s);
double renewal_notice_efficiency(const struct renewal *r, double notice_s);

/* Of work_s of work at this interval: expected interruptions. */
double renewal_interruptions(const struct renewal *r, double tau_s, double work_s);

/* Segments n >= 1 into which work_s is cut equally so that it takes least time, the last save
 * included, and that time. save_s > 0. */
uint64_t renewal_whole_segments(const struct renewal *r, double work_s);
double renewal_whole_s(const struct renewal *r, double work_s, uint64_t n);

/* Mean time to failure of gpus in series, in hours, by the rate of one node. */
double renewal_series_mttf_h(double gpus, double gpus_per_node, double per_1000_node_days);

#endif
