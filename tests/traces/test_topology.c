/* Listings of nodes and units: the structure of each bundled one, the ways in which they come
 * (blanks, colours, cut off, older drivers), and damaged ones with the reason at its place. */
#include "fixture.h"

#include "traces/hostlist.h"
#include "traces/slurm_topology.h"
#include "traces/topo_matrix.h"

#include "sim/vec.h"

#define FILE_OF(name) TEST_SOURCE_ROOT "/tests/traces/topology/" name

/* ---- whole listings ---- */

struct reading {
    struct arena arena;
    struct diags diags;
    struct node_links links;
    struct slurm_topology unit;
    enum hr_err err;
};

static void open_reading(struct reading *r)
{
    memset(r, 0, sizeof *r);
    arena_init(&r->arena);
    diags_init(&r->diags);
}

static void close_reading(struct reading *r)
{
    diags_fini(&r->diags);
    arena_fini(&r->arena);
}

static void read_matrix(struct reading *r, const char *path)
{
    open_reading(r);
    r->err = topo_matrix_read(path, &r->links, &r->arena, &r->diags);
}

static void expect_ok(const struct reading *r)
{
    if (r->diags.n > 0)
        diags_print(&r->diags, stderr, false);
    cr_assert_eq(r->err, HR_OK);
}

struct listing {
    const char *path;
    uint32_t n_nics;
    uint32_t nic_pairs[LINK_LEVELS]; /* GPU and card, by level */
    uint32_t own[8];                 /* the card of each GPU */
};

static const struct listing listings[] = {
    {FILE_OF("cloud_vm_h100_gpu_only_topo.txt"),
     0,
     {0},
     {LINK_NONE, LINK_NONE, LINK_NONE, LINK_NONE, LINK_NONE, LINK_NONE, LINK_NONE, LINK_NONE}},
    {FILE_OF("dgx_h100_topo.txt"),
     12,
     {[LINK_PXB] = 8, [LINK_NODE] = 40, [LINK_SYS] = 48},
     {0, 3, 4, 5, 6, 9, 10, 11}},
    {FILE_OF("hgx_h100_private_switch_topo.txt"),
     10,
     {[LINK_PIX] = 8, [LINK_SYS] = 72},
     {0, 1, 2, 5, 6, 7, 8, 9}},
    {FILE_OF("hgx_h100_two_gpu_two_nic_switch_topo.txt"),
     12,
     {[LINK_PIX] = 8, [LINK_PXB] = 8, [LINK_NODE] = 32, [LINK_SYS] = 48},
     {0, 1, 2, 3, 6, 7, 8, 9}},
};
enum { LISTINGS = sizeof listings / sizeof *listings };

static void expect_structure(const struct node_links *l, const struct listing *of)
{
    uint32_t set[NODE_GPUS_MAX];
    const struct link_pairs pairs = node_links_pairs(l);
    cr_assert_eq(l->n_gpus, 8);
    cr_assert_eq(pairs.n[LINK_NVLINK], 28);
    cr_assert_eq(l->nvlinks[0][7], 18);
    cr_assert_eq(node_links_sets(l, LINK_NVLINK, set), 1);
    cr_assert_eq(node_links_sockets(l, set), 2);
    for (uint32_t i = 0; i < 8; i++) {
        cr_assert_eq(set[i], i / 4);
        cr_assert_eq(l->numa[i], i / 4);
    }
    cr_assert_eq(l->n_nics, of->n_nics);
    uint32_t nic_pairs[LINK_LEVELS] = {0};
    for (uint32_t i = 0; i < 8; i++)
        for (uint32_t k = 0; k < l->n_nics; k++)
            nic_pairs[l->gpu_nic[i][k]]++;
    for (int level = 0; level < LINK_LEVELS; level++)
        cr_assert_eq(nic_pairs[level], of->nic_pairs[level], "level %s: %u", link_names[level],
                     nic_pairs[level]);
    for (uint32_t i = 0; i < 8; i++) {
        cr_assert_eq(node_links_nic(l, i), of->own[i]);
        cr_assert_eq(node_links_rail(l, i), of->n_nics ? i : LINK_NONE);
    }
}

Test(topology, each_listing_gives_its_structure)
{
    for (size_t i = 0; i < LISTINGS; i++) {
        struct reading r;
        read_matrix(&r, listings[i].path);
        expect_ok(&r);
        expect_structure(&r.links, &listings[i]);
        close_reading(&r);
    }
}

