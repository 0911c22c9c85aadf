/* SPDX-License-Identifier: Apache-2.0 */
/* Carrying layouts through a module: what ConvertLayout does, for whoever decides which layouts.
 *
 * One walk forward over each dataflow block. Every variable has a layout (tn_layouts in
 * tenon/core/op.h), at first that in which it was written; an operator's rule (tn_op.layout) says
 * what it wants of its arguments and what its result has. What has no rule, and what leaves the
 * block, is as written. Layouts with blocks ("NCHW4c") are made by R.layout_transform.
 */
#include "tenon/kit/layout.h"

#include "tenon/core/builder.h"
#include "tenon/core/walk.h"

typedef struct converter {
    tn_ctx *ctx;
    tnk_wanted_layouts wanted;
    void *user;
    tnb_ptrmap layouts; /* variable as written -> layout, where not initial */
    tnb_ptrmap
        tuples; /* type of tuples -> initial layout: a model's weights are thousands of fields */
    tnb_ptrmap *vars; /* variable as written -> what stands for it, where another */
    TNB_VEC(const tn_node *) out;
    bool failed;
} converter;

/* ---- layouts of values ---- */

static const tn_node *
initial_of_type(converter *c, const tn_type *t)
{
    tn_ctx *ctx = c->ctx;
    const tn_ty_tuple *u = tn_as_ty_tuple(t);
    const tn_node *known = u ? tnb_ptrmap_get(&c->tuples, t) : NULL;
    if (known)
        return known;
    if (u) {
        const tn_node **fields = TNB_NEW_N(tn_scratch(ctx), const tn_node *, u->fields.n);
        for (uint32_t i = 0; i < u->fields.n; i++)
            fields[i] = initial_of_type(c, u->fields.at[i]);
        known = tn_array_of(ctx, (tn_list){fields, u->fields.n});
        tnb_ptrmap_set(&c->tuples, t, known);
        return known;
    }
    const char *text =
        tn_is(t, TN_KIND_TY_TENSOR) ? tnk_layout_initial(ctx, tn_type_ndim(t)) : NULL;
    return text ? tn_string(ctx, text) : tn_none_value(ctx);
}

static const tn_node *
layout_of(converter *c, const tn_expr *leaf)
{
    const tn_tuple *t = tn_as_tuple(leaf);
    if (t) {
        const tn_node **fields = TNB_NEW_N(tn_scratch(c->ctx), const tn_node *, t->fields.n);
        for (uint32_t i = 0; i < t->fields.n; i++)
            fields[i] = layout_of(c, t->fields.at[i]);
        return tn_array_of(c->ctx, (tn_list){fields, t->fields.n});
    }
    const tn_node *known = tnb_ptrmap_get(&c->layouts, leaf);
    return known ? known : initial_of_type(c, leaf->type);
}

static bool
same_layout(const tn_node *a, const tn_node *b)
{
    const tn_array *x = tn_as_array(a), *y = tn_as_array(b);
    const tn_string_imm *s = tn_as_string_imm(a), *t = tn_as_string_imm(b);
    if (s && t)
        return strcmp(s->value, t->value) == 0;
    if (!x || !y || x->items.n != y->items.n)
        return a->kind == b->kind && !x;
    for (uint32_t i = 0; i < x->items.n; i++)
        if (!same_layout(x->items.at[i], y->items.at[i]))
            return false;
    return true;
}

/* Whether tensors in `t` lack a layout because their rank is not known. */
static bool
has_unknown_rank(const tn_type *t)
{
    const tn_ty_tuple *u = tn_as_ty_tuple(t);
    for (uint32_t i = 0; u && i < u->fields.n; i++)
        if (has_unknown_rank(u->fields.at[i]))
            return true;
    return tn_is(t, TN_KIND_TY_TENSOR) && (tn_type_ndim(t) < 0 || tn_type_ndim(t) > 26);
}

/* ---- emitting ---- */

/* Binds the value: to `var` if its type is still right, else to a variable like it. */
static const tn_expr *
bind(converter *c, const tn_expr *var, const tn_expr *value)
{
    if (tn_is_error(value)) {
        c->failed = true;
        return var;
    }
    const tn_expr *made = tn_type_equal(c->ctx, var->type, value->type)
                              ? var
                              : tn_var_retyped(c->ctx, var, value->type);
    if (made != var)
        tnb_ptrmap_set(c->vars, var, made);
    TNB_PUSH(tn_scratch(c->ctx), c->out, tn_var_binding_of(c->ctx, made, value));
    return made;
}

