/* Temporary name, sync, rename, sync of the folder. */
#include "analysis/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TRIES = 100, ERROR_BYTES = 128 };

static enum hr_err fail(struct diags *diags, enum hr_err err, const char *path, const char *what)
{
    diags_add(diags, DIAG_ERROR, (struct diag_place){.file = path}, NULL, NULL, "%s", what);
    return err;
}

static enum hr_err fail_errno(struct diags *diags, const char *path, const char *what, int error)
{
    char text[ERROR_BYTES];
    if (strerror_r(error, text, sizeof text) != 0)
        snprintf(text, sizeof text, "error %d", error);
    diags_add(diags, DIAG_ERROR, (struct diag_place){.file = path}, NULL, NULL, "%s: %s", what,
              text);
    return HR_IO;
}

/* The folder part with its slash, "" for none. */
static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* "." or the folder; malloc. */
static char *folder_of(const char *path)
{
    size_t n = folder_length(path);
    return n ? strndup(path, n) : strdup(".");
}

enum hr_err atomic_file_check(const char *path, bool force, struct diags *diags)
{
    if (!path[folder_length(path)])
        return fail(diags, HR_INPUT, path, "names a folder, not a file");
    struct stat st;
    if (stat(path, &st) == 0) {
        if (S_ISDIR(st.st_mode))
            return fail(diags, HR_INPUT, path, "is a folder");
        if (!S_ISREG(st.st_mode))
            return fail(diags, HR_INPUT, path, "is not a regular file");
        if (!force)
            return fail(diags, HR_INPUT, path, "exists already; --force replaces it");
    }
    char *folder = folder_of(path);
    if (!folder)
        return HR_NOMEM;
    bool there = stat(folder, &st) == 0 && S_ISDIR(st.st_mode);
    free(folder);
    return there ? HR_OK : fail(diags, HR_INPUT, path, "its folder does not exist");
}

/* Opens a new temporary file beside path. */
static int open_temporary(const char *path, char **tmp)
{
    size_t folder = folder_length(path), size = strlen(path) + 48;
    *tmp = malloc(size);
    if (!*tmp)
        return -1;
    for (int i = 0; i < TRIES; i++) {
        int n = snprintf(*tmp, size, "%.*s.%s.tmp-%ld", (int)folder, path, path + folder,
                         (long)getpid());
        if (i > 0)
            snprintf(*tmp + n, size - (size_t)n, "-%d", i);
        int fd = open(*tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

enum hr_err atomic_file_open(struct atomic_file *f, const char *path, bool force,
                             struct diags *diags)
{
    *f = (struct atomic_file){.force = force};
    TRY(atomic_file_check(path, force, diags));
    f->path = strdup(path);
    if (!f->path)
        return HR_NOMEM;
    int fd = open_temporary(path, &f->tmp);
    int error = errno;
    if (fd >= 0)
        f->out = fdopen(fd, "w");
    if (f->out)
        return HR_OK;
    if (fd >= 0) {
        error = errno;
        close(fd);
        unlink(f->tmp);
    }
    enum hr_err err = fail_errno(diags, path, "cannot be created", error);
    free(f->tmp);
    free(f->path);
    *f = (struct atomic_file){0};
    return err;
}

/* Gives the synced temporary file its name; errno says why not. */
static int publish(const struct atomic_file *f)
{
    if (f->force)
        return rename(f->tmp, f->path);
    if (link(f->tmp, f->path) == 0)
        return unlink(f->tmp);
    if (errno == EEXIST)
        return -1;
    return access(f->path, F_OK) == 0 ? -1 : rename(f->tmp, f->path); /* no hard links here */
}

/* The new name survives a crash of the machine only once the folder is on disk too. Some file
 * systems refuse to sync a folder; the file itself is safe then. */
static void sync_folder(const char *path)
{
    char *folder = folder_of(path);
    int fd = folder ? open(folder, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(folder);
}

enum hr_err atomic_file_commit(struct atomic_file *f, struct diags *diags)
{
    errno = 0;
    bool ok = fflush(f->out) == 0 && !ferror(f->out) && fsync(fileno(f->out)) == 0;
    int error = f->error ? f->error : errno;
    if (fclose(f->out) != 0 && ok) {
        ok = false;
        error = errno;
    }
    f->out = NULL;
    enum hr_err err = HR_OK;
    if (!ok)
        err = fail_errno(diags, f->path, "cannot be written", error ? error : EIO);
    else if (publish(f) != 0)
        err = fail_errno(diags, f->path, "cannot be put in place", errno);
    if (err == HR_OK)
        sync_folder(f->path);
    else
        unlink(f->tmp);
    free(f->path);
    free(f->tmp);
    *f = (struct atomic_file){0};
    return err;
}

void atomic_file_abort(struct atomic_file *f)
{
    if (f->out)
        fclose(f->out);
    if (f->tmp)
        unlink(f->tmp);
    free(f->path);
    free(f->tmp);
    *f = (struct atomic_file){0};
}

enum hr_err atomic_file_write(const char *path, bool force, const void *data, size_t n,
                              struct diags *diags)
{
    struct atomic_file f;
    TRY(atomic_file_open(&f, path, force, diags));
    if (fwrite(data, 1, n, f.out) != n)
        f.error = errno;
    return atomic_file_commit(&f, diags);
}
