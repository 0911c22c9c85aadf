# SPDX-License-Identifier: Apache-2.0
"""A decode step of a small language model with weights of 4 bits, as a TVMScript module, and inputs for it.

Two layers of RMS norm, rotary embedding, attention over a cache of any length and a gated MLP, in float16; all matrices are groups of
32 numbers of 4 bits with a common factor (K / 8, N) and (K / 32, N). Each step gives the logits and the grown cache.
"""
from clitest import npy_bytes  # found by whoever imports this

HIDDEN, HEADS, HEAD, INNER, VOCAB, LAYERS = 64, 2, 32, 96, 50, 2
MATRICES = {"q": (HIDDEN, HIDDEN), "k": (HIDDEN, HIDDEN), "v": (HIDDEN, HIDDEN), "o": (HIDDEN, HIDDEN),
            "gate": (HIDDEN, INNER), "up": (HIDDEN, INNER), "down": (INNER, HIDDEN)}

# The same matrix said in two ways, and names that say nothing.
TWO_BLOCKS = """
    @T.prim_func(private=True)
    def weight_{k}_{n}(packed: T.Buffer(({w}, {n}), "uint32"), factor: T.Buffer(({g}, {n}), "float16"),
                       out: T.Buffer(({k}, {n}), "float16")):
        number = T.alloc_buffer(({k}, {n}), "float16")
        for i, j in T.grid({k}, {n}):
            with T.block("number"):
                vi, vj = T.axis.remap("SS", [i, j])
                number[vi, vj] = T.Cast("float16", T.bitwise_and(T.shift_right(packed[vi // 8, vj],
                                                                               T.Cast("uint32", vi % 8 * 4)), T.uint32(15)))
        for i, j in T.grid({k}, {n}):
            with T.block("out"):
                vi, vj = T.axis.remap("SS", [i, j])
                out[vi, vj] = (number[vi, vj] - T.float16({zero})) * factor[vi // {per}, vj]
"""
ONE_BLOCK = """
    @T.prim_func(private=True)
    def weight_{k}_{n}(packed: T.Buffer(({w}, {n}), "uint32"), factor: T.Buffer(({g}, {n}), "float16"),
                       out: T.Buffer(({k}, {n}), "float16")):
        for j, i in T.grid({n}, {k}):
            with T.block("out"):
                vj, vi = T.axis.remap("SS", [j, i])
                out[vi, vj] = factor[vi // {per}, vj] * T.Cast("float16", T.Cast("int32", T.bitwise_and(
                    T.shift_right(packed[vi // 8, vj], T.Cast("uint32", (vi - vi // 8 * 8) * 4)), T.uint32(15))) - {zero})
"""


