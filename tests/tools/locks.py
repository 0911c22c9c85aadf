# SPDX-License-Identifier: Apache-2.0
"""What a site locks stays as it is, however a user asks for it: every key of the reference of settings by every layer that users
have, and every other way to the effect of a key: options, sections of other names, targets as JSON, tags, profiles, options of
passes and their configuration."""
import os
import re

from clitest import DIGITS, check, done, path, refused, tenon, write

MODEL = os.path.join(DIGITS, "digits.onnx")
OUT = path("out.tno")


def site(name, text):
    os.chmod(write(f"{name}/tenon.ini", text), 0o644)
    for at, _, _ in os.walk(path(name)):
        os.chmod(at, 0o755)
    return path(name)


def at(folder, *args, **env):
    return tenon(*args, env={"TENON_SYSCONFDIR": folder, "TENON_DATADIR": path("no-data"), "TENON_PLUGIN_PATH": "", **env})


# ---- every key, by every layer ----
WORDS = {"integer": "1", "boolean": "true", "text": "x", "list": "x", "path": "x"}
section, keys = None, []
for line in tenon("show", "settings").stdout.splitlines():
    if line.startswith("## ["):
        section = line[4:-1].split()
    row = re.match(r"\| `([^`]+)` \| (\w+)", line)
    if row:
        keys.append((section[0], "mine" if len(section) > 1 else "", row[1].replace("*", "x"), WORDS[row[2]]))
keys += [("target", "mine", "mcpu", "native"), ("pass", "FuseOps", "fuse_opt_level", "0"), ("device", "cpu", "x", "1"),
         ("plugin", "mine", "x", "1"), ("tags", "", "a/b", "cpu")]
check(len(keys) > 25 and ("tenon", "", "threads", "1") in keys, "the reference of settings lists the keys")
dotted = [".".join(p for p in k[:3] if p) for k in keys]
ALL = site("all", "[tenon]\nlock = " + ",\n    ".join(dotted) + "\n")
sections = {}
for s, n, k, v in keys:
    sections.setdefault(f"[{s}{' ' * bool(n)}{n}]", []).append(f"{k} = {v}")
mine = write("mine/tenon/tenon.ini", "".join("\n".join([s, *lines]) + "\n" for s, lines in sections.items()))
sets = [w for (s, n, k, v), d in zip(keys, dotted) for w in ("--set", f"{d}={v}")]
for how, r in (("the user's file", at(ALL, "show", "config", XDG_CONFIG_HOME=path("mine"))),
               ("TENON_CONFIG", at(ALL, "show", "config", TENON_CONFIG=mine)),
               ("--config", at(ALL, "show", "config", "--config", mine)), ("--set", at(ALL, "show", "config", *sets))):
    missed = [d for (s, n, k, v), d in zip(keys, dotted) if f"'{k}' may not be set here" not in r.stderr]
    count = r.stderr.count("may not be set here")
    check(r.returncode == 1 and not missed and count == len(keys), f"every key by {how}: {missed or count}", r)
    check(r.stderr.count("locked by " + os.path.join(ALL, "tenon.ini") + ":2") == len(keys), f"each lock is named: {how}", r)

# ---- other ways to the same effect ----
SITE = site("site", """[tenon]
threads = 1
log = warn
lock = tenon, target.cpu.mcpu, target.cpu.cc, pipeline.cpu.*, pass.FuseOps.fuse_opt_level

[target cpu]
mcpu = x86-64

[target old]
kind = llvm
mcpu = x86-64-v2

[profile plain]
drop = FuseOps

[tags]
site/v2 = {"kind": "llvm", "mcpu": "x86-64-v2"}
""")
BY = "locked by " + os.path.join(SITE, "tenon.ini") + ":4"


def ini(text):
    return ("--config", write(f"ini{len(os.listdir(path('')))}.ini", text))


