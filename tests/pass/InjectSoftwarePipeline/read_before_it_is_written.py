# SPDX-License-Identifier: Apache-2.0
# error: a statement of stage 0 reads 'A', which one of the later stage 1 writes
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in T.serial(8, annotations={"software_pipeline_stage": [1, 0], "software_pipeline_order": [1, 0]}):
            A[i] = T.float32(1)
            B[i] = A[i]
