#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tenon compile --emit=c|obj|static-lib: C programs that link nothing but libc and libm get what `tenon run` gives, bit for bit; what
cannot be C is refused with its place.

    aot.py [CASE...]

Models of TENON_MODELS, or beside the checkout, count where they are there, and aarch64 where gcc-aarch64-linux-gnu and qemu-user are.
"""
import os
import random
import re
import shutil
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
from clitest import DIGITS, SRC, WORK, check, done, path, refused, tenon, write  # noqa: E402

CC = os.environ.get("CC", "cc").split()
CALL = os.path.join(SRC, "tests", "aot", "call.c")
MODELS = os.environ.get("TENON_MODELS") or os.path.join(SRC, "..", "shared", "models", "onnx")
TYPES = {"float32": ("<f4", "f"), "float64": ("<f8", "d"), "int64": ("<i8", "q"), "int32": ("<i4", "i"), "uint8": ("|u1", "B"),
         "bool": ("|b1", "B")}


def run(*argv, **more):
    return subprocess.run([str(a) for a in argv], capture_output=True, text=True, errors="replace", timeout=600, **more)


def product(shape):
    n = 1
    for d in shape:
        n *= d
    return n


def drawn(dtype, shape, seed, low=-1, high=1):
    r = random.Random(seed)
    if dtype.startswith("float"):
        return [r.uniform(low, high) for _ in range(product(shape))]
    return [r.randint(max(low, 0), high) for _ in range(product(shape))]


def npy(dtype, shape, raw):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }" % (TYPES[dtype][0], "".join(f"{d}, " for d in shape))
    head += " " * ((-(10 + len(head) + 1)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + raw


def read_raw(file):
    with open(file, "rb") as f:
        data = f.read()
    (n,) = struct.unpack_from("<H", data, 8)
    head = eval(data[10:10 + n].decode(), {})  # written by tenon
    return head["shape"], data[10 + n:]


class Emitted:
    """A model as a static library and the program tests/aot/call.c with it."""
    models = {}  # of all: their options

    def __init__(self, model, name, *options, cc=CC, flags=(), function="main"):
        self.model, self.name, self.function, self.folder = model, name, function, path(name)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.models.setdefault(model, options)
        self.made = tenon("compile", model, "--emit=static-lib", "--prefix", name, "-o", self.folder, *options)
        self.program = path(name + ".call")
        if self.made.returncode == 0:
            self.linked = run(*cc, "-O2", "-Wall", "-Wextra", "-Werror", f'-DMODEL_H="{name}.h"', f"-DMODEL={name}",
                              f"-DFUNCTION={name}_{function}", f"-I{self.folder}", CALL, os.path.join(self.folder, f"lib{name}.a"),
                              "-lm", "-Wl,--gc-sections", *flags, "-o", self.program)
        check(self.made.returncode == 0 and self.linked.returncode == 0, f"{name}: a static library, linked",
              self.made if self.made.returncode else self.linked)

    def call(self, inputs, skip=0, before=()):
        """inputs: (dtype, shape, values). The workspace's size, [(shape, bytes)]; or the failed run."""
        words = []
        for i, (dtype, shape, values) in enumerate(inputs):
            raw = write(f"{self.name}.{i}", struct.pack("<%d%s" % (len(values), TYPES[dtype][1]), *values))
            words.append((",".join(map(str, shape)) or "-") + ":" + raw)
        r = run(*before, self.program, path(self.name + ".out"), skip, *words)
        if r.returncode:
            return r, None
        lines = r.stdout.split("\n")[:-1]
        out = []
        for i, line in enumerate(lines[1:]):
            with open(path(f"{self.name}.out{i}"), "rb") as f:
                out.append((tuple(int(d) for d in line.split(",") if d), f.read()))
        return int(lines[0]), out

    def expected(self, inputs):
        """The same of `tenon run` of an artifact."""
        tno, words = path(self.name + ".tno"), []
        if not os.path.exists(tno):
            r = tenon("compile", self.model, "-o", tno)
            if r.returncode:
                return r, None
        for i, (dtype, shape, values) in enumerate(inputs):
            raw = struct.pack("<%d%s" % (len(values), TYPES[dtype][1]), *values)
            words += ["-i", f"#{i}={write(f'{self.name}.{i}.npy', npy(dtype, shape, raw))}"]
        out = path(self.name + ".want")
        shutil.rmtree(out, ignore_errors=True)
        r = tenon("run", tno, "-f", self.function, "-o", out, *words)
        if r.returncode:
            return r, None
        files = sorted(os.listdir(out), key=lambda f: int(f.split("-")[0]))
        return r, [read_raw(os.path.join(out, f)) for f in files]

    def equal(self, what, inputs, skip=0, before=()):
        """The workspace's size."""
        size, got = self.call(inputs, skip, before)
        r, want = self.expected(inputs)
        check(got is not None and got == want, f"{self.name}: {what}: what tenon run gives", r if got is not None else size)
        return size if got is not None else 0

    def refuses(self, what, inputs, status, *texts):
        r, got = self.call(inputs)
        check(got is None and r.returncode == 1 and f"status {status}:" in r.stderr and all(t in r.stderr for t in texts),
              f"{self.name}: {what}: refused with status {status}", r if got is None else None)


def module(name, text):
    return write(name + ".py", "from tvm.script import ir as I, relax as R, tirx as T\n@I.ir_module\nclass Module:\n" + text)


cases = {}


def case(f):
    cases[f.__name__] = f
    return f


