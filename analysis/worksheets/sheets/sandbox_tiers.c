/* Worksheet: hosts of a tiered design, by trust and by need of a GPU. */
#include "analysis/worksheets/sheet.h"

#include <math.h>

enum {
    SESSIONS,
    GPU_FRAC,
    SHARED_FRAC,
    SLICES,
    HOST_GPUS,
    CONTAINER_FRAC,
    GVISOR_FRAC,
    CONTAINER_DENSITY,
    GVISOR_DENSITY,
    MICROVM_DENSITY,
    SPARE
};
enum {
    N_GPU,
    N_SHARED,
    N_WHOLE,
    N_CONTAINER,
    N_GVISOR,
    N_MICROVM,
    H_CONTAINER,
    H_GVISOR,
    H_MICROVM,
    CPU_HOSTS,
    GPUS_SHARED,
    GPUS_WHOLE,
    H_SHARED,
    H_WHOLE,
    GPU_HOSTS,
    ALL_CONTAINER,
    ALL_MICROVM,
    ISOLATION,
    SAVED
};

#define DENSITY(key, symbol, value, what)                                                          \
    SHEET_INPUT(key "_per_host", symbol, "sessions", "sessions on a host, " what, value,           \
                .type = SHEET_COUNT, .min = 1)

static const struct sheet_input inputs[] = {
    [SESSIONS] = SHEET_INPUT("sessions", "N", "sessions", "concurrent sessions", "50000",
                             .type = SHEET_COUNT),
    [GPU_FRAC] = SHEET_INPUT("gpu_frac", "g", "fraction", "share of sessions that need a GPU",
                             "0.04", .max = 1),
    [SHARED_FRAC] = SHEET_INPUT("gpu_shared_frac", "s", "fraction",
                                "share of GPU sessions that fit a partition", "0.75", .max = 1),
    [SLICES] = SHEET_INPUT("slices_per_gpu", "k", "-", "partitions of one GPU", "7",
                           .type = SHEET_COUNT, .min = 1),
    [HOST_GPUS] = SHEET_INPUT("gpus_per_host", "G", "GPUs", "GPUs in a GPU host", "8",
                              .type = SHEET_COUNT, .min = 1),
    [CONTAINER_FRAC] =
        SHEET_INPUT("container_frac", "a", "fraction",
                    "share of CPU sessions in containers (trusted code)", "0.2", .max = 1),
    [GVISOR_FRAC] = SHEET_INPUT(
        "gvisor_frac", "b", "fraction",
        "share of CPU sessions under a user-space kernel; the rest are microVMs", "0.3", .max = 1),
    [CONTAINER_DENSITY] = DENSITY("container", "d_c", "952", "container"),
    [GVISOR_DENSITY] = DENSITY("gvisor", "d_g", "917", "user-space kernel"),
    [MICROVM_DENSITY] = DENSITY("microvm", "d_u", "882", "microVM"),
    [SPARE] = SHEET_INPUT("spare_frac", "p", "fraction", "spare hosts in every tier", "0.1"),
};

#define COUNT(...) SHEET_OUTPUT(__VA_ARGS__, .type = SHEET_COUNT)

