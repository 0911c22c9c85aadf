# SPDX-License-Identifier: Apache-2.0
# Probabilities of logits divided by a temperature for each row, which AttachSoftmaxWithTemperature adds to a module. Name, arguments and
# results are MLC-LLM's (mlc_llm.compiler_pass.attach_softmax_with_temperature).
#
# Below a temperature of 1e-5 the largest logits of a row share the probability. A first program takes chunks of a row: the largest value,
# and the logarithm of the sum of exponentials less that (or how many are as large); a second one joins the chunks of a row.
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

chunk = 4096
active = 0  # logits that count, the others get 0; 0: all


@I.ir_module
class Module:
    @T.prim_func(private=True)
    def softmax_of_chunks(logits_handle: T.handle, temperature_handle: T.handle, sums_handle: T.handle, largest_handle: T.handle):
        T.func_attr({"tirx.noalias": True})
        rows, columns, chunks = T.int64(), T.int64(), T.int64()
        logits = T.match_buffer(logits_handle, (rows, columns), "float32")
        temperature = T.match_buffer(temperature_handle, (rows,), "float32")
        sums = T.match_buffer(sums_handle, (rows, chunks), "float32")
        largest = T.match_buffer(largest_handle, (rows, chunks), "float32")
        scaled = T.sblock_alloc_buffer((rows, chunks, T.int64(chunk)), "float32")
        total = T.sblock_alloc_buffer((rows, chunks), "float32")
        for r, c, i in T.grid(rows, chunks, T.int64(chunk)):
            with T.sblock("scaled"):
                vr, vc, vi = T.axis.remap("SSS", [r, c, i])
                scaled[vr, vc, vi] = T.if_then_else(
                    vc * chunk + vi < (active if active > 0 else columns),
                    T.if_then_else(temperature[vr] > T.float32(1e-5), logits[vr, vc * chunk + vi] / temperature[vr], logits[vr, vc * chunk + vi]),
                    T.min_value("float32"))
        for r, c, i in T.grid(rows, chunks, T.int64(chunk)):
            with T.sblock("largest"):
                vr, vc, vi = T.axis.remap("SSR", [r, c, i])
                with T.init():
                    largest[vr, vc] = T.min_value("float32")
                largest[vr, vc] = T.max(largest[vr, vc], scaled[vr, vc, vi])
        for r, c, i in T.grid(rows, chunks, T.int64(chunk)):
            with T.sblock("total"):
                vr, vc, vi = T.axis.remap("SSR", [r, c, i])
                with T.init():
                    total[vr, vc] = T.float32(0)
                total[vr, vc] = total[vr, vc] + T.Select(
                    vc * chunk + vi < (active if active > 0 else columns),
                    T.Select(temperature[vr] > T.float32(1e-5), T.exp(scaled[vr, vc, vi] - largest[vr, vc]),
                             T.Cast("float32", scaled[vr, vc, vi] == largest[vr, vc])),
                    T.float32(0))
        for r, c in T.grid(rows, chunks):
            with T.sblock("sums"):
                vr, vc = T.axis.remap("SS", [r, c])
                sums[vr, vc] = T.Select(temperature[vr] > T.float32(1e-5), T.log(T.max(total[vr, vc], T.float32(1e-37))), total[vr, vc])

    @T.prim_func(private=True)
    def softmax_of_rows(logits_handle: T.handle, temperature_handle: T.handle, sums_handle: T.handle, largest_handle: T.handle, out_handle: T.handle):
        T.func_attr({"tirx.noalias": True})
        rows, columns, chunks = T.int64(), T.int64(), T.int64()
        logits = T.match_buffer(logits_handle, (rows, columns), "float32")
        temperature = T.match_buffer(temperature_handle, (rows,), "float32")
        sums = T.match_buffer(sums_handle, (rows, chunks), "float32")
        largest = T.match_buffer(largest_handle, (rows, chunks), "float32")
        out = T.match_buffer(out_handle, (rows, columns), "float32")
        most = T.sblock_alloc_buffer((rows,), "float32")
        total = T.sblock_alloc_buffer((rows,), "float32")
        for r, c in T.grid(rows, chunks):
            with T.sblock("most"):
                vr, vc = T.axis.remap("SR", [r, c])
                with T.init():
                    most[vr] = T.min_value("float32")
                most[vr] = T.max(most[vr], largest[vr, vc])
        for r, c in T.grid(rows, chunks):
            with T.sblock("total"):
                vr, vc = T.axis.remap("SR", [r, c])
                with T.init():
                    total[vr] = T.float32(0)
                total[vr] = total[vr] + T.Select(temperature[vr] > T.float32(1e-5), T.exp(sums[vr, vc] + largest[vr, vc] - most[vr]),
                                                 T.Cast("float32", largest[vr, vc] == most[vr]) * sums[vr, vc])
        for r, i in T.grid(rows, columns):
            with T.sblock("out"):
                vr, vi = T.axis.remap("SS", [r, i])
                out[vr, vi] = T.Select(
                    vi < (active if active > 0 else columns),
                    T.Select(temperature[vr] > T.float32(1e-5),
                             T.exp(logits[vr, vi] / T.max(temperature[vr], T.float32(1e-5)) - (T.log(total[vr]) + most[vr])),
                             T.Cast("float32", logits[vr, vi] == most[vr]) / total[vr]),
                    T.float32(0))

    @R.function
    def softmax_with_temperature(logits: R.Tensor(("batch_size", 1, "vocab_size"), "float32"),
                                 temperature: R.Tensor(("batch_size",), "float32")) -> R.Tensor(("batch_size", 1, "vocab_size"), "float32"):
        batch_size = T.int64()
        vocab_size = T.int64()
        cls = Module
        with R.dataflow():
            flat = R.reshape(logits, R.shape([batch_size, vocab_size]))
            parts = R.call_tir(cls.softmax_of_chunks, (flat, temperature),
                               out_ty=[R.Tensor((batch_size, (vocab_size + (chunk - 1)) // chunk), "float32"),
                                       R.Tensor((batch_size, (vocab_size + (chunk - 1)) // chunk), "float32")])
            sums = parts[0]
            largest = parts[1]
            out = R.call_tir(cls.softmax_of_rows, (flat, temperature, sums, largest), out_ty=R.Tensor((batch_size, vocab_size), "float32"))
            gv = R.reshape(out, R.shape([batch_size, 1, vocab_size]))
            R.output(gv)
        return gv
