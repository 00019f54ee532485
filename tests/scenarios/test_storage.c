/* A storage that gangs share: from the language to a run of 64 gangs. */
#include "kit.h"

#include "models/run.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* 64 gangs of a node each; a save is 988 GB, 823 s at the 1.2 GB/s of a node. */
static const char gangs[] =
    "scenario: gangs\n"
    "horizon: 24h\n"
    "warmup: 0s\n"
    "fleet: {nodes: 64}\n"
    "KEYS\n"
    "training:\n"
    "  llm:\n"
    "    drawn: {count: 64, classes: {gang: {gpus: 8, work: 6h}}}\n"
    "    checkpoint: {interval: 1h, parameters: 70.55e9}\n"
    "designs:\n"
    "  shared:\n";

static struct scenario *with(const char *keys, const char *const *sets, size_t n_sets)
{
    char *text = kit_replace(gangs, "KEYS", keys);
    struct scenario *s = kit_load(text, sets, n_sets);
    free(text);
    return s;
}

Test(storage, is_off_unless_given)
{
    struct scenario *s = with("", NULL, 0);
    cr_expect_eq(kit_plan(s, NULL).storage.bytes_per_s, 0);
    scenario_free(s);
}

Test(storage, defaults_and_short_form)
{
    struct scenario *s = with("storage: {restores: yes}", NULL, 0);
    struct storage_plan p = kit_plan(s, NULL).storage;
    cr_expect_eq(p.bytes_per_s, 2e12);
    cr_expect_eq(p.node_read_bytes_per_s, 40e9);
    cr_expect(p.restores);
    scenario_free(s);
    s = with("storage: 500GB/s", NULL, 0);
    p = kit_plan(s, NULL).storage;
    cr_expect_eq(p.bytes_per_s, 500e9);
    cr_expect_not(p.restores);
    scenario_free(s);
}

Test(storage, can_be_set)
{
    const char *const sets[] = {"storage.bandwidth=1TB/s"};
    struct scenario *s = with("", sets, 1);
    cr_expect_eq(kit_plan(s, NULL).storage.bytes_per_s, 1e12);
    scenario_free(s);
}

Test(storage, mistakes_are_said)
{
    char *text = kit_replace(gangs, "KEYS", "storage: {bandwidth: 500, node_reads: 1GB/s}");
    char *said = kit_refused(text, NULL, 0);
    cr_expect(strstr(said, "unknown key 'node_reads'") && strstr(said, "nearest: 'node_read'"),
              "%s", said);
    cr_expect(strstr(said, "5:22: error: bandwidth"), "%s", said);
    free(said);
    free(text);
}

Test(storage, says_what_changes_nothing)
{
    struct diags d;
    struct scenario *s;
    char *half = kit_replace(gangs, "KEYS", "storage: {node_read: 1GB/s}");
    char *text = kit_replace(half, ", parameters: 70.55e9", "");
    diags_init(&d);
    cr_assert_eq(scenario_load_text("test.yaml", text, strlen(text), NULL, 0, &d, &s), HR_OK);
    char *said = kit_printed(&d);
    cr_expect(strstr(said, "nothing is written to the storage"), "%s", said);
    cr_expect(strstr(said, "node_read changes nothing"), "%s", said);
    free(said);
    diags_fini(&d);
    scenario_free(s);
    free(text);
    free(half);
}

/* ---- a run ---- */

struct outcome {
    double useful; /* training / (training + checkpointing) */
    struct storage_totals storage;
};

static struct outcome run_with(const char *keys, const char *const *sets, size_t n_sets)
{
    struct scenario *s = with(keys, sets, n_sets);
    const struct plan plan = kit_plan(s, NULL);
    const struct run_hooks hooks = {.check_every_event = true};
    struct run_results r;
    cr_assert_eq(run_plan(&plan, 0, &hooks, &r), HR_OK);
    uint32_t owner = 1 + plan_queue_claimant(&plan, 0);
    double training = (double)r.ledger[results_account(owner, GPU_TRAINING)];
    double saving = (double)r.ledger[results_account(owner, GPU_CHECKPOINTING)];
    cr_assert_float_eq(training / 3.6e12, 64 * 8 * 6, 1e-6); /* all is done, in GPU-hours */
    struct outcome o = {training / (training + saving), r.storage};
    results_fini(&r);
    scenario_free(s);
    return o;
}

/* A roll-out that waits for saves finds the same ones where nobody knows before when they end. */
Test(storage, roll_out_waits_for_saves, .timeout = 60)
{
    static const char roll[] =
        "{nodes: 64, maintenance: [{start: 2.5h, nodes: 8, work: 10min, "
        "drain_limit: 2h, wait: checkpoint}]}";
    char *text = kit_replace(gangs, "{nodes: 64}", roll);
    char *texts[] = {kit_replace(text, "KEYS", ""), kit_replace(text, "KEYS", "storage: 900TB/s")};
    struct run_results r[2];
    for (int i = 0; i < 2; i++) {
        const char *const sets[] = {"training.llm.drawn.rate=20job/h"};
        struct scenario *s = kit_load(texts[i], sets, 1);
        const struct plan plan = kit_plan(s, NULL);
        cr_assert_eq(run_plan(&plan, 0, NULL, &r[i]), HR_OK);
        for (unsigned state = 0; state < GPU_STATES; state++)
            cr_expect(r[i].ledger[results_account(1, state)] ==
                          r[0].ledger[results_account(1, state)],
                      "%s", gpu_state_names[state]);
        cr_expect_gt(r[i].pools[0].supply.at_save, 10);
        cr_expect_eq(r[i].pools[0].supply.at_save, r[0].pools[0].supply.at_save);
        cr_expect_eq(r[i].pools[0].supply.forced, 0);
        scenario_free(s);
    }
    results_fini(&r[0]);
    results_fini(&r[1]);
    free(texts[0]);
    free(texts[1]);
    free(text);
}

/* Five saves in six hours each: 823 s alone, and together 64 x 1.2 GB/s want what 19.2 give. */
Test(storage, staggered_gangs_lose_less, .timeout = 60)
{
    const char *const spread[] = {"training.llm.drawn.rate=12job/h"};
    double work_s = 6 * 3600, save_s = 70.55e9 * 14 / 1.2e9;
    struct outcome alone = run_with("", NULL, 0);
    struct outcome wide = run_with("storage: 76.8GB/s", NULL, 0);
    struct outcome at_once = run_with("storage: 19.2GB/s", NULL, 0);
    struct outcome staggered = run_with("storage: 19.2GB/s", spread, 1);
    cr_expect_float_eq(alone.useful, work_s / (work_s + 5 * save_s), 1e-9);
    cr_expect_eq(wide.useful, alone.useful);
    cr_expect_float_eq(at_once.useful, work_s / (work_s + 5 * 4 * save_s), 1e-9);
    cr_expect_eq(at_once.storage.kinds[TRANSFER_SAVE].done, 320);
    cr_expect_float_eq(at_once.storage.kinds[TRANSFER_SAVE].slowdown / 320, 4, 1e-9);
    cr_expect(staggered.useful > at_once.useful && staggered.useful <= alone.useful,
              "%g, at once %g, alone %g", staggered.useful, at_once.useful, alone.useful);
    cr_expect_lt(staggered.storage.kinds[TRANSFER_SAVE].slowdown / 320, 2);
}
