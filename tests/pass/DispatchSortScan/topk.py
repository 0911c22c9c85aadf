# SPDX-License-Identifier: Apache-2.0
# Both results of topk; outside a dataflow block too.
# target: vulkan
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((2, 9), dtype="float32")):
        gv = R.topk(x, k=3, axis=1)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def gpu_sort_descending(a: T.handle, b: T.handle, c: T.handle, d: T.handle):
        T.func_attr({"tirx.is_scheduled": True, "tirx.noalias": True})
        outer = T.int64()
        n = T.int64()
        inner = T.int64()
        x = T.match_buffer(a, (outer, n, inner))
        kept = T.int64()
        values = T.match_buffer(b, (outer, kept, inner))
        places = T.match_buffer(c, (outer, kept, inner), "int32")
        order = T.match_buffer(d, (outer, inner, 2, n), "int64")
        # with T.sblock("root"):
        for bx in T.thread_binding(outer * inner, thread="blockIdx.x"):
            for tx in T.thread_binding(T.int64(256), thread="threadIdx.x"):
                with T.sblock("sort"):
                    vb, vt = T.axis.remap("SS", [bx, tx])
                    T.reads(x[vb // inner, T.int64(0):n, vb % inner], order[vb // inner, vb % inner, 0:2, T.int64(0):n])
                    T.writes(values[vb // inner, T.int64(0):kept, vb % inner], places[vb // inner, T.int64(0):kept, vb % inner], order[vb // inner, vb % inner, 0:2, T.int64(0):n])
                    i = T.sblock_alloc_buffer((1,), "int64", scope="local")
                    width = T.sblock_alloc_buffer((1,), "int64", scope="local")
                    half = T.sblock_alloc_buffer((1,), "int64", scope="local")
                    low = T.sblock_alloc_buffer((1,), "int64", scope="local")
                    high = T.sblock_alloc_buffer((1,), "int64", scope="local")
                    o: T.let[T.int64] = vb // inner
                    r: T.let[T.int64] = vb % inner
                    i[0] = vt
                    while i[0] < n:
                        order[o, r, 0, i[0]] = i[0]
                        i[0] = i[0] + T.int64(256)
                    width[0] = T.int64(1)
                    half[0] = T.int64(0)
                    T.tvm_storage_sync("shared")
                    while T.tvm_thread_invariant(width[0] < n):
                        i[0] = vt
                        while i[0] < n:
                            run: T.let[T.int64] = i[0] // width[0]
                            mine: T.let[T.int64] = order[o, r, half[0], i[0]]
                            start: T.let[T.int64] = T.min(T.if_then_else(run % T.int64(2) == T.int64(0), run + T.int64(1), run - T.int64(1)) * width[0], n)
                            low[0] = start
                            high[0] = T.min(start + width[0], n)
                            while low[0] < high[0]:
                                middle: T.let[T.int64] = (low[0] + high[0]) // T.int64(2)
                                theirs: T.let[T.int64] = order[o, r, half[0], middle]
                                if x[o, theirs, r] > x[o, mine, r] or run % T.int64(2) == T.int64(1) and x[o, theirs, r] == x[o, mine, r]:
                                    low[0] = middle + T.int64(1)
                                else:
                                    high[0] = middle
                            order[o, r, T.int64(1) - half[0], run // T.int64(2) * T.int64(2) * width[0] + (i[0] - run * width[0]) + (low[0] - start)] = mine
                            i[0] = i[0] + T.int64(256)
                        width[0] = width[0] * T.int64(2)
                        half[0] = T.int64(1) - half[0]
                        T.tvm_storage_sync("shared")
                    i[0] = vt
                    while i[0] < kept:
                        values[o, i[0], r] = x[o, order[o, r, half[0], i[0]], r]
                        places[o, i[0], r] = T.Cast("int32", order[o, r, half[0], i[0]])
                        i[0] = i[0] + T.int64(256)

    @R.function
    def main(x: R.Tensor((2, 9), dtype="float32")) -> R.Tuple(R.Tensor((2, 3), dtype="float32"), R.Tensor((2, 3), dtype="int32")):
        cls = Expected
        gv: R.Tensor((2, 9, 1), dtype="float32") = R.call_pure_packed("vm.builtin.reshape", x, R.shape([2, 9, 1]), ty_args=(R.Tensor((2, 9, 1), dtype="float32"),))
        gv_1 = R.call_tir(cls.gpu_sort_descending, (gv,), out_ty=[R.Tensor((2, 3, 1), dtype="float32"), R.Tensor((2, 3, 1), dtype="int32"), R.Tensor((2, 1, 2, 9), dtype="int64")])
        gv_2: R.Tensor((2, 3, 1), dtype="float32") = gv_1[0]
        gv_3: R.Tensor((2, 3), dtype="float32") = R.call_pure_packed("vm.builtin.reshape", gv_2, R.shape([2, 3]), ty_args=(R.Tensor((2, 3), dtype="float32"),))
        gv_4: R.Tensor((2, 3, 1), dtype="int32") = gv_1[1]
        gv_5: R.Tensor((2, 3), dtype="int32") = R.call_pure_packed("vm.builtin.reshape", gv_4, R.shape([2, 3]), ty_args=(R.Tensor((2, 3), dtype="int32"),))
        gv_6: R.Tuple(R.Tensor((2, 3), dtype="float32"), R.Tensor((2, 3), dtype="int32")) = (gv_3, gv_5)
        return gv_6
