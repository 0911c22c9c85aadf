# SPDX-License-Identifier: Apache-2.0
"""Entries of plugins' tables: for each kind, made from the headers, the smallest entry that there can be is taken, one without any of its
members is refused when it is loaded, by a message that names the member, and what may be left out is said to be so in the header."""
import os
import re
import shlex
import subprocess

from clitest import BUILD, SRC, check, done, path, refused, tenon, write

# kind: type, header, the members of the smallest entry (values of those that are no functions), how the manifest promises it
COMPILER = {
    "passes": ("tn_pass", "tenon/core/pass.h", {"run": 0}, "pass:Entries"),
    "ops": ("tn_op", "tenon/core/op.h", {"infer": 0}, "op:relax.Entries"),
    "targets": ("tn_target_kind", "tenon/core/registry.h", {}, "target:Entries"),
    "legalizers": ("tn_legalizer", "tenon/core/registry.h", {"target": '"null"', "legalize": 0}, "legalizer:relax.add@null"),
    "evaluators": ("tn_evaluator", "tenon/core/eval.h", {"run": 0}, "evaluator:Entries"),
    "rules": ("tnk_rule", "tenon/kit/rule.h", {"apply": 0}, "rule:entries.Entries"),
    "importers": ("tnk_importer", "tenon/kit/importer.h", {"recognize": 0, "import": 0}, "importer:Entries"),
    "patterns": ("tnk_fusion_pattern", "tenon/kit/pattern.h", {"pattern": '"nn.relu(x)"'}, "pattern:entries.relu"),
    "externals": ("tnk_external", "tenon/kit/pattern.h", {"compile": 0}, "external:entries"),
    "tensor_intrins": ("tnk_tensor_intrin", "tenon/kit/tensor_intrin.h", {"text": "intrinsic"}, "tensor_intrin:entries.add"),
    "meanings": ("tn_meaning", "tenon/core/eval.h", {"text": '"@R.function\\ndef meaning(x: R.Tensor((2,), \\"float32\\")):\\n    return x\\n"'},
                 "meaning:entries.same"),
    "dialects": ("tnk_dialect", "tenon/kit/emit.h", {"kernel": '"void"'}, "dialect:entries_c"),
}
INNER = {  # what an entry points to: of which table, by which member
    "codegen": ("tnk_codegen", "tenon/kit/codegen.h", {"name": '"entries"', "build": 0}, "targets"),
    "structs": ("tnk_vector_structs", "tenon/kit/emit.h", {"type": 0, "make": 0, "lane": 0, "align": 0}, "dialects"),
}
RUNTIME = {
    "drivers": ("tnr_driver", "tenon/rt/device.h", {m: 0 for m in "count open close describe check_features alloc free copy zero sync module_load "
                                             "module_free module_kernel launch".split()} | {"formats": "formats"}, "device:Entries"),
    "packed": ("tnr_packed", "tenon/rt/packed.h", {"call": 0}, "packed:Entries"),
    "loaders": ("tnr_loader", "tenon/rt/loader.h", {"open": 0, "call": 0, "close": 0}, "loader:Entries"),
}
# members of the smallest entries that are no function or text alone
VALUES = {"tn_target_kind": ".kinds = words", "tnk_importer": ".extensions = files", "tnk_dialect": '.prologue = "typedef long long int64_t;\\n"',
          "tnr_driver": ".type = 1, .alignment = 64"}
FREE = {"self", "formats"}  # whatever the plugin wants; code in no format is a device without modules


def members(type_, header):
    """Pointers of a structure, and whether the header says what it means that one is NULL."""
    text = open(os.path.join(SRC, "include", header)).read()
    body = re.search(r"(?:typedef )?struct " + type_ + r" \{\n(.*?)\n\}", text, re.S).group(1)
    body = re.sub(r"/\*.*?\*/", lambda c: re.sub(r"[;\n]", " ", c.group(0)), body, flags=re.S)
    out, comment, optional = {}, "", False
    for statement in re.findall(r"\s*((?:/\*.*?\*/\s*)*)([^;]*);([^\n]*)", body, re.S):
        before, declaration, behind = statement
        comments = before + " ".join(re.findall(r"/\*.*?\*/", declaration, re.S)) + behind
        plain = re.sub(r"/\*.*?\*/", "", declaration, flags=re.S)
        if before.strip():  # a comment counts for what stands below it, up to the next comment
            comment, optional = before, False
        known = bool(re.search(r"NULL|[Oo]ptional", comments + comment))
        function = re.search(r"\(\*(\w+)\)", plain)
        names = [function.group(1)] if function else [n for n in re.findall(r"(?:\*(?:const )?|_fn )(\w+)", plain) if n != "const"]
        for name in names:
            out[name] = known
    return out


