# SPDX-License-Identifier: Apache-2.0
# Kernels of the paged cache of keys and values: appending, attention over pages, rotary embedding, copies. DispatchKVCacheCreation reads
# this file with the values below replaced by those of a model, and gives the functions to the cache that the module makes.
# Arguments are those of upstream's kernels (tvm.relax.frontend.nn.llm.kv_cache). Schedules are each target's.
#
# A page: [2 (keys, values), heads of keys, tokens, dimension]. Where pages are int8, rows behind those of the tokens hold a float32
# scale for each token, byte by byte, the lowest first. A row is one token of one sequence of a step; page_values lists the pages of
# all sequences, page_indptr where those of a sequence begin. All arithmetic is in float32, in an order that depends on the
# row's own position alone: page by page, whatever else is in the step.
from tvm.script import tirx as T

q_heads = 8
kv_heads = 4
head_dim = 64
page_tokens = 16
dtype = "float32"  # of queries, and of what the model computes with
kv_dtype = "float32"  # of pages
window = False  # whether lengths say where the window of a sequence begins, and its sinks
rotary_dim = 64  # 0: nothing is rotated
interleaved = False  # pairs are neighbours; else they are half of rotary_dim apart
amplitude = 1.0  # of cosines and sines
soft_cap = 0.0  # scores are soft_cap * tanh(score / soft_cap); 0: as they are
group = q_heads // kv_heads
half = rotary_dim // 2
quantized = kv_dtype == "int8"
page_rows = page_tokens + (4 * page_tokens + head_dim - 1) // head_dim if quantized else page_tokens
plain_dtype = dtype if quantized else kv_dtype  # what pages are read as
# elements that are worked on together; heads of queries that read keys and values once for all; vectors of values at once
lanes = 8 if head_dim % 8 == 0 else (4 if head_dim % 4 == 0 else (2 if head_dim % 2 == 0 else 1))
heads = 4 if group % 4 == 0 else (2 if group % 2 == 0 else 1)
chunks = head_dim // lanes
wide = 4 if chunks % 4 == 0 and heads < 4 else (2 if chunks % 2 == 0 else 1)
half_page = page_tokens // 2


