#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Indices that come as data: random gathers and scatters, alone and fused with what is around them, against NumPy. Good indices give
NumPy's result; one that is out of range is refused with its value and the extent, or clamped, as check_indices says. Kernels of the cpu run
under the address sanitizer where the compiler has one.

    indices.py [SEED]
"""
import glob
import os
import sys

try:
    import numpy as np
except ImportError:  # another Python of this machine may have it
    if sys.executable == "/usr/bin/python3" or not os.path.exists("/usr/bin/python3"):
        print("no Python with NumPy (Debian: python3-numpy): skipped")
        sys.exit(77)
    os.execv("/usr/bin/python3", ["/usr/bin/python3"] + sys.argv)

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
from clitest import check, done, path, tenon, write  # noqa: E402

ASAN = next(iter(sorted(glob.glob("/usr/lib/gcc/*/*/libasan.so"))), None)
BAD = [lambda n: n, lambda n: 10 ** 9, lambda n: -n - 1, lambda n: 2 ** 31, lambda n: 2 ** 32, lambda n: -2 ** 63,
       lambda n: 2 ** 63 - 1, lambda n: -2 ** 31]


def targets():
    vectors = '"vector_bytes": %d'
    kinds = ['{"kind": "cpu", %s}' % (vectors % b) for b in (16, 32, 64)]
    if tenon("run", "-t", "opencl", write("probe.py", module("y = R.nn.relu(x)", {"x": np.zeros(3, np.float32)}, "y", {}))).returncode == 0:
        kinds.append('{"kind": "opencl"}')
    return kinds + ['{"kind": "null"}']


def module(lines, args, result, symbols):
    """symbols: (name of an argument, axis) -> name of the extent."""
    def dims(name, shape):
        return "".join(f'"{symbols[name, i]}", ' if (name, i) in symbols else f"{d}, " for i, d in enumerate(shape))
    given = ", ".join(f'{n}: R.Tensor(({dims(n, v.shape)}), "{v.dtype}")' for n, v in args.items())
    body = "".join(f"            {line}\n" for line in lines.split("\n"))
    return f"""@I.ir_module
class Module:
    @R.function
    def main({given}):
        with R.dataflow():
{body}            R.output({result})
        return {result}
