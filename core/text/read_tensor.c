/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor programs: signatures, statements, loops, the implicit root block. */
#include "reader.h"

/* ---- statements ---- */
void
rd_push_stmt(reader *r, const tn_stmt *s)
{
    if (r->tensor && r->tensor->stmts && s && !tn_is_error(s))
        TNB_PUSH(r->arena, *r->tensor->stmts, s);
}

static const tn_stmt *
sequence(reader *r, const node_vec *v)
{
    const tn_stmt *s = tn_seq_of(r->ctx, (tn_list){v->at, v->n});
    return tn_is_error(s) ? NULL : s;
}

const tn_stmt *
rd_body(reader *r, const ast *where, ast_list body)
{
    node_vec v = {0}, *outer = r->tensor->stmts;
    if (!rd_enter(r, where))
        return NULL;
    r->tensor->stmts = &v;
    rd_push(r);
    rd_statements(r, body);
    rd_pop(r);
    r->tensor->stmts = outer;
    rd_leave(r);
    rd_at(r, where);
    return sequence(r, &v);
}

/* ---- assignments ---- */
static bool
has_slice(const ast *e)
{
    if (e->kind == AST_SLICE)
        return true;
    for (uint32_t i = 0; e->kind == AST_TUPLE && i < e->list.n; i++)
        if (e->list.at[i]->kind == AST_SLICE)
            return true;
    return false;
}

/* A whole right side may be a slice of a buffer: a vector access. */
static value
right_side(reader *r, const ast *e)
{
    if (e->kind != AST_INDEX || !has_slice(e->b))
        return rd_eval(r, e);
    value base = rd_eval(r, e->a);
    if (!rd_is_node(base, TN_KIND_BUFFER) && base.kind != V_SCALAR)
        return rd_eval(r, e);
    value index = rd_eval(r, e->b);
    node_vec at = {0};
    if (index.kind == V_ERROR || !rd_buffer_indices(r, e->b, base.node, index, true, &at))
        return rd_failed();
    rd_at(r, e);
    return rd_node(tn_buffer_load_of(r->ctx, base.node, (tn_list){at.at, at.n}));
}

static void
store(reader *r, const ast *where, const tn_node *buffer, const node_vec *at, const ast *what,
      value v)
{
    const tn_expr *x = rd_scalar(r, what, v);
    if (!x)
        return;
    rd_at(r, where);
    rd_push_stmt(r, tn_buffer_store_of(r->ctx, buffer, x, (tn_list){at->at, at->n}));
}

static void
store_cell(reader *r, const ast *where, const tn_node *buffer, const ast *what, value v)
{
    node_vec at = {0};
    TNB_PUSH(r->arena, at, tn_i32(r->ctx, 0));
    store(r, where, buffer, &at, what, v);
}

static void
store_target(reader *r, const ast *target, const ast *what, value v)
{
    value base = rd_eval(r, target->a), index = rd_eval(r, target->b);
    node_vec at = {0};
    if (base.kind == V_ERROR || index.kind == V_ERROR || v.kind == V_ERROR)
        return;
    if (!rd_is_node(base, TN_KIND_BUFFER) && base.kind != V_SCALAR) {
        rd_error(r, target, TNB_TYPE, "only elements of buffers can be assigned to, not of %s",
                 rd_what(r, base));
        return;
    }
    if (rd_buffer_indices(r, target->b, base.node, index, true, &at))
        store(r, target, base.node, &at, what, v);
}

static void
let(reader *r, const ast *target, const ast *what, value v, const tn_type *type)
{
    const tn_expr *x = type && type->kind == TN_KIND_TY_PRIM
                           ? rd_scalar_of(r, what, v, ((const tn_ty_prim *)type)->dtype)
                           : rd_scalar(r, what, v);
    rd_at(r, target);
    const tn_expr *var = x ? tn_var_new(r->ctx, target->text, type ? type : x->type) : NULL;
    if (x) {
        rd_at(r, what);
        rd_push_stmt(r, tn_bind_of(r->ctx, var, x));
    }
    rd_bind(r, target->text, var ? rd_node(var) : rd_failed());
}

/* x = e: a cell of one element that later assignments overwrite. */
static value
new_cell(reader *r, const ast *target, tnb_dtype d)
{
    rd_at(r, target);
    const tn_node *one = tn_i32(r->ctx, 1);
    const tn_node *b = tn_buffer_new(r->ctx, target->text, (tn_list){&one, 1}, d, "local");
    if (tn_is_error(b))
        return rd_failed();
    rd_push_stmt(r, tn_alloc_buffer_of(r->ctx, b, NULL));
    return (value){.kind = V_SCALAR, .node = b};
}

/* A declared symbol: the signature's variable of that name, or a new one. */
static value
declare(reader *r, const ast *target, value v)
{
    const value *known = rd_find(r, target->text);
    if (known && (known->kind == V_NODE || known->kind == V_DECLARED) && tn_is_var(known->node) &&
        tn_is(v.node->type, TN_KIND_TY_PRIM) && tnb_ptrmap_has(&r->tensor->symbols, known->node)) {
        if (tnb_dtype_eq(tn_dtype_of(known->node), tn_dtype_of(v.node)))
            return *known;
        return rd_error(r, target, TNB_TYPE, "'%s' is %s in the signature, declared here as %s",
                        target->text, tnb_dtype_print(tn_dtype_of(known->node)).s,
                        tnb_dtype_print(tn_dtype_of(v.node)).s);
    }
    rd_at(r, target);
    return (value){.kind = V_DECLARED, .node = tn_var_new(r->ctx, target->text, v.node->type)};
}

