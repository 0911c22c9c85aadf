# SPDX-License-Identifier: Apache-2.0
"""A row's logits have the same bits whatever is computed beside it: token by token, in prefills of 1 to 512 tokens, among 2 to 17 sequences,
with pages in another order, by one thread and by two; for weights of float32, float16, bfloat16 and in blocks."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
from clitest import BUILD, check, done, path, tenon, write  # noqa: E402

try:
    import numpy as np
except ImportError:
    print("no numpy here")
    sys.exit(77)
from small_model import Model  # noqa: E402

IDS = [int(i) for i in np.random.RandomState(5).randint(0, 75, 150)]
FULL = os.environ.get("TESTS_FULL")


def test(kind, mcpu, **options):
    """75 tokens and 200 columns: no multiples of a vector, or of a tile."""
    what = f"{kind}, {mcpu}"
    m = Model(vocab=75, context=256, seed=3, **options)
    source = write("model.gguf", m.gguf(types={"": kind} if kind != "F32" else None))
    r = tenon("compile", source, "-t", json.dumps({"kind": "cpu", "mcpu": mcpu}), "-o", path("model.tno"))
    check(r.returncode == 0, f"{what}: compiles", r)
    got = []
    for threads in ("1", "2"):
        r = subprocess.run([os.path.join(BUILD, "tests/llm/logits"), path("model.tno"), path("logits.bin"), "bits", *map(str, IDS)], capture_output=True,
                           text=True, env=dict(os.environ, THREADS=threads))
        check(r.returncode == 0, f"{what}, {threads} threads: all ways give the same bits", r)
        got.append(np.fromfile(path("logits.bin"), np.float32) if r.returncode == 0 else None)
    if all(g is not None for g in got):
        check(np.array_equal(*got) and np.isfinite(got[0]).all(), f"{what}: and so does the other number of threads")
    want = m.logits(IDS)
    if kind.endswith(("32", "16")) and got[0] is not None:
        check(np.abs(got[0].reshape(want.shape) - want).max() < 1e-3 * want.std(), f"{what}: which are those of the reference")


NARROW = dict(hidden=72, inner=200, heads=4, kv=2, dim=18)
WIDE = dict(hidden=256, inner=768, heads=8, kv=2)
for kind in ("F32", "F16", "BF16"):
    test(kind, "native", **NARROW)
test("F16", "native", **WIDE)
test("F16", "x86-64-v3", **NARROW)
test("Q8_0", "native", **WIDE)
if FULL:
    for kind in ("F32", "F16", "BF16", "Q4_0", "Q4_K", "Q6_K"):
        for mcpu in ("native", "x86-64-v3", "x86-64-v2"):
            test(kind, mcpu, **WIDE)
done()
