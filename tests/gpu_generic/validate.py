# SPDX-License-Identifier: Apache-2.0
"""spirv-val accepts every module that gpu_generic makes of the ONNX backend cases of the system package and the project's own: for a
device with no more than Vulkan 1.1, for one with everything but cooperative matrices, and for one with 16 KiB of shared memory and 128
threads in a block, which no kernel exceeds. Some of the cases in make check, all in check-long (SHARD splits them)."""
import concurrent.futures
import glob
import os
import shutil
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
from clitest import BUILD, SRC, check, done, path, tenon, write

ALL = "int64 float64 float16 int8 int16 8bit_buffer 16bit_buffer buffer_device_address".split()
# section, its keys, what spirv-val takes the module for, threads and bytes of shared memory of a block
TARGETS = [
    ("plain", {}, "vulkan1.1", 256, 16384),
    ("everything", {**{"supports_" + a: "yes" for a in ALL}, "max_threads_per_block": "1024", "max_shared_memory_per_block": "32768",
                    "thread_warp_size": "8",
                    "features": "subgroup:arithmetic, subgroup:clustered, subgroup:shuffle, shaderSignedZeroInfNanPreserveFloat32, "
                                "shaderDenormPreserveFloat32, shaderRoundingModeRTEFloat16"}, "vulkan1.1", 1024, 32768),
    ("small", {"supports_int64": "no", "max_threads_per_block": "128", "max_num_threads": "128", "max_shared_memory_per_block": "16384"},
     "vulkan1.1", 128, 16384),
]
EVERY = 24  # of the cases, in make check

data = os.environ.get("ONNX_TESTDATA", "/usr/share/libonnx-testdata/data")
if not os.path.isdir(os.path.join(data, "node")) or not os.path.exists(os.path.join(os.environ["TENON_PLUGIN_PATH"], "onnx.so")):
    sys.exit(77)
if not shutil.which("spirv-val"):
    print("spirv-val is not installed (spirv-tools)")
    sys.exit(77)


def all_models():
    own = path("own")
    os.mkdir(own)
    subprocess.run([os.path.join(BUILD, "tests", "onnx", "write_cases"), os.path.join(SRC, "tests", "onnx", "cases.txt"), own],
                   stdout=subprocess.DEVNULL, check=True)
    found = [m for d in ("node", "simple", "pytorch-operator", "pytorch-converted") for m in glob.glob(f"{data}/{d}/*/model.onnx")]
    return sorted(found) + sorted(glob.glob(own + "/*/model.onnx"))


def some(models):
    if not os.environ.get("TENON_LONG"):
        return models[::EVERY]
    shard, shards = map(int, (os.environ.get("SHARD") or "0/1").split("/"))
    return [m for i, m in enumerate(models) if i % shards == shard % shards]


def kernels(artifact):
    """Name, threads, bytes of shared memory and module of each kernel (backends/gpu_generic/payload.h)."""
    with open(artifact, "rb") as f:
        b = f.read()
    at = b.find(struct.pack("<I", 0x56535454))
    if at < 0:
        return
    n = struct.unpack_from("<4I", b, at)[2]
    at += 16
    for _ in range(n):
        _, name_words, params, turns, module_words, x, y, z, shared, _, _ = struct.unpack_from("<11I", b, at)
        at += 44
        name = b[at:at + 4 * name_words].split(b"\0")[0].decode()
        at += 4 * (name_words + params + turns)
        yield name, x * y * z, shared, b[at:at + 4 * module_words]
        at += 4 * module_words


def look(job):
    """What is wrong with the kernels of a model, how many there are; None: the target does not take it."""
    number, model, (section, _, env, most_threads, most_shared) = job
    artifact = path(f"{number}-{section}.tno")
    r = tenon("compile", model, "-t", section, "-o", artifact, "--config", ini)
    if r.returncode:
        return [], None
    wrong, n, label = [], 0, f"{section}: {os.path.basename(os.path.dirname(model))}: "
    for name, threads, shared, module in kernels(artifact):
        n += 1
        v = subprocess.run(["spirv-val", "--target-env", env, "-"], input=module, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if v.returncode:
            wrong.append(label + name + ": " + v.stdout.decode(errors="replace").strip())
        if threads > most_threads or shared > most_shared:
            wrong.append(label + f"{name}: {threads} threads, {shared} bytes of shared memory")
    os.unlink(artifact)
    return wrong, n


ini = write("targets.ini", "".join(f"[target {t[0]}]\nkind = gpu_generic\n" + "".join(f"{k} = {v}\n" for k, v in t[1].items()) for t in TARGETS))
models = some(all_models())
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    for target in TARGETS:
        results = list(pool.map(look, ((i, m, target) for i, m in enumerate(models))))
        taken, count = [n for _, n in results if n is not None], sum(n or 0 for _, n in results)
        wrong = [w for ws, _ in results for w in ws]
        for w in wrong:
            print(w)
        check(not wrong, f"{target[0]}: spirv-val accepts {count} modules of {len(taken)} of {len(models)} models")
        check(len(taken) * 4 > len(models) * 3 and count >= len(taken) // 2, f"{target[0]}: enough are compiled")
done()
