/* SPDX-License-Identifier: Apache-2.0 */
/* LowerViews: for targets without pointers (supports_pointers is False, or another attribute by which memory gets elements of its
 * own: supports_8bit_buffer, supports_16bit_buffer, supports_int64) each access names the buffer that has the memory.
 *
 *     p = T.handle_add_byte_offset(A.data, 64)
 *     V = T.decl_buffer((16,), "int32", data=p)      =>      B[i] = T.reinterpret("int32", A[16 + i])      (A: float32)
 *     B[i] = V[i]
 *
 * A view of elements of another dtype but the same width is reinterpreted. What has no form as an index is an error that names it:
 * elements of another width, offsets that are no whole elements, pointers that are given to functions. Prefetches go.
 * Needs: flat buffers. Leaves: no DeclBuffer, no address_of.
 */
#include "lower.h"

typedef struct views {
    tn_ctx *ctx;
    const char *func, *reason; /* an attribute of the target */
    tnb_ptrmap roots;          /* data pointer -> the buffer that has the memory */
    tnb_ptrmap pointers;       /* variable of a pointer -> its value */
    bool failed;
} views;

/* A place in memory: bytes from the start of a buffer. */
typedef struct place {
    const tn_node *root;
    const tn_expr *bytes;
} place;

static void
refuse(views *v, tn_loc loc, const char *name, const char *what)
{
    if (!v->failed) {
        tn_error(v->ctx, loc, TNB_UNSUPPORTED,
                 "'%s': buffer '%s': %s, which has no form without pointers (the target's "
                 "attribute %s is False)",
                 v->func, name, what, v->reason);
    }
    v->failed = true;
}

static const tn_expr *
wide(tn_ctx *ctx, const tn_expr *e)
{
    return tn_cast_to(ctx, TNB_I64, e);
}

static int64_t
bytes_of(tnb_dtype d)
{
    return (int64_t)tnb_dtype_bytes(d);
}

/* Where a pointer points to; false: it is not known. */
static bool
resolve(views *v, const tn_expr *p, place *out)
{
    tn_ctx *ctx = v->ctx;
    const tn_expr *value = tn_is_var(p) ? tnb_ptrmap_get(&v->pointers, p) : p;
    out->root = tn_is_var(p) ? tnb_ptrmap_get(&v->roots, p) : NULL;
    out->bytes = tn_i64(ctx, 0);
    if (out->root || !value)
        return out->root != NULL;
    const tn_call *c = tn_as_call(value);
    const tn_expr *more;
    if (tn_is_var(value))
        return resolve(v, value, out);
    if (!c)
        return false;
    switch ((int)tn_intrin_of(value)) {
    case TN_INTRIN_address_of: {
        const tn_buffer_load *l = tn_as_buffer_load(c->args.at[0]);
        if (!l || l->indices.n != 1 || !resolve(v, tn_as_buffer(l->buffer)->data, out))
            return false;
        more = tn_mul(ctx, wide(ctx, l->indices.at[0]),
                      tn_i64(ctx, bytes_of(tn_as_buffer(l->buffer)->dtype)));
        break;
    }
    case TN_INTRIN_tvm_access_ptr:
        if (!resolve(v, c->args.at[1], out))
            return false;
        more = tn_mul(ctx, wide(ctx, c->args.at[2]),
                      tn_i64(ctx, bytes_of(tn_dtype_of(c->args.at[0]))));
        break;
    case TN_INTRIN_handle_add_byte_offset:
        if (!resolve(v, c->args.at[0], out))
            return false;
        more = wide(ctx, c->args.at[1]);
        break;
    default:
        return false;
    }
    out->bytes = tn_add(ctx, out->bytes, more);
    return true;
}

/* The index into the root for one into a view of it; NULL after an error. */
static const tn_expr *
root_index(views *v, const tn_node *at, const tn_buffer *view, const place *p, const tn_expr *i)
{
    tn_ctx *ctx = v->ctx;
    const tn_buffer *root = tn_as_buffer(p->root);
    int64_t unit = bytes_of(root->dtype), lanes = view->dtype.lanes, coeff, base;
    if (view->dtype.bits != root->dtype.bits ||
        tnb_dtype_is_bool(view->dtype) != tnb_dtype_is_bool(root->dtype) ||
        root->dtype.lanes != 1) {
        refuse(v, at->loc, view->name,
               tn_strf(ctx, "its elements are %s in the memory of '%s', whose elements are %s",
                       tnb_dtype_print(view->dtype).s, root->name, tnb_dtype_print(root->dtype).s));
        return NULL;
    }
    tn_arith *a = tn_arith_new(ctx);
    tn_modular(a, p->bytes, &coeff, &base);
    if (coeff % unit || base % unit) {
        refuse(v, at->loc, view->name,
               tn_strf(ctx, "it begins %s bytes behind '%s', which need not be whole elements",
                       tn_text(ctx, p->bytes), root->name));
        return NULL;
    }
    const tn_expr *from = tn_simplify(a, tn_floordiv(ctx, p->bytes, tn_i64(ctx, unit)));
    const tn_ramp *r = tn_as_ramp(i);
    tnb_dtype d = tn_dtype_of(i);
    if (lanes > 1 && d.lanes == 1)
        return tn_ramp_of(ctx, tn_add(ctx, from, tn_mul(ctx, wide(ctx, i), tn_i64(ctx, lanes))),
                          tn_i64(ctx, 1), lanes);
    if (lanes > 1) {
        refuse(v, at->loc, view->name,
               "its elements are vectors, and several are accessed at once");
        return NULL;
    }
    if (r)
        return tn_ramp_of(ctx, tn_add(ctx, from, wide(ctx, r->start)), wide(ctx, r->stride),
                          r->lanes);
    tnb_dtype w = TNB_I64;
    w.lanes = d.lanes;
    return d.lanes == 1 ? tn_add(ctx, from, wide(ctx, i))
                        : tn_add(ctx, tn_broadcast_of(ctx, from, d.lanes), tn_cast_to(ctx, w, i));
}

