/* The splitter against a slow and obvious one on random text, whole and in pieces. */
#include "fixture.h"
#include "traces/csv.h"

#include "sim/rng.h"

enum { MAX_FIELDS = 64, MAX_TEXT = 160 };

/* --- the slow one: a state machine that copies, one byte at a time ------------------------- */

struct slow_row {
    char fields[MAX_FIELDS][MAX_TEXT];
    size_t n_fields;
    size_t n_taken;
    enum csv_status status;
};

static void append(struct slow_row *r, char c)
{
    char *field = r->fields[r->n_fields];
    size_t n = strlen(field);
    field[n] = c;
    field[n + 1] = '\0';
}

static void chop_cr(struct slow_row *r)
{
    char *field = r->fields[r->n_fields];
    size_t n = strlen(field);
    if (n > 0 && field[n - 1] == '\r')
        field[n - 1] = '\0';
}

/* The whole of text[0..n) is there. States: at the start of a field, in a plain one, in quotes,
 * behind the closing quote. */
static void slow_split(const char *text, size_t n, char delimiter, struct slow_row *r)
{
    enum { START, PLAIN, QUOTES, BEHIND } state = START;
    char behind[MAX_TEXT] = "";
    memset(r, 0, sizeof *r);
    r->status = CSV_ROW;
    size_t i = 0;
    for (;; i++) {
        bool end = i == n, line_end = !end && text[i] == '\n' && state != QUOTES;
        if (!end && text[i] == '\0') {
            r->status = CSV_NUL;
            return;
        }
        if (end && state == QUOTES) {
            r->status = CSV_UNCLOSED;
            return;
        }
        bool over = end || line_end;
        if (over || (text[i] == delimiter && state != QUOTES)) {
            if (over && state == PLAIN)
                chop_cr(r);
            if (over && state == BEHIND && strcmp(behind, "\r") == 0)
                behind[0] = '\0';
            if (behind[0] != '\0')
                r->status = CSV_AFTER;
            behind[0] = '\0';
            r->n_fields++;
            state = START;
            if (over) {
                r->n_taken = i + (size_t)line_end;
                return;
            }
        } else if (state == START && text[i] == '"') {
            state = QUOTES;
        } else if (state == QUOTES && text[i] == '"') {
            if (i + 1 < n && text[i + 1] == '"')
                append(r, text[i++]);
            else
                state = BEHIND;
        } else if (state == BEHIND) {
            strncat(behind, &text[i], 1);
        } else {
            append(r, text[i]);
            state = state == START ? PLAIN : state;
        }
    }
}

/* --- random text -------------------------------------------------------------------------- */

static size_t random_text(struct rng *rng, char out[MAX_TEXT])
{
    static const char alphabet[] = "ab1.,,,\"\"\n\r; \xc3\xa9";
    size_t n = 1 + rng_below(rng, MAX_TEXT - 2);
    for (size_t i = 0; i < n; i++) {
        out[i] = alphabet[rng_below(rng, sizeof alphabet - 1)];
        if (rng_below(rng, 400) == 0)
            out[i] = '\0';
    }
    return n;
}

static void compare(const struct csv_row *row, enum csv_status status, const struct slow_row *want)
{
    cr_assert_eq(status, want->status, "%d, not %d", status, want->status);
    if (status != CSV_ROW && status != CSV_AFTER)
        return;
    cr_assert_eq(row->n_taken, want->n_taken);
    cr_assert_eq(row->n_fields, want->n_fields);
    for (size_t i = 0; i < row->n_fields && i < row->max_fields; i++) {
        char field[MAX_TEXT];
        csv_unescape(&row->fields[i], field);
        cr_assert_str_eq(field, want->fields[i]);
    }
}

static unsigned n_rounds(void)
{
    const char *set = getenv("HEADROOM_LONG");
    return set != NULL && strcmp(set, "1") == 0 ? 2000000 : 30000;
}

