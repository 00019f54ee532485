/* Readers of nvidia-smi's MIG listings: boxes of rows, and lines of placements. */
#include "traces/mig_listing.h"

#include "sim/vec.h"

#include <stdlib.h>
#include <string.h>

enum { NUMBER_LIMIT = 1000000 };

struct reading {
    struct mig_listing *l;
    struct arena *arena;
    size_t line;
    const char *at; /* in the line, behind the words that were read */
    struct {
        struct mig_listing_row *items; /* owned */
        size_t n, capacity;
    } rows;
};

static enum hr_err wrong(const struct reading *r, const char *at, const char *what)
{
    lines_error(&r->l->lines, r->line, at, NULL, "%s", what);
    return HR_INPUT;
}

/* A whole number, then the character that must follow (0: the end of a word). */
static bool number(const char **at, char end, uint32_t *out)
{
    const char *p = *at;
    uint64_t value = 0;
    while (*p >= '0' && *p <= '9' && value < NUMBER_LIMIT)
        value = value * 10 + (uint64_t)(*p++ - '0');
    const bool ended = end ? *p == end : *p == '\0' || *p == ' ' || *p == '\t' || *p == '|';
    if (p == *at || !ended || value >= NUMBER_LIMIT)
        return false;
    *at = end ? p + 1 : p;
    *out = (uint32_t)value;
    return true;
}

static void blanks(struct reading *r)
{
    while (*r->at == ' ' || *r->at == '\t')
        r->at++;
}

/* The next word as a number, or two of them with a sign between. */
static enum hr_err next_number(struct reading *r, char end, uint32_t *out, const char *what)
{
    blanks(r);
    return number(&r->at, end, out) ? HR_OK : wrong(r, r->at, what);
}

/* Takes a word off the line where it stands there. */
static bool skip(struct reading *r, const char *word)
{
    blanks(r);
    const size_t n = strlen(word);
    if (strncmp(r->at, word, n) != 0)
        return false;
    r->at += n;
    return true;
}

/* "3  MIG 1g.10gb  19": what rows of -lgi and -lgip begin with. */
static enum hr_err read_profile(struct reading *r, struct mig_listing_row *row)
{
    struct word name;
    TRY(next_number(r, 0, &row->gpu, "the number of a GPU is due here"));
    if (!skip(r, "MIG "))
        return wrong(r, r->at, "MIG and the name of a profile are due here");
    if (!lines_word(&r->at, &name) || *name.at == '|')
        return wrong(r, r->at, "the name of a profile is due here");
    row->name = word_text(&name, r->arena);
    if (!row->name)
        return HR_NOMEM;
    return next_number(r, 0, &row->id, "the id of a profile, a whole number, is due here");
}

static enum hr_err end_row(struct reading *r)
{
    blanks(r);
    return *r->at == '|' || *r->at == '\0' ? HR_OK
                                           : wrong(r, r->at, "nothing more is due in this row");
}

static enum hr_err read_instance(struct reading *r, struct mig_listing_row *row)
{
    TRY(read_profile(r, row));
    TRY(next_number(r, 0, &row->instance, "the id of an instance, a whole number, is due here"));
    TRY(next_number(r, ':', &row->start, "a placement such as 4:2 (start:size) is due here"));
    TRY(next_number(r, 0, &row->size, "a placement such as 4:2 (start:size) is due here"));
    return end_row(r);
}

static enum hr_err read_profile_row(struct reading *r, struct mig_listing_row *row)
{
    struct word word;
    TRY(read_profile(r, row));
    TRY(next_number(r, '/', &row->n_free, "instances such as 7/7 (free/total) are due here"));
    TRY(next_number(r, 0, &row->n_total, "instances such as 7/7 (free/total) are due here"));
    if (row->n_free > row->n_total)
        return wrong(r, r->at, "more instances are free than there are");
    for (int i = 0; i < 2; i++) /* memory, P2P */
        if (!lines_word(&r->at, &word) || *word.at == '|')
            return wrong(r, r->at, "memory, P2P and SMs are due here");
    return next_number(r, 0, &row->n_sm, "the number of SMs is due here");
}

