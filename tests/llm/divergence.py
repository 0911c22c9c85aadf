# SPDX-License-Identifier: Apache-2.0
"""With integer dot products the logits diverge from those of the dequantized weights no more than llama.cpp's do, on the same files and
tokens: mean Kullback-Leibler divergence and largest error. Trained models whose matrices this test quantizes, and random ones of larger
width, several for each type of blocks: a few rows make most of one model's mean. One text's largest error is a draw: the trained
models write more texts, whose largest errors are compared one by one, too.

The package llama-cpp-python is needed (TENON_LM_PYTHON names a Python with it and numpy); without it the test is skipped. llama.cpp runs
with a cache of float32, as here, and once with all tokens together, once token by token: results here are the same for both."""
import ctypes
import functools
import json
import os
import sys

python = os.environ.get("TENON_LM_PYTHON")
if python and os.path.abspath(python) != sys.executable:
    os.execv(python, [python, *sys.argv])
try:
    import numpy as np
    import llama_cpp
except ImportError as e:
    print(f"skipped: {e}; TENON_LM_PYTHON names a Python that has it")
    sys.exit(77)
SRC = os.environ["top_srcdir"]
sys.path += [os.path.join(SRC, "tests", part) for part in ("llm", "tools", "lm")]
from clitest import check, done, path, tenon, write  # noqa: E402
from compare import ONLY, run  # noqa: E402
from lmtest import MODELS, tokenize  # noqa: E402
from small_model import Model  # noqa: E402

COUNT = 384  # tokens of a model, of two texts or more
WRITTEN = 16  # texts of a trained model besides
TEXTS = ("Once upon a time there was a little girl named Lily. She loved to play outside in the park with her friends, and one day she "
         "saw a big red ball. \"Can I play with it?\" she asked. The dog said no, because it was not his ball.",
         "It was the best of times, it was the worst of times, it was the age of wisdom, it was the age of foolishness, it was the epoch "
         "of belief, it was the epoch of incredulity, it was the season of light, it was the season of darkness.",
         "Call me when the 3rd train (from London, at 10:45) arrives; I shall be at the station -- if it does not rain! \"Rain?\" said "
         "he. \"In July?\" She looked at him, smiled, and went on reading her newspaper without another word.")


# ---- models ----

def nearest(w, kind):
    """Blocks of the numbers nearest to w, as (bytes, weights)."""
    x = w.reshape(w.shape[0], -1, 32).astype(np.float32)
    most = 127 if kind == "Q8_0" else 7
    d = (np.abs(x).max(2, keepdims=True) / most).astype(np.float16)
    q = np.clip(np.rint(x / np.where(d == 0, 1, d).astype(np.float32)), -most, most).astype(np.int64)
    numbers = q.astype(np.int8).view(np.uint8) if kind == "Q8_0" else ((q[..., :16] + 8) | (q[..., 16:] + 8) << 4).astype(np.uint8)
    return np.concatenate([d.view(np.uint8), numbers], 2).tobytes(), (q * d.astype(np.float32)).reshape(w.shape).astype(np.float32)


def stories_of_llama2c():
    """karpathy's model, from llama2.c's file, whose rotary embedding turns neighbours."""
    file = os.path.join(MODELS, "llm", "stories260K", "stories260K.bin")
    if not os.path.exists(file):
        return None
    hidden, inner, layers, heads, kv, vocab, context = (int(x) for x in np.fromfile(file, np.int32, 7))
    m = Model(hidden=hidden, inner=inner, layers=layers, heads=heads, kv=kv, vocab=vocab, context=context, tied=True)
    data, at = np.fromfile(file, np.float32, offset=28), 0
    for name in ["token_embd", *("blk.%d." + n for n in ("attn_norm", "attn_q", "attn_k", "attn_v", "attn_output", "ffn_norm", "ffn_gate",
                                                         "ffn_down", "ffn_up")), "output_norm"]:
        for i in range(layers if "%d" in name else 1):
            own = (name % i if "%d" in name else name) + ".weight"
            n = m.w[own].size
            m.w[own] = data[at:at + n].reshape(m.w[own].shape)
            at += n
            if m.permuted(own):
                m.w[own] = m.unpermute(own, m.w[own])
    return m, texts(file.replace(".bin", ".gguf"), file.replace(".bin", ".gguf"))


