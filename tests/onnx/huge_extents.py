# SPDX-License-Identifier: Apache-2.0
"""Models of one operator whose extents are huge end in a result or a message, whatever the operator.

    huge_extents.py [--keep DIR] [--count N] [--seed S] [--target T] [FILTER...]

The models are the cases of cases.txt and of the system package's node tests, so that every operator of the importer is
met with attributes that suit it; here the extents of their inputs and the numbers in their constants (shapes, repeats,
pads, starts) become what no memory holds, what overflows when multiplied, or nothing. Each compiles in a few seconds, with
at most 6 GB of address space, and ends with status 0, or with status 1 and a message. A sample drawn by the seed; all
with TENON_LONG.
"""
import argparse
import glob
import math
import os
import random
import re
import resource
import subprocess
import sys
import tempfile

LIMIT = 6 << 30
HUGE = [2**31 - 1, 2**31, 2**32, 2**40, 10**12, 2**61, 2**62, 2**63 - 1, 3037000500]
SMALL = [0, 1, 2, 65536]
# Sanitizers map terabytes; their allocator keeps the limit (ASAN_OPTIONS) instead.
with open(os.path.join(os.environ["top_builddir"], "Makefile")) as makefile:
    SANITIZED = "-fsanitize=address" in makefile.read()


# ---- protobuf's wire format: a message as a list of (field, kind, value) ----

def varint(data, at):
    v = shift = 0
    while True:
        b = data[at]
        at += 1
        v |= (b & 127) << shift
        shift += 7
        if b < 128:
            return v, at


def fields(data):
    out, at = [], 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            v, at = varint(data, at)
        else:
            n = {1: 8, 5: 4}.get(kind)
            if n is None:
                n, at = varint(data, at)
            v = data[at:at + n]
            at += n
        out.append((key >> 3, kind, v))
    return out


def put_varint(v):
    v &= (1 << 64) - 1
    out = bytearray()
    while v > 127:
        out.append(v & 127 | 128)
        v >>= 7
    return bytes(out + bytes([v]))


def message(parts):
    out = b""
    for field, kind, v in parts:
        out += put_varint(field << 3 | kind)
        out += put_varint(v) if kind == 0 else v if kind != 2 else put_varint(len(v)) + v
    return out


def mapped(data, field, change):
    """The message with each part `field` (a message or text) changed; None removes it."""
    out = []
    for f, kind, v in fields(data):
        if f == field and kind == 2:
            v = change(v)
            if v is None:
                continue
        out.append((f, kind, v))
    return message(out)


# ---- extents ----

