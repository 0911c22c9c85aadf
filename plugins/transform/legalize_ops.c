/* SPDX-License-Identifier: Apache-2.0 */
/* LegalizeOps: replaces operator calls by calls of tensor programs.
 *
 *     lv = R.add(x, y)    =>    lv = R.call_tir(cls.add, (x, y), out_ty=R.Tensor((8, 4), "float32"))
 *                               and the PrimFunc `add`
 *
 * A call is taken when the shapes of its arguments, and of its result unless that depends on data,
 * are known; an element type that is not is then an error. The rule is the target's
 * (tn_find_legalizer), else the operator's own. What a rule returns or emits is legalized in turn.
 * Where a result that depends on data gets names for its extents, the calls that use it are typed
 * again and taken then. Calls without a rule, or whose rule declines, stay. Options: skip_ops, enable_warning. Cases:
 * tests/pass/LegalizeOps.
 */
#include "transform.h"

#include "tenon/core/builder.h"
#include "tenon/core/registry.h"
#include "tenon/core/walk.h"

enum { MAX_DEPTH = 64 };

typedef struct bindings {
    TNB_VEC(const tn_node *) at;
    bool dataflow;
    bool changed;
} bindings;

typedef struct legalizer {
    const tn_pass_ctx *pc;
    tn_ctx *ctx;
    tnb_arena *arena;
    tn_builder *b;
    tn_list skip;
    bool warn, failed;
    bool certain; /* what is at hand runs whenever the program does */
    int depth;
    tnb_ptrmap finer; /* variables that were bound to a value of a finer type -> theirs */
    tnb_ptrmap made;  /* hash of a call, as a key -> struct made */
    TNB_VEC(const char *) replaced; /* programs that were copied for a device */
} legalizer;

static const tn_expr *
legal_value(legalizer *l, bindings *out, const tn_expr *value);

/* ---- which calls, which rule ---- */

static bool
is_known(const tn_type *t)
{
    tn_list dims;
    if (tn_is(t, TN_KIND_TY_TENSOR))
        return tn_type_dims(t, &dims);
    if (tn_is(t, TN_KIND_TY_SHAPE))
        return tn_type_dims(t, &dims);
    if (tn_is(t, TN_KIND_TY_TUPLE)) {
        tn_list fields = tn_as_ty_tuple(t)->fields;
        for (uint32_t i = 0; i < fields.n; i++) {
            if (!is_known(fields.at[i]))
                return false;
        }
        return true;
    }
    return tn_is(t, TN_KIND_TY_PRIM) || tn_is(t, TN_KIND_TY_ANY);
}

static bool
is_eligible(const tn_call *call, const tn_op *op)
{
    for (uint32_t i = 0; (op->flags & TN_OP_ARG_SHAPES) && i < call->args.n; i++) {
        if (!is_known(call->args.at[i]->type))
            return false;
    }
    return (op->flags & TN_OP_DATA_DEPENDENT) || is_known(call->base.type);
}

/* A tensor type, or one in a tuple, whose element type is not known. */
static bool
lacks_dtype(const tn_type *t)
{
    if (tn_is(t, TN_KIND_TY_TENSOR))
        return tnb_dtype_is_void(tn_type_dtype(t));
    const tn_ty_tuple *u = tn_as_ty_tuple(t);
    for (uint32_t i = 0; u && i < u->fields.n; i++)
        if (lacks_dtype(u->fields.at[i]))
            return true;
    return false;
}

/* Programs have element types: a call of which one is not known is an error of the module, as
 * nothing later could find it out. */
static bool
has_dtypes(legalizer *l, const tn_call *call, const tn_op *op)
{
    bool lacks = (op->flags & TN_OP_DATA_DEPENDENT) == 0 && lacks_dtype(call->base.type);
    for (uint32_t i = 0; (op->flags & TN_OP_ARG_SHAPES) && i < call->args.n; i++)
        lacks |= lacks_dtype(call->args.at[i]->type);
    if (!lacks)
        return true;
    tn_error(l->ctx, call->base.loc, TNB_TYPE,
             "%s becomes a tensor program, for which the element types of its operands have to be "
             "known",
             op->base.name);
    l->failed = true;
    return false;
}

static bool
is_skipped(const legalizer *l, const tn_op *op)
{
    for (uint32_t i = 0; i < l->skip.n; i++) {
        const tn_string_imm *s = tn_as_string_imm(l->skip.at[i]);
        if (s && strcmp(s->value, op->base.name) == 0)
            return true;
    }
    return false;
}

