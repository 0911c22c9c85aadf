# SPDX-License-Identifier: Apache-2.0
"""Memory beyond what a binding reaches (128 MiB on lavapipe) is bound in parts: loads, stores and, where there are no stores of 8 bits,
atomic operations reach each element, with descriptors pushed or in sets; also where extents are known at run time only."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
import clitest
from clitest import check, path, tenon, write

COLUMNS, BYTES = 11184812, 67108868  # 3 * COLUMNS floats and 2 * BYTES are a little more than 128 MiB
MODULE = """\
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main({}):
        with R.dataflow():
            {}
            R.output(a, b)
        return (a, b)
"""
FLOATS = MODULE.format(f'w: R.Tensor((3, {COLUMNS}), "float32"), i: R.Tensor((6,), "int64")',
                       "a = R.take(w, i, axis=1)\n            b = R.add(w, w)")
SYMBOLS = FLOATS.replace(f"(3, {COLUMNS})", '("n", "m")')
LETTERS = MODULE.format(f'h: R.Tensor(({BYTES},), "uint8"), i: R.Tensor((4,), "int64")',
                        "a = R.concat((h, h), axis=0)\n            b = R.take(h, i)")
TARGETS = """\
[target bound]
kind = gpu_generic
max_threads_per_block = 256
max_num_threads = 256
[target words]
kind = gpu_generic
max_threads_per_block = 256
max_num_threads = 256
"""

if not re.search(r"^gpu_generic .*\n    0: ", tenon("list", "devices").stdout, re.M):
    print("no Vulkan device")
    sys.exit(77)


def write_npy(name, descr, shape, chunk, n):
    """An array of n bytes: chunk over and over again; its path."""
    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * ((-11 - len(head)) % 64) + "\n"
    p = path(name)
    with open(p, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode())
        for at in range(0, n, len(chunk)):
            f.write(chunk[:n - at])
    return p


def floats(numbers):
    return clitest.npy_bytes("<f4", (len(numbers),), numbers)[-4 * len(numbers):]


def same(p, chunk, n):
    """Whether the array in the file is n bytes, chunk over and over again."""
    with open(p, "rb") as f:
        f.seek(10 + int.from_bytes(f.read(10)[8:10], "little"))
        for at in range(0, n, len(chunk)):
            if f.read(len(chunk)) != chunk[:n - at]:
                return False
        return not f.read(1)


PERIOD = 99991  # prime: a part that were taken for another one would show
numbers = [k % 8191 for k in range(PERIOD)]
columns = [0, 1, COLUMNS - 5, COLUMNS - 4, COLUMNS - 1, 5]
letters = bytes((k * 7 + k // 251) % 256 for k in range(BYTES % 65536 * 131 + 17))
ini = write("large.ini", TARGETS)
i = write("i.npy", clitest.npy_bytes("<i8", (6,), columns))


def run(target, model, settings, inputs, bindings):
    """The outputs' files."""
    arguments = [a for name, p in inputs for a in ("-i", f"{name}={p}")]
    r = tenon("run", model, "-t", target, "--config", ini, "-o", path(target), "--set", "device.gpu_generic.check_hazards=yes",
              *settings, *arguments)
    check(r.returncode == 0, f"{target}: it runs", r)
    for kernel, n in bindings:
        r = tenon("show", "kernel", model, kernel, "-t", target, "--config", ini)
        check(len(re.findall(r"OpDecorate %.* Binding ", r.stdout)) == n, f"{target}: {kernel} has {n} bindings", r)
    return sorted(os.path.join(path(target), f) for f in os.listdir(path(target))) if r.returncode == 0 else ()


w = write_npy("w.npy", "<f4", (3, COLUMNS), floats(numbers), 12 * COLUMNS)
for model, text, bindings in (("floats.py", FLOATS, 6), ("symbols.py", SYMBOLS, 3)):
    outputs = run("bound", write(model, text), [], [("w", w), ("i", i)], [("add", bindings)])
    if outputs:
        check(clitest.read_npy(outputs[0])[-1] == [numbers[(row * COLUMNS + c) % PERIOD] for row in range(3) for c in columns],
              f"{model}: what is loaded from all of it")
        check(same(outputs[1], floats([2 * x for x in numbers]), 12 * COLUMNS), f"{model}: what is stored to all of it")
    for p in outputs:
        os.remove(p)
os.remove(w)

letters = bytes((k * 7 + k // 251) % 256 for k in range(PERIOD))
h = write_npy("h.npy", "|u1", (BYTES,), letters, BYTES)
i = write("i.npy", clitest.npy_bytes("<i8", (4,), [0, BYTES - 1, BYTES - 4, 77]))
outputs = run("words", write("letters.py", LETTERS), ["--set", "device.gpu_generic.push_descriptors=no"], [("h", h), ("i", i)],
              [("concatenate", 4)])
if outputs:
    whole = (letters * (BYTES // PERIOD + 1))[:BYTES]
    with open(outputs[0], "rb") as f:
        data = f.read()[-2 * BYTES:]
    check(data[:BYTES] == whole and data[BYTES:] == whole, "bytes are stored to all of it")
clitest.done()
