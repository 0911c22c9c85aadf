# SPDX-License-Identifier: Apache-2.0
"""The cuda device on the simulated one (sim/README.md): the conformance suite in the orders that streams may have, with one and two
devices; a model, with and without a cubin that fits, beside what the cpu computes; faults of kernels, which end the device and name it."""
import glob
import os
import re
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
import clitest
from clitest import BUILD, DIGITS, check, path, tenon, write

SIM = os.path.join(BUILD, "tests", "cuda", "sim", ".libs")
ORDERS = ({}, {"CUDASIM_LATE": "1"}, {"CUDASIM_SEED": "1"}, {"CUDASIM_SEED": "2", "CUDASIM_LATE": "1"}, {"CUDASIM_DEVICES": "2"})

BUFFER, SCALAR = 1, 2  # tnb_param_kind

ADD = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry add_f32(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 n)
{
    .reg .pred %p<2>;
    .reg .b32 %r<5>;
    .reg .f32 %f<4>;
    .reg .b64 %rd<12>;
    ld.param.u64 %rd1, [a];
    ld.param.u64 %rd2, [b];
    ld.param.u64 %rd3, [c];
    ld.param.u64 %rd4, [n];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    cvt.s64.s32 %rd5, %r4;
    setp.ge.s64 %p1, %rd5, %rd4;
    @%p1 bra END;
    shl.b64 %rd6, %rd5, 2;
    add.s64 %rd7, %rd1, %rd6;
    add.s64 %rd8, %rd2, %rd6;
    add.s64 %rd9, %rd3, %rd6;
    ld.global.f32 %f1, [%rd7];
    ld.global.f32 %f2, [%rd8];
    add.f32 %f3, %f1, %f2;
    st.global.f32 [%rd9], %f3;
END:
    ret;
}
"""


def payload(arch, kernels):
    """As backends/cuda/payload.h has it: (name, PTX, parameters) each, a parameter kind, written, bytes."""
    at = 32 + 64 * len(kernels)
    records, data = b"", b""
    for name, ptx, params in kernels:
        words = b"".join(struct.pack("<I", k | w << 8 | b << 16) for k, w, b in params)
        parts = [name.encode() + b"\0", words, ptx + b"\0"]
        places = []
        for p in parts:
            data += bytes(-(at + len(data)) % 8)
            places.append(at + len(data))
            data += p
        records += struct.pack("<6Q4I", places[0], places[1], places[2], 0, len(parts[2]), 0, len(parts[0]), len(params), 0, 0)
    return struct.pack("<4I16s", 0x44435454, 1, len(kernels), 0, arch.encode()) + records + data


def sim(extra):
    return dict({"LD_LIBRARY_PATH": SIM + ":" + os.environ.get("LD_LIBRARY_PATH", "")}, **extra)


if not glob.glob(os.path.join(SIM, "libcuda.so.1")):
    print("no simulated device (cmocka is missing)")
    sys.exit(77)

module = path("add")
with open(module, "wb") as f:
    f.write(payload("sm_70", [("add_f32", ADD, [(BUFFER, 0, 8), (BUFFER, 0, 8), (BUFFER, 1, 8), (SCALAR, 0, 8)])]))
for order in ORDERS:
    r = subprocess.run([os.path.join(BUILD, "tests/device/conformance"), "cuda", "--module", "tenon-cuda", module], env=dict(os.environ, **sim(order)),
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    skipped = int(re.search(r"(\d+) skipped", r.stdout)[1]) if "skipped" in r.stdout else 0
    check(r.returncode == 0 and skipped == ("CUDASIM_DEVICES" not in order), f"{order}: conformance", r)

r = tenon("list", "devices", env=sim({"CUDASIM_DEVICES": "2"}))
check(re.search(r"^cuda .*\n    0: .*sm_80.*\n    1: .*sm_80", r.stdout, re.M), "both devices are listed", r)
for wanted, ok in (("1", True), ("simulated", True), ("7", False), ("tesla", False)):
    r = tenon("list", "devices", "--set", "device.cuda.device=" + wanted, env=sim({"CUDASIM_DEVICES": "2"}))
    left = r.stdout.count("left out by [device cuda] device = " + wanted)
    check(left == (1 if wanted == "1" else 0 if ok else 2), f"device = {wanted} leaves others out", r)

# what a kernel does wrong is told by a later call, or, where each is waited for, by its launch
ASTRAY = """\
@I.ir_module
class Module:
    @T.prim_func
    def astray(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
        T.func_attr({"tirx.is_scheduled": True})
        for t in T.thread_binding(64, thread="threadIdx.x"):
            with T.sblock("astray"):
                v = T.axis.spatial(64, t)
                y[v] = x[v + 100000000]
    @R.function
    def main(x: R.Tensor((64,), "float32")):
        cls = Module
        with R.dataflow():
            y = R.call_tir(cls.astray, (x,), out_sinfo=R.Tensor((64,), "float32"))
            R.output(y)
        return y
"""
r = tenon("compile", write("astray.py", ASTRAY), "-t", "cuda", "-o", path("astray.tno"))
check(r.returncode == 0 or "NVRTC" in r.stderr, "a kernel that reads out of bounds is compiled", r)
if r.returncode == 0:
    r = tenon("run", path("astray.tno"), env=sim({}))
    check(r.returncode == 1 and "CUDA_ERROR_ILLEGAL_ADDRESS (700)" in r.stderr and "last launched: 'astray'" in r.stderr and
          "device.cuda.check_launches=yes" in r.stderr, "a later call tells of a kernel that went astray", r)
    check("cudasim: " in r.stderr and "'astray'" in r.stderr, "the simulated device tells where", r)
    r = tenon("run", path("astray.tno"), "--set", "device.cuda.check_launches=yes", env=sim({}))
    check(r.returncode == 1 and "kernel 'astray' of 1x1x1 blocks of 64x1x1 threads: cuStreamSynchronize: CUDA_ERROR_ILLEGAL" in r.stderr,
          "its launch tells where launches are checked", r)

# a model, compiled by NVRTC where that is installed
digits = os.path.join(DIGITS, "digits.onnx")
if not os.path.exists(os.path.join(BUILD, "plugins-stage", "onnx.so")):
    clitest.done()
r = tenon("compile", digits, "-t", "cuda:auto", "-o", path("digits.tno"), env=sim({}))
if r.returncode != 0 and "NVRTC" in r.stderr:
    print("no NVRTC: no model is run")
    clitest.done()
check(r.returncode == 0, "-t cuda:auto takes the device's architecture", r)
inputs = ["-i", "#0=" + os.path.join(DIGITS, "digit3.npy")]
cpu = tenon("run", digits, "-t", "cpu", *inputs, "-o", path("cpu"))
for arch, order in (("80", ORDERS[0]), ("80", ORDERS[3]), ("90", {})):
    r = tenon("run", path("digits.tno"), *inputs, "-o", path("cuda"), env=sim(dict(order, CUDASIM_ARCH=arch)))
    same = r.returncode == 0 and cpu.returncode == 0
    for file in glob.glob(os.path.join(path("cpu"), "*.npy")):
        a, b = clitest.read_npy(file), clitest.read_npy(os.path.join(path("cuda"), os.path.basename(file)))
        same = same and len(a) == len(b) and all(abs(x - y) <= 1e-5 + 1e-4 * abs(x) for x, y in zip(a[2], b[2]))
    check(same and os.listdir(path("cuda")), f"sm_{arch}, {order}: a model computes what it does on the cpu", r)
r = tenon("run", path("digits.tno"), *inputs, env=sim({"CUDASIM_ARCH": "75"}))
check(r.returncode != 0 and "sm_75" in r.stderr and "cuda:auto" in r.stderr, "code for a newer device is refused", r)
r = tenon("run", digits, "-t", "cuda", *inputs, env=sim({"CUDASIM_ARCH": "75"}))
check(r.returncode == 0, "what is compiled to run at once is compiled for the device", r)
r = tenon("run", digits, "-t", "cuda", "--set", "target.cuda.arch=sm_80", *inputs, env=sim({"CUDASIM_ARCH": "75"}))
check(r.returncode != 0 and "sm_75" in r.stderr, "unless a section says for which", r)
clitest.done()
