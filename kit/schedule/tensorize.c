/* SPDX-License-Identifier: Apache-2.0 */
/* tensorize: a block whose body is what a tensor intrinsic means gets the intrinsic's implementation.
 *
 *     with T.sblock("C_o"):                                    with T.sblock("C_o"):
 *         for i < 4: with T.sblock("C"):              =>           c = T.match_buffer(C[v * 4:v * 4 + 4], (4,))
 *             C[v * 4 + i] = C[v * 4 + i] * 2                      c[T.ramp(0, 1, 4)] = c[T.ramp(0, 1, 4)] * 2
 */
#include "schedule_private.h"

#include "tenon/core/text.h"
#include "tenon/kit/tensor_intrin.h"

static const char me[] = "tensorize";

/* ---- finding an intrinsic ---- */

bool
tnk_tensor_intrin_get(tn_ctx *ctx, const tnk_tensor_intrin *intrin, const tn_node **desc,
                      const tn_node **impl)
{
    *desc = *impl = NULL;
    if (!intrin->text)
        return intrin->make && TN_WITHIN(ctx, "tensor intrinsic", intrin, "make",
                                         intrin->make(ctx, desc, impl, intrin->self));
    const char *file = tn_strf(ctx, "<intrinsic %s>", intrin->base.name);
    const tn_module *m = tn_read_module(ctx, file, intrin->text, strlen(intrin->text));
    if (!m)
        return false;
    *desc = tn_module_get(m, "desc");
    *impl = tn_module_get(m, "impl");
    if (*desc && *impl)
        return true;
    tn_error(ctx, 0, TNB_INVALID, "the text of the tensor intrinsic '%s' has no '%s'",
             intrin->base.name, *desc ? "impl" : "desc");
    return false;
}

bool
tnk_sch_intrinsics(tnk_sch *s, const tn_module *m)
{
    uint32_t found = 0;
    if (s->broken)
        return false;
    for (uint32_t i = 0; i < m->names.n; i++) {
        const char *name = tn_module_name(m, i);
        size_t n = strlen(name);
        if (n <= 5 || strcmp(name + n - 5, "_desc"))
            continue;
        const char *plain = tn_strn(s->ctx, name, n - 5);
        if (!tn_module_get(m, tn_strf(s->ctx, "%s_impl", plain))) {
            tn_error(s->ctx, tn_module_get(m, name)->loc, TNB_INVALID,
                     "there is '%s', but no '%s_impl': a tensor intrinsic has both", name, plain);
            s->broken = true;
            return false;
        }
        found++;
    }
    if (!found) {
        tn_error(s->ctx, 0, TNB_INVALID,
                 "the module has no tensor intrinsics: pairs of functions NAME_desc and NAME_impl");
        s->broken = true;
        return false;
    }
    TNB_PUSH(tn_arena(s->ctx), s->intrinsics, m);
    return true;
}

static bool
find_intrinsic(tnk_sch *s, const tnk_item *block, const char *name, const tn_node **desc,
               const tn_node **impl)
{
    tnb_err err = {0};
    for (uint32_t i = s->intrinsics.n; i-- > 0;) {
        *desc = tn_module_get(s->intrinsics.at[i], tn_strf(s->ctx, "%s_desc", name));
        *impl = tn_module_get(s->intrinsics.at[i], tn_strf(s->ctx, "%s_impl", name));
        if (*desc && *impl)
            return true;
    }
    tn_registry *reg = tn_ctx_registry(s->ctx);
    const tnk_tensor_intrin *t = reg ? tn_find_entry(reg, "tensor_intrin", name, &err) : NULL;
    if (!t && err.status == TNB_INVALID) { /* two plugins have it: nothing to do without */
        s->broken = true;
        tn_error(s->ctx, 0, err.status, "%s", err.message);
        tnb_diag_hint(tn_diags(s->ctx), "%s", err.hint);
        return false;
    }
    if (!t) {
        const char *near = reg ? tn_nearest_name(reg, "tensor_intrin", name) : NULL;
        bool first = !s->broken && !s->quiet;
        tnk_sch_fail(s, block, me, "there is no tensor intrinsic '%s'%s%s%s", name,
                     near ? " (nearest: '" : "", near ? near : "", near ? "')" : "");
        if (first)
            (void)tn_note_unusable(s->ctx, "tensor_intrin", name);
        return false;
    }
    if (tnk_tensor_intrin_get(s->ctx, t, desc, impl))
        return true;
    s->broken = true; /* the error is recorded */
    return false;
}

