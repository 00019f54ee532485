/* The commands as a user types them: exit codes, what goes where, nothing lost and nothing half
 * written. */
#include "tests/cli/shell.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct ran r; /* large; each test runs in a process of its own */

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

#define RAMP "$S/scenarios/ramp.yaml"

TestSuite(commands, .fini = shell_clean, .timeout = 300);

Test(commands, usage_errors_exit_2_and_name_the_nearest_word)
{
    expect("$H", 2);
    expect("$H compre", 2);
    has(r.err, "did you mean 'compare'");
    expect("$H run --jsn " RAMP, 2);
    has(r.err, "did you mean '--json'");
    expect("$H run", 2);
    expect("$H run a b", 2);
    expect("$H run --replications 0 " RAMP, 2);
    has(r.err, "from 1 to");
    expect("$H run --replications", 2);
    expect("$H run no-such.yaml", 2);
    has(r.err, "no-such.yaml");
    expect("$H run " RAMP " --design shard", 2);
    has(r.err, "nearest: 'shared'");
    expect("$H trace info x.csv --format azur-llm", 2);
    has(r.err, "azure-llm");
}

Test(commands, help_and_version_go_to_stdout)
{
    expect("$H --help", 0);
    has(r.out, "compare");
    expect("$H --version", 0);
    has(r.out, "headroom ");
    static const char *const commands[] = {"run",   "compare", "show", "check", "init", "list",
                                           "trace", "schema",  "why",  "topo",  "mig",  "pack"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        char line[64];
        snprintf(line, sizeof line, "$H %s --help", commands[i]);
        expect(line, 0);
        has(r.out, "usage: headroom");
    }
}

Test(commands, a_run_writes_its_file_and_never_replaces_one)
{
    expect("$H run " RAMP " --design shared || test $? = 3", 0);
    has(r.err, "results: ramp.h5");
    expect("test -s ramp.h5 && ls -A | grep -v '^ramp.h5$' | grep -vc '^.out$\\|^.err$'", 1);
    expect("cp ramp.h5 before && $H run " RAMP, 2);
    has(r.err, "ramp.h5");
    expect("cmp ramp.h5 before", 0);
    expect("$H run " RAMP " --design shared --force || test $? = 3", 0);
    expect("cmp ramp.h5 before", 0);
}

Test(commands, show_prints_what_the_run_printed)
{
    expect("$H compare " RAMP " >table || test $? = 3", 0);
    expect("$H show ramp.h5 | cmp - table", 0);
    expect("$H compare " RAMP " --no-output --json >json || test $? = 3", 0);
    expect("$H show ramp.h5 --json | cmp - json", 0);
    expect("$H compare " RAMP " --no-output --csv rows.csv >/dev/null || test $? = 3", 0);
    expect("$H show ramp.h5 --csv | cmp - rows.csv", 0);
    expect("$H show rows.csv", 2);
    expect("$H show none.h5", 2);
}

Test(commands, the_same_bytes_on_1_and_8_threads)
{
    expect("$H compare " RAMP " -r 6 -j 1 -o one.h5 >one || test $? = 3", 0);
    expect("$H compare " RAMP " -r 6 -j 8 -o eight.h5 >eight || test $? = 3", 0);
    expect("cmp one.h5 eight.h5 && cmp one eight", 0);
}

Test(commands, settings_make_columns)
{
    expect("$H compare " RAMP " --set seed=1 --set seed=2 --no-output --json || test $? = 3", 0);
    has(r.out, "seed=1");
    has(r.out, "seed=2");
    expect("$H compare " RAMP " --set sed=1 --no-output", 2);
    has(r.err, "--set");
    has(r.err, "nearest: 'seed'");
}

Test(commands, rows_are_whole_files)
{
    expect("$H run " RAMP " --no-output --requests q.csv --events e.csv >/dev/null || test $? = 3",
           0);
    expect("head -1 q.csv", 0);
    has(r.out, "number,service,arrival_s");
    expect("head -1 e.csv", 0);
    has(r.out, "time_s,lease,claimant,from,to,gpus");
    expect("$H run " RAMP " --no-output --requests q.csv", 2);
}

