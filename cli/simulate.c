/* Runs the columns and gives out what was asked for: report or JSON, result file, CSV. */
#include "cli/simulate.h"

#include "analysis/csv.h"
#include "analysis/experiment.h"
#include "analysis/report.h"
#include "analysis/result_file.h"
#include "analysis/result_json.h"
#include "cli/columns.h"
#include "cli/commands.h"
#include "cli/outputs.h"
#include "cli/terminal.h"
#include "sim/vec.h"
#include "traces/trace.h"

#include <stdlib.h>
#include <string.h>

static const char *output_of(const struct simulate_options *o, struct columns *c)
{
    if (o->no_output)
        return NULL;
    if (o->output)
        return o->output;
    const char *name = c->sources.items[0].plan->name;
    char *path = arena_alloc(&c->arena, strlen(name) + sizeof ".h5");
    if (path) {
        strcpy(path, name);
        strcat(path, ".h5");
    }
    return path;
}

static enum hr_err write_csv(const char *path, bool force, const struct summary *s,
                             struct diags *diags)
{
    struct atomic_file f = {0};
    TRY(atomic_file_open(&f, path, force, diags));
    enum hr_err err = csv_summary(f.out, s);
    if (err == HR_OK)
        return atomic_file_commit(&f, diags);
    atomic_file_abort(&f);
    return err;
}

static enum hr_err print(const struct simulate_options *o, const struct summary *s,
                         const struct verdict *v)
{
    const struct report_options options = {.colour = terminal_colour(stdout), .all = o->all};
    return o->json ? result_json(stdout, s, v) : report_print(stdout, s, v, &options);
}

/* 3 when the one design of a run, or every design of a comparison, misses an objective. */
static int verdict_code(const struct summary *s, const struct verdict *v)
{
    if (!v->tested) {
        if (s->n[AXIS_SERVICE] > 0)
            fputs("headroom: warning: no request arrived, so no objective was tested\n", stderr);
        return EXIT_MET;
    }
    return v->n_meeting == 0 ? EXIT_MISSED : EXIT_MET;
}

static int give_out(const struct simulate_options *o, const char *output,
                    const struct experiment *e, struct diags *diags)
{
    struct verdict v = {0};
    enum hr_err err = verdict_init(&v, &e->summary);
    if (err == HR_OK && output)
        err = result_write(output, o->force, e, diags);
    if (err == HR_OK && o->csv)
        err = write_csv(o->csv, o->force, &e->summary, diags);
    if (err == HR_OK)
        err = print(o, &e->summary, &v);
    int code = command_report(err, diags);
    if (code == EXIT_MET)
        code = verdict_code(&e->summary, &v);
    if (err == HR_OK && output)
        fprintf(stderr, "results: %s\n", output);
    verdict_fini(&v);
    return code;
}

static int run_columns(const struct simulate_options *o, struct columns *c, const char *output,
                       struct csv_rows *rows, struct diags *diags)
{
    struct progress_bar bar;
    const struct run_hooks hooks = csv_rows_hooks(rows);
    uint32_t replications =
        o->replications ? o->replications : scenario_replications(c->scenarios.items[0]);
    const struct experiment_plan plan = {
        .columns = c->sources.items,
        .n_columns = (uint32_t)c->sources.n,
        .n_replications = replications,
        .n_threads = threads_or_cores(o->threads),
        .version = HEADROOM_VERSION,
        .run = run_plan,
        .progress = progress_experiment,
        .self = &bar,
        .stop = interrupt_watch(),
        .rows = o->requests || o->events ? &hooks : NULL,
    };
    progress_start(&bar, c->sources.items[0].plan->name);
    struct experiment e;
    enum hr_err err = experiment_run(&plan, &e, diags);
    progress_end(&bar);
    int code = command_report(err, diags);
    if (err == HR_INTERRUPTED)
        fprintf(stderr, "headroom: interrupted; %u of %u replications are complete\n",
                e.summary.n_replications, replications);
    bool complete = err == HR_OK || (err == HR_INTERRUPTED && e.summary.n_replications > 0);
    if (err == HR_OK)
        code = command_report(csv_rows_finish(rows, diags), diags);
    if (complete && (code == EXIT_MET || code == EXIT_INTERRUPTED)) {
        int given = give_out(o, output, &e, diags);
        code = code == EXIT_MET ? given : code;
    }
    experiment_fini(&e);
    return code;
}

/* GPU-hours of a job list as the plan replays it, over those of the fleet. */
static double offered_share(const struct plan *p, const struct scenario_trace *trace)
{
    struct trace_report offered = *trace->report;
    for (size_t q = 0; q < p->n_queues; q++)
        if (strcmp(p->queues[q].name, trace->owner) == 0)
            offered.gpu_hours *= p->queues[q].work_factor * p->queues[q].jobs_speed;
    return trace_offered_load(&offered, plan_gpus(p)).share;
}

/* One line a trace on stderr: a run says what it was fed. `check` prints the whole report. */
static void say_traces(const struct columns *c)
{
    size_t n;
    const struct scenario_trace *traces = scenario_traces(c->scenarios.items[0], &n);
    const struct plan *plan = c->sources.items[0].plan;
    for (size_t i = 0; i < n; i++) {
        const struct trace_report *r = traces[i].report;
        fprintf(stderr, "%s: %s: %llu rows read, %llu kept, %.4g h", traces[i].owner, r->path,
                (unsigned long long)r->rows_read, (unsigned long long)r->rows_kept,
                sim_time_to_s(r->span_ns) / 3600);
        if (r->yields == TRACE_JOBS)
            fprintf(stderr, ", offers %.0f%% of the fleet", 100 * offered_share(plan, &traces[i]));
        fputc('\n', stderr);
    }
}

int simulate(enum simulate_kind kind, const struct simulate_options *o,
             const struct operands *operands)
{
    struct diags diags;
    struct columns columns;
    struct csv_rows rows = {0};
    diags_init(&diags);
    enum hr_err err = columns_build(&columns, kind, o, operands, &diags);
    const char *output = err == HR_OK ? output_of(o, &columns) : NULL;
    if (err == HR_OK)
        err = outputs_check(o, output, &columns, &diags);
    if (err == HR_OK && (o->requests || o->events))
        err = csv_rows_open(&rows, columns.sources.items[0].plan, o->requests, o->events, o->force,
                            &diags);
    int code = command_report(err, &diags);
    diags_fini(&diags);
    diags_init(&diags);
    if (code == EXIT_MET)
        say_traces(&columns);
    if (code == EXIT_MET)
        code = run_columns(o, &columns, output, &rows, &diags);
    csv_rows_abort(&rows);
    columns_fini(&columns);
    diags_fini(&diags);
    return code;
}
