/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the tensor level in expressions: T.int64(3), T.min(a, b), T.Select(...), intrinsics; and
 * the few functions of the module dialect (I.Range, I.vdevice, ...).
 */
#include <math.h>
#include <stdlib.h>

#include "reader.h"

typedef value (*read_fn)(reader *r, const ast *e, const char *name);

static bool
one_scalar(reader *r, call_args *a, const char *key, const tn_expr **out)
{
    value v;
    const ast *where = a->call;
    *out = rd_need(r, a, key, &v, &where) ? rd_scalar(r, where, v) : NULL;
    return *out != NULL;
}

/* ---- literals and casts ---- */
value
rd_literal(reader *r, const ast *e, tnb_dtype d, value v)
{
    if (v.kind == V_STR) {
        double f;
        if (!tnb_dtype_is_float(d) || !tnb_read_f64(v.s, strlen(v.s), &f))
            return rd_error(r, e, TNB_FORMAT, "'%.60s' is not a number of dtype %s", v.s,
                            tnb_dtype_print(d).s);
        v = (value){.kind = V_FLOAT, .f = f};
    }
    if (v.kind == V_INT || v.kind == V_FLOAT || v.kind == V_BOOL) {
        const tn_expr *x = rd_scalar_of(r, e, v, d);
        return x ? rd_node(x) : rd_failed();
    }
    const tn_expr *x = rd_scalar(r, e, v);
    if (!x)
        return rd_failed();
    rd_at(r, e);
    return rd_node(tn_cast_to(r->ctx, d, x));
}

static value
dtype_call(reader *r, const ast *e, const char *name, tnb_dtype d)
{
    call_args a = rd_args(e, tn_strf(r->ctx, "T.%s", name));
    value v;
    const ast *where = e;
    if (!rd_arg(r, &a, "expr", &v, &where) || v.kind == V_NONE) {
        value flag;
        rd_keyword(r, &a, "is_size_var", &flag, NULL);
        if (!rd_args_end(r, &a))
            return rd_failed();
        const tn_expr *var = tn_var_dtype(r->ctx, r->hint ? r->hint : "v", d);
        return tn_is_error(var) ? rd_failed() : (value){.kind = V_DECLARED, .node = var};
    }
    return rd_args_end(r, &a) ? rd_literal(r, where, d, v) : rd_failed();
}

/* T.handle(), T.handle("float32", "shared"), T.var("int64") */
static value
declared(reader *r, const ast *e, const char *name)
{
    call_args a = rd_args(e, tn_strf(r->ctx, "T.%s", name));
    value v;
    const ast *where = e;
    tnb_dtype d = TNB_DTYPE(TNB_HANDLE, 64);
    const tn_type *type = NULL;
    bool var = !strcmp(name, "var");
    if (rd_arg(r, &a, "dtype", &v, &where) && v.kind != V_NONE) {
        if (v.kind == V_NODE && tn_is_type(v.node))
            type = v.node;
        else if (!rd_dtype(r, where, v, &d))
            return rd_failed();
        const char *scope = "global";
        value s;
        if (!var && rd_arg(r, &a, "storage_scope", &s, &where) && !(scope = rd_text(r, where, s)))
            return rd_failed();
        if (!type)
            type = var ? tn_ty_prim_of(r->ctx, d) : tn_ty_ptr_of(r->ctx, d, scope);
    }
    if (!rd_args_end(r, &a))
        return rd_failed();
    if (!type)
        type = tn_ty_prim_of(r->ctx, d);
    rd_at(r, e);
    return (value){.kind = V_DECLARED, .node = tn_var_new(r->ctx, r->hint ? r->hint : "v", type)};
}

static value
cast(reader *r, const ast *e, const char *name)
{
    call_args a = rd_args(e, tn_strf(r->ctx, "T.%s", name));
    value v, t;
    const ast *v_at = e, *t_at = e;
    bool dtype_first = !strcmp(name, "Cast") || !strcmp(name, "reinterpret");
    tnb_dtype d;
    if (!rd_need(r, &a, dtype_first ? "dtype" : "value", dtype_first ? &t : &v,
                 dtype_first ? &t_at : &v_at) ||
        !rd_need(r, &a, dtype_first ? "value" : "dtype", dtype_first ? &v : &t,
                 dtype_first ? &v_at : &t_at) ||
        !rd_args_end(r, &a) || !rd_dtype(r, t_at, t, &d))
        return rd_failed();
    const tn_expr *x = rd_scalar(r, v_at, v);
    if (!x)
        return rd_failed();
    rd_at(r, e);
    if (!strcmp(name, "Cast"))
        return rd_node(tn_raw_cast(r->ctx, d, x));
    if (!strcmp(name, "cast"))
        return rd_node(tn_cast_to(r->ctx, d, x));
    const tn_op *op = tn_find_op(tn_ctx_registry(r->ctx), "tirx.reinterpret", NULL);
    return op ? rd_node(tn_scalar_call(r->ctx, d, tn_op_ref_of(r->ctx, op), (tn_list){&x, 1}, NULL))
              : rd_error(r, e, TNB_NOT_FOUND, "no scalar intrinsic 'T.reinterpret'");
}

/* T.IntImm("int32", 3), T.FloatImm("float32", 0.1) */
static value
immediate(reader *r, const ast *e, const char *name)
{
    call_args a = rd_args(e, tn_strf(r->ctx, "T.%s", name));
    value v, t;
    const ast *v_at = e, *t_at = e;
    tnb_dtype d;
    if (!rd_need(r, &a, "dtype", &t, &t_at) || !rd_need(r, &a, "value", &v, &v_at) ||
        !rd_args_end(r, &a) || !rd_dtype(r, t_at, t, &d))
        return rd_failed();
    return rd_literal(r, v_at, d, v);
}

