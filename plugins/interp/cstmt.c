/* SPDX-License-Identifier: Apache-2.0 */
/* Statements to the internal form: loops, blocks, buffers, thread groups; and whole functions. */
#include "compile.h"

#include <stdarg.h>
#include <stdio.h>

/* ---- the code under construction ---- */

void
compile_fail(compiler *c, const tn_node *at, const char *fmt, ...)
{
    va_list ap;
    tnb_buf text = {0};
    if (c->failed)
        return;
    c->failed = true;
    char line[512];
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    tnb_buf_printf(&text, "%s: %s", c->name, line);
    tn_error(c->ctx, at && at->loc ? at->loc : c->loc, TNB_UNSUPPORTED, "%s",
             text.s ? text.s : line);
    tnb_buf_free(&text);
}

uint32_t
compile_emit(compiler *c, interp_op op, int32_t a, int32_t b, int32_t d0, int32_t d1)
{
    interp_ins in = {.op = (int32_t)op, .a = a, .b = b, .c = d0, .d = d1};
    TNB_PUSH(c->arena, c->ins, in);
    TNB_PUSH(c->arena, c->locs, c->loc);
    return c->ins.n - 1;
}

int32_t
compile_temp(compiler *c, int32_t n)
{
    int32_t r = c->top;
    c->top += n;
    if (c->top > c->max)
        c->max = c->top;
    return r;
}

int32_t
compile_const(compiler *c, interp_reg v)
{
    for (uint32_t i = c->consts.n > 256 ? c->consts.n - 256 : 0; i < c->consts.n; i++)
        if (c->consts.at[i].u == v.u)
            return -1 - (int32_t)i;
    TNB_PUSH(c->arena, c->consts, v);
    return -(int32_t)c->consts.n;
}

int32_t
compile_const_int(compiler *c, int64_t v)
{
    return compile_const(c, (interp_reg){.i = v});
}

void
compile_set_reg(compiler *c, const tn_node *var, int32_t reg)
{
    tnb_ptrmap_set(&c->regs, var, tnb_dup(c->arena, &reg, sizeof reg));
}

bool
compile_get_reg(const compiler *c, const tn_node *var, int32_t *reg)
{
    const int32_t *r = tnb_ptrmap_get(&c->regs, var);
    if (r)
        *reg = *r;
    return r != NULL;
}

static void
land_here(compiler *c, uint32_t jump)
{
    c->ins.at[jump].x.imm = c->ins.n;
}

/* A COUNT whose number is filled in by close_count; gives what close_count wants back. */
typedef struct counter {
    uint32_t at, saved;
} counter;

static counter
open_count(compiler *c)
{
    counter k = {compile_emit(c, INTERP_COUNT, 0, 0, 0, 0), c->ops};
    c->ops = 1;
    return k;
}

static void
close_count(compiler *c, counter k)
{
    c->ins.at[k.at].x.imm = c->ops;
    c->ops = k.saved;
}

/* ---- buffers ---- */

static bool
is_private_scope(const char *scope)
{
    return scope && *scope && strncmp(scope, "global", 6) != 0 &&
           strncmp(scope, "shared", 6) != 0 && strcmp(scope, "warp") != 0;
}

int32_t
compile_add_buffer(compiler *c, const tn_node *buffer)
{
    const tn_buffer *b = tn_as_buffer(buffer);
    if (!b || b->shape.n > INTERP_DIMS) {
        compile_fail(c, buffer, "a buffer has more than %d dimensions", INTERP_DIMS);
        return -1;
    }
    tnb_dtype elem = {b->dtype.code, b->dtype.bits, 1};
    interp_bufinfo info = {.node = b,
                           .elem = elem,
                           .lanes = b->dtype.lanes ? b->dtype.lanes : 1,
                           .bytes = (uint32_t)tnb_dtype_bytes(elem),
                           .has_strides = b->strides.n != 0 && b->strides.n == b->shape.n,
                           .is_shared = !is_private_scope(b->scope),
                           .ndim = (int32_t)b->shape.n};
    TNB_PUSH(c->arena, c->bufs, info);
    int32_t n = (int32_t)c->bufs.n - 1;
    tnb_ptrmap_set(&c->index, buffer, tnb_dup(c->arena, &n, sizeof n));
    return n;
}

static void
bind_buffer(compiler *c, const tn_node *buffer);

int32_t
compile_buffer(compiler *c, const tn_node *buffer)
{
    const int32_t *n = tnb_ptrmap_get(&c->index, buffer);
    int32_t unused;
    if (n)
        return *n;
    /* used without a declaration, over memory that is known */
    if (compile_get_reg(c, tn_as_buffer(buffer)->data, &unused)) {
        n = tnb_ptrmap_get(&c->undeclared, buffer);
        if (n)
            tnb_ptrmap_set(&c->index, buffer, n);
        bind_buffer(c, buffer);
        n = tnb_ptrmap_get(&c->index, buffer);
        if (n) {
            tnb_ptrmap_remove(&c->index, buffer);
            tnb_ptrmap_set(&c->undeclared, buffer, n);
            return *n;
        }
    }
    compile_fail(c, buffer, "buffer '%s' is used before it is declared",
                 tn_as_buffer(buffer)->name);
    return -1;
}

/* Extents and strides in a row of registers. */
static int32_t
extent_regs(compiler *c, const tn_buffer *b)
{
    uint32_t n = b->shape.n;
    bool strided = b->strides.n == n && n;
    int32_t r = compile_temp(c, (int32_t)(strided ? 2 * n : n));
    for (uint32_t i = 0; i < n; i++) {
        compile_emit(c, INTERP_MOV, r + (int32_t)i, compile_scalar(c, b->shape.at[i]), 0, 0);
        if (strided)
            compile_emit(c, INTERP_MOV, r + (int32_t)(n + i), compile_scalar(c, b->strides.at[i]),
                         0, 0);
    }
    return r;
}

