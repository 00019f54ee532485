/* Placement policies of single pods, as a table: a score of the nodes that fit, who wins a tie, and
 * which devices the pod takes. The highest score wins. */
#ifndef HEADROOM_MODELS_PACKING_POLICY_H
#define HEADROOM_MODELS_PACKING_POLICY_H

#include "models/packing/fragment.h"

/* A node as a policy sees it. */
struct policy_node {
    const struct cluster_room *room;
    const struct fragment *fragment;
    const struct fragment_view *view; /* only of policies that use it */
};

/* Score of a pod that fits. Where the policy chooses devices they are set, else left alone. */
typedef int32_t policy_score(const struct policy_node *node, const struct cluster_pod *pod,
                             uint32_t *devices);

enum policy_devices { POLICY_SMALLEST, POLICY_ANY_DEVICE, POLICY_OWN_DEVICE };

/* Who wins among nodes of equal score. */
enum policy_ties { POLICY_TIE_NAME, POLICY_TIE_RANDOM };
extern const char *const policy_tie_names[2];

struct policy {
    const char *name;
    policy_score *score;
    enum policy_devices devices; /* smallest fitting one, a random one, that of the score */
    bool fixed_ties;             /* the rule of ties is the policy's own: */
    enum policy_ties ties;
    bool looks; /* uses the fragment */
    const char *rule;
};

enum { POLICIES = 8 };
extern const struct policy policies[POLICIES];

const struct policy *policy_find(const char *name); /* NULL: none */

#endif
