#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares Tenon with ONNX Runtime on a folder of models (each MODEL/model.onnx with test_data_set_0).

For every model: compiles it, checks that Tenon gives the reference outputs (or ONNX Runtime's, where the file
has none), then measures both alternately, several rounds, on the same number of threads. Prints per model the
best times and the ratio ONNX Runtime / Tenon (above 1: Tenon is faster) and the geometric mean over the models with
trained weights. Models named light_* have constant weights: they are measured but left out of the mean.
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
    names = args.only.split(",") if args.only else sorted(os.listdir(args.models))
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
        lines.append(f"geometric mean over {len(ratios)} models with trained weights: {mean:.3f}; {failed} failed")
        print(lines[-1])
    if args.out:
        cpu = next((l.split(":", 1)[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")),
                   platform.processor())
        head = [f"date {datetime.date.today()}, {cpu}, {args.threads} threads, onnxruntime {ort.__version__}",
                "command: bench/cpu-first " + " ".join(a for a in sys.argv[1:] if not os.path.isabs(a)), ""]
        with open(args.out, "w") as f:
            f.write("\n".join(head + lines) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
