/* What a single row of a table cannot say: sums, orders, choices that exclude each other, names
 * that must exist, files that must be there. All mistakes are said, none stops the others. */
#ifndef HEADROOM_SCENARIOS_CHECK_H
#define HEADROOM_SCENARIOS_CHECK_H

#include "scenarios/node.h"
#include "scenarios/spec.h"

struct check {
    struct arena *arena;
    struct diags *diags;
    const struct scenario_spec *spec;
    const struct node *root;
    const struct hardware *hardware; /* types of GPUs and nodes */
    const char *path;                /* of the scenario file; traces stand relative to it */
    uint64_t fleet_gpus;
    uint32_t largest_node; /* GPUs of it */
    double day_s;          /* time of day of the start */
    double warmup_s;       /* the default worked out */
};

/* Works out the members after path. */
void check_init(struct check *c);

/* Everything but the designs. HR_NOMEM only. */
enum hr_err check_scenario(const struct check *c);

/* Says something of a key, or where the key is not written of the table. at may be NULL. */
void check_say(const struct check *c, enum diag_level level, const void *at, const char *key,
               const char *nearest, const char *format, ...) __attribute__((format(printf, 6, 7)));

/* A file beside the scenario's, in the arena; NULL when memory is out. */
char *check_path(const struct check *c, const char *file);

/* ---- parts, by file ---- */

void check_duration(const struct check *c, const struct duration_spec *d);
/* The sizes of an elastic gang. */
void check_elastic(const struct check *c, const void *at, uint64_t gpus, uint64_t min,
                   uint64_t max);
void check_file(const struct check *c, const void *at, const char *file);
void check_trace(const struct check *c, const struct trace_file_spec *t, bool jobs);
void check_traffic(const struct check *c, const struct traffic_spec *t);
void check_service(const struct check *c, const struct service_spec *s);
void check_training(const struct check *c, const struct training_spec *t);
void check_fleet(const struct check *c);
void check_pools(const struct check *c, const void *at, const struct field_list *named);
void check_drawn(const struct check *c, const struct drawn_spec *d);

/* "p99.9" as parts per million; 0 when it is no percentile. */
uint32_t check_percentile(const char *name);

/* GPUs of a service or queue fit the largest name: the GPU of the fleet's first group. */
const char *check_gpu(const struct check *c);

#endif
