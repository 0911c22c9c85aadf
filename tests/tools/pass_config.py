# SPDX-License-Identifier: Apache-2.0
"""A value of every wrong JSON type for every key of the passes' configuration that a pass declares: each is refused with the key, the value,
what is expected and where it comes from, by every command that takes --pass-config, and for the keys that [tenon] sets also from an INI file.
What is right is taken."""
import json

from clitest import check, done, path, tenon, write

PASSES = [p["name"] for p in json.loads(tenon("list", "passes", "--json").stdout)]
KEYS = {}  # key -> its schema and a pass that reads it
for p in PASSES:
    for k in json.loads(tenon("show", "pass", p, "--json").stdout)["config"]:
        before = KEYS.setdefault(k["name"], (k, p))[0]
        check(before["type"] == k["type"] and before["default"] == k["default"], f"passes give {k['name']} one type and one default")
check(len(KEYS) >= 7 and {"relax.FuseOps.max_depth", "relax.backend.use_cuda_graph", "tenon.tuning_db"} <= KEYS.keys(), f"keys: {sorted(KEYS)}")

EXPECTED = {"integer": "an integer", "float": "a number", "boolean": "true or false", "text": "a text", "integers": "a list of integers",
            "floats": "a list of numbers", "texts": "a list of texts"}
SAMPLES = ["null", "true", "7", "-3", "1.5", '"x"', "[]", "[1]", "[1.5]", '["x"]', "[[1]]", "[true]", "[null]", '{"a": 1}', "{}"]
RIGHT = {"integer": {"7", "-3"}, "float": {"7", "-3", "1.5"}, "boolean": {"true"}, "text": {'"x"'}, "integers": {"7", "-3", "[]", "[1]"},
         "floats": {"7", "-3", "1.5", "[]", "[1]", "[1.5]"}, "texts": {'"x"', "[]", '["x"]'}}  # a single entry stands for a list of one
MODULE = write("module.py", """
from tvm.script import ir as I, relax as R
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        with R.dataflow():
            y = R.add(x, x)
            R.output(y)
        return y
""")


def shown(sample):
    """As messages print a value."""
    return {"null": "None", "true": "True", "[true]": "[True]", "[null]": "[None]"}.get(sample, sample)


tries = 0
for key, (k, reader) in sorted(KEYS.items()):
    for sample in SAMPLES:
        r = tenon("opt", MODULE, "-p", reader, "--pass-config", f"{key}={sample}", "-o", path("out.py"))
        tries += 1
        if sample not in RIGHT[k["type"]]:
            want = f"--pass-config: pass {reader}: configuration '{key}' must be {EXPECTED[k['type']]}, not {shown(sample)}"
            check(r.returncode == 1 and want in r.stderr.splitlines()[0], f"{key}={sample} is refused: {want}", r)
        elif sample == "-3" and k["allowed"]:
            check(r.returncode == 1 and f"configuration '{key}' is -3, expected {k['allowed'].replace('>=', 'at least ')}" in r.stderr, f"{key}=-3 is out of range", r)
        elif not key.endswith("tuning_db") or sample == "[]":  # files that are not there are told of by name
            check(r.returncode == 0 and not r.stderr, f"{key}={sample} is taken", r)
check(tries == len(KEYS) * len(SAMPLES), f"{tries} values")

# ---- golden texts: one of each form, as a user reads it ----
OUT = path("out.tno")
GOLDEN = {
    ("relax.backend.use_cuda_graph=7", "RewriteCUDAGraph"): "--pass-config: pass RewriteCUDAGraph: configuration 'relax.backend.use_cuda_graph' must be true or false, not 7\n",
    ('relax.FuseOps.max_depth="many"', "FuseOps"): "--pass-config: pass FuseOps: configuration 'relax.FuseOps.max_depth' must be an integer, not \"many\"\n",
    ("relax.FuseOps.max_depth=0", "FuseOps"): "--pass-config: pass FuseOps: configuration 'relax.FuseOps.max_depth' is 0, expected at least 1\n",
    ("tenon.tuning_db=[1]", "ApplyDefaultSchedule"): "--pass-config: pass ApplyDefaultSchedule: configuration 'tenon.tuning_db' must be a list of texts, not [1]\n",
    ("tenon.fallback=null", "FallbackKernels"): "--pass-config: pass FallbackKernels: configuration 'tenon.fallback' must be true or false, not None\n",
    ("relax.FuseOps.max_dept=4", "FuseOps"): "--pass-config: no pass reads the configuration 'relax.FuseOps.max_dept'\n  hint: did you mean 'relax.FuseOps.max_depth'?\n",
    ("x.y=4", "FuseOps"): "--pass-config: no pass reads the configuration 'x.y'\n  hint: tenon show pass NAME tells what a pass reads\n",
    ("relax.FuseOps.max_depth=4", "LegalizeOps"):
        "--pass-config: warning: the configuration 'relax.FuseOps.max_depth' has no effect: no pass of the list reads it\n",
}
for (text, reader), want in GOLDEN.items():
    r = tenon("opt", MODULE, "-p", reader, "--pass-config", text, "-o", path("out.py"))
    check(r.returncode == (0 if "warning" in want else 1) and r.stderr == want, f"opt -p {reader} --pass-config {text}", r)
