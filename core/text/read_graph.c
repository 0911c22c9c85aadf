/* SPDX-License-Identifier: Apache-2.0 */
/* Graph functions: signatures with symbolic dimensions, bindings, dataflow blocks, branches, local
 * functions. Nested calls get variables of their own, so that what is built is in A-normal form.
 */
#include "reader.h"

static void
graph_statements(reader *r, ast_list body);

/* ---- values as graph expressions ---- */
bool
rd_is_leaf(const tn_expr *e)
{
    const tn_call *call = tn_as_call(e);
    const tn_op *op = call ? tn_call_op_of(call) : NULL;
    if (call || tn_is(e, TN_KIND_TUPLE_GET) || tn_is(e, TN_KIND_IF_EXPR))
        return op &&
               (op->flags & TN_OP_SCALAR); /* of scalar type, but bound, if it is graph code */
    if (tn_is_scalar(e))
        return true;
    switch ((tn_kind)e->kind) {
    case TN_KIND_VAR:
    case TN_KIND_DATAFLOW_VAR:
    case TN_KIND_CONSTANT:
    case TN_KIND_SHAPE_EXPR:
    case TN_KIND_GLOBAL_VAR:
    case TN_KIND_EXTERN_FUNC:
    case TN_KIND_STRING_IMM:
    case TN_KIND_DTYPE_IMM:
    case TN_KIND_OP_REF:
        return true;
    case TN_KIND_TUPLE: {
        tn_list fields = ((const tn_tuple *)e)->fields;
        for (uint32_t i = 0; i < fields.n; i++)
            if (!rd_is_leaf(fields.at[i]))
                return false;
        return true;
    }
    default:
        return false;
    }
}

const tn_expr *
rd_expr(reader *r, const ast *e, value v)
{
    switch ((value_kind)v.kind) {
    case V_ERROR:
        return NULL;
    case V_NODE:
        if (v.node->kind >= TN_KIND_FIRST_EXPR && v.node->kind <= TN_KIND_LAST_EXPR)
            return v.node;
        break;
    case V_TUPLE:
    case V_LIST: {
        node_vec fields = {0};
        bool each = (e->kind == AST_TUPLE || e->kind == AST_LIST) && e->list.n == v.n;
        for (uint32_t i = 0; i < v.n; i++) {
            const tn_expr *x = rd_leaf(r, each ? e->list.at[i] : e, v.items[i]);
            if (!x)
                return NULL;
            TNB_PUSH(r->arena, fields, x);
        }
        rd_at(r, e);
        const tn_expr *t = tn_tuple_of(r->ctx, (tn_list){fields.at, fields.n});
        return tn_is_error(t) ? NULL : t;
    }
    case V_INT:
    case V_FLOAT:
    case V_BOOL:
    case V_STR:
    case V_DECLARED:
        return rd_scalar(r, e, v);
    case V_META:
        return rd_expr(r, e, v.items[0]);
    default:
        break;
    }
    rd_error(r, e, TNB_TYPE, "expected an expression, found %s", rd_what(r, v));
    return NULL;
}

const tn_expr *
rd_leaf(reader *r, const ast *e, value v)
{
    const tn_expr *x = rd_expr(r, e, v);
    if (!x || rd_is_leaf(x))
        return x;
    return rd_emit(r, e, x, NULL, NULL);
}

/* ---- bindings ---- */
/* What a variable bound to `x` is: a function of the module has its signature's type. */
static const tn_type *
type_of_value(reader *r, const tn_expr *x)
{
    global *g = tn_is(x, TN_KIND_GLOBAL_VAR) ? tnb_ptrmap_get(&r->by_var, x) : NULL;
    if (g && g->type) {
        g->believed = true;
        return g->type;
    }
    if (g && g->func)
        return tn_func_type(r->ctx, g->func);
    return x->type ? x->type : tn_ty_any(r->ctx);
}

static void
flush(reader *r, bool even_empty)
{
    graph_scope *g = r->graph;
    if (g->bindings.n || even_empty) {
        const tn_node *b =
            tn_binding_block_of(r->ctx, (tn_list){g->bindings.at, g->bindings.n}, g->dataflow);
        TNB_PUSH(r->arena, g->blocks, b);
    }
    g->bindings = (node_vec){0};
}

static const tn_expr *
new_var(reader *r, const char *name, const tn_type *type)
{
    const graph_scope *g = r->graph;
    bool output = !g->dataflow ||
                  (g->outputs && tnb_ptrmap_get(g->outputs, name) == g->statement && g->statement);
    return output ? tn_var_new(r->ctx, name, type) : tn_dataflow_var_new(r->ctx, name, type);
}

const tn_expr *
rd_emit(reader *r, const ast *e, const tn_expr *x, const char *name, const tn_type *type)
{
    if (!r->graph) {
        rd_error(r, e, TNB_FORMAT, "a call needs a function around it");
        return NULL;
    }
    rd_at(r, e);
    if (!name)
        name = tn_str(r->ctx, r->graph->dataflow ? "lv" : "gv");
    const tn_expr *var = new_var(r, name, type ? type : type_of_value(r, x));
    const tn_node *b = tn_var_binding_of(r->ctx, var, x);
    if (tn_is_error(b))
        return NULL;
    TNB_PUSH(r->arena, r->graph->bindings, b);
    r->graph->written = NULL;
    return var;
}

