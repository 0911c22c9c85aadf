# SPDX-License-Identifier: Apache-2.0
"""Convolutions over images (the target adreno): what lies in images, and that results are the cpu's."""
import math
import os
import random
import re
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
import clitest
from clitest import check, npy_bytes, path, tenon, write

HEAD = """# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(%s):
        with R.dataflow():
%s
            R.output(out)
        return out
"""


def model(name, params, *lines):
    text = ", ".join(f'{n}: R.Tensor({s}, "{d}")' for n, s, d in params)
    return write(name + ".py", HEAD % (text, "\n".join("            " + line for line in lines)))


def params(dtype, **shapes):
    return [(n, s, dtype) for n, s in shapes.items()]


BLOCK = ("a = R.nn.conv2d(x, w1, padding=[1, 1, 1, 1])", "b = R.nn.relu(R.add(a, bias))",
         "c = R.nn.conv2d(b, w2, strides=[2, 2], padding=[1, 1, 1, 1], groups=16)",
         "d = R.nn.max_pool2d(R.nn.relu(c), pool_size=[2, 2], strides=[2, 2])",
         "e = R.nn.conv2d(d, w3)", "out = R.add(e, e)")


def block(name, dtype="float32", batch=1):
    return model(name, params(dtype, x=(batch, 8, 13, 11), w1=(16, 8, 3, 3), bias=(1, 16, 1, 1), w2=(16, 1, 3, 3),
                              w3=(12, 16, 1, 1)), *BLOCK)


CASES = [
    # name, file, settings, what the kernels' images are, tolerance
    ("rows", block("rows"), (), {"image2d_t"}, 1e-5),
    ("half", block("half", "float16"), (), {"image2d_t"}, 1e-2),
    ("batch", block("batch", batch=3), (), {"image2d_t"}, 1e-5),
    ("arrays", block("arrays", batch=3), ("texture_spatial_limit=143",), {"image2d_t", "image2d_array_t"}, 1e-5),
    ("small", block("small"), ("texture_spatial_limit=13",), {"image2d_t", "image2d_array_t"}, 1e-5),
    ("layers", block("layers"), ("texture_spatial_limit=1",), {"image2d_array_t"}, 1e-5),
    ("too-large", block("too-large"), ("texture_spatial_limit=1", "texture_depth_limit=1"), set(), 1e-5),
    ("branches", model("branches", params("float32", x=(2, 4, 9, 9), w1=(8, 4, 3, 3), w2=(8, 8, 1, 1), w3=(4, 8, 3, 3)),
                       "a = R.nn.relu(R.nn.conv2d(x, w1))", "b = R.nn.conv2d(a, w2)", "c = R.nn.conv2d(a, w3, padding=[1, 1, 1, 1])",
                       "d = R.concat((R.tanh(b), c), axis=1)", "e = R.nn.softmax(d, axis=1)", "f = R.mean(e, axis=[2, 3])",
                       "out = (f, a, R.nn.avg_pool2d(d, pool_size=[3, 3], padding=[1, 1, 1, 1]))"), (), {"image2d_t"}, 1e-5),
    ("groups", model("groups", params("float32", x=(1, 16, 7, 5), w1=(32, 8, 3, 3), w2=(8, 32, 1, 1)),
                     "a = R.nn.conv2d(x, w1, padding=[2, 2, 2, 2], dilation=[2, 2], groups=2)", "out = R.nn.conv2d(R.exp(a), w2)"),
     (), {"image2d_t"}, 1e-5),
    ("no-blocks", model("no-blocks", params("float32", x=(1, 3, 7, 5), w1=(5, 3, 3, 3)), "out = R.nn.relu(R.nn.conv2d(x, w1))"),
     (), set(), 1e-5),
]


