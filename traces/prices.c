/* Prices over time: headroom's own CSV, and the spot price history of AWS, which lists the newest
 * first, several zones in one file, and the price of a whole instance. */
#include "traces/document.h"
#include "traces/names.h"
#include "traces/report.h"

#include "sim/time.h"
#include "sim/vec.h"

#include <string.h>

struct price_row {
    int64_t t;
    double usd_per_h;
    uint64_t hash;
};

struct state {
    const struct trace_spec *spec;
    struct arena *arena;
    struct diags *diags;
    struct order order;
    struct {
        struct price_row *items; /* owned, in file order */
        size_t n, capacity;
    } rows;
    bool newest_first;
    struct names series; /* met in the file */
    const char *instance_type, *product;
};

/* --- CSV --------------------------------------------------------------------------------- */

static enum hr_err take_row(struct state *s, struct reader *r,
                            const struct reader_slot slots[TRACE_FIELDS],
                            struct trace_report *report)
{
    struct price_row row = {.hash = order_hash(r->row.text, r->row.n)};
    if (reader_empty(r, &slots[TRACE_TIME])) {
        report->dropped[TRACE_DROP_NO_TIME]++;
        return HR_OK;
    }
    const struct csv_field *f = reader_field(r, &slots[TRACE_PRICE]);
    if (!reader_point(r, &slots[TRACE_TIME], &row.t) ||
        !reader_check(r, &slots[TRACE_PRICE], value_real(f->text, f->n, &row.usd_per_h)))
        return HR_OK;
    return vec_push(&s->rows, row) ? HR_OK : HR_NOMEM;
}

static enum hr_err read_rows(struct state *s, struct reader *r, struct trace_report *report,
                             struct notes *notes)
{
    const struct trace_spec *spec = s->spec;
    struct reader_slot slots[TRACE_FIELDS];
    TRY(reader_slots(spec, TRACE_PRICES, s->diags, slots));
    TRY(reader_open(r, s->arena, s->diags, spec->path, spec->delimiter, spec->place, spec->source));
    reader_time_column(r, &slots[TRACE_TIME]);
    TRY(reader_bind(r, slots, TRACE_FIELDS));
    r->skip_bad_rows = spec->skip_bad_rows;
    r->clock.zone_s = spec->zone_s;
    for (;;) {
        bool more;
        TRY(reader_next(r, &more));
        if (!more)
            break;
        TRY(take_row(s, r, slots, report));
    }
    TRY(reader_end(r));
    TRY(report_reader(report, spec, r, &slots[TRACE_TIME]));
    report_note_reader(report, spec, r, slots, notes);
    return HR_OK;
}

static enum hr_err read_csv(struct state *s, struct trace_report *report, struct notes *notes)
{
    struct reader r = {0};
    enum hr_err err = read_rows(s, &r, report, notes);
    reader_close(&r);
    return err;
}

/* --- AWS --------------------------------------------------------------------------------- */

/* One file should be of one kind of instance; *kept is that of the first item. False after an error
 * was reported. */
static bool same_kind(struct state *s, struct document *d, struct document_item item,
                      const char *key, const char **kept)
{
    size_t n;
    struct document_item member = document_member(item, key);
    const char *text = document_text(member, &n);
    if (text == NULL)
        return true;
    if (*kept == NULL)
        *kept = arena_strndup(s->arena, text, n);
    if (*kept == NULL || strcmp(*kept, text) == 0)
        return true;
    document_error(d, member.at, NULL, "%s '%.60s' in a list of '%.60s'", key, text, *kept);
    return false;
}

static enum hr_err take_item(struct state *s, struct document *d, struct document_item item,
                             struct value_clock *clock, struct trace_report *report)
{
    size_t n_zone, n_time, n_price;
    struct price_row row;
    const char *zone = document_need(d, item, "AvailabilityZone", &n_zone);
    const char *time = zone != NULL ? document_need(d, item, "Timestamp", &n_time) : NULL;
    const char *price = time != NULL ? document_need(d, item, "SpotPrice", &n_price) : NULL;
    if (price == NULL ||
        !document_check(d, item, "Timestamp", value_timestamp(time, n_time, clock, &row.t)) ||
        !document_check(d, item, "SpotPrice", value_real(price, n_price, &row.usd_per_h)) ||
        !same_kind(s, d, item, "InstanceType", &s->instance_type) ||
        !same_kind(s, d, item, "ProductDescription", &s->product))
        return HR_OK;
    if (names_add(&s->series, zone, n_zone) == NULL)
        return HR_NOMEM;
    if (s->spec->series != NULL && strcmp(s->spec->series, zone) != 0) {
        report->dropped[TRACE_DROP_SERIES]++;
        return HR_OK;
    }
    row.hash = order_hash(price, n_price);
    return vec_push(&s->rows, row) ? HR_OK : HR_NOMEM;
}

