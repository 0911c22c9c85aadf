#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random convolutions by constant 3x3 kernels with enough channels for Winograd's form, with what may follow them, against
NumPy; for vectors of 64, 32 and 16 bytes. Large images, with a small second cache, go through all steps strip by strip. The target's
attribute turns the form off."""
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
for folder in ("tools", "oracle"):
    sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", folder))
from clitest import check, done, path, tenon, write  # noqa: E402
from formulas_nn import convolve  # noqa: E402

KINDS = ['"kind": "cpu"', '"kind": "cpu", "mcpu": "x86-64-v2"']
if "avx512vl" in open("/proc/cpuinfo").read():
    KINDS.append('"kind": "cpu", "mcpu": "x86-64-v4"')


def follow(d, y, channels, like_x):
    """What follows a convolution: text of further bindings from `lv`, and their value."""
    form = d.choice(["nothing", "bias", "bias", "residual" if like_x is not None else "bias", "twice", "bias twice", "two"])
    lines, name = [], "lv"
    if "bias" in form:
        b = np.round(np.sin(np.arange(channels) * 0.73), 3).astype(np.float32)
        lines += [f'lb = R.add({name}, R.const({b.reshape(1, -1, 1, 1).tolist()}, "float32"))', "lr = R.nn.relu(lb)"]
        name, y = "lr", np.maximum(y + b.reshape(1, -1, 1, 1).astype(np.float64), 0)
    if form == "residual":
        lines, name, y = ["la = R.add(lv, x)"], "la", y + like_x
    if "twice" in form:  # a value read twice, too dear to be computed twice
        lines += [f"ls = R.tanh({name})", f"lt = R.multiply(ls, {name})", "lu = R.add(lt, ls)"]
        name, y = "lu", np.tanh(y) * y + np.tanh(y)
    if form == "two":  # nothing that is fused reads all of it
        lines, name, y = ["lm = R.max(lv, axis=[2, 3], keepdims=True)", "lw = R.subtract(lv, lm)"], "lw", \
            y - y.max((2, 3), keepdims=True)
    return lines, name, y


def case(seed, large):
    d = random.Random(seed)
    channels, out = (d.choice([32, 48] if large else [24, 32, 40, 56]) for _ in range(2))
    if d.random() < 0.3:
        out = channels
    n, rows, columns = d.choice([1, 1, 2, 3]), d.randint(13, 24), d.randint(13, 24)
    if large:
        n, rows, columns = d.choice([1, 2]), d.choice([31, 32, 36, 40]), d.randint(98, 124)
    pad = d.choice([[1] * 4, [1] * 4, [0] * 4, [0, 1, 2, 1], [2, 0, 0, 1]])
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, channels, rows, columns)).astype(np.float32)
    k = (np.round(rng.uniform(-100, 100, (out, channels, 3, 3))) / 1000).astype(np.float32)
    y = convolve(x.astype(np.float64), k.astype(np.float64), [1, 1], [1, 1], pad, 1)
    lines, name, y = follow(d, y, out, x if y.shape == x.shape else None)
    text = "\n".join(["from tvm.script import ir as I", "from tvm.script import relax as R", "", "@I.ir_module",
                      "class Module:", "    @R.function", f"    def main(x: R.Tensor({x.shape}, \"float32\")):",
                      "        with R.dataflow():",
                      f"            lv = R.nn.conv2d(x, R.const({k.tolist()}, \"float32\"), padding={pad})",
                      *("            " + s for s in lines), f"            gv = {name}", "            R.output(gv)",
                      "        return gv", ""])
    return text, x, y


def legalized(module, target):
    return tenon("opt", module, "-t", target, "-p", "BlockLayouts,LegalizeOps").stdout


def main():
    first, count = 1, 100 if os.environ.get("TENON_LONG") else 8
    if len(sys.argv) > 1:
        first, count = int(sys.argv[1]), 1
    taken = strips = 0
    for seed in range(first, first + count):
        large = seed % 4 == 1
        text, x, y = case(seed, large)
        module = write(f"{seed}.py", text)
        np.save(path(f"{seed}.x.npy"), x)
        np.save(path(f"{seed}.y.npy"), y.astype(np.float32))
        kind = KINDS[seed % len(KINDS)] + (', "l2_bytes": 393216' if large else "")
        r = tenon("run", module, "-t", f"{{{kind}}}", "-i", f"x={path(f'{seed}.x.npy')}", "--expect",
                  f"output0={path(f'{seed}.y.npy')}", "--rtol", "1e-5", "--atol", "2e-5")
        check(r.returncode == 0, f"convolution {seed}, {x.shape} to {y.shape}, {kind}", r)
        form = legalized(module, f"{{{kind}}}")
        strips += large and "cls.winograd," in form
        taken += large or "winograd_product" in form
    check(count == 1 or taken > count // 2, f"{taken} of {count} take Winograd's form")
    check(strips == len(range(first, first + count)[::4]), f"{strips} of them strip by strip")
    check("winograd" not in legalized(module, f'{{{kind}, "winograd": 0}}'), "winograd = 0 turns it off")
    done()


main()
