/* One driver for all replicas behind a small table of functions, one log each. */
#include "replica_play.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum what { FIRST_TOKEN, DONE, TAKEN, BATCH, BUSY };
static const char *const what_names[] = {"first token", "done", "taken", "batch integral", "busy"};

struct note {
    enum what what;
    uint32_t id;
    uint64_t value; /* time of the first token, tokens generated, integral */
    simtime_ns at;
};

struct log {
    struct note *notes;
    size_t n, capacity;
};

/* A replica called at its boundaries, or at its due times, and how often. */
struct caller {
    struct replica *replica;
    simtime_ns due;
    uint64_t n_calls, n_done;
    bool early; /* a request was done before the replica was due */
    struct log log;
};

struct player {
    void *replica;
    void (*submit)(void *replica, const struct replica_request *request, simtime_ns now);
    void (*run_to)(void *replica, simtime_ns t);
    simtime_ns (*next)(const void *replica);
    size_t (*take_all)(void *replica, simtime_ns now, struct replica_request *out);
    size_t (*count)(const void *replica);
    void (*batch)(const void *replica, simtime_ns now, u128 *request_ns, uint64_t *busy_ns);
    struct log *log;
    simtime_ns end_ns;
};

static void take_note(struct log *log, struct note note)
{
    if (log->n == log->capacity) {
        log->capacity = log->capacity ? 2 * log->capacity : 1024;
        log->notes = realloc(log->notes, log->capacity * sizeof *log->notes);
        assert(log->notes);
    }
    log->notes[log->n++] = note;
}

static void on_first_token(void *self, uint32_t id, simtime_ns at)
{
    take_note(self, (struct note){FIRST_TOKEN, id, 0, at});
}

static void on_done(void *self, const struct replica_request *request, simtime_ns at)
{
    take_note(self, (struct note){DONE, request->id, request->first_token_ns, at});
}

static void caller_first_token(void *self, uint32_t id, simtime_ns at)
{
    on_first_token(&((struct caller *)self)->log, id, at);
}

static void caller_done(void *self, const struct replica_request *request, simtime_ns at)
{
    struct caller *c = self;
    c->n_done++;
    on_done(&c->log, request, at);
}

static void caller_submit(struct caller *c, const struct replica_request *request, simtime_ns now)
{
    enum hr_err err = replica_submit(c->replica, request, now);
    assert(err == HR_OK);
    (void)err;
}

static void sparse_submit(void *caller, const struct replica_request *request, simtime_ns now)
{
    caller_submit(caller, request, now);
}

static void sparse_run_to(void *caller, simtime_ns t)
{
    struct caller *c = caller;
    while (replica_next(c->replica) <= t && replica_next(c->replica) != SIM_NEVER) {
        (void)replica_advance(c->replica, replica_next(c->replica));
        c->n_calls++;
    }
}

static simtime_ns sparse_next(const void *caller)
{
    return replica_next(((const struct caller *)caller)->replica);
}

static size_t caller_take_all(void *caller, simtime_ns now, struct replica_request *out)
{
    struct caller *c = caller;
    c->due = SIM_NEVER;
    return replica_take_all(c->replica, now, out);
}

static size_t caller_count(const void *caller)
{
    return replica_count(((const struct caller *)caller)->replica);
}

static void caller_batch(const void *caller, simtime_ns now, u128 *request_ns, uint64_t *busy_ns)
{
    replica_batch(((const struct caller *)caller)->replica, now, request_ns, busy_ns);
}

/* No request may end in the boundaries before t. */
static void due_pass(struct caller *c, simtime_ns t)
{
    const uint64_t done = c->n_done;
    replica_run_to(c->replica, t);
    c->early |= c->n_done != done;
}

static void due_submit(void *caller, const struct replica_request *request, simtime_ns now)
{
    struct caller *c = caller;
    due_pass(c, now);
    caller_submit(c, request, now);
    c->due = replica_due_submitted(c->replica, c->due);
}

static void due_run_to(void *caller, simtime_ns t)
{
    struct caller *c = caller;
    while (c->due <= t && c->due != SIM_NEVER) {
        due_pass(c, c->due);
        replica_run_to(c->replica, c->due + 1);
        const simtime_ns due = replica_due(c->replica);
        c->early |= due <= c->due;
        c->due = due;
        c->n_calls++;
    }
    if (t != SIM_NEVER)
        due_pass(c, t + 1);
}

static simtime_ns due_next(const void *caller)
{
    return ((const struct caller *)caller)->due;
}

static void plain_submit(void *replica, const struct replica_request *request, simtime_ns now)
{
    ref_submit(replica, request, now);
}

static void plain_run_to(void *replica, simtime_ns t)
{
    ref_run_to(replica, t);
}

static simtime_ns plain_next(const void *replica)
{
    return ref_next(replica);
}

static size_t plain_take_all(void *replica, simtime_ns now, struct replica_request *out)
{
    return ref_take_all(replica, now, out);
}

static size_t plain_count(const void *replica)
{
    return ref_count(replica);
}

static void plain_batch(const void *replica, simtime_ns now, u128 *request_ns, uint64_t *busy_ns)
{
    ref_batch(replica, now, request_ns, busy_ns);
}

static void note_batch(struct player *p, simtime_ns now)
{
    u128 request_ns;
    uint64_t busy_ns;
    p->batch(p->replica, now, &request_ns, &busy_ns);
    take_note(p->log,
              (struct note){BATCH, (uint32_t)(request_ns >> 64), (uint64_t)request_ns, now});
    take_note(p->log, (struct note){BUSY, 0, busy_ns, now});
}