static void
bind_name(reader *r, const ast *target, const ast *what, value v)
{
    const value *known = rd_find(r, target->text);
    bool number = v.kind == V_INT || v.kind == V_FLOAT || v.kind == V_BOOL;
    bool scalar = number || (v.kind == V_NODE && tn_is_scalar(v.node));
    if (v.kind == V_META) {
        rd_bind(r, target->text, v.items[0]);
    } else if (v.kind == V_DECLARED) {
        rd_bind(r, target->text, declare(r, target, v));
    } else if (v.kind == V_AXES) {
        rd_bind_axes(r, target, v);
    } else if (scalar && known && known->kind == V_SCALAR) {
        store_cell(r, target, known->node, what, v);
    } else if (scalar && known && rd_is_node(*known, TN_KIND_BUFFER) &&
               tn_as_buffer(known->node)->shape.n == 1 &&
               tn_is_int_const(tn_as_buffer(known->node)->shape.at[0], 1)) {
        store_cell(r, target, known->node, what, v);
    } else if (scalar && (r->tensor->old_dialect ||
                          (v.kind == V_NODE && tn_dtype_of(v.node).code == TNB_HANDLE))) {
        let(r, target, what, v, NULL);
    } else if (scalar) {
        const tn_expr *x = rd_scalar(r, what, v);
        value cell = x ? new_cell(r, target, tn_dtype_of(x)) : rd_failed();
        rd_bind(r, target->text, cell);
        if (cell.kind == V_SCALAR)
            store_cell(r, target, cell.node, what, rd_node(x));
    } else {
        rd_bind(r, target->text, v);
    }
}

static void
bind_target(reader *r, const ast *target, const ast *what, value v)
{
    if (target->kind == AST_NAME) {
        bind_name(r, target, what, v);
        return;
    }
    if (target->kind == AST_INDEX) {
        store_target(r, target, what, v);
        return;
    }
    if (target->kind != AST_TUPLE && target->kind != AST_LIST) {
        rd_error(r, target, TNB_FORMAT, "this cannot be assigned to");
        return;
    }
    if (v.kind == V_META)
        v = v.items[0];
    if (v.kind == V_AXES) {
        rd_bind_axes(r, target, v);
        return;
    }
    bool list = v.kind == V_TUPLE || v.kind == V_LIST;
    if (v.kind != V_ERROR && (!list || v.n != target->list.n)) {
        if (list)
            rd_error(r, what, TNB_SHAPE, "%u names for %u values", target->list.n, v.n);
        else
            rd_error(r, what, TNB_TYPE, "%s cannot be unpacked", rd_what(r, v));
        v.kind = V_ERROR;
    }
    bool each =
        (what->kind == AST_TUPLE || what->kind == AST_LIST) && what->list.n == target->list.n;
    for (uint32_t i = 0; i < target->list.n; i++)
        bind_target(r, target->list.at[i], each ? what->list.at[i] : what,
                    v.kind == V_ERROR ? rd_failed() : v.items[i]);
}

/* x: T.let[T.int32] = e, x: T.int32 = e, x: T.float32[8] */
static void
annotated(reader *r, const ast *s)
{
    const ast *target = s->a;
    if (target->kind != AST_NAME) {
        rd_error(r, target, TNB_FORMAT, "only a name can be annotated");
        return;
    }
    value a = rd_eval(r, s->b);
    if (a.kind == V_ERROR) {
        rd_bind(r, target->text, a);
        return;
    }
    if (a.kind == V_ANNOTATION && a.n == 2) {
        /* a local array */
        if (s->c) {
            rd_error(r, s, TNB_FORMAT, "a local array takes no initial value");
            return;
        }
        const value *items;
        uint32_t n;
        node_vec dims = {0};
        if (!rd_items(r, s->b, a.items[1], true, &items, &n))
            return;
        for (uint32_t i = 0; i < n; i++) {
            const tn_expr *x = rd_scalar(r, s->b, items[i]);
            if (!x)
                return;
            TNB_PUSH(r->arena, dims, x);
        }
        rd_at(r, target);
        const tn_node *b = tn_buffer_new(r->ctx, target->text, (tn_list){dims.at, dims.n},
                                         ((const tn_dtype_imm *)a.items[0].node)->value, "local");
        if (!tn_is_error(b))
            rd_push_stmt(r, tn_alloc_buffer_of(r->ctx, b, NULL));
        rd_bind(r, target->text, rd_node(b));
        return;
    }
    bool is_let = (a.kind == V_PATH && !strcmp(a.s, "T.let")) || a.kind == V_ANNOTATION;
    const tn_type *type = NULL;
    if (a.kind == V_ANNOTATION)
        type = a.other;
    else if (!is_let && !(type = rd_type(r, s->b, a)))
        return;
    if (is_let && !s->c) {
        rd_error(r, s, TNB_FORMAT, "T.let needs a value");
        return;
    }
    value v = {.kind = V_NONE};
    if (s->c) {
        r->hint = target->text;
        v = right_side(r, s->c);
        r->hint = NULL;
        if (v.kind == V_ERROR) {
            rd_bind(r, target->text, v);
            return;
        }
    }
    if (is_let || (s->c && (r->tensor->old_dialect || tn_is(type, TN_KIND_TY_PTR)))) {
        let(r, target, s->c, v, type);
        return;
    }
    if (!tn_is(type, TN_KIND_TY_PRIM) || ((const tn_ty_prim *)type)->dtype.code == TNB_HANDLE) {
        rd_error(r, s->b, TNB_TYPE, "a local scalar needs an arithmetic dtype");
        rd_hint(r, "bind pointers with T.let[...]");
        return;
    }
    value cell = new_cell(r, target, ((const tn_ty_prim *)type)->dtype);
    rd_bind(r, target->text, cell);
    if (s->c && cell.kind == V_SCALAR)
        store_cell(r, target, cell.node, s->c, v);
}

