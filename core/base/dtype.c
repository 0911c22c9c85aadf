/* SPDX-License-Identifier: Apache-2.0 */
/* Element types: sizes, spelling, conversion of the small float formats, element access. */
#include "tenon/base/dtype.h"
#include "tenon/base/mem.h"
#include "tenon/base/scalar.h"
#include <math.h>
#include <stdio.h>

/* ORDER DTYPE. `bits` is what the name alone means; names with an underscore have one width only.
 */
static const struct dtype_name {
    const char *name;
    uint8_t code, bits;
    bool fixed;
} names[] = {
    {"float8_e4m3fnuz", TNB_FLOAT8_E4M3FNUZ, 8, true}, /* before its beginning */
    {"float8_e4m3fn", TNB_FLOAT8_E4M3FN, 8, true},
    {"float8_e5m2fnuz", TNB_FLOAT8_E5M2FNUZ, 8, true},
    {"float8_e5m2", TNB_FLOAT8_E5M2, 8, true},
    {"float4_e2m1fn", TNB_FLOAT4_E2M1FN, 4, true},
    {"handle", TNB_HANDLE, 64, true},
    {"bool", TNB_BOOL, 8, true},
    {"bfloat", TNB_BFLOAT, 16, false},
    {"float", TNB_FLOAT, 32, false},
    {"uint", TNB_UINT, 32, false},
    {"int", TNB_INT, 32, false},
    {"complex", TNB_COMPLEX, 64, false},
};
enum { N_NAMES = sizeof names / sizeof *names };

size_t
tnb_dtype_bytes(tnb_dtype d)
{
    return ((size_t)d.bits * d.lanes + 7) / 8;
}

tnb_status
tnb_dtype_storage(tnb_dtype d, uint64_t count, uint64_t *bytes, tnb_err *err)
{
    uint64_t per = (uint64_t)d.bits * d.lanes, bits;
    if (per % 8 == 0) {
        if (tnb_mul_u64(per / 8, count, bytes))
            return TNB_OK;
    } else if (tnb_mul_u64(per, count, &bits)) {
        *bytes = bits / 8 + (bits % 8 != 0);
        return TNB_OK;
    }
    return tnb_fail(err, TNB_BOUNDS, "%llu elements of %s do not fit the address space",
                    (unsigned long long)count, tnb_dtype_print(d).s);
}

bool
tnb_shape_count(int32_t ndim, const int64_t *shape, uint64_t *count)
{
    int64_t n = 1;
    bool empty = false;
    *count = 0;
    if (ndim < 0)
        return false;
    for (int32_t i = 0; i < ndim; i++) {
        if (shape[i] < 0 || (shape[i] && !tnb_mul_i64(n, shape[i], &n)) || n > TNB_MAX_ELEMS)
            return false;
        empty |= shape[i] == 0;
    }
    *count = empty ? 0 : (uint64_t)n;
    return true;
}

tnb_status
tnb_shape_bytes(tnb_dtype d, int32_t ndim, const int64_t *shape, uint64_t *count, uint64_t *bytes,
                tnb_err *err)
{
    if (tnb_shape_count(ndim, shape, count)) {
        TNB_TRY(tnb_dtype_storage(d, *count, bytes, err));
        if (*bytes <= INT64_MAX / 2)
            return TNB_OK;
    }
    for (int32_t i = 0; i < ndim; i++)
        if (shape[i] < 0) /* the least integer: what a program makes of an extent that overflows */
            return shape[i] == INT64_MIN
                       ? tnb_fail(err, TNB_SHAPE,
                                  "extent %d of a tensor does not fit an integer of 64 bits", i)
                       : tnb_fail(err, TNB_SHAPE, "extent %d of a tensor is negative: %lld", i,
                                  (long long)shape[i]);
    return tnb_fail(err, TNB_BOUNDS, "a tensor of this shape does not fit the address space");
}

