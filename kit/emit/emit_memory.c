/* SPDX-License-Identifier: Apache-2.0 */
/* Where a kernel's temporaries live: in variables (a small buffer whose accesses are all whole
 * vectors, or single elements, at constant places: what is left of a register tile after
 * unrolling), on the stack, or in the workspace that the host gives.
 */
#include "emit_private.h"

enum { STACK_BYTES = 32768, MAX_REGISTERS = 128 };

typedef struct use {
    uint32_t parallel; /* loops for a team around the allocation */
    int64_t lanes;     /* of all accesses so far; 0: none yet */
    bool constant;     /* all at constant places that are multiples of lanes */
    bool aliased;      /* another buffer views the memory */
} use;

typedef struct planner {
    tnk_emitter *e;
    tnk_temporaries *t;
    TNB_VEC(const tn_for_loop *) loops;
    uint32_t parallel;
    tnb_ptrmap uses; /* data Var -> use */
    bool ok;
} planner;

static void
access(planner *p, const tn_node *buffer, const tn_expr *index)
{
    use *u = tnb_ptrmap_get(&p->uses, tn_as_buffer(buffer)->data);
    if (!u)
        return;
    int64_t at = -1, lanes = tn_dtype_of(index).lanes;
    const tn_ramp *r = tn_as_ramp(index);
    bool fixed =
        r ? tn_is_int_const(r->stride, 1) && tn_int_value(r->start, &at) : tn_int_value(index, &at);
    /* variables cannot be shared with the parts of a kernel that a team runs */
    if (!fixed || at < 0 || at % lanes || (u->lanes && u->lanes != lanes) ||
        p->parallel > u->parallel)
        u->constant = false;
    u->lanes = lanes;
}

static tn_walk_step
in_expr(void *user, const tn_node *n)
{
    planner *p = user;
    if (n->kind == TN_KIND_BUFFER_LOAD) {
        const tn_buffer_load *l = (const tn_buffer_load *)n;
        if (l->indices.n == 1)
            access(p, l->buffer, l->indices.at[0]);
    }
    if (n->kind == TN_KIND_CALL)
        for (uint32_t i = 0; i < ((const tn_call *)n)->args.n; i++) {
            const tn_node *a = ((const tn_call *)n)->args.at[i];
            use *u = a ? tnb_ptrmap_get(&p->uses, a) : NULL;
            if (u)
                u->constant = false, u->aliased = true;
            if (tn_is_intrin(n, TN_INTRIN_address_of) && a->kind == TN_KIND_BUFFER_LOAD) {
                u = tnb_ptrmap_get(&p->uses,
                                   tn_as_buffer(((const tn_buffer_load *)a)->buffer)->data);
                if (u)
                    u->constant = false, u->aliased = true;
            }
        }
    return TN_WALK_ON;
}

static void
exprs(planner *p, const tn_expr *x)
{
    if (x)
        tn_walk(x, 0, in_expr, NULL, p);
}

/* The number of elements as the host could compute it: greatest over the enclosing loops. */
static const tn_expr *
host_size(planner *p, const tn_expr *size)
{
    tn_ctx *ctx = p->e->ctx;
    tn_arith *a = tn_arith_new(ctx);
    const tn_expr *lo, *hi;
    for (uint32_t i = p->loops.n; i-- > 0;) {
        const tn_for_loop *f = p->loops.at[i];
        if (!tn_uses(size, f->var))
            continue;
        if (!tn_interval(a, size, &f->var, &f->min, &f->extent, 1, &lo, &hi) || !hi)
            return NULL;
        size = hi;
    }
    tn_list fv = tn_free_vars(ctx, size, true);
    for (uint32_t i = 0; i < fv.n; i++) {
        if (!tnk_find_param(p->e->kernel, fv.at[i]))
            return NULL;
    }
    return tn_simplify_now(ctx, size);
}

static void
alloc(planner *p, const tn_stmt *s)
{
    const tn_node *buffer = ((const tn_alloc_buffer *)s)->buffer;
    const tn_buffer *b = tn_as_buffer(buffer);
    tnk_temporary t = {.buffer = buffer, .per_thread = p->parallel > 0, .fixed = -1};
    t.size = b->shape.n == 1 ? host_size(p, b->shape.at[0]) : NULL;
    if (t.size && !p->e->d->element) /* elements that are vectors lie there as scalars */
        t.size = tn_mul(p->e->ctx, t.size,
                        tn_int_imm_of(p->e->ctx, tn_dtype_of(t.size), b->dtype.lanes));
    if (!t.size) {
        tnk_emit_fail(p->e, s->loc,
                      "the size of the temporary '%s' is not known before the kernel runs",
                      b->name);
        p->ok = false;
        return;
    }
    int64_t n;
    if (tn_int_value(t.size, &n))
        t.fixed = n;
    t.memory = TNB_NEW(tn_scratch(p->e->ctx), tnk_memory);
    use *u = TNB_NEW(tn_scratch(p->e->ctx), use);
    u->constant = b->dtype.lanes == 1;
    u->parallel = p->parallel;
    tnb_ptrmap_set(&p->uses, b->data, u);
    tnb_ptrmap_set(&p->e->memory, b->data, t.memory);
    TNB_PUSH(tn_scratch(p->e->ctx), p->t->v, t);
}

