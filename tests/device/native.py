#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--no-native: kernels that run as code of the host's processor are refused, whatever form they have in the artifact; others run."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
from clitest import check, done, path, refused, tenon, write  # noqa: E402

MODULE = write("add.py", """@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((64,), "float32")):
        with R.dataflow():
            gv = R.add(x, x)
            R.output(gv)
        return gv
""")


def on(target):
    artifact = path(target + ".tno")
    r = tenon("compile", MODULE, "-t", target, "-o", artifact)
    check(r.returncode == 0, f"{target}: compiled", r)
    check(tenon("run", artifact).returncode == 0, f"{target}: runs")
    return tenon("run", artifact, "--no-native")


check(on("null").returncode == 0, "the null device's code is its own: it runs")
devices = tenon("list", "devices").stdout
if any(line.startswith("cpu ") for line in devices.splitlines()):
    refused("cpu", on("cpu"), "machine code of the host", "--no-native")
if "Portable Computing Language / " in devices:  # text in the artifact, compiled for the processor
    refused("opencl on a processor", on("opencl"), "runs its kernels as machine code of the host", "--no-native")
done()