"""


class Indices:
    """What a draw indexes by, and whether NumPy may."""

    def __init__(self, rng):
        self.rng = rng
        self.all = []  # (name, array, extent)

    def draw(self, name, shape, n, dtype="int64"):
        self.all.append((name, self.rng.integers(-n, n, shape).astype(dtype), n))
        return len(self.all) - 1

    def spoil(self):
        """One index out of range; what it is, and the extent."""
        name, a, n = self.all[int(self.rng.integers(len(self.all)))]
        bits = np.iinfo(a.dtype)
        values = [v for v in (f(n) for f in BAD) if bits.min <= v <= bits.max]
        v = values[int(self.rng.integers(len(values)))]
        a.flat[int(self.rng.integers(a.size))] = v
        return v, n

    def at(self, k):
        """As positions; clamped."""
        _, a, n = self.all[k]
        a = [int(v) + n if v < 0 else int(v) for v in a.flat]  # of any size
        return np.clip(np.array(a, dtype=object), 0, n - 1).astype(np.int64).reshape(self.all[k][1].shape)


def f32(rng, shape):
    return rng.integers(-8, 9, shape).astype(np.float32)  # sums are exact in any order


def gather(rng, ix):
    """lines, arguments, the function of them that NumPy computes"""
    rank = int(rng.integers(1, 4))
    shape = [int(v) for v in rng.integers(1, 40, rank)]
    axis, x = int(rng.integers(0, rank)), f32(rng, shape)
    kind = int(rng.integers(0, 5))
    dtype = str(rng.choice(["int64", "int32"]))
    if kind == 0:
        k = ix.draw("i", [int(v) for v in rng.integers(1, 40, int(rng.integers(1, 3)))], shape[axis], dtype)
        return f"g = R.take(x, i, axis={axis})", {"x": x}, lambda: np.take(x, ix.at(k), axis)
    if kind == 1:
        other = list(shape)
        other[axis] = int(rng.integers(1, 60))
        k = ix.draw("i", other, shape[axis], dtype)
        return f"g = R.gather_elements(x, i, axis={axis})", {"x": x}, lambda: np.take_along_axis(x, ix.at(k), axis)
    if kind == 2:
        depth, rows = int(rng.integers(1, rank + 1)), int(rng.integers(1, 30))
        ks = [ix.draw(f"c{d}", (rows,), shape[d], dtype) for d in range(depth)]
        stack = f"i = R.stack(({', '.join(f'c{d}' for d in range(depth))},), axis=1)"
        return stack + "\ng = R.gather_nd(x, i)", {"x": x}, lambda: x[tuple(ix.at(k) for k in ks)]
    if kind == 3:
        depth, rows = int(rng.integers(1, rank + 1)), int(rng.integers(1, 30))
        ks = [ix.draw(f"i{d}", (rows,), shape[d], dtype) for d in range(depth)]
        return f"g = R.index_tensor(x, ({', '.join(f'i{d}' for d in range(depth))},))", {"x": x}, \
            lambda: x[tuple(ix.at(k) for k in ks)]
    return scatter(rng, ix, x, axis, dtype)


JOIN = {"update": lambda a, b: b, "add": lambda a, b: a + b, "max": max, "min": min}


def scatter(rng, ix, x, axis, dtype):
    how, kind, shape = str(rng.choice(list(JOIN))), int(rng.integers(0, 3)), list(x.shape)
    if kind == 0:
        some = [int(rng.integers(1, d + 1)) for d in shape]
        k, u = ix.draw("i", some, shape[axis], dtype), f32(rng, some)

        def places():
            return [(p[:axis] + (int(ix.at(k)[p]),) + p[axis + 1:], u[p]) for p in np.ndindex(*some)]
        text = f'R.scatter_elements(x, i, u, axis={axis}, reduction="{how}")'
    else:
        depth, rows = (int(rng.integers(1, len(shape) + 1)) if kind == 1 else 1), int(rng.integers(1, 30))
        ks = [ix.draw(f"c{d}", (rows,), shape[d], dtype) for d in range(depth)]
        u = f32(rng, [rows] + shape[depth:])

        def places():
            return [(tuple(int(ix.at(k)[r]) for k in ks) + p, u[(r,) + p]) for r in range(rows)
                    for p in np.ndindex(*shape[depth:])]
        if kind == 1:
            stack = f"i = R.stack(({', '.join(f'c{d}' for d in range(depth))},), axis=1)\n"
            text = f'{stack}g = R.scatter_nd(x, i, u, reduction="{how}")'
        else:
            how = str(rng.choice(["update", "add"]))
            text = f"R.index_put(x, (c0,), u, accumulate={how == 'add'})"

    def result():
        y = x.copy()
        for p, v in places():
            y[p] = JOIN[how](y[p], v)
        return y
    return text if "g = " in text else "g = " + text, {"x": x, "u": u}, result


def problem(rng):
    ix = Indices(rng)
    text, args, result = gather(rng, ix)
    args |= {name: a for name, a, _ in ix.all}
    before, after = int(rng.integers(0, 3)), int(rng.integers(0, 4))
    value = result
    if before == 0:  # the data is computed
        text = "x1 = R.nn.relu(x)\n" + text.replace("(x,", "(x1,")
        x = args["x"]
        x[...] = np.abs(x)  # so that NumPy's side stays the same
    last, more = "g", None
    if after == 0:
        text, last = text + "\nh = R.multiply(R.add(g, R.const(1.0, \"float32\")), R.const(2.0, \"float32\"))", "h"
        more = lambda y: (y + 1) * 2  # noqa: E731
    elif after == 1:
        text, last = text + "\nh = R.sum(g)", "h"
        more = lambda y: y.sum()  # noqa: E731
    elif after == 2 and result().ndim == 2:
        args["w"] = f32(rng, (result().shape[1], 16))
        text, last = text + "\nh = R.matmul(g, w)", "h"
        more = lambda y: y @ args["w"]  # noqa: E731
    symbols = {}
    if rng.random() < 0.3 and "stack" not in text:
        symbols = {("x", i): f"n{i}" for i in range(args["x"].ndim) if rng.random() < 0.6}
    return ix, text, args, last, (lambda: more(value())) if more else value, symbols


def run(seed, kind, target):
    rng = np.random.default_rng(seed)
    ix, text, args, last, result, symbols = problem(rng)
    bad = ix.spoil() if kind != "good" else None
    words = []
    for name, v in args.items():
        np.save(path(f"{seed}.{name}.npy"), v)
        words += ["-i", f"{name}={path(f'{seed}.{name}.npy')}"]
    if kind != "refuse":
        np.save(path(f"{seed}.y.npy"), np.asarray(result(), np.float32))
        words += ["--expect", f"output0={path(f'{seed}.y.npy')}"]
    target = target[:-1] + f', "check_indices": "{"refuse" if kind == "good" else kind}"' + "}"
    env = {}
    if ASAN and '"cpu"' in target:
        target = target[:-1] + ', "cc": "gcc -fsanitize=address"}'
        env = {"LD_PRELOAD": ASAN, "ASAN_OPTIONS": "detect_leaks=0:handle_segv=0"}
    file, made = write(f"{seed}.py", module(text, args, last, symbols)), path(f"{seed}.tno")
    what = f"seed {seed}, {kind}, {target}"
    r = tenon("compile", file, "-t", target, "-o", made)
    if r.returncode:
        check(False, what + ": compiled", r)
        return
    threads = str(int(rng.integers(1, 4)))
    r = tenon("run", made, *words, "--threads", threads, env=env)
    if kind != "refuse":
        check(r.returncode == 0, what, r)
    else:
        good = [f"index {bad[0]} is out of range, the extent is {bad[1]}", "axis "]
        check(r.returncode not in (0, -6, -11) and all(t in r.stderr for t in good) and "Sanitizer" not in r.stderr,
              what, r)


def main():
    first, count = 1, 400 if os.environ.get("TENON_LONG") else 30
    if len(sys.argv) > 1:
        first, count = int(sys.argv[1]), 1
    kinds = targets()
    for seed in range(first, first + count):
        target = kinds[seed % len(kinds)]
        run(seed, ["refuse", "clamp", "refuse", "good"][seed // len(kinds) % 4], target)
    done()


main()
