# SPDX-License-Identifier: Apache-2.0
"""Checkpoints, tokenizers and templates that are damaged or made to harm: each is refused with a message that says where, in bounded
time and memory."""
import json
import os
import resource
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
from clitest import TENON, check, done, path, refused, tenon, write  # noqa: E402

try:
    import numpy as np  # noqa: F401
except ImportError:
    print("no numpy here")
    sys.exit(77)
from small_model import Model  # noqa: E402

SANITIZED = float(os.environ.get("TESTS_TIMEOUT") or 300) > 300
resource.setrlimit(resource.RLIMIT_CPU, (600, 600))
if not SANITIZED:  # whose shadow takes terabytes of addresses
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
SECONDS, KILOBYTES = (240, 3 << 20) if SANITIZED else (60, 400 << 10)
NEAR = (1 << 63) - 1
FAR = 1 << 63
DEPTH = 100000


class Result:
    def __init__(self, returncode, stdout, stderr):
        self.returncode, self.stdout, self.stderr = returncode, stdout, stderr


def run(*args, given=""):
    """Runs tenon; what it prints, how long it takes and the most memory that it has."""
    out, err = path("out"), path("err")
    with open(write("in", given)) as i, open(out, "w") as o, open(err, "w") as e:
        start = time.monotonic()
        p = subprocess.Popen([TENON, *args], stdin=i, stdout=o, stderr=e)
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
    r = Result(p.returncode, open(out, errors="replace").read(), open(err, errors="replace").read())
    spent = usage.ru_utime + usage.ru_stime
    if spent > SECONDS or usage.ru_maxrss > KILOBYTES:
        check(False, f"{' '.join(args)[-60:]}: {spent:.1f} s of a processor ({time.monotonic() - start:.0f} s), {usage.ru_maxrss >> 10} MiB", r)
    return r


def bad(what, model, *texts):
    refused(what, run("compile", model, "-t", "null", "-o", path("bad.tno")), os.path.basename(model), *texts, status=(1,))


# ---- GGUF ----

def text(s):
    s = s if isinstance(s, bytes) else s.encode()
    return struct.pack("<Q", len(s)) + s


def entry(key, kind, data):
    return text(key) + struct.pack("<I", kind) + data


def head(tensors, entries):
    return b"GGUF" + struct.pack("<IQQ", 3, tensors, entries)


m = Model(seed=1, vocab=258, context=96)
whole = m.gguf()
good = write("m.gguf", whole)
r = run("compile", good, "-t", "null", "-o", path("m.null.tno"))
check(r.returncode == 0, "the model that the others are made of is right", r)
start = whole.index(b"token_embd.weight")  # of the table of tensors
for k in range(24):
    n = len(whole) * k // 24 if k > 12 else start * k // 8
    bad(f"GGUF cut at {n} of {len(whole)} bytes", write("cut.gguf", whole[:n]))


def patched(at, fmt, *values):
    raw = struct.pack("<" + fmt, *values)
    return write("patched.gguf", whole[:at] + raw + whole[at + len(raw):])


dims = start + len("token_embd.weight")  # their number, two extents, the type, the offset
for v in (NEAR, FAR, (1 << 64) - 1, 1 << 48, 1 << 32):
    bad(f"{v} tensors", patched(8, "Q", v))
    bad(f"{v} entries", patched(16, "Q", v))
    bad(f"a name of {v} bytes", patched(start - 8, "Q", v))
    bad(f"an extent of {v}", patched(dims + 4, "Q", v), "token_embd.weight")
    bad(f"an offset of {v}", patched(dims + 24, "Q", v & ~31), "token_embd.weight")
    bad(f"an array of {v} texts", write("texts.gguf", head(0, 1) + entry("a", 9, struct.pack("<IQ", 8, v))), "'a'")
    bad(f"an array of {v} numbers", write("numbers.gguf", head(0, 1) + entry("a", 9, struct.pack("<IQ", 12, v))), "'a'")
    bad(f"a text of {v} bytes", write("text.gguf", head(0, 1) + entry("a", 8, struct.pack("<Q", v))), "offset")
