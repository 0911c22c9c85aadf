# SPDX-License-Identifier: Apache-2.0
"""Gathering, scattering, matrix products, linear algebra, quantization."""
from oracle import *

ANY_KIND = ["float32", "int64", "float16", "int8", "float64", "bfloat16", "bool"]


def indices(d, shape, n, dtype=None, negative=True):
    lo = -n if negative and d.flag() else 0
    return Tensor(d.rng.integers(lo, n, shape) if n else np.zeros(shape), dtype or d.one_of(INDEX))


def symbols(t, prefix="n"):
    return tuple(f"{prefix}{i}" for i in range(len(t.shape)))


@oracle("take")
def take(d, op):
    mode = d.turn(["fast", "wrap", "clip", "nan"])
    dtype = d.dtype(FLOATS if mode == "nan" else ANY_KIND)
    flat = d.flag(0.2)
    s = d.shape(1, 1 if flat else 4, zero=False)
    axis = None if flat else d.axis(len(s))
    n = s[axis or 0]
    shape = d.shape(0, 2)
    x = d.numbers(s, dtype)
    if mode == "fast":
        at = indices(d, shape, n)
        y = np.take(x.a, at.a, axis or 0)
    else:
        at = Tensor(d.rng.integers(-2 * n, 2 * n, shape), d.one_of(INDEX))
        if mode == "wrap":
            y = np.take(x.a, at.a, axis or 0, mode="wrap")
        elif mode == "clip":
            y = np.take(x.a, np.clip(at.a, 0, n - 1), axis or 0)
        else:  # indices outside -n .. n-1 give NaN
            inside = (at.a >= -n) & (at.a < n)
            y = np.take(x.a, np.where(inside, at.a, 0), axis or 0)
            k = (axis or 0) % len(s)
            mask = inside.reshape((1,) * k + inside.shape + (1,) * (len(s) - k - 1))
            y = np.where(mask, y, np.nan)
    return Case(op, [x, at], out(y, dtype), attrs={**({} if axis is None else {"axis": axis}), "mode": mode},
                sym=[symbols(x), symbols(at, "m")])


@oracle("gather_elements")
def gather_elements(d, op):
    s, dtype = d.shape(1, 4, zero=False), d.dtype(ANY_KIND)
    axis = d.axis(len(s))
    shape = tuple(d.extent(1, 6, zero=True) if i == axis % len(s) else n for i, n in enumerate(s))
    x, at = d.numbers(s, dtype), indices(d, shape, s[axis])
    y = np.take_along_axis(x.a, np.where(at.a < 0, at.a + s[axis], at.a).astype(np.int64), axis)
    return Case(op, [x, at], out(y, dtype), attrs={"axis": axis}, sym=[
        symbols(x), tuple("m" if i == axis % len(s) else f"n{i}" for i in range(len(s)))])


@oracle("gather_nd")
def gather_nd(d, op):
    s, dtype = d.shape(1, 4, zero=False), d.dtype(ANY_KIND)
    batch = d.int(0, min(2, len(s) - 1))
    depth = d.int(1, len(s) - batch)
    middle = d.shape(0, 2)
    places = [d.rng.integers(-s[batch + k] if d.flag(0.3) else 0, s[batch + k], s[:batch] + middle) for k in range(depth)]
    at = Tensor(np.stack(places, -1) if places else 0, d.one_of(INDEX))
    x = d.numbers(s, dtype)
    y = np.zeros(s[:batch] + middle + s[batch + depth:], x.a.dtype)
    for b in np.ndindex(*s[:batch]):
        for m in np.ndindex(*middle):
            y[b + m] = x.a[b + tuple(int(v) for v in at.a[b + m])]
    return Case(op, [x, at], out(y, dtype), attrs={"batch_dims": batch},
                sym=[symbols(x), tuple(f"n{i}" if i < batch else depth if i == len(at.shape) - 1 else f"m{i}"
                                       for i in range(len(at.shape)))])


@oracle("index_tensor")
def index_tensor(d, op):
    s, dtype = d.shape(1, 4, zero=False), d.dtype(ANY_KIND)
    count = d.int(1, len(s))
    shape = d.shape(0, 2)
    at = [indices(d, d.broadcast(shape, full=i == 0), s[i], "int64") for i in range(count)]
    x = d.numbers(s, dtype)
    return Case(op, [x] + at, out(x.a[tuple(t.a for t in at)], dtype),
                args=["x0", "(" + ", ".join(f"x{i + 1}" for i in range(count)) + ",)"])


