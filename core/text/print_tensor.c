/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor programs: signatures, blocks, statements, buffers. */
#include "printer.h"

/* ---- buffers ---- */
/* Data pointers that reading the buffer back makes anew need no mention. */
static bool
default_data(const tn_buffer *b)
{
    const tn_ty_ptr *t = tn_as_ty_ptr(b->data->type);
    return t && tnb_dtype_eq(t->elem, b->dtype) &&
           !strcmp(t->scope && *t->scope ? t->scope : "global", b->scope);
}

/* shape, dtype and what differs from the defaults. `always_dtype`: T.Buffer shows float32 too. */
static void
buffer_arguments(printer *p, const tn_buffer *b, bool always_dtype, bool with_data)
{
    pr_index_tuple(p, b->shape);
    if (always_dtype || !tnb_dtype_eq(b->dtype, TNB_F32))
        pr_printf(p, ", \"%s\"", tnb_dtype_print(b->dtype).s);
    if (with_data) {
        pr_puts(p, ", data=");
        pr_expr(p, b->data, PREC_TEST);
    }
    if (b->strides.n) {
        pr_puts(p, ", strides=[");
        pr_exprs(p, b->strides);
        pr_puts(p, "]");
    }
    if (b->elem_offset) {
        pr_puts(p, ", elem_offset=");
        pr_expr(p, b->elem_offset, PREC_TEST);
    } else if (b->offset_factor) {
        pr_puts(p, ", elem_offset=None");
    }
    if (strcmp(b->scope, "global") != 0) {
        pr_puts(p, ", scope=");
        pr_string(p, b->scope);
    }
    if (b->align != 64)
        pr_printf(p, ", align=%lld", (long long)b->align);
    if (b->offset_factor != (b->elem_offset ? 1 : 0))
        pr_printf(p, ", offset_factor=%lld", (long long)b->offset_factor);
    if (b->separators.n) {
        pr_puts(p, ", axis_separators=[");
        for (uint32_t i = 0; i < b->separators.n; i++) {
            if (i)
                pr_puts(p, ", ");
            pr_attr(p, b->separators.at[i]);
        }
        pr_puts(p, "]");
    }
}

void
pr_buffer_type(printer *p, const tn_node *buffer)
{
    buffer_arguments(p, tn_as_buffer(buffer), true, false);
}

/* Names a buffer that is defined here, and its data pointer with it; whether `data=` must be
 * printed. */
static bool
define_buffer(printer *p, const tn_node *buffer, const char **name)
{
    const tn_buffer *b = tn_as_buffer(buffer);
    bool with_data = pr_known(p, b->data) || !default_data(b);
    *name = pr_define(p, buffer, b->name);
    if (!pr_known(p, b->data) && !with_data)
        pr_alias(p, b->data, tnb_printf(p->arena, "%s.data", *name));
    return with_data;
}

/* NAME = T.FUNCTION(first, shape, dtype, ...) */
static void
buffer_line(printer *p, const tn_node *buffer, const char *function, const char *first,
            bool data_is_use, const tn_node *annotations)
{
    const char *name;
    bool with_data = define_buffer(p, buffer, &name);
    pr_printf(p, "%s = T.%s(", name, function);
    if (first)
        pr_printf(p, "%s, ", first);
    buffer_arguments(p, tn_as_buffer(buffer), false, with_data || data_is_use);
    if (annotations) {
        pr_puts(p, ", annotations=");
        pr_dict(p, annotations, NULL);
    }
    pr_puts(p, ")");
    pr_end_line(p);
}

void
pr_region(printer *p, const tn_node *n)
{
    const tn_buffer_region *r = tn_as_buffer_region(n);
    pr_printf(p, "%s[", pr_name(p, r->buffer));
    if (!r->ranges.n)
        pr_puts(p, "()");
    for (uint32_t i = 0; i < r->ranges.n; i++) {
        const tn_range *g = tn_as_range(r->ranges.at[i]);
        const tn_expr *end;
        if (i)
            pr_puts(p, ", ");
        if (tn_is_int_const(g->extent, 1) &&
            tnb_dtype_eq(tn_dtype_of(g->extent), tn_dtype_of(g->min))) {
            pr_expr(p, g->min, PREC_TEST);
        } else if (pr_range_bounds(p, r->ranges.at[i], &end)) {
            pr_expr(p, g->min, PREC_TEST);
            pr_puts(p, ":");
            pr_expr(p, end, PREC_TEST);
        } else {
            pr_range_node(p, r->ranges.at[i]);
        }
    }
    pr_puts(p, "]");
}

