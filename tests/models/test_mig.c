/* MIG: layouts against the enumeration of the fact sheet and, state by state, against the rule
 * itself; what still fits; the places that the driver chooses. */
#include "csv_lines.h"
#include "draw.h"
#include "models/hardware/catalogue.h"

#include <stdlib.h>

/* Profiles of h100-sxm, and sets of them. */
enum { G1, G1_ME, G1_20, G2, G3, G4, G7, ALL = 0x7f, PLAIN = 0x7d, FIVE = 0x79 };

static struct mig_tables *tables_of(const char *gpu, const double *mix)
{
    struct mig_tables *t = malloc(sizeof *t);
    cr_assert_not_null(t);
    mig_tables_init(t, &gpu_type_find(&hardware_builtin, gpu)->mig, mix);
    return t;
}

/* ---- layouts ---- */

enum { MOST = 4096 };

struct list {
    const struct mig_tables *t;
    struct mig_layout items[MOST];
    size_t n;
};

static void keep(void *self, const struct mig_layout *l)
{
    struct list *list = self;
    cr_assert_lt(list->n, (size_t)MOST);
    list->items[list->n++] = *l;
}

static struct list *list_of(const struct mig_tables *t, uint8_t profiles, bool maximal)
{
    struct list *list = calloc(1, sizeof *list);
    cr_assert_not_null(list);
    list->t = t;
    mig_layouts(t, profiles, maximal, keep, list);
    return list;
}

static size_t count(const struct mig_tables *t, uint8_t profiles, bool maximal)
{
    struct list *list = list_of(t, profiles, maximal);
    size_t n = list->n;
    free(list);
    return n;
}

static void count_profiles(const struct mig_layout *l, uint8_t counts[MIG_PROFILES])
{
    memset(counts, 0, MIG_PROFILES);
    for (uint8_t i = 0; i < l->n; i++)
        counts[l->items[i].profile]++;
}

/* Different multisets in the list, and those not contained in a larger one. */
static void multisets(const struct list *list, size_t *n_all, size_t *n_largest)
{
    static uint8_t sets[MOST][MIG_PROFILES];
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++) {
        count_profiles(&list->items[i], sets[n]);
        size_t j = 0;
        while (memcmp(sets[j], sets[n], MIG_PROFILES) != 0)
            j++;
        n += j == n;
    }
    *n_all = n;
    *n_largest = 0;
    for (size_t i = 0; i < n; i++) {
        bool contained = false;
        for (size_t j = 0; j < n && !contained; j++) {
            contained = i != j;
            for (int p = 0; p < MIG_PROFILES; p++)
                contained = contained && sets[i][p] <= sets[j][p];
        }
        *n_largest += !contained;
    }
}

Test(mig, counts_of_the_fact_sheet)
{
    struct mig_tables *t = tables_of("h100-sxm", NULL);
    cr_expect_eq(count(t, FIVE, true), 19);  /* mig_layouts_maximal_five_profile_count */
    cr_expect_eq(count(t, PLAIN, true), 78); /* mig_layouts_maximal_six_profile_count */
    cr_expect_eq(count(t, ALL, true), 239);
    cr_expect_eq(count(t, FIVE, false), 298); /* mig_states_placed_five_profile_count */
    cr_expect_eq(count(t, PLAIN, false), 723);
    cr_expect_eq(count(t, ALL, false), 2319); /* mig_states_placed_with_me_count */
    size_t n, largest;
    struct list *five = list_of(t, FIVE, true), *six = list_of(t, PLAIN, true);
    struct list *placed = list_of(t, PLAIN, false);
    multisets(five, &n, &largest);
    cr_expect(n == 14 && largest == 12); /* mig_layout_multisets_five_profile_count */
    multisets(six, &n, &largest);
    cr_expect(n == 38 && largest == 28);
    multisets(placed, &n, &largest);
    cr_expect_eq(n - 1, 77); /* non-empty multisets */
    free(five);
    free(six);
    free(placed);
    free(t);
}

