/* Worksheet: how long a node is out between tenants, and what that does to sales and margin. */
#include "analysis/worksheets/sheet.h"
#include "models/closed/erlang.h"

#include <math.h>

enum {
    UNITS,
    ARRIVALS,
    LEASE,
    RESET,
    GPU_MEM,
    GPU_RATE,
    NVME,
    NVME_RATE,
    CRYPTO,
    CRYPTO_S,
    FIRMWARE,
    VALIDATE,
    PRICE,
    COST
};
enum {
    GPU_CLEAR,
    DISK,
    SCRUB,
    MAX_SOLD,
    OFFERED,
    BLOCKING,
    BLOCKING_PLAIN,
    SOLD,
    SCRUBBED,
    IDLE,
    REVENUE,
    MARGIN,
    MARGIN_PLAIN,
    PER_LEASE
};

static const struct sheet_input inputs[] = {
    [UNITS] = SHEET_INPUT("units", "c", "nodes", "nodes", "256", .type = SHEET_COUNT, .min = 1,
                          .max = 1e6),
    [ARRIVALS] = SHEET_INPUT("arrivals_per_h", "lambda", "1/h", "lease requests", "9.5"),
    [LEASE] = SHEET_INPUT("lease_h", "L", "h", "mean lease", "24", .above = true),
    [RESET] = SHEET_INPUT("reset_s", "t_r", "s", "reset", "120"),
    [GPU_MEM] = SHEET_INPUT("gpu_mem_gb", "m", "GB", "GPU memory of a node", "640"),
    [GPU_RATE] =
        SHEET_INPUT("gpu_clear_gb_per_s", "w_m", "GB/s", "clearing rate", "1000", .above = true),
    [NVME] = SHEET_INPUT("nvme_tb", "d", "TB", "local disk", "30"),
    [NVME_RATE] = SHEET_INPUT("nvme_gb_per_s", "w_d", "GB/s", "overwrite rate", "5", .above = true),
    [CRYPTO] = SHEET_INPUT("crypto_erase", "crypto", "0/1",
                           "1: throw away the disk's key in place of overwriting", "1",
                           .type = SHEET_FLAG),
    [CRYPTO_S] = SHEET_INPUT("crypto_s", "t_k", "s", "time to throw away a key", "10"),
    [FIRMWARE] = SHEET_INPUT("firmware_s", "t_f", "s", "firmware check or re-flash", "300"),
    [VALIDATE] = SHEET_INPUT("validate_s", "t_v", "s", "acceptance test", "600"),
    [PRICE] = SHEET_INPUT("price_unit_h", "p", "$/node-h", "price", "24", .above = true),
    [COST] = SHEET_INPUT("cost_unit_h", "k", "$/node-h", "cost of owning", "14"),
};