bad("two extents whose product overflows", patched(dims + 4, "QQ", 1 << 47, 1 << 47), "token_embd.weight")
bad("4,000,000,000 dimensions", patched(dims, "I", 4000000000), "dimensions")
bad("an unknown type", patched(dims + 20, "I", 77), "unknown type 77")
bad("integers as weights", patched(dims + 20, "I", 26), "token_embd.weight")
bad("a misplaced tensor", patched(dims + 24, "Q", 4), "token_embd.weight")
second = whole.index(b"blk.0.", start)
second = whole.index(b".weight", second) + 7
rank = struct.unpack_from("<I", whole, second)[0]
bad("tensors that overlap", patched(second + 8 + 8 * rank, "Q", 32), "overlap")
for name in ("output_norm.weight", "blk.1.attn_k.weight", "token_embd.weight"):
    bad(f"no {name}", write("missing.gguf", m.gguf(drop=(name,))), name)
a = m.arch
for key, value in ((f"{a}.block_count", 0), (f"{a}.block_count", 1 << 31), (f"{a}.attention.head_count", 0), (f"{a}.attention.head_count", 4000000000),
                   (f"{a}.attention.head_count_kv", 3), (f"{a}.embedding_length", 0), (f"{a}.embedding_length", 4294967295), (f"{a}.context_length", 0),
                   (f"{a}.attention.key_length", 4294967295), (f"{a}.attention.key_length", 0), (f"{a}.feed_forward_length", 7),
                   (f"{a}.block_count", "two"), ("general.architecture", 5), ("general.architecture", "nosuch"), ("general.alignment", 3),
                   (f"{a}.attention.layer_norm_rms_epsilon", float("nan")), (f"{a}.rope.freq_base", float("inf"))):
    bad(f"{key} of {value!r}", write("key.gguf", m.gguf(extra={key: value})))
bad("an array of arrays", write("arrays.gguf", head(0, 1) + entry("a", 9, struct.pack("<IQ", 9, 1) + struct.pack("<IQ", 9, 1) * 100)), "'a'")
bad("4,000,000 empty texts", write("empty.gguf", head(0, 1) + entry("a", 9, struct.pack("<IQ", 8, 4000000)) + bytes(32000000)))
bad("200,000 entries", write("entries.gguf", head(0, 200000) + b"".join(entry(str(i), 0, b"\0") for i in range(200000))))
bad("an entry twice", write("twice.gguf", head(0, 2) + entry("a", 0, b"\0") * 2), "'a'")

# ---- folders ----
folder = path("hf")
m.huggingface(folder)
config = json.load(open(os.path.join(folder, "config.json")))
weights = open(os.path.join(folder, "model.safetensors"), "rb").read()
size = struct.unpack_from("<Q", weights)[0]
header = json.loads(weights[8:8 + size])
first = "model.embed_tokens.weight"


def files(**named):
    for name, data in {"config.json": json.dumps(config), "model.safetensors": weights, **{k.replace("__", "."): v for k, v in named.items()}}.items():
        p = os.path.join(folder, name)
        if os.path.exists(p):
            os.remove(p)
        if data is not None:
            write(os.path.join("hf", name), data)
    return folder


def refused_folder(what, *texts, **named):
    refused(what, run("compile", files(**named), "-t", "null", "-o", path("bad.tno")), *texts, status=(1,))


def tensors(**changes):
    h = {**header, first: {**header[first], **changes}}
    raw = json.dumps(h).encode()
    return struct.pack("<Q", len(raw)) + raw + weights[8 + size:]


