/* A finished HDF5 file with its checksum behind it (analysis/seal.h), on the disk whole or not at
 * all (analysis/atomic_file.h). */
#ifndef HEADROOM_ANALYSIS_SEALED_FILE_H
#define HEADROOM_ANALYSIS_SEALED_FILE_H

#include "analysis/hdf5_file.h"
#include "sim/diag.h"

/* Finishes f and frees it in any case. Errors: HR_NOMEM, HR_INPUT, HR_IO; then nothing is left. */
enum hr_err sealed_file_write(const char *path, bool force, struct hdf5_file *f,
                              struct diags *diags);

#endif
