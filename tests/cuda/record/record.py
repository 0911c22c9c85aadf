# SPDX-License-Identifier: Apache-2.0
"""The recorder of instruction forms (README.md) on the simulated device: all forms run, a record agrees with itself, a wrong result in it is
found and named, also in the short form; ptxas takes all forms; records of GPUs, sm_*.record in this folder, agree with the simulated device."""
import glob
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
import clitest
from clitest import BUILD, SRC, check, path

RECORD = os.path.join(BUILD, "tests", "cuda", "record", "record")
SIM = os.path.join(BUILD, "tests", "cuda", "sim", ".libs")


def record(*args, arch="90"):
    return subprocess.run([RECORD, *args], env=dict(os.environ, CUDASIM_ARCH=arch, LD_LIBRARY_PATH=SIM + ":" + os.environ.get("LD_LIBRARY_PATH", "")),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)


if not os.path.exists(os.path.join(SIM, "libcuda.so.1")):
    print("no simulated device (cmocka is missing)")
    sys.exit(77)
mine = path("mine.record")
r = record("-o", mine)
n = len(record("--list").stdout.splitlines())
check(r.returncode == 0 and n > 1000 and f"{n} forms run, 0 refused, 0 of newer" in r.stdout, "all forms run", r)
r = record("--compare", mine)
check(r.returncode == 0 and "0 differ from the record, which lacks 0" in r.stdout, "a record agrees with the device that made it", r)
r = record("-o", path("older.record"), arch="75")
check(r.returncode == 0 and ", 0 of newer" not in r.stdout, "an older device leaves out what it has not", r)
r = record("--compare", path("older.record"))
check(r.returncode == 1 and "0 differ" in r.stdout and "lacks 0" not in r.stdout, "what a record lacks is counted", r)

with open(mine, encoding="ascii") as f:
    lines = f.readlines()
for name, wrong in (("mad.lo.s32\t", True), ("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32\t", True), ("add.rz.ftz.f32\t", True), ("sin.approx.f32\t", False)):
    at, = [k for k, line in enumerate(lines) if line.startswith(name)]
    end = len(name) + 8 * 5 - 1  # the last digit of the fifth thread's first result
    digit = "0" if lines[at][end] != "0" else "1"
    with open(path("wrong.record"), "w", encoding="ascii") as f:
        f.writelines(lines[:at] + [lines[at][:end] + digit + lines[at][end + 1:]] + lines[at + 1:])
    r = record("--compare", path("wrong.record"))
    if wrong:
        check(r.returncode == 1 and "1 differ" in r.stdout and f"{name.strip()}: thread 4, result 0: " in r.stdout, f"a wrong {name.strip()} is found", r)
    else:
        check(r.returncode == 0, f"the last place of {name.strip()} is not prescribed", r)

# the short form tells the same threads, without their values
short = path("short.record")
r = record("--short", mine)
with open(short, "w", encoding="ascii") as f:
    f.write(r.stdout)
check(r.returncode == 0 and os.path.getsize(short) < 0.35 * os.path.getsize(mine), "the short form is a third as long", r)
check(record("--short", short).stdout == r.stdout, "the short form of a short record is itself")
r = record("--compare", short)
check(r.returncode == 0 and "0 differ from the record, which lacks 0" in r.stdout, "a short record agrees with the device that made it", r)
with open(short, encoding="ascii") as f:
    lines = f.readlines()
for name, thread in (("mad.lo.s32\t", 63), ("add.f16x2\t", 17)):
    at, = [k for k, line in enumerate(lines) if line.startswith(name)]
    place = len(name) + 2 * thread
    with open(path("wrong.record"), "w", encoding="ascii") as f:
        f.writelines(lines[:at] + [lines[at][:place] + lines[at][place:place + 2].swapcase() + lines[at][place + 2:]] + lines[at + 1:])
    r = record("--compare", path("wrong.record"))
    check(r.returncode == 1 and "1 differ" in r.stdout and f"{name.strip()}: thread {thread}, result 0: " in r.stdout and
          "another value in the record; operands" in r.stdout, f"a wrong {name.strip()} is found by its digest", r)
for text, what in ((lines[at][:-3] + "\n", "a line that is cut"),
                   (lines[at][:len(name)] + "?" + lines[at][len(name) + 1:], "a digit that is none")):
    with open(path("wrong.record"), "w", encoding="ascii") as f:
        f.writelines(lines[:at] + [text] + lines[at + 1:])
    r = record("--compare", path("wrong.record"))
    check(r.returncode == 1 and f"{name.strip()}: its line of the record has another form" in r.stdout, what + " is said", r)
    r = record("--short", path("wrong.record"))
    check(r.returncode == 2 and f"{name.strip()}: its line of the record has another form" in r.stderr, what + " is not made shorter", r)

ptxas = shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas"
if os.path.exists(ptxas):
    for arch in ("75", "80", "90"):
        with open(path("forms.ptx"), "w", encoding="ascii") as f:
            f.write(record("--ptx", arch).stdout)
        r = subprocess.run([ptxas, "-arch=sm_" + arch, "-O0", path("forms.ptx"), "-o", path("forms.cubin")], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, check=False)
        if "is not defined for option 'gpu-name'" not in r.stderr:
            check(r.returncode == 0, f"ptxas takes all forms of sm_{arch}", r)

for file in sorted(glob.glob(os.path.join(SRC, "tests", "cuda", "record", "sm_*.record"))):
    r = record("--compare", file, arch=os.path.basename(file)[3:].split(".")[0])
    lacks = re.search(r"forms run, 0 refused, .*; 0 differ from the record, which lacks (\d+)", r.stdout)
    check(lacks and int(lacks[1]) < n // 5, f"the simulated device agrees with {os.path.basename(file)}, which has most forms", r)
clitest.done()
