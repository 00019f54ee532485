/* Why a job waited: read from a result file, told in sentences.
 *
 * The file holds the jobs of replication 0 of each design, their waits by what stood in the way
 * (variables blocked_<reason>_s, where the version that wrote it knew them), and the timeline of
 * the fleet; what was free while a job waited comes from the windows that its wait overlaps. */
#ifndef HEADROOM_ANALYSIS_WAITS_H
#define HEADROOM_ANALYSIS_WAITS_H

#include "analysis/summary.h"
#include "sim/diag.h"

#include <stdio.h>

enum { WAITS_REASONS_MAX = 16 };

struct waits_job {
    const char *id;
    uint32_t design, gpus, preemptions;
    int64_t queue;   /* among the names of the summary; outside of them: unknown */
    int64_t tenant;  /* among the owners behind nobody; < 0: the file names no tenants */
    int64_t outcome; /* enum job_outcome */
    bool backlog;
    double submit_s, start_s, end_s; /* NaN: not reached */
    double waiting_s, work_s;
    double blocked_s[WAITS_REASONS_MAX]; /* of waiting_s */
};

struct waits {
    struct summary summary;
    struct waits_job *jobs; /* in the summary's arena */
    size_t n;
    const char *reasons[WAITS_REASONS_MAX]; /* names; in the arena */
    size_t n_reasons;
    /* GPUs that nobody held, by design and window of the timeline; NaN where there is no timeline
     */
    double *free_gpus; /* [design][window]; in the arena */
    /* What a start could have had, by design, window and kind (enum placeable_kind): the least and
     * the mean; NULL: the file does not say. */
    double *placeable_least, *placeable_mean; /* in the arena */
    size_t n_windows;
    double start_s, width_s; /* of the windows */
};

/* HR_INPUT with a diag: no result file. waits_fini it in any case. */
enum hr_err waits_read(const char *path, struct waits *w, struct diags *diags);
void waits_fini(struct waits *w);

/* Mean GPUs that nobody held in [from, to); NaN where the timeline does not cover it. */
double waits_free_gpus(const struct waits *w, uint32_t design, double from_s, double to_s);

/* The least, the mean and the largest mean of a window, of what a start could have had in [from,
 * to); false where the timeline does not say. */
struct waits_span {
    double least, mean, most;
};
bool waits_placeable(const struct waits *w, uint32_t design, enum placeable_kind kind,
                     double from_s, double to_s, struct waits_span *out);

/* Every job of that id; design NULL: in all designs. HR_INPUT with a diag that names the nearest
 * id: there is none. */
enum hr_err waits_print_job(FILE *out, const struct waits *w, const char *id, const char *design,
                            struct diags *diags);

/* Waits by queue and reason, and the jobs that waited longest. */
enum hr_err waits_print_all(FILE *out, const struct waits *w, const char *design,
                            struct diags *diags);

#endif
