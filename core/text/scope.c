/* SPDX-License-Identifier: Apache-2.0 */
/* The reader's names, places, arguments and conversions of values. */
#include <stdio.h>

#include "reader.h"

void
rd_at(reader *r, const ast *e)
{
    if (e)
        tn_at(r->ctx,
              tn_loc_make(r->ctx,
                          (tnb_place){.file = r->src.file, .line = e->line, .column = e->column}));
}

value
rd_error(reader *r, const ast *e, tnb_status s, const char *fmt, ...)
{
    char message[640];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    rd_at(r, e);
    tn_error(r->ctx, 0, s, "%s", message);
    return rd_failed();
}

void
rd_hint(reader *r, const char *fmt, ...)
{
    char message[320];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    tnb_diag_hint(tn_diags(r->ctx), "%s", message);
}

/* ---- names ---- */
uint32_t
rd_push(reader *r)
{
    return ++r->frame;
}

void
rd_pop(reader *r)
{
    while (r->log.n && r->log.at[r->log.n - 1]->frame == r->frame) {
        bound *b = r->log.at[--r->log.n];
        tnb_ptrmap_set(&r->names, b->name, b->older);
    }
    r->frame--;
}

void
rd_bind(reader *r, const char *name, value v)
{
    bound *old = tnb_ptrmap_get(&r->names, name);
    if (old && old->frame == r->frame) {
        old->v = v;
        return;
    }
    bound *b = TNB_NEW(r->arena, bound);
    *b = (bound){name, v, old, r->frame};
    tnb_ptrmap_set(&r->names, name, b);
    TNB_PUSH(r->arena, r->log, b);
}

const value *
rd_find(reader *r, const char *name)
{
    bound *b = tnb_ptrmap_get(&r->names, name);
    return b ? &b->v : NULL;
}

/* Edit distance up to 2 (3 for "far"). */
static int
distance(const char *a, const char *b)
{
    size_t na = strlen(a), nb = strlen(b);
    if (na > 40 || nb > 40 || (na > nb ? na - nb : nb - na) > 2)
        return 3;
    int row[42];
    for (size_t j = 0; j <= nb; j++)
        row[j] = (int)j;
    for (size_t i = 1; i <= na; i++) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= nb; j++) {
            int keep = row[j], best = diagonal + (a[i - 1] != b[j - 1]);
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
            diagonal = keep;
        }
    }
    return row[nb] < 3 ? row[nb] : 3;
}

bool
rd_many_errors(const reader *r)
{
    return tnb_diags_errors(tn_diags(r->ctx)) > r->errors_at_start + 50;
}

void
rd_attr_set(reader *r, attr_list *l, const char *key, const tn_node *v)
{
    if (!l->keys.n)
        tnb_strmap_init(&l->at, r->arena);
    uintptr_t i = (uintptr_t)tnb_strmap_get(&l->at, key);
    if (i) {
        l->values.at[i - 1] = v;
        return;
    }
    TNB_PUSH(r->arena, l->keys, key);
    TNB_PUSH(r->arena, l->values, v);
    tnb_strmap_set(&l->at, key, (void *)(uintptr_t)l->keys.n);
}

const tn_node *
rd_attr_dict(reader *r, const attr_list *l)
{
    return l->keys.n ? tn_dict_of(r->ctx, l->keys.at, l->values.at, l->keys.n) : NULL;
}

value
rd_lookup(reader *r, const ast *e)
{
    const value *v = rd_find(r, e->text);
    if (v && v->kind == V_TYPE_VAR) {
        /* one variable a function, in the frame where the function began */
        value var = rd_node(tn_var_dtype(r->ctx, e->text, TNB_I64));
        rd_bind(r, e->text, var);
        return var;
    }
    if (v)
        return *v;
    const char *why = tnb_ptrmap_get(&r->gone, e->text);
    rd_error(r, e, TNB_NOT_FOUND, "'%s' is not defined%s%s", e->text, why ? ": " : "",
             why ? why : "");
    const char *best = NULL;
    int best_distance = 3;
    for (uint32_t i = 0; !why && !rd_many_errors(r) && i < r->names.n && i < 5000; i++) {
        const char *name = r->names.at[i].key;
        if (!name || !r->names.at[i].value)
            continue;
        int d = strlen(name) > 2 ? distance(e->text, name) : 3;
        if (d < best_distance) {
            best = name;
            best_distance = d;
        }
    }
    if (best)
        rd_hint(r, "the nearest name is '%s'", best);
    rd_bind(r, e->text, rd_failed()); /* once is enough */
    return rd_failed();
}

