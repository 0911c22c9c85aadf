/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix units: mma of warps up to sm_89, ldmatrix, stmatrix, movmatrix. The layouts of fragments are those of the PTX ISA's section on
 * warp-level matrix instructions; they follow one rule. A register of 32 bits (64 for f64) holds e elements; lane l has row or column
 * l / 4 and elements e * (l % 4) and on along K; registers go on by 8 rows first, then by 4 e along K.
 *
 * A sum of products is kept as a double and rounded once: the hardware's own order and rounding are not documented. */
#include "config.h"

#include "decode.h"
#include "number.h"

#include <stdio.h>

SIM_FAST_CODE

enum { MAX_M = 16, MAX_N = 8, MAX_K = 256 };

/* What an element is. */
typedef enum element {
    E_F16,
    E_BF16,
    E_TF32,
    E_F32,
    E_F64,
    E_S8,
    E_U8,
    E_S4,
    E_U4,
    E_B1,
    E_E4M3,
    E_E5M2,
    E_S32,
    E_NONE
} element;
static const struct {
    const char *name;
    uint32_t bits;
} elements[E_NONE] = {{"f16", 16}, {"bf16", 16}, {"tf32", 32}, {"f32", 32}, {"f64", 64},
                      {"s8", 8},   {"u8", 8},    {"s4", 4},    {"u4", 4},   {"b1", 1},
                      {"e4m3", 8}, {"e5m2", 8},  {"s32", 32}};

/* What sim_insn.table has of an mma. */
enum { M, N, K, D_TYPE, A_TYPE, B_TYPE, C_TYPE, B1_AND, N_TABLE };

static double
small_float(uint32_t v, int exponent_bits, int fraction_bits)
{
    uint32_t fraction = v & ((1u << fraction_bits) - 1);
    int exponent = (int)(v >> fraction_bits) & ((1 << exponent_bits) - 1),
        bias = (1 << (exponent_bits - 1)) - 1;
    double sign = v >> 7 & 1 ? -1 : 1;
    if (exponent_bits == 5 && exponent == 31)
        return fraction ? (double)NAN : sign * (double)INFINITY;
    if (exponent_bits == 4 && (v & 127) == 127)
        return (double)NAN;
    return exponent ? sign * ldexp((double)(fraction | 1u << fraction_bits),
                                   exponent - bias - fraction_bits)
                    : sign * ldexp((double)fraction, 1 - bias - fraction_bits);
}

/* Element j of a register. */
static double
read_element(const uint8_t *reg, element t, uint32_t j)
{
    uint64_t v = 0;
    double d;
    memcpy(&v, reg, t == E_F64 ? 8 : 4);
    uint32_t x = t == E_F64 ? 0 : (uint32_t)(v >> (elements[t].bits * j));
    switch (t) {
    case E_F16:
        return (double)sim_from_half((uint16_t)x);
    case E_BF16:
        return (double)sim_from_bfloat((uint16_t)x);
    case E_TF32: /* the low bits are not looked at */
        return (double)sim_float_of(x & 0xffffe000);
    case E_F32:
        return (double)sim_float_of(x);
    case E_F64:
        memcpy(&d, &v, sizeof d);
        return d;
    case E_S8:
        return (double)(int8_t)x;
    case E_U8:
        return (double)(uint8_t)x;
    case E_S4:
        return (double)((int32_t)(x << 28) >> 28);
    case E_U4:
        return (double)(x & 15);
    case E_B1:
        return (double)(x & 1);
    case E_E4M3:
        return small_float(x & 255, 4, 3);
    case E_E5M2:
        return small_float(x & 255, 5, 2);
    default:
        return (double)(int32_t)x;
    }
}

/* ---- mma ---- */

typedef struct matrices {
    double a[MAX_M][MAX_K], b[MAX_K][MAX_N], c[MAX_M][MAX_N];
} matrices;

