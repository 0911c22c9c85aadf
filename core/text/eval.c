/* SPDX-License-Identifier: Apache-2.0 */
/* The reader's evaluator: literals, names, attributes, subscripts, operators. Operators fold while
 * reading exactly as the constructors they call do; operators on tensors become operator calls.
 */
#include <math.h>

#include "reader.h"
#include "tenon/base/scalar.h"

static bool
is_number(value v)
{
    return v.kind == V_INT || v.kind == V_FLOAT || v.kind == V_BOOL;
}

/* An expression of the graph level (anything that is not a scalar). */
static bool
is_graph_value(value v)
{
    return v.kind == V_NODE && v.node->kind >= TN_KIND_FIRST_EXPR &&
           v.node->kind <= TN_KIND_LAST_EXPR && !tn_is_scalar(v.node);
}

/* ---- Python's numbers ---- */
static value
int_value(reader *r, const ast *e, int64_t i, bool ok)
{
    if (!ok)
        return rd_error(r, e, TNB_BOUNDS, "the result does not fit 64 bits");
    return (value){.kind = V_INT, .i = i};
}

static value
python_int(reader *r, const ast *e, int op, int64_t a, int64_t b)
{
    int64_t v = 0;
    if ((op == TOK_FLOOR || op == TOK_PERCENT || op == TOK_SLASH) && b == 0)
        return rd_error(r, e, TNB_INVALID, "division by zero");
    if ((op == TOK_FLOOR || op == TOK_PERCENT) && b == -1)
        return op == TOK_FLOOR ? python_int(r, e, TOK_MINUS, 0, a) : (value){.kind = V_INT};
    switch (op) {
    case TOK_PLUS: {
        bool ok = tnb_add_i64(a, b, &v);
        return int_value(r, e, v, ok);
    }
    case TOK_MINUS: {
        bool ok = tnb_sub_i64(a, b, &v);
        return int_value(r, e, v, ok);
    }
    case TOK_STAR: {
        bool ok = tnb_mul_i64(a, b, &v);
        return int_value(r, e, v, ok);
    }
    case TOK_SLASH:
        return (value){.kind = V_FLOAT, .f = (double)a / (double)b};
    case TOK_FLOOR:
        return int_value(r, e, tnb_floor_div_i64(a, b), true);
    case TOK_PERCENT:
        return int_value(r, e, tnb_floor_mod_i64(a, b), true);
    case TOK_AMP:
        return int_value(r, e, a & b, true);
    case TOK_BAR:
        return int_value(r, e, a | b, true);
    case TOK_CARET:
        return int_value(r, e, a ^ b, true);
    case TOK_SHL:
        if (b < 0 || b > 62 || a > INT64_MAX >> b || a < INT64_MIN >> b)
            return int_value(r, e, 0, false);
        return int_value(r, e, (int64_t)((uint64_t)a << b), true);
    case TOK_SHR:
        return int_value(r, e, b < 0 ? 0 : a >> (b > 63 ? 63 : b), b >= 0);
    case TOK_POWER: {
        if (b < 0)
            return (value){.kind = V_FLOAT, .f = pow((double)a, (double)b)};
        bool ok = true;
        v = 1;
        int64_t base = a;
        for (int64_t k = b; k > 0 && ok; k >>= 1) {
            if (k & 1)
                ok = tnb_mul_i64(v, base, &v);
            if (k > 1 && ok)
                ok = tnb_mul_i64(base, base, &base);
        }
        return int_value(r, e, v, ok);
    }
    default:
        return rd_error(r, e, TNB_INVALID, "this operator does not work on numbers");
    }
}

static value
python_float(reader *r, const ast *e, int op, double a, double b)
{
    value v = {.kind = V_FLOAT};
    switch (op) {
    case TOK_PLUS:
        v.f = a + b;
        return v;
    case TOK_MINUS:
        v.f = a - b;
        return v;
    case TOK_STAR:
        v.f = a * b;
        return v;
    case TOK_SLASH:
    case TOK_FLOOR:
    case TOK_PERCENT:
        if (b == 0)
            return rd_error(r, e, TNB_INVALID, "division by zero");
        v.f = op == TOK_SLASH ? a / b : op == TOK_FLOOR ? floor(a / b) : a - floor(a / b) * b;
        return v;
    case TOK_POWER:
        v.f = pow(a, b);
        return v;
    default:
        return rd_error(r, e, TNB_INVALID, "this operator does not work on floats");
    }
}

static double
as_double(value v)
{
    return v.kind == V_FLOAT ? v.f : v.big ? (double)(uint64_t)v.i : (double)v.i;
}

