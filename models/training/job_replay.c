/* Replay of a recorded job list: rotation, loop, offset and speed. */
#include "models/training/job_replay.h"

/* Where the next job stands, counted from the beginning of the rotated trace. */
static simtime_ns position(const struct job_replay *r)
{
    const struct job_trace *trace = r->plan->jobs;
    simtime_ns submit = job_replay_job(r)->submit_ns;
    bool wrapped = r->first + r->k >= trace->n;
    simtime_ns in_pass = wrapped ? submit + r->period_ns - r->shift_ns : submit - r->shift_ns;
    return sim_time_add(r->pass_ns, in_pass);
}

/* Moves to the next pass when one is over; false at the end of the replay. */
static bool settle(struct job_replay *r)
{
    if (r->k < r->plan->jobs->n)
        return true;
    if (!r->plan->jobs_loop || r->plan->jobs->span_ns == 0)
        return false;
    r->k = 0;
    r->pass_ns = sim_time_add(r->pass_ns, r->period_ns);
    return r->pass_ns != SIM_NEVER;
}

static simtime_ns run_time(const struct job_replay *r)
{
    simtime_ns since = position(r) - r->plan->jobs_offset_ns;
    double speed = r->plan->jobs_speed;
    return speed == 1 ? since : sim_time_from_s(sim_time_to_s(since) / speed);
}

void job_replay_init(struct job_replay *r, const struct queue_plan *plan, uint64_t seed,
                     uint32_t replication)
{
    *r = (struct job_replay){.plan = plan, .at_ns = SIM_NEVER};
    const struct job_trace *trace = plan->jobs;
    if (!trace || trace->n == 0)
        return;
    r->period_ns = trace->span_ns + (trace->n > 1 ? trace->span_ns / (trace->n - 1) : 0);
    if (replication > 0 && trace->span_ns > SIM_DAY) {
        struct rng rng;
        rng_init(&rng, seed, replication, plan->name, "offset");
        r->shift_ns = rng_below(&rng, (trace->span_ns + SIM_DAY - 1) / SIM_DAY) * SIM_DAY;
        while (r->first < trace->n && trace->rows[r->first].submit_ns < r->shift_ns)
            r->first++;
    }
    if (plan->jobs_loop && plan->jobs_offset_ns > r->period_ns && r->period_ns > 0)
        r->pass_ns = (plan->jobs_offset_ns / r->period_ns - 1) * r->period_ns;
    while (settle(r) && position(r) < plan->jobs_offset_ns)
        r->k++;
    if (settle(r))
        r->at_ns = run_time(r);
}

const struct job *job_replay_job(const struct job_replay *r)
{
    return &r->plan->jobs->rows[(r->first + r->k) % r->plan->jobs->n];
}

void job_replay_advance(struct job_replay *r)
{
    r->k++;
    r->at_ns = settle(r) ? run_time(r) : SIM_NEVER;
}
