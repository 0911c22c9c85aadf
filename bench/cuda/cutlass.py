#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a block of CUTLASS's product of float16 executes for sm_80, beside a block of Tenon's of the same tile: README.md.

    bench/cuda/cutlass.py --tenon build/tools/tenon --sim build/tests/cuda/sim/.libs --include CUTLASS/include [--nvcc nvcc]
"""
import argparse
import ctypes
import datetime
import json
import os
import subprocess
import sys
import tempfile

import costs

ROWS, COLUMNS, DEPTH = 128, 128, 4096
# steps of the reduction a tile has, stages
TILES = ((32, 3), (32, 4), (64, 3))
SOURCE = """
#include <cutlass/cutlass.h>
#include <cutlass/epilogue/thread/linear_combination.h>
#include <cutlass/gemm/kernel/default_gemm.h>
#include <cutlass/gemm/threadblock/threadblock_swizzle.h>
using Half = cutlass::half_t;
using Row = cutlass::layout::RowMajor;
template <int Depth, int Stages> struct Product {
    using Block = cutlass::gemm::GemmShape<128, 128, Depth>;
    using Warp = cutlass::gemm::GemmShape<64, 64, Depth>;
    using Out = cutlass::epilogue::thread::LinearCombination<Half, 8, float, float, cutlass::epilogue::thread::ScaleType::Nothing>;
    using Kernel = typename cutlass::gemm::kernel::DefaultGemm<Half, Row, 8, Half, Row, 8, Half, Row, float, cutlass::arch::OpClassTensorOp,
        cutlass::arch::Sm80, Block, Warp, cutlass::gemm::GemmShape<16, 8, 16>, Out, cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<>,
        Stages, false, cutlass::arch::OpMultiplyAdd>::GemmKernel;
};
#define KERNEL(depth, stages) \\
extern "C" __device__ int size_##depth##_##stages[2] = {Product<depth, stages>::Kernel::kThreadCount, \\
                                                        (int)sizeof(Product<depth, stages>::Kernel::SharedStorage)}; \\
extern "C" __global__ void product_##depth##_##stages(Half *a, Half *b, Half *d, int m, int n, int k) \\
{ \\
    using Kernel = Product<depth, stages>::Kernel; \\
    extern __shared__ __align__(16) char memory[]; \\
    cutlass::gemm::GemmCoord size(m, n, k), grid((m + 127) / 128, (n + 127) / 128, 1); \\
    Kernel::Params params(size, grid, {a, Row(k)}, {b, Row(n)}, {d, Row(n)}, {d, Row(n)}, {}); \\
    Kernel kernel; \\
    kernel(params, *reinterpret_cast<Kernel::SharedStorage *>(memory)); \\
}
"""
MODEL = f"""@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(({ROWS}, {DEPTH}), "float16"), w: R.Tensor(({DEPTH}, {COLUMNS}), "float16")):
        with R.dataflow():
            y = R.matmul(x, w)
            R.output(y)
        return y
