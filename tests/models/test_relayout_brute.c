/* Layouts, larger instances and re-laid GPUs against a reference that is slow and obvious: lists of
 * instances, one event after the other. Small pools of random layouts and requests start every
 * request at the same time on as many slices. */
#include "draw.h"
#include "mig_kit.h"
#include "toy_fleet.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { GPUS = 6, KINDS = 4, REQUESTS = 60, TICK_MS = 10, RELAY = 3737, NEVER = 1 << 30 };

static const char *const texts[KINDS] = {
    "1g.10gb@0 1g.10gb@1 1g.10gb@2 1g.10gb@3 1g.10gb@4 1g.10gb@5 1g.10gb@6", "3g.40gb@0 3g.40gb@4",
    "2g.20gb@0 2g.20gb@2 3g.40gb@4", "7g.80gb@0"};
static const struct {
    const char *name;
    int memory, compute;
} profiles[] = {
    {"1g.10gb", 1, 1}, {"2g.20gb", 2, 2}, {"3g.40gb", 4, 3}, {"4g.40gb", 4, 4}, {"7g.80gb", 8, 7}};
enum { PROFILES = 5 };

/* What a layout has of each profile. */
static const int has[KINDS][PROFILES] = {
    {7, 0, 0, 0, 0}, {0, 0, 2, 0, 0}, {0, 2, 1, 0, 0}, {0, 0, 0, 0, 1}};

struct request {
    int arrive, length, profile; /* ticks */
    bool exact;
    int start, end, granted; /* NEVER: it waits */
};

struct game {
    int gpus, keep;
    int first[KINDS]; /* GPUs that have it */
    bool target[KINDS], larger;
    struct request requests[REQUESTS];
    int n;
};

/* ---- the reference ---- */

struct gpu {
    int kind, used[PROFILES], laid, kept; /* laid: being re-laid until then, or NEVER */
};

struct table {
    const struct game *g;
    struct gpu gpus[GPUS];
    struct request requests[REQUESTS];
    int on[REQUESTS], relayouts;
};

static int free_on(const struct gpu *gpu, int profile)
{
    return gpu->laid == NEVER ? has[gpu->kind][profile] - gpu->used[profile] : 0;
}

static bool try_profile(struct table *t, int r, int profile, int now)
{
    for (int i = 0; i < t->g->gpus; i++)
        if (free_on(&t->gpus[i], profile) > 0) {
            t->gpus[i].used[profile]++;
            t->on[r] = i;
            t->requests[r].start = now;
            t->requests[r].end = now + t->requests[r].length;
            t->requests[r].granted = profile;
            return true;
        }
    return false;
}

/* Profiles here are in order of memory, then of compute. */
static void try_request(struct table *t, int r, int now)
{
    const struct request *q = &t->requests[r];
    bool started = try_profile(t, r, q->profile, now);
    for (int p = q->profile + 1; p < PROFILES && !started && t->g->larger && !q->exact; p++)
        started = try_profile(t, r, p, now);
}

static bool idle(const struct gpu *gpu, int now)
{
    int used = 0;
    for (int p = 0; p < PROFILES; p++)
        used += gpu->used[p];
    return used == 0 && gpu->laid == NEVER && gpu->kept <= now;
}

/* Re-lays one GPU, if that meets anything. */
static bool relay(struct table *t, int now)
{
    int unmet[PROFILES] = {0}, best = -1, most = 0;
    for (int r = 0; r < t->g->n; r++)
        unmet[t->requests[r].profile] +=
            t->requests[r].arrive <= now && t->requests[r].start == NEVER;
    for (int p = 0; p < PROFILES; p++)
        for (int i = 0; i < t->g->gpus; i++) {
            if (free_on(&t->gpus[i], p) > 0)
                unmet[p] = 0;
            if (t->gpus[i].laid != NEVER)
                unmet[p] -= has[t->gpus[i].kind][p];
        }
    for (int k = 0; k < KINDS; k++) {
        int met = 0;
        for (int p = 0; p < PROFILES && t->g->target[k]; p++)
            for (int i = 0; i < has[k][p] && i < unmet[p]; i++)
                met += profiles[p].memory;
        if (met > most) {
            most = met;
            best = k;
        }
    }
    for (int i = 0; i < t->g->gpus && best >= 0; i++)
        if (idle(&t->gpus[i], now)) {
            t->gpus[i].kind = best;
            t->gpus[i].laid = now + RELAY;
            t->relayouts++;
            return true;
        }
    return false;
}

