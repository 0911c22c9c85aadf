# SPDX-License-Identifier: Apache-2.0
"""The bundle for a machine with a GPU (bench/gpu) runs dry on the simulated device, on OpenCL's and on Vulkan's: all its parts, with
compute-sanitizer and without; what was cut off goes on; a case that is wrong is named. In check-long with all cases, and in the size that is
allowed."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
import clitest
from clitest import BUILD, SRC, check, path, tenon, write

SIM = os.path.join(BUILD, "tests", "cuda", "sim", ".libs")
LONG = bool(os.environ.get("TENON_LONG"))
CASES = ("softmax", "row-by-matrix-fp16")
BUNDLE = [sys.executable, os.path.join(SRC, "bench", "gpu", "bundle.py"), "--build", BUILD, "--arch", "80"]


def spawn(words, **env):
    return subprocess.run(words, env=dict(os.environ, **env), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)


def run(*parts, **env):
    return spawn([os.path.join(folder, "run"), "--quick", *parts], LD_LIBRARY_PATH=SIM, CUDASIM_RACES="1" if not parts else "0", **env)


# the targets that have a device here, and gpu_generic only with its generator
devices = tenon("list", "devices").stdout
TARGETS = ["cuda"] + [t for t in ("opencl", "gpu_generic") if re.search(rf"^{t} .*\n    0:", devices, re.M)]
model = write("m.py", '@I.ir_module\nclass Module:\n    @R.function\n    def main(a: R.Tensor((4,), "float32")):\n        return R.add(a, a)\n')
if "gpu_generic" in TARGETS and "has no code generator" in tenon("compile", model, "-t", "gpu_generic", "-o", path("m.tno")).stderr:
    TARGETS.remove("gpu_generic")
os.environ["TARGETS"] = " ".join(TARGETS)

folder = path("bundle")
r = spawn(BUNDLE + ["--out", folder] + ([] if LONG else [w for c in CASES for w in ("--case", c)]))
if r.returncode != 0 and "NVRTC" in r.stderr:
    print("no NVRTC")
    sys.exit(77)
check(r.returncode == 0, "the bundle is made", r)
n = sum(not os.path.exists(os.path.join(folder, "cases", c, "matrices")) for c in os.listdir(os.path.join(folder, "cases")))


def all_ran(text, part, targets):
    found = dict(re.findall(rf"^{part}: (\w+): (\d+) cases, failed: $", text, re.M))
    return set(found) == set(targets) and all(int(k) >= n for k in found.values())


r = run("check", PART_SECONDS="0")
check(r.returncode == 1 and "time is up" in r.stdout and not os.path.exists(os.path.join(folder, "results", "check-cuda-softmax.done")),
      "a part ends in time", r)
r = run(PATH="/usr/bin:/bin")
row = re.search(r"^softmax .*", r.stdout, re.M)
check(r.returncode == 0 and all_ran(r.stdout, "check", TARGETS) and all_ran(r.stdout, "time", TARGETS) and
      "0 differ from the record, which lacks 0" in r.stdout and row and row.group().count(" ms ") == row.group().count("%") == len(TARGETS),
      "all parts run, and go on; a row has each target", r)
sanitizer = os.path.join(path("bin"), "compute-sanitizer")
os.makedirs(os.path.dirname(sanitizer), exist_ok=True)
with open(sanitizer, "w", encoding="utf-8") as f:
    f.write('#!/bin/sh\necho "$2" >> "$TOOLS"\nshift 4\nexec "$@"\n')
os.chmod(sanitizer, 0o755)
r = run("sanitize", PATH=os.path.dirname(sanitizer) + ":" + os.environ["PATH"], TOOLS=path("tools"))
with open(path("tools"), encoding="utf-8") as f:
    tools = f.read().split()
check(r.returncode == 0 and all_ran(r.stdout, "sanitize", ["cuda"]) and tools == ["memcheck", "racecheck", "initcheck", "synccheck"] * n,
      "cases run under compute-sanitizer", r)
with open(os.path.join(folder, "cases", "softmax", "out.npy"), "r+b") as f:
    f.seek(-2, 2)
    f.write(b"\x7f\x40")
for target in TARGETS:
    os.unlink(os.path.join(folder, "results", f"check-{target}-softmax.done"))
    os.unlink(os.path.join(folder, "results", f"time-{target}-softmax.done"))
r = run("check", "time")
check(r.returncode == 1 and all(f"check: {t}: {n} cases, failed: {t}/softmax \n" in r.stdout for t in TARGETS), "a case that is wrong is named", r)
check(all(f"time: {t}: {n} cases, failed: {t}/softmax \n" in r.stdout for t in TARGETS), "and not timed", r)
r = spawn(BUNDLE[:2] + ["--build", path("nowhere"), "--out", path("x")])
check(r.returncode != 0 and "has no tools/tenon: run `make check TESTS=`" in r.stderr, "a folder where nothing is built is told of", r)
r = spawn(BUNDLE + ["--out", path("x"), "--case", "nothing"])
check(r.returncode != 0 and "no case nothing; there are element-wise" in r.stderr, "an unknown case is refused", r)
if LONG:
    r = spawn(BUNDLE + ["--out", path("gpu.tar.xz")])
    check(r.returncode == 0 and os.path.getsize(path("gpu.tar.xz")) < 60 << 20, "the bundle is small enough", r)
clitest.done()
