/* SPDX-License-Identifier: Apache-2.0 */
/* The metadata of an artifact: signatures of its functions and what its variants need, from checked
 * JSON. */
#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include "internal.h"
#include "tenon/base/json.h"

static tnb_status
missing(tnb_err *err, const char *where, const char *key, const char *want)
{
    return tnb_fail(err, TNB_FORMAT, "metadata: %s: '%s' is missing or not %s", where, key, want);
}

static tnb_status
get_text(tnb_arena *ar, json_t *o, const char *where, const char *key, const char **out,
         tnb_err *err)
{
    json_t *v = json_object_get(o, key);
    if (!json_is_string(v))
        return missing(err, where, key, "a text");
    *out = tnb_strndup(ar, json_string_value(v), json_string_length(v));
    return TNB_OK;
}

static tnb_status
get_texts(tnb_arena *ar, json_t *o, const char *where, const char *key, const char *const **out,
          uint32_t *n, tnb_err *err)
{
    json_t *list = json_object_get(o, key), *v;
    size_t i;
    if (!json_is_array(list) || json_array_size(list) > TNB_TNO_MAX_TEXTS)
        return missing(err, where, key, "a list of texts");
    const char **texts = TNB_NEW_N(ar, const char *, json_array_size(list));
    json_array_foreach(list, i, v)
    {
        if (!json_is_string(v))
            return missing(err, where, key, "a list of texts");
        texts[i] = tnb_strndup(ar, json_string_value(v), json_string_length(v));
    }
    *out = texts;
    *n = (uint32_t)json_array_size(list);
    return TNB_OK;
}

static tnb_status
read_io(tnb_arena *ar, json_t *o, const char *where, tnr_io *io, tnb_err *err)
{
    if (!json_is_object(o))
        return missing(err, where, "params", "a list of objects");
    TNB_TRY(get_text(ar, o, where, "name", &io->name, err));
    TNB_TRY(get_text(ar, o, where, "kind", &io->kind, err));
    const char *dtype = json_string_value(json_object_get(o, "dtype"));
    io->dtype = TNB_VOID;
    if (dtype && !tnb_dtype_parse(dtype, strlen(dtype), &io->dtype))
        return tnb_fail(err, TNB_FORMAT, "metadata: %s: '%s' is no dtype", where, dtype);
    json_t *shape = json_object_get(o, "shape"), *v;
    size_t i;
    io->ndim = -1;
    if (!shape)
        return TNB_OK;
    if (!json_is_array(shape) || json_array_size(shape) > TNB_TNO_MAX_DIMS)
        return missing(err, where, "shape", "a list of extents");
    io->ndim = (int32_t)json_array_size(shape);
    int64_t *dims = TNB_NEW_N(ar, int64_t, json_array_size(shape));
    const char **symbols = TNB_NEW_N(ar, const char *, json_array_size(shape));
    json_array_foreach(shape, i, v)
    {
        if (json_is_integer(v) && json_integer_value(v) >= 0)
            dims[i] = json_integer_value(v);
        else if (json_is_string(v)) {
            dims[i] = -1;
            symbols[i] = tnb_strdup(ar, json_string_value(v));
        } else
            return missing(err, where, "shape", "a list of extents");
    }
    io->dims = dims;
    io->symbols = symbols;
    return TNB_OK;
}

static tnb_status
read_ios(tnb_arena *ar, json_t *f, const char *where, const char *key, const tnr_io **out,
         uint32_t *n, tnb_err *err)
{
    json_t *list = json_object_get(f, key), *v;
    size_t i;
    if (!json_is_array(list) || json_array_size(list) > TNB_TNO_MAX_VALUES)
        return missing(err, where, key, "a list");
    tnr_io *ios = TNB_NEW_N(ar, tnr_io, json_array_size(list));
    json_array_foreach(list, i, v) TNB_TRY(read_io(ar, v, where, &ios[i], err));
    *out = ios;
    *n = (uint32_t)json_array_size(list);
    return TNB_OK;
}

/* Shapes with which the function can be called, one for each parameter; a function whose parameters
 * have no symbols has no such key. An empty shape stands for a parameter that is no tensor. */
