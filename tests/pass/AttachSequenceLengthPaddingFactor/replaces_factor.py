# SPDX-License-Identifier: Apache-2.0
# The factor of the kernels is written over what stood there, as upstream does it.
# target: {"kind": "cuda", "arch": "sm_100a"}
@I.ir_module
class Before:
    I.module_attrs({"metadata": {"seqlen_padding_factor": 6}})
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
    I.module_attrs({"metadata": {"seqlen_padding_factor": 4}})

    @R.function
    def main(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        n = T.int64()
        y0 = R.call_dps_packed("cutlass.groupwise_scaled_gemm_e4m3fn_e4m3fn", (x,), out_ty=R.Tensor((n, 4), dtype="float32"))
        return y0
