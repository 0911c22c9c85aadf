/* SPDX-License-Identifier: Apache-2.0 */
/* Attribute values: arrays, dictionaries, targets, virtual devices. */
#include "private.h"
#include <stdlib.h>

const tn_node *
tn_array_of(tn_ctx *ctx, tn_list items)
{
    for (uint32_t i = 0; i < items.n; i++)
        if (tn_bad(ctx, items.at[i]))
            return tn_error_node(ctx);
    return TN_MAKE(ctx, TN_KIND_ARRAY, array, NULL, .items = items);
}

const tn_node *
tn_int_array(tn_ctx *ctx, const int64_t *v, uint32_t n)
{
    const tn_node **at = TNB_NEW_N(tn_scratch(ctx), const tn_node *, n);
    for (uint32_t i = 0; i < n; i++)
        at[i] = tn_i64(ctx, v[i]);
    return tn_array_of(ctx, (tn_list){at, n});
}

/* ---- dictionaries ---- */
static int
by_key(const void *a, const void *b)
{
    return strcmp((*(const tn_pair *const *)a)->key, (*(const tn_pair *const *)b)->key);
}

/* From pairs in any order; `at` is sorted in place. */
static const tn_node *
dict_of_pairs(tn_ctx *ctx, const tn_node **at, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (tn_bad(ctx, at[i]))
            return tn_error_node(ctx);
    if (n > 1)
        qsort(at, n, sizeof *at, by_key);
    for (uint32_t i = 1; i < n; i++)
        if (((const tn_pair *)at[i - 1])->key == ((const tn_pair *)at[i])->key)
            return tn_error(ctx, 0, TNB_INVALID, "the key '%s' is given twice",
                            ((const tn_pair *)at[i])->key);
    return TN_MAKE(ctx, TN_KIND_DICT, dict, NULL, .items = {at, n});
}

static const tn_node *
pair_of(tn_ctx *ctx, const char *key, const tn_node *value)
{
    if (tn_bad(ctx, value))
        return tn_error_node(ctx);
    return TN_MAKE(ctx, TN_KIND_PAIR, pair, NULL, .key = tn_str(ctx, key), .value = value);
}

const tn_node *
tn_dict_of(tn_ctx *ctx, const char *const *keys, const tn_node *const *values, uint32_t n)
{
    const tn_node **at = TNB_NEW_N(tn_scratch(ctx), const tn_node *, n);
    for (uint32_t i = 0; i < n; i++)
        at[i] = pair_of(ctx, keys[i], values[i]);
    return dict_of_pairs(ctx, at, n);
}

const tn_node *
tn_dictv(tn_ctx *ctx, ...)
{
    TNB_VEC(const tn_node *) v = {0};
    va_list ap;
    va_start(ap, ctx);
    const char *key;
    while ((key = va_arg(ap, const char *)))
        TNB_PUSH(tn_scratch(ctx), v, pair_of(ctx, key, va_arg(ap, const tn_node *)));
    va_end(ap);
    return dict_of_pairs(ctx, v.at, v.n);
}