static void
regions(printer *p, const char *function, tn_list l)
{
    pr_printf(p, "T.%s(", function);
    for (uint32_t i = 0; i < l.n; i++) {
        if (i)
            pr_puts(p, ", ");
        pr_region(p, l.at[i]);
    }
    pr_puts(p, ")");
    pr_end_line(p);
}

/* ---- blocks ---- */
static void
body(printer *p, const tn_stmt *s)
{
    p->indent++;
    pr_stmt(p, s);
    p->indent--;
}

/* The loop that an iteration variable simply follows; NULL: another binding. */
static const tn_for_loop *
followed_loop(printer *p, const tn_iter_var *v, const tn_expr *value)
{
    const tn_for_loop *f = value ? tnb_ptrmap_get(&p->loops, value) : NULL;
    const tn_range *dom = tn_as_range(v->dom);
    if (!f || !dom || (v->iter_kind != TN_ITER_SPATIAL && v->iter_kind != TN_ITER_REDUCE))
        return NULL;
    if (v->thread_tag && *v->thread_tag)
        return NULL;
    bool same =
        (dom->min == f->min || tn_equal(p->child, dom->min, f->min, false, NULL)) &&
        (dom->extent == f->extent || tn_equal(p->child, dom->extent, f->extent, false, NULL));
    return same && tnb_dtype_eq(tn_dtype_of(v->var), tn_dtype_of(dom->extent)) ? f : NULL;
}

static void
axis(printer *p, const tn_iter_var *v, const tn_expr *value)
{
    /* ORDER ITER_KIND */
    static const char *const kinds[] = {"spatial", "reduce", "scan", "opaque", "thread"};
    const tn_range *dom = tn_as_range(v->dom);
    const tn_expr *end;
    pr_printf(p, "%s = T.axis.%s(", pr_define(p, v->var, tn_var_name(v->var)), kinds[v->iter_kind]);
    if (!pr_range_bounds(p, v->dom, &end)) {
        pr_range_node(p, v->dom);
    } else if (tn_is_int_const(dom->min, 0)) {
        pr_expr(p, dom->extent, PREC_TEST);
    } else {
        pr_puts(p, "(");
        pr_expr(p, dom->min, PREC_TEST);
        pr_puts(p, ", ");
        pr_expr(p, end, PREC_TEST);
        pr_puts(p, ")");
    }
    if (value) {
        pr_puts(p, ", ");
        pr_expr(p, value, PREC_TEST);
    }
    if (!tnb_dtype_eq(tn_dtype_of(v->var), tn_dtype_of(dom->extent)))
        pr_printf(p, ", dtype=\"%s\"", tnb_dtype_print(tn_dtype_of(v->var)).s);
    pr_puts(p, ")");
    pr_end_line(p);
}

/* Consecutive variables that follow loops become one T.axis.remap. */
static void
iteration_variables(printer *p, tn_list iters, tn_list values)
{
    for (uint32_t i = 0; i < iters.n;) {
        uint32_t k = i;
        while (k < iters.n && k < values.n &&
               followed_loop(p, tn_as_iter_var(iters.at[k]), values.at[k]))
            k++;
        if (k == i) {
            axis(p, tn_as_iter_var(iters.at[i]), i < values.n ? values.at[i] : NULL);
            i++;
            continue;
        }
        for (uint32_t j = i; j < k; j++) {
            const tn_expr *var = tn_as_iter_var(iters.at[j])->var;
            pr_printf(p, "%s%s", j > i ? ", " : "", pr_define(p, var, tn_var_name(var)));
        }
        pr_puts(p, " = T.axis.remap(\"");
        for (uint32_t j = i; j < k; j++)
            pr_puts(p, tn_as_iter_var(iters.at[j])->iter_kind == TN_ITER_SPATIAL ? "S" : "R");
        pr_puts(p, "\", [");
        for (uint32_t j = i; j < k; j++)
            pr_printf(p, "%s%s", j > i ? ", " : "", pr_name(p, values.at[j]));
        pr_puts(p, "])");
        pr_end_line(p);
        i = k;
    }
}

