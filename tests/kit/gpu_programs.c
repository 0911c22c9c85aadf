/* SPDX-License-Identifier: Apache-2.0 */
/* Random tensor programs, in the forms that the rules for GPUs are for. */
#include "gpu_programs.h"

#include "draw.h"
#include "programs.h"
#include "tenon/core/walk.h"
#include "tenon/kit/schedule.h"
#include "tenon/kit/tune.h"

void
gpu_programs_seed(void)
{
    draw_seed(20261127);
}

uint32_t
gpu_below(uint32_t n)
{
    return (uint32_t)((draw_next() >> 11) % n);
}

/* empty: the dimension of no elements; unless it is of results alone it has to be symbolic. */
static void
draw_dims(gpu_program *p, uint32_t empty, bool of_results)
{
    static const int64_t sizes[] = {1, 2, 3, 5, 7, 8, 16, 17, 32, 33, 40, 64, 65};
    static const char *const names[] = {"n", "m", "p", "q"};
    /* one dimension is symbolic, or two are */
    uint32_t draw = gpu_below(6), first = gpu_below(4), second = draw == 0 ? gpu_below(4) : first;
    bool fixed = draw > 2;
    p->dims = tn_dictv(p->ctx, "unused", tn_i64(p->ctx, 1), NULL);
    p->bounds = tn_dict_of(p->ctx, NULL, NULL, 0);
    for (uint32_t i = 0; i < 4; i++) {
        int64_t size = sizes[gpu_below(sizeof sizes / sizeof *sizes)];
        bool symbolic = !fixed && (i == first || i == second);
        p->value[i] = i == empty && (symbolic || of_results) ? 0 : size;
        p->empty |= p->value[i] == 0;
        p->symbolic |= symbolic;
        p->dim[i] =
            symbolic ? tn_var_dtype(p->ctx, names[i], TNB_I64) : tn_i64(p->ctx, p->value[i]);
        p->dims = tn_dict_set(p->ctx, p->dims, names[i], tn_i64(p->ctx, p->value[i]));
        p->bound[i] = !symbolic || gpu_below(2) ? GPU_MOST : p->value[i] <= 8 ? 8 : 65;
        if (p->bound[i] != GPU_MOST)
            p->bounds = tn_dict_set(p->ctx, p->bounds, names[i], tn_i64(p->ctx, p->bound[i]));
    }
}

static const tn_node *
in(gpu_program *p, const char *name, const tn_expr *const *dims, uint32_t n)
{
    return tnk_te_input(p->te, name, tn_ty_tensor_dims(p->ctx, tn_list_of(p->ctx, dims, n), p->d));
}

static tnk_stage *
st(gpu_program *p, const char *name, const tn_expr *const *dims, uint32_t n)
{
    return tnk_te_stage(p->te, name, dims, n, p->d);
}

static const tn_expr *
number(const gpu_program *p, double x)
{
    return tn_literal(p->ctx, p->d, x);
}

/* B = A * 2 in front of what reads A, sometimes. */
static const tn_node *
prologue(gpu_program *p, const tn_node *a)
{
    if (gpu_below(2))
        return a;
    tnk_stage *s = tnk_te_stage_like(p->te, "before", a, p->d);
    return tnk_te_define(s, tn_add(p->ctx, tnk_te_read_at(p->te, a, s->axes, s->n_axes),
                                   number(p, 1)));
}

/* max(x, 0), x + 3, or a cast, behind; sometimes. */
static const tn_node *
epilogue(gpu_program *p, const tn_node *a)
{
    if (gpu_below(4) == 0) {
        tnb_dtype to = p->d.code != TNB_FLOAT ? TNB_F32 : p->d.bits == 16 ? TNB_F32 : TNB_F16;
        tnk_stage *s = tnk_te_stage_like(p->te, "cast", a, to);
        a = tnk_te_define(s, tn_cast_to(p->ctx, to, tnk_te_read_at(p->te, a, s->axes, s->n_axes)));
        p->coarse |= to.bits == 16;
        p->d = to;
    }
    for (uint32_t n = gpu_below(3); n > 0; n--) {
        tnk_stage *s = tnk_te_stage_like(p->te, "after", a, p->d);
        const tn_expr *x = tnk_te_read_at(p->te, a, s->axes, s->n_axes);
        a = tnk_te_define(s, gpu_below(2) ? tn_max(p->ctx, x, number(p, 0))
                                          : tn_add(p->ctx, x, number(p, 3)));
    }
    return a;
}

