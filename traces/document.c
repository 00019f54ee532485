/* See document.h. Library: json-c. */
#include "traces/document.h"

#include "sim/vec.h"
#include "traces/input.h"

#include <json-c/json_object_iterator.h>
#include <json-c/json_tokener.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_SHOWN = 4096 };

/* --- places in text that is known to be JSON --------------------------------------------- */

/* Nothing here goes past the NUL at the end, should json-c ever take for JSON what is none. */

static const char *skip_blanks(const char *p)
{
    return p + strspn(p, " \t\r\n");
}

static const char *skip_string(const char *p)
{
    for (p++; *p != '"' && *p != '\0'; p++)
        p += *p == '\\' && p[1] != '\0';
    return p + (*p == '"');
}

static const char *skip_value(const char *p)
{
    size_t depth = 0;
    if (*p != '"' && *p != '{' && *p != '[')
        return p + strcspn(p, ",]} \t\r\n");
    do {
        if (*p == '\0')
            break;
        if (*p == '"') {
            p = skip_string(p);
            continue;
        }
        depth += *p == '{' || *p == '[';
        depth -= *p == '}' || *p == ']';
        p++;
    } while (depth > 0);
    return p;
}

/* Value of the last member of that name, as json-c has it; the object itself where its name is
 * written with escapes. */
static const char *find_member(const char *object, const char *key)
{
    const char *found = object, *p = skip_blanks(object + (*object == '{'));
    size_t n = strlen(key);
    while (*p == '"') {
        const char *name = p + 1, *end = skip_string(p);
        p = skip_blanks(end);
        p = skip_blanks(p + (*p == ':'));
        if ((size_t)(end - name) == n + 1 && memcmp(name, key, n) == 0)
            found = p;
        p = skip_blanks(skip_value(p));
        p = skip_blanks(p + (*p == ','));
    }
    return found;
}

static uint32_t count_lines(const char *from, const char *to)
{
    uint32_t n = 0;
    for (const char *p = from; p < to; p++)
        n += *p == '\n';
    return n;
}

uint32_t document_line(const struct document *d, const char *at)
{
    return 1 + count_lines(d->text.items, at);
}

/* --- diagnostics ------------------------------------------------------------------------- */

static void add_at(struct document *d, enum diag_level level, const char *at, const char *nearest,
                   const char *format, va_list args) __attribute__((format(printf, 5, 0)));

static void add_at(struct document *d, enum diag_level level, const char *at, const char *nearest,
                   const char *format, va_list args)
{
    char message[512];
    vsnprintf(message, sizeof message, format, args);
    const char *start = at, *end = at + strcspn(at, "\r\n");
    while (start > d->text.items && start[-1] != '\n')
        start--;
    struct diag_place place = {.file = d->path, .line = document_line(d, at), .column = 1};
    for (const char *p = start; p < at; p++)
        place.column += ((unsigned char)*p & 0xc0) != 0x80;
    char *source = end - start <= LINE_MAX_SHOWN ? strndup(start, (size_t)(end - start)) : NULL;
    diags_add(d->diags, level, place, source, nearest, "%s", message);
    free(source);
}

void document_error(struct document *d, const char *at, const char *nearest, const char *format,
                    ...)
{
    va_list args;
    va_start(args, format);
    if (!d->skip_bad_rows)
        add_at(d, DIAG_ERROR, at, nearest, format, args);
    else if (d->n_bad_items == 0 && !d->item_bad)
        add_at(d, DIAG_WARNING, at, nearest, format, args);
    va_end(args);
    d->item_bad = true;
    if (d->skip_bad_rows || ++d->n_errors < TRACE_ERRORS_MAX - 1)
        return;
    d->too_many = true;
    diags_add(d->diags, DIAG_ERROR,
              (struct diag_place){.file = d->path, .line = document_line(d, at)}, NULL, NULL,
              "too many errors: the rest of the file is not read");
}

