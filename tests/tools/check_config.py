# SPDX-License-Identifier: Apache-2.0
"""tenon check-config finds a wrong value of every key: those of the reference of settings, attributes of targets, options of passes
and settings of devices, as the generated pages list them. What is right is told of nowhere."""
import os
import re

from clitest import DIGITS, check, done, path, tenon, write


def found(text, *args, env=None):
    """{line: message} of check-config with the file."""
    p = write("wrong.ini", text)
    r = tenon("check-config", "--config", p, *args, env=env)
    out = {}
    for line, message in re.findall(rf"^{re.escape(p)}:(\d+): (.*(?:\n  .*)*)", r.stderr, re.M):
        out.setdefault(int(line), message)
    return r, out


def alone(what, text, line, *texts, env=None):
    r, out = found(text, env=env)
    check(r.returncode == 1 and all(t in out.get(line, "") for t in texts), f"{what}: told of with line {line}: {texts}", r)


def fine(what, text, *args, env=None):
    r, _ = found(text, *args, env=env)
    check(r.returncode == 0 and "every setting is understood" in r.stderr, what + ": nothing is wrong", r)


# ---- the reference of settings ----
WRONG = {"plugins": "nosuch", "plugin_path": "/nonexistent/p", "prefer.*": "nosuch", "trust_owners": "me", "default_target": "nosuch",
         "target_order": "nosuch", "cache_dir": "/dev/null", "tuning_db": "/nonexistent/t.jsonl", "log": "loud", "lock": "tenon.nosuch",
         "kind": "nosuch", "drop": "NoSuchPass", "insert.*": "after NoSuchPass: FuseOps", "digest": "123",
         **{p: "NoSuchPass" for p in ("library_dispatch", "legalize", "finalize", "lower")}}
NAMES = {"target": "mine", "pipeline": "cpu", "pass": "FuseOps", "profile": "mine", "device": "cpu", "plugin": "ops"}
section, rows = None, []
for line in tenon("show", "settings").stdout.splitlines():
    head = re.match(r"## \[(\w+)", line)
    section = head[1] if head else section
    row = re.match(r"\| `([^`]+)` \| (\w+)", line)
    if row:
        value = WRONG.get(row[1], "neither" if row[2] in ("integer", "boolean") else None)
        check(value is not None, f"a wrong value for [{section}] {row[1]} is known to this test")
        rows.append((section, row[1].replace("*", "x"), value))
check(len(rows) > 25, "the reference of settings lists the keys")
for s, k, v in rows:
    name = f"{s} {NAMES[s]}" if s in NAMES else s
    alone(f"[{name}] {k} = {v}", f"[{name}]\n{k} = {v}\n", 2)

# ---- attributes of targets, options of passes ----
BAD = {"integer": "many", "float": "many", "boolean": "maybe", "integers": "many", "floats": "many", "dtype": "float33"}


def listed(page):
    """(what, key, a wrong value) of each row of a page whose type or allowed values leave something out."""
    head = None
    for line in tenon("show", page).stdout.splitlines():
        head = line[3:] if line.startswith("## ") else head
        row = re.match(r"\| `(\w+)` \| ([\w ]+?) \| [^|]* \| ([^|]*) \|", line)
        if row and (row[2] in BAD or row[3].strip()):
            yield head, row[1], BAD.get(row[2], "/nonexistent/x")


def each(what, cases):
    """(section's text, wrong line): every one is told of with its line."""
    for i in range(0, len(cases), 25):
        text, lines, last = "", {}, None
        for before, wrong in cases[i:i + 25]:
            text += "" if before == last else before
            last = before
            lines[text.count("\n") + 1] = before.split("\n")[0] + " " + wrong
            text += wrong + "\n"
        r, out = found(text)
        missed = [c for line, c in lines.items() if line not in out]
        check(r.returncode == 1 and not missed, f"{what}: {len(lines)} wrong values are told of, but for {missed}", r)


