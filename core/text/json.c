/* SPDX-License-Identifier: Apache-2.0 */
/* Attribute values as JSON: numbers, texts, booleans, null, arrays, objects. What JSON lacks is
 * written as an object with one key that begins with "$": {"$dtype": "float16"}, {"$float": "nan"},
 * and so on.
 */
#include <jansson.h>
#include <math.h>

#include "ast.h"
#include "tenon/base/json.h"
#include "tenon/base/num.h"
#include "tenon/core/text.h"

#define MAX_JSON_DEPTH 200

/* ---- from JSON ---- */
static const tn_node *
from_json(tn_ctx *ctx, const json_t *j, int depth, tnb_err *err);

static const tn_node *
special(tn_ctx *ctx, const char *key, const json_t *j)
{
    const char *s = json_string_value(j);
    tnb_dtype d;
    double f;
    if (!s)
        return NULL;
    if (!strcmp(key, "$dtype")) {
        if (!strcmp(s, "void"))
            return tn_dtype_imm_of(ctx, TNB_VOID);
        return tnb_dtype_parse(s, strlen(s), &d) ? tn_dtype_imm_of(ctx, d) : NULL;
    }
    if (!strcmp(key, "$float"))
        return tnb_read_f64(s, strlen(s), &f) ? tn_float_imm_of(ctx, TNB_F64, f) : NULL;
    return NULL;
}

/* {"$int": ["int32", 5]}, {"$real": ["float32", "0.5"]}, {"$target": ["llvm", {...}]} */
static const tn_node *
typed(tn_ctx *ctx, const char *key, const json_t *j, int depth, tnb_err *err)
{
    const char *first = json_string_value(json_array_get(j, 0));
    const json_t *second = json_array_get(j, 1);
    tnb_dtype d;
    if (!first || json_array_size(j) != 2)
        return NULL;
    if (!strcmp(key, "$target")) {
        const tn_node *attrs = json_is_null(second) ? NULL : from_json(ctx, second, depth + 1, err);
        return json_is_null(second) || attrs ? tn_target_of(ctx, first, attrs) : NULL;
    }
    if (!tnb_dtype_parse(first, strlen(first), &d))
        return NULL;
    const char *text = json_string_value(second);
    int64_t i;
    double f;
    if (!strcmp(key, "$int") && text && tnb_read_i64(text, strlen(text), &i))
        return tn_int_imm_of(ctx, d, i);
    if (!strcmp(key, "$real") && text && tnb_read_f64(text, strlen(text), &f))
        return tn_float_imm_of(ctx, d, f);
    return NULL;
}

static const tn_node *
from_object(tn_ctx *ctx, const json_t *j, int depth, tnb_err *err)
{
    size_t n = json_object_size(j), i = 0;
    const char **keys = TNB_NEW_N(tn_scratch(ctx), const char *, n);
    const tn_node **values = TNB_NEW_N(tn_scratch(ctx), const tn_node *, n);
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)(uintptr_t)j, key, v)
    {
        if (n == 1 && key[0] == '$') {
            const tn_node *x =
                json_is_array(v) ? typed(ctx, key, v, depth, err) : special(ctx, key, v);
            if (!x)
                tnb_fail(err, TNB_FORMAT, "malformed value \"%s\"", key);
            return x;
        }
        keys[i] = key;
        values[i] = from_json(ctx, v, depth + 1, err);
        if (!values[i++])
            return NULL;
    }
    return tn_dict_of(ctx, keys, values, (uint32_t)n);
}

static const tn_node *
from_json(tn_ctx *ctx, const json_t *j, int depth, tnb_err *err)
{
    if (depth > MAX_JSON_DEPTH) {
        tnb_fail(err, TNB_FORMAT, "the JSON text is nested too deeply");
        return NULL;
    }
    switch (json_typeof(j)) {
    case JSON_OBJECT:
        return from_object(ctx, j, depth, err);
    case JSON_ARRAY: {
        size_t n = json_array_size(j);
        const tn_node **at = TNB_NEW_N(tn_scratch(ctx), const tn_node *, n);
        for (size_t i = 0; i < n; i++) {
            at[i] = from_json(ctx, json_array_get(j, i), depth + 1, err);
            if (!at[i])
                return NULL;
        }
        return tn_array_of(ctx, (tn_list){at, (uint32_t)n});
    }
    case JSON_STRING:
        return tn_string(ctx, json_string_value(j));
    case JSON_INTEGER:
        return tn_i64(ctx, json_integer_value(j));
    case JSON_REAL:
        return tn_float_imm_of(ctx, TNB_F64, json_real_value(j));
    case JSON_TRUE:
        return tn_bool(ctx, true);
    case JSON_FALSE:
        return tn_bool(ctx, false);
    default:
        return tn_none_value(ctx);
    }
}

const tn_node *
tn_value_from_json(tn_ctx *ctx, const char *text, size_t n, tnb_err *err)
{
    json_t *j;
    if (tnb_json_parse(text, n, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &j, err) != TNB_OK)
        return NULL;
    const tn_node *v = from_json(ctx, j, 0, err);
    json_decref(j);
    if (tn_is_error(v)) {
        tnb_fail(err, TNB_FORMAT, "the JSON value cannot be represented");
        return NULL;
    }
    return v;
}

/* ---- to JSON ---- */

