/* SPDX-License-Identifier: Apache-2.0 */
/* Graph functions in VM form as VM functions.
 *
 *     storage = R.vm.alloc_storage(R.shape([4096]), 0, "uint8", "global")     ALLOCS
 *     t = R.vm.alloc_tensor(storage, 0, R.shape([32, 32]), "float32", 0)      ALLOCT
 *     _ = cls.matmul(x, w, t)                                                 LAUNCH
 *     _ = R.vm.kill_object(storage)                                           KILL
 *     return cls.loop(i, t)      (in cls.loop)                                TAIL
 *
 * Every variable has a register of its own until it is killed; registers of the dead are used again at the same depth of
 * nested Ifs. A variable bound to another one gets a copy of the reference, so that both may be killed.
 */
#include "vm_private.h"

#include "tenon/core/walk.h"

static uint32_t
operand(struct vm_gen *g, const tn_expr *e);
static void
body(struct vm_gen *g, const tn_expr *e, bool tail, uint32_t dst);

/* ---- registers ---- */

static uint32_t
new_value(struct vm_gen *g)
{
    return g->free_values.n ? g->free_values.at[--g->free_values.n] : tnk_program_value_reg(g->p);
}

static void
define(struct vm_gen *g, const tn_node *var, uint32_t reg)
{
    tnb_ptrmap_set(&g->values, var, (void *)(uintptr_t)(TNB_VM_OPERAND(TNB_VM_VALUE, reg) + 1));
    tnb_ptrmap_set(&g->depths, var, (void *)(uintptr_t)(g->depth + 1));
}

/* The register of an operand; constants are put into one. */
static uint32_t
in_register(struct vm_gen *g, uint32_t o)
{
    uint32_t r;
    switch (TNB_VM_OPERAND_KIND(o)) {
    case TNB_VM_VALUE:
        return TNB_VM_OPERAND_INDEX(o);
    case TNB_VM_CONST_:
        r = tnk_program_value_reg(g->p);
        tnk_program_emit(g->p, TNB_VM_CONST, 0, r, TNB_VM_OPERAND_INDEX(o), 0);
        return r;
    default:
        r = tnk_program_value_reg(g->p);
        tnk_program_emit(g->p, TNB_VM_OPERAND_KIND(o) == TNB_VM_INT ? TNB_VM_BOXI : TNB_VM_BOXF, 0,
                         r, TNB_VM_OPERAND_INDEX(o), 0);
        return r;
    }
}

/* ---- leaves ---- */

static uint32_t
const_operand(uint32_t index)
{
    return TNB_VM_OPERAND(TNB_VM_CONST_, index);
}

static uint32_t
tensor_constant(struct vm_gen *g, const tn_constant *c)
{
    uintptr_t known = (uintptr_t)tnb_ptrmap_get(&g->consts, c->data);
    uint64_t offset;
    if (known)
        return const_operand((uint32_t)(known - 1));
    tn_loc before = tn_at(g->ctx, c->base.loc);
    bool put = g->in->constants.put(g->in->constants.user, g->ctx, c->data, &offset);
    tn_at(g->ctx, before);
    if (!put) {
        g->failed = true;
        return const_operand(0);
    }
    uint32_t i = tnk_program_tensor(g->p, c->data->dtype, c->data->shape, (uint32_t)c->data->ndim,
                                    offset, c->data->n_bytes);
    tnb_ptrmap_set(&g->consts, c->data, (void *)(uintptr_t)(i + 1));
    return const_operand(i);
}

static uint32_t
shape_operand(struct vm_gen *g, const tn_shape_expr *s)
{
    int64_t *dims = TNB_NEW_N(g->arena, int64_t, s->values.n);
    uint32_t *regs = TNB_NEW_N(g->arena, uint32_t, s->values.n);
    bool constant = true;
    for (uint32_t i = 0; i < s->values.n; i++)
        constant &= tn_int_value(s->values.at[i], &dims[i]);
    if (constant)
        return const_operand(tnk_program_shape(g->p, dims, s->values.n));
    for (uint32_t i = 0; i < s->values.n; i++)
        regs[i] = TNB_VM_OPERAND(TNB_VM_INT, vm_scalar(g, s->values.at[i]));
    uint32_t v = tnk_program_value_reg(g->p);
    tnk_program_emit_list(g->p, TNB_VM_SHAPE, v, 0, regs, s->values.n);
    return TNB_VM_OPERAND(TNB_VM_VALUE, v);
}

struct callee *
vm_callee(struct vm_gen *g, const tn_node *at, const char *name)
{
    struct callee *c = tnb_strmap_get(&g->callees, name);
    if (!c)
        vm_error(g, at, "the module has no function '%s'", name);
    return c;
}

