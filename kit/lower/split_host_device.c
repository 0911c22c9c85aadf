/* SPDX-License-Identifier: Apache-2.0 */
/* SplitHostDevice: a tensor program of several launches becomes host code and one kernel for each.
 *
 *     def f(A, C):                            def f(A, C):                  (tirx.is_host_func)
 *         B = T.alloc_buffer(n)                   B = T.alloc_buffer(n)
 *         for bx in blockIdx.x: B[..] = ..   =>   Module.f_kernel(A.data, B.data, n)
 *         for bx in blockIdx.x: C[..] = ..        Module.f_kernel_1(B.data, C.data, n)
 *
 * A kernel is an outermost loop bound to threads. What stands around them (loops, conditions, lets that read no buffer) is run by
 * the host, allocations in scope "global" too; other allocations go into the kernel that uses them. A statement between kernels
 * that touches buffers becomes a kernel of one thread. A function that is one launch as it stands is left alone, and so is one
 * without any threads. Kernels get the buffers they use, then every variable they need.
 */
#include "lower.h"

typedef struct split {
    tn_ctx *ctx;
    const tn_prim_func *func;
    const char *name;
    tn_module_edit *edit; /* grows by the kernels */
    uint32_t n_kernels;
    TNB_VEC(const tn_node *) inner; /* allocations that are not global */
    bool failed;
} split;

static bool
is_global(const tn_node *buffer)
{
    const char *scope = tn_as_buffer(buffer)->scope;
    return !scope || !*scope || !strncmp(scope, "global", 6);
}

static bool
is_launch(const tn_stmt *s)
{
    const tn_for_loop *f = tn_as_for_loop(s);
    const tn_attr_stmt *a = tn_as_attr_stmt(s);
    return (f && f->for_kind == TN_FOR_THREAD_BINDING) || (a && !strcmp(a->key, "thread_extent"));
}

static tn_walk_step
find_launch(void *user, const tn_node *n)
{
    if (!is_launch(n))
        return TN_WALK_ON;
    *(bool *)user = true;
    return TN_WALK_STOP;
}

static bool
has_launch(const tn_stmt *s)
{
    bool found = false;
    if (s)
        tn_walk(s, TN_WALK_ONCE, find_launch, NULL, &found);
    return found;
}

static tn_walk_step
find_access(void *user, const tn_node *n)
{
    if (n->kind != TN_KIND_BUFFER_LOAD && n->kind != TN_KIND_BUFFER_STORE)
        return TN_WALK_ON;
    *(bool *)user = true;
    return TN_WALK_STOP;
}

static bool
touches_buffers(const tn_node *n)
{
    bool found = false;
    if (n)
        tn_walk(n, TN_WALK_ONCE, find_access, NULL, &found);
    return found;
}

/* One launch, or none, with nothing for the host to do? */
static bool
is_one_kernel(const tn_stmt *s)
{
    for (;;) {
        const tn_block_realize *r = tn_as_block_realize(s);
        const tn_block *b = r ? tn_as_block(r->block) : NULL;
        if (is_launch(s))
            return true;
        if (!b || b->iters.n || b->init || b->match_buffers.n)
            break;
        for (uint32_t i = 0; i < b->allocs.n; i++)
            if (is_global(b->allocs.at[i]))
                return false;
        s = b->body;
    }
    return false;
}

/* ---- kernels ---- */

static bool
listed(const tn_node *const *at, uint32_t n, const tn_node *x)
{
    for (uint32_t i = 0; i < n; i++)
        if (at[i] == x)
            return true;
    return false;
}

typedef struct needs {
    TNB_VEC(const tn_node *) buffers, allocs, scalars;
} needs;

static void
need_var(split *sp, needs *w, const tn_expr *v)
{
    if (tn_dtype_of(v).code != TNB_HANDLE && !listed(w->scalars.at, w->scalars.n, v))
        TNB_PUSH(tn_scratch(sp->ctx), w->scalars, v);
}

static void
need_vars_of(split *sp, needs *w, const tn_expr *e)
{
    tn_list fv = e ? tn_free_vars(sp->ctx, e, false) : (tn_list){0};
    for (uint32_t i = 0; i < fv.n; i++)
        need_var(sp, w, fv.at[i]);
}

