# SPDX-License-Identifier: Apache-2.0
"""Device code of CUB, which the CUDA Toolkit has, on the simulated device: kernels that nvcc makes of it give what Python gives, races and
uninitialized values are looked for and not found, with warps whole and with warps that part."""
import ctypes
import itertools
import os
import random
import shutil
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
import clitest
from clitest import check, path, write

BUILD = os.environ["top_builddir"]
N, ITEMS = 128, 4
NVCC = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
LIBRARY = os.path.join(BUILD, "tests/cuda/sim/.libs/libcuda.so.1")
if not os.path.exists(NVCC) or not os.path.exists(LIBRARY):
    print("no nvcc, or no simulated device")
    sys.exit(77)

rng = random.Random(5)
ints = [rng.randint(-1000, 1000) for _ in range(N)]
many = [rng.randint(-10**6, 10**6) for _ in range(N * ITEMS)]
few = sorted(rng.randint(0, 9) for _ in range(N * ITEMS))
small = [rng.randint(0, 255) for _ in range(N * ITEMS)]
quarters = [x / 4 for x in ints]
warps = [ints[k:k + 32] for k in range(0, N, 32)]

ONE = "__shared__ typename X::TempStorage s; T v = in[threadIdx.x];"
LOAD = "__shared__ typename X::TempStorage s; T v[4]; for (int i = 0; i < 4; i++) v[i] = in[threadIdx.x * 4 + i];"
KEEP = "for (int i = 0; i < 4; i++) out[threadIdx.x * 4 + i] = v[i];"
STRIPED = "for (int i = 0; i < 4; i++) out[threadIdx.x + 128 * i] = v[i];"
WARP = "__shared__ typename X::TempStorage t[4]; auto &s = t[threadIdx.x / 32]; T v = in[threadIdx.x];"
LESS = "[] __device__ (T a, T b) { return a < b; }"
MAX = "[] __device__ (T a, T b) { return a > b ? a : b; }"


def one(expression):
    return ONE + f" v = X(s).{expression}; if (threadIdx.x == 0) *out = v;"


def scan(expression):
    return ONE + f" X(s).{expression}; out[threadIdx.x] = v;"


def chunk(values, n):
    return [values[k:k + n] for k in range(0, len(values), n)]


def exclusive(values):
    return [sum(values[:k]) for k in range(len(values))]


