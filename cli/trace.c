/* headroom trace info: what a trace holds and what became of each of its rows. */
#include "traces/trace.h"
#include "analysis/json.h"
#include "cli/commands.h"
#include "cli/options.h"

#include <string.h>

struct trace_options {
    const char *format, *unit, *zone;
    struct option_list columns;
    uint32_t gpus, nodes, gpus_per_node;
    const char *series;
    bool dedupe, skip_bad_rows, json, help;
};

#define AT(member) offsetof(struct trace_options, member)

static const struct option table[] = {
    {"--format", NULL, OPTION_TEXT, AT(format), 0, 0, "NAME", "format; else told by the header"},
    {"--column", NULL, OPTION_LIST, AT(columns), 0, 0, "FIELD=COLUMN", "where a field stands"},
    {"--unit", NULL, OPTION_TEXT, AT(unit), 0, 0, "UNIT",
     "of points in time: ms, s, timestamp, ..."},
    {"--zone", NULL, OPTION_TEXT, AT(zone), 0, 0, "ZONE", "of times without one: +08:00; else UTC"},
    {"--gpus", NULL, OPTION_COUNT, AT(gpus), 1, UINT32_MAX, "N", "fleet, for the offered load"},
    {"--nodes", NULL, OPTION_COUNT, AT(nodes), 1, UINT32_MAX - 1, "N",
     "supply: nodes there are; else those of the file"},
    {"--gpus-per-node", NULL, OPTION_COUNT, AT(gpus_per_node), 1, UINT32_MAX, "N",
     "GPUs of an instance that has a price"},
    {"--series", NULL, OPTION_TEXT, AT(series), 0, 0, "NAME", "which of several prices: a zone"},
    {"--dedupe", NULL, OPTION_FLAG, AT(dedupe), 0, 0, NULL, "drop rows equal to an earlier one"},
    {"--skip-bad-rows", NULL, OPTION_FLAG, AT(skip_bad_rows), 0, 0, NULL,
     "count malformed rows instead of refusing them"},
    {"--json", NULL, OPTION_FLAG, AT(json), 0, 0, NULL, "print JSON"},
    {"--help", "-h", OPTION_FLAG, AT(help), 0, 0, NULL, "this list"},
};

enum { OPTIONS = sizeof table / sizeof table[0] };

static void help(void)
{
    puts("usage: headroom trace info FILE [OPTION...]\n");
    options_help(table, OPTIONS, stdout);
    puts("\nformats:");
    for (size_t i = 0; i < trace_n_formats; i++)
        printf("  %-18s %s\n", trace_formats[i].name, trace_formats[i].doc);
}

static int unknown_name(const char *what, const char *word, const char *const *names, size_t n)
{
    const char *nearest = diag_nearest(word, names, n);
    if (nearest)
        return command_usage("unknown %s '%s'; did you mean '%s'?", what, word, nearest);
    return command_usage("unknown %s '%s'; headroom trace --help lists them", what, word);
}

static int unknown_format(const char *word)
{
    const char *names[64];
    size_t n = 0;
    for (size_t i = 0; i < trace_n_formats && n < 64; i++)
        names[n++] = trace_formats[i].name;
    return unknown_name("format", word, names, n);
}

/* "field=column" into maps; the text before '=' is copied since the option is not ours to cut. */
static int read_maps(const struct trace_options *o, struct trace_map *maps, struct arena *a)
{
    for (size_t i = 0; i < o->columns.n; i++) {
        const char *text = o->columns.items[i], *equals = strchr(text, '=');
        if (!equals)
            return command_usage("--column takes FIELD=COLUMN, not '%s'", text);
        const char *name = arena_strndup(a, text, (size_t)(equals - text));
        if (!name)
            return EXIT_FAULT;
        const char *names[TRACE_FIELDS];
        for (int f = 0; f < TRACE_FIELDS; f++)
            names[f] = trace_fields[f].name;
        enum trace_field field = trace_field_find(name);
        if (field == TRACE_FIELDS)
            return unknown_name("field", name, names, TRACE_FIELDS);
        maps[i] = (struct trace_map){.field = field, .column = equals + 1};
    }
    return EXIT_MET;
}

