/* The file of a packing, read back with the HDF5 library: every value is that of the filling, with
 * units; the checksum holds; nothing is replaced unasked. */
#include "analysis/packing_file.h"
#include "analysis/seal.h"

#include <criterion/criterion.h>
#include <hdf5.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One node of four GPUs, asked for by pods of three: one fits, a quarter stays idle and no pod can
 * use it. */
static const char text[] =
    "scenario: threes\nreplications: 2\npacking:\n"
    "  nodes: {groups: {a: {nodes: 1, gpus: 4}}}\n"
    "  pods: {classes: {three: {count: 5, gpus: 3}}}\n"
    "  policies: [best-fit, fgd]\n  levels: [50%, 130%]\n";

enum { POLICIES_RUN = 2, FILLINGS = 2, LEVELS = 2, VALUES = POLICIES_RUN * FILLINGS * LEVELS };

static char folder[] = "/tmp/headroom-packing-XXXXXX";
static struct diags diags;
static struct packing_scenario s;
static struct packing_figures f;
static const struct packing_source source = {"9.9", "seed=1"};

static void setup(void)
{
    cr_assert(mkdtemp(folder) != NULL && chdir(folder) == 0);
    diags_init(&diags);
    cr_assert_eq(packing_load_text("x.yaml", text, strlen(text), NULL, 0, &diags, &s), HR_OK);
    cr_assert_eq(packing_figures_run(&s, &f), HR_OK);
}

static void teardown(void)
{
    packing_figures_free(&f);
    packing_free(&s);
    diags_fini(&diags);
    cr_assert(unlink("p.h5") == 0 || access("p.h5", F_OK) != 0);
    cr_assert(chdir("/") == 0 && rmdir(folder) == 0, "a file was left behind");
}

static void write_file(void)
{
    cr_assert_eq(packing_write("p.h5", false, &s, &f, &source, &diags), HR_OK);
}

static hid_t open_file(void)
{
    hid_t file = H5Fopen("p.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    cr_assert(file >= 0);
    return file;
}

/* The attribute as text: fixed or variable length. */
static void has_attribute(hid_t file, const char *object, const char *name, const char *want)
{
    char *got = NULL;
    hid_t type = H5Tcopy(H5T_C_S1), attr = H5Aopen_by_name(file, object, name, H5P_DEFAULT, 0);
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    cr_assert(attr >= 0, "%s of %s", name, object);
    cr_assert(H5Aread(attr, type, &got) >= 0, "%s of %s", name, object);
    cr_expect_str_eq(got, want, "%s of %s: %s", name, object, got);
    H5free_memory(got);
    H5Aclose(attr);
    H5Tclose(type);
}

static void read_values(hid_t file, const char *name, size_t n, double *out)
{
    hid_t set = H5Dopen2(file, name, H5P_DEFAULT);
    cr_assert(set >= 0, "%s", name);
    hid_t space = H5Dget_space(set);
    cr_assert_eq(H5Sget_simple_extent_npoints(space), (hssize_t)n, "%s", name);
    cr_assert(H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, out) >= 0);
    H5Sclose(space);
    H5Dclose(set);
}

Test(packing_file, by_hand, .init = setup, .fini = teardown)
{
    double got[VALUES], one[2];
    write_file();
    hid_t file = open_file();
    static const struct {
        const char *name;
        double want;
    } rows[] = {{"packing/allocated_frac", 0.75}, {"packing/allocated_gpus", 3},
                {"packing/stranded_frac", 0.25},  {"packing/stranded_gpus", 1},
                {"packing/fragment_frac", 0.25},  {"packing/fragment_gpus", 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        read_values(file, rows[i].name, VALUES, got);
        for (size_t k = 0; k < VALUES; k++)
            cr_expect_float_eq(got[k], rows[i].want, 1e-12, "%s: %g", rows[i].name, got[k]);
        has_attribute(file, rows[i].name, "units", "1");
    }
    read_values(file, "packing/level", LEVELS, got);
    cr_expect(got[0] == 0.5 && got[1] == 1.3);
    read_values(file, "packing/dropped_pods", VALUES, got);
    cr_expect(got[0] == 0 && got[1] == 1, "the second of three GPUs finds no room");
    read_values(file, "packing/pod_gpus", 1, one);
    cr_expect_eq(one[0], 3);
    read_values(file, "packing/gpus", 1, one);
    cr_expect_eq(one[0], 4);
    H5Fclose(file);
}

Test(packing_file, holds_every_filling, .init = setup, .fini = teardown)
{
    double allocated[VALUES], stranded[VALUES], starts[POLICIES_RUN * LEVELS];
    write_file();
    hid_t file = open_file();
    read_values(file, "packing/allocated_frac", VALUES, allocated);
    read_values(file, "packing/stranded_frac", VALUES, stranded);
    for (size_t i = 0; i < VALUES; i++) {
        cr_expect_eq(allocated[i], f.fills[i].allocated_frac);
        cr_expect_eq(stranded[i], f.fills[i].stranded_frac);
    }
    for (uint32_t c = 0; c < POLICIES_RUN; c++)
        for (uint32_t k = 0; k < LEVELS; k++) {
            const double *first = &allocated[c * FILLINGS * LEVELS + k];
            cr_expect_float_eq((first[0] + first[LEVELS]) / 2,
                               packing_cell(&s, &f, c, k)->allocated.mean, 1e-12);
        }
    read_values(file, "packing/could_start", POLICIES_RUN * LEVELS, starts);
    for (size_t i = 0; i < POLICIES_RUN * LEVELS; i++)
        cr_expect_eq(starts[i], f.starts[i]);
    H5Fclose(file);
}

Test(packing_file, says_where_it_came_from, .init = setup, .fini = teardown)
{
    write_file();
    cr_expect_eq(seal_check("p.h5", &diags), HR_OK);
    cr_expect_eq(diags.n, 0, "with a checksum");
    hid_t file = open_file();
    has_attribute(file, "/", "title", "threes");
    has_attribute(file, "/", "source", "headroom 9.9");
    has_attribute(file, "/", "scenario", text);
    has_attribute(file, "/", "settings", "seed=1");
    H5Fclose(file);
}

Test(packing_file, replaces_nothing_unasked, .init = setup, .fini = teardown)
{
    write_file();
    cr_expect_eq(packing_write("p.h5", false, &s, &f, &source, &diags), HR_INPUT);
    cr_expect_eq(diags.n_errors, 1);
    cr_expect_eq(packing_write("p.h5", true, &s, &f, &source, &diags), HR_OK);
}
