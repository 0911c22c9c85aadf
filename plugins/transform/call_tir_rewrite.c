/* SPDX-License-Identifier: Apache-2.0 */
/* CallTIRRewrite: destination-passing calls allocate their results explicitly.
 *
 *     gv = R.call_tir(cls.add, (x, y), out_ty=T)     alloc = R.builtin.alloc_tensor(R.shape([2]), R.dtype("float32"), R.prim_value(0), R.str("global"))
 *                                                    _ = cls.add(x, y, alloc)
 *                                                    gv = alloc
 *
 * The same for call_tir_inplace (an index k >= 0: the output is argument k) and call_dps_packed. Several outputs: gv is bound to the tuple of
 * allocations; nested tuples are flattened for the call. Dataflow blocks stay such. Needs known output shapes. Cases: tests/pass/CallTIRRewrite.
 */
#include "transform.h"

#include "tenon/core/text.h"
#include "tenon/core/walk.h"

typedef struct lowering {
    tn_ctx *ctx;
    const tn_module *m;
    TNB_VEC(const tn_node *) out; /* bindings of the block being rewritten */
    bool dataflow;                /* it is a dataflow block */
    bool failed;
} lowering;

static const tn_expr *
bind(lowering *l, const char *name, const tn_expr *value)
{
    const tn_expr *v = l->dataflow ? tn_dataflow_var_new(l->ctx, name, value->type)
                                   : tn_var_new(l->ctx, name, value->type);
    TNB_PUSH(tn_scratch(l->ctx), l->out, tn_var_binding_of(l->ctx, v, value));
    return v;
}

/* An image belongs to the device of its kind and number that has other memory. */
static bool
is_image(const tn_vdevice *v)
{
    return v->scope && strncmp(v->scope, "global.texture", 14) == 0 && strchr(v->scope, ':');
}

/* The position of a virtual device among those of its kind: what run-time calls name it by. Images
 * of a size ("global.texture:64x32:float16") have none of their own. */
static int64_t
device_index(const lowering *l, const tn_vdevice *d)
{
    const tn_array *all = tn_as_array(tn_dict_get(l->m->infos, "vdevice"));
    const tn_target *t = tn_as_target(d->target);
    int64_t index = 0;
    for (uint32_t i = 0; all && i < all->items.n; i++) {
        const tn_vdevice *v = tn_as_vdevice(all->items.at[i]);
        const tn_target *vt = v ? tn_as_target(v->target) : NULL;
        if (v && is_image(v))
            continue;
        if (v == d || (v && vt && t && vt->kind == t->kind && v->id == d->id &&
                       (v->scope == d->scope || is_image(d))))
            return index;
        index += vt && t && vt->kind == t->kind;
    }
    return is_image(d) ? 0 : index;
}

static const tn_expr *
allocate(lowering *l, const tn_type *t, tn_loc loc)
{
    tn_list dims;
    const tn_ty_tensor *ty = tn_as_ty_tensor(t);
    if (!ty || !ty->shape || tnb_dtype_is_void(ty->dtype)) {
        if (!l->failed)
            tn_error(l->ctx, loc, TNB_SHAPE,
                     "the shape and dtype of a call's output have to be known, but its type is %s",
                     tn_text(l->ctx, t));
        l->failed = true;
        return tn_error_node(l->ctx);
    }
    const tn_expr *shape = tn_type_dims(t, &dims) ? tn_shape_expr_of(l->ctx, dims) : ty->shape;
    const tn_vdevice *dev = tn_as_vdevice(ty->vdevice);
    const tn_expr *call = tn_call_opv(l->ctx, "relax.builtin.alloc_tensor", NULL, shape,
                                      tn_dtype_imm_of(l->ctx, ty->dtype),
                                      tn_i64(l->ctx, dev ? device_index(l, dev) : 0),
                                      tn_string(l->ctx, dev ? dev->scope : "global"), NULL);
    return bind(l, "alloc", call);
}

/* The outputs of a call: fresh allocations, or arguments for in-place indices. Appends what the
 * call has to be given to `args`. */
