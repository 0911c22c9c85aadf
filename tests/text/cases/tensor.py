# SPDX-License-Identifier: Apache-2.0
# Tensor programs that can be scheduled: blocks, regions, loops, buffers.
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def matmul(a: T.handle, b: T.handle, C: T.Buffer((T.int64(128), T.int64(128)), "float16"), n: T.int64):
        T.func_attr({"tirx.noalias": True, "op_pattern": 4, "target": T.target("llvm"), "z": T.int32(3)})
        m = T.int64()
        s0, s1, off = T.int64(), T.int64(), T.int64()
        A = T.match_buffer(a, (m, n), "float16", strides=[s0, s1], elem_offset=off, align=128, offset_factor=16)
        B = T.match_buffer(b, (n * T.int64(4), (m + T.int64(15)) // T.int64(16) * T.int64(16)), scope="shared")
        D = T.sblock_alloc_buffer((16, 16), "float16", scope="local", axis_separators=[1])
        for i, j, k in T.grid(T.int64(128), T.int64(128), n):
            with T.sblock("matmul"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                T.where(i * T.int64(4) + j < n and not (k == T.int64(2)) or i != j)
                with T.init():
                    C[vi, vj] = T.float16(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * T.Cast("float16", B[vk, vj])
        for i in T.thread_binding(T.int64(16), thread="blockIdx.x"):
            for j in T.vectorized(4, annotations={"pragma_x": 1, "s": "t"}):
                for k in T.unroll(2, 10):
                    with T.sblock("odd"):
                        v0 = T.axis.spatial((2, 18), j + 2)
                        v1 = T.axis.reduce(8, k - 2)
                        v2 = T.axis.opaque(T.int64(16), i)
                        v3 = T.axis.scan(4, 0, dtype="int32")
                        T.reads(A[v2, 0:16], B[0:n, 3])
                        T.writes(D[0:4, v1])
                        T.sblock_attr({"buffer_dim_align": [[0, 1, 8, 2]], "x": {"y": 1.5}})
                        X = T.sblock_alloc_buffer((16,), "float32", scope="local")
                        M = T.match_buffer(A[v2, 0:16], (16,), "float16", strides=[1], offset_factor=16)
                        X[v1] = T.float32(0)
                        D[v1, v1] = M[v1]
        with T.sblock(""):
            T.reads()
            T.writes()
            T.evaluate(0)

    @T.prim_func(private=True, s_tir=True)
    def explicit(A: T.Buffer((8,), "int32")):
        with T.sblock("other"):
            T.reads(A[0:8])
            T.writes()
            for i in range(8):
                with T.sblock("inner"):
                    vi = T.axis.spatial(8, i)
                    A[vi] = vi

    @T.prim_func(private=True)
    def scalars(x: T.float32, y: T.int32, b: T.bool, h: T.handle, p: T.handle("float32", "shared"), A: T.Buffer((4,), "int8")) -> T.int32:
        T.evaluate(T.exp(x) + T.float32(1.5) * T.tanh(x) - T.pow(x, T.float32(2)) / x)
        T.evaluate(T.Select(b, x, T.float32("nan")) + T.float32("-inf") + T.float32(0.1))
        T.evaluate(T.if_then_else(y < 3, y, -5) * -7 // (y % 4 + 1) - T.min(y, 2) - (y - (1 - y)))
        T.evaluate(T.bitwise_and(y, 3) << 2 >> 1 | y ^ ~y)
        T.evaluate(T.truncdiv(y, 3) + T.truncmod(y, 3) + T.Div(y, 2))
        T.evaluate(T.Add(1, 2) + T.Mul(y, 1) + T.Sub(y, 0) + T.Min(y, y) + T.FloorDiv(0, y))
        T.evaluate(T.LT(1, 2) and T.Not(True) or T.And(b, b) and not (b or b))
        T.evaluate(T.uint64(18446744073709551615) - T.uint64(9223372036854775808))
        T.evaluate(T.int64(-9223372036854775808) + T.int64(9223372036854775807))
        T.evaluate(T.int8(-128) + T.int8(127) + T.Cast("int8", T.uint8(255)))
        T.evaluate(T.bfloat16(1.5) + T.bfloat16(0.1))
        T.evaluate(T.float64(0.1) + T.float64(1e300))
        T.evaluate(T.Broadcast(y, 4) * T.Ramp(0, 1, 4) + T.Shuffle([T.Ramp(0, 1, 4)], [0, 1, 2, 3]))
        T.evaluate(T.Let(y + z, where={z: y * 2}))
        T.evaluate(T.call_extern("int32", "f", A.data, "text", y))
        T.evaluate(T.call_packed("f", y, x))
        T.evaluate(T.reinterpret("int32", x))
        T.evaluate(T.address_of(A[2]))
        T.evaluate(T.tvm_access_ptr(T.type_annotation("int8"), A.data, 0, 4, 3))
        T.evaluate(T.call_intrin("float32", "tirx.exp", T.float32(1)))
        T.evaluate(T.isnan(x) == b)
        T.evaluate(T.min_value("float32") + T.max_value("float32") + T.infinity("float32"))
        return y

    @T.prim_func(private=True, s_tir=True)
    def ends(A: T.Buffer((16,), "float32")):
        for i in range(16):
            with T.sblock("b"):
                vi = T.axis.reduce(I.Range.from_min_extent(T.int64(-9223372036854775808), T.int64(-9223372036854775792)), i)
                T.reads()
                T.writes(A[vi])
                A[vi] = T.float32(0.0)
