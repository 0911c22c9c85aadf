# SPDX-License-Identifier: Apache-2.0
"""No barrier is there for nothing: the device half's check of hazards reports each one that is left out, in models as users run them
and in ONNX's node cases with their inputs, with the host's copies by the device as well as its own. With TENON_LONG=1 more models, each
of EVERY node cases, and kernels with addresses and with bindings."""
import glob
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
import clitest
from clitest import DIGITS, SRC, check, tenon

LONG = os.environ.get("TENON_LONG")
MODELS = ("mnist", "mnist_mlp_bn_pytorch", "cnn_mnist_pytorch", "qdq_mobilenet_edge_block")
ADDRESSES = '{"kind": "vulkan", "supports_buffer_device_address": true, "supports_int64": true}'
SOME_CASES = ("test_top_k", "test_reduce_l2_keep_dims_random", "test_softmax_axis_1", "test_scatter_elements_with_axis")
EVERY = 25

devices = tenon("list", "devices").stdout
if not re.search(r"^gpu_generic .*\n    0: ", devices, re.M):
    print("no Vulkan device")
    sys.exit(77)
artifact = clitest.path("m.tno")
if "has no code generator" in tenon("compile", os.path.join(DIGITS, "digits.onnx"), "-t", "gpu_generic", "-o", artifact).stderr:
    print("gpu_generic has no code generator here")
    sys.exit(77)


def models():
    """Of each its model, and the options that give inputs; without, bench draws them."""
    yield os.path.join(DIGITS, "digits.onnx"), []
    folder = os.environ.get("TENON_MODELS", os.path.join(SRC, "..", "shared", "models", "onnx"))
    for name in MODELS if LONG else ():
        for model in glob.glob(os.path.join(folder, name, "*.onnx")):
            yield model, []
    data = os.environ.get("ONNX_TEST_DATA")
    if not data:
        r = subprocess.run("dpkg -L libonnx-testdata 2>/dev/null | grep -m 1 '/node$'", shell=True, capture_output=True, text=True)
        data = r.stdout.strip()
    cases = sorted(glob.glob(os.path.join(data, "test_*"))) if data else []
    for case in cases[::EVERY] if LONG else [c for c in cases if os.path.basename(c) in SOME_CASES]:
        inputs = glob.glob(os.path.join(case, "test_data_set_0", "input_*.pb"))
        yield os.path.join(case, "model.onnx"), [a for i in inputs for a in ("-i", f"#{re.search(r'input_([0-9]+).pb$', i).group(1)}={i}")]


def bench(inputs, left_out, staging, for_host="no"):
    """Two calls, so that the second one comes behind a wait of the host. The process, and how many barriers it recorded."""
    r = tenon("bench", artifact, *inputs, "--runs", 2, "--json", "--set", "device.gpu_generic.check_hazards=yes",
              "--set", f"device.gpu_generic.leave_out_barrier={left_out}", "--set", "device.gpu_generic.staging=" + staging,
              "--set", "device.gpu_generic.leave_out_for_host=" + for_host)
    properties = json.loads(r.stdout)["properties"] if r.returncode == 0 else []
    return r, sum(p["value"] for p in properties if p["name"] == "gpu_generic.barriers")


total = 0
for target in ("gpu_generic", ADDRESSES) if LONG and " addresses" in devices else ("gpu_generic",):
    for model, inputs in models():
        name = os.path.relpath(model, os.path.dirname(os.path.dirname(model)))
        if tenon("compile", model, "-t", target, "-o", artifact).returncode != 0:
            continue
        for staging in ("no", "yes"):
            r, n = bench(inputs, 0, staging)
            if r.returncode != 0 or n == 0:  # some inputs are sequences, or decide shapes when the case is compiled
                check("hazard: " not in r.stderr, f"{name}, staging = {staging}: no hazard", r)
                continue
            silent = []
            for i in range(1, n + 1):
                r, left = bench(inputs, i, staging)
                if "hazard: " not in r.stderr and left >= i:  # the device may have been faster this time, and needed fewer
                    silent.append(i)
            r, _ = bench(inputs, 0, staging, "yes")
            check("hazard: 'the host'" in r.stderr, f"{name}, staging = {staging}: the barriers for the host are missed", r)
            check(not silent, f"{name}, staging = {staging}: each of {n} barriers is missed {silent or ''}")
            total += n
check(total >= 20, f"{total} barriers were left out, one at a time")
clitest.done()
