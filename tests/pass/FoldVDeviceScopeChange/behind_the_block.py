# SPDX-License-Identifier: Apache-2.0
# A copy behind the dataflow block cannot be replaced by a call that uses the block's own variables.
@I.ir_module
class Before:
    I.module_global_infos({"vdevice": [I.vdevice("opencl", 0, "global.texture-weight"), I.vdevice("opencl", 1, "global")]})

    @T.prim_func(private=True)
    def f(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            y[i] = x[i] + T.float32(1)

    @R.function
    def of_its_variable(x: R.Tensor((4,), "float32", "opencl:1:global")) -> R.Tensor((4,), "float32", "opencl:1:global"):
        cls = Before
        with R.dataflow():
            lv = R.call_tir(cls.f, (x,), out_ty=R.Tensor((4,), "float32", "opencl:1:global"))
            gv = R.call_tir(cls.f, (lv,), out_ty=R.Tensor((4,), "float32", "opencl:0:global.texture-weight"))
            R.output(gv)
        y = R.to_vdevice(gv, "opencl:1:global")
        return y

    @R.function
    def of_a_parameter(x: R.Tensor((4,), "float32", "opencl:1:global")) -> R.Tensor((4,), "float32", "opencl:1:global"):
        cls = Before
        with R.dataflow():
            gv = R.call_tir(cls.f, (x,), out_ty=R.Tensor((4,), "float32", "opencl:0:global.texture-weight"))
            R.output(gv)
        y = R.to_vdevice(gv, "opencl:1:global")
        return y
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    I.module_global_infos({"vdevice": [I.vdevice("opencl", 0, "global.texture-weight"), I.vdevice("opencl", 1, "global")]})

    @T.prim_func(private=True)
    def f(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            y[i] = x[i] + T.float32(1.0)

    @R.function
    def of_a_parameter(x: R.Tensor((4,), dtype="float32", vdevice="opencl:1:global")) -> R.Tensor((4,), dtype="float32", vdevice="opencl:1:global"):
        cls = Expected
        y = R.call_tir(cls.f, (x,), out_ty=R.Tensor((4,), dtype="float32", vdevice="opencl:1:global"))
        return y

    @R.function
    def of_its_variable(x: R.Tensor((4,), dtype="float32", vdevice="opencl:1:global")) -> R.Tensor((4,), dtype="float32", vdevice="opencl:1:global"):
        cls = Expected
        with R.dataflow():
            lv = R.call_tir(cls.f, (x,), out_ty=R.Tensor((4,), dtype="float32", vdevice="opencl:1:global"))
            gv = R.call_tir(cls.f, (lv,), out_ty=R.Tensor((4,), dtype="float32", vdevice="opencl:0:global.texture-weight"))
            R.output(gv)
        y: R.Tensor((4,), dtype="float32", vdevice="opencl:1:global") = R.to_vdevice(gv, dst_vdevice="opencl:1:global")
        return y
