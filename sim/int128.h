/* 128-bit integers: share-nanoseconds and other integrals that 64 bits cannot hold (64 bits
 * overflow at 213,504 GPU-days). Both gcc and clang have them; this is the one place that says so.
 */
#ifndef HEADROOM_SIM_INT128_H
#define HEADROOM_SIM_INT128_H

__extension__ typedef unsigned __int128 u128;
__extension__ typedef __int128 i128;

#endif
