# SPDX-License-Identifier: Apache-2.0
# The boxes selected are counted, the count is read back, and the rows are written.
@I.ir_module
class Before:
    @R.function
    def main(boxes: R.Tensor(("b", 6, 4), dtype="float32"), scores: R.Tensor(("b", 2, 6), dtype="float32"), most: R.Tensor((1,), dtype="int64"), overlap: R.Tensor((1,), dtype="float32"), least: R.Tensor((1,), dtype="float32")):
        with R.dataflow():
            gv = R.vision.all_class_non_max_suppression(boxes, scores, most, overlap, least, output_format="selected")
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def nms_collect(var_a: T.handle, var_b: T.handle, var_c: T.handle):
        T.func_attr({"tirx.noalias": True})
        b = T.int64()
        picked = T.match_buffer(var_a, (b, T.int64(2), T.int64(6)), "int64")
        found = T.match_buffer(var_b, (b, T.int64(2)), "int64")
        r = T.int64()
        rows = T.match_buffer(var_c, (r, T.int64(3)), "int64")
        # with T.sblock("root"):
        with T.sblock("nms_collect"):
            v_i = T.axis.spatial(T.int64(1), T.int64(0))
            T.reads(picked[T.int64(0):b, T.int64(0):T.int64(2), T.int64(0):T.int64(6)], found[T.int64(0):b, T.int64(0):T.int64(2)])
            T.writes(rows[T.int64(0):r, T.int64(0):T.int64(3)])
            at = T.sblock_alloc_buffer((T.int64(1),), "int64", scope="local")
            at[0] = T.int64(0)
            for i, j in T.grid(b, T.int64(2)):
                for k in range(found[i, j]):
                    rows[at[0], 0] = i
                    rows[at[0], 1] = j
                    rows[at[0], 2] = picked[i, j, k]
                    at[0] = at[0] + T.int64(1)
            for k_1 in range(r - at[0]):
                rows[at[0] + k_1, 0] = T.int64(-1)
                rows[at[0] + k_1, 1] = T.int64(-1)
                rows[at[0] + k_1, 2] = T.int64(-1)

    @T.prim_func(private=True, s_tir=True)
    def nms_count(var_a: T.handle, total: T.Buffer((T.int64(1),), "int64")):
        T.func_attr({"tirx.noalias": True})
        b = T.int64()
        found = T.match_buffer(var_a, (b, T.int64(2)), "int64")
        # with T.sblock("root"):
        with T.sblock("nms_count"):
            v_i = T.axis.spatial(T.int64(1), T.int64(0))
            T.reads(found[T.int64(0):b, T.int64(0):T.int64(2)])
            T.writes(total[T.int64(0)])
            total[T.int64(0)] = T.int64(0)
            for i, j in T.grid(b, T.int64(2)):
                total[T.int64(0)] = total[T.int64(0)] + found[i, j]

    @T.prim_func(private=True, s_tir=True)
    def nms_select(var_a: T.handle, var_b: T.handle, most: T.Buffer((T.int64(1),), "int64"), overlap: T.Buffer((T.int64(1),), "float32"), least: T.Buffer((T.int64(1),), "float32"), var_f: T.handle, var_g: T.handle):
        T.func_attr({"tirx.noalias": True})
        b = T.int64()
        boxes = T.match_buffer(var_a, (b, T.int64(6), T.int64(4)))
        scores = T.match_buffer(var_b, (b, T.int64(2), T.int64(6)))
        picked = T.match_buffer(var_f, (b, T.int64(2), T.int64(6)), "int64")
        found = T.match_buffer(var_g, (b, T.int64(2)), "int64")
        # with T.sblock("root"):
        work = T.sblock_alloc_buffer((b, T.int64(2), T.int64(2), T.int64(6)), "int64")
        for i, j in T.grid(b, T.int64(2)):
            with T.sblock("nms_select"):
                vb, vc = T.axis.remap("SS", [i, j])
                T.reads(boxes[vb, T.int64(0):T.int64(6), T.int64(0):T.int64(4)], scores[vb, vc, T.int64(0):T.int64(6)], most[T.int64(0)], overlap[T.int64(0)], least[T.int64(0)])
                T.writes(picked[vb, vc, T.int64(0):T.int64(6)], found[vb, vc], work[vb, vc, T.int64(0):T.int64(2), T.int64(0):T.int64(6)])
                state = T.sblock_alloc_buffer((T.int64(2),), "int64", scope="local")
                head = T.sblock_alloc_buffer((T.int64(2),), "int64", scope="local")
                which = T.sblock_alloc_buffer((T.int64(2),), "int64", scope="local")
                kept = T.sblock_alloc_buffer((T.int64(4),), "int64", scope="local")
                kept[0] = T.int64(0)
                for k in range(T.int64(6)):
                    if T.Cast("float32", scores[vb, vc, k]) > least[T.int64(0)]:
                        work[vb, vc, T.int64(0), kept[0]] = k
                        kept[0] = kept[0] + T.int64(1)
                state[0] = T.int64(1)
                state[1] = T.int64(0)
                while state[0] < kept[0]:
                    for run in range((kept[0] + state[0] * T.int64(2) - T.int64(1)) // (state[0] * T.int64(2))):
                        low: T.let[T.int64] = run * state[0] * T.int64(2)
                        middle: T.let[T.int64] = T.min(low + state[0], kept[0])
                        high: T.let[T.int64] = T.min(low + state[0] * T.int64(2), kept[0])
                        head[0] = low
                        head[1] = middle
                        for k_1 in range(high - low):
                            which[0] = T.int64(0)
                            if head[0] >= middle:
                                which[0] = T.int64(1)
                            elif head[1] < high:
                                if scores[vb, vc, work[vb, vc, state[1], head[1]]] > scores[vb, vc, work[vb, vc, state[1], head[0]]]:
                                    which[0] = T.int64(1)
                            work[vb, vc, T.int64(1) - state[1], low + k_1] = work[vb, vc, state[1], head[which[0]]]
                            head[which[0]] = head[which[0]] + T.int64(1)
                    state[0] = state[0] * T.int64(2)
                    state[1] = T.int64(1) - state[1]
                kept[1] = T.int64(0)
                kept[2] = T.int64(0)
                while kept[2] < kept[0] and kept[1] < most[T.int64(0)]:
                    p: T.let[T.int64] = work[vb, vc, state[1], kept[2]]
                    top: T.let[T.float32] = T.min(T.Cast("float32", boxes[vb, p, 0]), T.Cast("float32", boxes[vb, p, 2]))
                    left: T.let[T.float32] = T.min(T.Cast("float32", boxes[vb, p, 1]), T.Cast("float32", boxes[vb, p, 3]))
                    bottom: T.let[T.float32] = T.max(T.Cast("float32", boxes[vb, p, 0]), T.Cast("float32", boxes[vb, p, 2]))
                    right: T.let[T.float32] = T.max(T.Cast("float32", boxes[vb, p, 1]), T.Cast("float32", boxes[vb, p, 3]))
                    kept[3] = T.int64(0)
                    while kept[3] >= T.int64(0) and kept[3] < kept[1]:
                        q: T.let[T.int64] = picked[vb, vc, kept[3]]
                        top2: T.let[T.float32] = T.min(T.Cast("float32", boxes[vb, q, 0]), T.Cast("float32", boxes[vb, q, 2]))
                        left2: T.let[T.float32] = T.min(T.Cast("float32", boxes[vb, q, 1]), T.Cast("float32", boxes[vb, q, 3]))
                        bottom2: T.let[T.float32] = T.max(T.Cast("float32", boxes[vb, q, 0]), T.Cast("float32", boxes[vb, q, 2]))
                        right2: T.let[T.float32] = T.max(T.Cast("float32", boxes[vb, q, 1]), T.Cast("float32", boxes[vb, q, 3]))
                        common: T.let[T.float32] = T.max(T.min(bottom, bottom2) - T.max(top, top2), T.float32(0.0)) * T.max(T.min(right, right2) - T.max(left, left2), T.float32(0.0))
                        both: T.let[T.float32] = (bottom - top) * (right - left) + (bottom2 - top2) * (right2 - left2) - common
                        if both > T.float32(0.0) and common / both > overlap[T.int64(0)]:
                            kept[3] = T.int64(-1)
                        else:
                            kept[3] = kept[3] + T.int64(1)
                    if kept[3] >= T.int64(0):
                        picked[vb, vc, kept[1]] = p
                        kept[1] = kept[1] + T.int64(1)
                    kept[2] = kept[2] + T.int64(1)
                found[vb, vc] = kept[1]

    @R.function
    def main(boxes: R.Tensor(("b", 6, 4), dtype="float32"), scores: R.Tensor(("b", 2, 6), dtype="float32"), most: R.Tensor((1,), dtype="int64"), overlap: R.Tensor((1,), dtype="float32"), least: R.Tensor((1,), dtype="float32")) -> R.Tensor(dtype="int64", ndim=2):
        b = T.int64()
        cls = Expected
        with R.dataflow():
            lv = R.call_tir(cls.nms_select, (boxes, scores, most, overlap, least), out_ty=[R.Tensor((b, 2, 6), dtype="int64"), R.Tensor((b, 2), dtype="int64")])
            lv1: R.Tensor((b, 2, 6), dtype="int64") = lv[0]
            lv2: R.Tensor((b, 2), dtype="int64") = lv[1]
            lv3 = R.call_tir(cls.nms_count, (lv2,), out_ty=R.Tensor((1,), dtype="int64"))
            gv: R.Shape(ndim=1) = R.tensor_to_shape(lv3)
            s0 = T.int64()
            gv1 = R.match_cast(gv, R.Shape([s0]))
            gv_1 = R.call_tir(cls.nms_collect, (lv1, lv2), out_ty=R.Tensor((s0, 3), dtype="int64"))
            R.output(gv_1)
        return gv_1
