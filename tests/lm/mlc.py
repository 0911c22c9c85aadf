# SPDX-License-Identifier: Apache-2.0
"""Folders of MLC-LLM: weights in shards with their index, mlc-chat-config.json, and a module. The module is that of a small checkpoint of
transformers' form, printed as text; the tokens are those of the checkpoint. Then folders that lack something, or do not fit."""
import hashlib
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "llm"))
from clitest import TENON, check, done, path, refused, tenon, write  # noqa: E402

try:
    import numpy as np
except ImportError:
    print("no numpy here")
    sys.exit(77)
from small_model import Model  # noqa: E402

VOCAB, END = 258, 257


def tokenizer(folder):
    plain = [*range(0x21, 0x7f), *range(0xa1, 0xad), *range(0xae, 0x100)]
    rest = [b for b in range(256) if b not in plain]
    vocab = {chr(b) if b in plain else chr(256 + rest.index(b)): b for b in range(256)}
    with open(os.path.join(folder, "tokenizer.json"), "w") as f:
        json.dump({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}, "decoder": {"type": "ByteLevel"},
                   "model": {"type": "BPE", "vocab": {**vocab, "<start>": 256, "<end>": END}, "merges": []}}, f)


def module_of(folder):
    """The folder's module as text without its weights, and what its attributes say."""
    r = tenon("opt", folder, "-p", "Normalize")
    check(r.returncode == 0, "the checkpoint's module is printed", r)
    begin, end = "    I.module_attrs(", ")\n"
    line = next(x for x in r.stdout.splitlines(True) if x.startswith(begin))
    return r.stdout.replace(line, ""), json.loads(line[len(begin):-len(end)])


def halved(v):
    """float32 without its lower halves, and the upper ones."""
    upper = np.ascontiguousarray(v, np.float32).view(np.uint32) >> 16
    return (upper << 16).astype(np.uint32).view(np.float32), upper.astype(np.uint16)


class Folder:
    """What is written, so that a test may change it before."""

    def __init__(self, name, module, params, weights, format="raw", shards=2, index="tensor-cache.json", inside=True):
        self.path, self.index, self.module, self.inside, self.modules = path(name), index, module, inside, ["model.py"]
        self.config = {"model_type": "llama", "vocab_size": VOCAB, "context_window_size": 96, "sliding_window_size": -1,
                       "conv_template": {"stop_token_ids": [END]}}
        self.metadata = {"params": [{"name": p["name"], "shape": p["shape"], "dtype": p["dtype"], "preprocs": []} for p in params]}
        self.records, self.data = [], []
        for s in range(shards):
            data, records = b"", []
            for p in params[s::shards]:  # not in the order of the parameters
                v = weights[p["name"]].reshape(p["shape"])
                raw = halved(v)[1].tobytes() if format != "raw" else v.astype(p["dtype"]).tobytes()
                records.append({"name": p["name"], "shape": p["shape"], "dtype": p["dtype"], "format": format, "nbytes": len(raw),
                                "byteOffset": len(data)})
                data += raw
            self.records.append({"dataPath": f"params_shard_{s}.bin", "format": "raw-shard", "nbytes": len(data), "records": records,
                                 "md5sum": hashlib.md5(data).hexdigest()})
            self.data.append(data)

    def record(self, name):
        return next(r for s in self.records for r in s["records"] if r["name"] == name)

    def write(self):
        shutil.rmtree(self.path, ignore_errors=True)
        os.mkdir(self.path)
        tokenizer(self.path)
        text = self.module
        if self.inside and self.metadata is not None:
            text += f"\n    @R.function\n    def _metadata() -> R.Any:\n        return R.str({json.dumps(json.dumps(self.metadata))})\n"
        for name in self.modules:
            self.file(name, text)
        if not self.inside and self.metadata is not None:
            self.file("metadata.json", json.dumps(self.metadata))
        self.file("mlc-chat-config.json", json.dumps(self.config))
        if self.records is not None:
            self.file(self.index, json.dumps({"metadata": {}, "records": self.records}))
        for i, data in enumerate(self.data):
            self.file(f"params_shard_{i}.bin", data)
        return self.path

    def file(self, name, data):
        with open(os.path.join(self.path, name), "wb") as f:
            f.write(data if isinstance(data, bytes) else data.encode())


