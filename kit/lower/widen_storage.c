/* SPDX-License-Identifier: Apache-2.0 */
/* WidenStorage: memory of elements of 8 and 16 bits, for targets that store 32-bit words alone.
 *
 *     A: T.Buffer((8,), "uint8")             A: T.Buffer((2,), "uint32")
 *     A[i] = A[i + 4]                  =>    x = A[(i + 4) >> 2] >> ((i + 4 & 3) << 3) & 255
 *                                            T.atomic_and(A[i >> 2], ~(255 << ((i & 3) << 3)))
 *                                            T.atomic_or(A[i >> 2], x << ((i & 3) << 3))
 *
 * What the target stores is said by its attributes supports_8bit_buffer (int8, uint8, bool) and supports_16bit_buffer. Parameters
 * keep their bytes: several elements share a word, in the order of bytes of a little-endian host, and the last word is read and
 * written whole. Threads may store to the same word at once, so a part of a word is replaced by two atomic operations; vectors that
 * are whole words are stored as such. Memory of a block or of a thread gets elements of 32 bits instead. Images stay. Where the
 * target computes in 32 bits alone, WidenArithmetic comes before. Needs: flat buffers without views (LowerViews).
 */
#include "lower.h"

enum { MAX_LANES = 64 };

typedef struct storage {
    tn_ctx *ctx;
    const char *func;
    bool no_8bit, no_16bit;
    tnk_ranged ranged;
    tnb_ptrmap buffers; /* narrow Buffer -> that of words, or of wide elements */
    tnb_ptrmap packed;  /* those of words */
    bool failed;
} storage;

static const tnb_dtype word = TNB_DTYPE(TNB_UINT, 32);

static bool
is_narrow(const storage *w, tnb_dtype d)
{
    return (d.bits == 8 && w->no_8bit) || (d.bits == 16 && w->no_16bit);
}

static const tn_expr *
u32(storage *w, uint32_t v)
{
    return tn_int_imm_of(w->ctx, word, v);
}

static const tn_node *
refuse(storage *w, const tn_node *at, const tn_node *buffer, const char *what)
{
    const tn_buffer *b = tn_as_buffer(buffer);
    if (!w->failed)
        tn_error(w->ctx, at->loc, TNB_UNSUPPORTED,
                 "'%s': buffer '%s' of %s: %s has no form in words of 32 bits (the target's "
                 "attribute %s is False)",
                 w->func, b->name, tnb_dtype_print(b->dtype).s, what,
                 b->dtype.bits == 8 ? "supports_8bit_buffer" : "supports_16bit_buffer");
    w->failed = true;
    return at;
}

/* ---- a number and its bits ---- */

/* The number whose bits are the lowest of a word, others are 0; in 32 bits if `to` is wide. */
static const tn_expr *
number_of(storage *w, tnb_dtype d, tnb_dtype to, const tn_expr *bits)
{
    tn_ctx *ctx = w->ctx;
    if (tnb_dtype_is_bool(d))
        return tn_cast_to(ctx, to, tn_cmp(ctx, TN_KIND_NE, bits, u32(w, 0)));
    if (d.code == TNB_FLOAT)
        return tn_cast_to(ctx, to, tnk_half_to_float(ctx, bits));
    if (d.code == TNB_BFLOAT)
        return tn_cast_to(ctx, to, tnk_bfloat_to_float(ctx, bits));
    if (d.code == TNB_UINT)
        return tn_cast_to(ctx, to, bits);
    const tn_expr *up = tn_i32(ctx, 32 - d.bits);
    return tn_cast_to(ctx, to,
                      tn_shift_right(ctx, tn_shift_left(ctx, tn_cast_to(ctx, TNB_I32, bits), up),
                                     up));
}

