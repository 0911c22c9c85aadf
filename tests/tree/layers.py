#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An arrow of the design means "may include and link"; nothing points the other way."""
import os
import re
import subprocess
import sys

src = os.environ.get("top_srcdir", ".")
build = os.environ.get("top_builddir", "build")

# Folder (longest first) -> the layers whose headers it may include.
MAY = [
    ("core/base", {"base"}),
    ("core", {"base", "core"}),
    ("kit", {"base", "core", "kit"}),
    ("runtime", {"base", "rt"}),
    ("lm", {"base", "rt", "lm"}),
    ("plugins/interp", {"base", "core", "kit", "rt"}),
    ("plugins", {"base", "core", "kit"}),
    ("backends", {"base", "core", "kit"}),
    ("include/tenon/base", {"base"}),
    ("include/tenon/core", {"base", "core"}),
    ("include/tenon/kit", {"base", "core", "kit"}),
    ("include/tenon/rt", {"base", "rt"}),
    ("include/tenon/lm", {"base", "rt", "lm"}),
]
DEVICE = {"base", "rt"}
bad = []


def device_sources():
    """The files of modules called NAME_rt: the device halves."""
    found = set()
    folders = [step for top in ("backends", "plugins", "kit/vendor") for step in os.walk(os.path.join(src, top))]
    for dir_, _, files in folders:
        if "local.mk" not in files:
            continue
        text = open(os.path.join(dir_, "local.mk")).read().replace("\\\n", " ")
        lists = dict(re.findall(r"^(\w+)\s*=(.*)$", text, re.M))
        for m in re.finditer(r"^\w+_rt_la_SOURCES\s*\+?=(.*)$", text, re.M):
            found.update(re.sub(r"\$\((\w+)\)", lambda v: lists.get(v.group(1), ""), m.group(1)).split())
    return found


def without_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", lambda m: "\n" * m.group().count("\n"), text, flags=re.S)


def check_file(path, device):
    layers = next((may for folder, may in MAY if path.startswith(folder + "/")), None)
    if layers is None:
        return 0
    if path in device:
        layers = DEVICE
    code = without_comments(open(os.path.join(src, path), encoding="utf-8").read())
    for n, line in enumerate(code.split("\n"), 1):
        m = re.match(r'\s*#\s*include\s*[<"]tenon/(\w+)/', line)
        if m and m.group(1) not in layers:
            bad.append(f"{path}:{n}: may not include the layer {m.group(1)}")
        if layers == DEVICE and not path.startswith("include/"):
            for word in re.findall(r"\b(?:tn|tnk)_[a-z]\w*", re.sub(r'"(?:\\.|[^"\\])*"', '""', line)):
                bad.append(f"{path}:{n}: uses {word}, which is of the compiler")
    return 1


def undefined(path):
    out = subprocess.run(["nm", "-D", "--undefined-only", path], capture_output=True, text=True)
    return [line.split()[-1] for line in out.stdout.splitlines() if line.split()]


def check_binary(path, prefixes):
    if not os.path.exists(path):
        return
    for symbol in undefined(path):
        if symbol.startswith(prefixes):
            bad.append(f"{path}: links {symbol}")


def main():
    device, n = device_sources(), 0
    for top in ("core", "kit", "runtime", "lm", "plugins", "backends", "include"):
        for dir_, _, files in os.walk(os.path.join(src, top)):
            for f in sorted(files):
                if f.endswith((".c", ".h")):
                    n += check_file(os.path.relpath(os.path.join(dir_, f), src), device)
    if n < 20:
        bad.append(f"only {n} files found: the test looks at the wrong place")
    if not any(p.endswith("device.c") for p in device):
        bad.append("no device half found in backends/*/local.mk")
    check_binary(os.path.join(build, "core/base/.libs/libtenon-base.so"), ("tn_", "tnk_", "tnr_"))
    check_binary(os.path.join(build, "core/.libs/libtenon.so"), ("tnk_", "tnr_"))
    check_binary(os.path.join(build, "kit/.libs/libtenon-kit.so"), ("tnr_",))
    check_binary(os.path.join(build, "runtime/.libs/libtenon-rt.so"), ("tn_", "tnk_", "tnl_"))
    check_binary(os.path.join(build, "lm/.libs/libtenon-lm.so"), ("tn_", "tnk_"))
    stage = os.path.join(build, "plugins-stage")
    for f in sorted(os.listdir(stage) if os.path.isdir(stage) else []):
        if f.endswith("_rt.so"):
            check_binary(os.path.join(stage, f), ("tn_", "tnk_"))
    for line in bad:
        print(line)
    return 1 if bad else 0


sys.exit(main())
