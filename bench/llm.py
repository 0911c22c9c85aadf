# SPDX-License-Identifier: Apache-2.0
"""Pass time of a Llama-shaped decode function with symbolic batch size and length, 32 to 256 layers.

    python3 bench/llm.py [--tenon build/tools/tenon] [--target cuda] [--layers 32,64,128,256]

Runs the target's lists with the profile llm, without schedules and kernels, and prints the list; then for each number of layers
the instructions of reading and passes (perf or valgrind), milliseconds in passes (best of three) and the peak of memory. A second
table shows which passes take the time.
"""
import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "llm"))
from llama import Llama  # noqa: E402

HEAD = ("from tvm.script import ir as I\nfrom tvm.script import tirx as T\nfrom tvm.script import relax as R\n\n"
        "@I.ir_module\nclass Module:\n")
BOUNDS = 'AttachVariableBounds{variable_bounds={"batch_size": 16, "seq_len": 4096, "vocab_size": 128256}}'


def pass_list(tenon, target):
    """What `show pipeline` prints, but no schedules."""
    out = subprocess.run([tenon, "show", "pipeline", target, "--profile", "llm"], capture_output=True, text=True)
    if out.returncode:
        sys.exit(out.stderr)
    names, phase = [], None
    for line in out.stdout.splitlines():
        if not line.startswith(" "):
            phase = line.split(":")[0]
            continue
        name = re.match(r"  (.*?)\s+(?:\S+ plugin|every target|\S+:\d+)", line).group(1)
        if phase in ("library_dispatch", "legalize", "finalize") and "Schedule" not in name:
            names.append(BOUNDS if name == "AttachVariableBounds" else name)
    return names


def instructions(command):
    if shutil.which("perf"):
        r = subprocess.run(["perf", "stat", "-x,", "-e", "instructions:u", *command], capture_output=True, text=True)
        m = re.search(r"^(\d+),,instructions", r.stderr, re.M)
        if m:
            return int(m.group(1))
    if shutil.which("valgrind"):
        r = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command], capture_output=True,
                           text=True)
        m = re.search(r"Collected : (\d+)", r.stderr)
        if m:
            return int(m.group(1))
    return 0


def timed(command):
    """Milliseconds by pass."""
    r = subprocess.run([*command, "--timing"], capture_output=True, text=True)
    if r.returncode:
        sys.exit(r.stderr)
    return [(m.group(2), float(m.group(1))) for m in re.finditer(r"^ *([0-9.]+) ms  (\w+)", r.stderr, re.M)]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--tenon", default="tools/tenon")
    p.add_argument("--target", default="cpu")
    p.add_argument("--layers", default="32,64,128,256")
    a = p.parse_args()
    names = pass_list(a.tenon, a.target)
    print("passes:", ", ".join(names))
    rows = []
    print(f"{'layers':>6} {'instructions':>14} {'a layer':>12} {'passes ms':>10} {'peak MiB':>9}")
    with tempfile.TemporaryDirectory() as work:
        for layers in map(int, a.layers.split(",")):
            model = os.path.join(work, f"llama{layers}.py")
            g = Llama(layers, heads=32, head_dim=128, intermediate=11008, dtype="float16")
            with open(model, "w") as f:
                f.write(HEAD + g.forward("decode", "batch_size", "seq_len"))
            command = [a.tenon, "opt", model, "-p", ", ".join(names), "--debug", "no-verify", "-o", os.devnull]
            runs = [timed(command) for _ in range(3)]
            best = min(runs, key=lambda r: sum(t for _, t in r))
            peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
            n = instructions(command)
            rows.append((layers, best))
            print(f"{layers:6} {n:14} {n // layers:12} {sum(t for _, t in best):10.1f} {peak:9.1f}", flush=True)
    print("\nmilliseconds by pass, " + ", ".join(f"{l} layers" for l, _ in rows))
    for i, (name, _) in enumerate(rows[0][1]):
        print(f"  {name:40}" + "".join(f"{r[i][1]:10.2f}" for _, r in rows))


if __name__ == "__main__":
    main()