static value
string_immediate(reader *r, const ast *e, const char *name)
{
    call_args a = rd_args(e, tn_strf(r->ctx, "T.%s", name));
    value v;
    const ast *where = e;
    const char *s = rd_need(r, &a, "value", &v, &where) ? rd_text(r, where, v) : NULL;
    return s && rd_args_end(r, &a) ? rd_node(tn_string(r->ctx, s)) : rd_failed();
}

/* ---- operators as functions ---- */
static const struct {
    const char *name;
    int kind;
    bool raw; /* the node as it is */
} binaries[] = {
    {"Add", TN_KIND_ADD, true},
    {"Sub", TN_KIND_SUB, true},
    {"Mul", TN_KIND_MUL, true},
    {"Div", TN_KIND_DIV, true},
    {"Mod", TN_KIND_MOD, true},
    {"FloorDiv", TN_KIND_FLOOR_DIV, true},
    {"FloorMod", TN_KIND_FLOOR_MOD, true},
    {"Min", TN_KIND_MIN, true},
    {"Max", TN_KIND_MAX, true},
    {"EQ", TN_KIND_EQ, true},
    {"NE", TN_KIND_NE, true},
    {"LT", TN_KIND_LT, true},
    {"LE", TN_KIND_LE, true},
    {"GT", TN_KIND_GT, true},
    {"GE", TN_KIND_GE, true},
    {"And", TN_KIND_AND, true},
    {"Or", TN_KIND_OR, true},
    {"min", TN_KIND_MIN, false},
    {"max", TN_KIND_MAX, false},
    {"floordiv", TN_KIND_FLOOR_DIV, false},
    {"floormod", TN_KIND_FLOOR_MOD, false},
    {"truncdiv", TN_KIND_DIV, false},
    {"truncmod", TN_KIND_MOD, false},
    {"div", TN_KIND_DIV, false},
    {"indexdiv", TN_KIND_FLOOR_DIV, false},
    {"indexmod", TN_KIND_FLOOR_MOD, false},
};

static value
binary(reader *r, const ast *e, const char *name)
{
    call_args a = rd_args(e, tn_strf(r->ctx, "T.%s", name));
    value x, y;
    const ast *x_at = e, *y_at = e;
    if (!rd_need(r, &a, "a", &x, &x_at) || !rd_need(r, &a, "b", &y, &y_at) || !rd_args_end(r, &a) ||
        x.kind == V_ERROR || y.kind == V_ERROR)
        return rd_failed();
    size_t k = 0;
    while (strcmp(binaries[k].name, name) != 0)
        k++;
    bool x_bare = x.kind == V_INT || x.kind == V_FLOAT,
         y_bare = y.kind == V_INT || y.kind == V_FLOAT;
    const tn_expr *p = NULL, *q = NULL;
    if (binaries[k].raw && x_bare != y_bare) {
        /* a bare literal takes the dtype of the other operand */
        if (x_bare) {
            q = rd_scalar(r, y_at, y);
            p = q ? rd_scalar_of(r, x_at, x, tn_dtype_of(q)) : NULL;
        } else {
            p = rd_scalar(r, x_at, x);
            q = p ? rd_scalar_of(r, y_at, y, tn_dtype_of(p)) : NULL;
        }
    } else {
        p = rd_scalar(r, x_at, x);
        q = p ? rd_scalar(r, y_at, y) : NULL;
    }
    if (!p || !q)
        return rd_failed();
    rd_at(r, e);
    tn_kind kind = (tn_kind)binaries[k].kind;
    return rd_node(binaries[k].raw ? tn_raw_binary(r->ctx, kind, p, q)
                                   : tn_bin(r->ctx, kind, p, q));
}

static value
folding_pair(reader *r, const ast *e, const char *name)
{
    static const struct {
        const char *name;
        const tn_expr *(*make)(tn_ctx *, const tn_expr *, const tn_expr *);
    } table[] = {
        {"bitwise_and", tn_bitwise_and}, {"bitwise_or", tn_bitwise_or},
        {"bitwise_xor", tn_bitwise_xor}, {"ceildiv", tn_ceildiv},
        {"shift_left", tn_shift_left},   {"shift_right", tn_shift_right},
    };
    call_args a = rd_args(e, tn_strf(r->ctx, "T.%s", name));
    const tn_expr *x, *y;
    if (!one_scalar(r, &a, "a", &x) || !one_scalar(r, &a, "b", &y) || !rd_args_end(r, &a))
        return rd_failed();
    size_t k = 0;
    while (strcmp(table[k].name, name) != 0)
        k++;
    rd_at(r, e);
    return rd_node(table[k].make(r->ctx, x, y));
}

static value
logical_not(reader *r, const ast *e, const char *name)
{
    call_args a = rd_args(e, tn_strf(r->ctx, "T.%s", name));
    const tn_expr *x;
    if (!one_scalar(r, &a, "a", &x) || !rd_args_end(r, &a))
        return rd_failed();
    rd_at(r, e);
    return rd_node(!strcmp(name, "Not") ? tn_raw_not(r->ctx, x) : tn_bitwise_not(r->ctx, x));
}

static value
choose(reader *r, const ast *e, const char *name)
{
    call_args a = rd_args(e, tn_strf(r->ctx, "T.%s", name));
    const tn_expr *c;
    value x, y;
    const ast *x_at = e, *y_at = e;
    bool select = !strcmp(name, "Select");
    if (!one_scalar(r, &a, select ? "condition" : "cond", &c) ||
        !rd_need(r, &a, select ? "true_value" : "t", &x, &x_at) ||
        !rd_need(r, &a, select ? "false_value" : "f", &y, &y_at))
        return rd_failed();
    value unused; /* old text repeats the dtype */
    rd_keyword(r, &a, "dtype", &unused, NULL);
    if (!rd_args_end(r, &a))
        return rd_failed();
    const tn_expr *p = rd_scalar(r, x_at, x), *q = p ? rd_scalar(r, y_at, y) : NULL;
    if (!q)
        return rd_failed();
    rd_at(r, e);
    if (!select)
        return rd_node(tn_if_then_else(r->ctx, c, p, q));
    if (!tn_match_dtypes(r->ctx, &p, &q))
        return rd_failed();
    return rd_node(tn_select_of(r->ctx, c, p, q));
}

