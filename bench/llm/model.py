# SPDX-License-Identifier: Apache-2.0
"""Writes a GGUF file of a Llama-shaped model with random weights, for timing: python3 bench/llm/model.py OUT.gguf --type Q4_0 [--shape 1b].
Needs numpy and the package gguf. --zeros leaves the weights out: the file has its size and takes no room (what compiling costs does not
hang on them); --layers gives another number of layers."""
import argparse
import os

import gguf
import numpy as np

SHAPES = {  # hidden, layers, heads, heads of keys, inner, vocabulary
    "0.5b": (1024, 24, 16, 4, 4096, 32000),
    "1b": (2048, 16, 32, 8, 8192, 32000),
    "3b": (3072, 28, 24, 8, 8192, 32000),
    "8b": (4096, 32, 32, 8, 14336, 128256),
}
BYTES = {"Q4_0": (32, 18, (0,), 0.02 / 4.6), "Q4_1": (32, 20, (0, 2), 0.02 / 4.6), "Q5_0": (32, 22, (0,), 0.02 / 9.2),
         "Q5_1": (32, 24, (0, 2), 0.02 / 9.2), "Q8_0": (32, 34, (0,), 0.02 / 74), "Q4_K": (256, 144, (0, 2), 0.02 / 150),
         "Q5_K": (256, 176, (0, 2), 0.02 / 300), "Q6_K": (256, 210, (208,), 0.02 / 1400)}


def matrix(rng, kind, rows, columns):
    if kind in ("F16", "BF16"):
        x = rng.standard_normal((min(rows, 256), columns), dtype=np.float32) * 0.02
        x = np.tile(x, (-(-rows // len(x)), 1))[:rows]
        return x.astype(np.float16) if kind == "F16" else (x.view(np.uint32) >> 16).astype(np.uint16).view(np.uint8)
    elems, size, halves, scale = BYTES[kind]
    raw = rng.integers(0, 256, (rows, columns // elems, size), dtype=np.uint8)
    for i, at in enumerate(halves):
        d = (rng.uniform(0.7, 1.3, raw.shape[:2]) * scale).astype(np.float16)
        if i and elems == 32:
            d = (d.astype(np.float32) * (-8 if kind == "Q4_1" else -16)).astype(np.float16)
        raw[:, :, at:at + 2] = d.view(np.uint8).reshape(*raw.shape[:2], 2)
    return raw.reshape(rows, -1)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("out")
    p.add_argument("--type", default="Q4_0")
    p.add_argument("--shape", default="1b", choices=SHAPES)
    p.add_argument("--layers", type=int)
    p.add_argument("--zeros", action="store_true")
    args = p.parse_args()
    hidden, layers, heads, kv, inner, vocab = SHAPES[args.shape]
    layers = args.layers or layers
    head = hidden // heads
    rng = np.random.default_rng(0)
    w = gguf.GGUFWriter(args.out + ".part", "llama")
    w.add_context_length(4096)
    w.add_embedding_length(hidden)
    w.add_block_count(layers)
    w.add_feed_forward_length(inner)
    w.add_head_count(heads)
    w.add_head_count_kv(kv)
    w.add_layer_norm_rms_eps(1e-5)
    w.add_rope_dimension_count(head)
    w.add_vocab_size(vocab)
    w.add_tokenizer_model("llama")
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{i:02X}>" for i in range(256)]
    tokens += [f"\u2581w{i}" for i in range(vocab - len(tokens))]
    w.add_token_list(tokens)
    w.add_token_scores([-float(i) for i in range(vocab)])
    w.add_token_types([2, 3, 3] + [6] * 256 + [1] * (vocab - 259))
    w.add_bos_token_id(1)
    w.add_eos_token_id(2)
    kind = getattr(gguf.GGMLQuantizationType, args.type)
    raw = None if args.type == "F16" else kind

    data = 0  # bytes of all tensors

    def leave_out(name, shape, dtype, size, of=None):
        nonlocal data
        w.add_tensor_info(name + ".weight", shape, np.dtype(dtype), size, raw_dtype=of)
        data += w.ggml_pad(size, w.data_alignment)

    def add(name, rows, columns):
        if not args.zeros:
            w.add_tensor(name + ".weight", matrix(rng, args.type, rows, columns), raw_dtype=raw)
        elif raw is None:
            leave_out(name, (rows, columns), np.float16, rows * columns * 2)
        else:
            elems, size = gguf.GGML_QUANT_SIZES[kind]
            row = columns // elems * size
            leave_out(name, (rows, row), np.uint8, rows * row, raw)

    def norm(name):
        if args.zeros:
            leave_out(name, (hidden,), np.float32, hidden * 4)
        else:
            w.add_tensor(name + ".weight", np.ones(hidden, np.float32))

    add("token_embd", vocab, hidden)
    for i in range(layers):
        b = f"blk.{i}."
        norm(b + "attn_norm")
        add(b + "attn_q", hidden, hidden)
        add(b + "attn_k", kv * head, hidden)
        add(b + "attn_v", kv * head, hidden)
        add(b + "attn_output", hidden, hidden)
        norm(b + "ffn_norm")
        add(b + "ffn_gate", inner, hidden)
        add(b + "ffn_up", inner, hidden)
        add(b + "ffn_down", hidden, inner)
    norm("output_norm")
    w.write_header_to_file()
    w.write_kv_data_to_file()
    if args.zeros:
        w.write_ti_data_to_file()
        w.close()
        size = os.path.getsize(args.out + ".part")
        os.truncate(args.out + ".part", w.ggml_pad(size, w.data_alignment) + data)
    else:
        w.write_tensors_to_file()
        w.close()
    os.rename(args.out + ".part", args.out)


main()