/* The same starts and slices, so the same layouts; the A30 has four slices of each kind. */
Test(mig, counts_of_the_other_gpus)
{
    for (size_t g = 0; g + 1 < GPU_TYPES; g++) {
        struct mig_tables *t = tables_of(gpu_types[g].name, NULL);
        cr_expect_eq(count(t, FIVE, true), 19, "%s", gpu_types[g].name);
        cr_expect_eq(count(t, PLAIN, true), 78, "%s", gpu_types[g].name);
        cr_expect_eq(count(t, ALL, false), 2319, "%s", gpu_types[g].name);
        free(t);
    }
    /* 4g; and each half of the A30 holds 2g or two 1g: 1 + 2 x 2. */
    struct mig_tables *t = tables_of("a30", NULL);
    cr_expect_eq(count(t, mig_plain_profiles(&t->gpu), true), 5);
    free(t);
}

static struct mig_layout read_layout(const struct mig_tables *t, char *text)
{
    struct mig_layout l;
    mig_layout_empty(t, &l);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        char *at = strchr(word, '@');
        *at = 0;
        uint8_t p = mig_profile_find(&t->gpu, word), start = (uint8_t)atoi(at + 1);
        cr_assert(p < t->gpu.n_profiles && mig_legal(t, l.left, p, start), "%s", word);
        mig_layout_add(t, &l, p, start);
    }
    return l;
}

static bool same(const struct mig_layout *a, const struct mig_layout *b)
{
    return a->n == b->n && a->left == b->left &&
           memcmp(a->items, b->items, a->n * sizeof *a->items) == 0;
}

Test(mig, all_78_layouts_row_by_row_and_no_other)
{
    static struct csv_line rows[128];
    enum { ID, INSTANCES, LAYOUT, COMPUTE, MEMORY, COMPUTE_LOST, MEMORY_LOST, SM, IN_FIVE };
    struct mig_tables *t = tables_of("h100-sxm", NULL);
    struct list *list = list_of(t, PLAIN, true);
    const size_t n = csv_lines("tests/data/h100_mig_layouts.csv", rows, 128);
    bool met[128] = {false};
    size_t n_unstranded = 0, n_five_unstranded = 0;
    cr_assert_eq(n, 78);
    cr_assert_eq(list->n, n);
    for (size_t r = 0; r < n; r++) {
        char **cell = rows[r].cell;
        const bool five = strcmp(cell[IN_FIVE], "yes") == 0;
        const struct mig_layout l = read_layout(t, cell[LAYOUT]);
        size_t i = 0;
        while (i < list->n && !same(&list->items[i], &l))
            i++;
        cr_assert(i < list->n && !met[i], "row %s", cell[ID]);
        met[i] = true;
        const int lost_compute = atoi(cell[COMPUTE_LOST]), lost_memory = atoi(cell[MEMORY_LOST]);
        cr_expect_eq(l.n, atoi(cell[INSTANCES]));
        cr_expect_eq(7 - mig_free_compute(l.left), (unsigned)atoi(cell[COMPUTE]));
        cr_expect_eq(mig_free_compute(l.left), (unsigned)lost_compute);
        cr_expect_eq(mig_stranded_compute(t, l.left), (unsigned)lost_compute);
        cr_expect_eq(8 - __builtin_popcount(mig_free_memory(l.left)), atoi(cell[MEMORY]));
        cr_expect_eq(mig_stranded_memory(t, l.left), (unsigned)lost_memory);
        cr_expect_eq(mig_layout_n_sm(&t->gpu, &l), (unsigned)atoi(cell[SM]));
        n_unstranded += lost_compute + lost_memory == 0;
        n_five_unstranded += lost_compute + lost_memory == 0 && five;
    }
    cr_expect_eq(n_unstranded, 16); /* mig_layouts_without_stranded_slice_count */
    cr_expect_eq(n_five_unstranded, 6);
    free(list);
    free(t);
}

/* ---- states ---- */

static mig_state state_of(const struct mig_tables *t, const char *text)
{
    char copy[256];
    snprintf(copy, sizeof copy, "%s", text);
    return read_layout(t, copy).left;
}