static value
limit(reader *r, const ast *e, const char *name)
{
    call_args a = rd_args(e, tn_strf(r->ctx, "T.%s", name));
    value t;
    const ast *where = e;
    tnb_dtype d;
    if (!rd_need(r, &a, "dtype", &t, &where) || !rd_dtype(r, where, t, &d) || !rd_args_end(r, &a))
        return rd_failed();
    rd_at(r, e);
    if (!strcmp(name, "min_value"))
        return rd_node(tn_min_value(r->ctx, d));
    if (!strcmp(name, "max_value"))
        return rd_node(tn_max_value(r->ctx, d));
    if (!tnb_dtype_is_float(d))
        return rd_error(r, e, TNB_TYPE, "%s has no infinity", tnb_dtype_print(d).s);
    return rd_node(tn_float_imm_of(r->ctx, d, INFINITY));
}

/* ---- vectors ---- */
static bool
lanes_of(reader *r, call_args *a, int64_t *lanes)
{
    value v;
    const ast *where = a->call;
    return rd_need(r, a, "lanes", &v, &where) && rd_int(r, where, v, lanes);
}

static value
vector(reader *r, const ast *e, const char *name)
{
    call_args a = rd_args(e, tn_strf(r->ctx, "T.%s", name));
    const tn_expr *x;
    int64_t lanes;
    if (!strcmp(name, "Broadcast") || !strcmp(name, "broadcast")) {
        if (!one_scalar(r, &a, "value", &x) || !lanes_of(r, &a, &lanes) || !rd_args_end(r, &a))
            return rd_failed();
        rd_at(r, e);
        return rd_node(tn_broadcast_of(r->ctx, x, lanes));
    }
    value stride;
    const ast *where = e;
    if (!one_scalar(r, &a, "base", &x) || !rd_need(r, &a, "stride", &stride, &where))
        return rd_failed();
    tnb_dtype one = tn_dtype_of(x);
    const tn_expr *s = rd_scalar_of(r, where, stride, one);
    if (!s || !lanes_of(r, &a, &lanes) || !rd_args_end(r, &a))
        return rd_failed();
    rd_at(r, e);
    return rd_node(tn_ramp_of(r->ctx, x, s, lanes));
}

static bool
scalar_items(reader *r, const ast *e, value v, node_vec *out)
{
    const value *items;
    uint32_t n;
    if (!rd_items(r, e, v, false, &items, &n))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        const tn_expr *x = rd_scalar(r, e, items[i]);
        if (!x)
            return false;
        TNB_PUSH(r->arena, *out, x);
    }
    return true;
}

static value
shuffle(reader *r, const ast *e, const char *name)
{
    call_args a = rd_args(e, tn_strf(r->ctx, "T.%s", name));
    value v, i;
    const ast *v_at = e, *i_at = e;
    node_vec vectors = {0}, indices = {0};
    if (!rd_need(r, &a, "vectors", &v, &v_at) || !rd_need(r, &a, "indices", &i, &i_at) ||
        !rd_args_end(r, &a) || !scalar_items(r, v_at, v, &vectors) ||
        !scalar_items(r, i_at, i, &indices))
        return rd_failed();
    rd_at(r, e);
    return rd_node(
        tn_shuffle_of(r->ctx, (tn_list){vectors.at, vectors.n}, (tn_list){indices.at, indices.n}));
}

/* T.Let(body, where={v: e}): the keys are new names. */
static value
let(reader *r, const ast *e, const char *name)
{
    (void)name;
    const ast *body = e->list.n == 1 ? e->list.at[0] : NULL, *where = NULL;
    for (uint32_t i = 0; i < e->more.n; i++) {
        if (!strcmp(e->more.at[i]->text, "where"))
            where = e->more.at[i]->a;
        if (!strcmp(e->more.at[i]->text, "expr"))
            body = e->more.at[i]->a;
    }
    if (!body || !where || where->kind != AST_DICT || where->list.n != 1 ||
        where->list.at[0]->kind != AST_NAME)
        return rd_error(r, e, TNB_FORMAT, "expected T.Let(body, where={name: value})");
    const ast *key = where->list.at[0];
    const tn_expr *v = rd_scalar(r, where->more.at[0], rd_eval(r, where->more.at[0]));
    if (!v || !rd_enter(r, e))
        return rd_failed();
    rd_at(r, key);
    /* a variable declared before by T.int32() is the one meant, unless an outer T.Let took it */
    const value *known = rd_find(r, key->text);
    const tn_expr *var = known && known->kind == V_DECLARED && known->node->type == v->type
                             ? known->node
                             : tn_var_new(r->ctx, key->text, v->type);
    rd_push(r);
    rd_bind(r, key->text, rd_node(var));
    const tn_expr *b = rd_scalar(r, body, rd_eval(r, body));
    rd_pop(r);
    rd_leave(r);
    if (!b)
        return rd_failed();
    rd_at(r, e);
    return rd_node(tn_let_of(r->ctx, var, v, b));
}

/* ---- calls ---- */
static value
named_call(reader *r, const ast *e, const char *op, tnb_dtype d, node_vec args)
{
    const tn_op *o = tn_find_op(tn_ctx_registry(r->ctx), op, NULL);
    if (!o)
        return rd_error(r, e, TNB_NOT_FOUND, "no scalar intrinsic '%s'", op);
    rd_at(r, e);
    return rd_node(
        tn_scalar_call(r->ctx, d, tn_op_ref_of(r->ctx, o), (tn_list){args.at, args.n}, NULL));
}

