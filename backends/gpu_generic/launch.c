/* SPDX-License-Identifier: Apache-2.0 */
/* The gpu_generic backend, device half: launches. Nothing is allocated and no descriptor set made for one: parameters lie in push
 * constants or the stream's ring, descriptors are pushed or written to a set of the kernel's that is free again.
 */
#include "device.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_PUSH = 256, MAX_DISPATCHES = 1 << 16 };

/* ---- what is checked ---- */

static tnb_status
check_shape(const struct gpu_generic_device *d, const struct gpu_generic_function *k,
            const tnr_launch *l, tnb_err *err)
{
    const gpu_generic_kernel *h = &k->head;
    const uint32_t *most = d->info.props.limits.maxComputeWorkGroupCount;
    uint64_t dispatches = 1;
    if (l->block[0] != h->local_size[0] || l->block[1] != h->local_size[1] ||
        l->block[2] != h->local_size[2])
        return tnb_fail(err, TNB_INVALID,
                        "kernel '%s': a group of %" PRIu64 "x%" PRIu64 "x%" PRIu64
                        " threads, it was compiled for %" PRIu32 "x%" PRIu32 "x%" PRIu32,
                        k->name, l->block[0], l->block[1], l->block[2], h->local_size[0],
                        h->local_size[1], h->local_size[2]);
    if (l->shared_bytes)
        return tnb_fail(err, TNB_INVALID,
                        "kernel '%s': %" PRIu64 " bytes of shared memory beyond what its code "
                        "declares",
                        k->name, l->shared_bytes);
    for (int i = 0; i < 3; i++) {
        uint64_t parts = (l->grid[i] + most[i] - 1) / most[i];
        if (l->grid[i] > UINT32_MAX || parts > MAX_DISPATCHES)
            dispatches = UINT64_MAX;
        else if (dispatches <= MAX_DISPATCHES)
            dispatches *= parts;
    }
    if (dispatches == 1 || (dispatches <= MAX_DISPATCHES && h->flags & GPU_GENERIC_BASE))
        return TNB_OK;
    (void)tnb_fail(err, TNB_INVALID,
                   "kernel '%s': a grid of %" PRIu64 "x%" PRIu64 "x%" PRIu64
                   " groups; device '%s' has grids of %" PRIu32 "x%" PRIu32 "x%" PRIu32 "%s",
                   k->name, l->grid[0], l->grid[1], l->grid[2], d->info.props.deviceName, most[0],
                   most[1], most[2],
                   h->flags & GPU_GENERIC_BASE ? ", and it would take too many"
                                               : ", and the kernel was not compiled for several");
    return TNB_INVALID;
}

/* A driver that ends long loops would leave out the rest of the work without an error. Of the last loop's last test nothing depends. */
static tnb_status
check_turns(const struct gpu_generic_device *d, const struct gpu_generic_function *k,
            const tnr_launch *l, tnb_err *err)
{
    double turns = gpu_generic_turns(k->turns, k->head.turns_words, l->params) - 1;
    if (d->info.loop_turns == 0 || turns <= d->info.loop_turns)
        return TNB_OK;
    (void)
        tnb_fail(err, TNB_UNSUPPORTED,
                 "kernel '%s': the loops of a thread take up to %.0f turns; driver '%s' ends them "
                 "after %" PRIu32 " and does not say so",
                 k->name, turns, d->info.driver, d->info.loop_turns);
    tnb_hint(err, "run it for the target cpu or on another device, or let more threads share the "
                  "loop: docs/target-gpu-generic.md, Drivers' faults");
    return TNB_UNSUPPORTED;
}

static tnb_status
check_params(const struct gpu_generic_function *k, const tnr_launch *l, tnb_err *err)
{
    for (uint32_t i = 0; i < l->n_params; i++)
        if (l->params[i].kind == TNB_PARAM_TENSOR_MAP || l->params[i].kind == TNB_PARAM_IMAGE ||
            l->params[i].kind >= TNB_PARAM_END)
            return tnr_refuse_param(l, i, err);
    if (l->n_params != k->head.n_params)
        return tnb_fail(err, TNB_INVALID, "kernel '%s' takes %" PRIu32 " parameters, not %" PRIu32,
                        k->name, k->head.n_params, l->n_params);
    for (uint32_t i = 0; i < l->n_params; i++)
        if (l->params[i].kind != k->params[i].kind)
            return tnb_fail(err, TNB_INVALID,
                            "kernel '%s': parameter %" PRIu32 " is of kind %d, it takes kind %d",
                            k->name, i, l->params[i].kind, k->params[i].kind);
    return TNB_OK;
}

/* ---- memory ---- */

static bool
is_memory(const struct gpu_generic_placed *p)
{
    return p->kind == TNB_PARAM_BUFFER || p->kind == TNB_PARAM_REFUSED;
}

