/* SPDX-License-Identifier: Apache-2.0 */
/* Frequencies of rotary position embedding (rope.c). */
#ifndef TENON_PLUGINS_LLM_ROPE_H
#define TENON_PLUGINS_LLM_ROPE_H

#include "llm.h"

typedef struct llm_rope {
    int64_t rotary_dim;     /* even; 0: nothing is rotated */
    double scale, theta;    /* positions are multiplied by scale */
    const tn_node *scaling; /* Dict of upstream's keys; NULL: none */
    const float *
        factors; /* longrope: rotary_dim / 2 for long texts, then as many for short ones; NULL: all 1 */
    tn_loc at; /* for messages */
} llm_rope;

typedef struct llm_rope_table {
    const tn_expr *
        frequencies; /* a constant, float32 [2, rotary_dim / 2]: for short, for long texts; or [4, ...]: the same for layers with a
                         window */
    bool interleaved;
    int64_t long_from; /* tokens from which on a text is long */
    double amplitude;  /* of cosines and sines */
} llm_rope_table;

/* False after recording an error. */
bool
llm_rope_make(tn_ctx *ctx, const llm_rope *r, llm_rope_table *out);

#endif
