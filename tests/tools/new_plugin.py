# SPDX-License-Identifier: Apache-2.0
"""`tenon new-plugin` copies every backend that there is under a new name: nothing of the old one is left in the copy, what
the copy provides is provided by no other plugin, and its targets take nobody's place. (tests/vendor builds and runs the copies.)"""
import configparser
import os
import re
import stat
import sys

from clitest import BUILD, SRC, WORK, check, done, path, refused, tenon

# The sources come from the build tree: what TENON_DATADIR says is for installed trees.
KITS = os.path.join(BUILD, "share-stage", "backends")


def ini(file):
    p = configparser.RawConfigParser(strict=True, delimiters=("=",), comment_prefixes=(";",))
    p.optionxform = str
    with open(file) as f:
        p.read_file(f)
    return p


def promises(folder):
    found = {}
    for m in sorted(os.listdir(folder)):
        if m.endswith(".plugin"):
            text = ini(os.path.join(folder, m))["plugin"].get("provides", "")
            for item in re.split(r"[,\n]", text):
                if item.strip():
                    found[item.strip()] = m
    return found


def sections(folder):
    found = set()
    for f in sorted(os.listdir(folder)):
        if f.endswith(".ini"):
            p = ini(os.path.join(folder, f))
            found.update(s for s in p.sections() if s not in ("tags", "tenon"))
            found.update("tag " + k for k in (p["tags"] if "tags" in p else ()))
    return found


r = tenon("new-plugin", "--list")
kits = [line.split()[0] for line in r.stdout.splitlines()]
folders = sorted(d for d in os.listdir(os.path.join(SRC, "backends")) if os.path.exists(os.path.join(BUILD, "plugins-stage", d + ".so")))
check(r.returncode == 0 and set(folders) <= set(kits), f"every backend that was built can be copied: {kits}", r)

others, taken = promises(os.path.join(BUILD, "plugins-stage")), sections(os.path.join(SRC, "conf", "targets"))
for name in kits:
    to = path("acme_" + name)
    r = tenon("new-plugin", "acme", to, "--from", name)
    check(r.returncode == 0 and os.path.isdir(to), f"{name}: copied", r)
    if r.returncode != 0:
        continue
    keep = [k for k in ini(os.path.join(KITS, name, "backend.ini")).get("copy", "keep", fallback="").split("\n") if k] \
        if "copy" in ini(os.path.join(KITS, name, "backend.ini")) else []
    old = re.compile(r"(?<![A-Za-z0-9_\\])(%s|%s_|TENON_(BACKENDS_)?%s_)(_\w*)?(?!\w)" % (name, name.upper(), name.upper()))
    left, loose = [], []
    for at, _, files in os.walk(to):
        for f in files:
            p = os.path.join(at, f)
            if stat.S_IMODE(os.stat(p).st_mode) & 0o022:
                loose.append(f)
            if f.startswith(name) or not f.endswith((".c", ".h", ".def", ".plugin", ".ini")):
                left += [f] if f.startswith(name) else []
                continue
            text = open(p).read()
            for k in keep:
                text = text.replace(k, "")
            left += [f"{f}: {m.group()}" for m in old.finditer(text)]
            left += [f + ": config.h"] if '"config.h"' in text else []
    check(not left, f"{name}: nothing of the old name is left {left[:5]}")
    check(not loose, f"{name}: nobody else may write to its files {loose}")
    mine = promises(to)
    check(mine and not set(mine) & set(others), f"{name}: what the copy promises, no other does {set(mine) & set(others)}")
    theirs = [p for p in promises(os.path.join(KITS, name)) if not p.startswith("target_alias:")]  # kinds that the original goes on serving
    check(len(mine) == len(theirs), f"{name}: it promises as much as the original")
    check(not sections(to) & taken, f"{name}: its sections and tags are its own {sections(to) & taken}")
    check(os.path.exists(f"{to}/README.md") and len(open(f"{to}/Makefile").readlines()) <= 14, f"{name}: a short Makefile and a README")
    guards = [g for g in re.findall(r"#ifndef (\w+)", open(f"{to}/acme.h").read())] if os.path.exists(f"{to}/acme.h") else []
    check(all("ACME" in g for g in guards), f"{name}: include guards carry the new name {guards}")

null = open(path("acme_null/device.c")).read()
check("acme_module_load" in null and "ACME_PATIENCE" in null and "NULL;" in null, "identifiers are renamed, C's NULL stays")

for name, why in (("2fast", "identifier"), ("Acme", "identifier"), ("a-b", "identifier"), ("int", "word of C"), ("tnk_x", "Tenon"),
                  ("acme_rt", "_rt"), ("x" * 33, "32"), ("", "identifier")):
    refused(f"the name '{name}'", tenon("new-plugin", name, path("none")), why, "hint:", status=(2,))
for name, why in (("cpu", "cpu.plugin"), ("null", "null.plugin"), ("transform", "transform.plugin"), ("targets", "is already an identifier"),
                  ("opencl-small".replace("-", "_"), None)):
    r = tenon("new-plugin", name, path("none_" + name))
    if why:
        refused(f"the name '{name}'", r, why, "hint:", status=(1,))
    else:
        check(r.returncode == 0, f"the name '{name}' is free", r)
refused("a backend that there is none of", tenon("new-plugin", "acme", path("none"), "--from", "nul"), "did you mean 'null'", status=(2,))
refused("a path in place of a backend", tenon("new-plugin", "acme", path("none"), "--from", "../backends/null"), status=(2,))
refused("no name", tenon("new-plugin"), "NAME", status=(2,))
r = tenon("new-plugin", "acme", path("acme_null"))
refused("a folder that is not empty", r, "not empty", "hint:", status=(1,))
os.mkdir(path("empty"))
r = tenon("new-plugin", "acme", path("empty") + "/")
check(r.returncode == 0 and os.path.exists(path("empty/Makefile")), "an empty folder is taken", r)
write_protected = path("locked")
os.mkdir(write_protected, 0o555)
if os.geteuid() != 0:
    refused("a folder that cannot be written to", tenon("new-plugin", "acme", write_protected + "/x"), "locked", status=(1,))
check(not [f for f in os.listdir(WORK) if ".new-" in f], "nothing half made stays behind")
r = tenon("new-plugin", "acme", path("elsewhere"), env={"TENON_DATADIR": path("no-data")})
check(r.returncode == 0, "in the build tree the build's own sources are copied", r)
done()
