# SPDX-License-Identifier: Apache-2.0
"""Every option of every subcommand, as --help lists them, with values that are none, and where it has no effect: an error that names it.
A value of each option in make check, all in make check-long."""
import concurrent.futures
import os
import re
import shutil
import zlib

from clitest import DIGITS, check, done, path, tenon, write

MODEL, IMAGE = os.path.join(DIGITS, "digits.onnx"), os.path.join(DIGITS, "digit4.npy")
GGUF = os.path.join(os.environ.get("TENON_LM_MODELS") or os.path.join(os.environ["top_srcdir"], "..", "shared", "models"),
                    "llm", "stories260K", "stories260K.gguf")
TEXT = write("text.py", """
from tvm.script import ir as I, relax as R
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return R.add(x, x)
""")
TNO, OUT, NOWHERE, OTHER = path("digits.tno"), path("out.tno"), path("nowhere/file.npy"), "no_such_thing"
CASE = path("case")
os.makedirs(os.path.join(CASE, "test_data_set_0"))
shutil.copyfile(MODEL, os.path.join(CASE, "model.onnx"))
for name, shape in (("input_0", (1, 1, 8, 8)), ("output_0", (1, 10))):  # TensorProto: dims, data_type, raw_data
    n = 4 * shape[-1] * shape[-2]
    write(f"case/test_data_set_0/{name}.pb", bytes(b for d in shape for b in (8, d)) + bytes((16, 1, 0x4a, n & 127 | (n > 127) << 7, *([n >> 7] if n > 127 else []))) + bytes(n))
check(tenon("compile", MODEL, "-o", TNO).returncode == 0, "an artifact")

# What each subcommand is tried with; what an option needs besides
BASE = {"compile": [MODEL, "-o", OUT], "run": [MODEL], "bench": [MODEL, "--runs", "1"], "opt": [TEXT, "-p", "LegalizeOps"], "check": [TEXT],
        "diff": [TEXT, "--exec", "-t", "cpu"], "list": ["targets"], "show": ["kernel", MODEL], "onnx-test": [CASE], "tune": [MODEL],
        "doctor": [], "check-config": [], "help": [], "new-plugin": ["acme", path("acme")], "check-plugin": [path("acme.so")], "plugin": ["enable", OTHER],
        "generate": [GGUF, "--prompt", "a", "--max-tokens", "1"], "chat": [GGUF]}
BESIDE = {"prefix": ["--emit", "c", "-o", path("emitted")], "mtriple": ["--emit", "obj", "-o", path("emitted")], "verify-budget": ["--verify"], "dump-only": ["--dump-ir", path("ir")],
          "rtol": ["--expect", f"probabilities={IMAGE}"], "atol": ["--expect", f"probabilities={IMAGE}"], "top-k": ["--temperature", "1"],
          "top-p": ["--temperature", "1"], "min-p": ["--temperature", "1"]}
# Values that are none, by what --help calls a value. Texts can be anything, files that are written too.
NUMBERS = ["x", "-1", "99999999999999999999"]
BAD = {"N": NUMBERS + ["1.5"], "X": ["x", "-1", "nan", "inf"], "S": ["x", "-1", "0", "nan", "inf"], "SECONDS": NUMBERS, "NAME": [OTHER], "NAME[,NAME...]": [OTHER, "cpu,cpu"],
       "NAME=N": [OTHER, f"{OTHER}=2", "=2", "image=-1", "image=3"], "NAME=FILE": [OTHER, f"{OTHER}={IMAGE}", f"image={NOWHERE}"], "KEY=JSON": [OTHER, f"{OTHER}=1"], "CPU": [OTHER],
       "KIND": [OTHER], "SHELL": [OTHER], "LEVEL": [OTHER], "BACKEND": [OTHER], "LIST": [OTHER], "PASS[,PASS]": [OTHER], "TRIPLE": [OTHER], "DIRS": [],
       "DIR": [TEXT], "FILE": [NOWHERE], "PATH": [NOWHERE], "FILE.tno": [NOWHERE], "FILE.py": [NOWHERE], "FILE.json": [NOWHERE], "TEXT": [],
       "SECTION.NAME.KEY=VALUE": [OTHER, f"tenon.{OTHER}=1", f"{OTHER}.x.y=1"]}