static const uint8_t *
register_of(sim_warp *w, const sim_insn *i, uint32_t at, uint32_t lane)
{
    return (const uint8_t *)sim_at(w, i->ref[at]) + lane * i->width[at];
}

static uint32_t
per_register(element t)
{
    return t == E_F64 ? 1 : 32 / elements[t].bits;
}

static void
read_fragments(sim_warp *w, const sim_insn *i, matrices *x)
{
    const uint32_t *t = i->table;
    element ta = (element)t[A_TYPE], tb = (element)t[B_TYPE], tc = (element)t[C_TYPE];
    uint32_t e = per_register(ta), rows = t[M] / 8;
    uint32_t n_a = t[K] / (4 * e) * rows, n_b = t[K] / (4 * e);
    uint32_t e_c = tc == E_F16 ? 2 : 1, n_c = rows * 2 / e_c, at_d = n_c;
    if (t[D_TYPE] != t[C_TYPE]) /* f16 and f32 mixed */
        at_d = rows * 2 / (t[D_TYPE] == E_F16 ? 2 : 1);
    for (uint32_t l = 0; l < SIM_LANES; l++) {
        uint32_t group = l / 4, in_group = l % 4;
        for (uint32_t r = 0; r < n_a; r++)
            for (uint32_t j = 0; j < e; j++)
                x->a[group + 8 * (r % rows)][r / rows * 4 * e + in_group * e + j] =
                    read_element(register_of(w, i, at_d + r, l), ta, j);
        for (uint32_t r = 0; r < n_b; r++)
            for (uint32_t j = 0; j < e; j++)
                x->b[r * 4 * e + in_group * e + j][group] =
                    read_element(register_of(w, i, at_d + n_a + r, l), tb, j);
        for (uint32_t v = 0; v < 2 * rows; v++)
            x->c[group + 8 * (v / 2)][in_group * 2 + v % 2] =
                read_element(register_of(w, i, at_d + n_a + n_b + v / e_c, l), tc, v % e_c);
    }
}

static void
multiply(const uint32_t *t, matrices *x)
{
    for (uint32_t m = 0; m < t[M]; m++)
        for (uint32_t k = 0; k < t[K]; k++) {
            double a = x->a[m][k];
            if (t[A_TYPE] == E_F64) {
                for (uint32_t n = 0; n < MAX_N; n++)
                    x->c[m][n] = fma(a, x->b[k][n], x->c[m][n]);
            } else if (t[A_TYPE] == E_B1 && !t[B1_AND]) {
                for (uint32_t n = 0; n < MAX_N; n++)
                    x->c[m][n] += a != x->b[k][n] ? 1 : 0;
            } else {
                SIM_INDEPENDENT
                for (uint32_t n = 0; n < MAX_N; n++)
                    x->c[m][n] += a * x->b[k][n];
            }
        }
}

/* Results with an uninitialized operand are marked: a row's, a column's, or the sum's own. A register belongs to the upper or the lower
 * eight rows. */
static void
taint_products(sim_warp *w, const sim_insn *i, uint32_t rows, uint32_t n_a, uint32_t n_b)
{
    uint32_t lanes[2] = {0}, n_d = i->n_out, n_c = i->n_ref - n_d - n_a - n_b;
    for (uint32_t k = n_d; w->is_tainted && k < i->n_ref; k++) {
        uint32_t marked = sim_taint_mask(w, i->ref[k]), at = k - n_d;
        for (uint32_t left = marked; left; left &= left - 1) {
            uint32_t l = (uint32_t)__builtin_ctz(left);
            if (at < n_a) {
                lanes[at % rows] |= UINT32_C(15) << l / 4 * 4;
            } else if (at < n_a + n_b) {
                lanes[0] |= UINT32_C(0x11111111) << l / 8;
                lanes[1] |= UINT32_C(0x11111111) << l / 8;
            } else {
                lanes[(at - n_a - n_b) * rows / n_c] |= UINT32_C(1) << l;
            }
        }
    }
    sim_taint_clear(w, i, SIM_ALL);
    for (uint32_t k = 0; (lanes[0] | lanes[1]) && k < n_d; k++)
        sim_taint_set(w, i->ref[k], SIM_ALL, lanes[k * rows / n_d], i);
}