static uint32_t
function_value(struct vm_gen *g, const tn_expr *e)
{
    struct callee *c = vm_callee(g, e, tn_as_global_var(e)->name);
    if (!c)
        return const_operand(0);
    if (c->function == NO_REG) {
        c->function = tnk_program_function(g->p, c->name, 0, tn_as_prim_func(c->func)->params.n);
        TNB_PUSH(g->arena, g->wrappers, c);
    }
    return const_operand(tnk_program_value(g->p, TNB_TNO_FUNCTION, TNB_VOID, c->function));
}

static uint32_t
list_operands(struct vm_gen *g, tn_list l, uint32_t **out)
{
    uint32_t *o = TNB_NEW_N(g->arena, uint32_t, l.n);
    for (uint32_t i = 0; i < l.n; i++)
        o[i] = operand(g, l.at[i]);
    *out = o;
    return l.n;
}

static uint32_t
tuple_operand(struct vm_gen *g, const tn_tuple *t)
{
    uint32_t *items, n = list_operands(g, t->fields, &items), v = tnk_program_value_reg(g->p);
    tnk_program_emit_list(g->p, TNB_VM_TUPLE, v, 0, items, n);
    return TNB_VM_OPERAND(TNB_VM_VALUE, v);
}

static uint32_t
literal(struct vm_gen *g, const tn_expr *e)
{
    tnb_dtype d = tn_dtype_of(e);
    if (e->kind == TN_KIND_INT_IMM)
        return const_operand(tnk_program_value(g->p,
                                               tnb_dtype_is_bool(d) ? TNB_TNO_BOOL : TNB_TNO_INT, d,
                                               (uint64_t)tn_as_int_imm(e)->value));
    uint64_t bits;
    memcpy(&bits, &tn_as_float_imm(e)->value, sizeof bits);
    return const_operand(tnk_program_value(g->p, TNB_TNO_FLOAT, d, bits));
}

/* An argument: a leaf of the graph, or a small expression over leaves. */
static uint32_t
operand(struct vm_gen *g, const tn_expr *e)
{
    switch ((int)e->kind) {
    case TN_KIND_VAR:
    case TN_KIND_DATAFLOW_VAR: {
        uintptr_t known = (uintptr_t)tnb_ptrmap_get(&g->values, e);
        tnb_ptrmap_remove(&g->fresh, e);
        if (known)
            return (uint32_t)(known - 1);
        vm_error(g, e, "variable '%s' has no value here", tn_var_name(e));
        return const_operand(0);
    }
    case TN_KIND_CONSTANT:
        return tensor_constant(g, tn_as_constant(e));
    case TN_KIND_SHAPE_EXPR:
        return shape_operand(g, tn_as_shape_expr(e));
    case TN_KIND_INT_IMM:
    case TN_KIND_FLOAT_IMM:
        return literal(g, e);
    case TN_KIND_STRING_IMM:
        return const_operand(tnk_program_string(g->p, tn_as_string_imm(e)->value));
    case TN_KIND_DTYPE_IMM:
        if (tnb_dtype_is_void(tn_as_dtype_imm(e)->value))
            return const_operand(tnk_program_value(g->p, TNB_TNO_NULL, TNB_VOID, 0));
        return const_operand(tnk_program_value(g->p, TNB_TNO_DTYPE, tn_as_dtype_imm(e)->value, 0));
    case TN_KIND_GLOBAL_VAR:
        return function_value(g, e);
    case TN_KIND_TUPLE:
        return tuple_operand(g, tn_as_tuple(e));
    case TN_KIND_NONE:
        return const_operand(tnk_program_value(g->p, TNB_TNO_NULL, TNB_VOID, 0));
    case TN_KIND_TUPLE_GET: {
        uint32_t v = tnk_program_value_reg(g->p);
        tnk_program_emit(g->p, TNB_VM_GET, 0, v,
                         in_register(g, operand(g, tn_as_tuple_get(e)->tuple)),
                         (uint32_t)tn_as_tuple_get(e)->index);
        return TNB_VM_OPERAND(TNB_VM_VALUE, v);
    }
    case TN_KIND_CALL:
        if (tn_is_call_to(e, "relax.null_value"))
            return const_operand(tnk_program_value(g->p, TNB_TNO_NULL, TNB_VOID, 0));
        break;
    default:
        break;
    }
    if (tn_is_scalar(e)) {
        uint32_t s = vm_scalar(g, e);
        return TNB_VM_OPERAND(tnb_dtype_is_float(tn_dtype_of(e)) ? TNB_VM_FLOAT : TNB_VM_INT, s);
    }
    vm_error(g, e, "an argument of kind %s is not in virtual-machine form: %s",
             tn_kinds[e->kind].name, tn_text(g->ctx, e));
    return const_operand(0);
}