/* Index of the first item whose key is not before `key`. */
static uint32_t
lower_bound(const tn_dict *d, const char *key)
{
    uint32_t lo = 0, hi = d->items.n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (strcmp(((const tn_pair *)d->items.at[mid])->key, key) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static bool
has_at(const tn_dict *d, uint32_t i, const char *key)
{
    return i < d->items.n && strcmp(((const tn_pair *)d->items.at[i])->key, key) == 0;
}

const tn_node *
tn_dict_get(const tn_node *dict, const char *key)
{
    const tn_dict *d = tn_as_dict(dict);
    if (!d)
        return NULL;
    uint32_t i = lower_bound(d, key);
    return has_at(d, i, key) ? ((const tn_pair *)d->items.at[i])->value : NULL;
}

const tn_node *
tn_dict_set(tn_ctx *ctx, const tn_node *dict, const char *key, const tn_node *value)
{
    static const tn_dict empty;
    if (tn_is_error(dict) || tn_is_error(value))
        return tn_error_node(ctx);
    const tn_dict *d = tn_as_dict(dict);
    if (!d)
        d = &empty;
    uint32_t i = lower_bound(d, key), n = d->items.n, here = has_at(d, i, key);
    if (dict && (here ? ((const tn_pair *)d->items.at[i])->value == value : !value))
        return dict;
    const tn_node **at = TNB_NEW_N(tn_scratch(ctx), const tn_node *, (size_t)n + 1);
    uint32_t m = 0;
    for (uint32_t k = 0; k < i; k++)
        at[m++] = d->items.at[k];
    if (value)
        at[m++] = pair_of(ctx, key, value);
    for (uint32_t k = i + here; k < n; k++)
        at[m++] = d->items.at[k];
    return TN_MAKE(ctx, TN_KIND_DICT, dict, NULL, .items = {at, m});
}

int64_t
tn_dict_int(const tn_node *dict, const char *key, int64_t otherwise)
{
    int64_t v;
    return tn_int_value(tn_dict_get(dict, key), &v) ? v : otherwise;
}

double
tn_dict_float(const tn_node *dict, const char *key, double otherwise)
{
    const tn_node *v = tn_dict_get(dict, key);
    int64_t i;
    if (tn_int_value(v, &i))
        return (double)i;
    return tn_is(v, TN_KIND_FLOAT_IMM) ? ((const tn_float_imm *)v)->value : otherwise;
}

const char *
tn_dict_str(const tn_node *dict, const char *key, const char *otherwise)
{
    const tn_string_imm *s = tn_as_string_imm(tn_dict_get(dict, key));
    return s ? s->value : otherwise;
}

static int
array_ints(const tn_node *value, int64_t *out, int max)
{
    const tn_array *a = tn_as_array(value);
    if (!a || a->items.n > INT32_MAX)
        return -1;
    for (uint32_t i = 0; i < a->items.n; i++) {
        int64_t v;
        if (!tn_int_value(a->items.at[i], &v))
            return -1;
        if ((int)i < max)
            out[i] = v;
    }
    return (int)a->items.n < max ? (int)a->items.n : max;
}

int
tn_dict_ints(const tn_node *dict, const char *key, int64_t *out, int max)
{
    return array_ints(tn_dict_get(dict, key), out, max);
}

/* ---- targets ---- */
const tn_node *
tn_target_of(tn_ctx *ctx, const char *kind, const tn_node *attrs)
{
    if (!tn_is_dict_or_null(ctx, attrs, "a target's attributes"))
        return tn_error_node(ctx);
    return TN_MAKE(ctx, TN_KIND_TARGET, target, NULL, .kind = tn_str(ctx, kind),
                   .attrs = tn_norm_dict(attrs));
}

const tn_node *
tn_vdevice_of(tn_ctx *ctx, const tn_node *target, int64_t id, const char *scope)
{
    if (tn_bad(ctx, target))
        return tn_error_node(ctx);
    if (!tn_is(target, TN_KIND_TARGET))
        return tn_error(ctx, 0, TNB_TYPE, "a virtual device needs a target, not %s",
                        tn_brief(ctx, target));
    return TN_MAKE(ctx, TN_KIND_VDEVICE, vdevice, NULL, .target = target, .id = id,
                   .scope = tn_str(ctx, scope && *scope ? scope : "global"));
}

/* ---- distributed tensors ---- */
const tn_node *
tn_mesh_new(tn_ctx *ctx, tn_list shape, tn_list devices)
{
    int64_t count = 1, n;
    for (uint32_t i = 0; i < shape.n; i++) {
        if (!tn_int_value(shape.at[i], &n) || n < 1 || n > INT32_MAX / count)
            return tn_error(ctx, 0, TNB_SHAPE, "the shape of a device mesh has to be positive");
        count *= n;
    }
    if (count != (int64_t)devices.n)
        return tn_error(ctx, 0, TNB_SHAPE, "a device mesh of %lld devices is given %u",
                        (long long)count, devices.n);
    const tn_node *value =
        tn_dictv(ctx, "devices", tn_array_of(ctx, devices), "shape", tn_array_of(ctx, shape), NULL);
    return TN_MAKE(ctx, TN_KIND_GLOBAL_INFO, global_info, NULL, .kind = tn_str(ctx, "mesh"),
                   .value = value);
}

const tn_node *
tn_placement_new(tn_ctx *ctx, const tn_node *mesh, const char *spec)
{
    if (tn_bad(ctx, mesh))
        return tn_error_node(ctx);
    const tn_node *value = tn_dictv(ctx, "mesh", mesh, "spec", tn_string(ctx, spec), NULL);
    return TN_MAKE(ctx, TN_KIND_GLOBAL_INFO, global_info, NULL, .kind = tn_str(ctx, "placement"),
                   .value = value);
}

const char *
tn_placement_spec(const tn_node *n)
{
    const tn_global_info *g = tn_as_global_info(n);
    return g && !strcmp(g->kind, "placement") ? tn_dict_str(g->value, "spec", NULL) : NULL;
}

const tn_node *
tn_placement_mesh(const tn_node *n)
{
    return tn_placement_spec(n) ? tn_dict_get(tn_as_global_info(n)->value, "mesh") : NULL;
}

/* ---- attributes of calls (tenon/core/op.h) ---- */
const tn_node *
tn_call_attr(const tn_call *c, const char *key)
{
    const tn_node *v = tn_dict_get(c->attrs, key);
    return tn_is(v, TN_KIND_NONE) ? NULL : v;
}

int64_t
tn_call_int(const tn_call *c, const char *key)
{
    return tn_dict_int(c->attrs, key, 0);
}

double
tn_call_float(const tn_call *c, const char *key)
{
    return tn_dict_float(c->attrs, key, 0);
}

const char *
tn_call_str(const tn_call *c, const char *key)
{
    return tn_dict_str(c->attrs, key, NULL);
}

tnb_dtype
tn_call_dtype(const tn_call *c, const char *key)
{
    const tn_dtype_imm *d = tn_as_dtype_imm(tn_dict_get(c->attrs, key));
    return d ? d->value : TNB_VOID;
}

int
tn_call_ints(const tn_call *c, const char *key, int64_t *out, int max)
{
    return tn_dict_ints(c->attrs, key, out, max);
}
