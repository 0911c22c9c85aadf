# SPDX-License-Identifier: Apache-2.0
# Tensor programs after lowering: flat buffers, pointers, threads, vectors, calls between programs.
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func
    def kernel(A_data: T.handle("float32", "global"), n: T.int32):
        A = T.decl_buffer((n * 4,), data=A_data)
        with T.launch_thread("blockIdx.x", (n + 127) // 128) as bx:
            with T.launch_thread("threadIdx.x", 128) as tx:
                S = T.alloc_buffer((128,), scope="shared")
                L = T.alloc_buffer((4,), "float16", scope="local", annotations={"a": 1})
                x: T.let[T.int32] = bx * 128 + tx
                S[tx] = A[x]
                T.tvm_storage_sync("shared")
                if x < n:
                    L[T.Ramp(0, 1, 4)] = T.Broadcast(T.float16(0), 4)
                    A[T.Ramp(x, 1, 4)] = A[T.Ramp(x, 1, 4)] + T.Cast("float32x4", L[T.Ramp(0, 1, 4)])
                elif x == n:
                    A[x] = T.float32(1)
                else:
                    while S[tx] < T.float32(10):
                        S[tx] = S[tx] * T.float32(2)
                        if tx == 3:
                            break
                        continue
                with T.attr(A_data, "pragma_scope", "seq"):
                    with T.attr(0, "double", 2):
                        V = T.decl_buffer((64,), data=S.data, elem_offset=64, scope="shared")
                        V[0] = S[1]

    @T.prim_func
    def cell(n: T.int64) -> T.int64:
        assert n > T.int64(0), "n must be positive"
        assert n < T.int64(10), ("ValueError", ["n is ", "too large"])
        p: T.let[T.handle("int64", "global")] = T.call_extern("handle", "make", n)
        q = T.decl_buffer((4,), "int64", data=p)
        total = T.alloc_buffer((1,), "int64", scope="local")
        total[0] = q[0]
        Module.helper(p, total[0])
        return total[0]

    @T.prim_func(private=True)
    def helper(p: T.handle("int64", "global"), n: T.int64):
        if T.bool(True):
            T.evaluate(n)
        for i in T.serial(n, n + T.int64(5)):
            for j in T.parallel(n // T.int64(2), annotations={"k": "v"}):
                T.evaluate(i + j)
