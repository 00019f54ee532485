/* Worksheet: GPUs divided by weighted max-min fairness. */
#include "models/closed/fair_share.h"
#include "analysis/worksheets/sheet.h"

#include <math.h>

enum { CAPACITY, DEMAND, WEIGHT };
enum { ALLOC, LEVEL, SATISFIED, UNUSED, PROPORTIONAL };

static const struct sheet_input inputs[] = {
    [CAPACITY] = SHEET_INPUT("capacity", "C", "GPUs", "GPUs to divide", "1000"),
    [DEMAND] = SHEET_INPUT("demand", "d", "GPUs", "demand of each tenant", "100, 300, 500, 600",
                           .list = true),
    [WEIGHT] = SHEET_INPUT("weight", "w", "-", "weight of each tenant", "1, 1, 1, 2", .list = true,
                           .above = true),
};

static const struct sheet_output outputs[] = {
    [ALLOC] = SHEET_OUTPUT("alloc", "a", "GPUs", "min({demand}, level x {weight})",
                           "Tenant with a demand of {demand} and weight {weight}: {alloc}.",
                           .each = "demand"),
    [LEVEL] = SHEET_OUTPUT("water_level", "l", "GPUs",
                           "the level at which the shares add up to {capacity}",
                           "Who is left short has {water_level} for each unit of weight."),
    [SATISFIED] = SHEET_OUTPUT("satisfied", "s", "tenants", "tenants given all they asked",
                               "{satisfied#} of them got all they asked.", .type = SHEET_COUNT),
    [UNUSED] = SHEET_OUTPUT("unused", "u", "GPUs", "{capacity} - sum of the shares",
                            "{unused} are left over."),
    [PROPORTIONAL] =
        SHEET_OUTPUT("proportional", "p", "GPUs", "{capacity} x {weight} / sum of the weights",
                     "For comparison, by weight alone: {proportional}.", .each = "demand"),
};

static bool all_met(const struct sheet_case *c)
{
    return c->out[LEVEL].items[0].kind == VALUE_NONE;
}

static const struct sheet_remark remarks[] = {
    {LEVEL, all_met, "Everyone has its demand: nothing limits."},
};

static double first_proportional(const struct sheet_case *c)
{
    return sheet_out_at(c, PROPORTIONAL, 0);
}

static const struct sheet_mistake mistakes[] = {
    {ALLOC, "divides by weight once and gives nobody's surplus to the others", first_proportional},
};

static void check(struct sheet_case *c)
{
    size_t n, m;
    sheet_list(c, DEMAND, &n);
    sheet_list(c, WEIGHT, &m);
    if (n != m)
        sheet_refuse(c, WEIGHT, "%zu weights for %zu demands", m, n);
}

static void solve(struct sheet_case *c)
{
    size_t n;
    const double *demand = sheet_list(c, DEMAND, &n), *weight = sheet_list(c, WEIGHT, &n);
    const double capacity = sheet_in(c, CAPACITY);
    double alloc[SHEET_LIST_MAX], weights = 0, used = 0, satisfied = 0;
    const double level = fair_share_fill(capacity, demand, weight, n, alloc);
    for (size_t i = 0; i < n; i++) {
        weights += weight[i];
        used += alloc[i];
        satisfied += alloc[i] >= demand[i];
    }
    for (size_t i = 0; i < n; i++) {
        sheet_set_at(c, ALLOC, i, alloc[i]);
        sheet_set_at(c, PROPORTIONAL, i, capacity * weight[i] / weights);
    }
    sheet_set_if(c, LEVEL, isfinite(level), level);
    sheet_set(c, SATISFIED, satisfied);
    sheet_set(c, UNUSED, fmax(0, capacity - used));
}

static const char *const rules[] = {
    "With a total demand below the capacity everyone has its demand and there is no level.",
    "Without capacity all shares and the level are 0.",
    "Weights are positive; there are as many as demands.",
    NULL,
};

extern const struct sheet sheet_fair_share;
const struct sheet sheet_fair_share = {
    .name = "fair-share",
    .group = "Job queues, quotas and fair share",
    .question = "How are GPUs divided by weighted max-min fairness?",
    .doc =
        "Raise every tenant's share in proportion to its weight; a tenant stops when its demand "
        "is met; the rest is divided again among the others.",
    .assumption = "GPUs can be divided at will: gangs that need several at once come out lower.",
    .rules = rules,
    .sources =
        "D. Bertsekas and R. Gallager, Data Networks (1987); A. Ghodsi et al., 'Dominant "
        "resource fairness' (2011)",
    .inputs = inputs,
    .outputs = outputs,
    .remarks = remarks,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_remarks = SHEET_N(remarks),
    .n_mistakes = SHEET_N(mistakes),
    .answer = LEVEL,
    .check = check,
    .solve = solve,
};