@case
def digits():
    e = Emitted(os.path.join(DIGITS, "digits.onnx"), "digits")
    shape, raw = read_raw(os.path.join(DIGITS, "digit7.npy"))
    image = [("float32", shape, list(struct.unpack("<64f", raw)))]
    e.equal("an aligned input", image)
    e.equal("an input that is not aligned", image, skip=4)
    size, got = e.call(image)
    p = struct.unpack("<10f", got[0][1])
    check(p.index(max(p)) == 7, "digits: a 7 is read as 7")
    e.refuses("another shape", [("float32", (1, 1, 8, 9), [0.0] * 72)], 6, "parameter 'image' of function 'main'")
    e.refuses("another rank", [("float32", (1, 64), [0.0] * 64)], 6, "parameter 'image'")
    needed = run("nm", "-u", "--format=posix", e.program).stdout.split("\n")
    names = {line.split("@")[0].split()[0] for line in needed if line.strip()}
    check(not [n for n in names if n.startswith(("tn", "dl", "pthread", "malloc")) and n != "malloc"], "digits: no other library is needed")
    stripped = path("digits.stripped")
    run("strip", "-o", stripped, e.program)
    print(f"  digits: a program of {os.path.getsize(stripped)} bytes, a workspace of {size}")


@case
def same_as_c():
    """What --emit=c writes is compiled by gcc and clang without a warning, is pedantic C++ where programs see it, and is the same
    from one time to the next."""
    model = os.path.join(DIGITS, "digits.onnx")
    for folder in ("c1", "c2"):
        r = tenon("compile", model, "--emit=c", "-o", path(folder), "-j", 1 if folder == "c1" else 2)
        check(r.returncode == 0, f"--emit=c into {folder}", r)
    files = sorted(os.listdir(path("c1")))
    check(files == sorted(os.listdir(path("c2"))) and
          all(open(os.path.join(path("c1"), f), "rb").read() == open(os.path.join(path("c2"), f), "rb").read() for f in files),
          "--emit=c: the same bytes")
    check({"digits.c", "digits.h", "digits.flags", "digits_constants.c", "tenon_aot.h", "tenon_aot_packed.h", "tenon_aot_run.h"} <= set(files),
          f"--emit=c: the files {files}")
    for cc in ("gcc", "clang"):
        if not shutil.which(cc):
            continue
        sources = [f for f in files if f.endswith(".c")]
        r = run(cc, "@digits.flags", "-Wall", "-Wextra", "-Werror", "-c", "digits.c", cwd=path("c1"))
        check(r.returncode == 0, f"{cc}: no warning of the host's C", r)
        r = run(cc, "@digits.flags", '-DMODEL_H="digits.h"', "-DMODEL=digits", "-DFUNCTION=digits_main", CALL, *sources, "-I.", "-lm",
                "-o", "call", cwd=path("c1"))
        check(r.returncode == 0, f"{cc} @digits.flags *.c", r)
        raw = write("zeros", bytes(256))
        r = run("./call", "out", 0, "1,1,8,8:" + raw, cwd=path("c1"))
        check(r.returncode == 0 and r.stdout.endswith("1,10\n"), f"{cc}: it runs", r)
    for cxx in ("g++", "clang++"):
        if shutil.which(cxx):
            r = run(cxx, "-std=c++11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-xc++", "digits.h", cwd=path("c1"))
            check(r.returncode == 0 or "pragma once" in r.stderr, f"{cxx}: the header is C++", r)
    small = module("small", """    @R.function
    def main(x: R.Tensor((4,), "float32")):
        return R.exp(x)
""")
    shapes = module("shapes", """    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        n = T.int64()
        return R.shape([n * n * 4611686018427387904 - 5])
""")
    for kind, suffix in (("c", ".c"), ("obj", ".o")):
        counts = []
        for m in (model, small):
            r = tenon("compile", m, "--emit", kind, "--prefix", "again", "-o", path("again"))
            check(r.returncode == 0, f"--emit={kind} of {os.path.basename(m)}", r)
            counts.append(len([f for f in os.listdir(path("again")) if f.startswith("again_kernels_") and f.endswith(suffix)]))
        check(counts[0] > counts[1], f"--emit={kind}: kernels of what was there before are gone: {counts}")
    for kind, left in (("c", r"\.c|\.h|\.flags"), ("obj", r"\.o|\.h"), ("static-lib", r"\.a|\.h"), ("obj", r"\.o|\.h"), ("c", r"\.c|\.h|\.flags")):
        tenon("compile", small, "--emit", kind, "--prefix", "again", "-o", path("again"))
        others = [f for f in os.listdir(path("again")) if "again" in f and not re.fullmatch(rf".*({left})", f)]
        check(not others, f"--emit={kind} leaves nothing of another kind: {others}")
    tenon("compile", shapes, "--emit=c", "-o", path("shapes"))
    for cc in ("gcc", "clang"):
        if shutil.which(cc):
            r = run(cc, "@shapes.flags", "-Wall", "-Wextra", "-Werror", "-c", "shapes.c", cwd=path("shapes"))
            check(r.returncode == 0, f"{cc}: no warning of checked arithmetic", r)
    r = tenon("compile", model, "--emit=obj", "-o", path("objects"))
    objects = [f for f in os.listdir(path("objects")) if f.endswith(".o")] if r.returncode == 0 else []
    check("digits.o" in objects and "digits_constants.o" in objects and os.path.exists(path("objects/digits.h")),
          f"--emit=obj: {objects}", r)


