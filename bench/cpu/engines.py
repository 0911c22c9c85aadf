# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime and OpenVINO, each in a process of its own, which this file is when it is run:

    engines.py ENGINE MODEL.onnx FEEDS.npz THREADS SECONDS     a JSON object with load_ms, min_ms, ..., peak_bytes

Inputs and outputs are bound once, so that a run does not pay for the way through Python. Peak memory is what the process
took above what it had before the model was read: the interpreter and the libraries do not count.
"""
import importlib.util
import json
import subprocess
import sys
import time

import numpy as np

from tenon import Failed, first_line

NAMES = {"onnxruntime": "ONNX Runtime", "openvino": "OpenVINO"}


def available():
    return [e for e in NAMES if importlib.util.find_spec(e)]


def versions():
    out = {}
    for e in available():
        out[e] = __import__(e).__version__.split("-")[0]
    return out


def onnxruntime_session(path, threads):
    import onnxruntime as ort
    o = ort.SessionOptions()
    o.intra_op_num_threads = threads
    o.inter_op_num_threads = 1
    o.log_severity_level = 3
    return ort.InferenceSession(path, o, providers=["CPUExecutionProvider"])


def start_onnxruntime(path, feeds, threads):
    session = onnxruntime_session(path, threads)
    bound = session.io_binding()
    for name, value in feeds.items():
        bound.bind_cpu_input(name, value)
    for o in session.get_outputs():
        bound.bind_output(o.name)
    return lambda: session.run_with_iobinding(bound)


def start_openvino(path, feeds, threads):
    import openvino as ov
    how = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY",
           "INFERENCE_PRECISION_HINT": "f32"}
    request = ov.Core().compile_model(path, "CPU", how).create_infer_request()
    for name, value in feeds.items():
        request.set_tensor(name, ov.Tensor(np.ascontiguousarray(value)))

    def run():
        request.start_async()
        request.wait()
    return run


def memory():
    """Peak and present bytes of this process, not what its parent had before it was started."""
    with open("/proc/self/status", encoding="ascii") as f:
        lines = dict(line.split(":", 1) for line in f)
    return [int(lines[key].split()[0]) * 1024 for key in ("VmHWM", "VmRSS")]


def time_runs(run, seconds):
    """Milliseconds of each of several runs after one or two that do not count."""
    t = time.perf_counter()
    run()
    if time.perf_counter() - t < seconds / 4:
        run()
    out, until = [], time.perf_counter() + seconds
    while not out or time.perf_counter() < until:
        t = time.perf_counter()
        run()
        out.append(1e3 * (time.perf_counter() - t))
    return out


def main(engine, path, feeds, threads, seconds):
    start = {"onnxruntime": start_onnxruntime, "openvino": start_openvino}[engine]
    __import__(engine)
    feeds = dict(np.load(feeds))
    before = memory()[1]
    t = time.perf_counter()
    run = start(path, feeds, int(threads))
    load = 1e3 * (time.perf_counter() - t)
    times = time_runs(run, float(seconds))
    peak = memory()[0] - before
    print(json.dumps({"load_ms": load, "min_ms": min(times), "median_ms": sorted(times)[len(times) // 2],
                      "runs": len(times), "peak_bytes": peak}))


def measure(engine, path, feeds, threads, seconds):
    r = subprocess.run([sys.executable, "-B", __file__, engine, path, feeds, str(threads), str(seconds)],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if r.returncode:
        raise Failed(f"{NAMES[engine]}: {first_line(r.stderr)}")
    return json.loads(r.stdout.strip().splitlines()[-1])


def computer(path):
    """A function from feeds to what ONNX Runtime computes. Failed when it refuses."""
    try:
        session = onnxruntime_session(path, 1)
    except Exception as e:  # its exceptions have no common class
        raise Failed(f"ONNX Runtime: {str(e).splitlines()[0]}") from e

    def run(feeds):
        try:
            return session.run(None, feeds)
        except Exception as e:
            raise Failed(f"ONNX Runtime: {str(e).splitlines()[0]}") from e
    return run


if __name__ == "__main__":
    main(*sys.argv[1:])
