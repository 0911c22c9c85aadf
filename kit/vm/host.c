/* SPDX-License-Identifier: Apache-2.0 */
/* Host functions (PrimFuncs with tirx.is_host_func) as VM functions: shape arithmetic, scalar
 * computation, plain loops. */
#include "vm_private.h"

#include "tenon/core/walk.h"

static void
statement(struct vm_gen *g, const tn_stmt *s);

static void
define_buffer(struct vm_gen *g, const tn_node *buffer, uint32_t value)
{
    tnb_ptrmap_set(&g->values, buffer, (void *)(uintptr_t)(value + 1));
}

/* Memory of the device for a tensor that kernels are given; list: room for its extents behind two
 * operands. */
static void
allocate_on_device(struct vm_gen *g, const tn_buffer *b, uint32_t v, uint32_t *list)
{
    uint32_t bytes = vm_load_int(g, (int64_t)tnb_dtype_bytes(b->dtype)),
             storage = tnk_program_value_reg(g->p),
             device = tnk_program_device(g->p, g->in->device, 0, "global");
    for (uint32_t i = 0; i < b->shape.n; i++) {
        bytes = vm_product(g, bytes, TNB_VM_OPERAND_INDEX(list[2 + i]));
    }
    tnk_program_emit(g->p, TNB_VM_ALLOCS, 0, storage, bytes, device);
    list[0] = TNB_VM_OPERAND(TNB_VM_VALUE, storage);
    list[1] = TNB_VM_OPERAND(TNB_VM_INT, vm_load_int(g, 0));
    tnk_program_emit_list(g->p, TNB_VM_ALLOCT, v, tnb_vm_from_dtype(b->dtype), list,
                          b->shape.n + 2);
}

/* A zeroed tensor in host memory, or one on the device. */
static void
allocate(struct vm_gen *g, const tn_node *buffer)
{
    const tn_buffer *b = tn_as_buffer(buffer);
    uint32_t *list = TNB_NEW_N(g->arena, uint32_t, b->shape.n + 2), *dims = list + 2,
             v = tnk_program_value_reg(g->p);
    for (uint32_t i = 0; i < b->shape.n; i++)
        dims[i] = TNB_VM_OPERAND(TNB_VM_INT, vm_scalar(g, b->shape.at[i]));
    if (tnb_ptrmap_has(&g->on_device, b->data)) {
        allocate_on_device(g, b, v, list);
        define_buffer(g, buffer, v);
        return;
    }
    tnk_program_emit_list(g->p, TNB_VM_HOSTT, v, tnb_vm_from_dtype(b->dtype), dims, b->shape.n);
    define_buffer(g, buffer, v);
}

/* Makes the jumps collected since `from` go to `target`, and forgets them. */
#define PATCH_ALL(g, jumps, from, target)                           \
    do {                                                            \
        for (uint32_t k_ = (from); k_ < (g)->jumps.n; k_++)         \
            tnk_program_patch((g)->p, (g)->jumps.at[k_], (target)); \
        (g)->jumps.n = (from);                                      \
    } while (0)

/* The register, or one that holds the least integer where a number on the way did not fit: an extent that
 * nothing takes. Who computes extents before they are checked leaves it to the checks to say what is wrong. */
static uint32_t
or_nothing(struct vm_gen *g, uint32_t value)
{
    uint32_t r = tnk_program_scalar_reg(g->p);
    tnk_program_emit(g->p, TNB_VM_MOVS, 0, r, value, 0);
    uint32_t over = tnk_program_emit(g->p, TNB_VM_JMP, 0, 0, 0, 0);
    PATCH_ALL(g, fits, 0, tnk_program_here(g->p));
    tnk_program_emit(g->p, TNB_VM_LDI, 0, r, 0, UINT32_C(1) << 31);
    tnk_program_patch(g->p, over, tnk_program_here(g->p));
    return r;
}

