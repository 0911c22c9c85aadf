# SPDX-License-Identifier: Apache-2.0
"""`tenon check-plugin` names each member of each entry that has a bad value: for every member of every type that tables hold there is a
bad value in candidate_fields.c, or a reason here why there is none."""
import concurrent.futures
import json
import os
import re
import shlex
import subprocess

from clitest import BUILD, SRC, check, done, path, tenon, write

CC = shlex.split(os.environ.get("CC") or "cc")
ABI = re.search(r"ABI (\d+\.\d+)", tenon("--version").stdout).group(1)
INCLUDE = os.path.join(SRC, "include")
# What stands for a type in the names of bad values: the header, the type.
TYPES = {
    "pass": ("tenon/core/pass.h", "tn_pass"), "op": ("tenon/core/op.h", "tn_op"), "attr": ("tenon/core/op.h", "tn_attr_schema"),
    "arg": ("tenon/core/op.h", "tn_arg_schema"), "target": ("tenon/core/registry.h", "tn_target_kind"), "codegen": ("tenon/kit/codegen.h", "tnk_codegen"),
    "legalizer": ("tenon/core/registry.h", "tn_legalizer"), "rule": ("tenon/kit/rule.h", "tnk_rule"), "importer": ("tenon/kit/importer.h", "tnk_importer"),
    "evaluator": ("tenon/core/eval.h", "tn_evaluator"), "pattern": ("tenon/kit/pattern.h", "tnk_fusion_pattern"),
    "external": ("tenon/kit/pattern.h", "tnk_external"), "intrin": ("tenon/kit/tensor_intrin.h", "tnk_tensor_intrin"),
    "dialect": ("tenon/kit/emit.h", "tnk_dialect"), "structs": ("tenon/kit/emit.h", "tnk_vector_structs"), "meaning": ("tenon/core/eval.h", "tn_meaning"),
    "driver": ("tenon/rt/device.h", "tnr_driver"), "setting": ("tenon/rt/device.h", "tnr_setting"), "packed": ("tenon/rt/packed.h", "tnr_packed"),
    "loader": ("tenon/rt/loader.h", "tnr_loader")}
HOOKS = "a function, or none"
FREE = {
    "pass": {"adapt": HOOKS}, "op": {"result": "a text for people", "complete": HOOKS, "layout": HOOKS, "legalize": HOOKS, "lower_builtin": HOOKS},
    "attr": {"doc": "a text for people"}, "arg": {"doc": "a text for people"}, "target": {}, "codegen": {"takes": HOOKS, "sources": HOOKS, "objects": HOOKS}, "legalizer": {"target": "of its name in the manifest: check_tables.py"}, "rule": {},
    "importer": {"declared": HOOKS}, "evaluator": {"call": "with prepare", "release": "with prepare"},
    "pattern": {"priority": "any number", "check": HOOKS, "attrs": HOOKS}, "external": {}, "intrin": {}, "structs": {},
    "dialect": dict.fromkeys(("restrict_", "int64", "uint64", "int32", "uint32", "int16", "uint16", "int8", "uint8", "nan32", "nan64", "inf32",
                              "inf64", "compare_exchange", "warp_barrier", "float_suffix", "classify"), "any spelling") |
               dict.fromkeys(("gnu_vectors", "one_space", "vector_functions", "has_half", "signed_wraps", "declares", "byte_offsets",
                              "meet_behind_loops", "no_int64", "as_functions"), "true or false") |
               dict.fromkeys(("header", "begin", "attribute", "declare", "param", "thread", "stmt", "expr", "parallel", "packed_store", "body",
                              "element"), HOOKS),
    "meaning": {"call": HOOKS}, "driver": {"set_threads": HOOKS, "native": HOOKS}, "setting": {"fallback": "any text"}, "packed": {},
    "loader": {}}
# What is said in words, where the runtime refuses to load the plugin.
WORDS = {"packed.flags": "has the unknown flag 0x200", "packed.min_args": "takes -1 to 2 arguments", "packed.max_args": "takes 1 to 0 arguments"}
DEVICE = ("driver", "setting", "packed", "loader")
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
MEANING = '@R.function\ndef meaning(x: R.Tensor((2,), "float32")):\n    return x\n'
TABLES = ("passes ops targets legalizers rules importers evaluators patterns externals tensor_intrins:intrins dialects meanings",
          "drivers packed:packeds loaders")
PROVIDES = ("pass:FieldsPass op:relax.fields.op op:fields.scalar target:fields legalizer:relax.nn.relu@null rule:fields.Rule importer:fields "
            "evaluator:fields pattern:fields.p external:fields tensor_intrin:fields.mma dialect:fields_c meaning:fields.fn",
            "device:fields packed:fields.fn loader:fields")


def tables(device, **n):
    """The initializers of the descriptor's tables; `n`: other counts, -1: the table is NULL."""
    found = []
    for item in TABLES[device].split():
        table, _, array = item.partition(":")
        array = array or table
        # ORDER: as in the descriptor, `meanings` last
        found.append(f".{table}={'NULL' if n.get(table) == -1 else array},.n_{table}=" +
                     (str(n[table]) if n.get(table, -1) != -1 else f"sizeof {array}/sizeof *{array}"))
    return ",".join(found)


