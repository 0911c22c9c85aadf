/* SPDX-License-Identifier: Apache-2.0 */
/* VMShapeLower: checks of arguments and symbolic shapes become calls of the runtime on a heap of
 * integers.
 *
 *     def f(x: R.Tensor((n, m))):
 *         s = R.shape([n * m])
 *  -> def f(x):
 *         shape_heap = vm.builtin.alloc_shape_heap(3)
 *         vm.builtin.check_tensor_info(x, 2, "float32", "")
 *         vm.builtin.match_shape(x, shape_heap, 2, 1, 0, 1, 1, "")
 *         shape_func(shape_heap)                    # heap[2] = heap[0] * heap[1]
 *         s = vm.builtin.make_shape(shape_heap, 1, 1, 2)
 *
 * One slot a distinct symbolic expression, numbered by first encounter: parameters, body, result.
 * Option emit_err_ctx: texts that say which argument a failed check belongs to. Pure functions have
 * to be marked relax.force_pure; nested functions are an error. Cases: tests/pass/VMShapeLower.
 */
#include "transform.h"

#include <stdlib.h>

#include "tenon/base/file.h"
#include "tenon/core/arith.h"
#include "tenon/core/builder.h"
#include "tenon/core/registry.h"
#include "tenon/core/text.h"
#include "tenon/core/walk.h"

/* ORDER MATCH_CODE, ORDER MAKE_CODE: the runtime's numbers (upstream's). */
enum { MATCH_EQUAL_IMM = 0, MATCH_STORE = 1, MATCH_NOTHING = 2, MATCH_EQUAL_SLOT = 3 };
enum { MAKE_IMM = 0, MAKE_LOAD = 1 };

typedef struct slot {
    const tn_expr *expr;
    bool computed;
    uint32_t missing;        /* variables of the expression that are not computed yet */
    TNB_VEC(uint32_t) users; /* of a variable: slots of expressions that it is in */
    uint32_t next;           /* slot + 1 of the same hash */
    const char *from;        /* of a variable: "extent 0 of 'x'", where it is taken from; or NULL */
} slot;

/* A shape (or scalar) whose extents have to be matched against `dims`. */
typedef struct todo {
    const tn_expr *value;
    tn_list dims;
    bool is_scalar;
    const char *what; /* "'x'", a parameter whose value this is; NULL: something else */
    const char *context;
} todo;

typedef struct lowering {
    tn_ctx *ctx;
    tnb_arena *scratch;
    tn_builder *b;
    const char *name; /* of the function */
    bool contexts;
    bool trusted; /* past the parameters: types of values hold, only what they leave open is checked
                   */
    int64_t num_input;
    TNB_VEC(slot) slots;
    tnb_ptrmap slot_by_node, slot_by_hash; /* to slot + 1 */
    TNB_VEC(uint32_t) computed;            /* slots, in the order in which they were */
    TNB_VEC(uint32_t) ready;               /* slots of expressions whose variables are computed */
    tnb_ptrmap values;   /* variables that are values (parameters, bindings), not symbols */
    tnb_ptrmap given_by; /* variable -> the packed function whose result it is */
    const tn_expr *heap;
    TNB_VEC(const tn_node *) out;
    TNB_VEC(todo) todos;
    bool failed;
} lowering;

/* ---- slots ---- */

/* An integer expression over symbolic variables, not a graph expression that gives a scalar. */
static bool
is_symbolic(const lowering *l, const tn_node *e)
{
    const tn_call *c = tn_as_call(e);
    const tn_op *op = c ? tn_call_op_of(c) : NULL;
    if (!tn_is_scalar(e) || tn_is(e, TN_KIND_INT_IMM) || tn_is(e, TN_KIND_FLOAT_IMM) ||
        (c && !(op && (op->flags & TN_OP_SCALAR))) ||
        (e->kind > TN_KIND_LAST_SCALAR && e->kind <= TN_KIND_LAST_EXPR))
        return false;
    return !tnb_dtype_is_float(tn_dtype_of(e)) && !(tn_is_var(e) && tnb_ptrmap_has(&l->values, e));
}

enum { NO_SLOT = 0x7fffffff };

static const void *
hash_key(const lowering *l, const tn_expr *e)
{
    return (const void *)((uintptr_t)tn_hash(l->ctx, e, false) | 1);
}

