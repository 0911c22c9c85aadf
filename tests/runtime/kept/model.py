# SPDX-License-Identifier: Apache-2.0
# What the artifacts here were compiled from (tenon compile model.py -t cpu): no kernel, so that any machine runs them.
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 2), "float32")) -> R.Tuple(R.Tensor(("n", 2), "float32"), R.Tensor((3,), "int64")):
        return (x, R.const([5, -6, 7], "int64"))
