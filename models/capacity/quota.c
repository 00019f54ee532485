/* Quota: how much a claimant may take.
 *
 * Claimants are leaves of a tree whose inner nodes are the plan's cohorts and whose root is the
 * fleet. Each node v has
 *
 *   nominal_v    a claimant's floor; of a cohort its own and what its members lend:
 *                own + sum over members c of (nominal_c - unlent_c)
 *   unlent_v     max(0, nominal_v - lend_v): nobody outside of v may use it
 *   ceiling_v    nominal_v + borrowing limit; that of a cohort is what the plan says that it may
 *                hold less all floors below it
 *   n_v          what is charged to it, four counts (fleet_internal.h): of a cohort what its
 *                members hold beyond their unlent parts, the sum of max(0, n_c - unlent_c)
 *
 * This is the recursion of cluster queueing systems (Kueue, pkg/cache/scheduler/resource_node.go):
 * what fits a node's unlent part stays there, what is beyond it is charged to its parent, and
 *
 *   available_v = max(0, unlent_v - n_v) + min(ceiling_v - max(unlent_v, n_v), available_parent)
 *
 * With free GPUs F, incoming GPUs (of stopping leases) that nobody has claimed I, and the keep of a
 * node k_v(n) = max(0, unlent_v - n_v), claimant i may start g more when, summing over the nodes
 * off its path to the root,
 *
 *   at each node of its path, charged with what reaches it: promised + g <= ceiling    (ceiling)
 *   taken from free now   <= F     - sum of k_v(tied)                                  (now)
 *   g                     <= F + I - sum of k_v(standing)                              (coming)
 *
 * F less all keeps is what the root has available, and each node on the path adds its own. Without
 * cohorts the nodes off the path are the other claimants, so max(0, floor_j - lend_j - held_j) GPUs
 * stay for each other claimant j and nothing else changes: a flat plan is a tree of one level.
 *
 * Free GPUs must stay for a keep now (GPUs that j itself has just stopped will come back to it and
 * count as its own, hence tied), and again when all that stops has stopped (coming, in which the
 * GPUs of victims are added). So, provided the floors fit the fleet, whoever stays within its own
 * unlent floor finds its GPUs free or on their way, and with floor = ceiling and lend 0 everywhere
 * the claimants are strangers to each other. */
#include "models/capacity/fleet_internal.h"
#include "sim/vec.h"

#include <assert.h>
#include <string.h>

const char *const within_cohort_names[COHORT_POLICIES] = {"never", "lower-priority", "any"};
const char *const within_queue_names[QUEUE_POLICIES] = {"never", "lower-priority",
                                                        "lower-or-newer-equal"};
const char *const may_reclaim_names[RECLAIM_POLICIES] = {"never", "floor", "lower-priority"};

void quotas_by_pool(const struct pool_claim *claims, uint32_t n, struct quota quotas[POOLS_MAX])
{
    memset(quotas, 0, POOLS_MAX * sizeof *quotas);
    for (uint32_t i = 0; i < n; i++)
        quotas[claims[i].pool] = claims[i].quota;
}

void quota_may_reclaim(struct quota *q, enum may_reclaim may)
{
    q->reclaim_within_cohort = may == RECLAIM_NEVER ? COHORT_NEVER : COHORT_ANY;
    q->borrow_within_cohort = may == RECLAIM_LOWER_PRIORITY ? COHORT_LOWER_PRIORITY : COHORT_NEVER;
}

static uint32_t above(uint32_t a, uint32_t b)
{
    return a > b ? a - b : 0;
}

/* ---- the tree ---- */

