/* headroom mig as a user types it: layouts, what fits, orders, files, and what is wrong. */
#include "tests/cli/shell.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct ran r;

static void expect(const char *line, int code)
{
    shell(&r, line);
    cr_assert_eq(r.code, code, "%s: exit code %d, expected %d\n%s\n%s", line, r.code, code, r.out,
                 r.err);
}

static void has(const char *where, const char *what)
{
    cr_assert_not_null(strstr(where, what), "'%s' is not in:\n%s", what, where);
}

static void fits_80_columns(void)
{
    for (const char *at = r.out; *at;) {
        const size_t n = strcspn(at, "\n");
        cr_assert_leq(n, 80u, "%zu columns: %.*s", n, (int)n, at);
        at += n + (at[n] == '\n');
    }
}

#define FILES "$S/tests/traces/mig/"

TestSuite(mig, .fini = shell_clean, .timeout = 120);

Test(mig, layouts)
{
    expect("$H mig layouts 3x1g.10gb 1x3g.40gb", 0);
    has(r.out, "fewest GPUs: 1;");
    has(r.out, "|1g.10gb|1g.10gb|1g.10gb|   -   |3g.40gb                        |");
    has(r.out, "2 of 78 maximal layouts");
    fits_80_columns();
    expect("$H mig layouts", 0);
    has(r.out, "78 of 78 maximal layouts");
    fits_80_columns();
    /* mig-most-containers: one of 20 GB and six of 10 GB; with another 3g it is two GPUs. */
    expect("$H mig layouts 6x1g.10gb 1g.20gb", 0);
    has(r.out, "|1g|1g|1g|1g|1g|1g|1g   |  122 SMs  stranded: compute 0, memory 0");
    expect("$H mig layouts 6x1g.10gb 1g.20gb 3g.40gb", 0);
    has(r.out, "fewest GPUs: 2;");
    /* The defaults of the packing worksheet. */
    expect("$H mig layouts 10x1g.10gb 4x1g.20gb 6x2g.20gb 5x3g.40gb 2x4g.40gb 7g.80gb", 0);
    has(r.out, "fewest GPUs: 9; by slices alone 9, one profile a GPU 11");
    fits_80_columns();
    expect("$H mig layouts --gpu a30 4g.24gb 2x2g.12gb", 0);
    has(r.out, "fewest GPUs: 2;");
}

Test(mig, what_still_fits)
{
    expect("$H mig fits 1g.10gb@0,1g.10gb@1,1g.10gb@5", 0);
    has(r.out, "1g.10gb      4   may begin at 2, 3, 4, 6\n");
    has(r.out, "1g.20gb      2   may begin at 2, 6\n");
    has(r.out, "2g.20gb      1   may begin at 2\n");
    has(r.out, "3g.40gb      0\n");
    fits_80_columns();
    expect(
        "$H mig fits 1g.10gb@0,1g.10gb@1,1g.10gb@5 | tail -n +2 >by_place && "
        "$H mig fits " FILES "lgi.txt | tail -n +2 | cmp - by_place",
        0);
    expect("$H mig fits 1g.10gb@4,1g.10gb@5,1g.10gb@6", 0);
    has(r.out, "|   x   |");
    expect("$H mig fits ''", 0);
    has(r.out, "7g.80gb      1   may begin at 0\n");
    expect("echo 'No GPU instances found: Not Found' >none.txt && $H mig fits none.txt", 0);
    has(r.out, "no instances");
}

Test(mig, order)
{
    expect("$H mig order 1g.10gb 1g.10gb 2g.20gb 3g.40gb", 0);
    has(r.out, "3 of 4 placed");
    has(r.out, "3g.40gb      refused");
    has(r.out, "the best order: 4 of 4 placed\n    3g.40gb      at 4\n");
    fits_80_columns();
    expect("$H mig order 3g.40gb 1g.10gb 2g.20gb 1g.10gb", 0);
    has(r.out, "no order does better");
    expect("$H mig order 7g.80gb 1g.10gb 1g.10gb", 0);
    has(r.out, "1 of 3 placed");
    has(r.out, "the best order: 2 of 3 placed");
    has(r.out, "7g.80gb      refused");
}

Test(mig, files)
{
    expect("$H mig fits " FILES "lgip.txt", 0);
    has(r.out, "the profiles of H100 SXM 80 GB");
    expect("$H mig fits " FILES "lgipp.txt --gpu a30", 2);
    has(r.err, "lgipp.txt:1");
    expect("$H mig fits " FILES "mig_parted.yaml", 0);
    has(r.out, "GPUs 6 7\n");
    has(r.out, "all GPUs, only [\"0x233010DE\"]");
    fits_80_columns();
    expect("$H mig fits " FILES "mig_parted.yaml --gpu h200", 2);
    has(r.err, "mig_parted.yaml:11");
    expect("$H mig fits no-such.txt", 2);
    has(r.err, "no-such.txt");
    expect("$H mig fits " FILES "SOURCE.md", 2);
    has(r.err, "is no listing");
}