@case
def openmp():
    """Kernels whose loops are worth a team share them."""
    model = module("matmul", """    @R.function
    def main(x: R.Tensor((192, 256), "float32"), w: R.Tensor((256, 256), "float32")):
        y = R.matmul(x, w)
        return R.nn.softmax(y, axis=-1)
""")
    inputs = [("float32", (192, 256), drawn("float32", (192, 256), 1)), ("float32", (256, 256), drawn("float32", (256, 256), 2))]
    Emitted(model, "matmul").equal("one thread", inputs)
    r = tenon("compile", model, "--emit=c", "-o", path("omp_c"))
    check(r.returncode == 0, "--emit=c of a product", r)
    e = Emitted(model, "omp")
    sources = [f for f in os.listdir(path("omp_c")) if f.endswith(".c")]
    r = run(*CC, "-fopenmp", "@matmul.flags", '-DMODEL_H="matmul.h"', "-DMODEL=matmul", "-DFUNCTION=matmul_main", CALL, *sources, "-I.", "-lm",
            "-o", e.program, cwd=path("omp_c"))
    if "cannot find" in r.stderr:
        print("  no OpenMP here: not tried")
        return
    check(r.returncode == 0, "-fopenmp", r)
    e.equal("with OpenMP", inputs, before=("env", "OMP_NUM_THREADS=3"))


@case
def symbols():
    e = Emitted(module("symbols", """    @R.function
    def main(x: R.Tensor(("n", 8), "float32"), y: R.Tensor(("m",), "float32")) -> R.Tuple(R.Tensor(("n * 2", 4), "float32"), R.Tensor(("m + n",), "float32")):
        n = T.int64()
        m = T.int64()
        a: R.Tensor((n, 8), "float32") = R.exp(x)
        b: R.Tensor((n * 2, 4), "float32") = R.reshape(a, R.shape([n * 2, 4]))
        s: R.Tensor((n,), "float32") = R.sum(x, axis=[1])
        c: R.Tensor((m + n,), "float32") = R.concat((y, s), axis=0)
        return (b, c)
    @R.function
    def twice(x: R.Tensor(("n", "n"), "int64"), k: R.Prim("int64")) -> R.Tuple(R.Tensor(("n", "n"), "int64"), R.Prim("int64"), R.Shape(["n", 7])):
        n = T.int64()
        y: R.Tensor((n, n), "int64") = R.add(x, x)
        return (y, R.prim_value(n * 3), R.shape([n, 7]))
"""), "symbols")
    sizes = []
    for n, m in ((1, 1), (3, 5), (200, 7), (0, 2), (0, 0)):
        sizes.append(e.equal(f"n = {n}, m = {m}", [("float32", (n, 8), drawn("float32", (n, 8), n)),
                                                  ("float32", (m,), drawn("float32", (m,), m))]))
    check(sizes[0] < sizes[2], f"symbols: the workspace grows with the extents: {sizes}")
    e = Emitted(e.model, "square", function="twice")
    size, got = e.call([("int64", (2, 2), [1, 2, 3, 4]), ("int64", (), [5])])
    check(got == [((2, 2), struct.pack("<4q", 2, 4, 6, 8)), ((), struct.pack("<q", 6)), ((2,), struct.pack("<2q", 2, 7))],
          f"square: numbers and shapes are results: {got}")
    e.refuses("extents that have to be equal", [("int64", (2, 3), [0] * 6), ("int64", (), [5])], 6, "parameter 'x' of function 'twice'")


@case
def branches():
    """Either side of a condition that is data, one in another, functions called in both."""
    e = Emitted(module("branches", """    @R.function
    def main(c: R.Tensor((), "bool"), d: R.Tensor((), "bool"), x: R.Tensor(("n", 8), "float32")) -> R.Tensor(("n", 8), "float32"):
        n = T.int64()
        cls = Module
        if c:
            a: R.Tensor((n, 8), "float32") = cls.longer(x)
            y: R.Tensor((n, 8), "float32") = R.multiply(a, R.const(3.0, "float32"))
        else:
            if d:
                b: R.Tensor((n, 8), "float32") = R.exp(x)
                z: R.Tensor((n, 8), "float32") = R.subtract(b, x)
            else:
                z: R.Tensor((n, 8), "float32") = x
            y: R.Tensor((n, 8), "float32") = R.add(z, x)
        return R.negative(y)
    @R.function(private=True)
    def longer(x: R.Tensor(("n", 8), "float32")) -> R.Tensor(("n", 8), "float32"):
        n = T.int64()
        y: R.Tensor((n * 2, 8), "float32") = R.concat((x, R.exp(x)), axis=0)
        z: R.Tensor((n * 2, 8), "float32") = R.add(y, y)
        return R.strided_slice(z, axes=[0], begin=[0], end=[n])
"""), "branches")
    for c in (0, 1):
        for d in (0, 1):
            e.equal(f"c = {c}, d = {d}", [("bool", (), [c]), ("bool", (), [d]), ("float32", (5, 8), drawn("float32", (5, 8), 3))])


