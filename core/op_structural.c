/* SPDX-License-Identifier: Apache-2.0 */
/* The structural operators: calls of tensor programs and packed functions, closures, memory, VM,
 * shapes, devices, checks. How their calls look is described in docs/text-form.md.
 */
#include "private.h"

static const char *
name_of(const tn_call *c)
{
    return tn_call_op_of(c)->base.name;
}

static const tn_type *
void_type(tn_ctx *ctx, const tn_call *c)
{
    (void)c;
    return tn_ty_tuple_of(ctx, (tn_list){0});
}

static const tn_type *
any_type(tn_ctx *ctx, const tn_call *c)
{
    (void)c;
    return tn_ty_any(ctx);
}

static const tn_type *
like_argument(tn_ctx *ctx, const tn_call *c)
{
    const tn_type *t = c->args.at[0]->type;
    return t ? t : tn_ty_any(ctx);
}

/* The types given with the call: one, several as a tuple, none as Any. */
static const tn_type *
as_given(tn_ctx *ctx, const tn_call *c)
{
    if (!c->ty_args.n)
        return tn_ty_any(ctx);
    return c->ty_args.n == 1 ? c->ty_args.at[0] : tn_ty_tuple_of(ctx, c->ty_args);
}

/* ---- calls ---- */
static bool
callee_is(tn_ctx *ctx, const tn_call *c, bool global)
{
    const tn_expr *f = c->args.at[0];
    bool ok = global ? tn_is(f, TN_KIND_GLOBAL_VAR) || tn_is_var(f)
                     : tn_is(f, TN_KIND_EXTERN_FUNC) || tn_is(f, TN_KIND_GLOBAL_VAR) ||
                           (tn_is_var(f) && tn_is(f->type, TN_KIND_TY_FUNC));
    if (!ok)
        tn_error(ctx, 0, TNB_TYPE, "the callee of %s must be %s, not %s", name_of(c),
                 global ? "a tensor program of the module" : "an external function",
                 tn_brief(ctx, f));
    return ok;
}

/* Checks what calls in destination-passing style share; their type is the one given. */
static const tn_type *
dps(tn_ctx *ctx, const tn_call *c, bool global)
{
    if (!callee_is(ctx, c, global))
        return tn_error_node(ctx);
    const tn_expr *args = c->args.at[1];
    if (!tn_is(args, TN_KIND_TUPLE) && !tn_is(args->type, TN_KIND_TY_TUPLE))
        return tn_error(ctx, 0, TNB_TYPE, "the arguments of %s must be a tuple, not %s", name_of(c),
                        tn_brief(ctx, args));
    if (!c->ty_args.n)
        return tn_error(ctx, 0, TNB_INVALID, "%s needs the type of its result (out_ty)",
                        name_of(c));
    return as_given(ctx, c);
}

static const tn_type *
call_tir(tn_ctx *ctx, const tn_call *c)
{
    return dps(ctx, c, true);
}

static const tn_type *
call_dps_packed(tn_ctx *ctx, const tn_call *c)
{
    return dps(ctx, c, false);
}