/* Makes the descriptor of a buffer whose data pointer is in a register. */
static void
bind_buffer(compiler *c, const tn_node *buffer)
{
    const tn_buffer *b = tn_as_buffer(buffer);
    int32_t handle, offset = INTERP_NO_REG, n;
    const int32_t *old = tnb_ptrmap_get(&c->index, buffer);
    if (!compile_get_reg(c, b->data, &handle)) {
        compile_fail(c, buffer, "the data pointer of buffer '%s' is not known here", b->name);
        return;
    }
    n = old ? *old : compile_add_buffer(c, buffer);
    if (n < 0)
        return;
    int32_t ext = extent_regs(c, b);
    if (b->elem_offset)
        offset = compile_scalar(c, b->elem_offset);
    compile_emit(c, INTERP_BUFFER, n, handle, ext, offset);
}

static void
alloc_buffer(compiler *c, const tn_node *buffer)
{
    const tn_buffer *b = tn_as_buffer(buffer);
    const int32_t *old = tnb_ptrmap_get(&c->index, buffer);
    int32_t n = old ? *old : compile_add_buffer(c, buffer), handle = compile_temp(c, 1);
    if (n < 0)
        return;
    int32_t ext = extent_regs(c, b);
    compile_emit(c, INTERP_ALLOC, n, handle, c->slots++, ext);
    compile_set_reg(c, b->data, handle);
    int32_t unused;
    if (b->elem_offset && tn_is_var(b->elem_offset) && !compile_get_reg(c, b->elem_offset, &unused))
        compile_set_reg(c, b->elem_offset, compile_const_int(c, 0));
    int32_t offset = b->elem_offset ? compile_scalar(c, b->elem_offset) : INTERP_NO_REG;
    compile_emit(c, INTERP_BUFFER, n, handle, ext, offset);
}

/* A buffer that stands for a region of another: same memory, the other's strides, offset by the
 * region's start. */
static void
match_buffer(compiler *c, const tn_match_buffer *m)
{
    const tn_buffer_region *region = tn_as_buffer_region(m->source);
    const tn_buffer *src = tn_as_buffer(region->buffer), *dst = tn_as_buffer(m->buffer);
    int32_t from = compile_buffer(c, region->buffer), handle = compile_temp(c, 1), unused;
    if (from < 0 || dst->shape.n > region->ranges.n) {
        compile_fail(c, TN_NODE(m), "buffer '%s' does not match its region", dst->name);
        return;
    }
    uint32_t skip = region->ranges.n - dst->shape.n; /* leading dimensions of extent 1 */
    int32_t lin = compile_temp(c, 1);
    compile_emit(c, INTERP_MOV, lin, compile_const_int(c, 0), 0, 0);
    for (uint32_t i = 0; i < region->ranges.n; i++) {
        const tn_range *r = tn_as_range(region->ranges.at[i]);
        int32_t at = compile_scalar(c, r->min);
        compile_emit(c, i ? INTERP_LIN : INTERP_LIN0, lin, from, at, (int32_t)i);
        const tn_node *e = i >= skip ? dst->shape.at[i - skip] : NULL;
        if (e && tn_is_var(e) && !compile_get_reg(c, e, &unused)) {
            int32_t x = compile_temp(c, 1);
            compile_emit(c, INTERP_MOV, x, compile_scalar(c, r->extent), 0, 0);
            compile_set_reg(c, e, x);
        }
    }
    compile_emit(c, INTERP_ADDR, handle, from, lin, 0);
    compile_set_reg(c, dst->data, handle);
    if (dst->elem_offset && tn_is_var(dst->elem_offset)) {
        /* elements from the start of the memory; the handle already points there */
        compile_set_reg(c, dst->elem_offset, compile_const_int(c, 0));
    }
    int32_t n = compile_add_buffer(c, m->buffer);
    if (n < 0)
        return;
    /* strides: the source's own, whether the destination names them or not */
    int32_t ext = compile_temp(c, (int32_t)(2 * dst->shape.n) + 1);
    int32_t stride = compile_const_int(c, 1);
    uint32_t nd = dst->shape.n;
    for (uint32_t i = region->ranges.n; i-- > skip;) {
        int32_t k = (int32_t)(i - skip);
        compile_emit(c, INTERP_MOV, ext + k, compile_scalar(c, dst->shape.at[k]), 0, 0);
        int32_t s = stride;
        if (src->strides.n == src->shape.n && src->strides.n)
            s = compile_scalar(c, src->strides.at[i]);
        compile_emit(c, INTERP_MOV, ext + (int32_t)nd + k, s, 0, 0);
        if (k < (int32_t)dst->strides.n && tn_is_var(dst->strides.at[k]) &&
            !compile_get_reg(c, dst->strides.at[k], &unused))
            compile_set_reg(c, dst->strides.at[k], ext + (int32_t)nd + k);
        int32_t next = compile_temp(c, 1);
        compile_emit(c, INTERP_MUL, next, stride, compile_scalar(c, src->shape.at[i]), 0);
        stride = next;
    }
    c->bufs.at[n].has_strides = nd != 0;
    compile_emit(c, INTERP_BUFFER, n, handle, ext, INTERP_NO_REG);
}

/* ---- thread groups ---- */

static tn_walk_step
find_barrier(void *user, const tn_node *n)
{
    (void)user;
    if (tn_is(n, TN_KIND_BUFFER))
        return TN_WALK_SKIP;
    tn_intrin_id id = tn_intrin_of(n);
    bool waits = id == TN_INTRIN_tvm_storage_sync || id == TN_INTRIN_tvm_thread_allreduce ||
                 id == TN_INTRIN_tvm_warp_shuffle || id == TN_INTRIN_tvm_warp_shuffle_up ||
                 id == TN_INTRIN_tvm_warp_shuffle_down || id == TN_INTRIN_tvm_warp_shuffle_xor ||
                 id == TN_INTRIN_warp_reduce || id == TN_INTRIN_ptx_mbarrier_init ||
                 id == TN_INTRIN_ptx_mbarrier_try_wait || id == TN_INTRIN_ptx_bar_sync ||
                 id == TN_INTRIN_ptx_bar_arrive;
    return waits ? TN_WALK_STOP : TN_WALK_ON;
}

