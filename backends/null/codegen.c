/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* The null backend, compiler half: from lowered kernels to the code of code.h, one walk over
 * statements and expressions. */
#include "null.h"

#include "code.h"

typedef TNB_VEC(uint32_t) jumps;

struct gen {
    tn_ctx *ctx;
    const tnk_kernel *kernel;
    tnb_arena *arena;
    TNB_VEC(null_insn) insns;
    TNB_VEC(const tn_node *) buffers; /* data pointers: parameters, then allocations */
    tnb_ptrmap locals;                /* Var -> index + 1 */
    uint32_t n_locals;
    jumps breaks, continues; /* of the loops that are open */
    bool failed;
};

static void
expr(struct gen *g, const tn_expr *e);
static void
stmt(struct gen *g, const tn_stmt *s);

static void
refuse(struct gen *g, const tn_node *n)
{
    tn_error(g->ctx, n->loc, TNB_UNSUPPORTED, "the null target cannot express this: %s",
             tn_kinds[n->kind].name);
    g->failed = true;
}

/* ---- instructions ---- */

static uint32_t
emit(struct gen *g, enum null_op op, tnb_dtype d, uint32_t arg)
{
    null_insn in = {.op = (uint16_t)op, .code = d.code, .bits = d.bits, .arg = arg};
    TNB_PUSH(g->arena, g->insns, in);
    return g->insns.n - 1;
}

/* The next instruction is where this jump, or all jumps from the n-th on, lead. */
static void
land(struct gen *g, uint32_t jump)
{
    g->insns.at[jump].arg = g->insns.n;
}

static void
land_all(struct gen *g, jumps *j, uint32_t n)
{
    while (j->n > n)
        land(g, j->at[--j->n]);
}

static void
push(struct gen *g, null_value v)
{
    uint32_t at = emit(g, NULL_CONST, TNB_I64, 0);
    g->insns.at[at].value = v;
}

static uint32_t
local(struct gen *g, const tn_node *var)
{
    uintptr_t known = (uintptr_t)tnb_ptrmap_get(&g->locals, var);
    if (known)
        return (uint32_t)known - 1;
    tnb_ptrmap_set(&g->locals, var, (void *)(uintptr_t)(g->n_locals + 1));
    return g->n_locals++;
}

/* A LOAD or STORE behind the value that it stores: pushes the index. */
static void
access_element(struct gen *g, enum null_op op, const tn_node *at, const tn_buffer *b,
               tn_list indices)
{
    uint32_t slot = 0;
    while (slot < g->buffers.n && g->buffers.at[slot] != b->data)
        slot++;
    if (slot == g->buffers.n || indices.n > 1)
        refuse(g, at);
    if (indices.n)
        expr(g, indices.at[0]);
    else
        push(g, (null_value){.i = 0});
    emit(g, op, b->dtype, slot);
}

/* ---- expressions: each leaves its value on the stack ---- */

/* c ? a : b, with only the chosen side evaluated; `and` and `or` are such choices too. */
static void
choice(struct gen *g, const tn_expr *c, const tn_expr *a, const tn_expr *b)
{
    expr(g, c);
    uint32_t otherwise = emit(g, NULL_JUMP_IF_NOT, TNB_B8, 0);
    expr(g, a);
    uint32_t end = emit(g, NULL_JUMP, TNB_B8, 0);
    land(g, otherwise);
    expr(g, b);
    land(g, end);
}

