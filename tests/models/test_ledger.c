/* The ledger: hand-worked bookings, and random moves and re-bookings against a table that holds
 * every account at every single nanosecond. */
#include "models/capacity/ledger.h"

#include "draw.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

Test(ledger, books_by_hand)
{
    /* 8 shares, measured [10, 50), windows [10,25) [25,40) [40,50) */
    struct ledger *l = ledger_new(2, 8, 10, 50, 15);
    cr_assert_eq(ledger_windows(l), 3);
    ledger_move(l, 4, LEDGER_NOBODY, GPU_FREE, 1, GPU_TRAINING, 3);
    ledger_move(l, 30, 1, GPU_TRAINING, 1, GPU_DRAINING, 2);
    ledger_settle(l, 60);
    cr_assert_eq(ledger_shares(l, LEDGER_NOBODY, GPU_FREE), 5);
    cr_assert_eq(ledger_shares(l, 1, GPU_TRAINING), 1);
    cr_assert(ledger_total(l, LEDGER_NOBODY, GPU_FREE) == 5 * 40);
    cr_assert(ledger_total(l, 1, GPU_TRAINING) == 3 * 20 + 1 * 20);
    cr_assert(ledger_total(l, 1, GPU_DRAINING) == 2 * 20);
    const uint64_t training[] = {3 * 15, 3 * 5 + 1 * 10, 1 * 10};
    for (size_t w = 0; w < 3; w++)
        cr_assert_eq(ledger_window(l, w, 1, GPU_TRAINING), training[w]);
    cr_assert(ledger_conserves(l, 60));
    ledger_free(l);
}

Test(ledger, rebooks_by_hand_clipped_and_over_windows)
{
    struct ledger *l = ledger_new(2, 4, 10, 50, 15);
    ledger_move(l, 0, LEDGER_NOBODY, GPU_FREE, 1, GPU_TRAINING, 4);
    ledger_move(l, 55, 1, GPU_TRAINING, 1, GPU_DRAINING, 4);
    ledger_rebook(l, 1, GPU_TRAINING, GPU_LOST, 4, 20, 55); /* [50, 55) is not measured */
    ledger_rebook(l, 1, GPU_TRAINING, GPU_CHECKPOINTING, 4, 0, 12);
    ledger_rebook(l, 1, GPU_TRAINING, GPU_LOST, 4, 3, 9); /* nothing of it is */
    cr_assert(ledger_total(l, 1, GPU_TRAINING) == 4 * 8);
    cr_assert(ledger_total(l, 1, GPU_LOST) == 4 * 30);
    cr_assert(ledger_total(l, 1, GPU_CHECKPOINTING) == 4 * 2);
    const uint64_t lost[] = {4 * 5, 4 * 15, 4 * 10};
    for (size_t w = 0; w < 3; w++)
        cr_assert_eq(ledger_window(l, w, 1, GPU_LOST), lost[w]);
    cr_assert_eq(ledger_window(l, 0, 1, GPU_TRAINING), 4 * 8);
    cr_assert_eq(ledger_window(l, 1, 1, GPU_TRAINING), 0);
    cr_assert(ledger_conserves(l, 60));
    ledger_free(l);
}

Test(ledger, totals_pass_64_bits)
{
    const uint64_t shares = 1000000;
    struct ledger *l = ledger_new(1, shares, 0, 1000 * SIM_DAY, SIM_HOUR);
    ledger_settle(l, 1000 * SIM_DAY);
    u128 want = (u128)shares * (1000 * SIM_DAY);
    cr_assert(want > UINT64_MAX && ledger_total(l, LEDGER_NOBODY, GPU_FREE) == want);
    cr_assert(ledger_conserves(l, 1000 * SIM_DAY));
    ledger_free(l);
}

Test(ledger, an_empty_measured_part_books_nothing)
{
    struct ledger *l = ledger_new(1, 7, 100, 100, 10);
    ledger_move(l, 50, LEDGER_NOBODY, GPU_FREE, LEDGER_NOBODY, GPU_STRANDED, 3);
    cr_assert_eq(ledger_windows(l), 0);
    cr_assert(ledger_conserves(l, 200));
    cr_assert(ledger_total(l, LEDGER_NOBODY, GPU_FREE) == 0);
    ledger_free(l);
}

