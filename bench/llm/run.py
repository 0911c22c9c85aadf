# SPDX-License-Identifier: Apache-2.0
"""Tokens a second of language models beside llama.cpp's llama-bench, in alternating pairs:

    python3 bench/llm/model.py 1b.gguf --type Q4_0
    python3 bench/llm/run.py --llama-bench PATH 1b.gguf [--threads 1,2] [--pairs 7] [--prompt 512] [--generate 128]

Both programs run one after the other, so that both see the same machine; medians of the pairs, and the median of the pairs'
quotients with their range. How llama-bench is built for this machine: bench/llm/README.md.
"""
import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from build_tree import unwrapped  # noqa: E402

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def ours(a, model, threads):
    r = subprocess.run([a.tenon, "bench", model, "--threads", str(threads), "--prompt", str(a.prompt), "--generate", str(a.generate), "--runs",
                        "1", "--json", "-q"], capture_output=True, text=True, env=a.env)
    if r.returncode:
        sys.exit(r.stderr)
    d = json.loads(r.stdout)
    return d["prompt"]["tokens_per_second"], d["generate"]["tokens_per_second"]


def theirs(a, model, threads):
    r = subprocess.run([a.llama_bench, "-m", model, "-t", str(threads), "-p", str(a.prompt), "-n", str(a.generate), "-r", "1", "-o", "json"],
                       capture_output=True, text=True)
    if r.returncode:
        sys.exit(r.stderr)
    d = json.loads(r.stdout)
    a.commit = d[0]["build_commit"]
    return next(x["avg_ts"] for x in d if x["n_prompt"]), next(x["avg_ts"] for x in d if x["n_gen"])


def main():
    p = argparse.ArgumentParser()
    p.add_argument("models", nargs="+")
    p.add_argument("--llama-bench", required=True)
    p.add_argument("--tenon", default="build/tools/tenon")
    p.add_argument("--threads", default="1,2")
    p.add_argument("--pairs", type=int, default=7)
    p.add_argument("--prompt", type=int, default=512)
    p.add_argument("--generate", type=int, default=128)
    a = p.parse_args()
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
    rows = []
    for model in a.models:
        for threads in map(int, a.threads.split(",")):
            ours(a, model, threads)  # kernels and repacked weights get into the cache
            pairs = [(ours(a, model, threads), theirs(a, model, threads)) for _ in range(a.pairs)]
            for k, what in enumerate((f"prompt {a.prompt}", f"generate {a.generate}")):
                q = [x[k] / y[k] for x, y in pairs]
                rows.append(f"{os.path.basename(model):20} {threads:7} {what:14} {statistics.median(x[k] for x, _ in pairs):9.1f} "
                            f"{statistics.median(y[k] for _, y in pairs):9.1f} {statistics.median(q):6.2f} {min(q):8.2f} to {max(q):.2f}")
                print(rows[-1], flush=True)
    print(f"load {os.getloadavg()[0]:.1f} at the end; llama.cpp {a.commit}")
    print(f"{'model':20} {'threads':>7} {'tokens':14} {'tenon':>9} {'llama.cpp':>9} {'median quotient, range':>24}")
    print("\n".join(rows))


main()
