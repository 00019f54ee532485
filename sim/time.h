/* Simulated time: whole nanoseconds in an unsigned 64-bit count (584 years).
 *
 * Doubles enter only at the edges of the program, through sim_time_from_s, so that one rounding
 * rule (to the nearest nanosecond, half away from zero) holds everywhere. */
#ifndef HEADROOM_SIM_TIME_H
#define HEADROOM_SIM_TIME_H

#include <math.h>
#include <stdint.h>

typedef uint64_t simtime_ns;

#define SIM_NEVER UINT64_MAX
#define SIM_US    UINT64_C(1000)
#define SIM_MS    UINT64_C(1000000)
#define SIM_S     UINT64_C(1000000000)
#define SIM_MIN   (60 * SIM_S)
#define SIM_HOUR  (3600 * SIM_S)
#define SIM_DAY   (86400 * SIM_S)

/* Seconds to nanoseconds; negative and NaN give 0, beyond the range SIM_NEVER. */
static inline simtime_ns sim_time_from_s(double s)
{
    double ns = s * 1e9;
    if (!(ns > 0))
        return 0;
    return ns >= 18446744073709549568.0 ? SIM_NEVER : (simtime_ns)(ns + 0.5);
}

/* The nearest double: 90 s is 90, not 90.00000000000001. */
static inline double sim_time_to_s(simtime_ns t)
{
    return (double)t / 1e9;
}

/* Sum that stops at SIM_NEVER instead of wrapping. */
static inline simtime_ns sim_time_add(simtime_ns a, simtime_ns b)
{
    return a > SIM_NEVER - b ? SIM_NEVER : a + b;
}

#endif
