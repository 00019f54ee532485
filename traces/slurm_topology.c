/* Reader of Slurm's topology.conf; slurm_topology.h says what it understands.
 *
 * Lines become switches or blocks with the names they contain; then, in a tree, the leaf switches
 * are the leaf groups, in the order of the file but those of one spine together, and each other
 * switch must contain switches that are there; blocks are racks, and as many in a row as the
 * largest block size holds are a leaf group. */
#include "traces/slurm_topology.h"

#include "sim/vec.h"
#include "traces/hostlist.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { UNITS_MAX = 10000 };

enum key { KEY_SWITCH, KEY_BLOCK, KEY_NODES, KEY_SWITCHES, KEY_SIZES, KEY_SPEED, KEYS };
static const char *const key_names[KEYS] = {"SwitchName", "BlockName",  "Nodes",
                                            "Switches",   "BlockSizes", "LinkSpeed"};

/* A switch or a block. */
struct unit {
    const char *name;
    size_t line;
    bool leaf;                /* it has nodes */
    size_t first, end;        /* of its nodes, or of the switches it contains, in names */
    uint32_t level;           /* 1: leaf; 0: not known yet */
    const struct unit *above; /* of a leaf switch: the first that contains it, or itself */
};

struct reading {
    struct lines lines;
    struct arena *arena;
    struct diags *diags;
    struct {
        struct unit *items; /* owned */
        size_t n, capacity;
    } units;
    struct hostlist names;
    struct {
        uint32_t *items; /* owned; block sizes, ascending */
        size_t n, capacity;
    } sizes;
    bool switches, blocks;
};

/* key=value of a line. */
struct setting {
    enum key key;
    const char *at, *value;
    size_t n;
};

static enum hr_err wrong(const struct reading *r, size_t line, const char *at, const char *what)
{
    lines_error(&r->lines, line, at, NULL, "%s", what);
    return HR_INPUT;
}

static enum hr_err parse(const struct reading *r, size_t line, const struct word *word,
                         struct setting *out)
{
    const char *equals = memchr(word->at, '=', word->n);
    char key[32];
    size_t n = equals ? (size_t)(equals - word->at) : word->n;
    snprintf(key, sizeof key, "%.*s", (int)(n < 31 ? n : 31), word->at);
    for (int k = 0; k < KEYS && equals; k++)
        if (strcasecmp(key, key_names[k]) == 0) {
            *out = (struct setting){(enum key)k, word->at, equals + 1, word->n - n - 1};
            return out->n > 0 ? HR_OK : wrong(r, line, word->at, "a value is due behind =");
        }
    lines_error(&r->lines, line, word->at, diag_nearest(key, key_names, KEYS),
                equals ? "there is no key '%s'" : "'%s' is no key=value", key);
    return HR_INPUT;
}

/* Names of a setting into r->names. */
static enum hr_err take_names(struct reading *r, size_t line, const struct setting *s)
{
    const char *at, *what;
    enum hr_err err =
        hostlist_expand(&r->names, s->value, s->n, 2 * SLURM_NODES_MAX, r->arena, &at, &what);
    if (err == HR_INPUT)
        return wrong(r, line, at, what);
    if (err == HR_LIMIT)
        return wrong(r, line, s->value, "more than 200,000 names");
    return err;
}

static enum hr_err take_sizes(struct reading *r, size_t line, const struct setting *s)
{
    const char *p = s->value, *end = s->value + s->n;
    while (p < end) {
        struct word number = {p, strcspn(p, ", \t")};
        uint32_t size;
        if (!word_numbered(&number, "", SLURM_NODES_MAX + 1, &size) || size == 0)
            return wrong(r, line, p, "a block size is a whole number from 1 to 100000");
        if (r->sizes.n > 0 && size <= r->sizes.items[r->sizes.n - 1])
            return wrong(r, line, p, "block sizes must ascend");
        if (!vec_push(&r->sizes, size))
            return HR_NOMEM;
        p += number.n + (p + number.n < end);
    }
    return HR_OK;
}