def sides_text(r, depth, conditions, indent, leaves, taken):
    """Text that sets y by conditions within conditions; a leaf takes one number of elements or any. leaves: {conditions: number or None}"""
    pad = " " * indent
    if not conditions or (depth and r.random() < 0.3):
        n = r.choice([4, 8, None])
        leaves.append((dict(taken), n))
        k = len(leaves)
        cast = f"R.match_cast(x, R.Tensor(({n},), 'float32'))" if n else "x"
        return (f"{pad}a{k} = {cast}\n{pad}b{k} = R.strided_slice(R.exp(a{k}), axes=[0], begin=[0], end=[4])\n"
                f"{pad}c{k} = R.match_cast(b{k}, R.Tensor((4,), 'float32'))\n{pad}y: R.Tensor((4,), 'float32') = R.multiply(c{k}, R.const({k}.0, 'float32'))\n")
    c, rest = conditions[0], conditions[1:]
    return (f"{pad}if {c}:\n" + sides_text(r, depth + 1, rest, indent + 4, leaves, {**taken, c: 1}) +
            f"{pad}else:\n" + sides_text(r, depth + 1, rest, indent + 4, leaves, {**taken, c: 0}))


@case
def sides():
    """Sides of conditions that are data, which take some shapes and refuse others: the side that is not taken refuses nothing."""
    names = ["c", "d", "e"]
    for seed in range(20 if os.environ.get("TENON_LONG") else 4):
        r, leaves = random.Random(seed), []
        body = sides_text(r, 0, names, 8, leaves, {})
        e = Emitted(module(f"sides{seed}", "    @R.function\n    def main(c: R.Tensor((), 'bool'), d: R.Tensor((), 'bool'), e: R.Tensor((), 'bool'), "
                           f"x: R.Tensor(('n',), 'float32')) -> R.Tensor((4,), 'float32'):\n{body}        return y\n"), f"sides{seed}")
        for bits in range(8):
            given = {c: bits >> i & 1 for i, c in enumerate(names)}
            takes = next(n for taken, n in leaves if all(given[c] == v for c, v in taken.items()))
            for n in (4, 8):
                inputs = [("bool", (), [given[c]]) for c in names] + [("float32", (n,), drawn("float32", (n,), 3))]
                if takes in (None, n):
                    e.equal(f"{given}, {n} elements", inputs)
                else:
                    e.refuses(f"{given}, {n} elements where {takes} are taken", inputs, 1, "match_cast")


@case
def many_branches():
    """Forty conditions one after another, and twenty within each other: what is written grows with their number."""
    text, x = "", "x"
    for i in range(40):
        text += (f"        if c:\n            a{i} = R.exp({x})\n            y{i}: R.Tensor((4,), 'float32') = R.negative(a{i})\n"
                 f"        else:\n            y{i}: R.Tensor((4,), 'float32') = R.add({x}, R.const({i}.0, 'float32'))\n")
        x = f"y{i}"
    for i in range(20):
        pad = " " * (8 + 4 * i)
        text += f"{pad}if c:\n{pad}    z: R.Tensor((4,), 'float32') = R.add({x}, R.const({i}.0, 'float32'))\n{pad}else:\n"
    text += f"{' ' * 88}z: R.Tensor((4,), 'float32') = R.multiply({x}, x)\n"
    e = Emitted(module("many_branches", "    @R.function\n    def main(c: R.Tensor((), 'bool'), x: R.Tensor((4,), 'float32')) -> R.Tensor((4,), 'float32'):\n"
                       + text + "        return z\n"), "many_branches")
    for c in (0, 1):
        e.equal(f"c = {c}", [("bool", (), [c]), ("float32", (4,), drawn("float32", (4,), 3))])


@case
def loops():
    """Turns that data decide, and a value that is kept from the first turn to the last."""
    e = Emitted(module("loops", """    @R.function
    def main(x: R.Tensor((600,), "float32"), limit: R.Tensor((), "float32")) -> R.Tuple(R.Tensor((600,), "float32"), R.Tensor((600,), "float32")):
        cls = Module
        y: R.Tuple(R.Tensor((600,), "float32"), R.Tensor((600,), "float32")) = cls.step(x, x, limit)
        return y
    @R.function(private=True)
    def step(v: R.Tensor((600,), "float32"), first: R.Tensor((600,), "float32"), limit: R.Tensor((), "float32")) -> R.Tuple(R.Tensor((600,), "float32"), R.Tensor((600,), "float32")):
        cls = Module
        s: R.Tensor((), "float32") = R.sum(v)
        go: R.Tensor((), "bool") = R.less(s, limit)
        if go:
            w: R.Tensor((600,), "float32") = R.multiply(v, R.const(1.5, "float32"))
            u: R.Tensor((600,), "float32") = R.add(w, R.multiply(first, R.const(0.001, "float32")))
            r: R.Tuple(R.Tensor((600,), "float32"), R.Tensor((600,), "float32")) = cls.step(u, w, limit)
        else:
            r: R.Tuple(R.Tensor((600,), "float32"), R.Tensor((600,), "float32")) = (v, first)
        return r
"""), "loops")
    sizes = {e.equal(f"up to {limit}", [("float32", (600,), drawn("float32", (600,), 4, 0.5, 1)), ("float32", (), [limit])])
             for limit in (0.0, 500.0, 1e5, 1e12)}
    check(len(sizes) == 1, f"loops: the workspace does not depend on the number of turns: {sizes}")
    e = Emitted(os.path.join(SRC, "tests", "runtime", "modules", "loop.py"), "counted")
    e.equal("six turns", [("float32", (3,), [1.0, -2.0, 3.0])])


