/* SPDX-License-Identifier: Apache-2.0 */
/* LowerFragments: memory of scope "fragment", which the threads of a warp hold together in their registers, becomes memory of each
 * thread.
 *
 *     C = T.alloc_buffer((16, 8), scope="fragment")          lambda i, j: (i % 8 * 4 + j % 8 // 2, i // 8 % 2, j % 2)
 *     for t in threadIdx.x(32):                              for t in threadIdx.x(32):
 *         for r, c in T.grid(2, 2):                      =>      for r, c in T.grid(2, 2):
 *             C[r * 8 + t // 4, t % 4 * 2 + c] = 0                   C_local[r, c] = 0
 *
 * The index map of a fragment (fragment_layout) gives for each element the thread of the warp, threadIdx.x, and the register that
 * hold it. Each access by a thread has to be one of an element of its own, which is proved; so what is computed of a fragment
 * element by element fuses with what made it. Matrix instructions take the address of a tile's first element, whose register is
 * the first of those that each thread has of the tile. Needs: no blocks.
 */
#include "lower.h"

static const char layout_key[] = "fragment_layout";

typedef struct fragment {
    const tn_index_map *map;
    const tn_node *local;
} fragment;

typedef struct fragments {
    tn_ctx *ctx;
    tnb_ptrmap by_buffer;  /* Buffer -> fragment */
    const tn_expr *thread; /* threadIdx.x at the statement at hand */
    tn_arith *arith;
} fragments;

static bool
is_fragment(const tn_node *buffer)
{
    const char *scope = tn_as_buffer(buffer)->scope;
    return scope && (!strcmp(scope, "fragment") || !strncmp(scope, "fragment.", 9));
}

static const tn_stmt *
refuse(tn_ctx *ctx, const tn_node *at, const char *why)
{
    tn_error(ctx, at->loc, TNB_INVALID, "the fragment '%s' %s", tn_as_buffer(at)->name, why);
    return tn_error_node(ctx);
}

/* One register for each value that the map's results behind the first can have. */
static const tn_stmt *
allocate(fragments *st, const tn_alloc_buffer *a)
{
    tn_ctx *ctx = st->ctx;
    const tn_buffer *b = tn_as_buffer(a->buffer);
    const tn_index_map *m = tn_as_index_map(tn_dict_get(a->annotations, layout_key));
    if (!m || m->vars.n != b->shape.n || m->result.n < 2)
        return refuse(ctx, a->buffer,
                      m ? "has an index map (fragment_layout) of another rank"
                        : "has no index map (fragment_layout) from elements to threads and "
                          "registers");
    tn_list shape = {0};
    tn_arith *arith = tn_arith_new(ctx);
    for (uint32_t i = 0; i < m->vars.n; i++)
        tn_arith_shape_var(arith, m->vars.at[i]);
    for (uint32_t i = 1; i < m->result.n; i++) {
        int64_t lo, hi;
        tn_bounds(arith, m->result.at[i], &lo, &hi);
        if (lo < 0 || hi > 1 << 16)
            return refuse(ctx, a->buffer, "has an index map that does not bound its registers");
        shape = tn_list_append(ctx, shape, tn_i64(ctx, hi + 1));
    }
    fragment *f = TNB_NEW(tn_scratch(ctx), fragment);
    f->map = m;
    f->local = tn_buffer_new(ctx, b->name, shape, b->dtype, "local");
    tnb_ptrmap_set(&st->by_buffer, a->buffer, f);
    return tn_alloc_buffer_of(ctx, f->local, tn_dict_set(ctx, a->annotations, layout_key, NULL));
}

/* The registers of an element; `own`: it has to be one of this thread. Empty after an error. */
static tn_list
registers(fragments *st, const fragment *f, const tn_node *at, tn_list idx, bool own)
{
    tn_ctx *ctx = st->ctx;
    tnb_ptrmap map;
    tnb_ptrmap_init(&map, tn_scratch(ctx));
    for (uint32_t i = 0; i < idx.n; i++)
        tnb_ptrmap_set(&map, f->map->vars.at[i],
                       tn_cast_to(ctx, tn_dtype_of(f->map->vars.at[i]), idx.at[i]));
    const tn_expr *thread = tn_simplify(st->arith, tn_subst(ctx, f->map->result.at[0], &map));
    if (own && (!st->thread || !tn_prove_eq(st->arith, thread,
                                            tn_cast_to(ctx, tn_dtype_of(thread), st->thread)))) {
        tn_error(ctx, at->loc, TNB_INVALID,
                 "'%s' is accessed by a thread that does not certainly hold the element: it is "
                 "threadIdx.x = %s that does",
                 tn_as_buffer(f->local)->name, tn_text(ctx, thread));
        tnb_diag_hint(tn_diags(ctx), "bind threadIdx.x so that each thread takes the elements that "
                                     "fragment_layout gives to it");
        return (tn_list){0};
    }
    tn_list out = {0};
    for (uint32_t i = 1; i < f->map->result.n; i++)
        out = tn_list_append(ctx, out,
                             tn_simplify(st->arith, tn_subst(ctx, f->map->result.at[i], &map)));
    return out;
}

