# SPDX-License-Identifier: Apache-2.0
"""`tenon check-plugin` says of every bad plugin what is wrong, where, and what to do; what it refuses before loading has run no
code; and a plugin that is gone while the configuration names it is told as such."""
import os
import re
import shlex
import shutil
import subprocess
import sys

from clitest import BUILD, SRC, check, done, path, refused, tenon, write

CC = shlex.split(os.environ.get("CC") or "cc")
MANIFEST = """[plugin]
name = {name}
version = 1.0
abi = {abi}
kind = compiler
module = {module}
licence = MIT-0
provides = {provides}
"""
ABI = re.search(r"ABI (\d+\.\d+)", tenon("--version").stdout).group(1)
MARK = path("constructor-ran")


def build(name, *flags, module="candidate.so", plugin="candidate", abi=ABI, provides="pass:CandidatePass", libs=()):
    folder = path(name)
    os.makedirs(folder, mode=0o755)
    os.chmod(folder, 0o755)
    out = os.path.join(folder, module)
    r = subprocess.run([*CC, "-std=gnu17", "-g", "-O1", "-shared", "-fPIC", "-fvisibility=hidden", f"-I{SRC}/include", f"-I{BUILD}/include",
                        *flags, os.path.join(SRC, "tests/tools/candidate.c"), "-o", out, *libs], capture_output=True, text=True)
    check(r.returncode == 0, f"{name}: compiles", r)
    write(f"{name}/{plugin}.plugin", MANIFEST.format(name=plugin, abi=abi, module=module, provides=provides))
    for f in os.listdir(folder):
        os.chmod(os.path.join(folder, f), 0o644)
    return out


def tried(module, *options):
    if os.path.exists(MARK):
        os.unlink(MARK)
    return tenon("check-plugin", module, *options, env={"CANDIDATE_FILE": MARK})


def bad(what, module, *texts, ran=None, options=()):
    r = tried(module, *options)
    refused(what, r, *texts, "hint:", status=(1,))
    check("may be installed" not in r.stdout, what + ": is not recommended", r)
    if ran is not None:
        check(os.path.exists(MARK) == ran, what + (": its constructor ran" if ran else ": no code of it ran"), r)
    return r


good = build("good")
r = tried(good)
check(r.returncode == 0 and "may be installed" in r.stdout and "CandidatePass" not in r.stderr, "a good plugin", r)
check(os.path.exists(MARK), "and its constructor ran")
bad("one compiled with other headers of the same version", build("other", "-DOTHER_DESCRIPTOR"), "its descriptor has", "rebuild the plugin")
bad("a pass of another size", build("entry", "-DOTHER_ENTRY"), "the pass 'CandidatePass' has", "rebuild the plugin")

# refused by what is read: nothing runs
bad("another major version", build("major", "-DWRONG_MAJOR", abi="7.0"), "7.0", ABI, "rebuild", ran=False)
bad("another major version behind an innocent manifest", build("major2", "-DWRONG_MAJOR"), "7.", ABI, "rebuild", ran=False)
bad("a newer minor version", build("minor", "-DNEWER_MINOR"), ".77", ABI, "update Tenon", ran=False)
bad("a newer minor version in the manifest", build("minor2", abi=ABI.split(".")[0] + ".77"), ".77", "update Tenon", ran=False)
loose = build("loose")
os.chmod(loose, 0o666)
bad("a module that everybody may write", loose, "everybody may write", "chmod go-w", ran=False)
m = build("nomanifest")
os.unlink(os.path.join(os.path.dirname(m), "candidate.plugin"))
bad("no manifest", m, "no manifest", "candidate.plugin", ran=False)
bad("no such file", path("nowhere.so"), "nowhere.so", "No such file")
text = write("text/candidate.so", "no module\n")
write("text/candidate.plugin", MANIFEST.format(name="candidate", abi=ABI, module="candidate.so", provides="pass:CandidatePass"))
os.chmod(os.path.dirname(text), 0o755)
bad("a file that is no module", text, "ELF", ran=False)
bad("a misspelt manifest", build("typo", provides="pass:CandidatePass\nprovidse = x"), "providse", "provides", ran=False)

# found out in the child
r = bad("a crash in init", build("crash", "-DCRASH"), "signal 11", "init", "candidate.so+0x", "addr2line")
at = re.search(r"candidate\.so\+(0x[0-9a-f]+)", r.stderr)
if at and shutil.which("addr2line"):
    where = subprocess.run(["addr2line", "-f", "-e", path("crash/candidate.so"), at.group(1)], capture_output=True, text=True)
    check("start" in where.stdout and "candidate.c" in where.stdout, "the place is that of the crash", where)
