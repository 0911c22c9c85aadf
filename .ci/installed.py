#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installed headers, and the pages for those who have an installed Tenon only, name no file that is not installed.

Usage: installed.py SRCDIR. A header may name headers (`tenon/core/op.h`), pages (docs/safety.md or safety.md) and templates of
`tenon new-plugin` (the backend null). A page that says that it goes by an installed tree ("## Where it is", or in PAGES) may name
what it writes itself, too; of the sources it speaks as "the sources".
"""
import os
import re
import sys

SRC = sys.argv[1]
PAGES = {"porting.md", "embedding.md", "configuration.md", "text-form.md", "generate.md", "ahead-of-time.md", "safety.md"}
FOLDERS = "core|kit|runtime|lm|plugins|backends|tools|tests|bench|conf|debian|research|shared|examples|\\.ci"
PATH = re.compile(r"(?<![\w./~$*}>@-])(?:%s)/[\w./-]*\w(?:\.\w+)?" % FOLDERS)
PAGE = re.compile(r"(?<![\w/.-])(?:docs/)?([A-Za-z][\w-]*\.md)\b")
HEADER = re.compile(r"\btenon/(?:base|core|kit|rt|lm)/[\w./]+\.(?:h|def)\b")
NOWHERE = re.compile(r"\bDESIGN\b(?: section \d+)?|\bSTYLE\.md\b")
MINE = re.compile(r"^    (?!\$ (?:tenon|make|cd|export)).*$", re.M)  # what a page writes into files, and outputs

pages = set(re.findall(r"docs/([\w-]+\.md)", open(os.path.join(SRC, "docs/local.mk"), encoding="utf-8").read()))
headers = {os.path.relpath(os.path.join(at, f), os.path.join(SRC, "include"))
           for at, _, names in os.walk(os.path.join(SRC, "include/tenon")) for f in names}
bad = 0


def look(path, text):
    global bad
    named = [(m.start(), m.group()) for m in PATH.finditer(text)] + [(m.start(), m.group()) for m in NOWHERE.finditer(text)]
    named += [(m.start(), m.group()) for m in PAGE.finditer(text) if m.group(1) not in pages and m.group(1) not in ("README.md", "BACKEND.md")]
    named += [(m.start(), m.group()) for m in HEADER.finditer(text) if m.group() not in headers]
    for at, what in sorted(named):
        line = text[text.rfind("\n", 0, at) + 1:text.find("\n", at)]
        if "in the sources" in line or "of the sources" in line:
            continue
        print(f"{path}:{text.count(chr(10), 0, at) + 1}: names {what}, which is not installed")
        bad += 1


for h in sorted(headers):
    with open(os.path.join(SRC, "include", h), encoding="utf-8") as f:
        look("include/" + h, f.read())
for p in sorted(pages):  # the reference pages are made by the build
    if not os.path.exists(os.path.join(SRC, "docs", p)):
        continue
    with open(os.path.join(SRC, "docs", p), encoding="utf-8") as f:
        page = f.read()
    if p in PAGES or "\n## Where it is" in page:
        look("docs/" + p, MINE.sub("", page))
sys.exit(bad > 0)
