/* Which leases to evict so that a start finds its GPUs.
 *
 * Candidates are the held leases that the start may take (taking.c), those that are not preemptible
 * left out, in the order of the rule (rule.c, which also says what a set of them costs).
 *
 * A set of victims is built greedily in that order until what it gains suffices and no ceiling is
 * in the way, testing before each whether its claimant still borrows; then walked in reverse,
 * putting back those that turned out unnecessary (Kueue does the same). Rules whose cost is a sum
 * over the victims take the cheapest set of all where that is small: by dynamic programming over
 * the GPUs gained (at most SMALL candidates and SMALL GPUs), and where quota does not permit that
 * one by looking at every set (at most FEW candidates). Only beyond these they are greedy; then
 * they and youngest also try each single victim that suffices. Within one node a victim gains its
 * GPUs on that node, and each node's sets compete; over many nodes a victim gains all of its GPUs,
 * and any GPUs will do (placement: SHAPE_ANY, or SHAPE_PREFER_WHOLE larger than a node). Where
 * whole nodes are a must (SHAPE_WHOLE_NODES, SHAPE_ONE_LEAF) the sets of each leaf group compete,
 * greedy ones and single victims, and a set suffices when its nodes come together (block.c). The
 * cheapest set wins. Where a ceiling is in the way that leases on other nodes are under, too, these
 * also count.
 *
 * Where free and incoming unclaimed GPUs suffice, nobody is evicted: best fit among such nodes.
 * So on a node of eight GPUs the sums are always least; over many nodes, beyond SMALL candidates,
 * greedy is exact for gangs of one size.
 *
 * Slices: victims_slice.c.
 *
 * Cost: one look at each lease of the claimants in question, and a sort of them, by node where the
 * shape is within one. It is only paid when their GPUs could suffice in all. */
#include "models/capacity/slices.h"
#include "models/capacity/victims_internal.h"
#include "sim/vec.h"

#include <gsl/gsl_heapsort.h>

enum { SMALL = 64, FEW = 8 };

enum hr_err victims_init(struct fleet *f)
{
    struct victims *v = &f->victims;
    size_t n = f->nodes.n_gpus;
    v->candidates = arena_array(&f->arena, n, sizeof *v->candidates);
    v->order = arena_array(&f->arena, n, sizeof *v->order);
    v->on_node = arena_array(&f->arena, n, sizeof *v->on_node);
    v->first_on_node = arena_array(&f->arena, f->nodes.n, sizeof *v->first_on_node);
    v->picks = arena_array(&f->arena, n, sizeof *v->picks);
    v->trial = arena_array(&f->arena, n, sizeof *v->trial);
    v->chosen = arena_array(&f->arena, n, sizeof *v->chosen);
    if (f->nodes.slices) {
        uint32_t gpus = slices_gpus(&f->nodes);
        v->first_on_gpu = arena_array(&f->arena, gpus, sizeof *v->first_on_gpu);
        v->after = arena_array(&f->arena, gpus, sizeof *v->after);
        f->first_clearing = arena_array(&f->arena, gpus, sizeof *f->first_clearing);
        if (!v->first_on_gpu || !v->after || !f->first_clearing)
            return HR_NOMEM;
        for (uint32_t gpu = 0; gpu < gpus; gpu++)
            f->first_clearing[gpu] = NONE;
    }
    bool all = v->candidates && v->order && v->on_node && v->first_on_node && v->picks &&
               v->trial && v->chosen;
    return all ? HR_OK : HR_NOMEM;
}

/* ---- candidates ---- */

/* Whom the start may take from; GPUs that they hold: no set can gain more. */
static uint64_t see_borrowers(const struct need *n)
{
    struct fleet *f = n->f;
    uint64_t gpus = 0, borrowed = 0;
    for (uint32_t i = 0; i < f->claimants.n; i++) {
        const struct quota_node *q = &f->tree.items[quota_node(f, i)];
        struct borrower *b = &f->victims.of.items[i];
        b->live = taking_from(f, n->taking, i, &b->terms);
        b->relieves = !n->under && taking_shares_ceiling(f, n->taking, i);
        b->borrowed =
            b->live && q->n[QUOTA_STANDING] > q->nominal ? q->n[QUOTA_STANDING] - q->nominal : 0;
        b->share = b->borrowed / q->weight;
        gpus += b->live ? f->claimants.items[i].held : 0;
        borrowed += b->borrowed;
    }
    f->victims.borrowed = borrowed;
    return gpus;
}

