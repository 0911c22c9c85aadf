/* SPDX-License-Identifier: Apache-2.0 */
/* AnnotateCustomMemoryScope: tensors lie where most of those that read them want them, in images
 * (textures) of OpenCL or in buffers.
 *
 *     lv = R.call_tir(cls.te_layout_transform, (x,), out_ty=R.Tensor((2, 16, 56, 56, 4), ...))
 *     lv1 = R.nn.conv2d(lv, w, data_layout="NCHW4c", kernel_layout="OIHW4o", ...)
 *  -> lv = R.call_tir(..., out_ty=R.Tensor((2, 16, 56, 56, 4), ..., "opencl:1:global.texture-nhwc"))
 *     lv1 = R.nn.conv2d(lv, w, ..., ty_args=(R.Tensor(..., "opencl:0:global"),))
 *
 * Upstream's pass for Adreno. It runs after an incomplete legalization: tensor programs tell their
 * op_pattern, operators that were skipped their layouts. Programs up to injective ones, the data of
 * conv2d in NCHW4c with OIHW4o, pooling in NCHW4c and layer_norm can read images; a tensor of five
 * extents, the last of 4, has the first scope whose image is within texture_spatial_limit and
 * texture_depth_limit of the target. A tensor has the scope that most calls want; other calls read
 * a copy (to_vdevice). Parameters stay what the callers give, where upstream gives them a device.
 * Cases: tests/pass/AnnotateCustomMemoryScope.
 */
#include "transform.h"

#include "tenon/core/walk.h"

enum { MAX_SCOPES = 8 };

/* What the calls that read a variable want, in order of first mention. */
typedef struct wishes {
    const char *scope[MAX_SCOPES];
    uint32_t count[MAX_SCOPES];
    uint32_t n;
} wishes;

typedef struct placing {
    tn_ctx *ctx;
    const tn_module *m;
    const tn_target *target;
    const tn_node *device_target;
    tnb_ptrmap wanted; /* variable -> wishes */
    tnb_ptrmap values; /* variable -> what it is bound to */
    tnb_ptrmap vars;   /* old -> new */
    TNB_VEC(const tn_node *) devices;
    TNB_VEC(const tn_node *) copies; /* bindings to stand before the one at hand */
    bool dataflow;                   /* in a dataflow block */
} placing;

/* ---- who can read what ---- */

typedef struct reader {
    tn_list args;
    bool first, others; /* whether the first argument, and those behind, may be images */
} reader;

static bool
is_text(const tn_call *c, const char *key, const char *value)
{
    const tn_string_imm *s = tn_as_string_imm(tn_call_attr(c, key));
    return s && !strcmp(s->value, value);
}

/* The arguments of a call and which may lie in images; false for what is no call of a tensor program
 * or of an operator that has one. */
static bool
is_reader(const placing *p, const tn_call *c, reader *out)
{
    enum { INJECTIVE = 2 };
    const tn_op *op = tn_call_op_of(c);
    *out = (reader){.args = c->args};
    if (!op)
        return false;
    if (op->structural == TN_STRUCTURAL_call_tir) {
        const tn_global_var *gv = tn_as_global_var(c->args.at[0]);
        const tn_node *f = gv ? tn_module_get(p->m, gv->name) : NULL;
        const tn_tuple *args = tn_as_tuple(c->args.at[1]);
        int64_t pattern = INJECTIVE + 1;
        if (!tn_is(f, TN_KIND_PRIM_FUNC) || !args)
            return false;
        tn_int_value(tn_func_attr(f, "op_pattern"), &pattern);
        out->args = args->fields;
        out->first = out->others = pattern >= 0 && pattern <= INJECTIVE;
        return true;
    }
    if (tn_is_call_to(&c->base, "relax.nn.conv2d"))
        out->first = is_text(c, "data_layout", "NCHW4c") && is_text(c, "kernel_layout", "OIHW4o");
    else if (tn_is_call_to(&c->base, "relax.nn.max_pool2d") ||
             tn_is_call_to(&c->base, "relax.nn.avg_pool2d") ||
             tn_is_call_to(&c->base, "relax.nn.adaptive_avg_pool2d"))
        out->first = out->others = is_text(c, "layout", "NCHW4c");
    else if (tn_is_call_to(&c->base, "relax.nn.layer_norm"))
        out->first = out->others = true;
    return op->legalize != NULL;
}

