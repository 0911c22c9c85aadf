# SPDX-License-Identifier: Apache-2.0
# An image belongs to the device of its number; it counts for none itself.
@I.ir_module
class Before:
    I.module_global_infos({"vdevice": [I.vdevice({"kind": "opencl"}, 0, "global"), I.vdevice({"kind": "opencl"}, 0, "global.texture-weight:5x2:float32"), I.vdevice({"kind": "opencl"}, 1, "global")]})

    @T.prim_func(private=True, s_tir=True)
    def flat(x: T.Buffer((T.int64(2), T.int64(5), T.int64(4)), "float32"), y: T.Buffer((T.int64(10), T.int64(4)), "float32", scope="global.texture-weight:5x2:float32")):
        for a, b in T.grid(T.int64(10), T.int64(4)):
            with T.sblock("flat"):
                va, vb = T.axis.remap("SS", [a, b])
                y[va, vb] = x[va // T.int64(5), va % T.int64(5), vb]

    @R.function
    def main(x: R.Tensor((2, 5, 4), "float32")):
        cls = Before
        with R.dataflow():
            lv = R.call_tir(cls.flat, (x,), out_ty=R.Tensor((10, 4), "float32", vdevice="opencl:1:global.texture-weight:5x2:float32"))
            gv = R.call_tir(cls.flat, (x,), out_ty=R.Tensor((10, 4), "float32", vdevice="opencl:2:global"))
            gv1 = (lv, gv)
            R.output(gv1)
        return gv1
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    I.module_global_infos({"vdevice": [I.vdevice("opencl", 0, "global"), I.vdevice("opencl", 0, "global.texture-weight:5x2:float32"), I.vdevice("opencl", 1, "global")]})

    @T.prim_func(private=True, s_tir=True)
    def flat(x: T.Buffer((T.int64(2), T.int64(5), T.int64(4)), "float32"), y: T.Buffer((T.int64(10), T.int64(4)), "float32", scope="global.texture-weight:5x2:float32")):
        # with T.sblock("root"):
        for a, b in T.grid(T.int64(10), T.int64(4)):
            with T.sblock("flat"):
                va, vb = T.axis.remap("SS", [a, b])
                T.reads(x[va // T.int64(5), va % T.int64(5), vb])
                T.writes(y[va, vb])
                y[va, vb] = x[va // T.int64(5), va % T.int64(5), vb]

    @R.function
    def main(x: R.Tensor((2, 5, 4), dtype="float32")) -> R.Tuple(R.Tensor((10, 4), dtype="float32", vdevice="opencl:1:global.texture-weight:5x2:float32"), R.Tensor((10, 4), dtype="float32", vdevice="opencl:2:global")):
        cls = Expected
        with R.dataflow():
            alloc: R.Tensor((10, 4), dtype="float32") = R.builtin.alloc_tensor(R.shape([10, 4]), R.dtype("float32"), R.prim_value(0), R.str("global.texture-weight:5x2:float32"))
            _: R.Tuple = cls.flat(x, alloc)
            lv: R.Tensor((10, 4), dtype="float32", vdevice="opencl:1:global.texture-weight:5x2:float32") = alloc
            alloc_1: R.Tensor((10, 4), dtype="float32") = R.builtin.alloc_tensor(R.shape([10, 4]), R.dtype("float32"), R.prim_value(1), R.str("global"))
            __1: R.Tuple = cls.flat(x, alloc_1)
            gv: R.Tensor((10, 4), dtype="float32", vdevice="opencl:2:global") = alloc_1
            gv1: R.Tuple(R.Tensor((10, 4), dtype="float32", vdevice="opencl:1:global.texture-weight:5x2:float32"), R.Tensor((10, 4), dtype="float32", vdevice="opencl:2:global")) = (lv, gv)
            R.output(gv1)
        return gv1