static void
match_buffers(printer *p, tn_list l)
{
    for (uint32_t i = 0; i < l.n; i++) {
        const tn_match_buffer *m = tn_as_match_buffer(l.at[i]);
        size_t start = p->line.n;
        pr_region(p, m->source);
        const char *source = tnb_strndup(p->arena, p->line.s + start, p->line.n - start);
        p->line.n = start;
        buffer_line(p, m->buffer, "match_buffer", source, false, NULL);
    }
}

static void
block_lines(printer *p, const tn_block *b, tn_list values, const tn_expr *predicate)
{
    iteration_variables(p, b->iters, values);
    if (predicate && !tn_is_int_const(predicate, 1)) {
        pr_puts(p, "T.where(");
        pr_expr(p, predicate, PREC_TEST);
        pr_puts(p, ")");
        pr_end_line(p);
    }
    /* regions may name matched buffers never, allocations neither */
    regions(p, "reads", b->reads);
    regions(p, "writes", b->writes);
    /* annotations may speak of buffers that the block allocates */
    for (uint32_t i = 0; i < b->allocs.n; i++)
        buffer_line(p, b->allocs.at[i], "sblock_alloc_buffer", NULL, false, NULL);
    match_buffers(p, b->match_buffers);
    if (pr_dict_count(b->annotations, NULL)) {
        pr_puts(p, "T.sblock_attr(");
        pr_dict(p, b->annotations, NULL);
        pr_puts(p, ")");
        pr_end_line(p);
    }
    if (b->init) {
        pr_puts(p, "with T.init():");
        pr_end_line(p);
        body(p, b->init);
    }
    pr_stmt(p, b->body);
}

static void
block(printer *p, const tn_block *b, tn_list values, const tn_expr *predicate, bool realized)
{
    pr_puts(p, "with T.sblock(");
    pr_string(p, b->name ? b->name : "");
    pr_puts(p, realized ? "):" : ", no_realize=True):");
    pr_end_line(p);
    p->indent++;
    block_lines(p, b, values, predicate);
    p->indent--;
}

/* ---- loops ---- */
static bool
plain_serial(const tn_for_loop *f)
{
    return f->for_kind == TN_FOR_SERIAL && !f->annotations && tn_is_int_const(f->min, 0) &&
           tnb_dtype_eq(tn_dtype_of(f->min), tn_dtype_of(f->extent));
}

static bool
uses_any(const tn_expr *e, const tn_for_loop *from, const tn_for_loop *to)
{
    for (const tn_for_loop *f = from; f != to; f = tn_as_for_loop(f->body))
        if (tn_uses(e, f->var))
            return true;
    return false;
}

static void
loop_bounds(printer *p, const tn_for_loop *f)
{
    tn_range range = {.base = {.kind = TN_KIND_RANGE}, .min = f->min, .extent = f->extent};
    const tn_expr *end;
    if (!pr_range_bounds(p, &range.base, &end)) {
        pr_range_node(p, &range.base);
    } else if (tn_is_int_const(f->min, 0)) {
        pr_expr(p, f->extent, PREC_TEST);
    } else {
        pr_expr(p, f->min, PREC_TEST);
        pr_puts(p, ", ");
        pr_expr(p, end, PREC_TEST);
    }
}