static const tn_node *
elementwise(gpu_program *p)
{
    const tn_node *a = in(p, "a", p->dim, 3), *b = in(p, "b", p->dim + 1, 2);
    a = prologue(p, a);
    tnk_stage *s = st(p, "sum", p->dim, 3);
    a = tnk_te_define(s, tn_add(p->ctx, tnk_te_read_at(p->te, a, s->axes, 3),
                                tnk_te_read_at(p->te, b, s->axes + 1, 2)));
    return epilogue(p, a);
}

static const tn_node *
transpose(gpu_program *p)
{
    const tn_node *a = prologue(p, in(p, "a", p->dim, 3));
    uint32_t perm[3] = {0, 1, 2};
    for (uint32_t i = 3; i > 1; i--) {
        uint32_t at = gpu_below(i), other = perm[i - 1];
        perm[i - 1] = perm[at];
        perm[at] = other;
    }
    const tn_expr *to[3], *idx[3];
    for (uint32_t i = 0; i < 3; i++)
        to[i] = p->dim[perm[i]];
    tnk_stage *s = st(p, "T_transpose", to, 3);
    for (uint32_t i = 0; i < 3; i++)
        idx[perm[i]] = s->axes[i];
    return epilogue(p, tnk_te_define(s, tnk_te_read_at(p->te, a, idx, 3)));
}

/* Along one of three dimensions, sum or maximum. */
static const tn_node *
reduce(gpu_program *p)
{
    const tn_node *a = prologue(p, in(p, "a", p->dim, 3));
    uint32_t along = gpu_below(3), n = 0;
    const tn_expr *to[2], *idx[3];
    for (uint32_t i = 0; i < 3; i++)
        if (i != along)
            to[n++] = p->dim[i];
    tnk_stage *s = st(p, "red", to, 2);
    n = 0;
    for (uint32_t i = 0; i < 3; i++)
        if (i != along)
            idx[i] = s->axes[n++];
    idx[along] = tnk_te_reduce_axis(s, "k", p->dim[along]);
    const tn_expr *x = tnk_te_read_at(p->te, a, idx, 3);
    return epilogue(p, gpu_below(2) ? tnk_te_sum(s, x) : tnk_te_reduce(s, TNK_MAX_FINITE, x));
}

static const tn_node *
reduce_all(gpu_program *p)
{
    const tn_node *a = prologue(p, in(p, "a", p->dim, 2));
    tnk_stage *s = st(p, "red", NULL, 0);
    const tn_expr *i = tnk_te_reduce_axis(s, "i", p->dim[0]),
                  *j = tnk_te_reduce_axis(s, "j", p->dim[1]);
    return epilogue(p, tnk_te_sum(s, tnk_te_read(p->te, a, i, j, NULL)));
}

/* x - max of its row, or of its column. */
static const tn_node *
rows(gpu_program *p)
{
    const tn_node *a = prologue(p, in(p, "a", p->dim, 2));
    bool column = gpu_below(2);
    tnk_stage *s = st(p, "most", p->dim + column, 1);
    const tn_expr *r = tnk_te_reduce_axis(s, "k", p->dim[!column]);
    const tn_node *m = tnk_te_reduce(s, TNK_MAX_FINITE,
                                     tnk_te_read(p->te, a, column ? r : s->axes[0],
                                                 column ? s->axes[0] : r, NULL));
    s = st(p, "less", p->dim, 2);
    return epilogue(p, tnk_te_define(s, tn_sub(p->ctx, tnk_te_read_at(p->te, a, s->axes, 2),
                                               tnk_te_read_at(p->te, m, s->axes + column, 1))));
}

