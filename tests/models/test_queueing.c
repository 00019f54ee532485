/* Queues with a known answer through the public interface of the engine: M/M/1, M/M/c, M/D/1,
 * M/G/1, and Little's law as an equality of integers.
 *
 * Agreement: the mean over independent replications lies within 3.3 standard errors of the exact
 * value, and the standard error is at most 0.5 % of it (2 % at loads of 0.95 and above). That is
 * the full precision, with HEADROOM_LONG=1; by default a sixteenth of the customers is simulated
 * and four times the standard error allowed. Seeds were fixed before looking. */
#include "models/closed/erlang.h"
#include "station.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <stdlib.h>

enum { N_REPLICATIONS = 32, SEED = 20260101 };

static bool full_precision(void)
{
    const char *text = getenv("HEADROOM_LONG");
    return text && text[0] == '1';
}

/* Waits of fewer customers than this are not compared: too rare for the precision asked for. */
static const double rare_frac = 0.05;

struct queue_case {
    uint32_t servers;
    double load;
    struct dist service;   /* mean 1 s */
    double millions;       /* customers measured at full precision, all replications together */
    double wait_s, p_wait; /* exact */
};

static void check_agreement(const struct queue_case *q, const char *what, const struct tally *t,
                            double exact)
{
    double allowed = (q->load >= 0.95 ? 0.02 : 0.005) * (full_precision() ? 1 : 4);
    double error = tally_std_error(t);
    cr_assert(error <= allowed * exact,
              "%u servers, load %g, %s: standard error %.3g %%, allowed %.3g %%", q->servers,
              q->load, what, 100 * error / exact, 100 * allowed);
    cr_assert(fabs(t->mean - exact) <= 3.3 * error,
              "%u servers, load %g, %s: %.9g for %.9g, %.2f standard errors", q->servers, q->load,
              what, t->mean, exact, (t->mean - exact) / error);
}

/* The start from an empty system decays with the relaxation time of M/M/1, 1 / (1 - sqrt(rho))^2 in
 * services of one server, here counted in arrivals; ten of them are left out. */
static uint64_t warmup_of(const struct queue_case *q)
{
    double gap = 1 - sqrt(q->load);
    return (uint64_t)(10 * (1 + dist_scv(&q->service)) / 2 / (gap * gap)) + 20 * q->servers;
}

static void check_case(const struct queue_case *q)
{
    struct tally wait = {0}, sojourn = {0}, waited = {0}, in_system = {0};
    double customers = q->millions * 1e6 / (full_precision() ? 1 : 16) / N_REPLICATIONS;
    double rate = q->load * q->servers;
    for (uint32_t r = 0; r < N_REPLICATIONS; r++) {
        struct station_plan plan = {.servers = q->servers,
                                    .gap = {DIST_EXPONENTIAL, 1 / rate, 0},
                                    .service = q->service,
                                    .n_warmup = warmup_of(q),
                                    .n_customers = (uint64_t)customers,
                                    .seed = SEED,
                                    .replication = r};
        struct station_result result;
        cr_assert(station_run(&plan, &result));
        cr_assert(result.little, "Little's law is an equality");
        tally_add(&wait, result.wait_s);
        tally_add(&sojourn, result.sojourn_s);
        tally_add(&waited, result.waited_frac);
        tally_add(&in_system, result.n_in_system);
    }
    check_agreement(q, "sojourn", &sojourn, q->wait_s + 1);
    check_agreement(q, "number in system", &in_system, rate * (q->wait_s + 1));
    if (q->p_wait >= rare_frac) {
        check_agreement(q, "wait", &wait, q->wait_s);
        check_agreement(q, "share that waits", &waited, q->p_wait);
    }
}

static void check_mmc(uint32_t servers, double load, double millions)
{
    double offered = load * servers;
    const struct queue_case q = {servers,
                                 load,
                                 {DIST_EXPONENTIAL, 1, 0},
                                 millions,
                                 erlang_wait_mean(servers, offered, 1),
                                 erlang_c(servers, offered)};
    check_case(&q);
}

static void check_mg1(double load, struct dist service, double millions)
{
    const struct queue_case q = {
        1, load, service, millions, erlang_mg1_wait_mean(load, 1, dist_scv(&service)), load};
    check_case(&q);
}

Test(queueing, mm1)
{
    check_mmc(1, 0.5, 2);
    check_mmc(1, 0.8, 8);
    check_mmc(1, 0.95, 8);
}

Test(queueing, mm4)
{
    check_mmc(4, 0.5, 12);
    check_mmc(4, 0.8, 16);
    check_mmc(4, 0.95, 8);
}

Test(queueing, mm16)
{
    check_mmc(16, 0.5, 4);
    check_mmc(16, 0.8, 30);
    check_mmc(16, 0.95, 8);
}

Test(queueing, mm64)
{
    check_mmc(64, 0.5, 4);
    check_mmc(64, 0.8, 200);
    check_mmc(64, 0.95, 10);
}

Test(queueing, md1)
{
    const struct dist fixed = {DIST_FIXED, 1, 0};
    check_mg1(0.5, fixed, 2);
    check_mg1(0.8, fixed, 6);
    check_mg1(0.95, fixed, 6);
}

Test(queueing, mg1)
{
    check_mg1(0.5, (struct dist){DIST_UNIFORM, 1, 0.9}, 2);
    check_mg1(0.8, (struct dist){DIST_GAMMA, 1, 0.5}, 6);
    check_mg1(0.95, (struct dist){DIST_GAMMA, 1, 2}, 16);
    check_mg1(0.5, (struct dist){DIST_GAMMA, 1, 2}, 16);
    check_mg1(0.8, (struct dist){DIST_WEIBULL, 1, 0.8}, 16);
    check_mg1(0.5, (struct dist){DIST_LOGNORMAL, 1, 1.2}, 16);
}

static struct station_result run_once(uint32_t servers, uint64_t seed, uint32_t replication)
{
    struct station_plan plan = {.servers = servers,
                                .gap = {DIST_EXPONENTIAL, 1.1 / servers, 0},
                                .service = {DIST_LOGNORMAL, 1, 0.8},
                                .n_customers = 20000,
                                .seed = seed,
                                .replication = replication};
    struct station_result result;
    cr_assert(station_run(&plan, &result));
    cr_assert(result.little);
    return result;
}

Test(queueing, same_seed_same_run)
{
    for (uint32_t servers = 1; servers <= 64; servers *= 8) {
        struct station_result first = run_once(servers, 1, 0), again = run_once(servers, 1, 0);
        cr_assert_eq(first.checksum, again.checksum);
        cr_assert_eq(first.sojourn_s, again.sojourn_s);
        cr_assert_neq(first.checksum, run_once(servers, 2, 0).checksum);
        cr_assert_neq(first.checksum, run_once(servers, 1, 1).checksum);
    }
}

/* Ties everywhere: arrivals and services in whole seconds, so that classes decide. */
Test(queueing, littles_law_with_ties)
{
    struct station_plan plan = {.servers = 3,
                                .gap = {DIST_FIXED, 1, 0},
                                .service = {DIST_FIXED, 3, 0},
                                .n_warmup = 10,
                                .n_customers = 1000};
    struct station_result result;
    cr_assert(station_run(&plan, &result));
    cr_assert(result.little);
    cr_assert_eq(result.wait_s, 0, "a completion comes before an arrival of its instant");
    cr_assert_float_eq(result.sojourn_s, 3, 1e-12);
    cr_assert_float_eq(result.n_in_system, 3, 1e-12);
}
