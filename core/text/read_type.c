/* SPDX-License-Identifier: Apache-2.0 */
/* Types as text: R.Tensor, R.Shape, R.Prim, R.Tuple, R.Callable and their older spellings;
 * dimensions, including those written as strings; virtual devices.
 */
#include <stdio.h>

#include "reader.h"

static bool
is_identifier(const char *s)
{
    if (!*s || (*s >= '0' && *s <= '9'))
        return false;
    for (; *s; s++)
        if (!((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') ||
              *s == '_'))
            return false;
    return true;
}

/* ---- dimensions ---- */
static value
dim_value(reader *r, const ast *e, value v)
{
    if (v.kind != V_STR)
        return v;
    uint32_t column = e->kind == AST_STR ? e->column + 1 : e->column;
    uint32_t before = r->src.errors;
    if (is_identifier(v.s) && !rd_find(r, v.s)) {
        if (!r->defining)
            return rd_error(r, e, TNB_NOT_FOUND, "symbolic variable '%s' is not defined", v.s);
        value var = rd_node(tn_var_dtype(r->ctx, v.s, TNB_I64));
        rd_bind(r, v.s, var);
        return var;
    }
    const ast *part = text_parse_expr(&r->src, v.s, strlen(v.s), e->line, column);
    if (!part) {
        if (r->src.errors == before)
            rd_error(r, e, TNB_FORMAT, "'%s' is not an expression", v.s);
        return rd_failed();
    }
    return rd_eval(r, part);
}

const tn_expr *
rd_dim(reader *r, const ast *e, value v)
{
    v = dim_value(r, e, v);
    level l = r->level;
    if (v.kind == V_INT)
        r->level = LEVEL_GRAPH; /* bare extents of types are int64 */
    const tn_expr *d = rd_scalar(r, e, v);
    r->level = l;
    if (!d)
        return NULL;
    tnb_dtype t = tn_dtype_of(d);
    if (!tnb_dtype_is_int(t) || t.lanes != 1) {
        rd_error(r, e, TNB_TYPE, "a dimension must be an integer, not %s", tnb_dtype_print(t).s);
        return NULL;
    }
    if (!tnb_dtype_eq(t, TNB_I64)) {
        if (tn_is(d, TN_KIND_VAR)) {
            rd_error(r, e, TNB_TYPE, "'%s' is %s, but a dimension must be int64", tn_var_name(d),
                     tnb_dtype_print(t).s);
            return NULL;
        }
        d = tn_cast_to(r->ctx, TNB_I64, d);
    }
    return tn_is_error(d) ? NULL : d;
}

bool
rd_dims(reader *r, const ast *e, value v, node_vec *out)
{
    if (rd_is_node(v, TN_KIND_SHAPE_EXPR)) {
        tn_list l = ((const tn_shape_expr *)v.node)->values;
        for (uint32_t i = 0; i < l.n; i++)
            TNB_PUSH(r->arena, *out, l.at[i]);
        return true;
    }
    const value *items;
    uint32_t n;
    if (!rd_items(r, e, v, false, &items, &n))
        return false;
    bool each = (e->kind == AST_TUPLE || e->kind == AST_LIST) && e->list.n == n;
    for (uint32_t i = 0; i < n; i++) {
        const tn_expr *d = rd_dim(r, each ? e->list.at[i] : e, items[i]);
        if (!d)
            return false;
        TNB_PUSH(r->arena, *out, d);
    }
    return true;
}

/* Defines what identifier strings among the dimensions of an annotation name, wherever they stand,
 * so that compound ones may come first. */
void
rd_collect_symbols(reader *r, const ast *e)
{
    if (!e)
        return;
    if (e->kind == AST_CALL) {
        for (uint32_t i = 0; i < e->list.n; i++)
            rd_collect_symbols(r, e->list.at[i]);
        for (uint32_t i = 0; i < e->more.n; i++)
            rd_collect_symbols(r, e->more.at[i]->a);
        return;
    }
    if (e->kind != AST_TUPLE && e->kind != AST_LIST)
        return;
    for (uint32_t i = 0; i < e->list.n; i++) {
        const ast *x = e->list.at[i];
        if (x->kind == AST_STR && is_identifier(x->text) && !rd_find(r, x->text)) {
            rd_at(r, x);
            rd_bind(r, x->text, rd_node(tn_var_dtype(r->ctx, x->text, TNB_I64)));
        } else {
            rd_collect_symbols(r, x);
        }
    }
}

/* ---- virtual devices ---- */
static tn_list
infos_of(reader *r, const char *kind)
{
    const tn_array *a = tn_as_array(tn_dict_get(r->infos, kind));
    return a ? a->items : (tn_list){0};
}

const tn_node *
rd_vdevice(reader *r, const ast *e, value v)
{
    if (v.kind == V_NONE)
        return NULL;
    if (rd_is_node(v, TN_KIND_VDEVICE))
        return v.node;
    const char *s = rd_text(r, e, v);
    if (!s)
        return NULL;
    char kind[64] = "", index_text[24] = "0", scope[64] = "";
    int fields = sscanf(s, "%63[^:]:%23[^:]:%63s", kind, index_text, scope);
    int64_t index = 0;
    tn_list all = infos_of(r, "vdevice");
    if (fields >= 2 && !tnb_read_i64(index_text, strlen(index_text), &index)) {
        rd_error(r, e, TNB_FORMAT, "'%s' is not a virtual device (kind:index:scope)", s);
        return NULL;
    }
    bool whole = !strcmp(kind, "vdevice");
    int64_t k = 0;
    for (uint32_t i = 0; i < all.n; i++) {
        const tn_vdevice *d = tn_as_vdevice(all.at[i]);
        const tn_target *t = d ? tn_as_target(d->target) : NULL;
        if (!t || (!whole && strcmp(t->kind, kind) != 0))
            continue;
        if (k++ == index && (fields < 3 || !strcmp(d->scope, scope)))
            return all.at[i];
        if (fields == 3 && !whole && !strcmp(d->scope, scope) && d->id == index)
            return all.at[i];
    }
    if (all.n) {
        rd_error(r, e, TNB_NOT_FOUND, "the module has no virtual device '%s'", s);
    } else {
        rd_error(r, e, TNB_NOT_FOUND, "virtual device '%s' is not declared", s);
        rd_hint(r, "declare it with I.module_global_infos({\"vdevice\": [I.vdevice(...)]})");
    }
    return NULL;
}

/* ---- distributed tensors ---- */
/* "mesh[0]", or a mesh as such. */
static const tn_node *
mesh_of(reader *r, const ast *e, value v)
{
    if (rd_is_node(v, TN_KIND_GLOBAL_INFO))
        return v.node;
    const char *s = rd_text(r, e, v);
    tn_list all = infos_of(r, "mesh");
    unsigned index = 0;
    int n = 0;
    if (!s)
        return NULL;
    if (sscanf(s, "mesh[%u]%n", &index, &n) == 1 && (size_t)n == strlen(s) && index < all.n)
        return all.at[index];
    rd_error(r, e, TNB_NOT_FOUND, "the module has no device mesh '%s'", s);
    rd_hint(r, "declare it with I.module_global_infos({\"mesh\": [R.dist.device_mesh(...)]})");
    return NULL;
}

/* The placement that the rest of R.DTensor's arguments tells. */
static const tn_node *
placement_args(reader *r, const ast *e, call_args *a)
{
    value mesh, spec;
    const ast *mesh_at = e, *spec_at = e;
    if (!rd_need(r, a, "device_mesh", &mesh, &mesh_at) ||
        !rd_need(r, a, "placement", &spec, &spec_at))
        return NULL;
    const tn_node *m = mesh_of(r, mesh_at, mesh);
    const char *text = m ? rd_text(r, spec_at, spec) : NULL;
    if (!text)
        return NULL;
    rd_at(r, e);
    const tn_node *p = tn_placement_new(r->ctx, m, text);
    return tn_is_error(p) ? NULL : p;
}

/* ---- the types ---- */
static value
tensor_type(reader *r, const ast *e, const char *name)
{
    call_args a = rd_args(e, name);
    value shape = {.kind = V_NONE}, dtype = {.kind = V_NONE}, v;
    const ast *shape_at = e, *dtype_at = e, *where = e;
    bool has_shape = rd_arg(r, &a, "shape", &shape, &shape_at);
    bool has_dtype = rd_arg(r, &a, "dtype", &dtype, &dtype_at);
    /* R.Tensor("float32") */
    if (has_shape && !has_dtype &&
        (shape.kind == V_STR || (shape.kind == V_PATH && shape.s[0] == 'T'))) {
        dtype = shape;
        dtype_at = shape_at;
        shape = (value){.kind = V_NONE};
    }
    tnb_dtype d = TNB_VOID;
    int64_t ndim = -1;
    const tn_node *vdevice = NULL;
    bool ok = shape.kind != V_ERROR && dtype.kind != V_ERROR && rd_dtype(r, dtype_at, dtype, &d);
    value device = {0};
    const ast *device_at = e;
    bool distributed = strstr(name, "DTensor") != NULL, has_device = false;
    if (distributed)
        ok &= (vdevice = placement_args(r, e, &a)) != NULL;
    else
        has_device = rd_arg(r, &a, "vdevice", &device, &device_at);
    bool has_ndim = rd_arg(r, &a, "ndim", &v, &where) && v.kind != V_NONE;
    if (has_ndim)
        ok &= rd_int(r, where, v, &ndim);
    if (has_device) {
        vdevice = rd_vdevice(r, device_at, device);
        ok &= vdevice || device.kind == V_NONE;
    }
    ok &= rd_args_end(r, &a);
    if (!ok)
        return rd_failed();
    const tn_expr *s = NULL;
    if (shape.kind == V_NODE && tn_is_var(shape.node) && !tn_is_scalar(shape.node)) {
        s = shape.node;
    } else if (shape.kind != V_NONE) {
        node_vec dims = {0};
        if (!rd_dims(r, shape_at, shape, &dims))
            return rd_failed();
        if (has_ndim && ndim >= 0 && ndim != (int64_t)dims.n)
            return rd_error(r, e, TNB_SHAPE, "%s: ndim is %lld, but the shape has %u dimensions",
                            name, (long long)ndim, dims.n);
        rd_at(r, e);
        s = tn_shape_expr_of(r->ctx, (tn_list){dims.at, dims.n});
        ndim = dims.n;
    }
    if (ndim < -1)
        return rd_error(r, e, TNB_SHAPE, "%s: ndim is %lld", name, (long long)ndim);
    rd_at(r, e);
    return rd_node(tn_ty_tensor_of(r->ctx, s, d, ndim, vdevice));
}

static value
shape_type(reader *r, const ast *e, const char *name)
{
    call_args a = rd_args(e, name);
    value v, n;
    const ast *where = e, *n_at = e;
    int64_t ndim = -1;
    bool has_values = rd_arg(r, &a, "values", &v, &where) && v.kind != V_NONE;
    bool has_ndim = rd_keyword(r, &a, "ndim", &n, &n_at);
    if ((has_ndim && !rd_int(r, n_at, n, &ndim)) || !rd_args_end(r, &a) ||
        (has_values && v.kind == V_ERROR))
        return rd_failed();
    if (!has_values) {
        rd_at(r, e);
        return rd_node(tn_ty_shape_rank(r->ctx, ndim < 0 ? -1 : ndim));
    }
    node_vec dims = {0};
    if (!rd_dims(r, where, v, &dims))
        return rd_failed();
    if (has_ndim && ndim >= 0 && ndim != (int64_t)dims.n)
        return rd_error(r, e, TNB_SHAPE, "%s: ndim is %lld, but there are %u values", name,
                        (long long)ndim, dims.n);
    rd_at(r, e);
    return rd_node(tn_ty_shape_of(r->ctx, (tn_list){dims.at, dims.n}));
}

static value
prim_type(reader *r, const ast *e, const char *name)
{
    call_args a = rd_args(e, name);
    value v;
    const ast *where = e;
    tnb_dtype d = TNB_VOID;
    if (rd_arg(r, &a, "dtype", &v, &where) && !rd_dtype(r, where, v, &d))
        return rd_failed();
    /* the old R.Prim(value=n): its dtype */
    if (rd_keyword(r, &a, "value", &v, &where)) {
        const tn_expr *x = rd_dim(r, where, v);
        if (!x)
            return rd_failed();
        if (tnb_dtype_is_void(d))
            d = tn_dtype_of(x);
    }
    if (!rd_args_end(r, &a))
        return rd_failed();
    if (tnb_dtype_is_void(d))
        return rd_error(r, e, TNB_TYPE, "R.Prim needs a dtype");
    return rd_node(tn_ty_prim_of(r->ctx, d));
}

static bool
type_list(reader *r, const ast *e, value v, node_vec *out)
{
    const value *items;
    uint32_t n;
    if (!rd_items(r, e, v, true, &items, &n))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        const tn_type *t = rd_type(r, e, items[i]);
        if (!t)
            return false;
        TNB_PUSH(r->arena, *out, t);
    }
    return true;
}

