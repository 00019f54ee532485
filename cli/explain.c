/* headroom explain: worksheets of capacity arithmetic, solved step by step; answers marked; one
 * input varied. */
#include "analysis/worksheets/answer.h"
#include "analysis/worksheets/list.h"
#include "analysis/worksheets/sheet_json.h"
#include "analysis/worksheets/simulate.h"
#include "analysis/worksheets/unit.h"
#include "analysis/worksheets/vary.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/terminal.h"

#include <string.h>

struct explain_options {
    struct option_list set, answers;
    const char *tolerance, *vary, *of;
    uint32_t replications, threads; /* 0: the sheet's, one per core */
    bool simulate, scenario, json, help;
};

static const struct option table[] = {
    {"--set", NULL, OPTION_LIST, offsetof(struct explain_options, set), 0, 0, "KEY=VALUE",
     "an input; a bare number is in the sheet's unit (repeatable)"},
    {"--answer", NULL, OPTION_LIST, offsetof(struct explain_options, answers), 0, 0, "KEY=VALUE",
     "mark this answer to a result (repeatable)"},
    {"--tolerance", NULL, OPTION_TEXT, offsetof(struct explain_options, tolerance), 0, 0, "FRAC",
     "how far a right answer may be off: 0.01, 1%"},
    {"--vary", NULL, OPTION_TEXT, offsetof(struct explain_options, vary), 0, 0, "KEY=LO..HI:N",
     "a table and a plot against this input; also LO..HI/STEP, A,B,C"},
    {"--of", NULL, OPTION_TEXT, offsetof(struct explain_options, of), 0, 0, "RESULT",
     "of --vary: this result; else the sheet's answer"},
    {"--simulate", NULL, OPTION_FLAG, offsetof(struct explain_options, simulate), 0, 0, NULL,
     "run the sheet's scenario and compare it with the closed form"},
    {"--scenario", NULL, OPTION_FLAG, offsetof(struct explain_options, scenario), 0, 0, NULL,
     "print that scenario, to be edited and run"},
    {"--replications", NULL, OPTION_COUNT, offsetof(struct explain_options, replications), 2, 10000,
     "N", "of --simulate: so many and no more"},
    {"--threads", NULL, OPTION_COUNT, offsetof(struct explain_options, threads), 1, 1024, "N",
     "of --simulate; else one per core"},
    {"--json", NULL, OPTION_FLAG, offsetof(struct explain_options, json), 0, 0, NULL, "print JSON"},
    {"--help", "-h", OPTION_FLAG, offsetof(struct explain_options, help), 0, 0, NULL, "this list"},
};

enum { OPTIONS = sizeof table / sizeof table[0], KEYS_MAX = SHEET_INPUTS_MAX + SHEET_OUTPUTS_MAX };

/* One call: what was asked of which sheet. */
struct session {
    struct explain_options *o;
    struct sheet_page page;
    struct sheet_case c;
    double tolerance;
    struct diags diags;
};

static void help(void)
{
    puts(
        "usage: headroom explain [--json]\n"
        "         all worksheets\n"
        "       headroom explain WORD...\n"
        "         the worksheet of this name, or those in which the words occur\n"
        "       headroom explain NAME [KEY=VALUE...] [OPTION...]\n"
        "         solves it; KEY is an input to set, or a result to have marked\n");
    options_help(table, OPTIONS, stdout);
    puts(
        "\nA number may have a unit: mean_hold_h=90min, price=$2.10/GPU-h, target=5%.\n"
        "Exit code 3: an answer is wrong, or the simulation does not agree.");
}

/* ---- finding ---- */

static void list(const struct session *s, const struct sheet *const *hits, size_t n)
{
    struct json j;
    if (!s->o->json) {
        sheet_print_list(&s->page, hits, n);
        return;
    }
    json_init(&j, stdout);
    sheet_json_list(&j, hits, n);
}

static int no_hit(const char *words)
{
    const char *names[512];
    size_t n = 0;
    for (; n < sheets_n && n < 512; n++)
        names[n] = sheets[n]->name;
    const char *nearest = diag_nearest(words, names, n);
    if (nearest)
        return command_usage("no worksheet for '%s'; did you mean '%s'?", words, nearest);
    return command_usage("no worksheet for '%s'; headroom explain lists all", words);
}

