# SPDX-License-Identifier: Apache-2.0
# Without the option what the module's function returns gets the numbers.
# passes: AttachMetadataWithMemoryUsage
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

    @R.function
    def _metadata() -> R.Object:
        return R.str("{\"model_type\": \"phi\", \"memory_usage\": 3}")
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def _metadata() -> R.Any:
        return R.str("{\"memory_usage\": {\"main\": 1064, \"nothing\": 0}, \"model_type\": \"phi\"}")

    @R.function
    def nothing(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        return x

    @R.function
    def main(x: R.Tensor((4,), dtype="float32"), s: R.Shape(["n"])) -> R.Tensor((4,), dtype="float32"):
        n = T.int64()
        R.func_attr({"relax.force_pure": True})
        storage: R.Any = R.memory.alloc_storage(R.shape([1024]), R.prim_value(0), R.str("global"), R.dtype("uint8"))
        a: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        b: R.Tensor((10, 2), dtype="float16") = R.builtin.alloc_tensor(R.shape([10, 2]), R.dtype("float16"), R.prim_value(0), R.str("global"))
        c: R.Tensor((n,), dtype="float32") = R.builtin.alloc_tensor(R.shape([n]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        return a
