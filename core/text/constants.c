/* SPDX-License-Identifier: Apache-2.0 */
/* Constants in the text: R.const(...) and metadata["relax.expr.Constant"][i].
 *
 *     R.const(1.5, "float32")                       a scalar
 *     R.const([[1, 2], [3, 4]], "int32")            its shape is that of the lists
 *     R.const(0, "float32", shape=[1024, 1024])     one value everywhere, kept as such
 *     R.const([], "float32", shape=[0, 3])          no elements
 *     R.const(bytes="0000c07f", dtype="float32")    the bytes, where decimals would not give them back
 *
 * The table of large constants stands in front of the module:
 *
 *     metadata = tvm.ir.load_json("""{"relax.expr.Constant": [{"dtype": "float32", "hash": "...",
 *         "offset": 0, "shape": [1024, 10]}], "file": "model.py.consts"}""")
 *
 * and the bytes lie at the offset of that file, beside the text; without "file" only the hashes are known.
 */
#include <stdlib.h>

#include "tenon/base/file.h"
#include "tenon/base/hash.h"
#include "reader.h"
#include "../private.h"

#define MAX_DIMS 64

/* ---- R.const ---- */
static int
hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static bool
shape_argument(reader *r, const ast *e, value v, int64_t *dims, int32_t *ndim)
{
    const value *items;
    uint32_t n;
    if (!rd_items(r, e, v, false, &items, &n))
        return false;
    if (n > MAX_DIMS) {
        rd_error(r, e, TNB_SHAPE, "a constant has at most %d dimensions", MAX_DIMS);
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (!rd_int(r, e, items[i], &dims[i]))
            return false;
        if (dims[i] < 0) {
            rd_error(r, e, TNB_SHAPE, "a dimension of a constant is negative");
            return false;
        }
    }
    *ndim = (int32_t)n;
    return true;
}

static value
from_bytes(reader *r, const ast *e, const char *hex, tnb_dtype d, int32_t ndim, const int64_t *dims)
{
    size_t n = strlen(hex) / 2;
    uint8_t *bytes = tnb_alloc(r->arena, n + 1);
    for (size_t i = 0; i < n; i++) {
        int hi = hex_digit(hex[2 * i]), lo = hex_digit(hex[2 * i + 1]);
        if (hi < 0 || lo < 0)
            return rd_error(r, e, TNB_FORMAT, "bytes must be hexadecimal digits");
        bytes[i] = (uint8_t)(hi << 4 | lo);
    }
    if (strlen(hex) % 2)
        return rd_error(r, e, TNB_FORMAT, "bytes must be pairs of hexadecimal digits");
    uint64_t count, want;
    tnb_err err = {0};
    if (tnb_shape_bytes(d, ndim, dims, &count, &want, &err) != TNB_OK)
        return rd_error(r, e, err.status, "%s", err.message);
    rd_at(r, e);
    if (n != want && n == tnb_dtype_bytes(d) && count > 1 && n <= 16)
        return rd_node(tn_constant_of(r->ctx, tn_data_splat(r->ctx, d, ndim, dims, bytes)));
    if (n != want)
        return rd_error(r, e, TNB_SHAPE,
                        "the constant has %zu bytes, its shape and dtype want %llu", n,
                        (unsigned long long)want);
    void *to;
    const tn_data *data = tn_data_new(r->ctx, d, ndim, dims, &to);
    if (data && n)
        memcpy(to, bytes, n);
    return rd_node(tn_constant_of(r->ctx, data));
}

/* One element of a list; scalars of the IR may stand in for numbers. */
static bool
store_element(reader *r, const ast *e, value v, tnb_dtype d, void *to, uint64_t i)
{
    if (v.kind == V_NODE && tn_is(v.node, TN_KIND_INT_IMM))
        v = (value){.kind = V_INT, .i = ((const tn_int_imm *)v.node)->value};
    else if (v.kind == V_NODE && tn_is(v.node, TN_KIND_FLOAT_IMM))
        v = (value){.kind = V_FLOAT, .f = ((const tn_float_imm *)v.node)->value};
    bool ok;
    if (v.kind == V_FLOAT) {
        if (!tnb_dtype_is_float(d)) {
            rd_error(r, e, TNB_TYPE, "%g is not a value of dtype %s", v.f, tnb_dtype_print(d).s);
            return false;
        }
        ok = tnb_store_f64(to, d, i, v.f);
    } else if (v.kind == V_INT || v.kind == V_BOOL) {
        ok = tnb_dtype_is_float(d)
                 ? tnb_store_f64(to, d, i, v.big ? (double)(uint64_t)v.i : (double)v.i)
                 : tnb_store_i64(to, d, i, tnb_dtype_is_bool(d) ? v.i != 0 : v.i);
    } else {
        if (v.kind != V_ERROR)
            rd_error(r, e, TNB_TYPE, "expected a number, found %s", rd_what(r, v));
        return false;
    }
    if (!ok)
        rd_error(r, e, TNB_UNSUPPORTED, "constants of dtype %s cannot be written as numbers",
                 tnb_dtype_print(d).s);
    return ok;
}