/* T.call_intrin("float32", "tirx.exp", x), T.call_extern("int32", "f", x) */
static value
typed_call(reader *r, const ast *e, const char *name)
{
    call_args a = rd_args(e, tn_strf(r->ctx, "T.%s", name));
    value t, f;
    const ast *t_at = e, *f_at = e;
    tnb_dtype d;
    node_vec args = {0};
    if (!rd_need(r, &a, "dtype", &t, &t_at) || !rd_dtype(r, t_at, t, &d) ||
        !rd_need(r, &a, "func_name", &f, &f_at) || f.kind == V_ERROR)
        return rd_failed();
    bool intrinsic = !strcmp(name, "call_intrin");
    if (rd_is_node(f, TN_KIND_GLOBAL_VAR)) {
        if (!rd_scalars(r, &a, &args) || !rd_args_end(r, &a))
            return rd_failed();
        rd_at(r, e);
        return rd_node(tn_scalar_call(r->ctx, d, f.node, (tn_list){args.at, args.n}, NULL));
    }
    const char *s = rd_text(r, f_at, f);
    if (!s)
        return rd_failed();
    if (!intrinsic)
        TNB_PUSH(r->arena, args, tn_string(r->ctx, s));
    if (!rd_scalars(r, &a, &args) || !rd_args_end(r, &a))
        return rd_failed();
    const char *op = !intrinsic                ? tn_strf(r->ctx, "tirx.%s", name)
                     : !strncmp(s, "tir.", 4)  ? tn_strf(r->ctx, "tirx.%s", s + 4)
                     : !strncmp(s, "tirx.", 5) ? s
                     : strchr(s, '.')          ? s
                                               : tn_strf(r->ctx, "tirx.%s", s);
    return named_call(r, e, op, d, args);
}

static value
call_packed(reader *r, const ast *e, const char *name)
{
    call_args a = rd_args(e, tn_strf(r->ctx, "T.%s", name));
    node_vec args = {0};
    if (!rd_scalars(r, &a, &args) || !rd_args_end(r, &a))
        return rd_failed();
    return named_call(r, e,
                      !strcmp(name, "call_packed") ? "tirx.tvm_call_packed"
                                                   : "tirx.tvm_call_cpacked",
                      TNB_I32, args);
}

/* T.type_annotation("float16"): a call without arguments whose dtype is the point. */
static value
type_annotation(reader *r, const ast *e, const char *name)
{
    call_args a = rd_args(e, tn_strf(r->ctx, "T.%s", name));
    value t;
    const ast *where = e;
    tnb_dtype d;
    if (!rd_need(r, &a, "dtype", &t, &where) || !rd_dtype(r, where, t, &d) || !rd_args_end(r, &a))
        return rd_failed();
    return named_call(r, e, "tirx.type_annotation", d, (node_vec){0});
}

/* T.tvm_struct_get(handle, index, field, dtype) */
static value
struct_get(reader *r, const ast *e, const char *name)
{
    call_args a = rd_args(e, tn_strf(r->ctx, "T.%s", name));
    node_vec args = {0};
    value t;
    const ast *where = e;
    tnb_dtype d;
    for (int i = 0; i < 3; i++) {
        static const char *const keys[] = {"arr", "index", "field"};
        const tn_expr *x;
        if (!one_scalar(r, &a, keys[i], &x))
            return rd_failed();
        TNB_PUSH(r->arena, args, x);
    }
    if (!rd_need(r, &a, "dtype", &t, &where) || !rd_dtype(r, where, t, &d) || !rd_args_end(r, &a))
        return rd_failed();
    return named_call(r, e, "tirx.tvm_struct_get", d, args);
}

static value
intrinsic(reader *r, const ast *e, const char *name)
{
    static const struct {
        const char *alias, *name;
    } aliases[] = {{"power", "pow"}, {"abs", "fabs"}};
    const char *full = name;
    if (!strncmp(name, "metal.", 6)) /* the table has no dialect below tirx */
        full = name = name + 6;
    tn_registry *reg = tn_ctx_registry(r->ctx);
    const tn_op *op = tn_find_op(reg, tn_strf(r->ctx, "tirx.%s", name), NULL);
    for (size_t i = 0; !op && i < sizeof aliases / sizeof *aliases; i++)
        if (!strcmp(aliases[i].alias, name)) {
            full = aliases[i].name;
            op = tn_find_op(reg, tn_strf(r->ctx, "tirx.%s", full), NULL);
        }
    if (!op) {
        rd_error(r, e, TNB_NOT_FOUND, "'T.%s' is not known", name);
        const char *op_name = tn_strf(r->ctx, "tirx.%s", name);
        if (rd_many_errors(r) || tn_note_unusable(r->ctx, "op", op_name))
            return rd_failed();
        const char *near = tn_nearest_name(reg, "op", op_name);
        if (near && !strncmp(near, "tirx.", 5))
            rd_hint(r, "the nearest name is 'T.%s'", near + 5);
        return rd_failed();
    }
    call_args a = rd_args(e, tn_strf(r->ctx, "T.%s", name));
    node_vec args = {0};
    value t;
    const ast *where = e;
    tnb_dtype d = TNB_VOID;
    bool typed = rd_keyword(r, &a, "dtype", &t, &where);
    if ((typed && !rd_dtype(r, where, t, &d)) || !rd_scalars(r, &a, &args) || !rd_args_end(r, &a))
        return rd_failed();
    rd_at(r, e);
    if (!typed && !op->infer) {
        /* the dtype of the result leads the arguments, or is that of the value shuffled */
        const tn_string_imm *first = args.n ? tn_as_string_imm(args.at[0]) : NULL;
        if (first && tnb_dtype_parse(first->value, strlen(first->value), &d))
            typed = true;
        else if (!strncmp(full, "tvm_warp_shuffle", 16) && args.n > 1)
            typed = !tnb_dtype_is_void(d = tn_dtype_of(args.at[1]));
        else if (!strcmp(full, "tvm_warp_activemask"))
            typed = !tnb_dtype_is_void(d = TNB_DTYPE(TNB_UINT, 32));
        if (!typed) {
            rd_error(r, e, TNB_TYPE, "T.%s needs dtype=, the dtype of its result", name);
            return rd_failed();
        }
    }
    if (typed)
        return rd_node(
            tn_scalar_call(r->ctx, d, tn_op_ref_of(r->ctx, op), (tn_list){args.at, args.n}, NULL));
    return rd_node(tn_call_of(r->ctx, tn_op_ref_of(r->ctx, op), (tn_list){args.at, args.n}, NULL,
                              (tn_list){0}, NULL));
}

