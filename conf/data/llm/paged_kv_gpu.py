# SPDX-License-Identifier: Apache-2.0
# Attention over pages and rotary embedding for targets with threads: they stand in for the functions of these names in paged_kv.py,
# whose values, arguments and pages they have.
#
# Of attention, a thread block takes a row and a head of keys, with all heads of queries that share it. It goes over what the row sees in steps of as
# many tokens as there are threads: each thread scores a token, the block finds the largest score, then each thread sums some elements of
# the result over the step's tokens, page by page. Sums are in float32, in an order that depends on the row's own position alone.
from tvm.script import tirx as T

q_heads = 8
kv_heads = 4
head_dim = 64
page_tokens = 16
dtype = "float32"
kv_dtype = "float32"
window = False
soft_cap = 0.0
rotary_dim = 64  # 0: nothing is rotated
interleaved = False  # pairs are neighbours; else they are half of rotary_dim apart
amplitude = 1.0  # of cosines and sines
threads = 128  # of a block, the target's: a power of two, a page's tokens or more
group = q_heads // kv_heads
quantized = kv_dtype == "int8"
page_rows = page_tokens + (4 * page_tokens + head_dim - 1) // head_dim if quantized else page_tokens
lanes = 8 if head_dim % 8 == 0 else (4 if head_dim % 4 == 0 else (2 if head_dim % 2 == 0 else 1))
heads = 4 if group % 4 == 0 else (2 if group % 2 == 0 else 1)
chunks = head_dim // lanes
own = (group * head_dim + threads - 1) // threads  # elements of the result of a thread
parts = 16  # of a step's scores, for the largest one
at_once = 4  # pages of values
tree_nodes = 256  # of a sequence, that wait for some of them to be taken
half = rotary_dim // 2
pairs = (head_dim + 1) // 2


