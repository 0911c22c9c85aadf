# SPDX-License-Identifier: Apache-2.0
"""`tenon doctor` tells what is there and what is missing with the command that adds it; it fails when a chosen target lacks something."""
import os
import re
import shutil
import sys

from clitest import BUILD, check, done, path, tenon, write

STAGE = os.path.join(BUILD, "plugins-stage")
BARE = {"CC": "", "PATH": path("bin")}  # what a compiler is looked for in: nothing
os.mkdir(path("bin"))
CLEAN = {"XDG_CACHE_HOME": path("cache"), "OCL_ICD_VENDORS": path("icd")}
os.mkdir(path("icd"))
here = {k: shutil.which(k) for k in ("cc", "gcc")}


def doctor(*args, **env):
    return tenon("doctor", *args, env={**CLEAN, **env})


def line(r, state, text, cure=None):
    """A line of this state that holds the text; below it the cure."""
    lines = r.stdout.splitlines()
    at = [i for i, l in enumerate(lines) if re.match(rf"{state} +", l) and text in l]
    return bool(at) and (cure is None or at[0] + 1 < len(lines) and lines[at[0] + 1].startswith(" " * 9) and cure in lines[at[0] + 1])


r = doctor(CC="")
version = tenon("--version").stdout
number, abi = re.match(r"tenon (\S+) \(ABI (\S+)\)", version).groups()
check(r.returncode == 0 and not r.stderr, "all that the target cpu needs is here", r)
check(line(r, "ok", f"tenon {number}, ABI {abi}") and line(r, "ok", "target cpu, served by cpu"), "version, ABI and the chosen target", r)
plugins = [l.split()[0] for l in tenon("list", "plugins").stdout.splitlines()]
check(plugins and all(line(r, "ok", f"plugin {p} {number}"[:len(f"plugin {p} ")]) for p in plugins), "every plugin has a line", r)
check(re.search(r"ok +C compiler: /\S+ \(.*\d+\.\d+.*\)", r.stdout), "the C compiler with its version", r)
check(line(r, "ok", "device cpu: ") and re.search(r"kernel cache in \S+ \(\d+ files, \d+ of at most \d+ MiB", r.stdout), "device and cache", r)
german = doctor(CC="", LC_ALL="de_DE.UTF-8", LANG="de_DE.UTF-8", LANGUAGE="de")
check(german.stdout == r.stdout, "the same in every locale", german)

r = doctor(**BARE)
check(r.returncode == 1 and line(r, "missing", "C compiler", "apt-get install gcc libc6-dev"), "no compiler: missing, with the packages", r)
r = doctor("-t", "null", **BARE)
check(r.returncode == 0 and line(r, "absent", "C compiler, needed", "apt-get install gcc"), "which the target null does not need", r)
r = doctor(CC="/nowhere/cc -O2", PATH=os.environ["PATH"])
check(r.returncode == 1 and line(r, "missing", "CC is '/nowhere/cc -O2'", "unset CC"), "a CC that is not there", r)
mute = write("mute/cc", "#!/bin/sh\nexit 1\n")
os.chmod(mute, 0o755)
r = doctor(CC=mute)
check(r.returncode == 1 and line(r, "missing", "--version fails"), "a compiler that does not work", r)

if "opencl" in plugins and "opencl_rt" in plugins:
    r = doctor(CC="")
    check(r.returncode == 0 and line(r, "absent", "OpenCL drivers: none in " + path("icd"), "apt-get install pocl-opencl-icd"),
          "no OpenCL driver: absent for the target cpu", r)
    r = doctor("-t", "opencl", CC="")
    check(r.returncode == 1 and line(r, "missing", "OpenCL drivers", "apt-get install pocl-opencl-icd") and line(r, "missing", "device opencl"),
          "missing for the target opencl", r)
    r = doctor(CC="", **{"TENON_PLUGIN_PATH": STAGE})
    if os.path.isdir("/etc/OpenCL/vendors") and any(f.endswith(".icd") for f in os.listdir("/etc/OpenCL/vendors")):
        r = tenon("doctor", env={"XDG_CACHE_HOME": path("cache"), "CC": ""})
        check(line(r, "ok", "OpenCL drivers in"), "the drivers that are named", r)

write("full", "a file\n")
r = doctor(CC="", XDG_CACHE_HOME=path("full"))
check(r.returncode == 0 and line(r, "warning", "no kernel cache"), "a cache that cannot be made is a warning", r)
os.makedirs(path("loose/tenon"))
os.chmod(path("loose/tenon"), 0o777)
r = doctor(CC="", XDG_CACHE_HOME=path("loose"))
check(r.returncode == 0 and line(r, "warning", "others may write to the cache folder", "chmod go-w"), "a cache that others may write to", r)

def spoilt(name, plugin):
    """A copy of a plugin that everybody may write to, found first."""
    folder = path(name)
    os.mkdir(folder)
    for f in (plugin + ".plugin", plugin + ".so"):
        shutil.copy(os.path.join(STAGE, f), os.path.join(folder, f))
    os.chmod(folder, 0o755)
    os.chmod(os.path.join(folder, plugin + ".plugin"), 0o644)
    os.chmod(os.path.join(folder, plugin + ".so"), 0o777)
    return folder


r = doctor("--plugin-path", spoilt("bad-null", "null"), CC="")
check(r.returncode == 0 and line(r, "refused", "plugin null: ", "chmod go-w"), "a refused plugin that cpu does not need", r)
r = doctor("-t", "cpu", "--plugin-path", spoilt("bad-ops", "ops"), CC="")
check(r.returncode == 1 and line(r, "refused", "plugin ops: ", "chmod go-w"), "one that everything needs", r)
r = doctor("--set", "tenon.plugins=ops,transform,tir,interp,onnx,null,null_rt", "-t", "null", CC="")
check(r.returncode == 0 and line(r, "unused", "plugin cpu of", "add it to [tenon] plugins"), "plugins that the site left out", r)
r = doctor("-t", "cpuu", CC="")
check(r.returncode == 1 and line(r, "missing", "target cpuu"), "a target that is not there", r)

bad = write("bad.ini", "[tenon]\nthreds = 2\n")
r = doctor("--config", bad, CC="")
check(r.returncode == 1 and line(r, "refused", "settings") and f"{bad}:2" in r.stderr and "threads" in r.stderr, "settings that are not taken", r)
fine = write("fine.ini", "[tenon]\nthreads = 1\nlog = error\n")
os.chmod(fine, 0o644)
r = doctor("--config", fine, CC="")
check(r.returncode == 0 and line(r, "ok", f"settings of {fine}: 2 in effect"), "files that were read", r)
os.chmod(fine, 0o666)
r = doctor("--config", fine, CC="")
check(r.returncode == 1 and line(r, "refused", "settings: 1 invalid") and "everybody may write" in r.stderr, "one that others may write to", r)
site = write("wrong/tenon.ini", "[device cpu]\nfaster = yes\n")
r = doctor(CC="", TENON_CONFIG=site)
check(r.returncode == 1 and line(r, "missing", "device cpu: ") and f"{site}:2" in r.stdout, "a device with a setting that it does not know", r)
done()
