/* Quirks of job lists, one at a time. */
#include "fixture.h"

#define HELIOS                                                                                     \
    "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,"      \
    "queue\n"

static void read_jobs(struct fixture *f, const char *format, const char *text)
{
    fixture_init(f, format);
    fixture_text(f, text);
    fixture_expect_ok(f);
    fixture_expect_balance(f);
}

static void read_custom(struct fixture *f, const struct trace_map *maps, size_t n, const char *text)
{
    fixture_init(f, "custom");
    f->spec.maps = maps;
    f->spec.n_maps = n;
    f->spec.time_unit = "s";
    fixture_write(f, text, strlen(text));
    fixture_read_jobs(f);
}

Test(jobs, headroom_columns)
{
    struct fixture f;
    read_jobs(&f, "headroom-jobs",
              "job_id,submit_s,duration_s,gpus,nodes,gpu_type,team,queue,priority,preemptible,"
              "min_gpus,checkpoint_s,grace_s,time_limit_s,max_gpus\n"
              "j1,0,5400,8,1,h100,team-a,train,100,true,4,1200,120,14400,32\n"
              "j2,45,780,1,1,any,team-b,dev,-5,false,,,30,,\n"
              "j3,45.5,60.25,16,2,h100,\"team, \"\"c\"\"\",dev,,,,0,30,0,\n");
    const struct job *j = f.jobs.rows;
    cr_assert_str_eq(j[0].id, "j1");
    cr_assert_str_eq(j[0].tenant, "team-a");
    cr_assert(j[0].preemptible && j[0].priority == 100);
    cr_assert(j[0].gpus == 8 && j[0].min_gpus == 4 && j[0].max_gpus == 32);
    cr_assert(j[0].work_ns == S(5400) && j[0].checkpoint_ns == S(1200));
    cr_assert_eq(j[0].limit_ns, S(14400));
    cr_assert(!j[1].preemptible && j[1].priority == -5);
    cr_assert(j[1].gpus == 1 && j[1].min_gpus == 1 && j[1].max_gpus == 1);
    cr_assert(j[1].checkpoint_ns == JOB_UNSET && j[1].limit_ns == JOB_UNSET);
    cr_assert_eq(j[1].submit_ns, S(45));
    cr_assert_str_eq(j[2].tenant, "team, \"c\"");
    cr_assert(j[2].preemptible && j[2].priority == 0);
    cr_assert(j[2].checkpoint_ns == JOB_UNSET && j[2].limit_ns == JOB_UNSET);
    cr_assert_eq(j[2].work_ns, 60250 * SIM_MS);
    cr_assert(fixture_noted(&f, "columns not used: nodes, gpu_type, queue, grace_s"));
    fixture_fini(&f);
}

Test(jobs, philly_has_no_ids_and_runs_for_its_duration)
{
    struct fixture f;
    read_jobs(&f, "philly",
              "timestamp,duration,num_gpus,gpu_time,cluster\n"
              "2017-10-16 17:30:07,74.0,1,74.0,6c71a0\n"
              "2017-10-16 17:30:00,193182.0,4,772728.0,0e4a51\n\n");
    const struct job *j = f.jobs.rows;
    cr_assert_str_eq(j[0].id, "2");
    cr_assert_str_eq(j[1].id, "1");
    cr_assert_str_eq(j[0].tenant, "0e4a51");
    cr_assert_eq(j[0].work_ns, S(193182));
    cr_assert_eq(j[1].submit_ns, S(7));
    cr_assert_eq(j[0].end, JOB_END_UNKNOWN);
    cr_assert_eq(f.report.inversions, 1);
    fixture_fini(&f);
}

Test(jobs, cpu_rows_are_dropped_or_refused)
{
    static const char text[] = HELIOS
        "1,u,v,0,4,1,COMPLETED,2020-06-09 18:00:00,2020-06-09 18:00:00,2020-06-09 18:00:10,10,0\n"
        "2,u,v,2,4,1,COMPLETED,2020-06-09 18:00:00,2020-06-09 18:00:00,2020-06-09 18:00:10,10,0\n";
    struct fixture f;
    read_jobs(&f, "helios", text);
    cr_assert_eq(f.jobs.n, 1);
    cr_assert_eq(f.report.dropped[TRACE_DROP_NO_GPUS], 1);
    f.spec.refuse_no_gpus = true;
    cr_assert_eq(fixture_read(&f), HR_INPUT);
    cr_assert_eq(f.diags.items[0].line, 2);
    cr_assert_eq(f.diags.items[0].column, 7);
    fixture_fini(&f);
}

