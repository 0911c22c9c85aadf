# SPDX-License-Identifier: Apache-2.0
# The option is checked.
# passes: AttachMetadataWithMemoryUsage{metadata=[1]}
# error: metadata is [1], expected a dictionary
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), "float32"), s: R.Shape(["n"])) -> R.Tensor((4,), "float32"):
        n = T.int64()
        R.func_attr({"relax.force_pure": True})
        storage = R.memory.alloc_storage(R.shape([1024]), R.prim_value(0), R.str("global"), R.dtype("uint8"))
        a = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([4]), R.dtype("float32"))
        b = R.builtin.alloc_tensor(R.shape([10, 2]), R.dtype("float16"), R.prim_value(0))
        c = R.builtin.alloc_tensor(R.shape([n]), R.dtype("float32"), R.prim_value(0))
        return a

    @R.function
    def nothing(x: R.Tensor((4,), "float32")):
        return x

