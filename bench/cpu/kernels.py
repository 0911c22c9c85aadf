# SPDX-License-Identifier: Apache-2.0
"""Single kernels: a module each, what NumPy says about its result, and the work that one run is."""
import math
import os

import numpy as np


HEAD = """from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main({params}):
        with R.dataflow():
{body}
            R.output(y)
        return y
"""

# What the project wants of each kind: the part of the peak or of the bandwidth that is reached.
LIMITS = {"matmul": 0.80, "conv": 0.60, "gemv": 0.85, "stream": 0.80}


class Kernel:
    """One module. `flops` are counted against the multiply-add peak; without them `bytes` against bandwidth:
    that of reading for "gemv", of reading and writing for "stream"."""

    def __init__(self, name, kind, shapes, body, formula, flops=0, moved=0, constants=(), small=False):
        self.name, self.kind, self.shapes, self.body, self.formula = name, kind, shapes, body, formula
        self.flops, self.bytes, self.constants, self.small = flops, moved, constants, small

    def __str__(self):
        return self.name

    def text(self):
        params = ", ".join(f'{n}: R.Tensor({tuple(s)}, "float32")' for n, s in self.shapes.items())
        body = "\n".join("            " + line for line in self.body)
        return HEAD.format(params=params, body=body)

    def folder(self, work):
        return os.path.join(work, "kernels", self.name.replace(" ", "_").replace("/", "_"))

    def inputs(self, work):
        """The run-time inputs as the command line takes them."""
        return [f"{n}={os.path.join(self.folder(work), n + '.npy')}" for n in self.shapes if n not in self.constants]

    def prepare(self, tenon, work):
        """Compiles the module and compares its result with NumPy's. Failed if they differ."""
        folder = self.folder(work)
        os.makedirs(folder, exist_ok=True)
        module, tno, want = (os.path.join(folder, f) for f in ("module.py", "unchecked.tno", "want.npy"))
        if not os.path.exists(want):
            self.make_data(folder, want)
        with open(module, "w", encoding="utf-8") as f:
            f.write(self.text())
        binds = [w for n in self.constants for w in ("--bind", f"{n}={os.path.join(folder, n + '.npy')}")]
        tenon.compile(module, tno, *binds)
        tenon.agrees(tno, self.inputs(work), *self.expected(work))
        os.replace(tno, self.artifact(work))

    def expected(self, work):
        """The files of the results, the relative and the absolute tolerance: sums of many products differ by the order in which
        they are added."""
        want = os.path.join(self.folder(work), "want.npy")
        largest = float(np.abs(np.load(want, mmap_mode="r")).max())
        return [want], 1e-4, 1e-5 * max(1.0, largest)

    def make_data(self, folder, want):
        """Inputs, and what they have to give: the last file that is written."""
        draw = np.random.default_rng(1)
        values = {n: draw.uniform(-1, 1, s).astype(np.float32) for n, s in self.shapes.items()}
        for n, v in values.items():
            np.save(os.path.join(folder, n + ".npy"), v)
        np.save(want + ".new.npy", np.asarray(self.formula(**values), dtype=np.float32))
        os.replace(want + ".new.npy", want)

    def artifact(self, work):
        return os.path.join(self.folder(work), "module.tno")

    def measure(self, tenon, work, threads, repeat, seconds, peak):
        """A record: per repetition the milliseconds of the whole run, and those of its kernels without the changes
        of layout at its ends, which a network has only at its own ends."""
        tno = self.artifact(work)
        slow = self.flops > seconds * peak["fma_flops"] / 4
        record = {"kind": self.kind, "flops": self.flops, "bytes": self.bytes, "whole_ms": [], "ms": []}
        for _ in range(repeat):
            r = tenon.bench(tno, threads, self.inputs(work), *self.expected(work), None if slow else seconds,
                            2 if slow else None, self.kind == "conv")
            own = [k["ms"] for k in r.get("kernels", []) if "layout_transform" not in k["name"]]
            record["whole_ms"].append(r["min_ms"])
            record["ms"].append(sum(own) if own else r["min_ms"])
        return record