@case
def indices():
    """Those that come as data are looked at."""
    e = Emitted(module("indices", """    @R.function
    def main(x: R.Tensor((5, 3), "float32"), i: R.Tensor((2,), "int64")) -> R.Tensor((2, 3), "float32"):
        return R.take(x, i, axis=0)
"""), "indices")
    x = ("float32", (5, 3), drawn("float32", (5, 3), 5))
    e.equal("in range", [x, ("int64", (2,), [4, -1])])
    e.refuses("out of range", [x, ("int64", (2,), [4, 5])], 9, "kernel 'indices_")


@case
def messages():
    """What went wrong is told without a workspace, too: its size follows from a run that fails in the same way."""
    x = ("float32", (4,), [0.0] * 4)
    asserts = Emitted(module("asserts", """    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32")):
        y = R.assert_op(R.const(False), format="it never holds")
        return x
"""), "asserts")
    matches = Emitted(module("matches", """    @R.function
    def main(x: R.Tensor(ndim=2, dtype="float32")):
        n = T.int64()
        y = R.match_cast(x, R.Tensor((n, n), "float32"))
        return R.exp(y)
"""), "matches")
    for skip in (0, 4):  # an input that is copied into the workspace
        r, got = asserts.call([x], skip)
        check(got is None and "status 1: it never holds" in r.stderr, f"asserts: the text, inputs {skip} bytes off", r if got is None else None)
        r, got = matches.call([("float32", (2, 3), [0.0] * 6)], skip)
        check(got is None and "status 6: a value in function 'main'" in r.stderr, f"matches: the place, inputs {skip} bytes off", r if got is None else None)
    r, got = matches.call([("float32", (1,) * 8, [0.0])])
    check(got is None and re.search(r"status 6: \w", r.stderr), "matches: a status without a place has a text", r if got is None else None)


@case
def two_models():
    """In one program, with functions and kernels of the same names."""
    text = """    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return R.{}(x, x)
"""
    for name, op in (("plus", "add"), ("times", "multiply")):
        r = tenon("compile", module("model", text.format(op)), "--emit=static-lib", "--prefix", name, "-o", path("two"))
        check(r.returncode == 0, f"two models: {name}", r)
    write("two/main.c", """#include "plus.h"
#include "times.h"
#include <stdio.h>
int main(void)
{
    float x[4] = {1, 2, 3, 4}, y[4], z[4];
    char workspace[4096];
    tenon_tensor in = plus_main_inputs[0], out = {.data = y, .bytes = sizeof y};
    in.data = x;
    if (plus_main(&in, &out, workspace, sizeof workspace))
        return 1;
    out.data = z;
    if (times_main(&in, &out, workspace, sizeof workspace))
        return 2;
    if (TENON_STATUS(times_main(&in, &out, workspace, 3)) != TENON_NO_MEMORY)
        return 3;
    out.bytes = 15;
    if (TENON_STATUS(times_main(&in, &out, workspace, sizeof workspace)) != TENON_SHAPE)
        return 4;
    printf("%g %g\\n", y[3], z[3]);
    return 0;
}
""")
    r = run(*CC, path("two/main.c"), "-L" + path("two"), "-lplus", "-ltimes", "-lm", "-o", path("two/main"))
    r = r if r.returncode else run(path("two/main"))
    check(r.returncode == 0 and r.stdout == "8 16\n", "two models in one program", r)


@case
def refusals():
    model = os.path.join(DIGITS, "digits.onnx")
    refused("another kind", tenon("compile", model, "--emit=asm", "-o", path("no")), "asm", "static-lib")
    refused("no folder", tenon("compile", model, "--emit=c"), "-o")
    refused("a prefix that is no identifier", tenon("compile", model, "--emit=c", "--prefix", "a-b", "-o", path("no")), "a-b")
    refused("several targets", tenon("compile", model, "--emit=c", "-t", "cpu,null", "-o", path("no")), "one target")
    refused("a target without C", tenon("compile", model, "--emit=c", "-t", "null", "-o", path("no")), "null")
    refused("the processor of another machine", tenon("compile", model, "--mcpu", "cortex-a72", "-o", path("no.tno")), "cortex-a72")
    refused("a compiler that is not there",
            tenon("compile", model, "--emit=obj", "--mtriple", "riscv64-none-elf", "--set", "target.cpu.cc=no-such-gcc", "-o", path("no")),
            "no-such-gcc", "gcc-riscv64-none-elf")
    count = module("count", """    @R.function
    def main(x: R.Tensor((7,), "float32")) -> R.Tensor(dtype="int64", ndim=2):
        return R.nonzero(x)
""")
    r = tenon("compile", count, "--emit=c", "-o", path("no"))
    refused("memory that depends on data", r, "function 'main', instruction", "depends on elements", "kernel '")
    packed = module("packed", """    @R.function
    def main(x: R.Tensor((7,), "float32")) -> R.Tensor((7,), "float32"):
        y = R.call_pure_packed("site.odd", x, ty_args=R.Tensor((7,), "float32"))
        return y
""")
    refused("a packed function", tenon("compile", packed, "--emit=c", "-o", path("no")), "'site.odd'", "function 'main', instruction")
    check(not os.path.exists(path("no/packed.c")), "nothing is written for what is refused")