static void
store(struct vm_gen *g, const tn_buffer_store *s)
{
    const tn_buffer *b = tn_as_buffer(s->buffer);
    if (!b || b->dtype.lanes != 1) {
        vm_error(g, &s->base, "host code writes single elements of buffers only");
        return;
    }
    uint32_t index = vm_element(g, &s->base, b, s->indices),
             to = vm_buffer_value(g, &s->base, s->buffer);
    g->fits.n = 0;
    uint32_t value = vm_scalar(g, s->value);
    if (g->fits.n && tnb_dtype_eq(b->dtype, TNB_I64))
        value = or_nothing(g, value);
    tnk_program_emit(g->p, tnb_dtype_is_float(b->dtype) ? TNB_VM_STOREF : TNB_VM_STOREI,
                     TNB_VM_DTYPE(b->dtype), value, to, index);
}

/* Returns a scalar boxed by its dtype; NULL: nothing. */
static void
give_back(struct vm_gen *g, const tn_expr *e)
{
    uint32_t v = tnk_program_value_reg(g->p);
    if (e) {
        tnb_dtype d = tn_dtype_of(e);
        tnb_vm_op box = tnb_dtype_is_float(d)  ? TNB_VM_BOXF
                        : tnb_dtype_is_bool(d) ? TNB_VM_BOXB
                                               : TNB_VM_BOXI;
        tnk_program_emit(g->p, box, 0, v, vm_scalar(g, e), 0);
    }
    tnk_program_emit(g->p, TNB_VM_RET, 0, v, 0, 0);
}

static void
loop(struct vm_gen *g, const tn_for_loop *f)
{
    uint32_t b0 = g->breaks.n, c0 = g->continues.n;
    if (f->for_kind == TN_FOR_THREAD_BINDING) {
        vm_error(g, &f->base, "a loop bound to '%s' in host code",
                 f->thread_tag ? f->thread_tag : "?");
        return;
    }
    uint32_t i = tnk_program_scalar_reg(g->p), end = tnk_program_scalar_reg(g->p),
             first = vm_scalar(g, f->min);
    tnk_program_emit(g->p, TNB_VM_MOVS, 0, i, first, 0);
    tnk_program_emit(g->p, TNB_VM_ADDFIT, 0, end, first, vm_scalar(g, f->extent));
    uint32_t one = vm_load_int(g, 1);
    vm_define_scalar(g, f->var, i);
    uint32_t skip = tnk_program_emit(g->p, TNB_VM_JGE, 0, i, end, 0), top = tnk_program_here(g->p);
    statement(g, f->body);
    PATCH_ALL(g, continues, c0, tnk_program_here(g->p));
    tnk_program_emit(g->p, TNB_VM_ADD, 0, i, i, one);
    tnk_program_emit(g->p, TNB_VM_JLT, 0, i, end, top);
    tnk_program_patch(g->p, skip, tnk_program_here(g->p));
    PATCH_ALL(g, breaks, b0, tnk_program_here(g->p));
}

static void
while_loop(struct vm_gen *g, const tn_while_loop *w)
{
    uint32_t b0 = g->breaks.n, c0 = g->continues.n, top = tnk_program_here(g->p);
    uint32_t out = tnk_program_emit(g->p, TNB_VM_JZ, 0, vm_scalar(g, w->cond), 0, 0);
    statement(g, w->body);
    PATCH_ALL(g, continues, c0, top);
    tnk_program_emit(g->p, TNB_VM_JMP, 0, top, 0, 0);
    tnk_program_patch(g->p, out, tnk_program_here(g->p));
    PATCH_ALL(g, breaks, b0, tnk_program_here(g->p));
}

