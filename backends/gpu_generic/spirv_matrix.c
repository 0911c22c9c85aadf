/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices that a sub-group computes at once (SPV_KHR_cooperative_matrix).
 *
 * Loops that say so in an annotation (kit/rules/gpu_matrix_units.c) are the first thread's by what they mean; all of the sub-group come
 * to them, and their barriers are none of theirs:
 *
 *     for i < 32 (matrix_unit = [M, N, K]): for j < 32: for k < 32:
 *         if threadIdx.x < 1: C[.. i, j] = C[.. i, j] + float32(A[.. i, k]) * float32(B[.. k, j])
 *  =>
 *     c[..] = load(C); for each step of K: a[..] = load(A), b[..] = load(B), c[..] = mul_add(a, b, c[..]); store(C, c[..])
 *
 * A loop around them that adds to the same sums keeps them in variables of the sub-group, which drivers hold in registers:
 *
 *     for k0: A, B = tiles; barrier; the loops above
 *  =>
 *     barrier; c[..] = load(C); for k0: A, B = tiles; barrier; the same with c[..]; store(C, c[..]); barrier
 *
 * What has another form is computed as it stands.
 */
#include "spirv_kernel.h"

#include "tenon/core/arith.h"

enum { ROWS, COLUMNS, STEPS, SIDES };
enum { A, B, C, OPERANDS };
enum { MOST_UNITS = 8, ROW_MAJOR = 0, COLUMN_MAJOR = 1 };

/* Which loop counts through an operand's rows and columns. */
static const int rows_of[OPERANDS] = {ROWS, STEPS, ROWS},
                 columns_of[OPERANDS] = {STEPS, COLUMNS, COLUMNS};

typedef struct operand {
    const tn_node *buffer;
    const tn_expr *base;    /* of the element at 0, 0, 0 */
    int64_t stride[SIDES];  /* elements from one to the next of each loop */
    const tnk_place *place; /* then: */
    tnk_id at;
    uint32_t bits, type, layout, apart;
} operand;

typedef struct product {
    const tn_expr *vars[SIDES];
    int64_t extent[SIDES], unit[SIDES];
    operand of[OPERANDS];
    const tn_buffer_store *store;
    const tn_expr *cond; /* of the first thread; NULL: none */
    bool barrier;        /* one stands within */
    tn_ctx *ctx;
    tnb_ptrmap bound; /* variables that are bound within -> what they stand for */
} product;

/* Sums that are kept in variables while a loop runs. */
struct spirv_sums {
    const tn_for_loop *loop, *nest;
    product p;
    uint32_t var[MOST_UNITS][MOST_UNITS];
};

static tn_walk_step
find_annotation(void *user, const tn_node *n)
{
    const tn_for_loop *f = tn_as_for_loop(n);
    *(bool *)user |= f && tn_dict_get(f->annotations, TNK_MATRIX_UNIT);
    return *(bool *)user ? TN_WALK_STOP : TN_WALK_ON;
}

void
spirv_matrix_begin(spirv_kernel *k)
{
    bool found = false;
    uint32_t threads = k->local_size[0] * k->local_size[1] * k->local_size[2];
    if (!(k->limits->has >> GPU_GENERIC_MATRIX & 1) || k->global_barrier ||
        k->local_size[0] != k->limits->warp || threads % k->limits->warp)
        return;
    tn_walk(tn_as_prim_func(k->kernel->func)->body, TN_WALK_ONCE, find_annotation, NULL, &found);
    if (!found)
        return;
    k->matrices = true;
    k->m.model = SpvMemoryModelVulkan;
    spirv_capability(&k->m, SpvCapabilityVulkanMemoryModel);
    spirv_extension(&k->m, "SPV_KHR_vulkan_memory_model");
}

/* ---- finding the product ---- */

/* The expression without variables that are bound within. */
static const tn_expr *
plain(product *p, const tn_expr *e)
{
    return tn_subst(p->ctx, e, &p->bound);
}