static void
call(struct gen *g, const tn_call *c)
{
    static const struct {
        enum null_op op;
        uint32_t arg, n; /* n: arguments; 0: not in the table */
    } table[TN_INTRIN_COUNT] = {[TN_INTRIN_bitwise_and] = {NULL_BIT_AND, 0, 2},
                                [TN_INTRIN_bitwise_or] = {NULL_BIT_OR, 0, 2},
                                [TN_INTRIN_bitwise_xor] = {NULL_BIT_XOR, 0, 2},
                                [TN_INTRIN_bitwise_not] = {NULL_BIT_NOT, 0, 1},
                                [TN_INTRIN_abs] = {NULL_ABS, 0, 1},
                                [TN_INTRIN_shift_left] = {NULL_SHL, 0, 2},
                                [TN_INTRIN_shift_right] = {NULL_SHR, 0, 2},
#define X(name, n) [TN_INTRIN_##name] = {n == 1 ? NULL_MATH1 : NULL_MATH2, TNB_VM_MATH_##name, n},
                                TNB_VM_MATHS(X)
#undef X
    };
    tn_intrin_id id = tn_intrin_of(&c->base);
    tnb_dtype d = c->args.n ? tn_dtype_of(c->args.at[0]) : TNB_VOID;
    if (id == TN_INTRIN_if_then_else) {
        choice(g, c->args.at[0], c->args.at[1], c->args.at[2]);
        return;
    }
    if (id == TN_INTRIN_index_in) {
        const char *const *checks, *site = tn_as_string_imm(c->args.at[3])->value;
        uint32_t n = tnk_kernel_checks(g->ctx, g->kernel, &checks), i = 0;
        while (i < n && strcmp(checks[i], site))
            i++;
        expr(g, c->args.at[0]);
        expr(g, c->args.at[1]);
        emit(g, NULL_INDEX, d, i << 1 | !tn_is_int_const(c->args.at[2], 0));
        return;
    }
    if (id == TN_INTRIN_likely) {
        expr(g, c->args.at[0]);
        return;
    }
    enum null_op op = table[id].op;
    if (!table[id].n || c->args.n != table[id].n || (op >= NULL_MATH1 && !tnb_dtype_is_float(d))) {
        refuse(g, &c->base);
        return;
    }
    for (uint32_t k = 0; k < c->args.n; k++) {
        expr(g, c->args.at[k]);
        if (op == NULL_MATH2 && !tnb_dtype_is_float(tn_dtype_of(c->args.at[k])))
            emit(g, NULL_CAST, TNB_F64, TNB_VM_DTYPE(tn_dtype_of(c->args.at[k])));
    }
    emit(g, op, d, table[id].arg);
    if (op == NULL_MATH1 && tnb_dtype_is_bool(tn_dtype_of(&c->base)))
        emit(g, NULL_CAST, TNB_B8, TNB_VM_DTYPE(d));
}

static void
expr(struct gen *g, const tn_expr *e)
{
    if (tn_dtype_of(e).lanes > 1) {
        refuse(g, e);
        return;
    }
    switch ((int)e->kind) {
    case TN_KIND_INT_IMM:
        push(g, (null_value){.i = tn_as_int_imm(e)->value});
        break;
    case TN_KIND_FLOAT_IMM:
        push(g, (null_value){.f = tn_as_float_imm(e)->value});
        break;
    case TN_KIND_VAR:
        emit(g, NULL_GET, tn_dtype_of(e), local(g, e));
        break;
    case TN_KIND_CAST:
        expr(g, tn_as_cast(e)->value);
        emit(g, NULL_CAST, tn_dtype_of(e), TNB_VM_DTYPE(tn_dtype_of(tn_as_cast(e)->value)));
        break;
    case TN_KIND_NOT:
        expr(g, tn_as_unary(e)->a);
        emit(g, NULL_NOT, TNB_B8, 0);
        break;
    case TN_KIND_AND:
        choice(g, tn_as_binary(e)->a, tn_as_binary(e)->b, tn_bool(g->ctx, false));
        break;
    case TN_KIND_OR:
        choice(g, tn_as_binary(e)->a, tn_bool(g->ctx, true), tn_as_binary(e)->b);
        break;
    case TN_KIND_SELECT:
        choice(g, tn_as_select(e)->cond, tn_as_select(e)->a, tn_as_select(e)->b);
        break;
    case TN_KIND_LET:
        expr(g, tn_as_let(e)->value);
        emit(g, NULL_SET, TNB_I64, local(g, tn_as_let(e)->var));
        expr(g, tn_as_let(e)->body);
        break;
    case TN_KIND_BUFFER_LOAD:
        access_element(g, NULL_LOAD, e, tn_as_buffer(tn_as_buffer_load(e)->buffer),
                       tn_as_buffer_load(e)->indices);
        break;
    case TN_KIND_CALL:
        call(g, tn_as_call(e));
        break;
    default:
        if (e->kind >= TN_KIND_ADD && e->kind <= TN_KIND_GE) {
            expr(g, tn_as_binary(e)->a);
            expr(g, tn_as_binary(e)->b);
            emit(g, (enum null_op)(NULL_ADD + (e->kind - TN_KIND_ADD)),
                 tn_dtype_of(tn_as_binary(e)->a), 0);
        } else {
            refuse(g, e);
        }
    }
}

