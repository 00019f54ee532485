/* Worksheet: what each tenant pays so that the resident base and the idle slots are paid for. */
#include "analysis/worksheets/sheet.h"

#include <math.h>
#include <string.h>

enum { GPUS, PERIOD, PRICE, PER_GPU, BASE, GPU_GB, USED, SPLIT };
enum {
    TOTAL,
    CAPACITY,
    USED_SUM,
    UTILIZATION,
    BASE_COST,
    DIRECT_RATE,
    DIRECT,
    IDLE,
    BILL,
    BILLED,
    UNRECOVERED,
    FULL_RATE,
    UNDER
};

static const char *const splits[] = {"usage", "equal", NULL};

static const struct sheet_input inputs[] = {
    [GPUS] = SHEET_INPUT("gpus", "N", "GPUs", "GPUs in the pool", "10", .type = SHEET_COUNT,
                         .min = 1, .max = 1e7),
    [PERIOD] = SHEET_INPUT("period_h", "t", "h", "billing period", "720", .above = true),
    [PRICE] = SHEET_INPUT("gpu_price", "p", "$/GPU-h", "GPU price", "2.5", .above = true),
    [PER_GPU] = SHEET_INPUT("jobs_per_gpu", "J", "slots", "slots of a GPU", "8",
                            .type = SHEET_COUNT, .min = 1, .max = 1e6),
    [BASE] = SHEET_INPUT("base_gb", "b", "GB", "resident base", "16"),
    [GPU_GB] = SHEET_INPUT("gpu_gb", "G", "GB", "GPU memory", "80", .above = true),
    [USED] = SHEET_INPUT("slot_hours", "u", "slot-h", "slot-hours used by each tenant",
                         "20000, 12000, 6000, 3000, 1000", .list = true),
    [SPLIT] = SHEET_INPUT("base_split", "split", "", "how the base is spread over tenants", "usage",
                          .type = SHEET_WORD, .words = splits),
};

static const struct sheet_output outputs[] = {
    [TOTAL] = SHEET_OUTPUT("total_cost", "c", "$", "{gpus} x {period_h} x {gpu_price}",
                           "The pool costs {total_cost} over the period."),
    [CAPACITY] =
        SHEET_OUTPUT("capacity_slot_h", "K", "slot-h", "{gpus} x {jobs_per_gpu} x {period_h}",
                     "It could run {capacity_slot_h}."),
    [USED_SUM] = SHEET_OUTPUT("used_slot_h", "U", "slot-h", "sum of the tenants' slot-hours",
                              "It ran {used_slot_h}."),
    [UTILIZATION] =
        SHEET_OUTPUT("slot_utilization", "rho", "fraction", "{used_slot_h} / {capacity_slot_h}",
                     "Slots were busy {slot_utilization} of the time."),
    [BASE_COST] = SHEET_OUTPUT("base_cost", "c_b", "$", "{total_cost} x {base_gb} / {gpu_gb}",
                               "By its share of the memory the base costs {base_cost}."),
    [DIRECT_RATE] = SHEET_OUTPUT("direct_rate", "r", "$/slot-h",
                                 "{gpu_price} x (1 - {base_gb} / {gpu_gb}) / {jobs_per_gpu}",
                                 "The rest, over all slots, is {direct_rate}."),
    [DIRECT] = SHEET_OUTPUT("direct_cost", "c_d", "$", "{direct_rate} x {used_slot_h}",
                            "What was used costs {direct_cost} at that rate."),
    [IDLE] = SHEET_OUTPUT("idle_cost", "c_i", "$", "{total_cost} - {base_cost} - {direct_cost}",
                          "Slots that stood idle cost {idle_cost}: somebody must pay them."),
    [BILL] = SHEET_OUTPUT("bill", "B", "$",
                          "r u + c_i u/U + c_b u/U (usage), or c_b shared equally over the tenants",
                          "Who used {slot_hours} pays {bill}.", .each = "slot_hours"),
    [BILLED] = SHEET_OUTPUT("billed_total", "B_sum", "$", "sum of the bills",
                            "Together they pay {billed_total}."),
    [UNRECOVERED] = SHEET_OUTPUT("unrecovered", "c_0", "$", "{total_cost} less {billed_total}",
                                 "{unrecovered} is left unpaid."),
    [FULL_RATE] = SHEET_OUTPUT("full_rate", "r_f", "$/slot-h", "{total_cost} / {used_slot_h}",
                               "One rate for everything would be {full_rate}."),
    [UNDER] =
        SHEET_OUTPUT("under_recovery_frac", "l", "fraction", "1 - {direct_cost} / {total_cost}",
                     "Billing direct use alone would lose {under_recovery_frac} of the cost."),
};

static bool unused(const struct sheet_case *c)
{
    return sheet_out(c, USED_SUM) == 0;
}

static bool paid(const struct sheet_case *c)
{
    return sheet_out(c, USED_SUM) > 0;
}

