# SPDX-License-Identifier: Apache-2.0
"""What the tests of CLML share: a device half built with the stand-in, its layer, and what the layer wrote down."""
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
from clitest import BUILD, SRC, path, tenon, write  # noqa: E402

LAYER = os.path.join(BUILD, "tests/clml/.libs/clml_layer.so")
PLAIN = os.environ["TENON_PLUGIN_PATH"]
if "opencl" not in tenon("list", "devices").stdout:
    print("no OpenCL device")
    sys.exit(77)


def device_half(module):
    """A plugin path on which the device half built with the stand-in lies before the one without."""
    folder = path(module)
    os.makedirs(folder, mode=0o700)
    shutil.copy(os.path.join(BUILD, f"tests/clml/.libs/{module}.so"), os.path.join(folder, "opencl_rt.so"))
    abi = next(l for l in open(os.path.join(PLAIN, "ops.plugin")) if l.startswith("abi"))
    manifest = open(os.path.join(SRC, "backends/opencl/opencl_rt.plugin.in")).read()
    write(f"{module}/opencl_rt.plugin", manifest.replace("abi = @ABI@", abi.strip()).replace("@VERSION@", "0.1.0"))
    os.chmod(path(f"{module}/opencl_rt.plugin"), 0o600)
    return f"{folder}:{PLAIN}"


PLUGINS = device_half("opencl_clml_rt")
TARGET = "[target clml]\nkind = opencl\nkeys = opencl, gpu, clml\n"
INI = write("site.ini", TARGET)


def layer(name, **settings):
    """The environment that puts the layer over the devices, its log in NAME.log."""
    log = path(name + ".log")
    if os.path.exists(log):
        os.remove(log)
    env = {"OPENCL_LAYERS": LAYER, "TENON_CLML_STANDIN_LOG": log}
    env.update({"TENON_CLML_STANDIN_" + k: str(v) for k, v in settings.items()})
    return env


def log_of(name):
    p = path(name + ".log")
    return open(p).read().splitlines() if os.path.exists(p) else []


def wrong(name):
    """What the layer refused, and what was not released."""
    return [l for l in log_of(name) if l.startswith(("refused", "leaked"))]


def made(name):
    """The operations made, in order."""
    return [l.split()[0][len("clCreateMLOp"):-len("QCOM")] for l in log_of(name) if l.startswith("clCreateMLOp")]


def expected(folder):
    """--expect arguments for all results in a folder."""
    return [a for i, f in enumerate(sorted(f for f in os.listdir(folder) if f.endswith(".npy")))
            for a in ("--expect", f"#{i}={os.path.join(folder, f)}")]
