# SPDX-License-Identifier: Apache-2.0
"""What scripts share that write ONNX models and run them: messages as wire bytes, cases with several draws of inputs each.

A case is a function of a random generator that gives a graph and draws: lists of (inputs, expected outputs). In place of the
outputs a text may stand, or several: then the run is refused with status 1 and these texts.
"""
import os
import shutil
import struct
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:  # another Python of this machine may have it
    other = "/usr/bin/python3"
    if os.environ.get("WIRE_PYTHON") or not os.path.exists(other):
        print("no Python with NumPy (Debian: python3-numpy): skipped")
        sys.exit(77)
    os.environ["WIRE_PYTHON"] = other
    os.execv(other, [other] + sys.argv)

# ---- models as wire bytes ----

TYPES = {"float32": 1, "uint8": 2, "int32": 6, "int64": 7, "bool": 9}
F, I, I32, B = "float32", "int64", "int32", "bool"


def varint(v):
    v &= (1 << 64) - 1
    out = bytearray()
    while v > 127:
        out.append(v & 127 | 128)
        v >>= 7
    return bytes(out + bytes([v]))


def number(field, v):
    return varint(field << 3) + varint(v)


def part(field, b):
    b = b.encode() if isinstance(b, str) else b
    return varint(field << 3 | 2) + varint(len(b)) + b


def tensor(name, a):
    a = np.asarray(a)
    return b"".join(number(1, n) for n in a.shape) + number(2, TYPES[a.dtype.name]) + part(8, name) + part(9, a.tobytes())


def value(name, dtype, dims):
    shape = b"".join(part(1, part(2, d) if isinstance(d, str) else number(1, d)) for d in dims)
    return part(1, name) + part(2, part(1, number(1, TYPES[dtype]) + part(2, shape)))


def attribute(name, v):
    head = part(1, name)
    if isinstance(v, bytes):
        return head + part(6, v) + number(20, 5)
    if isinstance(v, str):
        return head + part(4, v) + number(20, 3)
    if isinstance(v, float):
        return head + varint(2 << 3 | 5) + struct.pack("<f", v) + number(20, 1)
    if isinstance(v, np.ndarray):
        return head + part(5, tensor("", v)) + number(20, 4)
    if isinstance(v, list):
        return head + b"".join(number(8, x) for x in v) + number(20, 7)
    return head + number(3, v) + number(20, 2)


def node(op, inputs, outputs, **attrs):
    return (b"".join(part(1, x) for x in inputs.split(" ")) if inputs else b"") + \
        b"".join(part(2, x) for x in outputs.split(" ")) + part(4, op) + \
        b"".join(part(5, attribute(k, v)) for k, v in attrs.items())


def graph(nodes, inputs, outputs, consts=None):
    return b"".join(part(1, n) for n in nodes) + part(2, "g") + \
        b"".join(part(5, tensor(k, v)) for k, v in (consts or {}).items()) + \
        b"".join(part(11, v) for v in inputs) + b"".join(part(12, v) for v in outputs)


def model(g, opset=16):
    return number(1, 8) + part(7, g) + part(8, part(1, "") + number(2, opset))


def branch(nodes, *outputs, consts=None):
    return graph(nodes, [], [value(o, F, []) for o in outputs], consts)


def body(nodes, inputs, outputs):
    """inputs: (name, type, dims) after the counter `i` and the condition `c`; outputs: names after the condition."""
    return graph(nodes, [value("i", I, []), value("c", B, [])] + [value(*v) for v in inputs],
                 [value(o, F, []) for o in outputs])


def f32(x):
    return np.asarray(x, np.float32)


def i64(x):
    return np.asarray(x, np.int64)


def stacked(rows, shape):
    return f32(rows) if len(rows) else np.zeros((0,) + shape, np.float32)


# ---- running ----


def npy(at, name, a):
    path = os.path.join(at, name + ".npy")
    np.save(path, np.asarray(a))
    return path


def write(folder, name, g, draws, opset=16):
    """As a case of the backend suite: what is refused is left out."""
    at = os.path.join(folder, "test_" + name)
    os.makedirs(at)
    with open(os.path.join(at, "model.onnx"), "wb") as f:
        f.write(model(g, opset))
    for k, (inputs, outputs) in enumerate(d for d in draws if not isinstance(d[1], (str, tuple))):
        data = os.path.join(at, f"test_data_set_{k}")
        os.makedirs(data)
        for kind, arrays in (("input", inputs), ("output", outputs)):
            for i, a in enumerate(arrays):
                with open(os.path.join(data, f"{kind}_{i}.pb"), "wb") as f:
                    f.write(tensor("", np.asarray(a)))
    return at


def run_cases(paths, how):
    """`tenon onnx-test` on written cases; whether all pass."""
    r = subprocess.run([os.environ["TENON"], "onnx-test", *how, "--atol", "1e-5", *paths], capture_output=True, text=True)
    lines = (r.stdout + r.stderr).splitlines()
    print(" ".join(how), lines[-1] if lines else "")
    for line in lines:
        if not line.startswith("PASS") and line != lines[-1]:
            print("  " + line)
    return r.returncode == 0 and not any(line.startswith(("SKIP", "FAIL")) for line in lines)


def run_refused(at, draws, how):
    """Draws that must be refused; whether all are, with their texts."""
    ok = True
    for k, (inputs, text) in enumerate(d for d in draws if isinstance(d[1], (str, tuple))):
        texts = (text,) if isinstance(text, str) else text
        args = [x for i, a in enumerate(inputs) for x in ("-i", f"#{i}=" + npy(at, f"refused_{k}_{i}", a))]
        r = subprocess.run([os.environ["TENON"], "run", os.path.join(at, "model.onnx"), *how, *args], capture_output=True,
                           text=True)
        if r.returncode != 1 or any(t not in r.stderr for t in texts):
            print(f"FAIL {os.path.basename(at)} {' '.join(how)}: status {r.returncode}, expected 1 and {texts}:\n{r.stderr}")
            ok = False
    return ok


def targets(folder):
    """The interpreter, the cpu, and the OpenCL device if it runs a model: options of `tenon onnx-test`."""
    at = write(folder, "probe", graph([node("Relu", "x", "y")], [value("x", F, [2])], [value("y", F, [2])]), [])
    r = subprocess.run([os.environ["TENON"], "run", os.path.join(at, "model.onnx"), "-t", "opencl"], capture_output=True)
    return [["--interp"], ["-t", "cpu"]] + ([["-t", "opencl"]] if r.returncode == 0 else [])


def plugins_there():
    plugins = os.environ.get("TENON_PLUGIN_PATH")
    if plugins and not all(os.path.exists(os.path.join(plugins, p)) for p in ("onnx.so", "cpu.so")):
        print("built without the onnx or the cpu plugin: skipped")
        sys.exit(77)


def chosen(prefix):
    """Arguments of a script: [--keep DIR] [CASE...]. The folder, whether it is kept, the names."""
    args = sys.argv[1:]
    keep = args.pop(1) if args[:1] == ["--keep"] else None
    args = args[1:] if keep else args
    return keep or tempfile.mkdtemp(prefix=prefix), keep is not None, args
