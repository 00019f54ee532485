/* The same case on the engine, told in the words of the brute-force scheduler. */
#ifndef HEADROOM_TESTS_MODELS_BRUTE_ENGINE_H
#define HEADROOM_TESTS_MODELS_BRUTE_ENGINE_H

#include "brute.h"

/* Any failure fails the test. The ledger and the fleet are checked before each event. */
void brute_engine_run(const struct brute_case *c, struct brute_result *out);

/* Compares fates and logs; prints the case and both where they differ. */
bool brute_same(const struct brute_case *c, const struct brute_result *engine,
                const struct brute_result *brute);

#endif