static uint32_t
find_slot(lowering *l, const tn_expr *e)
{
    uint32_t k = (uint32_t)(uintptr_t)tnb_ptrmap_get(&l->slot_by_node, e);
    if (k)
        return k - 1;
    k = (uint32_t)(uintptr_t)tnb_ptrmap_get(&l->slot_by_hash, hash_key(l, e));
    while (k && !tn_equal(l->ctx, l->slots.at[k - 1].expr, e, false, NULL))
        k = l->slots.at[k - 1].next;
    if (!k)
        return NO_SLOT;
    tnb_ptrmap_set(&l->slot_by_node, e, (const void *)(uintptr_t)k);
    return k - 1;
}

/* The slot of an expression; a new one only while slots are collected. */
static uint32_t
slot_of(lowering *l, const tn_expr *e)
{
    uint32_t found = find_slot(l, e);
    if (found != NO_SLOT)
        return found;
    const void *key = hash_key(l, e);
    slot s = {.expr = e, .next = (uint32_t)(uintptr_t)tnb_ptrmap_get(&l->slot_by_hash, key)};
    TNB_PUSH(l->scratch, l->slots, s);
    tnb_ptrmap_set(&l->slot_by_node, e, (const void *)(uintptr_t)l->slots.n);
    tnb_ptrmap_set(&l->slot_by_hash, key, (const void *)(uintptr_t)l->slots.n);
    return l->slots.n - 1;
}

/* Once all slots are there: which expression waits for which variables. */
static void
link_slots(lowering *l)
{
    for (uint32_t i = 0; i < l->slots.n; i++) {
        slot *s = &l->slots.at[i];
        if (tn_is_var(s->expr))
            continue;
        tn_list vars = tn_free_vars(l->ctx, s->expr, false);
        s->missing = vars.n;
        for (uint32_t k = 0; k < vars.n; k++) {
            uint32_t from = find_slot(l, vars.at[k]);
            if (from != NO_SLOT)
                TNB_PUSH(l->scratch, l->slots.at[from].users, i);
        }
        if (!vars.n)
            TNB_PUSH(l->scratch, l->ready, i);
    }
}

static void
set_computed(lowering *l, uint32_t k)
{
    slot *s = &l->slots.at[k];
    s->computed = true;
    TNB_PUSH(l->scratch, l->computed, k);
    for (uint32_t i = 0; i < s->users.n; i++)
        if (--l->slots.at[s->users.at[i]].missing == 0)
            TNB_PUSH(l->scratch, l->ready, s->users.at[i]);
}

/* All but the first n of what was computed is unknown again. */
static void
forget_computed(lowering *l, uint32_t n)
{
    while (l->computed.n > n) {
        uint32_t k = l->computed.at[--l->computed.n];
        slot *s = &l->slots.at[k];
        s->computed = false;
        for (uint32_t i = 0; i < s->users.n; i++)
            l->slots.at[s->users.at[i]].missing++;
        if (!tn_is_var(s->expr) && s->missing == 0)
            TNB_PUSH(l->scratch, l->ready, k);
    }
}

/* The slot of an expression, and of the parameters and bound values that it is computed from. */
static void
collect_slot(lowering *l, const tn_expr *e)
{
    slot_of(l, e);
    if (tn_is_var(e))
        return;
    tn_list vars = tn_free_vars(l->ctx, e, false);
    for (uint32_t i = 0; i < vars.n; i++)
        if (tnb_ptrmap_has(&l->values, vars.at[i]))
            slot_of(l, vars.at[i]);
}

static void
collect_dims(lowering *l, tn_list dims)
{
    for (uint32_t i = 0; i < dims.n; i++)
        if (!tn_is(dims.at[i], TN_KIND_INT_IMM))
            collect_slot(l, dims.at[i]);
}

static void
collect_type(lowering *l, const tn_type *t)
{
    tn_list dims;
    const tn_ty_tuple *tuple = tn_as_ty_tuple(t);
    for (uint32_t i = 0; tuple && i < tuple->fields.n; i++)
        collect_type(l, tuple->fields.at[i]);
    if (!tuple && t && tn_type_dims(t, &dims))
        collect_dims(l, dims);
}

