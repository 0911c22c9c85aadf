/* SPDX-License-Identifier: Apache-2.0 */
/* ToMixedPrecision: computes in float16 what gains by it, and the rest in float32.
 *
 *     lv = R.nn.conv2d(x, w)      =>      lv1 = R.astype(x, "float16")
 *     gv = R.nn.relu(lv)                  lv2 = R.astype(w, "float16")
 *                                         lv3 = R.nn.conv2d(lv1, lv2, out_dtype="float32")
 *                                         lv = R.astype(lv3, "float16")
 *                                         lv4 = R.nn.relu(lv)
 *                                         gv = R.astype(lv4, "float32")
 *
 * Operators say themselves what they do (tn_op.mixed): always in float16, following their arguments
 * (constants beyond float16's range count as float32), or never. A first walk, backwards, finds the
 * values that only float16 operators use: these are stored in float16 at once. Only float16 and
 * float32 tensors in dataflow blocks change, and operators of these alone; what leaves a block has
 * its own dtype again. wrap_param goes. So does not change what a call overwrites: a converted copy
 * would be overwritten in its place. Options: out_dtype of the float16 operators, fp16_input_names:
 * parameters that become float16 (--verify then compares with a call that widens them), except of
 * functions that the module itself calls. Cases: tests/pass/ToMixedPrecision.
 */
#include "transform.h"

#include <math.h>

#include "tenon/core/walk.h"

/* What the uses of a value need, leaf by leaf. ORDER NEED: the larger wins. */
enum need { NEED_NOTHING, NEED_HALF, NEED_SINGLE };
typedef struct needs {
    enum need leaf;
    uint32_t n; /* fields of a tuple */
    struct needs *field;
} needs;

typedef struct mixer {
    tn_ctx *ctx;
    tnb_arena *arena;
    tnb_ptrmap need;        /* variable -> needs */
    tnb_ptrmap renamed;     /* variable as written -> what holds its value now */
    tnb_ptrmap overwritten; /* variables that calls compute in place: they keep their dtype */
    const tn_function *func;
    bool called; /* in the module */
    tnb_dtype out_dtype;
    tn_list half_inputs; /* names */
    TNB_VEC(const tn_node *) out;
    bool failed;
} mixer;

static bool
is_nested_tensor(const tn_type *t)
{
    const tn_ty_tuple *u = tn_as_ty_tuple(t);
    for (uint32_t i = 0; u && i < u->fields.n; i++)
        if (!is_nested_tensor(u->fields.at[i]))
            return false;
    return u || tn_is(t, TN_KIND_TY_TENSOR);
}

static bool
is_half_or_single(tnb_dtype d)
{
    return tnb_dtype_eq(d, TNB_F16) || tnb_dtype_eq(d, TNB_F32);
}

static bool
is_all_half_or_single(const tn_type *t)
{
    const tn_ty_tuple *u = tn_as_ty_tuple(t);
    for (uint32_t i = 0; u && i < u->fields.n; i++)
        if (!is_all_half_or_single(u->fields.at[i]))
            return false;
    return !tn_is(t, TN_KIND_TY_TENSOR) || is_half_or_single(tn_type_dtype(t));
}

/* What the operator of a call as written does. Not in float16: of what has other dtypes. */
static unsigned
policy_of(const tn_call *call)
{
    const tn_op *op = tn_call_op_of(call);
    bool fits = is_all_half_or_single(call->base.type);
    for (uint32_t i = 0; i < call->args.n; i++)
        fits &= is_all_half_or_single(call->args.at[i]->type);
    return !op || (op->mixed == TN_MIXED_ALWAYS && !fits) ? TN_MIXED_NEVER : op->mixed;
}

/* ---- what uses need, backwards ---- */

static needs *
needs_new(mixer *m, const tn_type *t, enum need leaf)
{
    needs *n = TNB_NEW(m->arena, needs);
    const tn_ty_tuple *u = tn_as_ty_tuple(t);
    n->leaf = leaf;
    if (u) {
        n->n = u->fields.n;
        n->field = TNB_NEW_N(m->arena, needs, n->n + 1);
        for (uint32_t i = 0; i < n->n; i++)
            n->field[i] = *needs_new(m, u->fields.at[i], leaf);
    }
    return n;
}

