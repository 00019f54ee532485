/* Tables used in several places: durations with a distribution, and recorded traces. */
#include "scenarios/spec.h"

const char *const spec_never[] = {"never"};
const struct field spec_pool_name = {.kind = FIELD_TEXT, .doc = "pool"};

/* ---- durations ---- */

#define TWO struct two_spec

static const struct field uniform_rows[] = {
    SPEC_TIME(TWO, first, "low", "Shortest", .required = true),
    SPEC_TIME(TWO, second, "high", "Longest", .required = true),
};
static const struct field_table uniform =
    SPEC_OF(TWO, uniform_rows, "uniform", "Any time between two, equally likely", .brief = NULL);

static const struct field exponential_rows[] = {
    SPEC_TIME(TWO, first, "mean", "Mean", .above = true, .required = true),
};
static const struct field_table exponential =
    SPEC_OF(TWO, exponential_rows, "exponential", "Exponential time", .brief = "mean");

static const struct field spread_rows[] = {
    SPEC_TIME(TWO, first, "mean", "Mean", .above = true, .required = true),
    SPEC_ROW(TWO, second, "cv", FIELD_NUMBER, "Coefficient of variation", .above = true, .max = 100,
             .required = true),
};
static const struct field_table spread =
    SPEC_OF(TWO, spread_rows, "mean-and-cv", "Lognormal or gamma time by its mean and spread",
            .brief = NULL);

static const struct field weibull_rows[] = {
    SPEC_TIME(TWO, first, "mean", "Mean", .above = true, .required = true),
    SPEC_ROW(TWO, second, "shape", FIELD_NUMBER,
             "Shape; below 1 the early are the likelier, above 1 the late", .min = 0.1, .max = 100,
             .required = true),
};
static const struct field_table weibull =
    SPEC_OF(TWO, weibull_rows, "weibull", "Weibull time by its mean and shape", .brief = NULL);

/* In the order of enum dist_kind. */
static const struct field duration_rows[] = {
    SPEC_TIME(struct duration_spec, fixed_s, "fixed", "Always the same time", .min = 0),
    SPEC_TABLE(struct duration_spec, uniform, "uniform", "Between two times", &uniform),
    SPEC_TABLE(struct duration_spec, exponential, "exponential", "Exponential", &exponential),
    SPEC_TABLE(struct duration_spec, lognormal, "lognormal", "Lognormal", &spread),
    SPEC_TABLE(struct duration_spec, gamma, "gamma", "Gamma", &spread),
    SPEC_TABLE(struct duration_spec, weibull, "weibull", "Weibull", &weibull),
};
const struct field_table spec_duration =
    SPEC_OF(struct duration_spec, duration_rows, "duration",
            "How long something takes: `90s`, or a distribution such as "
            "`{lognormal: {mean: 152s, cv: 0.2}}`",
            .brief = "fixed", .one_of = true, .which = offsetof(struct duration_spec, which));

/* ---- traces ---- */

static const struct field column_rows[] = {
    SPEC_ROW(struct column_spec, column, "column", FIELD_TEXT,
             "Header of the column, case as written; the format's own when only the unit differs",
             .unit = UNIT_NONE),
    SPEC_ROW(struct column_spec, unit, "unit", FIELD_TEXT,
             "Unit of a time column: ns, us, ms, s, min, h, d or timestamp", .unit = UNIT_NONE),
};
static const struct field_table column =
    SPEC_OF(struct column_spec, column_rows, "column",
            "Where a field of the record stands in the file", .brief = "column");

static const struct field tenant = {.kind = FIELD_TEXT, .doc = "tenant"};

#define TRACE struct trace_file_spec

static const struct field trace_rows[] = {
    SPEC_ROW(TRACE, file, "file", FIELD_TEXT,
             "CSV file, plain or .gz, relative to the scenario file", .required = true),
    SPEC_ROW(TRACE, format, "format", FIELD_TEXT,
             "Name of the format (`traces/README.md`); without it the header decides",
             .unit = UNIT_NONE),
    SPEC_ROW(TRACE, columns, "columns", FIELD_MAP,
             "Columns by field, where they differ from the format's: `{arrival: ts, unit: ms}`; "
             "`unit` is that of all points in time",
             .table = &column, .max = 20),
    SPEC_ROW(TRACE, unit, "unit", FIELD_TEXT, "Unit of all points in time, as in `columns`",
             .unit = UNIT_NONE),
    SPEC_ROW(TRACE, zone, "zone", FIELD_TEXT,
             "Zone of timestamps without one, such as +08:00; else they are UTC",
             .unit = UNIT_NONE),
    SPEC_ROW(TRACE, delimiter, "delimiter", FIELD_TEXT, "The character between columns; a comma",
             .unit = UNIT_NONE),
    SPEC_ROW(TRACE, dedupe, "dedupe", FIELD_FLAG, "Drop rows equal to an earlier one",
             .fallback = "no"),
    SPEC_ROW(TRACE, skip_bad_rows, "skip_bad_rows", FIELD_FLAG,
             "Drop and count malformed rows; they are errors otherwise", .fallback = "no"),
    SPEC_TIME(TRACE, spread_s, "spread",
              "Adds a uniform time up to this to each arrival, for recordings in coarse steps",
              .fallback = "0s"),
    SPEC_TIME(TRACE, from_s, "from", "Keep rows from here on, after the first row of the file",
              .fallback = "0s"),
    SPEC_TIME(TRACE, until_s, "until", "Keep rows before this, after the first row of the file",
              .above = true),
    SPEC_ROW(TRACE, tenants, "tenants", FIELD_LIST, "Keep only the jobs of these tenants",
             .item = &tenant),
    SPEC_ROW(TRACE, min_gpus, "min_gpus", FIELD_WHOLE, "Keep only jobs of at least so many GPUs",
             .unit = UNIT_GPU, .min = 1),
    SPEC_ROW(TRACE, max_gpus, "max_gpus", FIELD_WHOLE, "Keep only jobs of at most so many GPUs",
             .unit = UNIT_GPU, .min = 1),
};
const struct field_table spec_trace =
    SPEC_OF(TRACE, trace_rows, "trace", "A recorded trace", .brief = "file");
