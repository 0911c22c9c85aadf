# SPDX-License-Identifier: Apache-2.0
metadata = tvm.ir.load_json("""{"relax.expr.Constant": [{"dtype": "float32", "shape": [1], "offset": 0}]}""")
n = TypeVar("n")
@R.function
def f[m](a: R.Tensor(("n + 1", "m * k"), "float32"), k: R.Prim("int64"), b: R.Callable((R.Shape(["n"]),), R.Any)) -> R.Tensor((n,)):
    c = R.match_cast(a, R.Tensor((n, m)))
    d = R.const([[1, 2], [3, 4]], shape=[2, 2])
    e = metadata["relax.expr.Constant"][0]
    return (c, d[0][1], "x" "y", 1_000, 0x7f, 1e400, -9223372036854775808)
