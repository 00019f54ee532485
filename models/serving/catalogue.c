/* The catalogue: coefficients of data/h100_step_times.csv in whole picoseconds (femtoseconds for
 * f), rounded half up, and what follows from them in closed form.
 *
 * Weights: 8.03e9, 70.55e9 and 32.76e9 parameters of 2 bytes (bf16) or 1 (fp8). KV bytes a token:
 * layers x KV heads x 128 x 2 (K and V) x 2 bytes: 32 x 8, 80 x 8 and 64 x 8. */
#include "models/serving/catalogue.h"

#include <math.h>
#include <string.h>

#define VLLM         "h100-sxm", "vllm 0.19.0"
#define TENSORRT_LLM "h100-sxm", "tensorrt-llm 1.3.0rc20"
#define SOURCE       "aiconfigurator 095f58a51c (Apache-2.0), operator times summed over a forward pass"

/* clang-format off */
const struct perf_entry perf_catalogue[] = {
    /* model, precision, tp, gpu, engine, {a, b, c, d, e, f, floor}, weights, KV, fit median, max */
    {"llama-3.1-8b", "bf16", 1, VLLM, {6203400000, 8363880, 42874, 433264000, 20404700, 326008, 6694900000}, 16.06, 131072, 0.701805, 14.1338, SOURCE},
    {"llama-3.1-8b", "bf16", 2, VLLM, {3974110000, 6938400, 21672, 1062060000, 12833300, 162502, 4387400000}, 16.06, 131072, 0.86321, 20.8679, SOURCE},
    {"llama-3.1-8b", "bf16", 4, VLLM, {2665160000, 6521450, 10946, 1966580000, 8172930, 92608, 3253600000}, 16.06, 131072, 1.54706, 6.09135, SOURCE},
    {"llama-3.1-8b", "bf16", 8, VLLM, {2078510000, 6000340, 5587, 1885060000, 5804920, 30294, 2578800000}, 16.06, 131072, 2.12925, 8.34135, SOURCE},
    {"llama-3.1-8b", "fp8", 1, VLLM, {3968880000, 10322500, 42976, 1669040000, 13230100, 304619, 4426100000}, 8.03, 131072, 2.75867, 17.555, SOURCE},
    {"llama-3.1-8b", "fp8", 2, VLLM, {2890850000, 8172340, 21583, 1682990000, 9451230, 116980, 3308300000}, 8.03, 131072, 3.01768, 15.3118, SOURCE},
    {"llama-3.1-8b", "fp8", 4, VLLM, {2203000000, 8244170, 10925, 2330780000, 6743820, 60762, 2801100000}, 8.03, 131072, 1.72102, 8.89639, SOURCE},
    {"llama-3.1-8b", "fp8", 8, VLLM, {1967310000, 7791710, 5540, 2422820000, 5172440, 23908, 2474100000}, 8.03, 131072, 1.87856, 11.3113, SOURCE},
    {"llama-3.1-70b", "bf16", 2, VLLM, {27301500000, 35770100, 44210, 1742510000, 107596000, 452157, 29965000000}, 141.10, 327680, 1.67475, 16.4343, SOURCE},
    {"llama-3.1-70b", "bf16", 4, VLLM, {15158100000, 30849000, 28454, 2719990000, 62774700, 520858, 17454000000}, 141.10, 327680, 1.35697, 17.894, SOURCE},
    {"llama-3.1-70b", "bf16", 8, VLLM, {9736020000, 24483700, 14079, 6226150000, 37918000, 263861, 11490000000}, 141.10, 327680, 1.53922, 10.1642, SOURCE},
    {"llama-3.1-70b", "fp8", 1, VLLM, {27194600000, 50487600, 54318, 0, 122072000, 2488670, 29581000000}, 70.55, 327680, 2.17617, 25.7131, SOURCE},
    {"llama-3.1-70b", "fp8", 2, VLLM, {15894300000, 35595600, 55619, 5127990000, 71047000, 837777, 17734000000}, 70.55, 327680, 1.80463, 12.5327, SOURCE},
    {"llama-3.1-70b", "fp8", 4, VLLM, {9829170000, 34826700, 27841, 6269150000, 44327300, 266565, 12109000000}, 70.55, 327680, 2.70451, 14.5448, SOURCE},
    {"llama-3.1-70b", "fp8", 8, VLLM, {7270560000, 31696500, 14102, 7531340000, 30643400, 48908, 9296100000}, 70.55, 327680, 2.61711, 6.34349, SOURCE},
    {"qwen3-32b", "bf16", 1, VLLM, {24585700000, 19500700, 91236, 1883510000, 86585600, 1546150, 25425000000}, 65.52, 262144, 2.21283, 13.0591, SOURCE},
    {"qwen3-32b", "bf16", 2, VLLM, {13424300000, 21000900, 44112, 563341000, 50454600, 852911, 15120000000}, 65.52, 262144, 1.82495, 16.5471, SOURCE},
    {"qwen3-32b", "bf16", 4, VLLM, {8283610000, 17348700, 22133, 3277880000, 29397600, 455878, 9478000000}, 65.52, 262144, 2.03042, 16.2917, SOURCE},
    {"qwen3-32b", "bf16", 8, VLLM, {5733720000, 14841400, 11306, 3961370000, 18607000, 201107, 6932400000}, 65.52, 262144, 1.47901, 10.1578, SOURCE},
    {"qwen3-32b", "fp8", 1, VLLM, {13592400000, 27832100, 87928, 1024190000, 56779600, 1722300, 14876000000}, 32.76, 262144, 2.34995, 20.9974, SOURCE},
    {"qwen3-32b", "fp8", 2, VLLM, {8580890000, 22520800, 43794, 5027620000, 34190100, 570193, 10082000000}, 32.76, 262144, 1.90075, 8.94147, SOURCE},
    {"qwen3-32b", "fp8", 4, VLLM, {6019820000, 20769200, 22234, 5138920000, 22329800, 278929, 7428200000}, 32.76, 262144, 1.53079, 6.37452, SOURCE},
    {"qwen3-32b", "fp8", 8, VLLM, {4699920000, 18429700, 11289, 5551950000, 15407600, 135831, 5884100000}, 32.76, 262144, 1.98101, 11.123, SOURCE},
    {"llama-3.1-8b", "bf16", 1, TENSORRT_LLM, {6561660000, 7698980, 43078, 1179500000, 21052000, 422064, 7025700000}, 16.06, 131072, 2.22216, 13.6531, SOURCE},
    {"llama-3.1-8b", "bf16", 2, TENSORRT_LLM, {4084270000, 5989050, 21937, 1166120000, 13126200, 177694, 4389500000}, 16.06, 131072, 2.20477, 17.9878, SOURCE},
    {"llama-3.1-8b", "bf16", 4, TENSORRT_LLM, {2677240000, 8743380, 11192, 2879560000, 8124420, 116630, 3191000000}, 16.06, 131072, 2.33889, 9.84701, SOURCE},
    {"llama-3.1-8b", "bf16", 8, TENSORRT_LLM, {2011770000, 11893800, 5707, 3671150000, 5790530, 35078, 3031700000}, 16.06, 131072, 4.15161, 33.3208, SOURCE},
    {"llama-3.1-8b", "fp8", 1, TENSORRT_LLM, {5275760000, 8415770, 43397, 2769040000, 14268900, 451020, 5775900000}, 8.03, 131072, 2.17666, 8.75163, SOURCE},
    {"llama-3.1-8b", "fp8", 2, TENSORRT_LLM, {3952430000, 6981310, 22038, 2379870000, 10015200, 204031, 4385600000}, 8.03, 131072, 2.38596, 10.629, SOURCE},
    {"llama-3.1-8b", "fp8", 4, TENSORRT_LLM, {3182040000, 9155450, 11049, 3697900000, 7111900, 117505, 3725700000}, 8.03, 131072, 2.00592, 11.4835, SOURCE},
    {"llama-3.1-8b", "fp8", 8, TENSORRT_LLM, {2931060000, 11950400, 5677, 4586800000, 5585930, 43981, 4017900000}, 8.03, 131072, 3.06592, 23.0614, SOURCE},
    {"llama-3.1-70b", "bf16", 2, TENSORRT_LLM, {27979700000, 35298800, 68577, 8905260000, 104556000, 1222970, 30629000000}, 141.10, 327680, 0.724298, 5.14401, SOURCE},
    {"llama-3.1-70b", "bf16", 4, TENSORRT_LLM, {15383500000, 40832500, 30748, 7293260000, 62427300, 530677, 18249000000}, 141.10, 327680, 1.82153, 13.0296, SOURCE},
    {"llama-3.1-70b", "bf16", 8, TENSORRT_LLM, {9899670000, 44250600, 15225, 12664900000, 37207100, 258680, 13832000000}, 141.10, 327680, 2.47103, 10.965, SOURCE},
    {"llama-3.1-70b", "fp8", 1, TENSORRT_LLM, {30751400000, 52014800, 156496, 8140890000, 123957000, 1619730, 34208000000}, 70.55, 327680, 1.53186, 10.2898, SOURCE},
    {"llama-3.1-70b", "fp8", 2, TENSORRT_LLM, {18848900000, 34558400, 61105, 9896200000, 70425100, 1207020, 21100000000}, 70.55, 327680, 1.67182, 8.30074, SOURCE},
    {"llama-3.1-70b", "fp8", 4, TENSORRT_LLM, {12602900000, 41803300, 28933, 10548200000, 45330300, 541867, 15214000000}, 70.55, 327680, 1.40846, 10.3452, SOURCE},
    {"llama-3.1-70b", "fp8", 8, TENSORRT_LLM, {9842820000, 47368300, 15358, 14158100000, 31953500, 247078, 14188000000}, 70.55, 327680, 2.78585, 14.2103, SOURCE},
    {"qwen3-32b", "bf16", 1, TENSORRT_LLM, {24417800000, 26073000, 132532, 4866480000, 88213900, 2131710, 25905000000}, 65.52, 262144, 0.703065, 11.0228, SOURCE},
    {"qwen3-32b", "bf16", 2, TENSORRT_LLM, {13942700000, 18280200, 45460, 2721240000, 51038000, 864274, 15103000000}, 65.52, 262144, 1.90648, 13.6117, SOURCE},
    {"qwen3-32b", "bf16", 4, TENSORRT_LLM, {8369480000, 22251900, 22975, 5885070000, 29414700, 413251, 9658800000}, 65.52, 262144, 1.85701, 12.1847, SOURCE},
    {"qwen3-32b", "bf16", 8, TENSORRT_LLM, {5759120000, 27337100, 11994, 8173620000, 18450800, 193264, 8109600000}, 65.52, 262144, 2.71573, 15.3603, SOURCE},
    {"qwen3-32b", "fp8", 1, TENSORRT_LLM, {16342600000, 26020800, 90412, 6432670000, 54535000, 1907670, 17704000000}, 32.76, 262144, 2.04877, 9.28727, SOURCE},
    {"qwen3-32b", "fp8", 2, TENSORRT_LLM, {10846100000, 20008900, 45746, 5014450000, 35957000, 834256, 12205000000}, 32.76, 262144, 1.68932, 9.33621, SOURCE},
    {"qwen3-32b", "fp8", 4, TENSORRT_LLM, {8025280000, 23069500, 23175, 7647770000, 22987900, 431111, 9448200000}, 32.76, 262144, 1.65815, 5.89249, SOURCE},
    {"qwen3-32b", "fp8", 8, TENSORRT_LLM, {6768900000, 27221800, 12047, 9687670000, 16549000, 199248, 9180000000}, 32.76, 262144, 2.5964, 17.0765, SOURCE},
};
/* clang-format on */
const size_t perf_catalogue_n = sizeof perf_catalogue / sizeof perf_catalogue[0];

