# SPDX-License-Identifier: Apache-2.0
# target: {"kind": "vulkan", "supports_int64": false}
# The host checks what int32 has to hold before a launch: scalars, sizes, and products that are divided or compared.
@I.ir_module
class Before:
    @T.prim_func
    def main(a: T.handle, n: T.int64, m: T.int64):
        A = T.match_buffer(a, (n * m,), "float32")
        for i in range(n * m):
            A[i] = T.Cast("float32", i // m)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(a: T.handle, n: T.int32, m: T.int32):
        n_1 = T.int64()
        m_1 = T.int64()
        T.func_attr({"tenon.launch": {"requires": [[n_1 >= T.int64(-2147483647) and n_1 <= T.int64(2147483647), "sizes.py:7: kernel 'main': 'n' is ", n_1, ", which the target's numbers of 32 bits do not hold (its attribute supports_int64 is False)"], [m_1 >= T.int64(-2147483647) and m_1 <= T.int64(2147483647), "sizes.py:7: kernel 'main': 'm' is ", m_1, ", which the target's numbers of 32 bits do not hold (its attribute supports_int64 is False)"], [n_1 * m_1 >= T.int64(-2147483647) and n_1 * m_1 <= T.int64(2147483647), "sizes.py:8: kernel 'main': the number of elements of buffer 'A' is ", n_1 * m_1, ", which the target's numbers of 32 bits do not hold (its attribute supports_int64 is False)"]], "values": [[n, T.Cast("int32", n_1)], [m, T.Cast("int32", m_1)]]}})
        A = T.match_buffer(a, (T.Cast("int64", n) * T.Cast("int64", m),))
        for i in range(n * m):
            A[i] = T.Cast("float32", i // m)
