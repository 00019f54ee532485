/* Each rule of victims by hand, and against its definition carried out slowly: every set of victims
 * where a cost is a sum, the procedure step by step where it is one. */
#include "draw.h"
#include "toy_fleet.h"

#include <criterion/criterion.h>

#define NO_LIMIT UINT32_MAX

static void open_rule(struct rig *r, uint32_t gpus, enum victim_rule rule)
{
    const struct rig_plan plan = {.nodes = gpus, .gpus_per_node = 1, .victims = rule};
    rig_init(r, &plan);
}

static lease_id hold(struct toy *t, uint32_t gpus, int32_t priority, uint32_t tag)
{
    const struct ask ask = {
        .shape = {.gpus = gpus, .kind = SHAPE_ANY}, .priority = priority, .tag = tag};
    lease_id l;
    cr_assert_eq(fleet_acquire(t->rig->fleet, t->number, &ask, GPU_TRAINING, &l), GRANT_OK);
    return l;
}

static void evicted_are(const struct toy *t, uint32_t n, const lease_id *want)
{
    cr_assert_eq(t->n_evicted, n, "%u evicted", t->n_evicted);
    for (uint32_t i = 0; i < n; i++)
        cr_assert_eq(t->evicted[i].lease, want[i]);
}

/* ---- by hand ---- */

/* Order: 1 (priority 0, later), 0, 2. Taken: 1 and 0, 6 GPUs for 4; walked back, 1 is put back. */
Test(victim_rules, lowest_priority_goes_and_what_is_not_needed_is_put_back)
{
    struct rig r;
    open_rule(&r, 10, VICTIM_LOWEST_PRIORITY);
    struct toy *t = rig_add(&r, &toy_low), *service = rig_add(&r, &toy_high);
    hold(t, 4, -1, 0);
    rig_run(&r, SIM_S);
    hold(t, 2, -1, 0);
    rig_run(&r, 2 * SIM_S);
    hold(t, 4, 0, 0);
    toy_reclaim(service, SHAPE_ANY, 4);
    evicted_are(t, 1, (const lease_id[]){0});
    rig_fini(&r);
}

/* Borrowers of other claimants go before its own, however low its own are. */
Test(victim_rules, lowest_priority_spares_own_leases_while_others_borrow)
{
    struct rig r;
    struct quota q = toy_high;
    q.within_queue = QUEUE_LOWER_PRIORITY;
    open_rule(&r, 2, VICTIM_LOWEST_PRIORITY);
    struct toy *other = rig_add(&r, &toy_low), *t = rig_add(&r, &q);
    hold(t, 1, -9, 0);
    hold(other, 1, 0, 0);
    toy_reclaim(t, SHAPE_ANY, 1);
    evicted_are(other, 1, (const lease_id[]){1});
    toy_reclaim(t, SHAPE_ANY, 1);
    evicted_are(t, 1, (const lease_id[]){0});
    rig_fini(&r);
}

