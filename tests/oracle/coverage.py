# SPDX-License-Identifier: Apache-2.0
"""What the draws of each operator hold.

    coverage.py [OPERATOR...]

Prints a table: operator, draws that `make check-long` takes on each target, and how many of them have a tensor without
elements, tensors of one element only, NaN, infinities, the least or largest integer, a negative axis, operands of
different shapes, a second function with symbolic extents. Fails where an operator has no formula, less than 20 draws, or none of a kind that its schema admits
(EXEMPT has the exceptions, with reasons).
"""
import fnmatch
import json
import os
import subprocess
import sys

import values  # noqa: F401  (finds a Python with NumPy)
import numpy as np
import oracle
from oracle import is_float

KINDS = ["zero", "one", "nan", "inf", "extreme", "negative", "broadcast", "symbolic"]
LEAST = 20  # draws of each operator, on each target, in `make check-long`

# (operator, kind): why no draw has to have it
BOXES = "boxes and scores are numbers, and boxes have corners"
EXEMPT = {
    ("collapse_sum_to", "broadcast"): "the other shape is an argument",
    ("dequantize", "nan"): "scales are finite",
    ("dequantize", "inf"): "scales are finite",
    ("det", "inf"): "the order of elimination decides between NaN and infinity",
    ("grad.take_backward", "extreme"): "integers are positions only",
    ("median", "zero"): "there is no middle",
    ("unique", "zero"): "NumPy refuses some of these",
    ("multinomial_from_uniform", "nan"): "probabilities are finite",
    ("multinomial_from_uniform", "inf"): "probabilities are finite",
    ("nn.attention_var_len", "nan"): "what a query does not see has the weight 0, and 0 * NaN is NaN",
    ("nn.attention_var_len", "inf"): "what a query does not see has the weight 0, and 0 * inf is NaN",
    ("nn.max_pool*_with_indices", "nan"): "the position is that of a number",
    ("nn.max_pool*_with_indices", "inf"): "elements differ, so that positions are told",
    ("nn.rnn", "nan"): "one element spreads to all later steps",
    ("nn.gru", "nan"): "one element spreads to all later steps",
    ("nn.lstm", "nan"): "one element spreads to all later steps",
    ("nn.rnn", "inf"): "one element spreads to all later steps",
    ("nn.gru", "inf"): "one element spreads to all later steps",
    ("nn.lstm", "inf"): "one element spreads to all later steps",
    ("nn.gru", "one"): "weights hold three gates",
    ("nn.lstm", "one"): "weights hold four gates",
    ("power", "extreme"): "integers go through float64",
    ("quantize", "extreme"): "integers are zero points, which are small",
    ("vision.*", "nan"): BOXES,
    ("vision.*", "inf"): BOXES,
    ("vision.*", "one"): BOXES,
    ("vision.*", "zero"): BOXES,
    ("vision.*", "extreme"): BOXES,
    ("nn.attention_var_len", "zero"): "there is one query at least",
    ("nn.attention_var_len", "one"): "starts of sequences are two at least",
    ("image.affine_grid", "one"): "a transform has two rows of three",
    ("image.grid_sample", "one"): "a place has two coordinates",
}


def exempt(op, kind):
    for (name, k), why in EXEMPT.items():
        if k == kind and fnmatch.fnmatchcase(op, name):
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
    if case.sym and any(isinstance(n, str) for dims in case.dims(True) for n in dims):
        yield "symbolic"


def axis_attributes(schema):
    return [a["name"] for a in schema["attributes"] if a["allowed"] in ("axis", "axes")]


def wanted(schema, cases):
    """The kinds that the operator admits."""
    accepts = [a["accepts"] or "" for a in schema["arguments"]]
    inputs = [t for c in cases for t in c.inputs]
    if inputs:
        yield from ("zero", "one")
    if any(t.shape for t in inputs):
        yield "symbolic"
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
        print(f"FAIL make check-long takes {least} draws of an operator, expected {LEAST}")
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
        print(f"{op:36} {len(cases):5}  " + "  ".join(row))
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()
