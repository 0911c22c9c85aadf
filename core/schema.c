/* SPDX-License-Identifier: Apache-2.0 */
/* Attribute schemas: defaults, conversions, checks. One schema serves operators, passes and
 * targets. */
#include "tenon/base/conf.h"
#include "tenon/base/num.h"
#include "tenon/core/text.h"
#include "value.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const wanted[] = {
    /* ORDER ATTR_TYPE */
    "any value",
    "an integer",
    "a number",
    "true or false",
    "a text",
    "a dtype",
    "a list of integers",
    "a list of numbers",
    "a list of texts",
    "a list of scalar expressions",
    "an index map",
    "a virtual device",
};
_Static_assert(sizeof wanted / sizeof *wanted == TN_ATTR_VDEVICE + 1, "one row for each type");

static bool
is_bool(const tn_node *v)
{
    return tn_is(v, TN_KIND_INT_IMM) && tnb_dtype_is_bool(tn_dtype_of(v));
}

static const tn_node *
to_int(tn_ctx *ctx, const tn_node *v)
{
    int64_t i;
    return tn_int_value(v, &i) && !is_bool(v) ? tn_i64(ctx, i) : NULL;
}

static const tn_node *
to_float(tn_ctx *ctx, const tn_node *v)
{
    int64_t i;
    if (tn_is(v, TN_KIND_FLOAT_IMM))
        return tn_float_imm_of(ctx, TNB_F64, ((const tn_float_imm *)v)->value);
    return tn_int_value(v, &i) && !is_bool(v) ? tn_float_imm_of(ctx, TNB_F64, (double)i) : NULL;
}

static const tn_node *
to_bool(tn_ctx *ctx, const tn_node *v)
{
    int64_t i;
    return tn_int_value(v, &i) && (i == 0 || i == 1) ? tn_bool(ctx, i != 0) : NULL;
}

static const tn_node *
to_str(tn_ctx *ctx, const tn_node *v)
{
    (void)ctx;
    return tn_is(v, TN_KIND_STRING_IMM) ? v : NULL;
}

static const tn_node *
to_dtype(tn_ctx *ctx, const tn_node *v)
{
    if (tn_is(v, TN_KIND_DTYPE_IMM))
        return v;
    if (!tn_is(v, TN_KIND_STRING_IMM))
        return NULL;
    const char *s = ((const tn_string_imm *)v)->value;
    tnb_dtype d = TNB_VOID;
    if (*s && strcmp(s, "void") != 0 && !tnb_dtype_parse(s, strlen(s), &d))
        return NULL;
    return tn_dtype_imm_of(ctx, d);
}

static const tn_node *
to_scalar(tn_ctx *ctx, const tn_node *v)
{
    (void)ctx;
    return tn_is_scalar(v) ? v : NULL;
}

/* A list, converted entry by entry; a lone entry is a list of one. */
static const tn_node *
to_list(tn_ctx *ctx, const tn_node *v, const tn_node *(*one)(tn_ctx *, const tn_node *))
{
    tn_list l;
    if (tn_is(v, TN_KIND_ARRAY))
        l = ((const tn_array *)v)->items;
    else if (tn_is(v, TN_KIND_TUPLE))
        l = ((const tn_tuple *)v)->fields;
    else if (tn_is(v, TN_KIND_SHAPE_EXPR))
        l = ((const tn_shape_expr *)v)->values;
    else
        l = (tn_list){&v, 1};
    const tn_node **at = TNB_NEW_N(tn_scratch(ctx), const tn_node *, l.n);
    bool same = tn_is(v, TN_KIND_ARRAY);
    for (uint32_t i = 0; i < l.n; i++) {
        at[i] = one(ctx, l.at[i]);
        if (!at[i])
            return NULL;
        same &= at[i] == l.at[i];
    }
    return same ? v : tn_array_of(ctx, (tn_list){at, l.n});
}

static const tn_node *
convert(tn_ctx *ctx, const tn_attr_schema *s, const tn_node *v)
{
    if (tn_is(v, TN_KIND_NONE) && (s->flags & TN_ATTR_OPTIONAL))
        return v;
    switch (s->type) {
    case TN_ATTR_ANY:
        return v;
    case TN_ATTR_INT:
        return to_int(ctx, v);
    case TN_ATTR_FLOAT:
        return to_float(ctx, v);
    case TN_ATTR_BOOL:
        return to_bool(ctx, v);
    case TN_ATTR_STR:
        return to_str(ctx, v);
    case TN_ATTR_DTYPE:
        return to_dtype(ctx, v);
    case TN_ATTR_INTS:
        return to_list(ctx, v, to_int);
    case TN_ATTR_FLOATS:
        return to_list(ctx, v, to_float);
    case TN_ATTR_STRS:
        return to_list(ctx, v, to_str);
    case TN_ATTR_EXPRS:
        return to_list(ctx, v, to_scalar);
    case TN_ATTR_INDEX_MAP:
        return tn_is(v, TN_KIND_INDEX_MAP) ? v : NULL;
    case TN_ATTR_VDEVICE:
        return tn_is(v, TN_KIND_VDEVICE) ? v : NULL;
    }
    return NULL;
}

