/* SPDX-License-Identifier: Apache-2.0 */
/* FoldConstant: replaces tensor programs over constants by their results.
 *
 *     lv = R.call_tir(cls.add, (R.const(1.0), R.const(2.0)), ...)
 *     gv = R.multiply(x, lv)
 *  -> gv = R.multiply(x, R.const(3.0))
 *
 * Folds call_tir on constants with a static result; inside dataflow blocks also single operators
 * whose legalization is one such call; tensor_to_shape of a constant and shape_to_tensor of a
 * static shape. Operators without tensor arguments fold up to 1024 elements. Small results are
 * evaluated at once, large ones become deferred constants, made natively when the artifact is
 * written, or the input's own elements where the program only gives them another shape; large ones of equal elements become splats (uniform.c); a vast one of few elements stays a
 * call, as an artifact would have to hold it. Branches and local functions are
 * entered. Unused bindings go. Keeps PrimFuncs. Cases: tests/pass/FoldConstant.
 */
#include "transform.h"

#include "tenon/core/builder.h"
#include "tenon/core/registry.h"
#include "tenon/core/walk.h"
#include "uniform.h"

/* Work (elements read and written) up to which a result is computed at once. */
enum { EAGER_WORK = 1 << 12, MAX_CREATED = 1024 };
/* Results of more elements than this, and so many times more than went in, are made at run time. */
enum { MAX_ENLARGED = 1 << 26, ENLARGED = 16 };

typedef struct folder {
    tn_ctx *ctx;
    const tn_module *m;
    tnb_ptrmap known;       /* variable -> Constant, ShapeExpr or Tuple it stands for */
    tnb_ptrmap retyped;     /* variable -> the same with the type that its folded arguments give */
    tnb_ptrmap overwritten; /* variables that calls compute in place: these need memory */
    bool can_evaluate;
    bool certain; /* what is at hand runs whenever the program does */
} folder;

/* ---- leaves ---- */

/* The leaf with known variables replaced. Shapes are replaced only where a shape is wanted anyway:
 * everywhere. */
static const tn_expr *
resolve(folder *f, const tn_expr *e)
{
    if (tn_is_var(e)) {
        const tn_expr *k = tnb_ptrmap_get(&f->known, e);
        return k ? k : e;
    }
    const tn_tuple *t = tn_as_tuple(e);
    if (!t)
        return e;
    tn_list fields = t->fields;
    for (uint32_t i = 0; i < t->fields.n; i++) {
        const tn_expr *r = resolve(f, t->fields.at[i]);
        if (r != fields.at[i])
            tn_list_change(f->ctx, &fields, t->fields, i, r);
    }
    return fields.at == t->fields.at ? e : tn_tuple_of(f->ctx, fields);
}

static const tn_expr *
resolve_args(folder *f, const tn_call *c)
{
    tn_list args = c->args;
    for (uint32_t i = 0; i < c->args.n; i++) {
        const tn_expr *r = resolve(f, c->args.at[i]);
        if (r != args.at[i])
            tn_list_change(f->ctx, &args, c->args, i, r);
    }
    if (args.at == c->args.at)
        return TN_NODE(c);
    const tn_op *op = tn_call_op_of(c);
    bool infer = op && op->infer && !tn_is_call_to(TN_NODE(c), "relax.call_tir");
    tn_list dims; /* a type that says all stays */
    return tn_call_of(f->ctx, c->op, args, c->attrs, c->ty_args,
                      infer && !tn_type_dims(c->base.type, &dims) ? NULL : c->base.type);
}

/* What a function returns: a constant in place of a variable, alone or in a tuple. */
static const tn_expr *
resolve_result(folder *f, const tn_expr *e)
{
    const tn_tuple *t = tn_as_tuple(e);
    if (!t) {
        const tn_expr *k = tn_is_var(e) ? tnb_ptrmap_get(&f->known, e) : NULL;
        return tn_is(k, TN_KIND_CONSTANT) ? k : e;
    }
    tn_list fields = t->fields;
    for (uint32_t i = 0; i < t->fields.n; i++) {
        const tn_expr *r = resolve_result(f, t->fields.at[i]);
        if (r != fields.at[i])
            tn_list_change(f->ctx, &fields, t->fields, i, r);
    }
    return fields.at == t->fields.at ? e : tn_tuple_of(f->ctx, fields);
}