/* 16 halves on 8 GPUs; 250 notebooks would want 36 GPUs, seven on each. */
Test(mig, pools_of_a_scenario)
{
    expect("$H mig pools $S/scenarios/mig-notebooks.yaml", 0);
    has(r.out, "slices: 8 GPUs, H100 SXM 80 GB; instances are made as they are asked for\n");
    has(r.out, "    1g.10gb      56 (7 a GPU)\n");
    has(r.out, "    notebooks            1g.10gb      250 users\n");
    has(r.out, "fewest GPUs for the most at a time: 36\n");
    has(r.out, "halves: 8 GPUs, H100 SXM 80 GB; the layout stays\n");
    has(r.out, "|3g.40gb                        |3g.40gb                        |\n");
    has(r.out, "    3g.40gb      16 (2 a GPU)\n");
    has(r.out, "    assistant            3g.40gb      1 to 16 replicas\n");
    has(r.out, "fewest GPUs for the most at a time: 8\n");
    fits_80_columns();
    expect("$H mig pools $S/scenarios/mig-notebooks.yaml --design whole-gpus", 0);
    cr_expect_null(strstr(r.out, "slices:"), "that design has whole GPUs there");
    expect("$H mig pools $S/scenarios/mig-notebooks.yaml --json >out && python3 -m json.tool out",
           0);
    has(r.out, "\"fewest_gpus\": 36");
    expect("$H mig pools $S/scenarios/mig-notebooks.yaml --set fleet.pools.halves.nodes=2", 0);
    has(r.out, "    3g.40gb      32 (2 a GPU)\n");
    expect("$H mig pools $S/scenarios/ramp.yaml", 2);
    has(r.err, "has no MIG instances");
    expect("$H mig pools $S/scenarios/mig-notebooks.yaml --design slises", 2);
    has(r.err, "nearest: 'slices'");
}

/* The catalogue, and a type of the user's own. */
Test(mig, hardware)
{
    expect("$H list --hardware", 0);
    has(r.out, "h100-sxm ");
    has(r.out, "gb200-nvl72 ");
    fits_80_columns();
    expect("$H list --hardware --json >out && python3 -m json.tool out", 0);
    has(r.out, "\"source\": \"hbm_bandwidth_h100_tb_s\"");
    expect(
        "cp $S/scenarios/ramp.yaml mine.yaml && printf 'hardware: {gpus: {mine: {like: a30}}}\\n' "
        ">>mine.yaml && $H list --hardware mine.yaml",
        0);
    has(r.out, "\nmine ");
    expect("$H mig layouts 4g.24gb --scenario mine.yaml --gpu mine", 0);
    has(r.out, "fewest GPUs: 1;");
    expect("$H mig layouts 4g.24gb --scenario mine.yaml --gpu mone", 2);
    has(r.err, "did you mean 'mine'");
    expect("$H list --hardware none.yaml", 2);
    has(r.err, "none.yaml");
}

Test(mig, json_is_json)
{
    static const char *const lines[] = {
        "layouts 2x1g.10gb 3g.40gb",    "layouts",
        "fits 1g.10gb@0,2g.20gb@4",     "order 1g.10gb 1g.10gb 2g.20gb 3g.40gb",
        "fits " FILES "lgi.txt",        "fits " FILES "lgip.txt",
        "fits " FILES "mig_parted.yaml"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char line[512];
        snprintf(line, sizeof line, "$H mig %s --json >out && python3 -m json.tool out", lines[i]);
        expect(line, 0);
        has(r.out, "\"gpu\": \"h100-sxm\"");
    }
}

Test(mig, what_is_wrong_exits_2_with_the_nearest_word)
{
    static const char *const cases[][2] = {
        {"$H mig", "layouts|fits|order|pools"},
        {"$H mig layout", "did you mean 'layouts'"},
        {"$H mig layouts 2x3g.40g", "did you mean '3g.40gb'"},
        {"$H mig layouts 9999999x1g.10gb", "at most"},
        {"$H mig layouts 1g.10gb --gpu h100-smx", "did you mean 'h100-sxm'"},
        {"$H mig fits 3g.40gb@4,1g.10gb@5", "does not fit beside"},
        {"$H mig fits 2g.20gb@6", "2g.20gb may not begin at 6"},
        {"$H mig fits 2g.20gb@12", "a start is one of 0 to 7"},
        {"$H mig fits 2g.20gb@0,1g.10gb", "needs a place"},
        {"$H mig fits", "fits takes one file"},
        {"$H mig order", "order takes 1 to 16"},
        {"$H mig order something", "no profile 'something'"},
        {"$H mig fits 1g.10gb@0 --jsn", "did you mean '--json'"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect(cases[i][0], 2);
        has(r.err, cases[i][1]);
        cr_expect_str_empty(r.out);
    }
    expect("$H mig --help", 0);
    has(r.out, "usage: headroom mig");
    fits_80_columns();
}