/* One line of settings: a unit, or the block sizes. */
static enum hr_err take_line(struct reading *r, size_t line)
{
    const char *at = r->lines.items[line];
    struct unit unit = {.line = line};
    bool contents = false, sizes = false;
    struct word word;
    while (lines_word(&at, &word)) {
        struct setting s;
        TRY(parse(r, line, &word, &s));
        bool names = s.key == KEY_NODES || s.key == KEY_SWITCHES;
        if (s.key == KEY_SWITCH || s.key == KEY_BLOCK) {
            if (!(unit.name = arena_strndup(r->arena, s.value, s.n)))
                return HR_NOMEM;
            *(s.key == KEY_BLOCK ? &r->blocks : &r->switches) = true;
        } else if (names && contents) {
            return wrong(r, line, s.at, "Nodes and Switches exclude each other");
        } else if (names) {
            contents = true;
            unit.leaf = s.key == KEY_NODES;
            unit.first = r->names.n;
            TRY(take_names(r, line, &s));
            unit.end = r->names.n;
        } else if (s.key == KEY_SIZES) {
            sizes = true;
            TRY(take_sizes(r, line, &s));
        }
    }
    if (sizes && !unit.name)
        return HR_OK;
    if (r->units.n == UNITS_MAX)
        return wrong(r, line, NULL, "more than 10,000 switches or blocks");
    if (!unit.name)
        return wrong(r, line, NULL, "a line begins with SwitchName= or BlockName=");
    if (!contents)
        return wrong(r, line, NULL, "it contains neither Nodes= nor Switches=");
    return vec_push(&r->units, unit) ? HR_OK : HR_NOMEM;
}

/* ---- the file ---- */

/* Cuts comments and joins continued lines to the last of them; the others are empty. */
static enum hr_err tidy(struct reading *r)
{
    const char *carried = "";
    for (size_t i = 0; i < r->lines.n; i++) {
        size_t n = strcspn(r->lines.items[i], "#"), m = strlen(carried);
        char *text = arena_alloc(r->arena, m + n + 1);
        if (!text)
            return HR_NOMEM;
        memcpy(text, carried, m);
        memcpy(text + m, r->lines.items[i], n);
        bool goes_on = n > 0 && text[m + n - 1] == '\\' && i + 1 < r->lines.n;
        if (goes_on)
            text[m + n - 1] = ' ';
        carried = goes_on ? text : "";
        r->lines.items[i] = goes_on ? "" : text;
    }
    return HR_OK;
}

bool slurm_topology_is(const struct lines *l)
{
    for (size_t i = 0; i < l->n; i++) {
        const char *at = l->items[i];
        struct word word;
        if (!lines_word(&at, &word) || *word.at == '#')
            continue;
        return strncasecmp(word.at, "SwitchName=", 11) == 0 ||
               strncasecmp(word.at, "Block", 5) == 0;
    }
    return false;
}

static enum hr_err read_lines(struct reading *r)
{
    enum hr_err err = HR_OK;
    TRY(tidy(r));
    for (size_t i = 0; i < r->lines.n; i++) {
        const char *at = r->lines.items[i];
        struct word word;
        if (!lines_word(&at, &word))
            continue;
        enum hr_err one = take_line(r, i);
        if (one != HR_OK && one != HR_INPUT)
            return one;
        err = one == HR_OK ? err : one; /* go on: all mistakes are said */
    }
    TRY(err);
    if (r->units.n == 0)
        return wrong(r, 0, NULL, "no SwitchName= and no BlockName=: this is no topology.conf");
    if (r->switches && r->blocks)
        return wrong(r, r->units.items[r->units.n - 1].line, NULL,
                     "switches and blocks exclude each other");
    return HR_OK;
}

/* ---- what it says ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* No node in two leaf switches or blocks. */
static enum hr_err check_twice(const struct reading *r, const struct slurm_topology *t)
{
    const char **sorted = arena_array(r->arena, t->n_nodes, sizeof *sorted);
    if (!sorted)
        return HR_NOMEM;
    memcpy(sorted, t->nodes, t->n_nodes * sizeof *sorted);
    qsort(sorted, t->n_nodes, sizeof *sorted, by_name);
    for (uint32_t i = 1; i < t->n_nodes; i++)
        if (strcmp(sorted[i - 1], sorted[i]) == 0) {
            diags_add(r->diags, DIAG_ERROR, (struct diag_place){.file = r->lines.path}, NULL, NULL,
                      "node '%.60s' is in two places", sorted[i]);
            return HR_INPUT;
        }
    return HR_OK;
}

