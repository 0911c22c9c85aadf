# SPDX-License-Identifier: Apache-2.0
# On the cpu the products and the softmax of an attention are one program, which reads what is permuted as it lies; a value
# that something else reads, too, keeps its own.
# target: {"kind": "cpu", "mcpu": "x86-64-v2"}
# passes: BlockLayouts, LegalizeOps, DeadCodeElimination
@I.ir_module
class Before:
    @R.function
    def main(q: R.Tensor((1, 24, 2, 6), dtype="float32"), k: R.Tensor((1, 30, 2, 6), dtype="float32"), v: R.Tensor((1, 2, 30, 5), dtype="float32"), mask: R.Tensor((1, 1, 1, 30), dtype="float32")):
        with R.dataflow():
            q1 = R.permute_dims(q, axes=[0, 2, 1, 3])
            k1 = R.permute_dims(k, axes=[0, 2, 3, 1])
            s = R.matmul(q1, k1)
            t = R.divide(s, R.const(4.0, "float32"))
            u = R.add(t, mask)
            p = R.nn.softmax(u, axis=-1)
            y = R.matmul(p, v)
            z = R.permute_dims(y, axes=[0, 2, 1, 3])
            gv = z, s
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def attention1(q: T.Buffer((T.int64(1), T.int64(24), T.int64(2), T.int64(6)), "float32"), k: T.Buffer((T.int64(1), T.int64(30), T.int64(2), T.int64(6)), "float32"), v: T.Buffer((T.int64(1), T.int64(2), T.int64(30), T.int64(5)), "float32"), change: T.Buffer((T.int64(1), T.int64(1), T.int64(1), T.int64(30)), "float32"), attention: T.Buffer((T.int64(1), T.int64(24), T.int64(2), T.int64(5)), "float32")):
        T.func_attr({"op_pattern": 8, "tirx.is_scheduled": True, "tirx.noalias": True})
        # with T.sblock("root"):
        for tile in T.parallel(T.int64(2)):
            with T.sblock("attention"):
                v_batch = T.axis.spatial(T.int64(1), tile // T.int64(2))
                v_batch_1 = T.axis.spatial(T.int64(2), tile % T.int64(2))
                v_tile = T.axis.spatial(T.int64(1), T.int64(0))
                T.reads(q[T.int64(0), T.int64(0):T.int64(24), T.int64(0):T.int64(2), T.int64(0):T.int64(6)], k[T.int64(0), T.int64(0):T.int64(30), T.int64(0):T.int64(2), T.int64(0):T.int64(6)], v[T.int64(0), T.int64(0):T.int64(2), T.int64(0):T.int64(30), T.int64(0):T.int64(5)], change[T.int64(0), T.int64(0), T.int64(0), T.int64(0):T.int64(30)])
                T.writes(attention[T.int64(0), T.int64(0):T.int64(24), T.int64(0):T.int64(2), T.int64(0):T.int64(5)])
                queries = T.sblock_alloc_buffer((T.int64(144),), scope="local")
                keys = T.sblock_alloc_buffer((T.int64(192),), scope="local")
                values = T.sblock_alloc_buffer((T.int64(256),), scope="local")
                weights = T.sblock_alloc_buffer((T.int64(384),), scope="local")
                outputs = T.sblock_alloc_buffer((T.int64(192),), scope="local")
                top = T.sblock_alloc_buffer((T.int64(24),), scope="local")
                sum = T.sblock_alloc_buffer((T.int64(24),), scope="local")
                acc = T.sblock_alloc_buffer((T.int64(48),), scope="local")
                factor = T.sblock_alloc_buffer((T.int64(12),), scope="local")
                now = T.sblock_alloc_buffer((T.int64(12),), scope="local")
                square = T.sblock_alloc_buffer((T.int64(16),), scope="local")
                square_1 = T.sblock_alloc_buffer((T.int64(16),), scope="local")
                square_2 = T.sblock_alloc_buffer((T.int64(16),), scope="local")
                for group in range(T.int64(2)):
                    for j in T.unroll(T.int64(3)):
                        for v_1 in T.vectorized(T.int64(4)):
                            top[group * T.int64(12) + (j * T.int64(4) + v_1)] = T.float32("-inf")
                            sum[group * T.int64(12) + (j * T.int64(4) + v_1)] = T.float32(0.0)
                    for c in range(T.int64(8)):
                        for j_1 in T.unroll(T.int64(3)):
                            for v_2 in T.vectorized(T.int64(4)):
                                outputs[(group * T.int64(8) + c) * T.int64(12) + (j_1 * T.int64(4) + v_2)] = T.float32(0.0)
                    for i, c_1 in T.grid(T.int64(12), T.int64(6)):
                        queries[(group * T.int64(6) + c_1) * T.int64(12) + i] = q[T.int64(0), (v_tile * T.int64(2) + group) * T.int64(12) + i, v_batch_1, c_1] * T.float32(0.25)
                for keys_1 in range(T.int64(1)):
                    key0: T.let[T.int64] = keys_1 * T.int64(32)
                    n_keys: T.let[T.int64] = T.min(T.int64(32), T.int64(30) - key0)
                    for r, c_2 in T.grid((n_keys + T.int64(4) - T.int64(1)) // T.int64(4) * T.int64(4), T.int64(6)):
                        keys[r * T.int64(6) + c_2] = k[T.int64(0), T.min(key0 + r, T.int64(29)), v_batch_1, c_2]
                    for r_1, c_3, v_3 in T.grid(n_keys, T.int64(1), T.int64(8)):
                        values[(c_3 * T.int64(32) + r_1) * T.int64(8) + v_3] = T.if_then_else(c_3 * T.int64(8) + v_3 < T.int64(5), v[T.int64(0), v_batch_1, key0 + r_1, c_3 * T.int64(8) + v_3], T.float32(0.0))
                    for group_1 in range(T.int64(2)):
                        for keys_2 in range((n_keys + T.int64(4) - T.int64(1)) // T.int64(4)):
                            for r_2 in T.unroll(T.int64(4)):
                                for j_2 in T.unroll(T.int64(3)):
                                    for v_4 in T.vectorized(T.int64(4)):
                                        acc[r_2 * T.int64(12) + (j_2 * T.int64(4) + v_4)] = T.float32(0.0)
                            for c_4 in range(T.int64(6)):
                                for r_3 in T.unroll(T.int64(4)):
                                    for j_3 in T.unroll(T.int64(3)):
                                        for v_5 in T.vectorized(T.int64(4)):
                                            acc[r_3 * T.int64(12) + (j_3 * T.int64(4) + v_5)] = acc[r_3 * T.int64(12) + (j_3 * T.int64(4) + v_5)] + keys[(keys_2 * T.int64(4) + r_3) * T.int64(6) + c_4] * queries[(group_1 * T.int64(6) + c_4) * T.int64(12) + (j_3 * T.int64(4) + v_5)]
                            for r_4 in T.unroll(T.int64(4)):
                                for j_4 in T.unroll(T.int64(3)):
                                    for v_6 in T.vectorized(T.int64(4)):
                                        weights[(keys_2 * T.int64(4) + r_4) * T.int64(12) + (j_4 * T.int64(4) + v_6)] = acc[r_4 * T.int64(12) + (j_4 * T.int64(4) + v_6)]
                        T.evaluate(T.int64(0))
                        for r_5 in range(n_keys):
                            for j_5 in T.unroll(T.int64(3)):
                                for v_7 in T.vectorized(T.int64(4)):
                                    weights[r_5 * T.int64(12) + (j_5 * T.int64(4) + v_7)] = weights[r_5 * T.int64(12) + (j_5 * T.int64(4) + v_7)] + change[T.int64(0), T.int64(0), T.int64(0), key0 + r_5]
                        for j_6 in T.unroll(T.int64(3)):
                            for v_8 in T.vectorized(T.int64(4)):
                                now[j_6 * T.int64(4) + v_8] = top[group_1 * T.int64(12) + (j_6 * T.int64(4) + v_8)]
                        for r_6 in range(n_keys):
                            for j_7 in T.unroll(T.int64(3)):
                                for v_9 in T.vectorized(T.int64(4)):
                                    now[j_7 * T.int64(4) + v_9] = T.max(now[j_7 * T.int64(4) + v_9], weights[r_6 * T.int64(12) + (j_7 * T.int64(4) + v_9)])
                        for j_8 in T.unroll(T.int64(3)):
                            for v_10 in T.vectorized(T.int64(4)):
                                factor[j_8 * T.int64(4) + v_10] = T.exp(top[group_1 * T.int64(12) + (j_8 * T.int64(4) + v_10)] - T.Select(now[j_8 * T.int64(4) + v_10] == T.float32("-inf"), T.float32(0.0), now[j_8 * T.int64(4) + v_10]))
                                top[group_1 * T.int64(12) + (j_8 * T.int64(4) + v_10)] = now[j_8 * T.int64(4) + v_10]
                                now[j_8 * T.int64(4) + v_10] = T.Select(now[j_8 * T.int64(4) + v_10] == T.float32("-inf"), T.float32(0.0), now[j_8 * T.int64(4) + v_10])
                        for j_9 in T.unroll(T.int64(3)):
                            for v_11 in T.vectorized(T.int64(4)):
                                acc[j_9 * T.int64(4) + v_11] = sum[group_1 * T.int64(12) + (j_9 * T.int64(4) + v_11)] * factor[j_9 * T.int64(4) + v_11]
                        for r_7 in range(n_keys):
                            for j_10 in T.unroll(T.int64(3)):
                                for v_12 in T.vectorized(T.int64(4)):
                                    p: T.let[T.float32] = T.exp(weights[r_7 * T.int64(12) + (j_10 * T.int64(4) + v_12)] - now[j_10 * T.int64(4) + v_12])
                                    weights[r_7 * T.int64(12) + (j_10 * T.int64(4) + v_12)] = p
                                    acc[j_10 * T.int64(4) + v_12] = acc[j_10 * T.int64(4) + v_12] + p
                        for j_11 in T.unroll(T.int64(3)):
                            for v_13 in T.vectorized(T.int64(4)):
                                sum[group_1 * T.int64(12) + (j_11 * T.int64(4) + v_13)] = acc[j_11 * T.int64(4) + v_13]
                        for panel, part in T.grid(T.int64(1), T.int64(2)):
                            for c_5 in T.unroll(T.int64(4)):
                                for j_12 in T.unroll(T.int64(3)):
                                    for v_14 in T.vectorized(T.int64(4)):
                                        acc[c_5 * T.int64(12) + (j_12 * T.int64(4) + v_14)] = outputs[(group_1 * T.int64(8) + (panel * T.int64(8) + (part * T.int64(4) + c_5))) * T.int64(12) + (j_12 * T.int64(4) + v_14)] * factor[j_12 * T.int64(4) + v_14]
                            for key in range(n_keys):
                                for c_6 in T.unroll(T.int64(4)):
                                    for j_13 in T.unroll(T.int64(3)):
                                        for v_15 in T.vectorized(T.int64(4)):
                                            acc[c_6 * T.int64(12) + (j_13 * T.int64(4) + v_15)] = acc[c_6 * T.int64(12) + (j_13 * T.int64(4) + v_15)] + values[(panel * T.int64(32) + key) * T.int64(8) + (part * T.int64(4) + c_6)] * weights[key * T.int64(12) + (j_13 * T.int64(4) + v_15)]
                            for c_7 in T.unroll(T.int64(4)):
                                for j_14 in T.unroll(T.int64(3)):
                                    for v_16 in T.vectorized(T.int64(4)):
                                        outputs[(group_1 * T.int64(8) + (panel * T.int64(8) + (part * T.int64(4) + c_7))) * T.int64(12) + (j_14 * T.int64(4) + v_16)] = acc[c_7 * T.int64(12) + (j_14 * T.int64(4) + v_16)]
                for group_2 in range(T.int64(2)):
                    for j_15 in T.unroll(T.int64(3)):
                        for v_17 in T.vectorized(T.int64(4)):
                            sum[group_2 * T.int64(12) + (j_15 * T.int64(4) + v_17)] = T.float32(1.0) / sum[group_2 * T.int64(12) + (j_15 * T.int64(4) + v_17)]
                    for i_1, c_8 in T.grid(T.int64(12), T.int64(5)):
                        attention[v_batch, (v_tile * T.int64(2) + group_2) * T.int64(12) + i_1, v_batch_1, c_8] = outputs[(group_2 * T.int64(8) + c_8) * T.int64(12) + i_1] * sum[group_2 * T.int64(12) + i_1]

    @T.prim_func(private=True, s_tir=True)
    def matmul(A: T.Buffer((T.int64(1), T.int64(2), T.int64(24), T.int64(6)), "float32"), B: T.Buffer((T.int64(1), T.int64(2), T.int64(6), T.int64(30)), "float32"), matmul: T.Buffer((T.int64(1), T.int64(2), T.int64(24), T.int64(30)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1, ax2, ax3, k in T.grid(T.int64(1), T.int64(2), T.int64(24), T.int64(30), T.int64(6)):
            with T.sblock("matmul"):
                v_ax0, v_ax1, v_ax2, v_ax3, v_k = T.axis.remap("SSSSR", [ax0, ax1, ax2, ax3, k])
                T.reads(A[T.int64(0), v_ax1, v_ax2, v_k], B[T.int64(0), v_ax1, v_k, v_ax3])
                T.writes(matmul[v_ax0, v_ax1, v_ax2, v_ax3])
                with T.init():
                    matmul[v_ax0, v_ax1, v_ax2, v_ax3] = T.float32(0.0)
                matmul[v_ax0, v_ax1, v_ax2, v_ax3] = matmul[v_ax0, v_ax1, v_ax2, v_ax3] + A[T.int64(0), v_ax1, v_ax2, v_k] * B[T.int64(0), v_ax1, v_k, v_ax3]

    @T.prim_func(private=True, s_tir=True)
    def transpose(A: T.Buffer((T.int64(1), T.int64(24), T.int64(2), T.int64(6)), "float32"), T_transpose: T.Buffer((T.int64(1), T.int64(2), T.int64(24), T.int64(6)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1, ax2, ax3 in T.grid(T.int64(1), T.int64(2), T.int64(24), T.int64(6)):
            with T.sblock("T_transpose"):
                v_ax0, v_ax1, v_ax2, v_ax3 = T.axis.remap("SSSS", [ax0, ax1, ax2, ax3])
                T.reads(A[v_ax0, v_ax2, v_ax1, v_ax3])
                T.writes(T_transpose[v_ax0, v_ax1, v_ax2, v_ax3])
                T_transpose[v_ax0, v_ax1, v_ax2, v_ax3] = A[v_ax0, v_ax2, v_ax1, v_ax3]

    @T.prim_func(private=True, s_tir=True)
    def transpose1(A: T.Buffer((T.int64(1), T.int64(30), T.int64(2), T.int64(6)), "float32"), T_transpose: T.Buffer((T.int64(1), T.int64(2), T.int64(6), T.int64(30)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1, ax2, ax3 in T.grid(T.int64(1), T.int64(2), T.int64(6), T.int64(30)):
            with T.sblock("T_transpose"):
                v_ax0, v_ax1, v_ax2, v_ax3 = T.axis.remap("SSSS", [ax0, ax1, ax2, ax3])
                T.reads(A[v_ax0, v_ax3, v_ax1, v_ax2])
                T.writes(T_transpose[v_ax0, v_ax1, v_ax2, v_ax3])
                T_transpose[v_ax0, v_ax1, v_ax2, v_ax3] = A[v_ax0, v_ax3, v_ax1, v_ax2]

    @R.function
    def main(q: R.Tensor((1, 24, 2, 6), dtype="float32"), k: R.Tensor((1, 30, 2, 6), dtype="float32"), v: R.Tensor((1, 2, 30, 5), dtype="float32"), mask: R.Tensor((1, 1, 1, 30), dtype="float32")) -> R.Tuple(R.Tensor((1, 24, 2, 5), dtype="float32"), R.Tensor((1, 2, 24, 30), dtype="float32")):
        cls = Expected
        with R.dataflow():
            q1 = R.call_tir(cls.transpose, (q,), out_ty=R.Tensor((1, 2, 24, 6), dtype="float32"))
            k1 = R.call_tir(cls.transpose1, (k,), out_ty=R.Tensor((1, 2, 6, 30), dtype="float32"))
            s = R.call_tir(cls.matmul, (q1, k1), out_ty=R.Tensor((1, 2, 24, 30), dtype="float32"))
            z = R.call_tir(cls.attention1, (q, k, v, mask), out_ty=R.Tensor((1, 24, 2, 5), dtype="float32"))
            gv: R.Tuple(R.Tensor((1, 24, 2, 5), dtype="float32"), R.Tensor((1, 2, 24, 30), dtype="float32")) = (z, s)
            R.output(gv)
        return gv
