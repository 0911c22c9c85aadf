# SPDX-License-Identifier: Apache-2.0
"""Modules that no model looks like go through the pipelines, are verified by execution at every pass, and run on the cpu: branches,
loops, calls of private functions, results in tuples of tuples, scalars computed and returned, in-place calls, empty tensors."""
import glob
import os
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
from clitest import SRC, check, done, path, tenon, write  # noqa: E402

for module in sorted(glob.glob(os.path.join(SRC, "tests", "transform", "modules", "*.py"))):
    name = os.path.basename(module)[:-3]
    text = open(module).read()
    functions = [l.split("def ")[1].split("(")[0] for k, l in enumerate(text.splitlines())
                 if "def " in l and text.splitlines()[k - 1].strip() == "@R.function"]
    for target in ("cpu", "cuda"):
        out = path(f"{name}-{target}.py")
        r = tenon("opt", module, "-t", target, "-p", "@pipeline", "--verify", "--debug=roundtrip", "-o", out, "--pass-config",
                  "relax.backend.use_cuda_graph=true")
        check(r.returncode == 0 and "not verified" not in r.stderr and " 0 functions" not in r.stderr,
              f"{name}: every pass of {target} keeps the meaning", r)
    for f in functions:
        r = tenon("run", module, "-t", "cpu", "-f", f, "-o", path(f"{name}-{f}"))
        check(r.returncode == 0 and os.listdir(path(f"{name}-{f}")), f"{name}: {f} runs", r)
nested = sorted(os.listdir(path("branch_and_nested_result-main")))
check(nested == ["0-output0.npy", "1-output1_0.npy", "2-output1_1.npy"], "fields of nested tuples are written one by one")

# local functions: refused with what to do, and what to do
local = os.path.join(SRC, "tests", "pass", "LambdaLift", "captured_values.py")
with open(local) as f:
    local = write("local.py", f.read().split("# expected:")[0].replace("class Before", "class Module"))
r = tenon("compile", local, "-t", "cpu", "-o", path("local.tno"))
check(r.returncode == 1 and "local.py:14:" in r.stderr and "LambdaLift" in r.stderr, "local functions: the error names the pass", r)
ini = write("lift.ini", "[pipeline cpu]\ninsert.lift = before library_dispatch: LambdaLift\n")
r = tenon("compile", local, "-t", "cpu", "--config", ini, "--verify", "-o", path("local.tno"))
check(r.returncode == 0 and "not verified" not in r.stderr, "and with that they are compiled", r)
r = tenon("run", path("local.tno"), "-o", path("local"))
check(r.returncode == 0, "and run", r)
done()