static struct unit *find(const struct reading *r, const char *name)
{
    for (size_t i = 0; i < r->units.n; i++)
        if (strcmp(r->units.items[i].name, name) == 0)
            return &r->units.items[i];
    return NULL;
}

static enum hr_err check_names(const struct reading *r)
{
    enum hr_err err = HR_OK;
    for (size_t i = 0; i < r->units.n; i++) {
        const struct unit *u = &r->units.items[i];
        if (find(r, u->name) != u) {
            lines_error(&r->lines, u->line, NULL, NULL, "'%.60s' is there twice", u->name);
            err = HR_INPUT;
        }
        for (size_t k = u->first; !u->leaf && k < u->end; k++)
            if (!find(r, r->names.items[k])) {
                lines_error(&r->lines, u->line, NULL, NULL, "there is no switch '%.60s'",
                            r->names.items[k]);
                err = HR_INPUT;
            }
    }
    return err;
}

/* A switch is one level above the highest it contains; what never gets a level contains itself. */
static enum hr_err find_levels(const struct reading *r, uint32_t *highest)
{
    bool changed = true;
    *highest = 0;
    while (changed) {
        changed = false;
        for (size_t i = 0; i < r->units.n; i++) {
            struct unit *u = &r->units.items[i];
            uint32_t level = 1;
            if (u->level != 0)
                continue;
            for (size_t k = u->first; !u->leaf && k < u->end && level > 0; k++) {
                uint32_t below = find(r, r->names.items[k])->level;
                level = below == 0 ? 0 : below + 1 > level ? below + 1 : level;
            }
            u->level = level;
            changed = changed || level > 0;
            *highest = level > *highest ? level : *highest;
        }
    }
    for (size_t i = 0; i < r->units.n; i++)
        if (r->units.items[i].level == 0)
            return wrong(r, r->units.items[i].line, NULL, "the switch contains itself");
    return HR_OK;
}

/* A leaf switch, or a block: its nodes. */
static enum hr_err take_nodes(const struct reading *r, struct slurm_topology *t,
                              const struct unit *u, uint32_t *count, const char **name)
{
    if (t->n_nodes + (u->end - u->first) > SLURM_NODES_MAX)
        return wrong(r, u->line, NULL, "more than 100,000 nodes");
    *name = u->name;
    *count = (uint32_t)(u->end - u->first);
    for (size_t k = u->first; k < u->end; k++)
        t->nodes[t->n_nodes++] = r->names.items[k];
    return HR_OK;
}

static enum hr_err take_blocks(const struct reading *r, struct slurm_topology *t,
                               const char **names)
{
    for (size_t i = 0; i < r->units.n; i++, t->n_racks++)
        TRY(take_nodes(r, t, &r->units.items[i], &t->rack_nodes[i], &names[i]));
    return HR_OK;
}

static void find_above(const struct reading *r)
{
    for (size_t i = 0; i < r->units.n; i++)
        r->units.items[i].above = &r->units.items[i];
    for (size_t i = 0; i < r->units.n; i++) {
        const struct unit *u = &r->units.items[i];
        for (size_t k = u->first; !u->leaf && k < u->end; k++) {
            struct unit *below = find(r, r->names.items[k]);
            if (below->above == below)
                below->above = u;
        }
    }
}

/* The leaf switches of a spine, in the order of the file. */
static enum hr_err take_spine(const struct reading *r, struct slurm_topology *t,
                              const struct unit *spine)
{
    t->spines[t->n_spines] = spine->name;
    for (size_t i = 0; i < r->units.n; i++) {
        const struct unit *u = &r->units.items[i];
        if (!u->leaf || u->above != spine)
            continue;
        TRY(take_nodes(r, t, u, &t->leaf_nodes[t->n_leaves], &t->leaves[t->n_leaves]));
        t->n_leaves++;
        t->spine_leaves[t->n_spines]++;
    }
    t->n_spines++;
    return HR_OK;
}

