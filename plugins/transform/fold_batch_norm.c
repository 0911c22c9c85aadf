/* SPDX-License-Identifier: Apache-2.0 */
/* FoldBatchNorm: what scales and shifts channels by constants goes into the convolution before it.
 *
 *     lv = R.nn.conv2d(x, w)                          =>   lv = R.nn.conv2d(x, w')
 *     lv1 = R.nn.batch_norm(lv, g, b, mean, var)           gv = R.add(lv, b')
 *     gv = lv1[0]
 *
 * For inference, in dataflow blocks: batch normalization, products with and sums of one constant a
 * channel, as long as nobody else reads what lies between. Constants may stand behind reshape and
 * expand_dims. Behind something else a normalization and what follows become one product and one
 * sum. float32 along axis 1; the new constants are computed in double precision. Cases:
 * tests/pass/FoldBatchNorm.
 */
#include "transform.h"

#include <math.h>

#include "tenon/core/walk.h"

enum { MAX_BETWEEN = 16, MAX_RANK = 5, MAX_CHANNELS = 1 << 20 };

typedef struct folder {
    tn_ctx *ctx;
    tnb_arena *arena;
    tn_list at;                    /* the block's bindings */
    tnb_ptrmap place;              /* variable defined in the block -> its place + 1 */
    tnb_ptrmap uses;               /* variable -> how many bindings read it */
    bool *gone;                    /* by place */
    TNB_VEC(const tn_node *) back; /* the new bindings, from the end */
} folder;

/* y = scale * x + shift, one of each a channel. */
typedef struct affine {
    const tn_expr *x;
    double *scale, *shift; /* NULL before the first step */
    int64_t n;
    bool scales, normalizes;
    uint32_t steps;
    uint32_t between[MAX_BETWEEN + 1]; /* places of bindings that go */
    uint32_t n_between;
} affine;

static const tn_expr *
value_at(const folder *f, uint32_t i)
{
    const tn_var_binding *v = tn_as_var_binding(f->at.at[i]);
    return v ? v->value : NULL;
}

/* Where a variable that one binding reads is defined, counted from 1; 0: elsewhere, or more do. */
static uint32_t
place_of_own(const folder *f, const tn_expr *v)
{
    if (!tn_is(v, TN_KIND_DATAFLOW_VAR) || (uintptr_t)tnb_ptrmap_get(&f->uses, v) != 1)
        return 0;
    return (uint32_t)(uintptr_t)tnb_ptrmap_get(&f->place, v);
}

/* ---- constants ---- */

/* The elements of a float32 constant, which may stand behind a change of shape; NULL: none. */
static const float *
elements(const folder *f, const tn_expr *e)
{
    uint32_t p = (uint32_t)(uintptr_t)tnb_ptrmap_get(&f->place, e);
    const tn_expr *v = p ? value_at(f, p - 1) : NULL;
    if (v && (tn_is_call_to(v, "relax.reshape") || tn_is_call_to(v, "relax.expand_dims")))
        e = tn_as_call(v)->args.at[0];
    const tn_constant *c = tn_as_constant(e);
    if (!c || !tnb_dtype_eq(c->data->dtype, TNB_F32) || c->data->kind == TN_DATA_DEFERRED)
        return NULL;
    return tn_data_get(f->ctx, c->data);
}

/* A constant for n channels along axis 1 of `rank` axes. */
static const tn_expr *
channels(const folder *f, const double *v, int64_t n, int64_t rank)
{
    int64_t shape[MAX_RANK] = {1, n, 1, 1, 1};
    void *bytes;
    const tn_data *d = tn_data_new(f->ctx, TNB_F32, (int32_t)rank, shape, &bytes);
    for (int64_t i = 0; d && i < n; i++)
        ((float *)bytes)[i] = (float)v[i];
    return d ? tn_constant_of(f->ctx, d) : tn_error_node(f->ctx);
}

/* to = from * by, eight at a time: what compilers make vectors of. */
static void
multiply(float *restrict to, const float *restrict from, uint64_t n, double by)
{
    uint64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; k++)
            to[i + (uint64_t)k] = (float)((double)from[i + (uint64_t)k] * by);
    for (; i < n; i++)
        to[i] = (float)((double)from[i] * by);
}