static needs *
needs_of(mixer *m, const tn_expr *var)
{
    needs *n = tnb_ptrmap_get(&m->need, var);
    if (!n) {
        n = needs_new(m, var->type, NEED_NOTHING);
        tnb_ptrmap_set(&m->need, var, n);
    }
    return n;
}

static void
needs_merge(needs *to, const needs *from)
{
    if (from->leaf > to->leaf)
        to->leaf = from->leaf;
    for (uint32_t i = 0; i < to->n && i < from->n; i++)
        needs_merge(&to->field[i], &from->field[i]);
}

static void
require(mixer *m, const tn_expr *leaf, const needs *need)
{
    const tn_tuple *t = tn_as_tuple(leaf);
    for (uint32_t i = 0; t && i < t->fields.n; i++)
        require(m, t->fields.at[i], &need->field[i]);
    if (tn_is_var(leaf) && is_nested_tensor(leaf->type))
        needs_merge(needs_of(m, leaf), need);
}

static void
require_all(mixer *m, const tn_expr *leaf, enum need need)
{
    if (is_nested_tensor(leaf->type))
        require(m, leaf, needs_new(m, leaf->type, need));
    else
        for (uint32_t i = 0; tn_is(leaf, TN_KIND_TUPLE) && i < tn_as_tuple(leaf)->fields.n; i++)
            require_all(m, tn_as_tuple(leaf)->fields.at[i], need);
}

static void
collect_binding(mixer *m, const tn_node *binding)
{
    const tn_var_binding *b = tn_as_var_binding(binding);
    const tn_expr *value = b ? b->value : tn_as_match_cast(binding)->value;
    const tn_call *call = tn_as_call(value);
    const tn_tuple_get *get = tn_as_tuple_get(value);
    const tn_tuple *tuple = tn_as_tuple(value);
    if (call) {
        bool half = policy_of(call) == TN_MIXED_ALWAYS;
        for (uint32_t i = 0; i < call->args.n; i++)
            require_all(m, call->args.at[i], half ? NEED_HALF : NEED_SINGLE);
    } else if (tuple && is_nested_tensor(value->type)) {
        require(m, value, needs_of(m, b->var));
    } else if (get && is_nested_tensor(get->tuple->type)) {
        needs *need = needs_new(m, get->tuple->type, NEED_NOTHING);
        need->field[get->index] = *needs_of(m, b->var);
        require(m, get->tuple, need);
    } else {
        require_all(m, get ? get->tuple : value, NEED_SINGLE);
    }
}

static void
collect(mixer *m, const tn_seq_expr *seq)
{
    require_all(m, seq->body, NEED_SINGLE);
    for (uint32_t i = seq->blocks.n; i-- > 0;) {
        tn_list at = tn_as_bindings_block(seq->blocks.at[i])->bindings;
        for (uint32_t k = at.n; tn_is(seq->blocks.at[i], TN_KIND_DATAFLOW_BLOCK) && k-- > 0;)
            collect_binding(m, at.at[k]);
    }
}

/* ---- emitting ---- */

static void
push(mixer *m, const tn_expr *var, const tn_expr *value)
{
    TNB_PUSH(m->arena, m->out, tn_var_binding_of(m->ctx, var, value));
}

static const tn_expr *
emit(mixer *m, const tn_expr *value)
{
    if (tn_is_error(value)) {
        m->failed = true;
        return value;
    }
    const tn_expr *var = tn_dataflow_var_new(m->ctx, "lv", value->type);
    push(m, var, value);
    return var;
}

static void
bind(mixer *m, const tn_expr *var, const tn_expr *value)
{
    if (tn_is_error(value)) {
        m->failed = true;
        return;
    }
    const tn_expr *made = var;
    if (!tn_type_equal(m->ctx, var->type, value->type)) {
        made = tn_var_retyped(m->ctx, var, value->type);
        tnb_ptrmap_set(&m->renamed, var, made);
    }
    push(m, made, value);
}

