/* The rules of a replica (replica.h), applied at the few boundaries where something changes.
 *
 * A boundary does two things. It books what the step or run that ends there has done: tokens,
 * finished requests, completed prompts. Then it plans what follows, in this order: evict until one
 * more step fits; unless something was evicted, admit from the head of the queue; if any prompt
 * tokens are to be done, one step with them; else a run of decode steps up to the first boundary at
 * which something can change:
 *
 *     a request finishes            the last of order; n and C are constant until then
 *     the KV cache would overflow   (capacity - kv) / n steps fit
 *     an arrival joins              the first boundary later than it, if it has room there
 *
 * In a run n is constant and KV grows, so a head of the queue that has no room at the first
 * boundary it could join has none at the later ones: it costs no event until a request finishes.
 * Nor has one that was just evicted: it would need the very tokens that overflowed.
 *
 * Chunked, a prompt is left partly done only by a step whose budget of max_batched_tokens - n it
 * used up. Those that step completed took a token each, so n is below max_batched_tokens after it
 * too, and the prompt goes on at once: there is no run of decode steps with a partly done prompt.
 */
#include "models/serving/replica_state.h"

#include <assert.h>
#include <stdlib.h>

/* Limits that keep a step within 64 bits of picoseconds and a run within 128: 1000 s a step, 1 s a
 * request or prompt token, 1 ms a token of context or squared token, 1e9 tokens of KV. */
#define MAX_STEP_PS    UINT64_C(1000000000000000)
#define MAX_REQUEST_PS UINT64_C(1000000000000)
#define MAX_CONTEXT_PS UINT64_C(1000000000)
#define MAX_SQUARE_FS  UINT64_C(1000000000000)
#define MAX_KV_TOKENS  UINT64_C(1000000000)
#define MAX_REQUESTS   UINT32_C(1000000)

struct prompt_work {
    uint64_t tokens;  /* sum q */
    uint64_t squares; /* sum (s + q)^2 - s^2 */
};

static bool is_chunked(const struct replica *r)
{
    return r->config->prefill == PREFILL_CHUNKED;
}

/* Is there room for a request beside n_holding others with kv tokens, and for one more step of all?
 * Alone it always fits: prompt + output <= capacity. */
static bool has_room(const struct replica *r, const struct entry *e, uint32_t n_holding,
                     uint64_t kv)
{
    if (n_holding == 0)
        return true;
    return n_holding < r->config->max_num_seqs &&
           kv + prompt_of(e) + 1 + n_holding + 1 <= r->config->kv_capacity_tokens;
}

/* The next of the queue enters the batch, with KV for its prompt and the token that completes it.
 */
static void hold(struct replica *r, uint32_t prompt)
{
    r->n_batch++;
    r->batch_kv += prompt + 1;
    r->kv_tokens += prompt + 1;
}

/* Prefill priority: admits up to n_eligible waiting prompts, whole, while they fit into a step. */
static struct prompt_work take_whole(struct replica *r, uint32_t n_eligible)
{
    struct prompt_work work = {0, 0};
    uint32_t front = r->queue_front;
    while (r->n_batch < n_eligible) {
        const struct entry *e = &r->entries[front];
        const uint32_t prompt = prompt_of(e);
        if (r->n_batch > 0 && work.tokens + prompt > r->config->max_batched_tokens)
            break;
        if (!has_room(r, e, r->n_running + r->n_batch, r->kv_tokens))
            break;
        hold(r, prompt);
        work.tokens += prompt;
        work.squares += (uint64_t)prompt * prompt;
        front = e->next;
    }
    return work;
}

/* Chunked: takes tokens of the partly done prompt and of up to n_eligible waiting ones, which are
 * admitted, as far as the budget that the running requests leave goes. */
static struct prompt_work take_chunks(struct replica *r, uint32_t n_eligible)
{
    struct prompt_work work = {0, 0};
    const uint32_t max = r->config->max_batched_tokens, n = r->n_batch + n_eligible;
    uint32_t budget = max > r->n_running ? max - r->n_running : 0;
    uint32_t start = r->batch_done, end = start, prompt = end, front = r->queue_front;
    for (uint32_t i = 0; i < n && budget > 0; i++) {
        const struct entry *e = &r->entries[front];
        if (i >= r->n_batch) {
            if (!has_room(r, e, r->n_running + i, r->kv_tokens))
                break;
            hold(r, prompt_of(e));
        }
        prompt = prompt_of(e);
        const uint32_t rest = prompt - start, q = rest < budget ? rest : budget;
        end = start + q;
        budget -= q;
        work.tokens += q;
        work.squares += (uint64_t)q * ((uint64_t)start + end);
        start = 0;
        front = e->next;
    }
    r->batch_tail = end < prompt ? end : 0;
    return work;
}

