# SPDX-License-Identifier: Apache-2.0
# Programs get the prefix in their symbol and name; graph functions their own name.
@I.ir_module
class Before:
    I.module_attrs({"system_lib_prefix": "lib_"})

    @T.prim_func(private=True)
    def twice(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            y[i] = x[i] * T.float32(2)

    @R.function(private=True)
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        cls = Before
        with R.dataflow():
            y = R.call_tir(cls.twice, (x,), out_ty=R.Tensor((4,), dtype="float32"))
            R.output(y)
        return y


# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    I.module_attrs({"system_lib_prefix": "lib_"})

    @T.prim_func
    def lib_twice(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            y[i] = x[i] * T.float32(2.0)

    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        cls = Expected
        with R.dataflow():
            y = R.call_tir(cls.lib_twice, (x,), out_ty=R.Tensor((4,), dtype="float32"))
            R.output(y)
        return y
