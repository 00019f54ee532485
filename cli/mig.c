/* headroom mig: layouts that hold a demand, what still fits on a GPU, what an order of creation
 * costs. */
#include "analysis/mig_report.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "scenarios/scenario.h"

#include <stdlib.h>
#include <string.h>

struct mig_options {
    const char *gpu, *scenario, *design;
    struct option_list sets;
    bool json, help;
};

static const struct option table[] = {
    {"--gpu", NULL, OPTION_TEXT, offsetof(struct mig_options, gpu), 0, 0, "NAME",
     "type of GPU; else that of the listing, else h100-sxm"},
    {"--scenario", NULL, OPTION_TEXT, offsetof(struct mig_options, scenario), 0, 0, "FILE",
     "with the types of its section hardware"},
    {"--design", NULL, OPTION_TEXT, offsetof(struct mig_options, design), 0, 0, "NAME",
     "pools: of this design; else the scenario's own"},
    {"--set", NULL, OPTION_LIST, offsetof(struct mig_options, sets), 0, 0, "PATH=VALUE",
     "pools: change a value of the scenario"},
    {"--json", NULL, OPTION_FLAG, offsetof(struct mig_options, json), 0, 0, NULL, "print JSON"},
    {"--help", "-h", OPTION_FLAG, offsetof(struct mig_options, help), 0, 0, NULL, "this list"},
};

enum { OPTIONS = sizeof table / sizeof table[0], COUNT_MAX = 1000000 };

struct session {
    const struct mig_options *o;
    struct scenario *scenario; /* owned, or NULL */
    const struct hardware *hardware;
    struct mig_report report;
    struct mig_tables *t; /* owned */
    struct mig_packer packer;
    struct arena arena;
    struct diags diags;
};

static void help(void)
{
    puts(
        "usage: headroom mig layouts [[N]x]PROFILE... [OPTION...]\n"
        "         which layouts hold this demand, and on how few GPUs\n"
        "       headroom mig fits PROFILE@START,...|FILE [OPTION...]\n"
        "         what still fits; FILE is a listing of nvidia-smi mig -lgi, -lgip or\n"
        "         -lgipp, or a configuration of mig-parted (*.yaml)\n"
        "       headroom mig order PROFILE... [OPTION...]\n"
        "         what this order of creation costs\n"
        "       headroom mig pools SCENARIO [OPTION...]\n"
        "         its pools of instances: their start, and who asks for what\n");
    options_help(table, OPTIONS, stdout);
    puts("\ntypes of GPU:");
    for (size_t i = 0; i < hardware_builtin.n_gpus; i++)
        printf("  %-12s %s\n", hardware_builtin.gpus[i].name, hardware_builtin.gpus[i].title);
    puts("\nmemory slices: - is free, x is free and out of reach");
}

static enum hr_err set_type(struct session *s, const struct gpu_type *type)
{
    mig_tables_init(s->t, &type->mig, NULL);
    s->report = (struct mig_report){stdout, s->o->json, type, s->t};
    return mig_packer_init(&s->packer, s->t, &s->arena);
}

/* The profile of a name (n characters); n_profiles after saying what is wrong. */
static uint8_t find_profile(const struct session *s, const char *text, size_t n)
{
    const struct mig_gpu *gpu = &s->t->gpu;
    const char *names[MIG_PROFILES];
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)n, text);
    const uint8_t p = mig_profile_find(gpu, word);
    for (uint8_t i = 0; i < gpu->n_profiles; i++)
        names[i] = gpu->profiles[i].name;
    const char *nearest = diag_nearest(word, names, gpu->n_profiles);
    if (p == gpu->n_profiles && nearest)
        command_usage("%s has no profile '%s'; did you mean '%s'?", s->report.type->name, word,
                      nearest);
    else if (p == gpu->n_profiles)
        command_usage("%s has no profile '%s'; its smallest is '%s'", s->report.type->name, word,
                      names[0]);
    return p;
}

