/* SPDX-License-Identifier: Apache-2.0 */
/* Graph functions, bindings, graph expressions. */
#include "printer.h"

static void
body_lines(printer *p, const tn_seq_expr *seq);

/* ---- expressions ---- */
static void
value_list(printer *p, tn_list l)
{
    for (uint32_t i = 0; i < l.n; i++) {
        if (i)
            pr_puts(p, ", ");
        pr_value(p, l.at[i]);
    }
}

static void
tuple(printer *p, tn_list l)
{
    pr_puts(p, "(");
    value_list(p, l);
    pr_puts(p, l.n == 1 ? ",)" : ")");
}

/* A scalar among graph expressions: a variable stands for itself. */
static void
scalar_value(printer *p, const tn_expr *e)
{
    if (e->kind == TN_KIND_VAR || e->kind == TN_KIND_DATAFLOW_VAR) {
        pr_puts(p, pr_name(p, e));
        return;
    }
    pr_puts(p, "R.prim_value(");
    pr_expr(p, e, PREC_TEST);
    pr_puts(p, ")");
}

/* ty_args=(T,) or out_ty=T; several outputs as a list. */
static void
given_type(printer *p, const char *keyword, tn_list types, bool as_tuple)
{
    if (!types.n)
        return;
    pr_printf(p, ", %s=", keyword);
    const tn_ty_tuple *t = tn_as_ty_tuple(types.at[0]);
    if (as_tuple) {
        pr_puts(p, "(");
        pr_type(p, types.at[0]);
        pr_puts(p, ",)");
    } else if (t && t->fields.n > 1) {
        pr_puts(p, "[");
        for (uint32_t i = 0; i < t->fields.n; i++) {
            if (i)
                pr_puts(p, ", ");
            pr_type(p, t->fields.at[i]);
        }
        pr_puts(p, "]");
    } else {
        pr_type(p, types.at[0]);
    }
}

static void
keyword_attr(printer *p, const char *key, const tn_node *v, const tn_attr_schema *s)
{
    pr_printf(p, ", %s=", key);
    if (s && s->type == TN_ATTR_VDEVICE && tn_is(v, TN_KIND_VDEVICE)) {
        pr_vdevice(p, v, true);
    } else if (s && s->type == TN_ATTR_DTYPE && tn_is(v, TN_KIND_DTYPE_IMM)) {
        tnb_dtype d = ((const tn_dtype_imm *)v)->value;
        if (tnb_dtype_is_void(d)) /* upstream reads no other spelling */
            pr_puts(p, "None");
        else
            pr_printf(p, "\"%s\"", tnb_dtype_print(d).s);
    } else {
        pr_attr(p, v);
    }
}

static const tn_attr_schema *
schema_of(const tn_op *op, const char *key)
{
    for (const tn_attr_schema *s = op->attrs; s && s->name; s++)
        if (!strcmp(s->name, key))
            return s;
    return NULL;
}

/* All attributes, those of the schema in its order. */
static void
attributes(printer *p, const tn_op *op, const tn_node *attrs, const char *skip)
{
    for (const tn_attr_schema *s = op->attrs; s && s->name; s++) {
        const tn_node *v = tn_dict_get(attrs, s->name);
        if (v && !(skip && strstr(skip, s->name)))
            keyword_attr(p, s->name, v, s);
    }
    const tn_dict *d = tn_as_dict(attrs);
    for (uint32_t i = 0; d && i < d->items.n; i++) {
        const tn_pair *kv = tn_as_pair(d->items.at[i]);
        if (!schema_of(op, kv->key) && !(skip && strstr(skip, kv->key)))
            keyword_attr(p, kv->key, kv->value, NULL);
    }
}

/* A callee: the text of a packed function, or what is called. */
static void
callee(printer *p, const tn_expr *f)
{
    const tn_extern_func *e = tn_as_extern_func(f);
    if (e)
        pr_string(p, e->name);
    else
        pr_value(p, f);
}

/* The call's own type is what the operator would infer. */
static bool
type_follows(printer *p, const tn_call *c, const tn_op *op)
{
    if (!op->infer)
        return c->ty_args.n || tn_is(c->base.type, TN_KIND_TY_ANY);
    tn_call again = *c;
    again.base.type = NULL;
    const tn_type *t = op->infer(p->child, &again);
    return t && !tn_is_error(t) &&
           (t == c->base.type || tn_equal(p->child, t, c->base.type, false, NULL));
}

