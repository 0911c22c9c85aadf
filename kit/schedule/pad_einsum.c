/* SPDX-License-Identifier: Apache-2.0 */
/* pad_einsum: the iterators of a sum of products become multiples of given numbers; operands are padded
 * with zeros, the result is cut.
 *
 *     for i < n: for j: for k: C[i, j] += A[i, k] * B[k, j]            padding [8, 1, 1]
 *
 *     for i < ceil(n / 8) * 8: for k: A_pad[i, k] = if i < n then A[i, k] else 0
 *     for i < ceil(n / 8) * 8: for j: for k: C_pad[i, j] += A_pad[i, k] * B[k, j]
 *     for i < n: for j: C[i, j] = C_pad[i, j]
 */
#include "schedule_private.h"

enum { MAX_OPERANDS = 16, MAX_ITERS = 32 };

typedef struct pad {
    tnk_sch *s;
    const tnk_item *block;
    const tn_expr *extents[MAX_ITERS]; /* of padded iterators; NULL: as they are */
    struct {
        const tn_node *from, *to;
        const tn_buffer_load *load;
    } at[MAX_OPERANDS];
    uint32_t n;
    const tn_node *out; /* the result's buffer */
    const char *why;
} pad;

static uint32_t
iterator(const pad *p, const tn_expr *e)
{
    const tn_block *b = p->block->block;
    for (uint32_t k = 0; k < b->iters.n; k++)
        if (tn_as_iter_var(b->iters.at[k])->var == e)
            return k;
    return UINT32_MAX;
}

static bool
uses_padded(const pad *p, const tn_expr *e)
{
    const tn_block *b = p->block->block;
    for (uint32_t k = 0; k < b->iters.n; k++)
        if (p->extents[k] && tn_uses(e, tn_as_iter_var(b->iters.at[k])->var))
            return true;
    return false;
}

static tn_walk_step
find_operands(void *user, const tn_node *n)
{
    pad *p = user;
    const tn_buffer_load *l = tn_as_buffer_load(n);
    if (!l || l->buffer == p->out)
        return TN_WALK_ON;
    const char *name = tn_as_buffer(l->buffer)->name;
    bool padded = false;
    for (uint32_t d = 0; d < l->indices.n; d++) {
        uint32_t k = iterator(p, l->indices.at[d]);
        if (k == UINT32_MAX && uses_padded(p, l->indices.at[d]))
            p->why = tn_strf(p->s->ctx, "an index of '%s' is more than one of its iterators", name);
        padded |= k != UINT32_MAX && p->extents[k];
    }
    for (uint32_t i = 0; i < p->n; i++) {
        if (p->at[i].from != l->buffer)
            continue;
        if (!tn_equal(p->s->ctx, TN_NODE(p->at[i].load), n, false, NULL))
            p->why = tn_strf(p->s->ctx, "it reads '%s' at several places", name);
        return p->why ? TN_WALK_STOP : TN_WALK_ON;
    }
    if (padded && p->n == MAX_OPERANDS)
        p->why = "it has too many operands";
    if (padded && !p->why) {
        p->at[p->n].from = l->buffer;
        p->at[p->n++].load = l;
    }
    return p->why ? TN_WALK_STOP : TN_WALK_ON;
}

/* Whether the value is zero where iterator k is beyond its domain: an operand in each product is. */
static bool
vanishes(const pad *p, const tn_expr *e, uint32_t k)
{
    const tn_buffer_load *l = tn_as_buffer_load(e);
    for (uint32_t d = 0; l && d < l->indices.n; d++)
        if (iterator(p, l->indices.at[d]) == k)
            return true;
    if (tn_is(e, TN_KIND_CAST))
        return vanishes(p, ((const tn_cast *)e)->value, k);
    if (tn_is(e, TN_KIND_MUL))
        return vanishes(p, tn_as_binary(e)->a, k) || vanishes(p, tn_as_binary(e)->b, k);
    if (tn_is(e, TN_KIND_ADD) || tn_is(e, TN_KIND_SUB))
        return vanishes(p, tn_as_binary(e)->a, k) && vanishes(p, tn_as_binary(e)->b, k);
    return false;
}

static const tn_node *
replace(tn_rewriter *r, const tn_node *n)
{
    const pad *p = r->user;
    const tn_buffer_load *l = tn_as_buffer_load(n);
    for (uint32_t i = 0; l && i < p->n; i++)
        if (l->buffer == p->at[i].from && p->at[i].to)
            return tn_buffer_load_of(r->ctx, p->at[i].to, l->indices);
    const tn_buffer_store *st = tn_as_buffer_store(n);
    if (st && st->buffer == p->at[MAX_OPERANDS - 1].from && p->at[MAX_OPERANDS - 1].to)
        return tn_buffer_store_of(r->ctx, p->at[MAX_OPERANDS - 1].to, st->value, st->indices);
    if (l && l->buffer == p->at[MAX_OPERANDS - 1].from && p->at[MAX_OPERANDS - 1].to)
        return tn_buffer_load_of(r->ctx, p->at[MAX_OPERANDS - 1].to, l->indices);
    return NULL;
}