attributes = [(f"[target t{i}]\nkind = {k}\n", f"{a} = {v}") for i, (k, a, v) in enumerate(listed("targets"))]
check(len(attributes) > 40, f"{len(attributes)} attributes of targets leave something out")
each("attributes of targets", attributes)
options = [(f"[pass {p}]\n", f"{o} = {v}") for p, o, v in listed("passes")]
check(len(options) > 15, f"{len(options)} options of passes leave something out")
each("options of passes", options)

# ---- values that a schema cannot list: a wrong one is told of by check-config (the target looks at them), or where it is used ----
BY_TARGET = {("cpu", "mcpu"): "x86-65", ("cpu", "features"): "avx3", ("cpu", "mtriple"): "nosuch", ("cuda", "arch"): "sm_8", ("gpu_generic", "features"): "nosuch",
             ("gpu_generic", "cooperative_matrix"): "16x16", ("opencl", "features"): "nosuch", ("opencl", "libs"): "nosuch"}
MODULE = write("module.py", """
from tvm.script import ir as I, relax as R, tir as T
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, "n"), "float32")) -> R.Tensor((4, "n"), "float32"):
        n = T.int64()
        with R.dataflow():
            y = R.add(x, x)
            R.output(y)
        return y
""")
IN_USE = {("ApplyDefaultSchedule", "trace"): "rules=[cpu.Fallback], trace=/nonexistent/t", ("AttachAdditionalPrimFuncs", "functions"): "functions=[nosuch.py]",
          ("AttachCUDAGraphSymbolicCaptureHints", "hints"): 'hints={"main": [nosuch]}', ("AttachMetadataWithMemoryUsage", "metadata"): "metadata=nosuch",
          ("AttachVariableBounds", "variable_bounds"): 'variable_bounds={"nosuch": 3}', ("BindParams", "func_name"): 'func_name=nosuch, params={"x": 1}',
          ("BindParams", "params"): 'func_name=main, params={"nosuch": 1}', ("BindSymbolicVars", "binding_map"): 'binding_map={"nosuch": 1}',
          ("BindSymbolicVars", "func_name"): 'binding_map={"n": 1}, func_name=nosuch', ("DeadCodeElimination", "entry_functions"): "entry_functions=[nosuch]",
          ("DecomposeOpsForInference", "func_name"): "func_name=nosuch", ("DecomposeOpsForTraining", "func_name"): "func_name=nosuch",
          ("FuseOpsByPattern", "entry_functions"): 'patterns=["x.y := add(a, b)"], entry_functions=[nosuch]', ("LiftTransformParams", "shared_transform"): "shared_transform=[nosuch]",
          ("RunCodegen", "entry_functions"): "entry_functions=[nosuch]", ("ToMixedPrecision", "fp16_input_names"): "fp16_input_names=[nosuch]",
          ("ConvertLayout", "desired_layouts"): 'desired_layouts={"relax.nn.conv": [NHWC]}', ("RunCodegen", "target_options"): 'target_options={"nosuch": {}}',
          ("LegalizeOps", "skip_ops"): "skip_ops=[relax.nosuch]"}
HARMLESS = {("CleanUpTIRAttrs", "attrs")}  # attributes to take away, of functions that need not have them


def open_texts(page):
    head = None
    for line in tenon("show", page).stdout.splitlines():
        head = line[3:] if line.startswith("## ") else head
        row = re.match(r"\| `(\w+)` \| (text|texts|any value) \| [^|]* \| \s*\| (.*) \|$", line)
        if row and "kept, not used" not in row[3]:
            yield head, row[1]


for kind, key in open_texts("targets"):
    value = BY_TARGET.get((kind, key))
    check(value, f"a wrong value of {key} of target {kind} is known to this test")
    if value:
        r, out = found(f"[target mine]\nkind = {kind}\n{key} = {value}\n")
        check(r.returncode == 1 and value in r.stderr and "wrong.ini:3" in r.stderr, f"[target {kind}] {key} = {value} is told of", r)