/* n = T.int64(): the signature's variable of that name, or a new one. */
static value
declare_symbol(reader *r, const ast *e, const char *name, value v)
{
    const value *known = rd_find(r, name);
    if (known && known->kind == V_TYPE_VAR) {
        value found = rd_lookup(r, e);
        return found;
    }
    if (!known || known->kind == V_ERROR)
        return rd_node(tn_var_new(r->ctx, name, v.node->type));
    if (known->kind != V_NODE || !tn_is_var(known->node) || !tn_is_scalar(known->node))
        return rd_error(r, e, TNB_TYPE, "'%s' is already %s, not a symbolic variable", name,
                        rd_what(r, *known));
    if (!tnb_dtype_eq(tn_dtype_of(known->node), tn_dtype_of(v.node)))
        return rd_error(r, e, TNB_TYPE, "symbolic variable '%s' is %s, declared here as %s", name,
                        tnb_dtype_print(tn_dtype_of(known->node)).s,
                        tnb_dtype_print(tn_dtype_of(v.node)).s);
    return *known;
}

static value
bind_cast(reader *r, const ast *target, value v, const tn_type *annotation)
{
    if (annotation && tn_type_check(r->ctx, annotation, v.other) == TN_SUBTYPE_FAIL) {
        rd_error(r, target, TNB_TYPE, "'%s' is annotated %s, but cast to %s", target->text,
                 tn_text(r->ctx, annotation), tn_text(r->ctx, v.other));
        return rd_failed();
    }
    rd_at(r, target);
    const tn_type *type = annotation ? rd_stronger(r, annotation, v.other) : v.other;
    const tn_expr *var = new_var(r, target->text, type);
    const tn_node *b = tn_match_cast_of(r->ctx, var, v.node, type);
    if (tn_is_error(b))
        return rd_failed();
    TNB_PUSH(r->arena, r->graph->bindings, b);
    r->graph->written = annotation;
    return rd_node(var);
}

/* The variable has what is known of its value and what is written besides. */
static value
bind_expr(reader *r, const ast *target, const ast *where, const tn_expr *x,
          const tn_type *annotation)
{
    const tn_type *known = x->type ? type_of_value(r, x) : NULL;
    if (annotation && known && tn_type_check(r->ctx, annotation, known) == TN_SUBTYPE_FAIL) {
        rd_error(r, where, TNB_TYPE, "'%s' is annotated %s, but its value is %s", target->text,
                 tn_text(r->ctx, annotation), tn_text(r->ctx, known));
        return rd_failed();
    }
    const tn_type *type = annotation && known ? rd_stronger(r, annotation, known) : annotation;
    const tn_expr *var = rd_emit(r, target, x, target->text, type);
    r->graph->written = annotation;
    return var ? rd_node(var) : rd_failed();
}

/* A plain number: a constant, or a scalar where the annotation says so. */
static const tn_expr *
number_value(reader *r, const ast *e, value v, const tn_type *annotation)
{
    if (tn_is(annotation, TN_KIND_TY_PRIM))
        return rd_scalar_of(r, e, v, ((const tn_ty_prim *)annotation)->dtype);
    tnb_dtype d = v.kind == V_FLOAT ? TNB_F32 : v.kind == V_BOOL ? TNB_B8 : TNB_I32;
    rd_at(r, e);
    if (!rd_scalar_of(r, e, v, d))
        return NULL;
    return tn_scalar_constant(r->ctx, d, v.kind == V_FLOAT ? v.f : (double)v.i);
}

static value
bound_value(reader *r, const ast *target, const ast *where, value v, const tn_type *annotation)
{
    const tn_expr *x;
    switch ((value_kind)v.kind) {
    case V_META:
        return v.items[0];
    case V_DECLARED:
        if (annotation && !tnb_dtype_eq(tn_type_dtype(annotation), tn_dtype_of(v.node)))
            return rd_error(r, target, TNB_TYPE, "'%s' is annotated %s, but declared %s",
                            target->text, tn_text(r->ctx, annotation),
                            tnb_dtype_print(tn_dtype_of(v.node)).s);
        return declare_symbol(r, target, target->text, v);
    case V_CAST:
        return bind_cast(r, target, v, annotation);
    case V_INT:
    case V_FLOAT:
    case V_BOOL:
        x = number_value(r, where, v, annotation);
        return x ? bind_expr(r, target, where, x, annotation) : rd_failed();
    case V_STR:
    case V_TUPLE:
    case V_LIST:
        x = rd_expr(r, where, v);
        return x ? bind_expr(r, target, where, x, annotation) : rd_failed();
    case V_NODE:
        if (v.node->kind >= TN_KIND_FIRST_EXPR && v.node->kind <= TN_KIND_LAST_EXPR)
            return bind_expr(r, target, where, v.node, annotation);
        return v; /* a type or range: a name for it */
    default:
        return v;
    }
}

/* I.meta_var(..): the name stands for the value as it is read. */
static bool
is_meta_var(const ast *e)
{
    return e->kind == AST_CALL && e->a->kind == AST_ATTR && !strcmp(e->a->text, "meta_var");
}

