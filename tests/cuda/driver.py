# SPDX-License-Identifier: Apache-2.0
"""Drivers that the cuda device cannot use: none, one without a GPU, one that does not start, one that is too old, a library that is
no driver. Each is said with what to do, and the program goes on."""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
import clitest
from clitest import check, path, tenon, write

CC = os.environ.get("CC", "cc").split()

# Only what is called before the device is given up.
FAKE = """
int cuInit(unsigned f) { (void)f; return INIT; }
int cuDriverGetVersion(int *v) { *v = VERSION; return 0; }
int cuGetErrorName(int c, const char **s) { *s = c == 100 ? "CUDA_ERROR_NO_DEVICE" : "CUDA_ERROR_OTHER"; return 0; }
int cuGetErrorString(int c, const char **s) { (void)c; *s = "as the driver says it"; return 0; }
"""


def cuda_line(folder):
    """What `tenon list devices` says of cuda with that libcuda.so.1 in front of others."""
    env = {"LD_LIBRARY_PATH": folder + ":" + os.environ.get("LD_LIBRARY_PATH", "")}
    r = tenon("list", "devices", env=env)
    check(r.returncode == 0, "tenon list devices ends well", r)
    lines = r.stdout.split("\n")
    at = next(i for i, line in enumerate(lines) if line.startswith("cuda "))
    return r, "\n".join(lines[at + 1:at + 3])


def library(name, text, *flags):
    folder = path(name)
    os.makedirs(folder, exist_ok=True)
    source = write(name + ".c", text)
    subprocess.run(CC + ["-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", os.path.join(folder, "libcuda.so.1"), source, *flags], check=True)
    return folder


def says(folder, *texts):
    r, line = cuda_line(folder)
    for text in texts:
        check(text in line, f"'{text}' is said of {os.path.basename(folder)}", r)


if shutil.which(CC[0]) is None:
    print("no C compiler")
    sys.exit(77)
broken = path("broken")
os.makedirs(broken, exist_ok=True)
with open(os.path.join(broken, "libcuda.so.1"), "w") as f:
    f.write("no library\n")
says(broken, "the NVIDIA driver, libcuda.so.1, cannot be opened", "install the driver of the GPU")
says(library("other", "int cuOther(void) { return 0; }\n"), "libcuda.so.1 has no cu", "no NVIDIA driver")
says(library("stuck", FAKE, "-DINIT=803", "-DVERSION=12040"), "starting the NVIDIA driver: cuInit: CUDA_ERROR_OTHER (803)", "restart the machine")
says(library("old", FAKE, "-DINIT=0", "-DVERSION=11040"), "the NVIDIA driver is for CUDA 11.4; 12.0 is needed", "525 or later")
says(library("part", FAKE, "-DINIT=0", "-DVERSION=12040"), "is for CUDA 12.4 and has no cu", "525 or later")
count = "int cuDeviceGetCount(int *n) { *n = 0; return 0; }\n"
names = [line.split("(")[1].split(",")[0] for line in open(os.path.join(os.environ["top_srcdir"], "backends/cuda/api.h"), encoding="utf-8")
         if line.lstrip().startswith("X(cu")]
check(len(names) > 40, "the list of calls is read")
rest = "".join(f"int {n}(void) {{ return 999; }}\n" for n in names if n != "cuDeviceGetCount")
says(library("none", FAKE + count + rest, "-DINIT=100", "-DVERSION=12040"),
     "looking for GPUs: cuDeviceGetCount: CUDA_ERROR_NO_DEVICE (100)", "no GPU of NVIDIA is present, or CUDA_VISIBLE_DEVICES hides it")
r = tenon("run", os.path.join(clitest.DIGITS, "digits.onnx"), "-t", "cuda", "-q")
check(r.returncode != 0 and "cuda" in r.stderr, "a run on a device that is not there is refused", r)
r = tenon("check-config", "--set", "device.cuda.check_launches=perhaps")
check("check_launches" in r.stdout + r.stderr and "yes or no" in r.stdout + r.stderr, "a setting's value is checked", r)
clitest.done()