tnb_dtype_text
tnb_dtype_print(tnb_dtype d)
{
    tnb_dtype_text t;
    if (tnb_dtype_is_void(d)) {
        snprintf(t.s, sizeof t.s, "void");
        return t;
    }
    const struct dtype_name *row = NULL;
    for (int i = 0; i < N_NAMES && !row; i++)
        if (names[i].code == d.code)
            row = &names[i];
    int n;
    if (!row)
        n = snprintf(t.s, sizeof t.s, "custom%u_%u", d.code, d.bits);
    else if (row->fixed && row->bits == d.bits)
        n = snprintf(t.s, sizeof t.s, "%s", row->name);
    else
        n = snprintf(t.s, sizeof t.s, "%s%u", row->name, d.bits);
    if (d.lanes > 1)
        snprintf(t.s + n, sizeof t.s - (size_t)n, "x%u", d.lanes);
    return t;
}

/* Digits at *s, at most `max`; false without any, or with a leading zero. */
static bool
read_count(const char **s, const char *end, uint32_t max, uint32_t *out)
{
    const char *p = *s;
    uint32_t v = 0;
    if (p == end || *p < '1' || *p > '9')
        return false;
    for (; p < end && *p >= '0' && *p <= '9'; p++) {
        v = v * 10 + (uint32_t)(*p - '0');
        if (v > max)
            return false;
    }
    *s = p;
    *out = v;
    return true;
}

static bool
width_exists(uint8_t code, uint32_t bits)
{
    switch (code) {
    case TNB_FLOAT:
        return bits == 16 || bits == 32 || bits == 64;
    case TNB_BFLOAT:
        return bits == 16;
    case TNB_COMPLEX:
        return bits == 64 || bits == 128;
    default:
        return bits == 1 || bits == 2 || bits == 4 || bits == 8 || bits == 16 || bits == 32 ||
               bits == 64;
    }
}

bool
tnb_dtype_exists(tnb_dtype d)
{
    bool usual =
        (d.bits == 32 || d.bits == 64) && d.lanes && (d.code == TNB_FLOAT || d.code == TNB_INT);
    if (usual) /* each tensor of a run is asked for */
        return true;
    for (int i = 0; i < N_NAMES && d.lanes; i++)
        if (names[i].code == d.code)
            return names[i].fixed ? names[i].bits == d.bits : width_exists(d.code, d.bits);
    return false;
}

bool
tnb_dtype_parse(const char *s, size_t n, tnb_dtype *d)
{
    const char *end = s + n;
    if (n == 4 && memcmp(s, "void", 4) == 0) {
        *d = TNB_VOID;
        return true;
    }
    for (int i = 0; i < N_NAMES; i++) {
        size_t k = strlen(names[i].name);
        if (n < k || memcmp(s, names[i].name, k) != 0)
            continue;
        const char *p = s + k;
        uint32_t bits = names[i].bits, lanes = 1;
        if (!names[i].fixed && p < end && *p != 'x' &&
            (!read_count(&p, end, 255, &bits) || !width_exists(names[i].code, bits)))
            return false;
        if (p < end && *p == 'x') {
            p++;
            if (!read_count(&p, end, UINT16_MAX, &lanes))
                return false;
        }
        if (p != end)
            return false;
        *d = (tnb_dtype){names[i].code, (uint8_t)bits, (uint16_t)lanes};
        return true;
    }
    return false;
}

/* ---- small floats ---- */

