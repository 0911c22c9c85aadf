# SPDX-License-Identifier: Apache-2.0
# A program without the vector form cannot store to an image (a); one that takes the address of its tensor cannot read one (b);
# nor can anything that is no tensor program (c).
# target: {"kind": "opencl", "keys": ["adreno", "opencl", "gpu", "texture"]}
@I.ir_module
class Before:
    @T.prim_func(private=True, s_tir=True)
    def twice(x: T.Buffer((T.int64(1), T.int64(2), T.int64(3), T.int64(5), T.int64(4)), "float32"), y: T.Buffer((T.int64(1), T.int64(2), T.int64(3), T.int64(5), T.int64(4)), "float32")):
        for a, b, c, d, e in T.grid(T.int64(1), T.int64(2), T.int64(3), T.int64(5), T.int64(4)):
            with T.sblock("twice"):
                va, vb, vc, vd, ve = T.axis.remap("SSSSS", [a, b, c, d, e])
                y[va, vb, vc, vd, ve] = x[va, vb, vc, vd, ve] * T.float32(2)

    @T.prim_func(private=True, s_tir=True)
    def running(x: T.Buffer((T.int64(1), T.int64(2), T.int64(3), T.int64(5), T.int64(4)), "float32"), y: T.Buffer((T.int64(1), T.int64(2), T.int64(3), T.int64(5), T.int64(4)), "float32")):
        with T.sblock("opaque"):
            T.reads(x[T.int64(0):T.int64(1), T.int64(0):T.int64(2), T.int64(0):T.int64(3), T.int64(0):T.int64(5), T.int64(0):T.int64(4)])
            T.writes(y[T.int64(0):T.int64(1), T.int64(0):T.int64(2), T.int64(0):T.int64(3), T.int64(0):T.int64(5), T.int64(0):T.int64(4)])
            for a, b, c, d, e in T.grid(T.int64(1), T.int64(2), T.int64(3), T.int64(5), T.int64(4)):
                y[a, b, c, d, e] = x[a, b, c, d, e] + T.float32(1)

    @T.prim_func(private=True, s_tir=True)
    def window(x: T.Buffer((T.int64(1), T.int64(2), T.int64(3), T.int64(5), T.int64(4)), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            with T.sblock("window"):
                vi = T.axis.spatial(T.int64(4), i)
                W = T.match_buffer(x[T.int64(0), T.int64(0), T.int64(0), T.int64(0), vi:vi + T.int64(1)], (T.int64(1),), offset_factor=1)
                y[vi] = W[T.int64(0)]

    @R.function
    def main(x: R.Tensor((1, 2, 3, 5, 4), "float32")):
        cls = Before
        with R.dataflow():
            a = R.call_tir(cls.running, (x,), out_ty=R.Tensor((1, 2, 3, 5, 4), "float32"))
            b = R.call_tir(cls.twice, (a,), out_ty=R.Tensor((1, 2, 3, 5, 4), "float32"))
            w = R.call_tir(cls.window, (b,), out_ty=R.Tensor((4,), "float32"))
            c = R.call_tir(cls.twice, (a,), out_ty=R.Tensor((1, 2, 3, 5, 4), "float32"))
            n = R.shape_of(c)
            d = R.call_tir(cls.twice, (x,), out_ty=R.Tensor((1, 2, 3, 5, 4), "float32"))
            e = R.call_tir(cls.twice, (d,), out_ty=R.Tensor((1, 2, 3, 5, 4), "float32"))
            f = R.call_tir(cls.twice, (e,), out_ty=R.Tensor((1, 2, 3, 5, 4), "float32"))
            gv = (w, f, n, c)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    I.module_global_infos({"vdevice": [I.vdevice("opencl", 0, "global.texture-weight:30x1:float32")]})

    @T.prim_func(private=True, s_tir=True)
    def running(x: T.Buffer((T.int64(1), T.int64(2), T.int64(3), T.int64(5), T.int64(4)), "float32"), y: T.Buffer((T.int64(1), T.int64(2), T.int64(3), T.int64(5), T.int64(4)), "float32")):
        with T.sblock("opaque"):
            T.reads(x[T.int64(0), T.int64(0):T.int64(2), T.int64(0):T.int64(3), T.int64(0):T.int64(5), T.int64(0):T.int64(4)])
            T.writes(y[T.int64(0), T.int64(0):T.int64(2), T.int64(0):T.int64(3), T.int64(0):T.int64(5), T.int64(0):T.int64(4)])
            for a, b, c, d, e in T.grid(T.int64(1), T.int64(2), T.int64(3), T.int64(5), T.int64(4)):
                y[a, b, c, d, e] = x[a, b, c, d, e] + T.float32(1.0)

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
    def twice_texture(x: T.Buffer((T.int64(1), T.int64(2), T.int64(3), T.int64(5), T.int64(4)), "float32"), y: T.Buffer((T.int64(1), T.int64(2), T.int64(3), T.int64(5), T.int64(4)), "float32", scope="global.texture-weight:30x1:float32")):
        # with T.sblock("root"):
        for a, b, c, d, e in T.grid(T.int64(1), T.int64(2), T.int64(3), T.int64(5), T.int64(4)):
            with T.sblock("twice"):
                va, vb, vc, vd, ve = T.axis.remap("SSSSS", [a, b, c, d, e])
                T.reads(x[va, vb, vc, vd, ve])
                T.writes(y[va, vb, vc, vd, ve])
                y[va, vb, vc, vd, ve] = x[va, vb, vc, vd, ve] * T.float32(2.0)

    @T.prim_func(private=True, s_tir=True)
    def twice_texture1(x: T.Buffer((T.int64(1), T.int64(2), T.int64(3), T.int64(5), T.int64(4)), "float32", scope="global.texture-weight:30x1:float32"), y: T.Buffer((T.int64(1), T.int64(2), T.int64(3), T.int64(5), T.int64(4)), "float32", scope="global.texture-weight:30x1:float32")):
        # with T.sblock("root"):
        for a, b, c, d, e in T.grid(T.int64(1), T.int64(2), T.int64(3), T.int64(5), T.int64(4)):
            with T.sblock("twice"):
                va, vb, vc, vd, ve = T.axis.remap("SSSSS", [a, b, c, d, e])
                T.reads(x[va, vb, vc, vd, ve])
                T.writes(y[va, vb, vc, vd, ve])
                y[va, vb, vc, vd, ve] = x[va, vb, vc, vd, ve] * T.float32(2.0)

    @T.prim_func(private=True, s_tir=True)
    def twice_texture2(x: T.Buffer((T.int64(1), T.int64(2), T.int64(3), T.int64(5), T.int64(4)), "float32", scope="global.texture-weight:30x1:float32"), y: T.Buffer((T.int64(1), T.int64(2), T.int64(3), T.int64(5), T.int64(4)), "float32")):
        # with T.sblock("root"):
        for a, b, c, d, e in T.grid(T.int64(1), T.int64(2), T.int64(3), T.int64(5), T.int64(4)):
            with T.sblock("twice"):
                va, vb, vc, vd, ve = T.axis.remap("SSSSS", [a, b, c, d, e])
                T.reads(x[va, vb, vc, vd, ve])
                T.writes(y[va, vb, vc, vd, ve])
                y[va, vb, vc, vd, ve] = x[va, vb, vc, vd, ve] * T.float32(2.0)

    @T.prim_func(private=True, s_tir=True)
    def window(x: T.Buffer((T.int64(1), T.int64(2), T.int64(3), T.int64(5), T.int64(4)), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        # with T.sblock("root"):
        for i in range(T.int64(4)):
            with T.sblock("window"):
                vi = T.axis.remap("S", [i])
                T.reads(x[T.int64(0), T.int64(0), T.int64(0), T.int64(0), vi])
                T.writes(y[vi])
                W_elem_offset = T.int64()
                W = T.match_buffer(x[T.int64(0), T.int64(0), T.int64(0), T.int64(0), vi], (T.int64(1),), elem_offset=W_elem_offset)
                y[vi] = W[T.int64(0)]

    @R.function
    def main(x: R.Tensor((1, 2, 3, 5, 4), dtype="float32")) -> R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((1, 2, 3, 5, 4), dtype="float32"), R.Shape([1, 2, 3, 5, 4]), R.Tensor((1, 2, 3, 5, 4), dtype="float32")):
        cls = Expected
        with R.dataflow():
            a = R.call_tir(cls.running, (x,), out_ty=R.Tensor((1, 2, 3, 5, 4), dtype="float32"))
            b = R.call_tir(cls.twice, (a,), out_ty=R.Tensor((1, 2, 3, 5, 4), dtype="float32"))
            w = R.call_tir(cls.window, (b,), out_ty=R.Tensor((4,), dtype="float32"))
            c = R.call_tir(cls.twice, (a,), out_ty=R.Tensor((1, 2, 3, 5, 4), dtype="float32"))
            n: R.Shape([1, 2, 3, 5, 4]) = R.shape_of(c)
            d = R.call_tir(cls.twice_texture, (x,), out_ty=R.Tensor((1, 2, 3, 5, 4), dtype="float32", vdevice="opencl:0:global.texture-weight:30x1:float32"))
            e = R.call_tir(cls.twice_texture1, (d,), out_ty=R.Tensor((1, 2, 3, 5, 4), dtype="float32", vdevice="opencl:0:global.texture-weight:30x1:float32"))
            f = R.call_tir(cls.twice_texture2, (e,), out_ty=R.Tensor((1, 2, 3, 5, 4), dtype="float32"))
            gv: R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((1, 2, 3, 5, 4), dtype="float32"), R.Shape([1, 2, 3, 5, 4]), R.Tensor((1, 2, 3, 5, 4), dtype="float32")) = (w, f, n, c)
            R.output(gv)
        return gv