static struct prompt_work take_prompts(struct replica *r, uint32_t n_eligible)
{
    if (r->n_batch + n_eligible == 0) {
        r->batch_tail = 0;
        return (struct prompt_work){0, 0};
    }
    return is_chunked(r) ? take_chunks(r, n_eligible) : take_whole(r, n_eligible);
}

static u128 square_ps(uint64_t f_fs, uint64_t squares)
{
    u128 fs = (u128)f_fs * squares + 500;
    return fs >> 64 == 0 ? (uint64_t)fs / 1000 : fs / 1000;
}

static void end_after(struct replica *r, u128 ps)
{
    const struct boundary end = boundary_add(replica_at(r), ps);
    r->end_ps = (uint16_t)end.ps;
    r->next_ns = boundary_fires(end);
}

static void start_step(struct replica *r, const struct prompt_work *work)
{
    const struct step_time *s = &r->config->step;
    const u128 prompts = (u128)s->e_ps * work->tokens + square_ps(s->f_fs, work->squares);
    r->phase = PHASE_PREFILL;
    r->run_steps = is_chunked(r) && r->n_running > 0;
    if (r->run_steps)
        end_after(r, replica_decode_ps(r) + prompts);
    else
        end_after(r, s->d_ps + prompts > s->floor_ps ? s->d_ps + prompts : s->floor_ps);
}

/* Would the head of the queue be admitted k steps into the present run? */
static bool joins_after(const struct replica *r, uint32_t k)
{
    return has_room(r, &r->entries[r->queue_front], r->n_running,
                    r->kv_tokens + (uint64_t)k * r->n_running);
}

/* The step of the present run, at most last, at which a head of the queue that came at now joins.
 */
static uint32_t join_step(const struct replica *r, simtime_ns now, uint32_t last)
{
    uint32_t k = run_first_after(&r->run, boundary_until(replica_at(r), now), last);
    return k < last && joins_after(r, k) ? k : last;
}

static void run_until(struct replica *r, uint32_t k)
{
    r->run_steps = k;
    end_after(r, run_ps(&r->run, k));
}

static void start_run(struct replica *r, simtime_ns now, bool late_head)
{
    assert(r->n_batch == 0);
    const uint32_t n = r->n_running;
    uint32_t k = order_left(r, r->first);
    const uint64_t room = r->config->kv_capacity_tokens - r->kv_tokens;
    if ((uint64_t)k * n > room)
        k = (uint32_t)(room / n);
    r->phase = PHASE_DECODE;
    r->run.first_ps = replica_decode_ps(r);
    r->run.growth_ps = r->config->step.c_ps * n;
    if (late_head)
        k = join_step(r, now, k);
    run_until(r, k);
}

static bool later(const struct replica_request *a, const struct replica_request *b)
{
    return a->arrival_ns != b->arrival_ns ? a->arrival_ns > b->arrival_ns : a->id > b->id;
}

static uint32_t generated(const struct replica *r, struct finish f)
{
    return r->entries[f.entry].request.output_tokens - order_left(r, f);
}

static void evict_running(struct replica *r, uint32_t i)
{
    const struct finish f = replica_order(r)[i];
    struct entry *e = &r->entries[f.entry];
    e->request.generated_tokens = generated(r, f);
    r->kv_tokens -= prompt_of(e);
    order_remove(r, i);
    queue_push_front(r, f.entry);
}

/* The batch between two steps is one partly done prompt, already at the front of the queue. */
static void evict_batch(struct replica *r)
{
    r->kv_tokens -= r->batch_kv;
    r->batch_kv = 0;
    r->n_batch = 0;
    r->batch_done = 0;
}

static void evict_latest(struct replica *r)
{
    const struct finish *order = replica_order(r);
    const struct replica_request *latest = NULL;
    uint32_t at = 0;
    for (uint32_t i = 0; i < r->n_running; i++) {
        const struct replica_request *request = &r->entries[order[i].entry].request;
        if (!latest || later(request, latest)) {
            latest = request;
            at = i;
        }
    }
    if (r->n_batch && later(&r->entries[r->queue_front].request, latest))
        evict_batch(r);
    else
        evict_running(r, at);
    r->n_evictions++;
}

static bool make_room(struct replica *r)
{
    bool evicted = false;
    while (r->kv_tokens + r->n_running > r->config->kv_capacity_tokens) {
        evict_latest(r);
        evicted = true;
    }
    return evicted;
}

/* Starts, at now, on the first of the requests that came at now. */
static void start_idle(struct replica *r, simtime_ns now)
{
    r->at_ns = now;
    r->at_ps = 0;
    const struct prompt_work work = take_prompts(r, 1);
    start_step(r, &work);
    r->n_late--;
}

