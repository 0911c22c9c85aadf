#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kernels for devices with sub-groups.

Reductions over threads give the processor's results on a device whose sub-groups a layer makes (tests/device/sub_group_layer.c): with
each kind of extension, and where sub-groups have another size than kernels are made for. When the exchanged values are wrong, so
are the results. clang takes the texts with the functions that its header declares. What the target does not have is refused.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

TENON = os.environ["TENON"]
LAYER = os.path.join(os.environ["top_builddir"], "tests/device/.libs/sub_group_layer.so")
EXTENSIONS = ("cl_khr_subgroups cl_khr_subgroup_shuffle cl_khr_subgroup_clustered_reduce cl_qcom_subgroup_shuffle "
              "cl_qcom_reqd_sub_group_size cl_intel_subgroups cl_intel_required_subgroup_size")
TARGETS = {
    "shuffle": "32|subgroups, cl_khr_subgroup_shuffle",
    "parts": "32|subgroups, cl_khr_subgroup_clustered_reduce",
    "whole": "32|subgroups",
    "intel": "32|cl_intel_subgroups, cl_intel_required_subgroup_size",
    "qcom": "64|subgroups, cl_qcom_subgroup_shuffle, cl_qcom_reqd_sub_group_size",
    "none": "32|fp64",
}
# Compiling kernels takes most of the time: all of these for shuffles, some for others.
MODEL = """
from tvm.script import ir as I, relax as R, tirx as T
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((7, "n"), "float32"), h: R.Tensor((5, 333), "float16"), w: R.Tensor((70, 200), "float32"),
             v: R.Tensor((1, 200), "float32"), g: R.Tensor((333,), "float16")):
        n = T.int64()
        with R.dataflow():
            a = R.sum(x, axis=[1])
            b = R.argmax(x, axis=1)
            c = R.sum(R.astype(x * R.const(100, "float32"), "int32"), axis=[1])
            d = R.max(x)
            e = R.nn.rms_norm(h, g, axes=[-1])
            f = R.matmul(v, R.permute_dims(w))
            k = R.nn.softmax(x, axis=-1)
            R.output(%(results)s)
        return (%(results)s)
"""
RESULTS = {"shuffle": "abcdefk", "parts": "ac", "whole": "ac", "intel": "ab", "qcom": "ac", "none": "a"}
BAD = """
from tvm.script import ir as I, relax as R, tirx as T
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        T.func_attr({"tirx.is_scheduled": True})
        for b in T.thread_binding(1, thread="blockIdx.x"):
            for t in T.thread_binding(64, thread="threadIdx.x"):
                %s
    @R.function
    def main(x: R.Tensor((64,), "float32")):
        cls = Module
        with R.dataflow():
            y = R.call_tir(cls.f, (x,), out_ty=R.Tensor((64,), "float32"))
            R.output(y)
        return y
"""
SHUFFLE = "T.tvm_warp_shuffle%s(-1, A[t], %d, %d, 32)"
failed = []


def fail(what):
    print("FAIL", what)
    failed.append(what)


def tenon(*args, **env):
    return subprocess.run([TENON, *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **env})


def settings(work):
    path = os.path.join(work, "targets.ini")
    with open(path, "w") as f:
        for name, what in TARGETS.items():
            f.write("[target %s]\nkind = opencl\nthread_warp_size = %s\nfeatures = %s\n" % (name, *what.split("|")))
    return ["--config", path]


def run(config, target, size, expected, path, **env):
    """The output of a run on the layer; expected: files of results."""
    wanted = [x for i, f in enumerate(expected) for x in ("--expect", "#%d=%s" % (i, f))]
    return tenon("run", *config, path, "-t", target, "--dim", "n=150", *wanted, "--rtol", "1e-3", "--atol", "1e-3", OPENCL_LAYERS=LAYER,
                 TENON_TEST_SUB_GROUPS=str(size), TENON_TEST_SUB_GROUPS_NAMES=EXTENSIONS, **env)


def model(work, names):
    path = os.path.join(work, names + ".py")
    with open(path, "w") as f:
        f.write(MODEL % {"results": "".join(x + ", " for x in names)})
    return path