def fraction(record, ms, peak):
    """The part of the machine's figure that a run of so many milliseconds reaches."""
    if record["flops"]:
        return record["flops"] / (ms * 1e-3) / peak["fma_flops"]
    best = peak["read_bytes"] if record["kind"] == "gemv" else max(peak["copy_bytes"], peak["triad_bytes"])
    return record["bytes"] / (ms * 1e-3) / best


# ---- matrices ----

def matmul(n, constant):
    name = f"matmul {n}" + (" constant" if constant else "")
    return Kernel(name, "matmul", {"x": (n, n), "w": (n, n)}, ["y = R.matmul(x, w)"], lambda x, w: x @ w,
                  flops=2 * n**3, constants=("w",) if constant else (), small=n <= 1024)


def gemv(k, n, transposed):
    body = ["t = R.permute_dims(w)", "y = R.matmul(x, t)"] if transposed else ["y = R.matmul(x, w)"]
    return Kernel(f"gemv {k}x{n}" + (" transposed" if transposed else ""), "gemv",
                  {"x": (1, k), "w": (n, k) if transposed else (k, n)}, body,
                  (lambda x, w: x @ w.T) if transposed else (lambda x, w: x @ w), moved=4 * (k * n + k + n))


# ---- convolutions ----

def convolve(x, w, b, stride, pad):
    """ReLU of a convolution and a bias, as one product of matrices."""
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], axis=(2, 3))[:, :, ::stride, ::stride]
    n, _, rows, columns = windows.shape[:4]
    a = windows.transpose(0, 2, 3, 1, 4, 5).reshape(n * rows * columns, -1)
    y = (a @ w.reshape(w.shape[0], -1).T).reshape(n, rows, columns, -1).transpose(0, 3, 1, 2)
    return np.maximum(y + b, 0)


def conv(channels, out, k, stride, size, small=False):
    pad = k // 2
    end = (size + 2 * pad - k) // stride + 1
    body = [f"c = R.nn.conv2d(x, w, strides=[{stride}, {stride}], padding=[{pad}, {pad}])", "s = R.add(c, b)",
            "y = R.nn.relu(s)"]
    return Kernel(f"conv {channels}-{out} {k}x{k}/{stride} {size}", "conv",
                  {"x": (1, channels, size, size), "w": (out, channels, k, k), "b": (1, out, 1, 1)}, body,
                  lambda x, w, b: convolve(x, w, b, stride, pad), flops=2 * out * channels * k * k * end * end,
                  constants=("w", "b"), small=small)


# channels, output channels, kernel, stride, rows and columns: each that ResNet-50 has, with strides in the 3x3.
RESNET50 = [
    (3, 64, 7, 2, 224),
    (64, 64, 1, 1, 56), (64, 64, 3, 1, 56), (64, 256, 1, 1, 56), (256, 64, 1, 1, 56),
    (256, 128, 1, 1, 56), (128, 128, 3, 2, 56), (256, 512, 1, 2, 56),
    (128, 512, 1, 1, 28), (512, 128, 1, 1, 28), (128, 128, 3, 1, 28),
    (512, 256, 1, 1, 28), (256, 256, 3, 2, 28), (512, 1024, 1, 2, 28),
    (256, 1024, 1, 1, 14), (1024, 256, 1, 1, 14), (256, 256, 3, 1, 14),
    (1024, 512, 1, 1, 14), (512, 512, 3, 2, 14), (1024, 2048, 1, 2, 14),
    (512, 2048, 1, 1, 7), (2048, 512, 1, 1, 7), (512, 512, 3, 1, 7),
]


# ---- what memory limits ----

def erf(x):
    """The error function: between 65536 points it bends by less than 1e-8."""
    points = np.linspace(-6, 6, 1 << 16)
    return np.interp(x, points, [math.erf(v) for v in points])


def stream(name, shapes, body, formula, written=1, small=False):
    """A kernel that reads each input once and writes as many bytes as the first input has, times `written`."""
    sizes = [4 * int(np.prod(s)) for s in shapes.values()]
    return Kernel(name, "stream", shapes, body, formula, moved=sum(sizes) + written * sizes[0], small=small)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def layer_norm(x, g, b):
    d = x - x.mean(-1, keepdims=True)
    return d / np.sqrt((d * d).mean(-1, keepdims=True) + 1e-5) * g + b


