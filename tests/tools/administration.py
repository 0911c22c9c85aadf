# SPDX-License-Identifier: Apache-2.0
"""Two sites' folders of INI files make two different pipelines of the same binaries; what a site locks stays; digests; and for
every rule that decides about a plugin, `tenon list plugins --why` names it and what to do."""
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys

from clitest import BUILD, DIGITS, check, done, path, refused, tenon, write

STAGE = os.path.join(BUILD, "plugins-stage")


def site(name, files):
    for f, text in files.items():
        os.chmod(write(f"{name}/{f}", text), 0o644)
    for at, _, _ in os.walk(path(name)):
        os.chmod(at, 0o755)
    return path(name)


def at(folder, *args, **env):
    """tenon where this is the site's folder of INI files."""
    return tenon(*args, env={"TENON_SYSCONFDIR": folder, "TENON_DATADIR": path("no-data"), **env})


def lists(r):
    """{phase: [(pass as written, origin)]}"""
    found, phase = {}, None
    for line in r.stdout.splitlines():
        if not line.startswith(" "):
            phase = line.split(":")[0]
            found[phase] = []
        else:
            item, origin = re.split(r"\s{1,}(?=\S+ plugin(?:, @\w+)*$|every target$|\S+:\d+$|--set$)", line.strip(), maxsplit=1)
            found[phase].append((item.strip(), origin))
    return found


# ---- two sites ----
LAB = site("lab", {"tenon.ini": "[tenon]\ndefault_target = h200\n", "targets/gpus.ini": """[target h200]
kind = cuda
arch = sm_90a

[target t4]
kind = cuda
arch = sm_75
max_dynamic_shared_memory_per_block = 65536

[pipeline t4]
drop = RewriteCUDAGraph
""", "conf.d/10-base.ini": """[pipeline cuda]
insert.clean = after LegalizeOps: DeadCodeElimination
insert.more = before finalize: FoldConstant
""", "conf.d/20-h200.ini": """[pipeline cuda]
insert.more =

[pipeline h200]
insert.twice = after FuseOps: CanonicalizeBindings, DeadCodeElimination
"""})
CLINIC = site("clinic", {"tenon.ini": "[tenon]\nplugins = ops, transform, tir, interp, onnx, cpu, cpu_rt\nfallback = no\n",
                           "targets/cpu.ini": "[pipeline cpu]\nlegalize = LegalizeOps,\n    AnnotateTIROpPattern,\n    "
                           "FuseOps{fuse_opt_level=0}, FuseTIR, ApplyDefaultSchedule{rules=[Fallback]}\n"})
EMPTY = site("empty", {"tenon.ini": "[tenon]\n"})
builtin = lists(at(EMPTY, "show", "pipeline", "cuda"))


def after(phase, name, items):
    k = [i for i, _ in phase].index(name)
    return phase[:k + 1] + items + phase[k + 1:]


f10, f20, gpus = (os.path.join(LAB, f) for f in ("conf.d/10-base.ini", "conf.d/20-h200.ini", "targets/gpus.ini"))
r = at(LAB, "show", "pipeline")
want = {k: list(v) for k, v in builtin.items()}
want["legalize"] = after(want["legalize"], "LegalizeOps", [("DeadCodeElimination", f"{f10}:2")])
want["legalize"] = after(want["legalize"], "FuseOps", [("CanonicalizeBindings", f"{f20}:5"), ("DeadCodeElimination", f"{f20}:5")])
check(r.returncode == 0 and lists(r) == want, "the lab's default target h200: both files of conf.d, the later one emptied an insert", r)
r = at(LAB, "show", "pipeline", "t4")
want = {k: list(v) for k, v in builtin.items()}
want["legalize"] = after(want["legalize"], "LegalizeOps", [("DeadCodeElimination", f"{f10}:2")])
want["finalize"] = [p for p in want["finalize"] if p[0] != "RewriteCUDAGraph"]
got = lists(r)
dropped = got.pop("dropped", [])
check(got == want and [d[0] for d in dropped] == ["RewriteCUDAGraph"] and dropped[0][1].startswith(gpus),
      "its t4, of the same kind, lacks a pass, and says which line took it", r)
for name, arch in (("h200", "sm_90a"), ("t4", "sm_75")):
    check(arch in at(LAB, "show", "target", name).stdout, f"{name} has attributes of its own")