/* What follows the boundary at which the replica is, which fires at now. */
static void plan(struct replica *r, simtime_ns now)
{
    const bool evicted = make_room(r);
    const uint32_t waiting = r->n_queue - r->n_batch;
    const uint32_t n_late = r->late_ns == now ? r->n_late : 0;
    const struct prompt_work work = take_prompts(r, evicted ? 0 : waiting - n_late);
    if (work.tokens > 0)
        start_step(r, &work);
    else if (r->n_running > 0)
        start_run(r, now, waiting > 0 && waiting == n_late);
    else if (waiting > 0)
        start_idle(r, now);
    else {
        r->phase = PHASE_IDLE;
        r->next_ns = SIM_NEVER;
    }
}

/* How long the present run or step has lasted, between times as they are reported. */
static simtime_ns elapsed(const struct replica *r, simtime_ns now)
{
    return r->phase == PHASE_IDLE ? 0 : now - boundary_fires(replica_at(r));
}

static void account(struct replica *r, simtime_ns now)
{
    const simtime_ns ns = elapsed(r, now);
    r->request_ns += (u128)ns * (r->n_running + r->n_batch);
    r->busy_ns += ns;
}

static uint64_t whole_kv(const struct replica_request *request)
{
    return (uint64_t)request->prompt_tokens + request->output_tokens;
}

static void finish(struct replica *r, uint32_t entry, simtime_ns now)
{
    r->whole_kv -= whole_kv(&r->entries[entry].request);
    entry_free(r, entry);
    r->events.done(r->events.self, &r->entries[entry].request, now);
}

static void decode(struct replica *r, uint32_t steps)
{
    r->steps_done += steps;
    r->kv_tokens += (uint64_t)steps * r->n_running;
}

static void finish_running(struct replica *r, simtime_ns now)
{
    const struct finish *order = replica_order(r);
    while (r->n_running && order_left(r, r->first) == 0) {
        const uint32_t entry = r->first.entry;
        if (--r->n_running)
            r->first = order[r->n_running - 1];
        r->kv_tokens -= whole_kv(&r->entries[entry].request);
        finish(r, entry, now);
    }
}

/* The prompts of the batch are complete but for a partly done last one: each emits a token. */
static void complete_prompts(struct replica *r, simtime_ns now)
{
    const uint32_t n_partial = r->batch_tail > 0;
    for (; r->n_batch > n_partial; r->n_batch--) {
        const uint32_t entry = queue_pop(r);
        struct entry *e = &r->entries[entry];
        const uint32_t kv = prompt_of(e) + 1;
        const uint32_t left = tokens_left(e) - 1;
        if (e->request.generated_tokens == 0) {
            e->request.first_token_ns = now;
            if (r->events.first_token)
                r->events.first_token(r->events.self, e->request.id, now);
        }
        r->batch_kv -= kv;
        if (left > 0) {
            order_insert(r, entry, left);
        } else {
            r->kv_tokens -= kv;
            finish(r, entry, now);
        }
    }
    r->batch_done = r->batch_tail;
}

enum hr_err replica_advance(struct replica *r, simtime_ns now)
{
    assert(now == r->next_ns && r->phase != PHASE_IDLE);
    account(r, now);
    decode(r, r->run_steps);
    finish_running(r, now);
    complete_prompts(r, now);
    r->at_ns = now - (r->end_ps > 0);
    r->at_ps = r->end_ps;
    r->config += r->shift;
    r->shift = 0;
    plan(r, now);
    return HR_OK;
}

enum hr_err replica_submit(struct replica *r, const struct replica_request *request, simtime_ns now)
{
    assert(request->prompt_tokens >= 1 && request->generated_tokens < request->output_tokens);
    assert(replica_fits(r->config, request->prompt_tokens, request->output_tokens));
    if (r->free_entry == ENTRY_NONE)
        TRY(replica_grow(r));
    const uint32_t entry = entry_take(r);
    r->entries[entry].request = *request;
    r->whole_kv += whole_kv(request);
    queue_push_back(r, entry);
    r->n_late = r->late_ns == now ? r->n_late + 1 : 1;
    r->late_ns = now;
    if (r->phase == PHASE_IDLE) {
        start_idle(r, now);
    } else if (r->phase == PHASE_DECODE && r->n_queue == 1) {
        uint32_t k = join_step(r, now, r->run_steps);
        if (k < r->run_steps)
            run_until(r, k);
    }
    return HR_OK;
}