/* ---- index maps, reducers, targets, ranges ---- */
static bool
lambda_frame(reader *r, const ast *lambda, tnb_dtype d, node_vec *vars)
{
    rd_push(r);
    for (uint32_t i = 0; i < lambda->list.n; i++) {
        rd_at(r, lambda->list.at[i]);
        const tn_expr *v = tn_var_dtype(r->ctx, lambda->list.at[i]->text, d);
        rd_bind(r, lambda->list.at[i]->text, rd_node(v));
        TNB_PUSH(r->arena, *vars, v);
    }
    return true;
}

static const tn_node *
index_map(reader *r, const ast *lambda, tnb_dtype d, const tn_node *inverse)
{
    node_vec vars = {0}, result = {0}, separators = {0};
    if (!rd_enter(r, lambda))
        return NULL;
    lambda_frame(r, lambda, d, &vars);
    level outside = r->level;
    if (tnb_dtype_eq(d, TNB_I32))
        r->level = LEVEL_TENSOR; /* numbers in the lambda are int32, as its variables */
    value v = rd_eval(r, lambda->a);
    const value *items;
    uint32_t n;
    bool ok = rd_items(r, lambda->a, v, true, &items, &n);
    for (uint32_t i = 0; ok && i < n; i++) {
        if (items[i].kind == V_PATH && strstr(items[i].s, "AXIS_SEPARATOR")) {
            TNB_PUSH(r->arena, separators, tn_i64(r->ctx, result.n));
            continue;
        }
        const tn_expr *x = rd_scalar_of(r, lambda->a, items[i], d);
        ok = x != NULL;
        TNB_PUSH(r->arena, result, x);
    }
    r->level = outside;
    rd_pop(r);
    rd_leave(r);
    if (!ok)
        return NULL;
    tn_index_map m = {.vars = {vars.at, vars.n},
                      .result = {result.at, result.n},
                      .inverse = inverse,
                      .separators = {separators.at, separators.n}};
    rd_at(r, lambda);
    const tn_node *made = tn_rebuild(r->ctx, TN_KIND_INDEX_MAP, &m, NULL);
    return tn_is_error(made) ? NULL : made;
}

const tn_node *
rd_index_map(reader *r, const ast *e, value v)
{
    (void)e;
    return index_map(r, v.ast, TNB_I64, NULL);
}

static value
index_map_call(reader *r, const ast *e, const char *name)
{
    call_args a = rd_args(e, tn_strf(r->ctx, "T.%s", name));
    value f, inv = {.kind = V_NONE}, t;
    const ast *f_at = e, *inv_at = e, *t_at = e;
    tnb_dtype d = TNB_I64;
    if (!rd_need(r, &a, "mapping", &f, &f_at))
        return rd_failed();
    rd_keyword(r, &a, "inverse_index_map", &inv, &inv_at);
    if (rd_keyword(r, &a, "index_dtype", &t, &t_at) && !rd_dtype(r, t_at, t, &d))
        return rd_failed();
    if (!rd_args_end(r, &a))
        return rd_failed();
    if (f.kind != V_LAMBDA)
        return f.kind == V_ERROR
                   ? rd_failed()
                   : rd_error(r, f_at, TNB_TYPE, "expected a lambda, found %s", rd_what(r, f));
    const tn_node *inverse = NULL;
    if (inv.kind == V_LAMBDA)
        inverse = index_map(r, inv.ast, d, NULL);
    else if (rd_is_node(inv, TN_KIND_INDEX_MAP))
        inverse = inv.node;
    if (inv.kind != V_NONE && !inverse)
        return inv.kind == V_NODE
                   ? rd_error(r, inv_at, TNB_TYPE, "expected a lambda, found %s", rd_what(r, inv))
                   : rd_failed();
    const tn_node *m = index_map(r, f.ast, d, inverse);
    return m ? rd_node(m) : rd_failed();
}

/* T.comm_reducer(lambda x, y: x + y, [T.float32(0)]) */
static value
comm_reducer(reader *r, const ast *e, const char *name)
{
    call_args a = rd_args(e, tn_strf(r->ctx, "T.%s", name));
    value f, id;
    const ast *f_at = e, *id_at = e;
    node_vec identity = {0}, vars = {0}, result = {0};
    if (!rd_need(r, &a, "combiner", &f, &f_at) || !rd_need(r, &a, "identity", &id, &id_at) ||
        !rd_args_end(r, &a) || !scalar_items(r, id_at, id, &identity))
        return rd_failed();
    if (f.kind != V_LAMBDA || f.ast->list.n != 2 * identity.n)
        return rd_error(r, f_at, TNB_TYPE, "expected a lambda of two parameters for each identity");
    rd_push(r);
    for (uint32_t i = 0; i < f.ast->list.n; i++) {
        const ast *p = f.ast->list.at[i];
        rd_at(r, p);
        const tn_expr *v = tn_var_dtype(r->ctx, p->text, tn_dtype_of(identity.at[i % identity.n]));
        rd_bind(r, p->text, rd_node(v));
        TNB_PUSH(r->arena, vars, v);
    }
    value v = rd_eval(r, f.ast->a);
    const value *items;
    uint32_t n;
    bool ok = rd_items(r, f.ast->a, v, true, &items, &n);
    for (uint32_t i = 0; ok && i < n; i++) {
        const tn_expr *x = i < identity.n
                               ? rd_scalar_of(r, f.ast->a, items[i], tn_dtype_of(identity.at[i]))
                               : rd_scalar(r, f.ast->a, items[i]);
        ok = x != NULL;
        TNB_PUSH(r->arena, result, x);
    }
    rd_pop(r);
    if (!ok)
        return rd_failed();
    tn_comm_reducer c = {.lhs = {vars.at, identity.n},
                         .rhs = {vars.at + identity.n, identity.n},
                         .result = {result.at, result.n},
                         .identity = {identity.at, identity.n}};
    rd_at(r, e);
    return rd_node(tn_rebuild(r->ctx, TN_KIND_COMM_REDUCER, &c, NULL));
}

