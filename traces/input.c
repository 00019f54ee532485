/* See input.h. Libraries: zlib for gzip, nettle for SHA-256. */
#include "traces/input.h"

#include <errno.h>
#include <fcntl.h>
#include <nettle/sha2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { GZIP_BLOCK = 1 << 16 };

struct input_gzip {
    z_stream z;
    bool member_open; /* inside a member: the file must not end here */
    bool file_over;
    unsigned char block[GZIP_BLOCK];
};

/* --- bytes of the file ------------------------------------------------------------------- */

/* Up to size bytes of the file; *n is 0 at its end. */
static enum hr_err read_some(struct input *in, void *out, size_t size, size_t *n)
{
    ssize_t got;
    do
        got = read(in->fd, out, size);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return HR_IO;
    *n = (size_t)got;
    in->n_file_bytes += *n;
    sha256_update(in->sha, *n, out);
    return HR_OK;
}

static enum hr_err fill_plain(struct input *in)
{
    while (in->n < INPUT_WINDOW && !in->over) {
        size_t n;
        TRY(read_some(in, in->window + in->n, INPUT_WINDOW - in->n, &n));
        in->n += n;
        in->over = n == 0;
    }
    return HR_OK;
}

/* --- gzip -------------------------------------------------------------------------------- */

static enum hr_err damaged(const char *path, struct diags *diags, const char *what)
{
    diags_add(diags, DIAG_ERROR, (struct diag_place){.file = path}, NULL, NULL,
              "damaged gzip data: %s", what);
    return HR_INPUT;
}

/* Inflates into the window until it is full or the block is used up. */
static enum hr_err inflate_block(struct input *in, const char *path, struct diags *diags)
{
    z_stream *z = &in->gzip->z;
    while (z->avail_in > 0 && in->n < INPUT_WINDOW) {
        z->next_out = (unsigned char *)in->window + in->n;
        z->avail_out = (uInt)(INPUT_WINDOW - in->n);
        in->gzip->member_open = true;
        int rc = inflate(z, Z_NO_FLUSH);
        in->n = INPUT_WINDOW - z->avail_out;
        if (rc == Z_STREAM_END) {
            in->gzip->member_open = false;
            inflateReset(z);
        } else if (rc == Z_MEM_ERROR) {
            return HR_NOMEM;
        } else if (rc != Z_OK && rc != Z_BUF_ERROR) {
            return damaged(path, diags, z->msg != NULL ? z->msg : "unknown content");
        }
    }
    return HR_OK;
}

/* The file cannot end inside a member: inflate takes the trailer only after its last byte of text,
 * so unused input is left until then. */
static enum hr_err fill_gzip(struct input *in, const char *path, struct diags *diags)
{
    struct input_gzip *g = in->gzip;
    while (in->n < INPUT_WINDOW) {
        if (g->z.avail_in == 0 && !g->file_over) {
            size_t n;
            TRY(read_some(in, g->block, GZIP_BLOCK, &n));
            g->z.next_in = g->block;
            g->z.avail_in = (uInt)n;
            g->file_over = n == 0;
        }
        if (g->z.avail_in == 0) {
            if (g->member_open)
                return damaged(path, diags, "the file ends too early");
            in->over = true;
            return HR_OK;
        }
        TRY(inflate_block(in, path, diags));
    }
    return HR_OK;
}

static enum hr_err start_gzip(struct input *in)
{
    struct input_gzip *g = calloc(1, sizeof *g);
    if (g == NULL)
        return HR_NOMEM;
    if (inflateInit2(&g->z, 15 + 16) != Z_OK) {
        free(g);
        return HR_NOMEM;
    }
    in->gzip = g;
    return HR_OK;
}

/* --- opening ----------------------------------------------------------------------------- */

static enum hr_err refuse(const char *path, struct diag_place place, const char *source,
                          struct diags *diags, const char *what)
{
    if (place.file == NULL)
        place.file = path;
    diags_add(diags, DIAG_ERROR, place, source, NULL, "cannot read trace '%s': %s", path, what);
    return HR_INPUT;
}

static const char *open_fault(int error)
{
    switch (error) {
    case ENOENT:
        return "no such file";
    case EACCES:
        return "permission denied";
    case ENOTDIR:
        return "part of its path is not a directory";
    case ENAMETOOLONG:
        return "the name is too long";
    default:
        return "it cannot be opened";
    }
}

static enum hr_err open_file(struct input *in, const char *path, struct diag_place place,
                             const char *source, struct diags *diags)
{
    struct stat st;
    in->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (in->fd < 0)
        return refuse(path, place, source, diags, open_fault(errno));
    if (fstat(in->fd, &st) != 0)
        return HR_IO;
    if (S_ISDIR(st.st_mode))
        return refuse(path, place, source, diags, "it is a directory");
    return HR_OK;
}

static bool ends_in_gz(const char *path)
{
    size_t n = strlen(path);
    return n > 3 && strcmp(path + n - 3, ".gz") == 0;
}

/* The first block is read to see what the file is; a gzip file's goes through inflate. */
static enum hr_err start(struct input *in, const char *path, struct diag_place place,
                         const char *source, struct diags *diags)
{
    size_t n = 0, got = 1;
    while (n < GZIP_BLOCK && got > 0) {
        TRY(read_some(in, in->window + n, GZIP_BLOCK - n, &got));
        n += got;
    }
    if (n == 0)
        return refuse(path, place, source, diags, "it is empty");
    bool gzip = n >= 2 && in->window[0] == '\x1f' && in->window[1] == '\x8b';
    if (!gzip && ends_in_gz(path))
        return refuse(path, place, source, diags, "its name ends in .gz but it is not gzip data");
    if (!gzip) {
        in->n = n;
        return fill_plain(in);
    }
    TRY(start_gzip(in));
    memcpy(in->gzip->block, in->window, n);
    in->gzip->z.next_in = in->gzip->block;
    in->gzip->z.avail_in = (uInt)n;
    return fill_gzip(in, path, diags);
}

enum hr_err input_open(struct input *in, const char *path, struct diag_place place,
                       const char *source, struct diags *diags)
{
    *in = (struct input){.fd = -1};
    TRY(open_file(in, path, place, source, diags));
    in->window = malloc(INPUT_WINDOW);
    in->sha = malloc(sizeof *in->sha);
    if (in->window == NULL || in->sha == NULL)
        return HR_NOMEM;
    sha256_init(in->sha);
    return start(in, path, place, source, diags);
}

enum hr_err input_fill(struct input *in, const char *path, struct diags *diags)
{
    memmove(in->window, in->window + in->start, in->n - in->start);
    in->n -= in->start;
    in->start = 0;
    return in->gzip != NULL ? fill_gzip(in, path, diags) : fill_plain(in);
}

void input_sha256(struct input *in, char hex[65])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t digest[SHA256_DIGEST_SIZE];
    sha256_digest(in->sha, sizeof digest, digest);
    for (size_t i = 0; i < sizeof digest; i++) {
        hex[2 * i] = digits[digest[i] >> 4];
        hex[2 * i + 1] = digits[digest[i] & 15];
    }
    hex[64] = '\0';
}

void input_close(struct input *in)
{
    if (in->gzip != NULL)
        inflateEnd(&in->gzip->z);
    free(in->gzip);
    free(in->sha);
    free(in->window);
    if (in->window != NULL || in->fd > 0)
        close(in->fd);
    *in = (struct input){.fd = -1};
}