static value
python_compare(int op, value a, value b)
{
    double x = as_double(a), y = as_double(b);
    bool floats = a.kind == V_FLOAT || b.kind == V_FLOAT || a.big || b.big, v = false;
    switch (op) {
    case TOK_LT:
        v = floats ? x < y : a.i < b.i;
        break;
    case TOK_LE:
        v = floats ? x <= y : a.i <= b.i;
        break;
    case TOK_GT:
        v = floats ? x > y : a.i > b.i;
        break;
    case TOK_GE:
        v = floats ? x >= y : a.i >= b.i;
        break;
    case TOK_EQ:
        v = floats ? x == y : a.i == b.i;
        break;
    default:
        v = floats ? x != y : a.i != b.i;
    }
    return (value){.kind = V_BOOL, .i = v};
}

/* ---- operators ---- */
static const struct {
    uint8_t op;
    int kind; /* of the scalar node; -1: an intrinsic */
    const char *graph;
} operators[] = {
    {TOK_PLUS, TN_KIND_ADD, "relax.add"},
    {TOK_MINUS, TN_KIND_SUB, "relax.subtract"},
    {TOK_STAR, TN_KIND_MUL, "relax.multiply"},
    {TOK_SLASH, TN_KIND_DIV, "relax.divide"},
    {TOK_FLOOR, TN_KIND_FLOOR_DIV, "relax.floor_divide"},
    {TOK_PERCENT, TN_KIND_FLOOR_MOD, "relax.mod"},
    {TOK_POWER, -1, "relax.power"},
    {TOK_AMP, -1, "relax.bitwise_and"},
    {TOK_BAR, -1, "relax.bitwise_or"},
    {TOK_CARET, -1, "relax.bitwise_xor"},
    {TOK_SHL, -1, "relax.left_shift"},
    {TOK_SHR, -1, "relax.right_shift"},
    {TOK_LT, TN_KIND_LT, "relax.less"},
    {TOK_LE, TN_KIND_LE, "relax.less_equal"},
    {TOK_GT, TN_KIND_GT, "relax.greater"},
    {TOK_GE, TN_KIND_GE, "relax.greater_equal"},
    {TOK_EQ, TN_KIND_EQ, "relax.equal"},
    {TOK_NE, TN_KIND_NE, "relax.not_equal"},
};

static value
graph_operator(reader *r, const ast *e, const char *op, value a, value b)
{
    if (is_number(a) || is_number(b))
        return rd_error(r, e, TNB_TYPE, "a tensor and a plain number: write R.const(%g, dtype)",
                        as_double(is_number(a) ? a : b));
    const tn_expr *x = rd_leaf(r, e, a), *y = rd_leaf(r, e, b);
    if (!x || !y)
        return rd_failed();
    rd_at(r, e);
    return rd_graph_op(r, e, op, x, y);
}

static value
scalar_intrinsic(reader *r, const ast *e, int op, const tn_expr *a, const tn_expr *b)
{
    rd_at(r, e);
    switch (op) {
    case TOK_AMP:
        return rd_node(tn_bitwise_and(r->ctx, a, b));
    case TOK_BAR:
        return rd_node(tn_bitwise_or(r->ctx, a, b));
    case TOK_CARET:
        return rd_node(tn_bitwise_xor(r->ctx, a, b));
    case TOK_SHL:
        return rd_node(tn_shift_left(r->ctx, a, b));
    case TOK_SHR:
        return rd_node(tn_shift_right(r->ctx, a, b));
    default: {
        if (!tn_match_dtypes(r->ctx, &a, &b))
            return rd_failed();
        const tn_node *both[] = {a, b};
        return rd_node(tn_intrin(r->ctx, TN_INTRIN_pow, (tn_list){both, 2}));
    }
    }
}

