# SPDX-License-Identifier: Apache-2.0
# target: {"kind": "vulkan", "supports_pointers": false}
# error: buffer 'V': its elements are int8 in the memory of 'A', whose elements are float32, which has no form without pointers
# at: 10
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((T.int64(64),), "float32"), B: T.Buffer((T.int64(64),), "int8")):
        V = T.decl_buffer((T.int64(16),), "int8", data=A.data)
        B[T.int64(0)] = V[T.int64(0)]