/* The bits of a number of dtype `d`, which may be there in 32 bits. */
static const tn_expr *
bits_of(storage *w, tnb_dtype d, const tn_expr *x)
{
    tn_ctx *ctx = w->ctx;
    if (tnb_dtype_is_bool(d))
        return tn_select_of(ctx, tn_cast_to(ctx, TNB_B8, x), u32(w, 1), u32(w, 0));
    if (d.code == TNB_FLOAT)
        return tnk_float_to_half(ctx, tn_cast_to(ctx, TNB_F32, x));
    if (d.code == TNB_BFLOAT)
        return tnk_float_to_bfloat(ctx, tn_cast_to(ctx, TNB_F32, x));
    return tn_bitwise_and(ctx, tn_cast_to(ctx, word, x), u32(w, d.bits == 8 ? 0xff : 0xffff));
}

/* A number that is stored narrow, without the Cast to that. */
static const tn_expr *
uncast(storage *w, tnb_dtype d, const tn_expr *x)
{
    const tn_cast *c = tn_as_cast(x);
    tnb_dtype from = c ? tn_dtype_of(c->value) : d;
    bool exact = from.bits == 32 && tnb_dtype_is_float(d) == tnb_dtype_is_float(from) &&
                 !tnb_dtype_is_bool(d);
    (void)w;
    return c && exact ? c->value : x;
}

/* ---- words ---- */

/* Shifts are floor divisions that every device has. */
static const tn_expr *
word_index(storage *w, tnb_dtype d, const tn_expr *i)
{
    const tn_expr *per = tn_int_imm_of(w->ctx, tn_dtype_of(i), 32 / d.bits),
                  *at = tn_simplify(w->ranged.arith, tn_floordiv(w->ctx, i, per));
    const tn_binary *b = at->kind == TN_KIND_FLOOR_DIV ? tn_as_binary(at) : NULL;
    return b && tn_is_int_const(b->b, 32 / d.bits)
               ? tn_shift_right(w->ctx, b->a,
                                tn_int_imm_of(w->ctx, tn_dtype_of(b->a), d.bits == 8 ? 2 : 1))
               : at;
}

/* How far the bits of element i are moved in its word; less than 32 for any i, as it may be computed where i is of no element. */
static const tn_expr *
shift_of(storage *w, tnb_dtype d, const tn_expr *i)
{
    int64_t per = 32 / d.bits, coeff, base;
    tn_modular(w->ranged.arith, i, &coeff, &base);
    if (coeff % per == 0)
        return u32(w, (uint32_t)((base % per + per) % per * d.bits));
    const tn_expr *part =
        tn_bitwise_and(w->ctx, tn_cast_to(w->ctx, word, i), u32(w, (uint32_t)per - 1));
    return tn_mul(w->ctx, part, u32(w, d.bits));
}

static const tn_expr *
element(storage *w, const tn_node *words, tnb_dtype d, tnb_dtype to, const tn_expr *i)
{
    tn_ctx *ctx = w->ctx;
    const tn_expr *at = word_index(w, d, i),
                  *x = tn_buffer_load_of(ctx, words, tn_list_of(ctx, &at, 1));
    x = tn_shift_right(ctx, x, shift_of(w, d, i));
    return number_of(w, d, to, tn_bitwise_and(ctx, x, u32(w, d.bits == 8 ? 0xff : 0xffff)));
}

static const tn_expr *
lane(tn_ctx *ctx, const tn_expr *e, int64_t i)
{
    const tn_ramp *r = tn_as_ramp(e);
    if (tn_dtype_of(e).lanes == 1)
        return e;
    if (r)
        return tn_add(ctx, r->start,
                      tn_mul(ctx, r->stride, tn_int_imm_of(ctx, tn_dtype_of(r->stride), i)));
    if (tn_as_broadcast(e) && tn_dtype_of(tn_as_broadcast(e)->value).lanes == 1)
        return tn_as_broadcast(e)->value;
    const tn_expr *k = tn_i32(ctx, (int32_t)i);
    return tn_shuffle_of(ctx, tn_list_of(ctx, &e, 1), tn_list_of(ctx, &k, 1));
}