Test(mig, what_still_fits)
{
    /* kubernetes-sigs/dra-driver-nvidia-gpu#933: 1g.10gb at 0, 1 and 5. */
    struct mig_tables *t = tables_of("h100-sxm", NULL);
    const struct {
        const char *layout;
        uint8_t fits[7];
    } cases[] = {{"1g.10gb@0 1g.10gb@1 1g.10gb@5", {4, 1, 2, 1, 0, 0, 0}},
                 {"1g.10gb@0 1g.10gb@1 1g.10gb@2", {4, 1, 2, 1, 1, 0, 0}},
                 {"1g.10gb@4 1g.10gb@5 1g.10gb@6", {4, 1, 2, 2, 1, 1, 0}},
                 {"", {7, 1, 4, 3, 2, 1, 1}},
                 {"1g.10gb+me@6", {6, 0, 3, 3, 1, 1, 0}},
                 {"7g.80gb@0", {0, 0, 0, 0, 0, 0, 0}}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        mig_state s = state_of(t, cases[c].layout);
        for (int p = 0; p < 7; p++)
            cr_expect_eq(t->fits[s][p], cases[c].fits[p], "'%s' profile %d: %d", cases[c].layout, p,
                         t->fits[s][p]);
    }
    free(t);
}

/* NVIDIA/gpu-operator#1287: one container of 20 GB and the rest of 10 GB. */
Test(mig, most_containers)
{
    struct mig_tables *t = tables_of("h100-sxm", NULL);
    struct list *list = list_of(t, PLAIN, false);
    int most = 0, with_3g = 0;
    for (size_t i = 0; i < list->n; i++) {
        uint8_t n[MIG_PROFILES];
        count_profiles(&list->items[i], n);
        const int large = n[G1_20] + n[G2] + n[G3] + n[G4] + n[G7];
        if (large == 1 && n[G1] + large > most)
            most = n[G1] + large;
        if (large == 1 && n[G3] == 1 && n[G1] + 1 > with_3g)
            with_3g = n[G1] + 1;
    }
    cr_expect_eq(most, 7);
    cr_expect_eq(with_3g, 5);
    mig_state s = state_of(t, "1g.20gb@6");
    cr_expect_eq(t->fits[s][G1], 6);
    free(list);
    free(t);
}

/* mig_sm_used_3g_3g_count, mig_memory_stranded_all_1g_gib, mig_layouts_with_stranded_slice_example.
 */
Test(mig, stranded_slices_and_sms)
{
    struct mig_tables *t = tables_of("h100-sxm", NULL);
    const struct {
        const char *layout;
        unsigned sm, compute, memory;
    } cases[] = {
        {"3g.40gb@0 3g.40gb@4", 120, 1, 0},
        {"4g.40gb@0 3g.40gb@4", 124, 0, 0},
        {"2g.20gb@0 2g.20gb@2 3g.40gb@4", 124, 0, 0},
        {"1g.20gb@0 1g.20gb@2 1g.20gb@4 1g.20gb@6", 104, 3, 0},
        {"1g.10gb@0 1g.10gb@1 1g.10gb@2 1g.10gb@3 1g.10gb@4 1g.10gb@5 1g.10gb@6", 112, 0, 1},
        {"4g.40gb@0 2g.20gb@4 1g.10gb@6", 112, 0, 1},
        {"3g.40gb@0 2g.20gb@4 1g.10gb@6", 108, 1, 1},
        {"1g.10gb@0 1g.10gb@1 1g.10gb@2 1g.10gb@3 1g.10gb@4 1g.10gb@5 1g.20gb@6", 122, 0, 0},
        {"3g.40gb@0", 60, 1, 0}, /* a compute slice is lost for as long as it lives */
        {"1g.10gb@0", 16, 0, 0},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char text[256];
        snprintf(text, sizeof text, "%s", cases[c].layout);
        const struct mig_layout l = read_layout(t, text);
        cr_expect_eq(mig_layout_n_sm(&t->gpu, &l), cases[c].sm);
        cr_expect_eq(mig_stranded_compute(t, l.left), cases[c].compute, "%s: %u", cases[c].layout,
                     mig_stranded_compute(t, l.left));
        cr_expect_eq(mig_stranded_memory(t, l.left), cases[c].memory, "%s: %u", cases[c].layout,
                     mig_stranded_memory(t, l.left));
    }
    cr_expect_float_eq((81152 - 7 * 9984) / 1024.0, 11.0, 1e-9);
    free(t);
}

