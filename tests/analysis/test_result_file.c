/* The result file as the program itself sees it: what is read back is what was written, the same
 * bytes every time, and nothing else is accepted. Other readers: readers.py. */
#include "fixture.h"

#include "analysis/hdf5_file.h"
#include "analysis/result_file.h"
#include "analysis/seal.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/headroom-result-XXXXXX";
static struct diags diags;

static void setup(void)
{
    cr_assert(mkdtemp(folder) != NULL);
    cr_assert(chdir(folder) == 0);
    diags_init(&diags);
}

static void teardown(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    diags_fini(&diags);
    cr_assert(chdir("/") == 0 && system(command) == 0);
}

static char *slurp(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    cr_assert(f != NULL, "%s", path);
    fseek(f, 0, SEEK_END);
    *n = (size_t)ftell(f);
    rewind(f);
    char *bytes = malloc(*n + 1);
    cr_assert(fread(bytes, 1, *n, f) == *n);
    fclose(f);
    return bytes;
}

static bool same_file(const char *a, const char *b)
{
    size_t n, m;
    char *x = slurp(a, &n), *y = slurp(b, &m);
    bool same = n == m && memcmp(x, y, n) == 0;
    free(x);
    free(y);
    return same;
}

static void check_same_summary(const struct summary *a, const struct summary *b)
{
    cr_assert(a->n_columns == b->n_columns && a->n_replications == b->n_replications &&
              a->stride == b->stride);
    cr_expect_str_eq(a->version, b->version);
    cr_expect_str_eq(a->name, b->name);
    cr_expect_str_eq(a->start_date, b->start_date);
    for (uint32_t c = 0; c < a->n_columns; c++) {
        cr_expect_str_eq(a->columns[c].label, b->columns[c].label);
        cr_expect_str_eq(a->columns[c].design, b->columns[c].design);
        cr_expect_str_eq(a->columns[c].scenario, b->columns[c].scenario);
        cr_expect_str_eq(a->columns[c].settings, b->columns[c].settings);
        cr_expect(a->columns[c].seed == b->columns[c].seed);
    }
    for (int axis = AXIS_SERVICE; axis < AXES; axis++) {
        cr_assert(a->n[axis] == b->n[axis]);
        for (uint32_t i = 0; i < a->n[axis]; i++)
            cr_expect_str_eq(a->names[axis][i], b->names[axis][i]);
    }
    size_t n = a->stride * a->n_columns * a->n_replications;
    for (size_t i = 0; i < n; i++) {
        bool same = a->values[i] == b->values[i] || (isnan(a->values[i]) && isnan(b->values[i]));
        cr_assert(same, "value %zu: %.17g and %.17g", i, a->values[i], b->values[i]);
    }
}

static void round_trip(uint32_t designs, uint32_t replications)
{
    struct experiment e;
    struct summary back;
    fixture_experiment(&e, designs, replications, 1);
    cr_assert(result_write("r.h5", true, &e, &diags) == HR_OK);
    cr_assert(result_read("r.h5", &back, &diags) == HR_OK);
    check_same_summary(&e.summary, &back);
    summary_fini(&back);
    experiment_fini(&e);
}

Test(result_file, reads_back_what_was_written, .init = setup, .fini = teardown)
{
    round_trip(1, 1);
    round_trip(2, 1);
    round_trip(1, 3);
    round_trip(2, 3);
}

Test(result_file, same_bytes, .init = setup, .fini = teardown)
{
    struct experiment one, eight;
    fixture_experiment(&one, 2, 8, 1);
    fixture_experiment(&eight, 2, 8, 8);
    cr_assert(result_write("a.h5", false, &one, &diags) == HR_OK);
    cr_assert(result_write("b.h5", false, &one, &diags) == HR_OK);
    cr_assert(result_write("c.h5", false, &eight, &diags) == HR_OK);
    cr_expect(same_file("a.h5", "b.h5"));
    cr_expect(same_file("a.h5", "c.h5"));
    experiment_fini(&one);
    experiment_fini(&eight);
}

/* No path, host, thread count or date slips in. */
Test(result_file, holds_no_trace_of_where_it_was_made, .init = setup, .fini = teardown)
{
    struct experiment e;
    fixture_experiment(&e, 2, 2, 1);
    cr_assert(result_write("somewhere.h5", false, &e, &diags) == HR_OK);
    size_t n;
    char *bytes = slurp("somewhere.h5", &n), host[256] = "";
    gethostname(host, sizeof host - 1);
    const char *const secrets[] = {folder + 5, "somewhere", host, "/tmp"};
    for (size_t i = 0; i < sizeof secrets / sizeof secrets[0]; i++) {
        size_t length = strlen(secrets[i]);
        bool found = false;
        for (size_t at = 0; length >= 4 && at + length <= n && !found; at++)
            found = memcmp(bytes + at, secrets[i], length) == 0;
        cr_expect_not(found, "%s", secrets[i]);
    }
    free(bytes);
    experiment_fini(&e);
}