/* An error without which nothing of the file can be trusted. */
static enum hr_err fatal(struct document *d, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static enum hr_err fatal(struct document *d, const char *at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_at(d, DIAG_ERROR, at, NULL, format, args);
    va_end(args);
    return HR_INPUT;
}

/* --- reading ----------------------------------------------------------------------------- */

static enum hr_err take_window(struct document *d, struct input *in)
{
    size_t n = in->n - in->start;
    if (d->text.n + n > DOCUMENT_MAX) {
        diags_add(d->diags, DIAG_ERROR, (struct diag_place){.file = d->path}, NULL, NULL,
                  "a JSON file of more than %d MiB", DOCUMENT_MAX >> 20);
        return HR_INPUT;
    }
    if (!vec_reserve(&d->text, d->text.n + n + 1))
        return HR_NOMEM;
    memcpy(d->text.items + d->text.n, in->window + in->start, n);
    d->text.n += n;
    d->text.items[d->text.n] = '\0';
    in->start = in->n;
    return HR_OK;
}

static enum hr_err read_text(struct document *d, struct input *in)
{
    TRY(take_window(d, in));
    while (!in->over) {
        enum hr_err err = input_fill(in, d->path, d->diags);
        if (err == HR_IO)
            diags_add(d->diags, DIAG_ERROR, (struct diag_place){.file = d->path}, NULL, NULL,
                      "reading the file failed");
        TRY(err);
        TRY(take_window(d, in));
    }
    input_sha256(in, d->sha256);
    d->n_file_bytes = in->n_file_bytes;
    return HR_OK;
}

static size_t mark_length(const struct document *d)
{
    return strncmp(d->text.items, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

static enum hr_err parse_with(struct document *d, struct json_tokener *tokener)
{
    const char *start = d->text.items + mark_length(d), *end = d->text.items + d->text.n;
    const char *nul = memchr(start, '\0', (size_t)(end - start));
    if (nul != NULL)
        return fatal(d, nul, "NUL byte: this is not a text file");
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    d->root = json_tokener_parse_ex(tokener, start, (int)(end - start + 1));
    enum json_tokener_error error = json_tokener_get_error(tokener);
    if (error == json_tokener_continue || error == json_tokener_error_parse_eof ||
        *skip_blanks(start) == '\0')
        return fatal(d, end, "the JSON text ends too early");
    if (error != json_tokener_success)
        return fatal(d, start + json_tokener_get_parse_end(tokener), "not JSON: %s",
                     json_tokener_error_desc(error));
    return HR_OK;
}

static enum hr_err parse(struct document *d)
{
    struct json_tokener *tokener = json_tokener_new_ex(DOCUMENT_DEPTH);
    if (tokener == NULL)
        return HR_NOMEM;
    enum hr_err err = parse_with(d, tokener);
    json_tokener_free(tokener);
    return err;
}

enum hr_err document_open(struct document *d, struct diags *diags, const char *path,
                          struct diag_place place, const char *source)
{
    struct input in;
    *d = (struct document){.path = path, .diags = diags};
    enum hr_err err = input_open(&in, path, place, source, diags);
    if (err == HR_OK)
        err = read_text(d, &in);
    input_close(&in);
    return err == HR_OK ? parse(d) : err;
}

void document_close(struct document *d)
{
    json_object_put(d->root);
    d->root = NULL;
    vec_free(&d->text);
}

/* --- walking ----------------------------------------------------------------------------- */

struct document_item document_root(const struct document *d)
{
    return (struct document_item){d->root, skip_blanks(d->text.items + mark_length(d)), 0};
}

struct document_item document_member(struct document_item object, const char *key)
{
    struct json_object *value = NULL;
    if (!json_object_is_type(object.value, json_type_object) ||
        !json_object_object_get_ex(object.value, key, &value) || value == NULL)
        return (struct document_item){NULL, object.at, 0};
    return (struct document_item){value, find_member(object.at, key), 0};
}

bool document_list(struct document *d, struct document_item array, struct document_list *list)
{
    if (!json_object_is_type(array.value, json_type_array))
        return false;
    *list = (struct document_list){.document = d,
                                   .array = array.value,
                                   .at = skip_blanks(array.at + 1),
                                   .line = document_line(d, skip_blanks(array.at + 1)),
                                   .n = json_object_array_length(array.value)};
    d->item_bad = false;
    return true;
}

bool document_next(struct document_list *list, struct document_item *item)
{
    struct document *d = list->document;
    d->n_bad_items += d->item_bad;
    d->item_bad = false;
    if (list->next == list->n || d->too_many)
        return false;
    const char *at = list->at;
    *item = (struct document_item){json_object_array_get_idx(list->array, list->next++), at,
                                   list->line};
    list->at = skip_blanks(skip_value(at));
    list->at = skip_blanks(list->at + (*list->at == ','));
    list->line += count_lines(at, list->at);
    d->n_items++;
    return true;
}

const char *document_text(struct document_item item, size_t *n)
{
    enum json_type type = json_object_get_type(item.value);
    if (type != json_type_string && type != json_type_int && type != json_type_double)
        return NULL;
    const char *text = json_object_get_string(item.value);
    *n = text != NULL ? strlen(text) : 0;
    return text;
}

/* Names of an object's members, for the nearest one. */
static const char *nearest_member(struct document_item object, const char *key)
{
    enum { MOST = 64 };
    const char *names[MOST];
    size_t n = 0;
    struct json_object_iterator it = json_object_iter_begin(object.value);
    struct json_object_iterator end = json_object_iter_end(object.value);
    for (; n < MOST && !json_object_iter_equal(&it, &end); json_object_iter_next(&it))
        names[n++] = json_object_iter_peek_name(&it);
    return diag_nearest(key, names, n);
}

const char *document_need(struct document *d, struct document_item item, const char *key, size_t *n)
{
    if (!json_object_is_type(item.value, json_type_object)) {
        document_error(d, item.at, NULL, "an object with '%s' is due here", key);
        return NULL;
    }
    struct document_item member = document_member(item, key);
    if (member.value == NULL) {
        document_error(d, item.at, nearest_member(item, key), "'%s' is missing", key);
        return NULL;
    }
    const char *text = document_text(member, n);
    if (text == NULL)
        document_error(d, member.at, NULL, "%s is neither a text nor a number", key);
    return text;
}

bool document_check(struct document *d, struct document_item item, const char *key,
                    enum value_fault fault)
{
    if (fault == VALUE_OK)
        return true;
    size_t n;
    struct document_item member = document_member(item, key);
    const char *text = document_text(member, &n);
    document_error(d, member.at, NULL, "%s '%.40s' %s", key, text != NULL ? text : "",
                   value_fault_text[fault]);
    return false;
}

enum hr_err document_end(struct document *d)
{
    return d->n_errors > 0 ? HR_INPUT : HR_OK;
}
