# SPDX-License-Identifier: Apache-2.0
"""`tenon check-plugin` tries what the tables of a plugin say: a pattern that cannot be read, an operator that cannot be written in a
module, a legalizer of nothing, a pass that needs what there is not; `tenon list` names what a good one provides."""
import json
import os
import re
import shlex
import subprocess

from clitest import BUILD, SRC, check, done, path, refused, tenon, write

CC = shlex.split(os.environ.get("CC") or "cc")
ABI = re.search(r"ABI (\d+\.\d+)", tenon("--version").stdout).group(1)
PROGRAM = """@I.ir_module
class Intrin:
    @T.prim_func
    def {name}(a: T.handle, b: T.handle):
        A = T.match_buffer(a, (4,), "float32")
        B = T.match_buffer(b, (4,), "float32")
        with T.sblock("root"):
            T.reads(A[0:4])
            T.writes(B[0:4])
            for i in range(4):
                with T.sblock("add"):
                    vi = T.axis.remap("S", [i])
                    B[vi] = A[vi] + A[vi]
"""
INTRIN = PROGRAM.format(name="desc") + PROGRAM.format(name="impl").split("\n", 2)[2]
RIGHT = {"NEEDS": "op pattern", "OP": "relax.tables.op", "LEGALIZED": "relax.nn.relu", "TARGET": "null", "PATTERN": "nn.relu(x)",
         "MEANING": '@R.function\ndef meaning(x: R.Tensor((2,), "float32")):\n    return x\n', "INTRIN": INTRIN}


def build(name, **texts):
    folder = path(name)
    os.makedirs(folder, mode=0o755)
    os.chmod(folder, 0o755)
    texts = RIGHT | texts
    out = os.path.join(folder, "tables.so")
    r = subprocess.run([*CC, "-std=gnu17", "-O1", "-shared", "-fPIC", "-fvisibility=hidden", f"-I{SRC}/include", f"-I{BUILD}/include",
                        *(f"-D{k}={json.dumps(v)}" for k, v in texts.items()), os.path.join(SRC, "tests/tools/candidate_tables.c"), "-o", out],
                       capture_output=True, text=True)
    check(r.returncode == 0, f"{name}: compiles", r)
    provides = ["pass:TablesPass", "op:" + texts["OP"], f"legalizer:{texts['LEGALIZED']}@{texts['TARGET']}", "pattern:tables.p",
                "meaning:tables.fn", "tensor_intrin:tables.mma"]
    write(f"{name}/tables.plugin", f"[plugin]\nname = tables\nversion = 1.0\nabi = {ABI}\nkind = compiler\nmodule = tables.so\nlicence = MIT-0\n"
          f"provides = {', '.join(provides)}\n")
    for f in os.listdir(folder):
        os.chmod(os.path.join(folder, f), 0o644)
    return out


good = build("good")
r = tenon("check-plugin", good)
check(r.returncode == 0 and "may be installed" in r.stdout, "good tables", r)
for what, texts, *said in (
        ("a pattern that ends early", {"PATTERN": "nn.relu(x"}, "the pattern 'tables.p'", "expected, found the end"),
        ("a pattern of an unknown operator", {"PATTERN": "nn.rellu(x)"}, "the pattern 'tables.p'", "nn.relu"),
        ("a pattern with an unknown attribute", {"PATTERN": "nn.conv2d(x, w){stride=1}"}, "the pattern 'tables.p'", "'stride'"),
        ("an operator that no module can have", {"OP": "tables.op"}, "the operator 'tables.op'", "relax.tables.op"),
        ("a legalizer of no operator", {"LEGALIZED": "relax.nn.rellu"}, "the legalizer 'relax.nn.rellu': .base.name is no operator", "did you mean 'relax.nn.relu'"),
        ("a legalizer for no target", {"TARGET": "nulll"}, "the legalizer 'relax.nn.relu': .target is 'nulll'"),
        ("a pass that needs no kind of table", {"NEEDS": "op patern"}, "the pass 'TablesPass'", "'patern'"),
        ("a meaning that is no program", {"MEANING": "def meaning(x):\n"}, "the meaning 'tables.fn'"),
        ("a meaning of another name", {"MEANING": RIGHT["MEANING"].replace("def meaning", "def other")}, "no function `meaning`"),
        ("an intrinsic without its meaning", {"INTRIN": PROGRAM.format(name="impl")}, "the tensor intrinsic 'tables.mma'", "desc")):
    r = tenon("check-plugin", build(what.replace(" ", "_"), **texts))
    refused(what, r, *said, status=(1,))
    check("may be installed" not in r.stdout, what + ": is not recommended", r)

# ---- lists ----
path_of = ("--plugin-path", os.path.dirname(good))
for what, name in (("patterns", "tables.p"), ("meanings", "tables.fn"), ("ops", "relax.tables.op"), ("passes", "TablesPass")):
    rows = json.loads(tenon("list", what, "--json", *path_of).stdout or "[]")
    check(any(x["name"] == name for x in rows), f"list {what} has {name}")
    r = tenon("list", what, "--names", *path_of)
    check(r.returncode == 0 and name in r.stdout.split(), "also its names alone", r)
r = tenon("list", "legalizers", "null", *path_of)
check(r.returncode == 0 and re.search(r"^relax\.nn\.relu +\S+ +tables, instead of ops$", r.stdout, re.M), "list legalizers says whose it hides", r)
done()
