/* Power of nodes and racks: what a node draws by what its GPUs do, what fits under a limit.
 *
 * A node draws its idle power and, for each busy GPU, an equal part of what lies between idle and
 * its rated maximum; host, fans and cards are in both. So
 *
 *     power = idle + busy * (max - idle) / GPUs
 *
 * The rated maximum is what a rack has to be able to deliver, whatever jobs do: limits are tested
 * with it. Energy goes by the mean draw of a state (power_draw): training runs below the rating.
 *
 * Under a limit a rack of n nodes, whose idle power is drawn in any case, can have
 * (limit - n idle) / ((max - idle) / GPUs) GPUs busy. Where all are busy instead and clocks give
 * way, the part of the power above idle goes with the third power of the clock (voltage goes with
 * it: P = C V^2 f), and speed with the clock:
 *
 *     speed = ((limit / n - idle) / (max - idle))^(1/3)
 *
 * at most 1. The exponent is an unsourced estimate, and that speed follows the clock is the worse
 * case: work that waits for memory or network loses less. */
#ifndef HEADROOM_MODELS_HARDWARE_POWER_H
#define HEADROOM_MODELS_HARDWARE_POWER_H

#include "models/capacity/ledger.h"
#include "models/hardware/catalogue.h"

#include <stdbool.h>
#include <stdint.h>

/* Of one node. */
struct node_power {
    double idle_w, max_w;
    uint32_t gpus;
};

/* Of a node of so many GPUs of a type, from the catalogue: the rating of the first node type that
 * has them and a known rating, else of a DGX H100 in proportion to the caps of the GPUs. An unknown
 * GPU or power: as H100 SXM. */
struct node_power power_of_node(const struct hardware *h, const char *gpu, uint32_t gpus);

double power_node_w(const struct node_power *p, uint32_t busy);

/* Of what a GPU adds to an idle node at its rating, the share that it draws in a state. */
double power_draw(enum gpu_state s);

/* Watts of one GPU's part of a node in a state; clock_frac: least of its draw and what a cap leaves
 * (1: no cap). Not supplied: none. */
double power_gpu_w(const struct node_power *p, enum gpu_state s, double clock_frac);

/* Whole nodes at their rating under the limit of a rack, and racks for so many nodes; 0 nodes fit:
 * 0 racks. */
uint32_t power_nodes_per_rack(double node_max_w, double limit_w);
uint32_t power_racks(uint32_t nodes, uint32_t nodes_per_rack);

/* GPUs that may be busy at once in a rack of so many nodes; at most all of them. */
uint32_t power_busy_gpus(const struct node_power *p, uint32_t nodes, double limit_w);

/* Of the power between idle and rating, what a limit leaves each GPU when all are busy: 0..1. */
double power_left_frac(const struct node_power *p, uint32_t nodes, double limit_w);

/* Speed of all GPUs of the rack when none is held back. */
double power_speed(const struct node_power *p, uint32_t nodes, double limit_w);

#endif