/* The sheet of these words; NULL after listing several or saying that there is none. */
static const struct sheet *find(const struct session *s, const char *const *words, size_t n,
                                int *code)
{
    char joined[256] = "";
    size_t n_hits = 0, at = 0;
    const struct sheet *hits[512];
    for (size_t i = 0; i < n && at < sizeof joined; i++)
        at += (size_t)snprintf(joined + at, sizeof joined - at, "%s%s", i ? "-" : "", words[i]);
    const struct sheet *exact = sheet_find(joined);
    if (exact)
        return exact;
    for (size_t i = 0; i < sheets_n && n_hits < 512; i++)
        if (sheet_matches(sheets[i], words, n))
            hits[n_hits++] = sheets[i];
    if (n_hits == 1)
        return hits[0];
    if (n_hits > 1)
        list(s, hits, n_hits);
    *code = n_hits ? EXIT_MET : no_hit(joined);
    return NULL;
}

/* ---- one sheet ---- */

static bool names_key(const char *key, const char *text, bool list)
{
    const size_t n = strlen(key), given = strcspn(text, "=");
    if (strncmp(key, text, n) != 0)
        return false;
    return n == given || (list && text[n] == '_' && strspn(text + n + 1, "0123456789") > 0 &&
                          text[n + 1 + strspn(text + n + 1, "0123456789")] == '=');
}

/* key=value after the name: an input is set, a result is an answer. */
static int sort_operand(struct session *s, const struct sheet *sheet, const char *text)
{
    const char *names[KEYS_MAX];
    struct option_list *to = NULL;
    size_t n = 0;
    for (uint8_t i = 0; i < sheet->n_inputs; i++) {
        names[n++] = sheet->inputs[i].key;
        if (names_key(sheet->inputs[i].key, text, false))
            to = &s->o->set;
    }
    for (uint8_t k = 0; k < sheet->n_outputs; k++) {
        names[n++] = sheet->outputs[k].key;
        if (names_key(sheet->outputs[k].key, text, sheet->outputs[k].each))
            to = &s->o->answers;
    }
    if (to && to->n == OPTION_LIST_MAX)
        return command_usage("more than %d settings or answers", OPTION_LIST_MAX);
    if (to) {
        to->items[to->n++] = text;
        return EXIT_MET;
    }
    char key[64];
    snprintf(key, sizeof key, "%.*s", (int)strcspn(text, "="), text);
    const char *nearest = diag_nearest(key, names, n);
    if (nearest)
        return command_usage("worksheet %s has no input or result '%s'; did you mean '%s'?",
                             sheet->name, key, nearest);
    return command_usage("worksheet %s has no input or result '%s'", sheet->name, key);
}

static enum hr_err solve(struct session *s, const struct sheet *sheet)
{
    TRY(sheet_case_init(&s->c, sheet, &s->diags));
    enum hr_err err = HR_OK;
    for (size_t i = 0; i < s->o->set.n; i++) {
        const enum hr_err one = sheet_case_set(&s->c, s->o->set.items[i]);
        err = err == HR_OK ? one : err;
    }
    return err == HR_OK ? sheet_case_solve(&s->c) : err;
}

static void print_page(const struct session *s, const struct sheet_answers *answers,
                       const struct vary *vary)
{
    if (!answers && !vary) {
        sheet_print(&s->page, &s->c);
        return;
    }
    sheet_print_head(&s->page, &s->c);
    sheet_print_inputs(&s->page, &s->c);
    fputc('\n', stdout);
    if (answers)
        sheet_answers_print(&s->page, &s->c, answers);
    if (answers && vary)
        fputc('\n', stdout);
    if (vary)
        sheet_vary_print(&s->page, &s->c, vary);
}

static void print_json(const struct session *s, const struct sheet_answers *answers,
                       const struct vary *vary)
{
    struct json j;
    json_init(&j, stdout);
    json_object(&j, NULL);
    sheet_json(&j, &s->c);
    if (answers)
        sheet_answers_json(&j, &s->c, answers);
    if (vary)
        sheet_vary_json(&j, &s->c, vary);
    json_close(&j);
}

