/* The section `hardware`: the user's types, each with what it takes from another one. */
#include "scenarios/node.h"
#include "scenarios/spec_hardware.h"

#include <math.h>
#include <string.h>

struct building {
    struct arena *arena;
    struct diags *diags;
    struct hardware *hardware;
    struct gpu_type *gpus;
    struct node_type *nodes;
};

static void say(const struct building *b, const void *at, const char *key, const char *nearest,
                const char *what)
{
    const struct node *n = at, *below = key ? node_get(n, key) : NULL;
    node_say(below ? below : n, b->diags, DIAG_ERROR, nearest, "%s", what);
}

/* What the user states, in units of so many; else what is there. */
static struct hw_number number(double stated, double unit, struct hw_number like)
{
    if (!isnan(stated))
        return (struct hw_number){stated / unit, HW_STATED, "the scenario"};
    return like.source ? like : (struct hw_number){(double)NAN, HW_UNKNOWN, ""};
}

static struct hw_number whole(uint64_t stated, struct hw_number like)
{
    return number(stated == FIELD_NO_WHOLE ? (double)NAN : (double)stated, 1, like);
}

static struct mig_profile profile_of(const struct mig_profile_spec *s)
{
    const uint64_t *starts = s->starts.items;
    struct mig_profile p = {
        .name = s->name,
        .id = (uint8_t)s->id,
        .compute = (uint8_t)s->compute,
        .memory = (uint8_t)s->memory,
        .media = s->media,
        .n_sm = (uint16_t)s->sms,
        .memory_mib = isnan(s->bytes) ? 0 : (uint32_t)(s->bytes / (1 << 20)),
        .l2_eighths = MIG_UNKNOWN,
        .copy_engines = MIG_UNKNOWN,
        .nvdec = MIG_UNKNOWN,
        .jpeg = MIG_UNKNOWN,
        .ofa = MIG_UNKNOWN,
    };
    for (size_t i = 0; i < s->starts.n; i++)
        if (starts[i] < MIG_SLICES) /* else it has been refused */
            p.starts |= (uint8_t)(1u << starts[i]);
    return p;
}

/* Profiles of the user in place of those it is like, and what contradicts itself. */
static enum hr_err build_mig(const struct building *b, const struct gpu_type_spec *s,
                             struct gpu_type *out)
{
    const struct mig_profile_spec *specs = s->profiles.items;
    if (s->compute_slices != FIELD_NO_WHOLE)
        out->mig.compute = (uint8_t)s->compute_slices;
    if (s->memory_slices != FIELD_NO_WHOLE)
        out->mig.memory = (uint8_t)s->memory_slices;
    if (s->profiles.n) {
        struct mig_profile *profiles = arena_array(b->arena, s->profiles.n, sizeof *profiles);
        if (!profiles)
            return HR_NOMEM;
        for (size_t i = 0; i < s->profiles.n; i++)
            profiles[i] = profile_of(&specs[i]);
        out->mig.profiles = profiles;
        out->mig.n_profiles = (uint8_t)s->profiles.n;
        out->mig_confidence = HW_STATED;
        out->mig_source = "the scenario";
        for (size_t i = 0; i < s->profiles.n; i++)
            if (profiles[i].compute && profiles[i].memory)
                profiles[i].max = (uint8_t)mig_most_instances(&out->mig, &profiles[i]);
    }
    size_t wrong;
    const char *fault = out->mig.n_profiles ? mig_gpu_fault(&out->mig, &wrong) : NULL;
    if (!fault)
        return HR_OK;
    const bool of_profile = wrong < s->profiles.n && s->profiles.n;
    char text[256];
    snprintf(text, sizeof text, "%s%.64s %s", of_profile ? "profile " : "a GPU with MIG",
             of_profile ? specs[wrong].name : "", fault);
    say(b, of_profile ? s->profiles.where[wrong] : s->at, NULL, NULL, text);
    return HR_OK;
}

