#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Passes over a Llama-shaped decode function (llama_decode.py): time and memory of the cuda list at 32 layers, and
instructions a layer as the number of layers grows, counted by valgrind.

    llama_passes.py [--no-valgrind] [LAYERS...]        default: 8 32 64 128 256

Environment: TENON (default: tenon; in a build tree the program under tools/.libs with LD_LIBRARY_PATH set, so that the
wrapper's shell is not measured). Time is that of the processor, the smallest of five runs, and without what reading and
printing the module take, which `tenon check` and a list of no effect show. Exit status 1 when a limit is passed: 150 ms and
200 MiB at 32 layers; 10% more instructions a layer at the end than in the middle."""
import os
import re
import subprocess
import sys
import tempfile

TENON = os.environ.get("TENON", "tenon")
HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT_MS, LIMIT_MIB, LIMIT_GROWTH = 150, 200, 1.10
PIPELINE = ["-t", "cuda", "-p", "@pipeline"]
NOTHING = ["-t", "cuda", "-p", "DispatchSampling"]
layers = [int(a) for a in sys.argv[1:] if a.isdigit()] or [8, 32, 64, 128, 256]
valgrind = "--no-valgrind" not in sys.argv[1:]
failed = False


def cost(args):
    """Processor time in ms and memory in MiB of one run."""
    p = subprocess.Popen(args, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(p.pid, 0)
    if status:
        sys.exit("failed: " + " ".join(args))
    return 1e3 * (used.ru_utime + used.ru_stime), used.ru_maxrss / 1024


def instructions(args, out):
    r = subprocess.run(["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=" + out, *args], capture_output=True, text=True)
    m = re.search(r"refs:\s+([\d,]+)", r.stderr)
    if r.returncode or not m:
        sys.exit("failed under valgrind: " + " ".join(args) + "\n" + r.stderr[-2000:])
    return int(m.group(1).replace(",", ""))


with tempfile.TemporaryDirectory() as work:
    def model(n):
        path = os.path.join(work, f"llama{n}.py")
        with open(path, "w") as f:
            subprocess.run([sys.executable, os.path.join(HERE, "llama_decode.py"), str(n)], stdout=f, check=True)
        return path

    def opt(n, passes):
        return [TENON, "opt", model(n), *passes, "-o", os.devnull]

    print("passes:", subprocess.run([TENON, "show", "pipeline", "cuda"], capture_output=True, text=True, check=True).stdout)
    runs = [cost(opt(32, PIPELINE)) for _ in range(5)]
    empty = [cost(opt(32, NOTHING)) for _ in range(5)]
    unchecked = [cost(opt(32, PIPELINE + ["--debug", "no-verify"])) for _ in range(5)]
    ms = min(r[0] for r in runs) - min(r[0] for r in empty)
    ms_unchecked = min(r[0] for r in unchecked) - min(r[0] for r in empty)
    mib = max(r[1] for r in runs)
    print(f"32 layers: {ms:.0f} ms with the verifier after each pass, {ms_unchecked:.0f} ms without; {mib:.0f} MiB "
          f"(limits {LIMIT_MS} ms, {LIMIT_MIB} MiB)")
    failed |= ms > LIMIT_MS or mib > LIMIT_MIB
    if valgrind:
        counts = {}
        for n in layers:
            counts[n] = instructions(opt(n, PIPELINE), os.path.join(work, "counts")) - \
                instructions(opt(n, NOTHING), os.path.join(work, "counts"))
            print(f"{n:4d} layers: {counts[n] / 1e6:9.1f} million instructions, {counts[n] / n / 1e6:6.2f} a layer", flush=True)
        if len(layers) > 2:
            middle, last = layers[len(layers) // 2], layers[-1]
            growth = (counts[last] / last) / (counts[middle] / middle)
            print(f"a layer costs {growth:.2f} times as much at {last} layers as at {middle} (limit {LIMIT_GROWTH})")
            failed |= growth > LIMIT_GROWTH
sys.exit(1 if failed else 0)
