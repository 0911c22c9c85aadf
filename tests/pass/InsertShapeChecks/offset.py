# SPDX-License-Identifier: Apache-2.0
# The graph's tensors are compact: a program that wants other offset would read elsewhere.
# error: begins at element 0 of its memory
@I.ir_module
class Before:
    @T.prim_func(private=True, s_tir=True)
    def f(A: T.Buffer(("m", 4), "float32", elem_offset=10), B: T.Buffer((m, 4), "float32")):
        m = T.int64()
        for i, j in T.grid(m, 4):
            with T.sblock("b"):
                v, w = T.axis.remap("SS", [i, j])
                B[v, w] = A[v, w]
    @R.function
    def main(x: R.Tensor((3, 4), "float32")):
        cls = Before
        y = R.call_tir(cls.f, (x,), out_ty=R.Tensor((3, 4), dtype="float32"))
        return y