static const tn_legalizer *
target_rule(const legalizer *l, const tn_op *op)
{
    const tn_target *target = l->pc->target;
    tn_registry *reg = tn_ctx_registry(l->ctx);
    return target && reg ? tn_find_legalizer(reg, op->base.name, target->kind) : NULL;
}

/* Runs the rule; NULL: the call stays. */
static const tn_expr *
apply_rule(legalizer *l, const tn_call *call, const tn_op *op)
{
    const tn_target *target = l->pc->target;
    const tn_legalizer *own = target_rule(l, op);
    if (own) {
        const tn_expr *r = TN_WITHIN(l->ctx, "legalizer of", own, NULL,
                                     own->legalize(l->b, call, target, own->self));
        if (r)
            return r;
    }
    return op->legalize ? TN_WITHIN(l->ctx, "operator", op, "legalize", op->legalize(l->b, call))
                        : NULL;
}

/* ---- virtual devices ---- */

static const tn_node *
device_of(const tn_type *t)
{
    if (tn_is(t, TN_KIND_TY_TENSOR)) {
        const tn_vdevice *v = tn_as_vdevice(tn_as_ty_tensor(t)->vdevice);
        return v ? &v->base : NULL;
    }
    const tn_ty_tuple *u = tn_as_ty_tuple(t);
    for (uint32_t i = 0; u && i < u->fields.n; i++) {
        const tn_node *v = device_of(u->fields.at[i]);
        if (v)
            return v;
    }
    return NULL;
}

/* A program whose result lies on a virtual device is copied with that device's target. */
static const tn_expr *
place_on_device(legalizer *l, const tn_expr *e, const tn_type *type)
{
    const tn_node *v = device_of(type);
    const tn_call *call = tn_is_call_to(e, "relax.call_tir");
    if (!v || !call || device_of(e->type))
        return e;
    const tn_target *target = tn_as_target(tn_as_vdevice(v)->target);
    const tn_global_var *gv = tn_as_global_var(call->args.at[0]);
    if (!target || !gv)
        return e;
    const tn_node *func = tn_builder_find_function(l->b, gv->name);
    func = tn_func_with_attr(l->ctx, func, "target", TN_NODE(target));
    const char *hint = tnb_printf(l->arena, "%s_%s", gv->name, target->kind);
    const tn_expr *placed = tn_builder_add_function(l->b, func, hint);
    TNB_PUSH(l->arena, l->replaced, gv->name);
    tn_list args = tn_list_with(l->ctx, call->args, 0, placed);
    tn_list types = call->ty_args.n == 1 ? tn_listv(l->ctx, type, NULL) : call->ty_args;
    return tn_call_of(l->ctx, call->op, args, call->attrs, types, type);
}

/* ---- one call ---- */

static const tn_expr *
fresh_var(legalizer *l, const bindings *out, const tn_type *type)
{
    return out->dataflow ? tn_dataflow_var_new(l->ctx, "lv", type) : tn_var_new(l->ctx, "gv", type);
}

static void
push_value(legalizer *l, bindings *out, const tn_expr *var, const tn_expr *value)
{
    TNB_PUSH(l->arena, out->at, tn_var_binding_of(l->ctx, var, value));
}

/* A leaf for `e`: what is not one gets a binding of its own. */
static const tn_expr *
as_leaf(legalizer *l, bindings *out, const tn_expr *e)
{
    const tn_tuple *t = tn_as_tuple(e);
    if (t) {
        const tn_node **fields = TNB_NEW_N(l->arena, const tn_node *, t->fields.n);
        bool same = true;
        for (uint32_t i = 0; i < t->fields.n; i++) {
            fields[i] = as_leaf(l, out, t->fields.at[i]);
            same &= fields[i] == t->fields.at[i];
        }
        return same ? e : tn_tuple_of(l->ctx, tn_list_of(l->ctx, fields, t->fields.n));
    }
    if (!tn_is(e, TN_KIND_CALL) && !tn_is(e, TN_KIND_TUPLE_GET) && !tn_is(e, TN_KIND_IF_EXPR))
        return e;
    if (tn_is_scalar(e))
        return e;
    const tn_expr *value = legal_value(l, out, e), *var = fresh_var(l, out, value->type);
    push_value(l, out, var, value);
    return var;
}

