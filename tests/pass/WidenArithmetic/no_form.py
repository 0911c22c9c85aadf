# SPDX-License-Identifier: Apache-2.0
# target: {"kind": "vulkan", "supports_float16": false}
# error: 'main': a call of 'tirx.nextafter' of float16 has no form in 32 bits (the target's attribute supports_float16 is False)
# at: 9
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((16,), "float16")):
        A[0] = T.nextafter(A[1], A[2])