static const struct sheet_remark remarks[] = {
    {UNRECOVERED, paid, "The bills add up to the cost."},
    {FULL_RATE, unused, "Nobody used anything: no rate would recover the cost."},
};

/* ---- mistakes, of the first tenant's bill ---- */

static double direct_only(const struct sheet_case *c)
{
    return sheet_out(c, DIRECT_RATE) * sheet_in(c, USED);
}

static double whole_price(const struct sheet_case *c)
{
    return sheet_in(c, PRICE) / sheet_in(c, PER_GPU);
}

static double over_capacity(const struct sheet_case *c)
{
    return sheet_out(c, TOTAL) / sheet_out(c, CAPACITY);
}

static const struct sheet_mistake mistakes[] = {
    {DIRECT_RATE, "charges the base's memory to the slots a second time", whole_price},
    {BILL, "bills direct use alone: nobody pays the base and the idle slots", direct_only},
    {FULL_RATE, "divides by what could have been used", over_capacity},
};

/* ---- solution ---- */

static double sum_used(const struct sheet_case *c, size_t *n)
{
    const double *used = sheet_list(c, USED, n);
    double sum = 0;
    for (size_t i = 0; i < *n; i++)
        sum += used[i];
    return sum;
}

static void check(struct sheet_case *c)
{
    size_t n;
    const double capacity = sheet_in(c, GPUS) * sheet_in(c, PER_GPU) * sheet_in(c, PERIOD);
    const double used = sum_used(c, &n);
    if (used > capacity * (1 + 1e-12))
        sheet_refuse(c, USED, "add up to %g, more than the %g slot-hours there are", used,
                     capacity);
    if (sheet_in(c, BASE) > sheet_in(c, GPU_GB))
        sheet_refuse(c, BASE, "is more memory than the GPU has");
}

static double bill_all(struct sheet_case *c)
{
    size_t n;
    const double all = sum_used(c, &n), *used = sheet_list(c, USED, &n);
    const bool equal = strcmp(sheet_word(c, SPLIT), "equal") == 0;
    double billed = 0;
    for (size_t i = 0; i < n; i++) {
        const double share = all > 0 ? used[i] / all : 0;
        const double of_base = equal ? 1 / (double)n : share;
        const double bill = sheet_out(c, DIRECT_RATE) * used[i] + sheet_out(c, IDLE) * share +
                            sheet_out(c, BASE_COST) * of_base;
        sheet_set_at(c, BILL, i, bill);
        billed += bill;
    }
    return billed;
}

static void solve(struct sheet_case *c)
{
    size_t n;
    const double gpus = sheet_in(c, GPUS), period = sheet_in(c, PERIOD), price = sheet_in(c, PRICE);
    const double total = gpus * period * price, capacity = gpus * sheet_in(c, PER_GPU) * period;
    const double used = sum_used(c, &n), memory = sheet_in(c, BASE) / sheet_in(c, GPU_GB);
    const double rate = price * (1 - memory) / sheet_in(c, PER_GPU);
    sheet_set(c, TOTAL, total);
    sheet_set(c, CAPACITY, capacity);
    sheet_set(c, USED_SUM, used);
    sheet_set(c, UTILIZATION, used / capacity);
    sheet_set(c, BASE_COST, total * memory);
    sheet_set(c, DIRECT_RATE, rate);
    sheet_set(c, DIRECT, rate * used);
    sheet_set(c, IDLE, rate * fmax(0, capacity - used));
    const double billed = bill_all(c);
    sheet_set(c, BILLED, billed);
    sheet_set(c, UNRECOVERED, used > 0 ? 0 : total - billed);
    sheet_set(c, FULL_RATE, total / used);
    sheet_set(c, UNDER, 1 - rate * used / total);
}

static const char *const rules[] = {
    "Nobody used anything: split by usage the bills are 0, split equally they are the base; the "
    "rest is not recovered.",
    "More use than capacity, or a base larger than the GPU, is refused.",
    "When something was used the bills add up to the cost.",
    NULL,
};

extern const struct sheet sheet_tenant_cost;
const struct sheet sheet_tenant_cost = {
    .name = "tenant-cost",
    .group = "Multi-tenant fine-tuning and adapters",
    .question =
        "What should each tenant pay so that the resident base and the idle slots are paid for?",
    .doc =
        "A pool of GPUs holds one base. Its cost is split into direct use (slot-hours at the "
        "workspace's share of the price), the resident base and idle slots. The base is spread by "
        "usage or equally, idle cost by usage.",
    .assumption = "Memory is the measure of what the base costs.",
    .rules = rules,
    .sources = "Full cost recovery (average-cost pricing)",
    .inputs = inputs,
    .outputs = outputs,
    .remarks = remarks,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_remarks = SHEET_N(remarks),
    .n_mistakes = SHEET_N(mistakes),
    .answer = FULL_RATE,
    .check = check,
    .solve = solve,
};
