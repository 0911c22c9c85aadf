# SPDX-License-Identifier: Apache-2.0
"""The tokenizers of real models give the ids of Hugging Face's `tokenizers`, of SentencePiece and of llama.cpp, and the texts back.

The expectations beside the GGUF vocabularies are files. For the rest the packages `tokenizers` and `sentencepiece` are needed
(PYTHON with them: TENON_LM_PYTHON or the one that runs this); without them that part is skipped and said so."""
import functools
import json
import os
import subprocess
import sys
import tempfile
import unicodedata

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


@functools.cache
def of_other_unicode(normalized):
    """Characters that `tokenizers` knows from other versions of Unicode than pcre2 and utf8proc here, which have about that of Python: its
    regular expressions, digits and lower case have a newer one, its normal forms and accents (`normalized`) Unicode 9."""
    from tokenizers import Regex, normalizers, pre_tokenizers
    known, lower, digits = normalizers.Replace(Regex("\\P{Cn}"), ""), normalizers.Lowercase(), pre_tokenizers.Digits()
    nfkd, accents, found = normalizers.NFKD(), normalizers.StripAccents(), set()
    for c in map(chr, (*range(0x80, 0xd800), *range(0xe000, 0x20000))):
        kind = unicodedata.category(c)
        if kind == "Cn" and (not known.normalize_str(c) or lower.normalize_str(c) != c or len(digits.pre_tokenize_str("a" + c)) > 1):
            found.add(c)
        elif normalized and (nfkd.normalize_str(c) != unicodedata.normalize("NFKD", c) or (kind[0] == "M") == bool(accents.normalize_str(c))):
            found.add(c)
    return found


def text_back(name, t, texts, done, want, skip):
    """The texts of ids. From 0.23 on, `tokenizers` decodes an added token whose text is normalized to what the normalizer made of it,
    which is then not skipped as a special token either; such are left out."""
    import tokenizers
    changed = set()
    if tuple(map(int, tokenizers.__version__.split(".")[:2])) >= (0, 23) and t.normalizer:
        changed = {i for i, a in t.get_added_tokens_decoder().items() if a.normalized and t.normalizer.normalize_str(a.content) != a.content}
    kept = [i for i, ids in enumerate(want) if changed.isdisjoint(ids)]
    compare(f"{name}, text back", [texts[i] for i in kept], [done[i][1].decode() for i in kept], [t.decode(want[i], skip_special_tokens=skip) for i in kept])


def against_tokenizers(name, path, texts):
    import tokenizers
    t = tokenizers.Tokenizer.from_file(path)
    texts = [s for s in texts if not set(s) & of_other_unicode(False)]
    for flags in (0, ADD_SPECIAL):
        done = tokenize(path, texts, flags, SKIP_SPECIAL if flags else 0)
        want = [t.encode(s, add_special_tokens=bool(flags)).ids for s in texts]
        compare(f"{name}, `tokenizers` {tokenizers.__version__}, flags {flags}", texts, [ids for ids, _, _ in done], want)
        text_back(name, t, texts, done, want, bool(flags))


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


def trained_by_sentencepiece(texts, folder):
    """Models of each kind that SentencePiece makes, with and without normal forms, bytes, prefixes and symbols of their own."""
    import sentencepiece
    corpus = os.path.join(folder, "corpus.txt")
    with open(corpus, "w", encoding="utf-8") as f:
        f.writelines(t.replace("\n", " ") + "\n" for t in texts[:1500])
    for name, options in {
            "unigram": dict(model_type="unigram"),
            "unigram, bytes": dict(model_type="unigram", byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False),
            "unigram, symbols": dict(model_type="unigram", user_defined_symbols=["<x>", "ab", "\u4f60\u597d"], add_dummy_prefix=False),
            "bpe": dict(model_type="bpe", normalization_rule_name="nfkc_cf"),
            "bpe, symbols": dict(model_type="bpe", byte_fallback=True, user_defined_symbols=["<x>", "ab"], split_digits=True, remove_extra_whitespaces=False),
            "bpe, suffix": dict(model_type="bpe", treat_whitespace_as_suffix=True)}.items():
        model = os.path.join(folder, "m")
        sentencepiece.SentencePieceTrainer.train(input=corpus, model_prefix=model, vocab_size=5000, character_coverage=0.98, hard_vocab_limit=False,
                                                 minloglevel=2, num_threads=1, max_sentence_length=100000, **options)
        t = sentencepiece.SentencePieceProcessor(model_file=model + ".model")
        more = texts + [s.replace("a", "<x>") + "ab" for s in texts[:200]]
        done = tokenize(model + ".model", more, PLAIN_SPECIAL)
        want = [t.encode(s) for s in more]
        compare(f"{name}", more, [ids for ids, _, _ in done], want)
        compare(f"{name}, text back", more, [text.decode() for _, text, _ in done], [t.decode(ids) for ids in want])


