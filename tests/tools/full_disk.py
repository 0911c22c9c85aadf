# SPDX-License-Identifier: Apache-2.0
"""Every command and option that writes files, on a file system without room, one with little room, and one that is read-only: an error that
names the file and the reason, no file that is half written, and what was there before is as it was."""
import os
import re
import shlex
import shutil
import subprocess
import sys

from clitest import DIGITS, TENON, check, done, path, tenon, write

DISK = path("disk")
os.makedirs(DISK)
ROOT = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
if not shutil.which("unshare") or subprocess.run([*ROOT, "mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", DISK], capture_output=True).returncode != 0:
    print("no file systems of one's own here: skipped")
    sys.exit(77)

MODEL = os.path.join(DIGITS, "digits.onnx")
TEXT = write("text.py", """
from tvm.script import ir as I, relax as R
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return R.add(x, x)
""")
FULL, LITTLE, READ_ONLY = "full", "little", "read-only"
# What is written: of (command, option) the words; OLD: there is a file of that name already. An option named in --help that is not here fails the test.
WRITERS = {
    ("compile", "output"): [["compile", MODEL, "-o", "OUT.tno"], ["compile", MODEL, "-o", "OLD.tno"], ["compile", MODEL, "--emit=c", "-o", "OUT"],
                            ["compile", MODEL, "--emit=obj", "-o", "OUT"], ["compile", MODEL, "--emit=static-lib", "-o", "OUT"]],
    ("compile", "dump-ir"): [["compile", MODEL, "-o", path("fine.tno"), "--dump-ir", "OUT"]],
    ("compile", "trace"): [["compile", MODEL, "-o", path("fine.tno"), "--trace", "OUT.json"], ["compile", MODEL, "-o", path("fine.tno"), "--trace", "OLD.json"]],
    ("compile", "reproducer"): [],  # as that of opt
    ("run", "output-dir"): [["run", MODEL, "-o", "OUT"]],
    ("run", "dump-ir"): [["run", MODEL, "--dump-ir", "OUT"]],
    ("run", "trace"): [["run", MODEL, "--trace", "OUT.json"]],
    ("opt", "output"): [["opt", TEXT, "-p", "LegalizeOps", "-o", "OUT.py"], ["opt", TEXT, "-p", "LegalizeOps", "-o", "OLD.py"]],
    ("opt", "dump-ir"): [["opt", TEXT, "-p", "LegalizeOps", "-o", path("fine.py"), "--dump-ir", "OUT"]],
    ("opt", "trace"): [["opt", TEXT, "-p", "LegalizeOps", "-o", path("fine.py"), "--trace", "OUT.json"]],
    ("opt", "reproducer"): [["opt", TEXT, "-p", "ApplyScheduleTrace{trace=/nonexistent/t}", "--reproducer", "OUT.py"]],
    ("tune", "tuning-db"): [["tune", MODEL, "--time", "1", "--tuning-db", "OUT.jsonl"]],
    ("new-plugin", ""): [["new-plugin", "acme", "OUT"]],
    ("plugin", ""): [["plugin", "disable", "null"]],
}
NAMES = ("output", "output-dir", "dump-ir", "trace", "reproducer")
for c in re.findall(r"^  ([a-z][a-z-]+) ", tenon("--help").stdout, re.M):
    own = tenon(c, "--help").stdout.split("\nCommon options:\n")[0]
    for option in re.findall(r"^  (?:-\w, |    )--([a-z-]+) ", own, re.M):
        check(option not in NAMES or (c, option) in WRITERS, f"tenon {c} --{option} writes, and is tried")


def on_disk(how, words, **more):
    """`more`: variables of the environment, OUT in them. Exit status, what was said, {file: bytes} of the file system before and after."""
    before = {} if how == READ_ONLY else {"OLD.tno": 64, "OLD.json": 64, "OLD.py": 64}
    size = {FULL: 12, LITTLE: 24, READ_ONLY: 64}[how]
    lines = [f"mount -t tmpfs -o size={size}k tmpfs {DISK}", f"cd {DISK}"]
    lines += [f"head -c 64 /dev/zero >{f}" for f in before]  # a page of 4 KiB each
    lines += [f"mount -o remount,ro {DISK}"] if how == READ_ONLY else []
    lines += ["ls -l", "echo ==", shlex.join([TENON, *(os.path.join(DISK, w) if w[:3] in ("OUT", "OLD") else w for w in words)]), "echo == $?", "find . -type f -printf '%p %s\\n'"]
    env = dict(os.environ, XDG_CONFIG_HOME=os.path.join(DISK, "OUT"), **more)
    return subprocess.run([*ROOT, "sh", "-c", "\n".join(lines)], capture_output=True, text=True, errors="replace", env=env, timeout=300)


for (c, option), calls in WRITERS.items():
    for words in calls:
        for how in (FULL, LITTLE, READ_ONLY):
            if (how == LITTLE and "--reproducer" in words) or how == READ_ONLY and any(w.startswith("OLD") for w in words):
                continue
            r = on_disk(how, words)
            parts = r.stdout.split("\n==")
            status = re.match(r" (\d+)$", parts[-1].split("\n")[0])
            left = dict(line.rsplit(" ", 1) for line in parts[-1].split("\n")[1:] if line)
            sizes = {f[2:]: int(n) for f, n in left.items()}
            new = {f: n for f, n in sizes.items() if not f.startswith("OLD")}
            old = {f: n for f, n in sizes.items() if f.startswith("OLD")}
            what = f"{' '.join(os.path.basename(w) if w.startswith('/') else w for w in words)} ({how})"
            if how == LITTLE and status and status[1] == "0":
                continue  # there was room enough
            reason = "ead-only file system" if how == READ_ONLY else "o space left on device"
            ok = status and status[1] == "1" and reason in r.stderr and DISK in r.stderr
            check(ok, f"{what}: says where and why", r)
            check(r.stderr.count(reason) == 1 and (how == READ_ONLY or "--reproducer" in words or "free some space" in r.stderr), f"{what}: once, with a hint", r)
            check(not [f for f in new if ".tmp" in f or new[f] == 0], f"{what}: leaves no half file: {new}", r)
            if how == FULL:
                check(not new, f"{what}: leaves nothing: {new}", r)
            check(all(n == 64 for n in old.values()), f"{what}: what was there stays: {old}", r)

# ---- the folders that nobody names: of temporary files, and of the cache ----
for words in (["compile", MODEL, "--no-cache", "-o", path("fine.tno")], ["compile", MODEL, "--no-cache", "--emit=obj", "-o", path("fine")]):
    for how in (FULL, READ_ONLY):
        r = on_disk(how, words, TMPDIR=DISK)
        check("\n== 1\n" in r.stdout and DISK in r.stderr and "hint: " in r.stderr and not re.search(r"^\./tenon-", r.stdout, re.M), f"{words[0]} {words[-3]}: no room for temporary files ({how})", r)
for how in (FULL, READ_ONLY):
    r = on_disk(how, ["run", MODEL], XDG_CACHE_HOME=DISK)
    check("\n== 0\n" in r.stdout and ("warning: compiled kernels are not kept" in r.stderr or "kernel cache disabled" in r.stderr) and DISK in r.stderr, f"run: no room for the cache ({how})", r)
done()