/* The statement without barriers and bindings around it; NULL: several statements. */
static const tn_stmt *
alone(product *p, const tn_stmt *s)
{
    const tn_seq *all = tn_as_seq(s);
    const tn_stmt *one = all ? NULL : s;
    for (uint32_t i = 0; all && i < all->stmts.n; i++) {
        const tn_evaluate *e = tn_as_evaluate(all->stmts.at[i]);
        const tn_bind *b = tn_as_bind(all->stmts.at[i]);
        if (e && tn_is_intrin(e->value, TN_INTRIN_tvm_storage_sync))
            p->barrier = true;
        else if (b && !one)
            tnb_ptrmap_set(&p->bound, b->var, (void *)(uintptr_t)plain(p, b->value));
        else if (one)
            return NULL;
        else
            one = all->stmts.at[i];
    }
    return one;
}

static const tn_buffer_load *
load_below(const tn_expr *x)
{
    while (tn_is(x, TN_KIND_CAST))
        x = ((const tn_cast *)x)->value;
    return tn_as_buffer_load(x);
}

static bool
note_operand(product *p, int which, const tn_node *buffer, tn_list indices)
{
    if (indices.n != 1 || tn_as_ramp(indices.at[0]))
        return false;
    p->of[which].buffer = buffer;
    p->of[which].base = plain(p, indices.at[0]);
    return true;
}

/* acc + a * b of float16, the operands told apart by the loops that they use. */
static bool
note_operands(product *p)
{
    const tn_buffer_store *st = p->store;
    const tn_binary *sum = tn_is(st->value, TN_KIND_ADD) ? tn_as_binary(st->value) : NULL;
    if (!sum)
        return false;
    int side = tn_as_buffer_load(sum->b) ? 1 : 0;
    const tn_buffer_load *acc = tn_as_buffer_load(side ? sum->b : sum->a);
    const tn_expr *rest = side ? sum->a : sum->b;
    const tn_binary *mul = tn_is(rest, TN_KIND_MUL) ? tn_as_binary(rest) : NULL;
    const tn_buffer_load *x = mul ? load_below(mul->a) : NULL, *y = mul ? load_below(mul->b) : NULL;
    if (!acc || !x || !y || acc->buffer != st->buffer || acc->indices.n != 1 || x->indices.n != 1 ||
        st->indices.n != 1 || !tn_prove_equal(p->ctx, acc->indices.at[0], st->indices.at[0]))
        return false;
    bool swap = tn_uses(plain(p, x->indices.at[0]), p->vars[COLUMNS]);
    const tn_buffer_load *a = swap ? y : x, *b = swap ? x : y;
    return note_operand(p, A, a->buffer, a->indices) && note_operand(p, B, b->buffer, b->indices) &&
           note_operand(p, C, st->buffer, st->indices);
}

/* Where elements lie: a number apart in each loop, at a place that all threads of the sub-group know. */
static bool
note_places(product *p)
{
    tn_arith *arith = tn_arith_new(p->ctx);
    for (int i = 0; i < OPERANDS; i++) {
        operand *o = &p->of[i];
        const tn_expr *coeffs[SIDES], *rest;
        if (!tn_linear(arith, o->base, p->vars, SIDES, coeffs, &rest))
            return false;
        for (int d = 0; d < SIDES; d++)
            if (!tn_int_value(coeffs[d], &o->stride[d]))
                return false;
        o->base = rest;
        o->bits = tn_dtype_of(rest).bits == 64 ? 64 : 32;
        int64_t row = o->stride[rows_of[i]], column = o->stride[columns_of[i]],
                none = o->stride[SIDES - rows_of[i] - columns_of[i]];
        if (none != 0 || row < 1 || column < 1 || (row != 1 && column != 1))
            return false;
        o->layout = column == 1 ? ROW_MAJOR : COLUMN_MAJOR;
        o->apart = (uint32_t)(column == 1 ? row : column);
    }
    return true;
}

static bool
recognize(spirv_kernel *k, const tn_for_loop *f, product *p)
{
    const tn_stmt *s = TN_NODE(f);
    if (tn_dict_ints(f->annotations, TNK_MATRIX_UNIT, p->unit, SIDES) != SIDES)
        return false;
    p->ctx = k->ctx;
    tnb_ptrmap_init(&p->bound, tn_scratch(k->ctx));
    for (int d = 0; d < SIDES; d++) {
        f = tn_as_for_loop(s);
        if (!f || f->for_kind != TN_FOR_SERIAL || !tn_is_int_const(f->min, 0) ||
            !tn_int_value(f->extent, &p->extent[d]) || p->unit[d] != k->limits->unit[d] ||
            p->extent[d] % p->unit[d] || p->extent[d] / p->unit[d] > MOST_UNITS)
            return false;
        p->vars[d] = f->var;
        if (!(s = alone(p, f->body)))
            return false;
    }
    const tn_if_stmt *first = tn_as_if_stmt(s);
    if (!first || first->else_case)
        return false;
    p->cond = plain(p, first->cond);
    p->store = tn_as_buffer_store(first->then_case);
    return p->store && note_operands(p) && note_places(p);
}

