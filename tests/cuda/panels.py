# SPDX-License-Identifier: Apache-2.0
"""Weights in GGUF's blocks on the target cuda: they lie in panels, whose parts are loaded as wide as can be, and logits are the reference's on
the simulated device, which looks for races, token by token and for several sequences together (check-long: of every type of blocks, in
other orders too)."""
import os
import re
import sys

sys.path[:0] = [os.path.join(os.environ["top_srcdir"], "tests", d) for d in ("tools", "llm")]
import clitest
from clitest import BUILD, check, path, tenon, write

SIM = os.path.join(BUILD, "tests", "cuda", "sim", ".libs")
if not os.path.exists(os.path.join(SIM, "libcuda.so.1")):
    print("no simulated device (cmocka is missing)")
    sys.exit(77)
try:
    import numpy as np
except ImportError:
    print("no numpy here")
    sys.exit(77)
os.environ.update(LLM_TARGET="cuda", CUDASIM_ARCH="80", LD_LIBRARY_PATH=SIM + ":" + os.environ.get("LD_LIBRARY_PATH", ""))
from compare import compare
from small_model import BLOCKS, Model

IDS = [int(x) for x in np.random.RandomState(7).randint(0, 40, 3)]
LONG = bool(os.environ.get("TENON_LONG"))


def model(kind):
    """Of 44 results in panels of 8, which do not divide them."""
    m = Model(seed=30, hidden=256, inner=256, heads=4, kv=2, dim=16, scale=0.8, layers=1, vocab=44)
    types = {"attn_output": "F32"} if BLOCKS[kind][1] > 64 else {}
    types.update({"": kind})
    return m, write("model.gguf", m.gguf(types=types))


def lines(kernel, key):
    return re.search(rf"^  {key} +(.*)", kernel, re.M).group(1)


for kind in BLOCKS if LONG else ("Q4_0", "Q4_K"):
    m, file = model(kind)
    r = tenon("show", "kernel", file, "-t", "cuda", "--cost")
    if r.returncode and "NVRTC" in r.stderr:
        print("no NVRTC")
        sys.exit(77)
    kernels = {k.split("\n")[0]: k for k in re.split(r"\n(?=\w)", r.stdout)}
    products = {n: k for n, k in kernels.items() if n.startswith("product_" + kind)}
    check(len(products) > 1, f"{kind}: {len(products)} products", r)
    matrices = [n for n in kernels if "dequantize_" in n]
    check(len(matrices) > 3 and not any("matmul" in n for n in matrices), f"{kind}: products of a prompt have the matrix made in front: {matrices}")
    for name, k in products.items():
        source = tenon("show", "kernel", file, name, "-t", "cuda").stdout
        check("const uint4 *" in source and "const float4 *" in source, f"{name}: 16 bytes at a time")
        check(lines(k, "spilled").startswith("0 "), f"{name}: nothing spills")
        check(lines(k, "threads of a block").startswith("8 x "), f"{name}: a panel a thread block")
    for order in ({}, {"CUDASIM_LATE": "1"}, {"CUDASIM_SEED": "1"}) if LONG else ({},):
        os.environ.update(order)
        compare(f"{kind} {order or ''}", file, IDS, m.logits(IDS), ways=("steps", "batch"), mutations=[("another order", m.logits(IDS[::-1]))])
        for o in order:
            del os.environ[o]
clitest.done()
