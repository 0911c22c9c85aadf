# SPDX-License-Identifier: Apache-2.0
# Names of parameters and kernels are longer than those that a JSON reader keeps without asking for memory.
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func(private=True)
    def a_kernel_whose_name_is_longer_than_others(a: T.handle, b: T.handle):
        A = T.match_buffer(a, (4,))
        B = T.match_buffer(b, (4,))
        for i in range(4):
            with T.sblock("copy"):
                v = T.axis.spatial(4, i)
                B[v] = A[v] + T.float32(1)

    @R.function
    def main(some_input_whose_name_is_long: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        with R.dataflow():
            y = R.call_tir(cls.a_kernel_whose_name_is_longer_than_others, (some_input_whose_name_is_long,),
                           out_sinfo=R.Tensor((4,), "float32"))
            R.output(y)
        return y
