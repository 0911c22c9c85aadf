# SPDX-License-Identifier: Apache-2.0
# Requirements go through tuples; integers, float64 and tensors of unknown dtype stay; an output tuple has its own dtypes.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((2, 4), dtype="float32"), w: R.Tensor((4, 4), dtype="float32"), i: R.Tensor((2, 4), dtype="int32"), d: R.Tensor((2, 4), dtype="float64"), u: R.Tensor((2, 4))) -> R.Tuple(R.Tensor((2, 4), dtype="float32"), R.Tensor((4, 4), dtype="float32")):
        with R.dataflow():
            lv = (x, w)
            lv1: R.Tensor((2, 4), dtype="float32") = lv[0]
            lv2: R.Tensor((4, 4), dtype="float32") = lv[1]
            lv3: R.Tensor((2, 4), dtype="float32") = R.matmul(lv1, lv2)
            lv4: R.Tensor((2, 4), dtype="int32") = R.add(i, i)
            lv5: R.Tensor((2, 4), dtype="float64") = R.exp(d)
            lv6: R.Tensor((2, 4)) = R.nn.relu(u)
            lv7: R.Tensor((4, 4), dtype="float32") = R.concat((lv3, lv3), axis=0)
            gv = (lv3, lv7)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((2, 4), dtype="float32"), w: R.Tensor((4, 4), dtype="float32"), i: R.Tensor((2, 4), dtype="int32"), d: R.Tensor((2, 4), dtype="float64"), u: R.Tensor((2, 4))) -> R.Tuple(R.Tensor((2, 4), dtype="float32"), R.Tensor((4, 4), dtype="float32")):
        with R.dataflow():
            lv: R.Tensor((2, 4), dtype="float16") = R.astype(x, dtype="float16")
            lv_1: R.Tensor((4, 4), dtype="float16") = R.astype(w, dtype="float16")
            lv_2: R.Tuple(R.Tensor((2, 4), dtype="float16"), R.Tensor((4, 4), dtype="float16")) = (lv, lv_1)
            lv1: R.Tensor((2, 4), dtype="float16") = lv_2[0]
            lv2: R.Tensor((4, 4), dtype="float16") = lv_2[1]
            lv_3: R.Tensor((2, 4), dtype="float32") = R.matmul(lv1, lv2, out_dtype="float32")
            lv3: R.Tensor((2, 4), dtype="float16") = R.astype(lv_3, dtype="float16")
            lv4: R.Tensor((2, 4), dtype="int32") = R.add(i, i)
            lv5: R.Tensor((2, 4), dtype="float64") = R.exp(d)
            lv6: R.Tensor((2, 4)) = R.nn.relu(u)
            lv7: R.Tensor((4, 4), dtype="float16") = R.concat((lv3, lv3), axis=0)
            lv_4: R.Tensor((2, 4), dtype="float32") = R.astype(lv3, dtype="float32")
            lv_5: R.Tensor((4, 4), dtype="float32") = R.astype(lv7, dtype="float32")
            gv: R.Tuple(R.Tensor((2, 4), dtype="float32"), R.Tensor((4, 4), dtype="float32")) = (lv_4, lv_5)
            R.output(gv)
        return gv