r = at(LAB, "show", "config")
check(f"; {f20}:2" in r.stdout and f"; {gpus}:3" in r.stdout, "show config names the file that won", r)

r = at(CLINIC, "show", "pipeline")
cpu_ini = os.path.join(CLINIC, "targets/cpu.ini")
want = {k: list(v) for k, v in lists(at(EMPTY, "show", "pipeline", "cpu")).items()}
want["legalize"] = [(i, f"{cpu_ini}:2") for i in ("LegalizeOps", "AnnotateTIROpPattern", "FuseOps{fuse_opt_level=0}", "FuseTIR",
                                                   "ApplyDefaultSchedule{rules=[Fallback]}")]
got = lists(r)
dropped = got.pop("dropped", [])
check(r.returncode == 0 and got == want, "the clinic's cpu: one phase replaced, the others as they were", r)
refused("the clinic's binaries have no cuda", at(CLINIC, "show", "pipeline", "cuda"), "cuda", "hint:")
r = at(CLINIC, "run", os.path.join(DIGITS, "digits.onnx"), "-i", f"image={DIGITS}/digit3.npy", XDG_CACHE_HOME=path("cache"))
check(r.returncode == 0 and "top [3]" in r.stdout, "and they recognize digits", r)

# ---- locks ----
LOCKED = site("locked", {"tenon.ini": "[tenon]\nthreads = 1\nlock = tenon.threads, pipeline.cpu.*\n",
                           "conf.d/50-digest.ini": "[tenon]\nlock = plugin.ops.digest\n"})
by = os.path.join(LOCKED, "tenon.ini") + ":3"
by_too = os.path.join(LOCKED, "conf.d/50-digest.ini") + ":2"
for key, text, given, locker in (
        ("threads", "[tenon]\nthreads = 2\n", "tenon.threads=2", by),
        ("drop", "[pipeline cpu]\ndrop = FuseOps\n", "pipeline.cpu.drop=FuseOps", by),
        ("insert.x", "[pipeline cpu]\ninsert.x = after FuseOps: FuseTIR\n", "pipeline.cpu.insert.x=after FuseOps: FuseTIR", by),
        ("digest", "[plugin ops]\ndigest =\n", "plugin.ops.digest=", by_too)):
    mine = write(f"mine-{key}/tenon/tenon.ini", text)
    for how, r in (("the user's file", at(LOCKED, "show", "config", XDG_CONFIG_HOME=path(f"mine-{key}"))),
                   ("TENON_CONFIG", at(LOCKED, "show", "config", TENON_CONFIG=mine)),
                   ("--config", at(LOCKED, "show", "config", "--config", mine)),
                   ("--set", at(LOCKED, "show", "config", "--set", given))):
        refused(f"{key} by {how}", r, f"'{key}' may not be set here", f"locked by {locker}", *([] if how == "--set" else [f"{mine}:2"]))
for what in ("skip=FuseOps", "stop-after=FuseOps"):
    refused(f"--debug {what}", at(LOCKED, "compile", os.path.join(DIGITS, "digits.onnx"), "-t", "cpu", "-o", path("out.tno"), "--debug", what),
            "no pass of target 'cpu' may be left out", f"locked by {by}")
site("locked", {"targets/cpu.ini": "[tenon]\nlock = target.cpu.mcpu\n"})
refused("--mcpu where the site has locked it", at(LOCKED, "compile", os.path.join(DIGITS, "digits.onnx"), "-o", path("out.tno"), "--mcpu", "native"),
        "'mcpu' of target 'cpu' may not be set here", "locked by", "targets/cpu.ini:2")
