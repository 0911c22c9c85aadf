# SPDX-License-Identifier: Apache-2.0
@T.prim_func
def f(A: T.Buffer((16,), "float32")):
    R.print(A)
    x: T.let = A
    tx = T.launch_thread("threadIdx.x", 16)
    T.attr({"a": 1, "b": tx})
    with T.LetStmt(tx + 1) as y, T.attr(y, "k", "v"):
        A[y:y + 4] = A[0:8:2]
        A[y] += T.Let(z + z, where={z: A[0]})
