/* Job rows: from the fields of one line to a struct job.
 *
 * The run time is end - start where both are given, whatever a duration column says (one public
 * trace counts the queue in it); a job that had started and has no end is left open, to be closed
 * at the trace's last instant; one without a start never ran and is dropped. GPUs may be fractional
 * and per worker; a whole job is rounded up to whole GPUs. */
#ifndef HEADROOM_TRACES_JOB_ROW_H
#define HEADROOM_TRACES_JOB_ROW_H

#include "traces/names.h"
#include "traces/order.h"
#include "traces/reader.h"

/* A job that had no end: its work is known when the whole file is. */
struct open_job {
    size_t row;
    int64_t start;
};

/* What the rows of a file have given so far. */
struct job_rows {
    const struct trace_spec *spec;
    struct reader reader;
    struct reader_slot slots[TRACE_FIELDS];
    struct order order;
    struct names tenants;
    struct job *items; /* owned, in file order; submit_ns is not set */
    size_t n, capacity;
    struct {
        struct open_job *items;
        size_t n, capacity;
    } open;
    int64_t latest; /* of all points in time read */
    uint64_t dropped[TRACE_DROPS];
    uint64_t duration_differs, fractional_gpus, early_starts, unknown_states;
    uint32_t first_differing_line;
    const char *first_unknown_state;
};

/* Takes the reader's current row. A malformed one has been reported and is left out. */
enum hr_err job_rows_take(struct job_rows *s);

#endif