static uint32_t plus(uint32_t a, uint32_t b)
{
    return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

static struct quota_node *node_at(struct fleet *f, uint32_t node)
{
    return &f->tree.items[node];
}

enum hr_err quota_init(struct fleet *f, const struct cohort *cohorts, size_t n)
{
    if (!vec_push(&f->tree, (struct quota_node){.weight = 1}))
        return HR_NOMEM;
    for (size_t i = 0; i < n; i++) {
        const struct cohort *c = &cohorts[i];
        assert(c->parent <= i);
        struct quota_node node = {.parent = c->parent,
                                  .own_gpus = c->floor_gpus,
                                  .most_gpus = c->ceiling_gpus,
                                  .lend_gpus = c->lend_gpus,
                                  .weight = c->weight > 0 ? c->weight : 1};
        if (!vec_push(&f->tree, node))
            return HR_NOMEM;
    }
    f->n_cohorts = (uint32_t)n;
    return HR_OK;
}

/* Sets what follows from a node's members, which are done, and passes it on to its parent. */
static void close_node(struct fleet *f, struct quota_node *v)
{
    struct quota_node *parent = node_at(f, v->parent);
    v->unlent = above(v->nominal, v->lend_gpus);
    v->ceiling = v->most_gpus == UINT32_MAX      ? UINT32_MAX
                 : v->most_gpus >= v->whole_gpus ? plus(v->nominal, v->most_gpus - v->whole_gpus)
                                                 : above(v->nominal, v->whole_gpus - v->most_gpus);
    parent->nominal += v->nominal - v->unlent;
    parent->whole_gpus += v->whole_gpus;
    f->unlent += v->unlent;
    for (int k = 0; k < QUOTA_COUNTS; k++) {
        f->kept[k] += above(v->unlent, v->n[k]);
        parent->n[k] += above(v->n[k], v->unlent);
    }
}

/* Every derived number anew: claimants are added one by one. */
static void build_tree(struct fleet *f)
{
    f->unlent = 0;
    for (int k = 0; k < QUOTA_COUNTS; k++)
        f->kept[k] = 0;
    for (uint32_t i = 0; i < f->tree.n; i++) {
        struct quota_node *v = node_at(f, i);
        v->nominal = v->whole_gpus = v->own_gpus;
        for (int k = 0; k < QUOTA_COUNTS && i <= f->n_cohorts; k++)
            v->n[k] = 0;
    }
    for (uint32_t i = (uint32_t)f->tree.n; i-- > 1;)
        close_node(f, node_at(f, i));
}

enum hr_err quota_add(struct fleet *f, const struct quota *q)
{
    assert(q->cohort <= f->n_cohorts);
    struct quota_node node = {.parent = q->cohort,
                              .own_gpus = q->floor_gpus,
                              .most_gpus = q->ceiling_gpus,
                              .lend_gpus = q->lend_gpus,
                              .weight = q->weight > 0 ? q->weight : 1};
    if (!vec_push(&f->tree, node))
        return HR_NOMEM;
    build_tree(f);
    return HR_OK;
}

/* ---- how much ---- */

static bool over_ceiling(const struct quota_node *v, uint32_t held, uint32_t gpus)
{
    return gpus > above(v->ceiling, held);
}

/* What reaches a node, which is a request less what fits the unlent parts below, must fit under its
 * ceiling. */
uint64_t quota_headroom(const struct fleet *f, uint32_t claimant)
{
    uint64_t below = 0, most = UINT64_MAX;
    const struct quota_node *v;
    for (uint32_t i = quota_node(f, claimant); i != COHORT_ROOT; i = v->parent) {
        v = &f->tree.items[i];
        uint64_t here = below + above(v->ceiling, v->n[QUOTA_PROMISED]);
        most = here < most ? here : most;
        below += above(v->unlent, v->n[QUOTA_PROMISED]);
    }
    return most;
}

enum grant quota_ceiling(const struct fleet *f, uint32_t claimant, uint32_t gpus)
{
    uint64_t others = f->unlent; /* never free for it, whoever runs */
    uint32_t rest = gpus;
    const struct quota_node *v;
    for (uint32_t i = quota_node(f, claimant); i != COHORT_ROOT; i = v->parent) {
        v = &f->tree.items[i];
        if (over_ceiling(v, 0, rest))
            return GRANT_NEVER;
        rest = above(rest, v->unlent);
        others -= v->unlent;
    }
    if (gpus + others > f->startable)
        return GRANT_NEVER;
    return gpus <= quota_headroom(f, claimant) ? GRANT_OK : GRANT_QUOTA;
}

/* What must stay for others of so many GPUs. */
static uint32_t less_kept(const struct fleet *f, uint32_t claimant, uint32_t gpus,
                          enum quota_count k)
{
    uint64_t kept = f->kept[k];
    const struct quota_node *v;
    for (uint32_t i = quota_node(f, claimant); i != COHORT_ROOT; i = v->parent) {
        v = &f->tree.items[i];
        kept -= above(v->unlent, v->n[k]);
    }
    return gpus > kept ? (uint32_t)(gpus - kept) : 0;
}

uint32_t quota_free(const struct fleet *f, uint32_t claimant)
{
    return less_kept(f, claimant, f->nodes.n_free, QUOTA_TIED);
}

uint32_t quota_coming(const struct fleet *f, uint32_t claimant, uint32_t more)
{
    return less_kept(f, claimant, f->nodes.n_free + f->n_unclaimed + more, QUOTA_STANDING);
}

/* ---- charging ---- */

/* So many GPUs more or less in a count of a claimant, and of what is beyond unlent parts above. */
static void change(struct fleet *f, uint32_t claimant, enum quota_count k, int64_t gpus)
{
    for (uint32_t i = quota_node(f, claimant); i != COHORT_ROOT && gpus != 0;) {
        struct quota_node *v = node_at(f, i);
        uint32_t before = v->n[k], now = (uint32_t)(before + gpus);
        assert(gpus > 0 || before >= (uint64_t)-gpus);
        v->n[k] = now;
        f->kept[k] += above(v->unlent, now);
        f->kept[k] -= above(v->unlent, before);
        gpus = (int64_t)above(now, v->unlent) - above(before, v->unlent);
        i = v->parent;
    }
}

bool quota_charge(struct fleet *f, uint32_t claimant, uint32_t gpus)
{
    const struct quota_node *v = node_at(f, quota_node(f, claimant));
    bool borrows = gpus > above(v->nominal, v->n[QUOTA_USAGE]);
    for (int k = 0; k < QUOTA_COUNTS; k++)
        change(f, claimant, (enum quota_count)k, gpus);
    return borrows;
}

void quota_stop(struct fleet *f, uint32_t claimant, uint32_t gpus)
{
    const struct quota_node *v = node_at(f, quota_node(f, claimant));
    change(f, claimant, QUOTA_STANDING, -(int64_t)gpus);
    if (v->n[QUOTA_STANDING] <= v->nominal) /* it borrows no more */
        f->victims.of.items[claimant].due = 0;
}

void quota_release(struct fleet *f, uint32_t claimant, uint32_t gpus)
{
    change(f, claimant, QUOTA_USAGE, -(int64_t)gpus);
    change(f, claimant, QUOTA_PROMISED, -(int64_t)gpus);
}

void quota_promise(struct fleet *f, uint32_t claimant, int64_t gpus)
{
    change(f, claimant, QUOTA_PROMISED, gpus);
}

void quota_untie(struct fleet *f, uint32_t claimant, uint32_t gpus)
{
    change(f, claimant, QUOTA_TIED, -(int64_t)gpus);
}

void quota_suppose(struct fleet *f, uint32_t claimant, uint32_t gpus)
{
    change(f, claimant, QUOTA_STANDING, -(int64_t)gpus);
    change(f, claimant, QUOTA_USAGE, -(int64_t)gpus);
    change(f, claimant, QUOTA_PROMISED, -(int64_t)gpus);
}

void quota_undo(struct fleet *f, uint32_t claimant, uint32_t gpus)
{
    change(f, claimant, QUOTA_STANDING, gpus);
    change(f, claimant, QUOTA_USAGE, gpus);
    change(f, claimant, QUOTA_PROMISED, gpus);
}

/* ---- checking ---- */

/* A node's count and keep from its members: the obvious sums. */
bool quota_consistent(const struct fleet *f)
{
    uint64_t kept[QUOTA_COUNTS] = {0};
    for (uint32_t i = 1; i < f->tree.n; i++) {
        const struct quota_node *v = &f->tree.items[i];
        for (int k = 0; k < QUOTA_COUNTS; k++) {
            uint64_t members = 0;
            for (uint32_t c = i + 1; c < f->tree.n && i <= f->n_cohorts; c++)
                if (f->tree.items[c].parent == i)
                    members += above(f->tree.items[c].n[k], f->tree.items[c].unlent);
            if (i <= f->n_cohorts && members != v->n[k])
                return false;
            kept[k] += above(v->unlent, v->n[k]);
        }
    }
    for (int k = 0; k < QUOTA_COUNTS; k++)
        if (kept[k] != f->kept[k])
            return false;
    return true;
}
