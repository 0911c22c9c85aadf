# SPDX-License-Identifier: Apache-2.0
# Rows of 15 are too long as well: rows of 5, two layers.
# target: {"kind": "opencl", "keys": ["adreno", "opencl", "gpu", "texture"], "texture_spatial_limit": 5, "texture_depth_limit": 2}
@I.ir_module
class Before:
    @T.prim_func(private=True, s_tir=True)
    def twice(x: T.Buffer((T.int64(1), T.int64(2), T.int64(3), T.int64(5), T.int64(4)), "float32"), y: T.Buffer((T.int64(1), T.int64(2), T.int64(3), T.int64(5), T.int64(4)), "float32")):
        for a, b, c, d, e in T.grid(T.int64(1), T.int64(2), T.int64(3), T.int64(5), T.int64(4)):
            with T.sblock("twice"):
                va, vb, vc, vd, ve = T.axis.remap("SSSSS", [a, b, c, d, e])
                y[va, vb, vc, vd, ve] = x[va, vb, vc, vd, ve] * T.float32(2)

    @R.function
    def main(x: R.Tensor((1, 2, 3, 5, 4), "float32")):
        cls = Before
        with R.dataflow():
            lv = R.call_tir(cls.twice, (x,), out_ty=R.Tensor((1, 2, 3, 5, 4), "float32"))
            gv = R.call_tir(cls.twice, (lv,), out_ty=R.Tensor((1, 2, 3, 5, 4), "float32"))
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    I.module_global_infos({"vdevice": [I.vdevice("opencl", 0, "global.texture:5x3x2:float32")]})

    @T.prim_func(private=True, s_tir=True)
    def twice(x: T.Buffer((T.int64(1), T.int64(2), T.int64(3), T.int64(5), T.int64(4)), "float32"), y: T.Buffer((T.int64(1), T.int64(2), T.int64(3), T.int64(5), T.int64(4)), "float32")):
        # with T.sblock("root"):
        for a, b, c, d, e in T.grid(T.int64(1), T.int64(2), T.int64(3), T.int64(5), T.int64(4)):
            with T.sblock("twice"):
                va, vb, vc, vd, ve = T.axis.remap("SSSSS", [a, b, c, d, e])
                T.reads(x[va, vb, vc, vd, ve])
                T.writes(y[va, vb, vc, vd, ve])
                y[va, vb, vc, vd, ve] = x[va, vb, vc, vd, ve] * T.float32(2.0)

    @T.prim_func(private=True, s_tir=True)
    def twice_texture(x: T.Buffer((T.int64(1), T.int64(2), T.int64(3), T.int64(5), T.int64(4)), "float32"), y: T.Buffer((T.int64(1), T.int64(2), T.int64(3), T.int64(5), T.int64(4)), "float32", scope="global.texture:5x3x2:float32")):
        # with T.sblock("root"):
        for a, b, c, d, e in T.grid(T.int64(1), T.int64(2), T.int64(3), T.int64(5), T.int64(4)):
            with T.sblock("twice"):
                va, vb, vc, vd, ve = T.axis.remap("SSSSS", [a, b, c, d, e])
                T.reads(x[va, vb, vc, vd, ve])
                T.writes(y[va, vb, vc, vd, ve])
                y[va, vb, vc, vd, ve] = x[va, vb, vc, vd, ve] * T.float32(2.0)

    @T.prim_func(private=True, s_tir=True)
    def twice_texture1(x: T.Buffer((T.int64(1), T.int64(2), T.int64(3), T.int64(5), T.int64(4)), "float32", scope="global.texture:5x3x2:float32"), y: T.Buffer((T.int64(1), T.int64(2), T.int64(3), T.int64(5), T.int64(4)), "float32")):
        # with T.sblock("root"):
        for a, b, c, d, e in T.grid(T.int64(1), T.int64(2), T.int64(3), T.int64(5), T.int64(4)):
            with T.sblock("twice"):
                va, vb, vc, vd, ve = T.axis.remap("SSSSS", [a, b, c, d, e])
                T.reads(x[va, vb, vc, vd, ve])
                T.writes(y[va, vb, vc, vd, ve])
                y[va, vb, vc, vd, ve] = x[va, vb, vc, vd, ve] * T.float32(2.0)

    @R.function
    def main(x: R.Tensor((1, 2, 3, 5, 4), dtype="float32")) -> R.Tensor((1, 2, 3, 5, 4), dtype="float32"):
        cls = Expected
        with R.dataflow():
            lv = R.call_tir(cls.twice_texture, (x,), out_ty=R.Tensor((1, 2, 3, 5, 4), dtype="float32", vdevice="opencl:0:global.texture:5x3x2:float32"))
            gv = R.call_tir(cls.twice_texture1, (lv,), out_ty=R.Tensor((1, 2, 3, 5, 4), dtype="float32"))
            R.output(gv)
        return gv