static void
collect(split *sp, needs *w, const tn_stmt *s)
{
    tn_list fv = tn_free_vars(sp->ctx, s, true);
    for (uint32_t i = 0; i < fv.n; i++) {
        const tn_node *x = fv.at[i];
        if (tn_as_buffer(x) && listed(sp->inner.at, sp->inner.n, x))
            TNB_PUSH(tn_scratch(sp->ctx), w->allocs, x);
        else if (tn_as_buffer(x))
            TNB_PUSH(tn_scratch(sp->ctx), w->buffers, x);
        else if (tn_is_var(x))
            need_var(sp, w, x);
    }
    for (uint32_t i = 0; i < w->buffers.n + w->allocs.n; i++) {
        const tn_buffer *b =
            tn_as_buffer(i < w->buffers.n ? w->buffers.at[i] : w->allocs.at[i - w->buffers.n]);
        for (uint32_t d = 0; d < b->shape.n; d++)
            need_vars_of(sp, w, b->shape.at[d]);
    }
}

static const char *
kernel_name(split *sp)
{
    for (;;) {
        uint32_t i = sp->n_kernels++;
        const char *name = i ? tn_strf(sp->ctx, "%s_kernel_%u", sp->name, i)
                             : tn_strf(sp->ctx, "%s_kernel", sp->name);
        if (!tn_module_edit_get(sp->edit, name))
            return name;
    }
}

typedef struct uses {
    const tn_buffer *b;
    bool read, written;
} uses;

static tn_walk_step
note_use(void *user, const tn_node *n)
{
    uses *u = user;
    const tn_buffer_load *l = n->kind == TN_KIND_BUFFER_LOAD ? tn_as_buffer_load(n) : NULL;
    const tn_buffer_store *st = n->kind == TN_KIND_BUFFER_STORE ? tn_as_buffer_store(n) : NULL;
    const tn_block *b = n->kind == TN_KIND_BLOCK ? tn_as_block(n) : NULL;
    u->read |= l && tn_as_buffer(l->buffer) == u->b;
    u->written |= st && tn_as_buffer(st->buffer) == u->b;
    /* through a view, or by what is called with it */
    u->written |= b && b->match_buffers.n;
    if (n->kind == TN_KIND_CALL)
        for (uint32_t i = 0; i < ((const tn_call *)n)->args.n; i++) {
            const tn_node *a = ((const tn_call *)n)->args.at[i];
            const tn_buffer_load *at = tn_as_buffer_load(a);
            u->written |= a == u->b->data || (at && tn_as_buffer(at->buffer) == u->b);
        }
    return TN_WALK_ON;
}

/* Memory of threads and blocks ends with the kernel: what one writes there no other one reads. */
static void
check_own(split *sp, const tn_stmt *s, const tn_node *buffer)
{
    uses u = {.b = tn_as_buffer(buffer)};
    tn_walk(s, 0, note_use, NULL, &u);
    if (!u.read || u.written)
        return;
    tn_error(sp->ctx, s->loc, TNB_INVALID,
             "'%s': a kernel reads the buffer '%s' of scope '%s', which only other kernels write",
             sp->name, u.b->name, u.b->scope);
    tnb_diag_hint(tn_diags(sp->ctx), "what goes from one kernel to the next lies in scope global; "
                                     "or compute it within the kernel that reads it");
    sp->failed = true;
}