TAKEN = {("tune", "time", "0")}  # means something for one option
TAKES_BLANK = {"prompt", "passes"}  # the empty text begins a text; the empty list runs nothing
WHOLE = {"prefix"}  # any name serves
LATER = {"reproducer"}  # written only when a pass fails
commands = re.findall(r"^  ([a-z][a-z-]+) ", tenon("--help").stdout, re.M)
check(set(commands) <= set(BASE), f"every subcommand is tried: {sorted(set(commands) - set(BASE))}")
tries, unknown = [], []
for c in commands:
    own, common = tenon(c, "--help").stdout.split("\nCommon options:\n")
    sections = [own, common] if c == "run" else [own]  # the common ones are read in one place
    for name, value in re.findall(r"^  (?:-\w, |    )--([a-z-]+)(?: ([A-Z]\S*))?(?:  |$)", "\n".join(sections), re.M):
        if not value or not os.path.exists(GGUF) and (c in ("generate", "chat") or name in ("prompt", "generate", "weights", "tokenizer")):
            continue
        if value not in BAD:
            unknown.append(f"{c} --{name} {value}")
            continue
        base = BASE[c]
        if c == "bench" and name in ("prompt", "generate", "weights", "tokenizer"):
            base = [GGUF, "--runs", "1", "--prompt", "1"]
        base = [MODEL] if (c, name) == ("bench", "seconds") else [GGUF] if (c, name) == ("generate", "prompt-file") else base
        beside = BESIDE.get(name, []) if c not in ("diff", "onnx-test") else ["--verify"] if name == "verify-budget" else []
        values = [v for v in [""] * (name not in TAKES_BLANK) + ([] if name in WHOLE | LATER else BAD[value]) if (c, name, v) not in TAKEN]
        if not os.environ.get("TENON_LONG") and values:
            values = [values[zlib.crc32(f"{c} {name}".encode()) % len(values)]]
        for v in values:
            if not (name == "weights" and c != "bench"):
                tries.append((f"{c} --{name} '{v}'", [f"'--{name}'", f"'-{name[0]}'", *filter(None, [v, *re.split("[=.]", v)])], [c, *base, *beside, f"--{name}={v}"]))
check(not unknown, f"a bad value of each option is known: {unknown}")


def run(t):
    return t, tenon(*t[2])


with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("TESTS_JOBS") or os.cpu_count() or 1)) as pool:
    results = list(pool.map(run, tries))
silent = [(t, r) for t, r in results if r.returncode not in (1, 2) or not any(s in r.stderr + r.stdout for s in t[1])]
for t, r in silent:
    check(False, f"tenon {t[0]} is an error that names it", r)
check(len(results) > 100, f"{len(results)} values that are none: {len(silent)} not refused")

