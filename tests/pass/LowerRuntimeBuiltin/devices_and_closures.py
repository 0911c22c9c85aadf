# SPDX-License-Identifier: Apache-2.0
# A copy names the type of device, its number and scope; closures are made and called through the machine.
@I.ir_module
class Before:
    I.module_global_infos({"vdevice": [I.vdevice("cuda", 0, "global"), I.vdevice("opencl", 1, "global.texture")]})

    @R.function
    def added(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        R.func_attr({"relax.force_pure": True})
        z = R.add(x, y)
        return z

    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32", "cuda:0:global")) -> R.Tensor((4,), "float32"):
        cls = Before
        y = R.to_vdevice(x, "opencl:1:global.texture")
        c = R.make_closure(cls.added, (x,))
        z = R.invoke_closure(c, (x,), ty_args=(R.Tensor((4,), "float32"),))
        return z
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    I.module_global_infos({"vdevice": [I.vdevice("cuda", 0, "global"), I.vdevice("opencl", 1, "global.texture")]})

    @R.function
    def added(x: R.Tensor((4,), dtype="float32"), y: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"relax.force_pure": True})
        z: R.Tensor((4,), dtype="float32") = R.add(x, y)
        return z

    @R.function(pure=False)
    def main(x: R.Tensor((4,), dtype="float32", vdevice="cuda:0:global")) -> R.Tensor((4,), dtype="float32"):
        cls = Expected
        y: R.Tensor((4,), dtype="float32", vdevice="opencl:0:global.texture") = R.call_packed("vm.builtin.to_device", x, R.prim_value(4), R.prim_value(1), R.str("global.texture"), ty_args=(R.Tensor((4,), dtype="float32", vdevice="opencl:0:global.texture"),))
        c: R.Any = R.call_packed("vm.builtin.make_closure", cls.added, x, ty_args=(R.Any,))
        z: R.Tensor((4,), dtype="float32") = R.call_builtin_with_ctx("vm.builtin.invoke_closure", (c, x), ty_args=(R.Tensor((4,), dtype="float32"),))
        return z
