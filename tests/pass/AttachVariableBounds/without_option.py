# SPDX-License-Identifier: Apache-2.0
# Without the option a function has no bounds afterwards, as upstream does it.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        R.func_attr({"tir_var_upper_bound": {"n": 9}})
        return x

    @R.function
    def other(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        return x
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def other(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        n = T.int64()
        R.func_attr({"tir_non_negative_var": ["vocab_size"], "tir_var_upper_bound": {}})
        return x

    @R.function
    def main(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        n = T.int64()
        R.func_attr({"tir_non_negative_var": ["vocab_size"], "tir_var_upper_bound": {}})
        return x
