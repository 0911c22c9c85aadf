/* SPDX-License-Identifier: Apache-2.0 */
/* Element types and the tensor description that is exchanged between layers: DLPack's layout.
 *
 * tnb_dtype and tnb_dltensor have the same memory layout as DLPack 1.0's DLDataType and DLTensor,
 * so a pointer may be handed to and taken from other software without copying.
 */
#ifndef TENON_BASE_DTYPE_H
#define TENON_BASE_DTYPE_H

#include <stdbool.h>
#include "tenon/base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ORDER DTYPE: values are DLPack's. */
typedef enum tnb_dtype_code {
    TNB_INT = 0,
    TNB_UINT = 1,
    TNB_FLOAT = 2,
    TNB_HANDLE = 3,
    TNB_BFLOAT = 4,
    TNB_COMPLEX = 5,
    TNB_BOOL = 6,
    TNB_FLOAT8_E4M3FN = 10,
    TNB_FLOAT8_E4M3FNUZ = 11,
    TNB_FLOAT8_E5M2 = 12,
    TNB_FLOAT8_E5M2FNUZ = 13,
    TNB_FLOAT4_E2M1FN = 17
} tnb_dtype_code;

/* `lanes` > 1 is a vector; bits == 0 means "void": no or unknown dtype. A bool has 8 bits in
 * memory. */
typedef struct tnb_dtype {
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
} tnb_dtype;

typedef enum tnb_device_type {
    TNB_CPU = 1,
    TNB_CUDA = 2,
    TNB_CUDA_HOST = 3,
    TNB_OPENCL = 4,
    TNB_VULKAN = 7,
    TNB_METAL = 8,
    TNB_ROCM = 10,
    TNB_EXT_DEV = 12
} tnb_device_type;

typedef struct tnb_device {
    int32_t type; /* a tnb_device_type, or a backend's own number */
    int32_t id;
} tnb_device;

/* Borrowed description of a tensor. strides (in elements) may be NULL: compact, row-major. The
 * first element lies at (char *)data + byte_offset. */
typedef struct tnb_dltensor {
    void *data;
    tnb_device device;
    int32_t ndim;
    tnb_dtype dtype;
    int64_t *shape;
    int64_t *strides;
    uint64_t byte_offset;
} tnb_dltensor;

#ifdef __cplusplus /* which has no compound literals */
static inline tnb_dtype
tnb_dtype_make(uint8_t code, uint8_t bits, uint16_t lanes)
{
    tnb_dtype d = {code, bits, lanes};
    return d;
}
#define TNB_DTYPE_LITERAL(c, b, n) (tnb_dtype_make((c), (b), (n)))
#else
#define TNB_DTYPE_LITERAL(c, b, n) ((tnb_dtype){(c), (b), (n)})
#endif
#define TNB_DTYPE(c, b) TNB_DTYPE_LITERAL(c, b, 1)
#define TNB_F32 TNB_DTYPE(TNB_FLOAT, 32)
#define TNB_F64 TNB_DTYPE(TNB_FLOAT, 64)
#define TNB_F16 TNB_DTYPE(TNB_FLOAT, 16)
#define TNB_BF16 TNB_DTYPE(TNB_BFLOAT, 16)
#define TNB_I8 TNB_DTYPE(TNB_INT, 8)
#define TNB_I32 TNB_DTYPE(TNB_INT, 32)
#define TNB_I64 TNB_DTYPE(TNB_INT, 64)
#define TNB_U8 TNB_DTYPE(TNB_UINT, 8)
#define TNB_B8 TNB_DTYPE(TNB_BOOL, 8)
#define TNB_VOID TNB_DTYPE_LITERAL(0, 0, 0)

static inline bool
tnb_dtype_eq(tnb_dtype a, tnb_dtype b)
{
    return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}
