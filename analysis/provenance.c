/* See provenance.h. */
#include "analysis/provenance.h"

#include <stdio.h>

void provenance_hash_text(uint64_t *hash, const char *text)
{
    for (const char *c = text;; c++) {
        *hash = (*hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
        if (!*c)
            return;
    }
}

void provenance_hash_whole(uint64_t *hash, uint64_t value)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
    provenance_hash_text(hash, digits);
}

void provenance_hash_print(uint64_t hash, char out[17])
{
    snprintf(out, 17, "%016llx", (unsigned long long)hash);
}

void provenance_put(const struct hdf5_group *root, const struct provenance *p)
{
    char source[128];
    snprintf(source, sizeof source, "headroom %s", p->version);
    hdf5_attr_text(root, "Conventions", "CF-1.10");
    hdf5_attr_text(root, "title", p->title);
    hdf5_attr_text(root, "source", source);
    hdf5_attr_i64(root, "layout", p->layout);
    hdf5_attr_text(root, "version", p->version);
    hdf5_attr_text(root, "scenario", p->scenario);
    hdf5_attr_text(root, "hash", p->hash);
    hdf5_attr_i64(root, "seed", (int64_t)p->seed);
    hdf5_attr_i64(root, "replications", p->replications);
}
