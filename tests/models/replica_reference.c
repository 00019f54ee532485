/* The one-iteration-at-a-time replica. Written from the rules, sharing nothing with the code it
 * judges: two plain lists, and every quantity summed over them whenever it is needed. */
#include "replica_reference.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct item {
    struct replica_request request;
    simtime_ns submitted_ns;
    uint64_t prompt_length; /* to be computed: prompt and what had been generated at admission */
    uint64_t prompt_ready;  /* computed so far */
    uint64_t chunk;         /* being computed in the present step */
    bool evicted;
};

struct list {
    struct item *items;
    size_t n, capacity;
};

struct ref {
    struct replica_config config;
    struct replica_events events;
    struct list waiting; /* in the order they are to be admitted */
    struct list inside;  /* hold KV, in the order they were admitted */
    bool busy;
    bool decodes; /* the present step carries the decoding requests */
    u128 start_ps, end_ps;
    u128 request_ns;
    uint64_t busy_ns;
    struct ref_counts counts;
};

static void list_insert(struct list *l, size_t at, struct item item)
{
    if (l->n == l->capacity) {
        l->capacity = l->capacity ? 2 * l->capacity : 8;
        l->items = realloc(l->items, l->capacity * sizeof *l->items);
        assert(l->items);
    }
    memmove(l->items + at + 1, l->items + at, (l->n - at) * sizeof *l->items);
    l->items[at] = item;
    l->n++;
}

static struct item list_remove(struct list *l, size_t at)
{
    struct item item = l->items[at];
    l->n--;
    memmove(l->items + at, l->items + at + 1, (l->n - at) * sizeof *l->items);
    return item;
}

static simtime_ns rounded_up(u128 ps)
{
    return (simtime_ns)((ps + 999) / 1000);
}

static bool is_decoding(const struct item *i)
{
    return i->prompt_ready == i->prompt_length;
}

static uint64_t n_decoding(const struct ref *r)
{
    uint64_t n = 0;
    for (size_t i = 0; i < r->inside.n; i++)
        n += is_decoding(&r->inside.items[i]);
    return n;
}

/* Tokens of KV: a decoding request holds its prompt and all it has generated, one whose prompt is
 * not complete holds from admission all that it will hold when its token comes. */
static uint64_t kv_of(const struct item *i)
{
    if (is_decoding(i))
        return (uint64_t)i->request.prompt_tokens + i->request.generated_tokens;
    return i->prompt_length + 1;
}

static uint64_t kv_used(const struct ref *r)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < r->inside.n; i++)
        sum += kv_of(&r->inside.items[i]);
    return sum;
}

static uint64_t kv_decoding(const struct ref *r)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < r->inside.n; i++)
        if (is_decoding(&r->inside.items[i]))
            sum += kv_of(&r->inside.items[i]);
    return sum;
}

static bool came_after(const struct replica_request *a, const struct replica_request *b)
{
    if (a->arrival_ns == b->arrival_ns)
        return a->id > b->id;
    return a->arrival_ns > b->arrival_ns;
}

static uint64_t evict(struct ref *r)
{
    uint64_t n = 0;
    while (kv_used(r) + n_decoding(r) > r->config.kv_capacity_tokens) {
        size_t victim = 0;
        for (size_t i = 1; i < r->inside.n; i++)
            if (came_after(&r->inside.items[i].request, &r->inside.items[victim].request))
                victim = i;
        struct item item = list_remove(&r->inside, victim);
        r->counts.partial_evicted += !is_decoding(&item);
        item.evicted = true;
        list_insert(&r->waiting, 0, item);
        n++;
    }
    r->counts.evictions += n;
    r->counts.several_evicted += n > 1;
    return n;
}

/* The head of the waiting list goes in if it may; what it waits for otherwise is counted. */
static bool may_enter(struct ref *r, const struct item *head, u128 at_ps, bool starts_idle)
{
    const uint64_t holding = r->inside.n;
    if (!starts_idle && !head->evicted && (u128)head->submitted_ns * 1000 >= at_ps) {
        r->counts.at_boundary += (u128)head->submitted_ns * 1000 == at_ps;
        return false;
    }
    const uint64_t prompt = head->request.prompt_tokens + head->request.generated_tokens;
    const bool fits = kv_used(r) + prompt + 1 + (holding + 1) <= r->config.kv_capacity_tokens;
    if (holding == 0) {
        r->counts.admitted_alone += !fits;
        return true;
    }
    if (holding >= r->config.max_num_seqs) {
        r->counts.blocked_seqs++;
        return false;
    }
    r->counts.blocked_kv += !fits;
    return fits;
}