static const tn_node *
softmax(gpu_program *p)
{
    tnb_dtype given = p->d;
    p->d = TNB_F32;
    const tn_node *x = prologue(p, in(p, "x", p->dim, 3));
    tnk_stage *s = st(p, "most", p->dim, 2);
    const tn_expr *r = tnk_te_reduce_axis(s, "k", p->dim[2]);
    const tn_node *m =
        tnk_te_reduce(s, TNK_MAX, tnk_te_read(p->te, x, s->axes[0], s->axes[1], r, NULL));
    s = st(p, "exp", p->dim, 3);
    const tn_node *e =
        tnk_te_define(s, tn_intrin1(p->ctx, TN_INTRIN_exp,
                                    tn_sub(p->ctx, tnk_te_read_at(p->te, x, s->axes, 3),
                                           tnk_te_read_at(p->te, m, s->axes, 2))));
    s = st(p, "sum", p->dim, 2);
    r = tnk_te_reduce_axis(s, "k", p->dim[2]);
    const tn_node *sum = tnk_te_sum(s, tnk_te_read(p->te, e, s->axes[0], s->axes[1], r, NULL));
    s = st(p, "norm", p->dim, 3);
    const tn_node *o = tnk_te_define(s, tn_div(p->ctx, tnk_te_read_at(p->te, e, s->axes, 3),
                                               tnk_te_read_at(p->te, sum, s->axes, 2)));
    o = epilogue(p, o);
    p->d = given;
    return o;
}

static void
both_sums(tn_ctx *ctx, const tn_expr *const *acc, const tn_expr *const *x, const tn_expr **next,
          uint32_t n, void *user)
{
    (void)user;
    for (uint32_t i = 0; i < n; i++)
        next[i] = tn_add(ctx, acc[i], x[i]);
}

/* Sum and sum of squares together, and what is made of both. */
static const tn_node *
layer_norm(gpu_program *p)
{
    tnb_dtype given = p->d, d[2] = {TNB_F32, TNB_F32};
    p->d = TNB_F32;
    const tn_node *x = prologue(p, in(p, "x", p->dim, 2)), *both[2];
    tnk_stage *s = st(p, "moments", p->dim, 1);
    const tn_expr *r = tnk_te_reduce_axis(s, "k", p->dim[1]),
                  *v = tnk_te_read(p->te, x, s->axes[0], r, NULL);
    const tn_expr *values[2] = {v, tn_mul(p->ctx, v, v)}, *zero[2] = {number(p, 0), number(p, 0)};
    tnk_te_reduce_tuple(s, d, values, zero, 2, both_sums, NULL, both);
    s = st(p, "norm", p->dim, 2);
    const tn_expr *sum = tnk_te_read(p->te, both[0], s->axes[0], NULL),
                  *sq = tnk_te_read(p->te, both[1], s->axes[0], NULL);
    const tn_expr *root = tn_intrin1(p->ctx, TN_INTRIN_rsqrt, tn_add(p->ctx, sq, number(p, 1)));
    const tn_node *o =
        tnk_te_define(s, tn_mul(p->ctx, tn_sub(p->ctx, tnk_te_read_at(p->te, x, s->axes, 2), sum),
                                root));
    p->d = given;
    return o;
}

/* Sum and sum of squares together, of a row or of a column. */
static const tn_node *
moments(gpu_program *p)
{
    tnb_dtype given = p->d, d[2] = {TNB_F32, TNB_F32};
    p->d = TNB_F32;
    const tn_node *x = prologue(p, in(p, "x", p->dim, 2)), *both[2];
    uint32_t column = gpu_below(2);
    tnk_stage *s = st(p, "moments", p->dim + column, 1);
    const tn_expr *r = tnk_te_reduce_axis(s, "k", p->dim[!column]),
                  *v =
                      tnk_te_read(p->te, x, column ? r : s->axes[0], column ? s->axes[0] : r, NULL);
    const tn_expr *values[2] = {v, tn_mul(p->ctx, v, v)}, *zero[2] = {number(p, 0), number(p, 0)};
    tnk_te_reduce_tuple(s, d, values, zero, 2, both_sums, NULL, both);
    s = st(p, "spread", p->dim + column, 1);
    const tn_expr *sum = tnk_te_read_at(p->te, both[0], s->axes, 1),
                  *sq = tnk_te_read_at(p->te, both[1], s->axes, 1);
    const tn_node *o = tnk_te_define(s, tn_sub(p->ctx, sq, tn_mul(p->ctx, sum, number(p, 0.5))));
    o = epilogue(p, o);
    p->d = given;
    return o;
}

