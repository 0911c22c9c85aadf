# SPDX-License-Identifier: Apache-2.0
"""Extents of symbols that nobody gave: made-up inputs take 1, --verify others, or what the model's assertions and calls
accept; and where none are found the user is told which dimensions to fix."""
import re

from clitest import check, done, npy_bytes, path, refused, tenon, write

HEADER = """from tvm.script import ir as I, relax as R, tirx as T
@I.ir_module
class Module:
    @R.function
    def main(%s):
%s        R.func_attr({"global_symbol": "main"})
        with R.dataflow():
%s            R.output(y)
        return y
"""


def module(name, symbols, params, lines):
    text = HEADER % (params, "".join("        %s = T.int64()\n" % s for s in symbols),
                     "".join("            %s\n" % line for line in lines))
    return write(name + ".py", text)


def taken(name, symbols, params, lines, **want):
    file = module(name, symbols, params, lines)
    r = tenon("run", file)
    check(r.returncode == 0, f"{name} runs without -i", r)
    line = next((x for x in r.stderr.splitlines() if "dynamic extents:" in x), "")
    pairs = [x.rsplit(" = ", 1) for x in line.partition("extents: ")[2].split(", ")]
    check("hint: --dim '" in r.stderr, f"{name}: and is told how to choose others", r)
    have = {x[0]: int(x[1]) for x in pairs if len(x) == 2}
    for symbol, n in want.items():
        check(have.get(symbol) == n, f"{name}: {symbol} is {n}", r)
    out = path(name + ".tno")
    r = tenon("compile", file, "-o", out, "--verify")
    verified = re.search(r"(\d+) functions? verified", r.stderr + r.stdout)
    check(r.returncode == 0 and verified and int(verified.group(1)) > 0, f"{name} is verified", r)
    r = tenon("bench", out, "--runs", "1")
    check(r.returncode == 0, f"the artifact of {name} is measured without -i", r)


taken("convolution", "nchw", 'x: R.Tensor(("n", "c", "h", "w"), "float32"), k: R.Tensor((4, 3, 3, 3), "float32")',
      ["y = R.nn.conv2d(x, k)"], n=1, c=3, h=3, w=3)
taken("products", "nmkpq", 'a: R.Tensor(("n", "m"), "float32"), b: R.Tensor(("k", "p"), "float32"), '
      'c: R.Tensor(("q", 8), "float32")',
      ["x = R.matmul(a, b)", "y = R.matmul(x, c)"], n=1, m=1, k=1, p=1, q=1)
taken("batches", ["batch", "other"], 'a: R.Tensor(("batch", 5), "float32"), b: R.Tensor(("other", 5), "float32"), '
      'c: R.Tensor(("batch + other", 5), "float32")',
      ["x = R.concat((a, b), axis=0)", "y = R.add(x, c)"], batch=1, other=1)
taken("mask", "n", 'a: R.Tensor(("n", 7), "float32"), m: R.Tensor((7, 8), "float32"), v: R.Tensor((7, 8), "float32")',
      ["x = R.matmul(a, m)", "z = R.reshape(x, R.shape([n, 8]))", "y = R.matmul(z, R.permute_dims(v))"])

# no square is twice a square
never = module("never", "nm", 'x: R.Tensor(("n", "m"), "float32"), b: R.Tensor(("n * n", 3), "float32"), '
               'c: R.Tensor(("m * m * 2", 3), "float32")', ["y = R.matmul(R.permute_dims(b), c)"])
r = tenon("run", never)
check(r.returncode == 1 and "hint: set some with --dim NAME=N: n, m" in r.stderr,
      "where no extents are found, the user is told which dimensions to give", r)

# extents that do not fit, which only the run shows
late = module("late", "n", 'x: R.Tensor(("n", 3), "float32"), s: R.Tensor((2,), "int64")',
              ["shape: R.Shape(ndim=2) = R.tensor_to_shape(s)", "y = R.reshape(x, shape)"])
