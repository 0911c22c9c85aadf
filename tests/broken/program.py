# SPDX-License-Identifier: Apache-2.0
@I.ir_module
class Module:
    @T.prim_func
    def twice(x: T.Buffer((5, 7), "float32"), y: T.Buffer((5, 7), "float32")):
        T.func_attr({"global_symbol": "twice"})
        for i, j in T.grid(5, 7):
            with T.sblock("twice"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = x[vi, vj] * T.float32(2.0)
