/* SPDX-License-Identifier: Apache-2.0 */
/* blockize: what a loop holds becomes a block of its own, around the block that is in it.
 *
 *     for i0: for i1 < 4:                         for i0: with T.sblock("B_o"):
 *         with T.sblock("B"):           =>            vi_o = i0
 *             vi = i0 * 4 + i1                        for i1 < 4: with T.sblock("B"): vi = vi_o * 4 + i1
 *             B[vi] = A[vi]                               B[vi] = A[vi]
 *
 * The loops inside have to make up the last digits of the iterators' values: each iterator is E * (something of the loops outside)
 * plus a count from 0 to E - 1 by loops inside. The init of a reduction becomes that of the new block.
 */
#include "schedule_private.h"

enum { MAX_LOOPS = 32 };

static const char me[] = "blockize";

typedef struct digits {
    const tn_expr *coeffs[MAX_LOOPS]; /* of the loops inside */
    const tn_expr *outer;             /* the value of the new block's iterator */
    const tn_expr *extent;            /* of the new iterator */
    const tn_expr *size;              /* E */
} digits;

typedef struct blockizer {
    tnk_sch *s;
    tn_arith *arith;
    tnk_item *block;
    tnk_item *inner[MAX_LOOPS]; /* outermost first */
    const tn_expr *vars[MAX_LOOPS];
    bool used[MAX_LOOPS];
    uint32_t n;
} blockizer;

/* Whether the loops that occur in `coeffs` count 0 .. size - 1 without a gap. */
static bool
count_up(blockizer *z, digits *d, const char *name)
{
    tn_ctx *ctx = z->s->ctx;
    bool left[MAX_LOOPS];
    uint32_t todo = 0;
    for (uint32_t j = 0; j < z->n; j++) {
        left[j] = !tn_is_int_const(d->coeffs[j], 0);
        todo += left[j];
        if (left[j] && z->used[j])
            return tnk_sch_fail(z->s, z->block, me, "the loop '%s' moves several of its iterators",
                                tn_var_name(z->vars[j]));
        z->used[j] |= left[j];
    }
    for (; todo; todo--) {
        uint32_t j = 0;
        while (j < z->n && !(left[j] && tn_prove_eq(z->arith, d->coeffs[j], d->size)))
            j++;
        if (j == z->n)
            return tnk_sch_fail(z->s, z->block, me,
                                "the loops inside do not count through iterator '%s' without gaps",
                                name);
        d->size = tn_simplify(z->arith, tn_mul(ctx, d->size, z->inner[j]->extent));
        left[j] = false;
    }
    return true;
}

/* Takes the value of iterator k apart. */
static bool
split_value(blockizer *z, uint32_t k, digits *d)
{
    tn_ctx *ctx = z->s->ctx;
    const tn_iter_var *iv = tn_as_iter_var(z->block->block->iters.at[k]);
    const tn_range *dom = tn_as_range(iv->dom);
    const char *name = tn_var_name(iv->var);
    const tn_expr *rest, *value = z->block->values[k];
    tnb_dtype t = tn_dtype_of(value);
    bool inside = false;
    d->size = tn_int_imm_of(ctx, t, 1);
    for (uint32_t j = 0; j < z->n; j++) {
        inside |= tn_uses(value, z->vars[j]);
        d->coeffs[j] = tn_int_imm_of(ctx, t, 0);
    }
    if (!inside) {
        d->outer = value;
        d->extent = dom->extent;
        return true;
    }
    if (iv->iter_kind != TN_ITER_SPATIAL && iv->iter_kind != TN_ITER_REDUCE)
        return tnk_sch_fail(z->s, z->block, me,
                            "its iterator '%s' depends on the order of iterations", name);
    if (!tn_linear(z->arith, value, z->vars, z->n, d->coeffs, &rest))
        return tnk_sch_fail(z->s, z->block, me,
                            "the value of iterator '%s' is no sum of multiples of the loops inside",
                            name);
    if (!count_up(z, d, name))
        return false;
    const tn_expr *size = tn_cast_to(ctx, tn_dtype_of(dom->extent), d->size);
    rest = tn_simplify(z->arith, tn_sub(ctx, rest, tn_cast_to(ctx, t, dom->min)));
    if (tn_prove_eq(z->arith, dom->extent, size)) {
        d->outer = tn_int_imm_of(ctx, t, 0);
        d->extent = tn_int_imm_of(ctx, tn_dtype_of(dom->extent), 1);
        return tn_prove_eq(z->arith, rest, d->outer) ||
               tnk_sch_fail(z->s, z->block, me, "the value of iterator '%s' leaves its domain",
                            name);
    }
    const tn_expr *zero = tn_int_imm_of(ctx, t, 0);
    if (!tn_prove_eq(z->arith, tn_floormod(ctx, rest, d->size), zero))
        return tnk_sch_fail(z->s, z->block, me,
                            "iterator '%s' does not begin at a multiple of %s, the extent of the "
                            "loops inside",
                            name, tnk_ref_index(z->s, d->size));
    if (!tn_prove_eq(z->arith, tn_floormod(ctx, dom->extent, size),
                     tn_int_imm_of(ctx, tn_dtype_of(size), 0)))
        return tnk_sch_fail(
            z->s, z->block, me,
            "the extent %s of iterator '%s' is no multiple of %s, that of the loops "
            "inside",
            tnk_ref_index(z->s, dom->extent), name, tnk_ref_index(z->s, d->size));
    d->outer = tn_simplify(z->arith, tn_floordiv(ctx, rest, d->size));
    d->extent = tn_simplify(z->arith, tn_floordiv(ctx, dom->extent, size));
    return true;
}