/* GPUs of a lease on open nodes. */
static uint32_t open_gpus(const struct fleet *f, const struct lease *l)
{
    if (f->n_closed == 0)
        return l->gpus;
    uint32_t gpus = 0;
    for (size_t i = 0; i < l->parts.n; i++)
        if (!node_closed(f, l->parts.items[i].node))
            gpus += mask_count(l->parts.items[i].mask);
    return gpus;
}

/* Evicted a moment ago for a start of at least this priority: not again, or two could evict each
 * other for ever without time passing. */
static bool spared(const struct fleet *f, const struct lease *l, int32_t priority)
{
    simtime_ns now = fleet_now(f);
    if (f->recent.n == 0 || l->id < f->recent.items[0].next || l->since + MOMENT_NS < now)
        return false;
    for (size_t i = f->recent.n; i-- > 0 && f->recent.items[i].at_ns + MOMENT_NS >= now;) {
        const struct eviction *e = &f->recent.items[i];
        if (l->id >= e->next && e->claimant == l->claimant && e->tag == l->tag &&
            priority <= e->priority)
            return true;
    }
    return false;
}

/* Within its guard. When that is over there is a pass, for whoever would have evicted it. */
static bool guarded(struct fleet *f, const struct lease *l, int32_t priority)
{
    simtime_ns until = sim_time_add(l->since, l->guard_ns);
    if (fleet_now(f) >= until || priority > l->priority)
        return false;
    fleet_want_pass_at(f, until);
    return true;
}

bool victims_candidate(struct fleet *f, uint32_t slot, const struct taking *t, uint32_t to)
{
    const struct lease *l = &f->leases.items[slot];
    const struct claimant_ops *ops = &f->claimants.items[l->claimant].ops;
    struct candidate c = {
        .since = l->since,
        .id = l->id,
        .priority = l->priority,
        .own = l->claimant == t->claimant,
        .slot = slot,
        .claimant = l->claimant,
        .gpus = l->gpus,
        .whole = l->gpus + l->extended,
        .extends = l->base != LEASE_NONE,
        .gain = open_gpus(f, l),
    };
    if (c.gain == 0)
        return false;
    if (ops->keeps && ops->keeps(ops->self, l->id, fleet_now(f)))
        return false;
    if (guarded(f, l, t->priority) || spared(f, l, t->priority)) {
        f->churn.spared++;
        return false;
    }
    if (rule_by_loss(f->plan.victims) && ops->loss)
        c.loss = ops->loss(ops->self, l->id, fleet_now(f));
    f->victims.candidates[to] = c;
    return true;
}

static void collect(const struct need *n)
{
    struct fleet *f = n->f;
    struct victims *v = &f->victims;
    v->n = 0;
    for (uint32_t i = 0; i < f->claimants.n; i++) {
        if (!v->of.items[i].live)
            continue;
        for (uint32_t s = f->claimants.items[i].first_held; s != NONE; s = f->leases.items[s].next)
            if (taking_covers(&v->of.items[i].terms, &f->leases.items[s]))
                v->n += victims_candidate(f, s, n->taking, v->n);
    }
}

/* ---- supposing evictions ---- */

static const struct candidate *of_pick(const struct need *need, const struct pick *p)
{
    return &need->f->victims.candidates[p->candidate];
}

static void suppose(const struct need *need, const struct pick *p)
{
    const struct candidate *c = of_pick(need, p);
    if (need->flat)
        need->f->victims.of.items[c->claimant].supposed += c->gpus;
    else
        quota_suppose(need->f, c->claimant, c->gpus);
    if (need->block)
        block_count(need->f, need->block, c->slot, 1);
}

static void undo(const struct need *need, const struct pick *p)
{
    const struct candidate *c = of_pick(need, p);
    if (need->flat)
        need->f->victims.of.items[c->claimant].supposed -= c->gpus;
    else
        quota_undo(need->f, c->claimant, c->gpus);
    if (need->block)
        block_count(need->f, need->block, c->slot, -1);
}

/* Whether what is supposed gains enough: so many GPUs of want, or the nodes of a block. */
static bool suffices(const struct need *need, uint32_t gained, uint32_t want)
{
    return need->block ? block_holds(need->block) : gained >= want;
}

