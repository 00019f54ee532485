/* The life of one gang that is preempted again and again, against a reference that writes down the
 * state of its GPUs second by second: the row and every timeline window must be equal. */
#include "queue_kit.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { GPUS = 8, MAX_S = 20000, MAX_TAKES = 12, WINDOW_S = 97 };

/* All times in whole seconds. */
struct script {
    uint64_t work, interval, stall, load, init, notice_save, grace, teardown, scrub;
    bool final_save, save_on_notice;
    uint64_t take_at[MAX_TAKES], hold[MAX_TAKES];
    size_t n_takes;
    uint64_t start, end; /* the measured part */
};

struct reference {
    const struct script *s;
    uint8_t states[MAX_S]; /* GPU_FREE: not the queue's */
    struct job_row row;    /* in seconds */
};

static void mark(struct reference *r, enum gpu_state state, uint64_t from, uint64_t to)
{
    for (uint64_t t = from; t < to && t < r->s->end; t++)
        r->states[t] = (uint8_t)state;
}

static uint64_t count(const struct reference *r, enum gpu_state state, uint64_t from, uint64_t to)
{
    uint64_t n = 0;
    for (uint64_t t = from; t < to && t < r->s->end; t++)
        n += r->states[t] == state;
    return n;
}

/* Writes the undisturbed segment from a start on; returns its end. */
static uint64_t write_segment(struct reference *r, uint64_t at, uint64_t restore, uint64_t left)
{
    const struct script *s = r->s;
    mark(r, GPU_RESTORING, at, at + restore);
    at += restore;
    while (left > 0) {
        uint64_t piece = s->interval == 0 || s->interval > left ? left : s->interval;
        mark(r, GPU_TRAINING, at, at + piece);
        at += piece;
        left -= piece;
        if (left == 0 && !s->final_save)
            break;
        mark(r, GPU_CHECKPOINTING, at, at + s->stall);
        at += s->stall;
    }
    return at;
}

/* Cuts a segment at an eviction; without a save on notice what follows the last complete save is
 * lost. Returns the work kept. */
static uint64_t cut_segment(struct reference *r, uint64_t from, uint64_t cut, uint64_t left,
                            uint64_t end, bool saved)
{
    const struct script *s = r->s;
    uint64_t safe = from, done = 0, kept = 0; /* instant and work of the last complete save */
    uint64_t at = from + count(r, GPU_RESTORING, from, end);
    for (safe = at; !saved && done < left;) {
        uint64_t piece = s->interval == 0 || s->interval > left - done ? left - done : s->interval;
        done += piece;
        at += piece + s->stall;
        if (at > cut || (done == left && !s->final_save))
            break;
        safe = at;
        kept = done;
    }
    if (saved)
        kept = count(r, GPU_TRAINING, from, cut);
    else
        for (uint64_t t = safe; t < cut; t++)
            r->states[t] = GPU_LOST;
    mark(r, GPU_FREE, cut, end);
    return kept;
}

static void run_reference(struct reference *r)
{
    const struct script *s = r->s;
    uint64_t at = 0, left = s->work, restore = 0, waits_from = 0, clean = s->teardown + s->scrub;
    struct job_row *row = &r->row;
    row->outcome = OUTCOME_WAITING;
    row->first_start_ns = row->end_ns = SIM_NEVER;
    for (size_t k = 0; at < s->end;) {
        if (k < s->n_takes && s->take_at[k] <= at) { /* the taker goes first */
            at += s->hold[k++] + clean;
            continue;
        }
        row->waiting_ns += at - waits_from;
        if (row->first_start_ns == SIM_NEVER)
            row->first_start_ns = at;
        uint64_t from = at, end = write_segment(r, from, restore, left);
        uint64_t cut = k < s->n_takes ? s->take_at[k] : UINT64_MAX;
        if (cut >= end || cut >= s->end) { /* undisturbed, to its end or that of the run */
            row->outcome = end < s->end ? OUTCOME_DONE : OUTCOME_CENSORED;
            row->end_ns = end < s->end ? end : SIM_NEVER;
            mark(r, GPU_DRAINING, end, end + s->teardown);
            break;
        }
        bool saved = s->save_on_notice && s->notice_save <= s->grace;
        left -= cut_segment(r, from, cut, left, end, saved);
        uint64_t stop = cut + (saved ? s->notice_save : s->grace);
        mark(r, GPU_DRAINING, cut, stop + s->teardown);
        row->preemptions++;
        restore = s->load + s->init;
        waits_from = stop + s->teardown;
        row->outcome = OUTCOME_WAITING;
        if (left == 0) {
            row->outcome = stop < s->end ? OUTCOME_DONE : OUTCOME_CENSORED;
            row->end_ns = stop < s->end ? stop : SIM_NEVER;
            break;
        }
        at = stop + clean + s->hold[k++] + clean;
    }
    if (row->outcome == OUTCOME_WAITING && waits_from < s->end)
        row->waiting_ns += s->end - waits_from;
    row->done_ns = count(r, GPU_TRAINING, 0, s->end);
    row->saving_ns = count(r, GPU_CHECKPOINTING, 0, s->end);
    row->restoring_ns = count(r, GPU_RESTORING, 0, s->end);
    row->lost_ns = count(r, GPU_LOST, 0, s->end);
}

