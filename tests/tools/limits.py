# SPDX-License-Identifier: Apache-2.0
"""Extents that no memory holds are refused by name; constants and scratch memory end at their limits."""
import os
import resource
import subprocess
import time

from clitest import BUILD, TENON, check, done, path, refused, tenon, write


with open(os.path.join(BUILD, "Makefile")) as makefile:
    SANITIZED = "-fsanitize=address" in makefile.read()


def varint(v):
    v &= (1 << 64) - 1
    out = bytearray()
    while v > 127:
        out.append(v & 127 | 128)
        v >>= 7
    return bytes(out + bytes([v]))


def number(field, v):
    return varint(field << 3) + varint(v)


def part(field, b):
    b = b.encode() if isinstance(b, str) else b
    return varint(field << 3 | 2) + varint(len(b)) + b


def value(name, dims):
    shape = b"" if dims is None else part(2, b"".join(part(1, number(1, d)) for d in dims))
    return part(1, name) + part(2, part(1, number(1, 1) + shape))


def node(op, inputs, outputs):
    return b"".join(part(1, x) for x in inputs) + b"".join(part(2, x) for x in outputs) + part(4, op)


def ints(name, *values):
    return number(1, len(values)) + number(2, 7) + part(8, name) + part(9, b"".join(
        (v & (1 << 64) - 1).to_bytes(8, "little") for v in values))


def one(name):
    return number(1, 1) + number(1, 1) + number(2, 1) + part(8, name) + part(9, b"\0\0\x80\x3f")


def model(name, nodes, inputs=(), constants=()):
    graph = b"".join(part(1, n) for n in nodes) + part(2, "g") + b"".join(part(5, c) for c in constants) + \
        b"".join(part(11, value(*v)) for v in inputs) + part(12, value("y", None))
    return write(name, number(1, 8) + part(7, graph) + part(8, part(1, "") + number(2, 17)))


def compiled(m, *more, target="cpu"):
    start = time.monotonic()
    r = tenon("compile", m, "-t", target, "-o", path("out.tno"), "--no-cache", *more)
    check(time.monotonic() - start < 60, "soon", r)
    return r


def ok(what, r):
    check(r.returncode == 0, what, r)


for a, b in ((2**62, 2**62), (2**62, 4), (2**32, 2**32), (2**63 - 1, 1), (0, 2**62)):
    m = model("dims.onnx", [node("Relu", ["x"], ["y"])], [("x", [a, b])])
    refused(f"Relu of [{a}, {b}]", compiled(m), "dims.onnx", "input 'x'", status=(1,))
m = model("reshape.onnx", [node("Reshape", ["x", "s"], ["y"])], [("x", [2**32, 2**31])], [ints("s", 2**31, -1)])
refused("Reshape whose strides overflow", compiled(m), "input 'x'", status=(1,))
for shape in ((2**62, 2), (2**32, 2**32), (65536, 65536, 65536, 65536)):
    m = model("expand.onnx", [node("Expand", ["x", "s"], ["y"])], [("x", [1] * len(shape))], [ints("s", *shape)])
    refused(f"Expand to {shape}", compiled(m), "'y' (Expand)", status=(1,))
ok("a tensor that would take 16 TiB compiles", compiled(model("large.onnx", [node("Relu", ["x"], ["y"])], [("x", [2**42])])))
r = tenon("run", path("out.tno"))
refused("but cannot be run", r, "memory", status=(1,))

# ---- constants ----
filled = [node("ConstantOfShape", ["s"], ["y"])]
for n in (10**12, 10**14):
    refused(f"ConstantOfShape of {n}", compiled(model("fill.onnx", filled, (), [ints("s", n)])),
            "'y' (ConstantOfShape)", "constant_limit", status=(1,))
m = model("fill.onnx", filled, (), [ints("s", 10**6)])
refused("a constant above the limit", compiled(m, "--set", "tenon.constant_limit=3"), "'y' (ConstantOfShape)", "constant_limit",
        "4000000 more bytes", status=(1,))
ok("and below it", compiled(m, "--set", "tenon.constant_limit=4"))
ok("one value 10^9 times compiles", compiled(model("fill.onnx", filled, (), [ints("s", 10**9)])))
check(os.path.getsize(path("out.tno")) < 1 << 20, "and is not stored")
two = [node("ConstantOfShape", ["s"], ["a"]), node("Add", ["a", "x"], ["y"])]
m = model("stays.onnx", two, [("x", [1])], [ints("s", 10**12)])
ok("one value for all elements stays one value", compiled(m, "--set", "tenon.constant_limit=1"))
m = model("tile.onnx", [node("Tile", ["x", "s"], ["y"])], (), [ints("s", 10**6, 10**6), one("x")])
ok("repeats above the limit are left to the program", compiled(m))

# ---- what doubles, and what was quadratic ----
for op, n in (("Add", 40), ("Concat", 20)):
    axis = part(5, part(1, "axis") + number(3, 0) + number(20, 2)) if op == "Concat" else b""
    chain = [node(op, [f"t{i}", f"t{i}"], [f"t{i + 1}"]) + axis for i in range(n - 1)] + [
        node(op, [f"t{n - 1}", f"t{n - 1}"], ["y"]) + axis]
    m = model("double.onnx", chain, [("t0", [4])])
    for target in ("cpu", "null"):
        ok(f"{n} times {op}(t, t) for {target}", compiled(m, target=target))


def small():
    resource.setrlimit(resource.RLIMIT_AS, (600 << 20, 600 << 20))


m = model("inputs.onnx", [node("Relu", ["i0"], ["y"])], [(f"i{i}", [4]) for i in range(20000)])
if not SANITIZED:
    r = subprocess.run([TENON, "show", "model", m], capture_output=True, text=True, preexec_fn=small, timeout=300)
    ok("20,000 inputs are shown within 600 MiB", r)

# ---- programs that the compiler runs ----
m = write("scratch.py", """@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((), "float32"):
        with R.dataflow():
            a = R.broadcast_to(x, (1000000,))
            b = R.sum(a)
            R.output(b)
        return b
""")
r = tenon("opt", m, "-p", "LegalizeOps", "--verify", "--set", "tenon.scratch_limit=40")
ok("enough scratch memory", r)
check("1 functions verified" in r.stderr, "with which it is verified", r)
refused("and too little, which is named", tenon("opt", m, "-p", "LegalizeOps", "--verify", "--set", "tenon.scratch_limit=3"),
        "not verified: LegalizeOps: main", "4000016 more bytes for programs that the compiler runs are above the limit of 3 MiB",
        status=(1,))
done()
