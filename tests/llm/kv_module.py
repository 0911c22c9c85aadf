# SPDX-License-Identifier: Apache-2.0
"""A module of two attention layers on a paged cache, as an importer writes it."""
import json


def kv_module(hq=4, hk=2, d=16, rotary=None, mode=1, theta=10000, scaling=None, layer_window=0, dtype="float32", factors=None, cap=0, shared=False):
    rotary = d if rotary is None else rotary
    kinds = 'R.str("mha")' if not layer_window else 'R.tuple(R.str("mha"), R.str("mha_sliding"))'
    soft_cap = f"R.prim_value({float(cap)}), " if cap else ""
    sixth = f", {layer_window}" if layer_window else ""
    ext = f'R.const({list(factors)}, "float32")' if factors else "R.prim_value(0)"
    scaling = json.dumps(scaling or {}).replace("'", "\\'")
    names = ["max_batch_size", "max_total_seq_len", "prefill_chunk_size", "page_size", "support_sliding_window"]
    params = ", ".join(f'{n}_: R.Shape(["{n}"])' for n in names)
    attention = "vm.builtin.attention_kv_cache_attention_with_fused_qkv"
    with_keys = "vm.builtin.attention_kv_cache_attention_with_shared_kv"
    out = f'R.Tensor((n, {hq}, {d}), dtype="{dtype}")'
    parts = f'''q = R.strided_slice(qkv, [1], [0], [{hq}], assume_inbound=True)
            k = R.strided_slice(qkv, [1], [{hq}], [{hq + hk}], assume_inbound=True)
            v = R.strided_slice(qkv, [1], [{hq + hk}], [{hq + 2 * hk}], assume_inbound=True)'''
    # queries of other layers that have the keys of these: where nothing is rotated, the same rows
    others = f'''
            {parts}
            less = R.multiply(q, R.const(-1.0, "{dtype}"))
            c = R.call_dps_packed("{with_keys}", (paged_kv_cache, R.prim_value(0), R.prim_value(T.float32(0.37)), q, k, v), out_ty={out})
            d = R.call_dps_packed("{with_keys}", (paged_kv_cache, R.prim_value(1), R.prim_value(T.float32(0.185)), less, k, v), out_ty={out})'''
    early = f'''
    @R.function
    def early(qkv: R.Tensor(("n", {hq + 2 * hk}, {d}), dtype="{dtype}"), paged_kv_cache: R.Object):
        n = T.int64()
        R.func_attr({{"num_input": 2}})
        with R.dataflow():
            {parts}
            c = R.call_dps_packed("{with_keys}", (paged_kv_cache, R.prim_value(1), R.prim_value(T.float32(0.37)), q, k, v), out_ty={out})
            R.output(c)
        return c
'''
    others, more, early = (others, ", c, d", early) if shared else ("", "", "")
    return f'''from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def create_paged_kv_cache({params}) -> R.Object:
        {", ".join(names)} = {", ".join(["T.int64()"] * 5)}
        with R.dataflow():
            paged_kv_cache = R.call_pure_packed("mlc.create_paged_kv_cache_generic", {kinds},
                R.shape([{", ".join(names)}{sixth}]), R.shape([0, 2]), R.prim_value(2), R.prim_value({hq}), R.prim_value({hk}),
                R.prim_value({d}), R.prim_value({d}), R.prim_value(0), R.prim_value(0), R.prim_value({mode}), R.prim_value(1),
                R.prim_value({theta}), R.str('{scaling}'), {ext}, R.prim_value({rotary}), R.prim_value(0), R.dtype("{dtype}"), {soft_cap}
                ty_args=(R.Object,))
            R.output(paged_kv_cache)
        return paged_kv_cache

    @R.function
    def attend(qkv: R.Tensor(("n", {hq + 2 * hk}, {d}), dtype="{dtype}"), paged_kv_cache: R.Object):
        n = T.int64()
        R.func_attr({{"num_input": 2}})
        with R.dataflow():
            a = R.call_dps_packed("{attention}", (paged_kv_cache, R.prim_value(0), R.prim_value(T.float32(0.37)), qkv), out_ty={out})
            half = R.multiply(qkv, R.const(-0.5, "{dtype}"))
            b = R.call_dps_packed("{attention}", (paged_kv_cache, R.prim_value(1), R.prim_value(T.float32(0.37)), half), out_ty={out}){others}
            R.output(a, b{more})
        return (a, b{more})
{early}'''
