# SPDX-License-Identifier: Apache-2.0
# Without leave of the configuration, what is not taken is an error.
# target: testext
# passes: FallbackKernels
# error: the target 'testext' does not take the tensor program 'wide': it computes with float64
@I.ir_module
class Before:
    @T.prim_func
    def wide(A: T.Buffer((4,), "float64"), B: T.Buffer((4,), "float64")):
        for i in range(4):
            with T.sblock("B"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi] * T.float64(2)

    @T.prim_func
    def narrow(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("B"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi] * T.float32(2)

    @T.prim_func
    def given(A: T.Buffer((4,), "float64"), B: T.Buffer((4,), "float64")):
        T.func_attr({"tenon.fallback": "null"})
        for i in range(4):
            with T.sblock("B"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi] * T.float64(2)
