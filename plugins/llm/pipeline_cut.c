/* SPDX-License-Identifier: Apache-2.0 */
/* Cutting a function at its stage boundaries, and finding what has to travel between the stages.
 *
 *     with R.dataflow():
 *         a = ...                                                     stage 0
 *         b = R.call_pure_packed("mlc.pipeline_parallel_stage_boundary", a, ty_args=(T,))
 *         c = ...b...a...                                             stage 1
 *
 * A boundary hands its arguments on unchanged, so `b` is another name of `a`. A value that a later
 * stage needs travels over every link on the way, whether a boundary names it or not. What costs
 * nothing is not sent but made again where it is used: constants, shapes, tuples, and weights, so
 * that each worker loads only its own. Only tensors travel; a tuple does so field by field.
 */
#include "pipeline.h"

enum { ORDER_STEP = 1 << 16 /* room behind a tuple for its fields */ };

const char *
pipeline_place(tn_ctx *ctx, tn_loc loc)
{
    tnb_place p = tn_loc_place(ctx, loc);
    return p.file && p.line ? tn_strf(ctx, "%s:%u:%u", p.file, p.line, p.column)
                            : "an unknown place";
}

/* ---- values ---- */

static pipeline_value *
raw_value(const pipeline *p, const tn_node *var)
{
    return tnb_ptrmap_get(&p->values, var);
}

pipeline_value *
pipeline_value_of(const pipeline *p, const tn_node *var)
{
    pipeline_value *v = raw_value(p, var);
    while (v && v->same)
        v = v->same;
    return v;
}

static pipeline_value *
new_value(pipeline *p, const tn_expr *var, const tn_node *binding, const tn_expr *value,
          uint64_t order, uint32_t home)
{
    pipeline_value *v = TNB_NEW(tn_scratch(p->ctx), pipeline_value);
    *v = (pipeline_value){
        .var = var, .binding = binding, .value = value, .order = order, .home = home};
    v->serial = p->n_values++;
    tnb_ptrmap_set(&p->values, var, v);
    return v;
}

int64_t
pipeline_find_message(const pipeline_link *l, const pipeline_value *v)
{
    for (uint32_t i = 0; i < l->messages.n; i++)
        if (l->messages.at[i].value == v)
            return i;
    return -1;
}

void
pipeline_add_symbols(tnb_ptrmap *map, const tn_type *t)
{
    tn_list dims;
    const tn_ty_tuple *tuple = tn_as_ty_tuple(t);
    for (uint32_t i = 0; tuple && i < tuple->fields.n; i++)
        pipeline_add_symbols(map, tuple->fields.at[i]);
    if (!tuple && tn_type_dims(t, &dims))
        for (uint32_t i = 0; i < dims.n; i++)
            if (tn_is_var(dims.at[i]))
                tnb_ptrmap_set(map, dims.at[i], dims.at[i]);
}

/* ---- what the function has to be ---- */

static bool
check_signature(pipeline *p)
{
    const tn_function *f = p->func;
    const tn_node *num = tn_func_attr(&f->base, "num_input");
    int64_t n;
    if (!num || !tn_int_value(num, &n)) {
        tn_error(p->ctx, f->base.loc, TNB_INVALID,
                 "'%s' has pipeline_parallel_stages, but %s attribute num_input", p->name,
                 num ? "no integer as" : "no");
        tnb_diag_hint(tn_diags(p->ctx),
                      "num_input is the number of parameters before packed_params");
        return false;
    }
    if (n < 0 || (uint64_t)n + 1 != f->params.n) {
        tn_error(p->ctx, f->base.loc, TNB_INVALID,
                 "'%s' has num_input %lld and %u parameters, but stages need one parameter more "
                 "than num_input: packed_params",
                 p->name, (long long)n, f->params.n);
        return false;
    }
    p->packed = f->params.at[n];
    if (strcmp(tn_var_name(p->packed), "packed_params") != 0) {
        tn_error(p->ctx, p->packed->loc ? p->packed->loc : f->base.loc, TNB_INVALID,
                 "the last parameter of '%s' is '%s', but a function in stages takes its weights "
                 "as packed_params",
                 p->name, tn_var_name(p->packed));
        return false;
    }
    if (!tn_is(p->packed->type, TN_KIND_TY_TUPLE) && !tn_is(p->packed->type, TN_KIND_TY_ANY)) {
        tn_error(p->ctx, p->packed->loc ? p->packed->loc : f->base.loc, TNB_TYPE,
                 "packed_params of '%s' is %s, expected a tuple of weights", p->name,
                 tn_text(p->ctx, p->packed->type));
        return false;
    }
    return true;
}

