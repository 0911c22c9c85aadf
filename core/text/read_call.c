/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the graph level: the structural operators with forms of their own, and every other
 * operator by its schema.
 */
#include "reader.h"

/* ---- results ---- */
/* One type, or several as one Tuple type; NULL after an error. */
static const tn_type *
result_type(reader *r, const ast *e, value v)
{
    if (v.kind != V_TUPLE && v.kind != V_LIST)
        return rd_type(r, e, v);
    if (v.n == 1)
        return rd_type(r, e, v.items[0]);
    node_vec types = {0};
    for (uint32_t i = 0; i < v.n; i++) {
        const tn_type *t = rd_type(r, e, v.items[i]);
        if (!t)
            return NULL;
        TNB_PUSH(r->arena, types, t);
    }
    return tn_ty_tuple_of(r->ctx, (tn_list){types.at, types.n});
}

/* out_ty= or ty_args=, old spellings taken. False after an error; *out NULL when absent. */
static bool
type_keyword(reader *r, call_args *a, const char *now, const char *old, bool positional,
             const tn_type **out)
{
    value v;
    const ast *where;
    *out = NULL;
    if (!(positional && rd_arg(r, a, now, &v, &where)) && !rd_keyword(r, a, now, &v, &where) &&
        !rd_keyword(r, a, old, &v, &where))
        return true;
    if (v.kind == V_NONE)
        return true;
    *out = result_type(r, where, v);
    return *out != NULL;
}

static value
structural_call(reader *r, const ast *e, const char *op, node_vec args, const tn_node *attrs,
                const tn_type *type)
{
    rd_at(r, e);
    const tn_op *o = tn_find_op(tn_ctx_registry(r->ctx), op, NULL);
    if (!o)
        return rd_error(r, e, TNB_INTERNAL, "the operator %s is not registered", op);
    return rd_node(tn_call_of(r->ctx, tn_op_ref_of(r->ctx, o), (tn_list){args.at, args.n}, attrs,
                              (tn_list){&type, type ? 1u : 0u}, NULL));
}

/* ---- arguments ---- */
static bool
is_scalar_value(value v)
{
    return v.kind == V_INT || v.kind == V_BOOL || v.kind == V_FLOAT ||
           (v.kind == V_NODE && tn_is_scalar(v.node));
}

/* The argument tuple of call_tir and its kin: a lone argument counts as a tuple of one. */
static const tn_expr *
argument_tuple(reader *r, const ast *e, value v, value extra)
{
    node_vec fields = {0};
    const tn_tuple *literal = v.kind == V_NODE ? tn_as_tuple(v.node) : NULL;
    if (literal) {
        for (uint32_t i = 0; i < literal->fields.n; i++)
            TNB_PUSH(r->arena, fields, literal->fields.at[i]);
    } else {
        const value *items;
        uint32_t n;
        if (!rd_items(r, e, v, true, &items, &n))
            return NULL;
        bool each = (e->kind == AST_TUPLE || e->kind == AST_LIST) && e->list.n == n;
        for (uint32_t i = 0; i < n; i++) {
            const tn_expr *x = rd_leaf(r, each ? e->list.at[i] : e, items[i]);
            if (!x)
                return NULL;
            TNB_PUSH(r->arena, fields, x);
        }
    }
    if (extra.kind != V_NONE && !rd_dims(r, e, extra, &fields))
        return NULL;
    rd_at(r, e);
    const tn_expr *t = tn_tuple_of(r->ctx, (tn_list){fields.at, fields.n});
    return tn_is_error(t) ? NULL : t;
}

/* A callee: text names a packed function. */
static const tn_expr *
callee(reader *r, const ast *e, value v)
{
    if (v.kind == V_STR)
        return tn_extern_func_of(r->ctx, v.s);
    return rd_leaf(r, e, v);
}

