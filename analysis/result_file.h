/* The result file: one HDF5 file in netCDF-4 layout for a run or a comparison (analysis/README.md
 * describes it). Written whole or not at all; the same inputs give the same bytes. */
#ifndef HEADROOM_ANALYSIS_RESULT_FILE_H
#define HEADROOM_ANALYSIS_RESULT_FILE_H

#include "analysis/experiment.h"

#define RESULT_LAYOUT 1 /* version of the layout, attribute `layout` */

/* n_replications of the summary must be at least 1. Errors: HR_NOMEM, HR_INPUT, HR_IO with a diag.
 */
enum hr_err result_write(const char *path, bool force, const struct experiment *e,
                         struct diags *diags);

/* The summary of a result file, for `show`: what result_write was given. Anything that is not a
 * result of this layout is HR_INPUT with a diag. summary_fini it in any case. */
enum hr_err result_read(const char *path, struct summary *out, struct diags *diags);

#endif