static void
bind_target(reader *r, const ast *target, const ast *where, value v, const tn_type *annotation)
{
    if (target->kind == AST_NAME && is_meta_var(where) && v.kind != V_META) {
        rd_bind(r, target->text, v); /* one of several */
        return;
    }
    if (target->kind == AST_NAME) {
        rd_bind(r, target->text, bound_value(r, target, where, v, annotation));
        return;
    }
    if (target->kind != AST_TUPLE && target->kind != AST_LIST) {
        rd_error(r, target, TNB_FORMAT, "only names can be assigned to in a graph function");
        return;
    }
    if (v.kind == V_META)
        v = v.items[0];
    uint32_t n = target->list.n;
    const tn_expr *x = NULL;
    if (v.kind == V_NODE) {
        x = rd_leaf(r, where, v);
        const tn_ty_tuple *t = x ? tn_as_ty_tuple(x->type) : NULL;
        if (x && (!t || t->fields.n != n)) {
            if (t)
                rd_error(r, where, TNB_SHAPE, "%u names for the %u fields of the tuple", n,
                         t->fields.n);
            else
                rd_error(r, where, TNB_TYPE, "%s is not a tuple and cannot be unpacked",
                         rd_what(r, v));
            x = NULL;
        }
    } else if (v.kind != V_TUPLE && v.kind != V_LIST) {
        if (v.kind != V_ERROR)
            rd_error(r, where, TNB_TYPE, "%s cannot be unpacked", rd_what(r, v));
        v.kind = V_ERROR;
    } else if (v.n != n) {
        rd_error(r, where, TNB_SHAPE, "%u names for %u values", n, v.n);
        v.kind = V_ERROR;
    }
    bool each = (where->kind == AST_TUPLE || where->kind == AST_LIST) && where->list.n == n;
    for (uint32_t i = 0; i < n; i++) {
        value item = {.kind = V_ERROR};
        if (x) {
            rd_at(r, where);
            item = rd_node(tn_tuple_item(r->ctx, x, i));
        } else if (v.kind == V_TUPLE || v.kind == V_LIST) {
            item = v.items[i];
        }
        bind_target(r, target->list.at[i], each ? where->list.at[i] : where, item, NULL);
    }
}

static void
assignment(reader *r, const ast *s, const ast *annotation, const ast *what)
{
    if (s->kind == AST_ASSIGN && s->c) {
        rd_error(r, s, TNB_FORMAT, "chained assignment is not supported");
        rd_hint(r, "write one assignment a line");
        return;
    }
    const tn_type *type = NULL;
    bool bad = false;
    if (annotation) {
        type = rd_type(r, annotation, rd_eval(r, annotation));
        bad = !type;
    }
    if (!what) {
        rd_error(r, s, TNB_FORMAT, "an annotation without a value");
        return;
    }
    r->hint = s->a->kind == AST_NAME ? s->a->text : NULL;
    value v = rd_eval(r, what);
    r->hint = NULL;
    bind_target(r, s->a, what, bad ? rd_failed() : v, type);
}

/* ---- statements ---- */
static void
func_attr(reader *r, const ast *e)
{
    call_args a = rd_args(e, "R.func_attr");
    value v;
    const ast *where = e;
    if (!rd_need(r, &a, "attrs", &v, &where) || !rd_args_end(r, &a))
        return;
    const tn_dict *d = tn_as_dict(rd_dict(r, where, v));
    graph_function *f = r->graph->func;
    for (uint32_t i = 0; d && i < d->items.n; i++) {
        const tn_pair *p = tn_as_pair(d->items.at[i]);
        if (!strcmp(p->key, "global_symbol") && f->explicit_private) {
            rd_error(r, e, TNB_INVALID,
                     "a private function cannot have the attribute \"global_symbol\"");
            continue;
        }
        rd_attr_set(r, &f->attrs, p->key, p->value);
    }
}

static void
output(reader *r, const ast *e)
{
    graph_scope *g = r->graph;
    if (!g->dataflow) {
        rd_error(r, e, TNB_FORMAT, "R.output outside of a dataflow block");
        return;
    }
    if (g->closed) {
        rd_error(r, e, TNB_FORMAT, "a dataflow block has one R.output");
        return;
    }
    g->closed = true;
    for (uint32_t i = 0; i < e->list.n; i++) {
        const ast *x = e->list.at[i];
        const value *v = x->kind == AST_NAME ? rd_find(r, x->text) : NULL;
        if (x->kind != AST_NAME) {
            rd_error(r, x, TNB_FORMAT, "R.output takes names of variables");
        } else if (!v) {
            rd_lookup(r, x);
        } else if (v->kind == V_NODE && tn_is_var(v->node) &&
                   ((bound *)tnb_ptrmap_get(&r->names, x->text))->frame == r->frame) {
            continue;
        } else if (v->kind != V_ERROR) {
            rd_error(r, x, TNB_INVALID, "'%s' is not a variable of this dataflow block", x->text);
        }
    }
}

