/* Freeing the results of a run, and what is read off them. */
#include "models/results.h"

#include <math.h>
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

double results_fragmented(const struct run_results *r, size_t window)
{
    double free_ns = 0, whole_ns = 0;
    for (uint32_t p = 0; p < r->n_pools && r->pools[p].placeable; p++) {
        free_ns += (double)r->pools[p].placeable[window].gpu_ns[PLACEABLE_FREE];
        whole_ns += (double)r->pools[p].placeable[window].gpu_ns[PLACEABLE_WHOLE];
    }
    return free_ns > 0 ? 1 - whole_ns / free_ns : NAN;
}