/* An operand as a scalar register. */
static uint32_t
scalar_operand(struct vm_gen *g, uint32_t o, tnb_dtype d)
{
    if (TNB_VM_OPERAND_KIND(o) == TNB_VM_INT || TNB_VM_OPERAND_KIND(o) == TNB_VM_FLOAT)
        return TNB_VM_OPERAND_INDEX(o);
    uint32_t r = tnk_program_scalar_reg(g->p);
    tnk_program_emit(g->p, tnb_dtype_is_float(d) ? TNB_VM_UNBOXF : TNB_VM_UNBOXI, 0, r,
                     in_register(g, o), 0);
    return r;
}

/* ---- launches ---- */

uint32_t
vm_kernel_flags(const tnk_kernel *k)
{
    if (!k->grid[0] && !k->block[0])
        return 0;
    return TNB_TNO_GRID | (k->cluster[0] ? TNB_TNO_CLUSTER : 0) |
           (k->dyn_shared_bytes ? TNB_TNO_SHARED : 0) | (k->cooperative ? TNB_TNO_COOPERATIVE : 0) |
           (k->programmatic ? TNB_TNO_PROGRAMMATIC : 0);
}

uint32_t
vm_argument(const tn_prim_func *f, bool buffer, uint32_t index)
{
    for (uint32_t i = 0; i < f->params.n; i++) {
        bool is_buffer = i < f->buffers.n && f->buffers.at[i];
        if (is_buffer == buffer && index-- == 0)
            return i;
    }
    return UINT32_MAX;
}

/* A launch in the making. */
typedef struct vm_launching {
    const tn_node *at;
    const struct callee *callee;
    const uint32_t *args;
    tnb_ptrmap known; /* variables of the PrimFunc -> scalar register + 1 */
    TNB_VEC(uint32_t) ops;
} vm_launching;

/* The register of a variable that the PrimFunc's arguments give. */
static uint32_t
given(struct vm_gen *g, vm_launching *l, const tn_expr *var)
{
    const tn_prim_func *f = tn_as_prim_func(l->callee->func);
    uintptr_t known = (uintptr_t)tnb_ptrmap_get(&l->known, var);
    uint32_t r = NO_REG;
    if (known)
        return (uint32_t)known - 1;
    for (uint32_t i = 0; i < f->params.n && r == NO_REG; i++)
        if (f->params.at[i] == var)
            r = scalar_operand(g, l->args[i], tn_dtype_of(var));
    for (uint32_t i = 0; i < f->buffers.n && r == NO_REG; i++) {
        const tn_buffer *b = tn_as_buffer(f->buffers.at[i]);
        for (uint32_t d = 0; b && d < b->shape.n + b->strides.n && r == NO_REG; d++) {
            bool stride = d >= b->shape.n;
            uint32_t axis = stride ? d - b->shape.n : d;
            if ((stride ? b->strides.at[axis] : b->shape.at[axis]) != var)
                continue;
            r = tnk_program_scalar_reg(g->p);
            tnk_program_emit(g->p, stride ? TNB_VM_STRIDE : TNB_VM_DIM, 0, r,
                             in_register(g, l->args[i]), axis);
        }
    }
    if (r == NO_REG) {
        vm_error(g, l->at, "kernel '%s' needs '%s', which its function does not give",
                 l->callee->kernel->name, tn_var_name(var));
        return 0;
    }
    tnb_ptrmap_set(&l->known, var, (void *)(uintptr_t)(r + 1));
    return r;
}

/* The register of an expression of the host. */
static uint32_t
host_value(struct vm_gen *g, vm_launching *l, const tn_expr *e)
{
    if (tn_is(e, TN_KIND_VAR))
        return given(g, l, e);
    tn_list fv = tn_free_vars(g->ctx, e, true);
    for (uint32_t i = 0; i < fv.n; i++)
        vm_define_scalar(g, fv.at[i], given(g, l, fv.at[i]));
    return vm_scalar(g, e);
}

static void
push_operand(struct vm_gen *g, vm_launching *l, uint32_t o)
{
    TNB_PUSH(g->arena, l->ops, o);
}

static void
push_int(struct vm_gen *g, vm_launching *l, uint32_t reg)
{
    push_operand(g, l, TNB_VM_OPERAND(TNB_VM_INT, reg));
}

/* What the kernel takes for granted. */
static void
push_checks(struct vm_gen *g, vm_launching *l)
{
    const tnk_kernel *k = l->callee->kernel;
    for (uint32_t i = 0; i < k->n_checks; i++) {
        tn_list fv = tn_free_vars(g->ctx, k->checks[i], true);
        for (uint32_t v = 0; v < fv.n; v++)
            vm_define_scalar(g, fv.at[v], given(g, l, fv.at[v]));
        vm_check(g, tn_as_assert_stmt(k->checks[i]));
    }
}

