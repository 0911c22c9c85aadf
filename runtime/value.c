/* SPDX-License-Identifier: Apache-2.0 */
/* Values: reference counts, shapes, strings, tuples, descriptions for messages. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "internal.h"

tnb_status
tnr_null_argument(const char *function, const char *argument, tnb_err *err)
{
    return tnb_fail(err, TNB_INVALID, "%s: the argument '%s' is NULL", function, argument);
}

static bool
holds_object(tnr_value v)
{
    return v.tag >= TNR_FIRST_OBJECT && v.tag < TNR_N_TAGS;
}

tnb_status
tnr_check_value(tnr_value v, tnb_err *err)
{
    if (v.tag >= TNR_N_TAGS)
        return tnb_fail(err, TNB_INVALID, "a value has the tag %" PRIu32 "; there are %d", v.tag,
                        TNR_N_TAGS);
    if (v.tag == TNR_DTYPE && !tnb_dtype_is_void(v.u.dtype) && !tnb_dtype_exists(v.u.dtype))
        return tnb_fail(err, TNB_INVALID,
                        "a value with the tag %s has the code %u, %u bits and %u lanes, which no "
                        "dtype has",
                        tnr_tag_name(v.tag), v.u.dtype.code, v.u.dtype.bits, v.u.dtype.lanes);
    if (holds_object(v) && !v.u.object)
        return tnb_fail(err, TNB_INVALID, "a value with the tag %s holds NULL",
                        tnr_tag_name(v.tag));
    return TNB_OK;
}

void
tnr_object_retain(tnr_object *o)
{
    if (o)
        __atomic_fetch_add(&o->refs, 1, __ATOMIC_RELAXED);
}

/* Objects that hold values release these, which may release others in turn: as deep as programs
 * nest tuples and closures. From a depth on they wait in a list, linked through the bytes of the
 * counts that they need no longer, until the outermost release destroys them. */
enum { DEEPEST_RELEASE = 64 };
static _Thread_local struct {
    uint32_t releases;
    tnr_object *waiting;
} deep;
_Static_assert(sizeof(void *) <= offsetof(tnr_object, destroy),
               "the link takes the place of the counts");

static void
destroy(tnr_object *o)
{
    if (!o->nests) {
        o->destroy(o);
        return;
    }
    typeof(deep) *d = &deep; /* is found by a call */
    if (d->releases == DEEPEST_RELEASE) {
        void *link = d->waiting;
        memcpy(o, &link, sizeof link);
        d->waiting = o;
        return;
    }
    d->releases++;
    o->destroy(o);
    while (d->releases == 1 && d->waiting) {
        void *link;
        o = d->waiting;
        memcpy(&link, o, sizeof link);
        d->waiting = link;
        memset(o, 0, offsetof(tnr_object, destroy));
        o->destroy(o);
    }
    d->releases--;
}

void
tnr_object_release(tnr_object *o)
{
    if (o && __atomic_fetch_sub(&o->refs, 1, __ATOMIC_ACQ_REL) == 1)
        destroy(o);
}

void
tnr_retain(tnr_value v)
{
    if (holds_object(v))
        tnr_object_retain(v.u.object);
}

void
tnr_release(tnr_value *v)
{
    if (!v)
        return;
    if (holds_object(*v))
        tnr_object_release(v->u.object);
    *v = tnr_null();
}

tnr_value
tnr_null(void)
{
    return (tnr_value){.tag = TNR_NULL};
}

tnr_value
tnr_int(int64_t i)
{
    return (tnr_value){.tag = TNR_INT, .u.i = i};
}

tnr_value
tnr_float(double f)
{
    return (tnr_value){.tag = TNR_FLOAT, .u.f = f};
}

tnr_value
tnr_bool(int b)
{
    return (tnr_value){.tag = TNR_BOOL, .u.i = b != 0};
}

static void
free_object(tnr_object *o)
{
    free(o);
}

static void
free_tuple(tnr_object *o)
{
    tnr_tuple *t = (tnr_tuple *)o;
    for (uint32_t i = 0; i < t->n; i++)
        tnr_release(&t->items[i]);
    free(t);
}

