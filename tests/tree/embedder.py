#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An embedder's first hour with an installed tree and nothing else: the example as it is installed, in C, in C++ and with the static library;
a program with memory and threads of its own (tests/tree/embedder.c); an artifact of another version.

    embedder.py PREFIX
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

PREFIX = os.path.realpath(sys.argv[1])
SRC = os.path.realpath(os.environ.get("top_srcdir", os.path.join(os.path.dirname(__file__), "..", "..")))
CC = os.environ.get("CC", "cc").split()
CXX = os.environ.get("CXX17") or "g++"
OWN_CODE = 300 << 10  # bytes of Tenon's own in a program with the static library

work = tempfile.mkdtemp(prefix="tenon-embedder-")
failed = 0
env = {k: v for k, v in os.environ.items() if not k.startswith(("TENON", "LD_", "MAKE", "MFLAGS", "PKG_CONFIG"))}
pc = glob.glob(os.path.join(PREFIX, "**", "tenon-rt.pc"), recursive=True)
env.update(PKG_CONFIG_PATH=os.path.dirname(pc[0]), PATH=os.path.join(PREFIX, "bin") + ":" + env["PATH"], HOME=work, LC_ALL="C",
           XDG_CACHE_HOME=os.path.join(work, "cache"), XDG_CONFIG_HOME="/nonexistent", CC=" ".join(CC))


def check(holds, what, r=None):
    global failed
    print(("ok   " if holds else "FAIL ") + what, flush=True)
    if not holds:
        failed += 1
        if r is not None:
            print(f"  exit status {r.returncode}\n  stdout: {r.stdout[-2000:]}\n  stderr: {r.stderr[-3000:]}")


def run(*argv, folder=work):
    return subprocess.run([str(a) for a in argv], capture_output=True, text=True, errors="replace", env=env, cwd=folder, timeout=900)


def flags(*options):
    return run("pkg-config", *options).stdout.split()


def own_bytes(map_text):
    """Bytes of code and data that a linker's map has from the static library; sections that were discarded have no address."""
    total = 0
    for m in re.finditer(r"^ \.(text|rodata|data|bss)\S*\s+0x([0-9a-f]+)\s+0x([0-9a-f]+)\s+\S*libtenon-rt-cpu\.a\(", map_text, re.M):
        if int(m.group(2), 16):
            total += int(m.group(3), 16)
    return total


if not shutil.which("pkg-config"):
    print("no pkg-config: skipped")
    sys.exit(77)
example = glob.glob(os.path.join(PREFIX, "**", "examples", "embed", "embed.c"), recursive=True)
for f in glob.glob(os.path.join(os.path.dirname(example[0]), "*")):
    shutil.copy(f, work)
digits = os.path.join(os.path.dirname(os.path.dirname(example[0])), "digits")
for f in ("digits.onnx", "digit7.npy"):
    shutil.copy(os.path.join(digits, f), work)
r = run("tenon", "compile", "digits.onnx", "-o", "digits.tno")
check(r.returncode == 0, "tenon compile", r)

# ---- the example ----
programs = ["embed", "embed-static"] + (["embed-cxx"] if shutil.which(CXX) else [])
said = {}
for p in programs:
    r = run("make", "-s", p, "CFLAGS=-std=c11 -O2 -Wall -Wextra -Wpedantic -Werror", "CXXFLAGS=-O2 -Wall -Wextra -Wpedantic -Werror",
            f"CXX={CXX}", "LDFLAGS=-Wl,-Map=" + p + ".map")
    check(r.returncode == 0 and not r.stderr, f"make {p}, without a warning", r)
    r = run("./" + p, "digits.tno", "digit7.npy")
    check(r.returncode == 0 and "probabilities: tensor float32[1, 10] 0.0" in r.stdout, f"{p} answers", r)
    said[p] = r.stdout
check(len(set(said.values())) == 1, "all of them answer the same")
needed = run("readelf", "-d", "embed-static").stdout
check("libtenon" not in needed, "embed-static needs no library of Tenon's")
with open(os.path.join(work, "embed-static.map")) as f:
    own = own_bytes(f.read())
check("tnb_cache_open" not in run("nm", "embed-static").stdout, "embed-static has no cache")
run("strip", "embed-static")
size = os.path.getsize(os.path.join(work, "embed-static"))
sanitized = "-fsanitize" in os.environ.get("SANITIZE", "")
check(0 < own < OWN_CODE or sanitized, f"embed-static: {own} bytes of Tenon's own, below {OWN_CODE}; stripped it has {size} bytes")

# ---- a program of one's own ----
source = os.path.join(SRC, "tests", "tree", "embedder.c")
shared = flags("--cflags", "--libs", "tenon-rt") + ["-Wl,-rpath," + flags("--variable=libdir", "tenon-rt")[0]]
static = ["-DEMBED_STATIC", "-Wl,--gc-sections"] + flags("--cflags", "--static", "--libs", "tenon-rt-cpu")
strict = ["-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
builds = {"c": CC + ["-std=c11", *strict, source, *shared], "c-static": CC + ["-std=c11", *strict, source, *static]}
if shutil.which(CXX):
    builds["cxx"] = [CXX, "-x", "c++", "-std=c++17", *strict, source, "-x", "none", *shared]
builds["c-files"] = builds["c-static"] + ["-Wl,-u,params_use_file"]
for name, command in builds.items():
    r = run(*command, "-o", "hour-" + name)
    check(r.returncode == 0, f"embedder.c as {name}, without a warning", r)
    r = run("./hour-" + name, "digits.tno", "digit7.npy")
    check(r.returncode == 0, f"embedder.c as {name}: {r.stdout.strip()}", r)
check("tnb_cache_open" in run("nm", "hour-c-files").stdout, "a program that asks for parameter files has them")

# ---- the page's own pieces ----
with open(glob.glob(os.path.join(PREFIX, "**", "embedding.md"), recursive=True)[0], encoding="utf-8") as f:
    pieces = re.findall(r"(?:^    (?!\$).*;\n)(?:^    .*\n)*", f.read(), re.M)
check(len(pieces) == 2, f"{len(pieces)} pieces of C in embedding.md")
INCLUDES = "#include <stddef.h>\n#include <tenon/rt/plugin.h>\n#include <tenon/rt/session.h>\n"
for i, (text, options) in enumerate((
        ("int main(void) { static float pixels[64], p[10];\n" + pieces[0] + "return st != TNB_OK || !(p[0] > 0); }", shared),
        (pieces[1] + "int main(void) { return options.n_drivers != 1; }", static[1:]))):
    with open(os.path.join(work, f"piece{i}.c"), "w") as f:
        f.write(INCLUDES + text)
    r = run(*CC, "-std=c11", *strict, f"piece{i}.c", *options, "-o", f"piece{i}")
    check(r.returncode == 0, "a piece of the page compiles", r)
    r = run(f"./piece{i}")
    check(r.returncode == 0, "and runs", r)

shutil.rmtree(work, ignore_errors=True)
print(f"{failed} failed")
sys.exit(1 if failed else 0)