def tokens(source, *options):
    r = tenon("generate", source, "--prompt", "Once upon a time", "--max-tokens", "24", "--ignore-end", *options, "--json")
    return r, json.loads(r.stdout)["tokens"] if r.returncode == 0 else None


checkpoint = path("checkpoint")
m = Model(seed=3, vocab=VOCAB, context=96)
m.huggingface(checkpoint, config={"eos_token_id": END})
tokenizer(checkpoint)
module, attrs = module_of(checkpoint)
params = attrs["params"]["list"]
r, want = tokens(checkpoint)
check(want and len(set(want)) > 4, "the checkpoint says several things", r)

whole = path("whole.tno")
r = tenon("compile", Folder("mlc", module, params, m.w).write(), "-o", whole)
check(r.returncode == 0, "a folder with _metadata in its module compiles, checksums and all", r)
r, got = tokens(whole)
check(got == want, "the tokens of its artifact", r)
for options in ({"inside": False, "shards": 1}, {"index": "ndarray-cache.json", "shards": 5}):
    r, got = tokens(Folder("mlc", module, params, m.w, **options).write())
    check(got == want, f"the tokens of a folder, {options}", r)
r, got = tokens(os.path.join(path("mlc"), "mlc-chat-config.json"))
check(got == want, "the configuration stands for its folder", r)
r = tenon("show", "model", path("mlc"))
check(r.returncode == 0 and "prefill" in r.stdout, "show model", r)

# Texts with a window (Mistral): the first tokens see all, later ones no more than the last 20 tokens.
windowed = Folder("windowed", module, params, m.w)
windowed.config.update(model_type="mistral", sliding_window_size=20, attention_sink_size=0, context_window_size=-1)
r, got = tokens(windowed.write())
check(got and got[:4] == want[:4] and got != want, f"a model with a window writes {got} in place of {want}", r)
r, longer = tokens(windowed.path, "--max-tokens", "60", "--context", "200")
check(longer and longer[:24] == got, "and goes on behind its context", r)
windowed.config.update(sliding_window_size=4096)
r, got = tokens(windowed.write())
check(got == want, "a window that is longer than the text", r)

for name in m.w:
    m.w[name] = halved(m.w[name])[0]
m.huggingface(checkpoint, config={"eos_token_id": END})
r, want = tokens(checkpoint)
folder = Folder("mlc", module, params, m.w, format="f32-to-bf16")
for options in ((), ("--no-cache",)):
    r, got = tokens(folder.write(), *options)
    check(got == want, f"float32 weights that are kept as bfloat16 {options}", r)