/* `s` as a function of its own; the call of it. */
static const tn_stmt *
kernel(split *sp, const tn_stmt *s)
{
    tn_ctx *ctx = sp->ctx;
    tnb_arena *a = tn_scratch(ctx);
    needs w = {0};
    collect(sp, &w, s);
    for (uint32_t i = 0; i < w.allocs.n; i++)
        check_own(sp, s, w.allocs.at[i]);
    if (sp->failed)
        return s;
    TNB_VEC(const tn_node *) params = {0}, maps = {0}, args = {0};
    for (uint32_t i = 0; i < w.buffers.n; i++) {
        const tn_buffer *b = tn_as_buffer(w.buffers.at[i]);
        TNB_PUSH(a, params, tn_var_dtype(ctx, b->name, TNB_DTYPE(TNB_HANDLE, 64)));
        TNB_PUSH(a, maps, w.buffers.at[i]);
        TNB_PUSH(a, args, b->data);
    }
    for (uint32_t i = 0; i < w.scalars.n; i++) {
        TNB_PUSH(a, params, w.scalars.at[i]);
        TNB_PUSH(a, maps, NULL);
        TNB_PUSH(a, args, w.scalars.at[i]);
    }
    tn_block root = {.name = "root", .allocs = tn_list_of(ctx, w.allocs.at, w.allocs.n), .body = s};
    const tn_node *block = tn_block_of(ctx, &root);
    const tn_stmt *body = tn_block_realize_of(ctx, (tn_list){0}, tn_bool(ctx, true), block);
    const char *name = kernel_name(sp);
    const tn_node *attrs =
        tn_dict_set(ctx, sp->func->attrs, "global_symbol",
                    tn_dict_get(sp->func->attrs, "global_symbol") ? tn_string(ctx, name) : NULL);
    const tn_node *f = tn_prim_func_of(ctx, tn_list_of(ctx, params.at, params.n),
                                       tn_list_of(ctx, maps.at, maps.n), body, NULL, attrs);
    f = tn_is_error(f) ? f : tn_fresh_copy(ctx, f, NULL);
    sp->failed |= tn_is_error(f);
    if (tn_is_error(f))
        return s;
    tn_module_edit_set(sp->edit, name, f);
    return tn_evaluate_of(ctx, tn_scalar_call(ctx, TNB_I32, tn_global_var_of(ctx, name),
                                              tn_list_of(ctx, args.at, args.n), NULL));
}

static const tn_stmt *
on_one_thread(split *sp, const tn_stmt *s)
{
    tn_ctx *ctx = sp->ctx;
    const tn_expr *one = tn_i32(ctx, 1), *zero = tn_i32(ctx, 0);
    s = tn_for_of(ctx, tn_var_dtype(ctx, "tx", TNB_I32), zero, one, TN_FOR_THREAD_BINDING,
                  "threadIdx.x", NULL, s);
    s = tn_for_of(ctx, tn_var_dtype(ctx, "bx", TNB_I32), zero, one, TN_FOR_THREAD_BINDING,
                  "blockIdx.x", NULL, s);
    return kernel(sp, s);
}

/* ---- the host's part ---- */

static const tn_stmt *
host(split *sp, const tn_stmt *s);

/* The host decides by what it reads: not by what lies in the memory of the device. */
static bool
check_host(split *sp, const tn_stmt *at, const tn_expr *e)
{
    if (!touches_buffers(e))
        return true;
    tn_error(sp->ctx, at->loc, TNB_UNSUPPORTED,
             "'%s': whether and how often kernels are launched depends on a buffer of the device",
             sp->name);
    tnb_diag_hint(tn_diags(sp->ctx), "bind a loop outside of the condition to threads, so that the "
                                     "kernel decides");
    sp->failed = true;
    return false;
}

static const tn_stmt *
host_block(split *sp, const tn_stmt *s)
{
    tn_ctx *ctx = sp->ctx;
    const tn_block_realize *r = tn_as_block_realize(s);
    const tn_block *b = tn_as_block(r->block);
    if (b->init || b->match_buffers.n) {
        tn_error(ctx, s->loc, TNB_UNSUPPORTED, "'%s': the block '%s' around kernels has %s",
                 sp->name, b->name, b->init ? "an init" : "matched buffers");
        sp->failed = true;
        return s;
    }
    tnb_ptrmap map;
    tnb_ptrmap_init(&map, tn_scratch(ctx));
    for (uint32_t i = 0; i < b->iters.n; i++) {
        const tn_expr *v = tn_as_iter_var(b->iters.at[i])->var;
        tnb_ptrmap_set(&map, v, tn_cast_to(ctx, tn_dtype_of(v), r->values.at[i]));
    }
    TNB_VEC(const tn_stmt *) out = {0};
    for (uint32_t i = 0; i < b->allocs.n; i++)
        if (is_global(b->allocs.at[i]))
            TNB_PUSH(tn_scratch(ctx), out, tn_alloc_buffer_of(ctx, b->allocs.at[i], NULL));
        else
            TNB_PUSH(tn_scratch(ctx), sp->inner, b->allocs.at[i]);
    TNB_PUSH(tn_scratch(ctx), out, host(sp, map.n ? tn_subst(ctx, b->body, &map) : b->body));
    const tn_stmt *body = tnk_seq(ctx, out.at, out.n);
    if (r->predicate && !tn_is_int_const(r->predicate, 1) && check_host(sp, s, r->predicate))
        body = tn_if_stmt_of(ctx, r->predicate, body, NULL);
    return body;
}