/* threadIdx.x < 1 or == 0; *x: its variable. */
static bool
is_first_thread(const tn_expr *cond, const tn_expr **x)
{
    const tn_binary *b =
        tn_is(cond, TN_KIND_LT) || tn_is(cond, TN_KIND_EQ) ? tn_as_binary(cond) : NULL;
    *x = b ? b->a : NULL;
    return b && tn_is_int_const(b->b, cond->kind == TN_KIND_LT) && tn_is(b->a, TN_KIND_VAR);
}

/* Variables that may differ from thread to thread of a warp: threadIdx.x, and what depends on it or on memory. */
typedef struct search {
    const tn_expr *x;
    tnb_ptrmap varying;
    bool found, varies;
} search;

static tn_walk_step
find_varying(void *user, const tn_node *n)
{
    search *s = user;
    s->varies |= n->kind == TN_KIND_BUFFER_LOAD || tnb_ptrmap_get(&s->varying, n);
    return s->varies ? TN_WALK_STOP : TN_WALK_ON;
}

static bool
varies(search *s, const tn_expr *e)
{
    s->varies = false;
    tn_walk(e, TN_WALK_ONCE, find_varying, NULL, s);
    return s->varies;
}

static tn_walk_step
note_varying(void *user, const tn_node *n)
{
    search *s = user;
    const tn_for_loop *f = tn_as_for_loop(n);
    const tn_bind *b = tn_as_bind(n);
    const tn_expr *var = f ? f->var : b ? b->var : NULL;
    bool is_x = f && f->var == s->x && f->for_kind == TN_FOR_THREAD_BINDING && f->thread_tag &&
                !strcmp(f->thread_tag, "threadIdx.x") && tn_is_int_const(f->min, 0);
    s->found |= is_x;
    if (is_x || (f && (varies(s, f->min) || varies(s, f->extent))) || (b && varies(s, b->value)))
        tnb_ptrmap_set(&s->varying, var, (void *)(uintptr_t)n);
    return TN_WALK_ON;
}

/* Whether its condition is the first thread's, and nothing else depends on the thread. */
static bool
is_the_warps(spirv_kernel *k, const product *p)
{
    search s = {0};
    if (!is_first_thread(p->cond, &s.x))
        return false;
    tnb_ptrmap_init(&s.varying, tn_scratch(k->ctx));
    tn_walk(tn_as_prim_func(k->kernel->func)->body, 0, note_varying, NULL, &s);
    for (int i = 0; i < OPERANDS; i++)
        if (varies(&s, p->of[i].base))
            return false;
    return s.found;
}

/* ---- writing it ---- */

static bool
place(spirv_kernel *k, product *p)
{
    spirv *m = &k->m;
    for (int i = 0; i < OPERANDS; i++) {
        operand *o = &p->of[i];
        tnb_dtype d = tn_as_buffer(o->buffer)->dtype;
        o->place = tnk_visit_place(k->v, o->buffer);
        if (!o->place)
            return false;
        uint32_t elem = spirv_float(m, i == C ? 32 : 16, 1),
                 number[] = {(uint32_t)p->unit[rows_of[i]], (uint32_t)p->unit[columns_of[i]],
                             (uint32_t)i, SpvScopeSubgroup};
        if (o->place->room != TNK_ROOM_SHARED || d.code != TNB_FLOAT || d.lanes != 1 ||
            k->memories.at[o->place->id - 1].elem != elem)
            return false;
        for (int n = 0; n < 4; n++)
            number[n] = spirv_const_int(m, 32, number[n], 1);
        const uint32_t operands[] = {elem, number[3], number[0], number[1], number[2]};
        o->type = spirv_global(m, SPIRV_TYPE_MATRIX, 0, operands, 5, NULL);
    }
    return true;
}

