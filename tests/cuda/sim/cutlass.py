# SPDX-License-Identifier: Apache-2.0
"""Matrix products of CUTLASS for sm_80, with matrix units and copies of several stages, on the simulated device: what nvcc makes of them
gives what Python gives, nothing is uninitialized and there are no races, with copies that come at once and late, with warps whole and
warps that part. The headers are those of the package nvidia-cutlass (pip install nvidia-cutlass), or of the folder $CUTLASS_INCLUDE; the
PTX is kept in the cache, since nvcc takes minutes."""
import ctypes
import glob
import hashlib
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
NVCC = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
LIBRARY = os.path.join(BUILD, "tests/cuda/sim/.libs/libcuda.so.1")
PLACES = [os.environ["CUTLASS_INCLUDE"]] if os.environ.get("CUTLASS_INCLUDE") else [os.path.join(p, "cutlass_library/source/include") for p in sys.path]
INCLUDE = next((p for p in PLACES if os.path.exists(os.path.join(p, "cutlass/gemm/kernel/default_gemm.h"))), None)
if not os.path.exists(NVCC) or not os.path.exists(LIBRARY) or not INCLUDE:
    print("no nvcc, no simulated device, or no headers of CUTLASS (pip install nvidia-cutlass, or CUTLASS_INCLUDE)")
    sys.exit(77)

HALF, BF16, TF32 = "cutlass::half_t", "cutlass::bfloat16_t", "float"
# name: elements of A and B, of the sums and results, elements of a vector, class, tile of a block, of a warp, of an instruction, stages,
# operator; m, n, k
KERNELS = [
    ("half_128x128", HALF, "float", 8, "TensorOp", "128, 128, 32", "64, 64, 32", "16, 8, 16", 3, "MultiplyAdd", (128, 128, 96)),
    ("half_64x64_4", HALF, "float", 8, "TensorOp", "64, 64, 32", "32, 32, 32", "16, 8, 16", 4, "MultiplyAdd", (128, 64, 160)),
    ("half_128x64_k8", HALF, "float", 8, "TensorOp", "128, 64, 32", "64, 32, 32", "16, 8, 8", 2, "MultiplyAdd", (100, 56, 72)),
    ("half_sums", HALF, HALF, 8, "TensorOp", "64, 64, 64", "32, 32, 64", "16, 8, 16", 3, "MultiplyAdd", (64, 64, 64)),
    ("bfloat", BF16, "float", 8, "TensorOp", "64, 128, 32", "32, 64, 32", "16, 8, 16", 3, "MultiplyAdd", (64, 128, 64)),
    ("tf32", TF32, "float", 4, "TensorOp", "64, 64, 16", "32, 32, 16", "16, 8, 8", 4, "MultiplyAdd", (64, 128, 48)),
    ("int8", "int8_t", "int32_t", 16, "TensorOp", "64, 64, 64", "32, 32, 64", "16, 8, 32", 3, "MultiplyAddSaturate", (64, 64, 128)),
    ("doubles", "double", "double", 1, "TensorOp", "32, 32, 16", "16, 16, 16", "8, 8, 4", 3, "MultiplyAdd", (40, 32, 33)),
    ("simt", "float", "float", 1, "Simt", "64, 64, 8", "32, 32, 8", "1, 1, 1", 2, "MultiplyAdd", (70, 64, 21)),
]
LETTERS = {HALF: "e", BF16: "H", "float": "f", "double": "d", "int8_t": "b", "int32_t": "i"}

SOURCE = """
#include <cutlass/cutlass.h>
#include <cutlass/epilogue/thread/linear_combination.h>
#include <cutlass/gemm/kernel/default_gemm.h>
#include <cutlass/gemm/threadblock/threadblock_swizzle.h>
template <class E, class C, int V, class Class, class Block, class Warp, class Instruction, int Stages, class Operator> struct Product {
    using Row = cutlass::layout::RowMajor;
    using Column = cutlass::layout::ColumnMajor;
    using Out = cutlass::epilogue::thread::LinearCombination<C, cutlass::platform::is_same<Class, cutlass::arch::OpClassSimt>::value ? 1 :
        (V > 128 / cutlass::sizeof_bits<C>::value ? 128 / cutlass::sizeof_bits<C>::value : V), C, C>;
    using Kernel = typename cutlass::gemm::kernel::DefaultGemm<E, Row, V, E, Column, V, C, Row, C, Class, cutlass::arch::Sm80, Block, Warp, Instruction,
        Out, cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<>, Stages, false, Operator>::GemmKernel;
    static __device__ void run(E *a, E *b, C *d, int m, int n, int k) {
        extern __shared__ __align__(16) char memory[];
        cutlass::gemm::GemmCoord size(m, n, k), grid((m + Block::kM - 1) / Block::kM, (n + Block::kN - 1) / Block::kN, 1);
        typename Kernel::Params params(size, grid, {a, Row(k)}, {b, Column(k)}, {d, Row(n)}, {d, Row(n)}, {C(1), C(0)});
        Kernel kernel;
        kernel(params, *reinterpret_cast<typename Kernel::SharedStorage *>(memory));
    }
};
"""
for name, e, c, v, kind, block, warp, insn, stages, op, _ in KERNELS:
    shape = "cutlass::gemm::GemmShape"
    SOURCE += f"using X_{name} = Product<{e}, {c}, {v}, cutlass::arch::OpClass{kind}, {shape}<{block}>, {shape}<{warp}>, {shape}<{insn}>, {stages}, " \
              f"cutlass::arch::Op{op}>;\n" \
              f'extern "C" __global__ void {name}({e} *a, {e} *b, {c} *d, int m, int n, int k) {{ X_{name}::run(a, b, d, m, n, k); }}\n' \
              f'extern "C" __device__ int {name}_size[2] = {{X_{name}::Kernel::kThreadCount, (int)sizeof(X_{name}::Kernel::SharedStorage)}};\n'

