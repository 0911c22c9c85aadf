# SPDX-License-Identifier: Apache-2.0
"""`tenon generate` writes the text that llama2.c writes for a trained model, from each form of it, and keeps to its options."""
import json
import os
import shutil
import signal
import subprocess
import sys
import time

from lmtest import MODELS, models

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
from clitest import DIGITS, TENON, check, done, path, refused, tenon, write  # noqa: E402

GGUF, BIN, VOCAB = (models("llm", "stories260K", f) for f in ("stories260K.gguf", "stories260K.bin", "tok512.bin"))
EXPECTED = open(models("llm", "stories260K", "expected_greedy_200.txt"), newline="").read()
IDS = [int(i) for i in open(models("llm", "stories260K", "expected_greedy_ids.txt")).readline().split()]


def generate(*args):
    return tenon("generate", *args)


tno = path("stories.tno")
usual = ["--prompt", "", "--max-tokens", "200"]
r = generate(GGUF, *usual)
check(r.returncode == 0 and r.stdout == EXPECTED, "the text of a GGUF file", r)
check("answer 200 tokens" in r.stderr, "the speed is told", r)
r = generate(BIN, *usual, "--tokenizer", VOCAB)
check(r.returncode == 0 and r.stdout == EXPECTED, "the text of a file of llama2.c", r)
r = tenon("compile", GGUF, "-o", tno)
check(r.returncode == 0, "the model is compiled", r)
r = generate(tno, *usual)
check(r.returncode == 0 and r.stdout == EXPECTED, "the text of an artifact", r)
r = generate(tno, *usual, "--threads", "1", "--json")
told = json.loads(r.stdout)
check(told["text"] == EXPECTED and told["tokens"] == IDS[1:201] and told["reason"] == "token limit", "--json has text and tokens", r)

prompt = write("prompt.txt", EXPECTED[:120])
with open(prompt) as f:
    whole = subprocess.run([TENON, "generate", tno, "--prompt-file", "-", "--max-tokens", "60"], stdin=f, capture_output=True, text=True)
check(whole.returncode == 0 and len(whole.stdout) > 60, "a prompt from a pipe", whole)
draws = ["--prompt", "Once upon a time", "--max-tokens", "80", "--temperature", "1", "--top-p", "0.95"]
first, again, other = (generate(tno, *draws, "--seed", s, "--threads", t) for s, t in (("5", "1"), ("5", "2"), ("6", "2")))
check(first.returncode == 0 and first.stdout == again.stdout, "the same seed gives the same text on any number of threads", again)
check(first.stdout != other.stdout, "another seed gives another text", other)
r = generate(tno, *usual, "--stop", "big, red", "--json")
told = json.loads(r.stdout)
check(told["text"] == EXPECTED[:EXPECTED.index("big, red")] and told["reason"] == "stop text", "--stop ends before the text", r)
r = generate(tno, "--prompt", "", "--max-tokens", "0", "--context", "40", "--json")
told = json.loads(r.stdout)
check(len(told["tokens"]) == 40 and told["reason"] == "context full", "writing ends where the context is full", r)
r = generate(tno, "--prompt", "", "--max-tokens", "1", "--context", "2048")
check(r.returncode == 0, "the model's context can be asked for", r)
refused("a context beyond the model's", generate(tno, "--prompt", "", "--context", "2049"), "--context is 2049, but the model's context has 2048 tokens")
words = {w: i for i, w in enumerate(["<unk>", *(chr(i) for i in range(0x4e00, 0x4e00 + 2000))])}
other = write("other/tokenizer.json", json.dumps({"added_tokens": [], "model": {"type": "BPE", "vocab": words, "merges": [], "unk_token": "<unk>"}}))
refused("a tokenizer of another vocabulary", generate(tno, "--prompt", "a", "--tokenizer", other), "it has 2001 tokens, the model's vocabulary 512")