/* ---- allowed values ---- */

/* Whether `text` is one of the alternatives of "a|b|c". */
static bool
is_alternative(const char *allowed, const char *text)
{
    size_t n = strlen(text);
    for (const char *s = allowed;; s++) {
        size_t k = strcspn(s, "|");
        if (k == n && strncmp(s, text, n) == 0)
            return true;
        s += k;
        if (!*s)
            return false;
    }
}

static bool
number_fits(const char *allowed, double v)
{
    double lo, hi;
    const char *dots = strstr(allowed, "..");
    if (strncmp(allowed, ">=", 2) == 0)
        return tnb_read_f64(allowed + 2, strlen(allowed + 2), &lo) && v >= lo;
    if (dots)
        return tnb_read_f64(allowed, (size_t)(dots - allowed), &lo) &&
               tnb_read_f64(dots + 2, strlen(dots + 2), &hi) && v >= lo && v <= hi;
    char text[32];
    snprintf(text, sizeof text, "%.0f", v);
    return is_alternative(allowed, text);
}

static const char *
kind_of(tnb_dtype d)
{
    return tnb_dtype_is_bool(d)    ? "bool"
           : tnb_dtype_is_float(d) ? "float"
           : d.code == TNB_UINT    ? "uint"
                                   : "int";
}

static bool
fits(const char *allowed, const tn_node *v)
{
    const tn_array *a = tn_as_array(v);
    int64_t i;
    for (uint32_t k = 0; a && k < a->items.n; k++)
        if (!fits(allowed, a->items.at[k]))
            return false;
    if (tn_is(v, TN_KIND_STRING_IMM))
        return is_alternative(allowed, ((const tn_string_imm *)v)->value);
    if (tn_is(v, TN_KIND_DTYPE_IMM)) {
        tnb_dtype d = ((const tn_dtype_imm *)v)->value;
        return is_alternative(allowed, kind_of(d)) || is_alternative(allowed, tnb_dtype_print(d).s);
    }
    if (tn_is(v, TN_KIND_FLOAT_IMM))
        return number_fits(allowed, ((const tn_float_imm *)v)->value);
    return !tn_int_value(v, &i) || number_fits(allowed, (double)i);
}

const char *
tn_allowed_words(tn_ctx *ctx, const tn_attr_schema *s)
{
    const char *t = s->allowed, *dots = t ? strstr(t, "..") : NULL;
    if (!t || strcmp(t, "unused") == 0)
        return "";
    if (strcmp(t, "axis") == 0)
        return "-rank to rank - 1";
    if (strcmp(t, "axes") == 0)
        return "-rank to rank - 1, each axis once";
    if (strncmp(t, ">=", 2) == 0)
        return tn_strf(ctx, "at least %s", t + 2);
    if (dots)
        return tn_strf(ctx, "%.*s to %s", (int)(dots - t), t, dots + 2);
    tnb_buf b = {0};
    const bool open = *t == '~';
    t += open;
    for (const char *end; *t; t = *end ? end + 1 : end) {
        end = t + strcspn(t, "|");
        tnb_buf_printf(&b, "%s%.*s", !b.n ? "" : *end || open ? ", " : " or ", (int)(end - t), t);
    }
    if (open)
        tnb_buf_puts(&b, "; others are kept");
    else if (s->type == TN_ATTR_DTYPE)
        tnb_buf_puts(&b, " types");
    const char *words = tn_strf(ctx, "%s", b.s ? b.s : "");
    tnb_buf_free(&b);
    return words;
}

/* The alternative that is nearest to a text; NULL: none is near. */
static const char *
nearest_alternative(tn_ctx *ctx, const char *allowed, const char *text)
{
    TNB_VEC(const char *) names = {0};
    for (const char *end; *allowed; allowed = *end ? end + 1 : end) {
        end = allowed + strcspn(allowed, "|");
        TNB_PUSH(tn_scratch(ctx), names, tn_strn(ctx, allowed, (size_t)(end - allowed)));
    }
    return tnb_nearest(text, names.at, names.n);
}

