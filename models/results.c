/* Freeing the results of a run. */
#include "models/results.h"

#include <stdlib.h>

void results_fini(struct run_results *r)
{
    for (uint32_t i = 0; r->services && i < r->n_services; i++) {
        free(r->services[i].windows);
        for (int m = 0; m < SLO_METRICS; m++)
            hist_fini(&r->services[i].hists[m]);
    }
    free(r->services);
    free(r->queues);
    for (uint32_t i = 0; r->pools && i < r->n_pools; i++) {
        free(r->pools[i].ledger);
        free(r->pools[i].compute);
        free(r->pools[i].timeline);
        free(r->pools[i].placeable);
        free(r->pools[i].cost_usd);
    }
    free(r->pools);
    free(r->ledger);
    free(r->cost_usd);
    free(r->timeline);
    free(r->jobs);
    free(r->reclaims);
    *r = (struct run_results){0};
}