typedef struct tag_search {
    compiler *c;
    thread_tag *at;
    const tn_expr **extent;
    uint32_t n;
} tag_search;

enum { MAX_TAGS = 8 };

static void
note_tag(tag_search *s, const char *tag, const tn_expr *extent)
{
    if (!tag || strncmp(tag, "threadIdx", 9) != 0)
        return;
    for (uint32_t i = 0; i < s->n; i++)
        if (strcmp(s->at[i].tag, tag) == 0)
            return;
    if (s->n < MAX_TAGS) {
        s->at[s->n].tag = tag;
        s->extent[s->n++] = extent;
    }
}

static tn_walk_step
find_tags(void *user, const tn_node *n)
{
    const tn_for_loop *f = tn_as_for_loop(n);
    const tn_attr_stmt *t = tn_as_attr_stmt(n);
    if (f && f->for_kind == TN_FOR_THREAD_BINDING)
        note_tag(user, f->thread_tag, f->extent);
    if (t && strcmp(t->key, "thread_extent") == 0 && tn_as_iter_var(t->node))
        note_tag(user, tn_as_iter_var(t->node)->thread_tag, t->value);
    return tn_is_scalar(n) ? TN_WALK_SKIP : TN_WALK_ON;
}

/* Runs `s`, which holds barriers, once per thread of the group that its thread loops make. */
static void
compile_group(compiler *c, const tn_stmt *s)
{
    thread_tag tags[MAX_TAGS] = {{NULL, 0, 0}};
    const tn_expr *extents[MAX_TAGS];
    tag_search found = {c, tags, extents, 0};
    tn_walk(s, 0, find_tags, NULL, &found);
    for (uint32_t i = 1; i < found.n; i++) { /* x, y, z: the order of thread numbers */
        for (uint32_t j = i; j > 0 && strcmp(tags[j - 1].tag, tags[j].tag) > 0; j--) {
            thread_tag t = tags[j];
            const tn_expr *e = extents[j];
            tags[j] = tags[j - 1];
            extents[j] = extents[j - 1];
            tags[j - 1] = t;
            extents[j - 1] = e;
        }
    }
    int32_t n = (int32_t)found.n, tid = compile_temp(c, n), ext = compile_temp(c, n);
    for (int32_t i = 0; i < n; i++) {
        tags[i].reg = tid + i;
        tags[i].extent = ext + i;
        compile_emit(c, INTERP_MOV, ext + i, compile_scalar(c, extents[i]), 0, 0);
    }
    uint32_t fork = compile_emit(c, INTERP_FORK, tid, n, ext, 0);
    uint32_t outside = c->bufs.n;
    for (uint32_t i = 0; i < outside; i++) {
        const tn_buffer *b = c->bufs.at[i].node;
        int32_t handle = INTERP_NO_REG;
        if (c->bufs.at[i].is_shared || !tn_uses(s, TN_NODE(b)))
            continue;
        compile_get_reg(c, b->data, &handle);
        compile_emit(c, INTERP_PRIVATE, (int32_t)i, handle, c->slots++, 0);
    }
    const thread_tag *saved = c->threads;
    c->threads = tnb_dup(c->arena, tags, sizeof tags);
    c->n_threads = found.n;
    compile_stmt(c, s);
    c->threads = saved;
    c->n_threads = 0;
    compile_emit(c, INTERP_END, 0, 0, 0, 0);
    land_here(c, fork);
}

/* In a group: the register of the thread index `tag`; INTERP_NO_REG: a loop like any other. */
static int32_t
thread_index(compiler *c, const char *tag, const tn_expr *extent)
{
    for (uint32_t i = 0; c->threads && tag && i < c->n_threads; i++) {
        if (strcmp(c->threads[i].tag, tag) != 0)
            continue;
        int32_t same = compile_temp(c, 1);
        compile_emit(c, INTERP_EQ, same, compile_scalar(c, extent), c->threads[i].extent, 0);
        uint32_t at = compile_emit(c, INTERP_ASSERT, same, 0, 0, 0);
        c->ins.at[at].x.ptr = "loops over one thread index have different extents";
        return c->threads[i].reg;
    }
    return INTERP_NO_REG;
}

static bool
starts_group(compiler *c, const tn_stmt *s, const char *tag)
{
    return !c->threads && tag && strncmp(tag, "threadIdx", 9) == 0 &&
           !tn_walk(s, 0, find_barrier, NULL, NULL);
}

/* ---- statements ---- */

static void
loop_over(compiler *c, const tn_expr *var, const tn_expr *min, const tn_expr *extent,
          const tn_stmt *body)
{
    int32_t v = compile_temp(c, 1), end = compile_temp(c, 1);
    compile_emit(c, INTERP_MOV, v, min ? compile_scalar(c, min) : compile_const_int(c, 0), 0, 0);
    compile_emit(c, INTERP_ADD, end, v, compile_scalar(c, extent), 0);
    uint32_t none = compile_emit(c, INTERP_JGE, v, end, 0, 0);
    compile_set_reg(c, var, v);
    compile_loop loop = {0}, *outer = c->loop;
    c->loop = &loop;
    uint32_t again = c->ins.n;
    counter k = open_count(c);
    compile_stmt(c, body);
    close_count(c, k);
    for (uint32_t i = 0; i < loop.continues.n; i++)
        land_here(c, loop.continues.at[i]);
    uint32_t back = compile_emit(c, INTERP_LOOP, v, end, 0, 0);
    c->ins.at[back].x.imm = again;
    land_here(c, none);
    for (uint32_t i = 0; i < loop.breaks.n; i++)
        land_here(c, loop.breaks.at[i]);
    c->loop = outer;
}

/* The block with an init behind a nest of loops that begins with f and of which only reduction
 * iterators know; NULL if there is none. */