/* ---- tensor programs and packed functions ---- */
static value
call_tir(reader *r, const ast *e, const char *name)
{
    call_args a = rd_args(e, tn_strf(r->ctx, "R.%s", name));
    value f, args, v, extra = {.kind = V_NONE};
    const ast *f_at = e, *args_at = e, *where = e;
    const tn_type *out;
    const tn_node *attrs = NULL;
    bool dps = !strcmp(name, "call_dps_packed");
    if (!rd_need(r, &a, dps ? "func" : "gvar", &f, &f_at) ||
        !rd_need(r, &a, "args", &args, &args_at))
        return rd_failed();
    if (!strcmp(name, "call_tir_inplace")) {
        if (!rd_need(r, &a, "inplace_indices", &v, &where))
            return rd_failed();
        if (v.kind == V_INT)
            v = rd_list(r, V_LIST, &v, 1);
        const tn_node *indices = rd_attr(r, where, v);
        if (!indices)
            return rd_failed();
        attrs = tn_dictv(r->ctx, "inplace_indices", indices, NULL);
    }
    if (!type_keyword(r, &a, "out_ty", "out_sinfo", true, &out))
        return rd_failed();
    if (rd_keyword(r, &a, "tir_vars", &extra, &where) && extra.kind == V_ERROR)
        return rd_failed();
    if (!strcmp(name, "call_tir_with_grad")) {
        if (!rd_keyword(r, &a, "te_grad_name", &v, &where))
            return rd_error(r, e, TNB_INVALID, "R.call_tir_with_grad needs te_grad_name");
        const tn_node *grad = rd_attr(r, where, v), *kwargs = NULL;
        if (rd_keyword(r, &a, "te_grad_kwargs", &v, &where) && v.kind != V_NONE)
            kwargs = rd_attr(r, where, v);
        if (!grad)
            return rd_failed();
        attrs = tn_dictv(r->ctx, "te_grad_name", grad, NULL);
        if (kwargs)
            attrs = tn_dict_set(r->ctx, attrs, "te_grad_kwargs", kwargs);
    }
    if (!rd_args_end(r, &a))
        return rd_failed();
    if (!out)
        return rd_error(r, e, TNB_INVALID, "R.%s needs out_ty, the type of its result", name);
    const tn_expr *gv = callee(r, f_at, f);
    const tn_expr *tuple = gv ? argument_tuple(r, args_at, args, extra) : NULL;
    if (!tuple)
        return rd_failed();
    if (gv->kind == TN_KIND_EXTERN_FUNC && !strcmp(name, "call_tir"))
        name = "call_dps_packed";
    node_vec both = {0};
    TNB_PUSH(r->arena, both, gv);
    TNB_PUSH(r->arena, both, tuple);
    return structural_call(r, e, tn_strf(r->ctx, "relax.%s", name), both, attrs, out);
}

/* R.dist.device_mesh([2, 2], I.Range(0, 4)), or the numbers of the devices as a list. */
static value
device_mesh(reader *r, const ast *e, const char *name)
{
    call_args a = rd_args(e, tn_strf(r->ctx, "R.%s", name));
    value shape, ids;
    const ast *shape_at = e, *ids_at = e;
    if (!rd_need(r, &a, "shape", &shape, &shape_at) ||
        !rd_need(r, &a, "device_ids", &ids, &ids_at) || !rd_args_end(r, &a))
        return rd_failed();
    node_vec dims = {0}, devices = {0};
    const tn_range *range = ids.kind == V_NODE ? tn_as_range(ids.node) : NULL;
    int64_t first = 0, count = 0;
    if (!rd_dims(r, shape_at, shape, &dims) || (!range && !rd_dims(r, ids_at, ids, &devices)))
        return rd_failed();
    if (range && (!tn_int_value(range->min, &first) || !tn_int_value(range->extent, &count) ||
                  count > INT16_MAX))
        return rd_error(r, ids_at, TNB_INVALID, "R.%s: the range of devices has to be literal",
                        name);
    rd_at(r, e);
    for (int64_t i = 0; i < count; i++)
        TNB_PUSH(r->arena, devices, tn_i64(r->ctx, first + i));
    return rd_node(tn_mesh_new(r->ctx, tn_list_of(r->ctx, dims.at, dims.n),
                               tn_list_of(r->ctx, devices.at, devices.n)));
}

static value
call_packed(reader *r, const ast *e, const char *name)
{
    call_args a = rd_args(e, tn_strf(r->ctx, "R.%s", name));
    value f, v;
    const ast *f_at = e, *where = e;
    const tn_type *out;
    const tn_node *attrs = NULL;
    bool plain = !strcmp(name, "call_packed");
    if (!rd_need(r, &a, "func", &f, &f_at))
        return rd_failed();
    const tn_expr *callee_expr = callee(r, f_at, f);
    if (!callee_expr)
        return rd_failed();
    node_vec args = {0};
    if (!plain)
        TNB_PUSH(r->arena, args, callee_expr);
    while (a.used < e->list.n) {
        rd_arg(r, &a, NULL, &v, &where);
        const tn_expr *x = rd_leaf(r, where, v);
        if (!x)
            return rd_failed();
        TNB_PUSH(r->arena, args, x);
    }
    if (!type_keyword(r, &a, "ty_args", "sinfo_args", false, &out))
        return rd_failed();
    for (uint32_t i = 0; i < e->more.n; i++) {
        const ast *k = e->more.at[i];
        if (i < 64 && a.seen >> i & 1)
            continue;
        const tn_node *x = rd_attr(r, k->a, rd_eval(r, k->a));
        if (!x)
            return rd_failed();
        attrs =
            attrs ? tn_dict_set(r->ctx, attrs, k->text, x) : tn_dict_of(r->ctx, &k->text, &x, 1);
    }
    if (!plain)
        return structural_call(r, e, tn_strf(r->ctx, "relax.%s", name), args, attrs, out);
    rd_at(r, e);
    return rd_node(tn_call_of(r->ctx, callee_expr, (tn_list){args.at, args.n}, attrs,
                              (tn_list){&out, out ? 1u : 0u}, NULL));
}