static void
expression_statement(reader *r, const ast *e)
{
    if (e->kind == AST_STR)
        return; /* a comment as text */
    const char *path = rd_called(r, e);
    if (path && !strcmp(path, "R.func_attr")) {
        func_attr(r, e);
        return;
    }
    if (path && !strcmp(path, "R.output")) {
        output(r, e);
        return;
    }
    value v = rd_eval(r, e);
    if (v.kind == V_ERROR || v.kind == V_MODULE)
        return;
    if (v.kind != V_NODE || v.node->kind < TN_KIND_FIRST_EXPR || v.node->kind > TN_KIND_LAST_EXPR) {
        rd_error(r, e, TNB_FORMAT, "%s is not a statement", rd_what(r, v));
        return;
    }
    const tn_ty_tuple *t = tn_as_ty_tuple(v.node->type);
    if (!t || t->fields.n) {
        rd_error(r, e, TNB_FORMAT, "the value of type %s is not assigned",
                 v.node->type ? tn_text(r->ctx, v.node->type) : "?");
        rd_hint(r, "write '_ = ...' if it is to be dropped");
        return;
    }
    rd_emit(r, e, v.node, tn_str(r->ctx, "_"), NULL);
}

/* ---- dataflow blocks ---- */
static void
note_targets(reader *r, tnb_ptrmap *names, const ast *target, const ast *statement)
{
    if (target->kind == AST_NAME && tnb_ptrmap_has(names, target->text))
        tnb_ptrmap_set(names, target->text, statement);
    for (uint32_t i = 0;
         (target->kind == AST_TUPLE || target->kind == AST_LIST) && i < target->list.n; i++)
        note_targets(r, names, target->list.at[i], statement);
}

/* Which statement binds each output for the last time. */
static void
find_outputs(reader *r, ast_list body, tnb_ptrmap *names)
{
    for (uint32_t i = 0; i < body.n; i++) {
        const ast *s = body.at[i];
        const char *path = s->kind == AST_EXPR ? rd_called(r, s->a) : NULL;
        if (!path || strcmp(path, "R.output") != 0)
            continue;
        for (uint32_t k = 0; k < s->a->list.n; k++)
            if (s->a->list.at[k]->kind == AST_NAME)
                tnb_ptrmap_set(names, s->a->list.at[k]->text, s);
    }
    /* what a block returns outlives it */
    const ast *last = body.n ? body.at[body.n - 1] : NULL;
    if (last && last->kind == AST_RETURN && last->a) {
        tnb_ptrmap_set(names, tn_str(r->ctx, "gv"), last);
        if (last->a->kind == AST_NAME)
            tnb_ptrmap_set(names, last->a->text, last);
        for (uint32_t i = 0; last->a->kind == AST_TUPLE && i < last->a->list.n; i++)
            if (last->a->list.at[i]->kind == AST_NAME)
                tnb_ptrmap_set(names, last->a->list.at[i]->text, last);
    }
    for (uint32_t i = 0; i < body.n; i++) {
        const ast *s = body.at[i];
        if (s->kind == AST_ASSIGN || s->kind == AST_ANNOTATED)
            note_targets(r, names, s->a, s);
        if (s->kind == AST_DEF && tnb_ptrmap_has(names, s->text))
            tnb_ptrmap_set(names, s->text, s);
    }
}

/* Ends a frame of names: variables of a dataflow block and of branches end with it, others stay. */
static void
close_frame(reader *r, const char *why, bool keep_vars)
{
    TNB_VEC(bound *) kept = {0};
    for (uint32_t i = r->log.n; i-- > 0 && r->log.at[i]->frame == r->frame;) {
        bound *b = r->log.at[i];
        bool local =
            b->v.kind == V_NODE && tn_is_var(b->v.node) &&
            (tn_is(b->v.node, TN_KIND_DATAFLOW_VAR) || (!keep_vars && !tn_is_scalar(b->v.node)));
        if (local)
            tnb_ptrmap_set(&r->gone, b->name, why);
        else
            TNB_PUSH(r->arena, kept, b);
    }
    rd_pop(r);
    for (uint32_t i = kept.n; i-- > 0;)
        rd_bind(r, kept.at[i]->name, kept.at[i]->v);
}

static void
dataflow(reader *r, const ast *with)
{
    graph_scope *g = r->graph;
    if (g->dataflow) {
        rd_error(r, with, TNB_FORMAT, "a dataflow block inside a dataflow block");
        return;
    }
    if (with->list.n != 1)
        rd_error(r, with, TNB_FORMAT, "expected 'with R.dataflow():'");
    tnb_ptrmap outputs;
    tnb_ptrmap_init(&outputs, r->arena);
    flush(r, false);
    g->dataflow = true;
    g->closed = false;
    g->outputs = &outputs;
    find_outputs(r, with->more, &outputs);
    rd_push(r);
    graph_statements(r, with->more);
    close_frame(r, "it is a variable of a dataflow block that has ended; name it in R.output",
                true);
    flush(r, true);
    g->dataflow = false;
    g->closed = g->result != NULL;
    g->outputs = NULL;
    g->statement = NULL;
}