class Draw:
    """One way to make a model's extents huge."""

    def __init__(self, rng):
        self.rng = rng
        self.way = rng.choice(["all", "one", "renamed", "renamed", "renamed", "product", "mixed", "constants", "both", "brim", "brim"])
        self.value = rng.choice(HUGE)
        self.names = {}  # an extent -> what it becomes everywhere

    def extent(self, i, old, chosen):
        if self.way == "renamed":
            if old not in self.names:
                self.names[old] = self.rng.choice([old, 2**31, 2**20, 2**16, 2**40, 2**47, 10**12])
            return self.names[old]
        if self.way in ("all", "both"):
            return self.value
        if self.way == "product":
            return self.rng.choice([2**32, 3037000500, 2**31, 2**21])
        if self.way == "mixed":
            return self.rng.choice(HUGE + SMALL)
        return self.value if i == chosen else None

    def value_info(self, data):
        """ValueInfoProto: name 1, type 2 { tensor 1 { elem 1, shape 2 { dim 1 { value 1, param 2 }}}}"""
        def shape(s):
            dims = [v for f, k, v in fields(s) if f == 1]
            chosen = self.rng.randrange(len(dims)) if dims else 0
            old, out = [next((x for f, k, x in fields(d) if f == 1), 0) for d in dims], []
            # the tensor alone still fits the address space, a larger one on the way to the result does not
            brim = 2**48 // self.rng.choice([1, 2, 3, 5]) // max(1, math.prod(x for i, x in enumerate(old) if i != chosen and x))
            for i, d in enumerate(dims):
                v = self.extent(i, old[i], chosen)
                if self.way == "brim" and v is not None:
                    v = brim
                out.append((1, 2, d if v is None else message([(1, 0, v)])))
            return message(out)
        return mapped(data, 2, lambda t: mapped(t, 1, lambda x: mapped(x, 2, shape)))

    def tensor(self, data):
        """TensorProto: elements of int64 become huge (raw data, 9, or int64_data, 7)."""
        parts = fields(data)
        if not any(f == 2 and v == 7 for f, k, v in parts):
            return data

        def number(old):
            v = self.rng.choice([self.value, -self.value, old, self.rng.choice(HUGE + SMALL), 2**48 // self.rng.randint(1, 4000)])
            v = old if self.rng.random() < 0.4 else v
            return v & (1 << 64) - 1
        out = []
        for f, k, v in parts:
            if f == 9 and len(v) % 8 == 0:
                v = b"".join(number(int.from_bytes(v[i:i + 8], "little")).to_bytes(8, "little")
                             for i in range(0, len(v), 8))
            elif f == 7 and k == 0:
                v = number(v)
            elif f == 7:
                at, packed = 0, b""
                while at < len(v):
                    x, at = varint(v, at)
                    packed += put_varint(number(x))
                v = packed
            out.append((f, k, v))
        return message(out)

    def node(self, data):
        """NodeProto: attributes 5 of integers (pads, strides, axes are 8; a tensor is 5)."""
        def attribute(a):
            def ints(parts):
                return [(f, k, self.value if f in (3, 8) and k == 0 and self.rng.random() < 0.5 else v) for f, k, v in parts]
            if any(f == 5 and k == 2 for f, k, v in fields(a)):
                return mapped(a, 5, self.tensor)
            return message(ints(fields(a))) if self.rng.random() < 0.3 else a
        return mapped(data, 5, attribute)

    def graph(self, data, tensors):
        """GraphProto: node 1, initializer 5, input 11, output 12. Inputs of int64 that a test gives become constants."""
        out = []
        for f, k, v in fields(data):
            if f == 1 and self.way in ("constants", "both"):
                v = self.node(v)
            elif f == 5 and self.way in ("constants", "both"):
                v = self.tensor(v)
            elif f == 11:
                name = next((x for g, _, x in fields(v) if g == 1), b"")
                if name in tensors and self.way in ("constants", "both"):
                    out.append((5, 2, self.tensor(tensors[name])))
                    continue
                if name in tensors:
                    out.append((5, 2, tensors[name]))
                    continue
                if self.way != "constants":
                    v = self.value_info(v)
            elif f == 12:
                v = mapped(v, 2, lambda t: mapped(t, 1, lambda x: message([p for p in fields(x) if p[0] != 2])))
            out.append((f, k, v))
        return message(out)


def small_ints(folder, model):
    """The tensors of int64, at most 8 elements, that the first data set gives to the model's inputs: name -> TensorProto."""
    graph = next((v for f, k, v in fields(model) if f == 7), b"")
    names = [next((x for g, _, x in fields(v) if g == 1), b"") for f, k, v in fields(graph) if f == 11]
    out = {}
    for i, name in enumerate(names):
        p = os.path.join(folder, "test_data_set_0", f"input_{i}.pb")
        if not os.path.exists(p):
            continue
        with open(p, "rb") as f:
            data = f.read()
        parts = fields(data) if len(data) < 200 else []
        if any(f == 2 and v == 7 for f, k, v in parts):
            out[name] = message([p for p in parts if p[0] != 8] + [(8, 2, name)])
    return out


def limits():
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def environment():
    """Tenon's program itself (libtool's script would be limited too), and what it needs."""
    tenon = os.environ["TENON"]
    real = os.path.join(os.path.dirname(tenon), ".libs", "tenon")
    return real if os.path.exists(real) else tenon


def compile_once(program, model, target, work, seconds):
    """What is wrong; None: nothing."""
    path = os.path.join(work, "m.onnx")
    with open(path, "wb") as f:
        f.write(model)
    words = [program, "compile", path, "-t", target, "-o", os.path.join(work, "m.tno"), "--no-cache"]
    if target == "cpu":  # what the C compiler makes of it is not the question
        words += ["--set", "target.cpu.cc=/bin/false"]
    env = dict(os.environ)
    if SANITIZED:
        env["ASAN_OPTIONS"] = env.get("ASAN_OPTIONS", "") + \
            f":allocator_may_return_null=1:max_allocation_size_mb={LIMIT >> 20}"
    try:
        r = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=seconds,
                           env=env, preexec_fn=None if SANITIZED else limits)
    except subprocess.TimeoutExpired:
        return f"not done after {seconds} s"
    if r.returncode not in (0, 1) or "Sanitizer" in r.stderr or "runtime error" in r.stderr:
        return f"exit status {r.returncode}: {r.stderr[:1500]}"
    if r.returncode == 1 and not r.stderr.strip():
        return "no message"
    if "out of memory: cannot allocate" in r.stderr:
        return "an allocation that no bound was asked for: " + r.stderr[:300]
    return None


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--keep")
    p.add_argument("--count", type=int, default=int(os.environ.get("HUGE_COUNT") or 120))
    p.add_argument("--seed", type=int, default=int(os.environ.get("TESTS_SEED") or 1))
    p.add_argument("--target", default="")
    p.add_argument("--timeout", type=float, default=20)
    p.add_argument("filters", nargs="*")
    args = p.parse_args()
    rng = random.Random(args.seed)
    work = tempfile.TemporaryDirectory(prefix="tenon-test-")
    cases = os.path.join(work.name, "cases")
    os.mkdir(cases)
    subprocess.run([os.path.join(os.environ["top_builddir"], "tests", "onnx", "write_cases"),
                    os.path.join(os.environ["top_srcdir"], "tests", "onnx", "cases.txt"), cases], check=True)
    data = os.environ.get("ONNX_TESTDATA") or "/usr/share/libonnx-testdata/data"
    folders = sorted(glob.glob(cases + "/*/")) + sorted(glob.glob(data + "/node/*/"))
    if args.filters:
        folders = [f for f in folders if any(re.search(x, f) for x in args.filters)]
    each = 6 if os.environ.get("TENON_LONG") else 1
    if not os.environ.get("TENON_LONG") and len(folders) > args.count:
        folders = rng.sample(folders, args.count)
    print(f"seed {args.seed}, {len(folders) * each} models", flush=True)
    program, bad = environment(), 0
    for folder in folders:
        with open(os.path.join(folder, "model.onnx"), "rb") as f:
            model = f.read()
        for turn in range(each):
            name = os.path.basename(os.path.dirname(folder))
            draw = Draw(random.Random(f"{args.seed} {name} {turn}"))
            tensors = small_ints(folder, model)
            changed = mapped(model, 7, lambda g: draw.graph(g, tensors))
            target = args.target or random.Random(f"{name} {turn}").choice(["cpu", "cpu", "null", "opencl"])
            wrong = compile_once(program, changed, target, work.name, args.timeout)
            if wrong:
                bad += 1
                print(f"FAIL {name} ({draw.way}, {draw.value}, turn {turn}, {target}): {wrong}", flush=True)
                if args.keep:
                    with open(os.path.join(args.keep, f"{name}-{turn}.onnx"), "wb") as f:
                        f.write(changed)
    print(f"{bad} failed")
    sys.exit(1 if bad else 0)


main()
