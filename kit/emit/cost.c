/* SPDX-License-Identifier: Apache-2.0 */
/* Static cost of a kernel for threads (tenon/kit/cost.h). Statements are walked once with the numbers of iterations around them;
 * accesses are evaluated for each thread of the first warp of a block, with the loops at their first iteration.
 */
#include "tenon/kit/cost.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lower/lower.h"
#include "tenon/core/arith.h"
#include "tenon/core/walk.h"
#include "tenon/kit/emit_hooks.h"

#include "emit_private.h"

enum {
    READ,
    WRITTEN,
    MOVED, /* bytes for a whole warp */
    SHARED,
    FLOATS,
    WHOLE,
    COUNTERS
};
enum {
    MAX_WARP = 128,
    MAX_PIECES = 4096,
    MAX_NODES = 1 << 20,
    MAX_STEPS = 1 << 22,
    USUAL_EXTENT = 1024
};

typedef struct counting {
    tn_ctx *ctx;
    const tnk_kernel *k;
    tnk_cost *out;
    tn_arith *arith;
    tnb_ptrmap values;      /* Var -> what it is bound to; loops: their first iteration */
    tnb_ptrmap threads;     /* Var of a thread's index in its block -> its dimension + 1 */
    int64_t once[COUNTERS]; /* of one iteration of the innermost loop */
    const tn_expr *total[COUNTERS];
    uint32_t nodes, steps;
} counting;

/* ---- the value of an index for one thread ---- */

static bool
value_of(counting *c, const tn_expr *e, int64_t lane, int64_t *v);

static bool
thread_index(const counting *c, int64_t lane, int dim, int64_t *v)
{
    for (int i = 0; i < dim; i++)
        lane /= c->out->threads[i];
    *v = lane % c->out->threads[dim];
    return true;
}

static bool
call_value(counting *c, const tn_call *x, int64_t lane, int64_t *v)
{
    int64_t a, b;
    tn_intrin_id id = tn_intrin_of(TN_NODE(x));
    if (id == TN_INTRIN_if_then_else)
        return value_of(c, x->args.at[0], lane, &a) && value_of(c, x->args.at[a ? 1 : 2], lane, v);
    if (id == TN_INTRIN_likely || id == TN_INTRIN_tvm_thread_invariant || id == TN_INTRIN_index_in)
        return value_of(c, x->args.at[0], lane, v);
    if (x->args.n != 2 || !value_of(c, x->args.at[0], lane, &a) ||
        !value_of(c, x->args.at[1], lane, &b))
        return false;
    switch ((int)id) {
    case TN_INTRIN_shift_left:
        *v = b < 0 || b > 62 ? 0 : (int64_t)((uint64_t)a << b);
        return true;
    case TN_INTRIN_shift_right:
        *v = a >> (b < 0 || b > 63 ? 63 : b);
        return true;
    case TN_INTRIN_bitwise_and:
        *v = a & b;
        return true;
    case TN_INTRIN_bitwise_or:
        *v = a | b;
        return true;
    case TN_INTRIN_bitwise_xor:
        *v = a ^ b;
        return true;
    default:
        return false;
    }
}

static bool
var_value(counting *c, const tn_expr *var, int64_t lane, int64_t *v)
{
    const tn_expr *is = tnb_ptrmap_get(&c->values, var);
    uintptr_t dim = (uintptr_t)tnb_ptrmap_get(&c->threads, var);
    if (dim)
        return thread_index(c, lane, (int)dim - 1, v);
    if (is)
        return value_of(c, is, lane, v);
    *v = USUAL_EXTENT; /* a scalar of the launch */
    return tnk_find_param(c->k, var) != NULL;
}

