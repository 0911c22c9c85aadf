# SPDX-License-Identifier: Apache-2.0
"""What the pages and the examples of manual pages name is there: files, folders, and for every `tenon ...` line the subcommand, its options, and what it lists or
shows; such lines without place holders are run. Lines that begin with `$` are run elsewhere (tests/vendor/field.sh, tests/tools/pages.py)."""
import glob
import json
import os
import re
import shlex
import subprocess
import sys

TENON, (SRC, BUILD) = os.environ["TENON"], (os.path.realpath(os.environ[v]) for v in ("top_srcdir", "top_builddir"))
FILE = re.compile(r"[A-Za-z0-9_.][\w.+-]*(?:/[\w.+*{},-]+)*/?\*?")
SUFFIX = re.compile(r"\.(c|h|py|sh|md|def|ini|mk|txt|m4|pc|plugin|in)$")
bad, paths, commands, ran = [], 0, 0, 0


def run(*args):
    return subprocess.run([TENON, *args], capture_output=True, text=True, errors="replace", timeout=600)


def ours(at, folder):
    """Not hidden, and not what another build has made."""
    return not folder.startswith(".") and not os.path.exists(os.path.join(at, folder, "config.status"))


def every_file():
    for root in (SRC, BUILD):
        for at, folders, files in os.walk(root):
            folders[:] = [f for f in folders if ours(at, f) and f != "autom4te.cache"]
            for f in files + folders:
                yield "/" + os.path.relpath(os.path.join(at, f), root)


THERE = set(every_file())
NAMES = {os.path.basename(f) for f in THERE}
TAILS = {"/".join(p[i:]) for p in (f.split("/") for f in THERE) for i in range(1, len(p))}


def braces(text):
    m = re.search(r"\{([^{}]*)\}", text)
    return [text] if not m else [t for w in m.group(1).split(",") for t in braces(text[:m.start()] + w + text[m.end():])]


def is_there(text, page):
    text = text.rstrip("/")
    if "*" in text:
        return any(glob.glob(os.path.join(d, text)) for d in (SRC, BUILD, os.path.dirname(page)))
    return os.path.exists(os.path.join(os.path.dirname(page), text)) or text in TAILS


def check_path(where, text, page):
    """`text` in backticks: does it look like a file of this tree, and is it one?"""
    global paths
    if not FILE.fullmatch(text) or re.search(r"[A-Z]{2}[A-Z]", text.split("/")[0].split(".")[0]):
        return
    if re.search(r"(^|/)(NAME|DIR|MODEL|FILE|TARGET)\b|\b(NAME|BACKEND|KIND)\b|\d\.\d", text):
        return
    if "/" in text and not SUFFIX.search(text) and text.split("/")[0] not in FOLDERS:
        return  # a fraction, a tag such as nvidia/nvidia-t4, a data type
    if "/" not in text and (not SUFFIX.search(text) or text.startswith(".")):
        return
    if re.match(r"(\d|e\.g)", text) or OTHERS.fullmatch(text) or text.startswith("tenon/backends"):
        return
    paths += 1
    if not all(is_there(t, page) for t in braces(text)):
        bad.append(f"{where}: there is no `{text}`")


FOLDERS = {f for f in os.listdir(SRC) if os.path.isdir(os.path.join(SRC, f)) and not f.startswith(".")} - {"build"}
# Files that the reader makes, a site has, or a test leaves.
OTHERS = re.compile(r"(model|out|before|after)\.(py|onnx)|site\.ini|(acme|mychip)[/.].*|(targets|profiles|conf\.d)/\*\.ini|.*\.log|.*/X\.Y.*|docs/reference/.*|.*/PassName.*")

help_of, words, examples = {}, {}, {}
top = run("--help").stdout
subcommands = set(re.findall(r"^  ([a-z][a-z-]+) ", top, re.M))
for c in subcommands:
    text = run(c, "--help").stdout
    examples[c] = re.findall(r"^  (tenon .*)", text, re.M)
    text = text.split("\nExamples:")[0]
    help_of[c] = set(re.findall(r"--[a-z][a-z-]*", text)) | set(re.findall(r"(?<![\w-])-[a-zA-Z](?![\w-])", text))
    usage = text.split("\n")[0]
    words[c] = set(re.findall(r"[a-z-]+", usage.split("[options]")[1])) if c in ("list", "show") else None


