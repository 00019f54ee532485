/* Consolidation: every set of leases on every node, every way to pack it elsewhere.
 *
 * Asked for where a start within a node finds its GPUs free but on no node, coming ones included.
 * Whole leases within the node may go, smaller than the start, of at most its priority,
 * preemptible, if all fit at once into what is free on other nodes, each into one. Fewest leases,
 * then fewest GPUs, then the lowest node; of equal sets on a node the one that comes first when its
 * leases are listed from the largest, equal ones by number. */
#include "brute_internal.h"

struct moving {
    struct brute *b;
    size_t which[BRUTE_JOBS]; /* the movers of a node, the largest first */
    size_t n;
    unsigned best;
    size_t best_leases;
    uint32_t best_gpus;
};

static bool packs(const struct moving *m, unsigned set, uint32_t there[BRUTE_NODES])
{
    if (set == 0)
        return true;
    unsigned i = (unsigned)__builtin_ctz(set);
    uint32_t gpus = m->b->leases[m->which[i]].gpus;
    for (uint32_t node = 0; node < m->b->c->nodes; node++) {
        if (there[node] < gpus)
            continue;
        there[node] -= gpus;
        bool ok = packs(m, set & (set - 1), there);
        there[node] += gpus;
        if (ok)
            return true;
    }
    return false;
}

static bool larger(const struct brute *b, size_t x, size_t y)
{
    uint32_t gx = b->leases[x].gpus, gy = b->leases[y].gpus;
    return gx != gy ? gx > gy : x < y;
}

static void list_movers(struct moving *m, const struct brute_job *j, uint32_t node)
{
    const struct brute *b = m->b;
    int32_t priority = job_priority(b->c, j);
    m->n = 0;
    for (size_t i = 0; i < b->n_leases; i++) {
        const struct lease_of *l = &b->leases[i];
        simtime_ns loss;
        if (l->gpus == 0 || l->on[node] != l->gpus || l->gpus >= j->gpus ||
            job_priority(b->c, &b->c->jobs[l->job]) > priority ||
            !may_lose(m->b, i, priority, &loss))
            continue;
        size_t at = m->n++;
        for (; at > 0 && larger(b, i, m->which[at - 1]); at--)
            m->which[at] = m->which[at - 1];
        m->which[at] = i;
    }
}

static bool better(const struct moving *m, unsigned set, size_t leases, uint32_t gpus)
{
    if (m->best_leases != leases)
        return m->best_leases == 0 || leases < m->best_leases;
    if (gpus != m->best_gpus)
        return gpus < m->best_gpus;
    unsigned differ = set ^ m->best;
    return set & differ & -differ; /* the first in which they differ is its */
}

static bool best_on(struct moving *m, uint32_t node, uint32_t want)
{
    m->best_leases = 0;
    for (unsigned set = 1; set < 1u << m->n; set++) {
        uint32_t there[BRUTE_NODES], gpus = 0;
        for (uint32_t k = 0; k < m->b->c->nodes; k++)
            there[k] = k == node ? 0 : free_on(m->b, k);
        for (size_t i = 0; i < m->n; i++)
            gpus += set >> i & 1 ? m->b->leases[m->which[i]].gpus : 0;
        size_t leases = (size_t)__builtin_popcount(set);
        if (gpus < want || !better(m, set, leases, gpus) || !packs(m, set, there))
            continue;
        m->best = set;
        m->best_leases = leases;
        m->best_gpus = gpus;
    }
    return m->best_leases > 0;
}

bool choose_moves(struct brute *b, size_t job, struct victims_of *out)
{
    const struct brute_job *j = &b->c->jobs[job];
    size_t leases = 0;
    uint32_t gpus = 0;
    if (!in_one_node(b, j))
        return false;
    for (uint32_t node = 0; node < b->c->nodes; node++)
        if (free_on(b, node) + coming_on(b, node) >= j->gpus)
            return false;
    for (uint32_t node = 0; node < b->c->nodes && j->gpus <= b->c->gpus_per_node; node++) {
        struct moving m = {.b = b};
        list_movers(&m, j, node);
        if (!best_on(&m, node, j->gpus - free_on(b, node)) ||
            (leases > 0 &&
             (m.best_leases > leases || (m.best_leases == leases && m.best_gpus >= gpus))))
            continue;
        leases = m.best_leases;
        gpus = m.best_gpus;
        *out = (struct victims_of){.set = m.best, .node = node};
        for (size_t i = 0; i < m.n; i++)
            out->which[i] = m.which[i];
    }
    return leases > 0;
}