@T.prim_func
def kv_cache_transpose_append(pages_handle: T.handle, k_handle: T.handle, v_handle: T.handle, position_handle: T.handle):
    T.func_attr({"tirx.noalias": True})
    rows, n_pages = T.int64(), T.int64()
    pages = T.match_buffer(pages_handle, (n_pages, 2, kv_heads, page_rows, head_dim), kv_dtype)
    k = T.match_buffer(k_handle, (rows, kv_heads, head_dim), dtype)
    v = T.match_buffer(v_handle, (rows, kv_heads, head_dim), dtype)
    position_map = T.match_buffer(position_handle, (rows,), "int32")
    for r, h in T.grid(rows, kv_heads):
        with T.sblock("append"):
            vr, vh = T.axis.remap("SS", [r, h])
            T.reads(position_map[vr], k[vr, vh, 0:head_dim], v[vr, vh, 0:head_dim])
            T.writes(pages[0:n_pages, 0:2, vh, 0:page_rows, 0:head_dim])
            place: T.let[T.int32] = position_map[vr]
            if place != -1:
                page: T.let[T.int64] = T.Cast("int64", place // page_tokens)
                at: T.let[T.int64] = T.Cast("int64", place % page_tokens)
                if quantized:
                    most = T.sblock_alloc_buffer((2,), "float32", scope="local")
                    for w in T.unroll(2):
                        most[w] = T.float32(0)
                    for d in range(head_dim):
                        most[0] = T.max(most[0], T.abs(T.Cast("float32", k[vr, vh, d])))
                        most[1] = T.max(most[1], T.abs(T.Cast("float32", v[vr, vh, d])))
                    for w in T.unroll(2):
                        for b in T.unroll(4):
                            pages[page, w, vh, page_tokens + (4 * at + b) // head_dim, (4 * at + b) % head_dim] = T.Cast(
                                "int8", T.shift_right(T.shift_left(T.reinterpret("int32", most[w] / T.float32(127)), 24 - 8 * b), 24)
                            )
                        most[w] = T.Select(most[w] > T.float32(0), T.float32(127) / most[w], T.float32(0))
                    for d in range(head_dim):
                        pages[page, 0, vh, at, d] = T.Cast(
                            "int8", T.max(T.min(T.nearbyint(T.Cast("float32", k[vr, vh, d]) * most[0]), T.float32(127)), T.float32(-127))
                        )
                        pages[page, 1, vh, at, d] = T.Cast(
                            "int8", T.max(T.min(T.nearbyint(T.Cast("float32", v[vr, vh, d]) * most[1]), T.float32(127)), T.float32(-127))
                        )
                else:
                    for c in T.unroll(chunks):
                        for l in T.vectorized(lanes):
                            pages[page, 0, vh, at, c * lanes + l] = T.Cast(kv_dtype, k[vr, vh, c * lanes + l])
                    for c in T.unroll(chunks):
                        for l in T.vectorized(lanes):
                            pages[page, 1, vh, at, c * lanes + l] = T.Cast(kv_dtype, v[vr, vh, c * lanes + l])


@T.prim_func
def kv_cache_copy_single_page(pages_handle: T.handle, source: T.int64, target: T.int64, copy_length: T.int64):
    T.func_attr({"tirx.noalias": True})
    n_pages = T.int64()
    pages = T.match_buffer(pages_handle, (n_pages, 2, kv_heads, page_rows, head_dim), kv_dtype)
    for w, h in T.grid(2, kv_heads):
        with T.sblock("copy"):
            vw, vh = T.axis.remap("SS", [w, h])
            T.reads(pages[source, vw, vh, 0:page_rows, 0:head_dim])
            T.writes(pages[target, vw, vh, 0:page_rows, 0:head_dim])
            for t in range(copy_length):
                for c in T.unroll(chunks):
                    for l in T.vectorized(lanes):
                        pages[target, vw, vh, t, c * lanes + l] = pages[source, vw, vh, t, c * lanes + l]
            for t in range(page_rows - page_tokens):
                for c in T.unroll(chunks):
                    for l in T.vectorized(lanes):
                        pages[target, vw, vh, page_tokens + t, c * lanes + l] = pages[source, vw, vh, page_tokens + t, c * lanes + l]


@T.prim_func
def kv_cache_debug_get_kv(
    pages_handle: T.handle, position_handle: T.handle, k_handle: T.handle, v_handle: T.handle, layer: T.int64
):
    T.func_attr({"tirx.noalias": True})
    rows, n_pages, layers = T.int64(), T.int64(), T.int64()
    pages = T.match_buffer(pages_handle, (n_pages, 2, kv_heads, page_rows, head_dim), kv_dtype)
    position_map = T.match_buffer(position_handle, (rows,), "int32")
    k = T.match_buffer(k_handle, (layers, rows, kv_heads, head_dim), plain_dtype)
    v = T.match_buffer(v_handle, (layers, rows, kv_heads, head_dim), plain_dtype)
    for r, h in T.grid(rows, kv_heads):
        with T.sblock("get"):
            vr, vh = T.axis.remap("SS", [r, h])
            T.reads(position_map[vr], pages[0:n_pages, 0:2, vh, 0:page_rows, 0:head_dim])
            T.writes(k[layer, vr, vh, 0:head_dim], v[layer, vr, vh, 0:head_dim])
            page: T.let[T.int64] = T.Cast("int64", position_map[vr] // page_tokens)
            at: T.let[T.int64] = T.Cast("int64", position_map[vr] % page_tokens)
            if quantized:
                scales = T.sblock_alloc_buffer((2,), "float32", scope="local")
                for w in T.unroll(2):
                    scales[w] = T.reinterpret(
                        "float32",
                        (T.Cast("int32", pages[page, w, vh, page_tokens + (4 * at + 0) // head_dim, (4 * at + 0) % head_dim]) & 255)
                        | T.shift_left((T.Cast("int32", pages[page, w, vh, page_tokens + (4 * at + 1) // head_dim, (4 * at + 1) % head_dim]) & 255), 8)
                        | T.shift_left((T.Cast("int32", pages[page, w, vh, page_tokens + (4 * at + 2) // head_dim, (4 * at + 2) % head_dim]) & 255), 16)
                        | T.shift_left((T.Cast("int32", pages[page, w, vh, page_tokens + (4 * at + 3) // head_dim, (4 * at + 3) % head_dim]) & 255), 24),
                    )
                for d in range(head_dim):
                    k[layer, vr, vh, d] = T.Cast(dtype, T.Cast("float32", pages[page, 0, vh, at, d]) * scales[0])
                    v[layer, vr, vh, d] = T.Cast(dtype, T.Cast("float32", pages[page, 1, vh, at, d]) * scales[1])
            else:
                for c in T.unroll(chunks):
                    for l in T.vectorized(lanes):
                        k[layer, vr, vh, c * lanes + l] = pages[page, 0, vh, at, c * lanes + l]
                for c in T.unroll(chunks):
                    for l in T.vectorized(lanes):
                        v[layer, vr, vh, c * lanes + l] = pages[page, 1, vh, at, c * lanes + l]


@T.prim_func
def tir_split_rotary(
    qkv_handle: T.handle, position_handle: T.handle, q_handle: T.handle, k_handle: T.handle, v_handle: T.handle,
    frequency_handle: T.handle, row: T.int32,
):
    T.func_attr({"tirx.noalias": True})
    rows, tables = T.int64(), T.int64()
    qkv = T.match_buffer(qkv_handle, (rows, q_heads + 2 * kv_heads, head_dim), dtype)
    position_map = T.match_buffer(position_handle, (rows,), "int32")
    q = T.match_buffer(q_handle, (rows, q_heads, head_dim), dtype)
    k = T.match_buffer(k_handle, (rows, kv_heads, head_dim), dtype)
    v = T.match_buffer(v_handle, (rows, kv_heads, head_dim), dtype)
    frequency = T.match_buffer(frequency_handle, (tables, half), "float32")
    for r in range(rows):
        with T.sblock("rotary"):
            vr = T.axis.spatial(rows, r)
            T.reads(qkv[vr, 0:q_heads + 2 * kv_heads, 0:head_dim], position_map[vr], frequency[row, 0:half])
            T.writes(q[vr, 0:q_heads, 0:head_dim], k[vr, 0:kv_heads, 0:head_dim], v[vr, 0:kv_heads, 0:head_dim])
            if rotary_dim > 0:
                cosine = T.sblock_alloc_buffer((half,), "float32", scope="local")
                sine = T.sblock_alloc_buffer((half,), "float32", scope="local")
                for i in range(half):
                    cosine[i] = T.cos(T.Cast("float32", position_map[vr]) * frequency[row, i]) * T.float32(amplitude)
                    sine[i] = T.sin(T.Cast("float32", position_map[vr]) * frequency[row, i]) * T.float32(amplitude)
                for h in range(q_heads):
                    for i in range(half):
                        a: T.let[T.int32] = 2 * i if interleaved else 1 * i
                        b: T.let[T.int32] = 2 * i + 1 if interleaved else i + half
                        q[vr, h, a] = T.Cast(dtype, T.Cast("float32", qkv[vr, h, a]) * cosine[i] - T.Cast("float32", qkv[vr, h, b]) * sine[i])
                        q[vr, h, b] = T.Cast(dtype, T.Cast("float32", qkv[vr, h, b]) * cosine[i] + T.Cast("float32", qkv[vr, h, a]) * sine[i])
                for h in range(kv_heads):
                    for i in range(half):
                        a: T.let[T.int32] = 2 * i if interleaved else 1 * i
                        b: T.let[T.int32] = 2 * i + 1 if interleaved else i + half
                        k[vr, h, a] = T.Cast(dtype, T.Cast("float32", qkv[vr, q_heads + h, a]) * cosine[i] - T.Cast("float32", qkv[vr, q_heads + h, b]) * sine[i])
                        k[vr, h, b] = T.Cast(dtype, T.Cast("float32", qkv[vr, q_heads + h, b]) * cosine[i] + T.Cast("float32", qkv[vr, q_heads + h, a]) * sine[i])
            for h in range(q_heads):
                for d in range(head_dim - rotary_dim):
                    q[vr, h, rotary_dim + d] = qkv[vr, h, rotary_dim + d]
            for h in range(kv_heads):
                for d in range(head_dim - rotary_dim):
                    k[vr, h, rotary_dim + d] = qkv[vr, q_heads + h, rotary_dim + d]
            for h in range(kv_heads):
                for c in T.unroll(chunks):
                    for l in T.vectorized(lanes):
                        v[vr, h, c * lanes + l] = qkv[vr, q_heads + kv_heads + h, c * lanes + l]


@T.prim_func
def tir_attention_prefill(
    q_handle: T.handle, q_indptr_handle: T.handle, pages_handle: T.handle, page_indptr_handle: T.handle,
    page_values_handle: T.handle, lengths_handle: T.handle, k_position_handle: T.handle, q_position_handle: T.handle,
    out_handle: T.handle, lse_handle: T.handle,
    causal: T.int32, rotary_mode: T.int32, rope_scale_: T.float32, rope_theta_: T.float32, sm_scale: T.float32,
):
    T.func_attr({"tirx.noalias": True})
    rows, sequences, n_pages, entries = T.int64(), T.int64(), T.int64(), T.int64()
    q = T.match_buffer(q_handle, (rows, q_heads, head_dim), dtype)
    q_indptr = T.match_buffer(q_indptr_handle, (sequences + 1,), "int32")
    pages = T.match_buffer(pages_handle, (n_pages, 2, kv_heads, page_rows, head_dim), kv_dtype)
    page_indptr = T.match_buffer(page_indptr_handle, (sequences + 1,), "int32")
    page_values = T.match_buffer(page_values_handle, (entries,), "int32")
    lengths = T.match_buffer(lengths_handle, (3, sequences) if window else (sequences,), "int32")
    k_position = T.match_buffer(k_position_handle, (sequences,), "int32")
    q_position = T.match_buffer(q_position_handle, (rows,), "int32")
    out = T.match_buffer(out_handle, (rows, q_heads, head_dim), dtype)
    lse = T.match_buffer(lse_handle, (rows, q_heads), "float32")
    for r, h in T.grid(rows, kv_heads):
        with T.sblock("attention"):
            vr, vh = T.axis.remap("SS", [r, h])
            T.reads(
                q[vr, vh * group : vh * group + group, 0:head_dim], q_indptr[0 : sequences + 1],
                pages[0:n_pages, 0:2, vh, 0:page_rows, 0:head_dim], page_indptr[0 : sequences + 1], page_values[0:entries],
            )
            T.writes(out[vr, vh * group : vh * group + group, 0:head_dim], lse[vr, vh * group : vh * group + group])
            sequence = T.sblock_alloc_buffer((1,), "int64", scope="local")
            scaled = T.sblock_alloc_buffer((group, head_dim), "float32", scope="local")
            result = T.sblock_alloc_buffer((group, head_dim), "float32", scope="local")
            part = T.sblock_alloc_buffer((heads, lanes), "float32", scope="local")
            sums = T.sblock_alloc_buffer((heads, wide, lanes), "float32", scope="local")
            score = T.sblock_alloc_buffer((heads, page_tokens), "float32", scope="local")
            top = T.sblock_alloc_buffer((group,), "float32", scope="local")
            total = T.sblock_alloc_buffer((group, page_tokens), "float32", scope="local")
            best = T.sblock_alloc_buffer((heads,), "float32", scope="local")
            scales = T.sblock_alloc_buffer((2, page_tokens if quantized else 1), "float32", scope="local")
            # the row's sequence; how many tokens of its table it sees, and from where on
            sequence[0] = T.int64(0)
            while q_indptr[sequence[0] + 1] <= T.Cast("int32", vr):
                sequence[0] = sequence[0] + 1
            s: T.let[T.int64] = sequence[0]
            first: T.let[T.int32] = page_indptr[s]
            in_last: T.let[T.int32] = lengths[0, s] if window else lengths[s]
            in_table: T.let[T.int32] = (page_indptr[s + 1] - first - 1) * page_tokens + in_last
            seen: T.let[T.int32] = T.if_then_else(causal > 0, in_table - q_indptr[s + 1] + T.Cast("int32", vr) + 1, in_table)
            sinks: T.let[T.int32] = lengths[2, s] if window else T.int32(0)
            begin: T.let[T.int32] = (
                T.max(sinks, lengths[1, s] + T.Cast("int32", vr) - q_indptr[s]) if window else T.int32(0)
            )
            sink_pages: T.let[T.int32] = (T.min(sinks, seen) + page_tokens - 1) // page_tokens
            next_page: T.let[T.int32] = T.max(begin // page_tokens, sink_pages)
            n_seen: T.let[T.int32] = (seen + page_tokens - 1) // page_tokens
            for g in range(group):
                top[g] = T.float32(-1e30)
                for w in T.unroll(2):
                    for j in T.vectorized(half_page):
                        total[g, w * half_page + j] = T.float32(0)
                for c in T.unroll(chunks):
                    for l in T.vectorized(lanes):
                        scaled[g, c * lanes + l] = T.Cast("float32", q[vr, vh * group + g, c * lanes + l]) * sm_scale
                for c in T.unroll(chunks):
                    for l in T.vectorized(lanes):
                        result[g, c * lanes + l] = T.float32(0)
            for i in range(sink_pages + T.max(n_seen - next_page, 0)):
                p: T.let[T.int32] = T.if_then_else(i < sink_pages, i, i - sink_pages + next_page) if window else T.int32(1) * i
                page: T.let[T.int64] = T.Cast("int64", page_values[first + p])
                visible: T.let[T.int32] = T.min(page_tokens, seen - p * page_tokens)
                if quantized:
                    for w, j in T.grid(2, page_tokens):
                        scales[w, j] = T.reinterpret(
                            "float32",
                            (T.Cast("int32", pages[page, w, vh, page_tokens + (4 * j + 0) // head_dim, (4 * j + 0) % head_dim]) & 255)
                            | T.shift_left((T.Cast("int32", pages[page, w, vh, page_tokens + (4 * j + 1) // head_dim, (4 * j + 1) % head_dim]) & 255), 8)
                            | T.shift_left((T.Cast("int32", pages[page, w, vh, page_tokens + (4 * j + 2) // head_dim, (4 * j + 2) % head_dim]) & 255), 16)
                            | T.shift_left((T.Cast("int32", pages[page, w, vh, page_tokens + (4 * j + 3) // head_dim, (4 * j + 3) % head_dim]) & 255), 24),
                        )
                for t in range(group // heads):
                    for w in range(heads):
                        best[w] = top[t * heads + w]
                    for j in range(page_tokens):
                        for w in T.unroll(heads):
                            for l in T.vectorized(lanes):
                                part[w, l] = T.float32(0)
                        for c in T.unroll(chunks):
                            for w in T.unroll(heads):
                                for l in T.vectorized(lanes):
                                    part[w, l] = part[w, l] + scaled[t * heads + w, c * lanes + l] * T.Cast("float32", pages[page, 0, vh, j, c * lanes + l])
                        for w in T.unroll(heads):
                            if lanes >= 8:
                                for l in T.vectorized(4):
                                    part[w, l] = part[w, l] + part[w, l + 4]
                            if lanes >= 4:
                                for l in T.vectorized(2):
                                    part[w, l] = part[w, l] + part[w, l + 2]
                            raw: T.let[T.float32] = part[w, 0] + part[w, 1] if lanes >= 2 else part[w, 0]
                            plain: T.let[T.float32] = raw * scales[0, j] if quantized else raw
                            product: T.let[T.float32] = T.tanh(plain / T.float32(soft_cap)) * T.float32(soft_cap) if soft_cap > 0 else plain
                            score[w, j] = T.if_then_else(
                                (j < visible and (p * page_tokens + j < sinks or p * page_tokens + j >= begin)) if window else j < visible,
                                product,
                                T.float32(-1e30),
                            )
                            best[w] = T.Select(score[w, j] > best[w], score[w, j], best[w])
                    for w in range(heads):
                        g: T.let[T.int32] = t * heads + w
                        if best[w] > top[g]:
                            scale: T.let[T.float32] = T.exp(top[g] - best[w])
                            for u in T.unroll(2):
                                for j in T.vectorized(half_page):
                                    total[g, u * half_page + j] = total[g, u * half_page + j] * scale
                            for c in T.unroll(chunks):
                                for l in T.vectorized(lanes):
                                    result[g, c * lanes + l] = result[g, c * lanes + l] * scale
                            top[g] = best[w]
                        for u in T.unroll(2):
                            for j in T.vectorized(half_page):
                                score[w, u * half_page + j] = T.exp(score[w, u * half_page + j] - best[w])
                        for u in T.unroll(2):
                            for j in T.vectorized(half_page):
                                total[g, u * half_page + j] = total[g, u * half_page + j] + score[w, u * half_page + j]
                    # not more than the row sees: memory behind that may hold anything, and 0 times that is not 0
                    for c in range(chunks // wide):
                        for w in T.unroll(heads):
                            for u in T.unroll(wide):
                                for l in T.vectorized(lanes):
                                    sums[w, u, l] = result[t * heads + w, (c * wide + u) * lanes + l]
                        for j in range(visible):
                            for u in T.unroll(wide):
                                for w in T.unroll(heads):
                                    for l in T.vectorized(lanes):
                                        sums[w, u, l] = sums[w, u, l] + (score[w, j] * scales[1, j] if quantized else score[w, j]) * T.Cast("float32", pages[page, 1, vh, j, (c * wide + u) * lanes + l])
                        for w in T.unroll(heads):
                            for u in T.unroll(wide):
                                for l in T.vectorized(lanes):
                                    result[t * heads + w, (c * wide + u) * lanes + l] = sums[w, u, l]
            for g in range(group):
                best[0] = T.float32(0)
                for j in range(page_tokens):
                    best[0] = best[0] + total[g, j]
                for c in T.unroll(chunks):
                    for l in T.vectorized(lanes):
                        out[vr, vh * group + g, c * lanes + l] = T.Cast(dtype, result[g, c * lanes + l] / best[0])
                lse[vr, vh * group + g] = (top[g] + T.log(best[0])) * T.float32(1.4426950408889634)
