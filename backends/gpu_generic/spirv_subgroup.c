/* SPDX-License-Identifier: Apache-2.0 */
/* What the threads of a warp, here a sub-group, do together.
 *
 * A device may choose how large sub-groups are, and which thread is which lane. So a kernel that is made for sub-groups of 32 finds out
 * as it runs, and its threads are numbered by sub-groups then:
 *
 *     full = SubgroupSize == 32 && NumSubgroups == 8
 *     number = full ? SubgroupId * 32 + SubgroupLocalInvocationId : LocalInvocationIndex
 *
 * T.warp_size_is(32) is `full`, which is the same for all threads of a block; threadIdx.x is made of the number.
 */
#include "spirv_kernel.h"

#include <string.h>

typedef struct search {
    int64_t size;
    bool asked, calls, several;
} search;

static void
note_size(search *s, const tn_expr *size)
{
    int64_t n;
    if (!tn_int_value(size, &n) || n < 2 || n > 128 || (s->size && s->size != n))
        s->several = true;
    else
        s->size = n;
}

static tn_walk_step
find_calls(void *user, const tn_node *n)
{
    search *s = user;
    const tn_call *c = tn_as_call(n);
    if (c && tn_is_intrin(n, TN_INTRIN_warp_size_is)) {
        s->asked = true;
        note_size(s, c->args.at[0]);
    } else if (c && tnk_is_warp_call(n)) {
        s->calls = true;
        note_size(s, c->args.at[c->args.n - 1]);
    }
    return TN_WALK_ON;
}

static uint32_t
builtin_word(spirv_kernel *k, SpvBuiltIn which)
{
    uint32_t word = spirv_int(&k->m, 32, 1);
    return AT_ENTRY(k, OpLoad, word, spirv_builtin(&k->m, which, word));
}

bool
spirv_subgroup_begin(spirv_kernel *k)
{
    spirv *m = &k->m;
    search s = {0};
    tn_walk(tn_as_prim_func(k->kernel->func)->body, TN_WALK_ONCE, find_calls, NULL, &s);
    if (k->matrices) {
        s.several |= s.size && s.size != k->limits->warp;
        s.size = k->limits->warp;
        s.asked = true;
    }
    if (!s.asked && !s.calls)
        return true;
    if (s.several || !s.asked) {
        tnk_visit_fail(k->v, 0,
                       s.several ? "it is made for warps of different sizes"
                                 : "threads of a warp exchange values, but no T.warp_size_is(%lld) "
                                   "asks whether warps are so large",
                       (long long)s.size);
        return false;
    }
    uint32_t b = spirv_bool(m, 1), word = spirv_int(m, 32, 1),
             threads = k->local_size[0] * k->local_size[1] * k->local_size[2];
    k->warp = (uint32_t)s.size;
    if (threads % k->warp) {
        k->full = spirv_const_bool(m, false, 1);
        return true;
    }
    spirv_capability(m, SpvCapabilityGroupNonUniform);
    k->subgroup_size = k->warp;
    uint32_t size = spirv_const_int(m, 32, k->warp, 1),
             is_size = AT_ENTRY(k, OpIEqual, b, builtin_word(k, SpvBuiltInSubgroupSize), size),
             is_number = AT_ENTRY(k, OpIEqual, b, builtin_word(k, SpvBuiltInNumSubgroups),
                                  spirv_const_int(m, 32, threads / k->warp, 1));
    k->full = AT_ENTRY(k, OpLogicalAnd, b, is_size, is_number);
    uint32_t first = AT_ENTRY(k, OpIMul, word, builtin_word(k, SpvBuiltInSubgroupId), size),
             number = AT_ENTRY(k, OpIAdd, word, first,
                               builtin_word(k, SpvBuiltInSubgroupLocalInvocationId));
    k->thread_number = AT_ENTRY(k, OpSelect, word, k->full, number,
                                builtin_word(k, SpvBuiltInLocalInvocationIndex));
    return true;
}

uint32_t
spirv_subgroup_thread(spirv_kernel *k, int dim)
{
    spirv *m = &k->m;
    uint32_t below = 1, above = 1, word = spirv_int(m, 32, 1), id = k->thread_number;
    if (!id)
        return 0;
    for (int i = 0; i < 3; i++)
        *(i < dim ? &below : &above) *= i == dim ? 1 : k->local_size[i];
    if (below > 1)
        id = AT_ENTRY(k, OpUDiv, word, id, spirv_const_int(m, 32, below, 1));
    if (above > 1)
        id = AT_ENTRY(k, OpUMod, word, id, spirv_const_int(m, 32, k->local_size[dim], 1));
    return id;
}

static tnk_id
fail(spirv_kernel *k, const tn_call *x, const char *why)
{
    return tnk_visit_fail(k->v, x->base.loc, "%s of %s: %s", tn_call_op_of(x)->base.name,
                          tnb_dtype_print(tn_dtype_of(TN_NODE(x))).s, why);
}