static const tn_bindings_block *
only_block(pipeline *p)
{
    const tn_seq_expr *s = tn_as_seq_expr(p->func->body);
    uint32_t n = s ? s->blocks.n : 0;
    const tn_bindings_block *b = n ? tn_as_bindings_block(s->blocks.at[n - 1]) : NULL;
    if (n == 1 && tn_is(s->blocks.at[0], TN_KIND_DATAFLOW_BLOCK)) {
        p->output = s->body;
        return b;
    }
    tn_loc loc = b && b->bindings.n ? b->bindings.at[0]->loc : p->func->base.loc;
    if (n > 1)
        tn_error(p->ctx, loc, TNB_INVALID,
                 "'%s' has %u blocks of bindings, but a function in stages is one dataflow block",
                 p->name, n);
    else
        tn_error(p->ctx, loc, TNB_INVALID,
                 "'%s' has no dataflow block, but a function in stages is one", p->name);
    return NULL;
}

static const tn_call *
as_boundary(const tn_node *binding)
{
    const tn_var_binding *b = tn_as_var_binding(binding);
    const tn_call *c = b ? tn_is_call_to(b->value, "relax.call_pure_packed") : NULL;
    const tn_extern_func *f = c && c->args.n ? tn_as_extern_func(c->args.at[0]) : NULL;
    return f && strcmp(f->name, PIPELINE_BOUNDARY) == 0 ? c : NULL;
}

static uint32_t
count_stages(const tn_bindings_block *b)
{
    uint32_t n = 1;
    for (uint32_t i = 0; i < b->bindings.n; i++)
        n += as_boundary(b->bindings.at[i]) != NULL;
    return n;
}

/* Between two boundaries, and behind the last, something has to be computed. */
static bool
check_stages(pipeline *p, const tn_bindings_block *b, int64_t wanted)
{
    uint32_t found = count_stages(b), in_stage = 0, k = 0;
    if (found != wanted) {
        tn_error(p->ctx, p->func->base.loc, TNB_INVALID,
                 "'%s' is to run in %lld stages, but its boundaries make %u", p->name,
                 (long long)wanted, found);
        for (uint32_t i = 0; i < b->bindings.n; i++)
            if (as_boundary(b->bindings.at[i]))
                tnb_diag_note(tn_diags(p->ctx), "a boundary is at %s",
                              pipeline_place(p->ctx, b->bindings.at[i]->loc));
        tnb_diag_hint(tn_diags(p->ctx),
                      "pipeline_parallel_stages and the calls of " PIPELINE_BOUNDARY
                      " have to fit");
        return false;
    }
    for (uint32_t i = 0; i <= b->bindings.n; i++) {
        const tn_node *at = i < b->bindings.n ? b->bindings.at[i] : NULL;
        if (at && !as_boundary(at)) {
            in_stage++;
            continue;
        }
        if (!in_stage) {
            tn_error(p->ctx, at ? at->loc : p->func->base.loc, TNB_INVALID,
                     "stage %u of '%s' computes nothing", k, p->name);
            return false;
        }
        in_stage = 0;
        k++;
    }
    return true;
}

/* ---- boundaries ---- */

static bool
can_travel(const tn_type *t)
{
    tn_list dims;
    return tn_is(t, TN_KIND_TY_TENSOR) && tn_type_dims(t, &dims) &&
           !tnb_dtype_is_void(tn_type_dtype(t));
}