static void
branch(struct vm_gen *g, const tn_if_stmt *s)
{
    uint32_t otherwise = tnk_program_emit(g->p, TNB_VM_JZ, 0, vm_scalar(g, s->cond), 0, 0);
    statement(g, s->then_case);
    if (!s->else_case) {
        tnk_program_patch(g->p, otherwise, tnk_program_here(g->p));
        return;
    }
    uint32_t end = tnk_program_emit(g->p, TNB_VM_JMP, 0, 0, 0, 0);
    tnk_program_patch(g->p, otherwise, tnk_program_here(g->p));
    statement(g, s->else_case);
    tnk_program_patch(g->p, end, tnk_program_here(g->p));
}

/* A block in host code: its iteration variables are the values given; reductions initialise when
 * all of theirs are first. */
static void
block(struct vm_gen *g, const tn_block_realize *r)
{
    const tn_block *b = tn_as_block(r->block);
    uint32_t skip = NO_REG, first = NO_REG;
    if (!tn_is_int_const(r->predicate, 1))
        skip = tnk_program_emit(g->p, TNB_VM_JZ, 0, vm_scalar(g, r->predicate), 0, 0);
    for (uint32_t i = 0; i < b->iters.n && i < r->values.n; i++) {
        const tn_iter_var *iv = tn_as_iter_var(b->iters.at[i]);
        uint32_t v = vm_scalar(g, r->values.at[i]);
        vm_define_scalar(g, iv->var, v);
        if (iv->iter_kind == TN_ITER_REDUCE && b->init) {
            uint32_t at_start = tnk_program_scalar_reg(g->p), both = tnk_program_scalar_reg(g->p);
            tnk_program_emit(g->p, TNB_VM_EQ, 0, at_start, v,
                             vm_scalar(g, tn_as_range(iv->dom)->min));
            tnk_program_emit(g->p, TNB_VM_AND, 0, both, at_start,
                             first == NO_REG ? at_start : first);
            first = both;
        }
    }
    for (uint32_t i = 0; i < b->allocs.n; i++)
        allocate(g, b->allocs.at[i]);
    if (b->match_buffers.n)
        vm_error(g, &b->base, "matched buffers in host code");
    if (b->init) {
        uint32_t over =
            first == NO_REG ? NO_REG : tnk_program_emit(g->p, TNB_VM_JZ, 0, first, 0, 0);
        statement(g, b->init);
        if (over != NO_REG)
            tnk_program_patch(g->p, over, tnk_program_here(g->p));
    }
    statement(g, b->body);
    if (skip != NO_REG)
        tnk_program_patch(g->p, skip, tnk_program_here(g->p));
}

static void
declare(struct vm_gen *g, const tn_alloc_buffer *d)
{
    const tn_buffer *b = tn_as_buffer(d->buffer);
    for (uint32_t i = 0; i < g->values.n;
         i++) { /* a view of memory that exists, of the same element type */
        const tn_buffer *old = tn_as_buffer(g->values.at[i].key);
        if (old && b && old->data == b->data && tnb_dtype_eq(old->dtype, b->dtype)) {
            tnb_ptrmap_set(&g->values, d->buffer, g->values.at[i].value);
            return;
        }
    }
    vm_error(g, &d->base, "buffer '%s' views memory that host code does not know",
             b ? b->name : "?");
}

