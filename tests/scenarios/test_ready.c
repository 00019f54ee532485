/* The ready scenarios, the one to start from, and the reference: all as they should be. */
#include "kit.h"

#include "scenarios/packing.h"
#include "traces/trace.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER TEST_SOURCE_ROOT "/scenarios"

static void plans_all(const char *path, size_t least_designs)
{
    struct diags d;
    struct scenario *s;
    diags_init(&d);
    enum hr_err err = scenario_load(path, NULL, 0, &d, &s);
    for (size_t i = 0; err == HR_OK && i < scenario_n_designs(s); i++) {
        struct plan p;
        err = scenario_plan(s, scenario_design(s, i), &d, &p);
        cr_assert(err != HR_OK || plan_fault(&p) == NULL);
    }
    char *said = kit_printed(&d);
    cr_assert_eq(err, HR_OK, "%s: %s", path, said);
    cr_assert_eq(d.n_errors + d.n_warnings, 0, "%s: %s", path, said);
    cr_assert_geq(scenario_n_designs(s), least_designs);
    free(said);
    scenario_free(s);
    diags_fini(&d);
}

static void loads_packing(const char *path)
{
    struct diags d = {0};
    struct packing_scenario s;
    cr_assert_eq(packing_load(path, NULL, 0, &d, &s), HR_OK, "%s", path);
    cr_assert_eq(d.n, 0, "%s", path);
    packing_free(&s);
    diags_fini(&d);
}

Test(ready, every_scenario_of_the_folder_plans_without_a_word)
{
    struct arena a;
    struct scenario_entry *entries;
    size_t n;
    arena_init(&a);
    cr_assert_eq(scenario_list(FOLDER, &a, &entries, &n), HR_OK);
    cr_assert_geq(n, 3);
    for (size_t i = 0; i < n; i++) {
        if (packing_is(entries[i].path))
            loads_packing(entries[i].path);
        else
            plans_all(entries[i].path, 3);
        cr_assert_gt(strlen(entries[i].description), 20);
    }
    arena_fini(&a);
}

Test(ready, the_list_has_names_and_first_sentences)
{
    struct arena a;
    struct scenario_entry *entries;
    size_t n;
    arena_init(&a);
    cr_assert_eq(scenario_list(FOLDER, &a, &entries, &n), HR_OK);
    size_t one = 0;
    while (one < n && strcmp(entries[one].name, "one-fleet") != 0)
        one++;
    cr_assert_lt(one, n);
    cr_assert_str_eq(entries[one].path, FOLDER "/one-fleet.yaml");
    cr_assert_str_eq(entries[one].description, "256 H100 for chat inference and training.");
    for (size_t i = 1; i < n; i++)
        cr_assert_lt(strcmp(entries[i - 1].path, entries[i].path), 0, "by path");
    cr_assert_eq(scenario_list("/nonexistent", &a, &entries, &n), HR_IO);
    cr_assert_eq(scenario_list(TEST_SOURCE_ROOT "/sim", &a, &entries, &n), HR_OK);
    cr_assert_eq(n, 0);
    arena_fini(&a);
}

/* What the fleet question asks for. */
Test(ready, one_fleet_is_the_fleet_question)
{
    struct diags d = {0};
    struct scenario *s;
    struct plan p;
    cr_assert_eq(scenario_load(FOLDER "/one-fleet.yaml", NULL, 0, &d, &s), HR_OK);
    cr_assert_eq(scenario_plan(s, "floor-plus-borrow", &d, &p), HR_OK);
    const struct service_plan *c = &p.services[0];
    cr_assert_eq(plan_gpus(&p), 256);
    cr_assert_float_eq(traffic_base_rate(&c->traffic), 240, 1e-9);
    cr_assert_float_eq(c->traffic.scale, 43.4, 0.05);
    cr_assert_float_eq(traffic_factor(&c->traffic, 16 * SIM_HOUR), 1.4, 1e-9);
    /* the events stand in the measured day only: 10:30 and 19:00 of it */
    double quiet = traffic_factor(&c->traffic, 11 * SIM_HOUR);
    cr_assert_float_eq(traffic_factor(&c->traffic, 35 * SIM_HOUR), quiet * 1.3, 1e-9);
    quiet = traffic_factor(&c->traffic, 19 * SIM_HOUR + 30 * SIM_MIN);
    cr_assert_float_eq(traffic_factor(&c->traffic, 43 * SIM_HOUR + 30 * SIM_MIN), quiet * 1.4,
                       1e-9);
    double chain_s = 0;
    for (int i = STAGE_SCHEDULE; i < STAGES; i++)
        chain_s += dist_mean_s(&c->cold_start[i]);
    cr_assert_float_eq(chain_s, 152, 1e-9);
    cr_assert_eq(c->autoscaler.buffer_replicas, 5);
    uint32_t least = UINT32_MAX, most = 0;
    for (size_t i = 0; i < p.queues[0].jobs->n; i++) {
        uint32_t gpus = p.queues[0].jobs->rows[i].gpus;
        least = gpus < least ? gpus : least;
        most = gpus > most ? gpus : most;
    }
    cr_assert_eq(least, 2);
    cr_assert_eq(most, 144);
    scenario_free(s);
    diags_fini(&d);
}

