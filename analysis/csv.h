/* CSV (RFC 4180 quoting, LF, a header line): the summary as tidy rows, and the streams of requests
 * and of state changes of a run.
 *
 *     summary   design,replication,entity,part,metric,value,unit     none: an empty value
 *     requests  number,service,arrival_s,prompt_tokens,output_tokens,ttft_s,e2e_s,fate,retries
 *     events    time_s,lease,claimant,from,to,gpus
 *
 * Times of the streams are whole nanoseconds written as seconds with nine decimals; what was never
 * reached is empty. The whole run is streamed, warm-up included. */
#ifndef HEADROOM_ANALYSIS_CSV_H
#define HEADROOM_ANALYSIS_CSV_H

#include "analysis/atomic_file.h"
#include "analysis/summary.h"
#include "models/run.h"

/* HR_IO when out has an error. */
enum hr_err csv_summary(FILE *out, const struct summary *s);

/* A stream of rows to a file that appears when it is finished. */
struct csv_rows {
    struct atomic_file requests, events; /* out is NULL where not asked for */
    const struct plan *plan;
};

/* Opens what has a path (NULL: not wanted). plan must outlive it. */
enum hr_err csv_rows_open(struct csv_rows *c, const struct plan *plan, const char *requests_path,
                          const char *events_path, bool force, struct diags *diags);
/* Hooks that write the rows, for experiment_plan.rows. */
struct run_hooks csv_rows_hooks(struct csv_rows *c);
enum hr_err csv_rows_finish(struct csv_rows *c, struct diags *diags);
void csv_rows_abort(struct csv_rows *c); /* accepts a zeroed or finished one */

#endif