/* ---- branches ---- */
/* Ends a branch: its last binding is its value. */
static const tn_expr *
branch_result(reader *r, const ast *where, graph_scope *g, const char **name, const tn_type **type,
              const char *suffix)
{
    flush(r, false);
    const tn_bindings_block *last =
        g->blocks.n ? tn_as_bindings_block(g->blocks.at[g->blocks.n - 1]) : NULL;
    const tn_node *binding =
        last && last->bindings.n ? last->bindings.at[last->bindings.n - 1] : NULL;
    const tn_var_binding *vb = tn_as_var_binding(binding);
    const tn_match_cast *mc = tn_as_match_cast(binding);
    if (!vb && !mc) {
        rd_error(r, where, TNB_FORMAT, "a branch must end with an assignment, the value of the if");
        return NULL;
    }
    const tn_expr *var = vb ? vb->var : mc->var, *body;
    if (tn_is(var, TN_KIND_DATAFLOW_VAR)) {
        rd_error(r, where, TNB_FORMAT, "the value of a branch must not be a dataflow variable");
        return NULL;
    }
    *name = tn_var_name(var);
    *type = g->written;
    node_vec rest = {0};
    for (uint32_t i = 0; i + 1 < last->bindings.n; i++)
        TNB_PUSH(r->arena, rest, last->bindings.at[i]);
    if (vb && rd_is_leaf(vb->value)) {
        body = vb->value;
    } else {
        body = tn_var_new(r->ctx, tn_strf(r->ctx, "%s%s", *name, suffix), var->type);
        const tn_node *again = vb ? tn_var_binding_of(r->ctx, body, vb->value)
                                  : tn_match_cast_of(r->ctx, body, mc->value, mc->to);
        TNB_PUSH(r->arena, rest, again);
    }
    g->blocks.n--;
    if (rest.n) {
        const tn_node *b = tn_binding_block_of(r->ctx, (tn_list){rest.at, rest.n},
                                               last->base.kind == TN_KIND_DATAFLOW_BLOCK);
        TNB_PUSH(r->arena, g->blocks, b);
    }
    const tn_expr *seq = tn_seq_expr_of(r->ctx, (tn_list){g->blocks.at, g->blocks.n}, body);
    return tn_is_error(seq) ? NULL : seq;
}

static const tn_expr *
branch(reader *r, const ast *where, ast_list body, const char **name, const tn_type **type,
       const char *suffix)
{
    graph_scope scope = {.in_branch = true, .func = r->graph->func, .outer = r->graph};
    uint32_t before = tnb_diags_errors(tn_diags(r->ctx));
    graph_scope *outer = r->graph;
    r->graph = &scope;
    rd_push(r);
    graph_statements(r, body);
    close_frame(r, "it is local to a branch", false);
    const tn_expr *e = NULL;
    if (tnb_diags_errors(tn_diags(r->ctx)) == before)
        e = branch_result(r, where, &scope, name, type, suffix);
    r->graph = outer;
    return e;
}

/* Where a branch ends; bodies whose statements all had errors are empty. */
static const ast *
last_of(ast_list body, const ast *otherwise)
{
    return body.n ? body.at[body.n - 1] : otherwise;
}

static void
if_statement(reader *r, const ast *s)
{
    if (r->graph->dataflow) {
        rd_error(r, s, TNB_FORMAT, "an if inside a dataflow block");
        rd_hint(r, "move it out of 'with R.dataflow():'");
        return;
    }
    if (!s->more.n) {
        rd_error(r, s, TNB_FORMAT, "an if of a graph function needs an else branch");
        return;
    }
    const tn_expr *cond = rd_leaf(r, s->a, rd_eval(r, s->a));
    const char *name = NULL, *other_name = NULL;
    const tn_type *type = NULL, *other_type = NULL;
    if (!rd_enter(r, s))
        return;
    const tn_expr *then_branch = branch(r, last_of(s->list, s), s->list, &name, &type, "_then");
    const tn_expr *else_branch =
        branch(r, last_of(s->more, s), s->more, &other_name, &other_type, "_else");
    rd_leave(r);
    if (!cond || !then_branch || !else_branch) {
        if (name)
            rd_bind(r, name, rd_failed());
        if (other_name)
            rd_bind(r, other_name, rd_failed());
        return;
    }
    if (name != other_name) {
        rd_error(r, s, TNB_FORMAT, "the branches end with different variables: '%s' and '%s'", name,
                 other_name);
        return;
    }
    rd_at(r, s);
    const tn_expr *e = tn_if_expr_of(r->ctx, cond, then_branch, else_branch);
    if (tn_is_error(e))
        return;
    /* both branches annotate their last binding with what the variable after the if is; what a
     * branch knows better may be of variables that end with it */
    if (!type || !other_type || !tn_type_equal(r->ctx, type, other_type) ||
        tn_type_check(r->ctx, type, e->type) == TN_SUBTYPE_FAIL)
        type = NULL;
    else
        type =
            rd_stronger(r, type, tn_type_erase(r->ctx, e->type, tn_free_vars(r->ctx, type, false)));
    const tn_expr *var = rd_emit(r, s, e, name, type);
    rd_bind(r, name, var ? rd_node(var) : rd_failed());
}

/* ---- functions ---- */
static bool
mentions(const ast *e, const char *name);

static bool
list_mentions(ast_list l, const char *name)
{
    for (uint32_t i = 0; i < l.n; i++)
        if (mentions(l.at[i], name))
            return true;
    return false;
}