/* ---- scopes ---- */
/* T.attr(node, "key", value) around `body`. */
static const tn_stmt *
attr_around(reader *r, const ast *e, const tn_stmt *body)
{
    call_args a = rd_args(e, "T.attr");
    value node, key, v;
    const ast *node_at = e, *key_at = e, *v_at = e;
    if (!body || !rd_need(r, &a, "node", &node, &node_at))
        return NULL;
    if (node.kind == V_DICT && a.used == e->list.n) {
        for (uint32_t i = node.n; i-- > 0 && body;) {
            const char *k = rd_text(r, node_at, node.items[2 * i]);
            const tn_expr *x = k ? rd_scalar(r, node_at, node.items[2 * i + 1]) : NULL;
            body = x ? tn_attr_stmt_of(r->ctx, tn_i32(r->ctx, 0), k, x, body) : NULL;
        }
        return body;
    }
    if (!rd_need(r, &a, "attr_key", &key, &key_at) || !rd_need(r, &a, "value", &v, &v_at) ||
        !rd_args_end(r, &a))
        return NULL;
    const char *k = rd_text(r, key_at, key);
    const tn_expr *x = k ? rd_scalar(r, v_at, v) : NULL;
    const tn_node *n = NULL;
    if (x)
        n = node.kind == V_INT ? rd_scalar(r, node_at, node) : rd_attr(r, node_at, node);
    if (!n)
        return NULL;
    rd_at(r, e);
    const tn_stmt *s = tn_attr_stmt_of(r->ctx, n, k, x, body);
    return tn_is_error(s) ? NULL : s;
}

/* T.launch_thread("threadIdx.x", n): the IterVar and the extent. */
static bool
launch(reader *r, const ast *e, const tn_node **iter, const tn_expr **extent)
{
    call_args a = rd_args(e, "T.launch_thread");
    value t, n;
    const ast *t_at = e, *n_at = e;
    const char *hint = r->hint;
    r->hint = NULL;
    if (!rd_need(r, &a, "thread", &t, &t_at) || !rd_need(r, &a, "extent", &n, &n_at) ||
        !rd_args_end(r, &a))
        return false;
    *extent = rd_scalar(r, n_at, n);
    if (!*extent)
        return false;
    rd_at(r, e);
    const tn_iter_var *known = t.kind == V_NODE ? tn_as_iter_var(t.node) : NULL;
    const char *tag = known ? known->thread_tag : rd_text(r, t_at, t);
    if (!tag)
        return false;
    tnb_dtype d = known ? tn_dtype_of(known->var) : tn_dtype_of(*extent);
    const tn_expr *var = known ? known->var : tn_var_dtype(r->ctx, hint ? hint : "v", d);
    const tn_node *dom =
        tn_range_of(r->ctx, tn_int_imm_of(r->ctx, tn_dtype_of(*extent), 0), *extent);
    *iter = tn_iter_var_of(r->ctx, dom, var, TN_ITER_THREAD, tag);
    return !tn_is_error(*iter);
}

/* ---- loops ---- */
typedef struct loop {
    const tn_expr *min, *extent;
    tn_for_kind kind;
    const char *tag;
    const tn_node *annotations;
} loop;

static bool
loop_bounds(reader *r, const ast *e, call_args *a, loop *out)
{
    value x, y;
    const ast *x_at = e, *y_at = e;
    if (!rd_need(r, a, "start", &x, &x_at) || x.kind == V_ERROR)
        return false;
    if (rd_is_node(x, TN_KIND_RANGE)) {
        const tn_range *g = tn_as_range(x.node);
        out->min = g->min;
        out->extent = g->extent;
        return true;
    }
    bool two = false;
    if (a->used < e->list.n &&
        !(out->kind == TN_FOR_THREAD_BINDING && e->list.at[a->used]->kind == AST_STR))
        two = rd_arg(r, a, "stop", &y, &y_at);
    else
        two = rd_keyword(r, a, "stop", &y, &y_at) && y.kind != V_NONE;
    if (two && y.kind == V_NONE)
        two = false;
    const tn_range *g =
        tn_as_range(two ? rd_range(r, e, x, y) : rd_range(r, e, (value){.kind = V_NONE}, x));
    if (!g)
        return false;
    out->min = g->min;
    out->extent = g->extent;
    return true;
}

static bool
read_loop(reader *r, const ast *e, const char *name, loop *out)
{
    static const struct {
        const char *name;
        tn_for_kind kind;
    } kinds[] = {{"range", TN_FOR_SERIAL},        {"T.serial", TN_FOR_SERIAL},
                 {"T.parallel", TN_FOR_PARALLEL}, {"T.vectorized", TN_FOR_VECTORIZED},
                 {"T.unroll", TN_FOR_UNROLLED},   {"T.thread_binding", TN_FOR_THREAD_BINDING}};
    size_t k = 0, all = sizeof kinds / sizeof *kinds;
    while (k < all && strcmp(kinds[k].name, name) != 0)
        k++;
    if (k == all) {
        rd_error(r, e, TNB_NOT_FOUND, "'%s' is not a kind of loop", name);
        return false;
    }
    *out = (loop){.kind = kinds[k].kind, .tag = ""};
    call_args a = rd_args(e, name);
    value v;
    const ast *where = e;
    if (!loop_bounds(r, e, &a, out))
        return false;
    if (out->kind == TN_FOR_THREAD_BINDING &&
        (!rd_need(r, &a, "thread", &v, &where) || !(out->tag = rd_text(r, where, v))))
        return false;
    if (rd_keyword(r, &a, "annotations", &v, &where) && v.kind != V_NONE &&
        !(out->annotations = rd_dict(r, where, v)))
        return false;
    if (rd_keyword(r, &a, "step", &v, &where) && v.kind != V_NONE) {
        int64_t step;
        if (!rd_int(r, where, v, &step))
            return false;
        if (step != 1) {
            rd_error(r, where, TNB_UNSUPPORTED, "a loop's step must be 1");
            return false;
        }
    }
    return rd_args_end(r, &a);
}