/* A function and one tuple of arguments: closures, builtins with the machine's context. */
static value
call_with_tuple(reader *r, const ast *e, const char *name)
{
    call_args a = rd_args(e, tn_strf(r->ctx, "R.%s", name));
    value f, args;
    const ast *f_at = e, *args_at = e;
    const tn_type *out;
    if (!rd_need(r, &a, "func", &f, &f_at) || !rd_need(r, &a, "args", &args, &args_at) ||
        !type_keyword(r, &a, "ty_args", "sinfo_args", true, &out) || !rd_args_end(r, &a))
        return rd_failed();
    const tn_expr *c = callee(r, f_at, f);
    const tn_expr *tuple = c ? argument_tuple(r, args_at, args, (value){.kind = V_NONE}) : NULL;
    if (!tuple)
        return rd_failed();
    node_vec both = {0};
    TNB_PUSH(r->arena, both, c);
    TNB_PUSH(r->arena, both, tuple);
    return structural_call(r, e, tn_strf(r->ctx, "relax.%s", name), both, NULL, out);
}

/* R.emit_with_ty("relax.op", (args), (types,)) */
static value
emit_with_type(reader *r, const ast *e)
{
    call_args a = rd_args(e, "R.emit_with_ty");
    value op, args, types;
    const ast *op_at = e, *args_at = e, *types_at = e;
    if (!rd_need(r, &a, "op", &op, &op_at) || !rd_need(r, &a, "args", &args, &args_at) ||
        !rd_need(r, &a, "ty_args", &types, &types_at))
        return rd_failed();
    const char *name = rd_text(r, op_at, op);
    const tn_type *type = name ? result_type(r, types_at, types) : NULL;
    const tn_expr *tuple = type ? argument_tuple(r, args_at, args, (value){.kind = V_NONE}) : NULL;
    if (!tuple)
        return rd_failed();
    tnb_err err = {0};
    const tn_op *o = tn_find_op(tn_ctx_registry(r->ctx), name, &err);
    if (!o)
        return rd_error(r, op_at, TNB_NOT_FOUND, "no operator '%s'", name);
    const tn_node *attrs = NULL;
    for (uint32_t i = 0; i < e->more.n; i++) {
        const ast *k = e->more.at[i];
        if (i < 64 && a.seen >> i & 1)
            continue;
        const tn_node *x = rd_attr(r, k->a, rd_eval(r, k->a));
        if (!x)
            return rd_failed();
        attrs =
            attrs ? tn_dict_set(r->ctx, attrs, k->text, x) : tn_dict_of(r->ctx, &k->text, &x, 1);
    }
    rd_at(r, e);
    return rd_node(tn_call_of(r->ctx, tn_op_ref_of(r->ctx, o), tn_as_tuple(tuple)->fields, attrs,
                              (tn_list){0}, type));
}

/* ---- values ---- */
static value
prim_value(reader *r, const ast *e)
{
    call_args a = rd_args(e, "R.prim_value");
    value v;
    const ast *where = e;
    if (!rd_need(r, &a, "value", &v, &where))
        return rd_failed();
    value d;
    const ast *d_at = e;
    tnb_dtype dtype = TNB_VOID;
    if (rd_keyword(r, &a, "dtype", &d, &d_at) && !rd_dtype(r, d_at, d, &dtype))
        return rd_failed();
    if (!rd_args_end(r, &a))
        return rd_failed();
    const tn_expr *x =
        tnb_dtype_is_void(dtype) ? rd_scalar(r, where, v) : rd_scalar_of(r, where, v, dtype);
    return x ? rd_node(x) : rd_failed();
}

