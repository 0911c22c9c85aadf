# SPDX-License-Identifier: Apache-2.0
"""Ten thousand launches in the program that users have: what `tenon bench --json` counts of the device says that no launch takes memory
or a set of descriptors, and that a submit has many of them."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
import clitest
from clitest import check, tenon, write

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
clitest.done()
