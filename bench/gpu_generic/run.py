#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loading and launching on Vulkan: what Tenon takes beyond the driver, beside OpenCL. See README.md.

    bench/gpu_generic/run.py --tenon build/tools/tenon --out table.txt
"""
import argparse
import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ADDRESSES = '{"kind": "vulkan", "supports_buffer_device_address": true, "supports_int64": true}'
LAUNCHES = (("gpu_generic, bindings", "gpu_generic", []),
            ("gpu_generic, bindings in sets", "gpu_generic", ["--set", "device.gpu_generic.push_descriptors=no"]),
            ("gpu_generic, addresses", ADDRESSES, []),
            ("opencl", "opencl", []))
ONE_THREAD = {"LP_NUM_THREADS": "0"}  # lavapipe hands no work to threads of its own


def module(n):
    """A chain of n kernels that compute next to nothing, no two alike."""
    steps = "".join(f"            v{i + 1} = R.nn.softmax(R.add(v{i}, R.const({i}.5, \"float32\")), axis={i % 2})\n" for i in range(n))
    return ("from tvm.script import ir as I\nfrom tvm.script import relax as R\n\n@I.ir_module\nclass Module:\n    @R.function\n"
            "    def main(x: R.Tensor((4, 8), \"float32\")):\n        with R.dataflow():\n            v0 = x\n"
            f"{steps}            R.output(v{n})\n        return v{n}\n")


class Bench:
    def __init__(self, tenon, work):
        self.tenon, self.work = tenon, work
        self.clock = os.path.join(work, "clock.so")
        subprocess.run([os.environ.get("CC", "cc"), "-O2", "-shared", "-fPIC", "-o", self.clock, os.path.join(HERE, "cpu_clock.c")], check=True)

    def run(self, *args, cpu=False, cache=None, extra=None):
        env = dict(os.environ, **({"LD_PRELOAD": self.clock} if cpu else {}), **(extra or {}))
        if cache:
            env["MESA_SHADER_CACHE_DIR"] = cache
            args += ("--set", f"tenon.cache_dir={cache}")
        r = subprocess.run([self.tenon, *map(str, args)], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        if r.returncode:
            sys.exit(f"{' '.join(map(str, args))}: {r.stderr}")
        return r.stdout

    def compiled(self, n, target):
        name = os.path.join(self.work, f"k{n}" + re.sub(r"\W+", "_", target)[:20])
        with open(name + ".py", "w", encoding="utf-8") as f:
            f.write(module(n))
        self.run("compile", name + ".py", "-t", target, "-o", name + ".tno")
        return name + ".tno"

    def json(self, tno, runs, words, **how):
        return json.loads(self.run("bench", tno, "-q", "--runs", runs, "--json", *words, **how))

    def load(self, tno, cache):
        """Milliseconds: all, those of the driver's calls that open the device and make pipelines, the rest."""
        r = self.json(tno, 20, [], cpu=True, cache=cache)
        p = {q["name"]: q["value"] for q in r["properties"]}
        whole = r["load_ms"] + r["first_ms"] - r["min_ms"]
        opened, made = 1e3 * p["gpu_generic.open_seconds"], 1e3 * p["gpu_generic.pipeline_seconds"]
        return whole, opened, made, whole - opened - made


def loads(b, rounds, say):
    say("Loading: milliseconds of the calling thread, from the file to the end of the first run less a later run")
    say(f"{'kernels':>8} {'file KiB':>9} {'pipelines':>10} {'all':>8} {'open':>8} {'make':>8} {'Tenon':>8}")
    for n in (1, 100):
        tno = b.compiled(n, "gpu_generic")
        size = os.path.getsize(tno) / 1024
        cache = os.path.join(b.work, f"cache{n}")
        for state in ("cold", "warm"):
            all_ = []
            for _ in range(rounds):
                if state == "cold":
                    shutil.rmtree(cache, ignore_errors=True)
                os.makedirs(cache, mode=0o700, exist_ok=True)
                all_.append(b.load(tno, cache))
            best = min(all_, key=lambda x: x[3])
            say(f"{n:8} {size:9.0f} {state:>10} " + " ".join(f"{v:8.1f}" for v in best))


def launches(b, rounds, n, say):
    say("")
    say(f"Launching: microseconds a launch, of a run of {n} kernels that each wait for the one before; the least of {rounds} times 50 runs")
    say(f"{'target':32} {'calling thread':>15} {'until done':>11} {'a submit':>9}")
    for what, target, words in LAUNCHES:
        tno = b.compiled(n, target)
        done = cpu = float("inf")
        per = "-"
        for _ in range(rounds):
            r = b.json(tno, 50, words)
            done = min(done, 1e3 * r["min_ms"] / n)
            p = {q["name"]: q["value"] for q in r["properties"]}
            if "gpu_generic.submits" in p:
                per = f"{p['gpu_generic.launches'] / p['gpu_generic.submits']:.1f}"
            cpu = min(cpu, 1e3 * b.json(tno, 50, words, cpu=True)["min_ms"] / n)
        say(f"{what:32} {cpu:15.2f} {done:11.2f} {per:>9}")
    done = min(1e3 * b.json(b.compiled(n, ADDRESSES), 50, [], extra=ONE_THREAD)["min_ms"] / n for _ in range(rounds))
    say(f"{'... lavapipe without threads':32} {'-':>15} {done:11.2f} {'-':>9}")
    say("")
    say("An empty kernel in a program of nothing else (bare.c): microseconds until done, the least of 500 submits of 100")
    bare = os.path.join(b.work, "bare")
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-o", bare, os.path.join(HERE, "bare.c"), "-lvulkan"], check=True)
    for what, extra in (("as it is", {}), ("lavapipe without threads", ONE_THREAD)):
        r = subprocess.run([bare], env=dict(os.environ, **extra), stdout=subprocess.PIPE, text=True, check=True)
        say(f"{what:25} " + ", ".join(r.stdout.splitlines()))


def main():
    a = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    a.add_argument("--tenon", default="build/tools/tenon")
    a.add_argument("--out")
    a.add_argument("--rounds", type=int, default=5)
    o = a.parse_args()
    lines = []

    def say(line):
        print(line, flush=True)
        lines.append(line)
    with tempfile.TemporaryDirectory(prefix="tenon-bench-") as work:
        b = Bench(o.tenon, work)
        devices = b.run("list", "devices").splitlines()
        say(f"date {datetime.date.today()}")
        for name in ("gpu_generic ", "opencl "):
            at = next((i for i, line in enumerate(devices) if line.startswith(name)), None)
            say(f"device of {name.strip()}: {devices[at + 1].strip() if at is not None else 'none'}")
        say(f"{b.run('--version').splitlines()[0]}; load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
        say("")
        loads(b, o.rounds, say)
        launches(b, o.rounds, 100, say)
    if o.out:
        with open(o.out, "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")


main()