static const tn_type *
call_tir_inplace(tn_ctx *ctx, const tn_call *c)
{
    const tn_type *t = dps(ctx, c, true);
    if (tn_is_error(t))
        return t;
    const tn_ty_tuple *tuple = tn_as_ty_tuple(t);
    uint32_t outputs = tuple ? tuple->fields.n : 1;
    const tn_tuple *args = tn_as_tuple(c->args.at[1]);
    const tn_array *idx = tn_as_array(tn_call_attr(c, "inplace_indices"));
    uint32_t n = idx ? idx->items.n : 0;
    if (n != outputs)
        return tn_error(ctx, 0, TNB_INVALID, "%u in-place indices for %u outputs", n, outputs);
    bool fresh_only = true;
    for (uint32_t i = 0; i < n; i++) {
        int64_t k = -1;
        tn_int_value(idx->items.at[i], &k);
        if (k < -1 || (args && k >= (int64_t)args->fields.n))
            return tn_error(ctx, 0, TNB_BOUNDS, "in-place index %lld is not an argument",
                            (long long)k);
        if (k < 0)
            continue;
        fresh_only = false;
        for (uint32_t j = 0; j < i; j++)
            if (tn_is_int_const(idx->items.at[j], k))
                return tn_error(ctx, 0, TNB_INVALID, "in-place index %lld stands twice",
                                (long long)k);
        const tn_type *out = tuple ? tuple->fields.at[i] : t;
        const tn_type *in = args ? args->fields.at[k]->type : NULL;
        if (!in)
            continue;
        if (!tn_is(in, TN_KIND_TY_TENSOR))
            return tn_error(ctx, 0, TNB_TYPE,
                            "output %u cannot be computed in place of argument %lld, which is no "
                            "tensor but of type %s",
                            i, (long long)k, tn_brief(ctx, in));
        if (tn_type_check(ctx, out, in) == TN_SUBTYPE_FAIL)
            return tn_error(ctx, 0, TNB_TYPE,
                            "output %u is computed in place of argument %lld, but their types "
                            "differ: %s and %s",
                            i, (long long)k, tn_brief(ctx, out), tn_brief(ctx, in));
    }
    if (fresh_only)
        return tn_error(ctx, 0, TNB_INVALID, "no output of %s is in place", name_of(c));
    return t;
}

static const tn_type *
call_packed(tn_ctx *ctx, const tn_call *c)
{
    return callee_is(ctx, c, false) ? as_given(ctx, c) : tn_error_node(ctx);
}

/* ---- shapes ---- */
static bool
tensor_arg(tn_ctx *ctx, const tn_call *c, uint32_t i)
{
    const tn_type *t = c->args.at[i]->type;
    if (tn_is(t, TN_KIND_TY_TENSOR) || tn_is(t, TN_KIND_TY_ANY))
        return true;
    tn_error(ctx, 0, TNB_TYPE, "argument %u of %s must be a tensor, not %s", i, name_of(c),
             t ? tn_brief(ctx, t) : "untyped");
    return false;
}

static const tn_type *
shape_of(tn_ctx *ctx, const tn_call *c)
{
    if (!tensor_arg(ctx, c, 0))
        return tn_error_node(ctx);
    tn_list dims;
    const tn_type *t = c->args.at[0]->type;
    return tn_type_dims(t, &dims) ? tn_ty_shape_of(ctx, dims)
                                  : tn_ty_shape_rank(ctx, tn_type_ndim(t));
}

static const tn_type *
tensor_to_shape(tn_ctx *ctx, const tn_call *c)
{
    if (!tensor_arg(ctx, c, 0))
        return tn_error_node(ctx);
    const tn_type *t = c->args.at[0]->type;
    tnb_dtype d = tn_type_dtype(t);
    int64_t n = -1;
    tn_list dims;
    if (tn_type_ndim(t) != 1 && tn_type_ndim(t) != -1)
        return tn_error(ctx, 0, TNB_SHAPE,
                        "tensor_to_shape needs a tensor of one dimension, not %lld",
                        (long long)tn_type_ndim(t));
    if (!tnb_dtype_is_void(d) && !tnb_dtype_is_int(d))
        return tn_error(ctx, 0, TNB_TYPE, "tensor_to_shape needs integers, not %s",
                        tnb_dtype_print(d).s);
    if (tn_type_dims(t, &dims))
        tn_int_value(dims.at[0], &n);
    return tn_ty_shape_rank(ctx, n);
}

/* ---- memory ---- */
/* Type of a tensor given by a shape and a dtype argument. */
static const tn_type *
tensor_by(tn_ctx *ctx, const tn_call *c, uint32_t shape_at, uint32_t dtype_at)
{
    const tn_expr *shape = c->args.at[shape_at];
    const tn_dtype_imm *d = tn_as_dtype_imm(c->args.at[dtype_at]);
    if (!tn_is(shape->type, TN_KIND_TY_SHAPE))
        return tn_error(ctx, 0, TNB_TYPE, "argument %u of %s must be a shape, not %s", shape_at,
                        name_of(c), tn_brief(ctx, shape));
    if (!d)
        return tn_error(ctx, 0, TNB_TYPE, "argument %u of %s must be a dtype, not %s", dtype_at,
                        name_of(c), tn_brief(ctx, c->args.at[dtype_at]));
    if (!tn_is(shape, TN_KIND_SHAPE_EXPR) && !tn_is_var(shape))
        return tn_ty_tensor_of(ctx, NULL, d->value, tn_type_ndim(shape->type), NULL);
    return tn_ty_tensor_of(ctx, shape, d->value, -1, NULL);
}

