# SPDX-License-Identifier: Apache-2.0
"""Seeing what happens: tenon diff with its context, --dump-ir, --dump-only, --trace."""
import json
import os

from clitest import DIGITS, Terminal, check, done, path, refused, tenon, write

TEXT = """@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
        with R.dataflow():
            a = R.add(x, y)
            unused = R.log(y)
            b = R.exp(a)
            R.output(b)
        return b
"""
a = write("a.py", TEXT)


def diff(what, changed, *wanted):
    r = tenon("diff", a, write("b.py", changed))
    check(r.returncode == 1 and all(w in r.stdout for w in wanted), f"diff: {what}", r)


r = tenon("diff", a, write("same.py", TEXT.replace("unused", "other").replace("a = ", "q = ").replace("(a)", "(q)")))
check(r.returncode == 0 and "structurally equal" in r.stdout, "diff: names of variables do not matter", r)
diff("another operator", TEXT.replace("R.add", "R.multiply"), "main.body.blocks[0].bindings[0].value", "relax.add",
     "relax.multiply", ">     6              a = R.add(x, y)", ">     6              a = R.multiply(x, y)",
     "      5          with R.dataflow():", "      8              b = R.exp(a)")
diff("another operand", TEXT.replace("R.exp(a)", "R.exp(x)"), "bindings[2].value.args[0]", ">     8              b = R.exp(x)")
diff("a missing binding", TEXT.replace("            unused = R.log(y)\n", ""), ">     7              b = R.exp(a)",
     ">     7              unused = R.log(y)")
diff("a missing function", TEXT.replace("def main", "def other"), "main: only in the first module", "no counterpart")
diff("another signature", TEXT.replace("(4,)", "(5,)"), ">     4      def main(")
refused("diff of a file that is not there", tenon("diff", a, path("none.py")), "none.py", status=(1,))

half = write("half.py", '@R.function\ndef main(x: R.Tensor((300,), dtype="float16")):\n    y = R.tanh(x)\n    z = R.sum(R.exp(y))\n    return z\n')
r = tenon("diff", half, "--exec", "-t", "cpu")
check(r.returncode == 0 and "; 0 differ" in r.stdout, "functions of float16 differ by its roundings alone", r)
r = tenon("diff", a, write("b.py", TEXT.replace("R.exp", "R.log")), "--exec")
check(r.returncode == 1 and "main:" in r.stdout and "1 differ" in r.stdout, "diff --exec: different results", r)
r = tenon("diff", a, write("b.py", TEXT.replace("            unused = R.log(y)\n", "")), "--exec")
check(r.returncode == 0 and "0 differ" in r.stdout, "diff --exec: equal results of different modules", r)

packed = """@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor(("n", 4), "float32"), packed_params: R.Object):
        n, m = T.int64(), T.int64()
        R.func_attr({"num_input": 1})
        w = R.call_pure_packed("vm.builtin.tuple_getitem", packed_params, R.prim_value(2), ty_args=(R.Tensor((4, 4), "float32"),))
        v = R.call_pure_packed("vm.builtin.tuple_getitem", packed_params, R.prim_value(0), ty_args=(R.Object,))
        u = R.match_cast(v, R.Tensor((4, m), "float32"))
        y = R.matmul(R.matmul(x, w), u)
        return y
"""
p = write("packed.py", packed)
r = tenon("diff", p, write("packed2.py", packed.replace("R.matmul(x, w)", "R.add(R.matmul(x, w), R.matmul(x, w))")), "--exec")
check(r.returncode == 1 and "1 functions run" in r.stdout and "1 differ" in r.stdout, "diff --exec makes up packed_params", r)
r = tenon("opt", p, "-p", "LegalizeOps, RemovePurityChecking", "--verify", "-o", path("out.py"))
check(r.returncode == 0 and "2 functions verified" in r.stderr, "opt --verify makes up packed_params", r)