/* ---- is it one ---- */

typedef struct intrinsic {
    tnk_sch *s;
    const tnk_item *block;
    const char *name;
    const tn_prim_func *desc, *impl;
    tnk_match match;
} intrinsic;

static bool
faulty(const intrinsic *in, const char *why)
{
    return tnk_sch_fail(in->s, in->block, me, "the intrinsic '%s' is not well formed: %s", in->name,
                        why);
}

/* Whether an access of the meaning runs over dimension d of its buffer from end to end. */
static bool
runs_through(const intrinsic *in, const tn_node *buffer, tn_list idx, uint32_t d)
{
    const tnk_nest_form *f = &in->match.meant;
    const tn_expr *coeffs[TNK_FORM_LOOPS], *rest;
    int64_t lo, hi, c, extent;
    if (!tn_linear(in->match.arith, idx.at[d], f->vars, f->n, coeffs, &rest) ||
        !tn_int_value(tn_simplify(in->match.arith, rest), &lo) ||
        !tn_int_value(tn_as_buffer(buffer)->shape.at[d], &extent))
        return false;
    hi = lo;
    for (uint32_t j = 0; j < f->n; j++) {
        if (!tn_int_value(tn_simplify(in->match.arith, coeffs[j]), &c))
            return false;
        *(c < 0 ? &lo : &hi) += c * (f->extents[j] - 1);
    }
    return lo == 0 && hi == extent - 1;
}

typedef struct coverage {
    const intrinsic *in;
    const tn_node *buffer;
    bool touched, partly;
} coverage;

static tn_walk_step
find_access(void *user, const tn_node *n)
{
    coverage *c = user;
    const tn_buffer_load *l = tn_as_buffer_load(n);
    const tn_buffer_store *st = tn_as_buffer_store(n);
    if (!(l && l->buffer == c->buffer) && !(st && st->buffer == c->buffer))
        return TN_WALK_ON;
    tn_list idx = l ? l->indices : st->indices;
    c->touched = true;
    for (uint32_t d = 0; d < idx.n; d++)
        c->partly |= !runs_through(c->in, c->buffer, idx, d);
    return TN_WALK_ON;
}

static bool
same_parameters(const intrinsic *in)
{
    const tn_prim_func *d = in->desc, *i = in->impl;
    tn_ctx *ctx = in->s->ctx;
    if (d->params.n != i->params.n)
        return false;
    for (uint32_t k = 0; k < d->params.n; k++) {
        const tn_buffer *x = tn_as_buffer(d->buffers.at[k]), *y = tn_as_buffer(i->buffers.at[k]);
        if (!x != !y)
            return false;
        if (!x && !tnb_dtype_eq(tn_dtype_of(d->params.at[k]), tn_dtype_of(i->params.at[k])))
            return false;
        if (!x)
            continue;
        const char *sx = x->scope && *x->scope ? x->scope : "global",
                   *sy = y->scope && *y->scope ? y->scope : "global";
        if (!tnb_dtype_eq(x->dtype, y->dtype) || x->shape.n != y->shape.n || strcmp(sx, sy))
            return false;
        for (uint32_t e = 0; e < x->shape.n; e++) {
            int64_t v;
            if (!tn_int_value(x->shape.at[e], &v) ||
                !tn_equal(ctx, tn_cast_to(ctx, TNB_I64, x->shape.at[e]),
                          tn_cast_to(ctx, TNB_I64, y->shape.at[e]), false, NULL))
                return false;
        }
    }
    return true;
}

static bool
check_intrinsic(intrinsic *in, const tn_node *desc, const tn_node *impl)
{
    in->desc = tn_as_prim_func(desc);
    in->impl = tn_as_prim_func(impl);
    if (!in->desc || !in->impl)
        return faulty(in, "its meaning or its implementation is no tensor program");
    if (!same_parameters(in))
        return faulty(in, "meaning and implementation differ in their parameters, or a buffer's "
                          "shape is not constant");
    const char *why = tnk_nest_form_of(in->s->ctx, in->desc->body, &in->match.meant);
    if (why)
        return faulty(in, tn_strf(in->s->ctx, "in its meaning, %s", why));
    for (uint32_t k = 0; k < in->desc->params.n; k++) {
        coverage c = {.in = in, .buffer = in->desc->buffers.at[k]};
        if (!c.buffer)
            continue;
        tn_walk(TN_NODE(in->match.meant.store), 0, find_access, NULL, &c);
        if (!c.touched || c.partly)
            return faulty(in, tn_strf(in->s->ctx, "its meaning does not run through all of '%s'",
                                      tn_as_buffer(c.buffer)->name));
    }
    return true;
}

