# SPDX-License-Identifier: Apache-2.0
# target: cuda
# A target without the attribute has vectors of any width.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        B[T.Ramp(0, 1, 8)] = A[T.Ramp(0, 1, 8)]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        B[T.Ramp(0, 1, 8)] = A[T.Ramp(0, 1, 8)]