static void
one_loop(printer *p, const tn_for_loop *f)
{
    /* ORDER FOR_KIND */
    static const char *const kinds[] = {"T.serial", "T.parallel", "T.vectorized", "T.unroll",
                                        "T.thread_binding"};
    /* the bounds do not see the variable */
    size_t start = p->line.n;
    loop_bounds(p, f);
    const char *bounds = tnb_strndup(p->arena, p->line.s + start, p->line.n - start);
    p->line.n = start;
    bool plain = f->for_kind == TN_FOR_SERIAL && !f->annotations;
    const char *name = pr_define(p, f->var, tn_var_name(f->var));
    pr_printf(p, "for %s in %s(%s", name, plain ? "range" : kinds[f->for_kind], bounds);
    if (f->for_kind == TN_FOR_THREAD_BINDING) {
        pr_puts(p, ", thread=");
        pr_string(p, f->thread_tag);
    }
    if (f->annotations) {
        pr_puts(p, ", annotations=");
        pr_dict(p, f->annotations, NULL);
    }
    pr_puts(p, "):");
    pr_end_line(p);
    tnb_ptrmap_set(&p->loops, f->var, f);
    body(p, f->body);
    tnb_ptrmap_remove(&p->loops, f->var);
}

static void
loops(printer *p, const tn_for_loop *f)
{
    /* how many plain loops stand directly inside each other */
    const tn_for_loop *last = f, *inner;
    uint32_t n = plain_serial(f) ? 1 : 0;
    while (n && (inner = tn_as_for_loop(last->body)) && plain_serial(inner) &&
           !uses_any(inner->extent, f, inner)) {
        last = inner;
        n++;
    }
    if (n < 2) {
        one_loop(p, f);
        return;
    }
    size_t start = p->line.n;
    for (const tn_for_loop *x = f;; x = tn_as_for_loop(x->body)) {
        pr_puts(p, x == f ? "" : ", ");
        pr_expr(p, x->extent, PREC_TEST);
        if (x == last)
            break;
    }
    const char *extents = tnb_strndup(p->arena, p->line.s + start, p->line.n - start);
    p->line.n = start;
    pr_puts(p, "for ");
    for (const tn_for_loop *x = f;; x = tn_as_for_loop(x->body)) {
        pr_printf(p, "%s%s", x == f ? "" : ", ", pr_define(p, x->var, tn_var_name(x->var)));
        tnb_ptrmap_set(&p->loops, x->var, x);
        if (x == last)
            break;
    }
    pr_printf(p, " in T.grid(%s):", extents);
    pr_end_line(p);
    body(p, last->body);
    for (const tn_for_loop *x = f;; x = tn_as_for_loop(x->body)) {
        tnb_ptrmap_remove(&p->loops, x->var);
        if (x == last)
            break;
    }
}

/* ---- statements ---- */
/* Whether printing the expression puts no line in front. */
static tn_walk_step
needs_line(void *user, const tn_node *n)
{
    printer *p = user;
    if (n->kind == TN_KIND_LET || (tn_is_var(n) && !pr_known(p, n)))
        return TN_WALK_STOP;
    return TN_WALK_ON;
}

static void
if_lines(printer *p, const tn_if_stmt *s)
{
    const char *word = "if ";
    for (;;) {
        pr_puts(p, word);
        /* a bare literal would be decided while reading */
        if (s->cond->kind == TN_KIND_INT_IMM) {
            if (tnb_dtype_is_bool(tn_dtype_of(s->cond)))
                pr_printf(p, "T.bool(%s)", ((const tn_int_imm *)s->cond)->value ? "True" : "False");
            else
                pr_printf(p, "T.%s(%lld)", tnb_dtype_print(tn_dtype_of(s->cond)).s,
                          (long long)((const tn_int_imm *)s->cond)->value);
        } else {
            pr_expr(p, s->cond, PREC_TEST);
        }
        pr_puts(p, ":");
        pr_end_line(p);
        body(p, s->then_case);
        if (!s->else_case)
            return;
        const tn_if_stmt *next = tn_as_if_stmt(s->else_case);
        if (!next || !tn_walk(next->cond, 0, needs_line, NULL, p))
            break;
        word = "elif ";
        s = next;
    }
    pr_puts(p, "else:");
    pr_end_line(p);
    body(p, s->else_case);
}

