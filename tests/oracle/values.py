# SPDX-License-Identifier: Apache-2.0
"""Every operator's results against NumPy's.

    values.py [interp|cpu] [--draws N] [--seed N] [--keep DIR] [OPERATOR...]

interp: N draws of each operator, with fixed and with symbolic extents, on the reference interpreter. cpu: compiled for
the cpu target. Without a mode both, with the draws that `make check` (and, with TENON_LONG=1, `make check-long`) takes.
A name may end in '*'. --keep leaves the modules, inputs and expected outputs in DIR. Ends with 77 where no Python with
NumPy is found.
"""
import argparse
import glob
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
try:
    import numpy  # noqa: F401
except ImportError:  # another Python of this machine may have it
    other = "/usr/bin/python3"
    if os.environ.get("ORACLE_PYTHON") or not os.path.exists(other):
        print("no Python with NumPy (Debian: python3-numpy): skipped")
        sys.exit(77)
    os.environ["ORACLE_PYTHON"] = other
    os.execv(other, [other] + sys.argv)

import oracle  # noqa: E402

for path in sorted(glob.glob(os.path.join(HERE, "formulas_*.py"))):
    importlib.import_module(os.path.basename(path)[:-3])

# Without a formula, and why. Anything else that `tenon list ops` shows needs one.
WITHOUT = {
    "ccl.": "needs a group of workers: tests/llm",
    "dist.": "needs a group of workers: tests/llm",
}
LONG = os.environ.get("TENON_LONG") == "1"
TOGETHER = 12  # operators in one module for the C compiler


def plan(long):
    """Draws of each operator by mode. The first five have each kind of Draw.KINDS."""
    return {"interp": 200 if long else 20, "cpu": 20 if long else 5}


def operators():
    listing = subprocess.run([os.environ["TENON"], "list", "ops"], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in listing.splitlines()]
    return [name[len("relax."):] for name, plugin in rows if plugin == "ops"]


def check_coverage(names):
    missing = [n for n in names if n not in oracle.formulas and not n.startswith(tuple(WITHOUT))]
    unknown = [n for n in oracle.formulas if n not in names]
    for n in missing:
        print(f"FAIL {n}: no formula in tests/oracle (add one to a file formulas_*.py)")
    for n in unknown:
        print(f"FAIL {n}: a formula, but no such operator")
    return not missing and not unknown


def run(mode, names, draws, seed, folder):
    began, stems = time.time(), []
    group = 1 if mode == "interp" else TOGETHER
    for k in range(0, len(names), group):
        cases = [c for n in names[k:k + group] for c in oracle.draw_cases(n, draws, seed)]
        stems.append(os.path.join(folder, oracle.identifier(names[k]) if group == 1 else f"cpu_{k // group}"))
        oracle.write_cases(stems[-1], cases, symbolic=mode == "interp" or draws >= 20)
    print(f"{mode}: {len(names)} operators, {draws} draws each, seed {seed}; written in {time.time() - began:.1f} s",
          flush=True)
    began = time.time()
    program = os.path.join(os.environ["top_builddir"], "tests", "oracle", "run_cases")
    code = subprocess.run([program, mode] + stems).returncode
    print(f"{mode}: {time.time() - began:.1f} s", flush=True)
    return code == 0


def main():
    p = argparse.ArgumentParser()
    p.add_argument("mode", nargs="?", choices=["interp", "cpu"])
    p.add_argument("--draws", type=int)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--keep")
    p.add_argument("operators", nargs="*")
    a = p.parse_intermixed_args()
    known = operators()
    ok = check_coverage(known)
    names = [n for n in known if n in oracle.formulas]
    if a.operators:
        names = [n for n in names if any(n == o or (o.endswith("*") and n.startswith(o[:-1])) for o in a.operators)]
    folder = a.keep or tempfile.mkdtemp(prefix="tenon-oracle-")
    os.makedirs(folder, exist_ok=True)
    try:
        for mode in [a.mode] if a.mode else ["interp", "cpu"]:
            ok &= run(mode, names, a.draws or plan(LONG)[mode], a.seed, folder)
    finally:
        if not a.keep:
            shutil.rmtree(folder, ignore_errors=True)
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()
