#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No fact is read from the name of an operator or a variable.

Usage: names.py SRCDIR. An operator is told by its id (tn_intrin_of, tn_structural_of, ids in a plugin's own tables) or, by
those who do not own it, with its whole name through tn_is_call_to. Comparisons of names are for what finds things by a name
that a person wrote: FINDERS.
"""
import os
import re
import sys

FOLDERS = "core kit runtime plugins backends".split()
COMPARES = r"\bstr(?:n?cmp|n?casecmp|str)\((?:[^()]|\([^()]*\))*"
RULES = [
    (re.compile(COMPARES + r"base\.name"), "an operator's or an entry's name is compared"),
    (re.compile(COMPARES + r"infer_op_name"), "an operator's name is compared (infer_op gives its id)"),
    (re.compile(r"infer_op_name\([^()]*\)\["), "a letter of an operator's name is read"),
    (re.compile(COMPARES + r"\bn->op\b"), "an ONNX operator's name is compared (rows of tables say what it is)"),
    (re.compile(r"\bstr(?:n?cmp|str)\(tn_var_name\([^;]*\"|\bstr(?:str|ncmp)\(tn_var_name"), "a variable's name is read"),
]
FINDERS = {
    "core/build_graph.c": "tn_is_call_to",
    "core/equal.c": "the same operator in two contexts",
    "core/pass_run.c": "passes that options name",
    "core/registry.c": "entries by their names",
    "core/text": "the text form",
    "kit/driver/import.c": "an importer that two plugins provide",
    "kit/driver/pipeline.c": "targets that settings name",
    "kit/vendor/onelib/compile.c": "the pattern that a composite function names",
    "kit/driver/target.c": "kinds of targets that a module names",
    "kit/lower/fallback_kernels.c": "the target that an attribute names",
    "kit/pattern/match.c": "patterns name operators",
    "kit/schedule/apply_default_schedule.c": "rules that settings name",
    "kit/tune/search.c": "rules that a record names",
    "backends/opencl/clml_payload.c": "patterns that a composite function names",
    "backends/opencl/clml_rt.c": "the driver behind a device",
    "backends/opencl/clml_cost.c": "operators in a report",
    "plugins/dnnl/dnnl_payload.c": "patterns that a composite function names",
    "plugins/llm/pipeline_cut.c": "the parameter that upstream's pass looks for",
    "plugins/onnx/loop.c": "Loop and Scan share their import",
    "plugins/transform/fuse_ops_by_pattern.c": "patterns that an argument names",
    "plugins/transform/legalize_ops.c": "operators that an argument names",
    "runtime": "drivers and loaders by their names",
}


def main():
    top, bad = sys.argv[1], 0
    unused = set(FINDERS)
    for folder in FOLDERS:
        for at, _, names in os.walk(os.path.join(top, folder)):
            for name in sorted(names):
                path = os.path.relpath(os.path.join(at, name), top)
                if not name.endswith((".c", ".h")):
                    continue
                finder = next((f for f in FINDERS if path == f or path.startswith(f + "/")), None)
                with open(os.path.join(top, path), encoding="utf-8") as f:
                    text = f.read()
                for rule, what in RULES:
                    for m in rule.finditer(text):
                        if finder:
                            unused.discard(finder)
                            continue
                        print(f"{path}:{text.count(chr(10), 0, m.end()) + 1}: {what}")
                        bad = 1
    for f in sorted(unused):
        print(f".ci/names.py: {f} compares no names any more")
        bad = 1
    return bad


sys.exit(main())
