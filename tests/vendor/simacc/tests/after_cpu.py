# SPDX-License-Identifier: Apache-2.0 OR MIT-0
# before.py after FallbackKernels{to=cpu}.
@I.ir_module
class After:
    @T.prim_func
    def wide(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        T.func_attr({"tenon.fallback": "cpu", "tirx.is_scheduled": True})
        for i in range(4):
            with T.sblock("B"):
                vi = T.axis.spatial(4, i)
                B[vi] = T.Cast("float32", T.Cast("float64", A[vi]) * T.float64(2))

    @T.prim_func
    def bytes(A: T.Buffer((4,), "uint8"), B: T.Buffer((4,), "int32")):
        T.func_attr({"tenon.fallback": "cpu", "tirx.is_scheduled": True})
        for i in range(4):
            with T.sblock("B"):
                vi = T.axis.spatial(4, i)
                B[vi] = T.Cast("int32", A[vi])

    @T.prim_func
    def plain(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("B"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi] * T.float32(2)