/* ---- as they come ---- */

static char *slurp(const char *path)
{
    FILE *in = fopen(path, "r");
    cr_assert_not_null(in);
    char *text = calloc(1, 1 << 16);
    cr_assert(fread(text, 1, (1 << 16) - 1, in) > 0);
    fclose(in);
    return text;
}

/* Reads text as a listing; the path is that of a temporary file. */
static void read_text(struct reading *r, const char *text)
{
    struct fixture f = {0};
    fixture_write(&f, text, strlen(text));
    read_matrix(r, f.path);
    remove(f.path);
}

/* Each byte of from as the text of it in to. */
static char *with_each(const char *text, char from, const char *to)
{
    char *out = calloc(1, strlen(text) * (strlen(to) + 1) + 1), *p = out;
    for (; *text; text++) {
        if (*text == from)
            p = stpcpy(p, to);
        else
            *p++ = *text;
    }
    return out;
}

Test(topology, blanks_colours_and_windows_lines_do_not_matter)
{
    for (size_t i = 0; i < LISTINGS; i++) {
        char *text = slurp(listings[i].path);
        char *variants[] = {
            with_each(text, '\t', "   "),
            with_each(text, '\t', "\033[0m\t\033[1;32m"),
            with_each(text, '\n', "\r\n"),
            with_each(text, 'X', "X"),
        };
        char *legend = strstr(variants[3], "Legend:");
        *legend = '\0';
        for (size_t k = 0; k < 4; k++) {
            struct reading r;
            read_text(&r, variants[k]);
            expect_ok(&r);
            expect_structure(&r.links, &listings[i]);
            close_reading(&r);
            free(variants[k]);
        }
        free(text);
    }
}

/* Of a listing cut at any column of the terminal the GPUs are known as soon as their columns are
 * there, since the rows of the cards say the rest; and nothing that is known is wrong. */
Test(topology, a_narrow_terminal_cuts_columns)
{
    char *whole = slurp(FILE_OF("dgx_h100_topo.txt")), *text = with_each(whole, '\t', "\t");
    for (size_t width = 50; width < 160; width++) {
        char *to = text;
        for (const char *p = whole; *p; p++) {
            size_t column = 0;
            for (; *p && *p != '\n'; p++)
                if (column++ < width)
                    *to++ = *p;
            *to++ = '\n';
        }
        *to = '\0';
        struct reading r;
        read_text(&r, text);
        expect_ok(&r);
        cr_assert_eq(node_links_pairs(&r.links).n[LINK_NVLINK], 28);
        cr_assert_leq(r.links.n_nics, 12);
        cr_assert(width > 60 || r.links.n_nics == 12, "width %zu: %u", width, r.links.n_nics);
        for (uint32_t i = 0; i < 8; i++)
            for (uint32_t k = 0; k < r.links.n_nics && r.links.n_nics == 12; k++)
                cr_assert_eq(r.links.gpu_nic[i][k] == LINK_PXB, listings[1].own[i] == k);
        close_reading(&r);
    }
    free(text);
    free(whole);
}

Test(topology, older_drivers_name_cards_by_device)
{
    struct reading r;
    read_text(&r,
              "\tGPU0\tGPU1\tmlx5_0\tmlx5_1\tCPU Affinity\n"
              "GPU0\t X \tNV12\tPIX\tSOC\t0-15\n"
              "GPU1\tNV12\t X \tSOC\tPIX\t16-31\n"
              "mlx5_0\tPIX\tSOC\t X \tSOC\n"
              "mlx5_1\tSOC\tPIX\tSOC\t X \n");
    expect_ok(&r);
    uint32_t set[NODE_GPUS_MAX];
    cr_assert(r.links.n_nics == 2 && r.links.gpu_nic[0][1] == LINK_SYS);
    cr_assert(node_links_rail(&r.links, 0) == 0 && node_links_rail(&r.links, 1) == 1);
    cr_assert_eq(node_links_sockets(&r.links, set), 1, "no NUMA affinity, and NVLink says nothing");
    close_reading(&r);
}

/* ---- damaged ones ---- */

struct damage {
    const char *from, *to; /* the first from becomes to */
    uint32_t line, column;
    const char *fragment, *nearest;
};

