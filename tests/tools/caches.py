#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Caches, temporary files and compilers that are not as they should be: links, pipes, masks, limits; compilers that hang, write
something else, or are killed."""
import glob
import os
import re
import resource
import signal
import stat
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
from clitest import SRC, TENON, check, done, path, refused, tenon, write  # noqa: E402

MODULE = os.path.join(SRC, "tests", "runtime", "modules", "elementwise.py")
REAL = os.environ.get("CC", "cc").split()[0]


def compiler(name, body):
    """A program in the compiler's place: it knows its version; `body` is what it does else."""
    p = write(name, f'#!/bin/sh\ncase "$*" in *--version*) echo "{name} 1"; exit 0;; esac\n{body}\n')
    os.chmod(p, 0o755)
    return p


LOG = path("calls.log")
# the cache's folder is called after the ABI's major version
VERSION = next(line.split("=")[1].split(".")[0].strip() for line in open(os.path.join(os.environ["TENON_PLUGIN_PATH"], "ops.plugin"))
               if line.startswith("abi"))
COUNTING = compiler("counting", f'echo x >>"{LOG}"; exec {REAL} "$@"')


def calls():
    return os.path.getsize(LOG) if os.path.exists(LOG) else 0


def compile_in(home, *args, cc=COUNTING, umask=0o022, limits=None, **more):
    env = {"XDG_CACHE_HOME": home, "CC": cc, **more}
    full = dict(os.environ)
    full.update(env)

    def before():
        os.umask(umask)
        for what, n in (limits or {}).items():
            resource.setrlimit(what, (n, n))
    return subprocess.run([TENON, "compile", MODULE, "-t", "cpu", "-o", path("out.tno"), *args], capture_output=True, text=True,
                          env=full, timeout=float(os.environ.get("TESTS_TIMEOUT") or 300), preexec_fn=before)


def entries(home):
    return glob.glob(os.path.join(home, "tenon", VERSION, "*.kernels"))


def home(name):
    p = path(name)
    os.makedirs(p)
    return p


def ordinary():
    """Whatever the mask, an entry is this user's alone, and found again."""
    for mask in (0o022, 0o002, 0o000, 0o077):
        h = home(f"mask{mask:o}")
        r = compile_in(h, umask=mask)
        found = entries(h)
        check(r.returncode == 0 and len(found) == 1 and stat.S_IMODE(os.stat(found[0]).st_mode) == 0o600,
              f"mask {mask:03o}: an entry of mode 600", r)
        before = calls()
        r = compile_in(h, umask=mask)
        check(r.returncode == 0 and calls() == before, f"mask {mask:03o}: it is found again", r)


def links():
    h = home("links")
    compile_in(h)
    entry = entries(h)[0]
    victim = write("victim", "as it was")
    os.remove(entry)
    os.symlink(victim, entry)
    before = calls()
    r = compile_in(h)
    check(r.returncode == 0 and calls() > before, "an entry that is a link is not read", r)
    check(open(victim).read() == "as it was" and not os.path.islink(entry), "nor written through")
    target = home("elsewhere")
    h = home("linked")
    os.symlink(target, os.path.join(h, "tenon"))
    r = compile_in(h)
    check(r.returncode == 0 and "is not a folder" in r.stderr and not os.listdir(target), "no folder is made through a link", r)
    h = home("linked2")
    os.makedirs(os.path.join(h, "tenon"), 0o700)
    os.symlink(target, os.path.join(h, "tenon", VERSION))
    r = compile_in(h)
    check(r.returncode == 0 and "is not a folder" in r.stderr and not os.listdir(target), "nor found behind one", r)


def pipes():
    h = home("pipe")
    compile_in(h)
    entry = entries(h)[0]
    os.remove(entry)
    os.mkfifo(entry, 0o600)
    r = compile_in(h)
    check(r.returncode == 0 and stat.S_ISREG(os.stat(entry).st_mode), "a pipe in an entry's place is replaced", r)
    os.remove(entry)
    os.mkdir(entry)
    r = compile_in(h)
    check(r.returncode == 0 and "are not kept" in r.stderr, "a folder in an entry's place is told", r)


def old(p):
    os.utime(p, (time.time() - 7200,) * 2)


