# SPDX-License-Identifier: Apache-2.0
"""Zeros of both signs, infinities, NaN, denormal and huge numbers through arithmetic that looks as if it could be folded
(x * 0, 0 / x, x - x, ...): each target gives what NumPy gives. Without NumPy it is skipped.
"""
import os
import subprocess
import sys
import tempfile

import values  # noqa: F401  (finds a Python with NumPy)
import numpy as np

X = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3.4e38, -3.4e38, 1, -1, 2.5], np.float32)
F = np.float32


def c(v):
    return f'R.const({v}, "float32")'


# name -> (expression of the module, NumPy's)
CASES = {
    "x_times_0": (f"R.multiply(x, {c(0.0)})", lambda x: x * F(0)),
    "0_times_x": (f"R.multiply({c(0.0)}, x)", lambda x: F(0) * x),
    "x_times_minus_0": (f"R.multiply(x, {c(-0.0)})", lambda x: x * F(-0.0)),
    "x_times_1": (f"R.multiply(x, {c(1.0)})", lambda x: x * F(1)),
    "0_over_x": (f"R.divide({c(0.0)}, x)", lambda x: F(0) / x),
    "x_over_1": (f"R.divide(x, {c(1.0)})", lambda x: x / F(1)),
    "x_over_0": (f"R.divide(x, {c(0.0)})", lambda x: x / F(0)),
    "x_plus_0": (f"R.add(x, {c(0.0)})", lambda x: x + F(0)),
    "x_plus_minus_0": (f"R.add(x, {c(-0.0)})", lambda x: x + F(-0.0)),
    "x_minus_0": (f"R.subtract(x, {c(0.0)})", lambda x: x - F(0)),
    "0_minus_x": (f"R.subtract({c(0.0)}, x)", lambda x: F(0) - x),
    "minus_of_0_minus_x": (f"R.negative(R.subtract({c(0.0)}, x))", lambda x: -(F(0) - x)),
    "x_minus_x": ("R.subtract(x, x)", lambda x: x - x),
    "x_over_x": ("R.divide(x, x)", lambda x: x / x),
    "0_in_a_chain": (f"R.add(R.multiply(x, {c(0.0)}), {c(1.0)})", lambda x: x * F(0) + F(1)),
    "there_and_back": (f"R.divide(R.multiply(x, {c(2.0)}), {c(2.0)})", lambda x: x * F(2) / F(2)),
    "sum_taken_back": (f"R.subtract(R.add(x, {c(1.0)}), {c(1.0)})", lambda x: x + F(1) - F(1)),
    "equal_to_itself": (f"R.where(R.equal(x, x), {c(1.0)}, {c(0.0)})", lambda x: np.where(x == x, F(1), F(0))),
    "unequal_to_itself": (f"R.where(R.not_equal(x, x), {c(1.0)}, {c(0.0)})", lambda x: np.where(x != x, F(1), F(0))),
    "not_less": (f"R.where(R.logical_not(R.less(x, {c(1.0)})), {c(1.0)}, {c(0.0)})",
                 lambda x: np.where(~(x < F(1)), F(1), F(0))),
    "at_least_itself": (f"R.where(R.greater_equal(x, x), {c(1.0)}, {c(0.0)})", lambda x: np.where(x >= x, F(1), F(0))),
    "abs": ("R.abs(x)", np.abs),
    "floor": ("R.floor(x)", np.floor),
}
NAMES = sorted(CASES)


def module(names):
    binds = "\n".join(f"        {n if n[0].isalpha() else 'v' + n} = {CASES[n][0]}" for n in names)
    outs = ", ".join(n if n[0].isalpha() else "v" + n for n in names)
    types = ", ".join(['R.Tensor((12,), "float32")'] * len(names))
    return f"""@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((12,), "float32")) -> R.Tuple({types}):
{binds}
        return ({outs})
"""


def same(got, want):
    """NaN where NaN, zeros of the same sign, numbers to a unit in the last place."""
    zero = (got == 0) & (want == 0) & (np.signbit(got) == np.signbit(want))
    return (np.isnan(got) & np.isnan(want)) | zero | ((got != 0) & np.isclose(got, want, rtol=1.2e-7, atol=0))


failed = 0
with tempfile.TemporaryDirectory() as tmp, np.errstate(all="ignore"):
    text, given = os.path.join(tmp, "special.py"), os.path.join(tmp, "x.npy")
    with open(text, "w") as f:
        f.write(module(NAMES))
    np.save(given, X)
    for target in ("null", "cpu", "opencl"):
        if not os.path.exists(os.path.join(os.environ["TENON_PLUGIN_PATH"], target + ".so")):
            continue
        out = os.path.join(tmp, target)
        r = subprocess.run([os.environ["TENON"], "run", text, "-t", target, "-i", "x=" + given, "-o", out],
                           capture_output=True, text=True, errors="replace", timeout=300)
        if r.returncode != 0:
            if "no device" in r.stderr:
                print(f"skip {target}: {r.stderr.strip().splitlines()[0]}")
                continue
            print(f"FAIL {target}: {r.stderr}")
            failed += 1
            continue
        results = {p.split("-")[0]: np.load(os.path.join(out, p)) for p in os.listdir(out)}
        for i, name in enumerate(NAMES):
            want, got = CASES[name][1](X), results[str(i)]
            wrong = [f"{x}: {g}, NumPy {w}" for x, g, w, ok in zip(X, got, want, same(got, want)) if not ok]
            print("FAIL" if wrong else "ok  ", target, name, *wrong[:4])
            failed += bool(wrong)
sys.exit(failed > 0)
