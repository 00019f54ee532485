/* What the report says of a supply trace: how many nodes are up, for how long at a time, what
 * breaks and how long repairs take. See struct trace_supply_facts. */
#include "traces/avail.h"
#include "traces/quantile.h"

#include "sim/int128.h"
#include "sim/time.h"
#include "sim/vec.h"

#include <stdlib.h>
#include <string.h>

/* --- runs -------------------------------------------------------------------------------- */

struct walk {
    const struct supply_trace *trace;
    struct trace_supply_facts *facts;
    simtime_ns *since; /* owned; of each node's state */
    bool *known;       /* owned; since is a change, not the start of the trace */
    struct quantile up_runs, down_runs;
    uint64_t up; /* nodes */
    simtime_ns last_ns;
    u128 up_ns;
};

static void end_run(struct walk *w, uint32_t node, simtime_ns now, bool was_up)
{
    if (w->known[node])
        quantile_add(was_up ? &w->up_runs : &w->down_runs, now - w->since[node]);
    w->since[node] = now;
    w->known[node] = true;
}

/* The nodes that a row changes: a count's are a stack. */
static void take_row(struct walk *w, const struct supply_event *e)
{
    uint64_t n = (uint64_t)llabs(e->change);
    bool up = e->change > 0;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t top = up ? w->up + i : w->up - 1 - i;
        end_run(w, e->node == SUPPLY_ANY_NODE ? (uint32_t)top : e->node, e->at_ns, !up);
    }
    w->up = up ? w->up + n : w->up - n;
    if (!up)
        w->facts->losses += n;
}

/* The rows of an instant are one change: what is between them lasts no time. */
static void take_rows(struct walk *w)
{
    const struct supply_trace *t = w->trace;
    struct trace_supply_facts *f = w->facts;
    w->up = f->up_min = f->up_max = t->up_at_start;
    bool first = t->up_at_start == 0; /* instances: what comes at time 0 is the start */
    for (size_t i = 0; i < t->n;) {
        simtime_ns now = t->rows[i].at_ns;
        uint64_t lost = f->losses;
        w->up_ns += (u128)w->up * (now - w->last_ns);
        w->last_ns = now;
        while (i < t->n && t->rows[i].at_ns == now)
            take_row(w, &t->rows[i++]);
        if (f->losses - lost > f->most_lost)
            f->most_lost = f->losses - lost;
        if (w->up < f->up_min || (first && now == 0))
            f->up_min = w->up;
        if (w->up > f->up_max)
            f->up_max = w->up;
    }
    w->up_ns += (u128)w->up * (t->span_ns - w->last_ns);
}

static enum hr_err fill_runs(struct walk *w)
{
    const double hours = 1 / (double)SIM_HOUR;
    struct trace_supply_facts *f = w->facts;
    f->n_up_runs = w->up_runs.n_values;
    f->n_down_runs = w->down_runs.n_values;
    if (f->n_up_runs > 0)
        TRY(quantile_get(&w->up_runs, hours, &f->up_run_h));
    if (f->n_down_runs > 0)
        TRY(quantile_get(&w->down_runs, hours, &f->down_run_h));
    double span = (double)w->trace->span_ns, up = (double)w->up_ns;
    f->nodes = w->trace->nodes;
    if (span > 0) {
        f->up_mean = up / span;
        f->available_frac = f->nodes > 0 ? up / (span * (double)f->nodes) : 0;
    }
    if (f->losses > 0)
        f->up_h_per_loss = up * hours / (double)f->losses;
    return HR_OK;
}

static enum hr_err walk(struct walk *w)
{
    size_t n = (size_t)w->trace->nodes + 1;
    w->since = calloc(n, sizeof *w->since);
    w->known = calloc(n, sizeof *w->known);
    if (w->since == NULL || w->known == NULL)
        return HR_NOMEM;
    TRY(quantile_init(&w->up_runs));
    TRY(quantile_init(&w->down_runs));
    take_rows(w);
    return fill_runs(w);
}

enum hr_err avail_facts(const struct supply_trace *trace, struct trace_supply_facts *facts)
{
    struct walk w = {.trace = trace, .facts = facts};
    enum hr_err err = walk(&w);
    quantile_fini(&w.up_runs);
    quantile_fini(&w.down_runs);
    free(w.since);
    free(w.known);
    return err;
}

/* --- faults ------------------------------------------------------------------------------ */

/* A repair ends the oldest fault of its node that has the same cause, else the oldest; only so many
 * are looked at. */
enum { SAME_CAUSE_DEPTH = 64 };

struct open_fault {
    uint64_t t;
    const char *cause;
    uint32_t next; /* of the node: number from 1; 0: none */
};

struct queue {
    uint32_t first, last; /* numbers from 1; 0: none */
    uint64_t faults;      /* so far */
};