/* ---- evaluation ---- */

static bool
static_shape(const tn_type *t, int64_t *shape, int max, uint64_t *elems)
{
    tn_list dims;
    if (!tn_is(t, TN_KIND_TY_TENSOR) || !tn_type_dims(t, &dims) || dims.n > (uint32_t)max ||
        tnb_dtype_is_void(tn_type_dtype(t)))
        return false;
    for (uint32_t i = 0; i < dims.n; i++)
        if (!tn_int_value(dims.at[i], &shape[i]))
            return false;
    return tnb_shape_count((int32_t)dims.n, shape, elems);
}

static tn_walk_step
note_check(void *user, const tn_node *n)
{
    if (!tn_is_intrin(n, TN_INTRIN_index_in))
        return TN_WALK_ON;
    *(bool *)user = true;
    return TN_WALK_STOP;
}

/* Whether the program may refuse an index. Where it may not run at all, that must not be an error now. */
static bool
may_refuse(const folder *f, const tn_node *program)
{
    bool found = false;
    if (!f->certain)
        tn_walk(program, 0, note_check, NULL, &found);
    return found;
}

/* Where the program only gives one of its inputs another shape, or a contiguous part of one that lies in a file: that input's
 * elements, without a program to run. NULL where memory of their own is needed. */
static const tn_data *
same_elements(folder *f, const tn_type *type, const int64_t *shape, int32_t ndim,
              const tn_node *program, const tn_data *const *inputs, uint32_t n_inputs)
{
    const tn_prim_func *p = tn_as_prim_func(program);
    tnb_dtype d = tn_type_dtype(type);
    uint64_t n;
    int64_t first;
    int which = p->params.n == n_inputs + 1 ? transform_param_in_order(f->ctx, p, &first) : -1;
    if (which < 0 || (uint32_t)which >= n_inputs)
        return NULL;
    const tn_data *in = inputs[which];
    if (!tnb_dtype_eq(in->dtype, d) || !tnb_shape_count(ndim, shape, &n) || first < 0 ||
        (uint64_t)first > in->n_elems || n > in->n_elems - (uint64_t)first)
        return NULL;
    if (in->kind == TN_DATA_FILE && (first == 0 || d.bits % 8 == 0)) {
        uint64_t skipped = (uint64_t)first * tnb_dtype_bytes(d);
        return tn_data_file(f->ctx, d, ndim, shape, (const char *)in->bytes + skipped, in->file,
                            in->offset + skipped);
    }
    return in->kind == TN_DATA_DEFERRED && n == in->n_elems
               ? tn_data_deferred(f->ctx, d, ndim, shape, in->program, in->inputs, in->n_inputs,
                                  in->result)
               : NULL;
}

