# SPDX-License-Identifier: Apache-2.0
"""Descriptions of functions for CLML that are not what the loader takes: by hand, and with values changed at random. Each is refused or
runs; the layer sees no memory that is too small."""
import json
import os
import random
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from clmltest import INI, PLUGINS, layer, wrong  # noqa: E402
from clitest import check, done, refused, tenon, write  # noqa: E402
from clmlnet import net, numbers  # noqa: E402

MODEL = net("hostile", [("x", (1, 6, 7, 5)), ("y", (1, 5, 5, 3))], [
    f"c = R.nn.conv2d(x, {numbers(5, 6, 3, 3)})", "s = R.add(c, y)", "r = R.nn.relu(s)", "gv = R.nn.softmax(r, axis=1)"])
TEXT = tenon("opt", MODEL, "-p", "CLMLDispatch{min_work=0}", "-t", "clml", "--config", INI).stdout
PAYLOAD = re.search(r'"payload": (\{.*\}), "symbol"', TEXT).group(1)


def run(d, name="bad"):
    file = write(name + ".py", TEXT.replace(PAYLOAD, json.dumps(d)))
    return tenon("run", file, "-t", "clml", "--config", INI, "--plugin-path", PLUGINS, env=layer(name))


def spoilt(change):
    d = json.loads(PAYLOAD)
    change(d)
    return d


def tensor(d, test):
    return next(t for t in d["tensors"] if test(t))


r = run(json.loads(PAYLOAD), "good")
check(r.returncode == 0 and not wrong("good"), "the description as it was runs", r)
FAULTS = {
    "more bytes than there are numbers": lambda d: tensor(d, lambda t: "arg" in t).__setitem__("dims", [2**31 - 1] * 4),
    "a copy from nowhere": lambda d: d["after"][0].__setitem__("from", len(d["tensors"])) or d["tensors"].append(
        dict(tensor(d, lambda t: "arg" not in t), dims=d["tensors"][d["after"][0]["to"]]["dims"])),
    "a result in the place of an input": lambda d: d["after"][0].__setitem__("to", d["before"][0]["from"]),
    "a copy into an input": lambda d: d["before"].append({"from": d["before"][0]["from"], "to": d["before"][0]["from"]}),
    "an operation that writes an input": lambda d: d["ops"][-1].__setitem__("out", d["before"][0]["from"]),
    "an operand that there is not": lambda d: d["ops"][0]["in"].__setitem__(0, 99),
    "no operands": lambda d: d["ops"][0].__setitem__("in", []),
    "no tensors": lambda d: d.pop("tensors"),
    "more results than arguments": lambda d: d.__setitem__("results", 99),
    "an unknown operation": lambda d: d["ops"][0].__setitem__("op", "fold"),
}
for name, change in FAULTS.items():
    refused(name, run(spoilt(change)), "clml")


def numbers_of(node):
    """Places of the numbers in a description."""
    items = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in list(items):
        if isinstance(value, (dict, list)):
            yield from numbers_of(value)
        elif not isinstance(value, bool) and isinstance(value, (int, float)):
            yield node, key


draw = random.Random(int(os.environ.get("SEED", "1")))
turns = 2000 if os.environ.get("TENON_LONG") else 40
taken = 0
for turn in range(turns):
    d = json.loads(PAYLOAD)
    for _ in range(draw.randint(1, 2)):
        node, key = draw.choice(list(numbers_of(d)))
        node[key] = draw.choice([0, 1, -1, 2, 3, 5, 7, 64, 65536, 2**31 - 1, 2**31, 2**62, node[key] + 1, node[key] - 1])
    r = run(d, "random")
    taken += r.returncode == 0
    if r.returncode not in (0, 1) or "Sanitizer" in r.stderr or any("too small" in l for l in wrong("random")):
        check(False, f"turn {turn}: {json.dumps(d)}", r)
        break
check(True, f"{turns} descriptions with values changed: {taken} run, the others are refused")
done()