def own_stories():
    """The model of examples/stories."""
    folder = os.path.join(SRC, "examples", "stories")
    m = Model(hidden=128, inner=320, layers=4, heads=4, kv=2, vocab=1024, context=256, eps=1e-6, tied=True)
    with open(os.path.join(folder, "model.safetensors"), "rb") as f:
        head = f.read(int.from_bytes(f.read(8), "little"))
        data, header = f.read(), json.loads(head)
    for name in m.w:
        t = header[m.own_name(name)]
        a, b = t["data_offsets"]
        m.w[name] = np.frombuffer(data[a:b], np.float16).reshape(t["shape"]).astype(np.float32)
    return m, texts(os.path.join(folder, "tokenizer.json"), folder)


@functools.cache
def texts(tokenizer, checkpoint):
    ids = [t[0] for t in tokenize(tokenizer, TEXTS, 1)]
    return [t[:COUNT // len(ids)] for t in ids] + [written(checkpoint, ids[0][0], seed) for seed in range(WRITTEN)]


def written(checkpoint, first, seed):
    """What the model writes when it draws."""
    r = tenon("generate", checkpoint, "--prompt", "It was", "--temperature", 1, "--seed", seed, "--max-tokens", 160, "--ignore-end", "--json", "-q")
    check(r.returncode == 0, f"{checkpoint}: writes", r)
    return [first, *json.loads(r.stdout)["tokens"]]


def random_model(hidden, seed):
    m = Model(hidden=hidden, inner=2 * hidden, layers=3, heads=hidden // 64, kv=max(1, hidden // 128), vocab=512, context=512, seed=seed)
    rng = np.random.RandomState(seed)
    return m, [[int(i) for i in rng.randint(0, 512, COUNT // 2)] for _ in range(2)]


# ---- the peer ----

def peer(file, ids, vocab, together):
    p = llama_cpp.llama_model_default_params()
    p.n_gpu_layers = 0
    model = llama_cpp.llama_model_load_from_file(file.encode(), p)
    c = llama_cpp.llama_context_default_params()
    c.n_ctx = c.n_batch = c.n_ubatch = max(64, len(ids))
    c.n_threads = c.n_threads_batch = 1  # two that wait for each other are slow where the machine has other work
    c.type_k = c.type_v = llama_cpp.GGML_TYPE_F32
    c.flash_attn_type = llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED
    context = llama_cpp.llama_init_from_model(model, c)
    out = []
    size = len(ids) if together else 1
    batch = llama_cpp.llama_batch_init(size, 0, 1)
    for start in range(0, len(ids), size):
        batch.n_tokens = size
        for i in range(size):
            batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.logits[i] = ids[start + i], start + i, 1, 1
            batch.seq_id[i][0] = 0
        if llama_cpp.llama_decode(context, batch) != 0:
            sys.exit("llama_decode failed")
        out += [np.ctypeslib.as_array(llama_cpp.llama_get_logits_ith(context, i), (vocab,)).copy() for i in range(size)]
    llama_cpp.llama_batch_free(batch)
    llama_cpp.llama_free(context)
    llama_cpp.llama_model_free(model)
    return np.stack(out)


@llama_cpp.llama_log_callback
def quiet(level, text, user):
    del user
    if level == 4 and os.environ.get("LLM_VERBOSE"):  # errors
        sys.stderr.write(text.decode())


# ---- the comparison ----

def log_softmax(x):
    x = x.astype(np.float64)
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def divergence(want, got):
    """Of each row of all texts, and the largest error of each text."""
    a, b = log_softmax(np.concatenate(want)), log_softmax(np.concatenate(got))
    return (np.exp(a) * (a - b)).sum(-1), np.array([np.abs(x - y).max() for x, y in zip(want, got)])


def measure(name, kind, made, blocks=None):
    """[(rows' divergence, texts' largest errors)] here, of llama.cpp all together and one by one; None: not in this run."""
    name = f"{name}, {kind}"
    if ONLY not in name or not made:
        return None
    m, sequences = made
    extra = {"tokenizer.ggml.model": "none", f"{m.arch}.vocab_size": m.vocab}
    # a row that is no multiple of the block stays float32
    types = {n: kind for n, v in m.w.items() if v.ndim == 2 and v.shape[1] % (256 if kind.endswith("_K") else 32) == 0}
    file = write("model.gguf", m.gguf(blocks=blocks, types=types, extra=extra))
    r = tenon("compile", file, "-t", "cpu", "-o", path("model.tno"))
    check(r.returncode == 0, f"{name}: compiles", r)
    want, own, once, steps = [], [], [], []
    for ids in sequences:
        want.append(m.logits(ids))
        r, got = run(path("model.tno"), "once", ids, m.vocab)
        check(r.returncode == 0, f"{name}: runs", r)
        own.append(got)
        once.append(peer(file, ids, m.vocab, True))
        steps.append(peer(file, ids, m.vocab, False))
    out = [divergence(want, x) for x in (own, once, steps)]
    row(name, len(out[0][0]), np.concatenate(want).std(), out)
    return out


def row(name, n, spread, measured):
    print(f"{name:34} {n:6} {spread:6.2f}" + "".join(f" {k.mean():12.3e} {w.max():10.3e}" for k, w in measured), flush=True)


def compare(name, measured):
    """What was measured of one or several models, together."""
    measured = [m for m in measured if m]
    if not measured:
        return
    joined = [tuple(np.concatenate([m[i][k] for m in measured]) for k in range(2)) for i in range(3)]
    if len(measured) > 1:
        row(name + ", all", len(joined[0][0]), 0, joined)
    (kl, worst), *theirs = joined
    check(kl.mean() <= min(k.mean() for k, _ in theirs), f"{name}: mean divergence")
    check(worst.max() <= min(w.max() for _, w in theirs), f"{name}: largest error")
    if len(worst) > WRITTEN:
        below = [int((worst < w).sum()) for _, w in theirs]
        print(f"  {len(worst)} texts: mean of largest errors {worst.mean():.4f}, llama.cpp's {', '.join(f'{w.mean():.4f}' for _, w in theirs)}; "
              f"below it in {below[0]} and {below[1]} of them", flush=True)
        # fewer than a quarter of 19 is one chance in a hundred where both are as good
        check(min(below) >= len(worst) // 4, f"{name}: largest errors, text by text")


llama_cpp.llama_log_set(quiet, ctypes.c_void_p(0))
llama_cpp.llama_backend_init()
print(f"llama-cpp-python {llama_cpp.__version__}: {llama_cpp.llama_print_system_info().decode()}")
print(f"{'model':34} {'tokens':>6} {'spread':>6} {'KL, tenon':>12} {'worst':>10} {'KL, together':>12} {'worst':>10} {'KL, one by one':>12} {'worst':>8}")
for kind in ("Q4_0", "Q8_0"):
    compare(f"stories260K, {kind}", [measure("stories260K", kind, stories_of_llama2c(), nearest)])
    compare(f"examples/stories, {kind}", [measure("examples/stories", kind, own_stories(), nearest)])
for kind in ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K"):
    models = [(512, seed) for seed in range(1, 6)] + [(1024, 1)]
    compare(f"random, {kind}", [measure(f"random, {hidden} wide, {seed}", kind, random_model(hidden, seed)) for hidden, seed in models])
done()
