/* The M/M/1 model compiled against the engine with the oracle heap. */
#include "mm1_oracle.h"

#include "oracle_engine.h"

#include "mm1_model.h"

uint64_t mm1_run_oracle(uint64_t n_customers)
{
    return mm1_run_model(n_customers);
}