/* Whether a claimant may still be taken from after what is supposed. */
static bool still(const struct need *need, uint32_t claimant)
{
    const struct borrower *b = &need->f->victims.of.items[claimant];
    if (need->flat)
        return b->borrowed > b->supposed || claimant == need->taking->claimant;
    return taking_still(need->f, need->taking, claimant);
}

/* Whether ceilings allow the start after what is supposed. */
static bool under_ceiling(const struct need *need)
{
    return need->under || quota_ceiling(need->f, need->taking->claimant, need->gpus) == GRANT_OK;
}

bool victims_permitted(const struct need *need, const struct pick *set, uint32_t n)
{
    uint32_t gained = 0, m = 0;
    for (; m < n && taking_still(need->f, need->taking, of_pick(need, &set[m])->claimant); m++) {
        quota_suppose(need->f, of_pick(need, &set[m])->claimant, of_pick(need, &set[m])->gpus);
        gained += of_pick(need, &set[m])->gain;
    }
    bool ok = m == n && under_ceiling(need) &&
              quota_coming(need->f, need->taking->claimant, gained) >= need->gpus;
    while (m-- > 0)
        quota_undo(need->f, of_pick(need, &set[m])->claimant, of_pick(need, &set[m])->gpus);
    return ok;
}

/* Whether ceilings would allow the start if all that may be taken were gone. */
static bool ceiling_can_give(const struct need *need)
{
    struct fleet *f = need->f;
    for (uint32_t i = 0; i < f->claimants.n; i++)
        if (f->victims.of.items[i].live)
            quota_suppose(f, i, f->claimants.items[i].held);
    bool gives = under_ceiling(need);
    for (uint32_t i = 0; i < f->claimants.n; i++)
        if (f->victims.of.items[i].live)
            quota_undo(f, i, f->claimants.items[i].held);
    return gives;
}

/* ---- rules that go by claimant ---- */

/* The ranges of the claimants among picks, which are sorted by claimant. */
static void see_ranges(struct fleet *f, const struct pick *picks, uint32_t n, uint32_t want)
{
    struct victims *v = &f->victims;
    v->n_ranges = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t claimant = v->candidates[picks[i].candidate].claimant;
        struct borrower *b = &v->of.items[claimant];
        if (v->n_ranges == 0 || v->of.items[v->n_ranges - 1].range != claimant) {
            v->of.items[v->n_ranges++].range = claimant;
            b->next = i;
            b->retry = NONE;
            b->taken = 0;
            b->part = b->due + (v->borrowed ? (double)want * b->borrowed / (double)v->borrowed : 0);
        }
        b->end = i + 1;
    }
}

static bool goes_first(const struct fleet *f, uint32_t a, uint32_t b)
{
    if (f->plan.victims == VICTIM_FAIR_SHARE)
        return share_higher(f, a, b);
    const struct borrower *x = &f->victims.of.items[a], *y = &f->victims.of.items[b];
    double left = x->part - x->taken, other = y->part - y->taken;
    return left > other || (left == other && x->borrowed > y->borrowed);
}

/* The claimant whose turn it is; NONE when none has candidates left. */
static uint32_t turn(const struct need *need, enum share_strategy strategy)
{
    struct victims *v = &need->f->victims;
    uint32_t first = NONE;
    for (uint32_t i = 0; i < v->n_ranges; i++) {
        uint32_t claimant = v->of.items[i].range;
        const struct borrower *b = &v->of.items[claimant];
        bool has = strategy == SHARE_AT_MOST_FINAL ? b->next < b->end : b->retry != NONE;
        if (has && still(need, claimant) && (first == NONE || goes_first(need->f, claimant, first)))
            first = claimant;
    }
    return first;
}

/* The next pick by such a rule; NONE: no more. */
static uint32_t next_of_claimants(const struct need *need, const struct pick *picks,
                                  enum share_strategy *strategy)
{
    struct fleet *f = need->f;
    for (; *strategy < SHARE_STRATEGIES; ++*strategy)
        for (uint32_t claimant; (claimant = turn(need, *strategy)) != NONE;) {
            struct borrower *b = &f->victims.of.items[claimant];
            uint32_t i = *strategy == SHARE_AT_MOST_FINAL ? b->next++ : b->retry;
            uint32_t gpus = of_pick(need, &picks[i])->gpus;
            if (*strategy != SHARE_AT_MOST_FINAL)
                b->retry = NONE;
            if (f->plan.victims == VICTIM_FAIR_SHARE &&
                !share_allows(f, need->taking, claimant, gpus, *strategy)) {
                if (*strategy == SHARE_AT_MOST_FINAL && b->retry == NONE)
                    b->retry = i;
                continue;
            }
            b->taken += gpus;
            return i;
        }
    return NONE;
}

