# SPDX-License-Identifier: Apache-2.0
# A shape becomes a tensor by a program that knows its extents; those that have no names get some.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("m", 3), "float32"), s: R.Shape(ndim=2), unknown: R.Shape()):
        m = T.int64()
        with R.dataflow():
            known = R.shape_to_tensor(R.shape_of(x))
            named = R.shape_to_tensor(s)
            none = R.shape_to_tensor(R.shape([]))
            term = R.shape_to_tensor(R.shape([m * 2 + 1]))
            stays = R.shape_to_tensor(unknown)
            R.output(known, named, none, term, stays)
        return known, named, none, term, stays
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def shape_to_tensor(m: T.int64, shape_to_tensor: T.Buffer((T.int64(2),), "int64")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0 in range(T.int64(2)):
            with T.sblock("shape_to_tensor"):
                v_ax0 = T.axis.remap("S", [ax0])
                T.reads()
                T.writes(shape_to_tensor[v_ax0])
                shape_to_tensor[v_ax0] = T.if_then_else(v_ax0 == T.int64(0), m, T.if_then_else(v_ax0 == T.int64(1), T.int64(3), T.int64(0)))

    @T.prim_func(private=True, s_tir=True)
    def shape_to_tensor1(s0: T.int64, s1: T.int64, shape_to_tensor: T.Buffer((T.int64(2),), "int64")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0 in range(T.int64(2)):
            with T.sblock("shape_to_tensor"):
                v_ax0 = T.axis.remap("S", [ax0])
                T.reads()
                T.writes(shape_to_tensor[v_ax0])
                shape_to_tensor[v_ax0] = T.if_then_else(v_ax0 == T.int64(0), s0, T.if_then_else(v_ax0 == T.int64(1), s1, T.int64(0)))

    @T.prim_func(private=True, s_tir=True)
    def shape_to_tensor2(shape_to_tensor: T.Buffer((T.int64(0),), "int64")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0 in range(T.int64(0)):
            with T.sblock("shape_to_tensor"):
                v_ax0 = T.axis.remap("S", [ax0])
                T.reads()
                T.writes(shape_to_tensor[v_ax0])
                shape_to_tensor[v_ax0] = T.int64(0)

    @T.prim_func(private=True, s_tir=True)
    def shape_to_tensor3(m: T.int64, shape_to_tensor: T.Buffer((T.int64(1),), "int64")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0 in range(T.int64(1)):
            with T.sblock("shape_to_tensor"):
                v_ax0 = T.axis.remap("S", [ax0])
                T.reads()
                T.writes(shape_to_tensor[v_ax0])
                shape_to_tensor[v_ax0] = T.if_then_else(v_ax0 == T.int64(0), m * T.int64(2) + T.int64(1), T.int64(0))

    @R.function
    def main(x: R.Tensor(("m", 3), dtype="float32"), s: R.Shape(ndim=2), unknown: R.Shape) -> R.Tuple(R.Tensor((2,), dtype="int64"), R.Tensor((2,), dtype="int64"), R.Tensor((0,), dtype="int64"), R.Tensor((1,), dtype="int64"), R.Tensor(dtype="int64", ndim=1)):
        m = T.int64()
        cls = Expected
        with R.dataflow():
            lv: R.Shape([m, 3]) = R.shape_of(x)
            known = R.call_tir(cls.shape_to_tensor, (m,), out_ty=R.Tensor((2,), dtype="int64"))
            s0 = T.int64()
            s1 = T.int64()
            lv_1 = R.match_cast(s, R.Shape([s0, s1]))
            named = R.call_tir(cls.shape_to_tensor1, (s0, s1), out_ty=R.Tensor((2,), dtype="int64"))
            none = R.call_tir(cls.shape_to_tensor2, R.tuple(), out_ty=R.Tensor((0,), dtype="int64"))
            term = R.call_tir(cls.shape_to_tensor3, (m,), out_ty=R.Tensor((1,), dtype="int64"))
            stays: R.Tensor(dtype="int64", ndim=1) = R.shape_to_tensor(unknown)
            R.output(known, named, none, term, stays)
        return (known, named, none, term, stays)