Test(commands, outputs_never_replace_inputs_or_each_other)
{
    expect("cp " RAMP
           " my.yaml && cp my.yaml before && printf "
           "'submit_s,duration_s,gpus\\n0,60,1\\n' >jobs.csv && cp jobs.csv jobs.before",
           0);
    expect("$H run ./my.yaml -f -o my.yaml", 2);
    has(r.err, "my.yaml: error: is the scenario");
    expect("$H run my.yaml -f --set 'training.research={jobs: jobs.csv}' --csv ./jobs.csv", 2);
    has(r.err, "is a trace of the scenario");
    expect("$H run my.yaml --no-output -f --requests q.csv --events ./q.csv", 2);
    has(r.err, "./q.csv: error: is given for two outputs");
    expect("touch q.csv && $H run my.yaml --no-output -f --requests q.csv --csv ./q.csv", 2);
    expect("cmp my.yaml before && cmp jobs.csv jobs.before", 0);
}

Test(commands, short_options_take_values_with_and_without_a_blank)
{
    expect("$H run " RAMP " -r1 -j1 -oa.h5 >a || test $? = 3", 0);
    expect("$H run " RAMP " -r 1 -j 1 -o b.h5 >b || test $? = 3", 0);
    expect("cmp a.h5 b.h5 && cmp a b", 0);
    expect("$H run " RAMP " -fx", 2);
    has(r.err, "unknown option '-fx'");
}

Test(commands, an_interrupted_run_exits_4)
{
    expect("$H compare " RAMP
           " -r 2000 -j 1 -o long.h5 >/dev/null & p=$!; sleep 1.5; kill -INT $p; "
           "wait $p",
           4);
    has(r.err, "interrupted");
    expect("test ! -e long.h5 || $H show long.h5 >/dev/null", 0);
}

/* Killed at many moments: the file of before is untouched, or the new one is whole. */
Test(commands, a_killed_run_harms_nothing)
{
    expect("$H compare " RAMP " -o r.h5 >/dev/null || test $? = 3", 0);
    expect(
        "cp r.h5 before; for t in 0.01 0.05 0.1 0.2 0.3 0.5; do timeout -s KILL $t $H compare " RAMP
        " -o r.h5 --force >/dev/null 2>&1; cmp r.h5 before || exit 9; done; exit 0",
        0);
}

/* A full disk: every write beyond a limit fails. */
Test(commands, a_full_disk_leaves_no_half_file)
{
    expect("$H compare " RAMP " -o r.h5 >/dev/null || test $? = 3", 0);
    expect("cp r.h5 before; (trap '' XFSZ; ulimit -f 8; $H compare " RAMP
           " -o r.h5 --force >/dev/null 2>e)",
           1);
    expect("cmp r.h5 before && ls -A | grep -c tmp", 1);
    expect("(trap '' XFSZ; ulimit -f 8; $H compare " RAMP " -o new.h5 >/dev/null 2>e)", 1);
    expect("test ! -e new.h5", 0);
    expect("$H compare " RAMP " --no-output >/dev/full", 1);
}

Test(commands, check_init_list_schema)
{
    expect("$H init mine.yaml && $H check mine.yaml", 0);
    expect("$H init mine.yaml", 2);
    expect("$H init | cmp - mine.yaml", 0);
    expect("cd $S && $H list", 0);
    has(r.out, "scenarios/one-fleet.yaml");
    has(r.out, "scenarios/code-assistant.yaml");
    expect("cd $S && for f in scenarios/*.yaml; do $H check -q $f || exit 9; done", 0);
    expect("$H schema", 0);
    has(r.out, "max_num_seqs");
}

