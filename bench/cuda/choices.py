#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What schedules of a product of float16 cost that a tuner may choose: README.md.

    bench/cuda/choices.py --tenon build/tools/tenon --sim build/tests/cuda/sim/.libs [--arch 80] [--out FILE]
"""
import argparse
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile

import costs

N = 512
MODEL = f"""@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(({N}, {N}), "float16"), w: R.Tensor(({N}, {N}), "float16")):
        with R.dataflow():
            y = R.matmul(x, w)
            R.output(y)
        return y
"""
# rows, columns, depth, stages, warps of their own for copies
CHOICES = ((128, 128, 32, 3, 0), (128, 128, 32, 4, 0), (128, 128, 64, 3, 0), (128, 256, 32, 3, 0), (128, 256, 32, 4, 0), (128, 256, 64, 3, 0),
           (128, 128, 32, 3, 1), (128, 128, 32, 4, 1), (128, 128, 32, 4, 2), (128, 128, 64, 3, 1))


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--tenon", required=True)
    p.add_argument("--sim", required=True, help="the folder of the simulated libcuda.so.1")
    p.add_argument("--arch", default="80", choices=("80", "86", "89", "90a"))
    p.add_argument("--out", help="else the table is printed")
    a = p.parse_args()
    target = ["-t", "cuda", "--set", "target.cuda.arch=sm_" + a.arch]
    with open(a.out, "w", encoding="utf-8") if a.out else sys.stdout as f, tempfile.TemporaryDirectory() as work:
        def at(name):
            return os.path.join(work, name)

        def sim(**more):
            return dict(os.environ, LD_LIBRARY_PATH=os.path.abspath(a.sim) + ":" + os.environ.get("LD_LIBRARY_PATH", ""), CUDASIM_RACES="0",
                        CUDASIM_ARCH=a.arch.rstrip("a"), **more)
        with open(at("product.py"), "w", encoding="utf-8") as m:
            m.write(MODEL)
        subprocess.run([a.tenon, "tune", at("product.py"), *target, "--tuning-db", at("db"), "--trials", "1", "--measure", "0.001", "--timeout", "600"],
                       check=True, env=sim(), stdout=subprocess.DEVNULL)
        with open(at("db"), encoding="utf-8") as db:
            record = json.loads(db.read().split("\n")[1])
        print(f"bench/cuda/choices.py, sm_{a.arch}, {datetime.date.today()}: product of float16, {N} by {N} by {N}\n\n"
              "rows columns depth stages producers  registers spilled  shared  blocks/SM  warp instr.  barriers  passes/least", file=f)
        for c in CHOICES:
            choices = dict(zip(("rows", "columns", "depth", "stages", "producers"), c))
            with open(at("chosen"), "w", encoding="utf-8") as db:
                for line in {"tenon_tuning": 1}, dict(record, choices=choices, seconds=1e-6):
                    db.write(json.dumps(line) + "\n")
            text = subprocess.run([a.tenon, "show", "kernel", at("product.py"), record["name"], *target, "--tuning-db", at("chosen"), "--cost"],
                                  check=True, stdout=subprocess.PIPE, text=True).stdout
            shared, registers, spilled, blocks = (int(re.search(e, text)[1]) for e in (
                r"shared memory +(\d+)", r"registers +(\d+)", r"spilled +(\d+)", r"blocks at once +(\d+)"))
            subprocess.run([a.tenon, "compile", "-q", at("product.py"), *target, "--tuning-db", at("chosen"), "-o", at("product.tno")], check=True)
            if os.path.exists(at("costs")):
                os.unlink(at("costs"))
            subprocess.run([a.tenon, "run", "-q", at("product.tno")], check=True, env=sim(CUDASIM_COSTS=at("costs")), stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
            t = costs.total(costs.read(at("costs")))
            # while copies run ahead others wait, and each look at a barrier in shared memory is some instructions more
            instructions = f"{t['instructions']:12}" if not choices["producers"] else f"{'-':>12}"
            print(f"{c[0]:4} {c[1]:7} {c[2]:5} {c[3]:6} {c[4]:9}  {registers:9} {spilled:7} {shared:7} {blocks:10} {instructions} "
                  f"{t['barriers']:9} {costs.ratio(t['shared_passes'], t['shared_least']):>13}", file=f, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
