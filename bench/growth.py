#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how Tenon's work grows with the module, and exits 1 where a node costs more in a larger one.

    bench/growth.py --tenon build/tools/tenon [--sizes 1000,10000] [--factor 1.5] [--passes] [SHAPE...] [--what WORK,...]

Modules are made in shapes that real ones have in the small: a chain, a fan (one value read by all), a sum of all, a dag
(each reads two of the last three), a wide one (chains side by side), parameters, results, functions that call the next.
WORK is import (an ONNX model, shown), check, diff, or a target's name: its whole lists with kernels generated but not
compiled. Counted are instructions (perf, or valgrind where the system has no counters) and peak memory, less those of a
module of one node; both a node, at each size. A line says BROKEN where one is more than FACTOR times that at the smallest size.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

SHAPES = ("chain", "fan", "sum", "dag", "wide", "parameters", "results", "functions")
WORKS = ("import", "check", "diff", "cpu", "opencl")
OPS = ("relu", "exp", "tanh", "sigmoid", "negative")


# ---- modules as text ----

def body(params, lines, result, name="main"):
    return "    @R.function\n    def %s(%s):\n        with R.dataflow():\n%s            R.output(%s)\n        return %s\n" % (
        name, ", ".join('%s: R.Tensor((4, 8), "float32")' % p for p in params),
        "".join("            %s\n" % line for line in lines), result, result.split(", ")[0] if "," not in result else "(%s)" % result)


