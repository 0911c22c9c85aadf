#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""DNNLDispatch: each form of each pattern goes to oneDNN and gives what the cpu target's own kernels give; what looks alike but
is none of oneDNN's stays; chains of convolutions against NumPy; a description of a function that is broken is refused."""
import json
import os
import re
import subprocess
import sys
import time

try:
    import numpy as np
except ImportError:  # another Python of this machine may have it
    if sys.executable == "/usr/bin/python3" or not os.path.exists("/usr/bin/python3"):
        print("no Python with NumPy (Debian: python3-numpy): skipped")
        sys.exit(77)
    os.execv("/usr/bin/python3", ["/usr/bin/python3"] + sys.argv)

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "models"))
from clitest import check, done, path, refused, tenon, write  # noqa: E402
from conv_chains import chain  # noqa: E402

ON = ["--config", write("dnnl.ini", "[pipeline cpu]\nlibrary_dispatch = DNNLDispatch\n")]
ROWS, COLUMNS = 3, 5


def module(params, lines, symbols=()):
    """A function of tensors name: (shape, dtype) whose lines bind variables, the last one gv."""
    def dim(d):
        return f'"{d}"' if isinstance(d, str) else str(d)
    text = ", ".join(f'{n}: R.Tensor(({", ".join(dim(d) for d in s)},), "{t}")' for n, (s, t) in params.items())
    return "\n".join(["@I.ir_module", "class Module:", "    @R.function", f"    def main({text}):",
                      *(f"        {s} = T.int64()" for s in symbols), "        with R.dataflow():",
                      *("            " + line for line in lines), "            R.output(gv)", "        return gv", ""])


def f32(*shape):
    return list(shape), "float32"


X, W = f32(2, 6, 9, 11), f32(8, 6, 3, 3)
CONV = "R.nn.conv2d(x, w, padding=[1, 1, 1, 1])"
ACTS = ["R.nn.relu(%s)", "R.nn.relu6(%s)", "R.sigmoid(%s)", "R.tanh(%s)", "R.nn.gelu(%s)", "R.nn.gelu_tanh(%s)",
        "R.nn.silu(%s)", "R.nn.mish(%s)", "R.nn.leakyrelu(%s, alpha=0.1)", "R.clip(%s, -1, 2)", "R.clip(%s, T.float32(\"-inf\"), 2)"]