static void
op_mma(sim_warp *w, const sim_insn *i, uint32_t mask)
{
    const uint32_t *t = i->table;
    matrices x;
    if (!(w->phase & 2))
        return;
    if (mask != SIM_ALL)
        sim_fault(w, i, (uint32_t)__builtin_ctz(mask), SIM_ILLEGAL,
                  "lanes 0x%08x of the warp have exited", ~mask);
    uint32_t n_b = t[K] / (4 * per_register((element)t[A_TYPE]));
    taint_products(w, i, t[M] / 8, t[M] / 8 * n_b, n_b);
    read_fragments(w, i, &x);
    multiply(t, &x);
    for (uint32_t l = 0; l < SIM_LANES; l++)
        for (uint32_t v = 0; v < t[M] / 4; v++) {
            double d = x.c[l / 4 + 8 * (v / 2)][l % 4 * 2 + v % 2];
            if (t[D_TYPE] == E_F16) {
                ((uint16_t *)sim_at(w, i->ref[v / 2]))[l * 2 + v % 2] =
                    sim_to_half(d, SIM_NEAREST, false);
            } else if (t[D_TYPE] == E_F32) {
                ((float *)sim_at(w, i->ref[v]))[l] = sim_canonical((float)d);
            } else if (t[D_TYPE] == E_F64) {
                ((double *)sim_at(w, i->ref[v]))[l] = d;
            } else {
                int64_t n = (int64_t)d; /* exact: less than 2^53 */
                if (i->flags & SIM_SAT)
                    n = n > INT32_MAX ? INT32_MAX : n < INT32_MIN ? INT32_MIN : n;
                ((uint32_t *)sim_at(w, i->ref[v]))[l] = (uint32_t)n;
            }
        }
}

static element
element_of(const char *name)
{
    int t = 0;
    while (t < E_NONE && strcmp(elements[t].name, name) != 0)
        t++;
    return (element)t;
}

/* mma.sync.aligned.mMnNkK.row.col{.satfinite}.dtype.atype.btype.ctype{.bitop.popc} d, a, b, c */
bool
sim_decode_mma(sim_decoder *d)
{
    const ptx_instruction *p = d->ptx;
    uint32_t t[N_TABLE] = {0}, k = 4, kinds[4], n_kinds = 0;
    bool saturates = false, popc = false;
    if (p->n_parts < 10 || p->n_operands != 4 || strcmp(p->part[1], "sync") != 0 ||
        strcmp(p->part[2], "aligned") != 0 ||
        sscanf(p->part[3], "m%un%uk%u", &t[M], &t[N], &t[K]) != 3)
        return false;
    if (strcmp(p->part[k], "row") != 0 || strcmp(p->part[k + 1], "col") != 0)
        return false;
    for (k += 2; k < p->n_parts; k++) {
        if (strcmp(p->part[k], "satfinite") == 0)
            saturates = true;
        else if (strcmp(p->part[k], "and") == 0)
            t[B1_AND] = 1;
        else if (strcmp(p->part[k], "xor") == 0 || strcmp(p->part[k], "kind::f8f6f4") == 0)
            continue;
        else if (strcmp(p->part[k], "popc") == 0)
            popc = true;
        else if (n_kinds == 4 || (kinds[n_kinds++] = element_of(p->part[k])) == E_NONE)
            return false;
    }
    if (n_kinds != 4)
        return false;
    memcpy(&t[D_TYPE], kinds, sizeof kinds);
    uint32_t e = per_register((element)t[A_TYPE]);
    if ((t[M] != 8 && t[M] != 16) || t[N] != 8 || t[K] % (4 * e) || t[K] > MAX_K ||
        elements[t[A_TYPE]].bits != elements[t[B_TYPE]].bits || (t[A_TYPE] == E_B1) != popc ||
        (t[M] == 8 && e == 2)) /* m8n8k4 of f16 has another layout */
        return false;
    sim_insn *i = sim_new_insn(d, op_mma, SIM_MEET);
    i->flags |= SIM_ALIGNED | (saturates ? (uint32_t)SIM_SAT : 0);
    uint32_t rows = t[M] / 8, n_b = t[K] / (4 * e);
    const uint32_t counts[4] = {rows * 2 / (t[D_TYPE] == E_F16 ? 2 : 1), rows * n_b, n_b,
                                rows * 2 / (t[C_TYPE] == E_F16 ? 2 : 1)};
    for (uint32_t o = 0; o < 4; o++) {
        const ptx_operand *v = &p->operands[o];
        uint32_t n = v->kind == PTX_VECTOR ? v->n_items : 1, type = kinds[o == 0 ? 0 : o];
        if (n != counts[o])
            sim_decode_fail(d, TNB_FORMAT, "'%s': operand %u has %u registers, %u are wanted",
                            p->text, o + 1, n, counts[o]);
        for (uint32_t r = 0; r < n; r++)
            sim_push(d, i, v->kind == PTX_VECTOR ? &v->items[r] : v, type == E_F64 ? 8 : 4, 4);
    }
    i->n_out = (uint8_t)counts[0];
    i->table = tnb_dup(d->a, t, sizeof t);
    sim_append(d, i);
    return true;
}

