/* Writes the hand-made results of fixture.h for readers to open: FOLDER/one.h5 (a run) and
 * FOLDER/two.h5 (two designs, three replications), each with .json, .csv and the report as .txt
 * beside it. */
#include "fixture.h"

#include "analysis/csv.h"
#include "analysis/report.h"
#include "analysis/result_file.h"
#include "analysis/result_json.h"

#include <stdio.h>
#include <stdlib.h>

static void fail(const char *what)
{
    fprintf(stderr, "make_results: %s\n", what);
    exit(1);
}

static FILE *create(const char *folder, const char *name, const char *suffix)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.%s", folder, name, suffix);
    FILE *f = fopen(path, "w");
    if (!f)
        fail(path);
    return f;
}

static void write_all(const char *folder, const char *name, uint32_t designs, uint32_t replications)
{
    struct experiment e;
    struct verdict v;
    struct diags diags;
    char path[4096];
    diags_init(&diags);
    fixture_experiment(&e, designs, replications, 2);
    snprintf(path, sizeof path, "%s/%s.h5", folder, name);
    if (result_write(path, true, &e, &diags) != HR_OK)
        fail(path);
    if (verdict_init(&v, &e.summary) != HR_OK)
        fail("verdict");
    FILE *json = create(folder, name, "json"), *csv = create(folder, name, "csv");
    FILE *text = create(folder, name, "txt");
    if (result_json(json, &e.summary, &v) != HR_OK || csv_summary(csv, &e.summary) != HR_OK)
        fail("writing");
    if (report_print(text, &e.summary, &v, &(struct report_options){0}) != HR_OK)
        fail("writing");
    if (fclose(json) != 0 || fclose(csv) != 0 || fclose(text) != 0)
        fail("closing");
    verdict_fini(&v);
    experiment_fini(&e);
    diags_fini(&diags);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        fail("needs a folder");
    write_all(argv[1], "one", 1, 1);
    write_all(argv[1], "two", 2, 6);
    return 0;
}
