#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the bundle for a machine with a GPU: README.md.

    bench/gpu/bundle.py --build build --arch 90 --out gpu.tar.xz
"""
import argparse
import glob
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
MOST = 60 << 20
# Compiled here: kernels of opencl are source. Those of gpu_generic are compiled there, for what the device has: this needs passes, no compiler.
TARGETS = "cuda", "opencl"
PLUGINS = ("cuda_rt", "opencl_rt", "gpu_generic_rt", "interp", "cpu_rt", "gpu_generic", "checkpoint", "cpu", "ops", "tir", "transform", "llm")
PROBES = "opencl_probe", "gpu_generic_probe"
SYSTEM = "libc.so", "libm.so", "libpthread.so", "libdl.so", "librt.so", "ld-linux"
# A device that multiplies matrices of float16, as NVIDIA's do: their feature is off in gpu_generic:auto.
MATRICES = {"kind": "vulkan", "max_threads_per_block": 1024, "max_shared_memory_per_block": 49152, "max_push_constants_size": 256, "thread_warp_size": 32,
            "supports_float16": True, "supports_float64": True, "supports_int8": True, "supports_int16": True, "supports_int64": False,
            "supports_16bit_buffer": True, "supports_8bit_buffer": True, "supports_buffer_device_address": True}
SPARE = "libOpenCL.so", "libvulkan.so", "libstdc++.so", "libgcc_s.so"  # used where the machine has none: what is there may be newer

MODULE = """\
@I.ir_module
class Module:
    @R.function
    def main({inputs}):
        with R.dataflow():
            {bindings}
            R.output(y)
        return y
"""


class Case:
    """A kernel: shapes for the check and for times, from the same letters; bytes and operations of the latter; what PyTorch calls it; with
    `matrices`, as 16x16x16, only for gpu_generic's devices that multiply these."""

    def __init__(self, name, dtype, inputs, expression, peer, small, large, work, tolerance=(1e-5, 1e-5), unit="float32", matrices=None):
        self.matrices = matrices
        self.name, self.dtype, self.inputs, self.expression, self.small, self.large = name, dtype, inputs, expression, small, large
        self.peer, self.work, self.tolerance, self.unit = peer, work, tolerance, unit

    def shapes(self, sizes):
        return [tuple(int(d) for d in s.format(**sizes).split(",") if d.strip()) for s in self.inputs]

    def text(self, sizes, exact):
        """`exact`: computed in float64, rounded at the end."""
        names = [chr(ord("a") + k) for k in range(len(self.inputs))]
        shapes = [s.format(**sizes) for s in self.inputs]
        value = self.expression.format(**sizes)
        bindings = [f"y = {value}"]
        if exact:
            bindings = [f'{n} = R.astype({n}_, "float64")' for n in names] + [f"t = {value}", f'y = R.astype(t, "{self.dtype}")']
        under = "_" if exact else ""
        return MODULE.format(inputs=", ".join(f'{n}{under}: R.Tensor(({s}), "{self.dtype}")' for n, s in zip(names, shapes)),
                             bindings="\n            ".join(bindings))