r = at(LOCKED, "show", "config", "--set", "tenon.lock=", "--set", "tenon.threads=4")
refused("a lock is not taken off", r, "'threads' may not be set here")
r = at(LOCKED, "show", "config", "--set", "pipeline.null.drop=FuseOps")
check(r.returncode == 0, "what is not locked may be set", r)
# A plugin that is left out: which one, by which line, and who may change it.
for lock, cure in (("", "hint: add it to [tenon] plugins: tenon plugin enable {0}"), ("lock = tenon.plugins\n", "{1}:3 locks [tenon] plugins: who administers this machine "
                   "may use tenon plugin enable {0} --system")):
    for left_out, named, args in (("onnx", "onnx", ("run", os.path.join(DIGITS, "digits.onnx"))), ("ops", "onnx", ("run", os.path.join(DIGITS, "digits.onnx"))),
                                  ("cpu", "cpu", ("show", "pipeline", "cpu"))):
        s = os.path.join(site(f"without-{left_out}-{len(lock)}", {"tenon.ini": f"[tenon]\nplugins = *, -{left_out}\n{lock}"}), "tenon.ini")
        refused(f"{left_out} left out by [tenon] plugins, {lock.strip() or 'no lock'}", at(os.path.dirname(s), *args), f"plugin '{named}' ",
                f"[tenon] plugins does not list it ({s}:2)", cure.format(left_out, s))
CLOSED = site("closed", {"tenon.ini": "[tenon]\nlock = tenon.plugin_path, tenon.plugins\n"})
refused("TENON_PLUGIN_PATH where plugin_path is locked", at(CLOSED, "list", "plugins"), "TENON_PLUGIN_PATH", "locked by", "tenon.ini:2")
refused("--plugin-path there", at(CLOSED, "list", "plugins", "--plugin-path", STAGE), "--plugin-path", "locked by", "tenon.ini:2")