@T.prim_func
def tir_attention_prefill(
    q_handle: T.handle, q_indptr_handle: T.handle, pages_handle: T.handle, page_indptr_handle: T.handle,
    page_values_handle: T.handle, lengths_handle: T.handle, k_position_handle: T.handle, q_position_handle: T.handle,
    out_handle: T.handle, lse_handle: T.handle,
    causal: T.int32, rotary_mode: T.int32, rope_scale_: T.float32, rope_theta_: T.float32, sm_scale: T.float32,
):
    T.func_attr({"tirx.noalias": True, "tirx.is_scheduled": True})
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
    for b in T.thread_binding(rows * kv_heads, thread="blockIdx.x"):
        for x in T.thread_binding(threads, thread="threadIdx.x"):
            with T.sblock("attention"):
                vb, vx = T.axis.remap("SS", [b, x])
                T.reads(
                    q[0:rows, 0:q_heads, 0:head_dim], q_indptr[0 : sequences + 1],
                    pages[0:n_pages, 0:2, 0:kv_heads, 0:page_rows, 0:head_dim], page_indptr[0 : sequences + 1], page_values[0:entries],
                )
                T.writes(out[0:rows, 0:q_heads, 0:head_dim], lse[0:rows, 0:q_heads])
                query = T.sblock_alloc_buffer((group, head_dim), "float32", scope="shared")
                score = T.sblock_alloc_buffer((group, threads), "float32", scope="shared")
                most = T.sblock_alloc_buffer((group, parts), "float32", scope="shared")
                top = T.sblock_alloc_buffer((group,), "float32", scope="shared")
                scale = T.sblock_alloc_buffer((group,), "float32", scope="shared")
                value_scale = T.sblock_alloc_buffer((threads if quantized else 1,), "float32", scope="shared")
                place = T.sblock_alloc_buffer((1,), "int64", scope="local")
                best = T.sblock_alloc_buffer((1,), "float32", scope="local")
                key = T.sblock_alloc_buffer((lanes,), "float32", scope="local")
                part = T.sblock_alloc_buffer((heads, lanes), "float32", scope="local")
                key_scale = T.sblock_alloc_buffer((1,), "float32", scope="local")
                result = T.sblock_alloc_buffer((own,), "float32", scope="local")
                total = T.sblock_alloc_buffer((own,), "float32", scope="local")
                row: T.let[T.int64] = vb // kv_heads
                vh: T.let[T.int64] = vb % kv_heads
                place[0] = T.int64(0)
                while q_indptr[place[0] + 1] <= T.Cast("int32", row):
                    place[0] = place[0] + 1
                s: T.let[T.int64] = T.tvm_thread_invariant(place[0])
                first: T.let[T.int32] = page_indptr[s]
                in_last: T.let[T.int32] = lengths[0, s] if window else lengths[s]
                in_table: T.let[T.int32] = (page_indptr[s + 1] - first - 1) * page_tokens + in_last
                behind: T.let[T.int32] = q_indptr[s + 1] - T.Cast("int32", row) - 1  # rows of the sequence
                seen: T.let[T.int32] = T.if_then_else(causal > 0, in_table - behind, in_table)
                sinks: T.let[T.int32] = lengths[2, s] if window else T.int32(0)
                begin: T.let[T.int32] = T.max(sinks, lengths[1, s] + T.Cast("int32", row) - q_indptr[s]) if window else T.int32(0)
                sink_pages: T.let[T.int32] = (T.min(sinks, seen) + page_tokens - 1) // page_tokens
                next_page: T.let[T.int32] = T.max(begin // page_tokens, sink_pages)
                n_seen: T.let[T.int32] = (seen + page_tokens - 1) // page_tokens
                # pages that the row sees, in order: those of sinks, those of the window; tokens up to the last one that it sees
                n_list: T.let[T.int32] = sink_pages + T.max(n_seen - next_page, 0)
                last_page: T.let[T.int32] = T.if_then_else(n_list <= sink_pages, n_list - 1, n_list - 1 - sink_pages + next_page)
                n_tokens: T.let[T.int32] = (n_list - 1) * page_tokens + T.min(page_tokens, seen - last_page * page_tokens)
                for e in range(own):
                    if vx + e * threads < group * head_dim:
                        query[(vx + e * threads) // head_dim, (vx + e * threads) % head_dim] = (
                            T.Cast("float32", q[row, vh * group + (vx + e * threads) // head_dim, (vx + e * threads) % head_dim]) * sm_scale
                        )
                for e in T.unroll(own):
                    result[e] = T.float32(0)
                    total[e] = T.float32(0)
                for e in range((group + threads - 1) // threads):
                    if vx + e * threads < group:
                        top[vx + e * threads] = T.float32(-1e30)
                for step in range((n_tokens + threads - 1) // threads):
                    t: T.let[T.int32] = step * threads + T.Cast("int32", vx)
                    i: T.let[T.int32] = t // page_tokens
                    p: T.let[T.int32] = T.if_then_else(i < sink_pages, i, i - sink_pages + next_page) if window else i
                    j: T.let[T.int32] = t % page_tokens
                    for g in range(group):
                        score[g, vx] = T.float32(-1e30)
                    if t < n_tokens:
                        page: T.let[T.int64] = T.Cast("int64", page_values[first + p])
                        if quantized:
                            for w in T.unroll(2):
                                key_scale[0] = T.reinterpret(
                                    "float32",
                                    (T.Cast("int32", pages[page, 1 - w, vh, page_tokens + (4 * j + 0) // head_dim, (4 * j + 0) % head_dim]) & 255)
                                    | T.shift_left((T.Cast("int32", pages[page, 1 - w, vh, page_tokens + (4 * j + 1) // head_dim, (4 * j + 1) % head_dim]) & 255), 8)
                                    | T.shift_left((T.Cast("int32", pages[page, 1 - w, vh, page_tokens + (4 * j + 2) // head_dim, (4 * j + 2) % head_dim]) & 255), 16)
                                    | T.shift_left((T.Cast("int32", pages[page, 1 - w, vh, page_tokens + (4 * j + 3) // head_dim, (4 * j + 3) % head_dim]) & 255), 24),
                                )
                                if w == 0:
                                    value_scale[vx] = key_scale[0]
                        for y in range(group // heads):
                            for w in T.unroll(heads):
                                for l in T.vectorized(lanes):
                                    part[w, l] = T.float32(0)
                            for c in T.unroll(chunks):
                                for l in T.vectorized(lanes):
                                    key[l] = T.Cast("float32", pages[page, 0, vh, j, c * lanes + l])
                                for w in T.unroll(heads):
                                    for l in T.vectorized(lanes):
                                        part[w, l] = part[w, l] + query[y * heads + w, c * lanes + l] * key[l]
                            for w in T.unroll(heads):
                                if lanes >= 8:
                                    for l in T.vectorized(4):
                                        part[w, l] = part[w, l] + part[w, l + 4]
                                if lanes >= 4:
                                    for l in T.vectorized(2):
                                        part[w, l] = part[w, l] + part[w, l + 2]
                                raw: T.let[T.float32] = part[w, 0] + part[w, 1] if lanes >= 2 else part[w, 0]
                                scored: T.let[T.float32] = raw * key_scale[0] if quantized else raw
                                capped: T.let[T.float32] = T.tanh(scored / T.float32(soft_cap)) * T.float32(soft_cap) if soft_cap > 0 else scored
                                score[y * heads + w, vx] = T.if_then_else(
                                    p * page_tokens + j < sinks or p * page_tokens + j >= begin, capped, T.float32(-1e30)
                                ) if window else capped
                    for e in range((group * parts + threads - 1) // threads):
                        if vx + e * threads < group * parts:
                            best[0] = T.float32(-1e30)
                            for k in T.unroll(threads // parts):
                                best[0] = T.max(best[0], score[(vx + e * threads) // parts, k * parts + (vx + e * threads) % parts])
                            most[(vx + e * threads) // parts, (vx + e * threads) % parts] = best[0]
                    for e in range((group + threads - 1) // threads):
                        if vx + e * threads < group:
                            best[0] = top[vx + e * threads]
                            for k in T.unroll(parts):
                                best[0] = T.max(best[0], most[vx + e * threads, k])
                            scale[vx + e * threads] = T.exp(top[vx + e * threads] - best[0])
                            top[vx + e * threads] = best[0]
                    for g in range(group):
                        score[g, vx] = T.exp(score[g, vx] - top[g])
                    # not more than the row sees: memory behind that may hold anything, and 0 times that is not 0
                    n_here: T.let[T.int32] = T.min(threads, n_tokens - step * threads)
                    for e in range(own):
                        if vx + e * threads < group * head_dim:
                            g: T.let[T.int32] = (vx + e * threads) // head_dim
                            d: T.let[T.int32] = (vx + e * threads) % head_dim
                            result[e] = result[e] * scale[g]
                            total[e] = total[e] * scale[g]
                            # several pages at a time, so that the loads of all of them go on together; then the others one by one
                            together: T.let[T.int32] = n_here // page_tokens // at_once * at_once
                            for k0 in range(together // at_once):
                                for k1 in T.unroll(at_once):
                                    i2: T.let[T.int32] = step * (threads // page_tokens) + k0 * at_once + k1
                                    p2: T.let[T.int32] = T.if_then_else(i2 < sink_pages, i2, i2 - sink_pages + next_page) if window else i2
                                    page2: T.let[T.int64] = T.Cast("int64", page_values[first + p2])
                                    for j2 in T.unroll(page_tokens):
                                        weight: T.let[T.float32] = score[g, (k0 * at_once + k1) * page_tokens + j2]
                                        total[e] = total[e] + weight
                                        result[e] = result[e] + (weight * value_scale[(k0 * at_once + k1) * page_tokens + j2] if quantized else weight) * T.Cast("float32", pages[page2, 1, vh, j2, d])
                            for k in range((n_here + page_tokens - 1) // page_tokens - together):
                                i3: T.let[T.int32] = step * (threads // page_tokens) + together + k
                                p3: T.let[T.int32] = T.if_then_else(i3 < sink_pages, i3, i3 - sink_pages + next_page) if window else i3
                                page3: T.let[T.int64] = T.Cast("int64", page_values[first + p3])
                                if (together + k + 1) * page_tokens <= n_here:
                                    for j3 in T.unroll(page_tokens):
                                        weight: T.let[T.float32] = score[g, (together + k) * page_tokens + j3]
                                        total[e] = total[e] + weight
                                        result[e] = result[e] + (weight * value_scale[(together + k) * page_tokens + j3] if quantized else weight) * T.Cast("float32", pages[page3, 1, vh, j3, d])
                                else:
                                    for j3 in range(n_here - (together + k) * page_tokens):
                                        weight: T.let[T.float32] = score[g, (together + k) * page_tokens + j3]
                                        total[e] = total[e] + weight
                                        result[e] = result[e] + (weight * value_scale[(together + k) * page_tokens + j3] if quantized else weight) * T.Cast("float32", pages[page3, 1, vh, j3, d])
                for e in range(own):
                    if vx + e * threads < group * head_dim:
                        g: T.let[T.int32] = (vx + e * threads) // head_dim
                        d: T.let[T.int32] = (vx + e * threads) % head_dim
                        out[row, vh * group + g, d] = T.Cast(dtype, result[e] / total[e])
                        if d == 0:
                            lse[row, vh * group + g] = (top[g] + T.log(total[e])) * T.float32(1.4426950408889634)


# Rows that stand in a tree, as in paged_kv.py: what a row sees is read as if it were the text, with the sums above.
@T.prim_func
def tree_attn_paged_kv(
    q_handle: T.handle, q_indptr_handle: T.handle, pages_handle: T.handle, page_indptr_handle: T.handle,
    page_values_handle: T.handle, lengths_handle: T.handle, k_position_handle: T.handle, q_position_handle: T.handle,
    out_handle: T.handle, lse_handle: T.handle,
    rotary_mode: T.int32, rope_scale_: T.float32, rope_theta_: T.float32, sm_scale: T.float32,
    tree_indptr_handle: T.handle, tree_order_handle: T.handle,
):
    T.func_attr({"tirx.noalias": True, "tirx.is_scheduled": True})
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
    tree_order = T.match_buffer(tree_order_handle, (nodes, 2), "int32")
    for b in T.thread_binding(rows * kv_heads, thread="blockIdx.x"):
        for x in T.thread_binding(threads, thread="threadIdx.x"):
            with T.sblock("attention"):
                vb, vx = T.axis.remap("SS", [b, x])
                T.reads(
                    q[0:rows, 0:q_heads, 0:head_dim], q_indptr[0 : sequences + 1],
                    pages[0:n_pages, 0:2, 0:kv_heads, 0:page_rows, 0:head_dim], page_indptr[0 : sequences + 1], page_values[0:entries],
                    lengths[0:sequences], tree_indptr[0 : sequences + 1], tree_order[0:nodes, 0:2],
                )
                T.writes(out[0:rows, 0:q_heads, 0:head_dim], lse[0:rows, 0:q_heads])
                query = T.sblock_alloc_buffer((group, head_dim), "float32", scope="shared")
                score = T.sblock_alloc_buffer((group, threads), "float32", scope="shared")
                most = T.sblock_alloc_buffer((group, parts), "float32", scope="shared")
                top = T.sblock_alloc_buffer((group,), "float32", scope="shared")
                scale = T.sblock_alloc_buffer((group,), "float32", scope="shared")
                value_scale = T.sblock_alloc_buffer((threads if quantized else 1,), "float32", scope="shared")
                path = T.sblock_alloc_buffer((tree_nodes,), "int32", scope="shared")
                place = T.sblock_alloc_buffer((1,), "int64", scope="local")
                count = T.sblock_alloc_buffer((2,), "int32", scope="local")
                best = T.sblock_alloc_buffer((1,), "float32", scope="local")
                key = T.sblock_alloc_buffer((lanes,), "float32", scope="local")
                part = T.sblock_alloc_buffer((heads, lanes), "float32", scope="local")
                key_scale = T.sblock_alloc_buffer((1,), "float32", scope="local")
                result = T.sblock_alloc_buffer((own,), "float32", scope="local")
                total = T.sblock_alloc_buffer((own,), "float32", scope="local")
                row: T.let[T.int64] = vb // kv_heads
                vh: T.let[T.int64] = vb % kv_heads
                place[0] = T.int64(0)
                while q_indptr[place[0] + 1] <= T.Cast("int32", row):
                    place[0] = place[0] + 1
                s: T.let[T.int64] = T.tvm_thread_invariant(place[0])
                first: T.let[T.int32] = page_indptr[s]
                size: T.let[T.int32] = tree_indptr[s + 1] - tree_indptr[s]
                before: T.let[T.int32] = (page_indptr[s + 1] - first - 1) * page_tokens + lengths[s] - size  # the tree
                node: T.let[T.int32] = size - q_indptr[s + 1] + T.Cast("int32", row)
                number: T.let[T.int32] = tree_order[tree_indptr[s] + node, 0]
                # each thread finds the places of some ancestors: one behind those that come before it
                for e in range((tree_nodes + threads - 1) // threads):
                    m: T.let[T.int32] = T.Cast("int32", vx) + e * threads
                    if m <= node:
                        if tree_order[tree_indptr[s] + m, 0] <= number and number < tree_order[tree_indptr[s] + m, 1]:
                            count[0] = 0
                            for m2 in range(m):
                                if tree_order[tree_indptr[s] + m2, 0] <= number and number < tree_order[tree_indptr[s] + m2, 1]:
                                    count[0] = count[0] + 1
                            path[count[0]] = before + m
                count[1] = 0
                for m3 in range(node + 1):
                    if tree_order[tree_indptr[s] + m3, 0] <= number and number < tree_order[tree_indptr[s] + m3, 1]:
                        count[1] = count[1] + 1
                n_tokens: T.let[T.int32] = before + T.tvm_thread_invariant(count[1])
                for e in range(own):
                    if vx + e * threads < group * head_dim:
                        query[(vx + e * threads) // head_dim, (vx + e * threads) % head_dim] = (
                            T.Cast("float32", q[row, vh * group + (vx + e * threads) // head_dim, (vx + e * threads) % head_dim]) * sm_scale
                        )
                for e in T.unroll(own):
                    result[e] = T.float32(0)
                    total[e] = T.float32(0)
                for e in range((group + threads - 1) // threads):
                    if vx + e * threads < group:
                        top[vx + e * threads] = T.float32(-1e30)
                for step in range((n_tokens + threads - 1) // threads):
                    t: T.let[T.int32] = step * threads + T.Cast("int32", vx)
                    for g in range(group):
                        score[g, vx] = T.float32(-1e30)
                    if t < n_tokens:
                        there: T.let[T.int32] = T.if_then_else(t < before, t, path[T.max(t - before, 0)])
                        page: T.let[T.int64] = T.Cast("int64", page_values[first + there // page_tokens])
                        j: T.let[T.int32] = there % page_tokens
                        if quantized:
                            for w in T.unroll(2):
                                key_scale[0] = T.reinterpret(
                                    "float32",
                                    (T.Cast("int32", pages[page, 1 - w, vh, page_tokens + (4 * j + 0) // head_dim, (4 * j + 0) % head_dim]) & 255)
                                    | T.shift_left((T.Cast("int32", pages[page, 1 - w, vh, page_tokens + (4 * j + 1) // head_dim, (4 * j + 1) % head_dim]) & 255), 8)
                                    | T.shift_left((T.Cast("int32", pages[page, 1 - w, vh, page_tokens + (4 * j + 2) // head_dim, (4 * j + 2) % head_dim]) & 255), 16)
                                    | T.shift_left((T.Cast("int32", pages[page, 1 - w, vh, page_tokens + (4 * j + 3) // head_dim, (4 * j + 3) % head_dim]) & 255), 24),
                                )
                                if w == 0:
                                    value_scale[vx] = key_scale[0]
                        for y in range(group // heads):
                            for w in T.unroll(heads):
                                for l in T.vectorized(lanes):
                                    part[w, l] = T.float32(0)
                            for c in T.unroll(chunks):
                                for l in T.vectorized(lanes):
                                    key[l] = T.Cast("float32", pages[page, 0, vh, j, c * lanes + l])
                                for w in T.unroll(heads):
                                    for l in T.vectorized(lanes):
                                        part[w, l] = part[w, l] + query[y * heads + w, c * lanes + l] * key[l]
                            for w in T.unroll(heads):
                                if lanes >= 8:
                                    for l in T.vectorized(4):
                                        part[w, l] = part[w, l] + part[w, l + 4]
                                if lanes >= 4:
                                    for l in T.vectorized(2):
                                        part[w, l] = part[w, l] + part[w, l + 2]
                                raw: T.let[T.float32] = part[w, 0] + part[w, 1] if lanes >= 2 else part[w, 0]
                                scored: T.let[T.float32] = raw * key_scale[0] if quantized else raw
                                capped: T.let[T.float32] = T.tanh(scored / T.float32(soft_cap)) * T.float32(soft_cap) if soft_cap > 0 else scored
                                score[y * heads + w, vx] = capped
                    for e in range((group * parts + threads - 1) // threads):
                        if vx + e * threads < group * parts:
                            best[0] = T.float32(-1e30)
                            for k in T.unroll(threads // parts):
                                best[0] = T.max(best[0], score[(vx + e * threads) // parts, k * parts + (vx + e * threads) % parts])
                            most[(vx + e * threads) // parts, (vx + e * threads) % parts] = best[0]
                    for e in range((group + threads - 1) // threads):
                        if vx + e * threads < group:
                            best[0] = top[vx + e * threads]
                            for k in T.unroll(parts):
                                best[0] = T.max(best[0], most[vx + e * threads, k])
                            scale[vx + e * threads] = T.exp(top[vx + e * threads] - best[0])
                            top[vx + e * threads] = best[0]
                    for g in range(group):
                        score[g, vx] = T.exp(score[g, vx] - top[g])
                    # not more than the row sees: memory behind that may hold anything, and 0 times that is not 0
                    n_here: T.let[T.int32] = T.min(threads, n_tokens - step * threads)
                    for e in range(own):
                        if vx + e * threads < group * head_dim:
                            g: T.let[T.int32] = (vx + e * threads) // head_dim
                            d: T.let[T.int32] = (vx + e * threads) % head_dim
                            result[e] = result[e] * scale[g]
                            total[e] = total[e] * scale[g]
                            for k in range(n_here):
                                t2: T.let[T.int32] = step * threads + k
                                there2: T.let[T.int32] = T.if_then_else(t2 < before, t2, path[T.max(t2 - before, 0)])
                                page2: T.let[T.int64] = T.Cast("int64", page_values[first + there2 // page_tokens])
                                weight: T.let[T.float32] = score[g, k]
                                total[e] = total[e] + weight
                                result[e] = result[e] + (weight * value_scale[k] if quantized else weight) * T.Cast("float32", pages[page2, 1, vh, there2 % page_tokens, d])
                for e in range(own):
                    if vx + e * threads < group * head_dim:
                        g: T.let[T.int32] = (vx + e * threads) // head_dim
                        d: T.let[T.int32] = (vx + e * threads) % head_dim
                        out[row, vh * group + g, d] = T.Cast(dtype, result[e] / total[e])
                        if d == 0:
                            lse[row, vh * group + g] = (top[g] + T.log(total[e])) * T.float32(1.4426950408889634)


# A pair of elements of a row and a head at a time, queries and keys that are rotated, then what is not, and values.
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
    for r, h, i in T.grid(rows, q_heads + 2 * kv_heads, pairs):
        with T.sblock("rotary"):
            vr, vh, vi = T.axis.remap("SSS", [r, h, i])
            T.reads(qkv[vr, vh, 0:head_dim], position_map[vr], frequency[row, 0:half])
            T.writes(q[vr, 0:q_heads, 0:head_dim], k[vr, 0:kv_heads, 0:head_dim], v[vr, 0:kv_heads, 0:head_dim])
            if vi < half and vh < q_heads + kv_heads:
                angle: T.let[T.float32] = T.Cast("float32", position_map[vr]) * frequency[row, vi]
                cosine: T.let[T.float32] = T.cos(angle) * T.float32(amplitude)
                sine: T.let[T.float32] = T.sin(angle) * T.float32(amplitude)
                a: T.let[T.int32] = 2 * vi if interleaved else 1 * vi
                b: T.let[T.int32] = 2 * vi + 1 if interleaved else vi + half
                x: T.let[T.float32] = T.Cast("float32", qkv[vr, vh, a])
                y: T.let[T.float32] = T.Cast("float32", qkv[vr, vh, b])
                if vh < q_heads:
                    q[vr, vh, a] = T.Cast(dtype, x * cosine - y * sine)
                    q[vr, vh, b] = T.Cast(dtype, y * cosine + x * sine)
                else:
                    k[vr, vh - q_heads, a] = T.Cast(dtype, x * cosine - y * sine)
                    k[vr, vh - q_heads, b] = T.Cast(dtype, y * cosine + x * sine)
            else:
                for e in T.unroll(2):
                    if 2 * vi + e < head_dim:
                        if vh < q_heads:
                            q[vr, vh, 2 * vi + e] = qkv[vr, vh, 2 * vi + e]
                        else:
                            if vh < q_heads + kv_heads:
                                k[vr, vh - q_heads, 2 * vi + e] = qkv[vr, vh, 2 * vi + e]
                            else:
                                v[vr, vh - (q_heads + kv_heads), 2 * vi + e] = qkv[vr, vh, 2 * vi + e]
