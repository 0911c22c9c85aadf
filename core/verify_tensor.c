/* SPDX-License-Identifier: Apache-2.0 */
/* The verifier, tensor level: scopes of variables and buffers, dtypes of stores, rules of blocks.
 */
#include "verify.h"

struct scope {
    verifier *v;
    uint32_t loops;    /* loops around, for break and continue */
    tn_node_vec *open; /* what to leave undefined again at the end of the enclosing scope */
    tn_node_vec *
        loop_vars; /* loop variables around the block; hidden inside one with iteration variables */
};

static void
check(struct scope *s, const tn_node *n);

static void
define(struct scope *s, const tn_node *n)
{
    verifier *v = s->v;
    if (tnb_ptrmap_has(&v->defined, n)) {
        tn_verify_error(v, n, "%s '%s' is defined again inside its own scope",
                        tn_is_var(n) ? "variable" : "buffer",
                        tn_is_var(n) ? tn_var_name(n) : ((const tn_buffer *)n)->name);
        return;
    }
    tnb_ptrmap_set(&v->defined, n, n);
    TNB_PUSH(v->arena, *s->open, n);
}

/* Ends the scope of what was defined since `mark`. Expressions found right may use what is gone
 * now. */
static void
leave(struct scope *s, uint32_t mark)
{
    if (s->open->n == mark)
        return;
    while (s->open->n > mark)
        tnb_ptrmap_remove(&s->v->defined, s->open->at[--s->open->n]);
    tnb_ptrmap_init(&s->v->seen, s->v->arena);
}

static void
check_list(struct scope *s, tn_list l)
{
    for (uint32_t i = 0; i < l.n; i++)
        tn_verify_scalar(s->v, l.at[i]);
}

/* A buffer's description is in order; its data pointer comes from `define_data` or is defined
 * already. */
static void
define_buffer(struct scope *s, const tn_node *n, bool own_data)
{
    const tn_buffer *b = tn_as_buffer(n);
    if (!b) {
        tn_verify_error(s->v, n, "a %s stands where a buffer is defined", tn_kinds[n->kind].name);
        return;
    }
    if (own_data && !tnb_ptrmap_has(&s->v->defined, b->data))
        define(s, b->data);
    else
        tn_verify_scalar(s->v, b->data);
    check_list(s, b->shape);
    check_list(s, b->strides);
    tn_verify_scalar(s->v, b->elem_offset);
    define(s, n);
}

/* Variables that stand alone in a description are defined by it. */
static void
define_symbol(struct scope *s, const tn_node *e)
{
    if (e && tn_is_var(e) && !tnb_ptrmap_has(&s->v->defined, e))
        define(s, e);
}

/* ---- statements ---- */
static void
check_store(struct scope *s, const tn_buffer_store *st)
{
    verifier *v = s->v;
    tn_verify_scalar(v, st->buffer);
    tn_verify_scalar(v, st->value);
    check_list(s, st->indices);
    const tn_buffer *b = tn_as_buffer(st->buffer);
    if (!b) {
        tn_verify_error(v, &st->base, "a store into a %s", tn_kinds[st->buffer->kind].name);
        return;
    }
    if (st->indices.n != b->shape.n) {
        tn_verify_error(v, &st->base, "buffer '%s' has %u dimensions, the store %u indices",
                        b->name, b->shape.n, st->indices.n);
        return;
    }
    tnb_dtype want = b->dtype, got = tn_dtype_of(st->value);
    if (st->indices.n)
        want.lanes = (uint16_t)(want.lanes * tn_dtype_of(st->indices.at[st->indices.n - 1]).lanes);
    if (!tnb_dtype_eq(want, got))
        tn_verify_error(v, &st->base, "buffer '%s' takes %s here, the value is %s", b->name,
                        tnb_dtype_print(want).s, tnb_dtype_print(got).s);
}

static void
check_region(struct scope *s, const tn_node *n)
{
    const tn_buffer_region *r = tn_as_buffer_region(n);
    if (!r) {
        tn_verify_error(s->v, n, "expected a region, found a %s", tn_kinds[n->kind].name);
        return;
    }
    tn_verify_scalar(s->v, r->buffer);
    check_list(s, r->ranges);
}