/* The kernel with each output channel, its first axis, scaled. */
static const tn_expr *
scaled(const folder *f, const tn_constant *kernel, const double *scale)
{
    const tn_data *old = kernel->data;
    const float *from = tn_data_get(f->ctx, old);
    void *bytes;
    const tn_data *d = from ? tn_data_new(f->ctx, TNB_F32, old->ndim, old->shape, &bytes) : NULL;
    if (!d)
        return tn_error_node(f->ctx);
    uint64_t each = old->n_elems / (uint64_t)old->shape[0];
    for (int64_t o = 0; o < old->shape[0]; o++)
        multiply((float *)bytes + (uint64_t)o * each, from + (uint64_t)o * each, each, scale[o]);
    return tn_constant_of(f->ctx, d);
}

/* ---- one step ---- */

/* An inference normalization along axis 1 with constant parameters, as a product and a sum. */
static bool
normalization(const folder *f, const tn_call *call, double **scale_out, double **shift_out,
              int64_t n)
{
    const float *p[4];
    tn_list dims;
    if (tn_call_int(call, "training") || tn_call_int(call, "axis") != 1)
        return false;
    for (int i = 0; i < 4; i++) {
        const tn_expr *e = call->args.at[i + 1];
        if (!tn_type_dims(e->type, &dims) || dims.n != 1 || !tn_is_int_const(dims.at[0], n) ||
            !(p[i] = elements(f, e)))
            return false;
    }
    bool gamma = tn_call_int(call, "scale") != 0, beta = tn_call_int(call, "center") != 0;
    double epsilon = tn_call_float(call, "epsilon");
    double *scale = TNB_NEW_N(f->arena, double, n), *shift = TNB_NEW_N(f->arena, double, n);
    *scale_out = scale;
    *shift_out = shift;
    for (int64_t i = 0; i < n; i++) {
        scale[i] = (gamma ? (double)p[0][i] : 1) / sqrt((double)p[3][i] + epsilon);
        shift[i] = (beta ? (double)p[1][i] : 0) - (double)p[2][i] * scale[i];
        if (!isfinite(scale[i]) || !isfinite(shift[i]))
            return false;
    }
    return true;
}

/* `e` has one element a channel, or one in all, and does not enlarge what it meets. */
static bool
is_per_channel(const tn_expr *e, int64_t n, int64_t rank, bool *one)
{
    tn_list dims;
    if (!tn_type_dims(e->type, &dims) || dims.n > rank)
        return false;
    *one = true;
    for (uint32_t i = 0; i < dims.n; i++) {
        bool channel = i + (uint32_t)rank - dims.n == 1 && tn_is_int_const(dims.at[i], n);
        if (!channel && !tn_is_int_const(dims.at[i], 1))
            return false;
        *one &= !channel || n == 1;
    }
    return true;
}

/* The tensor's channels and rank; false where it is none that is handled here. */
static bool
has_channels(const tn_expr *e, int64_t *n, int64_t *rank)
{
    tn_list dims;
    if (!tn_is(e->type, TN_KIND_TY_TENSOR) || !tn_type_dims(e->type, &dims) || dims.n < 2 ||
        dims.n > MAX_RANK || !tnb_dtype_eq(tn_type_dtype(e->type), TNB_F32) ||
        !tn_int_value(dims.at[1], n) || *n < 1 || *n > MAX_CHANNELS)
        return false;
    *rank = dims.n;
    return true;
}

/* What y = x is, for a to begin with. */
static void
begin(const folder *f, affine *a)
{
    if (a->scale)
        return;
    a->scale = TNB_NEW_N(f->arena, double, a->n);
    a->shift = TNB_NEW_N(f->arena, double, a->n);
    for (int64_t k = 0; k < a->n; k++)
        a->scale[k] = 1;
}

