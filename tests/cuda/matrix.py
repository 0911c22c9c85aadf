# SPDX-License-Identifier: Apache-2.0
"""Matrix products of float16 and bfloat16 on matrix units: -t cuda computes on the simulated device, which looks for races, what the cpu
does, for operands of both orders, extents that no tile divides, and what is computed of the result. Products of int8 are dp2a and dp4a."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
import clitest
from clitest import BUILD, check, path, tenon, write

SIM = os.path.join(BUILD, "tests", "cuda", "sim", ".libs")
MODEL = """\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 72), "float32"), w: R.Tensor((72, 96), "float32"), v: R.Tensor((40, 96), "float32"), b: R.Tensor((96,), "float32")):
        n = T.int64()
        with R.dataflow():
            y = R.nn.relu(R.add(R.matmul(R.astype(x, "{0}"), R.astype(w, "{0}")), R.astype(b, "{0}")))
            z = R.matmul(y, R.permute_dims(R.astype(v, "{0}")), out_dtype="float32")
            a = R.astype(y, "float32")
            R.output(a, z)
        return (a, z)
"""
INTEGERS = """\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((64, 128), "int8"), w: R.Tensor((128, 64), "int8")):
        with R.dataflow():
            y = R.matmul(x, w, out_dtype="int32")
            R.output(y)
        return y
"""
if not os.path.exists(os.path.join(SIM, "libcuda.so.1")):
    print("no simulated device (cmocka is missing)")
    sys.exit(77)


def sim(arch, order):
    return dict(os.environ, LD_LIBRARY_PATH=SIM + ":" + os.environ.get("LD_LIBRARY_PATH", ""), CUDASIM_ARCH=arch, **order)


def numbers(directory):
    return [clitest.read_npy(os.path.join(directory, file))[2] for file in sorted(os.listdir(directory))]


INPUTS = []
for name, shape in (("x", (50, 72)), ("w", (72, 96)), ("v", (40, 96)), ("b", (96,))):
    count = shape[0] * (shape[1] if len(shape) > 1 else 1)
    with open(path(name + ".npy"), "wb") as f:
        f.write(clitest.npy_bytes("<f4", shape, [(i * 37 % 101 - 50) / 64 for i in range(count)]))
    INPUTS += ["-i", name + "=" + path(name + ".npy")]
for dtype, arch, order, error in (("float16", "80", {}, 2e-3), ("float16", "75", {"CUDASIM_SEED": "1"}, 2e-3),
                                  ("bfloat16", "80", {"CUDASIM_SEED": "2", "CUDASIM_LATE": "1"}, 2e-2)):
    file, made = write(dtype + ".py", MODEL.format(dtype)), path(f"{dtype}_{arch}.tno")
    r = tenon("compile", file, "-t", "cuda", "--set", "target.cuda.arch=sm_" + arch, "-o", made)
    if r.returncode != 0 and "NVRTC" in r.stderr:
        print("no NVRTC")
        sys.exit(77)
    check(r.returncode == 0, f"{dtype} for sm_{arch} is compiled", r)
    with open(made, "rb") as f:
        data = f.read()
    check((b"mma.sync.aligned.m16n8k16" if arch == "80" else b"mma.sync.aligned.m16n8k8") in data and b"ldmatrix" in data, f"{dtype} for sm_{arch} is multiplied by matrix units")
    cpu = tenon("run", file, *INPUTS, "-o", path("cpu"))
    gpu = tenon("run", made, *INPUTS, "-o", path("cuda"), env=sim(arch, order))
    same = cpu.returncode == 0 and gpu.returncode == 0
    for a, b in zip(*(numbers(path(d)) for d in ("cpu", "cuda"))) if same else ():
        same = same and len(a) == len(b) > 0 and all(abs(x - y) <= error * (1 + abs(x)) for x, y in zip(a, b))
    check(same, f"{dtype}, sm_{arch}, {order}: as on the cpu", gpu)

# A copy into shared memory does not write what it copies: an operand may be a constant, in products of both kinds that copy so
CONSTANT = """\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(({0}), "{1}"), w: R.Tensor((64, {2}), "{1}")):
        with R.dataflow():
            y = R.matmul(x, w)
            R.output(y)
        return y