# moved: beside the artifact, elsewhere under another name, and nowhere
os.makedirs(path("built"))
shutil.copyfile(GGUF, path("built/a.gguf"))
check(tenon("compile", path("built/a.gguf"), "-o", path("built/a.tno")).returncode == 0, "an artifact that is moved")
shutil.move(path("built"), path("there"))
few = ["--prompt", "", "--max-tokens", "20"]
want = generate(GGUF, *few).stdout
r = generate(path("there/a.tno"), *few)
check(r.returncode == 0 and r.stdout == want, "artifact and checkpoint were moved together", r)
shutil.move(path("there/a.gguf"), path("b.gguf"))
r = generate(path("there/a.tno"), *few, "--weights", path("b.gguf"))
check(r.returncode == 0 and r.stdout == want, "the checkpoint has another name", r)
refused("a tokenizer that is nowhere", generate(path("there/a.tno"), *few), "the tokenizer is neither", "name it with --tokenizer")
refused("weights that are nowhere", generate(path("there/a.tno"), *few, "--tokenizer", GGUF), "the weights are neither", "--weights")
shutil.copyfile(BIN, path("there/stories260K.bin"))
shutil.copyfile(VOCAB, path("there/tok512.bin"))
check(tenon("compile", path("there/stories260K.bin"), "-o", path("there/c.tno")).returncode == 0, "an artifact with a tokenizer of its own file")
shutil.move(path("there"), path("again"))
r = generate(path("again/c.tno"), *few)
check(r.returncode == 0 and r.stdout == want, "artifact, checkpoint and tokenizer were moved together", r)

moved = path("moved.gguf")
shutil.copyfile(GGUF, moved)
check(tenon("compile", moved, "-o", path("moved.tno")).returncode == 0, "the model is compiled where its checkpoint can change")
with open(moved, "r+b") as f:
    f.seek(-4096, os.SEEK_END)
    f.write(bytes(4096))
refused("a checkpoint with other weights", generate(path("moved.tno"), "--prompt", "a"), "not the checkpoint that the model was compiled from: its data differ")

refused("a prompt beyond the cache", generate(tno, "--prompt-file", prompt, "--context", "16"), "more than the cache has room for: 16")
for end in "", "\n", "\r\n":
    r = generate(tno, "--prompt-file", write("lines.txt", "Once upon a time" + end), "--max-tokens", "5")
    check(r.returncode == 0 and r.stdout == generate(tno, "--prompt", "Once upon a time", "--max-tokens", "5").stdout,
          f"a prompt file that ends with {end!r}", r)
with open(path("latin.txt"), "wb") as f:
    f.write("Caf\u00e9".encode("latin-1"))
refused("a prompt in another encoding", generate(tno, "--prompt-file", path("latin.txt")), "latin.txt: byte 3 (0xe9) is no UTF-8", "iconv")
refused("no prompt", generate(tno), "a prompt is needed", status=(2,))
refused("two prompts", generate(tno, "--prompt", "a", "--prompt-file", "-"), "cannot both be given", status=(2,))
refused("top-p above 1", generate(tno, "--prompt", "a", "--top-p", "2"), "--top-p", status=(2,))
os.makedirs(path("empty"))
refused("a folder without a model", generate(path("empty"), "--prompt", "a"), "the folder has no config.json", "safetensors")
write("empty/a.gguf", "")
refused("a folder with a GGUF file", generate(path("empty"), "--prompt", "a"), "name the GGUF file itself: ", "empty/a.gguf")
for name, data, texts in (("pytorch_model.bin", "", ("but pytorch_model.bin", "from_pretrained('.'", "save_pretrained('.')")),
                          ("pytorch_model-00001-of-00002.bin", "", ("pytorch_model-", "save_pretrained")),
                          ("consolidated.00.pth", "", ("consolidated.00.pth", "save_pretrained")),
                          ("a.gguf", "", ("name the GGUF file",)),
                          ("adapter_model.safetensors", "", ("adapter_model.safetensors", "merged")),
                          ("notes.txt", "", ("neither model.safetensors",))):
    shutil.rmtree(path("other"), ignore_errors=True)
    write("other/" + name, data)
    shutil.copy(os.path.join(MODELS, "llm", "tiny_llama", "config.json"), path("other"))
    refused(f"a folder with {name} in place of safetensors", generate(path("other"), "--prompt", "a"), *texts)