/* The tensor that is the parameter's memory; which argument of the call it is. */
static uint32_t
push_memory(struct vm_gen *g, vm_launching *l, const tnk_param *p)
{
    uint32_t arg = vm_argument(tn_as_prim_func(l->callee->func), true, p->argument);
    if (arg == UINT32_MAX) {
        vm_error(g, l->at, "kernel '%s' has a buffer that its function does not give",
                 l->callee->kernel->name);
        return 0;
    }
    push_operand(g, l, l->args[arg]);
    if (TNB_VM_OPERAND_KIND(l->args[arg]) != TNB_VM_VALUE &&
        TNB_VM_OPERAND_KIND(l->args[arg]) != TNB_VM_CONST_)
        vm_error(g, l->at, "argument %u of '%s' must be a tensor", arg, l->callee->name);
    return arg;
}

static void
push_scalar(struct vm_gen *g, vm_launching *l, const tnk_param *p)
{
    uint32_t r = host_value(g, l, p->value);
    push_operand(g, l, TNB_VM_OPERAND(tnb_dtype_is_float(p->dtype) ? TNB_VM_FLOAT : TNB_VM_INT, r));
    if (vm_kernel_flags(l->callee->kernel))
        vm_define_scalar(g, p->var, r);
}

static void
push_list(struct vm_gen *g, vm_launching *l, tn_list values)
{
    for (uint32_t i = 0; i < values.n; i++)
        push_int(g, l, host_value(g, l, values.at[i]));
}

/* Grid, block and what follows; a grid without blocks or threads is no launch, so `over` gets jumps that leave it out. */
static void
push_sizes(struct vm_gen *g, vm_launching *l, uint32_t over[6], uint32_t *n_over)
{
    const tnk_kernel *k = l->callee->kernel;
    uint32_t flags = vm_kernel_flags(k), first = l->ops.n;
    for (int i = 0; flags & TNB_TNO_GRID && i < 6; i++) {
        const tn_expr *e = i < 3 ? k->grid[i] : k->block[i - 3];
        push_int(g, l, e ? vm_scalar(g, e) : vm_load_int(g, 1));
    }
    for (int i = 0; flags & TNB_TNO_CLUSTER && i < 3; i++)
        push_int(g, l, k->cluster[i] ? host_value(g, l, k->cluster[i]) : vm_load_int(g, 1));
    if (flags & TNB_TNO_SHARED)
        push_int(g, l, host_value(g, l, k->dyn_shared_bytes));
    for (uint32_t i = 0; flags & TNB_TNO_GRID && i < 6; i++) {
        const tn_expr *extent = i < 3 ? k->grid[i] : k->block[i - 3];
        int64_t fixed = 1;
        if (!extent || (tn_int_value(extent, &fixed) && fixed > 0))
            continue;
        uint32_t size = TNB_VM_OPERAND_INDEX(l->ops.at[first + i]),
                 ok = tnk_program_scalar_reg(g->p);
        tnk_program_emit(g->p, TNB_VM_LT, 0, ok, vm_load_int(g, 0), size);
        over[(*n_over)++] = tnk_program_emit(g->p, TNB_VM_JZ, 0, ok, 0, 0);
    }
}

void
vm_launch(struct vm_gen *g, const tn_node *at, const struct callee *c, const uint32_t *args,
          const bool *fresh, uint32_t n)
{
    const tnk_kernel *k = c->kernel;
    const tn_prim_func *f = tn_as_prim_func(c->func);
    vm_launching l = {.at = at, .callee = c, .args = args};
    uint32_t empty = 0, over[6], n_over = 0;
    tnb_ptrmap_init(&l.known, g->arena);
    if (n != f->params.n) {
        vm_error(g, at, "'%s' takes %u arguments, %u are given", c->name, f->params.n, n);
        return;
    }
    push_checks(g, &l);
    for (uint32_t i = 0; i < k->n_params; i++) {
        const tnk_param *p = &k->params[i];
        if (tnb_param_is_memory(p->kind)) {
            uint32_t arg = push_memory(g, &l, p);
            if (fresh && fresh[arg] && i < 32)
                empty |= 1u << i;
        } else if (p->kind == TNB_PARAM_SCALAR) {
            push_scalar(g, &l, p);
        } else if (p->kind == TNB_PARAM_TENSOR_MAP) {
            push_memory(g, &l, p);
            push_list(g, &l, p->extents);
            push_list(g, &l, p->strides);
        }
    }
    push_sizes(g, &l, over, &n_over);
    tnk_program_emit_list(g->p, TNB_VM_LAUNCH, empty, c->kernel_index, l.ops.at, l.ops.n);
    for (uint32_t i = 0; i < n_over; i++)
        tnk_program_patch(g->p, over[i], tnk_program_here(g->p));
}

void
vm_wrapper(struct vm_gen *g, struct callee *c)
{
    uint32_t n = tn_as_prim_func(c->func)->params.n, *args = TNB_NEW_N(g->arena, uint32_t, n);
    tnk_program_begin(g->p, c->function);
    for (uint32_t i = 0; i < n; i++)
        args[i] = TNB_VM_OPERAND(TNB_VM_VALUE, i);
    vm_launch(g, c->func, c, args, NULL, n);
    tnk_program_emit(g->p, TNB_VM_RET, 0, tnk_program_value_reg(g->p), 0, 0);
    tnk_program_end(g->p);
}

