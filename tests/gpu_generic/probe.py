# SPDX-License-Identifier: Apache-2.0
"""Vulkan drivers that end or hold up the process that asks them (vk_broken.c) do not take tenon down."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
import clitest
from clitest import BUILD, DIGITS, check, path, tenon, write

DRIVER = os.path.join(os.path.abspath(BUILD), "tests/gpu_generic/.libs/vk_broken.so")
ICD = write("broken.json", json.dumps({"file_format_version": "1.0.0", "ICD": {"library_path": DRIVER, "api_version": "1.1.0"}}))
LOG, MODEL = path("asked"), os.path.join(DIGITS, "digits.onnx")


def env(how, seconds="20"):
    return {"VK_BROKEN": how, "VK_BROKEN_LOG": LOG, "VK_DRIVER_FILES": ICD, "VK_ICD_FILENAMES": ICD, "TENON_GPU_GENERIC_PROBE": seconds}


def asked():
    """Processes that asked the driver since the last call."""
    n = len(set(open(LOG).read().split())) if os.path.exists(LOG) else 0
    if n:
        os.remove(LOG)
    return n


r = tenon("list", "devices", env=env(""))
if not asked():
    print("this loader of Vulkan takes no driver from VK_DRIVER_FILES")
    sys.exit(77)
check(r.returncode == 0 and "the driver could not start" in r.stdout, "a driver that opens no device: no device, with a reason", r)
r = tenon("list", "devices", env=env("lies"))
check(r.returncode == 0, "a driver that counts more memory than there is room for: no crash", r)
asked()

for how, call, what in (("abort:create", "vkCreateInstance", "ended the probe by signal 6 (SIGABRT), and said 'broken: create'"),
                        ("segv:enumerate", "vkEnumeratePhysicalDevices", "ended the probe by signal 11 (SIGSEGV)"),
                        ("exit:properties", "vk", "ended the probe with exit status 3"),
                        ("abort:features", "vkGetPhysicalDeviceFeatures2 of 'Broken'", "ended the probe by signal 6"),
                        ("segv:memory", "vkGetPhysicalDeviceMemoryProperties2 of 'Broken'", "ended the probe by signal 11"),
                        ("hang:create", "vkCreateInstance", "did not answer the probe within 1 s")):
    text = f"a driver or layer of Vulkan, in {call}"  # which call of the loader's first asks for properties is its own affair
    r = tenon("list", "devices", env=env(how, "1" if "hang" in how else "20"))
    check(r.returncode == 0 and text in r.stdout and what in r.stdout and "VK_DRIVER_FILES" in r.stdout, f"{how}: list devices says what happened, and what to do", r)
    check("\ncpu" in "\n" + r.stdout and asked() == 1, f"{how}: it shows the other devices, and asks once", r)
r = tenon("run", MODEL, "-t", "gpu_generic", env=env("abort:create"))
check(r.returncode == 1 and "in vkCreateInstance, ended the probe by signal 6" in r.stderr, "run -t gpu_generic is refused with the reason", r)
asked()
r = tenon("list", "devices", env=env("abort:create", "0"))
check(r.returncode == -6, "TENON_GPU_GENERIC_PROBE=0 asks at once", r)
asked()

# who needs no device asks for none
for command in (("--help",), ("list", "passes"), ("compile", MODEL, "-t", "gpu_generic", "-o", path("m.tno")), ("run", MODEL, "-t", "cpu")):
    r = tenon(*command, env=env("abort:create"))
    check(r.returncode == 0 and asked() == 0, f"tenon {' '.join(map(os.path.basename, command))} probes nothing", r)
clitest.done()
