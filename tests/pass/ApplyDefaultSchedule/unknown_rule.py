# SPDX-License-Identifier: Apache-2.0
# passes: ApplyDefaultSchedule{rules=[Fallbak]}
# target: cpu
# error: no schedule rule 'Fallbak'
# A rule that nobody provides.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def add(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8), "float32")):
        x = T.sblock_alloc_buffer((4, 8))
        for i, j in T.grid(4, 8):
            with T.sblock("x"):
                vi, vj = T.axis.remap("SS", [i, j])
                x[vi, vj] = A[vi, vj] + T.float32(1)
        for i, j in T.grid(4, 8):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.exp(x[vi, vj])