Test(commands, pack)
{
    expect("$H pack $S/scenarios/openb-packing.yaml --set replications=2", 0);
    has(r.out, "1213 nodes with 6212 GPUs");
    has(r.out, "Ties are won by the lowest name");
    expect("$H pack --json $S/scenarios/openb-ties.yaml --set replications=1 > a.json", 0);
    expect("$H pack --json $S/scenarios/openb-ties.yaml --set replications=1 | cmp - a.json", 0);
    expect("$H pack " RAMP, 2);
    has(r.err, "packing");
    expect("$H run $S/scenarios/openb-ties.yaml", 2);
    has(r.err, "headroom pack");
    expect("$H pack", 2);
    expect("$H pack $S/scenarios/openb-ties.yaml --set packing.ties=[nam]", 2);
    has(r.err, "nearest: 'name'");
}

Test(commands, pack_writes_a_file)
{
    expect(
        "printf 'scenario: s\nreplications: 1\npacking:\n"
        "  nodes: {groups: {a: {nodes: 2, gpus: 2}}}\n  pods: pods.csv\n' > s.yaml && "
        "printf 'name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1,1,1,1000\n' > pods.csv",
        0);
    expect("$H pack s.yaml && ls | grep -c h5", 1);
    expect("$H pack s.yaml -o s.h5", 0);
    has(r.err, "results: s.h5");
    expect("$H pack s.yaml --json -o t.h5 && cmp s.h5 t.h5", 0);
    expect("$H pack s.yaml -o s.h5", 2);
    has(r.err, "s.h5");
    expect("$H pack s.yaml -o s.h5 --force && cmp s.h5 t.h5", 0);
    expect("$H pack s.yaml -o pods.csv --force", 2);
    has(r.err, "cannot replace it");
    expect("$H pack s.yaml -o ./s.yaml --force", 2);
    has(r.err, "cannot replace it");
    expect("$H show s.h5", 2);
    has(r.err, "is of headroom pack");
}

Test(commands, trace_info)
{
    expect("cd $S/traces/data/azure-llm-2023 && $H trace info AzureLLMInferenceTrace_conv.csv", 0);
    has(r.out, "19366 read, 19366 kept");
    expect(
        "cd $S/traces/data/helios-venus && $H trace info helios_venus_2vc_sept.csv --gpus 176 "
        "--json",
        0);
    has(r.out, "\"offered_load\"");
}

Test(commands, trace_info_of_supply_and_prices)
{
    expect("cd $S/traces/data/infinitehbd && $H trace info fault_trace.json.gz --nodes 400", 0);
    has(r.out, "584, 4.18 per 1,000 node-days");
    has(r.out, "nodes      400, 231 names");
    expect("cd $S/traces/data/bamboo && $H trace info p3-trace.csv", 2);
    has(r.err, "a format without a header must be named");
    expect("cd $S/traces/data/bamboo && $H trace info p3-trace.csv --format bamboo-events --json",
           0);
    has(r.out, "\"nodes\": 32");
    expect(
        "cd $S/traces/data/aws-spot-price && $H trace info us-west-2_p3.16xlarge.json.gz "
        "--gpus-per-node 8 --series us-west-2b",
        0);
    has(r.out, "0.918 to 1.116 USD per GPU-hour");
}

/* Policies of reclaim are compared as designs with settings: whom, one after another, ahead. */
Test(commands, reclaim_policies_are_columns)
{
    expect("sed '/^designs:/,$d' " RAMP
           " >p.yaml && cat >>p.yaml <<'END'\n"
           "designs:\n"
           "  youngest: {preset: shared, set: {reclaim.victims: youngest}}\n"
           "  least-work: {preset: shared, set: {reclaim.victims: least-work-lost}}\n"
           "  serial: {preset: shared, set: {reclaim.concurrency: serial}}\n"
           "  ahead: {preset: shared, set: {services.chat.autoscaler.forecast: {lead: 5min}}}\n"
           "END",
           0);
    expect("$H compare p.yaml -r 1 -o p.h5 || test $? = 3", 0);
    has(r.out, "youngest");
    has(r.out, "least-work");
    has(r.out, "serial");
    has(r.out, "ahead");
    expect("$H compare p.yaml -r 1 --no-output --json || test $? = 3", 0);
    char *youngest = strstr(r.out, "\"design\": \"youngest\"");
    char *ahead = strstr(r.out, "\"design\": \"ahead\"");
    cr_assert(youngest && ahead);
    const char *a = strstr(youngest, "\"spare_frac\""), *b = strstr(ahead, "\"spare_frac\"");
    cr_assert(a && b);
    cr_expect_neq(strtod(a + 14, NULL), strtod(b + 14, NULL)); /* replicas come earlier */
    expect("$H show p.h5 --all", 0);
    has(r.out, "GPU-HOURS of serial");
}