static const tn_expr *
make_result(folder *f, const tn_type *type, const tn_node *program, const tn_data *const *inputs,
            uint32_t n_inputs, uint64_t in_work, uint32_t result)
{
    int64_t shape[64];
    uint64_t elems;
    if (!static_shape(type, shape, 64, &elems))
        return NULL;
    tn_list dims;
    tn_type_dims(type, &dims);
    tnb_dtype d = tn_type_dtype(type);
    bool large = in_work + elems > EAGER_WORK;
    const tn_data *splat = large ? transform_uniform_result(f->ctx, d, (int32_t)dims.n, shape,
                                                            program, inputs, n_inputs, result)
                                 : NULL;
    if (splat && (splat->n_bytes > TN_LARGE_SPLAT ||
                  splat->n_bytes > tn_limit_get(f->ctx, TN_LIMIT_CONSTANTS)))
        return NULL; /* for the program to make, on a machine that can */
    if (splat)
        return tn_constant_of(f->ctx, splat);
    if (elems > MAX_ENLARGED && elems / ENLARGED > in_work)
        return NULL;
    const tn_data *same =
        large ? same_elements(f, type, shape, (int32_t)dims.n, program, inputs, n_inputs) : NULL;
    if (same)
        return tn_constant_of(f->ctx, same);
    bool refuses = may_refuse(f, program);
    if (large && refuses)
        return NULL;
    const tn_data *lazy =
        tn_data_deferred(f->ctx, d, (int32_t)dims.n, shape, program, inputs, n_inputs, result);
    if (!lazy || large)
        return lazy ? tn_constant_of(f->ctx, lazy) : NULL;
    uint32_t before = tnb_diags_count(tn_diags(f->ctx));
    const void *bytes = tn_data_get(f->ctx, lazy);
    if (!bytes && refuses) { /* the kernel will */
        tnb_diags_cut(tn_diags(f->ctx), before);
        return NULL;
    }
    void *copy;
    const tn_data *done = bytes ? tn_data_new(f->ctx, d, (int32_t)dims.n, shape, &copy) : NULL;
    if (!done)
        return tn_error_node(f->ctx);
    memcpy(copy, bytes, done->n_bytes);
    tn_data_release(f->ctx, lazy);
    return tn_constant_of(f->ctx, done);
}

/* The program with the shape variables of its buffers replaced by what its inputs and results have
 * there; NULL: a shape stays open. */
static const tn_node *
fix_shapes(folder *f, const tn_prim_func *p, const tn_data *const *inputs, uint32_t n,
           const tn_type *out)
{
    tnb_ptrmap map;
    tnb_ptrmap_init(&map, tn_scratch(f->ctx));
    const tn_ty_tuple *outs = tn_as_ty_tuple(out);
    for (uint32_t i = 0; i < p->buffers.n; i++) {
        const tn_buffer *b = tn_as_buffer(p->buffers.at[i]);
        tn_list dims = {0};
        const tn_type *t = i < n                            ? NULL
                           : outs && i - n < outs->fields.n ? outs->fields.at[i - n]
                                                            : out;
        if (!b || (t && !tn_type_dims(t, &dims)) ||
            b->shape.n != (t ? dims.n : (uint32_t)inputs[i]->ndim))
            return NULL;
        for (uint32_t k = 0; k < b->shape.n; k++) {
            const tn_expr *dim = t ? dims.at[k] : tn_i64(f->ctx, inputs[i]->shape[k]);
            int64_t v;
            if (tn_is_var(b->shape.at[k]) && tn_int_value(dim, &v) &&
                !tnb_ptrmap_has(&map, b->shape.at[k]))
                tnb_ptrmap_set(&map, b->shape.at[k],
                               tn_int_imm_of(f->ctx, tn_dtype_of(b->shape.at[k]), v));
        }
    }
    const tn_node *fixed = map.n ? tn_subst(f->ctx, TN_NODE(p), &map) : TN_NODE(p);
    for (uint32_t i = 0; i < p->buffers.n; i++) {
        const tn_buffer *b = tn_as_buffer(((const tn_prim_func *)fixed)->buffers.at[i]);
        for (uint32_t k = 0; k < b->shape.n; k++)
            if (!tn_is(b->shape.at[k], TN_KIND_INT_IMM))
                return NULL;
    }
    return fixed;
}

