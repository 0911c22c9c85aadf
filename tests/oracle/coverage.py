# SPDX-License-Identifier: Apache-2.0
"""What the draws of each operator hold.

    coverage.py [OPERATOR...]

Prints a table: operator, draws that `make check-long` takes on each target, and how many of them have a tensor without
elements, tensors of one element only, NaN, infinities, the least or largest integer, a negative axis, operands of
different shapes. Fails where an operator has no formula, less than 20 draws, or none of a kind that its schema admits
(EXEMPT has the exceptions, with reasons).
"""
import json
import os
import subprocess
import sys

import values  # noqa: F401  (finds a Python with NumPy)
import numpy as np
import oracle
from oracle import is_float

KINDS = ["zero", "one", "nan", "inf", "extreme", "negative", "broadcast"]
LEAST = 20  # draws of each operator, on each target, in `make check-long`
DRAWS = 200

# (operator or beginning of one with '*', kind): why no draw has it
EXEMPT = {
}


def exempt(op, kind):
    for (name, k), why in EXEMPT.items():
        if k == kind and (op == name or (name.endswith("*") and op.startswith(name[:-1]))):
            return why
    return None


def holds(case, schema):
    """The kinds that a case has."""
    tensors = case.inputs or case.outputs
    if any(0 in t.shape for t in case.inputs + case.outputs):
        yield "zero"
    if all(t.a.size == 1 for t in tensors):
        yield "one"
    floats = [t.a for t in case.inputs if is_float(t.dtype)]
    if any(np.isnan(a).any() for a in floats):
        yield "nan"
    if any(np.isinf(a).any() for a in floats):
        yield "inf"
    for t in case.inputs:
        if t.a.dtype.kind in "iu" and t.a.size and (
                (t.a == np.iinfo(t.dtype).max).any() or (t.a.dtype.kind == "i" and (t.a == np.iinfo(t.dtype).min).any())):
            yield "extreme"
            break
    for name in axis_attributes(schema):
        v = case.attrs.get(name)
        if any(isinstance(n, int) and n < 0 for n in (v if isinstance(v, list) else [v])):
            yield "negative"
            break
    if len({t.shape for t in case.inputs}) > 1:
        yield "broadcast"


def axis_attributes(schema):
    return [a["name"] for a in schema["attributes"] if a["allowed"] in ("axis", "axes")]


def wanted(schema, cases):
    """The kinds that the operator admits."""
    accepts = [a["accepts"] or "" for a in schema["arguments"]]
    inputs = [t for c in cases for t in c.inputs]
    if inputs:
        yield from ("zero", "one")
    if any(is_float(t.dtype) for t in inputs):
        yield from ("nan", "inf")
    # integers that are positions, counts or extents are what they are
    if any(a.startswith(("number tensor", "tensor", "int or bool")) for a in accepts) and any(
            "int" in t.dtype for t in inputs):
        yield "extreme"
    if axis_attributes(schema):
        yield "negative"
    if "broadcast" in (schema["result"] or "") or "broadcast" in schema["doc"]:
        yield "broadcast"


def main():
    listing = subprocess.run([os.environ["TENON"], "list", "ops", "--json"], capture_output=True, text=True, check=True)
    schemas = {s["name"][len("relax."):]: s for s in json.loads(listing.stdout) if s["plugin"] == "ops"}
    ok, least = values.check_coverage(list(schemas)), min(values.plan(True).values())
    if least < LEAST:
        print(f"FAIL make check-long takes {least} draws of an operator, wanted {LEAST}")
        ok = False
    print(f"{'operator':36} draws  " + "  ".join(f"{k:>9}" for k in KINDS))
    for op in sorted(set(schemas) & set(oracle.formulas)):
        if sys.argv[1:] and op not in sys.argv[1:]:
            continue
        cases = [c for _, c in oracle.draw_cases(op, least, 1)]
        have = [set(holds(c, schemas[op])) for c in cases]
        want, row = set(wanted(schemas[op], cases)), []
        for k in KINDS:
            n = sum(k in h for h in have)
            why = exempt(op, k)
            row.append(f"{n if n or k in want else '-':>9}")
            if k in want and not n and not why:
                print(f"FAIL {op}: none of {len(cases)} draws is of the kind '{k}'")
                ok = False
            if why and n:
                print(f"FAIL {op}: the kind '{k}' is exempt ({why}), but {n} draws have it")
                ok = False
        print(f"{op:36} {len(cases):5}  " + "  ".join(row))
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()