# ---- a privileged process ----
# Another real user than the effective one, as under a set-user-ID bit; the loader would not find libraries that are not installed.
if os.geteuid() == 0:
    mine = write("mine/tenon/tenon.ini", "[tenon]\nthreads = 3\n")
    other = write("other.c", """#include <string.h>
#include <unistd.h>
__attribute__((constructor)) static void
other(void)
{
    char exe[4096] = "";
    if (readlink("/proc/self/exe", exe, sizeof exe - 1) > 0 && strstr(strrchr(exe, '/'), "tenon"))
        (void)!setreuid(4711, (uid_t)-1);
}
""")
    subprocess.run([*shlex.split(os.environ.get("CC") or "cc"), "-D_GNU_SOURCE", "-shared", "-fPIC", other, "-o", path("other.so")], check=True)
    env = {"XDG_CONFIG_HOME": path("mine"), "TENON_CONFIG": mine, "TENON_PLUGIN_PATH": STAGE}
    other = {"LD_PRELOAD": path("other.so"), "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}
    for who, more in (("root", {}), ("a process with another real user", other)):
        r, listed = at(LAB, "show", "config", **env, **more), at(LAB, "list", "plugins", "--why", **env, **more)
        check(r.returncode == 0 and (mine in r.stdout) == (not more) and (LAB in r.stdout) == (not more),
              f"{who} {'ignores' if more else 'takes'} environment and user's file", r)
        check(listed.returncode == 0 and ("through TENON_PLUGIN_PATH" in listed.stdout) == (not more), f"{who}: and the folders of plugins", listed)
        r = at(LAB, "show", "config", "--set", "tenon.threads=2", **env, **more)
        check(r.returncode == 0 and "threads = 2" in r.stdout, f"{who}: the command line counts", r)


# ---- digests ----
def sha(name):
    return hashlib.sha256(open(os.path.join(STAGE, name + ".so"), "rb").read()).hexdigest()


for what, value, texts in (("the right one", sha("ops"), None), ("in capitals", sha("ops").upper(), None), ("a wrong one", "0" * 64, ("demands " + "0" * 64, sha("ops"))),
                           ("one cut short", sha("ops")[:40], ("no SHA-256", "64 hexadecimal digits", "sha256sum")),
                           ("no number", "x" * 64, ("no SHA-256", "64 hexadecimal digits"))):
    s = site("digest-" + what.replace(" ", "-"), {"tenon.ini": f"[plugin ops]\ndigest = {value}\n"})
    r = at(s, "show", "op", "nn.relu")
    if texts is None:
        check(r.returncode == 0, f"digest: {what}", r)
        continue
    refused(f"digest: {what}", r, *texts, "[plugin ops] digest", "hint:")
    r = at(s, "list", "plugins", "--why")
    said = re.search(r"^ops .*\n    refused: (.*)\n.*\n    hint: (.*)", r.stdout, re.M)
    check(said and texts[0] in said.group(1), f"and list plugins --why names it: {what}", r)

# ---- every rule ----
MODULES = os.path.join(BUILD, "tests", "base", ".libs")
if not os.path.exists(os.path.join(MODULES, "module_good.so")):
    print("the modules of tests/base are not built (libcmocka-dev)")
    done()
MANIFEST = "[plugin]\nname = {name}\nversion = 1.5\nabi = {abi}\nkind = compiler\nmodule = test.so\nprovides = {provides}\n"


def put(folder, name="test", module="good", abi="0.1", provides="pass:Twist"):
    os.makedirs(path(folder), exist_ok=True)
    os.chmod(path(folder), 0o755)
    os.chmod(write(f"{folder}/{name}.plugin", MANIFEST.format(name=name, abi=abi, provides=provides)), 0o644)
    if module:
        shutil.copyfile(os.path.join(MODULES, f"module_{module}.so"), path(f"{folder}/test.so"))
        os.chmod(path(f"{folder}/test.so"), 0o755)
    return path(folder)


def why(what, folders, state, *texts, conf=EMPTY, name="test", args=()):
    r = at(conf, "list", "plugins", "--why", "--plugin-path", ":".join(folders), *args)
    entries = re.findall(rf"^{name} .*\n((?:    .*\n)*)", r.stdout, re.M)
    hit = [e for e in entries if e.startswith(f"    {state}: ") and all(t in e for t in texts)]
    check(r.returncode == 0 and len(hit) == 1, f"--why: {what}", r)


good = put("good")
why("ready", [good], "ready", "found through --plugin-path", "good/test.so")
why("hidden by one of the same name that comes first", [good, put("good2")], "hidden", "good/test.plugin' comes first")
why("blocked", [good], "blocked", "[tenon] plugins does not list it", "hint: add it to", conf=site("few", {"tenon.ini": "[tenon]\nplugins = ops\n"}))
why("refused: another ABI in the manifest", [put("abi", abi="7.0")], "refused", "7.0", "hint:")
why("refused: another ABI in the module", [put("abi2", module="abi")], "refused", "9.", "hint:")
why("refused: a newer minor version", [put("minor", module="minor")], "refused", "77", "hint:")
why("refused: no module", [put("gone", module=None)], "refused", "cannot open", "hint:", "reinstall the plugin")
loose = put("loose")
os.chmod(path("loose/test.so"), 0o777)
why("refused: a module that everybody may write", [loose], "refused", "everybody may write to the file", "hint: chmod go-w")
loose = put("loose-folder")
os.chmod(loose, 0o777)
why("refused: a folder that everybody may write", [loose], "refused", "everybody may write to its folder", "hint: chmod go-w")
if os.geteuid() == 0:
    other = put("other")
    os.chown(path("other/test.so"), 4711, 4711)
    why("refused: the module of another user", [other], "refused", "belongs to user 4711", "trust_owners")
    why("ready: the site trusts that user", [other], "ready", conf=site("trusting", {"tenon.ini": "[tenon]\ntrust_owners = 4711\n"}))
    other = put("other-folder")
    os.chown(other, 4711, 4711)
    why("refused: the folder of another user", [other], "refused", "belongs to user 4711", "trust_owners")
twin = put("twin", name="twin", provides="pass:Twist")
why("two that promise the same", [good, twin], "ready", "pass:Twist is also provided by plugin twin: neither is used", "prefer.Twist = test or twin")
prefer = site("prefer", {"tenon.ini": "[tenon]\nprefer.Twist = twin\n"})
why("two that promise the same, and a choice", [good, twin], "ready", "prefer.Twist chooses twin", conf=prefer)
why("and so says the other", [good, twin], "ready", "prefer.Twist chooses twin", conf=prefer, name="twin")
loose = write("loose.ini", f"[tenon]\nplugin_path = {good}\n")
os.chmod(loose, 0o666)
refused("settings that everybody may have written", at(EMPTY, "list", "plugins", "--config", loose), "loose.ini' is not trusted", "everybody may write", "chmod go-w")
if os.geteuid() == 0:
    os.chmod(loose, 0o644)
    os.chown(loose, 4711, 4711)
    r = at(EMPTY, "list", "plugins", "--why", "--config", loose)
    check("test " not in r.stdout and "loose.ini:2: 'plugin_path' is ignored" in r.stderr, "a plugin_path that another user has written is ignored, and said", r)
done()
