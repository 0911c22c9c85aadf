# SPDX-License-Identifier: Apache-2.0
# What a kernel leaves in the memory of its threads, another kernel cannot read.
# error: a kernel reads the buffer 'S_local' of scope 'local', which only other kernels write
@I.ir_module
class Before:
    @T.prim_func
    def f(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
        S_local = T.sblock_alloc_buffer((4,), "float32", scope="local")
        for i in T.thread_binding(4, thread="blockIdx.x"):
            with T.sblock("S"):
                vi = T.axis.spatial(4, i)
                S_local[vi] = A[vi] * T.float32(2)
        for i in T.thread_binding(4, thread="blockIdx.x"):
            with T.sblock("C"):
                vi = T.axis.spatial(4, i)
                C[vi] = S_local[vi]
