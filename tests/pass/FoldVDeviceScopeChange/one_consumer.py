# SPDX-License-Identifier: Apache-2.0
# The copy goes where it is the texture's one consumer; with two consumers it stays.
@I.ir_module
class Before:
    I.module_global_infos({"vdevice": [I.vdevice({"kind": "opencl"}, 0, "global.texture"), I.vdevice({"kind": "opencl"}, 0, "global")]})

    @T.prim_func(private=True)
    def copy(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            y[i] = x[i]

    @R.function
    def main(x: R.Tensor((4,), "float32", vdevice="opencl:1:global")):
        cls = Before
        with R.dataflow():
            a = R.call_tir(cls.copy, (x,), out_ty=R.Tensor((4,), "float32", vdevice="opencl:0:global.texture"))
            b = R.to_vdevice(a, "opencl:1:global")
            c = R.call_tir(cls.copy, (b,), out_ty=R.Tensor((4,), "float32", vdevice="opencl:0:global.texture"))
            d = R.to_vdevice(c, "opencl:1:global")
            e = R.call_tir(cls.copy, (c,), out_ty=R.Tensor((4,), "float32", vdevice="opencl:1:global"))
            gv = (d, e)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    I.module_global_infos({"vdevice": [I.vdevice("opencl", 0, "global.texture"), I.vdevice("opencl", 0, "global")]})

    @T.prim_func(private=True)
    def copy(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            y[i] = x[i]

    @R.function
    def main(x: R.Tensor((4,), dtype="float32", vdevice="opencl:1:global")) -> R.Tuple(R.Tensor((4,), dtype="float32", vdevice="opencl:1:global"), R.Tensor((4,), dtype="float32", vdevice="opencl:1:global")):
        cls = Expected
        with R.dataflow():
            b = R.call_tir(cls.copy, (x,), out_ty=R.Tensor((4,), dtype="float32", vdevice="opencl:1:global"))
            c = R.call_tir(cls.copy, (b,), out_ty=R.Tensor((4,), dtype="float32", vdevice="opencl:0:global.texture"))
            d: R.Tensor((4,), dtype="float32", vdevice="opencl:1:global") = R.to_vdevice(c, dst_vdevice="opencl:1:global")
            e = R.call_tir(cls.copy, (c,), out_ty=R.Tensor((4,), dtype="float32", vdevice="opencl:1:global"))
            gv: R.Tuple(R.Tensor((4,), dtype="float32", vdevice="opencl:1:global"), R.Tensor((4,), dtype="float32", vdevice="opencl:1:global")) = (d, e)
            R.output(gv)
        return gv
