/* Files that appear whole or not at all.
 *
 * Bytes go to a temporary file in the same folder (`.NAME.tmp-PID`), which is synced and then takes
 * its final name in one step; the folder is synced too. A run that is killed or meets a full disk
 * leaves no half file under the final name and never harms an earlier file there. A temporary file
 * that a killed run left behind is harmless: no later run reads it, waits for it or needs its name.
 *
 * Without force an existing file is refused, before and again at the last step (link, which never
 * replaces). With force only a regular file is replaced. */
#ifndef HEADROOM_ANALYSIS_ATOMIC_FILE_H
#define HEADROOM_ANALYSIS_ATOMIC_FILE_H

#include "sim/diag.h"
#include "sim/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct atomic_file {
    FILE *out;        /* owned; write here */
    char *path, *tmp; /* owned */
    bool force;
    int error; /* errno of a failed write, where the writer noted it */
};

/* Says early that path cannot be written: it exists (without force), is not a regular file, or its
 * folder is missing. HR_INPUT and a diag. */
enum hr_err atomic_file_check(const char *path, bool force, struct diags *diags);

/* Errors: HR_INPUT, HR_IO with a diag; then nothing is left. */
enum hr_err atomic_file_open(struct atomic_file *f, const char *path, bool force,
                             struct diags *diags);

/* Syncs and gives the file its name. On failure the temporary file is removed and an earlier file
 * is as it was. f is closed in any case. */
enum hr_err atomic_file_commit(struct atomic_file *f, struct diags *diags);
void atomic_file_abort(struct atomic_file *f); /* accepts a zeroed or committed file */

/* All at once. */
enum hr_err atomic_file_write(const char *path, bool force, const void *data, size_t n,
                              struct diags *diags);

#endif
