# SPDX-License-Identifier: Apache-2.0 OR MIT-0
# Programs that the device takes in front of, beside and behind one that it does not.
from tvm.script import ir as I, relax as R
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, "n"), "float32"), y: R.Tensor((4, "n"), "float32")):
        with R.dataflow():
            a = R.exp(x)
            b = R.sort(a)
            c = R.add(b, R.multiply(a, y))
            d = R.astype(c, "float64")
            e = R.astype(R.multiply(d, d), "float32")
            f = R.sort(e, axis=0)
            R.output(c, f)
        return (c, f)

    # a table of constants for both: the device's own programs and the others
    @R.function
    def table(i: R.Tensor(("n",), "int64"), x: R.Tensor((3, 2), "float32")):
        with R.dataflow():
            t = R.const([[1.5, 2.5], [3.5, 4.5], [5.5, 6.5]], "float32")
            j = R.minimum(R.maximum(i, R.const(0, "int64")), R.const(2, "int64"))
            a = R.take(t, j, axis=0)
            b = R.add(x, t)
            c = R.multiply(R.sort(R.multiply(t, b)), t)
            R.output(a, c)
        return (a, c)
