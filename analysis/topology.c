/* Topologies as text and as JSON. */
#include "analysis/topology.h"

#include "analysis/json.h"

#include <math.h>

/* ---- a node ---- */

/* "NV18" where all pairs of a level have as many links, else the level's name. */
static void level_name(const struct node_links *l, enum link_level level, char text[16])
{
    uint32_t links = 0;
    bool same = level == LINK_NVLINK;
    for (uint32_t a = 0; a < l->n_gpus && same; a++)
        for (uint32_t b = 0; b < l->n_gpus; b++) {
            if (a == b || l->gpu_gpu[a][b] != LINK_NVLINK)
                continue;
            same = same && (links == 0 || links == l->nvlinks[a][b]);
            links = l->nvlinks[a][b];
        }
    if (same && links > 0)
        snprintf(text, 16, "NV%u", links);
    else
        snprintf(text, 16, "%s", link_names[level]);
}

/* "GPU0    GPU1": a cell a GPU, as wide as the widest. */
static void print_cells(FILE *out, const char *title, const char *prefix, const uint32_t *numbers,
                        uint32_t n)
{
    fprintf(out, "  %s", title);
    for (uint32_t i = 0; i < n; i++) {
        char cell[16] = "-";
        if (numbers[i] != LINK_NONE)
            snprintf(cell, sizeof cell, "%s%u", prefix, numbers[i]);
        fprintf(out, i + 1 < n ? "  %-6s" : "  %s", cell);
    }
    fputc('\n', out);
}

enum { A_LINE = 8 };

static void print_socket(FILE *out, const struct node_links *l, const uint32_t *set,
                         uint32_t socket)
{
    uint32_t gpus[NODE_GPUS_MAX], cards[NODE_GPUS_MAX], rails[NODE_GPUS_MAX], n = 0;
    char title[24];
    for (uint32_t i = 0; i < l->n_gpus; i++)
        if (set[i] == socket) {
            cards[n] = node_links_nic(l, i);
            rails[n] = node_links_rail(l, i);
            gpus[n++] = i;
        }
    snprintf(title, sizeof title, "socket %-3u", socket);
    for (uint32_t from = 0; from < n; from += A_LINE) {
        uint32_t some = n - from < A_LINE ? n - from : A_LINE;
        print_cells(out, title, "GPU", &gpus[from], some);
        print_cells(out, "  card    ", "NIC", &cards[from], some);
        print_cells(out, "  rail    ", "", &rails[from], some);
    }
}

static uint32_t count_cards(const struct node_links *l, enum link_level level)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->n_gpus; i++)
        for (uint32_t k = 0; k < l->n_nics; k++)
            n += l->gpu_nic[i][k] == level;
    return n;
}

static bool is_own(const struct node_links *l, uint32_t nic)
{
    for (uint32_t i = 0; i < l->n_gpus; i++)
        if (node_links_nic(l, i) == nic)
            return true;
    return false;
}

static void print_node(FILE *out, const struct node_links *l)
{
    uint32_t set[NODE_GPUS_MAX], sockets = node_links_sockets(l, set);
    const struct link_pairs pairs = node_links_pairs(l);
    char name[16];
    fprintf(out, "A node of %u GPUs and %u network cards\n\n", l->n_gpus, l->n_nics);
    for (uint32_t s = 0; s < sockets; s++)
        print_socket(out, l, set, s);
    fputs("\nPairs of GPUs\n", out);
    for (int level = LINK_NVLINK; level < LINK_LEVELS; level++) {
        if (pairs.n[level] == 0)
            continue;
        level_name(l, (enum link_level)level, name);
        fprintf(out, "  %-5s %4u  %s\n", name, pairs.n[level], link_docs[level]);
    }
    if (l->n_nics == 0)
        return;
    fputs("\nGPUs and network cards\n", out);
    uint32_t others = 0;
    for (int level = LINK_PIX; level < LINK_LEVELS; level++)
        if (count_cards(l, (enum link_level)level) > 0)
            fprintf(out, "  %-5s %4u  %s\n", link_names[level],
                    count_cards(l, (enum link_level)level), link_docs[level]);
    for (uint32_t k = 0; k < l->n_nics; k++)
        if (!is_own(l, k))
            fprintf(out, "%sNIC%u", others++ ? " " : "\nCards of no GPU: ", k);
    if (others)
        fputc('\n', out);
}

static void whole_or_null(struct json *j, const char *key, uint32_t value)
{
    if (value == LINK_NONE)
        json_number(j, key, NAN); /* null */
    else
        json_whole(j, key, value);
}