static value
shape_value(reader *r, const ast *e)
{
    call_args a = rd_args(e, "R.shape");
    value v;
    const ast *where = e;
    node_vec dims = {0};
    if (!rd_need(r, &a, "value", &v, &where) || !rd_args_end(r, &a) || !rd_dims(r, where, v, &dims))
        return rd_failed();
    rd_at(r, e);
    return rd_node(tn_shape_expr_of(r->ctx, (tn_list){dims.at, dims.n}));
}

static value
tuple_value(reader *r, const ast *e)
{
    node_vec fields = {0};
    for (uint32_t i = 0; i < e->list.n; i++) {
        const tn_expr *x = rd_leaf(r, e->list.at[i], rd_eval(r, e->list.at[i]));
        if (!x)
            return rd_failed();
        TNB_PUSH(r->arena, fields, x);
    }
    rd_at(r, e);
    return rd_node(tn_tuple_of(r->ctx, (tn_list){fields.at, fields.n}));
}

static value
simple_value(reader *r, const ast *e, const char *name)
{
    call_args a = rd_args(e, tn_strf(r->ctx, "R.%s", name));
    value v, t;
    const ast *where = e, *t_at = e;
    if (!rd_need(r, &a, "value", &v, &where))
        return rd_failed();
    const tn_node *n = NULL;
    tnb_dtype d;
    const char *s;
    int64_t i;
    if (!strcmp(name, "str")) {
        s = rd_text(r, where, v);
        n = s ? tn_string(r->ctx, s) : NULL;
    } else if (!strcmp(name, "dtype")) {
        n = rd_dtype(r, where, v, &d) ? tn_dtype_imm_of(r->ctx, d) : NULL;
    } else if (!strcmp(name, "ExternFunc")) {
        s = rd_text(r, where, v);
        n = s ? tn_extern_func_of(r->ctx, s) : NULL;
        if (n && rd_arg(r, &a, "ty", &t, &t_at)) {
            const tn_type *type = rd_type(r, t_at, t);
            n = type ? tn_rebuild(r->ctx, TN_KIND_EXTERN_FUNC, n, type) : NULL;
        }
        value name_value;
        if (n && rd_keyword(r, &a, "name", &name_value, &t_at) && !rd_text(r, t_at, name_value))
            n = NULL; /* the name in the module, see read_module.c */
    } else {          /* TupleGetItem */
        const tn_expr *tuple = rd_leaf(r, where, v);
        if (!rd_need(r, &a, "index", &t, &t_at) || !rd_int(r, t_at, t, &i))
            return rd_failed();
        rd_at(r, e);
        n = tuple ? tn_tuple_item(r->ctx, tuple, i) : NULL;
    }
    return n && rd_args_end(r, &a) ? rd_node(n) : rd_failed();
}

static value
match_cast(reader *r, const ast *e)
{
    call_args a = rd_args(e, "R.match_cast");
    value v, t;
    const ast *v_at = e, *t_at = e;
    if (!rd_need(r, &a, "value", &v, &v_at))
        return rd_failed();
    if (!rd_arg(r, &a, "ty", &t, &t_at) && !rd_keyword(r, &a, "struct_info", &t, &t_at))
        return rd_error(r, e, TNB_INVALID, "R.match_cast: the type is missing");
    if (!rd_args_end(r, &a))
        return rd_failed();
    const tn_expr *x = rd_leaf(r, v_at, v);
    const tn_type *type = x ? rd_type(r, t_at, t) : NULL;
    if (!type)
        return rd_failed();
    return (value){.kind = V_CAST, .node = x, .other = type};
}

/* R.op("relax.add"): the operator as a value */
static value
op_value(reader *r, const ast *e)
{
    call_args a = rd_args(e, "R.op");
    value v;
    const ast *where = e;
    const char *s = rd_need(r, &a, "name", &v, &where) ? rd_text(r, where, v) : NULL;
    if (!s || !rd_args_end(r, &a))
        return rd_failed();
    const tn_op *op = tn_find_op(tn_ctx_registry(r->ctx), s, NULL);
    return op ? rd_node(tn_op_ref_of(r->ctx, op))
              : rd_error(r, where, TNB_NOT_FOUND, "no operator '%s'", s);
}