/* ---- statements ---- */

static void
loop(struct gen *g, const tn_for_loop *f)
{
    uint32_t var = local(g, f->var), end = g->n_locals++, b0 = g->breaks.n, c0 = g->continues.n;
    tnb_dtype d = tn_dtype_of(f->var);
    if (f->for_kind == TN_FOR_THREAD_BINDING)
        refuse(g, &f->base);
    expr(g, f->min);
    emit(g, NULL_SET, d, var);
    expr(g, f->extent);
    expr(g, f->min);
    emit(g, NULL_ADD, d, 0);
    emit(g, NULL_SET, d, end);
    uint32_t top = g->insns.n;
    emit(g, NULL_GET, d, var);
    emit(g, NULL_GET, d, end);
    emit(g, NULL_LT, d, 0);
    uint32_t out = emit(g, NULL_JUMP_IF_NOT, TNB_B8, 0);
    stmt(g, f->body);
    land_all(g, &g->continues, c0);
    emit(g, NULL_GET, d, var);
    push(g, (null_value){.i = 1});
    emit(g, NULL_ADD, d, 0);
    emit(g, NULL_SET, d, var);
    emit(g, NULL_JUMP, TNB_B8, top);
    land(g, out);
    land_all(g, &g->breaks, b0);
}

static void
while_loop(struct gen *g, const tn_while_loop *w)
{
    uint32_t top = g->insns.n, b0 = g->breaks.n, c0 = g->continues.n;
    expr(g, w->cond);
    uint32_t out = emit(g, NULL_JUMP_IF_NOT, TNB_B8, 0);
    stmt(g, w->body);
    land_all(g, &g->continues, c0);
    emit(g, NULL_JUMP, TNB_B8, top);
    land(g, out);
    land_all(g, &g->breaks, b0);
}

static void
alloc(struct gen *g, const tn_alloc_buffer *a)
{
    const tn_buffer *b = tn_as_buffer(a->buffer);
    push(g, (null_value){.i = (int64_t)tnb_dtype_bytes(b->dtype)});
    for (uint32_t i = 0; i < b->shape.n; i++) {
        expr(g, b->shape.at[i]);
        emit(g, NULL_MUL, TNB_I64, 0);
    }
    TNB_PUSH(g->arena, g->buffers, b->data);
    emit(g, NULL_ALLOC, b->dtype, g->buffers.n - 1);
}

static void
branch(struct gen *g, const tn_if_stmt *s)
{
    expr(g, s->cond);
    uint32_t otherwise = emit(g, NULL_JUMP_IF_NOT, TNB_B8, 0);
    stmt(g, s->then_case);
    uint32_t end = emit(g, NULL_JUMP, TNB_B8, 0);
    land(g, otherwise);
    if (s->else_case)
        stmt(g, s->else_case);
    land(g, end);
}