@oracle("index_put")
def index_put(d, op):
    s, dtype = d.shape(1, 3, zero=False), d.dtype(["float32", "int64", "float64", "int32"])
    n = d.extent(1, 5, zero=True)
    accumulate = d.flag()
    x = d.exact(s, dtype)
    if accumulate:
        at = [indices(d, (n,), s[i], "int64") for i in range(len(s))]
    else:  # no place twice: the order of writes is open
        total = int(np.prod(s))
        n = min(n, total)
        chosen = np.unravel_index(d.rng.permutation(total)[:n], s)
        at = [Tensor(c, "int64") for c in chosen]
    values = d.exact((n,), dtype)
    y = x.a.copy()
    if accumulate:
        np.add.at(y, tuple(t.a for t in at), values.a)
    else:
        y[tuple(t.a for t in at)] = values.a
    k = len(s)
    return Case(op, [x] + at + [values], out(y, dtype), attrs={"accumulate": accumulate},
                args=["x0", "(" + ", ".join(f"x{i + 1}" for i in range(k)) + ",)", f"x{k + 1}"],
                sym=[symbols(x)] + [("m",)] * (k + 1))


COMBINE = {"update": lambda a, b: b, "add": lambda a, b: a + b, "mul": lambda a, b: a * b, "max": np.maximum, "min": np.minimum}


@oracle("scatter_elements")
def scatter_elements(d, op):
    s, dtype = d.shape(1, 3, zero=False), d.dtype(["float32", "int64", "float64", "int32"])
    axis = d.axis(len(s))
    how = d.turn(list(COMBINE) + ["mean"])
    k = axis % len(s)
    x = d.exact(s, dtype, -4, 4)
    shape = tuple(0 if i == k and d.kind == "zero" else d.int(1, n) for i, n in enumerate(s))
    if how == "update":  # no place twice
        order = np.argsort(d.rng.random(tuple(s[k] if i == k else n for i, n in enumerate(shape))), axis=k)
        at = Tensor(np.take(order, np.arange(shape[k]), k), d.one_of(INDEX))
    else:
        at = indices(d, shape, s[k])
    u = d.exact(shape, dtype, -2, 2)
    y, count = x.a.copy(), np.ones(s, np.int64)
    for i in np.ndindex(*shape):
        to = i[:k] + (int(at.a[i]) % s[k],) + i[k + 1:]
        y[to] = COMBINE["add" if how == "mean" else how](y[to], u.a[i])
        count[to] += 1
    if how == "mean":
        y = y / count if is_float(dtype) else y // count
    return Case(op, [x, at, u], out(y, dtype), attrs={"axis": axis, "reduction": how},
                sym=[symbols(x), symbols(at, "m"), symbols(at, "m")])


@oracle("scatter_nd")
def scatter_nd(d, op):
    s, dtype = d.shape(1, 3, zero=False), d.dtype(["float32", "int64", "float64", "int32"])
    depth, how = d.int(1, len(s)), d.turn(list(COMBINE))
    total = int(np.prod(s[:depth]))
    n = 0 if d.kind == "zero" else d.int(1, min(total, 5))
    flat = d.rng.permutation(total)[:n] if how == "update" else d.rng.integers(0, total, n)
    at = Tensor(np.stack(np.unravel_index(flat, s[:depth]), -1).reshape(n, depth), "int64")
    x, u = d.exact(s, dtype, -4, 4), d.exact((n,) + s[depth:], dtype, -2, 2)
    y = x.a.copy()
    for i in range(n):
        to = tuple(int(v) for v in at.a[i])
        y[to] = np.vectorize(COMBINE[how], otypes=[y.dtype])(y[to], u.a[i]) if u.a[i].size else y[to]
    return Case(op, [x, at, u], out(y, dtype), attrs={"reduction": how},
                sym=[symbols(x), ("m", depth), ("m",) + symbols(x)[depth:]])


@oracle("one_hot")
def one_hot(d, op):
    s, depth, dtype = d.shape(0, 3), d.int(1, 6), d.dtype(["float32", "int64", "int8", "float64"])
    axis = d.axis(len(s) + 1)
    x = Tensor(d.rng.integers(0, depth + (1 if d.flag() else 0), s), d.one_of(INDEX))
    on, off = d.int(1, 3), d.int(-3, 0)
    k = axis % (len(s) + 1)
    grid = np.arange(depth).reshape([-1 if i == k else 1 for i in range(len(s) + 1)])
    y = np.where(np.expand_dims(x.a, k) == grid, on, off)
    return Case(op, [x], out(y, dtype), args=["x0", prim(on, dtype), prim(off, dtype)],
                attrs={"depth": depth, "axis": axis})