static void
for_statement(reader *r, const ast *s)
{
    const char *path = rd_called(r, s->b);
    if (!path) {
        rd_error(r, s->b, TNB_FORMAT,
                 "expected a loop such as range(n), T.serial(n) or T.grid(m, n)");
        return;
    }
    bool grid = !strcmp(path, "T.grid");
    bool many = s->a->kind == AST_TUPLE || s->a->kind == AST_LIST;
    uint32_t n = many ? s->a->list.n : 1;
    if (!grid && many) {
        rd_error(r, s->a, TNB_FORMAT, "one loop has one variable");
        return;
    }
    bool packed = grid && !many && s->b->list.n != 1; /* one name for the tuple of all variables */
    if (packed)
        n = s->b->list.n;
    if (grid && (s->b->list.n != n || s->b->more.n)) {
        rd_error(r, s->b, TNB_INVALID, "T.grid of %u extents for %u variables", s->b->list.n, n);
        return;
    }
    if (r->nest + n > AST_MAX_DEPTH) {
        rd_error(r, s, TNB_INVALID, "nested too deeply (at most %d levels)", AST_MAX_DEPTH);
        return;
    }
    loop *loops = TNB_NEW_N(r->arena, loop, n);
    const tn_expr **vars = TNB_NEW_N(r->arena, const tn_expr *, n);
    bool ok = true;
    rd_push(r);
    for (uint32_t i = 0; i < n; i++) {
        const ast *target = many ? s->a->list.at[i] : s->a;
        if (!grid) {
            ok = read_loop(r, s->b, path, &loops[0]);
        } else {
            const ast *x = s->b->list.at[i];
            const tn_range *g = tn_as_range(rd_range(r, x, (value){.kind = V_NONE}, rd_eval(r, x)));
            ok &= g != NULL;
            if (g)
                loops[i] = (loop){.min = g->min, .extent = g->extent, .tag = ""};
        }
        if (target->kind != AST_NAME) {
            rd_error(r, target, TNB_FORMAT, "a loop variable must be a name");
            ok = false;
        }
        if (!ok)
            continue;
        rd_at(r, target);
        const char *name = packed ? tn_strf(r->ctx, "%s_%u", target->text, i) : target->text;
        vars[i] = tn_var_dtype(r->ctx, name, tn_dtype_of(loops[i].min));
        tnb_ptrmap_set(&r->tensor->loop_doms, vars[i],
                       tn_range_of(r->ctx, loops[i].min, loops[i].extent));
    }
    if (packed && ok) {
        value *items = TNB_NEW_N(r->arena, value, n);
        for (uint32_t i = 0; i < n; i++)
            items[i] = rd_node(vars[i]);
        rd_bind(r, s->a->text, (value){.kind = V_TUPLE, .n = n, .items = items});
    }
    for (uint32_t i = 0; i < n && !(packed && ok); i++) {
        const ast *target = many ? s->a->list.at[i] : s->a;
        if (target->kind == AST_NAME)
            rd_bind(r, target->text, ok ? rd_node(vars[i]) : rd_failed());
    }
    r->nest += n;
    const tn_stmt *body = rd_body(r, s, s->list);
    r->nest -= n;
    rd_pop(r);
    rd_at(r, s);
    for (uint32_t i = n; i-- > 0 && ok && body && !tn_is_error(body);)
        body = tn_for_of(r->ctx, vars[i], loops[i].min, loops[i].extent, loops[i].kind,
                         loops[i].tag, loops[i].annotations, body);
    if (ok && body)
        rd_push_stmt(r, body);
}

/* ---- with ---- */
static void
with_item(reader *r, const ast *s, uint32_t i);

static void
with_body(reader *r, const ast *s, uint32_t next)
{
    if (next < s->list.n)
        with_item(r, s, next);
    else
        rd_statements(r, s->more);
}

static const tn_stmt *
scoped_body(reader *r, const ast *s, uint32_t next)
{
    node_vec v = {0}, *outer = r->tensor->stmts;
    if (!rd_enter(r, s))
        return NULL;
    r->tensor->stmts = &v;
    with_body(r, s, next);
    r->tensor->stmts = outer;
    rd_leave(r);
    rd_at(r, s);
    return sequence(r, &v);
}

