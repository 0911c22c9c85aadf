# SPDX-License-Identifier: Apache-2.0
"""A wrong value of any attribute of any operator is an error at the call that names the attribute. Every attribute of every
schema has one.

The calls are the oracle's; what is wrong follows from the schemas (`tenon list ops --json`): a value of another type, one
that is not allowed, a list of another length, a required attribute that is missing, an attribute that does not exist. Also
for arguments: a dtype or a rank that the schema does not accept. Without NumPy it is skipped.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

import values  # noqa: F401  (finds a Python with NumPy)
import oracle
from oracle import Case, Raw, Tensor, identifier

OTHER_TYPE = {"integer": "text", "number": "text", "boolean": 7, "text": 5, "dtype": "no_such_type", "integers": ["a"],
              "numbers": ["a"], "texts": [1], "index map": 5, "scalar expressions": ["a"], "virtual device": 5}
# where the schema does not tell
ONE_BY_ONE = {
    ("layout_transform", "pad_value"): ["text", [1]],
    ("layout_transform", "axis_separators"): ["text", [99]],
    ("layout_transform", "input_axis_separators"): ["text", [99]],
    ("split", "indices_or_sections"): ["text", 0, ["a"]],
    ("ccl.allreduce", "op_type"): ["no_such"],
}
OF_FIXED_LENGTH = {"strides", "padding", "dilation", "output_padding", "pool_size", "output_size", "pooled_size", "pad_width",
                   "roi", "scales", "variances"}
FOUND_BY_READER = {("arange", "dtype")}  # from the limits, where it is left out
WRONG_VALUES = {"another type", "not allowed", "no axis", "an axis twice", "too many", "no layout"}
LAYOUTS = {"layout", "data_layout", "kernel_layout", "out_layout"}


def example(a, case):
    """A value that fits the attribute."""
    if a["name"] in case.attrs and not isinstance(case.attrs[a["name"]], Raw):
        return case.attrs[a["name"]]
    if a["default"] and a["default"][0] in "[-0123456789":
        return json.loads(a["default"])
    return None


def not_allowed(a, case):
    """Values that the schema does not allow, with why."""
    allowed, each = a["allowed"], a["type"] in ("integers", "numbers", "texts")
    if allowed == "axis":
        yield 77, "no axis"
        yield -77, "no axis"
    elif allowed == "axes":
        yield [77], "no axis"
        yield [0, 0], "an axis twice"
    elif allowed:
        if allowed.startswith(">="):
            v = int(allowed[2:]) - 1
        elif ".." in allowed:
            v = float(allowed.split("..")[1]) + 1
        elif a["type"] == "dtype":
            v = "int32" if "int" not in allowed.split("|") else "bool"
        else:
            v = "no_such" if a["type"] in ("text", "texts") else 5
        have = example(a, case)
        yield ([v] * max(1, len(have)) if isinstance(have, list) else [v]) if each else v, "not allowed"
    if a["name"] in OF_FIXED_LENGTH and each:
        yield [1] * 13, "too many"
    if a["name"] in LAYOUTS:
        yield "QQQQ", "no layout"


def wrong_calls(schema, case):
    """(name that the message must hold, why, text of the call)"""
    names = [a["name"] for a in schema["attributes"]]
    for a in schema["attributes"]:
        name = a["name"]
        wrong = list(not_allowed(a, case))
        wrong += [(v, "not allowed") for v in ONE_BY_ONE.get((schema["name"][len("relax."):], name), [])]
        if a["type"] in OTHER_TYPE:
            wrong.append((OTHER_TYPE[a["type"]], "another type"))
        for v, why in wrong:
            yield v if v == "no_such_type" else name, why, case.call({**case.attrs, name: v})
        if a["default"] is None and not a["optional"] and name in case.attrs and (
                schema["name"][len("relax."):], name) not in FOUND_BY_READER:
            yield name, "missing", case.call({k: v for k, v in case.attrs.items() if k != name})
    bad = "no_such_attribute"
    yield bad, "unknown", case.call({**case.attrs, bad: 1})
    if names and names[0] + "x" not in names:
        yield names[0], "misspelled", case.call({**case.attrs, names[0] + "x": 1})


# ---- arguments ----

def wrong_inputs(schema, case):
    """(why, inputs): dtypes and ranks that `accepts` of a tensor argument excludes."""
    for k, text in enumerate(case.args):
        m = re.fullmatch(r"x(\d+)", text)
        accepts = schema["arguments"][k]["accepts"] if k < len(schema["arguments"]) else None
        if not m or not accepts or not re.search(r"\btensor\b", accepts):
            continue
        i = int(m.group(1))
        t = case.inputs[i]
        kind = accepts.split(" tensor")[0]
        others = {"float": "int32", "bool": "float32", "int": "float32", "int or bool": "float32"}
        if kind in others:
            yield f"argument {i} of {others[kind]}", [Tensor(u.a, others[kind]) if u.dtype == t.dtype or j == i else u
                                                      for j, u in enumerate(case.inputs)]
        r = re.search(r"of rank (\d+)(?: or (\d+|more))?", accepts)
        if r:
            most = 99 if r.group(2) == "more" else int(r.group(2) or r.group(1))
            rank = int(r.group(1)) - 1 if most == 99 else most + 1
            yield f"argument {i} of rank {rank}", [Tensor(u.a.reshape((1,) * rank) if u.a.size == 1 else __import__(
                "numpy").zeros((2,) * rank), u.dtype) if j == i else u for j, u in enumerate(case.inputs)]


# Operators that have no formula.
WORKERS = {
    "ccl.allreduce": {"op_type": "sum", "in_group": True},
    "ccl.allgather": {"num_workers": 2, "in_group": True},
    "ccl.broadcast_from_worker0": {},
    "ccl.scatter_from_worker0": {"num_workers": 2, "axis": 0},
    "dist.redistribute_replica_to_shard": {"num_workers": 2, "axis": 0},
}


def case_of(op):
    if op in WORKERS:
        x = Tensor([[1, 2], [3, 4]], "float32")
        return Case(op, [x], [x], attrs=WORKERS[op])
    return oracle.draw_cases(op, 1, 1)[0][1]


# ---- running ----

def check(path):
    r = subprocess.run([os.environ["TENON"], "check", path], capture_output=True, text=True, errors="replace",
                       timeout=float(os.environ.get("TESTS_TIMEOUT") or 300))
    return r.returncode, r.stderr


def messages(err, path):
    """Line of the file -> its messages."""
    found = {}
    for m in re.finditer(re.escape(path) + r":(\d+):\d+: (.*)", err):
        found.setdefault(int(m.group(1)), []).append(m.group(2))
    return found


def main():
    listing = subprocess.run([os.environ["TENON"], "list", "ops", "--json"], capture_output=True, text=True, check=True)
    schemas = {s["name"][len("relax."):]: s for s in json.loads(listing.stdout) if s["plugin"] == "ops"}
    calls = attributes = failed = 0
    for op in sorted(set(schemas) - set(oracle.formulas) - set(WORKERS)):
        print(f"FAIL {op}: there is no call of it")
        failed += 1
    with tempfile.TemporaryDirectory(prefix="tenon-attributes-") as folder:
        for op in sorted(set(schemas) & (set(oracle.formulas) | set(WORKERS))):
            if sys.argv[1:] and op not in sys.argv[1:]:
                continue
            case = case_of(op)
            rows = [(name, why, case, call) for name, why, call in wrong_calls(schemas[op], case)]
            for a in schemas[op]["attributes"]:
                attributes += 1
                if not any(why in WRONG_VALUES and f"{a['name']}=" in call and name in (a["name"], "no_such_type")
                           for name, why, _, call in rows):
                    print(f"FAIL {op}: no wrong value of attribute '{a['name']}' ({a['type']}) is tried")
                    failed += 1
            for why, inputs in wrong_inputs(schemas[op], case):
                rows.append((None, why, Case(op, inputs, case.outputs, case.args, case.attrs, sym=False), case.call()))
            path, text, lines = os.path.join(folder, identifier(op) + ".py"), [oracle.HEADER], []
            for i, (_, _, c, call) in enumerate(rows):
                text.append(c.function(f"f{i}", call=call))
                lines.append("\n".join(text).count("\n", 0, "\n".join(text).rindex("        y = ")) + 1)
            with open(path, "w") as f:
                f.write("\n".join(text))
            code, err = check(path)
            found = messages(err, path)
            if code != 1:
                print(f"FAIL {op}: exit status {code}")
                failed += 1
            for (name, why, _, call), line in zip(rows, lines):
                calls += 1
                told = found.get(line, [])
                if not told or (name and not any(name in t for t in told)):
                    print(f"FAIL {op}: {name or 'argument'} ({why}): {call}\n  said: {told or 'nothing at this call'}")
                    failed += 1
    print(f"{attributes} attributes of {len(schemas)} operators, {calls} wrong calls, {failed} failed")
    sys.exit(1 if failed or not calls else 0)


main()