/* ---- which parts of which buffers ---- */

static const tnk_part *
part_of(const intrinsic *in, uint32_t param)
{
    for (uint32_t i = 0; i < in->match.n; i++)
        if (in->match.parts[i].of == in->desc->buffers.at[param])
            return &in->match.parts[i];
    return NULL;
}

static const tn_expr *
stride_of(tn_ctx *ctx, const tn_buffer *b, uint32_t dim)
{
    if (b->strides.n)
        return b->strides.at[dim];
    const tn_expr *s = tn_i64(ctx, 1);
    for (uint32_t i = dim + 1; i < b->shape.n; i++)
        s = tn_mul(ctx, s, tn_cast_to(ctx, TNB_I64, b->shape.at[i]));
    return s;
}

typedef struct pointer_search {
    const tn_buffer *buffer;
    bool found;
} pointer_search;

static tn_walk_step
find_pointer(void *user, const tn_node *n)
{
    pointer_search *p = user;
    if (n == p->buffer->data)
        p->found = true;
    if (tn_is_intrin(n, TN_INTRIN_address_of)) {
        const tn_buffer_load *l = tn_as_buffer_load(tn_as_call(n)->args.at[0]);
        p->found |= l && tn_as_buffer(l->buffer) == p->buffer;
    }
    return p->found ? TN_WALK_STOP : TN_WALK_ON;
}

/* The implementation's strides and alignment hold for the part that it gets. */
static bool
check_layout(intrinsic *in, const tnk_part *p, const tn_buffer *to)
{
    tnk_sch *s = in->s;
    tn_ctx *ctx = s->ctx;
    const tn_buffer *from = tn_as_buffer(p->is);
    pointer_search ptr = {.buffer = to};
    tn_walk(in->impl->body, 0, find_pointer, NULL, &ptr);
    for (uint32_t k = 0; k < to->shape.n; k++) {
        const tn_expr *wanted = to->strides.n ? to->strides.at[k] : NULL;
        if (!wanted && ptr.found && !tn_is_int_const(to->shape.at[k], 1))
            wanted = stride_of(ctx, to, k);
        int64_t v;
        if (!wanted || !tn_int_value(wanted, &v))
            continue;
        const tn_expr *is = tn_simplify(in->match.arith, stride_of(ctx, from, p->lead + k));
        if (!tn_prove_eq(in->match.arith, is, tn_int_imm_of(ctx, tn_dtype_of(is), v)))
            return tnk_sch_fail(s, in->block, me,
                                "dimension %u of '%s' has the stride %s, '%s' wants %lld for its "
                                "'%s'%s",
                                p->lead + k, from->name, tn_text(ctx, is), in->name, (long long)v,
                                to->name,
                                to->strides.n ? "" : ", whose address it takes without strides");
    }
    if (to->offset_factor <= 1)
        return true;
    const tn_expr *off = from->elem_offset ? from->elem_offset : tn_i64(ctx, 0);
    for (uint32_t k = 0; k < from->shape.n; k++)
        off = tn_add(ctx, off,
                     tn_mul(ctx, tn_cast_to(ctx, TNB_I64, p->base[k]), stride_of(ctx, from, k)));
    const tn_expr *odd =
        tn_floormod(ctx, off, tn_int_imm_of(ctx, tn_dtype_of(off), to->offset_factor));
    if (!tn_prove_eq(in->match.arith, odd, tn_int_imm_of(ctx, tn_dtype_of(odd), 0)))
        return tnk_sch_fail(s, in->block, me,
                            "the part of '%s' does not begin at a multiple of %lld, as '%s' wants "
                            "it for its '%s'",
                            from->name, (long long)to->offset_factor, in->name, to->name);
    return true;
}

/* What the implementation writes is nothing else that it gets. */
static bool
check_aliases(intrinsic *in)
{
    for (uint32_t i = 0; i < in->match.n; i++)
        for (uint32_t k = 0; k < i; k++) {
            const tn_node *b = in->match.parts[i].is;
            if (b == in->match.parts[k].is && tnk_block_writes(in->block->block, b))
                return tnk_sch_fail(in->s, in->block, me,
                                    "'%s' is both operand and result, '%s' has a parameter for "
                                    "each",
                                    tn_as_buffer(b)->name, in->name);
        }
    return true;
}

