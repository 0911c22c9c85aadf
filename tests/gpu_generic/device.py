# SPDX-License-Identifier: Apache-2.0
"""The conformance suite on the first Vulkan device, with kernels of every form and the driver's settings, then under the Khronos
validation layer with its synchronization validation, where that is installed: not one message."""
import glob
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import clitest
import kernels
from clitest import BUILD, check, path, tenon, write

FORMS = ("", ":addresses", ":base", ":block", ":addresses:base:block", ":base:block")
SETTINGS = ("", "timeline = no", "push_descriptors = no", "staging = yes", "check_hazards = yes", "batch = 1", "ring = 1\nstaging = yes")
UNDER_LAYER = ("", "timeline = no")  # of the other forms: it sees no semaphore with values
VALIDATION = {"VK_INSTANCE_LAYERS": "VK_LAYER_KHRONOS_validation",
              "VK_LAYER_ENABLES": "VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT"}

if not shutil.which("spirv-as"):
    print("spirv-as is not installed (spirv-tools)")
    sys.exit(77)
if not re.search(r"^gpu_generic .*\n    0: ", tenon("list", "devices").stdout, re.M):
    print("no Vulkan device")
    sys.exit(77)


def suite(form, settings, extra):
    """Runs it; the process."""
    ini = write("vk.ini", "[device gpu_generic]\n" + settings + "\n")
    env = dict(os.environ, TENON_CONFIG=ini, **extra)
    return subprocess.run([os.path.join(BUILD, "tests/device/conformance"), "gpu_generic", "--module", "tenon-spirv",
                           modules[form]], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


modules = {}
for form_ in FORMS:
    modules[form_] = path("add" + form_.replace(":", "-"))
    with open(modules[form_], "wb") as out:
        out.write(kernels.payload([kernels.kernel("add_f32" + form_)]))

layer = glob.glob("/usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json")
for form_ in FORMS:
    for settings_ in SETTINGS:
        what = f"kernels{form_ or ' of plain form'}, [{settings_}]"
        r = suite(form_, settings_, {})
        check(r.returncode == 0, f"{what}: conformance", r)
        if layer and (not form_ or settings_ in UNDER_LAYER):
            r = suite(form_, settings_, VALIDATION)
            check(r.returncode == 0 and "Validation" not in r.stdout and "SYNC-HAZARD" not in r.stdout,
                  f"{what}: not one message of the validation layer", r)
if layer:
    r = suite("", "leave_out_barrier = 2", VALIDATION)
    check("SYNC-HAZARD" in r.stdout, "the layer speaks up when a barrier is missing", r)
else:
    print("the validation layer is not installed (vulkan-validationlayers)")

r = tenon("list", "devices", "--set", "device.gpu_generic.device=no-such")
check("is left out by [device gpu_generic] device = no-such" in r.stdout, "a device that the settings leave out is shown as such", r)
clitest.done()