/* False: not known, such as what is data. Of a vector the first lane. */
static bool
value_of(counting *c, const tn_expr *e, int64_t lane, int64_t *v)
{
    int64_t a, b;
    if (++c->steps > MAX_STEPS)
        return false;
    if (tn_is_binary(e)) {
        const tn_binary *x = (const tn_binary *)e;
        return !tnb_dtype_is_float(tn_dtype_of(x->a)) && value_of(c, x->a, lane, &a) &&
               value_of(c, x->b, lane, &b) &&
               tn_fold_int((tn_kind)e->kind, tn_dtype_of(x->a), a, b, v);
    }
    switch (e->kind) {
    case TN_KIND_INT_IMM:
        return tn_int_value(e, v);
    case TN_KIND_VAR:
        return var_value(c, e, lane, v);
    case TN_KIND_CAST:
        return !tnb_dtype_is_float(tn_dtype_of(e)) &&
               !tnb_dtype_is_float(tn_dtype_of(((const tn_cast *)e)->value)) &&
               value_of(c, ((const tn_cast *)e)->value, lane, v);
    case TN_KIND_SELECT: {
        const tn_select *s = (const tn_select *)e;
        return value_of(c, s->cond, lane, &a) && value_of(c, a ? s->a : s->b, lane, v);
    }
    case TN_KIND_RAMP:
        return value_of(c, ((const tn_ramp *)e)->start, lane, v);
    case TN_KIND_BROADCAST:
        return value_of(c, ((const tn_broadcast *)e)->value, lane, v);
    case TN_KIND_CALL:
        return call_value(c, (const tn_call *)e, lane, v);
    default:
        return false;
    }
}

/* ---- accesses ---- */

static int
compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* An access of a thread, the first `wide` elements of `bytes` from an index on, or those of a vector of indices. */
typedef struct place {
    const tn_expr *index;
    int64_t bytes, wide;
} place;

static int64_t
width(const place *p)
{
    return p->bytes * (p->wide > 1 ? p->wide : tn_dtype_of(p->index).lanes);
}

/* The different pieces of memory of `size` bytes that `count` threads touch from the thread `first` on, sorted; -1: the index is not
 * known. */
static int
pieces(counting *c, const place *p, int64_t size, int64_t first, int64_t count,
       int64_t at[MAX_PIECES])
{
    int n = 0, different = 0;
    const tn_expr *index = p->index;
    int64_t lanes = p->wide > 1 ? p->wide : tn_dtype_of(index).lanes, v, stride = 1;
    const tn_ramp *r = tn_as_ramp(index);
    if (p->wide <= 1 && lanes > 1 && !r)
        return -1;
    if (r && !value_of(c, r->stride, 0, &stride))
        return -1;
    for (int64_t t = first; t < first + count && t < c->out->block_threads; t++) {
        if (!value_of(c, index, t, &v) || v < 0 || v > INT64_MAX / 128)
            return -1;
        for (int64_t i = 0; i < lanes; i++)
            for (int64_t k = (v + i * stride) * p->bytes / size;
                 k * size < (v + i * stride + 1) * p->bytes && n < MAX_PIECES; k++)
                at[n++] = k;
    }
    qsort(at, (size_t)n, sizeof *at, compare);
    for (int i = 0; i < n; i++)
        if (i == 0 || at[i] != at[i - 1])
            at[different++] = at[i];
    return different;
}

static void
global_access(counting *c, place p, bool writes)
{
    int64_t at[MAX_PIECES],
        warp = c->out->warp < c->out->block_threads ? c->out->warp : c->out->block_threads;
    int n = pieces(c, &p, TNK_SECTOR_BYTES, 0, c->out->warp, at);
    c->once[writes ? WRITTEN : READ] += width(&p);
    c->once[MOVED] += (n < 0 ? warp * width(&p) / p.bytes : n) * TNK_SECTOR_BYTES;
}

/* The turns that threads need beyond those for their bytes. */
static int64_t
further_turns(counting *c, const place *p, int64_t first, int64_t count)
{
    int64_t at[MAX_PIECES], turns[TNK_BANKS] = {0}, most = 0;
    int n = pieces(c, p, TNK_BANK_BYTES, first, count, at);
    for (int i = 0; i < n; i++)
        if (++turns[at[i] % TNK_BANKS] > most)
            most = turns[at[i] % TNK_BANKS];
    return n <= 0 ? 0 : most - (n + TNK_BANKS - 1) / TNK_BANKS;
}

/* So many threads are served at a time. */
static void
shared_access(counting *c, const tn_node *buffer, place p, int64_t together)
{
    int64_t worst = 0, more;
    c->once[SHARED] += width(&p);
    for (int64_t t = 0; t < c->out->warp; t += together)
        if ((more = further_turns(c, &p, t, together)) > worst)
            worst = more;
    c->out->bank_conflicts += worst > 0;
    if (worst > c->out->bank_turns) {
        c->out->bank_turns = worst;
        c->out->bank_buffer = tn_as_buffer(buffer)->name;
    }
}

