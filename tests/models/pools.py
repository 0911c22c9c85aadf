#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random pooling windows, padded ones too, and the place of the largest or least element, on the cpu, against NumPy; for
vectors of 32 and of 16 bytes."""
import os
import random
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

TARGETS = ["cpu", '{"kind": "cpu", "mcpu": "x86-64-v2"}']


def windows(x, size, stride, dilation, pad, fill):
    x = np.pad(x, ((0, 0), (0, 0), (pad[0], pad[2]), (pad[1], pad[3])), constant_values=fill)
    reach = [dilation[i] * (size[i] - 1) + 1 for i in range(2)]
    w = np.lib.stride_tricks.sliding_window_view(x, reach, axis=(2, 3))
    return w[:, :, ::stride[0], ::stride[1], ::dilation[0], ::dilation[1]]


def pool(d, rng):
    """The binding of y, x, and what y is."""
    shape = (d.choice([1, 1, 2, 3]), d.choice([1, 3, 8, 20, 64]), d.randint(6, 40), d.randint(6, 40))
    size, stride = [d.randint(1, 4) for _ in range(2)], [d.randint(1, 3) for _ in range(2)]
    dilation = [d.choice([1, 1, 1, 2]) for _ in range(2)]
    pad = [d.randint(0, (size[i % 2] - 1) * dilation[i % 2] // 2 if d.random() < 0.7 else 0) for i in range(4)]
    x = rng.uniform(-1, 1, shape).astype(np.float32)
    how = f"pool_size={size}, strides={stride}, dilation={dilation}, padding={pad}"
    if d.random() < 0.5:
        if d.random() < 0.3:
            x[rng.random(shape) < 0.01] = np.nan
        return f"R.nn.max_pool2d(x, {how})", x, windows(x, size, stride, dilation, pad, -np.inf).max((4, 5))
    count = d.random() < 0.4
    sums = windows(x.astype(np.float64), size, stride, dilation, pad, 0).sum((4, 5))
    each = windows(np.ones_like(x), size, stride, dilation, pad, count).sum((4, 5))
    return f"R.nn.avg_pool2d(x, {how}, count_include_pad={count})", x, sums / np.maximum(each, 1)


def place(d, rng):
    shape = tuple(d.choice([1, 3, 8, 17, 33, 64, 100, 200]) for _ in range(d.randint(1, 3)))
    kind = d.choice(["float32", "float32", "float64", "float16", "int32", "int8", "uint8", "int64"])
    x = rng.integers(0, d.choice([2, 5, 100]), shape).astype(kind)
    op, axis = d.choice(["argmax", "argmin"]), d.choice([None, *range(len(shape))])
    if kind.startswith("float"):
        worst = -np.inf if op == "argmax" else np.inf
        if d.random() < 0.5:
            x[rng.random(shape) < 0.02] = np.nan
        if d.random() < 0.3:
            x[rng.random(shape) < d.choice([0.5, 1])] = worst
    return f"R.{op}(x, axis={axis})", x, np.asarray(getattr(np, op)(x, axis=axis)).astype(np.int64)


def main():
    first, count = 1, 300 if os.environ.get("TENON_LONG") else 24
    if len(sys.argv) > 1:
        first, count = int(sys.argv[1]), 1
    for seed in range(first, first + count):
        d, rng = random.Random(seed), np.random.default_rng(seed)
        y, x, want = (place if seed % 3 == 0 else pool)(d, rng)
        module = write(f"{seed}.py", "\n".join(
            ["from tvm.script import ir as I", "from tvm.script import relax as R", "", "@I.ir_module", "class Module:",
             "    @R.function", f'    def main(x: R.Tensor({x.shape}, "{x.dtype}")):', "        with R.dataflow():",
             f"            y = {y}", "            R.output(y)", "        return y", ""]))
        np.save(path(f"{seed}.x.npy"), x)
        np.save(path(f"{seed}.y.npy"), want if want.dtype == np.int64 else want.astype(np.float32))
        target = TARGETS[seed % 2]
        r = tenon("run", module, "-t", target, "-i", f"x={path(f'{seed}.x.npy')}", "--expect",
                  f"output0={path(f'{seed}.y.npy')}", "--rtol", "1e-5", "--atol", "1e-6")
        check(r.returncode == 0, f"seed {seed}: {y} of {x.shape} {x.dtype}, {target}", r)
    done()


main()
