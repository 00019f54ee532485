/* Input: the bytes of a trace file, in a window that moves over it.
 *
 * Plain files and gzip files (known by their first bytes, several members allowed) look the same to
 * the caller. The SHA-256 is of the file as it is on the disk and is complete at the end of it.
 * Memory is the window, INPUT_WINDOW bytes, whatever the file holds; no row may be longer. */
#ifndef HEADROOM_TRACES_INPUT_H
#define HEADROOM_TRACES_INPUT_H

#include "sim/diag.h"
#include "sim/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { INPUT_WINDOW = 1 << 20 };

struct input_gzip; /* opaque */

struct input {
    char *window;          /* owned */
    size_t start, n;       /* unread bytes stand in window[start .. n) */
    bool over;             /* nothing follows window[n - 1] */
    uint64_t n_file_bytes; /* read from the disk so far */
    int fd;
    struct sha256_ctx *sha;  /* owned */
    struct input_gzip *gzip; /* owned; NULL for a plain file */
};

/* Opens and fills the window. HR_INPUT with a diagnostic at place: missing, a directory, not
 * readable, empty; a name that ends in .gz over something else; HR_IO, HR_NOMEM. input_close in any
 * case. */
enum hr_err input_open(struct input *in, const char *path, struct diag_place place,
                       const char *source, struct diags *diags);

/* Moves the unread bytes to the front and fills the rest of the window. No byte more: over is set.
 * HR_INPUT: damaged gzip data, described in diags. */
enum hr_err input_fill(struct input *in, const char *path, struct diags *diags);

/* The digest in hex; only when over. */
void input_sha256(struct input *in, char hex[65]);

void input_close(struct input *in); /* accepts a zeroed struct */

#endif
