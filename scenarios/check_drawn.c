/* Checks of drawn jobs. */
#include "scenarios/sharing.h"

#include <math.h>

void check_elastic(const struct check *c, const void *at, uint64_t gpus, uint64_t min, uint64_t max)
{
    if (gpus == FIELD_NO_WHOLE)
        return;
    if (min != FIELD_NO_WHOLE && min > gpus)
        check_say(c, DIAG_ERROR, at, "min_gpus", NULL, "min_gpus is above gpus");
    if (max != FIELD_NO_WHOLE && max < gpus)
        check_say(c, DIAG_ERROR, at, "max_gpus", NULL, "max_gpus is below gpus");
}

static void check_class(const struct check *c, const struct job_class_spec *s)
{
    check_duration(c, &s->work);
    sharing_check_slice(c, s->at, s->slice);
    check_elastic(c, s->at, s->gpus, s->min_gpus, s->max_gpus);
    if (s->gpus != FIELD_NO_WHOLE && c->fleet_gpus && s->gpus > c->fleet_gpus)
        check_say(c, DIAG_ERROR, s->at, "gpus", NULL,
                  "a job of %llu GPUs never fits a fleet of %llu", (unsigned long long)s->gpus,
                  (unsigned long long)c->fleet_gpus);
    if (s->priority != (double)(int32_t)s->priority)
        check_say(c, DIAG_ERROR, s->at, "priority", NULL, "priority: must be a whole number");
    if (s->busy < 1 && node_get(s->at, "preemptible") && s->preemptible)
        check_say(c, DIAG_ERROR, s->at, "preemptible", NULL,
                  "preemptible: a job that is busy only in part is never evicted");
}

void check_drawn(const struct check *c, const struct drawn_spec *d)
{
    if (!d->at)
        return;
    const struct job_class_spec *classes = d->classes.items;
    double shares = 0;
    for (size_t i = 0; i < d->classes.n; i++) {
        check_class(c, &classes[i]);
        shares += classes[i].share;
    }
    if (d->classes.at && !(shares > 0))
        check_say(c, DIAG_ERROR, d->at, "classes", NULL, "classes: one needs a share above 0");
    bool count = d->count != FIELD_NO_WHOLE, rate = !isnan(d->rate_per_s);
    if (d->users.at && (count || rate))
        check_say(c, DIAG_ERROR, d->at, count ? "count" : "rate", NULL,
                  "%s has no meaning with users: each submits when the former job has ended",
                  count ? "count" : "rate");
    else if (!d->users.at && !count && !rate)
        check_say(c, DIAG_ERROR, d->at, NULL, NULL,
                  "drawn jobs need a count (all at once), a rate (a stream), or users");
    check_duration(c, &d->users.gap);
}
