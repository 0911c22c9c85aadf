# SPDX-License-Identifier: Apache-2.0
"""The paged cache against a reference, by random operations (kv.c): head counts, dimensions, RoPE, windows of sequences and layers, small and
nearly full caches. Rows of one text have the same bits whatever stands beside them, however the text was cut into steps, and for every
number of threads."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
from clitest import BUILD, check, done, path, tenon, write  # noqa: E402
from kv_module import kv_module  # noqa: E402

LONGROPE = {"rope_type": "longrope", "original_max_position_embeddings": 64, "max_position_embeddings": 128, "attention_factor": 1.0}
CASES = [
    # name, module, options of kv
    ("grouped", dict(), dict()),
    ("one head of keys", dict(hq=4, hk=1, d=32), dict(sequences=3)),
    ("many heads of queries for one of keys", dict(hq=10, hk=1, d=32), dict(sequences=3)),
    ("as many heads of keys", dict(hq=3, hk=3, d=8), dict(tokens=120)),
    ("part rotated", dict(d=24, rotary=16), dict(chunk=40, theta=10000)),
    ("neighbours", dict(scaling={"rope_type": "gptj"}, theta=500000), dict(interleaved=1, theta=500000)),
    ("not rotated", dict(mode=0), dict(rotary=0)),
    ("rotated where keys are read", dict(mode=2), dict()),
    ("rotated where keys are read, neighbours, a part", dict(mode=2, d=24, rotary=16, scaling={"rope_type": "gptj"}, theta=500000), dict(interleaved=1, theta=500000)),
    ("rotated where keys are read, a layer with a window", dict(mode=2, layer_window=20), dict(layer_window=20)),
    ("odd dimension", dict(d=10, rotary=10), dict()),
    ("layer with a window", dict(layer_window=7), dict(layer_window=7)),
    ("windows", dict(), dict(window=1)),
    ("both windows", dict(layer_window=20), dict(window=1, layer_window=20)),
    ("kinds of layers with frequencies of their own",
     dict(layer_window=7, scaling={"full_attention": {"rope_type": "linear", "factor": 4.0, "rope_theta": 625.0},
                                   "sliding_attention": {"rope_theta": 100.0}}, theta=7),
     dict(layer_window=7, theta=625, window_theta=100, slow=4)),
    ("limit of scores", dict(cap=0.5), dict(cap=0.5)),
    ("limit of scores with windows", dict(cap=2, layer_window=9), dict(cap=2, layer_window=9, window=1)),
    ("factors of short texts", dict(scaling=LONGROPE, factors=[2.0] * 8 + [4.0] * 8), dict(tokens=64, slow=4)),
    ("factors of long texts", dict(scaling=LONGROPE, factors=[2.0] * 8 + [4.0] * 8), dict(tokens=80, slow=2)),
    ("keys of other layers", dict(mode=0, shared=True), dict(rotary=0, shared=1)),
    ("keys of other layers, rotated where they are read, a window", dict(mode=2, layer_window=9, shared=True), dict(layer_window=9, shared=1)),
    ("keys of other layers, trees", dict(mode=0, shared=True), dict(rotary=0, shared=1, trees=1)),
    ("full", dict(), dict(tokens=64, sequences=4)),
    ("trees", dict(), dict(trees=1)),
    ("trees, one head of keys, a limit of scores", dict(hq=5, hk=1, d=20, cap=0.7), dict(trees=1, cap=0.7, sequences=3)),
    ("trees, nearly full", dict(), dict(trees=1, tokens=64, sequences=4)),
    ("trees, neighbours, a part rotated", dict(d=24, rotary=16, scaling={"rope_type": "gptj"}), dict(interleaved=1, trees=1)),
    ("calls that should not be made", dict(), dict(misuse=1)),
    ("calls that should not be made, windows", dict(), dict(misuse=1, window=1)),
    ("calls that should not be made, trees, nearly full", dict(), dict(misuse=1, trees=1, tokens=64, sequences=4)),
    ("trees and faults", dict(), dict(trees=1, faults=1)),
    ("faults", dict(), dict(faults=1)),
    ("faults with windows", dict(), dict(faults=1, window=1)),
]
DEVICES = tenon("list", "devices").stdout
TARGETS = ["cpu"] + (["opencl"] if re.search(r"^opencl .*\n    0: (?!not usable)", DEVICES, re.M) else [])
# Pages of another dtype than what the model computes with. With int8 and elements of up to 1.5, one of a value is off by 6e-3 and a score by
# up to 2.6e-2: how many of a step's draws come near decides.
CASES += [(f"pages of {d}", dict(), dict(float32_pages=int(d == "int8"), tolerance=t, dtype=d)) for d, t in (("float16", 4e-3), ("bfloat16", 3e-2), ("int8", 1.5e-2))]
CASES += [("trees in pages of int8", dict(d=20), dict(trees=1, float32_pages=0, tolerance=1.5e-2, dtype="int8"))]
CASES += [("pages of int8, rotated where they are read", dict(mode=2), dict(tolerance=1e-2, dtype="int8"))]
CASES += [("pages of int8, windows, a dimension without vectors", dict(hq=3, hk=3, d=7, rotary=6), dict(window=1, tolerance=1e-2, dtype="int8"))]
# Some cases on what has no numbers of 8 and 16 bits of its own.
VULKAN = {"trees", "both windows", "limit of scores", "pages of int8", "pages of float16"} if re.search(r"^gpu_generic .*\n    0: (?!not usable)", DEVICES, re.M) else set()
CONF = write("windows.ini", "[pass DispatchKVCacheCreation]\nwindows = true\n")
SEED = int(os.environ.get("KV_SEED", "1"))


def run(file, options, **more):
    words = [f"{k}={v}" for k, v in {**options, **more}.items()]
    return subprocess.run([os.path.join(BUILD, "tests/llm/kv"), file] + words, capture_output=True, text=True, timeout=300)



def one(i, name, module, options, target):
    source = write(f"{i}.py", kv_module(**module))
    file = path(f"{i}.{target}.tno")
    config = ["--config", CONF] if "window" in options else []
    options = dict(options)
    if "dtype" in options:
        config += ["--set", f"pass.DispatchKVCacheCreation.cache_dtype={options.pop('dtype')}"]
    config += ["--set", "pass.DispatchKVCacheCreation.trees=always"] if "trees" in options else []
    r = tenon("compile", source, "-t", target, "--profile", "llm", *config, "-o", file)
    check(r.returncode == 0, f"{name}, {target}: compiles", r)
    sizes = dict(hq=4, hk=2, d=16, rotary=16)
    sizes.update({k: v for k, v in module.items() if k in sizes})
    if "rotary" not in module and "rotary" not in options:
        sizes["rotary"] = sizes["d"]
    if name.startswith("kinds") and target == "cpu":  # the mutation: one table for all
        wrong = {**sizes, **options, "window_theta": 0}
        check(run(file, wrong, seed=SEED + i, ops=300).returncode != 0, f"{name}: another theta is seen")
    sizes.update(options)
    digests = set()
    for threads in (1, 2, 3) if target == "cpu" else (2,):
        r = run(file, sizes, seed=SEED + i, ops={"cpu": 300, "gpu_generic": 30}.get(target, 100), threads=threads)
        check(r.returncode == 0, f"{name}, {target}: rows equal the reference with {threads} threads", r)
        digests.add(r.stdout)
    check(len(digests) == 1, f"{name}: the number of threads changes no bit: {digests}")


for n, (name, module, options) in enumerate([c for c in CASES if os.environ.get("KV_ONLY", "") in c[0]]):
    for target in TARGETS + (["gpu_generic"] if name in VULKAN else []):
        if target == "cpu" or "faults" not in options:
            one(n, name, module, options, target)

r = tenon("compile", write("bad.py", kv_module(mode=2, scaling={"rope_type": "linear", "factor": 4.0})), "-t", "cpu", "--profile", "llm", "-o", path("bad.tno"))
check(r.returncode == 1 and "RoPE inline" in r.stderr and "linear" in r.stderr and "mode 1" in r.stderr, "rotation where keys are read has frequencies of its own kinds", r)

# A module may give the cache anything.
r = run(path("0.cpu.tno"), dict(hostile=3000, seed=SEED))
check(r.returncode == 0 and "caches" in r.stdout, f"arguments that are anything end with a status: {r.stdout}", r)

done()