/* ---- the same in the queue ---- */

static void compare_row(const struct job_row *got, const struct job_row *want)
{
#define SAME(field)                                                                                \
    cr_assert(got->field == (want->field == SIM_NEVER ? SIM_NEVER : want->field * SIM_S),          \
              #field ": %lu, want %lu s", got->field, want->field)
    cr_assert(got->outcome == want->outcome, "%s, want %s", job_outcome_names[got->outcome],
              job_outcome_names[want->outcome]);
    cr_assert(got->preemptions == want->preemptions, "%u, want %u", got->preemptions,
              want->preemptions);
    SAME(first_start_ns);
    SAME(end_ns);
    SAME(done_ns);
    SAME(saving_ns);
    SAME(restoring_ns);
    SAME(lost_ns);
    SAME(waiting_ns);
#undef SAME
}

static void compare_windows(const struct world *w, const struct reference *r)
{
    static const enum gpu_state states[] = {GPU_TRAINING, GPU_CHECKPOINTING, GPU_RESTORING,
                                            GPU_LOST,     GPU_DRAINING,      GPU_HELD_IDLE};
    const struct script *s = r->s;
    uint32_t owner = training_claimant(w->training) + 1;
    for (size_t i = 0; i < ledger_windows(w->ledger); i++)
        for (size_t k = 0; k < sizeof states / sizeof *states; k++) {
            uint64_t from = s->start + i * WINDOW_S;
            uint64_t want = count(r, states[k], from, from + WINDOW_S) * GPUS * SIM_S;
            uint64_t got = ledger_window(w->ledger, i, owner, states[k]);
            cr_assert(got == want, "window %zu %s: %lu, want %lu", i, gpu_state_names[states[k]],
                      got, want);
        }
}

static void run_script(const struct script *s)
{
    static struct reference r;
    memset(&r, 0, sizeof r);
    r.s = s;
    run_reference(&r);

    struct job job = {.id = "j",
                      .gpus = GPUS,
                      .min_gpus = GPUS,
                      .work_ns = s->work * SIM_S,
                      .limit_ns = JOB_UNSET,
                      .checkpoint_ns = JOB_UNSET,
                      .preemptible = true};
    const struct job_trace trace = {&job, 1, 0};
    struct queue_plan queue = world_queue(&trace, GPUS);
    queue.checkpoint = (struct checkpoint_plan){
        .rule = INTERVAL_FIXED,
        .interval_ns = s->interval * SIM_S,
        .stall_ns = s->stall * SIM_S,
        .notice_save_ns = s->notice_save * SIM_S,
        .save_on_notice = s->save_on_notice,
        .final_save = s->final_save,
    };
    queue.restart_load = world_fixed(s->load * SIM_S);
    queue.restart_init = world_fixed(s->init * SIM_S);
    struct take takes[MAX_TAKES];
    for (size_t i = 0; i < s->n_takes; i++)
        takes[i] = (struct take){s->take_at[i] * SIM_S, s->hold[i] * SIM_S, GPUS};
    const struct world_plan plan = {
        .nodes = 1,
        .gpus_per_node = GPUS,
        .reclaim = {.victims = VICTIM_LEAST_WORK_LOST,
                    .grace_ns = s->grace * SIM_S,
                    .teardown = world_fixed(s->teardown * SIM_S),
                    .scrub = world_fixed(s->scrub * SIM_S)},
        .queue = &queue,
        .takes = takes,
        .n_takes = s->n_takes,
        .start_ns = s->start * SIM_S,
        .end_ns = s->end * SIM_S,
        .window_ns = WINDOW_S * SIM_S,
    };
    struct world w;
    world_open(&w, &plan);
    world_run(&w);
    if (s->start == 0) {
        cr_assert_eq(w.rows.n, 1);
        compare_row(&w.rows.items[0], &r.row);
        cr_assert_eq(training_totals(w.training)->preemptions, r.row.preemptions);
    } else {
        cr_assert_eq(w.rows.n, 0); /* submitted before the measured part */
    }
    compare_windows(&w, &r);
    world_close(&w);
}

Test(queue_life, known_answer)
{
    /* 100 s of work, a 5 s save every 30 s; taken at 77 s with 10 s of grace: 60 s done, 7 s into
     * the third piece, 5 s teardown, 3 s scrub, held for 20 s. */
    struct script s = {.work = 100,
                       .interval = 30,
                       .stall = 5,
                       .load = 4,
                       .init = 2,
                       .grace = 10,
                       .teardown = 5,
                       .scrub = 3,
                       .take_at = {77},
                       .hold = {20},
                       .n_takes = 1,
                       .end = 1000};
    run_script(&s);
    static struct reference r;
    r.s = &s;
    run_reference(&r);
    cr_assert_eq(r.row.lost_ns, 7);
    cr_assert_eq(r.row.waiting_ns, 3 + 20 + 5 + 3);
    cr_assert_eq(r.row.end_ns, 77 + 10 + 8 + 20 + 8 + 6 + 45); /* 30 5 10 */
    cr_assert_eq(r.row.saving_ns, 15);
}

/* The taker wants all GPUs while one of two gangs is not preemptible: it takes the other one only,
 * and gets nothing until the first has ended by itself. */
Test(queue_life, a_gang_that_is_not_preemptible_is_never_taken)
{
    struct job jobs[2];
    for (int i = 0; i < 2; i++)
        jobs[i] = (struct job){.id = "j",
                               .gpus = GPUS / 2,
                               .min_gpus = GPUS / 2,
                               .work_ns = 100 * SIM_S,
                               .limit_ns = JOB_UNSET,
                               .checkpoint_ns = JOB_UNSET,
                               .preemptible = i == 1};
    const struct job_trace trace = {jobs, 2, 0};
    const struct queue_plan queue = world_queue(&trace, GPUS);
    const struct take takes[] = {{10 * SIM_S, 20 * SIM_S, GPUS / 2}, {60 * SIM_S, SIM_S, GPUS}};
    const struct world_plan plan = {
        .nodes = 1,
        .gpus_per_node = GPUS,
        .reclaim = {.victims = VICTIM_YOUNGEST,
                    .grace_ns = 0,
                    .teardown = world_fixed(0),
                    .scrub = world_fixed(0)},
        .queue = &queue,
        .takes = takes,
        .n_takes = 2,
        .end_ns = 1000 * SIM_S,
        .window_ns = WINDOW_S * SIM_S,
    };
    struct world w;
    world_open(&w, &plan);
    world_run(&w);
    cr_assert_eq(world_row(&w, 0)->preemptions, 0);
    cr_assert_eq(world_row(&w, 0)->end_ns, 100 * SIM_S);
    cr_assert_geq(world_row(&w, 1)->preemptions, 1);
    world_close(&w);
}

static uint64_t seconds(struct rng *rng, uint64_t max)
{
    return rng_below(rng, 4) == 0 ? 0 : rng_below(rng, max + 1);
}

Test(queue_life, equals_the_reference_in_random_scripts)
{
    struct rng rng;
    rng_init(&rng, 2, 0, "test", "life");
    int rounds = getenv("HEADROOM_LONG") ? 50000 : 2500;
    for (int round = 0; round < rounds; round++) {
        struct script s = {
            .work = 1 + rng_below(&rng, 2500),
            .interval = seconds(&rng, 500),
            .stall = seconds(&rng, 40),
            .load = seconds(&rng, 40),
            .init = seconds(&rng, 40),
            .notice_save = seconds(&rng, 40),
            .grace = seconds(&rng, 60),
            .teardown = seconds(&rng, 20),
            .scrub = seconds(&rng, 20),
            .final_save = rng_below(&rng, 2),
            .save_on_notice = rng_below(&rng, 2),
            .n_takes = rng_below(&rng, MAX_TAKES + 1),
            .start = rng_below(&rng, 3) ? 0 : 1 + rng_below(&rng, 1500),
        };
        s.end = s.start + 1 + rng_below(&rng, 8000);
        uint64_t at = 0;
        for (size_t i = 0; i < s.n_takes; i++) {
            at += seconds(&rng, 900);
            s.take_at[i] = at;
            s.hold[i] =
                1 + seconds(&rng, 150); /* the next start is not at the instant of the take */
        }
        run_script(&s);
    }
}