static tn_walk_step
collect_value(void *user, const tn_node *n)
{
    lowering *l = user;
    const tn_shape_expr *s = tn_as_shape_expr(n);
    const tn_match_cast *mc = tn_as_match_cast(n);
    const tn_var_binding *vb = tn_as_var_binding(n);
    if (vb && tn_is_scalar(vb->var))
        tnb_ptrmap_set(&l->values, vb->var, vb->var);
    if (s) {
        collect_dims(l, s->values);
        return TN_WALK_SKIP;
    }
    if (mc)
        collect_type(l, mc->to);
    if (is_symbolic(l, n)) {
        collect_slot(l, n);
        return TN_WALK_SKIP;
    }
    return tn_is(n, TN_KIND_CONSTANT) ? TN_WALK_SKIP : TN_WALK_ON;
}

/* ---- emitting ---- */

static const tn_expr *
emit(lowering *l, const tn_expr *value, const char *name)
{
    const tn_expr *v = tn_var_new(l->ctx, name, value->type);
    TNB_PUSH(l->scratch, l->out, tn_var_binding_of(l->ctx, v, value));
    return v;
}

static const tn_type *
nothing(lowering *l)
{
    return tn_ty_tuple_of(l->ctx, (tn_list){0});
}

static void
emit_check(lowering *l, const char *builtin, tn_list args)
{
    emit(l, tn_call_packed(l->ctx, builtin, args, nothing(l)), "_");
}

static const char *
context_text(lowering *l, const char *what, const char *how, const tn_type *t)
{
    if (!l->contexts)
        return "";
    return tn_strf(l->ctx, "%s function '%s', %s %s", what, l->name, how, tn_text(l->ctx, t));
}

/* Where the variables of the extents, which others have to equal, were taken from. */
static const char *
with_origins(lowering *l, const todo *t)
{
    const char *text = t->context;
    for (uint32_t i = 0; l->contexts && t->what && i < t->dims.n; i++) {
        const tn_expr *d = t->dims.at[i];
        uint32_t k = tn_is_var(d) ? find_slot(l, d) : NO_SLOT;
        const char *from = k == NO_SLOT || !l->slots.at[k].computed ? NULL : l->slots.at[k].from;
        if (from && !tnb_ends_with(from, t->what))
            text = tn_strf(l->ctx, "%s%s %s is %s", text, text == t->context ? ", where" : ",",
                           tn_var_name(d), from);
    }
    return text;
}

static const char *
cast_text(lowering *l, const tn_match_cast *mc)
{
    const char *from = tnb_ptrmap_get(&l->given_by, mc->value);
    return context_text(l, from ? tn_strf(l->ctx, "the result of %s in", from) : "a value in",
                        "cast to", mc->to);
}

static void
note_packed(lowering *l, const tn_var_binding *vb)
{
    const tn_call *c = tn_as_call(vb->value);
    const tn_extern_func *f = c ? tn_as_extern_func(c->op) : NULL;
    if (f)
        tnb_ptrmap_set(&l->given_by, vb->var, f->name);
}

/* ---- matching ---- */

/* The pairs for one list of extents; stores new variables. *pending: some extent cannot be compared
 * yet. */
static tn_list
match_codes(lowering *l, const todo *t, bool *pending, bool *useful)
{
    tn_list args = {0}, dims = t->dims;
    *pending = *useful = false;
    for (uint32_t i = 0; i < dims.n; i++) {
        const tn_expr *d = dims.at[i];
        int64_t code, value;
        if (tn_int_value(d, &value)) {
            code = MATCH_EQUAL_IMM;
        } else {
            uint32_t k = slot_of(l, d);
            value = k;
            if (l->slots.at[k].computed) {
                code = MATCH_EQUAL_SLOT;
            } else if (tn_is_var(d)) {
                code = MATCH_STORE;
                set_computed(l, k);
                if (t->what)
                    l->slots.at[k].from = tn_strf(l->ctx, "extent %u of %s", i, t->what);
            } else {
                code = MATCH_NOTHING;
                value = 0;
                *pending = true;
            }
        }
        *useful |= code != MATCH_NOTHING;
        args = tn_list_append(l->ctx, args, tn_i64(l->ctx, code));
        args = tn_list_append(l->ctx, args, tn_i64(l->ctx, value));
    }
    return args;
}

