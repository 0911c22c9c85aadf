#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `make lint` says of targets' names in core and kit: a decision by one belongs to the target, or to an attribute of it.

    .ci/targets.py SRCDIR

In kit, so are the builtins of one machine's instructions in emitted source: they are a dialect's. Names are the backends' folders, the kinds that their descriptors list and the dialects that manifests promise. A text of the code in core/
and kit/ that is one of them is an error; comments, and texts of many words (messages, examples), may say them. core/text reads and
prints what others write, whose words these are.
"""
import glob
import os
import re
import sys

TOP = sys.argv[1]
# file, text: why it may stand there
ALLOWED = {
    ("core/base/schema.c", "cpu"): "the setting default_target, which a site changes",
    ("kit/lower/fallback_kernels.c", '\\"cpu\\"'): "the usual value of an option",
}
TEXT = re.compile(r'/\*.*?\*/|//[^\n]*|"((?:[^"\\\n]|\\.)*)"', re.S)


MACHINE = re.compile(r"__builtin_(ia32|neon|arm|ppc)_|__AVX|__SSE|__F16C__|__ARM_")


def names():
    found = {os.path.basename(d) for d in glob.glob(os.path.join(TOP, "backends", "*")) if os.path.isdir(d)}
    for path in glob.glob(os.path.join(TOP, "backends", "*", "*.c")):
        for row in re.findall(r"\bconst char \*const kinds\[\] = \{(.*?)\}", open(path).read(), re.S):
            found |= {n for n in re.findall(r'"([a-z_]+)"', row) if not "." in n}
    for path in glob.glob(os.path.join(TOP, "*", "*", "*.plugin")):
        found |= set(re.findall(r"\bdialect:(\w+)", open(path).read()))
    return (found | {"llvm", "adreno", "mali", "rocm"}) - {"null"}  # null is a word of JSON's too


def main():
    known, bad = names(), 0
    for folder in ("core", "kit"):
        for root, _, files in os.walk(os.path.join(TOP, folder)):
            for name in sorted(files):
                path = os.path.relpath(os.path.join(root, name), TOP)
                if not name.endswith((".c", ".h", ".def")) or path.startswith("core/text/"):
                    continue
                source = open(os.path.join(TOP, path)).read()
                for m in TEXT.finditer(source):
                    text = m.group(1)
                    if text and folder == "kit" and MACHINE.search(text):
                        bad = 1
                        print(f"{path}:{source.count(chr(10), 0, m.start()) + 1}: instructions of one machine; they belong to a dialect")
                    if text is None or text.strip('\\"').split(".")[0] not in known or (path, text) in ALLOWED:
                        continue
                    bad = 1
                    print(f"{path}:{source.count(chr(10), 0, m.start()) + 1}: the name \"{text}\" of a target; what differs "
                          "between targets is an attribute, a hook or the target's own pass")
    return bad


sys.exit(main())