static bool
structural_call(printer *p, const tn_call *c, const char *name)
{
    static const char *const programs[] = {"call_tir", "call_tir_inplace", "call_tir_with_grad",
                                           "call_dps_packed", "dist.call_tir"};
    static const char *const packed[] = {"call_pure_packed", "call_inplace_packed"};
    static const char *const with_tuple[] = {"call_builtin_with_ctx", "invoke_closure",
                                             "invoke_pure_closure"};
    const tn_op *op = tn_call_op_of(c);
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (!strcmp(name, programs[i]) && c->args.n == 2) {
            pr_printf(p, "R.%s(", name);
            callee(p, c->args.at[0]);
            pr_puts(p, ", ");
            pr_value(p, c->args.at[1]);
            if (i == 1) {
                pr_puts(p, ", inplace_indices=");
                pr_attr(p, tn_dict_get(c->attrs, "inplace_indices"));
            }
            given_type(p, "out_ty", c->ty_args, false);
            if (i == 2) {
                pr_puts(p, ", te_grad_name=");
                pr_attr(p, tn_dict_get(c->attrs, "te_grad_name"));
                const tn_node *kwargs = tn_dict_get(c->attrs, "te_grad_kwargs");
                if (kwargs && !tn_is(kwargs, TN_KIND_NONE)) {
                    pr_puts(p, ", te_grad_kwargs=");
                    pr_attr(p, kwargs);
                }
            }
            pr_puts(p, ")");
            return true;
        }
    for (size_t i = 0; i < 2; i++)
        if (!strcmp(name, packed[i]) && c->args.n) {
            pr_printf(p, "R.%s(", name);
            callee(p, c->args.at[0]);
            for (uint32_t k = 1; k < c->args.n; k++) {
                pr_puts(p, ", ");
                pr_value(p, c->args.at[k]);
            }
            attributes(p, op, c->attrs, NULL);
            given_type(p, "ty_args", c->ty_args, true);
            pr_puts(p, ")");
            return true;
        }
    for (size_t i = 0; i < 3; i++)
        if (!strcmp(name, with_tuple[i]) && c->args.n == 2) {
            pr_printf(p, "R.%s(", name);
            callee(p, c->args.at[0]);
            pr_puts(p, ", ");
            pr_value(p, c->args.at[1]);
            given_type(p, "ty_args", c->ty_args, true);
            pr_puts(p, ")");
            return true;
        }
    if (!strcmp(name, "hint_on_device") && c->args.n == 1) {
        const tn_node *type = tn_dict_get(c->attrs, "device_type"),
                      *index = tn_dict_get(c->attrs, "index");
        pr_puts(p, "R.hint_on_device(");
        pr_value(p, c->args.at[0]);
        pr_puts(p, ", R.device(");
        pr_attr(p, type);
        pr_puts(p, ", ");
        pr_attr(p, index);
        pr_puts(p, ")");
        const tn_node *scope = tn_dict_get(c->attrs, "memory_scope");
        if (scope && !tn_is(scope, TN_KIND_NONE)) {
            pr_puts(p, ", ");
            pr_attr(p, scope);
        }
        pr_puts(p, ")");
        return true;
    }
    return false;
}

static void
operator_call(printer *p, const tn_call *c, const tn_op *op)
{
    const char *name = !strncmp(op->base.name, "relax.", 6) ? op->base.name + 6 : op->base.name;
    if (structural_call(p, c, name))
        return;
    if (!p->one_line && !type_follows(p, c, op)) {
        pr_puts(p, "R.emit_with_ty(");
        pr_string(p, op->base.name);
        pr_puts(p, ", ");
        tuple(p, c->args);
        pr_puts(p, ", (");
        pr_type(p, c->base.type);
        pr_puts(p, ",)");
        attributes(p, op, c->attrs, NULL);
        pr_puts(p, ")");
        return;
    }
    pr_printf(p, "R.%s(", op->script_name ? op->script_name : name);
    size_t before = p->line.n;
    value_list(p, c->args);
    bool none = p->line.n == before;
    attributes(p, op, c->attrs, NULL);
    if (none && p->line.n > before + 2 && !p->line.failed) {
        /* no argument in front of the keywords: their comma goes */
        memmove(p->line.s + before, p->line.s + before + 2, p->line.n - before - 1);
        p->line.n -= 2;
    }
    given_type(p, "ty_args", c->ty_args, true);
    pr_puts(p, ")");
}

