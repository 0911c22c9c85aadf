/* SPDX-License-Identifier: Apache-2.0 */
/* What generated host code calls: VM instructions that take more than a line, builtin packed functions and memory. It does what
 * runtime/vm.c, launch.c and builtin.c do, without an allocator or a device.
 *
 * Included once by each generated MODEL.c, behind
 *     TENON_DIMS    most dimensions of a value
 *     TENON_BLOCKS  most pieces of memory in use at a time
 *     TENON_ITEMS   most items of tuples in use at a time
 *     TENON_CELLS   most bytes of host tensors in use at a time
 *
 * A call runs twice: dry, to find out how large the workspace has to be (extents are computed, no kernel runs, no element is read),
 * and for good. Both place memory in the same way.
 */
#ifndef TENON_AOT_RUN_H
#define TENON_AOT_RUN_H

#include <math.h>
#include <string.h>
#include "tenon_aot.h"
#ifdef _OPENMP
#include <omp.h>
#endif

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "constants are stored with the lowest byte first, which this machine reads otherwise"
#endif

#define TENON_UNUSED __attribute__((unused))

/* ---- how kernels are called: tenon/base/kernel_abi.h ---- */

typedef union tnb_kernel_scalar {
    int64_t i;
    double f;
} tnb_kernel_scalar;
typedef void (*tnb_kernel_part)(void *, int64_t, int64_t, int32_t);
typedef struct tnb_kernel_refusal {
    int32_t state;
    uint32_t tag, check, reserved;
    int64_t index, extent;
} tnb_kernel_refusal;
typedef struct tnb_kernel_env {
    int32_t threads, worth;
    void *(*workspace)(struct tnb_kernel_env *env, size_t bytes);
    void *user;
    void (*team)(struct tnb_kernel_env *, tnb_kernel_part, void *, int64_t, int64_t);
    tnb_kernel_refusal *refused;
} tnb_kernel_env;
typedef int32_t (*tenon_kernel)(void *const *, const tnb_kernel_scalar *, tnb_kernel_env *);

/* ---- values ---- */

enum {
    TV_NULL,
    TV_INT,
    TV_FLOAT,
    TV_BOOL,
    TV_DTYPE,
    TV_TENSOR,
    TV_SHAPE,
    TV_STRING,
    TV_TUPLE,
    TV_STORAGE
};

typedef struct tenon_value {
    uint8_t tag, ndim, read_only;
    tenon_dtype dtype;
    uint32_t n;     /* items of a tuple */
    uint32_t block; /* that it counts a reference of, + 1; 0: none */
    union {
        int64_t i;
        double f;
        char *data;
        const char *text;
        struct tenon_value *items;
    } u;
    uint64_t elems, bytes; /* of a tensor; of a storage: what it has */
    int64_t dims[TENON_DIMS];
} tenon_value;

/* Returns from a function with the status of an expression and the place of the instruction, unless it is 0 or says a place. */
#define TENON_DO(place, expr)                            \
    do {                                                 \
        int st_ = (expr);                                \
        if (st_)                                         \
            return st_ < 256 ? st_ | (place) << 8 : st_; \
    } while (0)

/* The same within a function of the program: what it does then stands at its end. */
#define TENON_TRY(place, expr)                              \
    do {                                                    \
        if ((code = (expr))) {                              \
            code = code < 256 ? code | (place) << 8 : code; \
            goto failed;                                    \
        }                                                   \
    } while (0)

/* ---- memory ---- */

enum {
    TENON_WORK,
    TENON_TUPLES,
    TENON_HOST,
    TENON_SPACES,
    TENON_ALIGN = 64,
    TENON_TEMPORARIES = 64
};

typedef struct tenon_block {
    size_t at, size;
    uint32_t refs, next, items; /* next: index + 1 of the next block of the space by address */
    uint32_t space;
} tenon_block;

typedef struct tenon_run {
    int dry;
    char *base[TENON_SPACES];
    size_t room[TENON_SPACES], peak;
    uint32_t first[TENON_SPACES];
    uint32_t temporaries[TENON_TEMPORARIES], n_temporaries; /* of the launch under way */
    tenon_block blocks[TENON_BLOCKS];
    tenon_value items[TENON_ITEMS];
    __attribute__((aligned(64))) char cells[TENON_CELLS];
} tenon_run;

