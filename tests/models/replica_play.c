/* One driver for both replicas behind a small table of functions, one log each. */
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
    uint64_t value; /* tokens generated, integral */
    simtime_ns at;
};

struct log {
    struct note *notes;
    size_t n, capacity;
};

struct player {
    void *replica;
    void (*submit)(void *replica, const struct replica_request *request, simtime_ns now);
    void (*run_to)(void *replica, simtime_ns t);
    simtime_ns (*next)(const void *replica);
    size_t (*take_all)(void *replica, simtime_ns now, struct replica_request *out);
    size_t (*count)(const void *replica);
    void (*batch)(const void *replica, simtime_ns now, u128 *request_ns, uint64_t *busy_ns);
    struct log log;
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

static void on_done(void *self, uint32_t id, simtime_ns at)
{
    take_note(self, (struct note){DONE, id, 0, at});
}

static void sparse_submit(void *replica, const struct replica_request *request, simtime_ns now)
{
    enum hr_err err = replica_submit(replica, request, now);
    assert(err == HR_OK);
    (void)err;
}

static void sparse_run_to(void *replica, simtime_ns t)
{
    while (replica_next(replica) <= t && replica_next(replica) != SIM_NEVER)
        (void)replica_advance(replica, replica_next(replica));
}

static simtime_ns sparse_next(const void *replica)
{
    return replica_next(replica);
}

static size_t sparse_take_all(void *replica, simtime_ns now, struct replica_request *out)
{
    return replica_take_all(replica, now, out);
}

static size_t sparse_count(const void *replica)
{
    return replica_count(replica);
}

static void sparse_batch(const void *replica, simtime_ns now, u128 *request_ns, uint64_t *busy_ns)
{
    replica_batch(replica, now, request_ns, busy_ns);
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
    take_note(&p->log,
              (struct note){BATCH, (uint32_t)(request_ns >> 64), (uint64_t)request_ns, now});
    take_note(&p->log, (struct note){BUSY, 0, busy_ns, now});
}

/* Everything comes out at now and goes back in, with what it had generated, after the delay. */
static size_t take(struct player *p, simtime_ns now, struct replica_request *taken)
{
    p->run_to(p->replica, now);
    size_t n = p->take_all(p->replica, now, taken);
    for (size_t i = 0; i < n; i++)
        take_note(&p->log, (struct note){TAKEN, taken[i].id, taken[i].generated_tokens, now});
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

static void compare_logs(struct play_result *result, const struct log *sparse,
                         const struct log *plain)
{
    size_t n = sparse->n < plain->n ? sparse->n : plain->n, i = 0;
    while (i < n && same(&sparse->notes[i], &plain->notes[i]))
        i++;
    result->equal = i == n && sparse->n == plain->n;
    if (i < n) {
        const struct note *a = &sparse->notes[i], *b = &plain->notes[i];
        snprintf(result->difference, sizeof result->difference,
                 "note %zu: replica says %s of %" PRIu32 " (%" PRIu64 ") at %" PRIu64
                 ", reference %s of %" PRIu32 " (%" PRIu64 ") at %" PRIu64,
                 i, what_names[a->what], a->id, a->value, a->at, what_names[b->what], b->id,
                 b->value, b->at);
    } else if (!result->equal) {
        snprintf(result->difference, sizeof result->difference, "%zu notes against %zu", sparse->n,
                 plain->n);
    }
    for (size_t j = 0; j < sparse->n; j++) {
        result->n_taken += sparse->notes[j].what == TAKEN;
        result->n_taken_generated += sparse->notes[j].what == TAKEN && sparse->notes[j].value > 0;
    }
}

struct play_result play_compare(const struct workload *w)
{
    struct player sparse = {.submit = sparse_submit,
                            .run_to = sparse_run_to,
                            .next = sparse_next,
                            .take_all = sparse_take_all,
                            .count = sparse_count,
                            .batch = sparse_batch};
    struct player plain = {.submit = plain_submit,
                           .run_to = plain_run_to,
                           .next = plain_next,
                           .take_all = plain_take_all,
                           .count = plain_count,
                           .batch = plain_batch};
    struct replica *replica =
        replica_new(&w->config, &(struct replica_events){&sparse.log, on_first_token, on_done});
    struct ref *ref =
        ref_new(&w->config, &(struct replica_events){&plain.log, on_first_token, on_done});
    assert(replica && ref);
    sparse.replica = replica;
    plain.replica = ref;
    play(&sparse, w);
    play(&plain, w);

    struct play_result result = {.counts = *ref_counts(ref),
                                 .n_events = replica_events_processed(replica),
                                 .end_ns = sparse.end_ns};
    compare_logs(&result, &sparse.log, &plain.log);
    if (result.equal && replica_evictions(replica) != result.counts.evictions) {
        result.equal = false;
        snprintf(result.difference, sizeof result.difference, "evictions differ");
    }
    replica_free(replica);
    ref_free(ref);
    free(sparse.log.notes);
    free(plain.log.notes);
    return result;
}
