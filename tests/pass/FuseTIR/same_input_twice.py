# SPDX-License-Identifier: Apache-2.0
# Two results cannot both be computed in place of one input.
# error: FuseTIR: function 'fused': it returns the same input twice
@I.ir_module
class Before:
    @T.prim_func(private=True, s_tir=True)
    def bump(x: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            with T.sblock("bump"):
                vi = T.axis.spatial(T.int64(4), i)
                x[vi] = x[vi] + T.float32(1)

    @R.function(private=True)
    def fused(x: R.Tensor((4,), "float32")) -> R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32")):
        R.func_attr({"Primitive": True})
        cls = Before
        with R.dataflow():
            a = R.call_tir_inplace(cls.bump, (x,), inplace_indices=[0], out_ty=R.Tensor((4,), "float32"))
            gv = (a, a)
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32")):
        cls = Before
        with R.dataflow():
            gv: R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32")) = cls.fused(x)
            R.output(gv)
        return gv