static void
check_block(struct scope *s, const tn_block *b)
{
    verifier *v = s->v;
    uint32_t mark = s->open->n;
    for (uint32_t i = 0; i < b->iters.n; i++) {
        const tn_iter_var *iv = tn_as_iter_var(b->iters.at[i]);
        if (!iv) {
            tn_verify_error(v, &b->base, "block '%s': a %s stands among its iteration variables",
                            b->name, tn_kinds[b->iters.at[i]->kind].name);
            continue;
        }
        tn_verify_scalar(v, iv->dom);
        define(s, iv->var);
    }
    for (uint32_t i = 0; i < b->allocs.n; i++)
        define_buffer(s, b->allocs.at[i], true);
    for (uint32_t i = 0; i < b->match_buffers.n; i++) {
        const tn_match_buffer *m = tn_as_match_buffer(b->match_buffers.at[i]);
        const tn_buffer *mb = m ? tn_as_buffer(m->buffer) : NULL;
        if (!mb) {
            tn_verify_error(v, &b->base, "block '%s': a match_buffer without a buffer", b->name);
            continue;
        }
        check_region(s, m->source);
        for (uint32_t k = 0; k < mb->strides.n; k++)
            define_symbol(s, mb->strides.at[k]);
        define_symbol(s, mb->elem_offset);
        define_buffer(s, m->buffer, true);
    }
    for (uint32_t i = 0; i < b->reads.n; i++)
        check_region(s, b->reads.at[i]);
    for (uint32_t i = 0; i < b->writes.n; i++)
        check_region(s, b->writes.at[i]);
    if (b->init) {
        for (uint32_t i = 0; i < b->iters.n; i++) {
            const tn_iter_var *iv = tn_as_iter_var(b->iters.at[i]);
            if (iv && iv->iter_kind == TN_ITER_REDUCE && tn_uses(b->init, iv->var))
                tn_verify_error(v, b->init,
                                "the init of block '%s' uses its reduction variable '%s'", b->name,
                                tn_var_name(iv->var));
        }
        check(s, b->init);
    }
    check(s, b->body);
    leave(s, mark);
}

/* Puts the loop variables around out of reach of a block, or within reach again (block NULL). */
static void
hide(struct scope *s, const tn_node *block)
{
    verifier *v = s->v;
    for (uint32_t i = 0; i < s->loop_vars->n; i++)
        tnb_ptrmap_set(&v->defined, s->loop_vars->at[i], block ? block : s->loop_vars->at[i]);
    if (block && s->loop_vars->n) /* what was right outside may not be so inside */
        tnb_ptrmap_init(&v->seen, v->arena);
}

/* Inside a block with iteration variables the loops around it are out of reach. */
static void
check_realize(struct scope *s, const tn_block_realize *r)
{
    verifier *v = s->v;
    check_list(s, r->values);
    tn_verify_scalar(v, r->predicate);
    const tn_block *b = tn_as_block(r->block);
    if (!b || b->iters.n != r->values.n) {
        tn_verify_error(v, &r->base, "a realize does not fit its block");
        return;
    }
    struct scope inner = *s;
    tn_node_vec none = {0};
    if (b->iters.n) {
        hide(s, r->block);
        inner.loop_vars = &none;
    }
    check_block(&inner, b);
    if (b->iters.n)
        hide(s, NULL);
}

static void
check_for(struct scope *s, const tn_for_loop *f)
{
    verifier *v = s->v;
    tn_verify_scalar(v, f->min);
    tn_verify_scalar(v, f->extent);
    tnb_dtype d = tn_dtype_of(f->var);
    if (!tnb_dtype_eq(d, tn_dtype_of(f->min)) || !tnb_dtype_eq(d, tn_dtype_of(f->extent)))
        tn_verify_error(v, &f->base, "loop variable '%s' is %s, but its bounds are not",
                        tn_var_name(f->var), tnb_dtype_print(d).s);
    if ((f->for_kind == TN_FOR_THREAD_BINDING) != (f->thread_tag && *f->thread_tag))
        tn_verify_error(v, &f->base, "the loop over '%s' is %s", tn_var_name(f->var),
                        f->for_kind == TN_FOR_THREAD_BINDING ? "bound to no thread"
                                                             : "not bound, but has a thread tag");
    uint32_t mark = s->open->n;
    define(s, f->var);
    TNB_PUSH(v->arena, *s->loop_vars, f->var);
    s->loops++;
    check(s, f->body);
    s->loops--;
    s->loop_vars->n--;
    leave(s, mark);
}

static void
check_condition(struct scope *s, const tn_node *at, const tn_expr *e)
{
    tn_verify_scalar(s->v, e);
    tnb_dtype d = tn_dtype_of(e);
    if (d.lanes != 1 || !(tnb_dtype_is_bool(d) || tnb_dtype_is_int(d)))
        tn_verify_error(s->v, at, "a condition must be bool, not %s", tnb_dtype_print(d).s);
}

/* A statement with a scope of its own. */
static void
check_scoped(struct scope *s, const tn_node *n)
{
    uint32_t mark = s->open->n;
    if (n)
        check(s, n);
    leave(s, mark);
}