static bool
is_list(value v)
{
    return v.kind == V_LIST || v.kind == V_TUPLE;
}

static bool
fill(reader *r, const ast *e, value v, tnb_dtype d, const int64_t *dims, int32_t ndim, void *to,
     uint64_t *i)
{
    if (ndim == 0)
        return store_element(r, e, v, d, to, (*i)++);
    if (!is_list(v) || (int64_t)v.n != dims[0]) {
        if (v.kind != V_ERROR)
            rd_error(r, e, TNB_SHAPE, "the lists of the constant differ in length");
        return false;
    }
    for (uint32_t k = 0; k < v.n; k++)
        if (!fill(r, e, v.items[k], d, dims + 1, ndim - 1, to, i))
            return false;
    return true;
}

static tnb_dtype
default_dtype(value v)
{
    while (is_list(v) && v.n)
        v = v.items[0];
    if (v.kind == V_NODE)
        return tn_dtype_of(v.node);
    return v.kind == V_FLOAT || is_list(v) ? TNB_F32 : v.kind == V_BOOL ? TNB_B8 : TNB_I32;
}

value
rd_const_call(reader *r, const ast *e)
{
    call_args a = rd_args(e, "R.const");
    value v, t, s;
    const ast *v_at = e, *t_at = e, *s_at = e;
    int64_t dims[MAX_DIMS] = {0};
    int32_t ndim = 0;
    tnb_dtype d = TNB_VOID;
    value bytes;
    const ast *bytes_at = e;
    bool has_bytes = rd_keyword(r, &a, "bytes", &bytes, &bytes_at);
    bool has_value = rd_arg(r, &a, "value", &v, &v_at);
    if (rd_arg(r, &a, "dtype", &t, &t_at) && !rd_dtype(r, t_at, t, &d))
        return rd_failed();
    bool has_shape = rd_keyword(r, &a, "shape", &s, &s_at);
    if (!rd_args_end(r, &a) || (has_shape && !shape_argument(r, s_at, s, dims, &ndim)))
        return rd_failed();
    if (has_bytes && !has_value) {
        const char *hex = rd_text(r, bytes_at, bytes);
        if (!hex)
            return rd_failed();
        if (tnb_dtype_is_void(d))
            return rd_error(r, e, TNB_TYPE, "R.const of bytes needs a dtype");
        return from_bytes(r, bytes_at, hex, d, ndim, dims);
    }
    if (!has_value)
        return rd_error(r, e, TNB_INVALID, "R.const: argument 'value' is missing");
    if (v.kind == V_ERROR)
        return v;
    if (tnb_dtype_is_void(d))
        d = default_dtype(v);
    if (d.lanes != 1 || tnb_dtype_is_void(d))
        return rd_error(r, e, TNB_TYPE, "a constant of dtype %s is not possible",
                        tnb_dtype_print(d).s);
    rd_at(r, e);
    if (has_shape && !is_list(v)) {
        uint8_t element[16] = {0};
        if (tnb_dtype_bytes(d) > sizeof element || !store_element(r, v_at, v, d, element, 0))
            return rd_failed();
        return rd_node(tn_constant_of(r->ctx, tn_data_splat(r->ctx, d, ndim, dims, element)));
    }
    if (!has_shape) {
        value x = v;
        while (is_list(x)) {
            if (ndim == MAX_DIMS)
                return rd_error(r, v_at, TNB_SHAPE, "a constant has at most %d dimensions",
                                MAX_DIMS);
            dims[ndim++] = x.n;
            if (!x.n)
                break;
            x = x.items[0];
        }
    } else if (v.n) {
        return rd_error(r, e, TNB_INVALID, "the shape is that of the lists");
    }
    void *to;
    const tn_data *data = tn_data_new(r->ctx, d, ndim, dims, &to);
    uint64_t i = 0;
    if (!data)
        return rd_failed();
    if (data->n_elems && !fill(r, v_at, v, d, dims, ndim, to, &i))
        return rd_failed();
    return rd_node(tn_constant_of(r->ctx, data));
}

/* ---- the table ---- */
struct constant_table {
    const tn_array *entries;
    const tn_expr **made;
    const char *file; /* as the table says; NULL: hashes only */
    const char *path;
    const tnb_mapping *map;
    bool tried;
};

static void
release_mapping(void *p)
{
    tnb_unmap(p);
    free(p);
}

/* Upstream's type of a constant names its table; it was renamed. */
static bool
is_table_name(const char *key)
{
    return strcmp(key, "relax.expr.Constant") == 0 || strcmp(key, "ir.GenericConst") == 0;
}

constant_table *
rd_constants(reader *r, const ast *e, const char *json)
{
    tnb_err err = {0};
    const tn_node *d = tn_value_from_json(r->ctx, json, strlen(json), &err);
    if (!d) {
        rd_error(r, e, err.status, "metadata: %s", err.message);
        return NULL;
    }
    constant_table *t = TNB_NEW(r->arena, constant_table);
    const tn_dict *tables = tn_as_dict(d);
    for (uint32_t i = 0; tables && i < tables->items.n && !t->entries; i++) {
        const tn_pair *p = tn_as_pair(tables->items.at[i]);
        t->entries = is_table_name(p->key) ? tn_as_array(p->value) : NULL;
    }
    t->file = tn_dict_str(d, "file", NULL);
    if (t->entries)
        t->made = TNB_NEW_N(r->arena, const tn_expr *, t->entries->items.n);
    return t;
}