"""
for dtype, code, rows, columns, error in (("float16", "<f2", 128, 128, 2e-3), ("float32", "<f4", 256, 512, 1e-4)):
    file, bound = write("constant.py", CONSTANT.format(f"{rows}, 64", dtype, columns)), []
    for name, option, shape in (("x", "-i", (rows, 64)), ("w", "--bind", (64, columns))):
        with open(path(f"{name}-{dtype}.npy"), "wb") as f:
            f.write(clitest.npy_bytes(code, shape, [(i * 37 % 101 - 50) / 64 for i in range(shape[0] * shape[1])]))
        bound += [option, f"{name}={path(f'{name}-{dtype}.npy')}"]
    source = tenon("show", "kernel", file, "matmul", "-t", "cuda").stdout
    cpu = tenon("run", file, *bound, "-o", path("cpu"))
    gpu = tenon("run", file, "-t", "cuda", *bound, "-o", path("cuda"), env=sim("80", {}))
    same = cpu.returncode == 0 and gpu.returncode == 0
    a, b = (numbers(path(d))[0] if same else [] for d in ("cpu", "cuda"))
    check("tk_cp_async16" in source and len(a) == len(b) > 0 and all(abs(x - y) <= error * (1 + abs(x)) for x, y in zip(a, b)),
          f"{dtype}: a constant is copied asynchronously: as on the cpu", gpu)

# NVRTC makes dp2a or dp4a of these
file, made = write("int8.py", INTEGERS), path("int8.tno")
r = tenon("compile", file, "-t", "cuda", "-o", made)
cpu = tenon("run", file, "-o", path("integers-cpu"))
gpu = tenon("run", made, "-o", path("integers"), env=sim("80", {}))
same = cpu.returncode == 0 and gpu.returncode == 0 and any(numbers(path("integers"))[0]) and numbers(path("integers-cpu")) == numbers(path("integers"))
with open(made, "rb") as f:
    check(same and re.search(rb"dp[24]a\.", f.read()), "int8: as on the cpu, by dp2a or dp4a", gpu)

# What a step of a large product takes of a thread: what CUTLASS's kernel of this tile (128 by 128 by 32, three stages) takes
LARGE = """\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4096, 4096), "float16"), w: R.Tensor((4096, 4096), "float16")):
        with R.dataflow():
            y = R.matmul(x, w)
            R.output(y)
        return y
"""
STEP = {"mma.sync": 64, "ldmatrix.sync": 16, "cp.async.cg": 8, "cp.async.commit_group": 1, "cp.async.wait_group": 1, "bar.sync": 1,
        "ld.shared": 0, "st.shared": 0, "ld.global": 0, "st.global": 0}
file = write("large.py", LARGE)
for arch in ("75", "80", "90a", "100a") if os.environ.get("TENON_LONG") else ("80",):
    r = tenon("show", "kernel", file, "matmul", "-t", "cuda", "--set", "target.cuda.arch=sm_" + arch, "--cost")
    check(re.search(r"spilled +0 bytes", r.stdout), f"sm_{arch}: a large product needs no memory for registers", r)
# 48 KiB of shared memory and more than 128 registers: a multiprocessor of sm_80 has room for three and two such blocks
for arch, line in ("80", "2 of a multiprocessor, as its registers allow"), ("75", "1 of a multiprocessor, as its shared memory allows"):
    r = tenon("show", "kernel", file, "matmul", "-t", "cuda", "--set", "target.cuda.arch=sm_" + arch, "--cost")
    check(re.search(rf"^  blocks at once +{line}$", r.stdout, re.M) and "fit there" not in r.stdout, f"sm_{arch}: {line}", r)
    check(re.search(rf"^  float operations +{2 * 4096 ** 3}$", r.stdout, re.M), f"sm_{arch}: the threads of a warp share the operations of mma", r)
    # each of 1024 blocks in 128 steps: two tiles written, and read by its four warps, each of which multiplies half of both
    check(re.search(rf"^  shared bytes +{1024 * 128 * (2 + 4) * 128 * 32 * 2} ", r.stdout, re.M), f"sm_{arch}: the bytes of ldmatrix and of copies", r)
    check(re.search(r"^  bank conflicts +none$", r.stdout, re.M), f"sm_{arch}: rows that ldmatrix loads meet in no bank", r)
r = tenon("show", "kernel", file, "matmul", "-t", "cuda", "--set", "target.cuda.arch=sm_88", "--cost")
check(r.returncode == 0 and "blocks at once" not in r.stdout, "nothing is said of an architecture whose resources are not known", r)
r = tenon("compile", file, "-t", "cuda", "-o", path("large.tno"))
with open(path("large.tno"), "rb") as f:
    ptx = f.read().decode("latin-1")
step = ""
for m in re.finditer(r"\n(\$L__BB\d+_\d+):", ptx):
    end = re.compile(r"bra[.a-z]*\s+" + re.escape(m[1]) + ";").search(ptx, m.end())
    body = ptx[m.end():end.start()] if end else ""
    step = body if body.count("mma.sync") > step.count("mma.sync") else step
check({i: step.count(i) for i in STEP} == STEP, "a step of it: " + ", ".join(f"{step.count(i)} {i}" for i in STEP))
clitest.done()