def program(k, n, form=TWO_BLOCKS, zero=7, per=32):
    return form.format(k=k, n=n, w=k // 8, g=k // per, zero=zero, per=per)


def parameters():
    """name -> (shape, dtype) in order; None stands for the cache's length."""
    p = {"token": ((1,), "int32"), "place": ((1,), "float32")}
    for i in range(LAYERS):
        for c in "kv":
            p[f"cache_{c}{i}"] = ((1, None, HEADS, HEAD), "float16")
    p["table"] = ((VOCAB, HIDDEN), "float16")
    p["turns"] = ((HEAD // 2,), "float32")
    for name, (k, n) in [(m + str(i), s) for i in range(LAYERS) for m, s in MATRICES.items()] + [("head", (HIDDEN, VOCAB))]:
        p["w_" + name] = ((k // 8, n), "uint32")
        p["s_" + name] = ((k // 32, n), "float16")
    for name in [f"norm{i}{j}" for i in range(LAYERS) for j in "ab"] + ["norm"]:
        p[name] = ((HIDDEN,), "float16")
    return p


def module(extra=""):
    lines = []

    def times(x, name, k, n):
        lines.append(f'd_{name} = R.call_tir(cls.weight_{k}_{n}, (w_{name}, s_{name}), out_ty=R.Tensor(({k}, {n}), "float16"))')
        lines.append(f"{name} = R.matmul({x}, d_{name})")

    def turned(x, out):
        lines.extend([f"{out}_all = R.reshape({x}, R.shape([1, 1, {HEADS}, {HEAD}]))",
                      f"{out}_two = R.split({out}_all, 2, axis=-1)",
                      f"{out}_a = {out}_two[0]", f"{out}_b = {out}_two[1]",
                      f"{out} = R.concat((R.subtract(R.multiply({out}_a, cos), R.multiply({out}_b, sin)), "
                      f"R.add(R.multiply({out}_b, cos), R.multiply({out}_a, sin))), axis=-1)"])

    lines.append("angle = R.multiply(place, turns)")
    for f in ("cos", "sin"):
        lines.append(f'{f} = R.astype(R.reshape(R.{f}(angle), R.shape([1, 1, 1, {HEAD // 2}])), "float16")')
    lines.append(f"x0 = R.reshape(R.take(table, token, axis=0), R.shape([1, 1, {HIDDEN}]))")
    for i in range(LAYERS):
        lines.append(f"h{i} = R.nn.rms_norm(x{i}, norm{i}a, axes=[-1], epsilon=1e-5)")
        for m in "qkv":
            times(f"h{i}", m + str(i), *MATRICES[m])
        turned(f"q{i}", f"rq{i}")
        turned(f"k{i}", f"rk{i}")
        lines.extend([
            f"keys{i} = R.concat((cache_k{i}, rk{i}), axis=1)",
            f"values{i} = R.concat((cache_v{i}, R.reshape(v{i}, R.shape([1, 1, {HEADS}, {HEAD}]))), axis=1)",
            f"fit{i} = R.matmul(R.permute_dims(rq{i}, axes=[0, 2, 1, 3]), R.permute_dims(keys{i}, axes=[0, 2, 3, 1]))",
            f'share{i} = R.nn.softmax(R.multiply(fit{i}, R.const({HEAD ** -0.5}, "float16")), axis=-1)',
            f"seen{i} = R.matmul(share{i}, R.permute_dims(values{i}, axes=[0, 2, 1, 3]))",
            f"flat{i} = R.reshape(R.permute_dims(seen{i}, axes=[0, 2, 1, 3]), R.shape([1, 1, {HIDDEN}]))"])
        times(f"flat{i}", f"o{i}", *MATRICES["o"])
        lines.extend([f"y{i} = R.add(x{i}, o{i})", f"g{i} = R.nn.rms_norm(y{i}, norm{i}b, axes=[-1], epsilon=1e-5)"])
        times(f"g{i}", f"gate{i}", *MATRICES["gate"])
        times(f"g{i}", f"up{i}", *MATRICES["up"])
        lines.append(f"both{i} = R.multiply(R.nn.silu(gate{i}), up{i})")
        times(f"both{i}", f"down{i}", *MATRICES["down"])
        lines.append(f"x{i + 1} = R.add(y{i}, down{i})")
    lines.append(f"last = R.nn.rms_norm(x{LAYERS}, norm, axes=[-1], epsilon=1e-5)")
    times("last", "head", HIDDEN, VOCAB)
    caches = ", ".join(f"{c}{i}" for i in range(LAYERS) for c in ("keys", "values"))
    lines.append(f'gv = (R.astype(head, "float32"), {caches})')

    def tensor(shape, dtype):
        extents = "".join('"n", ' if s is None else f"{s}, " for s in shape)
        return f'R.Tensor(({extents}), dtype="{dtype}")'
    params = ",\n             ".join(f"{name}: {tensor(*t)}" for name, t in parameters().items())
    shapes = sorted(set(MATRICES.values()) | {(HIDDEN, VOCAB)})
    programs = "".join(program(k, n, ONE_BLOCK if k == INNER else TWO_BLOCKS) for k, n in shapes)
    return f"""
@I.ir_module
class Module:{programs}{extra}
    @R.function
    def main({params}):
        n = T.int64()
        cls = Module
        with R.dataflow():
{chr(10).join("            " + l for l in lines)}
            R.output(gv)
        return gv
"""


def inputs(length, seed=1):
    """name -> the bytes of an .npy file."""
    state = seed
    files = {}

    def draw():
        nonlocal state
        state = (state * 1103515245 + 12345) % 2147483648
        return state >> 8
    for name, (shape, dtype) in parameters().items():
        shape = tuple(length if s is None else s for s in shape)
        size = 1
        for s in shape:
            size *= s
        if name == "token":
            values = [draw() % VOCAB]
        elif name == "place":
            values = [float(length)]
        elif name == "turns":
            values = [10000 ** (-2 * i / HEAD) for i in range(size)]
        elif dtype == "uint32":
            values = [(draw() << 16 ^ draw()) % 2**32 for _ in range(size)]
        else:
            top = 1 / 32 if name.startswith("s_") else 1
            values = [(draw() % 129 / 128 + (name.startswith(("norm", "s_")) and 0.5) - 0.5) * top for _ in range(size)]
        descr = {"int32": "<i4", "uint32": "<u4", "float16": "<f2", "float32": "<f4"}[dtype]
        files[name] = npy_bytes(descr, shape, values)
    return files