static void
access(counting *c, const tn_node *buffer, tn_list indices, bool writes)
{
    const tn_buffer *b = tn_as_buffer(buffer);
    bool global = !b->scope || !*b->scope || !strcmp(b->scope, "global");
    if (indices.n != 1)
        return;
    place p = {indices.at[0], (int64_t)tnb_dtype_bytes(b->dtype), 1};
    if (tnk_is_shared(buffer))
        shared_access(c, buffer, p, c->out->warp);
    else if (global)
        global_access(c, p, writes);
}

/* ---- instructions of matrix units, and copies ---- */

/* What a thread accesses at an address: so many bytes of shared memory, for so many threads at a time, or of global memory. */
static void
at_address(counting *c, const tn_node *address, int64_t bytes, int64_t together)
{
    const tn_buffer_load *l = tn_is_intrin(address, TN_INTRIN_address_of)
                                  ? tn_as_buffer_load(tn_as_call(address)->args.at[0])
                                  : NULL;
    if (!l || l->indices.n != 1)
        return;
    int64_t one = (int64_t)tnb_dtype_bytes(tn_as_buffer(l->buffer)->dtype);
    place p = {l->indices.at[0], one, bytes / (one ? one : 1)};
    if (p.wide < 1)
        return;
    if (tnk_is_shared(l->buffer))
        shared_access(c, l->buffer, p, together);
    else
        global_access(c, p, false);
}

/* ptx_ldmatrix of four matrices: each thread has the address of 16 bytes, which eight load at a time. ptx_cp_async: a thread copies.
 * ptx_mma: the threads of a warp share the operations. Arguments: backends/cuda/matrix.c. */
static bool
instruction(counting *c, const tn_call *x)
{
    enum { ROW = 16, ROWS = 8, LD_FROM = 6, CP_TO = 1, CP_FROM = 3, CP_BYTES = 5, MMA_SHAPE = 1 };
    int64_t bytes;
    unsigned m, n, k;
    const tn_string_imm *shape;
    switch ((int)tn_intrin_of(TN_NODE(x))) {
    case TN_INTRIN_ptx_ldmatrix:
        if (x->args.n > LD_FROM)
            at_address(c, x->args.at[LD_FROM], ROW, ROWS);
        return true;
    case TN_INTRIN_ptx_cp_async:
        if (x->args.n > CP_BYTES && tn_int_value(x->args.at[CP_BYTES], &bytes) && bytes > 0) {
            at_address(c, x->args.at[CP_TO], bytes, c->out->warp);
            at_address(c, x->args.at[CP_FROM], bytes, c->out->warp);
        }
        return true;
    case TN_INTRIN_ptx_mma:
        shape = x->args.n > MMA_SHAPE ? tn_as_string_imm(x->args.at[MMA_SHAPE]) : NULL;
        if (shape && sscanf(shape->value, "m%2un%2uk%3u", &m, &n, &k) == 3)
            c->once[FLOATS] += (int64_t)2 * m * n * k / c->out->warp;
        return true;
    default:
        return false;
    }
}

/* ---- expressions ---- */

static bool
is_arithmetic(const tn_node *n)
{
    if (tn_is_binary(n))
        return n->kind >= TN_KIND_ADD && n->kind <= TN_KIND_MAX &&
               !tnb_dtype_is_bool(tn_dtype_of(n));
    switch ((int)tn_intrin_of(n)) {
    case TN_INTRIN_NONE:
    case TN_INTRIN_if_then_else:
    case TN_INTRIN_likely:
    case TN_INTRIN_reinterpret:
    case TN_INTRIN_index_in:
    case TN_INTRIN_tvm_thread_invariant:
    case TN_INTRIN_tvm_storage_sync:
    case TN_INTRIN_warp_size_is:
        return false;
    default:
        return tn_is_scalar(n) && !tnb_dtype_is_void(tn_dtype_of(n)) &&
               !tnb_dtype_is_bool(tn_dtype_of(n));
    }
}

static tn_walk_step
count(void *user, const tn_node *n);

/* What the addresses and conditions of an instruction take to compute. */
static void
operands(counting *c, const tn_call *x)
{
    for (uint32_t i = 0; i < x->args.n; i++) {
        const tn_buffer_load *l = tn_is_intrin(x->args.at[i], TN_INTRIN_address_of)
                                      ? tn_as_buffer_load(tn_as_call(x->args.at[i])->args.at[0])
                                      : NULL;
        for (uint32_t k = 0; l && k < l->indices.n; k++)
            tn_walk(l->indices.at[k], 0, count, NULL, c);
        if (!l)
            tn_walk(x->args.at[i], 0, count, NULL, c);
    }
}