HALF = (2e-3, 2e-3)
CASES = [
    Case("element-wise", "float32", ("{n},",), "R.add(R.multiply(a, a), a)", "torch.addcmul(a, a, a)", {"n": 5000}, {"n": 1 << 26},
         lambda n: (8 * n, 2 * n)),
    Case("element-wise-fp16", "float16", ("{n},",), "R.nn.silu(a)", "F.silu(a)", {"n": 5000}, {"n": 1 << 27}, lambda n: (4 * n, 0), HALF),
    Case("softmax", "float32", ("{n}, {m}",), "R.nn.softmax(a, axis=1)", "F.softmax(a, 1)", {"n": 9, "m": 700}, {"n": 16384, "m": 2048},
         lambda n, m: (8 * n * m, 0)),
    Case("rms-norm-fp16", "float16", ("{n}, {m}", "{m},"), "R.nn.rms_norm(a, b, axes=[-1])", "F.rms_norm(a, b.shape, b, 1e-5)",
         {"n": 5, "m": 512}, {"n": 16384, "m": 4096}, lambda n, m: (4 * n * m, 0), HALF),
    Case("layer-norm", "float32", ("{n}, {m}", "{m},", "{m},"), "R.nn.layer_norm(a, b, c, axes=[-1])", "F.layer_norm(a, b.shape, b, c)",
         {"n": 5, "m": 512}, {"n": 16384, "m": 2048}, lambda n, m: (8 * n * m, 0), (1e-4, 1e-4)),
    Case("sum-of-rows", "float32", ("{n}, {m}",), "R.sum(a, axis=1)", "a.sum(1)", {"n": 33, "m": 777}, {"n": 16384, "m": 4096},
         lambda n, m: (4 * n * m, 0), (1e-5, 1e-4)),
    Case("sum-of-columns", "float32", ("{n}, {m}",), "R.sum(a, axis=0)", "a.sum(0)", {"n": 77, "m": 333}, {"n": 16384, "m": 4096},
         lambda n, m: (4 * n * m, 0), (1e-5, 1e-4)),
    Case("transpose", "float32", ("{n}, {m}",), "R.permute_dims(a)", "a.t().contiguous()", {"n": 65, "m": 130}, {"n": 8192, "m": 8192},
         lambda n, m: (8 * n * m, 0)),
    Case("row-by-matrix-fp16", "float16", ("1, {k}", "{k}, {n}"), "R.matmul(a, b)", "a @ b", {"k": 512, "n": 300}, {"k": 8192, "n": 28672},
         lambda k, n: (2 * k * n, 0), HALF),
    Case("row-by-rows-fp16", "float16", ("1, {k}", "{n}, {k}"), "R.matmul(a, R.permute_dims(b))", "a @ b.t()", {"k": 512, "n": 300},
         {"k": 8192, "n": 28672}, lambda k, n: (2 * k * n, 0), HALF),
    Case("matmul", "float32", ("{m}, {k}", "{k}, {n}"), "R.matmul(a, b)", "a @ b", {"m": 65, "k": 96, "n": 130}, {"m": 4096, "k": 4096, "n": 4096},
         lambda m, k, n: (4 * (m * k + k * n + m * n), 2 * m * n * k), (1e-4, 1e-3)),
    Case("matmul-fp16", "float16", ("{m}, {k}", "{k}, {n}"), "R.matmul(a, b)", "a @ b", {"m": 128, "k": 128, "n": 128},
         {"m": 4096, "k": 4096, "n": 4096}, lambda m, k, n: (2 * (m * k + k * n + m * n), 2 * m * n * k), HALF, "matrix"),
    Case("matmul-fp16-matrices", "float16", ("{m}, {k}", "{k}, {n}"), "R.matmul(a, b)", "a @ b", {"m": 128, "k": 128, "n": 128},
         {"m": 4096, "k": 4096, "n": 4096}, lambda m, k, n: (2 * (m * k + k * n + m * n), 2 * m * n * k), HALF, "matrix", "16x16x16"),
    Case("conv2d", "float32", ("1, {c}, {n}, {n}", "{k}, {c}, 3, 3"), "R.nn.conv2d(a, b, padding=[1, 1, 1, 1])", "F.conv2d(a, b, padding=1)",
         {"c": 8, "k": 12, "n": 14}, {"c": 256, "k": 256, "n": 128}, lambda c, k, n: (4 * (c * n * n + k * n * n), 18 * c * k * n * n), (1e-4, 1e-3)),
    Case("sort", "float32", ("{n}, {m}",), "R.sort(a, axis=1)", "torch.sort(a, 1)", {"n": 5, "m": 300}, {"n": 256, "m": 4096},
         lambda n, m: (8 * n * m, 0)),
]


