# SPDX-License-Identifier: Apache-2.0
"""What generated kernels cost, as the simulated device counts it (sim/cost.c): the bytes that move in global memory beside those that are
asked for and the least that could move, the passes of shared memory beside the least, and warps' instructions beside operations. Limits
are for kernels of one kind each; bench/cuda/costs.py makes the table of models."""
import os
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "bench", "cuda"))
import clitest
import costs
from clitest import BUILD, check, path, tenon, write

SIM = os.path.join(BUILD, "tests", "cuda", "sim", ".libs")
if not os.path.exists(os.path.join(SIM, "libcuda.so.1")):
    print("no simulated device (cmocka is missing)")
    sys.exit(77)

ONE = """\
@I.ir_module
class Module:
    @R.function
    def main({0}):
        with R.dataflow():
            y = {1}
            R.output(y)
        return y
"""
X = 'x: R.Tensor(({}), "{}")'
# kind: inputs, expression, limits: bytes moved beside those asked for; beside the least; passes beside the least; instructions of
# a thread for an operation (of kernels that compute)
KINDS = {
    "element-wise": ((X.format("64, 1024", "float32"),), "R.exp(x)", 1.01, 1.01, 1.01, 4),
    "float16": ((X.format("64, 1024", "float16"),), "R.exp(x)", 1.01, 1.01, 1.01, 4),
    "sum of rows": ((X.format("64, 1024", "float32"),), "R.sum(x, axis=1)", 1.05, 1.05, 1.01, 10),
    "softmax": ((X.format("64, 1024", "float32"),), "R.nn.softmax(x, axis=1)", 1.01, 1.01, 1.01, 4),
    "layer norm": ((X.format("64, 1024", "float32"),), "R.nn.rms_norm(x, R.ones((1024,), \"float32\"), axes=[-1])", 1.01, 1.6, 1.01, 6),
    "transpose": ((X.format("256, 256", "float32"),), "R.permute_dims(x)", 1.01, 1.01, 1.01, None),
    "matmul": ((X.format("128, 128", "float32"), 'w: R.Tensor((128, 128), "float32")'), "R.matmul(x, w)", 1.7, 2.8, 1.1, 1),
    "row by matrix": ((X.format("1, 512", "float32"), 'w: R.Tensor((512, 512), "float32")'), "R.matmul(x, w)", 1.01, 1.3, 1.01, 3),
}

for name, (inputs, expression, asked, least, passes, instructions) in KINDS.items():
    r = tenon("compile", write("one.py", ONE.format(", ".join(inputs), expression)), "-t", "cuda", "-o", path("one.tno"))
    if r.returncode != 0 and "NVRTC" in r.stderr:
        print("no NVRTC")
        sys.exit(77)
    out = path("costs.txt")
    if os.path.exists(out):
        os.unlink(out)
    r = tenon("run", path("one.tno"), env={"LD_LIBRARY_PATH": SIM + ":" + os.environ.get("LD_LIBRARY_PATH", ""), "CUDASIM_RACES": "0",
                                             "CUDASIM_COSTS": out})
    check(r.returncode == 0, f"{name}: runs", r)
    t = costs.total(costs.read(out))
    print(f"{name:16}{costs.row(t)}")
    for what, is_value, of, most in (("bytes moved beside those asked for", t["moved"], max(t["asked"], t["least"]), asked),
                                     ("bytes moved beside the least", t["moved"], t["least"], least),
                                     ("passes of shared memory beside the least", t["shared_passes"], t["shared_least"], passes),
                                     ("instructions for an operation", 32 * t["instructions"], t["operations"], instructions)):
        check(most is None or is_value <= most * of, f"{name}: {what}: {is_value} / {of}, at most {most}")
clitest.done()