static void pass(struct table *t, int now)
{
    for (int r = 0; r < t->g->n; r++)
        if (t->requests[r].arrive <= now && t->requests[r].start == NEVER)
            try_request(t, r, now);
    while (relay(t, now))
        continue;
}

/* Tick by tick: GPUs come back, requests end and come, and all who wait try. */
static void play(struct table *t, int end)
{
    for (int now = 0; now < end; now++) {
        bool changed = false;
        for (int i = 0; i < t->g->gpus; i++) {
            struct gpu *gpu = &t->gpus[i];
            changed |= gpu->laid == now || gpu->kept == now;
            if (gpu->laid == now) {
                gpu->laid = NEVER;
                gpu->kept = now + t->g->keep;
            }
        }
        for (int r = 0; r < t->g->n; r++) {
            struct request *q = &t->requests[r];
            changed |= q->arrive == now || q->end == now;
            if (q->end == now)
                t->gpus[t->on[r]].used[q->granted]--;
        }
        if (changed)
            pass(t, now);
    }
}

/* ---- the fleet ---- */

struct seat {
    struct rig rig;
    const struct game *g;
    const struct mig_tables *t;
    struct request requests[REQUESTS];
    lease_id lease[REQUESTS];
    int come;
};

static int tick(simtime_ns now)
{
    return (int)(now / (TICK_MS * SIM_MS));
}

static struct ask ask_of(const struct seat *s, int r)
{
    struct ask ask = {.shape = mig_kit_slice(s->t, profiles[s->requests[r].profile].name)};
    ask.shape.exact = s->requests[r].exact;
    return ask;
}

static int granted(const struct seat *s, int r)
{
    int p = 0;
    while (profiles[p].memory != (int)fleet_lease_gpus(s->rig.fleet, s->lease[r]) ||
           profiles[p].compute != (int)fleet_lease_compute(s->rig.fleet, s->lease[r]))
        p++;
    return p;
}

static void turn(struct toy *toy, simtime_ns now)
{
    struct seat *s = toy->context;
    memset(toy->wants, 0, sizeof toy->wants);
    for (int r = 0; r < s->come; r++) {
        struct ask ask = ask_of(s, r);
        if (s->requests[r].start != NEVER)
            continue;
        if (fleet_acquire(s->rig.fleet, toy->number, &ask, GPU_TRAINING, &s->lease[r]) ==
            GRANT_OK) {
            s->requests[r].start = tick(now);
            s->requests[r].end = s->requests[r].start + s->requests[r].length;
            s->requests[r].granted = granted(s, r);
        } else {
            toy->wants[ask.shape.profile]++;
        }
    }
}

/* Requests come and end at whole ticks; what is re-laid is so within one. */
static uint64_t replay(struct seat *s, const struct rig_plan *plan, int end)
{
    rig_init(&s->rig, plan);
    struct toy *toy = rig_add(&s->rig, &toy_low);
    toy->context = s;
    toy->turn = turn;
    for (int now = 0; now < end; now++) {
        bool changed = false;
        cr_assert_eq(engine_run(s->rig.engine, (simtime_ns)now * TICK_MS * SIM_MS), HR_OK);
        for (int r = 0; r < s->g->n; r++)
            changed |= s->requests[r].arrive == now || s->requests[r].end == now;
        if (!changed)
            continue;
        rig_run(&s->rig, (simtime_ns)now * TICK_MS * SIM_MS);
        for (int r = 0; r < s->g->n; r++) {
            if (s->requests[r].end == now)
                fleet_stop_at(s->rig.fleet, s->lease[r], engine_now(s->rig.engine), 0);
            s->come += s->requests[r].arrive == now;
        }
        fleet_want_pass(s->rig.fleet);
        rig_run(&s->rig, engine_now(s->rig.engine) + 10);
    }
    rig_run(&s->rig, (simtime_ns)end * TICK_MS * SIM_MS - 1);
    uint64_t relayouts = fleet_churn(s->rig.fleet)->relayouts;
    rig_fini(&s->rig);
    return relayouts;
}

/* ---- the comparison ---- */