BN = {n: f32(6) for n in ("g", "b", "m", "v")}
BIAS = "R.const([1.0, -2.0, 3.0, 0.5, 0.25, -1.5, 2.0, 4.0], \"float32\")"
# name: (parameters, lines, symbols)
GOES = {
    "convolution": ({"x": X, "w": W}, [f"gv = {CONV}"]),
    "strides and dilation": ({"x": X, "w": W}, ["gv = R.nn.conv2d(x, w, strides=[2, 1], dilation=[1, 2], padding=[1, 0, 2, 1])"]),
    "groups": ({"x": X, "w": f32(8, 3, 3, 3)}, ["gv = R.nn.conv2d(x, w, groups=2)"]),
    "depthwise": ({"x": X, "w": f32(12, 1, 3, 3)}, ["gv = R.nn.conv2d(x, w, groups=6)"]),
    "one dimension": ({"x": f32(2, 6, 17), "w": f32(8, 6, 3)}, ["gv = R.nn.conv1d(x, w, strides=[2], padding=[1, 1])"]),
    "three dimensions": ({"x": f32(1, 4, 5, 6, 7), "w": f32(8, 4, 2, 3, 2)}, ["gv = R.nn.conv3d(x, w, padding=[0, 1, 1, 1, 1, 0])"]),
    "transposed": ({"x": X, "w": f32(6, 8, 3, 3)}, ["gv = R.nn.conv2d_transpose(x, w, strides=[2, 2], padding=[1, 1, 0, 1])"]),
    "transposed groups": ({"x": X, "w": f32(6, 4, 3, 2)}, ["gv = R.nn.conv2d_transpose(x, w, groups=2, dilation=[2, 1])"]),
    "transposed, one dimension": ({"x": f32(2, 6, 17), "w": f32(6, 5, 3)}, ["gv = R.nn.conv1d_transpose(x, w, strides=[3])"]),
    "bias": ({"x": X, "w": W}, [f"lv = {CONV}", f"gv = R.add(lv, R.reshape({BIAS}, R.shape([1, 8, 1, 1])))"]),
    "residual": ({"x": X, "w": W, "r": f32(2, 8, 9, 11)}, [f"lv = {CONV}", "lv1 = R.add(r, lv)", "gv = R.nn.relu(lv1)"]),
    "residual taken over": ({"x": X, "w": W, "u": f32(8, 8, 1, 1)},
                            [f"lv = {CONV}", "lv1 = R.nn.conv2d(lv, u)", "lv2 = R.nn.conv2d(lv1, u)", "lv3 = R.add(lv2, lv)",
                             "gv = R.nn.relu(lv3)"]),
    "residual that is the input": ({"x": f32(1, 8, 7, 7), "u": f32(8, 8, 3, 3)},
                                   ["lv = R.nn.conv2d(x, u, padding=[1, 1, 1, 1])", "lv1 = R.nn.conv2d(lv, u, padding=[1, 1, 1, 1])",
                                    "gv = R.add(lv1, lv)"]),
    "residual used again": ({"x": X, "w": W, "u": f32(8, 8, 1, 1)},
                            [f"lv = {CONV}", "lv1 = R.nn.conv2d(lv, u)", "lv2 = R.add(lv1, lv)", "lv3 = R.nn.conv2d(lv2, u)",
                             "gv = R.add(lv3, lv)"]),
    "two results": ({"x": X, "w": W, "u": f32(8, 8, 1, 1)},
                    [f"lv = {CONV}", "lv1 = R.nn.conv2d(lv, u)", "lv2 = R.nn.relu(lv)", "gv = (lv1, lv2)"]),
    "pools": ({"x": X, "w": W}, [f"lv = {CONV}", "lv1 = R.nn.max_pool2d(lv, pool_size=[3, 2], strides=[2, 2], padding=[1, 0, 1, 1])",
                                 "lv2 = R.nn.avg_pool2d(lv1, pool_size=[2, 2], padding=[1, 1, 0, 0])", "gv = R.nn.max_pool2d(lv2, "
                                 "pool_size=[2, 2], strides=[2, 2], ceil_mode=True)"]),
    "pools that count padding": ({"x": X, "w": W}, [f"lv = {CONV}", "gv = R.nn.avg_pool2d(lv, pool_size=[3, 3], padding=[1, 1, 1, 1], "
                                                    "count_include_pad=True)"]),
    "global pool": ({"x": X, "w": W}, [f"lv = {CONV}", "gv = R.mean(lv, axis=[2, 3], keepdims=True)"]),
    "adaptive pool": ({"x": X, "w": W}, [f"lv = {CONV}", "gv = R.nn.adaptive_avg_pool2d(lv, output_size=[1, 1])"]),
    "join": ({"x": X, "w": W, "u": f32(4, 6, 3, 3)}, [f"lv = {CONV}", "lv1 = R.nn.conv2d(x, u, padding=[1, 1, 1, 1])",
                                                      "lv2 = R.concat((lv, lv1, x), axis=1)", "gv = R.nn.relu(lv2)"]),
    "batch normalization behind": ({"x": f32(2, 6, 9, 11), "w": f32(6, 6, 3, 3), **BN},
                                   ["lv = R.nn.conv2d(x, w)", "lv1 = R.exp(v)", "lv2 = R.nn.batch_norm(lv, g, b, m, lv1, axis=1, "
                                    "epsilon=1e-3, training=False)", "lv3 = lv2[0]", "gv = R.nn.relu(lv3)"]),
    "arithmetic between": ({"x": X, "w": W, "y": f32(2, 8, 9, 11)},
                           [f"lv = {CONV}", "lv1 = R.multiply(lv, y)", "lv2 = R.subtract(y, lv1)", "lv3 = R.maximum(lv2, lv)",
                            "lv4 = R.minimum(lv3, y)", "gv = R.divide(lv4, R.const(3, \"float32\"))"]),
    "product": ({"x": f32(ROWS, 7), "w": f32(7, COLUMNS)}, ["gv = R.matmul(x, w)"]),
    "turned": ({"x": f32(ROWS, 7), "w": f32(COLUMNS, 7)}, ["lv = R.permute_dims(w)", "gv = R.matmul(x, lv)"]),
    "batches turned": ({"x": f32(2, 4, ROWS, 7), "w": f32(2, 4, COLUMNS, 7)}, ["lv = R.permute_dims(w, axes=[0, 1, 3, 2])", "gv = R.matmul(x, lv)"]),
    "batches of one matrix": ({"x": f32(2, 4, ROWS, 7), "w": f32(7, COLUMNS)}, ["gv = R.matmul(x, w)"]),
    "one matrix for batches": ({"x": f32(ROWS, 7), "w": f32(4, 7, COLUMNS)}, ["gv = R.matmul(x, w)"]),
    "product of a constant": ({"x": f32(ROWS, 2)}, ["lv = R.matmul(x, R.const([[1, 2, 3], [4, 5, 6.5]], \"float32\"))",
                                                    "lv1 = R.add(lv, R.const([0.5, 0.25, 2], \"float32\"))", "gv = R.nn.gelu(lv1)"]),
    "product with residual": ({"x": f32(2, ROWS, 6), "w": f32(6, 6)}, ["lv = R.matmul(x, w)", "lv1 = R.add(lv, x)", "gv = R.nn.relu(lv1)"]),
    "products in a row": ({"x": f32(2, ROWS, 6), "w": f32(6, 6)}, ["lv = R.matmul(x, w)", "lv1 = R.nn.softmax(lv, axis=-1)", "gv = R.matmul(lv1, w)"]),
    "convolution and product": ({"x": f32(4, 6, 1, 1), "w": f32(8, 6, 1, 1), "u": f32(4, 8, 1, 3)},
                                ["lv = R.nn.conv2d(x, w)", "gv = R.matmul(lv, u)"]),
    "softmax": ({"x": f32(3, 4, 5)}, ["gv = R.nn.softmax(x, axis=1)"]),
    "layer normalization": ({"x": f32(2, 5, 12), "g": f32(12), "b": f32(12)}, ["gv = R.nn.layer_norm(x, g, b, axes=[-1], epsilon=1e-4)"]),
    "a batch of any size": ({"x": (["n", 6, 9, 11], "float32"), "w": W}, [f"lv = {CONV}", "gv = R.nn.relu(lv)"], ["n"]),
    "rows of any number": ({"x": (["b", "n", 8], "float32"), "w": f32(8, 8)}, ["lv = R.matmul(x, w)", "lv1 = R.add(lv, x)", "gv = R.nn.softmax(lv1)"],
                           ["b", "n"]),
}
for act in ACTS:
    GOES[act % "..."] = ({"x": X, "w": W}, [f"lv = {CONV}", "gv = " + act % "lv"])