bool
rd_enter(reader *r, const ast *e)
{
    if (++r->nest <= AST_MAX_DEPTH)
        return true;
    r->nest--;
    rd_error(r, e, TNB_INVALID, "nested too deeply (at most %d levels)", AST_MAX_DEPTH);
    return false;
}

void
rd_leave(reader *r)
{
    r->nest--;
}

/* ---- values ---- */
value
rd_str(const char *s)
{
    return (value){.kind = V_STR, .s = s};
}

value
rd_list(reader *r, value_kind k, const value *items, uint32_t n)
{
    value v = {.kind = (uint8_t)k, .n = n};
    v.items = tnb_dup(r->arena, items, n * sizeof *items);
    return v;
}

const char *
rd_what(reader *r, value v)
{
    switch ((value_kind)v.kind) {
    case V_NODE:
        if (tn_is_type(v.node))
            return tn_strf(r->ctx, "the type %s", tn_text(r->ctx, v.node));
        if (v.node->kind == TN_KIND_BUFFER)
            return tn_strf(r->ctx, "the buffer %s", ((const tn_buffer *)v.node)->name);
        if (v.node->kind >= TN_KIND_FIRST_EXPR && v.node->kind <= TN_KIND_LAST_EXPR)
            return tn_strf(r->ctx, "%s", tn_text(r->ctx, v.node));
        return tn_strf(r->ctx, "a %s", tn_kinds[v.node->kind].name);
    case V_INT:
        return tn_strf(r->ctx, "the integer %lld", (long long)v.i);
    case V_FLOAT:
        return tn_strf(r->ctx, "the number %g", v.f);
    case V_BOOL:
        return v.i ? "True" : "False";
    case V_STR:
        return tn_strf(r->ctx, "the string \"%.60s\"", v.s);
    case V_NONE:
        return "None";
    case V_TUPLE:
        return "a tuple";
    case V_LIST:
        return "a list";
    case V_DICT:
        return "a dictionary";
    case V_SLICE:
        return "a slice";
    case V_PATH:
        return v.s;
    case V_METHOD:
        return tn_strf(r->ctx, "the method %s", v.name);
    case V_MODULE:
        return "the module";
    case V_LAMBDA:
        return "a lambda";
    case V_CAST:
        return "a match_cast, which must be assigned";
    default:
        return "something else";
    }
}

/* ---- conversions ---- */
static bool
fits(tnb_dtype d, value v)
{
    if (tnb_dtype_is_bool(d))
        return true;
    if (v.big)
        return d.code == TNB_UINT && d.bits == 64;
    if (d.code == TNB_UINT)
        return v.i >= 0 && (d.bits >= 63 || v.i < (int64_t)1 << d.bits);
    return d.bits >= 64 ||
           (v.i >= -((int64_t)1 << (d.bits - 1)) && v.i < (int64_t)1 << (d.bits - 1));
}

static double
as_double(value v)
{
    return v.kind == V_FLOAT ? v.f : v.big ? (double)(uint64_t)v.i : (double)v.i;
}