static const tn_expr *
now(mixer *m, const tn_expr *leaf)
{
    const tn_tuple *t = tn_as_tuple(leaf);
    if (!t) {
        const tn_expr *v = tnb_ptrmap_get(&m->renamed, leaf);
        return v ? v : leaf;
    }
    tn_list fields = t->fields;
    for (uint32_t i = 0; i < fields.n; i++) {
        const tn_expr *field = now(m, t->fields.at[i]);
        if (field != t->fields.at[i])
            tn_list_change(m->ctx, &fields, t->fields, i, field);
    }
    return fields.at == t->fields.at ? leaf : tn_tuple_of(m->ctx, fields);
}

/* Whether a leaf of dtype d has to be converted to `to`. */
static bool
converts(tnb_dtype d, tnb_dtype to)
{
    return is_half_or_single(d) && !tnb_dtype_is_void(to) && !tnb_dtype_eq(d, to);
}

/* Decides the dtype of each leaf: `want` given, else as `like` has it, else float16 where `need`
 * says so. void: as it is. */
typedef struct wish {
    tnb_dtype want;
    const tn_type *like;
    const needs *need;
} wish;

static tnb_dtype
wished(const wish *w)
{
    if (w->like)
        return tn_type_dtype(w->like);
    if (w->need)
        return w->need->leaf == NEED_HALF ? TNB_F16 : TNB_VOID;
    return w->want;
}

static wish
wish_field(const wish *w, uint32_t i)
{
    wish f = *w;
    if (w->like)
        f.like = tn_as_ty_tuple(w->like)->fields.at[i];
    if (w->need)
        f.need = &w->need->field[i];
    return f;
}

static bool
any_converts(const tn_type *t, const wish *w)
{
    const tn_ty_tuple *u = tn_as_ty_tuple(t);
    for (uint32_t i = 0; u && i < u->fields.n; i++) {
        wish f = wish_field(w, i);
        if (any_converts(u->fields.at[i], &f))
            return true;
    }
    return tn_is(t, TN_KIND_TY_TENSOR) && converts(tn_type_dtype(t), wished(w));
}

/* A value in the wished dtypes; the last conversion is not bound. `e` is a leaf, or a value that is
 * bound if it has to be converted. */
static const tn_expr *
in_dtypes(mixer *m, const tn_expr *e, const wish *w)
{
    if (tn_is_error(e) || !any_converts(e->type, w))
        return e;
    const tn_tuple *t = tn_as_tuple(e);
    if (!t && !tn_is_var(e) && !tn_is(e, TN_KIND_CONSTANT))
        e = emit(m, e);
    if (tn_is(e->type, TN_KIND_TY_TENSOR))
        return tn_call_opv(m->ctx, "relax.astype",
                           tn_dictv(m->ctx, "dtype", tn_dtype_imm_of(m->ctx, wished(w)), NULL), e,
                           NULL);
    uint32_t n = tn_as_ty_tuple(e->type)->fields.n;
    const tn_node **fields = TNB_NEW_N(m->arena, const tn_node *, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        wish f = wish_field(w, i);
        const tn_expr *field = t ? t->fields.at[i] : emit(m, tn_tuple_item(m->ctx, e, i));
        const tn_expr *made = in_dtypes(m, field, &f);
        fields[i] = tn_is(made, TN_KIND_CALL) ? emit(m, made) : made;
    }
    return tn_tuple_of(m->ctx, tn_list_of(m->ctx, fields, n));
}

/* Whether the variable has the dtype that it was written with: seen outside, or overwritten. */
static bool
keeps_dtype(const mixer *m, const tn_expr *var)
{
    return !tn_is(var, TN_KIND_DATAFLOW_VAR) || tnb_ptrmap_has(&m->overwritten, var);
}

static const tn_expr *
leaf_in_dtypes(mixer *m, const tn_expr *leaf, const wish *w)
{
    const tn_expr *e = in_dtypes(m, leaf, w);
    return e == leaf || tn_is(e, TN_KIND_TUPLE) ? e : emit(m, e);
}