/* The first element of a unit of the operand. */
static tnk_id
unit_at(spirv_kernel *k, const product *p, int which, int64_t row, int64_t column)
{
    const operand *o = &p->of[which];
    int r = rows_of[which], c = columns_of[which];
    int64_t by = row * p->unit[r] * o->stride[r] + column * p->unit[c] * o->stride[c];
    tnk_id at = by ? RESULT(k, OpIAdd, spirv_int(&k->m, o->bits, 1), o->at,
                            spirv_const_int(&k->m, o->bits, (uint64_t)by, 1))
                   : o->at;
    return spirv_element(k, &k->memories.at[o->place->id - 1], at, o->bits);
}

static tnk_id
load(spirv_kernel *k, const product *p, int which, int64_t row, int64_t column)
{
    const operand *o = &p->of[which];
    const uint32_t operands[] = {unit_at(k, p, which, row, column),
                                 spirv_const_int(&k->m, 32, o->layout, 1),
                                 spirv_const_int(&k->m, 32, o->apart, 1),
                                 SpvMemoryAccessNonPrivatePointerMask};
    return spirv_result(&k->m, &k->m.body, SPIRV_MATRIX_LOAD, o->type, operands, 4);
}

static void
store(spirv_kernel *k, const product *p, int64_t row, int64_t column, tnk_id value)
{
    const operand *o = &p->of[C];
    const uint32_t operands[] = {unit_at(k, p, C, row, column), value,
                                 spirv_const_int(&k->m, 32, o->layout, 1),
                                 spirv_const_int(&k->m, 32, o->apart, 1),
                                 SpvMemoryAccessNonPrivatePointerMask};
    spirv_put(&k->m, &k->m.body, SPIRV_MATRIX_STORE, operands, 5);
}

/* Whether a sub-group computes the loops at once, and p how. */
static bool
is_product(spirv_kernel *k, const tn_for_loop *f, product *p)
{
    return k->matrices && tn_dict_get(f->annotations, TNK_MATRIX_UNIT) && recognize(k, f, p) &&
           is_the_warps(k, p) && spirv_has(k, GPU_GENERIC_FLOAT16) && place(k, p) &&
           spirv_has(k, GPU_GENERIC_MATRIX);
}

static int64_t
units_of(const product *p, int side)
{
    return p->extent[side] / p->unit[side];
}

bool
spirv_matrix_nest(tnk_visitor *v, const tn_for_loop *f)
{
    spirv_kernel *k = spirv_kernel_of(v);
    product p = {0};
    tnk_id sum[MOST_UNITS][MOST_UNITS], a[MOST_UNITS], b[MOST_UNITS];
    if (!is_product(k, f, &p))
        return v->failed;
    const struct spirv_sums *kept = k->sums && k->sums->nest == f ? k->sums : NULL;
    if (p.barrier)
        k->v->visits->barrier(v, "shared");
    for (int i = 0; i < (kept ? C : OPERANDS); i++)
        if (!(p.of[i].at = tnk_visit_value(v, p.of[i].base)))
            return true;
    int64_t rows = units_of(&p, ROWS), columns = units_of(&p, COLUMNS), steps = units_of(&p, STEPS);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            sum[i][j] =
                kept ? RESULT(k, OpLoad, p.of[C].type, kept->var[i][j]) : load(k, &p, C, i, j);
    for (int64_t s = 0; s < steps; s++) {
        for (int64_t i = 0; i < rows; i++)
            a[i] = load(k, &p, A, i, s);
        for (int64_t j = 0; j < columns; j++)
            b[j] = load(k, &p, B, s, j);
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < columns; j++) {
                const uint32_t operands[] = {a[i], b[j], sum[i][j]};
                sum[i][j] = spirv_result(&k->m, &k->m.body, SPIRV_MATRIX_MUL_ADD, p.of[C].type,
                                         operands, 3);
            }
    }
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            if (kept)
                SPIRV(&k->m, &k->m.body, OpStore, kept->var[i][j], sum[i][j]);
            else
                store(k, &p, i, j, sum[i][j]);
    return true;
}

/* ---- sums of a loop around it ---- */

