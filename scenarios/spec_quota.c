/* Tables of explicit quotas: one claimant, and cohorts that claimants share. */
#include "models/capacity/fleet.h"
#include "scenarios/spec.h"

#define QUOTA  struct quota_spec
#define BORROW struct borrow_spec
#define COHORT struct cohort_spec

static const struct field borrow_rows[] = {
    SPEC_WORD(BORROW, policy, "policy", "Whether it may, from leases of lower priority",
              within_cohort_names, COHORT_ANY, .required = true),
    SPEC_ROW(BORROW, max_priority, "max_priority", FIELD_NUMBER,
             "Only leases of at most this priority", .min = -1000000, .max = 1000000),
};
static const struct field_table borrow =
    SPEC_OF(BORROW, borrow_rows, "borrow_within_cohort",
            "Taking GPUs back from borrowers while borrowing (Kueue: borrowWithinCohort)",
            .brief = "policy");

static const struct field quota_rows[] = {
    SPEC_ROW(QUOTA, floor, "floor", FIELD_WHOLE, "GPUs that are its own (nominal quota)",
             .unit = UNIT_GPU, .fallback = "0"),
    SPEC_ROW(QUOTA, borrow, "borrow", FIELD_WHOLE,
             "GPUs it may hold above its floor; without it the whole fleet", .unit = UNIT_GPU),
    SPEC_ROW(QUOTA, lend, "lend", FIELD_WHOLE,
             "Of its floor, what others may use while it is idle; without it all of it",
             .unit = UNIT_GPU),
    SPEC_ROW(QUOTA, priority, "priority", FIELD_NUMBER, "The higher is served first",
             .min = -1000000, .max = 1000000, .fallback = "0"),
    SPEC_ROW(QUOTA, weight, "weight", FIELD_NUMBER, "Weight of its fair share", .above = true,
             .max = 1e6, .fallback = "1"),
    SPEC_ROW(QUOTA, cohort, "cohort", FIELD_TEXT,
             "Cohort it is a member of; without it directly of the fleet", .unit = UNIT_NONE),
    SPEC_WORD(QUOTA, may_reclaim, "may_reclaim",
              "Short for the next two: nothing (never, never), up to its floor (any, never; the "
              "default without any of the three), or from any borrower of lower priority up to its "
              "ceiling (any, lower-priority)",
              may_reclaim_names, RECLAIM_POLICIES, .unit = UNIT_NONE),
    SPEC_WORD(QUOTA, reclaim_within_cohort, "reclaim_within_cohort",
              "From which borrowers it takes GPUs back up to its floor (Kueue: "
              "reclaimWithinCohort)",
              within_cohort_names, COHORT_POLICIES, .unit = UNIT_NONE),
    SPEC_TABLE(QUOTA, borrow_within_cohort, "borrow_within_cohort",
               "Whether it also takes while it borrows, up to its ceiling", &borrow),
    SPEC_WORD(QUOTA, within_queue, "within_queue",
              "Which of its own leases a request of its may evict (Kueue: withinClusterQueue)",
              within_queue_names, QUEUE_POLICIES, .fallback = "never"),
};
const struct field_table spec_quota = SPEC_OF(
    QUOTA, quota_rows, "quota", "The numbers of one claimant, a service or a queue", .brief = NULL);

static const struct field cohort_rows[] = {
    SPEC_ROW(COHORT, parent, "parent", FIELD_TEXT,
             "Cohort it is a member of; without it directly of the fleet", .unit = UNIT_NONE),
    SPEC_ROW(COHORT, floor, "floor", FIELD_WHOLE,
             "Nominal quota of its own, beside what its members have", .unit = UNIT_GPU,
             .fallback = "0"),
    SPEC_ROW(COHORT, borrow, "borrow", FIELD_WHOLE,
             "GPUs that its members together may hold above all of that; without it any number",
             .unit = UNIT_GPU),
    SPEC_ROW(COHORT, lend, "lend", FIELD_WHOLE,
             "Of what it owns and its members lend, what others may use; without it all of it",
             .unit = UNIT_GPU),
    SPEC_ROW(COHORT, weight, "weight", FIELD_NUMBER, "Weight of its fair share", .above = true,
             .max = 1e6, .fallback = "1"),
};
const struct field_table spec_cohort =
    SPEC_OF(COHORT, cohort_rows, "cohort",
            "Quota that claimants share, such as a team's or an organisation's (Kueue: Cohort)",
            .brief = NULL);
