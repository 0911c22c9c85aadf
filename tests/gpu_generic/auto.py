# SPDX-License-Identifier: Apache-2.0
"""-t gpu_generic:auto: attributes of the target from the device that is present; one file for several targets."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
import clitest
from clitest import check, path, tenon, write

MODULE = """\
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3, 40), "float32"), y: R.Tensor((3, 40), "float32")) -> R.Tensor((3, 40), "float32"):
        with R.dataflow():
            a = R.add(x, y)
            b = R.multiply(a, x)
            R.output(b)
        return b
"""

if not re.search(r"^gpu_generic .*\n    0: ", tenon("list", "devices").stdout, re.M):
    print("no Vulkan device")
    sys.exit(77)


def attributes(*args):
    """What `show target gpu_generic:auto` has."""
    r = tenon("show", "target", "gpu_generic:auto", *args)
    check(r.returncode == 0 and r.stdout.startswith("gpu_generic:auto: kind vulkan, served by gpu_generic"),
          f"show target gpu_generic:auto {' '.join(args)}", r)
    return json.loads(re.search(r"^attributes (.*)$", r.stdout, re.M).group(1))


line = tenon("list", "devices").stdout.split("\ngpu_generic ")[1].split("\n")[1]
a = attributes()
check(a["max_shared_memory_per_block"] == 1024 * int(re.search(r"(\d+) KiB shared", line).group(1)), "shared memory is the device's")
check(a["max_threads_per_block"] == int(re.search(r"groups of (\d+)", line).group(1)), "so are the threads of a block")
check(a["supports_float64"] == (" fp64" in line) and a["supports_buffer_device_address"] == (" addresses" in line),
      "and what it supports")
b = attributes("--set", "device.gpu_generic.leave_out=shaderFloat64, bufferDeviceAddress")
check(not b["supports_float64"] and not b["supports_buffer_device_address"], "less what the settings leave out")

r = tenon("show", "target", "gpu_generic:auto", "--set", "device.gpu_generic.device=no-such")
check(r.returncode == 1 and "target gpu_generic:auto: " in r.stderr and "left out by [device gpu_generic]" in r.stderr,
      "without a device it is refused with the reason", r)
r = tenon("show", "target", "cpu:auto")
check(r.returncode == 1 and "target cpu:auto: device 'cpu' does not tell attributes" in r.stderr, "so are targets of other devices", r)
r = tenon("show", "target", "no-such:auto")
check(r.returncode == 1 and "no target 'no-such'" in r.stderr, "and names of no target", r)

model = write("model.py", MODULE)
usable = "has no code generator" not in tenon("compile", model, "-t", "gpu_generic:auto", "-o", path("m.tno")).stderr
if usable:
    r = tenon("run", model, "-t", "gpu_generic:auto", "--set", "device.gpu_generic.check_hazards=yes")
    want = tenon("run", model, "-t", "cpu")
    check(r.returncode == 0 and r.stdout == want.stdout, "what it runs gives what the cpu gives", r)
    one = path("several.tno")
    r = tenon("compile", model, "-t", "cpu,gpu_generic:auto", "-o", one)
    check(r.returncode == 0, "one file for cpu and the device", r)
    for target in ("cpu", "gpu_generic"):
        r = tenon("run", one, "-t", target)
        check(r.returncode == 0 and r.stdout == want.stdout, f"it runs on {target}", r)
    wide = write("wide.py", MODULE.replace("float32", "int64"))
    lacking = ["--set", "device.gpu_generic.leave_out=shaderInt64"]
    r = tenon("run", wide, "-t", "gpu_generic", *lacking)
    want = tenon("run", wide, "-t", "cpu")
    check(r.returncode == 0 and r.stdout == want.stdout, "what is compiled to run at once is compiled for what the device has", r)
    r = tenon("run", wide, "-t", "gpu_generic", "--set", "target.gpu_generic.supports_int64=yes", *lacking)
    check(r.returncode == 1 and "Int64" in r.stderr, "unless a section says what it has", r)
    r = tenon("run", one, "-t", "gpu_generic", "--set", "device.gpu_generic.leave_out=bufferDeviceAddress")
    check(r.returncode != 0 and "lacks 'bufferDeviceAddress'" in r.stderr if a["supports_buffer_device_address"] else True,
          "a device that lacks what the file needs is named with the feature", r)
    # schedules that were measured for the target as compile makes it count when it is run at once, too
    product = write("product.py", MODULE.replace("(3, 40)", "(64, 64)").replace("R.add(x, y)", "R.matmul(x, y)"))
    r = tenon("tune", product, "-t", "gpu_generic", "--trials", "2", "--measure", "0.01", "--tuning-db", path("tuned.jsonl"))
    check(r.returncode == 0, "tuned for the target as compile makes it", r)
    features = []
    for database in (path("tuned.jsonl"), "none"):
        r = tenon("bench", product, "-t", "gpu_generic", "--runs", "1", "--json", "-q", "--tuning-db", database)
        check(r.returncode == 0, f"bench with the database {database}", r)
        features.append(set(json.loads(r.stdout)["features"]))
    check(features[0] < features[1] if a["supports_buffer_device_address"] else True,
          "the device's attributes are left out where schedules were measured without them")
clitest.done()
