#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""float16 on devices with half: sums, differences, products and quotients are computed in it, each rounded as the program says.

Results are those of the processor, and where single precision would give something else, those of half, on a device whose half a
layer makes of its compiler's (tests/device/sub_group_layer.c). clang takes the texts with OpenCL's own declarations. Targets without
the feature have no half but in memory, and devices without it refuse such programs.
"""
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

TENON = os.environ["TENON"]
LAYER = os.path.join(os.environ["top_builddir"], "tests/device/.libs/sub_group_layer.so")
FEATURES = ("--set", "target.opencl.features=fp64, fp16")
MODEL = """
from tvm.script import ir as I, relax as R, tirx as T
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((9, 96), "float16"), w: R.Tensor((96, 40), "float16"), g: R.Tensor((96,), "float16")):
        with R.dataflow():
            a = (x * x + x) / (x + R.const(2, "float16")) - R.nn.silu(x)
            b = R.matmul(x, w)
            c = R.nn.rms_norm(x, g, axes=[-1])
            d = R.sum(x, axis=[1])
            R.output(a, b, c, d)
        return (a, b, c, d)
"""
# 2048 + 1 is 2048 in half; the accumulator is float32 where the program says so
ROUNDING = """
from tvm.script import ir as I, relax as R, tirx as T
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((64,), "float16"), B: T.Buffer((64,), "float16")):
        for i in range(64):
            with T.sblock("B"):
                v = T.axis.spatial(64, i)
                B[v] = A[v] * T.float16(0.0001) + T.float16(2048) + T.float16(1) - T.float16(2048)
    @T.prim_func
    def g(A: T.Buffer((64,), "float16"), B: T.Buffer((64,), "float16")):
        for i in range(64):
            with T.sblock("B"):
                v = T.axis.spatial(64, i)
                B[v] = T.Cast("float16", T.Cast("float32", A[v] * T.float16(0.0001)) + T.float32(2049) - T.float32(2048))
    @T.prim_func
    def h(A: T.Buffer((64,), "float16"), B: T.Buffer((64,), "float16")):
        T.func_attr({"tirx.is_scheduled": True})
        C = T.alloc_buffer((4,), "float16", scope="local")
        for b in T.thread_binding(1, thread="blockIdx.x"):
            for t in T.thread_binding(8, thread="threadIdx.x"):
                for i in T.vectorized(8):
                    B[t * 8 + i] = A[t * 8 + i] * T.float16(0.0001) + T.float16(2048) + T.float16(1) - T.float16(2048)
                for i in T.vectorized(4):
                    C[i] = A[t * 8 + i] * T.float16(0.0001) + T.float16(2048)
                for i in T.vectorized(4):
                    B[t * 8 + i] = B[t * 8 + i] + (C[i] + T.float16(1) - T.float16(2048))
    @R.function
    def main(x: R.Tensor((64,), "float16")):
        cls = Module
        with R.dataflow():
            y = R.call_tir(cls.f, (x,), out_ty=R.Tensor((64,), "float16"))
            z = R.call_tir(cls.g, (x,), out_ty=R.Tensor((64,), "float16"))
            w = R.call_tir(cls.h, (x,), out_ty=R.Tensor((64,), "float16"))
            R.output(y, z, w)
        return (y, z, w)
"""
failed = []


def fail(what):
    print("FAIL", what)
    failed.append(what)


def tenon(*args, **env):
    return subprocess.run([TENON, *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **env})


def layered(*args):
    return tenon(*args, OPENCL_LAYERS=LAYER, TENON_TEST_SUB_GROUPS_NAMES="cl_khr_fp16")


def write(work, name, text):
    path = os.path.join(work, name)
    with open(path, "w") as f:
        f.write(text)
    return path


def text_of(path, work, *options):
    out = os.path.join(work, "out.tno")
    r = tenon("compile", path, "-t", "opencl", *options, "-o", out)
    b = open(out, "rb").read() if r.returncode == 0 else b""
    at = b.find(b"#define int64_t long")
    if at < 0:
        fail("%s %s has no text:\n%s" % (path, " ".join(options), r.stdout))
        return ""
    start = b.rfind(b"\0", 0, at) + 1
    return re.compile(rb"[\t\n -~]*").match(b, at).group().decode() if start > at else b[start:].split(b"\0")[0].decode(errors="replace")


FLAGS = ("-x cl -cl-std=CL1.2 -target spir64 -cl-no-stdinc -include opencl-c.h -Xclang -cl-ext=-all,+cl_khr_fp64,+cl_khr_fp16 -Wall "
         "-Werror -Wno-unused-function -Wno-unused-variable -fsyntax-only -").split()


def texts(path, work, vectors):
    own, plain = text_of(path, work, *FEATURES), text_of(path, work)
    if any(x not in own for x in vectors):
        fail("no vectors of half")
    if "as_half" not in own or "vload_half" in own or "cl_khr_fp16" not in own:
        fail("with fp16 the text does not compute in half")
    if "as_half" in plain or "convert_half" in plain or "vload_half" not in plain or "cl_khr_fp16" in plain:
        fail("without fp16 the text is not computed in float")
    c = shutil.which("clang")
    if not c or subprocess.run([c, *FLAGS], input="", text=True, stderr=subprocess.DEVNULL).returncode != 0:
        print("no clang that takes OpenCL C: texts are not compiled by it")
        return
    r = subprocess.run([c, *FLAGS], input=own, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if r.returncode != 0:
        fail("clang refuses it:\n" + r.stdout[:3000])


def values(path):
    """The last 64 numbers of a file of float16, in tenths."""
    with open(path, "rb") as f:
        return {round(x, 1) for x in struct.unpack("<64e", f.read()[-128:])}


def results(path, work):
    out = os.path.join(work, "results")
    r = tenon("run", path, "-t", "cpu", "-o", out)
    if r.returncode != 0:
        return fail("the processor:\n" + r.stdout)
    wanted = [x for i, f in enumerate(sorted(os.listdir(out))) for x in ("--expect", "#%d=%s" % (i, os.path.join(out, f)))]
    r = layered("run", path, "-t", "opencl", *FEATURES, *wanted, "--rtol", "0.02", "--atol", "0.02")
    if r.returncode != 0:
        fail("half gives other results:\n" + r.stdout)
    r = tenon("run", path, "-t", "opencl", *FEATURES)
    if r.returncode != 0 and "lacks 'fp16'" not in r.stdout:
        fail("a device without half:\n" + r.stdout)
    out = os.path.join(work, "rounding")
    r = layered("run", write(work, "rounding.py", ROUNDING), "-t", "opencl", *FEATURES, "-o", out)
    got = [values(os.path.join(out, f)) for f in sorted(os.listdir(out))] if r.returncode == 0 else []
    if got != [{0.0}, {1.0}, {0.0}]:
        fail("rounding gives %s, expected 0 in half, 1 in float32:\n%s" % (got, r.stdout))


def main():
    if "opencl" not in tenon("list", "targets").stdout:
        sys.exit(77)
    with tempfile.TemporaryDirectory() as work:
        os.environ["XDG_CACHE_HOME"] = work
        path = write(work, "model.py", MODEL)
        texts(path, work, ())
        texts(write(work, "rounding.py", ROUNDING), work, ("as_half8", "as_half4"))
        devices = tenon("list", "devices").stdout
        if re.search(r"^opencl[^\n]*\n +0: Portable Computing Language", devices, re.M) and os.path.exists(LAYER):
            results(path, work)
        else:
            print("no device whose half can be made: nothing is run")
    sys.exit(1 if failed else 0)


main()
