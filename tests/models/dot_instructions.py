#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Products of quantized numbers and of bfloat16 use the instructions that a target has, whether or not this machine has
them: they stand in the assembly, and the interpreter, which runs what the tensor intrinsics mean, finds the same values before and after each
pass."""
import json
import os
import platform
import shutil
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
from clitest import check, done, path, tenon, write  # noqa: E402

if platform.machine() != "x86_64" or not (shutil.which("gcc") or shutil.which("cc")):
    print("no C compiler for x86-64: skipped")
    sys.exit(77)

MODULE = """from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 16, 3, 3), "uint8")):
        with R.dataflow():
            d = R.dequantize(x, R.const(0.5, "float32"), R.const(7, "uint8"))
            w = R.dequantize(R.const(%s, "int8"), R.const(0.25, "float32"), R.const(%d, "int8"))
            c = R.nn.conv2d(d, w, padding=[1, 1, 1, 1])
            q = R.quantize(c, R.const(16.0, "float32"), R.const(9, "uint8"), out_dtype="uint8")
            d1 = R.dequantize(q, R.const(16.0, "float32"), R.const(9, "uint8"))
            r = R.reshape(d1, R.shape([18, 16]))
            w1 = R.dequantize(R.const(%s, "int8"), R.const(0.25, "float32"), R.const(%d, "int8"))
            gv = R.matmul(r, w1)
            R.output(gv)
        return gv
"""

FLOATS = """from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x_in: R.Tensor((2, 16, 3, 3), "bfloat16"), c_in: R.Tensor((2, 3, 5, 5), "bfloat16"), k_in: R.Tensor((2, 16, 32), "bfloat16")):
        with R.dataflow():
            x = R.astype(x_in, "%(dtype)s")
            c = R.astype(c_in, "%(dtype)s")
            k = R.astype(k_in, "%(dtype)s")
            y = R.nn.conv2d(x, R.astype(R.const(%(conv)s, "float32"), "%(dtype)s"), padding=[1, 1, 1, 1], out_dtype="float32")
            z = R.nn.conv2d(c, R.astype(R.const(%(first)s, "float32"), "%(dtype)s"), out_dtype="float32")
            r = R.reshape(x, R.shape([2, 9, 16]))
            m = R.matmul(r, R.astype(R.const(%(matrix)s, "float32"), "%(dtype)s"), out_dtype="%(dtype)s")
            n = R.matmul(r, k, out_dtype="float32")
            gv = (y, z, m, n)
            R.output(gv)
        return gv
"""

LARGE = """from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 32, 64), "%(left)s"), y: R.Tensor((2, 32, 256), "%(left)s"), b: R.Tensor((48, 64), "bfloat16"), k: R.Tensor((64, 32), "bfloat16")):
        with R.dataflow():
            d = R.dequantize(x, R.const(0.5, "float32"), R.const(%(zero)d, "%(left)s"))
            w = R.dequantize(R.const(%(w)s, "int8"), R.const(0.25, "float32"), R.const(0, "int8"))
            m = R.matmul(d, w)
            d1 = R.dequantize(y, R.const(0.5, "float32"), R.const(%(zero)d, "%(left)s"))
            w1 = R.dequantize(R.const(%(w1)s, "int8"), R.const(0.25, "float32"), R.const(0, "int8"))
            m1 = R.matmul(d1, w1)
            n = R.matmul(b, k, out_dtype="float32")
            gv = (m, m1, n)
            R.output(gv)
        return gv