/* A load of numbers of dtype `to`, as many as its lanes. */
static const tn_expr *
packed_load(storage *w, const tn_node *words, const tn_buffer_load *l, tnb_dtype to)
{
    tn_ctx *ctx = w->ctx;
    tnb_dtype d = tn_as_buffer(l->buffer)->dtype, one = to;
    const tn_expr *i = l->indices.at[0], *at[MAX_LANES], *order[MAX_LANES];
    one.lanes = 1;
    if (to.lanes == 1)
        return element(w, words, d, one, i);
    for (int64_t k = 0; k < to.lanes; k++) {
        at[k] = element(w, words, d, one, lane(ctx, i, k));
        order[k] = tn_i32(ctx, (int32_t)k);
    }
    return tn_shuffle_of(ctx, tn_list_of(ctx, at, to.lanes), tn_list_of(ctx, order, to.lanes));
}

static const tn_stmt *
atomic(storage *w, tn_intrin_id id, const tn_node *words, const tn_expr *at, const tn_expr *x)
{
    const tn_expr *place = tn_buffer_load_of(w->ctx, words, tn_list_of(w->ctx, &at, 1));
    return tn_evaluate_of(w->ctx, tn_intrin2(w->ctx, id, place, x));
}

/* Vectors of whole words as such, else element by element. */
static const tn_stmt *
packed_store(storage *w, const tn_node *words, const tn_buffer_store *b)
{
    tn_ctx *ctx = w->ctx;
    tnb_dtype d = tn_as_buffer(b->buffer)->dtype;
    const tn_expr *i = b->indices.at[0], *value = b->value;
    const tn_ramp *r = tn_as_ramp(i);
    int64_t per = 32 / d.bits, lanes = tn_dtype_of(i).lanes, coeff = 1, base = 0;
    tnk_stmt_vec out = {0};
    value = uncast(w, d, value);
    if (r && tn_is_int_const(r->stride, 1))
        tn_modular(w->ranged.arith, r->start, &coeff, &base);
    bool whole = r && tn_is_int_const(r->stride, 1) && coeff % per == 0 && base % per == 0 &&
                 lanes % per == 0;
    if (lanes > 1) { /* read in whole before anything is written */
        const tn_expr *v = tn_var_dtype(ctx, "vector", tn_dtype_of(value));
        TNB_PUSH(tn_scratch(ctx), out, tn_bind_of(ctx, v, value));
        value = v;
    }
    for (int64_t k = 0; k < lanes && whole; k += per) {
        const tn_expr *x = bits_of(w, d, lane(ctx, value, k));
        for (int64_t j = 1; j < per; j++)
            x = tn_bitwise_or(ctx, x,
                              tn_shift_left(ctx, bits_of(w, d, lane(ctx, value, k + j)),
                                            u32(w, (uint32_t)(j * d.bits))));
        const tn_expr *at = word_index(w, d, lane(ctx, i, k));
        TNB_PUSH(tn_scratch(ctx), out, tn_buffer_store_of(ctx, words, x, tn_list_of(ctx, &at, 1)));
    }
    for (int64_t k = 0; k < lanes && !whole; k++) {
        const tn_expr *each = lane(ctx, i, k), *at = word_index(w, d, each),
                      *by = shift_of(w, d, each);
        const tn_expr *x = tn_var_dtype(ctx, "bits", word);
        TNB_PUSH(tn_scratch(ctx), out,
                 tn_bind_of(ctx, x, tn_shift_left(ctx, bits_of(w, d, lane(ctx, value, k)), by)));
        const tn_expr *mask =
            tn_bitwise_not(ctx, tn_shift_left(ctx, u32(w, d.bits == 8 ? 0xff : 0xffff), by));
        TNB_PUSH(tn_scratch(ctx), out, atomic(w, TN_INTRIN_atomic_and, words, at, mask));
        TNB_PUSH(tn_scratch(ctx), out, atomic(w, TN_INTRIN_atomic_or, words, at, x));
    }
    return tnk_seq(ctx, out.at, out.n);
}

/* ---- the walk ---- */

