# SPDX-License-Identifier: Apache-2.0
"""Whole models: files of a folder and graphs of transformers.py, made ready for every engine: a file without
symbolic dimensions for the wanted batch, its inputs, what ONNX Runtime computes, and Tenon's artifact of it."""
import glob
import json
import math
import os

import numpy as np
import onnx
from onnx import numpy_helper, shape_inference

import engines
import transformers
from report import DISPATCHED
from tenon import Failed


class Skipped(Exception):
    """A form that a model does not have; its text says why."""


# ---- changing files ----

def constants_of(graph):
    """Values of initializers and Constant nodes by name."""
    out = {i.name: i for i in graph.initializer}
    for n in graph.node:
        if n.op_type == "Constant" and n.attribute[0].name == "value":
            out[n.output[0]] = n.attribute[0].t
    return out


def add_weights(model, seed=1):
    """Weights that are one value everywhere (ConstantOfShape) become seeded random ones: kernels around 0 that keep the
    size of what flows through, vectors positive. The last softmax goes: it would hide all but the largest values."""
    g, draw = model.graph, np.random.default_rng(seed)
    known, gone = constants_of(g), []
    for n in g.node:
        if n.op_type != "ConstantOfShape" or n.input[0] not in known:
            continue
        shape = [int(d) for d in numpy_helper.to_array(known[n.input[0]])]
        value = numpy_helper.to_array(n.attribute[0].t) if n.attribute else np.float32([0])
        if value.dtype != np.float32:
            continue
        if len(shape) < 2:
            w = draw.uniform(0.1, 1.1, shape)
        else:
            w = draw.uniform(-1, 1, shape) * math.sqrt(6 / max(1, np.prod(shape[1:])))
        g.initializer.append(numpy_helper.from_array(w.astype(np.float32), n.output[0]))
        gone.append(n)
    for n in gone:
        g.node.remove(n)
    last = g.node[-1]
    if last.op_type == "Softmax":
        g.output[0].name = last.input[0]
        g.node.remove(last)


def run_time_inputs(graph):
    given = {i.name for i in graph.initializer}
    return [i for i in graph.input if i.name not in given]


def set_shapes(model, feeds):
    """Inputs get the shapes of the feeds; what was said of other shapes is forgotten and inferred anew."""
    g = model.graph
    for i in run_time_inputs(g):
        dims = i.type.tensor_type.shape.dim
        for d, n in zip(dims, feeds[i.name].shape):
            d.Clear()
            d.dim_value = n
    del g.value_info[:]
    for o in g.output:
        o.type.tensor_type.ClearField("shape")
    return shape_inference.infer_shapes(model)


def set_batch(model, batch):
    """Targets of Reshape that begin with 1 begin with the batch."""
    g = model.graph
    known = constants_of(g)
    for n in g.node:
        t = known.get(n.input[1]) if n.op_type == "Reshape" and n.input[0] not in known else None
        if t is None:
            continue
        v = numpy_helper.to_array(t).copy()
        if v.ndim == 1 and v.size and v[0] == 1:
            v[0] = batch
            t.CopyFrom(numpy_helper.from_array(v, t.name))


def samples(x, batch):
    """So many inputs that differ, along the first dimension."""
    return np.concatenate([np.roll(x, 3 * k, axis=-1) for k in range(batch)], axis=0)


def batched_outputs(path, feeds, single, batch):
    """Outputs for a batch, if they are those of its samples one by one. Skipped if not."""
    try:
        got = engines.computer(path)(feeds)
    except Failed as e:
        raise Skipped(f"no batch of {batch}: {e}") from e
    one = engines.computer(single)
    for k in range(batch):
        want = one({name: x[k:k + 1] for name, x in feeds.items()})
        for a, b in zip(got, want):
            if a.ndim == 0 or a.shape[0] != batch or a[k:k + 1].shape != b.shape:
                raise Skipped(f"no batch of {batch}: an output of {list(a.shape)} for one of {list(b.shape)}")
            if not np.allclose(a[k:k + 1], b, rtol=1e-2, atol=tolerance(b, 1e-3)):
                raise Skipped(f"no batch of {batch}: constants of the graph hold the batch of one")
    return got


def tolerance(y, part):
    return part * float(np.abs(y.astype(np.float64)).max(initial=0)) + 1e-7


# ---- one model ----

FORMS = {"tenon": [], DISPATCHED: ["--set", "pipeline.cpu.library_dispatch=DNNLDispatch"]}