def write_npy(file, dtype, shape, values):
    kind = {"float32": ("<f4", "f"), "float16": ("<f2", "e")}[dtype]
    head = f"{{'descr': '{kind[0]}', 'fortran_order': False, 'shape': {shape}, }}"
    head = head.ljust((len(head) + 1 + 10 + 63) // 64 * 64 - 11) + "\n"
    with open(file, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack(f"<{len(values)}{kind[1]}", *values))


class Bundle:
    def __init__(self, build, source, arch, folder):
        self.build, self.source, self.arch, self.folder = build, source, arch, folder
        self.env = {"TENON_PLUGIN_PATH": os.path.join(build, "plugins-stage"), "TENON_SYSCONFDIR": os.path.join(source, "conf"),
                    "TENON_DATADIR": os.path.join(source, "conf", "data"), **os.environ}

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def tenon(self, *args, target):
        r = subprocess.run([os.path.join(self.build, "tools", "tenon"), *args, "-t", target], env=self.env, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, check=False)
        if r.returncode != 0:
            sys.exit(f"bundle: tenon {' '.join(args)}: {r.stderr.strip()}")

    def case(self, c):
        folder = self.path("cases", c.name)
        os.makedirs(folder)
        draw = random.Random(c.name)
        given = []
        for k, shape in enumerate(c.shapes(c.small)):
            n = 1
            for d in shape:
                n *= d
            file = os.path.join(folder, f"in{k}.npy")
            write_npy(file, c.dtype, shape, [draw.uniform(-1, 1) for _ in range(n)])
            given += ["-i", f"#{k}={file}"]
        with tempfile.TemporaryDirectory() as work:
            texts = {}
            for what, sizes, exact in (("check", c.small, False), ("time", c.large, False), ("exact", c.small, True)):
                texts[what] = os.path.join(work if exact else folder, what + ".py")
                with open(texts[what], "w", encoding="utf-8") as f:
                    f.write(c.text(sizes, exact))
            kinds = {"gpu_generic": json.dumps(dict(MATRICES, cooperative_matrix=c.matrices))} if c.matrices else {t: t for t in TARGETS}
            for target, kind in kinds.items():
                os.makedirs(os.path.join(folder, target))
                for what in ("check", "time"):  # the profile: a product takes in the transposition of its operand
                    self.tenon("compile", "-q", texts[what], "--profile", "llm", "--set", "target.cuda.arch=sm_" + self.arch,
                               "-o", os.path.join(folder, target, what + ".tno"), target=kind)
            if c.matrices:
                with open(os.path.join(folder, "matrices"), "w", encoding="utf-8") as f:
                    f.write(c.matrices + "\n")
            self.tenon("run", "-q", texts["exact"], *given, "-o", work, target="cpu")
            shutil.copy(glob.glob(os.path.join(work, "0-*.npy"))[0], os.path.join(folder, "out.npy"))
        nbytes, operations = c.work(**c.large)
        peer = json.dumps({"expression": c.peer, "dtype": c.dtype, "shapes": c.shapes(c.large)})
        for name, text in (("tolerance", f"--rtol {c.tolerance[0]} --atol {c.tolerance[1]}"), ("work", f"{nbytes} {operations} {c.unit}"),
                           ("peer.json", peer)):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                f.write(text + "\n")

    def binaries(self):
        for d in ("bin", "lib", "plugins", "spare"):
            os.makedirs(self.path(d))
        for name in ("tools/tenon", "tests/cuda/record/record", "bench/gpu/peak"):
            folder, base = os.path.split(name)
            made = os.path.join(self.build, folder, ".libs", base)  # what libtool's script starts
            shutil.copy(made if os.path.exists(made) else os.path.join(self.build, name), self.path("bin", base))
        own = []
        for folder in ("core/base", "core", "kit", "runtime", "lm"):
            own += glob.glob(os.path.join(self.build, folder, ".libs", "*.so.0"))
        for file in own:
            shutil.copy(os.path.realpath(file), self.path("lib", os.path.basename(file)))
        for name in PLUGINS:
            for file in glob.glob(os.path.join(self.build, "plugins-stage", name + ".*")):
                shutil.copy(os.path.realpath(file), self.path("plugins", os.path.basename(file)))
        for name in PROBES:
            shutil.copy(os.path.realpath(os.path.join(self.build, "plugins-stage", name)), self.path("plugins", name))
        env = dict(os.environ, LD_LIBRARY_PATH=self.path("lib"))
        for file in [self.path("bin", "tenon")] + glob.glob(self.path("plugins", "*.so")):
            for line in subprocess.run(["ldd", file], env=env, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines():
                words = line.split()
                if len(words) > 2 and words[1] == "=>" and words[2].startswith("/") and not words[0].startswith(SYSTEM):
                    to = self.path("spare" if words[0].startswith(SPARE) else "lib", words[0])
                    if not os.path.exists(to):
                        shutil.copy(words[2], to)
        for line in subprocess.run(["/sbin/ldconfig", "-p"], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines():
            words = line.split()
            if words and words[0] == "libvulkan.so.1" and not os.path.exists(self.path("spare", words[0])):
                shutil.copy(os.path.realpath(words[-1]), self.path("spare", words[0]))
        for file in glob.glob(self.path("bin", "*")) + glob.glob(self.path("lib", "*")) + glob.glob(self.path("plugins", "*.so")):
            subprocess.run(["strip", "--strip-unneeded", file], stderr=subprocess.DEVNULL, check=False)
        shutil.copytree(os.path.join(self.source, "conf"), self.path("conf"))
        for name in ("run", "peer.py"):
            shutil.copy(os.path.join(HERE, name), self.path(name))

    def record(self):
        """What the simulated device says of instructions."""
        sim = os.path.join(self.build, "tests", "cuda", "sim", ".libs")
        r = subprocess.run([self.path("bin", "record"), "-o", self.path("simulated.record")], check=False, stdout=subprocess.PIPE,
                           env=dict(os.environ, CUDASIM_ARCH=self.arch[:2], LD_LIBRARY_PATH=":".join((sim, self.path("lib"), self.env.get("LD_LIBRARY_PATH", "")))))
        if r.returncode != 0:
            sys.exit("bundle: the simulated device does not run all forms")


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--build", required=True, help="where `make check TESTS=` ran")
    p.add_argument("--arch", default="90", help="of the GPU, as 80, 90a")
    p.add_argument("--out", required=True, help="the archive, or a folder")
    p.add_argument("--case", action="append", metavar="NAME", help="only this one; may be repeated")
    a = p.parse_args()
    cases = [c for c in CASES if not a.case or c.name in a.case]
    unknown = set(a.case or ()) - {c.name for c in CASES}
    if unknown:
        sys.exit(f"bundle: no case {', '.join(sorted(unknown))}; there are {', '.join(c.name for c in CASES)}")
    for name in ("tools/tenon", "tests/cuda/record/record", "bench/gpu/peak"):
        if not os.path.exists(os.path.join(a.build, name)):
            sys.exit(f"bundle: {a.build} has no {name}: run `make check TESTS=` there first")
    with tempfile.TemporaryDirectory() as work:
        b = Bundle(os.path.abspath(a.build), os.path.join(HERE, "..", ".."), a.arch, os.path.join(work, "tenon-gpu"))
        b.binaries()
        b.record()
        for c in cases:
            b.case(c)
        if not a.out.endswith(".tar.xz"):
            shutil.copytree(b.folder, a.out)
            return
        with tarfile.open(a.out, "w:xz") as t:
            t.add(b.folder, "tenon-gpu")
    size = os.path.getsize(a.out)
    print(f"{a.out}: {size / (1 << 20):.1f} MiB, {len(cases)} cases")
    if size > MOST:
        sys.exit(f"bundle: more than {MOST >> 20} MiB")


if __name__ == "__main__":
    main()