const struct perf_entry *perf_find(const char *model, const char *precision, uint32_t tp,
                                   const char *gpu, const char *engine_prefix)
{
    for (size_t i = 0; i < perf_catalogue_n; i++) {
        const struct perf_entry *e = &perf_catalogue[i];
        if (e->tp == tp && strcmp(e->model, model) == 0 && strcmp(e->precision, precision) == 0 &&
            strcmp(e->gpu, gpu) == 0 &&
            strncmp(e->engine, engine_prefix, strlen(engine_prefix)) == 0)
            return e;
    }
    return NULL;
}

uint64_t perf_kv_tokens(double visible_gb, uint32_t tp, double weights_gb,
                        uint32_t kv_bytes_per_token)
{
    double free_gb = (0.9 * visible_gb - 2) * tp - weights_gb;
    return free_gb > 0 ? (uint64_t)(free_gb * 1e9 / kv_bytes_per_token) : 0;
}

/* With rate x, a request takes the replica to itself for
 *     w = prefill + (o - 1) (b + c (p + o / 2))
 * (its prefill step, and what it adds to its o - 1 decode steps at its mean context), and shares a.
 * Little's law for the n requests decoding, n = x (o - 1) T with T the time per output token, and
 * T = (a + n (b + c (p + o / 2))) / (1 - x prefill), prefill steps taking their share of the time,
 * meet at
 *     T = a / (1 - x w),     n = x (o - 1) a / (1 - x w).
 * Both grow with x, so T <= tpot and n <= max_num_seqs each give a largest x; the rate is the
 * smaller. In flight are n and the prompt in its prefill step, x prefill of the time. */