static void
stmt(struct gen *g, const tn_stmt *s)
{
    switch ((int)s->kind) {
    case TN_KIND_SEQ:
        for (uint32_t i = 0; i < tn_as_seq(s)->stmts.n; i++)
            stmt(g, tn_as_seq(s)->stmts.at[i]);
        break;
    case TN_KIND_BUFFER_STORE:
        expr(g, tn_as_buffer_store(s)->value);
        access_element(g, NULL_STORE, s, tn_as_buffer(tn_as_buffer_store(s)->buffer),
                       tn_as_buffer_store(s)->indices);
        break;
    case TN_KIND_BIND:
        expr(g, tn_as_bind(s)->value);
        emit(g, NULL_SET, TNB_I64, local(g, tn_as_bind(s)->var));
        break;
    case TN_KIND_ALLOC_BUFFER:
        alloc(g, tn_as_alloc_buffer(s));
        break;
    case TN_KIND_DECL_BUFFER: /* a view of memory that is there: found by its data pointer */
        break;
    case TN_KIND_ATTR_STMT:
        stmt(g, tn_as_attr_stmt(s)->body);
        break;
    case TN_KIND_ASSERT:
        expr(g, tn_as_assert_stmt(s)->cond);
        emit(g, NULL_ASSERT, TNB_B8, 0);
        break;
    case TN_KIND_EVALUATE:
        if (tn_is_intrin(tn_as_evaluate(s)->value, TN_INTRIN_index_in)) { /* for what it refuses */
            expr(g, tn_as_evaluate(s)->value);
            emit(g, NULL_SET, TNB_I64, local(g, s));
        } else if (!tn_is(tn_as_evaluate(s)->value, TN_KIND_INT_IMM) &&
                   !tn_is_intrin(tn_as_evaluate(s)->value, TN_INTRIN_assume)) {
            refuse(g, s);
        }
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
        TNB_PUSH(g->arena, g->breaks, emit(g, NULL_JUMP, TNB_B8, 0));
        break;
    case TN_KIND_CONTINUE:
        TNB_PUSH(g->arena, g->continues, emit(g, NULL_JUMP, TNB_B8, 0));
        break;
    default:
        refuse(g, s);
    }
}

/* ---- kernels ---- */

static bool
kernel(tn_ctx *ctx, const tnk_kernel *k, tnb_buf *out)
{
    struct gen g = {.ctx = ctx, .kernel = k, .arena = tn_arena(ctx)};
    tnb_ptrmap_init(&g.locals, g.arena);
    const tnk_param *p;
    uint32_t n_buffers = 0, n_scalars = 0;
    for (uint32_t i = 0; (p = tnk_next_param(k, TNB_PARAM_SCALAR, &i)); n_scalars++)
        local(&g, p->var);
    for (uint32_t i = 0; (p = tnk_next_memory(k, &i)); n_buffers++)
        TNB_PUSH(g.arena, g.buffers, tn_as_buffer(p->buffer)->data);
    for (uint32_t i = 0; (p = tnk_next_param(k, TNB_PARAM_TENSOR_MAP, &i));)
        refuse(&g, p->var);
    stmt(&g, tn_as_prim_func(k->func)->body);
    emit(&g, NULL_END, TNB_B8, 0);
    null_kernel head = {.n_insns = g.insns.n,
                        .n_buffers = n_buffers,
                        .n_allocs = g.buffers.n - n_buffers,
                        .n_scalars = n_scalars,
                        .n_locals = g.n_locals};
    if (strlen(k->name) >= NULL_NAME || g.n_locals > NULL_MAX_LOCALS ||
        g.buffers.n > NULL_MAX_BUFFERS) {
        tn_error(ctx, k->func->loc, TNB_UNSUPPORTED, "kernel '%s' is too large for the null device",
                 k->name);
        return false;
    }
    memcpy(head.name, k->name, strlen(k->name));
    tnb_buf_put(out, &head, sizeof head);
    tnb_buf_put(out, g.insns.at, g.insns.n * sizeof *g.insns.at);
    return !g.failed;
}

static tnb_status
build(void *self, tnk_build *b, tnk_kernel *kernels, uint32_t n, tnk_code *out)
{
    null_file file = {.magic = NULL_MAGIC, .n_kernels = n};
    tnb_buf bytes = {0};
    bool ok = true;
    (void)self;
    tnb_buf_put(&bytes, &file, sizeof file);
    for (uint32_t i = 0; i < n; i++)
        ok &= kernel(b->ctx, &kernels[i], &bytes);
    ok &= !bytes.failed;
    if (ok)
        *out = (tnk_code){.format = "null",
                          .bytes = tnb_dup(tn_arena(b->ctx), bytes.s, bytes.n),
                          .n_bytes = bytes.n};
    tnb_buf_free(&bytes);
    return ok ? TNB_OK : TNB_UNSUPPORTED;
}

const tnk_codegen null_codegen = {.size = sizeof(tnk_codegen), .name = "null", .build = build};