static void
attr_lines(printer *p, const tn_attr_stmt *s)
{
    const tn_iter_var *v = tn_as_iter_var(s->node);
    const tn_range *dom = v ? tn_as_range(v->dom) : NULL;
    bool launch =
        dom && !strcmp(s->key, "thread_extent") && v->iter_kind == TN_ITER_THREAD &&
        tn_is_int_const(dom->min, 0) && !pr_known(p, v->var) &&
        tnb_dtype_eq(tn_dtype_of(v->var), tn_dtype_of(s->value)) &&
        tnb_dtype_eq(tn_dtype_of(dom->min), tn_dtype_of(s->value)) &&
        (dom->extent == s->value || tn_equal(p->child, dom->extent, s->value, false, NULL));
    if (launch) {
        pr_puts(p, "with T.launch_thread(");
        pr_string(p, v->thread_tag);
        pr_puts(p, ", ");
        pr_expr(p, s->value, PREC_TEST);
        pr_printf(p, ") as %s:", pr_define(p, v->var, tn_var_name(v->var)));
    } else {
        pr_puts(p, "with T.attr(");
        if (s->node && s->node->kind == TN_KIND_INT_IMM)
            pr_expr(p, s->node, PREC_TEST);
        else
            pr_attr(p, s->node);
        pr_puts(p, ", ");
        pr_string(p, s->key);
        pr_puts(p, ", ");
        pr_expr(p, s->value, PREC_TEST);
        pr_puts(p, "):");
    }
    pr_end_line(p);
    body(p, s->body);
}

static void
bind_line(printer *p, const tn_bind *s)
{
    size_t start = p->line.n;
    pr_expr(p, s->value, PREC_TEST);
    const char *value = tnb_strndup(p->arena, p->line.s + start, p->line.n - start);
    p->line.n = start;
    pr_printf(p, "%s: T.let[", pr_define(p, s->var, tn_var_name(s->var)));
    pr_type(p, s->var->type);
    pr_printf(p, "] = %s", value);
    pr_end_line(p);
}

/* A text, or a kind of error and the parts of its message. */
static void
assert_message(printer *p, const tn_node *m)
{
    const tn_array *a = tn_as_array(m);
    if (!a || a->items.n != 2) {
        pr_attr(p, m);
        return;
    }
    pr_puts(p, "(");
    pr_attr(p, a->items.at[0]);
    pr_puts(p, ", ");
    pr_attr(p, a->items.at[1]);
    pr_puts(p, ")");
}

static void
evaluate_line(printer *p, const tn_evaluate *s)
{
    const tn_call *c = tn_as_call(s->value);
    bool bare = c && !tn_is_intrin(s->value, TN_INTRIN_ret);
    if (!bare)
        pr_puts(p, "T.evaluate(");
    pr_expr(p, s->value, PREC_TEST);
    if (!bare)
        pr_puts(p, ")");
    pr_end_line(p);
}

