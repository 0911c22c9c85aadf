#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No setting is silently without effect: what names nothing is told at once, with the nearest name that there is."""
from clitest import BUILD, DIGITS, check, done, os, path, refused, tenon, write

MODEL, DIGIT = os.path.join(DIGITS, "digits.onnx"), os.path.join(DIGITS, "digit0.npy")
OUT = path("out.tno")
SYMBOLIC = write("symbolic.py", """
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        with R.dataflow():
            gv = R.add(x, x)
            R.output(gv)
        return gv
""")


def compile_with(*args, model=MODEL):
    return tenon("compile", model, "-o", OUT, *args)


def warned(what, r, *texts):
    check(r.returncode == 0 and "warning: " in r.stderr and all(t in r.stderr for t in texts), what + ": a warning", r)


plain = compile_with()
check(plain.returncode == 0 and "warning" not in plain.stderr, "the site's settings themselves are told of nowhere", plain)

# ---- words that are nearly one ----
for args, near in ((("show", "confg"), "config"), (("show", "kernle", MODEL), "kernel"), (("list", "pases"), "passes"), (("help", "compil"), "compile"),
                   (("plugin", "enabel", "onnx"), "enable"), (("show", "plugin", "onyx"), "onnx"), (("show", "pipeline", "cpu", "--profile", "lm"), "llm"),
                   (("show", "target", "opencl-smal"), "opencl-small"), (("opt", MODEL, "-t", "cpu", "-p", "@legalise"), "@legalize"),
                   (("opt", MODEL, "-p", "@gpu_lowr"), "@gpu_lower")):
    refused(" ".join(args), tenon(*args), f"did you mean '{near}'?")

# ---- inputs and dimensions ----
refused("--bind of no input", compile_with("--bind", f"imag={DIGIT}"), "no such input", "did you mean 'image'")
refused("--bind of an input far away", compile_with("--bind", f"zzzzzz={DIGIT}"), "no such input", "its inputs: 'image'")
refused("--bind of an input beyond the last", compile_with("--bind", f"#1={DIGIT}"), "'#1'", "no such input")
refused("--dim of no dimension", compile_with("--dim", "batc=2"), "no dynamic dimension and no input 'batc'")
refused("--dim of a text module", compile_with("--dim", "m=2", model=SYMBOLIC), "no symbolic variable 'm'")
refused("--bind of a text module", compile_with("--bind", f"y={DIGIT}", model=SYMBOLIC), "no parameter 'y'", "x")

# ---- an input that is none any more ----
both = tenon("run", MODEL, "--bind", f"image={DIGIT}", "-i", f"image={DIGIT}")
refused("-i of an input that --bind made a constant", both, "input 'image' is given twice", "--bind", "hint: remove one of the two")
refused("--bind of an input twice", compile_with("--bind", f"image={DIGIT}", "--bind", f"image={DIGIT}"), "gives 'image' twice")
other = tenon("run", MODEL, "--bind", f"image={DIGIT}", "-i", f"imag={DIGIT}")
refused("-i where there are no inputs", other, "no input named 'imag'", "the function has no inputs")

# ---- empty values: of a variable of the shell that is not set ----
for option in ("-t", "--target=", "--profile", "--dim", "--bind", "--debug", "--set", "--config", "-o", "--log", "--tuning-db", "-j"):
    args = [option] if option.endswith("=") else [option, ""]
    refused(f"{option} without a value", tenon("compile", MODEL, "-o", OUT, *args), "needs a value", "the given one is empty", status=(2,))
for text in (" ", ",", " , "):
    refused(f"-t '{text}'", compile_with("-t", text), "needs a value", status=(2,))

# ---- what is already compiled ----
for option in (["--dim", "n=4"], ["--bind", f"image={DIGIT}"], ["--profile", "llm"], ["--dump-ir", path("ir")], ["--verify"],
               ["--no-cache"], ["-j", "2"], ["--mcpu", "native"], ["--trace", path("t.json")], ["--debug", "no-verify"]):
    for command in (["run", OUT], ["bench", OUT]):
        if command[0] == "bench" and option[0] not in ("--dim", "--bind", "-j", "--debug", "--mcpu"):
            continue
        refused(f"{command[0]} FILE.tno {option[0]}", tenon(*command, *option), "is already compiled", "tenon compile", status=(2,))
refused("show model FILE.tno --dim", tenon("show", "model", OUT, "--dim", "n=4"), "is already compiled", status=(2,))
refused("a target that an artifact does not have", tenon("run", OUT, "-t", "cpuu"), "not among the chosen: 'cpuu'", "it has cpu")

for command in ("compile", "tune", "opt"):
    refused(f"{command} FILE.tno", tenon(command, OUT, "-t", "cpu", *(["-o", path("other.tno")] if command == "compile" else [])), "is already compiled", "tenon run")

# ---- options and operands that would have no effect ----
for what, option in (("pass FuseOps", ["--dim", "x=1"]), ("config", ["-t", "cpu"]), ("op nn.relu", ["--bind", "x=y.npy"]), ("target cpu", ["--profile", "llm"])):
    refused(f"show {what} {option[0]}", tenon("show", *what.split(), *option), "has no effect on 'show", status=(2,))
