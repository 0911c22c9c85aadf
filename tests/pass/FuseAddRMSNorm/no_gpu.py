# SPDX-License-Identifier: Apache-2.0
# On a processor both stay.
# target: llvm
# passes: FuseAddRMSNorm
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n", 1, 64), "float16"), y: R.Tensor(("n", 1, 64), "float16"), w: R.Tensor((64,), "float16")):
        cls = Before
        with R.dataflow():
            lv = R.add(x, y)
            gv = R.nn.rms_norm(lv, w, axes=[-1], epsilon=1e-5)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor(("n", 1, 64), dtype="float16"), y: R.Tensor(("n", 1, 64), dtype="float16"), w: R.Tensor((64,), dtype="float16")) -> R.Tensor(("n", 1, 64), dtype="float16"):
        n = T.int64()
        with R.dataflow():
            lv: R.Tensor((n, 1, 64), dtype="float16") = R.add(x, y)
            gv: R.Tensor((n, 1, 64), dtype="float16") = R.nn.rms_norm(lv, w, axes=[-1], epsilon=1e-05)
            R.output(gv)
        return gv
