/* Questions that people asked in public, each answered by a worksheet: the number they should have,
 * to the digits it was given with. Inputs are theirs, or the assumptions stated with the question.
 */
#include "analysis/worksheets/list.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SETTINGS = 4 };

struct question {
    const char *thread, *sheet;
    const char *settings[SETTINGS]; /* what is not the sheet's default; NULL at the end */
    const char *key;
    double answer, half_digit; /* the worksheet is at most so far off; 0: equal */
};

#define LLMD    "llm-d/llm-d-autoscaling#1499"
#define KAITO   "kaito-project/kaito#2325"
#define STACK   "Boise-State-Development/agentcore-public-stack#1025"
#define CHANLAN "changlan.org/posts/optimal-checkpointing"
#define PLANNER "llmtco.com throughput planner"

static const struct question questions[] = {
    {LLMD, "autoscaler-bound", {"replica_req_s=2"}, "peak_replicas", 8, 0},
    {LLMD, "autoscaler-bound", {"replica_req_s=2"}, "mean_replicas", 4.333, 0.0005},
    {LLMD, "autoscaler-bound", {"replica_req_s=3"}, "peak_replicas", 5, 0},
    {LLMD, "autoscaler-bound", {"replica_req_s=3"}, "mean_replicas", 3.0, 1e-12},
    {KAITO, "cold-start", {0}, "ready_s", 966, 0},
    {KAITO, "cold-start", {0}, "buffer_gpus", 33, 0},
    {KAITO, "cold-start", {0}, "warm_ready_s", 556, 0},
    {KAITO, "cold-start", {0}, "warm_buffer_gpus", 19, 0},
    {STACK, "spot-billing", {0}, "plain_bill_h_1", 1.5, 0.05},
    {STACK, "spot-billing", {0}, "plain_bill_h_2", 8.9, 0.05},
    {STACK, "spot-billing", {0}, "plain_bill_h_3", 3366, 0.5},
    {STACK, "spot-billing", {0}, "saved_bill_h_1", 1.2, 0.05},
    {STACK, "spot-billing", {0}, "saved_bill_h_2", 3.9, 0.05},
    {STACK, "spot-billing", {0}, "saved_bill_h_3", 18.0, 0.05},
    {CHANLAN, "checkpoint-interval", {0}, "young_s", 346.4, 0.05},
    {CHANLAN, "checkpoint-interval", {0}, "with_recovery_s", 363.3, 0.05},
    {CHANLAN, "checkpoint-interval", {0}, "exact_s", 339.8, 0.05},
    {CHANLAN, "checkpoint-interval", {"mtbf_s=6h", "ckpt_s=2min"}, "young_s", 37.9 * 60, 3},
    {PLANNER, "token-capacity", {"gpu_counts=5,6,7,8"}, "p_wait_1", 1, 0}, /* unstable */
    {PLANNER, "token-capacity", {"gpu_counts=5,6,7,8"}, "p_wait_2", 0.588, 0.0005},
    {PLANNER, "token-capacity", {"gpu_counts=5,6,7,8"}, "p_wait_3", 0.324, 0.0005},
    {PLANNER, "token-capacity", {"gpu_counts=5,6,7,8"}, "p_wait_4", 0.167, 0.0005},
};

static void ask(const struct question *q)
{
    struct sheet_case c;
    struct diags diags;
    diags_init(&diags);
    cr_assert_not_null(sheet_find(q->sheet), "%s: no worksheet %s", q->thread, q->sheet);
    cr_assert_eq(sheet_case_init(&c, sheet_find(q->sheet), &diags), HR_OK);
    for (int i = 0; i < SETTINGS && q->settings[i]; i++)
        cr_assert_eq(sheet_case_set(&c, q->settings[i]), HR_OK, "%s: %s", q->sheet, q->settings[i]);
    cr_assert_eq(sheet_case_solve(&c), HR_OK);
    const struct sheet_value *v = sheet_case_get(&c, q->key);
    cr_assert_not_null(v, "%s has no %s", q->sheet, q->key);
    cr_expect(fabs(v->number - q->answer) <= q->half_digit, "%s: %s of %s is %.10g, not %g",
              q->thread, q->key, q->sheet, v->number, q->answer);
    sheet_case_fini(&c);
    diags_fini(&diags);
}

Test(worksheet_problems, public_questions_have_their_answers)
{
    for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++)
        ask(&questions[i]);
}
