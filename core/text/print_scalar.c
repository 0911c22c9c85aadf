/* SPDX-License-Identifier: Apache-2.0 */
/* Scalar expressions, with as few parentheses as precedence allows. Where the reader would fold
 * what an operator says, the node's own spelling is printed (T.Add, T.Cast, T.call_intrin), which
 * it takes as is.
 */
#include <math.h>
#include <stdio.h>

#include "printer.h"

/* ---- literals ---- */
void
pr_dtype(printer *p, tnb_dtype d)
{
    pr_printf(p, "T.%s", tnb_dtype_print(d).s);
}

void
pr_int(printer *p, const tn_expr *e, tnb_dtype bare)
{
    tnb_dtype d = tn_dtype_of(e);
    int64_t v = ((const tn_int_imm *)e)->value;
    if (d.code == TNB_HANDLE) {
        pr_printf(p, "T.IntImm(\"handle\", %lld)", (long long)v);
        return;
    }
    if (tnb_dtype_is_bool(d)) {
        pr_puts(p, v ? "True" : "False");
        return;
    }
    bool wrap = !tnb_dtype_eq(d, bare);
    if (wrap) {
        pr_dtype(p, d);
        pr_puts(p, "(");
    }
    if (d.code == TNB_UINT)
        pr_printf(p, "%llu", (unsigned long long)v);
    else
        pr_printf(p, "%lld", (long long)v);
    if (wrap)
        pr_puts(p, ")");
}

void
pr_float(printer *p, const tn_expr *e, bool bare_f64)
{
    tnb_dtype d = tn_dtype_of(e);
    double v = ((const tn_float_imm *)e)->value;
    tnb_num_text text = (double)(float)v == v && !tnb_dtype_eq(d, TNB_F64) ? tnb_print_f32((float)v)
                                                                           : tnb_print_f64(v);
    bool finite = isfinite(v), bare = bare_f64 && tnb_dtype_eq(d, TNB_F64);
    if (!finite && isnan(v) && signbit(v))
        snprintf(text.s, sizeof text.s, "-nan");
    if (bare && finite)
        pr_puts(p, text.s);
    else
        pr_printf(p, finite ? "T.%s(%s)" : "T.%s(\"%s\")", tnb_dtype_print(d).s, text.s);
}

static bool
is_literal(const tn_expr *e)
{
    return e->kind == TN_KIND_INT_IMM || e->kind == TN_KIND_FLOAT_IMM;
}

/* A literal that Python would take for a number of its own. */
static bool
is_bare(const printer *p, const tn_expr *e)
{
    tnb_dtype d = tn_dtype_of(e);
    if (e->kind == TN_KIND_INT_IMM)
        return tnb_dtype_is_bool(d) || tnb_dtype_eq(d, p->tensor ? TNB_I32 : TNB_I64);
    return e->kind == TN_KIND_FLOAT_IMM && !p->tensor && tnb_dtype_eq(d, TNB_F64) &&
           isfinite(((const tn_float_imm *)e)->value);
}

/* ---- operators ---- */
static const struct {
    uint16_t kind;
    uint8_t prec;
    const char *op;   /* NULL: a function */
    const char *name; /* of the node */
    const char *function;
} operators[] = {
    {TN_KIND_ADD, PREC_SUM, "+", "Add", NULL},
    {TN_KIND_SUB, PREC_SUM, "-", "Sub", NULL},
    {TN_KIND_MUL, PREC_TERM, "*", "Mul", NULL},
    {TN_KIND_DIV, PREC_TERM, "/", "Div", NULL},
    {TN_KIND_MOD, PREC_ATOM, NULL, "Mod", "truncmod"},
    {TN_KIND_FLOOR_DIV, PREC_TERM, "//", "FloorDiv", NULL},
    {TN_KIND_FLOOR_MOD, PREC_TERM, "%", "FloorMod", NULL},
    {TN_KIND_MIN, PREC_ATOM, NULL, "Min", "min"},
    {TN_KIND_MAX, PREC_ATOM, NULL, "Max", "max"},
    {TN_KIND_EQ, PREC_COMPARE, "==", "EQ", NULL},
    {TN_KIND_NE, PREC_COMPARE, "!=", "NE", NULL},
    {TN_KIND_LT, PREC_COMPARE, "<", "LT", NULL},
    {TN_KIND_LE, PREC_COMPARE, "<=", "LE", NULL},
    {TN_KIND_GT, PREC_COMPARE, ">", "GT", NULL},
    {TN_KIND_GE, PREC_COMPARE, ">=", "GE", NULL},
    {TN_KIND_AND, PREC_AND, "and", "And", NULL},
    {TN_KIND_OR, PREC_OR, "or", "Or", NULL},
};

