/* Step times of one continuous-batching replica, in whole picoseconds.
 *
 *   decode step   a + b n + c C            n running requests, C tokens of KV before the step
 *   prefill step  max(floor, d + e sum p_i + f sum p_i^2)       prompts p_i
 *   chunked step  a + b n + c C + e sum q_i + f sum((s_i + q_i)^2 - s_i^2),
 *                 at least the floor when n = 0 (n = 0: d takes the place of a + b n + c C)
 *
 * a to e are picoseconds, f femtoseconds; the f term is rounded half up once per step. Whole
 * numbers make the time of k decode steps, k A + c n k (k - 1) / 2 with A = a + b n + c C, exact,
 * so the event-sparse replica and a step-by-step one agree to the last digit.
 * Source of the form and of the fitted coefficients: models/serving/data/SOURCE.md. */
#ifndef HEADROOM_MODELS_SERVING_STEP_TIME_H
#define HEADROOM_MODELS_SERVING_STEP_TIME_H

#include <stdint.h>

struct step_time {
    uint64_t a_ps, b_ps, c_ps; /* decode: per step, per request, per token of context */
    uint64_t d_ps, e_ps, f_fs; /* prefill: per step, per token, per squared token */
    uint64_t floor_ps;         /* shortest prefill step */
};

#endif
