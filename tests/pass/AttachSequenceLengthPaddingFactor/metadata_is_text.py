# SPDX-License-Identifier: Apache-2.0
# Metadata that is no dictionary is an error.
# target: {"kind": "cuda", "arch": "sm_100a"}
# error: the module's attribute 'metadata' is "{}", expected a dictionary
@I.ir_module
class Before:
    I.module_attrs({"metadata": "{}"})
    @R.function
    def main(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        n = T.int64()
        y0: R.Tensor((n, 4), dtype="float32") = R.call_dps_packed("cutlass.groupwise_scaled_gemm_e4m3fn_e4m3fn", (x,), out_ty=R.Tensor((n, 4), dtype="float32"))
        return y0
