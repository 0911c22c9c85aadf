# SPDX-License-Identifier: Apache-2.0
"""R.gguf_matmul on the cpu target: every format of blocks against float64 of the same quantization, by rows of activations one by one and
together, whose bits are equal; with block_activations=float32 against the weights' numbers. Formats that were read in another way
would be seen. --verify takes the difference for what int8 leaves."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
from clitest import check, done, path, tenon, write  # noqa: E402

try:
    import numpy as np
except ImportError:
    print("no numpy here")
    sys.exit(77)
from small_model import BLOCKS, dequantize, random_blocks  # noqa: E402

ROWS, COUNT = 37, 11  # of weights: no multiple of any vector; of activations: no multiple of any tile
COLUMNS = {32: 96, 256: 512}
RNG = np.random.RandomState(20261126)
FULL = os.environ.get("TESTS_FULL")


def module(kinds):
    text = ["from tvm.script import ir as I, relax as R, tirx as T", "@I.ir_module", "class Module:"]
    for kind in kinds:
        _, elems, size = BLOCKS[kind]
        k = COLUMNS[elems]
        for name, head, dims in (("one", "", "1, 1"), ("many", 'n: R.Shape(["n"]), ', '1, "n"')):
            text += ["    @R.function",
                     f"    def {name}_{kind}(x: R.Tensor(({dims}, {k}), \"float32\"), w: R.Tensor(({ROWS}, {k // elems * size}), \"uint8\")):",
                     "        with R.dataflow():",
                     f"            gv = R.gguf_matmul(x, w, type=\"{kind}\")",
                     "            R.output(gv)",
                     "        return gv"]
    return "\n".join(text) + "\n"


def quantized(x):
    """Bytes and scales, as the target makes them."""
    x = x.reshape(x.shape[0], -1, 32)
    most = np.abs(x).max(-1, keepdims=True)
    best = error = None
    for levels in (np.float32(v) for v in (127, 126, 125, 124)):
        with np.errstate(divide="ignore"):
            scaled = x * np.where(most > 0, levels / most, np.float32(0))
        squares = (scaled - np.rint(scaled)) ** 2
        for half in (16, 8, 4, 2, 1):
            squares = squares[..., :half] + squares[..., half:]
        squares = squares / (levels * levels)
        value = np.rint(scaled).astype(np.float64) * (most / levels)
        best, error = (value, squares) if error is None else (np.where(squares < error, value, best), np.minimum(squares, error))
    return best.reshape(x.shape[0], -1)


def run(art, kind, name, x, w):
    np.save(path("x.npy"), x)
    np.save(path("w.npy"), w)
    r = tenon("run", art, "-f", f"{name}_{kind}", "-i", f"x={path('x.npy')}", "-i", f"w={path('w.npy')}", "-o", path("out"))
    check(r.returncode == 0, f"{name}_{kind} runs", r)
    files = os.listdir(path("out")) if r.returncode == 0 else []
    return np.load(os.path.join(path("out"), files[0])) if files else None


def compare(target, kinds):
    what = json.dumps(target)
    art = path("m.tno")
    r = tenon("compile", write("m.py", module(kinds)), "-t", json.dumps(dict(target, kind="cpu")), "-o", art)
    check(r.returncode == 0, f"{what} compiles", r)
    if r.returncode:
        return
    for kind in kinds:
        k = COLUMNS[BLOCKS[kind][1]]
        raw, w = random_blocks(RNG, kind, ROWS, k, 1.0)
        raw = np.frombuffer(raw, np.uint8).reshape(ROWS, -1)
        x = (RNG.standard_normal((COUNT, k)) * np.exp(RNG.standard_normal((COUNT, 1)))).astype(np.float32)
        x[3, 32:64] = 0
        int8 = target.get("block_activations") != "float32"
        seen = quantized(x) if int8 else x.astype(np.float64)
        want = seen @ w.astype(np.float64).T
        got = run(art, kind, "many", x[None], raw)
        if got is None:
            continue
        limit = 1e-5 * np.abs(want).max()
        worst = np.abs(got[0] - want).max()
        check(worst < limit, f"{what}, {kind}: within {worst / np.abs(want).max():.1e} of float64")
        for i in (0, 3, COUNT - 1):
            one = run(art, kind, "one", x[None, i:i + 1], raw)
            check(one is not None and (not int8 or (one[0, 0] == got[0, i]).all()) and np.abs(one[0, 0] - want[i]).max() < limit,
                  f"{what}, {kind}: row {i} alone is the same")
        # what would be wrong
        for name, other in (("blocks one further", np.roll(raw, BLOCKS[kind][2], axis=1)), ("halves of bytes exchanged", raw >> 4 | raw << 4),
                            ("rows one further", np.roll(raw, 1, axis=0))):
            with np.errstate(all="ignore"):
                bad = seen @ np.nan_to_num(np.stack([dequantize(kind, b) for b in other.reshape(-1, BLOCKS[kind][2])]).reshape(ROWS, k)).T
            check(np.abs(got[0] - bad).max() > limit, f"{kind}: {name} would be seen")
        if int8:
            check(np.abs(got[0] - x.astype(np.float64) @ w.astype(np.float64).T).max() > limit, f"{kind}: activations of float32 would be seen")


ALL = list(BLOCKS)
r = tenon("compile", write("m.py", module(ALL)), "-t", "cpu", "-o", path("m.tno"), "--verify")
check(r.returncode == 0 and "functions verified by execution" in r.stderr and "not verified" not in r.stderr, "--verify runs products of both kinds", r)
compare({"mcpu": "native"}, ALL)
for target in ({"mcpu": "native", "block_activations": "float32"}, {"mcpu": "x86-64-v3"}, {"mcpu": "x86-64-v2"}):
    compare(target, ALL if FULL else ["Q4_0", "Q8_0"])
done()
