/* SPDX-License-Identifier: Apache-2.0 */
/* transform_layout, transform_block_layout: the dimensions of a buffer, or the iterators of a block, are
 * mapped to others.
 *
 *     transform_layout(B, lambda i, j: (j, i))              B[vi, vj]  =>  B[vj, vi]
 *     transform_block_layout(C, lambda i, j: (i * 8 + j))   for i: for j: C[vi, vj] = ..  =>  for ax0: C[v0 // 8, v0 % 8] = ..
 */
#include "schedule_private.h"

enum { MAX_DIMS = 32 };

/* The extents of a map's results over ranges of its variables; false: not known, or not from 0. */
static bool
result_extents(tnk_sch *s, const tn_index_map *map, const tn_expr *const *extents,
               const tn_expr **out)
{
    tn_ctx *ctx = s->ctx;
    tn_arith *a = tn_arith_new(ctx);
    for (uint32_t k = 0; k < s->sizes.n; k++)
        tn_arith_shape_var(a, s->sizes.at[k]);
    const tn_expr *mins[MAX_DIMS], *lo, *hi;
    for (uint32_t k = 0; k < map->vars.n; k++)
        mins[k] = tn_int_imm_of(ctx, tn_dtype_of(map->vars.at[k]), 0);
    for (uint32_t i = 0; i < map->result.n; i++) {
        const tn_expr *e = map->result.at[i], *one = tn_int_imm_of(ctx, tn_dtype_of(e), 1);
        out[i] = NULL;
        for (uint32_t k = 0; k < map->vars.n; k++)
            if (map->vars.at[k] == e)
                out[i] = tn_cast_to(ctx, tn_dtype_of(e), extents[k]);
        if (out[i])
            continue;
        if (!tn_interval(a, e, map->vars.at, mins, extents, map->vars.n, &lo, &hi) || !lo || !hi ||
            !tn_is_int_const(tn_simplify(a, lo), 0))
            return false;
        out[i] = tn_simplify(a, tn_add(ctx, hi, one));
    }
    return true;
}

/* An index expression with variables and numbers of another integer type; NULL: it has other parts. */
static const tn_expr *
retyped(tn_ctx *ctx, const tn_expr *e, tn_list from, tn_list to)
{
    int64_t v;
    for (uint32_t i = 0; i < from.n; i++)
        if (from.at[i] == e)
            return to.at[i];
    if (tn_int_value(e, &v))
        return tn_int_imm_of(ctx, tn_dtype_of(to.at[0]), v);
    if (!tn_is(e, TN_KIND_ADD) && !tn_is(e, TN_KIND_SUB) && !tn_is(e, TN_KIND_MUL) &&
        !tn_is(e, TN_KIND_FLOOR_DIV) && !tn_is(e, TN_KIND_FLOOR_MOD))
        return NULL;
    const tn_expr *x = retyped(ctx, tn_as_binary(e)->a, from, to),
                  *y = retyped(ctx, tn_as_binary(e)->b, from, to);
    return x && y ? tn_bin(ctx, e->kind, x, y) : NULL;
}

/* The map, in the integer type of what it is a map of; NULL: it is none of `n` dimensions. */
static const tn_index_map *
checked_map(tnk_sch *s, const tn_node *map, uint32_t n, tnb_dtype d)
{
    const tn_index_map *m = tn_as_index_map(map);
    if (!m || n == 0 || m->vars.n != n || !m->result.n || m->result.n > MAX_DIMS || n > MAX_DIMS)
        return NULL;
    tn_index_map own = {0};
    for (uint32_t i = 0; i < n; i++)
        own.vars =
            tn_list_append(s->ctx, own.vars, tn_var_dtype(s->ctx, tn_var_name(m->vars.at[i]), d));
    for (uint32_t i = 0; i < m->result.n; i++) {
        const tn_expr *e = retyped(s->ctx, m->result.at[i], m->vars, own.vars);
        if (!e)
            return m;
        own.result = tn_list_append(s->ctx, own.result, e);
    }
    return tn_as_index_map(tn_rebuild(s->ctx, TN_KIND_INDEX_MAP, &own, NULL));
}