Test(result_file, refuses_what_exists, .init = setup, .fini = teardown)
{
    struct experiment e;
    fixture_experiment(&e, 1, 1, 1);
    cr_assert(result_write("r.h5", false, &e, &diags) == HR_OK);
    FILE *f = fopen("other.txt", "w");
    cr_assert(fputs("precious", f) >= 0 && fclose(f) == 0);
    cr_expect(result_write("r.h5", false, &e, &diags) == HR_INPUT);
    cr_expect(result_write("other.txt", false, &e, &diags) == HR_INPUT);
    cr_expect(eq(sz, diags.n_errors, 2));
    cr_expect(strstr(diags.items[0].text, "exists already") != NULL);
    size_t n;
    char *kept = slurp("other.txt", &n);
    cr_expect(n == 8 && memcmp(kept, "precious", 8) == 0);
    free(kept);
    cr_expect(result_write("other.txt", true, &e, &diags) == HR_OK);
    cr_expect(same_file("r.h5", "other.txt"));
    experiment_fini(&e);
}

Test(result_file, refuses_what_is_no_place_for_a_file, .init = setup, .fini = teardown)
{
    struct experiment e;
    fixture_experiment(&e, 1, 1, 1);
    cr_assert(mkdir("d", 0777) == 0 && mkfifo("fifo", 0666) == 0);
    cr_expect(result_write("d", true, &e, &diags) == HR_INPUT);
    cr_expect(result_write("d/", true, &e, &diags) == HR_INPUT);
    cr_expect(result_write("fifo", true, &e, &diags) == HR_INPUT);
    cr_expect(result_write("/dev/null", true, &e, &diags) == HR_INPUT);
    cr_expect(result_write("none/r.h5", true, &e, &diags) == HR_INPUT);
    cr_expect(eq(sz, diags.n_errors, 5));
    char longest[300];
    memset(longest, 'x', sizeof longest);
    longest[254] = 0; /* fits a folder, the temporary name does not */
    cr_expect(result_write(longest, true, &e, &diags) == HR_IO);
    experiment_fini(&e);
}

static void expect_refused(const char *path)
{
    struct summary s;
    size_t before = diags.n_errors;
    cr_expect(result_read(path, &s, &diags) == HR_INPUT, "%s", path);
    cr_expect(eq(sz, diags.n_errors, before + 1), "%s", path);
    summary_fini(&s);
}

Test(result_file, reads_nothing_else, .init = setup, .fini = teardown)
{
    FILE *f = fopen("text", "w");
    cr_assert(fputs("not a result\n", f) >= 0 && fclose(f) == 0);
    f = fopen("empty", "w");
    cr_assert(fclose(f) == 0 && mkfifo("fifo", 0666) == 0);
    expect_refused("text");
    expect_refused("empty");
    expect_refused("fifo");
    expect_refused("missing");
    expect_refused(".");
    struct hdf5_file *other = hdf5_file_new();
    struct hdf5_group root = hdf5_file_root(other), summary = hdf5_group_new(&root, "summary");
    hdf5_attr_i64(&root, "layout", RESULT_LAYOUT);
    hdf5_attr_i64(&root, "designs", 2);
    hdf5_attr_i64(&root, "replications", 1000000000);
    hdf5_group_close(&summary);
    hdf5_group_close(&root);
    void *bytes;
    size_t n;
    cr_assert(hdf5_file_finish(other, &bytes, &n) == HR_OK);
    f = fopen("hostile.h5", "w");
    cr_assert(fwrite(bytes, 1, n, f) == n && fclose(f) == 0);
    free(bytes);
    expect_refused("hostile.h5");
}

/* ---- damage ---- */

static void put(const char *path, const char *bytes, size_t n)
{
    FILE *f = fopen(path, "w");
    cr_assert(f && fwrite(bytes, 1, n, f) == n && fclose(f) == 0);
}

static const char *last_words(void)
{
    return diags.items[diags.n - 1].text;
}

/* Written, and back as bytes. */
static char *sealed_file(struct experiment *e, size_t *n)
{
    fixture_experiment(e, 2, 1, 1);
    cr_assert(result_write("r.h5", false, e, &diags) == HR_OK);
    return slurp("r.h5", n);
}

/* One error, which names the damage; the library has not seen the file. */
static void expect_damage(const char *bytes, size_t n, size_t at)
{
    struct diags mine = {0};
    put("damaged.h5", bytes, n);
    cr_assert(seal_check("damaged.h5", &mine) == HR_INPUT, "%zu of %zu", at, n);
    cr_assert(mine.n == 1 && mine.n_errors == 1);
    const char *text = mine.items[0].text;
    cr_assert(strstr(text, "damaged") || strstr(text, "no HDF5 file"), "%s", text);
    diags_fini(&mine);
}

static void flip(char *bytes, size_t n, size_t at, unsigned with)
{
    char old = bytes[at];
    bytes[at] ^= (char)with;
    expect_damage(bytes, n, at);
    bytes[at] = old;
}

