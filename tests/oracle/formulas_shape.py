# SPDX-License-Identifier: Apache-2.0
"""Operators that rearrange, join, cut, repeat and create."""
from oracle import *

ANY_KIND = ["float32", "int64", "bool", "float16", "int8", "float64", "bfloat16", "uint8"]


def data(d, lo=0, hi=4, **kw):
    return d.numbers(d.shape(lo, hi, **kw), d.dtype(ANY_KIND))


def refactored(d, n):
    """Extents with the product n."""
    dims = []
    while n > 1 and len(dims) < 4 and d.flag(0.8):
        f = d.one_of([k for k in range(1, n + 1) if n % k == 0])
        dims.append(f)
        n //= f
    return dims + [n]


@oracle("reshape")
def reshape(d, op):
    x = data(d)
    dims = refactored(d, int(x.a.size)) if x.a.size else list(d.rng.permutation(x.shape))
    y = x.a.reshape(dims)
    if d.flag(0.4):  # the elements' count has to be known to stay, with symbols as well
        y = x.a.reshape(1, -1)
        count = " * ".join(f"n{n}" for n in x.shape if n != 1) or 1
        return Case(op, [x], out(y, x.dtype), args=["x0", shape_arg(y.shape)], sym_args=["x0", shape_arg([1, count])])
    if x.a.size and d.flag():
        dims[d.int(0, len(dims) - 1)] = -1
    return Case(op, [x], out(y, x.dtype), args=["x0", shape_arg(dims)], sym=False)


@oracle("flatten")
def flatten(d, op):
    x = data(d)
    return Case(op, [x], out(x.a.reshape(-1), x.dtype))


@oracle("nn.batch_flatten")
def batch_flatten(d, op):
    x = data(d, 1, 4)
    return Case(op, [x], out(x.a.reshape(x.shape[0], int(np.prod(x.shape[1:]))), x.dtype))


@oracle("broadcast_to")
def broadcast_to(d, op):
    s = d.shape(0, 4)
    x = d.numbers(d.broadcast(s), d.dtype(ANY_KIND))
    return Case(op, [x], out(np.broadcast_to(x.a, s), x.dtype), args=["x0", shape_arg(s)],
                sym_args=["x0", shape_arg(symbols_of(s, x.shape))])


@oracle("expand_dims")
def expand_dims(d, op):
    x = data(d, 0, 3)
    axes = d.axes(len(x.shape) + d.int(1, 2), least=1)
    rank = len(x.shape) + len(axes)
    axes = [a % rank - (rank if a < 0 else 0) for a in axes]
    if len({a % rank for a in axes}) < len(axes):
        axes = [0]
    return Case(op, [x], out(np.expand_dims(x.a, tuple(axes)), x.dtype), attrs={"axis": axes})


@oracle("squeeze")
def squeeze(d, op):
    s = list(d.shape(0, 4))
    s = [1 if d.flag(0.4) and n else n for n in s]
    x = d.numbers(tuple(s), d.dtype(ANY_KIND))
    ones = [i for i, n in enumerate(s) if n == 1]
    if not ones or d.flag(0.4):
        return Case(op, [x], out(np.squeeze(x.a), x.dtype), sym=False)
    axes = [i - len(s) if d.flag(0.4) else i for i in ones if d.flag(0.7)] or [ones[0]]
    return Case(op, [x], out(np.squeeze(x.a, tuple(axes)), x.dtype), attrs={"axis": axes})


@oracle("permute_dims")
def permute_dims(d, op):
    x = data(d)
    if d.flag(0.2):
        return Case(op, [x], out(np.transpose(x.a), x.dtype))
    axes = [int(a) for a in d.rng.permutation(len(x.shape))]
    return Case(op, [x], out(np.transpose(x.a, axes), x.dtype),
                attrs={"axes": [a - len(axes) if d.flag(0.3) else a for a in axes]})


