/* Worksheet: hosts for N sandboxed sessions under four isolation boundaries. */
#include "analysis/worksheets/sheet.h"

#include <math.h>

enum {
    SESSIONS,
    APP_MEM,
    APP_VCPU,
    HOST_MEM,
    RESERVED,
    HOST_VCPU,
    OVERSUB,
    LIMIT,
    SPARE,
    SESSION_S,
    OVERHEAD,           /* four, by boundary */
    TAX = OVERHEAD + 4, /* four */
    START = TAX + 4     /* four */
};
enum boundary { CONTAINER, GVISOR, MICROVM, VM, BOUNDARIES };

/* Outputs: the rate of starts, then seven for each boundary. */
enum { STARTS };
enum field { PER_HOST, BOUND, HOSTS, HOSTS_SPARE, OVERHEAD_GIB, DENSITY_LOSS, STARTING, FIELDS };
#define OUT(boundary, field) (1 + (boundary)*FIELDS + (field))

#define MEMORY_INPUT(b, s, value, what)                                                            \
    SHEET_INPUT(b "_mem_mib", "m_" s, "MiB", "overhead memory of one session, " what, value)
#define TAX_INPUT(b, s, value, what)                                                               \
    SHEET_INPUT(b "_cpu_tax", "x_" s, "fraction", "extra CPU of one session, " what, value)
#define START_INPUT(b, s, value, what)                                                             \
    SHEET_INPUT(b "_start_s", "t_" s, "s", "start time, " what, value)

static const struct sheet_input inputs[] = {
    [SESSIONS] = SHEET_INPUT("sessions", "N", "sessions", "concurrent sessions", "50000",
                             .type = SHEET_COUNT),
    [APP_MEM] = SHEET_INPUT("app_mem_mib", "m", "MiB", "memory of the user's code", "512"),
    [APP_VCPU] = SHEET_INPUT("app_vcpu", "v", "vCPU", "CPU of the user's code", "0.25"),
    [HOST_MEM] = SHEET_INPUT("host_mem_gib", "M", "GiB", "memory of a host", "512"),
    [RESERVED] =
        SHEET_INPUT("host_reserved_gib", "R", "GiB", "memory kept for the host itself", "32"),
    [HOST_VCPU] = SHEET_INPUT("host_vcpu", "V", "vCPU", "CPU threads of a host", "128"),
    [OVERSUB] = SHEET_INPUT("cpu_oversub", "O", "-", "CPU promised over CPU there is", "4"),
    [LIMIT] = SHEET_INPUT("host_session_limit", "Q", "sessions",
                          "most sessions a host may run; 0: no limit", "0", .type = SHEET_COUNT),
    [SPARE] = SHEET_INPUT("spare_frac", "p", "fraction", "spare hosts for each host", "0.1"),
    [SESSION_S] =
        SHEET_INPUT("session_s", "T", "s", "mean length of a session", "1800", .above = true),
    [OVERHEAD + CONTAINER] = MEMORY_INPUT("container", "c", "4", "container"),
    [OVERHEAD + GVISOR] = MEMORY_INPUT("gvisor", "g", "24", "user-space kernel"),
    [OVERHEAD + MICROVM] = MEMORY_INPUT("microvm", "u", "45", "microVM (monitor and guest kernel)"),
    [OVERHEAD + VM] = MEMORY_INPUT("vm", "f", "643", "full VM (monitor and guest system)"),
    [TAX + CONTAINER] = TAX_INPUT("container", "c", "0", "container"),
    [TAX + GVISOR] = TAX_INPUT("gvisor", "g", "0.15", "user-space kernel"),
    [TAX + MICROVM] = TAX_INPUT("microvm", "u", "0.05", "microVM"),
    [TAX + VM] = TAX_INPUT("vm", "f", "0.05", "full VM"),
    [START + CONTAINER] = START_INPUT("container", "c", "0.3", "container"),
    [START + GVISOR] = START_INPUT("gvisor", "g", "1.14", "user-space kernel"),
    [START + MICROVM] = START_INPUT("microvm", "u", "1.15", "microVM"),
    [START + VM] = START_INPUT("vm", "f", "30", "full VM"),
};