/* Layouts of the first GPUs, which to re-lay to, requests by arrival. */
static void draw_game(struct game *g, uint64_t *seed)
{
    *g = (struct game){.gpus = 1 + (int)draw_below(seed, GPUS)};
    for (int i = 0; i < g->gpus; i++)
        g->first[draw_below(seed, KINDS)]++;
    for (int k = 0; k < KINDS; k++)
        g->target[k] = draw_below(seed, 3) > 0;
    g->larger = draw_below(seed, 2);
    g->keep = draw_below(seed, 2) ? 0 : 20000 + (int)draw_below(seed, 7);
    g->n = REQUESTS;
    int crowded = 1 + (int)draw_below(seed, 4);
    for (int r = 0, at = 1; r < g->n; r++) {
        at += 1 + (int)draw_below(seed, 3000u / (uint32_t)crowded);
        g->requests[r] = (struct request){.arrive = at,
                                          .length = 501 + (int)draw_below(seed, 12000),
                                          .profile = (int)draw_below(seed, PROFILES),
                                          .exact = draw_below(seed, 4) == 0,
                                          .start = NEVER,
                                          .end = NEVER};
    }
}

static void rig_plan_for(const struct game *g, const struct mig_tables *t,
                         struct mig_kit_layout *const kinds[], struct slice_layout *layouts,
                         struct rig_plan *plan)
{
    *plan = rig_plan_of(1, VICTIM_LEAST_WORK_LOST);
    plan->gpus_per_node = (uint32_t)g->gpus;
    plan->teardown_s = plan->scrub_s = 0;
    for (int k = 0; k < KINDS; k++)
        layouts[k] = (struct slice_layout){.mig = &kinds[k]->tables,
                                           .gpus = (uint32_t)g->first[k],
                                           .fixed = true,
                                           .target = g->target[k]};
    plan->sharing = (struct sharing_plan){
        .kind = SHARING_MIG,
        .units_per_gpu = 8,
        .mig = t,
        .order = MIG_ORDER_FIRST,
        .layouts = layouts,
        .n_layouts = (uint32_t)KINDS,
        .larger = g->larger,
        .relayout_ns = RELAY * TICK_MS * SIM_MS,
        .keep_ns = (simtime_ns)g->keep * TICK_MS * SIM_MS,
    };
}

static void set_up(struct table *t, const struct game *g)
{
    *t = (struct table){.g = g};
    memcpy(t->requests, g->requests, sizeof t->requests);
    for (int k = 0, i = 0; k < KINDS; k++)
        for (int n = 0; n < g->first[k]; n++)
            t->gpus[i++] = (struct gpu){.kind = k, .laid = NEVER};
}

Test(relayout_brute, small_pools_do_as_the_reference_does)
{
    struct mig_tables *t = mig_kit_tables();
    struct mig_kit_layout *kinds[KINDS];
    uint64_t relayouts = 0, larger = 0, waited = 0;
    for (int k = 0; k < KINDS; k++)
        kinds[k] = mig_kit_layout(t, texts[k]);
    for (uint64_t game = 0; game < 300; game++) {
        uint64_t seed = game;
        struct game g;
        struct table *want = malloc(sizeof *want);
        struct seat *got = calloc(1, sizeof *got);
        struct slice_layout layouts[KINDS];
        struct rig_plan plan;
        cr_assert(want && got);
        draw_game(&g, &seed);
        set_up(want, &g);
        int end = g.requests[g.n - 1].arrive + 60000;
        play(want, end);
        rig_plan_for(&g, t, kinds, layouts, &plan);
        got->g = &g;
        got->t = t;
        memcpy(got->requests, g.requests, sizeof got->requests);
        uint64_t n = replay(got, &plan, end);
        cr_assert_eq(n, (uint64_t)want->relayouts, "game %llu: %llu re-laid, not %d",
                     (unsigned long long)game, (unsigned long long)n, want->relayouts);
        for (int r = 0; r < g.n; r++) {
            const struct request *a = &want->requests[r], *b = &got->requests[r];
            cr_assert(a->start == b->start && a->granted == b->granted,
                      "game %llu, request %d: %d on %d, not %d on %d", (unsigned long long)game, r,
                      b->start, b->granted, a->start, a->granted);
            larger += a->start != NEVER && a->granted != a->profile;
            waited += a->start != NEVER && a->start > a->arrive;
        }
        relayouts += n;
        free(want);
        free(got);
    }
    cr_assert(relayouts > 300 && larger > 300 && waited > 300, "%llu, %llu, %llu",
              (unsigned long long)relayouts, (unsigned long long)larger,
              (unsigned long long)waited);
    for (int k = 0; k < KINDS; k++)
        free(kinds[k]);
    free(t);
}
