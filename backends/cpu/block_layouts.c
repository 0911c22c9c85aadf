/* SPDX-License-Identifier: Apache-2.0 */
/* BlockLayouts: convolutions with constant kernels compute in blocks of channels, as wide as the
 * target's vectors; what follows keeps that layout as long as it can.
 *
 *     lv = R.nn.conv2d(x, w, padding=[1, 1])          # 32 channels to 64
 *     gv = R.nn.relu(lv)
 *  -> lv1 = R.layout_transform(x, ...)                # NCHW to NCHW8c
 *     lv2 = R.layout_transform(w, ...)                # OIHW to OIHW8i8o, folded
 *     lv = R.nn.conv2d(lv1, lv2, ..., data_layout="NCHW8c", kernel_layout="OIHW8i8o")
 *     lv3 = R.nn.relu(lv)
 *     gv = R.layout_transform(lv3, ...)
 *
 * Few channels that come in (an image's colours) stay as they are. So do dequantized ones, whose sums
 * are rounded again: where one is near to half a step the order of summation decides. Those of
 * integers are exact (FakeQuantizationToInteger). No options.
 */
#include "cpu.h"

#include <stdio.h>

#include "tenon/core/walk.h"
#include "tenon/kit/layout.h"

enum { NARROW = 8 }; /* the least block of floats, where vectors are wider */

typedef struct chooser {
    const tn_target *target;
    int64_t lanes;       /* of a vector of floats */
    tnb_ptrmap constant; /* variables that depend on no parameter */
} chooser;

/* ---- which variables are constant ---- */

static tn_walk_step
look_for_variable(void *user, const tn_node *n)
{
    const tnb_ptrmap *constant = ((void **)user)[0];
    bool *found = ((void **)user)[1];
    *found |= tn_is_var(n) && !tnb_ptrmap_get(constant, n);
    return *found ? TN_WALK_STOP : TN_WALK_ON;
}

static bool
is_constant(chooser *c, const tn_expr *e)
{
    bool found = false;
    void *user[2] = {&c->constant, &found};
    tn_walk(e, 0, look_for_variable, NULL, user);
    return !found;
}

static tn_walk_step
mark_constant(void *user, const tn_node *n)
{
    chooser *c = user;
    const tn_var_binding *b = n->kind == TN_KIND_VAR_BINDING ? tn_as_var_binding(n) : NULL;
    if (b && (!tn_is(b->value, TN_KIND_CALL) || tn_call_is_pure(tn_as_call(b->value))) &&
        is_constant(c, b->value))
        tnb_ptrmap_set(&c->constant, b->var, b->value);
    return TN_WALK_ON;
}

/* The value of a constant variable is R.dequantize of something. */
static bool
is_dequantized(const chooser *c, const tn_expr *e)
{
    const tn_expr *value = tnb_ptrmap_get(&c->constant, e);
    return tn_is_call_to(value, "relax.dequantize") != NULL;
}

/* ---- layouts of a convolution ---- */

/* `in` and `out` are the blocks' sizes, of I and of O as well. */
static const tn_node *
layouts(tn_ctx *ctx, const char *data, const char *kernel, const char *result, int64_t in,
        int64_t out)
{
    const char *const with_blocks[3] = {data, kernel, result};
    const tn_node *l[3];
    for (int i = 0; i < 3; i++) {
        char text[64];
        size_t n = 0;
        for (const char *c = with_blocks[i]; *c; c++)
            n += (size_t)(*c >= 'a' ? snprintf(text + n, sizeof text - n, "%lld%c",
                                               (long long)(i == 2 || *c == 'o' ? out : in), *c)
                                    : snprintf(text + n, sizeof text - n, "%c", *c));
        l[i] = tn_string(ctx, text);
    }
    return tn_array_of(ctx, tn_list_of(ctx, l, 3));
}

/* The size of blocks that so many channels are laid out in, `least` or more; 0: none. */
static int64_t
block_of(const chooser *c, int64_t channels, int64_t least)
{
    for (int64_t b = c->lanes; b >= least; b /= 2)
        if (channels % b == 0)
            return b;
    return 0;
}