/* Loops over `shape` around a block that stores value(v) to `to`; `within` lists, for each dimension,
 * the extent of `from` where that is less (else NULL): beyond it the copy is zero. */
static tnk_item *
copy_nest(tnk_sch *s, const tn_node *from, const tn_node *to, tn_list shape,
          const tn_expr *const *within, tn_loc loc)
{
    tn_ctx *ctx = s->ctx;
    tnk_item *copy = tnk_item_new(s, TNK_ITEM_BLOCK, NULL), *nest = copy, *at = NULL;
    copy->loc = loc;
    copy->values = TNB_NEW_N(tn_arena(ctx), const tn_expr *, shape.n + 1);
    copy->predicate = tn_bool(ctx, true);
    tn_list iters = {0}, idx = {0};
    const tn_expr *inside = NULL;
    for (uint32_t i = 0; i < shape.n; i++) {
        tnb_dtype d = tn_dtype_of(shape.at[i]);
        tnk_item *l = tnk_item_new(s, TNK_ITEM_LOOP, NULL);
        l->loc = loc;
        l->var = tn_var_dtype(ctx, tn_strf(ctx, "ax%u", i), d);
        l->min = tn_int_imm_of(ctx, d, 0);
        l->extent = shape.at[i];
        const tn_expr *v = tn_var_dtype(ctx, tn_strf(ctx, "v%u", i), d);
        copy->values[i] = l->var;
        idx = tn_list_append(ctx, idx, v);
        iters = tn_list_append(ctx, iters,
                               tn_iter_var_of(ctx, tn_range_of(ctx, l->min, l->extent), v,
                                              TN_ITER_SPATIAL, NULL));
        if (within && within[i])
            inside = tn_and(ctx, inside, tn_lt_of(ctx, v, within[i]));
        if (at)
            tnk_item_insert(s, at, 0, l);
        else
            nest = l;
        at = l;
    }
    if (at)
        tnk_item_insert(s, at, 0, copy);
    const tn_expr *value = tn_buffer_load_of(ctx, from, idx);
    if (inside)
        value = tn_if_then_else(ctx, inside, value, tn_literal(ctx, tn_as_buffer(from)->dtype, 0));
    const char *name = tn_as_buffer(within ? to : from)->name;
    tn_block fields = {.name = name,
                       .iters = iters,
                       .body = tn_buffer_store_of(ctx, to, value, idx)};
    tnk_block_set(s, copy, &fields);
    return nest;
}

/* The buffer with padded dimensions, and the extents of those that are. */
static const tn_node *
padded_buffer(const pad *p, const tn_node *buffer, tn_list idx, const tn_expr **within)
{
    tn_ctx *ctx = p->s->ctx;
    const tn_buffer *b = tn_as_buffer(buffer);
    tn_list shape = b->shape;
    for (uint32_t d = 0; d < shape.n; d++) {
        uint32_t k = iterator(p, idx.at[d]);
        within[d] = NULL;
        if (k == UINT32_MAX || !p->extents[k])
            continue;
        within[d] = shape.at[d];
        shape =
            tn_list_with(ctx, shape, d, tn_cast_to(ctx, tn_dtype_of(shape.at[d]), p->extents[k]));
    }
    return tn_buffer_new(ctx, tn_strf(ctx, "%s_pad", b->name), shape, b->dtype, NULL);
}