/* A number as a literal of dtype d (one lane). */
static const tn_expr *
number(reader *r, const ast *e, value v, tnb_dtype d)
{
    rd_at(r, e);
    if (tnb_dtype_is_float(d))
        return tn_float_imm_of(r->ctx, d, as_double(v));
    if (v.kind == V_FLOAT) {
        rd_error(r, e, TNB_TYPE, "%g is not an integer, expected %s", v.f, tnb_dtype_print(d).s);
        return NULL;
    }
    if (d.code == TNB_HANDLE) {
        if (v.i == 0)
            return tn_int_imm_of(r->ctx, d, 0);
        rd_error(r, e, TNB_TYPE, "a handle literal can only be 0");
        return NULL;
    }
    if (!tnb_dtype_is_int(d) && !tnb_dtype_is_bool(d)) {
        rd_error(r, e, TNB_TYPE, "a literal of dtype %s is not possible", tnb_dtype_print(d).s);
        return NULL;
    }
    if (!fits(d, v)) {
        rd_error(r, e, TNB_BOUNDS, "%s%lld does not fit %s", v.big ? "an integer above " : "",
                 v.big ? (long long)INT64_MAX : (long long)v.i, tnb_dtype_print(d).s);
        return NULL;
    }
    return tn_int_imm_of(r->ctx, d, tnb_dtype_is_bool(d) ? v.i != 0 : v.i);
}

const tn_expr *
rd_scalar_of(reader *r, const ast *e, value v, tnb_dtype d)
{
    tnb_dtype one = d;
    one.lanes = 1;
    if (v.kind == V_INT || v.kind == V_FLOAT || v.kind == V_BOOL) {
        const tn_expr *n = number(r, e, v, one);
        return n && d.lanes > 1 ? tn_broadcast_of(r->ctx, n, d.lanes) : n;
    }
    return rd_scalar(r, e, v);
}

const tn_expr *
rd_scalar(reader *r, const ast *e, value v)
{
    bool tensor = r->level == LEVEL_TENSOR;
    switch ((value_kind)v.kind) {
    case V_ERROR:
        return NULL;
    case V_INT:
        if (v.big)
            return number(r, e, v, TNB_DTYPE(TNB_UINT, 64));
        return number(r, e, v, tensor && fits(TNB_I32, v) ? TNB_I32 : TNB_I64);
    case V_BOOL:
        return tn_bool(r->ctx, v.i != 0);
    case V_FLOAT:
        return number(r, e, v, tensor ? TNB_F32 : TNB_F64);
    case V_STR:
        return tn_string(r->ctx, v.s);
    case V_DECLARED:
        return v.node;
    case V_SCALAR: {
        const tn_node *zero = tn_i32(r->ctx, 0);
        return tn_buffer_load_of(r->ctx, v.node, (tn_list){&zero, 1});
    }
    case V_META:
        return rd_scalar(r, e, v.items[0]);
    case V_NODE:
        if (tn_is_scalar(v.node) || v.node->kind == TN_KIND_STRING_IMM)
            return v.node;
        if (v.node->kind == TN_KIND_BUFFER && ((const tn_buffer *)v.node)->shape.n == 0)
            return tn_buffer_load_of(r->ctx, v.node, (tn_list){NULL, 0});
        if (v.node->kind == TN_KIND_ITER_VAR)
            return ((const tn_iter_var *)v.node)->var;
        break;
    default:
        break;
    }
    rd_error(r, e, TNB_TYPE, "expected a scalar expression, found %s", rd_what(r, v));
    return NULL;
}

bool
rd_int(reader *r, const ast *e, value v, int64_t *out)
{
    if (v.kind == V_META)
        v = v.items[0];
    if ((v.kind == V_INT && !v.big) || v.kind == V_BOOL) {
        *out = v.i;
        return true;
    }
    if (v.kind == V_NODE && tn_int_value(v.node, out))
        return true;
    if (v.kind != V_ERROR)
        rd_error(r, e, TNB_TYPE, "expected an integer, found %s", rd_what(r, v));
    return false;
}

bool
rd_bool(reader *r, const ast *e, value v, bool *out)
{
    int64_t i = 0;
    if (v.kind == V_BOOL || v.kind == V_INT || (v.kind == V_NODE && tn_int_value(v.node, &i))) {
        *out = v.kind == V_NODE ? i != 0 : v.i != 0;
        return true;
    }
    if (v.kind != V_ERROR)
        rd_error(r, e, TNB_TYPE, "expected True or False, found %s", rd_what(r, v));
    return false;
}