tnb_status
tnr_shape_new(const int64_t *dims, uint32_t n, tnr_value *out, tnb_err *err)
{
    NEED_N(dims, n, err);
    NEED(out, err);
    if (n > TNB_TNO_MAX_SHAPE)
        return tnb_fail(err, TNB_SHAPE,
                        "a shape of %" PRIu32 " dimensions; at most %d are supported", n,
                        TNB_TNO_MAX_SHAPE);
    tnr_shape *s = malloc(sizeof *s + n * sizeof *dims);
    if (!s)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for a shape");
    s->object = (tnr_object){.refs = 1, .destroy = free_object};
    s->n = (int32_t)n;
    s->reserved = 0;
    if (n)
        memcpy(s->dims, dims, n * sizeof *dims);
    *out = (tnr_value){.tag = TNR_SHAPE, .u.shape = s};
    return TNB_OK;
}

tnb_status
tnr_string_new(const char *s, size_t n, tnr_value *out, tnb_err *err)
{
    NEED_N(s, n, err);
    NEED(out, err);
    tnr_string *t = n < SIZE_MAX - sizeof *t - 1 ? malloc(sizeof *t + n + 1) : NULL;
    if (!t)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for a string of %zu bytes", n);
    t->object = (tnr_object){.refs = 1, .destroy = free_object};
    t->n = n;
    if (n)
        memcpy(t->s, s, n);
    t->s[n] = '\0';
    *out = (tnr_value){.tag = TNR_STRING, .u.string = t};
    return TNB_OK;
}

tnb_status
tnr_tuple_item(tnr_tuple *t, uint32_t i, tnr_value *out, tnb_err *err)
{
    NEED(t, err);
    NEED(out, err);
    if (i >= t->n)
        return tnb_fail(err, TNB_BOUNDS, "item %" PRIu32 " of a tuple of %" PRIu32, i, t->n);
    if (t->lazy && __atomic_load_n(&t->items[i].tag, __ATOMIC_ACQUIRE) == TNR_NULL)
        TNB_TRY(t->lazy->item(t, i, err));
    *out = t->items[i];
    return TNB_OK;
}

tnb_status
tnr_tuple_new(const tnr_value *items, uint32_t n, tnr_value *out, tnb_err *err)
{
    NEED(out, err);
    for (uint32_t i = 0; items && i < n; i++) {
        tnb_status st = tnr_check_value(items[i], err);
        if (st != TNB_OK) {
            tnb_err_prefix(err, "item %" PRIu32 " of a tuple", i);
            return st;
        }
    }
    tnr_tuple *t = malloc(sizeof *t + (size_t)n * sizeof *items);
    if (!t)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for a tuple of %" PRIu32 " items", n);
    t->object = (tnr_object){.refs = 1, .nests = 1, .destroy = free_tuple};
    t->n = n;
    t->reserved = 0;
    t->lazy = NULL;
    for (uint32_t i = 0; i < n; i++) {
        t->items[i] = items ? items[i] : tnr_null();
        tnr_retain(t->items[i]);
    }
    *out = (tnr_value){.tag = TNR_TUPLE, .u.tuple = t};
    return TNB_OK;
}

const char *
tnr_tag_name(uint32_t tag)
{
    static const char *const names[TNR_N_TAGS] = {/* ORDER TNR_TAG */
                                                  "null",    "int",     "float", "bool",   "dtype",
                                                  "device",  "tensor",  "shape", "string", "tuple",
                                                  "storage", "closure", "object"};
    return tag < TNR_N_TAGS ? names[tag] : "unknown value";
}

static void
print_dims(const int64_t *dims, int32_t n, char *out, size_t size)
{
    size_t at = strlen(out);
    for (int32_t i = 0; i < n && at + 32 < size; i++)
        at += (size_t)snprintf(out + at, size - at, "%s%" PRId64, i ? ", " : "[", dims[i]);
    if (at + 3 < size)
        snprintf(out + at, size - at, "%s", n ? "]" : "[]");
}

