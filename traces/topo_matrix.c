/* Reader of `nvidia-smi topo -m`; topo_matrix.h says what a listing may look like.
 *
 * The header names the devices. A row is a device, its links in the order of the header, and of a
 * GPU its CPU, NUMA and GPU NUMA affinity. A line that begins with no device ends the matrix when
 * rows have been read (the legend follows). */
#include "traces/topo_matrix.h"

#include <string.h>

enum { DEVICES_MAX = NODE_GPUS_MAX + NODE_NICS_MAX, UNKNOWN = LINK_LEVELS };

struct device {
    const char *name;
    bool gpu;
    uint32_t number; /* among the GPUs or the cards */
    size_t row;      /* line of its row; 0: none (the header is before) */
};

struct matrix {
    struct lines lines;
    struct arena *arena;
    size_t header; /* line */
    struct device devices[DEVICES_MAX];
    uint32_t n, n_gpus, n_nics;
    uint32_t n_columns;                     /* devices that the header names in full */
    bool cut;                               /* the listing is, at the right */
    uint8_t link[DEVICES_MAX][DEVICES_MAX]; /* as written; UNKNOWN: cut off */
    uint8_t nvlinks[DEVICES_MAX][DEVICES_MAX];
    uint32_t numa[DEVICES_MAX];
};

/* ---- the header ---- */

static bool is_gpu(const struct word *word, uint32_t *number)
{
    return word_numbered(word, "GPU", 1000, number);
}

/* A word of the header that names no device: the titles of the affinity columns follow. */
static bool is_title(const struct word *word)
{
    uint32_t number;
    bool title = word_is(word, "CPU") || word_is(word, "NUMA") || word_is(word, "GPU") ||
                 word_is(word, "Affinity") || word_is(word, "ID");
    return title && !is_gpu(word, &number);
}

bool topo_matrix_is(const struct lines *l)
{
    for (size_t i = 0; i < l->n; i++) {
        const char *at = l->items[i];
        struct word word;
        uint32_t number;
        if (lines_word(&at, &word))
            return is_gpu(&word, &number);
    }
    return false;
}

static struct device *find(struct matrix *m, const struct word *word)
{
    for (uint32_t i = 0; i < m->n; i++)
        if (word_is(word, m->devices[i].name))
            return &m->devices[i];
    return NULL;
}

static enum hr_err add_device(struct matrix *m, size_t line, const struct word *word)
{
    uint32_t number;
    bool gpu = is_gpu(word, &number);
    if (find(m, word)) {
        lines_error(&m->lines, line, word->at, NULL, "'%.*s' is there twice", (int)word->n,
                    word->at);
        return HR_INPUT;
    }
    if (gpu ? m->n_gpus == NODE_GPUS_MAX : m->n_nics == NODE_NICS_MAX) {
        lines_error(&m->lines, line, word->at, NULL, "more than %d %s in one node",
                    gpu ? NODE_GPUS_MAX : NODE_NICS_MAX, gpu ? "GPUs" : "network cards");
        return HR_INPUT;
    }
    if (gpu && number != m->n_gpus) {
        lines_error(&m->lines, line, word->at, NULL, "GPU%u is due here, not '%.*s'", m->n_gpus,
                    (int)word->n, word->at);
        return HR_INPUT;
    }
    const char *name = word_text(word, m->arena);
    if (!name)
        return HR_NOMEM;
    m->devices[m->n++] =
        (struct device){.name = name, .gpu = gpu, .number = gpu ? m->n_gpus : m->n_nics};
    *(gpu ? &m->n_gpus : &m->n_nics) += 1;
    return HR_OK;
}

static enum hr_err read_header(struct matrix *m)
{
    struct word word;
    const char *at = "";
    while (m->header < m->lines.n) {
        at = m->lines.items[m->header];
        if (lines_word(&at, &word))
            break;
        m->header++;
    }
    uint32_t number;
    if (m->header == m->lines.n || !is_gpu(&word, &number)) {
        lines_error(&m->lines, m->header < m->lines.n ? m->header : 0, NULL, NULL,
                    "no listing of `nvidia-smi topo -m`: its first line names GPU0, GPU1, ...");
        return HR_INPUT;
    }
    do {
        const char *after = at;
        struct word next;
        bool last = !lines_word(&after, &next);
        if (is_title(&word) || (last && find(m, &word)))
            break; /* or NIC10, cut to NIC1 */
        TRY(add_device(m, m->header, &word));
    } while (lines_word(&at, &word));
    m->cut = !is_title(&word);
    m->n_columns = m->n - m->cut; /* the last name may be part of one */
    memset(m->link, UNKNOWN, sizeof m->link);
    for (uint32_t i = 0; i < m->n; i++)
        m->numa[i] = LINK_NONE;
    return HR_OK;
}

