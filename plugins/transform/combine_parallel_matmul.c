/* SPDX-License-Identifier: Apache-2.0 */
/* CombineParallelMatmul: products of one left operand become one product.
 *
 *     lv = R.matmul(x, w1)      =>      lv2 = R.concat((w1, w2), axis=1)
 *     lv1 = R.matmul(x, w2)             lv3 = R.matmul(x, lv2, out_dtype="float32")
 *                                       lv4 = R.split(lv3, indices_or_sections=[n], axis=1)
 *                                       lv = lv4[0]
 *                                       lv1 = lv4[1]
 *
 * In dataflow blocks. A bias added and one of relu, gelu, gelu_tanh, silu behind it are combined
 * too when all products of the operand have them alike; else the products alone, which combines
 * more. Right operands of one rank with equal batch extents go together, those of known width first
 * and at most one of symbolic width, as the last. An operand that is computed only behind the first
 * product stays out. Upstream's parameter `check` is a function of the host program and no option
 * here. Cases: tests/pass/CombineParallelMatmul.
 */
#include "transform.h"

#include "tenon/core/arith.h"
#include "tenon/core/walk.h"

static const char *const activations[] = {"relax.nn.relu", "relax.nn.gelu", "relax.nn.gelu_tanh",
                                          "relax.nn.silu"};
enum {
    N_ACTIVATIONS = sizeof activations / sizeof *activations,
    NO_ACTIVATION = -1,
    MAX_RANK = 32
};

/* A product and what follows it; bindings by their place in the block. */
typedef struct branch {
    const tn_expr *lhs, *rhs, *bias;
    uint32_t product, add, active; /* add, active: 0 if there is none behind the product */
    int activation;
    bool gone; /* combined */
} branch;

typedef TNB_VEC(const tn_node *) node_vec;

typedef struct combiner {
    tn_ctx *ctx;
    tnb_arena *arena;
    tn_list at;       /* the block's bindings */
    tnb_ptrmap place; /* variable defined in the block -> its place + 1 */
    TNB_VEC(branch) branches;
    node_vec *before;        /* by place: bindings put in front */
    const tn_node **instead; /* by place: another binding */
} combiner;

static const tn_call *
call_at(const combiner *c, uint32_t i, const char *op)
{
    const tn_var_binding *v = tn_as_var_binding(c->at.at[i]);
    return v ? tn_is_call_to(v->value, op) : NULL;
}

static const tn_expr *
var_at(const combiner *c, uint32_t i)
{
    return tn_as_var_binding(c->at.at[i])->var;
}

/* Where a leaf is defined in the block, counted from 1; 0: before it. */
static uint32_t
place_of(const combiner *c, const tn_expr *leaf)
{
    return (uint32_t)(uintptr_t)tnb_ptrmap_get(&c->place, leaf);
}

/* ---- finding ---- */

/* The bias is added along the product's last axis, one value a column. */
static bool
is_bias(combiner *c, const tn_expr *bias, const tn_expr *product)
{
    tn_list b, p;
    return tn_type_dims(bias->type, &b) && tn_type_dims(product->type, &p) && b.n && p.n &&
           b.n <= p.n && tn_is(bias->type, TN_KIND_TY_TENSOR) &&
           tn_prove_equal(c->ctx, b.at[b.n - 1], p.at[p.n - 1]);
}

static void
follow(combiner *c, branch *b)
{
    const tn_expr *out = var_at(c, b->product);
    for (uint32_t i = b->product + 1; i < c->at.n && !b->add; i++) {
        const tn_call *add = call_at(c, i, "relax.add");
        if (add && add->args.at[0] == out && is_bias(c, add->args.at[1], out)) {
            b->add = i;
            b->bias = add->args.at[1];
        }
    }
    if (b->add)
        out = var_at(c, b->add);
    for (uint32_t i = b->product + 1; i < c->at.n && !b->active; i++)
        for (int k = 0; k < N_ACTIVATIONS; k++) {
            const tn_call *act = call_at(c, i, activations[k]);
            if (act && act->args.at[0] == out) {
                b->active = i;
                b->activation = k;
            }
        }
}