/* ---- sets ---- */

/* The next pick in order whose claimant still borrows. */
static uint32_t next_in_order(const struct need *need, const struct pick *picks, uint32_t n,
                              uint32_t *at)
{
    for (; *at < n; ++*at)
        if (still(need, of_pick(need, &picks[*at])->claimant))
            return (*at)++;
    return NONE;
}

/* Puts back, from the last, victims that v->trial[0..m) does without; how many are left. */
static uint32_t put_back(const struct need *need, uint32_t m, uint32_t gained, uint32_t want)
{
    struct pick *trial = need->f->victims.trial;
    for (uint32_t i = m; i-- > 0;) {
        if (!need->block && gained - trial[i].gain < want)
            continue;
        undo(need, &trial[i]);
        if (suffices(need, gained - trial[i].gain, want) && under_ceiling(need)) {
            gained -= trial[i].gain;
            trial[i].candidate = NONE;
        } else {
            suppose(need, &trial[i]);
        }
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < m; i++)
        if (trial[i].candidate != NONE)
            trial[kept++] = trial[i];
    return kept;
}

/* Victims from picks[0..n) that gain at least want, in v->trial; how many, 0 when none do. */
static uint32_t greedy(const struct need *need, const struct pick *picks, uint32_t n, uint32_t want)
{
    struct victims *v = &need->f->victims;
    bool by_claimant = rule_by_claimant(need->f->plan.victims);
    enum share_strategy strategy = SHARE_AT_MOST_FINAL;
    uint32_t m = 0, gained = 0, at = 0, i = 0;
    if (by_claimant)
        see_ranges(need->f, picks, n, want);
    bool enough = false;
    while (!enough) {
        i = by_claimant ? next_of_claimants(need, picks, &strategy)
                        : next_in_order(need, picks, n, &at);
        if (i == NONE)
            break;
        suppose(need, &picks[i]);
        gained += picks[i].gain;
        v->trial[m++] = picks[i];
        enough = suffices(need, gained, want) && under_ceiling(need);
    }
    if (enough)
        m = put_back(need, m, gained, want);
    for (uint32_t k = m; k-- > 0;)
        undo(need, &v->trial[k]);
    return enough ? m : 0;
}

/* Whether of two sets of picks that cost the same the first has the lowest lease that is not in
 * both. */
static bool lower(const struct need *need, const struct pick *picks, uint64_t a, uint64_t b)
{
    lease_id lowest = LEASE_NONE;
    bool in_a = false;
    for (uint64_t set = a ^ b; set; set &= set - 1) {
        int i = __builtin_ctzll(set);
        lease_id id = of_pick(need, &picks[i])->id;
        if (id < lowest) {
            lowest = id;
            in_a = a >> i & 1;
        }
    }
    return in_a;
}

static int compare_sums(struct sum a, struct sum b)
{
    if (a.first != b.first)
        return a.first < b.first ? -1 : 1;
    return (a.then > b.then) - (a.then < b.then);
}

uint32_t victims_lay_out(const struct need *need, const struct pick *picks, uint64_t set)
{
    struct victims *v = &need->f->victims;
    uint32_t m = 0;
    for (; set; set &= set - 1) {
        struct pick p = picks[__builtin_ctzll(set)];
        uint32_t k = m++;
        for (; k > 0 && of_pick(need, &v->trial[k - 1])->gpus > of_pick(need, &p)->gpus; k--)
            v->trial[k] = v->trial[k - 1];
        v->trial[k] = p;
    }
    return m;
}

/* The cheapest set from picks[0..n) that gains at least want, whatever quota says, in v->trial; how
 * many, 0 when none does. */
