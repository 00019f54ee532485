/* Every worksheet that has a simulation agrees with it at its defaults; what cannot be simulated
 * says why. */
#include "analysis/worksheets/list.h"
#include "analysis/worksheets/simulate.h"

#include <criterion/criterion.h>
#include <string.h>

static void set_up(struct sheet_case *c, const char *name, struct diags *diags)
{
    diags_init(diags);
    cr_assert_eq(sheet_case_init(c, sheet_find(name), diags), HR_OK);
}

/* gg-wait is exact for one server and Poisson arrivals only. */
static const char *const exact_settings[][2] = {
    {"gg-wait", "scv_arrival=1"}, {"gg-wait", "servers=1"}, {"gg-wait", "arrivals_per_s=0.6"}};

Test(worksheet_simulate, agrees_at_the_defaults, .timeout = 500)
{
    size_t n = 0;
    for (size_t i = 0; i < sheets_n; i++) {
        struct sheet_case c;
        struct diags diags;
        struct sheet_simulated seen;
        if (!sheets[i]->simulation)
            continue;
        set_up(&c, sheets[i]->name, &diags);
        for (size_t k = 0; k < sizeof exact_settings / sizeof exact_settings[0]; k++)
            if (strcmp(exact_settings[k][0], sheets[i]->name) == 0)
                cr_assert_eq(sheet_case_set(&c, exact_settings[k][1]), HR_OK);
        cr_assert_eq(sheet_case_solve(&c), HR_OK);
        const struct sheet_simulate_plan plan = {.threads = 2, .version = "test"};
        cr_assert_eq(sheet_simulate(&c, &plan, &seen, &diags), HR_OK, "%s", sheets[i]->name);
        cr_assert_eq(seen.n, sheets[i]->simulation->n_checks);
        for (uint8_t k = 0; k < seen.n; k++)
            cr_expect_eq(seen.seen[k].verdict, SHEET_AGREES, "%s, %s: %g, simulated %g +- %g",
                         sheets[i]->name, sheets[i]->outputs[seen.seen[k].check->output].key,
                         seen.seen[k].exact, seen.seen[k].mean, seen.seen[k].error);
        n++;
        sheet_simulated_fini(&seen);
        sheet_case_fini(&c);
        diags_fini(&diags);
    }
    cr_assert_geq(n, 6);
}

static void refused(const char *name, const char *setting, const char *why)
{
    struct sheet_case c;
    struct diags diags;
    struct text yaml;
    set_up(&c, name, &diags);
    if (setting)
        cr_assert_eq(sheet_case_set(&c, setting), HR_OK);
    cr_assert_eq(sheet_case_solve(&c), HR_OK);
    cr_assert_eq(sheet_scenario(&c, &yaml, &diags), HR_INPUT);
    cr_assert(diags.n == 1 && strstr(diags.items[0].text, why), "%s", diags.items[0].text);
    text_free(&yaml);
    sheet_case_fini(&c);
    diags_fini(&diags);
}

Test(worksheet_simulate, says_what_has_no_scenario)
{
    refused("rail-cabling", NULL, "arithmetic only");
    refused("erlang-c", "servers=8", "no mean exists");
    refused("gg-wait", NULL, "arrivals are Poisson");
    refused("notebook-pool", "sliced_gpus=1", "slices");
    refused("little", "arrivals_per_h=0", "nobody arrives");
}

/* A wrong closed form does not pass: the same runs against a value five per cent off. */
Test(worksheet_simulate, a_wrong_value_differs, .timeout = 200)
{
    struct sheet_case c;
    struct diags diags;
    struct sheet_simulated seen;
    set_up(&c, "little", &diags);
    cr_assert_eq(sheet_case_solve(&c), HR_OK);
    const uint8_t busy = c.sheet->simulation->checks[0].output;
    c.out[busy].items[0].number *= 1.05;
    const struct sheet_simulate_plan plan = {.replications = 10, .threads = 2, .version = "test"};
    cr_assert_eq(sheet_simulate(&c, &plan, &seen, &diags), HR_OK);
    cr_assert_eq(seen.seen[0].verdict, SHEET_DIFFERS);
    cr_assert_not(sheet_simulated_agrees(&seen));
    sheet_simulated_fini(&seen);
    sheet_case_fini(&c);
    diags_fini(&diags);
}