/* Stores the variable in float16 where only float16 operators use it. */
static void
store_half(mixer *m, const tn_expr *var)
{
    const needs *need = tnb_ptrmap_get(&m->need, var);
    const tn_expr *v = now(m, var);
    if (!need || !is_nested_tensor(v->type) || tnb_ptrmap_has(&m->overwritten, var))
        return;
    const tn_expr *stored = in_dtypes(m, v, &(wish){.need = need});
    if (stored != v)
        tnb_ptrmap_set(&m->renamed, var, emit(m, stored));
}

/* ---- calls ---- */

static bool
fits_half(tn_ctx *ctx, const tn_data *d)
{
    if (tnb_dtype_eq(d->dtype, TNB_F16))
        return true;
    bool real = tnb_dtype_is_float(d->dtype);
    if (d->dtype.lanes != 1 || (!real && !tnb_dtype_is_int(d->dtype)))
        return false;
    bool splat = d->kind == TN_DATA_SPLAT;
    const void *bytes = splat ? d->splat : tn_data_get(ctx, d);
    for (uint64_t i = 0; bytes && i < (splat ? 1 : d->n_elems); i++) {
        double x = 0;
        int64_t v = 0;
        if (real ? !tnb_load_f64(bytes, d->dtype, i, &x) : !tnb_load_i64(bytes, d->dtype, i, &v))
            return false;
        if (fabs(real ? x : (double)v) > 65504)
            return false;
    }
    return bytes != NULL;
}

static bool
all_half(tn_ctx *ctx, tn_list args)
{
    for (uint32_t i = 0; i < args.n; i++) {
        const tn_expr *a = args.at[i];
        const tn_constant *c = tn_as_constant(a);
        const tn_tuple *t = tn_as_tuple(a);
        if (is_nested_tensor(a->type) && !tnb_dtype_eq(tn_type_dtype(a->type), TNB_F16) &&
            !(c && fits_half(ctx, c->data)) && !(t && all_half(ctx, t->fields)))
            return false;
    }
    return true;
}

static void
mix_call(mixer *m, const tn_expr *var, const tn_call *call)
{
    if (tn_structural_of(&call->base) == TN_STRUCTURAL_wrap_param) {
        bind(m, var, call->args.at[0]);
        return;
    }
    unsigned policy = policy_of(call);
    const tn_node **args = TNB_NEW_N(m->arena, const tn_node *, call->args.n + 1);
    bool same = true;
    for (uint32_t i = 0; i < call->args.n; i++)
        args[i] = now(m, call->args.at[i]);
    wish w = {.want = TNB_F16};
    if (policy == TN_MIXED_FOLLOW && !all_half(m->ctx, (tn_list){args, call->args.n}))
        w.want = TNB_F32;
    for (uint32_t i = 0; i < call->args.n; i++) {
        wish own = {.like = call->args.at[i]->type};
        args[i] = leaf_in_dtypes(m, args[i], policy == TN_MIXED_NEVER ? &own : &w);
        same &= args[i] == call->args.at[i];
    }
    const tn_node *attrs = call->attrs;
    if (policy == TN_MIXED_ALWAYS && tn_dict_get(attrs, "out_dtype"))
        attrs = tn_dict_set(m->ctx, attrs, "out_dtype", tn_dtype_imm_of(m->ctx, m->out_dtype));
    const tn_expr *value = TN_NODE(call);
    if (!same || attrs != call->attrs)
        value = tn_call_of(m->ctx, call->op, tn_list_of(m->ctx, args, call->args.n), attrs,
                           call->ty_args, policy == TN_MIXED_NEVER ? call->base.type : NULL);
    if (policy != TN_MIXED_NEVER && keeps_dtype(m, var))
        value = in_dtypes(m, value, &(wish){.like = var->type});
    else if (policy == TN_MIXED_ALWAYS)
        value = in_dtypes(m, value, &w);
    bind(m, var, value);
}

/* ---- bindings ---- */

static const tn_expr *
restored(mixer *m, const tn_expr *leaf)
{
    const tn_expr *v = now(m, leaf);
    return v == leaf ? v : leaf_in_dtypes(m, v, &(wish){.like = leaf->type});
}

