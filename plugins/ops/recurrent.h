/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent layers: what type inference and legalization share. */
#ifndef TENON_PLUGINS_OPS_RECURRENT_H
#define TENON_PLUGINS_OPS_RECURRENT_H

#include "tenon/core/op.h"

enum { RECURRENT_MAX_FUNCTIONS = 6 };

/* A function of a gate. */
typedef struct recurrent_function {
    enum {
        RECURRENT_SIGMOID,
        RECURRENT_TANH,
        RECURRENT_RELU,
        RECURRENT_AFFINE,
        RECURRENT_LEAKY_RELU,
        RECURRENT_THRESHOLDED_RELU,
        RECURRENT_SCALED_TANH,
        RECURRENT_HARD_SIGMOID,
        RECURRENT_ELU,
        RECURRENT_SOFTSIGN,
        RECURRENT_SOFTPLUS
    } kind;
    double alpha, beta;
} recurrent_function;

typedef struct recurrent_layer {
    uint32_t gates;     /* 1 RNN, 3 GRU, 4 LSTM */
    uint32_t functions; /* a direction */
    uint32_t dirs;
    bool reverse[2];
    bool has_clip, input_forget, linear_before_reset;
    double clip;
    recurrent_function f[RECURRENT_MAX_FUNCTIONS]; /* all directions */
    const tn_expr *bias, *peephole, *lengths;      /* arguments; NULL: absent */
} recurrent_layer;

/* Reads the attributes; false after recording an error at the call. */
TNB_MUST_CHECK bool
recurrent_read(tn_ctx *ctx, const tn_call *call, recurrent_layer *l);

#endif