/* A wrong byte at random, in each byte of the superblock and of the checksum, each bit of some. */
Test(result_file, no_wrong_byte_goes_unseen, .init = setup, .fini = teardown)
{
    struct experiment e;
    size_t n;
    char *bytes = sealed_file(&e, &n);
    unsigned state = 7;
    int draws = getenv("HEADROOM_LONG") ? 20000 : 400;
    for (int i = 0; i < draws; i++) {
        state = state * 1103515245u + 12345u;
        flip(bytes, n, (state >> 4) % n, 1 + (state >> 3) % 255);
    }
    for (size_t i = 0; i < 64; i++)
        flip(bytes, n, i, 1u << i % 8);
    for (size_t i = 1; i <= SEAL_BYTES; i++)
        flip(bytes, n, n - i, 1u << i % 8);
    free(bytes);
    experiment_fini(&e);
}

/* At every place around the ends and at some between; a hole, and a block twice. */
Test(result_file, no_cut_goes_unseen, .init = setup, .fini = teardown)
{
    struct experiment e;
    size_t n;
    char *bytes = sealed_file(&e, &n);
    for (size_t left = 1; left < n; left += left < 64 || left >= n - 2 * SEAL_BYTES ? 1 : n / 100)
        if (left != n - SEAL_BYTES)
            expect_damage(bytes, left, left);
    char *other = calloc(2, n);
    memcpy(other, bytes, n);
    memset(other + n / 3, 0, 4096);
    expect_damage(other, n, n / 3);
    memcpy(other, bytes, n / 2);
    memcpy(other + n / 2, bytes + n / 2 - 512, n - n / 2 + 512);
    expect_damage(other, n + 512, n / 2);
    memcpy(other, bytes, n);
    memcpy(other + n, "\n", 1);
    expect_damage(other, n + 1, n);
    free(other);
    free(bytes);
    experiment_fini(&e);
}

static void expect_unsealed(const char *path, const struct summary *want)
{
    struct summary back;
    size_t before = diags.n;
    cr_assert(result_read(path, &back, &diags) == HR_OK);
    cr_assert(eq(sz, diags.n, before + 1));
    cr_expect(diags.items[before].level == DIAG_NOTE);
    cr_expect(strstr(last_words(), "has no checksum") != NULL);
    check_same_summary(want, &back);
    summary_fini(&back);
}

/* What another program has changed through the library. */
Test(result_file, a_file_without_a_checksum_is_read_with_a_note, .init = setup, .fini = teardown)
{
    struct experiment e;
    size_t n;
    char *bytes = sealed_file(&e, &n);
    put("bare.h5", bytes, n - SEAL_BYTES);
    expect_unsealed("bare.h5", &e.summary);
    const long long note = 1;
    hid_t file = H5Fopen("r.h5", H5F_ACC_RDWR, H5P_DEFAULT), space = H5Screate(H5S_SCALAR);
    hid_t attr = H5Acreate2(file, "note", H5T_STD_I64LE, space, H5P_DEFAULT, H5P_DEFAULT);
    cr_assert(H5Awrite(attr, H5T_NATIVE_LLONG, &note) >= 0);
    H5Aclose(attr);
    H5Sclose(space);
    cr_assert(H5Fclose(file) >= 0);
    diags_fini(&diags);
    diags_init(&diags);
    expect_unsealed("r.h5", &e.summary);
    free(bytes);
    experiment_fini(&e);
}

/* The superblock says how long it was. */
Test(result_file, a_cut_shows_without_a_checksum, .init = setup, .fini = teardown)
{
    struct experiment e;
    size_t n;
    char *bytes = sealed_file(&e, &n);
    n -= SEAL_BYTES;
    for (size_t i = 1; i < 20; i++) {
        put("cut.h5", bytes, n * i / 20);
        expect_refused("cut.h5");
        cr_expect(strstr(last_words(), "shorter than it says") != NULL, "%s", last_words());
    }
    free(bytes);
    experiment_fini(&e);
}

/* Designs that measure different parts of the day, with other windows and objectives, still go into
 * one file. */
Test(result_file, designs_may_differ_in_their_axes, .init = setup, .fini = teardown)
{
    struct service_plan service = fixture_shared.services[0];
    service.slo.n_objectives = 1;
    struct plan other = fixture_shared;
    other.services = &service;
    const struct summary_source columns[] = {{"both", &fixture_shared, NULL, NULL},
                                             {"one objective", &other, NULL, NULL}};
    const struct experiment_plan plan = {.columns = columns,
                                         .n_columns = 2,
                                         .n_replications = 1,
                                         .n_threads = 1,
                                         .version = "v",
                                         .run = fixture_run};
    struct experiment e;
    struct summary back;
    cr_assert(experiment_run(&plan, &e, &diags) == HR_OK);
    cr_assert(result_write("r.h5", false, &e, &diags) == HR_OK);
    cr_assert(result_read("r.h5", &back, &diags) == HR_OK);
    check_same_summary(&e.summary, &back);
    summary_fini(&back);
    experiment_fini(&e);
}