/* A power of two of lanes, not more than a warp. */
static bool
width_of(spirv_kernel *k, const tn_expr *x, uint32_t *width)
{
    int64_t n;
    if (!tn_int_value(x, &n) || n < 1 || n > k->warp || n & (n - 1))
        return false;
    *width = (uint32_t)n;
    return true;
}

static tnk_id
reduce(spirv_kernel *k, const tn_call *x, tnk_id a)
{
    const tn_string_imm *op = tn_as_string_imm(x->args.at[1]);
    tnb_dtype d = tn_dtype_of(TN_NODE(x));
    bool real = tnb_dtype_is_float(d), add = op && !strcmp(op->value, "add"),
         max = op && !strcmp(op->value, "max");
    uint32_t width, t = spirv_type(k, d), scope = spirv_const_int(&k->m, 32, SpvScopeSubgroup, 1);
    if (!op || d.lanes != 1 || !width_of(k, x->args.at[2], &width) || (real && !add))
        return fail(k, x, "it has no form in SPIR-V");
    bool whole = width == k->warp;
    if (!t || !spirv_need(k, whole ? GPU_GENERIC_ARITHMETIC : GPU_GENERIC_CLUSTERED))
        return 0;
    SpvOp code = add                 ? (real ? SpvOpGroupNonUniformFAdd : SpvOpGroupNonUniformIAdd)
                 : d.code == TNB_INT ? (max ? SpvOpGroupNonUniformSMax : SpvOpGroupNonUniformSMin)
                                     : (max ? SpvOpGroupNonUniformUMax : SpvOpGroupNonUniformUMin);
    const uint32_t operands[] = {scope,
                                 whole ? SpvGroupOperationReduce : SpvGroupOperationClusteredReduce,
                                 a, spirv_const_int(&k->m, 32, width, 1)};
    return spirv_wrapped(k, d, spirv_result(&k->m, &k->m.body, code, t, operands, whole ? 3 : 4));
}

/* The lane whose value this one gets: at a distance of `by` within its part of the warp. */
static tnk_id
source_lane(spirv_kernel *k, tn_intrin_id op, uint32_t width, tnk_id by)
{
    spirv *m = &k->m;
    uint32_t word = spirv_int(m, 32, 1), b = spirv_bool(m, 1),
             last = spirv_const_int(m, 32, width - 1, 1);
    tnk_id lane =
               RESULT(k, OpLoad, word, spirv_builtin(m, SpvBuiltInSubgroupLocalInvocationId, word)),
           place = RESULT(k, OpBitwiseAnd, word, lane, last), other, within;
    if (op == TN_INTRIN_tvm_warp_shuffle)
        return RESULT(k, OpBitwiseOr, word, RESULT(k, OpISub, word, lane, place),
                      RESULT(k, OpBitwiseAnd, word, by, last));
    if (op == TN_INTRIN_tvm_warp_shuffle_up) {
        other = RESULT(k, OpISub, word, lane, by);
        within = RESULT(k, OpUGreaterThanEqual, b, place, by);
    } else {
        other = RESULT(k, OpIAdd, word, lane, by);
        within = RESULT(k, OpULessThan, b, RESULT(k, OpIAdd, word, place, by),
                        spirv_const_int(m, 32, width, 1));
    }
    return RESULT(k, OpSelect, word, within, other, lane);
}

static tnk_id
exchange(spirv_kernel *k, const tn_call *x, const tnk_id *args, uint32_t n)
{
    tnb_dtype d = tn_dtype_of(TN_NODE(x));
    tn_intrin_id op = tn_intrin_of(TN_NODE(x));
    uint32_t width, t = spirv_type(k, d), scope = spirv_const_int(&k->m, 32, SpvScopeSubgroup, 1);
    if (n != 5 || d.lanes != 1 || !width_of(k, x->args.at[3], &width))
        return fail(k, x, "the number of lanes is no power of two");
    if (!t || !spirv_need(k, GPU_GENERIC_SHUFFLE))
        return 0;
    if (op == TN_INTRIN_tvm_warp_shuffle_xor)
        return RESULT(k, OpGroupNonUniformShuffleXor, t, scope, args[1], args[2]);
    return RESULT(k, OpGroupNonUniformShuffle, t, scope, args[1],
                  source_lane(k, op, width, args[2]));
}

tnk_id
spirv_subgroup_call(spirv_kernel *k, const tn_call *x, const tnk_id *args, uint32_t n)
{
    if (tn_is_intrin(TN_NODE(x), TN_INTRIN_warp_size_is))
        return k->full;
    switch ((int)tn_intrin_of(TN_NODE(x))) {
    case TN_INTRIN_tvm_warp_shuffle:
    case TN_INTRIN_tvm_warp_shuffle_up:
    case TN_INTRIN_tvm_warp_shuffle_down:
    case TN_INTRIN_tvm_warp_shuffle_xor:
        return exchange(k, x, args, n);
    case TN_INTRIN_warp_reduce:
        return reduce(k, x, args[0]);
    default:
        return fail(k, x, "it has no form in SPIR-V");
    }
}
