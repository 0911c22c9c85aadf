# SPDX-License-Identifier: Apache-2.0
"""Random chains of convolutions with constant kernels, as models have them, and their values by NumPy: along one axis or two, blocks
of channels of several sizes, first layers, depthwise, groups, strides, dilation, bias, residuals, pooling, concatenation, channels shuffled."""
import os
import random
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "oracle"))
from formulas_nn import convolve  # noqa: E402


class Chain:
    """Text and values of a function, one binding at a time."""

    def __init__(self, draw):
        self.draw, self.lines, self.names = draw, [], 0

    def bind(self, text, value):
        self.names += 1
        name = f"v{self.names}"
        self.lines.append(f"            {name} = {text}")
        return name, value

    def constant(self, *shape):
        n = int(np.prod(shape))
        step = self.draw.choice([0.37, 1.1, 0.73])
        flat = f"R.arange({n}, dtype=\"float32\")"
        text = f"R.sin(R.multiply(R.reshape({flat}, R.shape({list(shape)})), R.const({step}, \"float32\")))"
        value = np.sin(np.arange(n, dtype=np.float32).reshape(shape) * np.float32(step)).astype(np.float32)
        return self.bind(text, value)


def conv_transpose(c, x):
    d = c.draw
    name, a = x
    n, channels, rows, columns = a.shape
    out, k = d.choice([3, 4, 8, 12]), [d.choice([1, 2, 3, 4]) for _ in range(2)]
    stride = [d.choice([1, 2, 2, 3]) for _ in k]
    pad = [d.randint(0, min(k[i % 2] - 1, 1)) for i in range(4)]
    extra = [d.randint(0, s - 1) for s in stride]
    w, wa = c.constant(channels, out, *k)
    spread = np.zeros((n, channels, (rows - 1) * stride[0] + 1, (columns - 1) * stride[1] + 1))
    spread[:, :, ::stride[0], ::stride[1]] = a
    around = [k[0] - 1 - pad[0], k[1] - 1 - pad[1], k[0] - 1 - pad[2] + extra[0], k[1] - 1 - pad[3] + extra[1]]
    return c.bind(f"R.nn.conv2d_transpose({name}, {w}, strides={stride}, padding={pad}, output_padding={extra})",
                  convolve(spread, wa.astype(np.float64).transpose(1, 0, 2, 3)[:, :, ::-1, ::-1], [1, 1], [1, 1], around, 1))


