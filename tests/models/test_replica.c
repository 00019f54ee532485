/* The replica by hand: times worked out on paper, and the edges of its interface. */
#include "models/serving/replica.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What happened, as text: "f0@27 d0@60 " is the first token of 0 at 27 ns and its end at 60 ns. */
struct story {
    char text[1024];
};

static void tell(struct story *s, char what, uint32_t id, simtime_ns at)
{
    size_t n = strlen(s->text);
    snprintf(s->text + n, sizeof s->text - n, "%c%" PRIu32 "@%" PRIu64 " ", what, id, at);
}

static void on_first(void *self, uint32_t id, simtime_ns at)
{
    tell(self, 'f', id, at);
}

static void on_done(void *self, const struct replica_request *request, simtime_ns at)
{
    tell(self, 'd', request->id, at);
}

static struct replica *make(const struct replica_config *config, struct story *story)
{
    *story = (struct story){""};
    struct replica *r = replica_new(config, &(struct replica_events){story, on_first, on_done});
    cr_assert_not_null(r);
    return r;
}

static void run_to(struct replica *r, simtime_ns t)
{
    while (replica_next(r) <= t)
        cr_assert_eq(replica_advance(r, replica_next(r)), HR_OK);
}

static void submit(struct replica *r, uint32_t id, simtime_ns at, uint32_t prompt, uint32_t output)
{
    run_to(r, at);
    cr_assert_eq(replica_submit(r, &(struct replica_request){at, id, prompt, output, 0, 0}, at),
                 HR_OK);
}

/* a 10 ns, b 1 ns, c 10 ps; d 20 ns, e 100 ps, f 1 ps. */
static const struct replica_config small = {.step = {10000, 1000, 10, 20000, 100, 1000, 0},
                                            .prefill = PREFILL_PRIORITY,
                                            .max_num_seqs = 8,
                                            .max_batched_tokens = 100,
                                            .kv_capacity_tokens = 1000};

/* a 1 ns and d 1 ns, nothing else: a step is a nanosecond. */
static const struct replica_config ticking = {.step = {.a_ps = 1000, .d_ps = 1000},
                                              .prefill = PREFILL_PRIORITY,
                                              .max_num_seqs = 8,
                                              .max_batched_tokens = 100,
                                              .kv_capacity_tokens = 13};

Test(replica, one_request)
{
    struct story story;
    struct replica *r = make(&small, &story);
    cr_expect_eq(replica_next(r), SIM_NEVER);
    /* Prefill 20 + 1 + 0.1 ns: 26.1. Decode 11.11 + 11.12 + 11.13: 59.46. */
    submit(r, 0, 5, 10, 4);
    cr_expect_eq(replica_next(r), 27);
    run_to(r, 1000);
    cr_expect_str_eq(story.text, "f0@27 d0@60 ");
    cr_expect_eq(replica_count(r), 0);
    cr_expect_eq(replica_next(r), SIM_NEVER);
    u128 request_ns;
    uint64_t busy_ns;
    replica_batch(r, 1000, &request_ns, &busy_ns);
    cr_expect_eq((uint64_t)request_ns, 55);
    cr_expect_eq(busy_ns, 55);
    replica_free(r);
}

Test(replica, arrival_joins_at_the_next_boundary)
{
    struct story story;
    struct replica *r = make(&small, &story);
    submit(r, 0, 5, 10, 4);
    /* Boundaries 26.1, 37.21. Prefill of 1 to 57.735, a step of both (C = 12 + 6) to 69.915, one of
     * 0 alone (C = 13) to 81.045. */
    submit(r, 1, 30, 5, 2);
    cr_expect_eq(replica_next(r), 38);
    run_to(r, 1000);
    cr_expect_str_eq(story.text, "f0@27 f1@58 d1@70 d0@82 ");
    replica_free(r);
}

Test(replica, chunked)
{
    struct story story;
    struct replica_config config = small;
    config.prefill = PREFILL_CHUNKED;
    config.max_batched_tokens = 8;
    struct replica *r = make(&config, &story);
    submit(r, 0, 5, 10, 4);  /* 8 tokens to 25.864 */
    submit(r, 1, 10, 5, 2);  /* 2 of 0 and 5 of 1: 20 + 0.7 + 0.036 + 0.025, to 46.625 */
    submit(r, 2, 50, 10, 1); /* joins at 58.795: 7 tokens beside 0, then 3: to 70.664, 82.145 */
    run_to(r, 1000);
    cr_expect_str_eq(story.text, "f0@47 f1@47 d1@59 d0@83 f2@83 d2@83 ");
    replica_free(r);
}

