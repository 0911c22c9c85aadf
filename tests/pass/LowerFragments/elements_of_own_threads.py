# SPDX-License-Identifier: Apache-2.0
# Each thread has the registers of its elements; a tile's address is that of the first register that a thread has of it.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((32, 16), "float32"), B: T.Buffer((32, 16), "float32")):
        for w in T.thread_binding(2, thread="threadIdx.y"):
            C = T.alloc_buffer((32, 16), scope="fragment", annotations={"fragment_layout": T.index_map(lambda i, j: (i % 8 * 4 + j % 8 // 2, j // 8 % 2, i // 8 % 2, j % 2))})
            for t in T.thread_binding(32, thread="threadIdx.x"):
                for j, r, c in T.grid(2, 2, 2):
                    C[w * 16 + r * 8 + t // 4, j * 8 + t % 4 * 2 + c] = A[w * 16 + r * 8 + t // 4, j * 8 + t % 4 * 2 + c]
                for j in range(2):
                    T.evaluate(T.ptx_mma("float32", "m16n8k16", "row", "col", "fp16", "fp16", "fp32", 0, 0, 0, 0, T.address_of(C[w * 16, j * 8]), 0, False))
            for u in T.thread_binding(32, thread="threadIdx.x"):
                for j, r, c in T.grid(2, 2, 2):
                    B[w * 16 + r * 8 + u // 4, j * 8 + u % 4 * 2 + c] = C[w * 16 + u // 4 + r * 8, j * 8 + u % 4 * 2 + c] * T.float32(2)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((32, 16), "float32"), B: T.Buffer((32, 16), "float32")):
        for w in T.thread_binding(2, thread="threadIdx.y"):
            C = T.alloc_buffer((T.int64(2), T.int64(2), T.int64(2)), scope="local")
            for t in T.thread_binding(32, thread="threadIdx.x"):
                for j, r, c in T.grid(2, 2, 2):
                    C[T.Cast("int64", j), T.Cast("int64", r), T.Cast("int64", c)] = A[w * 16 + r * 8 + t // 4, j * 8 + t % 4 * 2 + c]
                for j_1 in range(2):
                    T.call_intrin("float32", "tirx.ptx_mma", "float32", "m16n8k16", "row", "col", "fp16", "fp16", "fp32", 0, 0, 0, 0, T.address_of(C[T.Cast("int64", j_1), T.int64(0), T.int64(0)]), 0, False)
            for u in T.thread_binding(32, thread="threadIdx.x"):
                for j_2, r_1, c_1 in T.grid(2, 2, 2):
                    B[w * 16 + r_1 * 8 + u // 4, j_2 * 8 + u % 4 * 2 + c_1] = C[T.Cast("int64", j_2), T.Cast("int64", r_1), T.Cast("int64", c_1)] * T.float32(2.0)
