#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random chains of quantized convolutions and matrix products through the whole cpu pipeline, against exact sums of integers
in NumPy: every step of every result is the same, for vectors of 32 and of 16 bytes. Without FakeQuantizationToInteger no
value behind one product is further away than one step of each quantize on its way (what follows may multiply that)."""
import os
import random
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
sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "oracle"))
from clitest import check, done, path, tenon, write  # noqa: E402
from formulas_nn import convolve  # noqa: E402

TARGETS = ["cpu", '{"kind": "cpu", "mcpu": "x86-64-v2"}']
# products of bytes: what these make runs here as well, without the instruction
VNNI = ['{"kind": "cpu", "mcpu": "x86-64-v3", "features": ["avxvnni"]}', '{"kind": "cpu", "mcpu": "x86-64-v4", "features": ["avx512vnni"]}']
LEGAL = "FakeQuantizationToInteger,BlockLayouts,LegalizeOps,DeadCodeElimination,AnnotateTIROpPattern,FoldConstant,FuseOps,FuseTIR"
F = np.float32


class Chain:
    """Bindings of a function; `steps` are the differences from the zero point of what was quantized last."""

    def __init__(self, seed):
        self.draw, self.lines, self.names = random.Random(seed), [], 0
        self.random = np.random.default_rng(seed)

    def bind(self, text):
        self.names += 1
        self.lines.append(f"            v{self.names} = {text}")
        return f"v{self.names}"

    def params(self):
        kind = self.draw.choice(["uint8", "int8"])
        low = -128 if kind == "int8" else 0
        return kind, low, low + self.draw.choice([0, 100, 128, 131, 255])

    def quantize(self, name, value, scale):
        """`value`: in steps, as float32 that rounding makes exact."""
        kind, low, zero = self.params()
        q = self.bind(f"R.quantize({name}, R.const({float(scale)!r}, \"float32\"), R.const({zero}, \"{kind}\"), out_dtype=\"{kind}\")")
        d = self.bind(f"R.dequantize({q}, R.const({float(scale)!r}, \"float32\"), R.const({zero}, \"{kind}\"))")
        return d, np.clip(np.rint(value), low - zero, low + 255 - zero).astype(np.int64), F(scale)

    def weights(self, shape, channels_axis, n):
        kind, low, zero = self.params()
        w = self.random.integers(low, low + 256, shape)
        several = self.draw.random() < 0.5
        scale = self.random.uniform(0.001, 0.01, n if several else 1).astype(F)
        text = repr(scale.tolist() if several else float(scale[0]))
        d = self.bind(f"R.dequantize(R.const({w.tolist()}, \"{kind}\"), R.const({text}, \"float32\"), R.const({zero}, \"{kind}\"), axis={channels_axis})")
        return d, w - zero, scale

    def after(self, name, total, scale, axis, rank):
        """Bias, bounds and quantize of the integers `total`, in steps of `scale` (float64, one or one a channel)."""
        n = total.shape[axis]
        shape = [1] * rank
        shape[axis] = n
        if self.draw.random() < 0.7:
            b = self.random.integers(-5000, 5000, n)
            s = scale.astype(F)
            text = repr([float(v) for v in s] if len(s) > 1 else float(s[0]))
            v = self.bind(f"R.dequantize(R.const({b.tolist()}, \"int32\"), R.const({text}, \"float32\"), R.const(0, \"int32\"), axis=0)")
            v = self.bind(f"R.reshape({v}, R.shape({shape}))")
            name, total = self.bind(f"R.add({name}, {v})"), total + b.reshape(shape)
        spread = float(np.abs(total * scale.reshape([-1 if i == axis else 1 for i in range(rank)])).max(initial=0))
        step = F(max(spread, 0.1) / self.draw.choice([90, 127, 200]))
        low, high = -np.inf, np.inf
        form = self.draw.choice(["relu", "clip", "none", "none"])
        if form == "relu":
            name, low = self.bind(f"R.nn.relu({name})"), 0.0
        elif form == "clip":
            name, low, high = self.bind(f"R.clip({name}, R.prim_value(-1), R.prim_value(6))"), -1.0, 6.0
        factor = (scale / np.float64(step)).astype(F).reshape([-1 if i == axis else 1 for i in range(rank)])
        value = np.clip(np.rint(total.astype(F) * factor), np.rint(low / np.float64(step)), np.rint(high / np.float64(step)))
        return self.quantize(name, value, step)

    def conv(self, x):
        name, steps, sx = x
        d = self.draw
        channels, rows, columns = steps.shape[1:]
        kind = d.choice(["dense", "dense", "dense", "depthwise", "groups"])
        out, groups = d.choice([4, 5, 8, 12, 16, 24, 32]), 1
        if kind == "depthwise":
            groups, out = channels, channels
        elif kind == "groups" and channels % 2 == 0 and out % 2 == 0:
            groups = 2
        k = [d.choice([1, 2, 3]) if n > 3 else 1 for n in (rows, columns)]
        stride, pad = [d.choice([1, 1, 2]) for _ in k], [d.choice([0, 1, 1]) for _ in range(4)]
        dilation = [d.choice([1, 1, 2]) if n >= 5 else 1 for n in (rows, columns)]
        w, wa, sw = self.weights((out, channels // groups, *k), 0, out)
        y = self.bind(f"R.nn.conv2d({name}, {w}, strides={stride}, padding={pad}, dilation={dilation}, groups={groups})")
        total = np.rint(convolve(steps.astype(np.float64), wa.astype(np.float64), stride, dilation, pad, groups)).astype(np.int64)
        return self.after(y, total, np.float64(sx) * sw.astype(np.float64), 1, 4)

    def between(self, x):
        name, steps, s = x
        form = self.draw.choice(["none", "none", "residual", "pool"])
        if form == "residual":
            twice = self.bind(f"R.add({name}, {name})")
            real = steps.astype(F) * s
            step = F(s * F(1.7))
            return self.quantize(twice, (real + real) / step, step)
        if form == "pool" and min(steps.shape[2:]) >= 2:
            r, c = steps.shape[2] // 2, steps.shape[3] // 2
            value = steps[:, :, :2 * r, :2 * c].reshape(*steps.shape[:2], r, 2, c, 2).max((3, 5))
            y = self.bind(f"R.nn.max_pool2d({name}, pool_size=[2, 2], strides=[2, 2])")
            return self.quantize(y, (value.astype(F) * s) / s, s)
        return x

    def matmul(self, x):
        name, steps, sx = x
        rows = steps.reshape(steps.shape[0] * steps.shape[1], -1)
        y = self.bind(f"R.reshape({name}, R.shape({list(rows.shape)}))")
        n = self.draw.choice([3, 8, 24, 40])
        turned = self.draw.random() < 0.5
        w, wa, sw = self.weights((n, rows.shape[1]) if turned else (rows.shape[1], n), 0 if turned else 1, n)
        if turned:
            w, wa = self.bind(f"R.permute_dims({w}, axes=[1, 0])"), wa.T
        y = self.bind(f"R.matmul({y}, {w})")
        return self.after(y, rows @ wa, np.float64(sx) * sw.astype(np.float64), 1, 2)

    def product_of_two(self, x):
        """Of the rows of the last channels and what else is made of them."""
        name, steps, s = x
        rows = steps.reshape(-1, steps.shape[-1] * steps.shape[-2])
        twice, other, so = self.quantize(self.bind(f"R.add({name}, {name})"), (2 * steps.astype(F) * s) / F(s * F(1.7)), F(s * F(1.7)))
        a = self.bind(f"R.reshape({name}, R.shape({list(rows.shape)}))")
        b = self.bind(f"R.reshape({twice}, R.shape({list(rows.shape)}))")
        y = self.bind(f"R.matmul({a}, {self.bind(f'R.permute_dims({b}, axes=[1, 0])')})")
        total = rows @ other.reshape(rows.shape).T
        return self.after(y, total, np.array([np.float64(s) * np.float64(so)]), 1, 2)


def chain(seed):
    c = Chain(seed)
    d = c.draw
    shape = (d.choice([1, 1, 2]), d.choice([1, 3, 8, 12, 16, 32]), d.randint(1, 14), d.randint(1, 20))
    x = c.random.uniform(-1, 1, shape).astype(F)
    y = c.quantize("x", x / F(0.01), F(0.01))
    alone = seed % 4 == 0
    layers = 1 if alone else d.randint(1, 3)
    for _ in range(layers):
        y = c.between(c.conv(y))
    form = "none" if alone else d.choice(["none", "weights", "weights", "two"])
    if form == "weights":
        y = c.matmul(y)
    elif form == "two" and y[1].shape[-1] * y[1].shape[-2] % 2 == 0 and y[1].shape[0] * y[1].shape[1] % 4 == 0 and y[1].shape[0] * y[1].shape[1] >= 8:
        y = c.product_of_two(y)
    text = "\n".join(["from tvm.script import ir as I", "from tvm.script import relax as R", "", "@I.ir_module",
                      "class Module:", "    @R.function",
                      f"    def main(x: R.Tensor({shape}, \"float32\")):", "        with R.dataflow():", *c.lines,
                      f"            gv = R.add({y[0]}, R.const(0.0, \"float32\"))", "            R.output(gv)", "        return gv", ""])
    return text, x, y[1].astype(F) * y[2], y[2]


def main():
    first, count = 1, 200 if os.environ.get("TENON_LONG") else 16
    if len(sys.argv) > 1:
        first, count = int(sys.argv[1]), 1
    bytes_used = 0
    for seed in range(first, first + count):
        text, x, y, step = chain(seed)
        module = write(f"{seed}.py", text)
        np.save(path(f"{seed}.x.npy"), x)
        np.save(path(f"{seed}.y.npy"), y)
        target = TARGETS[seed % 2]
        r = tenon("run", module, "-t", target, "-i", f"x={path(f'{seed}.x.npy')}", "--expect",
                  f"output0={path(f'{seed}.y.npy')}", "--rtol", "0", "--atol", f"{float(step) / 4}")
        check(r.returncode == 0, f"chain {seed} of {text.count('conv2d')} convolutions, {target}", r)
        legal = path(f"{seed}.legal.py")
        tenon("opt", module, "-t", VNNI[seed % 2], "-p", LEGAL, "-o", legal)
        r = tenon("run", legal, "-t", "cpu", "-i", f"x={path(f'{seed}.x.npy')}", "--expect",
                  f"output0={path(f'{seed}.y.npy')}", "--rtol", "0", "--atol", f"{float(step) / 4}")
        check(r.returncode == 0, f"chain {seed} in bytes where they fit", r)
        with open(legal, encoding="utf-8") as f:
            bytes_used += "dtype=\"uint8\")" in f.read()
        if text.count("conv2d") + text.count("R.matmul") == 1:
            off = (1.001 + len(re.findall(r"R\.add\((v\d+), \1\)", text))) * float(step)
            r = tenon("run", module, "-t", target, "--debug", "skip=FakeQuantizationToInteger", "-i", f"x={path(f'{seed}.x.npy')}",
                      "--expect", f"output0={path(f'{seed}.y.npy')}", "--rtol", "0", "--atol", f"{off}")
            check(r.returncode == 0, f"chain {seed}, {target}: as floats no value is further away than a step", r)
        opt = tenon("opt", module, "-t", "cpu", "-p", "FakeQuantizationToInteger").stdout
        check(opt.count('out_dtype="int32"') == text.count("conv2d") + text.count("R.matmul"),
              f"chain {seed}: all products are of integers")
    check(count == 1 or bytes_used > count // 8, f"{bytes_used} of {count} chains have products of bytes")
    done()


main()