/* A piece of memory with one reference, at the lowest place where it fits; *out: its index + 1. */
static TENON_UNUSED int
tenon_take(tenon_run *r, uint32_t space, uint64_t size, uint32_t *out)
{
    size_t at = 0;
    uint32_t *link = &r->first[space], i = 0;
    if (size > SIZE_MAX / 2)
        return TENON_NO_MEMORY;
    size = (size + TENON_ALIGN - 1) / TENON_ALIGN * TENON_ALIGN;
    while (*link && r->blocks[*link - 1].at - at < size) {
        at = r->blocks[*link - 1].at + r->blocks[*link - 1].size;
        link = &r->blocks[*link - 1].next;
    }
    while (i < TENON_BLOCKS && r->blocks[i].refs)
        i++;
    if (i == TENON_BLOCKS || at > SIZE_MAX / 2 || at + size > r->room[space])
        return TENON_NO_MEMORY;
    r->blocks[i].at = at;
    r->blocks[i].size = (size_t)size;
    r->blocks[i].refs = 1;
    r->blocks[i].next = *link;
    r->blocks[i].space = space;
    r->blocks[i].items = 0;
    *link = i + 1;
    if (space == TENON_WORK && at + size > r->peak)
        r->peak = at + (size_t)size;
    *out = i + 1;
    return TENON_OK;
}

static char *
tenon_address(const tenon_run *r, uint32_t block)
{
    const tenon_block *b = &r->blocks[block - 1];
    return r->base[b->space] + b->at;
}

static void
tenon_give(tenon_run *r, uint32_t block)
{
    if (!block || --r->blocks[block - 1].refs)
        return;
    tenon_block *b = &r->blocks[block - 1];
    uint32_t *link = &r->first[b->space];
    while (*link != block)
        link = &r->blocks[*link - 1].next;
    *link = b->next;
    tenon_value *items = (tenon_value *)(void *)tenon_address(r, block);
    for (uint32_t i = 0; i < b->items; i++)
        tenon_give(r, items[i].block);
}

static tenon_value
tenon_keep(tenon_run *r, const tenon_value *v)
{
    if (v->block)
        r->blocks[v->block - 1].refs++;
    return *v;
}

static void
tenon_drop(tenon_run *r, tenon_value *v)
{
    tenon_give(r, v->block);
    v->tag = TV_NULL;
    v->block = 0;
}

/* Puts a value with its reference into a register. */
static TENON_UNUSED void
tenon_set(tenon_run *r, tenon_value *to, tenon_value v)
{
    tenon_give(r, to->block);
    *to = v;
}

static TENON_UNUSED void
tenon_drop_all(tenon_run *r, tenon_value *v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        tenon_drop(r, &v[i]);
}

/* The registers at a branch, for a dry run, which goes through both sides. */
static TENON_UNUSED void
tenon_save(tenon_run *r, const tenon_value *v, tenon_value *saved, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        tenon_set(r, &saved[i], tenon_keep(r, &v[i]));
}

static TENON_UNUSED void
tenon_restore(tenon_run *r, tenon_value *v, tenon_value *saved, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        tenon_set(r, &v[i], saved[i]);
        saved[i].block = 0;
    }
}

/* Of a dry run: arguments of the next turn of a loop whose number of turns is not known may not be larger than before. */
static TENON_UNUSED int
tenon_grows(const tenon_value *before, const tenon_value *after, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (before[i].tag == TV_TENSOR && after[i].bytes > before[i].bytes)
            return TENON_UNSUPPORTED;
    return TENON_OK;
}

/* ---- scalars ---- */

static TENON_UNUSED tenon_value
tenon_boxed(uint8_t tag, int64_t bits)
{
    tenon_value v = {.tag = tag, .u = {.i = bits}};
    return v;
}