Test(jobs, every_state)
{
    static const struct {
        const char *state;
        enum job_end end;
    } states[] = {{"COMPLETED", JOB_COMPLETED},    {"Pass", JOB_COMPLETED},
                  {"CANCELLED", JOB_CANCELLED},    {"CANCELED", JOB_CANCELLED},
                  {"Killed", JOB_CANCELLED},       {"CANCELLED by 1185300516", JOB_CANCELLED},
                  {"PREEMPTED", JOB_CANCELLED},    {"FAILED", JOB_FAILED},
                  {"NODE_FAIL", JOB_FAILED},       {"OUT_OF_MEMORY", JOB_FAILED},
                  {"TIMEOUT", JOB_TIMEOUT},        {"RUNNING", JOB_CENSORED},
                  {"COMPLETEDX", JOB_END_UNKNOWN}, {"", JOB_END_UNKNOWN}};
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        char text[256];
        struct fixture f;
        snprintf(text, sizeof text, "submit_s,duration_s,gpus,state\n0,5,1,%s\n", states[i].state);
        read_jobs(&f, "headroom-jobs", text);
        cr_assert_eq(f.jobs.rows[0].end, states[i].end, "%s", states[i].state);
        cr_assert_eq(f.report.ended[states[i].end], 1);
        fixture_fini(&f);
    }
    struct fixture f;
    read_jobs(&f, "headroom-jobs", "submit_s,duration_s,gpus,state\n0,5,1,odd\n1,5,1,odder\n");
    cr_assert(fixture_noted(&f, "2 jobs ended in an unknown state (first: 'odd')"));
    fixture_fini(&f);
}

/* Kalos: the duration counts the queue. End - start is used and one warning says how often. */
Test(jobs, recorded_duration_is_not_trusted)
{
    struct fixture f;
    read_jobs(
        &f, "helios",
        HELIOS
        "1,u,v,2,4,1,COMPLETED,2020-06-09 18:00:00,2020-06-09 18:00:30,2020-06-09 18:01:00,60,30\n"
        "2,u,v,2,4,1,COMPLETED,2020-06-09 18:00:00,2020-06-09 18:00:00,2020-06-09 18:01:00,61,0\n"
        "3,u,v,2,4,1,COMPLETED,2020-06-09 18:00:00,2020-06-09 18:00:50,2020-06-09 "
        "18:01:00,60,50\n");
    cr_assert_eq(f.jobs.rows[0].work_ns, S(30));
    cr_assert_eq(f.jobs.rows[1].work_ns, S(60)); /* a second of rounding is let pass */
    cr_assert_eq(f.jobs.rows[2].work_ns, S(10));
    cr_assert_eq(f.report.duration_differs, 2);
    cr_assert_eq(f.diags.n, 1);
    cr_assert_eq(f.diags.n_warnings, 1);
    cr_assert_eq(f.diags.items[0].line, 2);
    cr_assert_not_null(strstr(f.diags.items[0].text, "2 rows"));
    fixture_fini(&f);
}

Test(jobs, without_an_end_censored_without_a_start_dropped)
{
    struct fixture f;
    read_jobs(
        &f, "helios",
        HELIOS
        "1,u,v,2,4,1,RUNNING,2020-06-09 18:00:00,2020-06-09 18:00:30,,,30\n"
        "2,u,v,2,4,1,COMPLETED,2020-06-09 18:00:00,2020-06-09 18:00:00,2020-06-09 18:10:00,600,0\n"
        "3,u,v,2,4,1,CANCELLED,2020-06-09 18:00:00,,2020-06-09 18:01:00,0,60\n"
        "4,u,v,2,4,1,PENDING,2020-06-09 18:05:00,Unknown,Unknown,0,60\n"
        "5,u,v,2,4,1,RUNNING,2020-06-09 18:05:00,2020-06-09 18:10:00,None,,\n"
        "6,u,v,2,4,1,COMPLETED,2020-06-09 18:05:00,2020-06-09 18:05:00,2020-06-09 18:05:00,0,0\n");
    cr_assert_eq(f.jobs.n, 2);
    cr_assert_str_eq(f.jobs.rows[0].id, "1");
    cr_assert_eq(f.jobs.rows[0].work_ns, S(570)); /* to 18:10:00, the last time of all */
    cr_assert_eq(f.jobs.rows[0].end, JOB_CENSORED);
    cr_assert_eq(f.report.dropped[TRACE_DROP_NEVER_STARTED], 2);
    cr_assert_eq(f.report.dropped[TRACE_DROP_ZERO_DURATION], 2); /* rows 5 and 6 */
    cr_assert_eq(f.diags.n_warnings, 1);
    fixture_fini(&f);
}