value
rd_binary(reader *r, const ast *e, int op, value a, value b)
{
    if (a.kind == V_META)
        a = a.items[0];
    if (b.kind == V_META)
        b = b.items[0];
    if (a.kind == V_ERROR || b.kind == V_ERROR)
        return rd_failed();
    bool compare = op >= TOK_LT && op <= TOK_NE;
    if (is_number(a) && is_number(b)) {
        if (compare)
            return python_compare(op, a, b);
        if (a.kind == V_FLOAT || b.kind == V_FLOAT || a.big || b.big)
            return a.big || b.big
                       ? rd_error(r, e, TNB_BOUNDS, "arithmetic on integers above 63 bits")
                       : python_float(r, e, op, as_double(a), as_double(b));
        return python_int(r, e, op, a.i, b.i);
    }
    if (a.kind == V_STR && b.kind == V_STR && (op == TOK_EQ || op == TOK_NE))
        return (value){.kind = V_BOOL, .i = !strcmp(a.s, b.s) == (op == TOK_EQ)};
    if (op == TOK_PLUS && a.kind == b.kind && (a.kind == V_TUPLE || a.kind == V_LIST)) {
        value_vec v = {0};
        for (uint32_t i = 0; i < a.n; i++)
            TNB_PUSH(r->arena, v, a.items[i]);
        for (uint32_t i = 0; i < b.n; i++)
            TNB_PUSH(r->arena, v, b.items[i]);
        return (value){.kind = a.kind, .n = v.n, .items = v.at};
    }
    size_t k = 0;
    while (operators[k].op != op)
        k++;
    if (is_graph_value(a) || is_graph_value(b))
        return graph_operator(r, e, operators[k].graph, a, b);
    const tn_expr *x = rd_scalar(r, e, a), *y = rd_scalar(r, e, b);
    if (!x || !y)
        return rd_failed();
    rd_at(r, e);
    if (operators[k].kind < 0)
        return scalar_intrinsic(r, e, op, x, y);
    tnb_dtype dx = tn_dtype_of(x), dy = tn_dtype_of(y);
    if (op == TOK_SLASH && !tnb_dtype_is_float(dx) && !tnb_dtype_is_float(dy)) {
        rd_error(r, e, TNB_TYPE, "'/' on two integers is ambiguous");
        rd_hint(r, "write '//' or T.floordiv for the floor, T.truncdiv to round toward zero");
        return rd_failed();
    }
    return rd_node(tn_bin(r->ctx, (tn_kind)operators[k].kind, x, y));
}

static value
eval_unary(reader *r, const ast *e)
{
    value v = rd_eval(r, e->a);
    if (v.kind == V_META)
        v = v.items[0];
    if (v.kind == V_ERROR)
        return v;
    if (e->op == TOK_MINUS && is_number(v)) {
        if (v.kind == V_FLOAT)
            return (value){.kind = V_FLOAT, .f = -v.f};
        if (v.big && (uint64_t)v.i == (uint64_t)1 << 63)
            return (value){.kind = V_INT, .i = INT64_MIN};
        if (v.big || v.i == INT64_MIN)
            return rd_error(r, e, TNB_BOUNDS, "the integer does not fit 64 bits");
        return (value){.kind = V_INT, .i = -v.i};
    }
    if (e->op == TOK_PLUS && is_number(v))
        return v;
    if (e->op == TOK_NOT && is_number(v))
        return (value){.kind = V_BOOL, .i = v.kind == V_FLOAT ? v.f == 0 : v.i == 0};
    if (e->op == TOK_TILDE && (v.kind == V_INT || v.kind == V_BOOL) && !v.big)
        return (value){.kind = V_INT, .i = ~v.i};
    if (is_graph_value(v)) {
        const tn_expr *x = rd_leaf(r, e->a, v);
        rd_at(r, e);
        if (!x || e->op == TOK_PLUS)
            return x ? rd_node(x) : rd_failed();
        return rd_graph_op(r, e,
                           e->op == TOK_MINUS ? "relax.negative"
                           : e->op == TOK_NOT ? "relax.logical_not"
                                              : "relax.bitwise_not",
                           x, NULL);
    }
    const tn_expr *x = rd_scalar(r, e->a, v);
    if (!x)
        return rd_failed();
    rd_at(r, e);
    switch (e->op) {
    case TOK_MINUS:
        return rd_node(tn_neg(r->ctx, x));
    case TOK_NOT:
        return rd_node(tn_raw_not(r->ctx, x));
    case TOK_TILDE:
        return rd_node(tn_bitwise_not(r->ctx, x));
    default:
        return rd_node(x);
    }
}

static value
eval_logic(reader *r, const ast *e)
{
    value a = rd_eval(r, e->a);
    if (a.kind == V_ERROR)
        return a;
    value b = rd_eval(r, e->b);
    if (b.kind == V_ERROR)
        return b;
    if (is_number(a) && is_number(b)) {
        bool x = as_double(a) != 0;
        return e->op == TOK_AND ? (x ? b : a) : (x ? a : b);
    }
    if (is_graph_value(a) || is_graph_value(b))
        return graph_operator(r, e, e->op == TOK_AND ? "relax.logical_and" : "relax.logical_or", a,
                              b);
    const tn_expr *x = rd_scalar(r, e->a, a), *y = rd_scalar(r, e->b, b);
    if (!x || !y)
        return rd_failed();
    rd_at(r, e);
    return rd_node(tn_bin(r->ctx, e->op == TOK_AND ? TN_KIND_AND : TN_KIND_OR, x, y));
}