static void
stmt(planner *p, const tn_stmt *s)
{
    if (!s)
        return;
    switch (s->kind) {
    case TN_KIND_SEQ:
        for (uint32_t i = 0; i < ((const tn_seq *)s)->stmts.n; i++)
            stmt(p, ((const tn_seq *)s)->stmts.at[i]);
        return;
    case TN_KIND_FOR: {
        const tn_for_loop *f = (const tn_for_loop *)s;
        exprs(p, f->min);
        exprs(p, f->extent);
        p->parallel += f->for_kind == TN_FOR_PARALLEL;
        TNB_PUSH(tn_scratch(p->e->ctx), p->loops, f);
        stmt(p, f->body);
        p->loops.n--;
        p->parallel -= f->for_kind == TN_FOR_PARALLEL;
        return;
    }
    case TN_KIND_IF_STMT:
        exprs(p, ((const tn_if_stmt *)s)->cond);
        stmt(p, ((const tn_if_stmt *)s)->then_case);
        stmt(p, ((const tn_if_stmt *)s)->else_case);
        return;
    case TN_KIND_WHILE:
        exprs(p, ((const tn_while_loop *)s)->cond);
        stmt(p, ((const tn_while_loop *)s)->body);
        return;
    case TN_KIND_ATTR_STMT:
        exprs(p, ((const tn_attr_stmt *)s)->value);
        stmt(p, ((const tn_attr_stmt *)s)->body);
        return;
    case TN_KIND_BUFFER_STORE: {
        const tn_buffer_store *b = (const tn_buffer_store *)s;
        exprs(p, b->value);
        for (uint32_t i = 0; i < b->indices.n; i++)
            exprs(p, b->indices.at[i]);
        if (b->indices.n == 1)
            access(p, b->buffer, b->indices.at[0]);
        return;
    }
    case TN_KIND_ALLOC_BUFFER:
        alloc(p, s);
        return;
    case TN_KIND_DECL_BUFFER: {
        use *u = tnb_ptrmap_get(&p->uses, tn_as_buffer(((const tn_alloc_buffer *)s)->buffer)->data);
        if (u)
            u->constant = false, u->aliased = true;
        return;
    }
    case TN_KIND_BIND:
        exprs(p, ((const tn_bind *)s)->value);
        return;
    case TN_KIND_ASSERT:
        exprs(p, ((const tn_assert_stmt *)s)->cond);
        return;
    case TN_KIND_EVALUATE:
    case TN_KIND_RETURN:
        exprs(p, ((const tn_evaluate *)s)->value);
        return;
    default:
        return;
    }
}

bool
tnk_is_shared(const tn_node *buffer)
{
    const char *scope = tn_as_buffer(buffer)->scope;
    return scope && (!strcmp(scope, "shared") || !strncmp(scope, "shared.", 7));
}

bool
tnk_plan_temporaries(tnk_emitter *e, tnk_temporaries *t)
{
    planner p = {.e = e, .t = t, .ok = true};
    tnb_ptrmap_init(&p.uses, tn_scratch(e->ctx));
    stmt(&p, tn_as_prim_func(e->kernel->func)->body);
    int64_t stack = 0;
    for (uint32_t i = 0; i < t->v.n && p.ok; i++) {
        tnk_temporary *x = &t->v.at[i];
        const tn_buffer *b = tn_as_buffer(x->buffer);
        const use *u = tnb_ptrmap_get(&p.uses, b->data);
        tnb_dtype d = b->dtype;
        d.lanes = 1;
        bool shared = tnk_is_shared(x->buffer);
        x->memory->name = tnk_new_name(e, b->name);
        x->memory->space = tnk_or_none(e->d->one_space ? NULL
                                       : shared        ? e->d->shared
                                                       : e->d->local);
        /* shared memory holds what its planning counts: a float16 has two bytes there */
        bool stored = u->aliased || tnb_dtype_is_bool(d) || (shared && tnb_dtype_is_float(d)) ||
                      tnk_native_half(e, d);
        x->memory->elem = stored ? tnk_storage_dtype(d) : tnk_compute_dtype(d);
        if (e->d->element)
            x->memory->elem.lanes = b->dtype.lanes;
        x->memory->packed = u->aliased && !shared && d.bits < 8 ? d.bits : 0;
        x->memory->count = x->fixed;
        x->memory->per_thread = x->per_thread;
        x->memory->lanes = u->lanes ? u->lanes : 1;
        int64_t registers = x->fixed > 0 ? (x->fixed + x->memory->lanes - 1) / x->memory->lanes : 0;
        if (shared && x->fixed < 0) {
            tnk_emit_fail(e, x->buffer->loc,
                          "the size of the buffer '%s' in %s memory is not constant", b->name,
                          b->scope);
            return false;
        }
        if (shared)
            continue;
        if (x->fixed >= 0 && u->constant && u->lanes && registers <= MAX_REGISTERS &&
            !tnb_dtype_is_bool(d)) {
            x->memory->promoted = true;
            continue;
        }
        int64_t bytes = x->fixed >= 0 && x->fixed < STACK_BYTES
                            ? x->fixed * (int64_t)tnb_dtype_bytes(x->memory->elem)
                            : INT64_MAX;
        x->workspace = bytes > STACK_BYTES || stack + bytes > STACK_BYTES;
        if (!x->workspace)
            stack += bytes;
    }
    return p.ok && !e->failed;
}