/* JSON is UTF-8: a byte that is not becomes the replacement character. */
void
tn_json_text(tnb_buf *out, const char *s)
{
    tnb_buf_putc(out, '"');
    for (const char *end = s + strlen(s); *s; s++) {
        unsigned char c = (unsigned char)*s;
        int n = tn_utf8_length(s, end);
        if (n != 1) {
            tnb_buf_put(out, n ? s : "\xef\xbf\xbd", n ? (size_t)n : 3);
            s += n ? n - 1 : 0;
            continue;
        }
        if (c == '"' || c == '\\')
            tnb_buf_printf(out, "\\%c", c);
        else if (c == '\n')
            tnb_buf_puts(out, "\\n");
        else if (c < 0x20)
            tnb_buf_printf(out, "\\u%04x", c);
        else
            tnb_buf_putc(out, *s);
    }
    tnb_buf_putc(out, '"');
}

static tnb_status
to_json(const tn_node *v, tnb_buf *out, int depth);

static tnb_status
list_to_json(tn_list l, tnb_buf *out, int depth)
{
    tnb_buf_putc(out, '[');
    for (uint32_t i = 0; i < l.n; i++) {
        if (i)
            tnb_buf_puts(out, ", ");
        TNB_TRY(to_json(l.at[i], out, depth + 1));
    }
    tnb_buf_putc(out, ']');
    return TNB_OK;
}

static void
int_to_json(const tn_int_imm *i, tnb_buf *out)
{
    tnb_dtype d = tn_dtype_of(&i->base);
    if (tnb_dtype_is_bool(d))
        tnb_buf_puts(out, i->value ? "true" : "false");
    else if (tnb_dtype_eq(d, TNB_I64))
        tnb_buf_printf(out, "%lld", (long long)i->value);
    else
        tnb_buf_printf(out, "{\"$int\": [\"%s\", \"%lld\"]}", tnb_dtype_print(d).s,
                       (long long)i->value);
}

static void
float_to_json(const tn_float_imm *f, tnb_buf *out)
{
    tnb_dtype d = tn_dtype_of(&f->base);
    tnb_num_text text = tnb_print_f64(f->value);
    const char *s = text.s;
    if (!tnb_dtype_eq(d, TNB_F64))
        tnb_buf_printf(out, "{\"$real\": [\"%s\", \"%s\"]}", tnb_dtype_print(d).s, s);
    else if (isfinite(f->value))
        tnb_buf_puts(out, s);
    else
        tnb_buf_printf(out, "{\"$float\": \"%s\"}", s);
}

static tnb_status
to_json(const tn_node *v, tnb_buf *out, int depth)
{
    if (!v || depth > MAX_JSON_DEPTH)
        return v ? TNB_BOUNDS : TNB_INVALID;
    switch ((tn_kind)v->kind) {
    case TN_KIND_NONE:
        tnb_buf_puts(out, "null");
        return TNB_OK;
    case TN_KIND_INT_IMM:
        int_to_json((const tn_int_imm *)v, out);
        return TNB_OK;
    case TN_KIND_FLOAT_IMM:
        float_to_json((const tn_float_imm *)v, out);
        return TNB_OK;
    case TN_KIND_STRING_IMM:
        tn_json_text(out, ((const tn_string_imm *)v)->value);
        return TNB_OK;
    case TN_KIND_DTYPE_IMM:
        tnb_buf_printf(out, "{\"$dtype\": \"%s\"}",
                       tnb_dtype_print(((const tn_dtype_imm *)v)->value).s);
        return TNB_OK;
    case TN_KIND_ARRAY:
        return list_to_json(((const tn_array *)v)->items, out, depth);
    case TN_KIND_TUPLE:
        return list_to_json(((const tn_tuple *)v)->fields, out, depth);
    case TN_KIND_SHAPE_EXPR:
        return list_to_json(((const tn_shape_expr *)v)->values, out, depth);
    case TN_KIND_TARGET: {
        const tn_target *t = (const tn_target *)v;
        tnb_buf_puts(out, "{\"$target\": [");
        tn_json_text(out, t->kind);
        tnb_buf_puts(out, ", ");
        if (t->attrs)
            TNB_TRY(to_json(t->attrs, out, depth + 1));
        else
            tnb_buf_puts(out, "null");
        tnb_buf_puts(out, "]}");
        return TNB_OK;
    }
    case TN_KIND_DICT: {
        tn_list l = ((const tn_dict *)v)->items;
        tnb_buf_putc(out, '{');
        for (uint32_t i = 0; i < l.n; i++) {
            const tn_pair *p = tn_as_pair(l.at[i]);
            if (i)
                tnb_buf_puts(out, ", ");
            tn_json_text(out, p->key);
            tnb_buf_puts(out, ": ");
            TNB_TRY(to_json(p->value, out, depth + 1));
        }
        tnb_buf_putc(out, '}');
        return TNB_OK;
    }
    default:
        return TNB_UNSUPPORTED;
    }
}

tnb_status
tn_value_to_json(const tn_node *v, tnb_buf *out)
{
    size_t before = out->n;
    tnb_status s = to_json(v, out, 0);
    if (s != TNB_OK && out->s) {
        out->n = before;
        out->s[before] = 0;
    }
    return out->failed ? TNB_NO_MEMORY : s;
}