static void
emit_match(lowering *l, const todo *t, bool *pending)
{
    bool useful;
    const char *context = with_origins(l, t);
    tn_list codes = match_codes(l, t, pending, &useful);
    if (!useful && t->dims.n)
        return;
    tn_list args = tn_listv(l->ctx, t->value, l->heap, NULL);
    if (!t->is_scalar)
        args = tn_list_append(l->ctx, args, tn_i64(l->ctx, t->dims.n));
    for (uint32_t i = 0; i < codes.n; i++)
        args = tn_list_append(l->ctx, args, codes.at[i]);
    args = tn_list_append(l->ctx, args, tn_string(l->ctx, context));
    emit_check(l, t->is_scalar ? "vm.builtin.match_prim_value" : "vm.builtin.match_shape", args);
}

static int
by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Computes every expression whose variables are known: one host function that reads and writes the
 * heap. */
static void
emit_compute(lowering *l)
{
    tn_ctx *ctx = l->ctx;
    const tn_expr *size = tn_i64(ctx, l->slots.n);
    const tn_node *heap = tn_buffer_new(ctx, "H", tn_listv(ctx, size, NULL), TNB_I64, NULL);
    tn_list stmts = {0};
    if (l->ready.n)
        qsort(l->ready.at, l->ready.n, sizeof *l->ready.at, by_number);
    for (uint32_t r = 0; r < l->ready.n; r++) {
        uint32_t i = l->ready.at[r];
        slot *s = &l->slots.at[i];
        if (s->computed || s->missing) /* a branch's variables are unknown behind it */
            continue;
        tn_list vars = tn_free_vars(ctx, s->expr, false);
        tnb_ptrmap map;
        tnb_ptrmap_init(&map, l->scratch);
        for (uint32_t k = 0; k < vars.n; k++) {
            uint32_t from = find_slot(l, vars.at[k]);
            const tn_expr *load =
                tn_buffer_load_of(ctx, heap, tn_listv(ctx, tn_i64(ctx, from), NULL));
            tnb_ptrmap_set(&map, vars.at[k], tn_cast_to(ctx, tn_dtype_of(vars.at[k]), load));
        }
        set_computed(l, i);
        const tn_expr *value = tn_subst(ctx, s->expr, &map);
        stmts = tn_list_append(ctx, stmts,
                               tn_buffer_store_of(ctx, heap, value,
                                                  tn_listv(ctx, tn_i64(ctx, i), NULL)));
    }
    l->ready.n = 0;
    if (!stmts.n)
        return;
    const tn_expr *param = tn_var_dtype(ctx, "H", TNB_DTYPE(TNB_HANDLE, 64));
    const tn_node *attrs =
        tn_dictv(ctx, "tirx.is_host_func", tn_bool(ctx, true), "s_tir", tn_bool(ctx, true), NULL);
    const tn_node *func =
        tn_prim_func_of(ctx, tn_listv(ctx, param, NULL), tn_listv(ctx, heap, NULL),
                        tn_seq_of(ctx, stmts), NULL, attrs);
    const tn_expr *gv = tn_builder_add_function(l->b, func, "shape_func");
    emit(l, tn_call_of(ctx, gv, tn_listv(ctx, l->heap, NULL), NULL, (tn_list){0}, nothing(l)), "_");
}

/* Matches everything that was queued; expressions over variables that only later ones define are
 * compared in a second round. */
static void
run_todos(lowering *l)
{
    TNB_VEC(todo) left = {0};
    for (uint32_t i = 0; i < l->todos.n; i++) {
        bool pending;
        emit_match(l, &l->todos.at[i], &pending);
        if (pending)
            TNB_PUSH(l->scratch, left, l->todos.at[i]);
    }
    l->todos.n = 0;
    emit_compute(l);
    for (uint32_t i = 0; i < left.n; i++) {
        bool pending;
        emit_match(l, &left.at[i], &pending);
        if (pending && !l->failed) {
            tn_error(l->ctx, left.at[i].value->loc, TNB_SHAPE,
                     "function '%s': an extent of %s uses a symbolic variable that nothing defines",
                     l->name, tn_text(l->ctx, left.at[i].value->type));
            l->failed = true;
        }
    }
}

/* ---- checks by type ---- */

static bool
is_dynamic(const tn_type *t)
{
    tn_list dims;
    if (tn_type_dims(t, &dims))
        for (uint32_t i = 0; i < dims.n; i++)
            if (!tn_is(dims.at[i], TN_KIND_INT_IMM))
                return true;
    return false;
}