/* Bytes that are bound, from an aligned offset on. */
static uint64_t
range_of(const struct gpu_generic_device *d, const struct gpu_generic_memory *m,
         const tnr_memory *at)
{
    uint64_t mask = d->info.props.limits.minStorageBufferOffsetAlignment - 1,
             range = (((m->offset + at->offset) & mask) + at->bytes + 3) & ~UINT64_C(3);
    return range ? range : 4;
}

/* Whether memory of one binding is larger than that. */
static bool
needs_parts(const struct gpu_generic_device *d, const struct gpu_generic_function *k,
            const tnr_launch *l)
{
    for (uint32_t i = 0; i < l->n_params; i++) {
        const tnr_memory *at = &l->params[i].u.memory;
        if (is_memory(&k->params[i]) && !k->params[i].more && at->mem &&
            range_of(d, at->mem, at) > d->info.props.limits.maxStorageBufferRange)
            return true;
    }
    return false;
}

/* Where the parameter is bound, and which element it begins with. The driver binds from aligned offsets on, the kernel's code adds
 * the elements that are before. `infos`: of each of its bindings; those that nothing is left for are bound as the first one. */
static tnb_status
bind_memory(const struct gpu_generic_device *d, const struct gpu_generic_function *k, uint32_t i,
            const tnr_memory *at, VkDescriptorBufferInfo *infos, uint32_t *first, uint64_t *range,
            tnb_err *err)
{
    const struct gpu_generic_memory *m = at->mem;
    const struct gpu_generic_placed *p = &k->params[i];
    const VkPhysicalDeviceLimits *l = &d->info.props.limits;
    const uint64_t each = UINT64_C(1) << GPU_GENERIC_BINDING_BITS;
    uint64_t byte = m->offset + at->offset,
             base = byte & ~(uint64_t)(l->minStorageBufferOffsetAlignment - 1);
    *range = range_of(d, m, at);
    if ((byte - base) % p->bytes)
        return tnb_fail(err, TNB_UNSUPPORTED,
                        "kernel '%s': parameter %" PRIu32 " begins at byte %" PRIu64
                        ", which is no multiple of its elements' %d bytes",
                        k->name, i, at->offset, p->bytes);
    if (p->more ? *range > each * (1 + p->more) : *range > l->maxStorageBufferRange) {
        (void)tnb_fail(err, TNB_UNSUPPORTED,
                       "kernel '%s': parameter %" PRIu32 " of %" PRIu64
                       " bytes cannot be bound: device '%s' binds at most %" PRIu32,
                       k->name, i, at->bytes, d->info.props.deviceName, l->maxStorageBufferRange);
        tnb_hint(err, d->addresses
                          ? "compile for bufferDeviceAddress, which the device has: -t "
                            "gpu_generic:auto"
                          : "compile with constant extents (--dim NAME=N): such memory is bound "
                            "in as many parts as it takes; or use a device with "
                            "bufferDeviceAddress");
        return TNB_UNSUPPORTED;
    }
    for (uint32_t j = 0; j <= p->more; j++) {
        uint64_t before = j * each < *range ? j * each : 0, left = *range - before;
        infos[j] = (VkDescriptorBufferInfo){.buffer = m->block->buffer,
                                            .offset = base + before,
                                            .range = p->more && left > each ? each : left};
    }
    *first = (uint32_t)((byte - base) / p->bytes);
    return TNB_OK;
}

/* ---- the block of parameters ---- */

/* A scalar as the block holds it: integers extended by their sign, floats of at most 32 bits as float32. */
static void
put_scalar(const struct gpu_generic_placed *p, const tnr_param *v, unsigned char *block)
{
    if (v->kind == TNB_PARAM_SCALAR && tnb_dtype_is_float(v->dtype) && p->bytes <= 4) {
        float f = (float)v->u.scalar.f;
        memcpy(block + p->at, &f, sizeof f);
        return;
    }
    int64_t i = v->u.scalar.i; /* doubles travel as bits */
    int32_t w = (int32_t)i;
    if (p->bytes > 4)
        memcpy(block + p->at, &i, sizeof i);
    else
        memcpy(block + p->at, &w, sizeof w);
}