/* ---- rewriting ---- */

static const tn_node *
in_expr(tn_rewriter *r, const tn_node *n)
{
    fragments *st = r->user;
    bool address = tn_is_intrin(n, TN_INTRIN_address_of);
    const tn_buffer_load *l = tn_as_buffer_load(address ? tn_as_call(n)->args.at[0] : n);
    const fragment *f = l ? tnb_ptrmap_get(&st->by_buffer, l->buffer) : NULL;
    if (!f)
        return NULL;
    tn_list idx = registers(st, f, TN_NODE(l), l->indices, !address);
    if (!idx.n)
        return tn_error_node(st->ctx);
    const tn_expr *load = tn_buffer_load_of(st->ctx, f->local, idx);
    return address ? tn_intrin(st->ctx, TN_INTRIN_address_of, tn_list_of(st->ctx, &load, 1)) : load;
}

static const tn_expr *
expr(tnk_ranged *r, const tn_expr *e)
{
    tn_rewriter rw = {.ctx = r->ctx, .user = r->user, .pre = in_expr};
    return tn_rewrite(&rw, e);
}

static const tn_stmt *
pre(tnk_ranged *r, const tn_stmt *s)
{
    fragments *st = r->user;
    const tn_for_loop *f = tn_as_for_loop(s);
    if (s->kind == TN_KIND_ALLOC_BUFFER && is_fragment(tn_as_alloc_buffer(s)->buffer))
        return allocate(st, tn_as_alloc_buffer(s));
    if (!f || f->for_kind != TN_FOR_THREAD_BINDING || strcmp(f->thread_tag, "threadIdx.x"))
        return NULL;
    const tn_expr *was = st->thread;
    st->thread = f->var;
    uint32_t mark = tn_arith_push(r->arith, NULL);
    tn_arith_range(r->arith, f->var, f->min, f->extent);
    const tn_stmt *body = tnk_ranged_rewrite(r, f->body);
    tn_arith_pop(r->arith, mark);
    st->thread = was;
    return tnk_for_with(r->ctx, f, f->min, f->extent, body);
}

static const tn_stmt *
post(tnk_ranged *r, const tn_stmt *s)
{
    fragments *st = r->user;
    const tn_buffer_store *b = tn_as_buffer_store(s);
    const fragment *f = b ? tnb_ptrmap_get(&st->by_buffer, b->buffer) : NULL;
    if (!f)
        return NULL;
    tn_list idx = registers(st, f, s, b->indices, true);
    return idx.n ? tn_buffer_store_of(r->ctx, f->local, b->value, idx) : tn_error_node(r->ctx);
}

static tn_walk_step
find(void *user, const tn_node *n)
{
    (void)user;
    if (n->kind == TN_KIND_ALLOC_BUFFER && is_fragment(tn_as_alloc_buffer(n)->buffer))
        return TN_WALK_STOP;
    return tn_is_scalar(n) ? TN_WALK_SKIP : TN_WALK_ON;
}

static const tn_stmt *
run_body(tn_ctx *ctx, const tn_pass_ctx *pc, const tn_prim_func *f)
{
    (void)pc;
    if (tn_walk(f->body, 0, find, NULL, NULL))
        return f->body;
    fragments st = {.ctx = ctx};
    tnk_ranged r = {.expr = expr, .pre = pre, .post = post, .user = &st};
    tnb_ptrmap_init(&st.by_buffer, tn_scratch(ctx));
    tnk_ranged_init(&r, ctx, f);
    st.arith = r.arith;
    return tnk_ranged_rewrite(&r, f->body);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tnk_map_bodies(pc, m, run_body);
}

const tn_pass tnk_pass_lower_fragments = {
    .base.size = sizeof(tn_pass),
    .base.name = "LowerFragments",
    .base.doc =
        "Gives each thread of a warp its registers of the fragments that the warp holds together.",
    .keeps = TN_KEEPS_BITS,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
