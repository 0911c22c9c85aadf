# SPDX-License-Identifier: Apache-2.0
"""OpenCL drivers that end or hold up the process that asks them (cl_broken.c) do not take tenon down."""
import glob
import os
import sys
import time

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
import clitest
from clitest import BUILD, DIGITS, check, done, path, tenon, write

DRIVER = os.path.join(os.path.abspath(BUILD), "tests/device/.libs/cl_broken.so")
LOG = path("asked")
MODEL = os.path.join(DIGITS, "digits.onnx")


def vendors(name, *files):
    for i, text in enumerate(files):
        write(f"{name}/{i}.icd", text)
    return path(name)


def env(how, folder, seconds="20"):
    return {"CL_BROKEN": how, "CL_BROKEN_LOG": LOG, "OCL_ICD_VENDORS": folder, "OCL_ICD_FILENAMES": "",
            "TENON_OPENCL_PROBE": seconds,
            "OCL_ICD_PLATFORM_SORT": "none"}


def asked():
    """Processes that asked the driver since the last call."""
    n = len(set(open(LOG).read().split())) if os.path.exists(LOG) else 0
    if n:
        os.remove(LOG)
    return n


only = vendors("only", DRIVER + "\n")
r = tenon("list", "devices", env=env("none", only))
if not asked():
    print("this OpenCL loader takes no driver from OCL_ICD_VENDORS")
    sys.exit(77)
check(r.returncode == 0 and "none: " in r.stdout, "a driver without platforms: no device, with a reason", r)

# what is said of a driver that breaks, and that the rest goes on
for how, texts in (
        ("abort", ("a driver or the loader of OpenCL ended the probe by signal 6 (SIGABRT)", "broken: no /sys here")),
        ("devices-abort", ("the OpenCL driver of platform 0 'Broken' ended the probe by signal 6 (SIGABRT)",
                           "broken: cannot find the topology")),
        ("devices-segv", ("of platform 0 'Broken' ended the probe by signal 11 (SIGSEGV)",)),
        ("devices-exit", ("of platform 0 'Broken' ended the probe with exit status 3",)),
        ("hang", ("a driver or the loader of OpenCL did not answer the probe within 2 s",)),
        ("devices-hang", ("of platform 0 'Broken' did not answer the probe within 2 s",))):
    seconds = "2" if "hang" in how else "20"
    for command in (("list", "devices"), ("doctor",)):
        r = tenon(*command, env=env(how, only, seconds))
        check(r.returncode == 0 and all(t in r.stdout for t in texts), f"{how}: {' '.join(command)} says what happened", r)
        check("OCL_ICD_VENDORS" in r.stdout, f"{how}: {' '.join(command)} says what to do", r)
        check("cpu" in r.stdout, f"{how}: {' '.join(command)} shows the other devices", r)
        # two runs of the probe, and the process itself, where only the devices of the platform break it
        check(asked() == {"abort": 1, "hang": 1}.get(how, 3), f"{how}: {' '.join(command)} probes once", r)
    r = tenon("run", MODEL, "-t", "opencl", env=env(how, only, seconds))
    check(r.returncode == 1 and texts[0] in r.stderr and "OCL_ICD_VENDORS" in r.stderr,
          f"{how}: run -t opencl is refused with the reason", r)
    asked()

# without the probe the process ends: what the probe is for
r = tenon("list", "devices", env=env("abort", only, "0"))
check(r.returncode == -6, "TENON_OPENCL_PROBE=0 asks at once", r)
asked()

# another driver's devices stay usable, if the loader does not ask for devices itself (OCL_ICD_PLATFORM_SORT)
others = [open(f).read() for f in sorted(glob.glob("/etc/OpenCL/vendors/*.icd"))]
usual = tenon("list", "devices", env={"OCL_ICD_FILENAMES": ""})
if others and "    0: " in usual.stdout.split("\nopencl ")[-1]:
    for files, which in (((DRIVER + "\n", *others), "first"), ((*others, DRIVER + "\n"), "last")):
        both = vendors("both-" + which, *files)
        r = tenon("list", "devices", env=env("devices-abort", both))
        check(r.returncode == 0 and "driver" in r.stdout.split("\nopencl ")[-1].split("0: ")[-1] and
              "'Broken' ended the probe by signal 6" in r.stderr, f"a broken platform, {which}, leaves the others", r)
        r = tenon("run", MODEL, "-t", "opencl", env=env("devices-abort", both))
        check(r.returncode == 0, f"a broken platform, {which}: run -t opencl takes another", r)
    asked()

# who needs no OpenCL device asks for none
for command in (("--help",), ("--version",), ("list", "passes"), ("list", "plugins"),
                ("compile", MODEL, "-t", "opencl", "-o", path("m.tno")), ("run", MODEL, "-t", "cpu")):
    start = time.monotonic()
    r = tenon(*command, env=env("abort", only))
    check(r.returncode == 0 and asked() == 0, f"tenon {' '.join(map(os.path.basename, command))} probes nothing", r)

# a module that is copied without its program works as well
check(os.path.exists(os.path.join(BUILD, "plugins-stage", "opencl_probe")), "the program lies beside the module")
clitest.done()