seen = set(open_texts("passes"))
check(not seen - IN_USE.keys() - HARMLESS, f"options of passes whose wrong values are known to this test: not {seen - IN_USE.keys() - HARMLESS}")
for (p, option), text in IN_USE.items():
    r = tenon("opt", MODULE, "-t", "cpu", "-p", ("LegalizeOps, " if "trace" in text else "") + f"{p}{{{text}}}", "-o", path("out.py"))
    check((r.returncode == 1 or "warning: " in r.stderr) and ("nosuch" in r.stderr or "/nonexistent/t" in r.stderr or "nn.conv" in r.stderr), f"{p}{{{text}}} is told of where it is used", r)
r, out = found("[target opencl]\ndevice = adrenoo\nkeys = gpu, opencll\nlibs = clml\n[target cuda]\nlibs = cudnn\nhost = cpu\n[target gpu_generic]\ntag = mine\n")
check(sorted(out) == [2, 3, 6, 7, 9] and "did you mean 'adreno'" in out[2] and "did you mean 'opencl'" in out[3] and "nothing reads it" in out[6], "attributes that have no effect are told of", r)
MINE = write("mine.ini", "[target mine]\nkind = opencl\ndevice = adrenoo\n")
r = tenon("compile", os.path.join(DIGITS, "digits.onnx"), "-t", "mine", "--config", MINE, "-o", path("mine.tno"))
check(r.returncode == 0 and r.stderr.count("'adrenoo' in 'device' of [target mine] has no effect") == 1 and f"{MINE}:3" in r.stderr, "where the target is used, too, once", r)
fine("what is known, and keys for which there are rules", "[target mine]\nkind = opencl\ndevice = mali\nkeys = opencl, gpu, cpu, texture\n")
alone("a target that there is not, in an option", "[pass FallbackKernels]\nto = cpuu\n", 2, "no such target", "did you mean 'cpu'")
alone("a dtype of a cache that there is not", "[pass DispatchKVCacheCreation]\ncache_dtype = int9\n", 2, "expected auto", "did you mean 'int8'")
alone("an operator that there is not, in a dictionary", '[pass ConvertLayout]\ndesired_layouts = {"relax.nn.conv2": ["NHWC"]}\n', 2, "did you mean 'relax.nn.conv2d'")
alone("a dictionary that is none", "[pass RunCodegen]\ntarget_options = 7\n", 2, "expected a dictionary")
fine("a section as the target that programs fall back to", "[target mine]\nkind = cpu\n[pass FallbackKernels]\nto = mine\n")

# ---- settings of devices ----
ANY = {"device", "platform", "build_options", "cache_dir", "clml_tuning"}  # what a machine has, words of its driver, and files that are made
for part in tenon("show", "devices").stdout.split("\n## ")[1:]:
    device = part.split("\n")[0]
    for key in set(re.findall(r"^\| `(\w+)`", part, re.M)) - ANY:
        alone(f"[device {device}] {key} = nosuch", f"[device {device}]\n{key} = nosuch\n", 2, "nosuch")

