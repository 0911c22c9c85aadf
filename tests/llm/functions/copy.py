# SPDX-License-Identifier: Apache-2.0
# Two tensor programs, one of them private.
@I.ir_module
class Copies:
    @T.prim_func
    def copy_single(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            y[i] = x[i]

    @T.prim_func(private=True)
    def copy_pages(a: T.handle, b: T.handle):
        n = T.int64()
        x = T.match_buffer(a, (n,), "float32")
        y = T.match_buffer(b, (n,), "float32")
        for i in range(n):
            y[i] = x[i]
