/* Progress of a gang against a plain stepper that walks restore, work and save piece by piece, and
 * repeated segments against the renewal formula. */
#include "models/closed/checkpoint.h"
#include "models/training/checkpoint.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

/* splitmix64 (S. Vigna): the test's own numbers. */
static uint64_t next(uint64_t *s)
{
    uint64_t z = (*s += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static struct save_comb comb_of(simtime_ns restore, simtime_ns left, simtime_ns tau,
                                simtime_ns stall, bool final_save)
{
    return (struct save_comb){.restore_ns = restore,
                              .left_ns = left,
                              .interval_ns = tau,
                              .stall_ns = stall,
                              .final_save = final_save};
}

static simtime_ns length_of(simtime_ns restore, simtime_ns left, simtime_ns tau, simtime_ns stall,
                            bool final_save)
{
    const struct save_comb c = comb_of(restore, left, tau, stall, final_save);
    return checkpoint_length(&c);
}

static struct progress progress_of(simtime_ns restore, simtime_ns left, simtime_ns tau,
                                   simtime_ns stall, bool final_save, simtime_ns elapsed)
{
    const struct save_comb c = comb_of(restore, left, tau, stall, final_save);
    return checkpoint_progress(&c, elapsed);
}

struct segment {
    simtime_ns restore, left, tau, stall;
    bool final_save;
};

/* Walks the pieces of a segment; *length gets its whole length. */
static struct progress walk(const struct segment *s, simtime_ns elapsed, simtime_ns *length)
{
    struct progress p = {0};
    simtime_ns t = 0, left = s->left, part;
#define SPENT(piece) (part = elapsed <= t ? 0 : elapsed - t < (piece) ? elapsed - t : (piece))
    p.restore_ns = SPENT(s->restore);
    t += s->restore;
    while (left > 0) {
        bool never = s->tau == 0 || s->tau == SIM_NEVER;
        simtime_ns work = never || s->tau > left ? left : s->tau;
        p.work_ns += SPENT(work);
        t += work;
        left -= work;
        if (left == 0 && !s->final_save)
            break;
        p.save_ns += SPENT(s->stall);
        p.lost_save_ns = part > 0 ? part : p.lost_save_ns;
        t += s->stall;
        if (elapsed >= t) {
            p.saves++;
            p.kept_ns += work;
            p.lost_save_ns = 0;
        }
    }
#undef SPENT
    p.lost_work_ns = p.work_ns - p.kept_ns;
    *length = t;
    return p;
}

static void same(const struct segment *s, simtime_ns elapsed)
{
    simtime_ns length;
    struct progress want = walk(s, elapsed, &length);
    struct progress got =
        progress_of(s->restore, s->left, s->tau, s->stall, s->final_save, elapsed);
    cr_assert(got.restore_ns == want.restore_ns && got.work_ns == want.work_ns &&
                  got.save_ns == want.save_ns && got.kept_ns == want.kept_ns &&
                  got.lost_work_ns == want.lost_work_ns && got.lost_save_ns == want.lost_save_ns &&
                  got.saves == want.saves,
              "restore %lu left %lu tau %lu stall %lu final %d elapsed %lu: work %lu/%lu save "
              "%lu/%lu kept %lu/%lu saves %lu/%lu",
              s->restore, s->left, s->tau, s->stall, s->final_save, elapsed, got.work_ns,
              want.work_ns, got.save_ns, want.save_ns, got.kept_ns, want.kept_ns, got.saves,
              want.saves);
    cr_assert_eq(length_of(s->restore, s->left, s->tau, s->stall, s->final_save), length);
    /* The parts of a segment add up to it. */
    simtime_ns clipped = elapsed < length ? elapsed : length;
    cr_assert_eq(got.restore_ns + got.work_ns + got.save_ns, clipped);
    cr_assert_eq(got.kept_ns + got.lost_work_ns, got.work_ns);
}

/* Every instant of every small segment. */
Test(checkpoint, equals_the_stepper_everywhere_in_small_segments)
{
    static const simtime_ns taus[] = {0, 1, 2, 3, 5, 7, 12, 13, SIM_NEVER - 1, SIM_NEVER};
    for (simtime_ns restore = 0; restore < 4; restore += 3)
        for (simtime_ns left = 0; left <= 13; left++)
            for (size_t i = 0; i < sizeof taus / sizeof *taus; i++)
                for (simtime_ns stall = 0; stall < 4; stall++)
                    for (int final = 0; final < 2; final++) {
                        struct segment s = {restore, left, taus[i], stall, final};
                        for (simtime_ns t = 0; t < 70; t++)
                            same(&s, t);
                    }
}

Test(checkpoint, equals_the_stepper_in_random_segments)
{
    uint64_t seed = 11;
    for (int i = 0; i < 100000; i++) {
        struct segment s = {
            .restore = next(&seed) % (600 * SIM_S),
            .left = next(&seed) % (SIM_DAY << (next(&seed) % 3)),
            .stall = next(&seed) % (90 * SIM_S),
            .final_save = next(&seed) & 1,
        };
        s.tau = s.left / (1 + next(&seed) % 40) + next(&seed) % 3; /* often near a whole count */
        if (s.tau == 0)
            s.tau = SIM_HOUR;
        simtime_ns length = length_of(s.restore, s.left, s.tau, s.stall, s.final_save);
        same(&s, next(&seed) % (length + 10));
        /* Boundaries and their neighbours: the end of a piece, of its save, of the segment. */
        simtime_ns edge = s.restore + (1 + next(&seed) % 5) * (s.tau + s.stall);
        for (simtime_ns d = 0; d <= 2; d++) {
            same(&s, edge - 1 + d);
            if (edge > s.stall + 1)
                same(&s, edge - s.stall - 1 + d);
            same(&s, length + d - (length > 0));
        }
        same(&s, SIM_NEVER - s.restore);
    }
}

Test(checkpoint, known_answer)
{
    /* restore 10, then 30 work, 5 save, 30 work, 5 save, 20 work */
    struct progress p = progress_of(10, 80, 30, 5, false, 10 + 35 + 30 + 2);
    cr_assert_eq(p.restore_ns, 10);
    cr_assert_eq(p.work_ns, 60);
    cr_assert_eq(p.save_ns, 7);
    cr_assert_eq(p.kept_ns, 30);
    cr_assert_eq(p.lost_work_ns, 30);
    cr_assert_eq(p.lost_save_ns, 2);
    cr_assert_eq(p.saves, 1);
    cr_assert_eq(length_of(10, 80, 30, 5, false), 100);
    cr_assert_eq(length_of(10, 80, 30, 5, true), 105);
    cr_assert_eq(length_of(10, 90, 30, 5, false), 110);
    cr_assert_eq(length_of(1, UINT64_MAX / 2, 1, 10, false), SIM_NEVER);
}

Test(checkpoint, interval_rules)
{
    struct checkpoint_plan p = {.rule = INTERVAL_FIXED, .stall_ns = 30 * SIM_S};
    cr_assert_eq(checkpoint_interval(&p, 8), SIM_NEVER);
    p.interval_ns = SIM_NEVER;
    cr_assert_eq(checkpoint_interval(&p, 8), SIM_NEVER);
    p.interval_ns = SIM_HOUR;
    cr_assert_eq(checkpoint_interval(&p, 8), SIM_HOUR);
    p.interval_ns = 7;
    cr_assert_eq(checkpoint_interval(&p, 8), SIM_S);

    p.mtbf_ns = 8 * 14400 * SIM_S;
    p.rule = INTERVAL_YOUNG;
    cr_assert_eq(checkpoint_interval(&p, 8), sim_time_from_s(checkpoint_young_s(30, 14400)));
    p.rule = INTERVAL_DALY;
    cr_assert_eq(checkpoint_interval(&p, 8), sim_time_from_s(checkpoint_daly_s(30, 14400)));
    p.rule = INTERVAL_EXACT;
    cr_assert_eq(checkpoint_interval(&p, 8), sim_time_from_s(checkpoint_exact_s(30, 14400)));
    cr_assert_lt(checkpoint_interval(&p, 16), checkpoint_interval(&p, 8));
    p.stall_ns = 0;
    cr_assert_eq(checkpoint_interval(&p, 8), SIM_S);
    p.mtbf_ns = SIM_NEVER;
    cr_assert_eq(checkpoint_interval(&p, 8), SIM_NEVER);
    cr_assert_str_eq(interval_rule_names[INTERVAL_EXACT], "exact");
}

/* One row: a job of work_s in pieces of tau_s, killed at exponential times also while it restores
 * or saves. want_s and want_kills: the spot-checkpoint rows of the worked examples, section C,
 * which save at the end and wait downtime_s after a kill. */
struct renewal {
    double mtbf_s, save_s, restart_s, downtime_s, work_s;
    unsigned pieces;
    double want_s, want_kills;
};

static const struct renewal renewals[] = {
    {14400, 30, 180, 0, 36000, 40, 38910.9, 2.70215},
    {14400, 30, 180, 120, 36000, 40, 39235.1, 2.70215},
    {1800, 60, 300, 60, 36000, 0, 57557.4, 30.9449},
    {300, 60, 120, 0, 3600, 0, 10888.9, 36.2962},
    {50, 60, 20, 0, 200, 0, 2382.84, 47.6568},
};

static double whole_s(const struct renewal *r, unsigned n)
{
    return n * exp(r->restart_s / r->mtbf_s) * (r->mtbf_s + r->downtime_s) *
           expm1((r->work_s / n + r->save_s) / r->mtbf_s);
}

struct sums {
    double n, sum, squares;
};

static void add(struct sums *s, double x)
{
    s->n++;
    s->sum += x;
    s->squares += x * x;
}

/* Agreement as everywhere: within 3.3 standard errors, themselves at most 0.5 %. */
static void agrees(const struct sums *s, double want, const char *what, size_t row)
{
    double mean = s->sum / s->n;
    double error = sqrt((s->squares / s->n - mean * mean) / (s->n - 1));
    cr_assert_leq(error, 0.005 * want, "%s of row %zu: standard error %g", what, row, error);
    cr_assert_leq(fabs(mean - want), 3.3 * error, "%s of row %zu: %g, want %g", what, row, mean,
                  want);
}

static double run_job(const struct renewal *r, simtime_ns tau, bool final_save, uint64_t *seed,
                      unsigned *kills)
{
    simtime_ns left = sim_time_from_s(r->work_s), restore = 0, stall = sim_time_from_s(r->save_s);
    double clock_s = 0;
    for (;;) {
        double u = ((double)(next(seed) >> 11) + 0.5) * 0x1p-53;
        simtime_ns kill = sim_time_from_s(-log(u) * r->mtbf_s);
        simtime_ns length = length_of(restore, left, tau, stall, final_save);
        if (kill >= length)
            return clock_s + sim_time_to_s(length);
        left -= progress_of(restore, left, tau, stall, final_save, kill).kept_ns;
        clock_s += sim_time_to_s(kill) + r->downtime_s;
        restore = sim_time_from_s(r->restart_s);
        ++*kills;
    }
}

Test(checkpoint, renewal_formula)
{
    size_t jobs = getenv("HEADROOM_LONG") ? 400000 : 20000;
    uint64_t seed = 20260101;
    for (size_t i = 0; i < sizeof renewals / sizeof *renewals; i++) {
        const struct renewal *r = &renewals[i];
        unsigned n = 1; /* the best whole number of pieces */
        while (whole_s(r, n + 1) < whole_s(r, n))
            n++;
        cr_assert(r->pieces == 0 || n == r->pieces);
        cr_assert_lt(fabs(whole_s(r, n) - r->want_s), 1e-5 * r->want_s, "row %zu", i);
        simtime_ns tau = sim_time_from_s(r->work_s / n);
        if (tau * n < sim_time_from_s(r->work_s))
            tau++; /* whole nanoseconds: n pieces, not n + 1 */

        struct sums with_final = {0}, without = {0}, kills = {0};
        for (size_t j = 0; j < jobs; j++) {
            unsigned k = 0;
            add(&with_final, run_job(r, tau, true, &seed, &k));
            add(&kills, k);
            if (r->downtime_s == 0)
                add(&without, run_job(r, tau, false, &seed, &k));
        }
        agrees(&with_final, r->want_s, "time", i);
        agrees(&kills, r->want_kills, "kills", i);
        if (r->downtime_s == 0)
            agrees(
                &without,
                checkpoint_expected_s(r->work_s, r->work_s / n, r->save_s, r->restart_s, r->mtbf_s),
                "time without a final save", i);
    }
}

/* Work that is no whole number of intervals: the last piece is shorter. */
Test(checkpoint, renewal_formula_with_a_remainder)
{
    static const struct renewal r = {1200, 20, 60, 0, 4000, 0, 0, 0};
    double tau_s = checkpoint_exact_s(r.save_s, r.mtbf_s);
    struct sums sums = {0};
    uint64_t seed = 7;
    size_t jobs = getenv("HEADROOM_LONG") ? 400000 : 20000;
    unsigned k = 0;
    for (size_t j = 0; j < jobs; j++)
        add(&sums, run_job(&r, sim_time_from_s(tau_s), false, &seed, &k));
    agrees(&sums, checkpoint_expected_s(r.work_s, tau_s, r.save_s, r.restart_s, r.mtbf_s),
           "remainder", 0);
}
