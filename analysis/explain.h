/* The sentences a planner reads: what the choice gains and costs, what wastes, what breaks and why,
 * what would have to change. Every figure in them is in the summary. */
#ifndef HEADROOM_ANALYSIS_EXPLAIN_H
#define HEADROOM_ANALYSIS_EXPLAIN_H

#include "analysis/text.h"
#include "analysis/verdict.h"

/* What GPU time went into, in the order of reports; their sum is all of it. */
#define USE_LIST(X)                                                                                \
    X(SERVING, "serving")                                                                          \
    X(SPARE, "spare: idle replicas")                                                               \
    X(TRAINING, "training")                                                                        \
    X(SAVES, "saves and restarts")                                                                 \
    X(LOST, "lost training work")                                                                  \
    X(MOVING, "reclaim and cold start")                                                            \
    X(HELD, "held idle by jobs")                                                                   \
    X(HOT, "hot spare nodes")                                                                      \
    X(STRANDED, "stranded")                                                                        \
    X(FREE, "free")                                                                                \
    X(OUT, "failed, maintenance")                                                                  \
    X(ABSENT, "not supplied")

#define USE_ENUM(code, name) USE_##code,
enum use { USE_LIST(USE_ENUM) USES };
#undef USE_ENUM
extern const char *const use_names[USES];

/* Share of GPU time, mean over replications. */
double explain_use(const struct summary *s, uint32_t column, enum use use);

/* The answer: which design and by what right; what it gains and costs against the reference. */
void explain_answer(struct text *t, const struct summary *s, const struct verdict *v);

/* What GPU time the designs waste most. */
void explain_waste(struct text *t, const struct summary *s);

/* Whether a spot pool pays: its discount, the break-even, the saving. Empty for other pools. */
void explain_spot(struct text *t, const struct summary *s, uint32_t column, uint32_t pool);

/* Why a design breaks or holds, and what would have to change: for one service. Empty when the
 * service is not there or saw no request. */
void explain_service(struct text *t, const struct summary *s, const struct verdict *v,
                     uint32_t column, uint32_t service);

/* One line of judgement: "misses TTFT p99 <= 2s (28 min in breach, attainment 0.981); meets ...".
 */
void explain_objectives(struct text *t, const struct summary *s, uint32_t column, uint32_t service);

#endif
