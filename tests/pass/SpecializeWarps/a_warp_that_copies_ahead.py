# SPDX-License-Identifier: Apache-2.0
# One warp more fills two stages with what two warps copied. Barriers outside of the loop are for the warps that compute.
# target: {"kind": "cuda", "supports_async_copy": true, "max_threads_per_block": 1024}
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((8, 64), "float32"), B: T.Buffer((64,), "float32")):
        S = T.alloc_buffer((64,), scope="shared")
        E = T.alloc_buffer((64,), scope="shared")
        for w in T.thread_binding(2, thread="threadIdx.y"):
            for t in T.thread_binding(32, thread="threadIdx.x"):
                C = T.alloc_buffer((1,), scope="local")
                C[0] = T.float32(0)
                for k in T.serial(8, annotations={"software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1], "software_pipeline_async_stages": [0], "software_pipeline_producer_warps": 1}):
                    T.tvm_storage_sync("shared")
                    S[w * 32 + t] = A[k, w * 32 + t]
                    T.tvm_storage_sync("shared")
                    C[0] = C[0] + S[63 - (w * 32 + t)]
                E[w * 32 + t] = C[0]
                T.tvm_storage_sync("shared")
                B[w * 32 + t] = E[(w * 32 + t + 33) % 64]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((8, 64), "float32"), B: T.Buffer((64,), "float32")):
        S = T.alloc_buffer((2, 64), scope="shared")
        E = T.alloc_buffer((64,), scope="shared")
        full = T.alloc_buffer((2,), "uint64", scope="shared.barrier")
        empty = T.alloc_buffer((2,), "uint64", scope="shared.barrier")
        for w in T.thread_binding(3, thread="threadIdx.y"):
            for t in T.thread_binding(32, thread="threadIdx.x"):
                if w == 0:
                    if t == 0:
                        for i in T.unroll(2):
                            T.ptx_mbarrier_init(T.address_of(full[i]), 32)
                            T.ptx_mbarrier_init(T.address_of(empty[i]), 2)
                T.tvm_storage_sync("shared")
                if w < 2:
                    C = T.alloc_buffer((1,), scope="local")
                    C[0] = T.float32(0.0)
                    for k in range(8):
                        T.ptx_mbarrier_try_wait(T.address_of(full[k % 2]), k // 2 % 2)
                        T.tvm_storage_sync("warp")
                        C[0] = C[0] + S[k % 2, 63 - (w * 32 + t)]
                        T.tvm_storage_sync("warp")
                        if t == 0:
                            T.ptx_mbarrier_arrive(T.address_of(empty[k % 2]))
                    E[w * 32 + t] = C[0]
                    T.ptx_bar_sync(1, 64)
                    B[w * 32 + t] = E[(w * 32 + t + 33) % 64]
                else:
                    for k_1 in range(8):
                        T.ptx_mbarrier_try_wait(T.address_of(empty[k_1 % 2]), 1 - k_1 // 2 % 2)
                        with T.attr(0, "async_arrive_scope", T.address_of(full[k_1 % 2])):
                            with T.attr(0, "async_scope", 1):
                                for q in T.unroll(2):
                                    S[k_1 % 2, q * 32 + t] = A[k_1, q * 32 + t]