/* ---- calls; the result goes to register `dst` ---- */

static bool
too_many(struct vm_gen *g, const tn_node *at, uint32_t n)
{
    if (n > UINT16_MAX)
        vm_error(g, at, "a call with %u arguments", n);
    return n > UINT16_MAX;
}

/* Constants lie where the tensor program wants them: on its device, in the scope of its buffer. */
static void
place_constants(struct vm_gen *g, const struct callee *f, uint32_t *args, uint32_t n)
{
    const tn_prim_func *program = tn_as_prim_func(f->func);
    for (uint32_t i = 0; program && i < n && i < program->buffers.n; i++) {
        const tn_buffer *b = tn_as_buffer(program->buffers.at[i]);
        const char *scope = b && b->scope && *b->scope ? b->scope : "global";
        if (TNB_VM_OPERAND_KIND(args[i]) != TNB_VM_CONST_ || !b ||
            (!f->fallback && strcmp(scope, "global") == 0))
            continue;
        const char *driver = f->fallback ? g->in->fallback_device : g->in->device;
        uint32_t device = tnk_program_device(g->p, driver, 0, scope);
        args[i] = const_operand(tnk_program_tensor_on(g->p, TNB_VM_OPERAND_INDEX(args[i]), device));
    }
}

static void
call_global(struct vm_gen *g, const tn_call *c, uint32_t dst)
{
    struct callee *f = vm_callee(g, &c->base, tn_as_global_var(c->op)->name);
    bool *fresh = TNB_NEW_N(g->arena, bool, c->args.n);
    for (uint32_t i = 0; i < c->args.n; i++)
        fresh[i] = tnb_ptrmap_get(&g->fresh, c->args.at[i]);
    uint32_t *args, n = list_operands(g, c->args, &args);
    if (!f || too_many(g, &c->base, n))
        return;
    place_constants(g, f, args, n);
    if (f->kernel) {
        vm_launch(g, &c->base, f, args, fresh, n);
        return;
    }
    uint32_t want = tn_as_function(f->func) ? tn_as_function(f->func)->params.n
                                            : tn_as_prim_func(f->func)->params.n;
    if (n != want)
        vm_error(g, &c->base, "'%s' takes %u arguments, %u are given", f->name, want, n);
    tnk_program_emit_list(g->p, TNB_VM_CALL, dst, f->function, args, n);
}

static void
call_packed(struct vm_gen *g, const tn_node *at, const char *name, tn_list list, uint32_t dst)
{
    uint32_t *args, n = list_operands(g, list, &args);
    if (!too_many(g, at, n))
        tnk_program_emit_list(g->p, TNB_VM_CALLP, dst, tnk_program_packed(g->p, name), args, n);
}

/* The bytes of a storage: a shape of one extent. */
static uint32_t
storage_bytes(struct vm_gen *g, const tn_expr *size)
{
    const tn_shape_expr *s = tn_as_shape_expr(size);
    if (s && s->values.n == 1)
        return vm_scalar(g, s->values.at[0]);
    uint32_t r = tnk_program_scalar_reg(g->p);
    tnk_program_emit(g->p, TNB_VM_DIM, 0, r, in_register(g, operand(g, size)), 0);
    return r;
}

/* R.vm.alloc_storage(size, device index, dtype, scope) */
static void
alloc_storage(struct vm_gen *g, const tn_call *c, uint32_t dst)
{
    int64_t index = 0;
    const tn_string_imm *scope = c->args.n > 3 ? tn_as_string_imm(c->args.at[3]) : NULL;
    if (c->args.n < 2 || !tn_int_value(c->args.at[1], &index) || index < 0 || index > 65535) {
        vm_error(g, &c->base, "R.vm.alloc_storage needs a size and a device index");
        return;
    }
    uint32_t device = tnk_program_device(g->p, g->in->device, (uint32_t)index,
                                         scope && scope->value ? scope->value : "global");
    tnk_program_emit(g->p, TNB_VM_ALLOCS, 0, dst, storage_bytes(g, c->args.at[0]), device);
}

/* R.vm.alloc_tensor(storage, offset, shape, dtype[, device index]) */
static void
alloc_tensor(struct vm_gen *g, const tn_call *c, uint32_t dst)
{
    const tn_dtype_imm *d = c->args.n > 3 ? tn_as_dtype_imm(c->args.at[3]) : NULL;
    if (!d) {
        vm_error(g, &c->base, "R.vm.alloc_tensor needs a storage, an offset, a shape and a dtype");
        return;
    }
    uint32_t list[3] = {operand(g, c->args.at[0]),
                        TNB_VM_OPERAND(TNB_VM_INT,
                                       tn_is_scalar(c->args.at[1])
                                           ? vm_scalar(g, c->args.at[1])
                                           : scalar_operand(g, operand(g, c->args.at[1]), TNB_I64)),
                        operand(g, c->args.at[2])};
    tnk_program_emit_list(g->p, TNB_VM_ALLOCT, dst, tnb_vm_from_dtype(d->value), list, 3);
}