@case
def names():
    """Functions and kernels that would have one name in C are refused; a kernel's name may be long; names that the generated C uses are
    no prefix, and those of files get a letter in front."""
    function = """    @R.function
    def {}(x: R.Tensor((4,), "float32")):
        return R.{}(x)
"""
    kernel = """    @T.prim_func(private=True)
    def {0}(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("b"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi] * T.float32(2)
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        cls = Module
        return R.call_tir(cls.{0}, (x,), out_sinfo=R.Tensor((4,), "float32"))
"""
    for name in ("main_inputs", "main_outputs", "main_workspace", "message", "constants"):
        model = module("two", function.format("main", "exp") + function.format(name, "log"))
        refused(f"a function '{name}'", tenon("compile", model, "--emit=c", "-o", path("no")), f"two_{name}", f"function '{name}'", "hint")
        refused(f"a kernel '{name}'", tenon("compile", module("one", kernel.format(name)), "--emit=c", "-o", path("no")), f"one_{name}",
                f"kernel '{name}'", "hint")
    x = [("float32", (4,), [1.0, 2.0, 3.0, 4.0])]
    Emitted(module("own", function.format("main", "exp") + function.format("main_kinds", "log") + function.format("main_entry", "negative")),
            "own").equal("functions with names of details", x)
    Emitted(module("long", kernel.format("k" * 5000)), "long").equal("a kernel with a long name", x)
    long = "a_model_with_a_long_name_" * 8
    Emitted(module(long, function.format("main", "exp")), long).equal("a prefix longer than kernels' names get", x)
    for name in ("tenon", "tenon_aot", "tnb_kernel", "tk", "math", "stdint", "string"):
        refused(f"prefix '{name}'", tenon("compile", model, "--emit=c", "--prefix", name, "-o", path("no")), f"'{name}'", f"'m{name}' can")
        r = tenon("compile", module(name, function.format("run", "exp") + function.format("main", "log")), "--emit=static-lib", "-o", path(name))
        check(r.returncode == 0 and os.path.exists(path(f"{name}/libm{name}.a")), f"a model called {name}", r)
    for name, prefix in (("-x", "m_x"), ("%s", "m_s"), ("\xe9", "m__"), ("9", "m9"), ("a b", "a_b")):
        r = tenon("compile", module(name, function.format("main", "exp")), "--emit=c", "-o", path("odd"))
        check(r.returncode == 0 and os.path.exists(path(f"odd/{prefix}.h")), f"a model called '{name}' gets the prefix {prefix}", r)


@case
def kept():
    """A folder stays as it is when the emission of another model under the same name fails: no header of one model beside objects of the other."""
    other = module("other", """    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
        return R.add(x, y)
""")
    refused_model = module("counted", """    @R.function
    def main(x: R.Tensor((7,), "float32")) -> R.Tensor(dtype="int64", ndim=2):
        return R.nonzero(x)
""")
    failing = write("failing-cc", f"""#!/bin/sh
case "$*" in
*net_constants*) echo "no space left" >&2; exit 1 ;;
esac
exec {CC[0]} "$@"
""")
    os.chmod(failing, 0o755)

    def held(folder):
        return {f: open(os.path.join(folder, f), "rb").read() for f in os.listdir(folder)} if os.path.isdir(folder) else {}
    for emit in ("c", "obj", "static-lib"):
        for there in (True, False):
            folder = path(f"kept-{emit}-{there}")
            if there:
                r = tenon("compile", os.path.join(DIGITS, "digits.onnx"), f"--emit={emit}", "--prefix", "net", "-o", folder)
                check(r.returncode == 0, f"--emit={emit}", r)
            before = held(folder)
            refused(f"--emit={emit} of a model that is refused", tenon("compile", refused_model, f"--emit={emit}", "--prefix", "net", "-o", folder), "main")
            check(held(folder) == before, f"--emit={emit} of a model that is refused leaves {sorted(before)}, not {sorted(held(folder))}")
            if emit != "c":
                refused(f"--emit={emit} with a compiler that fails",
                        tenon("compile", other, f"--emit={emit}", "--prefix", "net", "-o", folder, "--set", f"target.cpu.cc={failing}"), "no space left")
                check(held(folder) == before, f"--emit={emit} with a compiler that fails leaves {sorted(before)}, not {sorted(held(folder))}")