/* Everything comes out at now and goes back in, with what it had generated, after the delay. */
static size_t take(struct player *p, simtime_ns now, struct replica_request *taken)
{
    p->run_to(p->replica, now);
    size_t n = p->take_all(p->replica, now, taken);
    for (size_t i = 0; i < n; i++)
        take_note(p->log, (struct note){TAKEN, taken[i].id, taken[i].generated_tokens, now});
    note_batch(p, now);
    return n;
}

static void submit(struct player *p, const struct workload *w,
                   const struct replica_request *request, simtime_ns now)
{
    if (!w->submit_first)
        p->run_to(p->replica, now);
    else if (now > 0)
        p->run_to(p->replica, now - 1);
    p->submit(p->replica, request, now);
}

static void play(struct player *p, const struct workload *w)
{
    struct replica_request *taken = malloc((w->n + 1) * sizeof *taken);
    assert(taken);
    size_t i = 0, n_taken = 0, takes = 0;
    simtime_ns give_back = SIM_NEVER;
    while (i < w->n || n_taken > 0 || takes < w->n_takes) {
        const simtime_ns arrival = i < w->n ? w->requests[i].arrival_ns : SIM_NEVER;
        const simtime_ns out = n_taken == 0 && takes < w->n_takes ? w->takes[takes] : SIM_NEVER;
        if (out <= arrival && out <= give_back) {
            n_taken = take(p, out, taken);
            give_back = n_taken ? out + w->take_delay_ns : SIM_NEVER;
            while (takes < w->n_takes && w->takes[takes] <= out + w->take_delay_ns)
                takes++;
        } else if (give_back <= arrival) {
            for (size_t j = 0; j < n_taken; j++)
                submit(p, w, &taken[j], give_back);
            n_taken = 0;
            give_back = SIM_NEVER;
        } else {
            submit(p, w, &w->requests[i++], arrival);
        }
    }
    p->end_ns = 0;
    while (p->count(p->replica) > 0) {
        p->end_ns = p->next(p->replica);
        assert(p->end_ns != SIM_NEVER);
        p->run_to(p->replica, p->end_ns);
    }
    note_batch(p, p->end_ns);
    free(taken);
}

static bool same(const struct note *a, const struct note *b)
{
    return a->what == b->what && a->id == b->id && a->value == b->value && a->at == b->at;
}

static void compare_logs(struct play_result *result, const char *name, const struct log *log,
                         const struct log *plain)
{
    size_t n = log->n < plain->n ? log->n : plain->n, i = 0;
    while (i < n && same(&log->notes[i], &plain->notes[i]))
        i++;
    if (i == n && log->n == plain->n)
        return;
    result->equal = false;
    if (i < n) {
        const struct note *a = &log->notes[i], *b = &plain->notes[i];
        snprintf(result->difference, sizeof result->difference,
                 "note %zu: %s says %s of %" PRIu32 " (%" PRIu64 ") at %" PRIu64
                 ", reference %s of %" PRIu32 " (%" PRIu64 ") at %" PRIu64,
                 i, name, what_names[a->what], a->id, a->value, a->at, what_names[b->what], b->id,
                 b->value, b->at);
    } else {
        snprintf(result->difference, sizeof result->difference, "%s: %zu notes against %zu", name,
                 log->n, plain->n);
    }
}

static const struct player sparse_player = {.submit = sparse_submit,
                                            .run_to = sparse_run_to,
                                            .next = sparse_next,
                                            .take_all = caller_take_all,
                                            .count = caller_count,
                                            .batch = caller_batch};
static const struct player due_player = {.submit = due_submit,
                                         .run_to = due_run_to,
                                         .next = due_next,
                                         .take_all = caller_take_all,
                                         .count = caller_count,
                                         .batch = caller_batch};
static const struct player plain_player = {.submit = plain_submit,
                                           .run_to = plain_run_to,
                                           .next = plain_next,
                                           .take_all = plain_take_all,
                                           .count = plain_count,
                                           .batch = plain_batch};

static void play_caller(const struct player *how, const struct workload *w, struct caller *c)
{
    struct player p = *how;
    *c = (struct caller){.due = SIM_NEVER};
    c->replica =
        replica_new(&w->config, &(struct replica_events){c, caller_first_token, caller_done});
    assert(c->replica);
    p.replica = c;
    p.log = &c->log;
    play(&p, w);
}

static void caller_fini(struct caller *c)
{
    replica_free(c->replica);
    free(c->log.notes);
}

struct play_result play_compare(const struct workload *w)
{
    struct caller sparse, due;
    struct log log = {0};
    struct player plain = plain_player;
    struct ref *ref = ref_new(&w->config, &(struct replica_events){&log, on_first_token, on_done});
    assert(ref);
    plain.replica = ref;
    plain.log = &log;
    play(&plain, w);
    play_caller(&sparse_player, w, &sparse);
    play_caller(&due_player, w, &due);

    struct play_result result = {.equal = true,
                                 .counts = *ref_counts(ref),
                                 .n_events = sparse.n_calls,
                                 .n_due = due.n_calls,
                                 .end_ns = plain.end_ns};
    compare_logs(&result, "replica", &sparse.log, &log);
    compare_logs(&result, "replica called when due", &due.log, &log);
    for (size_t i = 0; i < log.n; i++) {
        result.n_taken += log.notes[i].what == TAKEN;
        result.n_taken_generated += log.notes[i].what == TAKEN && log.notes[i].value > 0;
    }
    if (result.equal &&
        (due.early || replica_evictions(sparse.replica) != result.counts.evictions ||
         replica_evictions(due.replica) != result.counts.evictions)) {
        result.equal = false;
        snprintf(result.difference, sizeof result.difference,
                 due.early ? "a request was done before it was due" : "evictions differ");
    }
    caller_fini(&sparse);
    caller_fini(&due);
    ref_free(ref);
    free(log.notes);
    return result;
}