static const struct sheet_output outputs[] = {
    [GPU_CLEAR] = SHEET_OUTPUT("gpu_clear_s", "t_m", "s", "{gpu_mem_gb} / {gpu_clear_gb_per_s}",
                               "Clearing GPU memory takes {gpu_clear_s}."),
    [DISK] = SHEET_OUTPUT("disk_s", "t_d", "s",
                          "{crypto_s} with a key to throw away, else {nvme_tb} x 1000 / "
                          "{nvme_gb_per_s}",
                          "The disks take {disk_s}."),
    [SCRUB] = SHEET_OUTPUT("scrub_s", "s", "s",
                           "{reset_s} + {gpu_clear_s} + {disk_s} + {firmware_s} + {validate_s}",
                           "One after the other that is {scrub_s} between two tenants."),
    [MAX_SOLD] = SHEET_OUTPUT("max_sold_frac", "S_max", "fraction",
                              "{lease_h} / ({lease_h} + {scrub_s} / 3600)",
                              "No more than {max_sold_frac} can be sold."),
    [OFFERED] = SHEET_OUTPUT("offered_erlangs", "a", "nodes",
                             "{arrivals_per_h} x ({lease_h} + {scrub_s} / 3600)",
                             "Leases and their cleaning ask for {offered_erlangs}."),
    [BLOCKING] = SHEET_OUTPUT("blocking", "B", "fraction", "B({units}, {offered_erlangs})",
                              "{blocking} of customers find no clean node and go elsewhere."),
    [BLOCKING_PLAIN] = SHEET_OUTPUT("blocking_no_scrub", "B_0", "fraction",
                                    "B({units}, {arrivals_per_h} x {lease_h})",
                                    "Without cleaning it would be {blocking_no_scrub}."),
    [SOLD] = SHEET_OUTPUT("sold_frac", "S", "fraction",
                          "{arrivals_per_h} x (1 - {blocking}) x {lease_h} / {units}",
                          "{sold_frac} of the nodes are sold."),
    [SCRUBBED] = SHEET_OUTPUT("scrub_frac", "Q", "fraction",
                              "{arrivals_per_h} x (1 - {blocking}) x {scrub_s} / 3600 / {units}",
                              "{scrub_frac} are being cleaned."),
    [IDLE] = SHEET_OUTPUT("idle_frac", "I", "fraction", "1 - {sold_frac} - {scrub_frac}",
                          "{idle_frac} stand clean and idle."),
    [REVENUE] = SHEET_OUTPUT("revenue_unit_h", "r", "$/node-h", "{price_unit_h} x {sold_frac}",
                             "A node earns {revenue_unit_h}."),
    [MARGIN] = SHEET_OUTPUT("margin", "m_g", "fraction", "1 - {cost_unit_h} / {revenue_unit_h}",
                            "The margin is {margin}."),
    [MARGIN_PLAIN] =
        SHEET_OUTPUT("margin_no_scrub", "m_0", "fraction",
                     "1 - {cost_unit_h} / ({price_unit_h} x {arrivals_per_h} x (1 - "
                     "{blocking_no_scrub}) x {lease_h} / {units})",
                     "Without cleaning it would be {margin_no_scrub}: it is demand that limits "
                     "sales, not cleaning."),
    [PER_LEASE] =
        SHEET_OUTPUT("scrub_cost_per_lease", "k_s", "$", "{cost_unit_h} x {scrub_s} / 3600",
                     "Cleaning costs {scrub_cost_per_lease} a lease."),
};

static bool no_sale(const struct sheet_case *c)
{
    return sheet_out(c, SOLD) == 0;
}

static bool short_of_nodes(const struct sheet_case *c)
{
    return sheet_out(c, BLOCKING) > 0.05;
}

static const struct sheet_remark remarks[] = {
    {MARGIN, no_sale, "Nothing is sold."},
    {MARGIN_PLAIN, no_sale, "Without cleaning nothing is sold either."},
    {MARGIN_PLAIN, short_of_nodes,
     "Without cleaning it would be {margin_no_scrub}: customers are turned away, so every hour of "
     "cleaning is an hour less sold."},
};

/* ---- mistakes ---- */

static double overwritten(const struct sheet_case *c)
{
    return sheet_in(c, CRYPTO) == 1 ? sheet_in(c, NVME) * 1000 / sheet_in(c, NVME_RATE)
                                    : sheet_in(c, CRYPTO_S);
}

static double leases_only(const struct sheet_case *c)
{
    return sheet_in(c, ARRIVALS) * sheet_in(c, LEASE);
}

static double all_served(const struct sheet_case *c)
{
    return leases_only(c) / sheet_in(c, UNITS);
}

static double at_the_limit(const struct sheet_case *c)
{
    return sheet_out(c, MAX_SOLD);
}

static double slowest_only(const struct sheet_case *c)
{
    return fmax(fmax(fmax(sheet_in(c, RESET), sheet_out(c, GPU_CLEAR)),
                     fmax(sheet_out(c, DISK), sheet_in(c, FIRMWARE))),
                sheet_in(c, VALIDATE));
}

