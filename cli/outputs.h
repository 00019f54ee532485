/* The files a run is asked to write, checked before the work begins. */
#ifndef HEADROOM_CLI_OUTPUTS_H
#define HEADROOM_CLI_OUTPUTS_H

#include "cli/columns.h"
#include "cli/simulate.h"
#include "sim/diag.h"
#include "sim/err.h"

/* Says early what would fail at the end, and refuses what --force does not mean: an output that is
 * a scenario or a trace of this run, and one file for two outputs. output: the result file, or
 * NULL. */
enum hr_err outputs_check(const struct simulate_options *o, const char *output,
                          const struct columns *c, struct diags *diags);

/* The same for one file that is made of n others. */
enum hr_err outputs_check_file(const char *path, bool force, const char *const *inputs, size_t n,
                               struct diags *diags);

#endif
