# SPDX-License-Identifier: Apache-2.0
"""Of what two plugins provide by one name nothing is chosen silently, whatever kind it is: an error names both plugins, and the setting that chooses."""
import os
import re
import shlex
import subprocess

from clitest import BUILD, SRC, check, done, path, refused, tenon, write

CC = shlex.split(os.environ.get("CC") or "cc")
ABI = re.search(r"ABI (\d+\.\d+)", tenon("--version").stdout).group(1)
TABLES = "pass:Twice, pass_alias:Double, op:relax.twice.op, target:NAME, target_alias:twice, legalizer:relax.nn.relu@cpu, rule:twice.Tile, " \
    "rule:gpu_generic.Fallback, importer:twice, importer:NAME, pattern:twice.relu, tensor_intrin:twice.mma, meaning:twice.fn"
PLUGINS = {"one": ("TABLES", TABLES), "two": ("TABLES", TABLES), "eva": ("EVALUATOR", "evaluator:twice"), "evb": ("EVALUATOR", "evaluator:twice"),
           "ops2": ("OPERATOR", "op:relax.twice.op"), "board": ("BOARD", "target:board")}


def start(name, what, provides):
    os.makedirs(path(name), mode=0o755)
    os.chmod(path(name), 0o755)
    manifest = write(f"{name}/{name}.plugin", f"[plugin]\nname = {name}\nversion = 1.0\nabi = {ABI}\nkind = compiler\nmodule = {name}.so\n"
                     f"provides = {provides.replace('NAME', name)}\n")
    os.chmod(manifest, 0o644)
    return subprocess.Popen([*CC, "-std=gnu17", "-shared", "-fPIC", "-fvisibility=hidden", f"-I{SRC}/include", f"-I{BUILD}/include", f"-DNAME={name}",
                             f"-D{what}", os.path.join(SRC, "tests/tools/twice.c"), "-o", path(f"{name}/{name}.so")],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


for compiler in [start(name, *of) for name, of in PLUGINS.items()]:
    out, _ = compiler.communicate()
    check(compiler.returncode == 0, "the plugins compile: " + out)
for name in PLUGINS:
    os.chmod(path(f"{name}/{name}.so"), 0o755)


def among(*names):
    return ("--plugin-path", ":".join(path(n) for n in names))


HEAD = '@R.function\ndef main(x: R.Tensor((4,), dtype="float32")):\n    '
RELU = write("relu.py", HEAD + "y = R.nn.relu(x)\n    return y\n")
FLOW = write("flow.py", HEAD + "with R.dataflow():\n        y = R.nn.relu(x)\n        R.output(y)\n    return y\n")
FOLDED = write("folded.py", HEAD + 'y = R.add(x, R.add(R.const(1.0, "float32"), R.const(2.0, "float32")))\n    return y\n')
OURS = write("ours.py", HEAD + "y = R.twice.op(x)\n    return y\n")
CALLED = write("called.py", HEAD + 'y = R.call_pure_packed("twice.fn", x, sinfo_args=[R.Tensor((4,), dtype="float32")])\n    return y\n')
TILED = write("tiled.py", '''@I.ir_module
class Module:
    @T.prim_func
    def tiled(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("b"):
                v = T.axis.spatial(4, i)
                B[v] = A[v]
''')
TRACE = write("tiled.trace", "tensorize(b, \"twice.mma\")\n")
SAME, EACH = write("same.model", "same"), write("each.model", "each")
BOTH = among("one", "two")
HERE = [  # what, command, kind, name
    ("pass", ("opt", RELU, "-p", "Twice"), "pass", "Twice"),
    ("further name of a pass", ("opt", RELU, "-p", "Double"), "pass", "Double"),
    ("operator", ("opt", OURS, "-p", "FuseOps"), "op", "relax.twice.op"),
    ("kind that two targets serve", ("compile", RELU, "-t", "twice", "-o", path("x.tno")), "target", "twice"),
    ("target whose kind another serves", ("compile", RELU, "-t", "one", "-o", path("x.tno")), "target", "twice"),
    ("legalizer", ("opt", RELU, "-t", "cpu", "-p", "LegalizeOps"), "legalizer", "relax.nn.relu@cpu"),
    ("rule", ("opt", TILED, "-t", "cpu", "-p", 'ApplyDefaultSchedule{rules=["twice.Tile"]}'), "rule", "twice.Tile"),
    ("rule by a short name, where there is a general one", ("opt", TILED, "-t", "gpu_generic", "-p", 'ApplyDefaultSchedule{rules=["Fallback"]}'), "rule",
     "gpu_generic.Fallback"),
    ("importer", ("compile", SAME, "-o", path("x.tno")), "importer", "twice"),
    ("pattern", ("opt", FLOW, "-p", 'FuseOpsByPattern{patterns=["twice.relu"]}'), "pattern", "twice.relu"),
    ("pattern of a family", ("opt", FLOW, "-p", 'FuseOpsByPattern{patterns=["twice.*"]}'), "pattern", "twice.relu"),
    ("tensor intrinsic", ("opt", TILED, "-p", f'ApplyScheduleTrace{{trace="{TRACE}"}}'), "tensor_intrin", "twice.mma"),
    ("meaning", ("diff", "--exec", CALLED, CALLED), "meaning", "twice.fn"),
]
CHOSEN = [x for kind, name in sorted({h[2:] for h in HERE}) for x in ("--set", f"tenon.prefer.{kind}.{name}=two")]
for what, command, kind, name in HERE:
    refused(f"two plugins: {what}", tenon(*command, *BOTH), f"{kind} '{name}' is provided by plugin 'one' and by plugin 'two'", "hint:", f"prefer.{name} = ")
    r = tenon(*command, *BOTH, *CHOSEN)
    check("is provided by" not in r.stderr and "has no effect" not in r.stderr, f"two plugins: {what}, where the site says which serves", r)
refused("a file that importers of two names recognize", tenon("compile", EACH, "-o", path("x.tno"), *BOTH), "importer 'one' of plugin 'one'",
        "importer 'two' of plugin 'two'", "hint:")
refused("an evaluator of two plugins", tenon("opt", FOLDED, "-p", "FoldConstant", *among("eva", "evb")),
        "evaluator 'twice' is provided by plugin 'eva' and by plugin 'evb'", "hint:", "prefer.twice = ")
refused("a legalizer that both the operator's and the target's plugin have", tenon("opt", OURS, "-t", "board", "-p", "LegalizeOps", *among("ops2", "board")),
        "legalizer 'relax.twice.op@board' is provided by plugin '", "'board'", "'ops2'", "hint:")
done()