/* ---- ldmatrix, stmatrix, movmatrix ---- */

/* Rows of 16 bytes: lane 8 k + r has the address of row r of matrix k; a lane's register k holds elements 2 (l % 4) and the next of row
 * l / 4, or of the column. i->n_vector matrices; i->bytes: 1 if transposed. */
static void
op_ldmatrix(sim_warp *w, const sim_insn *i, uint32_t mask)
{
    uint16_t rows[4][8][8];
    if (!(w->phase & 2))
        return;
    if (mask != SIM_ALL)
        sim_fault(w, i, (uint32_t)__builtin_ctz(mask), SIM_ILLEGAL,
                  "lanes 0x%08x of the warp have exited", ~mask);
    w->unknown = 0;
    for (uint32_t l = 0; l < 8u * i->n_vector; l++)
        memcpy(rows[l / 8][l % 8],
               sim_access(w, i, l, (ptx_space)i->space, sim_address(w, i, l), 16, true, false), 16);
    sim_taint_clear(w, i, mask);
    for (uint32_t l = 0; w->unknown && l < 8u * i->n_vector; l++)
        if (w->unknown >> l & 1) {
            uint32_t r = l % 8, k = l / 8,
                     lanes = i->bytes ? UINT32_C(0x11111111) << r / 2 : UINT32_C(15) << 4 * r;
            sim_taint_set(w, i->ref[k], lanes, lanes, i);
        }
    for (uint32_t k = 0; k < i->n_vector; k++)
        for (uint32_t l = 0; l < SIM_LANES; l++)
            for (uint32_t j = 0; j < 2; j++)
                ((uint16_t *)sim_at(w, i->ref[k]))[2 * l + j] =
                    i->bytes ? rows[k][l % 4 * 2 + j][l / 4] : rows[k][l / 4][l % 4 * 2 + j];
}

