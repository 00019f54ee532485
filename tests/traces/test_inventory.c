/* Node lists and pod lists: the openb files, what may vary, and damaged ones. */
#include "fixture.h"
#include "traces/inventory.h"

struct lists {
    struct inventory_types types;
    struct cluster_nodes nodes;
    struct cluster_pods pods;
};

static enum hr_err read_nodes(struct fixture *f, const char *path, struct lists *l)
{
    return inventory_read_nodes(&f->arena, path, (struct diag_place){0}, NULL, &f->diags, &l->types,
                                &l->nodes);
}

static enum hr_err read_pods(struct fixture *f, const char *path, struct lists *l)
{
    return inventory_read_pods(&f->arena, path, (struct diag_place){0}, NULL, &f->diags, &l->types,
                               &l->pods);
}

Test(inventory, openb_nodes)
{
    struct fixture f;
    struct lists l = {0};
    fixture_init(&f, "custom");
    cr_assert_eq(read_nodes(&f, DATA("openb/openb_node_list_gpu_node.csv.gz"), &l), HR_OK);
    cr_assert_eq(l.nodes.n, 1213);
    cr_assert_eq(cluster_capacity(&l.nodes), 6212000);
    cr_assert_eq(l.types.n, 7);
    cr_assert_str_eq(l.types.names[0], "P100");
    cr_assert_str_eq(l.nodes.rows[0].name, "openb-node-0000");
    cr_assert_eq(l.nodes.rows[0].cpu_milli, 64000);
    cr_assert_eq(l.nodes.rows[0].memory_mib, 262144);
    cr_assert_eq(l.nodes.rows[0].devices, 2);
    for (uint32_t i = 1; i < l.nodes.n; i++)
        cr_assert_lt(strcmp(l.nodes.rows[i - 1].name, l.nodes.rows[i].name), 0);
    fixture_fini(&f);
}

Test(inventory, openb_pods)
{
    static const struct {
        const char *path;
        size_t n;
        uint32_t shapes;
        uint64_t milli;
    } want[] = {{DATA("openb/openb_pod_list_default.csv.gz"), 8152, 151, 6086800},
                {DATA("openb/openb_pod_list_multigpu50.csv.gz"), 9061, 151, 11358800},
                /* 457 texts: the order of models, and one named twice, mean nothing */
                {DATA("openb/openb_pod_list_gpuspec33.csv.gz"), 8152, 447, 6086800}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        struct fixture f;
        struct lists l = {0};
        uint64_t milli = 0;
        fixture_init(&f, "custom");
        cr_assert_eq(read_pods(&f, want[i].path, &l), HR_OK);
        cr_expect_eq(l.pods.n, want[i].n);
        cr_expect_eq(l.pods.n_shapes, want[i].shapes);
        for (size_t k = 0; k < l.pods.n; k++)
            milli += cluster_asks(&l.pods.shapes[l.pods.rows[k]]);
        cr_expect_eq(milli, want[i].milli);
        const struct cluster_pod *first = &l.pods.shapes[l.pods.rows[0]];
        cr_expect_eq(first->cpu_milli, 12000);
        cr_expect_eq(first->memory_mib, 16384);
        cr_expect_eq(first->milli, 1000);
        fixture_fini(&f);
    }
}

Test(inventory, models_by_name)
{
    struct fixture f;
    struct lists l = {0};
    fixture_init(&f, "custom");
    const char *rows = "sn,extra,model,gpu,memory_mib,cpu_milli\nb,x,T4,2,9,10\na,x,,0,8,11\n";
    fixture_write(&f, rows, strlen(rows));
    cr_assert_eq(read_nodes(&f, f.path, &l), HR_OK);
    cr_assert_str_eq(l.nodes.rows[0].name, "a", "sorted by name");
    cr_assert_eq(l.nodes.rows[1].cpu_milli, 10);
    cr_assert_str_eq(l.types.names[l.nodes.rows[1].type], "T4");
    remove(f.path);
    const char *text =
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n"
        "p,1,2,1,300,V100|T4\nq,1,2,1,300,T4|V100\nr,1,2,1,300,\n";
    fixture_write(&f, text, strlen(text));
    cr_assert_eq(read_pods(&f, f.path, &l), HR_OK);
    cr_assert_eq(l.pods.n_shapes, 2);
    cr_assert_eq(l.pods.rows[0], l.pods.rows[1]);
    const struct cluster_pod *pod = &l.pods.shapes[l.pods.rows[0]];
    cr_assert(cluster_accepts(pod, l.nodes.rows[1].type));
    cr_assert(!cluster_accepts(pod, l.nodes.rows[0].type));
    cr_assert(cluster_accepts(&l.pods.shapes[l.pods.rows[2]], l.nodes.rows[0].type));
    fixture_fini(&f);
}