static void
check_attr(struct scope *s, const tn_attr_stmt *a)
{
    uint32_t mark = s->open->n;
    const tn_iter_var *iv = tn_as_iter_var(a->node);
    if (iv) { /* thread extents define their variable, possibly again for each kernel */
        tn_verify_scalar(s->v, iv->dom);
        if (!tnb_ptrmap_has(&s->v->defined, iv->var))
            define(s, iv->var);
    } else if (a->node && (tn_is_scalar(a->node) || tn_is(a->node, TN_KIND_BUFFER))) {
        tn_verify_scalar(s->v, a->node);
    }
    if (a->value && tn_is_scalar(a->value))
        tn_verify_scalar(s->v, a->value);
    check(s, a->body);
    leave(s, mark);
}

static void
check(struct scope *s, const tn_node *n)
{
    verifier *v = s->v;
    if (v->errors >= MAX_ERRORS_PER_FUNCTION)
        return;
    switch ((tn_kind)n->kind) {
    case TN_KIND_SEQ: {
        tn_list l = ((const tn_seq *)n)->stmts;
        uint32_t mark = s->open->n;
        for (uint32_t i = 0; i < l.n; i++)
            check(s, l.at[i]);
        leave(s, mark);
        return;
    }
    case TN_KIND_BUFFER_STORE:
        check_store(s, (const tn_buffer_store *)n);
        return;
    case TN_KIND_BIND: {
        const tn_bind *b = (const tn_bind *)n;
        tn_verify_scalar(v, b->value);
        if (!tnb_dtype_eq(tn_dtype_of(b->var), tn_dtype_of(b->value)))
            tn_verify_error(v, n, "variable '%s' is %s, its value %s", tn_var_name(b->var),
                            tnb_dtype_print(tn_dtype_of(b->var)).s,
                            tnb_dtype_print(tn_dtype_of(b->value)).s);
        define(s, b->var);
        return;
    }
    case TN_KIND_ALLOC_BUFFER:
    case TN_KIND_DECL_BUFFER:
        define_buffer(s, ((const tn_alloc_buffer *)n)->buffer, n->kind == TN_KIND_ALLOC_BUFFER);
        return;
    case TN_KIND_ATTR_STMT:
        check_attr(s, (const tn_attr_stmt *)n);
        return;
    case TN_KIND_ASSERT:
        check_condition(s, n, ((const tn_assert_stmt *)n)->cond);
        return;
    case TN_KIND_EVALUATE:
    case TN_KIND_RETURN:
        tn_verify_scalar(v, ((const tn_evaluate *)n)->value);
        return;
    case TN_KIND_BREAK:
    case TN_KIND_CONTINUE:
        if (!s->loops)
            tn_verify_error(v, n, "%s outside a loop",
                            n->kind == TN_KIND_BREAK ? "break" : "continue");
        return;
    case TN_KIND_IF_STMT: {
        const tn_if_stmt *i = (const tn_if_stmt *)n;
        check_condition(s, n, i->cond);
        check_scoped(s, i->then_case);
        check_scoped(s, i->else_case);
        return;
    }
    case TN_KIND_FOR:
        check_for(s, (const tn_for_loop *)n);
        return;
    case TN_KIND_WHILE:
        check_condition(s, n, ((const tn_while_loop *)n)->cond);
        s->loops++;
        check_scoped(s, ((const tn_while_loop *)n)->body);
        s->loops--;
        return;
    case TN_KIND_BLOCK:
        check_block(s, (const tn_block *)n);
        return;
    case TN_KIND_BLOCK_REALIZE:
        check_realize(s, (const tn_block_realize *)n);
        return;
    default:
        tn_verify_error(v, n, "expected a statement, found a %s", tn_kinds[n->kind].name);
    }
}

void
tn_verify_prim_func(verifier *v, const tn_prim_func *f)
{
    tn_node_vec open = {0}, loop_vars = {0};
    struct scope s = {.v = v, .open = &open, .loop_vars = &loop_vars};
    if (f->params.n != f->buffers.n) {
        tn_verify_error(v, &f->base, "%u parameters with %u buffer entries", f->params.n,
                        f->buffers.n);
        return;
    }
    for (uint32_t i = 0; i < f->params.n; i++) {
        define(&s, f->params.at[i]);
        if (f->buffers.at[i] && tn_dtype_of(f->params.at[i]).code != TNB_HANDLE)
            tn_verify_error(v, f->params.at[i], "parameter '%s' is %s, but stands for a buffer",
                            tn_var_name(f->params.at[i]),
                            tnb_dtype_print(tn_dtype_of(f->params.at[i])).s);
    }
    tn_list symbols = tn_defined_symbols(v->ctx, &f->base);
    for (uint32_t i = 0; i < symbols.n; i++)
        define_symbol(&s, symbols.at[i]);
    for (uint32_t i = 0; i < f->buffers.n; i++)
        if (f->buffers.at[i])
            define_buffer(&s, f->buffers.at[i], true);
    check(&s, f->body);
}