static bool
cannot_travel(pipeline *p, uint32_t k, const pipeline_value *v, tn_loc loc)
{
    tn_error(p->ctx, loc, TNB_UNSUPPORTED,
             "stage %u of '%s' needs '%s' of stage %u, which is %s: only tensors of known rank, "
             "extents and dtype can be sent",
             k, p->name, tn_var_name(v->var), v->home, tn_text(p->ctx, v->var->type));
    tnb_diag_note(tn_diags(p->ctx), "'%s' is computed at %s", tn_var_name(v->var),
                  pipeline_place(p->ctx, v->binding ? v->binding->loc : p->func->base.loc));
    return false;
}

/* What the boundary says it hands on, against what it is given. */
static bool
check_handed(pipeline *p, const tn_node *boundary, uint32_t i, const tn_type *says,
             const pipeline_value *v)
{
    if (tn_type_check(p->ctx, says, v->var->type) == TN_SUBTYPE_YES)
        return true;
    tn_error(p->ctx, boundary->loc, TNB_TYPE,
             "the stages of '%s' do not match: value %u behind the boundary is received as %s, but "
             "'%s' is sent as %s",
             p->name, i, tn_text(p->ctx, says), tn_var_name(v->var), tn_text(p->ctx, v->var->type));
    tnb_diag_note(tn_diags(p->ctx), "'%s' is computed at %s", tn_var_name(v->var),
                  pipeline_place(p->ctx, v->var->loc  ? v->var->loc
                                         : v->binding ? v->binding->loc
                                                      : p->func->base.loc));
    return false;
}

static bool
add_boundary(pipeline *p, const tn_node *binding, uint32_t k, uint64_t order)
{
    const tn_call *c = as_boundary(binding);
    const tn_var_binding *b = tn_as_var_binding(binding);
    const tn_ty_tuple *tuple = tn_as_ty_tuple(b->var->type);
    pipeline_link *l = &p->links[k];
    uint32_t n = c->args.n - 1;
    l->boundary = b;
    if (n == 0 || (tuple ? tuple->fields.n : 1) != n) {
        tn_error(p->ctx, binding->loc, TNB_INVALID,
                 "the boundary behind stage %u of '%s' takes %u values and gives %u", k, p->name, n,
                 tuple ? tuple->fields.n : 1);
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        pipeline_value *v = pipeline_value_of(p, c->args.at[i + 1]);
        if (!v) {
            tn_error(p->ctx, binding->loc, TNB_INVALID,
                     "value %u of the boundary behind stage %u of '%s' is %s, but a variable is "
                     "wanted",
                     i, k, p->name, tn_text(p->ctx, c->args.at[i + 1]));
            return false;
        }
        if (!check_handed(p, binding, i, tuple ? tuple->fields.at[i] : b->var->type, v))
            return false;
        if (!can_travel(v->var->type))
            return cannot_travel(p, k + 1, v, binding->loc);
        pipeline_message m = {v, tn_var_name(tuple ? v->var : b->var)};
        TNB_PUSH(tn_scratch(p->ctx), l->messages, m);
    }
    pipeline_value *all = new_value(p, b->var, NULL, NULL, order, k + 1);
    if (!tuple) {
        all->same = l->messages.at[0].value;
        return true;
    }
    tn_list fields = {0};
    for (uint32_t i = 0; i < n; i++)
        fields = tn_list_append(p->ctx, fields, l->messages.at[i].value->var);
    all->value = tn_tuple_of(p->ctx, fields);
    all->portable = true;
    return true;
}

/* ---- bindings ---- */

static bool
is_free(const tn_expr *e)
{
    return tn_is(e, TN_KIND_CONSTANT) || tn_is(e, TN_KIND_SHAPE_EXPR) ||
           tn_is(e, TN_KIND_STRING_IMM) || tn_is(e, TN_KIND_DTYPE_IMM) || tn_is(e, TN_KIND_TUPLE) ||
           (tn_is_scalar(e) && !tn_is(e, TN_KIND_CALL)) || tn_is_var(e);
}