/* int16 summed in int32, as legalize_dot.c has them. */
static bool
is_of_pairs(const tn_call *call)
{
    return tnb_dtype_eq(tn_type_dtype(call->args.at[0]->type), TNB_DTYPE(TNB_INT, 16)) &&
           tnb_dtype_eq(tn_type_dtype(call->args.at[1]->type), TNB_DTYPE(TNB_INT, 16)) &&
           tnb_dtype_eq(tn_type_dtype(call->base.type), TNB_I32);
}

/* A block narrower than a vector leaves lanes idle. Where few channels meet rows of images that are whole
 * vectors, the rows are computed as vectors instead. */
static bool
rows_are_better(const chooser *c, const tn_call *call, int64_t ins, int64_t outs, int64_t fewest)
{
    tn_list y;
    int64_t width;
    bool narrow = outs < c->lanes || (ins && ins < c->lanes);
    return narrow && fewest < c->lanes && tn_type_dims(call->base.type, &y) &&
           tn_int_value(y.at[y.n - 1], &width) && width % c->lanes == 0;
}

/* A convolution's layouts without blocks. */
typedef struct plain {
    const char *op, *data, *kernel;
} plain;

static const plain *
plain_form(const tn_call *call)
{
    static const plain forms[] = {{"relax.nn.conv1d", "NCW", "OIW"},
                                  {"relax.nn.conv2d", "NCHW", "OIHW"}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (tn_is_call_to(&call->base, forms[i].op) &&
            strcmp(tn_call_str(call, "data_layout"), forms[i].data) == 0 &&
            strcmp(tn_call_str(call, "kernel_layout"), forms[i].kernel) == 0 &&
            strcmp(tn_call_str(call, "out_layout"), forms[i].data) == 0)
            return &forms[i];
    return NULL;
}

static const tn_node *
wanted(void *user, tn_ctx *ctx, const tn_call *call)
{
    chooser *c = user;
    tn_list x, k;
    int64_t in, out, taken;
    const plain *form = plain_form(call);
    if (!form || !is_constant(c, call->args.at[1]) || is_dequantized(c, call->args.at[1]) ||
        !(tnb_dtype_is_float(tn_type_dtype(call->args.at[0]->type)) || is_of_pairs(call)) ||
        !tn_type_dims(call->args.at[0]->type, &x) || !tn_type_dims(call->args.at[1]->type, &k) ||
        !tn_int_value(x.at[1], &in) || !tn_int_value(k.at[0], &out) ||
        !tn_int_value(k.at[1], &taken))
        return NULL;
    int64_t groups = tn_call_int(call, "groups");
    /* integers are summed along channels, in blocks of four or more */
    bool pairs = is_of_pairs(call);
    int64_t least = pairs ? 4 : c->lanes < NARROW ? c->lanes : NARROW;
    bool depthwise = groups > 1 && taken == 1 && in == out;
    bool grouped = groups > 1 && !depthwise; /* a block lies within a group */
    int64_t ins = block_of(c, grouped ? taken : in, least),
            outs = block_of(c, grouped ? out / groups : out, least);
    if (!outs || (grouped && !ins) ||
        (!pairs && rows_are_better(c, call, ins, outs, in < out ? in : out)))
        return NULL;
    if (ins && !pairs && cpu_has_winograd_form(call, c->target))
        ins = outs = ins < outs ? ins : outs; /* winograd.c takes one size of blocks */
    const char *data = tn_strf(ctx, "%sc", form->data);
    if (depthwise)
        return layouts(ctx, data, tn_strf(ctx, "%so", form->kernel), data, ins, outs);
    return ins ? layouts(ctx, data, tn_strf(ctx, "%sio", form->kernel), data, ins, outs)
               : layouts(ctx, form->data, tn_strf(ctx, "%so", form->kernel), data, ins, outs);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    chooser c = {.target = pc->target, .lanes = cpu_vector_bytes(pc->ctx, pc->target) / 4};
    tnb_ptrmap_init(&c.constant, tn_scratch(pc->ctx));
    for (uint32_t i = 0; i < m->funcs.n; i++)
        tn_walk(m->funcs.at[i], 0, mark_constant, NULL, &c);
    return tnk_convert_layouts(pc, m, wanted, &c);
}

const tn_pass cpu_block_layouts = {
    .base.size = sizeof(tn_pass),
    .base.name = "BlockLayouts",
    .base.doc = "convolutions with constant kernels in blocks of channels as wide as the target's "
                "vectors",
    .keeps = TN_KEEPS_TOLERANCE,
    .run = run,
    .needs = "op",
};