static const tn_expr *
with_leaf_args(legalizer *l, bindings *out, const tn_call *call)
{
    tn_list args = call->args;
    for (uint32_t i = 0; i < args.n; i++) {
        const tn_expr *leaf = as_leaf(l, out, call->args.at[i]);
        if (leaf != call->args.at[i])
            tn_list_change(l->ctx, &args, call->args, i, leaf);
    }
    if (args.at == call->args.at)
        return TN_NODE(call);
    return tn_call_of(l->ctx, call->op, args, call->attrs, call->ty_args, call->base.type);
}

/* The bindings that a rule emitted into the builder's function, legalized. */
static void
take_emitted(legalizer *l, bindings *out, const tn_expr *func)
{
    const tn_seq_expr *seq = func ? tn_as_seq_expr(tn_as_function(func)->body) : NULL;
    for (uint32_t i = 0; seq && i < seq->blocks.n; i++) {
        tn_list at = tn_as_bindings_block(seq->blocks.at[i])->bindings;
        for (uint32_t k = 0; k < at.n; k++) {
            const tn_var_binding *v = tn_as_var_binding(at.at[k]);
            if (v)
                push_value(l, out, v->var, legal_value(l, out, v->value));
            else
                TNB_PUSH(l->arena, out->at, at.at[k]);
        }
    }
}

/* ---- calls that differ in their operands only ---- */

/* A call of an operator on variables of fixed shapes that became one call of a program: the next
 * one on variables of these types becomes the same with its own. */
struct made {
    struct made *next; /* of the same hash */
    const tn_call *call, *tir;
    uint32_t from[]; /* which argument each operand of the program is */
};

static bool
takes_tensors_only(const tn_call *c)
{
    for (uint32_t i = 0; i < c->args.n; i++)
        if (!tn_is_var(c->args.at[i]) || !tn_is(c->args.at[i]->type, TN_KIND_TY_TENSOR) ||
            !(c->args.at[i]->type->flags & TN_FLAG_CLOSED))
            return false;
    return c->args.n > 0 && c->ty_args.n == 0 && (c->base.type->flags & TN_FLAG_CLOSED);
}

/* The first argument that is this one. */
static uint32_t
place_of(const tn_call *c, const tn_node *arg)
{
    uint32_t i = 0;
    while (i < c->args.n && c->args.at[i] != arg)
        i++;
    return i;
}

static const void *
key_of(const tn_call *c)
{
    uint64_t h = (uintptr_t)tn_call_op_of(c);
    for (uint32_t i = 0; i < c->args.n; i++)
        h = (h ^ (uintptr_t)c->args.at[i]->type) * UINT64_C(0x9e3779b97f4a7c15) + (h >> 29);
    return (const void *)(uintptr_t)(h | 1);
}

static bool
same_but_for_names(legalizer *l, const tn_call *a, const tn_call *b)
{
    bool same = tn_call_op_of(a) == tn_call_op_of(b) && a->args.n == b->args.n &&
                a->base.type == b->base.type;
    for (uint32_t i = 0; same && i < a->args.n; i++)
        same = a->args.at[i]->type == b->args.at[i]->type &&
               place_of(a, a->args.at[i]) == place_of(b, b->args.at[i]);
    return same && (a->attrs == b->attrs ||
                    (a->attrs && b->attrs && tn_equal(l->ctx, a->attrs, b->attrs, false, NULL)));
}

static const tn_expr *
made_before(legalizer *l, const tn_call *call)
{
    const struct made *m = tnb_ptrmap_get(&l->made, key_of(call));
    while (m && !same_but_for_names(l, m->call, call))
        m = m->next;
    if (!m)
        return NULL;
    uint32_t n = tn_as_tuple(m->tir->args.at[1])->fields.n;
    const tn_node **operands = TNB_NEW_N(l->arena, const tn_node *, n + 1);
    for (uint32_t i = 0; i < n; i++)
        operands[i] = call->args.at[m->from[i]];
    const tn_expr *tuple = tn_tuple_of(l->ctx, tn_list_of(l->ctx, operands, n));
    return tn_call_of(l->ctx, m->tir->op, tn_list_with(l->ctx, m->tir->args, 1, tuple),
                      m->tir->attrs, m->tir->ty_args, m->tir->base.type);
}