const char *
rd_text(reader *r, const ast *e, value v)
{
    if (v.kind == V_STR)
        return v.s;
    if (rd_is_node(v, TN_KIND_STRING_IMM))
        return ((const tn_string_imm *)v.node)->value;
    if (v.kind != V_ERROR)
        rd_error(r, e, TNB_TYPE, "expected a string, found %s", rd_what(r, v));
    return NULL;
}

bool
rd_dtype(reader *r, const ast *e, value v, tnb_dtype *out)
{
    const char *s = v.kind == V_STR ? v.s : NULL;
    if (v.kind == V_PATH && v.s[0] == 'T' && v.s[1] == '.')
        s = v.s + 2;
    if (v.kind == V_NODE) {
        if (v.node->kind == TN_KIND_STRING_IMM)
            s = ((const tn_string_imm *)v.node)->value;
        if (v.node->kind == TN_KIND_DTYPE_IMM) {
            *out = ((const tn_dtype_imm *)v.node)->value;
            return true;
        }
        if (v.node->kind == TN_KIND_TY_PRIM) {
            *out = ((const tn_ty_prim *)v.node)->dtype;
            return true;
        }
    }
    if (v.kind == V_NONE || (s && (!*s || !strcmp(s, "void")))) {
        *out = TNB_VOID;
        return true;
    }
    if (s && tnb_dtype_parse(s, strlen(s), out))
        return true;
    if (s && !strcmp(s, "boolean")) {
        *out = TNB_B8;
        return true;
    }
    if (v.kind != V_ERROR) {
        if (s)
            rd_error(r, e, TNB_TYPE, "'%.60s' is not a dtype", s);
        else
            rd_error(r, e, TNB_TYPE, "expected a dtype, found %s", rd_what(r, v));
    }
    return false;
}

bool
rd_items(reader *r, const ast *e, value v, bool lone, const value **items, uint32_t *n)
{
    if (v.kind == V_META)
        v = v.items[0];
    if (v.kind == V_TUPLE || v.kind == V_LIST) {
        *items = v.items;
        *n = v.n;
        return true;
    }
    if (v.kind == V_ERROR)
        return false;
    if (lone) {
        value *one = TNB_NEW(r->arena, value);
        *one = v;
        *items = one;
        *n = 1;
        return true;
    }
    rd_error(r, e, TNB_TYPE, "expected a list or tuple, found %s", rd_what(r, v));
    return false;
}

static const tn_node *
attr_items(reader *r, const ast *e, value v)
{
    const tn_node **at = TNB_NEW_N(r->arena, const tn_node *, v.n);
    for (uint32_t i = 0; i < v.n; i++) {
        at[i] = rd_attr(r, e, v.items[i]);
        if (!at[i])
            return NULL;
    }
    return tn_array_of(r->ctx, (tn_list){at, v.n});
}

const tn_node *
rd_dict(reader *r, const ast *e, value v)
{
    if (rd_is_node(v, TN_KIND_DICT))
        return v.node;
    if (v.kind != V_DICT) {
        if (v.kind != V_ERROR)
            rd_error(r, e, TNB_TYPE, "expected a dictionary, found %s", rd_what(r, v));
        return NULL;
    }
    const char **keys = TNB_NEW_N(r->arena, const char *, v.n);
    const tn_node **values = TNB_NEW_N(r->arena, const tn_node *, v.n);
    for (uint32_t i = 0; i < v.n; i++) {
        keys[i] = rd_text(r, e, v.items[2 * i]);
        values[i] = rd_attr(r, e, v.items[2 * i + 1]);
        if (!keys[i] || !values[i])
            return NULL;
    }
    rd_at(r, e);
    const tn_node *d = tn_dict_of(r->ctx, keys, values, v.n);
    return tn_is_error(d) ? NULL : d;
}