static tn_walk_step
count(void *user, const tn_node *n)
{
    counting *c = user;
    if (++c->nodes > MAX_NODES)
        return TN_WALK_STOP;
    const tn_buffer_load *l = tn_as_buffer_load(n);
    const tn_let *let = tn_as_let(n);
    const tn_call *call = tn_as_call(n);
    if (call && instruction(c, call)) {
        operands(c, call);
        return TN_WALK_SKIP;
    }
    if (let)
        tnb_ptrmap_set(&c->values, let->var, (void *)(uintptr_t)let->value);
    if (l)
        access(c, l->buffer, l->indices, false);
    else if (is_arithmetic(n))
        c->once[tnb_dtype_is_float(tn_dtype_of(n)) ? FLOATS : WHOLE] += tn_dtype_of(n).lanes;
    return TN_WALK_ON;
}

static void
expression(counting *c, const tn_expr *e)
{
    if (e)
        tn_walk(e, 0, count, NULL, c);
}

/* ---- statements ---- */

static void
statement(counting *c, const tn_stmt *s);

static tn_walk_step
find_unknown(void *user, const tn_node *n)
{
    counting *c = user;
    bool known = !tn_is_var(n) || tnk_find_param(c->k, n);
    return known && !tn_as_buffer_load(n) ? TN_WALK_ON : TN_WALK_STOP;
}

/* How often a loop runs: exactly in terms of scalars, else at most; NULL: it is not known. */
static const tn_expr *
iterations(counting *c, const tn_expr *extent)
{
    int64_t lo, hi;
    if (tn_walk(extent, TN_WALK_ONCE, find_unknown, NULL, c))
        return tn_cast_to(c->ctx, TNB_I64, extent);
    tn_bounds(c->arith, extent, &lo, &hi);
    return hi == TN_POS_INF ? NULL : tn_i64(c->ctx, hi < 0 ? 0 : hi);
}

/* What the body does, so many times. */
static void
repeated(counting *c, const tn_expr *times, const tn_stmt *body)
{
    tn_ctx *ctx = c->ctx;
    counting outer = *c;
    for (int i = 0; i < COUNTERS; i++) {
        c->once[i] = 0;
        c->total[i] = tn_i64(ctx, 0);
    }
    statement(c, body);
    for (int i = 0; i < COUNTERS; i++) {
        const tn_expr *each = tn_add(ctx, c->total[i], tn_i64(ctx, c->once[i]));
        c->total[i] = tn_add(ctx, outer.total[i], tn_mul(ctx, times, each));
        c->once[i] = outer.once[i];
    }
}

/* ---- products that a warp computes at once ---- */

enum { SIDES = 3 };

typedef struct unit {
    counting *c;
    const tn_for_loop *loops[SIDES];
    int64_t extents[SIDES];
    const tn_buffer_store *store;
    bool uses[SIDES]; /* what find_loops looks for: the loops that an expression counts with */
    int64_t bytes;    /* of operands */
} unit;

/* The loops down to the one store; statements around it are barriers and bindings, conditions choose the thread that stands for all. */
static bool
find_nest(unit *u, const tn_stmt *s)
{
    uint32_t n = 0;
    while (s && !tn_is(s, TN_KIND_BUFFER_STORE)) {
        const tn_seq *all = tn_as_seq(s);
        const tn_for_loop *f = tn_as_for_loop(s);
        const tn_if_stmt *cond = tn_as_if_stmt(s);
        if (f) {
            if (n == SIDES || !tn_int_value(f->extent, &u->extents[n]) || u->extents[n] < 1 ||
                u->extents[n] > INT16_MAX)
                return false;
            u->loops[n++] = f;
        }
        s = f ? f->body : cond ? cond->then_case : NULL;
        for (uint32_t i = 0; all && i < all->stmts.n; i++) {
            const tn_bind *b = tn_as_bind(all->stmts.at[i]);
            if (b)
                tnb_ptrmap_set(&u->c->values, b->var, (void *)(uintptr_t)b->value);
            else if (!tn_is(all->stmts.at[i], TN_KIND_EVALUATE))
                s = all->stmts.at[i];
        }
    }
    u->store = s ? tn_as_buffer_store(s) : NULL;
    return u->store && n == SIDES;
}