void
tnr_describe(tnr_value v, char *out, size_t n)
{
    if (n == 0 || !out)
        return;
    out[0] = '\0';
    if (holds_object(v) && !v.u.object) {
        snprintf(out, n, "%s that is NULL", tnr_tag_name(v.tag));
        return;
    }
    switch (v.tag) {
    case TNR_INT:
    case TNR_BOOL:
        snprintf(out, n, "%s %" PRId64, tnr_tag_name(v.tag), v.u.i);
        break;
    case TNR_FLOAT:
        snprintf(out, n, "float");
        break;
    case TNR_DTYPE:
        snprintf(out, n, "dtype %s", tnb_dtype_print(v.u.dtype).s);
        break;
    case TNR_TENSOR:
        snprintf(out, n, "tensor %s", tnb_dtype_print(v.u.tensor->dl.dtype).s);
        print_dims(v.u.tensor->dl.shape, v.u.tensor->dl.ndim, out, n);
        break;
    case TNR_SHAPE:
        snprintf(out, n, "shape ");
        print_dims(v.u.shape->dims, v.u.shape->n, out, n);
        break;
    case TNR_TUPLE:
        snprintf(out, n, "tuple of %" PRIu32, v.u.tuple->n);
        break;
    default:
        snprintf(out, n, "%s", tnr_tag_name(v.tag));
    }
}

tnb_status
tnr_expect(const char *function, const tnr_value *args, int i, uint32_t tag, tnb_err *err)
{
    NEED(function, err);
    NEED(args, err);
    if (i < 0)
        return tnb_fail(err, TNB_BOUNDS, "%s: there is no argument %d", function, i);
    if (args[i].tag == tag)
        return TNB_OK;
    char text[160];
    tnr_describe(args[i], text, sizeof text);
    return tnb_fail(err, TNB_TYPE, "%s: argument %d is a %s, expected a %s", function, i, text,
                    tnr_tag_name(tag));
}

tnb_status
tnr_expect_int(const char *function, const tnr_value *args, int i, int64_t *out, tnb_err *err)
{
    NEED(out, err);
    if (args && i >= 0 && (args[i].tag == TNR_INT || args[i].tag == TNR_BOOL)) {
        *out = args[i].u.i;
        return TNB_OK;
    }
    return tnr_expect(function, args, i, TNR_INT, err);
}

/* The single element of a tensor in host memory at `raw`. */
static tnb_status
read_one(tnr_value v, uint8_t raw[16], tnb_err *err)
{
    const tnr_tensor *t = v.u.tensor;
    if (t->n_elems != 1 || t->n_bytes > 16) {
        char text[160];
        tnr_describe(v, text, sizeof text);
        return tnb_fail(err, TNB_TYPE, "a scalar is needed, found a %s", text);
    }
    return tnr_tensor_read(t, raw, t->n_bytes, err);
}

static tnb_status
not_a_number(tnr_value v, tnb_err *err)
{
    char text[160];
    tnr_describe(v, text, sizeof text);
    return tnb_fail(err, TNB_TYPE, "a number is needed, found a %s", text);
}

tnb_status
tnr_value_int(tnr_value v, int64_t *out, tnb_err *err)
{
    uint8_t raw[16];
    switch (v.tag) {
    case TNR_INT:
    case TNR_BOOL:
        *out = v.u.i;
        return TNB_OK;
    case TNR_TENSOR:
        TNB_TRY(read_one(v, raw, err));
        if ((tnb_dtype_is_int(v.u.tensor->dl.dtype) || tnb_dtype_is_bool(v.u.tensor->dl.dtype)) &&
            tnb_load_i64(raw, v.u.tensor->dl.dtype, 0, out))
            return TNB_OK;
        return not_a_number(v, err);
    default:
        return not_a_number(v, err);
    }
}

tnb_status
tnr_value_float(tnr_value v, double *out, tnb_err *err)
{
    uint8_t raw[16];
    switch (v.tag) {
    case TNR_INT:
    case TNR_BOOL:
        *out = (double)v.u.i;
        return TNB_OK;
    case TNR_FLOAT:
        *out = v.u.f;
        return TNB_OK;
    case TNR_TENSOR:
        TNB_TRY(read_one(v, raw, err));
        if (tnb_load_f64(raw, v.u.tensor->dl.dtype, 0, out))
            return TNB_OK;
        return not_a_number(v, err);
    default:
        return not_a_number(v, err);
    }
}

tnb_status
tnr_value_truth(tnr_value v, bool *out, tnb_err *err)
{
    double f;
    TNB_TRY(tnr_value_float(v, &f, err));
    *out = f != 0;
    return TNB_OK;
}
