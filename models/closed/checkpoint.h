/* Checkpoint theory: intervals and expected times.
 *
 * Young 1974:  tau = sqrt(2 C M).
 * Daly 2006:   tau = sqrt(2 C M) (1 + 1/3 sqrt(C / 2M) + (C / 2M) / 9) - C for C < 2M, else M.
 * Exact:       tau that minimises the renewal cost per useful second for exponential failures;
 *              tau = M (1 + W0(-e^(-C/M - 1))), W0 the principal Lambert function.
 * Expected:    without a final save, N seg(tau, C) + seg(r, 0), seg(w, c) = M e^(R/M)
 *              (e^((w + c)/M) - 1), N = ceil(W/tau) - 1, r = W - N tau: exponential failures with
 *              mean M, R the restart time, which can fail too.
 * All in seconds. Arguments outside the domain give NaN. Used by scenarios, by tests and by the
 * worksheets alike. */
#ifndef HEADROOM_MODELS_CLOSED_CHECKPOINT_H
#define HEADROOM_MODELS_CLOSED_CHECKPOINT_H

double checkpoint_young_s(double save_s, double mtbf_s);
double checkpoint_daly_s(double save_s, double mtbf_s);
double checkpoint_exact_s(double save_s, double mtbf_s);

/* Expected wall time of work_s of work, in quiet time saved every tau_s at a cost of save_s. */
double checkpoint_expected_s(double work_s, double tau_s, double save_s, double restart_s,
                             double mtbf_s);

#endif
