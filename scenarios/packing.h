/* Packing scenarios: a cluster and a list of pods, read from a page of YAML and from their files.
 *
 *     scenario: small
 *     packing:
 *       nodes: {groups: {hgx: {nodes: 16}}}
 *       pods: pods.csv
 *
 * All mistakes are said in diags, with their place. */
#ifndef HEADROOM_SCENARIOS_PACKING_H
#define HEADROOM_SCENARIOS_PACKING_H

#include "models/packing/fill.h"
#include "sim/arena.h"
#include "sim/diag.h"
#include "traces/inventory.h"

enum { PACKING_INPUTS = 3, PACKING_LEVELS = 64, PACKING_COLUMNS = 2 * POLICIES };

/* A policy with a rule of ties. */
struct packing_column {
    const struct policy *policy;
    enum policy_ties ties;
};

struct packing_scenario {
    struct arena arena; /* of all below */
    const char *name, *description;
    const char *text;                   /* as written, for result files */
    const char *inputs[PACKING_INPUTS]; /* the scenario and the lists that were read */
    uint32_t n_inputs;
    uint32_t replications;
    struct inventory_types types;
    struct cluster_nodes nodes;
    struct cluster_pods pods;
    struct fragment fragment;
    double levels[PACKING_LEVELS];
    struct fill_plan plan; /* of the members above */
    struct packing_column columns[PACKING_COLUMNS];
    uint32_t n_columns;
    bool both_ties; /* columns differ in it */
};

/* Whether a file has a `packing` at its top; false where it cannot be read. */
bool packing_is(const char *path);

/* sets: as given to --set. HR_INPUT: said in diags. packing_free in any case. */
enum hr_err packing_load(const char *path, const char *const *sets, size_t n_sets,
                         struct diags *diags, struct packing_scenario *out);
enum hr_err packing_load_text(const char *path, const char *bytes, size_t n,
                              const char *const *sets, size_t n_sets, struct diags *diags,
                              struct packing_scenario *out);
void packing_free(struct packing_scenario *s);

#endif