static tnb_status
read_examples(tnb_arena *ar, json_t *list, tnr_signature *s, tnb_err *err)
{
    json_t *shape, *v;
    size_t i, k;
    if (!list)
        return TNB_OK;
    if (!json_is_array(list) || json_array_size(list) != s->n_params)
        return missing(err, s->name, "examples", "a list with a shape for each parameter");
    const int64_t **all = TNB_NEW_N(ar, const int64_t *, json_array_size(list));
    json_array_foreach(list, i, shape)
    {
        const tnr_io *io = &s->params[i];
        size_t want = strcmp(io->kind, "tensor") == 0 && io->ndim > 0 ? (size_t)io->ndim : 0;
        if (!json_is_array(shape) || json_array_size(shape) != want)
            return missing(err, s->name, "examples", "a list of extents for each parameter");
        int64_t *dims = TNB_NEW_N(ar, int64_t, want);
        json_array_foreach(shape, k, v)
        {
            if (!json_is_integer(v) || json_integer_value(v) < 0 ||
                (io->dims[k] >= 0 && io->dims[k] != json_integer_value(v)))
                return missing(err, s->name, "examples", "extents of its parameters");
            dims[k] = json_integer_value(v);
        }
        all[i] = dims;
    }
    s->example_shapes = all;
    return TNB_OK;
}

static int
by_name(const void *x, const void *y)
{
    return strcmp(((const tnr_signature *)x)->name, ((const tnr_signature *)y)->name);
}

static tnb_status
read_functions(tnr_artifact *a, json_t *root, tnb_err *err)
{
    json_t *all = json_object_get(root, "functions"), *f;
    const char *name;
    if (!json_is_object(all))
        return missing(err, "the artifact", "functions", "an object");
    a->functions = TNB_NEW_N(a->arena, tnr_signature, json_object_size(all));
    json_object_foreach(all, name, f)
    {
        tnr_signature *s = &a->functions[a->n_functions++];
        s->name = tnb_strdup(a->arena, name);
        TNB_TRY(read_ios(a->arena, f, name, "params", &s->params, &s->n_params, err));
        TNB_TRY(read_examples(a->arena, json_object_get(f, "examples"), s, err));
        TNB_TRY(read_ios(a->arena, f, name, "results", &s->results, &s->n_results, err));
        s->tuple_result = json_is_true(json_object_get(f, "tuple_result"));
        json_t *n = json_object_get(f, "num_input");
        s->n_inputs =
            json_is_integer(n) && json_integer_value(n) >= 0 && json_integer_value(n) <= s->n_params
                ? (uint32_t)json_integer_value(n)
                : s->n_params;
    }
    if (!tnb_arena_failed(a->arena) && a->n_functions)
        qsort(a->functions, a->n_functions, sizeof *a->functions, by_name);
    return TNB_OK;
}

static tnb_status
read_constants(tnb_arena *ar, json_t *list, tnr_external *x, tnb_err *err)
{
    json_t *v;
    size_t i;
    if (!list)
        return TNB_OK;
    if (!json_is_array(list))
        return missing(err, x->symbol, "constants", "a list");
    uint32_t *at = TNB_NEW_N(ar, uint32_t, json_array_size(list));
    json_array_foreach(list, i, v)
    {
        json_int_t k = json_is_integer(v) ? json_integer_value(v) : -1;
        if (k < 0 || k > UINT16_MAX || (i && (uint32_t)k <= at[i - 1]))
            return tnb_fail(err, TNB_FORMAT, "metadata: %s: 'constants' is no rising list",
                            x->symbol);
        at[i] = (uint32_t)k;
    }
    x->constants = at;
    x->n_constants = (uint32_t)json_array_size(list);
    return TNB_OK;
}