bool
tn_text_is_known(tn_ctx *ctx, const char *allowed, const char *text, const char **near)
{
    *near = NULL;
    if (!*text || is_alternative(allowed + 1, text))
        return true;
    *near = nearest_alternative(ctx, allowed + 1, text);
    return false;
}

/* Whether somebody else looks at the value. */
static bool
is_for_others(const char *allowed)
{
    static const char *const words[] = {"axis",    "axes", "program",  "file",   "rule",
                                        "pattern", "op",   "external", "target", "unused"};
    bool is = *allowed == '~';
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        is |= strcmp(allowed, words[i]) == 0;
    return is;
}

static bool
check_allowed(tn_ctx *ctx, const char *owner, const char *what, const tn_attr_schema *s,
              const tn_node *v)
{
    if (!s->allowed || is_for_others(s->allowed) || fits(s->allowed, v))
        return true;
    bool each = s->type == TN_ATTR_INTS || s->type == TN_ATTR_FLOATS || s->type == TN_ATTR_STRS;
    tn_error(ctx, 0, TNB_INVALID, "%s: %s '%s' is %s, expected %s%s", owner, what, s->name,
             tn_text(ctx, v), tn_allowed_words(ctx, s), each ? " in each entry" : "");
    const tn_string_imm *text = tn_as_string_imm(v);
    const char *near = text ? nearest_alternative(ctx, s->allowed, text->value) : NULL;
    if (near)
        tnb_diag_hint(tn_diags(ctx), "did you mean '%s'?", near);
    return false;
}

static const tn_node *
default_of(tn_ctx *ctx, const char *owner, const char *what, const tn_attr_schema *s)
{
    if (!s->fallback) {
        if (s->flags & TN_ATTR_OPTIONAL)
            return tn_none_value(ctx);
        tn_error(ctx, 0, TNB_INVALID, "%s needs the %s '%s' (%s)", owner, what, s->name,
                 wanted[s->type]);
        return NULL;
    }
    const tn_node *v = s->type == TN_ATTR_DTYPE || s->type == TN_ATTR_STR
                           ? NULL
                           : tn_value_of_text(ctx, s->fallback);
    if (!v) { /* a bare or quoted text, or None */
        size_t n = strlen(s->fallback);
        if (strcmp(s->fallback, "None") == 0)
            v = tn_none_value(ctx);
        else if (n >= 2 && s->fallback[0] == '"')
            v = tn_string(ctx, tn_strn(ctx, s->fallback + 1, n - 2));
        else
            v = tn_string(ctx, s->fallback);
    }
    const tn_node *c = tn_is_error(v) ? NULL : convert(ctx, s, v);
    if (!c)
        tn_error(ctx, 0, TNB_INTERNAL, "the default %s of the %s '%s' of %s is not %s", s->fallback,
                 what, s->name, owner, wanted[s->type]);
    return c;
}

static bool
unknown_names(tn_ctx *ctx, const char *owner, const char *what, const tn_attr_schema *schema,
              uint32_t n, const tn_dict *given)
{
    for (uint32_t i = 0; given && i < given->items.n; i++) {
        const char *key = ((const tn_pair *)given->items.at[i])->key;
        uint32_t k = 0;
        while (k < n && strcmp(schema[k].name, key) != 0)
            k++;
        if (k < n)
            continue;
        tn_error(ctx, 0, TNB_INVALID, "%s has no %s '%s'", owner, what, key);
        const char **names = TNB_NEW_N(tn_scratch(ctx), const char *, n);
        for (k = 0; k < n; k++)
            names[k] = schema[k].name;
        const char *near = tnb_nearest(key, names, n);
        if (near)
            tnb_diag_hint(tn_diags(ctx), "did you mean '%s'?", near);
        const char *list = "";
        for (k = 0; !near && k < n && k < 20; k++)
            list = tn_strf(ctx, "%s%s%s", list, k ? ", " : "", names[k]);
        if (!near)
            tnb_diag_hint(tn_diags(ctx), "it has %s%s", n ? list : "none", n > 20 ? ", ..." : "");
        return true;
    }
    return false;
}