def trained_by_tokenizers(texts, folder):
    """Steps before the model as files of well-known models have them, with a small vocabulary."""
    import tokenizers
    from tokenizers import Regex, decoders, models as kinds, normalizers, pre_tokenizers, processors, trainers
    llama3 = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
    split = pre_tokenizers.Split(Regex(llama3), "isolated")
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    for name, model, normalizer, pre, decoder in (
            ("llama 3", kinds.BPE(ignore_merges=True), None, pre_tokenizers.Sequence([split, byte_level]), decoders.ByteLevel()),
            ("qwen", kinds.BPE(), normalizers.NFC(), pre_tokenizers.Sequence([split, byte_level]), decoders.ByteLevel()),
            ("starcoder", kinds.BPE(), None, pre_tokenizers.Sequence([pre_tokenizers.Digits(True), pre_tokenizers.ByteLevel(add_prefix_space=True)]), decoders.ByteLevel()),
            ("gemma", kinds.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True), normalizers.Replace(" ", "\u2581"), pre_tokenizers.Split(" ", "merged_with_previous"),
             decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()])),
            ("punctuation", kinds.BPE(unk_token="<unk>"), normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase()]),
             pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.Digits(False)]), None),
            ("metaspace", kinds.Unigram(), normalizers.NFKC(), pre_tokenizers.Metaspace(), decoders.Metaspace()),
            ("metaspace first", kinds.Unigram(), normalizers.Strip(), pre_tokenizers.Metaspace(prepend_scheme="first", split=False), decoders.Metaspace(prepend_scheme="first"))):
        t = tokenizers.Tokenizer(model)
        if normalizer:
            t.normalizer = normalizer
        t.pre_tokenizer = pre
        if decoder:
            t.decoder = decoder
        if isinstance(model, kinds.Unigram):
            trainer = trainers.UnigramTrainer(vocab_size=6000, special_tokens=["<unk>", "<s>"], unk_token="<unk>", show_progress=False)
        else:
            trainer = trainers.BpeTrainer(vocab_size=1200, special_tokens=["<unk>", "<s>"] + [f"<0x{b:02X}>" for b in range(256) if name == "gemma"],
                                          initial_alphabet=alphabet if decoder and name != "gemma" else [], limit_alphabet=300, show_progress=False)
        t.train_from_iterator(texts[:400], trainer)
        t.add_tokens([tokenizers.AddedToken("<left>", lstrip=True), tokenizers.AddedToken("<right>", rstrip=True), tokenizers.AddedToken("word", single_word=True), "Caf\u00e9"])
        t.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", t.token_to_id("<s>"))])
        path = os.path.join(folder, "trained.json")
        t.save(path)
        other = of_other_unicode(bool(normalizer))
        old = [s for s in texts if not set(s) & other]
        more = old + [s[:20] + w + s[20:] for s in old[:100] for w in (" <left> ", "<right>  ", " word", "keyword", "Caf\u00e9", "cafe\u0301", "<s>")]
        done = tokenize(path, more, ADD_SPECIAL)
        want = [t.encode(s).ids for s in more]
        compare(f"{name}", more, [ids for ids, _, _ in done], want)
        text_back(name, t, more, done, want, False)


gguf("gpt-2")
gguf("llama-spm")
texts = [t for t in random_texts(N, int(os.environ.get("TENON_LM_SEED", "1"))) if "\0" not in t]
try:
    with tempfile.TemporaryDirectory() as tmp:
        against_tokenizers("gpt2.json", models("tokenizers", "gpt2.tokenizer.json"), texts)
        against_tokenizers("llama2.json", repaired(models("tokenizers", "llama2.tokenizer.json"), tmp), texts)
        trained_by_tokenizers(texts, tmp)
        trained_by_sentencepiece(texts, tmp)
    against_sentencepiece(texts)
except ImportError as e:
    print(f"not compared: {e}; TENON_LM_PYTHON names a Python that has them")
sys.exit(bad > 0)