/* ---- putting it there ---- */

static tn_block
implementation(const intrinsic *in)
{
    tn_ctx *ctx = in->s->ctx;
    tn_block out = *in->block->block;
    const tn_prim_func *f = tn_as_prim_func(tn_fresh_copy(ctx, TN_NODE(in->impl), NULL));
    tnb_ptrmap scalars;
    tnb_ptrmap_init(&scalars, tn_scratch(ctx));
    out.match_buffers = out.allocs = (tn_list){0};
    for (uint32_t k = 0; k < f->params.n; k++) {
        if (!f->buffers.at[k]) {
            for (uint32_t i = 0; i < in->match.n_scalars; i++)
                if (in->match.scalars[i].of == in->desc->params.at[k])
                    tnb_ptrmap_set(&scalars, f->params.at[k], in->match.scalars[i].is);
            continue;
        }
        const tnk_part *p = part_of(in, k);
        tn_list shape = tn_as_buffer(f->buffers.at[k])->shape, ranges = {0};
        for (uint32_t d = 0; d < p->lead + shape.n; d++) {
            tnb_dtype t = tn_dtype_of(p->base[d]);
            int64_t extent = 1;
            if (d >= p->lead)
                (void)tn_int_value(shape.at[d - p->lead], &extent);
            ranges = tn_list_append(ctx, ranges,
                                    tn_range_of(ctx, p->base[d], tn_int_imm_of(ctx, t, extent)));
        }
        out.match_buffers =
            tn_list_append(ctx, out.match_buffers,
                           tn_match_buffer_of(ctx, f->buffers.at[k],
                                              tn_buffer_region_of(ctx, p->is, ranges)));
    }
    out.body = f->body;
    const tn_block_realize *br = tn_as_block_realize(f->body);
    const tn_block *root = br ? tn_as_block(br->block) : NULL;
    if (root && root->iters.n == 0 && !root->init && !root->match_buffers.n &&
        tn_is_int_const(br->predicate, 1)) {
        out.allocs = root->allocs;
        out.body = root->body;
    }
    out.body = tn_subst(ctx, out.body, &scalars);
    out.annotations = tn_dict_set(ctx, out.annotations, TNK_INTRIN_KEY, tn_string(ctx, in->name));
    return out;
}

bool
tnk_tensorize(tnk_sch *s, tnk_item *block, const char *name)
{
    if (s->broken)
        return false;
    if (block->kind == TNK_ITEM_LOOP)
        block = tnk_blockize(s, block);
    if (!block)
        return false;
    tn_ctx *ctx = s->ctx;
    intrinsic in = {.s = s, .block = block, .name = name};
    const tn_node *desc, *impl;
    in.match.ctx = ctx;
    in.match.arith = tnk_sch_arith(s, block);
    for (uint32_t k = 0; k < block->block->iters.n; k++) {
        const tn_iter_var *iv = tn_as_iter_var(block->block->iters.at[k]);
        tn_arith_range(in.match.arith, iv->var, tn_as_range(iv->dom)->min,
                       tn_as_range(iv->dom)->extent);
    }
    if (!find_intrinsic(s, block, name, &desc, &impl) || !check_intrinsic(&in, desc, impl))
        return false;
    const char *why = block->block->match_buffers.n ? "it matches parts of buffers already"
                      : block->block->allocs.n
                          ? "it has buffers of its own"
                          : tnk_nest_form_of(ctx, block->block->body, &in.match.mine);
    if (why)
        return tnk_sch_fail(s, block, me, "%s", why);
    why = tnk_match_nests(&in.match);
    if (why)
        return tnk_sch_fail(s, block, me, "it is not what '%s' means: %s", name, why);
    for (uint32_t k = 0; k < in.desc->params.n; k++)
        if (in.desc->buffers.at[k] &&
            !check_layout(&in, part_of(&in, k), tn_as_buffer(in.impl->buffers.at[k])))
            return false;
    if (!check_aliases(&in))
        return false;
    tn_block fields = implementation(&in);
    tnk_sch_note(s, "tensorize(%s, %s)", tnk_ref(s, block), tnk_ref_value(s, tn_string(ctx, name)));
    tnk_block_set(s, block, &fields);
    return !s->broken;
}
