# SPDX-License-Identifier: Apache-2.0
# float32, sums that are stretched and other ranks stay; so does a sum without a normalization.
# target: opencl
# passes: FuseAddRMSNorm
@I.ir_module
class Before:
    @R.function
    def main(a: R.Tensor(("n", 1, 64), "float32"), v: R.Tensor((64,), "float32"), x: R.Tensor(("n", 1, 64), "float16"), y: R.Tensor((64,), "float16"), w: R.Tensor((64,), "float16"), z: R.Tensor(("n", 64), "float16")):
        cls = Before
        with R.dataflow():
            lv = R.add(a, a)
            lv1 = R.nn.rms_norm(lv, v, axes=[-1], epsilon=1e-5)
            lv2 = R.add(x, y)
            lv3 = R.nn.rms_norm(lv2, w, axes=[-1], epsilon=1e-5)
            lv4 = R.add(z, z)
            lv5 = R.nn.rms_norm(lv4, w, axes=[-1], epsilon=1e-5)
            lv6 = R.add(x, x)
            gv = (lv1, lv3, lv5, lv6)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(a: R.Tensor(("n", 1, 64), dtype="float32"), v: R.Tensor((64,), dtype="float32"), x: R.Tensor(("n", 1, 64), dtype="float16"), y: R.Tensor((64,), dtype="float16"), w: R.Tensor((64,), dtype="float16"), z: R.Tensor(("n", 64), dtype="float16")) -> R.Tuple(R.Tensor(("n", 1, 64), dtype="float32"), R.Tensor(("n", 1, 64), dtype="float16"), R.Tensor(("n", 64), dtype="float16"), R.Tensor(("n", 1, 64), dtype="float16")):
        n = T.int64()
        with R.dataflow():
            lv: R.Tensor((n, 1, 64), dtype="float32") = R.add(a, a)
            lv1: R.Tensor((n, 1, 64), dtype="float32") = R.nn.rms_norm(lv, v, axes=[-1], epsilon=1e-05)
            lv2: R.Tensor((n, 1, 64), dtype="float16") = R.add(x, y)
            lv3: R.Tensor((n, 1, 64), dtype="float16") = R.nn.rms_norm(lv2, w, axes=[-1], epsilon=1e-05)
            lv4: R.Tensor((n, 64), dtype="float16") = R.add(z, z)
            lv5: R.Tensor((n, 64), dtype="float16") = R.nn.rms_norm(lv4, w, axes=[-1], epsilon=1e-05)
            lv6: R.Tensor((n, 1, 64), dtype="float16") = R.add(x, x)
            gv: R.Tuple(R.Tensor((n, 1, 64), dtype="float32"), R.Tensor((n, 1, 64), dtype="float16"), R.Tensor((n, 64), dtype="float16"), R.Tensor((n, 1, 64), dtype="float16")) = (lv1, lv3, lv5, lv6)
            R.output(gv)
        return gv
