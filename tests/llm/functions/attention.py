# SPDX-License-Identifier: Apache-2.0
# Attention for the threads of a block, with a body that shows their number.
q_heads = 0
kv_heads = 0
head_dim = 0
page_tokens = 0
dtype = "int32"
kv_dtype = "int32"
window = False
soft_cap = 0.0
threads = 0


@T.prim_func
def tir_attention_prefill(x: T.Buffer((head_dim, kv_heads), dtype)):
    x[0, 0] = T.Cast(dtype, threads)