/* ---- damage ---- */

struct damaged {
    const char *text, *fragment;
    uint32_t line, column;
};

#define NODES "sn,cpu_milli,memory_mib,gpu,model\n"
#define PODS  "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n"

static const struct damaged nodes[] = {
    {"sn,cpu_milli,memory_mib,model\na,1,2,T4\n", "missing column 'gpu'", 1, 1},
    {NODES, "nothing follows the header", 1, 0},
    {NODES "a,64000,262144,2\n", "truncated row: 4 of 5 fields", 2, 17},
    {NODES "a,64000,262144,2,T4,x\n", "6 fields where the header has 5", 2, 21},
    {NODES "a,x,262144,2,T4\n", "cpu_milli 'x' is not a number", 2, 3},
    {NODES "a,64000,-1,2,T4\n", "memory_mib '-1' is negative", 2, 9},
    {NODES "a,64000,262144,17,T4\n", "gpu '17' is out of range", 2, 16},
    {NODES "a,64000,262144,1.5,T4\n", "gpu '1.5' is not a whole number", 2, 16},
    {NODES "a,64000,262144,2,\n", "model is empty on a node with GPUs", 2, 18},
    {NODES ",64000,262144,2,T4\n", "sn is empty", 2, 1},
    {NODES "a,1,1,1,T4\nb,1,1,1,T4\na,1,1,1,T4\n", "node 'a' is there twice", 0, 0},
    {NODES "a,1,1,0,\n", "no node has a GPU", 0, 0},
};

static const struct damaged pods[] = {
    {"name,cpu_milli,memory_mib,num_gpus,gpu_milli\np,1,2,1,500\n", "missing column 'num_gpu'", 1,
     1},
    {PODS, "nothing follows the header", 1, 0},
    {PODS "p,1,2,1,1001,\n", "gpu_milli '1001' is out of range", 2, 9},
    {PODS "p,1,2,1,0,\n", "gpu_milli is 0 where num_gpu is not", 2, 9},
    {PODS "p,1,2,0,500,\n", "gpu_milli is not 0 where num_gpu is", 2, 9},
    {PODS "p,1,2,1,500,T4||P100\n", "gpu_spec names an empty model", 2, 13},
    {PODS "p,1,2,1,500,T4|\n", "gpu_spec names an empty model", 2, 13},
    {PODS "p,1,,1,500,T4\n", "memory_mib is empty", 2, 5},
    {PODS "p,nan,2,1,500,T4\n", "'nan' is not a finite number", 2, 3},
    {PODS "p,1,2,1,\xfc,T4\n", "invalid UTF-8", 2, 9},
};

static void expect_refused(const struct damaged *d, size_t n,
                           enum hr_err (*read)(struct fixture *, const char *, struct lists *))
{
    for (size_t i = 0; i < n; i++) {
        struct fixture f;
        struct lists l = {0};
        fixture_init(&f, "custom");
        fixture_write(&f, d[i].text, strlen(d[i].text));
        cr_assert_eq(read(&f, f.path, &l), HR_INPUT, "%s", d[i].fragment);
        cr_assert_geq(f.diags.n, 1);
        const struct diag *said = &f.diags.items[0];
        cr_expect(strstr(said->text, d[i].fragment), "'%s', not '%s'", said->text, d[i].fragment);
        cr_expect(said->line == d[i].line && said->column == d[i].column, "%s: at %u:%u",
                  d[i].fragment, said->line, said->column);
        fixture_fini(&f);
    }
}

Test(inventory, damaged_nodes)
{
    expect_refused(nodes, sizeof nodes / sizeof *nodes, read_nodes);
}

Test(inventory, damaged_pods)
{
    expect_refused(pods, sizeof pods / sizeof *pods, read_pods);
}

Test(inventory, at_most_64_models)
{
    struct fixture f;
    struct lists l = {0};
    char text[4096];
    size_t n = (size_t)snprintf(text, sizeof text, NODES);
    for (int i = 0; i < 65; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "n%d,1,1,1,model-%d\n", i, i);
    fixture_init(&f, "custom");
    fixture_write(&f, text, n);
    cr_assert_eq(read_nodes(&f, f.path, &l), HR_INPUT);
    cr_assert(strstr(f.diags.items[0].text, "more than 64 GPU models"));
    cr_assert_eq(f.diags.items[0].line, 66);
    fixture_fini(&f);
}
