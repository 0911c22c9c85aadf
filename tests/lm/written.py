# SPDX-License-Identifier: Apache-2.0
"""`tenon generate` on small models with random weights, which the test writes: the tokens of a reference in float64, from each form of
the model, and with options. The text is bytes; its tokens are the bytes' numbers."""
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "llm"))
from clitest import check, done, path, refused, tenon, write  # noqa: E402

try:
    import numpy as np
except ImportError:
    print("no numpy here")
    sys.exit(77)
from small_model import Model  # noqa: E402

SIM = os.path.join(os.environ["top_builddir"], "tests", "cuda", "sim", ".libs")
PROMPT, COUNT, START, END = "Once upon a time", 40, 256, 257


def byte_names():
    """The characters that byte-level tokenizers write for bytes: printable ones stand for themselves, the others follow from 256 on."""
    plain = [*range(0x21, 0x7f), *range(0xa1, 0xad), *range(0xae, 0x100)]
    rest = [b for b in range(256) if b not in plain]
    return [chr(b) if b in plain else chr(256 + rest.index(b)) for b in range(256)]


def write_tokenizer(folder):
    vocab = {name: b for b, name in enumerate(byte_names())}
    vocab.update({"<start>": START, "<end>": END})
    tokenizer = {"added_tokens": [{"id": i, "content": s, "special": True} for s, i in (("<start>", START), ("<end>", END))],
                 "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False},
                 "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<start>"}}, {"Sequence": {"id": "A"}}],
                                    "special_tokens": {"<start>": {"ids": [START]}}},
                 "decoder": {"type": "ByteLevel"}, "model": {"type": "BPE", "vocab": vocab, "merges": []}}
    with open(os.path.join(folder, "tokenizer.json"), "w") as f:
        json.dump(tokenizer, f)
    return os.path.join(folder, "tokenizer.json")


def greedy(m, count):
    """The likeliest tokens behind the prompt, and the least gap between the two best logits."""
    ids, gap = [START, *PROMPT.encode()], np.inf
    for _ in range(count):
        best = np.sort(m.logits(ids)[-1])
        gap = min(gap, best[-1] - best[-2])
        ids.append(int(m.logits(ids)[-1].argmax()))
        if ids[-1] == END:
            break
    return ids[1 + len(PROMPT):], gap


def generate(source, *options, env=None):
    r = tenon("generate", source, "--prompt", PROMPT, *options, "--json", env=env)
    return r, json.loads(r.stdout) if r.returncode == 0 else {"tokens": None}


for seed, options in ((3, {}), (4, {"arch": "mistral", "window": 7}), (9, {"arch": "gpt2", "kv": 4})):
    m = Model(seed=seed, vocab=258, context=96, **options)
    name, folder = m.arch, path(f"model{seed}")
    m.huggingface(folder, config={"bos_token_id": START, "eos_token_id": END})
    vocabulary = write_tokenizer(folder)
    want, gap = greedy(m, COUNT)
    check(gap > 1e-3 and len(set(want)) > 4, f"{name}: the reference decides, by {gap:.4f} or more, and says several things")
    r, told = generate(folder, "--max-tokens", str(COUNT))
    check(told["tokens"] == want, f"{name}: the tokens of a folder", r)
    check(told.get("text", "").encode() == bytes(want).decode("utf-8", "replace").encode() if END not in want else True, f"{name}: their text", r)
    tno = path(f"{seed}.tno")
    r = tenon("compile", folder, "-o", tno)
    check(r.returncode == 0, f"{name}: the folder is compiled", r)
    for threads in ("1", "2"):
        r, told = generate(tno, "--max-tokens", str(COUNT), "--threads", threads)
        check(told["tokens"] == want, f"{name}: of its artifact, {threads} threads", r)
    if name != "mistral":  # GGUF calls it llama and has no window for it
        r, told = generate(write("model.gguf", m.gguf()), "--max-tokens", str(COUNT), "--tokenizer", vocabulary)
        check(told["tokens"] == want, f"{name}: of a GGUF file with another's tokenizer", r)
    draws = [generate(tno, "--max-tokens", "30", "--temperature", "1", "--seed", s, "--threads", t)[1]["tokens"] for s, t in (("1", "1"), ("1", "2"), ("2", "1"))]
    check(draws[0] and draws[0] == draws[1] and draws[0] != draws[2], f"{name}: a seed gives the same tokens on any number of threads")
    r, told = generate(tno, "--max-tokens", "0", "--ignore-end")
    check(told["tokens"] and len(told["tokens"]) == m.context - len(PROMPT) and told["reason"] == "context full", f"{name}: the end of the context ends it", r)
    if os.path.exists(os.path.join(SIM, "libcuda.so.1")) and name == "llama":
        for what, config in (("without graphs", "false"), ("with graphs", "true")):
            r = tenon("compile", folder, "-t", "cuda", "--pass-config", "relax.backend.use_cuda_graph=" + config, "-o", path("cuda.tno"))
            if r.returncode != 0 and "NVRTC" in r.stderr:
                print("no NVRTC: cuda is not tried")
                break
            r, told = generate(path("cuda.tno"), "--max-tokens", "8", env={"LD_LIBRARY_PATH": SIM + ":" + os.environ.get("LD_LIBRARY_PATH", "")})
            check(told["tokens"] == want[:8], f"{name}: on the simulated device of cuda, {what}", r)

