# SPDX-License-Identifier: Apache-2.0
"""--quantize: a model whose weights Tenon quantizes computes what the reference computes with the weights that MLC-LLM's formula gives,
and the parameter file has its numbers. What is no checkpoint of floats is refused."""
import json
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
from clitest import DIGITS, check, done, path, refused, tenon, write  # noqa: E402

try:
    import numpy as np
except ImportError:
    print("no numpy here")
    sys.exit(77)
from compare import FLOATS, ONLY, TARGET, WAYS, compare, run  # noqa: E402
from small_model import Model  # noqa: E402

IDS = [int(x) for x in np.random.RandomState(7).randint(0, 40, 21)]
FORMATS = {"q4f16_1": (4, np.float16), "q4f32_1": (4, np.float32), "q8f16": (8, np.float16), "q0f16": (0, np.float16), "q0f32": (0, np.float32)}


def quantize(w, bits, floats):
    """Numbers and scales of groups of 32 along the last axis; the numbers of what is filled up stand for zero."""
    most = 2 ** (bits - 1) - 1
    rows, columns = w.shape
    groups = np.zeros((rows, -(-columns // 32) * 32), np.float32)
    groups[:, :columns] = w
    groups = groups.reshape(rows, -1, 32)
    scales = (np.abs(groups).max(2) / np.float32(most)).astype(floats)
    with np.errstate(divide="ignore", invalid="ignore"):
        q = np.rint(groups / scales[..., None].astype(np.float32)) + most
    return np.clip(np.nan_to_num(q, nan=most), 0, 2 * most).reshape(rows, -1).astype(np.uint32), scales


def dequantize(w, name):
    bits, floats = FORMATS[name]
    if not bits:
        return w.astype(floats).astype(np.float32)
    q, scales = quantize(w, bits, floats)
    values = (q.astype(np.float32) - (2 ** (bits - 1) - 1)) * np.repeat(scales.astype(np.float32), 32, axis=1)
    return values[:, :w.shape[1]]


def as_blocks(w, name, kind):
    """The same numbers and scales as blocks of GGUF, and the weights that they are."""
    bits, floats = FORMATS[name]
    q, scales = quantize(w, bits, floats)
    q = q.reshape(len(q), -1, 32).astype(np.int64) - (2 ** (bits - 1) - 1)
    numbers = q.astype(np.int8).view(np.uint8) if bits == 8 else ((q[..., :16] + 8) | (q[..., 16:] + 8) << 4).astype(np.uint8)
    return np.concatenate([scales[..., None].view(np.uint8), numbers], axis=2).tobytes(), dequantize(w, name)


def with_format(m, name):
    """The reference's weights as the format has them; GPT-2's matrices are kept as [out, in] here, too."""
    m.w = {n: dequantize(v, name) if v.ndim == 2 else v for n, v in m.w.items()}
    return m


def test(what, name, write_model, ways=("once", "steps"), **options):
    if ONLY not in f"{what}, {name}":
        return
    m = Model(**options)
    source = write_model(m)
    exact = m.logits(IDS)
    m = with_format(m, name)
    compare(f"{what}, {name}", source, IDS, m.logits(IDS), ways, options=("--quantize", name),
            mutations=[("weights as they were", exact)] if FORMATS[name][0] else ())


def folder(m, **how):
    m.huggingface(path("folder"), **how)
    return path("folder")


def gguf(m):
    return write("model.gguf", m.gguf())


WIDE = dict(hidden=64, inner=96, heads=4, kv=2, dim=16, seed=3)
test("llama, folder", "q4f16_1", folder, **WIDE)
test("llama of bfloat16, gguf", "q4f32_1", lambda m: write("model.gguf", m.gguf(types={"": "BF16"})), **WIDE)
test("phi3, joined matrices", "q8f16", folder, arch="phi3", joined=True, **WIDE)
test("gpt2, turned matrices and short groups", "q4f16_1", folder, arch="gpt2", kv=4, tied=True, hidden=48, heads=4, inner=80, seed=5)
test("llama of bfloat16", "q0f16", lambda m: folder(m, dtype="BF16"), ways=("once",), **WIDE)
if os.environ.get("TENON_LONG"):
    for name in FORMATS:
        test("llama of bfloat16", name, lambda m: folder(m, dtype="BF16"), ways=WAYS, **WIDE)
        test("llama, tied", name, folder, ways=WAYS, tied=True, **WIDE)
        test("gemma2", name, folder, arch="gemma2", tied=True, layers=3, window=6, period=2, score_cap=4.0, logit_cap=8.0, **WIDE)
        test("qwen2", name, folder, arch="qwen2", bias=True, **WIDE)

# ---- the parameter file ----
m = Model(**WIDE)
source, name = folder(m), "blk.0.ffn_down.weight"
r = tenon("compile", source, "-t", FLOATS, "-o", path("model.tno"), "--quantize", "q4f16_1")
write("folder/tokenizer.json", json.dumps({"model": {"type": "BPE", "vocab": {chr(97 + i): i for i in range(40)}, "merges": []}}))
cache = path("cache")
r = tenon("bench", path("model.tno"), "--prompt", "4", "--generate", "2", "--runs", "1", "--set", f"tenon.cache_dir={cache}")
files = [os.path.join(d, f) for d, _, fs in os.walk(cache) for f in fs if f.endswith(".safetensors")]
check(r.returncode == 0 and len(files) == 1, "one parameter file is made", r)
if files:
    with open(files[0], "rb") as f:
        data = f.read()
    n = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + n])

    def tensor(name, dtype):
        a, b = header[name]["data_offsets"]
        return np.frombuffer(data[8 + n + a:8 + n + b], dtype).reshape(header[name]["shape"])
    q, scales = quantize(m.w[name], 4, np.float16)
    words = (q.reshape(q.shape[0], -1, 8) << np.arange(0, 32, 4, dtype=np.uint32)).sum(2, dtype=np.uint32)
    check(np.array_equal(tensor(name, np.uint32), words), "its words hold eight numbers, the first one lowest")
    check(np.array_equal(tensor(name + ".scales", np.float16), scales), "its scales are float16, one of 32 numbers")

if TARGET == "cpu":  # embeddings that are the last product's weights, too, are numbers for one and blocks for the other
    Model(tied=True, **WIDE).huggingface(path("tied"))
    write("tied/tokenizer.json", open(path("folder/tokenizer.json")).read())
    r = tenon("bench", path("tied"), "--quantize", "q4f16_1", "--prompt", "4", "--generate", "2", "--runs", "1", "--set", f"tenon.cache_dir={path('tied_cache')}")
    files = [f for _, _, fs in os.walk(path("tied_cache")) for f in fs if f.endswith(".safetensors")]
    check(r.returncode == 0 and len(files) == 1 and "warning" not in r.stderr, "a file is made of one matrix in two layouts, too", r)

r = tenon("show", "kernel", source, "-t", FLOATS, "--quantize", "q4f16_1")
check(r.returncode == 0 and "product_q4f16_1" in r.stdout, "show knows its kernels", r)

# ---- integer dot products: the same numbers as GGUF's blocks are the same weights ----
TURNED = dict(arch="gpt2", kv=4, hidden=64, inner=96, heads=4, seed=5)
for name, kind, options in (("q4f16_1", "Q4_0", WIDE), ("q8f16", "Q8_0", TURNED)) if TARGET == "cpu" else ():
    m = Model(vocab=41, **options)
    source = folder(m)
    blocks = write("blocks.gguf", m.gguf(blocks=lambda w, kind: as_blocks(w, name, kind), types={"": kind}))
    got = []
    for what, file, options in (("numbers", source, ("--quantize", name)), ("blocks", blocks, ())):
        r = tenon("compile", file, "-t", "cpu", "-o", path("model.tno"), *options)
        check(r.returncode == 0, f"{name}, {what}: compiles", r)
        for way in ("once", "steps"):
            r, logits = run(path("model.tno"), way, IDS, m.vocab)
            check(r.returncode == 0, f"{name}, {what}, {way}: runs", r)
            got.append(logits)
    # RoPE of neighbours and of halves differ in rounding alone
    check(len(got) == 4 and all(g is not None and np.abs(g - got[0]).max() < 1e-5 * got[0].std() for g in got), f"{name} is {kind}")

# ---- layouts ----
m = Model(hidden=256, inner=256, heads=4, kv=2, seed=30)
kinds = {name: write(f"{name}.gguf", m.gguf(types={"": name})) for name in ("Q4_0", "Q6_K")}
r = tenon("compile", kinds["Q4_0"], "-t", "cpu,opencl", "-o", path("bad.tno"))
refused("a target that takes blocks as they are, and one that does not", r, "different layouts", "weight 'blk.0.attn_q.weight'",
        "for cpu interleave_rows by", "for opencl as its file has it", "block_activations=int8")
check("metadata cannot be written" not in r.stderr, "and no second message", r)
r = tenon("compile", kinds["Q4_0"], "-t", "cpu", "-o", path("model.tno"))
check(r.returncode == 0, "compiles", r)
refused("a file of other blocks", tenon("bench", path("model.tno"), "--weights", kinds["Q6_K"], "--prompt", "4", "--tokenizer", path("folder/tokenizer.json")),
        "Q6_K.gguf is not the checkpoint that the model was compiled from", "compile the model again")
if TARGET == "cpu":  # parameter files of two layouts that have each other's names are made again
    os.makedirs(path("layouts"), exist_ok=True)
    os.environ["XDG_CACHE_HOME"] = path("layouts")
    logits, files = {}, []
    for again in ("first", "again"):
        for cpu in ("x86-64-v4", "x86-64-v3"):
            r = tenon("compile", kinds["Q6_K"], "-t", "cpu", "--mcpu", cpu, "-o", path("model.tno"))
            check(r.returncode == 0, f"{cpu} compiles", r)
            r, logits[again, cpu] = run(path("model.tno"), "once", IDS, m.vocab)
            if r.returncode:
                print(f"{cpu} does not run here: {r.stderr}")
        files = files or [os.path.join(d, f) for d, _, fs in os.walk(path("layouts")) for f in fs if f.endswith(".safetensors")]
        if len(files) == 2 and again == "first":
            os.rename(files[0], path("other"))
            os.rename(files[1], files[0])
            os.rename(path("other"), files[1])
    if all(v is not None for v in logits.values()):
        check(len(files) == 2, "each layout has a parameter file")
        check(all(np.array_equal(logits["first", cpu], logits["again", cpu]) for cpu in ("x86-64-v4", "x86-64-v3")), "one of the other layout is not taken")

# ---- what is refused ----
refused("an unknown name", tenon("compile", source, "--quantize", "q4f16", "-o", path("bad.tno")), "'q4f16'", "did you mean 'q4f16_1'")
refused("a graph", tenon("compile", os.path.join(DIGITS, "digits.onnx"), "--quantize", "q4f16_1", "-o", path("bad.tno")), "not quantized")
m = Model(hidden=256, inner=256, heads=4, kv=2, dim=16, seed=30)
refused("blocks", tenon("compile", write("model.gguf", m.gguf(types={"attn_output": "F32", "": "Q8_0"})), "--quantize", "q4f16_1", "-o", path("bad.tno")),
        "quantized as Q8_0 already", "leave --quantize out")
refused("an artifact", tenon("generate", path("model.tno"), "--prompt", "a", "--quantize", "q4f16_1"), "affects compilation", status=(2,))
done()