@oracle("concat")
def concat(d, op):
    s, dtype, n = list(d.shape(1, 4)), d.dtype(ANY_KIND), d.int(1, 4)
    axis = d.axis(len(s)) if d.flag(0.8) else None
    parts = []
    for _ in range(n):
        if axis is not None:
            s[axis] = 1 if d.kind == "one" else d.int(0, 4)
        parts.append(d.numbers(tuple(s), dtype))
    attrs = {"axis": axis} if axis is not None or d.flag() else {}
    y = np.concatenate([p.a for p in parts], axis) if axis is not None or attrs else np.concatenate([p.a for p in parts], 0)
    k = 0 if axis is None else axis % len(s)
    sym = [tuple(f"m{j}" if i == k and axis is not None else f"n{i}" for i in range(len(s))) for j in range(n)]
    return Case(op, parts, out(y, dtype), args=["(" + ", ".join(f"x{i}" for i in range(n)) + ",)"], attrs=attrs, sym=sym)


@oracle("stack")
def stack(d, op):
    s, dtype, n = d.shape(0, 3), d.dtype(ANY_KIND), d.int(1, 4)
    axis = d.axis(len(s) + 1)
    parts = [d.numbers(s, dtype) for _ in range(n)]
    return Case(op, parts, out(np.stack([p.a for p in parts], axis), dtype), attrs={"axis": axis},
                args=["(" + ", ".join(f"x{i}" for i in range(n)) + ",)"])


