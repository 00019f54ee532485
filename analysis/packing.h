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

struct packing_figures {
    struct packing_cell *cells; /* [n_columns][n_levels] */
    double *starts;             /* [n_columns][n_levels][typical pods]: could start at once, mean */
    struct arena arena;
};

/* packing_figures_free in any case. */
enum hr_err packing_figures_run(const struct packing_scenario *s, struct packing_figures *out);
void packing_figures_free(struct packing_figures *f);

const struct packing_cell *packing_cell(const struct packing_scenario *s,
                                        const struct packing_figures *f, uint32_t column,
                                        uint32_t level);

void packing_print(FILE *out, const struct packing_scenario *s, const struct packing_figures *f);
void packing_print_json(FILE *out, const struct packing_scenario *s,
                        const struct packing_figures *f);

#endif
