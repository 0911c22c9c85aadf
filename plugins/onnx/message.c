/* SPDX-License-Identifier: Apache-2.0 */
/* Types and extents in messages, the way ONNX tools write shapes; what was reported. */
#include <inttypes.h>
#include "import.h"

enum { DEEPEST = 6 };

static void
put_dim(tnb_buf *b, const tn_expr *e, int depth)
{
    int64_t v;
    const tn_binary *two = tn_is_binary(e) ? tn_as_binary(e) : NULL;
    const char *sign = tn_is(e, TN_KIND_ADD)         ? " + "
                       : tn_is(e, TN_KIND_SUB)       ? " - "
                       : tn_is(e, TN_KIND_MUL)       ? " * "
                       : tn_is(e, TN_KIND_FLOOR_DIV) ? " // "
                       : tn_is(e, TN_KIND_FLOOR_MOD) ? " % "
                                                     : NULL;
    if (tn_int_value(e, &v))
        tnb_buf_printf(b, "%" PRId64, v);
    else if (tn_is_var(e))
        tnb_buf_puts(b, tn_var_name(e));
    else if (two && (tn_is(e, TN_KIND_MIN) || tn_is(e, TN_KIND_MAX)) && depth < DEEPEST) {
        tnb_buf_puts(b, tn_is(e, TN_KIND_MIN) ? "min(" : "max(");
        put_dim(b, two->a, depth + 1);
        tnb_buf_puts(b, ", ");
        put_dim(b, two->b, depth + 1);
        tnb_buf_putc(b, ')');
    } else if (two && sign && depth < DEEPEST) {
        tnb_buf_puts(b, depth ? "(" : "");
        put_dim(b, two->a, depth + 1);
        tnb_buf_puts(b, sign);
        put_dim(b, two->b, depth + 1);
        tnb_buf_puts(b, depth ? ")" : "");
    } else
        tnb_buf_puts(b, "?");
}

static const char *
take(onnx_import *imp, tnb_buf *b)
{
    const char *s = tnb_strdup(imp->arena, b->s ? b->s : "");
    tnb_buf_free(b);
    return s;
}

const char *
onnx_dim_text(onnx_import *imp, const tn_expr *e)
{
    tnb_buf b = {0};
    put_dim(&b, e, 0);
    return take(imp, &b);
}

const char *
onnx_type_text(onnx_import *imp, const tn_type *t)
{
    tnb_buf b = {0};
    tn_list dims;
    if (!t || t->kind != TN_KIND_TY_TENSOR)
        return "something that is no tensor";
    tnb_buf_puts(&b, tnb_dtype_print(tn_type_dtype(t)).s);
    if (!tn_type_dims(t, &dims)) {
        tnb_buf_puts(&b, " of unknown shape");
        return take(imp, &b);
    }
    tnb_buf_putc(&b, '[');
    for (uint32_t i = 0; i < dims.n; i++) {
        tnb_buf_puts(&b, i ? ", " : "");
        put_dim(&b, dims.at[i], 0);
    }
    tnb_buf_putc(&b, ']');
    return take(imp, &b);
}

const char *
onnx_declared_text(onnx_import *imp, const Onnx__TypeProto__Tensor *t)
{
    tnb_buf b = {0};
    tnb_dtype d = tnb_onnx_dtype(t->elem_type);
    tnb_buf_puts(&b, d.bits ? tnb_dtype_print(d).s : "a tensor");
    tnb_buf_puts(&b, t->shape ? "[" : " of unknown shape");
    for (size_t i = 0; t->shape && i < t->shape->n_dim; i++) {
        const Onnx__TensorShapeProto__Dimension *dim = t->shape->dim[i];
        tnb_buf_puts(&b, i ? ", " : "");
        if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE)
            tnb_buf_printf(&b, "%" PRId64, dim->dim_value);
        else
            tnb_buf_puts(&b, dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM
                                 ? dim->dim_param
                                 : "?");
    }
    tnb_buf_puts(&b, t->shape ? "]" : "");
    return take(imp, &b);
}

const char *
onnx_first_error(const onnx_import *imp, uint32_t before, tnb_status *status)
{
    const tnb_diags *d = tn_diags(imp->ctx);
    for (uint32_t i = before; i < tnb_diags_count(d); i++) {
        const tnb_diag *e = tnb_diags_get(d, i);
        if (e->severity != TNB_ERROR)
            continue;
        if (status)
            *status = e->status;
        return tn_strf(imp->ctx, "%s%s%s", e->place.node ? e->place.node : "",
                       e->place.node ? ": " : "", e->message);
    }
    return NULL;
}
