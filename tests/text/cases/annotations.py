# SPDX-License-Identifier: Apache-2.0
# Annotations that say less than is known, more than is known, or something wrong.
@I.ir_module
class Module:
    @R.function
    def weaker(x: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((2, 3)):
        a: R.Tensor((2, 3)) = R.add(x, x)
        b: R.Tensor(ndim=2) = R.add(a, a)
        c: R.Any = R.add(b, b)
        d: R.Tuple(R.Tensor, R.Any) = (c, a)
        return d[0]

    @R.function
    def stronger(x: R.Tensor(dtype="float32", ndim=2), y: R.Tensor(("n", "m"), "float32")) -> R.Any:
        n, m = T.int64(), T.int64()
        a: R.Tensor((2, 3)) = R.add(x, x)
        b: R.Tensor((m, n)) = R.add(y, y)
        c: R.Tensor((2, 3), "float32") = R.call_pure_packed("f", a, ty_args=R.Tensor)
        d: R.Tensor(ndim=2) = R.match_cast(x, R.Tensor((n, m), "float32"))
        return (a, b, c, d)

    # A caller before the function it calls has that function's type.
    @R.function
    def caller(x: R.Tensor((3, 3), dtype="float32")):
        y: R.Tensor = Module.nothing(x)
        return y

    @R.function
    def nothing(x: R.Tensor((3, 3), dtype="float32")) -> None:
        y = R.multiply(x, x)
        return y

    # A function that calls itself keeps what the calls believed.
    @R.function
    def again(x: R.Tensor((3, 3), dtype="float32"), c: R.Tensor((), "bool")) -> R.Tensor(ndim=2):
        if c:
            y = Module.again(x, c)
        else:
            y = R.add(x, x)
        return y