static void print_json(const struct trace_report *r, double gpus)
{
    struct trace_fact facts[TRACE_FACTS_MAX];
    struct json j;
    json_init(&j, stdout);
    json_object(&j, NULL);
    size_t n = trace_report_facts(r, facts);
    for (size_t i = 0; i < n; i++) {
        if (facts[i].kind == TRACE_FACT_TEXT)
            json_text(&j, facts[i].name, facts[i].text);
        else if (facts[i].kind == TRACE_FACT_COUNT)
            json_whole(&j, facts[i].name, facts[i].count);
        else
            json_number(&j, facts[i].name, facts[i].real);
    }
    if (gpus > 0 && r->yields == TRACE_JOBS)
        json_number(&j, "offered_load", trace_offered_load(r, gpus).share);
    json_close(&j);
}

/* Custom mappings yield either: which, their fields say. */
static bool yields_requests(const struct trace_spec *spec)
{
    if (spec->format->yields != (TRACE_REQUESTS | TRACE_JOBS))
        return spec->format->yields == TRACE_REQUESTS;
    for (size_t i = 0; i < spec->n_maps; i++)
        if (trace_fields[spec->maps[i].field].yields == TRACE_REQUESTS)
            return true;
    return false;
}

static enum hr_err read_trace(struct arena *a, const struct trace_spec *spec, struct diags *diags,
                              struct trace_report *report)
{
    struct request_trace requests;
    struct job_trace jobs;
    struct supply_trace supply;
    struct price_trace prices;
    if (spec->format->yields == TRACE_SUPPLY)
        return trace_read_supply(a, spec, diags, &supply, report);
    if (spec->format->yields == TRACE_PRICES)
        return trace_read_prices(a, spec, diags, &prices, report);
    return yields_requests(spec) ? trace_read_requests(a, spec, diags, &requests, report)
                                 : trace_read_jobs(a, spec, diags, &jobs, report);
}

static int info(const char *path, const struct trace_options *o, struct arena *a,
                struct diags *diags)
{
    struct trace_map maps[OPTION_LIST_MAX];
    struct trace_spec spec = {
        .path = path,
        .maps = maps,
        .n_maps = o->columns.n,
        .time_unit = o->unit,
        .zone_declared = o->zone != NULL,
        .nodes = o->nodes,
        .gpus_per_node = o->gpus_per_node,
        .series = o->series,
        .dedupe = o->dedupe,
        .skip_bad_rows = o->skip_bad_rows,
    };
    int code = read_maps(o, maps, a);
    if (code != EXIT_MET)
        return code;
    if (o->unit && !trace_unit_known(o->unit))
        return unknown_name("unit", o->unit, trace_units, trace_n_units);
    if (o->zone && !trace_zone_parse(o->zone, &spec.zone_s))
        return command_usage("--zone takes UTC or an offset such as +08:00, not '%s'", o->zone);
    enum hr_err err = HR_OK;
    if (o->format)
        spec.format = trace_format_find(o->format);
    else
        err = trace_format_by_header(path, diags, &spec.format);
    if (o->format && !spec.format)
        return unknown_format(o->format);
    struct trace_report report;
    if (err == HR_OK)
        err = read_trace(a, &spec, diags, &report);
    if (err == HR_OK && o->json)
        print_json(&report, o->gpus);
    else if (err == HR_OK)
        trace_report_print(&report, o->gpus, stdout);
    return command_report(err, diags);
}

int command_trace(int argc, char **argv)
{
    struct trace_options o = {0};
    struct operands operands;
    if (!options_read(table, OPTIONS, argc, argv, &o, &operands))
        return EXIT_INPUT;
    if (o.help) {
        help();
        return EXIT_MET;
    }
    if (operands.n != 2 || strcmp(operands.items[0], "info") != 0)
        return command_usage("usage: headroom trace info FILE; headroom trace --help says more");
    struct arena arena;
    struct diags diags;
    arena_init(&arena);
    diags_init(&diags);
    int code = info(operands.items[1], &o, &arena, &diags);
    arena_fini(&arena);
    diags_fini(&diags);
    return code;
}
