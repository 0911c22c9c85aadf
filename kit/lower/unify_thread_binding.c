/* SPDX-License-Identifier: Apache-2.0 */
/* UnifyThreadBinding: one loop for each thread index, around everything that the kernel does.
 *
 *     for b in blockIdx.x(4):                            for b in blockIdx.x(4):
 *         S = T.alloc_buffer(64, scope="shared")             S = T.alloc_buffer(64, scope="shared")
 *         for t in threadIdx.x(64): S[t] = A[b, t]     =>    for t in threadIdx.x(64):
 *         T.tvm_storage_sync("shared")                           S[t] = A[b, t]; T.tvm_storage_sync("shared")
 *         for u in threadIdx.x(64): B[b, u] = S[63 - u]          B[b, t] = S[63 - t]
 *
 * Shared memory is allocated between blocks and threads, other memory inside of the threads, so that later passes see what
 * belongs to one thread. What stood outside of a thread's loop is stored by the first thread of that index alone (memory of a
 * thread: by each). `thread_extent` attributes are loops like others; a vthread is a loop that runs here. Extents of one index
 * have to be equal, known before the kernel runs, and within what the target has (max_threads_per_block).
 * Needs: no blocks; barriers (ThreadSync) where threads meet.
 */
#include "lower.h"

enum { TAGS = 6 };

typedef struct thread_index {
    const char *tag;
    const tn_expr *var, *extent;
    uint32_t active; /* loops of it around the statement at hand */
    tn_loc loc;
} thread_index;

typedef struct unify {
    tn_ctx *ctx;
    const tn_prim_func *func;
    const char *name;
    thread_index index[TAGS]; /* blockIdx.z .y .x, threadIdx.z .y .x: from outside to inside */
    TNB_VEC(const tn_stmt *) shared;
    bool failed;
} unify;

static bool
is_memory_of_thread(const tn_node *buffer)
{
    const char *scope = tn_as_buffer(buffer)->scope;
    return scope && *scope && strncmp(scope, "global", 6) && strncmp(scope, "shared", 6);
}

bool
tnk_is_vthread(const char *tag)
{
    return tag &&
           (!strcmp(tag, "vthread") || !strncmp(tag, "vthread.", 8) || !strcmp(tag, "cthread"));
}

static thread_index *
index_of(unify *u, const char *tag, tn_loc loc)
{
    bool block;
    int dim;
    if (tnk_thread_tag(tag, &block, &dim))
        return &u->index[(block ? 0 : 3) + 2 - dim];
    tn_error(u->ctx, loc, TNB_UNSUPPORTED, "'%s': a loop is bound to '%s'", u->name,
             tag ? tag : "");
    tnb_diag_hint(tn_diags(u->ctx),
                  "threads are blockIdx.x to .z and threadIdx.x to .z; vthread.x runs as a loop");
    u->failed = true;
    return NULL;
}

/* ---- which threads there are ---- */

static void
note(unify *u, const char *tag, const tn_expr *var, const tn_expr *extent, tn_loc loc)
{
    thread_index *t = tnk_is_vthread(tag) || u->failed ? NULL : index_of(u, tag, loc);
    if (!t)
        return;
    if (t->var) {
        if (tn_prove_equal(u->ctx, t->extent, extent)) {
            if (tn_dtype_of(var).bits > tn_dtype_of(t->var).bits)
                t->var = tn_var_new(u->ctx, tn_var_name(t->var), var->type);
            return;
        }
        tn_error(u->ctx, loc, TNB_INVALID,
                 "'%s': loops bound to %s have different extents: %s and %s", u->name, tag,
                 tn_text(u->ctx, t->extent), tn_text(u->ctx, extent));
        tnb_diag_hint(tn_diags(u->ctx), "split both loops by the same factor before binding");
        u->failed = true;
        return;
    }
    tn_list fv = tn_free_vars(u->ctx, extent, true), symbols;
    symbols = tn_defined_symbols(u->ctx, TN_NODE(u->func));
    for (uint32_t i = 0; i < fv.n; i++) {
        bool known = false;
        for (uint32_t k = 0; k < symbols.n; k++)
            known |= symbols.at[k] == fv.at[i];
        for (uint32_t k = 0; k < u->func->params.n; k++)
            known |= u->func->params.at[k] == fv.at[i];
        if (known)
            continue;
        tn_error(u->ctx, loc, TNB_INVALID,
                 "'%s': the extent of %s, %s, is not known before the kernel runs", u->name, tag,
                 tn_text(u->ctx, extent));
        u->failed = true;
        return;
    }
    *t = (thread_index){tag, tn_var_new(u->ctx, tn_var_name(var), var->type), extent, 0, loc};
}

