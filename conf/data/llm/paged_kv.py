# SPDX-License-Identifier: Apache-2.0
# Kernels of the paged cache of keys and values: appending, attention over pages, rotary embedding, copies. DispatchKVCacheCreation reads
# this file with the values below replaced by those of a model, and gives the functions to the cache that the module makes.
# Arguments are those of upstream's kernels (tvm.relax.frontend.nn.llm.kv_cache). Schedules are each target's.
#
# Attention takes tiles of as many rows of a sequence as `tile` says: each page is read once for the rows of a tile and the heads of queries
# that share its head of keys. Of a tile of few rows each row reads the pages itself, which needs no turned queries. Both ways have
# the same sums: a score is `lanes` sums of every `lanes`-th product, added as a tree; a result is summed token by token.
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
inline = False  # keys are cached as they come, and rotated like the queries where attention reads them
amplitude = 1.0  # of cosines and sines
soft_cap = 0.0  # scores are soft_cap * tanh(score / soft_cap); 0: as they are
attention_rows = 1  # the target's: of a sequence that attention takes together, for up to four heads of queries for one of keys
group = q_heads // kv_heads
tile = 1 if kv_dtype == "int8" or inline else attention_rows if group <= 4 or attention_rows == 1 else ((attention_rows + 1) // 2 if group <= 8 else (attention_rows + 3) // 4)
half = rotary_dim // 2
before = 0 if inline else rotary_dim  # of a head, what is rotated before attention
quantized = kv_dtype == "int8"
page_rows = page_tokens + (4 * page_tokens + head_dim - 1) // head_dim if quantized else page_tokens
plain_dtype = dtype if quantized else kv_dtype  # what pages are read as
# elements that are worked on together; heads of queries that read keys and values once for all; vectors of values at once
lanes = 8 if head_dim % 8 == 0 else (4 if head_dim % 4 == 0 else (2 if head_dim % 2 == 0 else 1))
heads = 4 if group % 4 == 0 else (2 if group % 2 == 0 else 1)
chunks = head_dim // lanes
wide = 4 if chunks % 4 == 0 and heads < 4 else (2 if chunks % 2 == 0 else 1)
half_page = page_tokens // 2
# of a tile: vectors of queries of 8 lanes; queries and vectors of values that are worked on together; levels of the tree of a score's sums
queries = (tile * group + 7) // 8 * 8
span = lanes
spans = 2 if head_dim // span % 2 == 0 else 1
level0 = 2 if lanes >= 2 else 1
level1 = 2 if lanes >= 4 else 1
level2 = 2 if lanes >= 8 else 1
steps = 8 if chunks % 8 == 0 else (4 if chunks % 4 == 0 else 1)
few = 2  # rows of a tile that each read the pages themselves
tree_nodes = 256  # of a sequence, that wait for some of them to be taken


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
            if before > 0:
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
                for d in range(head_dim - before):
                    q[vr, h, before + d] = qkv[vr, h, before + d]
            for h in range(kv_heads):
                for d in range(head_dim - before):
                    k[vr, h, before + d] = qkv[vr, q_heads + h, before + d]
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
    for t, h in T.grid(rows if tile == 1 else rows // tile + sequences, kv_heads):
        with T.sblock("attention"):
            vt, vh = T.axis.remap("SS", [t, h])
            T.reads(
                q[0:rows, vh * group : vh * group + group, 0:head_dim], q_indptr[0 : sequences + 1],
                pages[0:n_pages, 0:2, vh, 0:page_rows, 0:head_dim], page_indptr[0 : sequences + 1], page_values[0:entries],
            )
            T.writes(out[0:rows, vh * group : vh * group + group, 0:head_dim], lse[0:rows, vh * group : vh * group + group])
            place = T.sblock_alloc_buffer((2,), "int64", scope="local")
            scaled = T.sblock_alloc_buffer((group, head_dim), "float32", scope="local")
            result = T.sblock_alloc_buffer((group, head_dim), "float32", scope="local")
            part = T.sblock_alloc_buffer((heads, lanes), "float32", scope="local")
            sums = T.sblock_alloc_buffer((heads, wide, lanes), "float32", scope="local")
            score = T.sblock_alloc_buffer((heads, page_tokens), "float32", scope="local")
            top = T.sblock_alloc_buffer((group,), "float32", scope="local")
            total = T.sblock_alloc_buffer((group, page_tokens), "float32", scope="local")
            best = T.sblock_alloc_buffer((heads,), "float32", scope="local")
            token_scales = T.sblock_alloc_buffer((2, page_tokens if quantized else 1), "float32", scope="local")
            scale = T.sblock_alloc_buffer((half_page,), "float32", scope="local")
            angle = T.sblock_alloc_buffer((3, half if inline else 1), "float32", scope="local")  # a token's, its cosines and sines
            one = T.sblock_alloc_buffer((1,), "float32", scope="local")
            rotated = T.sblock_alloc_buffer((page_tokens if inline else 1, head_dim if inline else 1), "float32", scope="local")
            if inline:
                for i in range(half):
                    angle[0, i] = T.pow(rope_theta_, T.Cast("float32", -2 * i) / T.float32(rotary_dim)) * rope_scale_
            # the tile's sequence, and which one of its tiles it is; there may be fewer tiles than the loop has turns
            place[0] = T.int64(0)
            place[1] = vt
            if tile == 1:
                while q_indptr[place[0] + 1] <= T.Cast("int32", vt):
                    place[0] = place[0] + 1
                place[1] = vt - T.Cast("int64", q_indptr[place[0]])
            else:
                while (place[0] < sequences) and (
                    place[1] >= T.Cast("int64", (q_indptr[place[0] + 1] - q_indptr[place[0]] + (tile - 1)) // tile)
                ):
                    place[1] = place[1] - T.Cast("int64", (q_indptr[place[0] + 1] - q_indptr[place[0]] + (tile - 1)) // tile)
                    place[0] = place[0] + 1
            if place[0] < sequences:
                s: T.let[T.int64] = place[0]
                row0: T.let[T.int32] = q_indptr[s] + T.Cast("int32", place[1]) * tile
                n_rows: T.let[T.int32] = T.min(q_indptr[s + 1] - row0, tile)
                first: T.let[T.int32] = page_indptr[s]
                in_last: T.let[T.int32] = lengths[0, s] if window else lengths[s]
                in_table: T.let[T.int32] = (page_indptr[s + 1] - first - 1) * page_tokens + in_last
                # what the tile's first row sees of the table, and from where on
                seen0: T.let[T.int32] = T.if_then_else(causal > 0, in_table - q_indptr[s + 1] + row0 + 1, in_table)
                more: T.let[T.int32] = T.if_then_else(causal > 0, 1, 0)
                sinks: T.let[T.int32] = lengths[2, s] if window else T.int32(0)
                begin0: T.let[T.int32] = lengths[1, s] + row0 - q_indptr[s] if window else T.int32(0)
                if n_rows <= few:
                    for r in range(n_rows):
                        row: T.let[T.int64] = T.Cast("int64", row0 + r)
                        seen: T.let[T.int32] = seen0 + r * more
                        begin: T.let[T.int32] = T.max(sinks, begin0 + r) if window else T.int32(0)
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
                                    scaled[g, c * lanes + l] = T.Cast("float32", q[row, vh * group + g, c * lanes + l]) * sm_scale
                            for c in T.unroll(chunks):
                                for l in T.vectorized(lanes):
                                    result[g, c * lanes + l] = T.float32(0)
                        if inline:
                            for i in range(half):
                                angle[1, i] = T.cos(T.Cast("float32", q_position[row]) * angle[0, i])
                                angle[2, i] = T.sin(T.Cast("float32", q_position[row]) * angle[0, i])
                            for g in range(group):
                                for i in range(half):
                                    a: T.let[T.int32] = 2 * i if interleaved else 1 * i
                                    b: T.let[T.int32] = 2 * i + 1 if interleaved else i + half
                                    one[0] = scaled[g, a]
                                    scaled[g, a] = one[0] * angle[1, i] - scaled[g, b] * angle[2, i]
                                    scaled[g, b] = scaled[g, b] * angle[1, i] + one[0] * angle[2, i]
                        for i in range(sink_pages + T.max(n_seen - next_page, 0)):
                            p: T.let[T.int32] = T.if_then_else(i < sink_pages, i, i - sink_pages + next_page) if window else T.int32(1) * i
                            page: T.let[T.int64] = T.Cast("int64", page_values[first + p])
                            visible: T.let[T.int32] = T.min(page_tokens, seen - p * page_tokens)
                            if quantized:
                                for w, j in T.grid(2, page_tokens):
                                    token_scales[w, j] = T.reinterpret(
                                        "float32",
                                        (T.Cast("int32", pages[page, w, vh, page_tokens + (4 * j + 0) // head_dim, (4 * j + 0) % head_dim]) & 255)
                                        | T.shift_left((T.Cast("int32", pages[page, w, vh, page_tokens + (4 * j + 1) // head_dim, (4 * j + 1) % head_dim]) & 255), 8)
                                        | T.shift_left((T.Cast("int32", pages[page, w, vh, page_tokens + (4 * j + 2) // head_dim, (4 * j + 2) % head_dim]) & 255), 16)
                                        | T.shift_left((T.Cast("int32", pages[page, w, vh, page_tokens + (4 * j + 3) // head_dim, (4 * j + 3) % head_dim]) & 255), 24),
                                    )
                            if inline:
                                for j in range(visible):
                                    for i in range(half):
                                        angle[1, i] = T.cos(T.Cast("float32", k_position[s] + p * page_tokens + j) * angle[0, i])
                                        angle[2, i] = T.sin(T.Cast("float32", k_position[s] + p * page_tokens + j) * angle[0, i])
                                    for i in range(half):
                                        a: T.let[T.int32] = 2 * i if interleaved else 1 * i
                                        b: T.let[T.int32] = 2 * i + 1 if interleaved else i + half
                                        rotated[j, a] = T.Cast("float32", pages[page, 0, vh, j, a]) * angle[1, i] - T.Cast("float32", pages[page, 0, vh, j, b]) * angle[2, i]
                                        rotated[j, b] = T.Cast("float32", pages[page, 0, vh, j, b]) * angle[1, i] + T.Cast("float32", pages[page, 0, vh, j, a]) * angle[2, i]
                                    for d in range(head_dim - rotary_dim):
                                        rotated[j, rotary_dim + d] = T.Cast("float32", pages[page, 0, vh, j, rotary_dim + d])
                            for x in range(group // heads):
                                for w in range(heads):
                                    best[w] = top[x * heads + w]
                                for j in range(page_tokens):
                                    for w in T.unroll(heads):
                                        for l in T.vectorized(lanes):
                                            part[w, l] = T.float32(0)
                                    for c in T.unroll(chunks):
                                        for w in T.unroll(heads):
                                            for l in T.vectorized(lanes):
                                                part[w, l] = part[w, l] + scaled[x * heads + w, c * lanes + l] * (rotated[j, c * lanes + l] if inline else T.Cast("float32", pages[page, 0, vh, j, c * lanes + l]))
                                    for w in T.unroll(heads):
                                        if lanes >= 8:
                                            for l in T.vectorized(4):
                                                part[w, l] = part[w, l] + part[w, l + 4]
                                        if lanes >= 4:
                                            for l in T.vectorized(2):
                                                part[w, l] = part[w, l] + part[w, l + 2]
                                        raw: T.let[T.float32] = part[w, 0] + part[w, 1] if lanes >= 2 else part[w, 0]
                                        score[w, j] = raw * token_scales[0, j] if quantized else raw
                                if soft_cap > 0:
                                    for w in range(heads):
                                        for u in T.unroll(2):
                                            for j in T.vectorized(half_page):
                                                score[w, u * half_page + j] = T.tanh(score[w, u * half_page + j] / T.float32(soft_cap)) * T.float32(soft_cap)
                                for w in range(heads):
                                    for j in range(page_tokens):
                                        score[w, j] = T.if_then_else(
                                            (j < visible and (p * page_tokens + j < sinks or p * page_tokens + j >= begin)) if window else j < visible,
                                            score[w, j],
                                            T.float32(-1e30),
                                        )
                                        best[w] = T.Select(score[w, j] > best[w], score[w, j], best[w])
                                for w in range(heads):
                                    g: T.let[T.int32] = x * heads + w
                                    if best[w] > top[g]:
                                        # lanes as in a tile: their function may round in another way than that of one number
                                        for j in T.vectorized(half_page):
                                            scale[j] = top[g] - best[w]
                                        for j in T.vectorized(half_page):
                                            scale[j] = T.exp(scale[j])
                                        for u in T.unroll(2):
                                            for j in T.vectorized(half_page):
                                                total[g, u * half_page + j] = total[g, u * half_page + j] * scale[0]
                                        for c in T.unroll(chunks):
                                            for l in T.vectorized(lanes):
                                                result[g, c * lanes + l] = result[g, c * lanes + l] * scale[0]
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
                                                sums[w, u, l] = result[x * heads + w, (c * wide + u) * lanes + l]
                                    for j in range(visible):
                                        for u in T.unroll(wide):
                                            for w in T.unroll(heads):
                                                for l in T.vectorized(lanes):
                                                    sums[w, u, l] = sums[w, u, l] + (score[w, j] * token_scales[1, j] if quantized else score[w, j]) * T.Cast("float32", pages[page, 1, vh, j, (c * wide + u) * lanes + l])
                                    for w in T.unroll(heads):
                                        for u in T.unroll(wide):
                                            for l in T.vectorized(lanes):
                                                result[x * heads + w, (c * wide + u) * lanes + l] = sums[w, u, l]
                        for g in range(group):
                            best[0] = T.float32(0)
                            for j in range(page_tokens):
                                best[0] = best[0] + total[g, j]
                            for c in T.unroll(chunks):
                                for l in T.vectorized(lanes):
                                    out[row, vh * group + g, c * lanes + l] = T.Cast(dtype, result[g, c * lanes + l] / best[0])
                            lse[row, vh * group + g] = (top[g] + T.log(best[0])) * T.float32(1.4426950408889634)
                if tile > 1:
                    if n_rows > few:
                        turned = T.sblock_alloc_buffer((head_dim, queries), "float32", scope="local")
                        keys = T.sblock_alloc_buffer((page_tokens, head_dim), "float32", scope="local")
                        values = T.sblock_alloc_buffer((page_tokens, head_dim), "float32", scope="local")
                        scores = T.sblock_alloc_buffer((page_tokens, queries), "float32", scope="local")
                        totals = T.sblock_alloc_buffer((page_tokens, queries), "float32", scope="local")
                        results = T.sblock_alloc_buffer((queries, head_dim), "float32", scope="local")
                        tops = T.sblock_alloc_buffer((queries,), "float32", scope="local")
                        bests = T.sblock_alloc_buffer((queries,), "float32", scope="local")
                        scales = T.sblock_alloc_buffer((queries,), "float32", scope="local")
                        visibles = T.sblock_alloc_buffer((queries,), "int32", scope="local")
                        begins = T.sblock_alloc_buffer((queries,), "int32", scope="local")
                        chain = T.sblock_alloc_buffer((4, 8), "float32", scope="local")
                        pair = T.sblock_alloc_buffer((4, 8), "float32", scope="local")
                        four = T.sblock_alloc_buffer((4, 8), "float32", scope="local")
                        eight = T.sblock_alloc_buffer((4, 8), "float32", scope="local")
                        grown = T.sblock_alloc_buffer((4, spans, span), "float32", scope="local")
                        n_queries: T.let[T.int32] = n_rows * group
                        vectors: T.let[T.int32] = (n_queries + 7) // 8
                        last: T.let[T.int32] = n_rows - 1
                        for m in range(n_queries):
                            for d in range(head_dim):
                                turned[d, m] = T.Cast("float32", q[T.Cast("int64", row0 + m // group), vh * group + m % group, d]) * sm_scale
                                results[m, d] = T.float32(0)
                        for m in range(vectors * 8 - n_queries):
                            for d in range(head_dim):
                                turned[d, n_queries + m] = T.float32(0)
                        for v in range(vectors):
                            for l in T.vectorized(8):
                                tops[v * 8 + l] = T.float32(-1e30)
                            for j in range(page_tokens):
                                for l in T.vectorized(8):
                                    totals[j, v * 8 + l] = T.float32(0)
                        for m in range(vectors * 8):
                            begins[m] = T.max(sinks, begin0 + m // group) if window else T.int32(0)
                        # pages that any row sees
                        all_sinks: T.let[T.int32] = (T.min(sinks, seen0 + last * more) + page_tokens - 1) // page_tokens
                        after: T.let[T.int32] = T.max((T.max(sinks, begin0) if window else T.int32(0)) // page_tokens, all_sinks)
                        n_all: T.let[T.int32] = (seen0 + last * more + page_tokens - 1) // page_tokens
                        for i in range(all_sinks + T.max(n_all - after, 0)):
                            p: T.let[T.int32] = T.if_then_else(i < all_sinks, i, i - all_sinks + after) if window else T.int32(1) * i
                            page: T.let[T.int64] = T.Cast("int64", page_values[first + p])
                            # whether all rows see all of it
                            full: T.let[T.bool] = (
                                (p + 1) * page_tokens <= seen0 and ((p + 1) * page_tokens <= sinks or p * page_tokens >= T.max(sinks, begin0 + last))
                            ) if window else (p + 1) * page_tokens <= seen0
                            for j in range(page_tokens):
                                for c in T.unroll(chunks):
                                    for l in T.vectorized(lanes):
                                        keys[j, c * lanes + l] = T.Cast("float32", pages[page, 0, vh, j, c * lanes + l])
                                for c in T.unroll(chunks):
                                    for l in T.vectorized(lanes):
                                        values[j, c * lanes + l] = T.Cast("float32", pages[page, 1, vh, j, c * lanes + l])
                            for v in range(vectors):
                                for b in range(page_tokens // 4):
                                    for l0 in T.unroll(level0):
                                        for l1 in T.unroll(level1):
                                            for l2 in T.unroll(level2):
                                                for j in T.unroll(4):
                                                    for l in T.vectorized(8):
                                                        chain[j, l] = T.float32(0)
                                                for c in range(chunks // steps):
                                                    for e in T.unroll(steps):
                                                        for j in T.unroll(4):
                                                            for l in T.vectorized(8):
                                                                chain[j, l] = chain[j, l] + turned[(c * steps + e) * lanes + l0 + l1 * level0 + l2 * (level0 * level1), v * 8 + l] * keys[b * 4 + j, (c * steps + e) * lanes + l0 + l1 * level0 + l2 * (level0 * level1)]
                                                for j in T.unroll(4):
                                                    for l in T.vectorized(8):
                                                        pair[j, l] = T.if_then_else(l2 == 0, chain[j, l], pair[j, l] + chain[j, l])
                                            for j in T.unroll(4):
                                                for l in T.vectorized(8):
                                                    four[j, l] = T.if_then_else(l1 == 0, pair[j, l], four[j, l] + pair[j, l])
                                        for j in T.unroll(4):
                                            for l in T.vectorized(8):
                                                eight[j, l] = T.if_then_else(l0 == 0, four[j, l], eight[j, l] + four[j, l])
                                    for j in T.unroll(4):
                                        for l in T.vectorized(8):
                                            scores[b * 4 + j, v * 8 + l] = T.tanh(eight[j, l] / T.float32(soft_cap)) * T.float32(soft_cap) if soft_cap > 0 else eight[j, l]
                            if not full:
                                for m in range(vectors * 8):
                                    r: T.let[T.int32] = m // group
                                    seen: T.let[T.int32] = seen0 + r * more
                                    sink_pages: T.let[T.int32] = (T.min(sinks, seen) + page_tokens - 1) // page_tokens
                                    visibles[m] = T.if_then_else(
                                        (p < sink_pages or p >= begins[m] // page_tokens) and m < n_queries if window else m < n_queries,
                                        T.max(T.min(page_tokens, seen - p * page_tokens), 0),
                                        0,
                                    )
                                for v in range(vectors):
                                    for j in range(page_tokens):
                                        for l in T.vectorized(8):
                                            scores[j, v * 8 + l] = T.Select(
                                                T.And(j < visibles[v * 8 + l], T.Or(p * page_tokens + j < sinks, p * page_tokens + j >= begins[v * 8 + l])) if window else j < visibles[v * 8 + l],
                                                scores[j, v * 8 + l],
                                                T.float32(-1e30),
                                            )
                            for v in range(vectors):
                                for l in T.vectorized(8):
                                    bests[v * 8 + l] = tops[v * 8 + l]
                                for j in range(page_tokens):
                                    for l in T.vectorized(8):
                                        bests[v * 8 + l] = T.Select(scores[j, v * 8 + l] > bests[v * 8 + l], scores[j, v * 8 + l], bests[v * 8 + l])
                                for l in T.vectorized(8):
                                    scales[v * 8 + l] = T.exp(tops[v * 8 + l] - bests[v * 8 + l])
                                for l in T.vectorized(8):
                                    tops[v * 8 + l] = bests[v * 8 + l]
                                for j in range(page_tokens):
                                    for l in T.vectorized(8):
                                        totals[j, v * 8 + l] = totals[j, v * 8 + l] * scales[v * 8 + l]
                                for j in range(page_tokens):
                                    for l in T.vectorized(8):
                                        scores[j, v * 8 + l] = T.exp(scores[j, v * 8 + l] - bests[v * 8 + l])
                            if not full:
                                for v in range(vectors):
                                    for j in range(page_tokens):
                                        for l in T.vectorized(8):
                                            scores[j, v * 8 + l] = T.Select(visibles[v * 8 + l] > 0, scores[j, v * 8 + l], T.float32(0))
                            for v in range(vectors):
                                for j in range(page_tokens):
                                    for l in T.vectorized(8):
                                        totals[j, v * 8 + l] = totals[j, v * 8 + l] + scores[j, v * 8 + l]
                            for m in range(n_queries):
                                if scales[m] != T.float32(1):
                                    for c in T.unroll(head_dim // span):
                                        for l in T.vectorized(span):
                                            results[m, c * span + l] = results[m, c * span + l] * scales[m]
                            together: T.let[T.int32] = T.if_then_else(full, n_queries // 4, 0)
                            for b in range(together):
                                for c in range(head_dim // (span * spans)):
                                    for w in T.unroll(4):
                                        for u in T.unroll(spans):
                                            for l in T.vectorized(span):
                                                grown[w, u, l] = results[b * 4 + w, (c * spans + u) * span + l]
                                    for j in range(page_tokens):
                                        for u in T.unroll(spans):
                                            for w in T.unroll(4):
                                                for l in T.vectorized(span):
                                                    grown[w, u, l] = grown[w, u, l] + scores[j, b * 4 + w] * values[j, (c * spans + u) * span + l]
                                    for w in T.unroll(4):
                                        for u in T.unroll(spans):
                                            for l in T.vectorized(span):
                                                results[b * 4 + w, (c * spans + u) * span + l] = grown[w, u, l]
                            # not more than a row sees: memory behind that may hold anything, and 0 times that is not 0
                            for k in range(n_queries - together * 4):
                                m: T.let[T.int32] = together * 4 + k
                                visible: T.let[T.int32] = T.if_then_else(full, page_tokens, visibles[m])
                                for c in range(head_dim // (span * spans)):
                                    for u in T.unroll(spans):
                                        for l in T.vectorized(span):
                                            grown[0, u, l] = results[m, (c * spans + u) * span + l]
                                    for j in range(visible):
                                        for u in T.unroll(spans):
                                            for l in T.vectorized(span):
                                                grown[0, u, l] = grown[0, u, l] + scores[j, m] * values[j, (c * spans + u) * span + l]
                                    for u in T.unroll(spans):
                                        for l in T.vectorized(span):
                                            results[m, (c * spans + u) * span + l] = grown[0, u, l]
                        for m in range(n_queries):
                            row: T.let[T.int64] = T.Cast("int64", row0 + m // group)
                            g: T.let[T.int64] = vh * group + T.Cast("int64", m % group)
                            best[0] = T.float32(0)
                            for j in range(page_tokens):
                                best[0] = best[0] + totals[j, m]
                            for c in T.unroll(head_dim // span):
                                for l in T.vectorized(span):
                                    out[row, g, c * span + l] = T.Cast(dtype, results[m, c * span + l] / best[0])
                            lse[row, g] = (tops[m] + T.log(best[0])) * T.float32(1.4426950408889634)


# Rows that stand in a tree: each sees what its sequence had before the tree, and its own ancestors in it, which come before their children. It reads them
# one after another as if they were the text, with the sums of tir_attention_prefill.
@T.prim_func
def tree_attn_paged_kv(
    q_handle: T.handle, q_indptr_handle: T.handle, pages_handle: T.handle, page_indptr_handle: T.handle,
    page_values_handle: T.handle, lengths_handle: T.handle, k_position_handle: T.handle, q_position_handle: T.handle,
    out_handle: T.handle, lse_handle: T.handle,
    rotary_mode: T.int32, rope_scale_: T.float32, rope_theta_: T.float32, sm_scale: T.float32,
    tree_indptr_handle: T.handle, tree_order_handle: T.handle,
):
    T.func_attr({"tirx.noalias": True})
    rows, sequences, n_pages, entries, nodes = T.int64(), T.int64(), T.int64(), T.int64(), T.int64()
    q = T.match_buffer(q_handle, (rows, q_heads, head_dim), dtype)
    q_indptr = T.match_buffer(q_indptr_handle, (sequences + 1,), "int32")
    pages = T.match_buffer(pages_handle, (n_pages, 2, kv_heads, page_rows, head_dim), kv_dtype)
    page_indptr = T.match_buffer(page_indptr_handle, (sequences + 1,), "int32")
    page_values = T.match_buffer(page_values_handle, (entries,), "int32")
    lengths = T.match_buffer(lengths_handle, (sequences,), "int32")
    k_position = T.match_buffer(k_position_handle, (sequences,), "int32")
    q_position = T.match_buffer(q_position_handle, (rows,), "int32")
    out = T.match_buffer(out_handle, (rows, q_heads, head_dim), dtype)
    lse = T.match_buffer(lse_handle, (rows, q_heads), "float32")
    tree_indptr = T.match_buffer(tree_indptr_handle, (sequences + 1,), "int32")
    tree_order = T.match_buffer(tree_order_handle, (nodes, 2), "int32")  # of a node its number, and that behind its last descendant's
    for r, h in T.grid(rows, kv_heads):
        with T.sblock("attention"):
            vr, vh = T.axis.remap("SS", [r, h])
            T.reads(
                q[vr, vh * group : vh * group + group, 0:head_dim], q_indptr[0 : sequences + 1],
                pages[0:n_pages, 0:2, vh, 0:page_rows, 0:head_dim], page_indptr[0 : sequences + 1], page_values[0:entries],
                lengths[0:sequences], tree_indptr[0 : sequences + 1], tree_order[0:nodes, 0:2],
            )
            T.writes(out[vr, vh * group : vh * group + group, 0:head_dim], lse[vr, vh * group : vh * group + group])
            place = T.sblock_alloc_buffer((1,), "int64", scope="local")
            path = T.sblock_alloc_buffer((tree_nodes,), "int32", scope="local")
            n_path = T.sblock_alloc_buffer((1,), "int32", scope="local")
            page_of = T.sblock_alloc_buffer((page_tokens,), "int64", scope="local")
            at_of = T.sblock_alloc_buffer((page_tokens,), "int64", scope="local")
            scaled = T.sblock_alloc_buffer((group, head_dim), "float32", scope="local")
            result = T.sblock_alloc_buffer((group, head_dim), "float32", scope="local")
            part = T.sblock_alloc_buffer((heads, lanes), "float32", scope="local")
            sums = T.sblock_alloc_buffer((heads, wide, lanes), "float32", scope="local")
            score = T.sblock_alloc_buffer((heads, page_tokens), "float32", scope="local")
            top = T.sblock_alloc_buffer((group,), "float32", scope="local")
            total = T.sblock_alloc_buffer((group, page_tokens), "float32", scope="local")
            best = T.sblock_alloc_buffer((heads,), "float32", scope="local")
            token_scales = T.sblock_alloc_buffer((2, page_tokens if quantized else 1), "float32", scope="local")
            scale = T.sblock_alloc_buffer((half_page,), "float32", scope="local")
            place[0] = T.int64(0)
            while q_indptr[place[0] + 1] <= T.Cast("int32", vr):
                place[0] = place[0] + 1
            s: T.let[T.int64] = place[0]
            first: T.let[T.int32] = page_indptr[s]
            size: T.let[T.int32] = tree_indptr[s + 1] - tree_indptr[s]
            before: T.let[T.int32] = (page_indptr[s + 1] - first - 1) * page_tokens + lengths[s] - size  # the tree
            node: T.let[T.int32] = size - q_indptr[s + 1] + T.Cast("int32", vr)
            number: T.let[T.int32] = tree_order[tree_indptr[s] + node, 0]
            n_path[0] = 0
            for m in range(node + 1):
                if tree_order[tree_indptr[s] + m, 0] <= number and number < tree_order[tree_indptr[s] + m, 1]:
                    path[n_path[0]] = before + m
                    n_path[0] = n_path[0] + 1
            seen: T.let[T.int32] = before + n_path[0]
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
            for p in range((seen + page_tokens - 1) // page_tokens):
                visible: T.let[T.int32] = T.min(page_tokens, seen - p * page_tokens)
                for j in range(page_tokens):
                    if p * page_tokens + j < before:
                        page_of[j] = T.Cast("int64", page_values[first + p])
                        at_of[j] = T.Cast("int64", j)
                    else:
                        # behind the last one: the last one again, which no sum takes
                        there: T.let[T.int32] = path[T.min(p * page_tokens + j - before, n_path[0] - 1)]
                        page_of[j] = T.Cast("int64", page_values[first + there // page_tokens])
                        at_of[j] = T.Cast("int64", there % page_tokens)
                if quantized:
                    for w, j in T.grid(2, page_tokens):
                        token_scales[w, j] = T.reinterpret(
                            "float32",
                            (T.Cast("int32", pages[page_of[j], w, vh, page_tokens + (4 * at_of[j] + 0) // head_dim, (4 * at_of[j] + 0) % head_dim]) & 255)
                            | T.shift_left((T.Cast("int32", pages[page_of[j], w, vh, page_tokens + (4 * at_of[j] + 1) // head_dim, (4 * at_of[j] + 1) % head_dim]) & 255), 8)
                            | T.shift_left((T.Cast("int32", pages[page_of[j], w, vh, page_tokens + (4 * at_of[j] + 2) // head_dim, (4 * at_of[j] + 2) % head_dim]) & 255), 16)
                            | T.shift_left((T.Cast("int32", pages[page_of[j], w, vh, page_tokens + (4 * at_of[j] + 3) // head_dim, (4 * at_of[j] + 3) % head_dim]) & 255), 24)
                        )
                for x in range(group // heads):
                    for w in range(heads):
                        best[w] = top[x * heads + w]
                    for j in range(page_tokens):
                        for w in T.unroll(heads):
                            for l in T.vectorized(lanes):
                                part[w, l] = T.float32(0)
                        for c in T.unroll(chunks):
                            for w in T.unroll(heads):
                                for l in T.vectorized(lanes):
                                    part[w, l] = part[w, l] + scaled[x * heads + w, c * lanes + l] * T.Cast("float32", pages[page_of[j], 0, vh, at_of[j], c * lanes + l])
                        for w in T.unroll(heads):
                            if lanes >= 8:
                                for l in T.vectorized(4):
                                    part[w, l] = part[w, l] + part[w, l + 4]
                            if lanes >= 4:
                                for l in T.vectorized(2):
                                    part[w, l] = part[w, l] + part[w, l + 2]
                            raw: T.let[T.float32] = part[w, 0] + part[w, 1] if lanes >= 2 else part[w, 0]
                            score[w, j] = raw * token_scales[0, j] if quantized else raw
                    if soft_cap > 0:
                        for w in range(heads):
                            for u in T.unroll(2):
                                for j in T.vectorized(half_page):
                                    score[w, u * half_page + j] = T.tanh(score[w, u * half_page + j] / T.float32(soft_cap)) * T.float32(soft_cap)
                    for w in range(heads):
                        for j in range(page_tokens):
                            score[w, j] = T.if_then_else(
                                j < visible,
                                score[w, j],
                                T.float32(-1e30),
                            )
                            best[w] = T.Select(score[w, j] > best[w], score[w, j], best[w])
                    for w in range(heads):
                        g: T.let[T.int32] = x * heads + w
                        if best[w] > top[g]:
                            # lanes as in a tile: their function may round in another way than that of one number
                            for j in T.vectorized(half_page):
                                scale[j] = top[g] - best[w]
                            for j in T.vectorized(half_page):
                                scale[j] = T.exp(scale[j])
                            for u in T.unroll(2):
                                for j in T.vectorized(half_page):
                                    total[g, u * half_page + j] = total[g, u * half_page + j] * scale[0]
                            for c in T.unroll(chunks):
                                for l in T.vectorized(lanes):
                                    result[g, c * lanes + l] = result[g, c * lanes + l] * scale[0]
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
                                    sums[w, u, l] = result[x * heads + w, (c * wide + u) * lanes + l]
                        for j in range(visible):
                            for u in T.unroll(wide):
                                for w in T.unroll(heads):
                                    for l in T.vectorized(lanes):
                                        sums[w, u, l] = sums[w, u, l] + (score[w, j] * token_scales[1, j] if quantized else score[w, j]) * T.Cast("float32", pages[page_of[j], 1, vh, at_of[j], (c * wide + u) * lanes + l])
                        for w in T.unroll(heads):
                            for u in T.unroll(wide):
                                for l in T.vectorized(lanes):
                                    result[x * heads + w, (c * wide + u) * lanes + l] = sums[w, u, l]
            for g in range(group):
                best[0] = T.float32(0)
                for j in range(page_tokens):
                    best[0] = best[0] + total[g, j]
                for c in T.unroll(chunks):
                    for l in T.vectorized(lanes):
                        out[vr, vh * group + g, c * lanes + l] = T.Cast(dtype, result[g, c * lanes + l] / best[0])
                lse[vr, vh * group + g] = (top[g] + T.log(best[0])) * T.float32(1.4426950408889634)


# Tokens of a sequence move to the front, one after another: none is written before it was read.
@T.prim_func
def compact_kv_copy(pages_handle: T.handle, indptr_handle: T.handle, moves_handle: T.handle, sequences: T.int32):
    T.func_attr({"tirx.noalias": True})
    n_pages, n, total = T.int64(), T.int64(), T.int64()  # n: sequences and one
    pages = T.match_buffer(pages_handle, (n_pages, 2, kv_heads, page_rows, head_dim), kv_dtype)
    indptr = T.match_buffer(indptr_handle, (n,), "int32")
    moves = T.match_buffer(moves_handle, (2, total), "int32")  # places: page * page_tokens + place in the page
    for w, h in T.grid(2, kv_heads):
        with T.sblock("copy"):
            vw, vh = T.axis.remap("SS", [w, h])
            T.reads(pages[0:n_pages, vw, vh, 0:page_rows, 0:head_dim], indptr[0:n], moves[0:2, 0:total])
            T.writes(pages[0:n_pages, vw, vh, 0:page_rows, 0:head_dim])
            for i in range(indptr[sequences]):
                source: T.let[T.int64] = T.Cast("int64", moves[0, i] // page_tokens)
                target: T.let[T.int64] = T.Cast("int64", moves[1, i] // page_tokens)
                source_at: T.let[T.int64] = T.Cast("int64", moves[0, i] % page_tokens)
                target_at: T.let[T.int64] = T.Cast("int64", moves[1, i] % page_tokens)
                for d in range(head_dim):
                    pages[target, vw, vh, target_at, d] = pages[source, vw, vh, source_at, d]
                if quantized:
                    for b in T.unroll(4):
                        pages[target, vw, vh, page_tokens + (4 * target_at + b) // head_dim, (4 * target_at + b) % head_dim] = pages[
                            source, vw, vh, page_tokens + (4 * source_at + b) // head_dim, (4 * source_at + b) % head_dim
                        ]