/* The names met, in the order of the hash table. */
static size_t series_names(const struct state *s, const char **names, size_t most)
{
    size_t n = 0;
    for (size_t i = 0; i < s->series.n_slots && n < most; i++)
        if (s->series.slots[i].text != NULL)
            names[n++] = s->series.slots[i].text;
    return n;
}

/* A file of several series needs the name of one. */
static enum hr_err check_series(const struct state *s)
{
    enum { MOST = 64 };
    const char *names[MOST], *wanted = s->spec->series;
    size_t n = series_names(s, names, MOST);
    if (wanted != NULL && s->rows.n == 0 && n > 0) {
        diags_add(s->diags, DIAG_ERROR, s->spec->place, s->spec->source,
                  diag_nearest(wanted, names, n), "%s has no series '%.60s'", s->spec->path,
                  wanted);
        return HR_INPUT;
    }
    if (wanted != NULL || n < 2)
        return HR_OK;
    diags_add(s->diags, DIAG_ERROR, s->spec->place, s->spec->source, NULL,
              "%s has prices of %zu zones, such as '%.60s': name one series", s->spec->path,
              s->series.n, names[0]);
    return HR_INPUT;
}

static enum hr_err read_items(struct state *s, struct document *d, struct trace_report *report)
{
    struct document_item root = document_root(d), item;
    struct document_list list;
    struct value_clock clock = {.zone_s = s->spec->zone_s};
    if (!document_list(d, document_member(root, "SpotPriceHistory"), &list)) {
        document_error(d, root.at, NULL, "there is no list 'SpotPriceHistory'");
        return HR_INPUT;
    }
    d->skip_bad_rows = s->spec->skip_bad_rows;
    while (document_next(&list, &item))
        TRY(take_item(s, d, item, &clock, report));
    TRY(document_end(d));
    report->naive = clock.naive;
    return check_series(s);
}

static enum hr_err read_json(struct state *s, struct trace_report *report)
{
    struct document d;
    const struct trace_spec *spec = s->spec;
    enum hr_err err = document_open(&d, s->diags, spec->path, spec->place, spec->source);
    if (err == HR_OK)
        err = read_items(s, &d, report);
    memcpy(report->sha256, d.sha256, sizeof report->sha256);
    report->path = arena_strdup(s->arena, spec->path);
    report->format = spec->format->name;
    report->bytes = d.n_file_bytes;
    report->rows_read = d.n_items;
    report->dropped[TRACE_DROP_MALFORMED] = d.n_bad_items;
    report->calendar = true;
    report->zone_s = spec->zone_s;
    s->newest_first = true;
    document_close(&d);
    return err == HR_OK && report->path == NULL ? HR_NOMEM : err;
}

/* --- the end of the file ----------------------------------------------------------------- */

/* Keys are numbered from the oldest row to the newest. */
static enum hr_err sort_rows(struct state *s, struct trace_report *report)
{
    size_t n = s->rows.n;
    if (n > UINT32_MAX)
        return HR_LIMIT;
    for (size_t i = 0; i < n; i++) {
        size_t row = s->newest_first ? n - 1 - i : i;
        uint64_t t = order_flip(s->rows.items[row].t);
        order_see(&s->order, t);
        if (!order_add(&s->order, t, s->rows.items[row].hash, (uint32_t)i))
            return HR_NOMEM;
    }
    struct trace_spec plain = *s->spec; /* what is for requests and jobs does not apply */
    plain.spread_ns = plain.from_ns = plain.until_ns = 0;
    return order_finish(&s->order, &plain, report);
}

