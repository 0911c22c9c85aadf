# SPDX-License-Identifier: Apache-2.0
# target: {"kind": "vulkan", "supports_8bit_buffer": false}
# error: 'main': buffer 'A' of int8x4: an element of several lanes has no form in words of 32 bits (the target's attribute supports_8bit_buffer is False)
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((16,), "int8x4"), B: T.Buffer((16,), "int8x4")):
        B[0] = A[0]
