# SPDX-License-Identifier: Apache-2.0
# Distributed tensors: device meshes by range and by list, placements, programs that run on parts.
@I.ir_module
class Module:
    I.module_global_infos({"mesh": [R.dist.device_mesh([2, 2], I.Range(0, 4)), R.dist.device_mesh([3], [4, 6, 7])]})

    @T.prim_func(s_tir=True)
    def copy(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, 8))
        B = T.match_buffer(b, (n, 8))
        for i, j in T.grid(n, 8):
            with T.sblock("copy"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj]

    @R.function
    def main(x: R.DTensor(("n", 8), "float32", "mesh[0]", "S[0], R"), y: R.dist.DTensor((6,), dtype="float16", device_mesh="mesh[1]", placement="S[0]"), z: R.DTensor(dtype="float32", ndim=2, device_mesh="mesh[0]", placement="R, R")):
        n = T.int64()
        cls = Module
        a = R.dist.call_tir(cls.copy, (x,), out_ty=R.DTensor((n, 8), "float32", "mesh[0]", "S[0], R"))
        return (a, y, z)