static void
kill(struct vm_gen *g, const tn_call *c)
{
    const tn_expr *v = c->args.n ? c->args.at[0] : NULL;
    uintptr_t known = tn_is_var(v) ? (uintptr_t)tnb_ptrmap_get(&g->values, v) : 0;
    if (!known || TNB_VM_OPERAND_KIND((uint32_t)(known - 1)) != TNB_VM_VALUE)
        return; /* a constant or a scalar: nothing to forget */
    uint32_t reg = TNB_VM_OPERAND_INDEX((uint32_t)(known - 1));
    tnk_program_emit(g->p, TNB_VM_KILL, 0, reg, 0, 0);
    if ((uintptr_t)tnb_ptrmap_get(&g->depths, v) != g->depth + 1)
        return; /* another branch may still use it */
    if (reg >= g->n_params)
        TNB_PUSH(g->arena, g->free_values, reg);
    tnb_ptrmap_remove(&g->values, v);
}

static tn_list
tuple_fields(const tn_expr *e)
{
    const tn_tuple *t = tn_as_tuple(e);
    return t ? t->fields : (tn_list){.at = NULL, .n = 0};
}

/* R.call_builtin_with_ctx("name", (args)) and its kin. */
static void
call_with_tuple(struct vm_gen *g, const tn_call *c, const char *packed, uint32_t dst)
{
    const tn_extern_func *f = c->args.n == 2 ? tn_as_extern_func(c->args.at[0]) : NULL;
    if (!packed && !f) {
        vm_error(g, &c->base, "the callee of %s is not an external function",
                 tn_call_op_of(c)->base.name);
        return;
    }
    if (!packed) {
        call_packed(g, &c->base, f->name, tuple_fields(c->args.at[1]), dst);
        return;
    }
    tn_list rest = tuple_fields(c->args.at[1]);
    const tn_node **all = TNB_NEW_N(g->arena, const tn_node *, rest.n + 1);
    all[0] = c->args.at[0];
    for (uint32_t i = 0; i < rest.n; i++)
        all[i + 1] = rest.at[i];
    call_packed(g, &c->base, packed, (tn_list){.at = all, .n = rest.n + 1}, dst);
}

/* An operator that no pass lowered: for want of what a tensor program has to know of its arguments, or of
 * the pass. */
static void
left_over(struct vm_gen *g, const tn_call *c, const char *name)
{
    tn_list dims;
    for (uint32_t i = 0; i < c->args.n; i++) {
        const tn_ty_tensor *t = tn_as_ty_tensor(c->args.at[i]->type);
        bool no_dtype = t && tnb_dtype_is_void(t->dtype);
        if (!t || (!no_dtype && tn_type_dims(TN_NODE(t), &dims)))
            continue;
        vm_error(g, &c->base, "%s cannot be compiled: %s of its argument %u, %s, %s not known",
                 name, no_dtype ? "the element type" : "the extents", i,
                 tn_text(g->ctx, TN_NODE(t)), no_dtype ? "is" : "are");
        tnb_diag_hint(
            tn_diags(g->ctx),
            no_dtype ? "state the dtype in the type of the value, or convert it with match_cast"
                     : "state a shape in the type of the value, with symbols for extents "
                       "that only run time knows");
        return;
    }
    vm_error(g, &c->base,
             "%s cannot be compiled: no pass has made a tensor program or a call of it", name);
    tnb_diag_hint(
        tn_diags(g->ctx),
        "the pipeline must hold LegalizeOps, CallTIRRewrite and LowerRuntimeBuiltin; or the "
        "operator has no legalization for this use");
}

