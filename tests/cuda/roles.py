# SPDX-License-Identifier: Apache-2.0
"""Programs whose warps have roles, ordered by barriers in shared memory: -t cuda computes on the simulated device what it should, in both orders
of completion and with permuted schedules; planted faults (wrong parity, arrivals or bytes, a stage reused early) are found there, and an
architecture without such barriers is refused."""
import os
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
import clitest
from clitest import BUILD, check, path, tenon, write

SIM = os.path.join(BUILD, "tests", "cuda", "sim", ".libs")
MODEL = """\
@I.ir_module
class Module:
    @T.prim_func
    def roles(A: T.Buffer((8, 128), "float32"), B: T.Buffer((8, 128), "float32")):
        T.func_attr({{"tirx.is_scheduled": True}})
        for b in T.thread_binding(1, thread="blockIdx.x"):
            S = T.alloc_buffer((256,), scope="shared")
            E = T.alloc_buffer((64,), scope="shared")
            full = T.alloc_buffer((2,), "uint64", scope="shared.barrier")
            empty = T.alloc_buffer((2,), "uint64", scope="shared.barrier")
            for w in T.thread_binding(3, thread="threadIdx.y"):
                for t in T.thread_binding(32, thread="threadIdx.x"):
                    if w == 0:
                        if t == 0:
                            for i in range(2):
                                T.ptx_mbarrier_init(T.address_of(full[i]), {arrivals})
                                T.ptx_mbarrier_init(T.address_of(empty[i]), 64)
                    if w == 2:
                        for k in range(8):
                            {reuse}
                            {copy}
                    else:
                        for k in range(8):
                            T.ptx_mbarrier_try_wait(T.address_of(full[k % 2]), {parity})
                            E[w * 32 + t] = S[k % 2 * 128 + w * 64 + t] + S[k % 2 * 128 + w * 64 + 32 + t]
                            B[k, w * 64 + t] = S[k % 2 * 128 + 127 - (w * 64 + t)]
                            T.ptx_mbarrier_arrive(T.address_of(empty[k % 2]))
                            B[k, w * 64 + 32 + t] = E[63 - (w * 32 + t)]

    @R.function
    def main(x: R.Tensor((8, 128), "float32")):
        cls = Module
        with R.dataflow():
            y = R.call_tir(cls.roles, (x,), out_sinfo=R.Tensor((8, 128), "float32"))
            R.output(y)
        return y
"""
WAIT = "T.ptx_mbarrier_try_wait(T.address_of(empty[k % 2]), 1 - k // 2 % 2)"
BY_THREADS = """T.evaluate(T.ptx_cp_async("float32", T.address_of(S[k % 2 * 128 + t * 4]), 0, T.address_of(A[k, t * 4]), 0, 16))
                            T.ptx_cp_async_mbarrier_arrive(T.address_of(full[k % 2]))"""
IN_BULK = """if t == 0:
                                T.ptx_mbarrier_arrive_expect_tx(T.address_of(full[k % 2]), {bytes})
                                T.ptx_cp_async_bulk(T.address_of(S[k % 2 * 128]), T.address_of(A[k, 0]), 512, T.address_of(full[k % 2]))"""
# architecture, parts of the program, faults: what else the parts are
THREADS = {"arrivals": 32, "reuse": WAIT, "copy": BY_THREADS, "parity": "k // 2 % 2"}
BULK = {"arrivals": 1, "reuse": WAIT, "copy": IN_BULK.format(bytes=512), "parity": "k // 2 % 2"}
CASES = (("80", THREADS, {"a wrong parity": {"parity": "1 - k // 2 % 2"}, "fewer arrivals": {"arrivals": 16}, "more arrivals": {"arrivals": 33},
                          "a stage reused early": {"reuse": "T.evaluate(0)"}}),
         ("90", BULK, {"a wrong parity": {"parity": "1 - k // 2 % 2"}, "more bytes than come": {"copy": IN_BULK.format(bytes=528)},
                       "fewer bytes than come": {"copy": IN_BULK.format(bytes=496)}, "a stage reused early": {"reuse": "T.evaluate(0)"}}))
ORDERS = ({}, {"CUDASIM_LATE": "1"}, {"CUDASIM_SEED": "3"}, {"CUDASIM_SEED": "4", "CUDASIM_LATE": "1"})
if not os.path.exists(os.path.join(SIM, "libcuda.so.1")):
    print("no simulated device (cmocka is missing)")
    sys.exit(77)
x = [(i * 37 % 101 - 50) / 64 for i in range(1024)]
with open(path("x.npy"), "wb") as f:
    f.write(clitest.npy_bytes("<f4", (8, 128), x))
WANT = []
for k in range(8):
    row = x[k * 128:k * 128 + 128]
    sums = [row[w * 64 + t] + row[w * 64 + 32 + t] for w in range(2) for t in range(32)]
    for w in range(2):
        WANT += [row[127 - (w * 64 + t)] for t in range(32)] + [sums[63 - (w * 32 + t)] for t in range(32)]


def compiled(name, arch, parts):
    file, made = write(name + ".py", MODEL.format(**parts)), path(name + ".tno")
    return tenon("compile", file, "-t", "cuda", "--set", "target.cuda.arch=sm_" + arch, "-o", made), made


def right(made, arch, order):
    env = dict(os.environ, LD_LIBRARY_PATH=SIM + ":" + os.environ.get("LD_LIBRARY_PATH", ""), CUDASIM_ARCH=arch, CUDASIM_IDLE="100000", **order)
    r = tenon("run", made, "-i", "x=" + path("x.npy"), "-o", path("out"), env=env)
    return r.returncode == 0 and clitest.read_npy(os.path.join(path("out"), os.listdir(path("out"))[0]))[2] == WANT, r


for arch, parts, faults in CASES:
    r, made = compiled("right" + arch, arch, parts)
    if r.returncode != 0 and "NVRTC" in r.stderr:
        print("no NVRTC")
        sys.exit(77)
    check(r.returncode == 0, f"sm_{arch}: is compiled", r)
    r = tenon("show", "kernel", path(f"right{arch}.py"), "roles", "-t", "cuda", "--set", "target.cuda.arch=sm_" + arch)
    check(r.stdout.count("tk_bar_sync(") - r.stdout.count("void tk_bar_sync(") == 2, f"sm_{arch}: the warps that compute have a barrier of their own", r)
    for order in ORDERS:
        same, r = right(made, arch, order)
        check(same, f"sm_{arch}, {order}: as it should", r)
    for what, other in faults.items():
        r, made = compiled("wrong", arch, dict(parts, **other))
        check(r.returncode == 0, f"sm_{arch}, {what}: is compiled", r)
        runs = [right(made, arch, order)[1] for order in ORDERS]
        check(any(r.returncode == 1 and "cudasim: kernel 'roles'" in r.stderr for r in runs), f"sm_{arch}, {what}: is found", runs[0])
for arch, parts, _ in CASES:
    older = {"80": "75", "90": "80"}[arch]
    r, made = compiled("older", older, parts)
    check(r.returncode == 1 and f"needs sm_{arch}, the target is sm_{older}" in r.stderr, f"sm_{older}: is refused", r)
clitest.done()
