# SPDX-License-Identifier: Apache-2.0
# target: {"kind": "vulkan", "supports_pointers": false}
# error: buffer 'V': it begins 6 bytes behind 'A', which need not be whole elements
# at: 11
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((T.int64(64),), "float32"), B: T.Buffer((T.int64(64),), "float32")):
        p: T.let[T.handle] = T.handle_add_byte_offset(A.data, T.int64(6))
        V = T.decl_buffer((T.int64(16),), "float32", data=p)
        B[T.int64(0)] = V[T.int64(0)]