Test(replica, evicts_the_latest_and_recomputes)
{
    struct story story;
    struct replica *r = make(&ticking, &story);
    /* 1 comes exactly at boundary 1 and joins at 2, filling the cache: 6 + 5 + 2 = 13. At 4 both
     * hold 13: 1 goes. 0 ends at 7; 1 recomputes to 8 (its third token) and ends at 11. */
    submit(r, 0, 0, 4, 6);
    submit(r, 1, 1, 4, 6);
    run_to(r, 1000);
    cr_expect_str_eq(story.text, "f0@1 f1@3 d0@7 d1@11 ");
    cr_expect_eq(replica_evictions(r), 1);
    replica_free(r);
}

Test(replica, prefill_is_at_least_the_floor)
{
    struct story story;
    struct replica_config config = ticking;
    config.step.floor_ps = 5500;
    struct replica *r = make(&config, &story);
    submit(r, 0, 0, 4, 2);
    run_to(r, 1000);
    cr_expect_str_eq(story.text, "f0@6 d0@7 ");
    replica_free(r);
}

Test(replica, idle_replica_starts_with_the_first_alone)
{
    for (int submit_first = 0; submit_first < 2; submit_first++) {
        struct story story;
        struct replica *r = make(&ticking, &story);
        submit(r, 0, 3, 1, 1); /* to 4 */
        if (!submit_first)
            run_to(r, 4);
        for (uint32_t i = 1; i <= 3; i++)
            replica_submit(r, &(struct replica_request){4, i, 1, 1, 0, 0}, 4);
        run_to(r, 1000);
        cr_expect_str_eq(story.text, "f0@4 d0@4 f1@5 d1@5 f2@6 d2@6 f3@6 d3@6 ");
        replica_free(r);
    }
}

Test(replica, steps_of_no_length)
{
    struct story story;
    struct replica_config config = ticking;
    config.step = (struct step_time){0};
    struct replica *r = make(&config, &story);
    submit(r, 0, 7, 2, 5);
    cr_expect_eq(replica_next(r), 7);
    run_to(r, 7);
    cr_expect_str_eq(story.text, "f0@7 d0@7 ");
    replica_free(r);
}

Test(replica, boundary_beyond_the_clock_never_comes)
{
    struct story story;
    struct replica_config config = ticking;
    config.step.d_ps = 1000000000000000; /* 1000 s */
    struct replica *r = make(&config, &story);
    submit(r, 0, SIM_NEVER - 900 * SIM_S, 2, 5);
    cr_expect_eq(replica_next(r), SIM_NEVER);
    cr_expect_eq(replica_count(r), 1);
    replica_free(r);
}

/* The same requests, 500 years later: the same story. */
Test(replica, does_not_depend_on_the_date)
{
    const simtime_ns later = 500 * 365 * SIM_DAY;
    const struct replica_request requests[] = {{0, 0, 300, 900, 0, 0},
                                               {40, 1, 20, 30, 0, 0},
                                               {70, 2, 10, 1, 0, 0},
                                               {6000, 3, 50, 40, 0, 0}};
    simtime_ns ends[2][4];
    for (int i = 0; i < 2; i++) {
        struct story story;
        struct replica *r = make(&small, &story);
        for (uint32_t j = 0; j < 4; j++)
            submit(r, j, requests[j].arrival_ns + (i ? later : 0), requests[j].prompt_tokens / 3,
                   requests[j].output_tokens);
        for (int j = 0; j < 4; j++) {
            while (!strstr(story.text, "d"))
                replica_advance(r, replica_next(r));
            char *done = strstr(story.text, "d");
            uint32_t id;
            simtime_ns at;
            cr_assert_eq(sscanf(done, "d%" SCNu32 "@%" SCNu64, &id, &at), 2);
            ends[i][id] = at - (i ? later : 0);
            memmove(story.text, done + 1, strlen(done));
        }
        replica_free(r);
    }
    cr_expect_arr_eq(ends[0], ends[1], sizeof ends[0]);
}

Test(replica, take_all_gives_back_in_arrival_order)
{
    struct story story;
    struct replica_config config = ticking;
    config.max_num_seqs = 2;
    config.kv_capacity_tokens = 100;
    struct replica *r = make(&config, &story);
    const struct replica_request in[] = {
        {9, 4, 1, 3, 0, 0}, {8, 7, 1, 9, 2, 6}, {8, 5, 1, 3, 0, 0}};
    for (int i = 0; i < 3; i++)
        replica_submit(r, &in[i], 20);
    /* 4 alone to 21, 7 (its third token is no first one) to 22, both to 23; 5 waits. */
    run_to(r, 23);
    struct replica_request out[3];
    cr_expect_eq(replica_next(r), 24);
    cr_assert_eq(replica_take_all(r, 23, out), 3);
    const uint32_t ids[] = {5, 7, 4}, tokens[] = {0, 4, 2};
    cr_expect_eq(out[1].first_token_ns, 6);
    cr_expect_eq(out[2].first_token_ns, 21);
    for (int i = 0; i < 3; i++) {
        cr_expect_eq(out[i].id, ids[i]);
        cr_expect_eq(out[i].generated_tokens, tokens[i]);
    }
    cr_expect_str_eq(story.text, "f4@21 ");
    cr_expect_eq(replica_count(r), 0);
    cr_expect_eq(replica_next(r), SIM_NEVER);
    replica_free(r);
}

