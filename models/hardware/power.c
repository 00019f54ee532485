/* Power of nodes and racks; power.h states the rules. */
#include "models/hardware/power.h"

#include <math.h>
#include <string.h>

#define NODE_IDLE_W   2000.0  /* [node_power_idle_kw], unsourced estimate */
#define NODE_MAX_W    10200.0 /* [node_power_max_kw] */
#define NODE_GPUS     8
#define GPU_CAP_W     700.0  /* [gpu_power_cap_w] */
#define GPU_IDLE_W    70.0   /* [gpu_power_idle_w] */
#define TRAINING_W    7800.0 /* [node_power_training_peak_kw]: intensive work averages 76 % */
#define INFERENCE_W   475.0  /* [gpu_power_inference_w] */
#define CLOCK_POWER   3.0    /* exponent of clock in power, unsourced estimate */
#define ROUNDING_FRAC 1e-9   /* 40 kW hold 4 nodes of 10 kW, whatever doubles make of it */

static double or_else(const struct hw_number *n, double usual)
{
    return n && hw_known(*n) ? n->value : usual;
}

struct node_power power_of_node(const struct hardware *h, const char *name, uint32_t gpus)
{
    const struct gpu_type *gpu = gpu_type_find(h, name);
    double cap_w = or_else(gpu ? &gpu->power_cap_w : NULL, GPU_CAP_W);
    double idle_w = or_else(gpu ? &gpu->power_idle_w : NULL, GPU_IDLE_W);
    double part = (double)gpus / NODE_GPUS;
    struct node_power p = {.gpus = gpus};
    p.idle_w = part * (NODE_IDLE_W + NODE_GPUS * (idle_w - GPU_IDLE_W));
    p.max_w = part * NODE_MAX_W * cap_w / GPU_CAP_W;
    for (size_t i = h->n_nodes; gpu && i-- > 0;) {
        const struct node_type *t = &h->nodes[i];
        if (strcmp(t->gpu, name) == 0 && hw_known(t->power_max_kw) &&
            t->n_gpus.value == (double)gpus)
            p.max_w = t->power_max_kw.value * 1000;
    }
    p.max_w = p.max_w > p.idle_w ? p.max_w : p.idle_w;
    return p;
}

static double gpu_adds_w(const struct node_power *p)
{
    return (p->max_w - p->idle_w) / p->gpus;
}

double power_node_w(const struct node_power *p, uint32_t busy)
{
    return p->idle_w + busy * gpu_adds_w(p);
}

double power_draw(enum gpu_state s)
{
    static const double training = (TRAINING_W - NODE_IDLE_W) / (NODE_MAX_W - NODE_IDLE_W);
    static const double inference = (INFERENCE_W - GPU_IDLE_W) / (GPU_CAP_W - GPU_IDLE_W);
    switch (s) {
    case GPU_TRAINING:
    case GPU_LOST:
        return training;
    case GPU_SERVING:
        return inference;
    default: /* stalled by a save, loading, draining: clocks are up, nothing computes */
        return 0;
    }
}

double power_gpu_w(const struct node_power *p, enum gpu_state s, double clock_frac)
{
    double draw = power_draw(s);
    if (s == GPU_ABSENT)
        return 0;
    return p->idle_w / p->gpus + gpu_adds_w(p) * (draw < clock_frac ? draw : clock_frac);
}

uint32_t power_nodes_per_rack(double node_max_w, double limit_w)
{
    double n = floor(limit_w / node_max_w + ROUNDING_FRAC);
    return n <= 0 ? 0 : n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

uint32_t power_racks(uint32_t nodes, uint32_t nodes_per_rack)
{
    return nodes_per_rack ? (nodes + nodes_per_rack - 1) / nodes_per_rack : 0;
}

uint32_t power_busy_gpus(const struct node_power *p, uint32_t nodes, double limit_w)
{
    uint32_t all = nodes * p->gpus;
    double left_w = limit_w - nodes * p->idle_w;
    if (left_w < 0)
        return 0;
    if (left_w >= all * gpu_adds_w(p))
        return all;
    double n = floor(left_w / gpu_adds_w(p) + ROUNDING_FRAC);
    return n < all ? (uint32_t)n : all;
}

double power_left_frac(const struct node_power *p, uint32_t nodes, double limit_w)
{
    double left_w = limit_w / nodes - p->idle_w, most_w = p->max_w - p->idle_w;
    return left_w >= most_w ? 1 : left_w > 0 ? left_w / most_w : 0;
}

double power_speed(const struct node_power *p, uint32_t nodes, double limit_w)
{
    return pow(power_left_frac(p, nodes, limit_w), 1 / CLOCK_POWER);
}
