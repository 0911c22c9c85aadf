#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What compiling a language model of 8B parameters for cuda takes, with and without its kernels in the cache: README.md.

    bench/cuda/compile_time.py --tenon build/tools/tenon [--arch 80] [--type Q4_0] [--runs 5]
"""
import argparse
import os
import resource
import struct
import subprocess
import tempfile
import time

HIDDEN, LAYERS, HEADS, KV_HEADS, INNER, VOCAB = 4096, 32, 32, 8, 14336, 128256
TYPES = {"F32": (0, 1, 4), "F16": (1, 1, 2), "Q4_0": (2, 32, 18), "Q8_0": (8, 32, 34), "Q4_K": (12, 256, 144), "Q6_K": (14, 256, 210)}


def string(s):
    return struct.pack("<Q", len(s.encode())) + s.encode()


def write(file, kind):
    """A GGUF file of that shape; its weights are a hole, which takes no room on the disk."""
    keys = [string("general.architecture") + struct.pack("<I", 8) + string("llama"), string("tokenizer.ggml.model") + struct.pack("<I", 8) + string("llama"),
            string("llama.attention.layer_norm_rms_epsilon") + struct.pack("<If", 6, 1e-5)]
    for key, value in (("llama.context_length", 4096), ("llama.embedding_length", HIDDEN), ("llama.block_count", LAYERS),
                       ("llama.feed_forward_length", INNER), ("llama.attention.head_count", HEADS), ("llama.attention.head_count_kv", KV_HEADS),
                       ("llama.rope.dimension_count", HIDDEN // HEADS), ("llama.vocab_size", VOCAB)):
        keys.append(string(key) + struct.pack("<II", 4, value))
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{i:02X}>" for i in range(256)]
    tokens += [f"\u2581w{i}" for i in range(VOCAB - len(tokens))]
    keys.append(string("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, VOCAB) + b"".join(map(string, tokens)))
    keys.append(string("tokenizer.ggml.scores") + struct.pack("<IIQ", 9, 6, VOCAB) + struct.pack(f"<{VOCAB}f", *(-i for i in range(VOCAB))))
    keys.append(string("tokenizer.ggml.token_type") + struct.pack("<IIQ", 9, 5, VOCAB) +
                struct.pack(f"<{VOCAB}i", *([2, 3, 3] + [6] * 256 + [1] * (VOCAB - 259))))
    key_width = KV_HEADS * HIDDEN // HEADS
    tensors = [("token_embd", VOCAB, HIDDEN)]
    for i in range(LAYERS):
        tensors += [(f"blk.{i}.{name}", rows, columns) for name, rows, columns in (
            ("attn_norm", 0, HIDDEN), ("ffn_norm", 0, HIDDEN), ("attn_q", HIDDEN, HIDDEN), ("attn_k", key_width, HIDDEN), ("attn_v", key_width, HIDDEN),
            ("attn_output", HIDDEN, HIDDEN), ("ffn_gate", INNER, HIDDEN), ("ffn_up", INNER, HIDDEN), ("ffn_down", HIDDEN, INNER))]
    tensors += [("output_norm", 0, HIDDEN), ("output", VOCAB, HIDDEN)]
    table, size = [], 0
    for name, rows, columns in tensors:
        number, elements, block = TYPES[kind if rows else "F32"]
        dims = [columns, rows] if rows else [columns]
        table.append(string(name + ".weight") + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, number, size))
        size += (max(rows, 1) * columns // elements * block + 31) // 32 * 32
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys)) + b"".join(keys) + b"".join(table)
    with open(file, "wb") as f:
        f.write(head)
        f.truncate((len(head) + 31) // 32 * 32 + size)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--tenon", required=True)
    p.add_argument("--arch", default="80")
    p.add_argument("--type", default="Q4_0", choices=sorted(set(TYPES) - {"F32"}))
    p.add_argument("--runs", type=int, default=5)
    a = p.parse_args()
    print("                 CPU time  elapsed")
    with tempfile.TemporaryDirectory() as work:
        model = os.path.join(work, "8b.gguf")
        write(model, a.type)
        for run in range(a.runs + 1):
            before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
            subprocess.run([a.tenon, "compile", "-q", model, "-t", "cuda", "--set", "target.cuda.arch=sm_" + a.arch, "--set",
                            "tenon.cache_dir=" + os.path.join(work, "cache"), "-o", os.path.join(work, "8b.tno")], check=True)
            after, took = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic() - began
            used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            print(f"{'kernels cached' if run else 'nothing cached':15} {used:7.2f} s {took:6.2f} s", flush=True)


if __name__ == "__main__":
    main()