static bool
is_simple(storage *w, const tn_node *at, const tn_node *buffer, tn_list idx)
{
    const char *what = tn_as_buffer(buffer)->dtype.lanes != 1     ? "an element of several lanes"
                       : idx.n != 1                               ? "an access with several indices"
                       : tn_dtype_of(idx.at[0]).lanes > MAX_LANES ? "an access of many lanes"
                                                                  : NULL;
    if (what)
        refuse(w, at, buffer, what);
    return !what;
}

/* A narrow load as numbers of dtype `to`. */
static const tn_node *
load_as(storage *w, const tn_buffer_load *l, tnb_dtype to)
{
    const tn_node *b = tnb_ptrmap_get(&w->buffers, l->buffer);
    if (!b || !is_simple(w, TN_NODE(l), l->buffer, l->indices))
        return NULL;
    if (tnb_ptrmap_has(&w->packed, l->buffer))
        return packed_load(w, b, l, to);
    return tn_cast_to(w->ctx, to, tn_buffer_load_of(w->ctx, b, l->indices));
}

static const tn_node *
pre(tn_rewriter *r, const tn_node *n)
{
    storage *w = r->user;
    const tn_cast *c = tn_as_cast(n);
    const tn_buffer_load *l = c ? tn_as_buffer_load(c->value) : NULL;
    if (w->failed)
        return n;
    if (!l || !tnb_ptrmap_has(&w->buffers, l->buffer))
        return NULL;
    tnb_dtype from = tn_dtype_of(c->value), to = tn_dtype_of(n);
    bool direct = to.bits == 32 && (from.code == TNB_FLOAT) == (to.code == TNB_FLOAT);
    if (!direct) /* a float16 becomes an integer by way of what it is in 32 bits */
        return NULL;
    tn_list at = tn_rewrite_list(r, l->indices);
    return load_as(w, tn_as_buffer_load(tn_buffer_load_of(w->ctx, l->buffer, at)), to);
}

static const tn_node *
post(tn_rewriter *r, const tn_node *n)
{
    storage *w = r->user;
    const tn_buffer_load *l = tn_as_buffer_load(n);
    return l && !w->failed ? load_as(w, l, tn_dtype_of(n)) : NULL;
}

static const tn_expr *
in_expr(tnk_ranged *r, const tn_expr *e)
{
    tn_rewriter rw = {.ctx = r->ctx, .user = r->user, .pre = pre, .post = post};
    return tn_rewrite(&rw, e);
}

static const tn_stmt *
in_stmt(tnk_ranged *r, const tn_stmt *s)
{
    storage *w = r->user;
    tn_ctx *ctx = r->ctx;
    const tn_buffer_store *b = tn_as_buffer_store(s);
    if (s->kind == TN_KIND_ALLOC_BUFFER) {
        const tn_alloc_buffer *a = (const tn_alloc_buffer *)s;
        const tn_node *to = tnb_ptrmap_get(&w->buffers, a->buffer);
        return to ? tn_alloc_buffer_of(ctx, to, a->annotations) : NULL;
    }
    if (s->kind == TN_KIND_DECL_BUFFER &&
        tnb_ptrmap_has(&w->buffers, tn_as_alloc_buffer(s)->buffer))
        return refuse(w, s, tn_as_alloc_buffer(s)->buffer, "a view");
    const tn_node *to = b ? tnb_ptrmap_get(&w->buffers, b->buffer) : NULL;
    if (!to || w->failed || !is_simple(w, s, b->buffer, b->indices))
        return NULL;
    if (tnb_ptrmap_has(&w->packed, b->buffer))
        return packed_store(w, to, b);
    tnb_dtype d = tn_as_buffer(to)->dtype, from = tn_dtype_of(b->value);
    d.lanes = from.lanes;
    const tn_expr *plain = uncast(w, from, b->value);
    return tn_buffer_store_of(ctx, to, tn_cast_to(ctx, d, plain), b->indices);
}

static tnb_dtype
wide_dtype(tnb_dtype d)
{
    tnb_dtype to = tnb_dtype_is_bool(d) ? TNB_I32 : d.code == TNB_BFLOAT ? TNB_F32 : d;
    to.bits = 32;
    return to;
}

