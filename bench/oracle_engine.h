/* The engine with the oracle heap as its pending set, under names of its own, so that both engines
 * can take turns in one process. Include this in place of sim/engine.h. */
#ifndef HEADROOM_BENCH_ORACLE_ENGINE_H
#define HEADROOM_BENCH_ORACLE_ENGINE_H

#define engine_new          oracle_engine_new
#define engine_free         oracle_engine_free
#define engine_now          oracle_engine_now
#define engine_timer_new    oracle_engine_timer_new
#define engine_timer_free   oracle_engine_timer_free
#define engine_prefetch_set oracle_engine_prefetch_set
#define engine_schedule     oracle_engine_schedule
#define engine_cancel       oracle_engine_cancel
#define engine_due          oracle_engine_due
#define engine_cursor_add   oracle_engine_cursor_add
#define engine_run          oracle_engine_run
#define engine_step         oracle_engine_step
#define engine_stop         oracle_engine_stop
#define engine_check_set    oracle_engine_check_set
#define engine_stats        oracle_engine_stats

#include "sim/engine.h"

#endif
