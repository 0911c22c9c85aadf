# SPDX-License-Identifier: Apache-2.0
"""How soon a model answers: a cold compilation without any cache, and a process that loads an artifact, runs it once and
writes the answer."""
import os
import tempfile
import time

COLD_MS, WARM_MS = 3000, 30  # wanted at most, on two cores


def measure(tenon, onnx, tno, inputs, repeat):
    """Milliseconds of each repetition: {"cold_ms": [...], "warm_ms": [...]}."""
    out = {"cold_ms": [], "warm_ms": []}
    with tempfile.TemporaryDirectory() as work:
        for _ in range(repeat):
            start = time.perf_counter()
            tenon.compile(onnx, os.path.join(work, "cold.tno"), "--no-cache")
            out["cold_ms"].append(1e3 * (time.perf_counter() - start))
        for k in range(repeat):
            best = None
            for _ in range(5):
                start = time.perf_counter()
                tenon.run(tno, inputs, "-o", os.path.join(work, str(k)))
                took = 1e3 * (time.perf_counter() - start)
                best = took if best is None else min(best, took)
            out["warm_ms"].append(best)
    return out