static void
later_best(tn_ctx *ctx, const tn_expr *const *acc, const tn_expr *const *x, const tn_expr **next,
           uint32_t n, void *user)
{
    (void)n;
    tn_kind better = *(bool *)user ? TN_KIND_GT : TN_KIND_LT;
    const tn_expr *take =
        tn_or(ctx, tn_bin(ctx, better, x[0], acc[0]),
              tn_and(ctx, tn_eq_of(ctx, x[0], acc[0]), tn_gt_of(ctx, x[1], acc[1])));
    for (int i = 0; i < 2; i++)
        next[i] = tn_select_of(ctx, take, x[i], acc[i]);
}

/* The place of the largest or smallest value along a dimension, of equal ones the last. */
static const tn_node *
arg_best(gpu_program *p)
{
    const tn_node *a = in(p, "a", p->dim, 3), *both[2];
    if (p->d.bits != 16) /* what a device computes with more digits is not equal any more */
        a = prologue(p, a);
    bool largest = gpu_below(2);
    uint32_t along = gpu_below(3), n = 0;
    const tn_expr *to[2], *idx[3];
    for (uint32_t i = 0; i < 3; i++)
        if (i != along)
            to[n++] = p->dim[i];
    tnk_stage *s = st(p, "best", to, 2);
    n = 0;
    for (uint32_t i = 0; i < 3; i++)
        if (i != along)
            idx[i] = s->axes[n++];
    const tn_expr *k = tnk_te_reduce_axis(s, "k", p->dim[along]);
    idx[along] = k;
    tnb_dtype d[2] = {p->d, TNB_I64};
    const tn_expr *values[2] = {tnk_te_read_at(p->te, a, idx, 3), tn_cast_to(p->ctx, TNB_I64, k)},
                  *init[2] = {number(p, largest ? -1e4 : 1e4), tn_i64(p->ctx, -1)};
    tnk_te_reduce_tuple(s, d, values, init, 2, later_best, &largest, both);
    tnb_dtype given = p->d;
    p->d = TNB_I64;
    s = st(p, "place", to, 2);
    const tn_node *o = tnk_te_define(s, tnk_te_read_at(p->te, both[1], s->axes, 2));
    p->d = given;
    return o;
}

static const tn_node *
rms_norm(gpu_program *p)
{
    tnb_dtype given = p->d;
    p->d = TNB_F32;
    const tn_node *x = in(p, "x", p->dim, 2), *w = in(p, "w", p->dim + 1, 1);
    tnk_stage *s = st(p, "squares", p->dim, 1);
    const tn_expr *r = tnk_te_reduce_axis(s, "k", p->dim[1]),
                  *v = tnk_te_read(p->te, x, s->axes[0], r, NULL);
    const tn_node *q = tnk_te_sum(s, tn_mul(p->ctx, v, v));
    s = st(p, "rsqrt", p->dim, 1);
    q = tnk_te_define(s, tn_intrin1(p->ctx, TN_INTRIN_rsqrt,
                                    tn_add(p->ctx, tnk_te_read_at(p->te, q, s->axes, 1),
                                           number(p, 1))));
    s = st(p, "norm", p->dim, 2);
    const tn_node *o = tnk_te_define(s, tn_mul(p->ctx,
                                               tn_mul(p->ctx, tnk_te_read_at(p->te, x, s->axes, 2),
                                                      tnk_te_read_at(p->te, q, s->axes, 1)),
                                               tnk_te_read_at(p->te, w, s->axes + 1, 1)));
    p->d = given;
    return o;
}

