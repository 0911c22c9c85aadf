# SPDX-License-Identifier: Apache-2.0
"""Products of an unknown number of rows compute on a device of OpenCL what numpy does for few rows and for many: LowBatchGemvSpecialize
schedules both, and the program chooses as it runs."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
from clitest import check, done, path, tenon, write  # noqa: E402

try:
    import numpy as np
except ImportError:
    print("no numpy here")
    sys.exit(77)
usable = re.search(r"^opencl[^\n]*\n +0: (?!not usable|none)", tenon("list", "devices").stdout, re.M)
if "opencl" not in tenon("list", "targets").stdout or not usable:
    print("no device of OpenCL here")
    sys.exit(77)
K, N = 256, 512
MODULE = f'''from tvm.script import ir as I, tirx as T, relax as R
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 1, {K}), "float16"), w: R.Tensor(({N}, {K}), "float16")):
        with R.dataflow():
            wt = R.permute_dims(w)
            gv = R.matmul(x, wt)
            R.output(gv)
        return gv
'''
file = write("product.py", MODULE)
r = tenon("opt", file, "-t", "opencl", "-p", "FuseTransposeMatmul, LowBatchGemvSpecialize")
check(r.returncode == 0 and "if n <= T.int64(8)" in r.stdout, "a program for few rows and for many", r)
r = tenon("compile", file, "-t", "opencl", "--profile", "llm", "--set",
          "profile.llm.insert.few_rows=before ApplyDefaultSchedule: LowBatchGemvSpecialize", "-o", path("product.tno"))
check(r.returncode == 0, "compiles", r)
rng = np.random.default_rng(2)
w = (rng.standard_normal((N, K)) * 0.1).astype(np.float16)
np.save(path("w.npy"), w)
for rows in (1, 5, 8, 9, 70):
    x = rng.standard_normal((rows, 1, K)).astype(np.float16)
    np.save(path("x.npy"), x)
    r = tenon("run", path("product.tno"), "-i", f"x={path('x.npy')}", "-i", f"w={path('w.npy')}", "-o", path("out"))
    check(r.returncode == 0, f"{rows} rows: runs", r)
    if r.returncode == 0:
        got = np.load(os.path.join(path("out"), os.listdir(path("out"))[0])).astype(np.float32)
        want = x.astype(np.float32) @ w.astype(np.float32).T
        check(np.abs(got - want).max() < 2e-3 * np.abs(want).max(), f"{rows} rows: within {np.abs(got - want).max():.1e}", r)
done()
