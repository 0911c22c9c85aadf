# SPDX-License-Identifier: Apache-2.0
"""A node costs about as much in a module of 4000 as in one of 500, and so does a section of the settings. By processor time, so only what grows with the square is
seen; bench/growth.py counts instructions, of larger modules."""
import importlib.util
import os
import re
import subprocess
import sys

from clitest import SRC, TENON, check, done, path, tenon, write

sys.path.append(os.path.join(SRC, "bench"))
spec = importlib.util.spec_from_file_location("growth_bench", os.path.join(SRC, "bench", "growth.py"))
bench = importlib.util.module_from_spec(spec)
spec.loader.exec_module(bench)

SMALL, LARGE, FACTOR, TRIES = 500, 4000, 2.5, 5
FINALIZE = "-p", "LegalizeOps,@finalize", "-t", "cpu"
LOWER = "-p", "LowerInitBlock,ConvertBlocksToOpaque,PlanAndUpdateBufferAllocationLocation,CompactBufferAllocation", "-t", "cpu"
WORKS = (
    ("ladder", "opt", "{}", "-p", "@pipeline", "-t", "cpu", "-o", os.devnull),
    ("ladder", "opt", "{}", *FINALIZE, "-o", os.devnull),
    ("dag", "opt", "{}", "-p", "@pipeline", "-t", "opencl", "-o", os.devnull),
    ("symbols", "opt", "{}", "-p", "@pipeline", "-t", "opencl", "-o", os.devnull),
    ("closures", "opt", "{}", "-p", "LambdaLift", "-t", "cpu", "-o", os.devnull),
    ("results", "diff", "{}", "{}"),
    ("stages", "opt", "{}", *LOWER, "-o", os.devnull),
    ("scalars", "opt", "{}", *LOWER, "-o", os.devnull),
)
SETTINGS = ("list", "targets"), ("check-config",), ("show", "config")
for shape in "targets", "unknown targets", "passes", "devices", "locks":
    WORKS += tuple((shape, *words, "--config", "{}") for words in SETTINGS)


def settings(kind, n):
    """An INI file of n sections; None if no settings are meant."""
    if kind == "locks":
        return "[tenon]\nlock =\n" + "".join(f"    target.t{i}.mcpu\n" for i in range(n)) + settings("targets", n)
    section = {"targets": "[target t{}]\nkind = null\n", "unknown targets": "[target t{}]\nkind = nothing\n",
               "passes": "[pass p{}]\noption = 1\n", "devices": "[device d{}]\nkey = 1\n"}.get(kind)
    return section and "".join(section.format(i) for i in range(n))


def seconds(words, shape, n):
    """Of the processor; -1 if it does not end by itself. Status 1 is of settings that are told of."""
    text = path(f"{shape}-{n}.in")
    ini = settings(shape, n)
    if not os.path.exists(text):
        write(f"{shape}-{n}.in", ini or bench.module(shape, n))
    p = subprocess.Popen([TENON] + [w.format(text) for w in words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(p.pid, 0)
    status = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime if status == 0 or (ini and status == 1) else -1


for shape, *words in WORKS:
    least = {}
    for _ in range(TRIES):  # another program may have the caches: the least of some
        for n in (10, SMALL, LARGE):
            s = seconds(words, shape, n)
            least[n] = min(s, least.get(n, s))
        small, large = max(least[SMALL] - least[10], 0.01) / SMALL, (least[LARGE] - least[10]) / LARGE
        if large <= FACTOR * small or least[10] < 0:
            break
    check(least[10] > 0 and large <= FACTOR * small, "%s of %s: %.0f us each in one of %d, %.0f in one of %d" % (
        words[0], shape, 1e6 * small, SMALL, 1e6 * large, LARGE))

# An index that is used twice does not double with every reshape that is computed where it is read.
for target in "cpu", "opencl":
    sizes = []
    for n in 8, 24:
        out = path(f"reshapes-{n}.out")
        r = tenon("opt", write(f"reshapes-{n}.py", bench.module("reshapes", n)), "-p", "@pipeline", "-t", target, "-o", out)
        sizes.append(os.path.getsize(out) / n if r.returncode == 0 else 0)
    check(0 < sizes[1] <= 4 * sizes[0], "%s: %.0f characters a reshape in a chain of 8, %.0f in one of 24" % (target, *sizes), r)

# Where too many tensors live together to compare them all, the plan is as small, and its tensors do not overlap.
text = write("long.py", bench.module("ladder", 1600).replace("R.exp", "R.tanh"))
r = tenon("opt", text, *FINALIZE, "-o", os.devnull, "--verify", "--timing")
check(r.returncode == 0, "a module whose values live long gives the same results behind each pass", r)
m = re.search(r"(\d+) tensors in (\d+) bytes; at least (\d+) are alive", r.stderr)
check(m is not None and int(m[1]) > 1500 and int(m[2]) <= 1.05 * int(m[3]), "their plan takes little more than it must", r)
done()