void
pr_stmt(printer *p, const tn_stmt *s)
{
    switch ((tn_kind)s->kind) {
    case TN_KIND_SEQ: {
        tn_list l = ((const tn_seq *)s)->stmts;
        for (uint32_t i = 0; i < l.n; i++)
            pr_stmt(p, l.at[i]);
        break;
    }
    case TN_KIND_BUFFER_STORE: {
        const tn_buffer_store *b = (const tn_buffer_store *)s;
        pr_printf(p, "%s[", pr_name(p, b->buffer));
        if (b->indices.n)
            pr_exprs(p, b->indices);
        else
            pr_puts(p, "()");
        pr_puts(p, "] = ");
        pr_expr(p, b->value, PREC_TEST);
        pr_end_line(p);
        break;
    }
    case TN_KIND_BIND:
        bind_line(p, (const tn_bind *)s);
        break;
    case TN_KIND_ALLOC_BUFFER:
        buffer_line(p, ((const tn_alloc_buffer *)s)->buffer, "alloc_buffer", NULL, false,
                    ((const tn_alloc_buffer *)s)->annotations);
        break;
    case TN_KIND_DECL_BUFFER:
        buffer_line(p, ((const tn_alloc_buffer *)s)->buffer, "decl_buffer", NULL, false, NULL);
        break;
    case TN_KIND_ATTR_STMT:
        attr_lines(p, (const tn_attr_stmt *)s);
        break;
    case TN_KIND_ASSERT: {
        const tn_assert_stmt *a = (const tn_assert_stmt *)s;
        pr_puts(p, "assert ");
        pr_expr(p, a->cond, PREC_TEST);
        pr_puts(p, ", ");
        assert_message(p, a->message);
        pr_end_line(p);
        break;
    }
    case TN_KIND_EVALUATE:
        evaluate_line(p, (const tn_evaluate *)s);
        break;
    case TN_KIND_RETURN:
        pr_puts(p, "return ");
        pr_expr(p, ((const tn_evaluate *)s)->value, PREC_TEST);
        pr_end_line(p);
        break;
    case TN_KIND_BREAK:
    case TN_KIND_CONTINUE:
        pr_puts(p, s->kind == TN_KIND_BREAK ? "break" : "continue");
        pr_end_line(p);
        break;
    case TN_KIND_IF_STMT:
        if_lines(p, (const tn_if_stmt *)s);
        break;
    case TN_KIND_FOR:
        loops(p, (const tn_for_loop *)s);
        break;
    case TN_KIND_WHILE:
        pr_puts(p, "while ");
        pr_expr(p, ((const tn_while_loop *)s)->cond, PREC_TEST);
        pr_puts(p, ":");
        pr_end_line(p);
        body(p, ((const tn_while_loop *)s)->body);
        break;
    case TN_KIND_BLOCK:
        block(p, (const tn_block *)s, (tn_list){0}, NULL, false);
        break;
    case TN_KIND_BLOCK_REALIZE: {
        const tn_block_realize *r = (const tn_block_realize *)s;
        block(p, tn_as_block(r->block), r->values, r->predicate, true);
        break;
    }
    default:
        pr_printf(p, "<%s>", tn_kinds[s->kind].name);
        pr_end_line(p);
    }
}

/* ---- functions ---- */
static bool
all_literals(tn_list l)
{
    for (uint32_t i = 0; i < l.n; i++)
        if (l.at[i]->kind != TN_KIND_INT_IMM)
            return false;
    return true;
}

/* A parameter that T.Buffer in the signature says all about. */
static bool
simple_buffer(printer *p, const tn_expr *param, const tn_node *buffer)
{
    const tn_buffer *b = tn_as_buffer(buffer);
    return b && all_literals(b->shape) && all_literals(b->strides) && all_literals(b->separators) &&
           (!b->elem_offset || b->elem_offset->kind == TN_KIND_INT_IMM) && default_data(b) &&
           !pr_known(p, b->data) && tn_is(param->type, TN_KIND_TY_PRIM) &&
           !tnb_ptrmap_has(&p->uses, param);
}

static void
signature(printer *p, const tn_prim_func *f, const char *name)
{
    pr_printf(p, "def %s(", name);
    for (uint32_t i = 0; i < f->params.n; i++) {
        const tn_expr *v = f->params.at[i];
        pr_puts(p, i ? ", " : "");
        if (simple_buffer(p, v, f->buffers.at[i])) {
            const char *buffer;
            define_buffer(p, f->buffers.at[i], &buffer);
            pr_printf(p, "%s: T.Buffer(", buffer);
            pr_buffer_type(p, f->buffers.at[i]);
            pr_puts(p, ")");
        } else {
            pr_printf(p, "%s: ", pr_define(p, v, tn_var_name(v)));
            pr_type(p, v->type);
        }
    }
    pr_puts(p, ")");
    if (f->ret) {
        pr_puts(p, " -> ");
        pr_type(p, f->ret);
    }
    pr_puts(p, ":");
    pr_end_line(p);
}

static tn_walk_step
find_block(void *user, const tn_node *n)
{
    bool *found = user;
    if (n->kind == TN_KIND_BLOCK_REALIZE || n->kind == TN_KIND_BLOCK)
        *found = true;
    return *found ? TN_WALK_STOP : TN_WALK_ON;
}