static void
call_operator(struct vm_gen *g, const tn_call *c, uint32_t dst)
{
    switch (tn_structural_of(&c->base)) {
    case TN_STRUCTURAL_vm_alloc_storage:
        alloc_storage(g, c, dst);
        break;
    case TN_STRUCTURAL_vm_alloc_tensor:
        alloc_tensor(g, c, dst);
        break;
    case TN_STRUCTURAL_vm_kill_object:
    case TN_STRUCTURAL_memory_kill_tensor:
    case TN_STRUCTURAL_memory_kill_storage:
        kill(g, c);
        break;
    case TN_STRUCTURAL_call_builtin_with_ctx:
        call_with_tuple(g, c, NULL, dst);
        break;
    case TN_STRUCTURAL_make_closure:
        call_with_tuple(g, c, "vm.builtin.make_closure", dst);
        break;
    case TN_STRUCTURAL_invoke_closure:
    case TN_STRUCTURAL_invoke_pure_closure:
        call_with_tuple(g, c, "vm.builtin.invoke_closure", dst);
        break;
    case TN_STRUCTURAL_vm_call_tir_dyn:
        call_with_tuple(g, c, "vm.builtin.call_tir_dyn", dst);
        break;
    case TN_STRUCTURAL_null_value:
        tnk_program_emit(g->p, TNB_VM_KILL, 0, dst, 0, 0);
        break;
    case TN_STRUCTURAL_shape_of:
        call_packed(g, &c->base, "vm.builtin.shape_of", c->args, dst);
        break;
    case TN_STRUCTURAL_tensor_to_shape:
        call_packed(g, &c->base, "vm.builtin.tensor_to_shape", c->args, dst);
        break;
    case TN_STRUCTURAL_memory_ensure_zero_offset:
        call_packed(g, &c->base, "vm.builtin.ensure_zero_offset", c->args, dst);
        break;
    case TN_STRUCTURAL_memory_view:
        call_packed(g, &c->base, "runtime.TVMTensorCreateView", c->args, dst);
        break;
    default:
        if (tn_is_call_to(&c->base, "relax.reshape"))
            call_packed(g, &c->base, "vm.builtin.reshape", c->args, dst);
        else
            left_over(g, c, tn_call_op_of(c)->base.name);
    }
}

static void
call(struct vm_gen *g, const tn_call *c, uint32_t dst)
{
    switch ((int)c->op->kind) {
    case TN_KIND_GLOBAL_VAR:
        call_global(g, c, dst);
        break;
    case TN_KIND_EXTERN_FUNC:
        call_packed(g, &c->base, tn_as_extern_func(c->op)->name, c->args, dst);
        break;
    case TN_KIND_OP_REF:
        call_operator(g, c, dst);
        break;
    default: {
        uint32_t f = in_register(g, operand(g, c->op)), *args, n = list_operands(g, c->args, &args);
        if (!too_many(g, &c->base, n))
            tnk_program_emit_list(g->p, TNB_VM_CALLV, dst, f, args, n);
    }
    }
}

/* ---- bindings ---- */

static void
if_expr(struct vm_gen *g, const tn_if_expr *e, bool tail, uint32_t dst)
{
    uint32_t cond = tnk_program_scalar_reg(g->p);
    if (tn_is_scalar(e->cond) && !tn_is_var(e->cond))
        cond = vm_scalar(g, e->cond);
    else
        tnk_program_emit(g->p, TNB_VM_TRUTH, 0, cond, in_register(g, operand(g, e->cond)), 0);
    uint32_t otherwise = tnk_program_emit(g->p, TNB_VM_JZ, 0, cond, 0, 0), end = NO_REG;
    g->depth++;
    g->free_values.n = 0; /* registers that die in one branch may live in the other */
    body(g, e->then_branch, tail, dst);
    if (!tail)
        end = tnk_program_emit(g->p, TNB_VM_JMP, 0, 0, 0, 0);
    tnk_program_patch(g->p, otherwise, tnk_program_here(g->p));
    g->free_values.n = 0;
    body(g, e->else_branch, tail, dst);
    if (!tail)
        tnk_program_patch(g->p, end, tnk_program_here(g->p));
    g->depth--;
    g->free_values.n = 0;
}

/* Puts the value of an expression into a register. */
static void
value_to(struct vm_gen *g, const tn_expr *e, uint32_t dst)
{
    if (tn_is(e, TN_KIND_CALL) && (!tn_is_scalar(e) || !tn_call_op_of(tn_as_call(e)) ||
                                   !(tn_call_op_of(tn_as_call(e))->flags & TN_OP_SCALAR))) {
        call(g, tn_as_call(e), dst);
        return;
    }
    if (tn_is(e, TN_KIND_IF_EXPR)) {
        if_expr(g, tn_as_if_expr(e), false, dst);
        return;
    }
    if (tn_is(e, TN_KIND_SEQ_EXPR)) {
        body(g, e, false, dst);
        return;
    }
    uint32_t o = operand(g, e);
    switch (TNB_VM_OPERAND_KIND(o)) {
    case TNB_VM_VALUE:
        tnk_program_emit(g->p, TNB_VM_MOVV, 0, dst, TNB_VM_OPERAND_INDEX(o), 0);
        break;
    case TNB_VM_CONST_:
        tnk_program_emit(g->p, TNB_VM_CONST, 0, dst, TNB_VM_OPERAND_INDEX(o), 0);
        break;
    default:
        tnk_program_emit(g->p,
                         TNB_VM_OPERAND_KIND(o) == TNB_VM_FLOAT ? TNB_VM_BOXF
                         : tnb_dtype_is_bool(tn_dtype_of(e))    ? TNB_VM_BOXB
                                                                : TNB_VM_BOXI,
                         0, dst, TNB_VM_OPERAND_INDEX(o), 0);
    }
}