static void
call(printer *p, const tn_call *c)
{
    const tn_op *op = tn_call_op_of(c);
    if (op) {
        operator_call(p, c, op);
        return;
    }
    const tn_extern_func *e = tn_as_extern_func(c->op);
    if (e) {
        pr_puts(p, "R.call_packed(");
        pr_string(p, e->name);
        for (uint32_t i = 0; i < c->args.n; i++) {
            pr_puts(p, ", ");
            pr_value(p, c->args.at[i]);
        }
        const tn_dict *d = tn_as_dict(c->attrs);
        for (uint32_t i = 0; d && i < d->items.n; i++)
            keyword_attr(p, tn_as_pair(d->items.at[i])->key, tn_as_pair(d->items.at[i])->value,
                         NULL);
        given_type(p, "ty_args", c->ty_args, true);
        pr_puts(p, ")");
        return;
    }
    pr_value(p, c->op);
    pr_puts(p, "(");
    value_list(p, c->args);
    pr_puts(p, ")");
}

void
pr_value(printer *p, const tn_expr *e)
{
    if (!e) {
        pr_puts(p, "None");
        return;
    }
    switch ((tn_kind)e->kind) {
    case TN_KIND_VAR:
    case TN_KIND_DATAFLOW_VAR:
        pr_puts(p, pr_name(p, e));
        return;
    case TN_KIND_GLOBAL_VAR:
        pr_printf(p, "%s.%s", p->module_ref, pr_function_name(p, ((const tn_global_var *)e)->name));
        return;
    case TN_KIND_EXTERN_FUNC:
        pr_puts(p, "R.ExternFunc(");
        pr_string(p, ((const tn_extern_func *)e)->name);
        const tn_ty_func *f = tn_as_ty_func(e->type);
        if (f &&
            (!f->opaque || (f->ret && !tn_is(f->ret, TN_KIND_TY_ANY)) || f->pure || f->derive)) {
            pr_puts(p, ", ");
            pr_type(p, e->type);
        }
        pr_puts(p, ")");
        return;
    case TN_KIND_OP_REF:
        pr_printf(p, "R.op(\"%s\")", ((const tn_op_ref *)e)->op->base.name);
        return;
    case TN_KIND_STRING_IMM:
        pr_puts(p, "R.str(");
        pr_string(p, ((const tn_string_imm *)e)->value);
        pr_puts(p, ")");
        return;
    case TN_KIND_DTYPE_IMM: {
        tnb_dtype d = ((const tn_dtype_imm *)e)->value;
        pr_printf(p, "R.dtype(\"%s\")", tnb_dtype_is_void(d) ? "void" : tnb_dtype_print(d).s);
        return;
    }
    case TN_KIND_CONSTANT:
        pr_constant(p, ((const tn_constant *)e)->data);
        return;
    case TN_KIND_SHAPE_EXPR: {
        bool quote = p->quote;
        p->quote = false;
        tn_list l = ((const tn_shape_expr *)e)->values;
        pr_puts(p, "R.shape([");
        for (uint32_t i = 0; i < l.n; i++) {
            if (i)
                pr_puts(p, ", ");
            pr_dim(p, l.at[i]);
        }
        pr_puts(p, "])");
        p->quote = quote;
        return;
    }
    case TN_KIND_TUPLE:
        if (((const tn_tuple *)e)->fields.n)
            tuple(p, ((const tn_tuple *)e)->fields);
        else
            pr_puts(p, "R.tuple()");
        return;
    case TN_KIND_TUPLE_GET: {
        const tn_tuple_get *g = (const tn_tuple_get *)e;
        pr_value(p, g->tuple);
        pr_printf(p, "[%lld]", (long long)g->index);
        return;
    }
    case TN_KIND_CALL:
        if (!tn_is_scalar(e) || !tn_call_op_of((const tn_call *)e) ||
            !(tn_call_op_of((const tn_call *)e)->flags & TN_OP_SCALAR)) {
            call(p, (const tn_call *)e);
            return;
        }
        break;
    case TN_KIND_FUNCTION:
        pr_puts(p, "<function>");
        return;
    case TN_KIND_IF_EXPR:
        pr_puts(p, "<if>");
        return;
    case TN_KIND_SEQ_EXPR:
        pr_value(p, ((const tn_seq_expr *)e)->body);
        return;
    default:
        break;
    }
    if (tn_is_scalar(e)) {
        scalar_value(p, e);
        return;
    }
    pr_printf(p, "<%s>", tn_kinds[e->kind].name);
}

/* ---- bindings ---- */
static bool
same_type(printer *p, const tn_type *a, const tn_type *b)
{
    return a == b || (a && b && tn_equal(p->child, a, b, false, NULL));
}

