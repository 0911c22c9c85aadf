/* SPDX-License-Identifier: Apache-2.0 */
/* The gpu_generic backend, compiler half: how many turns the loops of a thread take, as steps that the device half computes for each
 * launch (payload.h). Some driver ends long loops in silence: launches with such are refused.
 */
#include "gpu_generic.h"

#include "tenon/core/build.h"
#include "tenon/kit/cost.h"
#include "tenon/kit/emit_hooks.h"

#include "payload.h"

typedef struct steps {
    const tnk_kernel *k;
    uint32_t *at, n, depth;
} steps;

static bool
put(steps *s, gpu_generic_step step, int64_t n)
{
    bool leaf = step == GPU_GENERIC_STEP_NUMBER || step == GPU_GENERIC_STEP_PARAM;
    if (s->n == GPU_GENERIC_MAX_TURNS_WORDS || (leaf && s->depth == GPU_GENERIC_MAX_TURNS_DEPTH) ||
        n < 0 || n >> 28)
        return false;
    s->at[s->n++] = (uint32_t)step | (uint32_t)n << 4;
    s->depth += leaf ? 1 : UINT32_MAX;
    return true;
}

static gpu_generic_step
step_of(const tn_expr *e)
{
    switch ((int)e->kind) {
    case TN_KIND_ADD:
        return GPU_GENERIC_STEP_ADD;
    case TN_KIND_SUB:
        return GPU_GENERIC_STEP_SUB;
    case TN_KIND_MUL:
        return GPU_GENERIC_STEP_MUL;
    case TN_KIND_DIV:
    case TN_KIND_FLOOR_DIV:
        return GPU_GENERIC_STEP_DIV;
    case TN_KIND_MIN:
        return GPU_GENERIC_STEP_MIN;
    case TN_KIND_MAX:
        return GPU_GENERIC_STEP_MAX;
    default:
        return GPU_GENERIC_STEP_END;
    }
}

/* False: an expression that has no steps, or too many. */
static bool
expression(steps *s, const tn_expr *e)
{
    int64_t n;
    const tnk_param *p = tn_is_var(e) ? tnk_find_param(s->k, e) : NULL;
    if (tnb_dtype_is_float(tn_dtype_of(e)))
        return false;
    if (tn_int_value(e, &n)) /* what is larger than a step holds is too large for every device */
        return n >= 0 ? put(s, GPU_GENERIC_STEP_NUMBER, n >> 28 ? (1 << 28) - 1 : n)
                      : put(s, GPU_GENERIC_STEP_NUMBER, 0) &&
                            put(s, GPU_GENERIC_STEP_NUMBER, -(n + 1)) &&
                            put(s, GPU_GENERIC_STEP_NUMBER, 1) && put(s, GPU_GENERIC_STEP_ADD, 0) &&
                            put(s, GPU_GENERIC_STEP_SUB, 0);
    if (p)
        return p->kind == TNB_PARAM_SCALAR && put(s, GPU_GENERIC_STEP_PARAM, p - s->k->params);
    if (e->kind == TN_KIND_CAST)
        return expression(s, ((const tn_cast *)e)->value);
    gpu_generic_step step = step_of(e);
    return step != GPU_GENERIC_STEP_END && expression(s, ((const tn_binary *)e)->a) &&
           expression(s, ((const tn_binary *)e)->b) && put(s, step, 0);
}

uint32_t
gpu_generic_put_turns(tn_ctx *ctx, const tnk_kernel *k, uint32_t *words)
{
    uint32_t open;
    steps s = {.k = k, .at = words};
    const tn_expr *n = tnk_kernel_turns(ctx, k, &open);
    return !tn_is_int_const(n, 0) && expression(&s, n) ? s.n : 0;
}