deep = "[" * DEPTH + "]" * DEPTH
nested = '{"a":' * DEPTH + "1" + "}" * DEPTH
for name, s in (("lists", deep), ("objects", nested), ("open lists", "[" * DEPTH)):
    refused_folder(f"config.json of {name}, {DEPTH} deep", "config.json", config__json=s)
    refused_folder(f"an index of {name}, {DEPTH} deep", "index.json", model__safetensors=None, **{"model__safetensors__index__json": s})
    refused_folder(f"a header of {name}, {DEPTH} deep", "model.safetensors", model__safetensors=struct.pack("<Q", len(s)) + s.encode())
files(**{"model__safetensors__index__json": None})
refused_folder("config.json with deep lists in a key", "config.json", config__json=json.dumps(config)[:-1] + ', "x": ' + deep + "}")
refused_folder("an empty config.json", "config.json", config__json="")
refused_folder("config.json that is a list", "config.json", config__json="[]")
refused_folder("config.json that is no text", "config.json", config__json=b"\xff\xfe\0")
refused_folder("no config.json", config__json=None)
refused_folder("no weights", "model.safetensors", model__safetensors=None)
for key, value in (("num_hidden_layers", -1), ("num_hidden_layers", NEAR), ("num_hidden_layers", "2"), ("hidden_size", 0), ("hidden_size", NEAR), ("hidden_size", 1e300),
                   ("num_attention_heads", 0), ("num_attention_heads", NEAR), ("num_key_value_heads", 3), ("num_key_value_heads", NEAR), ("head_dim", NEAR),
                   ("vocab_size", 0), ("vocab_size", NEAR), ("intermediate_size", NEAR), ("max_position_embeddings", 0), ("max_position_embeddings", NEAR),
                   ("rope_theta", 0), ("rope_theta", "x"), ("rms_norm_eps", -1), ("model_type", None), ("model_type", "nosuch"), ("model_type", ["llama"]),
                   ("sliding_window", -5), ("hidden_act", "nosuch"), ("rope_scaling", {"rope_type": "longrope", "long_factor": [1] * 100000}),
                   ("rope_scaling", {"rope_type": "longrope", "original_max_position_embeddings": 1e300}),
                   ("rope_scaling", {"rope_type": "nosuch"}), ("partial_rotary_factor", "a")):
    refused_folder(f"{key} of {str(value)[:40]}", config__json=json.dumps({**config, key: value}))
