# SPDX-License-Identifier: Apache-2.0
# A function that calls itself hands on what it captured.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((2,), dtype="float32"), most: R.Tensor((), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        @R.function
        def grow(a: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
            s: R.Tensor((), dtype="float32") = R.sum(R.multiply(a, a))
            c: R.Tensor((), dtype="bool") = R.greater(s, most)
            if c:
                r: R.Tensor((2,), dtype="float32") = a
            else:
                b: R.Tensor((2,), dtype="float32") = R.add(a, R.const(1, "float32"))
                again: R.Tensor((2,), dtype="float32") = grow(b)
                r: R.Tensor((2,), dtype="float32") = again
            return r
        y: R.Tensor((2,), dtype="float32") = grow(x)
        return y
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function(private=True)
    def main_grow(a: R.Tensor((2,), dtype="float32"), most: R.Tensor((), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        cls = Expected
        gv: R.Tensor((2,), dtype="float32") = R.multiply(a, a)
        s: R.Tensor((), dtype="float32") = R.sum(gv, axis=None, keepdims=False)
        c: R.Tensor((), dtype="bool") = R.greater(s, most)
        if c:
            r: R.Tensor((2,), dtype="float32") = a
        else:
            b: R.Tensor((2,), dtype="float32") = R.add(a, R.const(1.0, "float32"))
            again: R.Tensor((2,), dtype="float32") = cls.main_grow(b, most)
            r: R.Tensor((2,), dtype="float32") = again
        return r

    @R.function
    def main(x: R.Tensor((2,), dtype="float32"), most: R.Tensor((), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        cls = Expected
        y: R.Tensor((2,), dtype="float32") = cls.main_grow(x, most)
        return y