static void
annotation(printer *p, const tn_type *t)
{
    pr_puts(p, ": ");
    pr_type(p, t);
}

static bool
annotate(printer *p, const tn_expr *var, const tn_expr *value)
{
    if (!same_type(p, var->type, value->type))
        return true;
    if (p->opt && p->opt->hide_types)
        return tn_is_scalar(value); /* a scalar binding needs its type to be one */
    return !tn_is_call_to(value, "relax.call_tir") &&
           !tn_is_call_to(value, "relax.call_dps_packed");
}

/* A call for its effect only: printed as a statement. */
static bool
is_statement(printer *p, const tn_expr *var, const tn_expr *value)
{
    const tn_call *c = tn_as_call(value);
    const tn_op *op = c ? tn_call_op_of(c) : NULL;
    const tn_ty_tuple *t = tn_as_ty_tuple(value->type);
    const char *name = tn_var_name(var);
    return op && (op->flags & TN_OP_IMPURE) && t && !t->fields.n && !strcmp(name, "_") &&
           same_type(p, var->type, value->type) && !tnb_ptrmap_has(&p->uses, var) && !c->ty_args.n;
}

static void
if_lines(printer *p, const tn_expr *var, const tn_if_expr *e)
{
    const char *name = pr_define(p, var, tn_var_name(var));
    pr_puts(p, "if ");
    pr_value(p, e->cond);
    pr_puts(p, ":");
    pr_end_line(p);
    const tn_expr *branches[] = {e->then_branch, e->else_branch};
    for (int i = 0; i < 2; i++) {
        if (i) {
            pr_puts(p, "else:");
            pr_end_line(p);
        }
        p->indent++;
        const tn_seq_expr *seq = tn_as_seq_expr(branches[i]);
        if (seq)
            body_lines(p, seq);
        pr_puts(p, name);
        annotation(p, var->type);
        pr_puts(p, " = ");
        pr_value(p, seq ? seq->body : branches[i]);
        pr_end_line(p);
        p->indent--;
    }
}

void
pr_binding(printer *p, const tn_node *b)
{
    const tn_match_cast *m = tn_as_match_cast(b);
    if (m) {
        pr_puts(p, ""); /* the value is printed before the name is defined */
        size_t start = p->line.n;
        pr_puts(p, " = R.match_cast(");
        pr_value(p, m->value);
        pr_puts(p, ", ");
        pr_type(p, m->to);
        pr_puts(p, ")");
        char *rest = tnb_strndup(p->arena, p->line.s ? p->line.s + start : "", p->line.n - start);
        p->line.n = start;
        pr_puts(p, pr_define(p, m->var, tn_var_name(m->var)));
        if (!same_type(p, m->var->type, m->to))
            annotation(p, m->var->type);
        pr_puts(p, rest);
        pr_end_line(p);
        return;
    }
    const tn_var_binding *v = tn_as_var_binding(b);
    const tn_function *f = tn_as_function(v->value);
    if (f) {
        const char *name = pr_define(p, v->var, tn_var_name(v->var));
        pr_graph_function(p, f, name, NULL, true);
        return;
    }
    if (tn_is(v->value, TN_KIND_IF_EXPR)) {
        if_lines(p, v->var, (const tn_if_expr *)v->value);
        return;
    }
    if (is_statement(p, v->var, v->value)) {
        pr_value(p, v->value);
        pr_end_line(p);
        return;
    }
    bool annotated = annotate(p, v->var, v->value);
    /* the annotation may declare symbols in front; the variable's own name comes first in the line
     */
    pr_puts(p, pr_define(p, v->var, tn_var_name(v->var)));
    if (annotated)
        annotation(p, v->var->type);
    pr_puts(p, " = ");
    pr_value(p, v->value);
    pr_end_line(p);
}

static void
dataflow_lines(printer *p, const tn_bindings_block *b)
{
    const char *comma = "";
    pr_puts(p, "with R.dataflow():");
    pr_end_line(p);
    p->indent++;
    for (uint32_t i = 0; i < b->bindings.n; i++)
        pr_binding(p, b->bindings.at[i]);
    pr_puts(p, "R.output(");
    for (uint32_t i = 0; i < b->bindings.n; i++) {
        const tn_var_binding *v = tn_as_var_binding(b->bindings.at[i]);
        const tn_match_cast *m = tn_as_match_cast(b->bindings.at[i]);
        const tn_expr *var = v ? v->var : m->var;
        if (var->kind != TN_KIND_VAR)
            continue;
        pr_printf(p, "%s%s", comma, pr_name(p, var));
        comma = ", ";
    }
    pr_puts(p, ")");
    pr_end_line(p);
    p->indent--;
}

