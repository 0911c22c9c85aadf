# SPDX-License-Identifier: Apache-2.0
# D follows C in the warps of one role, behind their own barrier; E, of the other role, which runs at the same time, has its own place, as
# has the barrier in shared memory.
# target: {"kind": "cuda", "thread_warp_size": 32, "named_barriers": 15}
@I.ir_module
class Before:
    @T.prim_func
    def main(X: T.Buffer((96,), "float32"), Y: T.Buffer((96,), "float32")):
        C = T.alloc_buffer((64,), scope="shared")
        D = T.alloc_buffer((64,), scope="shared")
        E = T.alloc_buffer((32,), scope="shared")
        done = T.alloc_buffer((1,), "uint64", scope="shared.barrier")
        for w in T.thread_binding(3, thread="threadIdx.y"):
            for t in T.thread_binding(32, thread="threadIdx.x"):
                if w == 0:
                    if t == 0:
                        T.ptx_mbarrier_init(T.address_of(done[0]), 64)
                T.tvm_storage_sync("shared")
                if w < 2:
                    C[w * 32 + t] = X[w * 32 + t]
                    T.ptx_bar_sync(1, 64)
                    Y[w * 32 + t] = C[63 - (w * 32 + t)]
                    T.ptx_bar_sync(1, 64)
                    D[w * 32 + t] = Y[w * 32 + t]
                    T.ptx_bar_sync(1, 64)
                    Y[w * 32 + t] = D[63 - (w * 32 + t)]
                    T.ptx_mbarrier_arrive(T.address_of(done[0]))
                else:
                    E[t] = X[64 + t]
                    T.ptx_bar_sync(2, 32)
                    Y[64 + t] = E[31 - t]
                    T.ptx_mbarrier_try_wait(T.address_of(done[0]), 0)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(X: T.Buffer((96,), "float32"), Y: T.Buffer((96,), "float32")):
        C = T.alloc_buffer((64,), scope="shared")
        E = T.alloc_buffer((32,), scope="shared")
        done = T.alloc_buffer((1,), "uint64", scope="shared.barrier")
        for w in T.thread_binding(3, thread="threadIdx.y"):
            for t in T.thread_binding(32, thread="threadIdx.x"):
                D = T.decl_buffer((64,), data=C.data, scope="shared")
                if w == 0:
                    if t == 0:
                        T.ptx_mbarrier_init(T.address_of(done[0]), 64)
                T.tvm_storage_sync("shared")
                if w < 2:
                    C[w * 32 + t] = X[w * 32 + t]
                    T.ptx_bar_sync(1, 64)
                    Y[w * 32 + t] = C[63 - (w * 32 + t)]
                    T.ptx_bar_sync(1, 64)
                    D[w * 32 + t] = Y[w * 32 + t]
                    T.ptx_bar_sync(1, 64)
                    Y[w * 32 + t] = D[63 - (w * 32 + t)]
                    T.ptx_mbarrier_arrive(T.address_of(done[0]))
                else:
                    E[t] = X[64 + t]
                    T.ptx_bar_sync(2, 32)
                    Y[64 + t] = E[31 - t]
                    T.ptx_mbarrier_try_wait(T.address_of(done[0]), 0)
