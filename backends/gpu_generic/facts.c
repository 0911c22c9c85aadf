/* SPDX-License-Identifier: Apache-2.0 */
/* The gpu_generic backend, device half: properties that programs ask for by name: limits of the device, and counts of what was done since it
 * was opened (launches, submits, allocations), which `tenon bench --json` prints. */
#include "device.h"

#include <time.h>

double
gpu_generic_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void
add_int(struct gpu_generic_device *d, const char *name, uint64_t value, const char *doc)
{
    d->facts[d->n_facts++] =
        (tnr_property){.name = name, .type = TNR_PROPERTY_INT, .u.i = (int64_t)value, .doc = doc};
}

static void
add_seconds(struct gpu_generic_device *d, const char *name, double value, const char *doc)
{
    d->facts[d->n_facts++] =
        (tnr_property){.name = name, .type = TNR_PROPERTY_FLOAT, .u.f = value, .doc = doc};
}

static void
add_text(struct gpu_generic_device *d, const char *name, const char *value)
{
    d->facts[d->n_facts++] =
        (tnr_property){.name = name, .type = TNR_PROPERTY_TEXT, .u.text = value};
}

/* Filled at each call, because the counts go on; all but their numbers stays the same. */
const tnr_property *
gpu_generic_facts(void *dev, uint32_t *n)
{
    struct gpu_generic_device *d = dev;
    const struct gpu_generic_info *i = &d->info;
    const VkPhysicalDeviceLimits *l = &i->props.limits;
    const struct gpu_generic_counts *c = &d->counts;
    pthread_mutex_lock(&d->lock);
    d->n_facts = 0;
    add_int(d, "memory_bytes", i->heap, "memory of the device");
    add_int(d, "threads_per_block", l->maxComputeWorkGroupInvocations, "most threads of a group");
    add_int(d, "warp", i->subgroup, "threads of a sub-group");
    add_int(d, "shared_bytes", l->maxComputeSharedMemorySize, "most shared memory of a group");
    d->facts[d->n_facts++] =
        (tnr_property){.name = "unified_memory", .type = TNR_PROPERTY_BOOL, .u.b = d->unified};
    add_text(d, "driver_version", i->driver_info);
    add_int(d, "gpu_generic.binding_bytes", l->maxStorageBufferRange,
            "most bytes that one binding reaches");
    add_int(d, "gpu_generic.loop_turns", i->loop_turns,
            "turns of a thread's loops that the driver allows; 0: any number");
    add_int(d, "gpu_generic.queues", d->n_queues, "queues that streams are spread over");
    add_int(d, "gpu_generic.launches", c->launches,
            "launches of kernels since the device was opened");
    add_int(d, "gpu_generic.dispatches", c->dispatches,
            "dispatches; more than launches where grids exceed a limit");
    add_int(d, "gpu_generic.submits", c->submits, "submits, of launches and copies");
    add_int(d, "gpu_generic.barriers", c->barriers, "barriers between commands");
    add_int(d, "gpu_generic.allocations", c->allocations, "allocations of memory from the driver");
    add_int(d, "gpu_generic.descriptor_sets", c->sets,
            "descriptor sets made; 0 where descriptors are pushed");
    add_int(d, "gpu_generic.pipelines", c->pipelines, "pipelines made");
    add_seconds(d, "gpu_generic.open_seconds", c->open_seconds,
                "time of the driver's calls that opened the device");
    add_seconds(d, "gpu_generic.pipeline_seconds", c->pipeline_seconds,
                "time of the driver's calls that made pipelines and read their cache");
    *n = d->n_facts;
    pthread_mutex_unlock(&d->lock);
    return d->facts;
}
