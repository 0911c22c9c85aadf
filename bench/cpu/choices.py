# SPDX-License-Identifier: Apache-2.0
"""What `tenon bench` chooses by itself beside what may be asked of it: no option, --mcpu x86-64-v3, --mcpu native, and native with
vectors of 32 bytes. By itself it may be LIMIT slower than the fastest of the others, not more."""
import json

from tenon import spawn

LIMIT = 1.03
CHOICES = {"default": [], "x86-64-v3": ["--mcpu", "x86-64-v3"], "native": ["--mcpu", "native"],
           "native, 32 bytes": ["--mcpu", "native", "--set", "target.cpu.vector_bytes=32"]}


def bench(tenon, cache, model, work, threads, seconds, words):
    """Milliseconds of the fastest run. Failed unless the results are those that ONNX Runtime gives."""
    files, rtol, atol = model.expected(work)
    out = spawn([tenon.path, "bench", model.path(work, "model.onnx"), "--json", "-q", "--set", f"tenon.cache_dir={cache}",
                 "--threads", str(threads), "--seconds", str(seconds), "--rtol", str(rtol), "--atol", str(atol),
                 *(w for i in model.inputs(work) for w in ("-i", i)),
                 *(w for k, e in enumerate(files) for w in ("--expect", f"#{k}={e}")), *words], tenon.env)
    return json.loads(out)["min_ms"]


def measure(tenon, cache, model, work, threads, seconds, repeat):
    """{choice: milliseconds of each round}. Rounds are added where the default seems slower: it may be the machine."""
    times = {c: [] for c in CHOICES}
    for i in range(3 * repeat):
        if i >= repeat and slowdown(times) <= LIMIT:
            break
        for c, words in CHOICES.items():
            times[c].append(bench(tenon, cache, model, work, threads, seconds, words))
    return times


def slowdown(times):
    """How many times as long as the fastest of the others the default takes."""
    return min(times["default"]) / min(min(t) for c, t in times.items() if c != "default")


def prepare(tenon, cache, model, work):
    """Compiles the kernels of each choice, which are kept in the cache."""
    for words in CHOICES.values():
        bench(tenon, cache, model, work, 1, 0.001, words)


def lines(records):
    """The table."""
    found = records.get("choices", {})
    out = [f"{'ms, choice by':40} {'th':>2} " + " ".join(f"{c:>16}" for c in CHOICES) + "  default / fastest of the others"]
    slow = []
    for name, by_threads in sorted(found.items()):
        for t, r in sorted(by_threads.items()):
            if "failed" in r:
                out.append(f"{name:40} {t:>2} failed: {r['failed']}")
                continue
            ratio = slowdown(r["ms"])
            out.append(f"{name:40} {t:>2} " + " ".join(f"{min(r['ms'][c]):16.4f}" for c in CHOICES) + f"  {ratio:.3f}")
            if ratio > LIMIT:
                slow.append(f"{name} ({t} threads) {ratio:.3f}")
    return out + [f"more than {LIMIT} times the fastest: " + (", ".join(slow) if slow else "none")]


def failures(records):
    return [name for name, by in records.get("choices", {}).items()
            if any("failed" in r or slowdown(r["ms"]) > LIMIT for r in by.values())]
