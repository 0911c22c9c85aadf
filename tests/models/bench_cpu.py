#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The parts of bench/cpu that need no network: what the machine can do, one small kernel of each form from its
module to its line in the table, that a wrong result is not measured, and the tables and the chart of small records."""
import os
import sys
import xml.etree.ElementTree

try:
    import numpy as np
except ImportError:  # another Python of this machine may have it
    if sys.executable == "/usr/bin/python3" or not os.path.exists("/usr/bin/python3"):
        print("no Python with NumPy (Debian: python3-numpy): skipped")
        sys.exit(77)
    os.execv("/usr/bin/python3", ["/usr/bin/python3"] + sys.argv)

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "bench", "cpu"))
from clitest import TENON, WORK, check, done  # noqa: E402
import chart  # noqa: E402
import kernels  # noqa: E402
import machine  # noqa: E402
import report  # noqa: E402
from records import Records  # noqa: E402
from tenon import Failed, Tenon  # noqa: E402


def figures():
    """A processor core of the last decades does 0.1 to 1000 Gflop/s and moves 0.1 to 1000 GB/s."""
    program = machine.build(WORK)
    p = machine.measure(program, 1, mebibytes=4, seconds=0.02)
    for name in ("fma_flops", "read_bytes", "copy_bytes", "triad_bytes"):
        check(1e8 < p[name] < 1e12, f"machine: {name} is {p[name]:.3g}")
    check(p["threads"] == 1 and p["vector_bytes"] in (16, 32, 64), "machine: threads and width of vectors")
    both = machine.better(p, dict(p, fma_flops=2 * p["fma_flops"], read_bytes=1))
    check(both["fma_flops"] == 2 * p["fma_flops"] and both["read_bytes"] == p["read_bytes"], "the better figures")
    return p


def small_kernels(peak):
    tenon = Tenon(TENON, os.path.join(WORK, "cache"), "native")
    shapes = {"x": (6, 40), "g": (40,)}
    for k in (kernels.matmul(24, False), kernels.matmul(24, True), kernels.gemv(48, 40, False),
              kernels.gemv(48, 40, True), kernels.conv(3, 8, 3, 2, 9), kernels.conv(8, 16, 1, 1, 5),
              kernels.stream("rms", shapes, ["y = R.nn.rms_norm(x, g, axes=[-1], epsilon=1e-5)"], kernels.rms_norm)):
        try:
            k.prepare(tenon, WORK)
            r = k.measure(tenon, WORK, 1, 2, 0.01, peak)
        except Failed as e:
            check(False, f"{k.name}: {e}")
            continue
        line = report.kernel_line(k.name, "1", r, peak)
        check(len(r["ms"]) == 2 and 0 < min(r["ms"]) <= min(r["whole_ms"]) * 1.5 and k.name in line, line)
    # in the process that is measured: the results of another kernel, and none
    k, other = kernels.matmul(24, False), kernels.gemv(48, 40, False)
    for want, said in (other.expected(WORK)[0], "differs"), ([], "not compared"):
        try:
            tenon.bench(k.artifact(WORK), 1, k.inputs(WORK), want, 1e-3, 1e-3, runs=2)
            check(False, f"a measurement whose results are {said} fails")
        except Failed as e:
            check(said in str(e), f"a measurement whose results are {said} fails: {e}")
    wrong = kernels.stream("wrong", shapes, ["y = R.nn.rms_norm(x, g, axes=[-1], epsilon=1e-5)"],
                           lambda x, g: kernels.rms_norm(x, g) + 0.01)
    try:
        wrong.prepare(tenon, WORK)
        check(False, "a wrong result is found out")
    except Failed as e:
        check("differs" in str(e) and not os.path.exists(wrong.artifact(WORK)), f"a wrong result is found out: {e}")


def formulas():
    """What NumPy is asked, against loops."""
    x = np.arange(50, dtype=np.float32).reshape(1, 2, 5, 5) - 20
    w = np.sin(np.arange(36, dtype=np.float32)).reshape(2, 2, 3, 3)
    y = kernels.convolve(x, w, np.zeros((1, 2, 1, 1), np.float32), 2, 1)
    p = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    want = [[[max(0, float((p[0, :, 2 * i:2 * i + 3, 2 * j:2 * j + 3] * w[f]).sum())) for j in range(3)]
             for i in range(3)] for f in range(2)]
    check(np.allclose(y[0], want, rtol=1e-4, atol=1e-3), "convolve")
    check(abs(float(kernels.erf(0.5)) - 0.5204998778) < 1e-7, "erf")
    names = [k.name for k in kernels.kernels()]
    check(len(set(names)) == len(names) and sum(k.kind == "conv" for k in kernels.kernels()) == 23, "kernels have names of their own")


def rounds(*pairs):
    return [{"onnxruntime": {"min_ms": a, "load_ms": 20, "peak_bytes": 100 << 20},
             "tenon": {"min_ms": b, "load_ms": 2, "peak_bytes": 130 << 20}} for a, b in pairs]


def tables():
    """Ratios are of the best times; what is below the limit is named; failures count; the chart has every bar."""
    peak = {"vector_bytes": 32, "fma_flops": 1e11, "read_bytes": 1e10, "copy_bytes": 1e10, "triad_bytes": 2e10}
    known = {
        "machine": {"1": peak},
        "models": {"light_resnet50": {"1": {"1": rounds((20, 12), (30, 10), (25, 11)), "2": rounds((6, 12))},
                                      "8": {"skipped": "no batch of 8"}},
                   "<broken>": {"1": {"failed": "differs"}}},
        "transformers": {"bert-128": {"1": {"1": rounds((8, 10))}}},
        "startup": {"squeezenet": {"cold_ms": [2000, 2100], "warm_ms": [31, 32]}},
        "kernels": {"a matmul": {"1": {"kind": "matmul", "flops": 1e9, "bytes": 0, "ms": [20, 12.5], "whole_ms": [20, 12.5]}},
                    "a sum": {"1": {"kind": "stream", "flops": 0, "bytes": 1e8, "ms": [10], "whole_ms": [10]}}},
    }
    file = os.path.join(WORK, "records.json")
    kept = Records(file)
    for key, value in known.items():
        kept.put(value, key)
    kept = Records(file).all
    text = report.table(kept)
    for line in ("of 2 to ONNX Runtime, worst 0.50", "geometric mean, all: 1.000", "light_resnet50 (batch 1, 2 threads) 0.50",
                 "below 0.9: bert-128 (batch 1, 1 threads) 0.80", "skipped: no batch of 8", "failed: differs",
                 "limit 3000  ok", "limit 30  ABOVE", "1.30 times; limit 1.2  ABOVE", "2 kernels, 1 below"):
        check(line in text, f"table: {line}")
    check(report.failures(kept) == ["<broken>"], "the model that failed")
    matmul = next(line for line in text.splitlines() if line.startswith("a matmul"))
    check(" 50.0  80.0 " in matmul and matmul.endswith("ok"), "table: " + matmul)
    root = xml.etree.ElementTree.fromstring(chart.svg(kept))
    bars = [e for e in root.iter("{http://www.w3.org/2000/svg}rect") if e.get("height") == str(chart.BAR - 1)]
    widths = sorted(round(float(e.get("width")) / chart.WIDE, 3) for e in bars)
    check(widths == [0.25, 0.4, 0.417, 0.667, 1.0], f"chart: bars of {widths}")


def main():
    formulas()
    tables()
    small_kernels(figures())
    done()


main()
