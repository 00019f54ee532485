/* The worksheets in their groups, and the search among them. */
#include "analysis/worksheets/list.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* One row a sheet: X(symbol). In the order of print. */
#define SHEET_LIST(X)                                                                              \
    X(little)                                                                                      \
    X(erlang_b)                                                                                    \
    X(erlang_c)                                                                                    \
    X(finite_queue)                                                                                \
    X(impatient_queue)                                                                             \
    X(mg1_wait)                                                                                    \
    X(gg_wait)                                                                                     \
    X(priority_wait)                                                                               \
    X(sqrt_staffing)                                                                               \
    X(pooling_normal)                                                                              \
    X(pooling_erlang)                                                                              \
    X(token_capacity)                                                                              \
    X(pool_designs)                                                                                \
    X(reclaim_chain)                                                                               \
    X(reclaim_ramp)                                                                                \
    X(reclaim_two_stage)                                                                           \
    X(autoscaler_bound)                                                                            \
    X(spot_checkpoint)                                                                             \
    X(checkpoint_interval)                                                                         \
    X(spot_breakeven)                                                                              \
    X(spot_billing)                                                                                \
    X(fleet_mix)                                                                                   \
    X(training_goodput)                                                                            \
    X(sandbox_hosts)                                                                               \
    X(sandbox_tiers)                                                                               \
    X(warm_pool)                                                                                   \
    X(serverless_keepalive)                                                                        \
    X(pod_start)                                                                                   \
    X(cold_start)                                                                                  \
    X(lora_memory)                                                                                 \
    X(lora_pool)                                                                                   \
    X(base_residency)                                                                              \
    X(tenant_cost)                                                                                 \
    X(adapter_cache)                                                                               \
    X(allocation_unit)                                                                             \
    X(scrub_margin)                                                                                \
    X(bin_packing)                                                                                 \
    X(mig_packing)                                                                                 \
    X(gpu_sharing)                                                                                 \
    X(queue_drain)                                                                                 \
    X(quota_return)                                                                                \
    X(fair_share)                                                                                  \
    X(notebook_pool)                                                                               \
    X(idle_reclaim)                                                                                \
    X(alloc_vs_util)                                                                               \
    X(rolling_upgrade)                                                                             \
    X(slo_budget)                                                                                  \
    X(two_site_training)                                                                           \
    X(straggler)                                                                                   \
    X(rail_cabling)                                                                                \
    X(power_contract)                                                                              \
    X(serving_capacity)

#define SHEET_DECLARE(name) extern const struct sheet sheet_##name;
SHEET_LIST(SHEET_DECLARE)
#define SHEET_ADDRESS(name) &sheet_##name,
const struct sheet *const sheets[] = {SHEET_LIST(SHEET_ADDRESS)};
const size_t sheets_n = sizeof sheets / sizeof sheets[0];

const char *const sheet_groups[] = {
    "Queueing and pooling",
    "One fleet: training plus inference",
    "Checkpoints, spot capacity and failures",
    "Sandboxed sessions and cold starts",
    "Multi-tenant fine-tuning and adapters",
    "Multi-tenant cloud: units, packing, scrubbing",
    "Job queues, quotas and fair share",
    "Operating a large fleet",
    NULL,
};

const struct sheet *sheet_find(const char *name)
{
    for (size_t i = 0; i < sheets_n; i++)
        if (strcmp(sheets[i]->name, name) == 0)
            return sheets[i];
    return NULL;
}

static bool contains(const char *text, const char *word)
{
    const size_t n = strlen(word);
    for (; text && *text; text++)
        if (strncasecmp(text, word, n) == 0)
            return true;
    return false;
}

static bool says(const struct sheet *s, const char *word)
{
    bool found = contains(s->name, word) || contains(s->question, word) || contains(s->doc, word);
    for (uint8_t i = 0; i < s->n_inputs; i++)
        found = found || contains(s->inputs[i].key, word) || contains(s->inputs[i].doc, word);
    for (uint8_t i = 0; i < s->n_outputs; i++)
        found = found || contains(s->outputs[i].key, word);
    return found;
}

bool sheet_matches(const struct sheet *sheet, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!says(sheet, words[i]))
            return false;
    return true;
}
