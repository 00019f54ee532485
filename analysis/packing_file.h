/* The result file of a packing: HDF5 in the layout of analysis/README.md ("The file of a packing"),
 * with checksum, whole or not at all. The same inputs give the same bytes. */
#ifndef HEADROOM_ANALYSIS_PACKING_FILE_H
#define HEADROOM_ANALYSIS_PACKING_FILE_H

#include "analysis/packing.h"

#define PACKING_LAYOUT 1 /* version of the layout, attribute `layout` */

struct packing_source {
    const char *version;
    const char *settings; /* "a=1 b=2", as given to --set */
};

/* Errors: HR_NOMEM, HR_INPUT, HR_IO with a diag. */
enum hr_err packing_write(const char *path, bool force, const struct packing_scenario *s,
                          const struct packing_figures *f, const struct packing_source *source,
                          struct diags *diags);

#endif
