/* SPDX-License-Identifier: Apache-2.0 */
/* InjectPTXAsyncCopy: copies into shared memory that a pipeline starts early become instructions that do not wait for them.
 *
 *     with T.attr(0, "async_commit_queue_scope", 0):              T.ptx_cp_async("float16", T.address_of(S[...]), 0,
 *         with T.attr(0, "async_scope", 1):                                       T.address_of(A[...]), 0, 16)
 *             S[T.ramp(..., 1, 8)] = A[T.ramp(..., 1, 8)]    =>   T.ptx_commit_group()
 *     with T.attr(0, "async_wait_queue_scope", 0):                T.ptx_wait_group(1)
 *         with T.attr(0, "async_wait_inflight_count", 1):         ...
 *             ...
 *
 * At the end of async_arrive_scope its copies arrive at the barrier in shared memory that is its value (ptx_cp_async_mbarrier_arrive); if
 * some stayed stores, the thread waits for the others and arrives itself.
 *
 * A copy of 4, 8 or 16 bytes that begins at a multiple of them, all or nothing under a condition (T.if_then_else with zeros), which
 * the instruction then takes; others stay stores. Conditions that threads meet or not may part a warp, whose threads matrix
 * instructions want together: it meets again behind such copies (T.tvm_storage_sync("warp")). A target without such copies
 * (supports_async_copy) has stores alone, and nothing to wait for. Needs: flat buffers, vectors.
 */
#include "lower.h"
#include "tenon/core/registry.h"

typedef struct async_copies {
    bool wanted;     /* the target has them */
    uint32_t inside; /* scopes around */
    bool matrices;   /* there are matrix instructions */
    uint32_t queues; /* as bits: several share the one that there is, and each wait is for all */
    bool arrives;    /* there are scopes whose copies arrive at a barrier */
    uint32_t stores; /* in asynchronous scopes that stayed what they were */
} async_copies;

static const tn_stmt *
call(tn_ctx *ctx, const char *name, tnb_dtype d, const tn_expr *const *args, uint32_t n)
{
    const tn_op *op = tn_find_op(tn_ctx_registry(ctx), name, NULL);
    return tn_evaluate_of(ctx, tn_scalar_call(ctx, d, tn_op_ref_of(ctx, op),
                                              tn_list_of(ctx, args, n), NULL));
}

/* The first element of `lanes` neighbours, if it is certainly at a multiple of them. */
static const tn_expr *
begins_at(tnk_ranged *r, tn_list idx, int64_t lanes)
{
    const tn_expr *at = idx.n == 1 ? idx.at[0] : NULL;
    const tn_ramp *rp = tn_as_ramp(at);
    int64_t coeff, base;
    if (!at || (rp ? !tn_is_int_const(rp->stride, 1) || rp->lanes != lanes : lanes != 1))
        return NULL;
    at = rp ? rp->start : at;
    tn_modular(r->arith, at, &coeff, &base);
    return coeff % lanes == 0 && base % lanes == 0 ? at : NULL;
}

static bool
is_zero(const tn_expr *e)
{
    while (tn_is(e, TN_KIND_BROADCAST))
        e = tn_as_broadcast(e)->value;
    const tn_float_imm *f = tn_as_float_imm(e);
    return tn_is_int_const(e, 0) || (f && f->value == 0);
}

static const tn_expr *
address(tn_ctx *ctx, const tn_node *buffer, const tn_expr *at)
{
    const tn_expr *element = tn_buffer_load_of(ctx, buffer, tn_list_of(ctx, &at, 1));
    return tn_intrin(ctx, TN_INTRIN_address_of, tn_list_of(ctx, &element, 1));
}

static const tn_stmt *
copy(tnk_ranged *r, const tn_buffer_store *st)
{
    tn_ctx *ctx = r->ctx;
    const tn_buffer *to = tn_as_buffer(st->buffer);
    const tn_expr *value = st->value, *cond = NULL;
    if (tn_is_intrin(value, TN_INTRIN_if_then_else)) {
        tn_list a = tn_as_call(value)->args;
        if (!is_zero(a.at[2]) || tn_dtype_of(a.at[0]).lanes != 1)
            return NULL;
        cond = a.at[0];
        value = a.at[1];
    }
    const tn_buffer_load *l = tn_as_buffer_load(value);
    const tn_buffer *from = l ? tn_as_buffer(l->buffer) : NULL;
    if (!l || !tnb_dtype_eq(from->dtype, to->dtype) || strncmp(to->scope, "shared", 6) ||
        (from->scope && *from->scope && strcmp(from->scope, "global")))
        return NULL;
    int64_t lanes = tn_dtype_of(value).lanes, bytes = lanes * (int64_t)tnb_dtype_bytes(to->dtype);
    const tn_expr *x = begins_at(r, st->indices, lanes), *y = begins_at(r, l->indices, lanes);
    if (!x || !y || (bytes != 4 && bytes != 8 && bytes != 16))
        return NULL;
    const tn_expr *zero = tn_int_imm_of(ctx, TNB_I32, 0),
                  *args[] = {tn_string(ctx, tnb_dtype_print(to->dtype).s),
                             address(ctx, st->buffer, x),
                             zero,
                             address(ctx, l->buffer, y),
                             zero,
                             tn_int_imm_of(ctx, TNB_I32, bytes),
                             cond};
    return call(ctx, "tirx.ptx_cp_async", to->dtype, args, cond ? 7 : 6);
}