#define ROWS(boundary, b, s, what)                                                                 \
    [OUT(boundary,                                                                                 \
         PER_HOST)] =                                                                              \
        SHEET_OUTPUT(                                                                              \
            b "_per_host", "n_" s, "sessions",                                                     \
            "min(floor(({host_mem_gib} - {host_reserved_gib}) x 1024 / ({app_mem_mib} + {" b       \
            "_mem_mib})), floor({host_vcpu} x {cpu_oversub} / ({app_vcpu} x (1 + {" b              \
            "_cpu_tax}))), {host_session_limit} unless 0)",                                        \
            "One host takes {" b "_per_host} under a " what ".", .type = SHEET_COUNT),             \
         [OUT(boundary, BOUND)] = SHEET_OUTPUT(                                                    \
             b "_bound", "bound_" s, "-", "the smallest of the three: mem, cpu or limit",          \
             "What ends there first is: {" b "_bound}.", .type = SHEET_WORD),                      \
         [OUT(boundary, HOSTS)] =                                                                  \
             SHEET_OUTPUT(b "_hosts", "H_" s, "hosts", "ceil({sessions} / {" b "_per_host})",      \
                          "All sessions fill {" b "_hosts}.", .type = SHEET_COUNT),                \
         [OUT(boundary, HOSTS_SPARE)] = SHEET_OUTPUT(                                              \
             b "_hosts_spare", "S_" s, "hosts", "ceil({" b "_hosts} x (1 + {spare_frac}))",        \
             "With spare ones, rounded up again, {" b "_hosts_spare}.", .type = SHEET_COUNT),      \
         [OUT(boundary, OVERHEAD_GIB)] =                                                           \
             SHEET_OUTPUT(b "_overhead_gib", "G_" s, "GiB", "{sessions} x {" b "_mem_mib} / 1024", \
                          "The boundary itself takes {" b "_overhead_gib} over all hosts."),       \
         [OUT(boundary, DENSITY_LOSS)] = SHEET_OUTPUT(                                             \
             b "_density_loss", "d_" s, "fraction", "1 - {" b "_per_host} / {container_per_host}", \
             "Against a container a host loses {" b "_density_loss} of its sessions."),            \
         [OUT(boundary, STARTING)] = SHEET_OUTPUT(                                                 \
             b "_starting", "L_" s, "sessions", "{starts_per_s} x {" b "_start_s}",                \
             "At any moment {" b "_starting} are still starting: memory held, nobody served yet.")

static const struct sheet_output outputs[] = {
    [STARTS] = SHEET_OUTPUT("starts_per_s", "lambda", "1/s", "{sessions} / {session_s}",
                            "To keep {sessions} going, {starts_per_s} must start (Little)."),
    ROWS(CONTAINER, "container", "c", "container"),
    ROWS(GVISOR, "gvisor", "g", "user-space kernel"),
    ROWS(MICROVM, "microvm", "u", "microVM"),
    ROWS(VM, "vm", "f", "full VM"),
};

/* ---- remarks and mistakes, alike for each boundary ---- */

static bool too_large(const struct sheet_case *c, enum boundary b)
{
    return sheet_out(c, (uint8_t)OUT(b, PER_HOST)) == 0;
}

static double gib_for_mib(const struct sheet_case *c, enum boundary b)
{
    const double free_gib = sheet_in(c, HOST_MEM) - sheet_in(c, RESERVED);
    const double each_mib = sheet_in(c, APP_MEM) + sheet_in(c, (uint8_t)(OVERHEAD + b));
    return each_mib > 0 ? sheet_floor(free_gib * 1000 / each_mib) : NAN;
}

static double without_ceiling(const struct sheet_case *c, enum boundary b)
{
    return sheet_in(c, SESSIONS) / sheet_out(c, (uint8_t)OUT(b, PER_HOST));
}

#define TOO_LARGE(name, boundary)                                                                  \
    static bool name##_too_large(const struct sheet_case *c)                                       \
    {                                                                                              \
        return too_large(c, boundary);                                                             \
    }
TOO_LARGE(container, CONTAINER)
TOO_LARGE(gvisor, GVISOR)
TOO_LARGE(microvm, MICROVM)
TOO_LARGE(vm, VM)

static double microvm_gib(const struct sheet_case *c)
{
    return gib_for_mib(c, MICROVM);
}

static double microvm_unrounded(const struct sheet_case *c)
{
    return without_ceiling(c, MICROVM);
}

static double microvm_bare(const struct sheet_case *c)
{
    const double free_mib = (sheet_in(c, HOST_MEM) - sheet_in(c, RESERVED)) * 1024;
    return sheet_in(c, APP_MEM) > 0 ? sheet_floor(free_mib / sheet_in(c, APP_MEM)) : NAN;
}

static const struct sheet_remark remarks[] = {
    {OUT(CONTAINER, PER_HOST), container_too_large, "One session is larger than a host."},
    {OUT(GVISOR, PER_HOST), gvisor_too_large, "One session is larger than a host."},
    {OUT(MICROVM, PER_HOST), microvm_too_large, "One session is larger than a host."},
    {OUT(VM, PER_HOST), vm_too_large, "One session is larger than a host."},
};

static const struct sheet_mistake mistakes[] = {
    {OUT(MICROVM, PER_HOST), "takes 1 GiB for 1000 MiB", microvm_gib},
    {OUT(MICROVM, PER_HOST), "counts the user's code only, not its monitor and guest kernel",
     microvm_bare},
    {OUT(MICROVM, HOSTS), "does not round up to whole hosts", microvm_unrounded},
};

/* ---- solution ---- */

struct density {
    double memory, cpu, limit;
};