void
vm_check(struct vm_gen *g, const tn_assert_stmt *s)
{
    enum { MAX_NUMBERS = 16 };
    const tn_string_imm *text = tn_as_string_imm(s->message);
    uint32_t numbers[MAX_NUMBERS], n = 0;
    const tn_array *pair = tn_as_array(s->message);
    const tn_array *parts = pair && pair->items.n == 2 ? tn_as_array(pair->items.at[1]) : NULL;
    g->fits.n = 0;
    uint32_t cond = vm_scalar(g, s->cond);
    if (!parts && !g->fits.n) {
        tnk_program_emit_list(g->p, TNB_VM_ASSERT, cond,
                              tnk_program_text(g->p,
                                               text ? text->value : tn_text(g->ctx, s->message)),
                              NULL, 0);
        return;
    }
    /* numbers are computed only for a message: they may divide by what is wrong. Where one of the
     * condition does not fit, the condition does not hold. */
    uint32_t over = tnk_program_emit(g->p, TNB_VM_JNZ, 0, cond, 0, 0);
    PATCH_ALL(g, fits, 0, tnk_program_here(g->p));
    cond = vm_load_int(g, 0);
    tnb_buf format = {0};
    g->may_wrap = true;
    if (!parts)
        tnb_buf_puts(&format, text ? text->value : tn_text(g->ctx, s->message));
    for (uint32_t i = 0; parts && i < parts->items.n; i++) {
        const tn_node *part = parts->items.at[i];
        text = tn_as_string_imm(part);
        for (const char *c = text ? text->value : ""; *c; c++) {
            if (*c == '{' || *c == '}')
                tnb_buf_putc(&format, *c);
            tnb_buf_putc(&format, *c);
        }
        if (text || n == MAX_NUMBERS)
            continue;
        tnb_buf_puts(&format, "{}");
        numbers[n++] = TNB_VM_OPERAND(TNB_VM_INT, vm_scalar(g, part));
    }
    g->may_wrap = false;
    tnk_program_emit_list(g->p, TNB_VM_ASSERT, cond,
                          tnk_program_text(g->p, format.s ? format.s : ""), numbers, n);
    tnb_buf_free(&format);
    tnk_program_patch(g->p, over, tnk_program_here(g->p));
}

/* A call of another tensor program: a kernel is launched. Buffers are given by their data pointers.
 */
static void
call(struct vm_gen *g, const tn_call *c)
{
    struct callee *f = vm_callee(g, &c->base, tn_as_global_var(c->op)->name);
    uint32_t *args = TNB_NEW_N(g->arena, uint32_t, c->args.n);
    for (uint32_t i = 0; i < c->args.n; i++) {
        const tn_expr *a = c->args.at[i];
        uint32_t value = NO_REG;
        for (uint32_t k = 0; k < g->values.n && tn_dtype_of(a).code == TNB_HANDLE; k++) {
            const tn_buffer *b = tn_as_buffer(g->values.at[k].key);
            if (b && b->data == a)
                value = (uint32_t)((uintptr_t)g->values.at[k].value - 1);
        }
        if (value != NO_REG) {
            args[i] = TNB_VM_OPERAND(TNB_VM_VALUE, value);
        } else if (tn_dtype_of(a).code == TNB_HANDLE) {
            vm_error(g, a, "'%s' is no buffer of this host function", tn_text(g->ctx, a));
            return;
        } else {
            args[i] = TNB_VM_OPERAND(tnb_dtype_is_float(tn_dtype_of(a)) ? TNB_VM_FLOAT : TNB_VM_INT,
                                     vm_scalar(g, a));
        }
    }
    if (f && f->kernel)
        vm_launch(g, &c->base, f, args, NULL, c->args.n);
    else if (f)
        tnk_program_emit_list(g->p, TNB_VM_CALL, tnk_program_value_reg(g->p), f->function, args,
                              c->args.n);
}

/* An expression for its effect: a kernel's launch, a result. */
static void
evaluate(struct vm_gen *g, const tn_evaluate *s)
{
    const tn_call *c = tn_as_call(s->value);
    if (c && tn_as_global_var(c->op))
        call(g, c);
    else if (c && tn_is_intrin(s->value, TN_INTRIN_ret))
        give_back(g, c->args.n ? c->args.at[0] : NULL);
    else if (s->value && tn_is_scalar(s->value))
        vm_scalar(g, s->value);
}

