# SPDX-License-Identifier: Apache-2.0
# One warp fills what the other reads: a barrier in shared memory orders them, which all threads know before it is used.
# target: {"kind": "cuda", "thread_warp_size": 32, "named_barriers": 15, "max_threads_per_block": 1024}
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((8, 32), "float32"), B: T.Buffer((8, 32), "float32")):
        S = T.alloc_buffer((2, 32), scope="shared")
        full = T.alloc_buffer((2,), "uint64", scope="shared.barrier")
        empty = T.alloc_buffer((2,), "uint64", scope="shared.barrier")
        for t in T.thread_binding(64, thread="threadIdx.x"):
            if t < 2:
                T.ptx_mbarrier_init(T.address_of(full[t]), 32)
                T.ptx_mbarrier_init(T.address_of(empty[t]), 32)
            if t // 32 == 0:
                for k in range(8):
                    T.ptx_mbarrier_try_wait(T.address_of(empty[k % 2]), 1 - k // 2 % 2)
                    S[k % 2, t] = A[k, t]
                    T.ptx_mbarrier_arrive(T.address_of(full[k % 2]))
            else:
                for k in range(8):
                    T.ptx_mbarrier_try_wait(T.address_of(full[k % 2]), k // 2 % 2)
                    B[k, t - 32] = S[k % 2, 63 - t]
                    T.ptx_mbarrier_arrive(T.address_of(empty[k % 2]))
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((8, 32), "float32"), B: T.Buffer((8, 32), "float32")):
        S = T.alloc_buffer((2, 32), scope="shared")
        full = T.alloc_buffer((2,), "uint64", scope="shared.barrier")
        empty = T.alloc_buffer((2,), "uint64", scope="shared.barrier")
        for t in T.thread_binding(64, thread="threadIdx.x"):
            if t < 2:
                T.ptx_mbarrier_init(T.address_of(full[t]), 32)
                T.ptx_mbarrier_init(T.address_of(empty[t]), 32)
            T.tvm_storage_sync("shared")
            if t // 32 == 0:
                for k in range(8):
                    T.ptx_mbarrier_try_wait(T.address_of(empty[k % 2]), 1 - k // 2 % 2)
                    S[k % 2, t] = A[k, t]
                    T.ptx_mbarrier_arrive(T.address_of(full[k % 2]))
            else:
                for k_1 in range(8):
                    T.ptx_mbarrier_try_wait(T.address_of(full[k_1 % 2]), k_1 // 2 % 2)
                    B[k_1, t - 32] = S[k_1 % 2, 63 - t]
                    T.ptx_mbarrier_arrive(T.address_of(empty[k_1 % 2]))