def build(name, device, **n):
    os.makedirs(path(name), mode=0o755)
    os.chmod(path(name), 0o755)
    out = path(f"{name}/fields.so")
    r = subprocess.run([*CC, "-std=gnu17", "-O0", "-shared", "-fPIC", "-fvisibility=hidden", f"-I{SRC}/include", f"-I{BUILD}/include",
                        f"-DTABLES={tables(device, **n)}", *(["-DDEVICE"] if device else []), f"-DINTRIN={json.dumps(INTRIN)}",
                        f"-DMEANING={json.dumps(MEANING)}", os.path.join(SRC, "tests/tools/candidate_fields.c"), "-o", out],
                       capture_output=True, text=True)
    check(r.returncode == 0, f"{name}: compiles", r)
    write(f"{name}/fields.plugin", f"[plugin]\nname = fields\nversion = 1.0\nabi = {ABI}\nkind = {'runtime' if device else 'compiler'}\n"
          f"module = fields.so\nlicence = MIT-0\nprovides = {', '.join(PROVIDES[device].split())}\n")
    for f in os.listdir(path(name)):
        os.chmod(path(f"{name}/{f}"), 0o644)
    return out


def members(kind):
    """The names of a type's members, as its header has them."""
    header, name = TYPES[kind]
    text = re.sub(r"/\*.*?\*/", "", open(os.path.join(INCLUDE, header)).read(), flags=re.S)
    body = re.search(r"struct %s \{(.*?)\n\}" % name, text, re.S).group(1)
    found = []
    for statement in body.split(";"):
        pointer = re.search(r"\(\*(\w+)\)", statement)
        if pointer:
            found.append(pointer.group(1))
        elif statement.strip():
            found += [re.search(r"(\w+)\s*(\[\w*\])?\s*$", part).group(1) for part in statement.split(",")]
    return [m for m in found if m not in ("self", "base")] + (["base.size", "base.name"] if "base" in found else [])


source = open(os.path.join(SRC, "tests/tools/candidate_fields.c")).read()
bads = re.findall(r'BAD\("([\w.!]+)"', source) + [b + end for b in re.findall(r'BASE\("(\w+)"', source) for end in (".base.size", ".base.name")]
bads = [b for b in bads if not b.startswith(".")]
for kind in TYPES:
    there = set(members(kind))
    missing = there - {b[len(kind) + 1:].rstrip("!") for b in bads if b.startswith(kind + ".")} - set(FREE[kind])
    check(len(there) > 1 and not missing, f"{kind}: every member has a bad value or a reason {sorted(missing)}")
    check(set(FREE[kind]) <= there, f"{kind}: what needs none is there {sorted(set(FREE[kind]) - there)}")

halves = build("compiler", 0), build("device", 1)
for m in halves:
    r = tenon("check-plugin", m)
    check(r.returncode == 0 and "may be installed" in r.stdout and "warning" not in r.stdout, "good entries", r)


def tried(bad):
    kind = bad.split(".")[0]
    return bad, tenon("check-plugin", halves[kind in DEVICE], *(["--timeout", "1"] if "!" in bad else []), env={"BAD": bad})


with concurrent.futures.ThreadPoolExecutor(3) as pool:
    for bad, r in pool.map(tried, bads):
        field = bad.split(".", 1)[1].rstrip("!")
        said = r.stderr + "".join(line for line in r.stdout.splitlines() if line.startswith("warning"))
        check((WORDS.get(bad, "\n") in said or re.search(r"(?<!\w)%s\b" % re.escape(field.replace("base.", "")), said)) and
              (r.returncode == 1 or bad == "target.device"), f"{bad}: is told by its name", r)
        check("signal" not in said, f"{bad}: crashes nothing", r)
check("hangs" in tried("driver.open!")[1].stderr, "an open that does not end")
r = tenon("check-plugin", halves[1], env={"BAD": "driver.count"})
check("gives -3 devices" in r.stderr, "a count below nothing", r)

for device, n, field in ((0, {"passes": -1}, ".passes is NULL"), (0, {"targets": 4000000000}, ".n_targets is 4000000000"),
                         (0, {"meanings": 0}, ".n_meanings is 0"), (1, {"packed": -1}, ".packed is NULL")):
    r = tenon("check-plugin", build("table_" + field.split()[0][1:] + str(device), device, **n))
    check(r.returncode == 1 and field in r.stderr and "signal" not in r.stderr, f"a table: {field}", r)

# what the settings say about a plugin is read after it was tried, by the child
ini = write("site.ini", f"[tenon]\nplugin_path = {path('compiler')}\n[target fields]\nsize = 4\n")
os.chmod(ini, 0o644)
r = tenon("check-plugin", halves[0], "--config", ini)
check(r.returncode == 0 and "may be installed" in r.stdout, "with settings of its target", r)
r = tenon("check-plugin", halves[0], "--config", ini, env={"BAD": "constructor"})
check(r.returncode == 1 and "ended the process" in r.stderr and "constructors" in r.stderr, "a constructor that ends the process", r)
ini = write("site.ini", f"[tenon]\nplugin_path = {path('compiler')}\n[target fields]\nsyze = 4\n")
r = tenon("check-plugin", halves[0], "--config", ini)
check(r.returncode == 1 and "syze" in r.stderr and "size" in r.stderr, "a setting that its target does not have", r)
done()