/* The loops inside, and what is common to all primitives that keep them out of sight. */
static bool
find_inner(blockizer *z, tnk_item *loop)
{
    tnk_sch *s = z->s;
    tnk_item *p = loop;
    for (; p->kind == TNK_ITEM_LOOP; p = p->children.at[0]) {
        if (p->children.n != 1)
            return tnk_sch_fail(s, p, me, "it holds more than one thing");
        if (z->n == MAX_LOOPS)
            return tnk_sch_fail(s, p, me, "it holds too many loops");
        if (p->for_kind == TN_FOR_THREAD_BINDING || p->for_kind == TN_FOR_PARALLEL)
            return tnk_sch_fail(s, p, me, "it is %s, which has to stay outside",
                                p->for_kind == TN_FOR_PARALLEL ? "parallel" : p->thread_tag);
        if (!tn_is_int_const(p->min, 0))
            return tnk_sch_fail(s, p, me, "it does not begin at 0");
        z->vars[z->n] = p->var;
        z->inner[z->n++] = p;
    }
    z->block = p;
    for (uint32_t j = 0; j < z->n; j++)
        for (const tnk_item *o = z->inner[j]->parent; o && o->kind == TNK_ITEM_LOOP; o = o->parent)
            if (tn_uses(z->inner[j]->extent, o->var))
                return tnk_sch_fail(s, z->inner[j], me, "its extent depends on the loop '%s'",
                                    tn_var_name(o->var));
    for (uint32_t j = 0; j < z->n; j++)
        if (tn_uses(p->predicate, z->vars[j]))
            return tnk_sch_fail(s, p, me,
                                "its predicate depends on the loop '%s' inside (pad_einsum makes "
                                "predicates unnecessary)",
                                tn_var_name(z->vars[j]));
    return true;
}

/* The loops inside that move iterators of a kind, around a statement; variables are replaced by what the
 * map says, and get into it if they are made here. */
static const tn_stmt *
wrap(blockizer *z, const digits *d, const tn_stmt *body, bool init, tnb_ptrmap *vars)
{
    tn_ctx *ctx = z->s->ctx;
    const tn_block *b = z->block->block;
    for (uint32_t j = z->n; j-- > 0;) {
        const tnk_item *l = z->inner[j];
        bool spatial = false;
        for (uint32_t k = 0; k < b->iters.n; k++)
            spatial |= tn_as_iter_var(b->iters.at[k])->iter_kind == TN_ITER_SPATIAL &&
                       !tn_is_int_const(d[k].coeffs[j], 0);
        if (init && !spatial)
            continue;
        const tn_expr *var = tnb_ptrmap_get(vars, l->var);
        tn_loc was = tn_at(ctx, l->loc);
        body = tn_for_of(ctx, var ? var : l->var, l->min, l->extent, l->for_kind, NULL,
                         init ? NULL : l->annotations, body);
        tn_at(ctx, was);
    }
    return body;
}

