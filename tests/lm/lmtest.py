# SPDX-License-Identifier: Apache-2.0
"""What the tests of language models' text share: where the models are, texts to try, and tests/lm/tokenize."""
import os
import random
import subprocess
import sys

SRC, BUILD = os.environ["top_srcdir"], os.environ["top_builddir"]
MODELS = os.environ.get("TENON_LM_MODELS") or os.path.join(SRC, "..", "shared", "models")
ADD_SPECIAL, PLAIN_SPECIAL, SKIP_SPECIAL = 1, 2, 4


def models(*parts):
    """A file of the models that lie beside the checkout; the test is skipped where there are none."""
    path = os.path.join(MODELS, *parts)
    if not os.path.exists(path):
        print(f"{path} is not there: skipped")
        sys.exit(77)
    return path


def tokenize(path, texts, flags=0, decode_flags=0):
    """For each text (bytes or str): ids, the text they give, the text they give one by one."""
    raw = [t.encode() if isinstance(t, str) else t for t in texts]
    given = b"".join(b"%d\n%s" % (len(t), t) for t in raw)
    r = subprocess.run([os.path.join(BUILD, "tests/lm/tokenize"), path, str(flags), str(decode_flags)], input=given, stdout=subprocess.PIPE)
    if r.returncode:
        sys.exit(f"tokenize {path}: exit status {r.returncode}")
    lines = r.stdout.decode().split("\n")
    return [([int(i) for i in lines[3 * k].split()], bytes.fromhex(lines[3 * k + 1]), bytes.fromhex(lines[3 * k + 2]))
            for k in range(len(raw))]


WORDS = ("the of and a to in is Hello World don't I'LL we've THEY'RE 3.14159 1234567 foo_bar() <html> http://x.y/z?q=1 naïve café "
         "Ünïcödé Straße İstanbul ǅ ﬁﬂ ½ ² ① 你好 世界 日本語 テスト 한국어 مرحبا שלום नमस्ते ไทย ру́сский Ελληνικά 😀 👩‍👩‍👧 🏳️‍🌈 e\u0301 \u200b \u200d ſ ſt "
         "'s 't 'RE ' '' \" `` -- --- ... !!! ??? /* */ \\ | ~ ^ = == === 0x1F 1e-5 <s> </s> <unk> <|endoftext|> <0x0A> ▁ ▁▁ Ġ Ċ").split(" ")
SPACES = [" ", "  ", "   ", "\n", "\n\n", "\r\n", "\t", "\t\t", " \n ", "\u00a0", "\u3000", "\u2009", "\u180e", "\u0085", "\v", "\f", "        " * 5]


def random_texts(n, seed):
    """Words of many scripts, spaces of many kinds, single characters of all planes, runs, and marks of tokenizers."""
    r = random.Random(seed)
    texts = ["", " ", "  ", "\n", "a", " a", "a ", "<s>", "<s> a", "a<s>b </s>", "\u0000", "a\u0000b", "\ufeffx", "\U0010ffff", "▁a", " ▁ a"]

    def char():
        k = r.randrange(8)
        if k < 3:
            return chr(r.randrange(1, 0x80))
        if k < 5:
            return chr(r.randrange(0x80, 0x800))
        c = r.randrange(0x800, 0x10000) if k < 7 else r.randrange(0x10000, 0x20000)
        return "x" if 0xd800 <= c < 0xe000 else chr(c)

    def word():
        k = r.randrange(10)
        if k < 6:
            return r.choice(WORDS)
        if k < 8:
            return "".join(char() for _ in range(r.randrange(1, 8)))
        if k < 9:
            return char() * r.randrange(1, 40)
        return str(r.randrange(10 ** r.randrange(1, 15)))

    while len(texts) < n:
        texts.append("".join(word() + (r.choice(SPACES) if r.random() < 0.75 else "") for _ in range(r.randrange(1, 12))))
    return texts[:n]