static uint32_t
bits_of(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static float
float_of(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

float
tnb_half_to_float(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = h & 0x7FFF;
    if (rest >= 0x7C00)
        return float_of(sign | 0x7F800000 | (rest & 0x3FF) << 13);
    if (rest >= 0x400)
        return float_of(sign | ((rest << 13) + ((127u - 15) << 23)));
    /* Subnormal: rest * 2^-24 is exact. */
    return float_of(sign | bits_of((float)rest * 0x1p-24f));
}

uint16_t
tnb_float_to_half(float f)
{
    uint32_t u = bits_of(f), sign = u >> 16 & 0x8000, rest = u & 0x7FFFFFFF;
    if (rest > 0x7F800000)
        return (uint16_t)(sign | 0x7E00 | (rest >> 13 & 0x3FF));
    if (rest >= 0x477FF000) /* 65520 and above round to infinity */
        return (uint16_t)(sign | 0x7C00);
    if (rest < 0x38800000) { /* below 2^-14: adding 0.5 rounds at 2^-24, ties to even */
        float v = float_of(rest) + 0.5f;
        return (uint16_t)(sign | (bits_of(v) - bits_of(0.5f)));
    }
    rest += 0xFFF + (rest >> 13 & 1);
    return (uint16_t)(sign | ((rest - ((127u - 15) << 23)) >> 13));
}

float
tnb_bfloat_to_float(uint16_t h)
{
    return float_of((uint32_t)h << 16);
}

uint16_t
tnb_float_to_bfloat(float f)
{
    uint32_t u = bits_of(f);
    if ((u & 0x7FFFFFFF) > 0x7F800000)
        return (uint16_t)(u >> 16 | 0x40);
    return (uint16_t)((u + 0x7FFF + (u >> 16 & 1)) >> 16);
}

/* A binary float format of at most 16 bits. `finite` ones have no infinity: with `nan` the highest
 * code is NaN and larger values become it, else larger values saturate. `fnuz` ones have one zero;
 * the code of the other one is NaN, and larger values become it. */
typedef struct small_float {
    int exponent, mantissa; /* bits */
    bool finite, nan, fnuz;
} small_float;
static const small_float half_format = {5, 10, false, true, false},
                         bfloat_format = {8, 7, false, true, false},
                         e5m2_format = {5, 2, false, true, false},
                         e4m3_format = {4, 3, true, true, false},
                         e5m2z_format = {5, 2, true, false, true},
                         e4m3z_format = {4, 3, true, false, true},
                         e2m1_format = {2, 1, true, false, false};

static int
bias_of(const small_float *f)
{
    return (1 << (f->exponent - 1)) - !f->fnuz;
}

/* One rounding, to nearest even, straight from double. */
static uint16_t
encode(const small_float *f, double v)
{
    int m = f->mantissa, bias = bias_of(f);
    uint32_t sign = signbit(v) ? 1u << (f->exponent + m) : 0;
    uint32_t top = (1u << f->exponent) - 1, all = (top << m) | ((1u << m) - 1);
    uint32_t highest =
        f->finite ? (f->nan ? all - 1 : all) : (top << m) - 1; /* largest finite code */
    uint32_t other_zero = 1u << (f->exponent + m);
    if (isnan(v))
        return (uint16_t)(f->fnuz     ? other_zero
                          : !f->nan   ? 0
                          : f->finite ? sign | all
                                      : sign | top << m | 1u << (m - 1));
    double a = fabs(v);
    uint32_t code = highest + 1;
    if (!isinf(a)) {
        int e = 0;
        if (a != 0)
            frexp(a, &e);
        e -= 1; /* a = 1.xxx * 2^e */
        if (a == 0 || e < 1 - bias)
            e = 1 - bias;
        double scaled =
            nearbyint(ldexp(a, m - e)); /* an integer below 2^(m+1), exact before rounding */
        if (scaled <= ldexp(1, m + 1)) {
            /* Adding lets a mantissa that rounded up carry into the exponent. */
            int64_t c = ((int64_t)(e + bias - 1) << m) + (int64_t)scaled;
            code = c > highest ? highest + 1 : (uint32_t)c;
        }
    }
    if (f->fnuz)
        return (uint16_t)(code > highest ? other_zero : code ? sign | code : 0);
    if (code > highest) {
        if (!f->finite)
            code = top << m;
        else
            code = f->nan ? all : highest;
    }
    return (uint16_t)(sign | code);
}

static double
decode(const small_float *f, uint16_t code)
{
    int m = f->mantissa, bias = bias_of(f);
    uint32_t top = (1u << f->exponent) - 1, e = (uint32_t)code >> m & top,
             x = code & ((1u << m) - 1);
    double sign = code >> (f->exponent + m) & 1 ? -1 : 1;
    if (f->fnuz && code == 1u << (f->exponent + m))
        return NAN;
    if (f->finite) {
        if (f->nan && e == top && x == (1u << m) - 1)
            return NAN;
    } else if (e == top) {
        return x ? NAN : sign * INFINITY;
    }
    if (e == 0)
        return sign * ldexp(x, 1 - bias - m);
    return sign * ldexp(x + (1u << m), (int)e - bias - m);
}

/* As encode does for half_format, without its calls. */
uint16_t
tnb_double_to_half(double f)
{
    uint64_t u, one;
    memcpy(&u, &f, sizeof u);
    uint32_t sign = u >> 48 & 0x8000;
    u &= INT64_MAX;
    if (u > (uint64_t)0x7FF << 52)
        return (uint16_t)(sign | 0x7E00);
    if (u >= 0x40EFFE0000000000) /* 65520 and above round to infinity */
        return (uint16_t)(sign | 0x7C00);
    if (u < (uint64_t)(1023 - 14) << 52) { /* adding 2^28 rounds at 2^-24, ties to even */
        double v, unit = 0x1p28;
        memcpy(&v, &u, sizeof v);
        v += unit;
        memcpy(&u, &v, sizeof u);
        memcpy(&one, &unit, sizeof one);
        return (uint16_t)(sign | (u - one));
    }
    u += ((uint64_t)1 << 41) - 1 + (u >> 42 & 1);
    return (uint16_t)(sign | ((u - ((uint64_t)(1023 - 15) << 52)) >> 42));
}

static const small_float *
format_of(tnb_dtype d)
{
    switch (d.code) {
    case TNB_FLOAT:
        return d.bits == 16 ? &half_format : NULL;
    case TNB_BFLOAT:
        return d.bits == 16 ? &bfloat_format : NULL;
    case TNB_FLOAT8_E4M3FN:
        return d.bits == 8 ? &e4m3_format : NULL;
    case TNB_FLOAT8_E5M2:
        return d.bits == 8 ? &e5m2_format : NULL;
    case TNB_FLOAT8_E4M3FNUZ:
        return d.bits == 8 ? &e4m3z_format : NULL;
    case TNB_FLOAT8_E5M2FNUZ:
        return d.bits == 8 ? &e5m2z_format : NULL;
    case TNB_FLOAT4_E2M1FN:
        return d.bits == 4 ? &e2m1_format : NULL;
    default:
        return NULL;
    }
}

/* ---- elements ---- */

/* The bits of element `i`; widths below 8 are packed, the first element lowest. */
static bool
load_bits(const void *data, unsigned bits, uint64_t i, uint64_t *out)
{
    const unsigned char *p = data;
    switch (bits) {
    case 1:
    case 2:
    case 4: {
        unsigned per = 8 / bits;
        *out = p[i / per] >> (i % per * bits) & ((1u << bits) - 1);
        return true;
    }
    case 8:
        *out = p[i];
        return true;
    case 16: {
        uint16_t v;
        memcpy(&v, p + i * 2, 2);
        *out = v;
        return true;
    }
    case 32: {
        uint32_t v;
        memcpy(&v, p + i * 4, 4);
        *out = v;
        return true;
    }
    case 64:
        memcpy(out, p + i * 8, 8);
        return true;
    default:
        return false;
    }
}

static bool
store_bits(void *data, unsigned bits, uint64_t i, uint64_t v)
{
    unsigned char *p = data;
    switch (bits) {
    case 1:
    case 2:
    case 4: {
        unsigned per = 8 / bits, shift = (unsigned)(i % per) * bits, mask = (1u << bits) - 1;
        p[i / per] =
            (unsigned char)((p[i / per] & ~(mask << shift)) | ((unsigned)v & mask) << shift);
        return true;
    }
    case 8:
        p[i] = (unsigned char)v;
        return true;
    case 16: {
        uint16_t w = (uint16_t)v;
        memcpy(p + i * 2, &w, 2);
        return true;
    }
    case 32: {
        uint32_t w = (uint32_t)v;
        memcpy(p + i * 4, &w, 4);
        return true;
    }
    case 64:
        memcpy(p + i * 8, &v, 8);
        return true;
    default:
        return false;
    }
}

bool
tnb_load_i64(const void *data, tnb_dtype d, uint64_t i, int64_t *out)
{
    uint64_t v;
    if (d.lanes != 1 || (d.code != TNB_INT && d.code != TNB_UINT && d.code != TNB_BOOL) ||
        !load_bits(data, d.bits, i, &v))
        return false;
    if (d.code == TNB_BOOL)
        v = v != 0;
    else if (d.code == TNB_INT && d.bits < 64)
        v = (uint64_t)((int64_t)(v << (64 - d.bits)) >> (64 - d.bits));
    *out = (int64_t)v;
    return true;
}

bool
tnb_load_f64(const void *data, tnb_dtype d, uint64_t i, double *out)
{
    uint64_t v;
    if (d.lanes != 1)
        return false;
    if (d.code == TNB_FLOAT && d.bits == 32) {
        float f;
        memcpy(&f, (const char *)data + i * 4, 4);
        *out = f;
        return true;
    }
    if (d.code == TNB_FLOAT && d.bits == 64) {
        memcpy(out, (const char *)data + i * 8, 8);
        return true;
    }
    const small_float *f = format_of(d);
    if (f) {
        if (!load_bits(data, d.bits, i, &v))
            return false;
        *out = f == &half_format     ? (double)tnb_half_to_float((uint16_t)v)
               : f == &bfloat_format ? (double)tnb_bfloat_to_float((uint16_t)v)
                                     : decode(f, (uint16_t)v);
        return true;
    }
    int64_t n;
    if (!tnb_load_i64(data, d, i, &n))
        return false;
    *out = d.code == TNB_UINT ? (double)(uint64_t)n : (double)n;
    return true;
}

bool
tnb_store_f64(void *data, tnb_dtype d, uint64_t i, double v)
{
    if (d.lanes != 1)
        return false;
    if (d.code == TNB_FLOAT && d.bits == 32) {
        float f = (float)v;
        memcpy((char *)data + i * 4, &f, 4);
        return true;
    }
    if (d.code == TNB_FLOAT && d.bits == 64) {
        memcpy((char *)data + i * 8, &v, 8);
        return true;
    }
    const small_float *f = format_of(d);
    if (f)
        return store_bits(data, d.bits, i,
                          f == &half_format ? tnb_double_to_half(v) : encode(f, v));
    if (d.code == TNB_BOOL)
        return store_bits(data, d.bits, i, v != 0);
    if (d.code != TNB_INT && d.code != TNB_UINT)
        return false;
    return store_bits(data, d.bits, i,
                      d.code == TNB_UINT ? tnb_f64_to_u64(v) : (uint64_t)tnb_f64_to_i64(v));
}

bool
tnb_store_i64(void *data, tnb_dtype d, uint64_t i, int64_t v)
{
    if (d.lanes != 1)
        return false;
    switch (d.code) {
    case TNB_INT:
    case TNB_UINT:
        return store_bits(data, d.bits, i, (uint64_t)v);
    case TNB_BOOL:
        return store_bits(data, d.bits, i, v != 0);
    default:
        return tnb_store_f64(data, d, i, (double)v);
    }
}