STAYS = {
    "integers": ({"x": ([ROWS, 7], "int32"), "w": ([7, COLUMNS], "int32")}, ["gv = R.matmul(x, w)"]),
    "float16": ({"x": ([ROWS, 7], "float16"), "w": ([7, COLUMNS], "float16")}, ["gv = R.matmul(x, w)"]),
    "vectors": ({"x": f32(7), "w": f32(7, COLUMNS)}, ["gv = R.matmul(x, w)"]),
    "an image of any size": ({"x": ([1, 6, "h", "w0"], "float32"), "w": W}, [f"gv = {CONV}"], ["h", "w0"]),
    "another layout": ({"x": f32(1, 9, 9, 6), "w": W}, ["gv = R.nn.conv2d(x, w, data_layout=\"NHWC\")"]),
    "averages that round up": ({"x": X}, ["gv = R.nn.avg_pool2d(x, pool_size=[2, 2], strides=[2, 2], ceil_mode=True)"]),
    "nothing but arithmetic": ({"x": X}, ["lv = R.add(x, x)", "gv = R.nn.relu(lv)"]),
    "output padding": ({"x": X, "w": f32(6, 8, 3, 3)}, ["gv = R.nn.conv2d_transpose(x, w, strides=[2, 2], output_padding=[1, 1])"]),
    "no elements": ({"x": f32(0, 7), "w": f32(7, COLUMNS)}, ["gv = R.matmul(x, w)"]),
}


def sizes(params, symbols, draw):
    """Random inputs; every symbol gets a size."""
    at = {s: int(draw.integers(1, 7)) for s in symbols}
    args = []
    for name, (shape, dtype) in params.items():
        a = draw.uniform(-1, 1, [at.get(d, d) for d in shape])
        np.save(path(f"{name}.npy"), (a if dtype.startswith("float") else a * 5).astype(dtype))
        args += ["-i", f"{name}={path(name + '.npy')}"]
    return args


