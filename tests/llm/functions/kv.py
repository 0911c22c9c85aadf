# SPDX-License-Identifier: Apache-2.0
# Names of the cache's kernels, with bodies that show the values that the pass gives.
q_heads = 0
kv_heads = 0
head_dim = 0
page_tokens = 0
dtype = "int32"
kv_dtype = "int32"
window = False
rotary_dim = 0
interleaved = False
amplitude = 0.0
soft_cap = 0.0
attention_rows = 0


@T.prim_func
def kv_cache_transpose_append(x: T.Buffer((q_heads, kv_heads, page_tokens), kv_dtype)):
    x[0, 0, 0] = T.Cast(kv_dtype, 0)


@T.prim_func
def tir_attention_prefill(x: T.Buffer((head_dim,), dtype)):
    if window:
        x[0] = T.Cast(dtype, 1)
    else:
        x[0] = T.Cast(dtype, soft_cap)


@T.prim_func
def tir_split_rotary(x: T.Buffer((rotary_dim,), "float32")):
    x[0] = T.float32(amplitude)
    if interleaved:
        x[1] = T.float32(1)


@T.prim_func
def kv_cache_copy_single_page(x: T.Buffer((1,), kv_dtype)):
    x[0] = T.Cast(kv_dtype, 2)


@T.prim_func
def kv_cache_debug_get_kv(x: T.Buffer((1,), kv_dtype)):
    x[0] = T.Cast(kv_dtype, 3)


@T.prim_func
def tree_attn_paged_kv(x: T.Buffer((head_dim,), dtype)):
    x[0] = T.Cast(dtype, 4)


@T.prim_func
def compact_kv_copy(x: T.Buffer((1,), kv_dtype)):
    x[0] = T.Cast(kv_dtype, 5)