static void
remember(legalizer *l, const tn_call *call, const tn_expr *result)
{
    const tn_call *tir = tn_is_call_to(result, "relax.call_tir");
    const tn_tuple *t = tir && tir->args.n == 2 ? tn_as_tuple(tir->args.at[1]) : NULL;
    if (!t || !(result->type->flags & TN_FLAG_CLOSED))
        return;
    struct made *m = tnb_alloc(l->arena, sizeof *m + t->fields.n * sizeof m->from[0]);
    for (uint32_t i = 0; i < t->fields.n; i++) {
        m->from[i] = place_of(call, t->fields.at[i]);
        if (m->from[i] == call->args.n)
            return;
    }
    m->next = tnb_ptrmap_get(&l->made, key_of(call));
    m->call = call;
    m->tir = tir;
    tnb_ptrmap_set(&l->made, key_of(call), m);
}

/* ---- rules ---- */

/* The rule's result; *emitted: a function with what it emitted. */
static const tn_expr *
emit_rule(legalizer *l, const bindings *out, const tn_call *call, const tn_op *op,
          const tn_expr **emitted)
{
    tn_builder_begin_function(l->b, (tn_list){0});
    tn_builder_begin_block(l->b, out->dataflow);
    const tn_expr *r = apply_rule(l, call, op);
    tn_builder_end_block(l->b);
    *emitted = tn_builder_end_function(l->b, tn_tuple_of(l->ctx, (tn_list){0}), NULL, true, NULL);
    return r;
}

/* The call with integers that are constants, and so are looked at here, as variables that are bound in front of it. */
static const tn_call *
with_hidden_integers(legalizer *l, bindings *out, const tn_call *call)
{
    tn_list args = call->args;
    for (uint32_t i = 0; i < args.n; i++) {
        const tn_expr *a = call->args.at[i];
        const tn_type *t = a->type;
        if (tn_is(a, TN_KIND_INT_IMM))
            t = tn_ty_prim_of(l->ctx, tn_dtype_of(a));
        else if (!tn_is(a, TN_KIND_CONSTANT) || !tnb_dtype_is_int(tn_type_dtype(t)))
            continue;
        const tn_expr *var = fresh_var(l, out, t);
        push_value(l, out, var, a);
        tn_list_change(l->ctx, &args, call->args, i, var);
    }
    return args.at == call->args.at ? call
                                    : tn_as_call(tn_call_of(l->ctx, call->op, args, call->attrs,
                                                            call->ty_args, call->base.type));
}

/* A constant index is out of range where it may never be used: the kernel finds that, and a warning says so now. NULL: something
 * else is wrong. */
static const tn_expr *
emit_checked(legalizer *l, bindings *out, const tn_call *call, const tn_op *op, uint32_t before,
             const tn_expr **emitted)
{
    tnb_diags *d = tn_diags(l->ctx);
    const tnb_diag *e = tnb_diags_get(d, before);
    const tn_target *target = l->pc->target;
    bool is_off = target && strcmp(tn_dict_str(target->attrs, "check_indices", ""), "off") == 0;
    if (l->certain || is_off || tnb_diags_count(d) != before + 1 || e->status != TNB_BOUNDS)
        return NULL;
    const char *why = tn_strf(l->ctx, "%s", e->message);
    const tn_call *hidden = with_hidden_integers(l, out, call);
    if (hidden == call)
        return NULL;
    tnb_diags_cut(d, before);
    const tn_expr *r = emit_rule(l, out, hidden, op, emitted);
    if (!tn_is_error(r))
        tn_warn(l->ctx, call->base.loc,
                "%s; computing it ends the program, unless check_indices says else", why);
    return r;
}

static const tn_expr *
legal_call(legalizer *l, bindings *out, const tn_call *call)
{
    const tn_op *op = tn_call_op_of(call);
    if (!op || (!op->legalize && !target_rule(l, op)) || is_skipped(l, op) ||
        !is_eligible(call, op) || !has_dtypes(l, call, op))
        return TN_NODE(call);
    if (l->depth == MAX_DEPTH) {
        tn_error(l->ctx, call->base.loc, TNB_INTERNAL, "legalizing %s does not end", op->base.name);
        l->failed = true;
        return TN_NODE(call);
    }
    tn_loc before = tn_at(l->ctx, call->base.loc);
    /* a target's rule may look at what its arguments are bound to */
    bool plain = takes_tensors_only(call) && !target_rule(l, op);
    const tn_expr *again = plain ? made_before(l, call) : NULL;
    if (again) {
        tn_at(l->ctx, before);
        out->changed = true;
        return again;
    }
    uint32_t bound = out->at.n;
    uint32_t diags = tnb_diags_count(tn_diags(l->ctx));
    const tn_expr *emitted, *r = emit_rule(l, out, call, op, &emitted);
    if (tn_is_error(r)) {
        const tn_expr *checked = emit_checked(l, out, call, op, diags, &emitted);
        r = checked ? checked : r;
    }
    tn_at(l->ctx, before);
    if (tn_is_error(r)) {
        l->failed = true;
        return TN_NODE(call);
    }
    if (!r || r == TN_NODE(call)) {
        if (l->warn && !r && op->legalize)
            tn_warn(l->ctx, call->base.loc, "%s was not legalized", op->base.name);
        return TN_NODE(call);
    }
    out->changed = true;
    l->depth++;
    take_emitted(l, out, emitted);
    r = legal_value(l, out, place_on_device(l, r, call->base.type));
    l->depth--;
    if (plain && out->at.n == bound)
        remember(l, call, r);
    return r;
}

