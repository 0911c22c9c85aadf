# SPDX-License-Identifier: Apache-2.0
# A cache for latent attention: its kernels come from a file of their own.
# passes: DispatchKVCacheCreation{latent="@DIR@/../../llm/functions/latent.py"}
@I.ir_module
class Before:
    @R.function
    def create_paged_kv_cache(s: R.Shape(["b"])) -> R.Object:
        b = T.int64()
        with R.dataflow():
            c = R.call_pure_packed("mlc.create_paged_kv_cache_generic", R.str("mla"), R.shape([b, 128, 32, 16, 0]), R.shape([0, 2]),
                R.prim_value(2), R.prim_value(3), R.prim_value(1), R.prim_value(20), R.prim_value(16), R.prim_value(12),
                R.prim_value(8), R.prim_value(0), R.prim_value(1), R.prim_value(10000), R.str('{}'), R.prim_value(0),
                R.prim_value(20), R.prim_value(0), R.dtype("float32"), ty_args=(R.Object,))
            R.output(c)
        return c
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True)
    def kv_cache_copy_single_page_mla(x: T.Buffer((16, 20), "float32")):
        x[0, 0] = T.Cast("float32", 1)

    @T.prim_func(private=True)
    def kv_cache_debug_get_kv_mla(x: T.Buffer((20,), "float32")):
        x[0] = T.Cast("float32", 2)

    @T.prim_func(private=True)
    def kv_cache_transpose_append_mla(x: T.Buffer((16, 20), "float32")):
        x[0, 0] = T.Cast("float32", 0)

    @T.prim_func(private=True)
    def tir_attention_merge_state_mla(x: T.Buffer((8,), "float32")):
        x[0] = T.Cast("float32", 4)

    @T.prim_func(private=True)
    def tir_attention_prefill_mla(x: T.Buffer((3, 16), "float32")):
        x[0, 0] = T.Cast("float32", 3)

    @T.prim_func(private=True)
    def tir_attention_prefill_ragged(x: T.Buffer((3, 12), "float32")):
        x[0, 0] = T.Cast("float32", 8)

    @R.function
    def create_paged_kv_cache(s: R.Shape(["b"])) -> R.Any:
        b = T.int64()
        cls = Expected
        with R.dataflow():
            c: R.Any = R.call_pure_packed("vm.builtin.paged_attention_kv_cache_create", R.shape([b, 128, 32, 16, 0]), R.shape([0, 2]), R.prim_value(3), R.prim_value(1), R.prim_value(20), R.prim_value(16), R.shape([1, 1]), R.prim_value(0), R.prim_value(0), R.prim_value(1.0), R.prim_value(10000.0), R.const([], "float32", shape=[2, 0]), R.const(0.0, "float32"), R.tuple(), cls.kv_cache_transpose_append_mla, (R.str("tirx"), cls.tir_attention_prefill_ragged), R.tuple(), R.tuple(), R.tuple(), R.tuple(), R.tuple(), R.tuple(), (R.str("tirx"), cls.tir_attention_prefill_mla), (cls.tir_attention_merge_state_mla, cls.tir_attention_merge_state_mla), R.tuple(), cls.kv_cache_copy_single_page_mla, cls.kv_cache_debug_get_kv_mla, R.tuple(), R.dtype("float32"), R.prim_value(2147483647), ty_args=(R.Any,))
            R.output(c)
        return c