static value
eval_if(reader *r, const ast *e)
{
    value c = rd_eval(r, e->b);
    if (c.kind == V_ERROR)
        return c;
    if (is_number(c))
        return rd_eval(r, as_double(c) != 0 ? e->a : e->c);
    const tn_expr *cond = rd_scalar(r, e->b, c);
    const tn_expr *x = cond ? rd_scalar(r, e->a, rd_eval(r, e->a)) : NULL;
    const tn_expr *y = x ? rd_scalar(r, e->c, rd_eval(r, e->c)) : NULL;
    if (!y)
        return rd_failed();
    rd_at(r, e);
    return rd_node(tn_if_then_else(r->ctx, cond, x, y));
}

/* ---- subscripts ---- */
const tn_node *
rd_range(reader *r, const ast *e, value begin, value end)
{
    const tn_expr *b = rd_scalar(r, e, end), *a;
    if (!b)
        return NULL;
    tnb_dtype d = tn_dtype_of(b);
    a = begin.kind == V_NONE ? tn_int_imm_of(r->ctx, d, 0) : rd_scalar(r, e, begin);
    if (!a)
        return NULL;
    rd_at(r, e);
    if (!tn_match_dtypes(r->ctx, &a, &b))
        return NULL;
    const tn_expr *extent = tn_sub(r->ctx, b, a);
    if (tn_is_error(extent))
        return NULL;
    if (!tn_is_int_const(a, 0) && !tn_is(extent, TN_KIND_INT_IMM))
        extent = tn_simplify_now(r->ctx, extent);
    const tn_node *range = tn_range_of(r->ctx, a, extent);
    return tn_is_error(range) ? NULL : range;
}

/* start:stop:step as the index of a vector access. */
static const tn_expr *
slice_ramp(reader *r, const ast *e, value s)
{
    const tn_node *range = rd_range(r, e, s.items[0], s.items[1]);
    if (!range)
        return NULL;
    const tn_range *g = tn_as_range(range);
    int64_t step = 1, extent;
    if (s.items[2].kind != V_NONE && !rd_int(r, e, s.items[2], &step))
        return NULL;
    if (!tn_int_value(g->extent, &extent) || step <= 0) {
        rd_error(r, e, TNB_INVALID,
                 "a vector access needs a constant number of elements and a positive step");
        return NULL;
    }
    int64_t lanes = (extent + step - 1) / step;
    if (lanes == 1)
        return g->min;
    const tn_expr *ramp =
        tn_ramp_of(r->ctx, g->min, tn_int_imm_of(r->ctx, tn_dtype_of(g->min), step), lanes);
    return tn_is_error(ramp) ? NULL : ramp;
}

bool
rd_buffer_indices(reader *r, const ast *e, const tn_node *buffer, value index, bool vector,
                  node_vec *out)
{
    const value *items;
    uint32_t n;
    (void)buffer;
    if (!rd_items(r, e, index, true, &items, &n))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        const tn_expr *x = items[i].kind == V_SLICE && vector ? slice_ramp(r, e, items[i])
                                                              : rd_scalar(r, e, items[i]);
        if (!x)
            return false;
        TNB_PUSH(r->arena, *out, x);
    }
    return true;
}

value
rd_index_buffer(reader *r, const ast *e, const tn_node *buffer, value index, bool store)
{
    const tn_buffer *b = tn_as_buffer(buffer);
    const value *items;
    uint32_t n;
    if (!rd_items(r, e, index, true, &items, &n))
        return rd_failed();
    bool region = n < b->shape.n, vector = false;
    for (uint32_t i = 0; i < n; i++) {
        if (items[i].kind == V_SLICE && items[i].items[2].kind != V_NONE)
            vector = true;
        else if (items[i].kind == V_SLICE || rd_is_node(items[i], TN_KIND_RANGE))
            region = true;
    }
    if (vector)
        region = false;
    node_vec v = {0};
    if (!region) {
        if (!rd_buffer_indices(r, e, buffer, index, true, &v))
            return rd_failed();
        rd_at(r, e);
        return rd_node(tn_buffer_load_of(r->ctx, buffer, (tn_list){v.at, v.n}));
    }
    (void)store;
    if (n > b->shape.n)
        return rd_error(r, e, TNB_SHAPE, "buffer '%s' has %u dimensions, the region %u", b->name,
                        b->shape.n, n);
    for (uint32_t i = 0; i < b->shape.n; i++) {
        const tn_node *range = NULL;
        tnb_dtype d = tn_dtype_of(b->shape.at[i]);
        if (i < n && rd_is_node(items[i], TN_KIND_RANGE)) {
            range = items[i].node;
        } else if (i < n && items[i].kind == V_SLICE) {
            value end = items[i].items[1];
            if (end.kind == V_NONE)
                end = rd_node(b->shape.at[i]);
            value begin = items[i].items[0];
            if (begin.kind == V_NONE)
                begin = (value){.kind = V_INT};
            range = rd_range(r, e, begin, end);
        } else if (i < n) {
            const tn_expr *x = rd_scalar(r, e, items[i]);
            if (x)
                range = tn_range_of(r->ctx, x, tn_int_imm_of(r->ctx, tn_dtype_of(x), 1));
        } else {
            range = tn_range_of(r->ctx, tn_int_imm_of(r->ctx, d, 0), b->shape.at[i]);
        }
        if (!range || tn_is_error(range))
            return rd_failed();
        TNB_PUSH(r->arena, v, range);
    }
    rd_at(r, e);
    return rd_node(tn_buffer_region_of(r->ctx, buffer, (tn_list){v.at, v.n}));
}

