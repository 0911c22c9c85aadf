/* SPDX-License-Identifier: Apache-2.0 */
/* What the schedule rules for GPUs read of a target. An attribute that it does not give (targets written in a module) is what the
 * schema of its kind says, and where there is none:
 *
 *     max_threads_per_block           256            the smaller of the two counts
 *     max_num_threads                 256
 *     thread_warp_size                1
 *     max_shared_memory_per_block     16384
 *     max_dynamic_shared_memory_per_block   0        what is more than max_shared_memory_per_block counts
 *     vector_bytes                    16
 *     cooperative_matrix              ""             as "16x16x16"
 *
 * A GPU is what has the key "gpu". Images take no part in schedules: where a buffer lies in one, its scope says so, and loops stay
 * as they are.
 */
#include "gpu.h"

#include <stdio.h>

const char *const gpu_attrs[] = {"max_threads_per_block",
                                 "max_num_threads",
                                 "thread_warp_size",
                                 "max_shared_memory_per_block",
                                 "vector_bytes",
                                 "cooperative_matrix",
                                 NULL};

/* The target's attributes, or where they lack `name`, a Dict of what the schema of its kind gives that one. */
static const tn_node *
attrs_with(tn_ctx *ctx, const tn_target *target, const char *name)
{
    tn_registry *r = tn_ctx_registry(ctx);
    if (!r || tn_dict_get(target->attrs, name))
        return target->attrs;
    const tn_target_kind *kind = tn_find_target(r, target->kind, NULL);
    for (const tn_attr_schema *a = kind ? kind->attrs : NULL; a && a->name; a++) {
        if (strcmp(a->name, name))
            continue;
        const tn_attr_schema rows[2] = {*a, {0}};
        tn_op schema = {.base.size = sizeof schema, .base.name = target->kind, .attrs = rows};
        return tn_op_attrs(ctx, &schema, tn_dict_of(ctx, NULL, NULL, 0));
    }
    return target->attrs;
}

static bool
is_gpu(tn_ctx *ctx, const tn_target *target)
{
    const tn_array *a = tn_as_array(tn_dict_get(attrs_with(ctx, target, "keys"), "keys"));
    for (uint32_t i = 0; a && i < a->items.n; i++) {
        const tn_string_imm *k = tn_as_string_imm(a->items.at[i]);
        if (k && !strcmp(k->value, "gpu"))
            return true;
    }
    return false;
}

/* The attribute's number, of lo to hi; else `otherwise`. */
static int64_t
within(tn_ctx *ctx, const tn_target *target, const char *name, int64_t lo, int64_t hi,
       int64_t otherwise)
{
    int64_t v = tn_dict_int(attrs_with(ctx, target, name), name, otherwise);
    return v >= lo && v <= hi ? v : otherwise;
}

bool
gpu_target_of(tn_ctx *ctx, const tn_target *target, gpu_target *out)
{
    if (!target || !is_gpu(ctx, target))
        return false;
    int64_t x = within(ctx, target, "max_threads_per_block", 1, 1 << 16, 256),
            y = within(ctx, target, "max_num_threads", 1, 1 << 16, 256);
    out->threads = x < y ? x : y;
    out->warp = within(ctx, target, "thread_warp_size", 1, 1024, 1);
    out->shared_bytes =
        within(ctx, target, "max_shared_memory_per_block", INT64_MIN, INT64_MAX, 16384);
    int64_t launch = within(ctx, target, "max_dynamic_shared_memory_per_block", 0, INT64_MAX, 0);
    out->most_shared = launch > out->shared_bytes ? launch : out->shared_bytes;
    out->vector_bytes = within(ctx, target, "vector_bytes", 1, 64, 16);
    const char *unit =
        tn_dict_str(attrs_with(ctx, target, "cooperative_matrix"), "cooperative_matrix", "");
    int rows, columns, steps;
    memset(out->unit, 0, sizeof out->unit);
    if (out->warp > 1 && sscanf(unit, "%4dx%4dx%4d", &rows, &columns, &steps) == 3 && rows > 0 &&
        columns > 0 && steps > 0) {
        out->unit[0] = rows;
        out->unit[1] = columns;
        out->unit[2] = steps;
    }
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
