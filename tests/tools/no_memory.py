# SPDX-License-Identifier: Apache-2.0
"""Wherever memory runs out, tenon ends with a message: no crash, and nothing that it made up."""
import os
import subprocess

from clitest import BUILD, DIGITS, check, done, path, tenon, write

REFUSE = os.path.join(BUILD, "tests", "tools", ".libs", "refuse.so")
MODEL = os.path.join(DIGITS, "digits.onnx")
LONG = bool(os.environ.get("TENON_LONG"))
# The program itself, not libtool's script around it, which would be refused memory as well.
PROGRAM = os.path.join(BUILD, "tools", ".libs", "tenon")
if not os.path.exists(PROGRAM):
    PROGRAM = os.path.join(BUILD, "tools", "tenon")


def refusing(at, once, *args):
    env = dict(os.environ, LD_PRELOAD=REFUSE, REFUSE_AT=str(at))
    if once:
        env["REFUSE_ONCE"] = "1"
    return subprocess.run([PROGRAM, *args], capture_output=True, text=True, errors="replace", env=env, timeout=300)


def everywhere(what, *args, each=False):
    """Refuses all requests from one on, then one alone, at steps of the way to where the program needs no more; or at each of them."""
    end = 1
    while refusing(end, False, *args).returncode != 0 and end < 1 << 20:
        end *= 2
    check(end > 16, f"{what}: memory is refused")
    for once in (False, True):
        crashed, silent = [], []
        at = 1
        while at <= end:
            r = refusing(at, once, *args)
            if r.returncode not in (0, 1):
                crashed.append((at, r.returncode))
            elif r.returncode == 1 and not r.stderr.strip():
                silent.append(at)
            at += 1 if LONG or each else 1 + at // 16
        name = what + (", one request refused" if once else "")
        check(not crashed, f"{name}: no crash" + (f" {crashed[:8]}" if crashed else ""))
        check(not silent, f"{name}: a message" + (f" {silent[:8]}" if silent else ""))


artifact, module = path("digits.tno"), path("module.py")
r = tenon("compile", MODEL, "-t", "null", "-o", artifact)
check(r.returncode == 0, "the model compiles", r)
everywhere("compile", "compile", MODEL, "-t", "null", "--no-cache", "-o", path("other.tno"))
everywhere("run an artifact", "run", artifact)
write("module.py", """@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 8), "float32"), y: R.Tensor((8,), "float32")) -> R.Tensor((4, 8), "float32"):
        z = R.add(x, y)
        w = R.nn.relu(z)
        return w
""")
everywhere("opt", "opt", module, "-p", "LegalizeOps, AnnotateTIROpPattern, FuseOps, FuseTIR", "--verify")
everywhere("run a model", "run", MODEL, "-t", "null", "--no-cache")
everywhere("check", "check", module)
everywhere("show a model", "show", "model", MODEL)
everywhere("show a pipeline", "show", "pipeline", "cpu")
everywhere("show an artifact", "show", "model", artifact)
everywhere("diff", "diff", "--exec", module, module, each=True)
everywhere("list", "list", "passes")
done()
