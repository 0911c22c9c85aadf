# SPDX-License-Identifier: Apache-2.0
"""One file for several targets: `tenon run` and `bench` take the variant that the site's order says and that can run here, and say
which and why; constants that are equal are in the file once."""
import os
import re
import sys

import clitest
from clitest import check, path, refused, tenon, write

MODULE = """\
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((5000,), "float32")) -> R.Tensor((5000,), "float32"):
        with R.dataflow():
            a = R.add(x, R.const([%s], "float32"))
            R.output(a)
        return a
""" % ", ".join(f"{i}.5" for i in range(5000))
devices = tenon("list", "devices").stdout
gpus = [d for d in ("opencl", "gpu_generic") if re.search(rf"^{d} .*\n    0: ", devices, re.M)]
model = write("model.py", MODULE)


def compiled(targets):
    name = path(targets.replace(",", "_") + ".tno")
    r = tenon("compile", model, "-t", targets, "-o", name)
    check(r.returncode == 0, f"compile -t {targets}", r)
    return name


def uses(variant, why, what, result):
    line = [s for s in result.stderr.splitlines() if " is used: " in s]
    check(result.returncode == 0 and len(line) == 1 and line[0].startswith(f"tenon: variant {variant} is used: {why}"), what, result)


if tenon("compile", model, "-t", "cpu", "-o", path("m.tno")).returncode:
    print("cpu compiles nothing here")
    sys.exit(77)
both = compiled("cpu,null")
want = tenon("run", both).stdout
uses("0 (cpu on cpu)", "the first in the file that can run here", "without settings the file's order counts", tenon("run", both))
site = write("site.ini", "[tenon]\ntarget_order = null,\n    cpu\n")
env = {"TENON_CONFIG": site}
uses("1 (null on null)", "the first of [tenon] target_order that can run here", "else the site's", tenon("run", both, env=env))
uses("1 (null on null)", "the first of", "in bench, too", tenon("bench", both, "--runs", 1, env=env))
uses("0 (cpu on cpu)", "chosen by name, 'cpu'", "-t goes over it", tenon("run", both, "-t", "cpu", env=env))
uses("1 (null on null)", "chosen by name, 'cuda,null,cpu'", "-t with several names is an order", tenon("run", both, "-t", "cuda,null,cpu"))
r = tenon("run", both, "--no-native")
uses("1 (null on null)", "the first in the file that can run here; variant 0 (cpu on cpu): ", "what is passed over is told with its reason", r)
r = tenon("run", both, "--quiet", env=env)
check(r.returncode == 0 and r.stderr == "", "--quiet says nothing of it", r)
r = tenon("run", compiled("cpu"), env=env)
check(r.returncode == 0 and "is used" not in r.stderr, "a file of one variant needs no words", r)
refused("a target that the file does not have", tenon("run", both, "-t", "opencl"), "no variant runs here", "hint: it has cpu, null", status=(1,))
r = tenon("show", "model", both)
check("variant 0, cpu: runs on device 'cpu'" in r.stdout and "variant 1, null: runs on device 'null'" in r.stdout, "show model lists them", r)
refused("an unknown name in the settings", tenon("check-config", "--set", "tenon.target_order=cpu,gpu_genric"), "'target_order' is 'gpu_genric': there is no such target",
        "did you mean 'gpu_generic'")
for command in (("run", both), ("bench", both, "--runs", 1), ("compile", os.path.join(clitest.DIGITS, "digits.onnx"), "-o", path("typo.tno"))):
    r = tenon(*command, "--set", "tenon.target_order=cpu,gpu_genric")
    check(r.returncode == 0 and "--set: warning: 'target_order' is 'gpu_genric': there is no such target" in r.stderr and
          "did you mean 'gpu_generic'" in r.stderr, f"{command[0]} tells it, too", r)
    r = tenon(*command, env=env)
    check(r.returncode == 0 and "no such target" not in r.stderr, f"{command[0]} says nothing of names that are there", r)
r = tenon("check-config", env=env)
check("target_order" not in r.stderr, "names of targets and devices are fine", r)

for gpu in gpus:
    name = compiled(f"cpu,{gpu},null")
    r = tenon("run", name, "--set", f"tenon.target_order={gpu},cpu")
    uses(f"1 ({gpu} on {gpu})", "the first of [tenon] target_order", f"{gpu} runs where the site prefers it", r)
    check(r.stdout == want, f"{gpu} gives what cpu gives", r)
    r = tenon("run", name, "--set", f"tenon.target_order={gpu},cpu", "--set", f"device.{gpu}.device=no-such")
    uses("0 (cpu on cpu)", f"the first of [tenon] target_order that can run here; variant 1 ({gpu} on {gpu}): ", f"without {gpu}'s device cpu runs, and says so", r)
    check(r.stdout == want, "and gives the same", r)
if len(gpus) == 2:
    one, all_ = [os.path.getsize(compiled(g)) for g in gpus], os.path.getsize(compiled(",".join(gpus)))
    check(all_ < sum(one) - 20000, f"equal constants are there once: {one[0]} and {one[1]} bytes, together {all_}")
clitest.done()