/* R.hint_on_device(x, R.device(4, 0), "global") */
static value
hint_on_device(reader *r, const ast *e)
{
    call_args a = rd_args(e, "R.hint_on_device");
    value x, d, v;
    const ast *x_at = e, *d_at = e, *where = e;
    const tn_node *scope = NULL, *type = NULL, *index = NULL;
    bool has_device = false;
    if (!rd_need(r, &a, "data", &x, &x_at))
        return rd_failed();
    if (rd_arg(r, &a, "dst_vdevice", &d, &d_at)) {
        has_device = d.kind == V_TUPLE && d.n == 2;
        if (!has_device)
            return d.kind == V_ERROR
                       ? rd_failed()
                       : rd_error(r, d_at, TNB_TYPE, "expected R.device(type, index), found %s",
                                  rd_what(r, d));
        type = rd_attr(r, d_at, d.items[0]);
        index = rd_attr(r, d_at, d.items[1]);
    }
    if (rd_arg(r, &a, "memory_scope", &v, &where))
        scope = rd_attr(r, where, v);
    if (rd_keyword(r, &a, "device_type", &v, &where))
        type = rd_attr(r, where, v);
    if (rd_keyword(r, &a, "index", &v, &where))
        index = rd_attr(r, where, v);
    const tn_expr *t = rd_args_end(r, &a) ? rd_leaf(r, x_at, x) : NULL;
    if (!t)
        return rd_failed();
    const char *keys[3];
    const tn_node *values[3];
    uint32_t n = 0;
    if (type)
        keys[n] = "device_type", values[n++] = type;
    if (index)
        keys[n] = "index", values[n++] = index;
    if (scope)
        keys[n] = "memory_scope", values[n++] = scope;
    rd_at(r, e);
    return rd_node(tn_call_op(r->ctx, "relax.hint_on_device", (tn_list){&t, 1},
                              tn_dict_of(r->ctx, keys, values, n)));
}