/* Whether the operator, read back, gives this very node. */
static bool
reads_back(printer *p, const tn_binary *e)
{
    tn_kind k = e->base.kind;
    if (is_bare(p, e->a) && is_bare(p, e->b))
        return false;
    if (k == TN_KIND_DIV && !tnb_dtype_is_float(tn_dtype_of(e->a)))
        return false;
    if (!is_literal(e->a) && !is_literal(e->b) && e->a != e->b)
        return true;
    const tn_binary *made = tn_as_binary(tn_bin(p->child, k, e->a, e->b));
    return made && made->base.kind == k && made->a == e->a && made->b == e->b;
}

static void
binary(printer *p, const tn_binary *e, int prec)
{
    size_t k = 0;
    while (operators[k].kind != e->base.kind)
        k++;
    bool plain = reads_back(p, e);
    if (!plain || !operators[k].op) {
        pr_printf(p, "T.%s(", plain ? operators[k].function : operators[k].name);
        pr_expr(p, e->a, PREC_TEST);
        pr_puts(p, ", ");
        pr_expr(p, e->b, PREC_TEST);
        pr_puts(p, ")");
        return;
    }
    int own = operators[k].prec;
    bool paren = own < prec;
    if (paren)
        pr_puts(p, "(");
    /* comparisons do not chain; the rest leans to the left */
    pr_expr(p, e->a, own == PREC_COMPARE ? own + 1 : own);
    pr_printf(p, " %s ", operators[k].op);
    pr_expr(p, e->b, own + 1);
    if (paren)
        pr_puts(p, ")");
}

static void
logical_not(printer *p, const tn_unary *e, int prec)
{
    if (is_literal(e->a)) {
        pr_puts(p, "T.Not(");
        pr_expr(p, e->a, PREC_TEST);
        pr_puts(p, ")");
        return;
    }
    bool paren = prec > PREC_NOT;
    pr_puts(p, paren ? "(not " : "not ");
    pr_expr(p, e->a, PREC_NOT);
    if (paren)
        pr_puts(p, ")");
}

/* ---- lists ---- */
void
pr_exprs(printer *p, tn_list l)
{
    for (uint32_t i = 0; i < l.n; i++) {
        if (i)
            pr_puts(p, ", ");
        pr_expr(p, l.at[i], PREC_TEST);
    }
}

void
pr_index_tuple(printer *p, tn_list l)
{
    pr_puts(p, "(");
    pr_exprs(p, l);
    pr_puts(p, l.n == 1 ? ",)" : ")");
}

