# SPDX-License-Identifier: Apache-2.0
"""Reductions of all axes: threads of a block share them. One thread would take longer, and lavapipe ends its loops after 65535 turns."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
from clitest import check, done, npy_bytes, path, read_npy, tenon, write  # noqa: E402

MODEL = """\
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((300, 300), "float32")):
        with R.dataflow():
            r = (R.max(x), R.min(x), R.sum(x), R.max(R.abs(x), keepdims=True))
            R.output(r)
        return r
"""
if not re.search(r"^gpu_generic .*\n    0: ", tenon("list", "devices").stdout, re.M):
    print("no Vulkan device")
    sys.exit(77)
numbers = [1.0] * 90000
numbers[-1], numbers[-2] = 9.0, -7.0
x = write("x.npy", npy_bytes("<f4", (300, 300), numbers))
MEAN = "r = (R.mean(x), R.mean(x, keepdims=True))"
for name, text, want, kernel in (("all.py", MODEL, (9, -7, 90000, 9), "k_max"),
                                 ("mean.py", re.sub("r = .*", MEAN, MODEL), (1, 1), "mean")):
    model = write(name, text)
    r = tenon("run", model, "-t", "gpu_generic", "-i", f"x={x}", "-o", path(name + ".out"))
    check(r.returncode == 0, f"{name} runs", r)
    out = path(name + ".out")
    got = [read_npy(os.path.join(out, f))[-1] for f in sorted(os.listdir(out))] if r.returncode == 0 else []
    right = len(got) == len(want) and all(len(g) == 1 and abs(g[0] - w) <= 1e-3 * abs(w) for g, w in zip(got, want))
    check(right, f"{name}: {got} is {want}")
    r = tenon("show", "kernel", model, kernel, "-t", "gpu_generic")
    check(re.search(r"LocalSize (?!1 )\d+ 1 1", r.stdout), f"{name}: threads of a block share it", r)
done()
