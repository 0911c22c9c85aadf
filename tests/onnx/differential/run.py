#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random ONNX models against ONNX Runtime: equal results, and equal refusal of shapes and indices that do not fit.

    tests/onnx/differential/run --tenon build/tools/tenon --count 2000 [-t opencl] [--seed 1] [--keep DIR]

A model that differs is told with its seed; `--count 1 --seed N --keep DIR` makes it again. See README.md.
"""
import argparse
import collections
import os
import pickle
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import numpy as np  # noqa: E402
from graph import Graph, needed_for, session, tensor_file  # noqa: E402
from operators import OPERATORS  # noqa: E402
import variants  # noqa: E402,F401  adds its own

NAMES = sorted(OPERATORS)


class Case:
    """A model with inputs that ONNX Runtime takes, and inputs that it refuses."""

    def __init__(self, seed, root):
        self.seed, self.refused = seed, []
        rng = np.random.default_rng(seed)
        g = Graph(rng)
        for _ in range(int(rng.integers(1, 3)) if rng.random() < 0.4 else int(rng.integers(3, 14))):
            OPERATORS[NAMES[int(rng.integers(len(NAMES)))]](g)
        self.style = ["static", "static", "named", "free", "unnamed"][int(rng.integers(5))]
        self.graph = g
        self.ok = False
        if not g.nodes:
            return
        self.model, self.outs = g.model(self.style)
        self.dir = os.path.join(root, "narrow" if g.is_narrow() else "wide", f"m{seed:07}")
        self.ok = bool(self.outs)

    def write(self):
        """The folder; False if ONNX Runtime does not take the whole model."""
        try:
            self.session = session(self.model)
            wanted = self.run({v.name: v.array for v in self.graph.inputs})
        except Exception:
            return False
        os.makedirs(self.dir)
        with open(os.path.join(self.dir, "model.onnx"), "wb") as f:
            f.write(self.model.SerializeToString())
        self.write_set(0, {v.name: v.array for v in self.graph.inputs}, wanted)
        self.vary()
        return True

    def run(self, feeds):
        return self.session.run(None, feeds)

    def write_set(self, k, feeds, wanted):
        d = os.path.join(self.dir, f"test_data_set_{k}")
        os.makedirs(d)
        for i, v in enumerate(self.graph.inputs):
            tensor_file(os.path.join(d, f"input_{i}.pb"), feeds[v.name], v.name)
        for i, (v, a) in enumerate(zip(self.outs, wanted)):
            tensor_file(os.path.join(d, f"output_{i}.pb"), a, v.name)

    def vary(self):
        """Other values of integers (indices past the end, other counts) and, where dimensions have names, other extents."""
        g, k = self.graph, 1
        exact = all(v.exact for v in self.outs)
        for _ in range(3):
            feeds = {v.name: v.array for v in g.inputs}
            changed = False
            for v, info in zip(g.inputs, self.model.graph.input):
                if v.fixed:
                    continue
                dims = info.type.tensor_type.shape.dim
                free = [i for i, d in enumerate(dims) if not d.HasField("dim_value")]
                if free and g.chance(0.4):
                    i = free[g.integer(0, len(free) - 1)]
                    n = v.shape[i] + g.pick([-1, 1, 2]) if g.chance(0.7) else 1
                    if n > 0:
                        feeds[v.name] = np.take(v.array, np.arange(n) % v.shape[i], axis=i)
                        changed = True
                elif v.dtype in (np.int64, np.int32) and v.array.size and v.array.size < 100 and g.chance(0.3):
                    a = v.array.copy()
                    with np.errstate(over="ignore"):
                        a.reshape(-1)[g.integer(0, a.size - 1)] += g.pick([1, -1, 3, 5 if v.near else 1000000000])
                    feeds[v.name] = a
                    changed = True
            if not changed or not self.consistent(feeds):
                continue
            try:
                wanted = self.run(feeds)
            except Exception as e:
                why = str(e).strip().splitlines()[-1][:600]
                if not any(text in str(e) for text in OF_MEMORY) and self.is_computed(why) and not any(text in why for text in MORE_THAN):
                    self.refused.append((feeds, why))
                continue
            sizes = sum(a.size for a in wanted)
            if sizes < 200000 and (exact or self.same_kind(feeds)):
                self.write_set(k, feeds, wanted)
                k += 1

    def is_computed(self, why):
        """Whether the node that ONNX Runtime names is one whose elements an output depends on. Tenon does not compute others, and so
        finds nothing wrong with them."""
        m = re.search(r"Name:'([^']*)'", why)
        nodes, _ = needed_for(self.model.graph.node, {v.name for v in self.outs}, shapes=False)
        return not m or any(n.name == m[1] for n in nodes)

    def same_kind(self, feeds):
        """Values that jump are only drawn exact for the first inputs: extents may change, numbers may not."""
        return all(feeds[v.name].shape != v.shape or np.array_equal(feeds[v.name], v.array) for v in self.graph.inputs)

    def consistent(self, feeds):
        """Dimensions of one name have one extent: what breaks that is refused by everybody, for another reason."""
        seen = {}
        for v, info in zip(self.graph.inputs, self.model.graph.input):
            for d, n in zip(info.type.tensor_type.shape.dim, feeds[v.name].shape):
                if d.dim_param and seen.setdefault(d.dim_param, n) != n:
                    return False
        return True


def signature(text):
    """What a failure is about, without numbers and names, so that equal ones are counted together."""
    text = re.sub(r"'[^']*'", "'..'", text)
    return re.sub(r"-?\d[\d.e+-]*", "N", text)[:160]


# How Tenon's results may differ, with which operators, and why.
OTHER = [
    (r"is -?0\.0 instead of nan", "MeanVarianceNormalization"),  # the function adds 1e-9 to what divides, ONNX Runtime does not
]

# What Tenon refuses though ONNX Runtime does not, and why.
ALLOWED = [
    "without a list of axes, dynamic axis",  # Squeeze: the rank would depend on an extent
    "(PRelu): an extent of",  # the slope is broadcast, not the data; ONNX Runtime does both
    "has 1 entries for",  # GroupNormalization: parameters have an entry a channel; ONNX Runtime broadcasts one
    "the window is larger than the padded data",  # ONNX Runtime's pooling rounds -1/2 to 0
    "(Attention): extent 0 is",  # there is one batch size; ONNX Runtime broadcasts one of 1 where it expands the function
    "(Attention): extent 1 is",  # a mask is as long as the keys; ONNX Runtime leaves out the rest of a longer one
    "(GatherND): extent",  # the data's batches are the indices' batches; ONNX Runtime takes more or fewer
    "argument 'max_output_boxes_per_class' has",  # NonMaxSuppression: a scalar; ONNX Runtime takes the first of more
    "target extents for",  # CenterCropPad without axes: there is one for each axis; ONNX Runtime takes fewer
]

# What ONNX Runtime refuses though Tenon need not, and why.
MORE_THAN = [
    "in the Resize operator",  # it has no kernels for outer axes
    "with zero effective input extent",  # Pad by reflection, of nothing: the result is as empty
    "Pad reflect requires axis length",  # the same of one element, which is repeated as NumPy does
    "exceeds maximum allowed",  # Pad by reflection beyond the data, which goes back and forth as NumPy does
    "Unexpected mode of 3",  # Pad by wrapping, of nothing
    "Only N can be zero",  # global pooling of no channels is as empty; of no points, what the reductions give
]

# What says that ONNX Runtime lacked memory, not that the model is wrong.
OF_MEMORY = ["bad_alloc", "Failed to allocate", "bad allocation", "exceeds the supported maximum"]  # the last: of Tile, 4 GiB
MEMORY, SECONDS = 8 << 30, 30  # of ONNX Runtime for a model


class Drawn:
    """What a child made of a seed: the model's folder, its operators, and what ONNX Runtime refuses."""

    def __init__(self, case):
        self.dir, self.style, self.refused = case.dir, case.style, case.refused
        self.ops = [n.op_type for n in case.model.graph.node]


