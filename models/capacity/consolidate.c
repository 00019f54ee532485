/* Consolidating reclaim: GPUs enough are free, but on the wrong nodes, so small leases move.
 *
 * A start within one node that finds its GPUs by count but not by shape (GRANT_SHAPE) takes the
 * node from which fewest leases have to go, then fewest GPUs, ties: lower node, then lower lease
 * numbers among the largest. Leases may move that are preemptible, within that node, of at most the
 * priority of the start, and all of which fit at once into what is free on other nodes, each into
 * one node. They are evicted like victims and restart from their queue at their old place; nothing
 * keeps the room elsewhere for them. Nobody's quota is touched: what moves comes back.
 *
 * The search is exact up to MOST movable leases a node (the largest ones) and TRIES sets a node and
 * ways to pack one. It is only made when no node's free and incoming GPUs will do. */
#include "models/capacity/fleet_internal.h"

#include <string.h>

enum { MOST = 16, TRIES = 4096 };

struct search {
    struct fleet *f;
    uint32_t node, need;                   /* GPUs that have to come free there */
    uint32_t elsewhere[NODE_MAX_GPUS + 1]; /* nodes by free GPUs, without this one */
    uint32_t movers[MOST], n;              /* candidates, the largest first */
    uint32_t set[MOST];                    /* of movers, the set under trial */
    uint32_t moves;                        /* how many it is to have */
    uint32_t tries;                        /* left */
    uint32_t best_moves, best_gpus;        /* best_moves 0: none yet */
};

static const struct candidate *mover(const struct search *s, uint32_t i)
{
    return &s->f->victims.candidates[s->movers[i]];
}

/* Whether set[from..moves) fits into the free GPUs elsewhere, the fullest nodes first. */
static bool packs(struct search *s, uint32_t from)
{
    if (from == s->moves)
        return true;
    uint32_t gpus = mover(s, s->set[from])->gpus;
    for (uint32_t b = gpus; b <= s->f->nodes.largest && s->tries > 0; b++) {
        if (s->elsewhere[b] == 0)
            continue;
        s->tries--;
        s->elsewhere[b]--;
        s->elsewhere[b - gpus]++;
        bool fits = packs(s, from + 1);
        s->elsewhere[b - gpus]--;
        s->elsewhere[b]++;
        if (fits)
            return true;
    }
    return false;
}

static void remember(struct search *s, uint32_t gpus)
{
    struct victims *v = &s->f->victims;
    s->best_moves = s->moves;
    s->best_gpus = gpus;
    v->node = s->node;
    v->n_chosen = s->moves;
    for (uint32_t i = 0; i < s->moves; i++)
        v->chosen[i] = s->movers[s->set[i]];
}

/* Fills set[n..moves) from the movers at and after at. */
static void try_sets(struct search *s, uint32_t n, uint32_t at, uint32_t gpus)
{
    bool better = s->best_moves == 0 || s->moves < s->best_moves || gpus < s->best_gpus;
    if (s->tries == 0 || !better)
        return;
    if (n == s->moves) {
        s->tries--;
        if (gpus >= s->need && packs(s, 0))
            remember(s, gpus);
        return;
    }
    uint32_t left = s->moves - n;
    for (uint32_t i = at; i + left <= s->n; i++) {
        if (gpus + left * mover(s, i)->gpus < s->need)
            return; /* nor with smaller ones */
        s->set[n] = i;
        try_sets(s, n + 1, i + 1, gpus + mover(s, i)->gpus);
    }
}

/* Enters a candidate among the movers, the largest first, then by lease number. */
static void enter(struct search *s, uint32_t candidate)
{
    const struct candidate *c = &s->f->victims.candidates[candidate];
    uint32_t at = s->n < MOST ? s->n++ : MOST;
    for (; at > 0; at--) {
        const struct candidate *b = mover(s, at - 1);
        if (b->gpus > c->gpus || (b->gpus == c->gpus && b->id < c->id))
            break;
        if (at < MOST)
            s->movers[at] = s->movers[at - 1];
    }
    if (at < MOST)
        s->movers[at] = candidate;
}

static void search_node(struct search *s, uint32_t node, uint32_t gpus)
{
    const struct nodes *ns = &s->f->nodes;
    const struct victims *v = &s->f->victims;
    s->node = node;
    s->need = gpus - ns->free_count[node];
    s->n = 0;
    s->tries = TRIES;
    memcpy(s->elsewhere, ns->nodes_with, sizeof s->elsewhere);
    s->elsewhere[ns->free_count[node]]--;
    uint32_t largest = ns->largest;
    while (largest > 0 && s->elsewhere[largest] == 0)
        largest--;
    for (uint32_t i = v->first_on_node[node]; i != NONE; i = v->on_node[i].next)
        if (v->on_node[i].gain <= largest)
            enter(s, v->on_node[i].candidate);
    uint32_t most = s->best_moves == 0 || s->best_moves > s->n ? s->n : s->best_moves;
    for (s->moves = 1; s->moves <= most; s->moves++) {
        try_sets(s, 0, 0, 0);
        if (s->best_moves == s->moves)
            return;
    }
}

/* The leases that may move, listed by node. */
static void collect_movers(struct fleet *f, const struct taking *t)
{
    struct victims *v = &f->victims;
    v->n = 0;
    for (uint32_t node = 0; node < f->nodes.n; node++)
        v->first_on_node[node] = NONE;
    for (uint32_t i = 0; i < f->claimants.n; i++) {
        uint32_t s = f->claimants.items[i].first_held;
        for (; s != NONE; s = f->leases.items[s].next) {
            const struct lease *l = &f->leases.items[s];
            if (l->priority > t->priority || l->gpus >= t->gpus || l->parts.n != 1 ||
                node_closed(f, l->parts.items[0].node) || !victims_candidate(f, s, t, v->n))
                continue;
            uint32_t node = l->parts.items[0].node;
            v->on_node[v->n] =
                (struct pick){.candidate = v->n, .gain = l->gpus, .next = v->first_on_node[node]};
            v->first_on_node[node] = v->n++;
        }
    }
}

bool consolidate_choose(struct fleet *f, const struct taking *t, const struct shape *shape)
{
    struct search s = {.f = f};
    f->victims.n_chosen = 0;
    if (!nodes_one_node(&f->nodes, shape))
        return false;
    for (uint32_t node = 0; node < f->nodes.n; node++)
        if (f->nodes.free_count[node] + claims_unclaimed(f, node) >= shape->gpus)
            return false;
    collect_movers(f, t);
    for (uint32_t node = 0; node < f->nodes.n; node++)
        if (f->nodes.size[node] >= shape->gpus && !node_closed(f, node))
            search_node(&s, node, shape->gpus);
    return s.best_moves > 0;
}
