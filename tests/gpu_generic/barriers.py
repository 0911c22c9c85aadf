# SPDX-License-Identifier: Apache-2.0
"""No barrier is there for nothing: the device half's check of hazards reports each one that is left out, in models as users run them
and in ONNX's node cases with their inputs, with the host's copies by the device as well as its own. With TENON_LONG=1 more models, kernels
with addresses and with bindings, and node cases drawn by TENON_SEED, some barriers of each, until TENON_SECONDS (1200) are over for each of the
two; barriers of each kind have to be among them."""
import glob
import json
import os
import random
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
import clitest
from clitest import DIGITS, SRC, check, tenon

LONG = os.environ.get("TENON_LONG")
MODELS = ("mnist", "mnist_mlp_bn_pytorch", "cnn_mnist_pytorch", "qdq_mobilenet_edge_block")
ADDRESSES = '{"kind": "vulkan", "supports_buffer_device_address": true, "supports_int64": true}'
SOME_CASES = ("test_top_k", "test_reduce_l2_keep_dims_random", "test_softmax_axis_1", "test_scatter_elements_with_axis")
MOST = 20  # barriers of a case, of those drawn
# what is written over something mostly stands behind a barrier that another access needs; t_vulkan has each alone
KINDS = {"kernel reads what kernel writes", "copy reads what kernel writes", "kernel reads what copy writes"}
SECONDS = float(os.environ.get("TENON_SECONDS") or 1200)
draw = random.Random(int(os.environ.get("TENON_SEED") or 1))

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
    folder = os.environ.get("TENON_MODELS", os.path.join(SRC, "..", "shared", "models", "onnx"))
    data = os.environ.get("ONNX_TEST_DATA")
    if not data:
        r = subprocess.run("dpkg -L libonnx-testdata 2>/dev/null | grep -m 1 '/node$'", shell=True, capture_output=True, text=True)
        data = r.stdout.strip()
    cases = sorted(glob.glob(os.path.join(data, "test_*"))) if data else []
    found = []
    for case in draw.sample(cases, len(cases)) if LONG else [c for c in cases if os.path.basename(c) in SOME_CASES]:
        inputs = glob.glob(os.path.join(case, "test_data_set_0", "input_*.pb"))
        found.append((os.path.join(case, "model.onnx"), [a for i in inputs for a in ("-i", f"#{re.search(r'input_([0-9]+).pb$', i).group(1)}={i}")]))
    for k, name in enumerate(MODELS if LONG else ()):
        for model in glob.glob(os.path.join(folder, name, "*.onnx")):
            found.insert(10 + 12 * k, (model, []))
    return [(os.path.join(DIGITS, "digits.onnx"), [])] + found


def bench(inputs, left_out, staging, for_host="no"):
    """Two calls, so that the second one comes behind a wait of the host. The process, and how many barriers it recorded."""
    r = tenon("bench", artifact, *inputs, "--runs", 2, "--json", "--set", "device.gpu_generic.check_hazards=yes",
              "--set", f"device.gpu_generic.leave_out_barrier={left_out}", "--set", "device.gpu_generic.staging=" + staging,
              "--set", "device.gpu_generic.leave_out_for_host=" + for_host)
    properties = json.loads(r.stdout)["properties"] if r.returncode == 0 else []
    return r, sum(p["value"] for p in properties if p["name"] == "gpu_generic.barriers")


def kind(text):
    """What met for lack of a barrier, of "kernel reads what copy writes"; None: nothing did."""
    m = re.search(r"hazard: '([^']*)' \(stream \d+\) (reads|writes) .*, which '([^']*)' \(stream \d+\) (reads|writes)", text)
    who = ["copy" if w == "a copy" else "host" if w == "the host" else "kernel" for w in m.group(1, 3)] if m else ()
    return f"{who[0]} {m.group(2)} what {who[1]} {m.group(4)}" if m else None


def left_out(model, inputs, target):
    """Each of the barriers of a model, or some, taken out alone: how many, and of which kinds."""
    name, tried, kinds = os.path.relpath(model, os.path.dirname(os.path.dirname(model))), 0, set()
    if tenon("compile", model, "-t", target, "-o", artifact).returncode != 0:
        return 0, kinds
    for staging in ("no", "yes"):
        r, n = bench(inputs, 0, staging)
        if r.returncode != 0 or n == 0:  # some inputs are sequences, or decide shapes when the case is compiled
            check("hazard: " not in r.stderr, f"{name}, staging = {staging}: no hazard", r)
            continue
        silent, some = [], draw.sample(range(1, n + 1), min(n, MOST if LONG else n))
        for i in some:
            r, left = bench(inputs, i, staging)
            kinds.add(kind(r.stderr))
            if "hazard: " not in r.stderr and left >= i:  # the device may have been faster this time, and needed fewer
                silent.append(i)
        r, _ = bench(inputs, 0, staging, "yes")
        check("hazard: 'the host'" in r.stderr, f"{name}, staging = {staging}: the barriers for the host are missed", r)
        check(not silent, f"{name}, staging = {staging}: each of {len(some)} barriers of {n} is missed {silent or ''}")
        tried += len(some)
    return tried, kinds - {None}


for target in ("gpu_generic", ADDRESSES) if LONG and " addresses" in devices else ("gpu_generic",):
    total, models_tried, kinds, end = 0, 0, set(), time.monotonic() + SECONDS
    for model, inputs in models():
        if LONG and time.monotonic() > end:
            break
        tried, found = left_out(model, inputs, target)
        total, models_tried, kinds = total + tried, models_tried + (tried > 0), kinds | found
    check(total >= 20, f"{target}: {total} barriers of {models_tried} models were left out, one at a time")
    print(f"{target}: {', '.join(sorted(kinds))}")
    check(not LONG or (kinds >= KINDS and any(k.startswith("kernel writes") for k in kinds)), f"{target}: barriers of each kind")
clitest.done()
