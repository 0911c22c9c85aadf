# SPDX-License-Identifier: Apache-2.0
# passes: ApplyDefaultSchedule{rules=[Fallback]}
# target: opencl
# A symbol gets the largest bound that its callers promise; none if one of them promises none, or others may call the function.
@I.ir_module
class Before:
    @T.prim_func(private=True, s_tir=True)
    def bounded(a: T.handle, b: T.handle):
        k = T.int64()
        A = T.match_buffer(a, (k,))
        B = T.match_buffer(b, (k,))
        for i in range(k):
            with T.sblock("B"):
                v = T.axis.spatial(k, i)
                B[v] = A[v] + T.float32(1)

    @T.prim_func(private=True, s_tir=True)
    def one_is_open(a: T.handle, b: T.handle):
        k = T.int64()
        A = T.match_buffer(a, (k,))
        B = T.match_buffer(b, (k,))
        for i in range(k):
            with T.sblock("B"):
                v = T.axis.spatial(k, i)
                B[v] = A[v] + T.float32(2)

    @T.prim_func(s_tir=True)
    def public(a: T.handle, b: T.handle):
        k = T.int64()
        A = T.match_buffer(a, (k,))
        B = T.match_buffer(b, (k,))
        for i in range(k):
            with T.sblock("B"):
                v = T.axis.spatial(k, i)
                B[v] = A[v] + T.float32(3)

    @T.prim_func(private=True, s_tir=True)
    def of_its_own(a: T.handle, b: T.handle):
        T.func_attr({"tir_var_upper_bound": {"k": 5}})
        k = T.int64()
        A = T.match_buffer(a, (k,))
        B = T.match_buffer(b, (k,))
        for i in range(k):
            with T.sblock("B"):
                v = T.axis.spatial(k, i)
                B[v] = A[v] + T.float32(4)

    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("2 * n + 1",), "float32"), z: R.Tensor(("p",), "float32")):
        n = T.int64()
        p = T.int64()
        R.func_attr({"tir_var_upper_bound": {"n": 8}})
        cls = Before
        with R.dataflow():
            a = R.call_tir(cls.bounded, (x,), out_ty=R.Tensor((n,), "float32"))
            b = R.call_tir(cls.bounded, (y,), out_ty=R.Tensor((2 * n + 1,), "float32"))
            c = R.call_tir(cls.one_is_open, (x,), out_ty=R.Tensor((n,), "float32"))
            d = R.call_tir(cls.one_is_open, (z,), out_ty=R.Tensor((p,), "float32"))
            e = R.call_tir(cls.public, (x,), out_ty=R.Tensor((n,), "float32"))
            f = R.call_tir(cls.of_its_own, (x,), out_ty=R.Tensor((n,), "float32"))
            R.output(a, b, c, d, e, f)
        return (a, b, c, d, e, f)

    @R.function
    def other(x: R.Tensor(("m",), "float32")):
        m = T.int64()
        R.func_attr({"tir_var_upper_bound": {"m": 20}})
        cls = Before
        with R.dataflow():
            a = R.call_tir(cls.bounded, (x,), out_ty=R.Tensor((m,), "float32"))
            R.output(a)
        return a
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def bounded(a: T.handle, b: T.handle):
        T.func_attr({"tir_var_upper_bound": {"k": 20}, "tirx.is_scheduled": True})
        k = T.int64()
        A = T.match_buffer(a, (k,))
        B = T.match_buffer(b, (k,))
        # with T.sblock("root"):
        for i_0 in T.thread_binding((k + T.int64(255)) // T.int64(256), thread="blockIdx.x"):
            for i_1 in T.thread_binding(T.int64(256), thread="threadIdx.x"):
                with T.sblock("B"):
                    v = T.axis.spatial(k, i_0 * T.int64(256) + i_1)
                    T.where(i_0 * T.int64(256) + i_1 < k)
                    T.reads(A[v])
                    T.writes(B[v])
                    B[v] = A[v] + T.float32(1.0)

    @T.prim_func(private=True, s_tir=True)
    def of_its_own(a: T.handle, b: T.handle):
        T.func_attr({"tir_var_upper_bound": {"k": 5}, "tirx.is_scheduled": True})
        k = T.int64()
        A = T.match_buffer(a, (k,))
        B = T.match_buffer(b, (k,))
        # with T.sblock("root"):
        for i_0 in T.thread_binding((k + T.int64(255)) // T.int64(256), thread="blockIdx.x"):
            for i_1 in T.thread_binding(T.int64(256), thread="threadIdx.x"):
                with T.sblock("B"):
                    v = T.axis.spatial(k, i_0 * T.int64(256) + i_1)
                    T.where(i_0 * T.int64(256) + i_1 < k)
                    T.reads(A[v])
                    T.writes(B[v])
                    B[v] = A[v] + T.float32(4.0)

    @T.prim_func(private=True, s_tir=True)
    def one_is_open(a: T.handle, b: T.handle):
        T.func_attr({"tirx.is_scheduled": True})
        k = T.int64()
        A = T.match_buffer(a, (k,))
        B = T.match_buffer(b, (k,))
        # with T.sblock("root"):
        for i_0 in T.thread_binding((k + T.int64(255)) // T.int64(256), thread="blockIdx.x"):
            for i_1 in T.thread_binding(T.int64(256), thread="threadIdx.x"):
                with T.sblock("B"):
                    v = T.axis.spatial(k, i_0 * T.int64(256) + i_1)
                    T.where(i_0 * T.int64(256) + i_1 < k)
                    T.reads(A[v])
                    T.writes(B[v])
                    B[v] = A[v] + T.float32(2.0)

    @T.prim_func(s_tir=True)
    def public(a: T.handle, b: T.handle):
        T.func_attr({"tirx.is_scheduled": True})
        k = T.int64()
        A = T.match_buffer(a, (k,))
        B = T.match_buffer(b, (k,))
        # with T.sblock("root"):
        for i_0 in T.thread_binding((k + T.int64(255)) // T.int64(256), thread="blockIdx.x"):
            for i_1 in T.thread_binding(T.int64(256), thread="threadIdx.x"):
                with T.sblock("B"):
                    v = T.axis.spatial(k, i_0 * T.int64(256) + i_1)
                    T.where(i_0 * T.int64(256) + i_1 < k)
                    T.reads(A[v])
                    T.writes(B[v])
                    B[v] = A[v] + T.float32(3.0)

    @R.function
    def other(x: R.Tensor(("m",), dtype="float32")) -> R.Tensor(("m",), dtype="float32"):
        m = T.int64()
        R.func_attr({"tir_var_upper_bound": {"m": 20}})
        cls = Expected
        with R.dataflow():
            a = R.call_tir(cls.bounded, (x,), out_ty=R.Tensor((m,), dtype="float32"))
            R.output(a)
        return a

    @R.function
    def main(x: R.Tensor(("n",), dtype="float32"), y: R.Tensor(("2 * n + 1",), dtype="float32"), z: R.Tensor(("p",), dtype="float32")) -> R.Tuple(R.Tensor(("n",), dtype="float32"), R.Tensor(("2 * n + 1",), dtype="float32"), R.Tensor(("n",), dtype="float32"), R.Tensor(("p",), dtype="float32"), R.Tensor(("n",), dtype="float32"), R.Tensor(("n",), dtype="float32")):
        n = T.int64()
        p = T.int64()
        R.func_attr({"tir_var_upper_bound": {"n": 8}})
        cls = Expected
        with R.dataflow():
            a = R.call_tir(cls.bounded, (x,), out_ty=R.Tensor((n,), dtype="float32"))
            b = R.call_tir(cls.bounded, (y,), out_ty=R.Tensor((2 * n + 1,), dtype="float32"))
            c = R.call_tir(cls.one_is_open, (x,), out_ty=R.Tensor((n,), dtype="float32"))
            d = R.call_tir(cls.one_is_open, (z,), out_ty=R.Tensor((p,), dtype="float32"))
            e = R.call_tir(cls.public, (x,), out_ty=R.Tensor((n,), dtype="float32"))
            f = R.call_tir(cls.of_its_own, (x,), out_ty=R.Tensor((n,), dtype="float32"))
            R.output(a, b, c, d, e, f)
        return (a, b, c, d, e, f)