static tn_walk_step
find_loops(void *user, const tn_node *n)
{
    unit *u = user;
    for (int i = 0; i < SIDES; i++) {
        if (n == u->loops[i]->var) {
            u->uses[i] = true;
            return TN_WALK_ON;
        }
    }
    const tn_expr *is = tn_is_var(n) ? tnb_ptrmap_get(&u->c->values, n) : NULL;
    if (is)
        tn_walk(is, TN_WALK_ONCE, find_loops, NULL, u);
    return TN_WALK_ON;
}

static tn_walk_step
operand(void *user, const tn_node *n)
{
    unit *u = user;
    const tn_buffer_load *l = tn_as_buffer_load(n);
    if (!l || l->buffer == u->store->buffer)
        return TN_WALK_ON;
    int64_t bytes = (int64_t)tnb_dtype_bytes(tn_as_buffer(l->buffer)->dtype);
    memset(u->uses, 0, sizeof u->uses);
    for (uint32_t i = 0; i < l->indices.n; i++)
        tn_walk(l->indices.at[i], TN_WALK_ONCE, find_loops, NULL, u);
    for (int i = 0; i < SIDES; i++)
        bytes *= u->uses[i] ? u->extents[i] : 1;
    u->bytes += bytes;
    return TN_WALK_ON;
}

/* All threads of the warp share the operations. Each element of the operands is loaded once for it, sums stay in its registers. */
static bool
by_matrix_unit(counting *c, const tn_for_loop *f)
{
    unit u = {.c = c};
    if (!tn_dict_get(f->annotations, TNK_MATRIX_UNIT) || !find_nest(&u, TN_NODE(f)))
        return false;
    tn_walk(u.store->value, 0, operand, NULL, &u);
    c->once[SHARED] += u.bytes / c->out->warp;
    c->once[FLOATS] += 2 * u.extents[0] * u.extents[1] * u.extents[2] / c->out->warp;
    return true;
}

static void
loop(counting *c, const tn_for_loop *f)
{
    bool is_block;
    int dim;
    if (by_matrix_unit(c, f))
        return;
    uint32_t mark = tn_arith_push(c->arith, NULL);
    if (f->for_kind == TN_FOR_THREAD_BINDING && tnk_thread_tag(f->thread_tag, &is_block, &dim)) {
        if (is_block)
            tnb_ptrmap_set(&c->values, f->var, (void *)(uintptr_t)f->min);
        else
            tnb_ptrmap_set(&c->threads, f->var, (void *)(uintptr_t)(dim + 1));
        tn_arith_range(c->arith, f->var, f->min, f->extent);
        statement(c, f->body);
    } else {
        const tn_expr *times = iterations(c, f->extent);
        c->out->open_loops += !times;
        tnb_ptrmap_set(&c->values, f->var, (void *)(uintptr_t)f->min);
        tn_arith_range(c->arith, f->var, f->min, f->extent);
        repeated(c, times ? times : tn_i64(c->ctx, 1), f->body);
    }
    tn_arith_pop(c->arith, mark);
}

static void
declared(counting *c, const tn_node *buffer)
{
    const tn_buffer *b = tn_as_buffer(buffer);
    int64_t bytes = (int64_t)tnb_dtype_bytes(b->dtype), n;
    for (uint32_t i = 0; i < b->shape.n; i++)
        bytes *= tn_int_value(b->shape.at[i], &n) ? n : 0;
    if (c->k->dyn_shared_bytes && tnk_is_dynamic_shared(buffer))
        return; /* the launch says */
    *(tnk_is_shared(buffer) ? &c->out->shared_bytes : &c->out->local_bytes) += bytes;
}