static struct density density_of(const struct sheet_case *c, enum boundary b)
{
    const double mib = sheet_in(c, APP_MEM) + sheet_in(c, (uint8_t)(OVERHEAD + b));
    const double vcpu = sheet_in(c, APP_VCPU) * (1 + sheet_in(c, (uint8_t)(TAX + b)));
    const double host_mib = (sheet_in(c, HOST_MEM) - sheet_in(c, RESERVED)) * 1024;
    const double host_vcpu = sheet_in(c, HOST_VCPU) * sheet_in(c, OVERSUB);
    return (struct density){
        .memory = mib > 0 ? sheet_floor(host_mib / mib) : INFINITY,
        .cpu = vcpu > 0 ? sheet_floor(host_vcpu / vcpu) : INFINITY,
        .limit = sheet_in(c, LIMIT) > 0 ? sheet_in(c, LIMIT) : INFINITY,
    };
}

static double least(struct density d)
{
    return fmin(d.memory, fmin(d.cpu, d.limit));
}

static double loss_of(double per_host, double container, enum boundary b)
{
    if (b == CONTAINER)
        return 0;
    return per_host == 0 ? 1 : 1 - per_host / container;
}

static void solve_boundary(struct sheet_case *c, enum boundary b)
{
    const struct density d = density_of(c, b);
    const double n = sheet_in(c, SESSIONS), per_host = least(d);
    const double container = least(density_of(c, CONTAINER));
    const double hosts = n == 0 ? 0 : fmax(1, sheet_ceil(n / per_host));
    const bool fits = n == 0 || per_host > 0;
    sheet_set(c, (uint8_t)OUT(b, PER_HOST), per_host);
    sheet_set_word(c, (uint8_t)OUT(b, BOUND),
                   d.memory == per_host ? "mem"
                   : d.cpu == per_host  ? "cpu"
                                        : "limit");
    sheet_set_if(c, (uint8_t)OUT(b, HOSTS), fits, hosts);
    sheet_set_if(c, (uint8_t)OUT(b, HOSTS_SPARE), fits,
                 sheet_ceil(hosts * (1 + sheet_in(c, SPARE))));
    sheet_set(c, (uint8_t)OUT(b, OVERHEAD_GIB), n * sheet_in(c, (uint8_t)(OVERHEAD + b)) / 1024);
    sheet_set_if(c, (uint8_t)OUT(b, DENSITY_LOSS), b == CONTAINER || per_host == 0 || container > 0,
                 loss_of(per_host, container, b));
    sheet_set(c, (uint8_t)OUT(b, STARTING),
              sheet_out(c, STARTS) * sheet_in(c, (uint8_t)(START + b)));
}

static void solve(struct sheet_case *c)
{
    sheet_set(c, STARTS, sheet_in(c, SESSIONS) / sheet_in(c, SESSION_S));
    for (enum boundary b = CONTAINER; b < BOUNDARIES; b++)
        solve_boundary(c, b);
}

static void check(struct sheet_case *c)
{
    if (sheet_in(c, RESERVED) > sheet_in(c, HOST_MEM))
        sheet_refuse(c, RESERVED, "is more memory than the host has");
    for (enum boundary b = CONTAINER; b < BOUNDARIES; b++)
        if (isinf(least(density_of(c, b))))
            sheet_refuse(c, APP_MEM, "and app_vcpu are 0: nothing ends how many fit");
}

static const char *const rules[] = {
    "A session larger than the host: 0 a host, and no number of hosts. Its density loss is 1.",
    "Without sessions every count of hosts is 0.",
    "With an app_vcpu of 0 the CPU never binds; a host_session_limit of 0 is no limit.",
    "On a tie memory is named before CPU, CPU before the limit.",
    NULL,
};

extern const struct sheet sheet_sandbox_hosts;
const struct sheet sheet_sandbox_hosts = {
    .name = "sandbox-hosts",
    .group = "Sandboxed sessions and cold starts",
    .question =
        "How many hosts do N concurrent sandboxed sessions need under each isolation boundary?",
    .doc =
        "Four boundaries for code that nobody trusts: a container (the host's kernel), a "
        "user-space kernel, a microVM and a full virtual machine. Each adds memory and CPU to "
        "every session; a host takes as many as the tighter of the two allows.",
    .assumption =
        "Every session holds all of its memory all the time; CPU is promised several "
        "times over, so it must be idle most of the time.",
    .rules = rules,
    .sources =
        "J. D. C. Little, Operations Research 9 (1961). Firecracker's specification: at most 5 MiB "
        "of monitor a microVM, at most 125 ms to the init of a minimal guest. Published "
        "measurements: about 4 MiB for an empty container, 24 MiB for an empty user-space kernel "
        "(22 to 60 more with a server inside), 30 to 60 MiB of guest kernel in a microVM; runtime "
        "classes account 130 MiB for a microVM, 160 to 320 MiB for a full emulator. The other "
        "figures of one session are illustrations: measure your own",
    .inputs = inputs,
    .outputs = outputs,
    .remarks = remarks,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_remarks = SHEET_N(remarks),
    .n_mistakes = SHEET_N(mistakes),
    .answer = OUT(MICROVM, HOSTS),
    .check = check,
    .solve = solve,
};