static const tn_stmt *
host_seq(split *sp, const tn_seq *q)
{
    TNB_VEC(const tn_stmt *) out = {0};
    for (uint32_t i = 0; i < q->stmts.n; i++) {
        const tn_alloc_buffer *a = tn_as_alloc_buffer(q->stmts.at[i]);
        if (a && q->stmts.at[i]->kind == TN_KIND_ALLOC_BUFFER && !is_global(a->buffer))
            TNB_PUSH(tn_scratch(sp->ctx), sp->inner, a->buffer);
        else
            TNB_PUSH(tn_scratch(sp->ctx), out, host(sp, q->stmts.at[i]));
    }
    return tnk_seq(sp->ctx, out.at, out.n);
}

static const tn_stmt *
host(split *sp, const tn_stmt *s)
{
    tn_ctx *ctx = sp->ctx;
    if (sp->failed || tn_is_error(s))
        return s;
    if (is_launch(s))
        return kernel(sp, s);
    switch ((int)s->kind) {
    case TN_KIND_SEQ:
        return host_seq(sp, tn_as_seq(s));
    case TN_KIND_BLOCK_REALIZE:
        if (has_launch(s))
            return host_block(sp, s);
        break;
    case TN_KIND_FOR: {
        const tn_for_loop *f = tn_as_for_loop(s);
        if (!has_launch(s) || !check_host(sp, s, f->min) || !check_host(sp, s, f->extent))
            break;
        return tn_for_of(ctx, f->var, f->min, f->extent, TN_FOR_SERIAL, NULL, NULL,
                         host(sp, f->body));
    }
    case TN_KIND_IF_STMT: {
        const tn_if_stmt *i = tn_as_if_stmt(s);
        if (!has_launch(s) || !check_host(sp, s, i->cond))
            break;
        return tn_if_stmt_of(ctx, i->cond, host(sp, i->then_case),
                             i->else_case ? host(sp, i->else_case) : NULL);
    }
    case TN_KIND_WHILE: {
        const tn_while_loop *l = tn_as_while_loop(s);
        if (!has_launch(s) || !check_host(sp, s, l->cond))
            break;
        return tn_while_of(ctx, l->cond, host(sp, l->body));
    }
    case TN_KIND_ATTR_STMT:
        if (has_launch(s))
            return host(sp, tn_as_attr_stmt(s)->body);
        break;
    case TN_KIND_ALLOC_BUFFER:
    case TN_KIND_DECL_BUFFER:
        return s;
    default:
        break;
    }
    return touches_buffers(s) && !sp->failed ? on_one_thread(sp, s) : s;
}

static bool
split_one(tn_ctx *ctx, tn_module_edit *edit, const char *name)
{
    const tn_prim_func *f = tn_as_prim_func(tn_module_edit_get(edit, name));
    if (!f || tn_func_attr(TN_NODE(f), "tirx.is_host_func") ||
        tn_func_attr(TN_NODE(f), "tir.is_host_func") || !has_launch(f->body) ||
        is_one_kernel(f->body))
        return true;
    split sp = {.ctx = ctx, .func = f, .name = name, .edit = edit};
    tn_loc was = tn_at(ctx, TN_NODE(f)->loc);
    const tn_stmt *body = host(&sp, f->body);
    const tn_node *attrs = tn_dict_set(ctx, f->attrs, "tirx.is_host_func", tn_bool(ctx, true));
    const tn_node *n =
        sp.failed ? NULL : tn_prim_func_of(ctx, f->params, f->buffers, body, f->ret, attrs);
    tn_at(ctx, was);
    if (n && !tn_is_error(n))
        tn_module_edit_set(edit, name, n);
    return n && !tn_is_error(n);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    tn_module_edit *edit = tn_module_edit_new(pc->ctx, m);
    for (uint32_t i = 0; i < m->names.n; i++)
        if (!split_one(pc->ctx, edit, tn_module_name(m, i)))
            return NULL;
    return tn_module_edit_end(edit);
}

const tn_pass tnk_pass_split_host_device = {
    .base.size = sizeof(tn_pass),
    .base.name = "SplitHostDevice",
    .base.doc = "Turns tensor programs of several launches into host code and kernels.",
    .keeps = TN_KEEPS_BITS,
    .run = run,
};