"""
COLUMNS_OF = (("mma", "mma"), ("ldmatrix", "ldmatrix"), ("cp.async", "cp_async"), ("barriers", "barriers"), ("global bytes", "global_bytes"),
              ("shared passes", "shared_passes"), ("instructions", "instructions"))


def launch(library, ptx, depth, stages):
    """In a process of its own: the library reads its environment once."""
    base = os.path.join(os.path.dirname(library), "../../../../core/base/.libs/libtenon-base.so.0")
    if os.path.exists(base): # of a build tree
        ctypes.CDLL(base)
    cu = ctypes.CDLL(library)
    context, module, f, size = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p(), (ctypes.c_int * 2)()
    where, nbytes, places = ctypes.c_ulonglong(), ctypes.c_size_t(), [ctypes.c_ulonglong() for _ in range(3)]
    codes = [cu.cuInit(0), cu.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), cu.cuCtxPushCurrent_v2(context),
             cu.cuModuleLoadData(ctypes.byref(module), ptx), cu.cuModuleGetFunction(ctypes.byref(f), module, f"product_{depth}_{stages}".encode()),
             cu.cuModuleGetGlobal_v2(ctypes.byref(where), ctypes.byref(nbytes), module, f"size_{depth}_{stages}".encode()),
             cu.cuMemcpyDtoH_v2(size, where, ctypes.c_size_t(8)), cu.cuFuncSetAttribute(f, 8, size[1])]
    for place, elements in zip(places, (ROWS * DEPTH, DEPTH * COLUMNS, ROWS * COLUMNS)):
        codes += [cu.cuMemAlloc_v2(ctypes.byref(place), ctypes.c_size_t(2 * elements)),
                  cu.cuMemcpyHtoD_v2(place, bytes(2 * elements), ctypes.c_size_t(2 * elements))]
    numbers = [ctypes.c_int(x) for x in (ROWS, COLUMNS, DEPTH)]
    params = (ctypes.c_void_p * 6)(*(ctypes.cast(ctypes.byref(p), ctypes.c_void_p) for p in places + numbers))
    codes += [cu.cuLaunchKernel(f, 1, 1, 1, size[0], 1, 1, size[1], None, params, None), cu.cuCtxSynchronize()]
    if any(codes):
        sys.exit(f"the simulated device: {codes}")
    sys.stdout.flush()


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--tenon", required=True)
    p.add_argument("--sim", required=True, help="the folder of the simulated libcuda.so.1")
    p.add_argument("--include", required=True, help="headers of CUTLASS (the package nvidia-cutlass has them in cutlass_library/source/include)")
    p.add_argument("--nvcc", default="nvcc")
    p.add_argument("--ptx", help="what nvcc makes is kept here for another run")
    p.add_argument("--out", help="else the table is printed")
    a = p.parse_args()
    target = ["-t", "cuda", "--set", "target.cuda.arch=sm_80"]
    with open(a.out, "w", encoding="utf-8") if a.out else sys.stdout as f, tempfile.TemporaryDirectory() as work:
        def at(name):
            return os.path.join(work, name)

        def sim(**more):
            if os.path.exists(at("costs")):
                os.unlink(at("costs"))
            return dict(os.environ, LD_LIBRARY_PATH=os.path.abspath(a.sim) + ":" + os.environ.get("LD_LIBRARY_PATH", ""), CUDASIM_RACES="0",
                        CUDASIM_ARCH="80", **more)

        with open(at("product.py"), "w", encoding="utf-8") as m:
            m.write(MODEL)
        with open(at("cutlass.cu"), "w", encoding="utf-8") as m:
            m.write(SOURCE + "".join(f"KERNEL({depth}, {stages})\n" for depth, stages in TILES))
        made = a.ptx or at("cutlass.ptx")
        if not os.path.exists(made):
            subprocess.run([a.nvcc, "-std=c++17", "-arch=sm_80", "-ptx", "--expt-relaxed-constexpr", "-I", a.include, "-o", made, at("cutlass.cu")],
                           check=True)
        with open(made, "rb") as m:
            ptx = m.read() + b"\0"
        subprocess.run([a.tenon, "tune", at("product.py"), *target, "--tuning-db", at("db"), "--trials", "1", "--measure", "0.001", "--timeout", "600"],
                       check=True, env=sim(), stdout=subprocess.DEVNULL)
        with open(at("db"), encoding="utf-8") as db:
            record = json.loads(db.read().split("\n")[1])
        print(f"bench/cuda/cutlass.py, sm_80, {datetime.date.today()}: a block of {ROWS} by {COLUMNS} results, {DEPTH} steps, float16, sums in float32\n\n"
              "depth stages          " + " ".join(f"{title:>13}" for title, _ in COLUMNS_OF), file=f)
        for depth, stages in TILES:
            env = sim(CUDASIM_COSTS=at("costs"))
            child = os.fork()
            if child == 0:
                os.environ.update(env)
                launch(os.path.join(os.path.abspath(a.sim), "libcuda.so.1"), ptx, depth, stages)
                os._exit(0)
            if os.waitpid(child, 0)[1]:
                sys.exit("CUTLASS's kernel does not run")
            theirs = costs.total(costs.read(at("costs")))
            choices = {"rows": ROWS, "columns": COLUMNS, "depth": depth, "stages": stages, "producers": 0}
            with open(at("chosen"), "w", encoding="utf-8") as db:
                for line in {"tenon_tuning": 1}, dict(record, choices=choices, seconds=1e-6):
                    db.write(json.dumps(line) + "\n")
            subprocess.run([a.tenon, "compile", "-q", at("product.py"), *target, "--tuning-db", at("chosen"), "-o", at("product.tno")], check=True)
            subprocess.run([a.tenon, "run", "-q", at("product.tno")], check=True, env=sim(CUDASIM_COSTS=at("costs")), stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
            ours = costs.total(costs.read(at("costs")))
            for who, t in ("CUTLASS", theirs), ("Tenon", ours):
                print(f"{depth:5} {stages:6}  {who:8}" + " ".join(f"{t[key]:13}" for _, key in COLUMNS_OF), file=f)
            print(f"{'':14}ratio   " + " ".join(f"{costs.ratio(ours[key], theirs[key]):>13}" for _, key in COLUMNS_OF), file=f, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