double perf_safe_rate(const struct step_time *s, double prompt_tokens, double output_tokens,
                      uint64_t tpot_ns, uint32_t max_num_seqs, double *in_flight)
{
    const double p = prompt_tokens, o = output_tokens, steps = o > 1 ? o - 1 : 0;
    const double prompt_s =
        (double)s->d_ps * 1e-12 + (double)s->e_ps * 1e-12 * p + (double)s->f_fs * 1e-15 * p * p;
    const double prefill_s = fmax((double)s->floor_ps * 1e-12, prompt_s);
    const double a_s = (double)s->a_ps * 1e-12, tpot_s = (double)tpot_ns * 1e-9;
    const double each_s = (double)s->b_ps * 1e-12 + (double)s->c_ps * 1e-12 * (p + o / 2);
    const double w = prefill_s + steps * each_s;
    const double all = max_num_seqs, spare = steps > 0 ? 1 - a_s / tpot_s : 1;
    const double by_tpot = spare > 0 ? spare / w : 0;
    const double by_seqs = all / (steps * a_s + all * w);
    const double rate = fmin(by_tpot, by_seqs);
    const double running = by_tpot < by_seqs ? rate * steps * tpot_s : steps > 0 ? all : 0;
    *in_flight = running + (prefill_s > 0 ? rate * prefill_s : 0);
    return rate;
}