static const struct damage damages[] = {
    {"\tGPU0\tGPU1", "\tDevice0\tGPU1", 1, 0, "its first line names GPU0", NULL},
    {"\tGPU0\tGPU1\tGPU2", "\tGPU0\tGPU2\tGPU1", 1, 7, "GPU1 is due here, not 'GPU2'", NULL},
    {"\tGPU0\tGPU1", "\tGPU0\tGPU0", 1, 7, "'GPU0' is there twice", NULL},
    {"\tNIC1\t", "\tNIC0\t", 1, 47, "'NIC0' is there twice", NULL},
    {"\tGPU7\tNIC0", "\tNIC0", 9, 1, "the header names no 'GPU7'", NULL},
    {"\nGPU7\t", "\nGPU8\t", 9, 1, "the header names no 'GPU8'", NULL},
    {"\nGPU6\t", "\nGPU5\t", 8, 1, "GPU5 has a row already, in line 7", NULL},
    {"\nGPU3\tNV18", "\nGPU3\tNX18", 5, 6, "'NX18' is no link to GPU0", NULL},
    {"PXB\tNODE\tNODE\tNODE\tNODE\tNODE\tSYS", "PXP\tNODE\tNODE\tNODE\tNODE\tNODE\tSYS", 2, 45,
     "'PXP' is no link to NIC0", "PXB"},
    {"GPU0\t X \t", "GPU0\tNV18\t", 2, 6, "GPU0 with itself must be X", NULL},
    {"GPU1\tNV18\t X ", "GPU1\t X \t X ", 3, 7, "X is GPU1 with itself, not with GPU0", NULL},
    {"GPU1\tNV18\t X ", "GPU1\tNV12\t X ", 3, 0, "GPU1 to GPU0 is not what GPU0 to GPU1 is", NULL},
    {"GPU2\tNV18\tNV18\t X ", "GPU2\tNV18\tPHB\t X ", 4, 0,
     "GPU2 to GPU1 is not what GPU1 to GPU2 is", NULL},
    {"NIC0\tPXB\tNODE", "NIC0\tPIX\tNODE", 10, 0, "NIC0 to GPU0 is not what GPU0 to NIC0 is", NULL},
    {"NIC4\tNODE\tNODE\tPXB", "NIC4\tNODE\tPXB", 14, 57, "X is NIC4 with itself, not with NIC3",
     NULL},
    {"GPU5\tNV18\tNV18", "GPU5\tNV18", 7, 27, "X is GPU5 with itself, not with GPU4", NULL},
    {"GPU4\tNV18\tNV18\tNV18\tNV18", "GPU4\tNV18,NV18\tNV18\tNV18", 6, 6,
     "'NV18,NV18' is no link to GPU0", NULL},
    {"NV18", "nv18", 2, 10, "'nv18' is no link to GPU1", NULL},
    {"NV18", "NV999", 2, 10, "'NV999' is no link to GPU1", NULL},
    {"GPU1\tNV18\t X \tNV18", "GPU1\tNV18\tN/A\tNV18", 3, 11, "'N/A' is no link to GPU1", NULL},
    {"\nGPU0", "\n\nLegend:\n\nGPU0", 0, 0, NULL, NULL},
};

static char *replaced(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    cr_assert_not_null(at, "%s", from);
    char *out = calloc(1, strlen(text) + strlen(to) + 1);
    memcpy(out, text, (size_t)(at - text));
    strcat(strcat(out, to), at + strlen(from));
    return out;
}

Test(topology, damaged_listings_are_refused_with_the_reason)
{
    char *text = slurp(FILE_OF("dgx_h100_topo.txt"));
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        const struct damage *d = &damages[i];
        char *damaged = replaced(text, d->from, d->to);
        struct reading r;
        read_text(&r, damaged);
        if (d->fragment) {
            cr_assert_eq(r.err, HR_INPUT, "case %zu", i);
            const struct diag *said = &r.diags.items[0];
            cr_assert(strstr(said->text, d->fragment), "case %zu: %s", i, said->text);
            cr_assert(said->line == d->line && said->column == d->column, "case %zu: %u:%u", i,
                      said->line, said->column);
            cr_assert(!d->nearest || strcmp(said->nearest, d->nearest) == 0, "case %zu", i);
        } else {
            expect_ok(&r);
        }
        close_reading(&r);
        free(damaged);
    }
    free(text);
}

