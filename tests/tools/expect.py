# SPDX-License-Identifier: Apache-2.0
"""tenon run: answers are right, and --expect fails for every kind of difference."""
import math
import os

from clitest import DIGITS, check, done, npy_bytes, path, read_npy, refused, tenon, write

model = os.path.join(DIGITS, "digits.onnx")
tno = path("digits.tno")
r = tenon("compile", model, "-o", tno)
check(r.returncode == 0 and os.path.exists(tno), "compile writes the artifact", r)

for program in (model, tno):
    for digit in range(8):
        out = path("out")
        r = tenon("run", program, "-i", f"image={DIGITS}/digit{digit}.npy", "-o", out)
        descr, shape, p = read_npy(os.path.join(out, "0-probabilities.npy"))
        check(r.returncode == 0 and p.index(max(p)) == digit and shape == (1, 10) and descr == "<f4",
              f"{os.path.basename(program)}: picture {digit} is read as {digit}", r)

image = f"image={DIGITS}/digit3.npy"
tenon("run", tno, "-i", image, "-o", path("right"))
right = os.path.join(path("right"), "0-probabilities.npy")
_, _, values = read_npy(right)
RTOL, ATOL = 1e-3, 1e-4


def expect(what, assignment, *extra):
    return what, tenon("run", tno, "-i", image, "--expect", assignment, "--rtol", RTOL, "--atol", ATOL, *extra)


def changed(name, descr, shape, v):
    return write(name, npy_bytes(descr, shape, v))


r = expect("", f"probabilities={right}")[1]
check(r.returncode == 0, "the same values are equal", r)
r = expect("", f"#0={right}")[1]
check(r.returncode == 0, "a result may be named by its index", r)
within = list(values)
within[3] += 0.5 * (ATOL + RTOL * abs(values[3]))
r = expect("", "probabilities=" + changed("within.npy", "<f4", (1, 10), within))[1]
check(r.returncode == 0, "half a tolerance is equal", r)

off = list(values)
off[5] += 10 * (ATOL + RTOL * abs(values[5]))
refused(*expect("one element off by ten tolerances", "probabilities=" + changed("off.npy", "<f4", (1, 10), off)), "differs")
nan = list(values)
nan[0] = math.nan
refused(*expect("NaN expected", "probabilities=" + changed("nan.npy", "<f4", (1, 10), nan)), "differs")
inf = list(values)
inf[0] = math.inf
refused(*expect("infinity expected", "probabilities=" + changed("inf.npy", "<f4", (1, 10), inf)), "differs")
refused(*expect("a transposed shape", "probabilities=" + changed("t.npy", "<f4", (10, 1), values)), "differs")
refused(*expect("another dtype", "probabilities=" + changed("d.npy", "<f8", (1, 10), values)), "differs")
refused(*expect("an unknown name", f"probability={right}"), "probability", "probabilities")
refused(*expect("an index too large", f"#1={right}"), "#1")
refused(*expect("no file", "probabilities=" + path("none.npy")), "none.npy")
bad = list(read_npy(f"{DIGITS}/digit3.npy")[2])
bad[20] = math.nan
nan_in = changed("nan_in.npy", "<f4", (1, 1, 8, 8), bad)
r = tenon("run", tno, "-i", f"image={nan_in}", "--expect", f"probabilities={right}")
refused("NaN computed", r, "differs")

refused("a missing input", tenon("run", tno, "-i", f"imag={DIGITS}/digit3.npy"), "imag", "image")
wrong = changed("wrong.npy", "<f4", (1, 1, 8, 7), [0.0] * 56)
refused("an input of another shape", tenon("run", tno, "-i", f"image={wrong}"), "image")
wrong = changed("wrong64.npy", "<f8", (1, 1, 8, 8), [0.0] * 64)
refused("an input of another dtype", tenon("run", tno, "-i", f"image={wrong}"), "image")
refused("an unknown function", tenon("run", tno, "-f", "mian"), "mian", "main")
r = tenon("run", tno, "--seed", 3)
check(r.returncode == 0 and "random inputs (seed 3)" in r.stderr and "probabilities" in r.stdout and "top" in r.stdout,
      "without -i random inputs are used, and said so", r)

# integers of 64 bits are shown and compared as they are, not as the doubles next to them
for descr, dtype, high in (("<i8", "int64", 2**53), ("<u8", "uint64", 2**64 - 2)):
    module = write(f"{dtype}.py", f"""from tvm.script import ir as I, relax as R
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3,), "{dtype}")) -> R.Tensor((3,), "{dtype}"):
        return R.add(x, R.const(1, "{dtype}"))
""")
    x = "x=" + write(f"{dtype}.npy", npy_bytes(descr, (3,), [5, high, 7]))
    r = tenon("run", module, "-i", x)
    check(r.returncode == 0 and f"{dtype}[3] from 6 to {high + 1}; top [1] {high + 1}, [2] 8, [0] 6" in r.stdout,
          f"{dtype} results are shown exactly", r)
    for last, equal in ((high + 1, True), (high, False)):
        want = write(f"want-{dtype}.npy", npy_bytes(descr, (3,), [6, last, 8]))
        r = tenon("run", module, "-i", x, "--expect", f"#0={want}", "--rtol", 0, "--atol", 0)
        if equal:
            check(r.returncode == 0, f"{dtype} results are equal", r)
        else:
            refused(f"{dtype} results off by one", r, f"element [1] is {high + 1} instead of {high}; 1 of 3 elements differ")
done()
