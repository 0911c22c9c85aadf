# SPDX-License-Identifier: Apache-2.0
"""Kernels over much memory: loads are as wide as they can be, and -t cuda computes on the simulated device, which looks for races, what the
cpu does."""
import os
import random
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
import clitest
from clitest import BUILD, check, path, tenon, write

SIM = os.path.join(BUILD, "tests", "cuda", "sim", ".libs")
MODEL = """\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(({shape}), "{dtype}"){more}):
        {symbols}
        with R.dataflow():
            y = {expression}
            R.output(y)
        return y
"""
# shape of x with n for what is not known (here 520), dtype, more parameters, what is computed; what stands in a kernel; tolerance
CASES = (
    ("many floats", "512, 520", "float32", "", "R.add(R.multiply(x, x), x)", "float4", 1e-6),
    ("many float16, not known how many", '"n", 1024', "float16", "", "R.nn.silu(x)", "tk_ushort8", 2e-3),
    ("rows of a length that is not known", '512, "n"', "float32", "", "R.exp(x)", "", 1e-5),
    ("odd rows", "1024, 513", "float32", "", "R.exp(x)", "", 1e-5),
    ("sums along memory", "1040, 256", "float32", "", "R.sum(x, axis=0)", "threadIdx.y", 1e-4),
    ("a row by a matrix", "1, 32", "float16", ', w: R.Tensor((32, 16384), "float16")', "R.matmul(x, w)", "ushort4", 2e-3),
    ("rows of a number that is not known", '"n", 96', "float32", ', w: R.Tensor((96, 260), "float32")', "R.nn.silu(R.matmul(x, w))", "_shared_local", 1e-4),
    ("rows by rows", "96, 72", "float32", ', w: R.Tensor((132, 72), "float32")', "R.matmul(x, R.permute_dims(w))", "_shared_local", 1e-4),
    ("a row by a matrix of odd rows", "1, 512", "float32", ', w: R.Tensor((512, 521), "float32")', "R.matmul(x, w)", "threadIdx.y", 1e-4),
)
if not os.path.exists(os.path.join(SIM, "libcuda.so.1")):
    print("no simulated device (cmocka is missing)")
    sys.exit(77)
ENV = dict(os.environ, LD_LIBRARY_PATH=SIM + ":" + os.environ.get("LD_LIBRARY_PATH", ""), CUDASIM_ARCH="80")
draw = random.Random(7)


def tensor(name, shape, dtype):
    n = 1
    for d in shape:
        n *= d
    code, kind = {"float32": ("<f4", float), "float16": ("<f2", float)}[dtype]
    with open(path(name + ".npy"), "wb") as f:
        f.write(clitest.npy_bytes(code, shape, [kind(draw.randrange(-64, 65) / 64) for _ in range(n)]))
    return ["-i", name + "=" + path(name + ".npy")]


def numbers(directory):
    return clitest.read_npy(os.path.join(directory, os.listdir(directory)[0]))[2]


for k, (what, shape, dtype, more, expression, stands, error) in enumerate(CASES):
    symbols = "n = T.int64()" if '"n"' in shape else ""
    file = write(f"case{k}.py", MODEL.format(shape=shape, dtype=dtype, more=more, expression=expression, symbols=symbols))
    names = tenon("show", "kernel", file, "-t", "cuda").stdout.split()
    sources = "".join(tenon("show", "kernel", file, n, "-t", "cuda").stdout for n in names)
    check(sources and stands in sources, f"{what}: {stands or 'a kernel'}")
    if "matmul" in expression:
        check("rows by rows" in what or len(names) == 1, f"{what}: one kernel: {names}")
    inputs = tensor("x", [int(d) for d in shape.replace('"n"', "520").split(",")], dtype)
    if more:
        inputs += tensor("w", [int(d) for d in more.split("((")[1].split(")")[0].split(",")], dtype)
    cpu, gpu = tenon("run", file, *inputs, "-o", path("cpu")), tenon("run", file, "-t", "cuda", *inputs, "-o", path("cuda"), env=ENV)
    if gpu.returncode != 0 and "NVRTC" in gpu.stderr:
        print("no NVRTC")
        sys.exit(77)
    same = cpu.returncode == 0 and gpu.returncode == 0
    if same:
        a, b = numbers(path("cpu")), numbers(path("cuda"))
        same = len(a) == len(b) > 0 and all(abs(x - y) <= error * (1 + abs(x)) for x, y in zip(a, b))
    check(same, f"{what}: as on the cpu", gpu)
clitest.done()