def left_behind():
    """What killed runs leave: in the cache, in the folder for temporary files, beside an output."""
    h, tmp = home("left"), home("tmp")
    compile_in(h)
    for e in entries(h):
        os.remove(e)
    stale, fresh = (write(os.path.join(h, "tenon", VERSION, n), "x") for n in ("a.kernels.1.tmp", "b.kernels.2.tmp"))
    old(stale)
    compile_in(h)
    check(not os.path.exists(stale) and os.path.exists(fresh), "an old unfinished entry is removed, a new one stays")
    sleeping = compiler("sleeping", "exec sleep 100")
    with subprocess.Popen([TENON, "compile", MODULE, "-t", "cpu", "-o", path("killed.tno"), "--no-cache"],
                          env={**os.environ, "CC": sleeping, "TMPDIR": tmp}, stderr=subprocess.DEVNULL) as p:
        for _ in range(1000):
            found = glob.glob(os.path.join(tmp, "tenon-*", "g0.log"))
            if found:
                break
            time.sleep(0.05)
        folder = os.path.dirname(found[0])
        old(folder)
        r = compile_in(home("beside"), TMPDIR=tmp)
        check(r.returncode == 0 and os.path.isdir(folder), "a folder that is in use stays, however old", r)
        p.send_signal(signal.SIGKILL)
    old(folder)
    r = compile_in(home("after"), TMPDIR=tmp)
    check(r.returncode == 0 and not os.listdir(tmp), "that of a killed run is removed", r)
    check(not glob.glob(path("killed.tno*")), "nothing is left beside an output")


def files_of_compilers():
    """Compilers put their own temporary files where Tenon's are: a compiler that is killed leaves none behind."""
    tmp = home("of-compilers")
    where = path("where")
    told = compiler("told", f'(cd "${{TMPDIR:-/tmp}}" && pwd) >>"{where}"; exec {REAL} "$@"')
    r = compile_in(home("told-home"), cc=told, TMPDIR=tmp)
    folders = open(where).read().split() if os.path.exists(where) else []
    check(r.returncode == 0 and folders and all(re.fullmatch(re.escape(tmp) + "/tenon-[^/]+", f) for f in folders), f"the compilers' temporary files are in Tenon's folder: {folders}", r)
    check(not os.listdir(tmp), "which is removed")


def bad_compilers():
    h = home("bad")
    hanging = compiler("hanging", "sleep 1000 & wait")
    start = time.time()
    refused("a compiler that hangs", compile_in(h, "--set", "target.cpu.cc_timeout=2", cc=hanging), "cc_timeout", "2 seconds")
    check(time.time() - start < 60, f"after {time.time() - start:.0f} s")
    out = 'while [ "$1" != -o ]; do shift; done; '
    faults = {
        "garbage": ('echo garbage >"$2"', "no ELF file"),
        "nothing": (':', "kernels.so"),
        "an empty file": (': >"$2"', "no ELF file"),
        "an object without kernels": (f'echo "int x;" >e.c; {REAL} -shared -fPIC -o "$2" e.c', "without the kernel"),
        "a cut object": (f'echo "int x;" >e.c; {REAL} -shared -fPIC -o e.so e.c; head -c 300 e.so >"$2"', "cut off"),
        "a program": (f'echo "int main(void) {{ return 0; }}" >e.c; {REAL} -no-pie -o "$2" e.c', "no shared object"),
        "a pipe": ('mkfifo "$2"', "kernels.so"),
    }
    for i, (name, (body, text)) in enumerate(faults.items()):
        cc = compiler(f"bad{i}", f'case "$*" in *kernels.so*) {out}rm -f "$2"; {body};; *) {out} : >"$2";; esac')
        refused("a compiler that makes " + name, compile_in(h, cc=cc, TMPDIR=path(".")), text)
    check(not entries(h), "none of that is kept")
    killed = compiler("killed", "kill -XFSZ $$")
    refused("a compiler that a limit of file sizes kills", compile_in(h, cc=killed), "signal", "ulimit -f")