static const tn_expr *
make_outputs(lowering *l, const tn_type *t, const tn_array *in_place, uint32_t *index,
             tn_list tensors, tn_list *args, tn_loc loc)
{
    const tn_ty_tuple *tuple = tn_as_ty_tuple(t);
    if (tuple) {
        tn_list fields = {0};
        for (uint32_t i = 0; i < tuple->fields.n; i++)
            fields = tn_list_append(l->ctx, fields,
                                    make_outputs(l, tuple->fields.at[i], in_place, index, tensors,
                                                 args, loc));
        return tn_tuple_of(l->ctx, fields);
    }
    int64_t k = -1;
    if (in_place && *index < in_place->items.n)
        tn_int_value(in_place->items.at[*index], &k);
    ++*index;
    if (k >= 0 && (uint64_t)k < tensors.n)
        return tensors.at[k];
    const tn_expr *a = allocate(l, t, loc);
    *args = tn_list_append(l->ctx, *args, a);
    return a;
}

static bool
lower_call(lowering *l, const tn_node *var, const tn_expr *value)
{
    const tn_call *c = tn_is_call_to(value, "relax.call_tir");
    const tn_array *in_place = NULL;
    if (!c)
        c = tn_is_call_to(value, "relax.call_dps_packed");
    if (!c && (c = tn_is_call_to(value, "relax.call_tir_inplace")))
        in_place = tn_as_array(tn_call_attr(c, "inplace_indices"));
    if (!c || c->args.n < 2)
        return false;
    tn_loc old = tn_at(l->ctx, value->loc);
    const tn_tuple *t = tn_as_tuple(c->args.at[1]);
    tn_list given = t ? t->fields : tn_listv(l->ctx, c->args.at[1], NULL);
    tn_list args = given;
    for (uint32_t i = 2; i < c->args.n; i++) { /* the old form's tir_vars */
        const tn_shape_expr *s = tn_as_shape_expr(c->args.at[i]);
        for (uint32_t k = 0; s && k < s->values.n; k++)
            args = tn_list_append(l->ctx, args, s->values.at[k]);
        if (!s)
            args = tn_list_append(l->ctx, args, c->args.at[i]);
    }
    const tn_type *out = c->ty_args.n ? c->ty_args.at[0] : value->type;
    uint32_t index = 0;
    const tn_expr *result = make_outputs(l, out, in_place, &index, given, &args, value->loc);
    const tn_type *nothing = tn_ty_tuple_of(l->ctx, (tn_list){0});
    bool packed = tn_is(c->args.at[0], TN_KIND_EXTERN_FUNC);
    const tn_expr *call =
        tn_call_of(l->ctx, c->args.at[0], args, NULL,
                   packed ? tn_listv(l->ctx, nothing, NULL) : (tn_list){0}, nothing);
    bind(l, "_", call);
    TNB_PUSH(tn_scratch(l->ctx), l->out, tn_var_binding_of(l->ctx, var, result));
    tn_at(l->ctx, old);
    return true;
}

static const tn_node *
lower_block(tn_rewriter *r, const tn_node *n)
{
    lowering *l = r->user;
    const tn_bindings_block *b = tn_as_bindings_block(n);
    if (!b)
        return NULL;
    l->out.n = 0;
    l->dataflow = tn_is(n, TN_KIND_DATAFLOW_BLOCK);
    bool any = false;
    for (uint32_t i = 0; i < b->bindings.n; i++) {
        const tn_var_binding *vb = tn_as_var_binding(b->bindings.at[i]);
        if (vb && lower_call(l, vb->var, vb->value))
            any = true;
        else
            TNB_PUSH(tn_scratch(l->ctx), l->out, b->bindings.at[i]);
    }
    if (!any)
        return NULL;
    return tn_binding_block_of(l->ctx, tn_list_of(l->ctx, l->out.at, l->out.n), l->dataflow);
}

static const tn_node *
each_function(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func,
              void *user)
{
    (void)name;
    (void)user;
    lowering l = {.ctx = pc->ctx, .m = m};
    tn_rewriter r = {.ctx = pc->ctx, .user = &l, .post = lower_block, .reach = TN_REACH_BLOCKS};
    const tn_node *out = tn_rewrite(&r, func);
    return l.failed || tn_is_error(out) ? NULL : out;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tn_map_functions(pc, m, TN_FUNCTIONS, each_function, NULL);
}

const tn_pass transform_call_tir_rewrite = {
    .base.size = sizeof(tn_pass),
    .base.name = "CallTIRRewrite",
    .base.doc = "make the allocation of a call's outputs explicit",
    .keeps = TN_KEEPS_BITS,
    .run = run,
};
