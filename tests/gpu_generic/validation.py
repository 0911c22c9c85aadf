# SPDX-License-Identifier: Apache-2.0
"""ONNX's node cases and whole models on Vulkan under the Khronos validation layer with its synchronization validation, and under the
driver's own check of hazards, which also sees accesses through addresses: not one message. With device addresses and with bindings.
Each way has half of the cases, and a few models of TENON_MODELS; with TENON_LONG=1 both have all."""
import glob
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
import clitest
from clitest import DIGITS, SRC, check, tenon

LAYER = {"VK_INSTANCE_LAYERS": "VK_LAYER_KHRONOS_validation",
         "VK_LAYER_ENABLES": "VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT",
         "VK_LAYER_SYNCVAL_SHADER_ACCESSES_HEURISTIC": "1"}  # newer layers look at what shaders access only with this
WAYS = (("bindings", '{"kind": "vulkan"}'), ("addresses", '{"kind": "vulkan", "supports_buffer_device_address": true, "supports_int64": true}'))
MINIMUM = 0.83  # of node cases run; the others say why not
SOME_MODELS = ("mnist", "cnn_mnist_pytorch", "silero_vad_op18_ifless", "ultraface_slim-320")
MESSAGE = re.compile(r"Validation|SYNC-HAZARD|VUID-|hazard: ")

if not glob.glob("/usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json"):
    print("the validation layer is not installed (vulkan-validationlayers)")
    sys.exit(77)
devices = tenon("list", "devices").stdout
if not re.search(r"^gpu_generic .*\n    0: ", devices, re.M):
    print("no Vulkan device")
    sys.exit(77)
if "has no code generator" in tenon("compile", os.path.join(DIGITS, "digits.onnx"), "-t", "gpu_generic", "-o", clitest.path("m.tno")).stderr:
    print("gpu_generic has no code generator here")
    sys.exit(77)


def node_cases():
    data = os.environ.get("ONNX_TEST_DATA")
    if not data:
        r = subprocess.run("dpkg -L libonnx-testdata 2>/dev/null | grep -m 1 '/node$'", shell=True, capture_output=True, text=True)
        data = r.stdout.strip()
    return sorted(glob.glob(os.path.join(data, "test_*"))) if os.path.isdir(data) else []


def models():
    folder = os.environ.get("TENON_MODELS", os.path.join(SRC, "..", "shared", "models", "onnx"))
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    return [os.path.join(folder, n) for n in names if os.environ.get("TENON_LONG") or n in SOME_MODELS]


def silent(what, result):
    # newer layers tell first that there is another way to switch synchronization validation on, which older ones do not know
    found = [s for s in (result.stdout + result.stderr).splitlines() if MESSAGE.search(s) and "VALIDATION-SETTINGS" not in s]
    check(not found, f"{what}: not one message" + "".join("\n  " + s[:400] for s in found[:5]), result)


for n, (way, target) in enumerate(WAYS):
    if way == "addresses" and " addresses" not in devices:
        continue
    # a layer makes kernels slow, on a busy machine by more than the two minutes after which a device counts as hung
    common = ["-t", target, "-j", 2, "--set", "device.gpu_generic.check_hazards=yes", "--set", "device.gpu_generic.timeout=1500"]
    cases = node_cases() if os.environ.get("TENON_LONG") else node_cases()[n::2]
    if cases:
        r = tenon("onnx-test", *cases, "-q", "--batch", 100, *common, env=LAYER, timeout=1500)
        silent(f"node cases, {way}", r)
        passed = int((re.findall(r"^(\d+) passed", r.stdout, re.M) or [0])[-1])
        check(passed >= MINIMUM * len(cases), f"node cases, {way}: {passed} of {len(cases)} ran and gave the right results", r)
    # a quantized model's values may be off by one step, as in tests/models/gpu_models.sh
    for atol, some in (("1e-4", [m for m in models() if "qdq" not in m]), ("0.38", [m for m in models() if "qdq" in m])):
        if some:
            r = tenon("onnx-test", *some, "--atol", atol, "--timeout", 1500, *common, env=LAYER, timeout=6000)
            silent(f"{len(some)} models, {way}", r)
            check(re.search(r"^[1-9]\d* passed, 0 failed", r.stdout, re.M), f"models, {way}: " + r.stdout.splitlines()[-1], r)
    for model in models():  # without data in onnx-test's form
        if not glob.glob(os.path.join(model, "test_data_set_*")):
            r = tenon("run", os.path.join(model, "model.onnx"), *common, env=LAYER, timeout=1500)
            silent(f"{os.path.basename(model)}, {way}", r)
            check(r.returncode == 0, f"{os.path.basename(model)}, {way}: runs", r)

# the two speak up when a barrier between kernels is missing; the layer sees what is bound
heard = {"layer": 0, "check": 0}
for n in range(1, 9):
    leave_out = ["run", os.path.join(DIGITS, "digits.onnx"), "-t", WAYS[0][1], "--set", f"device.gpu_generic.leave_out_barrier={n}"]
    heard["layer"] += "SYNC-HAZARD" in tenon(*leave_out, env=LAYER).stdout
    heard["check"] += "hazard: " in tenon(*leave_out, "--set", "device.gpu_generic.check_hazards=yes").stderr
check(heard["layer"] >= 2 and heard["check"] >= heard["layer"], f"barriers that are left out are heard of: {heard}")
clitest.done()
