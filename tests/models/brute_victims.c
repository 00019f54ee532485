/* Who goes, by the rule. A start within a node looks at each node in turn; one over many nodes at
 * all GPUs together. Of a lease it gains the GPUs there.
 *
 * A set of victims will do if there is an order in which each may go (its tenant still borrowing),
 * what it gains suffices, the ceilings allow the start after it, and quota lets the start have the
 * GPUs: what the victims' own unlent quota keeps anew is not for it. Leases on other nodes count
 * where a ceiling is in the way that they are under, too.
 *
 *   least-work-lost, least-over-reclaim, smallest-gang
 *       every set is tried: the one with least work lost, then fewest GPUs evicted; fewest GPUs,
 *       then least work lost; fewest leases, then fewest GPUs. Of equal ones on a node that which
 *       has the lowest lease number that is not in both
 *   youngest, lowest-priority
 *       one after the other until it is enough: latest start first; other tenants' before own,
 *       lowest priority, then latest start. Then, from the last, those are put back that are not
 *       needed. youngest: one that suffices alone competes, too
 *   proportional
 *       the same, each time of the tenant that has given least of its part, ties: that borrows
 *       more, latest start first. Part: in proportion to what it borrows, and what it owes from
 *       before as long as it borrows
 *   fair-share
 *       the same, each time of the tenant with the highest share, lowest priority, then latest
 *       start, if the start's share will be at most what the tenant keeps; then, one a tenant, the
 *       first that was refused, if the start's share will be less than what the tenant has
 *
 * Nodes compete by what the set costs: the sums above; youngest: start of the oldest (later is
 * better), then GPUs beyond the need; lowest-priority: own ones, highest priority, start of the
 * oldest; proportional: what the tenant that gives most gives beyond its part, then GPUs beyond the
 * need; fair-share: least share of a tenant in it (more is better), then GPUs beyond the need. All
 * ties: lowest lease number in the set, lowest node. */
#include "brute_internal.h"

#include <string.h>

enum { KEYS = 4, SETS = 1 << BRUTE_JOBS, NOBODY = BRUTE_JOBS };

struct chooser {
    struct brute *b;
    const struct brute_job *job;
    struct counts n;
    int free, have;
    size_t which[BRUTE_JOBS]; /* candidates, by lease number */
    unsigned n_which;
    double loss[BRUTE_JOBS];
    signed char reachable[SETS]; /* sets that have an order; 0: not known, -1: none */
    bool found;
    struct victims_of best;
    double cost[KEYS];
};

/* A node, or all of them (BRUTE_NODES). */
struct place_of {
    uint32_t node;
    int want, clean; /* GPUs to be gained; free ones that it would use */
    int gain[BRUTE_JOBS];
    unsigned of_use;
    double part[BRUTE_TENANTS];
};

/* A choice one after the other. */
struct steps {
    unsigned looked_at, set;
    unsigned taken[BRUTE_JOBS], n;
    double given[BRUTE_TENANTS];
    unsigned refused[BRUTE_TENANTS]; /* the first of a tenant, NOBODY: none */
    bool second;                     /* strategy */
};

static const struct lease_of *lease(const struct chooser *ch, unsigned i)
{
    return &ch->b->leases[ch->which[i]];
}

static const struct brute_job *job_of(const struct chooser *ch, unsigned i)
{
    return &ch->b->c->jobs[lease(ch, i)->job];
}

static int32_t priority(const struct chooser *ch, unsigned i)
{
    return job_priority(ch->b->c, job_of(ch, i));
}

static bool own(const struct chooser *ch, unsigned i)
{
    return lease(ch, i)->tenant == ch->job->tenant;
}

/* ---- sets ---- */

static struct counts after(const struct chooser *ch, unsigned set)
{
    struct counts n = ch->n;
    for (unsigned i = 0; i < ch->n_which; i++)
        if (set >> i & 1)
            suppose_gone(&n, lease(ch, i)->tenant, lease(ch, i)->gpus);
    return n;
}