NAME = "blk.0.ffn_up.weight"
changes = [
    ("no module", lambda f: f.modules.clear(), "no module", "mlc_llm compile"),
    ("two modules", lambda f: f.modules.append("other.py"), "several modules"),
    ("no metadata", lambda f: setattr(f, "metadata", None), "function _metadata", "metadata.json"),
    ("no index", lambda f: setattr(f, "records", None), "has no tensor-cache.json"),
    ("an index without shards", lambda f: setattr(f, "records", []), "it lists no shards"),
    ("metadata without a list", lambda f: setattr(f, "metadata", {}), "no list 'params'"),
    ("a weight that is missing", lambda f: f.record(NAME).update(name="other"), f"tensor '{NAME}'", "no shard has it"),
    ("another shape", lambda f: f.record(NAME).update(shape=[32, 48]), f"tensor '{NAME}'", "float32[32, 48]", "float32[48,32]"),
    ("another dtype", lambda f: f.record(NAME).update(dtype="float16", shape=[48, 64]), f"tensor '{NAME}'", "float16[48, 64]", "float32[48,32]"),
    ("bytes that are not the shape's", lambda f: f.record(NAME).update(nbytes=12), f"tensor '{NAME}'", "it has 12 bytes"),
    ("a weight behind its shard", lambda f: f.record(NAME).update(byteOffset=1 << 62), f"tensor '{NAME}'", "outside of its shard"),
    ("an offset below 0", lambda f: f.record(NAME).update(byteOffset=-4), f"tensor '{NAME}'", "without byteOffset"),
    ("an unknown format", lambda f: f.record(NAME).update(format="zip"), f"tensor '{NAME}'", "format 'zip'"),
    ("an unknown dtype", lambda f: f.record(NAME).update(dtype="float33"), f"tensor '{NAME}'", "dtype 'float33'"),
    ("a weight twice", lambda f: f.records[0]["records"].append(f.records[0]["records"][0]), "it is there twice"),
    ("a weight twice in the metadata", lambda f: f.metadata["params"].append(f.metadata["params"][0]), "the metadata have it twice"),
    ("fewer weights than the module takes", lambda f: f.metadata["params"].pop(), "weights, the metadata name"),
    ("weights in another order", lambda f: f.metadata["params"].reverse(), "but weight"),
    ("shards for workers", lambda f: f.metadata["params"][1].update(preprocs=[["shard", [], "float32"]]), "tensor_parallel_shards 1"),
    ("a shard cut off", lambda f: f.data.__setitem__(0, f.data[0][:-4]), "params_shard_0.bin", "was cut off"),
    ("a shard that is not there", lambda f: f.data.pop(), "params_shard_1.bin", "tensor-cache.json lists it"),
    ("a shard elsewhere", lambda f: f.records[0].update(dataPath="../x.bin"), "dataPath in the folder"),
    ("a temperature below 0", lambda f: f.config.update(temperature=-1), "'temperature' is -1"),
    ("a share above 1", lambda f: f.config.update(top_p=1.5), "'top_p' is 1.5", "above 0 to 1"),
    ("an extent of two sizes", lambda f: [p.update(shape=["n", *p["shape"][1:]]) for p in f.metadata["params"]], "its extent 'n' is"),
]
for what, change, *texts in changes:
    folder = Folder("bad", module, params, m.w)
    change(folder)
    refused(what, tenon("compile", folder.write(), "-o", path("bad.tno")), *texts)
folder = Folder("bad", module, params, m.w)
folder.data[1] = bytes(len(folder.data[1]))
refused("a damaged shard", tenon("compile", folder.write(), "-o", path("bad.tno")), "params_shard_1.bin has the checksum", "copy or download it again")
refused("another file in JSON", tenon("compile", os.path.join(folder.path, "tensor-cache.json"), "-o", path("bad.tno")), "neither mlc-chat-config.json")
for text in ("", "[", "[]", "{}", '{"records": 3}', '{"records": [[]]}', '{"records": [{"dataPath": 3}]}', '{"records": [{"dataPath": "params_shard_0.bin", "nbytes": -1}]}'):
    folder.write()
    folder.file("tensor-cache.json", text)
    refused(f"the index {text!r}", tenon("compile", folder.path, "-o", path("bad.tno")), "tensor-cache.json")

# A recurrent model: a state that grows by half of itself and the sum of a step's embeddings. Whole numbers, so that every order of sums is right.
STATE, WIDTH = "vm.builtin.rnn_state_", 8


def copying(name, left, right):
    return f'''
    @T.prim_func
    def {name}(a: T.handle, b: T.handle, c: T.handle, d: T.handle):
        sequences, history, n = T.int64(), T.int64(), T.int32()
        storage = T.match_buffer(a, (sequences, history, {WIDTH}), "float32")
        slots = T.match_buffer(b, (n,), "int32")
        places = T.match_buffer(c, (n,), "int32")
        data = T.match_buffer(d, (n, {WIDTH}), "float32")
        for i, j in T.grid(n, {WIDTH}):
            with T.sblock("copy"):
                vi, vj = T.axis.remap("SS", [i, j])
                {left} = {right}
'''