static bool
mentions(const ast *e, const char *name)
{
    if (!e)
        return false;
    if (e->kind == AST_NAME)
        return e->text == name;
    return mentions(e->a, name) || mentions(e->b, name) || mentions(e->c, name) ||
           list_mentions(e->list, name) || list_mentions(e->more, name);
}

typedef struct decorator {
    bool is_private, explicit_private, pure;
} decorator;

static decorator
read_decorator(reader *r, const ast *def)
{
    decorator d = {.pure = true};
    for (uint32_t i = 0; i < def->b->list.n; i++) {
        const ast *e = def->b->list.at[i];
        if (e->kind != AST_CALL)
            continue;
        for (uint32_t k = 0; k < e->more.n; k++) {
            const ast *key = e->more.at[k];
            value v = rd_eval(r, key->a);
            bool flag = false;
            if (!strcmp(key->text, "private")) {
                if (rd_bool(r, key->a, v, &flag))
                    d.is_private = d.explicit_private = flag;
            } else if (!strcmp(key->text, "pure")) {
                if (rd_bool(r, key->a, v, &flag))
                    d.pure = flag;
            } else if (strcmp(key->text, "check_well_formed") != 0 &&
                       strcmp(key->text, "name") != 0) {
                rd_error(r, key, TNB_INVALID, "R.function does not know the option '%s'",
                         key->text);
            }
        }
    }
    return d;
}

static bool
is_prim_annotation(const ast *e)
{
    if (e->kind == AST_CALL)
        return e->a->kind == AST_ATTR && !strcmp(e->a->text, "Prim");
    return e->kind == AST_ATTR && e->a->kind == AST_NAME && !strcmp(e->a->text, "T");
}

/* The old p: R.Prim(value="n") defines n, which is the parameter itself then; NULL: none. */
static const char *
symbol_of_prim(const ast *e)
{
    if (e->kind != AST_CALL || e->a->kind != AST_ATTR || strcmp(e->a->text, "Prim") != 0)
        return NULL;
    for (uint32_t i = 0; i < e->more.n; i++) {
        const ast *k = e->more.at[i];
        if (strcmp(k->text, "value") != 0 || k->a->kind != AST_STR)
            continue;
        const char *s = k->a->text;
        bool name = *s == '_' || ((*s | 32) >= 'a' && (*s | 32) <= 'z');
        for (const char *c = s; *c && name; c++)
            name = *c == '_' || ((*c | 32) >= 'a' && (*c | 32) <= 'z') || (*c >= '0' && *c <= '9');
        return name ? s : NULL;
    }
    return NULL;
}

/* Notes the names in an annotation. */
static void
note_names(const ast *e, tnb_ptrmap *names)
{
    if (!e)
        return;
    if (e->kind == AST_NAME)
        tnb_ptrmap_set(names, e->text, e);
    note_names(e->a, names);
    note_names(e->b, names);
    for (uint32_t i = 0; i < e->list.n; i++)
        note_names(e->list.at[i], names);
    for (uint32_t i = 0; i < e->more.n; i++)
        note_names(e->more.at[i], names);
}

/* Parameters into `params`, the result's type into *ret (NULL if not annotated). The frame of names
 * must be open. */
static bool
signature(reader *r, const ast *def, node_vec *params, const tn_type **ret)
{
    bool ok = true;
    for (uint32_t i = 0; def->c && i < def->c->list.n; i++) {
        const ast *t = def->c->list.at[i];
        if (t->kind != AST_NAME)
            ok = rd_error(r, t, TNB_FORMAT, "expected the name of a type variable").kind != V_ERROR;
        else
            rd_bind(r, t->text, rd_node(tn_var_dtype(r->ctx, t->text, TNB_I64)));
    }
    const tn_expr **early = TNB_NEW_N(r->arena, const tn_expr *, def->list.n);
    tnb_ptrmap named; /* by the annotations so far, which may name a TypeVar */
    tnb_ptrmap_init(&named, r->arena);
    for (uint32_t i = 0; i < def->list.n; i++) {
        const ast *p = def->list.at[i];
        if (!p->a) {
            rd_error(r, p, TNB_FORMAT, "parameter '%s' has no type", p->text);
            ok = false;
            continue;
        }
        /* a scalar parameter serves the dimensions of those behind it */
        rd_collect_symbols(r, p->a);
        note_names(p->a, &named);
        if (is_prim_annotation(p->a)) {
            const bound *known = tnb_ptrmap_get(&r->names, p->text);
            if ((known && known->frame == r->frame && known->v.kind == V_NODE &&
                 tn_is_scalar(known->v.node)) ||
                tnb_ptrmap_has(&named, p->text)) {
                rd_error(r, p, TNB_INVALID,
                         "dimension '%s' stands before the parameter of that name", p->text);
                ok = false;
            }
            const char *symbol = symbol_of_prim(p->a);
            symbol = symbol ? tn_str(r->ctx, symbol) : NULL;
            bool defines = symbol && !rd_find(r, symbol);
            const tn_type *t =
                defines ? tn_ty_prim_of(r->ctx, TNB_I64) : rd_type(r, p->a, rd_eval(r, p->a));
            rd_at(r, p);
            early[i] = t ? tn_var_new(r->ctx, p->text, t) : NULL;
            rd_bind(r, p->text, t ? rd_node(early[i]) : rd_failed());
            if (defines)
                rd_bind(r, symbol, rd_node(early[i]));
            ok &= t != NULL;
        }
    }
    rd_collect_symbols(r, def->a);
    tnb_ptrmap seen;
    tnb_ptrmap_init(&seen, r->arena);
    for (uint32_t i = 0; i < def->list.n && ok; i++) {
        const ast *p = def->list.at[i];
        const tn_expr *var = early[i];
        if (!var) {
            r->defining = true;
            const tn_type *t = rd_type(r, p->a, rd_eval(r, p->a));
            r->defining = false;
            rd_at(r, p);
            var = t ? tn_var_new(r->ctx, p->text, t) : NULL;
        }
        if (!var || tn_is_error(var)) {
            ok = false;
            continue;
        }
        if (tnb_ptrmap_has(&seen, p->text)) {
            rd_error(r, p, TNB_INVALID, "parameter '%s' is defined twice", p->text);
            ok = false;
        }
        tnb_ptrmap_set(&seen, p->text, p);
        rd_bind(r, p->text, rd_node(var));
        TNB_PUSH(r->arena, *params, var);
    }
    *ret = NULL;
    if (def->a && ok) {
        r->defining = true;
        *ret = rd_type(r, def->a, rd_eval(r, def->a));
        r->defining = false;
        ok = *ret != NULL;
    }
    return ok;
}

