# SPDX-License-Identifier: Apache-2.0
"""Quotients and square roots on a device whose own are off by one or two units in the last place, as Vulkan allows (the layer
vk_inexact.c): they are those of IEEE 754, of float32 and float16, also where a quotient is rounded to an integer afterwards."""
import json
import math
import os
import random
import re
import struct
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
from clitest import BUILD, check, done, npy_bytes, path, read_npy, tenon, write

MODEL = '''from tvm.script import ir as I, relax as R
@I.ir_module
class Module:
    @R.function
    def main(a: R.Tensor(("n",), "float32"), b: R.Tensor(("n",), "float32"), c: R.Tensor(("m",), "float16"),
             d: R.Tensor(("m",), "float16")):
        with R.dataflow():
            q = R.divide(a, b)
            f = R.floor_divide(a, b)
            s = R.sqrt(R.abs(b))
            r = R.rsqrt(R.abs(b))
            h = R.divide(c, d)
            R.output(q, f, s, r, h)
        return (q, f, s, r, h)
'''
if not re.search(r"^gpu_generic .*\n    0: ", tenon("list", "devices").stdout, re.M):
    print("no Vulkan device")
    sys.exit(77)
layer = os.path.join(os.path.abspath(BUILD), "tests", "gpu_generic", ".libs", "vk_inexact.so")
write("layer/layer.json", json.dumps({
    "file_format_version": "1.1.0",
    "layer": {"name": "VK_LAYER_TENON_inexact", "type": "GLOBAL", "library_path": layer, "api_version": "1.3.0",
              "implementation_version": "1", "description": "tests"}}))
OFF = {"VK_LAYER_PATH": path("layer"), "VK_INSTANCE_LAYERS": "VK_LAYER_TENON_inexact"}


def single(v):
    return struct.unpack("<f", struct.pack("<f", v))[0]


def half(v):
    return struct.unpack("<e", struct.pack("<e", v))[0]


def divided(x, y):
    """The quotient with 53 bits, which rounds to 24 or 11 as the exact one does."""
    if y == 0 or math.isnan(x) or math.isnan(y):
        return math.nan if x == 0 or math.isnan(x) or math.isnan(y) else math.copysign(math.inf, x) * math.copysign(1, y)
    return x / y


def scaled(random_, least, most):
    return single(random_.uniform(1, 2) * 2.0 ** random_.randint(least, most) * random_.choice([1, -1]))


draw = random.Random(20)
pairs = [(float(draw.randrange(3000)), float(draw.randrange(1, 3000))) for _ in range(8000)]
pairs += [(scaled(draw, -3, 3), scaled(draw, -3, 3)) for _ in range(8000)]
pairs += [(scaled(draw, -76, 60), scaled(draw, -60, 23)) for _ in range(8000)]
pairs += [(single(draw.uniform(1, 2)), 2 - draw.randrange(1, 60) * 2.0 ** -23) for _ in range(4000)]
pairs += [(x, y) for x in (0.0, -0.0, 1.0, -3.0, math.inf, -math.inf, math.nan, 2.0 ** 100, 2.0 ** -70)
          for y in (0.0, 1.0, -3.0, math.inf, math.nan, 2.0 ** 25, 2.0 ** -25)]
halves = [(half(draw.uniform(0, 8)), half(draw.uniform(0.25, 8))) for _ in range(20000)]


def of(dtype, values):
    return npy_bytes(dtype, (len(values),), values)


files = [write(name + ".npy", data) for name, data in
         (("a", of("<f4", [x for x, _ in pairs])), ("b", of("<f4", [y for _, y in pairs])),
          ("c", of("<f2", [x for x, _ in halves])), ("d", of("<f2", [y for _, y in halves])))]
model = write("quotients.py", MODEL)
inputs = [w for i, f in enumerate(files) for w in ("-i", f"#{i}={f}")]


def same(x, y):
    return x == y and math.copysign(1, x) == math.copysign(1, y) or math.isnan(x) and math.isnan(y)


def wrong(got, wanted):
    return [i for i, (x, y) in enumerate(zip(got, wanted)) if not same(x, y)]


def narrowed(v):
    return v if math.isinf(v) or math.isnan(v) else math.copysign(math.inf, v) if abs(v) >= 3.4028235677973366e38 else single(v)


exact = [narrowed(divided(x, y)) for x, y in pairs]
roots = [narrowed(math.sqrt(abs(y))) for _, y in pairs]
wanted = {
    "a / b": exact,
    "floor(a / b)": [v if math.isinf(v) or math.isnan(v) else math.copysign(math.floor(v), v) for v in exact],
    "sqrt(b)": roots,
    "1 / sqrt(b)": [narrowed(divided(1.0, v)) for v in roots],
    "c / d": [half(x / y) for x, y in halves],
}
r = tenon("run", model, "-t", "gpu_generic", *inputs, "-o", path("out"), env=OFF)
check(r.returncode == 0, "it runs", r)
outs = sorted(os.listdir(path("out")), key=lambda f: int(f.split("-")[0]))
for name, f in zip(wanted, outs):
    got = read_npy(os.path.join(path("out"), f))[-1]
    bad = wrong(got, wanted[name])
    at = bad[0] if bad else 0
    check(not bad, f"{name}: {len(bad)} of {len(got)} are wrong, first {at}: {got[at]!r} instead of {wanted[name][at]!r}, of "
          f"{(halves if name[0] == 'c' else pairs)[at]}")
# The layer does what is said of it: below the range that is mended the device's own quotients show.
tiny = [(scaled(draw, -110, -80), scaled(draw, -3, 3)) for _ in range(1000)]
files[:2] = write("a.npy", of("<f4", [x for x, _ in tiny])), write("b.npy", of("<f4", [y for _, y in tiny]))
r = tenon("run", model, "-t", "gpu_generic", *inputs, "-o", path("tiny"), env=OFF)
check(r.returncode == 0, "it runs", r)
got = read_npy(os.path.join(path("tiny"), outs[0]))[-1]
units = [abs(g - x / y) / 2.0 ** (math.frexp(x / y)[1] - 24) for g, (x, y) in zip(got, tiny)]
check(sum(u > 0.51 for u in units) > 900 and max(units) < 2.51, f"quotients of the device are off by up to {max(units)} units")
done()