/* ---- operators by schema ---- */
/* Arguments whose tuples mean extents rather than a tuple of values. */
static bool
is_shape_argument(const char *name)
{
    static const char *const names[] = {"shape",    "size",         "new_shape",
                                        "newshape", "target_shape", "out_shape"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}

static const tn_expr *
operator_argument(reader *r, const ast *e, value v, const char *name)
{
    if ((v.kind == V_TUPLE || v.kind == V_LIST) && is_shape_argument(name)) {
        bool scalars = true;
        for (uint32_t i = 0; i < v.n; i++)
            scalars &= is_scalar_value(v.items[i]);
        if (scalars) {
            node_vec dims = {0};
            if (!rd_dims(r, e, v, &dims))
                return NULL;
            rd_at(r, e);
            const tn_expr *s = tn_shape_expr_of(r->ctx, (tn_list){dims.at, dims.n});
            return tn_is_error(s) ? NULL : s;
        }
    }
    tnb_dtype d;
    if (!strcmp(name, "dtype") && (v.kind == V_STR || v.kind == V_PATH))
        return rd_dtype(r, e, v, &d) ? tn_dtype_imm_of(r->ctx, d) : NULL;
    return rd_leaf(r, e, v);
}

static const tn_node *
operator_attribute(reader *r, const ast *e, value v, const tn_attr_schema *s)
{
    tnb_dtype d;
    if (s && s->type == TN_ATTR_DTYPE && v.kind != V_NONE)
        return rd_dtype(r, e, v, &d) ? tn_dtype_imm_of(r->ctx, d) : NULL;
    if (s && s->type == TN_ATTR_DTYPE && !(s->flags & TN_ATTR_OPTIONAL))
        return tn_dtype_imm_of(r->ctx, TNB_VOID);
    if (s && s->type == TN_ATTR_VDEVICE && v.kind == V_STR)
        return rd_vdevice(r, e, v);
    if (s && s->type == TN_ATTR_INDEX_MAP && v.kind == V_LAMBDA)
        return rd_index_map(r, e, v);
    if (s && s->type == TN_ATTR_EXPRS && v.kind == V_NODE && tn_is(v.node, TN_KIND_SHAPE_EXPR))
        return tn_array_of(r->ctx, ((const tn_shape_expr *)v.node)->values);
    return rd_attr(r, e, v);
}

static int
schema_argument(const tn_op *op, const char *name)
{
    /* spellings of the Python functions */
    static const char *const aliases[][2] = {{"runtime_device_index", "device_index"},
                                             {"runtime_device_ind", "device_index"},
                                             {"virtual_device_index", "device_index"},
                                             {"storage_scope", "scope"}};
    for (size_t k = 0; k < sizeof aliases / sizeof *aliases; k++)
        for (int i = 0; !strcmp(name, aliases[k][0]) && op->args && op->args[i].name; i++)
            if (!strcmp(op->args[i].name, aliases[k][1]))
                return i;
    for (int i = 0; op->args && op->args[i].name; i++)
        if (!strcmp(op->args[i].name, name))
            return i;
    return -1;
}

static const tn_attr_schema *
schema_attribute(const tn_op *op, const char *name)
{
    for (const tn_attr_schema *s = op->attrs; s && s->name; s++)
        if (!strcmp(s->name, name))
            return s;
    return NULL;
}

typedef struct operator_call {
    const tn_op *op;
    const tn_expr *args[64];
    uint32_t n_args; /* highest position given + 1 */
    TNB_VEC(const char *) keys;
    node_vec values, rest; /* rest: arguments beyond 64 of variadic operators */
    const tn_type *type;   /* ty_args=: where the result lies */
} operator_call;

static bool
add_attribute(reader *r, operator_call *c, const ast *e, value v, const char *name,
              const tn_attr_schema *s)
{
    const tn_node *x = v.kind == V_ERROR ? NULL : operator_attribute(r, e, v, s);
    if (!x || tn_is_error(x))
        return false;
    TNB_PUSH(r->arena, c->keys, name);
    TNB_PUSH(r->arena, c->values, x);
    return true;
}

static bool
add_argument(reader *r, operator_call *c, const ast *e, value v, uint32_t position)
{
    if (v.kind == V_NONE)
        return true; /* an optional argument left out */
    uint32_t n = 0;
    while (c->op->args && c->op->args[n].name)
        n++;
    const char *name = position < n ? c->op->args[position].name : "";
    const tn_expr *x = operator_argument(r, e, v, name);
    if (!x)
        return false;
    if (position >= 64) {
        TNB_PUSH(r->arena, c->rest, x);
        return true;
    }
    c->args[position] = x;
    if (position >= c->n_args)
        c->n_args = position + 1;
    return true;
}

/* R.arange(end), R.arange(start, end): the rest as Python's range has it. */
static void
complete_arange(reader *r, operator_call *c)
{
    if (c->n_args == 1) {
        c->args[1] = c->args[0];
        c->args[0] = tn_i64(r->ctx, 0);
        c->n_args = 2;
    }
    if (c->n_args == 2) {
        c->args[2] = tn_i64(r->ctx, 1);
        c->n_args = 3;
    }
    for (uint32_t i = 0; i < c->keys.n; i++)
        if (!strcmp(c->keys.at[i], "dtype"))
            return;
    bool floats = false;
    for (uint32_t i = 0; i < c->n_args; i++)
        floats |= c->args[i] && tnb_dtype_is_float(tn_dtype_of(c->args[i]));
    TNB_PUSH(r->arena, c->keys, "dtype");
    TNB_PUSH(r->arena, c->values, tn_dtype_imm_of(r->ctx, floats ? TNB_F32 : TNB_I64));
}

/* Scalar arguments that the Python functions give a default: R.triu(x). */
static void
complete_scalars(reader *r, operator_call *c)
{
    static const struct {
        const char *op;
        uint32_t position;
        bool truth;
        int value;
    } defaults[] = {
        {"relax.tril", 1, false, 0},  {"relax.triu", 1, false, 0},  {"relax.eye_like", 1, false, 0},
        {"relax.unique", 1, true, 1}, {"relax.unique", 2, true, 0}, {"relax.unique", 3, true, 0},
        {"relax.unique", 4, true, 0},
    };
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++) {
        uint32_t at = defaults[i].position;
        if (c->args[at] || strcmp(c->op->base.name, defaults[i].op) != 0)
            continue;
        c->args[at] = defaults[i].truth ? tn_bool(r->ctx, defaults[i].value)
                                        : tn_i64(r->ctx, defaults[i].value);
        if (c->n_args <= at)
            c->n_args = at + 1;
    }
}

static value
finish_call(reader *r, const ast *e, operator_call *c)
{
    if (!strcmp(c->op->base.name, "relax.arange"))
        complete_arange(r, c);
    complete_scalars(r, c);
    node_vec args = {0};
    for (uint32_t i = 0; i < c->n_args; i++) {
        /* an optional argument left out in front of others */
        if (!c->args[i] && c->op->min_args >= 0 && i >= (uint32_t)c->op->min_args)
            c->args[i] = tn_tuple_of(r->ctx, (tn_list){0});
        if (!c->args[i])
            return rd_error(r, e, TNB_INVALID, "%s: argument '%s' is missing", c->op->base.name,
                            c->op->args ? c->op->args[i].name : "?");
        TNB_PUSH(r->arena, args, c->args[i]);
    }
    for (uint32_t i = 0; i < c->rest.n; i++)
        TNB_PUSH(r->arena, args, c->rest.at[i]);
    rd_at(r, e);
    const tn_node *attrs =
        c->keys.n ? tn_dict_of(r->ctx, c->keys.at, c->values.at, c->keys.n) : NULL;
    if (tn_is_error(attrs))
        return rd_failed();
    return rd_node(tn_call_of(r->ctx, tn_op_ref_of(r->ctx, c->op), (tn_list){args.at, args.n},
                              attrs, (tn_list){&c->type, c->type ? 1u : 0u}, NULL));
}

