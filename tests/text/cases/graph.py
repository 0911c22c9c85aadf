# SPDX-License-Identifier: Apache-2.0
# Graph functions with what the core itself knows: bindings, dataflow, branches, local functions, calls.
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

N = TypeVar("N")


@I.ir_module
class Module:
    I.module_attrs({"system_lib_prefix": "x_", "flags": [1, 2.5, True, None, "s", {"k": [1]}]})
    I.module_global_infos(
        {
            "vdevice": [
                I.vdevice("llvm", 0),
                I.vdevice({"kind": "cuda", "arch": "sm_80"}, 0, "global"),
                I.vdevice({"kind": "cuda", "arch": "sm_80"}, 1, "shared"),
            ],
            "dummy": [I.dummy_global_info()],
        }
    )
    ext = R.ExternFunc("symbol")
    typed = R.ExternFunc("other", R.Callable((R.Tensor((2,), "float32"),), R.Any, True))

    @T.prim_func(private=True, s_tir=True)
    def copy(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        for i in range(16):
            with T.sblock("copy"):
                vi = T.axis.spatial(16, i)
                B[vi] = A[vi]

    @R.function
    def types(
        a: R.Tensor,
        b: R.Tensor("float32"),
        c: R.Tensor(dtype="int8", ndim=2),
        d: R.Tensor(("n", "m + 1"), "float16"),
        e: R.Tensor(("m",), "float32", vdevice="cuda:1:shared"),
        f: R.Shape(["n", 3]),
        g: R.Shape(ndim=4),
        h: R.Shape,
        i: R.Prim("int64"),
        j: R.Tuple(R.Any, R.Tuple(R.Tensor((), "bool"))),
        k: R.Tuple,
        l: R.Object,
        m_: R.Callable((R.Tensor(("n",)), R.Any), R.Tuple, False),
        n_: R.Callable,
        o: R.Callable(ret=R.Tensor),
        p: R.Callable(derive_func="f.infer"),
        q: R.Tensor(("i * 2",), "float32"),
        r: R.Tensor([4], "float32", vdevice="llvm:0"),
    ) -> R.Tensor(("n", "m + 1"), "float16"):
        return d

    @R.function(pure=False)
    def flow(x: R.Tensor(("n", 16), "float32"), c: R.Tensor((), "bool")) -> R.Tensor(("n", 16), "float32"):
        n = T.int64()
        R.func_attr({"num_input": 1, "relax.force_pure": False})
        cls = Module
        with R.dataflow():
            lv = R.call_dps_packed("f", (x, n, R.shape([n, 2])), out_ty=R.Tensor((n, 16), "float32"))
            lv1 = x
            lv: R.Tensor(ndim=2, dtype="float32") = R.call_dps_packed(
                "f", lv, out_ty=R.Tensor((n, 16), "float32")
            )
            gv, rest = R.call_dps_packed(
                "g", [lv1], out_ty=[R.Tensor((n, 16), "float32"), R.Tensor((n + 1,), "int32")]
            )
            R.output(gv, lv)
        if c:
            y1 = gv
            y = R.call_pure_packed("h", y1, ty_args=R.Tensor((n, 16), "float32"))
        else:
            y = gv
        with R.dataflow():
            R.output()
        _ = R.call_packed("effect", y, 1, 2.5, "text", True, (y, ()), ty_args=(R.Tuple,))
        R.print(y, x, format="{} {}")
        R.assert_op(c, y, format="bad")
        m = T.int64()
        z = R.match_cast(y, R.Tensor((n, m), "float32"))
        s = R.shape([n, m * 2, (m + 7) // 8 % n, n - 1])
        t = (x, (z, s), R.tuple())
        u = t[1]
        k = n + 1
        w: R.Prim("int32") = T.Cast("int32", k)
        o = R.call_builtin_with_ctx("vm.builtin.x", (R.prim_value(3), n * 2), ty_args=(R.Any,))
        pass
        const = R.const([[1, 2], [3, -4]], "int8")
        nothing = R.const([], "float32", shape=[0, 3])
        many = R.const(1.5, "float32", shape=[1000, 1000])
        odd = R.const([float("nan"), float("inf"), float("-inf"), -0.0, 0.1, 3.4028234663852886e38], "float32")
        raw = R.const(bytes="010000c0ff0000c0", dtype="float32", shape=[2])
        big = R.const([18446744073709551615, 0], "uint64")
        least = R.const(-9223372036854775808, "int64")
        dt = R.dtype("float8_e4m3fn")
        st = R.str("a\"b\\c\nd\té")
        return y

    @R.function(private=True)
    def local(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        @R.function
        def loop(i: R.Tensor((), "int32"), s: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
            cond = R.call_pure_packed("less", i, ty_args=R.Tensor((), "bool"))
            if cond:
                r = loop(i, s)
            else:
                r = s
            return r

        @R.function(pure=False)
        def other(s: R.Tensor) -> R.Any:
            v = R.call_packed("f", s, kind="x", number=3)
            return v

        gv = loop(R.const(0), x)
        cl = R.make_closure(other, (x,))
        iv = R.invoke_closure(cl, (x,), ty_args=(R.Any,))
        return gv

    @R.function(pure=False)
    def vm(x: R.Tensor(("n", 16), "float32")) -> R.Any:
        n = T.int64()
        cls = Module
        heap = R.call_builtin_with_ctx(
            "vm.builtin.alloc_shape_heap", (R.prim_value(2),), ty_args=(R.Tensor(dtype="int64", ndim=1),)
        )
        _ = R.call_packed("vm.builtin.check_tensor_info", x, R.prim_value(2), R.dtype("float32"), R.str(""), ty_args=(R.Tuple,))
        storage = R.vm.alloc_storage(R.shape([64]), R.prim_value(0), R.dtype("uint8"), R.str("global"))
        alloc = R.vm.alloc_tensor(storage, R.prim_value(0), R.shape([16]), R.dtype("float32"))
        _ = R.vm.call_tir_dyn(cls.copy, (alloc, alloc, R.shape([n])))
        _ = cls.copy(alloc, alloc)
        nil = R.null_value()
        st = R.memory.alloc_storage(R.shape([128]), R.prim_value(0), R.str("global"), R.dtype("float32"))
        tn = R.memory.alloc_tensor(st, R.prim_value(0), R.shape([16]), R.dtype("float32"))
        R.memory.kill_tensor(tn)
        at = R.builtin.alloc_tensor(R.shape([n, 2]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        hint = R.hint_on_device(x, R.device(4, 0), "global")
        to = R.to_vdevice(x, dst_vdevice="cuda:0:global")
        R.vm.kill_object(storage)
        return tn

    @R.function
    def main(x: R.Tensor((16,), "float32"), y: R.Tensor((N, 2), "float32")) -> R.Tensor((16,), "float32"):
        cls = Module
        a = R.call_tir(cls.copy, (x,), out_ty=R.Tensor((16,), "float32"))
        b = R.call_tir_inplace(cls.copy, (a, x), inplace_indices=[0, -1], out_ty=[R.Tensor((16,), "float32"), R.Tensor((16,), "float32")])
        c = R.call_tir_with_grad(cls.copy, (x,), out_ty=R.Tensor((16,), "float32"), te_grad_name="g", te_grad_kwargs={"k": 1.0})
        return c
