# SPDX-License-Identifier: Apache-2.0
# Rows of probabilities and of hidden states that are gathered and scattered in speculative decoding, which AttachSpecDecodeAuxFuncs adds to
# a module. Names and arguments are MLC-LLM's (mlc_llm.compiler_pass.attach_spec_decode_aux_funcs).
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

dtype = "float16"  # of hidden states


@I.ir_module
class Module:
    @T.prim_func
    def scatter_probs(source_handle: T.handle, places_handle: T.handle, target_handle: T.handle):
        T.func_attr({"global_symbol": "scatter_probs", "tirx.noalias": True})
        taken, rows, columns = T.int32(), T.int32(), T.int32()
        source = T.match_buffer(source_handle, (taken, columns), "float32")
        places = T.match_buffer(places_handle, (taken,), "int32")
        target = T.match_buffer(target_handle, (rows, columns), "float32")
        for r, i in T.grid(taken, columns):
            with T.sblock("scatter"):
                vr, vi = T.axis.remap("SS", [r, i])
                target[places[vr], vi] = source[vr, vi]

    @T.prim_func
    def gather_probs(source_handle: T.handle, places_handle: T.handle, target_handle: T.handle):
        T.func_attr({"global_symbol": "gather_probs", "tirx.noalias": True})
        taken, rows, columns = T.int32(), T.int32(), T.int32()
        source = T.match_buffer(source_handle, (rows, columns), "float32")
        places = T.match_buffer(places_handle, (taken,), "int32")
        target = T.match_buffer(target_handle, (taken, columns), "float32")
        for r, i in T.grid(taken, columns):
            with T.sblock("gather"):
                vr, vi = T.axis.remap("SS", [r, i])
                target[vr, vi] = source[places[vr], vi]

    @T.prim_func(private=True)
    def scatter_rows(source_handle: T.handle, places_handle: T.handle, target_handle: T.handle):
        T.func_attr({"tirx.noalias": True})
        taken, rows, columns = T.int32(), T.int32(), T.int32()
        source = T.match_buffer(source_handle, (taken, columns), dtype)
        places = T.match_buffer(places_handle, (taken,), "int32")
        target = T.match_buffer(target_handle, (rows, columns), dtype)
        for r, i in T.grid(taken, columns):
            with T.sblock("scatter"):
                vr, vi = T.axis.remap("SS", [r, i])
                target[places[vr], vi] = source[vr, vi]

    @T.prim_func(private=True)
    def gather_rows(source_handle: T.handle, places_handle: T.handle, target_handle: T.handle):
        T.func_attr({"tirx.noalias": True})
        taken, rows, columns = T.int32(), T.int32(), T.int32()
        source = T.match_buffer(source_handle, (rows, columns), dtype)
        places = T.match_buffer(places_handle, (taken,), "int32")
        target = T.match_buffer(target_handle, (taken, columns), dtype)
        for r, i in T.grid(taken, columns):
            with T.sblock("gather"):
                vr, vi = T.axis.remap("SS", [r, i])
                target[vr, vi] = source[places[vr], vi]

    @R.function
    def scatter_hidden_states(source: R.Tensor(("taken", "columns"), dtype), places: R.Tensor(("taken",), "int32"),
                              target: R.Tensor(("rows", "columns"), dtype)) -> R.Tensor(("rows", "columns"), dtype):
        rows = T.int64()
        columns = T.int64()
        cls = Module
        with R.dataflow():
            gv = R.call_tir_inplace(cls.scatter_rows, (source, places, target), out_ty=R.Tensor((rows, columns), dtype), inplace_indices=[2])
            R.output(gv)
        return gv

    @R.function
    def gather_hidden_states(source: R.Tensor(("rows", "columns"), dtype), places: R.Tensor(("taken",), "int32"),
                             target: R.Tensor(("taken", "columns"), dtype)) -> R.Tensor(("taken", "columns"), dtype):
        taken = T.int64()
        columns = T.int64()
        cls = Module
        with R.dataflow():
            gv = R.call_tir_inplace(cls.gather_rows, (source, places, target), out_ty=R.Tensor((taken, columns), dtype), inplace_indices=[2])
            R.output(gv)
        return gv