static uint32_t cheapest(const struct need *need, const struct pick *picks, uint32_t n,
                         uint32_t want)
{
    enum victim_rule rule = need->f->plan.victims;
    struct {
        bool found;
        struct sum sum;
        uint64_t set;
    } best[SMALL + 1] = {{.found = true}};
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t g = want; g > 0; g--) {
            uint32_t from = g > picks[i].gain ? g - picks[i].gain : 0;
            if (!best[from].found)
                continue;
            struct sum s = rule_add(rule, best[from].sum, of_pick(need, &picks[i]));
            uint64_t set = best[from].set | UINT64_C(1) << i;
            int c = best[g].found ? compare_sums(s, best[g].sum) : -1;
            if (c > 0 || (c == 0 && !lower(need, picks, set, best[g].set)))
                continue;
            best[g].found = true;
            best[g].sum = s;
            best[g].set = set;
        }
    return best[want].found ? victims_lay_out(need, picks, best[want].set) : 0;
}

/* The same among the sets that quota permits: each of them is looked at. */
static uint32_t cheapest_permitted(const struct need *need, const struct pick *picks, uint32_t n,
                                   uint32_t want)
{
    struct sum least = {UINT64_MAX, UINT64_MAX};
    uint64_t best = 0;
    for (uint64_t set = 1; set < UINT64_C(1) << n; set++) {
        struct sum s = {0, 0};
        uint32_t gained = 0;
        for (uint32_t i = 0; i < n; i++)
            if (set >> i & 1) {
                s = rule_add(need->f->plan.victims, s, of_pick(need, &picks[i]));
                gained += picks[i].gain;
            }
        int c = best ? compare_sums(s, least) : -1;
        if (gained < want || c > 0 || (c == 0 && !lower(need, picks, set, best)) ||
            !victims_permitted(need, need->f->victims.trial, victims_lay_out(need, picks, set)))
            continue;
        best = set;
        least = s;
    }
    return victims_lay_out(need, picks, best);
}

/* What the claimant that gives most of a set gives beyond its part. */
static double charge_of(const struct need *need, const struct pick *set, uint32_t n)
{
    struct victims *v = &need->f->victims;
    double most = -1e300;
    for (uint32_t i = 0; i < n; i++)
        v->of.items[of_pick(need, &set[i])->claimant].taken = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct borrower *b = &v->of.items[of_pick(need, &set[i])->claimant];
        b->taken += of_pick(need, &set[i])->gpus;
        most = b->taken - b->part > most ? b->taken - b->part : most;
    }
    return most;
}

bool victims_compete(const struct need *need, const struct pick *set, uint32_t n, uint32_t clean,
                     uint32_t node, struct best *best)
{
    struct victims *v = &need->f->victims;
    enum victim_rule rule = need->f->plan.victims;
    struct cost cost = rule_cost(need->f, set, n, (int64_t)clean - need->gpus);
    if (rule == VICTIM_PROPORTIONAL)
        cost.charge = charge_of(need, set, n);
    if (best->found && rule_compare(rule, &cost, &best->cost) >= 0)
        return true;
    if (!victims_permitted(need, set, n))
        return false;
    *best = (struct best){.found = true, .cost = cost};
    v->node = node;
    v->n_chosen = n;
    for (uint32_t i = 0; i < n; i++)
        v->chosen[i] = set[i].candidate;
    return true;
}

/* One victim that suffices. */
static bool alone(const struct need *need, const struct pick *p, uint32_t want)
{
    suppose(need, p);
    bool enough = suffices(need, p->gain, want);
    undo(need, p);
    return enough;
}

/* The sets that gain want from n picks in order. */
static void compete_all(const struct need *need, uint32_t n, uint32_t want, uint32_t clean,
                        uint32_t node, struct best *best)
{
    struct victims *v = &need->f->victims;
    enum victim_rule rule = need->f->plan.victims;
    uint32_t m;
    bool adds = rule_adds(rule);
    if (adds && !need->block && n <= SMALL && want > 0 && want <= SMALL) {
        m = cheapest(need, v->picks, n, want);
        if (m == 0 || victims_compete(need, v->trial, m, clean, node, best))
            return;
    }
    if (adds && !need->block && n <= FEW) {
        m = cheapest_permitted(need, v->picks, n, want);
        if (m > 0)
            victims_compete(need, v->trial, m, clean, node, best);
        return;
    }
    m = greedy(need, v->picks, n, want);
    if (m > 0)
        victims_compete(need, v->trial, m, clean, node, best);
    for (uint32_t i = 0; (adds || rule == VICTIM_YOUNGEST) && i < n; i++)
        if (alone(need, &v->picks[i], want))
            victims_compete(need, &v->picks[i], 1, clean, node, best);
}

/* ---- a shape within one node ---- */