out = path("late.tno")
check(tenon("compile", late, "-o", out).returncode == 0, "compiles")
for command in (("run",), ("bench", "--runs", "1")):
    refused(f"{command[0]} of the model", tenon(*command, late), "hint: the random inputs may be too small: --dim 'n=N'", status=(1,))
    refused(f"{command[0]} of the artifact", tenon(*command, out), "hint: the random inputs may be too small: give others with -i", status=(1,))

# which of several it is nobody knows: each is named, as often as they are
SEVERAL = (("n", "m"), ("batch", "width", "n"), tuple(f"a_long_name_of_an_extent_{i}" for i in range(9)))
for symbols in SEVERAL:
    params = ", ".join(f'x{i}: R.Tensor(("{symbol}", 3), "float32")' for i, symbol in enumerate(symbols))
    several = module("several", symbols, f's: R.Tensor((2,), "int64"), {params}',
                     ["shape: R.Shape(ndim=2) = R.tensor_to_shape(s)", "x = R.concat(({}), axis=0)".format(", ".join(f"x{i}" for i in range(len(symbols)))),
                      "y = R.reshape(x, shape)"])
    r = tenon("run", several)
    hint = r.stderr.partition("may be too small: --dim NAME=N chooses an extent, of ")[2].splitlines()[:1]
    named = hint and hint[0].removesuffix("...").split(", ")
    check(r.returncode == 1 and named and len(named) >= min(len(symbols), 4) and all(a.startswith(b) for a, b in zip(symbols, named)) and
          hint[0].endswith("...") == (named != list(symbols)), f"the hint names the extents {', '.join(symbols)}", r)

# but where the message tells the axis of an input, its extent alone is
branch = write("branch.py", """from tvm.script import ir as I, relax as R, tirx as T
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 1, "w"), "float32"), k: R.Tensor((1, 1, 3), "float32"), s: R.Tensor((), "bool")):
        R.func_attr({"global_symbol": "main"})
        if s:
            a = R.nn.conv1d(x, k)
            y = R.sum(a)
        else:
            b = R.nn.conv1d(R.nn.relu(x), k)
            y = R.sum(b)
        return y
""")
refused("a window that the random extents do not hold", tenon("run", branch), "axis 2 of 'x' is 1",
        "hint: the random inputs may be too small: --dim 'w=N'", status=(1,))

# what the budget of operations did not reach, and the option that raises it
wide = module("wide", "", 'x: R.Tensor((64, 64), "float32")', ["y = R.matmul(x, x)"])
r = tenon("run", wide, "--verify", "--verify-budget", "1000")
refused("nothing is verified within a small budget", r, "not verified: LegalizeOps: main: the budget of 1000 operations is used up",
        "nothing verified", "hint: --verify-budget N raises the limit", status=(1,))
r = tenon("run", wide, "--verify")
check(r.returncode == 0 and "--verify-budget" not in r.stderr, "no hint where everything is verified", r)
refused("nor compared", tenon("diff", wide, wide, "--exec", "--budget", "1000"), "the budget of operations is used up",
        "hint: --budget N raises the limit", status=(1,))

# an input whose axes stand in another order, for dimensions that are known and others
named = module("named", "nhw", 'x: R.Tensor(("n", 3, "h", "w"), "float32")', ["y = R.nn.relu(x)"])
for shape, order in (((1, 5, 7, 3), "(0, 3, 1, 2)"), ((3, 5, 7, 4), "(1, 0, 2, 3)"), ((1, 5, 7, 4), None)):
    given = write("given.npy", npy_bytes("<f4", shape, [0] * (shape[0] * shape[1] * shape[2] * shape[3])))
    r = tenon("run", named, "-i", "x=" + given)
    refused(f"{shape}", r, "the model needs float32[n, 3, h, w]", status=(1,))
    check((f"numpy.transpose(x, {order})" in r.stderr) == bool(order) and ("transpose" in r.stderr) == bool(order), f"its order: {order}", r)

# tensors without elements, whose outer extent is huge: nothing is computed, and at once
header = "{'descr': '<f4', 'fortran_order': False, 'shape': (68719476736, 0), }".ljust(117) + "\n"
with open(path("huge.npy"), "wb") as f:
    f.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