# ---- products ----

def product_tolerance(dtype):
    return {"float16": (1e-2, 2e-2), "bfloat16": (6e-2, 2e-1)}.get(dtype)


@oracle("matmul")
def matmul(d, op):
    dtype = d.dtype(["float32", "float64", "int32", "float16", "int8", "bfloat16", "int64"])
    n, m = d.extent(1, 6, zero=True), d.extent(1, 6)
    k = 0 if d.kind == "zero" and d.flag() else d.extent(1, 6)
    batch = d.shape(0, 2, most=3, zero=False)
    a = (k,) if d.flag(0.15) else d.broadcast(batch, full=True) + (n, k)
    b = (k,) if d.flag(0.15) else d.broadcast(batch) + (k, m)
    x, y = d.exact(a, dtype, -3, 3), d.exact(b, dtype, -3, 3)
    to, attrs = dtype, {}
    if dtype in ("int8", "float16") and d.flag(0.6):
        to = "int32" if dtype == "int8" else "float32"
        attrs["out_dtype"] = to
    kind = np.float64 if is_float(to) else np.dtype(to)
    return Case(op, [x, y], out(np.matmul(x.a.astype(kind), y.a.astype(kind)), to), attrs=attrs,
                tol=product_tolerance(to))


@oracle("linear")
def linear(d, op):
    dtype = d.dtype(SINGLE + ["float16"])
    s, k, m = d.shape(0, 3), d.extent(), d.extent()
    x, w = d.exact(s + (k,), dtype, -3, 3), d.exact((m, k), dtype, -3, 3)
    inputs, y = [x, w], wide(x) @ wide(w).T
    if d.flag():
        inputs.append(d.exact((m,), dtype))
        y = y + wide(inputs[2])
    return Case(op, inputs, out(y, dtype), tol=product_tolerance(dtype))


@oracle("outer")
def outer(d, op):
    dtype = d.dtype(NUMBERS)
    x, y = d.numbers((d.extent(zero=True),), dtype), d.numbers((d.extent(),), dtype)
    return Case(op, [x, y], out(np.multiply.outer(wide(x), wide(y)), dtype), sym=[("n",), ("m",)])


@oracle("einsum")
def einsum(d, op):
    text = d.turn(["ij,jk->ik", "bij,bjk->bik", "ii->i", "ij->ji", "ij->", "i,j->ij", "ij,ij->", "bhqd,bhkd->bhqk",
                   "...ij,...jk->...ik", "ij,jk", "ijk,jil->kl", "i,i", "ii", "ij,kj,ki->k", "...i->...", "ij,j->i"])
    dtype = d.dtype(["float32", "int32", "float64"])
    extents, inputs = {"...": d.shape(1, 2, most=3, zero=False)}, []
    zero = d.kind == "zero"
    for part in text.split("->")[0].split(","):
        s = ()
        if part.startswith("..."):
            s, part = extents["..."], part[3:]
        for c in part:
            if c not in extents:
                extents[c] = (0 if zero else d.extent(1, 4)), zero
                zero = False
            s += (extents[c][0],)
        inputs.append(d.exact(s, dtype, -3, 3))
    return Case(op, inputs, out(np.einsum(text, *[t.a for t in inputs]), dtype), attrs={"subscripts": text},
                args=["(" + ", ".join(f"x{i}" for i in range(len(inputs))) + ",)"])


@oracle("det")
def det(d, op):
    n, batch, dtype = d.extent(1, 5), d.shape(0, 2), d.dtype(SINGLE)
    x = d.floats(batch + (n, n), dtype, -2, 2, inf=False)
    if d.flag(0.3) and n > 1 and x.a.size:  # singular
        x.a[..., 0, :] = x.a[..., 1, :]
    y = np.where(np.isnan(x.a).any((-2, -1)), np.nan, np.linalg.det(wide(x)))
    return Case(op, [x], out(y, dtype), tol=(1e-4, 1e-4), sym=[
        tuple(f"n{i}" for i in range(len(batch))) + (n, n)])


# ---- quantization ----

def parameters(d, s, scale_dtype, zero_dtype):
    """Scale and zero point, for the tensor or for each entry of an axis; and how they broadcast."""
    axis = d.axis(len(s)) if len(s) and d.flag(0.6) else None
    shape = () if axis is None else (s[axis],)
    scale = Tensor(np.exp2(d.rng.integers(-3, 2, shape)), scale_dtype)
    zero = d.small(shape, zero_dtype, -20 if zero_dtype != "uint8" else 0, 20)
    lined = [1] * len(s)
    if axis is not None:
        lined[axis] = s[axis]
    return axis, scale, zero, lambda t: wide(t).reshape(lined) if axis is not None else wide(t)