shutil.rmtree(path("other"), ignore_errors=True)
write("other/model.safetensors", f"version https://git-lfs.github.com/spec/v1\noid sha256:{0:064}\nsize 123456\n")
shutil.copy(os.path.join(MODELS, "llm", "tiny_llama", "config.json"), path("other"))
refused("a pointer of Git LFS in place of safetensors", generate(path("other"), "--prompt", "a"), "model.safetensors: a pointer of Git LFS", "git lfs pull")
for magic in (b"PK\3\4", b"\x80\2", b"\x80\4"):
    refused("a file of torch.save", generate(write("pytorch_model.bin", magic + b"x" * 600), "--prompt", "a"), "torch.save", "torch.onnx.export", "save_pretrained")
refused("bench without a prompt", tenon("bench", tno), "tenon bench --prompt N --generate N")
check("GGUF" in tenon("generate", "--help").stdout and "GGUF" in tenon("compile", "--help").stdout, "the help names checkpoints")
refused("a model that is none", generate(os.path.join(DIGITS, "digits.onnx"), "--prompt", "a"), "digits.onnx: this is no language model")
refused("bench of a model that is none", tenon("bench", os.path.join(DIGITS, "digits.onnx"), "--prompt", "1"), "leave --prompt and --generate out")
refused("a tokenizer that is none", generate(tno, "--prompt", "a", "--tokenizer", BIN), "this is no tokenizer")

r = tenon("bench", tno, "--prompt", "40", "--generate", "10", "--runs", "3", "--json")
told = json.loads(r.stdout or "{}")
check(r.returncode == 0 and told["prompt"]["tokens"] == 40 and told["generate"]["tokens"] == 10 and told["weight_bytes"] > 10 ** 6, "tenon bench tells tokens a second", r)
r = tenon("bench", tno, "--prompt", "40", "--generate", "10", "--runs", "2")
check(r.returncode == 0 and "tokens/s" in r.stdout, "as a table", r)
r = tenon("bench", tno, "--prompt", "40", "--generate", "10", "--runs", "1", "--json", "--profile-kernels")
told = json.loads(r.stdout or "{}").get("kernels", {})
calls = {part: {k["name"]: k["calls"] for k in told.get(part, [])} for part in ("prompt", "generate")}
check(r.returncode == 0 and calls["prompt"] and calls["generate"] and all(n % 10 == 0 for n in calls["generate"].values()),
      "and the kernels of the prompt and of each token", r)
r = tenon("bench", tno, "--generate", "10", "--runs", "1", "--profile-kernels")
check(r.returncode == 0 and "kernels of generate, 10 tokens" in r.stderr and "kernels of prompt" not in r.stderr, "as tables", r)
refused("bench of a language model with an input", tenon("bench", tno, "--prompt", "4", "--seed", "1"), "is not for --prompt", status=(2,))

# ---- what ends the writing: output that cannot be written, and signals, which lose nothing ----
for source in (GGUF, tno):
    for args in ([], ["--json"]):
        r = subprocess.run(["sh", "-c", 'exec "$0" "$@" >&-', TENON, "generate", source, *usual, *args], capture_output=True, text=True)
        refused("closed standard output " + " ".join(args), r, "cannot write standard output")
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    for delay in (0.2, 0.6, 2, 6):  # a signal while the model is opened ends the program
        p = subprocess.Popen([TENON, "generate", tno, "--prompt", "", "--max-tokens", "0", "--ignore-end", "--json"], stdout=subprocess.PIPE, text=True)
        time.sleep(delay)
        p.send_signal(number)
        out = p.communicate(timeout=60)[0]
        if out:
            break
    told = json.loads(out or "{}")
    check(told.get("reason") in ("stopped", "context full") and EXPECTED.startswith(told["text"][:300]) and p.returncode in (-number, 0),
          f"{number.name} ends the writing with what there is: {len(told.get('tokens', []))} tokens")
p = subprocess.Popen([TENON, "generate", tno, "--prompt", "", "--max-tokens", "0", "--ignore-end"], stdout=subprocess.PIPE)
p.stdout.read(50)
p.send_signal(signal.SIGINT)
p.stdout.read()
check(p.wait(60) in (-signal.SIGINT, 0), "Ctrl-C ends the writing")
done()