/* What a filter hides still tells when the trace ends. */
Test(jobs, filters_change_nothing_else)
{
    struct fixture f;
    static const char *const tenants[] = {"b", "c"};
    fixture_init(&f, "helios");
    f.spec.tenants = tenants;
    f.spec.n_tenants = 2;
    fixture_text(
        &f, HELIOS
        "1,u,a,2,4,1,COMPLETED,2020-06-09 18:00:00,2020-06-09 18:00:00,2020-06-09 19:00:00,3600,0\n"
        "2,u,b,2,4,1,RUNNING,2020-06-09 18:30:00,2020-06-09 18:30:00,,,0\n"
        "3,u,c,4,4,1,FAILED,2020-06-09 18:40:00,2020-06-09 18:40:00,2020-06-09 18:41:00,60,0\n");
    fixture_expect_ok(&f);
    fixture_expect_balance(&f);
    cr_assert_eq(f.jobs.n, 2);
    cr_assert_eq(f.jobs.rows[0].submit_ns, 0);
    cr_assert_eq(f.jobs.rows[0].work_ns, S(1800));
    cr_assert_eq(f.report.dropped[TRACE_DROP_TENANT], 1);
    cr_assert_eq(f.report.n_tenants, 2);
    f.spec.min_gpus = 3;
    fixture_read(&f);
    cr_assert_eq(f.jobs.n, 1);
    cr_assert_eq(f.report.dropped[TRACE_DROP_GPU_RANGE], 1);
    f.spec.min_gpus = 0;
    f.spec.max_gpus = 2;
    fixture_read(&f);
    cr_assert_eq(f.jobs.n, 1);
    cr_assert_str_eq(f.jobs.rows[0].id, "2");
    fixture_fini(&f);
}

Test(jobs, fractions_and_workers)
{
    static const struct trace_map maps[] = {{TRACE_SUBMIT, "t", NULL},
                                            {TRACE_DURATION, "run", NULL},
                                            {TRACE_GPUS, "gpu_request", NULL},
                                            {TRACE_WORKERS, "worker_num", NULL}};
    struct fixture f;
    read_custom(&f, maps, 4,
                "t,run,gpu_request,worker_num\n"
                "0,10,0.5,1\n1,10,0.5,4\n2,10,8,3\n3,10,1.1,10\n4,10,2,\n5,10,1,0\n");
    fixture_expect_ok(&f);
    fixture_expect_balance(&f);
    static const uint32_t want[] = {1, 2, 24, 11, 2};
    cr_assert_eq(f.jobs.n, 5);
    for (size_t i = 0; i < 5; i++)
        cr_assert_eq(f.jobs.rows[i].gpus, want[i]);
    cr_assert_eq(f.report.fractional_gpus, 1);
    cr_assert_eq(f.report.dropped[TRACE_DROP_NO_GPUS], 1);
    cr_assert_eq(f.report.odd_sizes, 1); /* 11 */
    fixture_fini(&f);
}

/* A job needs a run time: a duration, or a start and an end. */
Test(jobs, custom_run_times)
{
    static const struct trace_map maps[] = {{TRACE_SUBMIT, "t", NULL},
                                            {TRACE_GPUS, "g", NULL},
                                            {TRACE_START, "a", NULL},
                                            {TRACE_END, "b", NULL}};
    static const char text[] = "t,a,b,g\n0,5,9,1\n";
    struct fixture f;
    read_custom(&f, maps, 4, text);
    fixture_expect_ok(&f);
    cr_assert_eq(f.jobs.rows[0].work_ns, S(4));
    fixture_fini(&f);
    read_custom(&f, maps, 3, text);
    cr_assert_eq(f.err, HR_INPUT);
    cr_assert_not_null(strstr(f.diags.items[0].text, "'duration', nor to 'start' and 'end'"));
    fixture_fini(&f);
}

/* The busiest hour is one of the clock: 18:59 and 19:00 are not in the same. Four jobs in 2 h are 2
 * an hour. */
Test(jobs, busiest_hour_of_the_clock)
{
    struct fixture f;
    read_jobs(&f, "philly",
              "timestamp,duration,num_gpus,gpu_time,cluster\n"
              "2017-10-16 18:59:00,1,1,1,a\n"
              "2017-10-16 19:00:00,1,1,1,a\n"
              "2017-10-16 19:59:59,1,1,1,a\n"
              "2017-10-16 20:59:00,1,1,1,a\n");
    cr_assert_float_eq(f.report.peak_to_mean, 1, 1e-12);
    cr_assert_eq(f.report.span_ns, S(7200));
    fixture_fini(&f);
}

/* Equal submit times keep the order of the file. */
Test(jobs, sorting_is_stable)
{
    enum { ROWS = 3000 };
    struct fixture f;
    char *text = malloc(ROWS * 32), *p = text;
    p += sprintf(p, "submit_s,duration_s,gpus\n");
    for (int i = 0; i < ROWS; i++)
        p += sprintf(p, "%d,%d,1\n", (i * 7919) % 50, i + 1);
    read_jobs(&f, "headroom-jobs", text);
    for (size_t i = 1; i < f.jobs.n; i++) {
        const struct job *a = &f.jobs.rows[i - 1], *b = &f.jobs.rows[i];
        cr_assert(a->submit_ns < b->submit_ns ||
                  (a->submit_ns == b->submit_ns && a->work_ns < b->work_ns));
    }
    free(text);
    fixture_fini(&f);
}