R, S, LD, ST = "cub::BLOCK_REDUCE_", "cub::BLOCK_SCAN_", "cub::BLOCK_LOAD_", "cub::BLOCK_STORE_"
running = list(itertools.accumulate(ints))
# name, type of elements, type X of CUB, body, input, wanted
KERNELS = [
    ("reduce_warps", "int", f"cub::BlockReduce<T, 128, {R}WARP_REDUCTIONS>", one("Sum(v)"), ints, [sum(ints)]),
    ("reduce_raking", "int", f"cub::BlockReduce<T, 128, {R}RAKING>", one(f"Reduce(v, {MAX})"), ints, [max(ints)]),
    ("reduce_commutative", "int", f"cub::BlockReduce<T, 128, {R}RAKING_COMMUTATIVE_ONLY>", one("Sum(v)"), ints, [sum(ints)]),
    ("reduce_double", "double", "cub::BlockReduce<T, 128>", one("Sum(v)"), quarters, [sum(quarters)]),
    ("reduce_float", "float", "cub::BlockReduce<T, 128>", one(f"Reduce(v, {MAX})"), quarters, [max(quarters)]),
    ("reduce_part", "int", "cub::BlockReduce<T, 128>", one("Sum(v, 77)"), ints, [sum(ints[:77])]),
    ("reduce_items", "int", "cub::BlockReduce<T, 128>", LOAD + "T r = X(s).Sum(v); if (threadIdx.x == 0) *out = r;", many, [sum(many)]),
    ("scan_warps", "int", f"cub::BlockScan<T, 128, {S}WARP_SCANS>", scan("InclusiveSum(v, v)"), ints, running),
    ("scan_raking", "int", f"cub::BlockScan<T, 128, {S}RAKING>", scan("ExclusiveSum(v, v)"), ints, exclusive(ints)),
    ("scan_memoize", "int", f"cub::BlockScan<T, 128, {S}RAKING_MEMOIZE>", scan("InclusiveSum(v, v)"), ints, running),
    ("scan_max", "int", "cub::BlockScan<T, 128>", scan(f"InclusiveScan(v, v, {MAX})"), ints, list(itertools.accumulate(ints, max))),
    ("scan_items", "int", "cub::BlockScan<T, 128>", LOAD + "X(s).InclusiveSum(v, v);" + KEEP, many, list(itertools.accumulate(many))),
    ("scan_double", "double", "cub::BlockScan<T, 128>", scan("InclusiveSum(v, v)"), quarters, list(itertools.accumulate(quarters))),
    ("sort", "int", "cub::BlockRadixSort<T, 128, 4>", LOAD + "X(s).Sort(v);" + KEEP, many, sorted(many)),
    ("sort_down", "int", "cub::BlockRadixSort<T, 128, 4>", LOAD + "X(s).SortDescending(v);" + KEEP, many, sorted(many)[::-1]),
    ("sort_striped", "int", "cub::BlockRadixSort<T, 128, 4>", LOAD + "X(s).SortBlockedToStriped(v);" + STRIPED, many, sorted(many)),
    ("sort_floats", "float", "cub::BlockRadixSort<T, 128, 1>", ONE + "T w[1] = {v}; X(s).Sort(w); out[threadIdx.x] = w[0];", quarters, sorted(quarters)),
    ("sort_pairs", "int", "cub::BlockRadixSort<T, 128, 4, int>", LOAD + "int w[4]; for (int i = 0; i < 4; i++) w[i] = threadIdx.x * 4 + i; X(s).Sort(v, w);"
     + KEEP.replace("v[i]", "w[i]"), few[::-1], sorted(range(N * ITEMS), key=lambda k: few[::-1][k])),
    ("merge_sort", "int", "cub::BlockMergeSort<T, 128, 4>", LOAD + f"X(s).Sort(v, {LESS});" + KEEP, many, sorted(many)),
    ("load_direct", "int", f"cub::BlockLoad<T, 128, 4, {LD}DIRECT>", "__shared__ typename X::TempStorage s; T v[4]; X(s).Load(in, v);" + KEEP, many, many),
    ("load_vectors", "int", f"cub::BlockLoad<T, 128, 4, {LD}VECTORIZE>", "__shared__ typename X::TempStorage s; T v[4]; X(s).Load(in, v);" + KEEP, many, many),
    ("load_transposed", "int", f"cub::BlockLoad<T, 128, 4, {LD}TRANSPOSE>", "__shared__ typename X::TempStorage s; T v[4]; X(s).Load(in, v);" + KEEP, many, many),
    ("load_part", "int", f"cub::BlockLoad<T, 128, 4, {LD}WARP_TRANSPOSE>", "__shared__ typename X::TempStorage s; T v[4]; X(s).Load(in, v, 300, -1);" + KEEP,
     many, many[:300] + [-1] * (N * ITEMS - 300)),
    ("store_transposed", "int", f"cub::BlockStore<T, 128, 4, {ST}TRANSPOSE>", LOAD + "X(s).Store(out, v);", many, many),
    ("store_warps", "int", f"cub::BlockStore<T, 128, 4, {ST}WARP_TRANSPOSE>", LOAD + "X(s).Store(out, v);", many, many),
    ("exchange", "int", "cub::BlockExchange<T, 128, 4>", LOAD + "X(s).BlockedToStriped(v, v);" + STRIPED, many, many),
    ("scatter", "int", "cub::BlockExchange<T, 128, 4>", LOAD + "int r[4]; for (int i = 0; i < 4; i++) r[i] = 511 - (threadIdx.x * 4 + i); X(s).ScatterToBlocked(v, r);" + KEEP,
     many, many[::-1]),
    ("heads", "int", "cub::BlockDiscontinuity<T, 128>", LOAD + "int f[4]; X(s).FlagHeads(f, v, [] __device__ (T a, T b) { return a != b; });" + KEEP.replace("v[i]", "f[i]"),
     few, [int(k == 0 or few[k] != few[k - 1]) for k in range(N * ITEMS)]),
    ("differences", "int", "cub::BlockAdjacentDifference<T, 128>", LOAD + "X(s).SubtractLeft(v, v, [] __device__ (T a, T b) { return a - b; });" + KEEP,
     many, [many[0]] + [many[k] - many[k - 1] for k in range(1, N * ITEMS)]),
    ("histogram_sort", "int", "cub::BlockHistogram<unsigned char, 128, 4, 256>", "__shared__ typename X::TempStorage s; __shared__ int h[256]; unsigned char v[4];"
     "for (int i = 0; i < 4; i++) v[i] = in[threadIdx.x * 4 + i]; X(s).Histogram(v, h); __syncthreads(); out[threadIdx.x] = h[threadIdx.x]; out[threadIdx.x + 128] = h[threadIdx.x + 128];",
     small, [small.count(k) for k in range(256)]),
    ("histogram_atomic", "int", "cub::BlockHistogram<unsigned char, 128, 4, 256, cub::BLOCK_HISTO_ATOMIC>", "__shared__ typename X::TempStorage s; __shared__ int h[256]; unsigned char v[4];"
     "for (int i = 0; i < 4; i++) v[i] = in[threadIdx.x * 4 + i]; X(s).Histogram(v, h); __syncthreads(); out[threadIdx.x] = h[threadIdx.x]; out[threadIdx.x + 128] = h[threadIdx.x + 128];",
     small, [small.count(k) for k in range(256)]),
    ("warp_reduce", "int", "cub::WarpReduce<T>", WARP + "v = X(s).Sum(v); if (threadIdx.x % 32 == 0) out[threadIdx.x / 32] = v;", ints, [sum(w) for w in warps]),
    ("warp_reduce_8", "int", "cub::WarpReduce<T, 8>", "__shared__ typename X::TempStorage s[16]; T v = X(s[threadIdx.x / 8]).Sum(in[threadIdx.x]); if (threadIdx.x % 8 == 0) out[threadIdx.x / 8] = v;",
     ints, [sum(w) for w in chunk(ints, 8)]),
    ("warp_scan", "int", "cub::WarpScan<T>", WARP + "X(s).ExclusiveSum(v, v); out[threadIdx.x] = v;", ints, sum((exclusive(w) for w in warps), [])),
    ("warp_sort", "int", "cub::WarpMergeSort<T, 4>", "__shared__ typename X::TempStorage t[4]; T v[4]; for (int i = 0; i < 4; i++) v[i] = in[threadIdx.x * 4 + i];"
     f"X(t[threadIdx.x / 32]).Sort(v, {LESS});" + KEEP, many, sum((sorted(w) for w in chunk(many, 128)), [])),
]