void replica_change(struct replica *r, const struct replica_config *config, simtime_ns now)
{
    assert(r->next_ns > now);
    r->shift = (int16_t)(config - r->config);
    if (r->phase == PHASE_IDLE) {
        r->config = config;
        r->shift = 0;
    } else if (r->phase == PHASE_DECODE && r->shift != 0) {
        uint32_t k = run_first_after(&r->run, boundary_until(replica_at(r), now), r->run_steps);
        if (k < r->run_steps)
            run_until(r, k);
    }
}

void replica_run_to(struct replica *r, simtime_ns t)
{
    while (r->next_ns < t)
        (void)replica_advance(r, r->next_ns);
}

static int by_arrival(const void *a, const void *b)
{
    return later(a, b) - later(b, a);
}

size_t replica_take_all(struct replica *r, simtime_ns now, struct replica_request *out)
{
    replica_run_to(r, now);
    const struct finish *order = replica_order(r);
    account(r, now);
    if (r->phase == PHASE_DECODE)
        decode(r, run_first_after(&r->run, boundary_until(replica_at(r), now), r->run_steps) - 1);
    size_t n = 0;
    for (uint32_t i = 0; i < r->n_running; i++) {
        out[n] = r->entries[order[i].entry].request;
        out[n++].generated_tokens = generated(r, order[i]);
    }
    for (uint32_t i = 0, entry = r->queue_front; i < r->n_queue; i++) {
        out[n++] = r->entries[entry].request;
        entry = r->entries[entry].next;
    }
    if (n > 1)
        qsort(out, n, sizeof *out, by_arrival);
    replica_clear(r);
    r->config += r->shift;
    r->shift = 0;
    r->phase = PHASE_IDLE;
    r->next_ns = SIM_NEVER;
    return n;
}

bool replica_valid(const struct replica_config *config)
{
    const struct step_time *s = &config->step;
    return s->a_ps <= MAX_STEP_PS && s->d_ps <= MAX_STEP_PS && s->floor_ps <= MAX_STEP_PS &&
           s->b_ps <= MAX_REQUEST_PS && s->e_ps <= MAX_REQUEST_PS && s->c_ps <= MAX_CONTEXT_PS &&
           s->f_fs <= MAX_SQUARE_FS && config->kv_capacity_tokens <= MAX_KV_TOKENS &&
           config->max_num_seqs >= 1 && config->max_num_seqs <= MAX_REQUESTS &&
           config->max_batched_tokens >= 1;
}

static void prefetch_entry(const struct entry *e)
{
    __builtin_prefetch(e);
    __builtin_prefetch((const char *)(e + 1) - 1);
}

void replica_prefetch(const struct replica *r)
{
    if (r->free_entry != ENTRY_NONE)
        prefetch_entry(&r->entries[r->free_entry]);
    if (r->n_queue)
        prefetch_entry(&r->entries[r->queue_front]);
    if (r->n_running) {
        prefetch_entry(&r->entries[r->first.entry]);
        __builtin_prefetch(replica_order(r) + r->n_running - 1);
    }
}

static_assert(sizeof(struct replica) == REPLICA_BYTES, "three cache lines, 64-byte aligned");

struct replica *replica_init(void *memory, const struct replica_config *config,
                             const struct replica_events *events)
{
    assert(replica_valid(config));
    struct replica *r = memory;
    *r = (struct replica){.config = config,
                          .events = *events,
                          .next_ns = SIM_NEVER,
                          .queue_front = ENTRY_NONE,
                          .late_ns = SIM_NEVER};
    return replica_open(r) ? r : NULL;
}

void replica_fini(struct replica *r)
{
    free(r->entries);
}

struct replica *replica_new(const struct replica_config *config,
                            const struct replica_events *events)
{
    void *memory = aligned_alloc(64, REPLICA_BYTES);
    struct replica *r = memory ? replica_init(memory, config, events) : NULL;
    if (!r)
        free(memory);
    return r;
}

void replica_free(struct replica *r)
{
    if (!r)
        return;
    replica_fini(r);
    free(r);
}

bool replica_fits(const struct replica_config *config, uint32_t prompt, uint32_t output)
{
    return (uint64_t)prompt + output <= config->kv_capacity_tokens;
}

simtime_ns replica_next(const struct replica *r)
{
    return r->next_ns;
}

uint32_t replica_count(const struct replica *r)
{
    return r->n_running + r->n_queue;
}

uint32_t replica_running(const struct replica *r)
{
    return r->n_running + r->n_batch;
}

uint64_t replica_evictions(const struct replica *r)
{
    return r->n_evictions;
}

void replica_batch(const struct replica *r, simtime_ns now, u128 *request_ns, uint64_t *busy_ns)
{
    const simtime_ns ns = elapsed(r, now);
    *request_ns = r->request_ns + (u128)ns * replica_running(r);
    *busy_ns = r->busy_ns + ns;
}