/* ---- functions ---- */

static const tn_expr *
legal_seq(legalizer *l, const tn_expr *e);

static const tn_expr *
legal_function(legalizer *l, const tn_function *f)
{
    const tn_expr *body = legal_seq(l, f->body);
    return body == f->body
               ? TN_NODE(f)
               : tn_function_of(l->ctx, f->params, body, f->ret, f->pure != 0, f->attrs);
}

static const tn_expr *
legal_value(legalizer *l, bindings *out, const tn_expr *value)
{
    const tn_if_expr *cond = tn_as_if_expr(value);
    bool certain = l->certain;
    if (tn_is(value, TN_KIND_CALL)) {
        const tn_expr *e = with_leaf_args(l, out, tn_as_call(value));
        return legal_call(l, out, tn_as_call(e));
    }
    if (cond) {
        l->certain = false;
        const tn_expr *a = legal_seq(l, cond->then_branch), *b = legal_seq(l, cond->else_branch);
        l->certain = certain;
        if (a == cond->then_branch && b == cond->else_branch)
            return value;
        return tn_if_expr_of(l->ctx, cond->cond, a, b);
    }
    if (tn_is(value, TN_KIND_FUNCTION)) {
        l->certain = false;
        const tn_expr *f = legal_function(l, tn_as_function(value));
        l->certain = certain;
        return f;
    }
    if (tn_is(value, TN_KIND_TUPLE_GET)) {
        const tn_tuple_get *g = tn_as_tuple_get(value);
        const tn_expr *t = as_leaf(l, out, g->tuple);
        return t == g->tuple ? value : tn_tuple_item(l->ctx, t, g->index);
    }
    return tn_is(value, TN_KIND_TUPLE) ? as_leaf(l, out, value) : value;
}

/* The variable for a legalized value: a value of known extents that the variable's type does not
 * tell gets a variable of its own type. */
static const tn_expr *
var_for(legalizer *l, const tn_expr *var, const tn_expr *value)
{
    if (is_known(var->type) || !value->type || !is_known(value->type) ||
        tn_type_check(l->ctx, var->type, value->type) != TN_SUBTYPE_YES)
        return var;
    const tn_expr *finer = tn_var_retyped(l->ctx, var, value->type);
    tnb_ptrmap_set(&l->finer, var, finer);
    return finer;
}

static const tn_node *
legal_block(legalizer *l, const tn_node *block)
{
    tn_list at = tn_as_bindings_block(block)->bindings;
    bindings out = {.dataflow = block->kind == TN_KIND_DATAFLOW_BLOCK};
    bool same = true;
    for (uint32_t i = 0; i < at.n; i++) {
        const tn_var_binding *v = tn_as_var_binding(at.at[i]);
        const tn_expr *value = v ? legal_value(l, &out, v->value) : NULL;
        if (!v || value == v->value) {
            TNB_PUSH(l->arena, out.at, at.at[i]);
            continue;
        }
        same = false;
        tn_loc before = tn_at(l->ctx, at.at[i]->loc);
        push_value(l, &out, var_for(l, v->var, value), value);
        tn_at(l->ctx, before);
    }
    return same && out.at.n == at.n
               ? block
               : tn_binding_block_of(l->ctx, tn_list_of(l->ctx, out.at.at, out.at.n), out.dataflow);
}

static const tn_expr *
legal_seq(legalizer *l, const tn_expr *e)
{
    const tn_seq_expr *seq = tn_as_seq_expr(e);
    if (!seq)
        return e;
    tn_list blocks = seq->blocks;
    for (uint32_t i = 0; i < seq->blocks.n; i++) {
        const tn_node *block = legal_block(l, seq->blocks.at[i]);
        if (block != seq->blocks.at[i])
            tn_list_change(l->ctx, &blocks, seq->blocks, i, block);
    }
    return blocks.at == seq->blocks.at ? e : tn_seq_expr_of(l->ctx, blocks, seq->body);
}

