/* See sealed_file.h. */
#include "analysis/sealed_file.h"

#include "analysis/atomic_file.h"
#include "analysis/seal.h"

#include <stdlib.h>
#include <string.h>

static enum hr_err seal_and_write(const char *path, bool force, void **bytes, size_t n,
                                  struct diags *diags)
{
    char *sealed = realloc(*bytes, n + SEAL_BYTES), seal[SEAL_BYTES];
    if (!sealed)
        return HR_NOMEM;
    *bytes = sealed;
    seal_make(sealed, n, seal);
    memcpy(sealed + n, seal, SEAL_BYTES);
    return atomic_file_write(path, force, sealed, n + SEAL_BYTES, diags);
}

enum hr_err sealed_file_write(const char *path, bool force, struct hdf5_file *f,
                              struct diags *diags)
{
    void *bytes = NULL;
    size_t n = 0;
    enum hr_err err = hdf5_file_finish(f, &bytes, &n);
    if (err != HR_OK)
        diags_add(diags, DIAG_ERROR, (struct diag_place){.file = path}, NULL, NULL,
                  "the HDF5 library could not build the file");
    else
        err = seal_and_write(path, force, &bytes, n, diags);
    free(bytes);
    return err;
}