# ---- generation_config.json: how tokens are drawn and what ends a text, where no option says so ----
def with_config(config, *options):
    with open(os.path.join(folder, "generation_config.json"), "w") as f:
        json.dump(config, f)
    return generate(folder, "--max-tokens", "30", *options)


start = want[:30]
given = ["--temperature", "0.9", "--top-k", "9", "--top-p", "0.95", "--repetition-penalty", "1.2", "--seed", "3"]
drawn = generate(tno, "--max-tokens", "30", *given)[1]["tokens"]
check(drawn and drawn != start, "a draw is not the likeliest text")
r, told = with_config({"do_sample": True, "temperature": 0.9, "top_k": 9, "top_p": 0.95, "repetition_penalty": 1.2}, "--seed", "3")
check(told["tokens"] == drawn and "--repetition-penalty 1.2 --temperature 0.9 --top-k 9 --top-p 0.95" in r.stderr, "its numbers are those of options, and are told", r)
r, told = with_config({"do_sample": True, "temperature": 2.5, "top_k": 3, "top_p": 0.5, "min_p": 0.1, "repetition_penalty": 5}, *given, "--min-p", "0")
check(told["tokens"] == drawn and "makers" not in r.stderr, "options win", r)
end = next(t for t in start if start.index(t) > 3)
r, told = with_config({"do_sample": True, "eos_token_id": [END, end]})
usual = generate(tno, "--max-tokens", "30", "--temperature", "1", "--top-k", "50")[1]["tokens"]
usual = usual[:usual.index(end) + 1] if end in usual else usual
check(told["tokens"] == usual, "what it leaves out is transformers' own", r)
r, told = with_config({"do_sample": False, "temperature": 0.9, "top_k": 9, "eos_token_id": [END, end]})
check(told["tokens"] == start[:start.index(end) + 1] and told["reason"] == "end of text", "without draws the likeliest token is taken; a list of tokens ends a text", r)
for config, texts in (({"do_sample": True, "top_p": 2}, ("'top_p' is 2", "above 0 to 1")), ({"do_sample": True, "temperature": -1}, ("'temperature' is -1", "from 0")),
                      ({"repetition_penalty": 0}, ("'repetition_penalty' is 0", "above 0"))):
    refused(f"{config}", with_config(config)[0], "generation_config.json", *texts)
with_config({})

long = write("long.txt", "a" * 200)
refused("a prompt beyond the context", tenon("generate", tno, "--prompt-file", long), "more than the model's context of 96")
for option in ("--seed", "--top-k", "--top-p", "--min-p"):
    refused(f"{option} without a draw", tenon("generate", tno, "--prompt", "a", option, "1"), f"'{option}' has no effect", status=(2,))
refused("run of a language model", tenon("run", tno), "has no function 'main'", "'tenon generate'")
refused("GGUF without a tokenizer", tenon("generate", path("model.gguf"), "--prompt", "a"), "tokenizer")
moved = path("moved")
shutil.move(folder, moved)
refused("weights that are gone", tenon("generate", tno, "--prompt", "a", "--tokenizer", os.path.join(moved, "tokenizer.json")), "the weights are neither in")
r, told = generate(tno, "--max-tokens", str(COUNT), "--weights", moved)
check(told["tokens"] == want, "a folder that moved, named by --weights", r)
shutil.move(tno, moved)
r, told = generate(os.path.join(moved, os.path.basename(tno)), "--max-tokens", str(COUNT))
check(told["tokens"] == want, "an artifact in its model's folder, which moved", r)
done()
