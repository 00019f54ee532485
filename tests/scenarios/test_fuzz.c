/* Random mutations of good scenarios: whatever comes, loading ends with a plan or with errors, and
 * leaves nothing behind. Seeds are fixed; HEADROOM_LONG=1 tries a hundred times as many. */
#include "kit.h"

#include "sim/rng.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { SHORT_ROUNDS = 2000, LONG_ROUNDS = 200000, MOST_BYTES = 20000 };

struct buffer {
    char bytes[MOST_BYTES + 64];
    size_t n;
};

static size_t below(struct rng *r, size_t n)
{
    return n ? (size_t)rng_below(r, n) : 0;
}

static void cut(struct buffer *b, size_t at, size_t n)
{
    n = n > b->n - at ? b->n - at : n;
    memmove(b->bytes + at, b->bytes + at + n, b->n - at - n);
    b->n -= n;
}

static void insert(struct buffer *b, size_t at, const char *what, size_t n)
{
    if (b->n + n > MOST_BYTES)
        return;
    memmove(b->bytes + at + n, b->bytes + at, b->n - at);
    memcpy(b->bytes + at, what, n);
    b->n += n;
}

static void mutate(struct buffer *b, struct rng *r)
{
    static const char *const bits[] = {"{",
                                       "}",
                                       "[",
                                       "]",
                                       ":",
                                       ": ",
                                       "\n",
                                       "  ",
                                       "- ",
                                       "\"",
                                       "'",
                                       "&a ",
                                       "*a ",
                                       "!!t ",
                                       "#",
                                       "%",
                                       "? ",
                                       "|",
                                       "0",
                                       "-1",
                                       "1e309",
                                       ".nan",
                                       "99999999999999999999",
                                       "64GPU",
                                       "2h",
                                       "\t",
                                       "\r",
                                       "\\",
                                       "p99.9",
                                       "shared:",
                                       "yes",
                                       "{constant: }",
                                       "~",
                                       ",",
                                       "---\n",
                                       "\xC3\xA9"};
    size_t at = below(r, b->n + 1);
    char piece[64];
    switch (below(r, 5)) {
    case 0:
        cut(b, at, 1 + below(r, 12));
        break;
    case 1: {
        const char *bit = bits[below(r, sizeof bits / sizeof *bits)];
        insert(b, at, bit, strlen(bit));
        break;
    }
    case 2: /* a piece of the text itself, elsewhere */
        if (b->n > 64) {
            size_t n = 1 + below(r, 63);
            memcpy(piece, b->bytes + below(r, b->n - n), n);
            insert(b, at, piece, n);
        }
        break;
    case 3:
        if (at < b->n)
            b->bytes[at] = (char)rng_u64(r);
        break;
    default: /* another digit or letter */
        if (at < b->n)
            b->bytes[at] = (char)('0' + below(r, 75));
    }
}

/* Loads and plans everything that loads; true when it was a scenario. */
static bool try_text(const char *path, const struct buffer *b)
{
    struct diags d;
    struct scenario *s;
    struct plan p;
    diags_init(&d);
    enum hr_err err = scenario_load_text(path, b->bytes, b->n, NULL, 0, &d, &s);
    cr_assert(err == HR_OK || err == HR_INPUT, "%s", hr_err_text(err));
    cr_assert_eq(err == HR_INPUT, d.n_errors > 0);
    bool loaded = err == HR_OK;
    for (size_t i = 0; loaded && i < scenario_n_designs(s); i++) {
        err = scenario_plan(s, scenario_design(s, i), &d, &p);
        cr_assert(err == HR_OK ? plan_fault(&p) == NULL : err == HR_INPUT && d.n_errors > 0);
    }
    char *said = kit_printed(&d);
    for (const char *c = said; *c; c++)
        cr_assert(*c == '\n' || (unsigned char)*c >= 0x20, "a control character was printed");
    free(said);
    scenario_free(s);
    diags_fini(&d);
    return loaded;
}

static void fuzz(const char *path, const char *text, size_t rounds)
{
    static struct buffer b; /* large: not on a test's stack */
    size_t n_loaded = 0;
    for (size_t i = 0; i < rounds; i++) {
        struct rng r;
        rng_init(&r, 7, (uint32_t)i, path, "fuzz");
        b.n = strlen(text);
        memcpy(b.bytes, text, b.n);
        for (size_t k = 1 + below(&r, 4); k > 0; k--)
            mutate(&b, &r);
        n_loaded += try_text(path, &b);
    }
    cr_expect_gt(n_loaded, 0, "some mutations are harmless");
    cr_expect_lt(n_loaded, rounds);
}

static size_t rounds(void)
{
    return getenv("HEADROOM_LONG") ? LONG_ROUNDS : SHORT_ROUNDS;
}

Test(fuzz, mutations_of_the_small_scenario)
{
    fuzz("small.yaml", kit_small, rounds());
}

Test(fuzz, mutations_of_the_first_scenario_to_write)
{
    fuzz("init.yaml", scenario_init_text(), rounds());
}

/* Random --set values over a good scenario. */
Test(fuzz, random_sets)
{
    static const char *const paths[] = {"services.chat.traffic.rate",
                                        "services.chat.traffic.envelope",
                                        "fleet",
                                        "designs.shared",
                                        "designs",
                                        "services.chat.slo.ttft.p99.9",
                                        "training.research.backlog.gangs[0]",
                                        "training.research.backlog.gangs[0].gpus",
                                        "seed",
                                        "services",
                                        "x.y",
                                        "services.chat",
                                        "services.chat.cold_start.engine.lognormal.cv",
                                        "reclaim.grace",
                                        "services.chat.autoscaler"};
    static const char *const values[] = {
        "1",    "5req/s",           "{}",   "[]",  "{constant: }", "{diurnal: 1.2}",
        "",     "{a: b, a: c}",     "8GPU", "- x", "{nodes: 2}",   "*a",
        "[[[[", "{preset: shared}", "off",  "2h",  "\"\\0\"",      "\x01"};
    enum { N_PATHS = sizeof paths / sizeof *paths, N_VALUES = sizeof values / sizeof *values };
    for (size_t i = 0; i < N_PATHS * N_VALUES; i++) {
        char set[256];
        const char *sets[] = {set, "seed=3"};
        struct diags d;
        struct scenario *s;
        snprintf(set, sizeof set, "%s=%s", paths[i / N_VALUES], values[i % N_VALUES]);
        diags_init(&d);
        enum hr_err err =
            scenario_load_text("small.yaml", kit_small, strlen(kit_small), sets, 2, &d, &s);
        cr_assert(err == HR_OK || (err == HR_INPUT && d.n_errors > 0), "%s", set);
        scenario_free(s);
        diags_fini(&d);
    }
}
