/* The chains of finite_source.h. */
#include "models/closed/finite_source.h"

#include <assert.h>

/* Sums over the states of the queue, with weights relative to state 0, scaled down together before
 * they leave the range of a double: what becomes 0 then is nothing beside what is there. */
struct sums {
    double all, at_least_c, waiting, busy;
};

static struct sums chain(const struct finite_source *s, uint32_t users)
{
    const double large = 1e200;
    double weight = 1;
    struct sums sum = {.all = 1, .at_least_c = s->servers == 0};
    for (uint32_t n = 1; n <= users; n++) {
        double busy = n < s->servers ? n : s->servers;
        weight *= (users - n + 1) / s->gap * s->session / busy;
        sum.all += weight;
        sum.at_least_c += n >= s->servers ? weight : 0;
        sum.waiting += n > s->servers ? (n - s->servers) * weight : 0;
        sum.busy += busy * weight;
        if (weight > large) {
            weight /= large;
            sum.all /= large;
            sum.at_least_c /= large;
            sum.waiting /= large;
            sum.busy /= large;
        }
    }
    return sum;
}

struct finite_queue finite_source_queue(const struct finite_source *s)
{
    assert(s->servers > 0 && s->session > 0 && s->gap > 0);
    if (s->users == 0)
        return (struct finite_queue){0};
    struct sums seen = chain(s, s->users - 1), sum = chain(s, s->users);
    struct finite_queue q = {.all_busy_frac = sum.at_least_c / sum.all,
                             .wait_frac = seen.at_least_c / seen.all,
                             .waiting_mean = sum.waiting / sum.all,
                             .utilization = sum.busy / sum.all / s->servers,
                             .sessions_rate = sum.busy / sum.all / s->session};
    q.wait_mean = q.waiting_mean / q.sessions_rate;
    return q;
}

/* The recurrence of Erlang's loss formula with the users still away. */
static double engset(const struct finite_source *s, uint32_t users)
{
    double e = 1, a = s->session / s->gap;
    for (uint32_t n = 1; n <= s->servers; n++) {
        double offered = n <= users ? (users - n + 1) * a * e : 0;
        e = offered / (n + offered);
    }
    return e;
}

struct finite_loss finite_source_loss(const struct finite_source *s)
{
    assert(s->servers > 0 && s->session > 0 && s->gap > 0);
    if (s->users == 0)
        return (struct finite_loss){0};
    struct finite_loss l = {engset(s, s->users), engset(s, s->users - 1), 0};
    /* sessions begun = sessions ended: (N - L - (N - c) P(c)) / Z = L / S */
    double away = s->users > s->servers ? (s->users - s->servers) * l.time_congestion : 0;
    double busy = (s->users - away) * s->session / (s->session + s->gap);
    l.utilization = busy / s->servers;
    return l;
}
