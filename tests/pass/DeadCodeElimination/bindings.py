# SPDX-License-Identifier: Apache-2.0
# Unused bindings go, chains of them too; calls with effects, match_casts and what they use stay.
@I.ir_module
class Before:
    @R.function(private=True)
    def quiet(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return R.exp(x)

    @R.function(pure=False, private=True)
    def loud(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        _ = R.print(x, format="{}")
        return x

    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor(ndim=1, dtype="float32")):
        n = T.int64()
        cls = Before
        a = R.exp(x)
        b = R.log(a)
        c = cls.quiet(b)
        d = cls.loud(x)
        with R.dataflow():
            e = R.sin(x)
            f = R.cos(x)
            g = R.exp(e)
            R.output(f, g)
        h = R.match_cast(y, R.Tensor((n,), "float32"))
        i = R.call_packed("effect", g, ty_args=R.Tensor((4,), "float32"))
        return x
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function(private=True, pure=False)
    def loud(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        R.print(x, format="{}")
        return x

    @R.function(pure=False)
    def main(x: R.Tensor((4,), dtype="float32"), y: R.Tensor(dtype="float32", ndim=1)) -> R.Tensor((4,), dtype="float32"):
        cls = Expected
        d: R.Tensor((4,), dtype="float32") = cls.loud(x)
        with R.dataflow():
            e: R.Tensor((4,), dtype="float32") = R.sin(x)
            g: R.Tensor((4,), dtype="float32") = R.exp(e)
            R.output(g)
        n = T.int64()
        h = R.match_cast(y, R.Tensor((n,), dtype="float32"))
        i: R.Tensor((4,), dtype="float32") = R.call_packed("effect", g, ty_args=(R.Tensor((4,), dtype="float32"),))
        return x
