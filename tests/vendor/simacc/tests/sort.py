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