static const struct sheet_mistake mistakes[] = {
    {DISK, "takes the other way to clear the disks", overwritten},
    {SCRUB, "takes the slowest step: they follow one another", slowest_only},
    {OFFERED, "forgets that a node being cleaned is not there", leases_only},
    {SOLD, "turns nobody away", all_served},
    {SOLD, "takes the limit of cleaning for what is sold: there must be customers too",
     at_the_limit},
};

/* ---- solution ---- */

struct loss {
    double lost, kept; /* shares of arrivals, to full precision both */
};

static struct loss loss(const struct sheet_case *c, double hold_h)
{
    const struct erlang_load a = erlang_product(sheet_in(c, ARRIVALS), hold_h);
    const long double below = erlang_below((uint32_t)sheet_in(c, UNITS), a);
    return (struct loss){(double)(1 / (1 + below)),
                         isinf(below) ? 1 : (double)(below / (1 + below))};
}

static double margin(double cost, double revenue)
{
    return revenue > 0 ? 1 - cost / revenue : -INFINITY;
}

static void solve(struct sheet_case *c)
{
    const double lease = sheet_in(c, LEASE), rate = sheet_in(c, ARRIVALS);
    const double clear = sheet_in(c, GPU_MEM) / sheet_in(c, GPU_RATE);
    const double disk = sheet_in(c, CRYPTO) == 1
                            ? sheet_in(c, CRYPTO_S)
                            : sheet_in(c, NVME) * 1000 / sheet_in(c, NVME_RATE);
    const double scrub =
        sheet_in(c, RESET) + clear + disk + sheet_in(c, FIRMWARE) + sheet_in(c, VALIDATE);
    const double units = sheet_in(c, UNITS), hold = lease + scrub / 3600;
    const struct loss with = loss(c, hold), without = loss(c, lease);
    const double leases = rate * with.kept / units; /* of a node, an hour */
    const double price = sheet_in(c, PRICE), cost = sheet_in(c, COST);
    sheet_set(c, GPU_CLEAR, clear);
    sheet_set(c, DISK, disk);
    sheet_set(c, SCRUB, scrub);
    sheet_set(c, MAX_SOLD, lease / hold);
    sheet_set(c, OFFERED, rate * hold);
    sheet_set(c, BLOCKING, with.lost);
    sheet_set(c, BLOCKING_PLAIN, without.lost);
    sheet_set(c, SOLD, leases * lease);
    sheet_set(c, SCRUBBED, leases * scrub / 3600);
    sheet_set(c, IDLE, fmax(0, 1 - leases * hold));
    sheet_set(c, REVENUE, price * leases * lease);
    sheet_set(c, MARGIN, margin(cost, price * leases * lease));
    sheet_set(c, MARGIN_PLAIN, margin(cost, price * rate * without.kept * lease / units));
    sheet_set(c, PER_LEASE, cost * scrub / 3600);
}

static const char *const rules[] = {
    "Without customers nothing is sold and the margin is minus infinity.",
    "More demand than nodes is allowed: what is sold then nears its limit L / (L + s).",
    NULL,
};

extern const struct sheet sheet_scrub_margin;
const struct sheet sheet_scrub_margin = {
    .name = "scrub-margin",
    .group = "Multi-tenant cloud: units, packing, scrubbing",
    .question =
        "How long is a node out between tenants, and what does that do to sales and margin?",
    .doc =
        "Between leases a node is reset, its GPU memory and disks are cleared, its firmware is "
        "checked and it is tested, one after the other. A customer who finds no clean node goes "
        "elsewhere. Lease plus cleaning is the holding time of an Erlang loss system.",
    .assumption = "Leases are asked for at random; of lease and cleaning only the mean matters.",
    .rules = rules,
    .sources =
        "A. K. Erlang (1917); B. A. Sevastyanov (1957), insensitivity; NIST SP 800-88 (clear, "
        "purge, cryptographic erase)",
    .inputs = inputs,
    .outputs = outputs,
    .remarks = remarks,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_remarks = SHEET_N(remarks),
    .n_mistakes = SHEET_N(mistakes),
    .answer = MARGIN,
    .solve = solve,
};