static inline bool
tnb_dtype_is_void(tnb_dtype d)
{
    return d.bits == 0;
}
static inline bool
tnb_dtype_is_float(tnb_dtype d)
{
    return d.bits != 0 &&
           (d.code == TNB_FLOAT || d.code == TNB_BFLOAT || d.code >= TNB_FLOAT8_E4M3FN);
}
/* Signed or unsigned integer; bool is not one. */
static inline bool
tnb_dtype_is_int(tnb_dtype d)
{
    return d.bits != 0 && (d.code == TNB_INT || d.code == TNB_UINT);
}
static inline bool
tnb_dtype_is_bool(tnb_dtype d)
{
    return d.bits != 0 && d.code == TNB_BOOL;
}

/* Bytes of one element, all lanes, rounded up to whole bytes (int4 scalars take one). */
TNB_EXPORT size_t
tnb_dtype_bytes(tnb_dtype d);

/* Bytes of `count` elements; sub-byte types are packed, the total rounded up. Fails on overflow. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnb_dtype_storage(tnb_dtype d, uint64_t count, uint64_t *bytes, tnb_err *err);

/* No tensor has more elements, nor a larger extent: so many do not fit the address space, and
 * products of a tensor's extents stay far from overflow. */
#define TNB_MAX_ELEMS ((int64_t)1 << 48)

/* How many elements a tensor of this shape has. False where none can have it: an extent is negative,
 * or the extents that are not 0 multiply to more than TNB_MAX_ELEMS; `*count` is then 0. Every
 * memory size, stride and loop over elements that comes from a shape goes through this. */
TNB_EXPORT TNB_MUST_CHECK bool
tnb_shape_count(int32_t ndim, const int64_t *shape, uint64_t *count);

/* Both: elements and bytes of a tensor. Fails for a shape that no tensor can have. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnb_shape_bytes(tnb_dtype d, int32_t ndim, const int64_t *shape, uint64_t *count, uint64_t *bytes,
                tnb_err *err);

/* "float32", "int8x4", "bool", "bfloat16", "handle", "void". The buffer is filled and returned. */
typedef struct tnb_dtype_text {
    char s[32];
} tnb_dtype_text;
TNB_EXPORT tnb_dtype_text
tnb_dtype_print(tnb_dtype d);

/* Whether it is the type of an element: a code that is listed above, a width that it has, lanes. Void is none. */
TNB_EXPORT bool
tnb_dtype_exists(tnb_dtype d);

/* Reads upstream's spelling. False when `s` (length n) is none; `d` is then untouched. */
TNB_EXPORT TNB_MUST_CHECK bool
tnb_dtype_parse(const char *s, size_t n, tnb_dtype *d);

/* Conversions of the storage formats, round to nearest even, NaN kept. */
TNB_EXPORT float
tnb_half_to_float(uint16_t h);
TNB_EXPORT uint16_t
tnb_float_to_half(float f);
TNB_EXPORT uint16_t
tnb_double_to_half(double f);
TNB_EXPORT float
tnb_bfloat_to_float(uint16_t h);
TNB_EXPORT uint16_t
tnb_float_to_bfloat(float f);

/* Reads or writes element `i` of a dense array of dtype `d` (one lane; widths below 8 bits are
 * packed, the first element lowest). The f64 pair takes every float, integer and bool dtype, the
 * i64 load only integers and bool (uint64 keeps its bit pattern), the i64 store all of them.
 * Returns false when the dtype has no such reading. Stores wrap integers and round floats as a C
 * cast would. */
TNB_EXPORT bool
tnb_load_f64(const void *data, tnb_dtype d, uint64_t i, double *out);
TNB_EXPORT bool
tnb_load_i64(const void *data, tnb_dtype d, uint64_t i, int64_t *out);
TNB_EXPORT bool
tnb_store_f64(void *data, tnb_dtype d, uint64_t i, double v);
TNB_EXPORT bool
tnb_store_i64(void *data, tnb_dtype d, uint64_t i, int64_t v);

#ifdef __cplusplus
}
#endif
#endif
