/* SPDX-License-Identifier: Apache-2.0 */
/* Small helpers on statements that the lowering passes share. */
#include "lower.h"
#include "tenon/kit/vm.h"

const tn_stmt *
tnk_nothing(tn_ctx *ctx)
{
    return tn_evaluate_of(ctx, tn_i32(ctx, 0));
}

bool
tnk_is_nothing(const tn_stmt *s)
{
    if (!s)
        return true;
    if (s->kind == TN_KIND_SEQ)
        return ((const tn_seq *)s)->stmts.n == 0;
    return s->kind == TN_KIND_EVALUATE && tn_is(((const tn_evaluate *)s)->value, TN_KIND_INT_IMM);
}

const tn_stmt *
tnk_seq(tn_ctx *ctx, const tn_stmt *const *at, uint32_t n)
{
    TNB_VEC(const tn_stmt *) v = {0};
    for (uint32_t i = 0; i < n; i++)
        if (!tnk_is_nothing(at[i]))
            TNB_PUSH(tn_scratch(ctx), v, at[i]);
    if (v.n == 0)
        return tnk_nothing(ctx);
    return v.n == 1 ? v.at[0] : tn_seq_of(ctx, (tn_list){v.at, v.n});
}

const tn_stmt *
tnk_for_with(tn_ctx *ctx, const tn_for_loop *f, const tn_expr *min, const tn_expr *extent,
             const tn_stmt *body)
{
    if (min == f->min && extent == f->extent && body == f->body)
        return TN_NODE(f);
    tn_loc was = tn_at(ctx, f->base.loc);
    const tn_stmt *s = tn_for_of(ctx, f->var, min, extent, (tn_for_kind)f->for_kind, f->thread_tag,
                                 f->annotations, body);
    tn_at(ctx, was);
    return s;
}

const tn_node *
tnk_func_with_body(tn_ctx *ctx, const tn_prim_func *f, const tn_stmt *body)
{
    if (body == f->body)
        return TN_NODE(f);
    tn_loc was = tn_at(ctx, f->base.loc);
    const tn_node *n = tn_prim_func_of(ctx, f->params, f->buffers, body, f->ret, f->attrs);
    tn_at(ctx, was);
    return n;
}

const tn_expr *
tnk_reinterpret(tn_ctx *ctx, tnb_dtype d, const tn_expr *e)
{
    const tn_expr *op = tn_op_ref_of(ctx, &tn_scalar_intrinsics[TN_INTRIN_reinterpret - 1]);
    return tnb_dtype_eq(d, tn_dtype_of(e))
               ? e
               : tn_scalar_call(ctx, d, op, tn_list_of(ctx, &e, 1), NULL);
}

const tn_expr *
tnk_int_of(tn_ctx *ctx, tnb_dtype d, int64_t v)
{
    tnb_dtype one = d;
    one.lanes = 1;
    const tn_expr *x = tn_int_imm_of(ctx, one, v);
    return d.lanes > 1 ? tn_broadcast_of(ctx, x, d.lanes) : x;
}

int64_t
tnk_target_int(const tn_pass_ctx *pc, const char *attr, int64_t otherwise)
{
    return pc->target ? tn_dict_int(pc->target->attrs, attr, otherwise) : otherwise;
}

bool
tnk_target_lacks(const tn_pass_ctx *pc, const char *attr)
{
    return tnk_target_int(pc, attr, 1) == 0;
}

const tn_node *
tnk_accessed(const tn_node *n, tn_list *indices)
{
    if (n->kind == TN_KIND_BUFFER_LOAD) {
        *indices = ((const tn_buffer_load *)n)->indices;
        return ((const tn_buffer_load *)n)->buffer;
    }
    if (n->kind == TN_KIND_BUFFER_STORE) {
        *indices = ((const tn_buffer_store *)n)->indices;
        return ((const tn_buffer_store *)n)->buffer;
    }
    return NULL;
}

bool
tnk_thread_tag(const char *tag, bool *is_block, int *dim)
{
    *is_block = tag && !strncmp(tag, "blockIdx.", 9);
    if (!tag || (!*is_block && strncmp(tag, "threadIdx.", 10)))
        return false;
    const char *d = tag + (*is_block ? 9 : 10);
    *dim = d[0] - 'x';
    return *dim >= 0 && *dim < 3 && !d[1];
}

static tn_walk_step
find_index_check(void *user, const tn_node *n)
{
    (void)user;
    return n->kind == TN_KIND_CALL && tn_is_intrin(n, TN_INTRIN_index_in) ? TN_WALK_STOP
                                                                          : TN_WALK_ON;
}

bool
tnk_checks_index(const tn_node *n)
{
    return !tn_walk(n, 0, find_index_check, NULL, NULL);
}

typedef struct map_user {
    const tn_stmt *(*fn)(tn_ctx *ctx, const tn_pass_ctx *pc, const tn_prim_func *f);
} map_user;

static const tn_node *
map_one(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func,
        void *user)
{
    (void)m;
    (void)name;
    const tn_prim_func *f = tn_as_prim_func(func);
    const tn_stmt *body = ((map_user *)user)->fn(pc->ctx, pc, f);
    if (!body || tn_is_error(body))
        return NULL;
    return tnk_func_with_body(pc->ctx, f, body);
}

const tn_module *
tnk_map_bodies(const tn_pass_ctx *pc, const tn_module *m,
               const tn_stmt *(*fn)(tn_ctx *ctx, const tn_pass_ctx *pc, const tn_prim_func *f))
{
    map_user u = {fn};
    return tn_map_functions(pc, m, TN_PRIM_FUNCS, map_one, &u);
}

typedef struct kernel_map {
    const tn_node *(*one)(const tn_pass_ctx *pc, const tn_module *m, const char *name,
                          const tn_node *func, void *user);
    void *user;
} kernel_map;

static const tn_node *
map_kernel(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func,
           void *user)
{
    const kernel_map *k = user;
    return tnk_is_host_func(func) ? func : k->one(pc, m, name, func, k->user);
}

const tn_module *
tnk_map_kernels(const tn_pass_ctx *pc, const tn_module *m,
                const tn_node *(*one)(const tn_pass_ctx *pc, const tn_module *m, const char *name,
                                      const tn_node *func, void *user),
                void *user)
{
    kernel_map k = {one, user};
    return tn_map_functions(pc, m, TN_PRIM_FUNCS, map_kernel, &k);
}

bool
tnk_is_warp_call(const tn_node *n)
{
    switch ((int)tn_intrin_of(n)) {
    case TN_INTRIN_tvm_warp_shuffle:
    case TN_INTRIN_tvm_warp_shuffle_up:
    case TN_INTRIN_tvm_warp_shuffle_down:
    case TN_INTRIN_tvm_warp_shuffle_xor:
    case TN_INTRIN_warp_reduce:
        return true;
    default:
        return false;
    }
}