def results(config, work):
    for target, names in RESULTS.items():
        path, out = model(work, names), os.path.join(work, names)
        r = tenon("run", path, "-t", "cpu", "--dim", "n=150", "-o", out)
        if r.returncode != 0:
            return fail("the processor:\n" + r.stdout)
        expected = [os.path.join(out, x) for x in sorted(os.listdir(out))]
        size = int(TARGETS[target].split("|")[0])
        r = run(config, target, size, expected, path)
        if r.returncode != 0:
            fail("%s:\n%s" % (target, r.stdout))
        # of their own size they use what they exchange, of another nothing
        for other in (size, 16) if target in ("shuffle", "whole") else (size,):
            r = run(config, target, other, expected, path, TENON_TEST_SUB_GROUPS_WRONG="1000")
            used = target != "none" and other == size
            if (r.returncode != 0) != used or (used and "differs from" not in r.stdout):
                fail("%s, sub-groups of %d with wrong values: exit status %d\n%s" % (target, other, r.returncode, r.stdout))
    r = tenon("run", *config, model(work, "a"), "-t", "whole", "--dim", "n=150")
    if r.returncode == 0:
        print("the device has sub-groups of its own")
    elif "lacks 'subgroups'" not in r.stdout:
        fail("a device without sub-groups:\n" + r.stdout)


FLAGS = "-x cl -cl-std=CL3.0 -target spir64 -cl-no-stdinc -include opencl-c.h -Wall -Werror -Wno-unused-function -Wno-unused-variable -fsyntax-only -".split()


def compiles(config, work):
    """The header of clang declares Khronos' and Intel's functions."""
    c = shutil.which("clang")
    if not c or subprocess.run([c, *FLAGS], input="", text=True, stderr=subprocess.DEVNULL).returncode != 0:
        print("no clang that takes OpenCL C 3.0: texts are not compiled by it")
        return
    path, out = model(work, "abcdefk"), os.path.join(work, "model.tno")
    for target in ("shuffle", "parts", "whole", "intel"):
        r = tenon("compile", *config, path, "-t", target, "-o", out)
        b = open(out, "rb").read() if r.returncode == 0 else b""
        at = b.find(b"#ifdef cl_")
        text = re.compile(rb"[\t\n -~]*").match(b, at).group().decode() if at >= 0 else ""
        if "tk_full" not in text:
            fail("%s: no kernel asks for its sub-groups\n%s" % (target, r.stdout))
        intel = ["-Dcl_intel_subgroups"] if target == "intel" else []
        r = subprocess.run([c, *intel, *FLAGS], input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if r.returncode != 0:
            fail("%s: clang refuses it:\n%s" % (target, r.stdout[:2000]))


def refused(config, work, target, statement, wanted):
    path = os.path.join(work, "bad.py")
    with open(path, "w") as f:
        f.write(BAD % statement)
    r = tenon("compile", *config, path, "-t", target, "-o", os.path.join(work, "bad.tno"))
    if wanted is None and r.returncode != 0:
        fail("%s on %s is refused:\n%s" % (statement, target, r.stdout))
    elif wanted is not None and (r.returncode != 1 or wanted not in r.stdout or "bad.py:" not in r.stdout):
        fail("%s on %s: exit status %d, expected %s:\n%s" % (statement, target, r.returncode, wanted, r.stdout))


def refusals(config, work):
    ask = "if T.warp_size_is(32): B[t] = "
    refused(config, work, "shuffle", ask + SHUFFLE % ("_xor", 1, 32), None)
    refused(config, work, "intel", ask + SHUFFLE % ("_down", 1, 8), None)
    refused(config, work, "shuffle", ask + SHUFFLE % ("", 3, 32), None)
    refused(config, work, "shuffle", "B[t] = " + SHUFFLE % ("_xor", 1, 32), "no T.warp_size_is(32) asks")
    refused(config, work, "none", ask + SHUFFLE % ("_xor", 1, 32), "the feature 'subgroups'")
    refused(config, work, "whole", ask + SHUFFLE % ("_xor", 1, 32), "the feature 'cl_khr_subgroup_shuffle'")
    refused(config, work, "opencl-small", ask + 'T.warp_reduce(A[t], "add", 32, 32)', "the feature 'subgroups'")
    refused(config, work, "whole", ask + 'T.warp_reduce(A[t], "add", 8, 32)', "the feature 'cl_khr_subgroup_clustered_reduce'")
    refused(config, work, "shuffle", "if t < 7: B[t] = " + SHUFFLE % ("_xor", 1, 32), "wait for each other inside of what only some")


def main():
    if "opencl" not in tenon("list", "targets").stdout:
        sys.exit(77)
    with tempfile.TemporaryDirectory() as work:
        os.environ["XDG_CACHE_HOME"] = work
        config = settings(work)
        refusals(config, work)
        if re.search(r"^opencl[^\n]*\n +0: (?!not usable|none)", tenon("list", "devices").stdout, re.M) and os.path.exists(LAYER):
            results(config, work)
            compiles(config, work)
        else:
            print("no OpenCL device: nothing is run")
    sys.exit(1 if failed else 0)


main()
