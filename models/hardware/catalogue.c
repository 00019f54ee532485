/* Catalogue: finding a type by its name. */
#include "models/hardware/catalogue.h"
#include "sim/diag.h"

#include <string.h>

enum { NAMES = 256 }; /* that a wrong name is compared with */

const char *const hw_confidence_names[HW_STATED + 1] = {"unknown", "low", "medium", "high",
                                                        "stated"};

const struct hardware hardware_builtin = {gpu_types, GPU_TYPES, node_types, NODE_TYPES};

const struct gpu_type *gpu_type_find(const struct hardware *h, const char *name)
{
    for (size_t i = 0; i < h->n_gpus; i++)
        if (strcmp(h->gpus[i].name, name) == 0)
            return &h->gpus[i];
    return NULL;
}

const struct node_type *node_type_find(const struct hardware *h, const char *name)
{
    for (size_t i = 0; i < h->n_nodes; i++)
        if (strcmp(h->nodes[i].name, name) == 0)
            return &h->nodes[i];
    return NULL;
}

const char *gpu_type_nearest(const struct hardware *h, const char *name)
{
    const char *names[NAMES];
    size_t n = 0;
    for (; n < h->n_gpus && n < NAMES; n++)
        names[n] = h->gpus[n].name;
    return diag_nearest(name, names, n);
}

const char *node_type_nearest(const struct hardware *h, const char *name)
{
    const char *names[NAMES];
    size_t n = 0;
    for (; n < h->n_nodes && n < NAMES; n++)
        names[n] = h->nodes[n].name;
    return diag_nearest(name, names, n);
}