/* Nothing is checked of a weight whose type has no symbolic extent. */
static bool
needs_check(const tn_type *t, bool is_weight)
{
    const tn_ty_tuple *tuple = tn_as_ty_tuple(t);
    bool any = !is_weight || (!tuple && is_dynamic(t));
    for (uint32_t i = 0; tuple && i < tuple->fields.n && !any; i++)
        any = needs_check(tuple->fields.at[i], is_weight);
    return any && !tn_is(t, TN_KIND_TY_ANY);
}

static const tn_expr *
dtype_arg(lowering *l, tnb_dtype d)
{
    return tnb_dtype_is_void(d) ? emit(l, tn_call_opv(l->ctx, "relax.null_value", NULL, NULL), "gv")
                                : tn_dtype_imm_of(l->ctx, d);
}

static bool
is_known(lowering *l, const tn_expr *value, const tn_type *t)
{
    return l->trusted && value->type && tn_type_check(l->ctx, t, value->type) == TN_SUBTYPE_YES;
}

/* A field of a tuple, or of something that has to be one. */
static const tn_expr *
field_of(lowering *l, const tn_expr *value, uint32_t i)
{
    if (tn_is(value, TN_KIND_TUPLE))
        return ((const tn_tuple *)value)->fields.at[i];
    if (tn_is(value->type, TN_KIND_TY_TUPLE))
        return emit(l, tn_tuple_item(l->ctx, value, i), "field");
    return emit(l,
                tn_call_packed(l->ctx, "vm.builtin.tuple_getitem",
                               tn_listv(l->ctx, value, tn_i64(l->ctx, i), NULL), tn_ty_any(l->ctx)),
                "field");
}

static void
check_value(lowering *l, const tn_expr *value, const tn_type *t, bool is_weight,
            const char *context)
{
    tn_ctx *ctx = l->ctx;
    const tn_expr *err = tn_string(ctx, context);
    const tn_ty_tensor *tensor = tn_as_ty_tensor(t);
    const tn_ty_shape *shape = tn_as_ty_shape(t);
    const tn_ty_prim *prim = tn_as_ty_prim(t);
    const tn_ty_tuple *tuple = tn_as_ty_tuple(t);
    todo match = {.value = value, .context = context};
    if (l->contexts && !l->trusted && tn_is_var(value) && strncmp(context, "parameter ", 10) == 0)
        match.what = tn_strf(l->ctx, "'%s'", tn_var_name(value));
    if (tensor) {
        if (!needs_check(t, is_weight))
            return;
        const tn_type *form = tn_ty_tensor_of(ctx, NULL, tensor->dtype, tensor->ndim, NULL);
        if (!is_known(l, value, form))
            emit_check(l, "vm.builtin.check_tensor_info",
                       tn_listv(ctx, value, tn_i64(ctx, tensor->ndim), dtype_arg(l, tensor->dtype),
                                err, NULL));
        if (tn_type_dims(t, &match.dims) && !is_known(l, value, t))
            TNB_PUSH(l->scratch, l->todos, match);
    } else if (shape) {
        if (!is_known(l, value, tn_ty_shape_rank(ctx, shape->ndim)))
            emit_check(l, "vm.builtin.check_shape_info",
                       tn_listv(ctx, value, tn_i64(ctx, shape->ndim), err, NULL));
        if (tn_type_dims(t, &match.dims) && !is_known(l, value, t))
            TNB_PUSH(l->scratch, l->todos, match);
    } else if (prim) {
        if (!is_known(l, value, t))
            emit_check(l, "vm.builtin.check_prim_value_info",
                       tn_listv(ctx, value, tn_dtype_imm_of(ctx, prim->dtype), err, NULL));
        if (find_slot(l, value) != NO_SLOT) {
            match.dims = tn_listv(ctx, value, NULL);
            match.is_scalar = true;
            TNB_PUSH(l->scratch, l->todos, match);
        }
    } else if (tuple) {
        if (!tn_is(value->type, TN_KIND_TY_TUPLE) || !l->trusted)
            emit_check(l, "vm.builtin.check_tuple_info",
                       tn_listv(ctx, value, tn_i64(ctx, tuple->fields.n), err, NULL));
        for (uint32_t i = 0; i < tuple->fields.n; i++)
            if (needs_check(tuple->fields.at[i], is_weight))
                check_value(l, field_of(l, value, i), tuple->fields.at[i], is_weight, context);
    } else if (tn_is(t, TN_KIND_TY_FUNC)) {
        emit_check(l, "vm.builtin.check_func_info", tn_listv(ctx, value, err, NULL));
    }
}

