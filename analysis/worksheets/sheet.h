/* Worksheets: closed-form arithmetic as data and pure functions.
 *
 * A sheet is one table of inputs, one of outputs and a pure function from the first to the second.
 * Everything that is said of a number stands beside it in the tables: its unit, its formula, what
 * it means, which mistakes lead to which wrong value. Printing, JSON, marking of answers, variation
 * and the simulation that confirms a sheet are written once, over the tables.
 *
 * In texts `{key}` stands for an input or output of the sheet. A formula is printed twice: with the
 * symbols, `L x g`, and with the numbers, `420 x 4`; a sentence once, with the numbers and their
 * units. `{fleet_gpus#}` is the number without its unit. Of a list, an element's own steps see the
 * element, others the whole list.
 *
 * Numbers are in the units of the tables. Besides numbers a result can be infinite, `none` (it does
 * not exist in this case) or a word. A NaN is none of these: it is a fault of the sheet, and said.
 */
#ifndef HEADROOM_ANALYSIS_WORKSHEETS_SHEET_H
#define HEADROOM_ANALYSIS_WORKSHEETS_SHEET_H

#include "analysis/text.h"
#include "sim/arena.h"
#include "sim/diag.h"
#include "sim/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sheet_case;
struct summary;

enum sheet_type {
    SHEET_REAL,
    SHEET_COUNT, /* a whole number; an input with a fraction is refused */
    SHEET_FLAG,  /* 0 or 1 */
    SHEET_WORD   /* one of .words */
};

struct sheet_input {
    const char *key;      /* "arrivals_per_h": with the unit, for people who type it */
    const char *symbol;   /* "lambda": for people who write it; unique in the sheet */
    const char *unit;     /* "jobs/h"; unit.h */
    const char *doc;      /* "job arrival rate" */
    const char *fallback; /* the default as one would type it: "120", "0.6, 0.3, 0.1", "linear" */
    enum sheet_type type;
    bool list;                /* one or more values, "1,2,3" */
    bool endless;             /* inf is allowed */
    double min, max;          /* the domain; max 0: no limit */
    bool above, below;        /* without min, without max itself */
    const char *const *words; /* NULL at the end */
};

struct sheet_output {
    const char *key, *symbol, *unit;
    const char *formula; /* right of the equals sign: "{jobs_in_service} x {gpus_per_job}" */
    const char *sense;   /* a sentence, may be NULL: "On average {busy_gpus} are held." */
    enum sheet_type type;
    const char *each; /* key of a list input: one result for each element, key_1, key_2, ... */
};

/* Rows of the two tables; after the last text more members may follow: .type = SHEET_COUNT. */
#define SHEET_INPUT(key_, symbol_, unit_, doc_, ...)                                               \
    {                                                                                              \
        .key = key_, .symbol = symbol_, .unit = unit_, .doc = doc_, .fallback = __VA_ARGS__        \
    }
#define SHEET_OUTPUT(key_, symbol_, unit_, formula_, ...)                                          \
    {                                                                                              \
        .key = key_, .symbol = symbol_, .unit = unit_, .formula = formula_, .sense = __VA_ARGS__   \
    }

/* A sentence that takes the place of the output's own; the first that holds. */
struct sheet_remark {
    uint8_t output;
    bool (*when)(const struct sheet_case *c);
    const char *text;
};

/* A typical wrong turn: what it is and the number it leads to (NaN: not in this case). */
struct sheet_mistake {
    uint8_t output;
    const char *text; /* "takes the mean for the peak" */
    double (*wrong)(const struct sheet_case *c);
};

/* One quantity that a run of the sheet's scenario shows. */
struct sheet_check {
    uint8_t output;
    const char *metric; /* of analysis/metrics.h, with the name of its entity and part or NULL; */
    const char *entity, *part;
    double scale; /* what to multiply it by to have the output's unit; 0: 1 */
    /* In place of metric, or NULL: one replication's value, NaN for none. */
    double (*read)(const struct sheet_case *c, const struct summary *s, uint32_t replication);
    double error_frac;     /* largest standard error, of the exact value; 0: 0.5 % */
    double allowance_frac; /* beyond chance, of the exact value: said with its reason */
    const char *allowance_why;
    /* Where the sheet has an approximation of this output too: its number + 1. Both are shown with
     * the true difference. */
    uint8_t approximation;
};

struct sheet_simulation {
    /* The whole scenario (YAML) for these inputs. False: these inputs have none, and t says why. */
    bool (*scenario)(const struct sheet_case *c, struct text *t);
    const struct sheet_check *checks;
    uint8_t n_checks;
    uint32_t replications;
    const char *assumes; /* what the run does otherwise than the closed form, or NULL */
};