static bool
is_kill(const tn_node *binding)
{
    const tn_var_binding *b = tn_as_var_binding(binding);
    return b && (tn_is_call_to(b->value, "relax.vm.kill_object") ||
                 tn_is_call_to(b->value, "relax.memory.kill_tensor") ||
                 tn_is_call_to(b->value, "relax.memory.kill_storage"));
}

static void
bind(struct vm_gen *g, const tn_node *binding)
{
    const tn_var_binding *b = tn_as_var_binding(binding);
    const tn_match_cast *m = tn_as_match_cast(binding);
    const tn_expr *value = b ? b->value : m ? m->value : NULL;
    const tn_node *var = b ? b->var : m ? m->var : NULL;
    if (!value || !var) {
        vm_error(g, binding, "a binding that is not in virtual-machine form");
        return;
    }
    if (is_kill(binding)) {
        kill(g, tn_as_call(value));
        return;
    }
    if (b && tn_is(value, TN_KIND_CONSTANT)) { /* not killed, not copied */
        tnb_ptrmap_set(&g->values, var, (void *)(uintptr_t)(operand(g, value) + 1));
        return;
    }
    uint32_t dst = new_value(g);
    value_to(g, value, dst);
    define(g, var, dst);
    if (tn_is_call_to(value, "relax.vm.alloc_tensor"))
        tnb_ptrmap_set(&g->fresh, var, g);
}

/* Returns the value of a leaf. */
static void
give_back(struct vm_gen *g, const tn_expr *e)
{
    uint32_t dst = tnk_program_value_reg(g->p);
    value_to(g, e, dst);
    tnk_program_emit(g->p, TNB_VM_RET, 0, dst, 0, 0);
}

/* The last binding that does something, if its variable is the result: it may be a jump. */
static const tn_expr *
tail_value(const tn_seq_expr *s, uint32_t *block, uint32_t *index)
{
    for (uint32_t b = s->blocks.n; b-- > 0;) {
        const tn_bindings_block *bb = tn_as_bindings_block(s->blocks.at[b]);
        for (uint32_t i = bb->bindings.n; i-- > 0;) {
            if (is_kill(bb->bindings.at[i]))
                continue;
            const tn_var_binding *vb = tn_as_var_binding(bb->bindings.at[i]);
            *block = b;
            *index = i;
            return vb && vb->var == s->body ? vb->value : NULL;
        }
    }
    return NULL;
}

static bool
is_self_call(const struct vm_gen *g, const tn_expr *e)
{
    const tn_call *c = tn_as_call(e);
    return c && tn_is(c->op, TN_KIND_GLOBAL_VAR) &&
           strcmp(tn_as_global_var(c->op)->name, g->function) == 0 && c->args.n == g->n_params;
}

static void
bind_until(struct vm_gen *g, const tn_seq_expr *s, uint32_t block, uint32_t index)
{
    for (uint32_t b = 0; b < s->blocks.n && b <= block; b++) {
        const tn_bindings_block *bb = tn_as_bindings_block(s->blocks.at[b]);
        for (uint32_t i = 0; i < bb->bindings.n && (b < block || i < index); i++)
            bind(g, bb->bindings.at[i]);
    }
}

/* A body: with `tail` its value is returned, else it goes to `dst`. */
static void
body(struct vm_gen *g, const tn_expr *e, bool tail, uint32_t dst)
{
    const tn_seq_expr *s = tn_as_seq_expr(e);
    uint32_t block, index;
    if (!s) {
        if (tail)
            give_back(g, e);
        else
            value_to(g, e, dst);
        return;
    }
    const tn_expr *last = tail ? tail_value(s, &block, &index) : NULL;
    if (last && is_self_call(g, last)) {
        uint32_t *args, n;
        bind_until(g, s, block, index);
        n = list_operands(g, tn_as_call(last)->args, &args);
        tnk_program_emit_list(g->p, TNB_VM_TAIL, 0, 0, args, n);
        return;
    }
    if (last && tn_is(last, TN_KIND_IF_EXPR)) {
        bind_until(g, s, block, index);
        if_expr(g, tn_as_if_expr(last), true, dst);
        return;
    }
    bind_until(g, s, UINT32_MAX, UINT32_MAX);
    if (tail)
        give_back(g, s->body);
    else
        value_to(g, s->body, dst);
}

void
vm_graph_func(struct vm_gen *g, const struct callee *c)
{
    const tn_function *f = tn_as_function(c->func);
    tnk_program_begin(g->p, c->function);
    g->n_params = f->params.n;
    for (uint32_t i = 0; i < f->params.n; i++)
        define(g, f->params.at[i], i);
    body(g, f->body, true, 0);
    tnk_program_end(g->p);
}
