/* SPDX-License-Identifier: Apache-2.0 */
/* What a model declares of its inputs and outputs, for one that cannot be imported. */
#include "onnx.h"

#include "model.h"

static void
put_value(tnb_buf *out, const char *what, const Onnx__ValueInfoProto *info)
{
    const Onnx__TypeProto *t = info->type;
    bool tensor = t && t->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE && t->tensor_type;
    tnb_buf_printf(out, "  %s %-28s ", what, info->name ? info->name : "");
    if (!tensor) {
        tnb_buf_puts(out, "no tensor\n");
        return;
    }
    tnb_dtype d = tnb_onnx_dtype(t->tensor_type->elem_type);
    tnb_buf_puts(out,
                 d.bits ? tnb_dtype_print(d).s : tnb_onnx_type_name(t->tensor_type->elem_type));
    const Onnx__TensorShapeProto *s = t->tensor_type->shape;
    tnb_buf_puts(out, s ? "[" : " of any shape\n");
    for (size_t i = 0; s && i < s->n_dim; i++) {
        const Onnx__TensorShapeProto__Dimension *dim = s->dim[i];
        if (i)
            tnb_buf_puts(out, ", ");
        if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE)
            tnb_buf_printf(out, "%lld", (long long)dim->dim_value);
        else if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM)
            tnb_buf_puts(out, dim->dim_param ? dim->dim_param : "?");
        else
            tnb_buf_puts(out, "?");
    }
    if (s)
        tnb_buf_puts(out, "]\n");
}

static bool
is_initializer(const Onnx__GraphProto *g, const char *name)
{
    for (size_t i = 0; name && i < g->n_initializer; i++)
        if (g->initializer[i]->name && strcmp(g->initializer[i]->name, name) == 0)
            return true;
    return false;
}

tnb_status
onnx_declared(void *self, tn_ctx *ctx, const char *path, tnb_buf *out)
{
    (void)self;
    onnx_model model;
    if (!onnx_model_open(ctx, path, &model))
        return TNB_FORMAT;
    const Onnx__GraphProto *g = model.proto->graph;
    for (size_t i = 0; g && i < g->n_input; i++)
        if (!is_initializer(g, g->input[i]->name))
            put_value(out, "input ", g->input[i]);
    for (size_t i = 0; g && i < g->n_output; i++)
        put_value(out, "output", g->output[i]);
    onnx_model_close(&model);
    return TNB_OK;
}
