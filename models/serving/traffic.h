/* Traffic: a recorded trace, scaled and looped, or a generator, times an envelope, times events.
 *
 * scale k superposes floor(k) copies of the trace, each from its own offset (copy 0 of replication
 * 0 at 0, the others uniform), and a thinned copy for the rest. speed s divides the gaps. A looped
 * trace repeats after span + mean gap; unlooped, the source ends after one such period, in which
 * each copy has played each row once, those before its offset last. The envelope and the events
 * form one rate factor g(t); copies are made for scale * max g and one uniform per request thins
 * them to g(t) / max g. The whole source holds one cursor per copy: memory does not grow with the
 * length of a run. Gamma and even arrivals are not thinned but laid out on the integral of g, which
 * keeps their spacing. */
#ifndef HEADROOM_MODELS_SERVING_TRAFFIC_H
#define HEADROOM_MODELS_SERVING_TRAFFIC_H

#include "models/source.h"
#include "sim/err.h"
#include "sim/rng.h"

enum envelope_kind {
    ENVELOPE_CONSTANT, /* 1 */
    ENVELOPE_DIURNAL,  /* mean 1: 1 + (peak_to_mean - 1) cos(2 pi (hour - peak_hour) / 24) */
    ENVELOPE_TABLE,    /* points, linear between them; before the first and after the last: held */
    ENVELOPE_TABLE_STEPS, /* points, each held until the next */
    ENVELOPE_KINDS
};

struct envelope_point {
    simtime_ns at_ns; /* from the start of the run, ascending; equal times make a step */
    double factor;    /* >= 0 */
};

/* Constant, step, ramp and exponential ramp are tables made by the builder. */
struct envelope {
    enum envelope_kind kind;
    double peak_to_mean;                 /* diurnal: 1..2 */
    double peak_hour;                    /* diurnal: hour of day of the peak */
    const struct envelope_point *points; /* not owned */
    size_t n_points;
    simtime_ns repeat_ns; /* tables: period after which the table starts again; 0: none */
};

/* A factor that rises from 1 linearly over rise, stays for hold, and falls back over fall. */
struct traffic_event {
    const char *name;
    simtime_ns start_ns, rise_ns, hold_ns, fall_ns;
    double factor;        /* at its height, >= 0 */
    simtime_ns repeat_ns; /* e.g. daily; 0: once */
    bool announced;       /* a forecast knows of it */
};

enum arrival_kind { ARRIVAL_TRACE, ARRIVAL_POISSON, ARRIVAL_GAMMA, ARRIVAL_EVEN };

struct traffic_plan {
    enum arrival_kind kind;
    const struct request_trace *trace; /* trace: arrivals and lengths; generators: lengths drawn
                                          from its rows when not NULL */
    double scale;                      /* trace: copies */
    double speed;                      /* trace: gaps are divided by it */
    bool loop;                         /* trace: start again at the end */
    double rate_per_s;                 /* generators: mean rate before the envelope */
    double cv;                         /* gamma renewal: coefficient of variation of the gaps */
    double prompt_mean, prompt_cv; /* generators without a trace: lognormal lengths, cv 0 fixed */
    double output_mean, output_cv;
    uint32_t max_prompt_tokens, max_output_tokens; /* drawn lengths are cut here */
    simtime_ns start_of_day_ns;                    /* time of day of t = 0 */
    struct envelope envelope;
    const struct traffic_event *events; /* not owned */
    size_t n_events;
};

/* The rate factor g(t) of envelope and events. */
double traffic_factor(const struct traffic_plan *p, simtime_ns t);

/* The same without the events that are not announced: what a forecast can know. */
double traffic_factor_announced(const struct traffic_plan *p, simtime_ns t);

/* An upper bound of g over [0, horizon), at most one part in a thousand above its maximum and equal
 * to it while no more than one function of it moves at a time; used for thinning. */
double traffic_factor_max(const struct traffic_plan *p, simtime_ns horizon);

/* Mean requests per second before the envelope. */
double traffic_base_rate(const struct traffic_plan *p);

/* Mean prompt and output tokens, of the trace or the generator. */
void traffic_mean_tokens(const struct traffic_plan *p, double *prompt, double *output);

/* A source over [0, horizon), which is finite. HR_INPUT: a rate, scale, speed, cv or length without
 * meaning, or a trace without rows, or looped without length. The streams it needs are made from
 * (seed, replication, entity). The plan and the trace must outlive it. */
enum hr_err traffic_source_new(const struct traffic_plan *p, uint64_t seed, uint32_t replication,
                               const char *entity, simtime_ns horizon, struct request_source *out);

#endif
