/* Scenarios of worksheets about queues: a training queue whose gangs are the customers, and a fleet
 * whose GPUs are the servers.
 *
 * Gangs save nothing and need no restart, so a run time is a service time; first come, first
 * served. */
#ifndef HEADROOM_ANALYSIS_WORKSHEETS_STATION_H
#define HEADROOM_ANALYSIS_WORKSHEETS_STATION_H

#include "analysis/text.h"
#include "analysis/worksheets/sheet.h"

struct station {
    const char *name;
    double servers, width; /* GPUs of the fleet, of one customer */
    double rate_per_s;     /* Poisson arrivals; or: */
    double users, gap_s;   /* a closed group, exponential time away */
    double service_s, scv; /* mean; squared coefficient of variation: 0 fixed, 1 exponential, else
                              gamma */
    double customers;      /* about so many are counted, after a tenth as many */
};

/* False, with the reason in t: the language cannot say it (no customers, too long, too large). */
bool station_yaml(const struct station *s, struct text *t);

/* How many customers a load below 1 takes for a steady mean: more near 1, where a queue forgets its
 * past slowly. */
double station_customers(double load);

/* For checks: the mean number of busy GPUs of one replication. */
double station_busy(const struct sheet_case *c, const struct summary *s, uint32_t replication);

#endif