/* Maps the sidecar, which lies in the folder of the text. */
static bool
map_sidecar(reader *r, const ast *e, constant_table *t)
{
    if (t->tried)
        return t->map != NULL;
    t->tried = true;
    tnb_err err = {0};
    tnb_mapping *m = calloc(1, sizeof *m);
    const char *dir = tnb_path_dir(r->arena, r->src.file ? r->src.file : ".");
    if (!m || tnb_map_below(dir, t->file, 0, m, &err) != TNB_OK) {
        free(m);
        rd_error(r, e, err.status, "the module's constants: %s", err.message);
        return false;
    }
    tn_ctx_own(r->ctx, m, release_mapping);
    t->path = tnb_path_join(tn_arena(r->ctx), dir, t->file);
    t->map = m;
    return true;
}

/* A constant that this context has printed, when the text makes a round trip; else NULL. */
static const tn_data *
printed_constant(reader *r, const char *hash, tnb_dtype d, int ndim, const int64_t *dims)
{
    if (!r->ctx->printed)
        return NULL;
    const char *key = tnb_printf(r->arena, "%s %s", hash, tnb_dtype_print(d).s);
    for (int i = 0; i < ndim; i++)
        key = tnb_printf(r->arena, "%s %lld", key, (long long)dims[i]);
    return tnb_strmap_get(r->ctx->printed, key);
}

static value
load_constant(reader *r, const ast *e, constant_table *t, const tn_node *entry, int64_t index)
{
    const char *dtype = tn_dict_str(entry, "dtype", ""), *hash = tn_dict_str(entry, "hash", "");
    int64_t offset = tn_dict_int(entry, "offset", -1), dims[MAX_DIMS] = {0};
    int ndim = tn_dict_ints(entry, "shape", dims, MAX_DIMS);
    tnb_dtype d;
    uint64_t count, bytes;
    tnb_err err = {0};
    if (!tnb_dtype_parse(dtype, strlen(dtype), &d) || ndim < 0)
        return rd_error(r, e, TNB_FORMAT, "constant %lld of the metadata has no dtype and shape",
                        (long long)index);
    if (tnb_shape_bytes(d, ndim, dims, &count, &bytes, &err) != TNB_OK)
        return rd_error(r, e, TNB_SHAPE, "constant %lld of the metadata has an impossible shape",
                        (long long)index);
    const tn_data *printed = printed_constant(r, hash, d, ndim, dims);
    if (printed) {
        rd_at(r, e);
        return rd_node(tn_constant_of(r->ctx, printed));
    }
    if (!t->file || offset < 0) {
        rd_error(r, e, TNB_NOT_FOUND, "the bytes of constant %lld (%s) are not at hand",
                 (long long)index, hash);
        rd_hint(r, "print the module with its constants in a file beside it");
        return rd_failed();
    }
    if (!map_sidecar(r, e, t))
        return rd_failed();
    uint64_t end;
    if (!tnb_add_u64((uint64_t)offset, bytes, &end) || end > t->map->size)
        return rd_error(r, e, TNB_BOUNDS, "constant %lld lies behind the end of '%s'",
                        (long long)index, t->file);
    const char *at = (const char *)t->map->data + offset;
    if (*hash && strcmp(tnb_hash_print(tnb_hash_128(at, bytes)).s, hash) != 0)
        return rd_error(r, e, TNB_DIFFERS,
                        "constant %lld in '%s' is not the one that the module was printed with",
                        (long long)index, t->file);
    rd_at(r, e);
    return rd_node(tn_constant_of(r->ctx, tn_data_file(r->ctx, d, ndim, dims, at,
                                                       tn_str(r->ctx, t->path), (uint64_t)offset)));
}

value
rd_constant_at(reader *r, const ast *e, const char *key, int64_t i)
{
    constant_table *t = r->constants;
    if (!is_table_name(key))
        return rd_error(r, e, TNB_UNSUPPORTED, "metadata of kind '%s' is not supported", key);
    if (!t || !t->entries) {
        rd_error(r, e, TNB_NOT_FOUND, "the module refers to constant %lld, but brings no metadata",
                 (long long)i);
        rd_hint(r, "print it with its metadata: script(show_meta=True)");
        return rd_failed();
    }
    if (i < 0 || i >= (int64_t)t->entries->items.n)
        return rd_error(r, e, TNB_BOUNDS, "constant %lld of %u", (long long)i, t->entries->items.n);
    if (!t->made[i]) {
        value v = load_constant(r, e, t, t->entries->items.at[i], i);
        if (v.kind != V_NODE)
            return v;
        t->made[i] = v.node;
    }
    return rd_node(t->made[i]);
}