def operators():
    for number, (name, case) in enumerate(GOES.items()):
        params, lines, symbols = (*case, ())[:3]
        file = write("case.py", module(params, lines, symbols))
        text = tenon("opt", file, "-t", "cpu", "-p", "DNNLDispatch")
        inside = re.search(r"def main\(.*", text.stdout, re.S)
        left = re.findall(r"R\.(?:nn\.)?(?:conv\w+|matmul|softmax|layer_norm)\(", inside.group(0) if inside else "R.matmul(")
        check(text.returncode == 0 and not left and '"codegen": "dnnl"' in text.stdout, f"{name}: goes to oneDNN", text)
        for again in range(3 if symbols else 1):
            args = sizes(params, symbols, np.random.default_rng(100 * number + again))
            want = path(f"want{again}")
            r = tenon("run", file, "-t", "cpu", *args, "-o", want)
            expect = [x for f in sorted(os.listdir(want)) for x in ("--expect", f"#{f.split('-')[0]}={os.path.join(want, f)}")]
            r = tenon("run", file, "-t", "cpu", *ON, *args, *expect, "--rtol", "1e-4", "--atol", "1e-5", "--threads", 1 + number % 2)
            check(r.returncode == 0, f"{name}: the same result", r)
            for f in os.listdir(want):
                os.remove(os.path.join(want, f))
    for name, case in STAYS.items():
        params, lines, symbols = (*case, ())[:3]
        file = write("case.py", module(params, lines, symbols))
        text = tenon("opt", file, "-t", "cpu", "-p", "DNNLDispatch")
        check(text.returncode == 0 and "dnnl" not in text.stdout, f"{name}: stays", text)


def chains():
    first, count = 1, 200 if os.environ.get("TENON_LONG") else 10
    if len(sys.argv) > 1:
        first, count = int(sys.argv[1]), 1
    for seed in range(first, first + count):
        text, x, y = chain(seed)
        file = write(f"{seed}.py", text)
        np.save(path("x.npy"), x)
        np.save(path("y.npy"), y)
        r = tenon("run", file, "-t", "cpu", *ON, "-i", f"x={path('x.npy')}", "--expect", f"output0={path('y.npy')}",
                  "--rtol", "1e-4", "--atol", "2e-5")
        check(r.returncode == 0, f"chain {seed} of {text.count('conv2d')} convolutions", r)


def symbols_in_one_run():
    """Plans for changing extents: an artifact that runs with several sizes, beyond what is kept."""
    params, lines, symbols = GOES["rows of any number"]
    file, artifact = write("sizes.py", module(params, lines, symbols)), path("sizes.tno")
    r = tenon("compile", file, "-t", "cpu", *ON, "-o", artifact)
    check(r.returncode == 0, "an artifact with symbols", r)
    draw = np.random.default_rng(7)
    for rows in (1, 9, 2, 0):
        x, w = draw.uniform(-1, 1, (2, rows, 8)).astype("float32"), draw.uniform(-1, 1, (8, 8)).astype("float32")
        y = x.astype("float64") @ w + x
        y = np.exp(y - y.max(-1, keepdims=True))
        for name, a in (("x", x), ("w", w), ("y", (y / y.sum(-1, keepdims=True)).astype("float32"))):
            np.save(path(f"{name}.npy"), a)
        r = tenon("run", artifact, "-i", f"x={path('x.npy')}", "-i", f"w={path('w.npy')}", "--expect", f"output0={path('y.npy')}",
                  "--rtol", "1e-4", "--atol", "1e-6")
        check(r.returncode == 0, f"{rows} rows", r)