static tn_walk_step
note_threads(void *user, const tn_node *n)
{
    unify *u = user;
    const tn_for_loop *f = tn_as_for_loop(n);
    const tn_attr_stmt *a = tn_as_attr_stmt(n);
    const tn_iter_var *iv = a && !strcmp(a->key, "thread_extent") ? tn_as_iter_var(a->node) : NULL;
    if (f && f->for_kind == TN_FOR_THREAD_BINDING)
        note(u, f->thread_tag, f->var, f->extent, n->loc);
    if (iv)
        note(u, iv->thread_tag, iv->var, a->value, n->loc);
    return u->failed ? TN_WALK_STOP : TN_WALK_ON;
}

static void
check_limits(unify *u, const tn_target *target)
{
    int64_t most = target ? tn_dict_int(target->attrs, "max_threads_per_block", 0) : 0, n = 1, e;
    for (int i = 3; i < TAGS && !u->failed; i++) {
        if (!u->index[i].var || !tn_int_value(u->index[i].extent, &e))
            continue;
        n *= e;
        if (most <= 0 || n <= most)
            continue;
        tn_error(u->ctx, u->index[i].loc, TNB_INVALID,
                 "'%s': a block has %lld threads, target '%s' allows %lld", u->name, (long long)n,
                 target->kind, (long long)most);
        tnb_diag_hint(tn_diags(u->ctx), "bind less to threadIdx, or set max_threads_per_block in "
                                        "the target's section to what the device has");
        u->failed = true;
    }
}

/* ---- the body inside of all threads ---- */

/* The first thread alone, of each index that no loop around stands for. */
static const tn_stmt *
guarded(unify *u, const tn_stmt *s)
{
    const tn_expr *first = NULL;
    for (int i = 0; i < TAGS; i++) {
        const thread_index *t = &u->index[i];
        if (t->var && !t->active && !tn_is_int_const(t->extent, 1))
            first = tn_and(u->ctx, first,
                           tn_eq(u->ctx, t->var, tn_int_imm_of(u->ctx, tn_dtype_of(t->var), 0)));
    }
    return first ? tn_if_stmt_of(u->ctx, first, s, NULL) : s;
}

static const tn_stmt *
in_thread(tn_rewriter *r, const char *tag, const tn_expr *var, const tn_expr *min,
          const tn_stmt *body, tn_loc loc)
{
    unify *u = r->user;
    tn_ctx *ctx = u->ctx;
    thread_index *t = index_of(u, tag, loc);
    if (!t)
        return body;
    const tn_expr *v = tn_cast_to(ctx, tn_dtype_of(var), t->var);
    if (min)
        v = tn_add(ctx, v, tn_cast_to(ctx, tn_dtype_of(var), min));
    t->active++;
    const tn_stmt *n = tn_rewrite_child(r, tn_subst1(ctx, body, var, v));
    t->active--;
    return n;
}

