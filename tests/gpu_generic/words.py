# SPDX-License-Identifier: Apache-2.0
"""A device that is said to have no numbers of 64 bits computes with them all the same, in words of 32 bits, and what such words do not
hold is refused before the launch: on the first Vulkan device, from source to result."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
from clitest import check, done, npy_bytes, path, read_npy, refused, tenon, write

MODEL = '''from tvm.script import ir as I, relax as R, tirx as T
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def quotients(a: T.handle, b: T.handle, c: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "int64")
        B = T.match_buffer(b, (n,), "int64")
        C = T.match_buffer(c, (n,), "int64")
        for i in range(n):
            with T.sblock("quotients"):
                vi = T.axis.remap("S", [i])
                C[vi] = A[vi] // T.Select(B[vi] == T.int64(0), T.int64(7), B[vi]) + n * T.int64(3000000) // T.int64(65537)
    @R.function
    def main(x: R.Tensor(("n",), "int64"), y: R.Tensor(("n",), "int64")):
        n = T.int64()
        cls = Module
        with R.dataflow():
            z = R.call_tir(cls.quotients, (x, y), out_sinfo=R.Tensor((n,), "int64"))
            R.output(z)
        return z
'''
EXTREMES = [0, 1, -1, 7, -7, 2**31, -2**31, 2**32 - 1, 2**62 + 12345, 2**63 - 1, -2**63, -2**63 + 1, 65537, -4294967297]

if not re.search(r"^gpu_generic .*\n    0: ", tenon("list", "devices").stdout, re.M):
    print("no Vulkan device")
    sys.exit(77)
model = write("quotients.py", MODEL)
ini = write("words.ini", "[target words]\nkind = gpu_generic\nsupports_int64 = no\n")
artifact = path("quotients.tno")
r = tenon("compile", model, "-t", "words", "-o", artifact, "--config", ini)
check(r.returncode == 0, "a kernel of such numbers is compiled for a device without them", r)


def given(name, values):
    return write(name, npy_bytes("<i8", (len(values),), values))


def wrapped(v):
    return (v + 2**63) % 2**64 - 2**63


n = len(EXTREMES)
for k in range(n): # each by each
    x, y = EXTREMES, EXTREMES[k:] + EXTREMES[:k]
    r = tenon("run", artifact, "-i", "#0=" + given("x.npy", x), "-i", "#1=" + given("y.npy", y), "-o", path("out"), "--config", ini)
    check(r.returncode == 0, "it runs", r)
    out = [f for f in os.listdir(path("out")) if f.endswith(".npy")]
    got = list(read_npy(os.path.join(path("out"), out[0]))[-1])
    wanted = [wrapped(wrapped(a // (b or 7)) + n * 3000000 // 65537) for a, b in zip(x, y)]
    check(got == wanted, f"quotients are exact: {got} instead of {wanted}")
many = given("many.npy", [5] * 800)
r = tenon("run", artifact, "-i", "#0=" + many, "-i", "#1=" + many, "--config", ini)
refused("a number that 32 bits do not hold", r, "quotients.py:13: kernel 'quotients': the number n * 3000000 is 2400000000",
        "supports_int64 is False")
done()
