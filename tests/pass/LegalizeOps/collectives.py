# SPDX-License-Identifier: Apache-2.0
# Collective communication becomes calls of the run time; a shard is cut by the worker's number.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4, 6), dtype="float32")) -> R.Tuple(R.Tensor((4, 6), dtype="float32"), R.Tensor((8, 6), dtype="float32"), R.Tensor((4, 3), dtype="float32"), R.Tensor((4, 3), dtype="float32")):
        a: R.Tensor((4, 6), dtype="float32") = R.ccl.allreduce(x, op_type="avg", in_group=False)
        b: R.Tensor((4, 6), dtype="float32") = R.ccl.broadcast_from_worker0(a)
        c: R.Tensor((8, 6), dtype="float32") = R.ccl.allgather(b, num_workers=2)
        d: R.Tensor((4, 3), dtype="float32") = R.ccl.scatter_from_worker0(x, num_workers=2, axis=1)
        e: R.Tensor((4, 3), dtype="float32") = R.dist.redistribute_replica_to_shard(x, num_workers=2, axis=1)
        gv: R.Tuple(R.Tensor((4, 6), dtype="float32"), R.Tensor((8, 6), dtype="float32"), R.Tensor((4, 3), dtype="float32"), R.Tensor((4, 3), dtype="float32")) = (b, c, d, e)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def reshape(A: T.Buffer((T.int64(4), T.int64(6)), "float32"), T_reshape: T.Buffer((T.int64(4), T.int64(2), T.int64(3)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1, ax2 in T.grid(T.int64(4), T.int64(2), T.int64(3)):
            with T.sblock("T_reshape"):
                v_ax0, v_ax1, v_ax2 = T.axis.remap("SSS", [ax0, ax1, ax2])
                T.reads(A[((v_ax1 * T.int64(3) + v_ax2) // T.int64(6) + v_ax0) % T.int64(4), (v_ax1 * T.int64(3) + v_ax2) % T.int64(6)])
                T.writes(T_reshape[v_ax0, v_ax1, v_ax2])
                T_reshape[v_ax0, v_ax1, v_ax2] = A[((v_ax1 * T.int64(3) + v_ax2) // T.int64(6) + v_ax0) % T.int64(4), (v_ax1 * T.int64(3) + v_ax2) % T.int64(6)]

    @T.prim_func(private=True, s_tir=True)
    def strided_slice(A: T.Buffer((T.int64(4), T.int64(6)), "float32"), worker_id: T.int64, redistribute_replica_to_shard: T.Buffer((T.int64(4), T.int64(3)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(T.int64(4), T.int64(3)):
            with T.sblock("redistribute_replica_to_shard"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(A[v_ax0, worker_id * T.int64(3) + v_ax1])
                T.writes(redistribute_replica_to_shard[v_ax0, v_ax1])
                redistribute_replica_to_shard[v_ax0, v_ax1] = A[v_ax0, worker_id * T.int64(3) + v_ax1]

    @T.prim_func(private=True, s_tir=True)
    def transpose(A: T.Buffer((T.int64(4), T.int64(2), T.int64(3)), "float32"), T_transpose: T.Buffer((T.int64(2), T.int64(4), T.int64(3)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1, ax2 in T.grid(T.int64(2), T.int64(4), T.int64(3)):
            with T.sblock("T_transpose"):
                v_ax0, v_ax1, v_ax2 = T.axis.remap("SSS", [ax0, ax1, ax2])
                T.reads(A[v_ax1, v_ax0, v_ax2])
                T.writes(T_transpose[v_ax0, v_ax1, v_ax2])
                T_transpose[v_ax0, v_ax1, v_ax2] = A[v_ax1, v_ax0, v_ax2]

    @R.function
    def main(x: R.Tensor((4, 6), dtype="float32")) -> R.Tuple(R.Tensor((4, 6), dtype="float32"), R.Tensor((8, 6), dtype="float32"), R.Tensor((4, 3), dtype="float32"), R.Tensor((4, 3), dtype="float32")):
        cls = Expected
        a = R.call_dps_packed("runtime.disco.allreduce", (x, R.shape([4]), R.prim_value(False)), out_ty=R.Tensor((4, 6), dtype="float32"))
        b = R.call_dps_packed("runtime.disco.broadcast_from_worker0", (a, R.prim_value(False)), out_ty=R.Tensor((4, 6), dtype="float32"))
        c = R.call_dps_packed("runtime.disco.allgather", (b, R.prim_value(True)), out_ty=R.Tensor((8, 6), dtype="float32"))
        reshape = R.call_tir(cls.reshape, (x,), out_ty=R.Tensor((4, 2, 3), dtype="float32"))
        permute_dims = R.call_tir(cls.transpose, (reshape,), out_ty=R.Tensor((2, 4, 3), dtype="float32"))
        d = R.call_dps_packed("runtime.disco.scatter_from_worker0", (permute_dims, R.prim_value(False)), out_ty=R.Tensor((4, 3), dtype="float32"))
        gv: R.Shape = R.call_pure_packed("runtime.disco.worker_id", ty_args=(R.Shape,))
        worker_id = T.int64()
        gv1 = R.match_cast(gv, R.Shape([worker_id]))
        e = R.call_tir(cls.strided_slice, (x, worker_id), out_ty=R.Tensor((4, 3), dtype="float32"))
        gv_1: R.Tuple(R.Tensor((4, 6), dtype="float32"), R.Tensor((8, 6), dtype="float32"), R.Tensor((4, 3), dtype="float32"), R.Tensor((4, 3), dtype="float32")) = (b, c, d, e)
        return gv_1