static const tn_expr *
emit(converter *c, const tn_expr *value)
{
    return bind(c, tn_dataflow_var_new(c->ctx, "lv", value->type), value);
}

/* The leaf as it is now named. */
static const tn_expr *
renamed(converter *c, const tn_expr *leaf)
{
    const tn_tuple *t = tn_as_tuple(leaf);
    if (!t) {
        const tn_expr *now = tnb_ptrmap_get(c->vars, leaf);
        return now ? now : leaf;
    }
    tn_list fields = t->fields;
    for (uint32_t i = 0; i < fields.n; i++)
        tn_list_change(c->ctx, &fields, t->fields, i, renamed(c, t->fields.at[i]));
    return fields.at == t->fields.at ? leaf : tn_tuple_of(c->ctx, fields);
}

/* The same axes and blocks, in whatever order. */
static bool
same_parts(const tnk_layout *a, const tnk_layout *b)
{
    for (int i = 0; i < b->n; i++) {
        int at = tnk_layout_find(a, b->axis[i]);
        if (at < 0 || a->factor[at] != b->factor[i])
            return false;
    }
    return a->n == b->n;
}

/* A tensor in layout `to`, as a value to be bound; e itself if it has that. */
static const tn_expr *
conversion(converter *c, const tn_expr *e, const char *from, const char *to)
{
    tnk_layout a, b;
    if (strcmp(from, to) == 0 || !tnk_layout_parse(from, &a) || !tnk_layout_parse(to, &b))
        return e;
    bool blocks = tnk_layout_blocked(from) || tnk_layout_blocked(to);
    if (blocks && !same_parts(&a, &b)) {
        const tn_node *map = tnk_layout_index_map(c->ctx, from, to);
        return map ? tn_call_opv(c->ctx, "relax.layout_transform",
                                 tn_dictv(c->ctx, "index_map", map, NULL), e, NULL)
                   : e;
    }
    int64_t axes[TNK_LAYOUT_AXES];
    for (int i = 0; i < b.n; i++)
        axes[i] = tnk_layout_find(&a, b.axis[i]);
    return tn_call_opv(c->ctx, "relax.permute_dims",
                       tn_dictv(c->ctx, "axes", tn_int_array(c->ctx, axes, (uint32_t)b.n), NULL), e,
                       NULL);
}

/* The leaf (as now named) with layout `from` brought to layout `to`; what is new is bound. */
static const tn_expr *
converted(converter *c, const tn_expr *e, const tn_node *from, const tn_node *to)
{
    if (same_layout(from, to))
        return e;
    const tn_string_imm *s = tn_as_string_imm(from), *t = tn_as_string_imm(to);
    if (s && t)
        return emit(c, conversion(c, e, s->value, t->value));
    const tn_array *x = tn_as_array(from), *y = tn_as_array(to);
    if (!x || !y || x->items.n != y->items.n)
        return e;
    const tn_node **fields = TNB_NEW_N(tn_scratch(c->ctx), const tn_node *, x->items.n);
    const tn_tuple *tuple = tn_as_tuple(e);
    for (uint32_t i = 0; i < x->items.n; i++) {
        const tn_expr *field = tuple ? tuple->fields.at[i] : emit(c, tn_tuple_item(c->ctx, e, i));
        fields[i] = converted(c, field, x->items.at[i], y->items.at[i]);
    }
    return tn_tuple_of(c->ctx, tn_list_of(c->ctx, fields, x->items.n));
}

static const tn_expr *
with_layout(converter *c, const tn_expr *leaf, const tn_node *to)
{
    return converted(c, renamed(c, leaf), layout_of(c, leaf), to);
}

static const tn_expr *
as_written(converter *c, const tn_expr *leaf)
{
    return with_layout(c, leaf, initial_of_type(c, leaf->type));
}