/* "GPU  0 Profile ID 19 Placements: {0,1,2}:1" */
static enum hr_err read_placement(struct reading *r, struct mig_listing_row *row)
{
    if (!skip(r, "GPU"))
        return wrong(r, r->at, "GPU and its number are due here");
    TRY(next_number(r, 0, &row->gpu, "the number of a GPU is due here"));
    if (!skip(r, "Profile ID"))
        return wrong(r, r->at, "Profile ID and a number are due here");
    TRY(next_number(r, 0, &row->id, "the id of a profile, a whole number, is due here"));
    if (!(skip(r, "Placements") || skip(r, "Placement")) || !skip(r, ":") || !skip(r, "{"))
        return wrong(r, r->at, "Placements: {...} is due here");
    for (bool more = true; more;) {
        const char *at = r->at;
        uint32_t start;
        more = number(&r->at, ',', &start);
        if (!more && !number(&r->at, '}', &start))
            return wrong(r, at, "starts such as {0,2,4}:2 are due here");
        if (start >= MIG_SLICES)
            return wrong(r, at, "a start is one of 0 to 7");
        row->starts |= (uint8_t)(1u << start);
    }
    if (!skip(r, ":"))
        return wrong(r, r->at, "a colon and the size in memory slices are due here");
    TRY(next_number(r, 0, &row->size, "the size in memory slices is due here"));
    return end_row(r);
}

/* Rules of a box and the titles of columns: no row. */
static bool is_frame(const char *text)
{
    if (*text == '+' || strncmp(text, "|=", 2) == 0 || strncmp(text, "|-", 2) == 0)
        return true;
    return *text == '|' &&
           (strstr(text, "GPU ") || strstr(text, "ID  ") || strstr(text, "Free/Total"));
}

/* The second line of a profile: engines only, so no " MIG ". */
static bool is_second(const struct reading *r)
{
    return r->l->kind == MIG_LIST_PROFILES && r->rows.n > 0 && !strstr(r->at, "MIG") &&
           r->rows.items[r->rows.n - 1].line + 1 == r->line;
}

static enum hr_err read_line(struct reading *r)
{
    static enum hr_err (*const readers[])(struct reading *, struct mig_listing_row *) = {
        read_instance, read_profile_row, read_placement};
    struct mig_listing_row row = {.line = r->line};
    if (r->l->kind != MIG_LIST_PLACEMENTS) {
        if (*r->at != '|')
            return wrong(r, r->at, "a row between | is due here");
        r->at++;
        if (is_second(r))
            return HR_OK;
    }
    TRY(readers[r->l->kind](r, &row));
    return vec_push(&r->rows, row) ? HR_OK : HR_NOMEM;
}

/* Which listing it is, by the first lines that say so. */
static bool find_kind(struct mig_listing *l)
{
    for (size_t i = 0; i < l->lines.n; i++) {
        const char *text = l->lines.items[i];
        if (strstr(text, "GPU instances:") || strstr(text, "No GPU instances found"))
            l->kind = MIG_LIST_INSTANCES;
        else if (strstr(text, "GPU instance profiles:"))
            l->kind = MIG_LIST_PROFILES;
        else if (strncmp(text, "GPU ", 4) == 0 && strstr(text, "Profile ID"))
            l->kind = MIG_LIST_PLACEMENTS;
        else
            continue;
        return true;
    }
    return false;
}

enum hr_err mig_listing_read(const char *path, struct mig_listing *out, struct arena *arena,
                             struct diags *diags)
{
    struct reading r = {.l = out, .arena = arena};
    enum hr_err err = HR_OK;
    *out = (struct mig_listing){.n = 0};
    TRY(lines_read(&out->lines, path, arena, diags));
    if (!find_kind(out)) {
        lines_error(&out->lines, 0, NULL, NULL,
                    "is no listing of nvidia-smi mig -lgi, -lgip or -lgipp");
        return HR_INPUT;
    }
    bool bad = false;
    for (r.line = 0; r.line < out->lines.n && (err == HR_OK || err == HR_INPUT); r.line++) {
        r.at = out->lines.items[r.line];
        if (*r.at == '\0' || *r.at == '$' || is_frame(r.at) ||
            strstr(r.at, "No GPU instances found") || strstr(r.at, "GPU instance profiles:"))
            continue;
        err = read_line(&r);
        bad = bad || err == HR_INPUT;
    }
    if (err == HR_OK || err == HR_INPUT) {
        out->n = r.rows.n;
        out->rows = arena_array(arena, r.rows.n, sizeof *out->rows);
        err = !out->rows ? HR_NOMEM : bad ? HR_INPUT : HR_OK;
        if (out->rows && r.rows.n)
            memcpy(out->rows, r.rows.items, r.rows.n * sizeof *out->rows);
    }
    vec_free(&r.rows);
    return err;
}
