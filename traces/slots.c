/* Slots: what a spec asks for, field by field. A mapping goes before the format's own column, and a
 * unit of the mapping before the spec's and the format's. What is wrong here is wrong in the spec,
 * so it is reported at the place where the user wrote that. */
#include "traces/reader.h"

#include <stdarg.h>
#include <string.h>

static enum hr_err spec_error(const struct trace_spec *spec, struct diags *diags,
                              const char *nearest, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Describes what is wrong at the place of the spec. */
static enum hr_err spec_error(const struct trace_spec *spec, struct diags *diags,
                              const char *nearest, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    diags_add(diags, DIAG_ERROR, spec->place, spec->source, nearest, "%s", text);
    return HR_INPUT;
}

/* The unit of a mapped field: its own, the spec's for points in time, then the format's. */
static enum hr_err set_unit(const struct trace_spec *spec, enum trace_field field, const char *own,
                            struct reader_slot *slot, struct diags *diags, const char *usual)
{
    enum trace_field_kind kind = trace_fields[field].kind;
    if (kind != TRACE_POINT && kind != TRACE_LENGTH)
        return HR_OK;
    const char *unit = own;
    if (unit == NULL && kind == TRACE_POINT)
        unit = spec->time_unit;
    if (unit == NULL)
        unit = usual;
    if (unit == NULL && kind == TRACE_LENGTH)
        unit = "s";
    if (unit == NULL)
        return spec_error(spec, diags, NULL, "the column of '%s' needs a unit of time, such as ms",
                          trace_fields[field].name);
    if (!reader_unit(unit, &slot->unit_ns))
        return spec_error(spec, diags, diag_nearest(unit, trace_units, trace_n_units),
                          "unknown unit of time '%s'", unit);
    if (kind == TRACE_LENGTH && slot->unit_ns == 0)
        return spec_error(spec, diags, NULL, "'%s' is a length of time, not a timestamp",
                          trace_fields[field].name);
    return HR_OK;
}

static const struct trace_map *find_map(const struct trace_spec *spec, enum trace_field field)
{
    for (size_t i = 0; i < spec->n_maps; i++)
        if (spec->maps[i].field == field)
            return &spec->maps[i];
    return NULL;
}

static const struct trace_column *find_column(const struct trace_format *f, enum trace_field field)
{
    for (size_t i = 0; i < f->n_columns; i++)
        if (f->columns[i].field == field)
            return &f->columns[i];
    return NULL;
}

/* Requests need all their fields; jobs a submit time, GPUs, and a run time; prices both. Of supply
 * the format says it. */
static bool always_required(enum trace_field field)
{
    return trace_fields[field].yields == TRACE_REQUESTS || field == TRACE_SUBMIT ||
           field == TRACE_GPUS || field == TRACE_TIME || field == TRACE_PRICE;
}

static enum hr_err check_spec(const struct trace_spec *spec, enum trace_yield yield,
                              struct diags *diags)
{
    const char *wanted = trace_yield_name(yield);
    if (!(spec->format->yields & yield))
        return spec_error(spec, diags, NULL, "format '%s' holds %s, where %s are due",
                          spec->format->name,
                          trace_yield_name((enum trace_yield)spec->format->yields), wanted);
    enum hr_err err = HR_OK;
    for (size_t i = 0; i < spec->n_maps; i++) {
        const struct trace_field_info *field = &trace_fields[spec->maps[i].field];
        if (!(field->yields & yield))
            err = spec_error(spec, diags, NULL, "'%s' is no column of %s", field->name, wanted);
    }
    if (spec->delimiter == '"' || spec->delimiter == '\n' || spec->delimiter == '\r' ||
        (unsigned char)spec->delimiter > 0x7e)
        err = spec_error(spec, diags, NULL, "this character cannot be a delimiter");
    return err;
}

static bool has_slot(const struct reader_slot slots[TRACE_FIELDS], enum trace_field field)
{
    return slots[field].column != NULL;
}

/* What a mapping of custom left out; once per missing field. */
static enum hr_err check_mapped(const struct trace_spec *spec, enum trace_yield yield,
                                const struct reader_slot slots[TRACE_FIELDS], struct diags *diags)
{
    enum hr_err err = HR_OK;
    for (int f = 0; f < TRACE_FIELDS; f++)
        if ((trace_fields[f].yields & yield) && always_required((enum trace_field)f) &&
            !has_slot(slots, (enum trace_field)f))
            err =
                spec_error(spec, diags, NULL, "no column is mapped to '%s'", trace_fields[f].name);
    bool timed = has_slot(slots, TRACE_START) && has_slot(slots, TRACE_END);
    if (yield == TRACE_JOBS && !timed && !has_slot(slots, TRACE_DURATION))
        err = spec_error(spec, diags, NULL,
                         "no column is mapped to 'duration', nor to 'start' and 'end'");
    return err;
}

enum hr_err reader_slots(const struct trace_spec *spec, enum trace_yield yield, struct diags *diags,
                         struct reader_slot slots[TRACE_FIELDS])
{
    memset(slots, 0, TRACE_FIELDS * sizeof *slots);
    for (int f = 0; f < TRACE_FIELDS; f++)
        slots[f].index = -1;
    TRY(check_spec(spec, yield, diags));
    enum hr_err err = HR_OK;
    for (int i = 0; i < TRACE_FIELDS; i++) {
        enum trace_field f = (enum trace_field)i;
        const struct trace_map *map = find_map(spec, f);
        const struct trace_column *column = find_column(spec->format, f);
        slots[f].field = trace_fields[f].name;
        if (!(trace_fields[f].yields & yield) || (map == NULL && column == NULL))
            continue;
        bool mapped = map != NULL && map->column != NULL;
        slots[f].column = mapped ? map->column : column != NULL ? column->column : NULL;
        slots[f].required = mapped || always_required(f) || (column != NULL && column->required);
        if (slots[f].column != NULL &&
            set_unit(spec, f, map != NULL ? map->unit : NULL, &slots[f], diags,
                     column != NULL ? column->unit : NULL) != HR_OK)
            err = HR_INPUT;
    }
    TRY(check_mapped(spec, yield, slots, diags));
    return err;
}