/* The one annotated loop of the statement, if only loops, bindings and statements beside it stand between; `meets`: a barrier
 * is among those. */
static const tn_for_loop *
sole_nest(const tn_stmt *s, bool *meets)
{
    const tn_seq *all = tn_as_seq(s);
    const tn_for_loop *f = tn_as_for_loop(s), *nest = NULL;
    if (f && tn_dict_get(f->annotations, TNK_MATRIX_UNIT))
        return f;
    if (f)
        return f->for_kind == TN_FOR_SERIAL ? sole_nest(f->body, meets) : NULL;
    for (uint32_t i = 0; all && i < all->stmts.n; i++) {
        const tn_evaluate *e = tn_as_evaluate(all->stmts.at[i]);
        bool has = false;
        *meets |= e && tn_is_intrin(e->value, TN_INTRIN_tvm_storage_sync);
        tn_walk(all->stmts.at[i], TN_WALK_ONCE, find_annotation, NULL, &has);
        if (has && nest)
            return NULL;
        if (has && !(nest = sole_nest(all->stmts.at[i], meets)))
            return NULL;
    }
    return nest;
}

/* Uses of a buffer's memory, and whether an expression has variables that are bound in a statement. */
typedef struct uses {
    const tn_expr *data, *base;
    uint32_t accesses;
    bool bound;
} uses;

static tn_walk_step
note_uses(void *user, const tn_node *n)
{
    uses *u = user;
    const tn_buffer_load *l = tn_as_buffer_load(n);
    const tn_buffer_store *s = tn_as_buffer_store(n);
    const tn_for_loop *f = tn_as_for_loop(n);
    const tn_bind *b = tn_as_bind(n);
    const tn_call *c = tn_as_call(n);
    const tn_node *buffer = l ? l->buffer : s ? s->buffer : NULL;
    const tn_expr *var = f ? f->var : b ? b->var : NULL;
    u->accesses += buffer && tn_as_buffer(buffer)->data == u->data;
    for (uint32_t i = 0; c && i < c->args.n; i++)
        u->accesses += c->args.at[i] == u->data;
    u->bound |= var && tn_uses(u->base, var);
    return TN_WALK_ON;
}

void
spirv_matrix_loop(spirv_kernel *k, const tn_for_loop *f)
{
    spirv *m = &k->m;
    bool meets = false;
    const tn_for_loop *nest =
        k->matrices && !k->sums && !f->annotations ? sole_nest(f->body, &meets) : NULL;
    struct spirv_sums *s = nest && meets ? TNB_NEW(m->arena, struct spirv_sums) : NULL;
    if (!s || !is_product(k, nest, &s->p))
        return;
    product *p = &s->p;
    uses u = {.data = tn_as_buffer(p->of[C].buffer)->data, .base = p->of[C].base};
    tn_walk(TN_NODE(f), 0, note_uses, NULL, &u);
    if (u.bound || u.accesses != 2 /* of the product */)
        return;
    k->v->visits->barrier(k->v, "shared");
    if (!(p->of[C].at = tnk_visit_value(k->v, p->of[C].base)))
        return;
    uint32_t pointer = SPIRV_TYPE(m, OpTypePointer, SpvStorageClassFunction, p->of[C].type);
    for (int64_t i = 0; i < units_of(p, ROWS); i++)
        for (int64_t j = 0; j < units_of(p, COLUMNS); j++) {
            s->var[i][j] = m->next++;
            SPIRV(m, &m->locals, OpVariable, pointer, s->var[i][j], SpvStorageClassFunction);
            SPIRV(m, &m->body, OpStore, s->var[i][j], load(k, p, C, i, j));
        }
    s->loop = f;
    s->nest = nest;
    k->sums = s;
}

void
spirv_matrix_loop_end(spirv_kernel *k, const tn_for_loop *f)
{
    const struct spirv_sums *s = k->sums;
    if (!s || s->loop != f)
        return;
    for (int64_t i = 0; i < units_of(&s->p, ROWS); i++)
        for (int64_t j = 0; j < units_of(&s->p, COLUMNS); j++)
            store(k, &s->p, i, j, RESULT(k, OpLoad, s->p.of[C].type, s->var[i][j]));
    k->v->visits->barrier(k->v, "shared");
    k->sums = NULL;
}