static void json_node(FILE *out, const struct node_links *l)
{
    struct json j;
    uint32_t socket[NODE_GPUS_MAX];
    const struct link_pairs pairs = node_links_pairs(l);
    json_init(&j, out);
    json_object(&j, NULL);
    json_whole(&j, "gpus", l->n_gpus);
    json_whole(&j, "network_cards", l->n_nics);
    json_whole(&j, "sockets", node_links_sockets(l, socket));
    json_object(&j, "gpu_pairs");
    for (int level = LINK_NVLINK; level < LINK_LEVELS; level++)
        json_whole(&j, level == LINK_NVLINK ? "NVLINK" : link_names[level], pairs.n[level]);
    json_close(&j);
    json_object(&j, "card_pairs");
    for (int level = LINK_PIX; level < LINK_LEVELS; level++)
        json_whole(&j, link_names[level], count_cards(l, (enum link_level)level));
    json_close(&j);
    json_array(&j, "gpu", false);
    for (uint32_t i = 0; i < l->n_gpus; i++) {
        json_object(&j, NULL);
        json_whole(&j, "number", i);
        json_whole(&j, "socket", socket[i]);
        whole_or_null(&j, "numa", l->numa[i]);
        whole_or_null(&j, "card", node_links_nic(l, i));
        whole_or_null(&j, "rail", node_links_rail(l, i));
        json_close(&j);
    }
    json_close(&j);
    json_close(&j);
}

void topology_print_node(FILE *out, const struct node_links *l, bool json)
{
    if (json)
        json_node(out, l);
    else
        print_node(out, l);
}

/* ---- units ---- */

static uint32_t alike(const uint32_t *nodes, uint32_t n, uint32_t from)
{
    uint32_t end = from + 1;
    while (end < n && nodes[end] == nodes[from])
        end++;
    return end;
}

static void print_leaves(FILE *out, const struct topology_units *u)
{
    for (uint32_t l = 0, end; l < u->n_leaves; l = end) {
        end = alike(u->leaf_nodes, u->n_leaves, l);
        char name[64] = "";
        if (u->leaves)
            snprintf(name, sizeof name, end - l > 1 ? "%.24s .. %.24s" : "%.24s", u->leaves[l],
                     u->leaves[end - 1]);
        fprintf(out, "  %5u leaf group%s of %u node%s", end - l, end - l == 1 ? "" : "s",
                u->leaf_nodes[l], u->leaf_nodes[l] == 1 ? "" : "s");
        if (u->gpus_per_node)
            fprintf(out, ", %u GPUs", u->leaf_nodes[l] * u->gpus_per_node);
        fprintf(out, "%s%s\n", *name ? "  " : "", name);
    }
    for (uint32_t s = 0, end; u->n_spines > 1 && s < u->n_spines; s = end) {
        end = alike(u->spine_leaves, u->n_spines, s);
        fprintf(out, "  %5u spine%s of %u leaf group%s\n", end - s, end - s == 1 ? "" : "s",
                u->spine_leaves[s], u->spine_leaves[s] == 1 ? "" : "s");
    }
    for (uint32_t r = 0, end; r < u->n_racks; r = end) {
        end = alike(u->rack_nodes, u->n_racks, r);
        fprintf(out, "  %5u rack%s of %u nodes\n", end - r, end - r == 1 ? "" : "s",
                u->rack_nodes[r]);
    }
}

static void print_units(FILE *out, const struct topology_units *u)
{
    fprintf(out, "%s: %s, %u nodes", u->name, u->kind, u->n_nodes);
    if (u->gpus_per_node)
        fprintf(out, " of %u GPUs", u->gpus_per_node);
    if (u->placement)
        fprintf(out, ", placed by %s", u->placement);
    fputc('\n', out);
    print_leaves(out, u);
    if (u->n_leaves == 0)
        fputs("  no leaf groups: all nodes are alike\n", out);
}

static void json_counts(struct json *j, const char *key, const uint32_t *counts, uint32_t n)
{
    json_array(j, key, true);
    for (uint32_t i = 0; i < n; i++)
        json_whole(j, NULL, counts[i]);
    json_close(j);
}

static void json_units(struct json *j, const struct topology_units *u)
{
    json_object(j, NULL);
    json_text(j, "name", u->name);
    json_text(j, "kind", u->kind);
    if (u->placement)
        json_text(j, "placement", u->placement);
    json_whole(j, "nodes", u->n_nodes);
    if (u->gpus_per_node)
        json_whole(j, "gpus_per_node", u->gpus_per_node);
    json_counts(j, "leaf_nodes", u->leaf_nodes, u->n_leaves);
    json_counts(j, "spine_leaves", u->spine_leaves, u->n_spines);
    json_counts(j, "rack_nodes", u->rack_nodes, u->n_racks);
    json_close(j);
}

void topology_print_units(FILE *out, const struct topology_units *units, size_t n, bool json)
{
    if (!json) {
        for (size_t i = 0; i < n; i++)
            print_units(out, &units[i]);
        return;
    }
    struct json j;
    json_init(&j, out);
    json_object(&j, NULL);
    json_array(&j, "units", false);
    for (size_t i = 0; i < n; i++)
        json_units(&j, &units[i]);
    json_close(&j);
    json_close(&j);
}
