# SPDX-License-Identifier: Apache-2.0
"""-t cuda with NVRTC: kernels of all kinds become PTX and cubins for each architecture, are kept in the cache, and what is wrong is said."""
import os
import re
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
import clitest
from clitest import BUILD, DIGITS, check, path, refused, tenon, write

ARCHS = "sm_75", "sm_80", "sm_90a", "sm_100a"

KINDS = """\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 64), "{0}"), w: R.Tensor((64, 128), "{0}"), i: R.Tensor(("n",), "int64")):
        n = T.int64()
        with R.dataflow():
            y = R.matmul(x, w)
            s = R.nn.softmax(y, axis=-1)
            m = R.mean(s, axis=0)
            t = R.take(x, i, axis=0)
            e = R.where(R.greater(t, x), R.exp(t), R.tanh(x))
            c = R.cumsum(e, axis=1)
            o = R.sort(c, axis=1)
            a = R.argmax(o, axis=1)
            R.output(m, o, a)
        return (m, o, a)
"""
INTEGERS = """\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 33), "{0}"), y: R.Tensor(("n", 33), "{0}")):
        n = T.int64()
        with R.dataflow():
            a = R.add(R.multiply(x, y), R.floor_divide(x, y))
            b = R.bitwise_and(a, y)
            c = R.sum(R.astype(b, "int64"), axis=1)
            d = R.astype(R.equal(x, y), "float32")
            R.output(b, c, d)
        return (b, c, d)
"""

# elements that share a byte with others
PACKED = """\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((64, 33), "float32")):
        with R.dataflow():
            y = R.astype(x, "{0}")
            z = R.astype(R.reshape(y, (33, 64)), "float32")
            R.output(y, z)
        return (y, z)
"""


def payload(file):
    """The kernels of an artifact for cuda: (architecture, {name: (PTX, cubin, threads)})."""
    with open(file, "rb") as f:
        data = f.read()
    at = data.find(struct.pack("<II", 0x44435454, 1))
    n, = struct.unpack_from("<I", data, at + 8)
    arch = data[at + 16:at + 32].rstrip(b"\0").decode()
    out = {}
    for k in range(n):
        name, _, ptx, cubin, n_ptx, n_cubin, n_name, _, threads, _ = struct.unpack_from("<6Q4I", data, at + 32 + 64 * k)
        out[data[at + name:at + name + n_name - 1].decode()] = (
            data[at + ptx:at + ptx + n_ptx - 1].decode(), data[at + cubin:at + cubin + n_cubin], threads)
    return arch, out


def instructions(ptx):
    """The names of the instructions of PTX."""
    statements = re.split(r"[;{}\n]", re.sub(r"//.*", "", ptx))
    found = (re.match(r"\s*(?:[$\w]+:\s*)?(?:@!?%\w+\s+)?([a-z]\w*(?:\.[\w:]+)+)(?:\s|$)", s) for s in statements)
    return {m[1] for m in found if m}


used = set()
model = write("first.py", KINDS.format("float32"))
# what an architecture does not have, which needs no NVRTC to be said
for arch, attr, texts in (
        ("sm_80", "matrix_units=float15", ("float15", "expected auto, float16 or bfloat16")),
        ("sm_75", "matrix_units=float16, bfloat16", ("matrix_units has 'bfloat16'", "sm_75 does not multiply", "it has them for float16;")),
        ("sm_90a", "matrix_units=auto, float16", ("matrix_units has 'auto'", "sm_90a does not multiply", "float16 and bfloat16")),
        ("sm_70", "matrix_units=float16", ("matrix_units has 'float16'", "it has none")),
        ("sm_75", "supports_async_copy=true", ("sm_75 has no cp.async", "sm_80"))):
    refused(f"{attr} of {arch}", tenon("compile", model, "-t", "cuda", "--set", "target.cuda.arch=" + arch, "--set", "target.cuda." + attr,
                                       "-o", path("first.tno")), "target cuda", *texts)
    check(not os.path.exists(path("first.tno")), "nothing is left behind")
r = tenon("compile", model, "-t", "cuda", "-o", path("first.tno"))
if r.returncode != 0 and "NVRTC" in r.stderr:
    refused("without NVRTC", r, "cannot be opened", "nvrtc")
    check(not os.path.exists(path("first.tno")), "nothing is left behind")
    print("no NVRTC: nothing more is tested")
    clitest.done()

for arch in ARCHS:
    seen = 0
    for what, text, dtypes in (("floats", KINDS, ("float32", "float16", "bfloat16", "float64")),
                               ("integers", INTEGERS, ("int8", "uint8", "int16", "int32", "int64"))):
        for d in dtypes:
            r = tenon("compile", write(f"{what}-{d}.py", text.format(d)), "-t", "cuda", "--set", f"target.cuda.arch={arch}", "-o", path("m.tno"))
            ok = r.returncode == 0
            got, kernels = payload(path("m.tno")) if ok else ("", {})
            check(ok and got == arch and len(kernels) >= 3, f"{arch}: {what} of {d} are compiled", r)
            for name, (ptx, cubin, threads) in kernels.items():
                ok = f".target {arch}" in ptx and re.search(rf"\.entry {name}\(", ptx) and cubin[:4] == b"\x7fELF" and 1 <= threads <= 1024
                ok = ok and re.search(rf"\.maxntid {threads}\b", ptx)
                used |= instructions(ptx)
                seen += 1
                if not ok:
                    check(False, f"{arch}: kernel {name} of {what} of {d} has PTX and a cubin for {threads} threads")
    check(seen > 40, f"{arch}: {seen} kernels have PTX and a cubin")

