# SPDX-License-Identifier: Apache-2.0
# target: {"kind": "vulkan", "supports_pointers": false}
# error: buffer 'A': a pointer to it is given to 'tirx.call_extern', which has no form without pointers
# at: 9
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((T.int64(64),), "float32"), B: T.Buffer((T.int64(64),), "float32")):
        B[T.int64(0)] = T.call_extern("float32", "sum", A.data)
