/* SPDX-License-Identifier: Apache-2.0 */
/* All operators: the families' tables behind one search. */
#include "import.h"

static const onnx_op *const families[] = {
    onnx_elementwise_ops, onnx_conv_pool_ops, onnx_manipulate_ops, onnx_shape_ops,
    onnx_reduce_ops,      onnx_normalize_ops, onnx_linear_ops,     onnx_resize_ops,
    onnx_index_ops,       onnx_rnn_ops,       onnx_quant_ops,      onnx_control_ops,
    onnx_signal_ops,      onnx_loss_ops,      onnx_text_ops,       onnx_select_ops,
    onnx_detect_ops,      onnx_attention_ops, onnx_program_ops,    onnx_recurrence_ops,
};

bool
onnx_is_default_domain(const char *domain)
{
    return !domain || !domain[0] || strcmp(domain, "ai.onnx") == 0;
}

const onnx_op *
onnx_find_op(const char *domain, const char *name, int64_t version, bool *other_version)
{
    *other_version = false;
    for (size_t f = 0; f < sizeof families / sizeof *families; f++)
        for (const onnx_op *op = families[f]; op->name; op++) {
            bool same_domain = op->domain ? domain && strcmp(domain, op->domain) == 0
                                          : onnx_is_default_domain(domain);
            if (!same_domain || strcmp(op->name, name) != 0)
                continue;
            if (op->domain || (version >= op->since && (!op->until || version <= op->until)))
                return op;
            *other_version = true;
        }
    return NULL;
}

uint32_t
onnx_folded_inputs(const onnx_op *row, uint32_t n_in)
{
    if (row->flags & ONNX_OP_FOLD_SHAPE)
        return 0;
    return row->flags & ONNX_OP_FOLD_FIRST && n_in > 1 ? 1 : n_in;
}