for d in "int4", "uint4", "int2", "uint2":
    r = tenon("compile", write(f"packed-{d}.py", PACKED.format(d)), "-t", "cuda", "-o", path("m.tno"))
    check(r.returncode == 0 and any("atom" in ptx or "red." in ptx for ptx, _, _ in payload(path("m.tno"))[1].values()),
          f"{d} is stored by threads that share a byte", r)

record = os.path.join(BUILD, "tests", "cuda", "record", "record")
if os.path.exists(record):
    forms = subprocess.run([record, "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    check(len(used) > 100, f"kernels have {len(used)} forms of instructions")
    check(used <= set(forms), "all are recorded (tests/cuda/record): " + (", ".join(sorted(used - set(forms))) or "yes"))

# a model, and the cache of kernels
digits = os.path.join(DIGITS, "digits.onnx")
if os.path.exists(os.path.join(BUILD, "plugins-stage", "onnx.so")):
    cache = ["--set", "tenon.cache_dir=" + path("cache")]
    first = tenon("compile", digits, "-t", "cuda", "-o", path("a.tno"), "--timing", *cache)
    again = tenon("compile", digits, "-t", "cuda", "-o", path("b.tno"), "--timing", *cache)
    check(first.returncode == 0 and again.returncode == 0, "a model is compiled", first)
    kept = [f for at, _, files in os.walk(path("cache")) for f in files if f.endswith(".cuda")]
    check(len(kept) == len(payload(path("a.tno"))[1]), "each of its kernels is kept", first)
    with open(path("a.tno"), "rb") as a, open(path("b.tno"), "rb") as b:
        check(a.read() == b.read(), "from the cache it is the same")
    for at, _, files in os.walk(path("cache")):
        for f in files:
            if f.endswith(".cuda"):
                with open(os.path.join(at, f), "r+b") as o:
                    o.truncate(100)
    r = tenon("compile", digits, "-t", "cuda", "-o", path("c.tno"), *cache)
    with open(path("a.tno"), "rb") as a, open(path("c.tno"), "rb") as c:
        check(r.returncode == 0 and a.read() == c.read(), "damaged files of the cache are made anew", r)
    jobs = [tenon("compile", digits, "-t", "cuda", "-o", path("j%d.tno" % j), "-j", j, "--no-cache") for j in (1, 7)]
    with open(path("j1.tno"), "rb") as a, open(path("j7.tno"), "rb") as b:
        check(a.read() == b.read(), "so many are compiled at once: the result is the same", jobs[1])

for attr in "matrix_units=bfloat16", "matrix_units=", "supports_async_copy=false", "supports_async_copy=true":
    r = tenon("compile", model, "-t", "cuda", "--set", "target.cuda." + attr, "-o", path("given.tno"))
    check(r.returncode == 0, f"sm_80 takes {attr}", r)
r = tenon("show", "kernel", model, "-t", "cuda", "--cost")
found = re.findall(r"registers +(\d+) of a thread\n  spilled +(\d+) bytes", r.stdout)
check(len(found) >= 3 and all(8 <= int(n) <= 255 and s == "0" for n, s in found), "its kernels' registers are shown, none is in memory", r)
r = tenon("show", "kernel", model, "-t", "cuda", "--cost")
check(re.findall(r"registers +(\d+) of a thread\n  spilled +(\d+) bytes", r.stdout) == found, "from the cache they are the same", r)
r = tenon("show", "kernel", model, "matmul", "-t", "cuda")
check(r.returncode == 0 and "__global__" in r.stdout and "TK_BOUNDS(" in r.stdout, "its source is shown", r)

r = tenon("compile", model, "-t", "cuda", "--set", "target.cuda.max_threads_per_block=64", "--set", "target.cuda.max_num_threads=64", "-o",
          path("few.tno"))
check(r.returncode == 0 and max(k[2] for k in payload(path("few.tno"))[1].values()) <= 64, "blocks have no more threads than the target allows", r)

r = tenon("compile", model, "-t", "cuda", "--set", "target.cuda.arch=sm_150", "-o", path("newer.tno"))
check(r.returncode == 0 and "does not know sm_150: kernels are compiled for sm_" in r.stderr and payload(path("newer.tno"))[0] != "sm_150",
      "for an architecture that is newer than NVRTC kernels are compiled for the newest that it knows", r)

# what is wrong
refused("an architecture that NVRTC does not know", tenon("compile", model, "-t", "cuda", "--set", "target.cuda.arch=sm_70", "-o", path("n.tno")),
        "sm_70", "it compiles for sm_")
refused("an architecture of another form", tenon("compile", model, "-t", "cuda", "--set", "target.cuda.arch=gfx90", "-o", path("n.tno")), "gfx90", "sm_80")
refused("a library that is not there", tenon("compile", model, "-t", "cuda", "--set", "target.cuda.nvrtc=/nowhere/libnvrtc.so", "-o", path("n.tno")),
        "/nowhere/libnvrtc.so", "nvrtc")
refused("a library that is another", tenon("compile", model, "-t", "cuda", "--set", "target.cuda.nvrtc=libm.so.6", "-o", path("n.tno")), "nvrtcVersion")
check(not os.path.exists(path("n.tno")), "nothing is left behind")
r = tenon("run", path("first.tno"))
check(r.returncode == 1 and "cuda" in r.stderr, "without a device it does not run", r)
clitest.done()