static const char *
image_scope(const placing *p, const tn_type *t)
{
    int64_t spatial = tn_dict_int(p->target->attrs, "texture_spatial_limit", 16384),
            depth = tn_dict_int(p->target->attrs, "texture_depth_limit", 2048), at[5];
    tn_list dims;
    if (!tn_type_dims(t, &dims) || dims.n != 5 || !tn_is_int_const(dims.at[4], 4))
        return "global";
    for (uint32_t i = 0; i < 5; i++) {
        if (!tn_int_value(dims.at[i], &at[i]))
            return "global.texture-nchw";
        if (at[i] > INT32_MAX)
            return "global";
    }
    /* a product of two fits int64, that of three need not */
    int64_t rows = at[2] * at[3];
    if (at[0] < spatial && rows < spatial && at[1] * rows < spatial)
        return "global.texture-weight";
    if (at[0] < depth && at[1] < spatial && rows < spatial)
        return "global.texture-nhwc";
    if (at[0] * at[1] < depth && at[2] < spatial && at[3] < spatial)
        return "global.texture";
    return "global";
}

static const char *
wish(const placing *p, const reader *r, uint32_t i)
{
    return (i ? r->others : r->first) ? image_scope(p, r->args.at[i]->type) : "global";
}

/* ---- wishes ---- */

static void
add_wish(placing *p, const tn_expr *var, const char *scope, uint32_t count)
{
    wishes *w = tnb_ptrmap_get(&p->wanted, var);
    uint32_t k = 0;
    if (!w) {
        w = TNB_NEW(tn_scratch(p->ctx), wishes);
        tnb_ptrmap_set(&p->wanted, var, w);
    }
    while (k < w->n && strcmp(w->scope[k], scope) != 0)
        k++;
    if (k == MAX_SCOPES)
        return;
    w->scope[k] = scope;
    w->count[k] += count;
    w->n += k == w->n;
}

static tn_walk_step
note(void *user, const tn_node *n)
{
    placing *p = user;
    const tn_var_binding *vb = tn_as_var_binding(n);
    const tn_call *c = tn_as_call(n);
    reader r;
    if (vb)
        tnb_ptrmap_set(&p->values, vb->var, vb->value);
    if (c && is_reader(p, c, &r))
        for (uint32_t i = 0; i < r.args.n; i++) {
            bool again = false; /* one wish a call */
            for (uint32_t k = i + 1; k < r.args.n; k++)
                again |= r.args.at[k] == r.args.at[i];
            if (!again && tn_is_var(r.args.at[i]) && tn_is(r.args.at[i]->type, TN_KIND_TY_TENSOR))
                add_wish(p, r.args.at[i], wish(p, &r, i), 1);
        }
    return TN_WALK_ON;
}

/* What is wanted of a field that was taken out of a tuple is wanted of what the tuple holds. */
static void
through_tuples(placing *p)
{
    for (uint32_t i = 0; i < p->values.n; i++) {
        const tn_expr *var = p->values.at[i].key;
        const tn_tuple_get *get = var ? tn_as_tuple_get(p->values.at[i].value) : NULL;
        const wishes *w = get ? tnb_ptrmap_get(&p->wanted, var) : NULL;
        const tn_tuple *t = w ? tn_as_tuple(tnb_ptrmap_get(&p->values, get->tuple)) : NULL;
        if (!t || get->index >= (int64_t)t->fields.n || !tn_is_var(t->fields.at[get->index]))
            continue;
        for (uint32_t k = 0; k < w->n; k++)
            add_wish(p, t->fields.at[get->index], w->scope[k], w->count[k]);
    }
}

static const char *
most_wanted(const placing *p, const tn_expr *var)
{
    const wishes *w = tnb_ptrmap_get(&p->wanted, var);
    uint32_t best = 0;
    for (uint32_t k = 1; w && k < w->n; k++)
        best = w->count[k] > w->count[best] ? k : best;
    return w ? w->scope[best] : "global";
}