static void
with_item(reader *r, const ast *s, uint32_t i)
{
    const ast *item = s->list.at[i], *e = item->a;
    const char *path = rd_called(r, e);
    if (!path) {
        rd_error(r, e, TNB_FORMAT, "expected a scope such as T.sblock(...) or T.attr(...)");
        return;
    }
    const char *target = item->b && item->b->kind == AST_NAME ? item->b->text : NULL;
    if (!strcmp(path, "T.sblock") || !strcmp(path, "T.block")) {
        rd_push_stmt(r, rd_sblock(r, s, e));
    } else if (!strcmp(path, "T.init")) {
        tensor_block *b = r->tensor->block;
        if (!b->is_block || b->init) {
            rd_error(r, e, TNB_FORMAT,
                     b->is_block ? "T.init twice in one block" : "T.init outside of a block");
            return;
        }
        b->init = rd_body(r, s, s->more);
    } else if (!strcmp(path, "T.attr")) {
        rd_push(r);
        const tn_stmt *body = scoped_body(r, s, i + 1);
        rd_pop(r);
        rd_push_stmt(r, attr_around(r, e, body));
    } else if (!strcmp(path, "T.launch_thread")) {
        const tn_node *iter = NULL;
        const tn_expr *extent = NULL;
        r->hint = target;
        bool ok = launch(r, e, &iter, &extent);
        r->hint = NULL;
        rd_push(r);
        if (target)
            rd_bind(r, target, ok ? rd_node(tn_as_iter_var(iter)->var) : rd_failed());
        const tn_stmt *body = scoped_body(r, s, i + 1);
        rd_pop(r);
        rd_at(r, e);
        if (ok && body)
            rd_push_stmt(r, tn_attr_stmt_of(r->ctx, iter, "thread_extent", extent, body));
    } else if (!strcmp(path, "T.decl_buffer")) {
        r->hint = target;
        value v = rd_eval(r, e);
        r->hint = NULL;
        rd_push(r);
        if (target)
            rd_bind(r, target, v);
        with_body(r, s, i + 1);
        rd_pop(r);
    } else if (!strcmp(path, "T.let") || !strcmp(path, "T.LetStmt")) {
        /* with T.let(x, e): and with T.LetStmt(e) as x: */
        const ast *what = e->list.n ? e->list.at[e->list.n - 1] : NULL;
        const ast *name = item->b ? item->b : e->list.n == 2 ? e->list.at[0] : NULL;
        if (!what || !name || name->kind != AST_NAME) {
            rd_error(r, e, TNB_FORMAT, "expected 'with T.LetStmt(value) as name:'");
            return;
        }
        value v = rd_eval(r, what);
        rd_push(r);
        if (v.kind != V_ERROR)
            let(r, name, what, v, NULL);
        with_body(r, s, i + 1);
        rd_pop(r);
    } else {
        rd_error(r, e, TNB_FORMAT, "%s does not open a scope", path);
    }
}

/* ---- simple statements ---- */
static void
func_attr(reader *r, const ast *e)
{
    call_args a = rd_args(e, "T.func_attr");
    value v;
    const ast *where = e;
    if (!rd_need(r, &a, "attrs", &v, &where) || !rd_args_end(r, &a))
        return;
    const tn_dict *d = tn_as_dict(rd_dict(r, where, v));
    tensor_scope *t = r->tensor;
    for (uint32_t i = 0; d && i < d->items.n; i++) {
        const tn_pair *p = tn_as_pair(d->items.at[i]);
        const char *key = p->key;
        if (!strncmp(key, "tir.", 4))
            key = tn_strf(r->ctx, "tirx.%s", key + 4);
        if (!strcmp(key, "T.noalias"))
            key = tn_str(r->ctx, "tirx.noalias");
        if (!strcmp(key, "global_symbol") && t->is_private) {
            rd_error(r, e, TNB_INVALID,
                     "a private function cannot have the attribute \"global_symbol\"");
            continue;
        }
        rd_attr_set(r, &t->attrs, key, p->value);
    }
}

/* An evaluated expression. */
static void
evaluate(reader *r, const ast *e, value v)
{
    const tn_expr *x = rd_scalar(r, e, v);
    if (!x)
        return;
    rd_at(r, e);
    const tn_call *c = tn_as_call(x);
    if (tn_is_intrin(x, TN_INTRIN_ret) && c->args.n == 1) /* the old spelling of return */
        rd_push_stmt(r, tn_return_of(r->ctx, c->args.at[0]));
    else
        rd_push_stmt(r, tn_evaluate_of(r->ctx, x));
}

static void
expression_statement(reader *r, const ast *e)
{
    if (e->kind == AST_STR)
        return;
    const char *path = rd_called(r, e);
    if (path && !strncmp(path, "T.", 2)) {
        const char *name = path + 2;
        if (!strcmp(name, "func_attr")) {
            func_attr(r, e);
            return;
        }
        if (rd_block_statement(r, name, e))
            return;
        if (!strcmp(name, "evaluate")) {
            call_args a = rd_args(e, path);
            value v;
            const ast *where = e;
            if (rd_need(r, &a, "value", &v, &where) && rd_args_end(r, &a))
                evaluate(r, where, v);
            return;
        }
        if (!strcmp(name, "ret")) {
            call_args a = rd_args(e, path);
            value v;
            const ast *where = e;
            const tn_expr *x = rd_need(r, &a, "value", &v, &where) && rd_args_end(r, &a)
                                   ? rd_scalar(r, where, v)
                                   : NULL;
            rd_at(r, e);
            if (x)
                rd_push_stmt(r, tn_return_of(r->ctx, x));
            return;
        }
        if (!strcmp(name, "buffer_store")) {
            call_args a = rd_args(e, path);
            value b, v, i;
            const ast *b_at = e, *v_at = e, *i_at = e;
            node_vec at = {0};
            if (!rd_need(r, &a, "buffer", &b, &b_at) || !rd_need(r, &a, "value", &v, &v_at) ||
                !rd_need(r, &a, "indices", &i, &i_at) || !rd_args_end(r, &a))
                return;
            if (!rd_is_node(b, TN_KIND_BUFFER))
                rd_error(r, b_at, TNB_TYPE, "expected a buffer, found %s", rd_what(r, b));
            else if (rd_buffer_indices(r, i_at, b.node, i, true, &at))
                store(r, e, b.node, &at, v_at, v);
            return;
        }
    }
    value v = rd_eval(r, e);
    bool scalar = v.kind == V_INT || v.kind == V_BOOL ||
                  (v.kind == V_NODE && tn_is_scalar(v.node)) ||
                  (v.kind == V_NODE && v.node->kind == TN_KIND_CALL);
    if (scalar)
        evaluate(r, e, v);
    else if (v.kind != V_ERROR && v.kind != V_SCALAR && !rd_is_node(v, TN_KIND_BUFFER))
        rd_error(r, e, TNB_FORMAT, "%s is not a statement", rd_what(r, v));
}