struct fault_walk {
    const struct avail *a;
    struct trace_supply_facts *facts;
    struct {
        struct open_fault *items;
        size_t n, capacity;
    } open;
    struct queue *queues; /* owned; of each node */
    struct quantile repairs;
    struct {
        struct trace_cause *items;
        size_t n, capacity;
    } causes; /* by the number of the name */
    struct names numbers;
};

static enum hr_err count_cause(struct fault_walk *w, const char *cause)
{
    struct name name = names_take(&w->numbers, cause, strlen(cause));
    if (name.text == NULL)
        return HR_NOMEM;
    if (name.number == w->causes.n && !vec_push(&w->causes, ((struct trace_cause){cause, 0})))
        return HR_NOMEM;
    w->causes.items[name.number].n++;
    return HR_OK;
}

static enum hr_err begin_fault(struct fault_walk *w, uint64_t t, const struct avail_row *row)
{
    struct queue *q = &w->queues[row->node];
    w->facts->faults++;
    w->facts->overlaps += q->first != 0;
    if (++q->faults > w->facts->most_faults)
        w->facts->most_faults = q->faults;
    if (!vec_push(&w->open, ((struct open_fault){.t = t, .cause = row->cause})))
        return HR_NOMEM;
    if (q->first == 0)
        q->first = (uint32_t)w->open.n;
    else
        w->open.items[q->last - 1].next = (uint32_t)w->open.n;
    q->last = (uint32_t)w->open.n;
    return count_cause(w, row->cause);
}

static void end_fault(struct fault_walk *w, uint64_t t, const struct avail_row *row)
{
    struct queue *q = &w->queues[row->node];
    uint32_t found = q->first, before = 0;
    for (uint32_t i = q->first, last = 0, n = 0; i != 0 && n < SAME_CAUSE_DEPTH; n++) {
        if (w->open.items[i - 1].cause == row->cause) { /* causes are the one copy of their text */
            found = i;
            before = last;
            break;
        }
        last = i;
        i = w->open.items[i - 1].next;
    }
    const struct open_fault *f = &w->open.items[found - 1];
    quantile_add(&w->repairs, t - f->t);
    w->facts->zero_faults += t == f->t;
    if (before == 0)
        q->first = f->next;
    else
        w->open.items[before - 1].next = f->next;
    if (q->last == found)
        q->last = before;
}

static int by_frequency(const void *a, const void *b)
{
    const struct trace_cause *x = a, *y = b;
    if (x->n != y->n)
        return x->n > y->n ? -1 : 1;
    return strcmp(x->name, y->name);
}

static enum hr_err walk_faults(struct fault_walk *w)
{
    const struct avail *a = w->a;
    TRY(quantile_init(&w->repairs));
    w->queues = calloc(a->names.n, sizeof *w->queues);
    if (w->queues == NULL)
        return HR_NOMEM;
    for (size_t i = 0; i < a->order.n; i++) {
        const struct avail_row *row = &a->items[a->order.items[i].row];
        if (row->bad)
            continue;
        if (row->value < 0)
            TRY(begin_fault(w, a->order.items[i].t, row));
        else
            end_fault(w, a->order.items[i].t, row);
    }
    w->facts->unrepaired = w->facts->faults - w->repairs.n_values;
    if (w->repairs.n_values > 0)
        TRY(quantile_get(&w->repairs, 1 / (double)SIM_HOUR, &w->facts->repair_h));
    return HR_OK;
}

static enum hr_err hand_over_causes(struct fault_walk *w)
{
    struct trace_cause *causes = arena_array(w->a->arena, w->causes.n, sizeof *causes);
    if (causes == NULL)
        return HR_NOMEM;
    if (w->causes.n > 0) {
        qsort(w->causes.items, w->causes.n, sizeof *causes, by_frequency);
        memcpy(causes, w->causes.items, w->causes.n * sizeof *causes);
    }
    w->facts->causes = causes;
    w->facts->n_causes = w->causes.n;
    return HR_OK;
}

enum hr_err avail_faults(const struct avail *a, const struct supply_trace *trace,
                         struct trace_supply_facts *facts)
{
    struct fault_walk w = {.a = a, .facts = facts, .numbers = {.arena = a->arena}};
    enum hr_err err = walk_faults(&w);
    if (err == HR_OK)
        err = hand_over_causes(&w);
    double node_days = (double)trace->nodes * (double)trace->span_ns / (double)SIM_DAY;
    if (node_days > 0)
        facts->faults_per_1000_node_days = 1000 * (double)facts->faults / node_days;
    quantile_fini(&w.repairs);
    names_free(&w.numbers);
    vec_free(&w.open);
    vec_free(&w.causes);
    free(w.queues);
    return err;
}