/* The Constant (or Tuple of such) that a call_tir over constants gives; NULL: leave it. */
static const tn_expr *
fold_call_tir(folder *f, const tn_module *m, const tn_call *c, bool created)
{
    const tn_tuple *args = c->args.n > 1 ? tn_as_tuple(c->args.at[1]) : NULL;
    const tn_global_var *gv = tn_as_global_var(c->args.at[0]);
    const tn_prim_func *callee = gv ? tn_as_prim_func(tn_module_get(m, gv->name)) : NULL;
    if (!f->can_evaluate || !args || !callee)
        return NULL;
    const tn_data **inputs = TNB_NEW_N(tn_scratch(f->ctx), const tn_data *, args->fields.n);
    uint64_t work = 0;
    for (uint32_t i = 0; i < args->fields.n; i++) {
        const tn_constant *k = tn_as_constant(args->fields.at[i]);
        if (!k)
            return NULL;
        inputs[i] = k->data;
        work += k->data->n_elems;
    }
    const tn_type *out = c->ty_args.n ? c->ty_args.at[0] : c->base.type;
    int64_t shape[64];
    uint64_t elems;
    if (created && (!static_shape(out, shape, 64, &elems) || elems > MAX_CREATED))
        return NULL;
    const tn_ty_tuple *outs = tn_as_ty_tuple(out);
    const tn_node *program = fix_shapes(f, callee, inputs, args->fields.n, out);
    if (!program)
        return NULL;
    if (!outs)
        return make_result(f, out, program, inputs, args->fields.n, work, 0);
    tn_list fields = {0};
    for (uint32_t i = 0; i < outs->fields.n; i++) {
        const tn_expr *r =
            make_result(f, outs->fields.at[i], program, inputs, args->fields.n, work, i);
        if (!r || tn_is_error(r))
            return r;
        fields = tn_list_append(f->ctx, fields, r);
    }
    return tn_tuple_of(f->ctx, fields);
}

/* Whether a call has tensor arguments, and all of them are constants. */
static bool
only_constants(const tn_call *c, bool *any)
{
    *any = false;
    for (uint32_t i = 0; i < c->args.n; i++) {
        const tn_expr *a = c->args.at[i];
        const tn_tuple *t = tn_as_tuple(a);
        for (uint32_t k = 0; k < (t ? t->fields.n : 1); k++) {
            const tn_expr *leaf = t ? t->fields.at[k] : a;
            if (tn_is(leaf, TN_KIND_CONSTANT))
                *any = true;
            else if (tn_is_var(leaf))
                return false;
        }
    }
    return true;
}

static const tn_expr *
fold_operator(folder *f, const tn_call *c, const tn_op *op)
{
    bool any;
    if (!op->legalize || (op->flags & TN_OP_IMPURE) || !only_constants(c, &any))
        return NULL;
    int64_t shape[64];
    uint64_t elems;
    if (!static_shape(c->base.type, shape, 64, &elems) || (!any && elems > MAX_CREATED))
        return NULL;
    tn_builder *b = tn_builder_new(f->ctx, f->m);
    uint32_t before = tnb_diags_count(tn_diags(f->ctx));
    tn_builder_begin_function(b, (tn_list){0});
    tn_builder_begin_block(b, true);
    const tn_expr *e = op->legalize(b, c);
    if (tn_is_error(e) && !f->certain) /* LegalizeOps says what is wrong, if it has to */
        tnb_diags_cut(tn_diags(f->ctx), before);
    const tn_call *call = tn_is_call_to(e, "relax.call_tir");
    return call ? fold_call_tir(f, tn_builder_module(b), call, !any) : NULL;
}

static const tn_expr *
tensor_to_shape(folder *f, const tn_constant *k)
{
    const void *bytes = k->data->ndim == 1 ? tn_data_get(f->ctx, k->data) : NULL;
    tn_list dims = {0};
    for (uint64_t i = 0; bytes && i < k->data->n_elems; i++) {
        int64_t v;
        if (!tnb_load_i64(bytes, k->data->dtype, i, &v))
            return NULL;
        dims = tn_list_append(f->ctx, dims, tn_i64(f->ctx, v));
    }
    return bytes ? tn_shape_expr_of(f->ctx, dims) : NULL;
}

static const tn_expr *
shape_to_tensor(folder *f, const tn_shape_expr *s)
{
    int64_t n = s->values.n;
    void *bytes;
    const tn_data *d = tn_data_new(f->ctx, TNB_I64, 1, &n, &bytes);
    for (uint32_t i = 0; d && i < s->values.n; i++) {
        int64_t v;
        if (!tn_int_value(s->values.at[i], &v))
            return NULL;
        ((int64_t *)bytes)[i] = v;
    }
    return d ? tn_constant_of(f->ctx, d) : NULL;
}