/* Functions that libraries run; a variant without any has no such key. */
static tnb_status
read_externals(tnb_arena *ar, json_t *list, tnr_variant *t, tnb_err *err)
{
    json_t *v;
    size_t i;
    if (!list)
        return TNB_OK;
    if (!json_is_array(list))
        return missing(err, "a variant", "external", "a list");
    tnr_external *all = TNB_NEW_N(ar, tnr_external, json_array_size(list));
    t->externals = all;
    json_array_foreach(list, i, v)
    {
        TNB_TRY(get_text(ar, v, "an external function", "codegen", &all[i].loader, err));
        TNB_TRY(get_text(ar, v, "an external function", "symbol", &all[i].symbol, err));
        TNB_TRY(read_constants(ar, json_object_get(v, "constants"), &all[i], err));
        json_t *payload = json_object_get(v, "payload");
        if (!json_is_object(payload))
            return missing(err, all[i].symbol, "payload", "an object");
        char *text = json_dumps(payload, JSON_COMPACT | JSON_SORT_KEYS);
        if (!text)
            return tnb_fail(err, TNB_NO_MEMORY, "no memory for the metadata");
        all[i].payload = tnb_strdup(ar, text);
        free(text);
        t->n_externals++;
    }
    return TNB_OK;
}

static tnb_status
read_variants(tnr_artifact *a, json_t *root, tnb_err *err)
{
    json_t *list = json_object_get(root, "variants"), *v;
    size_t i;
    if (!json_is_array(list) || json_array_size(list) != a->n_variants)
        return tnb_fail(err, TNB_FORMAT,
                        "metadata: 'variants' does not describe the %" PRIu32
                        " variants of the file",
                        a->n_variants);
    json_array_foreach(list, i, v)
    {
        tnr_variant *t = &a->variants[i].info;
        TNB_TRY(get_text(a->arena, v, "a variant", "name", &t->name, err));
        TNB_TRY(get_text(a->arena, v, "a variant", "target", &t->target, err));
        TNB_TRY(get_text(a->arena, v, "a variant", "device", &t->device, err));
        TNB_TRY(get_text(a->arena, v, "a variant", "format", &t->format, err));
        TNB_TRY(get_texts(a->arena, v, "a variant", "features", &t->features, &t->n_features, err));
        TNB_TRY(get_texts(a->arena, v, "a variant", "packed", &t->packed, &t->n_packed, err));
        TNB_TRY(read_externals(a->arena, json_object_get(v, "external"), t, err));
        t->code_bytes = a->variants[i].code.n;
        t->fallback_bytes = a->variants[i].fallback.n;
        json_t *f = json_object_get(v, "fallback");
        if (f) {
            TNB_TRY(get_text(a->arena, f, "a fallback", "device", &t->fallback_device, err));
            TNB_TRY(get_text(a->arena, f, "a fallback", "format", &t->fallback_format, err));
            TNB_TRY(get_texts(a->arena, f, "a fallback", "features", &t->fallback_features,
                              &t->n_fallback_features, err));
        }
    }
    return TNB_OK;
}

/* What stands there of them is read when they are opened (params.c). */
static tnb_status
count_weights(tnr_artifact *a, json_t *root, tnb_err *err)
{
    json_t *params = json_object_get(json_object_get(root, "attrs"), "params");
    size_t n = json_array_size(json_object_get(params, "list"));
    if (params && (n == 0 || n > TNB_TNO_MAX_VALUES))
        return missing(err, "params", "list", "a list of weights");
    a->n_weights = (uint32_t)n;
    return TNB_OK;
}

tnb_status
tnr_artifact_read_metadata(tnr_artifact *a, const char *json, size_t n, tnb_err *err)
{
    json_t *root;
    tnb_status st = tnb_json_parse(json, n, JSON_REJECT_DUPLICATES, &root, err);
    if (st != TNB_OK) {
        tnb_err_prefix(err, "metadata");
        return st;
    }
    char *copy = tnb_try_alloc_n(a->arena, n < SIZE_MAX ? n + 1 : n, 1);
    st = copy ? TNB_OK : tnb_fail(err, TNB_NO_MEMORY, "no memory for the metadata");
    if (copy)
        a->metadata = memcpy(copy, json, n);
    if (st == TNB_OK)
        st = read_functions(a, root, err);
    if (st == TNB_OK)
        st = read_variants(a, root, err);
    if (st == TNB_OK)
        st = count_weights(a, root, err);
    if (st == TNB_OK && tnb_arena_failed(a->arena))
        st = tnb_fail(err, TNB_NO_MEMORY, "no memory for the metadata");
    json_decref(root);
    return st;
}