static enum hr_err build_gpu(struct building *b, const char *name, const void *where,
                             const struct gpu_type_spec *s)
{
    struct gpu_type type = {.name = name, .title = name, .mig_source = ""};
    const struct gpu_type *like = s->like ? gpu_type_find(b->hardware, s->like) : NULL;
    if (gpu_type_find(b->hardware, name))
        say(b, where, NULL, NULL, "there is a GPU of this name already");
    if (s->like && !like)
        say(b, s->at, "like", gpu_type_nearest(b->hardware, s->like),
            "like: there is no such type of GPU");
    if (like)
        type = *like;
    type.name = name;
    type.title = s->title ? s->title : name;
    type.memory_gb = number(s->memory_bytes, 1e9, type.memory_gb);
    type.bandwidth_gb_per_s = number(s->bandwidth_per_s, 1e9, type.bandwidth_gb_per_s);
    type.n_sm = whole(s->sms, type.n_sm);
    type.power_cap_w = number(s->power_w, 1, type.power_cap_w);
    type.power_idle_w = number(s->idle_power_w, 1, type.power_idle_w);
    type.usd_per_h = number(s->usd_per_h, 1, type.usd_per_h);
    TRY(build_mig(b, s, &type));
    b->gpus[b->hardware->n_gpus++] = type;
    return HR_OK;
}

static void build_node(struct building *b, const char *name, const void *where,
                       const struct node_type_spec *s)
{
    struct node_type type = {.name = name};
    const struct node_type *like = s->like ? node_type_find(b->hardware, s->like) : NULL;
    if (node_type_find(b->hardware, name))
        say(b, where, NULL, NULL, "there is a node of this name already");
    if (s->like && !like)
        say(b, s->at, "like", node_type_nearest(b->hardware, s->like),
            "like: there is no such type of node");
    if (like)
        type = *like;
    type.name = name;
    type.title = s->title ? s->title : name;
    type.gpu = s->gpu ? s->gpu : type.gpu;
    type.n_gpus = whole(s->gpus, type.n_gpus);
    type.n_sockets = whole(s->sockets, type.n_sockets);
    type.n_nics = whole(s->nics, type.n_nics);
    type.n_vcpus = whole(s->vcpus, type.n_vcpus);
    type.network_gb_per_s = number(s->network_per_s, 1e9, type.network_gb_per_s);
    type.memory_gb = number(s->memory_bytes, 1e9, type.memory_gb);
    type.power_max_kw = number(s->power_w, 1e3, type.power_max_kw);
    type.domain_gpus = whole(s->domain, type.domain_gpus);
    if (!s->like && (!s->gpu || !hw_known(type.n_gpus)))
        say(b, where, NULL, NULL, "a node needs gpu and gpus, or a type that it is like");
    else if (s->gpu && !gpu_type_find(b->hardware, s->gpu))
        say(b, s->at, "gpu", gpu_type_nearest(b->hardware, s->gpu),
            "gpu: there is no such type of GPU");
    b->nodes[b->hardware->n_nodes++] = type;
}

enum hr_err hardware_build(const struct hardware_spec *spec, struct arena *arena,
                           struct diags *diags, struct hardware *out)
{
    struct building b = {.arena = arena, .diags = diags, .hardware = out};
    b.gpus = arena_array(arena, GPU_TYPES + spec->gpus.n, sizeof *b.gpus);
    b.nodes = arena_array(arena, NODE_TYPES + spec->nodes.n, sizeof *b.nodes);
    if (!b.gpus || !b.nodes)
        return HR_NOMEM;
    memcpy(b.gpus, gpu_types, sizeof gpu_types);
    memcpy(b.nodes, node_types, sizeof node_types);
    *out = (struct hardware){b.gpus, GPU_TYPES, b.nodes, NODE_TYPES};
    for (size_t i = 0; i < spec->gpus.n; i++)
        TRY(build_gpu(&b, spec->gpus.names[i], spec->gpus.where[i],
                      (const struct gpu_type_spec *)spec->gpus.items + i));
    for (size_t i = 0; i < spec->nodes.n; i++)
        build_node(&b, spec->nodes.names[i], spec->nodes.where[i],
                   (const struct node_type_spec *)spec->nodes.items + i);
    return HR_OK;
}
