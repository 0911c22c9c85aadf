# SPDX-License-Identifier: Apache-2.0
"""Small language models with random weights: a reference in float64, and checkpoints of them in GGUF, as transformers and as llama2.c
write them.

Weights are kept under GGUF's names, matrices as [out, in], with RoPE that turns halves of a head. They are drawn by numpy's RandomState,
whose streams never change.
"""
import json
import math
import os
import struct

import numpy as np

BLOCKS = {"Q4_0": (2, 32, 18), "Q4_1": (3, 32, 20), "Q5_0": (6, 32, 22), "Q5_1": (7, 32, 24), "Q8_0": (8, 32, 34),
          "Q4_K": (12, 256, 144), "Q5_K": (13, 256, 176), "Q6_K": (14, 256, 210)}


class Model:
    def __init__(self, arch="llama", hidden=32, layers=2, heads=4, kv=2, dim=None, inner=48, vocab=40, context=128, eps=1e-5,
                 theta=10000.0, window=0, bias=False, qk_norm=False, joined=False, tied=False, scaling=None, seed=1, scale=1.0,
                 factors=None, period=0, local_theta=0.0, score_cap=0.0, logit_cap=0.0, scalar=None, rotary=None, original=None, head_scale=None):
        self.__dict__.update(locals())
        del self.self
        self.dim = dim or hidden // heads
        self.gpt2, self.gemma = arch == "gpt2", arch.startswith("gemma")
        self.behind = arch in ("gemma2", "gemma3")
        self.rotary = rotary or self.dim
        self.rng = np.random.RandomState(seed)
        self.w = {}
        q, k = heads * self.dim, kv * self.dim
        self.matrix("token_embd", vocab, hidden, head_scale or 1.0)
        if self.gpt2:
            self.matrix("position_embd", context, hidden, 0.5)
        for i in range(layers):
            b = f"blk.{i}."
            self.norm(b + "attn_norm", hidden)
            if joined or self.gpt2:
                self.matrix(b + "attn_qkv", q + 2 * k, hidden)
            else:
                self.matrix(b + "attn_q", q, hidden)
                self.matrix(b + "attn_k", k, hidden)
                self.matrix(b + "attn_v", k, hidden)
                for n, rows in (("q", q), ("k", k), ("v", k)) if bias else ():
                    self.w[f"{b}attn_{n}.bias"] = self.rng.normal(0, 0.5, rows)
            if qk_norm:
                self.norm(b + "attn_q_norm", self.dim)
                self.norm(b + "attn_k_norm", self.dim)
            self.matrix(b + "attn_output", hidden, q)
            if self.behind:
                self.norm(b + "post_attention_norm", hidden)
            self.norm(b + "ffn_norm", hidden)
            if joined:
                self.matrix(b + "ffn_up", 2 * inner, hidden)
            else:
                if not self.gpt2:
                    self.matrix(b + "ffn_gate", inner, hidden)
                self.matrix(b + "ffn_up", inner, hidden)
            self.matrix(b + "ffn_down", hidden, inner)
            if self.behind:
                self.norm(b + "post_ffw_norm", hidden)
            if self.gpt2:
                for n, rows in (("attn_qkv", q + 2 * k), ("attn_output", hidden), ("ffn_up", inner), ("ffn_down", hidden)):
                    self.w[f"{b}{n}.bias"] = self.rng.normal(0, 0.3, rows)
        self.norm("output_norm", hidden)
        if not tied:
            self.matrix("output", vocab, hidden)
        self.w = {n: v.astype(np.float32) for n, v in self.w.items()}

    def matrix(self, name, rows, columns, scale=None):
        s = scale or 1.5 * self.scale / math.sqrt(columns)
        self.w[name + ".weight"] = self.rng.normal(0, s, (rows, columns))

    def norm(self, name, n):
        self.w[name + ".weight"] = self.rng.normal(1, 0.3, n)
        if self.gpt2:
            self.w[name + ".bias"] = self.rng.normal(0, 0.3, n)

    # ---- the reference ----

    def frequencies(self, sliding=False, long=False):
        """Of RoPE, and what cosines and sines are multiplied by."""
        theta = self.local_theta if sliding and self.local_theta else self.theta
        f = 1 / theta ** (np.arange(0, self.rotary, 2) / self.rotary)
        s = {} if sliding and self.local_theta else self.scaling or {}
        kind, amplitude = s.get("rope_type", s.get("type", "default")), 1.0
        original = s.get("original_max_position_embeddings", self.context)
        if kind == "linear":
            f = f / s["factor"]
        if kind == "llama3":
            turns = original * f / (2 * math.pi)
            keep = np.clip((turns - s["low_freq_factor"]) / (s["high_freq_factor"] - s["low_freq_factor"]), 0, 1)
            f = f * keep + f / s["factor"] * (1 - keep)
        if kind == "yarn":
            low, high = (self.rotary * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(theta))
                         for turns in (s.get("beta_fast") or 32, s.get("beta_slow") or 1))
            if s.get("truncate", True):
                low, high = math.floor(low), math.ceil(high)
            low, high = max(low, 0), min(high, self.rotary - 1)
            keep = 1 - np.clip((np.arange(self.rotary // 2) - low) / max(high - low, 0.001), 0, 1)
            f = f * keep + f / s["factor"] * (1 - keep)
            steps = [1 + 0.1 * (s.get(m) or 1) * math.log(s["factor"]) for m in ("mscale", "mscale_all_dim")]
            amplitude = steps[0] / steps[1] if s.get("mscale") and s.get("mscale_all_dim") else 1 + 0.1 * math.log(s["factor"])
        if kind in ("longrope", "su"):
            original = self.original
            f = f / np.asarray(s["long_factor" if long else "short_factor"])
            amplitude = math.sqrt(1 + math.log(self.context / original) / math.log(original)) if self.context > original else 1.0
        if self.factors is not None:
            f = f / np.asarray(self.factors)
        return f, s.get("attention_factor") or amplitude

    def slides(self, layer):
        return self.window and not (self.period and (layer + 1) % self.period == 0)

    def logits(self, ids, eps=None, window=None, swap=False, interleaved=False, faster=1.0, cap=True, scale=1.0, kinds=True, long=False):
        """The changes are mutations: what a wrong importer would compute."""
        w = {n: v.astype(np.float64) for n, v in self.w.items()}
        eps, window = self.eps if eps is None else eps, self.window if window is None else window
        h, kv, d, n = self.heads, self.kv, self.dim, len(ids)
        turns = []
        for sliding in (False, True):
            f, amplitude = self.frequencies(sliding, long)
            angle = np.outer(np.arange(n), f * faster)
            turns.append((np.cos(angle)[:, None] * amplitude, np.sin(angle)[:, None] * amplitude))

        def norm(x, name):
            if self.gpt2:
                x = x - x.mean(-1, keepdims=True)
                x = x / np.sqrt((x * x).mean(-1, keepdims=True) + eps)
                return x * w[name + ".weight"] + w[name + ".bias"]
            return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * w[name + ".weight"]

        def linear(x, name):
            return x @ w[name + ".weight"].T + w.get(name + ".bias", 0)

        def rotate(x, sliding):
            if self.gpt2:
                return x
            cos, sin = turns[sliding]
            if self.rotary < d:
                return np.concatenate([turn(x[..., : self.rotary], cos, sin), x[..., self.rotary:]], -1)
            return turn(x, cos, sin)

        def turn(x, cos, sin):
            if interleaved:
                a, b = x[..., 0::2], x[..., 1::2]
                return np.stack([a * cos - b * sin, b * cos + a * sin], -1).reshape(x.shape)
            a, b = np.split(x, 2, -1)
            return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)

        def gelu(x):
            return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))

        def silu(x):
            return x / (1 + np.exp(-x))

        x = w["token_embd.weight"][ids]
        if self.gemma:
            x = x * math.sqrt(self.hidden)
        if self.gpt2:
            x = x + w["position_embd.weight"][:n]
        at = np.arange(n)
        future = at[None, :] > at[:, None]
        past = at[None, :] <= at[:, None] - (window or n + 1)
        for i in range(self.layers):
            b = f"blk.{i}."
            y = norm(x, b + "attn_norm")
            if b + "attn_qkv.weight" in w:
                q, k, v = np.split(linear(y, b + "attn_qkv"), [h * d, (h + kv) * d], -1)
            else:
                q, k, v = (linear(y, b + f"attn_{c}") for c in "qkv")
            q, k, v = q.reshape(n, h, d), k.reshape(n, kv, d), v.reshape(n, kv, d)
            if self.qk_norm:
                q, k = norm(q, b + "attn_q_norm"), norm(k, b + "attn_k_norm")
            sliding = bool(self.slides(i)) if kinds else True
            q, k = rotate(q, sliding), rotate(k, sliding)
            if swap:
                k = k[:, ::-1]
            k, v = np.repeat(k, h // kv, 1), np.repeat(v, h // kv, 1)
            s = np.einsum("ihd,jhd->hij", q, k) / math.sqrt(self.scalar or d) * scale
            if self.score_cap and cap:
                s = self.score_cap * np.tanh(s / self.score_cap)
            s[:, future | past if sliding and window else future] = -np.inf
            s = np.exp(s - s.max(-1, keepdims=True))
            s /= s.sum(-1, keepdims=True)
            y = linear(np.einsum("hij,jhd->ihd", s, v).reshape(n, h * d), b + "attn_output")
            x = x + (norm(y, b + "post_attention_norm") if self.behind else y)
            y = norm(x, b + "ffn_norm")
            up = linear(y, b + "ffn_up")
            if self.gpt2:
                y = gelu(up)
            else:
                gate, up = np.split(up, 2, -1) if self.joined else (linear(y, b + "ffn_gate"), up)
                y = (gelu if self.gemma else silu)(gate) * up
            y = linear(y, b + "ffn_down")
            x = x + (norm(y, b + "post_ffw_norm") if self.behind else y)
        x = norm(x, "output_norm") @ w["token_embd.weight" if self.tied else "output.weight"].T
        return self.logit_cap * np.tanh(x / self.logit_cap) if self.logit_cap and cap else x

    # ---- GGUF ----

    def gguf(self, types=None, drop=(), extra=None, blocks=None):
        """The file's bytes. types: of matrices by a part of their name, "F16" or blocks, which get random contents first, or what blocks(w, kind)
        makes of them."""
        tensors = {}
        for name, v in self.w.items():
            kind = next((t for part, t in (types or {}).items() if part in name and v.ndim == 2), "F32")
            if kind in BLOCKS:
                if blocks:
                    raw, back = blocks(self.permute(name, v) if self.permuted(name) else v, kind)
                else:
                    raw, back = random_blocks(self.rng, kind, *v.shape, scale=float(v.std()))
                self.w[name] = back
                if self.permuted(name):  # the rows as they lie are RoPE's of neighbours
                    self.w[name] = self.unpermute(name, back)
                tensors[name] = (BLOCKS[kind][0], v.shape, raw)
                continue
            v = self.permute(name, v) if self.permuted(name) else v
            if kind == "F16":
                v = v.astype(np.float16)
                self.w[name] = (self.unpermute(name, v) if self.permuted(name) else v).astype(np.float32)
            elif kind == "BF16":
                v = (np.ascontiguousarray(v, np.float32).view(np.uint32) >> 16).astype(np.uint16)
                back = (v.astype(np.uint32) << 16).view(np.float32)
                self.w[name] = self.unpermute(name, back) if self.permuted(name) else back
            tensors[name] = ({"F32": 0, "F16": 1, "BF16": 30}[kind], v.shape, np.ascontiguousarray(v).tobytes())
        if self.factors is not None:
            tensors["rope_freqs.weight"] = (0, (self.dim // 2,), np.asarray(self.factors, np.float32).tobytes())
        a = self.arch
        meta = {"general.architecture": a, f"{a}.block_count": self.layers, f"{a}.embedding_length": self.hidden,
                f"{a}.feed_forward_length": self.inner, f"{a}.attention.head_count": self.heads,
                f"{a}.attention.head_count_kv": self.kv, f"{a}.context_length": self.context,
                f"{a}.rope.freq_base": float(self.theta), f"{a}.attention.key_length": self.dim,
                f"{a}.attention.value_length": self.dim}
        meta[f"{a}.attention.layer_norm_epsilon" if self.gpt2 else f"{a}.attention.layer_norm_rms_epsilon"] = self.eps
        if self.window:
            meta[f"{a}.attention.sliding_window"] = self.window
        if self.score_cap:
            meta[f"{a}.attn_logit_softcapping"] = float(self.score_cap)
        if self.logit_cap:
            meta[f"{a}.final_logit_softcapping"] = float(self.logit_cap)
        if self.local_theta and self.local_theta != 10000:
            meta[f"{a}.rope.freq_base_swa"] = float(self.local_theta)
        if (self.scaling or {}).get("rope_type") == "linear":
            meta.update({f"{a}.rope.scaling.type": "linear", f"{a}.rope.scaling.factor": float(self.scaling["factor"])})
        meta.update(extra or {})
        return write_gguf(meta, {n: t for n, t in tensors.items() if n not in drop})

    def permuted(self, name):
        return self.arch == "llama" and (".attn_q." in name or ".attn_k." in name)

    def permute(self, name, v):
        heads = self.heads if "attn_q" in name else self.kv
        return v.reshape(heads, 2, self.dim // 2, -1).swapaxes(1, 2).reshape(v.shape)

    def unpermute(self, name, v):
        heads = self.heads if "attn_q" in name else self.kv
        return v.reshape(heads, self.dim // 2, 2, -1).swapaxes(1, 2).reshape(v.shape)

    # ---- transformers ----

    def huggingface(self, folder, dtype="F32", shards=1, config=None, text_part=False):
        os.makedirs(folder, exist_ok=True)
        c = {"model_type": self.arch, "hidden_size": self.hidden, "num_hidden_layers": self.layers,
             "num_attention_heads": self.heads, "num_key_value_heads": self.kv, "head_dim": self.dim, "vocab_size": self.vocab,
             "intermediate_size": self.inner, "max_position_embeddings": self.context, "rms_norm_eps": self.eps,
             "tie_word_embeddings": self.tied, "rope_theta": self.theta, "rope_scaling": self.scaling, "eos_token_id": [2, 3], "bos_token_id": 1,
             "sliding_window": self.window or None, "attn_logit_softcapping": self.score_cap or None,
             "final_logit_softcapping": self.logit_cap or None}
        if self.behind:
            c["query_pre_attn_scalar"] = self.scalar or self.dim
        if self.local_theta:
            c["rope_local_base_freq"] = self.local_theta
        if self.arch == "gemma3":
            c["model_type"] = "gemma3_text"
        if self.rotary != self.dim:
            c["partial_rotary_factor"] = self.rotary / self.dim
        if self.original:
            c["original_max_position_embeddings"] = self.original
        if self.gemma:
            c["hidden_activation"] = "gelu_pytorch_tanh"
        if self.gpt2:
            c = {"model_type": "gpt2", "n_embd": self.hidden, "n_layer": self.layers, "n_head": self.heads, "n_inner": self.inner,
                 "vocab_size": self.vocab, "n_positions": self.context, "layer_norm_epsilon": self.eps,
                 "activation_function": "gelu_new"}
        c.update(config or {})
        if text_part:  # as the files of Gemma 3 that know images have it: nothing that is transformers' own
            own = {"num_key_value_heads", "head_dim", "hidden_size", "num_attention_heads", "num_hidden_layers", "vocab_size", "intermediate_size",
                   "rope_scaling", "sliding_window", "max_position_embeddings", "rms_norm_eps"}
            c = {"model_type": "gemma3", "eos_token_id": [1, 3], "text_config": {k: v for k, v in c.items() if k in own}}
            self.w["vision_tower.layers.0.fc"] = np.ones((2, 3), np.float32)
            self.scalar = 256
        with open(os.path.join(folder, "config.json"), "w") as f:
            json.dump(c, f)
        tensors = {}
        for name, v in self.w.items():
            if dtype == "BF16":
                v = ((np.ascontiguousarray(v).view(np.uint32)) & 0xffff0000).view(np.float32)
                self.w[name] = v
            if self.gemma and "norm" in name:
                v = (v - 1).astype(np.float32)
                self.w[name] = v + np.float32(1)
            if self.gpt2 and v.ndim == 2 and name.startswith("blk"):
                v = v.T
            own = name if "vision" in name else self.own_name(name)
            tensors["language_model." + own if text_part and "vision" not in name else own] = np.ascontiguousarray(v)
        names = sorted(tensors)
        parts = [names[i::shards] for i in range(shards)]
        files = [f"model-{i + 1:05}-of-{shards:05}.safetensors" for i in range(shards)] if shards > 1 else ["model.safetensors"]
        for file, part in zip(files, parts):
            with open(os.path.join(folder, file), "wb") as f:
                f.write(write_safetensors({n: tensors[n] for n in part}, dtype))
        if shards > 1:
            with open(os.path.join(folder, "model.safetensors.index.json"), "w") as f:
                json.dump({"weight_map": {n: f for f, part in zip(files, parts) for n in part}}, f)

    def own_name(self, name):
        if self.gpt2:
            table = {"token_embd": "wte", "position_embd": "wpe", "output_norm": "ln_f", "output": "lm_head", "attn_norm": "ln_1",
                     "attn_qkv": "attn.c_attn", "attn_output": "attn.c_proj", "ffn_norm": "ln_2", "ffn_up": "mlp.c_fc",
                     "ffn_down": "mlp.c_proj"}
        else:
            table = {"token_embd": "embed_tokens", "output_norm": "norm", "output": "lm_head", "attn_norm": "input_layernorm",
                     "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
                     "attn_qkv": "self_attn.qkv_proj", "attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm",
                     "attn_output": "self_attn.o_proj", "ffn_norm": "post_attention_layernorm", "ffn_gate": "mlp.gate_proj",
                     "ffn_up": "mlp.gate_up_proj" if self.joined else "mlp.up_proj", "ffn_down": "mlp.down_proj"}
        if self.behind:
            table.update({"post_attention_norm": "post_attention_layernorm", "ffn_norm": "pre_feedforward_layernorm",
                          "post_ffw_norm": "post_feedforward_layernorm"})
        parts = name.split(".")
        own = table[parts[-2]] + "." + parts[-1]
        if parts[0] == "blk":
            own = ("h." if self.gpt2 else "layers.") + parts[1] + "." + own
        return own if own.startswith("lm_head") else ("transformer." if self.gpt2 else "model.") + own

    # ---- llama2.c ----

    def llama2c(self, version=0):
        numbers = [self.hidden, self.inner, self.layers, self.heads, self.kv, self.vocab if self.tied or version else -self.vocab,
                   self.context]
        order = ["attn_q", "attn_k", "attn_v", "attn_output", "ffn_norm", "ffn_gate", "ffn_down", "ffn_up"]
        head = struct.pack("<7i", *numbers)
        if version:
            head = (struct.pack("<Ii", 0x616b3432, 1) + head + bytes([self.tied])).ljust(256, b"\0")
            first = ["blk.attn_norm", "blk.ffn_norm", "output_norm", "token_embd"] + ["blk." + n for n in order if n != "ffn_norm"]
        else:
            first = ["token_embd", "blk.attn_norm"] + ["blk." + n for n in order] + ["output_norm", None]
        out = [head]
        for n in first + ([] if self.tied else ["output"]):
            if n is None:
                out.append(bytes(self.context * self.dim * 4))
                continue
            for i in range(self.layers if n.startswith("blk.") else 1):
                name = n.replace("blk.", f"blk.{i}.") + ".weight"
                out.append((self.permute(name, self.w[name]) if ".attn_q." in name or ".attn_k." in name
                            else self.w[name]).astype(np.float32).tobytes())
        return b"".join(out)


# ---- blocks: random contents, and what they mean, as ggml's reference has it ----

def random_blocks(rng, kind, rows, columns, scale):
    _, elems, size = BLOCKS[kind]
    n = rows * columns // elems
    raw = rng.randint(0, 256, (n, size), dtype=np.uint8)
    spread = {"Q8_0": 74, "Q6_K": 18.5 * 40, "Q4_K": 4.6 * 32, "Q5_K": 9.2 * 32, "Q4_0": 4.6, "Q4_1": 4.6, "Q5_0": 9.2, "Q5_1": 9.2}[kind]
    d = (rng.uniform(0.7, 1.3, n) * scale / spread).astype(np.float16).view(np.uint8).reshape(n, 2)
    m = (-rng.uniform(0.7, 1.3, n) * scale).astype(np.float16)
    if kind == "Q6_K":
        raw[:, 208:] = d
        raw[:, 192:208] = rng.randint(-64, 64, (n, 16)).astype(np.int8).view(np.uint8)
    else:
        raw[:, :2] = d
    if kind in ("Q4_1", "Q5_1"):
        raw[:, 2:4] = m.view(np.uint8).reshape(n, 2)
    if kind in ("Q4_K", "Q5_K"):
        raw[:, 2:4] = (-m.astype(np.float32) / 32).astype(np.float16).view(np.uint8).reshape(n, 2)
    return raw.tobytes(), np.stack([dequantize(kind, b) for b in raw]).reshape(rows, columns).astype(np.float32)


def dequantize(kind, b):
    def half(at):
        return float(b[at:at + 2].view(np.float16)[0])

    out = []
    if kind == "Q8_0":
        return half(0) * b[2:].view(np.int8).astype(np.float64)
    if kind in ("Q4_0", "Q4_1", "Q5_0", "Q5_1"):
        numbers = {"Q4_0": 2, "Q4_1": 4, "Q5_0": 6, "Q5_1": 8}[kind]
        fifth = int.from_bytes(b[numbers - 4:numbers].tobytes(), "little") if "5" in kind else 0
        q = [int(v) & 15 for v in b[numbers:]] + [int(v) >> 4 for v in b[numbers:]]
        q = np.array([v | (fifth >> i & 1) << 4 for i, v in enumerate(q)], np.float64)
        return half(0) * (q - (16 if "5" in kind else 8)) if kind.endswith("0") else half(0) * q + half(2)
    if kind == "Q6_K":
        for part in range(2):
            ql, qh, sc = b[part * 64:], b[128 + part * 32:], b[192 + part * 8:].view(np.int8) if part == 0 else b[200:208].view(np.int8)
            four = np.zeros(128)
            for lane in range(32):
                low, high, s = int(ql[lane]), int(ql[lane + 32]), lane // 16
                h = int(qh[lane])
                four[lane] = int(sc[s]) * ((low & 15 | (h & 3) << 4) - 32)
                four[lane + 32] = int(sc[s + 2]) * ((high & 15 | (h >> 2 & 3) << 4) - 32)
                four[lane + 64] = int(sc[s + 4]) * ((low >> 4 | (h >> 4 & 3) << 4) - 32)
                four[lane + 96] = int(sc[s + 6]) * ((high >> 4 | (h >> 6 & 3) << 4) - 32)
            out.append(half(208) * four)
        return np.concatenate(out)
    s = [int(v) for v in b[4:16]]
    numbers = 48 if kind == "Q5_K" else 16
    for g in range(8):
        if g < 4:
            scale, least = s[g] & 63, s[g + 4] & 63
        else:
            scale, least = s[g + 4] & 15 | s[g - 4] >> 6 << 4, s[g + 4] >> 4 | s[g] >> 6 << 4
        for lane in range(32):
            q = int(b[numbers + g // 2 * 32 + lane]) >> (4 if g % 2 else 0) & 15
            if kind == "Q5_K":
                q |= (int(b[16 + lane]) >> g & 1) << 4
            out.append(half(0) * scale * q - half(2) * least)
    return np.array(out)


# ---- files ----

def write_gguf(meta, tensors):
    def text(s):
        return struct.pack("<Q", len(s)) + s.encode()

    out = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(meta))
    for k, v in meta.items():
        out += text(k)
        if isinstance(v, list):  # of bools
            out += struct.pack("<IIQ", 9, 7, len(v)) + bytes(v)
            continue
        out += struct.pack("<I", 8) + text(v) if isinstance(v, str) else \
            struct.pack("<If", 6, v) if isinstance(v, float) else struct.pack("<II", 4, v)
    at = 0
    for n, (kind, shape, raw) in tensors.items():
        out += text(n) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *reversed(shape))
        out += struct.pack("<IQ", kind, at)
        at += (len(raw) + 31) // 32 * 32
    out += bytes(-len(out) % 32)
    return out + b"".join(raw + bytes(-len(raw) % 32) for _, _, raw in tensors.values())


def write_safetensors(tensors, dtype):
    header, data, at = {}, [], 0
    for n, v in tensors.items():
        raw = (v.view(np.uint32) >> 16).astype(np.uint16).tobytes() if dtype == "BF16" else v.tobytes()
        header[n] = {"dtype": dtype, "shape": list(v.shape), "data_offsets": [at, at + len(raw)]}
        at += len(raw)
        data.append(raw)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + b"".join(data)
