/* The M/M/1 model on the engine with the oracle heap; see bench/mm1_model.h. */
#ifndef HEADROOM_BENCH_MM1_ORACLE_H
#define HEADROOM_BENCH_MM1_ORACLE_H

#include <stdint.h>

uint64_t mm1_run_oracle(uint64_t n_customers);

#endif