/* ---- rows ---- */

/* The level that a word names; UNKNOWN: none. */
static uint8_t level_of(const struct word *word, uint32_t *nvlinks)
{
    *nvlinks = 0;
    if (word_numbered(word, "NV", 256, nvlinks))
        return LINK_NVLINK;
    if (word_is(word, "SOC")) /* older drivers' name */
        return LINK_SYS;
    for (uint8_t i = 0; i < LINK_LEVELS; i++)
        if (i != LINK_NVLINK && word_is(word, link_names[i]))
            return i;
    return UNKNOWN;
}

static enum hr_err bad_link(const struct matrix *m, size_t line, const struct word *word,
                            uint32_t column)
{
    char text[16];
    snprintf(text, sizeof text, "%.*s", (int)(word->n < 15 ? word->n : 15), word->at);
    lines_error(&m->lines, line, word->at, diag_nearest(text, link_names, LINK_LEVELS),
                "'%s' is no link to %s", text, m->devices[column].name);
    return HR_INPUT;
}

static enum hr_err bad_self(const struct matrix *m, size_t line, const char *at, uint32_t row,
                            uint32_t column)
{
    const char *device = m->devices[row].name, *other = m->devices[column].name;
    if (row == column)
        lines_error(&m->lines, line, at, NULL, "%s with itself must be X", device);
    else
        lines_error(&m->lines, line, at, NULL, "X is %s with itself, not with %s", device, other);
    return HR_INPUT;
}

/* Of a row that is cut off, the last word may be part of one: it does not count. */
static enum hr_err read_links(struct matrix *m, size_t line, uint32_t row, const char **at)
{
    bool cut = m->cut || line + 1 == m->lines.n; /* the file may end within a word */
    for (uint32_t i = 0; i < m->n_columns; i++) {
        struct word word, next;
        uint32_t nvlinks;
        if (!lines_word(at, &word))
            return HR_OK;
        const char *after = *at;
        if ((cut || i + 1 < m->n_columns) && !lines_word(&after, &next))
            return HR_OK;
        uint8_t level = level_of(&word, &nvlinks);
        if (level == UNKNOWN)
            return bad_link(m, line, &word, i);
        if ((level == LINK_SELF) != (i == row))
            return bad_self(m, line, word.at, row, i);
        m->link[row][i] = level;
        m->nvlinks[row][i] = (uint8_t)nvlinks;
    }
    return HR_OK;
}

/* CPU affinity, NUMA affinity; what follows does not matter. */
static void read_affinity(struct matrix *m, uint32_t row, const char *at)
{
    struct word cpus, numa;
    uint32_t number;
    if (lines_word(&at, &cpus) && lines_word(&at, &numa) && word_numbered(&numa, "", 1000, &number))
        m->numa[row] = number;
}

/* A card that the header, cut off, does not name: a word with a link behind it. */
static bool is_card(const struct word *word, const char *at)
{
    struct word next;
    uint32_t number;
    return !is_gpu(word, &number) && lines_word(&at, &next) && level_of(&next, &number) != UNKNOWN;
}

static enum hr_err read_row(struct matrix *m, size_t line, bool *is_row)
{
    const char *at = m->lines.items[line];
    struct word word, next;
    uint32_t number;
    const char *after = at;
    *is_row = false;
    if (!lines_word(&after, &word))
        return HR_OK;
    at = after;
    if (!lines_word(&after, &next)) /* a name alone: cut off, perhaps within it */
        return HR_OK;
    if (!find(m, &word) && is_card(&word, at))
        TRY(add_device(m, line, &word));
    struct device *device = find(m, &word);
    *is_row = device != NULL;
    if (!device && is_gpu(&word, &number)) {
        lines_error(&m->lines, line, word.at, NULL, "the header names no '%.*s'", (int)word.n,
                    word.at);
        return HR_INPUT;
    }
    if (!device)
        return HR_OK;
    if (device->row != 0) {
        lines_error(&m->lines, line, word.at, NULL, "%s has a row already, in line %zu",
                    device->name, device->row + 1);
        return HR_INPUT;
    }
    device->row = line;
    uint32_t row = (uint32_t)(device - m->devices);
    TRY(read_links(m, line, row, &at));
    if (device->gpu)
        read_affinity(m, row, at);
    return HR_OK;
}

