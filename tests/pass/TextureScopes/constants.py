# SPDX-License-Identifier: Apache-2.0
# A constant that programs in the vector form read lies in an image: the programs' buffers say so, the constant does not change.
# One that a program without that form reads (5 to 8), and one whose row is too long (e), lie in buffers.
# target: {"kind": "opencl", "keys": ["adreno", "opencl", "gpu", "texture"], "texture_spatial_limit": 2, "texture_depth_limit": 1}
@I.ir_module
class Before:
    @T.prim_func(private=True, s_tir=True)
    def scale(x: T.Buffer((T.int64(1), T.int64(1), T.int64(1), T.int64(2), T.int64(4)), "float32"), w: T.Buffer((T.int64(1), T.int64(1), T.int64(1), T.int64(1), T.int64(4)), "float32"), y: T.Buffer((T.int64(1), T.int64(1), T.int64(1), T.int64(2), T.int64(4)), "float32")):
        for a, b, c, d, e in T.grid(T.int64(1), T.int64(1), T.int64(1), T.int64(2), T.int64(4)):
            with T.sblock("scale"):
                va, vb, vc, vd, ve = T.axis.remap("SSSSS", [a, b, c, d, e])
                y[va, vb, vc, vd, ve] = x[va, vb, vc, vd, ve] * w[va, vb, vc, T.int64(0), ve]

    @T.prim_func(private=True, s_tir=True)
    def long(x: T.Buffer((T.int64(1), T.int64(1), T.int64(1), T.int64(2), T.int64(4)), "float32"), w: T.Buffer((T.int64(1), T.int64(1), T.int64(1), T.int64(3), T.int64(4)), "float32"), y: T.Buffer((T.int64(1), T.int64(1), T.int64(1), T.int64(2), T.int64(4)), "float32")):
        for a, b, c, d, e in T.grid(T.int64(1), T.int64(1), T.int64(1), T.int64(2), T.int64(4)):
            with T.sblock("long"):
                va, vb, vc, vd, ve = T.axis.remap("SSSSS", [a, b, c, d, e])
                y[va, vb, vc, vd, ve] = x[va, vb, vc, vd, ve] + w[va, vb, vc, vd + T.int64(1), ve]

    @T.prim_func(private=True, s_tir=True)
    def running(w: T.Buffer((T.int64(1), T.int64(1), T.int64(1), T.int64(1), T.int64(4)), "float32"), y: T.Buffer((T.int64(1), T.int64(1), T.int64(1), T.int64(1), T.int64(4)), "float32")):
        with T.sblock("opaque"):
            T.reads(w[T.int64(0):T.int64(1), T.int64(0):T.int64(1), T.int64(0):T.int64(1), T.int64(0):T.int64(1), T.int64(0):T.int64(4)])
            T.writes(y[T.int64(0):T.int64(1), T.int64(0):T.int64(1), T.int64(0):T.int64(1), T.int64(0):T.int64(1), T.int64(0):T.int64(4)])
            for e in range(T.int64(4)):
                y[T.int64(0), T.int64(0), T.int64(0), T.int64(0), e] = w[T.int64(0), T.int64(0), T.int64(0), T.int64(0), e] + T.float32(1)

    @R.function
    def main(x: R.Tensor((1, 1, 1, 2, 4), "float32")):
        cls = Before
        with R.dataflow():
            a = R.call_tir(cls.scale, (x, R.const([[[[[1, 2, 3, 4]]]]], "float32")), out_ty=R.Tensor((1, 1, 1, 2, 4), "float32"))
            b = R.call_tir(cls.scale, (a, R.const([[[[[1, 2, 3, 4]]]]], "float32")), out_ty=R.Tensor((1, 1, 1, 2, 4), "float32"))
            c = R.call_tir(cls.running, (R.const([[[[[5, 6, 7, 8]]]]], "float32"),), out_ty=R.Tensor((1, 1, 1, 1, 4), "float32"))
            e = R.call_tir(cls.long, (x, R.const([[[[[1, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3]]]]], "float32")), out_ty=R.Tensor((1, 1, 1, 2, 4), "float32"))
            gv = (b, c, e)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    I.module_global_infos({"vdevice": [I.vdevice("opencl", 0, "global.texture-weight:2x1:float32")]})

    @T.prim_func(private=True, s_tir=True)
    def long(x: T.Buffer((T.int64(1), T.int64(1), T.int64(1), T.int64(2), T.int64(4)), "float32"), w: T.Buffer((T.int64(1), T.int64(1), T.int64(1), T.int64(3), T.int64(4)), "float32"), y: T.Buffer((T.int64(1), T.int64(1), T.int64(1), T.int64(2), T.int64(4)), "float32")):
        # with T.sblock("root"):
        for a, b, c, d, e in T.grid(T.int64(1), T.int64(1), T.int64(1), T.int64(2), T.int64(4)):
            with T.sblock("long"):
                va, vb, vc, vd, ve = T.axis.remap("SSSSS", [a, b, c, d, e])
                T.reads(x[va, vb, vc, vd, ve], w[va, vb, vc, vd + T.int64(1), ve])
                T.writes(y[va, vb, vc, vd, ve])
                y[va, vb, vc, vd, ve] = x[va, vb, vc, vd, ve] + w[va, vb, vc, vd + T.int64(1), ve]

    @T.prim_func(private=True, s_tir=True)
    def running(w: T.Buffer((T.int64(1), T.int64(1), T.int64(1), T.int64(1), T.int64(4)), "float32"), y: T.Buffer((T.int64(1), T.int64(1), T.int64(1), T.int64(1), T.int64(4)), "float32")):
        with T.sblock("opaque"):
            T.reads(w[T.int64(0), T.int64(0), T.int64(0), T.int64(0), T.int64(0):T.int64(4)])
            T.writes(y[T.int64(0), T.int64(0), T.int64(0), T.int64(0), T.int64(0):T.int64(4)])
            for e in range(T.int64(4)):
                y[T.int64(0), T.int64(0), T.int64(0), T.int64(0), e] = w[T.int64(0), T.int64(0), T.int64(0), T.int64(0), e] + T.float32(1.0)

    @T.prim_func(private=True, s_tir=True)
    def scale(x: T.Buffer((T.int64(1), T.int64(1), T.int64(1), T.int64(2), T.int64(4)), "float32"), w: T.Buffer((T.int64(1), T.int64(1), T.int64(1), T.int64(1), T.int64(4)), "float32"), y: T.Buffer((T.int64(1), T.int64(1), T.int64(1), T.int64(2), T.int64(4)), "float32")):
        # with T.sblock("root"):
        for a, b, c, d, e in T.grid(T.int64(1), T.int64(1), T.int64(1), T.int64(2), T.int64(4)):
            with T.sblock("scale"):
                va, vb, vc, vd, ve = T.axis.remap("SSSSS", [a, b, c, d, e])
                T.reads(x[va, vb, vc, vd, ve], w[va, vb, vc, T.int64(0), ve])
                T.writes(y[va, vb, vc, vd, ve])
                y[va, vb, vc, vd, ve] = x[va, vb, vc, vd, ve] * w[va, vb, vc, T.int64(0), ve]

    @T.prim_func(private=True, s_tir=True)
    def scale_texture(x: T.Buffer((T.int64(1), T.int64(1), T.int64(1), T.int64(2), T.int64(4)), "float32"), w: T.Buffer((T.int64(1), T.int64(1), T.int64(1), T.int64(1), T.int64(4)), "float32", scope="global.texture-weight:1x1:float32"), y: T.Buffer((T.int64(1), T.int64(1), T.int64(1), T.int64(2), T.int64(4)), "float32", scope="global.texture-weight:2x1:float32")):
        # with T.sblock("root"):
        for a, b, c, d, e in T.grid(T.int64(1), T.int64(1), T.int64(1), T.int64(2), T.int64(4)):
            with T.sblock("scale"):
                va, vb, vc, vd, ve = T.axis.remap("SSSSS", [a, b, c, d, e])
                T.reads(x[va, vb, vc, vd, ve], w[va, vb, vc, T.int64(0), ve])
                T.writes(y[va, vb, vc, vd, ve])
                y[va, vb, vc, vd, ve] = x[va, vb, vc, vd, ve] * w[va, vb, vc, T.int64(0), ve]

    @T.prim_func(private=True, s_tir=True)
    def scale_texture1(x: T.Buffer((T.int64(1), T.int64(1), T.int64(1), T.int64(2), T.int64(4)), "float32", scope="global.texture-weight:2x1:float32"), w: T.Buffer((T.int64(1), T.int64(1), T.int64(1), T.int64(1), T.int64(4)), "float32", scope="global.texture-weight:1x1:float32"), y: T.Buffer((T.int64(1), T.int64(1), T.int64(1), T.int64(2), T.int64(4)), "float32")):
        # with T.sblock("root"):
        for a, b, c, d, e in T.grid(T.int64(1), T.int64(1), T.int64(1), T.int64(2), T.int64(4)):
            with T.sblock("scale"):
                va, vb, vc, vd, ve = T.axis.remap("SSSSS", [a, b, c, d, e])
                T.reads(x[va, vb, vc, vd, ve], w[va, vb, vc, T.int64(0), ve])
                T.writes(y[va, vb, vc, vd, ve])
                y[va, vb, vc, vd, ve] = x[va, vb, vc, vd, ve] * w[va, vb, vc, T.int64(0), ve]

    @R.function
    def main(x: R.Tensor((1, 1, 1, 2, 4), dtype="float32")) -> R.Tuple(R.Tensor((1, 1, 1, 2, 4), dtype="float32"), R.Tensor((1, 1, 1, 1, 4), dtype="float32"), R.Tensor((1, 1, 1, 2, 4), dtype="float32")):
        cls = Expected
        with R.dataflow():
            a = R.call_tir(cls.scale_texture, (x, R.const([[[[[1.0, 2.0, 3.0, 4.0]]]]], "float32")), out_ty=R.Tensor((1, 1, 1, 2, 4), dtype="float32", vdevice="opencl:0:global.texture-weight:2x1:float32"))
            b = R.call_tir(cls.scale_texture1, (a, R.const([[[[[1.0, 2.0, 3.0, 4.0]]]]], "float32")), out_ty=R.Tensor((1, 1, 1, 2, 4), dtype="float32"))
            c = R.call_tir(cls.running, (R.const([[[[[5.0, 6.0, 7.0, 8.0]]]]], "float32"),), out_ty=R.Tensor((1, 1, 1, 1, 4), dtype="float32"))
            e = R.call_tir(cls.long, (x, R.const([[[[[1.0, 1.0, 1.0, 1.0], [2.0, 2.0, 2.0, 2.0], [3.0, 3.0, 3.0, 3.0]]]]], "float32")), out_ty=R.Tensor((1, 1, 1, 2, 4), dtype="float32"))
            gv: R.Tuple(R.Tensor((1, 1, 1, 2, 4), dtype="float32"), R.Tensor((1, 1, 1, 1, 4), dtype="float32"), R.Tensor((1, 1, 1, 2, 4), dtype="float32")) = (b, c, e)
            R.output(gv)
        return gv