def layers(name, n):
    return f'''
    @R.function
    def {name}(x: R.Tensor((1, {n}, {WIDTH}), "float32"), state: R.Object, packed_params: R.Tuple({PACKED})):
        R.func_attr({{"num_input": 2}})
        with R.dataflow():
            before = R.call_dps_packed("{STATE}get", (state, 0, 0), out_ty=R.Tensor((1, {WIDTH}), "float32"))
            added = R.sum(x, axis=[1])
            after = R.add(before, added)
            s = R.call_pure_packed("{STATE}set", state, 0, 0, after, ty_args=(R.Object,))
            w = packed_params[1]
            y = R.matmul(after, w)
            logits = R.reshape(y, R.shape([1, 1, {VOCAB}]))
            r = (logits, s)
            R.output(r)
        return r
'''


PACKED = f'R.Tensor(({VOCAB}, {WIDTH}), "float32"), R.Tensor(({WIDTH}, {VOCAB}), "float32")'
recurrent = f'''from tvm.script import ir as I, relax as R, tirx as T
@I.ir_module
class Module:
    @R.function
    def embed(ids: R.Tensor(("n",), "int32"), packed_params: R.Tuple({PACKED})):
        R.func_attr({{"num_input": 1}})
        with R.dataflow():
            w = packed_params[0]
            r = R.take(w, ids, axis=0)
            R.output(r)
        return r

    @R.function
    def create_rnn_state(sequences_: R.Shape(["sequences"]), history_: R.Shape(["history"])) -> R.Object:
        sequences, history = T.int64(), T.int64()
        cls = Module
        with R.dataflow():
            s = R.call_pure_packed("{STATE}create", 1, sequences, history, (cls.read,), (cls.write,), (R.const({[0.0] * WIDTH}, "float32"),), ty_args=(R.Object,))
            R.output(s)
        return s
''' + layers("prefill", '"n"') + layers("decode", 1) + copying("read", "data[vi, vj]", "storage[slots[vi], places[vi], vj]") + copying(
    "write", 'storage[slots[vi], (places[vi] + 1) % T.Cast("int32", history), vj]', "data[vi, vj]")
rng = np.random.default_rng(5)
weights = {"e": rng.integers(-9, 10, (VOCAB, WIDTH)).astype("float32"), "w": rng.integers(-9, 10, (WIDTH, VOCAB)).astype("float32")}
state, want = weights["e"][list(b"Once upon a time")].sum(0), []
for _ in range(24):
    want.append(int((state @ weights["w"]).argmax()))
    state = state + weights["e"][want[-1]]
folder = Folder("recurrent", recurrent, [{"name": k, "shape": list(v.shape), "dtype": "float32"} for k, v in weights.items()], weights)
folder.config.update(model_type="rwkv6", context_window_size=-1)
r, got = tokens(folder.write(), "--temperature", "0")
check(got == want and len(set(want)) > 4, f"a recurrent model writes {want}", r)
r, got = tokens(folder.path, "--temperature", "0", "--context", "20")
check(got == want[:5] and "context full" in r.stderr, "to a bound that is asked for", r)
# A conversation whose second text parts from the first in its middle: the state cannot go back there, the text is read again.
last = write("last.jinja", "{{ messages[-1].content }}")
r = subprocess.run([TENON, "chat", folder.path, "--chat-template", last, "--max-tokens", "6"], input=b"Once upon a time\nOnce said Lily\n", capture_output=True, timeout=300)
alone = [subprocess.run([TENON, "generate", folder.path, "--prompt", text, "--max-tokens", "6"], capture_output=True, timeout=300).stdout.rstrip(b"\n")
         for text in ("Once upon a time", "Once said Lily")]
check(r.returncode == 0 and all(a in r.stdout for a in alone) and alone[0] != alone[1], f"two answers of a recurrent model: {r.stdout} {alone} {r.stderr}")
r = tenon("bench", folder.path, "--prompt", "8", "--generate", "4", "--json")
check(r.returncode == 0 and json.loads(r.stdout), "and is timed", r)

# an artifact whose weights became others
folder = Folder("mlc", module, params, m.w)
folder.write()
r = tenon("compile", folder.path, "-o", whole)
folder.file("params_shard_0.bin", folder.data[0][:-4] + b"\0\0\1\0")
refused("weights that were changed", tenon("generate", whole, "--prompt", "a"), "is not the checkpoint that the model was compiled from")
done()