static const tn_block_realize *
reduction_below(const tn_for_loop *f)
{
    enum { MOST = 16 };
    const tn_expr *vars[MOST];
    uint32_t n = 0;
    const tn_stmt *s = TN_NODE(f);
    for (const tn_for_loop *g = f; g && n < MOST; g = tn_as_for_loop(s)) {
        vars[n++] = g->var;
        s = g->body;
    }
    const tn_block_realize *br = tn_as_block_realize(s);
    const tn_block *b = br ? tn_as_block(br->block) : NULL;
    if (!b || !b->init || b->allocs.n || b->match_buffers.n)
        return NULL;
    for (uint32_t i = 0; i < n; i++) {
        if (br->predicate && tn_uses(br->predicate, vars[i]))
            return NULL;
        for (uint32_t k = 0; k < b->iters.n && k < br->values.n; k++)
            if (tn_as_iter_var(b->iters.at[k])->iter_kind != TN_ITER_REDUCE &&
                tn_uses(br->values.at[k], vars[i]))
                return NULL;
    }
    return br;
}

/* A reduction over nothing gives the initial value, though the loops around its block do not run
 * once. */
static void
reduce_nothing(compiler *c, const tn_for_loop *f)
{
    int64_t n;
    const tn_block_realize *br = tn_int_value(f->extent, &n) ? NULL : reduction_below(f);
    if (!br)
        return;
    const tn_block *b = tn_as_block(br->block);
    int32_t none = compile_temp(c, 1);
    compile_emit(c, INTERP_LT, none, compile_scalar(c, f->extent), compile_const_int(c, 1), 0);
    uint32_t some = compile_emit(c, INTERP_JZ, none, 0, 0, 0);
    for (uint32_t i = 0; i < b->iters.n && i < br->values.n; i++) {
        const tn_iter_var *iv = tn_as_iter_var(b->iters.at[i]);
        bool reduces = iv->iter_kind == TN_ITER_REDUCE;
        int32_t own = compile_temp(c, 1);
        const tn_expr *at = reduces ? tn_as_range(iv->dom)->min : br->values.at[i];
        compile_emit(c, INTERP_MOV, own, compile_scalar(c, at), 0, 0);
        compile_set_reg(c, iv->var, own);
    }
    bool always = !br->predicate || tn_is_int_const(br->predicate, 1);
    uint32_t outside =
        always ? 0 : compile_emit(c, INTERP_JZ, compile_scalar(c, br->predicate), 0, 0, 0);
    counter k = open_count(c);
    compile_stmt(c, b->init);
    close_count(c, k);
    if (!always)
        land_here(c, outside);
    land_here(c, some);
}

static void
compile_for(compiler *c, const tn_for_loop *f)
{
    if (f->for_kind == TN_FOR_THREAD_BINDING) {
        if (starts_group(c, TN_NODE(f), f->thread_tag)) {
            compile_group(c, TN_NODE(f));
            return;
        }
        int32_t r = thread_index(c, f->thread_tag, f->extent);
        if (r != INTERP_NO_REG) {
            int32_t v = compile_temp(c, 1);
            compile_emit(c, INTERP_ADD, v, r, compile_scalar(c, f->min), 0);
            compile_set_reg(c, f->var, v);
            compile_stmt(c, f->body);
            return;
        }
    }
    reduce_nothing(c, f);
    loop_over(c, f->var, f->min, f->extent, f->body);
}

static void
compile_attr(compiler *c, const tn_attr_stmt *t)
{
    const tn_iter_var *iv = tn_as_iter_var(t->node);
    int32_t r;
    if (iv && (strcmp(t->key, "thread_extent") == 0 || strcmp(t->key, "virtual_thread") == 0)) {
        if (starts_group(c, TN_NODE(t), iv->thread_tag)) {
            compile_group(c, TN_NODE(t));
            return;
        }
        r = thread_index(c, iv->thread_tag, t->value);
        if (r != INTERP_NO_REG) {
            compile_set_reg(c, iv->var, r);
            compile_stmt(c, t->body);
        } else if (compile_get_reg(c, iv->var, &r)) {
            compile_stmt(c, t->body); /* the same variable again */
        } else {
            loop_over(c, iv->var, NULL, t->value, t->body);
        }
        return;
    }
    if (strncmp(t->key, "async_", 6) == 0) {
        compile_async_part(c, t);
        return;
    }
    const tn_comm_reducer *saved = c->reducer;
    if (strcmp(t->key, "reduce_scope") == 0)
        c->reducer = tn_as_comm_reducer(t->node);
    compile_stmt(c, t->body);
    c->reducer = saved;
}

static void
compile_while(compiler *c, const tn_while_loop *w)
{
    compile_loop loop = {0}, *outer = c->loop;
    c->loop = &loop;
    uint32_t again = c->ins.n;
    counter k = open_count(c);
    uint32_t out = compile_emit(c, INTERP_JZ, compile_scalar(c, w->cond), 0, 0, 0);
    tnb_ptrmap_init(&c->memo, c->arena);
    compile_stmt(c, w->body);
    close_count(c, k);
    for (uint32_t i = 0; i < loop.continues.n; i++)
        c->ins.at[loop.continues.at[i]].x.imm = again;
    uint32_t back = compile_emit(c, INTERP_JMP, 0, 0, 0, 0);
    c->ins.at[back].x.imm = again;
    land_here(c, out);
    for (uint32_t i = 0; i < loop.breaks.n; i++)
        land_here(c, loop.breaks.at[i]);
    c->loop = outer;
}

static void
compile_if(compiler *c, const tn_if_stmt *s)
{
    uint32_t to_else = compile_emit(c, INTERP_JZ, compile_scalar(c, s->cond), 0, 0, 0);
    counter k = open_count(c);
    compile_stmt(c, s->then_case);
    close_count(c, k);
    if (!s->else_case) {
        land_here(c, to_else);
        return;
    }
    uint32_t to_end = compile_emit(c, INTERP_JMP, 0, 0, 0, 0);
    land_here(c, to_else);
    k = open_count(c);
    compile_stmt(c, s->else_case);
    close_count(c, k);
    land_here(c, to_end);
}