LIST = "DeadCodeElimination, LegalizeOps, AnnotateTIROpPattern, FuseOps, FuseTIR"
d = path("all")
r = tenon("opt", a, "-p", LIST, "-o", path("out.py"), "--dump-ir", d, "--trace", path("trace.json"))
names = sorted(os.listdir(d)) if r.returncode == 0 else []
check(names == ["000-input.py", "001-DeadCodeElimination.py", "002-LegalizeOps.py", "003-AnnotateTIROpPattern.py",
                "004-FuseOps.py", "005-FuseTIR.py"], "--dump-ir: names sort by pass", r)
check(bool(names) and tenon("diff", os.path.join(d, names[-1]), path("out.py")).returncode == 0,
      "--dump-ir: the last file is the result", r)
check(bool(names) and tenon("diff", os.path.join(d, names[0]), a).returncode == 0, "--dump-ir: the first file is the input", r)
events = json.load(open(path("trace.json")))
events = events if isinstance(events, list) else events["traceEvents"]
seen = [e["name"] for e in events if e.get("ph") == "X"]
check([n for n in seen if n in LIST] == LIST.split(", "), "--trace: an event for each pass, in order")
check(all(e["dur"] >= 0 and e["ts"] >= 0 for e in events if e.get("ph") == "X"), "--trace: times")

# at a terminal: what lasts longer than a moment shows the seconds, where nobody knows how many there will be
slow = write("slow.py", """@T.prim_func(private=True)
def count(x: T.Buffer((1,), "float32"), y: T.Buffer((1,), "float32")):
    T.func_attr({"tir.noalias": True})
    y[0] = x[0]
    for i in range(600000000):
        y[0] = y[0] * T.float32(0.5) + T.float32(1)


@R.function
def main(x: R.Tensor((1,), "float32")):
    y = R.call_tir(count, (x,), out_sinfo=R.Tensor((1,), "float32"))
    return y
""")
t = Terminal("run", slow)
check(t.end() == 0 and "running, 0 s\033[K" in t.shown, "a long run shows at a terminal that it runs", t.result())
t = Terminal("run", slow, "-q")
check(t.end() == 0 and "running" not in t.shown, "with -q it does not", t.result())

d = path("some")
r = tenon("opt", a, "-p", LIST, "-o", path("out.py"), "--dump-ir", d, "--dump-only", "FuseOps,DeadCodeElimination")
names = sorted(os.listdir(d)) if r.returncode == 0 else []
check(names == ["001-DeadCodeElimination-before.py", "001-DeadCodeElimination.py", "004-FuseOps-before.py", "004-FuseOps.py"],
      "--dump-only: both sides of the passes named", r)
check(bool(names) and tenon("diff", os.path.join(d, names[0]), a).returncode == 0, "--dump-only: the module before", r)
refused("--dump-only of an unknown pass", tenon("opt", a, "-p", LIST, "--dump-ir", d, "--dump-only", "FuseOp"), "FuseOps")
refused("--dump-only without --dump-ir", tenon("opt", a, "-p", LIST, "--dump-only", "FuseOps"), "--dump-ir")
refused("a folder that cannot be made", tenon("opt", a, "-p", LIST, "--dump-ir", os.path.join(a, "below")), "a.py", status=(1,))
refused("a trace that cannot be written", tenon("opt", a, "-p", LIST, "--trace", os.path.join(a, "t.json")), "t.json", status=(1, 2))

compiled = path("compiled.tno")
r = tenon("compile", os.path.join(DIGITS, "digits.onnx"), "-o", compiled)
shown = tenon("show", "model", compiled)
check(r.returncode == 0 and shown.returncode == 0
      and all(t in shown.stdout for t in ("input  image", "float32[1, 1, 8, 8]", "output probabilities", "variant 0, cpu", "format elf",
                                          "required features: ", "vm.builtin.match_shape", "checksum ok")),
      "show model prints what an artifact takes, gives and needs", shown)
with open(compiled, "r+b") as f:
    f.seek(4096)  # the constants begin at the first page
    byte = f.read(1)[0]
    f.seek(4096)
    f.write(bytes([byte ^ 1]))
refused("an artifact whose constants are damaged", tenon("show", "model", compiled), "constants are damaged", status=(1,))
done()
