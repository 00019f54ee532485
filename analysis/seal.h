/* The checksum behind a result file.
 *
 * The HDF5 library believes what a file says and can crash on a damaged one before a caller hears
 * of an error. So a line of text stands behind the HDF5 data, over which it is verified before the
 * library sees the file:
 *
 *   newline, "headroom-sha256 ", SHA-256 of every byte before the line (64 digits), newline
 *
 * Readers of HDF5 go by the length in the superblock and leave what follows alone. A program that
 * changes the file through the library cuts the line off with the next close: such a file has no
 * checksum, is as long as its superblock says, and is read with a note. Any other length without a
 * valid line is damage. */
#ifndef HEADROOM_ANALYSIS_SEAL_H
#define HEADROOM_ANALYSIS_SEAL_H

#include "sim/diag.h"
#include "sim/err.h"

#include <stddef.h>

enum { SEAL_BYTES = 82 };

/* The line for n bytes; not terminated by 0. */
void seal_make(const void *bytes, size_t n, char seal[SEAL_BYTES]);

/* Reads a file in pieces. HR_OK: whole, or without a checksum and a note says so. HR_INPUT with an
 * error: no HDF5 file, cut short, damaged, or cannot be read. */
enum hr_err seal_check(const char *path, struct diags *diags);

#endif
