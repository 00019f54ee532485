/* A queue in front of servers, said in the scenario language. */
#include "analysis/worksheets/station.h"

#include "analysis/metrics.h"
#include "analysis/summary.h"

#include <math.h>

enum { MOST_SERVERS = 100000, MOST_DAYS = 3650 };

double station_customers(double load)
{
    const double slow = 0.2 / (1 - load);
    return 100000 * fmin(20, fmax(1, slow * slow));
}

/* Rate of customers in the long run. */
static double rate_of(const struct station *s)
{
    if (s->users == 0)
        return s->rate_per_s;
    return fmin(s->servers / s->service_s, s->users / (s->service_s + s->gap_s));
}

static void add_service(const struct station *s, struct text *t)
{
    if (s->scv == 0)
        text_add(t, "          work: %.17gs\n", s->service_s);
    else if (s->scv == 1)
        text_add(t, "          work: {exponential: %.17gs}\n", s->service_s);
    else
        text_add(t, "          work: {gamma: {mean: %.17gs, cv: %.17g}}\n", s->service_s,
                 sqrt(s->scv));
}

static const char *refusal(const struct station *s, double days)
{
    if (!(rate_of(s) > 0) || !(s->service_s > 0))
        return "nobody arrives";
    if (s->servers > MOST_SERVERS)
        return "a fleet has at most 100,000 nodes";
    if (days > MOST_DAYS)
        return "it would run for more than ten years";
    return NULL;
}

bool station_yaml(const struct station *s, struct text *t)
{
    const double counted_s = s->customers / rate_of(s), warmup_s = counted_s / 10;
    const char *why = refusal(s, (counted_s + warmup_s) / 86400);
    if (why) {
        text_add(t, "%s", why);
        return false;
    }
    text_add(t, "scenario: %s\ndescription: A queue in front of %.0f servers.\n", s->name,
             s->servers);
    text_add(t, "seed: 1\nhorizon: %.17gs\nwarmup: %.17gs\nwindow: %.17gs\n", counted_s + warmup_s,
             warmup_s, fmin(86400, fmax(1, floor(counted_s / 100))));
    text_add(t, "fleet:\n  nodes: %.0f          # a server each\n  gpus_per_node: 1\n", s->servers);
    text_add(t,
             "training:\n  queue:\n    drawn:\n      classes:\n        customer:\n"
             "          gpus: %.0fGPU\n",
             s->width);
    add_service(s, t);
    text_add(t, "          preemptible: no\n");
    if (s->users > 0)
        text_add(t, "      users: {count: %.0f, gap: {exponential: %.17gs}}\n", s->users, s->gap_s);
    else
        text_add(t, "      rate: %.17gjob/s\n", s->rate_per_s);
    text_add(t,
             "    order: fifo\n    placement: any\n"
             "    checkpoint: {interval: 3650d, stall: 0s} # a customer saves nothing\n"
             "    restart: {load: 0s, init: 0s}\n"
             "reclaim: {teardown: 0s, scrub: 0s} # a server is free at once\n"
             "designs:\n  servers: {preset: shared}\n");
    return true;
}

double station_busy(const struct sheet_case *c, const struct summary *s, uint32_t replication)
{
    (void)c;
    const double busy = *summary_at(s, metric_find("training_gpu_h"), 0, replication, 0, 0);
    const double seconds = *summary_at(s, metric_find("measured_s"), 0, replication, 0, 0);
    return busy * 3600 / seconds;
}
