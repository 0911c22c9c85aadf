# SPDX-License-Identifier: Apache-2.0
# Equal values are computed once: calls, tuples, fields, constants, shapes; attributes count.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4, 4), "float32"), y: R.Tensor((4, 4), "float32")):
        with R.dataflow():
            a = R.add(x, y)
            b = R.add(x, y)
            c = R.multiply(a, b)
            d = R.multiply(b, a)
            t = (a, c)
            u = (b, d)
            t0 = t[0]
            u0 = u[0]
            e = R.sum(t0, axis=[0])
            f = R.sum(u0, axis=[1])
            gv = (e, f, u0)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((4, 4), dtype="float32"), y: R.Tensor((4, 4), dtype="float32")) -> R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32"), R.Tensor((4, 4), dtype="float32")):
        with R.dataflow():
            a: R.Tensor((4, 4), dtype="float32") = R.add(x, y)
            b: R.Tensor((4, 4), dtype="float32") = a
            c: R.Tensor((4, 4), dtype="float32") = R.multiply(a, a)
            d: R.Tensor((4, 4), dtype="float32") = c
            t: R.Tuple(R.Tensor((4, 4), dtype="float32"), R.Tensor((4, 4), dtype="float32")) = (a, c)
            u: R.Tuple(R.Tensor((4, 4), dtype="float32"), R.Tensor((4, 4), dtype="float32")) = t
            t0: R.Tensor((4, 4), dtype="float32") = t[0]
            u0: R.Tensor((4, 4), dtype="float32") = t0
            e: R.Tensor((4,), dtype="float32") = R.sum(t0, axis=[0], keepdims=False)
            f: R.Tensor((4,), dtype="float32") = R.sum(t0, axis=[1], keepdims=False)
            gv: R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32"), R.Tensor((4, 4), dtype="float32")) = (e, f, t0)
            R.output(gv)
        return gv
