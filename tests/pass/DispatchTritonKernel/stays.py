# SPDX-License-Identifier: Apache-2.0
# Calls of Triton's kernels are told of, and stay.
# target: cuda
# passes: DispatchTritonKernel
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4, 128), "float32")):
        with R.dataflow():
            gv = R.call_dps_packed("mlc.triton.w8a8_block_fp8_matmul", (x,), out_ty=R.Tensor((4, 64), "float16"))
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((4, 128), dtype="float32")) -> R.Tensor((4, 64), dtype="float16"):
        with R.dataflow():
            gv = R.call_dps_packed("mlc.triton.w8a8_block_fp8_matmul", (x,), out_ty=R.Tensor((4, 64), dtype="float16"))
            R.output(gv)
        return gv