Test(commands, why_tells_what_jobs_wait_for)
{
    expect("$H compare " RAMP " -r 1 -o w.h5 >/dev/null || test $? = 3", 0);
    expect("$H why w.h5 --design shared", 0);
    has(r.out, "WHY JOBS WAIT in shared");
    expect("$H why w.h5 --design shard", 2);
    has(r.err, "nearest: shared");
    expect("$H why w.h5 --job backlg", 2);
    has(r.err, "no job 'backlg'");
    expect("$H why none.h5", 2);
    expect("$H why " RAMP, 2);
    expect("$H why", 2);
}

/* Two jobs of a whole fleet of 16 GPUs, one after the other: the second waits for GPUs. */
Test(commands, why_shows_the_parts_of_a_wait)
{
    expect(
        "printf 'submit_s,duration_s,gpus\\n0,7200,16\\n60,3600,16\\n"
        "86400,1,1\\n' >jobs.csv && cat >t.yaml <<'END'\n"
        "scenario: jobs-only\n"
        "horizon: 10h\n"
        "warmup: 0s\n"
        "fleet: {nodes: 2}\n"
        "training: {research: {jobs: jobs.csv}}\n"
        "design: shared\n"
        "END\n"
        "$H run t.yaml -r 1 -o t.h5",
        0);
    cr_expect_null(strstr(r.err, "no request"));
    cr_expect_null(strstr(r.out, "serving"));
    cr_expect_null(strstr(r.out, "Reclaims"));
    has(r.out, "Why jobs wait");
    has(r.out, "shared: of GPU time 30.0% is training that is kept");
    expect("$H why t.h5 --job 2", 0);
    has(r.out, "It waited 119 min in all.");
    has(r.out, "100%  ##############################\n");
    expect("$H why t.h5 --job 1", 0);
    has(r.out, "It did not wait.");
}

#define TOPOLOGY "$S/tests/traces/topology/"

Test(commands, topo_says_what_it_understood)
{
    expect("$H topo " TOPOLOGY "dgx_h100_topo.txt", 0);
    has(r.out, "A node of 8 GPUs and 12 network cards");
    has(r.out, "  socket 1    GPU4    GPU5    GPU6    GPU7\n    card      NIC6    NIC9    NIC10");
    has(r.out, "Cards of no GPU: NIC1 NIC2 NIC7 NIC8\n");
    expect("$H topo --json " TOPOLOGY "hgx_h100_private_switch_topo.txt", 0);
    has(r.out, "\"NVLINK\": 28");
    expect("$H topo " TOPOLOGY "slurm_topology_su32_block.conf", 0);
    has(r.out, "1 leaf group of 32 nodes");
    has(r.out, "8 racks of 4 nodes");
    expect("$H topo " RAMP " --set fleet.topology.leaf=3 --set fleet.placement=topology", 0);
    has(r.out, "placed by topology");
    expect("$H topo " RAMP " --set fleet.topology.leaf=1 --set fleet.topology.spine=2", 0);
    has(r.out, "spines of 2 leaf groups");
    expect(
        "printf '\\tGPU0\\tGPU1\\tCPU Affinity\\nGPU0\\tX\\tNV4\\t0\\nGPU1\\tNV6\\tX\\t0\\n' > "
        "t.txt; "
        "$H topo t.txt",
        2);
    has(r.err, "t.txt:3: error: GPU1 to GPU0 is not what GPU0 to GPU1 is in line 2");
    expect("$H topo no-such.txt", 2);
    expect("$H topo", 2);
}
