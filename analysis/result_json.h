/* A result as JSON: the same names and values as the group `summary` of the result file.
 *
 *     {"headroom": "0.1.0", "scenario": ..., "replications": 1, "units": {"utilization": "1", ...},
 *      "verdict": {"answer": ..., "choice": ..., "rule": ...},
 *      "designs": [{"design": "shared", "meets": true, "objectives": {...},
 *                   "summary": {"utilization": 0.83, "attainment": {"chat": 0.99}, ...},
 *                   "paired": {"utilization": {"mean": ..., "low": ..., "high": ...}}}]}
 *
 * A metric of an entity is an object by the entity's name, one with parts an object within it. With
 * several replications each value is an array of them. NaN is null. */
#ifndef HEADROOM_ANALYSIS_RESULT_JSON_H
#define HEADROOM_ANALYSIS_RESULT_JSON_H

#include "analysis/verdict.h"

#include <stdio.h>

/* HR_IO when out has an error. */
enum hr_err result_json(FILE *out, const struct summary *s, const struct verdict *v);

#endif