static void
compile_block(compiler *c, const tn_block_realize *br)
{
    const tn_block *b = tn_as_block(br->block);
    uint32_t skip = UINT32_MAX;
    int64_t one;
    int32_t first = INTERP_NO_REG;
    if (br->predicate && !(tn_int_value(br->predicate, &one) && one))
        skip = compile_emit(c, INTERP_JZ, compile_scalar(c, br->predicate), 0, 0, 0);
    for (uint32_t i = 0; i < b->iters.n && i < br->values.n; i++) {
        const tn_iter_var *iv = tn_as_iter_var(b->iters.at[i]);
        int32_t r = compile_scalar(c, br->values.at[i]);
        if (!tn_is_var(br->values.at[i]) && r >= 0) {
            int32_t own = compile_temp(c, 1);
            compile_emit(c, INTERP_MOV, own, r, 0, 0);
            r = own;
        }
        compile_set_reg(c, iv->var, r);
        if (!b->init || iv->iter_kind != TN_ITER_REDUCE)
            continue;
        /* the initial value is set where every reduction index stands at its start */
        int32_t is = compile_temp(c, 1);
        const tn_range *dom = tn_as_range(iv->dom);
        compile_emit(c, INTERP_EQ, is, r, compile_scalar(c, dom->min), 0);
        if (first != INTERP_NO_REG)
            compile_emit(c, INTERP_AND, is, is, first, 0);
        first = is;
    }
    for (uint32_t i = 0; i < b->allocs.n; i++)
        alloc_buffer(c, b->allocs.at[i]);
    for (uint32_t i = 0; i < b->match_buffers.n; i++)
        match_buffer(c, tn_as_match_buffer(b->match_buffers.at[i]));
    if (b->init) {
        uint32_t no_init =
            first != INTERP_NO_REG ? compile_emit(c, INTERP_JZ, first, 0, 0, 0) : UINT32_MAX;
        counter k = open_count(c);
        compile_stmt(c, b->init);
        close_count(c, k);
        if (no_init != UINT32_MAX)
            land_here(c, no_init);
    }
    const tn_stmt *meaning = interp_meaning(c->ctx, b);
    compile_stmt(c, meaning ? meaning : b->body);
    if (skip != UINT32_MAX)
        land_here(c, skip);
}

static void
compile_assert(compiler *c, const tn_assert_stmt *s)
{
    enum { MAX_NUMBERS = 16 };
    const tn_string_imm *text = tn_as_string_imm(s->message);
    const tn_array *pair = tn_as_array(s->message);
    const tn_array *parts = pair && pair->items.n == 2 ? tn_as_array(pair->items.at[1]) : NULL;
    int32_t cond = compile_scalar(c, s->cond), first = 0, n = 0;
    tnb_buf all = {0};
    if (!parts) {
        uint32_t at = compile_emit(c, INTERP_ASSERT, cond, 0, 0, 0);
        c->ins.at[at].x.ptr = tnb_strdup(c->arena, text ? text->value : "condition is false");
        return;
    }
    /* the numbers of the message, computed only where it is needed */
    uint32_t over = compile_emit(c, INTERP_JNZ, cond, 0, 0, 0);
    first = compile_temp(c, MAX_NUMBERS);
    for (uint32_t i = 0; i < parts->items.n; i++) {
        text = tn_as_string_imm(parts->items.at[i]);
        for (const char *t = text ? text->value : ""; *t; t++) {
            if (*t == '{' || *t == '}')
                tnb_buf_putc(&all, *t);
            tnb_buf_putc(&all, *t);
        }
        if (text || n == MAX_NUMBERS)
            continue;
        tnb_buf_puts(&all, "{}");
        compile_emit(c, INTERP_MOV, first + n++, compile_scalar(c, parts->items.at[i]), 0, 0);
    }
    uint32_t at = compile_emit(c, INTERP_ASSERT, cond, first, n, 0);
    c->ins.at[at].x.ptr = tnb_strdup(c->arena, all.s ? all.s : "condition is false");
    tnb_buf_free(&all);
    land_here(c, over);
}

/* Scalars over (lhs..., rhs...) that combine two values of a reduction. */
static interp_code *
combiner(compiler *c, const tn_comm_reducer *r)
{
    const tn_expr *vars[2 * MAX_TAGS];
    uint32_t n = r->lhs.n;
    if (n > MAX_TAGS || r->rhs.n != n || r->result.n != n)
        return NULL;
    for (uint32_t i = 0; i < n; i++) {
        vars[i] = r->lhs.at[i];
        vars[n + i] = r->rhs.at[i];
    }
    return interp_compile_scalar(c->vm, r->result.at, n, vars, 2 * n);
}

