/* Inputs, results and steps of a worksheet as JSON. */
#include "analysis/worksheets/sheet_json.h"

#include "analysis/worksheets/words.h"

#include <math.h>

static void put_number(struct json *j, const char *key, double x)
{
    if (isinf(x))
        json_text(j, key, x > 0 ? "inf" : "-inf");
    else
        json_number(j, key, x == 0 ? 0 : x); /* -0 is 0 */
}

void sheet_json_value(struct json *j, const char *key, const struct sheet_value *v)
{
    if (v->kind == VALUE_NUMBER)
        put_number(j, key, v->number);
    else
        json_text(j, key, v->kind == VALUE_WORD ? v->word : "none");
}

static void put_input(struct json *j, const struct sheet_case *c, uint8_t i)
{
    const struct sheet_input *in = &c->sheet->inputs[i];
    const struct sheet_given *given = &c->in[i];
    if (in->type == SHEET_WORD) {
        json_text(j, in->key, given->word);
    } else if (in->list) {
        json_array(j, in->key, true);
        for (size_t k = 0; k < given->n; k++)
            put_number(j, NULL, given->items[k]);
        json_close(j);
    } else {
        put_number(j, in->key, given->items[0]);
    }
}

static void result_key(char out[96], const struct sheet_output *o, size_t element)
{
    if (o->each)
        snprintf(out, 96, "%s_%zu", o->key, element + 1);
    else
        snprintf(out, 96, "%s", o->key);
}

static void put_words(struct json *j, const char *key, const struct sheet_case *c, const char *text,
                      enum words_mode mode, struct words_step at)
{
    struct text t = {0};
    words_add(&t, c, text, mode, at);
    json_text(j, key, text_get(&t));
    text_free(&t);
}

static void put_step(struct json *j, const struct sheet_case *c, uint8_t k, size_t element)
{
    const struct sheet_output *out = &c->sheet->outputs[k];
    const struct words_step at = {out->each ? c->out[k].n : 0, element};
    const char *sense = words_sense(c, k);
    struct text symbol = {0};
    char key[96];
    result_key(key, out, element);
    words_symbol(&symbol, out, at);
    json_object(j, NULL);
    json_text(j, "key", key);
    json_text(j, "symbol", text_get(&symbol));
    put_words(j, "formula", c, out->formula, WORDS_SYMBOLS, at);
    put_words(j, "numbers", c, out->formula, WORDS_NUMBERS, at);
    sheet_json_value(j, "value", &c->out[k].items[element]);
    json_text(j, "unit", out->unit);
    put_words(j, "sense", c, sense ? sense : "", WORDS_QUANTITIES, at);
    json_close(j);
    text_free(&symbol);
}

void sheet_json(struct json *j, const struct sheet_case *c)
{
    const struct sheet *s = c->sheet;
    char key[96];
    json_text(j, "worksheet", s->name);
    json_object(j, "inputs");
    for (uint8_t i = 0; i < s->n_inputs; i++)
        put_input(j, c, i);
    json_close(j);
    json_object(j, "results");
    for (uint8_t k = 0; k < s->n_outputs; k++)
        for (size_t i = 0; i < c->out[k].n; i++) {
            result_key(key, &s->outputs[k], i);
            sheet_json_value(j, key, &c->out[k].items[i]);
        }
    json_close(j);
    json_array(j, "steps", false);
    for (uint8_t k = 0; k < s->n_outputs; k++)
        for (size_t i = 0; i < c->out[k].n; i++)
            put_step(j, c, k, i);
    json_close(j);
}

void sheet_json_list(struct json *j, const struct sheet *const *hits, size_t n)
{
    json_array(j, NULL, false);
    for (size_t i = 0; i < n; i++) {
        json_object(j, NULL);
        json_text(j, "worksheet", hits[i]->name);
        json_text(j, "group", hits[i]->group);
        json_text(j, "question", hits[i]->question);
        json_close(j);
    }
    json_close(j);
}