static void
find_branches(combiner *c)
{
    for (uint32_t i = 0; i < c->at.n; i++) {
        const tn_call *call = call_at(c, i, "relax.matmul");
        if (!call || !tn_is_var(call->args.at[0]) || tn_type_ndim(call->args.at[1]->type) < 2)
            continue;
        branch b = {.lhs = call->args.at[0], .rhs = call->args.at[1], .product = i};
        b.activation = NO_ACTIVATION;
        follow(c, &b);
        TNB_PUSH(c->arena, c->branches, b);
    }
}

/* ---- combining ---- */

/* What is combined behind the product. */
typedef struct shape {
    bool bias;
    int activation;
} shape;

static bool
has_shape(const branch *b, shape s)
{
    return (!s.bias || b->add) &&
           (s.activation == NO_ACTIVATION || b->activation == s.activation) &&
           (s.activation == NO_ACTIVATION || s.bias == (b->add > 0));
}

/* The place whose variable the combined computation gives. */
static uint32_t
end_of(const branch *b, shape s)
{
    return s.activation != NO_ACTIVATION ? b->active : s.bias ? b->add : b->product;
}

static const tn_expr *
put(combiner *c, uint32_t at, const tn_expr *value)
{
    const tn_expr *var = tn_dataflow_var_new(c->ctx, "lv", value->type);
    TNB_PUSH(c->arena, c->before[at], tn_var_binding_of(c->ctx, var, value));
    return var;
}

static const tn_node *
axis_attr(tn_ctx *ctx, int64_t axis)
{
    return tn_dictv(ctx, "axis", tn_i64(ctx, axis), NULL);
}

static const tn_expr *
width_of(const branch *b)
{
    tn_list dims = {0};
    tn_type_dims(b->rhs->type, &dims);
    return dims.at[dims.n - 1];
}

/* Replaces the ends of n branches, of which all but the last have known widths. */
static bool
combine(combiner *c, branch *const *all, uint32_t n, shape s)
{
    tn_ctx *ctx = c->ctx;
    uint32_t at = end_of(all[0], s);
    tn_list rhs = {0}, bias = {0}, cuts = {0};
    int64_t cut = 0, width;
    for (uint32_t i = 0; i < n; i++) {
        at = end_of(all[i], s) < at ? end_of(all[i], s) : at;
        rhs = tn_list_append(ctx, rhs, all[i]->rhs);
        if (s.bias)
            bias = tn_list_append(ctx, bias, all[i]->bias);
        if (i + 1 < n && tn_int_value(width_of(all[i]), &width))
            cuts = tn_list_append(ctx, cuts, tn_i64(ctx, cut += width));
    }
    int64_t rank = tn_type_ndim(all[0]->rhs->type);
    tnb_dtype d = tn_type_dtype(var_at(c, all[0]->product)->type);
    const tn_expr *w = put(c, at,
                           tn_call_opv(ctx, "relax.concat", axis_attr(ctx, rank - 1),
                                       tn_tuple_of(ctx, rhs), NULL));
    const tn_node *out = tn_dictv(ctx, "out_dtype", tn_dtype_imm_of(ctx, d), NULL);
    const tn_expr *y = put(c, at, tn_call_opv(ctx, "relax.matmul", out, all[0]->lhs, w, NULL));
    if (s.bias) {
        const tn_node *last = axis_attr(ctx, tn_type_ndim(all[0]->bias->type) - 1);
        const tn_expr *b =
            put(c, at, tn_call_opv(ctx, "relax.concat", last, tn_tuple_of(ctx, bias), NULL));
        y = put(c, at, tn_call_opv(ctx, "relax.add", NULL, y, b, NULL));
    }
    if (s.activation != NO_ACTIVATION)
        y = put(c, at, tn_call_opv(ctx, activations[s.activation], NULL, y, NULL));
    const tn_node *sections = tn_dictv(ctx, "indices_or_sections", tn_array_of(ctx, cuts), "axis",
                                       tn_i64(ctx, tn_type_ndim(y->type) - 1), NULL);
    const tn_expr *parts = put(c, at, tn_call_opv(ctx, "relax.split", sections, y, NULL));
    for (uint32_t i = 0; i < n; i++) {
        uint32_t end = end_of(all[i], s);
        c->instead[end] = tn_var_binding_of(ctx, var_at(c, end), tn_tuple_item(ctx, parts, i));
        all[i]->gone = true;
    }
    return !tn_is_error(parts);
}