/* A target from text ("llvm", "cuda -arch=sm_80", JSON) or a Dict with "kind". */
static const tn_node *
target_from_dict(reader *r, const ast *e, const tn_node *dict)
{
    const char *kind = tn_dict_str(dict, "kind", NULL);
    if (!kind) {
        rd_error(r, e, TNB_INVALID, "a target needs a \"kind\"");
        return NULL;
    }
    return tn_target_of(r->ctx, kind, tn_dict_set(r->ctx, dict, "kind", NULL));
}

static const tn_node *
target_from_text(reader *r, const ast *e, const char *s)
{
    if (*s == '{') {
        tnb_err err = {0};
        const tn_node *d = tn_value_from_json(r->ctx, s, strlen(s), &err);
        if (!d) {
            rd_error(r, e, err.status, "%s", err.message);
            return NULL;
        }
        return target_from_dict(r, e, d);
    }
    const char *p = strchr(s, ' ');
    const tn_node *attrs = NULL;
    const char *kind = p ? tn_strn(r->ctx, s, (size_t)(p - s)) : s;
    while (p && *p) {
        while (*p == ' ')
            p++;
        const char *end = strchr(p, ' '), *eq;
        size_t n = end ? (size_t)(end - p) : strlen(p);
        const char *word = tn_strn(r->ctx, p, n);
        while (*word == '-')
            word++;
        eq = strchr(word, '=');
        if (*word) {
            const char *key = eq ? tn_strn(r->ctx, word, (size_t)(eq - word)) : word;
            int64_t i;
            const tn_node *v = !eq ? tn_bool(r->ctx, true)
                               : tnb_read_i64(eq + 1, strlen(eq + 1), &i)
                                   ? tn_i64(r->ctx, i)
                                   : tn_string(r->ctx, eq + 1);
            attrs = attrs ? tn_dict_set(r->ctx, attrs, key, v) : tn_dict_of(r->ctx, &key, &v, 1);
        }
        p = end;
    }
    return tn_target_of(r->ctx, kind, attrs);
}

static const tn_node *
target_value(reader *r, const ast *e, value v)
{
    if (rd_is_node(v, TN_KIND_TARGET))
        return v.node;
    if (v.kind == V_DICT) {
        const tn_node *d = rd_dict(r, e, v);
        return d ? target_from_dict(r, e, d) : NULL;
    }
    const char *s = rd_text(r, e, v);
    return s ? target_from_text(r, e, s) : NULL;
}

static value
target(reader *r, const ast *e, const char *name)
{
    call_args a = rd_args(e, tn_strf(r->ctx, "T.%s", name));
    value v, h;
    const ast *where = e, *h_at = e;
    if (!rd_need(r, &a, "target", &v, &where))
        return rd_failed();
    const tn_node *t = target_value(r, where, v);
    if (t && rd_arg(r, &a, "host", &h, &h_at) && h.kind != V_NONE) {
        const tn_node *host = target_value(r, h_at, h);
        const tn_target *old = tn_as_target(t);
        const char *key = "host";
        t = host ? tn_target_of(r->ctx, old->kind,
                                old->attrs ? tn_dict_set(r->ctx, old->attrs, key, host)
                                           : tn_dict_of(r->ctx, &key, &host, 1))
                 : NULL;
    }
    return t && rd_args_end(r, &a) ? rd_node(t) : rd_failed();
}

static value
range(reader *r, const ast *e, const char *name)
{
    call_args a = rd_args(e, tn_strf(r->ctx, "I.%s", name));
    value x, y;
    const ast *x_at = e, *y_at = e;
    if (!rd_need(r, &a, "begin", &x, &x_at))
        return rd_failed();
    bool two = rd_arg(r, &a, "end", &y, &y_at);
    if (!rd_args_end(r, &a) || x.kind == V_ERROR)
        return rd_failed();
    if (strcmp(name, "Range.from_min_extent") != 0) {
        const tn_node *g = rd_range(r, e, two ? x : (value){.kind = V_INT}, two ? y : x);
        return g ? rd_node(g) : rd_failed();
    }
    if (!two)
        return rd_error(r, e, TNB_INVALID, "I.Range.from_min_extent takes a minimum and an extent");
    const tn_expr *min = rd_scalar(r, x_at, x), *extent = min ? rd_scalar(r, y_at, y) : NULL;
    if (!extent)
        return rd_failed();
    rd_at(r, e);
    return rd_node(tn_range_of(r->ctx, min, extent));
}

static value
meta_var(reader *r, const ast *e, const char *name)
{
    call_args a = rd_args(e, name);
    value *v = TNB_NEW(r->arena, value);
    if (!rd_need(r, &a, "value", v, NULL) || !rd_args_end(r, &a) || v->kind == V_ERROR)
        return rd_failed();
    if (v->kind == V_META)
        return *v;
    return (value){.kind = V_META, .items = v, .n = 1};
}

