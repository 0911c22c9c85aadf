# SPDX-License-Identifier: Apache-2.0
"""Latent attention (MLA) on the paged cache against a reference, by random operations (latent.c), with a module as MLC-LLM's definition of
DeepSeek-V2 writes it: appending, attention of a step's own rows, attention over the pages, merging."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
from clitest import BUILD, check, done, path, tenon, write  # noqa: E402

HEADS, DIM, LATENT, OWN = 3, 20, 16, 12  # as in latent.c
NAMES = ["max_batch_size", "max_total_seq_len", "prefill_chunk_size", "page_size", "support_sliding_window"]
CACHE = "vm.builtin.attention_kv_cache_"
PAIR = f'out_ty=[R.Tensor((n, {HEADS}, {LATENT}), dtype="float32"), R.Tensor((n, {HEADS}), dtype="float32")]'


def module(kind='R.str("mla")', v_dim=LATENT, mode=0, heads_of_keys=1):
    return f'''@I.ir_module
class Module:
    @R.function
    def create_paged_kv_cache({", ".join(f'{n}_: R.Shape(["{n}"])' for n in NAMES)}) -> R.Object:
        {", ".join(NAMES)} = {", ".join(["T.int64()"] * 5)}
        with R.dataflow():
            c = R.call_pure_packed("mlc.create_paged_kv_cache_generic", {kind}, R.shape([{", ".join(NAMES)}]), R.shape([0, 2]), 2, {HEADS},
                {heads_of_keys}, {DIM}, {v_dim}, {OWN}, {LATENT}, {mode}, 1, 10000, R.str("{{}}"), 0, {DIM}, 0, R.dtype("float32"), ty_args=(R.Object,))
            R.output(c)
        return c

    @R.function
    def decode(q: R.Tensor(("n", {HEADS}, {DIM}), "float32"), kv: R.Tensor(("n", {DIM}), "float32"), cache: R.Object):
        n = T.int64()
        R.func_attr({{"num_input": 3}})
        with R.dataflow():
            c = R.call_pure_packed("{CACHE}append_mla_kv", cache, 1, kv, ty_args=(R.Object,))
            o = R.call_dps_packed("{CACHE}cross_attention", (c, 1, T.float64(0.3), q), {PAIR})
            r = o[0]
            R.output(r)
        return r

    @R.function
    def extend(q: R.Tensor(("n", {HEADS}, {DIM}), "float32"), kv: R.Tensor(("n", {DIM}), "float32"), own: R.Tensor(("n", {HEADS}, {OWN}), "float32"),
               k: R.Tensor(("n", {HEADS}, {OWN}), "float32"), v: R.Tensor(("n", {HEADS}, {LATENT}), "float32"), cache: R.Object):
        n = T.int64()
        R.func_attr({{"num_input": 6}})
        with R.dataflow():
            c = R.call_pure_packed("{CACHE}append_mla_kv", cache, 1, kv, ty_args=(R.Object,))
            s = R.call_dps_packed("{CACHE}self_attention", (c, 1, T.float64(0.3), own, k, v), {PAIR})
            o = R.call_dps_packed("{CACHE}cross_attention", (c, 1, T.float64(0.3), q), {PAIR})
            m = R.call_pure_packed("{CACHE}merge_attn_output_inplace", c, s[0], s[1], o[0], o[1],
                ty_args=(R.Tuple(R.Tensor((n, {HEADS}, {LATENT}), "float32"), R.Tensor((n, {HEADS}), "float32")),))
            r = m[0]
            R.output(r)
        return r
'''


DEVICES = tenon("list", "devices").stdout
there = [t for t in ("opencl", "gpu_generic") if re.search(rf"^{t} .*\n    0: (?!not usable)", DEVICES, re.M)]
source = write("latent.py", module())
for target in ["cpu"] + there:
    r = tenon("compile", source, "-t", target, "--profile", "llm", "-o", path(f"{target}.tno"))
    check(r.returncode == 0, f"{target}: compiles", r)
    for seed in (1, 2, 3) if target == "cpu" else (1,):
        r = subprocess.run([os.path.join(BUILD, "tests/llm/latent"), path(f"{target}.tno"), str(seed), "400" if target == "cpu" else "60"],
                           capture_output=True, text=True, timeout=300)
        check(r.returncode == 0, f"{target}: rows equal the reference, seed {seed}", r)

for what, options, words in (
    ("more values than keys", dict(v_dim=DIM + 1), f"argument 7 is {DIM + 1}, expected a number from 1 to {DIM}"),
    ("rotation by the cache", dict(mode=1), "argument 10 is 1, expected a number from 0 to 0"),
    ("several heads of keys", dict(heads_of_keys=3), "argument 5 is 3, expected a number from 1 to 1"),
    ("kinds mixed", dict(kind='(R.str("mla"), R.str("mha"))'), "argument 0"),
):
    r = tenon("compile", write("wrong.py", module(**options)), "-t", "cpu", "--profile", "llm", "-o", path("wrong.tno"))
    check(r.returncode == 1 and words in r.stderr and "wrong.py:" in r.stderr, f"{what}: refused", r)
r = tenon("compile", source, "-t", "cpu", "--profile", "llm", "--set", "pass.DispatchKVCacheCreation.cache_dtype=int8", "-o", path("wrong.tno"))
check(r.returncode == 1 and "int8" in r.stderr and "hint" in r.stderr, "pages of int8: refused", r)
done()
