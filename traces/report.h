/* What the readers of all kinds of rows share at the end of a file: the report's notes and the
 * facts that do not depend on the kind of row. */
#ifndef HEADROOM_TRACES_REPORT_H
#define HEADROOM_TRACES_REPORT_H

#include "traces/order.h"
#include "traces/reader.h"
#include "traces/trace.h"

/* Sentences for the report, collected and handed over at the end. */
struct notes {
    const char **items; /* owned; the texts are the arena's */
    size_t n, capacity;
    struct arena *arena;
    bool failed; /* memory ran out */
};

void notes_add(struct notes *notes, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* After the last row: the report's file, counts and times from the reader and the keys, which come
 * into trace order; notes on columns, zone, order and gaps. HR_INPUT with a diagnostic when no row
 * is left. The report's dropped[] must hold the reader's own drops. */
enum hr_err report_rows(struct trace_report *report, const struct trace_spec *spec,
                        struct reader *r, const struct reader_slot slots[TRACE_FIELDS],
                        struct order *order, struct notes *notes);

/* Its parts for the readers of supply and prices: what the reader says of the file; notes on
 * columns, zone and blank lines; notes on order and equal rows. */
enum hr_err report_reader(struct trace_report *report, const struct trace_spec *spec,
                          struct reader *r, const struct reader_slot *time);
void report_note_reader(const struct trace_report *report, const struct trace_spec *spec,
                        const struct reader *r, const struct reader_slot slots[TRACE_FIELDS],
                        struct notes *notes);
void report_note_order(const struct trace_report *report, struct notes *notes);

/* Moves the notes into the report. */
enum hr_err report_notes(struct trace_report *report, struct notes *notes);
void notes_free(struct notes *notes);

/* Parts of the printed report. Text breaks at blanks, so that no line is longer than 80 columns
 * unless a word is. */
void report_print_quantiles(const char *name, const struct trace_quantiles *q, FILE *out);
void report_print_wrapped(const char *label, const char *text, FILE *out);
void report_print_supply(const struct trace_supply_facts *f, FILE *out);
void report_print_price(const struct trace_price_facts *f, FILE *out);

/* "+08:00" */
void report_zone(char out[8], int32_t zone_s);

#endif