static void
body_lines(printer *p, const tn_seq_expr *seq)
{
    for (uint32_t i = 0; i < seq->blocks.n; i++) {
        const tn_bindings_block *b = tn_as_bindings_block(seq->blocks.at[i]);
        if (b->base.kind == TN_KIND_DATAFLOW_BLOCK) {
            dataflow_lines(p, b);
            continue;
        }
        for (uint32_t k = 0; k < b->bindings.n; k++)
            pr_binding(p, b->bindings.at[k]);
    }
}

/* ---- functions ---- */
static tn_walk_step
find_global(void *user, const tn_node *n)
{
    bool *found = user;
    *found |= n->kind == TN_KIND_GLOBAL_VAR;
    return *found ? TN_WALK_STOP : TN_WALK_ON;
}

static void
decorator(printer *p, const tn_function *f, const char *given_name, bool local, bool is_private)
{
    const char *comma = "(";
    pr_puts(p, "@R.function");
    if (is_private && !local) {
        pr_puts(p, "(private=True");
        comma = ", ";
    }
    if (!f->pure) {
        pr_printf(p, "%spure=False", comma);
        comma = ", ";
    }
    if (given_name) {
        pr_printf(p, "%sname=", comma);
        pr_string(p, given_name);
        comma = ", ";
    }
    if (*comma == ',')
        pr_puts(p, ")");
    pr_end_line(p);
}

static void
signature(printer *p, const tn_function *f, const char *name)
{
    pr_printf(p, "def %s(", name);
    bool quote = p->quote;
    p->quote = true;
    /* scalar parameters may be named by dimensions of others */
    for (uint32_t i = 0; i < f->params.n; i++)
        pr_define(p, f->params.at[i], tn_var_name(f->params.at[i]));
    for (uint32_t i = 0; i < f->params.n; i++) {
        pr_printf(p, "%s%s", i ? ", " : "", pr_name(p, f->params.at[i]));
        annotation(p, f->params.at[i]->type);
    }
    pr_puts(p, ")");
    if (f->ret) {
        pr_puts(p, " -> ");
        pr_type(p, f->ret);
    }
    pr_puts(p, ":");
    p->quote = quote;
    pr_end_line(p);
}

void
pr_graph_function(printer *p, const tn_function *f, const char *name, const char *given_name,
                  bool local)
{
    const tn_string_imm *symbol = tn_as_string_imm(tn_dict_get(f->attrs, "global_symbol"));
    const char *own = given_name ? given_name : name;
    bool implied = symbol && !local && !strcmp(symbol->value, own);
    const tn_seq_expr *seq = tn_as_seq_expr(f->body);
    bool tensor = p->tensor, in_function = p->in_function;
    decorator(p, f, given_name, local, !symbol);
    p->tensor = false;
    signature(p, f, name);
    p->indent++;
    p->in_function = true;
    tn_list symbols = tn_defined_symbols(p->child, &f->base);
    tnb_ptrmap params;
    tnb_ptrmap_init(&params, p->arena);
    for (uint32_t i = 0; i < f->params.n; i++)
        tnb_ptrmap_set(&params, f->params.at[i], f->params.at[i]);
    for (uint32_t i = 0; i < symbols.n; i++) {
        const tn_expr *s = symbols.at[i];
        if (tnb_ptrmap_has(&params, s) || !tnb_ptrmap_has(&p->uses, s) || !tn_is_scalar(s))
            continue;
        pr_printf(p, "%s = T.%s()", pr_name(p, s), tnb_dtype_print(tn_dtype_of(s)).s);
        pr_end_line(p);
    }
    const char *skip = implied ? "global_symbol" : NULL;
    if (pr_dict_count(f->attrs, skip)) {
        pr_puts(p, "R.func_attr(");
        pr_dict(p, f->attrs, skip);
        pr_puts(p, ")");
        pr_end_line(p);
    }
    bool refers = false;
    if (!local && p->module)
        tn_walk(f->body, TN_WALK_TYPES, find_global, NULL, &refers);
    if (refers) {
        pr_printf(p, "cls = %s", p->module_name);
        pr_end_line(p);
    }
    if (seq)
        body_lines(p, seq);
    pr_puts(p, "return ");
    pr_value(p, seq ? seq->body : f->body);
    pr_end_line(p);
    p->indent--;
    p->tensor = tensor;
    p->in_function = in_function;
}