static int layouts(struct session *s, const struct operands *operands)
{
    uint32_t demand[MIG_PROFILES] = {0};
    struct mig_plan plan;
    for (size_t i = 1; i < operands->n; i++) {
        const char *text = operands->items[i], *name = text;
        char *end;
        const unsigned long n = strtoul(text, &end, 10);
        const bool counted = *text >= '0' && *text <= '9' && *end == 'x';
        if (counted)
            name = end + 1;
        const uint8_t p = find_profile(s, name, strlen(name));
        if (p == s->t->gpu.n_profiles)
            return EXIT_INPUT;
        if (counted && (n > COUNT_MAX || demand[p] + n > COUNT_MAX))
            return command_usage("'%s': at most %d instances of a profile", text, COUNT_MAX);
        demand[p] += counted ? (uint32_t)n : 1;
    }
    enum hr_err err = mig_pack(&s->packer, demand, &s->arena, &plan);
    if (err == HR_OK)
        mig_report_layouts(&s->report, demand, &plan);
    return command_report(err, &s->diags);
}

/* "1g.10gb@0,3g.40gb@4" */
static int fits_places(struct session *s, const char *text)
{
    struct mig_gpu_layout gpu = {.gpu = 0};
    mig_layout_empty(s->t, &gpu.layout);
    for (const char *at = text; *at;) {
        const size_t n = strcspn(at, ","), name = strcspn(at, "@,");
        if (name == n)
            return command_usage("'%.*s' needs a place, as in 1g.10gb@0", (int)n, at);
        const uint8_t p = find_profile(s, at, name);
        if (p == s->t->gpu.n_profiles)
            return EXIT_INPUT;
        const char *digit = at + name + 1;
        if (n != name + 2 || *digit < '0' || *digit > '7')
            return command_usage("'%.*s': a start is one of 0 to 7", (int)n, at);
        const uint8_t start = (uint8_t)(*digit - '0');
        if (!(s->t->gpu.profiles[p].starts >> start & 1))
            return command_usage("%s may not begin at %u", s->t->gpu.profiles[p].name, start);
        if (!mig_legal(s->t, gpu.layout.left, p, start))
            return command_usage("%s at %u does not fit beside the instances before it",
                                 s->t->gpu.profiles[p].name, start);
        mig_layout_add(s->t, &gpu.layout, p, start);
        at += n + (at[n] == ',');
    }
    mig_report_fits(&s->report, &gpu, 1);
    return EXIT_MET;
}

static enum hr_err fits_listing(struct session *s, const char *path)
{
    struct mig_listing l;
    struct mig_gpu_layout *gpus;
    size_t n;
    TRY(mig_listing_read(path, &l, &s->arena, &s->diags));
    const struct gpu_type *type = s->o->gpu ? NULL : mig_listing_type(&l, s->hardware);
    if (type)
        TRY(set_type(s, type));
    if (l.kind != MIG_LIST_INSTANCES) {
        TRY(mig_listing_compare(&l, &s->t->gpu));
        mig_report_profiles(&s->report, path);
        return HR_OK;
    }
    TRY(mig_listing_layouts(&l, s->t, &s->arena, &gpus, &n));
    mig_report_fits(&s->report, gpus, n);
    return HR_OK;
}

static enum hr_err fits_parted(struct session *s, const char *path)
{
    struct mig_parted parted;
    TRY(mig_parted_read(path, &s->packer, &s->arena, &s->diags, &parted));
    mig_report_parted(&s->report, &parted);
    return HR_OK;
}

static int fits(struct session *s, const struct operands *operands)
{
    if (operands->n != 2)
        return command_usage("fits takes one file, or places such as 1g.10gb@0,3g.40gb@4");
    const char *text = operands->items[1], *dot = strrchr(text, '.');
    if (strchr(text, '@') || *text == '\0')
        return fits_places(s, text);
    const bool yaml = dot && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
    return command_report(yaml ? fits_parted(s, text) : fits_listing(s, text), &s->diags);
}

