# SPDX-License-Identifier: Apache-2.0
# passes: ApplyScheduleTrace{trace="@DIR@/scale.trace"}
# error: the module has no tensor program 'scale'
@I.ir_module
class Before:
    @T.prim_func
    def shift(a: T.Buffer((64,), "float32"), b: T.Buffer((64,), "float32")):
        for i in range(64):
            with T.sblock("B"):
                v = T.axis.spatial(64, i)
                b[v] = a[v] + T.float32(2)
