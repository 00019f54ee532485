/* Tables of traffic: trace or generator, envelope, events. */
#include "models/serving/traffic.h"
#include "scenarios/spec.h"

static const char *const ramp_shapes[] = {"linear", "exponential"};

/* ---- envelope ---- */

static const struct field_table constant = {.name = "constant",
                                            .doc = "The same rate all the time; no keys",
                                            .size = sizeof(struct nothing_spec)};

#define STEP struct step_spec
static const struct field step_rows[] = {
    SPEC_ROW(STEP, start, "start", FIELD_MOMENT, "When the rate changes", .unit = UNIT_TIME,
             .required = true),
    SPEC_ROW(STEP, from, "from", FIELD_NUMBER, "Factor before", .max = 1000, .fallback = "1"),
    SPEC_ROW(STEP, to, "to", FIELD_NUMBER, "Factor from then on", .max = 1000, .required = true),
};
static const struct field_table step =
    SPEC_OF(STEP, step_rows, "step", "One factor before a moment, another after", .brief = NULL);

#define RAMP struct ramp_spec
static const struct field ramp_rows[] = {
    SPEC_ROW(RAMP, start, "start", FIELD_MOMENT, "When the rate begins to change",
             .unit = UNIT_TIME, .fallback = "0s"),
    SPEC_TIME(RAMP, over_s, "over", "How long the change takes", .above = true, .required = true),
    SPEC_ROW(RAMP, from, "from", FIELD_NUMBER, "Factor before", .max = 1000, .fallback = "1"),
    SPEC_ROW(RAMP, to, "to", FIELD_NUMBER, "Factor after", .max = 1000, .required = true),
    SPEC_WORD(RAMP, shape, "shape", "Equal amounts, or equal ratios, in equal times", ramp_shapes,
              2, .fallback = "linear"),
};
static const struct field_table ramp =
    SPEC_OF(RAMP, ramp_rows, "ramp", "A steady change from one factor to another", .brief = NULL);

#define DIURNAL struct diurnal_spec
static const struct field diurnal_rows[] = {
    SPEC_ROW(DIURNAL, peak_to_mean, "peak_to_mean", FIELD_NUMBER,
             "Peak over the mean of the day [azure24_chat_peak_to_mean_ratio: daily 1.29 to 1.44]",
             .min = 1, .max = 2, .fallback = "1.4"),
    SPEC_ROW(DIURNAL, peak, "peak", FIELD_MOMENT, "Time of day of the peak", .unit = UNIT_TIME,
             .fallback = "15:00"),
};
static const struct field_table diurnal =
    SPEC_OF(DIURNAL, diurnal_rows, "diurnal",
            "A daily cosine with mean 1, so that rate and scale mean the day's average",
            .brief = "peak_to_mean");

static const struct field factor = {.kind = FIELD_NUMBER, .max = 1000, .doc = "factor"};

#define TABLE struct table_spec
static const struct field table_rows[] = {
    SPEC_ROW(TABLE, points, "points", FIELD_MAP,
             "Factor by time since the start or time of day, ascending: `{0h: 1, 6h: 0.5}`",
             .item = &factor, .max = 5000, .required = true),
    SPEC_ROW(TABLE, steps, "steps", FIELD_FLAG,
             "Hold each factor until the next point; without it straight lines between points",
             .fallback = "no"),
    SPEC_TIME(TABLE, repeat_s, "repeat", "Start again after this time; without it the last holds",
              .above = true),
};
static const struct field_table table =
    SPEC_OF(TABLE, table_rows, "table", "Factors over time", .brief = NULL);

#define CURVE struct curve_file_spec
static const struct field curve_rows[] = {
    SPEC_ROW(CURVE, file, "file", FIELD_TEXT,
             "CSV of two columns: a time (`time_s`, `time_h`, `time`) and a `factor`, or a `rate` "
             "per second, which then takes the place of the service's own rate",
             .required = true),
    SPEC_ROW(CURVE, zone, "zone", FIELD_TEXT,
             "Zone of timestamps without one, such as +08:00; else they are UTC",
             .unit = UNIT_NONE),
    SPEC_ROW(CURVE, steps, "steps", FIELD_FLAG, "Hold each value until the next", .fallback = "no"),
    SPEC_TIME(CURVE, repeat_s, "repeat", "Start again after this time; without it the last holds",
              .above = true),
};
static const struct field_table curve =
    SPEC_OF(CURVE, curve_rows, "file", "Factors or rates over time from a file", .brief = "file");

/* In the order of enum envelope_choice. */
#define ENVELOPE struct envelope_spec
static const struct field envelope_rows[] = {
    SPEC_TABLE(ENVELOPE, constant, "constant", "No change", &constant),
    SPEC_TABLE(ENVELOPE, step, "step", "A sudden change", &step),
    SPEC_TABLE(ENVELOPE, ramp, "ramp", "A steady change", &ramp),
    SPEC_TABLE(ENVELOPE, diurnal, "diurnal", "A daily curve", &diurnal),
    SPEC_TABLE(ENVELOPE, table, "table", "Factors over time", &table),
    SPEC_TABLE(ENVELOPE, file, "file", "The same from a file", &curve),
};
static const struct field_table envelope = SPEC_OF(
    ENVELOPE, envelope_rows, "envelope", "How the rate of a service changes over time, as a factor",
    .one_of = true, .which = offsetof(ENVELOPE, which));

