/* Fillings of a packing scenario: every column by every replication, and their tables.
 *
 * Means over replications with standard errors; shares are of all GPUs of the cluster. */
#ifndef HEADROOM_ANALYSIS_PACKING_H
#define HEADROOM_ANALYSIS_PACKING_H

#include "scenarios/packing.h"
#include "sim/stat.h"

struct packing_cell {
    struct tally allocated, fragment, stranded; /* shares */
    struct tally fragment_of_idle;              /* F / what is idle; 0 when nothing is */
    struct tally dropped;                       /* pods that found no room so far */
};

/* Fewest moves until one more pod can start, in the first filling at the last level that asks for
 * no more than there is. */
struct packing_moves {
    struct cluster_pod pod;
    bool found, exact; /* not exact: fewer may do, or some where none were found */
    uint32_t n_moves;
    double gpus; /* that move */
};

enum { PACKING_MOVES = 6, PACKING_MOVES_NODES = 10000 };

struct packing_figures {
    struct fill_level *fills;   /* [n_columns][replications][n_levels] */
    struct packing_cell *cells; /* [n_columns][n_levels]: over their replications */
    double *starts;             /* [n_columns][n_levels][typical pods]: could start at once, mean */
    struct packing_moves *moves; /* [n_columns][n_moves]: whole GPUs, the largest pods first */
    uint32_t n_moves;            /* none for a cluster of more than PACKING_MOVES_NODES nodes */
    uint32_t full_level;         /* of the moves */
    struct arena arena;
};

/* packing_figures_free in any case. */
enum hr_err packing_figures_run(const struct packing_scenario *s, struct packing_figures *out);
void packing_figures_free(struct packing_figures *f);

const struct packing_cell *packing_cell(const struct packing_scenario *s,
                                        const struct packing_figures *f, uint32_t column,
                                        uint32_t level);

/* A name of the column that no other has: the policy's, with its rule of ties where columns differ
 * in it. */
enum { PACKING_LABEL = 22 };
void packing_label(const struct packing_scenario *s, uint32_t column, char out[PACKING_LABEL + 1]);

void packing_print(FILE *out, const struct packing_scenario *s, const struct packing_figures *f);
void packing_print_json(FILE *out, const struct packing_scenario *s,
                        const struct packing_figures *f);

#endif
