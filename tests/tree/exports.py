#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the libraries export is a list, LIBRARY.map beside each library's sources: it holds what the public headers mark
with TNB_EXPORT, and the libraries export what it holds. Usage: exports.py [--write] (puts what is new into the newest node)"""
import os
import re
import subprocess
import sys

SRC, BUILD = os.environ.get("top_srcdir", "."), os.environ.get("top_builddir", "build")
sys.path.insert(0, os.path.join(SRC, "tests", "abi"))
from layout import functions  # noqa: E402

LIBRARIES = {"base": "core/base/libtenon-base", "core": "core/libtenon", "kit": "kit/libtenon-kit", "rt": "runtime/libtenon-rt",
             "lm": "lm/libtenon-lm"}
# Exported without a public header: what another library of Tenon or a test uses, and each library's version.
PRIVATE = {"tn_apply_rules", "tn_arith_rules", "tn_n_arith_rules", "tn_version", "tnk_version"}
bad = []


def listed(path):
    """The names of a list, those of the newest node last."""
    text = re.sub(r"#[^\n]*", "", open(path).read())
    return [re.findall(r"\b(tn[bklr]?_\w+);", node) for node in re.findall(r"\bTENON_[\d.]+ \{(.*?)\}", text, re.S)]


def write(path, names):
    head, last = open(path).read().rsplit("global:\n", 1)
    newest = sorted(set(listed(path)[-1]) | names)
    rest = last[last.index("local:"):] if "local:" in last else last[last.index("}"):]
    open(path, "w").write(head + "global:\n" + "".join(f"    {n};\n" for n in newest) + rest)


for layer, library in LIBRARIES.items():
    path = os.path.join(SRC, library + ".map")
    in_map = [n for node in listed(path) for n in node]
    in_headers = set(functions(os.path.join(SRC, "include"), layer))
    missing = in_headers - set(in_map)
    if missing and "--write" in sys.argv:
        write(path, missing)
        continue
    bad += [f"{library}.map lacks {n}, which a public header exports: put it into the newest node, and a line into docs/abi.md"
            for n in sorted(missing)]
    bad += [f"{library}.map: {n} stands there twice" for n in sorted({n for n in in_map if in_map.count(n) > 1})]
    bad += [f"{library}.map: {n} is in no public header" for n in sorted(set(in_map) - in_headers - PRIVATE)]
    folder, name = os.path.split(library)
    so = os.path.join(BUILD, folder, ".libs", name + ".so")
    if not os.path.exists(so):
        print(f"{so} is not there (only static libraries are built)")
        continue
    symbols = subprocess.run(["nm", "-D", "--defined-only", so], capture_output=True, text=True, check=True).stdout
    exported = {m.group(1): m.group(2) for m in re.finditer(r" [TDRBV] (\w+)(@@\w[\w.]*)?", symbols)}
    bad += [f"{name}.so does not export {n}, which its list has" for n in sorted(set(in_map) - set(exported))]
    bad += [f"{name}.so exports {n}, which its list does not have" for n in sorted(set(exported) - set(in_map))]
    bad += [f"{name}.so: {n} has no version" for n in sorted(n for n, version in exported.items() if not version)]
    print(f"{library}: {len(in_map)} names")
for b in bad:
    print(b)
sys.exit(bool(bad))