static void
mix_binding(mixer *m, const tn_node *binding)
{
    const tn_var_binding *b = tn_as_var_binding(binding);
    const tn_match_cast *cast = tn_as_match_cast(binding);
    if (cast) {
        const tn_expr *value = restored(m, cast->value);
        TNB_PUSH(m->arena, m->out,
                 value == cast->value ? binding
                                      : tn_match_cast_of(m->ctx, cast->var, value, cast->to));
        store_half(m, cast->var);
        return;
    }
    const tn_tuple_get *get = tn_as_tuple_get(b->value);
    const tn_expr *value = b->value;
    bool tuple = tn_is(value, TN_KIND_TUPLE);
    if (tn_is(value, TN_KIND_CALL)) {
        mix_call(m, b->var, tn_as_call(value));
    } else if (get || tuple) {
        const tn_expr *of = now(m, tuple ? value : get->tuple);
        if (of != (tuple ? value : get->tuple))
            value = tuple ? of : tn_tuple_item(m->ctx, of, get->index);
        if (keeps_dtype(m, b->var))
            value = in_dtypes(m, value, &(wish){.like = b->var->type});
        bind(m, b->var, value);
    } else if (tn_is_var(value)) {
        bind(m, b->var, in_dtypes(m, now(m, value), &(wish){.like = value->type}));
    } else {
        TNB_PUSH(m->arena, m->out, binding);
    }
    store_half(m, b->var);
}

static const tn_node *
mix_block(mixer *m, const tn_node *block)
{
    tn_list at = tn_as_bindings_block(block)->bindings;
    tn_list params = m->func->params;
    m->out.n = 0;
    const tn_node **base = TNB_NEW_N(m->arena, const tn_node *, params.n + 1);
    for (uint32_t i = 0; i < params.n; i++) {
        base[i] = now(m, params.at[i]);
        store_half(m, params.at[i]);
    }
    for (uint32_t i = 0; i < at.n && !m->failed; i++) {
        tn_loc before = tn_at(m->ctx, at.at[i]->loc);
        mix_binding(m, at.at[i]);
        tn_at(m->ctx, before);
    }
    /* what was made in this block is not seen by others */
    for (uint32_t i = 0; i < params.n; i++)
        tnb_ptrmap_set(&m->renamed, params.at[i], base[i]);
    for (uint32_t i = 0; i < at.n; i++) {
        const tn_var_binding *b = tn_as_var_binding(at.at[i]);
        if (b && tn_is(b->var, TN_KIND_VAR))
            tnb_ptrmap_set(&m->renamed, b->var, b->var);
    }
    return tn_binding_block_of(m->ctx, tn_list_of(m->ctx, m->out.at, m->out.n), true);
}

/* ---- functions ---- */

static bool
is_half_input(const mixer *m, const tn_expr *param)
{
    for (uint32_t i = 0; i < m->half_inputs.n; i++) {
        const tn_string_imm *s = tn_as_string_imm(m->half_inputs.at[i]);
        if (s && !strcmp(s->value, tn_var_name(param)) &&
            tnb_dtype_eq(tn_type_dtype(param->type), TNB_F32))
            return true;
    }
    return false;
}

/* Parameters named in fp16_input_names take float16; not those of functions with callers in the
 * module. */
static tn_list
retyped_params(mixer *m, tn_list was)
{
    tn_list params = was;
    if (!tn_func_attr(TN_NODE(m->func), "global_symbol") || m->called)
        return params;
    for (uint32_t i = 0; i < params.n; i++) {
        const tn_expr *p = params.at[i];
        const tn_ty_tensor *t = tn_as_ty_tensor(p->type);
        if (!t || !is_half_input(m, p) || tnb_ptrmap_has(&m->overwritten, p))
            continue;
        const tn_expr *half =
            tn_var_retyped(m->ctx, p,
                           tn_ty_tensor_of(m->ctx, t->shape, TNB_F16, t->ndim, t->vdevice));
        tnb_ptrmap_set(&m->renamed, p, half);
        tn_list_change(m->ctx, &params, was, i, half);
    }
    return params;
}

