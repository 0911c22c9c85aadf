#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the kernels of models cost on the simulated device of cuda: README.md.

    bench/cuda/costs.py --tenon build/tools/tenon --sim build/tests/cuda/sim/.libs --out FILE MODEL...
"""
import argparse
import datetime
import os
import subprocess
import sys
import tempfile

SECTOR = 32


def read(file):
    """The launches that CUDASIM_COSTS wrote."""
    with open(file, encoding="utf-8") as f:
        rows = [dict(w.split("=", 1) for w in line.split()) for line in f]
    return [{k: v if k in ("kernel", "grid", "block") else int(v) for k, v in r.items()} for r in rows]


def total(rows):
    out = {"launches": len(rows)}
    for r in rows:
        for k, v in r.items():
            if isinstance(v, int):
                out[k] = out.get(k, 0) + v
    out["asked"], out["moved"], out["least"] = (out.get("global_bytes", 0), SECTOR * out.get("global_sectors", 0),
                                               SECTOR * out.get("global_least", 0))
    return out


def ratio(a, b):
    return f"{a / b:8.2f}" if b else "       -"


TITLES = "launches  warp instr.  operations  instr./op.  moved/asked  moved/least  passes/least"


def row(t):
    """Instructions for an operation: of threads, 32 of a warp."""
    return (f"{t['launches']:8} {t['instructions']:12} {t['operations']:11} {ratio(32 * t['instructions'], t['operations']):>11} "
            f"{ratio(t['moved'], t['asked']):>12} {ratio(t['moved'], t['least']):>12} {ratio(t['shared_passes'], t['shared_least']):>13}")


def measure(tenon, sim, model, work, arch):
    tno, out = os.path.join(work, "model.tno"), os.path.join(work, "costs.txt")
    subprocess.run([tenon, "compile", "-q", model, "-t", "cuda", "--set", "target.cuda.arch=sm_" + arch, "-o", tno], check=True)
    if os.path.exists(out):
        os.unlink(out)
    env = dict(os.environ, CUDASIM_RACES="0", CUDASIM_COSTS=out, CUDASIM_ARCH=arch, LD_LIBRARY_PATH=sim + ":" + os.environ.get("LD_LIBRARY_PATH", ""))
    subprocess.run([tenon, "run", "-q", tno], check=True, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return read(out)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("models", nargs="+", metavar="MODEL", help="model.onnx, or a folder with one")
    p.add_argument("--tenon", required=True)
    p.add_argument("--sim", required=True, help="the folder of the simulated libcuda.so.1")
    p.add_argument("--arch", default="80")
    p.add_argument("--out", help="else the table is printed")
    p.add_argument("--kernels", type=int, default=3, metavar="N", help="lines for the N kernels of a model with the most instructions")
    a = p.parse_args()
    with open(a.out, "w", encoding="utf-8") if a.out else sys.stdout as f, tempfile.TemporaryDirectory() as work:
        print(f"bench/cuda/costs.py, sm_{a.arch}, {datetime.date.today()}\n\n{'':44}{TITLES}", file=f)
        for model in a.models:
            if os.path.isdir(model):
                model = os.path.join(model, "model.onnx")
            name = os.path.basename(os.path.dirname(os.path.abspath(model)))
            try:
                rows = measure(a.tenon, os.path.abspath(a.sim), model, work, a.arch)
            except (subprocess.CalledProcessError, FileNotFoundError) as e:
                print(f"{name:44}not measured: {e}", file=f, flush=True)
                continue
            print(f"{name:44}{row(total(rows))}", file=f, flush=True)
            kernels = {}
            for r in rows:
                kernels.setdefault(r["kernel"], []).append(r)
            for kernel, of in sorted(kernels.items(), key=lambda k: -total(k[1])["instructions"])[:a.kernels]:
                print(f"    {kernel[:39]:40}{row(total(of))}", file=f, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