@oracle("split")
def split(d, op):
    x = data(d, 1, 4, most=7)
    axis = d.axis(len(x.shape))
    n = x.shape[axis]
    sym = [tuple(k if i == axis % len(x.shape) else f"n{i}" for i, k in enumerate(x.shape))]
    if d.flag() and n:  # equal parts, the last may be shorter
        count = d.one_of([k for k in range(1, n + 1) if n - (k - 1) * -(-n // k) > 0])
        part = -(-n // count)
        pieces = np.split(x.a, [part * k for k in range(1, count)], axis)
        return Case(op, [x], [out(p, x.dtype) for p in pieces], sym=sym,
                    attrs={"indices_or_sections": count, "axis": axis})
    places = sorted(d.int(0, n) for _ in range(d.int(1, 3)))
    if d.flag():  # outside of the dimension means its nearest end; a part that would end before it begins is empty
        places = [d.int(-2, n + 2) for _ in places]
    inside = [min(max(k, 0), n) for k in places]
    return Case(op, [x], [out(p, x.dtype) for p in np.split(x.a, inside, axis)], sym=sym,
                attrs={"indices_or_sections": places, "axis": axis})


@oracle("repeat")
def repeat(d, op):
    x = data(d, 1, 3)
    n, axis = d.int(0, 3), d.axis(len(x.shape)) if d.flag(0.7) else None
    return Case(op, [x], out(np.repeat(x.a, n, axis), x.dtype),
                attrs={"repeats": n, **({} if axis is None else {"axis": axis})})


@oracle("tile")
def tile(d, op):
    x = data(d, 0, 3)
    r = [d.int(0 if d.kind == "zero" else 1, 3) for _ in range(d.int(1, 4))]
    return Case(op, [x], out(np.tile(x.a, r), x.dtype), attrs={"repeats": r})


@oracle("flip")
def flip(d, op):
    x = data(d, 1, 4)
    axis = d.axis(len(x.shape))
    return Case(op, [x], out(np.flip(x.a, axis), x.dtype), attrs={"axis": axis})


@oracle("reverse_sequence")
def reverse_sequence(d, op):
    x = data(d, 2, 4, most=6)
    rank = len(x.shape)
    seq, batch = (int(a) for a in d.rng.permutation(rank)[:2])
    lengths = Tensor(d.rng.integers(min(1, x.shape[seq]), x.shape[seq] + 1, x.shape[batch]), d.one_of(INDEX))
    y = np.moveaxis(x.a.copy(), (batch, seq), (0, 1))
    for b, n in enumerate(lengths.a):
        y[b, :n] = y[b, :n][::-1].copy()
    y = np.moveaxis(y, (0, 1), (batch, seq))
    return Case(op, [x, lengths], out(y, x.dtype), sym=[tuple(f"n{i}" for i in range(rank)), (f"n{batch}",)],
                attrs={"seq_axis": seq - rank if d.flag(0.3) else seq, "batch_axis": batch - rank if d.flag(0.3) else batch})


@oracle("layout_transform")
def layout_transform(d, op):
    dtype = d.dtype(["float32", "float16", "int32", "int8"])
    n, c, h = d.extent(1, 3, zero=True), d.extent(1, 9), d.extent(1, 4)
    x = d.numbers((n, c, h), dtype)
    kind = 0 if d.kind == "one" else d.int(0, 2)
    if kind == 0:
        return Case(op, [x], out(np.transpose(x.a, (0, 2, 1)), dtype), attrs={"index_map": Raw("lambda n, c, h: (n, h, c)")})
    v = d.one_of([2, 4])
    c = max(c, v)  # fewer would make the last axis shorter
    x = d.numbers((n, c, h), dtype)
    blocks = -(-c // v)
    pad = d.int(-2, 2)
    filled = np.full((n, blocks * v, h), pad, x.a.dtype)
    filled[:, :c] = x.a
    y = filled.reshape(n, blocks, v, h).transpose(0, 1, 3, 2)
    attrs = {"index_map": Raw(f"lambda n, c, h: (n, c // {v}, h, c % {v})")}
    if c % v or d.flag():
        attrs["pad_value"] = Raw(f"T.{dtype}({pad})")
    return Case(op, [x], out(y, dtype), attrs=attrs, sym=[("n", c, "h")])


@oracle("meshgrid")
def meshgrid(d, op):
    dtype, n = d.dtype(ANY_KIND), d.int(1, 3)
    parts = [d.numbers((d.extent(zero=True),), dtype) for _ in range(n)]
    indexing = d.one_of(["ij", "xy"])
    return Case(op, parts, [out(y, dtype) for y in np.meshgrid(*[p.a for p in parts], indexing=indexing)],
                args=["(" + ", ".join(f"x{i}" for i in range(n)) + ",)"], attrs={"indexing": indexing},
                sym=[(f"n{i}",) for i in range(n)])


@oracle("collapse_sum_like", "collapse_sum_to")
def collapse_sum(d, op):
    s, dtype = d.shape(1, 4), d.dtype(["float32", "int32", "float64", "int64"])
    x, target = d.exact(s, dtype), d.broadcast(s)
    y = x.a.sum(tuple(range(len(s) - len(target))), dtype=x.a.dtype)
    for i, n in enumerate(target):
        if n == 1:
            y = y.sum(i, keepdims=True, dtype=x.a.dtype)
    if op == "collapse_sum_to":
        return Case(op, [x], out(y, dtype), args=["x0", shape_arg(target)],
                    sym_args=["x0", shape_arg(symbols_of(target, s))])
    return Case(op, [x, d.numbers(target, dtype)], out(y, dtype))


def slice_of(d, n, down=True):
    step = d.one_of([1, 1, 2, 3] + ([-1, -2] if down else []))
    return d.int(-n - 2, n + 2), d.int(-n - 2, n + 2), step


@oracle("strided_slice")
def strided_slice(d, op):
    x = data(d, 1, 4, most=8)
    axes = d.axes(len(x.shape))
    cuts = [slice_of(d, x.shape[a]) for a in axes]
    whole = [slice(None)] * len(x.shape)
    for a, c in zip(axes, cuts):
        whole[a] = slice(*c)
    columns = [axes] + [[c[i] for c in cuts] for i in range(3)]
    args = ["x0"] + ["(" + ", ".join(prim(v) for v in col) + ("," if len(col) == 1 else "") + ")" for col in columns]
    if all(c[2] == 1 for c in cuts) and d.flag():
        args.pop()
    return Case(op, [x], out(x.a[tuple(whole)], x.dtype), args=args)


@oracle("dynamic_strided_slice")
def dynamic_strided_slice(d, op):
    x = data(d, 1, 4, most=8)
    cuts = [slice_of(d, n) for n in x.shape]
    vectors = [Tensor([c[i] for c in cuts], "int64") for i in range(3)]
    rank = len(x.shape)
    return Case(op, [x] + vectors, out(x.a[tuple(slice(*c) for c in cuts)], x.dtype),
                sym=[tuple(f"n{i}" for i in range(rank))] + [(rank,)] * 3)


@oracle("slice_scatter")
def slice_scatter(d, op):
    x = data(d, 1, 4, most=8)
    axis = d.axis(len(x.shape))
    n = x.shape[axis]
    start, end = sorted((d.int(0, n), d.int(0, n)))
    step = d.int(1, 3)
    y = x.a.copy()
    at = [slice(None)] * len(x.shape)
    at[axis] = slice(start, end, step)
    src = d.numbers(y[tuple(at)].shape, x.dtype)
    y[tuple(at)] = src.a
    k = axis % len(x.shape)
    return Case(op, [x, src], out(y, x.dtype), args=["x0", "x1", prim(start), prim(end), prim(step)], attrs={"axis": axis},
                sym=[tuple(n if i == k else f"n{i}" for i, n in enumerate(s)) for s in (x.shape, src.shape)])


# ---- creation ----

@oracle("full", "ones", "zeros")
def full(d, op):
    s, dtype = d.shape(), d.dtype(ALL)
    if op != "full":
        return Case(op, [], out(np.full(s, op == "ones"), dtype), args=[shape_arg(s)], attrs={"dtype": dtype})
    v = d.numbers((), dtype)
    to = dtype
    attrs = {}
    if d.flag(0.4):
        to = "float32" if is_float(dtype) else "int64"
        attrs["dtype"] = to
    return Case(op, [v], out(np.full(s, v.a), to), args=[shape_arg(s), "x0"], attrs=attrs)


@oracle("full_like", "ones_like", "zeros_like")
def full_like(d, op):
    x = data(d)
    attrs, to = {}, x.dtype
    if d.flag(0.4):
        to = d.one_of(["float32", "int32"])
        attrs["dtype"] = to
    if op != "full_like":
        return Case(op, [x], out(np.full(x.shape, op == "ones_like"), to), attrs=attrs)
    v = d.small((), d.one_of(["float32", "int32"]), 0, 1)
    return Case(op, [x, v], out(np.full(x.shape, v.a), to), attrs=attrs)


@oracle("eye", "eye_like")
def eye(d, op):
    n, m, k, dtype = d.extent(zero=True), d.extent(), d.int(-3, 3), d.dtype(ALL)
    if op == "eye":
        return Case(op, [], out(np.eye(n, m, k), dtype), args=[prim(n), prim(m), prim(k)], attrs={"dtype": dtype})
    x = d.numbers((n, m), dtype)
    attrs = {"dtype": "int64"} if d.flag(0.3) else {}
    return Case(op, [x], out(np.eye(n, m, k), attrs.get("dtype", dtype)), args=["x0", prim(k)], attrs=attrs)


@oracle("arange")
def arange(d, op):
    dtype = d.dtype(["int64", "float32", "int32", "float64"])
    if is_float(dtype):
        start, step = d.int(-8, 8) / 4, d.one_of([0.25, 0.5, 1.5, -0.5])
        n = 0 if d.kind == "zero" else d.int(1, 12)
        end = start + step * (n - 0.5 if n else -1)
    else:
        start, step, n = d.int(-9, 9), d.one_of([1, 2, 3, -1, -4]), 0 if d.kind == "zero" else d.int(1, 12)
        end = start + step * (n if n else -1)
    return Case(op, [], out(np.arange(start, end, step), dtype), args=[prim(start), prim(end), prim(step)],
                attrs={"dtype": dtype})


@oracle("hamming_window")
def hamming_window(d, op):
    n, periodic, dtype = d.extent(2, 12), d.flag(), d.one_of(SINGLE)
    alpha, beta = d.one_of([(0.54, 0.46), (0.5, 0.5), (0.4, 0.7)])
    size = n + 1 if periodic else n
    y = alpha - beta * np.cos(2 * np.pi * np.arange(size) / max(size - 1, 1))
    y = np.ones(1) if n == 1 else y[:n]
    return Case(op, [], out(y, dtype), attrs={"dtype": dtype},
                args=[prim(n), prim(periodic), prim(alpha), prim(beta)], tol=(1e-5, 1e-6))


@oracle("tril", "triu")
def triangle(d, op):
    x, k = data(d, 2, 4), d.int(-4, 4)
    y = getattr(np, op)(x.a, k) if x.a.size else x.a
    return Case(op, [x], out(y, x.dtype), args=["x0", prim(k)])