static const tn_node *
pre(tn_rewriter *r, const tn_node *n)
{
    unify *u = r->user;
    const tn_for_loop *f = tn_as_for_loop(n);
    const tn_attr_stmt *a = tn_as_attr_stmt(n);
    const tn_iter_var *iv = a ? tn_as_iter_var(a->node) : NULL;
    bool virtual_ = iv && (!strcmp(a->key, "virtual_thread") ||
                           (!strcmp(a->key, "thread_extent") && tnk_is_vthread(iv->thread_tag)));
    if (f && f->for_kind == TN_FOR_THREAD_BINDING && tnk_is_vthread(f->thread_tag))
        return tn_for_of(u->ctx, f->var, f->min, f->extent, TN_FOR_SERIAL, NULL, NULL,
                         tn_rewrite_child(r, f->body));
    if (f && f->for_kind == TN_FOR_THREAD_BINDING)
        return in_thread(r, f->thread_tag, f->var, f->min, f->body, n->loc);
    if (virtual_)
        return tn_for_of(u->ctx, iv->var, tn_int_imm_of(u->ctx, tn_dtype_of(iv->var), 0),
                         tn_cast_to(u->ctx, tn_dtype_of(iv->var), a->value), TN_FOR_SERIAL, NULL,
                         NULL, tn_rewrite_child(r, a->body));
    if (iv && !strcmp(a->key, "thread_extent"))
        return in_thread(r, iv->thread_tag, iv->var, NULL, a->body, n->loc);
    return NULL;
}

static const tn_node *
post(tn_rewriter *r, const tn_node *n)
{
    unify *u = r->user;
    if (n->kind == TN_KIND_ALLOC_BUFFER) {
        const tn_node *b = tn_as_alloc_buffer(n)->buffer;
        const char *scope = tn_as_buffer(b)->scope;
        if (!scope || strncmp(scope, "shared", 6))
            return NULL;
        TNB_PUSH(tn_scratch(u->ctx), u->shared, n);
        return tn_removed();
    }
    const tn_buffer_store *s = tn_as_buffer_store(n);
    return s && !is_memory_of_thread(s->buffer) ? guarded(u, n) : NULL;
}

static const tn_stmt *
around(unify *u, int from, int to, const tn_stmt *body)
{
    for (int i = to; i-- > from;) {
        const thread_index *t = &u->index[i];
        if (!t->var)
            continue;
        tnb_dtype d = tn_dtype_of(t->var);
        body =
            tn_for_of(u->ctx, t->var, tn_int_imm_of(u->ctx, d, 0), tn_cast_to(u->ctx, d, t->extent),
                      TN_FOR_THREAD_BINDING, t->tag, NULL, body);
    }
    return body;
}

static const tn_node *
unify_func(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func,
           void *user)
{
    (void)m;
    (void)user;
    tn_ctx *ctx = pc->ctx;
    const tn_prim_func *f = tn_as_prim_func(func);
    unify u = {.ctx = ctx, .func = f, .name = name};
    tn_walk(f->body, 0, note_threads, NULL, &u);
    check_limits(&u, pc->target);
    bool any = false;
    for (int i = 0; i < TAGS; i++)
        any |= u.index[i].var != NULL;
    if (u.failed)
        return NULL;
    if (!any)
        return func;
    tn_rewriter r = {.ctx = ctx, .user = &u, .pre = pre, .post = post, .in_context = true};
    const tn_stmt *body = tn_rewrite(&r, f->body);
    if (u.failed || tn_is_error(body))
        return NULL;
    body = around(&u, 3, TAGS, body);
    TNB_PUSH(tn_scratch(ctx), u.shared, body);
    body = u.shared.n > 1 ? tn_seq_of(ctx, tn_list_of(ctx, u.shared.at, u.shared.n)) : body;
    return tnk_func_with_body(ctx, f, around(&u, 0, 3, body));
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tn_map_functions(pc, m, TN_PRIM_FUNCS, unify_func, NULL);
}

const tn_pass tnk_pass_unify_thread_binding = {
    .base.size = sizeof(tn_pass),
    .base.name = "UnifyThreadBinding",
    .base.doc = "Makes one loop for each thread index, around the whole kernel.",
    .keeps = TN_KEEPS_BITS,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