/* ---- ranges ---- */
bool
pr_range_bounds(printer *p, const tn_node *n, const tn_expr **end)
{
    const tn_range *g = tn_as_range(n);
    int64_t a, b, sum;
    *end = NULL;
    if (!tnb_dtype_eq(tn_dtype_of(g->min), tn_dtype_of(g->extent)))
        return false;
    if (tn_is_int_const(g->min, 0)) {
        *end = g->extent;
        return true;
    }
    *end = tn_add(p->child, g->min, g->extent);
    if (tn_int_value(g->min, &a) && tn_int_value(g->extent, &b))
        return tn_is(*end, TN_KIND_INT_IMM) && !__builtin_add_overflow(a, b, &sum) &&
               ((const tn_int_imm *)*end)->value == sum;
    const tn_expr *ends[] = {tn_simplify_now(p->child, *end), *end};
    for (int i = 0; i < 2; i++) {
        /* as the reader does it */
        const tn_expr *extent = tn_sub(p->child, ends[i], g->min);
        if (!tn_is(extent, TN_KIND_INT_IMM) && !tn_is_error(extent))
            extent = tn_simplify_now(p->child, extent);
        *end = ends[i];
        if (!tn_is_error(extent) && tn_equal(p->child, extent, g->extent, false, NULL))
            return true;
    }
    return false;
}

void
pr_range_node(printer *p, const tn_node *n)
{
    const tn_range *g = tn_as_range(n);
    pr_puts(p, "I.Range.from_min_extent(");
    pr_expr(p, g->min, PREC_TEST);
    pr_puts(p, ", ");
    pr_expr(p, g->extent, PREC_TEST);
    pr_puts(p, ")");
}

/* ---- calls ---- */
static const char *
dtype_text(printer *p, tnb_dtype d)
{
    return tnb_strdup(p->arena, tnb_dtype_is_void(d) ? "void" : tnb_dtype_print(d).s);
}

static bool
has_literal(tn_list l)
{
    for (uint32_t i = 0; i < l.n; i++)
        if (is_literal(l.at[i]))
            return true;
    return false;
}

/* Whether T.name(args) gives this very call. */
static bool
intrinsic_reads_back(printer *p, const tn_call *c, const tn_op *op)
{
    const tn_expr *made = NULL;
    if (c->attrs || c->ty_args.n)
        return false;
    const char *name = op->base.name + 5;
    bool folding = !strncmp(name, "bitwise_", 8) || !strncmp(name, "shift_", 6);
    if (folding || !strcmp(name, "if_then_else")) {
        if (!has_literal(c->args))
            return true;
        if (!strcmp(name, "if_then_else"))
            made = c->args.n == 3
                       ? tn_if_then_else(p->child, c->args.at[0], c->args.at[1], c->args.at[2])
                       : NULL;
        else if (c->args.n == 1)
            made = tn_bitwise_not(p->child, c->args.at[0]);
        else if (c->args.n == 2)
            made = (!strcmp(name, "bitwise_and")   ? tn_bitwise_and
                    : !strcmp(name, "bitwise_or")  ? tn_bitwise_or
                    : !strcmp(name, "bitwise_xor") ? tn_bitwise_xor
                    : !strcmp(name, "shift_left")
                        ? tn_shift_left
                        : tn_shift_right)(p->child, c->args.at[0], c->args.at[1]);
    } else {
        if (!op->infer)
            return false;
        made = tn_call_of(p->child, tn_op_ref_of(p->child, op), c->args, NULL, (tn_list){0}, NULL);
    }
    const tn_call *m = tn_as_call(made);
    if (!m || m->args.n != c->args.n || tn_call_op_of(m) != op ||
        m->base.type->kind != c->base.type->kind ||
        !tnb_dtype_eq(tn_dtype_of(made), tn_dtype_of(&c->base)))
        return false;
    for (uint32_t i = 0; i < c->args.n; i++)
        if (m->args.at[i] != c->args.at[i])
            return false;
    return true;
}

static void
call_by_name(printer *p, const tn_call *c, const char *function, const char *dtype,
             const char *name, uint32_t first)
{
    pr_printf(p, "T.%s(", function);
    bool comma = false;
    if (dtype) {
        pr_printf(p, "\"%s\"", dtype);
        comma = true;
    }
    if (name) {
        pr_puts(p, comma ? ", " : "");
        pr_string(p, name);
        comma = true;
    }
    for (uint32_t i = first; i < c->args.n; i++) {
        pr_puts(p, comma ? ", " : "");
        pr_expr(p, c->args.at[i], PREC_TEST);
        comma = true;
    }
    pr_puts(p, ")");
}