static const struct sheet_output outputs[] = {
    [N_GPU] =
        COUNT("n_gpu", "n", "sessions", "round({sessions} x {gpu_frac})", "{n_gpu} need a GPU."),
    [N_SHARED] = COUNT("n_gpu_shared", "n_s", "sessions", "round({n_gpu} x {gpu_shared_frac})",
                       "{n_gpu_shared} of them are content with a partition,"),
    [N_WHOLE] = COUNT("n_gpu_whole", "n_w", "sessions", "{n_gpu} - {n_gpu_shared}",
                      "and {n_gpu_whole} own a whole GPU."),
    [N_CONTAINER] =
        COUNT("n_container", "n_c", "sessions", "round(({sessions} - {n_gpu}) x {container_frac})",
              "{n_container} run trusted code, in containers."),
    [N_GVISOR] =
        COUNT("n_gvisor", "n_g", "sessions", "round(({sessions} - {n_gpu}) x {gvisor_frac})",
              "{n_gvisor} run under a user-space kernel."),
    [N_MICROVM] =
        COUNT("n_microvm", "n_u", "sessions", "{sessions} - {n_gpu} - {n_container} - {n_gvisor}",
              "The remaining {n_microvm} are microVMs."),
    [H_CONTAINER] = COUNT("hosts_container", "H_c", "hosts",
                          "ceil(ceil({n_container} / {container_per_host}) x (1 + {spare_frac}))",
                          "Each tier rounds up for itself: {hosts_container} of containers,"),
    [H_GVISOR] = COUNT("hosts_gvisor", "H_g", "hosts",
                       "ceil(ceil({n_gvisor} / {gvisor_per_host}) x (1 + {spare_frac}))",
                       "{hosts_gvisor} of user-space kernels,"),
    [H_MICROVM] = COUNT("hosts_microvm", "H_u", "hosts",
                        "ceil(ceil({n_microvm} / {microvm_per_host}) x (1 + {spare_frac}))",
                        "{hosts_microvm} of microVMs."),
    [CPU_HOSTS] =
        COUNT("cpu_hosts", "H", "hosts", "{hosts_container} + {hosts_gvisor} + {hosts_microvm}",
              "That is {cpu_hosts} without GPUs."),
    [GPUS_SHARED] = COUNT("gpus_shared", "g_s", "GPUs", "ceil({n_gpu_shared} / {slices_per_gpu})",
                          "The partitions are cut from {gpus_shared}."),
    [GPUS_WHOLE] =
        COUNT("gpus_whole", "g_w", "GPUs", "{n_gpu_whole}", "{gpus_whole} are given out whole."),
    [H_SHARED] = COUNT("hosts_gpu_shared", "H_s", "hosts",
                       "ceil(ceil({gpus_shared} / {gpus_per_host}) x (1 + {spare_frac}))",
                       "They are in {hosts_gpu_shared}"),
    [H_WHOLE] = COUNT("hosts_gpu_whole", "H_w", "hosts",
                      "ceil(ceil({gpus_whole} / {gpus_per_host}) x (1 + {spare_frac}))",
                      "and in {hosts_gpu_whole}."),
    [GPU_HOSTS] = COUNT("gpu_hosts", "H_G", "hosts", "{hosts_gpu_shared} + {hosts_gpu_whole}",
                        "That is {gpu_hosts} with GPUs."),
    [ALL_CONTAINER] =
        COUNT("all_container_hosts", "A_c", "hosts",
              "ceil(ceil(({sessions} - {n_gpu}) / {container_per_host}) x (1 + {spare_frac}))",
              "Were all code trusted, {all_container_hosts} would do."),
    [ALL_MICROVM] =
        COUNT("all_microvm_hosts", "A_u", "hosts",
              "ceil(ceil(({sessions} - {n_gpu}) / {microvm_per_host}) x (1 + {spare_frac}))",
              "With no code trusted it would be {all_microvm_hosts}."),
    [ISOLATION] = COUNT("isolation_cost_hosts", "D", "hosts", "{cpu_hosts} - {all_container_hosts}",
                        "Isolation costs {isolation_cost_hosts}, tiers that round up included."),
    [SAVED] = COUNT("gpus_saved_by_slicing", "E", "GPUs", "{n_gpu_shared} - {gpus_shared}",
                    "Partitions save {gpus_saved_by_slicing} that whole ones would have taken."),
};

static bool tiers_cost_more(const struct sheet_case *c)
{
    return sheet_out(c, CPU_HOSTS) > sheet_out(c, ALL_MICROVM);
}

static const struct sheet_remark remarks[] = {
    {ALL_MICROVM, tiers_cost_more,
     "One tier of microVMs for all would be smaller, {all_microvm_hosts}: it rounds up once."},
};

static double no_spare_rounding(const struct sheet_case *c)
{
    return (sheet_in(c, SESSIONS) - sheet_out(c, N_GPU)) / sheet_in(c, CONTAINER_DENSITY) *
           (1 + sheet_in(c, SPARE));
}

static double gpu_sessions_too(const struct sheet_case *c)
{
    return sheet_round(sheet_in(c, SESSIONS) * sheet_in(c, CONTAINER_FRAC));
}

static const struct sheet_mistake mistakes[] = {
    {N_CONTAINER, "takes the share of all sessions, not of those without a GPU", gpu_sessions_too},
    {ALL_CONTAINER, "forgets that hosts are whole", no_spare_rounding},
};

static double whole(double n, double per)
{
    return n > 0 ? fmax(1, sheet_ceil(n / per)) : 0;
}

