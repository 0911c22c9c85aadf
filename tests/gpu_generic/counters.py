# SPDX-License-Identifier: Apache-2.0
"""Ten thousand launches in the program that users have: what `tenon bench --json` counts of the device says that no launch takes memory
or a set of descriptors, and that a submit has many of them. Symbolic shapes make no pipeline twice, and kernels for sub-groups of another
size than the device's run in their other form."""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
import clitest
from clitest import BUILD, check, tenon, write

KERNELS, RUNS = 100, 100
SUBMITS = 5  # of a run: the first batches are small, so that the device begins early (4, 8, 16, 32, 40)
MODULE = """\
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((8, 8), "float32")) -> R.Tensor((8, 8), "float32"):
        with R.dataflow():
            v0 = x
            %s
            R.output(v%d)
        return v%d
""" % ("\n            ".join(f"v{i + 1} = R.nn.softmax(v{i}, axis={i % 2})" for i in range(KERNELS)), KERNELS, KERNELS)
SETTINGS = ([], ["leave_out=bufferDeviceAddress"], ["push_descriptors=no", "leave_out=bufferDeviceAddress"], ["timeline=no"])

if not re.search(r"^gpu_generic .*\n    0: ", tenon("list", "devices").stdout, re.M):
    print("no Vulkan device")
    sys.exit(77)
model = write("many.py", MODULE)
if "has no code generator" in tenon("compile", model, "-t", "gpu_generic", "-o", clitest.path("m.tno")).stderr:
    print("gpu_generic has no code generator here")
    sys.exit(77)


def counts(runs, args):
    """The device's counts behind so many runs."""
    r = tenon("bench", model, "-t", "gpu_generic", "--runs", runs, "--json", *args)
    if r.returncode != 0:
        check(False, f"bench --runs {runs} {' '.join(args)}", r)
        clitest.done()
    return {p["name"].split(".")[-1]: p["value"] for p in json.loads(r.stdout)["properties"] if p["name"].startswith("gpu_generic.")}


for settings in SETTINGS:
    what = " ".join(settings) or "as the device is"
    args = [a for s in settings for a in ("--set", "device.gpu_generic." + s)]
    few, many = counts(1, args), counts(1 + RUNS, args)
    did = {k: many[k] - few[k] for k in many}
    check(did["launches"] >= KERNELS * RUNS and did["dispatches"] >= did["launches"], f"{what}: {did['launches']} launches")
    for k in ("allocations", "descriptor_sets", "pipelines"):
        check(did[k] == 0, f"{what}: {did[k]} {k} among them")
    check(0 < did["submits"] <= SUBMITS * RUNS, f"{what}: {did['submits']} submits of them")
    check(did["barriers"] >= did["launches"] - did["submits"], f"{what}: each launch reads what the one before wrote: {did['barriers']} barriers")

SHAPES = """\
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", "m"), "float32")):
        with R.dataflow():
            a = R.nn.softmax(x, axis=1)
            b = R.add(R.matmul(a, R.permute_dims(x)), R.sum(x, axis=1, keepdims=True))
            R.output(b)
        return b
"""
model, artifact = write("shapes.py", SHAPES), clitest.path("shapes.tno")
r = tenon("compile", model, "-t", "gpu_generic", "-o", artifact)
check(r.returncode == 0, "a model of symbolic shapes compiles", r)
r = subprocess.run([os.path.join(BUILD, "tests/gpu_generic/shapes"), artifact], capture_output=True, text=True, check=False)
rows = [[int(x) for x in re.findall(r"\d+", line)] for line in r.stdout.splitlines()]
check(r.returncode == 0 and len(rows) == 40, "it runs with 40 shapes", r)
if rows:
    check(all(row[:1] * 2 == row[2:4] for row in rows), "results have the shapes of their inputs", r)
    check(rows[0][5] > 1 and all(row[5] == rows[0][5] for row in rows), f"{rows[0][5]} pipelines are made for all of them", r)
    check(all(b[4] - a[4] == rows[0][4] for a, b in zip(rows, rows[1:])), f"each run has {rows[0][4]} launches", r)

SUM = """\
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((5, 1000), "float32")):
        with R.dataflow():
            b = R.sum(x, axis=1)
            R.output(b)
        return b
"""
model = write("sum.py", SUM)
with open(clitest.path("x.npy"), "wb") as f:
    f.write(clitest.npy_bytes("<f4", (5, 1000), [i % 13 for i in range(5000)]))
with open(clitest.path("sums.npy"), "wb") as f:
    f.write(clitest.npy_bytes("<f4", (5,), [sum(i % 13 for i in range(1000 * k, 1000 * k + 1000)) for k in range(5)]))
if all(s in tenon("show", "target", "gpu_generic:auto").stdout for s in ("subgroup:shuffle", "subgroup:arithmetic")):
    for size in (4, 8, 16, 32, 64):
        target = json.dumps({"kind": "vulkan", "thread_warp_size": size, "max_threads_per_block": 256, "max_num_threads": 256,
                             "features": ["subgroup:shuffle", "subgroup:arithmetic"]})
        r = tenon("show", "kernel", model, "sum", "-t", target)
        check("BuiltIn NumSubgroups" in r.stdout, f"a kernel for sub-groups of {size}", r)
        r = tenon("run", model, "-t", target, "-i", "x=" + clitest.path("x.npy"), "--expect", "#0=" + clitest.path("sums.npy"))
        check(r.returncode == 0, f"it runs, whatever sub-groups the device has (for {size})", r)
clitest.done()