static void
statement(struct vm_gen *g, const tn_stmt *s)
{
    switch ((int)s->kind) {
    case TN_KIND_SEQ:
        for (uint32_t i = 0; i < tn_as_seq(s)->stmts.n; i++)
            statement(g, tn_as_seq(s)->stmts.at[i]);
        break;
    case TN_KIND_BUFFER_STORE:
        store(g, tn_as_buffer_store(s));
        break;
    case TN_KIND_BIND:
        vm_define_scalar(g, tn_as_bind(s)->var, vm_scalar(g, tn_as_bind(s)->value));
        break;
    case TN_KIND_ALLOC_BUFFER:
        allocate(g, tn_as_alloc_buffer(s)->buffer);
        break;
    case TN_KIND_DECL_BUFFER:
        declare(g, tn_as_alloc_buffer(s));
        break;
    case TN_KIND_ATTR_STMT:
        statement(g, tn_as_attr_stmt(s)->body);
        break;
    case TN_KIND_ASSERT:
        vm_check(g, tn_as_assert_stmt(s));
        break;
    case TN_KIND_EVALUATE:
        evaluate(g, tn_as_evaluate(s));
        break;
    case TN_KIND_RETURN:
        give_back(g, tn_as_evaluate(s)->value);
        break;
    case TN_KIND_IF_STMT:
        branch(g, tn_as_if_stmt(s));
        break;
    case TN_KIND_FOR:
        loop(g, tn_as_for_loop(s));
        break;
    case TN_KIND_WHILE:
        while_loop(g, tn_as_while_loop(s));
        break;
    case TN_KIND_BREAK:
        TNB_PUSH(g->arena, g->breaks, tnk_program_emit(g->p, TNB_VM_JMP, 0, 0, 0, 0));
        break;
    case TN_KIND_CONTINUE:
        TNB_PUSH(g->arena, g->continues, tnk_program_emit(g->p, TNB_VM_JMP, 0, 0, 0, 0));
        break;
    case TN_KIND_BLOCK_REALIZE:
        block(g, tn_as_block_realize(s));
        break;
    default:
        vm_error(g, s, "host code has no statement of kind %s", tn_kinds[s->kind].name);
    }
}

/* Extents that are variables are read from the tensors given. */
static void
bind_extents(struct vm_gen *g, const tn_buffer *b, uint32_t value)
{
    for (uint32_t d = 0; d < b->shape.n; d++) {
        const tn_expr *e = b->shape.at[d];
        if (!tn_is_var(e) || tnb_ptrmap_has(&g->scalars, e))
            continue;
        uint32_t r = tnk_program_scalar_reg(g->p);
        tnk_program_emit(g->p, TNB_VM_DIM, 0, r, value, d);
        vm_define_scalar(g, e, r);
    }
}

static tn_walk_step
note_given(void *user, const tn_node *n)
{
    struct vm_gen *g = user;
    const tn_call *c = tn_as_call(n);
    for (uint32_t i = 0; c && tn_as_global_var(c->op) && i < c->args.n; i++)
        tnb_ptrmap_set(&g->on_device, c->args.at[i], (void *)(uintptr_t)1);
    return TN_WALK_ON;
}

void
vm_host_func(struct vm_gen *g, const struct callee *c)
{
    const tn_prim_func *f = tn_as_prim_func(c->func);
    tnb_ptrmap_init(&g->on_device, g->arena);
    tn_walk(f->body, TN_WALK_ONCE, note_given, NULL, g);
    tnk_program_begin(g->p, c->function);
    for (uint32_t i = 0; i < f->params.n; i++) {
        const tn_node *buffer = i < f->buffers.n ? f->buffers.at[i] : NULL;
        if (buffer) {
            define_buffer(g, buffer, i);
            continue;
        }
        uint32_t r = tnk_program_scalar_reg(g->p);
        tnk_program_emit(g->p,
                         tnb_dtype_is_float(tn_dtype_of(f->params.at[i])) ? TNB_VM_UNBOXF
                                                                          : TNB_VM_UNBOXI,
                         0, r, i, 0);
        vm_define_scalar(g, f->params.at[i], r);
    }
    for (uint32_t i = 0; i < f->buffers.n; i++)
        if (f->buffers.at[i])
            bind_extents(g, tn_as_buffer(f->buffers.at[i]), i);
    statement(g, f->body);
    give_back(g, NULL);
    tnk_program_end(g->p);
}