struct sheet {
    const char *name;     /* "reclaim-ramp" */
    const char *group;    /* one of sheet_groups */
    const char *question; /* "How many GPUs does a stream of jobs keep busy?" */
    const char *doc;      /* the model, a few sentences */
    const char
        *assumption; /* the one that does the work: "Arrivals do not follow each other ..." */
    const char *const *rules; /* the special cases, a sentence each; NULL at the end */
    const char *sources;
    const struct sheet_input *inputs;
    const struct sheet_output *outputs;
    const struct sheet_remark *remarks;
    const struct sheet_mistake *mistakes;
    uint8_t n_inputs, n_outputs, n_remarks, n_mistakes;
    uint8_t answer; /* the output that answers the question: what --vary draws */
    /* Refuses what no single range says (lists of one length, a sum); may be NULL. */
    void (*check)(struct sheet_case *c);
    /* Sets every output, for any inputs inside the domain. */
    void (*solve)(struct sheet_case *c);
    const struct sheet_simulation *simulation; /* NULL: arithmetic only */
};

#define SHEET_N(array) (uint8_t)(sizeof(array) / sizeof *(array))

enum { SHEET_INPUTS_MAX = 32, SHEET_OUTPUTS_MAX = 48, SHEET_LIST_MAX = 1000 };

enum value_kind { VALUE_NUMBER, VALUE_NONE, VALUE_WORD };

struct sheet_value {
    enum value_kind kind;
    double number;
    const char *word; /* static */
};

struct sheet_given {
    double *items; /* in the arena; one unless the input is a list */
    size_t n;
    const char *word; /* of the table's words */
    bool given;       /* else the default */
};

struct sheet_case {
    const struct sheet *sheet;
    struct arena arena;
    struct sheet_given in[SHEET_INPUTS_MAX];
    struct sheet_result {
        struct sheet_value *items; /* in the arena; one unless there is one for each element */
        size_t n;
    } out[SHEET_OUTPUTS_MAX];
    struct diags *diags;
    enum hr_err err; /* the first */
};

/* A case with the sheet's defaults. sheet_case_fini it in any case. */
enum hr_err sheet_case_init(struct sheet_case *c, const struct sheet *sheet, struct diags *diags);
void sheet_case_fini(struct sheet_case *c); /* accepts a zeroed struct */

/* "key=value", as typed: a bare number is in the unit of the table, a unit is converted. HR_INPUT:
 * said in diags with the nearest right key, word or unit; the case is unchanged. */
enum hr_err sheet_case_set(struct sheet_case *c, const char *setting);

/* The same for a program. HR_INPUT when there is no such key or the value is outside the domain. */
enum hr_err sheet_case_put(struct sheet_case *c, const char *key, const double *values, size_t n);

/* Computes the outputs. HR_INPUT: the inputs together are outside the sheet's domain, said in
 * diags; no output is there then. */
enum hr_err sheet_case_solve(struct sheet_case *c);

/* A solved number by its key ("busy_gpus", "bill_2"); NULL when the sheet has none such. */
const struct sheet_value *sheet_case_get(const struct sheet_case *c, const char *key);

/* Where a solved result is: its output and, of a list, its element. False: there is none such. */
bool sheet_case_find(const struct sheet_case *c, const char *key, uint8_t *output, size_t *element);

/* For solve and the like: inputs and outputs by number. */
static inline double sheet_in(const struct sheet_case *c, uint8_t input)
{
    return c->in[input].items[0];
}

static inline const double *sheet_list(const struct sheet_case *c, uint8_t input, size_t *n)
{
    *n = c->in[input].n;
    return c->in[input].items;
}

static inline const char *sheet_word(const struct sheet_case *c, uint8_t input)
{
    return c->in[input].word;
}

/* An output that is set already; NaN for none and for words. */
double sheet_out(const struct sheet_case *c, uint8_t output);
double sheet_out_at(const struct sheet_case *c, uint8_t output, size_t i);

void sheet_set(struct sheet_case *c, uint8_t output, double value);
void sheet_set_at(struct sheet_case *c, uint8_t output, size_t i, double value);
void sheet_set_none(struct sheet_case *c, uint8_t output);
void sheet_set_word(struct sheet_case *c, uint8_t output, const char *word); /* static text */
/* A number where it exists, else none. */
void sheet_set_if(struct sheet_case *c, uint8_t output, bool exists, double value);

/* In check: these inputs together are refused; input is the one to name. In solve: a search went
 * beyond its limit. */
void sheet_refuse(struct sheet_case *c, uint8_t input, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Up and down to a whole number, where a value within 1e-9 (relative, and at least absolute) of one
 * is that one: 0.1 x 30 is 3, not 4. Infinity stays. */
double sheet_ceil(double x);
double sheet_floor(double x);
double sheet_round(double x); /* floor(x + 0.5) */

#endif
