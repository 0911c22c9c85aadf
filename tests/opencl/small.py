#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The target opencl-small: a device with 16 KiB of local memory and nothing beyond OpenCL C 1.2.

Its kernels give right results on the machine's OpenCL device: chosen cases of the ONNX suite, cases of this project with small
dtypes; TENON_LONG: all of both (SHARD=i/n: a part), for the same device with doubles, which some cases have as inputs. Their text
is also compiled by clang, where it is there, for a device without any other extension. Kernels that ask for more are refused at
compile time.
"""
import concurrent.futures
import fnmatch
import os
import re
import shutil
import subprocess
import sys
import tempfile

TENON = os.environ["TENON"]
TARGET = "opencl-small"
DATA = os.environ.get("ONNX_TESTDATA", "/usr/share/libonnx-testdata/data")
LONG = bool(os.environ.get("TENON_LONG"))
TIMEOUT = os.environ.get("TESTS_TIMEOUT", "300")
CHOSEN = """
    test_cast_FLOAT16_to_FLOAT test_cast_FLOAT_to_FLOAT16 test_cast_BFLOAT16_to_FLOAT test_cast_FLOAT_to_BFLOAT16
    test_max_float16 test_min_float16 test_mod_mixed_sign_float16
    test_reduce_sum_default_axes_keepdims_random test_reduce_max_keepdims_random
    test_argmax_keepdims_random test_layer_normalization_2d_axis0 test_batchnorm_epsilon
    test_matmul_2d test_matmul_4d test_gemm_all_attributes test_qlinearmatmul_2D test_matmulinteger
    test_softmax_axis_0 test_softmax_large_number test_logsoftmax_axis_2 test_top_k test_top_k_smallest
    test_scatter_elements_with_duplicate_indices test_scatternd_add test_conv_with_strides_padding test_maxpool_2d_pads
    test_transpose_all_permutations_3 test_lstm_defaults test_resize_downsample_scales_cubic test_resize_upsample_sizes_nearest_ceil_half_pixel
    test_resize_tf_crop_and_resize
""".split()
OWN = ["*float16*", "attention", "attention_past_causal", "scatter_elements*", "*quantize_blocks", "rms*", "reduce_*", "isinf*"]
DOUBLE = ["reduce_*_of_integers"]  # computed in float64, as ONNX's reference does: a device without doubles refuses them
failed = []


def fail(what):
    print("FAIL", what)
    failed.append(what)


def tenon(*args):
    return subprocess.run([TENON, *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def matches(name, patterns):
    return any(fnmatch.fnmatch(name, p) for p in patterns)


def shard(names):
    """Those of this shard."""
    if not os.environ.get("SHARD"):
        return names
    i, n = (int(x) for x in os.environ["SHARD"].split("/"))
    return names[i % n :: n]


DOUBLES = ["--set", "target.%s.features=fp64" % TARGET] if LONG else []


def run_cases(folders):
    """None fails. Those that no target runs may be skipped where they were not chosen: an operator or type that is not known."""
    r = tenon("onnx-test", "-t", TARGET, *DOUBLES, "-j", "2", "--batch", "25", "--timeout", TIMEOUT, *folders)
    lines = [x for x in r.stdout.splitlines() if re.match("(PASS|FAIL|SKIP) ", x)]
    for x in lines:
        if not x.startswith("PASS") and not (LONG and re.match("SKIP [^:]*: import: .*(unsupported|not supported|compiles for inference)", x)):
            fail(x)
    print("%d cases: %d passed" % (len(lines), sum(x.startswith("PASS") for x in lines)))
    if len(lines) < len(folders) or not any(x.startswith("PASS") for x in lines):
        fail("cases did not run:\n" + r.stdout)


def source_of(artifact):
    """The text of OpenCL C in it."""
    b = open(artifact, "rb").read()
    at = b.find(b"#define int64_t long")
    return re.compile(rb"[\t\n -~]*").match(b, at).group().decode() if at >= 0 else None


CLANG_FLAGS = (
    "-cl-std=CL1.2 -target spir64 -cl-no-stdinc -Wall -Werror -Wno-unused-function -Wno-unused-variable "
    "-Wno-unused-but-set-variable "
    + ("-Xclang -cl-ext=-all,+cl_khr_fp64" if LONG else "-Xclang -cl-ext=-all -Wdouble-promotion")
).split()


def clang(work):
    """The command that checks a text; OpenCL's own header, which is long, is compiled once. None: there is none."""
    c = shutil.which("clang")
    header = os.path.join(work, "opencl-c.pch")
    if c and not os.path.exists(header):
        subprocess.run([c, *CLANG_FLAGS, "-x", "cl-header", "-c", "-", "-o", header], input='#include "opencl-c.h"\n', text=True,
                       stderr=subprocess.DEVNULL)
    if c and os.path.exists(header):
        return [c, *CLANG_FLAGS, "-x", "cl", "-include-pch", header, "-fsyntax-only", "-"]
    print("no clang that takes OpenCL C: texts are not compiled by it")
    return None