/* tvm_thread_allreduce(count, values..., condition, results..., thread indices...) */
static void
thread_allreduce(compiler *c, const tn_call *call)
{
    int64_t n;
    if (!c->reducer || !tn_int_value(call->args.at[0], &n) || n < 1 || n > MAX_TAGS ||
        call->args.n < 2 + 2 * (uint64_t)n) {
        compile_fail(c, TN_NODE(call), "a reduction over threads without its reducer");
        return;
    }
    interp_exchange *e = TNB_NEW(c->arena, interp_exchange);
    int32_t src = compile_temp(c, (int32_t)n), dst = compile_temp(c, (int32_t)n);
    for (int32_t i = 0; i < (int32_t)n; i++)
        compile_emit(c, INTERP_MOV, src + i, compile_scalar(c, call->args.at[1 + i]), 0, 0);
    e->kind = INTERP_REDUCE;
    e->n = (int32_t)n;
    e->src = src;
    e->dst = dst;
    e->cond = compile_temp(c, 1);
    compile_emit(c, INTERP_MOV, e->cond, compile_scalar(c, call->args.at[1 + n]), 0, 0);
    e->reducer = c->reducer;
    e->combine = combiner(c, c->reducer);
    if (!e->combine) {
        c->failed = true;
        return;
    }
    uint32_t first_tid = (uint32_t)(2 + 2 * n), n_over = call->args.n - first_tid;
    int32_t *over = TNB_NEW_N(c->arena, int32_t, n_over),
            *tids = TNB_NEW_N(c->arena, int32_t, c->n_threads);
    for (uint32_t i = 0; i < n_over; i++) {
        /* a loop variable stands for the thread index it was copied from */
        int32_t r = compile_scalar(c, call->args.at[first_tid + i]);
        over[i] = r;
        for (uint32_t k = 0; k + 1 < c->ins.n; k++) {
            const interp_ins *in = &c->ins.at[k];
            for (uint32_t t = 0; t < c->n_threads; t++)
                if (in->op == INTERP_ADD && in->a == r && in->b == c->threads[t].reg)
                    over[i] = c->threads[t].reg;
        }
    }
    for (uint32_t i = 0; i < c->n_threads; i++)
        tids[i] = c->threads[i].reg;
    e->over = over;
    e->n_over = n_over;
    e->tids = tids;
    e->n_tids = c->n_threads;
    uint32_t at = compile_emit(c, INTERP_EXCHANGE, 0, 0, 0, 0);
    c->ins.at[at].x.ptr = e;
    for (int32_t i = 0; i < (int32_t)n; i++) { /* results: pointers of buffers, or elements */
        const tn_expr *to = call->args.at[2 + n + i];
        const tn_buffer_load *l = tn_as_buffer_load(to);
        const tn_node *buffer = l ? l->buffer : NULL;
        for (uint32_t k = 0; !buffer && k < c->bufs.n; k++)
            if (c->bufs.at[k].node->data == to)
                buffer = TN_NODE(c->bufs.at[k].node);
        if (!buffer) {
            compile_fail(c, to, "the result of a reduction over threads is no buffer");
            return;
        }
        const tn_buffer *b = tn_as_buffer(buffer);
        const tn_node *zeros[INTERP_DIMS];
        for (uint32_t k = 0; k < b->shape.n && k < INTERP_DIMS; k++)
            zeros[k] = tn_i32(c->ctx, 0);
        tn_list indices = l ? l->indices : tn_list_of(c->ctx, zeros, b->shape.n);
        const tn_expr *v = tn_var_dtype(c->ctx, "reduced", b->dtype);
        compile_set_reg(c, v, dst + i);
        compile_store(c, buffer, v, indices);
    }
}

/* The value that another lane of `width` has in the register `value`. */
static interp_opd
from_lane(compiler *c, int mode, int32_t value, int32_t lane, int32_t width)
{
    interp_exchange *e = TNB_NEW(c->arena, interp_exchange);
    e->kind = INTERP_SHUFFLE;
    e->n = 1;
    e->src = compile_temp(c, 1);
    e->dst = compile_temp(c, 1);
    e->cond = compile_temp(c, 1);
    e->width = compile_temp(c, 1);
    e->mode = mode;
    compile_emit(c, INTERP_MOV, e->src, value, 0, 0);
    compile_emit(c, INTERP_MOV, e->cond, lane, 0, 0);
    compile_emit(c, INTERP_MOV, e->width, width, 0, 0);
    uint32_t at = compile_emit(c, INTERP_EXCHANGE, 0, 0, 0, 0);
    c->ins.at[at].x.ptr = e;
    return (interp_opd){e->dst, 0};
}

enum { LANE_XOR = 3 };

static interp_opd
warp_shuffle(compiler *c, const tn_call *call, tn_intrin_id id)
{
    int mode = id == TN_INTRIN_tvm_warp_shuffle_up     ? 1
               : id == TN_INTRIN_tvm_warp_shuffle_down ? 2
               : id == TN_INTRIN_tvm_warp_shuffle_xor  ? LANE_XOR
                                                       : 0;
    int32_t value = compile_scalar(c, call->args.at[1]), lane = compile_scalar(c, call->args.at[2]);
    return from_lane(c, mode, value, lane, compile_scalar(c, call->args.at[3]));
}

/* T.warp_reduce(value, op, width, warp size): as shuffles. */
static interp_opd
warp_reduce(compiler *c, const tn_call *call)
{
    static const struct {
        const char *name;
        tn_kind kind;
    } ops[] = {{"add", TN_KIND_ADD}, {"min", TN_KIND_MIN}, {"max", TN_KIND_MAX}};
    const tn_string_imm *op = tn_as_string_imm(call->args.at[1]);
    tnb_dtype d = tn_dtype_of(call->args.at[0]);
    int64_t width;
    size_t k = 0;
    while (k < sizeof ops / sizeof *ops && (!op || strcmp(op->value, ops[k].name) != 0))
        k++;
    if (k == sizeof ops / sizeof *ops || !tn_int_value(call->args.at[2], &width) || width < 1 ||
        width & (width - 1) || d.lanes != 1) {
        compile_fail(c, TN_NODE(call),
                     "a reduction over a warp wants a scalar, add, min or max, and a power of two");
        return (interp_opd){compile_const_int(c, 0), 0};
    }
    int32_t v = compile_temp(c, 1);
    compile_emit(c, INTERP_MOV, v, compile_scalar(c, call->args.at[0]), 0, 0);
    for (int64_t m = width / 2; m > 0; m /= 2) {
        const tn_expr *own = tn_var_dtype(c->ctx, "own", d),
                      *other = tn_var_dtype(c->ctx, "other", d);
        compile_set_reg(c, own, v);
        interp_opd got =
            from_lane(c, LANE_XOR, v, compile_const_int(c, m), compile_const_int(c, width));
        compile_set_reg(c, other, compile_lane(got, 0));
        int32_t joined = compile_scalar(c, tn_bin(c->ctx, ops[k].kind, own, other));
        v = compile_temp(c, 1);
        compile_emit(c, INTERP_MOV, v, joined, 0, 0);
    }
    return (interp_opd){v, 0};
}