static bool may_follow(const struct chooser *ch, unsigned i, unsigned set)
{
    struct counts n = after(ch, set);
    return still_borrows(&n, ch->job->tenant, lease(ch, i)->tenant);
}

static bool has_order(struct chooser *ch, unsigned set)
{
    if (set == 0)
        return true;
    for (unsigned i = 0; i < ch->n_which && ch->reachable[set] == 0; i++)
        if ((set >> i & 1) && may_follow(ch, i, set & ~(1u << i)) &&
            has_order(ch, set & ~(1u << i)))
            ch->reachable[set] = 1;
    ch->reachable[set] = ch->reachable[set] == 1 ? 1 : -1;
    return ch->reachable[set] == 1;
}

static int gained(const struct place_of *p, unsigned set)
{
    int sum = 0;
    for (unsigned i = 0; i < BRUTE_JOBS; i++)
        sum += set >> i & 1 ? p->gain[i] : 0;
    return sum;
}

static bool ceilings_allow(const struct chooser *ch, unsigned set)
{
    struct counts n = after(ch, set);
    return under_ceilings(&n, ch->job);
}

static bool enough(const struct chooser *ch, const struct place_of *p, unsigned set)
{
    return gained(p, set) >= p->want && ceilings_allow(ch, set);
}

static bool will_do(struct chooser *ch, const struct place_of *p, unsigned set)
{
    struct counts n = after(ch, set);
    int gpus = (int)(free_in_all(ch->b) + coming_in_all(ch->b));
    for (unsigned i = 0; i < ch->n_which; i++)
        gpus += set >> i & 1 ? (int)lease(ch, i)->gpus : 0;
    return enough(ch, p, set) && has_order(ch, set) &&
           may_have_of(&n, ch->job->tenant, gpus, STANDING) >= (int)ch->job->gpus;
}

/* ---- costs ---- */

static double most(double a, double b)
{
    return a > b ? a : b;
}

static double beyond_part(const struct chooser *ch, const struct place_of *p, unsigned set)
{
    double worst = -1e300;
    for (uint32_t t = 0; t < ch->b->c->n_tenants; t++) {
        double given = 0;
        for (unsigned i = 0; i < ch->n_which; i++)
            given += (set >> i & 1) && lease(ch, i)->tenant == t ? lease(ch, i)->gpus : 0;
        worst = given > 0 ? most(worst, given - p->part[t]) : worst;
    }
    return worst;
}

/* What is compared first, second and so on; less is better. */
static void cost_of(const struct chooser *ch, const struct place_of *p, unsigned set,
                    double cost[KEYS])
{
    double loss = 0, gpus = 0, top = -1e300, oldest = 1e300, first = 1e300, share = 1e300;
    bool takes_own = false;
    for (unsigned i = 0; i < ch->n_which; i++) {
        if (!(set >> i & 1))
            continue;
        uint32_t t = lease(ch, i)->tenant;
        double w = ch->b->c->tenants[t].quota.weight;
        loss += ch->loss[i];
        gpus += lease(ch, i)->gpus;
        top = most(top, priority(ch, i));
        oldest = -most(-oldest, -(double)lease(ch, i)->since_ns);
        first = first < (double)ch->which[i] ? first : (double)ch->which[i];
        share = -most(-share, -borrowed_by(&ch->n, t) / (w > 0 ? w : 1));
        takes_own = takes_own || own(ch, i);
    }
    double over = gpus + p->clean - ch->job->gpus, leases = __builtin_popcount(set);
    const double keys[VICTIM_RULES][KEYS] = {
        [VICTIM_LEAST_WORK_LOST] = {loss, over, first},
        [VICTIM_LEAST_OVER_RECLAIM] = {over, loss, first},
        [VICTIM_YOUNGEST] = {-oldest, over, first},
        [VICTIM_LOWEST_PRIORITY] = {takes_own, top, -oldest, first},
        [VICTIM_SMALLEST_GANG] = {leases, gpus, first},
        [VICTIM_PROPORTIONAL] = {beyond_part(ch, p, set), over, first},
        [VICTIM_FAIR_SHARE] = {-share, over, first},
    };
    memcpy(cost, keys[ch->b->c->victims], KEYS * sizeof *cost);
}

