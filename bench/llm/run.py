# SPDX-License-Identifier: Apache-2.0
"""Tokens a second of language models beside llama.cpp's llama-bench, in alternating pairs:

    python3 bench/llm/model.py 1b.gguf --type Q4_0
    python3 bench/llm/run.py --llama-bench PATH 1b.gguf [--threads 1,2] [--pairs 7] [--prompt 512] [--generate 128]
        [--wheel PYTHON] [--limit MINUTES]

Both programs run one after the other, so that both see the same machine; medians of the pairs, and the median of the pairs'
quotients with their range. --wheel names a Python that has the package xllamacpp, a third column. A prompt or an answer of 0 tokens is
left out. Beside an answer stands how much of reading the mapped file with as many threads it is (read_file.c): the bytes of a token's
weights times tokens a second, through the mean of reading before and after. All rows have their first pair before any has its second;
after --limit minutes no more pairs begin. How llama-bench is built for this machine: bench/llm/README.md.
"""
import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from build_tree import unwrapped  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.join(HERE, "..", "..")


def output(command, **more):
    r = subprocess.run(command, capture_output=True, text=True, **more)
    if r.returncode:
        sys.exit(f"{' '.join(command)}\n{r.stderr}")
    return r.stdout


def ours(a, model, threads):
    d = json.loads(output([a.tenon, "bench", model, "--threads", str(threads), "--prompt", str(a.prompt), "--generate", str(a.generate),
                           "--runs", "1", "--json", "-q"], env=a.env))
    return {**{k: d[k]["tokens_per_second"] for k in ("prompt", "generate") if k in d}, "bytes": d["weight_bytes"]}


def theirs(a, model, threads):
    d = json.loads(output([a.llama_bench, "-m", model, "-t", str(threads), "-p", str(a.prompt), "-n", str(a.generate), "-r", "1", "-o", "json"]))
    a.commit = d[0]["build_commit"]
    return {"prompt" if x["n_prompt"] else "generate": x["avg_ts"] for x in d}


def wheel(a, model, threads):
    return json.loads(output([a.wheel, os.path.join(HERE, "wheel.py"), model, str(threads), str(a.prompt), str(a.generate)]))


def reading(a, model, threads):
    return float(output([a.read_file, model, str(threads)])) if a.generate else 0


def measure(a, model, threads):
    before = reading(a, model, threads)
    got = ours(a, model, threads)
    got["reading"] = (before + reading(a, model, threads)) / 2
    return got, theirs(a, model, threads), wheel(a, model, threads) if a.wheel else None


def row(a, model, threads, what, tokens, pairs):
    def middle(values):
        return statistics.median(values)
    q = [x[what] / y[what] for x, y, _ in pairs]
    line = (f"{os.path.basename(model):20} {threads:7} {what + ' ' + str(tokens):14} {len(pairs):5} {middle([x[what] for x, _, _ in pairs]):9.1f} "
            f"{middle([y[what] for _, y, _ in pairs]):9.1f} {middle(q):6.2f} {min(q):6.2f} to {max(q):.2f}")
    if a.wheel:
        w = [x[what] / z[what] for x, _, z in pairs]
        line += f" {middle([z[what] for _, _, z in pairs]):9.1f} {middle(w):6.2f} {min(w):6.2f} to {max(w):.2f}"
    if what == "generate":
        part = [x[what] * x["bytes"] / x["reading"] for x, _, _ in pairs]
        line += f"   {100 * middle(part):.0f}% of {middle([x['reading'] for x, _, _ in pairs]) / 1e9:.1f} GB/s, {pairs[0][0]['bytes'] / 1e6:.0f} MB a token"
    return line


def main():
    p = argparse.ArgumentParser()
    p.add_argument("models", nargs="+")
    p.add_argument("--llama-bench", required=True)
    p.add_argument("--tenon", default="build/tools/tenon")
    p.add_argument("--threads", default="1,2")
    p.add_argument("--pairs", type=int, default=7)
    p.add_argument("--prompt", type=int, default=512)
    p.add_argument("--generate", type=int, default=128)
    p.add_argument("--wheel", metavar="PYTHON")
    p.add_argument("--limit", type=float, metavar="MINUTES", default=1e9)
    a = p.parse_args()
    start = time.monotonic()
    a.env = dict(os.environ)
    stage = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(a.tenon))), "plugins-stage")
    a.tenon, libraries = unwrapped(a.tenon)
    if libraries:  # a build tree's
        a.env["LD_LIBRARY_PATH"] = ":".join(libraries)
        for name, value in (("TENON_PLUGIN_PATH", stage), ("TENON_SYSCONFDIR", os.path.join(TOP, "conf")),
                            ("TENON_DATADIR", os.path.join(TOP, "conf", "data"))):
            a.env.setdefault(name, value)
    print(f"{datetime.date.today()}, {platform.machine()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}: "
          f"python3 bench/llm/run.py {' '.join(sys.argv[1:])}", flush=True)
    rows = [(model, threads) for model in a.models for threads in map(int, a.threads.split(","))]
    pairs = {r: [] for r in rows}
    with tempfile.TemporaryDirectory() as work:
        a.read_file = os.path.join(work, "read_file")
        output([*os.environ.get("CC", "cc").split(), "-O2", "-march=native", "-pthread", os.path.join(HERE, "read_file.c"), "-o", a.read_file])
        for model, threads in rows:
            ours(a, model, threads)  # kernels and repacked weights get into the cache
        for n in range(a.pairs):
            for r in rows:
                if not n or time.monotonic() - start < 60 * a.limit:
                    pairs[r].append(measure(a, *r))
            print(f"round {n + 1} of {a.pairs} after {time.monotonic() - start:.0f} s, load {os.getloadavg()[0]:.1f}", file=sys.stderr)
    print(f"load {os.getloadavg()[0]:.1f} at the end; llama.cpp {a.commit}")
    print(f"{'model':20} {'threads':>7} {'tokens':14} {'pairs':>5} {'tenon':>9} {'llama.cpp':>9} quotient, range"
          + (f"   {'wheel':>9} quotient, range" if a.wheel else ""))
    for model, threads in rows:
        for what, tokens in (("prompt", a.prompt), ("generate", a.generate)):
            if tokens:
                print(row(a, model, threads, what, tokens, pairs[model, threads]))


main()
