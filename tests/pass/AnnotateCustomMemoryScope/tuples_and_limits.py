# SPDX-License-Identifier: Apache-2.0
# Fields of tuples, limits of the target, extents that are not constant, and what no program reads.
# target: {"kind": "opencl", "texture_spatial_limit": 100, "texture_depth_limit": 4}
@I.ir_module
class Before:
    I.module_global_infos({"vdevice": [I.vdevice("opencl", 0, "global")]})

    @T.prim_func(private=True, s_tir=True)
    def relu(A: T.Buffer((T.int64(1), T.int64(8), T.int64(16), T.int64(16), T.int64(4)), "float32"), B: T.Buffer((T.int64(1), T.int64(8), T.int64(16), T.int64(16), T.int64(4)), "float32")):
        T.func_attr({"op_pattern": 0})
        for i0, i1, i2, i3, i4 in T.grid(T.int64(1), T.int64(8), T.int64(16), T.int64(16), T.int64(4)):
            with T.sblock("relu"):
                v0, v1, v2, v3, v4 = T.axis.remap("SSSSS", [i0, i1, i2, i3, i4])
                B[v0, v1, v2, v3, v4] = T.max(A[v0, v1, v2, v3, v4], T.float32(0))

    @R.function
    def main(x: R.Tensor((1, 8, 16, 16, 4), "float32"), y: R.Tensor((1, "n", 4, 4, 4), "float32"), z: R.Tensor((8, 2, 4, 4, 4), "float32")):
        cls = Before
        n = T.int64()
        with R.dataflow():
            a = R.call_tir(cls.relu, (x,), out_ty=R.Tensor((1, 8, 16, 16, 4), "float32"))
            t = (a, x)
            b = t[0]
            c = R.nn.layer_norm(b, x, x, axes=[0, 1, 2, 3, 4])
            d = R.nn.avg_pool2d(y, pool_size=[2, 2], layout="NCHW4c")
            e = R.nn.avg_pool2d(z, pool_size=[2, 2], layout="NCHW4c")
            f = R.call_dps_packed("other", (c,), out_ty=R.Tensor((1, 8, 16, 16, 4), "float32"))
            R.output(d, e, f)
        return (d, e, f)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    I.module_global_infos({"vdevice": [I.vdevice("opencl", 0, "global"), I.vdevice("opencl", 0, "global.texture-nchw"), I.vdevice("opencl", 0, "global.texture-weight")]})

    @T.prim_func(private=True, s_tir=True)
    def relu(A: T.Buffer((T.int64(1), T.int64(8), T.int64(16), T.int64(16), T.int64(4)), "float32"), B: T.Buffer((T.int64(1), T.int64(8), T.int64(16), T.int64(16), T.int64(4)), "float32")):
        T.func_attr({"op_pattern": 0})
        # with T.sblock("root"):
        for i0, i1, i2, i3, i4 in T.grid(T.int64(1), T.int64(8), T.int64(16), T.int64(16), T.int64(4)):
            with T.sblock("relu"):
                v0, v1, v2, v3, v4 = T.axis.remap("SSSSS", [i0, i1, i2, i3, i4])
                T.reads(A[v0, v1, v2, v3, v4])
                T.writes(B[v0, v1, v2, v3, v4])
                B[v0, v1, v2, v3, v4] = T.max(A[v0, v1, v2, v3, v4], T.float32(0.0))

    @R.function
    def main(x: R.Tensor((1, 8, 16, 16, 4), dtype="float32"), y: R.Tensor((1, "n", 4, 4, 4), dtype="float32"), z: R.Tensor((8, 2, 4, 4, 4), dtype="float32")) -> R.Tuple(R.Tensor((1, "n", 3, 3, 4), dtype="float32", vdevice="opencl:0:global"), R.Tensor((8, 2, 3, 3, 4), dtype="float32", vdevice="opencl:0:global"), R.Tensor((1, 8, 16, 16, 4), dtype="float32")):
        n = T.int64()
        cls = Expected
        with R.dataflow():
            a = R.call_tir(cls.relu, (x,), out_ty=R.Tensor((1, 8, 16, 16, 4), dtype="float32", vdevice="opencl:0:global"))
            t: R.Tuple(R.Tensor((1, 8, 16, 16, 4), dtype="float32", vdevice="opencl:0:global"), R.Tensor((1, 8, 16, 16, 4), dtype="float32")) = (a, x)
            b: R.Tensor((1, 8, 16, 16, 4), dtype="float32", vdevice="opencl:0:global") = t[0]
            c: R.Tensor((1, 8, 16, 16, 4), dtype="float32", vdevice="opencl:0:global") = R.nn.layer_norm(b, x, x, axes=[0, 1, 2, 3, 4], epsilon=1e-05, center=True, scale=True, ty_args=(R.Tensor((1, 8, 16, 16, 4), dtype="float32", vdevice="opencl:0:global"),))
            y_1: R.Tensor((1, n, 4, 4, 4), dtype="float32", vdevice="opencl:1:global.texture-nchw") = R.to_vdevice(y, dst_vdevice="opencl:1:global.texture-nchw")
            d: R.Tensor((1, n, 3, 3, 4), dtype="float32", vdevice="opencl:0:global") = R.nn.avg_pool2d(y_1, pool_size=[2, 2], strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], ceil_mode=False, count_include_pad=False, layout="NCHW4c", out_layout="NCHW4c", ty_args=(R.Tensor((1, n, 3, 3, 4), dtype="float32", vdevice="opencl:0:global"),))
            z_1: R.Tensor((8, 2, 4, 4, 4), dtype="float32", vdevice="opencl:2:global.texture-weight") = R.to_vdevice(z, dst_vdevice="opencl:2:global.texture-weight")
            e: R.Tensor((8, 2, 3, 3, 4), dtype="float32", vdevice="opencl:0:global") = R.nn.avg_pool2d(z_1, pool_size=[2, 2], strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], ceil_mode=False, count_include_pad=False, layout="NCHW4c", out_layout="NCHW4c", ty_args=(R.Tensor((8, 2, 3, 3, 4), dtype="float32", vdevice="opencl:0:global"),))
            f = R.call_dps_packed("other", (c,), out_ty=R.Tensor((1, 8, 16, 16, 4), dtype="float32"))
            R.output(d, e, f)
        return (d, e, f)
