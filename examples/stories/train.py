#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the language model of this example and writes it: config.json, model.safetensors, tokenizer.json; and what it
should write: reference.npz, written.txt.

    apt-get download r-cran-janeaustenr && dpkg-deb -x r-cran-janeaustenr_*.deb austen
    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install torch transformers tokenizers
    /tmp/venv/bin/python train.py austen/usr/lib/R/site-library/janeaustenr/data/Rdata.rdb

The text is the six novels of Jane Austen, which are in the public domain, as Debian's package holds them. The tokenizer
is a byte-level BPE of 1,024 tokens. The model is a Llama of four layers and 820,000 parameters, trained by AdamW in
float32 on one thread and written as float16; the learning rate rises for a hundred steps and falls to zero by the last.
The end of the text is kept back, and the loss on it is printed at the end. Another machine rounds otherwise, so it
writes another model, with much the same loss.
"""
import argparse
import os
import re
import time
import zlib

import numpy as np
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM

HERE = os.path.dirname(os.path.abspath(__file__))
VOCABULARY, CONTEXT, TRAINED, BATCH = 1024, 256, 128, 8
RATE, WARMUP, KEPT_BACK = 5e-3, 100, 20000
END = "<|end|>"
PROMPT, WRITTEN, COMPARED = "It was", 60, 16


def novels(path):
    """The texts in a file of R's lazy-load data: each is zlib of a serialized vector of strings, one a line."""
    data = open(path, "rb").read()
    while data:
        chunk = zlib.decompressobj()
        raw = chunk.decompress(data[4:])  # 4 bytes of length lead
        data = chunk.unused_data
        lines, at = [], 23  # the header, with the name of the encoding, and the type of the vector
        count, at = int.from_bytes(raw[at + 4:at + 8], "big"), at + 8
        for _ in range(count):
            length, at = int.from_bytes(raw[at + 4:at + 8], "big"), at + 8
            lines.append(raw[at:at + length].decode())
            at += length
        # Paragraphs become lines; spaces are single; headings and the title page are left out.
        paragraphs = re.split(r"\n\s*\n", "\n".join(lines))
        kept = (re.sub(r"\s+", " ", p.replace("_", "")).strip() for p in paragraphs)
        yield "\n".join(p for p in kept if len(p) > 30 and not p.isupper())


def train_tokenizer(texts):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=[END], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False))
    return tokenizer


def train(tokens, steps):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=128, intermediate_size=320, num_hidden_layers=4, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=CONTEXT, tie_word_embeddings=True, initializer_range=0.05,
        bos_token_id=0, eos_token_id=0))
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.98), weight_decay=0.05, fused=True)
    average = None
    for step in range(1, steps + 1):
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(step / WARMUP, 1 - (step - 1) / steps)
        at = torch.randint(len(tokens) - TRAINED, (BATCH,))
        batch = torch.stack([tokens[i:i + TRAINED] for i in at])
        loss = model(input_ids=batch, labels=batch).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        average = loss.item() if average is None else 0.98 * average + 0.02 * loss.item()
        if step % 100 == 0:
            print(f"step {step}: loss {average:.3f}, {time.process_time() / step:.3f} s of the processor a step", flush=True)
    return model


def loss_of(model, tokens):
    """The mean loss a token, over windows of the whole context."""
    windows = tokens[:len(tokens) // CONTEXT * CONTEXT].reshape(-1, CONTEXT)
    with torch.no_grad():
        return sum(model(input_ids=w[None], labels=w[None]).loss.item() for w in windows) / len(windows)


def reference(folder):
    """What transformers computes with the model as it is written: the logits of the first tokens, and the likeliest text."""
    model = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32)
    tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    ids = tokenizer.encode(PROMPT).ids
    start = len(ids)
    with torch.no_grad():
        for _ in range(WRITTEN):
            logits = model(input_ids=torch.tensor([ids])).logits[0]
            ids.append(int(logits[-1].argmax()))
        logits = model(input_ids=torch.tensor([ids[:COMPARED]])).logits[0]
    np.savez_compressed(os.path.join(folder, "reference.npz"), ids=np.array(ids[:COMPARED], np.int32), logits=logits.numpy())
    with open(os.path.join(folder, "written.txt"), "w", newline="") as f:
        f.write(tokenizer.decode(ids[start:], skip_special_tokens=False))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("text", help="Rdata.rdb of the R package janeaustenr")
    p.add_argument("--steps", type=int, default=5000)
    p.add_argument("-o", default=HERE, help="where the files go")
    args = p.parse_args()
    texts = list(novels(args.text))
    tokenizer = train_tokenizer(texts)
    ids = [t for text in texts for t in [0] + tokenizer.encode(text).ids]
    print(f"{len(texts)} novels, {sum(map(len, texts))} characters, {len(ids)} tokens", flush=True)
    model = train(torch.tensor(ids[:-KEPT_BACK]), args.steps)
    print(f"loss on the text that was kept back: {loss_of(model, torch.tensor(ids[-KEPT_BACK:])):.3f}")
    os.makedirs(args.o, exist_ok=True)
    model.half().save_pretrained(args.o)
    tokenizer.save(os.path.join(args.o, "tokenizer.json"))
    os.remove(os.path.join(args.o, "generation_config.json"))
    reference(args.o)


if __name__ == "__main__":
    main()
