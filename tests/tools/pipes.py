#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pipes, devices and symbolic links as inputs and outputs work, or are refused with a message that says what they are."""
import shutil
import subprocess
import threading
from clitest import DIGITS, TENON, check, done, os, path, read_npy, refused, tenon, write

MODEL, DIGIT = os.path.join(DIGITS, "digits.onnx"), os.path.join(DIGITS, "digit0.npy")
TNO = path("digits.tno")
TEXT = write("text.py", """
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        with R.dataflow():
            gv = R.add(x, x)
            R.output(gv)
        return gv
""")
r = tenon("compile", MODEL, "-o", TNO)
check(r.returncode == 0, "the model is compiled", r)


def piped(data, *args):
    """tenon with `data` (the name of a file) behind a pipe on standard input."""
    with open(data, "rb") as f:
        return subprocess.run([TENON, *args], input=f.read(), capture_output=True, timeout=300)


def text(r):
    r.stdout, r.stderr = r.stdout.decode(errors="replace"), r.stderr.decode(errors="replace")
    return r


want = tenon("run", TNO, "-i", f"image={DIGIT}")
check(want.returncode == 0 and "top [0]" in want.stdout, "a file is read", want)

# ---- inputs ----
for name in ("/dev/stdin", "-"):
    r = text(piped(DIGIT, "run", TNO, "-i", f"image={name}"))
    check(r.stdout == want.stdout, f"an input from {name}, a pipe", r)
with open(DIGIT) as f:
    r = subprocess.run([TENON, "run", TNO, "-i", "image=/dev/stdin"], stdin=f, capture_output=True, text=True, timeout=300)
check(r.stdout == want.stdout, "an input from /dev/stdin, a file", r)
os.mkfifo(path("fifo.npy"))
thread = threading.Thread(target=lambda: shutil.copyfileobj(open(DIGIT, "rb"), open(path("fifo.npy"), "wb")))
thread.start()
r = tenon("run", TNO, "-i", f"image={path('fifo.npy')}")
thread.join()
check(r.stdout == want.stdout, "an input from a named pipe", r)
os.symlink(DIGIT, path("link.npy"))
check(tenon("run", TNO, "-i", f"image={path('link.npy')}").stdout == want.stdout, "an input through a link")
refused("bytes of another kind from a pipe", text(piped(MODEL, "run", TNO, "-i", "image=/dev/stdin")), "/dev/stdin: neither an .npy file")
refused("an input without a known ending", tenon("run", TNO, "-i", f"image={MODEL}"), "tensors are read from .npy and .pb files")
r = tenon("run", TNO, "-i", f"image={DIGIT}", "-o", path("want"))
r = text(piped(os.path.join(path("want"), "0-probabilities.npy"), "run", TNO, "-i", f"image={DIGIT}", "--expect", "probabilities=/dev/stdin"))
check(r.returncode == 0, "what is expected from a pipe", r)

# ---- models, modules and artifacts ----
for data, what in ((MODEL, "a model"), (TNO, "an artifact")):
    refused(what + " from a pipe", text(piped(data, "run", "/dev/stdin")), "/dev/stdin: ", "from a regular file", "write it to a file first")
os.symlink(MODEL, path("link.onnx"))
os.symlink(TNO, path("link"))
check(tenon("compile", path("link.onnx"), "-o", path("other.tno")).returncode == 0, "a model through a link")
check(tenon("run", path("link"), "-i", f"image={DIGIT}").stdout == want.stdout, "an artifact through a link, of any name")
for command in (["check", "/dev/stdin"], ["opt", "/dev/stdin", "-p", "LegalizeOps"], ["opt", "-", "-p", "LegalizeOps"]):
    r = text(piped(TEXT, *command))
    check(r.returncode == 0 and r.stdout, f"a module from a pipe: {' '.join(command)}", r)

# ---- outputs ----
printed = tenon("opt", TEXT, "-p", "LegalizeOps")
piped_out = subprocess.run([TENON, "opt", TEXT, "-p", "LegalizeOps", "-o", "/dev/stdout"], capture_output=True, text=True, timeout=300)
check(printed.stdout and piped_out.stdout == printed.stdout, "a module to /dev/stdout, a pipe", piped_out)
r = subprocess.run([TENON, "compile", MODEL, "-o", "/dev/stdout"], capture_output=True, timeout=300)
refused("an artifact to a pipe", text(r), "cannot write '/dev/stdout': it is a device, pipe or socket")
refused("an artifact to a device", tenon("compile", MODEL, "-o", "/dev/null"), "cannot write '/dev/null'")
r = subprocess.run(f"'{TENON}' compile '{MODEL}' -o /dev/stdout > '{path('redirected.tno')}'", shell=True, capture_output=True, text=True, timeout=300)
check(r.returncode == 0 and tenon("run", path("redirected.tno"), "-i", f"image={DIGIT}").stdout == want.stdout, "an artifact to /dev/stdout, a file", r)