static TENON_UNUSED double
tenon_f(int64_t bits)
{
    double f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static TENON_UNUSED int64_t
tenon_bits(double f)
{
    int64_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static TENON_UNUSED int64_t
tenon_extend(int64_t v, unsigned bits, int is_signed)
{
    unsigned shift = 64 - bits;
    uint64_t u = (uint64_t)v << shift;
    return is_signed ? (int64_t)u >> shift : (int64_t)(u >> shift);
}

static TENON_UNUSED int64_t
tenon_div(int64_t a, int64_t b)
{
    return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

static TENON_UNUSED int64_t
tenon_mod(int64_t a, int64_t b)
{
    return b == -1 ? 0 : a % b;
}

static TENON_UNUSED int64_t
tenon_floordiv(int64_t a, int64_t b)
{
    return tenon_div(a, b) - (tenon_mod(a, b) != 0 && (a < 0) != (b < 0));
}

static TENON_UNUSED int64_t
tenon_floormod(int64_t a, int64_t b)
{
    int64_t m = tenon_mod(a, b);
    return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}

static TENON_UNUSED int64_t
tenon_f2i(double v)
{
    if (isnan(v))
        return 0;
    return v >= 0x1p63 ? INT64_MAX : v < -0x1p63 ? INT64_MIN : (int64_t)v;
}

static TENON_UNUSED int64_t
tenon_f2u(double v)
{
    if (!(v >= 0x1p63))
        return v > 0 ? (int64_t)v : 0;
    return (int64_t)(v >= 0x1p64 ? UINT64_MAX : (uint64_t)v);
}

static TENON_UNUSED double
tenon_rsqrt(double x)
{
    return 1 / sqrt(x);
}

static TENON_UNUSED double
tenon_sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static TENON_UNUSED double
tenon_ldexp(double x, double y)
{
    return isnan(y) ? y : ldexp(x, (int)fmax(fmin(y, 100000), -100000));
}

/* ---- elements ---- */

static int
tenon_is(tenon_dtype d, uint8_t code, uint8_t bits)
{
    return d.code == code && d.bits == bits;
}

/* Bytes of so many elements; those of less than 8 bits are packed. False: too many. */
static int
tenon_storage(tenon_dtype d, uint64_t elems, uint64_t *bytes)
{
    uint64_t bits = (uint64_t)(d.code == TENON_BOOL ? 8 : d.bits) * d.lanes;
    if (bits && elems > (UINT64_C(1) << 62) / bits)
        return 0;
    *bytes = (elems * bits + 7) / 8;
    return 1;
}

static int
tenon_load_i(const void *at, tenon_dtype d, int64_t *out)
{
    if (d.lanes != 1 || (d.code != TENON_INT && d.code != TENON_UINT && d.code != TENON_BOOL))
        return TENON_UNSUPPORTED;
    switch (d.bits) {
    case 1:
    case 8: {
        uint8_t x;
        memcpy(&x, at, sizeof x);
        *out = d.code == TENON_INT ? (int8_t)x : d.code == TENON_BOOL ? x != 0 : x;
        return TENON_OK;
    }
    case 16: {
        uint16_t x;
        memcpy(&x, at, sizeof x);
        *out = d.code == TENON_INT ? (int16_t)x : x;
        return TENON_OK;
    }
    case 32: {
        uint32_t x;
        memcpy(&x, at, sizeof x);
        *out = d.code == TENON_INT ? (int32_t)x : (int64_t)x;
        return TENON_OK;
    }
    case 64:
        memcpy(out, at, sizeof *out);
        return TENON_OK;
    default:
        return TENON_UNSUPPORTED;
    }
}

static int
tenon_load_f(const void *at, tenon_dtype d, double *out)
{
    int64_t i;
    if (d.code == TENON_FLOAT && d.bits == 32 && d.lanes == 1) {
        float f;
        memcpy(&f, at, sizeof f);
        *out = f;
        return TENON_OK;
    }
    if (d.code == TENON_FLOAT && d.bits == 64 && d.lanes == 1) {
        memcpy(out, at, sizeof *out);
        return TENON_OK;
    }
    int st = tenon_load_i(at, d, &i);
    if (st == TENON_OK)
        *out = d.code == TENON_UINT ? (double)(uint64_t)i : (double)i;
    return st;
}

/* The address of an element of a tensor of the host. */
static TENON_UNUSED int
tenon_element(const tenon_value *v, int64_t index, tenon_dtype d, char **out)
{
    if (v->tag != TV_TENSOR || !tenon_is(v->dtype, d.code, d.bits) || v->dtype.lanes != 1)
        return TENON_TYPE;
    if (index < 0 || (uint64_t)index >= v->elems)
        return TENON_BOUNDS;
    if (d.bits < 8 && d.code != TENON_BOOL)
        return TENON_UNSUPPORTED;
    *out = v->u.data + (uint64_t)index * ((d.bits + 7u) / 8);
    return TENON_OK;
}

static TENON_UNUSED int
tenon_loadi(const tenon_value *v, int64_t index, tenon_dtype d, int64_t *out)
{
    char *at = NULL;
    int st = tenon_element(v, index, d, &at);
    return st ? st : tenon_load_i(at, d, out);
}

static TENON_UNUSED int
tenon_loadf(const tenon_value *v, int64_t index, tenon_dtype d, int64_t *out)
{
    char *at = NULL;
    double f = 0;
    int st = tenon_element(v, index, d, &at);
    st = st ? st : tenon_load_f(at, d, &f);
    *out = tenon_bits(f);
    return st;
}

static TENON_UNUSED int
tenon_storei(const tenon_value *v, int64_t index, tenon_dtype d, int64_t x)
{
    char *at = NULL;
    int st = tenon_element(v, index, d, &at);
    if (st || v->read_only)
        return st ? st : TENON_INVALID;
    uint8_t b = d.code == TENON_BOOL ? x != 0 : (uint8_t)x;
    uint16_t h = (uint16_t)x;
    uint32_t w = (uint32_t)x;
    if (d.code != TENON_INT && d.code != TENON_UINT && d.code != TENON_BOOL)
        return TENON_UNSUPPORTED;
    memcpy(at,
           d.bits <= 8    ? (const void *)&b
           : d.bits == 16 ? (const void *)&h
           : d.bits == 32 ? (const void *)&w
                          : (const void *)&x,
           (d.bits + 7u) / 8);
    return TENON_OK;
}

static TENON_UNUSED int
tenon_storef(const tenon_value *v, int64_t index, tenon_dtype d, int64_t bits)
{
    char *at = NULL;
    int st = tenon_element(v, index, d, &at);
    if (st || v->read_only)
        return st ? st : TENON_INVALID;
    if (d.code != TENON_FLOAT || (d.bits != 32 && d.bits != 64))
        return TENON_UNSUPPORTED;
    float f = (float)tenon_f(bits);
    memcpy(at, d.bits == 32 ? (const void *)&f : (const void *)&bits, d.bits / 8);
    return TENON_OK;
}

/* An integer; of a tensor its only element. */
static int
tenon_unboxi(const tenon_value *v, int64_t *out)
{
    if (v->tag == TV_INT || v->tag == TV_BOOL) {
        *out = v->u.i;
        return TENON_OK;
    }
    return v->tag == TV_TENSOR && v->elems == 1 ? tenon_load_i(v->u.data, v->dtype, out)
                                                : TENON_TYPE;
}

static TENON_UNUSED int
tenon_unboxf(const tenon_value *v, int64_t *out)
{
    double f = v->tag == TV_FLOAT ? v->u.f : (double)v->u.i;
    if (v->tag == TV_TENSOR && v->elems == 1) {
        int st = tenon_load_f(v->u.data, v->dtype, &f);
        if (st)
            return st;
    } else if (v->tag != TV_INT && v->tag != TV_BOOL && v->tag != TV_FLOAT) {
        return TENON_TYPE;
    }
    *out = tenon_bits(f);
    return TENON_OK;
}

static TENON_UNUSED int
tenon_truth(const tenon_value *v, int64_t *out)
{
    int64_t bits = 0;
    int st = tenon_unboxf(v, &bits);
    *out = tenon_f(bits) != 0;
    return st;
}

/* ---- tensors ---- */

/* Fills in how many elements and bytes a tensor of the value's dtype and shape has. */
static int
tenon_sized(tenon_value *v)
{
    uint64_t n = 1, zero = 0;
    for (int i = 0; i < v->ndim; i++) {
        if (v->dims[i] < 0)
            return TENON_SHAPE;
        if (v->dims[i] == 0)
            zero = 1;
        else if ((uint64_t)v->dims[i] > (UINT64_C(1) << 48) / n)
            return TENON_SHAPE;
        else
            n *= (uint64_t)v->dims[i];
    }
    v->elems = zero ? 0 : n;
    return tenon_storage(v->dtype, v->elems, &v->bytes) ? TENON_OK : TENON_BOUNDS;
}

static TENON_UNUSED int
tenon_alloc_storage(tenon_run *r, tenon_value *to, int64_t bytes)
{
    tenon_drop(r, to);
    tenon_value v = {.tag = TV_STORAGE};
    if (bytes < 0)
        return TENON_BOUNDS;
    int st = tenon_take(r, TENON_WORK, (uint64_t)bytes, &v.block);
    if (st)
        return st;
    v.u.data = tenon_address(r, v.block);
    v.bytes = (uint64_t)bytes;
    *to = v;
    return TENON_OK;
}

/* A tensor in a storage; dims: `ndim` extents. */
static TENON_UNUSED int
tenon_alloc_tensor(tenon_run *r, tenon_value *to, const tenon_value *storage, int64_t offset,
                   const int64_t *dims, int ndim, tenon_dtype d)
{
    tenon_value v = {.tag = TV_TENSOR, .ndim = (uint8_t)ndim, .dtype = d, .block = storage->block};
    if (storage->tag != TV_STORAGE)
        return TENON_TYPE;
    if (ndim > TENON_DIMS)
        return TENON_UNSUPPORTED;
    if (ndim)
        memcpy(v.dims, dims, (size_t)ndim * sizeof *dims);
    int st = tenon_sized(&v);
    if (st)
        return st;
    if (offset < 0 || (uint64_t)offset > storage->bytes ||
        v.bytes > storage->bytes - (uint64_t)offset)
        return TENON_BOUNDS;
    v.u.data = storage->u.data + offset;
    tenon_set(r, to, tenon_keep(r, &v));
    return TENON_OK;
}

/* A zeroed tensor of the host. */
static TENON_UNUSED int
tenon_host_tensor(tenon_run *r, tenon_value *to, const int64_t *dims, int ndim, tenon_dtype d)
{
    tenon_value v = {.tag = TV_TENSOR, .ndim = (uint8_t)ndim, .dtype = d};
    if (ndim > TENON_DIMS)
        return TENON_UNSUPPORTED;
    if (ndim)
        memcpy(v.dims, dims, (size_t)ndim * sizeof *dims);
    int st = tenon_sized(&v);
    st = st ? st : tenon_take(r, TENON_HOST, v.bytes, &v.block);
    if (st)
        return st;
    v.u.data = tenon_address(r, v.block);
    memset(v.u.data, 0, (size_t)v.bytes);
    tenon_set(r, to, v);
    return TENON_OK;
}

static TENON_UNUSED int
tenon_make_tuple(tenon_run *r, tenon_value *to, const tenon_value *const *items, int n)
{
    tenon_value v = {.tag = TV_TUPLE, .n = (uint32_t)n};
    int st = tenon_take(r, TENON_TUPLES, (uint64_t)n * sizeof *to, &v.block);
    if (st)
        return st;
    v.u.data = tenon_address(r, v.block);
    for (int i = 0; i < n; i++)
        v.u.items[i] = tenon_keep(r, items[i]);
    r->blocks[v.block - 1].items = (uint32_t)n;
    tenon_set(r, to, v);
    return TENON_OK;
}

static TENON_UNUSED int
tenon_get(tenon_run *r, tenon_value *to, const tenon_value *t, int64_t i)
{
    if (t->tag != TV_TUPLE)
        return TENON_TYPE;
    if (i < 0 || i >= t->n)
        return TENON_BOUNDS;
    tenon_set(r, to, tenon_keep(r, &t->u.items[i]));
    return TENON_OK;
}

static TENON_UNUSED int
tenon_dim(const tenon_value *v, uint32_t i, int64_t *out)
{
    if (v->tag != TV_TENSOR && v->tag != TV_SHAPE)
        return TENON_TYPE;
    if (i >= v->ndim)
        return TENON_SHAPE;
    *out = v->dims[i];
    return TENON_OK;
}

static TENON_UNUSED int
tenon_stride(const tenon_value *v, uint32_t i, int64_t *out)
{
    uint64_t n = 1;
    if (v->tag != TV_TENSOR)
        return TENON_TYPE;
    if (i >= v->ndim)
        return TENON_SHAPE;
    for (uint32_t k = v->ndim; --k > i;)
        n *= (uint64_t)v->dims[k];
    *out = (int64_t)n;
    return TENON_OK;
}

static TENON_UNUSED int
tenon_shape(tenon_run *r, tenon_value *to, const int64_t *dims, int n)
{
    tenon_value v = {.tag = TV_SHAPE, .ndim = (uint8_t)n};
    if (n < 0 || n > TENON_DIMS)
        return TENON_UNSUPPORTED;
    if (n)
        memcpy(v.dims, dims, (size_t)n * sizeof *dims);
    tenon_set(r, to, v);
    return TENON_OK;
}

/* ---- launches ---- */

/* A parameter that is memory: what a launch checks. */
typedef struct tenon_param {
    int16_t ndim; /* -1: any */
    uint8_t written;
    tenon_dtype dtype; /* bits 0: any */
} tenon_param;

/* Temporary memory of the launch under way. */
static int
tenon_temporary(tenon_run *r, uint64_t bytes, char **out)
{
    uint32_t block = 0;
    if (r->n_temporaries == TENON_TEMPORARIES)
        return TENON_NO_MEMORY;
    int st = tenon_take(r, TENON_WORK, bytes, &block);
    if (st)
        return st;
    r->temporaries[r->n_temporaries++] = block;
    *out = tenon_address(r, block);
    return TENON_OK;
}

static void *
tenon_kernel_memory(tnb_kernel_env *env, size_t bytes)
{
    char *at = NULL;
    return tenon_temporary(env->user, bytes, &at) ? NULL : at;
}

/* Of a dry run: the kernel ends where it asks for the memory of this number, and nothing of it was used. */
typedef struct tenon_asking {
    uint32_t left;
    uint64_t bytes;
} tenon_asking;

static void *
tenon_kernel_asks(tnb_kernel_env *env, size_t bytes)
{
    tenon_asking *a = env->user;
    a->bytes = bytes;
    return a->left-- ? (void *)(uintptr_t)TENON_ALIGN : NULL;
}

#ifdef _OPENMP
static void
tenon_team(tnb_kernel_env *env, tnb_kernel_part part, void *args, int64_t min, int64_t n)
{
    int64_t t = env->worth > 0 && env->worth < env->threads ? env->worth : env->threads;
    int64_t end; /* wraps as the kernels' own arithmetic does */
    if (n <= 0)
        return;
    t = t > n ? n : t;
    if (__builtin_add_overflow(min, n, &end)) {
        part(args, min, end, 0);
        return;
    }
#pragma omp parallel for schedule(static) num_threads((int)t)
    for (int64_t i = 0; i < t; i++) /* min + n i / t, without the product of n and i */
        part(args, min + n / t * i + n % t * i / t, min + n / t * (i + 1) + n % t * (i + 1) / t,
             (int32_t)i);
}
#endif

static int
tenon_argument(tenon_run *r, const tenon_value *v, const tenon_param *p, void **at)
{
    char *copy = NULL;
    if (v->tag != TV_TENSOR || (p->ndim >= 0 && p->ndim != v->ndim) ||
        (p->dtype.bits &&
         (!tenon_is(v->dtype, p->dtype.code, p->dtype.bits) || v->dtype.lanes != p->dtype.lanes)))
        return TENON_TYPE;
    if (p->written && v->read_only)
        return TENON_INVALID;
    *at = v->u.data;
    if ((uintptr_t)v->u.data % TENON_ALIGN == 0)
        return TENON_OK;
    int st = tenon_temporary(r, v->bytes, &copy);
    if (st == TENON_OK && !r->dry)
        memcpy(copy, v->u.data, (size_t)v->bytes);
    *at = copy;
    return st;
}

static int
tenon_run_kernel(tenon_run *r, tenon_kernel k, void **buffers, const tnb_kernel_scalar *scalars,
                 uint32_t asks)
{
    tnb_kernel_refusal refused = {0};
    tnb_kernel_env env = {.threads = 1, .refused = &refused};
#ifdef _OPENMP
    env.threads = omp_get_max_threads();
    env.team = tenon_team;
#endif
    if (r->dry) {
        for (uint32_t i = 0; i < asks; i++) {
            tenon_asking a = {.left = i};
            char *at;
            env.workspace = tenon_kernel_asks;
            env.user = &a;
            (void)k(buffers, scalars, &env);
            int st = tenon_temporary(r, a.bytes, &at);
            if (st)
                return st;
        }
        return TENON_OK;
    }
    env.workspace = tenon_kernel_memory;
    env.user = r;
    int32_t rc = k(buffers, scalars, &env);
    return rc == 0    ? TENON_OK
           : rc == -1 ? TENON_NO_MEMORY
           : rc == -2 ? TENON_BOUNDS
                      : TENON_INVALID;
}

/* asks: how often the kernel asks for temporary memory. buffers: room for n addresses. */
static TENON_UNUSED int
tenon_launch(tenon_run *r, tenon_kernel k, const tenon_value *const *args,
             const tenon_param *params, uint32_t n, void **buffers,
             const tnb_kernel_scalar *scalars, uint32_t asks)
{
    int st = TENON_OK, writes = 0;
    uint64_t written = 0;
    for (uint32_t i = 0; i < n && st == TENON_OK; i++) {
        st = tenon_argument(r, args[i], &params[i], &buffers[i]);
        writes |= params[i].written;
        written |= params[i].written ? args[i]->bytes : 0;
    }
    if (st == TENON_OK && !(writes && !written))
        st = tenon_run_kernel(r, k, buffers, scalars, asks);
    for (uint32_t i = 0; i < n && st == TENON_OK && !r->dry; i++)
        if (params[i].written && (char *)buffers[i] != args[i]->u.data)
            memcpy(args[i]->u.data, buffers[i], (size_t)args[i]->bytes);
    while (r->n_temporaries)
        tenon_give(r, r->temporaries[--r->n_temporaries]);
    return st;
}

#include "tenon_aot_packed.h"

/* ---- entries ---- */

/* What a status means that has no place. */
static TENON_UNUSED const char *
tenon_status_text(int status)
{
    switch (status) {
    case TENON_INVALID:
        return "an input or output is missing";
    case TENON_NO_MEMORY:
        return "the workspace is missing or too small; an input's data that are not at a multiple "
               "of 64 bytes are copied into it";
    case TENON_TYPE:
        return "an input or output has another type";
    case TENON_SHAPE:
        return "an input has another shape, or an output too little room";
    case TENON_UNSUPPORTED:
        return "how large the workspace has to be depends on the inputs' elements";
    case TENON_BOUNDS:
        return "an input is too large";
    default:
        return "";
    }
}

typedef int (*tenon_function)(tenon_run *r, const tenon_value *args, tenon_value *ret);

typedef struct tenon_entry {
    tenon_function function;
    const tenon_tensor *inputs; /* descriptions */
    const uint8_t *kinds;       /* of inputs: TV_TENSOR, TV_INT, TV_FLOAT or TV_SHAPE */
    uint32_t n_inputs, n_outputs;
    int is_tuple;
} tenon_entry;

static int
tenon_input(tenon_run *r, const tenon_tensor *t, uint8_t kind, tenon_value *out)
{
    tenon_value v = {.tag = TV_TENSOR, .ndim = (uint8_t)t->ndim, .dtype = t->dtype, .read_only = 1};
    if (t->ndim < 0 || t->ndim > TENON_DIMS || t->ndim > TENON_MAX_DIMS)
        return TENON_SHAPE;
    memcpy(v.dims, t->shape, (size_t)t->ndim * sizeof *v.dims);
    v.u.data = t->data;
    int st = tenon_sized(&v);
    if (st)
        return st;
    if (kind != TV_TENSOR) { /* the extents follow from it, so it is needed for a dry run, too */
        if (!t->data && v.elems)
            return TENON_INVALID;
        if (kind == TV_SHAPE &&
            (v.ndim != 1 || v.dims[0] > TENON_DIMS || !tenon_is(v.dtype, TENON_INT, 64)))
            return TENON_TYPE;
        if (kind == TV_SHAPE)
            return tenon_shape(r, out, t->data, (int)v.dims[0]);
        *out = tenon_boxed(kind, 0);
        return kind == TV_INT ? tenon_unboxi(&v, &out->u.i) : tenon_unboxf(&v, &out->u.i);
    }
    if (!t->data && v.bytes && !r->dry)
        return TENON_INVALID;
    if ((uintptr_t)t->data % TENON_ALIGN || (r->dry && !t->data)) {
        st = tenon_take(r, TENON_WORK, v.bytes, &v.block);
        if (st)
            return st;
        v.u.data = tenon_address(r, v.block);
        if (!r->dry)
            memcpy(v.u.data, t->data, (size_t)v.bytes);
    }
    *out = v;
    return TENON_OK;
}

/* A number or a shape as a tensor, for which the workspace has no place. */
static tenon_value
tenon_as_tensor(const tenon_value *v)
{
    tenon_value t = {.tag = TV_TENSOR, .dtype = {TENON_INT, 64, 1}, .elems = 1, .bytes = 8};
    if (v->tag == TV_FLOAT)
        t.dtype.code = TENON_FLOAT;
    if (v->tag == TV_SHAPE) {
        t.ndim = 1;
        t.dims[0] = v->ndim;
        t.bytes = 8u * v->ndim;
    }
    return t;
}

static int
tenon_output(const tenon_value *from, tenon_tensor *out)
{
    tenon_value number;
    const tenon_value *v = from;
    int is_number =
        v->tag == TV_INT || v->tag == TV_FLOAT || v->tag == TV_BOOL || v->tag == TV_SHAPE;
    if (is_number) {
        number = tenon_as_tensor(from);
        v = &number;
    }
    if (v->tag != TV_TENSOR || v->ndim > TENON_MAX_DIMS)
        return TENON_TYPE;
    if (out->data && out->bytes < v->bytes)
        return TENON_SHAPE;
    if (is_number) {
        if (out->data)
            memcpy(out->data,
                   from->tag == TV_SHAPE ? (const void *)from->dims : (const void *)&from->u.i,
                   (size_t)v->bytes);
    } else if (!out->data)
        out->data = v->u.data;
    else if (v->bytes)
        memcpy(out->data, v->u.data, (size_t)v->bytes);
    out->bytes = (size_t)v->bytes;
    out->dtype = v->dtype;
    out->ndim = v->ndim;
    memcpy(out->shape, v->dims, v->ndim * sizeof *v->dims);
    return TENON_OK;
}

/* Runs a function on an empty workspace. */
static int
tenon_enter(tenon_run *r, const tenon_entry *e, const tenon_tensor *inputs, tenon_tensor *outputs,
            tenon_value *args)
{
    tenon_value ret = {0};
    int st = TENON_OK;
    memset(r->first, 0, sizeof r->first);
    memset(r->blocks, 0, sizeof r->blocks);
    r->n_temporaries = 0;
    r->peak = 0;
    r->base[TENON_TUPLES] = (char *)r->items;
    r->room[TENON_TUPLES] = sizeof r->items;
    r->base[TENON_HOST] = r->cells;
    r->room[TENON_HOST] = sizeof r->cells;
    for (uint32_t i = 0; i < e->n_inputs && st == TENON_OK; i++) {
        args[i].tag = TV_NULL;
        args[i].block = 0;
        st = tenon_input(r, &inputs[i], e->kinds[i], &args[i]);
    }
    st = st ? st : e->function(r, args, &ret);
    for (uint32_t i = 0; outputs && i < e->n_outputs && st == TENON_OK; i++)
        st = e->is_tuple && (ret.tag != TV_TUPLE || i >= ret.n)
                 ? TENON_TYPE
                 : tenon_output(e->is_tuple ? &ret.u.items[i] : &ret, &outputs[i]);
    return st;
}

static int
tenon_dry_run(tenon_run *r, const tenon_entry *e, const tenon_tensor *inputs, tenon_value *args)
{
    r->dry = 1;
    r->base[TENON_WORK] = (char *)(uintptr_t)TENON_ALIGN;
    r->room[TENON_WORK] = SIZE_MAX / 4;
    return tenon_enter(r, e, inputs ? inputs : e->inputs, NULL, args);
}

static TENON_UNUSED size_t
tenon_query(tenon_run *r, const tenon_entry *e, const tenon_tensor *inputs, tenon_value *args)
{
    return tenon_dry_run(r, e, inputs, args) ? 0 : r->peak + TENON_ALIGN;
}

static TENON_UNUSED int
tenon_call(tenon_run *r, const tenon_entry *e, const tenon_tensor *inputs, tenon_tensor *outputs,
           void *workspace, size_t bytes, tenon_value *args)
{
    size_t skipped = (size_t)(0 - (uintptr_t)workspace) % TENON_ALIGN;
    if ((!inputs && e->n_inputs) || (!outputs && e->n_outputs))
        return TENON_INVALID;
    if (!workspace || !bytes) { /* why it has no size, if it has none */
        int st = tenon_dry_run(r, e, inputs, args);
        return st ? st : TENON_NO_MEMORY;
    }
    r->dry = 0;
    r->base[TENON_WORK] = (char *)workspace + skipped;
    r->room[TENON_WORK] = bytes > skipped ? bytes - skipped : 0;
    return tenon_enter(r, e, inputs, outputs, args);
}

#endif
