/* Job traces: read whole, sorted stably by submit time. What a row means is job_row.c's. */
#include "traces/job_row.h"
#include "traces/quantile.h"
#include "traces/report.h"

#include "sim/int128.h"
#include "sim/time.h"
#include "sim/vec.h"

#include <string.h>

static enum hr_err read_all(struct job_rows *s, struct arena *arena, struct diags *diags)
{
    struct reader *r = &s->reader;
    const struct trace_spec *spec = s->spec;
    TRY(reader_slots(spec, TRACE_JOBS, diags, s->slots));
    TRY(reader_open(r, arena, diags, spec->path, spec->delimiter, spec->place, spec->source));
    TRY(reader_bind(r, s->slots, TRACE_FIELDS));
    r->skip_bad_rows = spec->skip_bad_rows;
    r->clock.zone_s = spec->zone_s;
    for (;;) {
        bool more;
        TRY(reader_next(r, &more));
        if (!more)
            return reader_end(r);
        TRY(job_rows_take(s));
    }
}

/* --- the end of the file ----------------------------------------------------------------- */

/* Jobs without an end ran until the latest time in the trace; those that start there did not run
 * at all. */
static void close_open_jobs(struct job_rows *s)
{
    for (size_t i = 0; i < s->open.n; i++) {
        const struct open_job *o = &s->open.items[i];
        s->items[o->row].work_ns = (uint64_t)s->latest - (uint64_t)o->start;
    }
    size_t kept = 0;
    for (size_t i = 0; i < s->order.n; i++)
        if (s->items[s->order.items[i].row].work_ns > 0)
            s->order.items[kept++] = s->order.items[i];
    s->dropped[TRACE_DROP_ZERO_DURATION] += s->order.n - kept;
    s->order.n = kept;
}

static void warn(struct job_rows *s, struct diags *diags)
{
    struct diag_place at = {.file = s->reader.path, .line = s->first_differing_line};
    if (s->duration_differs > 0)
        diags_add(diags, DIAG_WARNING, at, NULL, NULL,
                  "the recorded duration is not end - start in %llu rows, first in this one; "
                  "end - start is used",
                  (unsigned long long)s->duration_differs);
    at.line = 0;
    if (s->open.n > 0)
        diags_add(diags, DIAG_WARNING, at, NULL, NULL,
                  "%zu jobs have no end: taken as running until the last time in the trace",
                  s->open.n);
}

static void note(const struct job_rows *s, const struct trace_report *report, struct notes *notes)
{
    if (s->fractional_gpus > 0)
        notes_add(notes, "%llu jobs ask for a fraction of a GPU: rounded up to whole GPUs",
                  (unsigned long long)s->fractional_gpus);
    if (report->odd_sizes > 0)
        notes_add(notes, "%llu jobs ask for more than 8 GPUs and not for a multiple of 8",
                  (unsigned long long)report->odd_sizes);
    if (s->early_starts > 0)
        notes_add(notes, "%llu jobs start before they are submitted",
                  (unsigned long long)s->early_starts);
    if (s->unknown_states > 0)
        notes_add(notes, "%llu jobs ended in an unknown state (first: '%s')",
                  (unsigned long long)s->unknown_states,
                  s->first_unknown_state != NULL ? s->first_unknown_state : "");
}

/* What the statistics of a job trace are gathered in. */
struct gathered {
    struct quantile gpus, duration;
    struct names tenants;
    struct arena arena;
};

static enum hr_err gather(struct gathered *g, const struct job_trace *trace,
                          struct trace_report *report)
{
    u128 gpu_ns = 0;
    TRY(quantile_init(&g->gpus));
    TRY(quantile_init(&g->duration));
    for (size_t i = 0; i < trace->n; i++) {
        const struct job *job = &trace->rows[i];
        quantile_add(&g->gpus, job->gpus);
        quantile_add(&g->duration, job->work_ns);
        gpu_ns += (u128)job->gpus * job->work_ns;
        report->ended[job->end]++;
        report->odd_sizes += job->gpus > 8 && job->gpus % 8 != 0;
        if (names_add(&g->tenants, job->tenant, strlen(job->tenant)) == NULL)
            return HR_NOMEM;
    }
    report->gpu_hours = (double)gpu_ns / (double)SIM_HOUR;
    report->n_tenants = g->tenants.n;
    TRY(quantile_get(&g->gpus, 1, &report->gpus));
    return quantile_get(&g->duration, 1e-9, &report->duration_s);
}

static enum hr_err statistics(const struct job_trace *trace, struct trace_report *report)
{
    struct gathered g = {0};
    arena_init(&g.arena);
    g.tenants.arena = &g.arena;
    enum hr_err err = gather(&g, trace, report);
    quantile_fini(&g.gpus);
    quantile_fini(&g.duration);
    names_free(&g.tenants);
    arena_fini(&g.arena);
    return err;
}

static enum hr_err finish(struct job_rows *s, struct diags *diags, struct notes *notes,
                          struct job_trace *out, struct trace_report *report)
{
    close_open_jobs(s);
    for (int i = 0; i < TRACE_DROPS; i++)
        report->dropped[i] = s->dropped[i];
    report->duration_differs = s->duration_differs;
    report->fractional_gpus = s->fractional_gpus;
    TRY(report_rows(report, s->spec, &s->reader, s->slots, &s->order, notes));
    out->n = s->order.n;
    out->span_ns = report->span_ns;
    out->rows = arena_array(s->reader.arena, out->n, sizeof *out->rows);
    if (out->rows == NULL)
        return HR_NOMEM;
    for (size_t i = 0; i < out->n; i++) {
        out->rows[i] = s->items[s->order.items[i].row];
        out->rows[i].submit_ns = s->order.items[i].t;
    }
    TRY(statistics(out, report));
    warn(s, diags);
    note(s, report, notes);
    return report_notes(report, notes);
}

enum hr_err trace_read_jobs(struct arena *arena, const struct trace_spec *spec, struct diags *diags,
                            struct job_trace *out, struct trace_report *report)
{
    struct job_rows s = {.spec = spec, .tenants = {.arena = arena}};
    struct notes notes = {.arena = arena};
    struct job_trace trace = {0};
    struct trace_report filled = {.yields = TRACE_JOBS};
    enum hr_err err = read_all(&s, arena, diags);
    if (err == HR_OK)
        err = finish(&s, diags, &notes, &trace, &filled);
    if (err == HR_OK) {
        *out = trace;
        *report = filled;
    }
    notes_free(&notes);
    order_free(&s.order);
    names_free(&s.tenants);
    vec_free(&s);
    vec_free(&s.open);
    reader_close(&s.reader);
    return err;
}