bool
rd_declare_graph(reader *r, global *g)
{
    node_vec params = {0};
    const tn_type *ret;
    level l = r->level;
    r->level = LEVEL_GRAPH;
    rd_push(r);
    bool ok = signature(r, g->def, &params, &ret);
    decorator d = read_decorator(r, g->def);
    rd_pop(r);
    r->level = l;
    g->failed = !ok;
    if (!ok || !ret)
        return ok;
    node_vec types = {0};
    for (uint32_t i = 0; i < params.n; i++)
        TNB_PUSH(r->arena, types, params.at[i]->type);
    g->type = tn_ty_func_of(r->ctx, (tn_list){types.at, types.n}, ret, d.pure);
    g->params = tn_list_of(r->ctx, params.at, params.n);
    return !tn_is_error(g->type);
}

static const tn_expr *
function_body(reader *r, const ast *def, graph_scope *scope)
{
    graph_scope *outer = r->graph;
    uint32_t before = tnb_diags_errors(tn_diags(r->ctx));
    r->graph = scope;
    graph_statements(r, def->more);
    const tn_expr *body = NULL;
    if (!scope->result) {
        if (tnb_diags_errors(tn_diags(r->ctx)) == before)
            rd_error(r, def, TNB_FORMAT, "function '%s' does not return a value", def->text);
    } else if (tnb_diags_errors(tn_diags(r->ctx)) == before) {
        flush(r, false);
        rd_at(r, def);
        body = tn_seq_expr_of(r->ctx, (tn_list){scope->blocks.at, scope->blocks.n}, scope->result);
    }
    r->graph = outer;
    return body && !tn_is_error(body) ? body : NULL;
}

/* The result type of a function whose body has the type `body`: as written, or what is known
 * better. Upstream takes a wrong one without a word; it is told here, and what holds is kept. Where
 * calls were read before the body (a function that calls itself), what they believed has to hold. */
static const tn_type *
checked_result(reader *r, const ast *def, const tn_type *written, const tn_type *body,
               bool believed)
{
    if (!written || !body)
        return NULL;
    switch (tn_type_check(r->ctx, written, body)) {
    case TN_SUBTYPE_YES:
        return believed ? written : NULL;
    case TN_SUBTYPE_FAIL:
        if (believed) {
            rd_error(r, def->a ? def->a : def, TNB_TYPE,
                     "'%s' calls itself and returns %s, but is declared to return %s", def->text,
                     tn_text(r->ctx, body), tn_text(r->ctx, written));
            return NULL;
        }
        rd_at(r, def->a ? def->a : def);
        tn_warn(r->ctx, 0, "'%s' returns %s, but is declared to return %s; the former is taken",
                def->text, tn_text(r->ctx, body), tn_text(r->ctx, written));
        rd_at(r, def);
        return NULL;
    default:
        return written;
    }
}

const tn_expr *
rd_graph_function(reader *r, const ast *def, const char *global_name, const global *self)
{
    graph_function f = {0};
    graph_scope scope = {.func = &f, .outer = r->graph};
    level l = r->level;
    node_vec params = {0};
    const tn_type *ret;
    const tn_expr *made = NULL;
    if (!rd_enter(r, def))
        return NULL;
    r->level = LEVEL_GRAPH;
    decorator d = read_decorator(r, def);
    f.is_private = d.is_private || !global_name;
    f.explicit_private = d.explicit_private;
    rd_push(r);
    if (signature(r, def, &params, &ret)) {
        const tn_expr *body = function_body(r, def, &scope);
        if (!f.is_private && !(f.attrs.keys.n && tnb_strmap_has(&f.attrs.at, "global_symbol")))
            rd_attr_set(r, &f.attrs, "global_symbol", tn_string(r->ctx, global_name));
        const tn_node *attrs = rd_attr_dict(r, &f.attrs);
        rd_at(r, def);
        if (body)
            made = tn_function_of(r->ctx, (tn_list){params.at, params.n}, body,
                                  checked_result(r, def, ret, body->type, self && self->believed),
                                  d.pure, attrs);
    }
    rd_pop(r);
    rd_leave(r);
    r->level = l;
    return made && !tn_is_error(made) ? made : NULL;
}