static value
tuple_type(reader *r, const ast *e, const char *name)
{
    call_args a = rd_args(e, name);
    node_vec fields = {0};
    value v;
    const ast *where = e;
    while (a.used < e->list.n) {
        rd_arg(r, &a, NULL, &v, &where);
        if (!type_list(r, where, v, &fields))
            return rd_failed();
    }
    if (!rd_args_end(r, &a))
        return rd_failed();
    rd_at(r, e);
    return rd_node(tn_ty_tuple_of(r->ctx, (tn_list){fields.at, fields.n}));
}

static value
callable_type(reader *r, const ast *e, const char *name)
{
    call_args a = rd_args(e, name);
    value params = {.kind = V_NONE}, ret, v;
    const ast *params_at = e, *ret_at = e, *where = e;
    bool has_params = rd_arg(r, &a, "params", &params, &params_at) && params.kind != V_NONE;
    const tn_type *result = NULL;
    if (rd_arg(r, &a, "ret", &ret, &ret_at) && ret.kind != V_NONE &&
        !(result = rd_type(r, ret_at, ret)))
        return rd_failed();
    bool pure = has_params;
    const char *derive = NULL;
    if (rd_arg(r, &a, "purity", &v, &where) && !rd_bool(r, where, v, &pure))
        return rd_failed();
    if (rd_keyword(r, &a, "derive_func", &v, &where) && v.kind != V_NONE &&
        !(derive = rd_text(r, where, v)))
        return rd_failed();
    if (!rd_args_end(r, &a) || params.kind == V_ERROR)
        return rd_failed();
    rd_at(r, e);
    if (!has_params)
        return rd_node(tn_ty_func_opaque(r->ctx, result, pure, derive));
    node_vec types = {0};
    if (!type_list(r, params_at, params, &types))
        return rd_failed();
    if (!result)
        return rd_error(r, e, TNB_INVALID, "R.Callable with parameters needs a result type");
    return rd_node(tn_ty_func_of(r->ctx, (tn_list){types.at, types.n}, result, pure));
}

