/* See job_row.h. Each take_ function reads one thing of the row into the draft and says whether the
 * row is still to be kept. Filters come last, so that they change no count of anything else. */
#include "traces/job_row.h"

#include "sim/int128.h"
#include "sim/time.h"
#include "sim/vec.h"

#include <stdio.h>
#include <string.h>

enum { MICRO = 1000000 /* of a GPU, the grain of fractional requests */ };

/* What became of a row. */
enum taken { KEEP, DROPPED, BAD };

struct draft {
    struct job job;
    int64_t submit, start;
    bool open, fractional, nomem;
};

static enum taken drop(struct job_rows *s, enum trace_drop why)
{
    s->dropped[why]++;
    return DROPPED;
}

/* --- how a job ended --------------------------------------------------------------------- */

static const struct {
    const char *word; /* lower case; a longer text may follow a blank: CANCELLED by 1001 */
    enum job_end end;
} states[] = {
    {"completed", JOB_COMPLETED}, {"pass", JOB_COMPLETED},       {"passed", JOB_COMPLETED},
    {"succeeded", JOB_COMPLETED}, {"cancelled", JOB_CANCELLED},  {"canceled", JOB_CANCELLED},
    {"killed", JOB_CANCELLED},    {"preempted", JOB_CANCELLED},  {"failed", JOB_FAILED},
    {"node_fail", JOB_FAILED},    {"out_of_memory", JOB_FAILED}, {"boot_fail", JOB_FAILED},
    {"timeout", JOB_TIMEOUT},     {"deadline", JOB_TIMEOUT},     {"running", JOB_CENSORED},
    {"suspended", JOB_CENSORED},
};

static enum job_end state_of(const char *text)
{
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        const char *word = states[i].word, *p = text;
        while (*word != '\0' && (*p == *word || (*p >= 'A' && *p <= 'Z' && *p + 32 == *word)))
            word++, p++;
        if (*word == '\0' && (*p == '\0' || *p == ' '))
            return states[i].end;
    }
    return JOB_END_UNKNOWN;
}

static enum taken take_state(struct job_rows *s, struct draft *d)
{
    struct reader *r = &s->reader;
    d->job.end = JOB_END_UNKNOWN;
    if (reader_empty(r, &s->slots[TRACE_STATE]))
        return KEEP;
    char word[64];
    const struct csv_field *f = reader_field(r, &s->slots[TRACE_STATE]);
    const char *text = f->text;
    size_t n = f->n;
    value_trim(&text, &n);
    n = n < sizeof word ? n : sizeof word - 1;
    memcpy(word, text, n);
    word[n] = '\0';
    d->job.end = state_of(word);
    if (d->job.end == JOB_END_UNKNOWN && s->unknown_states++ == 0)
        s->first_unknown_state = arena_strdup(r->arena, word);
    return KEEP;
}

/* --- times ------------------------------------------------------------------------------- */

/* Empty, or one of the words that stand for "not yet". */
static bool is_unset(const struct reader *r, const struct reader_slot *slot)
{
    static const char *const words[] = {"Unknown", "None", "NULL", "null", "N/A", "NA", "-"};
    if (reader_empty(r, slot))
        return true;
    const struct csv_field *f = reader_field(r, slot);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == f->n && memcmp(words[i], f->text, f->n) == 0)
            return true;
    return false;
}

static bool take_point(struct job_rows *s, enum trace_field field, int64_t *t)
{
    if (!reader_point(&s->reader, &s->slots[field], t))
        return false;
    if (*t > s->latest || s->order.n_seen == 0)
        s->latest = *t;
    return true;
}

/* A recorded duration that is not end - start, by more than the second that logs round to. */
static void compare_duration(struct job_rows *s, uint64_t recorded, uint64_t work)
{
    uint64_t apart = recorded > work ? recorded - work : work - recorded;
    if (apart <= SIM_S)
        return;
    if (s->duration_differs++ == 0)
        s->first_differing_line = s->reader.line;
}

static enum taken take_timed(struct job_rows *s, struct draft *d)
{
    struct reader *r = &s->reader;
    const struct reader_slot *end_slot = &s->slots[TRACE_END];
    int64_t end;
    uint64_t recorded;
    if (is_unset(r, &s->slots[TRACE_START]))
        return drop(s, TRACE_DROP_NEVER_STARTED);
    if (!take_point(s, TRACE_START, &d->start))
        return BAD;
    s->early_starts += d->start < d->submit;
    if (is_unset(r, end_slot)) {
        d->job.end = JOB_CENSORED;
        d->open = true;
        return KEEP;
    }
    if (!take_point(s, TRACE_END, &end))
        return BAD;
    if (end < d->start) {
        reader_error(r, reader_field(r, end_slot)->text, "end is before start");
        return BAD;
    }
    d->job.work_ns = (uint64_t)end - (uint64_t)d->start;
    if (!reader_empty(r, &s->slots[TRACE_DURATION])) {
        if (!reader_length(r, &s->slots[TRACE_DURATION], &recorded))
            return BAD;
        compare_duration(s, recorded, d->job.work_ns);
    }
    return d->job.work_ns == 0 ? drop(s, TRACE_DROP_ZERO_DURATION) : KEEP;
}