/* ---- events ---- */

#define EVENT struct event_spec
static const struct field event_rows[] = {
    SPEC_ROW(EVENT, start, "start", FIELD_MOMENT, "When it begins", .unit = UNIT_TIME,
             .required = true),
    SPEC_ROW(EVENT, factor, "factor", FIELD_NUMBER,
             "Factor on the rate at its height: 1.3 is +30 %", .max = 1000, .required = true),
    SPEC_TIME(EVENT, rise_s, "rise", "Time from the start to its height", .fallback = "0s"),
    SPEC_TIME(EVENT, hold_s, "hold", "Time at its height", .required = true),
    SPEC_TIME(EVENT, fall_s, "fall", "Time back to normal", .fallback = "0s"),
    SPEC_TIME(EVENT, every_s, "every", "Comes again after this time; without it once",
              .above = true),
    SPEC_ROW(EVENT, announced, "announced", FIELD_FLAG,
             "Known beforehand: an autoscaler's forecast sees it come", .fallback = "no"),
};
static const struct field_table event =
    SPEC_OF(EVENT, event_rows, "event",
            "A rise of the rate and its end: a failover, a campaign, a flash crowd", .brief = NULL);

/* ---- generators ---- */

static const struct field_table poisson = {
    .name = "poisson", .doc = "Independent arrivals; no keys", .size = sizeof(struct nothing_spec)};
static const struct field_table even = {
    .name = "even", .doc = "Equal gaps; no keys", .size = sizeof(struct nothing_spec)};

static const struct field gamma_rows[] = {
    SPEC_ROW(struct gamma_spec, cv, "cv", FIELD_NUMBER,
             "Coefficient of variation of the gaps: above 1 is burstier than independent arrivals "
             "[arrival_cv_default]",
             .above = true, .max = 100, .fallback = "2"),
};
static const struct field_table gamma_gaps = SPEC_OF(
    struct gamma_spec, gamma_rows, "gamma", "Gaps from a gamma distribution", .brief = "cv");

/* In the order of enum arrivals_choice. */
#define ARRIVALS struct arrivals_spec
static const struct field arrivals_rows[] = {
    SPEC_TABLE(ARRIVALS, poisson, "poisson", "Independent arrivals", &poisson),
    SPEC_TABLE(ARRIVALS, gamma, "gamma", "Bursty arrivals", &gamma_gaps),
    SPEC_TABLE(ARRIVALS, even, "even", "Equal gaps", &even),
};
static const struct field_table arrivals =
    SPEC_OF(ARRIVALS, arrivals_rows, "arrivals", "Arrivals that are drawn instead of replayed",
            .one_of = true, .which = offsetof(ARRIVALS, which));

#define TOKENS struct tokens_spec
static const struct field tokens_rows[] = {
    SPEC_ROW(TOKENS, mean, "mean", FIELD_NUMBER, "Mean number", .unit = UNIT_TOKENS, .min = 1,
             .max = 1e7, .required = true),
    SPEC_ROW(TOKENS, cv, "cv", FIELD_NUMBER, "Coefficient of variation (lognormal); 0: all alike",
             .max = 100, .fallback = "1"),
    SPEC_ROW(TOKENS, most, "most", FIELD_WHOLE, "Longer ones are cut here", .unit = UNIT_TOKENS,
             .min = 1, .max = 1e7, .fallback = "131072"),
};
static const struct field_table tokens =
    SPEC_OF(TOKENS, tokens_rows, "tokens", "A number of tokens that is drawn", .brief = "mean");

/* ---- traffic ---- */

#define TRAFFIC struct traffic_spec
static const struct field traffic_rows[] = {
    SPEC_TABLE(TRAFFIC, trace, "trace",
               "Recorded requests; with `arrivals` only their lengths are used", &spec_trace),
    SPEC_ROW(TRAFFIC, scale, "scale", FIELD_NUMBER,
             "Copies of the trace laid over each other, each from its own offset", .above = true,
             .max = 1e6),
    SPEC_ROW(TRAFFIC, rate_per_s, "rate", FIELD_NUMBER,
             "Mean requests per second before the envelope, in place of `scale`", .above = true,
             .unit = UNIT_RATE, .max = 1e7),
    SPEC_ROW(TRAFFIC, speed, "speed", FIELD_NUMBER, "The gaps of the trace are divided by it",
             .above = true, .max = 1e6, .fallback = "1"),
    SPEC_ROW(TRAFFIC, loop, "loop", FIELD_FLAG, "The trace starts again at its end",
             .fallback = "yes"),
    SPEC_TABLE(TRAFFIC, arrivals, "arrivals", "Drawn arrivals, with `rate`", &arrivals),
    SPEC_TABLE(TRAFFIC, prompt, "prompt", "Prompt tokens, for drawn arrivals without a trace",
               &tokens),
    SPEC_TABLE(TRAFFIC, output, "output", "Output tokens, for drawn arrivals without a trace",
               &tokens),
    SPEC_TABLE(TRAFFIC, envelope, "envelope", "How the rate changes over time", &envelope,
               .fallback = "{constant: }"),
    SPEC_ROW(TRAFFIC, events, "events", FIELD_MAP, "Events on top of the envelope, by name",
             .table = &event, .max = 64),
};
const struct field_table spec_traffic =
    SPEC_OF(TRAFFIC, traffic_rows, "traffic", "The requests of a service: recorded, or drawn",
            .brief = NULL);
