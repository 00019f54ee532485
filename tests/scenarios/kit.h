/* Scenarios in tests: a small good one, edits of it, and what was said of it. */
#ifndef HEADROOM_TESTS_SCENARIOS_KIT_H
#define HEADROOM_TESTS_SCENARIOS_KIT_H

#include "scenarios/scenario.h"

#include <stddef.h>

/* A small scenario that is right: 4 nodes, one service `chat` with drawn traffic, one queue
 * `research` with a backlog, design `shared`. */
extern const char *const kit_small;

/* A copy of text with the one place that reads `from` replaced by `to`; malloc. */
char *kit_replace(const char *text, const char *from, const char *to);

/* All diagnostics as printed; malloc. */
char *kit_printed(const struct diags *d);

/* Loads text, fails the test with what was said when it is not right. Free with scenario_free. */
struct scenario *kit_load(const char *text, const char *const *sets, size_t n_sets);

/* The same as if it stood at a path, for the traces beside it. */
struct scenario *kit_load_at(const char *path, const char *text);

/* The plan of a design (NULL: the default); fails the test when there is none. */
struct plan kit_plan(struct scenario *s, const char *design);

/* Loads (and plans, when loading goes well) text that must be wrong; returns what was said. */
char *kit_refused(const char *text, const char *const *sets, size_t n_sets);

/* CPU time used so far by this process, in seconds, and its largest resident set, in MiB. Without
 * what the system charges it: page faults cost many times as much on a busy machine. */
double kit_cpu_s(void);
double kit_peak_mib(void);

/* False under sanitizers, which multiply both: bounds on them mean nothing there. */
bool kit_measures(void);

#endif