static enum taken take_work(struct job_rows *s, struct draft *d)
{
    bool timed = s->slots[TRACE_START].index >= 0 && s->slots[TRACE_END].index >= 0;
    if (timed)
        return take_timed(s, d);
    if (!reader_length(&s->reader, &s->slots[TRACE_DURATION], &d->job.work_ns))
        return BAD;
    return d->job.work_ns == 0 ? drop(s, TRACE_DROP_ZERO_DURATION) : KEEP;
}

/* --- GPUs -------------------------------------------------------------------------------- */

static enum taken no_gpus(struct job_rows *s)
{
    struct reader *r = &s->reader;
    if (!s->spec->refuse_no_gpus)
        return drop(s, TRACE_DROP_NO_GPUS);
    reader_error(r, reader_field(r, &s->slots[TRACE_GPUS])->text, "a job without GPUs");
    return BAD;
}

static enum taken take_gpus(struct job_rows *s, struct draft *d)
{
    struct reader *r = &s->reader;
    const struct reader_slot *slot = &s->slots[TRACE_GPUS];
    uint64_t micro, workers = 1;
    if (reader_empty(r, slot))
        return no_gpus(s);
    const struct csv_field *f = reader_field(r, slot);
    if (!reader_check(r, slot, value_scaled(f->text, f->n, MICRO, &micro)))
        return BAD;
    if (!reader_empty(r, &s->slots[TRACE_WORKERS]) &&
        !reader_whole(r, &s->slots[TRACE_WORKERS], UINT32_MAX, &workers))
        return BAD;
    u128 all = (u128)micro * workers, whole = (all + MICRO - 1) / MICRO;
    if (whole > UINT32_MAX)
        return reader_check(r, slot, VALUE_TOO_LARGE) ? KEEP : BAD;
    if (all == 0)
        return no_gpus(s);
    d->job.gpus = d->job.min_gpus = d->job.max_gpus = (uint32_t)whole;
    d->fractional = all % MICRO != 0;
    return KEEP;
}

static enum taken take_min_gpus(struct job_rows *s, struct draft *d)
{
    struct reader *r = &s->reader;
    const struct reader_slot *slot = &s->slots[TRACE_MIN_GPUS];
    uint64_t v;
    if (reader_empty(r, slot))
        return KEEP;
    if (!reader_whole(r, slot, UINT32_MAX, &v))
        return BAD;
    if (v < 1 || v > d->job.gpus) {
        reader_error(r, reader_field(r, slot)->text, "min_gpus is not in 1..%u, the job's gpus",
                     d->job.gpus);
        return BAD;
    }
    d->job.min_gpus = (uint32_t)v;
    return KEEP;
}

static enum taken take_max_gpus(struct job_rows *s, struct draft *d)
{
    struct reader *r = &s->reader;
    const struct reader_slot *slot = &s->slots[TRACE_MAX_GPUS];
    uint64_t v;
    if (reader_empty(r, slot))
        return KEEP;
    if (!reader_whole(r, slot, UINT32_MAX, &v))
        return BAD;
    if (v < d->job.gpus) {
        reader_error(r, reader_field(r, slot)->text, "max_gpus is below the job's gpus, %u",
                     d->job.gpus);
        return BAD;
    }
    d->job.max_gpus = (uint32_t)v;
    return KEEP;
}

/* --- the rest ---------------------------------------------------------------------------- */

static enum taken take_tenant(struct job_rows *s, struct draft *d)
{
    struct reader *r = &s->reader;
    const struct reader_slot *slot = &s->slots[TRACE_TENANT];
    const char *text = "";
    size_t n = 0;
    if (!reader_empty(r, slot)) {
        const struct csv_field *f = reader_field(r, slot);
        text = f->text;
        n = f->n;
        value_trim(&text, &n);
        if (f->doubled) {
            text = reader_text(r, slot);
            n = text != NULL ? strlen(text) : 0;
        }
    }
    d->job.tenant = text != NULL ? names_add(&s->tenants, text, n) : NULL;
    if (d->job.tenant == NULL) {
        d->nomem = true;
        return DROPPED;
    }
    return KEEP;
}