/* A listing that ends early, at any byte: refused, or right in what it has. */
Test(topology, a_listing_may_end_anywhere)
{
    char *text = slurp(FILE_OF("dgx_h100_topo.txt"));
    const char *matrix_end = strstr(text, "\nNIC0\t");
    for (size_t n = strlen(text); n-- > 1;) {
        text[n] = '\0';
        struct reading r;
        read_text(&r, text);
        cr_assert(r.err == HR_INPUT || r.err == HR_OK);
        cr_assert_eq(r.err == HR_INPUT, r.diags.n_errors > 0);
        cr_assert(r.err == HR_OK || text + n < matrix_end, "%zu bytes: %s", n,
                  r.diags.n ? r.diags.items[0].text : "");
        if (r.err == HR_OK)
            cr_assert_eq(node_links_pairs(&r.links).n[LINK_NVLINK], 28);
        close_reading(&r);
    }
    free(text);
}

/* ---- Slurm ---- */

static void read_unit(struct reading *r, const char *path)
{
    open_reading(r);
    r->err = slurm_topology_read(path, &r->unit, &r->arena, &r->diags);
}

static void read_unit_text(struct reading *r, const char *text)
{
    struct fixture f = {0};
    fixture_write(&f, text, strlen(text));
    read_unit(r, f.path);
    remove(f.path);
}

Test(topology, slurm_trees)
{
    struct reading r;
    read_unit(&r, FILE_OF("slurm_topology_su32.conf"));
    expect_ok(&r);
    cr_assert(!r.unit.blocks && r.unit.n_leaves == 1 && r.unit.leaf_nodes[0] == 32);
    cr_assert_str_eq(r.unit.nodes[0], "su01-n01");
    cr_assert_str_eq(r.unit.nodes[31], "su01-n32");
    close_reading(&r);

    read_unit_text(&r,
                   "# two units\nswitchname=b nodes=b[1-3] linkspeed=100\n"
                   "SwitchName=a Nodes=a[08-11],\\\n  Switches=x\n");
    cr_assert_eq(r.err, HR_INPUT);
    close_reading(&r);

    read_unit_text(&r,
                   "SwitchName=top Switches=s[1-2]\n"
                   "SwitchName=s1 Nodes=n[1-2,7]r[01-02],login\n"
                   "SwitchName=s2 \\\n  Nodes=m[9-11] # the new ones\n");
    expect_ok(&r);
    cr_assert(r.unit.n_nodes == 10 && r.unit.n_leaves == 2 && r.unit.levels == 2);
    cr_assert(r.unit.leaf_nodes[0] == 7 && r.unit.leaf_nodes[1] == 3);
    cr_assert_str_eq(r.unit.nodes[5], "n7r02");
    cr_assert_str_eq(r.unit.nodes[6], "login");
    cr_assert_str_eq(r.unit.nodes[9], "m11");
    cr_assert_str_eq(r.unit.leaves[1], "s2");
    close_reading(&r);
}

/* Three levels: leaf groups of one spine stand together, whatever the order of the file; a leaf
 * switch that nothing contains is below a spine of its own. */
Test(topology, slurm_spines)
{
    static const char *const leaves[] = {"a1", "a2", "b1", "c"};
    struct reading r;
    read_unit_text(&r,
                   "SwitchName=core Switches=pod[1-2]\n"
                   "SwitchName=pod1 Switches=a1,a2\nSwitchName=pod2 Switches=b1\n"
                   "SwitchName=a1 Nodes=n[1-2]\nSwitchName=b1 Nodes=m[1-3]\n"
                   "SwitchName=c Nodes=z\nSwitchName=a2 Nodes=n[3-6]\n");
    expect_ok(&r);
    cr_assert(r.unit.levels == 3 && r.unit.n_leaves == 4 && r.unit.n_spines == 3);
    for (size_t i = 0; i < 4; i++)
        cr_assert_str_eq(r.unit.leaves[i], leaves[i]);
    cr_assert(r.unit.spine_leaves[0] == 2 && r.unit.spine_leaves[1] == 1);
    cr_assert(r.unit.leaf_nodes[1] == 4 && r.unit.leaf_nodes[2] == 3);
    cr_assert_str_eq(r.unit.spines[1], "pod2");
    cr_assert_str_eq(r.unit.nodes[2], "n3");
    cr_assert_str_eq(r.unit.nodes[9], "z");
    close_reading(&r);
}