static void
if_statement(reader *r, const ast *s)
{
    value c = rd_eval(r, s->a);
    if (c.kind == V_BOOL) {
        rd_statements(r, c.i ? s->list : s->more);
        return;
    }
    const tn_expr *cond = rd_scalar(r, s->a, c);
    const tn_stmt *a = rd_body(r, s, s->list), *b = s->more.n ? rd_body(r, s, s->more) : NULL;
    rd_at(r, s);
    if (cond && a && (b || !s->more.n))
        rd_push_stmt(r, tn_if_stmt_of(r->ctx, cond, a, b));
}

static void
assert_statement(reader *r, const ast *s)
{
    const tn_expr *cond = rd_scalar(r, s->a, rd_eval(r, s->a));
    const tn_node *message = tn_string(r->ctx, "");
    if (s->b)
        message = rd_attr(r, s->b, rd_eval(r, s->b));
    rd_at(r, s);
    if (cond && message)
        rd_push_stmt(r, tn_assert_of(r->ctx, cond, message));
}

static void
augmented(reader *r, const ast *s)
{
    value a = rd_eval(r, s->a), b = rd_eval(r, s->b);
    bind_target(r, s->a, s, rd_binary(r, s, s->op, a, b));
}

static void
assignment(reader *r, const ast *s)
{
    if (s->c) {
        rd_error(r, s, TNB_FORMAT, "chained assignment is not supported");
        return;
    }
    r->hint = s->a->kind == AST_NAME ? s->a->text : NULL;
    value v = right_side(r, s->b);
    r->hint = NULL;
    if (rd_is_node(v, TN_KIND_BUFFER))
        tnb_ptrmap_set(&r->tensor->by_data, tn_as_buffer(v.node)->data, v.node);
    bind_target(r, s->a, s->b, v);
}

static void
bare(reader *r, tn_kind kind)
{
    tn_none fields = {.base = {0}};
    rd_push_stmt(r, tn_rebuild(r->ctx, kind, &fields, NULL));
}

static void
statement(reader *r, const ast *s)
{
    rd_at(r, s);
    switch ((ast_kind)s->kind) {
    case AST_ASSIGN:
        assignment(r, s);
        break;
    case AST_ANNOTATED:
        annotated(r, s);
        break;
    case AST_AUGMENTED:
        augmented(r, s);
        break;
    case AST_EXPR:
        expression_statement(r, s->a);
        break;
    case AST_FOR:
        for_statement(r, s);
        break;
    case AST_WHILE: {
        const tn_expr *cond = rd_scalar(r, s->a, rd_eval(r, s->a));
        const tn_stmt *body = rd_body(r, s, s->list);
        rd_at(r, s);
        if (cond && body)
            rd_push_stmt(r, tn_while_of(r->ctx, cond, body));
        break;
    }
    case AST_IF:
        if_statement(r, s);
        break;
    case AST_WITH:
        with_item(r, s, 0);
        break;
    case AST_RETURN: {
        const tn_expr *x = s->a ? rd_scalar(r, s->a, rd_eval(r, s->a)) : NULL;
        if (!s->a)
            rd_error(r, s, TNB_FORMAT, "return without a value");
        rd_at(r, s);
        if (x)
            rd_push_stmt(r, tn_return_of(r->ctx, x));
        break;
    }
    case AST_PASS:
        break;
    case AST_BREAK:
        bare(r, TN_KIND_BREAK);
        break;
    case AST_CONTINUE:
        bare(r, TN_KIND_CONTINUE);
        break;
    case AST_ASSERT:
        assert_statement(r, s);
        break;
    default:
        rd_error(r, s, TNB_FORMAT, "this statement has no meaning in a tensor program");
    }
}

/* Statements whose scope is the rest of the block: T.attr(...) alone, tx = T.launch_thread(...). */
static bool
opens_scope(reader *r, const ast *s)
{
    const ast *e = s->kind == AST_EXPR ? s->a : s->kind == AST_ASSIGN ? s->b : NULL;
    if (!e || e->kind != AST_CALL)
        return false;
    const char *path = rd_called(r, e);
    return path &&
           ((!strcmp(path, "T.attr") && s->kind == AST_EXPR) || !strcmp(path, "T.launch_thread"));
}

void
rd_statements(reader *r, ast_list body)
{
    for (uint32_t i = 0; i < body.n; i++) {
        const ast *s = body.at[i];
        if (!opens_scope(r, s)) {
            statement(r, s);
            continue;
        }
        /* read as a with statement over the rest */
        ast *with = TNB_NEW(r->arena, ast), *item = TNB_NEW(r->arena, ast);
        ast **at = TNB_NEW(r->arena, ast *);
        *with = (ast){.kind = AST_WITH, .line = s->line, .column = s->column};
        *item = (ast){.kind = AST_WITH_ITEM, .line = s->line, .column = s->column};
        item->a = s->kind == AST_EXPR ? s->a : s->b;
        item->b = s->kind == AST_ASSIGN ? s->a : NULL;
        *at = item;
        with->list = (ast_list){at, 1};
        with->more = (ast_list){body.at + i + 1, body.n - i - 1};
        with_item(r, with, 0);
        return;
    }
}

/* ---- functions ---- */
typedef struct decorator {
    bool is_private, persistent;
    int s_tir; /* -1: not said */
} decorator;

