#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Large constants that only get another shape, or are a contiguous part of one that a file holds, are taken as they are:
FoldConstant leaves no program to run for them. What they hold is right, and so are those that a program still makes."""
import glob
import os
import re
import shutil
import sys

try:
    import numpy as np
except ImportError:  # another Python of this machine may have it
    if sys.executable == "/usr/bin/python3" or not os.path.exists("/usr/bin/python3"):
        print("no Python with NumPy (Debian: python3-numpy): skipped")
        sys.exit(77)
    os.execv("/usr/bin/python3", ["/usr/bin/python3"] + sys.argv)

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
from clitest import check, done, path, tenon, write  # noqa: E402

if not os.path.exists(os.path.join(os.environ["TENON_PLUGIN_PATH"], "cpu.so")):
    sys.exit(77)
N, M = 1024, 1040
CASES = {  # operators on w, the result by NumPy, programs that are compiled for it
    "reshaped": ("R.reshape(w, R.shape([8, 128, 1040]))", lambda w: w.reshape(8, 128, M), 0),
    "unit_axis": ("R.expand_dims(w, axis=1)", lambda w: w[:, None], 0),
    "rows": ("R.strided_slice(w, (R.prim_value(0),), (R.prim_value(256),), (R.prim_value(768),))", lambda w: w[256:768], 0),
    "columns": ("R.strided_slice(w, (R.prim_value(1),), (R.prim_value(16),), (R.prim_value(1040),))", lambda w: w[:, 16:], 1),
    "backwards": ("R.flip(w, axis=0)", lambda w: w[::-1], 1),
    "transposed": ("R.reshape(R.permute_dims(w), R.shape([1040, 2, 512]))", lambda w: w.T.reshape(M, 2, 512), 1),
    "part_of_computed": ("R.strided_slice(R.permute_dims(w), (R.prim_value(0),), (R.prim_value(8),), (R.prim_value(1032),))",
                         lambda w: w.T[8:1032], 2),
}
real = os.environ.get("CC") or shutil.which("cc")
if not real:
    sys.exit(77)
compiler = write("cc", f"""#!/bin/sh
for a; do
    case $a in
    *.c) cp "$a" "$KEPT/$$.c" ;;
    esac
done
exec {real} "$@"
""")
os.chmod(compiler, 0o755)
w = np.random.default_rng(1).standard_normal((N, M)).astype(np.float32)
np.save(path("w.npy"), w)
for name, (value, of, programs) in CASES.items():
    want = of(w)
    x = np.ones(want.shape, np.float32)
    np.save(path("x.npy"), x)
    np.save(path("want.npy"), np.ascontiguousarray(want + x))
    steps = re.sub(r"R\.(permute_dims)\(w\)", "lv", value)
    first = "lv = R.permute_dims(w)\n            " if steps != value else ""
    module = write(name + ".py", f"""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor({x.shape}, "float32"), w: R.Tensor(({N}, {M}), "float32")):
        with R.dataflow():
            {first}lv1 = {steps}
            gv = R.add(x, lv1)
            R.output(gv)
        return gv
""")
    bound = path(name + "_bound.py")
    r = tenon("opt", module, "-p", f"""BindParams{{func_name=main, params={{"w": "@{path('w.npy')}"}}}}""", "-o", bound)
    check(r.returncode == 0 and os.path.exists(bound + ".consts"), f"{name}: the constant lies in a file", r)
    kept = path(name + ".kept")
    os.mkdir(kept)
    r = tenon("run", bound, "-t", "cpu", "-i", "x=" + path("x.npy"), "--expect", "#0=" + path("want.npy"),
              "--rtol", 0, "--atol", 0, "--no-cache", env={"KEPT": kept, "CC": compiler})
    check(r.returncode == 0, f"{name}: the result is NumPy's", r)
    texts = "".join(open(f).read() for f in glob.glob(os.path.join(kept, "*.c")))
    found = len(set(re.findall(r"^constant\d+\(", texts, re.M)))
    check(found == programs, f"{name}: {programs} programs of constants are compiled, found {found}", r)
done()
