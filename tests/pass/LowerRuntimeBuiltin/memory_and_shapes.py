# SPDX-License-Identifier: Apache-2.0
# Memory and shape operators become run-time calls.
@I.ir_module
class Before:
    @R.function(pure=False)
    def main(x: R.Tensor(dtype="float32", ndim=1)) -> R.Shape(ndim=1):
        storage: R.Any = R.memory.alloc_storage(R.shape([16]), R.prim_value(0), R.str("global"), R.dtype("uint8"))
        a: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        _: R.Tuple = R.memory.kill_tensor(a)
        _1: R.Tuple = R.memory.kill_storage(storage)
        s: R.Shape(ndim=1) = R.shape_of(x)
        return s


# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function(pure=False)
    def main(x: R.Tensor(dtype="float32", ndim=1)) -> R.Shape(ndim=1):
        storage: R.Any = R.vm.alloc_storage(R.shape([16]), R.prim_value(0), R.dtype("uint8"), R.str("global"))
        a: R.Tensor((4,), dtype="float32") = R.vm.alloc_tensor(storage, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        R.vm.kill_object(a)
        _1: R.Tuple = R.vm.kill_object(storage)
        s: R.Shape(ndim=1) = R.call_packed("vm.builtin.shape_of", x, ty_args=(R.Shape(ndim=1),))
        return s
