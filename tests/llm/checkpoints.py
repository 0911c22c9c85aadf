# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of every architecture and format against a reference in float64: all rows at once, token by token, in chunks, in a batch
with a fork, with tokens taken back. What a wrong importer would compute differs by more than the tolerance. Checkpoints that lack
something or lie are refused."""
import json
import math
import os
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
from clitest import check, done, path, refused, tenon, write  # noqa: E402

try:
    import numpy as np
except ImportError:
    print("no numpy here")
    sys.exit(77)
from compare import TARGET, compare as compare_logits, run  # noqa: E402
from small_model import BLOCKS, Model, write_gguf  # noqa: E402

WAYS = ("once", "steps", "chunks", "batch", "again")
IDS = [int(x) for x in np.random.default_rng(7).integers(0, 40, 21)]
LLAMA3 = {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 16}


def compare(name, source, want, ways=WAYS, mutations=(), **how):
    compare_logits(name, source, IDS, want, ways, mutations, **how)


def mutations(m):
    out = [("another epsilon", m.logits(IDS, eps=m.eps * 100 + 0.05))]
    if not m.gpt2:
        out += [("RoPE of neighbours", m.logits(IDS, interleaved=True)), ("other frequencies", m.logits(IDS, faster=1.01))]
    if m.kv > 1:
        out.append(("swapped heads", m.logits(IDS, swap=True)))
    if m.window:
        out += [("a window off by one", m.logits(IDS, window=m.window + n)) for n in (-1, 1)]
    if m.window and m.period:
        out.append(("a window in all layers", m.logits(IDS, kinds=False)))
    if m.score_cap or m.logit_cap:
        out.append(("no limit of scores and logits", m.logits(IDS, cap=False)))
    if m.scalar:
        out.append(("another scale of scores", m.logits(IDS, scale=math.sqrt(m.scalar / m.dim))))
    return out


# ---- every architecture, in GGUF and in a folder ----
FACTORS = [1.0, 1.5, 2.0, 4.0]
GEMMA_2 = dict(arch="gemma2", tied=True, dim=16, layers=3, window=6, period=2, score_cap=4.0, logit_cap=8.0)
GEMMA_3 = dict(arch="gemma3", tied=True, dim=16, kv=1, layers=7, window=5, period=6, qk_norm=True, theta=1e6, local_theta=1e4)
MODELS = [
    ("llama", dict()),
    ("llama tied", dict(tied=True, heads=2, kv=1, dim=16)),
    ("llama linear", dict(scaling={"rope_type": "linear", "factor": 2.0})),
    ("qwen2", dict(arch="qwen2", bias=True)),
    ("qwen3", dict(arch="qwen3", qk_norm=True, dim=16)),
    ("phi3", dict(arch="phi3", joined=True, window=6)),
    ("gemma", dict(arch="gemma", tied=True, dim=16, kv=1)),
    ("gpt2", dict(arch="gpt2", kv=4, tied=True)),
    ("gemma2", dict(GEMMA_2)),
    ("gemma3", dict(GEMMA_3)),
    ("gemma3 scaled", dict(GEMMA_3, scaling={"rope_type": "linear", "factor": 8.0})),
]
for i, (name, options) in enumerate(MODELS):
    m = Model(seed=i + 1, **options)
    source = write("model.gguf", m.gguf())
    compare(f"{name}, gguf", source, m.logits(IDS), mutations=mutations(m))
    folder = path(f"folder{i}")
    m.huggingface(folder, shards=1 + i % 2 * 2)
    compare(f"{name}, folder", folder, m.logits(IDS), ways=("once", "steps"), mutations=mutations(m))
m = Model(seed=20, window=5, arch="mistral")
m.huggingface(path("mistral"), dtype="BF16")
compare("mistral, folder of bfloat16", path("mistral"), m.logits(IDS), mutations=mutations(m))
m = Model(seed=24, **GEMMA_2, scalar=40)
m.huggingface(path("gemma2"))
compare("gemma2's scale, folder", path("gemma2"), m.logits(IDS), ways=("once", "steps"), mutations=mutations(m))
m = Model(seed=25, **GEMMA_3, scaling={"rope_type": "linear", "factor": 8.0})
m.huggingface(path("gemma3"), text_part=True)
compare("gemma3, text of a model that knows images", path("gemma3"), m.logits(IDS), ways=("once",), mutations=mutations(m))
for n, pattern in ((0, 3), (1, [1, 1, 0, 1, 1, 0, 1])):
    m = Model(seed=26 + n, **{**GEMMA_3, "period": 3})
    compare(f"gemma3's pattern {pattern}, gguf", write("model.gguf", m.gguf(extra={"gemma3.attention.sliding_window_pattern": pattern})),
            m.logits(IDS), ways=("once",), mutations=mutations(m))
m = Model(seed=21, scaling=LLAMA3)
m.huggingface(path("llama3"))
compare("llama3's scaling, folder", path("llama3"), m.logits(IDS), ways=("once", "steps"))
m = Model(seed=22, factors=FACTORS)
compare("RoPE's factors, gguf", write("model.gguf", m.gguf()), m.logits(IDS), ways=("once", "steps"))
for version in (0, 1):
    for tied in (False, True):
        m = Model(seed=23, tied=tied)
        compare(f"llama2.c {version}{' shared' if tied else ''}", write("model.bin", m.llama2c(version)), m.logits(IDS),
                ways=("once", "steps"), mutations=mutations(m))

# ---- types of GGUF ----
for kind in ("F16", "BF16", *BLOCKS):
    m = Model(seed=30, hidden=256, inner=256, heads=4, kv=2, dim=16, scale=0.8)
    m.w = {n: v for n, v in m.w.items()}
    types = {"attn_output": "F32"} if kind in BLOCKS and BLOCKS[kind][1] > 64 else {}
    types.update({"": kind})
    source = write("model.gguf", m.gguf(types=types))
    compare(kind, source, m.logits(IDS), ways=("once", "steps", "batch"))
    if kind in ("Q4_0", "Q6_K") and TARGET == "cpu":  # repacked weights, activations in int8
        compare(kind + ", int8", source, m.logits(IDS), ways=("once", "steps", "batch"), target="cpu", tolerance=0.1)

# ---- what is refused ----
good = Model(seed=40)


def wrong(what, data, *texts):
    refused(what, tenon("compile", write("bad.gguf", data), "-t", TARGET, "-o", path("bad.tno")), *texts)


wrong("a tensor that lacks", good.gguf(drop=("blk.1.ffn_up.weight",)), "blk.1.ffn_up.weight", "of 2 layers")
wrong("more layers than there are", good.gguf(extra={"llama.block_count": 3}), "blk.2.attn_norm.weight")
wrong("a million layers", good.gguf(extra={"llama.block_count": 1000000}), "number of layers is 1000000")
wrong("another size", good.gguf(extra={"llama.feed_forward_length": 47}), "ffn_gate", "[48, 32]", "[47, 32]")
wrong("heads that do not divide", good.gguf(extra={"llama.attention.head_count": 3, "llama.attention.head_count_kv": 2}), "no multiple")
wrong("no heads", good.gguf(extra={"llama.attention.head_count": 0}), "number of heads is 0")
wrong("another architecture", good.gguf(extra={"general.architecture": "lama"}), "'lama'", "did you mean 'llama'")
wrong("a number that is a text", good.gguf(extra={"llama.block_count": "two"}), "llama.block_count", "no count")
wrong("unknown scaling", good.gguf(extra={"llama.rope.scaling.type": "odd"}), "'odd'")
for name in ("blk.0.post_attention_norm.weight", "blk.1.attn_norm.bias", "blk.0.attn_sinks.weight", "blk.2.attn_norm.weight"):
    more = Model(seed=40)
    more.w[name] = np.ones(32, np.float32)
    wrong(f"a tensor {name}, which nothing uses", more.gguf(), name, "no part of the model uses the tensor")
wrong("a type that is not supported", write_gguf(
    {"general.architecture": "llama"}, {"w": (10, (1, 256), bytes(84))}), "llama.block_count")
data = good.gguf()
wrong("a file cut off", data[:-100], "passes the end of the file", "download it again")
for key, value, text in (("model_type", "unknown", "'unknown'"), ("num_hidden_layers", -1, "no count"), ("hidden_size", 33, "[40, 32]"),
                         ("hidden_act", "relu", "'relu'"), ("attn_logit_softcapping", -50.0, "no sensible number"),
                         ("query_pre_attn_scalar", 0, "not positive"), ("layer_types", ["full_attention"], "another length"),
                         ("layer_types", ["full_attention", "chunked_attention"], "'chunked_attention'"),
                         ("scale_attn_by_inverse_layer_idx", True, "scale of scores"), ("scale_attn_weights", False, "scale of scores"),
                         ("rope_scaling", {"type": "mrope", "factor": 2.0}, "'mrope'"),
                         ("rope_scaling", {"type": "longrope", "original_max_position_embeddings": 1e300},
                          "'original_max_position_embeddings' is 1e+300"),
                         ("rope_scaling", {"type": "linear"}, "positive factor")):
    folder = path("bad-" + key)
    good.huggingface(folder, config={"sliding_window": 6 if key == "layer_types" else None, key: value})
    refused(f"config.json: {key} {value}", tenon("compile", folder, "-t", TARGET, "-o", path("bad.tno")), text)
tied = path("tied")
Model(seed=40, tied=True).huggingface(tied, config={"tie_word_embeddings": False})
refused("a last matrix that lacks", tenon("compile", tied, "-t", TARGET, "-o", path("bad.tno")), "lm_head.weight", "tie_word_embeddings")
# Qwen's layers from max_window_layers on have a window; kinds of layers say it since
for i, (what, config, full) in enumerate((("some layers", {"use_sliding_window": True, "max_window_layers": 1}, [True, False]),
                                          ("kinds that differ", {"layer_types": ["sliding_attention", "full_attention"], "use_sliding_window": True}, [False, True]),
                                          ("no layer", {"use_sliding_window": True, "max_window_layers": 2}, [True, True]),
                                          ("a switch that is off", {"layer_types": ["sliding_attention"] * 2, "use_sliding_window": False}, [True, True]),
                                          ("kinds without one", {"layer_types": ["full_attention"] * 2, "use_sliding_window": True}, [True, True]))):
    m = Model(seed=41, arch="qwen2", bias=True, window=6)
    m.slides = lambda layer, full=full: not full[layer]
    folder = path(f"windows-{i}")
    m.huggingface(folder, config=config)
    compare(f"windows of {what}", folder, m.logits(IDS), ways=("once",), mutations=[("windows of all layers", m.logits(IDS, kinds=False))])
folder = path("empty")
good.huggingface(folder)
os.remove(os.path.join(folder, "model.safetensors"))
refused("a folder without weights", tenon("compile", folder, "-t", TARGET, "-o", path("bad.tno")), "neither model.safetensors")
write("deep/config.json", "[" * 100000)
refused("nested JSON", tenon("compile", path("deep"), "-t", TARGET, "-o", path("bad.tno")), "config.json")
refused("--dim", tenon("compile", write("model.gguf", data), "-t", TARGET, "--dim", "seq_len=4", "-o", path("bad.tno")), "--dim")

# ---- checkpoints of others, where they are ----
MODELS_FOLDER = os.environ.get("TENON_LLM_MODELS", os.path.join(os.environ["top_srcdir"], "..", "shared", "models", "llm"))


def numbers(file):
    with open(os.path.join(MODELS_FOLDER, file)) as f:
        return [int(x) for line in f for x in line.split("#")[0].split()]


if os.path.exists(os.path.join(MODELS_FOLDER, "stories260K")):
    ids = numbers("stories260K/expected_greedy_ids.txt")
    for name in ("stories260K.gguf", "stories260K.bin"):
        file = path("model.tno")
        r = tenon("compile", os.path.join(MODELS_FOLDER, "stories260K", name), "-t", TARGET, "-o", file)
        check(r.returncode == 0, f"{name}: compiles", r)
        for way in ("once", "steps"):
            r, got = run(file, way, ids[:-1], 512)
            check(got is not None and got.argmax(1).tolist() == ids[1:], f"{name}, {way}: the greedy tokens are those of llama2.c", r)
if os.path.exists(os.path.join(MODELS_FOLDER, "tiny_llama")):
    with open(os.path.join(MODELS_FOLDER, "tiny_llama", "meta.txt")) as f:
        IDS = [int(x) for x in dict(line.strip().split("=") for line in f)["tokens"].split(",")]
    want = np.fromfile(os.path.join(MODELS_FOLDER, "tiny_llama", "golden.bin"), np.float32).reshape(len(IDS), 112)
    compare("tiny_llama", os.path.join(MODELS_FOLDER, "tiny_llama"), want)
if os.path.exists(os.path.join(MODELS_FOLDER, "tiny_gpt2")):
    with open(os.path.join(MODELS_FOLDER, "tiny_gpt2", "tiny-gpt2", "golden.json")) as f:
        golden = json.load(f)
    IDS = golden["input_ids"]
    with open(os.path.join(MODELS_FOLDER, "tiny_gpt2", "tiny-gpt2", "model.safetensors"), "rb") as f:
        write("gpt2/model.safetensors", f.read())
    write("gpt2/config.json", json.dumps(dict(golden["config"], model_type="gpt2")))
    r = tenon("compile", path("gpt2"), "-t", TARGET, "-o", path("model.tno"))
    check(r.returncode == 0, "tiny_gpt2: compiles", r)
    for way in ("once", "steps", "batch"):
        r, got = run(path("model.tno"), way, IDS, 61)
        worst = np.abs(got - np.array(golden["logits"]).reshape(-1, 61)).max()
        check(worst < 1e-5, f"tiny_gpt2, {way}: within {worst:.1e} of PyTorch")

done()