refused("show config of something", tenon("show", "config", "cpu"), "unexpected operand 'cpu'", status=(2,))
refused("show target twice", tenon("show", "target", "cpu", "-t", "opencl"), "given twice", status=(2,))
refused("list passes --why", tenon("list", "passes", "--why"), "'--why' has no effect on 'list passes'", status=(2,))
refused("bench --dump-ir", tenon("bench", OUT, "--dump-ir", path("ir")), "--dump-ir", status=(2,))

# ---- targets ----
refused("--mcpu of a target without processors", compile_with("-t", "null", "--mcpu", "native"), "target 'null' has no attribute 'mcpu'")
refused("a processor that is none", compile_with("--mcpu", "z80"), "mcpu is 'z80'", "x86-64-v3")
refused("a word that several targets have in common", compile_with("-t", "gpu"), "no target 'gpu'", "did you mean 'gpu_generic'?", "there are cpu, ")
refused("an attribute that a target does not have", compile_with("--set", "target.cpu.mcpux=3"), "unknown key 'mcpux'", "'mcpu'")
refused("the same of a target that is not used", compile_with("--set", "target.mine.kind=cpu", "--set", "target.mine.mcpux=3"),
        "unknown key 'mcpux' in [target mine]", "did you mean 'mcpu'")
refused("an attribute of another type, not used", compile_with("--set", "target.mine.kind=cpu", "--set",
                                                               "target.mine.num_threads=abc"), "num_threads", "integer")
warned("a kind that nobody serves", compile_with("--set", "target.mine.kind=cpuu"), "[target mine]", "'cpuu'", "did you mean 'cpu'")
refused("an attribute of a JSON target", compile_with("-t", '{"kind": "cpu", "mcpux": "a"}'), "no attribute 'mcpux'", "'mcpu'")

# ---- what would be lost ----
copy = write("copy.py", open(SYMBOLIC).read())
link = path("copy.tno")
os.link(copy, link)
refused("an artifact over its model", tenon("compile", copy, "-t", "null", "-o", link), "the model is read from it", "choose another name")
refused("an artifact under another format's name", tenon("compile", copy, "-t", "null", "-o", path("copy.so")), "'" + path("copy.so") + "'", status=(2,))
check(not os.path.exists(path("copy.so")), "and nothing is written")
check(open(copy).read() == open(SYMBOLIC).read(), "the model stays as it was")
again = path("again.tno")
for _ in range(2):
    r = tenon("compile", copy, "-t", "null", "-o", again)
    check(r.returncode == 0, "an artifact over an artifact", r)
refused("a dimension twice", tenon("compile", SYMBOLIC, "-t", "null", "--dim", "n=2", "--dim", "n=3", "-o", again), "gives 'n' twice", status=(2,))

# ---- passes ----
for what in ("skip=", "print=", "stop-after="):
    refused(f"--debug {what}", compile_with("--debug", what + "FuseOp"), "no pass 'FuseOp'", "did you mean 'FuseOps'", status=(2,))
check(compile_with("--debug", "skip=FuseOps").returncode == 0, "a pass that there is may be skipped")
refused("an unknown item of --debug", compile_with("--debug", "roundtripp"), "did you mean 'roundtrip'", status=(2,))
refused("--dump-only", compile_with("--dump-ir", path("ir"), "--dump-only", "FuseOp"), "did you mean 'FuseOps'", status=(2,))
refused("a pass in British spelling", tenon("opt", SYMBOLIC, "-p", "legalise"), "no pass 'legalise'", "did you mean 'LegalizeOps'")
refused("an option of a pass", tenon("opt", SYMBOLIC, "-p", "LegalizeOps{skip_op=[]}"), "no option 'skip_op'", "'skip_ops'")
refused("an option far from any", tenon("opt", SYMBOLIC, "-p", "LegalizeOps{zzzzzzz=1}"), "it has ", "skip_ops")
refused("--pass-config of an unknown key",
        tenon("opt", SYMBOLIC, "-p", "FuseOps", "--pass-config", "relax.FuseOps.max_dept=10"),
        "no pass reads the configuration 'relax.FuseOps.max_dept'", "did you mean 'relax.FuseOps.max_depth'")
warned("--pass-config that no pass of the list reads",
       tenon("opt", SYMBOLIC, "-p", "LegalizeOps", "--pass-config", "relax.FuseOps.max_depth=10"), "has no effect")
known = tenon("opt", SYMBOLIC, "-p", "FuseOps", "--pass-config", "relax.FuseOps.max_depth=10")
check(known.returncode == 0 and not known.stderr, "a key that a pass reads is taken", known)
# Commands that compile take the same option and refuse the same.
COMPILING = {"compile": ("-o", OUT), "run": (), "bench": ("--runs", "1"), "tune": ("--list",), "show kernel": (), "diff": ("--exec", "-t", "cpu")}
for command, rest in COMPILING.items():
    def given(text):
        return tenon(*command.split(), SYMBOLIC, *rest, "--pass-config", text)
    refused(f"{command} --pass-config of an unknown key", given("relax.FuseOps.max_dept=10"),
            "no pass reads the configuration 'relax.FuseOps.max_dept'", "did you mean 'relax.FuseOps.max_depth'")
    refused(f"{command} --pass-config without a value", given("relax.FuseOps.max_depth"), "'--pass-config': expected KEY=JSON", status=(2,))
    refused(f"{command} --pass-config of no JSON", given("relax.FuseOps.max_depth=[1"), "'--pass-config': expected KEY=JSON", status=(2,))
    check("--pass-config" in tenon("help", command.split()[0]).stdout, f"the help of {command} has --pass-config")