Test(ledger, names_and_docs_are_there)
{
    cr_assert_str_eq(gpu_state_names[GPU_FREE], "free");
    cr_assert_str_eq(gpu_state_names[GPU_ABSENT], "absent");
    for (int s = 0; s < GPU_STATES; s++)
        cr_assert(strlen(gpu_state_docs[s]) > 0);
}

/* ---- against a table of every nanosecond ---- */

enum { OWNERS = 3, ACCOUNTS = OWNERS * GPU_STATES, SPAN = 300 };

struct table {
    uint64_t at[SPAN][ACCOUNTS]; /* shares in the nanosecond that begins at t */
    simtime_ns now;
    uint64_t present[ACCOUNTS];
};

static void advance(struct table *t, simtime_ns now)
{
    for (; t->now < now; t->now++)
        memcpy(t->at[t->now], t->present, sizeof t->present);
}

static void random_move(struct ledger *l, struct table *t, uint64_t *seed)
{
    uint64_t a = draw_below(seed, ACCOUNTS), b = draw_below(seed, ACCOUNTS);
    uint64_t shares = draw_below(seed, t->present[a] + 1);
    t->present[a] -= shares;
    t->present[b] += shares;
    ledger_move(l, t->now, (uint32_t)(a / GPU_STATES), (enum gpu_state)(a % GPU_STATES),
                (uint32_t)(b / GPU_STATES), (enum gpu_state)(b % GPU_STATES), shares);
}

/* Re-books what was there at every instant of a random interval. */
static void random_rebook(struct ledger *l, struct table *t, uint64_t *seed)
{
    uint64_t owner = draw_below(seed, OWNERS);
    uint64_t from = draw_below(seed, GPU_STATES), to = draw_below(seed, GPU_STATES);
    simtime_ns t0 = draw_below(seed, t->now + 1), t1 = t0 + draw_below(seed, t->now - t0 + 1);
    uint64_t a = owner * GPU_STATES + from, b = owner * GPU_STATES + to, shares = UINT64_MAX;
    for (simtime_ns i = t0; i < t1; i++)
        shares = t->at[i][a] < shares ? t->at[i][a] : shares;
    if (t0 == t1)
        shares = 1;
    for (simtime_ns i = t0; i < t1; i++) {
        t->at[i][a] -= shares;
        t->at[i][b] += shares;
    }
    ledger_settle(l, t->now);
    ledger_rebook(l, (uint32_t)owner, (enum gpu_state)from, (enum gpu_state)to, shares, t0, t1);
}

static void same(const struct ledger *l, const struct table *t, simtime_ns start, simtime_ns end,
                 simtime_ns window)
{
    for (uint64_t a = 0; a < ACCOUNTS; a++) {
        uint32_t owner = (uint32_t)(a / GPU_STATES);
        enum gpu_state s = (enum gpu_state)(a % GPU_STATES);
        u128 total = 0;
        for (size_t w = 0; w < ledger_windows(l); w++) {
            uint64_t sum = 0;
            simtime_ns from = start + w * window, to = from + window;
            for (simtime_ns i = from; i < to && i < end && i < t->now; i++)
                sum += t->at[i][a];
            cr_assert_eq(ledger_window(l, w, owner, s), sum);
            total += sum;
        }
        cr_assert(ledger_total(l, owner, s) == total);
        cr_assert_eq(ledger_shares(l, owner, s), t->present[a]);
    }
}

Test(ledger, equals_a_table_of_every_nanosecond)
{
    uint64_t seed = 1;
    struct table *t = malloc(sizeof *t);
    for (int run = 0; run < 300; run++) {
        simtime_ns start = draw_below(&seed, SPAN / 2),
                   end = start + draw_below(&seed, SPAN - start);
        simtime_ns window = 1 + draw_below(&seed, SPAN);
        uint64_t shares = 1 + draw_below(&seed, 40);
        struct ledger *l = ledger_new(OWNERS, shares, start, end, window);
        memset(t, 0, sizeof *t);
        t->present[GPU_FREE] = shares;
        while (t->now < SPAN - 1) {
            simtime_ns step = draw_below(&seed, 20);
            advance(t, t->now + step < SPAN ? t->now + step : SPAN - 1);
            if (draw_below(&seed, 4) == 0)
                random_rebook(l, t, &seed);
            else
                random_move(l, t, &seed);
            cr_assert(draw_below(&seed, 8) || ledger_conserves(l, t->now));
        }
        cr_assert(ledger_conserves(l, t->now));
        same(l, t, start, end, window);
        ledger_free(l);
    }
    free(t);
}
