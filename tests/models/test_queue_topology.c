/* Gangs on leaf groups: what keeps one waiting that has to be in one of them, and which can never
 * start. */
#include "queue_kit.h"

#include <criterion/criterion.h>

static const uint32_t groups[] = {2, 3};

/* Gangs of whole nodes of 8 GPUs, at the start unless said otherwise. */
static struct job gang(uint64_t at_s, uint32_t nodes, uint64_t work_s)
{
    return (struct job){.submit_ns = at_s * SIM_S,
                        .gpus = 8 * nodes,
                        .work_ns = work_s * SIM_S,
                        .limit_ns = JOB_UNSET,
                        .checkpoint_ns = JOB_UNSET,
                        .id = "j"};
}

static struct world_plan hour(const struct queue_plan *queue)
{
    return (struct world_plan){
        .nodes = 5,
        .gpus_per_node = 8,
        .queue = queue,
        .end_ns = SIM_HOUR,
        .place = PLACE_TOPOLOGY,
        .fabric = {.leaf_nodes = groups, .n_leaves = 2},
    };
}

static void blocked_is(const struct job_row *row, enum block_reason reason, uint64_t s)
{
    cr_assert_eq(row->blocked_ns[reason], s * SIM_S, "%s: %g s", block_names[reason],
                 sim_time_to_s(row->blocked_ns[reason]));
}

/* Two nodes and three are taken; at 10 s the three are back, and one goes to a job that goes first.
 * A gang of three nodes waits for the whole second group. While the first is taken there are too
 * few GPUs for it; when it is free, too, there would be enough. */
Test(queue_topology, a_gang_waits_for_one_leaf_group)
{
    struct job jobs[] = {gang(0, 2, 100), gang(0, 3, 10), gang(1, 3, 20), gang(10, 1, 40)};
    jobs[3].priority = 1;
    struct job_trace trace = {jobs, 4, 0};
    struct queue_plan queue = world_queue(&trace, 40);
    queue.placement = SHAPE_ONE_LEAF;
    queue.order = ORDER_PRIORITY;
    struct world_plan plan = hour(&queue);
    struct world w;
    world_open(&w, &plan);
    world_run(&w);
    const struct job_row *row = world_row(&w, 2);
    cr_assert_eq(row->first_start_ns, 50 * SIM_S);
    blocked_is(row, BLOCK_COUNT, 49); /* two of three nodes are free from 10 s on */
    world_close(&w);

    jobs[0] = gang(0, 2, 30); /* over at 30 s: from then on four nodes are free */
    world_open(&w, &plan);
    world_run(&w);
    row = world_row(&w, 2);
    cr_assert_eq(row->first_start_ns, 50 * SIM_S);
    blocked_is(row, BLOCK_COUNT, 29);
    blocked_is(row, BLOCK_TOPOLOGY, 20);
    world_close(&w);

    queue.placement = SHAPE_WHOLE_NODES; /* over both groups it starts at once */
    world_open(&w, &plan);
    world_run(&w);
    cr_assert_eq(world_row(&w, 2)->first_start_ns, 30 * SIM_S);
    world_close(&w);
}

Test(queue_topology, refuses_what_no_leaf_group_holds)
{
    struct job jobs[] = {gang(0, 4, 10), gang(0, 3, 10), gang(0, 6, 10)};
    struct job_trace trace = {jobs, 3, 0};
    struct queue_plan queue = world_queue(&trace, 40);
    queue.placement = SHAPE_ONE_LEAF;
    struct world_plan plan = hour(&queue);
    struct world w;
    world_open(&w, &plan);
    world_run(&w);
    cr_assert_eq(world_row(&w, 0)->refusal, REFUSAL_TOPOLOGY);
    cr_assert_eq(world_row(&w, 1)->refusal, REFUSAL_NONE);
    cr_assert_eq(world_row(&w, 2)->refusal, REFUSAL_SIZE);
    world_close(&w);
}

/* The same gang of two nodes in one group, over both, and within a node: 100 s of work at full
 * speed, at 4/5 and at 1/2. */
Test(queue_topology, distance_slows_a_gang)
{
    struct job jobs[] = {gang(0, 2, 100), gang(0, 1, 100), gang(0, 2, 100)};
    struct job_trace trace = {jobs, 3, 0};
    struct queue_plan queue = world_queue(&trace, 40);
    queue.placement = SHAPE_ANY;
    queue.span_speed_ppm[SPAN_LEAF] = 800000;
    queue.span_speed_ppm[SPAN_LEAVES] = 500000;
    struct world_plan plan = hour(&queue);
    const uint32_t split[] = {2, 2,
                              1}; /* the third gang gets nodes of the second and third group */
    plan.fabric = (struct fabric){.leaf_nodes = split, .n_leaves = 3};
    plan.place = PLACE_BEST_FIT;
    struct world w;
    world_open(&w, &plan);
    world_run(&w);
    cr_assert_eq(world_row(&w, 0)->end_ns, 125 * SIM_S);
    cr_assert_eq(world_row(&w, 1)->end_ns, 100 * SIM_S);
    cr_assert_eq(world_row(&w, 2)->end_ns, 200 * SIM_S);
    cr_assert_eq(world_row(&w, 2)->done_ns, 100 * SIM_S);
    cr_assert_eq(world_total(&w, GPU_TRAINING), (16 * 125 + 8 * 100 + 16 * 200) * SIM_S);
    world_close(&w);
}

/* Leaf groups of a node each, two below one spine and three below another: a gang below one
 * spine at 4/5 of its speed, one over both at 2/5. */
Test(queue_topology, spines_slow_a_gang_more)
{
    static const uint32_t leaf_nodes[] = {1, 1, 1, 1, 1}, spine_leaves[] = {2, 3};
    struct job jobs[] = {gang(0, 3, 100), gang(0, 2, 100), gang(500, 4, 100)};
    struct job_trace trace = {jobs, 3, 0};
    struct queue_plan queue = world_queue(&trace, 40);
    queue.placement = SHAPE_PREFER_WHOLE;
    queue.span_speed_ppm[SPAN_LEAF] = 1000000;
    queue.span_speed_ppm[SPAN_LEAVES] = 800000;
    queue.span_speed_ppm[SPAN_SPINES] = 400000;
    struct world_plan plan = hour(&queue);
    plan.fabric = (struct fabric){
        .leaf_nodes = leaf_nodes, .n_leaves = 5, .spine_leaves = spine_leaves, .n_spines = 2};
    struct world w;
    world_open(&w, &plan);
    world_run(&w);
    cr_assert_eq(world_row(&w, 0)->end_ns, 125 * SIM_S);
    cr_assert_eq(world_row(&w, 1)->end_ns, 125 * SIM_S);
    cr_assert_eq(world_row(&w, 2)->end_ns, 750 * SIM_S);
    world_close(&w);
}
