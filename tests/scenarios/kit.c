/* The small scenario and what tests do with it. */
#include "kit.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

const char *const kit_small =
    "scenario: small\n"
    "horizon: 2h\n"
    "fleet: {nodes: 4}\n"
    "services:\n"
    "  chat:\n"
    "    model: llama-3.1-8b\n"
    "    tensor_parallel: 1\n"
    "    traffic: {arrivals: poisson, rate: 5req/s, prompt: 100, output: 10}\n"
    "training:\n"
    "  research:\n"
    "    backlog: {gangs: [8GPU], work: 2h}\n"
    "designs:\n"
    "  shared:\n";

char *kit_replace(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    cr_assert_not_null(at, "'%s' is not there", from);
    cr_assert_null(strstr(at + 1, from), "'%s' is there twice", from);
    size_t before = (size_t)(at - text), n = strlen(text) - strlen(from) + strlen(to) + 1;
    char *out = malloc(n);
    cr_assert_not_null(out);
    snprintf(out, n, "%.*s%s%s", (int)before, text, to, at + strlen(from));
    return out;
}

char *kit_printed(const struct diags *d)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    cr_assert_not_null(out);
    diags_print(d, out, false);
    fclose(out);
    return text;
}

static struct scenario *load(const char *path, const char *text, const char *const *sets,
                             size_t n_sets)
{
    struct diags d;
    struct scenario *s;
    diags_init(&d);
    enum hr_err err = scenario_load_text(path, text, strlen(text), sets, n_sets, &d, &s);
    char *said = kit_printed(&d);
    cr_assert_eq(err, HR_OK, "refused:\n%s", said);
    cr_assert_not_null(s);
    free(said);
    diags_fini(&d);
    return s;
}

struct scenario *kit_load(const char *text, const char *const *sets, size_t n_sets)
{
    return load("test.yaml", text, sets, n_sets);
}

struct scenario *kit_load_at(const char *path, const char *text)
{
    return load(path, text, NULL, 0);
}

struct plan kit_plan(struct scenario *s, const char *design)
{
    struct diags d;
    struct plan p;
    diags_init(&d);
    enum hr_err err = scenario_plan(s, design, &d, &p);
    char *said = kit_printed(&d);
    cr_assert_eq(err, HR_OK, "no plan:\n%s", said);
    free(said);
    diags_fini(&d);
    return p;
}

char *kit_refused(const char *text, const char *const *sets, size_t n_sets)
{
    struct diags d;
    struct scenario *s;
    struct plan p;
    diags_init(&d);
    enum hr_err err = scenario_load_text("test.yaml", text, strlen(text), sets, n_sets, &d, &s);
    for (size_t i = 0; err == HR_OK && i < scenario_n_designs(s); i++)
        err = scenario_plan(s, scenario_design(s, i), &d, &p);
    char *said = kit_printed(&d);
    cr_assert_eq(err, HR_INPUT, "not refused; said:\n%s", said);
    cr_assert_gt(d.n_errors, 0);
    scenario_free(s);
    diags_fini(&d);
    return said;
}

double kit_cpu_s(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)u.ru_utime.tv_sec + (double)u.ru_utime.tv_usec * 1e-6;
}

double kit_peak_mib(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)u.ru_maxrss / 1024;
}

#if defined __SANITIZE_ADDRESS__
#define SANITIZED 1
#elif defined __has_feature
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

bool kit_measures(void)
{
    return !SANITIZED;
}