/* T.iter_var(v, T.Range(0, 16), "ThreadIndex", "threadIdx.x") */
static value
iter_var(reader *r, const ast *e, const char *name)
{
    static const struct {
        const char *name;
        tn_iter_kind kind;
    } kinds[] = {{"DataPar", TN_ITER_SPATIAL},
                 {"CommReduce", TN_ITER_REDUCE},
                 {"Ordered", TN_ITER_SCAN},
                 {"Opaque", TN_ITER_OPAQUE},
                 {"ThreadIndex", TN_ITER_THREAD}};
    call_args a = rd_args(e, tn_strf(r->ctx, "T.%s", name));
    value var, dom, kind, tag;
    const ast *var_at = e, *dom_at = e, *kind_at = e, *tag_at = e;
    if (!rd_need(r, &a, "var", &var, &var_at) || !rd_need(r, &a, "dom", &dom, &dom_at) ||
        !rd_need(r, &a, "iter_type", &kind, &kind_at) ||
        !rd_need(r, &a, "thread_tag", &tag, &tag_at) || !rd_args_end(r, &a))
        return rd_failed();
    const char *k = rd_text(r, kind_at, kind), *t = k ? rd_text(r, tag_at, tag) : NULL;
    const tn_expr *v = t ? rd_scalar(r, var_at, var) : NULL;
    if (!v)
        return rd_failed();
    if (dom.kind != V_NONE && !rd_is_node(dom, TN_KIND_RANGE))
        return dom.kind == V_ERROR
                   ? rd_failed()
                   : rd_error(r, dom_at, TNB_TYPE, "expected I.Range, found %s", rd_what(r, dom));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(kinds[i].name, k)) {
            rd_at(r, e);
            return rd_node(
                tn_iter_var_of(r->ctx, dom.kind == V_NONE ? NULL : dom.node, v, kinds[i].kind, t));
        }
    return rd_error(r, kind_at, TNB_NOT_FOUND, "'%s' is not a kind of iteration variable", k);
}

static value
env_thread(reader *r, const ast *e, const char *name)
{
    call_args a = rd_args(e, tn_strf(r->ctx, "T.%s", name));
    value tag, t;
    const ast *where = e, *t_at = e;
    tnb_dtype d = TNB_I32;
    const char *s = rd_need(r, &a, "thread_tag", &tag, &where) ? rd_text(r, where, tag) : NULL;
    if (!s || (rd_arg(r, &a, "dtype", &t, &t_at) && !rd_dtype(r, t_at, t, &d)) ||
        !rd_args_end(r, &a))
        return rd_failed();
    rd_at(r, e);
    return rd_node(tn_iter_var_of(r->ctx, NULL, tn_var_dtype(r->ctx, r->hint ? r->hint : "v", d),
                                  TN_ITER_THREAD, s));
}

static value
buffer_call(reader *r, const ast *e, const char *name)
{
    return rd_buffer_call(r, e, tn_strf(r->ctx, "T.%s", name), r->hint ? r->hint : "buffer");
}

static value
scalar_cell(reader *r, const ast *e, const char *name)
{
    call_args a = rd_args(e, tn_strf(r->ctx, "T.%s", name));
    value t, s;
    const ast *t_at = e, *s_at = e;
    tnb_dtype d = TNB_F32;
    const char *scope =
        !strcmp(name, "local_scalar") || !strcmp(name, "local_cell") ? "local" : "global";
    if ((rd_arg(r, &a, "dtype", &t, &t_at) && !rd_dtype(r, t_at, t, &d)) ||
        (rd_arg(r, &a, "scope", &s, &s_at) && !(scope = rd_text(r, s_at, s))) ||
        !rd_args_end(r, &a))
        return rd_failed();
    rd_at(r, e);
    const tn_node *one = tn_i32(r->ctx, 1);
    const tn_node *b =
        tn_buffer_new(r->ctx, r->hint ? r->hint : "scalar", (tn_list){&one, 1}, d, scope);
    if (tn_is_error(b))
        return rd_failed();
    rd_push_stmt(r, tn_alloc_buffer_of(r->ctx, b, NULL));
    return (value){.kind = V_SCALAR, .node = b};
}

/* T.float16(A[i:j]) style regions as values have no meaning; T.region is a call in old text. */
static value
buffer_load(reader *r, const ast *e, const char *name)
{
    call_args a = rd_args(e, tn_strf(r->ctx, "T.%s", name));
    value b, i;
    const ast *b_at = e, *i_at = e;
    node_vec at = {0};
    if (!rd_need(r, &a, "buffer", &b, &b_at) || !rd_need(r, &a, "indices", &i, &i_at) ||
        !rd_args_end(r, &a))
        return rd_failed();
    if (!rd_is_node(b, TN_KIND_BUFFER))
        return b.kind == V_ERROR
                   ? rd_failed()
                   : rd_error(r, b_at, TNB_TYPE, "expected a buffer, found %s", rd_what(r, b));
    if (!rd_buffer_indices(r, i_at, b.node, i, true, &at))
        return rd_failed();
    rd_at(r, e);
    return rd_node(tn_buffer_load_of(r->ctx, b.node, (tn_list){at.at, at.n}));
}

static value
any_all(reader *r, const ast *e, const char *name)
{
    call_args a = rd_args(e, tn_strf(r->ctx, "T.%s", name));
    node_vec args = {0};
    if (!rd_scalars(r, &a, &args) || !rd_args_end(r, &a))
        return rd_failed();
    if (!args.n)
        return rd_error(r, e, TNB_INVALID, "T.%s needs an argument", name);
    const tn_expr *x = args.at[0];
    rd_at(r, e);
    for (uint32_t i = 1; i < args.n; i++)
        x = tn_bin(r->ctx, !strcmp(name, "all") ? TN_KIND_AND : TN_KIND_OR, x, args.at[i]);
    return rd_node(x);
}

