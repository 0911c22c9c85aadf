# SPDX-License-Identifier: Apache-2.0
# target: {"kind": "vulkan", "supports_8bit_buffer": false, "supports_16bit_buffer": false, "supports_float16": false}
# Memory of a thread or of a block gets elements of 32 bits; float16 in words is taken apart by integers.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((8,), "float16"), B: T.Buffer((8,), "float32")):
        S = T.alloc_buffer((8,), "float16", scope="shared")
        R = T.alloc_buffer((1,), "bool", scope="local")
        for t in T.thread_binding(8, thread="threadIdx.x"):
            R[0] = t < 3
            S[t] = T.Cast("float16", T.Cast("float32", A[t]))
            B[t] = T.if_then_else(R[0], T.Cast("float32", S[t]), T.float32(0))
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((4,), "uint32"), B: T.Buffer((8,), "float32")):
        S = T.alloc_buffer((8,), scope="shared")
        R_ = T.alloc_buffer((1,), "int32", scope="local")
        for t in T.thread_binding(8, thread="threadIdx.x"):
            R_[0] = T.Cast("int32", t < 3)
            half = T.uint32()
            S[t] = T.Let(T.reinterpret("float32", T.bitwise_or(T.Select(T.bitwise_and(half, T.uint32(32767)) >= T.uint32(31744), T.bitwise_or(T.shift_left(T.bitwise_and(half, T.uint32(32767)), T.uint32(13)), T.uint32(2139095040)), T.Select(T.bitwise_and(half, T.uint32(32767)) < T.uint32(1024), T.reinterpret("uint32", T.Cast("float32", T.bitwise_and(half, T.uint32(32767))) * T.float32(5.9604645e-08)), T.shift_left(T.bitwise_and(half, T.uint32(32767)), T.uint32(13)) + T.uint32(939524096))), T.shift_left(T.bitwise_and(half, T.uint32(32768)), T.uint32(16)))), where={half: T.bitwise_and(T.shift_right(A[T.shift_right(t, 1)], T.bitwise_and(T.Cast("uint32", t), T.uint32(1)) * T.uint32(16)), T.uint32(65535))})
            B[t] = T.if_then_else(T.Cast("bool", R_[0]), S[t], T.float32(0.0))