static decorator
read_decorator(reader *r, const ast *def)
{
    decorator d = {.s_tir = -1};
    for (uint32_t i = 0; i < def->b->list.n; i++) {
        const ast *e = def->b->list.at[i];
        for (uint32_t k = 0; e->kind == AST_CALL && k < e->more.n; k++) {
            const ast *key = e->more.at[k];
            bool flag = false;
            if (!strcmp(key->text, "name") || !strcmp(key->text, "check_well_formed"))
                continue;
            if (!rd_bool(r, key->a, rd_eval(r, key->a), &flag))
                continue;
            if (!strcmp(key->text, "private"))
                d.is_private = flag;
            else if (!strcmp(key->text, "s_tir"))
                d.s_tir = flag;
            else if (!strcmp(key->text, "persistent"))
                d.persistent = flag;
            else
                rd_error(r, key, TNB_INVALID, "T.prim_func does not know the option '%s'",
                         key->text);
        }
    }
    return d;
}

enum { SAW_OLD = 1, SAW_NEW = 2 };

/* Which dialect the blocks of a function are written in. */
static int
dialect(const ast *e)
{
    if (!e)
        return 0;
    int seen = 0;
    if (e->kind == AST_ATTR && e->a->kind == AST_NAME) {
        if (!strcmp(e->text, "block") || !strcmp(e->text, "block_attr") ||
            !strcmp(e->text, "block_alloc_buffer"))
            seen |= SAW_OLD;
        if (!strncmp(e->text, "sblock", 6))
            seen |= SAW_NEW;
    }
    seen |= dialect(e->a) | dialect(e->b) | dialect(e->c);
    for (uint32_t i = 0; i < e->list.n; i++)
        seen |= dialect(e->list.at[i]);
    for (uint32_t i = 0; i < e->more.n; i++)
        seen |= dialect(e->more.at[i]);
    return seen;
}

static const tn_type *
scalar_annotation(reader *r, const ast *e)
{
    if (e->kind != AST_ATTR || e->a->kind != AST_NAME)
        return NULL;
    value v = rd_eval(r, e);
    const tn_type *t = v.kind == V_PATH ? rd_bare_type(r, v.s) : NULL;
    return tn_is(t, TN_KIND_TY_PRIM) ? t : NULL;
}

/* One parameter after its annotation was read: its variable and, if it is one, its buffer. */
static const tn_expr *
parameter(reader *r, const ast *p, value v, const tn_node **buffer)
{
    *buffer = NULL;
    rd_at(r, p);
    if (rd_is_node(v, TN_KIND_BUFFER)) {
        *buffer = v.node;
        rd_bind(r, p->text, v);
        tnb_ptrmap_set(&r->tensor->by_data, tn_as_buffer(v.node)->data, v.node);
        return tn_var_dtype(r->ctx, tn_strf(r->ctx, "var_%s", p->text), TNB_DTYPE(TNB_HANDLE, 64));
    }
    const tn_expr *var = NULL;
    if (v.kind == V_DECLARED) {
        var = v.node;
    } else {
        const tn_type *t = rd_type(r, p->a, v);
        if (t && !tn_is(t, TN_KIND_TY_PRIM) && !tn_is(t, TN_KIND_TY_PTR))
            rd_error(r, p, TNB_TYPE, "parameter '%s' must be a buffer, handle or scalar, not %s",
                     p->text, tn_text(r->ctx, t));
        else if (t)
            var = tn_var_new(r->ctx, p->text, t);
    }
    rd_bind(r, p->text, var ? rd_node(var) : rd_failed());
    return var;
}

/* Notes n = T.int32() and m, n = T.int32(), T.int64() of the body, before the signature is read. */
static void
note_declared(reader *r, const ast *target, const ast *what)
{
    bool both = (target->kind == AST_TUPLE || target->kind == AST_LIST) &&
                target->kind == what->kind && target->list.n == what->list.n;
    for (uint32_t i = 0; both && i < target->list.n; i++)
        note_declared(r, target->list.at[i], what->list.at[i]);
    const char *path = target->kind == AST_NAME ? rd_called(r, what) : NULL;
    tnb_dtype d;
    if (path && !what->list.n && !what->more.n && !strncmp(path, "T.", 2) &&
        tnb_dtype_parse(path + 2, strlen(path + 2), &d) && tnb_dtype_is_int(d))
        tnb_ptrmap_set(&r->tensor->declared, target->text, tn_ty_prim_of(r->ctx, d));
}

