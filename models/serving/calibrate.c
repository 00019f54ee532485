/* One replica alone under Poisson arrivals. */
#include "models/serving/calibrate.h"

enum { REQUESTS = 6000, SETTLING = 1000 };

struct alone {
    struct replica *replica;
    simtime_ns now, start; /* start of the measured part */
    u128 integral;         /* request-ns since start */
};

static void pass_time(struct alone *a, simtime_ns to)
{
    if (a->start != SIM_NEVER)
        a->integral += (u128)replica_count(a->replica) * (to - a->now);
    a->now = to;
}

static void ignore(void *self, const struct replica_request *request, simtime_ns at)
{
    (void)self;
    (void)request;
    (void)at;
}

static enum hr_err advance_to(struct alone *a, simtime_ns to)
{
    while (replica_next(a->replica) <= to) {
        pass_time(a, replica_next(a->replica));
        TRY(replica_advance(a->replica, a->now));
    }
    pass_time(a, to);
    return HR_OK;
}

static enum hr_err play(struct alone *a, const struct replica_config *config,
                        struct request_source *source)
{
    struct request q;
    for (uint32_t i = 0; i < REQUESTS && source->next(source->self, &q); i++) {
        TRY(advance_to(a, q.arrival_ns));
        if (i == SETTLING)
            a->start = a->now;
        const struct replica_request request = {.arrival_ns = q.arrival_ns,
                                                .id = i,
                                                .prompt_tokens = q.prompt_tokens,
                                                .output_tokens = q.output_tokens};
        if (replica_fits(config, q.prompt_tokens, q.output_tokens))
            TRY(replica_submit(a->replica, &request, a->now));
    }
    return HR_OK;
}

enum hr_err calibrate_in_flight(const struct replica_config *config,
                                const struct traffic_plan *traffic, double rate_per_s,
                                double *in_flight)
{
    struct traffic_plan alone = *traffic;
    alone.kind = ARRIVAL_POISSON;
    alone.rate_per_s = rate_per_s;
    alone.envelope = (struct envelope){.kind = ENVELOPE_CONSTANT};
    alone.n_events = 0;
    struct request_source source;
    simtime_ns horizon = sim_time_from_s(2.0 * REQUESTS / rate_per_s);
    TRY(traffic_source_new(&alone, 0, 0, "calibrate", horizon, &source));
    const struct replica_events events = {NULL, NULL, ignore};
    struct alone a = {.replica = replica_new(config, &events), .start = SIM_NEVER};
    enum hr_err err = a.replica ? play(&a, config, &source) : HR_NOMEM;
    double most = config->max_num_seqs;
    double mean = a.now > a.start ? (double)a.integral / (double)(a.now - a.start) : most;
    *in_flight = mean < most ? mean : most;
    replica_free(a.replica);
    source.free(source.self);
    return err;
}