def compiles_without_extensions(folders, work):
    command = clang(work)
    if not command:
        return
    seen = set()

    def check(f):
        out = os.path.join(work, "%s.tno" % os.path.basename(f))
        if tenon("compile", os.path.join(f, "model.onnx"), "-t", TARGET, *DOUBLES, "-o", out).returncode != 0:
            return  # told by run_cases
        text = source_of(out)
        os.remove(out)
        if text is None or text in seen:
            return  # no kernel, or another case's
        seen.add(text)
        r = subprocess.run(command, input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if r.returncode != 0:
            fail("%s: its text does not compile without extensions:\n%s" % (f, r.stdout[:2000]))

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(check, folders))
    if not seen:
        fail("clang compiled nothing")
    bad = subprocess.run(command, input="kernel void f(global half *p) { *p += 1; }", text=True, stderr=subprocess.DEVNULL)
    if bad.returncode == 0:
        fail("clang takes arithmetic on half without its extension")
    print("%d texts compiled without extensions" % len(seen))


MODULE = """
from tvm.script import ir as I, relax as R, tirx as T
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((128,), "%(dtype)s"), B: T.Buffer((128,), "%(dtype)s")):
        T.func_attr({"tirx.is_scheduled": True})
        S = T.alloc_buffer((%(size)d,), "%(dtype)s", scope="shared")
        for b in T.thread_binding(1, thread="blockIdx.x"):
            for t in T.thread_binding(%(threads)d, thread="threadIdx.x"):
                S[t] = A[t %% 128]
                T.tvm_storage_sync("shared")
                B[t %% 128] = S[%(size)d - 1 - t] + A[t %% 128]
    @R.function
    def main(x: R.Tensor((128,), "%(dtype)s")):
        cls = Module
        with R.dataflow():
            y = R.call_tir(cls.f, (x,), out_ty=R.Tensor((128,), "%(dtype)s"))
            R.output(y)
        return y
"""


def refused(work, wanted, *options, dtype="float32", size=128, threads=128):
    path = os.path.join(work, "module.py")
    with open(path, "w") as f:
        f.write(MODULE % {"dtype": dtype, "size": size, "threads": threads})
    r = tenon("compile", path, "-t", TARGET, "-o", os.path.join(work, "module.tno"), *options)
    what = "%s, %d elements, %d threads %s" % (dtype, size, threads, " ".join(options))
    if wanted is None:
        if r.returncode != 0:
            fail("%s is refused:\n%s" % (what, r.stdout))
    elif r.returncode != 1 or any(w not in r.stdout for w in wanted):
        fail("%s: exit status %d, expected %s:\n%s" % (what, r.returncode, wanted, r.stdout))


def refusals(work):
    unplanned = ("--set", "pipeline.%s.drop=PlanSharedMemory, CompactBufferAllocation" % TARGET)
    refused(work, None)
    refused(work, None, size=4096)
    refused(work, None, dtype="float16", size=8192)
    refused(work, None, *unplanned, dtype="float16", size=8192)
    refused(work, ["'f_kernel'", "16388 bytes of shared memory", "16384"], "--set",
            "pipeline.%s.drop=CompactBufferAllocation" % TARGET, size=4097)
    refused(work, ["kernel 'f_kernel'", "declares 16388 bytes of local memory, the target allows 16384", "module.py:"],
            *unplanned, size=4097)
    refused(work, ["kernel 'f_kernel'", "declares 16386 bytes of local memory, the target allows 16384", "module.py:"],
            *unplanned, dtype="float16", size=8193)
    refused(work, ["kernel 'f_kernel'", "the feature 'fp64'", "module.py:"], dtype="float64")
    refused(work, ["'f_kernel'", "256 threads", "allows 128"], threads=256, size=256)


