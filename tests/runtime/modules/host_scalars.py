# SPDX-License-Identifier: Apache-2.0
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32"), s: R.Shape(["k"])) -> R.Shape(["n * k + 3", "T.max(n - k, 1)"]):
        n = T.int64()
        k = T.int64()
        y = R.shape([n * k + 3, T.max(n - k, 1)])
        return y