/* ---- uses ---- */

static const tn_expr *
make_shape(lowering *l, const tn_shape_expr *s)
{
    bool symbolic = false;
    for (uint32_t i = 0; i < s->values.n; i++)
        symbolic |= !tn_is(s->values.at[i], TN_KIND_INT_IMM);
    if (!symbolic)
        return TN_NODE(s);
    tn_list args = tn_listv(l->ctx, l->heap, tn_i64(l->ctx, s->values.n), NULL);
    for (uint32_t i = 0; i < s->values.n; i++) {
        int64_t v;
        bool imm = tn_int_value(s->values.at[i], &v);
        args = tn_list_append(l->ctx, args, tn_i64(l->ctx, imm ? MAKE_IMM : MAKE_LOAD));
        args = tn_list_append(l->ctx, args,
                              imm ? s->values.at[i] : tn_i64(l->ctx, slot_of(l, s->values.at[i])));
    }
    return tn_call_packed(l->ctx, "vm.builtin.make_shape", args,
                          tn_ty_shape_rank(l->ctx, s->values.n));
}

static const tn_expr *
make_scalar(lowering *l, const tn_expr *e)
{
    const tn_expr *load = tn_i64(l->ctx, MAKE_LOAD), *at = tn_i64(l->ctx, slot_of(l, e));
    return tn_call_packed(l->ctx, "vm.builtin.make_prim_value",
                          tn_listv(l->ctx, l->heap, load, at, NULL), e->type);
}

/* A leaf as it is used: what is made at run time is bound first. */
static const tn_expr *
lower_leaf(lowering *l, const tn_expr *e)
{
    const tn_shape_expr *s = tn_as_shape_expr(e);
    const tn_tuple *t = tn_as_tuple(e);
    if (s) {
        const tn_expr *made = make_shape(l, s);
        return made == e ? e : emit(l, made, "sh");
    }
    if (t) {
        tn_list fields = t->fields;
        for (uint32_t i = 0; i < fields.n; i++) {
            const tn_expr *f = lower_leaf(l, fields.at[i]);
            if (f != fields.at[i])
                tn_list_change(l->ctx, &fields, t->fields, i, f);
        }
        return fields.at == t->fields.at ? e : tn_tuple_of(l->ctx, fields);
    }
    return is_symbolic(l, e) ? emit(l, make_scalar(l, e), "pv") : e;
}

static const tn_expr *
lower_sequence(lowering *l, const tn_seq_expr *seq);

static const tn_expr *
lower_branch(lowering *l, const tn_expr *e)
{
    /* what a branch matches is not known after it */
    uint32_t known = l->computed.n;
    const tn_seq_expr *seq = tn_as_seq_expr(e);
    const tn_expr *out = seq ? lower_sequence(l, seq) : e;
    forget_computed(l, known);
    return out;
}

/* What a call gives for its new arguments: a function's result may speak of its scalar parameters.
 */
static const tn_type *
type_for(lowering *l, const tn_call *c, tn_list args)
{
    const tn_global_var *gv = tn_as_global_var(c->op);
    const tn_function *f = gv ? tn_as_function(tn_builder_find_function(l->b, gv->name)) : NULL;
    if (!f || c->ty_args.n)
        return c->base.type;
    return tn_call_result_type(l->ctx, tn_func_type(l->ctx, TN_NODE(f)), f->params, args);
}

static const tn_expr *
lower_value(lowering *l, const tn_expr *v)
{
    const tn_call *c = tn_as_call(v);
    const tn_if_expr *branch = tn_as_if_expr(v);
    const tn_tuple_get *get = tn_as_tuple_get(v);
    if (tn_is(v, TN_KIND_FUNCTION)) {
        if (!l->failed)
            tn_error(l->ctx, v->loc, TNB_UNSUPPORTED,
                     "VMShapeLower: function '%s' holds a local function, for which the machine "
                     "has no form",
                     l->name);
        if (!l->failed)
            tnb_diag_hint(tn_diags(l->ctx),
                          "the pass LambdaLift makes it a function of the module: insert.lift = "
                          "before library_dispatch: LambdaLift, in the section [pipeline TARGET]");
        l->failed = true;
        return v;
    }
    if (branch) {
        const tn_expr *cond = lower_leaf(l, branch->cond);
        const tn_expr *yes = lower_branch(l, branch->then_branch),
                      *no = lower_branch(l, branch->else_branch);
        return tn_if_expr_of(l->ctx, cond, yes, no);
    }
    if (tn_is(v, TN_KIND_SHAPE_EXPR))
        return make_shape(l, (const tn_shape_expr *)v);
    if (get || !c)
        return is_symbolic(l, v) ? make_scalar(l, v) : get ? v : lower_leaf(l, v);
    tn_list args = c->args;
    for (uint32_t i = 0; i < args.n; i++) {
        const tn_expr *a = lower_leaf(l, args.at[i]);
        if (a != args.at[i])
            tn_list_change(l->ctx, &args, c->args, i, a);
    }
    return args.at == c->args.at
               ? v
               : tn_call_of(l->ctx, c->op, args, c->attrs, c->ty_args, type_for(l, c, args));
}