static int order(struct session *s, const struct operands *operands)
{
    uint8_t profiles[MIG_ORDER_MAX];
    const size_t n = operands->n - 1;
    if (n < 1 || n > MIG_ORDER_MAX)
        return command_usage("order takes 1 to %d profiles", MIG_ORDER_MAX);
    for (size_t i = 0; i < n; i++) {
        const char *name = operands->items[i + 1];
        profiles[i] = find_profile(s, name, strlen(name));
        if (profiles[i] == s->t->gpu.n_profiles)
            return EXIT_INPUT;
    }
    mig_report_order(&s->report, profiles, n);
    return EXIT_MET;
}

/* The pools of a scenario; its types of GPU come with it. */
static int pools(struct session *s, const struct operands *operands)
{
    struct plan plan;
    if (operands->n != 2)
        return command_usage("pools takes one scenario");
    const char *path = operands->items[1];
    enum hr_err err = scenario_load(path, s->o->sets.items, s->o->sets.n, &s->diags, &s->scenario);
    if (err == HR_OK)
        err = scenario_plan(s->scenario, s->o->design, &s->diags, &plan);
    if (err != HR_OK)
        return command_report(err, &s->diags);
    err = mig_report_pools(stdout, s->o->json, &plan, scenario_hardware(s->scenario));
    if (err == HR_INPUT)
        return command_usage("%s has no MIG instances: say `sharing: mig` in a pool", path);
    return command_report(err, &s->diags);
}

static const struct action {
    const char *name;
    int (*run)(struct session *s, const struct operands *operands);
} actions[] = {{"layouts", layouts}, {"fits", fits}, {"order", order}, {"pools", pools}};

enum { ACTIONS = sizeof actions / sizeof *actions };

static int unknown_action(const char *word)
{
    const char *names[ACTIONS];
    for (size_t i = 0; i < ACTIONS; i++)
        names[i] = actions[i].name;
    const char *nearest = diag_nearest(word, names, ACTIONS);
    if (nearest)
        return command_usage("unknown action '%s'; did you mean '%s'?", word, nearest);
    return command_usage("unknown action '%s'; headroom mig --help lists them", word);
}

static int unknown_gpu(const struct hardware *h, const char *name)
{
    const char *nearest = gpu_type_nearest(h, name);
    if (nearest)
        return command_usage("unknown GPU '%s'; did you mean '%s'?", name, nearest);
    return command_usage("unknown GPU '%s'; headroom mig --help lists them", name);
}

static int run_action(struct session *s, const struct operands *operands)
{
    size_t a = 0;
    while (a < ACTIONS && strcmp(actions[a].name, operands->items[0]) != 0)
        a++;
    if (a == ACTIONS)
        return unknown_action(operands->items[0]);
    if (s->o->scenario && strcmp(actions[a].name, "pools") != 0) {
        enum hr_err err = scenario_load(s->o->scenario, NULL, 0, &s->diags, &s->scenario);
        if (err != HR_OK)
            return command_report(err, &s->diags);
        s->hardware = scenario_hardware(s->scenario);
    }
    const struct gpu_type *type = gpu_type_find(s->hardware, s->o->gpu ? s->o->gpu : "h100-sxm");
    if (!type)
        return unknown_gpu(s->hardware, s->o->gpu);
    if (!type->mig.n_profiles)
        return command_usage("%s has no MIG profiles", type->name);
    s->t = malloc(sizeof *s->t);
    const enum hr_err err = s->t ? set_type(s, type) : HR_NOMEM;
    return err == HR_OK ? actions[a].run(s, operands) : command_report(err, &s->diags);
}

int command_mig(int argc, char **argv)
{
    struct mig_options o = {0};
    struct operands operands;
    if (!options_read(table, OPTIONS, argc, argv, &o, &operands))
        return EXIT_INPUT;
    if (o.help) {
        help();
        return EXIT_MET;
    }
    if (operands.n == 0)
        return command_usage("usage: headroom mig layouts|fits|order|pools ...; --help says more");
    struct session s = {.o = &o, .hardware = &hardware_builtin};
    arena_init(&s.arena);
    diags_init(&s.diags);
    const int code = run_action(&s, &operands);
    scenario_free(s.scenario);
    free(s.t);
    arena_fini(&s.arena);
    diags_fini(&s.diags);
    return code;
}
