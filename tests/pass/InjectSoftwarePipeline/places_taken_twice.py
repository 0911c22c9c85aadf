# SPDX-License-Identifier: Apache-2.0
# error: the software pipeline of loop 'i': two of its statements have the same place
# at: 8
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in T.serial(8, annotations={"software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 0]}):
            A[i] = T.float32(1)
            B[i] = T.float32(2)
