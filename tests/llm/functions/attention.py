# SPDX-License-Identifier: Apache-2.0
# Attention and rotary embedding for the threads of a block, with bodies that show their number and what is rotated.
q_heads = 0
kv_heads = 0
head_dim = 0
page_tokens = 0
dtype = "int32"
kv_dtype = "int32"
window = False
soft_cap = 0.0
rotary_dim = 0
interleaved = False
amplitude = 1.0
threads = 0


@T.prim_func
def tir_attention_prefill(x: T.Buffer((head_dim, kv_heads), dtype)):
    x[0, 0] = T.Cast(dtype, threads)


@T.prim_func
def tir_split_rotary(x: T.Buffer((rotary_dim,), "float32")):
    x[0] = T.float32(amplitude)
    x[1] = T.Cast("float32", threads)