static const tn_type *
builtin_alloc_tensor(tn_ctx *ctx, const tn_call *c)
{
    return tensor_by(ctx, c, 0, 1);
}

static const tn_type *
storage_alloc_tensor(tn_ctx *ctx, const tn_call *c)
{
    return tensor_by(ctx, c, 2, 3);
}

/* An optional argument that is not given stands as the empty tuple. */
static const tn_expr *
given_arg(const tn_call *c, uint32_t i)
{
    const tn_expr *a = i < c->args.n ? c->args.at[i] : NULL;
    return a && tn_is(a, TN_KIND_TUPLE) && !((const tn_tuple *)a)->fields.n ? NULL : a;
}

static const tn_type *
memory_view(tn_ctx *ctx, const tn_call *c)
{
    if (!tensor_arg(ctx, c, 0))
        return tn_error_node(ctx);
    const tn_type *t = c->args.at[0]->type;
    const tn_expr *shape = given_arg(c, 1), *dtype = given_arg(c, 2);
    const tn_ty_tensor *old = tn_as_ty_tensor(t);
    tnb_dtype d = dtype && tn_is(dtype, TN_KIND_DTYPE_IMM) ? ((const tn_dtype_imm *)dtype)->value
                  : dtype                                  ? TNB_VOID
                                                           : tn_type_dtype(t);
    if (shape && !tn_is(shape->type, TN_KIND_TY_SHAPE))
        return tn_error(ctx, 0, TNB_TYPE, "the shape of memory.view must be a shape, not %s",
                        tn_brief(ctx, shape));
    const tn_node *vdevice = old ? old->vdevice : NULL;
    if (!shape)
        return old ? tn_ty_tensor_of(ctx, old->shape, d, old->ndim, vdevice)
                   : tn_ty_tensor_of(ctx, NULL, d, -1, NULL);
    if (!tn_is(shape, TN_KIND_SHAPE_EXPR) && !tn_is_var(shape))
        return tn_ty_tensor_of(ctx, NULL, d, tn_type_ndim(shape->type), vdevice);
    return tn_ty_tensor_of(ctx, shape, d, -1, vdevice);
}

/* ---- devices and parameters ---- */
static const tn_type *
to_vdevice(tn_ctx *ctx, const tn_call *c)
{
    if (!tensor_arg(ctx, c, 0))
        return tn_error_node(ctx);
    const tn_ty_tensor *t = tn_as_ty_tensor(c->args.at[0]->type);
    const tn_node *dev = tn_call_attr(c, "dst_vdevice");
    return t ? tn_ty_tensor_of(ctx, t->shape, t->dtype, t->ndim, dev) : tn_ty_any(ctx);
}

static const tn_type *
wrap_param(tn_ctx *ctx, const tn_call *c)
{
    if (!tensor_arg(ctx, c, 0))
        return tn_error_node(ctx);
    const tn_ty_tensor *t = tn_as_ty_tensor(c->args.at[0]->type);
    return t ? tn_ty_tensor_of(ctx, t->shape, tn_call_dtype(c, "dtype"), t->ndim, t->vdevice)
             : tn_ty_any(ctx);
}