/* "lambda i, j: (j, i)" */
static const char *
map_text(tnk_sch *s, const tn_index_map *m)
{
    const char *t = "lambda ";
    for (uint32_t i = 0; i < m->vars.n; i++)
        t = tn_strf(s->ctx, "%s%s%s", t, i ? ", " : "", tn_var_name(m->vars.at[i]));
    t = tn_strf(s->ctx, "%s: (", t);
    for (uint32_t i = 0; i < m->result.n; i++)
        t = tn_strf(s->ctx, "%s%s%s", t, i ? ", " : "", tnk_ref_index(s, m->result.at[i]));
    return tn_strf(s->ctx, "%s)", t);
}

typedef struct relayout {
    const tn_node *from, *to;
    const tn_index_map *map;
    tn_arith *arith;
} relayout;

static tn_list
mapped(tn_ctx *ctx, const relayout *w, tn_list idx)
{
    tnb_ptrmap vars;
    tnb_ptrmap_init(&vars, tn_scratch(ctx));
    for (uint32_t i = 0; i < idx.n; i++)
        tnb_ptrmap_set(&vars, w->map->vars.at[i],
                       tn_cast_to(ctx, tn_dtype_of(w->map->vars.at[i]), idx.at[i]));
    tn_list out = {0};
    for (uint32_t i = 0; i < w->map->result.n; i++)
        out = tn_list_append(ctx, out,
                             tn_simplify(w->arith, tn_subst(ctx, w->map->result.at[i], &vars)));
    return out;
}

static const tn_node *
replace(tn_rewriter *r, const tn_node *n)
{
    const relayout *w = r->user;
    if (n->kind == TN_KIND_BUFFER_LOAD && ((const tn_buffer_load *)n)->buffer == w->from)
        return tn_buffer_load_of(r->ctx, w->to,
                                 mapped(r->ctx, w, ((const tn_buffer_load *)n)->indices));
    if (n->kind == TN_KIND_BUFFER_STORE && ((const tn_buffer_store *)n)->buffer == w->from)
        return tn_buffer_store_of(r->ctx, w->to, ((const tn_buffer_store *)n)->value,
                                  mapped(r->ctx, w, ((const tn_buffer_store *)n)->indices));
    return NULL;
}

static bool
touches(const tn_block *b, const tn_node *buffer)
{
    for (uint32_t i = 0; i < b->reads.n; i++)
        if (tn_as_buffer_region(b->reads.at[i])->buffer == buffer)
            return true;
    for (uint32_t i = 0; i < b->writes.n; i++)
        if (tn_as_buffer_region(b->writes.at[i])->buffer == buffer)
            return true;
    return false;
}

