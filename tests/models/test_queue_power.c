/* Gangs in racks with a power limit: what keeps one waiting, and how slow it is. */
#include "queue_kit.h"

#include <criterion/criterion.h>

/* 1 kW idle and 100 W for each of 8 GPUs. */
static const struct node_power power = {1000, 1800, 8};

static struct job gang(uint64_t at_s, uint32_t gpus, uint64_t work_s)
{
    return (struct job){.submit_ns = at_s * SIM_S,
                        .gpus = gpus,
                        .work_ns = work_s * SIM_S,
                        .limit_ns = JOB_UNSET,
                        .checkpoint_ns = JOB_UNSET,
                        .id = "j"};
}

static struct world_plan hour(const struct queue_plan *queue, double busy, bool slow)
{
    return (struct world_plan){
        .nodes = 4,
        .gpus_per_node = 8,
        .queue = queue,
        .end_ns = SIM_HOUR,
        .racks = {.power = &power, .nodes = 2, .limit_w = 2000 + 100 * busy, .slow = slow},
    };
}

/* Two racks of two nodes with power for 12 GPUs each. Of two gangs of a node each rack has one; the
 * third node of GPUs is there and has no power until a gang ends. */
Test(queue_power, a_gang_waits_for_power)
{
    struct job jobs[] = {gang(0, 8, 100), gang(0, 8, 60), gang(0, 8, 10), gang(0, 4, 30)};
    struct job_trace trace = {jobs, 4, 0};
    struct queue_plan queue = world_queue(&trace, 32);
    struct world_plan plan = hour(&queue, 12, false);
    struct world w;
    queue.placement = SHAPE_ONE_NODE;
    world_open(&w, &plan);
    world_run(&w);
    cr_assert_eq(w.rows.n, 4);
    const struct job_row *row = world_row(&w, 2);
    cr_expect_eq(row->first_start_ns, 60 * SIM_S);
    cr_expect_eq(row->blocked_ns[BLOCK_POWER], 60 * SIM_S);
    row = world_row(&w, 3); /* in the order of the queue it is behind that one */
    cr_expect_eq(row->first_start_ns, 60 * SIM_S);
    world_close(&w);
}

/* More than all racks have power for can never start. */
Test(queue_power, refuses_what_no_power_holds)
{
    struct job jobs[] = {gang(0, 24, 10), gang(0, 25, 10)};
    struct job_trace trace = {jobs, 2, 0};
    struct queue_plan queue = world_queue(&trace, 32);
    struct world_plan plan = hour(&queue, 12, false);
    struct world w;
    queue.placement = SHAPE_ANY;
    world_open(&w, &plan);
    world_run(&w);
    cr_expect_eq(world_row(&w, 0)->refusal, REFUSAL_NONE);
    cr_expect_eq(world_row(&w, 1)->refusal, REFUSAL_SIZE);
    world_close(&w);
}

/* An eighth of the power above idle: half the clock, twice the time. */
Test(queue_power, a_slow_rack_takes_longer)
{
    struct job jobs[] = {gang(0, 32, 100), gang(0, 8, 50)};
    struct job_trace trace = {jobs, 2, 0};
    struct queue_plan queue = world_queue(&trace, 32);
    struct world_plan plan = hour(&queue, 2, true);
    struct world w;
    world_open(&w, &plan);
    world_run(&w);
    const struct job_row *first = world_row(&w, 0), *second = world_row(&w, 1);
    cr_expect_float_eq(sim_time_to_s(first->end_ns), 200, 1e-6, "%g", sim_time_to_s(first->end_ns));
    cr_expect_float_eq(sim_time_to_s(second->end_ns), 300, 1e-6);
    cr_expect_eq(first->done_ns, 100 * SIM_S);
    world_close(&w);
}
