# SPDX-License-Identifier: Apache-2.0
# An output without a known shape cannot be allocated.
# error: have to be known
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor(dtype="float32", ndim=1):
        R.func_attr({"relax.force_pure": True})
        y: R.Tensor(dtype="float32", ndim=1) = R.call_dps_packed("helper", (x,), out_ty=R.Tensor(dtype="float32", ndim=1))
        return y
