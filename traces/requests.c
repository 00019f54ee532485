/* Request traces: arrival, prompt tokens, output tokens.
 *
 * Rows may be out of order by up to a minute, as log collectors leave them; more is an error in the
 * row. A request without a prompt or without output (a failed one, in several public traces) is
 * dropped and counted: the serving model needs at least one token of each. */
#include "traces/quantile.h"
#include "traces/report.h"

#include "sim/time.h"
#include "sim/vec.h"

enum { REORDER_S = 60 };

struct tokens {
    uint32_t prompt, output;
};

struct state {
    struct reader reader;
    struct reader_slot slots[TRACE_FIELDS];
    struct order order;
    struct {
        struct tokens *items;
        size_t n, capacity;
    } rows;
    uint64_t dropped[TRACE_DROPS];
};

static void drop(struct state *s, enum trace_drop why)
{
    s->dropped[why]++;
}

/* False when the row is older than the reorder window allows. */
static bool in_window(struct state *s, uint64_t t)
{
    const uint64_t window = REORDER_S * SIM_S;
    if (s->order.n_seen == 0 || t >= s->order.max || s->order.max - t <= window)
        return true;
    reader_error(&s->reader, reader_field(&s->reader, &s->slots[TRACE_ARRIVAL])->text,
                 "arrival is %.3f s older than a row above (at most %d s): sort the file",
                 sim_time_to_s(s->order.max - t), REORDER_S);
    return false;
}

static enum hr_err take_row(struct state *s)
{
    struct reader *r = &s->reader;
    int64_t arrival;
    uint64_t prompt, output;
    if (reader_empty(r, &s->slots[TRACE_ARRIVAL])) {
        drop(s, TRACE_DROP_NO_TIME);
        return HR_OK;
    }
    if (!reader_point(r, &s->slots[TRACE_ARRIVAL], &arrival))
        return HR_OK;
    uint64_t t = order_flip(arrival);
    if (!in_window(s, t) || !reader_whole(r, &s->slots[TRACE_PROMPT_TOKENS], UINT32_MAX, &prompt) ||
        !reader_whole(r, &s->slots[TRACE_OUTPUT_TOKENS], UINT32_MAX, &output))
        return HR_OK;
    order_see(&s->order, t);
    if (prompt == 0 || output == 0) {
        drop(s, TRACE_DROP_ZERO_TOKENS);
        return HR_OK;
    }
    if (s->rows.n == UINT32_MAX)
        return HR_LIMIT;
    uint64_t hash = order_hash(r->row.text, r->row.n);
    struct tokens row = {.prompt = (uint32_t)prompt, .output = (uint32_t)output};
    if (!order_add(&s->order, t, hash, (uint32_t)s->rows.n) || !vec_push(&s->rows, row))
        return HR_NOMEM;
    return HR_OK;
}

static enum hr_err read_all(struct state *s, struct arena *arena, const struct trace_spec *spec,
                            struct diags *diags)
{
    struct reader *r = &s->reader;
    TRY(reader_slots(spec, TRACE_REQUESTS, diags, s->slots));
    TRY(reader_open(r, arena, diags, spec->path, spec->delimiter, spec->place, spec->source));
    TRY(reader_bind(r, s->slots, TRACE_FIELDS));
    r->skip_bad_rows = spec->skip_bad_rows;
    r->clock.zone_s = spec->zone_s;
    for (;;) {
        bool more;
        TRY(reader_next(r, &more));
        if (!more)
            return reader_end(r);
        TRY(take_row(s));
    }
}

static enum hr_err fill_quantiles(const struct request_trace *trace, struct quantile *prompt,
                                  struct quantile *output, struct trace_report *report)
{
    TRY(quantile_init(prompt));
    TRY(quantile_init(output));
    for (size_t i = 0; i < trace->n; i++) {
        quantile_add(prompt, trace->rows[i].prompt_tokens);
        quantile_add(output, trace->rows[i].output_tokens);
    }
    TRY(quantile_get(prompt, 1, &report->prompt_tokens));
    return quantile_get(output, 1, &report->output_tokens);
}

static enum hr_err statistics(const struct request_trace *trace, struct trace_report *report)
{
    struct quantile prompt = {0}, output = {0};
    enum hr_err err = fill_quantiles(trace, &prompt, &output, report);
    quantile_fini(&prompt);
    quantile_fini(&output);
    return err;
}

static enum hr_err finish(struct state *s, struct arena *arena, const struct trace_spec *spec,
                          struct notes *notes, struct request_trace *out,
                          struct trace_report *report)
{
    for (int i = 0; i < TRACE_DROPS; i++)
        report->dropped[i] = s->dropped[i];
    TRY(report_rows(report, spec, &s->reader, s->slots, &s->order, notes));
    out->n = s->order.n;
    out->span_ns = report->span_ns;
    out->rows = arena_array(arena, out->n, sizeof *out->rows);
    if (out->rows == NULL)
        return HR_NOMEM;
    for (size_t i = 0; i < out->n; i++) {
        const struct order_key *key = &s->order.items[i];
        out->rows[i] = (struct request){.arrival_ns = key->t,
                                        .prompt_tokens = s->rows.items[key->row].prompt,
                                        .output_tokens = s->rows.items[key->row].output};
    }
    TRY(statistics(out, report));
    return report_notes(report, notes);
}

enum hr_err trace_read_requests(struct arena *arena, const struct trace_spec *spec,
                                struct diags *diags, struct request_trace *out,
                                struct trace_report *report)
{
    struct state s = {0};
    struct notes notes = {.arena = arena};
    struct request_trace trace = {0};
    struct trace_report filled = {.yields = TRACE_REQUESTS};
    enum hr_err err = read_all(&s, arena, spec, diags);
    if (err == HR_OK)
        err = finish(&s, arena, spec, &notes, &trace, &filled);
    if (err == HR_OK) {
        *out = trace;
        *report = filled;
    }
    notes_free(&notes);
    order_free(&s.order);
    vec_free(&s.rows);
    reader_close(&s.reader);
    return err;
}
