# SPDX-License-Identifier: Apache-2.0
# Kernels of the paged cache for latent attention (MLA): of a token the cache keeps one row, which all heads of queries read as key, and
# its first `latent` elements as value. DispatchKVCacheCreation reads this file with the values below replaced by those of a model.
# Arguments are those of upstream's kernels (tvm.relax.frontend.nn.llm.kv_cache). Schedules are each target's.
#
# A page: [tokens, dimension]. All sums are in float32, token by token in the order of positions. Where a row sees nothing its result is
# 0, and its log-sum-exp so small that merging leaves the other one.
from tvm.script import tirx as T

q_heads = 8
head_dim = 40  # of a cached row, and of queries that read it
latent = 32  # of that, the part that is the value, too
page_tokens = 16
dtype = "float32"  # of queries, and of what the model computes with
kv_dtype = "float32"  # of pages
own_qk_dim = 24  # of keys and queries of a head where a step's own tokens attend to each other
own_v_dim = 16  # of values there, and of what is merged


@T.prim_func
def kv_cache_transpose_append_mla(pages_handle: T.handle, kv_handle: T.handle, position_handle: T.handle):
    T.func_attr({"tirx.noalias": True})
    rows, n_pages = T.int64(), T.int64()
    pages = T.match_buffer(pages_handle, (n_pages, page_tokens, head_dim), kv_dtype)
    kv = T.match_buffer(kv_handle, (rows, head_dim), dtype)
    position_map = T.match_buffer(position_handle, (rows,), "int32")
    for r in range(rows):
        with T.sblock("append"):
            vr = T.axis.spatial(rows, r)
            T.reads(position_map[vr], kv[vr, 0:head_dim])
            T.writes(pages[0:n_pages, 0:page_tokens, 0:head_dim])
            place: T.let[T.int32] = position_map[vr]
            if place != -1:
                for d in range(head_dim):
                    pages[T.Cast("int64", place // page_tokens), T.Cast("int64", place % page_tokens), d] = T.Cast(kv_dtype, kv[vr, d])


@T.prim_func
def kv_cache_copy_single_page_mla(pages_handle: T.handle, source: T.int64, target: T.int64, copy_length: T.int64):
    T.func_attr({"tirx.noalias": True})
    n_pages = T.int64()
    pages = T.match_buffer(pages_handle, (n_pages, page_tokens, head_dim), kv_dtype)
    for i in range(head_dim):
        with T.sblock("copy"):
            vi = T.axis.spatial(head_dim, i)
            T.reads(pages[source, 0:page_tokens, vi])
            T.writes(pages[target, 0:page_tokens, vi])
            for t in range(copy_length):
                pages[target, t, vi] = pages[source, t, vi]


@T.prim_func
def kv_cache_debug_get_kv_mla(pages_handle: T.handle, position_handle: T.handle, kv_handle: T.handle, layer: T.int64):
    T.func_attr({"tirx.noalias": True})
    rows, n_pages, layers = T.int64(), T.int64(), T.int64()
    pages = T.match_buffer(pages_handle, (n_pages, page_tokens, head_dim), kv_dtype)
    position_map = T.match_buffer(position_handle, (rows,), "int32")
    kv = T.match_buffer(kv_handle, (layers, rows, head_dim), kv_dtype)
    for r in range(rows):
        with T.sblock("get"):
            vr = T.axis.spatial(rows, r)
            T.reads(position_map[vr], pages[0:n_pages, 0:page_tokens, 0:head_dim])
            T.writes(kv[layer, vr, 0:head_dim])
            for d in range(head_dim):
                kv[layer, vr, d] = pages[T.Cast("int64", position_map[vr] // page_tokens), T.Cast("int64", position_map[vr] % page_tokens), d]


# A step's tokens among themselves; keys and values are not those of the cache, and each head has its own.
@T.prim_func
def tir_attention_prefill_ragged(
    q_handle: T.handle, q_indptr_handle: T.handle, k_handle: T.handle, v_handle: T.handle, kv_indptr_handle: T.handle,
    q_position_handle: T.handle, k_position_handle: T.handle, out_handle: T.handle, lse_handle: T.handle,
    causal: T.int32, rotary_mode: T.int32, rope_scale_: T.float32, rope_theta_: T.float32, sm_scale: T.float32,
):
    T.func_attr({"tirx.noalias": True})
    rows, kv_rows, sequences = T.int64(), T.int64(), T.int64()
    q = T.match_buffer(q_handle, (rows, q_heads, own_qk_dim), dtype)
    q_indptr = T.match_buffer(q_indptr_handle, (sequences + 1,), "int32")
    k = T.match_buffer(k_handle, (kv_rows, q_heads, own_qk_dim), dtype)
    v = T.match_buffer(v_handle, (kv_rows, q_heads, own_v_dim), dtype)
    kv_indptr = T.match_buffer(kv_indptr_handle, (sequences + 1,), "int32")
    q_position = T.match_buffer(q_position_handle, (rows,), "int32")
    k_position = T.match_buffer(k_position_handle, (sequences,), "int32")
    out = T.match_buffer(out_handle, (rows, q_heads, own_v_dim), dtype)
    lse = T.match_buffer(lse_handle, (rows, q_heads), "float32")
    for r, h in T.grid(rows, q_heads):
        with T.sblock("attention"):
            vr, vh = T.axis.remap("SS", [r, h])
            T.reads(
                q[vr, vh, 0:own_qk_dim], q_indptr[0 : sequences + 1], k[0:kv_rows, vh, 0:own_qk_dim], v[0:kv_rows, vh, 0:own_v_dim],
                kv_indptr[0 : sequences + 1],
            )
            T.writes(out[vr, vh, 0:own_v_dim], lse[vr, vh])
            sequence = T.sblock_alloc_buffer((1,), "int64", scope="local")
            result = T.sblock_alloc_buffer((own_v_dim,), "float32", scope="local")
            top = T.sblock_alloc_buffer((1,), "float32", scope="local")
            total = T.sblock_alloc_buffer((1,), "float32", scope="local")
            score = T.sblock_alloc_buffer((1,), "float32", scope="local")
            sequence[0] = T.int64(0)
            while q_indptr[sequence[0] + 1] <= T.Cast("int32", vr):
                sequence[0] = sequence[0] + 1
            s: T.let[T.int64] = sequence[0]
            first: T.let[T.int32] = kv_indptr[s]
            length: T.let[T.int32] = kv_indptr[s + 1] - first
            seen: T.let[T.int32] = T.if_then_else(causal > 0, length - q_indptr[s + 1] + T.Cast("int32", vr) + 1, length)
            top[0] = T.float32(-1e30)
            total[0] = T.float32(0)
            for d in range(own_v_dim):
                result[d] = T.float32(0)
            for j in range(seen):
                row: T.let[T.int64] = T.Cast("int64", first + j)
                score[0] = T.float32(0)
                for d in range(own_qk_dim):
                    score[0] = score[0] + T.Cast("float32", q[vr, vh, d]) * T.Cast("float32", k[row, vh, d])
                score[0] = score[0] * sm_scale
                if score[0] > top[0]:
                    for d in range(own_v_dim):
                        result[d] = result[d] * T.exp(top[0] - score[0])
                    total[0] = total[0] * T.exp(top[0] - score[0])
                    top[0] = score[0]
                score[0] = T.exp(score[0] - top[0])
                total[0] = total[0] + score[0]
                for d in range(own_v_dim):
                    result[d] = result[d] + score[0] * T.Cast("float32", v[row, vh, d])
            for d in range(own_v_dim):
                out[vr, vh, d] = T.Cast(dtype, T.if_then_else(seen > 0, result[d] / total[0], T.float32(0)))
            lse[vr, vh] = T.if_then_else(seen > 0, (top[0] + T.log(total[0])) * T.float32(1.4426950408889634), T.float32(-5e4))


# Queries that were brought into the cache's space, against its pages.
@T.prim_func
def tir_attention_prefill_mla(
    q_handle: T.handle, q_indptr_handle: T.handle, pages_handle: T.handle, page_indptr_handle: T.handle, page_values_handle: T.handle,
    lengths_handle: T.handle, out_handle: T.handle, lse_handle: T.handle, causal: T.int32, sm_scale: T.float32,
):
    T.func_attr({"tirx.noalias": True})
    rows, sequences, n_pages, entries = T.int64(), T.int64(), T.int64(), T.int64()
    q = T.match_buffer(q_handle, (rows, q_heads, head_dim), dtype)
    q_indptr = T.match_buffer(q_indptr_handle, (sequences + 1,), "int32")
    pages = T.match_buffer(pages_handle, (n_pages, page_tokens, head_dim), kv_dtype)
    page_indptr = T.match_buffer(page_indptr_handle, (sequences + 1,), "int32")
    page_values = T.match_buffer(page_values_handle, (entries,), "int32")
    lengths = T.match_buffer(lengths_handle, (sequences,), "int32")
    out = T.match_buffer(out_handle, (rows, q_heads, latent), dtype)
    lse = T.match_buffer(lse_handle, (rows, q_heads), "float32")
    for r, h in T.grid(rows, q_heads):
        with T.sblock("attention"):
            vr, vh = T.axis.remap("SS", [r, h])
            T.reads(
                q[vr, vh, 0:head_dim], q_indptr[0 : sequences + 1], pages[0:n_pages, 0:page_tokens, 0:head_dim],
                page_indptr[0 : sequences + 1], page_values[0:entries], lengths[0:sequences],
            )
            T.writes(out[vr, vh, 0:latent], lse[vr, vh])
            sequence = T.sblock_alloc_buffer((1,), "int64", scope="local")
            result = T.sblock_alloc_buffer((latent,), "float32", scope="local")
            top = T.sblock_alloc_buffer((1,), "float32", scope="local")
            total = T.sblock_alloc_buffer((1,), "float32", scope="local")
            score = T.sblock_alloc_buffer((1,), "float32", scope="local")
            sequence[0] = T.int64(0)
            while q_indptr[sequence[0] + 1] <= T.Cast("int32", vr):
                sequence[0] = sequence[0] + 1
            s: T.let[T.int64] = sequence[0]
            first: T.let[T.int32] = page_indptr[s]
            in_table: T.let[T.int32] = T.if_then_else(
                page_indptr[s + 1] > first, (page_indptr[s + 1] - first - 1) * page_tokens + lengths[s], 0
            )
            seen: T.let[T.int32] = T.if_then_else(causal > 0, in_table - q_indptr[s + 1] + T.Cast("int32", vr) + 1, in_table)
            top[0] = T.float32(-1e30)
            total[0] = T.float32(0)
            for d in range(latent):
                result[d] = T.float32(0)
            for j in range(seen):
                page: T.let[T.int64] = T.Cast("int64", page_values[first + j // page_tokens])
                at: T.let[T.int64] = T.Cast("int64", j % page_tokens)
                score[0] = T.float32(0)
                for d in range(head_dim):
                    score[0] = score[0] + T.Cast("float32", q[vr, vh, d]) * T.Cast("float32", pages[page, at, d])
                score[0] = score[0] * sm_scale
                if score[0] > top[0]:
                    for d in range(latent):
                        result[d] = result[d] * T.exp(top[0] - score[0])
                    total[0] = total[0] * T.exp(top[0] - score[0])
                    top[0] = score[0]
                score[0] = T.exp(score[0] - top[0])
                total[0] = total[0] + score[0]
                for d in range(latent):
                    result[d] = result[d] + score[0] * T.Cast("float32", pages[page, at, d])
            for d in range(latent):
                out[vr, vh, d] = T.Cast(dtype, T.if_then_else(seen > 0, result[d] / total[0], T.float32(0)))
            lse[vr, vh] = T.if_then_else(seen > 0, (top[0] + T.log(total[0])) * T.float32(1.4426950408889634), T.float32(-5e4))


@T.prim_func
def tir_attention_merge_state_mla(v_handle: T.handle, s_handle: T.handle, v_other_handle: T.handle, s_other_handle: T.handle):
    T.func_attr({"tirx.noalias": True})
    rows = T.int64()
    v = T.match_buffer(v_handle, (rows, q_heads, own_v_dim), dtype)
    s = T.match_buffer(s_handle, (rows, q_heads), "float32")
    v_other = T.match_buffer(v_other_handle, (rows, q_heads, own_v_dim), dtype)
    s_other = T.match_buffer(s_other_handle, (rows, q_heads), "float32")
    for r, h in T.grid(rows, q_heads):
        with T.sblock("merge"):
            vr, vh = T.axis.remap("SS", [r, h])
            T.reads(v[vr, vh, 0:own_v_dim], s[vr, vh], v_other[vr, vh, 0:own_v_dim], s_other[vr, vh])
            T.writes(v[vr, vh, 0:own_v_dim], s[vr, vh])
            top: T.let[T.float32] = T.max(s[vr, vh], s_other[vr, vh])
            own: T.let[T.float32] = T.exp2(s[vr, vh] - top)
            other: T.let[T.float32] = T.exp2(s_other[vr, vh] - top)
            for d in range(own_v_dim):
                v[vr, vh, d] = T.Cast(
                    dtype,
                    (T.Cast("float32", v[vr, vh, d]) * own + T.Cast("float32", v_other[vr, vh, d]) * other) / (own + other),
                )
            s[vr, vh] = T.log2(own + other) + top