Test(victim_rules, smallest_gang_is_the_smallest_that_suffices)
{
    const struct {
        uint32_t want, n;
        lease_id victims[2];
    } cases[] = {{4, 1, {2}}, {1, 1, {1}}, {6, 1, {0}}, {10, 2, {1, 0}}, {12, 2, {2, 0}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rig r;
        open_rule(&r, 18, VICTIM_SMALLEST_GANG);
        struct toy *t = rig_add(&r, &toy_low), *service = rig_add(&r, &toy_high);
        const uint32_t sizes[] = {8, 2, 4, 4};
        for (int k = 0; k < 4; k++)
            hold(t, sizes[k], 0, 0);
        toy_reclaim(service, SHAPE_ANY, cases[i].want);
        cr_assert_eq(t->n_evicted, cases[i].n, "case %zu", i);
        uint32_t seen = 0;
        for (uint32_t k = 0; k < cases[i].n; k++)
            seen |= 1u << t->evicted[k].lease;
        for (uint32_t k = 0; k < cases[i].n; k++)
            cr_assert(seen >> cases[i].victims[k] & 1, "case %zu", i);
        rig_fini(&r);
    }
}

/* 70 over a floor of 10 and 30 over none: 60 to 30. Thirty starts of one GPU each cost them 20 and
 * 10; one of thirty GPUs the same. */
Test(victim_rules, proportional_takes_in_proportion_to_what_is_borrowed)
{
    for (int at_once = 0; at_once < 2; at_once++) {
        struct rig r;
        struct quota a = {.floor_gpus = 10, .lend_gpus = 10, .ceiling_gpus = NO_LIMIT};
        open_rule(&r, 100, VICTIM_PROPORTIONAL);
        struct toy *x = rig_add(&r, &a), *y = rig_add(&r, &toy_low),
                   *service = rig_add(&r, &toy_high);
        for (int i = 0; i < 70; i++)
            hold(x, 1, 0, 0);
        for (int i = 0; i < 30; i++)
            hold(y, 1, 0, 0);
        for (int i = 0; i < (at_once ? 1 : 30); i++) {
            toy_reclaim(service, SHAPE_ANY, at_once ? 30 : 1);
            if (!at_once && i == 2)
                cr_assert(x->n_evicted == 2 && y->n_evicted == 1);
        }
        cr_assert(x->n_evicted == 20 && y->n_evicted == 10, "%u and %u", x->n_evicted,
                  y->n_evicted);
        rig_fini(&r);
    }
}

/* A holds 8, B of weight 2 holds 4, C starts one GPU after the other: from A until both have 4, as
 * long as C's share is at most what A keeps. */
Test(victim_rules, fair_share_takes_from_the_highest_share_until_it_is_even)
{
    struct rig r;
    struct quota heavy = {.ceiling_gpus = NO_LIMIT, .weight = 2};
    struct quota asking = {.ceiling_gpus = NO_LIMIT, .reclaim_within_cohort = COHORT_ANY};
    open_rule(&r, 12, VICTIM_FAIR_SHARE);
    struct toy *a = rig_add(&r, &toy_low), *b = rig_add(&r, &heavy), *c = rig_add(&r, &asking);
    for (int i = 0; i < 8; i++)
        hold(a, 1, 0, 0);
    for (int i = 0; i < 4; i++)
        hold(b, 1, 0, 0);
    for (int i = 0; i < 4; i++)
        toy_reclaim(c, SHAPE_ANY, 1);
    cr_assert_eq(toy_try_reclaim(c, SHAPE_ANY, 1), GRANT_ROOM);
    cr_assert(a->n_evicted == 4 && b->n_evicted == 0);
    rig_fini(&r);
}

/* A gang of 4 is all that A has: C's share would never be below what A keeps. The second strategy
 * takes it while C ends below what A had. */
Test(victim_rules, fair_share_takes_a_whole_gang_by_its_second_strategy)
{
    for (uint32_t held = 0; held < 5; held++) {
        struct rig r;
        struct quota asking = {.ceiling_gpus = NO_LIMIT, .reclaim_within_cohort = COHORT_ANY};
        open_rule(&r, 4 + held, VICTIM_FAIR_SHARE);
        struct toy *a = rig_add(&r, &toy_low), *c = rig_add(&r, &asking);
        hold(a, 4, 0, 0);
        if (held)
            hold(c, held, 0, 0);
        bool granted = toy_try_reclaim(c, SHAPE_ANY, 1) == GRANT_OK;
        cr_assert_eq(granted, held + 1 < 4, "C holds %u", held);
        rig_fini(&r);
    }
}

/* ---- fields at random ---- */

enum { OWNERS = 3, LEASES = 9 };

struct field {
    enum victim_rule rule;
    uint32_t n, gpus[LEASES], owner[LEASES];
    int32_t priority[LEASES];
    simtime_ns since[LEASES];
    uint64_t loss[LEASES];
    uint32_t floor[OWNERS], weight[OWNERS], held[OWNERS];
    uint32_t free, want; /* free GPUs; GPUs that the service asks for */
};

static void draw_field(uint64_t *seed, struct field *f, bool floors)
{
    f->n = 1 + draw_below(seed, LEASES);
    for (uint32_t c = 0; c < OWNERS; c++) {
        f->floor[c] = floors ? draw_below(seed, 6) : 0;
        f->weight[c] = 1 + draw_below(seed, 3);
        f->held[c] = 0;
    }
    uint32_t total = 0;
    for (uint32_t i = 0; i < f->n; i++) {
        f->gpus[i] = 1 + draw_below(seed, 4);
        f->owner[i] = draw_below(seed, OWNERS);
        f->priority[i] = -(int32_t)draw_below(seed, 3);
        f->since[i] = i / 2 * SIM_S;
        f->loss[i] = draw_below(seed, 6);
        f->held[f->owner[i]] += f->gpus[i];
        total += f->gpus[i];
    }
    f->free = draw_below(seed, 3);
    f->want = f->free + 1 + draw_below(seed, total);
}

/* Plays it: bit i of the result is lease i's eviction, or 0 when the start was refused. */
static uint32_t play(const struct field *f)
{
    struct rig r;
    struct toy *owners[OWNERS];
    uint32_t gpus = f->free, set = 0;
    for (uint32_t i = 0; i < f->n; i++)
        gpus += f->gpus[i];
    open_rule(&r, gpus, f->rule);
    for (uint32_t c = 0; c < OWNERS; c++) {
        struct quota q = {.floor_gpus = f->floor[c],
                          .lend_gpus = f->floor[c],
                          .ceiling_gpus = NO_LIMIT,
                          .weight = f->weight[c]};
        owners[c] = rig_add(&r, &q);
        owners[c]->loss = f->loss;
    }
    struct toy *service = rig_add(&r, &toy_high);
    for (uint32_t i = 0; i < f->n; i++) {
        rig_run(&r, f->since[i]);
        hold(owners[f->owner[i]], f->gpus[i], f->priority[i], i);
    }
    bool granted = toy_try_reclaim(service, SHAPE_ANY, f->want) == GRANT_OK;
    for (uint32_t c = 0; c < OWNERS; c++)
        for (uint32_t i = 0; i < owners[c]->n_evicted; i++)
            set |= 1u << owners[c]->evicted[i].lease;
    cr_assert_eq(granted, set != 0);
    rig_fini(&r);
    return set;
}

/* ---- costs that are sums: every set ---- */

static void sums_of(const struct field *f, uint32_t set, uint64_t cost[2])
{
    uint64_t gpus = 0, loss = 0, n = 0;
    for (uint32_t i = 0; i < f->n; i++)
        if (set >> i & 1) {
            gpus += f->gpus[i];
            loss += f->loss[i];
            n++;
        }
    const bool by_loss = f->rule == VICTIM_LEAST_WORK_LOST, small = f->rule == VICTIM_SMALLEST_GANG;
    cost[0] = by_loss ? loss : small ? n : gpus;
    cost[1] = by_loss || small ? gpus : loss;
}

static uint32_t gpus_of(const struct field *f, uint32_t set)
{
    uint32_t gpus = 0;
    for (uint32_t i = 0; i < f->n; i++)
        gpus += set >> i & 1 ? f->gpus[i] : 0;
    return gpus;
}

Test(victim_rules, sums_are_least_over_all_sets_of_mixed_sizes)
{
    static const enum victim_rule rules[] = {VICTIM_LEAST_WORK_LOST, VICTIM_LEAST_OVER_RECLAIM,
                                             VICTIM_SMALLEST_GANG};
    uint64_t seed = 21;
    uint32_t chosen = 0;
    for (int k = 0; k < 1500; k++) {
        struct field f = {.rule = rules[k % 3]};
        draw_field(&seed, &f, false);
        uint32_t set = play(&f), best = 0;
        uint64_t least[2] = {0, 0}, cost[2];
        for (uint32_t s = 1; s < 1u << f.n; s++) {
            sums_of(&f, s, cost);
            if (gpus_of(&f, s) + f.free >= f.want &&
                (!best || cost[0] < least[0] || (cost[0] == least[0] && cost[1] < least[1]))) {
                best = s;
                least[0] = cost[0];
                least[1] = cost[1];
            }
        }
        cr_assert_eq(set != 0, best != 0);
        sums_of(&f, set, cost);
        cr_assert(cost[0] == least[0] && cost[1] == least[1], "case %d", k);
        chosen += set != 0;
    }
    cr_assert_gt(chosen, 1000);
}

/* ---- procedures, step by step ---- */

/* What is left of the field in a trial. */
struct trial {
    const struct field *f;
    uint32_t taken, gone[OWNERS]; /* leases; GPUs of their owners */
    uint32_t refused;             /* by the first strategy of fair-share */
};

static uint32_t borrowed(const struct trial *t, uint32_t c)
{
    uint32_t left = t->f->held[c] - t->gone[c];
    return left > t->f->floor[c] ? left - t->f->floor[c] : 0;
}

static double share(const struct trial *t, uint32_t c, uint32_t less)
{
    uint32_t b = borrowed(t, c);
    return (b > less ? b - less : 0) / (double)t->f->weight[c];
}

/* Which of two leases of the field the rule takes first, among those of one claimant where it goes
 * by claimant. */
static bool before(const struct field *f, uint32_t i, uint32_t j)
{
    if (f->rule != VICTIM_PROPORTIONAL && f->priority[i] != f->priority[j])
        return f->priority[i] < f->priority[j];
    return f->since[i] != f->since[j] ? f->since[i] > f->since[j] : i < j;
}

static double part(const struct field *f, uint32_t c)
{
    const struct trial fresh = {.f = f};
    uint32_t all = 0;
    for (uint32_t k = 0; k < OWNERS; k++)
        all += borrowed(&fresh, k);
    return all ? (double)(f->want - f->free) * borrowed(&fresh, c) / all : 0;
}

/* Whether claimant a is to give before b. */
static bool gives_first(const struct trial *t, uint32_t a, uint32_t b)
{
    const struct trial fresh = {.f = t->f};
    if (t->f->rule == VICTIM_FAIR_SHARE)
        return share(t, a, 0) > share(t, b, 0);
    double x = part(t->f, a) - t->gone[a], y = part(t->f, b) - t->gone[b];
    return x > y || (x == y && borrowed(&fresh, a) > borrowed(&fresh, b));
}

/* The next lease among a set, NONE (n) when there is none. */
static uint32_t next(const struct trial *t, uint32_t among)
{
    const struct field *f = t->f;
    uint32_t best = f->n;
    for (uint32_t i = 0; i < f->n; i++) {
        if (!(among >> i & 1) || borrowed(t, f->owner[i]) == 0)
            continue;
        bool other =
            best < f->n && f->owner[i] != f->owner[best] && f->rule != VICTIM_LOWEST_PRIORITY;
        if (best == f->n || (other ? gives_first(t, f->owner[i], f->owner[best]) ||
                                         (!gives_first(t, f->owner[best], f->owner[i]) &&
                                          f->owner[i] < f->owner[best])
                                   : before(f, i, best)))
            best = i;
    }
    return best;
}

static void take(struct trial *t, uint32_t i, uint32_t *order, uint32_t *n)
{
    t->taken |= 1u << i;
    t->gone[t->f->owner[i]] += t->f->gpus[i];
    order[(*n)++] = i;
}

/* The set that the rule's procedure ends with, 0 when it does not suffice. */
static uint32_t procedure(const struct field *f)
{
    struct trial t = {.f = f};
    uint32_t order[LEASES], n = 0, all = (1u << f->n) - 1, i;
    double mine = f->want; /* the service's share: no floor, weight 1, holds nothing */
    bool fair = f->rule == VICTIM_FAIR_SHARE;
    while (gpus_of(f, t.taken) + f->free < f->want &&
           (i = next(&t, all & ~t.taken & ~t.refused)) < f->n) {
        if (fair && mine > share(&t, f->owner[i], f->gpus[i]))
            t.refused |= 1u << i;
        else
            take(&t, i, order, &n);
    }
    uint32_t retry = fair ? t.refused : 0;
    while (gpus_of(f, t.taken) + f->free < f->want && retry && (i = next(&t, retry)) < f->n) {
        for (uint32_t k = 0; k < f->n; k++) /* one a claimant */
            if (f->owner[k] == f->owner[i])
                retry &= ~(1u << k);
        if (mine < share(&t, f->owner[i], 0))
            take(&t, i, order, &n);
    }
    if (gpus_of(f, t.taken) + f->free < f->want)
        return 0;
    while (n-- > 0)
        if (gpus_of(f, t.taken & ~(1u << order[n])) + f->free >= f->want)
            t.taken &= ~(1u << order[n]);
    return t.taken;
}

Test(victim_rules, procedures_are_carried_out_to_the_letter)
{
    static const enum victim_rule rules[] = {VICTIM_LOWEST_PRIORITY, VICTIM_PROPORTIONAL,
                                             VICTIM_FAIR_SHARE};
    uint64_t seed = 22;
    uint32_t chosen[3] = {0}, refused[3] = {0};
    for (int k = 0; k < 3000; k++) {
        struct field f = {.rule = rules[k % 3]};
        draw_field(&seed, &f, true);
        if (k % 3 == 2 && f.want > 8)
            f.want = f.free + 1 + f.want % 4; /* a share that something is above */
        uint32_t set = play(&f), want = procedure(&f);
        cr_assert_eq(set, want, "case %d, rule %s: %x, expected %x", k, victim_rule_names[f.rule],
                     set, want);
        chosen[k % 3] += set != 0;
        refused[k % 3] += set == 0;
    }
    for (int i = 0; i < 3; i++)
        cr_assert(chosen[i] > 200 && refused[i] > 50, "%u and %u", chosen[i], refused[i]);
}
