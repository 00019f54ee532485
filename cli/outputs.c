/* Outputs that would harm each other, or what they are made of.
 *
 * Two names are one file when they lead to the same inode, or, for a file that does not exist yet,
 * to the same name in the same folder. */
#include "cli/outputs.h"

#include "analysis/atomic_file.h"
#include "traces/trace.h"

#include <string.h>
#include <sys/stat.h>

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool stat_folder(const char *path, struct stat *out)
{
    char folder[4096];
    size_t n = (size_t)(base_of(path) - path);
    if (n >= sizeof folder)
        return false;
    memcpy(folder, path, n);
    folder[n] = 0;
    return stat(n ? folder : ".", out) == 0;
}

static bool is_same_inode(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat x, y;
    if (stat(a, &x) == 0 && stat(b, &y) == 0)
        return is_same_inode(&x, &y);
    return strcmp(base_of(a), base_of(b)) == 0 && stat_folder(a, &x) && stat_folder(b, &y) &&
           is_same_inode(&x, &y);
}

static enum hr_err refuse(const char *path, const char *why, struct diags *diags)
{
    diags_add(diags, DIAG_ERROR, (struct diag_place){path, 0, 0}, NULL, NULL, "%s", why);
    return HR_INPUT;
}

static enum hr_err check_against_inputs(const char *path, const struct columns *c,
                                        struct diags *diags)
{
    for (size_t i = 0; i < c->scenarios.n; i++) {
        const struct scenario *s = c->scenarios.items[i];
        if (is_same_file(path, scenario_path(s)))
            return refuse(path, "is the scenario: an output cannot replace it", diags);
        size_t n;
        const struct scenario_trace *traces = scenario_traces(s, &n);
        for (size_t k = 0; k < n; k++)
            if (is_same_file(path, traces[k].report->path))
                return refuse(path, "is a trace of the scenario: an output cannot replace it",
                              diags);
    }
    return HR_OK;
}

enum hr_err outputs_check_file(const char *path, bool force, const char *const *inputs, size_t n,
                               struct diags *diags)
{
    for (size_t i = 0; i < n; i++)
        if (is_same_file(path, inputs[i]))
            return refuse(path, "is an input of this command: an output cannot replace it", diags);
    return atomic_file_check(path, force, diags);
}

enum hr_err outputs_check(const struct simulate_options *o, const char *output,
                          const struct columns *c, struct diags *diags)
{
    const char *paths[] = {output, o->csv, o->requests, o->events};
    enum { PATHS = sizeof paths / sizeof paths[0] };
    for (size_t i = 0; i < PATHS; i++) {
        if (!paths[i])
            continue;
        TRY(check_against_inputs(paths[i], c, diags));
        for (size_t k = 0; k < i; k++)
            if (paths[k] && is_same_file(paths[i], paths[k]))
                return refuse(paths[i], "is given for two outputs", diags);
        TRY(atomic_file_check(paths[i], o->force, diags));
    }
    return HR_OK;
}