const tn_node *
rd_region(reader *r, const ast *e, value v)
{
    const tn_node *n = NULL;
    rd_at(r, e);
    if (rd_is_node(v, TN_KIND_BUFFER_REGION)) {
        return v.node;
    } else if (rd_is_node(v, TN_KIND_BUFFER)) {
        n = tn_region_full(r->ctx, v.node);
    } else if (v.kind == V_SCALAR) {
        n = tn_region_full(r->ctx, v.node);
    } else if (rd_is_node(v, TN_KIND_BUFFER_LOAD)) {
        const tn_buffer_load *l = tn_as_buffer_load(v.node);
        n = tn_region_point(r->ctx, l->buffer, l->indices);
    } else if (v.kind != V_ERROR) {
        rd_error(r, e, TNB_TYPE, "expected a region of a buffer, found %s", rd_what(r, v));
    }
    return tn_is_error(n) ? NULL : n;
}

static value
eval_slice(reader *r, const ast *e)
{
    value items[3];
    const ast *parts[] = {e->a, e->b, e->c};
    for (int i = 0; i < 3; i++) {
        items[i] = parts[i] ? rd_eval(r, parts[i]) : (value){.kind = V_NONE};
        if (items[i].kind == V_ERROR)
            return items[i];
    }
    value v = rd_list(r, V_SLICE, items, 3);
    return v;
}

/* T.float32[8] and T.let[T.int32] in annotations, T.Buffer[...] of old text. */
static value
index_path(reader *r, const ast *e, const char *path)
{
    if (!strcmp(path, "metadata")) {
        value key = rd_eval(r, e->b);
        const char *s = rd_text(r, e->b, key);
        return s ? (value){.kind = V_PATH, .s = tn_strf(r->ctx, "metadata.%s", s)} : rd_failed();
    }
    if (!strncmp(path, "metadata.", 9)) {
        int64_t i;
        if (!rd_int(r, e->b, rd_eval(r, e->b), &i))
            return rd_failed();
        return rd_constant_at(r, e, path + 9, i);
    }
    if (!strcmp(path, "T.let")) {
        value type = rd_eval(r, e->b);
        const tn_type *t = rd_type(r, e->b, type);
        return t ? (value){.kind = V_ANNOTATION, .s = "let", .other = t} : rd_failed();
    }
    tnb_dtype d;
    if (!strncmp(path, "T.", 2) && tnb_dtype_parse(path + 2, strlen(path + 2), &d)) {
        value extents = rd_eval(r, e->b);
        if (extents.kind == V_ERROR)
            return extents;
        value *both = TNB_NEW_N(r->arena, value, 2);
        both[0] = rd_node(tn_dtype_imm_of(r->ctx, d));
        both[1] = extents;
        return (value){.kind = V_ANNOTATION, .n = 2, .items = both, .name = "vector"};
    }
    if (!strcmp(path, "T.Buffer")) {
        /* the old spelling of T.Buffer(shape, dtype) */
        ast *call = TNB_NEW(r->arena, ast);
        *call = *e;
        call->kind = AST_CALL;
        if (e->b->kind == AST_TUPLE) {
            call->list = e->b->list;
        } else {
            call->list.at = TNB_NEW(r->arena, ast *);
            call->list.at[0] = e->b;
            call->list.n = 1;
        }
        call->b = NULL;
        return rd_buffer_call(r, call, "T.Buffer", r->hint ? r->hint : "buffer");
    }
    return rd_error(r, e, TNB_INVALID, "%s cannot be subscripted", path);
}