bool
compile_effect(compiler *c, const tn_call *call, const tn_op *op, interp_opd *out)
{
    *out = (interp_opd){compile_const_int(c, 0), 0};
    if (compile_async_effect(c, call, op))
        return true;
    switch ((int)op->intrin) {
    case TN_INTRIN_tvm_storage_sync: {
        const tn_string_imm *scope = call->args.n ? tn_as_string_imm(call->args.at[0]) : NULL;
        compile_emit(c, INTERP_BARRIER, scope && !strcmp(scope->value, "warp"), 0, 0, 0);
        return true;
    }
    case TN_INTRIN_tvm_thread_allreduce:
        thread_allreduce(c, call);
        return true;
    case TN_INTRIN_tvm_warp_activemask:
        *out = (interp_opd){compile_const_int(c, 0xffffffff), 0};
        return true;
    case TN_INTRIN_tvm_warp_shuffle:
    case TN_INTRIN_tvm_warp_shuffle_up:
    case TN_INTRIN_tvm_warp_shuffle_down:
    case TN_INTRIN_tvm_warp_shuffle_xor:
        *out = warp_shuffle(c, call, op->intrin);
        return true;
    case TN_INTRIN_warp_reduce:
        *out = warp_reduce(c, call);
        return true;
    case TN_INTRIN_warp_size_is: /* lanes are numbered as threads are */
        *out = (interp_opd){compile_const_int(c, 1), 0};
        return true;
    case TN_INTRIN_ret:
        compile_emit(c, INTERP_RET, compile_scalar(c, call->args.at[0]), 0, 0, 0);
        return true;
    case TN_INTRIN_assume: {
        uint32_t at = compile_emit(c, INTERP_ASSERT, compile_scalar(c, call->args.at[0]), 0, 0, 0);
        c->ins.at[at].x.ptr = "an assumption does not hold";
        return true;
    }
    case TN_INTRIN_prefetch:
    case TN_INTRIN_tvm_global_barrier_kinit:
        return true;
    default:
        return false;
    }
}

static void
compile_one(compiler *c, const tn_stmt *s)
{
    switch (s->kind) {
    case TN_KIND_SEQ: {
        tn_list l = tn_as_seq(s)->stmts;
        for (uint32_t i = 0; i < l.n && !c->failed; i++) {
            /* what a statement of the sequence binds lives on to its end */
            uint16_t k = l.at[i]->kind;
            bool binds = k == TN_KIND_BIND || k == TN_KIND_ALLOC_BUFFER || k == TN_KIND_DECL_BUFFER;
            int32_t top = c->top;
            tnb_ptrmap_init(&c->memo, c->arena);
            compile_stmt(c, l.at[i]);
            if (!binds)
                c->top = top;
        }
        break;
    }
    case TN_KIND_BUFFER_STORE: {
        const tn_buffer_store *st = tn_as_buffer_store(s);
        compile_store(c, st->buffer, st->value, st->indices);
        break;
    }
    case TN_KIND_BIND: {
        const tn_bind *b = tn_as_bind(s);
        interp_opd v = compile_expr(c, b->value);
        int32_t lanes = tn_dtype_of(b->value).lanes, r = compile_temp(c, lanes ? lanes : 1);
        for (int32_t i = 0; i < lanes; i++)
            compile_emit(c, INTERP_MOV, r + i, compile_lane(v, i), 0, 0);
        compile_set_reg(c, b->var, r);
        break;
    }
    case TN_KIND_ALLOC_BUFFER:
        alloc_buffer(c, tn_as_alloc_buffer(s)->buffer);
        break;
    case TN_KIND_DECL_BUFFER:
        bind_buffer(c, tn_as_alloc_buffer(s)->buffer);
        break;
    case TN_KIND_ATTR_STMT:
        compile_attr(c, tn_as_attr_stmt(s));
        break;
    case TN_KIND_ASSERT:
        compile_assert(c, tn_as_assert_stmt(s));
        break;
    case TN_KIND_EVALUATE:
        compile_expr(c, tn_as_evaluate(s)->value);
        break;
    case TN_KIND_RETURN:
        compile_emit(c, INTERP_RET, compile_scalar(c, tn_as_evaluate(s)->value), 0, 0, 0);
        break;
    case TN_KIND_BREAK:
    case TN_KIND_CONTINUE: {
        uint32_t j = compile_emit(c, INTERP_JMP, 0, 0, 0, 0);
        if (!c->loop)
            compile_fail(c, s, "break or continue outside of a loop");
        else if (s->kind == TN_KIND_BREAK)
            TNB_PUSH(c->arena, c->loop->breaks, j);
        else
            TNB_PUSH(c->arena, c->loop->continues, j);
        break;
    }
    case TN_KIND_IF_STMT:
        compile_if(c, tn_as_if_stmt(s));
        break;
    case TN_KIND_FOR:
        compile_for(c, tn_as_for_loop(s));
        break;
    case TN_KIND_WHILE:
        compile_while(c, tn_as_while_loop(s));
        break;
    case TN_KIND_BLOCK_REALIZE:
        compile_block(c, tn_as_block_realize(s));
        break;
    case TN_KIND_BLOCK: { /* without bindings: a root block */
        tn_block_realize r = {.block = s};
        compile_block(c, &r);
        break;
    }
    default:
        compile_fail(c, s, "%s is no statement", tn_kinds[s->kind].name);
        break;
    }
}

void
compile_stmt(compiler *c, const tn_stmt *s)
{
    if (c->failed || !s)
        return;
    tn_loc saved = c->loc;
    uint32_t guard = c->guard;
    if (s->loc)
        c->loc = s->loc;
    c->guard = 0;
    tnb_ptrmap_init(&c->memo, c->arena);
    compile_one(c, s);
    tnb_ptrmap_init(&c->memo, c->arena);
    c->guard = guard;
    c->loc = saved;
}