# ---- no effect ----
for command, option, beside in (
        (["bench", MODEL], "--weights=x", "without '--prompt'"), (["bench", MODEL], "--tokenizer=x", "without '--prompt'"),
        (["bench", MODEL, "--runs", "2"], "--seconds=1", "beside '--runs'"), (["tune", MODEL, "--list"], "--time=1", "beside '--list'"),
        (["tune", MODEL, "--list"], "--share=0.5", "beside '--list'"), (["tune", MODEL, "--list"], "--measure=1", "beside '--list'"),
        (["onnx-test", path("."), "--list"], "--target=cpu", "beside '--list'"), (["onnx-test", path("."), "--interp"], "--target=cpu", "beside '--interp'"),
        (["onnx-test", path("."), "--import-only"], "--rtol=1", "beside '--import-only'"), (["new-plugin", "--list"], "--from=cpu", "beside '--list'"),
        (["new-plugin", "acme", "--pass"], "--from=cpu", "beside '--pass'"), (["list", "ops", "--json"], "--names", "beside '--json'"),
        (["help", "--completion=bash"], "--man", "beside '--completion'"), (["list", "targets"], "--debug=compact", "on 'tenon list'"),
        (["check", TEXT], "--debug=compact", "on 'tenon check'"), (["check", TEXT], "--tuning-db=none", "on 'tenon check'"),
        (["help"], "--config=x", "on 'tenon help'"), (["show", "config"], "--debug=compact", "on 'show config'"), (["show", "op", "add"], "--jobs=1", "on 'show op'"),
        (["diff", TEXT, TEXT], "--debug=compact", "without '--target'"), (["diff", TEXT, TEXT], "--seed=1", "without '--exec'"),
        (["compile", MODEL], "--prefix=x", "without '--emit'"), (["compile", MODEL, "--emit=tno", "-o", OUT], "--prefix=x", "on an artifact")):
    r = tenon(*command, option)
    name = option.split("=")[0]
    check(r.returncode == 2 and f"option '{name}' has no effect {beside}" in r.stderr, f"tenon {' '.join(command)} {option}: no effect {beside}", r)
for command in (["compile", MODEL, "-o"], ["run", MODEL, "-o"], ["compile", MODEL, "--trace"], ["run", MODEL, "--dump-ir"], ["compile", MODEL, "--reproducer"]):
    r = tenon(*command, "-")
    check(r.returncode == 2 and "nothing is written to standard output" in r.stderr, f"tenon {command[0]} {command[-1]} -", r)
for command in (["run", MODEL, "-i", IMAGE], ["run", MODEL, "--expect", IMAGE], ["bench", MODEL, "-i", IMAGE], ["compile", MODEL, "--bind", IMAGE]):
    r = tenon(*command)
    check(r.returncode == 2 and "expected NAME=FILE" in r.stderr and "tenon show model" in r.stderr, f"tenon {command[0]} {command[-2]} without a name", r)
for command in (["run", MODEL], ["bench", MODEL], ["tune", MODEL], ["opt", TEXT, "-p", ""], ["diff", TEXT, "--exec"], ["show", "kernel", MODEL], ["onnx-test", path(".")]):
    r = tenon(*command, "-t", "cpu,null")
    check(r.returncode == 2 and "takes one target here, found 'cpu' and 'null'" in r.stderr, f"tenon {command[0]} -t cpu,null", r)
for option in ("--dim=n=1", "--jobs=1", "--mcpu=native", "--no-cache", "--profile=llm", "--pass-config=a=1"):
    r = tenon("run", TNO, option)
    check(r.returncode == 2 and "already compiled" in r.stderr, f"tenon run of an artifact {option}", r)
r = tenon("help", "run", "--completion=bash")
check(r.returncode == 2 and "is for all subcommands" in r.stderr, "completion of one subcommand", r)
r = tenon("tune", MODEL, "--only", OTHER, "--list")
check(r.returncode == 1 and f"no function's name contains '{OTHER}'" in r.stderr, "tune --only of no function", r)
table = write("table.py", open(TEXT).read().replace('(4,), "float32")) -> R', '(4,), "int64")) -> R').replace("R.add(x, x)", "R.take(R.const([1.0], 'float32'), x)"))
r = tenon("run", table, "--seed", "3")
check(r.returncode == 1 and "the inputs are random" in r.stderr, "random indices are told", r)
if os.path.exists(GGUF):
    r = tenon("generate", GGUF, "--prompt", "a", "--weights", GGUF)
    check(r.returncode == 2 and "'--weights' is for artifacts" in r.stderr, "the weights of a model", r)
done()
