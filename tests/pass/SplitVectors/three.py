# SPDX-License-Identifier: Apache-2.0
# target: {"kind": "vulkan", "max_vector_lanes": 3}
# error: the target's attribute max_vector_lanes is 3; vectors have 1, 2, 4, 8 or 16 lanes (0: any number)
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((16,), "int64")):
        A[0] = T.int64(1)