def folders():
    """Where caches may lie: a folder for several users, one that cannot be made, HOME that is not there, a relative one."""
    def run(user=None, *args, **env):
        full = {**os.environ, "CC": REAL, **env}
        for k in [k for k in ("XDG_CACHE_HOME",) if k not in env]:
            full.pop(k, None)
        return subprocess.run([TENON, "compile", MODULE, "-t", "cpu", "-o", path(f"of{user}/out.tno"), *args], capture_output=True, text=True, env=full,
                              user=user, cwd=path(f"of{user}"), timeout=float(os.environ.get("TESTS_TIMEOUT") or 300))

    def folder(name, mode, user=None):
        os.makedirs(path(name), exist_ok=True)
        os.chmod(path(name), mode)
        if user:
            os.chown(path(name), user, user)
        return path(name)
    os.chmod(path(""), 0o755)
    folder("ofNone", 0o755)
    nobodys = path("nobody/home")
    r = run(HOME=nobodys)
    check(r.returncode == 0 and "HOME is no folder that is there" in r.stderr and "hint: set XDG_CACHE_HOME" in r.stderr and not os.path.exists(path("nobody")),
          "HOME that is not there is not made", r)
    file = write("a-file", "")
    r = run(XDG_CACHE_HOME=file + "/below")
    check(r.returncode == 0 and "a-file': it is there and no folder" in r.stderr and "hint:" in r.stderr, "a file in a folder's place", r)
    for place in ("a-file", "a-file/below"):
        r = run(None, "--set", f"tenon.cache_dir={path(place)}")
        check(r.returncode == 0 and "it is there and no folder" in r.stderr and "hint: set [tenon] cache_dir to a folder" in r.stderr and "mkdir" not in r.stderr, f"cache_dir = {place}: another folder is what helps", r)
    ini = write("beside/site.ini", "[tenon]\ncache_dir = kernels\n")
    os.chmod(os.path.dirname(ini), 0o755)
    os.chmod(ini, 0o644)
    r = run(None, "--config", ini)
    check(r.returncode == 0 and glob.glob(path(f"beside/kernels/{VERSION}/*.kernels")), "a relative cache_dir counts from its INI file's folder", r)
    r = run(None, "--set", "tenon.cache_dir=here")
    check(r.returncode == 0 and glob.glob(path(f"ofNone/here/{VERSION}/*.kernels")), "and of the command line from the current folder", r)
    if os.geteuid() != 0:
        return
    shared = folder("shared", 0o1777)
    for user in (0, 4711, 4712):
        folder(f"of{user}", 0o755, user)
        below = [] if user == 0 else [str(user)]
        for turn in ("the first time", "again"):
            r = run(user, "--set", f"tenon.cache_dir={shared}", HOME="/nonexistent", PYTHONDONTWRITEBYTECODE="1")
            found = glob.glob(os.path.join(shared, *below, VERSION, "*.kernels"))
            check(r.returncode == 0 and len(found) == 1 and "cache" not in r.stderr, f"user {user} has kernels of their own in a folder for all, {turn}", r)
        own = os.path.join(shared, *below, VERSION)
        check(stat.S_IMODE(os.stat(own).st_mode) == 0o700 and os.stat(own).st_uid == user, f"which others cannot read: {own}")
    folder("closed", 0o755)
    r = run(4711, "--set", f"tenon.cache_dir={path('closed/cache')}")
    check(r.returncode == 0 and "closed/cache': Permission denied" in r.stderr and f"mkdir -p -m 1777 '{path('closed/cache')}'" in r.stderr,
          "a folder that may not be made says why, and what to do", r)
    r = run(4711, XDG_CACHE_HOME=path("closed"))
    check(r.returncode == 0 and "closed/tenon': Permission denied" in r.stderr, "also one below XDG_CACHE_HOME", r)


def limits():
    """Tenon lives on where the system's signal at a limit of file sizes would end it."""
    for n in (0, 512, 4096, 20000):
        r = compile_in(home(f"limit{n}"), limits={resource.RLIMIT_FSIZE: n})
        check(r.returncode in ((1,) if n < 20000 else (0, 1)) and r.stderr.strip() != "", f"files of at most {n} bytes: a message", r)
        r = compile_in(home(f"null{n}"), "-t", "null", limits={resource.RLIMIT_FSIZE: min(n, 512)})
        check(r.returncode == 1 and ("ulimit -f" in r.stderr or "too large" in r.stderr), "  an artifact without kernels of C", r)


ordinary()
links()
pipes()
left_behind()
files_of_compilers()
bad_compilers()
folders()
limits()
done()
