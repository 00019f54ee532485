/* Worksheet: allocated against utilized, class by class, and what packing would free. */
#include "analysis/worksheets/sheet.h"

#include <math.h>

enum { FLEET, ALLOC, DUTY, TARGET, PRICE };
enum {
    ALLOCATED,
    UTILIZED,
    DUTY_ALLOCATED,
    IDLE,
    UNALLOCATED,
    COST,
    WASTE_SHARE,
    FREED_EACH,
    FREED,
    AFTER,
    DUTY_AFTER,
    WORST
};

static const struct sheet_input inputs[] = {
    [FLEET] = SHEET_INPUT("fleet_gpus", "N", "GPUs", "fleet", "1000"),
    [ALLOC] = SHEET_INPUT("class_alloc", "a", "fraction", "share of the fleet each class holds",
                          "0.3, 0.2, 0.4", .list = true, .max = 1),
    [DUTY] = SHEET_INPUT("class_duty", "u", "fraction", "busy fraction of each class's GPUs",
                         "0.05, 0.25, 0.5875", .list = true, .max = 1),
    [TARGET] = SHEET_INPUT("class_target", "v", "fraction",
                           "busy fraction reachable by sharing or right-sizing", "0.5, 0.6, 0.7",
                           .list = true, .max = 1, .above = true),
    [PRICE] = SHEET_INPUT("gpu_price", "p", "$/GPU-h", "cost of a GPU-hour", "2.5"),
};

static const struct sheet_output outputs[] = {
    [ALLOCATED] = SHEET_OUTPUT("allocated_frac", "A", "fraction", "sum of {class_alloc}",
                               "The dashboard shows {allocated_frac} allocated."),
    [UTILIZED] =
        SHEET_OUTPUT("utilized_frac", "U", "fraction", "sum of {class_alloc} x {class_duty}",
                     "{utilized_frac} of the fleet is busy."),
    [DUTY_ALLOCATED] =
        SHEET_OUTPUT("duty_of_allocated", "U/A", "fraction", "{utilized_frac} / {allocated_frac}",
                     "What is held works {duty_of_allocated} of the time."),
    [IDLE] = SHEET_OUTPUT("idle_allocated_gpus", "I", "GPUs",
                          "{fleet_gpus} x ({allocated_frac} - {utilized_frac})",
                          "{idle_allocated_gpus} are held and idle."),
    [UNALLOCATED] =
        SHEET_OUTPUT("unallocated_gpus", "F", "GPUs", "{fleet_gpus} x (1 - {allocated_frac})",
                     "Only {unallocated_gpus} are held by nobody."),
    [COST] =
        SHEET_OUTPUT("waste_cost_day", "K", "$/day", "{idle_allocated_gpus} x 24 x {gpu_price}",
                     "The idle ones cost {waste_cost_day}."),
    [WASTE_SHARE] = SHEET_OUTPUT("waste_share", "s", "fraction",
                                 "{class_alloc} x (1 - {class_duty}) / the sum over classes",
                                 "This class causes {waste_share} of it.", .each = "class_alloc"),
    [FREED_EACH] =
        SHEET_OUTPUT("freed", "f", "GPUs",
                     "{fleet_gpus} x {class_alloc} x (1 - {class_duty} / "
                     "{class_target})",
                     "At its target it would do with {freed} less.", .each = "class_alloc"),
    [FREED] = SHEET_OUTPUT("freed_gpus", "R", "GPUs", "sum of what the classes free",
                           "In all {freed_gpus} come free."),
    [AFTER] = SHEET_OUTPUT("allocated_after", "A'", "fraction",
                           "{allocated_frac} - {freed_gpus} / {fleet_gpus}",
                           "Allocation falls to {allocated_after}."),
    [DUTY_AFTER] =
        SHEET_OUTPUT("duty_after", "U/A'", "fraction", "{utilized_frac} / {allocated_after}",
                     "What is held then works {duty_after} of the time."),
    [WORST] = SHEET_OUTPUT("worst_class", "i", "-", "the class with the largest waste",
                           "Class {worst_class} wastes most.", .type = SHEET_COUNT),
};

