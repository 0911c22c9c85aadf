# SPDX-License-Identifier: Apache-2.0
# The extent of a parameter goes into a slot, an expression over it is computed into another.
# passes: VMShapeLower{emit_err_ctx=false}
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n",), dtype="float32")) -> R.Shape(ndim=1):
        R.func_attr({"relax.force_pure": True})
        n = T.int64()
        s: R.Shape([n * 2]) = R.shape([n * 2])
        return s