def check_command(where, line, typed=False):
    global commands, ran
    line = re.split(r" {3,}|(?<!\S)[|>](?!\S)|(?<!\S)2?>", line)[0]  # what stands behind it explains it
    try:
        given = shlex.split(line.replace("...", " "))[1:]
    except ValueError:
        return bad.append(f"{where}: quotes do not match: {line}")
    if not given or re.search(r"[A-Z]{3}", given[0]):
        return None
    commands += 1
    c = given[0]
    if c.startswith("--"):
        return None if c in ("--help", "--version") else bad.append(f"{where}: tenon has no option {c}")
    if c not in subcommands:
        return bad.append(f"{where}: tenon has no subcommand '{c}'")
    for w in given[1:]:
        option = re.match(r"\[?(--[a-z][a-z-]*|-[a-zA-Z]$)", w)
        if option and option.group(1) not in help_of[c]:
            bad.append(f"{where}: tenon {c} has no option {option.group(1)}")
    if words[c] and len(given) > 1 and not given[1].startswith("-"):
        for w in given[1].split("|"):
            if w not in words[c] and not re.search("[A-Z]", w):
                bad.append(f"{where}: tenon {c} knows no '{w}'")
    harmless = c == "list" and len(given) > 1 or c == "show" and (len(given) > 2 or given[-1].endswith("s") or given[-1] == "config")
    if harmless and not typed and not re.search(r"[A-Z]{3}|[\[\]|]|\.(ini|tno|onnx|gguf|jsonl)|acme|mychip", line):
        ran += 1
        r = run(*given)
        if r.returncode != 0:
            bad.append(f"{where}: `{line}` fails: {r.stderr.strip()[:300]}")
    return None


def check_page(page):
    name = os.path.relpath(page, SRC)
    for n, line in enumerate(open(page, encoding="utf-8"), 1):
        where = f"{name}:{n}"
        quoted = re.findall(r"(?<!`)`([^`]+)`(?!`)", line)
        code = re.match(r"    (?:\$ )?(?:build/tools/)?(tenon [a-z-].*)", line)
        for q in quoted:
            if re.match(r"tenon [a-z-]", q):
                check_command(where, q)
            else:
                check_path(where, q, page)
        if code and not quoted:
            check_command(where, code.group(1), line.startswith("    $ "))


pages = [os.path.join(SRC, "README.md"), *sorted(glob.glob(os.path.join(SRC, "docs", "*.md")))]
for at, folders, files in os.walk(SRC):
    folders[:] = [f for f in folders if ours(at, f)]
    pages += [os.path.join(at, "README.md")] if "README.md" in files and at != SRC else []
for p in pages:
    check_page(p)
said = dict(re.findall(r"^\| `(\w+)` \| ([^|]*)", open(pages[0], encoding="utf-8").read(), re.M))
for t in json.loads(run("list", "targets", "--json").stdout):  # README's table of targets is true of the program
    if t["name"] in said or t["name"] == t["kind"]:
        compiles = "generates no kernels" not in t["today"]
        if said.get(t["name"], "").startswith("compiles") != compiles:
            bad.append(f"README.md: {t['name']}: '{said.get(t['name'], '')}', but list targets says '{t['today']}'")
HEADINGS = ["What it does", "What it does not do yet", "Files", "Try it", "Make your own"]
backends = sorted(glob.glob(os.path.join(SRC, "backends", "*", "README.md")))
for p in backends:  # whoever knows one folder knows all
    text = open(p, encoding="utf-8").read()
    if re.findall(r"^## (.*)", text, re.M) != HEADINGS or text.count("\n") > 40:
        bad.append(f"{os.path.relpath(p, SRC)}: at most 40 lines under the headings {HEADINGS}")
for c in sorted(subcommands - {"help"}):
    if not examples[c] or not any(e.startswith(f"tenon {c}") for e in examples[c]):
        bad.append(f"tenon help {c}: no example")
    for e in examples[c]:
        check_command(f"tenon help {c}", e)
    page = run("help", c, "--man").stdout
    bad += [f"manual page of {c}: no {h}" for h in ("NAME", "SYNOPSIS", "DESCRIPTION", "COMMON OPTIONS", "EXAMPLES", "EXIT STATUS", "SEE ALSO")
            if f".SH {h}\n" not in page]
manual = run("help", "--man").stdout
read = set()
for at, folders, files in os.walk(SRC):
    folders[:] = [f for f in folders if ours(at, f) and os.path.relpath(at, SRC).split("/")[0] in (".", "core", "kit", "runtime", "tools")]
    for f in files:
        if f.endswith(".c"):
            read |= set(re.findall(r'tnb_env\("(\w+)"\)', open(os.path.join(at, f), encoding="utf-8").read()))
read -= {"OCL_ICD_VENDORS"}  # the OpenCL loader's
told = set(re.findall(r"\b(?:TENON|XDG)_\w+|\bCC\b|\bTMPDIR\b|\bHOME\b|\bPATH\b|\bTERM\b", manual))
bad += [f"tenon(1) does not tell of the variable {v}" for v in sorted(read - told)]
if len(read) < 5:
    bad.append(f"only {read} read")
print(f"{len(pages)} pages: {paths} paths, {commands} commands, {ran} of them run")
for b in bad:
    print("FAIL", b)
if not (len(pages) > 20 and len(backends) > 4 and paths > 100 and commands > 30 and ran > 3):
    sys.exit("so little cannot be all")
sys.exit(1 if bad else 0)
