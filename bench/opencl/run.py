#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kernels on an OpenCL device: compared with NumPy first, then timed beside PyTorch on the same device and beside what
the device can do. See README.md.

    bench/opencl/run.py --tenon build/tools/tenon --out bench/results/opencl-2026-11-22.txt
"""
import argparse
import datetime
import fnmatch
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cpu"))
from kernels import kernels  # noqa: E402
from tenon import Failed, Tenon, spawn  # noqa: E402


class OpenCL(Tenon):
    """The program, compiling for the first OpenCL device."""

    def __init__(self, path, cache, words):
        super().__init__(path, cache, "native")
        self.settings = ["-t", "opencl", "--set", f"tenon.cache_dir={cache}", *words]

    def device(self):
        lines = spawn([self.path, "list", "devices"], self.env).splitlines()
        at = next(i for i, line in enumerate(lines) if line.startswith("opencl "))
        return lines[at + 1].split(":", 1)[1].strip()

    def milliseconds(self, tno, inputs, seconds):
        """The kernels' time of the fastest run, by the device's own clock."""
        r = self.bench(tno, 1, inputs, seconds, None, True)
        return sum(k["ms"] for k in r["kernels"])


class Torch:
    """PyTorch on the device, where it is installed and sees one."""

    def __init__(self):
        import torch
        self.torch = torch
        if not torch.cuda.is_available():
            raise ImportError("PyTorch sees no GPU")
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        torch.backends.cudnn.benchmark = True
        p = torch.cuda.get_device_properties(0)
        clock = subprocess.run(["nvidia-smi", "--query-gpu=clocks.max.sm", "--format=csv,noheader,nounits"],
                               stdout=subprocess.PIPE, text=True, check=False).stdout.split()
        # Lanes of float32 a multiprocessor: 128 since compute capability 8.6, and in 9.0.
        lanes = 64 if (p.major, p.minor) in ((7, 0), (7, 5), (8, 0)) else 128
        self.flops = 2 * lanes * p.multi_processor_count * float(clock[0]) * 1e6 if clock else None

    def time(self, run):
        """Milliseconds of one of many runs behind each other."""
        t = self.torch.cuda
        for _ in range(5):
            run()
        best = float("inf")
        for _ in range(5):
            start, end = t.Event(enable_timing=True), t.Event(enable_timing=True)
            t.synchronize()
            start.record()
            for _ in range(20):
                run()
            end.record()
            t.synchronize()
            best = min(best, start.elapsed_time(end) / 20)
        return best

    def copy_bandwidth(self):
        """Bytes a second, read and written, of a copy within the device."""
        x = self.torch.empty(1 << 28, dtype=self.torch.float32, device="cuda")
        y = self.torch.empty_like(x)
        return 2 * 4 * (1 << 28) / (self.time(lambda: y.copy_(x)) * 1e-3)

    def function(self, k):
        """The kernel as a call of PyTorch; None where one call (or a short chain) says nothing comparable."""
        torch, f = self.torch, self.torch.nn.functional
        v = {n: torch.rand(s, device="cuda") * 2 - 1 for n, s in k.shapes.items()}
        x, w, b = (v.get(n) for n in "xwb")
        if k.kind == "matmul":
            return lambda: torch.mm(x, w)
        if k.kind == "gemv":
            t = w.t() if k.name.endswith("transposed") else w
            return lambda: torch.mm(x, t)
        if k.kind == "conv":
            stride = int(k.name.split("/")[1].split()[0])
            bias, pad = b.reshape(-1), w.shape[2] // 2
            return lambda: f.relu_(f.conv2d(x, w, bias, stride, pad))
        half = v.get("z")
        return {
            "relu": lambda: f.relu(x), "add": lambda: x + half, "sigmoid times": lambda: f.silu(x),
            "gelu erf": lambda: f.gelu(x), "gelu tanh": lambda: f.gelu(x, approximate="tanh"),
            "softmax 1024": lambda: f.softmax(x, -1), "softmax 128": lambda: f.softmax(x, -1),
            "layer norm 768": lambda: f.layer_norm(x, (768,), v["g"], b, 1e-5),
            "rms norm 4096": lambda: f.rms_norm(x, (4096,), v["g"], 1e-5),
            "sum of rows": lambda: x.sum(1), "mean over middle": lambda: x.mean(1), "mean of images": lambda: x.mean((2, 3)),
            "argmax of rows": lambda: x.argmax(1), "argmax over middle": lambda: x.argmax(1),
            "transpose": lambda: x.t().contiguous(), "transpose NCHW to NHWC": lambda: x.permute(0, 2, 3, 1).contiguous(),
            "transpose heads": lambda: x.permute(0, 2, 1, 3).contiguous(),
        }.get(k.name)


def line_of(k, ms, torch, bandwidth):
    """One line of the table."""
    per_second = (k.flops or k.bytes) / (ms * 1e-3)
    best = (torch.flops if torch else None) if k.flops else bandwidth
    share = f"{100 * per_second / best:5.1f}%" if best else "     -"
    run = torch.function(k) if torch else None
    other = torch.time(run) if run else None
    ratio = f"{other:10.4f} {other / ms:6.2f}" if other else f"{'-':>10} {'-':>6}"
    unit = f"{per_second * 1e-12:8.2f} Tflop/s" if k.flops else f"{per_second * 1e-9:8.1f} GB/s   "
    return f"{k.name:32} {ms:10.4f} {unit} {share} {ratio}"


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--tenon", default="tenon", help="the program")
    p.add_argument("--only", default="*", help="kernels whose names match, as 'conv*'")
    p.add_argument("--seconds", type=float, default=0.3, help="time to measure each kernel")
    p.add_argument("--set", action="append", default=[], help="a setting for the compiler, as of tenon --set")
    p.add_argument("--work", help="folder of modules and inputs (default: a scratch one)")
    p.add_argument("--out", help="also write the table to this file")
    a = p.parse_args()
    work = a.work or tempfile.mkdtemp(prefix="tenon-bench-opencl-")
    tenon = OpenCL(a.tenon, os.path.join(work, "cache"), [w for s in a.set for w in ("--set", s)])
    try:
        torch, why = Torch(), None
    except (ImportError, OSError) as e:
        torch, why = None, str(e)
    bandwidth = torch.copy_bandwidth() if torch else None
    lines = [f"date {datetime.date.today()}", f"device {tenon.device()}", tenon.version(),
             "command: bench/opencl/run.py " + " ".join(w for w in sys.argv[1:] if "/" not in w)]
    if torch:
        lines.append(f"PyTorch {torch.torch.__version__}, float32 without TF32; a copy within the device moves {bandwidth * 1e-9:.0f} GB/s"
                     + (f"; multiply-adds at most {torch.flops * 1e-12:.1f} Tflop/s" if torch.flops else ""))
    else:
        lines.append(f"without PyTorch: {why}")
    lines += ["", f"{'kernel':32} {'ms':>10} {'':16} {'limit':>6} {'PyTorch':>10} {'ratio':>6}"]
    print("\n".join(lines), flush=True)
    failed = 0
    for k in kernels():
        if not fnmatch.fnmatch(k.name, a.only):
            continue
        try:
            k.prepare(tenon, work)
            line = line_of(k, tenon.milliseconds(k.artifact(work), k.inputs(work), a.seconds), torch, bandwidth)
        except Failed as e:
            line, failed = f"{k.name:32} failed: {e}", failed + 1
        print(line, flush=True)
        lines.append(line)
    if a.out:
        with open(a.out, "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
