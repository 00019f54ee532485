/* Availability: what a file says about which nodes are up, from its rows to a struct supply_trace.
 *
 * The readers of CSV and of JSON give rows in file order; avail.c brings them into time order and
 * turns them into changes by the rule of the format. Rows may say what is already so only where
 * faults overlap on a node: it is down until the last of them ends. */
#ifndef HEADROOM_TRACES_AVAIL_H
#define HEADROOM_TRACES_AVAIL_H

#include "traces/names.h"
#include "traces/order.h"
#include "traces/report.h"

enum { AVAIL_COUNT_MAX = 1 << 16 }; /* nodes at once in a count */

struct avail_row {
    uint32_t node;     /* number of its name; SUPPLY_ANY_NODE in a count */
    int32_t value;     /* +1 or -1, or the count */
    const char *cause; /* "" when unknown; arena */
    uint32_t line;
    bool bad; /* found to contradict the rows before it, and skipped */
};

struct avail {
    const struct trace_spec *spec;
    struct arena *arena;
    struct diags *diags;
    struct order order;
    struct avail_row *items; /* owned, in file order */
    size_t n, capacity;
    struct names names, causes; /* the arena's */
    simtime_ns tail_ns;         /* time that the last row stands for */
    struct {                    /* owned, in time order */
        struct supply_event *items;
        size_t n, capacity;
    } events;
    uint64_t n_errors;
};

/* Read the whole file; fill the report's file, counts and clock, and the notes. HR_INPUT:
 * described. */
enum hr_err avail_read_csv(struct avail *a, struct trace_report *report, struct notes *notes);
enum hr_err avail_read_json(struct avail *a, struct trace_report *report, struct notes *notes);

/* Keeps a row; its node and cause are given as text. HR_NOMEM, HR_LIMIT. */
enum hr_err avail_add(struct avail *a, int64_t t, uint64_t hash, struct avail_row row);
enum hr_err avail_name(struct avail *a, struct avail_row *row, const char *node, size_t n);
enum hr_err avail_cause(struct avail *a, struct avail_row *row, const char *cause, size_t n);

/* The change that a word of the format's rule means; 0 when it is none, then *nearest is one or
 * NULL. */
int32_t avail_change(const struct trace_format *format, const char *text, size_t n,
                     const char **nearest);

/* What the report says of a finished trace: runs, shares, losses; of faults, from the rows. */
enum hr_err avail_facts(const struct supply_trace *trace, struct trace_supply_facts *facts);
enum hr_err avail_faults(const struct avail *a, const struct supply_trace *trace,
                         struct trace_supply_facts *facts);

#endif
