/* Printing of the catalogue. In the tables a number of medium confidence has a ~, one of low
 * confidence a ?; what nobody knows is a dash. */
#include "analysis/hardware_list.h"

#include "analysis/json.h"

enum { CELL = 24 };

static const char *cell(char out[CELL], struct hw_number n)
{
    const char *sign = n.confidence == HW_MEDIUM ? "~" : n.confidence == HW_LOW ? "?" : " ";
    if (hw_known(n))
        snprintf(out, CELL, "%.5g%s", n.value, sign);
    else
        snprintf(out, CELL, "- ");
    return out;
}

static void print_gpus(FILE *out, const struct hardware *h)
{
    char c[6][CELL];
    fprintf(out, "%-12s %8s %8s %6s %6s %6s %7s  MIG profiles\n", "GPU", "GB ", "GB/s ", "SMs ",
            "W ", "idle ", "$/h ");
    for (size_t i = 0; i < h->n_gpus; i++) {
        const struct gpu_type *g = &h->gpus[i];
        fprintf(out, "%-12s %8s %8s %6s %6s %6s %7s  ", g->name, cell(c[0], g->memory_gb),
                cell(c[1], g->bandwidth_gb_per_s), cell(c[2], g->n_sm), cell(c[3], g->power_cap_w),
                cell(c[4], g->power_idle_w), cell(c[5], g->usd_per_h));
        if (g->mig.n_profiles)
            fprintf(out, "%u from %s\n", g->mig.n_profiles, g->mig.profiles[0].name);
        else
            fputs("none\n", out);
    }
}

static void print_nodes(FILE *out, const struct hardware *h)
{
    char c[8][CELL];
    fprintf(out, "\n%-12s %-10s %5s %5s %5s %6s %6s %7s %6s %7s\n", "node", "GPU", "GPUs ", "CPUs ",
            "NICs ", "vCPUs ", "GB/s ", "GB ", "kW ", "domain ");
    for (size_t i = 0; i < h->n_nodes; i++) {
        const struct node_type *n = &h->nodes[i];
        fprintf(out, "%-12s %-10s %5s %5s %5s %6s %6s %7s %6s %7s\n", n->name, n->gpu,
                cell(c[0], n->n_gpus), cell(c[1], n->n_sockets), cell(c[2], n->n_nics),
                cell(c[3], n->n_vcpus), cell(c[4], n->network_gb_per_s), cell(c[5], n->memory_gb),
                cell(c[6], n->power_max_kw), cell(c[7], n->domain_gpus));
    }
}

static void json_hw(struct json *j, const char *key, struct hw_number n)
{
    json_object(j, key);
    json_number(j, "value", n.value);
    json_text(j, "confidence", hw_confidence_names[n.confidence]);
    json_text(j, "source", n.source);
    json_close(j);
}

static void json_gpu(struct json *j, const struct gpu_type *g)
{
    json_object(j, g->name);
    json_text(j, "title", g->title);
    json_hw(j, "memory_gb", g->memory_gb);
    json_hw(j, "bandwidth_gb_per_s", g->bandwidth_gb_per_s);
    json_hw(j, "sm", g->n_sm);
    json_hw(j, "power_cap_w", g->power_cap_w);
    json_hw(j, "power_idle_w", g->power_idle_w);
    json_hw(j, "usd_per_h", g->usd_per_h);
    json_object(j, "mig");
    json_text(j, "confidence", hw_confidence_names[g->mig_confidence]);
    json_text(j, "source", g->mig_source);
    json_whole(j, "compute_slices", g->mig.compute);
    json_whole(j, "memory_slices", g->mig.memory);
    json_array(j, "profiles", true);
    for (uint8_t p = 0; p < g->mig.n_profiles; p++)
        json_text(j, NULL, g->mig.profiles[p].name);
    json_close(j);
    json_close(j);
    json_close(j);
}

static void json_node(struct json *j, const struct node_type *n)
{
    json_object(j, n->name);
    json_text(j, "title", n->title);
    json_text(j, "gpu", n->gpu);
    json_hw(j, "gpus", n->n_gpus);
    json_hw(j, "sockets", n->n_sockets);
    json_hw(j, "nics", n->n_nics);
    json_hw(j, "vcpus", n->n_vcpus);
    json_hw(j, "network_gb_per_s", n->network_gb_per_s);
    json_hw(j, "memory_gb", n->memory_gb);
    json_hw(j, "power_max_kw", n->power_max_kw);
    json_hw(j, "domain_gpus", n->domain_gpus);
    json_close(j);
}

void hardware_list(FILE *out, const struct hardware *h, bool json)
{
    if (!json) {
        print_gpus(out, h);
        print_nodes(out, h);
        fputs("\n~ medium, ? low confidence, - unknown; --json names every source\n", out);
        return;
    }
    struct json j;
    json_init(&j, out);
    json_object(&j, NULL);
    json_object(&j, "gpus");
    for (size_t i = 0; i < h->n_gpus; i++)
        json_gpu(&j, &h->gpus[i]);
    json_close(&j);
    json_object(&j, "nodes");
    for (size_t i = 0; i < h->n_nodes; i++)
        json_node(&j, &h->nodes[i]);
    json_close(&j);
    json_close(&j);
}
