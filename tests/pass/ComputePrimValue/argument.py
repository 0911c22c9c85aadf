# SPDX-License-Identifier: Apache-2.0
# A scalar expression among a call's arguments is computed by a host function; the literal stays.
@I.ir_module
class Before:
    @R.function(pure=False)
    def main(x: R.Tensor(("n",), dtype="float32")) -> R.Tuple:
        n = T.int64()
        _: R.Tuple = R.call_packed("helper", x, R.prim_value(n * 4 + 1), R.prim_value(7), ty_args=(R.Tuple,))
        return _


# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def compute_symbolic_expr(n: T.int64) -> T.int64:
        T.func_attr({"tirx.is_host_func": True})
        return n * T.int64(4) + T.int64(1)

    @R.function(pure=False)
    def main(x: R.Tensor(("n",), dtype="float32")) -> R.Tuple:
        n = T.int64()
        cls = Expected
        pv: R.Prim("int64") = cls.compute_symbolic_expr(n)
        _: R.Tuple = R.call_packed("helper", x, pv, R.prim_value(7), ty_args=(R.Tuple,))
        return _
