# SPDX-License-Identifier: Apache-2.0
# No kernels for trees of tokens, though the module verifies some.
# passes: DispatchKVCacheCreation{kernels="@DIR@/../../llm/functions/kv.py", trees=never}
@I.ir_module
class Before:
    @R.function
    def create_paged_kv_cache(s: R.Shape(["b"])) -> R.Object:
        b = T.int64()
        with R.dataflow():
            c = R.call_pure_packed("mlc.create_paged_kv_cache_generic", R.str("mha"), R.shape([b, 128, 32, 16, 0]), R.shape([0, 2]),
                R.prim_value(2), R.prim_value(4), R.prim_value(2), R.prim_value(8), R.prim_value(8), R.prim_value(0),
                R.prim_value(0), R.prim_value(1), R.prim_value(1), R.prim_value(10000), R.str('{}'), R.prim_value(0),
                R.prim_value(8), R.prim_value(0), R.dtype("float32"), ty_args=(R.Object,))
            R.output(c)
        return c

    @R.function
    def batch_verify(x: R.Tensor((4,), "float32")):
        return x
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True)
    def kv_cache_copy_single_page(x: T.Buffer((1,), "float32")):
        x[0] = T.Cast("float32", 2)

    @T.prim_func(private=True)
    def kv_cache_debug_get_kv(x: T.Buffer((1,), "float32")):
        x[0] = T.Cast("float32", 3)

    @T.prim_func(private=True)
    def kv_cache_transpose_append(x: T.Buffer((4, 2, 16), "float32")):
        x[0, 0, 0] = T.Cast("float32", 0)

    @T.prim_func(private=True)
    def tir_attention_prefill(x: T.Buffer((8,), "float32")):
        x[0] = T.Cast("float32", T.float32(0.0))

    @T.prim_func(private=True)
    def tir_split_rotary(x: T.Buffer((8,), "float32")):
        x[0] = T.float32(1.0)

    @R.function
    def batch_verify(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        return x

    @R.function
    def create_paged_kv_cache(s: R.Shape(["b"])) -> R.Any:
        b = T.int64()
        cls = Expected
        with R.dataflow():
            c: R.Any = R.call_pure_packed("vm.builtin.paged_attention_kv_cache_create", R.shape([b, 128, 32, 16, 0]), R.shape([0, 2]), R.prim_value(4), R.prim_value(2), R.prim_value(8), R.prim_value(8), R.shape([0, 0]), R.prim_value(0), R.prim_value(1), R.prim_value(1.0), R.prim_value(10000.0), R.const([[1.0, 0.1, 0.01, 0.001], [1.0, 0.1, 0.01, 0.001]], "float32"), R.const(0.0, "float32"), cls.kv_cache_transpose_append, R.tuple(), R.tuple(), (R.str("tirx"), cls.tir_attention_prefill), R.tuple(), R.tuple(), R.tuple(), R.tuple(), R.tuple(), R.tuple(), R.tuple(), cls.tir_split_rotary, cls.kv_cache_copy_single_page, cls.kv_cache_debug_get_kv, R.tuple(), R.dtype("float32"), R.prim_value(2147483647), ty_args=(R.Any,))
            R.output(c)
        return c
