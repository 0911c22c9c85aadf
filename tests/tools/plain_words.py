#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Messages about inputs and modules say in the field's words what is wrong, with the names that the user gave."""
import re
from clitest import check, done, npy_bytes, path, refused, tenon, write

HEAD = """
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

@I.ir_module
class Module:
"""
ADD = HEAD + """
    @R.function
    def main(x: %s, y: %s) -> %s:
        with R.dataflow():
            gv = R.add(x, y)
            R.output(gv)
        return gv
"""


def array(name, shape, descr="<f4"):
    n = 1
    for d in shape:
        n *= d
    return write(name, npy_bytes(descr, shape, [0] * n))


def add(name, x, y=None, result=None):
    return write(name, ADD % (x, y or x, result or x))


# ---- inputs that do not fit ----
N4 = 'R.Tensor(("n", 4), "float32")'
two = add("two.py", N4)
a3, a5, a35 = array("a3.npy", (3, 4)), array("a5.npy", (5, 4)), array("a35.npy", (3, 5))
for r, *texts in (
        (tenon("run", two, "-i", f"x={a3}", "-i", f"y={a5}"),
         "input 'y' is float32[5, 4]; the model needs float32[n, 4]", "n is 3, extent 0 of input 'x'"),
        (tenon("run", two, "-i", f"x={array('d.npy', (3, 4), '<f8')}", "-i", f"y={a3}"),
         "input 'x' is float64[3, 4]; the model needs float32[n, 4]", "hint: convert it: x.astype('float32')"),
        (tenon("run", two, "-i", f"x={array('v.npy', (4,))}", "-i", f"y={a3}"),
         "input 'x' is float32[4]; the model needs float32[n, 4]", "the first axis is missing"),
        (tenon("run", two, "-i", f"x={a35}", "-i", f"y={a35}"), "input 'x' is float32[3, 5]; the model needs float32[n, 4]"),
        (tenon("bench", add("nchw.py", 'R.Tensor((1, 3, 8, 8), "float32")'), "-i", f"x={array('nhwc.npy', (1, 8, 8, 3))}",
               "-i", f"y={array('nhwc.npy', (1, 8, 8, 3))}"),
         "input 'x' is float32[1, 8, 8, 3]; the model needs float32[1, 3, 8, 8]", "hint: the axes may stand in another order: numpy.transpose(x, (0, 3, 1, 2))")):
    refused("an input that does not fit", r, *texts)
    check("ErrorContext" not in r.stderr and "param[" not in r.stderr and "annotation" not in r.stderr, "in plain words", r)

# ---- what cannot be compiled ----
refused("an element type that is not known", tenon("run", add("dtype.py", 'R.Tensor(("n", 4))')), "element types of its operands have to be known")
r = tenon("run", add("ndim.py", 'R.Tensor(dtype="float32", ndim=2)'))
refused("extents that are not known", r, "relax.add cannot be compiled: the extents of its argument 0", "state a shape", "ndim.py:12:")
check("left in the module" not in r.stderr, "in plain words", r)

# ---- an assumption is no code ----
assume = write("assume.py", HEAD + """
    @T.prim_func(private=True, s_tir=True)
    def f(var_A: T.handle, var_B: T.handle):
        n = T.int64()
        A = T.match_buffer(var_A, (n,))
        B = T.match_buffer(var_B, (n,))
        T.evaluate(T.assume(n > T.int64(0)))
        for i in range(n):
            with T.sblock("B"):
                v = T.axis.spatial(n, i)
                B[v] = A[v] + T.float32(1)

    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        cls = Module
        with R.dataflow():
            gv = R.call_tir(cls.f, (x,), out_sinfo=R.Tensor((n,), dtype="float32"))
            R.output(gv)
        return gv
""")
for target in ("cpu", "null"):
    r = tenon("run", assume, "-t", target, "-i", f"x={array('x.npy', (3,))}")
    check(r.returncode == 0 and "[0] 1.0" in r.stdout, f"T.assume on {target}", r)

# ---- memory ----
square = write("square.py", HEAD + """
    @R.function
    def main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", "n", 4), "float32"):
        n = T.int64()
        with R.dataflow():
            gv = R.broadcast_to(x, R.shape([n, n, 4]))
            R.output(gv)
        return gv
""")
r = tenon("run", square, "-i", f"x={array('wide.npy', (1 << 20, 4))}")
refused("a result that no memory holds", r, "storage for tensors on device 'cpu', of which", "17592186", "bytes")

# ---- files of no kind, names of no input, targets without kernels ----
refused("a model of no kind", tenon("compile", a3), "no importer knows this kind of file", "models are read from .py (text)", ".onnx (onnx)")
one = add("one.py", N4)
refused("an input of no name", tenon("run", one, "-i", f"input={a3}"), "no input named 'input'", "the inputs are #0 'x', #1 'y'")
listed = tenon("list", "targets").stdout
check("generates" not in next(line for line in listed.splitlines() if line.startswith("cpu ")), "targets that generate kernels are not marked")

# ---- --verify takes the extents of the inputs ----


def longest(*args):
    r = tenon("run", two, "--verify", *args)
    m = re.search(r"longest run: (\d+) operations", r.stderr)
    check(r.returncode == 0 and m is not None, "verified " + " ".join(args[1::2]), r)
    return int(m.group(1)) if m else 0


small, large = [longest("-i", f"x={array(f'{n}.npy', (n, 4))}", "-i", f"y={path(f'{n}.npy')}") for n in (2, 200)]
check(large > 50 * small, f"--verify runs with the extents of the inputs ({small} and {large} operations)")
done()