/* Matrix products: batched or not, either way of both operands, with a vector, with a few vectors. */
static const tn_node *
matmul(gpu_program *p)
{
    bool batched = gpu_below(2), nt = gpu_below(2);
    uint32_t few = gpu_below(4);
    const tn_expr *i = few == 0 ? tn_i64(p->ctx, 1) : p->dim[1], *j = p->dim[2], *r = p->dim[3],
                  *b = p->dim[0];
    const tn_expr *da[3] = {b, i, r}, *db[3] = {b, nt ? j : r, nt ? r : j}, *dc[3] = {b, i, j};
    uint32_t skip = batched ? 0 : 1, n = 3 - skip;
    const tn_node *x = prologue(p, in(p, "a", da + skip, n)),
                  *y = prologue(p, in(p, "b", db + skip, n));
    tnk_stage *s = st(p, "matmul", dc + skip, n);
    const tn_expr *t = tnk_te_reduce_axis(s, "k", r);
    const tn_expr *vi = s->axes[1 - skip], *vj = s->axes[2 - skip];
    const tn_expr *ia[3] = {s->axes[0], vi, t}, *ib[3] = {s->axes[0], nt ? vj : t, nt ? t : vj};
    const tn_expr *m = tn_mul(p->ctx, tnk_te_read_at(p->te, x, ia + skip, n),
                              tnk_te_read_at(p->te, y, ib + skip, n));
    return epilogue(p, tnk_te_sum(s, m));
}

/* With padding, bias, groups; or the program of the collection with strides. */
static const tn_node *
conv(gpu_program *p)
{
    static const conv_shape shapes[] = {{1, 5, 9, 7, 6, 3, 3, 1, 1, 1},
                                        {2, 3, 12, 11, 4, 5, 5, 2, 2, 1},
                                        {1, 8, 6, 6, 12, 1, 1, 1, 0, 1},
                                        {1, 8, 9, 8, 4, 3, 3, 1, 1, 2},
                                        {1, 4, 7, 9, 4, 3, 3, 2, 1, 4},
                                        {1, 2, 3, 3, 3, 3, 3, 1, 1, 1}};
    return program_conv(p->ctx, shapes[gpu_below(6)], p->d);
}

static const struct {
    const char *name;
    const tn_node *(*make)(gpu_program *p);
} forms[] = {{"elementwise", elementwise},
             {"transpose", transpose},
             {"reduce", reduce},
             {"reduce_all", reduce_all},
             {"rows", rows},
             {"softmax", softmax},
             {"layer_norm", layer_norm},
             {"rms_norm", rms_norm},
             {"moments", moments},
             {"arg_best", arg_best},
             {"matmul", matmul},
             {"matmul", matmul},
             {"conv", conv}};

/* ---- the same for several things at once, in a loop that is bound to thread blocks ---- */

typedef struct many {
    tn_ctx *ctx;
    tnb_ptrmap of_all;     /* buffer -> one with a dimension more */
    const tn_expr *index;  /* of it: the loop's variable, or the iterator that stands for it */
    const tn_node *chosen; /* buffer of which a tensor tells the part */
    const tn_expr *choice;
    const tn_for_loop *own; /* each block gets an iterator for the loop's variable; else NULL */
} many;

static tn_list
with_first(tn_ctx *ctx, const tn_node *first, tn_list rest)
{
    tn_list l = tn_list_of(ctx, &first, 1);
    for (uint32_t i = 0; i < rest.n; i++)
        l = tn_list_append(ctx, l, rest.at[i]);
    return l;
}

static const tn_node *
one_of_many(tn_rewriter *r, const tn_node *n)
{
    const many *m = r->user;
    tn_ctx *ctx = r->ctx;
    const tn_buffer_load *l = tn_as_buffer_load(n);
    const tn_buffer_store *st = tn_as_buffer_store(n);
    const tn_buffer_region *reg = tn_as_buffer_region(n);
    const tn_block_realize *br = tn_as_block_realize(n);
    if (br && m->own) {
        const tn_expr *v = tn_var_dtype(ctx, "v_e", tn_dtype_of(m->own->var));
        tn_block b = *tn_as_block(tn_subst1(ctx, br->block, m->own->var, v));
        const tn_node *dom = tn_range_of(ctx, m->own->min, m->own->extent);
        b.iters = tn_list_append(ctx, b.iters, tn_iter_var_of(ctx, dom, v, TN_ITER_SPATIAL, NULL));
        return tn_block_realize_of(ctx, tn_list_append(ctx, br->values, m->own->var), br->predicate,
                                   tn_block_of(ctx, &b));
    }
    const tn_node *buffer = l ? l->buffer : st ? st->buffer : reg ? reg->buffer : NULL;
    const tn_node *to = buffer ? tnb_ptrmap_get(&m->of_all, buffer) : NULL;
    if (!to)
        return NULL;
    const tn_expr *at = buffer == m->chosen ? m->choice : m->index;
    const tn_node *first = reg ? tn_range_of(ctx, at, tn_int_imm_of(ctx, tn_dtype_of(at), 1)) : at;
    tn_list idx = with_first(ctx, first, l ? l->indices : st ? st->indices : reg->ranges);
    return l    ? tn_buffer_load_of(ctx, to, idx)
           : st ? tn_buffer_store_of(ctx, to, st->value, idx)
                : tn_buffer_region_of(ctx, to, idx);
}

