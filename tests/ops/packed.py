#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Elements of fewer than 8 bits lie packed in memory. Every target reads and writes them alike: as inputs, as results, and between kernels.

    packed.py [DTYPE...]
"""
import os
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
from clitest import check, done, path, tenon, write  # noqa: E402

DTYPES = sys.argv[1:] or ["int4", "uint4", "int2", "uint2", "int1", "uint1", "float4_e2m1fn"]


def module(dtype, n):
    """The sum of both halves of the input, which is read in reverse in between."""
    return write("packed.py", f"""@I.ir_module
class Module:
    @T.prim_func(private=True)
    def reverse(A: T.Buffer(({n},), "{dtype}"), B: T.Buffer(({n},), "{dtype}")):
        T.func_attr({{"tirx.noalias": True}})
        for i in range({n}):
            with T.sblock("reverse"):
                v = T.axis.spatial({n}, i)
                T.reads(A[{n - 1} - v])
                T.writes(B[v])
                B[v] = A[{n - 1} - v]

    @R.function
    def main(x: R.Tensor(({n},), "{dtype}"), f: R.Tensor(({n},), "float32")):
        cls = Module
        with R.dataflow():
            a = R.call_tir(cls.reverse, (x,), out_sinfo=R.Tensor(({n},), "{dtype}"))
            b = R.call_tir(cls.reverse, (R.astype(R.multiply(f, R.const(7.5, "float32")), dtype="{dtype}"),), out_sinfo=R.Tensor(({n},), "{dtype}"))
            y = R.astype(a, dtype="float32")
            z = R.astype(b, dtype="float32")
            R.output(y, z)
        return y, z
""")


def run(target, file):
    out = path("out_" + target)
    r = tenon("run", "-t", target, file, "--seed", "3", "-o", out)
    check(r.returncode == 0, f"{target} runs", r)
    return [np.load(os.path.join(out, f)) for f in sorted(os.listdir(out))] if r.returncode == 0 else []


for dtype in DTYPES:
    for n in (1, 5, 16, 33):
        file = module(dtype, n)
        want, have = run("cpu", file), run("null", file)
        check(len(want) == len(have) == 2 and all(np.array_equal(a, b) for a, b in zip(want, have)),
              f"null gives what cpu gives for {n} of {dtype}")

done()