/* Composes *a, which so far starts at binding i, with what that binding computes. */
static bool
step(const folder *f, uint32_t i, affine *a)
{
    const tn_expr *value = value_at(f, i), *x = NULL;
    const tn_tuple_get *get = value ? tn_as_tuple_get(value) : NULL;
    const tn_call *call = value ? tn_as_call(value) : NULL;
    int64_t n, rank;
    if (a->n_between + 2 > MAX_BETWEEN)
        return false;
    if (get) {
        uint32_t p = get->index == 0 ? place_of_own(f, get->tuple) : 0;
        call = p ? tn_is_call_to(value_at(f, p - 1), "relax.nn.batch_norm") : NULL;
        if (!call || !has_channels(call->args.at[0], &n, &rank) || n != a->n)
            return false;
        double *scale, *shift;
        if (!normalization(f, call, &scale, &shift, n))
            return false;
        begin(f, a);
        for (int64_t k = 0; k < n; k++) {
            a->shift[k] += a->scale[k] * shift[k];
            a->scale[k] *= scale[k];
        }
        a->between[a->n_between++] = p - 1;
        a->scales = a->normalizes = true;
        a->x = call->args.at[0];
        a->steps++;
        return true;
    }
    bool product = call && tn_is_call_to(value, "relax.multiply");
    if (!product && !(call && tn_is_call_to(value, "relax.add")))
        return false;
    const float *p = NULL;
    bool one = false;
    for (uint32_t k = 0; k < 2 && !p; k++) {
        x = call->args.at[k];
        if (has_channels(x, &n, &rank) && n == a->n && tn_is_var(x) &&
            is_per_channel(call->args.at[1 - k], n, rank, &one) &&
            tn_type_equal(f->ctx, x->type, value->type))
            p = elements(f, call->args.at[1 - k]);
    }
    if (!p)
        return false;
    begin(f, a);
    for (int64_t k = 0; k < n; k++) {
        double v = (double)p[one ? 0 : k];
        if (product)
            a->scale[k] *= v;
        else
            a->shift[k] += a->scale[k] * v;
    }
    a->scales |= product;
    a->x = x;
    a->steps++;
    return true;
}

/* ---- a chain of them ---- */

/* A convolution with a constant kernel whose first axis is the result's channels. */
static const tn_constant *
kernel_of(const folder *f, const tn_call *call)
{
    static const char *const ops[] = {"relax.nn.conv1d", "relax.nn.conv2d", "relax.nn.conv3d"};
    bool found = false;
    for (int i = 0; i < 3; i++)
        found |= tn_is_call_to(TN_NODE(call), ops[i]) != NULL;
    if (!found || strncmp(tn_call_str(call, "out_layout"), "NC", 2) != 0 ||
        strncmp(tn_call_str(call, "kernel_layout"), "OI", 2) != 0 ||
        strlen(tn_call_str(call, "kernel_layout")) != strlen(tn_call_str(call, "out_layout")))
        return NULL;
    const tn_constant *k = tn_as_constant(call->args.at[1]);
    return k && elements(f, TN_NODE(k)) ? k : NULL;
}

static const tn_expr *
put(folder *f, const tn_expr *var, const tn_expr *value)
{
    if (tn_is_error(value))
        return value;
    if (!var)
        var = tn_dataflow_var_new(f->ctx, "lv", value->type);
    TNB_PUSH(f->arena, f->back, tn_var_binding_of(f->ctx, var, value));
    return var;
}

/* Pushes bindings from the last one: what `var` becomes, then what that reads. */
static bool
replace(folder *f, const tn_expr *var, const affine *a, const tn_call *conv)
{
    int64_t n, rank;
    has_channels(var, &n, &rank);
    const tn_expr *first;
    if (conv) {
        const tn_expr *kernel = conv->args.at[1];
        if (a->scales)
            kernel = scaled(f, tn_as_constant(kernel), a->scale);
        first = tn_is_error(kernel)
                    ? kernel
                    : tn_call_of(f->ctx, conv->op, tn_list_with(f->ctx, conv->args, 1, kernel),
                                 conv->attrs, conv->ty_args, NULL);
    } else {
        first =
            tn_call_opv(f->ctx, "relax.multiply", NULL, a->x, channels(f, a->scale, n, rank), NULL);
    }
    if (tn_is_error(first) || !tn_type_equal(f->ctx, first->type, var->type))
        return false;
    const tn_expr *lv = tn_dataflow_var_new(f->ctx, "lv", first->type);
    const tn_expr *sum =
        tn_call_opv(f->ctx, "relax.add", NULL, lv, channels(f, a->shift, n, rank), NULL);
    return !tn_is_error(put(f, var, sum)) && !tn_is_error(put(f, lv, first));
}

