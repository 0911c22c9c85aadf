# SPDX-License-Identifier: Apache-2.0
# No TVMScript.
@T.prim_func
def broken(x: T.Buffer((T.int64(4),), "float32"):
    pass
