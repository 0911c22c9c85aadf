# SPDX-License-Identifier: Apache-2.0
# A weight of packed_params gets an entry for each part of its blocks, in panels of two rows of which the last one lacks a row; what reads
# it itself (prefill's rows of it) still may. One row a sequence is multiplied as the blocks are, more by the matrix. A weight that is no
# item stays.
# target: {"kind": "cuda", "panel_rows": 2}
@I.ir_module
class Before:
    I.module_attrs({"params": {"files": [], "list": [{"name": "w", "dtype": "uint8", "shape": [3, 36], "file": 0, "offset": 64, "bytes": 108}]}})
    @R.function
    def decode(x: R.Tensor(("n", 1, 64), dtype="float32"), packed_params: R.Tuple(R.Tensor((3, 36), dtype="uint8"))) -> R.Tensor(("n", 1, 3), dtype="float32"):
        n = T.int64()
        with R.dataflow():
            w = packed_params[0]
            gv = R.gguf_matmul(x, w, type="Q4_0")
            R.output(gv)
        return gv

    @R.function
    def prefill(x: R.Tensor((1, 2, 64), dtype="float32"), packed_params: R.Tuple(R.Tensor((3, 36), dtype="uint8"))) -> R.Tuple(R.Tensor((1, 2, 3), dtype="float32"), R.Tensor((3, 36), dtype="uint8")):
        with R.dataflow():
            w = packed_params[0]
            y = R.gguf_matmul(x, w, type="Q4_0")
            gv = (y, w)
            R.output(gv)
        return gv

    @R.function
    def other(x: R.Tensor((1, 1, 32), dtype="float32"), w: R.Tensor((8, 18), dtype="uint8")) -> R.Tensor((1, 1, 8), dtype="float32"):
        with R.dataflow():
            gv = R.gguf_matmul(x, w, type="Q4_0")
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    I.module_attrs({"params": {"files": [], "list": [{"bytes": 108, "dtype": "uint8", "file": 0, "name": "w", "offset": 64, "shape": [3, 36]}, {"bytes": 16, "dtype": "uint16", "file": 0, "name": "w", "offset": 64, "shape": [2, 2, 2, 1], "transform": {"block": 18, "kind": "interleave_rows", "part": [0, 2], "rows": 2, "source_rows": 3}}, {"bytes": 128, "dtype": "uint32", "file": 0, "name": "w", "offset": 64, "shape": [2, 2, 2, 4], "transform": {"block": 18, "kind": "interleave_rows", "part": [2, 16], "rows": 2, "source_rows": 3}}]}})

    @T.prim_func(private=True, s_tir=True)
    def dequantize_Q4_0(part: T.Buffer((T.int64(2), T.int64(2), T.int64(2), T.int64(1)), "uint16"), part_1: T.Buffer((T.int64(2), T.int64(2), T.int64(2), T.int64(4)), "uint32"), dequantize: T.Buffer((T.int64(3), T.int64(64)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(T.int64(3), T.int64(64)):
            with T.sblock("dequantize"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(part[v_ax0 // T.int64(2), v_ax1 // T.int64(32), v_ax0 % T.int64(2), T.int64(0)], part_1[v_ax0 // T.int64(2), v_ax1 // T.int64(32), v_ax0 % T.int64(2), v_ax1 % T.int64(32) % T.int64(16) // T.int64(4)])
                T.writes(dequantize[v_ax0, v_ax1])
                dequantize[v_ax0, v_ax1] = T.Cast("float32", T.reinterpret("float16", part[v_ax0 // T.int64(2), v_ax1 // T.int64(32), v_ax0 % T.int64(2), T.int64(0)])) * (T.reinterpret("float32", T.bitwise_xor(T.bitwise_and(T.shift_right(T.Cast("int32", T.bitwise_and(T.shift_right(part_1[v_ax0 // T.int64(2), v_ax1 // T.int64(32), v_ax0 % T.int64(2), v_ax1 % T.int64(32) % T.int64(16) // T.int64(4)], T.Cast("uint32", v_ax1 % T.int64(32) % T.int64(16) % T.int64(4) * T.int64(8))), T.uint32(255))), T.Cast("int32", v_ax1 % T.int64(32) // T.int64(16) * T.int64(4))), 15), 1258291200)) - T.float32(8388616.0))

    @T.prim_func(private=True, s_tir=True)
    def product_Q4_0(var_x: T.handle, part: T.Buffer((T.int64(2), T.int64(2), T.int64(2), T.int64(1)), "uint16"), part_1: T.Buffer((T.int64(2), T.int64(2), T.int64(2), T.int64(4)), "uint32"), var_product: T.handle):
        T.func_attr({"tirx.noalias": True})
        n = T.int64()
        x = T.match_buffer(var_x, (n, T.int64(1), T.int64(64)))
        product = T.match_buffer(var_product, (n, T.int64(1), T.int64(3)))
        # with T.sblock("root"):
        dequantize = T.sblock_alloc_buffer((T.int64(3), T.int64(2), T.int64(32)))
        for ax0, ax1, ax2 in T.grid(T.int64(3), T.int64(2), T.int64(32)):
            with T.sblock("dequantize"):
                v_ax0, v_ax1, v_ax2 = T.axis.remap("SSS", [ax0, ax1, ax2])
                T.reads(part[v_ax0 // T.int64(2), v_ax1, v_ax0 % T.int64(2), T.int64(0)], part_1[v_ax0 // T.int64(2), v_ax1, v_ax0 % T.int64(2), v_ax2 % T.int64(16) // T.int64(4)])
                T.writes(dequantize[v_ax0, v_ax1, v_ax2])
                dequantize[v_ax0, v_ax1, v_ax2] = T.Cast("float32", T.reinterpret("float16", part[v_ax0 // T.int64(2), v_ax1, v_ax0 % T.int64(2), T.int64(0)])) * (T.reinterpret("float32", T.bitwise_xor(T.bitwise_and(T.shift_right(T.Cast("int32", T.bitwise_and(T.shift_right(part_1[v_ax0 // T.int64(2), v_ax1, v_ax0 % T.int64(2), v_ax2 % T.int64(16) // T.int64(4)], T.Cast("uint32", v_ax2 % T.int64(16) % T.int64(4) * T.int64(8))), T.uint32(255))), T.Cast("int32", v_ax2 // T.int64(16) * T.int64(4))), 15), 1258291200)) - T.float32(8388616.0))
        for ax0_1, ax1_1, ax2_1, turn, lane in T.grid(n, T.int64(1), T.int64(3), T.int64(2), T.int64(32)):
            with T.sblock("product"):
                v_ax0_1, v_ax1_1, v_ax2_1, v_turn, v_lane = T.axis.remap("SSSRR", [ax0_1, ax1_1, ax2_1, turn, lane])
                T.reads(x[v_ax0_1, v_ax1_1, v_turn * T.int64(32) + v_lane], dequantize[v_ax2_1, v_turn, v_lane])
                T.writes(product[v_ax0_1, v_ax1_1, v_ax2_1])
                with T.init():
                    product[v_ax0_1, v_ax1_1, v_ax2_1] = T.float32(0.0)
                product[v_ax0_1, v_ax1_1, v_ax2_1] = product[v_ax0_1, v_ax1_1, v_ax2_1] + x[v_ax0_1, v_ax1_1, v_turn * T.int64(32) + v_lane] * dequantize[v_ax2_1, v_turn, v_lane]

    @R.function
    def decode(x: R.Tensor(("n", 1, 64), dtype="float32"), packed_params: R.Tuple(R.Tensor((3, 36), dtype="uint8"), R.Tensor((2, 2, 2, 1), dtype="uint16"), R.Tensor((2, 2, 2, 4), dtype="uint32"))) -> R.Tensor(("n", 1, 3), dtype="float32"):
        n = T.int64()
        cls = Expected
        with R.dataflow():
            w: R.Tensor((3, 36), dtype="uint8") = packed_params[0]
            part: R.Tensor((2, 2, 2, 1), dtype="uint16") = packed_params[1]
            part_1: R.Tensor((2, 2, 2, 4), dtype="uint32") = packed_params[2]
            gv = R.call_tir(cls.product_Q4_0, (x, part, part_1), out_ty=R.Tensor((n, 1, 3), dtype="float32"))
            R.output(gv)
        return gv

    @R.function
    def other(x: R.Tensor((1, 1, 32), dtype="float32"), w: R.Tensor((8, 18), dtype="uint8")) -> R.Tensor((1, 1, 8), dtype="float32"):
        with R.dataflow():
            gv: R.Tensor((1, 1, 8), dtype="float32") = R.gguf_matmul(x, w, type="Q4_0")
            R.output(gv)
        return gv

    @R.function
    def prefill(x: R.Tensor((1, 2, 64), dtype="float32"), packed_params: R.Tuple(R.Tensor((3, 36), dtype="uint8"), R.Tensor((2, 2, 2, 1), dtype="uint16"), R.Tensor((2, 2, 2, 4), dtype="uint32"))) -> R.Tuple(R.Tensor((1, 2, 3), dtype="float32"), R.Tensor((3, 36), dtype="uint8")):
        cls = Expected
        with R.dataflow():
            w: R.Tensor((3, 36), dtype="uint8") = packed_params[0]
            part: R.Tensor((2, 2, 2, 1), dtype="uint16") = packed_params[1]
            part_1: R.Tensor((2, 2, 2, 4), dtype="uint32") = packed_params[2]
            matrix = R.call_tir(cls.dequantize_Q4_0, (part, part_1), out_ty=R.Tensor((3, 64), dtype="float32"))
            turned: R.Tensor((64, 3), dtype="float32") = R.permute_dims(matrix, axes=None)
            y: R.Tensor((1, 2, 3), dtype="float32") = R.matmul(x, turned, out_dtype=None)
            gv: R.Tuple(R.Tensor((1, 2, 3), dtype="float32"), R.Tensor((3, 36), dtype="uint8")) = (y, w)
            R.output(gv)
        return gv
