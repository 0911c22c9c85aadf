# SPDX-License-Identifier: Apache-2.0
"""tenon run --profile-kernels: the table of an OpenCL device has the form of the processor's, with times that a device took."""
import os
import re
import sys
import time

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
import clitest
from clitest import DIGITS, check, tenon

MODEL = os.path.join(DIGITS, "digits.onnx")
HEAD = "ms % calls GB/s kernel"


def number(text):
    return float(text.replace(",", "."))  # as the locale writes it


def table(what, *args):
    """Milliseconds and name of each kernel."""
    start = time.monotonic()
    r = tenon("run", MODEL, "--profile-kernels", *args)
    wall = 1000 * (time.monotonic() - start)
    lines = [line.split() for line in r.stderr.splitlines()]
    at = [i for i, words in enumerate(lines) if " ".join(words) == HEAD]
    check(r.returncode == 0 and len(at) == 1, f"{what}: a table with the columns {HEAD}", r)
    rows, total = [], None
    for words in lines[at[0] + 1:] if at else ():
        if words[1:] == ["all", "kernels"]:
            total = number(words[0])
            break
        rows.append((number(words[0]), words[-1]))
    check(rows and total is not None and abs(sum(ms for ms, _ in rows) - total) < 0.01 * len(rows) + 0.01,
          f"{what}: the kernels' times add up to the last line's", r)
    check(total is not None and total < wall, f"{what}: that is less than the run took, {wall:.0f} ms")
    return rows


if "    0: " not in tenon("list", "devices").stdout.split("\nopencl ")[-1]:
    print("no OpenCL device")
    sys.exit(77)
table("cpu", "-t", "cpu")
for what, args in (("opencl, events", ()), ("opencl, the host's clock", ("--set", "device.opencl.profiling=no"))):
    rows = table(what, "-t", "opencl", *args)
    check(rows and all(ms > 0 for ms, _ in rows), f"{what}: each kernel took some time: {rows}")
    check(all(re.fullmatch(r"\w+", name) for _, name in rows) and rows == sorted(rows, key=lambda r: -r[0]),
          f"{what}: kernels have names, the slowest is first")
clitest.done()