static value
eval_index(reader *r, const ast *e)
{
    value base = rd_eval(r, e->a);
    if (base.kind == V_META)
        base = base.items[0];
    if (base.kind == V_ERROR)
        return base;
    if (base.kind == V_PATH)
        return index_path(r, e, base.s);
    value index = rd_eval(r, e->b);
    if (index.kind == V_ERROR)
        return index;
    int64_t i;
    if (base.kind == V_TUPLE || base.kind == V_LIST) {
        if (!rd_int(r, e->b, index, &i))
            return rd_failed();
        if (i < 0)
            i += base.n;
        if (i < 0 || i >= (int64_t)base.n)
            return rd_error(r, e, TNB_BOUNDS, "index %lld of %u items", (long long)i, base.n);
        return base.items[i];
    }
    if (base.kind == V_DICT && index.kind == V_STR) {
        for (uint32_t k = 0; k < base.n; k++)
            if (base.items[2 * k].kind == V_STR && base.items[2 * k].s == index.s)
                return base.items[2 * k + 1];
        return rd_error(r, e, TNB_NOT_FOUND, "no key '%s'", index.s);
    }
    if (base.kind == V_SCALAR)
        return rd_index_buffer(r, e, base.node, index, false);
    if (base.kind == V_NODE && base.node->kind == TN_KIND_BUFFER)
        return rd_index_buffer(r, e, base.node, index, false);
    if (base.kind == V_NODE && base.node->kind == TN_KIND_SHAPE_EXPR) {
        const tn_shape_expr *s = tn_as_shape_expr(base.node);
        if (!rd_int(r, e->b, index, &i) || i < 0 || i >= (int64_t)s->values.n)
            return rd_error(r, e, TNB_BOUNDS, "index out of the shape's range");
        return rd_node(s->values.at[i]);
    }
    if (is_graph_value(base)) {
        if (!rd_int(r, e->b, index, &i))
            return rd_failed();
        const tn_expr *t = rd_leaf(r, e->a, base);
        if (!t)
            return rd_failed();
        rd_at(r, e);
        return rd_node(tn_tuple_item(r->ctx, t, i));
    }
    return rd_error(r, e, TNB_TYPE, "%s cannot be subscripted", rd_what(r, base));
}

/* ---- attributes ---- */
static value
list_value(reader *r, tn_list l)
{
    value *items = TNB_NEW_N(r->arena, value, l.n);
    for (uint32_t i = 0; i < l.n; i++)
        items[i] = rd_node(l.at[i]);
    return (value){.kind = V_TUPLE, .n = l.n, .items = items};
}

static value
buffer_attribute(reader *r, const ast *e, const tn_buffer *b)
{
    const char *name = e->text;
    if (!strcmp(name, "data"))
        return rd_node(b->data);
    if (!strcmp(name, "shape"))
        return list_value(r, b->shape);
    if (!strcmp(name, "strides"))
        return list_value(r, b->strides);
    if (!strcmp(name, "elem_offset"))
        return rd_node(b->elem_offset ? b->elem_offset : tn_i32(r->ctx, 0));
    if (!strcmp(name, "dtype"))
        return rd_str(tn_str(r->ctx, tnb_dtype_print(b->dtype).s));
    if (!strcmp(name, "vload") || !strcmp(name, "vstore") || !strcmp(name, "access_ptr") ||
        !strcmp(name, "scope"))
        return (value){.kind = V_METHOD, .node = &b->base, .name = name};
    return rd_error(r, e, TNB_NOT_FOUND, "a buffer has no attribute '%s'", name);
}

static value
global_value(reader *r, const ast *e, const char *name)
{
    const global *g = tnb_strmap_get(&r->globals, name);
    if (g)
        return rd_node(g->var);
    rd_error(r, e, TNB_NOT_FOUND, "the module has no function '%s'", name);
    return rd_failed();
}

static value
eval_attribute(reader *r, const ast *e)
{
    value base = rd_eval(r, e->a);
    if (base.kind == V_META)
        base = base.items[0];
    switch ((value_kind)base.kind) {
    case V_ERROR:
        return base;
    case V_PATH:
        return (value){.kind = V_PATH, .s = tn_strf(r->ctx, "%s.%s", base.s, e->text)};
    case V_MODULE:
        return global_value(r, e, e->text);
    case V_SCALAR:
        if (!strcmp(e->text, "buffer") || !strcmp(e->text, "source"))
            return rd_node(base.node);
        return buffer_attribute(r, e, tn_as_buffer(base.node));
    case V_NODE:
        break;
    default:
        return rd_error(r, e, TNB_NOT_FOUND, "%s has no attribute '%s'", rd_what(r, base), e->text);
    }
    const tn_node *n = base.node;
    if (n->kind == TN_KIND_BUFFER)
        return buffer_attribute(r, e, (const tn_buffer *)n);
    if (n->kind == TN_KIND_ITER_VAR && !strcmp(e->text, "var"))
        return rd_node(((const tn_iter_var *)n)->var);
    if (n->kind == TN_KIND_BUFFER_LOAD &&
        (!strcmp(e->text, "buffer") || !strcmp(e->text, "source")))
        return rd_node(((const tn_buffer_load *)n)->buffer);
    bool expr = n->kind >= TN_KIND_FIRST_EXPR && n->kind <= TN_KIND_LAST_EXPR;
    if (expr && (!strcmp(e->text, "ty") || !strcmp(e->text, "struct_info")) && n->type)
        return rd_node(n->type);
    if (expr && !strcmp(e->text, "dtype") && n->type)
        return rd_str(tn_str(r->ctx, tnb_dtype_print(tn_type_dtype(n->type)).s));
    if (expr && !strcmp(e->text, "shape") && tn_is(n->type, TN_KIND_TY_TENSOR) &&
        ((const tn_ty_tensor *)n->type)->shape)
        return rd_node(((const tn_ty_tensor *)n->type)->shape);
    if (expr && (!strcmp(e->text, "astype")))
        return (value){.kind = V_METHOD, .node = n, .name = e->text};
    return rd_error(r, e, TNB_NOT_FOUND, "%s has no attribute '%s'", rd_what(r, base), e->text);
}

