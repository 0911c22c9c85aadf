#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random convolutions by 1x1 kernels with what follows them, whose images the cpu target takes as one row each, against NumPy."""
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

TARGETS = ["cpu", '{"kind": "cpu", "mcpu": "x86-64-v2"}', '{"kind": "cpu", "mcpu": "native"}']


def convolution(x, k, groups):
    n, _, rows, columns = x.shape
    parts = x.reshape(n, groups, -1, rows * columns)
    kernels = k.reshape(groups, k.shape[0] // groups, -1)
    return np.einsum("ngcp,goc->ngop", parts, kernels).reshape(n, k.shape[0], rows, columns)


def problem(rng):
    """A module and its arguments by name, and the result."""
    groups = int(rng.choice([1, 1, 2, 4]))
    n, i, o = int(rng.integers(1, 3)), groups * int(rng.integers(1, 9)), groups * int(rng.integers(1, 23))
    rows, columns = (int(v) for v in rng.integers(1, 24, 2))
    args = {"x": rng.standard_normal((n, i, rows, columns)), "k": rng.standard_normal((o, i // groups, 1, 1))}
    y = convolution(args["x"], args["k"], groups)
    lines = [f"v0 = R.nn.conv2d(x, k, groups={groups})"]
    image = (n, o, rows, columns)
    for step in range(int(rng.integers(0, 4))):
        kind = int(rng.integers(0, 4))
        if kind == 0:
            y = np.maximum(y, 0)
            lines.append(f"v{step + 1} = R.nn.relu(v{step})")
            continue
        # a tensor like it, or the same along rows, columns, images or channels
        shape = tuple(d if keep else 1 for d, keep in zip(image, rng.random(4) < (0.5 if kind == 1 else 2)))
        args[f"a{step}"] = rng.standard_normal(shape)
        y = y + args[f"a{step}"] if kind < 3 else y * args[f"a{step}"]
        lines.append(f"v{step + 1} = R.{'add' if kind < 3 else 'multiply'}(v{step}, a{step})")
    given = ", ".join(f'{name}: R.Tensor({tuple(int(d) for d in v.shape)}, "float32")' for name, v in args.items())
    body = "".join(f"            {line}\n" for line in lines)
    return f"""@I.ir_module
class Module:
    @R.function
    def main({given}):
        with R.dataflow():
{body}            R.output(v{len(lines) - 1})
        return v{len(lines) - 1}
""", args, y


def main():
    first, count = 1, 400 if os.environ.get("TENON_LONG") else 24
    if len(sys.argv) > 1:
        first, count = int(sys.argv[1]), 1
    flat = 0
    for seed in range(first, first + count):
        text, args, y = problem(np.random.default_rng(seed))
        module, target = write(f"{seed}.py", text), TARGETS[seed % 3]
        words = []
        for name, value in args.items():
            np.save(path(f"{seed}.{name}.npy"), value.astype(np.float32))
            words += ["-i", f"{name}={path(f'{seed}.{name}.npy')}"]
        np.save(path(f"{seed}.y.npy"), y.astype(np.float32))
        r = tenon("run", module, "-t", target, *words, "--expect", f"output0={path(f'{seed}.y.npy')}", "--rtol", "1e-4",
                  "--atol", "1e-4")
        check(r.returncode == 0, f"convolution {seed}, {target}", r)
        flat += "pixel" in tenon("opt", module, "-t", target, "-p",
                                 "LegalizeOps,AnnotateTIROpPattern,FuseOps,FuseTIR,"
                                 "ApplyDefaultSchedule{rules=[Conv2d]}").stdout
    if count > 1:
        check(flat > count // 3, f"{flat} of {count} took an image as one row")
    done()


main()