/* Until no result gets a finer type any more. */
static const tn_expr *
legal_to_the_end(legalizer *l, const tn_expr *f)
{
    for (;;) {
        tnb_ptrmap_init(&l->finer, l->arena);
        l->certain = tn_func_attr(f, "global_symbol") != NULL;
        const tn_expr *now = legal_function(l, tn_as_function(f));
        if (l->failed || !l->finer.n)
            return now;
        tn_rewriter r = {.ctx = l->ctx, .retype = true, .map = &l->finer};
        f = tn_rewrite(&r, now);
        if (tn_is_error(f)) {
            l->failed = true;
            return now;
        }
    }
}

/* ---- the module ---- */

static tn_walk_step
note_name(void *user, const tn_node *n)
{
    const tn_global_var *gv = tn_as_global_var(n);
    if (gv)
        tnb_strmap_set(user, gv->name, gv);
    return TN_WALK_ON;
}

/* Removes programs that were only made to be copied for a device. */
static const tn_module *
drop_replaced(legalizer *l, const tn_module *m)
{
    if (!l->replaced.n)
        return m;
    tnb_strmap used;
    tnb_strmap_init(&used, l->arena);
    for (uint32_t k = 0; k < m->funcs.n; k++)
        tn_walk(m->funcs.at[k], 0, note_name, NULL, &used);
    tn_module_edit *edit = tn_module_edit_new(l->ctx, m);
    for (uint32_t i = 0; i < l->replaced.n; i++)
        if (!tnb_strmap_has(&used, l->replaced.at[i]))
            tn_module_edit_set(edit, l->replaced.at[i], NULL);
    return tn_module_edit_end(edit);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    legalizer l = {.pc = pc, .ctx = pc->ctx, .arena = tn_scratch(pc->ctx)};
    const tn_array *skip = tn_as_array(tn_dict_get(pc->options, "skip_ops"));
    if (!tn_config_bool(pc, "relax.transform.apply_legalize_ops"))
        return m;
    l.skip = skip ? skip->items : (tn_list){0};
    l.warn = tn_option_bool(pc, "enable_warning");
    l.b = tn_builder_new(pc->ctx, m);
    tnb_ptrmap_init(&l.made, l.arena);
    uint32_t n = 0;
    const char **names = TNB_NEW_N(l.arena, const char *, m->funcs.n);
    const tn_node **funcs = TNB_NEW_N(l.arena, const tn_node *, m->funcs.n);
    for (uint32_t i = 0; i < m->funcs.n && !l.failed; i++) {
        const tn_function *f = tn_as_function(m->funcs.at[i]);
        if (!f)
            continue;
        tn_builder_know(l.b, TN_NODE(f));
        const tn_node *g = legal_to_the_end(&l, TN_NODE(f));
        if (g != TN_NODE(f)) {
            names[n] = tn_module_name(m, i);
            funcs[n++] = g;
        }
        if (pc->progress)
            pc->progress(pc->progress_user, i + 1, m->funcs.n);
    }
    if (l.failed)
        return NULL;
    if (!n)
        return m;
    return drop_replaced(&l, tn_module_set_all(pc->ctx, tn_builder_module(l.b), names, funcs, n));
}

static const tn_attr_schema options[] = {
    {"skip_ops", TN_ATTR_STRS, 0, "[]", "operators left alone: \"relax.add\"", "op"},
    {"enable_warning", TN_ATTR_BOOL, 0, "False", "warn of operators that no rule takes"},
    {NULL, TN_ATTR_ANY, 0, NULL, NULL},
};

static const tn_attr_schema config[] = {{"relax.transform.apply_legalize_ops", TN_ATTR_BOOL, 0,
                                         "True", "False: the pass leaves the module as it is"},
                                        {.name = NULL}};

const tn_pass transform_legalize_ops = {
    .base.size = sizeof(tn_pass),
    .opt_level = 0,
    .base.name = "LegalizeOps",
    .base.doc = "replaces operator calls by calls of tensor programs",
    .options = options,
    .keeps = TN_KEEPS_TOLERANCE,
    .flags = TN_PASS_PARALLEL,
    .run = run,
    .needs = "op legalizer",
    .config = config,
};
