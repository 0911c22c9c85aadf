#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Quantized products use the instructions that a target has, whether or not this machine has them: they stand in the
assembly, and the interpreter, which runs what the tensor intrinsics mean, finds the same values before and after each
pass."""
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
            w = R.dequantize(R.const(%s, "int8"), R.const(0.25, "float32"), R.const(3, "int8"))
            c = R.nn.conv2d(d, w, padding=[1, 1, 1, 1])
            q = R.quantize(c, R.const(16.0, "float32"), R.const(9, "uint8"), out_dtype="uint8")
            d1 = R.dequantize(q, R.const(16.0, "float32"), R.const(9, "uint8"))
            r = R.reshape(d1, R.shape([18, 16]))
            w1 = R.dequantize(R.const(%s, "int8"), R.const(0.25, "float32"), R.const(0, "int8"))
            gv = R.matmul(r, w1)
            R.output(gv)
        return gv
"""

# target's mcpu and features, what has to stand in the assembly
SETS = [("x86-64-v2", [], "pmaddwd", "xmm"),
        ("x86-64-v3", [], "vpmaddwd", "ymm"),
        ("x86-64-v3", ["avxvnni"], "vpdpwssd", "ymm"),
        ("x86-64-v4", [], "vpmaddwd", "zmm"),
        ("x86-64-v4", ["avx512vnni"], "vpdpwssd", "zmm")]


def numbers(seed, *shape):
    if not shape:
        return (seed[0] * 37 + 11) % 251 - 125
    out = []
    for _ in range(shape[0]):
        seed[0] += 1
        out.append(numbers(seed, *shape[1:]))
    return out


def main():
    module = write("m.py", MODULE % (numbers([1], 16, 16, 3, 3), numbers([2], 16, 16)))
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
    for mcpu, features, instruction, register in SETS:
        if os.path.exists(assembly):
            os.remove(assembly)
        listed = ", ".join(f'"{f}"' for f in features)
        target = f'{{"kind": "cpu", "mcpu": "{mcpu}", "features": [{listed}], "cc": "{wrapper}"}}'
        what = " ".join([mcpu] + features)
        r = tenon("compile", module, "-t", target, "-o", path("m.tno"), "--verify")
        check(r.returncode == 0, f"{what}: compiles, and the interpreter agrees with each pass", r)
        check("ApplyDefaultSchedule: main" not in r.stdout + r.stderr, f"{what}: schedules are compared", r)
        lines = open(assembly, encoding="utf-8").read().split("\n") if os.path.exists(assembly) else []
        found = sum(instruction in line.split() and register in line for line in lines)
        check(found >= 2, f"{what}: {found} times {instruction} of {register}")
    done()


main()