/* Parameters that became float16 and are used outside of dataflow blocks, where nothing else
 * changes: a block of widened copies, and what stands for each parameter there. NULL: no such. */
static const tn_node *
widened_params(mixer *m, const tn_seq_expr *seq, tn_list params, tnb_ptrmap *wide)
{
    tnb_ptrmap used;
    tnb_ptrmap_init(&used, m->arena);
    tnb_ptrmap_init(wide, m->arena);
    for (uint32_t i = 0; i <= seq->blocks.n; i++) {
        const tn_node *at = i < seq->blocks.n ? seq->blocks.at[i] : seq->body;
        if (tn_is(at, TN_KIND_DATAFLOW_BLOCK))
            continue;
        tn_list free = tn_free_vars(m->ctx, at, false);
        for (uint32_t k = 0; k < free.n; k++)
            tnb_ptrmap_set(&used, free.at[k], m);
    }
    tn_list copies = {0};
    for (uint32_t i = 0; i < params.n; i++) {
        const tn_expr *own = m->func->params.at[i];
        if (params.at[i] == own || !tnb_ptrmap_has(&used, own))
            continue;
        const tn_node *attrs =
            tn_dictv(m->ctx, "dtype", tn_dtype_imm_of(m->ctx, tn_type_dtype(own->type)), NULL);
        const tn_expr *value = tn_call_opv(m->ctx, "relax.astype", attrs, params.at[i], NULL);
        const tn_expr *var = tn_var_new(m->ctx, tn_var_name(own), own->type);
        tnb_ptrmap_set(wide, own, var);
        copies = tn_list_append(m->ctx, copies, tn_var_binding_of(m->ctx, var, value));
    }
    return copies.n ? tn_binding_block_of(m->ctx, copies, false) : NULL;
}

typedef struct reference {
    const char *name;
    bool found;
} reference;

static tn_walk_step
find_reference(void *user, const tn_node *n)
{
    reference *r = user;
    const tn_global_var *gv = tn_as_global_var(n);
    r->found |= gv && strcmp(gv->name, r->name) == 0;
    return r->found ? TN_WALK_STOP : TN_WALK_ON;
}

static bool
is_called(const tn_module *m, const char *name)
{
    reference r = {.name = name};
    for (uint32_t i = 0; i < m->funcs.n && !r.found; i++)
        if (tn_is(m->funcs.at[i], TN_KIND_FUNCTION))
            tn_walk(tn_as_function(m->funcs.at[i])->body, TN_WALK_ONCE, find_reference, NULL, &r);
    return r.found;
}

static const tn_node *
each_function(const tn_pass_ctx *pc, const tn_module *module, const char *name, const tn_node *func,
              void *user)
{
    (void)user;
    const tn_function *f = tn_as_function(func);
    const tn_seq_expr *seq = tn_as_seq_expr(f->body);
    const tn_array *names = tn_as_array(tn_dict_get(pc->options, "fp16_input_names"));
    const tn_dtype_imm *out = tn_as_dtype_imm(tn_dict_get(pc->options, "out_dtype"));
    if (!seq)
        return func;
    mixer m = {.ctx = pc->ctx, .arena = tn_scratch(pc->ctx), .func = f, .out_dtype = out->value};
    m.half_inputs = names ? names->items : (tn_list){0};
    m.called = m.half_inputs.n && is_called(module, name);
    tnb_ptrmap_init(&m.need, m.arena);
    tnb_ptrmap_init(&m.renamed, m.arena);
    transform_find_overwritten(pc->ctx, module, func, &m.overwritten);
    collect(&m, seq);
    tn_list params = retyped_params(&m, f->params), blocks = seq->blocks;
    bool changed = params.at != f->params.at;
    tnb_ptrmap wide;
    const tn_node *copies = widened_params(&m, seq, params, &wide);
    for (uint32_t i = 0; i < seq->blocks.n && !m.failed; i++) {
        const tn_node *block = seq->blocks.at[i];
        if (tn_is(block, TN_KIND_DATAFLOW_BLOCK)) {
            tn_list_change(pc->ctx, &blocks, seq->blocks, i, mix_block(&m, block));
            changed |= !tn_equal(pc->ctx, block, blocks.at[i], true, NULL);
        } else if (copies) {
            tn_list_change(pc->ctx, &blocks, seq->blocks, i, tn_subst(pc->ctx, block, &wide));
        }
    }
    if (m.failed)
        return NULL;
    if (!changed)
        return func;
    tn_list all = copies ? tn_listv(pc->ctx, copies, NULL) : (tn_list){0};
    for (uint32_t i = 0; i < blocks.n; i++)
        all = tn_list_append(pc->ctx, all, blocks.at[i]);
    const tn_expr *body =
        tn_seq_expr_of(pc->ctx, all, now(&m, tn_subst(pc->ctx, seq->body, &wide)));
    const tn_expr *made = tn_function_of(pc->ctx, params, body, f->ret, f->pure != 0, f->attrs);
    return tn_is_error(made) ? NULL : made;
}