/* ---- calls ---- */
static value
call_method(reader *r, const ast *e, value m)
{
    call_args a = rd_args(e, m.name);
    value v;
    const ast *where = e;
    tnb_dtype d;
    if (!strcmp(m.name, "astype")) {
        if (!rd_need(r, &a, "dtype", &v, &where) || !rd_dtype(r, where, v, &d) ||
            !rd_args_end(r, &a))
            return rd_failed();
        if (!tn_is_scalar(m.node))
            return rd_op_call(r, e, "relax.astype");
        rd_at(r, e);
        return rd_node(tn_cast_to(r->ctx, d, m.node));
    }
    const tn_buffer *b = tn_as_buffer(m.node);
    if (b && !strcmp(m.name, "scope"))
        return rd_str(b->scope);
    if (b && !strcmp(m.name, "vload")) {
        value index;
        node_vec at = {0};
        if (!rd_need(r, &a, "begin", &index, &where) ||
            !rd_buffer_indices(r, where, m.node, index, true, &at))
            return rd_failed();
        d = b->dtype;
        if (rd_arg(r, &a, "dtype", &v, &where) && !rd_dtype(r, where, v, &d))
            return rd_failed();
        if (!rd_args_end(r, &a))
            return rd_failed();
        rd_at(r, e);
        if (at.n && b->dtype.lanes && d.lanes > b->dtype.lanes) {
            const tn_expr *last = at.at[at.n - 1];
            at.at[at.n - 1] = tn_ramp_of(r->ctx, last, tn_int_imm_of(r->ctx, tn_dtype_of(last), 1),
                                         d.lanes / b->dtype.lanes);
        }
        return rd_node(tn_buffer_load_of(r->ctx, m.node, (tn_list){at.at, at.n}));
    }
    return rd_error(r, e, TNB_UNSUPPORTED, "the method '%s' is not supported", m.name);
}

static value
call_path(reader *r, const ast *e, const char *path)
{
    if (path[1] == '.' && path[0] == 'R')
        return rd_graph_call(r, e, path + 2);
    if (path[1] == '.' && path[0] == 'T')
        return rd_tensor_call(r, e, path + 2);
    if (path[1] == '.' && path[0] == 'I')
        return rd_module_call(r, e, path + 2);
    if (!strcmp(path, "range"))
        return (value){.kind = V_FRAME, .ast = e, .name = "serial"};
    if (!strcmp(path, "float")) {
        call_args a = rd_args(e, path);
        value v;
        const ast *where = e;
        if (!rd_need(r, &a, "x", &v, &where) || !rd_args_end(r, &a))
            return rd_failed();
        if (is_number(v))
            return (value){.kind = V_FLOAT, .f = as_double(v)};
        const char *s = rd_text(r, where, v);
        value f = {.kind = V_FLOAT};
        if (s && !tnb_read_f64(s, strlen(s), &f.f))
            return rd_error(r, where, TNB_FORMAT, "'%.60s' is not a number", s);
        return s ? f : rd_failed();
    }
    if (!strcmp(path, "TypeVar") || !strcmp(path, "typing.TypeVar")) {
        call_args a = rd_args(e, "TypeVar");
        value v;
        const ast *where = e;
        const char *s = rd_need(r, &a, "name", &v, &where) ? rd_text(r, where, v) : NULL;
        return s ? (value){.kind = V_TYPE_VAR, .s = s} : rd_failed();
    }
    if (!strcmp(path, "tvm.tir.IndexMap") || !strcmp(path, "tvm.tirx.IndexMap"))
        return rd_tensor_call(r, e, "index_map");
    return rd_error(r, e, TNB_NOT_FOUND, "'%s' is not a function of TVMScript", path);
}