static void
operator_call(printer *p, const tn_call *c, const tn_op *op)
{
    const char *dtype = dtype_text(p, tn_dtype_of(&c->base));
    const char *name = !strncmp(op->base.name, "tirx.", 5) ? op->base.name + 5 : op->base.name;
    const tn_string_imm *text = c->args.n ? tn_as_string_imm(c->args.at[0]) : NULL;
    bool external = !strncmp(name, "call_extern", 11) || !strncmp(name, "call_pure_extern", 16) ||
                    !strncmp(name, "call_llvm_", 10);
    if (external && text) {
        call_by_name(p, c, name, dtype, text->value, 1);
    } else if (!strcmp(name, "reinterpret") && c->args.n == 1) {
        call_by_name(p, c, name, dtype, NULL, 0);
    } else if (!strcmp(name, "type_annotation") && !c->args.n) {
        call_by_name(p, c, name, dtype, NULL, 0);
    } else if ((!strcmp(name, "tvm_call_packed") || !strcmp(name, "tvm_call_cpacked")) &&
               tnb_dtype_eq(tn_dtype_of(&c->base), TNB_I32)) {
        call_by_name(p, c, !strcmp(name, "tvm_call_packed") ? "call_packed" : "call_cpacked", NULL,
                     NULL, 0);
    } else if (!strcmp(name, "tvm_struct_get") && c->args.n == 3) {
        pr_puts(p, "T.tvm_struct_get(");
        pr_exprs(p, c->args);
        pr_printf(p, ", \"%s\")", dtype);
    } else if (!strncmp(op->base.name, "tirx.", 5) && intrinsic_reads_back(p, c, op)) {
        bool metal =
            !strncmp(name, "simdgroup_", 10) || !strncmp(name, "make_filled_simdgroup", 21);
        call_by_name(p, c, metal ? tnb_printf(p->arena, "metal.%s", name) : name, NULL, NULL, 0);
    } else {
        call_by_name(p, c, "call_intrin", dtype, op->base.name, 0);
    }
}

static void
scalar_call(printer *p, const tn_call *c)
{
    const tn_op *op = tn_call_op_of(c);
    if (op) {
        operator_call(p, c, op);
        return;
    }
    const tn_global_var *gv = tn_as_global_var(c->op);
    if (!gv) {
        pr_value(p, &c->base);
        return;
    }
    const tn_prim_func *f = p->module ? tn_as_prim_func(tn_module_get(p->module, gv->name)) : NULL;
    tnb_dtype ret = f && f->ret ? ((const tn_ty_prim *)f->ret)->dtype : TNB_VOID;
    tnb_dtype d = tn_dtype_of(&c->base);
    const char *name = tnb_printf(p->arena, "%s.%s", p->module_ref, pr_function_name(p, gv->name));
    if (tnb_dtype_eq(ret, d)) {
        pr_printf(p, "%s(", name);
        pr_exprs(p, c->args);
        pr_puts(p, ")");
        return;
    }
    pr_printf(p, "T.call_extern(\"%s\", %s", dtype_text(p, d), name);
    for (uint32_t i = 0; i < c->args.n; i++) {
        pr_puts(p, ", ");
        pr_expr(p, c->args.at[i], PREC_TEST);
    }
    pr_puts(p, ")");
}

/* T.Let(body, where={x: value}); the variable is declared in front, as Python wants it. */
static void
let(printer *p, const tn_let *e)
{
    const char *name = pr_define(p, e->var, tn_var_name(e->var));
    if (!p->one_line && p->in_function && !p->quote)
        pr_line(p, "%s = T.%s()", name, tnb_dtype_print(tn_dtype_of(e->var)).s);
    pr_puts(p, "T.Let(");
    pr_expr(p, e->body, PREC_TEST);
    pr_printf(p, ", where={%s: ", name);
    pr_expr(p, e->value, PREC_TEST);
    pr_puts(p, "})");
}