def draw(seed, root):
    """The drawn model, None if there is none, or a text: what killed the child. Models that ONNX Runtime itself dies of are no loss of
    the others."""
    path = os.path.join(root, f"drawn{seed}")
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            signal.alarm(SECONDS)
            case = Case(seed, root)
            with open(path, "wb") as f:
                pickle.dump(Drawn(case) if case.ok and case.write() else None, f)
            status = 0
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status:
        return f"ended with status {status}"
    with open(path, "rb") as f:
        return pickle.load(f)


def environment(a, folder):
    """What tenon runs in. `--cc-flags` stand behind all others that the compiler of kernels is given, so that -O0 wins over Tenon's -O2;
    under AddressSanitizer, an allocation of more than it has is an error of the model, not of Tenon."""
    env = dict(os.environ)
    env["ASAN_OPTIONS"] = ":".join(filter(None, [env.get("ASAN_OPTIONS"), "allocator_may_return_null=1"]))
    if a.cc_flags:
        path = os.path.join(folder, "cc")
        with open(path, "w") as f:
            f.write(f'#!/bin/sh\nexec {env.get("CC") or "cc"} "$@" {a.cc_flags}\n')
        os.chmod(path, 0o755)
        env["CC"] = path
    return env


def check_results(a, root, rtol, atol):
    """Runs all folders; {seed: message} of those that fail, {seed: message} of those skipped."""
    if not os.path.isdir(root):
        return {}, {}
    words = [a.tenon, "onnx-test", root, "-t", a.target, "-j", str(a.jobs), "--batch", "20", "--rtol", rtol, "--atol", atol,
             "--timeout", str(a.timeout), *a.words]
    out = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=a.env, check=False).stdout
    failed, skipped = {}, {}
    for line in out.splitlines():
        m = re.match(r"(FAIL|SKIP) m(\d+): (.*)", line)
        if m and not any(text in m[3] for text in ALLOWED):
            (failed if m[1] == "FAIL" else skipped)[int(m[2])] = m[3]
    if not re.search(r"^\d+ passed, ", out, re.M):
        failed[-1] = "onnx-test did not end: " + out[-500:]
    return failed, skipped