def weights(name, batch=1, half=False, **limits):
    """block() with its weights as constants."""
    file = block(name, "float16" if half else "float32", batch)
    rng = random.Random(name)
    options = []
    for n, s in (("w1", (16, 8, 3, 3)), ("bias", (1, 16, 1, 1)), ("w2", (16, 1, 3, 3)), ("w3", (12, 16, 1, 1))):
        values = [rng.uniform(-1, 1) for _ in range(math.prod(s))]
        options += ["--bind", f"{n}={write(name + n + '.npy', npy_bytes('<f2' if half else '<f4', s, values))}"]
    return file, options, ["%s=%d" % i for i in limits.items()]


def kernels(file, *options):
    listed = tenon("show", "kernel", file, *options).stdout
    names = [line.split()[0] for line in listed.splitlines() if line.strip()]
    return "".join(tenon("show", "kernel", file, n, *options).stdout for n in names if re.fullmatch(r"\w+", n))


def constants_in_images():
    """Weights, biases and folded vectors: which arguments of the convolutions are images, and that results are the cpu's."""
    for name, (file, binds, settings), read, rtol in (
            # arguments that convolutions read: one image of the block before, then the constants (of the first two with bias)
            ("weights", weights("weights"), ["image image image", "image image", "image image"], 1e-5),
            ("weights-half", weights("weights-half", half=True), ["image image image", "image image", "image image"], 1e-2),
            ("weights-batch", weights("weights-batch", batch=2), ["image image image", "image image", "image image"], 1e-5),
            ("weights-arrays", weights("weights-arrays", texture_spatial_limit=13),
             ["array array image", "array image", "array array"], 1e-5),
            # (3, 16, 1, 1, 4): 48 layers are too many
            ("weights-some", weights("weights-some", texture_spatial_limit=13, texture_depth_limit=4),
             ["array array image", "array image", "array buffer"], 1e-5),
            ("weights-none", weights("weights-none", texture_spatial_limit=1, texture_depth_limit=1),
             ["buffer buffer buffer", "buffer buffer", "buffer buffer"], 1e-5)):
        target = ["-t", "adreno"] + [w for s in settings for w in ("--set", "target.adreno." + s)]
        out, tno = path("expected-" + name), path(name + ".tno")
        r = tenon("run", file, "-t", "cpu", *binds, "-o", out)
        check(r.returncode == 0, f"{name}: runs on the processor", r)
        r = tenon("compile", file, *target, *binds, "-o", tno)
        check(r.returncode == 0, f"{name}: compiles", r)
        r = tenon("run", tno, "--expect", f"#0={out}/{os.listdir(out)[0]}", "--rtol", rtol, "--atol", 10 * rtol)
        check(r.returncode == 0 and " equals " in r.stderr, f"{name}: the results are the cpu's", r)
        kinds = {"__read_only image2d_t": "image", "__read_only image2d_array_t": "array", "__global const": "buffer"}
        found = []
        for args in re.findall(r"^fused_\w*conv2d\w*\((.*?)\)", kernels(file, *target, *binds), re.M):
            found.append(" ".join(kinds[k] for a in args.split(", ") for k in kinds if a.startswith(k)))
        check(sorted(found) == sorted(read), f"{name}: the convolutions read {read}, found {found}")


if "    0: " not in tenon("list", "devices").stdout.split("\nopencl ")[-1]:
    print("no OpenCL device")
    sys.exit(77)