static int compare(const double a[KEYS], const double b[KEYS])
{
    for (int k = 0; k < KEYS; k++)
        if (a[k] < b[k] || b[k] < a[k])
            return a[k] < b[k] ? -1 : 1;
    return 0;
}

static void compete(struct chooser *ch, const struct place_of *p, unsigned set)
{
    double cost[KEYS];
    cost_of(ch, p, set, cost);
    int c = ch->found ? compare(cost, ch->cost) : -1;
    unsigned differ = set ^ ch->best.set;
    bool lower = ch->best.node == p->node && (set & differ & -differ);
    if (c > 0 || (c == 0 && !lower) || !will_do(ch, p, set))
        return;
    ch->found = true;
    ch->best.set = set;
    ch->best.node = p->node;
    memcpy(ch->cost, cost, sizeof cost);
}

/* ---- one after the other ---- */

/* Whether candidate i goes before k, in the order of the rule or, where that goes by tenant, within
 * a tenant. */
static bool goes_before(const struct chooser *ch, unsigned i, unsigned k)
{
    enum victim_rule rule = ch->b->c->victims;
    if (rule == VICTIM_LOWEST_PRIORITY && own(ch, i) != own(ch, k))
        return own(ch, k);
    if ((rule == VICTIM_LOWEST_PRIORITY || rule == VICTIM_FAIR_SHARE) &&
        priority(ch, i) != priority(ch, k))
        return priority(ch, i) < priority(ch, k);
    if (lease(ch, i)->since_ns != lease(ch, k)->since_ns)
        return lease(ch, i)->since_ns > lease(ch, k)->since_ns;
    return i < k;
}

/* The first in order of those in a set, of a tenant or (BRUTE_TENANTS) of any. */
static unsigned first_of(const struct chooser *ch, unsigned set, uint32_t tenant)
{
    unsigned first = NOBODY;
    for (unsigned i = 0; i < ch->n_which; i++)
        if ((set >> i & 1) && (tenant == BRUTE_TENANTS || lease(ch, i)->tenant == tenant) &&
            (first == NOBODY || goes_before(ch, i, first)))
            first = i;
    return first;
}

/* Tenants whose turn it may be, as bits. */
static unsigned tenants_left(const struct chooser *ch, const struct place_of *p,
                             const struct steps *s)
{
    struct counts n = after(ch, s->set);
    unsigned left = 0;
    for (uint32_t t = 0; t < ch->b->c->n_tenants; t++) {
        bool has = s->second ? s->refused[t] != NOBODY
                             : first_of(ch, p->of_use & ~s->looked_at, t) != NOBODY;
        left |= has && still_borrows(&n, ch->job->tenant, t) ? 1u << t : 0;
    }
    return left;
}

static uint32_t owes_most(const struct chooser *ch, const struct place_of *p, const struct steps *s,
                          unsigned tenants)
{
    uint32_t first = BRUTE_TENANTS;
    for (uint32_t t = 0; t < ch->b->c->n_tenants; t++) {
        if (!(tenants >> t & 1))
            continue;
        double owes = p->part[t] - s->given[t];
        double other = first == BRUTE_TENANTS ? -1e300 : p->part[first] - s->given[first];
        if (owes > other || (owes >= other && borrowed_by(&ch->n, t) > borrowed_by(&ch->n, first)))
            first = t;
    }
    return first;
}