@oracle("quantize")
def quantize(d, op):
    s, to = d.shape(0, 3), d.one_of(["int8", "uint8", "int16", "int32"])
    x = d.floats(s, "float32", -60, 60)
    axis, scale, zero, lined = parameters(d, s, "float32", d.one_of([to, "int32"]))
    info = np.iinfo(to)
    y = np.clip(np.nan_to_num(np.rint(wide(x) / lined(scale)) + lined(zero), nan=0, posinf=1e9 + 2 ** 40, neginf=-2.0 ** 40), info.min, info.max)
    return Case(op, [x, scale, zero], out(y, to), attrs={"out_dtype": to, **({} if axis is None else {"axis": axis})})


@oracle("dequantize")
def dequantize(d, op):
    s, dtype, to = d.shape(0, 3), d.one_of(["int8", "uint8", "int16", "int32"]), d.one_of(["float32", "float16"])
    x = d.ints(s, dtype, -100, 100) if dtype != "int32" else d.small(s, dtype, -1000, 1000)
    axis, scale, zero, lined = parameters(d, s, to if d.flag() else "float32", dtype)
    y = (x.a.astype(np.float64) - lined(zero)) * lined(scale)
    if to == "float16":  # saturates
        y = np.clip(y, -65504, 65504)
    return Case(op, [x, scale, zero], out(y, to), attrs={"out_dtype": to, **({} if axis is None else {"axis": axis})},
                tol=(2e-3, 1e-3) if to == "float16" else None)


# ---- what is known without looking ----

@oracle("size")
def size(d, op):
    x = d.numbers(d.shape(), d.dtype(ALL))
    return Case(op, [x], out(x.a.size, "int64"))


@oracle("shape_to_tensor")
def shape_to_tensor(d, op):
    x = d.numbers(d.shape(), d.dtype(ALL))
    symbols = [f"a{i}" for i in range(len(x.shape))]
    return Case(op, [x], out(np.array(x.shape, dtype=np.int64), "int64"), args=[shape_arg(x.shape)],
                sym=[symbols], sym_args=[shape_arg(symbols)])


KINDS = {"int": 0, "uint": 1, "float": 2, "bfloat": 4, "bool": 6}  # DLPack's codes


@oracle(*["inspect.tensor_" + w for w in ("dtype_code", "dtype_bits", "dtype_lanes", "ndim", "shape_i", "stride_i")])
def inspect(d, op):
    what = op[len("inspect.tensor_"):]
    x = d.numbers(d.shape(1, 4), d.dtype(ALL))
    i = d.int(0, len(x.shape) - 1)
    if what == "stride_i" and 0 in x.shape[i + 1:]:
        i = len(x.shape) - 1
    bits = 16 if x.dtype == "bfloat16" else 8 * x.a.dtype.itemsize
    value, dtype = {
        "dtype_code": (KINDS[x.dtype.rstrip("0123456789")], "uint8"), "dtype_bits": (bits, "uint8"),
        "dtype_lanes": (1, "uint16"), "ndim": (len(x.shape), "int32"), "shape_i": (x.shape[i], "int64"),
        "stride_i": (int(np.prod(x.shape[i + 1:])), "int64")}[what]
    return Case(op, [x], out(value, dtype), args=["x0"] + ([prim(i)] if what.endswith("_i") else []))


@oracle("multinomial_from_uniform")
def multinomial(d, op):
    b, n, m = d.extent(1, 3), d.extent(1, 6), d.extent(1, 5, zero=True)
    p = d.rng.integers(1, 9, (b, n)).astype(np.float64)
    prob = Tensor(p / p.sum(1, keepdims=True), "float32")
    u, row = Tensor(d.rng.uniform(0.001, 0.999, (m, 1)), "float32"), Tensor(d.rng.integers(0, b, (m, 1)), "int64")
    total = np.cumsum(wide(prob), 1)
    y = [[min(int(np.searchsorted(total[int(r)], v, side="right")), n - 1)] for r, v in zip(row.a[:, 0], wide(u)[:, 0])]
    to = d.one_of(["int64", "int32"])
    return Case(op, [prob, u, row], out(np.array(y).reshape(m, 1), to), attrs={"dtype": to},
                sym=[("b", "n"), ("m", 1), ("m", 1)])
