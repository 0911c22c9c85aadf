# SPDX-License-Identifier: Apache-2.0
# What a packed function gives is compared with the type that the module declares; an object needs no comparison.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        n = T.int64()
        with R.dataflow():
            a = R.call_pure_packed("vm.builtin.copy", x, ty_args=R.Tensor((n * 2,), "float32"))
            o = R.call_pure_packed("vm.builtin.copy", x, ty_args=R.Object)
            y = R.add(a, a)
            R.output(y, o)
        return y, o
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor(("n",), dtype="float32")) -> R.Tuple(R.Tensor(("n * 2",), dtype="float32"), R.Any):
        n = T.int64()
        with R.dataflow():
            result: R.Any = R.call_pure_packed("vm.builtin.copy", x, ty_args=(R.Any,))
            a = R.match_cast(result, R.Tensor((n * 2,), dtype="float32"))
            o: R.Any = R.call_pure_packed("vm.builtin.copy", x, ty_args=(R.Any,))
            y: R.Tensor((n * 2,), dtype="float32") = R.add(a, a)
            R.output(o, y)
        return (y, o)
