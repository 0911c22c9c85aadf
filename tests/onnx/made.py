#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The files of cases are what their scripts make: the same cases in the same order, with the same text; results but for what NumPy rounds
in another way on another machine.

    made.py [--keep]        with --keep: writes what the scripts make, with the results of the files where they are near
"""
import importlib.util
import math
import os
import subprocess
import sys

HERE = os.path.join(os.environ.get("top_srcdir") or os.path.join(os.path.dirname(__file__), "..", ".."), "tests", "onnx")


def near(a, b):
    """Two lines with a result: all but the last digits of floats."""
    left, right = a.split(" : "), b.split(" : ")
    if left[0] != right[0] or not a.startswith("out ") or len(left) != 2 or len(right) != 2:
        return False
    x, y = left[1].split(), right[1].split()
    if len(x) != len(y) or left[0].split()[2] not in ("float", "double", "float16", "bfloat16"):
        return False
    return all(p == q or math.isclose(float(p), float(q), rel_tol=1e-4, abs_tol=1e-5) for p, q in zip(x, y))


def main():
    if importlib.util.find_spec("numpy") is None:
        print("no NumPy here: skipped")
        return 77
    failed = 0
    for name in ("cases", "graph_cases", "select_cases"):
        file = os.path.join(HERE, name + ".txt")
        made = subprocess.run([sys.executable, "-B", os.path.join(HERE, f"make_{name}.py")], capture_output=True, text=True, check=True).stdout.splitlines()
        with open(file) as f:
            there = f.read().splitlines()
        if "--keep" in sys.argv:
            blocks = {b.split("\n", 1)[0]: b.split("\n") for b in "\n".join(there).split("\n\n")}
            out = []
            for b in "\n".join(made).split("\n\n"):
                new, old = b.split("\n"), blocks.get(b.split("\n", 1)[0], [])
                out.append("\n".join(o if near(n, o) else n for n, o in zip(new, old)) if len(new) == len(old) else b)
            with open(file, "w") as f:
                f.write("\n\n".join(out).rstrip("\n") + "\n\n")
            continue
        wrong = [(i, a, b) for i, (a, b) in enumerate(zip(made, there), 1) if a != b and not near(a, b)]
        for i, a, b in wrong[:5]:
            print(f"{name}.txt:{i}: is not what make_{name}.py makes\n  made  {a[:200]}\n  there {b[:200]}")
        if len(made) != len(there):
            print(f"{name}.txt: {len(there)} lines, make_{name}.py makes {len(made)}")
        cases = sum(line.startswith("case ") for line in there)
        print(f"{name}.txt: {cases} cases")
        failed += bool(wrong) or len(made) != len(there) or not cases
    return 1 if failed else 0


sys.exit(main())
