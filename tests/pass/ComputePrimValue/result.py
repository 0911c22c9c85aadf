# SPDX-License-Identifier: Apache-2.0
# What a function or a branch returns is computed too, alone or in a tuple; a variable or a number stays.
@I.ir_module
class Before:
    @R.function
    def alone(x: R.Tensor(("n",), "float32")) -> R.Prim("int64"):
        n = T.int64()
        return R.prim_value(n * 2)

    @R.function
    def branches(x: R.Tensor(("n",), "float32"), cond: R.Tensor((), "bool")) -> R.Prim("int64"):
        n = T.int64()
        if cond:
            r: R.Prim("int64") = R.prim_value(n + 1)
        else:
            r: R.Prim("int64") = R.prim_value(7)
        return r

    @R.function
    def in_a_tuple(x: R.Tensor(("n",), "float32")) -> R.Tuple(R.Tensor(("n",), "float32"), R.Prim("int64"), R.Prim("int64")):
        n = T.int64()
        with R.dataflow():
            y = R.add(x, x)
            R.output(y)
        return (y, R.prim_value(n * 2), R.prim_value(n))
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def compute_symbolic_expr(n: T.int64) -> T.int64:
        T.func_attr({"tirx.is_host_func": True})
        return n * T.int64(2)

    @T.prim_func(private=True, s_tir=True)
    def compute_symbolic_expr1(n: T.int64) -> T.int64:
        T.func_attr({"tirx.is_host_func": True})
        return n + T.int64(1)

    @R.function
    def alone(x: R.Tensor(("n",), dtype="float32")) -> R.Prim("int64"):
        n = T.int64()
        cls = Expected
        pv: R.Prim("int64") = cls.compute_symbolic_expr(n)
        return pv

    @R.function
    def branches(x: R.Tensor(("n",), dtype="float32"), cond: R.Tensor((), dtype="bool")) -> R.Prim("int64"):
        n = T.int64()
        cls = Expected
        if cond:
            pv: R.Prim("int64") = cls.compute_symbolic_expr1(n)
            r: R.Prim("int64") = pv
        else:
            r: R.Prim("int64") = R.prim_value(7)
        return r

    @R.function
    def in_a_tuple(x: R.Tensor(("n",), dtype="float32")) -> R.Tuple(R.Tensor(("n",), dtype="float32"), R.Prim("int64"), R.Prim("int64")):
        n = T.int64()
        cls = Expected
        with R.dataflow():
            y: R.Tensor((n,), dtype="float32") = R.add(x, x)
            R.output(y)
        pv: R.Prim("int64") = cls.compute_symbolic_expr(n)
        return (y, pv, n)
