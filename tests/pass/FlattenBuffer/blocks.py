# SPDX-License-Identifier: Apache-2.0
# Blocks go before: what they read and write is said of the buffers as they are.
# error: a block is left where buffers are made flat
@I.ir_module
class Before:
    @T.prim_func(private=True, s_tir=True)
    def f(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32")):
        for i, j in T.grid(16, 16):
            with T.sblock("b"):
                v, w = T.axis.remap("SS", [i, j])
                B[v, w] = A[v, w]