static double hosts(const struct sheet_case *c, double n, double per)
{
    return sheet_ceil(whole(n, per) * (1 + sheet_in(c, SPARE)));
}

static void solve_gpus(struct sheet_case *c)
{
    const double n = sheet_round(sheet_in(c, SESSIONS) * sheet_in(c, GPU_FRAC));
    const double shared = sheet_round(n * sheet_in(c, SHARED_FRAC));
    const double gpus = whole(shared, sheet_in(c, SLICES));
    sheet_set(c, N_GPU, n);
    sheet_set(c, N_SHARED, shared);
    sheet_set(c, N_WHOLE, n - shared);
    sheet_set(c, GPUS_SHARED, gpus);
    sheet_set(c, GPUS_WHOLE, n - shared);
    sheet_set(c, H_SHARED, hosts(c, gpus, sheet_in(c, HOST_GPUS)));
    sheet_set(c, H_WHOLE, hosts(c, n - shared, sheet_in(c, HOST_GPUS)));
    sheet_set(c, GPU_HOSTS, sheet_out(c, H_SHARED) + sheet_out(c, H_WHOLE));
    sheet_set(c, SAVED, shared - gpus);
}

static void solve(struct sheet_case *c)
{
    solve_gpus(c);
    const double n = sheet_in(c, SESSIONS) - sheet_out(c, N_GPU);
    const double container = fmin(n, sheet_round(n * sheet_in(c, CONTAINER_FRAC)));
    /* Two halves that both round up are not more than there are. */
    const double gvisor = fmin(n - container, sheet_round(n * sheet_in(c, GVISOR_FRAC)));
    const double microvm = n - container - gvisor;
    sheet_set(c, N_CONTAINER, container);
    sheet_set(c, N_GVISOR, gvisor);
    sheet_set(c, N_MICROVM, microvm);
    sheet_set(c, H_CONTAINER, hosts(c, container, sheet_in(c, CONTAINER_DENSITY)));
    sheet_set(c, H_GVISOR, hosts(c, gvisor, sheet_in(c, GVISOR_DENSITY)));
    sheet_set(c, H_MICROVM, hosts(c, microvm, sheet_in(c, MICROVM_DENSITY)));
    sheet_set(c, CPU_HOSTS,
              sheet_out(c, H_CONTAINER) + sheet_out(c, H_GVISOR) + sheet_out(c, H_MICROVM));
    sheet_set(c, ALL_CONTAINER, hosts(c, n, sheet_in(c, CONTAINER_DENSITY)));
    sheet_set(c, ALL_MICROVM, hosts(c, n, sheet_in(c, MICROVM_DENSITY)));
    sheet_set(c, ISOLATION, sheet_out(c, CPU_HOSTS) - sheet_out(c, ALL_CONTAINER));
}

static void check(struct sheet_case *c)
{
    if (sheet_in(c, CONTAINER_FRAC) + sheet_in(c, GVISOR_FRAC) > 1 + 1e-9)
        sheet_refuse(c, GVISOR_FRAC, "and container_frac are more than all sessions");
}

static const char *const rules[] = {
    "Shares round half up to whole sessions; microVMs are what remains.",
    "Without GPU sessions there are no GPU hosts, with GPU sessions only no CPU hosts.",
    "Each tier with a session has at least one host.",
    NULL,
};

extern const struct sheet sheet_sandbox_tiers;
const struct sheet sheet_sandbox_tiers = {
    .name = "sandbox-tiers",
    .group = "Sandboxed sessions and cold starts",
    .question =
        "What does a tiered design cost: trusted code in containers, the rest in stronger "
        "sandboxes, GPU sessions apart?",
    .doc =
        "CPU sessions are split between three boundaries by trust. GPU sessions are a tier of "
        "their own on GPU hosts: some share a GPU through hardware partitions, the others own a "
        "whole one.",
    .assumption = "Hosts of one tier are never lent to another, not even the spare ones.",
    .rules = rules,
    .sources = "Counting, with a ceiling in each tier; densities as in worksheet sandbox-hosts",
    .inputs = inputs,
    .outputs = outputs,
    .remarks = remarks,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_remarks = SHEET_N(remarks),
    .n_mistakes = SHEET_N(mistakes),
    .answer = CPU_HOSTS,
    .check = check,
    .solve = solve,
};
