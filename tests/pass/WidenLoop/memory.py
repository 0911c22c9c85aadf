# SPDX-License-Identifier: Apache-2.0
# What is read early becomes an attribute of its buffer (B is the same for every i, and stays where
# it is); what every turn divides by becomes a reciprocal where that is a normal number.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((T.int64(3200),), "float32"), B: T.Buffer((T.int64(32),), "float32"), D: T.Buffer((T.int64(100),), "float32"), E: T.Buffer((T.int64(3200),), "float32")):
        T.func_attr({"tirx.noalias": True})
        for i in range(T.int64(100)):
            for k in T.serial(T.int64(32), annotations={"tenon.ahead": 512, "tenon.wide": 8}):
                E[i * T.int64(32) + k] = A[i * T.int64(32) + k] / D[i] + B[k]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((T.int64(3200),), "float32"), B: T.Buffer((T.int64(32),), "float32"), D: T.Buffer((T.int64(100),), "float32"), E: T.Buffer((T.int64(3200),), "float32")):
        T.func_attr({"tirx.noalias": True})
        for i in range(T.int64(100)):
            if D[i] >= T.float32(7.888609e-31) and D[i] <= T.float32(1.2676506e+30):
                reciprocal: T.let[T.float32] = T.float32(1.0) / D[i]
                with T.attr(A.data, "tenon.ahead", T.int64(512)):
                    for k in range(T.int64(4)):
                        for v in T.vectorized(T.int64(8)):
                            E[i * T.int64(32) + (k * T.int64(8) + v)] = A[i * T.int64(32) + (k * T.int64(8) + v)] * reciprocal + B[k * T.int64(8) + v]
            else:
                with T.attr(A.data, "tenon.ahead", T.int64(512)):
                    for k_1 in range(T.int64(4)):
                        for v_1 in T.vectorized(T.int64(8)):
                            E[i * T.int64(32) + (k_1 * T.int64(8) + v_1)] = A[i * T.int64(32) + (k_1 * T.int64(8) + v_1)] / D[i] + B[k_1 * T.int64(8) + v_1]