static const tn_expr *
fold_value(folder *f, const tn_expr *v, bool dataflow)
{
    const tn_tuple_get *get = tn_as_tuple_get(v);
    if (get) {
        const tn_tuple *t = tn_as_tuple(resolve(f, get->tuple));
        return t ? tn_tuple_item(f->ctx, TN_NODE(t), get->index) : v;
    }
    const tn_call *c = tn_as_call(v);
    if (!c)
        return resolve(f, v);
    v = resolve_args(f, c);
    c = tn_as_call(v);
    if (!c)
        return v;
    const tn_op *op = tn_call_op_of(c);
    if (!op)
        return v;
    const tn_expr *folded = NULL;
    bool any;
    if (tn_is_call_to(v, "relax.call_tir")) {
        const tn_tuple *args = c->args.n > 1 ? tn_as_tuple(c->args.at[1]) : NULL;
        folded = fold_call_tir(f, f->m, c, args && args->fields.n == 0);
    } else if (tn_is_call_to(v, "relax.tensor_to_shape") &&
               tn_is(c->args.at[0], TN_KIND_CONSTANT)) {
        folded = tensor_to_shape(f, (const tn_constant *)c->args.at[0]);
    } else if (tn_is_call_to(v, "relax.shape_to_tensor") &&
               tn_is(c->args.at[0], TN_KIND_SHAPE_EXPR)) {
        folded = shape_to_tensor(f, (const tn_shape_expr *)c->args.at[0]);
    } else if (dataflow && f->can_evaluate && only_constants(c, &any)) {
        folded = fold_operator(f, c, op);
    }
    return folded ? folded : v;
}

/* ---- functions ---- */

static bool
is_knowledge(const tn_expr *v)
{
    if (tn_is(v, TN_KIND_CONSTANT) || tn_is(v, TN_KIND_SHAPE_EXPR))
        return true;
    const tn_tuple *t = tn_as_tuple(v);
    for (uint32_t i = 0; t && i < t->fields.n; i++)
        if (!tn_is(t->fields.at[i], TN_KIND_CONSTANT))
            return false;
    return t && t->fields.n;
}

static const tn_expr *
fold_within(folder *f, const tn_expr *v);
static const tn_expr *
fold_sequence(folder *f, const tn_expr *e);

static tn_list
fold_bindings(folder *f, const tn_bindings_block *block, bool dataflow)
{
    tn_list list = block->bindings;
    for (uint32_t i = 0; i < block->bindings.n; i++) {
        const tn_var_binding *vb = tn_as_var_binding(block->bindings.at[i]);
        if (!vb)
            continue;
        const tn_call *c = tn_as_call(vb->value);
        bool kept = tnb_ptrmap_has(&f->overwritten, vb->var);
        bool holds = tn_is(vb->value, TN_KIND_IF_EXPR) || tn_is(vb->value, TN_KIND_FUNCTION);
        const tn_expr *v = holds   ? fold_within(f, vb->value)
                           : !kept ? fold_value(f, vb->value, dataflow)
                           : c     ? resolve_args(f, c)
                                   : vb->value;
        if (!kept && is_knowledge(v) && !tnb_ptrmap_has(&f->known, vb->var))
            tnb_ptrmap_set(&f->known, vb->var, v);
        if (v == vb->value)
            continue;
        tn_loc old = tn_at(f->ctx, vb->base.loc);
        const tn_expr *var = vb->var;
        if ((tn_is(v, TN_KIND_CALL) || holds) && v->type != vb->value->type &&
            !tn_type_equal(f->ctx, v->type, vb->value->type)) {
            var = tn_var_retyped(f->ctx, var, v->type);
            tnb_ptrmap_set(&f->retyped, vb->var, var);
        }
        tn_list_change(f->ctx, &list, block->bindings, i, tn_var_binding_of(f->ctx, var, v));
        tn_at(f->ctx, old);
    }
    return list;
}

