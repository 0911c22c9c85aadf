#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pages hold: their links lead somewhere, docs/README.md lists them all, and the lines that begin with `$` in docs/ahead-of-time.md,
embedding.md and text-form.md are typed into a shell and print what the page quotes. (tests/vendor/field.sh does that for the tutorials,
with an installed tree.) With a folder as argument, an installed tree's program, headers and libraries are used, else those of the build tree."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

SRC = os.path.realpath(os.environ.get("top_srcdir", os.path.join(os.path.dirname(__file__), "..", "..")))
sys.path[:0] = [os.path.join(SRC, "tests", "vendor"), os.path.join(SRC, "tests", "tools")]
os.environ.setdefault("TENON", "tenon")
os.environ.setdefault("top_srcdir", SRC)
os.environ.setdefault("top_builddir", SRC)
from tutorial import steps  # noqa: E402

PREFIX = sys.argv[1] if len(sys.argv) > 1 else None
BUILD = os.path.realpath(os.environ["top_builddir"])
RUN = ["ahead-of-time.md", "embedding.md", "text-form.md"]
failed = 0


def check(holds, what, more=""):
    global failed
    print(("ok   " if holds else "FAIL ") + what + ("" if holds else f"\n{more}"), flush=True)
    failed += not holds


# ---- links ----
def anchors(path):
    heads = re.findall(r"^#+ (.*)", open(path, encoding="utf-8").read(), re.M)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in heads}


def check_links(page):
    text = open(page, encoding="utf-8").read()
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", text)):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        path = os.path.normpath(os.path.join(os.path.dirname(page), file)) if file else page
        there = os.path.exists(path) and (not anchor or anchor in anchors(path))
        check(there, f"{os.path.relpath(page, SRC)}: the link {target} leads somewhere")


# ---- commands ----
def environment(work):
    """PATH with tenon, pkg-config and nothing of the build tree in the variables of a user of an installed one."""
    env = dict(os.environ, CC=os.environ.get("CC", "cc"), HOME=work, XDG_CACHE_HOME=os.path.join(work, "cache"), LC_ALL="C")
    bin_folder = os.path.join(work, "bin")
    os.mkdir(bin_folder)
    if PREFIX:
        for v in ("TENON_PLUGIN_PATH", "TENON_SYSCONFDIR", "TENON_DATADIR", "LD_LIBRARY_PATH"):
            env.pop(v, None)
        pc = glob.glob(os.path.join(PREFIX, "**", "tenon-rt.pc"), recursive=True)
        env["PKG_CONFIG_PATH"] = os.path.dirname(pc[0]) if pc else ""
        env["DOC"] = os.path.dirname(glob.glob(os.path.join(PREFIX, "**", "doc", "**", "embedding.md"), recursive=True)[0])
        os.symlink(os.path.join(PREFIX, "bin", "tenon"), os.path.join(bin_folder, "tenon"))
    else:
        env["DOC"] = os.path.join(work, "doc")  # as it is installed
        for e, names in (("embed", "*"), ("digits", "digit*.[no]*")):
            os.makedirs(os.path.join(env["DOC"], "examples", e))
            for f in glob.glob(os.path.join(SRC, "examples", e, names)):
                shutil.copy(f, os.path.join(env["DOC"], "examples", e))
        os.symlink(os.environ["TENON"], os.path.join(bin_folder, "tenon"))
        lib = [os.path.join(BUILD, d, ".libs") for d in ("runtime", os.path.join("core", "base"))]
        answers = {"--cflags": f"-I{SRC}/include -I{BUILD}/include", "--libs": " ".join(f"-L{d}" for d in lib) + " -ltenon-rt -ltenon-base",
                   "--variable=libdir": lib[0]}
        shim = "".join(f"--x{k}) printf '%s\\n' '{v}' ;;\n" for k, v in answers.items())
        with open(os.path.join(bin_folder, "pkg-config"), "w") as f:
            f.write("#!/bin/sh\ncase \"$*\" in *--libs*tenon-rt-cpu*)\n"
                    f"    echo -L{BUILD}/runtime -ltenon-rt-cpu -linih -ljansson -lltdl -lm; exit ;;\nesac\nfor a; do case --x$a in\n" + shim + "esac; done\n")
        os.chmod(f.name, 0o755)
    env["PATH"] = bin_folder + ":" + env["PATH"]
    for v in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "CFLAGS"):
        env.pop(v, None)
    if os.environ.get("SANITIZE"):
        env["CFLAGS"] = os.environ["SANITIZE"]
    return env


def line_matches(quoted, line):
    return re.fullmatch(".*".join(re.escape(p) for p in quoted.split("...")), line) is not None


def matches(quoted, lines):
    """A line `...` alone stands for any number of lines."""
    if not quoted:
        return not lines
    if quoted[0].strip() == "...":
        return any(matches(quoted[1:], lines[i:]) for i in range(len(lines) + 1))
    return bool(lines) and line_matches(quoted[0], lines[0]) and matches(quoted[1:], lines[1:])


def run_page(page):
    work = tempfile.mkdtemp(prefix="tenon-page-")
    env = environment(work)
    folder = os.path.join(work, "here")
    os.mkdir(folder)
    n = 0
    for _, at, command, quoted in steps(page):
        r = subprocess.run(["sh", "-c", command], cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                           errors="replace", timeout=300)
        while quoted and not quoted[-1]:
            quoted.pop()
        lines = [x.rstrip() for x in r.stdout.split("\n")]
        while lines and not lines[-1]:
            lines.pop()
        n += 1
        name = f"{os.path.basename(page)}:{at}: {command.splitlines()[0]}"
        check(r.returncode == 0 and (matches(quoted, lines) if quoted else True), name, f"  exit status {r.returncode}\n" + r.stdout)
    check(n > 4, f"{os.path.basename(page)}: {n} commands")
    shutil.rmtree(work)


if not PREFIX:
    pages = sorted(glob.glob(os.path.join(SRC, "docs", "*.md")))
    for p in [os.path.join(SRC, "README.md"), *pages, *glob.glob(os.path.join(SRC, "*", "README.md")), *glob.glob(os.path.join(SRC, "*", "*", "README.md"))]:
        check_links(p)
    listed = open(os.path.join(SRC, "docs", "README.md"), encoding="utf-8").read()
    installed = open(os.path.join(SRC, "docs", "local.mk"), encoding="utf-8").read()
    for p in pages:
        name = os.path.basename(p)
        if name != "README.md":
            check(f"`{name}`" in listed, f"docs/README.md lists {name}")
        check(f"docs/{name}" in installed, f"docs/local.mk installs {name}")
    for name in re.findall(r"`([a-z-]+\.md)`", listed):
        check(f"docs/{name}" in installed, f"{name} of docs/README.md is there")
for p in RUN:
    run_page(os.path.join(SRC, "docs", p))
print(f"{failed} failed")
sys.exit(1 if failed else 0)