bool
tnk_transform_layout(tnk_sch *s, tnk_item *block, const tn_node *buffer, const tn_node *map)
{
    static const char me[] = "transform_layout";
    if (s->broken)
        return false;
    tn_ctx *ctx = s->ctx;
    const tn_buffer *b = tn_as_buffer(buffer);
    const tn_index_map *m =
        checked_map(s, map, b->shape.n, b->shape.n ? tn_dtype_of(b->shape.at[0]) : TNB_I64);
    if (!m)
        return tnk_sch_fail(s, block, me, "the map is not one of the %u dimensions of '%s'",
                            b->shape.n, b->name);
    if (!touches(block->block, buffer))
        return tnk_sch_fail(s, block, me, "it does not access '%s'", b->name);
    if (tnk_sch_is_param(s, buffer))
        return tnk_sch_fail(
            s, block, me,
            "'%s' is a parameter of the function (make a copy with reindex or cache_read)",
            b->name);
    const tn_expr *outs[MAX_DIMS], *inverse[MAX_DIMS], *extents[MAX_DIMS];
    bool plain;
    for (uint32_t i = 0; i < m->result.n; i++)
        outs[i] = tn_var_dtype(ctx, tn_strf(ctx, "o%u", i), tn_dtype_of(m->result.at[i]));
    if (!tnk_index_inverse(s, m->result.at, m->result.n, m->vars.at, b->shape.at, b->shape.n, outs,
                           inverse, &plain) ||
        !result_extents(s, m, b->shape.at, extents))
        return tnk_sch_fail(
            s, block, me, "the map does not take every element of '%s' to one place, without gaps",
            b->name);
    tnk_item *all[256];
    uint32_t n = tnk_sch_blocks(s, all, 256);
    for (uint32_t i = 0; i < n && i < 256; i++)
        if (touches(all[i]->block, buffer) &&
            (all[i]->block->match_buffers.n || tnk_block_is_nest(all[i]->block)))
            return tnk_sch_fail(s, all[i], me, "it holds blocks or matches parts of buffers");
    if (n > 256)
        return tnk_sch_fail(s, block, me, "the function has too many blocks");
    const char *ref = tnk_ref(s, block), *buffer_ref = tnk_ref_buffer(s, block, buffer);
    tn_buffer fields = *b;
    fields.data = NULL;
    fields.strides = (tn_list){0};
    fields.shape = tn_list_of(ctx, extents, m->result.n);
    fields.separators = (tn_list){0};
    const tn_node *to = tn_buffer_of(ctx, &fields);
    for (uint32_t i = 0; i < s->allocs.n; i++)
        if (s->allocs.at[i] == buffer)
            s->allocs.at[i] = to;
    for (uint32_t i = 0; i < n; i++) {
        relayout w = {buffer, to, m, tn_arith_new(ctx)};
        for (uint32_t k = 0; k < s->sizes.n; k++)
            tn_arith_shape_var(w.arith, s->sizes.at[k]);
        for (uint32_t k = 0; k < all[i]->block->iters.n; k++) {
            const tn_iter_var *iv = tn_as_iter_var(all[i]->block->iters.at[k]);
            tn_arith_range(w.arith, iv->var, tn_as_range(iv->dom)->min,
                           tn_as_range(iv->dom)->extent);
        }
        tn_rewriter r = {.ctx = ctx, .user = &w, .post = replace};
        tn_block mine = *all[i]->block;
        mine.body = tn_rewrite(&r, mine.body);
        mine.init = mine.init ? tn_rewrite(&r, mine.init) : NULL;
        if (mine.body != all[i]->block->body || mine.init != all[i]->block->init)
            tnk_block_set(s, all[i], &mine);
    }
    tnk_sch_note(s, "transform_layout(%s, %s, %s)", ref, buffer_ref, map_text(s, m));
    return !s->broken;
}

tnk_item *
tnk_block_own_nest(tnk_sch *s, const tnk_item *block)
{
    tn_arith *a = tnk_sch_arith(s, block);
    const tn_block *b = block->block;
    uint32_t left = 0;
    tnk_item *top = NULL;
    for (tnk_item *p = block->parent; p->kind == TNK_ITEM_LOOP; p = p->parent) {
        uint32_t k = 0;
        while (k < b->iters.n && block->values[k] != p->var)
            k++;
        if (p->children.n != 1 || p->for_kind != TN_FOR_SERIAL || p->annotations || k == b->iters.n)
            return NULL;
        const tn_range *dom = tn_as_range(tn_as_iter_var(b->iters.at[k])->dom);
        if (!tn_is_int_const(p->min, 0) || !tn_is_int_const(dom->min, 0) ||
            !tn_prove_eq(a, p->extent, dom->extent))
            return NULL;
        left++;
        top = p;
    }
    for (uint32_t k = 0; k < b->iters.n; k++) {
        bool loop = false;
        for (const tnk_item *p = block->parent; p->kind == TNK_ITEM_LOOP; p = p->parent)
            loop |= block->values[k] == p->var;
        if (!loop &&
            !(tn_is_int_const(block->values[k], 0) &&
              tn_is_int_const(tn_as_range(tn_as_iter_var(b->iters.at[k])->dom)->extent, 1)))
            return NULL;
    }
    return left && tn_is_int_const(block->predicate, 1) ? top : NULL;
}