/* ---- functions ---- */

static void
start(compiler *c, interp *vm, const char *name)
{
    *c = (compiler){.vm = vm, .ctx = vm->ctx, .arena = vm->arena, .name = name};
    tnb_ptrmap_init(&c->regs, c->arena);
    tnb_ptrmap_init(&c->index, c->arena);
    tnb_ptrmap_init(&c->undeclared, c->arena);
    tnb_ptrmap_init(&c->memo, c->arena);
}

static interp_code *
finish(compiler *c)
{
    if (c->failed)
        return NULL;
    interp_code *k = TNB_NEW(c->arena, interp_code);
    k->name = c->name;
    k->at = c->ins.at;
    k->loc = c->locs.at;
    k->n = c->ins.n;
    k->n_regs = c->max;
    k->n_bufs = (int32_t)c->bufs.n;
    k->n_slots = c->slots;
    k->bufs = c->bufs.at;
    k->n_consts = (int32_t)c->consts.n;
    k->consts = TNB_NEW_N(c->arena, interp_reg, c->consts.n);
    for (uint32_t i = 0; i < c->consts.n; i++)
        k->consts[c->consts.n - 1 - i] = c->consts.at[i];
    return k;
}

typedef struct shape_regs {
    TNB_VEC(int32_t) at;
} shape_regs;

/* The extent `dim` of argument `arg`, in a new register. */
static int32_t
take_extent(compiler *c, shape_regs *s, uint32_t arg, uint32_t dim)
{
    int32_t r = compile_temp(c, 1);
    TNB_PUSH(c->arena, s->at, (int32_t)(arg << 8 | dim));
    TNB_PUSH(c->arena, s->at, r);
    return r;
}

/* Symbols of the buffers' shapes get their values from the arguments; everything else is compared.
 */
static void
bind_params(compiler *c, const tn_prim_func *f, interp_code *proto)
{
    shape_regs shape = {{NULL, 0, 0}};
    int32_t r;
    proto->params = TNB_NEW_N(c->arena, int32_t, f->params.n + 1);
    for (uint32_t i = 0; i < f->params.n; i++) {
        r = proto->params[i] = compile_temp(c, 1);
        compile_set_reg(c, f->params.at[i], r);
    }
    for (uint32_t i = 0; i < f->params.n && i < f->buffers.n; i++) {
        const tn_buffer *b = tn_as_buffer(f->buffers.at[i]);
        if (!b)
            continue;
        compile_set_reg(c, b->data, proto->params[i]);
        for (uint32_t k = 0; k < b->shape.n; k++) {
            const tn_node *e = b->shape.at[k];
            if (tn_is_var(e) && !compile_get_reg(c, e, &r))
                compile_set_reg(c, e, take_extent(c, &shape, i, k));
        }
        if (b->elem_offset && tn_is_var(b->elem_offset) && !compile_get_reg(c, b->elem_offset, &r))
            compile_set_reg(c, b->elem_offset, compile_const_int(c, 0));
    }
    for (uint32_t i = 0; i < f->params.n && i < f->buffers.n && !c->failed; i++) {
        const tn_buffer *b = tn_as_buffer(f->buffers.at[i]);
        if (!b)
            continue;
        int32_t stride = compile_const_int(c, 1);
        for (uint32_t k = b->shape.n; k-- > 0;) {
            /* symbolic strides are those of a compact array */
            if (k < b->strides.n && tn_is_var(b->strides.at[k]) &&
                !compile_get_reg(c, b->strides.at[k], &r))
                compile_set_reg(c, b->strides.at[k], stride);
            int32_t next = compile_temp(c, 1);
            compile_emit(c, INTERP_MUL, next, stride, compile_scalar(c, b->shape.at[k]), 0);
            stride = next;
        }
        bind_buffer(c, f->buffers.at[i]);
    }
    int32_t end = -1;
    TNB_PUSH(c->arena, shape.at, end);
    proto->shape = shape.at.at;
}

interp_code *
interp_compile(interp *vm, const char *name, const tn_prim_func *f)
{
    interp_code *known = (interp_code *)tnb_ptrmap_get(&vm->codes, f), proto = {0};
    if (known)
        return known;
    const tn_node *symbol = tn_func_attr(TN_NODE(f), "global_symbol");
    if (!name)
        name = tn_as_string_imm(symbol) ? tn_as_string_imm(symbol)->value : "tensor program";
    compiler c;
    start(&c, vm, tnb_strdup(vm->arena, name));
    c.loc = f->base.loc;
    counter k = open_count(&c);
    bind_params(&c, f, &proto);
    compile_stmt(&c, f->body);
    close_count(&c, k);
    compile_emit(&c, INTERP_END, 0, 0, 0, 0);
    interp_code *code = finish(&c);
    if (!code)
        return NULL;
    code->params = proto.params;
    code->shape = proto.shape;
    code->func = f;
    tnb_ptrmap_set(&vm->codes, f, code);
    return code;
}

interp_code *
interp_compile_scalar(interp *vm, const tn_expr *const *results, uint32_t n,
                      const tn_expr *const *vars, uint32_t n_vars)
{
    compiler c;
    start(&c, vm, "scalar expression");
    int32_t *params = TNB_NEW_N(vm->arena, int32_t, n_vars + 1);
    for (uint32_t i = 0; i < n_vars; i++) {
        params[i] = compile_temp(&c, 1);
        compile_set_reg(&c, vars[i], params[i]);
    }
    int32_t out = compile_temp(&c, (int32_t)n);
    for (uint32_t i = 0; i < n; i++)
        compile_emit(&c, INTERP_MOV, out + (int32_t)i, compile_scalar(&c, results[i]), 0, 0);
    compile_emit(&c, INTERP_END, 0, 0, 0, 0);
    interp_code *code = finish(&c);
    if (!code)
        return NULL;
    code->params = params;
    code->results = out;
    return code;
}