class Model:
    """A model at a batch. `source()` gives an ONNX model and its feeds at batch 1. `form` is how Tenon compiles it: a
    name of FORMS."""

    def __init__(self, name, batch, source, form="tenon"):
        self.name, self.batch, self.source, self.form = name, batch, source, form

    def __str__(self):
        return f"{self.name}, batch {self.batch}" + (f", {self.form}" if FORMS[self.form] else "")

    def path(self, work, file=""):
        return os.path.join(work, "models", f"{self.name}-{self.batch}", file)

    def artifact(self, work):
        return self.path(work, "model.tno" if self.form == "tenon" else f"{self.form}.tno")

    def dispatched(self):
        """The same with oneDNN."""
        return Model(self.name, self.batch, self.source, DISPATCHED)

    def prepare(self, tenon, work):
        """Writes the files, compiles, compares. Failed when Tenon's results are not ONNX Runtime's."""
        if not os.path.exists(self.path(work, "check.json")):
            self.make_data(work)
        tno = self.path(work, f"unchecked-{self.form}.tno")
        tenon.compile(self.path(work, "model.onnx"), tno, *FORMS[self.form])
        tenon.agrees(tno, self.inputs(work), *self.expected(work))
        os.replace(tno, self.artifact(work))

    def expected(self, work):
        """The files of the results, the relative and the absolute tolerance."""
        with open(self.path(work, "check.json"), encoding="utf-8") as f:
            check = json.load(f)
        return [self.path(work, f"want-{k}.npy") for k in range(check["outputs"])], 1e-2, check["atol"]

    def make_data(self, work):
        """The model without symbols, inputs, and what ONNX Runtime makes of them."""
        os.makedirs(self.path(work), exist_ok=True)
        model, feeds = self.source()
        if len(feeds) == 1:
            feeds = {n: x[:1] for n, x in feeds.items()}  # a data set may hold several samples
        quantized = any(n.op_type == "QuantizeLinear" for n in model.graph.node)
        half = any(i.data_type == onnx.TensorProto.FLOAT16 for i in model.graph.initializer)
        onnx_path, single = self.path(work, "model.onnx"), self.path(work, "single.onnx")
        if self.batch > 1:
            if any(x.shape[:1] != (1,) for x in feeds.values()):
                raise Skipped("not all inputs have a batch of one")
            one = onnx.ModelProto()
            one.CopyFrom(model)
            onnx.save(set_shapes(one, feeds), single)
            feeds = {n: samples(x, self.batch) for n, x in feeds.items()}
            set_batch(model, self.batch)
        try:
            onnx.save(set_shapes(model, feeds), onnx_path)
        except Exception as e:  # of shape inference
            raise Skipped(f"no batch of {self.batch}: {str(e).splitlines()[0]}") from e
        if self.batch > 1:
            want = batched_outputs(onnx_path, feeds, single, self.batch)
            os.remove(single)
        else:
            want = engines.computer(onnx_path)(feeds)
        np.savez(self.path(work, "feeds.npz"), **feeds)
        for k, x in enumerate(feeds.values()):
            np.save(self.path(work, f"input-{k}.npy"), x)
        for k, y in enumerate(want):
            np.save(self.path(work, f"want-{k}.npy"), y)
        # one step of a quantized output is a hundredth; half precision keeps three digits
        part = 2e-2 if quantized or half else 1e-3
        with open(self.path(work, "check.json"), "w", encoding="utf-8") as f:
            json.dump({"atol": max((tolerance(y, part) for y in want), default=0), "outputs": len(want)}, f)

    def inputs(self, work):
        n = len(glob.glob(self.path(work, "input-*.npy")))
        return [f"#{k}={self.path(work, f'input-{k}.npy')}" for k in range(n)]

    def repetition(self, tenon, work, threads, seconds, which, others=()):
        """One round: every engine of `which`, Tenon, and `others`, which are the same model in other forms, one after the
        other."""
        out = {}
        path, feeds = self.path(work, "model.onnx"), self.path(work, "feeds.npz")
        for e in which[:1]:
            out[e] = engines.measure(e, path, feeds, threads, seconds)
        slow = out and out[which[0]]["min_ms"] > 500 * seconds
        for m in (self, *others):
            r = tenon.bench(m.artifact(work), threads, self.inputs(work), *self.expected(work), None if slow else seconds,
                            1 if slow else None)
            out[m.form] = {k: r[k] for k in ("load_ms", "min_ms", "median_ms", "runs", "peak_bytes")}
        for e in which[1:]:
            try:
                out[e] = engines.measure(e, path, feeds, threads, seconds)
            except Failed as why:
                out[e] = {"failed": str(why)}
        return out


# ---- which ----

def load_pb(path):
    t = onnx.TensorProto()
    with open(path, "rb") as f:
        t.ParseFromString(f.read())
    return numpy_helper.to_array(t)


def from_folder(folder):
    """A source: model.onnx and the first data set of a folder."""
    def source():
        model = onnx.load(os.path.join(folder, "model.onnx"))
        if os.path.basename(folder).startswith("light_"):
            add_weights(model)
        files = glob.glob(os.path.join(folder, "test_data_set_0", "input_*.pb"))
        files.sort(key=lambda p: int(p.rsplit("_", 1)[1][:-3]))
        return model, {i.name: load_pb(f) for i, f in zip(run_time_inputs(model.graph), files)}
    return source


def is_convolutional(folder):
    """A data set, images as input, convolutions in the graph."""
    path = os.path.join(folder, "model.onnx")
    if not os.path.exists(path) or not os.path.exists(os.path.join(folder, "test_data_set_0", "input_0.pb")):
        return False
    g = onnx.load(path).graph
    shapes = [i.type.tensor_type.shape.dim for i in run_time_inputs(g)]
    return any(n.op_type == "Conv" for n in g.node) and len(shapes) == 1 and len(shapes[0]) == 4


def convolutional(folder):
    """Sources by name."""
    found = sorted(f for f in glob.glob(os.path.join(folder, "*")) if is_convolutional(f))
    return {os.path.basename(f): from_folder(f) for f in found}


def with_data(folder):
    """Sources by name of all models that have a data set."""
    found = sorted(f for f in glob.glob(os.path.join(folder, "*")) if os.path.exists(os.path.join(f, "model.onnx"))
                   and os.path.exists(os.path.join(f, "test_data_set_0", "input_0.pb")))
    return {os.path.basename(f): from_folder(f) for f in found}


def shaped_transformers():
    return {name: (lambda make=make: make()) for name, make in transformers.GRAPHS.items()}