/* Binds `value`, whose layout is `l`, for the variable `var` of the block. */
static void
bind_laid_out(converter *c, const tn_expr *var, const tn_expr *value, const tn_node *l)
{
    if (tn_is(var, TN_KIND_DATAFLOW_VAR)) {
        bind(c, var, value);
        tnb_ptrmap_set(&c->layouts, var, l);
        return;
    }
    const tn_node *plain = initial_of_type(c, var->type);
    if (!same_layout(l, plain)) {
        const tn_string_imm *s = tn_as_string_imm(l), *t = tn_as_string_imm(plain);
        const tn_expr *v = emit(c, value);
        value = s && t ? conversion(c, v, s->value, t->value) : converted(c, v, l, plain);
    }
    bind(c, var, value);
}

/* ---- calls ---- */

/* Asks the operator's rule; false: all as written. */
static bool
ask(converter *c, const tn_call *call, tn_layouts *q)
{
    const tn_op *op = tn_call_op_of(call);
    if (!op || !op->layout)
        return false;
    for (uint32_t i = 0; i < call->args.n; i++)
        if (has_unknown_rank(call->args.at[i]->type))
            return false;
    const tn_array *desired = tn_as_array(c->wanted(c->user, c->ctx, call));
    *q = (tn_layouts){.ctx = c->ctx, .call = call, .attrs = call->attrs, .call_args = call->args};
    q->desired = desired ? desired->items : (tn_list){0};
    q->args = TNB_NEW_N(tn_scratch(c->ctx), const tn_node *, call->args.n + 1);
    for (uint32_t i = 0; i < call->args.n; i++)
        q->args[i] = layout_of(c, call->args.at[i]);
    uint32_t errors = tnb_diags_errors(tn_diags(c->ctx));
    bool ok = op->layout(q) && q->result;
    c->failed |= tnb_diags_errors(tn_diags(c->ctx)) != errors;
    return ok;
}

static void
convert_call(converter *c, const tn_expr *var, const tn_call *call)
{
    tn_layouts q;
    bool asked = ask(c, call, &q);
    bool inferred = asked || (tn_call_op_of(call) && !call->ty_args.n);
    const tn_node **args = TNB_NEW_N(tn_scratch(c->ctx), const tn_node *, call->args.n + 1);
    bool same = true;
    for (uint32_t i = 0; i < call->args.n; i++) {
        const tn_expr *arg = call->args.at[i];
        if (asked && q.call_args.at[i] != arg)
            args[i] = q.call_args.at[i];
        else
            args[i] = asked ? with_layout(c, arg, q.args[i]) : as_written(c, arg);
        same &= args[i] == arg;
    }
    const tn_expr *value = TN_NODE(call);
    if (!same || (asked && q.attrs != call->attrs))
        value = tn_call_of(c->ctx, call->op, tn_list_of(c->ctx, args, call->args.n),
                           asked ? q.attrs : call->attrs, call->ty_args,
                           inferred ? NULL : call->base.type);
    if (asked)
        bind_laid_out(c, var, value, q.result);
    else
        bind(c, var, value);
}

/* ---- bindings ---- */

/* The asserted type in another layout: extents in another order. Blocks are not asserted. */
static const tn_type *
type_laid_out(converter *c, const tn_type *t, const tn_node *l)
{
    const tn_string_imm *s = tn_as_string_imm(l);
    tn_list dims;
    tnk_layout p;
    if (!s || !tn_type_dims(t, &dims) || tnk_layout_blocked(s->value) ||
        !tnk_layout_parse(s->value, &p) || (uint32_t)p.n != dims.n)
        return NULL;
    const tn_ty_tensor *own = tn_as_ty_tensor(t);
    const tn_node **moved = TNB_NEW_N(tn_scratch(c->ctx), const tn_node *, dims.n);
    for (uint32_t i = 0; i < dims.n; i++)
        moved[i] = dims.at[p.axis[i] - 'A'];
    return tn_ty_tensor_of(c->ctx, tn_shape_expr_of(c->ctx, tn_list_of(c->ctx, moved, dims.n)),
                           own->dtype, own->ndim, own->vdevice);
}