/* Whether binding i, which may end a chain, was replaced. */
static bool
fold(folder *f, uint32_t i)
{
    const tn_var_binding *b = tn_as_var_binding(f->at.at[i]);
    int64_t rank;
    affine a = {0}, more;
    if (!b || !has_channels(b->var, &a.n, &rank))
        return false;
    more = a;
    const tn_call *conv = NULL;
    for (uint32_t at = i + 1; at && !conv; at = place_of_own(f, a.x)) {
        if (!step(f, at - 1, &more)) {
            conv = a.steps ? tn_as_call(value_at(f, at - 1)) : NULL;
            if (conv && !kernel_of(f, conv))
                conv = NULL;
            if (conv)
                a.between[a.n_between++] = at - 1;
            break;
        }
        if (at - 1 != i)
            more.between[more.n_between++] = at - 1;
        a = more;
    }
    if (!a.steps || (conv ? !a.scales && a.steps == 1 : !a.normalizes))
        return false;
    if (!replace(f, b->var, &a, conv))
        return false;
    for (uint32_t k = 0; k < a.n_between; k++)
        f->gone[a.between[k]] = true;
    return true;
}

static const tn_node *
fold_block(tn_rewriter *r, const tn_node *n)
{
    if (!tn_is(n, TN_KIND_DATAFLOW_BLOCK))
        return NULL;
    folder f = {.ctx = r->ctx, .arena = tn_scratch(r->ctx)};
    f.at = ((const tn_bindings_block *)n)->bindings;
    tnb_ptrmap_init(&f.place, f.arena);
    tnb_ptrmap_init(&f.uses, f.arena);
    f.gone = TNB_NEW_N(f.arena, bool, f.at.n + 1);
    for (uint32_t i = 0; i < f.at.n; i++) {
        const tn_var_binding *v = tn_as_var_binding(f.at.at[i]);
        const tn_expr *var = v ? v->var : tn_as_match_cast(f.at.at[i])->var;
        tnb_ptrmap_set(&f.place, var, (const void *)(uintptr_t)(i + 1));
        tn_list read = tn_free_vars(r->ctx, f.at.at[i], false);
        for (uint32_t k = 0; k < read.n; k++) {
            uintptr_t so_far = (uintptr_t)tnb_ptrmap_get(&f.uses, read.at[k]);
            tnb_ptrmap_set(&f.uses, read.at[k], (const void *)(so_far + 1));
        }
    }
    bool changed = false;
    for (uint32_t i = f.at.n; i-- > 0;) {
        if (f.gone[i])
            continue;
        tn_loc old = tn_at(r->ctx, f.at.at[i]->loc);
        bool done = fold(&f, i);
        tn_at(r->ctx, old);
        changed |= done;
        if (!done)
            TNB_PUSH(f.arena, f.back, f.at.at[i]);
    }
    if (!changed)
        return NULL;
    tn_list out = {0};
    const tn_node **all = TNB_NEW_N(f.arena, const tn_node *, f.back.n);
    for (uint32_t i = 0; i < f.back.n; i++)
        all[i] = f.back.at[f.back.n - 1 - i];
    out = tn_list_of(r->ctx, all, f.back.n);
    return tn_binding_block_of(r->ctx, out, true);
}

static const tn_node *
each_function(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func,
              void *user)
{
    (void)m;
    (void)name;
    (void)user;
    tn_rewriter r = {.ctx = pc->ctx, .post = fold_block, .reach = TN_REACH_BLOCKS};
    const tn_node *out = tn_rewrite(&r, func);
    return tn_is_error(out) ? NULL : out;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tn_map_functions(pc, m, TN_FUNCTIONS, each_function, NULL);
}

const tn_pass transform_fold_batch_norm = {
    .base.size = sizeof(tn_pass),
    .base.name = "FoldBatchNorm",
    .base.doc = "constant scales and shifts of channels go into the convolution before them",
    .keeps = TN_KEEPS_TOLERANCE,
    .flags = TN_PASS_PARALLEL,
    .run = run,
    .needs = "op",
};
