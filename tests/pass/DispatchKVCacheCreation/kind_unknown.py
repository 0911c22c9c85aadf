# SPDX-License-Identifier: Apache-2.0
# A kind of attention that there is not is refused with those that there are.
# passes: DispatchKVCacheCreation{kernels="@DIR@/../../llm/functions/kv.py"}
# error: expected "mha", "mla", or a tuple
@I.ir_module
class Before:
    @R.function
    def create_paged_kv_cache(s: R.Shape(["b"])) -> R.Object:
        b = T.int64()
        with R.dataflow():
            c = R.call_pure_packed("mlc.create_paged_kv_cache_generic", R.str("linear"), R.shape([b, 128, 32, 16, 0]), R.shape([0, 2]),
                R.prim_value(2), R.prim_value(4), R.prim_value(2), R.prim_value(8), R.prim_value(8), R.prim_value(0),
                R.prim_value(0), R.prim_value(1), R.prim_value(1), R.prim_value(10000), R.str('{}'), R.prim_value(0),
                R.prim_value(8), R.prim_value(0), R.dtype("float32"), ty_args=(R.Object,))
            R.output(c)
        return c
