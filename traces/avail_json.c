/* Availability from JSON: SkyPilot's count a tick, and InfiniteHBD's list of faults. */
#include "traces/avail.h"
#include "traces/document.h"

#include "sim/time.h"

#include <string.h>

/* Nanoseconds of a member that is a number of a unit; false after an error was reported. */
static bool take_time(struct document *d, struct document_item item, const char *key,
                      uint64_t unit_ns, uint64_t *ns)
{
    size_t n;
    const char *text = document_need(d, item, key, &n);
    if (text == NULL)
        return false;
    enum value_fault fault = value_scaled(text, n, unit_ns, ns);
    if (fault == VALUE_OK && *ns > INT64_MAX / 4)
        fault = VALUE_TOO_LARGE;
    return document_check(d, item, key, fault);
}

/* --- SkyPilot: {"metadata": {"gap_seconds": N}, "data": [count, ...]} ---------------------- */

static enum hr_err take_count(struct avail *a, struct document *d, struct document_item item,
                              int64_t t)
{
    size_t n;
    uint64_t count;
    const char *text = document_text(item, &n);
    enum value_fault fault = VALUE_NOT_A_NUMBER;
    if (text != NULL)
        fault = value_whole(text, n, AVAIL_COUNT_MAX, &count);
    if (fault != VALUE_OK) {
        document_error(d, item.at, NULL, "count '%.40s' %s", text != NULL ? text : "",
                       value_fault_text[fault]);
        return HR_OK;
    }
    struct avail_row row = {
        .node = SUPPLY_ANY_NODE, .value = (int32_t)count, .cause = "", .line = item.line};
    return avail_add(a, t, (uint64_t)t, row);
}

static enum hr_err read_skypilot(struct avail *a, struct document *d)
{
    struct document_item root = document_root(d), item;
    struct document_list list;
    uint64_t gap_ns;
    d->skip_bad_rows = false; /* without its gap and list there is nothing to skip to */
    if (!take_time(d, document_member(root, "metadata"), "gap_seconds", SIM_S, &gap_ns))
        return HR_INPUT;
    struct document_item data = document_member(root, "data");
    if (gap_ns == 0 || !document_list(d, data, &list)) {
        document_error(d, data.at, NULL,
                       gap_ns == 0 ? "gap_seconds is 0" : "'data' is no list of counts");
        return HR_INPUT;
    }
    d->skip_bad_rows = a->spec->skip_bad_rows;
    for (size_t i = 0; document_next(&list, &item); i++) {
        if (gap_ns > INT64_MAX / 4 / (i + 1))
            return HR_LIMIT;
        TRY(take_count(a, d, item, (int64_t)(i * gap_ns)));
    }
    a->tail_ns = gap_ns;
    return document_end(d);
}

/* --- InfiniteHBD: [{node_id, event_time (days), event_type, fault_type: {Class}}, ...] ------- */

static enum hr_err take_event(struct avail *a, struct document *d, struct document_item item)
{
    struct avail_row row = {.line = item.line, .cause = ""};
    const char *nearest;
    uint64_t t;
    size_t n, n_node, n_cause = 0;
    const char *event = document_need(d, item, "event_type", &n);
    if (event == NULL || !take_time(d, item, "event_time", SIM_DAY, &t))
        return HR_OK;
    const char *node = document_need(d, item, "node_id", &n_node);
    if (node == NULL)
        return HR_OK;
    row.value = avail_change(a->spec->format, event, n, &nearest);
    if (row.value == 0) {
        document_error(d, document_member(item, "event_type").at, nearest,
                       "event_type '%.40s' is none of this format", event);
        return HR_OK;
    }
    struct document_item type = document_member(item, "fault_type");
    const char *cause = document_text(document_member(type, "Class"), &n_cause);
    TRY(avail_name(a, &row, node, n_node));
    TRY(avail_cause(a, &row, cause != NULL ? cause : "", n_cause));
    uint64_t hash =
        order_hash(node, n_node) ^ order_hash(row.cause, n_cause) * 3 ^ order_hash(event, n) * 5;
    return avail_add(a, (int64_t)t, hash, row);
}

static enum hr_err read_faults(struct avail *a, struct document *d)
{
    struct document_item root = document_root(d), item;
    struct document_list list;
    if (!document_list(d, root, &list)) {
        d->skip_bad_rows = false;
        document_error(d, root.at, NULL, "a list of events is due here");
        return HR_INPUT;
    }
    while (document_next(&list, &item))
        TRY(take_event(a, d, item));
    return document_end(d);
}

static enum hr_err read_all(struct avail *a, struct document *d, struct trace_report *report)
{
    const struct trace_spec *spec = a->spec;
    TRY(document_open(d, a->diags, spec->path, spec->place, spec->source));
    d->skip_bad_rows = spec->skip_bad_rows;
    TRY(spec->format->rule == TRACE_COUNTS ? read_skypilot(a, d) : read_faults(a, d));
    memcpy(report->sha256, d->sha256, sizeof report->sha256);
    report->bytes = d->n_file_bytes;
    report->rows_read = d->n_items;
    report->dropped[TRACE_DROP_MALFORMED] = d->n_bad_items;
    return HR_OK;
}

enum hr_err avail_read_json(struct avail *a, struct trace_report *report, struct notes *notes)
{
    struct document d = {0};
    (void)notes;
    report->path = arena_strdup(a->arena, a->spec->path);
    report->format = a->spec->format->name;
    enum hr_err err = report->path != NULL ? read_all(a, &d, report) : HR_NOMEM;
    document_close(&d);
    return err;
}
