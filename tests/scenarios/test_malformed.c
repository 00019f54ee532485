/* Malformed and hostile scenarios: each gets named errors at the right places, all of them, in
 * little time and memory. The files stand in malformed/, what is to be said of them in
 * malformed/expected.txt; the large ones are made here. */
#include "kit.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER TEST_SOURCE_ROOT "/tests/scenarios/malformed/"

enum { MOST_CPU_MS = 50, MOST_MIB = 64 };

/* The bounds hold in every build but a sanitizer's, where both grow with the tool. */
static void check_cost(const char *what, double start_s)
{
    double cpu_ms = (kit_cpu_s() - start_s) * 1e3;
    if (!kit_measures())
        return;
    cr_expect_lt(cpu_ms, MOST_CPU_MS, "%s took %.1f ms of CPU time", what, cpu_ms);
    cr_expect_lt(kit_peak_mib(), MOST_MIB, "%s: %.1f MiB resident", what, kit_peak_mib());
}

/* ---- the files ---- */

static void check_file(const char *name, char *const *lines, size_t n)
{
    char path[512];
    struct diags d;
    struct scenario *s;
    snprintf(path, sizeof path, FOLDER "%s", name);
    diags_init(&d);
    double start_s = kit_cpu_s();
    enum hr_err err = scenario_load(path, NULL, 0, &d, &s);
    check_cost(name, start_s);
    char *said = kit_printed(&d);
    cr_expect_eq(err, HR_INPUT, "%s was taken", name);
    cr_expect_null(s);
    cr_expect_eq(d.n, n, "%s: %zu errors expected, said:\n%s", name, n, said);
    for (size_t i = 0; i < n && i < d.n; i++) {
        unsigned line = 0, column = 0;
        int used = 0;
        cr_assert_eq(sscanf(lines[i], "%*s %u:%u %n", &line, &column, &used), 2, "%s", lines[i]);
        const char *part = lines[i] + used;
        bool right = d.items[i].line == line && d.items[i].column == column &&
                     strstr(d.items[i].text, part) && d.items[i].level == DIAG_ERROR;
        cr_expect(right, "%s: expected %u:%u '%s', said:\n%s", name, line, column, part, said);
    }
    free(said);
    scenario_free(s);
    diags_fini(&d);
}

/* Lines of the same file stand together. */
Test(malformed, files_get_the_expected_errors)
{
    char *lines[64], text[512], name[128] = "";
    size_t n = 0, n_files = 0;
    FILE *in = fopen(FOLDER "expected.txt", "r");
    cr_assert_not_null(in);
    for (bool more = true; more;) {
        more = fgets(text, sizeof text, in) != NULL;
        char of[128] = "";
        if (more && text[0] == '#')
            continue;
        text[strcspn(text, "\n")] = '\0';
        if (more)
            cr_assert_eq(sscanf(text, "%127s", of), 1);
        if (strcmp(of, name) != 0 && n > 0) {
            check_file(name, lines, n);
            n_files++;
            while (n > 0)
                free(lines[--n]);
        }
        snprintf(name, sizeof name, "%s", of);
        if (more)
            lines[n++] = strdup(text);
    }
    fclose(in);
    cr_assert_geq(n_files, 70);
}

/* ---- made here ---- */

static void refuse_bytes(const char *what, const char *bytes, size_t n, unsigned line,
                         unsigned column, const char *part)
{
    struct diags d;
    struct scenario *s;
    diags_init(&d);
    double start_s = kit_cpu_s();
    enum hr_err err = scenario_load_text("big.yaml", bytes, n, NULL, 0, &d, &s);
    check_cost(what, start_s);
    char *said = kit_printed(&d);
    cr_expect_eq(err, HR_INPUT, "%s was taken", what);
    cr_assert_geq(d.n, 1, "%s: nothing said", what);
    bool right =
        d.items[0].line == line && d.items[0].column == column && strstr(d.items[0].text, part);
    cr_expect(right, "%s: expected %u:%u '%s', said:\n%.2000s", what, line, column, part, said);
    free(said);
    scenario_free(s);
    diags_fini(&d);
}