static bool
signature(reader *r, const ast *def, node_vec *params, node_vec *buffers, const tn_type **ret)
{
    bool ok = true;
    for (uint32_t i = 0; def->c && i < def->c->list.n; i++)
        if (def->c->list.at[i]->kind == AST_NAME)
            rd_bind(r, def->c->list.at[i]->text,
                    rd_node(tn_var_dtype(r->ctx, def->c->list.at[i]->text, TNB_I64)));
    /* scalars first, so that shapes may name those that come later */
    const tn_expr **early = TNB_NEW_N(r->arena, const tn_expr *, def->list.n);
    for (uint32_t i = 0; i < def->list.n; i++) {
        const ast *p = def->list.at[i];
        if (!p->a) {
            rd_error(r, p, TNB_FORMAT, "parameter '%s' has no type", p->text);
            ok = false;
            continue;
        }
        const tn_type *t = scalar_annotation(r, p->a);
        if (t) {
            rd_at(r, p);
            early[i] = tn_var_new(r->ctx, p->text, t);
            rd_bind(r, p->text, rd_node(early[i]));
        }
    }
    tnb_ptrmap seen;
    tnb_ptrmap_init(&seen, r->arena);
    for (uint32_t i = 0; i < def->list.n && ok; i++) {
        const ast *p = def->list.at[i];
        const tn_node *buffer = NULL;
        const tn_expr *var = early[i];
        if (tnb_ptrmap_has(&seen, p->text)) {
            rd_error(r, p, TNB_INVALID, "parameter '%s' is defined twice", p->text);
            ok = false;
        }
        tnb_ptrmap_set(&seen, p->text, p);
        if (!var) {
            r->defining = true;
            r->hint = p->text;
            value v = rd_eval(r, p->a);
            r->hint = NULL;
            r->defining = false;
            var = v.kind == V_ERROR ? NULL : parameter(r, p, v, &buffer);
        }
        ok &= var != NULL;
        TNB_PUSH(r->arena, *params, var);
        TNB_PUSH(r->arena, *buffers, buffer);
    }
    for (uint32_t i = 0; ok && i < buffers->n; i++)
        for (uint32_t k = 0; buffers->at[i] && k < tn_as_buffer(buffers->at[i])->shape.n; k++) {
            const tn_expr *x = tn_as_buffer(buffers->at[i])->shape.at[k];
            if (tn_is_var(x))
                tnb_ptrmap_set(&r->tensor->symbols, x, x);
        }
    *ret = NULL;
    if (ok && def->a && def->a->kind != AST_NONE) {
        *ret = rd_type(r, def->a, rd_eval(r, def->a));
        ok = *ret != NULL;
    }
    return ok;
}

bool
rd_declare_tensor(reader *r, global *g)
{
    g->tensor = true;
    const ast *ret = g->def->a;
    level l = r->level;
    r->level = LEVEL_TENSOR;
    if (ret && ret->kind != AST_NONE) {
        g->ret = rd_type(r, ret, rd_eval(r, ret));
        g->failed = !g->ret;
    }
    r->level = l;
    return !g->failed;
}

/* In schedulable programs the whole body is a block, unless it is one already. */
static const tn_stmt *
with_root(reader *r, const ast *def, const tn_stmt *body, const tensor_block *top)
{
    const tn_block_realize *only = tn_as_block_realize(body);
    bool is_root = only && tn_as_block(only->block)->iters.n == 0;
    if (is_root && !top->allocs.n)
        return body;
    tn_block b = {.name = "root", .allocs = {top->allocs.at, top->allocs.n}, .body = body};
    rd_at(r, def);
    const tn_node *block = tn_block_of(r->ctx, &b);
    return tn_is_error(block) ? NULL : tn_block_realize_of(r->ctx, (tn_list){0}, NULL, block);
}

const tn_node *
rd_prim_func(reader *r, const ast *def, const char *global_name)
{
    tensor_block top = {0};
    node_vec stmts = {0}, params = {0}, buffers = {0};
    tensor_scope t = {.block = &top, .stmts = &stmts};
    tensor_scope *outer = r->tensor;
    level l = r->level;
    const tn_type *ret;
    const tn_node *made = NULL;
    if (!rd_enter(r, def))
        return NULL;
    tnb_ptrmap_init(&t.loop_doms, r->arena);
    tnb_ptrmap_init(&t.params, r->arena);
    tnb_ptrmap_init(&t.by_data, r->arena);
    tnb_ptrmap_init(&t.symbols, r->arena);
    tnb_ptrmap_init(&t.declared, r->arena);
    t.old_dialect = dialect(def) == SAW_OLD;
    uint32_t before = tnb_diags_errors(tn_diags(r->ctx));
    r->tensor = &t;
    r->level = LEVEL_TENSOR;
    decorator d = read_decorator(r, def);
    t.is_private = d.is_private;
    rd_push(r);
    for (uint32_t i = 0; i < def->more.n; i++)
        if (def->more.at[i]->kind == AST_ASSIGN && !def->more.at[i]->c)
            note_declared(r, def->more.at[i]->a, def->more.at[i]->b);
    if (signature(r, def, &params, &buffers, &ret)) {
        t.n_params = params.n;
        t.param_buffers = buffers.at;
        for (uint32_t i = 0; i < params.n; i++)
            tnb_ptrmap_set(&t.params, params.at[i], (void *)(uintptr_t)(i + 1));
        rd_statements(r, def->more);
        rd_at(r, def);
        const tn_stmt *body = sequence(r, &stmts);
        bool s_tir = d.s_tir < 0 ? t.has_blocks : d.s_tir;
        if (tnb_diags_errors(tn_diags(r->ctx)) == before && body) {
            if (top.allocs.n && !s_tir)
                rd_error(r, def, TNB_FORMAT, "a block's allocation outside of any block");
            if (s_tir && t.has_blocks)
                body = with_root(r, def, body, &top);
            if (s_tir)
                rd_attr_set(r, &t.attrs, "s_tir", tn_bool(r->ctx, true));
            if (d.persistent)
                rd_attr_set(r, &t.attrs, "tirx.persistent", tn_bool(r->ctx, true));
            if (!d.is_private && global_name &&
                !(t.attrs.keys.n && tnb_strmap_has(&t.attrs.at, "global_symbol")))
                rd_attr_set(r, &t.attrs, "global_symbol", tn_string(r->ctx, global_name));
            rd_at(r, def);
            if (body)
                made = tn_prim_func_of(r->ctx, (tn_list){params.at, params.n},
                                       (tn_list){buffers.at, buffers.n}, body, ret,
                                       rd_attr_dict(r, &t.attrs));
        }
    }
    rd_pop(r);
    rd_leave(r);
    r->tensor = outer;
    r->level = l;
    return made && !tn_is_error(made) && tnb_diags_errors(tn_diags(r->ctx)) == before ? made : NULL;
}
