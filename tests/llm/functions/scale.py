# SPDX-License-Identifier: Apache-2.0
# A bare function.
@T.prim_func(private=True)
def twice(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
    for i in range(T.int64(4)):
        y[i] = x[i] + x[i]