r = tenon("compile", MODULE, "-o", OUT, "--pass-config", "relax.backend.use_cuda_graph=true")
check(r.returncode == 0 and r.stderr.startswith("--pass-config: warning: the configuration 'relax.backend.use_cuda_graph' has no effect for the target 'cpu': "
      "no pass of its pipeline reads it\n"), "a key that only another target's passes read", r)
r = tenon("compile", MODULE, "-o", OUT, "--pass-config", "relax.backend.use_cuda_graph=7")
check(r.returncode == 1 and "use_cuda_graph' must be true or false, not 7" in r.stderr, "its value is looked at all the same", r)
r = tenon("compile", MODULE, "-o", OUT, "--pass-config", "tenon.fallback=7", "--pass-config", 'relax.FuseOps.max_depth="x"')
check(r.returncode == 1 and "max_depth" in r.stderr and "tenon.fallback" in r.stderr, "two mistakes are told of at once", r)
r = tenon("compile", MODULE, "-o", OUT, "--pass-config", "relax.FuseOps.max_depth=1", "--pass-config", "relax.FuseOps.max_depth=2")
check(r.returncode == 2 and "option '--pass-config' gives 'relax.FuseOps.max_depth' twice" in r.stderr, "a key twice", r)
for command, rest in {"compile": ("-o", OUT), "run": (), "bench": ("--runs", "1"), "tune": ("--list",), "show kernel": (), "show placement": (),
                      "diff": (MODULE, "--exec", "-t", "cpu")}.items():
    r = tenon(*command.split(), MODULE, *rest, "--pass-config", "relax.FuseOps.max_depth=true")
    check(r.returncode == 1 and "--pass-config: pass FuseOps: configuration 'relax.FuseOps.max_depth' must be an integer, not True" in r.stderr, f"{command} refuses it", r)

# ---- the keys that [tenon] sets ----
for text, expected in (("fallback = 7", "'fallback' is '7', expected true or false"), ("fallback = maybe", "'fallback' is 'maybe', expected true or false"),
                       ("threads = many", "'threads' is 'many', expected an integer"), ("threads = 1.5", "'threads' is '1.5', expected an integer"),
                       ("threads = -1", "'threads' is -1, expected a number from 0 to 4096")):
    ini = write("site.ini", "; a site\n[tenon]\n" + text + "\n")
    for command in (("compile", MODULE, "-o", OUT), ("opt", MODULE, "-p", "FuseOps", "-o", path("out.py")), ("check-config",)):
        r = tenon(*command, "--config", ini)
        check(r.returncode == 1 and f"{ini}:3: {expected}" in r.stderr, f"{command[0]} with [tenon] {text}", r)
    r = tenon("compile", MODULE, "-o", OUT, "--set", "tenon." + text.replace(" = ", "="))
    check(r.returncode == 1 and f"--set: {expected}" in r.stderr, f"--set tenon.{text}", r)

# ---- attributes of functions that passes and code generators read ----
ATTRIBUTES = {"boolean": ["Primitive", "relax.force_pure", "tirx.noalias", "tirx.is_scheduled", "tir.is_host_func"], "integer": ["num_input", "op_pattern"],
              "text": ["Codegen", "Composite", "global_symbol"]}
for kind, attributes in ATTRIBUTES.items():
    words = {"boolean": "true or false", "integer": "an integer that is not negative", "text": "a text"}[kind]
    for a in attributes:
        for value in ("True", "7", "-3", "1.5", '"main"', "[1]", '{"a": 1}'):
            typed = {"True": "boolean", "7": "integer", '"main"': "text"}.get(value)
            text = open(MODULE).read().replace("        with R.dataflow", f'        R.func_attr({{"{a}": {value}}})\n        with R.dataflow')
            r = tenon("check", write("attributes.py", text))
            wrong = "attributes.py:6:" in r.stderr and f"the function attribute '{a}' must be {words}, not " in r.stderr
            check(r.returncode == (0 if typed == kind else 1) and wrong != (typed == kind), f"the attribute {a}: {value}", r)
done()