/* A local function: bound like a value; one that calls itself needs its variable beforehand. */
static void
local_function(reader *r, const ast *def)
{
    for (uint32_t i = 0; i < def->b->list.n; i++) {
        const ast *d = def->b->list.at[i];
        value v = rd_eval(r, d->kind == AST_CALL ? d->a : d);
        if (v.kind == V_PATH && !strncmp(v.s, "T.", 2)) {
            rd_error(r, def, TNB_FORMAT, "a tensor program cannot stand inside a graph function");
            rd_hint(r, "move '%s' to the module", def->text);
            rd_bind(r, def->text, rd_failed());
            return;
        }
        if (v.kind == V_PATH && strcmp(v.s, "R.function") != 0)
            rd_error(r, d, TNB_FORMAT, "expected @R.function, found %s", v.s);
    }
    if (!def->b->list.n)
        rd_error(r, def, TNB_FORMAT, "a local function needs the decorator @R.function");
    const tn_expr *var = NULL;
    global g = {.def = def};
    if (list_mentions(def->more, def->text)) {
        bool ok = rd_declare_graph(r, &g);
        if (ok && !g.type) {
            rd_error(r, def, TNB_FORMAT, "function '%s' calls itself and needs a result type",
                     def->text);
            ok = false;
        }
        if (!ok) {
            rd_bind(r, def->text, rd_failed());
            return;
        }
        rd_at(r, def);
        var = new_var(r, def->text, g.type);
        g.believed = true;
        rd_bind(r, def->text, rd_node(var));
    }
    const tn_expr *f = rd_graph_function(r, def, NULL, &g);
    if (!f) {
        rd_bind(r, def->text, rd_failed());
        return;
    }
    rd_at(r, def);
    if (!var)
        var = new_var(r, def->text, f->type);
    const tn_node *b = tn_var_binding_of(r->ctx, var, f);
    TNB_PUSH(r->arena, r->graph->bindings, b);
    rd_bind(r, def->text, tn_is_error(b) ? rd_failed() : rd_node(var));
}

static void
return_statement(reader *r, const ast *s)
{
    graph_scope *g = r->graph;
    if (g->in_branch) {
        rd_error(r, s, TNB_FORMAT, "return inside a branch");
        return;
    }
    g->closed = true;
    if (!s->a) {
        rd_error(r, s, TNB_FORMAT, "return without a value");
        return;
    }
    value v = rd_eval(r, s->a);
    if (v.kind == V_CAST) {
        const ast name = {.kind = AST_NAME,
                          .line = s->line,
                          .column = s->column,
                          .text = tn_str(r->ctx, "gv")};
        v = bind_cast(r, &name, v, NULL);
    }
    const tn_expr *e = rd_expr(r, s->a, v);
    if (e && !rd_is_leaf(e))
        e = rd_emit(r, s->a, e, tn_str(r->ctx, "gv"), NULL);
    g->result = e;
}

static void
graph_statement(reader *r, const ast *s)
{
    graph_scope *g = r->graph;
    if (g->closed) {
        bool again = s->kind == AST_EXPR && g->dataflow;
        const char *path = again ? rd_called(r, s->a) : NULL;
        if (path && !strcmp(path, "R.output"))
            rd_error(r, s, TNB_FORMAT, "a dataflow block has one R.output");
        else if (s->kind != AST_PASS)
            rd_error(r, s, TNB_FORMAT,
                     g->dataflow ? "a statement after R.output"
                                 : "a statement after the function's return");
        return;
    }
    g->statement = s;
    switch ((ast_kind)s->kind) {
    case AST_ASSIGN:
        assignment(r, s, NULL, s->b);
        break;
    case AST_ANNOTATED:
        assignment(r, s, s->b, s->c);
        break;
    case AST_AUGMENTED: {
        value a = rd_eval(r, s->a), b = rd_eval(r, s->b);
        bind_target(r, s->a, s, rd_binary(r, s, s->op, a, b), NULL);
        break;
    }
    case AST_EXPR:
        expression_statement(r, s->a);
        break;
    case AST_IF:
        if_statement(r, s);
        break;
    case AST_WITH: {
        const char *path = s->list.n ? rd_called(r, s->list.at[0]->a) : NULL;
        if (path && !strcmp(path, "R.dataflow"))
            dataflow(r, s);
        else
            rd_error(r, s, TNB_FORMAT, "expected 'with R.dataflow():'");
        break;
    }
    case AST_DEF:
        local_function(r, s);
        break;
    case AST_RETURN:
        return_statement(r, s);
        break;
    case AST_PASS:
        break;
    default:
        rd_error(r, s, TNB_FORMAT, "this statement has no meaning in a graph function");
    }
}

static void
graph_statements(reader *r, ast_list body)
{
    for (uint32_t i = 0; i < body.n; i++)
        graph_statement(r, body.at[i]);
}