write("real.tno", "old")
os.symlink("real.tno", path("out.tno"))
r = tenon("compile", MODEL, "-o", path("out.tno"))
check(r.returncode == 0 and os.path.islink(path("out.tno")) and os.path.getsize(path("real.tno")) > 1000, "an artifact through a link", r)
write("real.py", "old")
os.symlink("real.py", path("out.py"))
r = tenon("opt", TEXT, "-p", "LegalizeOps", "-o", path("out.py"))
check(r.returncode == 0 and os.path.islink(path("out.py")) and os.path.getsize(path("real.py")) > 100, "a module through a link", r)
os.mkdir(path("res"))
write("res/real.npy", "old")
os.symlink("real.npy", path("res/0-probabilities.npy"))
r = tenon("run", TNO, "-i", f"image={DIGIT}", "-o", path("res"))
check(r.returncode == 0 and os.path.islink(path("res/0-probabilities.npy")) and read_npy(path("res/real.npy"))[1] == (1, 10),
      "a result through a link", r)
os.symlink("nowhere.tno", path("dangling.tno"))
refused("an artifact through a link to nothing", tenon("compile", MODEL, "-o", path("dangling.tno")),
        "a link to 'nowhere.tno', which does not exist", "remove the link")
check(os.path.islink(path("dangling.tno")), "and the link stays")
refused("results in a file", tenon("run", TNO, "-o", TEXT), "cannot make folder")

# ---- the cache: never through a link ----
cache = path("cache")
os.mkdir(cache, 0o700)
env = {"XDG_CACHE_HOME": cache}
check(tenon("compile", MODEL, "-o", path("a.tno"), env=env).returncode == 0, "the cache is filled")
entries = [os.path.join(d, f) for d, _, files in os.walk(cache) for f in files]
check(bool(entries), "and has entries")
victim = write("victim", "precious")
for e in entries:
    os.unlink(e)
    os.symlink(victim, e)
r = tenon("compile", MODEL, "-o", path("b.tno"), env=env)
check(r.returncode == 0 and open(victim).read() == "precious", "no entry is written through a link", r)
check(open(path("a.tno"), "rb").read() == open(path("b.tno"), "rb").read(), "nor read through one")
# ---- standard output that is closed or full; files that are opened must not take its place ----
for command in (["run", MODEL], ["run", TNO], ["bench", MODEL, "--runs", "1"], ["show", "model", MODEL], ["opt", TEXT, "-p", "LegalizeOps"],
                ["list", "targets"], ["--help"], ["--version"], ["run", "--help"]):
    for where in (">&-", ">/dev/full"):
        r = subprocess.run(["sh", "-c", f'exec "$0" "$@" {where}', TENON, *command], capture_output=True, text=True, timeout=300)
        refused(f"{' '.join(command[:1])} {where}", r, "cannot write")
r = subprocess.run(["sh", "-c", 'exec "$0" "$@" 2>&-', TENON, "run", TNO, "-i", f"image={DIGIT}"], capture_output=True, text=True, timeout=300)
check(r.returncode == 0 and r.stdout == want.stdout, "closed standard error changes nothing", r)
r = subprocess.run(["sh", "-c", 'exec "$0" "$@" <&-', TENON, "run", TNO, "-i", "image=-"], capture_output=True, text=True, timeout=300)
refused("closed standard input", r, "cannot read 'standard input'")

# ---- standard output that takes nothing ----
for args in (["--version"], ["--help"], ["run", "--help"], ["help", "compile"], ["list", "ops"], ["list", "ops", "--json"], ["show", "passes"], ["show", "config"], ["show", "settings"], ["doctor"],
             ["run", TNO], ["bench", TNO, "--runs", "2"], ["opt", TEXT, "-p", ""], ["show", "model", MODEL], ["show", "model", MODEL, "--json"], ["help", "--completion", "bash"]):
    with open("/dev/full", "w") as f:
        r = subprocess.run([TENON, *args], stdout=f, stderr=subprocess.PIPE, text=True, timeout=300)
    r.stdout = ""
    check(r.returncode == 1 and "cannot write standard output: No space left on device\n  hint: free some space" in r.stderr, f"tenon {' '.join(map(os.path.basename, args))} on a full disk says why", r)
    r = subprocess.run(["sh", "-c", 'exec "$0" "$@" >&-', TENON, *args], stderr=subprocess.PIPE, text=True, timeout=300)
    r.stdout = ""
    check(r.returncode == 1 and "cannot write standard output: Bad file descriptor" in r.stderr, f"tenon {' '.join(map(os.path.basename, args))} with a closed output says why", r)
done()