/* What a launch touches is in d->accesses, their number in *n; what it binds in d->infos behind the first `skip`. */
static tnb_status
fill(struct gpu_generic_device *d, const struct gpu_generic_function *k, const tnr_launch *l,
     unsigned char *block, uint32_t skip, uint32_t *n, tnb_err *err)
{
    bool addresses = k->head.flags & GPU_GENERIC_ADDRESSES;
    VkDescriptorBufferInfo *infos = d->infos + skip;
    *n = 0;
    for (uint32_t i = 0; i < l->n_params; i++) {
        const struct gpu_generic_placed *p = &k->params[i];
        const tnr_memory *at = &l->params[i].u.memory;
        if (!is_memory(p)) {
            put_scalar(p, &l->params[i], block);
            continue;
        }
        const struct gpu_generic_memory *m = at->mem;
        tnb_status st = gpu_generic_range(m, at->offset, at->bytes, err);
        if (st != TNB_OK) {
            tnb_err_prefix(err, "kernel '%s': parameter %" PRIu32, k->name, i);
            return st;
        }
        struct gpu_generic_access *a = &d->accesses[*n];
        *a = (struct gpu_generic_access){.block = m->block->id,
                                         .begin = m->offset + at->offset,
                                         .end = m->offset + at->offset + at->bytes,
                                         .written = p->written || l->params[i].written};
        if (addresses) {
            uint64_t address = m->block->address + a->begin;
            memcpy(block + p->at, &address, sizeof address);
        } else { /* what is bound may be more than what is used */
            uint32_t first = 0;
            uint64_t range = 0;
            TNB_TRY(bind_memory(d, k, i, at, infos, &first, &range, err));
            memcpy(block + p->at, &first, sizeof first);
            a->begin = infos->offset;
            a->end = infos->offset + range;
            infos += 1 + p->more;
        }
        ++*n;
    }
    return TNB_OK;
}

/* ---- recording ---- */

/* The kernel's next descriptor set, when the device has done what used it. *waited: begin again. */
static tnb_status
take_set(struct gpu_generic_stream *s, struct gpu_generic_function *k, VkDescriptorSet *out,
         bool *waited, tnb_err *err)
{
    struct gpu_generic_sets *all = k->sets;
    unsigned i = all->turn % GPU_GENERIC_SETS;
    struct gpu_generic_use *u = &all->uses[i];
    if (u->stream && gpu_generic_used(u))
        TNB_TRY(gpu_generic_progress(u->stream, err));
    if (u->stream && gpu_generic_used(u)) {
        *waited = true;
        return gpu_generic_reach(u->stream, u->value, err);
    }
    *u = (struct gpu_generic_use){s, gpu_generic_now(s)};
    *out = all->at[i];
    all->turn++;
    return TNB_OK;
}

struct prepared {
    uint64_t block; /* offset in the ring */
    VkDescriptorSet set;
};

/* Opens a batch with all that the launch needs of the stream. */
static tnb_status
prepare(struct gpu_generic_stream *s, struct gpu_generic_function *k, const tnr_launch *l,
        struct prepared *out, tnb_err *err)
{
    struct gpu_generic_device *d = s->device;
    const uint64_t alignment = d->info.props.limits.minStorageBufferOffsetAlignment;
    bool waited = true;
    while (waited) {
        waited = false;
        TNB_TRY(gpu_generic_batch_open(s, err));
        TNB_TRY(gpu_generic_touch(s, k->uses, &k->n_uses, &waited, err));
        for (uint32_t i = 0; i < l->n_params && !waited; i++) {
            struct gpu_generic_memory *m =
                is_memory(&k->params[i]) ? l->params[i].u.memory.mem : NULL;
            if (m)
                TNB_TRY(gpu_generic_touch(s, m->uses, &m->n_uses, &waited, err));
        }
        if (!waited && k->sets)
            TNB_TRY(take_set(s, k, &out->set, &waited, err));
        if (!waited && k->head.flags & GPU_GENERIC_BLOCK)
            TNB_TRY(gpu_generic_ring_take(s, &s->params, k->head.block_bytes + 16u,
                                          alignment > 16 ? alignment : 16, &out->block, &waited,
                                          err));
    }
    return TNB_OK;
}

static void
bind(struct gpu_generic_stream *s, struct gpu_generic_function *k, const struct prepared *p,
     uint32_t n)
{
    struct gpu_generic_device *d = s->device;
    VkCommandBuffer c = s->open->commands;
    if (s->bound != k->pipeline)
        d->vk.CmdBindPipeline(c, VK_PIPELINE_BIND_POINT_COMPUTE, k->pipeline);
    s->bound = k->pipeline;
    if (n == 0)
        return;
    const VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                        .dstSet = p->set,
                                        .dstBinding = k->layout->first,
                                        .descriptorCount = n, /* goes on to the bindings behind */
                                        .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                        .pBufferInfo = d->infos};
    if (k->layout->pushed) {
        d->vk.CmdPushDescriptorSetKHR(c, VK_PIPELINE_BIND_POINT_COMPUTE, k->layout->pipeline, 0, 1,
                                      &write);
        return;
    }
    d->vk.UpdateDescriptorSets(d->handle, 1, &write, 0, NULL);
    d->vk.CmdBindDescriptorSets(c, VK_PIPELINE_BIND_POINT_COMPUTE, k->layout->pipeline, 0, 1,
                                &p->set, 0, NULL);
}

