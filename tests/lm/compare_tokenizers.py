# SPDX-License-Identifier: Apache-2.0
"""The tokenizers of real models give the ids of Hugging Face's `tokenizers`, of SentencePiece and of llama.cpp, and the texts back.

The expectations beside the GGUF vocabularies are files. For the rest the packages `tokenizers` and `sentencepiece` are needed
(PYTHON with them: TENON_LM_PYTHON or the one that runs this); without them that part is skipped and said so."""
import json
import os
import subprocess
import sys
import tempfile

from lmtest import ADD_SPECIAL, PLAIN_SPECIAL, SKIP_SPECIAL, models, random_texts, tokenize

PYTHON = os.environ.get("TENON_LM_PYTHON")
if PYTHON and sys.executable != PYTHON and not os.environ.get("TENON_LM_INNER"):
    sys.exit(subprocess.run([PYTHON] + sys.argv, env={**os.environ, "TENON_LM_INNER": "1"}).returncode)

bad = 0
N = 10000 if os.environ.get("TENON_LONG") else int(os.environ.get("TENON_LM_TEXTS", "1000"))


def compare(name, texts, got, want):
    global bad
    wrong = [i for i in range(len(texts)) if got[i] != want[i]]
    print(f"{name}: {len(texts)} texts, {len(wrong)} wrong")
    for i in wrong[:5]:
        print(f"  {texts[i]!r}\n    given    {got[i]}\n    expected {want[i]}")
    bad += len(wrong)


def gguf(name):
    path = models("tokenizers", f"ggml-vocab-{name}.gguf")
    texts = open(path + ".inp", encoding="utf-8", newline="").read().split("\n__ggml_vocab_test__\n")
    want = [[int(i) for i in line.split()] for line in open(path + ".out").read().split("\n")][:len(texts)]
    done = tokenize(path, texts)
    compare(f"{name}.gguf, the file's texts", texts, [ids for ids, _, _ in done], want)
    compare(f"{name}.gguf, text back", texts, [text.decode() for _, text, _ in done], texts)
    compare(f"{name}.gguf, text one by one", texts, [text.decode() for _, _, text in done], texts)


def repaired(path, folder):
    """The collection's copy of Llama 2's file has spaces where the original has no-break spaces, which no reader takes."""
    with open(path, encoding="utf-8") as f:
        d = json.load(f)
    vocab = d["model"]["vocab"]
    spaces = [k for k in vocab if " " in k]
    if not spaces:
        return path
    d["model"]["vocab"] = {k.replace(" ", "\u00a0"): i for k, i in vocab.items()}
    d["model"]["merges"] = [m if m.count(" ") == 1 else m[:len(m) // 2].replace(" ", "\u00a0") + " " + m[len(m) // 2 + 1:].replace(" ", "\u00a0")
                            for m in d["model"]["merges"]]
    path = os.path.join(folder, "repaired.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(d, f)
    return path


def against_tokenizers(name, path, texts):
    import tokenizers
    t = tokenizers.Tokenizer.from_file(path)
    for flags in (0, ADD_SPECIAL):
        done = tokenize(path, texts, flags, SKIP_SPECIAL if flags else 0)
        want = [t.encode(s, add_special_tokens=bool(flags)).ids for s in texts]
        compare(f"{name}, `tokenizers` {tokenizers.__version__}, flags {flags}", texts, [ids for ids, _, _ in done], want)
        back = [t.decode(ids, skip_special_tokens=bool(flags)) for ids in want]
        compare(f"{name}, text back", texts, [text.decode() for _, text, _ in done], back)


def against_sentencepiece(texts):
    import sentencepiece
    path = models("tokenizers", "llama2.tokenizer.model")
    t = sentencepiece.SentencePieceProcessor(model_file=path)
    done = tokenize(path, texts, PLAIN_SPECIAL)
    want = [t.encode(s) for s in texts]
    compare(f"llama2.model, `sentencepiece` {sentencepiece.__version__}", texts, [ids for ids, _, _ in done], want)
    compare("llama2.model, text back", texts, [text.decode() for _, text, _ in done], [t.decode(ids) for ids in want])
    compare("llama2.model, text one by one", texts, [text for _, _, text in done], [text for _, text, _ in done])
    # llama2.c's file of the same vocabulary; it has no rule about spaces, so that of texts without a leading one
    done = tokenize(models("tokenizers", "llama2.tokenizer.bin"), texts, PLAIN_SPECIAL)
    same = [i for i, s in enumerate(texts) if "▁" not in s]
    compare("llama2.bin", [texts[i] for i in same], [done[i][0] for i in same], [want[i] for i in same])


gguf("gpt-2")
gguf("llama-spm")
texts = [t for t in random_texts(N, int(os.environ.get("TENON_LM_SEED", "1"))) if "\0" not in t]
try:
    with tempfile.TemporaryDirectory() as tmp:
        against_tokenizers("gpt2.json", models("tokenizers", "gpt2.tokenizer.json"), texts)
        against_tokenizers("llama2.json", repaired(models("tokenizers", "llama2.tokenizer.json"), tmp), texts)
    against_sentencepiece(texts)
except ImportError as e:
    print(f"not compared: {e}; TENON_LM_PYTHON names a Python that has them")
sys.exit(bad > 0)