/* The rule in plain words: no overlap, compute up to what there is, starts from the list. */
static bool legal_by_hand(const struct mig_gpu *gpu, const struct mig_layout *l, uint8_t profile,
                          uint8_t start)
{
    bool taken[16] = {false};
    unsigned compute = gpu->profiles[profile].compute;
    unsigned media = gpu->profiles[profile].media;
    for (uint8_t i = 0; i < l->n; i++) {
        const struct mig_profile *p = &gpu->profiles[l->items[i].profile];
        compute += p->compute;
        media += p->media;
        for (unsigned s = 0; s < p->memory; s++)
            taken[l->items[i].start + s] = true;
    }
    for (unsigned s = 0; s < gpu->profiles[profile].memory; s++)
        if (start + s >= gpu->memory || taken[start + s])
            return false;
    return compute <= gpu->compute && media <= 1 && (gpu->profiles[profile].starts >> start & 1);
}

Test(mig, every_placed_state_follows_the_rule)
{
    static const char *const names[] = {"h100-sxm", "a30"};
    for (size_t g = 0; g < 2; g++) {
        struct mig_tables *t = tables_of(names[g], NULL);
        struct list *list = list_of(t, 0xff, false);
        for (size_t i = 0; i < list->n; i++) {
            const struct mig_layout *l = &list->items[i];
            unsigned n_next = 0;
            for (uint8_t p = 0; p < t->gpu.n_profiles; p++)
                for (uint8_t start = 0; start < MIG_SLICES; start++) {
                    const bool legal = legal_by_hand(&t->gpu, l, p, start);
                    cr_assert_eq(mig_legal(t, l->left, p, start), legal);
                    n_next += legal;
                }
            cr_expect_eq(t->n_next[l->left], n_next);
        }
        free(list);
        free(t);
    }
}

/* fits by trying every way to add instances of one profile. */
static unsigned most_of(const struct mig_tables *t, mig_state s, uint8_t p)
{
    unsigned most = 0;
    for (uint8_t start = 0; start < MIG_SLICES; start++)
        if (mig_legal(t, s, p, start)) {
            unsigned n = 1 + most_of(t, mig_after(t, s, p, start), p);
            most = n > most ? n : most;
        }
    return most;
}

Test(mig, fits_and_reach_are_those_of_trying)
{
    struct mig_tables *t = tables_of("h100-sxm", NULL);
    uint64_t random = 5;
    for (int i = 0; i < 300; i++) {
        mig_state s = (mig_state)draw_below(&random, MIG_STATES);
        unsigned reach = 0;
        for (uint8_t p = 0; p < t->gpu.n_profiles; p++) {
            cr_expect_eq(t->fits[s][p], most_of(t, s, p));
            for (uint8_t start = 0; start < MIG_SLICES; start++)
                if (mig_legal(t, s, p, start))
                    reach |= ((1u << t->gpu.profiles[p].memory) - 1) << start;
        }
        cr_expect_eq(t->lost_memory[s], mig_free_memory(s) & ~reach);
    }
    free(t);
}

/* ---- choice of a start ---- */

static int place(const struct mig_tables *t, enum mig_rule rule, const uint8_t *order, size_t n,
                 uint8_t *starts)
{
    mig_state s = t->empty;
    for (size_t i = 0; i < n; i++) {
        starts[i] = t->choice[rule][s][order[i]];
        if (starts[i] == MIG_NO_START)
            return (int)i;
        s = mig_after(t, s, order[i], starts[i]);
    }
    return (int)n;
}

/* The listings of the MIG user guide on an A100: seven of profile 19 get the instance ids 13, 11,
 * 12, 7, 8, 9, 10 (start + 7); 19, 14, 5 end at 6, 4 and 0; 9, 19, 14, 19 works, and 19, 19, 14, 9
 * has no room for the last one. */
Test(mig, best_places_as_the_driver_does)
{
    struct mig_tables *t = tables_of("a100-40gb", NULL);
    uint8_t starts[8];
    const uint8_t seven[] = {G1, G1, G1, G1, G1, G1, G1}, expected[] = {6, 4, 5, 0, 1, 2, 3};
    cr_expect_eq(place(t, MIG_BEST, seven, 7, starts), 7);
    cr_expect_arr_eq(starts, expected, 7);
    const uint8_t mixed[] = {G1, G2, G4}, at[] = {6, 4, 0};
    cr_expect_eq(place(t, MIG_BEST, mixed, 3, starts), 3);
    cr_expect_arr_eq(starts, at, 3);
    const uint8_t fails[] = {G1, G1, G2, G3}, works[] = {G3, G1, G2, G1};
    cr_expect_eq(place(t, MIG_BEST, fails, 4, starts), 3);
    cr_expect_eq(place(t, MIG_BEST, works, 4, starts), 4);
    cr_expect_eq(starts[0], 4);
    cr_expect_eq(starts[1], 0);
    free(t);
}