static void enter(struct ref *r)
{
    struct item item = list_remove(&r->waiting, 0);
    item.prompt_length = item.request.prompt_tokens + item.request.generated_tokens;
    item.prompt_ready = 0;
    item.chunk = 0;
    list_insert(&r->inside, r->inside.n, item);
}

/* Prefill priority: whole prompts, first come, within the budget but for the first. */
static void choose_whole_prompts(struct ref *r, u128 at_ps, bool starts_idle)
{
    uint64_t tokens = 0;
    while (r->waiting.n > 0) {
        const struct item *head = &r->waiting.items[0];
        uint64_t prompt = head->request.prompt_tokens + head->request.generated_tokens;
        if (!may_enter(r, head, at_ps, starts_idle))
            break;
        if (tokens > 0 && tokens + prompt > r->config.max_batched_tokens) {
            r->counts.blocked_budget++;
            break;
        }
        enter(r);
        r->inside.items[r->inside.n - 1].chunk = prompt;
        tokens += prompt;
        if (starts_idle)
            break;
    }
}

static uint64_t cut_chunk(struct ref *r, struct item *i, uint64_t budget)
{
    const uint64_t rest = i->prompt_length - i->prompt_ready;
    i->chunk = rest < budget ? rest : budget;
    r->counts.partial_prompts += i->chunk < rest;
    return budget - i->chunk;
}

/* Chunked: oldest first, what is inside before what waits, as far as the budget goes. */
static void choose_chunks(struct ref *r, u128 at_ps, bool admit, bool starts_idle)
{
    const uint64_t n = n_decoding(r), max = r->config.max_batched_tokens;
    uint64_t budget = n < max ? max - n : 0;
    for (size_t i = 0; i < r->inside.n; i++)
        if (!is_decoding(&r->inside.items[i]))
            budget = cut_chunk(r, &r->inside.items[i], budget);
    while (admit && r->waiting.n > 0) {
        if (budget == 0) {
            r->counts.blocked_budget++;
            break;
        }
        if (!may_enter(r, &r->waiting.items[0], at_ps, starts_idle))
            break;
        enter(r);
        budget = cut_chunk(r, &r->inside.items[r->inside.n - 1], budget);
        if (starts_idle)
            break;
    }
}

static u128 duration_ps(struct ref *r)
{
    const struct step_time *s = &r->config.step;
    const bool chunked = r->config.prefill == PREFILL_CHUNKED;
    u128 n = n_decoding(r), context = kv_decoding(r), tokens = 0, square = 0;
    for (size_t i = 0; i < r->inside.n; i++) {
        const struct item *p = &r->inside.items[i];
        u128 before = p->prompt_ready, after = p->prompt_ready + p->chunk;
        tokens += after - before;
        square += after * after - before * before;
    }
    u128 square_ps = (s->f_fs * square + 500) / 1000;
    r->counts.steps++;
    if (tokens == 0)
        return s->a_ps + s->b_ps * n + s->c_ps * context;
    r->counts.prompt_steps++;
    if (chunked && n > 0) {
        r->counts.mixed_steps++;
        return s->a_ps + s->b_ps * n + s->c_ps * context + s->e_ps * tokens + square_ps;
    }
    u128 time = s->d_ps + s->e_ps * tokens + square_ps;
    r->counts.floor_steps += time < s->floor_ps;
    return time < s->floor_ps ? s->floor_ps : time;
}

/* The step that starts at at_ps; leaves the replica idle when there is nothing to do. */
static void begin(struct ref *r, u128 at_ps, bool starts_idle)
{
    const bool chunked = r->config.prefill == PREFILL_CHUNKED;
    const bool admit = evict(r) == 0;
    for (size_t i = 0; i < r->inside.n; i++)
        r->inside.items[i].chunk = 0;
    if (chunked)
        choose_chunks(r, at_ps, admit, starts_idle);
    else if (admit)
        choose_whole_prompts(r, at_ps, starts_idle);
    bool prompts = false;
    for (size_t i = 0; i < r->inside.n; i++)
        prompts |= r->inside.items[i].chunk > 0;
    r->busy = r->inside.n > 0;
    if (!r->busy)
        return;
    r->decodes = chunked || !prompts;
    r->start_ps = at_ps;
    r->end_ps = at_ps + duration_ps(r);
}