/* The block that reading adds by itself around the body, when this one is just so. */
static const tn_block *
implicit_root(const tn_prim_func *f)
{
    const tn_block_realize *r = tn_as_block_realize(f->body);
    const tn_block *b = r ? tn_as_block(r->block) : NULL;
    if (!b || b->iters.n || b->reads.n || b->writes.n || b->match_buffers.n || b->init ||
        pr_dict_count(b->annotations, NULL) || !tn_is_int_const(r->predicate, 1) ||
        strcmp(b->name, "root") != 0)
        return NULL;
    const tn_block_realize *inner = tn_as_block_realize(b->body);
    if (!b->allocs.n && inner && !tn_as_block(inner->block)->iters.n)
        return NULL; /* that one would be taken for the root */
    bool blocks = b->allocs.n > 0;
    if (!blocks)
        tn_walk(b->body, 0, find_block, NULL, &blocks);
    return blocks ? b : NULL;
}

static void
decorator(printer *p, const char *given_name, bool is_private, const char *s_tir, bool persistent)
{
    const char *comma = "(";
    pr_puts(p, "@T.prim_func");
    if (is_private) {
        pr_puts(p, "(private=True");
        comma = ", ";
    }
    if (s_tir) {
        pr_printf(p, "%ss_tir=%s", comma, s_tir);
        comma = ", ";
    }
    if (persistent) {
        pr_printf(p, "%spersistent=True", comma);
        comma = ", ";
    }
    if (given_name) {
        pr_printf(p, "%sname=", comma);
        pr_string(p, given_name);
        comma = ", ";
    }
    pr_puts(p, *comma == ',' ? ")" : "");
    pr_end_line(p);
}

void
pr_prim_func(printer *p, const tn_prim_func *f, const char *name, const char *given_name)
{
    const tn_string_imm *symbol = tn_as_string_imm(tn_dict_get(f->attrs, "global_symbol"));
    bool implied = symbol && !strcmp(symbol->value, given_name ? given_name : name);
    const tn_node *flag = tn_dict_get(f->attrs, "s_tir"),
                  *fixed = tn_dict_get(f->attrs, "tirx.persistent");
    bool s_tir = tn_is(flag, TN_KIND_INT_IMM) && tnb_dtype_is_bool(tn_dtype_of(flag)) &&
                 tn_is_int_const(flag, 1);
    bool persistent = tn_is(fixed, TN_KIND_INT_IMM) && tnb_dtype_is_bool(tn_dtype_of(fixed)) &&
                      tn_is_int_const(fixed, 1);
    bool blocks = false;
    tn_walk(f->body, 0, find_block, NULL, &blocks);
    p->tensor = true;
    p->in_function = false;
    decorator(p, given_name, !symbol, s_tir ? "True" : blocks ? "False" : NULL, persistent);
    signature(p, f, name);
    p->indent++;
    p->in_function = true;
    const char *skip = tnb_printf(p->arena, "%s %s %s", implied ? "global_symbol" : "",
                                  s_tir ? "s_tir" : "", persistent ? "tirx.persistent" : "");
    if (pr_dict_count(f->attrs, skip)) {
        pr_puts(p, "T.func_attr(");
        pr_dict(p, f->attrs, skip);
        pr_puts(p, ")");
        pr_end_line(p);
    }
    for (uint32_t i = 0; i < f->params.n; i++)
        if (f->buffers.at[i] && !pr_known(p, f->buffers.at[i]))
            buffer_line(p, f->buffers.at[i], "match_buffer", pr_name(p, f->params.at[i]), false,
                        NULL);
    const tn_block *root = s_tir ? implicit_root(f) : NULL;
    if (root) {
        pr_puts(p, "# with T.sblock(\"root\"):");
        pr_end_line(p);
        for (uint32_t i = 0; i < root->allocs.n; i++)
            buffer_line(p, root->allocs.at[i], "sblock_alloc_buffer", NULL, false, NULL);
        pr_stmt(p, root->body);
    } else {
        pr_stmt(p, f->body);
    }
    p->indent--;
    p->tensor = false;
    p->in_function = false;
}