static char *repeated(const char *unit, size_t size)
{
    size_t n = strlen(unit);
    char *text = malloc(size + 1);
    cr_assert_not_null(text);
    for (size_t i = 0; i < size; i++)
        text[i] = unit[i % n];
    text[size] = '\0';
    return text;
}

enum { MIB = 1 << 20 };

static void refuse_repeated(const char *unit, unsigned line, unsigned column, const char *part)
{
    char *text = repeated(unit, MIB);
    refuse_bytes(unit, text, MIB, line, column, part);
    free(text);
}

Test(malformed, a_megabyte_of_brackets)
{
    refuse_repeated("[", 1, 33, "more than 32 levels");
}

Test(malformed, a_megabyte_of_braces)
{
    refuse_repeated("{", 1, 2, "a key must be a word");
}

Test(malformed, a_megabyte_of_nested_maps)
{
    refuse_repeated("{a: ", 1, 129, "more than 32 levels");
}

Test(malformed, a_megabyte_of_dashes)
{
    refuse_repeated("- ", 1, 65, "more than 32 levels");
}

Test(malformed, a_megabyte_of_questions)
{
    refuse_repeated("? ", 1, 3, "a key must be a word");
}

Test(malformed, a_megabyte_of_anchors)
{
    refuse_repeated("&a ", 1, 1, "anchors (&) and aliases (*) are not allowed");
}

Test(malformed, a_megabyte_of_tags)
{
    refuse_repeated("!", 1, 1, "tags (!) are not allowed");
}

Test(malformed, a_megabyte_of_directives)
{
    refuse_repeated("%TAG !a! tag:a\n", 1, 1, "a YAML directive");
}

Test(malformed, a_megabyte_of_quotes)
{
    refuse_repeated("\"", 1, 3, "did not find expected");
}

Test(malformed, a_megabyte_of_one_word)
{
    refuse_repeated("a", 1, 1, "a scenario is made of keys");
}

Test(malformed, a_megabyte_of_one_key)
{
    char *text = repeated("k", MIB);
    memcpy(text + MIB - 3, ": 1", 3);
    refuse_bytes("one long key", text, MIB, 1, MIB - 2, "mapping values are not allowed");
    free(text);
}

Test(malformed, a_megabyte_of_newlines)
{
    refuse_repeated("\n", 1, 1, "there is no scenario in the file");
}

Test(malformed, a_megabyte_of_comments)
{
    refuse_repeated("#\n", 1, 1, "there is no scenario in the file");
}

Test(malformed, a_megabyte_of_nul_bytes)
{
    char *text = calloc(1, MIB);
    refuse_bytes("NUL bytes", text, MIB, 1, 1, "a NUL byte");
    free(text);
}

Test(malformed, a_megabyte_of_keys)
{
    refuse_repeated("a:\n", 10000, 3, "more than 20,000 values");
}

Test(malformed, a_megabyte_of_list_entries)
{
    refuse_repeated("- a\n", 20000, 3, "more than 20,000 values");
}

/* Just below the cap on values: as many unknown and duplicate keys as there can be. */
Test(malformed, ten_thousand_unknown_keys)
{
    size_t size = 0;
    char *text = NULL;
    FILE *out = open_memstream(&text, &size);
    for (int i = 0; i < 9990; i++)
        fprintf(out, "horizo%d: 1\n", i);
    fclose(out);
    refuse_bytes("unknown keys", text, size, 1, 1, "unknown key 'horizo0'");
    free(text);
}

Test(malformed, ten_thousand_duplicate_keys)
{
    char *text = repeated("a: 1\n", 5 * 9990);
    refuse_bytes("duplicate keys", text, strlen(text), 2, 1, "duplicate key 'a', first on line 1");
    free(text);
}

Test(malformed, ten_thousand_services)
{
    size_t size = 0;
    char *text = NULL;
    FILE *out = open_memstream(&text, &size);
    fputs("scenario: many\nfleet: {nodes: 4}\ndesigns: {shared: }\nservices:\n", out);
    for (int i = 0; i < 9980; i++)
        fprintf(out, "  s%d:\n", i);
    fclose(out);
    refuse_bytes("services", text, size, 4, 1, "services has 9980 entries, at most 64");
    free(text);
}