WAYS = [
    ("--threads", ("run", MODEL, "-i", f"image={DIGITS}/digit3.npy", "--threads", 2)), ("bench --threads", ("bench", MODEL, "--threads", 2)),
    ("tune --threads", ("tune", MODEL, "--list", "--threads", 2)), ("--jobs", ("compile", MODEL, "-o", OUT, "--jobs", 2)),
    ("--log", ("list", "targets", "--log", "debug")), ("--tuning-db", ("compile", MODEL, "-o", OUT, "--tuning-db", "none")),
    ("--plugin-path", ("list", "targets", "--plugin-path", path(""))),
    *((f"--pass-config {k}", ("compile", MODEL, "-o", OUT, "--pass-config", f"{k}={v}"))
      for k, v in (("tenon.fallback", "true"), ("tenon.tuning_db", '["x"]'), ("tenon.tuning_threads", 3), ("relax.FuseOps.max_depth", 1))),
    ("opt --pass-config", ("opt", MODEL, "-p", "DeadCodeElimination", "--pass-config", "tenon.fallback=true")),
    *((f"--mcpu of {c[0]}", (*c, "--mcpu", "native")) for c in
      (("compile", MODEL, "-o", OUT), ("run", MODEL, "-i", f"image={DIGITS}/digit3.npy"), ("bench", MODEL), ("tune", MODEL, "--list"))),
    ("--mcpu of another name", ("compile", MODEL, "-o", OUT, "-t", "old", "--mcpu", "native")),
    ("a section of the same kind", ("show", "target", "mine", *ini("[target mine]\nkind = cpu\nmcpu = native\n"))),
    ("a section of a kind's other name", ("show", "target", "llvm", *ini("[target llvm]\nmcpu = native\n"))),
    ("an attribute of a site's target", ("show", "target", "old", *ini("[target old]\nmcpu = native\n"))),
    ("JSON", ("show", "target", '{"kind": "llvm", "mcpu": "native"}')), ("JSON of a kind's other name", ("show", "target", '{"kind": "c", "cc": "tcc"}')),
    ("a tag", ("show", "target", "my/tag", *ini('[tags]\nmy/tag = {"kind": "llvm", "mcpu": "native"}\n'))),
    *((f"--debug {d}", ("compile", MODEL, "-o", OUT, "--debug", d)) for d in ("skip=FuseOps", "stop-after=FuseOps")),
    ("tune --debug", ("tune", MODEL, "--list", "--debug", "skip=FuseOps")),
    ("the pipeline of a target of one's own", ("show", "pipeline", "mine", *ini("[target mine]\nkind = cpu\n[pipeline mine]\ndrop = FuseOps\n"))),
    ("the pipeline of a kind's other name", ("show", "pipeline", "old", *ini("[pipeline llvm]\ninsert.x = after FuseOps: FuseTIR\n"))),
    ("a profile", ("show", "pipeline", "cpu", "--profile", "mine", *ini("[profile mine]\ndrop = FuseOps\n"))),
    ("a profile that inserts", ("show", "pipeline", "cpu", "--profile", "mine", *ini("[profile mine]\ninsert.x = after FuseOps: FuseTIR\n"))),
    ("a change of a site's profile", ("show", "pipeline", "cpu", "--profile", "plain", *ini("[profile plain]\ninsert.x = after FuseTIR: FuseTIR\n"))),
    ("options of a pass", ("show", "pipeline", "cpu", *ini("[pass ApplyDefaultSchedule]\nrules = [Fallback]\n"))),
    ("an option in a list", ("show", "pipeline", "opencl", *ini("[pipeline opencl]\ninsert.x = after FuseOps: FuseOps{fuse_opt_level=0}\n"))),
    ("an option in -p", ("opt", MODEL, "-p", "FuseOps{fuse_opt_level=0}")),
]
for what, args in WAYS:
    r = at(SITE, *args)
    refused(what, r, BY)
    check("has locked" in r.stderr and "hint:" in r.stderr and not os.path.exists(OUT), f"{what}: it is said what is locked and what to do", r)
# The compiler is locked: CC does not choose another one, whether the site names one or not.
UNNAMED, NAMED = site("cc", "[tenon]\nlock = target.cpu.cc\n"), site("cc-named", "[tenon]\nlock = target.cpu.cc\n\n[target cpu]\ncc = gcc\n")
for target in ("cpu", '{"kind": "llvm"}'):
    refused(f"CC for {target}", at(UNNAMED, "compile", MODEL, "-t", target, "-o", OUT, "--no-cache", CC="gcc -DMINE"), "CC may not be set", "has locked 'cc'",
            f"locked by {UNNAMED}/tenon.ini:2", "hint:")
    check(not os.path.exists(OUT), "nothing is written")
    r = at(NAMED, "compile", MODEL, "-t", target, "-o", path("named.tno"), "--no-cache", CC="/nowhere/cc")
    check(r.returncode == 0, f"the site's compiler is taken for {target}, whatever CC says", r)
# What users make up is as the site says; what the site offers may be taken.
for what, want, args in (("a target of one's own", "x86-64", ("mine", *ini("[target mine]\nkind = cpu\n"))), ("the kind's other name", "x86-64", ("llvm",)),
                         ("JSON", "x86-64", ('{"kind": "llvm"}',)), ("the kind", "x86-64", ("cpu",)), ("a target of the site", "x86-64-v2", ("old",)),
                         ("a tag of the site", "x86-64-v2", ("site/v2",))):
    r = at(SITE, "show", "target", *args)
    check(r.returncode == 0 and f'"mcpu": "{want}"' in r.stdout, f"{what} has the locked value, or the site's own", r)
r = at(SITE, "show", "pipeline", "cpu", "--profile", "plain")
check(r.returncode == 0 and "dropped:" in r.stdout, "a profile of the site may be taken", r)
r = at(SITE, "show", "pipeline", "opencl", *ini("[pass ApplyDefaultSchedule]\nrules = [Fallback]\n"))
check(r.returncode == 0 and "rules=[Fallback]" in r.stdout, "options of passes of a pipeline that is not locked may be set", r)
r = at(SITE, "show", "config")
check(f"threads = 1    ; {SITE}/tenon.ini:2, {BY}" in r.stdout and f"cache_size = 2048    ; built-in, {BY}" in r.stdout and
      f"kind = llvm    ; {SITE}/tenon.ini:10\n" in r.stdout, "show config says what is locked, and by what", r)
done()
