#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how Tenon's work grows with the module, and exits 1 where a node costs more in a larger one.

    bench/growth.py --tenon build/tools/tenon [--sizes 1000,10000] [--factor 1.5] [--what WORK,...] [SHAPE...]

A module of N nodes is the beginning of one of more nodes: which operator and which operands a node has is drawn by its
number, so nothing repeats with a period that happens to suit a cache. SHAPES names the shapes. WORK is import (an ONNX
model, shown), check, print (no pass), diff, load (an artifact shown), or a target's name: a whole compilation with
kernels generated, in which a stand-in for the C compiler makes empty functions of them (its time is not ours).

Counted are instructions of the process itself: by perf; where the system has no counters, by QEMU's user emulation with
the plugin count_instructions.c, which agrees with valgrind's cachegrind within 1% in less than half of its time; by
cachegrind where there is no such QEMU. Counted too is peak resident memory, of a run without a counter; each less that
of a module of ten nodes, a node. The first size is the measure of instructions; the measure of memory is the first size
that takes FLOOR bytes more than ten nodes do, as arenas come in blocks. A line says BROKEN where a node costs more than
FACTOR times the measure (FEW instructions at least). --passes adds each pass that grows so, by time.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

from build_tree import unwrapped

WORKS = ("import", "check", "print", "diff", "load", "cpu", "opencl")
UNARY = {"relu": ("nn.relu", "Relu"), "exp": ("exp", "Exp"), "tanh": ("tanh", "Tanh"), "sigmoid": ("sigmoid", "Sigmoid"),
         "negative": ("negative", "Neg"), "abs": ("abs", "Abs"), "cos": ("cos", "Cos"), "erf": ("erf", "Erf")}
BINARY = {"add": ("add", "Add"), "multiply": ("multiply", "Mul"), "maximum": ("maximum", "Max"), "minimum": ("minimum", "Min"),
          "subtract": ("subtract", "Sub")}
FLOOR = 64 << 20
FEW = 3000  # instructions a node: below, what the operators happen to be decides
DEEP = 40  # levels of a nest
TYPE = 'R.Tensor((4, 8), "float32")'


# ---- modules ----

def draw(i, salt, n):
    """A number below n that depends on the node's number alone."""
    x = (i * 0x9E3779B97F4A7C15 + salt * 0xD1B54A32D192ED03 + 1) & (1 << 64) - 1
    x = ((x ^ x >> 31) * 0xBF58476D1CE4E5B9) & (1 << 64) - 1
    x = ((x ^ x >> 29) * 0x94D049BB133111EB) & (1 << 64) - 1
    return (x ^ x >> 32) % n


def unary(i):
    return sorted(UNARY)[draw(i, 1, len(UNARY))]


def binary(i):
    return sorted(BINARY)[draw(i, 2, len(BINARY))]


def chain(n):
    return ["v0"], [("v%d" % (i + 1), unary(i), ["v%d" % i]) for i in range(n)], ["v%d" % n]


def fan(n):
    """One value read by n / 2 nodes, whose results are summed up."""
    k = n // 2
    nodes = [("a%d" % i, unary(i), ["v0"]) for i in range(k)]
    return ["v0"], nodes + [("b%d" % i, binary(i), ["b%d" % (i - 1) if i else "v0", "a%d" % i]) for i in range(k)], ["b%d" % (k - 1)]


def total(n):
    return ["v0"], [("b%d" % i, binary(i), ["b%d" % (i - 1) if i else "v0", "v0"]) for i in range(n)], ["b%d" % (n - 1)]


def dag(n):
    """Each node reads the one before it and one of the eight before that."""
    name = lambda i: "d%d" % i if i >= 0 else "v0"
    return ["v0"], [("d%d" % i, binary(i), [name(i - 1), name(i - 2 - draw(i, 3, 8))]) for i in range(n)], ["d%d" % (n - 1)]