static unsigned next_of_tenants(const struct chooser *ch, const struct place_of *p, struct steps *s)
{
    bool fair = ch->b->c->victims == VICTIM_FAIR_SHARE;
    for (;;) {
        unsigned tenants = tenants_left(ch, p, s);
        if (tenants == 0 && (s->second || !fair))
            return NOBODY;
        if (tenants == 0) {
            s->second = true;
            continue;
        }
        struct counts n = after(ch, s->set);
        uint32_t t = fair ? highest_share(&n, tenants) : owes_most(ch, p, s, tenants);
        unsigned i = s->second ? s->refused[t] : first_of(ch, p->of_use & ~s->looked_at, t);
        s->looked_at |= 1u << i;
        bool allowed = !fair || shares_allow(&n, ch->job, t, lease(ch, i)->gpus,
                                             s->second ? LESS_THAN_INITIAL : AT_MOST_FINAL);
        if (s->second)
            s->refused[t] = NOBODY;
        else if (!allowed && s->refused[t] == NOBODY)
            s->refused[t] = i;
        if (allowed)
            return i;
    }
}

static unsigned next_in_order(const struct chooser *ch, const struct place_of *p, struct steps *s)
{
    for (;;) {
        unsigned i = first_of(ch, p->of_use & ~s->looked_at, BRUTE_TENANTS);
        if (i == NOBODY)
            return NOBODY;
        s->looked_at |= 1u << i;
        if (may_follow(ch, i, s->set))
            return i;
    }
}

static void step_by_step(struct chooser *ch, const struct place_of *p)
{
    struct steps s = {0};
    enum victim_rule rule = ch->b->c->victims;
    bool by_tenant = rule == VICTIM_PROPORTIONAL || rule == VICTIM_FAIR_SHARE;
    for (uint32_t t = 0; t < BRUTE_TENANTS; t++)
        s.refused[t] = NOBODY;
    while (s.set == 0 || !enough(ch, p, s.set)) {
        unsigned i = by_tenant ? next_of_tenants(ch, p, &s) : next_in_order(ch, p, &s);
        if (i == NOBODY)
            return;
        s.set |= 1u << i;
        s.given[lease(ch, i)->tenant] += lease(ch, i)->gpus;
        s.taken[s.n++] = i;
    }
    while (s.n-- > 0)
        if (enough(ch, p, s.set & ~(1u << s.taken[s.n])))
            s.set &= ~(1u << s.taken[s.n]);
    if (s.set)
        compete(ch, p, s.set);
}

/* ---- the choice ---- */

static void choose_at(struct chooser *ch, const struct place_of *p)
{
    enum victim_rule rule = ch->b->c->victims;
    bool adds = rule == VICTIM_LEAST_WORK_LOST || rule == VICTIM_LEAST_OVER_RECLAIM ||
                rule == VICTIM_SMALLEST_GANG;
    for (unsigned set = 1; adds && set < 1u << ch->n_which; set++)
        if ((set & ~p->of_use) == 0)
            compete(ch, p, set);
    if (!adds)
        step_by_step(ch, p);
    for (unsigned i = 0; rule == VICTIM_YOUNGEST && i < ch->n_which; i++)
        if (p->of_use >> i & 1)
            compete(ch, p, 1u << i);
}