TWO = write("two.py", """
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 4), "float32")) -> R.Tensor((2, 4), "float32"):
        with R.dataflow():
            a = R.exp(x)
            b = R.tanh(a)
            R.output(b)
        return b
""")
for depth, kernels in ((1, ["tir_exp", "tir_tanh"]), (10, ["fused_tir_exp_tir_tanh"])):
    shown = tenon("show", "kernel", TWO, "--pass-config", f"relax.FuseOps.max_depth={depth}")
    check(shown.returncode == 0 and sorted(shown.stdout.split()) == kernels, f"a maximal depth of {depth} makes the kernels {kernels}", shown)
    ran = tenon("run", TWO, "--profile-kernels", "--pass-config", f"relax.FuseOps.max_depth={depth}")
    check(ran.returncode == 0 and all(k in ran.stderr for k in kernels), f"run: {kernels}", ran)
refused("--pass-config for an artifact", tenon("run", OUT, "--pass-config", "relax.FuseOps.max_depth=1") if
        tenon("compile", TWO, "-o", OUT, "--pass-config", "relax.FuseOps.max_depth=1").returncode == 0 else None,
        "option '--pass-config' affects compilation", status=(2,))
shown = tenon("show", "pass", "FuseOps").stdout
check("--pass-config" in shown and "relax.FuseOps.max_depth" in shown, "show pass names its keys")

# ---- sections ----
refused("an unknown section", compile_with("--set", "pluginn.cpu.x=1"), "unknown section [pluginn]", "did you mean 'plugin'")
for section, name, near in (("plugin", "cppu", "cpu"), ("device", "cppu", "cpu"), ("pass", "FuseOp", "FuseOps"),
                            ("pipeline", "cppu", "cpu")):
    key = "drop=x" if section == "pipeline" else "x=1"
    warned(f"[{section} {name}]", compile_with("--set", f"{section}.{name}.{key}"), f"[{section} {name}] has no effect",
           f"did you mean [{section} {near}]")
warned("a plugin that may be loaded", compile_with("--set", "tenon.plugins=*,cppu"), "'cppu' in 'plugins'", "did you mean 'cpu'")
warned("a plugin that is to be left out", compile_with("--set", "tenon.plugins=*,!dnnl"), "'!dnnl' in 'plugins'", "'*, -dnnl' leaves that plugin out")
warned("a plugin that is preferred", compile_with("--set", "tenon.prefer.FuseOps=transfrom"), "'transfrom'", "'transform'")
warned("a plugin that does not provide the name", compile_with("--set", "tenon.prefer.opencl=cpu"),
       "'prefer.opencl' has no effect: plugin 'cpu' does not provide 'opencl'", "plugin 'opencl")
warned("the same of a name with its kind", compile_with("--set", "tenon.prefer.pass.FuseOps=cpu"),
       "'prefer.pass.FuseOps' has no effect", "plugin 'transform' does")
warned("a name that nobody provides", compile_with("--set", "tenon.prefer.FuseOp=transform"),
       "'prefer.FuseOp' has no effect", "no plugin does; did you mean 'prefer.FuseOps'?")
for good in ("FuseOps=transform", "pass.FuseOps=transform", "relax.add=ops", "op.relax.add=ops"):
    r = compile_with("--set", "tenon.prefer." + good)
    check(r.returncode == 0 and "warning" not in r.stderr, "prefer." + good + " says what is the case", r)

# ---- locks ----
for lock, *texts in (("tenn.threads", "names no section", "did you mean 'tenon'"),
                     ("tenon.thread", "names no key", "did you mean 'threads'"),
                     ("target.cpu", "names no key", "target.cpu.*"),
                     ("pipeline.cpu.legalise", "names no key", "'legalize'")):
    refused(f"lock = {lock}", compile_with("--config", write("lock.ini", f"[tenon]\nlock = {lock}\n")), "lock.ini:2", *texts)
good = write("good.ini", "[tenon]\nlock = tenon.threads, target.cpu.mcpu, target.cpu.*, pipeline.*, pass.FuseOps.x\n")
r = tenon("compile", MODEL, "-o", OUT, "--config", good, env={"CC": ""})  # which the lock on target.cpu.* refuses
check(r.returncode == 0, "locks on what there is are taken", r)
open_file = write("open.ini", "[tenon]\nlock = tenon.threads\n")
os.chmod(open_file, 0o666)
refused("a file of settings that anybody may write", compile_with("--config", open_file), open_file, "everybody may write to the file", "hint: chmod go-w")

done()
