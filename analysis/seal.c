/* Making and checking the line; the superblock as in the HDF5 File Format Specification 3.0, II.A.
 */
#include "analysis/seal.h"

#include <errno.h>
#include <nettle/sha2.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char mark[] = "\nheadroom-sha256 ";
static const unsigned char hdf5_signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};

enum {
    MARK_BYTES = sizeof mark - 1,
    PIECE_BYTES = 1 << 16,
    VERSION_AT = 8, /* of the superblock */
    LEAST_BYTES = 52
};

static void line_of(struct sha256_ctx *sha, char seal[SEAL_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t digest[SHA256_DIGEST_SIZE];
    sha256_digest(sha, sizeof digest, digest);
    memcpy(seal, mark, MARK_BYTES);
    char *at = seal + MARK_BYTES;
    for (size_t i = 0; i < sizeof digest; i++) {
        *at++ = digits[digest[i] >> 4];
        *at++ = digits[digest[i] & 15];
    }
    *at = '\n';
}

void seal_make(const void *bytes, size_t n, char seal[SEAL_BYTES])
{
    struct sha256_ctx sha;
    sha256_init(&sha);
    sha256_update(&sha, n, bytes);
    line_of(&sha, seal);
}

/* ---- checking ---- */

struct checked {
    struct sha256_ctx sha;
    uint64_t n;                      /* bytes of the file */
    unsigned char head[LEAST_BYTES]; /* its first and last ones */
    char tail[SEAL_BYTES];
};

/* The hash of all bytes but the last SEAL_BYTES, which are held back. */
static bool read_through(FILE *f, struct checked *c)
{
    static const size_t held = SEAL_BYTES;
    unsigned char piece[PIECE_BYTES + SEAL_BYTES];
    size_t kept = 0, got;
    sha256_init(&c->sha);
    while ((got = fread(piece + kept, 1, PIECE_BYTES, f)) > 0) {
        if (c->n < LEAST_BYTES) {
            size_t room = LEAST_BYTES - (size_t)c->n;
            memcpy(c->head + c->n, piece + kept, got < room ? got : room);
        }
        c->n += got;
        size_t all = kept + got, done = all > held ? all - held : 0;
        sha256_update(&c->sha, done, piece);
        kept = all - done;
        memmove(piece, piece + done, kept);
    }
    memcpy(c->tail, piece, kept);
    return !ferror(f);
}

static uint64_t little_endian(const unsigned char *at)
{
    uint64_t v = 0;
    for (int i = 7; i >= 0; i--)
        v = v << 8 | at[i];
    return v;
}

/* Where the superblock says that the file ends. */
static uint64_t stated_end(const unsigned char *head)
{
    static const size_t at[] = {40, 44, 28, 28}; /* by version */
    size_t version = head[VERSION_AT];
    return version < sizeof at / sizeof *at ? little_endian(head + at[version]) : UINT64_MAX;
}

/* Why the file is not to be opened; NULL: it may be. */
static const char *fault(struct checked *c, bool *sealed)
{
    *sealed = c->n > SEAL_BYTES && memcmp(c->tail, mark, MARK_BYTES) == 0;
    if (*sealed) {
        char seal[SEAL_BYTES];
        line_of(&c->sha, seal);
        return memcmp(seal, c->tail, SEAL_BYTES) == 0
                   ? NULL
                   : "is damaged: its bytes do not have the checksum at its end";
    }
    if (c->n < LEAST_BYTES || memcmp(c->head, hdf5_signature, sizeof hdf5_signature) != 0)
        return "is not a headroom result file: it is no HDF5 file";
    uint64_t end = stated_end(c->head);
    if (c->n < end)
        return "is damaged: it is shorter than it says";
    return c->n > end ? "is damaged: after its data stands no valid checksum" : NULL;
}

enum hr_err seal_check(const char *path, struct diags *diags)
{
    const struct diag_place place = {.file = path};
    struct checked c = {0};
    FILE *f = fopen(path, "rb");
    bool read = f && read_through(f, &c), sealed;
    int error = errno;
    if (f)
        fclose(f);
    if (!read) {
        diags_add(diags, DIAG_ERROR, place, NULL, NULL, "cannot be read: %s", strerror(error));
        return HR_INPUT;
    }
    const char *why = fault(&c, &sealed);
    if (why) {
        diags_add(diags, DIAG_ERROR, place, NULL, NULL, "%s", why);
        return HR_INPUT;
    }
    if (!sealed)
        diags_add(diags, DIAG_NOTE, place, NULL, NULL,
                  "has no checksum (another program or version wrote it): damage in it may go "
                  "unseen, or end this program");
    return HR_OK;
}