value
rd_type_call(reader *r, const ast *e, const char *name, bool *known)
{
    static const struct {
        const char *name, *full;
        value (*read)(reader *, const ast *, const char *);
    } table[] = {
        {"Tensor", "R.Tensor", tensor_type},
        {"DTensor", "R.DTensor", tensor_type},
        {"dist.DTensor", "R.dist.DTensor", tensor_type},
        {"Shape", "R.Shape", shape_type},
        {"Prim", "R.Prim", prim_type},
        {"Tuple", "R.Tuple", tuple_type},
        {"Callable", "R.Callable", callable_type},
    };
    *known = true;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(name, table[i].name))
            return table[i].read(r, e, table[i].full);
    if ((!strcmp(name, "Any") || !strcmp(name, "Object") || !strcmp(name, "PackedFunc")) &&
        !e->list.n && !e->more.n)
        return rd_node(rd_bare_type(r, tn_strf(r->ctx, "R.%s", name)));
    *known = false;
    return rd_failed();
}

const tn_type *
rd_bare_type(reader *r, const char *path)
{
    tnb_dtype d;
    if (path[0] == 'T' && path[1] == '.') {
        if (!strcmp(path, "T.handle"))
            return tn_ty_prim_of(r->ctx, TNB_DTYPE(TNB_HANDLE, 64));
        if (!strcmp(path, "T.boolean"))
            return tn_ty_prim_of(r->ctx, TNB_B8);
        if (tnb_dtype_parse(path + 2, strlen(path + 2), &d))
            return tn_ty_prim_of(r->ctx, d);
        return NULL;
    }
    if (strncmp(path, "R.", 2) != 0)
        return NULL;
    path += 2;
    if (!strcmp(path, "Tensor"))
        return tn_ty_tensor_of(r->ctx, NULL, TNB_VOID, -1, NULL);
    if (!strcmp(path, "Shape"))
        return tn_ty_shape_rank(r->ctx, -1);
    if (!strcmp(path, "Tuple"))
        return tn_ty_tuple_of(r->ctx, (tn_list){0});
    if (!strcmp(path, "Any") || !strcmp(path, "Object"))
        return tn_ty_any(r->ctx);
    if (!strcmp(path, "Callable") || !strcmp(path, "PackedFunc"))
        return tn_ty_func_opaque(r->ctx, NULL, false, NULL);
    return NULL;
}