@case
def machines():
    model = os.path.join(DIGITS, "digits.onnx")
    for emit in ("c", "obj", "static-lib"):
        for triple, *texts in (("bogus-linux", "'bogus' is no architecture", "aarch64-linux-gnu"), ("aarch46-linux-gnu", "did you mean 'aarch64'"),
                               ("aarch64-lunix-gnu", "'gnu' is no system"), ("aarch64-lunix", "did you mean 'linux'"), ("aarch64", "system"), ("aarch64-linux-gnuu", "did you mean 'gnu'"),
                               ("s390x-linux-gnu", "lowest byte first"), ("aarch64_be-linux-gnu", "lowest byte first"), ("no_such_thing", "'no_such_thing'")):
            refused(f"--emit={emit} for {triple}", tenon("compile", model, f"--emit={emit}", "--mtriple", triple, "-o", path("machine")), f"mtriple is '{triple}'", *texts)
    check(not os.path.exists(path("machine")), "nothing is written for an unknown machine")
    for triple in ("aarch64-linux-gnu", "arm-none-eabi", "x86_64-w64-mingw32", "riscv64-unknown-linux-musl", "aarch64-apple-darwin23.1", "x86_64-pc-linux-gnu",
                   "aarch64-poky-linux", "arm-linux-gnueabihf", "aarch64-linux-android30", "x86_64-linux-gnux32", "i686-linux-gnu", "x86_64-unknown-freebsd14.1"):
        r = tenon("compile", model, "--emit=c", "--mtriple", triple, "-o", path("machine"))
        check(r.returncode == 0 and "warning" not in r.stderr, f"--emit=c for {triple}", r)
    for options in (("--mtriple", "aarch64-linux-gnu"), ("--mcpu", "generic")):
        refused(f"features with {options}", tenon("compile", model, "--emit=c", "-o", path("no"), *options, "--set", "target.cpu.features=avx2"), "'features' has no effect", "mcpu")
    settings = write("machine.ini", "[target cpu]\nvector_bytes = 16\nmtriple = bogus-linux\n")
    for command in (("check-config",), ("compile", model, "-o", path("no.tno"))):
        refused(f"{command[0]} of an unknown machine", tenon(*command, "--config", settings), "mtriple is 'bogus-linux'", "machine.ini:")
    for text, today in (("mtriple = bogus-linux", "cannot be used: target cpu: mtriple is 'bogus-linux'"), ("mcpu = bogus", "cannot be used: target cpu: mcpu is 'bogus'"),
                        ("mtriple = aarch64-linux-gnu", "makes C and objects for aarch64-linux-gnu (tenon compile --emit)")):
        r = tenon("list", "targets", "--config", write("machine.ini", f"[target mine]\nkind = cpu\n{text}\n"))
        check(r.returncode == 0 and re.search(rf"^mine .*{re.escape(today)}", r.stdout, re.M) and not r.stderr, f"list targets says of {text}: {today}", r)
    refused("an artifact for another machine", tenon("compile", model, "-o", path("no.tno"), "--set", "target.cpu.mtriple=aarch64-linux-gnu"), "aarch64-linux-gnu", "--emit")

    # compilers: none, one without a C library, one of the machine's own
    tools = path("tools")
    os.makedirs(tools, exist_ok=True)
    alone = {"PATH": tools, "CC": ""}
    r = tenon("compile", model, "--emit=c", "--mtriple", "aarch64-linux-gnu", "--mcpu", "cortex-a72x", "-o", path("machine"), env=alone)
    check(r.returncode == 0 and "no compiler for aarch64-linux-gnu" in r.stderr and "'cortex-a72x'" in r.stderr, "a processor that nothing here can look at: said", r)
    refused("no compiler", tenon("compile", model, "--emit=obj", "--mtriple", "aarch64-unknown-linux-gnu", "-o", path("machine"), env=alone),
            "neither aarch64-unknown-linux-gnu-gcc nor clang", "apt-get install gcc-aarch64-linux-gnu", "`cc`")
    write("tools/clang", """#!/bin/sh
case "$*" in
*--version*) echo "clang version 14" ;;
*--print-supported-cpus*) printf 'Available CPUs for this target:\\n\\n\\tcortex-a710\\n\\tcortex-a72\\n\\tcortex-x2\\n' ;;
*-mcpu=cortex-a72\\ *) ;;
*-mcpu=*) echo "clang: error: unsupported -mcpu" >&2; exit 1 ;;
*math.h*) echo "math.h: file not found" >&2; exit 1 ;;
esac
""")
    os.chmod(path("tools/clang"), 0o755)
    for emit in ("c", "obj"):
        refused(f"--emit={emit} for an unknown processor", tenon("compile", model, f"--emit={emit}", "--mtriple", "aarch64-linux-gnu", "--mcpu", "cortex-a72x", "-o", path("machine"), env=alone),
                "mcpu is 'cortex-a72x'", "clang: error: unsupported -mcpu", "did you mean 'cortex-a72'", "--print-supported-cpus")
    refused("a compiler without a C library", tenon("compile", model, "--emit=static-lib", "--mtriple", "aarch64-linux-gnu", "--mcpu", "cortex-a72", "-o", path("machine"), env=alone),
            "no headers of its C library", "math.h: file not found", "apt-get install gcc-aarch64-linux-gnu", "`cc`", "clang --target=aarch64-linux-gnu --sysroot=", "--emit=c")
    # compilers that are none
    for cc, *texts in (("false", "failed with status 1", "it wrote no message; it was run as: ", "/false ", "`cc` in the [target cpu] section"), ("true", "ended with status 0, without "),
                       ("/etc/passwd", "cc = /etc/passwd", "no such program can be run"), ("no-such-gcc", "cc = no-such-gcc", "no such program can be run")):
        for output in (("-o", path("no.tno")), ("--emit=obj", "-o", path("machine"))):
            refused(f"cc = {cc} with {output[0]}", tenon("compile", model, "--no-cache", *output, "--set", f"target.cpu.cc={cc}"), *texts)
            if not cc.startswith(("/", "no")):
                refused(f"CC={cc} with {output[0]}", tenon("compile", model, "--no-cache", *output, env={"CC": cc}), *texts)
    write("tools/odd-lunix-gcc", "#!/bin/sh\nexit 0\n")
    os.chmod(path("tools/odd-lunix-gcc"), 0o755)
    r = tenon("compile", model, "--emit=c", "--mtriple", "odd-lunix", "-o", path("machine"), env=alone)
    check(r.returncode == 0, "a machine that a compiler is named after needs no known name", r)