static void look_at(struct chooser *ch, uint32_t node, int want, int clean)
{
    struct place_of p = {.node = node, .want = want > 0 ? want : 0, .clean = clean};
    bool under = under_ceilings(&ch->n, ch->job);
    double all = 0;
    for (unsigned i = 0; i < ch->n_which; i++) {
        const struct lease_of *l = lease(ch, i);
        p.gain[i] = (int)(node == BRUTE_NODES ? l->gpus : l->on[node]);
        if (p.gain[i] > 0 || (!under && share_a_ceiling(ch->b->c, l->tenant, ch->job->tenant)))
            p.of_use |= 1u << i;
    }
    for (uint32_t t = 0; t < ch->b->c->n_tenants; t++)
        all += may_take_from(&ch->n, ch->job, t) ? borrowed_by(&ch->n, t) : 0;
    for (uint32_t t = 0; t < ch->b->c->n_tenants; t++)
        p.part[t] = ch->b->due[t] + (all > 0 ? (double)p.want * borrowed_by(&ch->n, t) / all : 0);
    choose_at(ch, &p);
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Free and coming GPUs of a node that the start may have. */
static int there_on(const struct chooser *ch, uint32_t node)
{
    int usable = least((int)free_on(ch->b, node), ch->free);
    return least(usable + (int)coming_on(ch->b, node), ch->have);
}

/* Nobody has to go where it finds its GPUs free or coming. */
static bool finds_its_gpus(struct chooser *ch, bool one)
{
    const struct brute *b = ch->b;
    uint32_t fewest = UINT32_MAX;
    if (!under_ceilings(&ch->n, ch->job))
        return false;
    if (!one)
        return least(ch->free + (int)coming_in_all(b), ch->have) >= (int)ch->job->gpus;
    for (uint32_t node = 0; node < b->c->nodes; node++) {
        uint32_t all = free_on(b, node) + coming_on(b, node);
        if (there_on(ch, node) >= (int)ch->job->gpus && all < fewest) {
            fewest = all;
            ch->best.node = node;
        }
    }
    return fewest != UINT32_MAX;
}

/* Held GPUs of all that it may take from are too few: nobody is looked at. */
static bool hopeless(const struct chooser *ch, int there)
{
    for (size_t i = 0; i < ch->b->n_leases; i++) {
        const struct lease_of *l = &ch->b->leases[i];
        if (l->state == HELD && may_take_from(&ch->n, ch->job, l->tenant))
            there += (int)l->gpus;
    }
    return there < (int)ch->job->gpus;
}

static void list_candidates(struct chooser *ch)
{
    for (size_t i = 0; i < ch->b->n_leases; i++) {
        const struct lease_of *l = &ch->b->leases[i];
        simtime_ns loss;
        if (l->gpus == 0 || !policy_allows(&ch->n, ch->job, &ch->b->c->jobs[l->job]) ||
            !still_borrows(&ch->n, ch->job->tenant, l->tenant) ||
            !may_lose(ch->b, i, job_priority(ch->b->c, ch->job), &loss))
            continue;
        ch->loss[ch->n_which] = (double)loss;
        ch->which[ch->n_which++] = i;
    }
}

bool choose_victims(struct brute *b, size_t job, int free, int have, struct victims_of *out)
{
    static struct chooser ch;
    const struct brute_job *j = &b->c->jobs[job];
    bool one = in_one_node(b, j);
    int gpus = (int)j->gpus;
    ch = (struct chooser){.b = b, .job = j, .n = count_all(b), .free = free, .have = have};
    if (!may_take_at_all(&ch.n, j))
        return false;
    ch.found = finds_its_gpus(&ch, one);
    int there = least(free + (int)coming_in_all(b), have);
    if (!ch.found && !hopeless(&ch, there)) {
        list_candidates(&ch);
        for (uint32_t node = 0; one && node < b->c->nodes; node++)
            look_at(&ch, node, gpus - there_on(&ch, node),
                    least(least((int)free_on(b, node), free), gpus));
        if (!one)
            look_at(&ch, BRUTE_NODES, gpus - there, least(free, gpus));
    }
    memcpy(ch.best.which, ch.which, sizeof ch.which);
    *out = ch.best;
    return ch.found;
}

void settle_dues(struct brute *b, const struct counts *before, size_t job,
                 const struct victims_of *v)
{
    const struct brute_job *j = &b->c->jobs[job];
    double all = 0, evicted = 0, given[BRUTE_TENANTS] = {0};
    for (size_t i = 0; i < BRUTE_JOBS; i++)
        if (v->set >> i & 1) {
            evicted += b->leases[v->which[i]].gpus;
            given[b->leases[v->which[i]].tenant] += b->leases[v->which[i]].gpus;
        }
    for (uint32_t t = 0; t < b->c->n_tenants; t++)
        all += may_take_from(before, j, t) ? borrowed_by(before, t) : 0;
    for (uint32_t t = 0; t < b->c->n_tenants; t++)
        if (may_take_from(before, j, t) && borrowed_by(before, t) > 0)
            b->due[t] += evicted * borrowed_by(before, t) / all - given[t];
}
