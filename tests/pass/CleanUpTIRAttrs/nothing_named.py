# SPDX-License-Identifier: Apache-2.0
# Without the option nothing goes.
# passes: CleanUpTIRAttrs
@I.ir_module
class Before:
    @T.prim_func
    def twice(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        T.func_attr({"op_pattern": 0})
        for i in range(T.int64(4)):
            y[i] = x[i] * T.float32(2)

# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def twice(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        T.func_attr({"op_pattern": 0})
        for i in range(T.int64(4)):
            y[i] = x[i] * T.float32(2.0)
