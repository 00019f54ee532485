/* A scenario: a question about a fleet, read from a page of YAML.
 *
 *     struct diags diags;
 *     struct scenario *s;
 *     diags_init(&diags);
 *     if (scenario_load("one-fleet.yaml", sets, n_sets, &diags, &s) == HR_OK)
 *         err = scenario_plan(s, "shared", &diags, &plan);
 *
 * Loading reads the text, lays the --set values over it and checks everything in one pass; mistakes
 * are all in diags, with their place. Planning reads the traces (once a scenario) and builds the
 * plan of one design. Plans borrow from the scenario and live as long. The language is described in
 * scenarios/README.md, which is printed from the tables that read it. */
#ifndef HEADROOM_SCENARIOS_SCENARIO_H
#define HEADROOM_SCENARIOS_SCENARIO_H

#include "models/hardware/catalogue.h"
#include "models/plan.h"
#include "sim/arena.h"
#include "sim/diag.h"
#include "sim/err.h"

#include <stdio.h>

struct scenario; /* opaque */
struct trace_report;

/* sets: "path=value" as given to --set, laid over in order. HR_INPUT: said in diags. Warnings go
 * there too. *out is NULL unless HR_OK. */
enum hr_err scenario_load(const char *path, const char *const *sets, size_t n_sets,
                          struct diags *diags, struct scenario **out);

/* The same from memory; path is for messages, and traces stand relative to it. */
enum hr_err scenario_load_text(const char *path, const char *bytes, size_t n,
                               const char *const *sets, size_t n_sets, struct diags *diags,
                               struct scenario **out);
void scenario_free(struct scenario *s); /* accepts NULL */

const char *scenario_name(const struct scenario *s);
const char *scenario_description(const struct scenario *s);
const char *scenario_path(const struct scenario *s);
const char *scenario_text(const struct scenario *s); /* as written, for result files */
/* The types of the catalogue and the scenario's own. */
const struct hardware *scenario_hardware(const struct scenario *s);
uint32_t scenario_replications(const struct scenario *s);

/* FNV-1a over the values with the sets laid over: comments and layout do not change it. */
uint64_t scenario_hash(const struct scenario *s);

/* The designs in the order written; at least one. */
size_t scenario_n_designs(const struct scenario *s);
const char *scenario_design(const struct scenario *s, size_t i);
size_t scenario_default_design(const struct scenario *s);

/* The plan of a design (NULL: the default one). HR_INPUT: said in diags; an unknown design too. */
enum hr_err scenario_plan(struct scenario *s, const char *design, struct diags *diags,
                          struct plan *out);

/* What was read, after planning: one entry for each service and queue with a trace. */
struct scenario_trace {
    const char *owner; /* service or queue */
    const struct trace_report *report;
};
const struct scenario_trace *scenario_traces(const struct scenario *s, size_t *n);

/* ---- the language ---- */

/* The reference of all keys, from the tables: markdown for scenarios/README.md, or text. */
void scenario_reference_markdown(FILE *out);
void scenario_reference_text(FILE *out);

/* A commented scenario to start from; static. */
const char *scenario_init_text(void);

/* ---- ready scenarios ---- */

struct scenario_entry {
    const char *name, *path, *description; /* description: its first sentence */
};

/* The scenarios (*.yaml) of a folder, sorted by file name; in the arena. Files that are no scenario
 * are left out. HR_IO: the folder cannot be read. */
enum hr_err scenario_list(const char *folder, struct arena *a, struct scenario_entry **out,
                          size_t *n);

#endif