with open(os.path.join(INCLUDE, "cutlass/version.h"), encoding="utf-8") as f:
    key = hashlib.sha256((SOURCE + f.read()).encode()).hexdigest()[:16]
cache = os.path.join(os.environ.get("XDG_CACHE_HOME") or path("cache"), "cutlass-tests")
os.makedirs(cache, exist_ok=True)
ptx = os.path.join(cache, key + ".ptx")
if not os.path.exists(ptx):
    r = subprocess.run([NVCC, "-std=c++17", "-arch=sm_80", "-ptx", "--expt-relaxed-constexpr", "-I", INCLUDE, "-o", ptx + ".new",
                        write("cutlass.cu", SOURCE)], capture_output=True, text=True, check=False)
    check(r.returncode == 0, "nvcc compiles the kernels", r)
    if r.returncode != 0:
        clitest.done()
    os.rename(ptx + ".new", ptx)
with open(ptx, "rb") as f:
    text = f.read() + b"\0"


def pack(element, values):
    if element == BF16:
        return b"".join(struct.pack("<f", x)[2:] for x in values)
    return struct.pack(f"<{len(values)}{LETTERS[element]}", *values)


def worker(seed, late):
    """In a process of its own: the library reads its environment once."""
    os.environ.update(CUDASIM_SEED=str(seed), CUDASIM_LATE=str(late))
    cu = ctypes.CDLL(LIBRARY)
    context, module = ctypes.c_void_p(), ctypes.c_void_p()
    codes = [cu.cuInit(0), cu.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), cu.cuCtxPushCurrent_v2(context),
             cu.cuModuleLoadData(ctypes.byref(module), text)]
    check(codes == [0] * 4, f"seed {seed}: the module is loaded")
    for name, e, c, _, _, block, _, _, _, _, (m, n, k) in KERNELS:
        rng = random.Random(name)
        a = [[rng.randint(-3, 3) for _ in range(k)] for _ in range(m)]
        b = [[rng.randint(-3, 3) for _ in range(k)] for _ in range(n)]
        wanted = [sum(x * y for x, y in zip(r, s)) for r in a for s in b]
        out = ctypes.create_string_buffer(len(wanted) * struct.calcsize(LETTERS[c]))
        f, places, size = ctypes.c_void_p(), [ctypes.c_ulonglong() for _ in range(3)], (ctypes.c_int * 2)()
        where, nbytes = ctypes.c_ulonglong(), ctypes.c_size_t()
        codes = [cu.cuModuleGetFunction(ctypes.byref(f), module, name.encode()),
                 cu.cuModuleGetGlobal_v2(ctypes.byref(where), ctypes.byref(nbytes), module, (name + "_size").encode()),
                 cu.cuMemcpyDtoH_v2(size, where, ctypes.c_size_t(8)), cu.cuFuncSetAttribute(f, 8, size[1])]
        for place, data in zip(places, (pack(e, sum(a, [])), pack(e, sum(b, [])), None)):
            codes.append(cu.cuMemAlloc_v2(ctypes.byref(place), ctypes.c_size_t(len(data or out.raw))))
            if data:
                codes.append(cu.cuMemcpyHtoD_v2(place, data, ctypes.c_size_t(len(data))))
        numbers = [ctypes.c_int(x) for x in (m, n, k)]
        params = (ctypes.c_void_p * 6)(*(ctypes.cast(ctypes.byref(p), ctypes.c_void_p) for p in places + numbers))
        rows, columns = (int(x) for x in block.split(",")[:2])
        codes += [cu.cuLaunchKernel(f, -(-m // rows), -(-n // columns), 1, size[0], 1, 1, size[1], None, params, None), cu.cuCtxSynchronize(),
                  cu.cuMemcpyDtoH_v2(out, places[2], ctypes.c_size_t(len(out.raw)))]
        got = list(struct.unpack(f"<{len(wanted)}{LETTERS[c]}", out.raw))
        check(not any(codes) and got == wanted, f"seed {seed}, late {late}: {name}: {codes}, {[i for i, x in enumerate(got) if x != wanted[i]][:5]}")
    clitest.done()


for way in ((0, 0), (0, 1), (1, 1)):
    child = os.fork()
    if child == 0:
        worker(*way)
    check(os.waitpid(child, 0)[1] == 0, f"with seed {way[0]}, late {way[1]}, all {len(KERNELS)} kernels are right")
clitest.done()
