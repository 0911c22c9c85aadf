# SPDX-License-Identifier: Apache-2.0
"""A random ONNX graph that grows node by node. ONNX Runtime runs each node as it is added, so that every value is known
with its shape, and what it refuses is never added."""
import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

ort.set_default_logger_severity(4)

OPSETS = [21] * 6 + [11, 13, 17, 18, 19, 23, 24, 26, 28]
IR_VERSION = 10
MOST_ELEMENTS = 20000
TYPES = {np.dtype(t): helper.np_dtype_to_tensor_dtype(np.dtype(t))
         for t in ("float32", "float64", "float16", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool")}


class Value:
    """A value of the graph. `exact`: any right implementation gives the same bits, so that what jumps (rounding, comparing,
    sorting) may use it. `kind`: "input", "constant" or "node"."""

    def __init__(self, name, array, kind, exact):
        self.name, self.array, self.kind, self.exact = name, array, kind, exact
        self.fixed = False  # other extents of it would show what ONNX Runtime does not look at
        self.near = False  # its integers change by little only: they count turns

    @property
    def dtype(self):
        return self.array.dtype

    @property
    def shape(self):
        return self.array.shape

    @property
    def rank(self):
        return self.array.ndim


def on_grid(a):
    """Whether all elements are multiples of 1/256 below 4096: sums and products of a few are exact."""
    if a.dtype.kind != "f":
        return True
    with np.errstate(all="ignore"):
        x = a.astype(np.float64)
        return bool(np.all(np.isfinite(x)) and np.all(np.abs(x) < 4096) and np.all(x * 256 == np.round(x * 256)))


def tame(a):
    """Whether more may be computed from the array: it is finite and not large."""
    if a.dtype.kind == "b":
        return True
    with np.errstate(all="ignore"):
        x = a.astype(np.float64)
        return bool(np.all(np.isfinite(x)) and (x.size == 0 or np.abs(x).max() < (2000 if a.dtype == np.float16 else 1e5)))


def value_info(name, array, dims=None):
    return helper.make_tensor_value_info(name, TYPES[array.dtype], list(array.shape) if dims is None else dims)


def session(model):
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


class Graph:
    def __init__(self, rng):
        self.rng = rng
        self.values, self.nodes, self.inputs, self.constants = [], [], [], []
        self.opsets = [helper.make_opsetid("", self.pick(OPSETS))]
        self.used = set()

    # ---- drawing ----

    def chance(self, p):
        return self.rng.random() < p

    def pick(self, items):
        return items[int(self.rng.integers(len(items)))]

    def integer(self, low, high):
        """From low to high, both included."""
        return int(self.rng.integers(low, high + 1))

    def shape(self, rank=None, most=MOST_ELEMENTS):
        rank = self.pick([0, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5]) if rank is None else rank
        while True:
            dims = tuple(self.pick([1, 1, 2, 2, 3, 4, 5, 6, 7, 8, 8, 9, 12, 16, 17, 24, 32, 33, 40, 64, 72, 130]) for _ in range(rank))
            if int(np.prod(dims, dtype=np.int64)) <= most:
                return tuple(0 if self.chance(0.004) else d for d in dims)

    def data(self, shape, dtype, low=-4, high=4):
        dtype = np.dtype(dtype)
        if dtype.kind == "b":
            return self.rng.integers(0, 2, shape).astype(bool)
        if dtype.kind == "u":
            low, high = max(low, 0), max(high, 8)
        if dtype.kind in "iu":
            return self.rng.integers(low, high + 1, shape).astype(dtype)
        return (self.rng.integers(low * 8, high * 8 + 1, shape) / 8).astype(dtype)

    # ---- values ----

    def new_name(self, stem):
        return f"{stem}{len(self.values)}"

    def constant(self, array):
        v = Value(self.new_name("c"), np.asarray(array), "constant", on_grid(np.asarray(array)))
        self.constants.append(v)
        self.values.append(v)
        return v

    def input(self, array):
        v = Value(self.new_name("x"), np.asarray(array), "input", on_grid(np.asarray(array)))
        self.inputs.append(v)
        self.values.append(v)
        return v

    def fresh(self, shape, dtype, low=-4, high=4):
        """A new value of the shape: most often an input, else a weight."""
        a = self.data(shape, dtype, low, high)
        return self.constant(a) if self.chance(0.3) else self.input(a)

    def find(self, test):
        """A value that is there already, the newer the likelier; None if none passes."""
        found = [v for v in self.values if v.kind != "constant" and test(v) and tame(v.array)]
        if not found:
            return None
        return found[-1 - min(int(self.rng.exponential(2.0)), len(found) - 1)]

    def any(self, dtypes="f", rank=None, low_rank=0, exact=False):
        """An operand: one of the graph, else a new one. `dtypes`: kinds, as in numpy.dtype.kind."""
        def test(v):
            return (v.dtype.kind in dtypes and (rank is None or v.rank == rank) and v.rank >= low_rank
                    and (v.exact or not exact) and v.array.size <= MOST_ELEMENTS)
        v = self.find(test) if self.chance(0.85) else None
        if v is None:
            kind = self.pick(dtypes)
            dtype = {"f": self.pick(["float32"] * 12 + ["float16", "float64"]), "i": self.pick(["int64", "int64", "int32", "int8"]),
                     "u": "uint8", "b": "bool"}[kind]
            r = rank if rank is not None else max(low_rank, self.pick([1, 2, 2, 3, 4]))
            v = self.fresh(self.shape(r), dtype)
        return v

    def numbers(self, values, dynamic=0.15, near=False):
        """Integers that an operator takes as a tensor of int64: a constant, or now and then known at run time only."""
        a = np.asarray(values, dtype=np.int64)
        if not self.chance(dynamic):
            return self.constant(a)
        x = self.input(a)
        x.near = near
        out = self.add("Identity", [x]) if self.chance(0.3) else [x]
        return out[0]

    # ---- nodes ----

    def add(self, op, inputs, outputs=1, exact=True, **attrs):
        """Adds a node if ONNX Runtime runs it on the values at hand; its results, or None."""
        operands = [v if v is None or isinstance(v, Value) else self.constant(v) for v in inputs]
        names = [v.name if v else "" for v in operands]
        attrs = {k: v for k, v in attrs.items() if v is not None}
        out_names = [f"{op.lower()}{len(self.values)}_{i}" for i in range(outputs)]
        node = helper.make_node(op, names, out_names, name=f"n{len(self.nodes)}_{op}", **attrs)
        results = self.run_alone(node, operands)
        if results is None:
            return None
        self.nodes.append(node)
        self.used.update(names)
        whole = exact and all(v is None or v.exact for v in operands)
        made = [Value(n, a, "node", whole and on_grid(a)) for n, a in zip(out_names, results)]
        self.values.extend(made)
        return made

    def run_alone(self, node, operands):
        seen = {v.name: v for v in operands if v}
        fixed = [numpy_helper.from_array(v.array, v.name) for v in seen.values() if v.kind == "constant"]
        given = [v for v in seen.values() if v.kind != "constant"]
        outs = [helper.make_empty_tensor_value_info(n) for n in node.output]
        graph = helper.make_graph([node], "g", [value_info(v.name, v.array) for v in given], outs, fixed)
        try:
            s = session(helper.make_model(graph, opset_imports=self.opsets, ir_version=IR_VERSION))
            results = s.run(None, {v.name: v.array for v in given})
        except Exception:  # ONNX Runtime raises many kinds; each means that it refuses
            return None
        if any(not isinstance(a, np.ndarray) or a.dtype not in TYPES or a.size > 4 * MOST_ELEMENTS for a in results):
            return None
        return results

    # ---- the model ----

    def outputs(self):
        """What nobody uses, and now and then something else; without NaN, of which some come from the order of operations."""
        made = [v for v in self.values if v.kind == "node" and not (v.dtype.kind == "f" and np.isnan(v.array).any())]
        left = [v for v in made if v.name not in self.used]
        more = [v for v in made if v.name in self.used and self.chance(0.1)]
        return (left + more)[:8]

    def is_narrow(self):
        """Whether float16 is among the dtypes."""
        return any(v.dtype == np.float16 for v in self.values)

    def model(self, style):
        """The whole graph. `style` of the inputs' dimensions: "static", "named" (one name for each extent), "free" (each a name of its
        own) or "unnamed"."""
        outs = self.outputs()
        inputs = []
        for v in self.inputs:
            dims = []
            for i, d in enumerate(v.shape):
                symbolic = style != "static" and d > 0 and self.chance(0.7)
                name = {"named": f"d{d}", "free": f"{v.name}_{i}", "unnamed": None}.get(style)
                dims.append(name if symbolic else d)
            inputs.append(value_info(v.name, v.array, dims))
        infos = [helper.make_tensor_value_info(v.name, TYPES[v.dtype], [None] * v.rank) for v in outs]
        nodes, needed = needed_for(self.nodes, {v.name for v in outs})
        fixed = [numpy_helper.from_array(v.array, v.name) for v in self.constants if v.name in needed]
        graph = helper.make_graph(nodes, "random", inputs, infos, fixed)
        return helper.make_model(graph, opset_imports=self.opsets, ir_version=IR_VERSION, producer_name="tenon-random"), outs


SHAPE_ONLY = {"Shape": [0], "Size": [0], "EyeLike": [0], "CastLike": [1], "OptionalHasElement": [0]}  # operands whose elements nobody looks at


def operands_of(node):
    """Names that the node reads, those that its bodies read among them."""
    names = list(node.input)
    for a in node.attribute:
        if a.HasField("g"):
            names += [n for inner in a.g.node for n in operands_of(inner)]
    return names


def needed_for(nodes, names, shapes=True):
    """The nodes that these values depend on, and the names of all values that are needed; without `shapes`, a value is not
    needed by what looks at its shape only."""
    needed, kept = set(names), []
    for node in reversed(nodes):
        if not needed.isdisjoint(node.output):
            kept.append(node)
            skip = [] if shapes else SHAPE_ONLY.get(node.op_type, [])
            needed.update(n for i, n in enumerate(operands_of(node)) if i not in skip)
    return kept[::-1], needed


def tensor_file(path, array, name):
    with open(path, "wb") as f:
        f.write(numpy_helper.from_array(np.asarray(array, order="C"), name).SerializeToString())


def subgraph(name, nodes, inputs, outputs):
    """A body of If, Loop or Scan; inputs and outputs: (name, numpy dtype, rank)."""
    info = [[helper.make_tensor_value_info(n, TYPES[np.dtype(d)], [None] * r) for n, d, r in part] for part in (inputs, outputs)]
    return helper.make_graph(nodes, name, info[0], info[1])


__all__ = ["Graph", "Value", "needed_for", "on_grid", "session", "subgraph", "tame", "tensor_file", "TensorProto", "onnx"]
