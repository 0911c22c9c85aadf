/* SPDX-License-Identifier: Apache-2.0 */
/* Tagged, reference-counted values: what functions of the virtual machine and packed functions take
 * and give.
 *
 * A tnr_value is 16 bytes and copied freely; one that holds an object (tag >= TNR_FIRST_OBJECT)
 * owns a reference only where a function says so. Reference counts are atomic; contents of shapes,
 * strings and tuples do not change once shared.
 */
#ifndef TENON_RT_VALUE_H
#define TENON_RT_VALUE_H

#include "tenon/base/dtype.h"

#ifdef __cplusplus
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic" /* flexible array members, an extension in C++ */
extern "C" {
#endif

/* ORDER TNR_TAG */
typedef enum tnr_tag {
    TNR_NULL = 0,
    TNR_INT,
    TNR_FLOAT,
    TNR_BOOL,
    TNR_DTYPE,
    TNR_DEVICE,
    TNR_TENSOR,
    TNR_SHAPE,
    TNR_STRING,
    TNR_TUPLE,
    TNR_STORAGE,
    TNR_CLOSURE,
    TNR_OBJECT, /* anything else that a plugin counts references of */
    TNR_N_TAGS,
    TNR_FIRST_OBJECT = TNR_TENSOR
} tnr_tag;

/* The head of every counted object. `destroy` frees the object; it is called when the last
 * reference goes. */
typedef struct tnr_object {
    uint32_t refs;
    uint32_t
        nests; /* 1: holds values, which may hold others: a tuple, a closure, an object of a plugin that does */
    void (*destroy)(struct tnr_object *o);
} tnr_object;

typedef struct tnr_tensor tnr_tensor;
typedef struct tnr_storage tnr_storage;
typedef struct tnr_closure tnr_closure;

typedef struct tnr_shape {
    tnr_object object;
    int32_t n;
    int32_t reserved;
    int64_t dims[];
} tnr_shape;

typedef struct tnr_string {
    tnr_object object;
    size_t n;
    char s[]; /* terminated */
} tnr_string;

typedef struct tnr_value {
    uint32_t tag;
    uint32_t reserved;
    union {
        int64_t i; /* INT, BOOL */
        double f;
        tnb_dtype dtype;
        tnb_device device;
        tnr_object *object;
        tnr_tensor *tensor;
        tnr_shape *shape;
        tnr_string *string;
        struct tnr_tuple *tuple;
        tnr_storage *storage;
        tnr_closure *closure;
    } u;
} tnr_value;

typedef struct tnr_tuple {
    tnr_object object;
    uint32_t n;
    uint32_t reserved;
    const struct tnr_lazy *
        lazy; /* NULL: all items are there; else one is null until tnr_tuple_item is asked for it */
    tnr_value items[]; /* owned */
} tnr_tuple;

/* Takes and gives back a reference. Values without an object: nothing happens. tnr_release leaves
 * `v` null (NULL is fine). */
TNB_EXPORT void
tnr_retain(tnr_value v);
TNB_EXPORT void
tnr_release(tnr_value *v);
TNB_EXPORT void
tnr_object_retain(tnr_object *o);
TNB_EXPORT void
tnr_object_release(tnr_object *o); /* NULL is fine */

TNB_EXPORT tnr_value
tnr_null(void);
TNB_EXPORT tnr_value
tnr_int(int64_t i);
TNB_EXPORT tnr_value
tnr_float(double f);
TNB_EXPORT tnr_value
tnr_bool(int b);

/* New objects with one reference, owned by `out`, with copies of what they are given. dims may be any
 * numbers; n: TNB_SHAPE above 65536, of
 * which a tensor's shape takes 64. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_shape_new(const int64_t *dims, uint32_t n, tnr_value *out, tnb_err *err);
/* n bytes, any: without the terminator, which the object adds. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_string_new(const char *s, size_t n, tnr_value *out, tnb_err *err);
/* Items are retained. items NULL: all null, to be filled before the tuple is shared. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_tuple_new(const tnr_value *items, uint32_t n, tnr_value *out, tnb_err *err);

/* Item `i`, which a lazy tuple makes then (tenon/rt/params.h). Borrowed from the tuple. TNB_BOUNDS: there is no such item;
 * else why it cannot be made. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_tuple_item(tnr_tuple *t, uint32_t i, tnr_value *out, tnb_err *err);

/* "tensor", "shape" ..., "unknown value"; for messages. Never NULL. */
TNB_EXPORT const char *
tnr_tag_name(uint32_t tag);
/* A short description of a value for messages: "tensor float32[1, 3, 224, 224]", "int 5". Always
 * terminated, within the n bytes of `out`. */
TNB_EXPORT void
tnr_describe(tnr_value v, char *out, size_t n);

#ifdef __cplusplus
}
#pragma GCC diagnostic pop
#endif
#endif