static void
statement(counting *c, const tn_stmt *s)
{
    if (!s || c->nodes > MAX_NODES)
        return;
    switch (s->kind) {
    case TN_KIND_SEQ:
        for (uint32_t i = 0; i < ((const tn_seq *)s)->stmts.n; i++)
            statement(c, ((const tn_seq *)s)->stmts.at[i]);
        break;
    case TN_KIND_FOR:
        loop(c, (const tn_for_loop *)s);
        break;
    case TN_KIND_WHILE:
        c->out->open_loops++;
        expression(c, ((const tn_while_loop *)s)->cond);
        statement(c, ((const tn_while_loop *)s)->body);
        break;
    case TN_KIND_IF_STMT: {
        const tn_if_stmt *f = (const tn_if_stmt *)s;
        expression(c, f->cond);
        statement(c, f->then_case);
        if (!tn_is_intrin(f->cond, TN_INTRIN_warp_size_is))
            statement(c, f->else_case);
        break;
    }
    case TN_KIND_ATTR_STMT:
        statement(c, ((const tn_attr_stmt *)s)->body);
        break;
    case TN_KIND_ALLOC_BUFFER:
        declared(c, ((const tn_alloc_buffer *)s)->buffer);
        break;
    case TN_KIND_BIND:
        expression(c, ((const tn_bind *)s)->value);
        tnb_ptrmap_set(&c->values, ((const tn_bind *)s)->var,
                       (void *)(uintptr_t)((const tn_bind *)s)->value);
        break;
    case TN_KIND_BUFFER_STORE: {
        const tn_buffer_store *b = (const tn_buffer_store *)s;
        expression(c, b->value);
        for (uint32_t i = 0; i < b->indices.n; i++)
            expression(c, b->indices.at[i]);
        access(c, b->buffer, b->indices, true);
        break;
    }
    case TN_KIND_EVALUATE:
        expression(c, ((const tn_evaluate *)s)->value);
        break;
    default:
        break;
    }
}

/* ---- the kernel ---- */

static bool
begin(counting *c, const tn_target *target)
{
    tnk_cost *out = c->out;
    tn_ctx *ctx = c->ctx;
    out->blocks = tn_i64(ctx, 1);
    out->block_threads = 1;
    bool bound = false;
    for (int i = 0; i < 3; i++) {
        const tn_expr *grid = c->k->grid[i], *block = c->k->block[i];
        out->threads[i] = 1;
        if (block && !tn_int_value(block, &out->threads[i]))
            return false;
        out->block_threads *= out->threads[i];
        bound |= block || grid;
        if (grid)
            out->blocks = tn_mul(ctx, out->blocks, tn_cast_to(ctx, TNB_I64, grid));
    }
    int64_t warp = tn_dict_int(target->attrs, "thread_warp_size", 1);
    out->warp = warp > 1 && warp <= MAX_WARP ? warp : 32;
    out->most_threads = tn_dict_int(target->attrs, "max_threads_per_block", 0);
    out->most_shared = tn_dict_int(target->attrs, "max_shared_memory_per_block", 0);
    if (c->k->dyn_shared_bytes && !tn_int_value(c->k->dyn_shared_bytes, &out->shared_bytes))
        out->shared_bytes = 0;
    int64_t launch = tn_dict_int(target->attrs, "max_dynamic_shared_memory_per_block", 0);
    if (c->k->dyn_shared_bytes && launch > out->most_shared)
        out->most_shared = launch;
    return bound;
}

bool
tnk_kernel_cost(tn_ctx *ctx, const tn_target *target, const tnk_kernel *k, tnk_cost *out)
{
    *out = (tnk_cost){0};
    counting c = {.ctx = ctx, .k = k, .out = out, .arith = tn_arith_new(ctx)};
    if (!begin(&c, target))
        return false;
    tnb_ptrmap_init(&c.values, tn_scratch(ctx));
    tnb_ptrmap_init(&c.threads, tn_scratch(ctx));
    const tn_expr *threads = tn_mul(ctx, out->blocks, tn_i64(ctx, out->block_threads)),
                  *warps = tn_mul(ctx, out->blocks,
                                  tn_i64(ctx, (out->block_threads + out->warp - 1) / out->warp));
    const tn_expr **results[COUNTERS] = {&out->read,   &out->written, &out->moved,
                                         &out->shared, &out->floats,  &out->whole};
    for (int i = 0; i < COUNTERS; i++)
        c.total[i] = tn_i64(ctx, 0);
    repeated(&c, tn_i64(ctx, 1), tn_as_prim_func(k->func)->body);
    for (int i = 0; i < COUNTERS; i++)
        *results[i] = tn_simplify_now(ctx, tn_mul(ctx, c.total[i], i == MOVED ? warps : threads));
    out->blocks = tn_simplify_now(ctx, out->blocks);
    return c.nodes <= MAX_NODES;
}
