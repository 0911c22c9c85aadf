# SPDX-License-Identifier: Apache-2.0
# target: {"kind": "vulkan", "supports_int64": false}
# The greatest uint64 has the bits of -1, but does not count as it.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((16,), "bool"), n: T.int32):
        A[0] = T.uint64(18446744073709551615) < T.Cast("uint64", T.bitwise_and(n, 7))
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((16,), "bool"), n: T.int32):
        word: T.let[T.int32] = T.bitwise_and(n, 7)
        word_1: T.let[T.uint32] = T.Cast("uint32", word)
        word_2: T.let[T.uint32] = T.Cast("uint32", T.shift_right(word, 31))
        A[0] = T.uint32(4294967295) < word_2 or T.uint32(4294967295) == word_2 and T.uint32(4294967295) < word_1