Test(mig, the_rules_differ_as_they_say)
{
    struct mig_tables *t = tables_of("h100-sxm", NULL);
    cr_expect_eq(t->choice[MIG_FIRST][t->empty][G3], 0);
    cr_expect_eq(t->choice[MIG_BEST][t->empty][G3], 4);
    cr_expect_eq(t->choice[MIG_LEAST_HARM][t->empty][G3], 4);
    free(t);
    /* Only 1g.20gb to come: a 1g.10gb goes where it costs none of the four starts it can spare. */
    const double mix[] = {0, 0, 1, 0, 0, 0, 0};
    t = tables_of("h100-sxm", mix);
    for (unsigned s = 0; s < MIG_STATES; s++)
        for (uint8_t p = 0; p < t->gpu.n_profiles; p++) {
            uint8_t chosen = t->choice[MIG_LEAST_HARM][s][p];
            cr_assert_eq(chosen == MIG_NO_START, t->starts[s][p] == 0);
            for (uint8_t start = 0; start < MIG_SLICES; start++)
                if (mig_legal(t, (mig_state)s, p, start))
                    cr_assert_geq(t->fits[mig_after(t, (mig_state)s, p, chosen)][G1_20],
                                  t->fits[mig_after(t, (mig_state)s, p, start)][G1_20]);
        }
    free(t);
}

/* Fragmentation of a GPU for one profile: its free memory slices that instances of this profile
 * alone cannot take; of the GPU: the mean over profiles by the mix (Q. Weng et al., ATC 2023). */
static double fragment(const struct mig_tables *t, const double *mix, mig_state s)
{
    double sum = 0, weights = 0;
    for (uint8_t p = 0; p < t->gpu.n_profiles; p++) {
        int most = 0, memory = t->gpu.profiles[p].memory;
        mig_state left = s;
        for (uint8_t start = 0; start < MIG_SLICES; start++)
            for (; mig_legal(t, left, p, start); left = mig_after(t, left, p, start))
                most++;
        sum += mix[p] * (__builtin_popcount(mig_free_memory(s)) - most * memory);
        weights += mix[p];
    }
    return sum / weights;
}

/* The start of least harm is that after which the GPU is least fragmented. */
Test(mig, least_harm_descends_the_gradient_of_fragmentation)
{
    double mixes[2][MIG_PROFILES];
    for (int p = 0; p < MIG_PROFILES; p++) {
        mixes[0][p] = 1;
        mixes[1][p] = 1 + 3 * p % 7;
    }
    for (int m = 0; m < 2; m++) {
        struct mig_tables *t = tables_of("h100-sxm", mixes[m]);
        uint32_t choices = 0;
        for (mig_state s = 0; s <= t->empty; s++)
            for (uint8_t p = 0; p < t->gpu.n_profiles; p++) {
                uint8_t chosen = t->choice[MIG_LEAST_HARM][s][p];
                for (uint8_t start = 0; start < MIG_SLICES; start++)
                    if (mig_legal(t, s, p, start)) {
                        double there = fragment(t, mixes[m], mig_after(t, s, p, start));
                        double taken = fragment(t, mixes[m], mig_after(t, s, p, chosen));
                        cr_assert_leq(taken, there + 1e-5, "state %u, profile %u", s, p);
                        choices += taken < there - 1e-5;
                    }
            }
        cr_assert_gt(choices, 100);
        free(t);
    }
}

Test(mig, taking_and_giving_back_is_nothing)
{
    struct mig_tables *t = tables_of("h100-sxm", NULL);
    for (uint8_t p = 0; p < 7; p++)
        for (uint8_t start = 0; start < MIG_SLICES; start++)
            if (mig_legal(t, t->empty, p, start)) {
                mig_state s = mig_after(t, t->empty, p, start);
                cr_expect_lt(s, t->empty);
                cr_expect_eq(s + mig_delta(t, p, start), t->empty);
                cr_expect_eq(mig_free_media(s), !t->gpu.profiles[p].media);
            }
    free(t);
}