/* A failure goes before a completion at the same instant: what is due but not advanced is lost. */
Test(replica, take_all_before_the_boundary)
{
    struct story story;
    struct replica *r = make(&ticking, &story);
    struct replica_request out[1];
    submit(r, 0, 0, 4, 6);
    run_to(r, 1);
    cr_assert_eq(replica_next(r), 6);
    cr_assert_eq(replica_take_all(r, 6, out), 1);
    cr_expect_eq(out[0].generated_tokens, 5);
    submit(r, 0, 10, 4, 6); /* and it is as good as new */
    run_to(r, 100);
    cr_expect_str_eq(story.text, "f0@1 f0@11 d0@16 ");
    replica_free(r);
}

Test(replica, valid)
{
    cr_expect(replica_valid(&ticking));
    struct replica_config c = ticking;
    c.kv_capacity_tokens = 1000000001;
    cr_expect_not(replica_valid(&c));
    c = ticking;
    c.step.c_ps = 1000000001; /* more than 1 ms a token of context */
    cr_expect_not(replica_valid(&c));
    c = ticking;
    c.max_num_seqs = 0;
    cr_expect_not(replica_valid(&c));
}

Test(replica, fits)
{
    cr_expect(replica_fits(&ticking, 12, 1));
    cr_expect_not(replica_fits(&ticking, 12, 2));
    cr_expect_not(replica_fits(&ticking, UINT32_MAX, UINT32_MAX));
}

/* 0 is young and holds most of the cache; 2, older, comes late and drives it out, which makes the
 * steps of 1 shorter: 1 is done before it could have been expected to be. */
Test(replica, is_called_in_time_when_an_eviction_speeds_it_up)
{
    const struct replica_config config = {.step = {.a_ps = 1000, .c_ps = 1000, .d_ps = 1000},
                                          .prefill = PREFILL_PRIORITY,
                                          .max_num_seqs = 8,
                                          .max_batched_tokens = 1000,
                                          .kv_capacity_tokens = 660};
    struct story story;
    struct replica *r = make(&config, &story);
    replica_submit(r, &(struct replica_request){2, 0, 500, 100, 0, 0}, 2);
    replica_submit(r, &(struct replica_request){0, 1, 10, 50, 0, 0}, 2);
    replica_run_to(r, 1000);
    const simtime_ns expected = replica_due(r);
    replica_submit(r, &(struct replica_request){1, 2, 100, 40, 0, 0}, 1000);
    simtime_ns due = replica_due_submitted(r, expected);
    while (!strstr(story.text, "d1@")) {
        replica_run_to(r, due);
        cr_assert_null(strstr(story.text, "d1@"), "due at %" PRIu64 ": %s", due, story.text);
        replica_run_to(r, due + 1);
        due = replica_due(r);
    }
    cr_expect_eq(replica_evictions(r), 1);
    simtime_ns done;
    cr_assert_eq(sscanf(strstr(story.text, "d1@"), "d1@%" SCNu64, &done), 1);
    cr_expect_lt(done, expected);
    replica_free(r);
}

/* A request that fills the whole cache, and one token of output: both must get in. */
Test(replica, whole_cache)
{
    struct story story;
    struct replica *r = make(&ticking, &story);
    submit(r, 0, 0, 12, 1);
    submit(r, 1, 0, 1, 12);
    run_to(r, 100);
    cr_expect_str_eq(story.text, "f0@1 d0@1 f1@2 d1@13 ");
    replica_free(r);
}

Test(replica, long_queue)
{
    struct story story;
    struct replica_config config = ticking;
    config.max_num_seqs = 1;
    struct replica *r = make(&config, &story);
    struct replica_request *out = malloc(100000 * sizeof *out);
    cr_assert_not_null(out);
    for (uint32_t i = 0; i < 100000; i++)
        replica_submit(r, &(struct replica_request){i, i, 1, 1 + i % 5, 0, 0}, 100000);
    run_to(r, 100010);
    const uint32_t left = replica_count(r);
    cr_expect(left > 99900 && left < 100000);
    cr_assert_eq(replica_take_all(r, 100010, out), left);
    for (uint32_t i = 0; i < left; i++)
        cr_assert_eq(out[i].id, 100000 - left + i);
    free(out);
    replica_free(r);
}
