# SPDX-License-Identifier: Apache-2.0
"""Quotients and remainders of integers of every width and sign, truncated and rounded down, by data and by constants: they are those of
docs/numbers.md, also of the least integer, by -1 and by 0. What a kernel makes of a quotient of 64 bits (a remainder of it by a power of
two: index arithmetic over extents known at run time) is made of a division without signs, in 32 bits where these are enough."""
import os
import random
import re
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
from clitest import check, done, npy_bytes, path, read_npy, tenon, write

OPS = ("divide", "mod", "floor_divide", "floor_mod")
CONSTANTS = (1, 2, 3, 7, 8, 64, 100, -1, -2, -3, -8)
INT64 = '{"kind": "vulkan", "supports_int64": true}'


def divided(op, x, y):
    if y == 0:
        return 0
    down = x // y
    truncated = down if down * y == x or (x < 0) == (y < 0) else down + 1
    return {"divide": truncated, "mod": x - truncated * y, "floor_divide": down, "floor_mod": x - down * y}[op]


def wrapped(v, bits, signed):
    v &= (1 << bits) - 1
    return v - (1 << bits) if signed and v >> (bits - 1) else v


def model(dtype, constants):
    calls = [f"R.{op}(a, {b})" for b in ("b", *(f'R.const({c}, "{dtype}")' for c in constants)) for op in OPS]
    names = ", ".join(f"v{i}" for i in range(len(calls)))
    body = "\n            ".join(f"v{i} = {call}" for i, call in enumerate(calls))
    return f'''from tvm.script import ir as I, relax as R
@I.ir_module
class Module:
    @R.function
    def main(a: R.Tensor(("n",), "{dtype}"), b: R.Tensor(("n",), "{dtype}")):
        with R.dataflow():
            {body}
            R.output({names})
        return ({names})
'''


device = re.search(r"^gpu_generic .*\n    0: (.*)", tenon("list", "devices").stdout, re.M)
if not device:
    print("no Vulkan device")
    sys.exit(77)
target = INT64 if " int64" in device.group(1) else "gpu_generic"
draw = random.Random(20)
for bits in (8, 16, 32, 64):
    for signed in (True, False):
        dtype = f"int{bits}" if signed else f"uint{bits}"
        least, most = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
        edges = sorted({v for v in (least, least + 1, -8, -7, -2, -1, 0, 1, 2, 7, 8, most // 2, most - 1, most) if least <= v <= most})
        pairs = [(x, y) for x in edges for y in edges]
        pairs += [(draw.randint(least, most), draw.randint(least, most) >> draw.randrange(bits)) for _ in range(3000)]
        constants = [c for c in CONSTANTS if least <= c]
        descr = ("|" if bits == 8 else "<") + dtype[0] + str(bits // 8)
        files = [write(f"{n}.npy", npy_bytes(descr, (len(pairs),), [p[i] for p in pairs]))
                 for i, n in enumerate("ab")]
        r = tenon("run", write(f"{dtype}.py", model(dtype, constants)), "-t", target, "-i", f"#0={files[0]}", "-i",
                  f"#1={files[1]}", "-o", path(dtype))
        check(r.returncode == 0, f"{dtype}: it runs", r)
        outs = sorted(os.listdir(path(dtype)), key=lambda f: int(f.split("-")[0]))
        for i, f in enumerate(outs):
            op, by = OPS[i % 4], None if i < 4 else constants[i // 4 - 1]
            got = read_npy(os.path.join(path(dtype), f))[-1]
            wanted = [wrapped(divided(op, x, y if by is None else by), bits, signed) for x, y in pairs]
            bad = [j for j, (v, w) in enumerate(zip(got, wanted)) if v != w]
            at = bad[0] if bad else 0
            check(not bad and len(got) == len(pairs), f"{dtype}: {op} by {'data' if by is None else by}: {len(bad)} of {len(got)} are "
                  f"wrong, first of {pairs[at]}: {got[at]} instead of {wanted[at]}")

TILES = '''from tvm.script import ir as I, tirx as T
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def tiles(a: T.handle, b: T.handle):
        T.func_attr({"tirx.is_scheduled": True})
        n = T.int64()
        A = T.match_buffer(a, (2, n), "float32")
        B = T.match_buffer(b, (8, n), "float32")
        for i in T.thread_binding((n * T.int64(8) + T.int64(63)) // T.int64(64), thread="blockIdx.x"):
            for j in T.thread_binding(T.int64(64), thread="threadIdx.x"):
                with T.sblock("tiles"):
                    v = T.axis.spatial(T.int64(8), (i * T.int64(64) + j) // n)
                    w = T.axis.spatial(n, (i * T.int64(64) + j) % n)
                    T.where(i * T.int64(64) + j < n * T.int64(8))
                    B[v, w] = A[v % T.int64(2), w]
'''
r = tenon("show", "kernel", write("tiles.py", TILES), "tiles", "-t", INT64, "-q")
ops = re.findall(r"= (Op\w+) (%\w+)", r.stdout)
kinds = {t for _, t in ops}
check(("OpUDiv", "%ulong") in ops and not [o for o in ops if o[0] in ("OpSDiv", "OpSRem", "OpSMod")], "no division has signs", r)
check(("OpBitwiseAnd", "%uint") in ops and ("OpBitwiseAnd", "%ulong") not in ops, "the lowest bit of a quotient is one of 32", r)
quotients = set(re.findall(r"(%\w+) = OpUDiv", r.stdout))
check(not [s for s in re.findall(r"OpSelect %ulong (.*)", r.stdout) if quotients & set(s.split())], "no quotient is selected", r)
done()