const tn_type *
rd_stronger(reader *r, const tn_type *written, const tn_type *known)
{
    tn_ctx *ctx = r->ctx;
    if (tn_type_check(ctx, written, known) == TN_SUBTYPE_YES)
        return known;
    if (written->kind != known->kind || tn_type_check(ctx, known, written) == TN_SUBTYPE_YES)
        return written;
    const tn_ty_tuple *w = tn_as_ty_tuple(written), *k = tn_as_ty_tuple(known);
    if (w && w->fields.n == k->fields.n) {
        const tn_node **at = TNB_NEW_N(r->arena, const tn_node *, w->fields.n);
        for (uint32_t i = 0; i < w->fields.n; i++)
            at[i] = rd_stronger(r, w->fields.at[i], k->fields.at[i]);
        return tn_ty_tuple_of(ctx, (tn_list){at, w->fields.n});
    }
    if (!tn_is(written, TN_KIND_TY_TENSOR))
        return written;
    const tn_ty_tensor *a = (const tn_ty_tensor *)written, *b = (const tn_ty_tensor *)known;
    return tn_ty_tensor_of(ctx, a->shape ? a->shape : b->shape,
                           tnb_dtype_is_void(a->dtype) ? b->dtype : a->dtype,
                           a->ndim < 0 ? b->ndim : a->ndim, a->vdevice ? a->vdevice : b->vdevice);
}

const tn_type *
rd_type(reader *r, const ast *e, value v)
{
    if (v.kind == V_ERROR)
        return NULL;
    if (v.kind == V_META)
        v = v.items[0];
    if (v.kind == V_NODE && tn_is_type(v.node))
        return v.node;
    if (v.kind == V_DECLARED) /* T.int64() where T.int64 is meant */
        return v.node->type;
    if (v.kind == V_PATH) {
        const tn_type *t = rd_bare_type(r, v.s);
        if (t)
            return t;
        rd_error(r, e, TNB_NOT_FOUND, "%s is not a type", v.s);
        return NULL;
    }
    if (v.kind == V_NONE)
        return tn_ty_tuple_of(r->ctx, (tn_list){0});
    rd_error(r, e, TNB_TYPE, "expected a type, found %s", rd_what(r, v));
    return NULL;
}