def check_refused(a, case):
    """What ONNX Runtime refuses has to end with status 1 and a message; a list of complaints."""
    bad = []
    for feeds, why in case.refused:
        with tempfile.TemporaryDirectory() as d:
            words = [a.tenon, "run", os.path.join(case.dir, "model.onnx"), "-t", a.target, *a.words]
            for i, (n, v) in enumerate(feeds.items()):
                np.save(os.path.join(d, f"{i}.npy"), v)
                words += ["-i", f"{n}={d}/{i}.npy"]
            try:
                r = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", timeout=a.timeout,
                                   env=a.env, check=False)
            except subprocess.TimeoutExpired:
                bad.append(f"refused by ONNX Runtime, hangs: {why}")
                continue
            if r.returncode == 0:
                bad.append(f"ran, but ONNX Runtime refuses: {why}")
            elif r.returncode != 1 or not r.stderr.strip() or re.search("Sanitizer|: runtime error: ", r.stderr):
                bad.append(f"exit status {r.returncode}: {r.stderr[-300:]}")
    return bad


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--tenon", required=True, help="the program")
    p.add_argument("-t", "--target", default="cpu")
    p.add_argument("--count", type=int, default=200, help="models")
    p.add_argument("--seed", type=int, default=1, help="of the first model; the others follow")
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--timeout", type=int, default=120, help="seconds for a model")
    p.add_argument("--keep", help="folder for the models that fail")
    p.add_argument("--only", help="operators to draw from, with commas")
    p.add_argument("--cc-flags", help="flags for the compiler of kernels, as --cc-flags=-O0: it is most of the time")
    p.add_argument("words", nargs="*", help="further options of tenon, behind --")
    a = p.parse_args()
    a.tenon = os.path.abspath(a.tenon) if os.path.sep in a.tenon else a.tenon
    if a.only:
        NAMES[:] = a.only.split(",")
    with tempfile.TemporaryDirectory(prefix="tenon-differential-cc-") as folder:
        a.env = environment(a, folder)
        return check_all(a)


def check_all(a):
    """Draws the models, a hundred at a time, and compares; the exit status."""
    totals, kinds, done, bad = collections.Counter(), collections.defaultdict(list), 0, 0
    while done < a.count:
        n = min(100, a.count - done)
        with tempfile.TemporaryDirectory(prefix="tenon-differential-") as root:
            cases = {}
            for seed in range(a.seed + done, a.seed + done + n):
                c = draw(seed, root)
                if isinstance(c, Drawn):
                    cases[seed] = c
                    totals.update(c.ops)
                elif c:
                    totals["lost"] += 1
                    print(f"LOST {seed}: ONNX Runtime {c}", flush=True)
            failed, skipped = check_results(a, os.path.join(root, "wide"), "1e-3", "1e-4")
            for known, more in zip((failed, skipped), check_results(a, os.path.join(root, "narrow"), "2e-2", "1e-2")):
                known.update(more)
            for seed, c in cases.items():
                if seed not in skipped and seed not in failed:
                    for text in check_refused(a, c):
                        failed[seed] = text
                totals["refusals"] += len(c.refused)
                if any(re.search(text, failed.get(seed, "")) and re.search(ops, " ".join(c.ops)) for text, ops in OTHER):
                    del failed[seed]
            totals["models"] += len(cases)
            totals["skipped"] += len(skipped)
            for said, found in (("FAIL", failed), ("SKIP", skipped)):
                for seed, text in sorted(found.items()):
                    kinds[said, signature(text)].append(seed)
                    about = f"[{' '.join(cases[seed].ops)}; {cases[seed].style}]" if seed in cases else ""
                    print(f"{said} {seed}: {text[:700]}  {about}", flush=True)
                    if a.keep and seed in cases:
                        shutil.copytree(cases[seed].dir, os.path.join(a.keep, f"m{seed:07}"), dirs_exist_ok=True)
        done += n
        bad = sum(len(s) for (said, _), s in kinds.items() if said == "FAIL")
        print(f"{done} seeds: {totals['models']} models, {totals['models'] - bad - totals['skipped']} passed, {bad} failed, "
              f"{totals['skipped']} skipped, {totals['lost']} lost, {totals['refusals']} refusals", flush=True)
    seen = sum(1 for n in OPERATORS if totals[n])
    for (said, text), seeds in sorted(kinds.items(), key=lambda e: -len(e[1])):
        print(f"{len(seeds):6} {said} {text}  (as {seeds[:4]})")
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
    print(f"{totals['models']} models of {seen} operators, {totals['refusals']} refusals, {totals['skipped']} skipped, {totals['lost']} lost, "
          f"{bad} failed; at most {most} MB")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