static uint32_t usable_free(const struct need *need, uint32_t node)
{
    uint32_t free = need->f->nodes.free_count[node];
    return free < need->free ? free : need->free;
}

/* Free and incoming GPUs of a node that the start may have. */
static uint32_t there(const struct need *need, uint32_t node)
{
    uint32_t gpus = usable_free(need, node) + claims_unclaimed(need->f, node);
    return gpus < need->coming ? gpus : need->coming;
}

/* A node where nobody has to go: the one with fewest GPUs that suffice. */
static bool fits_already(const struct need *need)
{
    struct fleet *f = need->f;
    uint32_t fewest = NONE;
    for (uint32_t node = 0; node < f->nodes.n; node++) {
        uint32_t all = f->nodes.free_count[node] + claims_unclaimed(f, node);
        if (all < fewest && there(need, node) >= need->gpus) {
            fewest = all;
            f->victims.node = node;
        }
    }
    return fewest != NONE;
}

/* Lists the candidates of each node, in no order. */
static void list_by_node(struct fleet *f)
{
    struct victims *v = &f->victims;
    uint32_t n = 0;
    for (uint32_t node = 0; node < f->nodes.n; node++)
        v->first_on_node[node] = NONE;
    for (uint32_t i = 0; i < v->n; i++) {
        const struct parts *parts = &f->leases.items[v->candidates[i].slot].parts;
        for (size_t p = 0; p < parts->n; p++) {
            uint32_t node = parts->items[p].node;
            if (node_closed(f, node))
                continue;
            v->on_node[n] = (struct pick){.candidate = i,
                                          .gain = mask_count(parts->items[p].mask),
                                          .next = v->first_on_node[node]};
            v->first_on_node[node] = n++;
        }
    }
}

/* The candidates of a node as picks in the order of the rule: a handful, so by insertion. */
static uint32_t picks_of_node(const struct fleet *f, uint32_t node)
{
    const struct victims *v = &f->victims;
    candidate_order compare = rule_order[f->plan.victims];
    uint32_t n = 0;
    for (uint32_t i = v->first_on_node[node]; i != NONE; i = v->on_node[i].next) {
        const struct candidate *c = &v->candidates[v->on_node[i].candidate];
        uint32_t at = n++;
        for (; at > 0 && compare(&v->candidates[v->picks[at - 1].candidate], c) > 0; at--)
            v->picks[at] = v->picks[at - 1];
        v->picks[at] = v->on_node[i];
    }
    return n;
}

/* The candidates of a node and, with no gain, those elsewhere that are under the same ceilings; all
 * of them have been sorted. None where those of the node do not gain want. */
static uint32_t picks_with_others(const struct fleet *f, uint32_t node, uint32_t want)
{
    const struct victims *v = &f->victims;
    uint32_t n = 0, gained = 0;
    for (uint32_t i = v->first_on_node[node]; i != NONE; i = v->on_node[i].next) {
        v->candidates[v->on_node[i].candidate].here = v->on_node[i].gain;
        gained += v->on_node[i].gain;
    }
    for (uint32_t k = 0; k < v->n && gained >= want; k++) {
        const struct candidate *c = &v->candidates[v->order[k]];
        if (c->here > 0 || v->of.items[c->claimant].relieves)
            v->picks[n++] = (struct pick){.candidate = (uint32_t)v->order[k], .gain = c->here};
    }
    for (uint32_t i = v->first_on_node[node]; i != NONE; i = v->on_node[i].next)
        v->candidates[v->on_node[i].candidate].here = 0;
    return n;
}

static void sort_candidates(struct fleet *f)
{
    struct victims *v = &f->victims;
    gsl_heapsort_index(v->order, v->candidates, v->n, sizeof *v->candidates,
                       rule_order[f->plan.victims]);
}

static bool choose_on_one_node(const struct need *need)
{
    struct fleet *f = need->f;
    struct best best = {.found = false};
    list_by_node(f);
    if (!need->under)
        sort_candidates(f);
    for (uint32_t node = 0; node < f->nodes.n; node++) {
        if (f->nodes.size[node] < need->gpus)
            continue;
        uint32_t all = there(need, node), free = usable_free(need, node);
        uint32_t clean = free < need->gpus ? free : need->gpus;
        uint32_t want = need->gpus > all ? need->gpus - all : 0;
        uint32_t n = need->under ? picks_of_node(f, node) : picks_with_others(f, node, want);
        compete_all(need, n, want, clean, node, &best);
    }
    return best.found;
}