value
rd_op_call(reader *r, const ast *e, const char *name)
{
    tn_registry *reg = tn_ctx_registry(r->ctx);
    tnb_err err = {0};
    const tn_op *op = tn_find_op(reg, name, rd_many_errors(r) ? NULL : &err);
    operator_call c = {.op = op};
    if (!op) {
        const char *near = rd_many_errors(r) ? NULL : tn_nearest_name(reg, "op", name);
        rd_error(r, e, TNB_NOT_FOUND, "no operator 'R.%s'", name + strlen("relax."));
        if (err.status != TNB_OK && err.status != TNB_NOT_FOUND)
            tnb_diag_note(tn_diags(r->ctx), "%s", err.message);
        if (!rd_many_errors(r) && tn_note_unusable(r->ctx, "op", name))
            return rd_failed();
        if (near && !strncmp(near, "relax.", 6))
            rd_hint(r, "the nearest name is 'R.%s'", near + 6);
        else if (near)
            rd_hint(r, "the nearest name is '%s'", near);
        return rd_failed();
    }
    uint32_t n_args = 0;
    while (op->args && op->args[n_args].name)
        n_args++;
    bool variadic = c.op->flags & TN_OP_VARIADIC || !c.op->args;
    const tn_attr_schema *next = c.op->attrs;
    bool ok = true;
    for (uint32_t i = 0; i < e->list.n; i++) {
        const ast *x = e->list.at[i];
        value v = rd_eval(r, x);
        if (v.kind == V_ERROR) {
            ok = false;
        } else if (i < n_args || variadic) {
            ok &= add_argument(r, &c, x, v, i);
        } else if (next && next->name) {
            ok &= add_attribute(r, &c, x, v, next->name, next);
            next++;
        } else {
            return rd_error(r, x, TNB_INVALID, "R.%s takes %u argument%s, found %u", name + 6,
                            n_args, n_args == 1 ? "" : "s", e->list.n);
        }
    }
    for (uint32_t i = 0; i < e->more.n && ok; i++) {
        const ast *k = e->more.at[i];
        value v = rd_eval(r, k->a);
        const tn_attr_schema *s = schema_attribute(c.op, k->text);
        int position = schema_argument(c.op, k->text);
        if (!s && position < 0 && !strcmp(k->text, "ty_args")) {
            c.type = v.kind == V_ERROR ? NULL : result_type(r, k->a, v);
            ok &= c.type != NULL;
            continue;
        }
        if (v.kind == V_ERROR)
            ok = false;
        else if (s || position < 0)
            ok &= add_attribute(r, &c, k->a, v, k->text, s);
        else if (position < 64 && c.args[position])
            return rd_error(r, k, TNB_INVALID, "argument '%s' is given twice", k->text);
        else
            ok &= add_argument(r, &c, k->a, v, (uint32_t)position);
    }
    return ok ? finish_call(r, e, &c) : rd_failed();
}

value
rd_graph_op(reader *r, const ast *e, const char *op, const tn_expr *a, const tn_expr *b)
{
    const tn_node *both[] = {a, b};
    if (r->level == LEVEL_TENSOR)
        return rd_error(r, e, TNB_TYPE, "a tensor program computes with scalars, not with %s",
                        rd_what(r, rd_node(a)));
    rd_at(r, e);
    return rd_node(tn_call_op(r->ctx, op, (tn_list){both, b ? 2u : 1u}, NULL));
}

