# SPDX-License-Identifier: Apache-2.0
"""Schedules of products of float16 that only a tuner chooses, as records of a tuning database: more stages and larger tiles than the shared
memory that a kernel declares has room for, and warps of their own for the copies, which barriers in shared memory let run ahead. On the simulated device, which looks for races, they compute what the cpu does."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
import clitest
from clitest import BUILD, check, path, tenon, write

SIM = os.path.join(BUILD, "tests", "cuda", "sim", ".libs")
MODEL = """\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((128, 320), "float16"), w: R.Tensor((320, 256), "float16")):
        with R.dataflow():
            y = R.nn.relu(R.matmul(x, w))
            R.output(y)
        return y
"""
ORDERS = ({}, {"CUDASIM_LATE": "1"}, {"CUDASIM_SEED": "3"}, {"CUDASIM_SEED": "4", "CUDASIM_LATE": "1"})
DECLARED, LAUNCH = 48 * 1024, 163 * 1024
# choices, bytes of shared memory, orders of the simulated device
CASES = (({"rows": 128, "columns": 256, "stages": 3}, 3 * (128 + 256) * 32 * 2, ORDERS[1::2]),
         ({"rows": 128, "columns": 128, "depth": 64, "stages": 4}, 4 * (128 + 128) * 64 * 2, ORDERS[::2]),
         ({"rows": 128, "columns": 128, "stages": 3, "producers": 1}, 3 * (128 + 128) * 32 * 2 + 2 * 3 * 8, ORDERS),
         ({"rows": 64, "columns": 64, "stages": 2, "producers": 2}, 2 * (64 + 64) * 32 * 2 + 2 * 2 * 8, ORDERS))
if not os.path.exists(os.path.join(SIM, "libcuda.so.1")):
    print("no simulated device (cmocka is missing)")
    sys.exit(77)
TARGET = ("-t", "cuda", "--set", "target.cuda.arch=sm_80")


def sim(order):
    return dict(os.environ, LD_LIBRARY_PATH=SIM + ":" + os.environ.get("LD_LIBRARY_PATH", ""), CUDASIM_ARCH="80", **order)


def numbers(directory):
    return [clitest.read_npy(os.path.join(directory, file))[2] for file in sorted(os.listdir(directory))]


model, db, INPUTS = write("product.py", MODEL), path("measured.jsonl"), []
for name, shape in (("x", (128, 320)), ("w", (320, 256))):
    with open(path(name + ".npy"), "wb") as f:
        f.write(clitest.npy_bytes("<f2", shape, [(i * 37 % 101 - 50) / 64 for i in range(shape[0] * shape[1])]))
    INPUTS += ["-i", name + "=" + path(name + ".npy")]
r = tenon("tune", model, *TARGET, "--tuning-db", db, "--trials", "1", "--measure", "0.001", "--timeout", "300", env=sim({"CUDASIM_RACES": "0"}))
if "NVRTC" in r.stderr:
    print("no NVRTC")
    sys.exit(77)
with open(db, encoding="utf-8") as f:
    record = json.loads(f.read().split("\n")[1])
check(record["rule"] == "gpu.MatmulMMA", "the default schedule is measured", r)
cpu = tenon("run", model, *INPUTS, "-o", path("cpu"))
for n, (choices, shared, orders) in enumerate(CASES):
    what = ", ".join(f"{k} {v}" for k, v in choices.items())
    unknown = set(choices) - set(record["choices"])
    check(not unknown, f"{what}: choices of the rule: {unknown}")
    chosen = write(f"chosen{n}.jsonl", "\n".join(json.dumps(x) for x in (
        {"tenon_tuning": 1}, dict(record, choices=dict(record["choices"], **choices), seconds=1e-6))) + "\n")
    made = path(f"chosen{n}.tno")
    r = tenon("show", "kernel", model, record["name"], *TARGET, "--tuning-db", chosen, "--cost")
    m = re.search(r"shared memory +(\d+) bytes of at most (\d+)", r.stdout)
    check(m and (int(m[1]), int(m[2])) == (shared, LAUNCH if shared > DECLARED else DECLARED), f"{what}: {shared} bytes of shared memory", r)
    check(re.search(r"spilled +0 bytes", r.stdout), f"{what}: no memory for registers", r)
    check(tenon("compile", model, *TARGET, "--tuning-db", chosen, "-o", made).returncode == 0, f"{what}: is compiled")
    with open(made, "rb") as f:
        check((b"cp.async.mbarrier.arrive.noinc" in f.read()) == ("producers" in choices), f"{what}: copies arrive at barriers where warps have roles")
    for order in orders:
        gpu = tenon("run", made, *INPUTS, "-o", path("cuda"), env=sim(order))
        a, b = (numbers(path(d))[0] if x.returncode == 0 else [] for d, x in (("cpu", cpu), ("cuda", gpu)))
        check(len(a) == len(b) > 0 and all(abs(x - y) <= 2e-3 * (1 + abs(x)) for x, y in zip(a, b)), f"{what}, {order}: as on the cpu", gpu)
    if shared > 99 * 1024:
        r = tenon("run", made, *INPUTS, env=dict(sim({}), CUDASIM_ARCH="86"))
        clitest.refused(f"{what}: a device that gives a block less", r, f"kernel '{record['name']}", f"{shared} of the launch", f"at most {99 * 1024}",
                        "max_dynamic_shared_memory_per_block=" + str(99 * 1024), status=(1,))
    if n == 0:
        r = tenon("show", "kernel", model, record["name"], *TARGET, "--set", "target.cuda.max_dynamic_shared_memory_per_block=65536", "--tuning-db", chosen, "--cost")
        check(r.returncode == 0 and f"memory          {shared}" not in r.stdout, "a record of a target that gives more is not taken", r)
clitest.done()