static const tn_expr *
lower_sequence(lowering *l, const tn_seq_expr *seq)
{
    tn_list blocks = {0};
    /* bindings of an enclosing sequence are put aside */
    const tn_node **outer = l->out.at;
    uint32_t outer_n = l->out.n, outer_cap = l->out.cap;
    l->out.at = NULL;
    l->out.n = l->out.cap = 0;
    for (uint32_t b = 0; b < seq->blocks.n; b++) {
        const tn_bindings_block *block = tn_as_bindings_block(seq->blocks.at[b]);
        for (uint32_t i = 0; i < block->bindings.n; i++) {
            const tn_node *binding = block->bindings.at[i];
            const tn_match_cast *mc = tn_as_match_cast(binding);
            const tn_var_binding *vb = tn_as_var_binding(binding);
            tn_loc old = tn_at(l->ctx, binding->loc);
            if (mc) {
                const tn_expr *value = lower_leaf(l, mc->value);
                check_value(l, value, mc->to, false, cast_text(l, mc));
                run_todos(l);
                TNB_PUSH(l->scratch, l->out,
                         value == mc->value ? binding
                                            : tn_match_cast_of(l->ctx, mc->var, value, mc->to));
            } else {
                const tn_expr *value = lower_value(l, vb->value);
                note_packed(l, vb);
                TNB_PUSH(l->scratch, l->out,
                         value == vb->value ? binding : tn_var_binding_of(l->ctx, vb->var, value));
                if (tn_is_scalar(vb->var) && find_slot(l, vb->var) != NO_SLOT) {
                    todo match = {.value = vb->var,
                                  .dims = tn_listv(l->ctx, vb->var, NULL),
                                  .is_scalar = true,
                                  .context = ""};
                    TNB_PUSH(l->scratch, l->todos, match);
                    run_todos(l);
                }
            }
            tn_at(l->ctx, old);
        }
        if (b + 1 < seq->blocks.n) {
            blocks =
                tn_list_append(l->ctx, blocks,
                               tn_binding_block_of(l->ctx, tn_list_of(l->ctx, l->out.at, l->out.n),
                                                   false));
            l->out.n = 0;
        }
    }
    const tn_expr *body = lower_leaf(l, seq->body);
    if (l->out.n)
        blocks = tn_list_append(l->ctx, blocks,
                                tn_binding_block_of(l->ctx, tn_list_of(l->ctx, l->out.at, l->out.n),
                                                    false));
    l->out.at = outer;
    l->out.n = outer_n;
    l->out.cap = outer_cap;
    return tn_seq_expr_of(l->ctx, blocks, body);
}

/* ---- the function ---- */

static void
collect_function(lowering *l, const tn_function *fn)
{
    for (uint32_t i = 0; i < fn->params.n; i++)
        if (tn_is_scalar(fn->params.at[i]))
            tnb_ptrmap_set(&l->values, fn->params.at[i], fn->params.at[i]);
    for (uint32_t i = 0; i < fn->params.n; i++)
        collect_type(l, fn->params.at[i]->type);
    tn_walk(fn->body, 0, collect_value, NULL, l);
    collect_type(l, fn->ret);
}