"""

# target's mcpu and features, further attributes, the model, what has to stand in the assembly, at least so often
SETS = [("x86-64-v2", [], {}, "int", "pmaddwd", "xmm", 2),
        ("x86-64-v3", [], {}, "int", "vpmaddwd", "ymm", 2),
        ("x86-64-v3", ["avxvnni"], {}, "int", "vpdpbusd", "ymm", 2),
        ("x86-64-v3", ["avxvnni"], {}, "wide", "vpdpwssd", "ymm", 2),
        ("x86-64-v4", [], {}, "int", "vpmaddwd", "zmm", 2),
        ("x86-64-v4", ["avx512vnni"], {}, "int", "vpdpbusd", "zmm", 2),
        ("x86-64-v4", ["avx512vnni"], {}, "wide", "vpdpwssd", "zmm", 2),
        ("x86-64-v4", ["avx512vnni"], {"vector_bytes": 32}, "int", "vpdpbusd", "ymm", 2),
        ("x86-64-v4", ["avx512bf16"], {}, "bfloat16", "vdpbf16ps", "zmm", 4),
        ("x86-64-v4", ["avx512bf16"], {"vector_bytes": 32}, "bfloat16", "vdpbf16ps", "ymm", 4),
        ("x86-64-v4", ["avx512bf16"], {"bfloat16": 1}, "float32", "vdpbf16ps", "zmm", 4),
        ("x86-64-v4", ["avx512bf16"], {}, "float32", "vfmadd231ps", "zmm", 4),
        ("x86-64-v4", ["amx-tile", "amx-int8"], {}, "large uint8", "tdpbusd", "tmm", 2),
        ("x86-64-v4", ["amx-tile", "amx-int8"], {}, "large int8", "tdpbssd", "tmm", 2),
        ("x86-64-v4", ["amx-tile", "amx-bf16", "avx512bf16"], {}, "large int8", "tdpbf16ps", "tmm", 1),
        ("x86-64-v4", ["amx-tile", "amx-bf16"], {}, "large int8", "vpmaddwd", "zmm", 2)]

PASSES = ("FakeQuantizationToInteger,BlockLayouts,LegalizeOps,DeadCodeElimination,AnnotateTIROpPattern,FoldConstant,FuseOps,FuseTIR,"
          "ApplyDefaultSchedule{rules=[Dot]}")


def numbers(seed, *shape):
    if not shape:
        return (seed[0] * 37 + 11) % 251 - 125
    out = []
    for _ in range(shape[0]):
        seed[0] += 1
        out.append(numbers(seed, *shape[1:]))
    return out


def eighths(values):
    return [eighths(v) if isinstance(v, list) else v % 17 / 8 - 1 for v in values]


def main():
    weights = numbers([1], 16, 16, 3, 3), numbers([2], 16, 16)
    modules = {"int": write("int.py", MODULE % (weights[0], 3, weights[1], 0)),
               "wide": write("wide.py", MODULE % (weights[0], 30, weights[1], -40))}  # differences take more than eight bits
    for dtype in ["bfloat16", "float32"]:
        modules[dtype] = write(f"{dtype}.py", FLOATS % {
            "dtype": dtype, "conv": eighths(numbers([1], 16, 16, 3, 3)), "first": eighths(numbers([3], 16, 3, 3, 3)),
            "matrix": eighths(numbers([2], 16, 16))})
    for left, zero in [("uint8", 7), ("int8", 0)]:
        modules["large " + left] = write(f"large_{left}.py", LARGE % {
            "left": left, "zero": zero, "w": numbers([5], 64, 32), "w1": numbers([7], 256, 16)})
    compiler = shutil.which("gcc") or shutil.which("cc")
    assembly = path("all.s")
    wrapper = write("cc.sh", f"""#!/bin/sh
case "$*" in
*" -c "*)
    flags= skip=
    for a; do
        if test -n "$skip"; then skip=; elif test "$a" = -o; then skip=1; else flags="$flags $a"; fi
    done
    {compiler} $flags -S -o - >>{assembly} || exit 1 ;;
esac
exec {compiler} "$@"
""")
    os.chmod(wrapper, 0o755)
    for mcpu, features, attributes, model, instruction, register, least in SETS:
        if os.path.exists(assembly):
            os.remove(assembly)
        target = json.dumps({"kind": "cpu", "mcpu": mcpu, "features": features, "cc": wrapper, **attributes})
        what = " ".join([model, mcpu] + features + [f"{k}={v}" for k, v in attributes.items()])
        r = tenon("compile", "--no-cache", modules[model], "-t", target, "-o", path("m.tno"), "--verify")
        check(r.returncode == 0, f"{what}: compiles, and the interpreter agrees with each pass", r)
        check("ApplyDefaultSchedule: main" not in r.stdout + r.stderr, f"{what}: schedules are compared", r)
        lines = open(assembly, encoding="utf-8").read().split("\n") if os.path.exists(assembly) else []
        found = sum(instruction in line.split() and register in line for line in lines)
        check(found >= least, f"{what}: {found} times {instruction} of {register}")
        # the schedule, here: what stands in place of the instruction reads the operands as it does
        scheduled = path("scheduled.py")
        tenon("opt", modules[model], "-t", target, "-p", PASSES, "-o", scheduled)
        for file, out in [(modules[model], f"{model} here"), (scheduled, "scheduled")]:
            r = tenon("run", file, "-t", "cpu", "-o", path(out))
            check(r.returncode == 0, f"{what}: {out} runs here", r)
        same = True
        for name in sorted(os.listdir(path(f"{model} here"))):
            r = tenon("run", scheduled, "-t", "cpu", "--expect", f"#{name.split('-')[0]}={path(f'{model} here')}/{name}", "--rtol", "1e-3", "--atol", "1e-2")
            same &= r.returncode == 0
        check(same, f"{what}: the same results", r)
        check(instruction == "vdpbf16ps" or not any("vdpbf16ps" in line for line in lines), f"{what}: not rounded unasked")
    done()


main()