static value
eval_call(reader *r, const ast *e)
{
    value f = rd_eval(r, e->a);
    if (f.kind == V_META)
        f = f.items[0];
    rd_at(r, e);
    switch ((value_kind)f.kind) {
    case V_ERROR:
        return f;
    case V_PATH:
        return call_path(r, e, f.s);
    case V_METHOD:
        if (!strcmp(f.name, "astype") && !tn_is_scalar(f.node) && r->level == LEVEL_TENSOR)
            return rd_error(r, e, TNB_TYPE, "only scalars can be cast in a tensor program");
        if (!strcmp(f.name, "astype") && !tn_is_scalar(f.node)) {
            const tn_expr *x = rd_leaf(r, e->a, rd_node(f.node));
            call_args a = rd_args(e, "astype");
            value v;
            const ast *where = e;
            tnb_dtype d;
            if (!x || !rd_need(r, &a, "dtype", &v, &where) || !rd_dtype(r, where, v, &d))
                return rd_failed();
            rd_at(r, e);
            const tn_node *attrs = tn_dictv(r->ctx, "dtype", tn_dtype_imm_of(r->ctx, d), NULL);
            return rd_node(tn_call_op(r->ctx, "relax.astype", (tn_list){&x, 1}, attrs));
        }
        return call_method(r, e, f);
    case V_NODE:
        return rd_call_node(r, e, f.node);
    default:
        return rd_error(r, e, TNB_TYPE, "%s cannot be called", rd_what(r, f));
    }
}

static value
eval_items(reader *r, const ast *e, value_kind kind)
{
    value *items = TNB_NEW_N(r->arena, value, e->list.n);
    bool bad = false;
    for (uint32_t i = 0; i < e->list.n; i++) {
        items[i] = rd_eval(r, e->list.at[i]);
        if (items[i].kind == V_META)
            items[i] = items[i].items[0];
        bad |= items[i].kind == V_ERROR;
    }
    return bad ? rd_failed() : (value){.kind = (uint8_t)kind, .n = e->list.n, .items = items};
}

static value
eval_dict(reader *r, const ast *e)
{
    value *items = TNB_NEW_N(r->arena, value, (size_t)e->list.n * 2);
    bool bad = false;
    for (uint32_t i = 0; i < e->list.n; i++) {
        items[2 * i] = rd_eval(r, e->list.at[i]);
        items[2 * i + 1] = rd_eval(r, e->more.at[i]);
        bad |= items[2 * i].kind == V_ERROR || items[2 * i + 1].kind == V_ERROR;
    }
    return bad ? rd_failed() : (value){.kind = V_DICT, .n = e->list.n, .items = items};
}

value
rd_eval(reader *r, const ast *e)
{
    switch ((ast_kind)e->kind) {
    case AST_NAME:
        return rd_lookup(r, e);
    case AST_INT:
        return (value){.kind = V_INT, .big = e->number > INT64_MAX, .i = (int64_t)e->number};
    case AST_FLOAT:
        return (value){.kind = V_FLOAT, .f = e->real};
    case AST_STR:
        return rd_str(e->text);
    case AST_BOOL:
        return (value){.kind = V_BOOL, .i = (int64_t)e->number};
    case AST_NONE:
        return (value){.kind = V_NONE};
    case AST_TUPLE:
        return eval_items(r, e, V_TUPLE);
    case AST_LIST:
        return eval_items(r, e, V_LIST);
    case AST_DICT:
        return eval_dict(r, e);
    case AST_UNARY:
        return eval_unary(r, e);
    case AST_BINARY:
    case AST_COMPARE: {
        value a = rd_eval(r, e->a);
        value b = rd_eval(r, e->b);
        return rd_binary(r, e, e->op, a, b);
    }
    case AST_LOGIC:
        return eval_logic(r, e);
    case AST_IF_EXPR:
        return eval_if(r, e);
    case AST_LAMBDA:
        return (value){.kind = V_LAMBDA, .ast = e};
    case AST_CALL:
        return eval_call(r, e);
    case AST_ATTR:
        return eval_attribute(r, e);
    case AST_INDEX:
        return eval_index(r, e);
    case AST_SLICE:
        return eval_slice(r, e);
    default:
        return rd_error(r, e, TNB_FORMAT, "an expression is expected here");
    }
}

const char *
rd_called(reader *r, const ast *e)
{
    if (e->kind != AST_CALL || (e->a->kind != AST_ATTR && e->a->kind != AST_NAME))
        return NULL;
    const ast *root = e->a;
    while (root->kind == AST_ATTR)
        root = root->a;
    const value *v = root->kind == AST_NAME ? rd_find(r, root->text) : NULL;
    if (!v || v->kind != V_PATH)
        return NULL;
    value path = rd_eval(r, e->a);
    return path.kind == V_PATH ? path.s : NULL;
}
