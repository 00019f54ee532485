/* An owner of MIG slices comes back, in a scenario: it takes them from the borrower of another
 * profile, by its quota and no further, and both ledgers balance before each event. */
#include "kit.h"
#include "models/run.h"

#include <criterion/criterion.h>

/* 8 GPUs hold 56 notebooks of one slice, which borrow all of them; the owner of 6 GPUs returns
 * after an hour for eleven instances of half a GPU, which an instance of the rest cannot have. */
static const char text[] =
    "scenario: slices\n"
    "seed: 1\n"
    "horizon: 4h\n"
    "warmup: 0s\n"
    "fleet: {nodes: 1, gpus_per_node: 8, gpu: h100-sxm, sharing: mig}\n"
    "training:\n"
    "  owner:\n"
    "    slice: 3g.40gb\n"
    "    drawn:\n"
    "      classes: {half: {gpus: 1GPU, work: 7d, preemptible: no}}\n"
    "      count: 14\n"
    "      start: 1h\n"
    "    order: fifo\n"
    "  notebooks:\n"
    "    slice: 1g.10gb\n"
    "    backlog: {gangs: [1GPU], work: {exponential: 5h}}\n"
    "reclaim: {victims: least-work-lost, grace: 30s, teardown: 6s, scrub: 4s}\n"
    "designs:\n"
    "  owned:\n"
    "    preset: quota\n"
    "    quotas:\n"
    "      owner: {floor: 6GPU, lend: 6GPU, may_reclaim: floor}\n"
    "      notebooks: {floor: 0GPU}\n"
    "  patient:\n"
    "    preset: quota\n"
    "    quotas:\n"
    "      owner: {floor: 6GPU, lend: 6GPU, may_reclaim: never}\n"
    "      notebooks: {floor: 0GPU}\n";

static void play(const char *design, struct run_results *r)
{
    struct scenario *s = kit_load(text, NULL, 0);
    const struct plan p = kit_plan(s, design);
    const struct run_hooks checks = {.check_every_event = true};
    cr_assert_eq(run_plan(&p, 0, &checks, r), HR_OK);
    scenario_free(s);
}

static uint32_t owner_started(const struct run_results *r, simtime_ns by)
{
    uint32_t n = 0;
    for (size_t i = 0; i < r->n_jobs; i++)
        n += !r->jobs[i].backlog && r->jobs[i].first_start_ns <= by;
    return n;
}

Test(slices, an_owner_takes_back_its_floor)
{
    struct run_results r;
    play("owned", &r);
    cr_expect_geq(owner_started(&r, 61 * SIM_MIN), 12, "%u", owner_started(&r, 61 * SIM_MIN));
    cr_assert_gt(r.n_reclaims, 0);
    for (size_t i = 0; i < r.n_reclaims; i++) {
        const struct reclaim_row *row = &r.reclaims[i];
        simtime_ns sum = 0;
        for (int s = STAGE_GRACE; s <= STAGE_RECONFIGURE; s++)
            sum += row->stage_ns[s];
        cr_expect_eq(row->gpus, 4);
        cr_expect(row->gpus_evicted <= 4 && row->gpus_evicted == row->victims, "one slice each");
        cr_expect_eq(row->granted_ns - row->decision_ns, sum, "stages are those of the wait");
        cr_expect_eq(row->stage_ns[STAGE_RECONFIGURE], 2 * SIM_S);
    }
    results_fini(&r);
}

/* Without the right to evict it gets what notebooks leave, half a GPU at a time. */
Test(slices, without_the_right_to_evict_it_waits)
{
    struct run_results r;
    play("patient", &r);
    cr_expect_lt(owner_started(&r, 61 * SIM_MIN), 4);
    cr_expect_eq(r.n_reclaims, 0);
    results_fini(&r);
}
