#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares Tenon with ONNX Runtime on a folder of models (each MODEL/model.onnx with test_data_set_0).

For every model: compiles it, checks that Tenon gives the reference outputs (or ONNX Runtime's, where the file
has none), then measures both alternately, several rounds, on the same number of threads. Prints per model the
best times and the ratio ONNX Runtime / Tenon (above 1: Tenon is faster) and the geometric mean over the models with
trained weights. Without --only: the models with trained weights that the README of the models folder marks "first".
Models named light_* have constant weights: --only may name them, they are left out of the mean.

A model with wrong results is not measured, it counts as failed. The rounds alternate between the two, each for
--seconds, and the best time of each counts, so that other work of the machine disturbs both alike.
"""
import argparse
import datetime
import glob
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime as ort
from onnx import numpy_helper


def first_models(folder):
    """Names in the tables of README.md, in the folder or above it, whose column "first" says so."""
    for place in (folder, os.path.dirname(os.path.abspath(folder))):
        path = os.path.join(place, "README.md")
        if not os.path.isfile(path):
            continue
        at, names = None, []
        for line in open(path, encoding="utf-8"):
            cells = [c.strip() for c in line.strip().strip("|").split("|")]
            if "first" in cells and "model" in cells:
                at = cells.index("first")
            elif at is not None and len(cells) > at and cells[at] == "first":
                names.append(cells[0])
        if names:
            return [n for n in names if not n.startswith("light_")]
    return sorted(os.listdir(folder))


def processor():
    name = platform.processor()
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            name = line.split(":", 1)[1].strip()
            break
    return f"{name}, {os.cpu_count()} processors"


def load_pb(path):
    t = onnx.TensorProto()
    with open(path, "rb") as f:
        t.ParseFromString(f.read())
    return numpy_helper.to_array(t)


def session(path, threads):
    o = ort.SessionOptions()
    o.intra_op_num_threads = threads
    o.inter_op_num_threads = 1
    o.log_severity_level = 3
    return ort.InferenceSession(path, o, providers=["CPUExecutionProvider"])


def time_peer(s, feeds, seconds):
    s.run(None, feeds)
    best, until = math.inf, time.perf_counter() + seconds
    while time.perf_counter() < until or best == math.inf:
        t = time.perf_counter()
        s.run(None, feeds)
        best = min(best, time.perf_counter() - t)
    return best


def time_tenon(tenon, tno, inputs, threads, seconds):
    out = subprocess.run([tenon, "bench", tno, "--json", "--threads", str(threads), "--seconds", str(seconds), *inputs],
                         check=True, capture_output=True, text=True).stdout
    return json.loads(out)["min_ms"] / 1e3


def measure(args, folder, work):
    name = os.path.basename(folder)
    model = os.path.join(folder, "model.onnx")
    files = sorted(glob.glob(os.path.join(folder, "test_data_set_0", "input_*.pb")),
                   key=lambda p: int(p.rsplit("_", 1)[1][:-3]))
    peer = session(model, args.threads)
    feeds = {i.name: load_pb(f) for i, f in zip(peer.get_inputs(), files)}
    tno = os.path.join(work, name + ".tno")
    dims = []
    for k, i in enumerate(peer.get_inputs()):
        if any(not isinstance(d, int) for d in i.shape):
            dims += ["--dim", i.name + "=" + json.dumps(list(feeds[i.name].shape))]
    subprocess.run([args.tenon, "compile", model, "-o", tno, *dims], check=True, capture_output=True, text=True)
    inputs = [w for k, f in enumerate(files) for w in ("-i", f"#{k}={f}")]
    expect = []
    for k, want in enumerate(peer.run(None, feeds)):
        path = os.path.join(work, f"{name}-{k}.npy")
        np.save(path, want)
        expect += ["--expect", f"#{k}={path}"]
    tol = ["--rtol", "1e-2", "--atol", "1e-3"]
    r = subprocess.run([args.tenon, "run", tno, *inputs, *expect, *tol], capture_output=True, text=True)
    if r.returncode:
        raise RuntimeError(f"wrong results: {r.stderr.strip()}")
    rounds = []
    for _ in range(args.rounds):
        a = time_peer(peer, feeds, args.seconds)
        b = time_tenon(args.tenon, tno, inputs, args.threads, args.seconds)
        rounds.append((a, b))
    return min(a for a, _ in rounds), min(b for _, b in rounds)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("models")
    p.add_argument("--tenon", default="tenon")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--seconds", type=float, default=1.0)
    p.add_argument("--only", help="comma-separated names of models")
    p.add_argument("--out", help="also write the table to this file")
    args = p.parse_args()
    names = args.only.split(",") if args.only else first_models(args.models)
    load = os.getloadavg()[0]
    lines = [f"{'model':40} {'onnxruntime ms':>15} {'tenon ms':>10} {'ratio':>7}"]
    print(lines[0], flush=True)
    ratios, failed = [], 0
    with tempfile.TemporaryDirectory() as work:
        for name in names:
            folder = os.path.join(args.models, name)
            if not os.path.isdir(os.path.join(folder, "test_data_set_0")):
                continue
            try:
                a, b = measure(args, folder, work)
                line = f"{name:40} {a * 1e3:15.3f} {b * 1e3:10.3f} {a / b:7.3f}"
                if not name.startswith("light_"):
                    ratios.append(a / b)
            except (subprocess.CalledProcessError, RuntimeError) as e:
                text = getattr(e, "stderr", None) or str(e)
                line = f"{name:40} failed: {text.strip().splitlines()[0] if text.strip() else e}"
                failed += 1
            lines.append(line)
            print(line, flush=True)
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        lines.append(f"geometric mean over {len(ratios)} models with trained weights: {mean:.3f}, "
                     f"worst {min(ratios):.3f}; {failed} failed")
        print(lines[-1])
    if args.out:
        head = [f"date {datetime.date.today()}",
                f"device {processor()}; load average {load:.1f} before, {os.getloadavg()[0]:.1f} after",
                f"onnxruntime {ort.__version__}, {args.threads} threads each; best of {args.rounds} rounds of "
                f"{args.seconds} s, alternating; results compared first",
                f"command: bench/cpu-first --threads {args.threads} --rounds {args.rounds} --seconds {args.seconds} MODELS",
                ""]
        with open(args.out, "w") as f:
            f.write("\n".join(head + lines) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