static tn_walk_step
find_condition(void *user, const tn_node *n)
{
    (void)user;
    const tn_call *c = tn_is_intrin(n, TN_INTRIN_ptx_cp_async) ? tn_as_call(n) : NULL;
    return n->kind == TN_KIND_IF_STMT || tn_is_intrin(n, TN_INTRIN_if_then_else) ||
                   (c && c->args.n == 7)
               ? TN_WALK_STOP
               : TN_WALK_ON;
}

/* The copies, and the warp's meeting where they may have parted it. */
static const tn_stmt *
together(tn_ctx *ctx, const async_copies *c, const tn_stmt *s)
{
    if (!c->matrices || tn_walk(s, TN_WALK_ONCE, find_condition, NULL, NULL))
        return s;
    const tn_expr *scope = tn_string(ctx, "warp");
    const tn_stmt *both[] = {s, tn_evaluate_of(ctx,
                                               tn_intrin1(ctx, TN_INTRIN_tvm_storage_sync, scope))};
    return tnk_seq(ctx, both, 2);
}

static const tn_stmt *
arrive(tnk_ranged *r, const tn_attr_stmt *a)
{
    async_copies *c = r->user;
    tn_ctx *ctx = r->ctx;
    uint32_t before = c->stores, n = 0;
    const tn_expr *zero = tn_int_imm_of(ctx, TNB_I32, 0);
    const tn_stmt *s[4];
    s[n++] = tnk_ranged_rewrite(r, a->body);
    bool stays = c->stores != before;
    if (stays && c->wanted) {
        s[n++] = call(ctx, "tirx.ptx_commit_group", TNB_I32, NULL, 0);
        s[n++] = call(ctx, "tirx.ptx_wait_group", TNB_I32, &zero, 1);
    }
    s[n++] = tn_evaluate_of(ctx, tn_intrin1(ctx,
                                            stays ? TN_INTRIN_ptx_mbarrier_arrive
                                                  : TN_INTRIN_ptx_cp_async_mbarrier_arrive,
                                            a->value));
    return tnk_seq(ctx, s, n);
}

static const tn_stmt *
pre(tnk_ranged *r, const tn_stmt *s)
{
    async_copies *c = r->user;
    tn_ctx *ctx = r->ctx;
    const tn_attr_stmt *a = tn_as_attr_stmt(s);
    if (!a || strncmp(a->key, "async_", 6))
        return NULL;
    if (!strcmp(a->key, "async_scope")) {
        c->inside++;
        const tn_stmt *body = tnk_ranged_rewrite(r, a->body);
        c->inside--;
        return body;
    }
    const tn_stmt *both[2];
    if (!strcmp(a->key, "async_arrive_scope"))
        return arrive(r, a);
    if (!strcmp(a->key, "async_commit_queue_scope")) {
        both[0] = together(ctx, c, tnk_ranged_rewrite(r, a->body));
        if (!c->wanted)
            return both[0];
        both[1] = call(ctx, "tirx.ptx_commit_group", TNB_I32, NULL, 0);
        return tnk_seq(ctx, both, 2);
    }
    const tn_attr_stmt *n =
        !strcmp(a->key, "async_wait_queue_scope") ? tn_as_attr_stmt(a->body) : NULL;
    if (!n || strcmp(n->key, "async_wait_inflight_count"))
        return NULL;
    both[1] = tnk_ranged_rewrite(r, n->body);
    if (!c->wanted)
        return both[1];
    bool several = c->queues & (c->queues - 1);
    int64_t known;
    const tn_expr *count = tn_simplify(r->arith, n->value);
    if (several || !tn_int_value(count, &known) || known < 0) /* the instruction takes a literal */
        count = tn_int_imm_of(ctx, TNB_I32, 0);
    count = tn_cast_to(ctx, TNB_I32, count);
    both[0] = call(ctx, "tirx.ptx_wait_group", TNB_I32, &count, 1);
    return tnk_seq(ctx, both, 2);
}

static const tn_stmt *
post(tnk_ranged *r, const tn_stmt *s)
{
    async_copies *c = r->user;
    const tn_buffer_store *st = c->inside ? tn_as_buffer_store(s) : NULL;
    const tn_stmt *now = st && c->wanted ? copy(r, st) : NULL;
    c->stores += st && !now;
    return now;
}

static tn_walk_step
find_queues(void *user, const tn_node *n)
{
    const tn_attr_stmt *a = tn_as_attr_stmt(n);
    int64_t q;
    if (a && !strcmp(a->key, "async_commit_queue_scope") && tn_int_value(a->value, &q))
        ((async_copies *)user)->queues |= 1u << (q & 31);
    ((async_copies *)user)->arrives |= a && !strcmp(a->key, "async_arrive_scope");
    ((async_copies *)user)->matrices |=
        tn_is_intrin(n, TN_INTRIN_ptx_ldmatrix) || tn_is_intrin(n, TN_INTRIN_ptx_mma);
    return TN_WALK_ON;
}

static const tn_stmt *
run_body(tn_ctx *ctx, const tn_pass_ctx *pc, const tn_prim_func *f)
{
    async_copies c = {.wanted = tnk_target_int(pc, "supports_async_copy", 0) != 0};
    tnk_ranged r = {.pre = pre, .post = post, .user = &c};
    tn_walk(f->body, 0, find_queues, NULL, &c);
    if (!c.queues && !c.arrives)
        return f->body;
    tnk_ranged_init(&r, ctx, f);
    return tnk_ranged_rewrite(&r, f->body);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tnk_map_bodies(pc, m, run_body);
}

const tn_pass tnk_pass_async_copy = {
    .base.size = sizeof(tn_pass),
    .base.name = "InjectPTXAsyncCopy",
    .base.doc = "Makes asynchronous copies of the stores that a software pipeline starts early.",
    .keeps = TN_KEEPS_BITS,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