# Each result of the first kind lies in memory: op_pattern 8 is fused with nothing.
SMALL = """
from tvm.script import ir as I, relax as R, tirx as T
@I.ir_module
class Module:
    @T.prim_func
    def to_small(X: T.Buffer((T.int64(201),), "%(wide)s"), Y: T.Buffer((T.int64(201),), "%(small)s")):
        T.func_attr({"op_pattern": 8})
        for i in range(T.int64(201)):
            with T.sblock("to_small"):
                v = T.axis.spatial(T.int64(201), i)
                Y[v] = T.Cast("%(small)s", X[T.int64(200) - v] * T.%(wide)s(%(scale)s))
    @R.function
    def main(x: R.Tensor((201,), "%(wide)s")):
        cls = Module
        with R.dataflow():
            y = R.call_tir(cls.to_small, (x,), out_ty=R.Tensor((201,), "%(small)s"))
            z = R.astype(y, "float32")
            R.output(z)
        return z
"""


def small_dtypes(work):
    """Elements of eight bits and less, packed ones stored by neighbouring work items, as the processor's."""
    if "cpu" not in tenon("list", "targets").stdout:
        return
    path, out = os.path.join(work, "small.py"), os.path.join(work, "small")
    for wide, small, scale in [("float32", "int4", "5"), ("float32", "uint4", "5"), ("int64", "int4", "1"),
                               ("float32", "float8_e4m3fn", "100"), ("float32", "float8_e5m2", "1000"),
                               ("int64", "float8_e4m3fn", "37"), ("int64", "float8_e5m2", "1311768467463790320"),
                               ("float32", "float4_e2m1fn", "3"), ("float16", "float8_e4m3fnuz", "9")]:
        what = "%s to %s" % (wide, small)
        with open(path, "w") as f:
            f.write(SMALL % {"wide": wide, "small": small, "scale": scale})
        r = tenon("run", path, "-t", "cpu", "-o", out)
        results = sorted(os.listdir(out)) if r.returncode == 0 else []
        if len(results) != 1:
            fail("%s on the processor:\n%s" % (what, r.stdout))
            continue
        r = tenon("run", path, "-t", TARGET, "--expect", "#0=" + os.path.join(out, results[0]), "--rtol", "0", "--atol", "0")
        if r.returncode != 0:
            fail("%s:\n%s" % (what, r.stdout))


def main():
    if "opencl" not in tenon("list", "targets").stdout:
        sys.exit(77)
    with tempfile.TemporaryDirectory() as work:
        refusals(work)
        if not re.search(r"^opencl[^\n]*\n +0: (?!not usable|none)", tenon("list", "devices").stdout, re.M):
            print("no OpenCL device: nothing is run")
            sys.exit(1 if failed else 77)
        small_dtypes(work)
        node = os.path.join(DATA, "node")
        if os.path.isdir(node):
            names = shard(sorted(os.listdir(node))) if LONG else [x for x in CHOSEN if os.path.isdir(os.path.join(node, x))]
            folders = [os.path.join(node, x) for x in names]
            run_cases(folders)
            compiles_without_extensions(folders, work)
        writer = os.path.join(os.environ["top_builddir"], "tests/onnx/write_cases")
        if os.path.exists(writer):
            own = os.path.join(work, "own")
            os.mkdir(own)
            subprocess.run([writer, os.path.join(os.environ["top_srcdir"], "tests/onnx/cases.txt"), own], check=True)
            names = sorted(os.listdir(own))
            names = shard(names) if LONG else [x for x in names if matches(x, OWN) and not matches(x, DOUBLE)]
            run_cases([os.path.join(own, x) for x in names])
            compiles_without_extensions([os.path.join(own, x) for x in names], work)
    sys.exit(1 if failed else 0)


main()