const tn_node *
rd_attr(reader *r, const ast *e, value v)
{
    switch ((value_kind)v.kind) {
    case V_ERROR:
        return NULL;
    case V_NODE:
        return v.node;
    case V_INT:
        return number(r, e, v, v.big ? TNB_DTYPE(TNB_UINT, 64) : TNB_I64);
    case V_FLOAT:
        return tn_float_imm_of(r->ctx, TNB_F64, v.f);
    case V_BOOL:
        return tn_bool(r->ctx, v.i != 0);
    case V_STR:
        return tn_string(r->ctx, v.s);
    case V_NONE:
        return tn_none_value(r->ctx);
    case V_TUPLE:
    case V_LIST:
        return attr_items(r, e, v);
    case V_DICT:
        return rd_dict(r, e, v);
    case V_LAMBDA:
        return rd_index_map(r, e, v);
    case V_META:
        return rd_attr(r, e, v.items[0]);
    case V_SCALAR:
    case V_DECLARED:
        return rd_scalar(r, e, v);
    case V_PATH: {
        tnb_dtype d;
        const tn_type *t = rd_bare_type(r, v.s);
        if (t)
            return t;
        if (v.s[0] == 'T' && rd_dtype(r, e, v, &d))
            return tn_dtype_imm_of(r->ctx, d);
        return NULL;
    }
    default:
        rd_error(r, e, TNB_TYPE, "%s cannot be the value of an attribute", rd_what(r, v));
        return NULL;
    }
}

/* ---- arguments ---- */
call_args
rd_args(const ast *call, const char *name)
{
    return (call_args){.call = call, .name = name};
}

static int
find_keyword(const call_args *a, const char *key)
{
    for (uint32_t i = 0; i < a->call->more.n && i < 64; i++)
        if (!strcmp(a->call->more.at[i]->text, key))
            return (int)i;
    return -1;
}

const ast *
rd_arg_ast(call_args *a, const char *key)
{
    if (a->used < a->call->list.n)
        return a->call->list.at[a->used++];
    int i = key ? find_keyword(a, key) : -1;
    if (i < 0)
        return NULL;
    a->seen |= (uint64_t)1 << i;
    return a->call->more.at[i]->a;
}

bool
rd_arg(reader *r, call_args *a, const char *key, value *out, const ast **where)
{
    const ast *e = rd_arg_ast(a, key);
    if (!e)
        return false;
    if (where)
        *where = e;
    *out = rd_eval(r, e);
    return true;
}

bool
rd_keyword(reader *r, call_args *a, const char *key, value *out, const ast **where)
{
    int i = find_keyword(a, key);
    if (i < 0)
        return false;
    a->seen |= (uint64_t)1 << i;
    const ast *e = a->call->more.at[i]->a;
    if (where)
        *where = e;
    *out = rd_eval(r, e);
    return true;
}

bool
rd_need(reader *r, call_args *a, const char *key, value *out, const ast **where)
{
    if (rd_arg(r, a, key, out, where))
        return true;
    rd_error(r, a->call, TNB_INVALID, "%s: argument '%s' is missing", a->name, key);
    return false;
}

bool
rd_args_end(reader *r, call_args *a)
{
    if (a->used < a->call->list.n) {
        rd_error(r, a->call->list.at[a->used], TNB_INVALID,
                 "%s takes %u positional argument%s, found %u", a->name, a->used,
                 a->used == 1 ? "" : "s", a->call->list.n);
        return false;
    }
    for (uint32_t i = 0; i < a->call->more.n; i++)
        if (i >= 64 || !(a->seen >> i & 1)) {
            rd_error(r, a->call->more.at[i], TNB_INVALID, "%s does not know the argument '%s'",
                     a->name, a->call->more.at[i]->text);
            return false;
        }
    return true;
}

bool
rd_scalars(reader *r, call_args *a, node_vec *out)
{
    while (a->used < a->call->list.n) {
        const ast *e = a->call->list.at[a->used++];
        const tn_expr *x = rd_scalar(r, e, rd_eval(r, e));
        if (!x)
            return false;
        TNB_PUSH(r->arena, *out, x);
    }
    return true;
}
