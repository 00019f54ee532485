/* MIG listings of nvidia-smi: read to what they say, and damaged ones refused with a reason at its
 * place. */
#include "fixture.h"
#include "traces/mig_listing.h"

#include <stdio.h>

#define MIG_FILE(name) TEST_SOURCE_ROOT "/tests/traces/mig/" name

struct reading {
    struct fixture f;
    struct mig_tables *t;
    struct mig_listing l;
    struct mig_gpu_layout *layouts;
    size_t n;
};

static void open_reading(struct reading *r, const char *gpu)
{
    memset(r, 0, sizeof *r);
    arena_init(&r->f.arena);
    diags_init(&r->f.diags);
    r->t = malloc(sizeof *r->t);
    cr_assert_not_null(r->t);
    mig_tables_init(r->t, &gpu_type_find(&hardware_builtin, gpu)->mig, NULL);
}

static void close_reading(struct reading *r)
{
    free(r->t);
    fixture_fini(&r->f);
}

static enum hr_err read_file(struct reading *r, const char *path)
{
    return mig_listing_read(path, &r->l, &r->f.arena, &r->f.diags);
}

static enum hr_err layouts(struct reading *r)
{
    return mig_listing_layouts(&r->l, r->t, &r->f.arena, &r->layouts, &r->n);
}

Test(mig_listing, instances)
{
    struct reading r;
    open_reading(&r, "h100-sxm");
    cr_assert_eq(read_file(&r, MIG_FILE("lgi.txt")), HR_OK);
    cr_expect_eq(r.l.kind, MIG_LIST_INSTANCES);
    cr_assert_eq(r.l.n, 3);
    cr_expect_eq(r.l.rows[2].instance, 12);
    cr_expect_eq(r.l.rows[2].start, 5);
    cr_expect_str_eq(mig_listing_type(&r.l, &hardware_builtin)->name, "h100-sxm");
    cr_assert_eq(layouts(&r), HR_OK);
    cr_assert_eq(r.n, 1);
    cr_expect_eq(r.layouts[0].gpu, 3);
    cr_expect_eq(mig_free_memory(r.layouts[0].layout.left), 0xdc);
    cr_expect_eq(r.t->fits[r.layouts[0].layout.left][0], 4); /* mig-what-still-fits */
    close_reading(&r);
}

Test(mig_listing, profiles_and_placements_are_those_of_the_type)
{
    static const char *const paths[] = {MIG_FILE("lgip.txt"), MIG_FILE("lgipp.txt")};
    for (size_t i = 0; i < 2; i++) {
        struct reading r;
        open_reading(&r, "h100-sxm");
        cr_assert_eq(read_file(&r, paths[i]), HR_OK);
        cr_expect_eq(r.l.kind, i ? MIG_LIST_PLACEMENTS : MIG_LIST_PROFILES);
        cr_assert_eq(r.l.n, 7);
        cr_expect_eq(mig_listing_compare(&r.l, &r.t->gpu), HR_OK);
        cr_expect_str_eq(mig_listing_type(&r.l, &hardware_builtin)->name, "h100-sxm");
        cr_expect_eq(layouts(&r), HR_INPUT); /* holds no instances */
        /* Of another type: names, or SMs, differ. */
        mig_tables_init(r.t, &gpu_type_find(&hardware_builtin, "a30")->mig, NULL);
        cr_expect_eq(mig_listing_compare(&r.l, &r.t->gpu), HR_INPUT);
        close_reading(&r);
    }
}

Test(mig_listing, no_instance)
{
    struct reading r;
    open_reading(&r, "h100-sxm");
    fixture_write(&r.f, "No GPU instances found: Not Found\n", 34);
    cr_assert_eq(read_file(&r, r.f.path), HR_OK);
    cr_assert_eq(layouts(&r), HR_OK);
    cr_expect_eq(r.n, 0);
    close_reading(&r);
}