def hostile():
    """A module whose description of a function is not what the loader takes."""
    file = write("conv.py", module({"x": X, "w": W}, [f"gv = {CONV}"]))
    text = tenon("opt", file, "-t", "cpu", "-p", "DNNLDispatch").stdout
    payload = re.search(r'"payload": (\{.*\}), "symbol"', text).group(1)
    good = json.loads(payload)

    def spoil(change):
        d = json.loads(payload)
        change(d)
        return text.replace(payload, json.dumps(d))
    faults = {
        "an operand that there is not": lambda d: d["ops"][0]["in"].__setitem__(0, 99),
        "an operand computed later": lambda d: d["ops"][0]["in"].__setitem__(0, 2),
        "a result that there is not": lambda d: d["out"].__setitem__(0, 7),
        "an unknown operation": lambda d: d["ops"][0].__setitem__("op", "fold"),
        "extents of no number": lambda d: d["values"][0].__setitem__("dims", ["x", 6, 9, 11]),
        "a symbol that there is not": lambda d: d["values"][0].__setitem__("dims", [-1, 6, 9, 11]),
        "too many dimensions": lambda d: d["values"][0].__setitem__("dims", [1] * 9),
        "a window of strings": lambda d: d["ops"][0].__setitem__("strides", ["a", "b"]),
        "groups of none": lambda d: d["ops"][0].__setitem__("groups", 0),
        "an unknown activation": lambda d: d["ops"][0].update(activation="grin", alpha=0, beta=0),
        "a normalization without its summand": lambda d: d["ops"].__setitem__(0, {"op": "layer_norm", "in": [0, 1, -1], "out": 2, "epsilon": 0}),
        "a join of nothing": lambda d: d["ops"].__setitem__(0, {"op": "concat", "in": [0, 0, -1], "out": 2, "axis": 0}),
        "more elements than there are addresses": lambda d: d["values"][0].__setitem__("dims", [2**31 - 1] * 6),
        "a sum of nothing": lambda d: d["ops"][0].__setitem__("sum", -4),
        "no values": lambda d: d.pop("values"),
        "arguments beyond those that there are": lambda d: d["values"][0].__setitem__("arg", 44),
        "a sum with itself": lambda d: d["ops"][0].__setitem__("sum", 2),
        "a bias that is too short": lambda d: (d["values"].append({"dims": [1], "arg": 0}), d["ops"][0]["in"].__setitem__(2, 3)),
        "factors that are too few": lambda d: (d["values"].append({"dims": [1]}), d["ops"].__setitem__(0, {
            "op": "layer_norm", "in": [0, 1, 1], "out": 2, "epsilon": 0})),
        "means that are no vector": lambda d: d["ops"].__setitem__(0, {
            "op": "batch_norm", "in": [0, 1, 1, 1, 1], "out": 2, "epsilon": 0, "relu": 0}),
        "an axis that there is not": lambda d: d["ops"].__setitem__(0, {"op": "softmax", "in": [0], "out": 2, "axis": 4}),
        "strides beyond any number": lambda d: d["ops"][0].update(strides=[2**31 - 1] * 2, dilation=[2**31 - 1] * 2,
                                                                  padding=[2**31 - 1] * 4),
        "other extents than the arguments": lambda d: d["values"][0].__setitem__("dims", [2, 6, 10, 11]),
    }
    check(tenon("run", write("good.py", spoil(lambda d: None)), "-t", "cpu").returncode == 0 and len(good["ops"]) == 1,
          "the description as it was runs")
    for name, change in faults.items():
        refused(name, tenon("run", write("bad.py", spoil(change)), "-t", "cpu"), "dnnl")


def one_thread():
    """oneDNN's primitives, made when the artifact is loaded, start no thread beside the one allowed."""
    text = module({"x": f32(1, 32, 64, 64), "w": f32(32, 32, 3, 3)}, ["gv = R.nn.conv2d(x, w, padding=[1, 1])"])
    artifact = path("one_thread.tno")
    r = tenon("compile", write("one_thread.py", text), "-o", artifact, *ON)
    check(r.returncode == 0, "a convolution of known extents", r)
    most = 0
    with subprocess.Popen([os.environ["TENON"], "bench", artifact, "--threads", "1", "--seconds", "0.5"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as p:
        while p.poll() is None:
            try:
                most = max(most, len(os.listdir(f"/proc/{p.pid}/task")))
            except OSError:  # it has just ended
                break
            time.sleep(0.01)
    check(p.returncode == 0 and most == 1, f"it runs on {most} of 1 threads")


def main():
    if "loader:dnnl" not in tenon("list", "plugins", "--why").stdout + tenon("show", "plugin", "dnnl_rt").stdout:
        print("built without oneDNN: skipped")
        sys.exit(77)
    if len(sys.argv) < 2:
        operators()
        symbols_in_one_run()
        one_thread()
        hostile()
    chains()
    done()


main()
