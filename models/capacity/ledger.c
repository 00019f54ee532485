/* Accounts of share-nanoseconds.
 *
 * An account knows how many shares it holds and up to when it has been booked. Shares of an account
 * are constant between moves, so booking is lazy: a move books its two accounts up to now and then
 * changes their counts, everything else waits for ledger_settle. Each booked span is clipped to the
 * measured part and added to the total (128 bits) and to the timeline windows it crosses; a window
 * cannot overflow 64 bits (8,000 shares for 26 days fit). Most spans lie inside the window of the
 * span before, so its bounds are kept and a move costs no division.
 *
 * Invariants: the present shares of all accounts sum to the capacity; total == sum of windows for
 * each account; after settling, the totals sum to capacity * measured time. */
#include "models/capacity/ledger.h"

#include <assert.h>
#include <stdlib.h>

#define NAME_ENTRY(code, name, doc) name,
const char *const gpu_state_names[GPU_STATES] = {GPU_STATE_LIST(NAME_ENTRY)};
#undef NAME_ENTRY
#define DOC_ENTRY(code, name, doc) doc,
const char *const gpu_state_docs[GPU_STATES] = {GPU_STATE_LIST(DOC_ENTRY)};
#undef DOC_ENTRY

struct account {
    uint64_t shares;
    simtime_ns booked_to;
    u128 total; /* share-ns in the measured part */
};

struct ledger {
    uint64_t capacity; /* shares in all */
    simtime_ns start, end, window_ns;
    simtime_ns now; /* of the last move or settlement */
    /* the window of the last booked span */
    size_t w;
    simtime_ns w_start, w_end;
    size_t n_accounts, n_windows;
    struct account *accounts; /* owned */
    uint64_t *windows;        /* owned; share-ns [n_windows][n_accounts] */
};

static size_t account_ix(const struct ledger *l, uint32_t owner, enum gpu_state s)
{
    size_t a = (size_t)owner * GPU_STATES + s;
    assert(s < GPU_STATES && a < l->n_accounts);
    return a;
}

struct ledger *ledger_new(uint32_t n_owners, uint64_t shares, simtime_ns start, simtime_ns end,
                          simtime_ns window_ns)
{
    assert(n_owners > 0 && window_ns > 0 && start <= end);
    struct ledger *l = calloc(1, sizeof *l);
    if (!l)
        return NULL;
    *l = (struct ledger){
        .capacity = shares,
        .start = start,
        .end = end,
        .window_ns = window_ns,
        .w_start = start,
        .w_end = sim_time_add(start, window_ns),
        .n_accounts = (size_t)n_owners * GPU_STATES,
        .n_windows = (end - start) / window_ns + ((end - start) % window_ns != 0),
    };
    l->accounts = calloc(l->n_accounts, sizeof *l->accounts);
    if (l->n_windows <= SIZE_MAX / l->n_accounts)
        l->windows = calloc(l->n_windows * l->n_accounts + 1, sizeof *l->windows);
    if (!l->accounts || !l->windows) {
        ledger_free(l);
        return NULL;
    }
    l->accounts[account_ix(l, LEDGER_NOBODY, GPU_FREE)].shares = shares;
    return l;
}

void ledger_free(struct ledger *l)
{
    if (!l)
        return;
    free(l->accounts);
    free(l->windows);
    free(l);
}

/* The part of [*t0, *t1) that is measured; false when there is none. */
static bool clip(const struct ledger *l, simtime_ns *t0, simtime_ns *t1)
{
    if (*t0 < l->start)
        *t0 = l->start;
    if (*t1 > l->end)
        *t1 = l->end;
    return *t0 < *t1;
}

/* Makes t's window the current one. */
static void window_seek(struct ledger *l, simtime_ns t)
{
    if (t >= l->w_start && t < l->w_end)
        return;
    l->w = (t - l->start) / l->window_ns;
    l->w_start = l->start + l->w * l->window_ns;
    l->w_end = sim_time_add(l->w_start, l->window_ns);
}

enum sign { ADD, SUBTRACT };

/* Adds or subtracts shares over a clipped span, in the total and in each window it crosses. */
static void book(struct ledger *l, size_t a, uint64_t shares, simtime_ns t0, simtime_ns t1,
                 enum sign sign)
{
    u128 all = (u128)shares * (t1 - t0);
    assert(sign == ADD || l->accounts[a].total >= all);
    l->accounts[a].total += sign == ADD ? all : -all;
    while (t0 < t1) {
        window_seek(l, t0);
        simtime_ns stop = t1 < l->w_end ? t1 : l->w_end;
        uint64_t part = shares * (stop - t0);
        uint64_t *window = &l->windows[l->w * l->n_accounts + a];
        assert(sign == ADD || *window >= part);
        *window += sign == ADD ? part : -part;
        t0 = stop;
    }
}

static void accrue(struct ledger *l, size_t a, simtime_ns now)
{
    struct account *x = &l->accounts[a];
    simtime_ns t0 = x->booked_to, t1 = now;
    x->booked_to = now;
    if (x->shares && clip(l, &t0, &t1))
        book(l, a, x->shares, t0, t1, ADD);
}

void ledger_move(struct ledger *l, simtime_ns now, uint32_t from_owner, enum gpu_state from,
                 uint32_t to_owner, enum gpu_state to, uint64_t shares)
{
    size_t a = account_ix(l, from_owner, from), b = account_ix(l, to_owner, to);
    assert(now >= l->now && l->accounts[a].shares >= shares);
    l->now = now;
    accrue(l, a, now);
    accrue(l, b, now);
    l->accounts[a].shares -= shares;
    l->accounts[b].shares += shares;
}

void ledger_rebook(struct ledger *l, uint32_t owner, enum gpu_state from, enum gpu_state to,
                   uint64_t shares, simtime_ns t0, simtime_ns t1)
{
    size_t a = account_ix(l, owner, from), b = account_ix(l, owner, to);
    assert(t0 <= t1 && t1 <= l->accounts[a].booked_to);
    if (!clip(l, &t0, &t1))
        return;
    book(l, a, shares, t0, t1, SUBTRACT);
    book(l, b, shares, t0, t1, ADD);
}

void ledger_settle(struct ledger *l, simtime_ns now)
{
    assert(now >= l->now);
    l->now = now;
    for (size_t a = 0; a < l->n_accounts; a++)
        accrue(l, a, now);
}

uint64_t ledger_shares(const struct ledger *l, uint32_t owner, enum gpu_state s)
{
    return l->accounts[account_ix(l, owner, s)].shares;
}

u128 ledger_total(const struct ledger *l, uint32_t owner, enum gpu_state s)
{
    return l->accounts[account_ix(l, owner, s)].total;
}

bool ledger_conserves(struct ledger *l, simtime_ns now)
{
    ledger_settle(l, now);
    u128 total = 0;
    uint64_t shares = 0;
    for (size_t a = 0; a < l->n_accounts; a++) {
        total += l->accounts[a].total;
        shares += l->accounts[a].shares;
    }
    simtime_ns t0 = 0, t1 = now;
    simtime_ns measured = clip(l, &t0, &t1) ? t1 - t0 : 0;
    return shares == l->capacity && total == (u128)l->capacity * measured;
}

size_t ledger_windows(const struct ledger *l)
{
    return l->n_windows;
}

uint64_t ledger_window(const struct ledger *l, size_t w, uint32_t owner, enum gpu_state s)
{
    assert(w < l->n_windows);
    return l->windows[w * l->n_accounts + account_ix(l, owner, s)];
}
