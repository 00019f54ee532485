/* What one replica holds at a rate: measured once, when a plan is built.
 *
 * The number in flight at the rate that a planner calls safe turns requests in flight into
 * replicas' worth of work (the ledger's `serving`). A closed form would need the step mix of
 * chunked prefill; a replica alone for a few thousand requests gives it for any setting, in
 * milliseconds. */
#ifndef HEADROOM_MODELS_SERVING_CALIBRATE_H
#define HEADROOM_MODELS_SERVING_CALIBRATE_H

#include "models/serving/replica.h"
#include "models/serving/traffic.h"

/* Mean requests in flight in one replica at rate_per_s Poisson arrivals with the lengths of the
 * traffic; at most max_num_seqs, which is also the answer when it cannot keep up. Always the same
 * draws. Errors: HR_NOMEM. */
enum hr_err calibrate_in_flight(const struct replica_config *config,
                                const struct traffic_plan *traffic, double rate_per_s,
                                double *in_flight);

#endif
