/* Tables of drawn jobs: classes, and how they come (at once, as a stream, from a closed group). */
#include "scenarios/spec.h"

#define CLASS struct job_class_spec
static const struct field class_rows[] = {
    SPEC_ROW(CLASS, gpus, "gpus", FIELD_WHOLE, "GPUs of one job", .unit = UNIT_GPU, .min = 1,
             .max = 1e6, .required = true),
    SPEC_ROW(CLASS, min_gpus, "min_gpus", FIELD_WHOLE,
             "Elastic: it runs on as few; without it a share of them (`elastic`)", .unit = UNIT_GPU,
             .min = 1, .max = 1e6),
    SPEC_ROW(CLASS, max_gpus, "max_gpus", FIELD_WHOLE, "Elastic: it grows to as many",
             .unit = UNIT_GPU, .min = 1, .max = 1e6),
    SPEC_TABLE(CLASS, work, "work", "Run time, without saves and restarts", &spec_duration,
               .required = true),
    SPEC_ROW(CLASS, share, "share", FIELD_NUMBER, "Relative chance among the classes",
             .fallback = "1"),
    SPEC_ROW(CLASS, busy, "busy", FIELD_NUMBER,
             "Of the time it holds its GPUs, what they work; below 100 % the job is not "
             "preemptible, and of each hour the rest is held idle",
             .unit = UNIT_FRACTION, .max = 1, .fallback = "100%"),
    SPEC_ROW(CLASS, priority, "priority", FIELD_NUMBER, "Higher goes first where the order asks",
             .min = -1e9, .max = 1e9, .fallback = "0"),
    SPEC_ROW(CLASS, slice, "slice", FIELD_TEXT, "MIG profile, where it is not that of the queue",
             .unit = UNIT_NONE),
    SPEC_ROW(CLASS, tenant, "tenant", FIELD_TEXT, "Whose jobs they are", .fallback = NULL),
    SPEC_ROW(CLASS, preemptible, "preemptible", FIELD_FLAG, "May be evicted", .fallback = "yes"),
};
static const struct field_table job_class =
    SPEC_OF(CLASS, class_rows, "class", "Jobs that are alike", .brief = NULL);

#define USERS struct users_spec
static const struct field users_rows[] = {
    SPEC_ROW(USERS, count, "count", FIELD_WHOLE, "People in the group", .min = 1, .max = 1e6,
             .required = true),
    SPEC_TABLE(USERS, gap, "gap", "Time away between the end of a job and the next one",
               &spec_duration, .required = true),
};
static const struct field_table users =
    SPEC_OF(USERS, users_rows, "users",
            "A closed group: each submits a job, waits for its end, goes away", .brief = NULL);

#define DRAWN struct drawn_spec
static const struct field drawn_rows[] = {
    SPEC_ROW(DRAWN, classes, "classes", FIELD_MAP, "Kinds of jobs by name", .table = &job_class,
             .max = 256, .required = true),
    SPEC_ROW(DRAWN, count, "count", FIELD_WHOLE,
             "How many: all at once at `start`, or with a rate at most so many", .min = 1,
             .max = 1e9),
    SPEC_ROW(DRAWN, rate_per_s, "rate", FIELD_NUMBER, "Poisson arrivals per second",
             .unit = UNIT_RATE, .above = true),
    SPEC_TIME(DRAWN, start_s, "start", "When they come, or begin to come", .fallback = "0s"),
    SPEC_TABLE(DRAWN, users, "users", "From a closed group of people", &users),
};
const struct field_table spec_drawn =
    SPEC_OF(DRAWN, drawn_rows, "drawn",
            "Jobs drawn from classes: a number at once, a stream, or those of a group of people",
            .brief = NULL);
