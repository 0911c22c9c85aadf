/* SPDX-License-Identifier: Apache-2.0 */
/* float16 where the device computes with it. */
#include "emit_private.h"

#include <math.h>

const char *
tnk_half_operator(const tnk_emitter *e, const tn_expr *x)
{
    if (!tnk_native_half(e, tn_dtype_of(x)))
        return NULL;
    return x->kind == TN_KIND_ADD   ? "+"
           : x->kind == TN_KIND_SUB ? "-"
           : x->kind == TN_KIND_MUL ? "*"
           : x->kind == TN_KIND_DIV ? "/"
                                    : NULL;
}

void
tnk_emit_half(tnk_emitter *e, const tn_expr *x)
{
    uint16_t n = tn_dtype_of(x).lanes;
    const char *type = n > 1 ? tn_strf(e->ctx, "half%d", n) : "half", *op = tnk_half_operator(e, x);
    const tn_float_imm *f = tn_as_float_imm(x);
    tnk_need(e, "fp16");
    if (op) {
        put(e, "(");
        tnk_emit_half(e, tn_as_binary(x)->a);
        tnb_buf_printf(e->out, " %s ", op);
        tnk_emit_half(e, tn_as_binary(x)->b);
    } else if (x->kind == TN_KIND_BUFFER_LOAD && tnk_is_moved(e, x)) {
        tnb_buf_printf(e->out, "as_%s(", type);
        tnk_emit_moved(e, x);
    } else if (x->kind == TN_KIND_BROADCAST) {
        tnb_buf_printf(e->out, "(%s)(", type);
        tnk_emit_half(e, ((const tn_broadcast *)x)->value);
    } else if (f && isfinite(f->value)) {
        put(e, "((half)");
        ex(e, x);
    } else {
        const tn_cast *c = tn_as_cast(x);
        bool once = c && tnb_dtype_eq(with_lanes(tn_dtype_of(c->value), 1), TNB_F32);
        tnb_buf_printf(e->out, "convert_%s_rte(", type);
        ex(e, once ? c->value : x);
    }
    put(e, ")");
}
