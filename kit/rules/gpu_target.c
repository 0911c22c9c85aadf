/* SPDX-License-Identifier: Apache-2.0 */
/* What the schedule rules for GPUs read of a target. Defaults, where an attribute is absent:
 *
 *     attribute                       cuda     other GPUs
 *     max_threads_per_block           1024     256            the smaller of the two counts
 *     max_num_threads                 1024     256
 *     thread_warp_size                32       1
 *     max_shared_memory_per_block     49152    16384
 *     vector_bytes                    16       16
 *
 * Images take no part in schedules: where a buffer lies in one, its scope says so, and loops stay as they are.
 */
#include "gpu.h"

const char *const gpu_attrs[] = {"max_threads_per_block", "max_num_threads",
                                 "thread_warp_size",      "max_shared_memory_per_block",
                                 "vector_bytes",          NULL};

static bool
has_key(const tn_node *attrs, const char *key)
{
    const tn_array *a = tn_as_array(tn_dict_get(attrs, "keys"));
    for (uint32_t i = 0; a && i < a->items.n; i++) {
        const tn_string_imm *k = tn_as_string_imm(a->items.at[i]);
        if (k && !strcmp(k->value, key))
            return true;
    }
    return false;
}

static bool
is_gpu(const tn_target *target)
{
    static const char *const kinds[] = {"cuda", "opencl", "vulkan",      "metal",
                                        "rocm", "webgpu", "gpu_generic", NULL};
    if (tn_dict_get(target->attrs, "keys"))
        return has_key(target->attrs, "gpu");
    for (int i = 0; kinds[i]; i++)
        if (!strcmp(target->kind, kinds[i]))
            return true;
    return false;
}

static int64_t
within(int64_t v, int64_t lo, int64_t hi, int64_t otherwise)
{
    return v < lo || v > hi ? otherwise : v;
}

bool
gpu_target_of(const tn_target *target, gpu_target *out)
{
    if (!target || !is_gpu(target))
        return false;
    bool cuda = !strcmp(target->kind, "cuda");
    const tn_node *a = target->attrs;
    int64_t most = cuda ? 1024 : 256;
    int64_t x = within(tn_dict_int(a, "max_threads_per_block", most), 1, 1 << 16, most),
            y = within(tn_dict_int(a, "max_num_threads", most), 1, 1 << 16, most);
    out->threads = x < y ? x : y;
    out->warp = within(tn_dict_int(a, "thread_warp_size", cuda ? 32 : 1), 1, 1024, 1);
    out->shared_bytes = tn_dict_int(a, "max_shared_memory_per_block", cuda ? 49152 : 16384);
    out->vector_bytes = within(tn_dict_int(a, "vector_bytes", 16), 1, 64, 16);
    return true;
}

int64_t
gpu_floor_pow2(int64_t n)
{
    int64_t p = 1;
    while (p <= n / 2)
        p *= 2;
    return p;
}

int64_t
gpu_threads_for(const gpu_target *t, int64_t n, int64_t most)
{
    int64_t limit = gpu_floor_pow2(most < t->threads ? most : t->threads), p = 1;
    if (n < 0)
        return limit;
    while (p < n && p < limit)
        p *= 2;
    return p;
}

int64_t
gpu_choose_threads(tn_ctx *ctx, const char *name, int64_t most, int64_t preferred)
{
    int64_t options[16];
    uint32_t n = 0;
    for (int64_t v = 8; v <= most && n < 16; v *= 2)
        options[n++] = v;
    return tnk_rule_choice(ctx, name, options, n, preferred);
}

int64_t
gpu_lanes(const gpu_target *t, tnb_dtype d)
{
    int64_t bytes = (int64_t)tnb_dtype_bytes(TNB_DTYPE(d.code, d.bits));
    int64_t n = bytes > 0 ? t->vector_bytes / bytes : 1;
    return n >= 16 ? 16 : n >= 1 ? gpu_floor_pow2(n) : 1;
}
