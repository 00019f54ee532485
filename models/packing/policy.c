/* The table of policies and their scores. Rules of best-fit, dot-product, gpu-packing,
 * gpu-clustering, worst-fit and fgd are those of hkust-adsl/kubernetes-scheduler-simulator, in
 * whole numbers. */
#include "models/packing/policy.h"

#include <string.h>

/* The largest node that the scores are scaled by. */
enum { MOST_CPU = 128000, MOST_GPU = 8 * CLUSTER_MILLI };

const char *const policy_tie_names[2] = {"name", "random"};

static int32_t equal_score(const struct policy_node *node, const struct cluster_pod *pod,
                           uint32_t *devices)
{
    (void)node, (void)pod, (void)devices;
    return 0;
}

static int64_t floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* floor(100 (1 - cpu / 128000 / 2 - gpu / 8000 / 2)) of what would be left */
static int32_t best_fit(const struct policy_node *node, const struct cluster_pod *pod,
                        uint32_t *devices)
{
    (void)devices;
    int64_t cpu = node->room->cpu_milli - pod->cpu_milli;
    int64_t gpu = (int64_t)node->room->idle_milli - (int64_t)cluster_asks(pod);
    int64_t scale = 2 * MOST_CPU;
    return (int32_t)floor_divide(100 * (scale - cpu - gpu * (MOST_CPU / MOST_GPU)), scale);
}

/* cpu + 100 gpu of what would be left, in milli */
static int32_t worst_fit(const struct policy_node *node, const struct cluster_pod *pod,
                         uint32_t *devices)
{
    (void)devices;
    int64_t cpu = node->room->cpu_milli - pod->cpu_milli;
    int64_t gpu = (int64_t)node->room->idle_milli - (int64_t)cluster_asks(pod);
    int64_t score = cpu + 100 * gpu;
    return score < INT32_MAX ? (int32_t)score : INT32_MAX;
}

/* floor(100 (1 - (cpu left cpu / 128000^2 + gpu left gpu / 8000^2) / 2)) */
static int32_t dot_product(const struct policy_node *node, const struct cluster_pod *pod,
                           uint32_t *devices)
{
    (void)devices;
    double cpu = (double)node->room->cpu_milli / MOST_CPU * ((double)pod->cpu_milli / MOST_CPU);
    double gpu = (double)node->room->idle_milli / MOST_GPU * ((double)cluster_asks(pod) / MOST_GPU);
    double score = 100 * (1 - (cpu + gpu) / 2);
    return score > 0 ? (int32_t)score : 0;
}

static int32_t at_least(int32_t score, int32_t least)
{
    return score > least ? score : least;
}

/* Devices in use first: 100 less a tenth of the percentage left on those it takes, at least 50;
 * then free ones of a node in use: 50 less their number, at least 33; then free nodes: 33 less
 * their devices. */
static int32_t gpu_packing(const struct policy_node *node, const struct cluster_pod *pod,
                           uint32_t *devices)
{
    (void)devices;
    int32_t free_devices = 0, free_taken = 0, left = 0;
    const struct cluster_room *room = node->room;
    if (pod->devices == 0)
        return 0;
    uint32_t mask = cluster_smallest(room, pod);
    for (uint32_t d = 0; d < room->devices; d++) {
        bool is_free = room->left[d] == CLUSTER_MILLI, taken = mask >> d & 1;
        free_devices += is_free;
        free_taken += is_free && taken;
        left += taken ? room->left[d] * 100 / CLUSTER_MILLI : 0;
    }
    if (free_devices == room->devices)
        return at_least(33 - free_devices, free_devices);
    return free_taken ? at_least(50 - free_taken, 33) : at_least(100 - left / 10, 50);
}

/* Beside pods of the same kind: 75 where they are alone, 50 among others, 25 on an idle node, 0
 * elsewhere; up to 25 more the less GPU is idle. */
static int32_t gpu_clustering(const struct policy_node *node, const struct cluster_pod *pod,
                              uint32_t *devices)
{
    (void)devices;
    uint32_t kinds = 0;
    const struct cluster_room *room = node->room;
    if (pod->devices == 0)
        return 0;
    for (uint32_t k = 0; k < CLUSTER_KINDS; k++)
        kinds += room->kinds[k] > 0;
    int32_t band = kinds == 0 ? 25 : 0;
    if (room->kinds[cluster_kind(pod)] > 0)
        band = kinds == 1 ? 75 : 50;
    return band + (int32_t)floor_divide(25 * (MOST_GPU - (int64_t)room->idle_milli), MOST_GPU);
}

static int32_t gradient(const struct policy_node *node, const struct cluster_pod *pod,
                        uint32_t *devices)
{
    return fragment_score(node->fragment, node->room, node->view, pod, devices);
}

const struct policy policies[POLICIES] = {
    {"random", equal_score, POLICY_ANY_DEVICE, true, POLICY_TIE_RANDOM, false,
     "a node that fits, and a device of it, uniformly at random"},
    {"first-fit", equal_score, POLICY_SMALLEST, true, POLICY_TIE_NAME, false,
     "the node that fits with the lowest name"},
    {"best-fit", best_fit, POLICY_SMALLEST, false, POLICY_TIE_NAME, false,
     "least CPU and GPU left behind, each in parts of the largest node's"},
    {"worst-fit", worst_fit, POLICY_SMALLEST, false, POLICY_TIE_NAME, false,
     "most GPU left behind, a milli of it worth 100 of CPU"},
    {"dot-product", dot_product, POLICY_SMALLEST, false, POLICY_TIE_NAME, false,
     "least product of what is left and what is asked, over CPU and GPU"},
    {"gpu-packing", gpu_packing, POLICY_SMALLEST, false, POLICY_TIE_NAME, false,
     "devices in use, then free ones of nodes in use, then free nodes"},
    {"gpu-clustering", gpu_clustering, POLICY_SMALLEST, false, POLICY_TIE_NAME, false,
     "nodes with pods of the same kind, the fullest first"},
    {"fgd", gradient, POLICY_OWN_DEVICE, false, POLICY_TIE_NAME, true,
     "the node and device whose fragment grows least"},
};

const struct policy *policy_find(const char *name)
{
    for (int i = 0; i < POLICIES; i++)
        if (strcmp(policies[i].name, name) == 0)
            return &policies[i];
    return NULL;
}