/* Spine by spine, in the order in which the file first names a leaf switch of each. */
static enum hr_err take_leaves(const struct reading *r, struct slurm_topology *t)
{
    find_above(r);
    for (size_t i = 0; i < r->units.n; i++) {
        const struct unit *u = &r->units.items[i];
        bool taken = !u->leaf;
        for (size_t k = 0; k < i && !taken; k++)
            taken = r->units.items[k].leaf && r->units.items[k].above == u->above;
        if (!taken)
            TRY(take_spine(r, t, u->above));
    }
    if (t->levels == 1)
        t->n_spines = 0;
    return HR_OK;
}

/* Base blocks hold as many nodes as the smallest size says; the largest makes a leaf group. */
static enum hr_err join_blocks(const struct reading *r, struct slurm_topology *t)
{
    uint32_t base = r->sizes.n ? r->sizes.items[0] : 0;
    uint32_t unit = r->sizes.n ? r->sizes.items[r->sizes.n - 1] : 0;
    for (size_t i = 0; i < r->sizes.n; i++) {
        uint32_t times = r->sizes.items[i] / base;
        if (r->sizes.items[i] % base != 0 || (times & (times - 1)) != 0)
            return wrong(r, 0, NULL, "each block size must be the first one times a power of two");
    }
    t->levels = r->sizes.n ? (uint32_t)r->sizes.n : 1;
    for (uint32_t i = 0, in_unit = 0; i < t->n_racks; i++) {
        if (base > 0 && t->rack_nodes[i] > base)
            return wrong(r, r->units.items[i].line, NULL,
                         "the block has more nodes than the smallest block size");
        if (in_unit == 0)
            t->leaves[t->n_leaves++] = r->units.items[i].name;
        t->leaf_nodes[t->n_leaves - 1] += t->rack_nodes[i];
        t->leaf_racks[t->n_leaves - 1]++;
        in_unit = base == 0 || in_unit + base >= unit ? 0 : in_unit + base;
    }
    return HR_OK;
}

static enum hr_err take(const struct reading *r, struct slurm_topology *t)
{
    t->nodes = arena_array(r->arena, r->names.n, sizeof *t->nodes);
    t->leaves = arena_array(r->arena, r->units.n, sizeof *t->leaves);
    t->leaf_nodes = arena_array(r->arena, r->units.n, sizeof *t->leaf_nodes);
    t->rack_nodes = arena_array(r->arena, r->units.n, sizeof *t->rack_nodes);
    t->leaf_racks = arena_array(r->arena, r->units.n, sizeof *t->leaf_racks);
    t->spines = arena_array(r->arena, r->units.n, sizeof *t->spines);
    t->spine_leaves = arena_array(r->arena, r->units.n, sizeof *t->spine_leaves);
    const char **racks = arena_array(r->arena, r->units.n, sizeof *racks);
    if (!t->nodes || !t->leaves || !t->leaf_nodes || !t->rack_nodes || !t->leaf_racks ||
        !t->spines || !t->spine_leaves || !racks)
        return HR_NOMEM;
    t->blocks = r->blocks;
    TRY(check_names(r));
    if (t->blocks) {
        TRY(take_blocks(r, t, racks));
        TRY(join_blocks(r, t));
    } else {
        TRY(find_levels(r, &t->levels));
        TRY(take_leaves(r, t));
    }
    return check_twice(r, t);
}

enum hr_err slurm_topology_read(const char *path, struct slurm_topology *out, struct arena *arena,
                                struct diags *diags)
{
    struct reading r = {.arena = arena, .diags = diags};
    *out = (struct slurm_topology){0};
    enum hr_err err = lines_read(&r.lines, path, arena, diags);
    if (err == HR_OK)
        err = read_lines(&r);
    if (err == HR_OK)
        err = take(&r, out);
    vec_free(&r.units);
    vec_free(&r.names);
    vec_free(&r.sizes);
    return err;
}
