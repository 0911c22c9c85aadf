# SPDX-License-Identifier: Apache-2.0
# target: {"kind": "vulkan", "supports_int64": false}
# error: 'main': a call of 'tirx.pow' of int64 has no form in words of 32 bits (the target's attribute supports_int64 is False)
# at: 9
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((16,), "int64")):
        A[0] = T.pow(A[1], A[2])
