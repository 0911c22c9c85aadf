# SPDX-License-Identifier: Apache-2.0
# The device of an allocation is its number among those of its kind.
@I.ir_module
class Before:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0, "global"), I.vdevice("cuda", 0, "global"), I.vdevice("cuda", 1, "global.vtcm")]})

    @T.prim_func(private=True)
    def twice(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            y[i] = x[i] * T.float32(2)

    @R.function
    def main(x: R.Tensor((4,), "float32", "cuda:1:global.vtcm")) -> R.Tensor((4,), "float32", "cuda:1:global.vtcm"):
        R.func_attr({"relax.force_pure": True})
        cls = Before
        y = R.call_tir(cls.twice, (x,), out_ty=R.Tensor((4,), "float32", "cuda:1:global.vtcm"))
        return y
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0, "global"), I.vdevice("cuda", 0, "global"), I.vdevice("cuda", 1, "global.vtcm")]})

    @T.prim_func(private=True)
    def twice(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            y[i] = x[i] * T.float32(2.0)

    @R.function
    def main(x: R.Tensor((4,), dtype="float32", vdevice="cuda:1:global.vtcm")) -> R.Tensor((4,), dtype="float32", vdevice="cuda:1:global.vtcm"):
        R.func_attr({"relax.force_pure": True})
        cls = Expected
        alloc: R.Tensor((4,), dtype="float32") = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(1), R.str("global.vtcm"))
        _: R.Tuple = cls.twice(x, alloc)
        y: R.Tensor((4,), dtype="float32", vdevice="cuda:1:global.vtcm") = alloc
        return y
