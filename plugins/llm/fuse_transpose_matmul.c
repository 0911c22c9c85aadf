/* SPDX-License-Identifier: Apache-2.0 */
/* FuseTransposeMatmul: a product reads its right operand as it lies before a transposition.
 *
 *     lv = R.permute_dims(w, axes=[1, 0])        lv1 = R.call_tir(cls.NT_matmul, (x, w), ...)
 *     lv1 = R.matmul(x, lv)                      NT_matmul[i, j] += x[i, k] * w[j, k]
 *
 * The transposition swaps the last two axes; it goes when nothing else uses it. What was only made wider before it, R.astype(h,
 * "float32") of float16, is read as it was: a step of one row reads every weight once (widened=False: not so, as upstream). Where batch
 * extents cannot be proved equal, and where the target has a rule of its own for the product (a legalizer), both operators stay. Products of float16 and bfloat16 are summed in
 * float32 and rounded once, as R.matmul's are; sums=result sums as upstream does, in the result's dtype. Cases:
 * tests/pass/FuseTransposeMatmul.
 */
#include "llm.h"

#include "tenon/core/arith.h"
#include "tenon/core/registry.h"
#include "tenon/core/walk.h"
#include "tenon/kit/pattern.h"
#include "tenon/kit/te.h"

enum { MAX_RANK = 16 };

typedef struct fuser {
    const tn_pass_ctx *pc;
    tn_ctx *ctx;
    tn_builder *b;
    const tnk_graph *g;
    const tn_node *func;
    tn_builder *trial; /* of this function; NULL: not needed so far */
    bool wide;         /* sums of halves in float32 */
    tnb_ptrmap lost;   /* transposition's variable -> uses that went */
} fuser;

/* What the call transposes, if it swaps the last two axes alone. */
static const tn_expr *
swapped(const tn_expr *value)
{
    const tn_call *c = value ? tn_is_call_to(value, "relax.permute_dims") : NULL;
    int64_t axes[MAX_RANK], rank = c ? tn_type_ndim(c->args.at[0]->type) : -1;
    if (rank < 2 || rank > MAX_RANK)
        return NULL;
    int n = tn_call_ints(c, "axes", axes, MAX_RANK);
    if (n != rank)
        return n < 0 && rank == 2 ? c->args.at[0] : NULL; /* without axes: all of them turned */
    for (int64_t i = 0; i < rank; i++) {
        int64_t want = i < rank - 2 ? i : i == rank - 2 ? rank - 1 : rank - 2;
        if ((axes[i] < 0 ? axes[i] + rank : axes[i]) != want)
            return NULL;
    }
    return c->args.at[0];
}

/* What a float operand was before it was made as wide as the product's sum, which loses nothing; else itself. */
static const tn_expr *
narrower(const fuser *f, const tn_expr *w, const tn_call *product)
{
    const tn_expr *value = tn_is_var(w) ? tnk_graph_value(f->g, w) : NULL;
    const tn_call *c = value ? tn_is_call_to(value, "relax.astype") : NULL;
    if (!c || !tn_option_bool(f->pc, "widened"))
        return w;
    tnb_dtype from = tn_type_dtype(c->args.at[0]->type), to = tn_type_dtype(w->type);
    return tnb_dtype_is_float(from) && from.bits == 16 && tnb_dtype_eq(to, TNB_F32) &&
                   tnb_dtype_eq(tn_type_dtype(product->base.type), TNB_F32)
               ? c->args.at[0]
               : w;
}

/* Whether the target legalizes this product by itself; what its rule adds to a builder is forgotten. */
static bool
has_own_rule(fuser *f, const tn_call *call)
{
    const tn_target *t = f->pc->target;
    tn_registry *reg = tn_ctx_registry(f->ctx);
    const tn_legalizer *own = t && reg ? tn_find_legalizer(reg, "relax.matmul", t->kind) : NULL;
    if (!own)
        return false;
    if (!f->trial) {
        f->trial = tn_builder_new(f->ctx, NULL);
        tn_builder_know(f->trial, f->func);
    }
    return own->legalize(f->trial, call, t, own->self) != NULL;
}

/* An index for each axis of an operand: `row` and `k`, before them the result's axes, 0 where the extent is 1. */
static bool
place(const fuser *f, const tnk_stage *s, tn_list own, tn_list out, uint32_t n_batch,
      const tn_expr *row, const tn_expr *k, const tn_expr **idx)
{
    uint32_t n = own.n > 1 ? own.n - 2 : 0, at = 0;
    for (; at < n; at++) {
        uint32_t to = n_batch - n + at;
        bool equal = tn_prove_equal(f->ctx, own.at[at], out.at[to]);
        if (!equal && !tn_is_int_const(own.at[at], 1))
            return false;
        idx[at] = equal ? s->axes[to] : tn_i64(f->ctx, 0);
    }
    if (own.n > 1)
        idx[at++] = row;
    idx[at] = k;
    return true;
}