def rms_norm(x, g):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * g


def streams():
    rows, wide, n = (32768, 1024), (43008, 768), (33554432,)
    half, middle = (16777216,), (64, 512, 1024)
    argmax = ["i = R.argmax(x, axis=1)"]
    return [
        stream("relu", {"x": n}, ["y = R.nn.relu(x)"], lambda x: np.maximum(x, 0)),
        stream("add", {"x": half, "z": half}, ["y = R.add(x, z)"], lambda x, z: x + z, small=True),
        stream("multiply add clip", {"x": half, "z": half, "u": half},
               ["a = R.multiply(x, z)", "c = R.add(a, u)", "y = R.clip(c, -0.5, 0.75)"],
               lambda x, z, u: np.clip(x * z + u, -0.5, 0.75)),
        stream("sigmoid times", {"x": n}, ["s = R.sigmoid(x)", "y = R.multiply(x, s)"], lambda x: x / (1 + np.exp(-x))),
        stream("gelu erf", {"x": n}, ["y = R.nn.gelu(x)"], lambda x: 0.5 * x * (1 + erf(x / np.sqrt(2)))),
        stream("gelu tanh", {"x": n}, ["y = R.nn.gelu_tanh(x)"],
               lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))),
        stream("softmax 1024", {"x": rows}, ["y = R.nn.softmax(x, axis=-1)"], softmax, small=True),
        stream("softmax 128", {"x": (12, 24576, 128)}, ["y = R.nn.softmax(x, axis=-1)"], softmax),
        stream("layer norm 768", {"x": wide, "g": (768,), "b": (768,)},
               ["y = R.nn.layer_norm(x, g, b, axes=[-1], epsilon=1e-5)"], layer_norm),
        stream("rms norm 4096", {"x": (8192, 4096), "g": (4096,)},
               ["y = R.nn.rms_norm(x, g, axes=[-1], epsilon=1e-5)"], rms_norm),
        stream("sum of rows", {"x": rows}, ["y = R.sum(x, axis=[1])"], lambda x: x.sum(1, dtype=np.float64), written=0),
        stream("mean over middle", {"x": middle}, ["y = R.mean(x, axis=[1])"], lambda x: x.mean(1, dtype=np.float64),
               written=0),
        stream("mean of images", {"x": (32, 256, 64, 64)}, ["y = R.mean(x, axis=[2, 3])"],
               lambda x: x.mean((2, 3), dtype=np.float64), written=0),
        stream("argmax of rows", {"x": rows}, [*argmax, 'y = R.astype(i, dtype="float32")'], lambda x: x.argmax(1),
               written=0),
        stream("argmax over middle", {"x": middle}, [*argmax, 'y = R.astype(i, dtype="float32")'], lambda x: x.argmax(1),
               written=0),
        stream("transpose", {"x": (8192, 4096)}, ["y = R.permute_dims(x)"], lambda x: x.T, small=True),
        stream("transpose NCHW to NHWC", {"x": (32, 64, 128, 128)}, ["y = R.permute_dims(x, axes=[0, 2, 3, 1])"],
               lambda x: x.transpose(0, 2, 3, 1)),
        stream("transpose heads", {"x": (128, 128, 16, 128)}, ["y = R.permute_dims(x, axes=[0, 2, 1, 3])"],
               lambda x: x.transpose(0, 2, 1, 3)),
    ]


def kernels():
    """All of them, in the order of the table."""
    out = [matmul(n, False) for n in (512, 1024, 2048, 4096)] + [matmul(n, True) for n in (512, 1024, 2048)]
    out += [gemv(8192, 8192, False), gemv(8192, 8192, True), gemv(4096, 16384, False), gemv(4096, 16384, True)]
    out += [conv(*c, small=c in (RESNET50[2], RESNET50[16])) for c in RESNET50]
    return out + streams()
