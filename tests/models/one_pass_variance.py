#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A variance as the mean of squares minus the square of the mean, as layers of normalization of exported models have it, on all targets
against float64. The difference cancels: an error of the sums of 2^-24 is one of 2^-24 * (mean of squares / variance), so what a target
may choose, the order of its sums, shows in every result. The error has to be that of sums in some order, whatever the target."""
import os
import re
import sys

try:
    import numpy as np
except ImportError:  # another Python of this machine may have it
    if sys.executable == "/usr/bin/python3" or not os.path.exists("/usr/bin/python3"):
        print("no Python with NumPy (Debian: python3-numpy): skipped")
        sys.exit(77)
    os.execv("/usr/bin/python3", ["/usr/bin/python3"] + sys.argv)

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
from clitest import check, done, path, tenon, write  # noqa: E402

MODULE = """@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor({shape}, "float32")):
        with R.dataflow():
            squares = R.mean(R.multiply(x, x), axis=[{axis}])
            mean = R.mean(x, axis=[{axis}])
            v = R.subtract(squares, R.multiply(mean, mean))
            R.output(v)
        return v
"""
N = 512
# one sum with all roundings the same way is off by N * 2^-24; those of random numbers are as likely up as down
BOUND = 4 * np.sqrt(N) * 2.0**-24
rng = np.random.default_rng(20)
devices = tenon("list", "devices").stdout
targets = ["cpu", '{"kind": "cpu", "vector_bytes": 16}'] + [t for t in ("gpu_generic", "opencl") if re.search(f"^{t} .*\n    0: ", devices, re.M)]
for axis, sizes, declared in ((1, (2, N, 96), f'("n", {N}, 96)'), (2, (2, 40, N), f"(2, 40, {N})"), (2, (1, 3, N), f'(1, "n", {N})')):
    for spread in (1.0, 1e-2, 1e-3):
        x = (0.7 + spread * rng.standard_normal(sizes)).astype("float32")
        wide = x.astype("float64")
        squares = np.mean(wide**2, axis)
        want = squares - np.mean(wide, axis) ** 2
        np.save(path("x.npy"), x)
        model = write("m.py", MODULE.format(shape=declared, axis=axis))
        for target in targets:
            r = tenon("run", model, "-q", "-t", target, "-i", "x=" + path("x.npy"), "-o", path("o"))
            if "has no code generator" in r.stderr:
                continue
            got = np.load(os.path.join(path("o"), os.listdir(path("o"))[0])) if r.returncode == 0 else np.full_like(want, np.nan)
            error = np.max(np.abs(got - want) / squares)
            check(error <= BOUND, f"{target}, {declared} along axis {axis}, spread {spread}: off by {error:.2g} of the mean of squares, "
                                  f"{np.max(np.abs(got - want) / want):.2g} of the variance", r)
done()