# ---- what a key's own type does not tell ----
alone("an attribute that is like no other", "[target cpu]\nnosuch = 1\n", 2, "unknown key 'nosuch' in [target cpu]", "tenon show targets lists the attributes")
alone("a section that is unknown and empty", "; none\n[targets]\n[target cpu]\n", 2, "unknown section [targets]", "did you mean 'target'")
alone("an empty section at the end", "[tenon]\nthreads = 2\n[pas FuseOps]\n", 3, "unknown section [pas FuseOps]")
alone("an empty section that lacks a name", "[pass]\n", 1, "lacks a name", "write [pass NAME]")
fine("sections without a key", "[tenon]\n[target cpu]\n; none\n[pass FuseOps]\n")
alone("a compiler that is not there", "[target cpu]\ncc = nosuchcc -O1\n", 2, "'cc' is 'nosuchcc -O1'", "no such program", "hint:")
alone("a compiler's file that is not there", "[target mine]\nkind = llvm\ncc = /nonexistent/cc\n", 3, "no such program")
alone("a library's file that is not there", "[target mine]\nkind = cuda\nnvrtc = /nonexistent/libnvrtc.so\n", 3, "no such file")
alone("a database that is not there, in a folder that is", f"[tenon]\ntuning_db = {path('none.jsonl')}\n", 2, "is not there", "tenon tune")
alone("a target without a kind", "[target mine]\nmcpu = native\n", 2, "[target mine]", "kind = ")
alone("a kind's section of another backend", "[target cpu]\nkind = opencl\n", 2, "[target cpu]", "'opencl'", "hint:")
alone("a tag of a kind that is not there", '[tags]\na/b = {"kind": "nosuch"}\n', 2, "nosuch")
alone("a tag without a kind", '[tags]\na/b = {"mcpu": "native"}\n', 2, "kind")
for phase in ("legalize", "finalize", "lower"):
    alone(f"an empty {phase}", f"[pipeline cpu]\n{phase} =\n", 2, f"'{phase}' is empty", "hint:")
r, _ = found("[target opencl]\nlibs = clmll\n")
check(r.returncode == 1 and "'clmll' in 'libs' has no effect" in r.stderr and "wrong.ini:2" in r.stderr and "to clml" in r.stderr, "a library that the target does not know", r)
alone("a plan that there is none of", "[pass StaticPlanBlockMemory]\nmode = foo\n", 2, "expected upstream or arena")
alone("an insert of nothing", "[pipeline cpu]\ninsert.x = after FuseOps:\n", 2, "inserts no pass")
alone("an insert of nothing in a profile", "[profile mine]\ninsert.x = after FuseOps:\n", 2, "inserts no pass")
for value, needs in (("cpu", "transform"), ("*, -transform", "transform"), ("*, -ops", "ops"), ("ops, transform, cpu", "tir")):
    alone(f"plugins = {value}", f"[tenon]\nplugins = {value}\n", 2, f"leaves out '{needs}'", "tenon plugin enable")
alone("an occurrence of a pass that there is none of", "[pipeline cpu]\ninsert.x = before FuseOps#9: DeadCodeElimination\n", 2, "'FuseOps#9' is not there", "target 'cpu' has 'FuseOps' once", "leave out '#9'")
alone("an occurrence behind those that there are", "[pipeline cpu]\ninsert.x = before DeadCodeElimination#9: DeadCodeElimination\n", 2, "has 'DeadCodeElimination' 2 times", "up to #2")
alone("a phase has no occurrences", "[pipeline cpu]\ninsert.x = before legalize#3: DeadCodeElimination\n", 2, "'legalize#3' is not there")
alone("an occurrence that no target has, in a profile", "[profile mine]\ninsert.x = after FuseOps#9: DeadCodeElimination\n", 2, "'FuseOps#9' is not there")
alone("an insert of another form", "[pipeline cpu]\ninsert.x = after FuseOps#x: DeadCodeElimination\n", 2, "before|after PHASE-or-PASS", "hint: for example")
alone("a pass that is dropped by occurrence", "[pipeline cpu]\ndrop = FuseOps#2\n", 2, "without '#'")
alone("a pipeline of a target that is misspelt", "[pipeline cpuu]\ndrop = FuseOps\n", 2, "did you mean [pipeline cpu]")
alone("a kind that is misspelt", "[target mine]\nkind = cpuu\n", 2, "did you mean 'cpu'")
for value, *texts in (('{"kind": "cpu",', "target 'mine': JSON"), ('{"kind": "cpu"}}', "JSON"), ('{"kind": 3}', "names no kind"), ("[1]", "'[1]', which is no target"), ("mine", "leads to no target"),
                      ("cpuu", "did you mean 'cpu'"), ('{"kind": "cpu", "mcpux": "x"}', "did you mean 'mcpu'"), ('{"kind": "cpu", "mcpu": "x"}', "mcpu is 'x'"), ("", "which is no target")):
    alone(f"a tag that is {value}", f"[tags]\nmine = {value}\n", 2, *texts)
