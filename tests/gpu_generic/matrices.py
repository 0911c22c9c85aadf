# SPDX-License-Identifier: Apache-2.0
"""Products of matrices that sub-groups compute at once (VK_KHR_cooperative_matrix): a device that has them gives what the cpu gives, one
that has none, or others, says so. lavapipe has them from Mesa 25.2 on."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
import clitest
from clitest import check, path, refused, tenon, write

MODULE = """\
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(a: R.Tensor({a}, "float16"), b: R.Tensor({b}, "float16"), c: R.Tensor({c}, "float32")):
        with R.dataflow():
            x = R.matmul(a, b, out_dtype="float32")
            y = R.nn.relu(R.add(x, c))
            R.output(y)
        return y
"""
SHAPES = (("(64, 96)", "(96, 64)", "(64,)"), ("(70, 33)", "(33, 45)", "(45,)"), ("(3, 65, 130)", "(3, 130, 31)", "(31,)"),
          ('("n", 40)', "(40, 72)", "(72,)"), ('(2, "n", "m")', '("m", 17)', "(17,)"), ("(1, 70, 200)", "(200, 45)", "(45,)"))

line = re.search(r"^gpu_generic .*\n    0: (.*)$", tenon("list", "devices").stdout, re.M)
if not line:
    print("no Vulkan device")
    sys.exit(77)
unit = re.search(r" matrices (\d+x\d+x\d+)", line.group(1))
size = re.search(r"sub-groups of (\d+)", line.group(1)).group(1)


def ini(shape):
    return write(f"{shape}.ini", f"[target matrices]\nkind = vulkan\nsupports_float16 = yes\nsupports_16bit_buffer = yes\nthread_warp_size = {size}\n"
                                 f"max_shared_memory_per_block = 32768\ncooperative_matrix = {shape}\n")


first = write("m0.py", MODULE.format(**dict(zip("abc", SHAPES[0]))))
for wrong in ("16x16", "0x8x8", "8x8x8x8", "many"):
    refused(f"cooperative_matrix = {wrong}", tenon("compile", first, "-t", "matrices", "--config", ini(wrong), "-o", path("m.tno")),
            f"cooperative_matrix is '{wrong}', which is no ROWSxCOLUMNSxSTEPS")
other = "8x8x8" if not unit else "64x2x8"
if "has no code generator" in tenon("compile", first, "-t", "matrices", "--config", ini(other), "-o", path("m.tno")).stderr:
    print("gpu_generic has no code generator here")
    sys.exit(77)
refused("matrices that the device does not have", tenon("run", path("m.tno")), f"lacks 'cooperativeMatrix:{other}:{size}'", "-t gpu_generic:auto")
for i, shapes in enumerate(SHAPES if unit else ()):
    model, out = write(f"m{i}.py", MODULE.format(**dict(zip("abc", shapes)))), path(f"o{i}")
    dims = ["--dim", "n=37", "--dim", "m=50"][:2 * sum(f'"{d}"' in shapes[0] for d in "nm")]
    tenon("run", model, "-t", "cpu", "-o", out, *dims)
    args = (model, "-t", "matrices", "--config", ini(unit.group(1)))
    r = tenon("compile", *args, "-o", path("m.tno"))
    check(r.returncode == 0 and f"cooperativeMatrix:{unit.group(1)}:{size}" in tenon("show", "model", path("m.tno")).stdout,
          f"{shapes}: by matrices of {unit.group(1)}", r)
    r = tenon("run", *args, *dims, "--expect", f"#0={out}/{os.listdir(out)[0]}", "--set", "device.gpu_generic.check_hazards=yes")
    check(r.returncode == 0, f"{shapes}: what the cpu gives", r)
    refused(f"{shapes}: left out by the settings", tenon("run", *args, *dims, "--set", "device.gpu_generic.leave_out=cooperativeMatrix"),
            "lacks 'cooperativeMatrix:")
if not unit:
    print("the device has no VK_KHR_cooperative_matrix: products are not run")
clitest.done()