SOURCE = """
#include "tenon/core/eval.h"
#include "tenon/kit/emit.h"
#include "tenon/kit/importer.h"
#include "tenon/kit/pattern.h"
#include "tenon/kit/rule.h"
#include "tenon/kit/tensor_intrin.h"
#include "tenon/rt/plugin.h"
#include <stdlib.h>
#include <string.h>
static long nothing(void) { return 0; }
static const char *const formats[] = {"none", NULL}, *const words[] = {"Entries", NULL}, *const files[] = {".entries", NULL};
static const char intrinsic[] = "@I.ir_module\\nclass Intrin:\\n"
#define PART(name)                                                                                 \\
    "    @T.prim_func\\n    def " name "(a: T.handle, b: T.handle):\\n"                              \\
    "        A = T.match_buffer(a, (4,), \\"float32\\")\\n"                                          \\
    "        B = T.match_buffer(b, (4,), \\"float32\\")\\n"                                          \\
    "        with T.block(\\"root\\"):\\n"                                                           \\
    "            T.reads(A[0:4])\\n            T.writes(B[0:4])\\n"                               \\
    "            for i in range(4):\\n                with T.block(\\"add\\"):\\n"                   \\
    "                    vi = T.axis.remap(\\"S\\", [i])\\n                    B[vi] = A[vi] + A[vi]\\n"
    PART("desc") PART("impl");
%s
/* The member that the environment names is as if it had been left out. */
__attribute__((constructor)) static void
set(void)
{
    const char *without = getenv("ENTRIES_WITHOUT"), *with = getenv("ENTRIES_WITH");
    void *const code = (void *)nothing;
    (void)code, (void)formats, (void)with, (void)intrinsic, (void)words, (void)files;
#define MEMBER(x, T, m, v) \\
    if (!without || strcmp(without, #T "." #m) != 0) { \\
        const void *p = v; \\
        memcpy((char *)&x + offsetof(T, m), &p, sizeof p); \\
    }
#define MORE(x, T, m) \\
    if (with && strcmp(with, #T "." #m) == 0) \\
        memcpy((char *)&x + offsetof(T, m), &code, sizeof code);
%s
}
%s
"""
MANIFEST = "[plugin]\nname = entries\nversion = 1.0\nabi = {}\nkind = {}\nmodule = entries.so\nlicence = MIT-0\nprovides = {}\n"
ABI = re.search(r"ABI (\d+\.\d+)", tenon("--version").stdout).group(1)


def build(folder, kind, tables, inner, macro):
    entries, sets, table = "", "", ""
    for name, (type_, header, needed, promise) in tables.items():
        entries += f'static {type_} one_{name} = {{.base.size = sizeof({type_}), .base.name = "{promise.split(":")[1].split("@")[0]}", {VALUES.get(type_, "")}}};\n'
        entries += f"static const {type_} *const all_{name}[] = {{&one_{name}}};\n"
        table += f", .{name} = all_{name}, .n_{name} = 1"
        sets += "".join(f"    MEMBER(one_{name}, {type_}, {m}, {v or 'code'})\n" for m, v in needed.items())
        sets += "".join(f"    MORE(one_{name}, {type_}, {m})\n" for m in members(type_, header) if m not in needed)
    for name, (type_, header, needed, of) in inner.items():
        size = ".size = sizeof(tnk_codegen)" if type_ == "tnk_codegen" else "0"
        entries += f"static {type_} one_{name} = {{{size}}};\n"
        sets += f"    one_{of}.{name} = &one_{name};\n"
        sets += "".join(f"    MEMBER(one_{name}, {type_}, {m}, {v or 'code'})\n" for m, v in needed.items())
    os.makedirs(path(folder), mode=0o755)
    os.chmod(path(folder), 0o755)
    source = write(f"{folder}/entries.c", SOURCE % (entries, sets, f'{macro}(entries, "1.0", "MIT-0", "for tests"{table});'))
    r = subprocess.run([*shlex.split(os.environ.get("CC") or "cc"), "-std=gnu17", "-w", "-shared", "-fPIC", "-fvisibility=hidden", f"-I{SRC}/include",
                        f"-I{BUILD}/include", source, "-o", path(folder) + "/entries.so"], capture_output=True, text=True)
    check(r.returncode == 0, f"the {kind} plugin compiles", r)
    write(f"{folder}/entries.plugin", MANIFEST.format(ABI, kind, "\n    ".join(t[3] for t in tables.values())))
    for f in os.listdir(path(folder)):
        os.chmod(os.path.join(path(folder), f), 0o644)
    return os.path.join(path(folder), "entries.so")


for folder, kind, tables, inner, macro in (("c", "compiler", COMPILER, INNER, "TN_PLUGIN"), ("r", "runtime", RUNTIME, {}, "TNR_PLUGIN")):
    module = build(folder, kind, tables, inner, macro)
    r = tenon("check-plugin", module)
    check(r.returncode == 0 and "may be installed" in r.stdout, f"the smallest entries of a {kind} plugin", r)
    for name, (type_, header, needed, _) in (tables | inner).items():
        known = members(type_, header)
        for m in needed:
            check(m in known, f"{type_}.{m} is found in {header}")
            if m not in FREE:
                r = tenon("check-plugin", module, env={"ENTRIES_WITHOUT": f"{type_}.{m}"})
                refused(f"{type_} without {m}", r, "entries", m, "hint:", type_, header, status=(1,))
        for m, said in known.items():
            if m not in needed and m not in FREE:
                check(said, f"{header} says that {type_}.{m} may be left out")

# what goes together
for with_, lacks in (("tn_evaluator.prepare", "call"), ("tnr_driver.stream_new", "stream_free"), ("tnr_driver.peer_copy", "peer"),
                     ("tnr_driver.copy_start", "event_done")):
    r = tenon("check-plugin", path("r" if with_.startswith("tnr") else "c") + "/entries.so", env={"ENTRIES_WITH": with_})
    refused(with_ + " alone", r, "`" + lacks + "`", status=(1,))
done()