static void
op_stmatrix(sim_warp *w, const sim_insn *i, uint32_t mask)
{
    uint16_t rows[4][8][8];
    if (!(w->phase & 2))
        return;
    if (mask != SIM_ALL)
        sim_fault(w, i, (uint32_t)__builtin_ctz(mask), SIM_ILLEGAL,
                  "lanes 0x%08x of the warp have exited", ~mask);
    for (uint32_t k = 0; k < i->n_vector; k++)
        sim_taint_refuse(w, i, k, mask, "what is stored");
    for (uint32_t k = 0; k < i->n_vector; k++)
        for (uint32_t l = 0; l < SIM_LANES; l++)
            for (uint32_t j = 0; j < 2; j++) {
                uint16_t v = ((const uint16_t *)sim_at(w, i->ref[k]))[2 * l + j];
                if (i->bytes)
                    rows[k][l % 4 * 2 + j][l / 4] = v;
                else
                    rows[k][l / 4][l % 4 * 2 + j] = v;
            }
    for (uint32_t l = 0; l < 8u * i->n_vector; l++)
        memcpy(sim_access(w, i, l, (ptx_space)i->space, sim_address(w, i, l), 16, false, true),
               rows[l / 8][l % 8], 16);
}

static void
op_movmatrix(sim_warp *w, const sim_insn *i, uint32_t mask)
{
    uint16_t rows[8][8];
    if (!(w->phase & 2))
        return;
    uint32_t marked = sim_taint_mask(w, i->ref[1]);
    sim_taint_clear(w, i, mask);
    sim_taint_set(w, i->ref[0], mask, marked ? SIM_ALL : 0, i);
    for (uint32_t l = 0; l < SIM_LANES; l++)
        memcpy(&rows[l / 4][l % 4 * 2], (const uint32_t *)sim_at(w, i->ref[1]) + l, 4);
    for (uint32_t l = 0; l < SIM_LANES; l++)
        for (uint32_t j = 0; j < 2; j++)
            ((uint16_t *)sim_at(w, i->ref[0]))[2 * l + j] = rows[l % 4 * 2 + j][l / 4];
}

/* ldmatrix.sync.aligned.m8n8.xN{.trans}{.shared}.b16 r, [p]; stmatrix the other way round */
bool
sim_decode_matrix_copy(sim_decoder *d)
{
    const ptx_instruction *p = d->ptx;
    bool load = p->part[0][0] == 'l', is_shared = false;
    sim_insn *i = sim_new_insn(d, load ? op_ldmatrix : op_stmatrix, SIM_MEET);
    if (strcmp(p->text, "movmatrix.sync.aligned.m8n8.trans.b16") == 0 && p->n_operands == 2) {
        i->run = op_movmatrix;
        i->flags |= SIM_ALIGNED;
        i->n_out = 1;
        sim_push(d, i, &p->operands[0], 4, 4);
        sim_push(d, i, &p->operands[1], 4, 4);
        sim_append(d, i);
        return true;
    }
    bool rows = false; /* of 8 elements: before the number of matrices or behind it */
    if (p->n_parts < 6 || p->n_operands != 2 || strcmp(p->part[p->n_parts - 1], "b16") != 0)
        return false;
    for (uint32_t k = 3; k + 1 < p->n_parts; k++) {
        if (strcmp(p->part[k], "m8n8") == 0)
            rows = true;
        else if (p->part[k][0] == 'x')
            i->n_vector = (uint8_t)(p->part[k][1] - '0');
        else if (strcmp(p->part[k], "trans") == 0)
            i->bytes = 1;
        else if (strncmp(p->part[k], "shared", 6) == 0)
            is_shared = true;
        else
            return false;
    }
    i->flags |= SIM_ALIGNED;
    i->n_out = load ? i->n_vector : 0;
    i->space = (uint8_t)(is_shared ? PTX_SHARED : SIM_GENERIC);
    const ptx_operand *v = &p->operands[load ? 0 : 1];
    if (!rows || i->n_vector == 0 || i->n_vector > 4 ||
        i->n_vector != (v->kind == PTX_VECTOR ? v->n_items : 1))
        return false;
    for (uint32_t k = 0; k < i->n_vector; k++)
        sim_push(d, i, v->kind == PTX_VECTOR ? &v->items[k] : v, 4, 4);
    sim_push_address(d, i, &p->operands[load ? 1 : 0]);
    sim_append(d, i);
    return true;
}