Test(ready, the_scenario_to_start_from_is_right_and_shows_each_part)
{
    struct diags d = {0};
    struct scenario *s;
    struct plan p;
    const char *text = scenario_init_text();
    cr_assert_eq(scenario_load_text("init.yaml", text, strlen(text), NULL, 0, &d, &s), HR_OK);
    for (size_t i = 0; i < scenario_n_designs(s); i++)
        cr_assert_eq(scenario_plan(s, scenario_design(s, i), &d, &p), HR_OK);
    cr_assert_eq(d.n, 0);
    cr_assert_eq(scenario_n_designs(s), 3);
    static const char *const parts[] = {
        "fleet:",   "services:",   "traffic:",  "slo:",    "autoscaler:",
        "designs:", "cold_start:", "training:", "reclaim:"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        cr_assert(strstr(text, parts[i]), "%s", parts[i]);
    scenario_free(s);
    diags_fini(&d);
}

/* ---- the reference ---- */

static char *read_all(const char *path)
{
    char *text = NULL;
    size_t n = 0;
    FILE *in = fopen(path, "r");
    cr_assert_not_null(in, "%s", path);
    FILE *out = open_memstream(&text, &n);
    for (int c; (c = fgetc(in)) != EOF;)
        fputc(c, out);
    fclose(in);
    fclose(out);
    return text;
}

static char *reference(void (*print)(FILE *))
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    print(out);
    fclose(out);
    return text;
}

#define BEGIN "<!-- reference: printed by `headroom schema --markdown` -->\n\n"
#define END   "\n<!-- end of reference -->"

Test(ready, the_readme_holds_the_reference_to_the_letter)
{
    char *readme = read_all(FOLDER "/README.md");
    char *want = reference(scenario_reference_markdown);
    char *from = strstr(readme, BEGIN), *to = strstr(readme, END);
    cr_assert(from && to && from < to, "the README has lost its markers");
    from += strlen(BEGIN);
    *to = '\0';
    for (size_t i = 0; from[i] || want[i]; i++)
        cr_assert_eq(from[i], want[i], "the README differs from the tables at: %.200s", want + i);
    free(readme);
    free(want);
}

Test(ready, the_readme_names_the_source_of_every_default)
{
    char *readme = read_all(FOLDER "/README.md");
    const char *end = strstr(readme, END);
    for (const char *p = strchr(readme, '['); p && p < end; p = strchr(p + 1, '[')) {
        size_t n = strspn(p + 1, "abcdefghijklmnopqrstuvwxyz0123456789_");
        if (n < 5 || !memchr(p + 1, '_', n) || strchr("]: ", p[1 + n]) == NULL || p[2 + n] == '(')
            continue;
        char row[128];
        snprintf(row, sizeof row, "| `%.*s` |", (int)n, p + 1);
        cr_assert(strstr(end, row), "no source for %s", row);
    }
    free(readme);
}

Test(ready, the_text_reference_fits_80_columns)
{
    char *text = reference(scenario_reference_text);
    size_t n = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), n++)
        cr_assert_leq(strlen(line), 80, "%s", line);
    cr_assert_gt(n, 200);
    free(text);
}