/* ---- arguments that may be left out ---- */
tn_list
tn_complete_args(tn_ctx *ctx, const tn_op *op, tn_list args)
{
    enum { NOTHING, DEVICE_0, GLOBAL_SCOPE };
    static const struct {
        uint32_t n; /* arguments when complete */
        int what;
    } rows[TN_STRUCTURAL_COUNT] = {
        [TN_STRUCTURAL_memory_alloc_tensor] = {5, DEVICE_0},
        [TN_STRUCTURAL_vm_alloc_tensor] = {5, DEVICE_0},
        [TN_STRUCTURAL_builtin_alloc_tensor] = {4, GLOBAL_SCOPE},
        [TN_STRUCTURAL_vm_alloc_storage] = {4, GLOBAL_SCOPE},
        [TN_STRUCTURAL_memory_view] = {4, NOTHING},
    };
    int what = rows[op->structural].what;
    while (args.n < rows[op->structural].n)
        args = tn_list_append(ctx, args,
                              what == DEVICE_0       ? tn_i64(ctx, 0)
                              : what == GLOBAL_SCOPE ? tn_string(ctx, "global")
                                                     : tn_tuple_of(ctx, (tn_list){0}));
    return args;
}

/* ---- schemas ---- */
#define ARGS(id, ...) static const tn_arg_schema id[] = {__VA_ARGS__, {NULL, NULL}}
ARGS(callee_args, {"func", "what is called"}, {"args", "a tuple"});
ARGS(packed_args, {"func", "an external function"}, {"args", "its arguments"});
ARGS(closure_args, {"closure", NULL}, {"args", "a tuple"});
ARGS(one_arg, {"x", NULL});
ARGS(many_args, {"args", NULL});
ARGS(assert_args, {"condition", "scalar bool"}, {"args", "values for the format"});
ARGS(alloc_args, {"shape", NULL}, {"dtype", NULL}, {"device_index", NULL}, {"scope", NULL});
ARGS(mem_storage_args, {"size", "bytes, as a shape"}, {"device_index", NULL}, {"scope", NULL},
     {"dtype", NULL});
ARGS(vm_storage_args, {"size", "bytes, as a shape"}, {"device_index", NULL}, {"dtype", NULL},
     {"scope", NULL});
ARGS(storage_tensor_args, {"storage", NULL}, {"offset", "bytes"}, {"shape", NULL}, {"dtype", NULL},
     {"device_index", NULL});
ARGS(view_args, {"x", NULL}, {"shape", NULL}, {"dtype", NULL}, {"relative_byte_offset", NULL});
static const tn_arg_schema no_args[] = {{NULL, NULL}};

#define ATTRS(id, ...) static const tn_attr_schema id[] = {__VA_ARGS__, {NULL, 0, 0, NULL, NULL}}
ATTRS(inplace_attrs, {"inplace_indices", TN_ATTR_INTS, 0, NULL,
                      "the argument that each output replaces; -1: none"});
ATTRS(grad_attrs, {"te_grad_name", TN_ATTR_STR, 0, NULL, "name of the gradient function"},
      {"te_grad_kwargs", TN_ATTR_ANY, TN_ATTR_OPTIONAL, NULL, "its keyword arguments"});
ATTRS(format_attrs, {"format", TN_ATTR_STR, 0, "\"\"", "text with {} for each value"});
ATTRS(hint_attrs, {"device_type", TN_ATTR_INT, 0, "1", "DLPack's device type"},
      {"index", TN_ATTR_INT, 0, "0", NULL}, {"memory_scope", TN_ATTR_STR, 0, "\"global\"", NULL});
ATTRS(vdevice_attrs, {"dst_vdevice", TN_ATTR_VDEVICE, 0, NULL, "where the copy shall lie"});
ATTRS(dtype_attrs, {"dtype", TN_ATTR_DTYPE, 0, "float32", NULL});

/* ---- the table ---- */
const tn_op tn_structural_ops[] = {
#define TN_STRUCTURAL(id, name_, more, takes, fewest, keys, rule, what) \
    {.base.size = sizeof(tn_op),                                        \
     .flags = (more),                                                   \
     .base.name = "relax." name_,                                       \
     .base.doc = what,                                                  \
     .args = takes,                                                     \
     .min_args = fewest,                                                \
     .attrs = keys,                                                     \
     .infer = rule,                                                     \
     .structural = TN_STRUCTURAL_##id},
#include "tenon/core/structural.def"
#undef TN_STRUCTURAL
};
const uint32_t tn_n_structural_ops = sizeof tn_structural_ops / sizeof *tn_structural_ops;