/* Sixty-four of everything that is allowed, all of it wrong. */
Test(malformed, as_many_wrong_services_and_designs_as_allowed)
{
    size_t size = 0;
    char *text = NULL;
    FILE *out = open_memstream(&text, &size);
    fputs("scenario: many\nfleet: {nodes: 4}\nservices:\n", out);
    for (int i = 0; i < 64; i++)
        fprintf(out, "  s%d: {model: lama, tensor_parallel: 1, traffic: {rate: 1req/s}}\n", i);
    fputs("designs:\n", out);
    for (int i = 0; i < 64; i++)
        fprintf(out, "  d%d: {preset: separate, inference: {s%d: 1GPU, t: 2GPU}}\n", i, i);
    fclose(out);
    refuse_bytes("wrong services", text, size, 4, 15, "the catalogue has no 'lama'");
    free(text);
}

Test(malformed, alias_bomb)
{
    size_t size = 0;
    char *text = NULL;
    FILE *out = open_memstream(&text, &size);
    fputs("a0: &a0 [x, x, x, x, x, x, x, x, x]\n", out);
    for (int i = 1; i < 30; i++)
        fprintf(out, "a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d]\n", i, i,
                i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
    fclose(out);
    refuse_bytes("alias bomb", text, size, 1, 5, "anchors (&) and aliases (*) are not allowed");
    free(text);
}

Test(malformed, larger_than_a_megabyte)
{
    char *text = repeated("# comment\n", MIB + 1);
    char path[] = "/tmp/headroom-test-XXXXXX";
    int fd = mkstemp(path);
    FILE *out = fdopen(fd, "w");
    fwrite(text, 1, MIB + 1, out);
    fclose(out);
    free(text);
    struct diags d;
    struct scenario *s;
    diags_init(&d);
    double start_s = kit_cpu_s();
    cr_expect_eq(scenario_load(path, NULL, 0, &d, &s), HR_INPUT);
    check_cost("large file", start_s);
    cr_expect(strstr(d.items[0].text, "larger than 1 MiB"));
    remove(path);
    diags_fini(&d);
}

static void refuse_path(const char *path, const char *part)
{
    struct diags d;
    struct scenario *s;
    diags_init(&d);
    double start_s = kit_cpu_s();
    cr_expect_eq(scenario_load(path, NULL, 0, &d, &s), HR_INPUT, "%s", path);
    check_cost(path, start_s);
    cr_expect_eq(d.n, 1);
    cr_expect(strstr(d.items[0].text, part), "%s: %s", path, d.items[0].text);
    cr_expect_str_eq(d.items[0].file, path);
    diags_fini(&d);
}

Test(malformed, no_such_file_a_folder_and_an_endless_one)
{
    refuse_path("/nonexistent/x.yaml", "cannot be opened: No such file or directory");
    refuse_path("/tmp", "is a directory");
    refuse_path("/dev/zero", "is larger than 1 MiB");
    refuse_path("/dev/null", "the file is empty");
}

/* ---- what must be taken ---- */

Test(malformed, byte_order_mark_and_crlf_are_taken)
{
    size_t size = 0;
    char *text = NULL;
    FILE *out = open_memstream(&text, &size);
    fputs("\xEF\xBB\xBF", out);
    for (const char *p = kit_small; *p; p++)
        fprintf(out, "%s%c", *p == '\n' ? "\r" : "", *p);
    fclose(out);
    struct scenario *s = kit_load(text, NULL, 0);
    struct scenario *plain = kit_load(kit_small, NULL, 0);
    cr_assert_eq(scenario_hash(s), scenario_hash(plain));
    scenario_free(s);
    scenario_free(plain);
    free(text);
}

/* Places are the same with both. */
Test(malformed, places_with_byte_order_mark_and_crlf)
{
    static const char text[] = "\xEF\xBB\xBFscenario: x\r\nhorizn: 1h\r\nfleet: {nodes: 0}\r\n";
    char *said = kit_refused(text, NULL, 0);
    cr_assert(strstr(said, "test.yaml:2:1: error: unknown key 'horizn'\n    horizn: 1h\n    ^\n"),
              "%s", said);
    cr_assert(strstr(said, "test.yaml:3:16: error: nodes: '0' must be at least 1\n"), "%s", said);
    free(said);
}
