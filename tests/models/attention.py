#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random attention on the cpu, as an operator and as graphs write it, against NumPy: odd sizes, lengths 0 and 1, rows that see
nothing, shared heads, masks of every form, extents that are not known; for vectors of 32 and of 16 bytes. On the way the
interpreter runs what the passes made of it."""
import os
import random
import sys

try:
    import numpy as np
except ImportError:  # another Python of this machine may have it
    if sys.executable == "/usr/bin/python3" or not os.path.exists("/usr/bin/python3"):
        print("no Python with NumPy (Debian: python3-numpy): skipped")
        sys.exit(77)
    os.execv("/usr/bin/python3", ["/usr/bin/python3"] + sys.argv)

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
from clitest import check, done, path, tenon, write  # noqa: E402

KINDS = ['{"kind": "cpu"}', '{"kind": "cpu", "mcpu": "x86-64-v2"}']
LENGTHS = [0, 1, 2, 7, 15, 16, 17, 31, 33, 48, 65, 100, 130, 200]


def softmax(s):
    with np.errstate(all="ignore"):
        e = np.exp(s - s.max(-1, keepdims=True, initial=-np.inf))
        return e / e.sum(-1, keepdims=True)


def tensor(name, x, dims=None):
    shape = dims or x.shape
    text = ", ".join(f'"{e}"' if isinstance(e, str) else str(e) for e in shape)
    return f'{name}: R.Tensor(({text}{"," if len(shape) == 1 else ""}), "{x.dtype}")'


def module(params, lines, private=""):
    return "\n".join(["from tvm.script import ir as I", "from tvm.script import relax as R", "from tvm.script import tirx as T", "",
                      "@I.ir_module", "class Module:", "    @R.function", f"    def main({', '.join(params)}):",
                      "        with R.dataflow():", *("            " + s for s in lines), "            R.output(y)",
                      "        return y", ""])


def seen(d, sq, sk):
    """Attributes of the operator, and which key a query sees."""
    attrs, i, j = "", np.arange(sq)[:, None], np.arange(sk)[None]
    mask = d.choice([None, None, "TopLeft", "BottomRight"])
    ok = np.ones((sq, sk), bool)
    if mask:
        attrs += f', causal_mask="{mask}"'
        ok &= j <= i + (sk - sq if mask == "BottomRight" else 0)
    if d.random() < 0.3:
        w = d.choice([1, 3, 20, 64])
        attrs += f", window_size={w}"
        ok &= i + (0 if mask == "TopLeft" else sk - sq) - j < w
    return attrs, ok


def operator(d, rng):
    b, h, size, out = d.choice([1, 1, 2]), d.choice([1, 2, 3, 4]), d.choice([4, 8, 24, 40, 64]), d.choice([4, 5, 16, 64])
    shared = d.choice([1, 1, h])
    sq, sk = d.choice(LENGTHS), d.choice(LENGTHS)
    kind = d.choice(["float32", "float32", "float16"])
    q, k, v = (rng.uniform(-1, 1, s).astype(kind) for s in ((b, sq, h, size), (b, sk, h // shared, size), (b, sk, h // shared, out)))
    attrs, ok = seen(d, sq, sk)
    scale = size ** -0.5
    if d.random() < 0.5:
        scale = d.choice([0.5, 1.0])
        attrs += f", scale=T.FloatImm(\"float32\", {scale})"
    s = np.einsum("bihd,bjhd->bhij", q.astype(np.float64), np.repeat(k, shared, 2).astype(np.float64)) * scale
    data, op, args = {"q": q, "k": k, "v": v}, "attention", "q, k, v"
    if d.random() < 0.5:
        dims = [e if d.random() < 0.6 else 1 for e in (b, h, sq, sk)]
        bias = rng.uniform(-1, 1, dims).astype(kind)
        if d.random() < 0.5:
            bias[rng.random(dims) < 0.5] = -np.inf
        s, op, args, data["bias"] = s + bias, "attention_bias", args + ", bias", bias
    p = softmax(np.where(ok, s, -np.inf))
    y = np.einsum("bhij,bjhd->bihd", p, np.repeat(v, shared, 2).astype(np.float64)) if sk else np.zeros((b, sq, h, out))
    dims = {n: list(x.shape) for n, x in data.items()}
    if d.random() < 0.4 and "bias" not in data:
        dims["q"][1], dims["k"][1], dims["v"][1] = "n", "m", "m"
    text = module([tensor(n, x, dims[n]) for n, x in data.items()], [f"y = R.nn.{op}({args}{attrs})"])
    return text, data, y


def sequences(d, rng):
    """Several of them one behind the other, some of length 0."""
    n, h, size, out = d.randint(1, 5), d.choice([1, 3]), d.choice([8, 24]), d.choice([8, 20])
    lengths = [[d.choice([0, 1, 3, 17, 40, 70]) for _ in range(n)] for _ in range(2)]
    starts = [np.concatenate([[0], np.cumsum(x)]).astype(np.int32) for x in lengths]
    sq, sk = max(1, starts[0][-1]), max(1, starts[1][-1])
    q, k, v = (rng.uniform(-1, 1, (1, r, h, e)).astype(np.float32) for r, e in ((sq, size), (sk, size), (sk, out)))
    mask = d.choice([None, "TopLeft", "BottomRight"])
    y = np.zeros((1, sq, h, out))
    for (q0, q1), (k0, k1) in zip(*(zip(s[:-1], s[1:]) for s in starts)):
        s = np.einsum("ihd,jhd->hij", q[0, q0:q1].astype(np.float64), k[0, k0:k1].astype(np.float64)) * size ** -0.5
        i, j = np.arange(q1 - q0)[:, None], np.arange(k1 - k0)[None]
        if mask:
            s = np.where(j <= i + (k1 - k0 - (q1 - q0) if mask == "BottomRight" else 0), s, -np.inf)
        y[0, q0:q1] = np.einsum("hij,jhd->ihd", np.nan_to_num(softmax(s)), v[0, k0:k1]) if k1 > k0 else 0
    data = {"q": q, "k": k, "v": v, "sq": starts[0], "sk": starts[1], "mq": np.array([sq], np.int32), "mk": np.array([sk], np.int32)}
    attrs = f', causal_mask="{mask}"' if mask else ""
    return module([tensor(n, x) for n, x in data.items()], [f"y = R.nn.attention_var_len(q, k, v, sq, sk, mq, mk{attrs})"]), data, y


def graph(d, rng):
    """Products, a softmax between them, and what is usual around."""
    batch = d.choice([[], [3], [1, 4], [2, 3], [2, 3, 2], [1, 2, 4]])
    shared = len(batch) == 3  # the last ones have one key
    sq, sk, size, out = d.choice(LENGTHS[2:]), d.choice(LENGTHS[2:]), d.choice([8, 20, 64]), d.choice([8, 17, 64])
    turned = len(batch) == 2 and d.random() < 0.6
    def heads(s, e, key):
        return (batch[0], s, batch[1], e) if turned else (*batch[:2 if key else 3], s, e)
    data = {"q": rng.uniform(-1, 1, heads(sq, size, 0)), "k": rng.uniform(-1, 1, heads(sk, size, 1)), "v": rng.uniform(-1, 1, heads(sk, out, 1))}
    data = {n: x.astype(np.float32) for n, x in data.items()}
    q, k, v = ((x.swapaxes(1, 2) if turned else x).astype(np.float64) for x in data.values())
    lines = []
    if turned:
        lines += ["q1 = R.permute_dims(q, axes=[0, 2, 1, 3])", "k1 = R.permute_dims(k, axes=[0, 2, 3, 1])",
                  "v1 = R.permute_dims(v, axes=[0, 2, 1, 3])"]
    else:
        axes = [*range(len(batch)), len(batch) + 1, len(batch)]
        lines += ["k0 = R.expand_dims(k, axis=[2])", "v1 = R.expand_dims(v, axis=[2])"] if shared else ["k0 = k", "v1 = v"]
        lines += ["q1 = R.multiply(q, R.const(0.5))", f"k1 = R.permute_dims(k0, axes={axes})"]
        q = q * 0.5
        if shared:
            k, v = k[:, :, None], v[:, :, None]
    lines.append("s0 = R.matmul(q1, k1)")
    s, name = q @ k.swapaxes(-1, -2), "s0"
    for n in range(d.randint(0, 3)):
        form = d.choice(["divide", "multiply", "add", "add", "where", "replace", "cap"])
        dims = [e if d.random() < 0.6 else 1 for e in s.shape][d.randint(0, len(batch)):]
        new = f"s{n + 1}"
        if form == "divide":
            lines.append(f"{new} = R.divide({name}, R.const(4.0))")
            s = s / 4
        elif form == "multiply":
            lines.append(f"{new} = R.multiply({name}, R.const(1.5))")
            s = s * 1.5
        elif form == "add":
            x = data[f"x{n}"] = rng.uniform(-1, 1, dims).astype(np.float32)
            if d.random() < 0.3:
                x[rng.random(dims) < 0.3] = -np.inf
            lines.append(f"{new} = R.add({', '.join(d.sample([name, f'x{n}'], 2))})")
            s = s + x
        elif form == "cap":
            lines += [f"t{n} = R.tanh({name})", f"{new} = R.multiply(t{n}, R.const(3.0))"]
            s = np.tanh(s) * 3
        else:
            x = data[f"x{n}"] = rng.random(dims) < 0.5
            both = f"{name}, R.const(-10000.0)" if form == "where" else f"R.const(-2.0), {name}"
            lines.append(f"{new} = R.where(x{n}, {both})")
            s = np.where(x, s, -10000.0) if form == "where" else np.where(x, -2.0, s)
        name = new
    lines += [f"p = R.nn.softmax({name}, axis=-1)", "y1 = R.matmul(p, v1)"]
    y = softmax(s) @ v
    if d.random() < 0.3 and name in ("s1", "s2", "s3") and lines[-3].startswith(f"{name} = R.add") and "x" in lines[-3]:
        bias = f"x{int(name[1:]) - 1}"  # rows of nothing become zeros
        if data[bias].ndim == s.ndim or data[bias].ndim >= 2:
            lines[-1:] = [f"m = R.max({bias}, axis=[-1], keepdims=True)", "e = R.equal(m, R.const(float(\"-inf\"), \"float32\"))",
                          "z = R.where(e, R.const(0.0), p)", "y1 = R.matmul(z, v1)"]
            y = np.where(data[bias].max(-1, keepdims=True) == -np.inf, 0, softmax(s)) @ v
    if turned:
        lines.append("y = R.permute_dims(y1, axes=[0, 2, 1, 3])")
        y = y.swapaxes(1, 2)
    else:
        lines.append("y = R.add(y1, R.const(1.0))")
        y = y + 1
    return module([tensor(n, x) for n, x in data.items()], lines), data, y


def main():
    first, count = 1, 200 if os.environ.get("TENON_LONG") else 16
    if len(sys.argv) > 1:
        first, count = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    taken = 0
    for seed in range(first, first + count):
        d, rng = random.Random(seed), np.random.default_rng(seed)
        text, data, y = [operator, graph, operator, graph, sequences][seed % 5](d, rng)
        script, kind = write(f"{seed}.py", text), KINDS[seed % 3 == 0]
        half = any(x.dtype == np.float16 for x in data.values())
        args = []
        for n, x in data.items():
            np.save(path(f"{seed}.{n}.npy"), x)
            args += ["-i", f"{n}={path(f'{seed}.{n}.npy')}"]
        np.save(path(f"{seed}.y.npy"), y.astype(np.float16 if half else np.float32))
        r = tenon("run", script, "-t", kind, *args, *(["--verify"] if seed % 4 == 0 and not half and "sq" not in data else []), "--expect",
                  f"output0={path(f'{seed}.y.npy')}", *(["--rtol", "2e-3", "--atol", "1e-3"] if half else ["--rtol", "1e-5", "--atol", "2e-6"]))
        check(r.returncode == 0, f"attention {seed}, {kind}: {[(n, x.shape) for n, x in data.items()]}", r)
        taken += "attention" in tenon("opt", script, "-t", kind, "-p", "LegalizeOps,DeadCodeElimination").stdout.replace("nn.attention", "")
    check(count == 1 or taken > count // 2, f"{taken} of {count} are one program")
    done()


main()
