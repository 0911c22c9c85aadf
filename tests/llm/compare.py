# SPDX-License-Identifier: Apache-2.0
"""Compiles a checkpoint and compares its logits with a reference's, by every way of giving it its tokens (logits.c)."""
import json
import os
import subprocess

import numpy as np
from clitest import BUILD, check, path, tenon

TARGET = os.environ.get("LLM_TARGET", "cpu")
# blocks are multiplied by activations as they are, so that results are those of the reference
FLOATS = json.dumps({"kind": "cpu", "block_activations": "float32"}) if TARGET == "cpu" else TARGET
ONLY = os.environ.get("LLM_ONLY", "")  # a part of the names of those that are compared
WAYS = ("once", "steps", "chunks", "batch", "again", "mixed")


def run(file, way, ids, vocab):
    out = path("logits.bin")
    r = subprocess.run([os.path.join(BUILD, "tests/llm/logits"), file, out, way, *map(str, ids)], capture_output=True, text=True,
                       timeout=300)
    return r, np.fromfile(out, np.float32).reshape(len(ids), vocab) if r.returncode == 0 else None


def compare(name, source, ids, want, ways=WAYS, mutations=(), options=(), target=FLOATS, tolerance=1e-3):
    """`options`: of `tenon compile`. `mutations`: what else a wrong importer would compute, as (what, logits); it has to differ by more than the tolerance."""
    if ONLY not in name:
        return
    file = path("model.tno")
    r = tenon("compile", source, "-t", target, "-o", file, *options)
    check(r.returncode == 0, f"{name}: compiles", r)
    if r.returncode:
        return
    limit = tolerance * want.std()
    check(want.std() > 1, f"{name}: the logits spread by {want.std():.2f}")
    for way in ways:
        r, got = run(file, way, ids, want.shape[1])
        check(r.returncode == 0, f"{name}, {way}: runs", r)
        if r.returncode:
            continue
        known = ~np.isnan(got[:, 0])
        worst = np.abs(got - want)[known].max(initial=0)
        check(known.sum() >= (len(ids) // 3 if way == "chunks" else len(ids)) and worst < limit,
              f"{name}, {way}: within {worst / want.std():.1e} of the reference")
        for what, other in mutations:
            check(np.abs(got - other)[known].max() > limit, f"{name}, {way}: {what} would be seen")
