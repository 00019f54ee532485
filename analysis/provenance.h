/* What a result file says of where it came from: the attributes of its root, and the hash that
 * tells whether two files were made from the same things. */
#ifndef HEADROOM_ANALYSIS_PROVENANCE_H
#define HEADROOM_ANALYSIS_PROVENANCE_H

#include "analysis/hdf5_file.h"

#include <stdint.h>

struct provenance {
    const char *title, *version;
    const char *scenario; /* text as written */
    int64_t layout;       /* version of the layout */
    const char *hash;
    uint64_t seed;
    uint32_t replications;
};

void provenance_put(const struct hdf5_group *root, const struct provenance *p);

/* FNV-1a; the text with its end, so that "a" "b" is not "ab" "". */
#define PROVENANCE_START UINT64_C(0xcbf29ce484222325)
void provenance_hash_text(uint64_t *hash, const char *text);
void provenance_hash_whole(uint64_t *hash, uint64_t value); /* its decimal digits */
void provenance_hash_print(uint64_t hash, char out[17]);

#endif
