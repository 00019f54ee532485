/* Rows of comma-separated values. */
#include "analysis/csv.h"

#include "analysis/text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static void put_field(FILE *out, const char *text)
{
    if (!text[strcspn(text, ",\"\r\n")]) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

/* ---- the summary ---- */

static void put_value(FILE *out, const struct summary *s, size_t m, uint32_t c, uint32_t r,
                      uint32_t e, uint32_t p)
{
    const struct metric *metric = &metrics[m];
    char number[NUMBER_SIZE];
    number_print(number, *summary_at(s, m, c, r, e, p));
    put_field(out, s->columns[c].label);
    fprintf(out, ",%u,", r);
    put_field(out, metric->entity ? s->names[metric->entity][e] : "");
    fputc(',', out);
    put_field(out, metric->part ? s->names[metric->part][p] : "");
    fprintf(out, ",%s,%s,%s\n", metric->name, number, metric->unit);
}

enum hr_err csv_summary(FILE *out, const struct summary *s)
{
    fputs("design,replication,entity,part,metric,value,unit\n", out);
    for (uint32_t c = 0; c < s->n_columns; c++)
        for (uint32_t r = 0; r < s->n_replications; r++)
            for (size_t m = 0; m < metrics_n; m++)
                for (uint32_t e = 0; e < s->n[metrics[m].entity]; e++)
                    for (uint32_t p = 0; p < s->n[metrics[m].part]; p++)
                        put_value(out, s, m, c, r, e, p);
    return ferror(out) ? HR_IO : HR_OK;
}

/* ---- streams ---- */

enum hr_err csv_rows_open(struct csv_rows *c, const struct plan *plan, const char *requests_path,
                          const char *events_path, bool force, struct diags *diags)
{
    *c = (struct csv_rows){.plan = plan};
    if (requests_path)
        TRY(atomic_file_open(&c->requests, requests_path, force, diags));
    enum hr_err err = HR_OK;
    if (events_path)
        err = atomic_file_open(&c->events, events_path, force, diags);
    if (err != HR_OK) {
        csv_rows_abort(c);
        return err;
    }
    if (c->requests.out)
        fputs("number,service,arrival_s,prompt_tokens,output_tokens,ttft_s,e2e_s,fate,retries\n",
              c->requests.out);
    if (c->events.out)
        fputs("time_s,lease,claimant,from,to,gpus\n", c->events.out);
    return HR_OK;
}

static void put_time(FILE *out, simtime_ns t)
{
    if (t != SIM_NEVER)
        fprintf(out, "%" PRIu64 ".%09" PRIu64, t / SIM_S, t % SIM_S);
}

static void note_error(struct atomic_file *f)
{
    if (ferror(f->out) && !f->error)
        f->error = errno;
}

static void on_request(void *self, const struct request_row *row)
{
    static const char *const fates[SLO_FATES] = {"done", "too_long", "dropped", "timed_out"};
    struct csv_rows *c = self;
    FILE *out = c->requests.out;
    fprintf(out, "%" PRIu64 ",", row->number);
    put_field(out, c->plan->services[row->service].name);
    fputc(',', out);
    put_time(out, row->arrival_ns);
    fprintf(out, ",%" PRIu32 ",%" PRIu32 ",", row->prompt_tokens, row->output_tokens);
    put_time(out, row->ttft_ns);
    fputc(',', out);
    put_time(out, row->e2e_ns);
    fprintf(out, ",%s,%" PRIu32 "\n", fates[row->fate], row->retries);
    note_error(&c->requests);
}

static void on_change(void *self, simtime_ns now, lease_id l, uint32_t claimant,
                      enum gpu_state from, enum gpu_state to, uint32_t gpus)
{
    struct csv_rows *c = self;
    FILE *out = c->events.out;
    put_time(out, now);
    fprintf(out, ",%" PRIu32 ",", l);
    put_field(out, plan_claimant_name(c->plan, claimant));
    fprintf(out, ",%s,%s,%" PRIu32 "\n", gpu_state_names[from], gpu_state_names[to], gpus);
    note_error(&c->events);
}

struct run_hooks csv_rows_hooks(struct csv_rows *c)
{
    return (struct run_hooks){
        .self = c,
        .request = c->requests.out ? on_request : NULL,
        .change = c->events.out ? on_change : NULL,
    };
}

enum hr_err csv_rows_finish(struct csv_rows *c, struct diags *diags)
{
    enum hr_err err = HR_OK;
    if (c->requests.out)
        err = atomic_file_commit(&c->requests, diags);
    if (err == HR_OK && c->events.out)
        err = atomic_file_commit(&c->events, diags);
    if (err != HR_OK)
        csv_rows_abort(c);
    return err;
}

void csv_rows_abort(struct csv_rows *c)
{
    atomic_file_abort(&c->requests);
    atomic_file_abort(&c->events);
}
