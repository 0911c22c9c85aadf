# SPDX-License-Identifier: Apache-2.0
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def bump(x: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            with T.sblock("b"):
                vi = T.axis.spatial(T.int64(4), i)
                x[vi] = x[vi] + T.float32(1)
    @T.prim_func(private=True, s_tir=True)
    def bump2(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            with T.sblock("b"):
                vi = T.axis.spatial(T.int64(4), i)
                x[vi] = x[vi] + y[vi]
    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")) -> R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32")):
        cls = Module
        with R.dataflow():
            a = R.exp(x)
            b = R.call_tir_inplace(cls.bump2, (a, y), inplace_indices=[0], out_ty=R.Tensor((4,), "float32"))
            d = R.call_tir_inplace(cls.bump, (b,), inplace_indices=[0], out_ty=R.Tensor((4,), "float32"))
            e = R.exp(d)
            f = R.call_tir_inplace(cls.bump, (e,), inplace_indices=[0], out_ty=R.Tensor((4,), "float32"))
            R.output(f, d)
        return (f, d)