bool
tnk_pad_einsum(tnk_sch *s, tnk_item *block, const int64_t *padding, uint32_t n)
{
    static const char me[] = "pad_einsum";
    if (s->broken)
        return false;
    tn_ctx *ctx = s->ctx;
    const tn_block *b = block->block;
    tnk_reducer red;
    if (n != b->iters.n || n > MAX_ITERS)
        return tnk_sch_fail(s, block, me, "it has %u iterators, but there are %u paddings",
                            b->iters.n, n);
    if (!tnk_block_reducer(s, block, &red) || red.op != TN_KIND_ADD)
        return tnk_sch_fail(s, block, me, "it is no sum with its init inside");
    tnk_item *top = tnk_block_own_nest(s, block);
    if (!top)
        return tnk_sch_fail(s, block, me,
                            "it does not have a plain loop for each of its iterators");
    pad p = {.s = s, .block = block, .out = red.store->buffer};
    tn_arith *a = tnk_sch_arith(s, top);
    for (uint32_t k = 0; k < n; k++) {
        const tn_iter_var *iv = tn_as_iter_var(b->iters.at[k]);
        if (padding[k] <= 0)
            return tnk_sch_fail(s, block, me, "the padding %lld is not positive",
                                (long long)padding[k]);
        const tn_expr *old = tn_as_range(iv->dom)->extent,
                      *by = tn_int_imm_of(ctx, tn_dtype_of(old), padding[k]);
        const tn_expr *e = tn_simplify(a, tn_mul(ctx, tn_ceildiv(ctx, old, by), by));
        if (!tn_prove_eq(a, e, old))
            p.extents[k] = e;
    }
    bool store_padded = false;
    for (uint32_t d = 0; d < red.store->indices.n; d++) {
        uint32_t k = iterator(&p, red.store->indices.at[d]);
        if (k == UINT32_MAX && uses_padded(&p, red.store->indices.at[d]))
            return tnk_sch_fail(s, block, me,
                                "an index of its result is more than one of its iterators");
        store_padded |= k != UINT32_MAX && p.extents[k];
    }
    if (store_padded && !tnk_block_fills(s, block, tnk_block_output(block)))
        return tnk_sch_fail(s, block, me, "it does not store every element of its result");
    tn_walk(red.value, 0, find_operands, NULL, &p);
    if (p.n == MAX_OPERANDS)
        p.why = "it has too many operands"; /* the last place is the result's */
    if (p.why)
        return tnk_sch_fail(s, block, me, "%s", p.why);
    for (uint32_t k = 0; k < n; k++)
        if (p.extents[k] && tn_as_iter_var(b->iters.at[k])->iter_kind != TN_ITER_SPATIAL &&
            !vanishes(&p, red.value, k))
            return tnk_sch_fail(s, block, me,
                                "padding of '%s' would add to the sum: no factor is zero there",
                                tn_var_name(tn_as_iter_var(b->iters.at[k])->var));
    for (uint32_t i = 0; i < p.n; i++) /* beyond its iterators an operand has nothing to copy */
        for (uint32_t d = 0; d < p.at[i].load->indices.n; d++) {
            uint32_t k = iterator(&p, p.at[i].load->indices.at[d]);
            const tn_expr *shape = tn_as_buffer(p.at[i].from)->shape.at[d];
            if (k != UINT32_MAX && p.extents[k] &&
                !tn_prove_eq(a, shape, tn_as_range(tn_as_iter_var(b->iters.at[k])->dom)->extent))
                return tnk_sch_fail(s, block, me, "'%s' is not as long as the iterator '%s'",
                                    tn_as_buffer(p.at[i].from)->name,
                                    tn_var_name(tn_as_iter_var(b->iters.at[k])->var));
        }
    tnb_buf text = {0};
    for (uint32_t k = 0; k < n; k++)
        tnb_buf_printf(&text, "%s%lld", k ? ", " : "", (long long)padding[k]);
    tnk_sch_note(s, "pad_einsum(%s, [%s])", tnk_ref(s, block), text.s ? text.s : "");
    tnb_buf_free(&text);
    const tn_expr *within[MAX_ITERS];
    for (uint32_t i = 0; i < p.n; i++) {
        p.at[i].to = padded_buffer(&p, p.at[i].from, p.at[i].load->indices, within);
        TNB_PUSH(tn_arena(ctx), s->allocs, p.at[i].to);
        tnk_item *nest = copy_nest(s, p.at[i].from, p.at[i].to, tn_as_buffer(p.at[i].to)->shape,
                                   within, block->loc);
        tnk_item_insert(s, top->parent, tnk_item_index(top), nest);
    }
    if (store_padded) {
        const tn_node *to = padded_buffer(&p, p.out, red.store->indices, within);
        p.at[MAX_OPERANDS - 1].from = p.out;
        p.at[MAX_OPERANDS - 1].to = to;
        TNB_PUSH(tn_arena(ctx), s->allocs, to);
        tnk_item *nest = copy_nest(s, to, p.out, tn_as_buffer(p.out)->shape, NULL, block->loc);
        tnk_item_insert(s, top->parent, tnk_item_index(top) + 1, nest);
    }
    tn_rewriter r = {.ctx = ctx, .user = &p, .post = replace};
    tn_block fields = *b;
    fields.body = tn_rewrite(&r, b->body);
    fields.init = tn_rewrite(&r, b->init);
    for (uint32_t k = 0; k < n; k++) {
        if (!p.extents[k])
            continue;
        const tn_iter_var *iv = tn_as_iter_var(b->iters.at[k]);
        const tn_node *dom = tn_range_of(ctx, tn_as_range(iv->dom)->min, p.extents[k]);
        fields.iters =
            tn_list_with(ctx, fields.iters, k,
                         tn_iter_var_of(ctx, dom, iv->var, (tn_iter_kind)iv->iter_kind, NULL));
        for (tnk_item *l = block->parent; l->kind == TNK_ITEM_LOOP; l = l->parent)
            if (l->var == block->values[k])
                l->extent = p.extents[k];
    }
    tnk_block_set(s, block, &fields);
    return !s->broken;
}
