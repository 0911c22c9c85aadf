# SPDX-License-Identifier: Apache-2.0
# What a convolution reads as data lies in an image, its weight in a buffer; what a program reads that may be
# injective lies in an image, what one of unknown kind reads (scatter) in a buffer. Of two that want an image and
# one that wants a buffer the latter reads a copy.
# target: opencl
@I.ir_module
class Before:
    @T.prim_func(private=True, s_tir=True)
    def relu(A: T.Buffer((T.int64(1), T.int64(8), T.int64(16), T.int64(16), T.int64(4)), "float32"), B: T.Buffer((T.int64(1), T.int64(8), T.int64(16), T.int64(16), T.int64(4)), "float32")):
        T.func_attr({"op_pattern": 0})
        for i0, i1, i2, i3, i4 in T.grid(T.int64(1), T.int64(8), T.int64(16), T.int64(16), T.int64(4)):
            with T.sblock("relu"):
                v0, v1, v2, v3, v4 = T.axis.remap("SSSSS", [i0, i1, i2, i3, i4])
                B[v0, v1, v2, v3, v4] = T.max(A[v0, v1, v2, v3, v4], T.float32(0))

    @T.prim_func(private=True, s_tir=True)
    def total(A: T.Buffer((T.int64(1), T.int64(8), T.int64(16), T.int64(16), T.int64(4)), "float32"), B: T.Buffer((T.int64(8),), "float32")):
        T.func_attr({"op_pattern": 3})
        for i, j, k, l in T.grid(T.int64(8), T.int64(16), T.int64(16), T.int64(4)):
            with T.sblock("total"):
                v, x, y, z = T.axis.remap("SRRR", [i, j, k, l])
                with T.init():
                    B[v] = T.float32(0)
                B[v] = B[v] + A[T.int64(0), v, x, y, z]

    @R.function
    def main(x: R.Tensor((1, 8, 16, 16, 4), "float32"), w: R.Tensor((8, 32, 3, 3, 4), "float32")):
        cls = Before
        with R.dataflow():
            a = R.call_tir(cls.relu, (x,), out_ty=R.Tensor((1, 8, 16, 16, 4), "float32"))
            b = R.nn.conv2d(a, w, padding=[1, 1, 1, 1], data_layout="NCHW4c", kernel_layout="OIHW4o", out_dtype="float32")
            c = R.call_tir(cls.relu, (a,), out_ty=R.Tensor((1, 8, 16, 16, 4), "float32"))
            d = R.call_tir(cls.total, (a,), out_ty=R.Tensor((8,), "float32"))
            e = R.nn.max_pool2d(b, pool_size=[2, 2], strides=[2, 2], layout="NCHW4c")
            R.output(c, d, e)
        return (c, d, e)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    I.module_global_infos({"vdevice": [I.vdevice("opencl", 0, "global.texture-weight"), I.vdevice("opencl", 0, "global")]})

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

    @T.prim_func(private=True, s_tir=True)
    def total(A: T.Buffer((T.int64(1), T.int64(8), T.int64(16), T.int64(16), T.int64(4)), "float32"), B: T.Buffer((T.int64(8),), "float32")):
        T.func_attr({"op_pattern": 3})
        # with T.sblock("root"):
        for i, j, k, l in T.grid(T.int64(8), T.int64(16), T.int64(16), T.int64(4)):
            with T.sblock("total"):
                v, x, y, z = T.axis.remap("SRRR", [i, j, k, l])
                T.reads(A[T.int64(0), v, x, y, z])
                T.writes(B[v])
                with T.init():
                    B[v] = T.float32(0.0)
                B[v] = B[v] + A[T.int64(0), v, x, y, z]

    @R.function
    def main(x: R.Tensor((1, 8, 16, 16, 4), dtype="float32"), w: R.Tensor((8, 32, 3, 3, 4), dtype="float32")) -> R.Tuple(R.Tensor((1, 8, 16, 16, 4), dtype="float32", vdevice="opencl:1:global"), R.Tensor((8,), dtype="float32", vdevice="opencl:1:global"), R.Tensor((1, 8, 8, 8, 4), dtype="float32", vdevice="opencl:1:global")):
        cls = Expected
        with R.dataflow():
            x_1: R.Tensor((1, 8, 16, 16, 4), dtype="float32", vdevice="opencl:0:global.texture-weight") = R.to_vdevice(x, dst_vdevice="opencl:0:global.texture-weight")
            a = R.call_tir(cls.relu, (x_1,), out_ty=R.Tensor((1, 8, 16, 16, 4), dtype="float32", vdevice="opencl:0:global.texture-weight"))
            b: R.Tensor((1, 8, 16, 16, 4), dtype="float32", vdevice="opencl:0:global.texture-weight") = R.nn.conv2d(a, w, strides=[1, 1], padding=[1, 1, 1, 1], dilation=[1, 1], groups=1, data_layout="NCHW4c", kernel_layout="OIHW4o", out_layout="NCHW4c", out_dtype="float32", ty_args=(R.Tensor((1, 8, 16, 16, 4), dtype="float32", vdevice="opencl:0:global.texture-weight"),))
            c = R.call_tir(cls.relu, (a,), out_ty=R.Tensor((1, 8, 16, 16, 4), dtype="float32", vdevice="opencl:1:global"))
            a_1: R.Tensor((1, 8, 16, 16, 4), dtype="float32", vdevice="opencl:1:global") = R.to_vdevice(a, dst_vdevice="opencl:1:global")
            d = R.call_tir(cls.total, (a_1,), out_ty=R.Tensor((8,), dtype="float32", vdevice="opencl:1:global"))
            e: R.Tensor((1, 8, 8, 8, 4), dtype="float32", vdevice="opencl:1:global") = R.nn.max_pool2d(b, pool_size=[2, 2], strides=[2, 2], padding=[0, 0, 0, 0], dilation=[1, 1], ceil_mode=False, count_include_pad=False, layout="NCHW4c", out_layout="NCHW4c", ty_args=(R.Tensor((1, 8, 8, 8, 4), dtype="float32", vdevice="opencl:1:global"),))
            R.output(c, d, e)
        return (c, d, e)