static void measure(const struct price_trace *trace, struct trace_price_facts *f)
{
    double sum = 0;
    *f = (struct trace_price_facts){.min = trace->rows[0].usd_per_gpu_h,
                                    .max = trace->rows[0].usd_per_gpu_h};
    for (size_t i = 0; i < trace->n; i++) {
        double price = trace->rows[i].usd_per_gpu_h;
        simtime_ns end = i + 1 < trace->n ? trace->rows[i + 1].at_ns : trace->span_ns;
        sum += price * (double)(end - trace->rows[i].at_ns);
        f->min = price < f->min ? price : f->min;
        f->max = price > f->max ? price : f->max;
        f->changes += i > 0 && price != trace->rows[i - 1].usd_per_gpu_h;
    }
    f->mean = trace->span_ns > 0 ? sum / (double)trace->span_ns : f->min;
}

/* The column of headroom's own format is of a GPU; any other may be of a node. */
static double gpus_of_a_price(const struct trace_spec *spec)
{
    bool of_gpu = spec->format->layout != TRACE_JSON;
    for (size_t i = 0; i < spec->n_maps; i++)
        of_gpu = of_gpu && !(spec->maps[i].field == TRACE_PRICE && spec->maps[i].column != NULL);
    return of_gpu || spec->gpus_per_node == 0 ? 1 : spec->gpus_per_node;
}

static enum hr_err make_trace(struct state *s, struct price_trace *out, struct trace_report *report)
{
    size_t n = s->rows.n;
    TRY(sort_rows(s, report));
    if (s->order.n == 0) {
        diags_add(s->diags, DIAG_ERROR, (struct diag_place){.file = s->spec->path}, NULL, NULL,
                  "no price is left of %llu rows", (unsigned long long)report->rows_read);
        return HR_INPUT;
    }
    out->rows = arena_array(s->arena, s->order.n, sizeof *out->rows);
    if (out->rows == NULL)
        return HR_NOMEM;
    uint64_t first = report->calendar ? 0 : (uint64_t)report->first_ns;
    double gpus = gpus_of_a_price(s->spec);
    for (size_t i = 0; i < s->order.n; i++) {
        const struct order_key *key = &s->order.items[i];
        size_t row = s->newest_first ? n - 1 - key->row : key->row;
        bool again = i > 0 && key->t == s->order.items[i - 1].t;
        out->n += !again;
        out->rows[out->n - 1] =
            (struct price_step){.at_ns = out->n == 1 ? 0 : key->t + first,
                                .usd_per_gpu_h = s->rows.items[row].usd_per_h / gpus};
    }
    report->span_ns += first;
    out->span_ns = report->span_ns;
    measure(out, &report->price);
    return HR_OK;
}

static enum hr_err check_spec(const struct trace_spec *spec, struct diags *diags)
{
    const char *why = NULL;
    bool json = spec->format->layout == TRACE_JSON;
    if (json && spec->gpus_per_node == 0)
        why = "these prices are of an instance: say how many GPUs it has";
    if (!json && spec->series != NULL)
        why = "this format has no series to choose from";
    if (spec->format->yields != TRACE_PRICES)
        why = "this format holds no prices";
    if (why == NULL)
        return HR_OK;
    diags_add(diags, DIAG_ERROR, spec->place, spec->source, NULL, "format '%s': %s",
              spec->format->name, why);
    return HR_INPUT;
}

static enum hr_err read_all(struct state *s, struct notes *notes, struct price_trace *out,
                            struct trace_report *report)
{
    TRY(check_spec(s->spec, s->diags));
    TRY(s->spec->format->layout == TRACE_JSON ? read_json(s, report) : read_csv(s, report, notes));
    TRY(make_trace(s, out, report));
    report_note_order(report, notes);
    if (report->ties > 0)
        notes_add(notes, "prices at the instant of another: %llu; the last one counts",
                  (unsigned long long)report->ties);
    return report_notes(report, notes);
}

enum hr_err trace_read_prices(struct arena *arena, const struct trace_spec *spec,
                              struct diags *diags, struct price_trace *out,
                              struct trace_report *report)
{
    struct state s = {.spec = spec, .arena = arena, .diags = diags, .series = {.arena = arena}};
    struct notes notes = {.arena = arena};
    struct price_trace trace = {0};
    struct trace_report filled = {.yields = TRACE_PRICES};
    enum hr_err err = read_all(&s, &notes, &trace, &filled);
    if (err == HR_OK) {
        *out = trace;
        *report = filled;
    }
    notes_free(&notes);
    order_free(&s.order);
    names_free(&s.series);
    vec_free(&s.rows);
    return err;
}