def graph(shape, n):
    """(parameters, [(result, operator, operands)], results)"""
    if shape == "chain":
        return ["v0"], [("v%d" % (i + 1), OPS[i % 5], ["v%d" % i]) for i in range(n)], ["v%d" % n]
    if shape == "fan":
        k = n // 2
        fan = [("a%d" % i, OPS[i % 5], ["v0"]) for i in range(k)]
        return ["v0"], fan + [("b%d" % i, "add", ["b%d" % (i - 1) if i else "v0", "a%d" % i]) for i in range(k)], ["b%d" % (k - 1)]
    if shape == "sum":
        adds = [("b%d" % i, "add", ["b%d" % (i - 1) if i else "v0", "v0"]) for i in range(n)]
        return ["v0"], adds, ["b%d" % (n - 1)]
    if shape == "dag":
        nodes = [("d%d" % i, ("add", "multiply", "maximum")[i % 3],
                  ["d%d" % max(i - 1, -1) if i else "v0", "d%d" % (i - 2 - i % 2) if i > 2 else "v0"]) for i in range(n)]
        return ["v0"], nodes, ["d%d" % (n - 1)]
    if shape == "wide":
        width = 10
        nodes, last = [], []
        for w in range(width):
            for i in range(n // width):
                nodes.append(("w%d_%d" % (w, i), OPS[(i + w) % 5], ["w%d_%d" % (w, i - 1) if i else "v0"]))
            last.append("w%d_%d" % (w, n // width - 1))
        return ["v0"], nodes, last
    if shape == "parameters":
        return ["p%d" % i for i in range(n)], [("y", "relu", ["p0"])], ["y"]
    if shape == "results":
        return ["v0"], [("r%d" % i, OPS[i % 5], ["v0"]) for i in range(n)], ["r%d" % i for i in range(n)]
    return None


def module(shape, n):
    head = "@I.ir_module\nclass Module:\n"
    if shape == "functions":
        out = []
        for i in range(n):
            call = "cls.f%d(x)" % (i + 1) if i + 1 < n else "R.nn.relu(x)"
            cls = "        cls = Module\n" if i + 1 < n else ""
            name = "main" if i == 0 else "f%d" % i
            private = "" if i == 0 else "(private=True)"
            out.append('    @R.function%s\n    def %s(x: R.Tensor((4, 8), "float32")) -> R.Tensor((4, 8), "float32"):\n%s'
                       "        y: R.Tensor((4, 8), \"float32\") = %s\n        return y\n" % (private, name, cls, call))
        return head + "\n".join(out)
    params, nodes, results = graph(shape, n)
    spelled = {"relu": "nn.relu"}
    lines = ["%s = R.%s(%s)" % (r, spelled.get(op, op), ", ".join(x)) for r, op, x in nodes]
    return head + body(params, lines, ", ".join(results))


# ---- models ----

def varint(v):
    out = bytearray()
    while v > 127:
        out.append(v & 127 | 128)
        v >>= 7
    return bytes(out + bytes([v]))


def part(field, b):
    b = b.encode() if isinstance(b, str) else b
    return varint(field << 3 | 2) + varint(len(b)) + b


def number(field, v):
    return varint(field << 3) + varint(v)


def value(name):
    return part(1, name) + part(2, part(1, number(1, 1) + part(2, part(1, number(1, 4)) + part(1, number(1, 8)))))


def model(shape, n):
    spelled = {"negative": "Neg", "multiply": "Mul", "maximum": "Max"}
    params, nodes, results = graph(shape, n)
    g = b"".join(part(1, b"".join(part(1, i) for i in x) + part(2, r) + part(4, spelled.get(op, op.capitalize())))
                 for r, op, x in nodes)
    g += part(2, "g") + b"".join(part(11, value(p)) for p in params) + b"".join(part(12, value(r)) for r in results)
    return number(1, 8) + part(7, g) + part(8, part(1, "") + number(2, 17))


# ---- measuring ----

class Bench:
    def __init__(self, args, work):
        self.args, self.work = args, work
        real = os.path.join(os.path.dirname(args.tenon), ".libs", "tenon")
        self.env = dict(os.environ)
        self.program = args.tenon
        if os.path.exists(real):
            top = os.path.dirname(os.path.dirname(os.path.abspath(args.tenon)))
            self.program = real
            self.env["LD_LIBRARY_PATH"] = ":".join(
                os.path.join(top, d, ".libs") for d in ("core/base", "core", "kit", "runtime"))
        self.counter = None
        self.counter = "perf" if self.instructions(["--version"]) else "valgrind"

    def instructions(self, words):
        """Instructions in user mode; 0 where perf cannot count them."""
        log = os.path.join(self.work, "count")
        if self.counter == "valgrind":
            command = ["valgrind", "--tool=lackey", "--log-file=" + log, self.program] + words
        else:
            command = ["perf", "stat", "-x,", "-e", "instructions:u", "-o", log, self.program] + words
        try:
            r = subprocess.run(command, env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               timeout=self.args.timeout)
        except FileNotFoundError:
            return 0
        with open(log) as f:
            text = f.read()
        m = re.search(r"^(\d+),,instructions:u", text, re.M) or re.search(r"guest instrs:\s+([\d,]+)", text)
        if r.returncode not in (0, 1) and m is None:
            sys.exit("growth: %s: %s" % (" ".join(words), r.stderr[-500:]))
        return int(m.group(1).replace(",", "")) if m else 0

    def memory(self, words):
        """Peak resident bytes."""
        p = subprocess.Popen([self.program] + words, env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(p.pid, 0)
        return usage.ru_maxrss << 10

    def words(self, work, shape, n):
        text = os.path.join(self.work, "%s-%d.py" % (shape, n))
        onnx = os.path.join(self.work, "%s-%d.onnx" % (shape, n))
        if not os.path.exists(text):
            with open(text, "w") as f:
                f.write(module(shape, n))
            if graph(shape, n):
                with open(onnx, "wb") as f:
                    f.write(model(shape, n))
        if work == "import":
            return ["show", "model", onnx] if graph(shape, n) else None
        if work == "check":
            return ["check", text]
        if work == "diff":
            return ["diff", text, text]
        return ["opt", text, "-p", "@pipeline", "-t", work, "-o", os.devnull]

    def row(self, work, shape):
        bad = False
        first = None
        tiny = self.words(work, shape, 10)
        if tiny is None:
            return False
        i0, m0 = self.instructions(tiny), self.memory(tiny)
        for n in self.args.sizes:
            words = self.words(work, shape, n)
            try:
                i, m = (self.instructions(words) - i0) / n, max(self.memory(words) - m0, 0) / n
            except subprocess.TimeoutExpired:
                print("%-8s %-11s %7d   not done after %d s  BROKEN" % (work, shape, n, self.args.timeout), flush=True)
                return True
            first = first or (i, m)
            grown = i > self.args.factor * first[0] or m > self.args.factor * max(first[1], 2000)
            bad |= grown
            print("%-8s %-11s %7d %12.0f instructions %9.0f bytes a node  %5.2f %5.2f  %s" % (
                work, shape, n, i, m, i / first[0] if first[0] else 0, m / max(first[1], 1), "BROKEN" if grown else "ok"), flush=True)
        return bad


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("shapes", nargs="*", default=[])
    p.add_argument("--tenon", default="tenon")
    p.add_argument("--sizes", default="1000,10000,100000")
    p.add_argument("--factor", type=float, default=1.5)
    p.add_argument("--what", default=",".join(WORKS))
    p.add_argument("--timeout", type=float, default=300)
    args = p.parse_args()
    args.sizes = [int(n) for n in args.sizes.split(",")]
    bad = False
    with tempfile.TemporaryDirectory() as work:
        bench = Bench(args, work)
        print("instructions counted by %s; at most %.2f times as many a node as at %d nodes" % (
            bench.counter, args.factor, args.sizes[0]))
        for w in args.what.split(","):
            for shape in args.shapes or SHAPES:
                bad |= bench.row(w, shape)
    sys.exit(1 if bad else 0)


main()
