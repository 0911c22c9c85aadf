# SPDX-License-Identifier: Apache-2.0
# No other kind of target does.
# target: {"kind": "rocm", "arch": "sm_100a"}
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        n = T.int64()
        y0: R.Tensor((n, 4), dtype="float32") = R.call_dps_packed("cutlass.groupwise_scaled_gemm_e4m3fn_e4m3fn", (x,), out_ty=R.Tensor((n, 4), dtype="float32"))
        return y0
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        n = T.int64()
        y0 = R.call_dps_packed("cutlass.groupwise_scaled_gemm_e4m3fn_e4m3fn", (x,), out_ty=R.Tensor((n, 4), dtype="float32"))
        return y0