static void
convert_match_cast(converter *c, const tn_match_cast *m)
{
    const tn_node *l = layout_of(c, m->value), *plain = initial_of_type(c, m->value->type);
    const tn_type *to = m->to;
    const tn_expr *var = m->var, *value;
    bool moved = tn_is(var, TN_KIND_DATAFLOW_VAR) && !same_layout(l, plain) &&
                 (to = type_laid_out(c, m->to, l)) != NULL;
    if (moved) {
        value = renamed(c, m->value);
        var = tn_var_retyped(c->ctx, m->var, to);
        tnb_ptrmap_set(c->vars, m->var, var);
        tnb_ptrmap_set(&c->layouts, m->var, l);
    } else {
        to = m->to;
        value = as_written(c, m->value);
    }
    TNB_PUSH(tn_scratch(c->ctx), c->out, tn_match_cast_of(c->ctx, var, value, to));
}

static void
convert_tuple(converter *c, const tn_expr *var, const tn_expr *value)
{
    const tn_node *l = layout_of(c, value);
    if (!tn_is(var, TN_KIND_DATAFLOW_VAR))
        l = initial_of_type(c, value->type);
    bind(c, var, with_layout(c, value, l));
    if (tn_is(var, TN_KIND_DATAFLOW_VAR))
        tnb_ptrmap_set(&c->layouts, var, l);
}

static void
convert_binding(converter *c, const tn_node *binding)
{
    const tn_var_binding *b = tn_as_var_binding(binding);
    if (!b) {
        convert_match_cast(c, tn_as_match_cast(binding));
        return;
    }
    const tn_tuple_get *get = tn_as_tuple_get(b->value);
    if (tn_is(b->value, TN_KIND_CALL)) {
        convert_call(c, b->var, tn_as_call(b->value));
    } else if (get) {
        const tn_array *fields = tn_as_array(layout_of(c, get->tuple));
        const tn_expr *tuple = renamed(c, get->tuple);
        const tn_expr *value =
            tuple == get->tuple ? b->value : tn_tuple_item(c->ctx, tuple, get->index);
        bind_laid_out(c, b->var, value,
                      fields ? fields->items.at[get->index] : initial_of_type(c, b->value->type));
    } else if (tn_is(b->value, TN_KIND_TUPLE)) {
        convert_tuple(c, b->var, b->value);
    } else if (tn_is_var(b->value)) {
        bind(c, b->var, as_written(c, b->value));
    } else {
        TNB_PUSH(tn_scratch(c->ctx), c->out, binding);
    }
}

static const tn_node *
convert_block(tn_rewriter *r, const tn_node *n)
{
    converter *c = r->user;
    if (!tn_is(n, TN_KIND_DATAFLOW_BLOCK) || c->failed)
        return NULL;
    tn_list at = tn_as_bindings_block(n)->bindings;
    c->out.n = 0;
    for (uint32_t i = 0; i < at.n && !c->failed; i++) {
        tn_loc before = tn_at(c->ctx, at.at[i]->loc);
        convert_binding(c, at.at[i]);
        tn_at(c->ctx, before);
    }
    bool same = c->out.n == at.n;
    for (uint32_t i = 0; same && i < at.n; i++) {
        const tn_var_binding *x = tn_as_var_binding(at.at[i]), *y = tn_as_var_binding(c->out.at[i]);
        same = at.at[i] == c->out.at[i] || (x && y && x->var == y->var && x->value == y->value);
    }
    return same ? NULL : tn_binding_block_of(c->ctx, tn_list_of(c->ctx, c->out.at, c->out.n), true);
}

/* ---- functions ---- */

typedef struct question {
    tnk_wanted_layouts wanted;
    void *user;
} question;

static const tn_node *
each_function(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func,
              void *user)
{
    (void)m;
    (void)name;
    const question *q = user;
    tnb_ptrmap vars;
    tnb_ptrmap_init(&vars, tn_scratch(pc->ctx));
    converter c = {.ctx = pc->ctx, .wanted = q->wanted, .user = q->user, .vars = &vars};
    tnb_ptrmap_init(&c.layouts, tn_scratch(pc->ctx));
    tnb_ptrmap_init(&c.tuples, tn_scratch(pc->ctx));
    tn_rewriter r = {.ctx = pc->ctx, .user = &c, .pre = convert_block, .map = &vars};
    const tn_node *out = tn_rewrite(&r, func);
    return c.failed || tn_is_error(out) ? NULL : out;
}

const tn_module *
tnk_convert_layouts(const tn_pass_ctx *pc, const tn_module *m, tnk_wanted_layouts wanted,
                    void *user)
{
    question q = {wanted, user};
    return tn_map_functions(pc, m, TN_FUNCTIONS, each_function, &q);
}