static const tn_node *
with_dimension(many *m, const tn_node *buffer, const tn_expr *extent)
{
    const tn_buffer *b = tn_as_buffer(buffer);
    tn_list shape = with_first(m->ctx, extent, b->shape);
    const tn_node *all = tn_buffer_new(m->ctx, b->name, shape, b->dtype, b->scope);
    tnb_ptrmap_set(&m->of_all, buffer, all);
    return all;
}

/* All buffers get a dimension, over which the loop runs; blocks stand in one around them, with what they have in between its own,
 * or each for itself. */
static const tn_node *
for_many(gpu_program *p, const tn_prim_func *f)
{
    static const char *const tags[] = {"blockIdx.x", "blockIdx.y", "blockIdx.z"};
    tn_ctx *ctx = p->ctx;
    many m = {.ctx = ctx};
    bool around = gpu_below(2), choose = gpu_below(2);
    const tn_expr *n = tn_i64(ctx, 1 + gpu_below(4)), *e = tn_var_dtype(ctx, "e", TNB_I64),
                  *ve = around ? tn_var_dtype(ctx, "ve", TNB_I64) : e;
    const tn_expr *of_which[1] = {n}, *which_at[1] = {ve};
    const tn_node *which = tn_buffer_new(ctx, "which", tn_list_of(ctx, of_which, 1), TNB_I32, NULL);
    const tn_block *root = tn_as_block(tn_as_block_realize(f->body)->block);
    const char *tag = tags[gpu_below(3)];
    tn_list params = f->params, buffers = f->buffers, allocs = root->allocs;
    tnb_ptrmap_init(&m.of_all, tn_scratch(ctx));
    for (uint32_t i = 0; i < buffers.n; i++)
        if (buffers.at[i])
            buffers = tn_list_with(ctx, buffers, i, with_dimension(&m, buffers.at[i], n));
    for (uint32_t i = 0; i < allocs.n && !around; i++)
        allocs = tn_list_with(ctx, allocs, i, with_dimension(&m, allocs.at[i], n));
    const tn_stmt *loop =
        tn_for_of(ctx, e, tn_i64(ctx, 0), n, TN_FOR_THREAD_BINDING, tag, NULL, root->body);
    m.index = ve;
    m.own = around ? NULL : tn_as_for_loop(loop);
    if (choose) {
        m.chosen = f->buffers.at[gpu_below(f->buffers.n - 1)];
        m.choice =
            tn_floormod(ctx,
                        tn_cast_to(ctx, TNB_I64,
                                   tn_buffer_load_of(ctx, which, tn_list_of(ctx, which_at, 1))),
                        n);
        params = with_first(ctx, tn_var_dtype(ctx, "p_which", TNB_DTYPE(TNB_HANDLE, 64)), params);
        buffers = with_first(ctx, which, buffers);
    }
    tn_rewriter r = {.ctx = ctx, .user = &m, .post = one_of_many};
    tn_block b = *root;
    b.body = tn_rewrite(&r, root->body);
    b.allocs = allocs;
    if (around) {
        tn_block o = {.name = tn_str(ctx, "many"), .allocs = allocs, .body = b.body};
        o.iters = tn_listv(ctx,
                           tn_iter_var_of(ctx, tn_range_of(ctx, tn_i64(ctx, 0), n), ve,
                                          TN_ITER_SPATIAL, NULL),
                           NULL);
        tn_block_regions(ctx, &o, &o.reads, &o.writes);
        b.body = tn_block_realize_of(ctx, tn_listv(ctx, e, NULL), NULL, tn_block_of(ctx, &o));
        b.allocs = (tn_list){0};
    }
    b.body = tn_for_of(ctx, e, tn_i64(ctx, 0), n, TN_FOR_THREAD_BINDING, tag, NULL, b.body);
    b.reads = b.writes = (tn_list){0};
    const tn_stmt *body = tn_block_realize_of(ctx, (tn_list){0}, NULL, tn_block_of(ctx, &b));
    return tn_prim_func_of(ctx, params, buffers, body, f->ret, f->attrs);
}

