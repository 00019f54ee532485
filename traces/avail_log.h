/* The sentences of a log of instances; see avail_log.c. */
#ifndef HEADROOM_TRACES_AVAIL_LOG_H
#define HEADROOM_TRACES_AVAIL_LOG_H

#include "traces/avail.h"
#include "traces/reader.h"

struct avail_log {
    struct avail *avail;
    struct names series; /* met in the file; the arena's */
    struct names names;  /* of instances, those of other series too; the arena's */
    struct {             /* owned: series by name's number; NULL: none created yet */
        const char **items;
        size_t n, capacity;
    } of_name;
    uint64_t n_failed; /* creations */
};

enum avail_log_use { AVAIL_LOG_KEEP, AVAIL_LOG_OTHER /* of another series */, AVAIL_LOG_BAD };

/* False after an error was reported. */
bool avail_log_time(struct reader *r, const struct csv_field *field, int64_t *t);
/* Node and change of a message. An error was reported where *use is AVAIL_LOG_BAD. */
enum hr_err avail_log_row(struct avail_log *log, struct reader *r, const struct csv_field *field,
                          struct avail_row *row, enum avail_log_use *use);
/* HR_INPUT, described: the series asked for is not in the file. */
enum hr_err avail_log_end(struct avail_log *log, struct notes *notes);
void avail_log_fini(struct avail_log *log);

#endif
