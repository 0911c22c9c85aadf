# SPDX-License-Identifier: Apache-2.0
"""Each check of the device conformance suite fails on a device that does wrong what it looks at; what a driver lacks is skipped with a
reason; a crash, a hang and an exit lose no line; the command line is read whole."""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
from clitest import BUILD, check, done, path, tenon, write

SUITE = os.path.join(BUILD, "tests/device/conformance")
ABI = re.search(r"ABI (\d+\.\d+)", tenon("--version").stdout).group(1)
os.mkdir(path("plugin"), 0o755)
shutil.copy(os.path.join(BUILD, "tests/device/.libs/faulty.so"), path("plugin/faulty.so"))
write("plugin/faulty.plugin", f"[plugin]\nname = faulty\nversion = 0.1.0\nabi = {ABI}\nkind = runtime\nmodule = faulty.so\nlicence = Apache-2.0\n"
      "provides = device:faulty\n")
for f in ("faulty.so", "faulty.plugin"):
    os.chmod(path("plugin/" + f), 0o644)
code = write("code", "add_f32: z = x + y\n")


def suite(*args, fault=None):
    ini = write("faulty.ini", f"[tenon]\nplugin_path = {path('plugin')}\n" + (f"[device faulty]\nfault = {fault}\n" if fault else ""))
    os.chmod(ini, 0o644)
    return subprocess.run([SUITE, *args], env=dict(os.environ, TENON_CONFIG=ini), capture_output=True, text=True, check=False)


def lines(r, kind):
    return re.findall(rf"^{kind} \d+ - (\w+)", r.stdout, re.M)


r = suite("--list")
names = r.stdout.split()
check(r.returncode == 0 and len(names) == len(set(names)) > 20, "the checks are listed", r)
r = suite("faulty", "--module", "faulty", code)
check(r.returncode == 0 and lines(r, "ok") == names, "a device that does all right passes all checks", r)
for name in names:
    r = suite("faulty", "--module", "faulty", code, "--check", name, fault=name)
    check(r.returncode == 1 and lines(r, "not ok") == [name] and not lines(r, "ok"), f"{name}: its fault is found", r)
    check(re.search(rf"^not ok \d+ - {name}\n# conformance_\w+\.c:\d+: \S", r.stdout, re.M), f"{name}: with a reason", r)

for fault, said in (("crash", "it crashes: SIGSEGV"), ("hang", "it does not end in time"), ("exit", "it calls exit")):
    r = suite("faulty", "--timeout", "1", fault=fault)
    check(r.returncode == 1 and lines(r, "ok") == names[:3] and lines(r, "not ok") == [names[3]] and "# " + said in r.stdout,
          f"{fault}: what was tried before is told, and what was tried then", r)

r = suite("faulty")
check(r.returncode == 0 and len(lines(r, "skipped")) == 3 and "launches_compute: no module was given" in r.stdout and "3 skipped" in r.stdout,
      "without a module launches are skipped, which is said", r)
r = suite("null")
check(r.returncode == 0 and "skipped" in r.stdout and all(re.match(r"skipped \d+ - \w+: [a-z]", line) for line in r.stdout.splitlines()
                                                          if line.startswith("skipped")), "what is skipped has a reason", r)
check("copies_between_devices" not in lines(r, "ok"), "what the driver does not have is not ok", r)

r = suite("--help")
check(r.returncode == 0 and r.stdout.startswith("Usage: ") and not r.stderr, "--help", r)
for args, said in ((("faulty", "--modul", "x"), "unknown option '--modul'"), (("faulty", "one"), "no number of a device: 'one'"),
                   (("faulty", "0", "1"), "too many: '1'"), (("faulty", "--module", "faulty"), "belong to '--module'"), ((), "name is missing"),
                   (("faulty", "--timeout", "0"), "no number of seconds: '0'"), (("faulty", "--check", "all"), "no check (--list): 'all'"), (("faulty", "-1"), "unknown option '-1'")):
    r = suite(*args)
    check(r.returncode == 2 and said in r.stderr and "Usage:" in r.stderr and not r.stdout, f"{args} is refused", r)
r = suite("nowhere")
check(r.returncode == 1 and "nowhere" in r.stderr, "a driver that is not there", r)
r = suite("faulty", "7")
check(r.returncode != 0 and "7" in r.stderr, "a device that is not there", r)
done()