bad("a crash in a constructor", build("early", "-DCRASH_EARLY"), "signal 11", "constructors", "candidate.so+0x")
bad("an abort in init", build("abort", "-DABORT"), "signal 6", "init", "candidate.so+0x")
bad("a hang in init", build("hang", "-DHANG"), "hangs", "init", "candidate.so+0x", options=("--timeout", "1"))
bad("a busy loop in init", build("busy", "-DBUSY"), "hangs", "init", "candidate.so+0x", options=("--timeout", "1"))
bad("exit in init", build("exits", "-DEXITS"), "ended the process", "never call exit")
bad("an init that fails", build("fails", "-DFAILS"), "dongle", "plug it in")
bad("an unresolved symbol", build("unresolved", "-DUNRESOLVED"), "candidate_nowhere", "rebuild", ran=False)
bad("a promise that the tables do not hold", build("lie", provides="pass:CandidatePass, pass:Other"), "pass:Other", "provides")
bad("tables that hold more than is promised", build("mum", provides=""), "pass:CandidatePass", "provides")
elsewhere = path("libelsewhere.so")
subprocess.run([*CC, "-shared", "-fPIC", "-x", "c", "-", "-o", elsewhere], input="int candidate_elsewhere(void) { return 0; }", text=True,
               check=True)
m = build("missing", "-DMISSING_LIBRARY", libs=(f"-L{path('')}", "-lelsewhere"))
os.unlink(elsewhere)
bad("a missing library", m, "libelsewhere.so", "install the library", ran=False)

# names that others have
bad("the name of another plugin", build("twin", plugin="transform"), "'transform'", "hides")
bad("a promise that another plugin makes", build("double", provides="pass:CandidatePass, pass:FuseOps"), "pass:FuseOps", "transform",
    "prefer.FuseOps = candidate")
r = tenon("check-plugin", path("double/candidate.so"), "--set", "tenon.prefer.FuseOps=transform")
check("also provided" not in r.stderr, "a site that says which one serves is not told again", r)

# attributes of targets by which passes know what a device lacks
two = "pass:CandidatePass, target:candidate"
r = tried(build("misspelt", "-DMISSPELT", provides=two))
check(r.returncode == 0 and "warning  target 'candidate' has an attribute 'suports_pointers'" in r.stdout and "did you mean 'supports_pointers'" in
      r.stdout, "a misspelt capability of a device is named", r)
check("tensor_cores" not in r.stdout and "'supports_int64'" not in r.stdout, "what is not like one, and what is one, is not", r)
bad("a capability of another type", build("othertype", "-DMISSPELT", "-DOTHER_TYPE", provides=two), "'supports_int64', which has another type")

# a plugin that is gone
module = write("module.py", "@R.function\ndef main(x: R.Tensor((2, 3), dtype=\"float32\")):\n    y = R.nn.relu(x)\n    return y\n")
site = write("site/site.ini", f"[tenon]\nplugin_path = {path('good')}\n\n[pipeline cpu]\ninsert.mine = after LegalizeOps: CandidatePass\n")
os.chmod(path("site"), 0o755)
os.chmod(site, 0o644)
os.unlink(good)
r = tenon("compile", module, "-t", "cpu", "-o", path("m.tno"), "--config", site)
refused("a configured pass whose module is gone", r, "CandidatePass", "candidate.so", "hint:", "reinstall the plugin")
os.unlink(path("good/candidate.plugin"))
r = tenon("compile", module, "-t", "cpu", "-o", path("m.tno"), "--config", site)
refused("a configured pass whose plugin is gone", r, "CandidatePass", "site.ini:5", "hint:")
site = write("site/target.ini", "[target board]\nkind = acme\n")
os.chmod(site, 0o644)
r = tenon("compile", module, "-t", "board", "-o", path("m.tno"), "--config", site)
refused("a configured target whose plugin is gone", r, "acme", "target.ini:2", "hint:")
site = write("site/digest.ini", "[plugin gone]\ndigest = " + 64 * "0" + "\n")
os.chmod(site, 0o644)
r = tenon("compile", module, "-t", "cpu", "-o", path("m.tno"), "--config", site)
check(r.returncode == 0, "a section of a plugin that is gone stops nothing", r)
plain = write("plain.py", "@R.function\ndef main(x: R.Tensor((2, 3), dtype=\"float32\")):\n    return x\n")
refused("a list that lacks what is needed", tenon("opt", plain, "-p", "LegalizeOps", "--set", "tenon.plugins=candidate"), "LegalizeOps", "hint:",
        "[tenon] plugins")
refused("no file", tenon("check-plugin"), "FILE.so", status=(2,))
refused("no number", tenon("check-plugin", good, "--timeout", "x"), "timeout", status=(2,))

# ---- a crash while it works ----
if "--enable-asan" not in open(os.path.join(BUILD, "config.log"), errors="replace").read(4096):  # which has a handler of its own
    module = write("identity.py", '@R.function\ndef main(x: R.Tensor((2, 3), dtype="float32")):\n    return x\n')
    r = tenon("opt", module, "-p", "CandidatePass", "--plugin-path", os.path.dirname(build("crashing", "-DCRASH_IN_PASS")))
    check(r.returncode < 0 and "crashed: invalid memory access in pass 'CandidatePass' of plugin 'candidate'" in r.stderr and "hint:" in r.stderr,
          "a crash in a pass is told with pass and plugin", r)
    r = tenon("opt", module, "-p", "CandidatePass", "--plugin-path", os.path.dirname(build("crashing_init", "-DCRASH")))
    check(r.returncode < 0 and "in init of plugin 'candidate'" in r.stderr and "tenon check-plugin" in r.stderr, "a crash in init is told with the plugin", r)
done()