/* The batch extents of both right operands are equal. */
static bool
same_batches(combiner *c, const branch *a, const branch *b)
{
    tn_list x, y;
    if (!tn_type_dims(a->rhs->type, &x) || !tn_type_dims(b->rhs->type, &y) || x.n != y.n)
        return false;
    for (uint32_t i = 0; i + 2 < x.n; i++)
        if (!tn_prove_equal(c->ctx, x.at[i], y.at[i]))
            return false;
    return true;
}

/* b's operands can be joined with those of a, in front of place `at`. */
static bool
joins(combiner *c, const branch *a, const branch *b, shape s, uint32_t at)
{
    tn_list x, y;
    if (!tn_type_dims(a->rhs->type, &x) || !tn_type_dims(b->rhs->type, &y) || x.n != y.n ||
        !tnb_dtype_eq(tn_type_dtype(a->rhs->type), tn_type_dtype(b->rhs->type)) ||
        !tnb_dtype_eq(tn_type_dtype(var_at(c, a->product)->type),
                      tn_type_dtype(var_at(c, b->product)->type)) ||
        place_of(c, b->rhs) > at || (s.bias && place_of(c, b->bias) > at))
        return false;
    for (uint32_t i = 0; i + 1 < x.n; i++)
        if (!tn_prove_equal(c->ctx, x.at[i], y.at[i]))
            return false;
    if (!s.bias)
        return true;
    if (!tn_type_dims(a->bias->type, &x) || !tn_type_dims(b->bias->type, &y) || x.n != y.n)
        return false;
    for (uint32_t i = 0; i + 1 < x.n; i++)
        if (!tn_prove_equal(c->ctx, x.at[i], y.at[i]))
            return false;
    return true;
}

/* Combines what there is of branches from `first` on with its left operand and this shape. */
static bool
combine_shape(combiner *c, const tn_expr *lhs, shape s)
{
    branch **all = TNB_NEW_N(c->arena, branch *, c->branches.n + 1);
    bool *tried = TNB_NEW_N(c->arena, bool, c->branches.n + 1);
    for (uint32_t f = 0; f < c->branches.n; f++) {
        branch *first = &c->branches.at[f];
        uint32_t n = 0, at = UINT32_MAX;
        if (tried[f] || first->gone || first->lhs != lhs || !has_shape(first, s))
            continue;
        for (uint32_t i = f; i < c->branches.n; i++) {
            branch *b = &c->branches.at[i];
            bool same = !b->gone && b->lhs == lhs && has_shape(b, s) &&
                        tn_type_ndim(b->rhs->type) == tn_type_ndim(first->rhs->type);
            if (same && end_of(b, s) < at)
                at = end_of(b, s);
        }
        bool alike = true;
        for (uint32_t i = f; i < c->branches.n; i++) {
            branch *b = &c->branches.at[i];
            if (!b->gone && b->lhs == lhs && has_shape(b, s) &&
                tn_type_ndim(b->rhs->type) == tn_type_ndim(first->rhs->type)) {
                alike &= same_batches(c, first, b);
                tried[i] = true;
            }
        }
        for (int symbolic = 0; alike && symbolic < 2; symbolic++) {
            uint32_t most = symbolic ? n + 1 : UINT32_MAX; /* one symbolic width at most */
            for (uint32_t i = f; i < c->branches.n && n < most; i++) {
                branch *b = &c->branches.at[i];
                tn_list dims;
                if (b->gone || b->lhs != lhs || !has_shape(b, s) ||
                    !tn_type_dims(b->rhs->type, &dims) || dims.n < 2 ||
                    tn_is(dims.at[dims.n - 1], TN_KIND_INT_IMM) == (symbolic == 1) ||
                    !joins(c, first, b, s, at))
                    continue;
                all[n++] = b;
            }
        }
        if (n > 1 && !combine(c, all, n, s))
            return false;
    }
    return true;
}

/* How many products of lhs have this shape. */
static uint32_t
count(const combiner *c, const tn_expr *lhs, shape s)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->branches.n; i++)
        n += c->branches.at[i].lhs == lhs && has_shape(&c->branches.at[i], s);
    return n;
}

static bool
combine_operand(combiner *c, const tn_expr *lhs)
{
    shape plain = {false, NO_ACTIVATION}, rich[2 * N_ACTIVATIONS + 1];
    uint32_t total = count(c, lhs, plain), n = 0;
    for (int k = 0; k < N_ACTIVATIONS; k++) {
        rich[n++] = (shape){true, k};
        rich[n++] = (shape){false, k};
    }
    rich[n++] = (shape){true, NO_ACTIVATION};
    if (total < 2)
        return true;
    for (uint32_t i = 0; i < n; i++)
        if (count(c, lhs, rich[i]) == total)
            return combine_shape(c, lhs, rich[i]);
    return combine_shape(c, lhs, plain);
}