/* Names of fp16_input_names that no function's parameter has. */
static void
warn_of_names(const tn_pass_ctx *pc, const tn_module *m)
{
    const tn_array *names = tn_as_array(tn_dict_get(pc->options, "fp16_input_names"));
    for (uint32_t i = 0; names && i < names->items.n; i++) {
        const char *name = tn_as_string_imm(names->items.at[i])->value;
        bool found = false;
        for (uint32_t k = 0; k < m->funcs.n; k++) {
            const tn_function *f = tn_as_function(m->funcs.at[k]);
            for (uint32_t p = 0; f && p < f->params.n; p++)
                found |= strcmp(tn_var_name(f->params.at[p]), name) == 0;
        }
        if (!found)
            tn_warn(pc->ctx, 0, "option 'fp16_input_names': no function has a parameter '%s'",
                    name);
    }
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    warn_of_names(pc, m);
    return tn_map_functions(pc, m, TN_FUNCTIONS, each_function, NULL);
}

/* Where parameters are float16 now, the function as it was is called with these widened. */
static bool
adapt(const tn_pass_ctx *pc, tn_pass_side *before, tn_pass_side *after, const char **why)
{
    const tn_function *a = tn_as_function(tn_module_get(before->m, before->name)),
                      *b = tn_as_function(tn_module_get(after->m, after->name));
    transform_caller c = {.ctx = pc->ctx};
    tn_list args = b->params;
    bool narrowed = false;
    (void)why;
    for (uint32_t i = 0; i < args.n && i < a->params.n; i++) {
        tnb_dtype was = tn_type_dtype(a->params.at[i]->type);
        if (tnb_dtype_eq(was, tn_type_dtype(args.at[i]->type)))
            continue;
        const tn_node *attrs = tn_dictv(pc->ctx, "dtype", tn_dtype_imm_of(pc->ctx, was), NULL);
        const tn_expr *wide = tn_call_opv(pc->ctx, "relax.astype", attrs, b->params.at[i], NULL);
        tn_list_change(pc->ctx, &args, b->params, i, transform_caller_bind(&c, wide));
        narrowed = true;
    }
    if (!narrowed)
        return true;
    const tn_expr *call = transform_caller_call(&c, before->name, args);
    return transform_compare_with(pc->ctx, before, transform_caller_end(&c, b->params, call));
}

static const tn_attr_schema options[] = {
    {"out_dtype", TN_ATTR_DTYPE, 0, "float32", "in which operators in float16 accumulate",
     "float16|float32"},
    {"fp16_input_names", TN_ATTR_STRS, TN_ATTR_OPTIONAL, NULL,
     "names of float32 parameters that become float16"},
    {NULL, TN_ATTR_ANY, 0, NULL, NULL},
};

const tn_pass transform_to_mixed_precision = {
    .base.size = sizeof(tn_pass),
    .base.name = "ToMixedPrecision",
    .base.doc = "compute in float16 where operators gain by it",
    .options = options,
    .keeps = TN_KEEPS_HALF,
    .flags = TN_PASS_PARALLEL,
    .run = run,
    .needs = "op",
    .adapt = adapt,
};
