# SPDX-License-Identifier: Apache-2.0
# A result whose extent depends on values gets a name for it, and what uses it is legalized too.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((2, 3), dtype="float32")) -> R.Tensor(dtype="int64", ndim=2):
        with R.dataflow():
            lv = R.nonzero(x)
            lv1 = R.add(lv, lv)
            gv = R.permute_dims(lv1)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def add(var_A: T.handle, var_B: T.handle, var_T_add: T.handle):
        T.func_attr({"tirx.noalias": True})
        s0 = T.int64()
        A = T.match_buffer(var_A, (T.int64(2), s0), "int64")
        B = T.match_buffer(var_B, (T.int64(2), s0), "int64")
        T_add = T.match_buffer(var_T_add, (T.int64(2), s0), "int64")
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(T.int64(2), s0):
            with T.sblock("T_add"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(A[v_ax0, v_ax1], B[v_ax0, v_ax1])
                T.writes(T_add[v_ax0, v_ax1])
                T_add[v_ax0, v_ax1] = A[v_ax0, v_ax1] + B[v_ax0, v_ax1]

    @T.prim_func(private=True, s_tir=True)
    def nonzero_count(A: T.Buffer((T.int64(2), T.int64(3)), "float32"), count: T.Buffer((T.int64(1),), "int64")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        with T.sblock("nonzero_count"):
            v_i = T.axis.spatial(T.int64(1), T.int64(0))
            T.reads(A[T.int64(0):T.int64(2), T.int64(0):T.int64(3)])
            T.writes(count[T.int64(0)])
            count[T.int64(0)] = T.int64(0)
            for i0, i1 in T.grid(T.int64(2), T.int64(3)):
                if A[i0, i1] != T.float32(0.0):
                    count[T.int64(0)] = count[T.int64(0)] + T.int64(1)

    @T.prim_func(private=True, s_tir=True)
    def nonzero_fill(A: T.Buffer((T.int64(2), T.int64(3)), "float32"), var_nonzero: T.handle):
        T.func_attr({"tirx.noalias": True})
        s0 = T.int64()
        nonzero = T.match_buffer(var_nonzero, (T.int64(2), s0), "int64")
        # with T.sblock("root"):
        cursor = T.sblock_alloc_buffer((T.int64(1),), "int64")
        with T.sblock("nonzero_fill"):
            v_i = T.axis.spatial(T.int64(1), T.int64(0))
            T.reads(A[T.int64(0):T.int64(2), T.int64(0):T.int64(3)])
            T.writes(nonzero[T.int64(0):T.int64(2), T.int64(0):s0], cursor[T.int64(0)])
            cursor[T.int64(0)] = T.int64(0)
            for i0, i1 in T.grid(T.int64(2), T.int64(3)):
                if A[i0, i1] != T.float32(0.0):
                    nonzero[T.int64(0), cursor[T.int64(0)]] = i0
                    nonzero[T.int64(1), cursor[T.int64(0)]] = i1
                    cursor[T.int64(0)] = cursor[T.int64(0)] + T.int64(1)

    @T.prim_func(private=True, s_tir=True)
    def transpose(var_A: T.handle, var_T_transpose: T.handle):
        T.func_attr({"tirx.noalias": True})
        s0 = T.int64()
        A = T.match_buffer(var_A, (T.int64(2), s0), "int64")
        T_transpose = T.match_buffer(var_T_transpose, (s0, T.int64(2)), "int64")
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(s0, T.int64(2)):
            with T.sblock("T_transpose"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(A[v_ax1, v_ax0])
                T.writes(T_transpose[v_ax0, v_ax1])
                T_transpose[v_ax0, v_ax1] = A[v_ax1, v_ax0]

    @R.function
    def main(x: R.Tensor((2, 3), dtype="float32")) -> R.Tensor(dtype="int64", ndim=2):
        cls = Expected
        with R.dataflow():
            gv = R.call_tir(cls.nonzero_count, (x,), out_ty=R.Tensor((1,), dtype="int64"))
            gv1: R.Shape(ndim=1) = R.tensor_to_shape(gv)
            s0 = T.int64()
            gv2 = R.match_cast(gv1, R.Shape([s0]))
            lv = R.call_tir(cls.nonzero_fill, (x,), out_ty=R.Tensor((2, s0), dtype="int64"))
            lv1 = R.call_tir(cls.add, (lv, lv), out_ty=R.Tensor((2, s0), dtype="int64"))
            gv_1 = R.call_tir(cls.transpose, (lv1,), out_ty=R.Tensor((s0, 2), dtype="int64"))
            R.output(gv_1)
        return gv_1