/* ---- blocks ---- */

/* The bindings with what was put in between; products that nobody uses any more go. */
static tn_list
assembled(combiner *c)
{
    tn_list out = {0};
    tnb_ptrmap maybe, used;
    tnb_ptrmap_init(&maybe, c->arena);
    tnb_ptrmap_init(&used, c->arena);
    for (uint32_t i = 0; i < c->branches.n; i++) {
        const branch *b = &c->branches.at[i];
        if (!b->gone)
            continue;
        tnb_ptrmap_set(&maybe, var_at(c, b->product), b);
        if (b->add)
            tnb_ptrmap_set(&maybe, var_at(c, b->add), b);
    }
    node_vec back = {0}; /* from the end */
    for (uint32_t i = c->at.n; i-- > 0;) {
        const tn_node *binding = c->instead[i] ? c->instead[i] : c->at.at[i];
        const tn_var_binding *v = tn_as_var_binding(binding);
        bool dead = v && !c->instead[i] && tn_is(v->var, TN_KIND_DATAFLOW_VAR) &&
                    tnb_ptrmap_has(&maybe, v->var) && !tnb_ptrmap_has(&used, v->var);
        if (!dead) {
            tn_list uses = tn_free_vars(c->ctx, binding, false);
            for (uint32_t k = 0; k < uses.n; k++)
                tnb_ptrmap_set(&used, uses.at[k], c);
            TNB_PUSH(c->arena, back, binding);
        }
        for (uint32_t k = c->before[i].n; k-- > 0;)
            TNB_PUSH(c->arena, back, c->before[i].at[k]);
    }
    for (uint32_t i = back.n; i-- > 0;)
        out = tn_list_append(c->ctx, out, back.at[i]);
    return out;
}

static const tn_node *
combine_block(tn_rewriter *r, const tn_node *n)
{
    if (!tn_is(n, TN_KIND_DATAFLOW_BLOCK))
        return NULL;
    combiner c = {.ctx = r->ctx, .arena = tn_scratch(r->ctx)};
    c.at = ((const tn_bindings_block *)n)->bindings;
    tnb_ptrmap_init(&c.place, c.arena);
    for (uint32_t i = 0; i < c.at.n; i++) {
        const tn_var_binding *v = tn_as_var_binding(c.at.at[i]);
        const tn_expr *var = v ? v->var : tn_as_match_cast(c.at.at[i])->var;
        tnb_ptrmap_set(&c.place, var, (const void *)(uintptr_t)(i + 1));
    }
    c.before = TNB_NEW_N(c.arena, node_vec, c.at.n + 1);
    c.instead = TNB_NEW_N(c.arena, const tn_node *, c.at.n + 1);
    find_branches(&c);
    bool changed = false;
    for (uint32_t i = 0; i < c.branches.n; i++) {
        bool seen = false;
        for (uint32_t k = 0; k < i; k++)
            seen |= c.branches.at[k].lhs == c.branches.at[i].lhs;
        if (!seen && !combine_operand(&c, c.branches.at[i].lhs))
            return tn_error_node(r->ctx);
    }
    for (uint32_t i = 0; i < c.branches.n; i++)
        changed |= c.branches.at[i].gone;
    return changed ? tn_binding_block_of(r->ctx, assembled(&c), true) : NULL;
}

static const tn_node *
each_function(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func,
              void *user)
{
    (void)m;
    (void)name;
    (void)user;
    tn_rewriter r = {.ctx = pc->ctx, .post = combine_block, .reach = TN_REACH_BLOCKS};
    const tn_node *out = tn_rewrite(&r, func);
    return tn_is_error(out) ? NULL : out;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tn_map_functions(pc, m, TN_FUNCTIONS, each_function, NULL);
}

const tn_pass transform_combine_parallel_matmul = {
    .base.size = sizeof(tn_pass),
    .base.name = "CombineParallelMatmul",
    .base.doc = "compute products of one left operand together",
    .keeps = TN_KEEPS_TOLERANCE,
    .flags = TN_PASS_PARALLEL,
    .run = run,
    .needs = "op",
};