for name, file, settings, kinds, rtol in CASES:
    target = ["-t", "adreno"] + [w for s in settings for w in ("--set", "target.adreno." + s)]
    out = path("expected-" + name)
    r = tenon("run", file, "-t", "cpu", "-o", out)
    check(r.returncode == 0, f"{name}: runs on the processor", r)
    expected = [w for f in sorted(os.listdir(out)) for w in ("--expect", f"#{f.split('-')[0]}={os.path.join(out, f)}")]
    tno = path(name + ".tno")
    r = tenon("compile", file, *target, "-o", tno)
    check(r.returncode == 0, f"{name}: compiles", r)
    r = tenon("run", tno, *expected, "--rtol", rtol, "--atol", rtol)
    check(r.returncode == 0 and r.stderr.count(" equals ") == len(expected) // 2, f"{name}: the results are the cpu's", r)
    source = kernels(file, *target)
    check(set(re.findall(r"__(?:read|write)_only (\w+)", source)) == kinds, f"{name}: images are {sorted(kinds)}", r)
    check(("read_imagef" in source) == bool(kinds) == ("write_imagef" in source), f"{name}: images are read and written")
    plain = tenon("show", "kernel", file, "-t", "opencl").stdout
    check("_texture" not in plain, f"{name}: no images on the target opencl")
constants_in_images()

r = tenon("show", "model", path("rows.tno"))
check("images" in r.stdout and "image_width>=572" in r.stdout, "the artifact says what images it needs", r)
r = tenon("run", block("verified"), "-t", "adreno", "--verify")
check(r.returncode == 0 and "verified by execution" in r.stderr, "every pass keeps the meaning", r)

# a constant that something else than the programs reads lies in a buffer alone
SHARED = """# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def scale(x: T.Buffer((2, 2, 3, 5, 4), "float32"), w: T.Buffer((1, 2, 1, 1, 4), "float32"), y: T.Buffer((2, 2, 3, 5, 4), "float32")):
        for a, b, c, d, e in T.grid(2, 2, 3, 5, 4):
            with T.sblock("scale"):
                va, vb, vc, vd, ve = T.axis.remap("SSSSS", [a, b, c, d, e])
                y[va, vb, vc, vd, ve] = x[va, vb, vc, vd, ve] * w[0, vb, 0, 0, ve]

    @R.function
    def main(x: R.Tensor((2, 2, 3, 5, 4), "float32"), w: R.Tensor((1, 2, 1, 1, 4), "float32"), v: R.Tensor((1, 2, 1, 1, 4), "float32")):
        cls = Module
        with R.dataflow():
            a = R.call_tir(cls.scale, (x, w), out_ty=R.Tensor((2, 2, 3, 5, 4), "float32"))
            b = R.call_tir(cls.scale, (a, v), out_ty=R.Tensor((2, 2, 3, 5, 4), "float32"))
            gv = (b, v)
            R.output(gv)
        return gv
"""
file, binds = write("shared.py", SHARED), []
for n, values in (("w", range(8)), ("v", range(8, 16))):
    binds += ["--bind", f"{n}={write('shared-' + n + '.npy', npy_bytes('<f4', (1, 2, 1, 1, 4), list(values)))}"]
out, tno = path("expected-shared"), path("shared.tno")
r = tenon("run", file, "-t", "cpu", *binds, "-o", out)
check(r.returncode == 0, "shared: runs on the processor", r)
r = tenon("compile", file, "-t", "adreno", *binds, "-o", tno, "--dump-ir", path("shared-ir"), "--dump-only", "TextureScopes")
check(r.returncode == 0, "shared: compiles", r)
with open(os.path.join(path("shared-ir"), sorted(os.listdir(path("shared-ir")))[-1])) as f:
    scopes = re.findall(r' param_\d: T.Buffer\(.*?"float32"(?:, scope="([^"]*)")?\)', f.read())
check(sorted(scopes) == ["", "", "", "global.texture-weight:2x1:float32"], f"shared: one of two constants is an image, found {scopes}")
expected = [w for f in sorted(os.listdir(out)) for w in ("--expect", f"#{f.split('-')[0]}={os.path.join(out, f)}")]
r = tenon("run", tno, *expected)
check(r.returncode == 0 and r.stderr.count(" equals ") == 2, "shared: the results are the cpu's", r)
r = tenon("run", file, "-t", "adreno", *binds, "--verify")
check(r.returncode == 0 and "verified by execution" in r.stderr, "shared: every pass keeps the meaning", r)
clitest.done()