static enum hr_err read_rows(struct matrix *m)
{
    bool any = false, is_row = true;
    for (size_t i = m->header + 1; i < m->lines.n && (is_row || !any); i++) {
        TRY(read_row(m, i, &is_row));
        any = any || is_row;
    }
    return HR_OK;
}

/* ---- both halves ---- */

static bool known(const struct matrix *m, uint32_t a, uint32_t b)
{
    return m->link[a][b] != UNKNOWN || m->link[b][a] != UNKNOWN;
}

/* Each half of the matrix gets what the other has. */
static enum hr_err join(struct matrix *m, uint32_t a, uint32_t b)
{
    uint8_t there = m->link[a][b], back = m->link[b][a];
    const struct device *from = &m->devices[a], *to = &m->devices[b];
    bool differ = there != back || m->nvlinks[a][b] != m->nvlinks[b][a];
    if (there != UNKNOWN && back != UNKNOWN && differ) {
        lines_error(&m->lines, to->row, NULL, NULL, "%s to %s is not what %s to %s is in line %zu",
                    to->name, from->name, from->name, to->name, from->row + 1);
        return HR_INPUT;
    }
    if (there == UNKNOWN) {
        m->link[a][b] = back;
        m->nvlinks[a][b] = m->nvlinks[b][a];
    } else {
        m->link[b][a] = there;
        m->nvlinks[b][a] = m->nvlinks[a][b];
    }
    return HR_OK;
}

/* Every GPU has a row, and each two of them a link. */
static enum hr_err check_gpus(const struct matrix *m)
{
    for (uint32_t a = 0; a < m->n; a++) {
        if (!m->devices[a].gpu)
            continue;
        if (m->devices[a].row == 0) {
            lines_error(&m->lines, m->header, NULL, NULL, "%s has no row", m->devices[a].name);
            return HR_INPUT;
        }
        for (uint32_t b = 0; b < a; b++)
            if (m->devices[b].gpu && !known(m, a, b)) {
                lines_error(&m->lines, m->devices[b].row, NULL, NULL,
                            "nothing says how %s and %s are linked: the listing is cut off",
                            m->devices[b].name, m->devices[a].name);
                return HR_INPUT;
            }
    }
    return HR_OK;
}

/* A card of which the listing does not say how far each GPU is (cut off) is left out. */
static bool whole_card(const struct matrix *m, uint32_t card)
{
    for (uint32_t a = 0; a < m->n; a++)
        if (m->devices[a].gpu && !known(m, a, card))
            return false;
    return true;
}

static void take_card(const struct matrix *m, uint32_t card, struct node_links *out)
{
    for (uint32_t a = 0; a < m->n; a++)
        if (m->devices[a].gpu)
            out->gpu_nic[m->devices[a].number][out->n_nics] = m->link[a][card];
    out->n_nics++;
}

static enum hr_err take(struct matrix *m, struct node_links *out)
{
    *out = (struct node_links){.n_gpus = m->n_gpus};
    TRY(check_gpus(m));
    for (uint32_t a = 0; a < m->n; a++)
        for (uint32_t b = a + 1; b < m->n; b++)
            TRY(join(m, a, b));
    for (uint32_t a = 0; a < m->n; a++) {
        uint32_t from = m->devices[a].number;
        if (!m->devices[a].gpu) {
            if (whole_card(m, a))
                take_card(m, a, out);
            continue;
        }
        out->numa[from] = m->numa[a];
        for (uint32_t b = 0; b < m->n; b++)
            if (m->devices[b].gpu && a != b) {
                out->gpu_gpu[from][m->devices[b].number] = m->link[a][b];
                out->nvlinks[from][m->devices[b].number] = m->nvlinks[a][b];
            }
    }
    return HR_OK;
}

enum hr_err topo_matrix_read(const char *path, struct node_links *out, struct arena *arena,
                             struct diags *diags)
{
    struct matrix *m = arena_alloc(arena, sizeof *m);
    if (!m)
        return HR_NOMEM;
    m->arena = arena;
    TRY(lines_read(&m->lines, path, arena, diags));
    TRY(read_header(m));
    TRY(read_rows(m));
    return take(m, out);
}
