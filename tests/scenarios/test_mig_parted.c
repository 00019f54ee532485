/* mig-parted configurations: read to layouts, and damaged ones refused with a reason at its place.
 */
#include "kit.h"
#include "models/hardware/catalogue.h"
#include "scenarios/mig_parted.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXAMPLE TEST_SOURCE_ROOT "/tests/traces/mig/mig_parted.yaml"

struct reading {
    struct arena arena;
    struct diags diags;
    struct mig_tables *t;
    struct mig_packer packer;
    struct mig_parted parted;
};

static enum hr_err open_reading(struct reading *r, const char *path)
{
    memset(r, 0, sizeof *r);
    arena_init(&r->arena);
    diags_init(&r->diags);
    r->t = malloc(sizeof *r->t);
    cr_assert_not_null(r->t);
    mig_tables_init(r->t, &gpu_types[0].mig, NULL);
    cr_assert_eq(mig_packer_init(&r->packer, r->t, &r->arena), HR_OK);
    return mig_parted_read(path, &r->packer, &r->arena, &r->diags, &r->parted);
}

static void close_reading(struct reading *r)
{
    free(r->t);
    diags_fini(&r->diags);
    arena_fini(&r->arena);
}

Test(mig_parted, example)
{
    struct reading r;
    cr_assert_eq(open_reading(&r, EXAMPLE), HR_OK);
    cr_assert_eq(r.parted.n, 3);
    const struct mig_parted_config *off = &r.parted.configs[0], *day = &r.parted.configs[1];
    cr_expect_str_eq(off->name, "all-disabled");
    cr_expect(off->groups[0].all && !off->groups[0].enabled);
    cr_assert_eq(day->n_groups, 3);
    cr_expect_eq(day->groups[0].n_devices, 4);
    cr_expect_eq(day->groups[1].devices[1], 5);
    cr_expect_eq(mig_free_memory(day->groups[1].layout.left), 0); /* 4g at 0, 3g at 4 */
    cr_expect_eq(day->groups[2].layout.n, 7);
    const struct mig_parted_group *night = &r.parted.configs[2].groups[0];
    cr_expect(night->all && strstr(night->filter, "0x233010DE"));
    cr_expect_eq(night->n[0], 7);
    close_reading(&r);
}

static const struct damage {
    const char *from, *to, *said;
} damages[] = {
    {"version: v1", "version: v2", "version: v1 is due"},
    {"version: v1\n", "", "version: v1 is due"},
    {"mig-configs:", "mig-config:", "nearest: 'mig-configs'"},
    {"- devices: all", "- device: all", "nearest: 'devices'"},
    {"mig-enabled: false", "mig-enabled: fals", "true or false is due"},
    {"[0, 1, 2, 3]", "[0, 1, 2, x]", "a whole number up to 63"},
    {"[0, 1, 2, 3]", "[0, 1, 2, 2]", "in the list already"},
    {"[0, 1, 2, 3]", "some", "devices are `all` or a list"},
    {"\"3g.40gb\": 1", "\"3g.40g\": 1", "nearest: '3g.40gb'"},
    {"\"3g.40gb\": 1", "\"3g.40gb\": 2", "do not fit on one GPU"},
    {"\"3g.40gb\": 1", "\"3g.40gb\": -1", "a whole number up to 64"},
    {"\"1g.10gb\": 7", "\"1g.10gb\": 8", "do not fit on one GPU"},
    {"{\"1g.10gb\": 7}", "[1g.10gb]", "instances by profile are due"},
    {"    mig-enabled: true\n    mig-devices: {\"3g", "    mig-devices: {\"3g",
     "needs devices and"},
};

Test(mig_parted, damaged_ones_are_refused_with_a_reason)
{
    char text[4096];
    FILE *in = fopen(EXAMPLE, "r");
    cr_assert_not_null(in);
    text[fread(text, 1, sizeof text - 1, in)] = 0;
    fclose(in);
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        struct reading r;
        char path[] = "/tmp/headroom-test-XXXXXX", *bad = NULL;
        const char *at = strstr(text, damages[i].from);
        cr_assert_not_null(at, "%s", damages[i].from);
        size_t n;
        FILE *out = open_memstream(&bad, &n);
        fprintf(out, "%.*s%s%s", (int)(at - text), text, damages[i].to,
                at + strlen(damages[i].from));
        fclose(out);
        int fd = mkstemp(path);
        cr_assert_eq(write(fd, bad, n), (ssize_t)n);
        close(fd);
        cr_expect_eq(open_reading(&r, path), HR_INPUT, "damage %zu", i);
        char *said = kit_printed(&r.diags);
        cr_expect(strstr(said, damages[i].said) && strstr(said, path), "damage %zu: '%s' in:\n%s",
                  i, damages[i].said, said);
        remove(path);
        free(said);
        free(bad);
        close_reading(&r);
    }
}
