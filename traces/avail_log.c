/* Availability from a log in prose: what a watcher that keeps asking for instances writes down.
 *
 *     [2020-03-01T10:11:21.000Z] Created instance a with 8 GPU(s) of type v100 in zone us-west1-b
 *
 * The reader splits each line at its bracket into a time and a message. A message is one of few
 * sentences; an instance is up from its creation to the first line that says otherwise. Its GPUs
 * and their type are named where it is created, and make its series: "8 v100". */
#include "traces/avail_log.h"

#include "sim/vec.h"
#include "traces/lines.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS = 16, MESSAGE = 512 };

/* Each star is one word. Places are those of words; 0: it is not said. */
static const struct sentence {
    const char *text;
    int8_t change;
    uint8_t name, gpus, type;
} sentences[] = {
    {"Created instance * with * GPU(s) of type * in zone *", +1, 2, 4, 8},
    {"Instance * running in zone *", +1, 1, 0, 0},
    {"Instance * not running in zone *", -1, 1, 0, 0},
    {"Successfully deleted instance *", -1, 3, 0, 0},
    {"Instance with * GPU(s) of type * creation failed", 0, 0, 2, 6},
    {"Instance * creation failed", 0, 1, 0, 0},
};

static bool says(const struct sentence *s, const struct word *words, size_t n)
{
    const char *at = s->text;
    struct word due;
    size_t i = 0;
    for (; lines_word(&at, &due); i++)
        if (i == n || (!word_is(&due, "*") &&
                       !(due.n == words[i].n && memcmp(due.at, words[i].at, due.n) == 0)))
            return false;
    return i == n;
}

static const struct sentence *sentence_of(const struct word *words, size_t n)
{
    for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++)
        if (says(&sentences[i], words, n))
            return &sentences[i];
    return NULL;
}

/* --- series -------------------------------------------------------------------------------- */

/* NULL: memory is out. */
static const char *series_of(struct avail_log *log, const struct word *gpus,
                             const struct word *type)
{
    char text[MESSAGE];
    int n =
        snprintf(text, sizeof text, "%.*s %.*s", (int)gpus->n, gpus->at, (int)type->n, type->at);
    return names_add(&log->series, text, (size_t)n);
}

/* The series of a line, that of its instance where it names none; NULL: not known yet. */
static enum hr_err find_series(struct avail_log *log, const struct sentence *s,
                               const struct word *words, const char **out)
{
    *out = NULL;
    if (s->gpus && !(*out = series_of(log, &words[s->gpus], &words[s->type])))
        return HR_NOMEM;
    if (s->name == 0)
        return HR_OK;
    struct name name = names_take(&log->names, words[s->name].at, words[s->name].n);
    if (!name.text || (log->of_name.n == name.number && !vec_push(&log->of_name, *out)))
        return HR_NOMEM;
    if (*out)
        log->of_name.items[name.number] = *out;
    *out = log->of_name.items[name.number];
    return HR_OK;
}

enum hr_err avail_log_end(struct avail_log *log, struct notes *notes)
{
    enum { MOST = 64 };
    const char *names[MOST], *wanted = log->avail->spec->series;
    size_t n = 0;
    for (size_t i = 0; i < log->series.n_slots && n < MOST; i++)
        if (log->series.slots[i].text)
            names[n++] = log->series.slots[i].text;
    for (size_t i = 0; i < n && wanted; i++)
        if (strcmp(names[i], wanted) == 0)
            n = 0;
    if (wanted && n > 0) {
        diags_add(log->avail->diags, DIAG_ERROR, log->avail->spec->place, log->avail->spec->source,
                  diag_nearest(wanted, names, n), "%s has no series '%.60s'",
                  log->avail->spec->path, wanted);
        return HR_INPUT;
    }
    if (log->n_failed > 0)
        notes_add(notes, "instances asked for and not created: %llu",
                  (unsigned long long)log->n_failed);
    if (n > 1)
        notes_add(notes, "instances of %zu kinds, such as '%.60s': each counts as a node", n,
                  names[0]);
    return HR_OK;
}

void avail_log_fini(struct avail_log *log)
{
    names_free(&log->series);
    names_free(&log->names);
    vec_free(&log->of_name);
}

/* --- rows ---------------------------------------------------------------------------------- */

bool avail_log_time(struct reader *r, const struct csv_field *field, int64_t *t)
{
    const char *text = field->text;
    size_t n = field->n;
    value_trim(&text, &n);
    if (n == 0 || *text != '[') {
        reader_error(r, text, "a time in brackets is due here");
        return false;
    }
    enum value_fault fault = value_timestamp(text + 1, n - 1, &r->clock, t);
    if (fault != VALUE_OK)
        reader_error(r, text + 1, "'%.*s' %s", n > 40 ? 40 : (int)n - 1, text + 1,
                     value_fault_text[fault]);
    return fault == VALUE_OK;
}

enum hr_err avail_log_row(struct avail_log *log, struct reader *r, const struct csv_field *field,
                          struct avail_row *row, enum avail_log_use *use)
{
    char text[MESSAGE];
    const char *at = text, *series;
    struct word words[WORDS];
    size_t n = 0;
    snprintf(text, sizeof text, "%.*s", (int)(field->n < MESSAGE ? field->n : MESSAGE - 1),
             field->text);
    while (n < WORDS && lines_word(&at, &words[n]))
        n++;
    const struct sentence *s = sentence_of(words, n);
    *use = AVAIL_LOG_BAD;
    if (!s) {
        reader_error(r, field->text, "this line of a log of instances says nothing known");
        return HR_OK;
    }
    row->value = s->change;
    row->node = SUPPLY_ANY_NODE;
    TRY(find_series(log, s, words, &series));
    const char *wanted = log->avail->spec->series;
    *use = AVAIL_LOG_OTHER;
    if (wanted && (!series || strcmp(series, wanted) != 0))
        return HR_OK;
    *use = AVAIL_LOG_KEEP;
    log->n_failed += s->change == 0;
    return s->name ? avail_name(log->avail, row, words[s->name].at, words[s->name].n) : HR_OK;
}
