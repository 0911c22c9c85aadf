#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two builds of Tenon beside each other: what compiling a model and running it takes.

    bench/pairs.py --base OLD/build/tools/tenon --tenon build/tools/tenon MODEL...

A line a model: instructions of `tenon compile` with its kernels cached, instructions of a run (the difference of two numbers of
runs), and the least time of a run on one thread, of rounds that alternate. Instructions are counted by perf, valgrind's cachegrind or
QEMU's user emulation (the fastest of the two, bench/count_instructions.c). A model is a folder with model.onnx and test_data_set_0;
before anything is measured, both have to give the results that lie there. With --compile only compilation is counted, and the folder
needs no data. Kernels are compiled for --mcpu, so that an emulator knows them.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from build_tree import unwrapped


def tensor_name(message):
    """Field 8 of a serialized TensorProto."""
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
            if byte < 128:
                return value
    while at < len(message):
        field, wire = divmod(number(), 8)
        size = number() if wire in (0, 2) else {1: 8, 5: 4}[wire]
        if wire == 0:
            continue
        if field == 8:
            return message[at:at + size].decode()
        at += size
    raise ValueError("the tensor has no name")


class Build:
    """The program of a build tree, with what it needs."""

    def __init__(self, program, work, counter):
        self.top = os.path.dirname(os.path.dirname(os.path.abspath(program)))
        source = os.path.dirname(self.top)
        self.program, libraries = unwrapped(program)
        self.work, self.counter = work, counter
        os.mkdir(work)
        self.env = dict(os.environ, LD_LIBRARY_PATH=":".join(libraries), TENON_PLUGIN_PATH=os.path.join(self.top, "plugins-stage"),
                        TENON_SYSCONFDIR=os.path.join(source, "conf"), TENON_DATADIR=os.path.join(source, "conf", "data"),
                        XDG_CACHE_HOME=os.path.join(work, "cache"), GLIBC_TUNABLES="glibc.rtld.optional_static_tls=512")

    def run(self, words, before=()):
        r = subprocess.run([*before, self.program, *words], env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           check=False)
        if r.returncode != 0:
            raise RuntimeError(f"{self.program} {' '.join(words)}: {r.stderr[-500:]}")
        return r.stdout

    def instructions(self, words):
        log = os.path.join(self.work, "count")
        if self.counter == "qemu":
            plugin = os.path.join(self.work, "count.so")
            if not os.path.exists(plugin):
                subprocess.run([os.environ.get("CC", "cc"), "-O2", "-shared", "-fPIC", "-o", plugin,
                                os.path.join(os.path.dirname(os.path.abspath(__file__)), "count_instructions.c")], check=True)
            self.run(words, ["qemu-" + os.uname().machine, "-plugin", f"{plugin},out={log}"])
        elif self.counter == "valgrind":
            self.run(words, ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", "--log-file=" + log])
        else:
            self.run(words, ["perf", "stat", "-x,", "-e", "instructions:u", "-o", log])
        with open(log) as f:
            text = f.read()
        m = re.search(r"^(\d+)(?:,,instructions:u| instructions)", text, re.M) or re.search(r"I\s+refs:\s+([\d,]+)", text)
        if not m:
            raise RuntimeError(f"{self.counter} counts no instructions here")
        return int(m[1].replace(",", ""))

    def artifact(self, model):
        return os.path.join(self.work, os.path.basename(os.path.abspath(model)) + ".tno")

    def compile_words(self, model, a):
        return ["compile", os.path.join(model, "model.onnx"), "-t", "cpu", "-j", "1", "--set", "target.cpu.mcpu=" + a.mcpu, "-o", self.artifact(model)]

    def bench_words(self, model):
        words, folder = ["bench", self.artifact(model), "--threads", "1"], os.path.join(model, "test_data_set_0")
        for name in os.listdir(folder):
            if name.startswith("input_"):
                with open(os.path.join(folder, name), "rb") as f:
                    words += ["-i", f"{tensor_name(f.read())}={os.path.join(folder, name)}"]
        return words

    def instructions_of_run(self, model, runs):
        of = [self.instructions([*self.bench_words(model), "--runs", str(n)]) for n in (runs, 2 * runs)]
        return (of[1] - of[0]) / runs

    def least(self, model, seconds):
        out = json.loads(self.run([*self.bench_words(model), "--seconds", str(seconds), "--json"]))
        return out["min_ms"]


def measure(builds, model, a):
    """The figures of a model, as pairs."""
    for b in builds:
        if a.compile:
            b.run(b.compile_words(model, a))
            continue
        b.run(["onnx-test", model, "-t", "cpu", "--atol", "1e-3", "--set", "target.cpu.mcpu=" + a.mcpu])
        b.run(b.compile_words(model, a))
    pairs = [[b.instructions(b.compile_words(model, a)) for b in builds]]
    if a.compile:
        return pairs
    pairs.append([b.instructions_of_run(model, a.runs) for b in builds])
    times = [[b.least(model, a.seconds) for b in builds] for _ in range(a.rounds)]
    pairs.append([min(t[i] for t in times) for i in range(2)])
    return pairs


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--base", required=True, help="the program that the other is compared with")
    p.add_argument("--tenon", required=True)
    p.add_argument("--counter", default="valgrind", choices=["valgrind", "perf", "qemu"])
    p.add_argument("--compile", action="store_true", help="count the instructions of compilation only")
    p.add_argument("--mcpu", default="x86-64-v3")
    p.add_argument("--runs", type=int, default=2, help="runs counted")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--seconds", type=float, default=1, help="of a round")
    p.add_argument("models", nargs="+")
    a = p.parse_args()
    print(f"{'model':40} {'compile, M instructions':>26} {'ratio':>6}" +
          ("" if a.compile else f"   {'run, M instructions':>22} {'ratio':>6}   {'run, ms':>18} {'ratio':>6}"), flush=True)
    with tempfile.TemporaryDirectory(prefix="tenon-pairs-") as work:
        builds = [Build(b, os.path.join(work, n), a.counter) for n, b in (("base", a.base), ("now", a.tenon))]
        for model in a.models:
            (c0, c1), *run = measure(builds, model, a)
            line = f"{os.path.basename(os.path.abspath(model)):40} {c0 / 1e6:13.1f}{c1 / 1e6:13.1f} {c1 / c0:6.3f}"
            if run:
                (r0, r1), (t0, t1) = run
                line += f"   {r0 / 1e6:11.3f}{r1 / 1e6:11.3f} {r1 / r0:6.3f}   {t0:9.4f}{t1:9.4f} {t1 / t0:6.3f}"
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