static void start_from_idle(struct ref *r, simtime_ns now)
{
    r->counts.idle_starts++;
    begin(r, (u128)now * 1000, true);
}

static void book_time(struct ref *r)
{
    const simtime_ns length = rounded_up(r->end_ps) - rounded_up(r->start_ps);
    r->busy_ns += length;
    r->request_ns += (u128)length * r->inside.n;
}

static void end_decode(struct ref *r, simtime_ns at)
{
    uint64_t finished = 0;
    for (size_t i = 0; i < r->inside.n;) {
        struct item *p = &r->inside.items[i];
        if (is_decoding(p) && ++p->request.generated_tokens == p->request.output_tokens) {
            r->events.done(r->events.self, &p->request, at);
            list_remove(&r->inside, i);
            finished++;
        } else {
            i++;
        }
    }
    r->counts.together += finished > 1 ? finished - 1 : 0;
}

static void end_prompts(struct ref *r, simtime_ns at)
{
    for (size_t i = 0; i < r->inside.n;) {
        struct item *p = &r->inside.items[i];
        const bool was_decoding = is_decoding(p);
        p->prompt_ready += p->chunk;
        p->chunk = 0;
        i++;
        if (was_decoding || !is_decoding(p))
            continue;
        if (p->request.generated_tokens == 0) {
            p->request.first_token_ns = at;
            r->events.first_token(r->events.self, p->request.id, at);
        }
        if (++p->request.generated_tokens == p->request.output_tokens) {
            r->events.done(r->events.self, &p->request, at);
            list_remove(&r->inside, --i);
            r->counts.one_token++;
        }
    }
}

static void step(struct ref *r)
{
    const simtime_ns at = rounded_up(r->end_ps);
    book_time(r);
    if (r->decodes)
        end_decode(r, at);
    end_prompts(r, at);
    begin(r, r->end_ps, false);
    if (!r->busy && r->waiting.n > 0) /* it came while this step's end was being rounded up */
        start_from_idle(r, r->waiting.items[0].submitted_ns);
}

struct ref *ref_new(const struct replica_config *config, const struct replica_events *events)
{
    struct ref *r = calloc(1, sizeof *r);
    assert(r);
    r->config = *config;
    r->events = *events;
    return r;
}

void ref_free(struct ref *r)
{
    free(r->waiting.items);
    free(r->inside.items);
    free(r);
}

void ref_submit(struct ref *r, const struct replica_request *request, simtime_ns now)
{
    list_insert(&r->waiting, r->waiting.n, (struct item){.request = *request, .submitted_ns = now});
    if (!r->busy)
        start_from_idle(r, now);
}

void ref_run_to(struct ref *r, simtime_ns t)
{
    while (r->busy && rounded_up(r->end_ps) <= t)
        step(r);
}

simtime_ns ref_next(const struct ref *r)
{
    return r->busy ? rounded_up(r->end_ps) : SIM_NEVER;
}

static int arrival_order(const void *a, const void *b)
{
    return came_after(a, b) ? 1 : -1;
}

size_t ref_take_all(struct ref *r, simtime_ns now, struct replica_request *out)
{
    size_t n = 0;
    if (r->busy) {
        r->busy_ns += now - rounded_up(r->start_ps);
        r->request_ns += (u128)(now - rounded_up(r->start_ps)) * r->inside.n;
    }
    for (size_t i = 0; i < r->inside.n; i++)
        out[n++] = r->inside.items[i].request;
    for (size_t i = 0; i < r->waiting.n; i++)
        out[n++] = r->waiting.items[i].request;
    qsort(out, n, sizeof *out, arrival_order);
    r->inside.n = r->waiting.n = 0;
    r->busy = false;
    return n;
}

size_t ref_count(const struct ref *r)
{
    return r->inside.n + r->waiting.n;
}

void ref_batch(const struct ref *r, simtime_ns now, u128 *request_ns, uint64_t *busy_ns)
{
    const simtime_ns more = r->busy ? now - rounded_up(r->start_ps) : 0;
    *request_ns = r->request_ns + (u128)more * r->inside.n;
    *busy_ns = r->busy_ns + more;
}

const struct ref_counts *ref_counts(const struct ref *r)
{
    return &r->counts;
}