for n in (0, 7, 8, 9, size // 2, size + 8, len(weights) - 1):
    refused_folder(f"safetensors cut at {n} bytes", "model.safetensors", model__safetensors=weights[:n])
for v in (NEAR, FAR, (1 << 64) - 1, 1 << 40):
    refused_folder(f"a header of {v} bytes", "model.safetensors", model__safetensors=struct.pack("<Q", v) + weights[8:])
    refused_folder(f"a tensor that ends at {v}", "model.safetensors", model__safetensors=tensors(data_offsets=[0, v]))
    refused_folder(f"an extent of {v}", "model.safetensors", model__safetensors=tensors(shape=[v, 2]))
begin, end = header[first]["data_offsets"]
refused_folder("a tensor that begins at -1", first, model__safetensors=tensors(data_offsets=[-1, end]))
refused_folder("a tensor that ends before it begins", first, model__safetensors=tensors(data_offsets=[end, begin]))
refused_folder("a tensor beyond the end", first, model__safetensors=tensors(data_offsets=[len(weights), len(weights) + end - begin]))
refused_folder("tensors that overlap", "overlap", model__safetensors=tensors(data_offsets=[begin + 4, end + 4]))
refused_folder("offsets that are no list", first, model__safetensors=tensors(data_offsets=7))
refused_folder("a shape that is none", first, model__safetensors=tensors(shape=[1] * 100))
refused_folder("another shape", first, model__safetensors=tensors(shape=[end - begin, 1]))
refused_folder("an unknown type", "F4_X", model__safetensors=tensors(dtype="F4_X"))
refused_folder("integers as weights", first, model__safetensors=tensors(dtype="I32"))
refused_folder("a tensor twice", "model.safetensors", model__safetensors=struct.pack("<Q", 8) + b'{"a":1,"a":2}'[:8])
for gone in (first, "model.norm.weight"):
    kept = {k: v for k, v in header.items() if k != gone}
    raw = json.dumps(kept).encode()
    refused_folder(f"no {gone}", model__safetensors=struct.pack("<Q", len(raw)) + raw + weights[8 + size:])
for what, index in (("leads out of the folder", {first: "../m.gguf"}), ("names what is not there", {first: "none.safetensors"}), ("has numbers", {first: 5}), ("is empty", {}),
                    ("names itself", {first: "model.safetensors.index.json"})):
    refused_folder(f"an index that {what}", "index.json" if "not there" not in what else "none", model__safetensors=None,
                   **{"model__safetensors__index__json": json.dumps({"weight_map": index})})
files(**{"model__safetensors__index__json": None})

# ---- llama2.c ----
binary = m.llama2c(version=1)
for n in (3, 4, 8, 200, 256, len(binary) // 2, len(binary) - 1):
    bad(f"a file of llama2.c, cut at {n}", write("m.bin", binary[:n]))
for at in range(8, 36, 4):
    for v in (0, -1, (1 << 31) - 1, -(1 << 31)):
        if at == 28 and v == -1 or at == 32 and v == (1 << 31) - 1:
            continue
        r = run("compile", write("m.bin", binary[:at] + struct.pack("<i", v) + binary[at + 4:]), "-t", "null", "-o", path("bad.tno"))
        refused(f"a file of llama2.c with {v} at {at}", r, "m.bin", status=(1,))

# ---- tokenizers and templates ----
tno = path("m.tno")
r = tenon("compile", good, "-o", tno)
check(r.returncode == 0, "the model for the tokenizers is compiled", r)


def refused_tokenizer(what, name, data, *texts, prompt="abc"):
    refused(what, run("generate", tno, "--tokenizer", write(name, data), "--prompt-file", write("prompt", prompt), "--max-tokens", "1"), *texts, status=(1,))


letters = {chr(97 + i): i for i in range(26)}
usual = {"model": {"type": "BPE", "vocab": letters, "merges": ["a b"]}}
for name, s in (("lists", deep), ("objects", nested), ("open lists", "[" * DEPTH), ("steps", '{"normalizer":' + '{"type":"Sequence","normalizers":[' * DEPTH)):
    refused_tokenizer(f"tokenizer.json of {name}, {DEPTH} deep", "tokenizer.json", s, "tokenizer.json")
refused_tokenizer("merges of what is no token", "tokenizer.json", json.dumps(usual), "merge")
refused_tokenizer("ids beyond all", "tokenizer.json", json.dumps({"model": {"type": "BPE", "vocab": {"a": NEAR}, "merges": []}}), "tokenizer.json")
refused_tokenizer("ids with a hole of 2^31", "tokenizer.json", json.dumps({"model": {"type": "BPE", "vocab": {"a": (1 << 31) - 1}, "merges": []}}), "tokenizer.json")
for pattern in ("(a+)+$", "(a*)*$"):
    steps = {"pre_tokenizer": {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated"}, "model": {"type": "BPE", "vocab": letters, "merges": []}}
    refused_tokenizer(f"the expression {pattern} on 5,000 letters", "tokenizer.json", json.dumps(steps), "regular expression", prompt="a" * 5000 + "!")
refused_tokenizer("an expression of 100,000 brackets", "tokenizer.json", json.dumps({**steps, "pre_tokenizer": {**steps["pre_tokenizer"], "pattern": {"Regex": "(" * DEPTH + ")" * DEPTH}}}),
                  "regular expression")
grow = [{"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 100}] * 12
refused_tokenizer("normalizers that multiply a text", "tokenizer.json", json.dumps({**usual, "normalizer": {"type": "Sequence", "normalizers": grow}, "model": steps["model"]}), "normalizers", prompt="a" * 1000)
refused_tokenizer("pre-tokenizers that multiply a text", "tokenizer.json", json.dumps({"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "ByteLevel", "use_regex": False}] * 40}, "model": steps["model"]}),
                  "pre-tokenizers", prompt="\u00e9" * 1000)
for v in (NEAR, FAR, (1 << 64) - 1, 1 << 40):
    varint = b""
    while v > 127:
        varint, v = varint + bytes([v & 127 | 128]), v >> 7
    refused_tokenizer(f"tokenizer.model with a piece of {varint.hex()} bytes", "tokenizer.model", b"\x0a" + varint + bytes([v]) + b"\x0a\x01a", "tokenizer.model")
refused_tokenizer("tokenizer.model that is only lengths", "tokenizer.model", b"\x0a\x00" * 2000000, "tokenizer.model")
refused_tokenizer("tokenizer.bin with a text of 2^31 bytes", "tokenizer.bin", struct.pack("<Ifi", 5, 0, (1 << 31) - 1) + b"a" * 64, "tokenizer.bin")
for n, what in ((FAR, "2^63"), (100000000, "too many")):
    refused_tokenizer(f"GGUF with {what} tokens", "t.gguf", head(0, 2) + entry("tokenizer.ggml.model", 8, text("gpt2")) + entry("tokenizer.ggml.tokens", 9, struct.pack("<IQ", 8, n)), "t.gguf")
refused_tokenizer("GGUF with fewer scores than tokens", "t.gguf", head(0, 3) + entry("tokenizer.ggml.model", 8, text("llama")) + entry(
    "tokenizer.ggml.tokens", 9, struct.pack("<IQ", 8, 2) + text("a") + text("b")) + entry("tokenizer.ggml.scores", 9, struct.pack("<IQ", 6, 1) + bytes(4)), "scores")
refused_tokenizer("a begin of text beyond the vocabulary", "t.gguf", head(0, 4) + entry("tokenizer.ggml.model", 8, text("gpt2")) + entry(
    "tokenizer.ggml.tokens", 9, struct.pack("<IQ", 8, 1) + text("a")) + entry("tokenizer.ggml.merges", 9, struct.pack("<IQ", 8, 0)) + entry(
    "tokenizer.ggml.bos_token_id", 4, struct.pack("<I", 7)), "bos_token_id")

write("tokenizer.json", json.dumps(steps))
for what, template in (("loops", "{% for a in range(100000) %}{% for b in range(100000) %}{{ a }}{% endfor %}{% endfor %}"),
                       ("calls itself", "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"),
                       ("doubles a text", "{% set n = namespace(x='a') %}{% for i in range(64) %}{% set n.x = n.x ~ n.x %}{% endfor %}{{ n.x }}"),
                       ("doubles a list", "{% set n = namespace(x=[1]) %}{% for i in range(64) %}{% set n.x = n.x + n.x %}{% endfor %}{{ n.x | length }}"),
                       ("holds itself", "{% set n = namespace() %}{% set n.n = n %}{{ n }}"),
                       ("is deep", "{{ " + "(" * DEPTH + "1" + ")" * DEPTH + " }}"),
                       ("is deeper", "{% if 1 %}" * DEPTH),
                       ("multiplies", "{{ 'x' * 9223372036854775807 }}"),
                       ("indents", "{{ ('a\\n' * 1000000) | indent(1000000) }}"),
                       ("writes on", "{% for a in range(10000) %}{{ 'x' * 100000 }}{% endfor %}")):
    refused(f"a template that {what}", run("chat", tno, "--tokenizer", path("tokenizer.json"), "--chat-template", write("t.jinja", template), given="hi\n"), "t.jinja:1", status=(1,))
done()