const tn_node *
tn_schema_value(tn_ctx *ctx, const char *owner, const char *what, const tn_attr_schema *s,
                const tn_node *given)
{
    const tn_node *v = given ? convert(ctx, s, given) : default_of(ctx, owner, what, s);
    if (given && !v) {
        tn_error(ctx, 0, TNB_TYPE, "%s: %s '%s' must be %s, not %s", owner, what, s->name,
                 wanted[s->type], tn_brief(ctx, given));
        if (s->type == TN_ATTR_STR && (tn_is(given, TN_KIND_NONE) || tn_is_scalar(given)))
            tnb_diag_hint(tn_diags(ctx),
                          "a word that means something else is a text in quotes: %s=\"%s\"",
                          s->name, tn_is(given, TN_KIND_NONE) ? "null" : tn_brief(ctx, given));
    }
    return v && (!given || check_allowed(ctx, owner, what, s, v)) ? v : tn_error_node(ctx);
}

const tn_node *
tn_schema_apply(tn_ctx *ctx, const char *owner, const char *what, const tn_attr_schema *schema,
                const tn_node *given)
{
    uint32_t n = 0;
    while (schema && schema[n].name)
        n++;
    const tn_dict *d = tn_as_dict(given);
    if (unknown_names(ctx, owner, what, schema, n, d))
        return tn_error_node(ctx);
    const char **keys = TNB_NEW_N(tn_scratch(ctx), const char *, n);
    const tn_node **values = TNB_NEW_N(tn_scratch(ctx), const tn_node *, n);
    bool same = d && d->items.n == n;
    for (uint32_t i = 0; i < n; i++) {
        const tn_node *v = tn_dict_get(given, schema[i].name);
        /* flags that are optional upstream */
        if (tn_is(v, TN_KIND_NONE) && schema[i].type == TN_ATTR_BOOL &&
            !(schema[i].flags & TN_ATTR_OPTIONAL))
            v = NULL;
        keys[i] = schema[i].name;
        values[i] = tn_schema_value(ctx, owner, what, &schema[i], v);
        if (tn_is_error(values[i]))
            return values[i];
        same &= values[i] == v;
    }
    return same ? given : tn_dict_of(ctx, keys, values, n);
}

const tn_node *
tn_op_attrs(tn_ctx *ctx, const tn_op *op, const tn_node *given)
{
    const tn_node *d = tn_schema_apply(ctx, op->base.name, "attribute", op->attrs, given);
    if (!tn_is_error(d) && op->complete)
        d = op->complete(ctx, op, d);
    return tn_is_error(d) ? NULL : d;
}

/* ---- arguments ---- */

/* Whether the words before "tensor" name the kind of d. */
static bool
kind_is_named(const char *accepts, const char *tensor, tnb_dtype d)
{
    static const char *const kinds[] = {"number", "bool", "float", "int"};
    bool named = false;
    for (const char *s = accepts; s < tensor; s += strcspn(s, " ") + 1) {
        size_t n = strcspn(s, " ");
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
            if (strlen(kinds[i]) != n || memcmp(s, kinds[i], n) != 0)
                continue;
            named = true;
            if (i == 0 || (i == 1 && tnb_dtype_is_bool(d)) || (i == 2 && tnb_dtype_is_float(d)) ||
                (i == 3 && tnb_dtype_is_int(d)))
                return true;
        }
    }
    return !named;
}

/* After "of rank": N, "N or M", "N or more". */
static bool
rank_is_named(const char *text, int64_t rank)
{
    char *end;
    long least = strtol(text, &end, 10), most = least;
    if (strncmp(end, " or ", 4) == 0)
        most = strncmp(end + 4, "more", 4) == 0 ? LONG_MAX : strtol(end + 4, NULL, 10);
    return rank >= least && rank <= most;
}

bool
tn_check_accepts(tn_ctx *ctx, const tn_call *call)
{
    const tn_op *op = tn_call_op_of(call);
    const tn_arg_schema *a = op->args;
    for (uint32_t i = 0; a && a[i].name && i < call->args.n; i++) {
        const tn_ty_tensor *t = a[i].accepts ? tn_as_ty_tensor(call->args.at[i]->type) : NULL;
        const char *tensor = t ? strstr(a[i].accepts, "tensor") : NULL;
        const char *rank = tensor ? strstr(tensor, "of rank ") : NULL;
        if (!tensor)
            continue;
        if ((tnb_dtype_is_void(t->dtype) || kind_is_named(a[i].accepts, tensor, t->dtype)) &&
            (!rank || t->ndim < 0 || rank_is_named(rank + strlen("of rank "), t->ndim)))
            continue;
        tn_error(ctx, call->base.loc, TNB_TYPE, "%s: argument '%s' must be %s %s, but is %s",
                 op->base.name, a[i].name, strchr("aeiou", *a[i].accepts) ? "an" : "a",
                 a[i].accepts, tn_text(ctx, TN_NODE(t)));
        return false;
    }
    return true;
}