/* The block as it stands within the new one: its body, or its init in a block of its own. */
static const tn_stmt *
inside(blockizer *z, const digits *d, tn_list outer, bool init)
{
    tn_ctx *ctx = z->s->ctx;
    const tn_block *b = z->block->block;
    tnb_ptrmap vars, iters;
    tnb_ptrmap_init(&vars, tn_scratch(ctx));
    tnb_ptrmap_init(&iters, tn_scratch(ctx));
    for (uint32_t j = 0; init && j < z->n; j++)
        tnb_ptrmap_set(&vars, z->vars[j],
                       tn_var_dtype(ctx, tn_strf(ctx, "%s_init", tn_var_name(z->vars[j])),
                                    tn_dtype_of(z->vars[j])));
    tn_list values = {0};
    tn_block fields = *b;
    fields.init = NULL;
    fields.iters = (tn_list){0};
    for (uint32_t k = 0; k < b->iters.n; k++) {
        const tn_iter_var *iv = tn_as_iter_var(b->iters.at[k]);
        if (init && iv->iter_kind != TN_ITER_SPATIAL)
            continue;
        tnb_dtype t = tn_dtype_of(z->block->values[k]);
        const tn_expr *v = tn_cast_to(ctx, t, tn_as_iter_var(outer.at[k])->var);
        if (!tn_is_int_const(d[k].size, 1) || d[k].outer != z->block->values[k]) {
            v = tn_mul(ctx, v, d[k].size);
            const tn_expr *min = tn_cast_to(ctx, t, tn_as_range(iv->dom)->min);
            v = tn_add(ctx, min, v);
        }
        for (uint32_t j = 0; j < z->n; j++)
            if (!tn_is_int_const(d[k].coeffs[j], 0)) {
                const tn_expr *var = tnb_ptrmap_get(&vars, z->vars[j]);
                v = tn_add(ctx, v, tn_mul(ctx, var ? var : z->vars[j], d[k].coeffs[j]));
            }
        values = tn_list_append(ctx, values, v);
        if (init) {
            const tn_expr *own = tn_var_dtype(ctx, tn_strf(ctx, "%s_init", tn_var_name(iv->var)),
                                              tn_dtype_of(iv->var));
            tnb_ptrmap_set(&iters, iv->var, own);
            fields.iters = tn_list_append(ctx, fields.iters,
                                          tn_iter_var_of(ctx, iv->dom, own, TN_ITER_SPATIAL, NULL));
        } else {
            fields.iters = tn_list_append(ctx, fields.iters, TN_NODE(iv));
        }
    }
    if (init) {
        fields = (tn_block){.name = tn_strf(ctx, "%s_init", b->name),
                            .iters = fields.iters,
                            .body = tn_subst(ctx, b->init, &iters)};
    }
    tn_loc was = tn_at(ctx, z->block->loc);
    const tn_stmt *realize =
        tn_block_realize_of(ctx, values, tn_bool(ctx, true), tn_block_of(ctx, &fields));
    tn_at(ctx, was);
    return wrap(z, d, realize, init, &vars);
}

tnk_item *
tnk_blockize(tnk_sch *s, tnk_item *loop)
{
    if (s->broken)
        return NULL;
    tn_ctx *ctx = s->ctx;
    blockizer z = {.s = s};
    if (loop->kind != TNK_ITEM_LOOP) {
        tnk_sch_fail(s, loop, me, "it is no loop");
        return NULL;
    }
    if (!find_inner(&z, loop))
        return NULL;
    const tn_block *b = z.block->block;
    z.arith = tnk_sch_arith(s, z.block);
    digits *d = TNB_NEW_N(tn_scratch(ctx), digits, b->iters.n + 1);
    for (uint32_t k = 0; k < b->iters.n; k++)
        if (!split_value(&z, k, &d[k]))
            return NULL;
    for (uint32_t j = 0; j < z.n; j++)
        if (!z.used[j] && !tn_is_int_const(z.inner[j]->extent, 1)) {
            tnk_sch_fail(s, z.inner[j], me, "block '%s' does the same in each of its iterations",
                         b->name);
            return NULL;
        }
    const char *ref = tnk_ref(s, loop);
    const tn_expr **values = TNB_NEW_N(tn_arena(ctx), const tn_expr *, b->iters.n + 1);
    tn_list iters = {0};
    for (uint32_t k = 0; k < b->iters.n; k++) {
        const tn_iter_var *iv = tn_as_iter_var(b->iters.at[k]);
        const tn_range *dom = tn_as_range(iv->dom);
        bool as_it_was = d[k].outer == z.block->values[k];
        const tn_expr *min = as_it_was ? dom->min : tn_int_imm_of(ctx, tn_dtype_of(iv->var), 0);
        values[k] = d[k].outer;
        iters =
            tn_list_append(ctx, iters,
                           tn_iter_var_of(ctx, tn_range_of(ctx, min, d[k].extent),
                                          tn_var_dtype(ctx,
                                                       tn_strf(ctx, "%s_o", tn_var_name(iv->var)),
                                                       tn_dtype_of(iv->var)),
                                          (tn_iter_kind)iv->iter_kind, NULL));
    }
    tn_block fields = {.name = tn_strf(ctx, "%s_o", b->name), .iters = iters};
    fields.body = inside(&z, d, iters, false);
    fields.init = b->init ? inside(&z, d, iters, true) : NULL;
    z.block->values = values;
    tnk_item_replace(loop, z.block);
    tnk_block_set(s, z.block, &fields);
    tnk_sch_note(s, "blockize(%s)", ref);
    return s->broken ? NULL : z.block;
}