static double mean_duty(const struct sheet_case *c)
{
    size_t n;
    const double *duty = sheet_list(c, DUTY, &n);
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += duty[i];
    return sum / (double)n;
}

static const struct sheet_mistake mistakes[] = {
    {UTILIZED, "takes the plain mean of the classes, whatever they hold", mean_duty},
    {DUTY_ALLOCATED, "takes the plain mean of the classes, whatever they hold", mean_duty},
};

static void check(struct sheet_case *c)
{
    size_t n, m, k;
    const double *alloc = sheet_list(c, ALLOC, &n);
    sheet_list(c, DUTY, &m);
    sheet_list(c, TARGET, &k);
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += alloc[i];
    if (m != n)
        sheet_refuse(c, DUTY, "%zu values for %zu classes", m, n);
    else if (k != n)
        sheet_refuse(c, TARGET, "%zu values for %zu classes", k, n);
    else if (sum > 1 + 1e-9)
        sheet_refuse(c, ALLOC, "the classes hold %.6g of the fleet, more than all of it", sum);
}

/* GPUs of a class that its target would not need. */
static double freed(double fleet, double alloc, double duty, double target)
{
    return duty < target ? fleet * alloc * (1 - duty / target) : 0;
}

static void solve(struct sheet_case *c)
{
    size_t n, worst = 0;
    const double *alloc = sheet_list(c, ALLOC, &n), *duty = sheet_list(c, DUTY, &n);
    const double *target = sheet_list(c, TARGET, &n), fleet = sheet_in(c, FLEET);
    double held = 0, busy = 0, waste = 0, free = 0;
    for (size_t i = 0; i < n; i++) {
        held += alloc[i];
        busy += alloc[i] * duty[i];
        waste += alloc[i] * (1 - duty[i]);
        free += freed(fleet, alloc[i], duty[i], target[i]);
        if (alloc[i] * (1 - duty[i]) > alloc[worst] * (1 - duty[worst]))
            worst = i;
    }
    for (size_t i = 0; i < n; i++) {
        sheet_set_at(c, WASTE_SHARE, i, waste > 0 ? alloc[i] * (1 - duty[i]) / waste : 0);
        sheet_set_at(c, FREED_EACH, i, freed(fleet, alloc[i], duty[i], target[i]));
    }
    const double after = fleet > 0 ? fmax(0, held - free / fleet) : held;
    sheet_set(c, ALLOCATED, held);
    sheet_set(c, UTILIZED, busy);
    sheet_set(c, DUTY_ALLOCATED, held > 0 ? busy / held : 0);
    sheet_set(c, IDLE, fleet * waste);
    sheet_set(c, UNALLOCATED, fleet * fmax(0, 1 - held));
    sheet_set(c, COST, fleet * waste * 24 * sheet_in(c, PRICE));
    sheet_set(c, FREED, free);
    sheet_set(c, AFTER, after);
    sheet_set(c, DUTY_AFTER, after > 0 ? busy / after : 0);
    sheet_set(c, WORST, held > 0 ? (double)worst + 1 : 0);
}

static const char *const rules[] = {
    "Shares above 1 in total are refused. A class above its target frees nothing.",
    "With nothing allocated the ratios are 0 and there is no worst class (0).",
    NULL,
};

extern const struct sheet sheet_alloc_vs_util;
const struct sheet sheet_alloc_vs_util = {
    .name = "alloc-vs-util",
    .group = "Job queues, quotas and fair share",
    .question =
        "The dashboard says 90% allocated and 30% utilised: where did the rest go, and "
        "what would packing free?",
    .doc =
        "Each class of work holds a share of the fleet and keeps its GPUs busy part of the "
        "time; sharing or right-sizing could raise that to a target.",
    .assumption = "The work of a class stays the same when it has fewer GPUs.",
    .rules = rules,
    .sources = "weighted averages",
    .inputs = inputs,
    .outputs = outputs,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_mistakes = SHEET_N(mistakes),
    .answer = FREED,
    .check = check,
    .solve = solve,
};
