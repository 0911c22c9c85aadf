/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products. */
#include <inttypes.h>
#include <math.h>
#include "import.h"

static const tn_expr *
transposed(onnx_node *n, const tn_expr *x, bool wanted)
{
    static const int64_t swap[2] = {1, 0};
    return wanted ? onnx_permute(n, x, swap, 2) : x;
}

/* alpha * A' * B' + beta * C */
static bool
import_gemm(onnx_node *n)
{
    const tn_expr *a = onnx_in(n, 0), *b = onnx_in(n, 1), *y;
    double alpha = onnx_attr_float(n, "alpha", 1), beta = onnx_attr_float(n, "beta", 1);
    bool ta = onnx_attr_int(n, "transA", 0) != 0, tb = onnx_attr_int(n, "transB", 0) != 0;
    onnx_attr(n, "broadcast");
    if (onnx_rank(n, a) != 2 || onnx_rank(n, b) != 2)
        return n->failed ? false
                         : onnx_fail(n, TNB_SHAPE,
                                     "the operands have rank %" PRId64 " and %" PRId64
                                     ", expected 2 and 2",
                                     onnx_rank(n, a), onnx_rank(n, b));
    int64_t ka = onnx_dim(a, ta ? 0 : 1), kb = onnx_dim(b, tb ? 1 : 0);
    if (ka >= 0 && kb >= 0 && ka != kb) {
        onnx_fail(n, TNB_SHAPE,
                  "the operands cannot be multiplied: %" PRId64 " columns by %" PRId64 " rows", ka,
                  kb);
        onnx_note(n, "'%s' has type %s%s, '%s' has type %s%s", n->in[0]->name,
                  onnx_type_text(n->imp, a->type), ta ? ", transposed" : "", n->in[1]->name,
                  onnx_type_text(n->imp, b->type), tb ? ", transposed" : "");
        return false;
    }
    y = onnx_bin(n, "matmul", transposed(n, a, ta), transposed(n, b, tb));
    if (tn_is_error(y))
        return false;
    tnb_dtype dtype = onnx_dtype(y);
    /* of integers, cut off once, at the end */
    bool whole = alpha == floor(alpha) && beta == floor(beta);
    y = whole ? y : onnx_as_scaled(n, y);
    y = alpha == 1 ? y : onnx_bin_num(n, "multiply", y, alpha);
    if (onnx_has(n, 2) && beta != 0) {
        const tn_expr *c = onnx_one_way(n, onnx_in(n, 2), y);
        c = whole ? c : onnx_as_scaled(n, c);
        y = onnx_bin(n, "add", y, beta == 1 ? c : onnx_bin_num(n, "multiply", c, beta));
    }
    return onnx_ret(n, onnx_astype(n, y, dtype));
}

static bool
import_matmul(onnx_node *n)
{
    return onnx_ret(n, onnx_bin(n, "matmul", onnx_in(n, 0), onnx_in(n, 1)));
}

static bool
import_einsum(onnx_node *n)
{
    const tn_expr **x = TNB_NEW_N(n->imp->arena, const tn_expr *, n->n_in);
    const char *text = onnx_attr_str(n, "equation", NULL);
    tnb_buf b = {0};
    if (!text)
        return n->failed ? false : onnx_fail(n, TNB_INVALID, "attribute 'equation' is missing");
    for (uint32_t i = 0; i < n->n_in; i++) {
        x[i] = onnx_in(n, i);
        if (tn_is_error(x[i]))
            return false;
    }
    for (const char *p = text; *p; p++)
        if (*p != ' ')
            tnb_buf_putc(&b, *p);
    const char *subscripts = tn_str(n->ctx, b.s ? b.s : "");
    tnb_buf_free(&b);
    return onnx_ret(n,
                    onnx_emit(n, "einsum",
                              tn_dictv(n->ctx, "subscripts", tn_string(n->ctx, subscripts), NULL),
                              tn_tuple_of(n->ctx, tn_list_of(n->ctx, x, n->n_in)), NULL));
}

static bool
import_det(onnx_node *n)
{
    return onnx_ret(n, onnx_un(n, "det", onnx_in(n, 0)));
}

const onnx_op onnx_linear_ops[] = {
    {"Gemm", 1, 0, 2, 3, 1, 1, import_gemm, NULL, 0, NULL},
    {"MatMul", 1, 0, 2, 2, 1, 1, import_matmul, NULL, 0, NULL},
    {"Einsum", 12, 0, 1, -1, 1, 1, import_einsum, NULL, 0, NULL},
    {"Det", 11, 0, 1, 1, 1, 1, import_det, NULL, 0, NULL},
    {0},
};
