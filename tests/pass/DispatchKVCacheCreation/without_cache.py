# SPDX-License-Identifier: Apache-2.0
# A module that asks for no cache stays as it is.
# passes: DispatchKVCacheCreation{kernels="@DIR@/../../llm/functions/kv.py"}
@I.ir_module
class Before:
    @R.function
    def create_paged_kv_cache(s: R.Shape(["b"])) -> R.Object:
        b = T.int64()
        with R.dataflow():
            c = R.call_pure_packed("vm.builtin.null_value", ty_args=(R.Object,))
            R.output(c)
        return c
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def create_paged_kv_cache(s: R.Shape(["b"])) -> R.Any:
        with R.dataflow():
            c: R.Any = R.call_pure_packed("vm.builtin.null_value", ty_args=(R.Any,))
            R.output(c)
        return c
