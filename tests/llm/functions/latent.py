# SPDX-License-Identifier: Apache-2.0
# Names of the kernels for latent attention, with bodies that show the values that the pass gives.
q_heads = 0
head_dim = 0
latent = 0
page_tokens = 0
dtype = "int32"
kv_dtype = "int32"
own_qk_dim = 0
own_v_dim = 0


@T.prim_func
def kv_cache_transpose_append_mla(x: T.Buffer((page_tokens, head_dim), kv_dtype)):
    x[0, 0] = T.Cast(kv_dtype, 0)


@T.prim_func
def kv_cache_copy_single_page_mla(x: T.Buffer((page_tokens, head_dim), kv_dtype)):
    x[0, 0] = T.Cast(kv_dtype, 1)


@T.prim_func
def kv_cache_debug_get_kv_mla(x: T.Buffer((head_dim,), kv_dtype)):
    x[0] = T.Cast(kv_dtype, 2)


@T.prim_func
def tir_attention_prefill_mla(x: T.Buffer((q_heads, latent), dtype)):
    x[0, 0] = T.Cast(dtype, 3)


@T.prim_func
def tir_attention_prefill_ragged(x: T.Buffer((q_heads, own_qk_dim), dtype)):
    x[0, 0] = T.Cast(dtype, own_v_dim)


@T.prim_func
def tir_attention_merge_state_mla(x: T.Buffer((own_v_dim,), dtype)):
    x[0] = T.Cast(dtype, 4)