static void
add_binding(pipeline *p, const tn_node *binding, uint32_t k, uint64_t order)
{
    const tn_var_binding *b = tn_as_var_binding(binding);
    const tn_match_cast *m = tn_as_match_cast(binding);
    const tn_expr *value = b ? b->value : m->value;
    pipeline_value *v = new_value(p, b ? b->var : m->var, binding, value, order, k);
    const tn_tuple_get *get = b ? tn_as_tuple_get(value) : NULL;
    pipeline_value *of = get ? pipeline_value_of(p, get->tuple) : NULL;
    if (b && tn_is_var(value) && raw_value(p, value)) {
        v->same = pipeline_value_of(p, value);
        return;
    }
    if (of && of->portable && tn_is(of->value, TN_KIND_TUPLE)) { /* a field of known variables */
        tn_list fields = tn_as_tuple(of->value)->fields;
        if ((uint64_t)get->index < fields.n &&
            (v->same = pipeline_value_of(p, fields.at[get->index]))) {
            if (k && p->links[k - 1].boundary->var == of->var) /* the variable that receives it */
                p->links[k - 1].messages.at[get->index].name = tn_var_name(v->var);
            return;
        }
    }
    v->portable = b && (is_free(value) || (of && (of->portable || !of->value)));
    if (v->portable)
        return;
    if (of)
        v->home = of->home; /* a field is taken where its tuple is */
    TNB_PUSH(tn_scratch(p->ctx), p->stages[v->home].items, v);
}

/* ---- needs ---- */

static bool
need(pipeline *p, uint32_t k, pipeline_value *v, tn_loc loc);

typedef struct needing {
    pipeline *p;
    uint32_t stage;
    tn_loc loc;
    bool failed;
} needing;

static tn_walk_step
need_node(void *user, const tn_node *n)
{
    needing *w = user;
    pipeline_value *v = tn_is_var(n) ? pipeline_value_of(w->p, n) : NULL;
    if (v && !need(w->p, w->stage, v, w->loc))
        w->failed = true;
    return w->failed ? TN_WALK_STOP : TN_WALK_ON;
}

/* Everything that `n`, evaluated in stage k, reads. */
static bool
need_all(pipeline *p, uint32_t k, const tn_node *n, tn_loc loc)
{
    needing w = {p, k, loc, false};
    tn_walk(n, TN_WALK_TYPES, need_node, NULL, &w);
    return !w.failed;
}

static void
add_item(pipeline *p, uint32_t k, pipeline_value *v)
{
    TNB_PUSH(tn_scratch(p->ctx), p->stages[k].items, v);
}

/* A value that stage k makes again from others. */
static bool
rebuild(pipeline *p, uint32_t k, const pipeline_value *v, const tn_expr *value, tn_loc loc)
{
    pipeline_value *copy = tnb_dup(tn_scratch(p->ctx), v, sizeof *v);
    copy->binding = NULL;
    copy->value = value;
    if (!need_all(p, k, value, loc))
        return false;
    add_item(p, k, copy);
    return true;
}

/* The fields of a tuple as values of the stage that computes it. */
static const tn_expr *
spread(pipeline *p, pipeline_value *v)
{
    tn_list types = tn_as_ty_tuple(v->var->type)->fields, vars = {0};
    if (!v->fields) {
        v->fields = TNB_NEW_N(tn_scratch(p->ctx), pipeline_value *, types.n);
        for (uint32_t i = 0; i < types.n; i++) {
            const tn_expr *var =
                tn_dataflow_var_new(p->ctx, tn_strf(p->ctx, "%s_%u", tn_var_name(v->var), i),
                                    types.at[i]);
            uint64_t behind = i + 1 < ORDER_STEP ? i + 1 : ORDER_STEP - 1;
            v->fields[i] = new_value(p, var, v->binding, tn_tuple_item(p->ctx, v->var, i),
                                     v->order + behind, v->home);
            add_item(p, v->home, v->fields[i]);
        }
    }
    for (uint32_t i = 0; i < types.n; i++)
        vars = tn_list_append(p->ctx, vars, v->fields[i]->var);
    return tn_tuple_of(p->ctx, vars);
}