/* 3 where the two do not agree. */
static int confirm(struct session *s)
{
    struct progress_bar bar;
    struct sheet_simulated seen;
    const struct explain_options *o = s->o;
    const struct sheet_simulate_plan plan = {
        .replications = o->replications,
        .most = o->replications,
        .threads = threads_or_cores(o->threads),
        .version = HEADROOM_VERSION,
        .progress = progress_experiment,
        .self = &bar,
        .stop = interrupt_watch(),
    };
    progress_start(&bar, s->c.sheet->name);
    const enum hr_err err = sheet_simulate(&s->c, &plan, &seen, &s->diags);
    progress_end(&bar);
    if (err == HR_OK && o->json) {
        struct json j;
        json_init(&j, stdout);
        sheet_simulated_json(&j, &s->c, &seen);
    } else if (err == HR_OK) {
        sheet_simulated_print(stdout, &s->c, &seen);
    }
    int code = command_report(err, &s->diags);
    if (code == EXIT_MET && !sheet_simulated_agrees(&seen))
        code = EXIT_MISSED;
    sheet_simulated_fini(&seen);
    return code;
}

static int print_scenario(struct session *s)
{
    struct text yaml;
    const enum hr_err err = sheet_scenario(&s->c, &yaml, &s->diags);
    if (err == HR_OK)
        fputs(text_get(&yaml), stdout);
    text_free(&yaml);
    return command_report(err, &s->diags);
}

static int explain(struct session *s, const struct sheet *sheet)
{
    const struct explain_options *o = s->o;
    struct sheet_answers answers = {0};
    struct vary vary = {0};
    enum hr_err err = solve(s, sheet);
    if (err == HR_OK && (o->scenario || o->simulate))
        return o->scenario ? print_scenario(s) : confirm(s);
    if (err == HR_OK && o->vary)
        err = sheet_vary(&s->c, o->vary, o->of, &vary);
    if (err == HR_OK)
        err = sheet_answers_mark(&s->c, &s->c.arena, o->answers.items, o->answers.n, s->tolerance,
                                 &answers);
    if (err == HR_OK)
        (o->json ? print_json : print_page)(s, o->answers.n ? &answers : NULL,
                                            o->vary ? &vary : NULL);
    const int code = command_report(err, &s->diags);
    return code == EXIT_MET && answers.n_wrong ? EXIT_MISSED : code;
}

static int read_tolerance(struct session *s)
{
    const char *text = s->o->tolerance, *why;
    s->tolerance = 0.01;
    if (!text)
        return EXIT_MET;
    if (sheet_unit_read(text, strlen(text), "fraction", &s->tolerance, &why) != HR_OK ||
        !(s->tolerance >= 0 && s->tolerance < 1))
        return command_usage("--tolerance takes a fraction below 1, as 0.01 or 1%%, not '%s'",
                             text);
    return EXIT_MET;
}

static int run(struct session *s, const struct operands *operands)
{
    const char *words[OPERANDS_MAX];
    size_t n = 0;
    int code = read_tolerance(s);
    if (code != EXIT_MET)
        return code;
    for (size_t i = 0; i < operands->n; i++)
        if (!strchr(operands->items[i], '='))
            words[n++] = operands->items[i];
    if (n == 0 && (operands->n || s->o->set.n || s->o->answers.n || s->o->vary || s->o->of))
        return command_usage("name a worksheet; headroom explain lists all");
    if (n == 0) {
        list(s, sheets, sheets_n);
        return EXIT_MET;
    }
    const struct sheet *sheet = find(s, words, n, &code);
    for (size_t i = 0; sheet && i < operands->n && code == EXIT_MET; i++)
        if (strchr(operands->items[i], '='))
            code = sort_operand(s, sheet, operands->items[i]);
    if (s->o->of && !s->o->vary)
        return command_usage("--of says what --vary draws: it needs --vary KEY=LO..HI");
    return sheet && code == EXIT_MET ? explain(s, sheet) : code;
}

int command_explain(int argc, char **argv)
{
    struct explain_options o = {0};
    struct operands operands;
    if (!options_read(table, OPTIONS, argc, argv, &o, &operands))
        return EXIT_INPUT;
    if (o.help) {
        help();
        return EXIT_MET;
    }
    struct session s = {.o = &o, .page = {stdout, terminal_colour(stdout)}};
    diags_init(&s.diags);
    const int code = run(&s, &operands);
    sheet_case_fini(&s.c);
    diags_fini(&s.diags);
    return code;
}