/* ---- rewriting ---- */

static const tn_node *
device_for(placing *p, const char *scope)
{
    for (uint32_t i = 0; i < p->devices.n; i++) {
        const tn_vdevice *d = tn_as_vdevice(p->devices.at[i]);
        const tn_target *t = d ? tn_as_target(d->target) : NULL;
        if (d && t && d->id == 0 && !strcmp(d->scope, scope) && !strcmp(t->kind, p->target->kind))
            return p->devices.at[i];
    }
    const tn_node *v = tn_vdevice_of(p->ctx, p->device_target, 0, scope);
    TNB_PUSH(tn_scratch(p->ctx), p->devices, v);
    return v;
}

static const tn_type *
type_at(placing *p, const tn_type *t, const char *scope)
{
    const tn_ty_tuple *u = tn_as_ty_tuple(t);
    const tn_ty_tensor *x = tn_as_ty_tensor(t);
    if (x)
        return tn_ty_tensor_of(p->ctx, x->shape, x->dtype, x->ndim, device_for(p, scope));
    const tn_node **at = TNB_NEW_N(tn_scratch(p->ctx), const tn_node *, u ? u->fields.n : 0);
    for (uint32_t i = 0; u && i < u->fields.n; i++)
        at[i] = type_at(p, u->fields.at[i], scope);
    return u ? tn_ty_tuple_of(p->ctx, (tn_list){at, u->fields.n}) : t;
}

static const tn_expr *
new_var(const placing *p, bool dataflow, const char *name, const tn_type *type)
{
    return dataflow ? tn_dataflow_var_new(p->ctx, name, type) : tn_var_new(p->ctx, name, type);
}

/* The argument where it is wanted: itself, or a copy. What has no device lies in a buffer. */
static const tn_expr *
placed(placing *p, const tn_expr *arg, const char *scope)
{
    const tn_ty_tensor *t = tn_as_ty_tensor(arg->type);
    const tn_vdevice *d = t ? tn_as_vdevice(t->vdevice) : NULL;
    if (!t || !strcmp(d ? d->scope : "global", scope))
        return arg;
    const tn_expr *copy =
        tn_call_opv(p->ctx, "relax.to_vdevice",
                    tn_dictv(p->ctx, "dst_vdevice", device_for(p, scope), NULL), arg, NULL);
    if (tn_is_error(copy))
        return copy;
    const char *name = tn_is_var(arg) ? tn_var_name(arg) : tn_str(p->ctx, "lv");
    const tn_expr *var = new_var(p, p->dataflow, name, copy->type);
    TNB_PUSH(tn_scratch(p->ctx), p->copies, tn_var_binding_of(p->ctx, var, copy));
    return var;
}

static const tn_node *
place_call(tn_rewriter *r, const tn_var_binding *vb, const tn_call *c, const reader *read)
{
    placing *p = r->user;
    bool program = tn_is_call_to(&c->base, "relax.call_tir") != NULL;
    tn_list args = read->args;
    for (uint32_t i = 0; i < args.n; i++) {
        const tn_expr *now = placed(p, tn_rewrite_child(r, args.at[i]), wish(p, read, i));
        if (tn_is_error(now))
            return now;
        if (now != args.at[i])
            tn_list_change(p->ctx, &args, read->args, i, now);
    }
    const tn_type *type = type_at(p, c->base.type, most_wanted(p, vb->var));
    if (program)
        args = tn_listv(p->ctx, c->args.at[0], tn_tuple_of(p->ctx, args), NULL);
    tn_loc old = tn_at(p->ctx, vb->base.loc);
    const tn_expr *call =
        tn_call_of(p->ctx, c->op, args, c->attrs, tn_listv(p->ctx, type, NULL), NULL);
    const tn_node *out = call;
    if (!tn_is_error(call)) {
        const tn_expr *var =
            new_var(p, tn_is(vb->var, TN_KIND_DATAFLOW_VAR), tn_var_name(vb->var), call->type);
        tnb_ptrmap_set(r->map, vb->var, var);
        out = tn_var_binding_of(p->ctx, var, call);
    }
    tn_at(p->ctx, old);
    return out;
}