/* Stage k uses a value of an earlier one. */
static bool
carry(pipeline *p, uint32_t k, pipeline_value *v, tn_loc loc)
{
    tn_list dims;
    const tn_type *t = v->var->type;
    if (tn_is(t, TN_KIND_TY_TUPLE))
        return rebuild(p, k, v, spread(p, v), loc);
    if (tn_is(t, TN_KIND_TY_SHAPE) && tn_type_dims(t, &dims))
        return rebuild(p, k, v, tn_shape_expr_of(p->ctx, dims), loc);
    if (!can_travel(t))
        return cannot_travel(p, k, v, loc);
    for (uint32_t i = v->home; i < k; i++)
        if (pipeline_find_message(&p->links[i], v) < 0) {
            pipeline_message m = {v, tn_var_name(v->var)};
            TNB_PUSH(tn_scratch(p->ctx), p->links[i].messages, m);
        }
    return true;
}

static bool
need(pipeline *p, uint32_t k, pipeline_value *v, tn_loc loc)
{
    pipeline_stage *s = &p->stages[k];
    if (v->var == p->packed || tnb_ptrmap_has(&s->has, v) ||
        (k && pipeline_find_message(&p->links[k - 1], v) >= 0))
        return true;
    if (!v->value) { /* a parameter: every worker is given it */
        tnb_ptrmap_set(&s->has, v, v);
        TNB_PUSH(tn_scratch(p->ctx), s->params, v->var);
        return need_all(p, k, v->var->type, loc); /* scalar parameters may be extents */
    }
    if (!v->portable && v->home == k)
        return true;
    tnb_ptrmap_set(&s->has, v, v);
    if (!v->portable)
        return carry(p, k, v, loc);
    add_item(p, k, v);
    return need_all(p, k, v->value, loc);
}

/* Looks through the stages in order: what they compute, then what they send on. */
static bool
find_needs(pipeline *p)
{
    bool ok = true;
    for (uint32_t k = 0; ok && k < p->n_stages; k++) {
        pipeline_stage *s = &p->stages[k];
        for (uint32_t i = 0, n = s->items.n; ok && i < n; i++) {
            pipeline_value *v = s->items.at[i];
            tn_loc loc = v->binding ? v->binding->loc : p->func->base.loc;
            if (v->home != k || v->portable || !v->binding)
                continue;
            ok = need_all(p, k, v->value, loc);
            const tn_match_cast *m = tn_as_match_cast(v->binding);
            if (ok && m)
                ok = need_all(p, k, m->to, loc);
        }
        if (k + 1 == p->n_stages) {
            ok = ok &&
                 need_all(p, k, p->output, p->output->loc ? p->output->loc : p->func->base.loc);
            break;
        }
        for (uint32_t i = 0; ok && i < p->links[k].messages.n; i++)
            ok = need(p, k, p->links[k].messages.at[i].value, p->links[k].boundary->base.loc);
    }
    return ok;
}

bool
pipeline_cut(tn_ctx *ctx, const char *name, const tn_function *func, int64_t n_stages,
             pipeline *out)
{
    *out = (pipeline){.ctx = ctx, .name = name, .func = func};
    const tn_bindings_block *b = only_block(out);
    if (!b || !check_signature(out) || !check_stages(out, b, n_stages))
        return false;
    tnb_arena *a = tn_scratch(ctx);
    out->n_stages = (uint32_t)n_stages;
    out->stages = TNB_NEW_N(a, pipeline_stage, out->n_stages);
    out->links = TNB_NEW_N(a, pipeline_link, out->n_stages);
    tnb_ptrmap_init(&out->values, a);
    tnb_ptrmap_init(&out->known, a);
    for (uint32_t k = 0; k < out->n_stages; k++)
        tnb_ptrmap_init(&out->stages[k].has, a);
    for (uint32_t i = 0; i < func->params.n; i++) {
        new_value(out, func->params.at[i], NULL, NULL, 0, 0);
        if (func->params.at[i] != out->packed)
            pipeline_add_symbols(&out->known, func->params.at[i]->type);
    }
    uint32_t k = 0;
    for (uint32_t i = 0; i < b->bindings.n; i++) {
        uint64_t order = (uint64_t)(i + 1) * ORDER_STEP;
        if (!as_boundary(b->bindings.at[i]))
            add_binding(out, b->bindings.at[i], k, order);
        else if (!add_boundary(out, b->bindings.at[i], k++, order))
            return false;
    }
    return find_needs(out);
}
