/* Power of nodes and racks against sums by hand. */
#include "models/hardware/power.h"

#include <criterion/criterion.h>
#include <math.h>

static struct node_power h100(void)
{
    return power_of_node(&hardware_builtin, "h100-sxm", 8);
}

/* Amit33-design/Network-Automation#160: racks for 64 nodes of 6.5 kW. */
Test(power, racks_under_a_power_limit)
{
    static const uint32_t want[][2] = {{10, 64}, {15, 32}, {20, 22}, {30, 16}, {40, 11}, {66, 7}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        uint32_t fit = power_nodes_per_rack(6500, want[i][0] * 1000.0);
        cr_expect_eq(power_racks(64, fit), want[i][1], "%u kW: %u", want[i][0], fit);
    }
    cr_expect_eq(power_nodes_per_rack(6500, 6499), 0);
    cr_expect_eq(power_racks(64, 0), 0, "no rack can have any");
    cr_expect_eq(power_nodes_per_rack(6600, 66000), 10, "to the last watt");
}

/* Four DGX H100 want 40.8 kW: three fit 40 kW, one an air-cooled rack of 15. */
Test(power, nodes_of_the_reference_unit)
{
    struct node_power p = h100();
    cr_expect_float_eq(p.max_w, 10200, 1e-9);
    cr_expect_float_eq(p.idle_w, 2000, 1e-9);
    cr_expect_eq(power_nodes_per_rack(p.max_w, 40000), 3);
    cr_expect_eq(power_nodes_per_rack(p.max_w, 40800), 4);
    cr_expect_eq(power_nodes_per_rack(p.max_w, 15000), 1);
    cr_expect_float_eq(power_node_w(&p, 0), 2000, 1e-9);
    cr_expect_float_eq(power_node_w(&p, 4), 6100, 1e-9);
    cr_expect_float_eq(power_node_w(&p, 8), 10200, 1e-9);
}

/* The most that a walk over busy counts finds within the limit. */
Test(power, busy_gpus_are_the_most_that_fit)
{
    static const struct node_power p = {2000, 10000, 8};
    for (uint32_t nodes = 1; nodes <= 6; nodes++)
        for (double limit_w = 0; limit_w <= 61000; limit_w += 500) {
            uint32_t most = 0;
            for (uint32_t busy = 1; busy <= 8 * nodes; busy++)
                if (nodes * 2000.0 + busy * 1000.0 <= limit_w)
                    most = busy;
            cr_expect_eq(power_busy_gpus(&p, nodes, limit_w), most, "%u nodes, %.0f W", nodes,
                         limit_w);
        }
    struct node_power h = h100();
    cr_expect_eq(power_busy_gpus(&h, 4, 40000), 31, "one GPU of 32 stays idle");
    cr_expect_eq(power_busy_gpus(&h, 4, 30000), 21);
}

Test(power, a_cap_slows_by_the_cube_root)
{
    static const struct node_power p = {2000, 10000, 8};
    cr_expect_eq(power_speed(&p, 4, 40000), 1);
    cr_expect_eq(power_speed(&p, 4, 50000), 1);
    cr_expect_float_eq(power_speed(&p, 4, 4 * 2000 + 4 * 1000), 0.5, 1e-12, "an eighth is left");
    cr_expect_eq(power_speed(&p, 4, 7000), 0, "idle power is drawn in any case");
    struct node_power h = h100();
    cr_expect_float_eq(power_speed(&h, 4, 40000), cbrt(8000 / 8200.0), 1e-12);
}

/* Energy: idle, at work, capped, not there. */
Test(power, gpus_draw_by_state)
{
    struct node_power p = h100();
    cr_expect_float_eq(8 * power_gpu_w(&p, GPU_FREE, 1), 2000, 1e-9);
    cr_expect_float_eq(8 * power_gpu_w(&p, GPU_TRAINING, 1), 7800, 1e-9);
    cr_expect_float_eq(8 * power_gpu_w(&p, GPU_LOST, 1), 7800, 1e-9);
    cr_expect_float_eq(8 * power_gpu_w(&p, GPU_TRAINING, 0.5), 2000 + 4100, 1e-9);
    cr_expect_eq(power_gpu_w(&p, GPU_ABSENT, 1), 0);
    double serving = 8 * power_gpu_w(&p, GPU_SERVING, 1);
    cr_expect(serving > 2000 && serving < 7800, "%.0f W", serving);
}

/* Other nodes: rated ones by their row, the rest in proportion to the caps of their GPUs. */
Test(power, nodes_of_the_catalogue)
{
    struct node_power b200 = power_of_node(&hardware_builtin, "b200", 8);
    cr_expect_float_eq(b200.max_w, 14300, 1e-9);
    struct node_power tray = power_of_node(&hardware_builtin, "gb200", 4);
    cr_expect_float_eq(tray.max_w, 6670, 1e-9);
    struct node_power pcie = power_of_node(&hardware_builtin, "h100-pcie", 8);
    cr_expect_float_eq(pcie.max_w, 5100, 1e-9);
    struct node_power half = power_of_node(&hardware_builtin, "h100-sxm", 4);
    cr_expect_float_eq(half.max_w, 5100, 1e-9);
    cr_expect_float_eq(half.idle_w, 1000, 1e-9);
    struct node_power unknown = power_of_node(&hardware_builtin, "none", 8);
    cr_expect_float_eq(unknown.max_w, 10200, 1e-9);
}