bool
tnk_transform_block_layout(tnk_sch *s, tnk_item *block, const tn_node *map)
{
    static const char me[] = "transform_block_layout";
    if (s->broken)
        return false;
    tn_ctx *ctx = s->ctx;
    const tn_block *b = block->block;
    const tn_index_map *m =
        checked_map(s, map, b->iters.n,
                    b->iters.n ? tn_dtype_of(tn_as_iter_var(b->iters.at[0])->var) : TNB_I64);
    if (!m)
        return tnk_sch_fail(s, block, me, "the map is not one of its %u iterators", b->iters.n);
    tnk_item *top = tnk_block_own_nest(s, block);
    if (!top)
        return tnk_sch_fail(s, block, me,
                            "it does not have a plain loop for each of its iterators");
    const tn_expr *outs[MAX_DIMS], *inverse[MAX_DIMS], *extents[MAX_DIMS], *domains[MAX_DIMS];
    tn_list iters = {0};
    bool plain;
    for (uint32_t k = 0; k < b->iters.n; k++)
        domains[k] = tn_as_range(tn_as_iter_var(b->iters.at[k])->dom)->extent;
    for (uint32_t i = 0; i < m->result.n; i++)
        outs[i] = tn_var_dtype(ctx, tn_strf(ctx, "v%u", i), tn_dtype_of(m->result.at[i]));
    if (!tnk_index_inverse(s, m->result.at, m->result.n, m->vars.at, domains, b->iters.n, outs,
                           inverse, &plain) ||
        !result_extents(s, m, domains, extents))
        return tnk_sch_fail(
            s, block, me, "the map does not take every iteration to one of its own, without gaps");
    for (uint32_t i = 0; i < m->result.n; i++) {
        int64_t kind = TN_ITER_SPATIAL;
        bool any = false;
        for (uint32_t k = 0; k < b->iters.n; k++) {
            int64_t of = tn_as_iter_var(b->iters.at[k])->iter_kind;
            if (!tn_uses(m->result.at[i], m->vars.at[k]) || tn_is_int_const(domains[k], 1))
                continue;
            if (any && kind != of)
                return tnk_sch_fail(s, block, me,
                                    "a result of the map mixes spatial and reducing iterators");
            kind = of;
            any = true;
        }
        for (uint32_t k = 0; k < b->iters.n && !any; k++)
            if (m->result.at[i] == m->vars.at[k])
                kind = tn_as_iter_var(b->iters.at[k])->iter_kind;
        tnb_dtype d = tn_dtype_of(outs[i]);
        iters =
            tn_list_append(ctx, iters,
                           tn_iter_var_of(ctx,
                                          tn_range_of(ctx, tn_int_imm_of(ctx, d, 0), extents[i]),
                                          outs[i], (tn_iter_kind)kind, NULL));
    }
    const char *ref = tnk_ref(s, block);
    const tn_expr **values = TNB_NEW_N(tn_arena(ctx), const tn_expr *, m->result.n + 1);
    tnk_item *parent = top->parent, *nest = NULL, *at = NULL;
    uint32_t place = tnk_item_index(top);
    for (uint32_t i = 0; i < m->result.n; i++) {
        tnk_item *l = tnk_item_new(s, TNK_ITEM_LOOP, NULL);
        l->loc = block->loc;
        l->var = tn_var_dtype(ctx, tn_strf(ctx, "ax%u", i), tn_dtype_of(outs[i]));
        l->min = tn_int_imm_of(ctx, tn_dtype_of(outs[i]), 0);
        l->extent = extents[i];
        values[i] = l->var;
        if (at)
            tnk_item_insert(s, at, 0, l);
        else
            nest = l;
        at = l;
    }
    tnb_ptrmap old;
    tnb_ptrmap_init(&old, tn_scratch(ctx));
    for (uint32_t k = 0; k < b->iters.n; k++)
        tnb_ptrmap_set(&old, tn_as_iter_var(b->iters.at[k])->var, inverse[k]);
    tn_block fields = *b;
    fields.iters = iters;
    fields.body = tn_subst(ctx, b->body, &old);
    fields.init = b->init ? tn_subst(ctx, b->init, &old) : NULL;
    block->values = values;
    parent->children.at[place] = nest;
    nest->parent = parent;
    tnk_item_insert(s, at, 0, block);
    tnk_block_set(s, block, &fields);
    tnk_sch_note(s, "transform_block_layout(%s, %s)", ref, map_text(s, m));
    return !s->broken;
}
