/* Readers of what nvidia-smi says of MIG: `mig -lgi` (instances and where they are), `mig -lgip`
 * (profiles, how many are free) and `mig -lgipp` (where each may begin).
 *
 * Which of the three a text is, its first lines tell. Rows are read as they are; what they mean on
 * a type of GPU, with its profiles by name and id, is checked by mig_listing_layouts and
 * mig_listing_compare, which say what is wrong in the diags that it was read with. */
#ifndef HEADROOM_TRACES_MIG_LISTING_H
#define HEADROOM_TRACES_MIG_LISTING_H

#include "models/hardware/catalogue.h"
#include "traces/lines.h"

enum mig_listing_kind { MIG_LIST_INSTANCES, MIG_LIST_PROFILES, MIG_LIST_PLACEMENTS };

struct mig_listing_row {
    size_t line;                    /* from 0 */
    uint32_t gpu, id;               /* id of the profile */
    const char *name;               /* "1g.10gb"; NULL in -lgipp */
    uint32_t instance, start, size; /* -lgi; size of -lgipp too */
    uint32_t n_free, n_total, n_sm; /* -lgip */
    uint8_t starts;                 /* -lgipp, as bits */
};

struct mig_listing {
    enum mig_listing_kind kind;
    struct lines lines;
    struct mig_listing_row *rows; /* the arena's */
    size_t n;
};

/* HR_INPUT: what is wrong is described with file, line and column. */
enum hr_err mig_listing_read(const char *path, struct mig_listing *out, struct arena *arena,
                             struct diags *diags);

/* The type of GPU that has the profiles of all rows, by name and id (or starts, in -lgipp); of
 * several the first; NULL when there is none. */
const struct gpu_type *mig_listing_type(const struct mig_listing *l, const struct hardware *h);

struct mig_gpu_layout {
    uint32_t gpu; /* number in the listing */
    struct mig_layout layout;
};

/* The GPUs of -lgi, by number, with what is on them. HR_INPUT: a profile that the type has not, an
 * id of another one, a place that is not legal or taken: all said in diags. */
enum hr_err mig_listing_layouts(const struct mig_listing *l, const struct mig_tables *t,
                                struct arena *arena, struct mig_gpu_layout **out, size_t *n);

/* Whether the rows of -lgip and -lgipp agree with the type: ids, SMs, counts, starts. HR_INPUT:
 * what does not is said in diags. */
enum hr_err mig_listing_compare(const struct mig_listing *l, const struct mig_gpu *gpu);

#endif