/* The outermost loop of a block, or a part of it, is bound to thread blocks. */
static const tn_node *
bound_before(gpu_program *p)
{
    tnk_item *blocks[16], *loops[16], *part[2];
    tnk_sch *s = tnk_sch_new(p->ctx, p->func);
    tnk_sch_quiet(s);
    uint32_t n = tnk_sch_blocks(s, blocks, 16);
    tnk_item *b = blocks[gpu_below(n < 16 ? n : 16)];
    if (!tnk_sch_loops(s, b, loops, 16))
        return p->func;
    int64_t factor = 1 + gpu_below(6);
    const tn_node *f = tnk_split(s, loops[0], factor, part) && tnk_bind(s, part[0], "blockIdx.y")
                           ? tnk_sch_finish(s)
                           : NULL;
    return f ? f : p->func;
}

void
gpu_program_draw(tn_ctx *ctx, gpu_program *p)
{
    static const tnb_dtype dtypes[] = {TNB_F32, TNB_F32, TNB_F16, TNB_I32};
    *p = (gpu_program){.ctx = ctx};
    p->d = dtypes[gpu_below(4)];
    p->coarse = p->d.bits == 16;
    uint32_t form = gpu_below(sizeof forms / sizeof *forms), empty = UINT32_MAX;
    p->name = forms[form].name;
    /* a reduction over an extent that is known to be 0 leaves its result as it was */
    bool of_results = true;
    if (forms[form].make == elementwise || forms[form].make == transpose)
        empty = gpu_below(3);
    else if (forms[form].make == matmul)
        empty = 1 + gpu_below(2);
    else {
        empty = gpu_below(4);
        of_results = false;
    }
    draw_dims(p, gpu_below(6) ? UINT32_MAX : empty, of_results);
    p->te = tnk_te_new(ctx);
    const tn_node *out = forms[form].make(p);
    p->func = forms[form].make == conv ? out : tnk_te_finish(p->te, &out, 1);
    uint32_t bound = gpu_below(6);
    const tn_node *free = p->func;
    if (free && bound < 2)
        p->func = bound ? bound_before(p) : for_many(p, tn_as_prim_func(free));
    p->in_blocks = p->func != free;
    if (p->func)
        p->func = tn_func_with_attr(ctx, p->func, "tirx.noalias", tn_bool(ctx, true));
    if (p->func)
        p->func = tn_func_with_attr(ctx, p->func, "tir_var_upper_bound", p->bounds);
}

/* Half of the answers are what the rule prefers; threads are at most twice as many: the interpreter has memory for each. */
static int64_t
pick(void *user, const tnk_asked *asked, uint32_t index)
{
    (void)user;
    (void)index;
    int64_t v = asked->n && gpu_below(2) ? asked->options[gpu_below(asked->n)] : asked->preferred;
    return strstr(asked->name, "threads") && v > 2 * asked->preferred ? asked->preferred : v;
}

const tn_node *
gpu_apply(tn_ctx *ctx, const tnk_rule *rule, const tn_node *func, const tn_target *target,
          bool *tuned)
{
    tnk_trial t = {.pick = pick};
    *tuned = gpu_below(2);
    return *tuned ? tnk_trial_run(ctx, rule, func, target, &t)
                  : rule->apply(ctx, func, target, rule->self);
}