source = "".join(f"#include <cub/block/block_{h}.cuh>\n" for h in ("reduce", "scan", "radix_sort", "merge_sort", "load", "store", "exchange", "discontinuity",
                                                                   "adjacent_difference", "histogram"))
source += "".join(f"#include <cub/warp/warp_{h}.cuh>\n" for h in ("reduce", "scan", "merge_sort"))
for name, t, x, body, _, _ in KERNELS:
    source += f'extern "C" __global__ void {name}(const {t} *in, {t} *out) {{ using T = {t}; using X = {x}; {body} }}\n'
ptx = path("cub.ptx")
r = subprocess.run([NVCC, "-arch=sm_80", "--extended-lambda", "-ptx", "-o", ptx, write("cub.cu", source)], capture_output=True, text=True)
check(r.returncode == 0, "nvcc compiles the kernels", r)
with open(ptx, "rb") as f:
    text = f.read() + b"\0"


def worker(seed):
    """In a process of its own: the library reads its environment once."""
    os.environ["CUDASIM_SEED"] = str(seed)
    cu = ctypes.CDLL(LIBRARY)
    context, module = ctypes.c_void_p(), ctypes.c_void_p()
    codes = [cu.cuInit(0), cu.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), cu.cuCtxPushCurrent_v2(context),
             cu.cuModuleLoadData(ctypes.byref(module), text)]
    check(codes == [0] * 4, f"seed {seed}: the module is loaded")
    for name, t, _, _, given, wanted in KERNELS:
        letter = {"int": "i", "float": "f", "double": "d"}[t]
        data, out = struct.pack(f"<{len(given)}{letter}", *given), ctypes.create_string_buffer(struct.calcsize(f"<{len(wanted)}{letter}"))
        size = ctypes.c_size_t(len(out.raw))
        f, a, b = ctypes.c_void_p(), ctypes.c_ulonglong(), ctypes.c_ulonglong()
        codes = [cu.cuModuleGetFunction(ctypes.byref(f), module, name.encode()), cu.cuMemAlloc_v2(ctypes.byref(a), ctypes.c_size_t(len(data))),
                 cu.cuMemAlloc_v2(ctypes.byref(b), size), cu.cuMemcpyHtoD_v2(a, data, ctypes.c_size_t(len(data)))]
        params = (ctypes.c_void_p * 2)(*(ctypes.cast(ctypes.byref(p), ctypes.c_void_p) for p in (a, b)))
        codes += [cu.cuLaunchKernel(f, 1, 1, 1, N, 1, 1, 0, None, params, None), cu.cuCtxSynchronize(), cu.cuMemcpyDtoH_v2(out, b, size)]
        got = list(struct.unpack(f"<{len(wanted)}{letter}", out.raw))
        check(codes == [0] * 7 and got == wanted, f"seed {seed}: {name}: {codes}, {[k for k in range(len(wanted)) if got[k] != wanted[k]][:5]}")
    clitest.done()


for seed in (0, 1, 2):
    child = os.fork()
    if child == 0:
        worker(seed)
    check(os.waitpid(child, 0)[1] == 0, f"with seed {seed} all {len(KERNELS)} kernels are right")
clitest.done()
