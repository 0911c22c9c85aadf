# SPDX-License-Identifier: Apache-2.0
# Without a GPU: running sums and a search in them; other calls stay.
# passes: DispatchSampling
@I.ir_module
class Before:
    @R.function
    def main(prob: R.Tensor((3, 5), dtype="float32"), u: R.Tensor((6, 1), dtype="float32"), rows: R.Tensor((6, 1), dtype="int64")) -> R.Tensor((6, 1), dtype="int64"):
        with R.dataflow():
            lv = R.nn.softmax(prob)
            gv = R.multinomial_from_uniform(lv, u, rows, dtype="int64")
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def get_sample_index(a: T.handle, b: T.handle, c: T.handle, d: T.handle):
        rows = T.int64()
        size = T.int64()
        sums = T.match_buffer(a, (rows, size))
        samples = T.int64()
        uniform = T.match_buffer(b, (samples, 1))
        row = T.match_buffer(c, (samples, 1), "int64")
        drawn = T.match_buffer(d, (samples, 1), "int64")
        # with T.sblock("root"):
        for i, j in T.grid(samples, size):
            with T.sblock("T_get_sample_index"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(uniform[vi, T.int64(0)], sums[row[vi, T.int64(0)], vj - T.int64(1):vj + T.int64(1)], row[vi, T.int64(0)])
                T.writes(drawn[vi, 0])
                if uniform[vi, T.int64(0)] < sums[row[vi, T.int64(0)], vj] or vj + T.int64(1) == size:
                    if vj == T.int64(0):
                        drawn[vi, 0] = T.int64(0)
                    elif uniform[vi, T.int64(0)] >= sums[row[vi, T.int64(0)], vj - T.int64(1)]:
                        drawn[vi, 0] = vj

    @R.function
    def main(prob: R.Tensor((3, 5), dtype="float32"), u: R.Tensor((6, 1), dtype="float32"), rows: R.Tensor((6, 1), dtype="int64")) -> R.Tensor((6, 1), dtype="int64"):
        cls = Expected
        with R.dataflow():
            lv: R.Tensor((3, 5), dtype="float32") = R.nn.softmax(prob, axis=-1)
            lv_1: R.Tensor((3, 5), dtype="float32") = R.cumsum(lv, axis=1, dtype="float32", exclusive=False)
            gv = R.call_tir(cls.get_sample_index, (lv_1, u, rows), out_ty=R.Tensor((6, 1), dtype="int64"))
            R.output(gv)
        return gv
