/* SPDX-License-Identifier: Apache-2.0 */
/* Recognizing programs that make weights of codes, and those that read such weights; see dequantize.h. */
#include "dequantize.h"

#include "tenon/core/walk.h"

typedef struct look {
    const tn_prim_func *f;
    const tn_node *wanted, *places; /* buffers that are asked for */
    uint32_t sums, products, codes, scales, lookups, stores;
    bool in_index;
    bool sums_only;       /* what is loaded is not asked for */
    uint32_t most_stores; /* with more of them the answer is known; 0: never */
} look;

static bool
is_param(const tn_prim_func *f, const tn_node *buffer)
{
    for (uint32_t i = 0; i < f->buffers.n; i++)
        if (f->buffers.at[i] == buffer)
            return true;
    return false;
}

static bool
is_code(tnb_dtype d)
{
    return d.bits > 1 && (!tnb_dtype_is_float(d) || d.bits <= 8);
}

/* Which values are read, and whether for a place in another buffer. */
static tn_walk_step
look_at_load(void *user, const tn_node *n)
{
    look *l = user;
    const tn_buffer_load *load = tn_as_buffer_load(n);
    if (!load)
        return TN_WALK_ON;
    tnb_dtype d = tn_as_buffer(load->buffer)->dtype;
    bool param = is_param(l->f, load->buffer), outer = l->in_index;
    l->codes += param && !outer && is_code(d);
    l->scales += param && !outer && !is_code(d);
    for (uint32_t i = 0; i < load->indices.n; i++) {
        l->in_index = true;
        tn_walk(load->indices.at[i], 0, look_at_load, NULL, l);
        l->lookups += load->buffer == l->wanted && tn_uses(load->indices.at[i], l->places);
    }
    l->in_index = outer;
    return TN_WALK_SKIP;
}

static const tn_expr *
without_casts(const tn_expr *e)
{
    while (tn_is(e, TN_KIND_CAST))
        e = tn_as_cast(e)->value;
    return e;
}

static bool
loads(const tn_expr *e, const tn_node *buffer)
{
    const tn_buffer_load *load = tn_as_buffer_load(without_casts(e));
    return load && load->buffer == buffer;
}

/* s = s + a * b, one of the two from the wanted buffer. */
static bool
sums_product(const look *l, const tn_buffer_store *s)
{
    const tn_binary *sum = tn_is(s->value, TN_KIND_ADD) ? tn_as_binary(s->value) : NULL;
    const tn_expr *term = sum ? without_casts(sum->b) : NULL;
    const tn_binary *p = tn_is(term, TN_KIND_MUL) ? tn_as_binary(term) : NULL;
    return p && loads(sum->a, s->buffer) && tn_is(without_casts(p->a), TN_KIND_BUFFER_LOAD) &&
           tn_is(without_casts(p->b), TN_KIND_BUFFER_LOAD) &&
           loads(p->a, l->wanted) != loads(p->b, l->wanted);
}

static tn_walk_step
look_at_block(void *user, const tn_node *n)
{
    look *l = user;
    const tn_block *b = tn_as_block(n);
    const tn_buffer_store *s = b ? tn_as_buffer_store(b->body) : NULL;
    bool reduces = false;
    for (uint32_t i = 0; b && i < b->iters.n; i++)
        reduces |= tn_as_iter_var(b->iters.at[i])->iter_kind == TN_ITER_REDUCE;
    l->sums += reduces;
    l->products += reduces && s && sums_product(l, s);
    s = tn_as_buffer_store(n);
    l->stores += s != NULL;
    if (s && !l->sums_only)
        tn_walk(s->value, 0, look_at_load, NULL, l);
    return l->most_stores && l->stores > l->most_stores ? TN_WALK_STOP
           : s                                          ? TN_WALK_SKIP
                                                        : TN_WALK_ON;
}

/* What the program's blocks do; `wanted` and `places`: parameters, or out of range. */
static look
look_through(const tn_prim_func *f, uint32_t wanted, uint32_t places, look l)
{
    l.f = f;
    l.wanted = wanted < f->buffers.n ? f->buffers.at[wanted] : NULL;
    l.places = places < f->buffers.n ? f->buffers.at[places] : NULL;
    tn_walk(f->body, 0, look_at_block, NULL, &l);
    return l;
}

bool
llm_makes_weights(const tn_prim_func *f)
{
    const tn_buffer *out = f->buffers.n ? tn_as_buffer(f->buffers.at[f->buffers.n - 1]) : NULL;
    if (!out || !tnb_dtype_is_float(out->dtype) || out->dtype.bits < 16)
        return false;
    look l = look_through(f, UINT32_MAX, UINT32_MAX, (look){0});
    return !l.sums && l.codes && l.scales && l.stores;
}

bool
llm_is_product_with(const tn_prim_func *f, uint32_t at)
{
    look l = look_through(f, at, UINT32_MAX, (look){.sums_only = true});
    return l.wanted && l.sums == 1 && l.products == 1;
}

bool
llm_is_lookup(const tn_prim_func *f)
{
    look l = look_through(f, 0, 1, (look){.most_stores = 1});
    return l.wanted && l.places && !l.sums && l.lookups && l.stores == 1;
}

const tn_prim_func *
llm_matched_program(const tnk_match *m, const char *name)
{
    return tnk_match_program(m, tnk_match_value(m, name));
}

const tn_module *
llm_run_list(const tn_pass_ctx *pc, const tn_module *m, const char *list, const char *by)
{
    tn_pass_list l = {0};
    if (!tn_pass_list_parse(pc->ctx, list, by, &l))
        return NULL;
    tn_pass_run r = {.target = pc->target, .config = pc->config, .opt_level = pc->opt_level};
    return tn_run_passes(pc->ctx, m, &l, &r);
}

const tn_module *
llm_fuse_matches(const tn_pass_ctx *pc, const tn_module *m, const tnk_fusion_pattern *pattern,
                 const char *by, const tn_node *(*finish)(tn_ctx *ctx, const tn_node *func))
{
    tn_ctx *ctx = pc->ctx;
    const char *list =
        tn_strf(ctx, "FuseOpsByPattern{patterns=[\"%s\"]}, FuseTIR", pattern->base.name);
    const tn_module *out = llm_run_list(pc, m, list, by);
    if (!out || out == m)
        return out;
    tn_module_edit *edit = tn_module_edit_new(ctx, out);
    for (uint32_t i = 0; i < out->names.n; i++) {
        const char *name = tn_module_name(out, i);
        const tn_node *f = out->funcs.at[i];
        if (!tn_is(f, TN_KIND_PRIM_FUNC) || tn_module_get(m, name))
            continue;
        f = tn_func_with_attr(ctx, f, "Composite", NULL);
        if (finish)
            f = finish(ctx, f);
        if (!f || tn_is_error(f))
            return NULL;
        tn_module_edit_set(edit, name, f);
    }
    return tn_module_edit_end(edit);
}
