#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files that comments and pages name are there.

Usage: citations.py SRCDIR BUILDDIR. Looks in sources, scripts and pages for paths that begin with a folder of the tree
(`core/registry.c`) and for public headers (`tenon/core/op.h`), and in comments and pages for pages, C files and shell scripts by
their name alone (`abi.md`). Words in capitals stand for something else (NAME.md).
"""
import os
import re
import sys

SRC, BUILD = sys.argv[1:3]
FOLDERS = "include core kit runtime lm plugins backends tools tests bench examples docs conf debian research".split()
TEXTS = re.compile(r"\.(c|h|def|py|sh|md|mk|am|ac|map|ini|in)$")
PATH = re.compile(r"(?<![\w./~$*}>@-])((?:%s|tenon/(?:base|core|kit|rt|lm))/[\w./-]*\w\.(?:c|h|py|sh|md|def|mk|txt|map|in|plugin|ac|am))(?![\w/*{-])" % "|".join(FOLDERS))
FOLDER = re.compile(r"(?<![\w./~$*}>@-])((?:%s)(?:/\w[\w-]*)+)/(?![\w*{$<.\\-])" % "|".join(FOLDERS))
NAME = re.compile(r"(?<![\w./~$*}>@<-])([A-Za-z][\w-]*\.(?:c|md|sh))(?![\w./*{(-])")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
SHELL = re.compile(r"(?:^|\s)#[^\n]*")
PLACE = re.compile(r"(^|[/_.])[A-Z]+([/_.]|$)|PassName")
# what an author of a plugin writes, and a project of that name
OTHERS = {"acme.c", "band.c", "powers.c", "rule.c", "tests/golden.sh", "llama2.c"}


def ours(at, folder):
    return not folder.startswith(".") and not os.path.exists(os.path.join(at, folder, "config.status")) and folder not in ("autom4te.cache", "__pycache__")


def files(top):
    for at, folders, names in os.walk(top):
        folders[:] = [f for f in folders if ours(at, f)]
        for n in names:
            yield os.path.relpath(os.path.join(at, n), top)


HERE = set(files(SRC))
MADE = set(files(BUILD)) if os.path.isdir(BUILD) else set()
NAMES = {os.path.basename(f) for f in HERE | MADE}


def there(path, citing):
    if path in HERE or path in MADE or "include/" + path in HERE or "include/" + path in MADE:
        return True
    # below the citing file's folder or one around it: a plugin's own tests/before.py
    folder = os.path.dirname(citing)
    while folder:
        if os.path.join(folder, path) in HERE:
            return True
        folder = os.path.dirname(folder)
    return False


def cited(name, text):
    """(place, what) of each file that the text names and that is not there."""
    for m in PATH.finditer(text):
        if not there(m.group(1), name) and not PLACE.search(m.group(1)) and m.group(1) not in OTHERS:
            yield m.start(), m.group(1)
    for m in FOLDER.finditer(text):
        if not any(os.path.isdir(os.path.join(top, m.group(1))) for top in (SRC, BUILD)) and not PLACE.search(m.group(1)):
            yield m.start(), m.group(1) + "/"
    parts = [(0, text)] if name.endswith(".md") else []
    if name.endswith((".c", ".h", ".def")):
        parts = [(m.start(), m.group(0)) for m in COMMENT.finditer(text)]
    if name.endswith((".py", ".sh", ".mk", ".am", ".ac")):
        parts = [(m.start(), m.group(0)) for m in SHELL.finditer(text)]
    for at, part in parts:
        for m in NAME.finditer(part):
            if m.group(1) not in NAMES and m.group(1) not in OTHERS and not PLACE.search(m.group(1)):
                yield at + m.start(), m.group(1)


bad = 0
for f in sorted(HERE):
    if not TEXTS.search(f) or f == "Makefile.in" or f.startswith("build-aux/") or "/testdata/" in f:
        continue
    with open(os.path.join(SRC, f), encoding="utf-8", errors="replace") as h:
        text = h.read()
    for at, what in cited(f, text):
        print(f"{f}:{text.count(chr(10), 0, at) + 1}: names {what}, which is not there")
        bad += 1
sys.exit(bool(bad))
