# SPDX-License-Identifier: Apache-2.0
# Drawing tokens from probabilities on the device, which AttachGPUSamplingFunc adds to a module. Names, arguments and results are MLC-LLM's
# (mlc_llm.compiler_pass.attach_sampler). A sample has a row of probabilities and a number drawn evenly from [0, 1).
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

threads = 64  # of a block that verifies a tree


@I.ir_module
class Module:
    # mass: what the tokens of a row with the largest probabilities have together, as many as reach top_p; least: the smallest of these
    @T.prim_func(private=True)
    def nucleus_of_rows(sums_handle: T.handle, sorted_handle: T.handle, top_p_handle: T.handle, mass_handle: T.handle, least_handle: T.handle):
        T.func_attr({"tirx.noalias": True})
        rows, columns = T.int64(), T.int64()
        sums = T.match_buffer(sums_handle, (rows, columns), "float32")
        ordered = T.match_buffer(sorted_handle, (rows, columns), "float32")
        top_p = T.match_buffer(top_p_handle, (rows,), "float32")
        mass = T.match_buffer(mass_handle, (rows,), "float32")
        least = T.match_buffer(least_handle, (rows,), "float32")
        count = T.sblock_alloc_buffer((rows,), "int32")
        for r, i in T.grid(rows, columns):
            with T.sblock("count"):
                vr, vi = T.axis.remap("SR", [r, i])
                with T.init():
                    count[vr] = 0
                count[vr] = count[vr] + T.Cast("int32", sums[vr, vi] < top_p[vr])
        for r in range(rows):
            with T.sblock("mass"):
                vr = T.axis.spatial(rows, r)
                mass[vr] = sums[vr, T.min(T.Cast("int64", count[vr]), columns - 1)]
        for r in range(rows):
            with T.sblock("least"):
                vr = T.axis.spatial(rows, r)
                least[vr] = ordered[vr, T.min(T.Cast("int64", count[vr]), columns - 1)]

    # the first token of a row whose sum is more than the sample's part of the mass
    @T.prim_func(private=True)
    def draw_sorted(sums_handle: T.handle, order_handle: T.handle, mass_handle: T.handle, number_handle: T.handle, row_handle: T.handle, out_handle: T.handle):
        T.func_attr({"tirx.noalias": True})
        rows, columns, samples = T.int64(), T.int64(), T.int64()
        sums = T.match_buffer(sums_handle, (rows, columns), "float32")
        order = T.match_buffer(order_handle, (rows, columns), "int32")
        mass = T.match_buffer(mass_handle, (rows,), "float32")
        number = T.match_buffer(number_handle, (samples,), "float32")
        row = T.match_buffer(row_handle, (samples,), "int32")
        out = T.match_buffer(out_handle, (samples,), "int32")
        count = T.sblock_alloc_buffer((samples,), "int32")
        for s, i in T.grid(samples, columns):
            with T.sblock("count"):
                vs, vi = T.axis.remap("SR", [s, i])
                with T.init():
                    count[vs] = 0
                count[vs] = count[vs] + T.Cast("int32", sums[row[vs], vi] <= number[vs] * mass[row[vs]])
        for s in range(samples):
            with T.sblock("out"):
                vs = T.axis.spatial(samples, s)
                out[vs] = order[row[vs], T.min(T.Cast("int64", count[vs]), columns - 1)]

    @T.prim_func(private=True)
    def sorted_values(probs_handle: T.handle, order_handle: T.handle, out_handle: T.handle):
        T.func_attr({"tirx.noalias": True})
        rows, columns = T.int64(), T.int64()
        probs = T.match_buffer(probs_handle, (rows, columns), "float32")
        order = T.match_buffer(order_handle, (rows, columns), "int32")
        out = T.match_buffer(out_handle, (rows, columns), "float32")
        for r, i in T.grid(rows, columns):
            with T.sblock("out"):
                vr, vi = T.axis.remap("SS", [r, i])
                out[vr, vi] = probs[vr, order[vr, vi]]

    @T.prim_func(private=True)
    def values_in_nucleus(probs_handle: T.handle, mass_handle: T.handle, least_handle: T.handle, out_handle: T.handle):
        T.func_attr({"tirx.noalias": True})
        rows, columns = T.int64(), T.int64()
        probs = T.match_buffer(probs_handle, (rows, columns), "float32")
        mass = T.match_buffer(mass_handle, (rows,), "float32")
        least = T.match_buffer(least_handle, (rows,), "float32")
        out = T.match_buffer(out_handle, (rows, columns), "float32")
        for r, i in T.grid(rows, columns):
            with T.sblock("out"):
                vr, vi = T.axis.remap("SS", [r, i])
                out[vr, vi] = T.Select(probs[vr, vi] >= least[vr], probs[vr, vi] / mass[vr], T.float32(0))

    @T.prim_func(private=True)
    def probs_of_samples(probs_handle: T.handle, order_handle: T.handle, row_handle: T.handle, token_handle: T.handle, place_handle: T.handle,
                         value_handle: T.handle, top_value_handle: T.handle, top_token_handle: T.handle):
        T.func_attr({"tirx.noalias": True})
        rows, columns, samples, places = T.int64(), T.int64(), T.int64(), T.int64()
        probs = T.match_buffer(probs_handle, (rows, columns), "float32")
        order = T.match_buffer(order_handle, (rows, columns), "int32")
        row = T.match_buffer(row_handle, (samples,), "int32")
        token = T.match_buffer(token_handle, (samples,), "int32")
        place = T.match_buffer(place_handle, (places,), "int32")  # in `order`, row by row
        value = T.match_buffer(value_handle, (samples,), "float32")
        top_value = T.match_buffer(top_value_handle, (places,), "float32")
        top_token = T.match_buffer(top_token_handle, (places,), "int32")
        for i in range(samples):
            with T.sblock("value"):
                vi = T.axis.spatial(samples, i)
                value[vi] = probs[row[vi], token[vi]]
        for i in range(places):
            with T.sblock("top_value"):
                vi = T.axis.spatial(places, i)
                top_value[vi] = probs[T.Cast("int64", place[vi]) // columns, order[T.Cast("int64", place[vi]) // columns, T.Cast("int64", place[vi]) % columns]]
        for i in range(places):
            with T.sblock("top_token"):
                vi = T.axis.spatial(places, i)
                top_token[vi] = order[T.Cast("int64", place[vi]) // columns, T.Cast("int64", place[vi]) % columns]

    # A block goes down the tree of a sequence: from the last node that was accepted to its first child, or, where that is refused, to the next
    # sibling. A child is accepted with the share of its draft's probability that the model has. After a refusal the parent's row is what the
    # model has more than the draft. All threads take every turn, so that barriers are of all; there are no more turns than nodes.
    @T.prim_func(private=True)
    def verify_nodes(draft_handle: T.handle, token_handle: T.handle, model_handle: T.handle, child_handle: T.handle, sibling_handle: T.handle,
                     number_handle: T.handle, last_handle: T.handle):
        T.func_attr({"tirx.noalias": True, "tirx.is_scheduled": True})
        nodes, columns, sequences = T.int64(), T.int64(), T.int64()
        draft = T.match_buffer(draft_handle, (nodes, columns), "float32")
        token = T.match_buffer(token_handle, (nodes,), "int32")
        model = T.match_buffer(model_handle, (nodes, columns), "float32")
        first_child = T.match_buffer(child_handle, (nodes,), "int32")
        next_sibling = T.match_buffer(sibling_handle, (nodes,), "int32")
        number = T.match_buffer(number_handle, (nodes,), "float32")
        last = T.match_buffer(last_handle, (sequences,), "int32")
        for b in T.thread_binding(sequences, thread="blockIdx.x"):
            for x in T.thread_binding(threads, thread="threadIdx.x"):
                with T.sblock("verify"):
                    vb, vx = T.axis.remap("SS", [b, x])
                    T.reads(draft[0:nodes, 0:columns], token[0:nodes], model[0:nodes, 0:columns], first_child[0:nodes], next_sibling[0:nodes],
                            number[0:nodes], last[vb])
                    T.writes(model[0:nodes, 0:columns], last[vb])
                    accepted = T.sblock_alloc_buffer((1,), "int32", scope="shared")
                    part = T.sblock_alloc_buffer((threads,), "float32", scope="shared")
                    at = T.sblock_alloc_buffer((2,), "int32", scope="local")  # the node that holds, the child that is tried; -1: none
                    rest = T.sblock_alloc_buffer((1,), "float32", scope="local")
                    at[0] = last[vb]
                    at[1] = first_child[at[0]]
                    for turn in range(nodes):
                        # who writes an element of a row reads it: no thread has to see what another one wrote
                        if at[1] >= 0:
                            if token[at[1]] % threads == T.Cast("int32", vx):
                                accepted[0] = T.Cast("int32", model[at[0], token[at[1]]] >= number[at[1]] * draft[at[1], token[at[1]]])
                        rest[0] = T.float32(0)
                        if at[1] >= 0:
                            if accepted[0] == 0:
                                for i in range((columns + threads - 1) // threads):
                                    if i * threads + vx < columns:
                                        rest[0] = rest[0] + T.max(model[at[0], i * threads + vx] - draft[at[1], i * threads + vx], T.float32(0))
                        part[vx] = rest[0]
                        rest[0] = T.float32(0)
                        for i in range(threads):
                            rest[0] = rest[0] + part[i]
                        if at[1] >= 0:
                            if accepted[0] != 0 or rest[0] < T.float32(1e-7):
                                at[0] = at[1]
                                at[1] = first_child[at[1]]
                            else:
                                for i in range((columns + threads - 1) // threads):
                                    if i * threads + vx < columns:
                                        model[at[0], i * threads + vx] = T.max(model[at[0], i * threads + vx] - draft[at[1], i * threads + vx], T.float32(0)) / rest[0]
                                at[1] = next_sibling[at[1]]
                    if vx == 0:
                        last[vb] = at[0]

    @R.function
    def sampler_verify_draft_tokens(draft_probs: R.Tensor(("num_nodes", "vocab_size"), "float32"), draft_tokens: R.Tensor(("num_nodes",), "int32"),
                                    model_probs: R.Tensor(("num_nodes", "vocab_size"), "float32"),
                                    token_tree_first_child: R.Tensor(("num_nodes",), "int32"), token_tree_next_sibling: R.Tensor(("num_nodes",), "int32"),
                                    uniform_samples: R.Tensor(("num_nodes",), "float32"), token_tree_parent_ptr: R.Tensor(("nbatch",), "int32")) -> R.Tuple(
            R.Tensor(("num_nodes", "vocab_size"), "float32"), R.Tensor(("nbatch",), "int32")):
        num_nodes = T.int64()
        vocab_size = T.int64()
        nbatch = T.int64()
        cls = Module
        with R.dataflow():
            gv = R.call_tir_inplace(
                cls.verify_nodes,
                (draft_probs, draft_tokens, model_probs, token_tree_first_child, token_tree_next_sibling, uniform_samples, token_tree_parent_ptr),
                inplace_indices=[2, 6],
                out_ty=[R.Tensor((num_nodes, vocab_size), "float32"), R.Tensor((nbatch,), "int32")])
            R.output(gv)
        return gv

    @R.function
    def multinomial_from_uniform(probs: R.Tensor(("batch_size", "vocab_size"), "float32"), uniform_samples: R.Tensor(("num_samples",), "float32"),
                                 sample_indices: R.Tensor(("num_samples",), "int32")) -> R.Tensor(("num_samples",), "int32"):
        num_samples = T.int64()
        with R.dataflow():
            number = R.reshape(uniform_samples, R.shape([num_samples, 1]))
            row = R.reshape(sample_indices, R.shape([num_samples, 1]))
            token = R.multinomial_from_uniform(probs, number, row, dtype="int32")
            gv = R.reshape(token, R.shape([num_samples]))
            R.output(gv)
        return gv

    @R.function
    def argsort_probs(probs: R.Tensor(("batch_size", "vocab_size"), "float32")) -> R.Tuple(
            R.Tensor(("batch_size", "vocab_size"), "float32"), R.Tensor(("batch_size", "vocab_size"), "int32")):
        batch_size = T.int64()
        vocab_size = T.int64()
        cls = Module
        with R.dataflow():
            order = R.argsort(probs, axis=-1, descending=True, dtype="int32")
            values = R.call_tir(cls.sorted_values, (probs, order), out_ty=R.Tensor((batch_size, vocab_size), "float32"))
            gv = (values, order)
            R.output(gv)
        return gv

    @R.function
    def sample_with_top_p(sorted_probs: R.Tensor(("batch_size", "vocab_size"), "float32"), sorted_indices: R.Tensor(("batch_size", "vocab_size"), "int32"),
                          uniform_samples: R.Tensor(("num_samples",), "float32"), sample_indices: R.Tensor(("num_samples",), "int32"),
                          top_p: R.Tensor(("batch_size",), "float32")) -> R.Tensor(("num_samples",), "int32"):
        batch_size = T.int64()
        vocab_size = T.int64()
        num_samples = T.int64()
        cls = Module
        with R.dataflow():
            sums = R.cumsum(sorted_probs, axis=1)
            nucleus = R.call_tir(cls.nucleus_of_rows, (sums, sorted_probs, top_p),
                                 out_ty=[R.Tensor((batch_size,), "float32"), R.Tensor((batch_size,), "float32")])
            mass = nucleus[0]
            gv = R.call_tir(cls.draw_sorted, (sums, sorted_indices, mass, uniform_samples, sample_indices), out_ty=R.Tensor((num_samples,), "int32"))
            R.output(gv)
        return gv

    @R.function
    def sampler_take_probs(unsorted_probs: R.Tensor(("batch_size", "vocab_size"), "float32"), sorted_indices: R.Tensor(("batch_size", "vocab_size"), "int32"),
                           sample_indices: R.Tensor(("num_samples",), "int32"), sampling_result: R.Tensor(("num_samples",), "int32"),
                           top_prob_offsets: R.Tensor(("num_positions",), "int32")) -> R.Tuple(
            R.Tensor(("num_samples",), "float32"), R.Tensor(("num_positions",), "float32"), R.Tensor(("num_positions",), "int32")):
        num_samples = T.int64()
        num_positions = T.int64()
        cls = Module
        with R.dataflow():
            gv = R.call_tir(cls.probs_of_samples, (unsorted_probs, sorted_indices, sample_indices, sampling_result, top_prob_offsets),
                            out_ty=[R.Tensor((num_samples,), "float32"), R.Tensor((num_positions,), "float32"), R.Tensor((num_positions,), "int32")])
            R.output(gv)
        return gv

    # init_pivots, where upstream's search begins, is not needed: the nucleus is found by sorting
    @R.function
    def renormalize_by_top_p(probs: R.Tensor(("batch_size", "vocab_size"), "float32"), top_p: R.Tensor(("batch_size",), "float32"),
                             init_pivots: R.Tensor(("batch_size", 3), "float32")) -> R.Tensor(("batch_size", "vocab_size"), "float32"):
        batch_size = T.int64()
        vocab_size = T.int64()
        cls = Module
        with R.dataflow():
            order = R.argsort(probs, axis=-1, descending=True, dtype="int32")
            ordered = R.call_tir(cls.sorted_values, (probs, order), out_ty=R.Tensor((batch_size, vocab_size), "float32"))
            sums = R.cumsum(ordered, axis=1)
            nucleus = R.call_tir(cls.nucleus_of_rows, (sums, ordered, top_p),
                                 out_ty=[R.Tensor((batch_size,), "float32"), R.Tensor((batch_size,), "float32")])
            mass = nucleus[0]
            least = nucleus[1]
            gv = R.call_tir(cls.values_in_nucleus, (probs, mass, least), out_ty=R.Tensor((batch_size, vocab_size), "float32"))
            R.output(gv)
        return gv