static void
replace(storage *w, const tn_node *buffer, bool is_param)
{
    tn_ctx *ctx = w->ctx;
    tn_buffer b = *tn_as_buffer(buffer);
    if (!is_narrow(w, b.dtype) || (b.scope && !strncmp(b.scope, "global.texture", 14)))
        return;
    if (b.dtype.code != TNB_INT && b.dtype.code != TNB_UINT && !tnb_dtype_is_bool(b.dtype) &&
        !(b.dtype.bits == 16 && (b.dtype.code == TNB_FLOAT || b.dtype.code == TNB_BFLOAT))) {
        refuse(w, buffer, buffer, "its dtype");
        return;
    }
    if (b.shape.n != 1 || b.dtype.lanes != 1) {
        refuse(w, buffer, buffer, "an element of several lanes");
        return;
    }
    if (is_param) {
        const tn_expr *size = b.shape.at[0];
        int64_t per = 32 / b.dtype.bits;
        size = tn_floordiv(ctx, tn_add(ctx, size, tn_int_imm_of(ctx, tn_dtype_of(size), per - 1)),
                           tn_int_imm_of(ctx, tn_dtype_of(size), per));
        b.shape = tn_list_of(ctx, &size, 1);
        b.dtype = word;
        tnb_ptrmap_set(&w->packed, buffer, buffer);
    } else {
        b.dtype = wide_dtype(b.dtype);
    }
    b.data = NULL;
    tnb_ptrmap_set(&w->buffers, buffer, tn_buffer_of(ctx, &b));
}

static tn_walk_step
find_local(void *user, const tn_node *n)
{
    if (n->kind == TN_KIND_ALLOC_BUFFER)
        replace(user, ((const tn_alloc_buffer *)n)->buffer, false);
    return TN_WALK_ON;
}

static const tn_node *
widen_func(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func,
           void *user)
{
    (void)m;
    tn_ctx *ctx = pc->ctx;
    storage w = *(const storage *)user;
    const tn_prim_func *f = tn_as_prim_func(func);
    w.func = name;
    tnb_ptrmap_init(&w.buffers, tn_scratch(ctx));
    tnb_ptrmap_init(&w.packed, tn_scratch(ctx));
    for (uint32_t i = 0; i < f->buffers.n; i++)
        if (f->buffers.at[i])
            replace(&w, f->buffers.at[i], true);
    tn_walk(f->body, TN_WALK_ONCE, find_local, NULL, &w);
    if (w.failed || !w.buffers.n)
        return w.failed ? NULL : func;
    w.ranged = (tnk_ranged){.expr = in_expr, .post = in_stmt, .user = &w};
    tnk_ranged_init(&w.ranged, ctx, f);
    const tn_stmt *body = tnk_ranged_rewrite(&w.ranged, f->body);
    tn_list buffers = f->buffers;
    for (uint32_t i = 0; i < f->buffers.n; i++)
        if (f->buffers.at[i] && tnb_ptrmap_has(&w.buffers, f->buffers.at[i]))
            tn_list_change(ctx, &buffers, f->buffers, i,
                           tnb_ptrmap_get(&w.buffers, f->buffers.at[i]));
    tn_loc was = tn_at(ctx, func->loc);
    const tn_node *n =
        w.failed ? NULL : tn_prim_func_of(ctx, f->params, buffers, body, f->ret, f->attrs);
    tn_at(ctx, was);
    return !n || tn_is_error(body) || tn_is_error(n) ? NULL : n;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    storage w = {.ctx = pc->ctx,
                 .no_8bit = tnk_target_lacks(pc, "supports_8bit_buffer"),
                 .no_16bit = tnk_target_lacks(pc, "supports_16bit_buffer")};
    return w.no_8bit || w.no_16bit ? tnk_map_kernels(pc, m, widen_func, &w) : m;
}

const tn_pass tnk_pass_widen_storage = {
    .base.size = sizeof(tn_pass),
    .base.name = "WidenStorage",
    .base.doc = "Keeps elements of 8 and 16 bits in words of 32 bits, for targets that store no "
                "narrower ones.",
    .keeps = TN_KEEPS_SIGNATURES,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
