# SPDX-License-Identifier: Apache-2.0
# The option replaces bounds that stand there, and other attributes stay.
# passes: AttachVariableBounds{variable_bounds={"m": 7}}
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        R.func_attr({"num_input": 1, "tir_non_negative_var": ["k"], "tir_var_upper_bound": {"n": 9}})
        return x
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        n = T.int64()
        R.func_attr({"num_input": 1, "tir_non_negative_var": ["vocab_size"], "tir_var_upper_bound": {"m": 7}})
        return x