/* ---- a shape over many nodes ---- */

static bool choose_anywhere(const struct need *need, uint32_t already)
{
    struct victims *v = &need->f->victims;
    struct best best = {.found = false};
    sort_candidates(need->f);
    for (uint32_t i = 0; i < v->n; i++) {
        uint32_t candidate = (uint32_t)v->order[i];
        v->picks[i] = (struct pick){.candidate = candidate, .gain = v->candidates[candidate].gain};
    }
    uint32_t clean = need->free < need->gpus ? need->free : need->gpus;
    compete_all(need, v->n, need->gpus > already ? need->gpus - already : 0, clean, NODE_NONE,
                &best);
    return best.found;
}

/* ---- whole nodes ---- */

/* A leaf group where nobody has to go. */
static bool block_already(const struct need *need, const struct shape *shape)
{
    struct fleet *f = need->f;
    for (uint32_t i = 0; i < block_n(f, shape); i++) {
        block_look(f, need->block, shape, i, need->free);
        if (block_holds(need->block) && need->coming >= need->gpus) {
            f->victims.node = i;
            return true;
        }
    }
    return false;
}

static bool choose_block(const struct need *need, const struct shape *shape)
{
    struct fleet *f = need->f;
    struct victims *v = &f->victims;
    struct block *b = need->block;
    struct best best = {.found = false};
    sort_candidates(f);
    for (uint32_t block = 0; block < block_n(f, shape); block++) {
        block_look(f, b, shape, block, need->free);
        uint32_t n = 0, gain, clean = b->usable < need->gpus ? b->usable : need->gpus;
        for (uint32_t i = 0; i < v->n; i++) {
            uint32_t candidate = (uint32_t)v->order[i];
            if ((gain = block_gain(f, b, v->candidates[candidate].slot)) > 0)
                v->picks[n++] = (struct pick){.candidate = candidate, .gain = gain};
        }
        uint32_t there = b->available < need->gpus ? b->available : need->gpus;
        compete_all(need, n, need->gpus - there, clean, block, &best);
    }
    return best.found;
}

/* ---- the choice ---- */

bool victims_choose(struct fleet *f, const struct taking *t, const struct shape *shape,
                    uint32_t free, uint32_t coming)
{
    bool under = quota_ceiling(f, t->claimant, shape->gpus) == GRANT_OK;
    bool one = nodes_one_node(&f->nodes, shape);
    struct block block;
    const struct need need = {
        .f = f,
        .taking = t,
        .gpus = shape->gpus,
        .free = free,
        .coming = coming,
        .block = !one && shape_strict(shape) ? &block : NULL,
        .under = under,
        .flat = under && f->n_cohorts == 0 && f->plan.victims != VICTIM_FAIR_SHARE,
    };
    uint64_t there_all = (uint64_t)free + f->n_unclaimed;
    uint32_t already = there_all < coming ? (uint32_t)there_all : coming;
    f->victims.n_chosen = 0;
    f->victims.node = NODE_NONE;
    bool slice = f->nodes.slices;
    if (need.under && (slice        ? slice_already(&need, shape)
                       : one        ? fits_already(&need)
                       : need.block ? block_already(&need, shape)
                                    : already >= need.gpus))
        return true;
    if (already + see_borrowers(&need) < need.gpus || (!under && !ceiling_can_give(&need)))
        return false;
    collect(&need);
    if (slice)
        return slice_choose(&need, shape);
    if (need.block)
        return choose_block(&need, shape);
    return one ? choose_on_one_node(&need) : choose_anywhere(&need, already);
}

void victims_settle(struct fleet *f)
{
    struct victims *v = &f->victims;
    uint64_t evicted = 0;
    if (f->plan.victims != VICTIM_PROPORTIONAL || v->n_chosen == 0 || v->moves)
        return;
    for (uint32_t i = 0; i < v->n_chosen; i++) {
        const struct candidate *c = &v->candidates[v->chosen[i]];
        v->of.items[c->claimant].due -= c->gpus;
        evicted += c->gpus;
    }
    for (uint32_t i = 0; i < f->claimants.n; i++) {
        struct borrower *b = &v->of.items[i];
        if (b->borrowed)
            b->due += (double)evicted * b->borrowed / (double)v->borrowed;
    }
}
