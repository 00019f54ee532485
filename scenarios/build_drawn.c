/* Drawn jobs: from the spec to the plan. */
#include "scenarios/build.h"
#include "scenarios/sharing.h"

#include <math.h>

static enum hr_err build_classes(const struct build *b, const struct drawn_spec *s,
                                 struct mix_plan *out)
{
    const struct job_class_spec *from = s->classes.items;
    struct job_class *classes = arena_array(b->check->arena, s->classes.n, sizeof *classes);
    if (!classes)
        return HR_NOMEM;
    for (size_t i = 0; i < s->classes.n; i++)
        classes[i] = (struct job_class){
            .name = s->classes.names[i],
            .tenant = from[i].tenant ? from[i].tenant : "",
            .gpus = (uint32_t)from[i].gpus,
            .min_gpus = build_bound(from[i].min_gpus),
            .max_gpus = build_bound(from[i].max_gpus),
            .share = from[i].share,
            .work = build_dist(&from[i].work),
            .priority = (int32_t)from[i].priority,
            .preemptible = from[i].preemptible,
            .busy = from[i].busy,
            .slice = sharing_slice(b->check, from[i].slice),
        };
    out->classes = classes;
    out->n_classes = s->classes.n;
    return HR_OK;
}

enum hr_err build_drawn(const struct build *b, const struct drawn_spec *s, struct mix_plan *out)
{
    *out = (struct mix_plan){.kind = MIX_NONE};
    if (!s->at)
        return HR_OK;
    bool rate = !isnan(s->rate_per_s);
    out->kind = s->users.at ? MIX_USERS : rate ? MIX_POISSON : MIX_AT_ONCE;
    out->count = s->users.at ? s->users.count : s->count != FIELD_NO_WHOLE ? s->count : 0;
    out->rate_per_s = rate ? s->rate_per_s : 0;
    out->start_ns = sim_time_from_s(s->start_s);
    if (s->users.at)
        out->gap = build_dist(&s->users.gap);
    return build_classes(b, s, out);
}