r, out = found("[tags]\na = b\nb = c\nc = a\n")
check(sorted(out) == [2, 3, 4] and r.stderr.count("leads to no target") == 3, "tags that stand for one another", r)
fine("tags of tags, and a profile that one target takes", '[tags]\na = b\nb = {"kind": "cpu"}\n[profile mine]\ninsert.x = after BlockLayouts: DeadCodeElimination\n')
alone("a pass that is dropped and misspelt", "[pipeline cpu]\ndrop = FuseOp\n", 2, "did you mean 'FuseOps'")
alone("a comment that is none", "[tenon]\nthreads = 2 # two\n", 2, "only ';' begins a comment")
r, out = found("[pass FuseOps]\nfuse_opt_level = x\n")
check("1 of the settings is wrong" in r.stderr, "an option that is wrong for all targets is told of once", r)
for i, (text, texts) in enumerate((("[pass ApplyDefaultSchedule]\nrules = [nope]", ["rule 'nope'", "tenon list rules"]),
                                   ("[pass ApplyDefaultSchedule]\nrules = [Matmul, cpu.Matmull]", ["did you mean 'cpu.Matmul'"]),
                                   ("[pipeline cpu]\ninsert.x = after FuseTIR: ApplyDefaultSchedule{rules=[Matmull]}", ["did you mean '", "Matmul'"]),
                                   ("[profile mine]\ninsert.x = after FuseTIR: ApplyDefaultSchedule{rules=[Matmull]}", ["did you mean '", "Matmul'"]),
                                   ("[pass LegalizeOps]\nskip_ops = [conv2d]", ["did you mean 'relax.nn.conv2d'"]),
                                   ("[pass FuseOpsByPattern]\npatterns = [dnl.*]", ["'dnl.*'", "tenon list patterns"]))):
    alone(f"an option that names what is not there ({i})", text + "\n", 2, *texts)
r, out = found("[pass ApplyDefaultSchedule]\nrules = [Matmull]\n[profile mine]\ninsert.x = after FuseTIR: ApplyDefaultSchedule{rules=[Matmull]}\n")
check(sorted(out) == [2, 4] and "2 of the settings" in r.stderr, "a wrong name in two places is told of once for each", r)
fine("rules of a kind, of all kinds, and a pattern that is written out", "[pass ApplyDefaultSchedule]\nrules = [Matmul, gpu.Matmul, Fallback]\n"
     '[pass FuseOpsByPattern]\npatterns = ["x.relu := nn.relu(x)"]\n[pass LegalizeOps]\nskip_ops = [relax.add]\n')
fine("lists that leave out what nothing else needs", "[tenon]\nplugins = *, -onnx, -null, -opencl, -interp\n")
fine("other names of a kind, no passes of a library, and an insert that is removed", "[target cpu]\nkind = llvm\n[pipeline cpu]\nlibrary_dispatch =\n"
     "insert.x =\ndrop =\n[tags]\na/b = cpu\n[target mine]\nkind = opencl\n")
for name, value in (("TENON_PLUGIN_PATH", os.environ.get("TENON_PLUGIN_PATH", "") + ":/nonexistent/p"), ("TENON_SYSCONFDIR", "/nonexistent/etc"), ("XDG_CACHE_HOME", "~/cache"), ("XDG_CONFIG_HOME", "config")):
    r = tenon("check-config", env={name: value})
    check(r.returncode == 1 and f"{name}: warning: '{value.split(':')[-1]}'" in r.stderr, f"{name}={value} stands for nothing", r)
done()