def ladder(n):
    """The node k from the end reads the node k from the start: values live long, and dominators are far away."""
    half = n // 2
    down = [("d%d" % i, unary(i), ["d%d" % (i - 1) if i else "v0"]) for i in range(half)]
    up = [("u%d" % i, binary(i), ["u%d" % (i - 1) if i else "d%d" % (half - 1), "d%d" % (half - 1 - i)]) for i in range(half)]
    return ["v0"], down + up, ["u%d" % (half - 1)]


def wide(n):
    nodes, last = [], []
    for w in range(10):
        for i in range(n // 10):
            nodes.append(("w%d_%d" % (w, i), unary(10 * i + w), ["w%d_%d" % (w, i - 1) if i else "v0"]))
        last.append("w%d_%d" % (w, n // 10 - 1))
    return ["v0"], nodes, last


def parameters(n):
    return ["p%d" % i for i in range(n)], [("b%d" % i, binary(i), ["b%d" % (i - 1) if i else "p0", "p%d" % i]) for i in range(n)], [
        "b%d" % (n - 1)]


def results(n):
    return ["v0"], [("r%d" % i, unary(i), ["r%d" % (i // 2) if i else "v0"]) for i in range(n)], ["r%d" % i for i in range(n)]


def layers(n):
    """Products that do not fuse with each other, an activation behind each."""
    nodes = []
    for i in range(n // 2):
        nodes.append(("m%d" % i, "matmul", ["x%d" % (i - 1) if i else "v0", "q"]))
        nodes.append(("x%d" % i, unary(i), ["m%d" % i]))
    return ["v0", "q"], nodes, ["x%d" % (n // 2 - 1)]


GRAPHS = {"chain": chain, "fan": fan, "sum": total, "dag": dag, "ladder": ladder, "wide": wide, "parameters": parameters,
          "results": results, "layers": layers}


def graph_text(shape, n):
    params, nodes, outs = GRAPHS[shape](n)
    lines = ["%s = R.%s(%s)" % (r, UNARY.get(op, BINARY.get(op, (op,)))[0], ", ".join(x)) for r, op, x in nodes]
    types = {"q": 'R.Tensor((8, 8), "float32")'}
    out = ", ".join(outs)
    return "    @R.function\n    def main(%s):\n        with R.dataflow():\n%s            R.output(%s)\n        return %s\n" % (
        ", ".join("%s: %s" % (p, types.get(p, TYPE)) for p in params), "".join("            %s\n" % line for line in lines), out,
        "(%s)" % out if len(outs) > 1 else out)


def functions(n):
    """Function i calls function i + 1."""
    out = []
    for i in range(n):
        call = "cls.f%d(x)" % (i + 1) if i + 1 < n else "R.nn.relu(x)"
        out.append("    @R.function%s\n    def %s(x: %s) -> %s:\n        cls = Module\n        y: %s = %s\n"
                   "        z: %s = R.%s(y)\n        return z\n" % (
                       "(private=True)" if i else "", "f%d" % i if i else "main", TYPE, TYPE, TYPE, call, TYPE, UNARY[unary(i)][0]))
    return "\n".join(out)


def constants(n):
    lines = ["v%d = R.%s(v%d, R.const(%d.5, \"float32\"))" % (i + 1, binary(i), i, draw(i, 4, 1000)) for i in range(n)]
    return "    @R.function\n    def main(v0: %s):\n        with R.dataflow():\n%s            R.output(v%d)\n        return v%d\n" % (
        TYPE, "".join("            %s\n" % line for line in lines), n, n)


def shapes(n):
    """Every node has a shape of its own, so every one has a kernel of its own."""
    params = ", ".join('p%d: R.Tensor((%d, %d), "float32")' % (i, i % 7 + 1, i // 7 + 1) for i in range(n))
    lines = "".join("            r%d = R.%s(p%d)\n" % (i, UNARY[unary(i)][0], i) for i in range(n))
    out = ", ".join("r%d" % i for i in range(n))
    return "    @R.function\n    def main(%s):\n        with R.dataflow():\n%s            R.output(%s)\n        return (%s)\n" % (
        params, lines, out, out)


def symbols(n):
    """n symbolic dimensions."""
    params = ", ".join('p%d: R.Tensor(("n%d", 8), "float32")' % (i, i) for i in range(n))
    lines = "".join("            r%d = R.%s(p%d)\n" % (i, UNARY[unary(i)][0], i) for i in range(n))
    out = ", ".join("r%d" % i for i in range(n))
    return "    @R.function\n    def main(%s):\n        with R.dataflow():\n%s            R.output(%s)\n        return (%s)\n" % (
        params, lines, out, out)


def ifs(n):
    """Nests of DEEP branches, one behind the other."""
    lines, last, k = [], "v0", 0
    for nest in range(max(n // (2 * DEEP), 1)):
        depth = min(DEEP, n)
        for d in range(depth):
            lines.append((d, "if c:"))
            lines.append((d + 1, "a%d: %s = R.%s(%s)" % (k + d, TYPE, UNARY[unary(k + d)][0], last)))
        inner = "a%d" % (k + depth - 1)
        for d in reversed(range(depth)):
            lines.append((d + 1, "r%d_%d: %s = R.%s(%s)" % (nest, d, TYPE, UNARY[unary(d + k)][0], inner)))
            lines.append((d, "else:"))
            lines.append((d + 1, "r%d_%d: %s = %s" % (nest, d, TYPE, last)))
            inner = "r%d_%d" % (nest, d)
        k, last = k + depth, inner
    return "    @R.function\n    def main(v0: %s, c: R.Tensor((), \"bool\")) -> %s:\n%s        return %s\n" % (
        TYPE, TYPE, "".join("        %s%s\n" % ("    " * d, t) for d, t in lines), last)


def closures(n):
    """Nests of functions within functions, one behind the other."""
    lines, last, k = [], "v0", 0
    for nest in range(max(n // DEEP, 1)):
        depth = min(DEEP, n)
        for d in range(depth):
            lines += [(d, "@R.function"), (d, "def g%d_%d(x%d: %s) -> %s:" % (nest, d, d, TYPE, TYPE))]
        lines.append((depth, "y: %s = R.%s(x%d)" % (TYPE, UNARY[unary(k)][0], depth - 1)))
        lines.append((depth, "return y"))
        for d in reversed(range(depth)):
            if d:
                lines += [(d, "y%d: %s = g%d_%d(x%d)" % (d, TYPE, nest, d, d - 1)), (d, "z%d: %s = R.%s(y%d)" % (
                    d, TYPE, UNARY[unary(k + d)][0], d)), (d, "return z%d" % d)]
        lines.append((0, "w%d: %s = g%d_0(%s)" % (nest, TYPE, nest, last)))
        k, last = k + depth, "w%d" % nest
    return "    @R.function\n    def main(v0: %s) -> %s:\n%s        return %s\n" % (
        TYPE, TYPE, "".join("        %s%s\n" % ("    " * d, t) for d, t in lines), last)


def tuples(n):
    """Nests of tuples made and taken apart, one behind the other."""
    lines, last = [], "v0"
    depth = DEEP // 2
    for nest in range(max(n // (2 * depth), 1)):
        t = last
        for d in range(depth):
            lines.append("t%d_%d = (%s, %s)" % (nest, d, last, t))
            t = "t%d_%d" % (nest, d)
        for d in range(depth):
            lines.append("g%d_%d = %s[1]" % (nest, d, t))
            t = "g%d_%d" % (nest, d)
        lines.append("y%d = R.%s(%s)" % (nest, UNARY[unary(nest)][0], t))
        last = "y%d" % nest
    return "    @R.function\n    def main(v0: %s):\n        with R.dataflow():\n%s            R.output(%s)\n        return %s\n" % (
        TYPE, "".join("            %s\n" % line for line in lines), last, last)


def reshapes(n):
    """Each splits or joins the dimensions of the one before, of unknown length."""
    lines = "".join("            v%d = R.reshape(v%d, R.shape([%s]))\n" % (i + 1, i, "-1, %d" % 2 ** (draw(i, 5, 4) + 1) if i % 2 else "-1")
                    for i in range(n))
    return '    @R.function\n    def main(v0: R.Tensor(("n", 8), "float32")):\n        with R.dataflow():\n%s            R.output(v%d)\n        return v%d\n' % (
        lines, n, n)


TYPE16 = 'R.Tensor((16,), "float32")'


def program(lines):
    """One tensor program of A, which gives B."""
    return ('    @T.prim_func(private=True)\n    def big(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):\n'
            '        T.func_attr({"tirx.noalias": True})\n%s\n    @R.function\n    def main(a: %s) -> %s:\n        cls = Module\n'
            '        b = R.call_tir(cls.big, (a,), out_sinfo=%s)\n        return b\n') % (
                "".join("        %s\n" % line for line in lines), TYPE16, TYPE16, TYPE16)


def stages(n):
    """A tensor program of n loops, each of which reads what the one before has written."""
    lines = ["t%d = T.alloc_buffer((16,))" % i for i in range(n - 1)]
    for i in range(n):
        lines += ["for i in range(16):", "    with T.sblock(\"s%d\"):" % i, "        v = T.axis.spatial(16, i)",
                  "        %s[v] = %s[v] + T.float32(%d)" % ("t%d" % i if i < n - 1 else "B", "t%d" % (i - 1) if i else "A", draw(i, 6, 9))]
    return program(lines)


def scalars(n):
    """A tensor program of n numbers, each of which is that before and an element."""
    return program(["x0: T.float32 = A[0]"] + ["x%d: T.float32 = x%d + A[%d]" % (i, i - 1, draw(i, 7, 16)) for i in range(1, n)] + [
        "B[0] = x%d" % (n - 1)])


TEXTS = {"reshapes": reshapes, "stages": stages, "scalars": scalars, "functions": functions, "constants": constants, "shapes": shapes, "symbols": symbols, "ifs": ifs, "closures": closures,
         "tuples": tuples}
SHAPES = tuple(GRAPHS) + tuple(TEXTS)


def module(shape, n):
    return "@I.ir_module\nclass Module:\n" + (graph_text(shape, n) if shape in GRAPHS else TEXTS[shape](n))


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
    rows = 8 if name == "q" else 4
    return part(1, name) + part(2, part(1, number(1, 1) + part(2, part(1, number(1, rows)) + part(1, number(1, 8)))))


def model(shape, n):
    spelled = dict({k: v[1] for k, v in list(UNARY.items()) + list(BINARY.items())}, matmul="MatMul")
    params, nodes, outs = GRAPHS[shape](n)
    g = b"".join(part(1, b"".join(part(1, i) for i in x) + part(2, r) + part(4, spelled[op])) for r, op, x in nodes)
    g += part(2, "g") + b"".join(part(11, value(p)) for p in params) + b"".join(part(12, value(r)) for r in outs)
    return number(1, 8) + part(7, g) + part(8, part(1, "") + number(2, 17))


# ---- a stand-in for the C compiler: every kernel an empty function ----

STAND_IN = r"""#!/bin/sh
case " $* " in
*" -c "*) src=$(echo " $* " | sed 's/.* -c \([^ ]*\) .*/\1/'); obj=$(echo " $* " | sed 's/.* -o \([^ ]*\) .*/\1/')
    sed -n -e '/^TK_KERNEL int32_t$/{n;s/^\([A-Za-z0-9_]*\)(.*/.globl \1\n.type \1,@function\n\1:/p}' "$src" > "$src.s"
    echo "xorl %eax,%eax; ret" >> "$src.s"
    exec as -o "$obj" "$src.s" ;;
*) exec REAL "$@" ;;
esac
"""


# ---- measuring ----

WAIT = """
import os, sys
null = os.open(os.devnull, os.O_WRONLY)
pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, null, 1)])
_, status, usage = os.wait4(pid, 0)
print(usage.ru_maxrss, usage.ru_utime + usage.ru_stime)
sys.exit(status != 0)
"""


class Bench:
    def __init__(self, args, work):
        self.args, self.work = args, work
        self.env = dict(os.environ, CC=os.path.join(work, "cc"))
        with open(self.env["CC"], "w") as f:
            f.write(STAND_IN.replace("REAL", os.environ.get("CC", "cc")))
        os.chmod(self.env["CC"], 0o755)
        self.program, libraries = unwrapped(args.tenon)
        if libraries:
            self.env["LD_LIBRARY_PATH"] = ":".join(libraries)
        self.log = os.path.join(work, "count")
        self.plugin = os.path.join(work, "count_instructions.so")
        if args.write:
            return
        why = "no counter"
        for self.counter in [args.counter] if args.counter else ["perf", "qemu", "valgrind"]:
            try:
                if self.counter == "qemu":
                    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-shared", "-fPIC", "-o", self.plugin, os.path.join(
                        os.path.dirname(os.path.abspath(__file__)), "count_instructions.c")], check=True)
                if self.instructions(["--version"]):
                    break
            except (OSError, RuntimeError, subprocess.CalledProcessError) as e:
                why = e
        else:
            sys.exit("nothing here counts instructions (%s): install perf, qemu-user or valgrind, or use --counter time" % why)

    def run(self, command):
        r = subprocess.run(command, env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                           timeout=self.args.timeout)
        if r.returncode != 0:
            raise RuntimeError(r.stderr[-500:])

    def instructions(self, words):
        """Instructions in user mode; 0 where they cannot be counted."""
        if os.path.exists(self.log):
            os.unlink(self.log)
        if self.counter == "time":
            return int(self.memory(words)[1] * 1e9) + 1
        if self.counter == "valgrind":
            self.run(["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null",
                      "--log-file=" + self.log, self.program] + words)
        elif self.counter == "qemu":
            self.run(["qemu-" + os.uname().machine, "-plugin", "%s,out=%s" % (self.plugin, self.log), self.program] + words)
        else:
            self.run(["perf", "stat", "-x,", "-e", "instructions:u", "-o", self.log, self.program] + words)
        with open(self.log) as f:
            text = f.read()
        m = re.search(r"^(\d+)(?:,,instructions:u| instructions)", text, re.M) or re.search(r"I\s+refs:\s+([\d,]+)", text)
        return int(m.group(1).replace(",", "")) if m else 0

    def memory(self, words):
        """Peak resident bytes, and seconds of the processor. A process begins with the peak of the one that started it, which
        should thus be smaller than this one is after it has written modules."""
        p = subprocess.run([sys.executable, "-I", "-S", "-c", WAIT, self.program] + words, env=self.env, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, timeout=self.args.timeout)
        if p.returncode != 0:
            raise RuntimeError(p.stderr[-500:])
        peak, seconds = p.stdout.split()
        return int(peak) << 10, float(seconds)

    def words(self, work, shape, n):
        text = os.path.join(self.work, "%s-%d.py" % (shape, n))
        onnx = os.path.join(self.work, "%s-%d.onnx" % (shape, n))
        tno = os.path.join(self.work, "%s-%d.tno" % (shape, n))
        if not os.path.exists(text):
            with open(text, "w") as f:
                f.write(module(shape, n))
            if shape in GRAPHS:
                with open(onnx, "wb") as f:
                    f.write(model(shape, n))
        if work == "import":
            return ["show", "model", onnx]
        if work == "check":
            return ["check", text]
        if work == "print":
            return ["opt", text, "-p", "", "-o", os.devnull]
        if work == "diff":
            return ["diff", text, text]
        compiled = ["compile", text, "-j", "1", "--no-cache", "-t", "cpu" if work == "load" else work, "-o", tno]
        if work == "load":
            self.run([self.program] + compiled)
            return ["show", "model", tno]
        return compiled

    def slow_passes(self, work, shape):
        """Passes whose time a node grows."""
        times = {}
        for n in self.args.sizes:
            times[n] = {}
            r = subprocess.run([self.program, "opt", self.words("check", shape, n)[1], "-p", "@pipeline", "-t", work, "-o",
                                os.devnull, "--timing"], env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            for ms, name in re.findall(r"^ *([\d.]+) ms  (\w+)", r.stderr, re.M):
                times[n][name] = times[n].get(name, 0) + float(ms) * 1e3 / n
        first, last = self.args.sizes[0], self.args.sizes[-1]
        for name, us in sorted(times[last].items(), key=lambda x: -x[1]):
            if us > 2 * self.args.factor * max(times[first].get(name, 0), 0.5):
                print("         %s: %s us a node" % (name, ", ".join("%.1f" % times[n].get(name, 0) for n in self.args.sizes)))

    def row(self, work, shape):
        bad = False
        first = base = None
        if work == "import" and shape not in GRAPHS:
            return False
        try:
            tiny = self.words(work, shape, 10)
            i0, (m0, _) = self.instructions(tiny), self.memory(tiny)
        except RuntimeError as e:
            print("%-8s %-11s fails: %s  BROKEN" % (work, shape, e), flush=True)
            return True
        for n in self.args.sizes:
            try:
                words = self.words(work, shape, n)
                m, seconds = self.memory(words)
                i = max((seconds * 1e9 if self.counter == "time" else self.instructions(words)) - i0, 0) / n
            except subprocess.TimeoutExpired:
                print("%-8s %-11s %7d   not done after %d s  BROKEN" % (work, shape, n, self.args.timeout), flush=True)
                return True
            except RuntimeError as e:
                print("%-8s %-11s %7d   fails: %s  BROKEN" % (work, shape, n, e), flush=True)
                return True
            more = max(m - m0, 0)
            first = first or i
            base = base or (more / n if more > FLOOR else None)
            grown = i > self.args.factor * max(first, FEW) or (base or 0) * self.args.factor < more / n and more > FLOOR
            bad |= grown
            print("%-8s %-11s %7d %9.0f %s %8.0f bytes a node  %5.2f %5s  %7.2f s  %s" % (
                work, shape, n, i, "ns" if self.counter == "time" else "instructions", more / n, i / first if first else 0, "%.2f" % (more / n / base) if base else "-", seconds,
                "BROKEN" if grown else "ok"), flush=True)
        if bad and self.args.passes and work in ("cpu", "opencl"):
            self.slow_passes(work, shape)
        return bad


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("shapes", nargs="*", default=[], metavar="SHAPE", help=" ".join(SHAPES))
    p.add_argument("--tenon", default="tenon")
    p.add_argument("--sizes", default="1000,10000,100000")
    p.add_argument("--factor", type=float, default=1.5)
    p.add_argument("--what", default=",".join(WORKS))
    p.add_argument("--timeout", type=float, default=300)
    p.add_argument("--counter", choices=("perf", "qemu", "valgrind", "time"), help="time: nanoseconds of the processor, to look around")
    p.add_argument("--passes", action="store_true")
    p.add_argument("--write", metavar="FOLDER", help="only write the modules there")
    args = p.parse_args()
    args.sizes = [int(n) for n in args.sizes.split(",")]
    bad = False
    with tempfile.TemporaryDirectory() as work:
        bench = Bench(args, args.write or work)
        if args.write:
            for shape in args.shapes or SHAPES:
                for n in args.sizes:
                    bench.words("check", shape, n)
            return
        print("counted by %s; at most %.2f times as many a node as at %d nodes" % (
            bench.counter, args.factor, args.sizes[0]))
        for w in args.what.split(","):
            for shape in args.shapes or SHAPES:
                bad |= bench.row(w, shape)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