def conv(c, x):
    d = c.draw
    name, a = x
    channels, rows, columns = a.shape[1:]
    kind = d.choice(["dense", "dense", "dense", "depthwise", "groups", "transposed"])
    if kind == "transposed":
        return conv_transpose(c, x)
    out = d.choice([4, 5, 8, 12, 16, 20, 24, 32])
    groups = 1
    if kind == "depthwise":
        groups = channels
        out = channels * d.choice([1, 1, 1, 2])
    elif kind == "groups" and channels % 2 == 0 and out % 2 == 0:
        groups = 2
    k = [d.choice([1, 2, 3]) if n > 3 else 1 for n in (rows, columns)]
    stride, pad = [d.choice([1, 1, 2]) for _ in k], [d.choice([0, 1, 1]) for _ in range(4)]
    dilation = [d.choice([1, 1, 2]) if n >= 5 else 1 for n in (rows, columns)]
    w, wa = c.constant(out, channels // groups, *k)
    return c.bind(f"R.nn.conv2d({name}, {w}, strides={stride}, padding={pad}, dilation={dilation}, groups={groups})",
                  convolve(a.astype(np.float64), wa.astype(np.float64), stride, dilation, pad, groups))


def conv1d(c, x):
    """Along one axis; kernels as long as the windows of a Fourier transform among them."""
    d = c.draw
    name, a = x
    channels, length = a.shape[1:]
    out = d.choice([4, 8, 16, 17, 24, 33, 40])
    long = d.random() < 0.5
    groups = channels if not long and d.random() < 0.2 else 1
    out = channels if groups > 1 else out
    size = d.choice([64, 65, 80]) if long and length >= 90 else min(d.choice([1, 2, 3, 5]), length)
    stride, pad = d.choice([1, 1, 2, 7]) if long else d.choice([1, 2]), [d.choice([0, 0, 1, 3]) for _ in range(2)]
    dilation = 1 if size > 5 or 2 * size > length else d.choice([1, 2])
    w, wa = c.constant(out, channels // groups, size)
    value = convolve(a.astype(np.float64)[:, :, None], wa.astype(np.float64)[:, :, None], [1, stride], [1, dilation],
                     [0, pad[0], 0, pad[1]], groups)[:, :, 0]
    return c.bind(f"R.nn.conv1d({name}, {w}, strides=[{stride}], padding={pad}, dilation=[{dilation}], groups={groups})",
                  value)


def after1d(c, y):
    d = c.draw
    name, a = y
    if d.random() < 0.7:
        b, ba = c.constant(1, a.shape[1], 1)
        name, a = c.bind(f"R.add({name}, {b})", a + ba)
    if d.random() < 0.5:
        name, a = c.bind(f"R.nn.relu({name})", np.maximum(a, 0))
    if d.random() < 0.3 and a.shape[1] > 2:  # real and imaginary parts
        half = a.shape[1] // 2
        name, a = c.bind(f"R.strided_slice({name}, axes=[1], begin=[0], end=[{half}])", a[:, :half])
    return name, a


def after(c, y):
    """What stands behind convolutions."""
    d = c.draw
    name, a = y
    if d.random() < 0.7:
        b, ba = c.constant(1, a.shape[1], 1, 1)
        name, a = c.bind(f"R.add({name}, {b})", a + ba)
    form = d.choice(["relu", "relu", "none", "residual", "concat", "pool", "clip", "shuffle"])
    if form == "relu":
        name, a = c.bind(f"R.nn.relu({name})", np.maximum(a, 0))
    elif form == "clip":
        name, a = c.bind(f"R.clip({name}, 0, 6)", np.clip(a, 0, 6))
    elif form == "residual":
        k, ka = c.constant(a.shape[1], a.shape[1], 1, 1)
        o = c.bind(f"R.nn.conv2d({name}, {k})", convolve(a, ka.astype(np.float64), [1, 1], [1, 1], [0] * 4, 1))
        name, a = c.bind(f"R.add({name}, {o[0]})", a + o[1])
    elif form == "concat":
        k, ka = c.constant(d.choice([8, 3]), a.shape[1], 1, 1)
        o = c.bind(f"R.nn.conv2d({name}, {k})", convolve(a, ka.astype(np.float64), [1, 1], [1, 1], [0] * 4, 1))
        name, a = c.bind(f"R.concat(({name}, {o[0]}), axis=1)", np.concatenate([a, o[1]], axis=1))
    elif form == "shuffle":
        g = d.choice([n for n in (2, 3, 4, a.shape[1]) if a.shape[1] % n == 0])
        n, channels, rows, columns = a.shape
        parts = (n, g, channels // g, rows, columns)
        name, _ = c.bind(f"R.reshape({name}, R.shape({list(parts)}))", a)
        name, _ = c.bind(f"R.permute_dims({name}, axes=[0, 2, 1, 3, 4])", a)
        name, a = c.bind(f"R.reshape({name}, R.shape({list(a.shape)}))",
                         a.reshape(parts).transpose(0, 2, 1, 3, 4).reshape(a.shape))
    elif form == "pool" and min(a.shape[2:]) >= 2:
        r, s = a.shape[2] // 2, a.shape[3] // 2
        value = a[:, :, :2 * r, :2 * s].reshape(*a.shape[:2], r, 2, s, 2).max((3, 5))
        name, a = c.bind(f"R.nn.max_pool2d({name}, pool_size=[2, 2], strides=[2, 2])", value)
    return name, a


def chain(seed):
    d = random.Random(seed)
    c = Chain(d)
    sound = d.random() < 0.25
    channels = d.choice([1, 3, 8, 12, 16, 20])
    shape = (d.choice([1, 1, 2]), channels, d.randint(1, 200)) if sound else (
        d.choice([1, 1, 2]), channels, d.randint(1, 18), d.randint(1, 30))
    x = np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)
    y = "x", x.astype(np.float64)
    for _ in range(d.randint(1, 3)):
        y = after1d(c, conv1d(c, y)) if sound else after(c, conv(c, y))
        # keep values near one: what rounding leaves then says something
        y = c.bind(f"R.multiply({y[0]}, R.const({1 / (1 + float(np.abs(y[1]).max(initial=0))):.9e}, \"float32\"))",
                   y[1] / (1 + float(np.abs(y[1]).max(initial=0))))
    text = "\n".join(["from tvm.script import ir as I", "from tvm.script import relax as R", "", "@I.ir_module",
                      "class Module:", "    @R.function",
                      f"    def main(x: R.Tensor({shape}, \"float32\")):", "        with R.dataflow():", *c.lines,
                      f"            gv = {y[0]}", "            R.output(gv)", "        return gv", ""])
    return text, x, y[1].astype(np.float32)
