/* The part of a printed report that is about supply and prices. */
#include "traces/report.h"

#include <string.h>

enum { CAUSES_SHOWN = 8 };

static void print_causes(const struct trace_supply_facts *f, FILE *out)
{
    char text[640] = "";
    size_t used = 0, i = 0;
    for (; i < f->n_causes && i < CAUSES_SHOWN; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%.40s %llu", i > 0 ? ", " : "",
                                 f->causes[i].name[0] != '\0' ? f->causes[i].name : "unknown",
                                 (unsigned long long)f->causes[i].n);
    if (i < f->n_causes)
        snprintf(text + used, sizeof text - used, " and %zu more", f->n_causes - i);
    if (i > 0)
        report_print_wrapped("causes", text, out);
}

static void print_faults(const struct trace_supply_facts *f, FILE *out)
{
    fprintf(out, "  faults     %llu, %.3g per 1,000 node-days, up to %llu of one node\n",
            (unsigned long long)f->faults, f->faults_per_1000_node_days,
            (unsigned long long)f->most_faults);
    print_causes(f, out);
}

void report_print_supply(const struct trace_supply_facts *f, FILE *out)
{
    if (f->faults > f->unrepaired)
        report_print_quantiles("repair h", &f->repair_h, out);
    if (f->n_up_runs > 0)
        report_print_quantiles("up h", &f->up_run_h, out);
    if (f->n_down_runs > 0)
        report_print_quantiles("down h", &f->down_run_h, out);
    fprintf(out, "  nodes      %llu", (unsigned long long)f->nodes);
    if (f->named > 0)
        fprintf(out, ", %llu names", (unsigned long long)f->named);
    fprintf(out, "; up %llu to %llu, mean %.4g: available %.4g %%\n", (unsigned long long)f->up_min,
            (unsigned long long)f->up_max, f->up_mean, f->available_frac * 100);
    fprintf(out, "  losses     %llu", (unsigned long long)f->losses);
    if (f->losses > 0)
        fprintf(out, ", up to %llu at once, one in %.4g h that a node is up",
                (unsigned long long)f->most_lost, f->up_h_per_loss);
    fprintf(out, "\n");
    if (f->faults > 0)
        print_faults(f, out);
}

void report_print_price(const struct trace_price_facts *f, FILE *out)
{
    fprintf(out, "  price      %.4g to %.4g USD per GPU-hour, mean over time %.4g\n", f->min,
            f->max, f->mean);
    fprintf(out, "  changes    %llu\n", (unsigned long long)f->changes);
}