/* ---- calls of functions ---- */
value
rd_call_node(reader *r, const ast *e, const tn_node *f)
{
    if (e->more.n)
        return rd_error(r, e->more.at[0], TNB_INVALID, "a function takes no keyword arguments");
    node_vec args = {0};
    bool tensor = r->level == LEVEL_TENSOR;
    for (uint32_t i = 0; i < e->list.n; i++) {
        const ast *x = e->list.at[i];
        value v = rd_eval(r, x);
        const tn_expr *arg = tensor ? rd_scalar(r, x, v) : rd_leaf(r, x, v);
        if (!arg)
            return rd_failed();
        TNB_PUSH(r->arena, args, arg);
    }
    tn_list list = {args.at, args.n};
    rd_at(r, e);
    const tn_global_var *gv = tn_as_global_var(f);
    global *g = gv ? tnb_ptrmap_get(&r->by_var, f) : NULL;
    if (tensor) {
        if (!gv)
            return rd_error(r, e, TNB_TYPE,
                            "a tensor program calls functions of the module, not %s",
                            rd_what(r, rd_node(f)));
        tnb_dtype d = g && g->ret ? tn_dtype_of(&(tn_node){.type = g->ret}) : TNB_VOID;
        return rd_node(tn_scalar_call(r->ctx, d, f, list, NULL));
    }
    const tn_type *type = NULL;
    if (g && g->tensor) {
        type = g->ret ? g->ret : tn_ty_tuple_of(r->ctx, (tn_list){0});
    } else if (g && (g->type || g->func)) {
        const tn_function *fn = g->type ? NULL : tn_as_function(g->func);
        g->believed |= g->type != NULL;
        type = tn_call_result_type(r->ctx, g->type ? g->type : tn_func_type(r->ctx, g->func),
                                   fn ? fn->params : g->params, list);
        if (tn_is_error(type))
            return rd_failed();
    }
    return rd_node(tn_call_of(r->ctx, f, list, NULL, (tn_list){0}, type));
}

value
rd_graph_call(reader *r, const ast *e, const char *name)
{
    static const struct {
        const char *name;
        value (*read)(reader *, const ast *, const char *);
    } table[] = {
        {"ExternFunc", simple_value},
        {"TupleGetItem", simple_value},
        {"call_builtin_with_ctx", call_with_tuple},
        {"call_dps_packed", call_tir},
        {"call_inplace_packed", call_packed},
        {"call_packed", call_packed},
        {"call_pure_packed", call_packed},
        {"call_tir", call_tir},
        {"call_tir_inplace", call_tir},
        {"call_tir_with_grad", call_tir},
        {"dist.call_tir", call_tir},
        {"dist.device_mesh", device_mesh},
        {"dtype", simple_value},
        {"invoke_closure", call_with_tuple},
        {"invoke_pure_closure", call_with_tuple},
        {"make_closure", call_with_tuple},
        {"str", simple_value},
        {"vm.call_tir_dyn", call_with_tuple},
    };
    bool known;
    value v = rd_type_call(r, e, name, &known);
    if (known)
        return v;
    bool value_only = !strcmp(name, "str") || !strcmp(name, "dtype") ||
                      !strcmp(name, "ExternFunc") || !strcmp(name, "const") ||
                      !strcmp(name, "prim_value") || !strcmp(name, "shape") ||
                      !strcmp(name, "op") || !strcmp(name, "device");
    if (r->level == LEVEL_TENSOR && !value_only)
        return rd_error(r, e, TNB_FORMAT, "R.%s has no meaning in a tensor program", name);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(name, table[i].name))
            return table[i].read(r, e, name);
    if (!strcmp(name, "const"))
        return rd_const_call(r, e);
    if (!strcmp(name, "prim_value"))
        return prim_value(r, e);
    if (!strcmp(name, "shape") || !strcmp(name, "ShapeExpr"))
        return shape_value(r, e);
    if (!strcmp(name, "tuple"))
        return tuple_value(r, e);
    if (!strcmp(name, "match_cast"))
        return match_cast(r, e);
    if (!strcmp(name, "emit_with_ty") || !strcmp(name, "emit_with_sinfo"))
        return emit_with_type(r, e);
    if (!strcmp(name, "hint_on_device"))
        return hint_on_device(r, e);
    if (!strcmp(name, "op"))
        return op_value(r, e);
    if (!strcmp(name, "device")) {
        call_args a = rd_args(e, "R.device");
        value both[2];
        if (!rd_need(r, &a, "device_type", &both[0], NULL))
            return rd_failed();
        if (!rd_arg(r, &a, "device_id", &both[1], NULL) &&
            !rd_keyword(r, &a, "device_index", &both[1], NULL))
            both[1] = (value){.kind = V_INT};
        return rd_args_end(r, &a) ? rd_list(r, V_TUPLE, both, 2) : rd_failed();
    }
    if (!strcmp(name, "output") || !strcmp(name, "func_attr") || !strcmp(name, "dataflow"))
        return rd_error(r, e, TNB_FORMAT, "R.%s must be a statement of its own", name);
    return rd_op_call(r, e, tn_strf(r->ctx, "relax.%s", name));
}