/* Replaces `from` by `to` in lgi.txt, lgip.txt or lgipp.txt; said is in what is then said. */
static const struct damage {
    const char *file, *from, *to, *said;
} damages[] = {
    {"lgi.txt", "GPU instances:", "GPU incidents:", "is no listing"},
    {"lgi.txt", "|   3  MIG", "|      MIG", ":6:8: error: the number of a GPU"},
    {"lgi.txt", "MIG 1g.10gb", "CIG 1g.10gb", ":6:8: error: MIG and the name"},
    {"lgi.txt", "1g.10gb", "1g.10g", "no profile '1g.10g'"},
    {"lgi.txt", "1g.10gb", "1g.10g", "nearest: '1g.10gb'"},
    {"lgi.txt", "1g.10gb", "2g.20gb", "19 is not the id of profile 2g.20gb"},
    {"lgi.txt", "19 ", "x9 ", "the id of a profile, a whole number"},
    {"lgi.txt", "  19 ", "  14 ", "14 is not the id of profile 1g.10gb"},
    {"lgi.txt", "      12   ", "           ", "the id of an instance"},
    {"lgi.txt", "0:1", "0-1", "a placement such as 4:2"},
    {"lgi.txt", "0:1 ", "0:  ", "a placement such as 4:2"},
    {"lgi.txt", "0:1 ", "0:2 ", "takes 1 memory slices, not 2"},
    {"lgi.txt", "0:1", "7:1", "may not begin at 7"},
    {"lgi.txt", "0:1", "99999999999999999999:1", "a placement such as 4:2"},
    {"lgi.txt", "5:1", "1:1", "does not fit beside"},
    {"lgi.txt", "0:1 ", "0:1x", "a placement such as 4:2"},
    {"lgi.txt", "0:1  ", "0:1 x", "nothing more is due"},
    {"lgi.txt", "|   3  MIG", "    3  MIG", "a row between |"},
    {"lgip.txt", "7/7", "9/7", "more instances are free"},
    {"lgip.txt", "7/7", "7-7", "instances such as 7/7"},
    {"lgip.txt", "7/7", "6/6", "another number of instances"},
    {"lgip.txt", "No     16 ", "No     17 ", "another number of SMs"},
    {"lgip.txt", "No     16 ", "No        ", "has another number of SMs"},
    {"lgipp.txt", "Profile ID 19", "Profile ID 18", "18 is not the id of any profile"},
    {"lgipp.txt", "Profile ID 19", "Profile ID", "the id of a profile"},
    {"lgipp.txt", "{0,2,4}:2", "{0,2,6}:2", "another list of starts"},
    {"lgipp.txt", "{0,2,4}:2", "{0,2,4}:3", "another size"},
    {"lgipp.txt", "{0,2,4}:2", "{0,2,9}:2", "a start is one of 0 to 7"},
    {"lgipp.txt", "{0,2,4}:2", "{0,2,4:2", "starts such as {0,2,4}:2"},
    {"lgipp.txt", "{0,2,4}:2", "0,2,4:2", "Placements: {...} is due"},
    {"lgipp.txt", "{0,2,4}:2", "{}:2", "starts such as"},
    {"lgipp.txt", "{0,2,4}:2", "{0,2,4}", "a colon and the size"},
};
enum { DAMAGES = sizeof damages / sizeof *damages };

static char *damaged(const struct damage *d)
{
    char path[512], *text = calloc(1, 1 << 14), *out = calloc(1, 1 << 15);
    snprintf(path, sizeof path, MIG_FILE("%s"), d->file);
    FILE *in = fopen(path, "r");
    cr_assert_not_null(in);
    cr_assert(fread(text, 1, (1 << 14) - 1, in) > 0);
    fclose(in);
    char *at = strstr(text, d->from);
    cr_assert_not_null(at, "'%s' is not in %s", d->from, d->file);
    *at = 0;
    snprintf(out, 1 << 15, "%s%s%s", text, d->to, at + strlen(d->from));
    free(text);
    return out;
}

Test(mig_listing, damaged_ones_are_refused_with_a_reason)
{
    for (size_t i = 0; i < DAMAGES; i++) {
        struct reading r;
        char *text = damaged(&damages[i]);
        open_reading(&r, "h100-sxm");
        fixture_write(&r.f, text, strlen(text));
        enum hr_err err = read_file(&r, r.f.path);
        if (err == HR_OK)
            err =
                r.l.kind == MIG_LIST_INSTANCES ? layouts(&r) : mig_listing_compare(&r.l, &r.t->gpu);
        char *said = fixture_printed(&r.f);
        cr_expect_eq(err, HR_INPUT, "damage %zu", i);
        cr_expect(strstr(said, damages[i].said), "damage %zu: '%s' is not in:\n%s", i,
                  damages[i].said, said);
        cr_expect(strstr(said, r.f.path), "damage %zu", i);
        free(said);
        free(text);
        close_reading(&r);
    }
}

/* Any listing cut after any byte is read or refused, never more. */
Test(mig_listing, cut_short)
{
    static const char *const names[] = {"lgi.txt", "lgip.txt", "lgipp.txt"};
    for (size_t i = 0; i < 3; i++) {
        const struct damage whole = {names[i], "GPU", "GPU", ""};
        char *text = damaged(&whole);
        for (size_t n = 1; n < strlen(text); n += 7) {
            struct reading r;
            open_reading(&r, "h100-sxm");
            fixture_write(&r.f, text, n);
            const enum hr_err err = read_file(&r, r.f.path);
            cr_assert(err == HR_OK || (err == HR_INPUT && r.f.diags.n_errors > 0));
            close_reading(&r);
        }
        free(text);
    }
}