static const tn_expr *
as_dtype(tn_ctx *ctx, tnb_dtype d, const tn_expr *e)
{
    d.lanes = tn_dtype_of(e).lanes;
    return tnk_reinterpret(ctx, d, e);
}

static const tn_node *
access(views *v, const tn_node *n, const tn_node *buffer, tn_list idx)
{
    tn_ctx *ctx = v->ctx;
    const tn_buffer *b = tn_as_buffer(buffer);
    place p;
    if (tnb_ptrmap_get(&v->roots, b->data) == buffer || idx.n != 1)
        return NULL;
    if (!resolve(v, b->data, &p)) {
        refuse(v, n->loc, b->name, "its memory is not the kernel's");
        return n;
    }
    const tn_expr *at = root_index(v, n, b, &p, idx.at[0]);
    if (!at)
        return n;
    tn_list one = tn_list_of(ctx, &at, 1);
    if (n->kind == TN_KIND_BUFFER_LOAD)
        return as_dtype(ctx, b->dtype, tn_buffer_load_of(ctx, p.root, one));
    return tn_buffer_store_of(ctx, p.root,
                              as_dtype(ctx, tn_as_buffer(p.root)->dtype,
                                       ((const tn_buffer_store *)n)->value),
                              one);
}

static bool
is_pointer(const tn_node *n)
{
    return n && n->type && tn_dtype_of(n).code == TNB_HANDLE;
}

static const tn_node *
pre(tn_rewriter *r, const tn_node *n)
{
    views *v = r->user;
    if (v->failed)
        return n;
    const tn_bind *b = tn_as_bind(n);
    const tn_evaluate *e = tn_as_evaluate(n);
    if (b && is_pointer(b->var))
        return tn_removed();
    if (n->kind == TN_KIND_DECL_BUFFER || (e && tn_is_intrin(e->value, TN_INTRIN_prefetch)))
        return tn_removed();
    if (n->kind == TN_KIND_CALL && tn_intrin_of(n) != TN_INTRIN_tvm_storage_sync) {
        tn_list args = ((const tn_call *)n)->args;
        const tn_op *op = tn_call_op_of((const tn_call *)n);
        for (uint32_t i = 0; i < args.n && !v->failed; i++)
            if (is_pointer(args.at[i]) || tn_is_intrin(n, TN_INTRIN_address_of)) {
                place p;
                bool known = is_pointer(args.at[i]) && resolve(v, args.at[i], &p);
                const tn_buffer_load *l = tn_as_buffer_load(args.at[i]);
                refuse(v, n->loc,
                       known ? tn_as_buffer(p.root)->name
                       : l   ? tn_as_buffer(l->buffer)->name
                             : "?",
                       tn_strf(v->ctx, "a pointer to it is given to '%s'",
                               op ? op->base.name : "a function"));
            }
    }
    return NULL;
}

static const tn_node *
post(tn_rewriter *r, const tn_node *n)
{
    tn_list idx;
    const tn_node *buffer = tnk_accessed(n, &idx);
    return buffer && !((views *)r->user)->failed ? access(r->user, n, buffer, idx) : NULL;
}

static tn_walk_step
find_memory(void *user, const tn_node *n)
{
    views *v = user;
    if (n->kind == TN_KIND_ALLOC_BUFFER) {
        const tn_node *b = ((const tn_alloc_buffer *)n)->buffer;
        tnb_ptrmap_set(&v->roots, tn_as_buffer(b)->data, b);
    } else if (n->kind == TN_KIND_BIND && is_pointer(((const tn_bind *)n)->var)) {
        tnb_ptrmap_set(&v->pointers, ((const tn_bind *)n)->var, ((const tn_bind *)n)->value);
    }
    return TN_WALK_ON;
}

static const tn_node *
lower_func(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func,
           void *user)
{
    (void)m;
    const tn_prim_func *f = tn_as_prim_func(func);
    views v = {.ctx = pc->ctx, .func = name, .reason = user};
    tnb_ptrmap_init(&v.roots, tn_scratch(pc->ctx));
    tnb_ptrmap_init(&v.pointers, tn_scratch(pc->ctx));
    for (uint32_t i = 0; i < f->buffers.n; i++)
        if (f->buffers.at[i])
            tnb_ptrmap_set(&v.roots, tn_as_buffer(f->buffers.at[i])->data, f->buffers.at[i]);
    tn_walk(f->body, TN_WALK_ONCE, find_memory, NULL, &v);
    tn_rewriter r = {.ctx = pc->ctx, .user = &v, .pre = pre, .post = post};
    const tn_stmt *body = tn_rewrite(&r, f->body);
    return v.failed || tn_is_error(body) ? NULL : tnk_func_with_body(pc->ctx, f, body);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    static const char *const reasons[] = {"supports_pointers", "supports_8bit_buffer",
                                          "supports_16bit_buffer", "supports_int64"};
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (tnk_target_lacks(pc, reasons[i]))
            return tnk_map_kernels(pc, m, lower_func, (void *)(uintptr_t)reasons[i]);
    return m;
}

const tn_pass tnk_pass_lower_views = {
    .base.size = sizeof(tn_pass),
    .base.name = "LowerViews",
    .base.doc = "Turns views of memory into indices of the buffer that has it, for targets without "
                "pointers.",
    .keeps = TN_KEEPS_BITS,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