Test(csv, equals_the_slow_splitter)
{
    struct rng rng;
    struct csv_dialect dialect;
    struct csv_field fields[MAX_FIELDS];
    static struct slow_row want;
    unsigned n_whole = 0, n_rows = 0;
    rng_init(&rng, 1, 0, "csv", "text");
    for (unsigned round = 0; round < n_rounds(); round++) {
        char text[MAX_TEXT];
        char delimiter = rng_below(&rng, 4) == 0 ? ';' : ',';
        size_t n = random_text(&rng, text), at = 0;
        csv_dialect_init(&dialect, delimiter);
        while (at < n) {
            struct csv_row row = {.fields = fields, .max_fields = MAX_FIELDS};
            slow_split(text + at, n - at, delimiter, &want);
            enum csv_status status = csv_split(&dialect, text + at, text + n, true, &row);
            if (want.n_fields > MAX_FIELDS)
                break;
            compare(&row, status, &want);
            n_rows++;
            if (status != CSV_ROW && status != CSV_AFTER)
                break;
            n_whole++;
            at += row.n_taken;
        }
    }
    cr_assert_gt(n_whole, n_rows / 2); /* the text is not all broken */
}

/* A row is never different, nor ever given too early, when its text ends somewhere. */
Test(csv, a_part_of_a_row_asks_for_more)
{
    struct rng rng;
    struct csv_dialect dialect;
    struct csv_field fields[MAX_FIELDS], part_fields[MAX_FIELDS];
    csv_dialect_init(&dialect, ',');
    rng_init(&rng, 2, 0, "csv", "parts");
    for (unsigned round = 0; round < n_rounds() / 10; round++) {
        char text[MAX_TEXT];
        size_t n = random_text(&rng, text);
        struct csv_row row = {.fields = fields, .max_fields = MAX_FIELDS}, part = row;
        part.fields = part_fields;
        enum csv_status status = csv_split(&dialect, text, text + n, true, &row);
        if (status != CSV_ROW)
            continue;
        for (size_t cut = 1; cut < n; cut++) {
            enum csv_status early = csv_split(&dialect, text, text + cut, false, &part);
            if (cut < row.n_taken || text[row.n_taken - 1] != '\n') {
                cr_assert_eq(early, CSV_MORE);
                continue;
            }
            cr_assert_eq(early, CSV_ROW);
            cr_assert_eq(part.n_taken, row.n_taken);
            cr_assert_eq(part.n_fields, row.n_fields);
        }
    }
}

Test(csv, fields_past_the_room_are_counted)
{
    struct csv_dialect dialect;
    struct csv_field fields[2];
    struct csv_row row = {.fields = fields, .max_fields = 2};
    const char text[] = "a,b,c,d\n";
    csv_dialect_init(&dialect, ',');
    cr_assert_eq(csv_split(&dialect, text, text + 8, true, &row), CSV_ROW);
    cr_assert_eq(row.n_fields, 4);
    cr_assert_eq(row.n_lines, 1);
    cr_assert(!row.high);
}

/* A real trace with bytes changed, dropped and doubled: whatever comes of it, every row is
 * accounted for or there is a diagnostic. */
Test(csv, changed_files_are_read_or_refused)
{
    struct rng rng;
    rng_init(&rng, 3, 0, "csv", "changes");
    static const char base[] =
        "# note\r\nTIMESTAMP,ContextTokens,GeneratedTokens\r\n"
        "2023-11-16 18:17:03.9799600,4808,10\r\n"
        "\"2023-11-16 18:17:04\",3180,8\r\n"
        "2023-11-16 18:17:04.078149Z,110,27\r\n\r\n"
        "2023-11-16T18:17:05+01:00,7433,0";
    for (int round = 0; round < 400; round++) {
        char text[sizeof base + 16];
        size_t n = sizeof base - 1;
        memcpy(text, base, n);
        for (uint64_t k = 1 + rng_below(&rng, 4); k > 0; k--) {
            size_t at = rng_below(&rng, n);
            switch (rng_below(&rng, 3)) {
            case 0:
                text[at] = (char)rng_below(&rng, 256);
                break;
            case 1:
                memmove(text + at, text + at + 1, n-- - at - 1);
                break;
            default:
                memmove(text + at + 1, text + at, n++ - at);
            }
        }
        struct fixture f;
        fixture_init(&f, "azure-llm");
        f.spec.skip_bad_rows = rng_below(&rng, 2) == 0;
        fixture_write(&f, text, n);
        if (fixture_read(&f) == HR_OK)
            fixture_expect_balance(&f);
        else
            cr_assert_gt(f.diags.n_errors, 0);
        fixture_fini(&f);
    }
}