static const tn_node *
lower_function(const tn_pass_ctx *pc, tn_builder *b, const char *name, const tn_function *fn)
{
    tn_ctx *ctx = pc->ctx;
    const tn_seq_expr *seq = tn_as_seq_expr(fn->body);
    if (!seq)
        return TN_NODE(fn);
    lowering l = {.ctx = ctx,
                  .scratch = tn_scratch(ctx),
                  .b = b,
                  .name = name,
                  .contexts = tn_option_bool(pc, "emit_err_ctx")};
    l.num_input = tn_dict_int(fn->attrs, "num_input", -1);
    tnb_ptrmap_init(&l.values, l.scratch);
    tnb_ptrmap_init(&l.given_by, l.scratch);
    tnb_ptrmap_init(&l.slot_by_node, l.scratch);
    tnb_ptrmap_init(&l.slot_by_hash, l.scratch);
    collect_function(&l, fn);
    link_slots(&l);

    const tn_type *heap_type = tn_ty_tensor_of(ctx, NULL, TNB_I64, 1, NULL);
    const tn_expr *heap_call;
    if (l.slots.n) {
        const tn_op *op = tn_find_op(tn_ctx_registry(ctx), "relax.call_builtin_with_ctx", NULL);
        const tn_expr *size = tn_tuple_of(ctx, tn_listv(ctx, tn_i64(ctx, l.slots.n), NULL));
        heap_call = tn_call_of(ctx, tn_op_ref_of(ctx, op),
                               tn_listv(ctx, tn_extern_func_of(ctx, "vm.builtin.alloc_shape_heap"),
                                        size, NULL),
                               NULL, tn_listv(ctx, heap_type, NULL), heap_type);
    } else {
        heap_call = tn_call_opv(ctx, "relax.null_value", NULL, NULL);
    }
    l.heap = emit(&l, heap_call, "shape_heap");
    for (uint32_t i = 0; i < fn->params.n; i++) {
        const tn_expr *p = fn->params.at[i];
        const char *where = tn_strf(ctx, "parameter '%s' of", tn_var_name(p));
        check_value(&l, p, p->type, l.num_input >= 0 && (int64_t)i >= l.num_input,
                    context_text(&l, where, "declared as", p->type));
    }
    run_todos(&l);
    l.trusted = true;
    const tn_node *head = tn_binding_block_of(ctx, tn_list_of(ctx, l.out.at, l.out.n), false);
    l.out.n = 0;
    const tn_expr *body = lower_sequence(&l, seq);
    if (l.failed || tn_is_error(body))
        return NULL;
    tn_list blocks = tn_listv(ctx, head, NULL);
    const tn_seq_expr *lowered = (const tn_seq_expr *)body;
    for (uint32_t i = 0; i < lowered->blocks.n; i++)
        blocks = tn_list_append(ctx, blocks, lowered->blocks.at[i]);
    if (tn_type_check(ctx, fn->ret, seq->body->type) != TN_SUBTYPE_YES) {
        check_value(&l, lowered->body, fn->ret, false,
                    context_text(&l, "the result of", "declared as", fn->ret));
        run_todos(&l);
        if (l.failed)
            return NULL;
        if (l.out.n)
            blocks =
                tn_list_append(ctx, blocks,
                               tn_binding_block_of(ctx, tn_list_of(ctx, l.out.at, l.out.n), false));
    }
    return tn_function_of(ctx, fn->params, tn_seq_expr_of(ctx, blocks, lowered->body), fn->ret,
                          fn->pure, fn->attrs);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    tn_builder *b = tn_builder_new(pc->ctx, m);
    TNB_VEC(const char *) names = {0};
    TNB_VEC(const tn_node *) funcs = {0};
    for (uint32_t i = 0; i < m->names.n; i++) {
        const tn_function *fn = tn_as_function(m->funcs.at[i]);
        if (!fn || !transform_is_imperative(fn))
            continue;
        const tn_node *nf = lower_function(pc, b, tn_module_name(m, i), fn);
        if (!nf || tn_is_error(nf))
            return NULL;
        TNB_PUSH(tn_scratch(pc->ctx), names, tn_module_name(m, i));
        TNB_PUSH(tn_scratch(pc->ctx), funcs, nf);
    }
    return names.n ? tn_module_set_all(pc->ctx, tn_builder_module(b), names.at, funcs.at, names.n)
                   : m;
}

static const tn_attr_schema options[] = {{"emit_err_ctx", TN_ATTR_BOOL, 0, "True",
                                          "say in each check which argument it belongs to"},
                                         {0}};

const tn_pass transform_vm_shape_lower = {
    .base.size = sizeof(tn_pass),
    .base.name = "VMShapeLower",
    .base.doc = "turn argument checks and symbolic shapes into calls of the runtime",
    .options = options,
    .keeps = TN_KEEPS_BITS,
    .run = run,
};