/* Sorted by name. */
static const struct {
    const char *name;
    read_fn read;
} functions[] = {
    {"Add", binary},
    {"And", binary},
    {"Broadcast", vector},
    {"Buffer", buffer_call},
    {"BufferLoad", buffer_load},
    {"Cast", cast},
    {"Div", binary},
    {"EQ", binary},
    {"FloatImm", immediate},
    {"FloorDiv", binary},
    {"FloorMod", binary},
    {"GE", binary},
    {"GT", binary},
    {"IntImm", immediate},
    {"LE", binary},
    {"LT", binary},
    {"Let", let},
    {"Max", binary},
    {"Min", binary},
    {"Mod", binary},
    {"Mul", binary},
    {"NE", binary},
    {"Not", logical_not},
    {"Or", binary},
    {"Ramp", vector},
    {"Range", range},
    {"Select", choose},
    {"Shuffle", shuffle},
    {"StringImm", string_immediate},
    {"Sub", binary},
    {"all", any_all},
    {"alloc_buffer", buffer_call},
    {"alloc_cell", scalar_cell},
    {"alloc_local", buffer_call},
    {"alloc_scalar", scalar_cell},
    {"alloc_shared", buffer_call},
    {"any", any_all},
    {"bitwise_and", folding_pair},
    {"bitwise_not", logical_not},
    {"bitwise_or", folding_pair},
    {"bitwise_xor", folding_pair},
    {"block_alloc_buffer", buffer_call},
    {"broadcast", vector},
    {"buffer", buffer_call},
    {"buffer_decl", buffer_call},
    {"call_cpacked", call_packed},
    {"call_extern", typed_call},
    {"call_intrin", typed_call},
    {"call_llvm_intrin", typed_call},
    {"call_llvm_pure_intrin", typed_call},
    {"call_packed", call_packed},
    {"call_pure_extern", typed_call},
    {"cast", cast},
    {"ceildiv", folding_pair},
    {"comm_reducer", comm_reducer},
    {"decl_buffer", buffer_call},
    {"div", binary},
    {"env_thread", env_thread},
    {"floordiv", binary},
    {"floormod", binary},
    {"handle", declared},
    {"if_then_else", choose},
    {"index_map", index_map_call},
    {"indexdiv", binary},
    {"indexmod", binary},
    {"infinity", limit},
    {"iter_var", iter_var},
    {"local_cell", scalar_cell},
    {"local_scalar", scalar_cell},
    {"match_buffer", buffer_call},
    {"max", binary},
    {"max_value", limit},
    {"meta_var", meta_var},
    {"min", binary},
    {"min_value", limit},
    {"ramp", vector},
    {"reinterpret", cast},
    {"sblock_alloc_buffer", buffer_call},
    {"shift_left", folding_pair},
    {"shift_right", folding_pair},
    {"target", target},
    {"truncdiv", binary},
    {"truncmod", binary},
    {"tvm_struct_get", struct_get},
    {"type_annotation", type_annotation},
    {"var", declared},
};

static int
by_name(const void *key, const void *entry)
{
    return strcmp(key, *(const char *const *)entry);
}

value
rd_tensor_call(reader *r, const ast *e, const char *name)
{
    const void *hit =
        bsearch(name, functions, sizeof functions / sizeof *functions, sizeof *functions, by_name);
    if (hit)
        return functions[((const char *)hit - (const char *)functions) / sizeof *functions].read(
            r, e, name);
    tnb_dtype d;
    if (tnb_dtype_parse(name, strlen(name), &d) && !tnb_dtype_is_void(d))
        return dtype_call(r, e, name, d);
    if (!strcmp(name, "boolean"))
        return dtype_call(r, e, name, TNB_B8);
    if (!strncmp(name, "axis.", 5))
        return rd_axis(r, e, name + 5);
    if (!strcmp(name, "Range.from_min_extent"))
        return range(r, e, name);
    return intrinsic(r, e, name);
}

value
rd_module_call(reader *r, const ast *e, const char *name)
{
    if (!strcmp(name, "Range") || !strcmp(name, "Range.from_min_extent"))
        return range(r, e, name);
    if (!strcmp(name, "meta_var"))
        return meta_var(r, e, name);
    if (!strcmp(name, "vdevice")) {
        call_args a = rd_args(e, "I.vdevice");
        value v, i, s;
        const ast *v_at = e, *i_at = e, *s_at = e;
        int64_t id = 0;
        const char *scope = "global";
        if (!rd_arg(r, &a, "target", &v, &v_at))
            v = rd_str("llvm");
        if ((rd_arg(r, &a, "vdevice_id", &i, &i_at) && !rd_int(r, i_at, i, &id)) ||
            (rd_arg(r, &a, "memory_scope", &s, &s_at) && !(scope = rd_text(r, s_at, s))) ||
            !rd_args_end(r, &a))
            return rd_failed();
        const tn_node *t = target_value(r, v_at, v);
        if (!t)
            return rd_failed();
        rd_at(r, e);
        return rd_node(tn_vdevice_of(r->ctx, t, id, scope));
    }
    if (!strcmp(name, "dummy_global_info")) {
        tn_global_info g = {.kind = tn_str(r->ctx, "dummy")};
        rd_at(r, e);
        return rd_node(tn_rebuild(r->ctx, TN_KIND_GLOBAL_INFO, &g, NULL));
    }
    if (!strcmp(name, "global_info")) {
        call_args a = rd_args(e, "I.global_info");
        value k, v;
        const ast *k_at = e, *v_at = e;
        const char *kind = rd_need(r, &a, "kind", &k, &k_at) ? rd_text(r, k_at, k) : NULL;
        const tn_node *x = NULL;
        if (!kind || (rd_arg(r, &a, "value", &v, &v_at) && !(x = rd_attr(r, v_at, v))) ||
            !rd_args_end(r, &a))
            return rd_failed();
        tn_global_info g = {.kind = kind, .value = x};
        rd_at(r, e);
        return rd_node(tn_rebuild(r->ctx, TN_KIND_GLOBAL_INFO, &g, NULL));
    }
    return rd_error(r, e, TNB_NOT_FOUND, "'I.%s' is not known", name);
}