static void
push(struct gpu_generic_stream *s, const struct gpu_generic_function *k, uint32_t at,
     uint32_t bytes, const void *data)
{
    s->device->vk.CmdPushConstants(s->open->commands, k->layout->pipeline,
                                   VK_SHADER_STAGE_COMPUTE_BIT, at, bytes, data);
}

/* A grid that is larger than the device's limit is several that differ in their first group. */
static void
dispatch(struct gpu_generic_stream *s, const struct gpu_generic_function *k, const tnr_launch *l)
{
    struct gpu_generic_device *d = s->device;
    const uint32_t *most = d->info.props.limits.maxComputeWorkGroupCount;
    uint64_t at[3], n[3];
    for (at[2] = 0; at[2] < l->grid[2]; at[2] += most[2])
        for (at[1] = 0; at[1] < l->grid[1]; at[1] += most[1])
            for (at[0] = 0; at[0] < l->grid[0]; at[0] += most[0]) {
                uint32_t base[3];
                for (int i = 0; i < 3; i++) {
                    base[i] = (uint32_t)at[i];
                    n[i] = l->grid[i] - at[i] < most[i] ? l->grid[i] - at[i] : most[i];
                }
                if (k->head.flags & GPU_GENERIC_BASE)
                    push(s, k, 0, sizeof base, base);
                d->vk.CmdDispatch(s->open->commands, (uint32_t)n[0], (uint32_t)n[1],
                                  (uint32_t)n[2]);
                d->counts.dispatches++;
            }
}

static tnb_status
launch(struct gpu_generic_stream *s, struct gpu_generic_function *k, const tnr_launch *l,
       tnb_err *err)
{
    struct gpu_generic_device *d = s->device;
    uint32_t flags = k->head.flags, n;
    bool in_ring = flags & GPU_GENERIC_BLOCK, bound = !(flags & GPU_GENERIC_ADDRESSES);
    uint32_t skip = in_ring && bound ? 1 : 0;
    struct prepared p = {0};
    uint64_t own[MAX_PUSH / 8] = {0};
    unsigned char *block = (unsigned char *)own;
    TNB_TRY(gpu_generic_kernel_ready(d, k, err));
    TNB_TRY(prepare(s, k, l, &p, err));
    if (in_ring)
        block = s->params.buffer.at + p.block;
    TNB_TRY(fill(d, k, l, block, skip, &n, err));
    if (skip)
        d->infos[0] =
            (VkDescriptorBufferInfo){.buffer = s->params.buffer.buffer,
                                     .offset = p.block,
                                     .range = k->head.block_bytes ? (k->head.block_bytes + 3u) & ~3u
                                                                  : 4};
    TNB_TRY(gpu_generic_order(s, d->accesses, n, k->name, err));
    bind(s, k, &p, bound ? k->n_bindings + skip : 0);
    uint32_t from = flags & GPU_GENERIC_BASE ? 12 : 0;
    if (in_ring && !bound) {
        VkDeviceAddress address = s->params.buffer.address + p.block;
        push(s, k, GPU_GENERIC_BLOCK_ADDRESS, sizeof address, &address);
    } else if (!in_ring && k->layout->push > from) {
        push(s, k, from, k->layout->push - from, block + from);
    }
    dispatch(s, k, l);
    d->counts.launches++;
    return gpu_generic_recorded(s, k, err);
}

tnb_status
gpu_generic_launch(void *dev, void *stream, void *kernel, const tnr_launch *l, tnb_err *err)
{
    struct gpu_generic_device *d = dev;
    struct gpu_generic_function *k = kernel;
    tnr_launch own = *l;
    if (!(l->flags & TNR_LAUNCH_GRID)) { /* one group does it all */
        for (int i = 0; i < 3; i++) {
            own.grid[i] = 1;
            own.block[i] = k->head.local_size[i];
        }
        own.shared_bytes = 0;
    }
    for (int i = 0; i < 3; i++)
        if (own.grid[i] == 0 || own.block[i] == 0)
            return TNB_OK;
    TNB_TRY(gpu_generic_alive(d, err));
    TNB_TRY(check_params(k, &own, err));
    TNB_TRY(check_shape(d, k, &own, err));
    TNB_TRY(check_turns(d, k, &own, err));
    pthread_mutex_lock(&d->lock);
    if (k->parts && needs_parts(d, k, &own))
        k = k->parts;
    tnb_status st = launch(gpu_generic_stream_of(d, stream), k, &own, err);
    pthread_mutex_unlock(&d->lock);
    return st;
}