/* What a binding's value holds besides calls: the branches of an If, the body of a local function. */
static const tn_expr *
fold_within(folder *f, const tn_expr *v)
{
    const tn_if_expr *i = tn_as_if_expr(v);
    const tn_function *fn = tn_as_function(v);
    tn_loc old = tn_at(f->ctx, v->loc);
    bool certain = f->certain;
    f->certain = false;
    if (i) {
        const tn_expr *a = fold_sequence(f, i->then_branch), *b = fold_sequence(f, i->else_branch);
        if (a != i->then_branch || b != i->else_branch)
            v = tn_if_expr_of(f->ctx, i->cond, a, b);
    } else if (fn) {
        const tn_expr *body = fold_sequence(f, fn->body);
        if (body != fn->body)
            v = transform_function(f->ctx, fn, fn->params, body, fn->ret);
    }
    f->certain = certain;
    tn_at(f->ctx, old);
    return v;
}

static const tn_expr *
fold_sequence(folder *f, const tn_expr *e)
{
    const tn_seq_expr *seq = tn_as_seq_expr(e);
    if (!seq)
        return e;
    tn_list blocks = seq->blocks;
    for (uint32_t b = 0; b < seq->blocks.n; b++) {
        const tn_bindings_block *block = tn_as_bindings_block(seq->blocks.at[b]);
        bool dataflow = tn_is(TN_NODE(block), TN_KIND_DATAFLOW_BLOCK);
        tn_list list = fold_bindings(f, block, dataflow);
        if (list.at != block->bindings.at)
            tn_list_change(f->ctx, &blocks, seq->blocks, b,
                           tn_binding_block_of(f->ctx, list, dataflow));
    }
    const tn_expr *result = resolve_result(f, seq->body);
    return blocks.at == seq->blocks.at && result == seq->body
               ? e
               : tn_seq_expr_of(f->ctx, blocks, result);
}

static const tn_node *
fold_function(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func,
              void *user)
{
    (void)name;
    (void)user;
    const tn_function *fn = tn_as_function(func);
    if (!fn)
        return func;
    folder f = {.ctx = pc->ctx, .m = m};
    f.certain = tn_func_attr(func, "global_symbol") != NULL;
    tnb_err err = {0};
    f.can_evaluate =
        tn_ctx_registry(pc->ctx) && tn_find_evaluator(tn_ctx_registry(pc->ctx), NULL, &err);
    if (err.status == TNB_INVALID) {
        tn_error(pc->ctx, 0, err.status, "%s", err.message);
        tnb_diag_hint(tn_diags(pc->ctx), "%s", err.hint);
        return NULL;
    }
    tnb_ptrmap_init(&f.known, tn_scratch(pc->ctx));
    tnb_ptrmap_init(&f.retyped, tn_scratch(pc->ctx));
    transform_find_overwritten(pc->ctx, m, func, &f.overwritten);
    uint32_t errors = tnb_diags_errors(tn_diags(pc->ctx));
    const tn_expr *body = fold_sequence(&f, fn->body);
    if (tnb_diags_errors(tn_diags(pc->ctx)) != errors)
        return NULL;
    if (body == fn->body)
        return func;
    const tn_type *ret = fn->ret;
    if (f.retyped.n) {
        tn_rewriter r = {.ctx = pc->ctx, .map = &f.retyped, .retype = true};
        body = tn_rewrite(&r, body);
        ret = NULL; /* the body says more now */
    }
    const tn_expr *nf = tn_function_of(pc->ctx, fn->params, body, ret, fn->pure, fn->attrs);
    if (tn_is_error(nf))
        return NULL;
    return transform_drop_unused(pc->ctx, m, nf);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tn_map_functions(pc, m, TN_FUNCTIONS, fold_function, NULL);
}

const tn_pass transform_fold_constant = {
    .base.size = sizeof(tn_pass),
    .base.name = "FoldConstant",
    .base.doc = "replace tensor programs over constants by their results",
    .keeps = TN_KEEPS_TOLERANCE,
    .run = run,
    .needs = "evaluator",
};