static void
vector(printer *p, const tn_expr *e)
{
    if (e->kind == TN_KIND_RAMP) {
        const tn_ramp *r = (const tn_ramp *)e;
        pr_puts(p, "T.Ramp(");
        pr_expr(p, r->start, PREC_TEST);
        pr_puts(p, ", ");
        pr_expr(p, r->stride, PREC_TEST);
        pr_printf(p, ", %lld)", (long long)r->lanes);
    } else if (e->kind == TN_KIND_BROADCAST) {
        const tn_broadcast *b = (const tn_broadcast *)e;
        pr_puts(p, "T.Broadcast(");
        pr_expr(p, b->value, PREC_TEST);
        pr_printf(p, ", %lld)", (long long)b->lanes);
    } else {
        const tn_shuffle *s = (const tn_shuffle *)e;
        pr_puts(p, "T.Shuffle([");
        pr_exprs(p, s->vectors);
        pr_puts(p, "], [");
        pr_exprs(p, s->indices);
        pr_puts(p, "])");
    }
}

static void
load(printer *p, const tn_buffer_load *e)
{
    pr_printf(p, "%s[", pr_name(p, e->buffer));
    if (e->indices.n)
        pr_exprs(p, e->indices);
    else
        pr_puts(p, "()");
    pr_puts(p, "]");
}

static void
three(printer *p, const char *name, const tn_expr *a, const tn_expr *b, const tn_expr *c)
{
    pr_printf(p, "T.%s(", name);
    pr_expr(p, a, PREC_TEST);
    pr_puts(p, ", ");
    pr_expr(p, b, PREC_TEST);
    pr_puts(p, ", ");
    pr_expr(p, c, PREC_TEST);
    pr_puts(p, ")");
}

void
pr_expr(printer *p, const tn_expr *e, int prec)
{
    if (!e) {
        pr_puts(p, "None");
        return;
    }
    if (tn_is_binary(e)) {
        binary(p, (const tn_binary *)e, prec);
        return;
    }
    switch ((tn_kind)e->kind) {
    case TN_KIND_VAR:
    case TN_KIND_DATAFLOW_VAR:
        pr_puts(p, pr_name(p, e));
        break;
    case TN_KIND_INT_IMM:
        pr_int(p, e, p->tensor ? TNB_I32 : TNB_I64);
        break;
    case TN_KIND_FLOAT_IMM:
        pr_float(p, e, !p->tensor);
        break;
    case TN_KIND_STRING_IMM:
        pr_string(p, ((const tn_string_imm *)e)->value);
        break;
    case TN_KIND_CAST:
        pr_printf(p, "T.Cast(\"%s\", ", tnb_dtype_print(tn_dtype_of(e)).s);
        pr_expr(p, ((const tn_cast *)e)->value, PREC_TEST);
        pr_puts(p, ")");
        break;
    case TN_KIND_NOT:
        logical_not(p, (const tn_unary *)e, prec);
        break;
    case TN_KIND_SELECT: {
        const tn_select *s = (const tn_select *)e;
        three(p, "Select", s->cond, s->a, s->b);
        break;
    }
    case TN_KIND_LET:
        let(p, (const tn_let *)e);
        break;
    case TN_KIND_RAMP:
    case TN_KIND_BROADCAST:
    case TN_KIND_SHUFFLE:
        vector(p, e);
        break;
    case TN_KIND_BUFFER_LOAD:
        load(p, (const tn_buffer_load *)e);
        break;
    case TN_KIND_CALL:
        scalar_call(p, (const tn_call *)e);
        break;
    default:
        pr_value(p, e);
    }
}