static const tn_node *
block(tn_rewriter *r, const tn_bindings_block *b)
{
    placing *p = r->user;
    tn_list out = {0};
    bool outer = p->dataflow;
    p->dataflow = b->base.kind == TN_KIND_DATAFLOW_BLOCK;
    for (uint32_t i = 0; i < b->bindings.n; i++) {
        p->copies.n = 0;
        const tn_node *now = tn_rewrite_child(r, b->bindings.at[i]);
        if (tn_is_error(now))
            return now;
        for (uint32_t k = 0; k < p->copies.n; k++)
            out = tn_list_append(p->ctx, out, p->copies.at[k]);
        out = tn_list_append(p->ctx, out, now);
    }
    p->copies.n = 0;
    bool dataflow = p->dataflow;
    p->dataflow = outer;
    return tn_binding_block_of(p->ctx, out, dataflow);
}

static const tn_node *
place(tn_rewriter *r, const tn_node *n)
{
    const tn_var_binding *vb = tn_as_var_binding(n);
    const tn_call *c = vb ? tn_as_call(vb->value) : NULL;
    reader read;
    if (n->kind == TN_KIND_BINDING_BLOCK || n->kind == TN_KIND_DATAFLOW_BLOCK)
        return block(r, (const tn_bindings_block *)n);
    if (c && is_reader(r->user, c, &read) &&
        (tn_is(c->base.type, TN_KIND_TY_TENSOR) || tn_is(c->base.type, TN_KIND_TY_TUPLE)))
        return place_call(r, vb, c, &read);
    return NULL;
}

static const tn_node *
each_function(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func,
              void *user)
{
    placing *p = user;
    const tn_function *f = tn_as_function(func);
    (void)pc;
    (void)m;
    (void)name;
    if (tn_dict_int(f->attrs, "Primitive", 0))
        return func;
    tnb_ptrmap_init(&p->wanted, tn_scratch(p->ctx));
    tnb_ptrmap_init(&p->values, tn_scratch(p->ctx));
    tnb_ptrmap_init(&p->vars, tn_scratch(p->ctx));
    tn_walk(f->body, 0, note, NULL, p);
    through_tuples(p);
    tn_rewriter r = {.ctx = p->ctx, .user = p, .pre = place, .map = &p->vars, .retype = true};
    const tn_node *out = tn_rewrite(&r, func);
    return tn_is_error(out) ? NULL : out;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    placing p = {.ctx = pc->ctx, .m = m, .target = pc->target};
    if (!pc->target) {
        tn_error(pc->ctx, 0, TNB_INVALID, "AnnotateCustomMemoryScope needs a target");
        tnb_diag_hint(tn_diags(pc->ctx), "choose one with -t opencl");
        return NULL;
    }
    p.device_target = tn_target_of(pc->ctx, pc->target->kind, NULL);
    const tn_array *given = tn_as_array(tn_dict_get(m->infos, "vdevice"));
    for (uint32_t i = 0; given && i < given->items.n; i++)
        TNB_PUSH(tn_scratch(pc->ctx), p.devices, given->items.at[i]);
    uint32_t before = p.devices.n;
    const tn_module *out = tn_map_functions(pc, m, TN_FUNCTIONS, each_function, &p);
    if (!out || p.devices.n == before)
        return out;
    const tn_node *all = tn_array_of(pc->ctx, tn_list_of(pc->ctx, p.devices.at, p.devices.n));
    return tn_module_with_infos(pc->ctx, out, tn_dict_set(pc->ctx, m->infos, "vdevice", all));
}

const tn_pass transform_annotate_custom_memory_scope = {
    .base.size = sizeof(tn_pass),
    .base.name = "AnnotateCustomMemoryScope",
    .base.doc =
        "tensors lie where most calls want them: in images (OpenCL's textures) or in buffers",
    .keeps = TN_KEEPS_BITS,
    .run = run,
};
