# SPDX-License-Identifier: Apache-2.0
# The name of an extent stays in the branch that finds it.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), dtype="int32"), c: R.Tensor((), dtype="bool")) -> R.Tensor(dtype="int32", ndim=1):
        if c:
            y = R.unique(x, R.prim_value(True), R.prim_value(False), R.prim_value(False), R.prim_value(False))
            z = R.negative(y)
        else:
            z = x
        return z
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def negative(var_A: T.handle, var_compute: T.handle):
        T.func_attr({"tirx.noalias": True})
        s0 = T.int64()
        A = T.match_buffer(var_A, (s0,), "int32")
        compute = T.match_buffer(var_compute, (s0,), "int32")
        # with T.sblock("root"):
        for ax0 in range(s0):
            with T.sblock("compute"):
                v_ax0 = T.axis.remap("S", [ax0])
                T.reads(A[v_ax0])
                T.writes(compute[v_ax0])
                compute[v_ax0] = 0 - A[v_ax0]

    @T.prim_func(private=True, s_tir=True)
    def reshape(A: T.Buffer((T.int64(4),), "int32"), T_reshape: T.Buffer((T.int64(4), T.int64(1)), "int32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(T.int64(4), T.int64(1)):
            with T.sblock("T_reshape"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(A[(v_ax0 + v_ax1) % T.int64(4)])
                T.writes(T_reshape[v_ax0, v_ax1])
                T_reshape[v_ax0, v_ax1] = A[(v_ax0 + v_ax1) % T.int64(4)]

    @T.prim_func(private=True, s_tir=True)
    def reshape1(var_A: T.handle, var_T_reshape: T.handle):
        T.func_attr({"tirx.noalias": True})
        s0 = T.int64()
        A = T.match_buffer(var_A, (s0, T.int64(1)), "int32")
        T_reshape = T.match_buffer(var_T_reshape, (s0,), "int32")
        # with T.sblock("root"):
        for ax0 in range(s0):
            with T.sblock("T_reshape"):
                v_ax0 = T.axis.remap("S", [ax0])
                T.reads(A[v_ax0, T.int64(0)])
                T.writes(T_reshape[v_ax0])
                T_reshape[v_ax0] = A[v_ax0, T.int64(0)]

    @T.prim_func(private=True, s_tir=True)
    def unique_fill(x: T.Buffer((T.int64(4), T.int64(1)), "int32"), group: T.Buffer((T.int64(4),), "int64"), var_c: T.handle, var_d: T.handle, var_e: T.handle):
        T.func_attr({"tirx.noalias": True})
        u = T.int64()
        value = T.match_buffer(var_c, (u, T.int64(1)), "int32")
        place = T.match_buffer(var_d, (u,), "int64")
        times = T.match_buffer(var_e, (u,), "int64")
        # with T.sblock("root"):
        with T.sblock("unique_fill"):
            v_i = T.axis.spatial(T.int64(1), T.int64(0))
            T.reads(x[T.int64(0):T.int64(4), T.int64(0)], group[T.int64(0):T.int64(4)])
            T.writes(value[T.int64(0):u, T.int64(0)], place[T.int64(0):u], times[T.int64(0):u])
            for j in range(u):
                times[j] = T.int64(0)
            for i in range(T.int64(4)):
                at: T.let[T.int64] = T.int64(3) - i
                for k in range(T.int64(1)):
                    value[group[at], k] = x[at, k]
                place[group[at]] = at
                times[group[at]] = times[group[at]] + T.int64(1)

    @T.prim_func(private=True, s_tir=True)
    def unique_groups(x: T.Buffer((T.int64(4), T.int64(1)), "int32"), order: T.Buffer((T.int64(4),), "int64"), group: T.Buffer((T.int64(4),), "int64"), count: T.Buffer((T.int64(1),), "int64")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        first = T.sblock_alloc_buffer((T.int64(4),), "int64")
        with T.sblock("unique_groups"):
            v_i = T.axis.spatial(T.int64(1), T.int64(0))
            T.reads(x[T.int64(0):T.int64(4), T.int64(0)], order[T.int64(0):T.int64(4)])
            T.writes(group[T.int64(0):T.int64(4)], count[T.int64(0)], first[T.int64(0):T.int64(4)])
            step = T.sblock_alloc_buffer((T.int64(2),), "int64", scope="local")
            count[0] = T.int64(0)
            for k in range(T.int64(4)):
                step[0] = T.int64(0)
                step[1] = T.int64(0)
                if k == T.int64(0):
                    step[1] = T.int64(1)
                while step[1] == T.int64(0) and step[0] < T.int64(1):
                    p: T.let[T.int32] = T.Cast("int32", x[order[k - T.int64(1)], step[0]])
                    q: T.let[T.int32] = T.Cast("int32", x[order[k], step[0]])
                    if p < q:
                        step[1] = T.int64(1)
                    step[0] = step[0] + T.int64(1)
                if step[1] == T.int64(1):
                    first[count[0]] = order[k]
                    count[0] = count[0] + T.int64(1)
                group[order[k]] = count[0] - T.int64(1)

    @T.prim_func(private=True, s_tir=True)
    def unique_order(x: T.Buffer((T.int64(4), T.int64(1)), "int32"), order: T.Buffer((T.int64(4),), "int64")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        work = T.sblock_alloc_buffer((T.int64(2), T.int64(4)), "int64")
        for once in range(T.int64(1)):
            with T.sblock("unique_order"):
                v_once = T.axis.remap("S", [once])
                T.reads(x[T.int64(0):T.int64(4), T.int64(0)])
                T.writes(order[T.int64(0):T.int64(4)], work[T.int64(0):T.int64(2), T.int64(0):T.int64(4)])
                state = T.sblock_alloc_buffer((T.int64(2),), "int64", scope="local")
                head = T.sblock_alloc_buffer((T.int64(2),), "int64", scope="local")
                which = T.sblock_alloc_buffer((T.int64(2),), "int64", scope="local")
                for i in range(T.int64(4)):
                    work[T.int64(0), i] = i
                state[0] = T.int64(1)
                state[1] = T.int64(0)
                while state[0] < T.int64(4):
                    for run in range((T.int64(4) + state[0] * T.int64(2) - T.int64(1)) // (state[0] * T.int64(2))):
                        low: T.let[T.int64] = run * state[0] * T.int64(2)
                        middle: T.let[T.int64] = T.min(low + state[0], T.int64(4))
                        high: T.let[T.int64] = T.min(low + state[0] * T.int64(2), T.int64(4))
                        head[0] = low
                        head[1] = middle
                        for k in range(high - low):
                            which[0] = T.int64(0)
                            if head[0] >= middle:
                                which[0] = T.int64(1)
                            elif head[1] < high:
                                which[0] = T.int64(-1)
                                which[1] = T.int64(0)
                                while which[0] < T.int64(0) and which[1] < T.int64(1):
                                    p: T.let[T.int32] = T.Cast("int32", x[work[state[1], head[0]], which[1]])
                                    q: T.let[T.int32] = T.Cast("int32", x[work[state[1], head[1]], which[1]])
                                    if q < p:
                                        which[0] = T.int64(1)
                                    elif p < q:
                                        which[0] = T.int64(0)
                                    which[1] = which[1] + T.int64(1)
                                if which[0] < T.int64(0):
                                    which[0] = T.int64(0)
                            work[T.int64(1) - state[1], low + k] = work[state[1], head[which[0]]]
                            head[which[0]] = head[which[0]] + T.int64(1)
                    state[0] = state[0] * T.int64(2)
                    state[1] = T.int64(1) - state[1]
                for i_1 in range(T.int64(4)):
                    order[i_1] = work[state[1], i_1]

    @R.function
    def main(x: R.Tensor((4,), dtype="int32"), c: R.Tensor((), dtype="bool")) -> R.Tensor(dtype="int32", ndim=1):
        cls = Expected
        if c:
            lv = R.call_tir(cls.reshape, (x,), out_ty=R.Tensor((4, 1), dtype="int32"))
            lv1 = R.call_tir(cls.unique_order, (lv,), out_ty=R.Tensor((4,), dtype="int64"))
            lv2 = R.call_tir(cls.unique_groups, (lv, lv1), out_ty=[R.Tensor((4,), dtype="int64"), R.Tensor((1,), dtype="int64")])
            lv3: R.Tensor((4,), dtype="int64") = lv2[0]
            gv: R.Tensor((1,), dtype="int64") = lv2[1]
            gv1: R.Shape(ndim=1) = R.tensor_to_shape(gv)
            s0 = T.int64()
            gv2 = R.match_cast(gv1, R.Shape([s0]))
            lv4 = R.call_tir(cls.unique_fill, (lv, lv3), out_ty=[R.Tensor((s0, 1), dtype="int32"), R.Tensor((s0,), dtype="int64"), R.Tensor((s0,), dtype="int64")])
            gv3: R.Tensor((s0, 1), dtype="int32") = lv4[0]
            lv5 = R.call_tir(cls.reshape1, (gv3,), out_ty=R.Tensor((s0,), dtype="int32"))
            y: R.Tensor((s0,), dtype="int32") = lv5
            z_then = R.call_tir(cls.negative, (y,), out_ty=R.Tensor((s0,), dtype="int32"))
            z: R.Tensor(dtype="int32", ndim=1) = z_then
        else:
            z: R.Tensor(dtype="int32", ndim=1) = x
        return z