for name, line, result in (("relu", "y = R.nn.relu(x)", "[68719476736, 0]"),
                           ("softmax", "y = R.nn.softmax(x)", "[68719476736, 0]"),
                           ("columns", "y = R.sum(x, axis=[0])", "[0]"),
                           ("twice", "y = R.concat((x, x), axis=0)", "[137438953472, 0]")):
    file = module("empty_" + name, "nm", 'x: R.Tensor(("n", "m"), "float32")', [line])
    for target in ("cpu", "null"):
        r = tenon("run", "-t", target, file, "-i", "x=" + path("huge.npy"), timeout=20)
        check(r.returncode == 0 and "float32" + result in r.stdout, f"{name} of an empty tensor on {target} ends", r)
# so does a reduction of all of it, which has a result: no loop turns for a loop that has no turns
for name, line, targets, result in (("sum", "y = R.sum(x)", ["cpu", "null"], "float32[] from 0.0 to 0.0"),
                                    ("max", "y = R.max(x)", ["cpu", "null"], "float32[] from -inf to -inf"),
                                    ("argmax", "y = R.argmax(x)", ["cpu", "null"], "int64[]"),
                                    ("sum of powers", "y = R.sum(R.exp(x))", ["cpu", "null"], "float32[] from 0.0 to 0.0")):
    file = module("reduced_" + name.replace(" ", "_"), "nm", 'x: R.Tensor(("n", "m"), "float32")', [line])
    for target in targets:
        r = tenon("run", "-t", target, file, "-i", "x=" + path("huge.npy"), timeout=20)
        check(r.returncode == 0 and result in r.stdout, f"the {name} of an empty tensor on {target} ends", r)
# extents whose product, sum or difference no integer holds are refused, whatever comes of them
write("wide.npy", npy_bytes("<f4", (2 ** 32, 0), []))
for name, extent in (("product", "n * m"), ("third power", "n * 1024 * m"), ("sum", "n * 1073741824 + m * 1073741824"),
                     ("difference", "n * 2147483647 - m * -1")):
    file = module("wrapping_" + name, "nm", 'x: R.Tensor(("n", 0), "float32"), z: R.Tensor(("m", 0), "float32")',
                  [f'y = R.full(R.shape([{extent}, 0]), R.const(1.0, "float32"), "float32")'])
    for target in ("cpu", "null"):
        r = tenon("run", "-t", target, file, "-i", "x=" + path("wide.npy"), "-i", "z=" + path("wide.npy"))
        refused(f"the {name} on {target}", r, "extent 0 of a tensor does not fit an integer of 64 bits", status=(1,))

# A whole input as INPUT=[N, ...], of a text module as of an ONNX model.
file = module("whole", ["n", "m"], 'x: R.Tensor(("n", 8), "float32"), z: R.Tensor(("m", "n", "m + 1"), "float32")', ["y = R.exp(x)"])
for dims, shape in ((["x=[5, 8]"], "float32[5, 8]"), (["x=[5,8]", "m=3"], "float32[5, 8]"), (["n=5", "x=[5,8]"], "float32[5, 8]")):
    r = tenon("run", file, *(w for d in dims for w in ("--dim", d)))
    check(r.returncode == 0 and shape in r.stdout, f"--dim {' --dim '.join(dims)}", r)
for dims, texts in ((["x=[5]"], ("input 'x' is R.Tensor((n, 8)", "1 extents are given")), (["x=[5,9]"], ("extent 1 of input 'x' is 8, which cannot be 9",)),
                    (["x=[5,8]", "n=6"], ("extent 0 of input 'x' is n = 6, which cannot be 5",)), (["q=[5]"], ("no input 'q'",)),
                    (["z=[2,5,3]"], ("extent 2 of input 'z' is m + 1: its symbols are fixed by their names",)), (['x=["a",8]'], ("extent 0 of input 'x' can be a number",))):
    refused(f"--dim {' --dim '.join(dims)}", tenon("run", file, *(w for d in dims for w in ("--dim", d))), file + ":", *texts, status=(1,))
done()
