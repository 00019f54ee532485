/* Measured step times: models, precisions and tensor-parallel sizes on H100.
 *
 * Each row names engine and version, what was measured, and the size of the weights. Coefficients:
 * fits of public operator measurements (models/serving/data/SOURCE.md says how; rows how well).
 * KV capacity = floor((0.9 visible memory TP - weights - 2 GB TP) / KV bytes per token). */
#ifndef HEADROOM_MODELS_SERVING_CATALOGUE_H
#define HEADROOM_MODELS_SERVING_CATALOGUE_H

#include "models/serving/step_time.h"

#include <stddef.h>

struct perf_entry {
    const char *model;     /* "llama-3.1-70b" */
    const char *precision; /* "bf16", "fp8": of the weights; the KV cache is 16 bit unless stated */
    uint32_t tp;           /* GPUs of one replica */
    const char *gpu;       /* "h100-sxm" */
    const char *engine;    /* "vllm 0.19.0" */
    struct step_time step;
    double weights_gb;                  /* of the whole model in this precision, powers of ten */
    uint32_t kv_bytes_per_token;        /* of the whole model */
    double fit_median_pct, fit_max_pct; /* worst of the decode and prefill fits */
    const char *source;
};

extern const struct perf_entry perf_catalogue[];
extern const size_t perf_catalogue_n;

/* NULL when there is no such row. engine_prefix "" takes the first engine (vllm). */
const struct perf_entry *perf_find(const char *model, const char *precision, uint32_t tp,
                                   const char *gpu, const char *engine_prefix);

/* KV tokens of one replica on GPUs with this much visible memory each. */
uint64_t perf_kv_tokens(double visible_gb, uint32_t tp, double weights_gb,
                        uint32_t kv_bytes_per_token);

/* Highest request rate one replica carries with these mean lengths while the mean time per output
 * token, prefill steps between included, is at most tpot_ns and at most max_num_seqs decode; and
 * the mean number in flight, decoding or in their prefill step, at that rate. It is the fixed point
 * of Little's law on the step times, each prompt in a step of its own: catalogue.c has the formula.
 * For chunked prefill give a copy of s with d and floor 0: chunks ride on decode steps. Against the
 * replica: within 2 % where max_num_seqs binds; 5 % above to 15 % below (few in flight) where tpot
 * does. Used as safe_in_flight when a scenario gives none. */
double perf_safe_rate(const struct step_time *s, double prompt_tokens, double output_tokens,
                      uint64_t tpot_ns, uint32_t max_num_seqs, double *in_flight);

#endif