Test(topology, slurm_blocks)
{
    struct reading r;
    read_unit(&r, FILE_OF("slurm_topology_su32_block.conf"));
    expect_ok(&r);
    cr_assert(r.unit.blocks && r.unit.n_racks == 8 && r.unit.n_leaves == 1);
    cr_assert(r.unit.leaf_nodes[0] == 32 && r.unit.rack_nodes[7] == 4 && r.unit.levels == 4);
    close_reading(&r);

    read_unit_text(&r,
                   "BlockName=a Nodes=a[1-4]\nBlockName=b Nodes=b[1-3]\nBlockName=c Nodes=c[1-4]\n"
                   "BlockSizes=4,8\n");
    expect_ok(&r);
    cr_assert(r.unit.n_leaves == 2 && r.unit.leaf_nodes[0] == 7 && r.unit.leaf_nodes[1] == 4);
    cr_assert_str_eq(r.unit.leaves[1], "c");
    cr_assert(r.unit.leaf_racks[0] == 2 && r.unit.leaf_racks[1] == 1 && r.unit.n_spines == 0);
    close_reading(&r);
}

static const struct {
    const char *text;
    uint32_t line, column;
    const char *fragment, *nearest;
} bad_units[] = {
    {"\n# nothing\n", 1, 0, "no SwitchName= and no BlockName=", NULL},
    {"SwitchName=a Node=n1\n", 1, 14, "there is no key 'Node'", "Nodes"},
    {"SwitchName=a Nodes\n", 1, 14, "'Nodes' is no key=value", "Nodes"},
    {"SwitchName=a Nodes=\n", 1, 14, "a value is due behind =", NULL},
    {"SwitchName=a\n", 1, 0, "it contains neither Nodes= nor Switches=", NULL},
    {"Nodes=n1\n", 1, 0, "a line begins with SwitchName= or BlockName=", NULL},
    {"SwitchName=a Nodes=n1 Switches=b\n", 1, 23, "Nodes and Switches exclude each other", NULL},
    {"SwitchName=a Nodes=n[1-3\n", 1, 21, "the bracket is not closed", NULL},
    {"SwitchName=a Nodes=n1-3]\n", 1, 24, "a bracket closes that was not opened", NULL},
    {"SwitchName=a Nodes=n[3-1]\n", 1, 22, "the range runs backwards", NULL},
    {"SwitchName=a Nodes=n[x]\n", 1, 22, "a number is due here", NULL},
    {"SwitchName=a Nodes=n[1-]\n", 1, 24, "a number is due here", NULL},
    {"SwitchName=a Nodes=n[1;2]\n", 1, 23, "a comma or a closing bracket is due here", NULL},
    {"SwitchName=a Nodes=n1,,n2\n", 1, 23, "a name is due here", NULL},
    {"SwitchName=a Nodes=n[1-999999999]\n", 1, 20, "more than 200,000 names", NULL},
    {"SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n2\n", 0, 0, "node 'n2' is in two places",
     NULL},
    {"SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2\n", 2, 0, "'a' is there twice", NULL},
    {"SwitchName=a Nodes=n1\nSwitchName=b Switches=a,c\n", 2, 0, "there is no switch 'c'", NULL},
    {"SwitchName=a Nodes=n1\nSwitchName=b Switches=c\nSwitchName=c Switches=b\n", 2, 0,
     "the switch contains itself", NULL},
    {"SwitchName=a Nodes=n1\nBlockName=b Nodes=n2\n", 2, 0,
     "switches and blocks exclude each other", NULL},
    {"BlockName=a Nodes=n[1-2]\nBlockSizes=2,6\n", 1, 0, "times a power of two", NULL},
    {"BlockName=a Nodes=n[1-2]\nBlockSizes=4,2\n", 2, 14, "block sizes must ascend", NULL},
    {"BlockName=a Nodes=n[1-2]\nBlockSizes=0\n", 2, 12, "a whole number from 1", NULL},
    {"BlockName=a Nodes=n[1-3]\nBlockSizes=2,4\n", 1, 0, "more nodes than the smallest", NULL},
};

Test(topology, damaged_slurm_files_are_refused_with_the_reason)
{
    for (size_t i = 0; i < sizeof bad_units / sizeof *bad_units; i++) {
        struct reading r;
        read_unit_text(&r, bad_units[i].text);
        cr_assert_eq(r.err, HR_INPUT, "case %zu", i);
        const struct diag *said = &r.diags.items[0];
        cr_assert(strstr(said->text, bad_units[i].fragment), "case %zu: %s", i, said->text);
        cr_assert(said->line == bad_units[i].line && said->column == bad_units[i].column,
                  "case %zu: %u:%u", i, said->line, said->column);
        cr_assert(!bad_units[i].nearest || strcmp(said->nearest, bad_units[i].nearest) == 0);
        close_reading(&r);
    }
}