/* The call of the program; NULL: the product stays. */
static const tn_expr *
product(fuser *f, const tn_call *call, const tn_expr *w)
{
    tn_ctx *ctx = f->ctx;
    const tn_expr *x = call->args.at[0], *operands[2] = {x, w};
    tn_list xd, wd, out;
    if (!tn_type_dims(x->type, &xd) || !tn_type_dims(w->type, &wd) ||
        !tn_type_dims(call->base.type, &out) || !xd.n || out.n > MAX_RANK || xd.n > MAX_RANK ||
        tnb_dtype_is_void(tn_type_dtype(call->base.type)))
        return NULL;
    tnb_dtype d = tn_type_dtype(call->base.type), sum = d;
    if (f->wide && tnb_dtype_is_float(d) && d.bits < 32)
        sum = TNB_F32;
    tnk_te *te = tnk_te_new(ctx);
    const tn_node *a = tnk_te_input(te, "x", x->type), *b = tnk_te_input(te, "w", w->type);
    tnk_stage *s = tnk_te_stage(te, "NT_matmul", out.at, out.n, sum);
    uint32_t rows = xd.n > 1, n_batch = out.n - rows - 1;
    const tn_expr *k = tnk_te_reduce_axis(s, "k", tnk_te_expr(te, xd.at[xd.n - 1]));
    const tn_expr *at_x[MAX_RANK], *at_w[MAX_RANK];
    if (!place(f, s, xd, out, n_batch, rows ? s->axes[n_batch] : NULL, k, at_x) ||
        !place(f, s, wd, out, n_batch, s->axes[n_batch + rows], k, at_w))
        return NULL;
    const tn_expr *p = tn_cast_to(ctx, sum, tnk_te_read_at(te, a, at_x, xd.n)),
                  *q = tn_cast_to(ctx, sum, tnk_te_read_at(te, b, at_w, wd.n));
    const tn_node *made = tnk_te_sum(s, tn_mul(ctx, p, q));
    if (!tnb_dtype_eq(sum, d)) {
        s = tnk_te_stage_like(te, "T_cast", made, d);
        made = tnk_te_define(s, tn_cast_to(ctx, d, tnk_te_read_at(te, made, s->axes, s->n_axes)));
    }
    return tnk_te_call(te, f->b, "NT_matmul", operands, 2, &made, 1);
}

static const tn_node *
fuse_call(tn_rewriter *r, const tn_node *n)
{
    fuser *f = r->user;
    const tn_call *call = tn_is_call_to(n, "relax.matmul");
    const tn_expr *wt = call ? call->args.at[1] : NULL;
    const tn_expr *w = tn_is_var(wt) ? swapped(tnk_graph_value(f->g, wt)) : NULL;
    if (!w || has_own_rule(f, call))
        return NULL;
    tn_loc old = tn_at(f->ctx, n->loc);
    const tn_expr *made = product(f, call, narrower(f, w, call));
    tn_at(f->ctx, old);
    if (made && !tn_is_error(made))
        tnb_ptrmap_set(&f->lost, wt, (void *)((uintptr_t)tnb_ptrmap_get(&f->lost, wt) + 1));
    return made;
}

/* A transposition all of whose uses went goes, too. */
static const tn_node *
drop_unused(tn_rewriter *r, const tn_node *n)
{
    fuser *f = r->user;
    const tn_var_binding *vb = tn_as_var_binding(n);
    uintptr_t lost = vb ? (uintptr_t)tnb_ptrmap_get(&f->lost, vb->var) : 0;
    return lost && lost == tnk_graph_uses(f->g, vb->var) ? tn_removed() : NULL;
}

static const tn_node *
each(void *user, const tn_node *func)
{
    fuser *f = user;
    f->g = tnk_graph_new(f->ctx, func);
    f->func = func;
    f->trial = NULL;
    tnb_ptrmap_init(&f->lost, tn_scratch(f->ctx));
    tn_rewriter products = {.ctx = f->ctx, .user = f, .pre = fuse_call, .reach = TN_REACH_GRAPH};
    const tn_node *out = tn_rewrite(&products, func);
    tn_rewriter unused = {.ctx = f->ctx, .user = f, .post = drop_unused, .reach = TN_REACH_BLOCKS};
    return out == func || tn_is_error(out) ? out : tn_rewrite(&unused, out);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    fuser f = {.pc = pc, .ctx = pc->ctx, .b = tn_builder_new(pc->ctx, m)};
    f.wide = !strcmp(tn_option_str(pc, "sums"), "float32");
    return llm_each_function(pc, m, f.b, each, &f);
}

/* Sums in halves are not those of R.matmul. */
static bool
adapt(const tn_pass_ctx *pc, tn_pass_side *before, tn_pass_side *after, const char **why)
{
    (void)before, (void)after;
    *why = "sums=result rounds each step of a sum";
    return !strcmp(tn_option_str(pc, "sums"), "float32");
}

static const tn_attr_schema options[] = {
    {"sums", TN_ATTR_STR, 0, "float32",
     "dtype in which products of float16 and bfloat16 are summed: float32, or the result's",
     "float32|result"},
    {"widened", TN_ATTR_BOOL, 0, "True",
     "read float16 and bfloat16 that only become float32 for the product as they are"},
    {0},
};

const tn_pass llm_fuse_transpose_matmul = {
    .base.size = sizeof(tn_pass),
    .base.name = "FuseTransposeMatmul",
    .base.doc = "let products read their right operand as it lies before a transposition",
    .options = options,
    .keeps = TN_KEEPS_TOLERANCE,
    .needs = "op legalizer",
    .adapt = adapt,
    .run = run,
};