/* Lengths of time that a job may not have; zero means the same as empty. */
static enum taken take_length(struct job_rows *s, enum trace_field field, uint64_t *ns)
{
    *ns = JOB_UNSET;
    if (reader_empty(&s->reader, &s->slots[field]))
        return KEEP;
    if (!reader_length(&s->reader, &s->slots[field], ns))
        return BAD;
    if (*ns == 0)
        *ns = JOB_UNSET;
    return KEEP;
}

static enum taken take_extras(struct job_rows *s, struct draft *d)
{
    struct reader *r = &s->reader;
    const struct reader_slot *priority = &s->slots[TRACE_PRIORITY];
    const struct reader_slot *preemptible = &s->slots[TRACE_PREEMPTIBLE];
    d->job.preemptible = true;
    if (!reader_empty(r, priority)) {
        const struct csv_field *f = reader_field(r, priority);
        if (!reader_check(r, priority, value_int32(f->text, f->n, &d->job.priority)))
            return BAD;
    }
    if (!reader_empty(r, preemptible)) {
        const struct csv_field *f = reader_field(r, preemptible);
        if (!reader_check(r, preemptible, value_flag(f->text, f->n, &d->job.preemptible)))
            return BAD;
    }
    enum taken taken = take_length(s, TRACE_LIMIT, &d->job.limit_ns);
    return taken == KEEP ? take_length(s, TRACE_CHECKPOINT, &d->job.checkpoint_ns) : taken;
}

static bool take_id(struct job_rows *s, struct draft *d)
{
    struct reader *r = &s->reader;
    if (!reader_empty(r, &s->slots[TRACE_ID])) {
        d->job.id = reader_text(r, &s->slots[TRACE_ID]);
        return d->job.id != NULL;
    }
    char number[24];
    snprintf(number, sizeof number, "%llu", (unsigned long long)r->n_rows);
    d->job.id = arena_strdup(r->arena, number);
    return d->job.id != NULL;
}

/* --- rows -------------------------------------------------------------------------------- */

static bool wanted_tenant(const struct trace_spec *spec, const char *tenant)
{
    for (size_t i = 0; i < spec->n_tenants; i++)
        if (strcmp(spec->tenants[i], tenant) == 0)
            return true;
    return spec->tenants == NULL;
}

/* What the user does not want to see. */
static enum taken filter(struct job_rows *s, const struct draft *d)
{
    const struct trace_spec *spec = s->spec;
    if (!wanted_tenant(spec, d->job.tenant))
        return drop(s, TRACE_DROP_TENANT);
    if (d->job.gpus < spec->min_gpus || (spec->max_gpus > 0 && d->job.gpus > spec->max_gpus))
        return drop(s, TRACE_DROP_GPU_RANGE);
    return KEEP;
}

static enum taken take_fields(struct job_rows *s, struct draft *d)
{
    static enum taken (*const steps[])(struct job_rows *, struct draft *) = {
        take_gpus, take_state, take_tenant, take_min_gpus, take_max_gpus, take_extras, take_work,
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        enum taken taken = steps[i](s, d);
        if (taken != KEEP)
            return taken;
    }
    return filter(s, d);
}

static enum hr_err keep(struct job_rows *s, const struct draft *d)
{
    uint64_t t = order_flip(d->submit);
    uint64_t hash = order_hash(s->reader.row.text, s->reader.row.n);
    if (s->n == UINT32_MAX)
        return HR_LIMIT;
    if (d->open && !vec_push(&s->open, ((struct open_job){.row = s->n, .start = d->start})))
        return HR_NOMEM;
    if (!order_add(&s->order, t, hash, (uint32_t)s->n) || !vec_push(s, d->job))
        return HR_NOMEM;
    s->fractional_gpus += d->fractional;
    return HR_OK;
}

enum hr_err job_rows_take(struct job_rows *s)
{
    struct reader *r = &s->reader;
    struct draft d = {0};
    if (is_unset(r, &s->slots[TRACE_SUBMIT])) {
        drop(s, TRACE_DROP_NO_TIME);
        return HR_OK;
    }
    if (!take_point(s, TRACE_SUBMIT, &d.submit))
        return HR_OK;
    order_see(&s->order, order_flip(d.submit));
    enum taken taken = take_fields(s, &d);
    if (taken == KEEP && !take_id(s, &d))
        d.nomem = true;
    if (d.nomem)
        return HR_NOMEM;
    return taken == KEEP ? keep(s, &d) : HR_OK;
}
