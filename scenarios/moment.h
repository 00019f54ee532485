/* Moments: the start of a run as a date, and points of it as times since the start. */
#ifndef HEADROOM_SCENARIOS_MOMENT_H
#define HEADROOM_SCENARIOS_MOMENT_H

#include "sim/field.h"

#define MOMENT_DATE_BYTES 20 /* "2026-01-01 00:00:00" */

/* Reads YYYY-MM-DD, or with a space or T and HH:MM or HH:MM:SS. date gets the full form, *day_s the
 * time of day in seconds. */
bool moment_start(const char *text, char date[MOMENT_DATE_BYTES], double *day_s);

/* Seconds since the start of a run that starts at day_s. */
double moment_since_start_s(struct field_moment m, double day_s);

/* Time of day in seconds, 0 to 86400. */
double moment_of_day_s(struct field_moment m, double day_s);

#endif