@case
def aarch64():
    gcc, qemu = shutil.which("aarch64-linux-gnu-gcc"), shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")
    if not gcc or not qemu:
        print("  no gcc-aarch64-linux-gnu and qemu-user here: not tried")
        return
    e = Emitted(os.path.join(DIGITS, "digits.onnx"), "arm", "--mtriple", "aarch64-linux-gnu", "--mcpu", "cortex-a72", cc=[gcc],
                flags=["-static"])
    shape, raw = read_raw(os.path.join(DIGITS, "digit7.npy"))
    size, got = e.call([("float32", shape, list(struct.unpack("<64f", raw)))], before=(qemu,))
    check(got is not None, "arm: it runs", size if got is None else None)
    if got:
        p = struct.unpack("<10f", got[0][1])
        r, want = e.expected([("float32", shape, list(struct.unpack("<64f", raw)))])
        q = struct.unpack("<10f", want[0][1])
        check(max(abs(a - b) for a, b in zip(p, q)) < 1e-5, f"arm: a 7 is read as 7: {p}")


@case
def models():
    if not os.path.isdir(MODELS):
        print("  no models here: not tried")
        return
    mnist = Emitted(os.path.join(MODELS, "mnist", "model.onnx"), "mnist")
    mnist.equal("random pixels", [("float32", (1, 1, 28, 28), drawn("float32", (1, 1, 28, 28), 6))])
    run("strip", mnist.program)
    size = os.path.getsize(mnist.program)
    libraries = re.findall(r"NEEDED.*\[(.*?)\]", run("readelf", "-d", mnist.program).stdout)
    check(size < 150 << 10 and set(libraries) <= {"libc.so.6", "libm.so.6"}, f"mnist: a program of {size} bytes with {libraries}")
    for name, inputs in (
            ("tfl_helloworld_sine", [("float32", (1, 1))]),
            ("cnn_mnist_pytorch", [("float32", (1, 1, 28, 28))]),
            ("yunet_n_dynamic", [("float32", (1, 3, 64, 96))]),
            ("silero_vad_op18_ifless", [("float32", (1, 512)), ("int64", ()), ("float32", (2, 1, 128))])):
        drawn_inputs = [(d, s, [16000] if d == "int64" else drawn(d, s, i)) for i, (d, s) in enumerate(inputs)]
        Emitted(os.path.join(MODELS, name, "model.onnx"), name).equal("random inputs", drawn_inputs)


def without_warning(model, name, *options):
    """What --emit=c writes, kernels and all, by both compilers."""
    folder = path(name)
    r = tenon("compile", model, "--emit=c", "--prefix", "m", "-o", folder, *options)
    check(r.returncode == 0, f"--emit=c of {name}", r)
    sources = [f for f in sorted(os.listdir(folder)) if f.endswith(".c")]
    for cc in ("gcc", "clang"):
        if shutil.which(cc) and r.returncode == 0:
            for f in sources:
                c = run(cc, "@m.flags", "-Wall", "-Wextra", "-Werror", "-c", f, "-o", os.devnull, cwd=folder)
                check(c.returncode == 0, f"{name}: {cc} -Wall -Wextra {f}", c)


@case
def warnings():
    """Nothing that is written brings a warning, of the models of the cases before and of forms that they lack."""
    without_warning(os.path.join(DIGITS, "digits.onnx"), "w_digits")
    head = """    @R.function
    def main(x: R.Tensor(("n",), "float32"), s: R.Shape(["a", "b"])):
        n = T.int64()
        a = T.int64()
        b = T.int64()
"""
    extents = "n // (n - 1)", "n % (a - 1)", "T.max(n, 3) * 3000000000", "n * n * a * b", "T.min(n, a) // b"
    without_warning(module("extents", head + "".join(f"        y{i} = R.zeros(({e},), 'float32')\n" for i, e in enumerate(extents)) +
                           "        return (" + ", ".join(f"R.exp(y{i})" for i in range(len(extents))) + ", R.shape([n // a, n % b]))\n"), "w_extents")
    without_warning(module("turns", """    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        y: R.Tensor((4,), "float32") = cls.main(x)
        return y
"""), "w_turns")
    unary = "exp log tanh sigmoid erf sin cos sqrt rsqrt round floor abs negative".split()
    for dtype in ("float32", "float64", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"):
        body = "".join(f"        y{i} = R.{op}(x)\n" for i, op in enumerate(unary)) if "8" not in dtype else "        y0 = R.add(x, x)\n"
        body += "        z = R.astype(x, 'float32')\n        w = R.astype(z, 'int8')\n"
        values = ", ".join(f"y{i}" for i in range(body.count("        y")))
        without_warning(module("unary_" + dtype, f"    @R.function\n    def main(x: R.Tensor((37,), '{dtype}')):\n{body}        return ({values}, w)\n"),
                        "w_unary_" + dtype)
    for dtype in ("int8", "uint8", "int16", "int32", "int64", "uint64", "bool", "int4"):
        ops = "logical_and logical_or".split() if dtype == "bool" else "add multiply floor_divide mod maximum".split()
        body = "".join(f"        y{i} = R.{op}(x, z)\n" for i, op in enumerate(ops))
        values = ", ".join(f"y{i}" for i in range(len(ops)))
        without_warning(module("binary_" + dtype, f"    @R.function\n    def main(x: R.Tensor((37,), '{dtype}'), z: R.Tensor((37,), '{dtype}')):\n{body}"
                               f"        return ({values})\n"), "w_binary_" + dtype)
    for i, (model, options) in enumerate(Emitted.models.items()):
        if "aarch64-linux-gnu" not in options:
            without_warning(model, f"w_{i}_{os.path.basename(os.path.dirname(model))[:20]}", *options)


for name, f in cases.items():
    if len(sys.argv) == 1 or name in sys.argv[1:]:
        print(f"== {name}", flush=True)
        f()
done()
