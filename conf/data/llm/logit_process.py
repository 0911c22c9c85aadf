# SPDX-License-Identifier: Apache-2.0
# What changes logits in place before tokens are drawn, which AttachLogitProcessFunc adds to a module. Names and arguments are MLC-LLM's
# (mlc_llm.compiler_pass.attach_logit_processor). A token occurs once for a sequence.
from tvm.script import tirx as T


@T.prim_func
def apply_logit_bias_inplace(logits_handle: T.handle, sequence_handle: T.handle, token_handle: T.handle, bias_handle: T.handle):
    T.func_attr({"global_symbol": "apply_logit_bias_inplace", "tirx.noalias": True})
    rows, columns, tokens = T.int32(), T.int32(), T.int32()
    logits = T.match_buffer(logits_handle, (rows, columns), "float32")
    sequence = T.match_buffer(sequence_handle, (tokens,), "int32")  # row of a token
    token = T.match_buffer(token_handle, (tokens,), "int32")
    bias = T.match_buffer(bias_handle, (tokens,), "float32")
    for i in range(tokens):
        with T.sblock("bias"):
            vi = T.axis.spatial(tokens, i)
            logits[sequence[vi], token[vi]] = logits[sequence[vi], token[vi]] + bias[vi]


# penalties: for presence, for frequency, for repetition
@T.prim_func
def apply_penalty_inplace(logits_handle: T.handle, row_handle: T.handle, sequence_handle: T.handle, token_handle: T.handle, count_handle: T.handle,
                          penalties_handle: T.handle):
    T.func_attr({"global_symbol": "apply_penalty_inplace", "tirx.noalias": True})
    rows, columns, tokens, sequences = T.int32(), T.int32(), T.int32(), T.int32()
    logits = T.match_buffer(logits_handle, (rows, columns), "float32")
    row = T.match_buffer(row_handle, (sequences,), "int32")
    sequence = T.match_buffer(sequence_handle, (tokens,), "int32")  # sequence of a token
    token = T.match_buffer(token_handle, (tokens,), "int32")
    count = T.match_buffer(count_handle, (tokens,), "int32")
    penalties = T.match_buffer(penalties_handle, (sequences, 3), "float32")
    for i in range(tokens):
        with T.sblock("penalty"):
            vi = T.axis.spatial(tokens, i)
            logits[row[sequence[vi]], token[vi]] = logits[row[sequence[vi]], token[vi]] - (
                penalties[sequence[vi], 0] + T.Cast("float32", count[vi]) * penalties[sequence[vi], 1])
            logits[row[sequence[vi]], token[vi]] = T.if_then_else(
                logits[row[sequence[vi]], token[vi]] < T.float32(0), logits[row[sequence[vi]], token[vi]] * penalties[sequence[vi], 2],
                logits[row[sequence[vi]], token[vi]] / penalties[sequence[vi], 2])


# bitmask: a bit for each token, the lowest first; tokens whose bit is 0 are out
@T.prim_func
def apply_bitmask_inplace(logits_handle: T.handle, row_handle: T.handle, bitmask_handle: T.handle):
    T.func_attr({"global_symbol": "apply_bitmask_inplace", "tirx.noalias": True})
    rows, columns, sequences = T.int32(), T.int32(), T.int32()
    logits = T.match_buffer(logits_handle, (rows, columns), "float32")
    row = T.match_buffer(row_handle, (sequences,), "int32")
    bitmask = T.match_buffer(bitmask_handle, (rows, (columns + 31) // 32), "int32")
    for s, i in T.grid(sequences, columns):
        with T.sblock("bitmask"):
            vs, vi = T.axis.remap("SS", [s, i])
            logits[row[vs], vi] = T.if_then_else(
                T.bitwise_and(T.shift_right(bitmask[row[vs], vi // 32], vi % 32), 1) == 1, logits[row[vs], vi], T.min_value("float32"))
